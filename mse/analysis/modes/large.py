"""The undamped modes nearest to zero of large sparse models, by Lanczos, counted by inertia."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...numerics.factor import ConstrainedFactor, Factor
from ...numerics.lanczos import Lanczos
from ...numerics.precision import APART, EPS, apart, carries_mass, left_by_rounding
from ...numerics.sparse_tools import (
    column_maxima,
    empty,
    on_pattern,
    start_vector,
    symmetric_columns,
    united,
    weighted_squares,
)
from .zero import body_stiffness, single_motions, zeroed

# tests/numerics/test_lanczos.py::test_a_free_motion_beside_soft_and_stiff_ones fails with 1/10,000 and ten times the first number
# (digits of shapes, of frequencies), a tenth and a hundred times the second, a hundredth and a hundred times the third:
_LOW = 1e-3  # relative to the largest w^2: shapes of smaller ones are removed from the others
_BESIDE = 10.0  # eigenvalues nearer to the shift than this many times its distance from zero lose digits
_FAR_ENOUGH = 1e-6  # shift relative to the largest w^2, if there are modes at zero

_TOO_NEAR = 0.1 * _FAR_ENOUGH  # a shift nearer to the least one than this is kept, since another search gains nothing
# Error of a solution above which the shift moves away.  Without a bound it moves after a first search, by _FAR_ENOUGH:
# tests/numerics/test_lanczos.py::test_a_free_motion_beside_soft_and_stiff_ones passes so, and with 1e-14.
_EXACT = 1e-10
_CONVERGED = EPS**0.5  # residual relative to an eigenvector, of modes reported after Ctrl-C; their w^2 is exact


class Halted(KeyboardInterrupt):
    """Ctrl-C ended a search; ``values`` (m,) and ``shapes`` (n, m) are modes found so far; lower ones may be missing.

    ``values`` are w^2, or s if damped; ``alone`` (n, z) are the shapes of single bodies at zero.
    """

    def __init__(self, values: np.ndarray, shapes: np.ndarray, alone: sp.csc_matrix | None = None):
        super().__init__()
        self.values, self.shapes = values, shapes
        self.alone = sp.csc_matrix((len(shapes), 0)) if alone is None else alone


def reference_rate(model: LinearModel) -> float:
    """A typical low w^2: the smallest ratio of stiffness to mass of any single coordinate that has both."""
    k, m = np.abs(model.K.diagonal()), model.M.diagonal()
    stiffness = symmetric_columns(model.K)
    largest = column_maxima(stiffness, np.abs(stiffness.data))
    k = np.where(k > left_by_rounding() * largest, k, largest)  # a diagonal entry may be only rounding
    both = (k > 0) & (m > 0)
    if not both.any():
        return 1.0
    rates = k[both] / m[both]
    return max(float(np.min(rates)), 1e-6 * float(np.median(rates)))


def large_undamped(model: LinearModel, count: int) -> tuple[sp.csc_matrix, np.ndarray, np.ndarray]:
    """The modes at zero and the ``count`` modes nearest to zero, by Lanczos; counted by inertia.

    Returns shapes (n, z) of single bodies at zero, and w^2 (m,) and shapes (n, m) of all others.  Raises :class:`Halted` after
    Ctrl-C.
    """
    n = model.size
    constraints = unit_rows(model.constraints[:, :n]) if model.constraints.shape[0] else empty(0, n)
    # modes of single bodies at zero are known without a search
    free, massless = single_motions(model)
    left = n - constraints.shape[0] - free.shape[1] - massless.shape[1]
    if constraints.shape[0]:  # joints constrain them, too
        rows = [constraints, unit_rows((model.M @ free).T.tocsr()), massless.T]
        factorized = _Shifted(model, sp.vstack(rows, format="csr"), free[:, :0], massless[:, :0])
    else:
        factorized = _Shifted(model, constraints, free, massless)
    wanted = count
    while True:
        try:
            w2, shapes = _searched(model, factorized, wanted if left else 0)
        except KeyboardInterrupt as stopped:
            found = (stopped.values, stopped.shapes) if isinstance(stopped, Halted) else (np.zeros(0), np.zeros((n, 0)))
            raise Halted(*found, free) from None
        if not len(w2) and _has_mass_beside(model, free):
            raise ModelError(
                f"{model.name}: rounding hides its stiffness and mass next to zero frequency, so modes cannot be "
                "counted; expected stiffness or inertia above rounding, however small, in every coordinate; give "
                "free spins of thin bodies a realistic inertia, or hold them"
            )
        short = count - int(np.count_nonzero(w2))
        if len(w2) < wanted or short <= 0:
            return free, w2, shapes
        wanted += short


class _Shifted:
    """Factors of ``K - s M`` for different s, with joints, in the space without the known motions at zero.

    ``free`` (n, z) with ``Z^T M Z = 1`` and ``massless`` (n, k) have no stiffness.  They are given a stiffness of the size that
    their bodies have, and more than s.  So they count as above s, and other motions, which are orthogonal by mass, do not feel
    it.
    """

    def __init__(self, model: LinearModel, constraints: sp.csr_matrix, free: sp.csc_matrix, massless: sp.csc_matrix):
        self._factors, self._constraints, self._free = model._factors, constraints, free
        self.known = free.shape[1] + massless.shape[1]
        self._stiffness = symmetric_columns(model.K)
        k, m = united(self._stiffness, symmetric_columns(model.M))
        added = ()
        if free.shape[1] or massless.shape[1]:
            self._weighed = (model.M @ free).tocsc()
            sizes = body_stiffness(model)
            sizes[sizes == 0.0] = sizes.max(initial=0.0) or 1.0
            own = weighted_squares(sizes, abs(free))  # per mass, as w^2
            held = weighted_squares(sizes, massless)
            parts = (
                self._weighed @ sp.diags(own) @ self._weighed.T + massless @ sp.diags(held) @ massless.T,
                self._weighed @ self._weighed.T,
            )
            added = [symmetric_columns(a.tocsr()) for a in parts]
            pattern = k
            for a in added:
                pattern = united(pattern, a)[0]
            k, m, *added = (united(pattern, a)[1] for a in (k, m, *added))
        self._k, self._m, self._added = k, m.data, [a.data for a in added]
        self.widened = 2 * len(k.indices) > 3 * len(
            self._stiffness.indices
        )  # whether M has many entries that K has not

    def __call__(self, at: float) -> _Beside | Factor | ConstrainedFactor:
        if at == 0.0 and not self._added:
            matrix = self._stiffness
        else:
            data = self._k.data - at * self._m
            if self._added:
                data += self._added[0] + 2.0 * abs(at) * self._added[1]
            matrix = on_pattern(self._k, data)
        factor = (
            self._factors.constrained(matrix, self._constraints, independent=True)
            if self._constraints.shape[0]
            else self._factors(matrix)
        )
        return _Beside(factor, self._free, self._weighed) if self._added else factor


class _Beside:
    """A factor in the space orthogonal by mass to motions Z (n, z)."""

    def __init__(self, factor: Factor | ConstrainedFactor, motions: sp.csc_matrix, weighed: sp.csc_matrix):
        self._factor, self._motions, self._weighed = factor, motions, weighed
        self.negative = factor.negative

    @property
    def freedoms(self) -> int:
        return self._factor.freedoms - self._motions.shape[1]

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        x = self._factor.solve(right_side)
        return x - self._motions @ (self._weighed.T @ x)

    def error(self, right_side: np.ndarray) -> float:
        return self._factor.error(right_side)


def _has_mass_beside(model: LinearModel, free: sp.csc_matrix) -> bool:
    """Whether motions other than Z (n, z), ``Z^T M Z = 1``, have mass."""
    x = start_vector(model.size)
    push = model.M @ x
    rest = x - free @ (free.T @ push)
    return bool(carries_mass(rest @ (model.M @ rest), x @ push))


def _searched(model: LinearModel, factorized: _Shifted, count: int) -> tuple[np.ndarray, np.ndarray]:
    """w^2 and shapes of the modes at zero and of the ``count`` modes nearest to zero, apart from known motions."""
    least = -1e-6 * reference_rate(model)
    # solutions with K itself are less accurate, but if K has far fewer entries than K - s M, it also fills in less
    shift = 0.0 if factorized.widened and model._curvatures.clear else least
    best = np.zeros(0), np.zeros((model.size, 0))
    for _ in range(4 if count else 0):
        shift, factor = _beside_zero(factorized, shift, least, model.M)
        found = _near(factorized, factor, shift, model, count)
        if found is not None and len(found[0]) > len(best[0]):
            best = found
        elif len(best[0]):
            break
        if len(best[0]) >= count:
            break
        shift = 1e3 * shift or least  # so close to zero, free motions may hide all others
    size = np.abs(best[0])
    if len(size) and max(size.min(), -shift) < _TOO_NEAR * size.max():
        shift, factor = _beside_zero(factorized, -_FAR_ENOUGH * size.max(), least, model.M)
        again = _near(factorized, factor, shift, model, count)
        if again is not None and len(again[0]) == len(size):
            best = again
    w2, shapes = best
    return zeroed(w2, shapes, model, factorized.known, left_by_rounding() * abs(shift)), shapes


def unit_rows(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Rows (m, n) scaled to unit length."""
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return (sp.diags(1.0 / length) @ rows).tocsr()


