r"""
Five systems of a thesis on Lagrange's equations
================================================

J. Suk (Automatic Formulation of Lagrangian DAEs, 2005) writes five systems down by energies, dissipation, work and
constraints, and leaves their solution as future work. Two of them have none as printed, and mse tells why.

An element of one's own has the same words: ``energy`` is V, less the work of constant forces; ``kinetic`` is the coenergy
T*; ``dissipation`` is D; ``constraint``, ``flow_constraint`` and ``effort_constraint`` are phi, psi and Gamma.
"""

import numpy as np

import mse
from mse.tools.figures import new_figure


def solve(element: mse.MObject, duration: float, **initial: float) -> mse.Trajectory:
    """The motion of an element alone, from given coordinates, all others zero."""
    system = mse.MSystem("thesis", gravity=(0, 0, 0))
    system.add(element)
    given = {f"{element.name}.{name}": value for name, value in initial.items()}
    return system.simulate(duration=duration, dt=duration / 100, initial=given, rtol=1e-7)


# %%
# Section 4.2: a block without mass on a spring, a damper, and a ball on a rod. SymPy forms the
# equations, which are printed below the class, as for all five systems.


class Pendulum(mse.MObject):
    frame_names = ()
    coordinate_names = ("x1", "x2", mse.coordinate("x3", unit="rad"))

    def energy(self, frames, q):
        return 15.0 * q[0] ** 2 + 1.5 * 9.81 * (q[1] - 0.8 * np.cos(q[2]))

    def kinetic(self, frames, q, v):
        return 0.75 * (v[1] ** 2 + 0.64 * v[2] ** 2 + 1.6 * v[1] * v[2] * np.sin(q[2]))

    def dissipation(self, frames, q, v):
        return 2.0 * (v[0] - v[1]) ** 2


pendulum = solve(Pendulum("pendulum"), 3.0, x1=0.1, x3=0.6)
print(f"4.2: x1 = {pendulum['pendulum.x1'][-1]:.6f} m after 3 s")
Pendulum("pendulum").equations()

# %%
# Section 4.3: a belt around two wheels, elastic between them, which a torque drives. The constraints keep it from slipping.


class Conveyor(mse.MObject):
    frame_names = ()
    coordinate_names = ("x1", "x2", *(mse.coordinate(name, unit="rad") for name in ("x3", "x4")))

    def energy(self, frames, q):
        return 500.0 * (q[0] - q[1]) ** 2 - 2.0 * q[2]

    def kinetic(self, frames, q, v):
        return 0.5 * (3.0 * v[0] ** 2 + 0.01 * v[2] ** 2 + 0.04 * v[3] ** 2)

    def dissipation(self, frames, q, v):
        return 5.0 * (v[0] - v[1]) ** 2

    def constraint(self, frames, q):
        return [q[1] - 0.1 * q[2], q[0] - 0.2 * q[3]]


conveyor = solve(Conveyor("conveyor"), 2.0)
moving = 3.0 + 0.01 / 0.1**2 + 0.04 / 0.2**2  # kg, that the torque accelerates
speed, by_hand = conveyor["conveyor.x1'"][-1], 2.0 * 2.0 / 0.1 / moving
print(f"4.3: the belt runs at {speed:.6f} m/s after 2 s, by hand {by_hand:.6f} m/s")
Conveyor("conveyor").equations()

# %%
# Section 4.4: a lever moves the plate of a capacitor and the core of a coil, whose currents meet at a junction.


class Lever(mse.MObject):
    frame_names = ()
    coordinate_names = (
        "x1",
        "x2",
        *(mse.coordinate(name, unit="C") for name in ("q0", "q1", "q2")),
    )

    def energy(self, frames, q):
        plates = q[2] ** 2 * (0.01 - q[0]) / 2e-6 + q[3] ** 2 / 1e-4
        return 50.0 * (q[0] ** 2 + q[1] ** 2) + plates - 5.0 * q[2]

    def kinetic(self, frames, q, v):
        return 0.5 * (0.05 + 2.0 * q[1]) * v[4] ** 2

    def dissipation(self, frames, q, v):
        return 10.0 * v[2] ** 2

    def constraint(self, frames, q):
        return [q[0] + q[1]]

    def flow_constraint(self, frames, q, v):
        return v[2] - v[3] - v[4]


