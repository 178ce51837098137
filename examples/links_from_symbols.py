r"""
A chain of links, from symbols and from rods
============================================

The same chain of hinged bars, built twice: from a Lagrangian that SymPy writes down, and from rods and hinges. Both have the
same modes and fall in the same way.

With absolute angles :math:`q_i` from hanging, the bars' centers give
:math:`L = \sum_i \frac{m}{2} (\dot x_i^2 + \dot z_i^2) + \frac{m l^2}{24} \dot q_i^2 - m g z_i`.
"""

import numpy as np
import sympy
from sympy.physics import mechanics

import mse
from mse.tools.figures import new_figure

COUNT, MASS, LENGTH, GRAVITY = 5, 0.3, 0.2, 9.81  # kg, m, m/s2

# %%
# The Lagrangian goes into mse as it is. Nothing is compiled, and a file with it is read without SymPy.


def from_symbols() -> mse.MSystem:
    """One element whose coordinates are all angles."""
    m, bar, g = sympy.symbols("m l g")
    angles = mechanics.dynamicsymbols(f"q1:{COUNT + 1}")
    frame, time = mechanics.ReferenceFrame("N"), sympy.Symbol("t")
    x = z = kinetic = potential = 0
    for angle in angles:
        x, z = x + bar / 2 * sympy.sin(angle), z - bar / 2 * sympy.cos(angle)
        kinetic += m / 2 * (x.diff(time) ** 2 + z.diff(time) ** 2)
        kinetic += m * bar**2 / 24 * angle.diff(time) ** 2
        potential += m * g * z
        x, z = x + bar / 2 * sympy.sin(angle), z - bar / 2 * sympy.cos(angle)
    method = mechanics.LagrangesMethod(kinetic - potential, angles, frame=frame)
    system = mse.MSystem("symbols")
    parameters = {m: MASS, bar: LENGTH, g: GRAVITY}
    system.add(mse.SymbolicElement.from_lagranges("chain", method, parameters=parameters))
    return system


# %%
# The same bars as bodies, each hinged to the one above.


def from_rods() -> mse.MSystem:
    """Bars on hinges about y, straight down."""
    system = mse.MSystem("rods", gravity=(0, 0, -GRAVITY))
    across = MASS * LENGTH**2 / 12.0
    above, seat = system.ground, mse.Pose()
    for k in range(COUNT):
        at = mse.Pose.dz(-LENGTH * (k + 0.5))
        shape = mse.Box((0.02, 0.02, LENGTH))
        bar = mse.RigidBody(
            f"bar{k}", mass=MASS, inertia=(across, across, 1e-5), shape=shape, at=at
        )
        system.add(bar)
        hinge = system.add(mse.Revolute(f"hinge{k}", axis=(0, -1, 0)))
        system.clamp(above, hinge.frame(0), seat)
        system.clamp(bar.frame(0), hinge.frame(1), mse.Pose.dz(0.5 * LENGTH))
        above, seat = bar.frame(0), mse.Pose.dz(-0.5 * LENGTH)
    return system


symbols, rods = from_symbols(), from_rods()
points = [system.find_working_point() for system in (symbols, rods)]
first, second = (point.linearize().modes().frequencies_hz for point in points)
print("modes (Hz):", *(f"{x:.4f}" for x in first))
print(f"largest difference of the rods: {abs(second / first - 1.0).max():.0e}")

# %%
# Large motions: the chain is let go, every bar turned by 0.9 rad. Hinges count from the bar above, symbols from the vertical.

start = {f"chain.q{k + 1}": 0.9 for k in range(COUNT)}
one = symbols.simulate(duration=2.0, dt=0.01, initial=start, rtol=1e-10)
straight = {"hinge0.angle": 0.9} | {f"hinge{k}.angle": 0.0 for k in range(1, COUNT)}
two = rods.simulate(duration=2.0, dt=0.01, initial=straight, rtol=1e-10)
angles = np.array([one[f"chain.q{k + 1}"] for k in range(COUNT)])
turned = np.cumsum([two[f"hinge{k}.angle"] for k in range(COUNT)], axis=0)
print(f"after 2 s the last bar is at {angles[-1, -1]:.6f} rad, and {turned[-1, -1]:.6f} rad")


def picture():
    """All angles of both."""
    figure = new_figure(8.0, 4.0)
    axes = figure.subplots()
    for k in range(COUNT):
        axes.plot(one.time, angles[k], label=f"bar {k + 1}")
        axes.plot(two.time, turned[k], "k:")
    axes.set(xlabel="time (s)", ylabel="angle from hanging (rad)")
    axes.grid(True, alpha=0.4)
    axes.legend(title="symbols; rods dotted")
    return figure


figure = picture()
figure

# %%
# In three dimensions:
modes = points[1].linearize().modes()
points[1].view(modes=modes)

# sphinx_gallery_thumbnail_number = 1
