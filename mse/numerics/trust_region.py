"""One step of a trust-region Newton search: minimize ``g.p + p.K p/2`` over ``|p| <= radius``.

J. J. More, D. C. Sorensen, "Computing a trust region step", SIAM J. Sci. Stat. Comput. 4 (1983) 553: the step solves
``(K + m I) p = -g`` with K + m I positive semi-definite and m = 0 inside the region.  Where a curvature is negative, the step
goes along the slow descent instead (:mod:`.slow_descent`).  All vectors are scaled, so that one length serves for displacements
and rotations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs

from .eigen import eigen, lowest_eigenvalue
from .factor import ConstrainedFactor, Factor, Factors
from .options import SIZES
from .precision import EPS
from .slow_descent import slow_descent, soft_motions
from .sparse_tools import add_diagonal, column_products, identity, weighted_squares
from .tangent import Tangent

# A curvature below this share of what its parts would give without canceling is rounding, not stiffness: with 1/10,000 and a
# hundred times of it tests/numerics/test_steps_near_rounding.py::test_stiffness_that_is_rounding_is_none and
# tests/numerics/test_steps_near_rounding.py::test_stiffness_of_a_billionth_is_some fail.
NULL_SHARE = 3e-12
# And a force below this share of the loads it is the balance of is rounding, not a force: with a tenth and ten times of it
# tests/numerics/test_steps_near_rounding.py::test_forces_of_some_hundred_roundings_push_nothing_and_those_of_thousands_do fails.
NOISE_SHARE = 1e-13
# Rounding in one coordinate of a body is measured by the stiffest and most loaded one of its six, times this: with a tenth and a
# hundred times of it tests/numerics/test_steps_near_rounding.py::test_a_turn_with_the_rounding_of_its_bodys_stiffness_is_free and
# tests/numerics/test_steps_near_rounding.py::test_a_turn_that_a_thin_wire_holds_is_not_free fail.
_NEIGHBOR = 1e-3
# Of the radius: Newton steps below it are straight.  With 0 the chains of tests/statics/test_long_chains.py take as many steps.
_NEAR = 0.1
# Rounds that take a floor back out of a step, each half of it for a motion as soft as the floor: a thousandth is left.
_ROUNDS = 10
# Of a step: a round that changes less is the last.  With 0.1 three trees of 52 bodies of tests/statics/test_stiff_trees.py take
# 31, 75 and 35 steps for 37, 78 and 36, with 1e-5 they take 41, 78 and 36.
_TAKEN_OUT = 1e-3
# Of the largest stiffness: the least shift that is tried first where some stiffness is negative.  A smaller one is raised until
# all is positive, a larger one lowered to what the step needs: with 1e-12 and with 1
# tests/statics/test_valleys.py::test_searches_end_where_a_slow_descent_does passes, and so do those of stiff trees.
_FIRST_SHIFT = 1e-6
# Of all forces: what their bend mixes into a force along a motion without stiffness.  With a thousand times of it
# tests/numerics/test_steps_near_rounding.py::test_forces_of_some_hundred_roundings_push_nothing_and_those_of_thousands_do fails,
# with a millionth none.
_MIXED = 1e-6
# Of the radius: how near to it a step ends, by eigenvalues and by factors, of which each trial costs one.  With 0.3 of the first
# tests/numerics/test_trust_region.py::test_steps_to_the_boundary_take_most_of_what_there_is fails; with 0.01 and 0.9 of the
# second none.
_REACHED, _REACHED_SPARSE = 1e-3, 0.2
# Times a limit of stiffness below which something falls: the next one tried; with 2 and 100 all that matters is downhill
# (tests/numerics/test_trust_region.py::test_a_limit_below_what_falls_is_raised_until_nothing_does).
_STIFFENED = 4.0


def neighborhood(x: np.ndarray, bodies: int) -> np.ndarray:
    """A small share of the largest |x| among the six coordinates of each body, for all of them; zero on internal ones."""
    floor = np.zeros(len(x))
    six = np.abs(x[: 6 * bodies]).reshape(-1, 6)
    floor[: 6 * bodies] = np.repeat(_NEIGHBOR * six.max(axis=1, initial=0.0), 6)
    return floor


def null_directions(
    w: np.ndarray, v: np.ndarray | sp.csc_matrix, k: sp.csc_matrix | np.ndarray, bodies: int, carried: float = 0.0
) -> np.ndarray:
    """Which curvatures w (m,) of k along v (n, m), of unit length, are the rounding of terms that cancel.

    ``carried`` is the stiffness that the largest reaction could make: force over length.
    """
    size = abs(v)
    share = carried + column_products(size, abs(k) @ size) + weighted_squares(neighborhood(k.diagonal(), bodies), size)
    return np.abs(w) <= NULL_SHARE * share


class Step(NamedTuple):
    """A step (n,), the energy it should change by (negative), and the most negative curvature met (0 if none).

    ``answer(d, limit)`` is the motion by which what is stiffer than ``limit`` gives way to a further gradient d;
    ``sideways`` (n,) its part along negative curvature, where that is most of it.
    ``along_curves``: the step is meant along the curves of :class:`Quadratic`.  ``newton(g)`` is the whole Newton step from there
    under another gradient g, where this one is a Newton step, which may be cut from the ``whole`` one.
    """

    p: np.ndarray
    predicted: float
    lowest: float
    on_boundary: bool
    answer: Callable[[np.ndarray, float], np.ndarray]
    sideways: np.ndarray | None = None
    along_curves: bool = False
    newton: Callable[[np.ndarray], np.ndarray] | None = None
    whole: np.ndarray | None = None


class Quadratic(NamedTuple):
    """The energy about a point to second order: stiffness k (n, n), gradient g (n,), the sum of absolute loads that g balances.

    The first ``6 bodies`` coordinates are those of rigid bodies; ``size`` is a length of the whole.  ``factors`` serve for the
    pattern of k; ``allowed`` are the motions that constraints leave, g is then along them.  Long steps may go along ``curves``: a
    function that gives the matrix W of their lengths, ``|p|^2 = p.W p``, and what k is more along them; ``measure`` is W in use.
    With ``each`` a step is as long as what it moves furthest, a body or an internal coordinate, however many there are.
    """

    k: sp.csc_matrix
    g: np.ndarray
    load: np.ndarray
    bodies: int
    size: float
    factors: Factors
    allowed: Tangent | None = None
    curves: Callable[[], tuple[sp.csc_matrix, sp.csc_matrix]] | None = None
    measure: sp.csc_matrix | None = None
    each: bool = False

    def length(self, p: np.ndarray) -> float:
        """The length of a step (n,)."""
        if self.measure is not None:
            return float(np.sqrt(p @ (self.measure @ p)))
        if not self.each:
            return float(np.linalg.norm(p))
        six = p[: 6 * self.bodies].reshape(-1, 6)
        furthest = np.einsum("ij,ij->i", six, six).max(initial=0.0)
        return float(max(np.sqrt(furthest), np.abs(p[6 * self.bodies :]).max(initial=0.0)))

    def cut(self, p: np.ndarray, radius: float) -> np.ndarray:
        """A step (n,) shortened to the radius, if it is longer."""
        length = self.length(p)
        if length == np.inf and np.isfinite(p).all():  # its square is no number any more
            p = p / np.abs(p).max()
            length = self.length(p)
        return p * (radius / length) if length > radius else p

    def factor(self, shift: float) -> Factor | ConstrainedFactor:
        """The factor of ``K + shift W``."""
        if self.measure is None and self.allowed is None:
            return self.factors(self.k, np.full(len(self.g), shift))
        if self.measure is None:
            return self.allowed.factor(add_diagonal(self.k, np.full(len(self.g), shift)))
        shifted = (self.k + shift * self.measure).tocsc()
        return self.factors(shifted) if self.allowed is None else self.allowed.factor(shifted)


@np.errstate(over="ignore")  # squares of steps that next to no stiffness stops: they are infinitely long
def newton_step(energy: Quadratic, radius: float, convex: bool = True) -> Step:
    """The trust-region step down an energy.

    With ``convex`` False no descent is asked for: the plain Newton step towards g = 0, cut to the radius.
    """
    is_dense = energy.k.shape[0] <= SIZES.dense and energy.curves is None
    if is_dense:
        a = energy.k.toarray()
        a = 0.5 * (a + a.T)
        if (step := _definite_step(a, energy, radius, convex)) is not None:
            return step
    energy = energy._replace(load=energy.load + neighborhood(energy.load, energy.bodies))
    return _dense_step(a, energy, radius, convex) if is_dense else _sparse_step(energy, radius, convex)


def stiff_answer(energy: Quadratic) -> Callable[[np.ndarray, float], np.ndarray]:
    """The motion ``answer(d, limit)`` by which what is stiffer than a limit at a point gives way to a gradient d (n,).

    As that of :class:`Step`, for a point that no step begins at; motions of negative curvature hardly answer.
    """
    k, allowed = energy.k, energy.allowed
    if k.shape[0] > SIZES.dense:

        def answer(d, limit):
            while not (f := energy.factor(limit)).positive_definite:
                limit *= _STIFFENED
            # softer motions answer by the square of their share of the limit, which is downhill for those that fall, too
            return -f.solve(k @ f.solve(k @ f.solve(d)))

        return answer
    a = k.toarray() if allowed is None else allowed.basis.T @ k.toarray() @ allowed.basis
    w, v = eigen(0.5 * (a + a.T))
    v = v if allowed is None else allowed.basis @ v
    return lambda d, limit: -v @ np.divide(v.T @ d, w, out=np.zeros(len(w)), where=w > limit)


class Definite:
    """A symmetric A (n, n) with no curvature below about ``lowest``, which is clearly above zero; ``solve(b)`` is ``A^-1 b``.

    With a ``basis`` (n, f) all that on its span: A is (f, f) there, and solutions are (n,).
    """

    def __init__(self, a: np.ndarray, factor: np.ndarray, lowest: float, basis: np.ndarray | None):
        self._a, self._factor, self.lowest, self._basis = a, factor, lowest, basis

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        if self._basis is None:
            return dpotrs(self._factor, right_side, lower=1)[0]
        return self._basis @ dpotrs(self._factor, self._basis.T @ right_side, lower=1)[0]

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Curvatures (f,), and the motions (n, f) along which they are."""
        w, v = eigen(self._a)
        return w, v if self._basis is None else self._basis @ v


