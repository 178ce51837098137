r"""
A rod that damps by heat
========================

A body sits on an aluminum rod. The rod warms where it is squeezed and cools where it is stretched; heat that flows off
takes energy from the motion.

Along the rod :math:`k_f = k \left(1 + \Delta\,\frac{i \omega \tau}{1 + i \omega \tau}\right)` with
:math:`\Delta = k\,\alpha^2 l^2\,T_0 / C` and :math:`\tau = C / G` (C. Zener, Internal friction in solids, Phys. Rev. 52
(1937) 230): slow motions are isothermal, fast ones adiabatic, and in between the rod damps.
"""

import numpy as np

import mse
from mse.tools.figures import new_figure

MASS, LENGTH, STIFFNESS = 20.0, 0.1, 2e7  # kg, m, N/m
EXPANSION, CAPACITY, CONDUCTANCE, ROOM = 2.3e-5, 72.0, 400.0, 293.15  # 1/K, J/K, W/K, K

# %%
# The rod's heat leaves through a conductor at its port ``heat``; the room is at a temperature that does not change. A
# heater warms the rod, so that a voltage lifts the body.


def build(voltage: float = 0.0, conductance: float = CONDUCTANCE) -> mse.MSystem:
    """Body, rod, and what its heat passes."""
    system = mse.MSystem("Heated rod")
    shape = mse.Box((0.1, 0.1, 0.04))
    body = system.add(mse.RigidBody("body", mass=MASS, shape=shape, at=mse.Pose.dz(LENGTH)))
    system.add(mse.Prismatic("guide", axis=(0, 0, 1)), between=(body, system.ground))
    rod = mse.ThermalSpring(
        "rod",
        stiffness=STIFFNESS,
        length=LENGTH,
        expansion=EXPANSION,
        capacity=CAPACITY,
        temperature=ROOM,
    )
    system.add(rod, between=(system.ground, body))
    system.add(mse.HeatConductor("surface", conductance=conductance))
    system.add(mse.TemperatureSource("room", temperature=ROOM))
    system.add(mse.Heater("heater", resistance=10.0))
    system.add(mse.VoltageSource("supply", voltage=voltage))
    system.connect("rod.heat", "heater.heat", "surface.1")
    system.connect("surface.2", "room.heat")
    system.connect("supply.+", "heater.+")
    system.connect("supply.-", "heater.-", system.earth)
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system


cold, warm = build().find_working_point(), build(voltage=100.0).find_working_point()
lifted = warm.poses["body.center"].o[2] - cold.poses["body.center"].o[2]
heat = 100.0**2 / 10.0
by_hand = EXPANSION * LENGTH * heat / CONDUCTANCE
print(f"{heat:.0f} W lift the body by {1e6 * lifted:.4f} um, by hand {1e6 * by_hand:.4f} um")

# %%
# The stiffness that a force feels tells how much the rod damps: its loss angle is largest at :math:`\omega \tau = 1`.

f = np.geomspace(0.01, 100.0, 200)
linear = cold.linearize()
compliance = linear.frequency_response(f)["probe.z", "push.fz"]
stiffness = 1.0 / compliance + (2 * np.pi * f) ** 2 * MASS
strength = STIFFNESS * (EXPANSION * LENGTH) ** 2 * ROOM / CAPACITY
turn = 2j * np.pi * f * CAPACITY / CONDUCTANCE
zener = STIFFNESS * (1.0 + strength * turn / (1.0 + turn))
print(f"largest deviation from Zener's formula: {abs(stiffness / zener - 1.0).max():.0e}")

# %%
# A large motion takes the same laws: the supply is switched on, and the rod grows as it warms.

motion = build(voltage=100.0).simulate(
    duration=1.0, dt=0.01, rtol=1e-6, outputs=["probe.z", "rod.temperature"]
)


def picture():
    """Loss angle over frequency, and the way up."""
    figure = new_figure(8.0, 3.6)
    left, right = figure.subplots(1, 2)
    left.loglog(f, stiffness.imag / stiffness.real, label="rod")
    left.loglog(f, zener.imag / zener.real, "--", label="Zener")
    left.set(xlabel="frequency (Hz)", ylabel="loss angle (rad)")
    left.grid(True, alpha=0.4)
    left.legend()
    right.plot(motion.time, motion["rod.temperature"] - ROOM)
    right.set(xlabel="time (s)", ylabel="rod above room (K)")
    right.grid(True, alpha=0.4)
    return figure


figure = picture()
figure

# %%
# In three dimensions, the body on its rod:
modes = linear.modes(damped=True)
cold.view(modes=modes)

# sphinx_gallery_thumbnail_number = 1
