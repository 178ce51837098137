r"""
A bicycle over speed
====================

A bicycle without a rider who steers is two frames, two wheels, three hinges, and two discs that roll without slip. Straight
running is a steady motion at every speed; whether it is stable depends on the speed. The parameters, and the eigenvalues to
compare with, are those of Meijaard, Papadopoulos, Ruina and Schwab (Proc. R. Soc. A 463, 2007): the weave dies out above
4.292 m/s, and the bicycle capsizes slowly above 6.024 m/s.

No equation is written for it: the discs hold the heights of the wheels, and the velocities of the points that touch.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

WHEELBASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10  # m, m, rad of the steering axis
STEER = np.array([-np.sin(TILT), 0.0, np.cos(TILT)])  # upwards


def build() -> mse.MSystem:
    """The bicycle upright at the origin, x forward, z up."""
    system = mse.MSystem("bicycle", gravity=(0, 0, -9.81))
    head = np.array([WHEELBASE + TRAIL, 0.0, 0.0]) + 0.9 * STEER  # on the steering axis
    axles = {"rear": np.array([0.0, 0.0, 0.3]), "front": np.array([WHEELBASE, 0.0, 0.35])}

    def frame(name, mass, at, inertia, axle):
        ends = {"axle": Pose(axles[axle] - at), "head": Pose(head - at)}
        return system.add(mse.RigidBody(name, mass=mass, inertia=inertia, at=Pose(at), frames=ends))

    body = frame(
        "body",
        85.0,
        np.array([0.3, 0, 0.9]),
        [[9.2, 0, -2.4], [0, 11.0, 0], [-2.4, 0, 2.8]],
        "rear",
    )
    fork_inertia = [[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]]
    fork = frame("fork", 4.0, np.array([0.9, 0, 0.7]), fork_inertia, "front")
    system.add(
        mse.Joint("pose", free=("x", "y", "z", "ax", "ay", "az")), between=(body, system.ground)
    )
    system.add(
        mse.Revolute("steer", axis=tuple(STEER)), between=(fork.frame("head"), body.frame("head"))
    )
    for name, mass, inertia, holder in (
        ("rear", 2.0, (0.0603, 0.12, 0.0603), body),
        ("front", 3.0, (0.1405, 0.28, 0.1405), fork),
    ):
        wheel = system.add(mse.RigidBody(name, mass=mass, inertia=inertia, at=Pose(axles[name])))
        hinge = mse.Revolute(f"{name}_axle", axis=(0, 1, 0))
        system.add(hinge, between=(wheel, holder.frame("axle")))
        tire = mse.RollingDisc(f"{name}_tire", axis=(0, 1, 0), radius=axles[name][2])
        system.add(tire, between=(wheel, system.ground))
    return system


# %%
# At 5 m/s forward. The wheels turn along, since they roll; zero frequencies are of motions that go on: along the road,
# across it, around the corner.
bicycle = build()
steady = bicycle.find_steady_motion({"pose.x": 5.0})
eigenvalues = steady.linearize().modes(damped=True).eigenvalues
print(steady)
print(np.round(eigenvalues[eigenvalues != 0.0], 8))

# %%
# Over speed, with the speeds at which straight running becomes stable and unstable.
trace = bicycle.find_steady_motion({"pose.x": 3.0}).trace("pose.x'", 8.0, points=5)
weave, capsize = trace.limits
print(f"weave speed {weave:.4f} m/s, capsize speed {capsize:.4f} m/s")

# %%
# A push at 5 m/s: it comes back upright, and goes elsewhere.
ride = bicycle.simulate(
    duration=1.0, dt=0.02, start=steady.state, initial={"pose.ax'": 0.1}, rtol=1e-6
)
lean, steer = ride["pose.ax"][-1], ride["steer.angle"][-1]
print(f"after 1 s it leans by {lean:.4f} rad and steers by {steer:.4f} rad")


def picture():
    """Eigenvalues over speed, and the ride."""
    figure = new_figure(11.0, 4.5)
    left, right = figure.subplots(1, 2)
    for motion in trace.motions:
        s = motion.linearize().modes(damped=True).eigenvalues
        s = s[(s != 0.0) & (s.real > -10.0)]
        left.plot(np.full(len(s), motion.rates["pose.x"]), s.real, "C0o", markersize=4)
        left.plot(np.full(len(s), motion.rates["pose.x"]), s.imag, "C1x", markersize=4)
    for speed in trace.limits:
        left.axvline(speed, color="k", linewidth=0.8)
    left.set(xlabel="speed (m/s)", ylabel="growth (o), frequency (x) (1/s)")
    right.plot(ride.time, ride["pose.ax"], label="lean")
    right.plot(ride.time, ride["steer.angle"], label="steer")
    right.set(xlabel="time (s)", ylabel="angle (rad)")
    right.legend(fontsize="small")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
    return figure


figure = picture()
figure

# %%
# In three dimensions, as it falls over at rest:
working_point = bicycle.find_working_point(seek="nearest")
modes = working_point.linearize().modes()
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