def positive_definite(a: np.ndarray, bodies: int, least: float, basis: np.ndarray | None = None) -> Definite | None:
    """A symmetric A (n, n), on the span of a ``basis`` (n, f) where one is given, if all curvatures are far above ``least`` (N/m)
    and above rounding; None otherwise.
    """
    within = a if basis is None else basis.T @ a @ basis
    factor, wrong = dpotrf(within, lower=1)
    if wrong or not len(within):
        return None
    most = np.abs(a).sum(axis=1).max()
    lowest = lowest_eigenvalue(factor, most if basis is None else np.abs(within).sum(axis=1).max())
    rounding = most + _NEIGHBOR * a.diagonal()[: 6 * bodies].max(initial=0.0)
    return Definite(within, factor, lowest, basis) if lowest > max(least, NULL_SHARE * rounding) else None


def _definite_step(a: np.ndarray, energy: Quadratic, radius: float, convex: bool) -> Step | None:
    """The whole Newton step, where the stiffness is positive definite beyond doubt and the step stays in the region."""
    g, basis = energy.g, None
    least = np.linalg.norm(g) / energy.size if convex else 0.0
    if energy.allowed is not None:
        basis = energy.allowed.basis
        # reactions are stiffness that is rounding, too
        least = max(least, NULL_SHARE * (1.0 + _NEIGHBOR) * energy.load.max(initial=0.0) / energy.size)
    factored = positive_definite(a, energy.bodies, least, basis)
    if factored is None:
        return None

    def newton(g):
        p = -factored.solve(g)
        return p - factored.solve(g + a @ p)

    p = newton(g)
    if energy.length(p) > radius:
        return None

    def answer(d, limit):
        if limit < factored.lowest:
            return -factored.solve(d)
        w, v = factored.spectrum
        return -v @ np.where(w > limit, (v.T @ d) / w, 0.0)

    return Step(p, float(g @ p + 0.5 * p @ (a @ p)), 0.0, False, answer, newton=newton, whole=p)


