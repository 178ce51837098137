"""Step methods of a search: the equations of a step, the answer of stiff members, and the test that accepts it.

A :class:`StepMethod` puts these together; each part is a plain function that can be called alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..model.evaluation import Evaluation
from ..numerics.precision import DEPENDENT, EPS
from ..numerics.sparse_tools import add_diagonal
from ..numerics.trust_region import NULL_SHARE, Step, newton_step
from .merit_function import MeritFunction, Point, Way
from .scales import STRAIGHT
from .stiff_valleys import bent, brought_to_rest, corrected, quadratic

# Of the predicted drop of the energy: the least drop of an accepted step (J. Nocedal, S. Wright (2006), algorithm 4.1, has 0 to
# 1/4), and the missed part that the radius aims at.  With 0.075, 0.15 and 0.3 the searches of 151, 152 and 156 of 160
# systems of benchmarks/slow_descents.py end where a slow descent does, in 3,628, 3,483 and 3,431 steps, and of 99, 99 and 97 of
# 100 with joints in 1,508, 1,367 and 1,324
# (tests/statics/test_search.py::test_the_radius_follows_from_what_steps_miss_of_the_foreseen_drop).
_ACCEPTED, _MISSED = 0.1, 0.15
# Largest factors by which the radius shrinks and grows in one step
# (tests/statics/test_search.py::test_the_radius_follows_from_what_steps_miss_of_the_foreseen_drop).
_LEAST_CHANGE, _MOST_CHANGE = 0.25, 2.0
# Sizes of the model: with a ten-thousandth of it good steps do not grow; with ten thousand times of it no test fails
# (tests/statics/test_search.py::test_the_radius_follows_from_what_steps_miss_of_the_foreseen_drop).
_LARGEST_RADIUS = 50.0
# Sizes of the model: the region of a descent's first step, which should stay in the valley of the start.  With a hundredth
# tests/statics/test_valleys.py::test_searches_end_where_a_slow_descent_does fails, with ten times of it
# tests/statics/test_valleys.py::test_searches_of_mechanisms_end_where_a_slow_descent_does.
_FIRST = 0.1
# Length of chains of bodies for which straight steps are good enough.  Turns add up along a chain: 10, 20, 40 and 50 bodies take
# 17, 23, 42 and 52 straight steps, but 9 to 11 steps along curves (tests/statics/test_long_chains.py).
_SHALLOW = 8


# -- how a step is found --------------------------------------------------------------------------------------
def descent_step(merit: MeritFunction, point: Point, radius: float) -> Step:
    """The trust-region step down in energy."""
    return _trust_region(merit, point, radius, convex=True)


def newton(merit: MeritFunction, point: Point, radius: float) -> Step:
    """Newton's step to balance, stable or not, cut to the radius; with symmetric stiffness."""
    return _trust_region(merit, point, radius, convex=False)


def newton_of_each(merit: MeritFunction, point: Point, radius: float) -> Step:
    """The same, cut by the largest displacement of a body, so that the number of elements of a beam does not matter."""
    return _trust_region(merit, point, radius, convex=False, each=True)


def _trust_region(merit: MeritFunction, point: Point, radius: float, convex: bool, each: bool = False) -> Step:
    energy = quadratic(merit, point)._replace(each=each)
    if convex and point.tangent is None and (not merit.is_small or merit.assembly.carriers.depth > _SHALLOW):
        energy = energy._replace(curves=partial(merit.curves, point))
    return newton_step(energy, radius, convex)


def unsymmetric_newton(merit: MeritFunction, point: Point, radius: float) -> Step:
    """The same with the unsymmetric stiffness of forces that have no energy."""
    k, g, _ = merit.scaled(point)
    n = len(g)
    # zero-stiffness motions would make it singular; refinement takes this out again wherever there is stiffness
    whole = add_diagonal(k, np.full(n, NULL_SHARE * (np.abs(k.data).max(initial=0.0) or 1.0)))
    if point.tangent is not None:
        slopes = point.tangent.slopes
        # so that dependent rows of constraints have a solution
        small = -DEPENDENT / (abs(k.diagonal()).max(initial=0.0) or 1.0)
        whole = sp.bmat([[whole, slopes.T], [slopes, small * sp.identity(slopes.shape[0])]], format="csc")
    lu = splu(whole)

    def once(right):
        return lu.solve(np.concatenate([right, np.zeros(whole.shape[0] - n)]))[:n]

    def solve(right):
        x = once(right)
        for _ in range(2):
            x += once(right - k @ x)
        return x

    unlimited = -solve(g)
    length = np.linalg.norm(unlimited)
    p = unlimited * (min(1.0, radius / length) if length > 0.0 else 1.0)
    return Step(p, 0.0, 0.0, False, lambda d, limit: -solve(d), newton=lambda g: -solve(g), whole=unlimited)


# -- how the end of a step is judged --------------------------------------------------------------------------
class Verdict(NamedTuple):
    """Whether the end of a step is accepted, and the radius (m) of the next one."""

    accepted: bool
    radius: float


