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

from ..numerics.precision import DEPENDENT, EPS
from ..numerics.sparse_tools import add_diagonal
from ..numerics.trust_region import NULL_SHARE, Step, newton_step
from .merit_function import MeritFunction, Point, Way
from .scales import STRAIGHT
from .stiff_valleys import bent, brought_to_rest, corrected, quadratic

# Of the foreseen drop of the energy: what an accepted step reaches at least (J. Nocedal, S. Wright (2006), algorithm 4.1, where
# it is 0 to 1/4), and what is aimed at that steps miss of it.  With 0.075, 0.15 and 0.3 the searches of 151, 152 and 156 of 160
# systems of benchmarks/slow_descents.py end where a slow descent does, in 3,628, 3,483 and 3,431 steps, and of 99, 99 and 97 of
# 100 with joints in 1,508, 1,367 and 1,324
# (tests/statics/test_search.py::test_the_radius_follows_from_what_steps_miss_of_the_foreseen_drop).
_ACCEPTED, _MISSED = 0.1, 0.15
# Times: how much shorter and longer the radius becomes in one step at most
# (tests/statics/test_search.py::test_the_radius_follows_from_what_steps_miss_of_the_foreseen_drop).
_LEAST_CHANGE, _MOST_CHANGE = 0.25, 2.0
# Sizes of the model: with a ten-thousandth of it good steps do not grow, with ten thousand times of it no test fails
# (tests/statics/test_search.py::test_the_radius_follows_from_what_steps_miss_of_the_foreseen_drop).
_LARGEST_RADIUS = 50.0
# Sizes of the model: the region of a descent's first step, which is to stay in the valley that the start is in.  With a hundredth
# tests/statics/test_valleys.py::test_searches_end_where_a_slow_descent_does fails, with ten times of it
# tests/statics/test_valleys.py::test_searches_of_mechanisms_end_where_a_slow_descent_does.
_FIRST = 0.1
# Bodies one after the other that straight steps carry along well enough: their turns add up along a chain, and so do the steps,
# 17, 23, 42 and 52 for 10, 20, 40 and 50 bodies where those along curves are 9 to 11 (tests/statics/test_long_chains.py).
_SHALLOW = 8


# -- how a step is found --------------------------------------------------------------------------------------
def descent_step(merit: MeritFunction, point: Point, radius: float) -> Step:
    """The trust-region step down in energy."""
    return _trust_region(merit, point, radius, convex=True)


def newton(merit: MeritFunction, point: Point, radius: float) -> Step:
    """Newton's step to where forces balance, stable or not, cut to the radius; with symmetric stiffness."""
    return _trust_region(merit, point, radius, convex=False)


def newton_of_each(merit: MeritFunction, point: Point, radius: float) -> Step:
    """The same, cut by how far it moves a body: a beam does not move the less the more elements it has."""
    return _trust_region(merit, point, radius, convex=False, each=True)


def _trust_region(merit: MeritFunction, point: Point, radius: float, convex: bool, each: bool = False) -> Step:
    energy = quadratic(merit, point)._replace(each=each)
    if convex and point.tangent is None and (not merit.is_small or merit.assembly.carriers.depth > _SHALLOW):
        energy = energy._replace(curves=partial(merit.curves, point))
    return newton_step(energy, radius, convex)


def unsymmetric_newton(merit: MeritFunction, point: Point, radius: float) -> Step:
    """The same with the unsymmetric stiffness of forces that come from no energy."""
    k, g, _ = merit.scaled(point)
    n = len(g)
    # zero-stiffness motions would make it singular; where there is stiffness, this is taken out again
    whole = add_diagonal(k, np.full(n, NULL_SHARE * (np.abs(k.data).max(initial=0.0) or 1.0)))
    if point.tangent is not None:
        slopes = point.tangent.slopes
        # dependent rows of constraints get along with each other
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
    """Accepted where the energy decreases by a share of the prediction; where it is rounding, by the forces along the step.

    What is missed of the prediction is taken to grow with the square of the length, as where steps bend.  The radius follows in
    powers of the root of two, so that rounding of energies hardly ever changes it.
    """
    drop = point.energy - trial.energy
    noise = 4 * (point.noise + trial.noise)
    if -step.predicted <= noise and drop >= -noise:
        drop = -0.5 * (merit.pull(point) + merit.pull(trial)) @ step.p
    ratio = drop / -step.predicted if step.predicted < 0 and np.isfinite(drop) else -1.0
    # a step to the boundary that falls by more than foreseen may be as much longer as one that falls by just that
    longer = 2.0 ** (0.5 * np.floor(np.log2(_MISSED / max(1.0 - ratio, EPS))))
    if longer < 1.0:
        radius = max(longer, _LEAST_CHANGE) * min(radius, np.linalg.norm(step.p))
    elif step.on_boundary:
        radius = min(min(longer, _MOST_CHANGE) * radius, _LARGEST_RADIUS * merit.size)
    return Verdict(bool(ratio > _ACCEPTED), radius)


