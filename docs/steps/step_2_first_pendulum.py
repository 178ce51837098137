"""
2. A first pendulum
===================

A mirror of 10 kg on a steel wire of 1 m: where does it hang, how does it swing, how much of the motion of its support
does it pass on?
"""

import numpy as np

import mse
from mse import Pose

# %%
# A system and its objects
# ------------------------
# A system has a ground, a gravity, and the objects that are added
# to it. Each object has a name that all results use.
system = mse.MSystem("First pendulum", gravity=(0, 0, -9.81))
support = system.add(mse.PositionActuator("support"))
wire = system.add(mse.Wire("wire", length=1.0, radius=2e-4, young_modulus=2e11, poisson_ratio=0.3))
mirror = system.add(
    mse.RigidBody(
        "mirror",
        mass=10.0,
        inertia=(0.08, 0.08, 0.12),
        frames={"hook": Pose.dz(0.03)},
        shape=mse.Cylinder(0.15, 0.06),
    )
)

# %%
# Frames and clamps
# -----------------
# Objects are joined by their *frames*. A frame is an origin and three axes. The
# wire has one at each end, ``wire.frame(0)`` and ``wire.frame(1)``; the mirror has ``mirror.frame("center")``, its
# center of mass, and the ``"hook"`` that was given to it, 3 cm above. A *clamp* joins two frames rigidly.
#
# You choose which end of the wire is up by what you clamp it to: here frame 1 is up and frame 0 is down.
system.clamp(system.ground, support.frame(1))
system.clamp(support.frame(0), wire.frame(1))
system.clamp(mirror.frame("hook"), wire.frame(0))

# %%
# A third argument places the second frame, as seen from the first: ``Pose.dx(0.1)`` is 10 cm along x,
# ``Pose.rz(np.pi / 2)`` a quarter turn about z, and ``@`` does one after the other. Ends of a wire have axes, too. If
# the hook is turned about the wire relative to the wire's upper end, the wire is twisted and turns the mirror. If the
# upper end is clamped to a blade along y, turn the hook likewise.
#
# What drives it and what is read
# -------------------------------
# Signs are easy to mix up:
#
# * a **position actuator** moves its frame 0 as seen from frame 1;
# * a **force actuator**'s frame 0 pushes its frame 1: the mirror is frame 1, the ground frame 0;
# * a **position sensor** reads its frame 0 as seen from frame 1: the mirror is frame 0, the ground frame 1.
#
# A coil and a sensor that are clamped alike, both with frame 0 on the mirror, would read a *negative* displacement
# for a positive force, and a stiffness worked out from them would be negative.
coil = system.add(mse.ForceActuator("coil"))
probe = system.add(mse.PositionSensor("probe"))
center = Pose.dz(-1.03)
system.clamp(system.ground, coil.frame(0), center)
system.clamp(mirror.frame("center"), coil.frame(1))
system.clamp(mirror.frame("center"), probe.frame(0))
system.clamp(system.ground, probe.frame(1), center)

# %%
# The working point
# -----------------
# Here all forces balance. Nothing had to be placed: bodies start where wires and
# clamps put them, and the search does the rest.
working_point = system.find_working_point()
print(working_point)

# %%
# The wire carries m g = 98.1 N, which stretches it by m g l/(E A) = 3.9 mm. The numbers in the table are
# also available by name.
stretch = -working_point.poses["wire.0"].o[2] - wire.length
print(f"tension {working_point.tensions['wire']:.4f} N, stretch {1e3 * stretch:.4f} mm")
picture = working_point.plot()
picture

# %%
# Modes
# -----
# At the working point the system is linearized, including the stiffness due to tension.
linear = working_point.linearize()
modes = linear.modes()
print(modes)

# %%
# One mode, and its shape by the names of coordinates (m and rad, normalized to unit modal mass):
swing = max(modes, key=lambda mode: abs(mode.shape["mirror.x"]))
print(f"{swing.frequency_hz:.4f} Hz:", swing.participants())
print({name: round(float(swing.shape[name]), 4) for name in ("mirror.x", "mirror.ay", "mirror.z")})

# %%
# Responses
# ---------
# From the support to the mirror, and from the coil to the mirror. A structural loss of one
# thousandth in the wire keeps peaks finite where it stretches or twists; its tension loses nothing.
response = linear.frequency_response(np.geomspace(0.05, 20.0, 1000), loss={"wire": 1e-3})
bode = response.plot(pairs=[("probe.x", "support.x")])
bode

# %%
# At zero frequency a newton moves the mirror by l/(m g), with l the depth at which it hangs, and in the direction in
# which it pushes:
static = linear.frequency_response([0.0], inputs=["coil.fx"])["probe.x", "coil.fx"][0].real
depth = -working_point.poses["mirror.center"].o[2]
print(f"{1e3 * static:.5f} mm/N, by hand {1e3 * depth / 98.1:.5f} mm/N")

# %%
# Time
# ----
# The support moves by 1 mm, smoothly, within a second. The mirror starts at rest and goes on swinging.


def step(t: float) -> float:
    return 1e-3 * (0.5 - 0.5 * np.cos(np.pi * min(t, 1.0)))


history = linear.simulate(duration=20.0, dt=0.01, inputs={"support.x": step}, outputs=["probe.x"])
track = history.plot()
track

# %%
# Next: :doc:`step_3_blades`.
