r"""
A rotor over speed
==================

A disc on an elastic shaft whirls forwards and backwards at frequencies that part with the speed: the gyroscopic moments.
Damping that turns along with the shaft steadies the rotor at low speed, and drives it beyond
:math:`\omega (1 + d_o / d_i)`, where :math:`d_o` is the damping outside and :math:`d_i` that inside (Jeffcott's rotor).
"""

import numpy as np

import mse
from mse.tools.figures import new_figure

MASS, STIFFNESS, INSIDE, OUTSIDE = 1.0, 1e4, 1.0, 2.0  # kg, N/m, N s/m, N s/m
TILTING = 40.0  # N m/rad, of the shaft


class Outside(mse.MObject):
    """A damper between the disc and the world, which does not turn: ``D = d v.v/2``."""

    frame_names = ("center",)

    def dissipation(self, frames, q, v):
        return 0.5 * OUTSIDE * (frames[0].v @ frames[0].v)


def build() -> mse.MSystem:
    """A shaft in a bearing; its end, with the disc, is displaced and tilted as it bends."""
    system = mse.MSystem("rotor", gravity=(0, 0, 0))
    shaft = system.add(mse.RigidBody("shaft", mass=0.0))
    disc = system.add(
        mse.RigidBody("disc", mass=MASS, inertia=(0.01, 0.01, 0.02), shape=mse.Cylinder(0.2, 0.02))
    )
    bend = mse.Joint(
        "bend",
        free=("x", "y", "ax", "ay"),
        stiffness={"x": STIFFNESS, "y": STIFFNESS, "ax": TILTING, "ay": TILTING},
        damping={"x": INSIDE, "y": INSIDE},
    )
    system.add(mse.Revolute("bearing"), between=(shaft, system.ground))
    system.add(bend, between=(disc, shaft))
    system.add(Outside("air"), between=(disc,))
    return system


# %%
# At 100 rad/s, seen from outside: tilting at :math:`\Omega \pm \sqrt{\Omega^2 + k/J}` for a disc whose axial moment is
# twice the other one.
rotor = build()
steady = rotor.find_steady_motion({"bearing.angle": 100.0})
found = 2 * np.pi * steady.linearize().modes(damped=True).frequencies_hz
by_hand = np.sqrt(100.0**2 + TILTING / 0.01) + np.array([-100.0, 100.0])
print(f"whirls at {by_hand.round(6)} rad/s by hand")
print(found.round(6))

# %%
# Over speed, it becomes unstable where the damping that turns along wins.
trace = rotor.find_steady_motion({"bearing.angle": 20.0}).trace("bearing.angle'", 340.0, points=16)
(limit,) = trace.limits
print(f"unstable above {limit:.6f} rad/s, by hand {100.0 * (1 + OUTSIDE / INSIDE):.6f} rad/s")


def picture():
    """Frequencies over speed, and growth."""
    figure = new_figure(11.0, 4.5)
    left, right = figure.subplots(1, 2)
    for motion in trace.motions:
        s = motion.linearize().modes(damped=True).eigenvalues
        s = s[s != 0.0]
        speed = np.full(len(s), motion.rates["bearing.angle"])
        left.plot(speed, np.abs(s.imag), "C0.")
        right.plot(speed, s.real, "C1.")
    left.plot([0, 340], [0, 340], "k--", linewidth=0.8, label="once a turn")
    right.axvline(limit, color="k", linewidth=0.8)
    left.set(xlabel="speed (rad/s)", ylabel="frequency (rad/s)")
    right.set(xlabel="speed (rad/s)", ylabel="growth (1/s)")
    left.legend(fontsize="small")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
    return figure


figure = picture()
figure

# %%
# In three dimensions, its modes at rest:
working_point = rotor.find_working_point()
modes = working_point.linearize().modes()
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