def by_energy(merit: MeritFunction, point: Point, trial: Point, step: Step, radius: float) -> Verdict:
    """Accepts a step if the energy decreases by a part of the prediction; if that is rounding, forces along the step decide.

    The missed part of the prediction is assumed to grow with the square of the length, as for curved ways.  The radius changes by
    powers of the root of two, so that rounding of energies hardly ever changes it.
    """
    drop = point.energy - trial.energy
    noise = 4 * (point.noise + trial.noise)
    if -step.predicted <= noise and drop >= -noise:
        drop = -0.5 * (merit.pull(point) + merit.pull(trial)) @ step.p
    ratio = drop / -step.predicted if step.predicted < 0 and np.isfinite(drop) else -1.0
    # a drop larger than predicted counts as the predicted one
    longer = 2.0 ** (0.5 * np.floor(np.log2(_MISSED / max(1.0 - ratio, EPS))))
    if longer < 1.0:
        radius = max(longer, _LEAST_CHANGE) * min(radius, np.linalg.norm(step.p))
    elif step.on_boundary:
        radius = min(min(longer, _MOST_CHANGE) * radius, _LARGEST_RADIUS * merit.size)
    return Verdict(bool(ratio > _ACCEPTED), radius)


def is_foreseen(point: Point, step: Step, trial: Point) -> bool:
    """Whether the energy falls as predicted from ``point`` to ``trial``, the end of a step to balance.

    Then negative curvature at the beginning comes only from forces out of balance: a wire that is compressed there, but pulls at
    the end.
    """
    drop = point.energy - trial.energy
    good = 1.0 - _MISSED
    return bool(0.0 < -good * step.predicted <= drop <= -step.predicted / good)


def by_residual(merit: MeritFunction, point: Point, trial: Point, step: Step, radius: float) -> Verdict:
    """Accepts a step if the forces out of balance decrease."""
    if np.linalg.norm(merit.pull(trial)) < np.linalg.norm(merit.pull(point)):
        return Verdict(True, min(2.0 * radius, merit.size))
    return Verdict(False, 0.25 * min(radius, np.linalg.norm(step.p)))


def whatever_is_finite(merit: MeritFunction, point: Point, trial: Point, step: Step, radius: float) -> Verdict:
    """Accepts every step with finite forces: Newton's method may pass through larger ones."""
    return Verdict(bool(np.isfinite(trial.energy) and np.isfinite(trial.gradient).all()), radius)


# -- together -------------------------------------------------------------------------------------------------
Solve = Callable[[MeritFunction, Point, float], Step]


@dataclass(frozen=True)
class StepMethod:
    """How a stage steps.

    - ``solve`` finds a step from a point within a radius, ``newton`` the step to balance.
    - ``correct`` lets stiff members give way after it; ``judge`` accepts its end.
    - A stage has at most ``most_steps``; the region of its first step is ``first`` times the model's size.
    - ``stable``: the search leaves an equilibrium where the energy falls along some motion.
    - ``follows``: an equilibrium too far from the beginning of the stage is refused.
    - ``stays``: the attempt ends if the stiffness is not positive definite (but for a first step that :func:`is_foreseen`), if a
      step leads farther than the first one predicts, or if two steps in a row grow.
    - ``carries``: a body carries along all bodies that hang on it, so that turns of many links add up without strain.
    """

    solve: Solve
    newton: Solve
    correct: Callable[[MeritFunction, Point, Step, Point], Point]
    judge: Callable[[MeritFunction, Point, Point, Step, float], Verdict]
    most_steps: int
    stable: bool = False
    follows: bool = False
    stays: bool = False
    carries: bool = False
    first: float = STRAIGHT

    def way(self, step: Step) -> Way:
        """The way of a step."""
        if self.carries:
            return Evaluation.carried_whole
        return Evaluation.carried if step.along_curves else Evaluation.moved


# Down in energy to a stable equilibrium, with twice as many steps as the longest way known: of 2,000 random hanging systems one
# takes 1,820 steps and the others at most 867; of 300 random trees with springs of 10 to 1e9 N/m one takes 945.
DESCENT = StepMethod(descent_step, newton, corrected, by_energy, most_steps=4000, stable=True, first=_FIRST)
# Newton's method alone, which is quick near an equilibrium and fails elsewhere.
FOLLOWING = StepMethod(newton, newton, brought_to_rest, whatever_is_finite, most_steps=20, follows=True)
UNSYMMETRIC_FOLLOWING = replace(FOLLOWING, solve=unsymmetric_newton, newton=unsymmetric_newton)
# The same if only loads differ: the stiffness at the start then predicts how the way begins.
LOADED = replace(FOLLOWING, solve=newton_of_each, correct=bent, carries=True)
# Newton's method to the stable equilibrium next to the start, and nowhere else.
BESIDE = replace(FOLLOWING, stable=True, follows=False, stays=True)


def guarded(method: StepMethod) -> StepMethod:
    """The same method with as many steps as a descent, each of which must lower the forces out of balance."""
    return replace(method, judge=by_residual, most_steps=DESCENT.most_steps)