def is_foreseen(point: Point, step: Step, trial: Point) -> bool:
    """Whether the energy falls by what is predicted of a step from a point to where forces balance, and which ends at ``trial``.

    Forces out of balance may bend the energy downwards at its beginning: a wire that is compressed there, and pulls at its end.
    """
    drop = point.energy - trial.energy
    good = 1.0 - _MISSED
    return bool(0.0 < -good * step.predicted <= drop <= -step.predicted / good)


def by_residual(merit: MeritFunction, point: Point, trial: Point, step: Step, radius: float) -> Verdict:
    """Accepted where the forces out of balance become less."""
    if np.linalg.norm(merit.pull(trial)) < np.linalg.norm(merit.pull(point)):
        return Verdict(True, min(2.0 * radius, merit.size))
    return Verdict(False, 0.25 * min(radius, np.linalg.norm(step.p)))


def whatever_is_finite(merit: MeritFunction, point: Point, trial: Point, step: Step, radius: float) -> Verdict:
    """Accepted wherever there are forces: Newton's method may pass through larger ones."""
    return Verdict(bool(np.isfinite(trial.energy) and np.isfinite(trial.gradient).all()), radius)


# -- together -------------------------------------------------------------------------------------------------
Solve = Callable[[MeritFunction, Point, float], Step]


@dataclass(frozen=True)
class StepMethod:
    """``solve`` finds a step from a point within a radius, ``newton`` the one to where forces balance; ``correct`` lets stiff
    members give way after it, ``judge`` accepts its end; a stage has ``most_steps``.  ``stable``: an equilibrium where the
    energy falls along some motion is left.  ``follows``: an equilibrium too far from where loads began to change is refused.
    ``stays``: it ends where the stiffness is not positive definite, but for a first step that :func:`is_foreseen`, where a step
    leads farther than the first one foresees, or two in a row are longer than the one before.
    ``carries``: bodies carry along what hangs on them as a whole, so that the turns of many links add up without strain.
    The region of the first step is a ``first`` share of the model's size.
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

    def way(self, merit: MeritFunction, step: Step) -> Way:
        """The way of a step."""
        if self.carries:
            return merit.carried_whole
        return merit.carried if step.along_curves else merit.moved


# Down in energy to a stable equilibrium, with twice as many steps as the longest way known: one of 2,000 random hanging systems
# takes 1,820 steps down its valley, the others at most 867, and one of 300 random trees with springs of 10 to 1e9 N/m takes 945.
DESCENT = StepMethod(descent_step, newton, corrected, by_energy, most_steps=4000, stable=True, first=_FIRST)
# Newton's method alone, which near an equilibrium is quick, or lost.
FOLLOWING = StepMethod(newton, newton, brought_to_rest, whatever_is_finite, most_steps=20, follows=True)
UNSYMMETRIC_FOLLOWING = replace(FOLLOWING, solve=unsymmetric_newton, newton=unsymmetric_newton)
# The same under other loads alone, where the stiffness at the start tells how the way begins.
LOADED = replace(FOLLOWING, solve=newton_of_each, correct=bent, carries=True)
# Newton's method to the stable equilibrium beside the start, and nowhere else.
BESIDE = replace(FOLLOWING, stable=True, follows=False, stays=True)


def guarded(method: StepMethod) -> StepMethod:
    """The same method with as many steps as a descent, each of which must lower the forces out of balance."""
    return replace(method, judge=by_residual, most_steps=DESCENT.most_steps)
