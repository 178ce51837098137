"""
5. Closing a loop
=================

A mirror hangs from an upper mass, which hangs from the ground. Nothing damps them, so a loop does: a sensor reads the
upper mass, and a coil pushes it against its velocity.
"""

import numba
import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

system = mse.MSystem("Two stages", gravity=(0, 0, -9.81))
wires = {"young_modulus": 2e11, "poisson_ratio": 0.3}
bodies = {
    "upper": system.add(
        mse.RigidBody("upper", mass=8.0, inertia=0.05, frames={"hook": Pose.dz(0.02)})
    ),
    "mirror": system.add(
        mse.RigidBody("mirror", mass=10.0, inertia=0.06, frames={"hook": Pose.dz(0.02)})
    ),
}
upper_wire = system.add(mse.Wire("upper wire", length=0.4, radius=2.5e-4, **wires))
lower_wire = system.add(mse.Wire("lower wire", length=0.6, radius=2e-4, **wires))
system.clamp(system.ground, upper_wire.frame(1))
system.clamp(bodies["upper"].frame("hook"), upper_wire.frame(0))
system.clamp(bodies["upper"].frame("center"), lower_wire.frame(1), Pose.dz(-0.02))
system.clamp(bodies["mirror"].frame("hook"), lower_wire.frame(0))

# %%
# Actuators and sensors
# ---------------------
# A coil pushes the upper mass, a force disturbs the mirror, and each body has a sensor. Each body is clamped to frame
# 1 of its actuator and to frame 0 of its sensor; the other frames are clamped to the ground at the height of the
# body.
heights = {"upper": -0.42, "mirror": -1.06}
for name, body in bodies.items():
    push, probe = (
        system.add(mse.ForceActuator(f"push {name}")),
        system.add(mse.PositionSensor(f"at {name}")),
    )
    system.clamp(system.ground, push.frame(0), Pose.dz(heights[name]))
    system.clamp(body.frame("center"), push.frame(1))
    system.clamp(body.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1), Pose.dz(heights[name]))
linear = system.find_working_point().linearize()
print(linear.modes(4))

# %%
# The state space
# ---------------
# x' = A x + B u, y = C x + D u, for the named inputs and outputs. Control programs take these four matrices.
plant = linear.state_space(inputs=["push upper.fx"], outputs=["at upper.x"])
print(f"{plant.A.shape[0]} states, among them {plant.states[:3]} ...")

# %%
# The law
# -------
# The force is minus a gain times the velocity v. A filter computes v from the position y, up to its corner:
# ``v = corner (y - w)`` with ``w' = v``. Here the loop is closed by hand, with w as a further state;
# ``linear.feedback`` does it in one call (:doc:`/how_to/loops`):
GAIN, CORNER = 40.0, 2 * np.pi * 20.0  # N s/m, rad/s


def closed(gain: float) -> np.ndarray:
    """A of plant and filter together, for the force ``-gain v``."""
    A, B, C = plant.A, plant.B, plant.C
    return np.block(
        [[A - gain * CORNER * B @ C, gain * CORNER * B], [CORNER * C, -CORNER * np.ones((1, 1))]]
    )


def swings(gain: float) -> list[tuple[float, float]]:
    """Frequency (Hz) and damping ratio of what swings along x: the pole that the gain moves."""
    poles, before = np.linalg.eigvals(closed(gain)), np.linalg.eigvals(closed(0.0))
    moved = [s for s in poles if s.imag > 0 and min(abs(s - before)) > 1e-4 * abs(s)]
    return sorted((abs(s) / (2 * np.pi), -s.real / abs(s)) for s in moved)


for gain in (10.0, 40.0, 160.0):
    print(
        f"gain {gain:5.0f} N s/m:",
        *(f"{f:7.4f} Hz, damping ratio {d:.4f};" for f, d in swings(gain)),
    )

# %%
# A small gain damps little. A large gain holds the upper mass at rest, and the mirror below swings undamped.
#
# In time
# -------
# The loop runs at steps of 1 ms. The controller is a compiled function: it reads outputs, sets inputs, and keeps
# values from step to step in its memory. A random force, given as samples for the input ``push mirror.fx``, disturbs
# the mirror.


@numba.njit
def damping(outputs, inputs, memory, time):
    velocity = memory[1] * (outputs[0] - memory[2])
    memory[2] += 1e-3 * velocity
    inputs[0] = -memory[0] * velocity


def run(gain: float):
    """A minute of time from a mirror that is 1 mm off, under noise."""
    noise = 0.02 * np.random.default_rng(1).standard_normal(60_001)
    loop = linear.step_loop(
        dt=1e-3,
        inputs=["push upper.fx", "push mirror.fx"],
        outputs=["at upper.x", "at mirror.x"],
        initial={"mirror.x": 1e-3},
    )
    return loop.run(
        60_000, controller=damping, memory=[gain, CORNER, 0.0], inputs={"push mirror.fx": noise}
    )


free, damped = run(0.0), run(GAIN)
for name, history in (("free", free), ("damped", damped)):
    last = history["at mirror.x"][-20_000:]
    print(
        f"{name:6s}: rms of the mirror in the last 20 s {1e6 * np.sqrt(np.mean(last**2)):8.2f} um"
    )

# %%
figure = new_figure(9.0, 4.5)
axes = figure.subplots()
axes.plot(free.time, 1e3 * free["at mirror.x"], color="0.6", label="free")
axes.plot(damped.time, 1e3 * damped["at mirror.x"], label="damped")
axes.set(xlabel="time (s)", ylabel="mirror x (mm)", xlim=(0, 60))
axes.grid(True, alpha=0.4)
axes.legend(loc="upper right")
figure

# %%
# More on controllers, inputs and recordings: :doc:`/sweeps_and_runs`. Next: :doc:`step_6_reading_a_page`.