lever = solve(Lever("lever"), 0.01)
print(f"4.4: q0 = {lever['lever.q0'][-1]:.6e} C after 10 ms")
Lever("lever").equations()

# %%
# Section 4.5: two liquids of different temperature are blended and heated. As printed, only the sum of the volumes V1 and V2
# meets an energy, that of V3; nothing says how they share it. The torque of the motor is in no equation of the fan.


class PrintedBlender(mse.MObject):
    frame_names = ()
    coordinate_names = (
        *(mse.coordinate(name, unit="m3") for name in ("v1", "v2", "v3")),
        *(mse.coordinate(name, unit="J/K") for name in ("s1", "s2", "s3")),
        mse.coordinate("q0", unit="C"),
        mse.coordinate("theta", unit="rad"),
    )
    effort_names = ("torque",)

    def energy(self, frames, q):
        return 0.5 * q[2] ** 2 / 1e-9 + 0.01 * q[5] ** 2 - 340.0 * q[5] - 24.0 * q[6]

    def kinetic(self, frames, q, v):
        return 1e-3 * v[7] ** 2

    def dissipation(self, frames, q, v):
        return 0.15 * v[3] ** 2 + 0.3 * v[4] ** 2 + 4.0 * v[6] ** 2

    def flow_constraint(self, frames, q, v):
        return [v[5] - v[3] - v[4], v[2] - v[0] - v[1]]

    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 0.05 * v[6]


def refusal(element: mse.MObject) -> str:
    """What mse says of an element alone that has no modes."""
    system = mse.MSystem("thesis", gravity=(0, 0, 0))
    system.add(element)
    try:
        system.find_working_point().linearize().modes(damped=True)
    except mse.MseError as error:
        return str(error)
    return ""


print("4.5 as printed:", refusal(PrintedBlender("blender")))

# %%
# Corrected, the volumes follow the entropies that they carry, and the torque drives the fan against the drag of the liquid.


class Blender(mse.MObject):
    frame_names = ()
    coordinate_names = (
        *(mse.coordinate(name, unit="J/K") for name in ("s1", "s2", "s3")),
        mse.coordinate("q0", unit="C"),
        mse.coordinate("theta", unit="rad"),
    )
    effort_names = ("torque",)

    def energy(self, frames, q):
        return 0.01 * q[2] ** 2 - 340.0 * (q[0] + q[1]) - 24.0 * q[3]

    def kinetic(self, frames, q, v):
        return 1e-3 * v[4] ** 2

    def dissipation(self, frames, q, v):
        return 0.15 * v[0] ** 2 + 0.3 * v[1] ** 2 + 4.0 * v[3] ** 2 + 0.5e-3 * v[4] ** 2

    def flow_constraint(self, frames, q, v):
        return v[2] - v[0] - v[1]

    def power(self, frames, q, v, given):
        return given.e[0] * v[4]

    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 0.05 * v[3]


blender = solve(Blender("blender"), 5.0)
fan = blender["blender.theta'"][-1]
print(f"4.5 corrected: the fan turns at {fan:.4f} rad/s after 5 s")
Blender("blender").equations()

# %%
# Section 4.6: a flapper lets air out of a nozzle, and bellows move the flapper. As printed, a force F acts on the input u of
# the lever, which meets no spring and no mass. The orifice is choked: its flow does not depend on the pressure behind it, so
# that its equation decides no effort.

SPRING, AREA, SUPPLY, NOZZLE = 2e4, 1e-3, 1e-4, 7e-3  # N/m, m2, m3/s, m2/s per root of Pa
GAP, WEIGHT, PRESSURE = 1e-4, 0.2 * 9.81, 5e5  # m, N, Pa


