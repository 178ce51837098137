"""Equations of equilibrium along a parameter: systems for its values, places on the curve, bordered equations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, splu

from ..errors import ModelError, WorkingPointError
from ..model.configuration import State
from ..model.joint_assembly import OPEN
from ..numerics.eigen import eigen
from ..numerics.options import SIZES
from ..numerics.precision import EPS
from ..numerics.rank import rank
from ..numerics.sparse_tools import start_vector
from .equilibrium import RESIDUAL
from .merit_function import MeritFunction, Point
from .stability import Stability

if TYPE_CHECKING:
    from ..model.system import MSystem

_CORRECTIONS = 10
# Of the size of the model: a correction that moves less is the last.  With a hundred times of it
# tests/statics/test_first_loads.py::test_a_curve_from_no_load_begins_where_a_pendulum_hangs fails, with a ten-thousandth none.
AT_REST = 1e-11
# The same for corrections that do not get smaller, since equations with stiff members are no more accurate.  With 1e-9
# tests/statics/test_critical_load.py::test_a_strip_on_edge_gives_way_sideways finds none.
COARSELY_AT_REST = 1e-8
# Of the way, the range or the size: steps of one-sided differences, which are then good to five digits, both for rounding and for
# curvature.  For 37 random updates nothing changes with 2 to 100 times as much or as little
# (tests/statics/test_branches.py::test_random_updates_end_where_many_small_ones_do_or_say_so).
DIFFERENCE = 1e-5
# The parameter pushes a motion if a larger share of its forces acts along it.  With ten thousand times of it
# tests/statics/test_first_loads.py::test_a_pendulum_that_leans_hangs_straight_under_its_loads fails, with a ten-thousandth none.
PUSHED = 1e-6

_PAIR = EPS**0.5  # of its size: imaginary part that rounding gives to a double eigenvalue with one vector
_FEW = 6  # singular places that are sought in one step of a system too large for dense matrices
# Of a correction: if the next one is longer, Newton's method gains nothing (with a hundredth and a hundred times of it
# tests/statics/test_failures.py::test_a_curve_from_a_limit_point_is_begun_beside_it passes).
_HARDLY = 0.3


def is_last(following: float, length: float, before: float, size: float) -> bool:
    """Whether a correction is the last, by its ``length`` (m), the ones before and ``following``, and the model's size (m)."""
    return following <= AT_REST * size or (length > _HARDLY * before and length <= COARSELY_AT_REST * size)


class Lost(Exception):
    """Newton's method does not reach a place, or the equations have no solution there."""