def _beside_zero(
    factorized: Callable[[float], Factor | ConstrainedFactor], shift: float, least: float, mass: sp.csr_matrix
) -> tuple[float, Factor | ConstrainedFactor | None]:
    """The shift, moved away from zero if modes at zero would be so close that solutions drown in their rounding.

    The first shift after zero is ``least``.
    """
    push = mass @ start_vector(mass.shape[0])
    tried = []
    for _ in range(8):
        try:
            factor = factorized(shift)
        except RuntimeError:  # exactly singular
            shift = 10.0 * shift or least
            continue
        tried.append((factor.error(push), shift, factor))
        if tried[-1][0] <= _EXACT:
            break
        shift = 10.0 * shift or least
    return min(tried, key=lambda one: one[0])[1:] if tried else (shift, None)


def _near(
    factorized: _Shifted,
    factor: Factor | ConstrainedFactor | None,
    shift: float,
    model: LinearModel,
    count: int,
) -> tuple[np.ndarray, np.ndarray] | None:
    """w^2 and shapes of the modes at zero and of the ``count`` modes nearest to zero, none missed.

    None if factors give no count, or a larger one.
    """
    if factor is None or factor.negative is None:
        return None
    search = Lanczos(factor.solve, model.M, factor.freedoms)
    try:
        found = _counted(search, factorized, factor.negative, shift, model, count)
    except KeyboardInterrupt:
        raise _halted(factor, shift, model, *search.so_far(), count) from None
    if found is None:
        return None
    away, shapes, count = found
    nearest = np.sort(np.argsort(np.abs(shift + away), kind="stable")[:count])
    return _apart_from_zero(factor, shift, model, away[nearest], shapes[:, nearest])