class PrintedFlapper(mse.MObject):
    frame_names = ()
    coordinate_names = (
        *("u", "y", "z", mse.coordinate("theta", unit="rad")),
        *(mse.coordinate(name, unit="m3") for name in ("v1", "v2", "v3")),
        mse.coordinate("q0", unit="C"),
    )
    effort_names = ("p2",)

    def energy(self, frames, q):
        return 0.5 * SPRING * q[2] ** 2 + WEIGHT * q[2] - self.push(q) - 12.0 * q[7]

    def push(self, q):
        return 5.0 * q[0]  # F u

    def kinetic(self, frames, q, v):
        return 0.1 * v[2] ** 2 + 0.5e-4 * v[3] ** 2 + 0.5e-2 * v[7] ** 2

    def dissipation(self, frames, q, v):
        return 10.0 * v[2] ** 2 + 4.0 * v[7] ** 2

    def constraint(self, frames, q):
        return [q[1] + 0.5 * q[2] - 0.5 * q[0], q[2] + 0.05 * q[3]]

    def flow_constraint(self, frames, q, v):
        return v[4] - v[5] - v[6]

    def power(self, frames, q, v, given):
        return given.e[0] * (v[5] + v[6] - AREA * v[2])

    def effort_constraint(self, frames, q, v, given):
        return v[4] - SUPPLY


print("4.6 as printed:", refusal(PrintedFlapper("flapper")))

# %%
# Corrected, u is held by a spring, the supply drives its flow through a resistance, the air in the bellows stores energy, and
# the effort is the pressure at the nozzle, whose flow goes with its root.


class Flapper(PrintedFlapper):
    effort_names = ("p",)

    def energy(self, frames, q):
        stored = 0.5 * (q[5] + AREA * q[2]) ** 2 / 1e-9
        return super().energy(frames, q) + stored - PRESSURE * q[4]

    def push(self, q):
        return -0.5 * 1e5 * q[0] ** 2

    def dissipation(self, frames, q, v):
        return super().dissipation(frames, q, v) + 0.5 * PRESSURE / SUPPLY * v[4] ** 2

    def power(self, frames, q, v, given):
        return -given.e[0] * v[6]

    def effort_constraint(self, frames, q, v, given):
        return v[6] - NOZZLE * (GAP + q[1]) * np.sqrt(np.sqrt(given.e[0] ** 2 + 1.0))


flapper = solve(Flapper("flapper"), 0.05)
z, y, held, flow = (flapper[f"flapper.{name}"][-1] for name in ("z", "y", "v2", "v3'"))
pressure = (held + AREA * z) / 1e-9
passed = NOZZLE * (GAP + y) * np.sqrt(pressure)
print(f"4.6 corrected: the nozzle passes {1e6 * flow:.4f} cm3/s, by hand {1e6 * passed:.4f} cm3/s")
Flapper("flapper").equations()


def picture():
    """A motion of each."""
    figure = new_figure(10.0, 5.6)
    shown = (
        ("4.2 pendulum", pendulum, "pendulum.x3", 1.0, "angle (rad)"),
        ("4.3 conveyor", conveyor, "conveyor.x1'", 1.0, "belt (m/s)"),
        ("4.4 lever", lever, "lever.q0", 1e3, "charge (mC)"),
        ("4.5 blender", blender, "blender.theta'", 1.0, "fan (rad/s)"),
        ("4.6 flapper", flapper, "flapper.z", 1e3, "bellows (mm)"),
    )
    places = figure.subplots(2, 3).ravel()
    for axes, (title, motion, name, factor, label) in zip(places[:5], shown, strict=True):
        axes.plot(motion.time, factor * motion[name])
        axes.set(title=title, xlabel="time (s)", ylabel=label)
        axes.grid(True, alpha=0.4)
    places[5].set_axis_off()
    return figure


figure = picture()
figure
