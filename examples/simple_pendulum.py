"""
A pendulum on a spring
======================

Tutorial 1.1 of the manual: a mass on a spring, its top moved by an actuator.
"""

import numpy as np

import mse
from mse import Pose

# %%
# An object is made, added and clamped by its frames. A spring has two of them, and so has an actuator: its frame 0
# moves as seen from frame 1, which is clamped to the ground. With the manual's default of 1 N/m the spring of 1 m
# stretches to 10.8 m.


def build(stiffness: float = 1.0) -> mse.MSystem:
    """The pendulum, its top on an actuator, and a sensor of the mass against the ground."""
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


# %%
# The manual's first loop: watch the search for the working point. ``build().find_working_point()`` does the same in
# one call.
relaxation = build().relaxation()
for step in relaxation:
    print(
        f"step {step.number}: energy {step.energy:9.4f} J, "
        f"residual {step.residual:.1e} at {step.where}"
    )
working_point = relaxation.result()
print(working_point)

# %%
# Its modes: it bounces at sqrt(k/m) and swings at sqrt(g/l), with l the length that it has under its load.
linear = working_point.linearize()
modes = linear.modes()
print(modes)
length = -working_point.poses["mass.center"].o[2]
print(
    f"by hand: {np.sqrt(9.8 / length) / (2 * np.pi):.6f} Hz and {np.sqrt(1.0) / (2 * np.pi):.6f} Hz"
)

# %%
# The second loop: move the top, step by step, and print where the mass is.
loop = linear.step_loop(dt=1e-3, inputs=["piezo.x"])
while loop.time < 2.0:
    loop["piezo.x"] = np.sin(loop.time)
    if round(loop.time / loop.dt) % 500 == 0:
        print(f"t = {loop.time:.1f} s: x = {loop['probe.x']:.6f} m")
    loop.step()

# %%
# The third: the transfer function, here drawn between 0.01 and 10 Hz.
response = linear.frequency_response(np.geomspace(0.01, 10.0, 800))
response_figure = response.plot(pairs=[("probe.x", "piezo.x"), ("probe.z", "piezo.z")])
response_figure

# %%
# And a minute of time, in one call.
history = linear.simulate(duration=60.0, dt=0.01, inputs={"piezo.x": np.sin})
history_figure = history.plot(names=["piezo.x", "probe.x"])
history_figure

# %%
# In three dimensions: turn it with the mouse, choose a mode in the list, and watch it move.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
