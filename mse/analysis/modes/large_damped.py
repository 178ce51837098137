"""The damped modes nearest to zero of large sparse models, by Arnoldi, counted by the argument principle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from ...errors import ModelError
from ...linear.linear_model import LinearModel
from ...linear.zero_motions import of_flows
from ...numerics.factor import Factor, Ordering, UnsymmetricFactor
from ...numerics.precision import APART, EPS, independent
from ...numerics.sparse_tools import on_pattern, start_vector, symmetric_columns, united
from .large import Halted, gap_behind, large_undamped, reference_rate
from .zero import lost, single_motions, undamped

_REAL = EPS**0.5  # relative to the distance from the shift: rounding splits a double real eigenvalue by this
_SEARCHES = 3  # attempts to find eigenvalues that the count shows
_POINTS = 6  # on the contour, from which the next value is extrapolated
_NARROWEST = EPS**0.5  # rad, steps on the contour: determinants at both ends share half of their digits

# With ten times _LIKE and _AIM, a tenth of _LOOSE and a hundredth of _WIDEST the count of
# tests/analysis/modes/test_large_damped.py::test_the_count_is_that_of_all_eigenvalues fails or does not end:
_LIKE = 0.5  # largest error of a determinant's logarithm extrapolated from earlier values; half a turn is 3.1
_LOOSE = 2.0  # the same, extrapolated from one value fewer
_WIDEST = 0.3  # rad, steps on the contour
_AIM = 0.4  # of the largest accepted error: error intended for the next step

_ASIDE = EPS**0.5  # relative to an eigenvalue: distance at which left vectors are sought, so that factors are regular
_BESIDE = EPS**0.25  # relative to the radius: step for a slope, with half the digits of determinants
_MOST_STEPS = 120  # on the contour, after which the count has failed


class _Quadratic:
    """``P(s) = s^2 M + s C + K``, bordered by the constraints, and its factors, all with one pattern."""

    def __init__(self, model: LinearModel, constraints: sp.csr_matrix):
        n = model.size
        self._symmetric = model.skew is None
        given = model.K, model.Lambda, model.M
        k, c, m = (symmetric_columns(a) if self._symmetric else a.tocsc() for a in given)
        self.size, self.c, self.m, self.zero = n, c, m, np.zeros(constraints.shape[0])
        late = None
        if len(self.zero):
            none = sp.csc_matrix((len(self.zero), len(self.zero)))
            k = sp.bmat([[k, constraints.T], [constraints, none]], format="csc")
            c, m = (sp.bmat([[a, None], [None, none]], format="csc") for a in (c, m))
            late = np.arange(n + len(self.zero)) >= n
        k, c = united(k, c)
        self._k, m = united(k, m)
        self._m, self._c = m.data, united(c, m)[0].data
        self._ordering = Ordering.of(self._k, late) if self._symmetric else None

    def factor(self, s: complex) -> Factor | UnsymmetricFactor:
        matrix = self._at(s)
        return Factor(matrix, self._ordering) if self._symmetric else UnsymmetricFactor(matrix)

    def left(self, s: complex) -> np.ndarray:
        """The vector y (n,) with ``y^T P(s) = 0`` at an eigenvalue s, by inverse iteration."""
        y = start_vector(self.size)
        transposed = UnsymmetricFactor(self._at(s * (1.0 + _ASIDE)).T.tocsc())
        for _ in range(2):
            y = transposed.solve(np.concatenate([y, self.zero]))[: self.size]
            y = y / np.linalg.norm(y)
        return y

    def _at(self, s: complex) -> sp.csc_matrix:
        return on_pattern(self._k, self._k.data + s * self._c + s * s * self._m)


class _Search:
    """The eigenvalues (k,) nearest to a shift and their vectors (2 n, k), positions above velocities."""

    def __init__(self, quadratic: _Quadratic, shift: complex, name: str, restarts: int | None):
        self._quadratic, self.shift, self._name, self._restarts = quadratic, shift, name, restarts
        self.solved = 0
        self._factor = quadratic.factor(shift)
        self._length = 2 * quadratic.size
        self._starts = np.random.default_rng(1)

    def find(self, ask: int) -> None:
        nu, self._v = self._nearest(self._apply, ask, start_vector(self._length))
        if not len(nu):
            raise ModelError(
                f"{self._name}: its damped modes near {abs(self.shift) / (2 * np.pi):.3g} Hz did not converge; "
                "expected a model whose stiffness and damping are above rounding; ask for fewer modes, or reduce the "
                "model"
            )
        self._take(nu)
        self.known = float(np.abs(1.0 / nu).max()) - abs(self.shift)

    def find_more(self, more: int) -> None:
        """The nearest eigenvalues orthogonal to known ones; a search with single vectors misses equal eigenvalues."""
        basis = _orthonormal(self._v)

        def apart(x):
            return x - basis @ (basis.conj().T @ x)

        start = apart(self._starts.standard_normal(self._length))
        more = min(more, self._length - 2 - basis.shape[1])
        if more < 1:
            return
        _, w = self._nearest(lambda x: apart(self._apply(apart(x))), more, start)
        basis = _orthonormal(np.hstack([basis, w]))
        moved = np.stack([self._apply(x) for x in basis.T], axis=1)
        nu, turn = sl.eig(basis.conj().T @ moved)
        self._v = basis @ turn
        self._take(nu)

    def _take(self, nu: np.ndarray) -> None:
        self.eigenvalues, self.shapes = self.shift + 1.0 / nu, self._v[: self._quadratic.size]

    def _nearest(self, apply: Callable, ask: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        operator = LinearOperator((self._length, self._length), matvec=apply, dtype=complex)
        try:
            return eigs(
                operator, k=ask, which="LM", ncv=min(self._length, _basis(ask)), v0=start, maxiter=self._restarts
            )
        except ArpackNoConvergence as stopped:
            if self._restarts is not None:
                raise ModelError(
                    f"{self._name}: damped modes are crowded near {abs(self.shift) / (2 * np.pi):.3g} Hz: of the "
                    f"{ask} sought, only {len(stopped.eigenvalues)} have converged after {self.solved} solutions"
                ) from None
            return stopped.eigenvalues, stopped.eigenvectors

    def _apply(self, x: np.ndarray) -> np.ndarray:
        q, shift = self._quadratic, self.shift
        self.solved += 1
        position, velocity = np.split(np.asarray(x).ravel(), 2)
        push = q.c @ position + q.m @ (shift * position + velocity)
        v0 = -self._factor.solve(np.concatenate([push, q.zero]))[: q.size]
        return np.concatenate([v0, shift * v0 + position])

    @property
    def at_zero(self) -> np.ndarray:
        """Which are zeros split by rounding (k,)."""
        return np.abs(self.eigenvalues) <= APART * abs(self.shift)

    @property
    def kept(self) -> np.ndarray:
        """One of each conjugate pair, and all real ones (k,)."""
        return (self.eigenvalues.imag >= 0.0) | self.real

    @property
    def real(self) -> np.ndarray:
        """Which are real up to rounding of their imaginary part (k,)."""
        s = self.eigenvalues
        return (np.abs(s.imag) <= _REAL * np.abs(s - self.shift)) | self.at_zero

    def both(self) -> np.ndarray:
        """All known eigenvalues, with both of each conjugate pair."""
        s, real = np.where(self.at_zero, 0.0, self.eigenvalues), self.real
        pairs = s[self.kept & ~real]
        return np.concatenate([s[real].real, pairs, pairs.conj()])

    def radius(self, count: int) -> float:
        """Radius about zero that contains the ``count`` lowest, or fewer if these end within a cluster."""
        sizes = np.sort(np.maximum(np.abs(self.eigenvalues[self.kept]), APART * abs(self.shift)))
        if np.count_nonzero(sizes < self.known) >= count:
            # nothing is known beyond
            sizes = np.append(sizes[sizes < self.known], self.known)
        return gap_behind(sizes, count)[1]


def _basis(ask: int) -> int:
    """Vectors in the basis of a search for so many eigenvalues; each takes a solution before the first restart."""
    return 2 * ask + 20


def _orthonormal(v: np.ndarray) -> np.ndarray:
    u, lengths, _ = sl.svd(v / np.linalg.norm(v, axis=0), full_matrices=False)
    return u[:, independent(lengths)]


def large_damped(
    model: LinearModel, count: int, restarts: int | None = None
) -> tuple[sp.csc_matrix, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Shift-invert Arnoldi on the companion form; F. Tisseur, K. Meerbergen, SIAM Review 43 (2001) 235, section 3.4.

    Returns undamped shapes (n, z) of single bodies at zero (each a double mode), the ``count`` lowest other eigenvalues (k,),
    one of each pair, their shapes (n, k), and notes if the count differs.  Raises :class:`Halted` after Ctrl-C, and ModelError
    if a search has not converged after ``restarts``, or several searches together have taken as many solutions.
    """
    alone, massless = _apart(model)
    twice = alone[:, np.repeat(np.arange(alone.shape[1]), 2)]
    ended: list[_Search] = []
    try:
        notes = _searched(model, count, (alone, massless), ended, restarts)
    except KeyboardInterrupt:
        found = _pairs(model, ended[-1]) if ended else (np.zeros(0, complex), np.zeros((model.size, 0)))
        raise Halted(*found, twice) from None
    return twice, *_pairs(model, ended[-1]), notes


