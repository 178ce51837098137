"""Tutorial 1.1 of the manual: a mass on a spring, its top moved by an actuator.

``python examples/simple_pendulum.py [folder for pictures]``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import mse
from mse import Pose


def build(stiffness: float = 1.0) -> mse.MSystem:
    """The pendulum; with the manual's default of 1 N/m the 1 m spring stretches to 10.8 m."""
    pendulum = mse.MSystem("Simple pendulum")
    wire = pendulum.add(mse.Spring("wire", length=1.0, stiffness=stiffness))
    mass = pendulum.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
    piezo = pendulum.add(mse.PositionActuator("piezo"))
    probe = pendulum.add(mse.PositionSensor("probe"))
    pendulum.clamp(pendulum.ground, piezo.frame(1))
    pendulum.clamp(piezo.frame(0), wire.frame(1))
    pendulum.clamp(wire.frame(0), mass.frame(0))
    pendulum.clamp(mass.frame(0), probe.frame(0))
    pendulum.clamp(pendulum.ground, probe.frame(1))
    return pendulum


def main(folder: Path | None = None) -> None:
    # the manual's first loop: watch the search for the working point
    relaxation = build().relaxation()
    for step in relaxation:
        print(f"step {step.number}: energy {step.energy:9.4f} J, residual {step.residual:.1e} at {step.where}")
    working_point = relaxation.result()
    linear = working_point.linearize()
    print(working_point, linear.modes(), sep="\n\n", end="\n\n")

    # its second loop: move the top, print where the mass is
    loop = linear.step_loop(dt=1e-3, inputs=["piezo.x"])
    while loop.time < 2.0:
        loop["piezo.x"] = np.sin(loop.time)
        if round(loop.time / loop.dt) % 500 == 0:
            print(f"t = {loop.time:.1f} s: x = {loop['probe.x']:.6f} m")
        loop.step()

    # its third: the transfer function from 0.1 to 1000 Hz, ten points a decade
    response = linear.frequency_response(0.1 * 10 ** (np.arange(41) / 10))
    print(response)
    history = linear.simulate(duration=60.0, dt=0.01, inputs={"piezo.x": np.sin})
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        fine = linear.frequency_response(np.geomspace(0.01, 10.0, 800))
        fine.plot(pairs=[("probe.x", "piezo.x"), ("probe.z", "piezo.z")]).savefig(folder / "pendulum_response.png")
        history.plot(names=["piezo.x", "probe.x"]).savefig(folder / "pendulum_history.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
