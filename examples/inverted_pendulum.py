r"""
An inverted pendulum
====================

A table on a leg that stands on a flexure: the weight pushes the leg over, and the flexure holds it up. What is left of
the stiffness may be made as small as one dares, and with it the frequency; first stages of vibration isolation swing
below 0.1 Hz like this.

A flexure of length :math:`\ell` and bending stiffness :math:`E I` under a weight P, which acts at the height h above
it, resists a force there with

.. math:: k = P\,\frac{\cos(q\ell) - q h\,\sin(q\ell)}{\sin(q\ell)/q - \ell\,\cos(q\ell) + q h (\ell + h)\,\sin(q\ell)},
   \qquad q = \sqrt{P/E I},

by the equation of a beam-column, :math:`E I y'' = P (\delta - y) + F (\ell + h - x)`. It falls over where
:math:`q h\,\tan(q\ell) = 1`.
"""

import numpy as np
from scipy.optimize import brentq

import mse
from mse import Pose
from mse.tools.figures import new_figure

GRAVITY = 9.81
FLEXURE, RADIUS, LEG = 0.05, 0.003, 1.0  # m: length and radius of the flexure, and the leg above it
STEEL = {"young_modulus": 2.0e11, "poisson_ratio": 0.3, "density": 7800.0}
BENDING = STEEL["young_modulus"] * np.pi * RADIUS**4 / 4  # N m2

# %%
# A beam's x is along it, so the flexure is clamped with its x upwards. The leg is stiff and light: it is the distance
# at which the table is clamped to the head of the flexure.


def build(mass: float) -> mse.MSystem:
    """The pendulum with a table of ``mass`` kg and its sensor, its foot on a base that moves."""
    system = mse.MSystem("Inverted pendulum", gravity=(0, 0, -GRAVITY))
    base, probe = system.add(mse.PositionActuator("base")), system.add(mse.PositionSensor("probe"))
    flexure = system.add(
        mse.RoundBeam("flexure", length=FLEXURE, radius=RADIUS, elements=6, **STEEL)
    )
    table = system.add(mse.RigidBody("table", mass=mass, shape=mse.Cylinder(0.15, 0.04)))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), flexure.frame(0), Pose.ry(-np.pi / 2))
    system.clamp(flexure.frame(1), table.frame("center"), Pose.dx(LEG))
    system.clamp(table.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1))
    return system


def stiffness(weight: float) -> float:
    """Force per displacement (N/m) at the table, under its weight (N): the formula above."""
    q = np.sqrt(weight / BENDING)
    s, c = np.sin(q * FLEXURE), np.cos(q * FLEXURE)
    return weight * (c - q * LEG * s) / (s / q - FLEXURE * c + q * LEG * (FLEXURE + LEG) * s)


# %%
# Which mass may it carry? ``find_instability`` raises all loads until the system gives way.
working_point = build(10.0).find_working_point()
instability = working_point.system.find_instability(max_load_factor=5.0)
print(instability)
most = brentq(lambda mass: stiffness(mass * GRAVITY), 1.0, BENDING / (FLEXURE * LEG * GRAVITY))
print(f"it falls over with {10.0 * instability.load_factor:.3f} kg; by hand with {most:.3f} kg")

# %%
# The nearer to that, the softer. ``update`` solves the same system again with another mass.
masses = np.array([1.0, 5.0, 10.0, 15.0, 20.0, 23.0, 25.0, 25.4])
study = {mass: working_point.update({"table.mass": mass}) for mass in masses}
swing = {mass: wp.linearize().modes(1).frequencies_hz[0] for mass, wp in study.items()}
print(" mass (kg)   swing (Hz)   by hand (Hz)")
for mass, f in swing.items():
    print(f"{mass:10.1f} {f:12.5f} {np.sqrt(stiffness(mass * GRAVITY) / mass) / (2 * np.pi):14.5f}")

# %%
# Its softest mode is the swing along x and y; bending the flexure into an S or stretching it takes hundreds of hertz.
modes = study[25.0].linearize().modes(6)
print(modes)

# %%
# The table follows its base below the swing, and is isolated from it above.


def picture():
    """Frequency of the swing against the mass, and from the base to the table for some of them."""
    figure = new_figure(12.0, 4.5)
    left, right = figure.subplots(1, 2)
    fine = np.linspace(0.5, 0.9999 * most, 400)
    left.plot(
        fine,
        [np.sqrt(stiffness(m * GRAVITY) / m) / (2 * np.pi) for m in fine],
        color="gray",
        label="by hand",
    )
    left.plot(list(swing), list(swing.values()), "o", label="mse")
    left.axvline(most, color="black", linestyle=":", label="falls over")
    left.set(xlabel="mass of the table (kg)", ylabel="frequency of the swing (Hz)", ylim=(0, None))
    f = np.geomspace(0.01, 30.0, 1500)
    for mass, style in ((5.0, "-"), (20.0, "--"), (25.0, "-.")):
        response = (
            study[mass].linearize().frequency_response(f, inputs=["base.x"], loss={"flexure": 1e-3})
        )
        right.loglog(f, np.abs(response["probe.x", "base.x"]), style, label=f"{mass:g} kg")
    right.set(xlabel="frequency (Hz)", ylabel="table.x / base.x")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
        axes.legend(fontsize="small")
    return figure


figure = picture()
figure

# %%
# In three dimensions, with 25 kg: the soft swing, and the flexure that bends.
shape = study[25.0].plot(modes=modes, number=0)
study[25.0].view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
