r"""
A ball under a magnet
=====================

The pull of an electromagnet grows as a steel ball comes nearer, so that the ball falls, or flies to the pole. A voltage
that depends on its place and speed holds it.

The coil's inductance :math:`L(x) = L_0 + L_1/(1 + x/a)` falls with the gap x. Its coenergy :math:`L(x)\,i^2/2` gives the
flux, and the pull :math:`L'(x)\,i^2/2`.
"""

import numpy as np

import mse
from mse.elements.parameters import Real
from mse.tools.figures import new_figure

MASS, GAP, RESISTANCE = 0.06, 0.004, 8.0  # kg, m, ohm

# %%
# The coil is an element of its own: one charge with two ports, and a resistance. Its frames are the pole and the ball.


class Magnet(mse.MObject):
    """A coil above a ball, whose inductance depends on the gap."""

    frame_names = ("pole", "ball")
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def kinetic(self, frames, q, v):
        gap = frames[0].o[2] - frames[1].o[2]
        return 0.5 * (0.05 + 0.08 / (1.0 + gap / GAP)) * v[0] ** 2

    def dissipation(self, frames, q, v):
        return 0.5 * RESISTANCE * v[0] ** 2


# %%
# So is the controller: a voltage in series with the source, by the gap and its rate.


class Controller(mse.MObject):
    """``U = P (x - a) + D x'`` between its ports."""

    proportional: Real = Real("P", unit="V/m", default=6000.0)
    derivative: Real = Real("D", unit="V s/m", default=100.0)

    frame_names = ("pole", "ball")
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def power(self, frames, q, v, given):
        gap = frames[0].o[2] - frames[1].o[2]
        rate = given.frames[0].v[2] - given.frames[1].v[2]
        return -(self.proportional * (gap - GAP) + self.derivative * rate) * v[0]


def build(controlled: bool, voltage: float) -> mse.MSystem:
    """Ball, magnet, source, and the controller if asked for."""
    system = mse.MSystem("Levitation", gravity=(0, 0, -9.81))
    ball = system.add(
        mse.RigidBody(
            "ball", mass=MASS, inertia=1e-5, shape=mse.Sphere(0.0122), at=mse.Pose.dz(-GAP)
        )
    )
    system.add(mse.Prismatic("guide"), between=(ball, system.ground))
    system.add(Magnet("coil"), between=(system.ground, ball))
    system.add(mse.ForceActuator("push"), between=(system.ground, ball))
    system.add(mse.VoltageSource("source", voltage=voltage))
    system.connect("source.-", "coil.-", system.earth)
    if controlled:
        system.add(Controller("controller"), between=(system.ground, ball))
        system.connect("source.+", "controller.-")
        system.connect("controller.+", "coil.+")
    else:
        system.connect("source.+", "coil.+")
    return system


# %%
# At rest the pull :math:`L_1 i^2/(8 a)` carries the ball.

current = np.sqrt(8.0 * GAP * MASS * 9.81 / 0.08)
voltage = RESISTANCE * current
free = build(False, voltage).find_working_point(seek="nearest")
held = build(True, voltage).find_working_point(seek="nearest")
print(f"{held.flows['coil.charge']:.6f} A hold the ball, by hand {current:.6f} A")
rates = [point.linearize().modes(damped=True).eigenvalues.real.max() for point in (free, held)]
print(f"falls with {rates[0]:.4f} 1/s, held with {rates[1]:.4f} 1/s")

# %%
# The ball starts at rest at its place, and a push of 5 mN comes and goes within 20 ms. Without the controller the ball falls;
# with it, the ball returns.


def push(t: float) -> float:
    """A force (N) that comes and goes."""
    return -5e-3 * np.sin(np.pi * t / 0.02) ** 2 if t < 0.02 else 0.0


runs = {}
for name, point in (("without", free), ("with controller", held)):
    runs[name] = point.system.simulate(
        duration=0.12 if point is free else 0.2,
        dt=1e-3,
        start=point,
        inputs={"push.fz": push},
        outputs=["guide.displacement", "coil.charge'"],
        rtol=1e-7,
    )
ends = [1e3 * run["guide.displacement"][-1] for run in runs.values()]
print(f"ends at {ends[0]:.3f} mm without, {ends[1]:.3f} mm with the controller")


def picture():
    """Place and current of the ball let go."""
    figure = new_figure(8.0, 3.6)
    left, right = figure.subplots(1, 2)
    for name, run in runs.items():
        left.plot(1e3 * run.time, 1e3 * run["guide.displacement"], label=name)
        right.plot(1e3 * run.time, run["coil.charge'"], label=name)
    left.set(xlabel="time (ms)", ylabel="height of the ball (mm)")
    right.set(xlabel="time (ms)", ylabel="current (A)")
    for axes in (left, right):
        axes.grid(True, alpha=0.4)
        axes.legend()
    return figure


figure = picture()
figure

# %%
# In three dimensions, with the motion of the controlled ball:
modes = held.linearize().modes(damped=True)
held.view(modes=modes)

# sphinx_gallery_thumbnail_number = 1
