"""
4. A flexure stage with joints
==============================

A table on four upright blades moves along x. It is driven by a lever, which turns on a hinge; a rod connects the end
of the lever to the table. The blades are beams, the hinge and the rod ideal joints.
"""

import numpy as np

import mse
from mse import Pose

LENGTH, WIDTH, HEIGHT = 0.050, 0.020, 0.0005  # m: a blade, thin along x
MASS, ARM, HINGE = 5.0, 0.030, 2.0  # kg: the table; m: the lever; N m/rad: the spring in its hinge
LEVER = {"mass": 0.2, "inertia": 1e-4}
TABLE = Pose.dz(LENGTH + 0.01)  # where its center is

# %%
# Blades upright
# --------------
# A beam lies along its x. ``Pose.ry(-np.pi / 2)`` turns its x upwards, and z, its thin direction, along -x of the
# world. ``frame @ pose`` is a place fixed to a frame. Both ends of a blade are clamped to places that are turned
# alike; otherwise the blade would be bent.
system = mse.MSystem("Flexure stage with a lever", gravity=(0, 0, -9.81))
table = system.add(
    mse.RigidBody(
        "table", mass=MASS, inertia=(0.012, 0.02, 0.03), shape=mse.Box((0.14, 0.10, 0.02))
    )
)
upright = Pose.ry(-np.pi / 2)
for name, (x, y) in {
    "a": (0.06, 0.04),
    "b": (0.06, -0.04),
    "c": (-0.06, 0.04),
    "d": (-0.06, -0.04),
}.items():
    blade = mse.Beam(
        f"blade {name}", length=LENGTH, width=WIDTH, height=HEIGHT, elements=4, young_modulus=2e11
    )
    foot, head = system.ground @ Pose.dxdydz(x, y, 0.0), table @ Pose.dxdydz(x, y, -0.01)
    system.add(blade, between=(foot @ upright, head @ upright))

# %%
# A hinge and a rod
# -----------------
# A joint is an element between two frames, clamped like any other. ``Revolute``
# lets frame 0 turn about an axis of frame 1; its angle may have a spring, and ``motor="force"`` makes its torque an
# input. A ``Rod`` keeps the distance of two origins.
pivot = Pose.dxdydz(-0.12, 0.0, 0.03)
lever = system.add(mse.RigidBody("lever", at=pivot, **LEVER))
hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=HINGE, motor="force"))
system.clamp(system.ground, hinge.frame(1), pivot)
system.clamp(lever.frame("center"), hinge.frame(0))
rod = system.add(mse.Rod("rod", length=0.06))
system.clamp(lever.add_frame("end", Pose.dz(ARM)), rod.frame(0))
system.clamp(table.add_frame("ear", Pose.dx(-0.06)), rod.frame(1))

# %%
# A coil pushes the table, and a gauge reads it. The coil pushes its frame 1, and the gauge reads its frame 0: both
# are clamped to the table.
coil = system.add(mse.ForceActuator("coil"))
gauge = system.add(mse.PositionSensor("gauge"))
system.clamp(system.ground, coil.frame(0), TABLE)
system.clamp(table.frame("center"), coil.frame(1))
system.clamp(table.frame("center"), gauge.frame(0))
system.clamp(system.ground, gauge.frame(1), TABLE)

working_point = system.find_working_point()
print(working_point)

# %%
# Table, rod, lever and ground form a closed loop, which needs nothing special.
#
# Stiffness
# ---------
# The stiffness at the table has two parts. The blades have 4 times 12 EI/L^3, less 6/5 of the weight over L. The
# hinge has its stiffness over the square of the arm.
linear = working_point.linearize()
compliance = linear.frequency_response([0.0], inputs=["coil.fx", "hinge.torque"])
k = 1 / compliance["gauge.x", "coil.fx"][0].real
bending = 2e11 * WIDTH * HEIGHT**3 / 12
blades = 48 * bending / LENGTH**3 - 1.2 * MASS * 9.81 / LENGTH
by_hand = blades + HINGE / ARM**2
print(f"{k:.1f} N/m, by hand {by_hand:.1f} N/m, of which the blades have {blades:.1f} N/m")

# %%
# A torque on the lever gives a force on the table: the torque divided by the arm.
ratio = compliance["gauge.x", "hinge.torque"][0].real * k
print(f"{ratio:.4f} N at the table per N m; 1/arm is {1 / ARM:.4f}")

# %%
# The trap, once
# --------------
# If the frames of the coil are exchanged, frame 0 is on the table: the coil pushes the ground, and its reaction
# pushes the table backwards.
wrong = system.copy("with the coil the other way round")
wrong.add(mse.ForceActuator("turned"))
wrong.clamp(wrong["table"].frame("center"), wrong["turned"].frame(0))
wrong.clamp(wrong.ground, wrong["turned"].frame(1), TABLE)
turned = wrong.find_working_point().linearize().frequency_response([0.0], inputs=["turned.fx"])
print(
    f"a stiffness of {1 / turned['gauge.x', 'turned.fx'][0].real:.1f} N/m: "
    "a sign that two frames are exchanged"
)

# %%
# Modes
# -----
# The lever moves with the table and adds its inertia over the square of the arm to the mass.
modes = linear.modes(5)
print(modes)
moving = MASS + LEVER["inertia"] / ARM**2
print(f"by hand {np.sqrt(by_hand / moving) / (2 * np.pi):.3f} Hz")

# %%
# Moving it
# ---------
# The linear model is for small motions. To move the stage by a millimeter, change the working point: here by the
# angle at which the hinge's spring is at rest. ``point.reactions`` has the force and torque of each joint, along the
# axes of frame 1.
print(" rest angle (rad)   hinge (rad)   table x (mm)   drop (um)   force of the rod (N)")
for angle in (0.0, 0.1, 0.2, 0.3):
    point = working_point.update({"hinge.rest": angle})
    moved = point.poses["table.center"].o - working_point.poses["table.center"].o
    print(
        f"{angle:17.1f} {point.joint_coordinates['hinge.angle']:13.5f} {1e3 * moved[0]:14.4f}"
        f" {1e6 * (0.0 - moved[2]):11.2f} {-point.reactions['rod'][0]:22.4f}"
    )

# %%
# All joints, with springs and motors on their coordinates: :doc:`/joints`. Next: :doc:`step_5_closing_a_loop`.