class Family(Protocol):
    """Systems for the values of one parameter, in common coordinates; it has the value ``begin`` in the state ``start``.

    Messages name ``system`` and ``parameter``.
    """

    system: MSystem
    parameter: str
    begin: float
    start: State

    def at(self, value: float) -> MeritFunction:
        """The merit function for one value of the parameter."""
        ...

    def slope(self, merit: MeritFunction, point: Point, value: float, to: float) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of forces (n,) and constraints (m,) by the parameter, at fixed multipliers; ``to`` is its last value."""
        ...


@dataclass(frozen=True, eq=False)
class Place:
    """An equilibrium on the curve; per meter of curve, coordinates change by ``ahead`` (n,) and the parameter by ``slope``."""

    state: State
    value: float
    merit: MeritFunction
    point: Point
    ahead: np.ndarray
    slope: float

    @cached_property
    def stability(self) -> Stability:
        return self.merit.stability(self.point)

    @property
    def negative_motions(self) -> np.ndarray:
        """Orthonormal motions (n all, k) of negative curvature."""
        return self.stability.negative_motions


class Bordered:
    """The equations of equilibrium at a point, linearized: LU of

        [ K   G^T  N   c ]   stiffness, independent constraints, zero-stiffness motions, one more column
        [ G   0    0   d ]
        [ N^T 0    0   0 ]   no displacement along zero-stiffness motions
        [ r   0    0   e ]   one more row

    divided by the stiffness, so that all unknowns are lengths.  Raises RuntimeError if there is no inverse.
    """

    def __init__(
        self, merit: MeritFunction, point: Point, constraints: sp.csr_matrix, free: sp.csc_matrix, stiffness: float
    ):
        k, _, _ = merit.scaled(point)
        self._k, self._constraints, self._free, self.stiffness = k, constraints, free, stiffness
        self.n, self.m, self.f = k.shape[0], constraints.shape[0], free.shape[1]

    def matrix(self) -> sp.csc_matrix:
        """The matrix without borders."""
        sides = sp.vstack([self._constraints, self._free.T])
        return sp.bmat([[self._k / self.stiffness, sides.T], [sides, None]], format="csc")

    def factorized(self, columns: np.ndarray, gaps: np.ndarray, rows: np.ndarray, corner: np.ndarray) -> Bordered:
        """With the border: columns (n, c), (m, c), rows (c, n) and the corner (c, c)."""
        n, m, f, c = self.n, self.m, self.f, len(rows)
        if n + m + f + c <= 2 * SIZES.dense:
            whole = np.zeros((n + m + f + c, n + m + f + c))
            whole[:n, :n] = self._k.toarray() / self.stiffness
            whole[n : n + m, :n] = self._constraints.toarray()
            whole[n + m : n + m + f, :n] = self._free.toarray().T
            whole[:n, n : n + m + f] = whole[n : n + m + f, :n].T
            whole[:n, -c:], whole[n : n + m, -c:], whole[-c:, :n], whole[-c:, -c:] = columns, gaps, rows, corner
            # so that rows of soft coordinates are as accurate as rows of stiff ones
            self._row_size = np.abs(whole).max(axis=1)
            if not (np.all(np.isfinite(whole)) and self._row_size.all()):
                raise RuntimeError("a row is empty, or not finite")
            self._lu, self._order, wrong = dgetrf(whole / self._row_size[:, None], overwrite_a=True)
            if wrong:
                raise RuntimeError("exactly singular")
            self._sparse = None
        else:
            right = sp.csc_matrix(np.concatenate([columns, gaps, np.zeros((f, c))]))
            below = sp.csr_matrix(np.hstack([rows, np.zeros((c, m + f))]))
            self._sparse = splu(sp.bmat([[self.matrix(), right], [below, corner]], format="csc"))
        self._count = c
        return self

    def solve(self, force: np.ndarray, gap: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Displacements (n, ...), forces along free motions (f, ...) and last unknowns (c, ...) for right-hand sides."""
        right = np.concatenate([force, gap, np.zeros((self.f, *force.shape[1:])), last])
        if self._sparse is None:
            x = dgetrs(self._lu, self._order, (right.T / self._row_size).T)[0]
        else:
            x = self._sparse.solve(right)
        if not np.all(np.isfinite(x)):
            raise RuntimeError("no finite solution")
        return x[: self.n], x[self.n + self.m : len(x) - self._count], x[len(x) - self._count :]


