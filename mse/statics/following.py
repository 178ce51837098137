"""How far an equilibrium moves as loads change: if it is farther away than its tangent predicts, it is on another branch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..model.configuration import State
from .equilibrium import balanced
from .merit_function import MeritFunction, Point
from .scales import SPACING, STRAIGHT
from .stages import Reached, Stage
from .step_methods import newton

# Of a change of forces: a larger part that K cannot balance acts along a zero-stiffness motion.  With a hundredth and a hundred
# times of it
# tests/statics/test_step_methods.py::test_loads_on_what_nothing_holds_tell_no_motion_but_traces_of_them_do fails.
_UNHELD = 1e-3
# Times the motion that the tangent predicts: a longer one ends on another branch (up to a limit point the factor is 2).  With a
# ten-thousandth steps along the branch count as jumps, and
# tests/statics/test_load_steps.py::test_a_load_step_takes_as_many_steps_with_few_elements_as_with_many fails.
_JUMP = 2.5


def foreseen_motion(merit: MeritFunction, reached: Reached, stage: Stage, point: Point) -> float:
    """How far (m) a stage's loads move the bodies, by the stiffness at the equilibrium ``reached``; inf if unknown.

    The stage begins at ``point``, with its loads.
    """
    if reached.is_at(stage):
        return np.inf
    loads_before = stage._replace(load_factor=reached.load_factor, follower_factor=reached.follower_factor)
    before = merit.at(loads_before).evaluate(point.state, 2)
    return motion_between(merit, before, point) if balanced(merit, before) else np.inf


def motion_between(merit: MeritFunction, before: Point, point: Point) -> float:
    """The same with the stiffness of ``before``, a point at the same place under other loads."""
    pushed = replace(before, gradient=point.gradient - before.gradient)
    return motion_by(merit, pushed, newton(merit, pushed, np.inf).p)


def motion_by(merit: MeritFunction, pushed: Point, step: np.ndarray) -> float:
    """How far (m) a whole Newton step from a point moves the bodies; inf if its forces act along free motions."""
    k, push, _ = merit.scaled(pushed)
    left = push + k @ step
    if pushed.tangent is not None:
        push, left = pushed.tangent.along(push), pushed.tangent.along(left)
    if np.linalg.norm(left) > _UNHELD * np.linalg.norm(push):
        return np.inf
    return translation(merit, step)


def translation(merit: MeritFunction, step: np.ndarray) -> float:
    """How far (m) a step moves the bodies."""
    return float(np.linalg.norm(step[: 6 * (merit.topology.units - 1)].reshape(-1, 6)[:, :3]))


def goes_beyond(merit: MeritFunction, step: np.ndarray, foreseen: float) -> bool:
    """Whether a step is longer than a smooth way, or so long that it says nothing about its end.

    A step that was cut to that length counts, whichever way its length is rounded.
    """
    return bool(np.linalg.norm(step) > (1.0 - len(step) * SPACING) * STRAIGHT * merit.size) or _beyond(
        merit, translation(merit, step), foreseen
    )


def has_jumped(merit: MeritFunction, before: State, after: State, foreseen: float) -> bool:
    """Whether an equilibrium is farther from the one before than on a smooth way."""
    return _beyond(merit, float(np.linalg.norm(after.o - before.o)), foreseen)


def _beyond(merit: MeritFunction, distance: float, foreseen: float) -> bool:
    return foreseen < np.inf and distance > _JUMP * foreseen + 1e-6 * merit.size
