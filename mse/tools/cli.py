"""The ``mse`` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import mse

from .plots import bode


def pendulum() -> mse.MSystem:
    """The manual's first example: a mass on a spring whose top is moved by an actuator, sensed from the ground."""
    system = mse.MSystem("Simple pendulum")
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=mse.Pose.dz(-1.0)))
    piezo = system.add(mse.PositionActuator("piezo"))
    system.clamp(system.ground, piezo.frame(1))
    system.add(mse.Spring("wire", length=1.0, stiffness=1.0), between=(mass, piezo.frame(0)))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    return system


def demo(folder: Path) -> None:
    """Print working point and modes of the pendulum, and draw its transfer functions into ``folder``."""
    working_point = pendulum().find_working_point()
    linear = working_point.linearize()
    # off the two resonances, which nothing damps
    response = linear.frequency_response(np.geomspace(0.01, 100.0, 600))
    print(working_point, linear.modes(), sep="\n\n", end="\n\n")
    try:
        figure = bode(response, pairs=[("probe.x", "piezo.x"), ("probe.z", "piezo.z")])
    except mse.MissingPackageError as error:
        print(f"No picture: {error}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pendulum_transfer_function.png"
    figure.savefig(path, dpi=120)
    print(f"Transfer functions drawn to {path}")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0 done, 1 refused with a message, 2 wrong arguments."""
    parser = argparse.ArgumentParser(prog="mse", description="Mechanical systems of frames and constraints.")
    parser.add_argument("--version", action="version", version=f"mse {mse.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser(
        "demo", help="build the tutorial pendulum, print its modes, draw its transfer functions"
    )
    shown.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="where the picture goes (default: here)"
    )
    options = parser.parse_args(argv)
    try:
        demo(options.output)
    except (mse.MseError, OSError) as error:
        print(f"mse: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
