"""Steps along curved valleys: stiff members give way after a straight step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..model.evaluation import Evaluation
from ..numerics.trust_region import Quadratic, Step, stiff_answer
from .equilibrium import LEAST_RADIUS, POLISHING_STEPS, RESIDUAL, rounding_left
from .merit_function import MeritFunction, Point, kept_by_point

_MOST, _MOST_THROUGH_JOINTS = 8, 16  # corrections of a step
_MOST_TO_REST = 4  # the same, to equilibrium of all stiff coordinates
# Times the predicted curvature of a step: stiffer directions are corrected.  With a thousandth and a thousand
# times of it tests/statics/test_stiff_trees.py::test_valleys_of_small_trees_take_some_dozens_of_steps fails.
_STIFF = 20.0
# Times that, if softer directions have moved too far.  With 1
# tests/statics/test_stiff_trees.py::test_members_give_way_with_their_stiffness_after_turns fails, with 1e9 none.
_STIFFER = 100.0
# Of the prediction of a step: error allowed.  With ten times and a thousandth of it
# tests/statics/test_stiff_valleys.py::test_a_body_turned_far_about_its_thin_wire_takes_some_dozens_of_steps fails.
_LITTLE = 0.1
# Of a step: forces are also computed at this share of the way.  From a half to 2^-8 load steps take as many steps, with 2^-14 a
# quarter more (tests/statics/test_load_steps.py::test_where_on_the_way_of_a_step_forces_are_taken_hardly_matters).
ON_THE_WAY = 0.25
# Of the predicted curvature of a step: forces left in stiff members may bend the energy by this much.  With a thousandth of it
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
    """The trial point of a step from ``point``, or the point to which stiff members give way from there, whichever is lower.

    A soft motion of stiff members, such as a body winding up its wires, follows a curved valley: a straight step strains them by
    its square.  If they respond to the part of the gradient that the step did not predict, steps can be as long as the radius of
    the valley (second-order correction; J. Nocedal, S. Wright, "Numerical Optimization" (2006), section 15.6).

    A force left in them bends the energy of the next step by force over length, however small its own energy is.  With joints it
    does so for everything that hangs on them, so stiff members give way until this is small compared with the predicted
    curvature.  Without joints other equilibria are near: 2 of 60 random hanging systems would end in another one.

    After a rotation by t a soft direction gains t^2 of the stiffest member's stiffness; the old stiffness overshoots by the ratio
    of the two.  With joints, members then respond by the stiffness at the trial point.  For small matrices that comes with the
    forces there, and is used from the second response on: four responses do the work of up to sixteen.  The first response uses
    the stiffness before the step, which does not move soft directions; they would lead to other valleys.
    """
    stiff = _STIFF * abs(step.predicted) / (step.p @ step.p + 1e-300)
    k, g, _ = merit.scaled(point)
    foreseen, joints = g + k @ step.p, point.tangent is not None
    order, turned = 2 if merit.is_small else 1, False
    way = Evaluation.carried if step.along_curves else None
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
            trial = merit.evaluated(trial.here, 2)
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


@kept_by_point
def _giving_way(merit: MeritFunction, point: Point) -> Callable[[np.ndarray, float], np.ndarray]:
    """The response of stiff members by the stiffness at a point: see :func:`.stiff_answer`."""
    return stiff_answer(quadratic(merit, point))


def _has_given_way(size: float, step: Step, answer: np.ndarray, work: float, near: bool) -> bool:
    """Whether a response ``answer`` of stiff members with its ``work`` (J) is too small to matter in a model of a ``size`` (m).

    ``near``: the energy is already as predicted; otherwise the response must not explain the difference.
    """
    foreseen = abs(step.predicted)
    bends = work / np.linalg.norm(answer) * (step.p @ step.p) / size
    return bool(bends <= _BENT * foreseen and (near or work <= _LITTLE * foreseen))


def brought_to_rest(merit: MeritFunction, point: Point, step: Step, trial: Point) -> Point:
    """The trial point after stiff coordinates have come to equilibrium there, by the stiffness of ``point`` before the step.

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
        # a shorter response moves nothing; one longer than the last follows a soft motion that has another stiffness here
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
    """The trial point of a step from an equilibrium, after Newton's steps if the residual ``left`` is not half of ``before``.

    Along a nearly free motion tiny forces lead a long way, and a straight step strains stiff members by its square.  Without
    these steps, forces below the tolerance would remain, however far the motion is from its equilibrium.
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
    """The trial point of a step from ``point``, or the end of a parabola that begins along it if forces balance better there.

    A straight step strains stiff members by its square, and a stiffness taken from such forces would mislead the next
    one.  Forces to second order along the step show how members give way (Chebyshev's method; J. Traub, "Iterative Methods for
    the Solution of Equations" (1964), section 5.1).  They come from the cubic through the predicted forces, the forces at one
    place on the way, and the forces at the end.
    """
    k, g, _ = merit.scaled(point)
    foreseen, share = k @ step.p, ON_THE_WAY
    missed = merit.pull(trial) - (g + foreseen)
    if np.linalg.norm(missed) <= _CONVERGING * np.linalg.norm(g):
        return trial
    there = merit.stepped(point, share * step.p, 1, by=Evaluation.carried_whole)
    if not (np.isfinite(trial.energy) and np.isfinite(there.energy)):
        return trial
    before = merit.pull(there) - (g + share * foreseen)
    bend = step.answer((before / share**2 - share * missed) / (1.0 - share), 0.0)
    if not 0.0 < np.linalg.norm(bend) <= np.linalg.norm(step.p):
        return trial
    other = merit.stepped(point, step.p + bend, 2, by=Evaluation.carried_whole)
    return other if np.linalg.norm(merit.pull(other)) < np.linalg.norm(merit.pull(trial)) else trial
