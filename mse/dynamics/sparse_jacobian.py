"""The matrices of :mod:`.jacobian` as sparse ones, for large systems in which all that constraints allow has mass.

Dense ones take the cube of the number of coordinates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..kernels.masses import cross_matrices
from ..model.evaluation import Evaluation
from ..numerics.factor import ConstrainedFactor, UnsymmetricFactor
from ..numerics.rank import rank
from ..numerics.sparse_tools import on_pattern, scaled_both
from ..numerics.tangent import row_numbers
from .accelerations import Equations, entries
from .constrained import heavy_factor
from .jacobian import Blocks, Unknowns, inertia_blocks, turned_rows, velocity_blocks

Three = tuple[sp.csc_matrix, sp.csc_matrix, sp.csc_matrix]


def goes_by_sparse_matrices(equations: Equations, here: Evaluation) -> bool:
    """Whether a system is large, all that constraints allow in a state has mass, and nothing constrains velocities alone."""
    if not equations.large or equations.flows:
        return False
    slopes, _ = equations.stacked(here, None, sparse=True)
    return heavy_factor(_measured(equations, equations.mass(here)), slopes) is not None


class SparseJacobian:
    """M, C and K (n, n), and independent constraints: all of :class:`.Jacobian` that steps ask for."""

    def __init__(self, equations: Equations, here: Evaluation, v: np.ndarray):
        self._equations, self._here, self._v = equations, here, v
        self._static = here.total(2).stiffness
        self._damped = _damped(equations, here, v)
        self._put_matrices(np.zeros(equations.size))
        slopes, self.lengths = equations.stacked(here, None, sparse=True)
        self.held = self.chosen = rank(slopes).independent
        self.rows = slopes[self.held]
        self._turned = sp.csr_matrix(self.rows.shape)  # slopes of G v by positions

    def _put_matrices(self, a: np.ndarray) -> None:
        e, turning = self._equations, _turns(self._equations, self._v)
        moving = _moving(e, self._here, self._v, a)
        mass, damping, stiffness = (x + y for x, y in zip(moving, self._damped, strict=True))
        # along axes that do not turn velocities change by x' - W x, accelerations by x'' - W' x - W x'
        damping = damping + mass @ turning
        stiffness = stiffness + damping @ turning + mass @ _turns(e, a) + self._static
        self.mass, self.damping, self._stiffness = (_measured(e, x) for x in (mass, damping, stiffness))
        self._turning = 0.5 * turning

    def accelerate(self, a: np.ndarray, velocity: np.ndarray) -> None:
        """Add what measured accelerations (n,) and multipliers of constraints (k,) change in the slopes."""
        e, metric, lengths = self._equations, self._equations.measure.metric, self.lengths[self.held]
        self._put_matrices(a / metric)
        multipliers = np.zeros(e.assembly.constraint_count)
        multipliers[self.held] = velocity / lengths
        self._stiffness = self._stiffness + _measured(
            e, e.assembly.reaction_total(self._here.configuration, multipliers)
        )
        turned = self._all_turned()[self.held]
        self._turned = sp.diags(1.0 / lengths) @ turned @ sp.diags(1.0 / metric)

    def _all_turned(self) -> sp.csr_matrix:
        """Slopes (m, n) of ``G v`` by positions, of all constraints."""
        e = self._equations
        shape, found = (e.assembly.constraint_count, e.size), []
        for numbers, place, row in turned_rows(e, self._here, self._v):
            numbers = np.broadcast_to(numbers[:, None], place.shape)
            mine = (numbers >= 0) & (numbers < shape[0]) & (place >= 0) & (place < shape[1])
            found.append((row[mine], numbers[mine], place[mine]))
        value, number, column = map(np.concatenate, zip(*found, strict=True))
        return sp.csr_matrix((value, (number, column)), shape=shape)

    def rows_at(self, here: Evaluation, v: np.ndarray) -> sp.csr_matrix:
        """:attr:`rows` at another state, as long as they are there."""
        if not len(self.held):
            return self.rows
        slopes, metric = here.slopes, self._equations.measure.metric
        rows = on_pattern(slopes, slopes.data / metric[slopes.indices] / self.lengths[row_numbers(slopes)])
        return rows if len(self.held) == rows.shape[0] else rows[self.held]

    def pulled(self, force: np.ndarray) -> np.ndarray:
        """Measured accelerations (n,) by measured forces (n,)."""
        return ConstrainedFactor(self.mass, self.rows, independent=True).solve(force)

    @property
    def massless(self) -> np.ndarray:
        """Which coordinates (n,) carry no mass: none."""
        return np.zeros(self._equations.size, dtype=bool)

    def solver(self, s: complex) -> Callable[..., Unknowns]:
        """What solves the equations of :mod:`.jacobian` at one s, for right sides r1, r2 (n,), r3 (p,) and r4 (p,)."""
        n, p = self._equations.size, len(self.held)
        inner, by_x, g = s * self.mass + self.damping, s * sp.identity(n) - self._turning, self.rows
        own = inner @ by_x + self._stiffness
        if p:
            own = sp.bmat(
                [[own, g.T, -inner @ g.T], [g, None, None], [g @ by_x + self._turned, None, -g @ g.T]], format="csc"
            )
        try:
            factor = UnsymmetricFactor(own.tocsc())
        except RuntimeError:  # no step is found by a singular matrix
            factor = None

        def solve(r1: np.ndarray, r2: np.ndarray, r3: np.ndarray, r4: np.ndarray) -> Unknowns:
            right = np.concatenate([r2 + inner @ r1, r3, r4 + g @ r1])
            found = np.full(len(right), np.nan) if factor is None else factor.solve(right)
            x, velocity, position = found[:n], found[n : n + p], found[n + p :]
            return Unknowns(x, by_x @ x - g.T @ position - r1, velocity, position)

        return solve


def sparse_matrices(e: Equations, here: Evaluation, v: np.ndarray) -> Three:
    """M, C and K (n, n) of a system without circuits, but for what the turning of axes adds to C and K."""
    shares = _moving(e, here, v, np.zeros(e.size)), _damped(e, here, v)
    mass, damping, stiffness = (x + y for x, y in zip(*shares, strict=True))
    return mass, damping, stiffness + here.total(2).stiffness


def _moving(e: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray) -> Three:
    """The share of inertia, on bodies whose axes turn with them."""
    return _summed(e, inertia_blocks(e, here, v, a, [part for part in e.parts if part.has_mass]))


def _damped(e: Equations, here: Evaluation, v: np.ndarray) -> Three:
    """The share of dampers and of what velocities change in powers, likewise."""
    return _summed(e, velocity_blocks(e, here, v, [part for part in e.parts if part.has_damping]))


def _summed(e: Equations, blocks: Blocks) -> Three:
    """Sums (n, n) over elements."""
    total = [sp.csc_matrix((e.size, e.size))] * 3
    for rows, three in blocks:
        at, mine = entries(rows)
        total = [a + sp.csc_matrix((b[mine], at), shape=a.shape) for a, b in zip(total, three, strict=True)]
    return tuple(total)


def _turns(e: Equations, rates: np.ndarray) -> sp.csc_matrix:
    """``[w]x`` (n, n) of the angular rates w of bodies among rates (n,)."""
    count = e.assembly.bodies - 1
    turns = 6 * np.arange(count)[:, None] + np.arange(3, 6)
    found = np.array(cross_matrices(rates[: 6 * count].reshape(-1, 6)[:, 3:]))
    rows, columns = np.broadcast_arrays(turns[:, :, None], turns[:, None, :])
    return sp.csc_matrix((found.ravel(), (rows.ravel(), columns.ravel())), shape=(e.size, e.size))


def _measured(e: Equations, matrix: sp.spmatrix) -> sp.csc_matrix:
    return scaled_both(sp.csc_matrix(matrix), 1.0 / e.measure.metric)
