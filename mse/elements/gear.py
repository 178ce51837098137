"""Gear: a linear relation between the coordinates of joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ..display import Table
from ..errors import ModelError, UnknownNameError, nearest_name
from ..kernels import joints as kernels
from ..pose import Pose
from ..validation.arguments import mapping, number, refusal
from .base import Channel, MObject, Outline
from .joint_base import FreeJoint, axis_of, measure_at
from .parameters import Real

WHEEL = 0.05  # m, radius of the largest wheel that draws it
_TEETH, _TOOTH = 12, 0.12  # of a wheel, and their height relative to its radius
_SMALLEST = 0.25  # relative to the largest wheel, however small the ratio


class Gear(MObject):
    """A gear, a belt, a lever without mass: ``sum of ratio_i coordinate_i = offset`` over joints of the same system.

    ``Gear("g", joints={"a": 1.0, "b": 2.0})`` is one of two joints.
    Joints are named by their paths in the system of the gear, ``"arm.hinge"`` for one in a subsystem, followed by the
    coordinate where the joint has several: ``"arm.slider.angle"``.  Angles count beyond whole turns.  Its output
    ``transmitted`` is a generalized force: the gear exerts ``-ratio_i transmitted`` along coordinate i.

    Parameters
    ----------
    joints : mapping of str to float
        Ratio of each joint, by name; no ratio is 0.

    Examples
    --------
    >>> system = mse.MSystem("drive", gravity=(0, 0, 0))
    >>> for name, inertia in (("motor", 0.001), ("arm", 0.1)):
    ...     wheel = system.add(mse.RigidBody(name, mass=1.0, inertia=inertia))
    ...     hinge = mse.Revolute(f"{name}_hinge", stiffness=10.0 if name == "arm" else 0.0)
    ...     hinge = system.add(hinge, between=(wheel, system.ground))
    >>> gear = system.add(mse.Gear("gear", joints={"motor_hinge": 1.0, "arm_hinge": -5.0}))
    >>> modes = system.find_working_point().linearize().modes()
    >>> f"{modes.frequencies_hz[0] * 2 * np.pi / np.sqrt(10.0 / (0.1 + 25 * 0.001)):.9f}"
    '1.000000000'
    """

    offset: Real = Real("value of the sum", unit="m, rad", default=0.0)

    frame_names = ()
    constraint_count = 1
    reaction_outputs = (Channel("transmitted", "N, N m"),)

    if TYPE_CHECKING:
        joints: InitVar[Mapping[str, float]]
    else:

        def __init__(
            self, name: str, *, joints: Mapping[str, float] | None = None, at: Pose | None = None, **parameters: Any
        ):
            super().__init__(name, at=at, **parameters)
            expected = "ratios by joint, such as {'a': 1.0, 'b': -2.0}"
            found = mapping(self.label, "joints", joints, expected)
            if not found:
                raise refusal(self.label, "joints", joints, expected)
            self.ratios = {}
            for joint, ratio in found.items():
                if not isinstance(joint, str):
                    raise refusal(self.label, "a ratio's joint", joint, "its name, such as 'arm.hinge'")
                self.ratios[str(joint)] = number(self.label, f"ratio of {joint!r}", ratio)
                if not self.ratios[joint]:
                    raise refusal(self.label, f"ratio of {joint!r}", ratio, "a finite number other than 0")
            self._terms: list[tuple[np.ndarray, int, float]] = []

    def options(self):
        return {"joints": dict(self.ratios)}

    @property
    def memory_size(self) -> int:
        return len(self.ratios)

    def _found(self) -> list[tuple[str, FreeJoint, str]]:
        """Path, joint and coordinate name of each term."""
        if self.system is None:
            raise ModelError(f"{self.label}: it is in no system yet; expected the system of its joints; add() it first")
        out = []
        for path in self.ratios:
            head, _, last = path.rpartition(".")
            if path in self.system:
                joint, coordinate, at = self.system[path], None, path
            elif head in self.system and isinstance(self.system[head], FreeJoint):
                joint, coordinate, at = self.system[head], last, head
            else:
                known = [o.path for o in self.system.walk() if isinstance(o, FreeJoint)]
                raise UnknownNameError(f"{self.label}: it names no joint {path!r}{nearest_name(path, known)}")
            if not isinstance(joint, FreeJoint):
                raise ModelError(f"{self.label}: {at!r} is a {type(joint).__name__}; expected a joint with coordinates")
            names = joint.joint_coordinates
            if coordinate is None and len(names) != 1:
                raise ModelError(
                    f"{self.label}: joint {at!r} has the coordinates {', '.join(names) or 'none'}; expected one of them, such as "
                    f"{at + '.' + (names[0] if names else 'angle')!r}"
                )
            if coordinate is not None and coordinate not in names:
                raise ModelError(
                    f"{self.label}: joint {at!r} has no coordinate {coordinate!r}; it has {', '.join(names)}"
                )
            out.append((at, joint, coordinate or names[0]))
        return out

    @property
    def joined(self) -> tuple[str, ...]:
        return tuple(f"{path}.{k}" for path, _, _ in self._found() for k in (0, 1))

    def _snapshot(self):
        new = super()._snapshot()
        # copy the joints as they are now, since the snapshot of a solved system must not change
        if self.system is not None:
            new._terms = [
                (*joint.coordinate(name), ratio)
                for (_, joint, name), ratio in zip(self._found(), self.ratios.values(), strict=True)
            ]
        return new

    def _differs_from(self, snapshot):
        # each snapshot makes its terms anew: they are others only if their numbers are
        now, then = self._snapshot(), snapshot._terms
        pairs = zip(now._terms, then, strict=False)
        if len(now._terms) == len(then) and all(np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in pairs):
            now._terms = then
        return super(Gear, now)._differs_from(snapshot)

    def constraint(self, frames, q):
        total = -self.offset
        for k, (orientation, code, ratio) in enumerate(self._terms):
            f0, f1 = frames[2 * k], frames[2 * k + 1]
            total = total + ratio * measure_at(code, f1.U @ orientation, f0.U @ orientation, f0.o - f1.o)
        return [total]

    def constraint_terms(self, frames, q, memory, multipliers, order):
        n = 12 * len(self._terms)
        residual, jacobian, hessian = np.array([-self.offset]), np.zeros((1, n)), np.zeros((n, n))
        for k, (value, slope, curvature) in enumerate(self._measured(frames, memory)):
            ratio, on = self._terms[k][2], slice(12 * k, 12 * k + 12)
            residual += ratio * value
            jacobian[0, on] += ratio * slope
            hessian[on, on] += ratio * multipliers[0] * curvature
        return residual, jacobian, hessian

    def _measured(self, frames, memory):
        for k, (orientation, code, _) in enumerate(self._terms):
            pair = frames[2 * k : 2 * k + 2]
            o, u = np.array([f.o for f in pair]), np.array([f.U for f in pair])
            slope, curvature = np.zeros(12), np.zeros((12, 12))
            value = kernels.joint_measure(orientation.ravel(), code, memory[k], o, u, slope, curvature)
            yield value, slope, curvature

    def remember(self, frames):
        return self.recall(frames, np.zeros(len(self._terms)))

    def recall(self, frames, memory):
        return np.array([value for value, _, _ in self._measured(frames, memory)])

    def reaction_map(self, frames):
        return np.eye(1)

    def reaction_slopes(self, frames, q, multipliers):
        return np.zeros((1, 6 * len(frames)))

    def outline(self, frames):
        """A toothed wheel on each joint that turns, as large as its ratio, a rack on each that slides, and a line between them.

        Each has as many points as the others, with its middle first.
        """
        if not self._terms:
            return super().outline(frames)
        largest = max((abs(ratio) for _, code, ratio in self._terms if code >= 3), default=1.0)
        points, lines = [], []
        for k, (orientation, code, ratio) in enumerate(self._terms):
            axes = frames[2 * k].U @ orientation
            along = axis_of(code)
            across, up = axes[:, (along + 1) % 3], axes[:, (along + 2) % 3]
            if code < 3:
                flat, height = _rack()
                ring = np.outer(flat, axes[:, along]) + np.outer(height, across)
            else:
                x, y = _wheel()
                ring = max(abs(ratio) / largest, _SMALLEST) * (np.outer(x, across) + np.outer(y, up))
            lines.append(tuple(range(len(points) + 1, len(points) + 1 + len(ring))))
            points += [frames[2 * k].o, *(frames[2 * k].o + WHEEL * ring)]
        middles = tuple(k * len(points) // len(self._terms) for k in range(len(self._terms)))
        return Outline(np.array(points), (*lines, *((middles,) if len(middles) > 1 else ())))

    def _table(self) -> Table:
        own = super()._table()
        joints = "Joints: " + ", ".join(f"{r:+g} {path}" for path, r in self.ratios.items())
        return Table(own.title, own.columns, own.rows, notes=[joints])


def _wheel() -> tuple[np.ndarray, np.ndarray]:
    """x and y of a closed wheel of radius 1 with teeth."""
    k = np.arange(4 * _TEETH + 1)
    radius = np.where(k % 4 < 2, 1.0 + 0.5 * _TOOTH, 1.0 - 0.5 * _TOOTH)
    angle = 2.0 * np.pi * (k + np.where(k % 2, -0.25, 0.25) * np.where(k % 4 < 2, 1, -1)) / (4 * _TEETH)
    return radius * np.cos(angle), radius * np.sin(angle)


def _rack() -> tuple[np.ndarray, np.ndarray]:
    """Places along a rack of length 2, and heights of its teeth, of as many points as a wheel."""
    k = np.arange(4 * _TEETH + 1)
    return k / (2 * _TEETH) - 1.0, np.where(k % 4 < 2, 0.5 * _TOOTH, -0.5 * _TOOTH)
