"""Tutorial 1.2 of the manual: a rigid body on four wires; here an optical bench of 40 kg on steel wires of 0.5 m.

``python examples/four_wires.py [folder for pictures]``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import mse
from mse import Pose

CORNERS = {"front left": (0.3, 0.2), "front right": (0.3, -0.2), "back left": (-0.3, 0.2), "back right": (-0.3, -0.2)}


def build() -> mse.MSystem:
    """The bench, its base on an actuator and a scale, its position sensed against the ground, a coil to push it."""
    system = mse.MSystem("Bench on four wires", gravity=(0, 0, -9.81))
    base = system.add(mse.PositionActuator("base"))
    scale = system.add(mse.ForceSensor("scale"))
    hooks = {name: Pose.dxdydz(1.1 * x, 1.1 * y, 0.02) for name, (x, y) in CORNERS.items()}
    bench = system.add(mse.RigidBody("bench", mass=40.0, inertia=(0.8, 1.6, 2.3), at=Pose.dz(-0.5), frames=hooks))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), scale.frame(1))
    for name, (x, y) in CORNERS.items():
        wire = system.add(mse.Wire(name, length=0.5, young_modulus=2e11, poisson_ratio=0.3, radius=3e-4))
        system.clamp(scale.frame(0), wire.frame(1), Pose.dxdydz(x, y, 0.0))
        system.clamp(bench.frame(name), wire.frame(0))
    probe, coil = system.add(mse.PositionSensor("probe")), system.add(mse.ForceActuator("coil"))
    system.clamp(bench.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1), Pose.dz(-0.5))
    system.clamp(system.ground, coil.frame(0), Pose.dz(-0.5))
    system.clamp(bench.frame("center"), coil.frame(1))
    return system


def main(folder: Path | None = None) -> None:
    working_point = build().find_working_point()
    linear = working_point.linearize()
    modes = linear.modes()
    print(working_point, modes, sep="\n\n", end="\n\n")
    print(f"the scale carries {-working_point.reactions['scale'][2]:.3f} N\n")

    f = np.geomspace(0.05, 200.0, 1500)
    response = linear.frequency_response(f, inputs=["base.x", "base.z", "coil.fx", "coil.fz"])
    print(response, end="\n\n")

    # a controller in the loop: the coil damps the swing along x
    loop = linear.step_loop(dt=1e-3, inputs=["coil.fx"], outputs=["probe.x"], initial={"bench.x": 1e-3})
    track, last = [], loop["probe.x"]
    while loop.time < 10.0:
        now = loop["probe.x"]
        loop["coil.fx"] = -60.0 * (now - last) / loop.dt
        last = now
        track.append(now)
        loop.step()
    print(f"swing of 1 mm after 10 s of damping: {1e3 * np.abs(track[-1000:]).max():.4f} mm")
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        picture(working_point, response).savefig(folder / "four_wires.png", dpi=100)
        modes.plot().savefig(folder / "four_wires_modes.png")


def picture(working_point, response):
    """The system at its working point beside its response to the base."""
    from mse.tools.figures import new_figure
    from mse.tools.plots import bode

    figure = new_figure(13.0, 5.5)
    left, right = figure.subfigures(1, 2)
    scene = left.add_subplot(projection="3d")
    working_point.plot(ax=scene)
    bode(response, pairs=[("probe.x", "base.x"), ("probe.ay", "base.x"), ("probe.z", "base.z")], figure=right)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
