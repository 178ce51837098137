r"""
A damping loop, from its margins to its noise
=============================================

A mirror hangs from an upper mass, which hangs from the ground. Both swing for hours. A sensor reads the upper mass, and
a coil pushes it against its velocity. How fast may the loop be, what does it do to the motion, and what noise does the
sensor bring down to the mirror?

The controller is a differentiator with two poles and a delay,

.. math:: C(s) = \frac{k\,s}{(1 + s/w)^2}\,e^{-s\tau},

and the loop sets :math:`u = -C\,y`. Everything below is exact for the delay and for the losses of the wires; nothing is
replaced by a rational function unless it is said.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

GAIN, CORNER, DELAY = 20.0, 2 * np.pi * 10.0, 3e-3  # N s/m, rad/s, s

# %%
# The suspension
# --------------
# Wires of steel, with its loss; what is left of the gas around both bodies; a coil and a sensor at the upper mass, and a
# sensor of the mirror.

system = mse.MSystem("Two stages", gravity=(0, 0, -9.81))
STEEL = {"young_modulus": 2e11, "poisson_ratio": 0.3, "loss": 2e-4}
upper = system.add(mse.RigidBody("upper", mass=8.0, inertia=0.05, frames={"hook": Pose.dz(0.02)}))
mirror = system.add(
    mse.RigidBody("mirror", mass=10.0, inertia=0.06, frames={"hook": Pose.dz(0.02)})
)
base = system.add(mse.PositionActuator("ground"))
upper_wire = system.add(mse.Wire("upper wire", length=0.4, radius=2.5e-4, **STEEL))
lower_wire = system.add(mse.Wire("lower wire", length=0.6, radius=2e-4, **STEEL))
system.clamp(system.ground, base.frame(1))
system.clamp(base.frame(0), upper_wire.frame(1))
system.clamp(upper.frame("hook"), upper_wire.frame(0))
system.clamp(upper.frame("center"), lower_wire.frame(1), Pose.dz(-0.02))
system.clamp(mirror.frame("hook"), lower_wire.frame(0))
for name, body, height in (("upper", upper, -0.42), ("mirror", mirror, -1.06)):
    probe = system.add(mse.PositionSensor(f"at {name}"))
    system.clamp(body.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1), Pose.dz(height))
    gas = mse.Bushing(f"gas at {name}", damping=(2e-4, 2e-4, 2e-4, 1e-6, 1e-6, 1e-6))
    system.add(gas, between=(body, system.ground))
coil = system.add(mse.ForceActuator("coil"))
system.clamp(system.ground, coil.frame(0), Pose.dz(-0.42))
system.clamp(upper.frame("center"), coil.frame(1))
working_point = system.find_working_point()
linear = working_point.linearize()
modes = linear.modes()

# %%
# Closing the loop
# ----------------
# A controller is closed between an actuator and a sensor by their names. The result tells whether the loop is stable:
# by its poles, and by the count of Nyquist's criterion, which have to agree.

damping = mse.Controller.zpk([0.0], [-CORNER, -CORNER], GAIN * CORNER**2, delay=DELAY)
closed = linear.feedback({("coil.fx", "at upper.x"): damping}, name="damping")
print(closed)
swinging = [mode for mode in closed.modes() if mode.damping_ratio > 0.01 and mode.eigenvalue.imag]
for mode in swinging:
    print(
        f"{mode.frequency_hz:8.4f} Hz, damping ratio {mode.damping_ratio:.3f},",
        mode.participants(),
    )

# %%
# Margins
# -------
# All crossings, not only the first: the loop is closed around every resonance whose gain is above one.

margins = closed.margins()
print(margins)
bode = closed.plot("bode")

# %%
# The point -1 stays outside; the dotted circle has the largest sensitivity as its inverse radius.

nyquist = closed.plot("nyquist")

# %%
# The gain margin is what it says: with that much more gain a pole reaches the imaginary axis.

edge = mse.Controller.zpk(
    [0.0], [-CORNER, -CORNER], margins.gain_margin * GAIN * CORNER**2, delay=DELAY
)
at_edge = linear.feedback({("coil.fx", "at upper.x"): edge})
growth = at_edge.poles().real.max()
print(f"with {margins.gain_margin:.3f} times the gain the fastest growth is {abs(growth):.1e} 1/s")

# %%
# Noise
# -----
# The ground shakes, the sensor has noise, and the wires have thermal noise, all with the loop closed. Below the
# resonances the ground rules; above, the loop hands on the noise of its sensor until the poles of the controller cut it
# off. The command is what the coil is asked for.

f = np.geomspace(0.05, 50.0, 800)
shaking = {"ground.x": lambda f: 1e-7 / (1 + (f / 0.5) ** 2), "at upper.x noise": 1e-10}
budget = closed.noise(f, "at mirror.x", inputs=shaking)
noise = budget.plot()

# %%
# For an RMS the frequencies have to resolve every resonance of the closed loop, so mse chooses them.

command = closed.noise(None, "coil.fx command", inputs=shaking)
print(f"the coil is asked for {1e6 * command.rms(0.05, 50.0):.2f} uN rms from 0.05 to 50 Hz")

# %%
# In time
# -------
# A delay has no state space, so one says by which rational function it is replaced. The mirror is pushed for a second,
# with the loop open and closed. The losses of the wires are no part of a run in time.

push = {"initial": {"mirror.x": 1e-3}, "outputs": ["at mirror.x"], "duration": 20.0, "dt": 0.01}
free = linear.lossless.simulate(**push)
damped = linear.lossless.feedback({("coil.fx", "at upper.x"): damping}, name="damping")
held = damped.with_pade(3).simulate(**push)


def picture():
    """The mirror after a displacement, with and without the loop."""
    figure = new_figure(8.0, 4.0)
    axes = figure.subplots()
    axes.plot(free.time, 1e3 * free["at mirror.x"], "--", color="gray", label="open")
    axes.plot(held.time, 1e3 * held["at mirror.x"], label="closed")
    axes.set(xlabel="time (s)", ylabel="mirror.x (mm)")
    axes.grid(True, alpha=0.4)
    axes.legend()
    return figure


figure = picture()
figure

# %%
# A digital controller is the same with a sampling time: held between samples, and late by its computing time.
# ``scipy.signal`` makes one of the continuous one.

from scipy import signal  # noqa: E402

T = 2e-3
digital = signal.cont2discrete((damping.zeros, damping.poles, damping.gain), T, method="bilinear")
sampled = mse.Controller.zpk(*digital[:3], dt=T, delay=T)
loop = linear.lossless.feedback({("coil.fx", "at upper.x"): sampled}, name="digital damping")
print(loop.margins().gain_margin, loop.stable)

# %%
# In three dimensions, with the modes of the open system:
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = 1
