"""
A bench on four wires
=====================

Tutorial 1.2 of the manual: a rigid body on four wires; here an optical bench of 40 kg on steel wires of 0.5 m.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure
from mse.tools.plots import bode

CORNERS = {
    "front left": (0.3, 0.2),
    "front right": (0.3, -0.2),
    "back left": (-0.3, 0.2),
    "back right": (-0.3, -0.2),
}

# %%
# The wires hang from a scale (a force sensor), and the scale from the base (a position actuator). Wires are clamped
# by frame 1 above and frame 0 below, here to hooks that the bench has as frames of its own.
#
# Signs: a coil's frame 0 pushes its frame 1, and a sensor reads its frame 0 as seen from frame 1. So the coil has the
# bench at frame 1 and the sensor has it at frame 0: a positive force then gives a positive displacement.


def build() -> mse.MSystem:
    """The bench; an actuator and a scale under its base, a coil, a sensor against the ground."""
    system = mse.MSystem("Bench on four wires", gravity=(0, 0, -9.81))
    base = system.add(mse.PositionActuator("base"))
    scale = system.add(mse.ForceSensor("scale"))
    hooks = {name: Pose.dxdydz(1.1 * x, 1.1 * y, 0.02) for name, (x, y) in CORNERS.items()}
    board = mse.Box((0.7, 0.48, 0.04))  # what pictures draw
    bench = system.add(
        mse.RigidBody(
            "bench", mass=40.0, inertia=(0.8, 1.6, 2.3), at=Pose.dz(-0.5), frames=hooks, shape=board
        )
    )
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), scale.frame(1))
    for name, (x, y) in CORNERS.items():
        wire = mse.Wire(name, length=0.5, young_modulus=2e11, poisson_ratio=0.3, radius=3e-4)
        system.add(wire, between=(bench.frame(name), scale.frame(0) @ Pose.dxdydz(x, y, 0.0)))
    probe, coil = system.add(mse.PositionSensor("probe")), system.add(mse.ForceActuator("coil"))
    system.clamp(bench.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1), Pose.dz(-0.5))
    system.clamp(system.ground, coil.frame(0), Pose.dz(-0.5))
    system.clamp(bench.frame("center"), coil.frame(1))
    return system


working_point = build().find_working_point()
print(working_point)
print(f"the scale carries {-working_point.reactions['scale'][2]:.3f} N")

# %%
# Three swings below 1 Hz, and three modes in which the wires stretch.
linear = working_point.linearize()
modes = linear.modes()
print(modes)
modes_figure = modes.plot()
modes_figure

# %%
# How much of the base's motion reaches the bench.
f = np.geomspace(0.05, 200.0, 1500)
response = linear.frequency_response(f, inputs=["base.x", "base.z", "coil.fx", "coil.fz"])
print(response)


def picture(working_point, response):
    """The system at its working point beside its response to the base."""
    figure = new_figure(13.0, 5.5)
    left, right = figure.subfigures(1, 2)
    scene = left.add_subplot(projection="3d")
    working_point.plot(ax=scene)
    bode(
        response,
        pairs=[("probe.x", "base.x"), ("probe.ay", "base.x"), ("probe.z", "base.z")],
        figure=right,
    )
    return figure


figure = picture(working_point, response)
figure

# %%
# A controller in the loop: the coil damps the swing along x, by what the probe's reading changes from step to step.
loop = linear.step_loop(dt=1e-3, inputs=["coil.fx"], outputs=["probe.x"], initial={"bench.x": 1e-3})
track, last = [], loop["probe.x"]
while loop.time < 10.0:
    now = loop["probe.x"]
    loop["coil.fx"] = -60.0 * (now - last) / loop.dt
    last = now
    track.append(now)
    loop.step()
print(f"swing of 1 mm after 10 s of damping: {1e3 * np.abs(track[-1000:]).max():.4f} mm")

# %%
# In three dimensions: turn it with the mouse, choose a mode in the list, and watch it move.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
