r"""
A hydraulic mount
=================

An engine mount pumps liquid through a duct between two chambers. The liquid in the duct swings against the chambers, which
makes the mount stiff and damped around one frequency.

With the piston's area A, chambers :math:`C_1, C_2`, and the duct's :math:`I, R`,
:math:`k(\omega) = k_0 + \dfrac{A^2}{C_1}\,\dfrac{1/C_2 + i \omega R - \omega^2 I}{1/C_1 + 1/C_2 + i \omega R - \omega^2 I}`.
"""

import numpy as np

import mse
from mse.tools.figures import new_figure

MASS, RUBBER, AREA = 60.0, 8e4, 1.5e-3  # kg, N/m, m2
UPPER, LOWER = 3e-12, 6e-11  # m3/Pa
INERTANCE, RESISTANCE = 3e5, 1.5e8  # kg/m4, Pa s/m3

# %%
# The cylinder moves volumes as a coil moves charges. Its port meets the upper chamber and the duct; the duct ends in the lower
# chamber. Without a port named, a chamber's other side is the air around.


def build() -> mse.MSystem:
    """An engine that can only heave, on its mount."""
    system = mse.MSystem("Hydraulic mount", gravity=(0, 0, 0))
    block = mse.Box((0.3, 0.2, 0.1))
    engine = system.add(mse.RigidBody("engine", mass=MASS, shape=block))
    guide = mse.Prismatic("guide", stiffness=RUBBER)
    system.add(guide, between=(engine, system.ground))
    system.add(mse.HydraulicCylinder("piston", area=AREA), between=(system.ground, engine))
    system.add(mse.Compliance("upper", compliance=UPPER))
    system.add(mse.FlowResistance("friction", resistance=RESISTANCE))
    system.add(mse.Inertance("duct", inertance=INERTANCE))
    system.add(mse.Compliance("lower", compliance=LOWER))
    system.connect("piston.+", "upper.+", "friction.+")
    system.connect("friction.-", "duct.+")
    system.connect("duct.-", "lower.+")
    system.add(mse.ForceActuator("shaker"), between=(system.ground, engine))
    system.add(mse.PositionSensor("probe"), between=(engine, system.ground))
    return system


working_point = build().find_working_point()
linear = working_point.linearize()
f = np.geomspace(2.0, 200.0, 300)
w = 2 * np.pi * f
stiffness = 1.0 / linear.frequency_response(f)["probe.z", "shaker.fz"] + w**2 * MASS
duct = 1j * w * RESISTANCE - w**2 * INERTANCE
by_hand = RUBBER + AREA**2 / UPPER * (1 / LOWER + duct) / (1 / UPPER + 1 / LOWER + duct)
print(f"largest deviation from the formula: {abs(stiffness / by_hand - 1.0).max():.0e}")
angle = np.degrees(np.angle(stiffness))
w40 = 2 * np.pi * 40.0
k40 = 1.0 / linear.frequency_response([40.0])["probe.z", "shaker.fz"][0] + w40**2 * MASS
print(f"at 40 Hz {k40.real:.1f} N/m, and {k40.imag:.1f} N/m that damps")


def picture():
    """Stiffness and loss angle over frequency."""
    figure = new_figure(8.0, 3.6)
    left, right = figure.subplots(1, 2)
    left.semilogx(f, 1e-3 * abs(stiffness), label="mse")
    left.semilogx(f, 1e-3 * abs(by_hand), "--", label="formula")
    left.set(xlabel="frequency (Hz)", ylabel="dynamic stiffness (N/mm)")
    left.legend()
    right.semilogx(f, angle)
    right.set(xlabel="frequency (Hz)", ylabel="loss angle (deg)")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
    return figure


figure = picture()
figure

# %%
# In three dimensions:
modes = linear.modes(damped=True)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = 1