def _apart(model: LinearModel) -> tuple[sp.csc_matrix, sp.csc_matrix]:
    """Undamped motions (n, z) of single bodies at zero, with and without mass; all others are orthogonal to them by mass.

    With a circulatory part others need not be; then all are sought together.
    """
    if model.skew is not None and model.skew.circulates:
        none = sp.csc_matrix((model.size, 0))
        return none, none
    alone, massless = (undamped(z, model) for z in single_motions(model))
    return alone, massless


def _searched(
    model: LinearModel,
    count: int,
    at_zero: tuple[sp.csc_matrix, sp.csc_matrix],
    ended: list[_Search],
    restarts: int | None,
) -> tuple[str, ...]:
    """Search until the count shows that none is missed; completed searches are added to ``ended``; returns notes."""
    alone, massless = at_zero
    constraints = model.constraints[:, : model.size]
    quadratic = _Quadratic(model, sp.vstack([constraints, (model.M @ alone).T, massless.T], format="csr"))
    most = 2 * (model.size - alone.shape[1] - massless.shape[1]) - 2
    rates = np.sqrt(np.abs(large_undamped(model.symmetric, count)[1]))
    # near the lowest, but off the imaginary axis and off zero, so that no free or undamped mode makes the matrix singular
    size = rates.max(initial=0.0) or np.sqrt(reference_rate(model))
    ask, left = min(2 * count + 12, most), restarts
    allowed = None if restarts is None else restarts * _basis(ask)
    while True:
        search = _Search(quadratic, (0.05 + 0.1j) * size, model.name, left)
        search.find(ask)
        ended.append(search)
        # all eigenvalues within this distance from zero are known
        lowest = np.sort(np.abs(search.eigenvalues[search.kept]))
        if np.count_nonzero(lowest <= search.known) >= count or ask >= min(most, 40 * count + 200):
            break
        size, ask = min(size, lowest[min(count, len(lowest)) - 1]), min(2 * ask, most)
        if allowed is not None:
            allowed -= search.solved
            left = allowed // _basis(ask)
            if left < 1:
                raise ModelError(
                    f"{model.name}: the {count} lowest damped modes are not among the {len(lowest)} nearest to "
                    f"{abs(search.shift) / (2 * np.pi):.3g} Hz, found by {sum(s.solved for s in ended)} solutions"
                )
    for left in reversed(range(_SEARCHES)):
        radius = search.radius(count)
        missing = missing_inside(quadratic, radius, search.both())
        if not missing or not left:
            break
        search.find_more(abs(missing) + 2)
    return _told(missing, radius)


