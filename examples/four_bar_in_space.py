r"""
A four-bar linkage in space
===========================

A crank turns on a hinge, a slider moves on a slide, and a rod with a universal joint at one end and a ball joint at the
other closes the loop. The linkage has one motion, but in space, so nothing about it can be written down in a line. It is
*Fourbar1* of the MultiBody library of Modelica, started with 300 degrees a second; the angles that other programs agree on
are known to twelve digits.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

RADIUS, DENSITY = 0.025, 7700.0  # m, kg/m3 of all rods
SPEED = np.radians(300.0)  # rad/s of the crank at the start


def add_rod(system: mse.MSystem, name: str, start: tuple, along: tuple) -> mse.RigidBody:
    """A round rod from ``start``, with a frame at each end."""
    along = np.array(along)
    length = np.linalg.norm(along)
    mass = DENSITY * np.pi * RADIUS**2 * length
    across = mass * (3 * RADIUS**2 + length**2) / 12
    n = along / length
    inertia = across * np.eye(3) + (mass * RADIUS**2 / 2 - across) * np.outer(n, n)
    ends = {"start": Pose(-along / 2), "end": Pose(along / 2)}
    at = Pose(np.array(start) + along / 2)
    return system.add(mse.RigidBody(name, mass=mass, inertia=inertia, at=at, frames=ends))


def build() -> mse.MSystem:
    """The linkage where its crank stands upright; y points up."""
    system = mse.MSystem("Four-bar linkage", gravity=(0, -9.80665, 0))
    crank = add_rod(system, "crank", (0, 0, 0), (0, 0.5, 0.1))
    slider = add_rod(system, "slider", (1, 0, 0), (0, 0.2, 0))
    coupler = add_rod(system, "coupler", (1, 0.2, 0), (-1, 0.3, 0.1))
    hinge = mse.Revolute("hinge", axis=(1, 0, 0))
    system.add(hinge, between=(crank.frame("start"), system.ground))
    slide = system.add(mse.Prismatic("slide", axis=(1, 0, 0)))
    system.clamp(slider.frame("start"), slide.frame(0))
    system.clamp(system.ground, slide.frame(1), Pose.dx(1.0))
    cross = mse.Universal("cross", axis=(0, 1, 0), second=(0, 0, 1))
    system.add(cross, between=(coupler.frame("start"), slider.frame("end")))
    system.add(mse.Spherical("ball"), between=(coupler.frame("end"), crank.frame("end")))
    return system


# %%
# The crank's rate is all that is given. Rates of the other joints follow from the loop.
motion = build().simulate(
    duration=5.0,
    dt=0.01,
    initial={"hinge.angle'": SPEED},
    outputs=["hinge.angle", "hinge.angle'", "slide.displacement", "ball.fx"],
)
print(motion)
angle, rate = motion["hinge.angle"], motion["hinge.angle'"]
print(f"crank at 1 s: {angle[100]:.9f} rad, known 7.802163426 rad")
print(f"rate at 5 s: {rate[-1]:.8f} rad/s, known 11.74044280 rad/s")

# %%
# The energy is a check of its own, and needs no other program.
energy = motion.energy
drift = np.abs(energy["unaccounted"]).max() / np.ptp(energy["kinetic"])
print(f"not accounted for: {drift:.0e} of the kinetic energy that comes and goes")


def picture():
    """Crank and slider over time, and the force in the ball joint."""
    figure = new_figure(12.0, 5.0)
    left, right = figure.subplots(1, 2)
    left.plot(motion.time, rate, label="rate of the crank (rad/s)")
    left.plot(motion.time, 10 * motion["slide.displacement"], "--", label="slider (0.1 m)")
    left.set(xlabel="time (s)")
    left.legend(fontsize="small", loc=(0.02, 0.3))
    right.plot(np.degrees(angle) % 360, motion["ball.fx"], ".", markersize=3)
    right.set(xlabel="angle of the crank (deg)", ylabel="force of the ball joint along x (N)")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
    return figure


figure = picture()
figure

# %%
# At rest the crank hangs. Small swings about that have the frequency of the linear model:
working_point = build().find_working_point()
modes = working_point.linearize().modes()
swing = build().simulate(
    start=working_point,
    duration=4.0,
    dt=0.001,
    initial={"hinge.angle'": 1e-3},
    crossings={"hinge.angle": working_point.joint_coordinates["hinge.angle"]},
)
passed = [c.time for c in swing.crossings if c.rising]
period = (passed[-1] - passed[0]) / (len(passed) - 1)
print(f"swings at {1 / period:.5f} Hz, the linear model at {modes.frequencies_hz[0]:.5f} Hz")

# %%
# In three dimensions:
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
