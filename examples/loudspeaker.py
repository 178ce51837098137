r"""
A loudspeaker and its impedance
===============================

A voice coil in a magnet's gap drives a cone: the electric impedance shows the resonance of the mechanics, and a bias
current shifts it.

The coil's coenergy :math:`L v^2/2 + v\,\varphi(z)` of current v and place z gives its force :math:`Bl\,v` and its
back-EMF :math:`Bl\,z'`. With the cone on a suspension the source sees

.. math:: Z = R + i \omega L + \frac{i \omega\,(Bl)^2}{k + i \omega c - \omega^2 m}.
"""

import numpy as np

import mse
from mse.tools.figures import new_figure

MASS, STIFFNESS, DAMPING = 0.03, 1500.0, 0.4  # kg, N/m, N s/m
BL, WIDTH, RESISTANCE, INDUCTANCE = 8.0, 0.004, 6.0, 2e-3  # N/A, m, ohm, H

# %%
# The coil pushes the cone, its frame 1, away from the ground. Its charge meets that of the source at two junctions; the
# second one is earth.


def build(voltage: float = 0.0) -> mse.MSystem:
    """Cone, guide with suspension, coil, and a source with a bias."""
    system = mse.MSystem("Loudspeaker", gravity=(0, 0, 0))
    cone = system.add(
        mse.RigidBody("cone", mass=MASS, inertia=1e-5, shape=mse.Cylinder(0.05, 0.01))
    )
    guide = mse.Prismatic("guide", stiffness=STIFFNESS, damping=DAMPING)
    system.add(guide, between=(cone, system.ground))
    coil = mse.VoiceCoil("coil", bl=BL, width=WIDTH, resistance=RESISTANCE, inductance=INDUCTANCE)
    system.add(coil, between=(system.ground, cone))
    system.add(mse.VoltageSource("source", voltage=voltage))
    system.connect("source.+", "coil.+")
    system.connect("source.-", "coil.-", system.earth)
    return system


working_point = build().find_working_point()
linear = working_point.linearize()
f = np.geomspace(5.0, 2e3, 400)
z = linear.impedance("source", f)
s = 2j * np.pi * f
by_hand = RESISTANCE + s * INDUCTANCE + s * BL**2 / (STIFFNESS + s * DAMPING + s**2 * MASS)
print(f"impedance up to {abs(z).max():.2f} ohm, by hand {abs(by_hand).max():.2f} ohm")

# %%
# A bias of 4 V makes a steady current. It pushes the cone out of the middle of the gap, where Bl falls, and that adds a
# stiffness: the part "field".

biased = build(4.0).find_working_point()
current, place = biased.flows["coil.charge"], biased.poses["cone.center"].o[2]
stiffer = biased.linearize()
field = stiffer.parts["coil", "field"][2, 2]
print(f"{current:.4f} A move the cone by {1e3 * place:.4f} mm and add {field:.2f} N/m")


def picture():
    """Both impedances, by size."""
    figure = new_figure(8.0, 4.0)
    axes = figure.subplots()
    axes.loglog(f, abs(z), label="without bias")
    axes.loglog(f, abs(stiffer.impedance("source", f)), "--", label="with 4 V")
    axes.set(xlabel="frequency (Hz)", ylabel="impedance (ohm)")
    axes.grid(True, alpha=0.4)
    axes.legend()
    return figure


figure = picture()
figure

# %%
# In three dimensions, with the motion of the cone on its suspension:
modes = linear.symmetric.modes()
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = 1
