"""Base of all joints: the freedoms of each class, their coordinates with springs, limits and motors."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels import joints
from ..kernels.rotations import cross_matrix
from ..numerics.law_functions import angle_over_sine, rotation_vector
from ..pose import Pose
from .base import DISPLACEMENT, FORCE, Channel, MObject, Outline
from .losses import Loss, temperature
from .parameters import ByCoordinate, Real

AXES = ("x", "y", "z", "ax", "ay", "az")
_CONJUGATE = dict(zip(AXES, FORCE, strict=True))
_TURN = 1.0  # rad of a motor in one step: with more, whole turns of angles in loops would be lost
_NEAR_HALF_A_TURN = 0.9 * np.pi
_UNIT = dict(zip(AXES, (c.unit for c in DISPLACEMENT), strict=True))


class JointCoordinate(NamedTuple):
    """A coordinate of a joint: its name and unit, name and unit of the force along it, and its measure."""

    name: str
    unit: str
    force: str
    force_unit: str
    code: int


class JointBase(MObject):
    """Base of all joints: constrains frame 0 relative to frame 1 except along the freedoms of its class."""

    names: ClassVar[dict[str, tuple[str, str]]] = {}
    reaction_outputs = FORCE
    parts = ("elastic", "geometric")
    kernel = joints.joint_springs
    constraint_kernel = joints.joint_constraints
    follow = joints.joint_memory
    memory_size = 12
    _remembered = frozenset({"_laid_out"})
    _laid_out = None  # (values, layout found for them)

    @classmethod
    def exerts_forces(cls) -> bool:
        return True

    def _free(self) -> tuple[str, ...]:
        """Which of x y z ax ay az, along the joint's axes, are free."""
        raise NotImplementedError

    def _orientation(self) -> np.ndarray:
        """The joint's axes (3, 3) as seen from either frame."""
        return np.eye(3)

    def _layout(self) -> tuple[np.ndarray, list[int], list[JointCoordinate]]:
        """Orientation, measures that the joint constrains, and the coordinates that it leaves free."""
        # values are replaced, never changed in place, so their identity is enough
        if self._laid_out is None or self._laid_out[0] is not self._values:
            self._laid_out = self._values, self._found_layout()
        return self._laid_out[1]

    def _found_layout(self) -> tuple[np.ndarray, list[int], list[JointCoordinate]]:
        free = self._free()
        turning = [i for i in range(3) if AXES[3 + i] in free]
        still = [i for i in range(3) if i not in turning]
        # the distinguished axis is the third: the only free one, or the only constrained one
        third = turning[0] if len(turning) == 1 else still[0] if len(still) == 1 else 2
        order = [(third + 1) % 3, (third + 2) % 3, third]
        held = [k for k in range(3) if AXES[order[k]] not in free]
        if len(held) == 3:
            held = [12, 13, 14]  # along world axes, which do not turn
        held += {0: [5, 6, 7], 1: [3, 4], 2: [8], 3: []}[len(turning)]
        angle = {0: {}, 1: {order[2]: 9}, 2: {order[0]: 10, order[1]: 11}, 3: {0: 5, 1: 6, 2: 7}}[len(turning)]
        coordinates = []
        for n, axis in enumerate(AXES):
            if axis in free:
                force = _CONJUGATE[axis]
                name, conjugate = self.names.get(axis, (axis, force.name))
                code = order.index(n) if n < 3 else angle[n - 3]
                coordinates.append(JointCoordinate(name, _UNIT[axis], conjugate, force.unit, code))
        return self._orientation()[:, order], held, coordinates

    @property
    def joint_coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates that this joint leaves free."""
        return tuple(c.name for c in self._layout()[2])

    def coordinate(self, name: str) -> tuple[np.ndarray, int]:
        """Orientation (3, 3) and measure of one coordinate, for elements that couple joints."""
        found = {c.name: c.code for c in self._layout()[2]}
        return self._layout()[0], found[name]

    def _measures(self) -> list[tuple[int, float]]:
        """All constrained measures and their targets: first the joint's, then its motors'."""
        return [(code, 0.0) for code in self._layout()[1]]

    @property
    def constraint_count(self) -> int:
        return len(self._measures())

    @property
    def constraint_units(self) -> tuple[str, ...]:
        return tuple("m" if code < 3 or code >= joints.PLACE else "rad" for code, _ in self._measures())

    def kernel_parameters(self):
        orientation, _, _ = self._layout()
        p = np.zeros(joints.PARAMETERS)
        p[:9] = orientation.ravel()
        measures = self._measures()
        p[joints.HELD] = len(measures)
        for r, (code, target) in enumerate(measures):
            p[joints.HELD + 1 + r], p[joints.TARGET + r] = code, target
        return tuple(p)

    def constraint(self, frames, q):
        a, b, p = self._relative(frames)
        return [measure_at(code, a, b, p) - target for code, target in self._measures()]

    def _relative(self, frames):
        orientation = self._layout()[0]
        return frames[1].U @ orientation, frames[0].U @ orientation, frames[0].o - frames[1].o

    def _slopes(self, frames, codes) -> np.ndarray:
        """Derivatives (codes, 12) of measures by the coordinates of the two frames."""
        o, u = np.array([f.o for f in frames]), np.array([f.U for f in frames])
        orientation = self._layout()[0].ravel()
        out = np.zeros((len(codes), 12))
        for row, code in zip(out, codes, strict=True):
            joints.joint_measure(orientation, code, 0.0, o, u, row, np.zeros((12, 12)))
        return out

    def reaction_map(self, frames):
        # the reaction on frame 0 is the force exerted on frame 1, about its own origin
        slopes = self._slopes(frames, [code for code, _ in self._measures()])
        seat = frames[1].U.T
        return np.vstack([seat @ slopes[:, 0:3].T, seat @ slopes[:, 3:6].T])

    def reaction_slopes(self, frames, q, multipliers):
        codes = [code for code, _ in self._measures()]
        o, u = np.array([f.o for f in frames]), np.array([f.U for f in frames])
        slope, hessian = np.zeros(12), np.zeros((12, 12))
        for code, multiplier in zip(codes, multipliers, strict=True):
            one, two = np.zeros(12), np.zeros((12, 12))
            joints.joint_measure(self._layout()[0].ravel(), code, 0.0, o, u, one, two)
            slope += multiplier * one
            hessian += multiplier * two
        change = hessian[:6].copy()
        # the torque is not a second derivative: rotations do not commute, which adds a x torque/2
        change[3:, 3:6] -= 0.5 * cross_matrix(slope[3:6])
        change[:3, 9:12] += cross_matrix(slope[:3])  # and their axes turn with frame 1
        change[3:, 9:12] += cross_matrix(slope[3:6])
        seat = frames[1].U.T
        return np.vstack([seat @ change[:3], seat @ change[3:]])

    def outline(self, frames):
        z = 0.5 * self._layout()[0][:, 2]
        o, u = frames[1].o, frames[1].U
        return Outline(np.array([frames[0].o, o, o + 0.05 * (u @ z), o - 0.05 * (u @ z)]), ((0, 1), (2, 3)))


class FreeJoint(JointBase):
    """A joint with coordinates, each of which may have a spring, a damper, a preload, limits and a motor.

    Along coordinate c: ``W = k/2 (c - rest)^2 - preload c``.  ``motor="force"`` is an input that pushes without friction,
    ``"position"`` constrains c to ``position`` in the working point and prescribes its motion as an input beyond it.  Limits are
    reported where a working point exceeds them; they exert nothing.
    """

    stiffness: ByCoordinate[float] = ByCoordinate("spring on the coordinate", unit="N/m, N m/rad", default=0.0)
    rest: ByCoordinate[float] = ByCoordinate(
        "coordinate at which the spring exerts nothing", unit="m, rad", default=0.0
    )
    preload: ByCoordinate[float] = ByCoordinate("constant force along the coordinate", unit="N, N m", default=0.0)
    damping: ByCoordinate[float] = ByCoordinate(
        "viscous damping of the coordinate", unit="N s/m, N m s", default=0.0, minimum=0.0
    )
    lower: ByCoordinate[float | None] = ByCoordinate("lowest value allowed", unit="m, rad", default=None)
    upper: ByCoordinate[float | None] = ByCoordinate("highest value allowed", unit="m, rad", default=None)
    motor: ByCoordinate[str] = ByCoordinate(
        "what drives the coordinate", words=("none", "force", "position"), default="none"
    )
    position: ByCoordinate[float] = ByCoordinate(
        "where a position motor holds the coordinate", unit="m, rad", default=0.0
    )
    loss: Loss = Loss()
    temperature: Real = temperature()
    damping_kernel = joints.joint_damping
    damping_slopes = joints.joint_damping_slopes

    def __init__(self, name: str, *, at: Pose | None = None, **parameters: Any):
        super().__init__(name, at=at, **parameters)
        self._check_coordinates()

    def _check_coordinates(self) -> None:
        for c, low, high in zip(self._layout()[2], self.lower, self.upper, strict=True):
            if low is not None and high is not None and low > high:
                raise ModelError(
                    f"{self.label}: lower is {low:g} and upper {high:g} {c.unit} on {c.name}; expected lower below upper; "
                    "exchange them"
                )
        for c, motor, at in zip(self._layout()[2], self.motor, self.position, strict=True):
            if at and motor != "position":
                raise ModelError(
                    f"{self.label}: position is {at:g} {c.unit} on {c.name}, whose motor is {motor!r}; expected motor='position' "
                    "to hold it there; give one, or leave position out (rest is where its spring exerts nothing)"
                )

    def _measures(self):
        _, held, coordinates = self._layout()
        motors = zip(coordinates, self.motor, self.position, strict=True)
        return [(code, 0.0) for code in held] + [(c.code, at) for c, motor, at in motors if motor == "position"]

    def kernel_parameters(self):
        p = np.array(super().kernel_parameters())
        _, _, coordinates = self._layout()
        self._check_coordinates()
        p[joints.FREE] = len(coordinates)
        for r, c in enumerate(coordinates):
            p[joints.FREE + 1 + r] = c.code
            p[joints.STIFFNESS + r], p[joints.REST + r] = self.stiffness[r], self.rest[r]
            p[joints.PRELOAD + r], p[joints.DAMPING + r] = self.preload[r], self.damping[r]
        return tuple(p)

    def energy(self, frames, q):
        axes = self._relative(frames)
        total = 0.0
        for c, k, rest, preload in zip(self._layout()[2], self.stiffness, self.rest, self.preload, strict=True):
            if k or preload:
                value = measure_at(c.code, *axes)
                total = total + 0.5 * k * (value - rest) ** 2 - preload * value
        return total

    def _turns_on_springs(self) -> bool:
        """Whether some spring or preload acts on an angle, which has a memory."""
        coordinates = zip(self._layout()[2], self.stiffness, self.preload, strict=True)
        return any(c.unit == "rad" and (k or preload) for c, k, preload in coordinates)

    def _damped_coordinates(self, frames) -> tuple[list[float], list]:
        """The dampings that there are, and the values of their coordinates, angles within a half turn."""
        axes, damped = (
            self._relative(frames),
            [(c, d) for c, d in zip(self._layout()[2], self.damping, strict=True) if d],
        )
        return [d for _, d in damped], [measure_at(c.code, *axes) for c, _ in damped]

    def ways_from(self, earlier):
        if self.motor != earlier.motor:
            return ()
        start, change = np.array(earlier.position), np.subtract(self.position, earlier.position)
        turning = [c.unit == "rad" for c in self._layout()[2]]
        steps = int(np.ceil(np.abs(change[turning]).max(initial=0.0) / _TURN))
        return tuple(self._held_at(tuple(start + k / steps * change)) for k in range(1, steps))

    def _held_at(self, position: tuple[float, ...]) -> FreeJoint:
        between = self._snapshot()
        between.position = position
        return between

    def end_of_range(self, frames, memory):
        if not (any(self.stiffness) or any(self.preload) or "position" in self.motor):
            return ""  # no law depends on its coordinates
        a, b, _ = self._relative(frames)
        turn, codes = float(np.linalg.norm(rotation_vector(a.T @ b))), {c.code for c in self._layout()[2]}
        if codes & {5, 6, 7} and turn > _NEAR_HALF_A_TURN:
            return (
                f"{self.label} is rotated by {turn:.3g} rad, and at half a turn (3.142 rad) its coordinates jump; "
                "expected less; use a Bushing, whose rotation is followed further, or remove its springs, preloads "
                "and motors"
            )
        return ""

    def values_at(self, frames, memory):
        orientation, _, coordinates = self._layout()
        o, u = np.array([f.o for f in frames]), np.array([f.U for f in frames])
        return {
            c.name: joints.joint_measure(
                orientation.ravel(), c.code, memory[6 + r], o, u, np.zeros(12), np.zeros((12, 12))
            )
            for r, c in enumerate(coordinates)
        }  # fmt: skip

    def exceeded(self, values):
        out = []
        for c, low, high in zip(self._layout()[2], self.lower, self.upper, strict=True):
            x = values[c.name]
            if (low is not None and x < low) or (high is not None and x > high):
                limits = f"{'-inf' if low is None else f'{low:g}'} to {'inf' if high is None else f'{high:g}'}"
                out.append(f"{self.path}.{c.name} is {x:.6g} {c.unit}, beyond its limits {limits}")
        return out

    def damping_matrix(self, frames, q=()):
        if not any(self.damping):
            return None
        slopes = self._slopes(frames, [c.code for c in self._layout()[2]])
        return slopes.T @ (np.array(self.damping)[:, None] * slopes)

    # -- channels ---------------------------------------------------------------------------------------------
    @property
    def inputs(self) -> tuple[Channel, ...]:
        return tuple(Channel(c.force, c.force_unit) for c, m in self._driven() if m == "force")

    def input_map(self, frames):
        codes = [c.code for c, m in self._driven() if m == "force"]
        return self._slopes(frames, codes).T

    @property
    def motors(self) -> dict[str, int]:
        first = len(self._layout()[1])
        driven = [c for c, m in self._driven() if m == "position"]
        return {Channel(c.name, c.unit): first + r for r, c in enumerate(driven)}

    @property
    def drives(self) -> dict[str, tuple[float, Channel]]:
        """Of its position motors by name: where one holds its coordinate, and the force that it needs, an output of motions."""
        driven = zip(self._layout()[2], self.motor, self.position, strict=True)
        return {c.name: (at, Channel(c.force, c.force_unit)) for c, m, at in driven if m == "position"}

    def _driven(self):
        return list(zip(self._layout()[2], self.motor, strict=True))

    @property
    def outputs(self) -> tuple[Channel, ...]:
        return tuple(Channel(c.name, c.unit) for c in self._layout()[2])

    def output_map(self, frames):
        return self._slopes(frames, [c.code for c in self._layout()[2]])


def measure_at(code: int, a, b, p):
    """One measure of :mod:`mse.kernels.joints`, in plain numpy."""
    if code < 3:
        return a[:, code] @ p
    if code >= joints.PLACE:
        return p[code - joints.PLACE]
    r = a.T @ b
    if code < joints.ROTATION:
        return (-r[1, 2] if code == 3 else r[0, 2]) * angle_over_sine(r[2, 2])
    if code < 8:
        return rotation_vector(r)[code - joints.ROTATION]
    if code == 8:
        return -r[0, 1]
    y, x = {9: (r[1, 0] - r[0, 1], r[0, 0] + r[1, 1]), 10: (r[2, 1], r[1, 1]), 11: (r[0, 2], r[0, 0])}[code]
    return np.arctan2(y, x)


def axis_of(code: int) -> int:
    """Which axis of a joint a coordinate of this measure slides along or turns about."""
    return {9: 2, 10: 0, 11: 1}.get(code, code if code < 3 else code - joints.ROTATION)
