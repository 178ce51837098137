"""What a motion asks of elements that they cannot do: wires that push, wheels that are pulled, joints past half a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ..kernels import joints
from ..kernels.rotations import rotation_vector
from ..model.groups import Group
from .accelerations import Equations
from .coordinates import intervals
from .moments import Moment

# rad: rotation vectors on both sides of half a turn are longer, since no step turns a body by more than 1 rad
# (tests/dynamics/test_one_sided.py::test_springs_that_reverse_at_half_a_turn_are_noted)
_FAR = 2.0


def wrong_ways(
    equations: Equations, samples: Sequence[Moment], rtol: float, left: Callable[[Moment], np.ndarray | None] | None
) -> list[str]:
    """Notes on wires that push, and on wheels that pull, at some of the samples, with intervals.

    ``left``, if there is one, gives ``M a - f`` (n,) at a moment, or None.
    """
    wires = [g for g in equations.assembly.groups if g.cls.only_pulls]
    wheels = [g for g in equations.assembly.groups if g.cls.only_pushes]
    notes, times = [], [m.time for m in samples]
    for groups, force, words in (
        (
            wires,
            _pushes,
            "pushes by up to {:.3g} N from {}: a real one goes slack; pretension it, or set tension_only=True if it is a wire",
        ),
        (
            wheels,
            partial(_pulls, left),
            "is held on its plane by up to {:.3g} N from {}: a real one lifts off; the motion is valid before",
        ),
    ):
        if groups:
            values = np.array([force(equations, groups, m) for m in samples])
            # below it signs are errors of steps, and rounding
            least = rtol * np.nanmax(values[:, -1], initial=_weight(equations, samples[0]))
            for el, own in zip((el for g in groups for el in g.elements), values[:, :-1].T, strict=True):
                if spans := intervals(times, own > least):
                    notes.append(f"{el.path} {words.format(own.max(), spans)}")
    return notes


def _weight(equations: Equations, moment: Moment) -> float:
    """The weight of all bodies (N)."""
    at, mass = equations.evaluation(moment.state, moment.time).configuration, 0.0
    for part in (p for p in equations.parts if p.has_mass):
        own, frames = part.masses(at, np.zeros((len(part.objects), part.shape.size)))[0], 6 * part.shape.frames
        mass += own[:, :frames:6, :frames:6].sum()  # of what all frames carry along x
    return float(mass * np.linalg.norm(equations.topology.gravity))


def half_turns(equations: Equations, samples: Sequence[Moment], begins: Sequence[Moment]) -> list[str]:
    """Notes on joints with springs or motors on rotation vectors, which jump at half a turn.

    Samples, and the moments at which steps begin, are at most 1 rad apart.
    """
    turning = [
        el
        for g in equations.assembly.groups
        if g.cls.kernel is joints.joint_springs
        for el, own in zip(g.elements, g.parameters, strict=True)
        if {5, 6, 7} & set(own[joints.FREE + 1 :][: int(own[joints.FREE])].astype(int).tolist())
        and (any(el.obj.stiffness) or any(el.obj.preload))
    ]
    notes, moments = [], sorted([*samples, *begins], key=lambda m: m.time) if turning else ()
    poses = [equations.evaluation(m.state).configuration for m in moments]
    for el in turning:
        first, second = el.frames
        w = np.array([rotation_vector(at.U[second].T @ at.U[first]) for at in poses])
        far = np.linalg.norm(w, axis=1) > _FAR
        jumps = np.flatnonzero(far[1:] & far[:-1] & (np.sum(w[1:] * w[:-1], axis=1) < 0.0))
        if len(jumps):
            notes.append(
                f"{el.path} turns past half a turn at t = {moments[jumps[0]].time:.6g} s: its angles jump there, and its springs "
                "reverse; use a Bushing, which follows further turns"
            )
    return notes


def _pushes(equations: Equations, groups: Sequence[Group], moment: Moment) -> list[float]:
    """Forces (N) by which both ends of elements are pushed apart along the line between their origins; the largest one last."""
    at = equations.evaluation(moment.state, moment.time).configuration
    found: list[float] = []
    for g in groups:
        line = at.o[g.frames[:, 1]] - at.o[g.frames[:, 0]]
        distance = np.sqrt(np.einsum("ea,ea->e", line, line))
        pulled = np.einsum("ea,ea->e", g.evaluate(at, 1)[1][:, :3], line)
        found += (pulled / np.where(distance > 0.0, distance, 1.0)).tolist()
    return [*found, max(map(abs, found))]


def _pulls(left: Callable | None, equations: Equations, groups: Sequence[Group], moment: Moment) -> list[float]:
    """Multipliers of the first constraints of elements, the gaps that they close: forces (N) that keep these from opening.

    The largest multiplier of all constraints comes last: wheels may carry nothing but its rounding.
    """
    e, known = equations, None if left is None else left(moment)
    multipliers = e.holding(e.evaluation(moment.state, moment.time), moment.v, moment.time, known)
    found = [x for g in groups for x in multipliers[e.assembly.constraint_rows(g)[:, 0]].tolist()]
    return [*found, float(np.abs(multipliers).max())]
