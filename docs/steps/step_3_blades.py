"""
3. Blades
=========

A pendulum is stiff vertically: its wire hardly stretches. A blade, a flat spring that bends, makes it soft
vertically. Here a mass of 10 kg hangs from a blade that is curved when made and flat under this load.
"""

import numpy as np

import mse
from mse import Pose

# %%
# How a beam lies
# ---------------
# A beam lies along x of its frame 0, from frame 0 to frame 1; its ``width`` is along y and its ``height`` along z.
# Clamped to the ground without a pose, this one lies along the x of the world, and bends vertically.
LENGTH, WIDTH, HEIGHT = 0.25, (0.060, 0.010), 0.0025
STEEL = {"young_modulus": 1.87e11, "poisson_ratio": 0.3, "density": 8100.0}


def build(mass: float, curvature=0.0) -> mse.MSystem:
    """A blade that is curved at rest, and a mass on a wire from its tip."""
    system = mse.MSystem("Blade", gravity=(0, 0, -9.81))
    blade = system.add(
        mse.Beam(
            "blade",
            length=LENGTH,
            width=WIDTH,
            height=HEIGHT,
            curvature_y=curvature,
            elements=8,
            **STEEL,
        )
    )
    wire = system.add(
        mse.Wire("wire", length=0.5, radius=2.5e-4, young_modulus=2e11, poisson_ratio=0.3)
    )
    load = system.add(
        mse.RigidBody("load", mass=mass, inertia=0.02, frames={"hook": Pose.dz(0.05)})
    )
    system.clamp(system.ground, blade.frame(0))
    system.clamp(blade.frame(1), wire.frame(1))
    system.clamp(load.frame("hook"), wire.frame(0))
    return system


# %%
# A flat blade
# ------------
# First a straight one: how far does its tip sag?
bent = build(10.0).find_working_point()
tip = bent.poses["blade.1"]
print(f"tip {1e3 * tip.o[2]:.2f} mm, slope {np.degrees(np.arcsin(tip.U[2, 0])):.2f} deg")
print(bent.system["blade"].internal_forces(bent))

# %%
# Curved at rest
# --------------
# The moment of the load at the distance s from the clamp is ``m g (L - s)``; the weight of the blade beyond s adds a
# little. A blade made with the opposite curvature is flat under the load. ``curvature_y`` turns the section about y
# as s grows, so it is negative for a blade that bends upwards.


def curvature(s: float) -> float:
    """Curvature at rest (1/m) that 10 kg take out."""
    left = LENGTH - s
    width = WIDTH[0] + (WIDTH[1] - WIDTH[0]) * s / LENGTH
    own = STEEL["density"] * HEIGHT * left**2 * (width + 2 * WIDTH[1]) / 6
    return -9.81 * (10.0 * left + own) / (STEEL["young_modulus"] * width * HEIGHT**3 / 12)


flat = build(10.0, curvature).find_working_point()
tip = flat.poses["blade.1"]
print(f"tip {1e3 * tip.o[2]:.3f} mm, slope {np.degrees(np.arcsin(tip.U[2, 0])):.5f} deg")
rest = flat.system["blade"].rest_poses()["1"].o
print(f"without load its tip is at {1e3 * rest[2]:.1f} mm")

# %%
# What it carries
# ---------------
# The largest stress shows whether the blade yields; maraging steel does at 1.8 GPa.
loads = flat.system["blade"].internal_forces(flat)
print(
    f"largest stress {loads.largest[0] / 1e6:.0f} MPa, "
    f"{1e3 * loads.largest[1]:.0f} mm from the clamp"
)
stresses = loads.plot()
stresses

# %%
# Modes
# -----
# The load bounces on the blade at a sixth of the frequency on the wire alone, and swings on the wire as in step 2.
linear = flat.linearize()
modes = linear.modes(8)
print(modes)
alone = np.sqrt(flat.system["wire"].axial_stiffness / 10.0) / (2 * np.pi)
print(f"on the wire alone it would bounce at {alone:.1f} Hz")

# %%
# Another load
# ------------
# ``update`` gives the working point of the same system with other parameters, named ``object.parameter``.
for mass in (8.0, 10.0, 12.0):
    point = flat.update({"load.mass": mass})
    bounce = max(point.linearize().modes(8), key=lambda mode: abs(mode.shape["load.z"]))
    print(
        f"{mass:5.1f} kg: tip {1e3 * point.poses['blade.1'].o[2]:7.2f} mm, "
        f"bounces at {bounce.frequency_hz:.3f} Hz"
    )

# %%
# For more on beams, the number of elements and their limits see :doc:`/beams`. Next:
# :doc:`step_4_flexure_stage_with_joints`.
