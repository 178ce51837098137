r"""
A hexapod
=========

Six legs between a base and a platform, as Gough and Stewart arranged them: each leg has one length, and the six
lengths are the six coordinates of the platform. The same machine is built here twice: with rigid rods, to move it,
and with legs that yield along themselves, to see how stiff it is.

A leg from :math:`b` on the base to :math:`p = o + U a` on the platform is :math:`|p - b|` long. It yields along its
direction :math:`n` alone, so six legs of stiffness c give the platform

.. math:: K = c \sum_i t_i t_i^T, \qquad t_i = (n_i,\; r_i \times n_i), \qquad r_i = p_i - o,

and what the legs carry already, their tension over their length across them, adds some millionths here.
"""

import numpy as np
from scipy.linalg import eigh

import mse
from mse import Pose

MASS, INERTIA = 20.0, (0.40, 0.40, 0.75)  # kg, kg m2: the platform with what stands on it
# m: radii of the two circles of joints, and the height of the platform
BASE, PLATFORM, HEIGHT = (0.25, 0.15, 0.30)
STIFFNESS = 2.0e7  # N/m: a leg along itself
LEGS = "abcdef"

# %%
# Joints come in pairs: those of the base 10 degrees on both sides of 0, 120 and 240, those of the platform turned by
# 60 against them, so that the legs stand in triangles.


def circle(radius: float, offset: float) -> np.ndarray:
    """Six points (m) in pairs on a circle."""
    angles = np.radians([k * 120.0 + offset + side * 10.0 for k in range(3) for side in (-1, 1)])
    return radius * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(6)])


FEET = circle(BASE, 0.0)
HEADS = np.roll(circle(PLATFORM, 60.0), 1, axis=0)


def length(leg: int, pose: Pose) -> float:
    """Length (m) of a leg that holds the platform at a pose: inverse kinematics."""
    return float(np.linalg.norm(pose.apply(HEADS[leg]) - FEET[leg]))


def build(rigid: bool) -> mse.MSystem:
    """The hexapod at its middle pose, on rods or on springs; a sensor on top, a shaker below."""
    system = mse.MSystem("Hexapod", gravity=(0, 0, -9.81))
    middle = Pose.dz(HEIGHT)
    base = system.add(mse.PositionActuator("base"))
    platform = system.add(
        mse.RigidBody(
            "platform", mass=MASS, inertia=INERTIA, shape=mse.Cylinder(0.17, 0.02), at=middle
        )
    )
    probe = system.add(mse.PositionSensor("probe"))
    system.clamp(system.ground, base.frame(1))
    for leg, name in enumerate(LEGS):
        if rigid:
            strut = mse.Rod(f"leg {name}", length=length(leg, middle))
        else:
            strut = mse.Spring(f"leg {name}", length=length(leg, middle), stiffness=STIFFNESS)
        system.add(strut, between=(base.frame(0) @ Pose(FEET[leg]), platform @ Pose(HEADS[leg])))
    system.clamp(platform.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1), middle)
    return system


# %%
# To move it, choose a pose, work out six lengths, and let mse find where rods of these lengths put the platform.
working_point = build(rigid=True).find_working_point()
wanted = Pose.dxdydz(0.015, -0.010, HEIGHT + 0.020) @ Pose.rz(0.08) @ Pose.rx(0.05)
moved = working_point.update(
    {f"leg {name}.length": length(leg, wanted) for leg, name in enumerate(LEGS)}
)
print(moved)
reached = moved.poses["platform.center"]
print(
    f"apart from what was wanted: {abs(reached.o - wanted.o).max():.0e} m, "
    f"{abs(reached.U - wanted.U).max():.0e}"
)

# %%
# The six reactions carry the weight: their vertical shares add up to it.
forces = {name: float(moved.reactions[f"leg {name}"][0]) for name in LEGS}
lifted = 0.0
for leg, name in enumerate(LEGS):
    direction = (reached.apply(HEADS[leg]) - FEET[leg]) / length(leg, wanted)
    lifted -= forces[name] * direction[2]
    print(f"leg {name}: {1e3 * length(leg, wanted):8.3f} mm, tension {forces[name]:9.3f} N")
print(f"they lift {lifted:.6f} N, the platform weighs {MASS * 9.81:.6f} N")

# %%
# With legs that yield the same platform has six modes.
standing = build(rigid=False).find_working_point()
linear = standing.linearize()
modes = linear.modes()
print(modes)


def by_hand() -> np.ndarray:
    """Six frequencies (Hz) from the directions of the legs: the formula above."""
    place = standing.poses["platform.center"]
    stiffness = np.zeros((6, 6))
    for leg in range(6):
        arm = place.apply(HEADS[leg]) - place.o
        n = arm + place.o - FEET[leg]
        n /= np.linalg.norm(n)
        line = np.append(n, np.cross(arm, n))
        stiffness += STIFFNESS * np.outer(line, line)
    inertia = np.diag([MASS] * 3 + list(INERTIA))
    return np.sqrt(eigh(stiffness, inertia, eigvals_only=True)) / (2 * np.pi)


print("by hand:", *(f"{f:.4f}" for f in by_hand()), "Hz")

# %%
# How the platform follows a shaken base, with a loss of one percent in the legs.
response = linear.frequency_response(
    np.geomspace(5.0, 1000.0, 1200),
    inputs=["base.x", "base.z"],
    loss={f"leg {name}": 0.01 for name in LEGS},
)
figure = response.plot(pairs=[("probe.x", "base.x"), ("probe.z", "base.z")])
figure

# %%
# In three dimensions: turn it with the mouse, choose a mode in the list, and watch it move.
shape = standing.plot(modes=modes, number=0)
standing.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
