r"""
A damper of a coil and a resistor
=================================

A voice coil turns motion into current; a resistor takes the energy out. With the coil's inductance L the damper acts as a
dashpot behind a spring of :math:`(Bl)^2/L`.

For a mass on a spring every curve of compliance over frequency, whatever the resistance, runs through one point,
:math:`\omega_p^2 = (k + (Bl)^2/2L)/m`. With :math:`R = L \omega_p` it is the top of the curve, :math:`2L/(Bl)^2`.
"""

import numpy as np

import mse
from mse.tools.figures import new_figure

MASS, STIFFNESS = 2.0, 8e3  # kg, N/m
BL, INDUCTANCE = 20.0, 50e-3  # N/A, H

# %%
# The coil's wire has no resistance here; the resistor between its ports is the damper.


def build(resistance: float) -> mse.MSystem:
    """A stage on a spring, with a coil that a resistor closes."""
    system = mse.MSystem("Shunted damper", gravity=(0, 0, 0))
    plate = mse.Box((0.2, 0.2, 0.02))
    stage = system.add(mse.RigidBody("stage", mass=MASS, shape=plate))
    guide = mse.Prismatic("guide", stiffness=STIFFNESS)
    system.add(guide, between=(stage, system.ground))
    coil = mse.VoiceCoil("coil", bl=BL, inductance=INDUCTANCE)
    system.add(coil, between=(system.ground, stage))
    system.add(mse.Resistor("shunt", resistance=resistance))
    system.connect("coil.+", "shunt.+")
    system.connect("coil.-", "shunt.-", system.earth)
    system.add(mse.ForceActuator("shaker"), between=(system.ground, stage))
    system.add(mse.PositionSensor("probe"), between=(stage, system.ground))
    return system


fixed = np.sqrt((STIFFNESS + BL**2 / (2.0 * INDUCTANCE)) / MASS)
best = INDUCTANCE * fixed
f = np.geomspace(3.0, 40.0, 400)
curves = {}
for resistance in (0.1 * best, best, 10.0 * best):
    linear = build(resistance).find_working_point().linearize()
    curves[resistance] = abs(linear.frequency_response(f)["probe.z", "shaker.fz"])
peak, by_hand = curves[best].max(), 2.0 * INDUCTANCE / BL**2
print(f"{best:.3f} ohm: at most {1e6 * peak:.3f} um/N, by hand {1e6 * by_hand:.3f} um/N")

# %%
# Eigenvalues tell how fast the stage comes to rest.

working_point = build(best).find_working_point()
modes = working_point.linearize().modes(damped=True)
ratio = -modes.eigenvalues.real / abs(modes.eigenvalues)
print(f"damping ratio {ratio[abs(modes.eigenvalues.imag) > 0].max():.4f}")


def picture():
    """Compliance with little, the best, and much resistance."""
    figure = new_figure(8.0, 4.0)
    axes = figure.subplots()
    for resistance, curve in curves.items():
        axes.loglog(f, 1e6 * curve, label=f"{resistance:.2f} ohm")
    axes.plot(fixed / (2 * np.pi), 1e6 * by_hand, "ko", label="fixed point")
    axes.set(xlabel="frequency (Hz)", ylabel="compliance (um/N)")
    axes.grid(True, alpha=0.4)
    axes.legend()
    return figure


figure = picture()
figure

# %%
# In three dimensions:
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = 1