def _pairs(model: LinearModel, search: _Search) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues (k,) found by a search, one of each pair, and their shapes (n, k)."""
    kept = search.kept
    s, shapes = search.eigenvalues[kept], search.shapes[:, kept]
    stiffness = np.abs(np.einsum("ij,ij->j", shapes.conj(), model.K @ shapes))
    s.imag[search.real[kept]] = 0.0
    s[search.at_zero[kept] & (lost(stiffness, shapes, model) | of_flows(model, shapes))] = 0.0
    return s, shapes


def left_vectors(model: LinearModel, s: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Vectors y (n, k) with ``y^T P(s) = 0`` for eigenvalues (k,) with shapes (n, k)."""
    if model.mirror is not None:
        return model.mirror[:, None] * shapes
    quadratic, y = _Quadratic(model, model.constraints[:, : model.size]), shapes.astype(complex)
    for k in np.flatnonzero(s):
        y[:, k] = quadratic.left(s[k])
    return y


def _told(missing: int | None, radius: float) -> tuple[str, ...]:
    below = f"below {radius / (2 * np.pi):.6g} Hz"
    if missing is None:
        return (f"modes {below} could not be counted, so some may be missing; ask for more modes, or reduce the model",)
    if missing:
        return (
            f"{below} there are {abs(missing)} eigenvalues {'more' if missing > 0 else 'fewer'} than were found, pairs counted "
            "twice; ask for more modes, or reduce the model",
        )
    return ()


