"""Steps along curved valleys: where stiff members give way to a straight one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..numerics.trust_region import Quadratic, Step, stiff_answer
from .equilibrium_test import LEAST_RADIUS, POLISHING_STEPS, RESIDUAL, rounding_left
from .merit_function import MeritFunction, Point, kept_for_last_point

_MOST, _MOST_THROUGH_JOINTS = 8, 16  # corrections of a step
_MOST_TO_REST = 4  # the same, to equilibrium of all stiff coordinates
# Times the curvature that a step foresees: stiffer directions are corrected.  With a thousandth and a thousand
# times of it tests/statics/test_stiff_trees.py::test_valleys_of_small_trees_take_some_dozens_of_steps fails.
_STIFF = 20.0
# Times that, where softer ones have moved too far.  With 1
# tests/statics/test_stiff_trees.py::test_members_give_way_with_their_stiffness_after_turns fails, with 1e9 none.
_STIFFER = 100.0
# Of the prediction of a step: error allowed.  With ten times and a thousandth of it
# tests/statics/test_stiff_valleys.py::test_a_body_turned_far_about_its_thin_wire_takes_some_dozens_of_steps fails.
_LITTLE = 0.1
# Of a step: where on the way its forces are looked at, too; from a half to 2^-8 load steps take as many steps, with 2^-14 a
# quarter more (tests/statics/test_load_steps.py::test_where_on_the_way_of_a_step_forces_are_taken_hardly_matters).
ON_THE_WAY = 0.25
# Of the curvature that a step foresees: what forces left in stiff members may bend the energy by.  With a thousandth of it
# tests/statics/test_stiff_trees.py::test_members_give_way_with_their_stiffness_after_turns fails by evaluations, with a hundred
# times of it none.
_BENT = 1e-3
# Of the residual before a step: below it Newton's method needs no help.  With a thousand times of it
# tests/statics/test_load_steps.py::test_a_load_step_takes_as_many_steps_with_few_elements_as_with_many fails; less of it costs
# evaluations only.
_CONVERGING = 0.1


def quadratic(merit: MeritFunction, point: Point) -> Quadratic:
    """The energy about a point to second order, in scaled coordinates."""
    bodies = merit.topology.units - 1
    return Quadratic(*merit.scaled(point), bodies, merit.size, merit.assembly.factors, point.tangent)


def corrected(merit: MeritFunction, point: Point, step: Step, trial: Point) -> Point:
    """The trial point of a step from ``point``, or where its stiff members give way from there, whichever is lower.

    A soft motion of stiff members, such as a body winding up its wires, follows a curved valley: a straight step
    strains them by its square.  Letting them answer the unforeseen part of the gradient allows steps as long as the
    valley is curved (second-order correction; J. Nocedal, S. Wright, "Numerical Optimization" (2006), section 15.6).

    A force left in them bends the energy of the next step by force over length, be its own energy ever so small.  Through joints
    it does so for all that hangs on them, so stiff members give way there until that is little beside what this step foresees.
    Without joints other equilibria are near: 2 of 60 random hanging systems would end in another one.

    A turn gives soft directions the square of it of the stiffest member's stiffness, so that the stiffness before the step
    overshoots by as many times as this is more than their own.  Through joints members then answer with that where they are.
    Where matrices are small it comes with the forces there, and serves from the second answer: four do for up to sixteen.  The
    first one is that of the stiffness before the step, which leaves alone what is soft there: it would lead to other valleys.
    """
    stiff = _STIFF * abs(step.predicted) / (step.p @ step.p + 1e-300)
    k, g, _ = merit.scaled(point)
    foreseen, joints = g + k @ step.p, point.tangent is not None
    order, turned = 2 if merit.is_small else 1, False
    way = merit.carried if step.along_curves else None
    for _ in range(_MOST_THROUGH_JOINTS if joints else _MOST):
        noise = 4 * (point.noise + trial.noise)
        missed = trial.energy - (point.energy + step.predicted)
        clear = abs(step.predicted) > noise
        near = clear and missed <= _LITTLE * abs(step.predicted)
        if not np.isfinite(trial.energy) or (near and not joints):
            break
        if not clear and merit.residual(trial)[0] <= _CONVERGING * merit.residual(point)[0]:
            break
        if turned and trial.stiffness is None:
            trial = merit.evaluate(trial.state, 2)
        left = merit.pull(trial) - foreseen
        answer = (_giving_way(merit, trial) if turned else step.answer)(left, stiff)
        if not answer.any():
            break
        if clear and joints and _has_given_way(merit.size, step, answer, answer @ (k @ answer), near):
            break
        if np.linalg.norm(answer) <= np.linalg.norm(step.p):
            other = merit.stepped(trial, answer, order, trial if turned else point, way)
            if abs(other.energy - trial.energy) > noise:
                better = other.energy < trial.energy
            else:
                better = merit.residual(other)[0] < merit.residual(trial)[0]
            if better:
                trial, turned = other, turned or (joints and merit.is_small)
                continue
        if joints and not turned:
            turned = True
            continue
        stiff *= _STIFFER
    return trial


@kept_for_last_point
def _giving_way(merit: MeritFunction, point: Point) -> Callable[[np.ndarray, float], np.ndarray]:
    """How stiff members give way by the stiffness at a point: see :func:`.stiff_answer`."""
    return stiff_answer(quadratic(merit, point))


def _has_given_way(size: float, step: Step, answer: np.ndarray, work: float, near: bool) -> bool:
    """Whether an ``answer`` of stiff members, with that much ``work`` (J), is too little to matter in a model of a ``size`` (m).

    ``near``: the energy is already what the step foresees; otherwise the answer must have no part in what it misses.
    """
    foreseen = abs(step.predicted)
    bends = work / np.linalg.norm(answer) * (step.p @ step.p) / size
    return bool(bends <= _BENT * foreseen and (near or work <= _LITTLE * foreseen))


def brought_to_rest(merit: MeritFunction, point: Point, step: Step, trial: Point) -> Point:
    """The trial point after stiff coordinates have reached equilibrium there, with the stiffness of ``point`` before the step.

    A straight step strains stiff members by its square, and a stiffness taken from such forces would mislead the next
    one (modified Newton; M. Crisfield, "Non-linear Finite Element Analysis of Solids and Structures" 1 (1991), 1.2).
    """
    k, g, _ = merit.scaled(point)
    foreseen, order = g + k @ step.p, 2 if merit.is_small else 1

    def missed_at(there: Point) -> np.ndarray:
        missed = merit.pull(there) - foreseen
        return missed if point.tangent is None else point.tangent.along(missed)

    missed = missed_at(trial)
    left, longest = np.linalg.norm(missed), np.linalg.norm(step.p)
    if left <= RESIDUAL * np.linalg.norm(g):
        return trial
    for _ in range(_MOST_TO_REST):
        answer = step.answer(missed, 0.0)
        length = np.linalg.norm(answer)
        # shorter ones move nothing; one longer than that before it follows a soft motion that has another stiffness here
        if not LEAST_RADIUS * merit.size < length <= longest:
            break
        longest = length
        other = merit.stepped(trial, answer, order, point)
        missed = missed_at(other)
        now = np.linalg.norm(missed)
        if not now < left:
            break
        trial, left = other, now
        rounding = rounding_left(merit, point)
        if rounding is not None and left <= np.linalg.norm(rounding):
            break
    return trial


def unstrained(
    merit: MeritFunction, trial: Point, left: Callable[[Point], float], before: float, newton: Callable[..., Step]
) -> Point:
    """The trial point of a step from an equilibrium, after Newton's steps where what is ``left`` is not half of that ``before``.

    Where a motion is nearly free, forces that hardly count lead a long way along it, and a straight step strains stiff members by
    its square.  Forces below the tolerance would be left there otherwise, be the motion ever so far from where it balances.
    """
    now = left(trial)
    for _ in range(POLISHING_STEPS):
        if not np.isfinite(trial.energy) or now < 0.5 * before or now == before:
            break
        there = merit.stiffened(trial)
        other = merit.stepped(there, newton(merit, there, merit.size).p, 2)
        last, now = now, left(other)
        if not now < 0.5 * last:
            break
        trial = other
    return trial


def bent(merit: MeritFunction, point: Point, step: Step, trial: Point) -> Point:
    """The trial point of a step from ``point``, or the end of a parabola that begins along it, where forces balance better.

    A straight step strains stiff members by its square, and a stiffness taken from such forces would mislead the next
    one.  Forces to second order along the step tell how members give way to it (Chebyshev's method; J. Traub, "Iterative
    Methods for the Solution of Equations" (1964), section 5.1): those of the cubic through what the stiffness foresees, one
    place on the way, and the end.
    """
    k, g, _ = merit.scaled(point)
    foreseen, share = k @ step.p, ON_THE_WAY
    missed = merit.pull(trial) - (g + foreseen)
    if np.linalg.norm(missed) <= _CONVERGING * np.linalg.norm(g):
        return trial
    there = merit.stepped(point, share * step.p, 1, by=merit.carried_whole)
    if not (np.isfinite(trial.energy) and np.isfinite(there.energy)):
        return trial
    before = merit.pull(there) - (g + share * foreseen)
    bend = step.answer((before / share**2 - share * missed) / (1.0 - share), 0.0)
    if not 0.0 < np.linalg.norm(bend) <= np.linalg.norm(step.p):
        return trial
    other = merit.stepped(point, step.p + bend, 2, by=merit.carried_whole)
    return other if np.linalg.norm(merit.pull(other)) < np.linalg.norm(merit.pull(trial)) else trial