class Equations:
    """Newton's method along the curve, with the constraints and the free motions of the last place.

    Lengths are root mean squares over the bodies, so they do not depend on the number of elements of a beam.  A turn counts as
    its displacement at the size of the model.  A meter of curve counts as ``unit`` of the parameter.
    """

    def __init__(self, family: Family, to: float):
        self.family, self.to = family, to
        merit = family.at(family.begin)
        self.size = merit.size
        self.range, self.side = abs(to - family.begin), np.sign(to - family.begin)
        self.reach = merit.measure.reach
        self._bodies = max(merit.topology.units - 1 + merit.topology.internal, 1)
        self.unit = self.range / self.size
        n = len(merit.searched)
        # independent constraints, and zero-stiffness motions (n, f), at the last place
        self.standing: tuple[np.ndarray, sp.csc_matrix] = np.zeros(0, dtype=int), sp.csc_matrix((n, 0))
        self._bend = np.zeros(n), 0.0  # how fast the direction changes along the curve

    # -- lengths ----------------------------------------------------------------------------------------------
    def product(self, x: np.ndarray, dp: float, y: np.ndarray, dq: float) -> float:
        """Scalar product of two steps, each of displacements (n,) and of the parameter."""
        return float((self.reach**2 * x) @ y) / self._bodies + dp * dq / self.unit**2

    def length(self, x: np.ndarray, dp: float) -> float:
        return float(np.sqrt(self.product(x, dp, x, dp)))

    def farthest(self, x: np.ndarray) -> float:
        """The largest displacement (m) in a step; a turn moves points at the size of the model."""
        return float(np.abs(self.reach * x).max(initial=0.0))

    def ahead(self, place: Place) -> tuple[np.ndarray, float]:
        """The direction of the curve at a place, of unit length."""
        length = self.length(place.ahead, place.slope)
        return place.ahead / length, place.slope / length

    # -- the last place -----------------------------------------------------------------------------------------
    def begin(self) -> Place:
        """The place where the curve begins, towards its end."""
        family = self.family
        merit = family.at(family.begin)
        point = merit.evaluate(family.start, 2)
        unknown = Place(family.start, family.begin, merit, point, np.zeros(len(merit.searched)), 0.0)
        self.standing = self._independent(unknown), self.free_at(unknown)
        try:
            return self.place(family.start, family.begin, (unknown.ahead, self.side))
        except RuntimeError:
            raise WorkingPointError(
                f"{family.system.label}: no curve leads on from {family.parameter} = {family.begin:.9g}, which is a limit or "
                "branch point; expected a start next to it"
            ) from None

    def stand_on(self, place: Place) -> Place:
        """Go on from a place; its independent constraints and free motions are used from now on."""
        free = self.free_at(place)
        known = self.freedoms
        if free.shape[1] > known:
            free = self._not_pushed(place, free)
        self.standing = self._independent(place), free
        if free.shape[1] < known:
            # motions that have gained stiffness move to their new equilibrium
            none = np.zeros(len(place.ahead))
            place, _, _ = self.corrected(place, none, 0.0, (none, 1.0), (place.ahead, place.slope))
        elif free.shape[1] > known:
            place = self.place(place.state, place.value, (place.ahead, place.slope))
        return place

    def look_back(self, before: Place, place: Place, length: float) -> None:
        """Set the bend of the curve at a place, from the place before it and the length (m) between them.

        Stiff members hardly stretch along the curve; on a straight step they would, by the square of its turn.
        """
        (x0, p0), (x1, p1) = self.ahead(before), self.ahead(place)
        x, dp = (x1 - x0) / length, (p1 - p0) / length
        along = self.product(x, dp, x1, p1)
        self._bend = x - along * x1, dp - along * p1

    @property
    def freedoms(self) -> int:
        """Number of motions that are treated as free."""
        return self.standing[1].shape[1]

    def _independent(self, place: Place) -> np.ndarray:
        """Numbers of the constraints on which all others depend."""
        if place.point.tangent is None:
            return np.zeros(0, dtype=int)
        return rank(place.point.tangent.slopes).independent

    def free_at(self, place: Place) -> sp.csc_matrix:
        """Zero-stiffness motions (n, f) of the searched coordinates at a place, of unit length."""
        merit = place.merit
        null = place.stability.null[merit.searched]
        null = (sp.diags(merit.metric / merit.scale[merit.searched]) @ null).tocsc()
        length = np.sqrt(np.asarray(null.multiply(null).sum(axis=0)).ravel())
        return (null[:, length > 0.0] @ sp.diags(1.0 / length[length > 0.0])).tocsc()

    def _not_pushed(self, place: Place, free: sp.csc_matrix) -> sp.csc_matrix:
        """Free motions that the parameter does not push; at a limit point the curve goes on along the one that it pushes."""
        along, load, _ = self.holding(place, free)
        if np.abs(along).max(initial=0.0) <= PUSHED * load:
            return free
        others = np.linalg.svd(along[None, :])[2][1:]
        return sp.csc_matrix(free @ others.T)

    def holding(self, place: Place, free: sp.csc_matrix) -> tuple[np.ndarray, float, float]:
        """Forces (f,) along free motions that hold against the parameter, its largest force, and the factor to N per unit."""
        bordered, column, gap = self._equations(place.merit, place.point, place.value, free)
        bordered.factorized(column, gap, np.zeros((1, bordered.n)), np.ones((1, 1)))
        _, along, _ = bordered.solve(-column[:, 0], -gap[:, 0], np.zeros(1))
        return along, float(np.abs(column).max(initial=0.0)), bordered.stiffness / self.unit

    # -- Newton's method ----------------------------------------------------------------------------------------
    def _equations(self, merit: MeritFunction, point: Point, value: float, free: sp.csc_matrix | None = None):
        """Bordered equations still without the last row, and the last column: change of forces per meter of the parameter."""
        k, _, _ = merit.scaled(point)
        stiffness = abs(k.diagonal()).max(initial=0.0) or 1.0
        force, gap = self.family.slope(merit, point, value, self.to)
        rows, still = self.standing
        constraints = sp.csr_matrix((0, k.shape[0]))
        if point.tangent is not None:
            constraints, gap = point.tangent.slopes[rows], gap[rows]
        bordered = Bordered(merit, point, constraints, still if free is None else free, stiffness)
        return bordered, (force * self.unit / stiffness)[:, None], (gap * self.unit)[:, None]

    def place(self, state: State, value: float, before: tuple[np.ndarray, float]) -> Place:
        """All data of an equilibrium; the curve goes on in the direction ``before``."""
        merit = self.family.at(value)
        point = merit.evaluate(state, 2)
        bordered, column, gap = self._equations(merit, point, value)
        bordered.factorized(column, gap, *self._row(*before))
        x, _, last = bordered.solve(np.zeros(bordered.n), np.zeros(bordered.m), np.ones(1))
        slope = float(last[0]) * self.unit
        length = self.length(x, slope)
        return Place(state, value, merit, point, x / length, slope / length)

    def _row(self, x: np.ndarray, dp: float) -> tuple[np.ndarray, np.ndarray]:
        """The row that measures the length of a step along another one."""
        length = self.length(x, dp)
        return (self.reach**2 * x / (self._bodies * length))[None, :], np.array([[dp / (self.unit * length)]])

    def reached(self, place: Place, length: float, still: np.ndarray | None = None) -> tuple[Place, float, float]:
        """The equilibrium a length (m) further along the curve, and its distances (m) from the tangent and along it.

        Motions ``still`` (n, c) count as free and do not move: at a branch point there are several ways on, and this one is
        without them.  Raises :class:`Lost` if Newton's method does not get there.
        """
        x, dp = self.ahead(place)
        bent, bent_dp = (0.5 * length**2 * part for part in (self._bend if still is None else (0.0 * x, 0.0)))
        standing = rows, free = self.standing
        if still is not None:
            self.standing = rows, sp.hstack([free, sp.csc_matrix(still)], format="csc")
        try:
            return self.corrected(place, length * x + bent, length * dp + bent_dp, (x, dp), (x, dp))
        finally:
            self.standing = standing

    def arrived(self, place: Place) -> tuple[Place, float, float]:
        """The same for the equilibrium at which the parameter has its last value."""
        x, dp = self.ahead(place)
        left = self.to - place.value
        step = left / dp * x + 0.5 * (left / dp) ** 2 * self._bend[0], left, (np.zeros(len(x)), 1.0), (x, dp)
        standing = rows, _ = self.standing
        try:
            found, beside, length = self.corrected(place, *step)
        except Lost:
            # without loads more motions may be free than before
            state = place.merit.moved(place.state, step[0])
            merit = self.family.at(self.to)
            there = replace(place, state=state, value=self.to, merit=merit, point=merit.evaluate(state, 2))
            self.standing = rows, self.free_at(there)
            found, beside, length = self.corrected(place, *step)
        finally:
            self.standing = standing
        return replace(found, value=self.to), beside, length

    def corrected(self, place, x, dp, across, ahead) -> tuple[Place, float, float]:
        """The equilibrium after a step from a place, by corrections orthogonal to ``across``; :class:`Lost` if there is none."""
        try:
            return self._newton(place, x, dp, across, ahead)
        # parameters out of bounds, equations without a solution
        except (ModelError, RuntimeError) as wrong:
            raise Lost from wrong

    def _newton(self, place, x, dp, across, ahead) -> tuple[Place, float, float]:
        step = self.farthest(x)
        state, value = place.merit.moved(place.state, x), place.value + dp
        row = self._row(*across)
        total, total_dp, before = np.zeros(len(x)), 0.0, np.inf
        for _ in range(_CORRECTIONS):
            merit = self.family.at(value)
            point = merit.evaluate(state, 2)
            if not np.isfinite(point.energy):
                raise Lost
            bordered, column, gap = self._equations(merit, point, value)
            bordered.factorized(column, gap, *row)
            apart = point.apart[self.standing[0]]
            c, _, last = bordered.solve(-merit.pull(point) / bordered.stiffness, -apart, np.zeros(1))
            change = float(last[0]) * self.unit
            size = self.farthest(c)
            if not size <= 2.0 * step + 1e-3 * self.size or size > 2.0 * before:
                raise Lost
            state, value = merit.moved(state, c), value + change
            total, total_dp = total + c, total_dp + change
            # quadratic convergence: the next one would be no more than this
            following = size * min(size / before, 1.0) if before < np.inf else size
            if is_last(following, size, before, self.size):
                break
            before = size
        else:
            raise Lost
        found = self.place(state, value, ahead)
        self._refuse_unbalanced(found)
        along = self.product(x + total, dp + total_dp, *ahead) / self.length(*ahead)
        total, total_dp = x + total - along * ahead[0], dp + total_dp - along * ahead[1]
        return found, self.length(total, total_dp), along

    def _refuse_unbalanced(self, place: Place) -> None:
        """Check conditions that are not in the equations: dependent constraints, and balance along free motions."""
        merit, point = place.merit, place.point
        if np.abs(point.apart).max(initial=0.0) > OPEN * merit.outermost:
            raise Lost
        k, pull, load = merit.scaled(point)
        stiffness = abs(k.diagonal()).max(initial=0.0)
        left = np.abs(self.standing[1].T @ pull).max(initial=0.0)
        if left > RESIDUAL * load.max(initial=0.0) + AT_REST * stiffness * self.size:
            raise Lost

    def singular_between(self, one: Place, two: Place) -> np.ndarray:
        """The motions (n, c) of unit length that have no stiffness at c places between two; forces need no energy.

        Let A and B be the matrices of :class:`Bordered` at both places.  ``A + s (B - A)`` is singular if ``A^-1 (A - B)`` has
        the real eigenvalue 1/s.  The number of such s is odd if ``det A det B`` is negative, so a single one is never missed.
        """
        n = len(one.ahead)
        first, last = (self._equations(place.merit, place.point, place.value)[0] for place in (one, two))
        last.stiffness = first.stiffness
        before, after = first.matrix(), last.matrix()
        change, size = (before - after).tocsc(), before.shape[0]
        try:
            if size <= SIZES.dense:
                w, v = sl.eig(sl.solve(before.toarray(), change.toarray()))
            else:
                lu = splu(before)
                operator = LinearOperator((size, size), matvec=lambda x: lu.solve(change @ np.ravel(x)), dtype=float)
                w, v = _of_largest_real_part(operator)
        except (RuntimeError, sl.LinAlgError) as wrong:
            raise Lost from wrong
        between = (w.real > 1.0) & (np.abs(w.imag) <= _PAIR * np.abs(w))
        motions = np.where(w.imag < 0.0, v.imag, v.real)[
            :n, between
        ]  # the second vector of a pair spans the same plane
        return motions / np.linalg.norm(motions, axis=0)

    def curvatures(self, place: Place, motions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Curvatures (c,) N/m, ascending, for motions (n, c) near instability, and the motions to which they belong.

        A curvature is the force along a motion per unit of it (W. Govaerts, "Numerical Methods for Bifurcations of Dynamical
        Equilibria" (2000), chapter 3).  It passes zero smoothly where an eigenvalue of the stiffness does.
        """
        try:
            bordered, _, _ = self._equations(place.merit, place.point, place.value)
            c = motions.shape[1]
            bordered.factorized(motions, np.zeros((bordered.m, c)), motions.T, np.zeros((c, c)))
            x, _, last = bordered.solve(np.zeros((bordered.n, c)), np.zeros((bordered.m, c)), np.eye(c))
        except RuntimeError as wrong:
            raise Lost from wrong
        if place.merit.topology.conservative:
            w, v = eigen(-0.5 * bordered.stiffness * (last + last.T))
        else:
            w, v = sl.eig(-bordered.stiffness * last)
            order = np.argsort(w.real)
            w, v = w[order], v.real[:, order]
        return w, x @ v


def _of_largest_real_part(operator: LinearOperator) -> tuple[np.ndarray, np.ndarray]:
    """A few eigenvalues (k,) with the largest real parts, and their vectors (n, k)."""
    try:
        return eigs(operator, k=_FEW, which="LR", v0=start_vector(operator.shape[0]))
    except ArpackNoConvergence as some:
        return some.eigenvalues, some.eigenvectors
