"""One step of a trust-region Newton search: minimize ``g.p + p.K p/2`` over ``|p| <= radius``.

J. J. More, D. C. Sorensen, "Computing a trust region step", SIAM J. Sci. Stat. Comput. 4 (1983) 553: the step solves
``(K + m I) p = -g`` with K + m I positive semi-definite and m = 0 inside the region.  If a curvature is negative, the step
follows the slow descent instead (:mod:`.slow_descent`).  All vectors are scaled, so that displacements and rotations are lengths.
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

# A curvature below this share of its terms, added up without canceling, is rounding and no stiffness.  With 1/10,000 and a
# hundred times of it tests/numerics/test_steps_near_rounding.py::test_stiffness_that_is_rounding_is_none and
# tests/numerics/test_steps_near_rounding.py::test_stiffness_of_a_billionth_is_some fail.
NULL_SHARE = 3e-12
# A force below this share of the loads that balance in it is rounding and no force.  With a tenth and ten times of it
# tests/numerics/test_steps_near_rounding.py::test_forces_of_some_hundred_roundings_push_nothing_and_those_of_thousands_do fails.
NOISE_SHARE = 1e-13
# Rounding in any coordinate of a body is at least this share of the stiffness and load of the largest of its six.  With a tenth
# and a hundred times of it
# tests/numerics/test_steps_near_rounding.py::test_a_turn_with_the_rounding_of_its_bodys_stiffness_is_free and
# tests/numerics/test_steps_near_rounding.py::test_a_turn_that_a_thin_wire_holds_is_not_free fail.
_NEIGHBOR = 1e-3
# Of the radius: shorter Newton steps are taken straight.  With 0 the chains of tests/statics/test_long_chains.py take as many
# steps.
_NEAR = 0.1
# Refinement steps that remove the regularization ``floor``.  For a motion as soft as the floor each halves the error, so that a
# thousandth is left.
_ROUNDS = 10
# Of a step: a refinement that changes less is the last.  With 0.1 three trees of 52 bodies of tests/statics/test_stiff_trees.py
# take 31, 75 and 35 steps instead of 37, 78 and 36; with 1e-5 they take 41, 78 and 36.
_TAKEN_OUT = 1e-3
# Of the largest stiffness: the least shift that is tried first if some stiffness is negative.  A smaller shift is raised until
# the matrix is positive definite, a larger one is lowered as the step needs.  With 1e-12 and with 1
# tests/statics/test_valleys.py::test_searches_end_where_a_slow_descent_does passes, and so do the tests of stiff trees.
_FIRST_SHIFT = 1e-6
# Of all forces: the part that their curvature mixes into a force along a motion without stiffness.  With a thousand times of it
# tests/numerics/test_steps_near_rounding.py::test_forces_of_some_hundred_roundings_push_nothing_and_those_of_thousands_do fails,
# with a millionth none.
_MIXED = 1e-6
# Of the radius: distance from it at which a step ends, with eigenvalues, and with factors (each trial costs a factor).  With 0.3
# of the first tests/numerics/test_trust_region.py::test_steps_to_the_boundary_take_most_of_what_there_is fails; with 0.01 and 0.9
# of the second none.
_REACHED, _REACHED_SPARSE = 1e-3, 0.2
# Factor by which a limit of stiffness is raised if the factor there is not positive definite; with 2 and 100 responses are
# downhill (tests/numerics/test_trust_region.py::test_a_limit_below_what_falls_is_raised_until_nothing_does).
_STIFFENED = 4.0


def neighborhood(x: np.ndarray, bodies: int) -> np.ndarray:
    """A small share of the largest |x| of the six coordinates of each body, for all six; zero for internal coordinates."""
    floor = np.zeros(len(x))
    six = np.abs(x[: 6 * bodies]).reshape(-1, 6)
    floor[: 6 * bodies] = np.repeat(_NEIGHBOR * six.max(axis=1, initial=0.0), 6)
    return floor


def null_directions(
    w: np.ndarray, v: np.ndarray | sp.csc_matrix, k: sp.csc_matrix | np.ndarray, bodies: int, carried: float = 0.0
) -> np.ndarray:
    """Which curvatures w (m,) of k along v (n, m), of unit length, are rounding of terms that cancel.

    ``carried`` is the geometric stiffness that the largest reaction could have: force over length.
    """
    size = abs(v)
    share = carried + column_products(size, abs(k) @ size) + weighted_squares(neighborhood(k.diagonal(), bodies), size)
    return np.abs(w) <= NULL_SHARE * share


class Step(NamedTuple):
    """A step ``p`` (n,), the energy change that it predicts (negative), and the most negative curvature (0 if there is none).

    - ``answer(d, limit)``: the response of motions stiffer than ``limit`` to a further gradient d.
    - ``sideways`` (n,): the part along negative curvature, if that is most of the step.
    - ``along_curves``: the step is meant along the curves of :class:`Quadratic`.
    - ``newton(g)``: the whole Newton step from the same point under another gradient g; only for Newton steps.
    - ``whole``: the Newton step before it was cut to the radius.
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
    """The energy about a point to second order: stiffness k (n, n), gradient g (n,), ``load`` the sum of absolute terms of g.

    - The first ``6 bodies`` coordinates belong to rigid bodies; ``size`` is a length of the model.
    - ``factors`` fit the pattern of k.
    - ``allowed`` are the motions that constraints leave; g is then along them.
    - ``curves()``, for long steps along curves, gives the matrix W of their lengths, ``|p|^2 = p.W p``, and the stiffness that k
      gains along them; ``measure`` is W in use.
    - ``each``: the length of a step is the largest displacement of a body or internal coordinate, however many there are.
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
        if length == np.inf and np.isfinite(p).all():  # its square overflows
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


@np.errstate(over="ignore")  # squares of steps along very little stiffness: these steps are infinitely long
def newton_step(energy: Quadratic, radius: float, convex: bool = True) -> Step:
    """The trust-region step down an energy.

    With ``convex`` False it need not descend: it is the plain Newton step towards g = 0, cut to the radius.
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
    """The response ``answer(d, limit)`` of motions stiffer than a limit, at a point, to a gradient d (n,).

    As ``answer`` of :class:`Step`, but for any point; motions of negative curvature hardly respond.
    """
    k, allowed = energy.k, energy.allowed
    if k.shape[0] > SIZES.dense:

        def answer(d, limit):
            while not (f := energy.factor(limit)).positive_definite:
                limit *= _STIFFENED
            # softer motions respond by the square of stiffness over limit, which is downhill for negative curvature, too
            return -f.solve(k @ f.solve(k @ f.solve(d)))

        return answer
    a = k.toarray() if allowed is None else allowed.basis.T @ k.toarray() @ allowed.basis
    w, v = eigen(0.5 * (a + a.T))
    v = v if allowed is None else allowed.basis @ v
    return lambda d, limit: -v @ np.divide(v.T @ d, w, out=np.zeros(len(w)), where=w > limit)