def _dense_step(a: np.ndarray, energy: Quadratic, radius: float, convex: bool) -> Step:
    g, load, size, allowed = energy.g, energy.load, energy.size, energy.allowed
    if allowed is None:
        w, v = eigen(a)
    elif allowed.basis.shape[1] == 0:
        none = np.zeros(len(g))
        return Step(none, 0.0, 0.0, False, lambda d, limit: none, newton=lambda g: none, whole=none)
    else:
        w, v = eigen(allowed.basis.T @ a @ allowed.basis)
        v = allowed.basis @ v
    c = v.T @ g
    carried = 0.0 if allowed is None else float(load.max(initial=0.0)) / size
    null = null_directions(w, v, a, energy.bodies, carried)
    if convex:
        # an unbalanced force bends the energy along zero-stiffness motions, by force over length
        null |= np.abs(w) <= np.linalg.norm(g) / size
    # what pushes along them must stand out of rounding, and of what the bend mixes in from the rest
    c[null & (np.abs(c) <= np.maximum(NOISE_SHARE * (load @ np.abs(v)), _MIXED * np.linalg.norm(g)))] = 0.0
    idle = null & (c == 0.0)
    w = np.where(null, 0.0, w)
    lowest = float(min(w[0], w.min())) if len(w) else 0.0

    def answer(shift):
        # what has no slope to answer with is left out, not divided by
        slope = np.maximum(w + shift, 1e-300)
        return lambda d, limit: -v @ np.divide(v.T @ d, slope, out=np.zeros(len(w)), where=w + shift > limit)

    def at(shift):
        return np.divide(-c, w + shift, out=np.zeros(len(c)), where=c != 0.0)

    if not convex:

        def newton(g):
            return v @ np.where(null, 0.0, -(v.T @ g) / np.where(null, 1.0, w))

        whole = newton(g)
        p = energy.cut(whole, radius)
        return Step(p, float(g @ p + 0.5 * p @ (a @ p)), lowest, False, answer(0.0), newton=newton, whole=whole)
    if lowest < 0.0:
        return _descent(v, w, c, radius, answer)
    if lowest > 0.0 or (lowest == 0.0 and not np.any(null & ~idle)):
        y = at(0.0)
        if np.linalg.norm(y) <= radius:
            return Step(v @ y, float(c @ y + 0.5 * y @ (w * y)), 0.0, False, answer(0.0))
    # on the boundary: |p(m)| = radius with m >= 0; |p| falls with m, so bisect on 1/|p| by safeguarded Newton
    low, high = 0.0, np.linalg.norm(c) / radius
    shift = high
    for _ in range(60):
        y = at(shift)
        length = np.linalg.norm(y)
        if abs(length - radius) <= _REACHED * radius:
            break
        if length < radius:
            high = shift
        else:
            low = shift
        slope = np.sum(np.divide(y * y, w + shift, out=np.zeros(len(c)), where=c != 0.0))
        trial = shift + (length / radius - 1.0) * length**2 / slope if slope > 0 else low
        shift = trial if low < trial < high else 0.5 * (low + high)
        if high - low <= 4.0 * EPS * high:
            break
    y = at(shift)
    return Step(v @ y, float(c @ y + 0.5 * y @ (w * y)), lowest, True, answer(shift))