def _counted(
    search: Lanczos,
    factorized: _Shifted,
    unstable: int,
    shift: float,
    model: LinearModel,
    count: int,
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Distances from the shift and shapes, none missed, and how many nearest to zero make up ``count`` and those at zero.

    ``unstable`` modes are below the shift.  None if factors give no count, or a larger one.
    """
    missed, moving = None, count
    while True:
        # one more on each side, to find a gap after the wanted ones
        below = unstable if unstable <= count else count + 1
        try:
            nu, shapes = search.find(below, count, 1)
        except RuntimeError:  # the factor is too inaccurate for solutions
            return None
        # by distance from the shift, those below it first
        order = np.argsort(1.0 / nu)
        away, shapes = 1.0 / nu[order], shapes[:, order]
        if len(away) >= search.dimension:
            return away, shapes, count  # all modes are found: a count could only be wrong by rounding
        at_zero = int(np.count_nonzero(zeroed(shift + away, shapes, model, factorized.known) == 0.0))
        if count < moving + at_zero and len(away) >= count:
            count = moving + at_zero
            continue
        on = int(np.count_nonzero(away < 0))
        cut, at = gap_behind(away[on:], count)
        if cut < min(count, len(away) - on) and not _equal(shift + away[on + cut :], shift):
            return None  # from so far away, different modes look like a cluster
        counted = _count(factorized, shift, at)
        if counted is None:
            return None
        missing = max(counted - unstable - cut, 0)
        if unstable <= count:
            missing += unstable - on
        else:
            cut, at = gap_behind(-away[:on][::-1], count)
            counted = _count(factorized, shift, -at)
            if counted is None:
                return None
            missing += max(unstable - counted - cut, 0)
        if missing <= 0:
            return away, shapes, count
        if missing == missed:  # a new start has found none of them
            return None
        # more eigenvalues are equal than Lanczos has found
        missed = missing
        search.renew()


def _halted(
    factor: Factor | ConstrainedFactor, shift: float, model: LinearModel, nu: np.ndarray, x: np.ndarray, count: int
) -> Halted:
    """The pairs of a search that solve the equations, at most ``count``."""
    most = np.argsort(-np.abs(nu))[:count]
    nu, x = nu[most], x[:, most]
    length = np.einsum("ij,ij->j", x, model.M @ x)
    left = factor.solve(model.M @ x) - x * nu
    miss = np.einsum("ij,ij->j", left, model.M @ left)
    good = (length > 0.0) & (miss <= (_CONVERGED * nu) ** 2 * length)
    return Halted(shift + 1.0 / nu[good], x[:, good])


def _equal(w2: np.ndarray, shift: float) -> bool:
    """Whether all are equal up to rounding of their distance from the shift."""
    return bool(np.ptp(w2) <= 10.0 * APART * np.abs(w2).max() + 1e-9 * abs(shift))


def _apart_from_zero(
    factor: Factor | ConstrainedFactor, shift: float, model: LinearModel, away: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """w^2 and shapes: near the shift from K itself; higher ones computed again without these, whose rounding they contain."""
    w2, x, mass = shift + away, x.copy(), model.M
    low = np.abs(w2) < _LOW * np.abs(w2).max(initial=0.0)
    if not low.any():
        return w2, x
    beside = low & (np.abs(away) <= _BESIDE * abs(shift))
    if beside.any():
        slow = x[:, beside]
        w2[beside], turn = sl.eigh(_symmetric(slow.T @ (model.K @ slow)), _symmetric(slow.T @ (mass @ slow)))
        x[:, beside] = slow @ turn
    weighed = mass @ x[:, low]
    weighed /= np.einsum("ij,ij->j", x[:, low], weighed)
    rest = x[:, ~low] - x[:, low] @ (weighed.T @ x[:, ~low])
    moved = mass @ rest
    solved = factor.solve(moved)
    solved -= x[:, low] @ (weighed.T @ solved)
    nu, turn = sl.eigh(_symmetric(moved.T @ solved), _symmetric(rest.T @ moved))
    order = np.argsort(1.0 / nu)
    nu, turn = nu[order], turn[:, order]
    w2[~low], x[:, ~low] = shift + 1.0 / nu, solved @ (turn / nu)
    return w2, x


def _symmetric(a: np.ndarray) -> np.ndarray:
    return 0.5 * (a + a.T)


def _count(factorized: Callable[[float], Factor | ConstrainedFactor], shift: float, at: float) -> int | None:
    """How many w^2 are below ``shift + at``, or very close to it; None if no factor there gives a count."""
    for nudge in (1.0, 1.0 + 0.1 * APART, 1.0 - 0.1 * APART):
        try:
            found = factorized(shift + nudge * at).negative
        except RuntimeError:  # exactly singular
            continue
        if found is not None:
            return found
    return None


def gap_behind(away: np.ndarray, wanted: int) -> tuple[int, float]:
    """How many of ascending positive numbers are below the widest gap after the ``wanted`` first, and a number in the gap.

    If there is no gap but some of the first belong to a cluster that continues, the gap before that: it does not matter which
    of a cluster are found.
    """
    gaps = np.diff(away, prepend=0.0) / away
    clear = np.flatnonzero(apart(away))
    behind = clear[clear >= wanted]
    if len(behind):
        cut = int(behind[np.argmax(gaps[behind])])
    elif len(away) <= wanted:
        return len(away), away[-1] * (1.0 + APART) if len(away) else 0.0
    else:
        cut = int(clear[-1])
    return cut, away[cut] * (1.0 - 0.5 * gaps[cut])
