r"""
A double pendulum that turns over
=================================

Two rods hang below each other on hinges, and are let go from almost upright. This is no small motion about a working
point: the lower rod turns over, and the smallest change at the start ends elsewhere. ``system.simulate`` integrates the
equations of all bodies and joints as they stand.

The energy can be checked by hand: what the rods have at the start is still there, but for what the hinges have damped.
"""

import numpy as np
from scipy.linalg import eigh

import mse
from mse import Pose
from mse.tools.figures import new_figure

LENGTH, MASS = 0.5, 1.0  # m, kg of each rod
START = {
    "shoulder.angle": 2.4,
    "elbow.angle": 0.3,
}  # rad from hanging, the second one relative to the first


def build(damping: float = 0.0) -> mse.MSystem:
    """The two rods, with the damping (N m s/rad) of each hinge."""
    system = mse.MSystem("Double pendulum", gravity=(0, 0, -9.81))
    inertia = MASS * LENGTH**2 / 12 * np.array([1.0, 1.0, 1e-3])
    ends = {"top": Pose.dz(LENGTH / 2), "tip": Pose.dz(-LENGTH / 2)}
    above = system.ground
    for k, (rod, hinge) in enumerate((("upper", "shoulder"), ("lower", "elbow"))):
        at = Pose.dz(-(k + 0.5) * LENGTH)
        body = system.add(mse.RigidBody(rod, mass=MASS, inertia=inertia, at=at, frames=ends))
        joint = mse.Revolute(hinge, axis=(0, 1, 0), damping=damping)
        system.add(joint, between=(body.frame("top"), above))
        above = body.frame("tip")
    return system


# %%
# It begins with the angles given, at rest. ``dt`` is the distance of the samples; steps are as long as the tolerance
# allows, so it changes nothing.
motion = build().simulate(duration=3.0, dt=0.01, initial=START)
print(motion)
energy = motion.energy
drift = np.abs(energy["unaccounted"]).max()
print(f"energy: {energy['kinetic'].max():.3f} J kinetic at most, {drift:.1e} J not accounted for")

# %%
# With damping, what the hinges take is counted along the way.
damped = build(damping=0.02).simulate(duration=3.0, dt=0.01, initial=START)
print(f"the hinges took {-damped.energy['damped'][-1]:.4f} J")

# %%
# Small swings agree with the linear model, and with a calculation by hand: in angles from the vertical,
# :math:`m L^2 (4/3, 1/2; 1/2, 1/3)` is the mass and :math:`m g L\,(3/2, 1/2)` the stiffness.
working_point = build().find_working_point()
modes = working_point.linearize().modes()
squares, shapes = eigh(
    np.diag([1.5, 0.5]) * 9.81, LENGTH * np.array([[4 / 3, 1 / 2], [1 / 2, 1 / 3]])
)
by_hand = np.sqrt(squares) / (2 * np.pi)
print(f"modes at {modes.frequencies_hz.round(6)} Hz, by hand {by_hand.round(6)} Hz")
small = build().simulate(duration=2.0, dt=0.01, initial={"shoulder.angle": 1e-3})
amplitudes = np.linalg.solve(shapes, [1e-3, 1e-3])
swing = np.cos(np.outer(small.time, np.sqrt(squares))) @ (shapes[0] * amplitudes)
apart = np.abs(small["shoulder.angle"] - swing).max()
print(f"a swing of 1 mrad agrees with the modes to {apart:.0e} rad")


def picture():
    """The path of the tip, and the angles and energies over time."""
    figure = new_figure(12.0, 5.0)
    left, right = figure.subplots(1, 2)
    for run, label, style in ((motion, "free", "-"), (damped, "damped", "--")):
        o, _ = run.poses("lower.tip")
        left.plot(o[:, 0], o[:, 2], style, label=label)
        right.plot(run.time, run["elbow.angle"], style, label=f"elbow, {label}")
    left.plot(0.0, 0.0, "ko", label="shoulder")
    left.set(xlabel="x of the tip (m)", ylabel="z of the tip (m)", aspect="equal")
    right.set(xlabel="time (s)", ylabel="angle (rad)")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
        axes.legend(fontsize="small")
    return figure


figure = picture()
figure

# %%
# In three dimensions, its two modes about rest:
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