def _descent(
    v: np.ndarray,
    w: np.ndarray,
    c: np.ndarray,
    radius: float,
    answers: Callable[[float], Callable[[np.ndarray, float], np.ndarray]],
) -> Step:
    """The step along motions v (n, f) with curvatures w (f,), some of them negative, and gradients c (f,) along them."""
    y, shift, on_boundary = slow_descent(c, w, radius)
    falls = w < 0.0
    sideways = v[:, falls] @ y[falls] if np.linalg.norm(y[falls]) > 0.5 * np.linalg.norm(y) else None
    return Step(v @ y, float(c @ y + 0.5 * y @ (w * y)), float(w.min()), on_boundary, answers(shift), sideways)


def _without_floor(f: Factor | ConstrainedFactor, k: sp.csc_matrix, g: np.ndarray, rounds: int) -> np.ndarray:
    """The step (n,) to where k and g balance, by the factor of k and a floor, which rounds take out wherever there is stiffness.

    All rounds but two are for motions as soft as the floor, as long as each changes the step by less than the one before.
    """
    p, last = -f.solve(g), np.inf
    for done in range(rounds):
        more = f.solve(g + k @ p)
        change = float(np.linalg.norm(more))
        if done >= 2 and not _TAKEN_OUT * np.linalg.norm(p) < change < last:
            break
        p, last = p - more, change
    return p


