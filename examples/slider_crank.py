r"""
The torque of a slider-crank
============================

A crank turns at constant speed and moves a slider by a rod, as in every piston engine. Which torque does that take?
To prescribe a motion is inverse dynamics: the input is the angle of the crank, and the torque that it needs is an
output.

By hand: at constant speed :math:`\omega` the energy :math:`E(\varphi)` of rod and slider is a function of the crank's
angle alone, and the torque is its slope, :math:`M = dE/d\varphi`.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

CRANK, ROD = 0.1, 0.3  # m
MASSES = {"rod": 0.8, "slider": 1.5}  # kg; the crank is balanced
INERTIA = 0.006  # kg m2 of the rod about its center
SPEED = 40.0  # rad/s
GRAVITY = 9.81


def build() -> mse.MSystem:
    """The mechanism with all its links in line, its slider moving level."""
    system = mse.MSystem("Slider-crank", gravity=(0, 0, -GRAVITY))
    pin = {"pin": Pose.dx(CRANK)}
    wheel = system.add(
        mse.RigidBody("wheel", mass=1.0, inertia=0.01, shape=mse.Cylinder(CRANK, 0.02), frames=pin)
    )
    rod = system.add(
        mse.RigidBody(
            "rod",
            mass=MASSES["rod"],
            inertia=INERTIA,
            at=Pose.dx(CRANK + ROD / 2),
            frames={"crank end": Pose.dx(-ROD / 2), "slider end": Pose.dx(ROD / 2)},
        )
    )
    slider = mse.RigidBody("slider", mass=MASSES["slider"], inertia=0.001, at=Pose.dx(CRANK + ROD))
    slider = system.add(slider)
    crank = mse.Revolute("crank", axis=(0, -1, 0), motor="position")
    system.add(crank, between=(wheel, system.ground))
    big_end = mse.Revolute("big end", axis=(0, 1, 0))
    system.add(big_end, between=(rod.frame("crank end"), wheel.frame("pin")))
    system.add(mse.Revolute("small end", axis=(0, 1, 0)), between=(slider, rod.frame("slider end")))
    slide = system.add(mse.Prismatic("slide", axis=(1, 0, 0)))
    system.clamp(slider.frame(0), slide.frame(0))
    system.clamp(system.ground, slide.frame(1), Pose.dx(CRANK + ROD))
    return system


# %%
# The crank's angle is an input, as a function of time. mse finds its rate and acceleration exactly.
TURN = 2 * np.pi / SPEED
motion = build().simulate(duration=TURN, dt=TURN / 200, inputs={"crank.angle": lambda t: SPEED * t})
print(motion)
torque = motion["crank.torque"]
print(f"torque from {torque.min():.3f} to {torque.max():.3f} N m")


# %%
# By hand: positions of the rod's center and of the slider, their velocities by differences of the angle, and the slope of
# the energy.
def energy(angle: np.ndarray) -> np.ndarray:
    """Kinetic energy and weight (J) of rod and slider at angles of the crank."""

    def places(angle: np.ndarray) -> np.ndarray:
        tilt = np.arcsin(CRANK / ROD * np.sin(angle))  # of the rod, downwards
        x = CRANK * np.cos(angle) + np.array([[0.5], [1.0]]) * ROD * np.cos(tilt)
        return np.vstack([x, CRANK / 2 * np.sin(angle), tilt])

    h = 1e-4
    rates = SPEED * (places(angle + h) - places(angle - h)) / (2 * h)
    along, slide, up, turning = rates
    rod = MASSES["rod"] * (along**2 + up**2) + INERTIA * turning**2
    weight = MASSES["rod"] * GRAVITY * places(angle)[2]
    return 0.5 * (rod + MASSES["slider"] * slide**2) + weight


angle = motion["crank.angle"]
by_hand = (energy(angle + 1e-3) - energy(angle - 1e-3)) / 2e-3
print(f"mse and the slope of the energy differ by {np.abs(torque - by_hand).max():.0e} N m")

# %%
# Over a turn the drive does no work on the whole, but it has to give and take:
work = motion.energy["driven"]
print(f"work over a turn: {work[-1]:.1e} J, at most {work.max():.3f} J in between")

# %%
# Reactions of joints are outputs by name. At the small end, the rod pushes the slider:
forces = build().simulate(
    duration=TURN, dt=TURN / 50, inputs={"crank.angle": lambda t: SPEED * t}, outputs=["slide.fz"]
)
side = np.abs(forces["slide.fz"]).max()
print(f"the slide carries up to {side:.1f} N across")


def picture():
    """The torque over a turn, and the path of the rod's center."""
    figure = new_figure(12.0, 5.0)
    left, right = figure.subplots(1, 2)
    left.plot(np.degrees(angle), torque, label="mse")
    left.plot(np.degrees(angle[::10]), by_hand[::10], "o", fillstyle="none", label="by hand")
    left.set(xlabel="angle of the crank (deg)", ylabel="drive torque (N m)")
    for frame, label in (("wheel.pin", "pin"), ("rod.center", "center of the rod")):
        o, _ = motion.poses(frame)
        right.plot(o[:, 0], o[:, 2], label=label)
    o, _ = motion.poses("slider.center")
    right.plot(o[:, 0], o[:, 2], linewidth=4, label="slider")
    right.set(xlabel="x (m)", ylabel="z (m)", aspect="equal")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
        axes.legend(fontsize="small")
    return figure


figure = picture()
figure

# %%
# A motor is not rigid. On one that yields by 200 N m/rad, the crank swings about where the links are in line: there the slider
# stands still, and crank and rod have the inertia :math:`J = J_c + m r^2/4 + J_r (r/l)^2`.
STIFFNESS = 200.0
system = build()
system["crank"].motor, system["crank"].stiffness = "none", STIFFNESS
working_point = system.find_working_point()
modes = working_point.linearize().modes()
inertia = 0.01 + MASSES["rod"] * CRANK**2 / 4 + INERTIA * (CRANK / ROD) ** 2
by_hand_hz = np.sqrt(STIFFNESS / inertia) / (2 * np.pi)
print(f"mode at {modes.frequencies_hz[0]:.2f} Hz, by hand {by_hand_hz:.2f} Hz")

# %%
# In three dimensions:
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
