"""Flow constraints of elements, such as wheels and knife edges: rows on velocities that cannot be integrated to positions.

A flow constraint is ``A(x) x' = 0``.  Small motions u about rest obey ``A u' = 0`` with A at rest, and ``A u = 0`` if they begin
at the working point.  In linear models its rows are therefore constraints, whose multipliers are the forces of the edge or wheel.

It holds no position, so where a system rests depends on where it was put.  There are many equilibria, and in some of them the
constraint carries a load (Neimark & Fufaev, Dynamics of Nonholonomic Systems, 1972).  A working point is the one in which it
carries none, which does not depend on the past.  Only there is the stiffness symmetric: a load l turns with the rows and adds
``-l dA/dx``, which has no energy (Bottema, On the small vibrations of non-holonomic systems, 1949).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..validation.arguments import shown
from .base import MObject
from .differentiation import FramePose, linear, moving, numbers, somewhere


def flow_rows(obj: MObject, frames: Sequence[FramePose], q: np.ndarray) -> np.ndarray:
    """A (m, 6 F + q) of an object's flow constraint at the given poses and internal coordinates; (0, n) without one."""
    n = 6 * len(frames) + len(q)
    if not obj.defines("flow_constraint"):
        return np.zeros((0, n))
    count = len(_flows(obj, frames, q, np.zeros(n)))

    def law(rates: np.ndarray) -> np.ndarray:
        found = _flows(obj, frames, q, rates)
        if len(found) != count:
            raise ModelError(
                f"{obj.label}: its flow_constraint has shape {found.shape} at some velocities and ({count},) without any; "
                "expected as many rows everywhere"
            )
        return found

    rows, values, wrong = linear(law, n)
    if wrong.any():
        r = int(wrong.argmax())
        still, together, expected = (x[r] for x in values)
        raise ModelError(
            f"{obj.label}: row {r} of its flow_constraint is {still:.6g} at zero velocity and "
            f"{together:.6g} at other velocities, where its terms add up to {expected:.6g}; expected rows that "
            "are linear in the velocities of frames and in v, and zero at rest; hold positions by "
            "constraint(frames, q)"
        )
    return rows


def flow_count(obj: MObject) -> int:
    """Number of rows of an object's flow constraint, found by evaluating it at some poses."""
    if not obj.defines("flow_constraint"):
        return 0
    q = np.zeros(len(obj.coordinate_names))
    return len(_flows(obj, somewhere(obj), q, np.zeros(6 * len(obj.frame_names) + len(q))))


def _flows(obj: MObject, frames: Sequence[FramePose], q: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The flows (m,) that an object holds at zero, evaluated at some velocities (n,) and checked."""
    moved, own = moving(frames, rates)
    flows = numbers(obj, "flow_constraint", moved, q, own)
    if not np.isfinite(flows).all():
        if obj.defines("check_frames"):
            obj.check_frames(frames)
        raise ModelError(
            f"{obj.label}: row {int(np.argmin(np.isfinite(flows)))} of its flow_constraint is {shown(flows)} at the "
            "present poses; expected finite numbers; check that it does not divide by zero"
        )
    return flows