def _sparse_step(energy: Quadratic, radius: float, convex: bool) -> Step:
    k, g, n = energy.k, energy.g, len(energy.g)
    # reactions couple displacements and turns by far more than stands on the diagonal
    top = np.abs(k.data).max(initial=0.0) or 1.0
    floor = NULL_SHARE * top
    if convex:
        floor = max(floor, np.linalg.norm(g) / energy.size)

    factor = lru_cache(maxsize=2)(energy.factor)  # answers ask for the same again

    def answers(shift):
        def answer(d, limit):
            # softer motions, which would move furthest, get as much stiffness as the limit
            factored = factor(max(limit, shift))
            if limit <= shift or not factored.positive_definite:
                return -factor(shift).solve(d)
            return -factored.solve(k @ factored.solve(d))

        return answer

    f = factor(floor)

    def without_noise(g):
        # along free motions, which joints allow to several coordinates at once, forces lean on the floor alone
        leaning = floor * f.solve(g)
        return np.where(np.abs(leaning) <= NOISE_SHARE * energy.load, g - leaning, g)

    g = without_noise(g)
    if f.positive_definite or not convex:
        # without joints steps go along curves, where forces out of balance bend more than k knows: their floor stays in part
        known = energy.allowed is not None or floor == NULL_SHARE * top
        p = whole = _without_floor(f, k, g, _ROUNDS if convex and known else 2)
        if not convex:
            p = energy.cut(p, radius)
        if not convex or energy.length(p) <= (radius if energy.curves is None else _NEAR * radius):
            return Step(
                p,
                float(g @ p + 0.5 * p @ (k @ p)),
                0.0 if f.positive_definite else -floor,
                False,
                answers(floor),
                newton=None if convex else lambda g: _without_floor(f, k, without_noise(g), 2),
                whole=None if convex else whole,
            )
    low, high, shift, definite = floor, np.inf, floor, f.positive_definite
    if energy.curves is not None and definite:
        measure, bend = energy.curves()
        far = energy._replace(k=(k + bend).tocsc(), curves=None, measure=measure)
        return _sparse_step(far, radius, convex)._replace(along_curves=True)
    if not definite:
        shift = max(np.linalg.norm(g) / radius, _FIRST_SHIFT * top)
        while not (f := factor(shift)).positive_definite:
            low = shift
            shift *= 4.0
        measure = identity(n) if energy.measure is None else energy.measure.tocsr()
        w, v = soft_motions(factor, shift, g, measure, radius, floor)
        if w.min() < 0.0:
            step = _descent(v, w, v.T @ g, radius, answers)
            return step._replace(predicted=float(g @ step.p + 0.5 * step.p @ (k @ step.p)))
    for _ in range(8):
        p = -f.solve(g)
        length = energy.length(p)
        if abs(length - radius) <= _REACHED_SPARSE * radius or (length < radius and shift - low <= 0.1 * shift):
            break
        if length < radius:
            high = min(high, shift)
        else:
            low = max(low, shift)
        along = p if energy.measure is None else energy.measure @ p
        slope = along @ f.solve(along)
        trial = shift + (length / radius - 1.0) * length**2 / slope if slope > 0 else 0.5 * (low + shift)
        bound = high if np.isfinite(high) else 1e3 * shift
        trial = trial if low < trial < bound else np.sqrt(low * bound)
        f = factor(trial)
        while not f.positive_definite:
            low = trial
            trial = np.sqrt(low * high) if np.isfinite(high) else 4.0 * trial
            f = factor(trial)
        shift = trial
    p = energy.cut(-f.solve(g), radius)
    lowest = 0.0 if definite else -floor
    return Step(p, float(g @ p + 0.5 * p @ (k @ p)), lowest, True, answers(shift))