class Definite:
    """A symmetric A (n, n) with no curvature below about ``lowest``, which is clearly above zero; ``solve(b)`` is ``A^-1 b``.

    With a ``basis`` (n, f), A is (f, f), its restriction to the span, and solutions are (n,).
    """

    def __init__(self, a: np.ndarray, factor: np.ndarray, lowest: float, basis: np.ndarray | None):
        self._a, self._factor, self.lowest, self._basis = a, factor, lowest, basis

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        if self._basis is None:
            return dpotrs(self._factor, right_side, lower=1)[0]
        return self._basis @ dpotrs(self._factor, self._basis.T @ right_side, lower=1)[0]

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Curvatures (f,), and their motions (n, f)."""
        w, v = eigen(self._a)
        return w, v if self._basis is None else self._basis @ v


def positive_definite(a: np.ndarray, bodies: int, least: float, basis: np.ndarray | None = None) -> Definite | None:
    """A symmetric A (n, n) if all its curvatures are far above ``least`` (N/m) and above rounding; None otherwise.

    With a ``basis`` (n, f), A on its span.
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
    """The whole Newton step, if the stiffness is positive definite beyond doubt and the step stays in the region; else None."""
    g, basis = energy.g, None
    least = np.linalg.norm(g) / energy.size if convex else 0.0
    if energy.allowed is not None:
        basis = energy.allowed.basis
        # the stiffness of reactions has rounding, too
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
    # a force along them must exceed rounding, and the part that curvature mixes in from other forces
    c[null & (np.abs(c) <= np.maximum(NOISE_SHARE * (load @ np.abs(v)), _MIXED * np.linalg.norm(g)))] = 0.0
    idle = null & (c == 0.0)
    w = np.where(null, 0.0, w)
    lowest = float(min(w[0], w.min())) if len(w) else 0.0

    def answer(shift):
        # motions without stiffness do not respond, and are not divided by
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
    """The slow descent along motions v (n, f) with curvatures w (f,), some of them negative, and gradients c (f,)."""
    y, shift, on_boundary = slow_descent(c, w, radius)
    falls = w < 0.0
    sideways = v[:, falls] @ y[falls] if np.linalg.norm(y[falls]) > 0.5 * np.linalg.norm(y) else None
    return Step(v @ y, float(c @ y + 0.5 * y @ (w * y)), float(w.min()), on_boundary, answers(shift), sideways)


def _without_floor(f: Factor | ConstrainedFactor, k: sp.csc_matrix, g: np.ndarray, rounds: int) -> np.ndarray:
    """The step (n,) at which k and g balance, by a factor of k plus a floor.

    Refinement removes the floor from every motion with stiffness.  All ``rounds`` but two are for motions as soft as the floor;
    they go on as long as each changes the step by less than the one before.
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
    # reactions couple displacements and turns by far more than the diagonal
    top = np.abs(k.data).max(initial=0.0) or 1.0
    floor = NULL_SHARE * top
    if convex:
        floor = max(floor, np.linalg.norm(g) / energy.size)

    factor = lru_cache(maxsize=2)(energy.factor)  # responses use the same ones again

    def answers(shift):
        def answer(d, limit):
            # softer motions would move furthest, so they get as much stiffness as the limit
            factored = factor(max(limit, shift))
            if limit <= shift or not factored.positive_definite:
                return -factor(shift).solve(d)
            return -factored.solve(k @ factored.solve(d))

        return answer

    f = factor(floor)

    def without_noise(g):
        # joints allow free motions of several coordinates at once; only the floor balances forces along them
        leaning = floor * f.solve(g)
        return np.where(np.abs(leaning) <= NOISE_SHARE * energy.load, g - leaning, g)

    g = without_noise(g)
    if f.positive_definite or not convex:
        # without joints steps go along curves; forces out of balance bend these more than k says, so part of the floor stays
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
