"""Frames of a system in symbols, placed along the coordinates of joints that form a tree from the ground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..elements.joint_base import FreeJoint
from ..elements.symbols import Expression, exact, mechanics, name_of, short, sympy
from ..errors import ModelError
from ..model.flattening import Element
from ..model.topology import Topology


class Placed(NamedTuple):
    """A frame in symbols: origin o (3, 1), axes U (3, 3), velocity v (3, 1), angular velocity w (3, 1), world axes."""

    o: Any
    U: Any
    v: Any
    w: Any


class Tree:
    """Units of a system placed along joint coordinates; ``units`` are their reference frames, by number."""

    def __init__(self, topology: Topology, along: Sequence[str]):
        sp, self.topology = sympy(), topology
        none = sp.zeros(3, 1)
        self.units: dict[int, Placed] = {0: Placed(none, sp.eye(3), none, none)}
        self.coordinates: dict[str, Expression] = {}
        self.joints: dict[str, list[Expression]] = {}  # values of the coordinates of joints of the tree
        for name in along:
            self.coordinates[name] = mechanics().dynamicsymbols(name_of(name), real=True)
        left = [el for el in topology.elements if self._belongs(el)]
        while left:
            here = [el for el in left if any(int(topology.unit[f]) in self.units for f in el.frames)]
            if not here:
                break
            for el in here:
                self._place(el)
                left.remove(el)
        self._refuse_unplaced(along)

    def _belongs(self, el: Element) -> bool:
        """Whether a joint is part of the tree: all of its coordinates are named, or held by motors."""
        if not isinstance(el.obj, FreeJoint):
            return False
        free = [c for c, motor in zip(el.obj.joint_coordinates, el.obj.motor, strict=True) if motor != "position"]
        named = [c for c in el.obj.joint_coordinates if f"{el.path}.{c}" in self.coordinates]
        if named and named != free:
            lacking, held = [c for c in free if c not in named], [c for c in named if c not in free]
            wrong = f"{lacking[0]} is missing" if lacking else f"its motor holds {held[0]}"
            raise ModelError(
                f"{self.topology.label}: along names {el.path}.{named[0]}, and {wrong}; expected all coordinates of a joint that "
                f"may move; write {[f'{el.path}.{c}' for c in free]}"
            )
        return bool(named) or not free

    def frame(self, number: int) -> Placed:
        """A frame of a placed unit."""
        sp, topology = sympy(), self.topology
        unit = self.units[int(topology.unit[number])]
        arm = unit.U * _numbers(topology.offset_o[number][:, None])
        o = unit.o + arm
        return Placed(o, unit.U * _numbers(topology.offset_U[number]), unit.v + sp.Matrix(unit.w).cross(arm), unit.w)

    def _place(self, el: Element) -> None:
        """Place the unit on the other side of a joint."""
        topology, t = self.topology, mechanics().dynamicsymbols._t
        joint = el.obj
        values = [
            self.coordinates.get(f"{el.path}.{c}", exact(at))
            for c, at in zip(joint.joint_coordinates, joint.position, strict=True)
        ]
        first, second = (int(topology.unit[f]) in self.units for f in el.frames)
        if first and second:
            if all(f"{el.path}.{c}" not in self.coordinates for c in joint.joint_coordinates):
                return  # it holds a loop rigidly, as a constraint
            raise ModelError(
                f"{topology.label}: along closes a loop by {el.path}.{joint.joint_coordinates[0]}; expected joints that form a "
                "tree, the others being constraints; leave the coordinates of one joint of the loop out"
            )
        self.joints[el.path] = values
        found = [joint.coordinate(c) for c in joint.joint_coordinates]
        axes = _numbers(found[0][0] if found else np.eye(3))
        turn, shift, rate = _motion(values, [code for _, code in found])
        known = self.frame(el.frames[1] if second else el.frames[0])
        new = int(el.frames[0] if second else el.frames[1])
        if second:
            u = known.U * axes * turn * axes.T
            o, w = known.o + known.U * axes * shift, known.w + known.U * axes * rate
        else:
            u = known.U * axes * turn.T * axes.T
            o, w = known.o - u * axes * shift, known.w - u * axes * rate
        unit = (u * _numbers(topology.offset_U[new]).T).applyfunc(short)
        o = (o - unit * _numbers(topology.offset_o[new][:, None])).applyfunc(lambda x: sympy().expand(x))
        w = w.applyfunc(short)
        self.units[int(topology.unit[new])] = Placed(o, unit, o.diff(t), w)

    def _refuse_unplaced(self, along: Sequence[str]) -> None:
        lost = [u for u in range(self.topology.units) if u not in self.units]
        if lost:
            frame = self.topology.frame_labels[int(self.topology.unit_reference[lost[0]])]
            raise ModelError(
                f"{self.topology.label}: frame {frame} hangs on no joint whose coordinates along names ({', '.join(along)}); "
                "expected every body to be reached from the ground by joints; name their coordinates, or put it on a joint"
            )


def _numbers(matrix: np.ndarray) -> Any:
    return sympy().Matrix([[exact(x) for x in row] for row in np.round(matrix, 15).tolist()])


def _motion(values: Sequence[Expression], codes: Sequence[int]) -> tuple[Any, Any, Any]:
    """Turn R (3, 3), shift d (3, 1) and angular velocity (3, 1) of frame 0 as seen from frame 1, along the joint's axes."""
    sp, t = sympy(), mechanics().dynamicsymbols._t
    by_code = dict(zip(codes, values, strict=True))
    shift = sp.Matrix([by_code.get(k, 0) for k in range(3)])
    if any(code in by_code for code in (5, 6, 7)):
        a = sp.Matrix([by_code.get(k, 0) for k in (5, 6, 7)])
        angle = sp.sqrt(a.dot(a))
        cross, v = a.hat(), a.diff(t)
        turn = sp.eye(3) + cross * sp.sin(angle) / angle + cross * cross * (1 - sp.cos(angle)) / angle**2
        rate = v + cross * v * (1 - sp.cos(angle)) / angle**2 + cross * cross * v * (angle - sp.sin(angle)) / angle**3
        return turn, shift, rate
    x, y, z = (by_code.get(code, sp.Integer(0)) for code in (10, 11, 9))
    about_x, about_y = sp.rot_ccw_axis1(x), sp.rot_ccw_axis2(y)
    rate = sp.Matrix([x.diff(t), 0, z.diff(t)]) + about_x * sp.Matrix([0, y.diff(t), 0])
    return about_x * about_y * sp.rot_ccw_axis3(z), shift, rate