def missing_inside(quadratic: _Quadratic, radius: float, known: np.ndarray) -> int | None:
    """Number of roots of ``det P(s)`` with ``|s|`` below a radius that are not known; None if it cannot be determined.

    By the argument principle: over the upper half of the circle the argument of ``f = det P/prod (s - known)`` grows by pi for
    each. Determinants give the argument only up to whole turns, so steps are short enough to extrapolate ``log f`` (modulus and
    argument) from earlier values.  If all near roots are known, the others are far away and the steps are wide.
    """

    def log_f(angle: float, size: float) -> complex:
        s = size * np.exp(1j * angle)
        return quadratic.factor(s).log_determinant() - np.sum(np.log(s - known))

    try:
        first = log_f(0.0, radius)
        # the slope of the modulus along the real axis is that of the argument across it
        slope = (log_f(0.0, (1.0 + _BESIDE) * radius) - first).real / _BESIDE
        turn = _turned(lambda angle: log_f(angle, radius), first, slope)
    except RuntimeError:  # exactly singular
        return None
    if turn is None:
        return None
    # on the real axis the argument is a whole number of half turns
    missing = round(turn / np.pi)
    return missing if abs(turn - missing * np.pi) < _LIKE else None


def _turned(value: Callable[[float], complex], first: complex, slope: float) -> float | None:
    """Growth from 0 to pi of a function's imaginary part, known up to whole turns; its real part is even, the other odd."""
    from scipy.interpolate import barycentric_interpolate  # imported here, since undamped modes do not need it

    at, values = [0.0], [complex(first.real)]
    step = min(_WIDEST, 1.0 / (1.0 + abs(slope)))
    for _ in range(_MOST_STEPS):
        angle = min(at[-1] + step, np.pi)
        step = angle - at[-1]
        given = value(angle) - 1j * first.imag
        if len(at) == 1:
            expected = [values[0] + 1j * slope * angle]
        else:
            expected = [
                complex(barycentric_interpolate(at[-n:], values[-n:], angle))
                for n in (min(_POINTS, len(at)), min(_POINTS, len(at)) - 1)
            ]
        given += 2j * np.pi * round((expected[0] - given).imag / (2 * np.pi))
        off = [abs((x - given).real) + abs((x - given).imag) for x in expected]
        if off[0] <= _LIKE and off[-1] <= _LOOSE:
            if angle == np.pi:
                return given.imag
            if len(at) == 1:  # the function continues below the axis by symmetry
                at, values = [-angle, 0.0], [given.conjugate(), values[0]]
            at.append(angle)
            values.append(given)
        wanted = (_AIM * _LIKE / max(max(off[0], 0.25 * off[-1]), 1e-3)) ** (1.0 / len(at[-_POINTS:]))
        step = min(step * min(max(wanted, 0.25), 2.0), _WIDEST)
        if step < _NARROWEST:
            return None
    return None
