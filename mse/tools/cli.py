"""The ``mse`` command."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import mse

from ..statics.working_point import WorkingPoint
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
    # this grid avoids the two resonances exactly, since nothing damps them
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


def show(file: Path) -> None:
    """Print the system in a file, and the working point if the file has one."""
    found = mse.read_model(file)
    print(found if isinstance(found, mse.MSystem) else f"{found.system}\n\n{found}")


def modes(file: Path, count: int | None, damped: bool, lossy: bool) -> None:
    """Print the modes of the system in a file."""
    found = _working_point(file).linearize().modes(count, damped=damped, lossy=lossy)
    # the note on further modes names the call in Python; here it is an option
    print(re.sub(r"\bmodes\(count=(\d+)\)", r"--count \1", str(found)))


def view(file: Path, page: Path, count: int | None) -> None:
    """Write a page that shows the system in a file, with its modes."""
    if file.exists() and page.exists() and page.samefile(file):
        raise mse.FileError(
            f"--output {page} is the file of the system itself; give the page another name, such as page.html"
        )
    point = _working_point(file)
    point.to_html(page, modes=point.linearize().modes(count))
    print(f"{page} shows {point.name}: open it in a browser")


def _working_point(file: Path) -> WorkingPoint:
    """The working point in a file, or found for the system in it."""
    found = mse.read_model(file)
    return found.find_working_point() if isinstance(found, mse.MSystem) else found


def _positive(text: str) -> int:
    """A positive whole number of the command line."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive whole number; leave it out for the usual modes")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mse", description="Mechanical systems of frames and constraints.")
    parser.add_argument("--version", action="version", version=f"mse {mse.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, what: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")

    def of_a_file(name: str, what: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        one = command(name, what)
        one.add_argument("file", type=Path, help="what save() of a system or of a working point wrote, as JSON")
        one.set_defaults(run=run)
        return one

    def countable(one: argparse.ArgumentParser) -> argparse.ArgumentParser:
        one.add_argument(
            "-n",
            "--count",
            type=_positive,
            metavar="N",
            help="number of modes besides free motions, from the lowest frequency up",
        )
        return one

    demonstrated = command("demo", "build the tutorial pendulum, print its modes, draw its transfer functions")
    demonstrated.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="where the picture goes (default: here)"
    )
    demonstrated.set_defaults(run=lambda given: demo(given.output))
    of_a_file("show", "print the objects and clamps of a saved system", lambda given: show(given.file))
    listed = of_a_file(
        "modes",
        "print the modes of a saved system",
        lambda given: modes(given.file, given.count, given.damped, given.lossy),
    )
    countable(listed).add_argument("--damped", action="store_true", help="damped modes, which are complex")
    listed.add_argument("--lossy", action="store_true", help="with loss factors and damping: Q of each mode")
    viewed = of_a_file(
        "view", "write a page that shows a saved system and its modes in three dimensions",
        lambda given: view(given.file, given.output, given.count),
    )  # fmt: skip
    countable(viewed).add_argument(
        "-o", "--output", type=Path, required=True, metavar="PAGE", help="file of the page, such as page.html"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0 done, 1 refused with a message, 2 wrong arguments, 130 interrupted."""
    options = _parser().parse_args(argv)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe, as "head" does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (mse.MseError, OSError) as error:
        print(f"mse: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        print(f"mse: {str(stopped) or 'interrupted'}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
