"""One entry for every kind of element: how to make one and where it is unloaded; a new element adds a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation
from textbook_frames import Bar, chain

import mse
from mse import Pose
from mse.elements.base import Channel, FramePose
from mse.elements.beam_segment import BeamSegment, SegmentData, ShearingSegment
from mse.elements.exact_beam import ExactSegment, MasslessSegment
from mse.elements.parameters import Array, Real
from mse.kernels import beam_shapes, motions


# -- elements as a user writes them -------------------------------------------------------------------------------
class Magnets(mse.MObject):
    """Two dipoles of moments m0 and m1 along the z axes of the frames, in units of mu0/4 pi; energy only."""

    m0 = Real("moment of frame 0", unit="A m2", default=0.8)
    m1 = Real("moment of frame 1", unit="A m2", default=0.5)

    def energy(self, frames, q):
        a, b = self.m0 * frames[0].U[:, 2], self.m1 * frames[1].U[:, 2]
        d = frames[1].o - frames[0].o
        r = np.sqrt(d @ d)
        return (a @ b - 3.0 * (a @ d) * (b @ d) / r**2) / r**3


class CubicTether(mse.MObject):
    """``W = k/4 (|d|^2 - l^2)^2``; energy, span and damping, no kernel."""

    length = Real("length at rest", unit="m", default=1.0, minimum=0.0)
    strength = Real("k", unit="N/m3", default=2.0)
    parts = ("everything",)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.25 * self.strength * (d @ d - self.length**2) ** 2

    def span(self):
        return self.length


class SlidingMass(mse.MObject):
    """A bead of mass m at the fraction q of a taut string between two frames: one internal coordinate with inertia."""

    mass = Real("mass of the bead", unit="kg", default=0.3, minimum=0.0)
    stiffness = Real("of either half", unit="N/m", default=5.0)
    friction = Real("along the string", unit="N s", default=0.7, minimum=0.0)
    coordinate_names = (mse.coordinate("bead", domain="generalized"),)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * self.stiffness * (d @ d) * ((0.3 + q[0]) ** 2 + (0.7 - q[0]) ** 2) + 0.1 * q[0] ** 4

    def gravity_energy(self, frames, q, gravity):
        place = frames[0].o * (0.7 - q[0]) + frames[1].o * (0.3 + q[0])
        return -self.mass * (place @ gravity)

    def kinetic(self, frames, q, v):
        velocity = frames[0].v * (0.7 - q[0]) + frames[1].v * (0.3 + q[0]) + v[0] * (frames[1].o - frames[0].o)
        return 0.5 * self.mass * (velocity @ velocity)

    def dissipation(self, frames, q, v):
        return 0.5 * self.friction * v[0] ** 2


class Bead(mse.MObject):
    """A bead on a spring along the x axis of a body, which it is in."""

    mass: Real = Real("of the bead", unit="kg", default=0.3)
    stiffness: Real = Real("of its spring", unit="N/m", default=50.0)
    rest: Real = Real("where the spring is unloaded", unit="m", default=0.2)
    frame_names = ("0",)
    coordinate_names = (mse.coordinate("place", unit="m"),)

    def energy(self, frames, q):
        return 0.5 * self.stiffness * (q[0] - self.rest) ** 2

    def kinetic(self, frames, q, v):
        arm = q[0] * frames[0].U[:, 0]
        velocity = frames[0].v + np.cross(frames[0].w, arm) + v[0] * frames[0].U[:, 0]
        return 0.5 * self.mass * (velocity @ velocity)


class Coil(mse.MObject):
    """A coil on frame 1 that moves along the axis z of a magnet on frame 0, with its charge as a coordinate."""

    bl = Real("force by current", unit="N/A", default=1.7)
    inductance = Real("of the coil", unit="H", default=0.4, above=0.0)
    resistance = Real("of the coil", unit="ohm", default=0.8, minimum=0.0)
    coordinate_names = (mse.coordinate("charge", unit="C"),)

    def kinetic(self, frames, q, v):
        z = (frames[1].o - frames[0].o) @ frames[0].U[:, 2]
        return 0.5 * self.inductance * v[0] ** 2 + self.bl * v[0] * z

    def dissipation(self, frames, q, v):
        return 0.5 * self.resistance * v[0] ** 2


class Plates(mse.MObject):
    """Two small plates with a charge on a source: ``W = q^2/2C - V q``, one over C growing with the distance."""

    voltage = Real("of the source", unit="V", default=0.6)
    elastance = Real("by distance", unit="1/(F m)", default=2.5, above=0.0)
    coordinate_names = (mse.coordinate("charge", unit="C", size=lambda self: self.voltage / self.elastance),)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * q[0] ** 2 * self.elastance * np.sqrt(d @ d) - self.voltage * q[0]


class QuadraticDrag(mse.MObject):
    """A force against the velocity of a frame, with the square of its speed; none to first order, about rest."""

    drag: Real = Real("force per square of the speed", unit="N s2/m2", default=0.4, minimum=0.0)
    frame_names = ("0",)

    def dissipation(self, frames, q, v):
        return self.drag / 3.0 * np.linalg.norm(frames[0].v) ** 3


class KnifeEdge(mse.MObject):
    """A blade along the x axis of its frame, which lets that move along x alone, and turn."""

    frame_names = ("0",)
    reaction_outputs = (Channel("side", "N"),)

    def flow_constraint(self, frames, q, v):
        return frames[0].U[:, 1] @ frames[0].v

    def reaction_map(self, frames):
        return np.eye(1)


class Thruster(mse.MObject):
    """A thrust along x of frame 0, which turns with it, and a dashpot between the frames, by their power."""

    thrust: Real = Real("on frame 0", unit="N", default=2.0)
    damping: Real = Real("force per rate of the distance", unit="N s/m", default=0.3, minimum=0.0)

    def power(self, frames, q, v, given):
        d = frames[1].o - frames[0].o
        n = d / np.sqrt(d @ d)
        rate = n @ (given.frames[1].v - given.frames[0].v)
        return self.thrust * frames[0].U[:, 0] @ frames[0].v - self.damping * rate * (n @ (frames[1].v - frames[0].v))


class Gauge(mse.MObject):
    """Distance of two frames, and the tilt of frame 1 about the x axis of frame 0."""

    offset: Real = Real("reading at no distance", unit="m", default=0.25)
    outputs = (Channel("gap", "m"), Channel("tilt", "rad"))

    def measure(self, frames, q):
        d = frames[1].o - frames[0].o
        r = frames[0].U.T @ frames[1].U
        return [self.offset + np.sqrt(d @ d), np.arctan2(r[2, 1], r[2, 2])]


class Adhesion(mse.MObject):
    """``W = -E exp(-|d|/a) cos(angle between the x axes)`` in plain math, so by differences."""

    depth = Real("E", unit="J", default=1.5)
    reach = Real("a", unit="m", default=0.8, above=0.0)
    differentiation = "differences"

    def energy(self, frames, q):
        d = math.dist(frames[0].o, frames[1].o)
        return -self.depth * math.exp(-d / self.reach) * float(frames[0].U[:, 0] @ frames[1].U[:, 0])


class Triangle(mse.MObject):
    """Surface tension: energy proportional to the area spanned by three frames."""

    tension = Array("surface tension", shape=(), unit="N/m", default=0.7)
    frame_names = ("a", "b", "c")

    def energy(self, frames, q):
        normal = np.cross(frames[1].o - frames[0].o, frames[2].o - frames[0].o)
        return 0.5 * self.tension * np.linalg.norm(normal)


# -- the catalogue ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Entry:
    """An element with representative parameters; ``rest(rng)`` gives frames at which it exerts nothing."""

    make: Callable[[], mse.MObject]
    rest: Callable | None = None

    def frames(self, seed: int) -> list[FramePose]:
        """Random poses: origins 0.6 to 1.4 m apart, any common orientation, relative turns up to 2.6 rad."""
        rng = np.random.default_rng([seed, 7])
        common = Rotation.random(rng=rng)
        o, out = rng.normal(size=3), []
        for _ in self.make().frame_names:
            turn = rng.normal(size=3)
            turn *= rng.uniform(0.2, 2.6) / np.linalg.norm(turn) if out else 0.0
            out.append(FramePose(o, (Rotation.from_rotvec(turn) * common).as_matrix()))
            step = rng.normal(size=3)
            o = out[0].o + step * rng.uniform(0.6, 1.4) / np.linalg.norm(step)
        return out

    def internal(self, seed: int) -> np.ndarray:
        obj = self.make()
        q = 0.2 * np.random.default_rng([seed, 8]).normal(size=len(obj.coordinate_names))
        q += [
            2.0 if getattr(name, "unit", "") == "K" else 0.0 for name in obj.coordinate_names
        ]  # laws divide by temperatures
        return np.where([name in obj.resting for name in obj.coordinate_names], 0.0, q)


class Facing(Entry):
    """An element whose frame 1 is above frame 0, with little tilt."""

    def frames(self, seed: int) -> list[FramePose]:
        below, above = super().frames(seed)
        turn = Rotation.from_rotvec(0.2 * np.random.default_rng([seed, 9]).normal(size=3)).as_matrix()
        return [below, FramePose(below.o + 0.8 * below.U[:, 2] + 0.1 * above.U[:, 0], turn @ below.U)]


def apart(distance: float) -> Callable:
    """Frames at that distance in a random direction, with one common orientation."""

    def rest(rng):
        u = Rotation.random(rng=rng)
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        return [FramePose(np.zeros(3), u.as_matrix()), FramePose(distance * n, u.as_matrix())]

    return rest


def turned_freely(distance: float) -> Callable:
    """Frames at that distance with random orientations of their own."""

    def rest(rng):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        return [FramePose(np.zeros(3), Rotation.random(rng=rng).as_matrix()),
                FramePose(distance * n, Rotation.random(rng=rng).as_matrix())]  # fmt: skip

    return rest


def positive(seed: int, n: int = 6) -> np.ndarray:
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + np.eye(n)


STIFFNESS, PRELOAD = positive(1), np.array([0.3, -0.2, 0.4, 0.05, -0.1, 0.2])


def bushing_at_rest(rng) -> list[FramePose]:
    """Where the preload is balanced: s = K^-1 F, frame 0 seen from frame 1."""
    s = np.linalg.solve(STIFFNESS, PRELOAD)
    base = Pose(rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
    there = base @ Pose(s[:3], Rotation.from_rotvec(s[3:]).as_matrix())
    return [FramePose(there.o, there.U), FramePose(base.o, base.U)]


REST = np.array([0.9, 0.05, -0.03, 0.2, -0.3, 0.4])


def segment(kind=BeamSegment, *, shears: bool = False) -> mse.MObject:
    """A tapered segment, curved and twisted at rest, with unequal stiffnesses."""
    along = 1.0 + 0.4 * beam_shapes.POINTS[:, None] * np.array([1, 1, 1, -1, 2, -0.5])
    rigidity = np.array([50.0, 20.0, 30.0, 2.0, 1.0, 3.0]) * along
    if not shears:
        rigidity[:, 1:3] = np.inf
    density = np.array([1, 1, 1, 0.02, 0.01, 0.01]) * along
    return kind("it", SegmentData(REST, 0.92, rigidity, density, 2.0, 8 if shears else 6))


def segment_at_rest(rng) -> list[FramePose]:
    base = Pose(rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
    there = base @ Pose(*motions.motion(REST))
    return [FramePose(base.o, base.U), FramePose(there.o, there.U)]


def in_line(length: float) -> Callable:
    """Frames whose common x axis points from the first to the second."""

    def rest(rng):
        u = Rotation.random(rng=rng).as_matrix()
        return [FramePose(np.zeros(3), u), FramePose(length * u[:, 0], u)]

    return rest


def exact_segment() -> mse.MObject:
    rigidity, density = np.array([500.0, 200.0, 300.0, 2.0, 1.0, 3.0]), np.array([1, 1, 1, 0.02, 0.01, 0.01])
    return ExactSegment("it", 1.0, rigidity, density)


def massless_segment() -> mse.MObject:
    return MasslessSegment("it", 1.0, np.array([500.0, 200.0, 300.0, 2.0, 1.0, 3.0]), np.zeros(6))


def flexible_bar(internal: int) -> mse.FlexibleBody:
    """A textbook bar between its ends, with a few modes of its inside; damped in proportion to its stiffness."""
    m, k = chain(Bar(length=0.9, width=0.2, height=0.1, young=3e3, shear=1.2e3, density=50.0), 4)
    r = mse.reduce_matrices(m, 0.01 * k, k, np.r_[0:6, 24:30], modes=internal)
    return r.body("it", interfaces={"left": Pose(), "right": Pose.dx(0.9)})


CATALOGUE = {
    "Spring": Entry(lambda: mse.Spring("it", length=0.9, stiffness=40.0, damping=0.6), turned_freely(0.9)),
    "Spring without length": Entry(lambda: mse.Spring("it", length=0.0, stiffness=40.0, damping=0.6), apart(0.0)),
    "Wire": Entry(
        lambda: mse.Wire("it", length=0.8, young_modulus=2e3, poisson_ratio=0.3, radius=0.1, damping=0.4), apart(0.8)
    ),
    "Spring, slack": Entry(lambda: mse.Spring("it", length=0.9, stiffness=40.0, tension_only=True), apart(0.5)),
    "Wire of a meter": Entry(lambda: mse.Wire("it", length=1.0, young_modulus=30.0, poisson_ratio=0.5, radius=1.0), apart(1.0)),
    "Bushing": Entry(
        lambda: mse.Bushing("it", stiffness=STIFFNESS, damping=positive(2), preload=PRELOAD), bushing_at_rest
    ),
    "Bushing, diagonal": Entry(lambda: mse.Bushing("it", stiffness=(5, 6, 7, 1, 2, 3), damping=0.1), apart(0.0)),
    "RigidBody": Entry(
        lambda: mse.RigidBody("it", mass=2.5, inertia=[[0.5, 0.1, -0.02], [0.1, 0.6, 0.05], [-0.02, 0.05, 0.4]],
                              frames={"hook": Pose.dxdydz(0.1, 0.2, 0.3), "eye": Pose.rx(0.3)})
    ),
    "point mass": Entry(lambda: mse.RigidBody("it", mass=1.5)),
    "PositionActuator": Entry(lambda: mse.PositionActuator("it")),
    "ForceActuator": Entry(lambda: mse.ForceActuator("it")),
    "ForceActuator along the world": Entry(lambda: mse.ForceActuator("it", axes="world")),
    "PositionSensor": Entry(lambda: mse.PositionSensor("it")),
    "ForceSensor": Entry(lambda: mse.ForceSensor("it")),
    "user's energy": Entry(lambda: Magnets("it")),
    "user's energy, polynomial": Entry(lambda: CubicTether("it"), turned_freely(1.0)),
    "internal coordinate": Entry(lambda: SlidingMass("it")),
    "bead in a body": Entry(lambda: Bead("it")),
    "coil": Entry(lambda: Coil("it")),
    "plates with a charge": Entry(lambda: Plates("it")),
    "quadratic drag": Entry(lambda: QuadraticDrag("it")),
    "knife edge": Entry(lambda: KnifeEdge("it")),
    "RollingDisc": Entry(lambda: mse.RollingDisc("it", axis=(0.1, 1.0, 0.2), radius=0.5)),
    "RollingSphere": Entry(lambda: mse.RollingSphere("it", radius=0.5)),
    "thruster": Entry(lambda: Thruster("it")),
    "gauge": Entry(lambda: Gauge("it")),
    "by differences": Entry(lambda: Adhesion("it")),
    "three frames": Entry(lambda: Triangle("it")),
    "Load": Entry(lambda: mse.Load("it", force=(1.0, -2.0, 3.0))),
    "BeamSegment": Entry(segment, segment_at_rest),
    "ShearingSegment": Entry(lambda: segment(ShearingSegment, shears=True), segment_at_rest),
    "ExactSegment": Entry(exact_segment, in_line(1.0)),
    "MasslessSegment": Entry(massless_segment, in_line(1.0)),
    "Beam": Entry(lambda: mse.Beam("it", length=1.0, width=(0.05, 0.02), height=0.002, curvature_y=0.3, stations={"hook": 0.7})),
    "tapered blade with loss": Entry(
        lambda: mse.Beam("it", length=0.3, width=(0.05, 0.01), height=0.002, density=0.0, theory="euler-bernoulli", elements=4,
                         loss={"bending": 1e-3, "axial": 2e-5})
    ),
    "RoundBeam": Entry(lambda: mse.RoundBeam("it", length=1.0, radius=0.01, elements=3, form="exact")),
    "FlexibleBody": Entry(lambda: flexible_bar(0), in_line(0.9)),
    "FlexibleBody with modes": Entry(lambda: flexible_bar(3)),
    "Revolute": Entry(
        lambda: mse.Revolute("it", axis=(1, 2, 2), stiffness=3.0, damping=0.2, motor="force"), apart(0.0)
    ),
    "Revolute, preloaded": Entry(
        lambda: mse.Revolute("it", axis=(0, -1, 0), stiffness=3.0, rest=0.4, preload=0.7, motor="force")
    ),
    "Prismatic": Entry(
        lambda: mse.Prismatic("it", axis=(2, -1, 2), stiffness=30.0, damping=2.0, motor="force"), apart(0.0)
    ),
    "Cylindrical": Entry(
        lambda: mse.Cylindrical("it", stiffness=(30.0, 2.0), preload={"angle": 0.3}, motor=("none", "force"))
    ),
    "Planar": Entry(lambda: mse.Planar("it", stiffness=(5.0, 6.0, 2.0), damping=(0.1, 0, 0.2), motor=("force",) * 3),
                    apart(0.0)),
    "Universal": Entry(
        lambda: mse.Universal("it", stiffness=(5.0, 6.0), rest=(0.1, -0.2), damping=(0.1, 0.2), motor=("force",) * 2)
    ),
    "Spherical": Entry(lambda: mse.Spherical("it", stiffness=(5.0, 6.0, 2.0), motor={"ay": "force"}), apart(0.0)),
    "PointOnLine": Entry(
        lambda: mse.PointOnLine("it", axis=(1, 1, 0), stiffness={"displacement": 4.0}, motor={"displacement": "force"})
    ),
    "Joint": Entry(
        lambda: mse.Joint("it", free=("x", "z", "ax", "az"), stiffness=(1.0, 2.0, 3.0, 4.0), damping={"x": 0.3},
                          preload=(0.1, 0.2, 0.3, 0.4), motor={"az": "force"})
    ),
    "Fixed": Entry(lambda: mse.Fixed("it"), apart(0.0)),
    "TabulatedLink": Entry(
        lambda: mse.TabulatedLink("it", table=([0.0, 1.0], [STIFFNESS, (1.2 + 0.1j) * STIFFNESS])), apart(0.0)
    ),
    "EddyCurrentDamper": Entry(lambda: mse.EddyCurrentDamper("it", damping=(0.1, 0.2, 0.3, 0.01, 0.0, 0.03))),
    "EddyCurrentDamper with a corner": Entry(
        lambda: mse.EddyCurrentDamper("it", damping=(0.1, 0.0, 0.3, 0.01, 0.0, 0.03), corner_hz=0.5)
    ),
    "GasSpring": Entry(lambda: mse.GasSpring("it", stiffness=30.0, wand=-0.4, axis=(1, 2, 2)), apart(0.0)),
    "GasSpring with blades": Entry(
        lambda: mse.GasSpring("it", stiffness=30.0, preload=4.0, blade_stiffness=90.0, blade_span=0.7, blade_length=0.8,
                              wand=0.3)
    ),
    "Resistor": Entry(lambda: mse.Resistor("it", resistance=3.0)),
    "Capacitor": Entry(lambda: mse.Capacitor("it", capacitance=0.2)),
    "Inductor": Entry(lambda: mse.Inductor("it", inductance=0.3)),
    "Transformer": Entry(lambda: mse.Transformer("it", primary=0.3, secondary=0.8, coupling=-0.6)),
    "CoupledInductors": Entry(
        lambda: mse.CoupledInductors("it", inductance=[[0.3, 0.1, -0.1], [0.1, 0.8, 0.2], [-0.1, 0.2, 0.5]])
    ),
    "CurrentSource": Entry(lambda: mse.CurrentSource("it", current=0.2)),
    "FlowResistance": Entry(lambda: mse.FlowResistance("it", resistance=3.0)),
    "Inertance": Entry(lambda: mse.Inertance("it", inertance=0.3)),
    "Compliance": Entry(lambda: mse.Compliance("it", compliance=0.2)),
    "Accumulator": Entry(lambda: mse.Accumulator("it", pressure=2.0, gas_volume=9.0)),
    "Accumulator, isothermal": Entry(lambda: mse.Accumulator("it", pressure=2.0, gas_volume=9.0, exponent=1.0)),
    "PressureSource": Entry(lambda: mse.PressureSource("it", pressure=1.5)),
    "HydraulicCylinder": Entry(lambda: mse.HydraulicCylinder("it", area=0.3, length=0.2, axis=(1, 2, 2))),
    "Amplifier": Entry(lambda: mse.Amplifier("it", gain=3.0, time_constant=0.2)),
    "Gyrator": Entry(lambda: mse.Gyrator("it", resistance=0.6)),
    "HeatCapacity": Entry(lambda: mse.HeatCapacity("it", capacity=0.7, temperature=2.0)),
    "TemperatureSource": Entry(lambda: mse.TemperatureSource("it", temperature=2.0)),
    "HeatConductor": Entry(lambda: mse.HeatConductor("it", conductance=0.6)),
    "Heater": Entry(lambda: mse.Heater("it", resistance=0.8, slope=0.2, temperature=2.0)),
    "ThermalSpring": Entry(
        lambda: mse.ThermalSpring("it", stiffness=3.0, length=0.7, expansion=0.2, capacity=0.9, temperature=2.0)
    ),
    "VoiceCoil": Entry(lambda: mse.VoiceCoil("it", bl=3.0, resistance=0.4, inductance=0.2, axis=(1, 2, 2))),
    "VoiceCoil with a width": Entry(lambda: mse.VoiceCoil("it", bl=3.0, width=0.3, resistance=0.4, inductance=0.2)),
    "VoiceCoil with eddy currents": Entry(
        lambda: mse.VoiceCoil("it", bl=3.0, resistance=0.4, inductance=0.2, eddy_inductance=0.5, eddy_resistance=0.7)
    ),
    "PlateCapacitor": Facing(lambda: mse.PlateCapacitor("it", sides=(0.5, 0.3), gap=0.8, permittivity=2.0)),
    "PiezoStack": Entry(lambda: mse.PiezoStack("it", stiffness=3.0, stroke=0.2, capacitance=0.7, axis=(1, 2, 2))),
    "VoltageSource": Entry(lambda: mse.VoltageSource("it", voltage=1.5)),
    "Rod": Entry(lambda: mse.Rod("it", length=0.9), turned_freely(0.9)),
    "SectionBeam": Entry(lambda: mse.SectionBeam("it", length=1.0, area=2e-4, second_moment_y=1e-9, second_moment_z=1e-9,
                                                     torsion_constant=1.4e-9, twist=(0.0, 0.4), elements=2)),
}  # fmt: skip
