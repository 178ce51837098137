"""Matrices of Newton's method for implicit steps: dynamic stiffnesses ``s^2 M + s C + K`` with the rows of constraints.

Unknown are changes of positions x, velocities v, and multipliers l of velocity constraints and m of position constraints, in

    ``s x - W x - v - G' m = r1``,  ``(s M + C) v + K x + A' l = r2``,  ``G x = r3``,  ``A v + B x = r4``,

with the slopes G of constraints of positions, A of these and of flows, and B of ``A v``.  W is there because rates of turns are
no angular velocities.  Eliminating v leaves the dynamic stiffness ``(s M + C)(s - W) + K`` with its constraints.  All numbers are
measured: turns count by the size of the system.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space, qr
from scipy.linalg.lapack import dgetrf, dgetrs, zgetrf, zgetrs

from ..kernels.masses import cross_matrices
from ..kernels.motions import cross
from ..model.configuration import Configuration
from ..model.evaluation import Evaluation
from ..numerics.precision import DEPENDENT, NOTHING, left_by_rounding
from .accelerations import Equations
from .inertia import GroupInertia
from .moving import Carried, Frames, add, frames_moving
from .slopes import Slopes, of_inertia, of_velocities, slopes

# of the elements of a class: places (E, k) of their coordinates, and mass, damping and stiffness (E, k, k)
Blocks = Iterator[tuple[np.ndarray, tuple[np.ndarray, ...]]]


class Unknowns(NamedTuple):
    """Positions and velocities (n,), multipliers of velocity constraints (k,) and of position constraints (p,)."""

    x: np.ndarray
    v: np.ndarray
    velocity: np.ndarray
    position: np.ndarray


class Jacobian:
    """Slopes of the equations of motion at one state: mass M, damping C and stiffness K (n, n), and independent constraints.

    ``held`` numbers the constraints of positions that do not depend on others, ``rolling`` the flows; ``rows`` (k, n) are the
    measured slopes A of both, those of positions first.
    """

    def __init__(self, equations: Equations, here: Evaluation, v: np.ndarray):
        self._equations, self._here, self._v = equations, here, v
        e, self.size = equations, equations.size
        self._follows = np.zeros(e.size, dtype=bool)
        self._follows[e.size - e.topology.internal :] = np.logical_or(*e.assembly.variables())
        self.turning = 0.5 * _turns(e, v)
        self._still = _of_velocities(e, here, v)
        self._put_matrices(np.zeros(e.size))
        flows, _ = e.flow_rows(here, v)
        rows, self.lengths = e.stacked(here, flows)
        m = e.assembly.constraint_count
        self.held = _independent(rows[:m])
        first = rows[self.held]
        basis = np.linalg.qr(first.T)[0]
        self.rolling = m + _independent(rows[m:] - rows[m:] @ basis @ basis.T)
        self.chosen = np.concatenate([self.held, self.rolling])
        self.rows = rows[self.chosen]
        self.turned = np.zeros_like(self.rows)  # slopes of A v by positions

    def _put_matrices(self, a: np.ndarray) -> None:
        e, metric = self._equations, self._equations.measure.metric
        both = np.outer(metric, metric)
        self.mass, self.damping, self.stiffness = (_of_inertia(e, self._here, self._v, a) + self._still) / both

    def accelerate(self, a: np.ndarray, velocity: np.ndarray) -> None:
        """Add what measured accelerations (n,) and multipliers of velocity constraints (k,) change in the slopes."""
        e, metric, p = self._equations, self._equations.measure.metric, len(self.held)
        self._put_matrices(a / metric)
        if p:
            multipliers = np.zeros(e.assembly.constraint_count)
            multipliers[self.held] = velocity[:p] / self.lengths[self.held]
            if e.whole is not None and e.whole.binds:
                reactions, turned = e.whole.reactions(self._here.state, self._v, multipliers)
            else:
                reactions = e.assembly.reaction_total(self._here.configuration, multipliers).toarray()
                turned = _turned(e, self._here, self._v)
            self.turned[:p] = turned[self.held] / self.lengths[self.held, None] / metric
            self.stiffness += reactions / np.outer(metric, metric)

    def rows_at(self, here: Evaluation, v: np.ndarray) -> np.ndarray:
        """:attr:`rows` at another state, as long as they are there."""
        if not len(self.lengths):
            return self.rows
        e = self._equations
        return (e.rows(here, v) / self.lengths[:, None] / e.measure.metric)[self.chosen]

    def pulled(self, force: np.ndarray) -> np.ndarray:
        """Measured accelerations (n,) of what has mass, by measured forces (n,)."""
        heavy, _ = self.allowed
        return heavy @ (heavy.T @ force)

    @property
    def massless(self) -> np.ndarray:
        """Which coordinates (n,) carry no mass."""
        size = np.abs(self.mass).max(axis=1)
        return size <= NOTHING * size.max(initial=0.0)

    @cached_property
    def _basis(self) -> np.ndarray:
        """Measured motions (n, f), orthonormal, that constraints allow."""
        return np.linalg.svd(self.rows)[2][len(self.rows) :].T if len(self.rows) else np.eye(self.size)

    @cached_property
    def allowed(self) -> tuple[np.ndarray, np.ndarray]:
        """Measured motions that constraints allow, in columns: motions of unit mass (n, k), and motions without mass (n, l)."""
        values, vectors = np.linalg.eigh(self._basis.T @ self.mass @ self._basis)
        heavy = values > left_by_rounding(len(values)) * values.max(initial=0.0)
        return self._basis @ (vectors[:, heavy] / np.sqrt(values[heavy])), self._basis @ vectors[:, ~heavy]

    @cached_property
    def bare(self) -> np.ndarray:
        """Measured motions (n, k), orthonormal, that constraints allow, and that neither mass nor damping nor stiffness feels."""
        acting = [a / size for a in (self.mass, self.damping, self.stiffness) if (size := np.abs(a).max(initial=0.0))]
        if not acting or not self._basis.shape[1]:
            return self._basis
        both = np.vstack([*acting, *(a.T for a in acting)])
        return self._basis @ null_space(both @ self._basis, rcond=left_by_rounding(self.size))

    def solver(self, s: complex) -> Callable[..., Unknowns]:
        """What solves the equations above at one s, for right sides r1, r2 (n,), r3 (p,) and r4 (k,)."""
        n, k, p = self.size, len(self.rows), len(self.held)
        a, g = self.rows, self.rows[:p]
        inner = s * self.mass + self.damping
        by_x = s * np.eye(n) - self.turning
        matrix = np.zeros((n + k + p, n + k + p), dtype=complex if np.iscomplexobj(s) else float, order="F")
        own = inner @ by_x + self.stiffness
        # what neither mass nor force moves stays where it is; equations of efforts and states may have no diagonal
        felt = np.maximum(np.abs(own).max(axis=0, initial=0.0), np.abs(own).max(axis=1, initial=0.0))
        felt = felt if felt.all() else self._beside(felt)
        stays = NOTHING * np.where(felt > 0.0, felt, felt.max(initial=0.0))
        own[np.diag_indices(n)] += np.where(self._follows, 0.0, stays)
        if self._equations.undecided:  # otherwise rounding of forces along it would move it
            own += np.abs(own).max() * (self.bare @ self.bare.T)
        matrix[:n, :n] = own
        matrix[:n, n : n + k] = a.T
        matrix[:n, n + k :] = -inner @ g.T
        matrix[n : n + p, :n] = g
        matrix[n + p :, :n] = a @ by_x + self.turned
        matrix[n + p :, n + k :] = -a @ g.T
        factorize, substitute = (zgetrf, zgetrs) if np.iscomplexobj(matrix) else (dgetrf, dgetrs)
        factor, pivots, _ = factorize(matrix, overwrite_a=True)

        def solve(r1: np.ndarray, r2: np.ndarray, r3: np.ndarray, r4: np.ndarray) -> Unknowns:
            found, _ = substitute(factor, pivots, np.concatenate([r2 + inner @ r1, r3, r4 + a @ r1]))
            x, velocity, position = found[:n], found[n : n + k], found[n + k :]
            return Unknowns(x, by_x @ x - g.T @ position - r1, velocity, position)

        return solve

    def _beside(self, felt: np.ndarray) -> np.ndarray:
        """Sizes (n,) of forces, of coordinates without any, such as charges of sources, those of what rows tie them to."""
        tied = np.abs(self.rows) > 0.0
        for _ in range(len(self.rows)):
            of_rows = np.where(tied, felt, 0.0).max(axis=1, initial=0.0)
            found = np.where(felt > 0.0, felt, np.where(tied, of_rows[:, None], 0.0).max(axis=0, initial=0.0))
            if np.array_equal(found, felt):
                break
            felt = found
        return felt


def _independent(rows: np.ndarray) -> np.ndarray:
    """Numbers, ascending, of rows (m, n) that do not depend on each other."""
    if not rows.size:
        return np.zeros(0, dtype=int)
    _, triangle, order = qr(rows.T, mode="economic", pivoting=True)
    return np.sort(order[: len(triangle)][np.abs(triangle.diagonal()) > DEPENDENT])


def _turned(e: Equations, here: Evaluation, v: np.ndarray) -> np.ndarray:
    """Slopes (m, n) of ``G v`` by positions, of all constraints, at velocities along axes that do not turn."""
    # the last row is of those that joined groups fill up, the last column the ground
    out = np.zeros((e.assembly.constraint_count + 1, e.size + 1))
    for numbers, place, row in turned_rows(e, here, v):
        np.add.at(out, (numbers[:, None], place), row)
    return out[:-1, :-1]


def turned_rows(e: Equations, here: Evaluation, v: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The same element by element: numbers (E,) of constraints, places (E, k) of coordinates, and slopes (E, k) by them."""
    at, a = here.configuration, e.assembly
    moving, _ = e.frame_motions(at, v)
    for g, numbers in zip(a.bound, a.constraint_pattern.numbers, strict=True):
        own, levers, place = e._own(g, v, moving), e._levers(g, at), a._coordinates(g)
        w = moving[g.frames][:, :, 3:]
        for r in range(g.constraint_count):
            unit = np.zeros(numbers.shape)
            unit[:, r] = 1.0
            _, slopes, curvature = g.constrain(at, unit, 2)
            row = np.einsum("ei,eij->ej", own, curvature)
            for k in range(levers.shape[1]):
                d, turn = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
                # half of it is in second derivatives along axes that turn with the frame
                row[:, turn] += 0.5 * cross(slopes[:, r, turn], w[:, k])
                # a frame at lever r moves by v + w x r, where r turns
                row[:, turn] += cross(levers[:, k], row[:, d]) + cross(levers[:, k], cross(slopes[:, r, d], w[:, k]))
            yield numbers[:, r], place, row


def matrices(e: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """M, and slopes by velocities and by positions (3, n, n), of forces on the side of ``M a``."""
    return _of_inertia(e, here, v, a) + _of_velocities(e, here, v)


def _of_inertia(e: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The share (3, n, n) of forces of inertia."""
    whole = e.whole
    heavy = [part for part in e.parts if part.has_mass] if whole is None else whole.heavy
    out = np.zeros((3, e.size, e.size))
    if heavy:
        out += _along_fixed_axes(e, v, a, _summed(e, inertia_blocks(e, here, v, a, heavy)))
    return out if whole is None else out + _defined(e, here, v, a, whole.of_inertia(here.state, v, a))


def _of_velocities(e: Equations, here: Evaluation, v: np.ndarray) -> np.ndarray:
    """The share (3, n, n) of all other forces."""
    whole, at, n = e.whole, here.configuration, e.size
    parts = [part for part in e.parts if part.has_damping] if whole is None else whole.parts
    out = np.zeros((3, n, n))
    if parts:
        out += _along_fixed_axes(e, v, np.zeros(n), _summed(e, velocity_blocks(e, here, v, parts)))
    if whole is None:
        out[2] += here.total(2).stiffness.toarray()
        return out
    for g in whole.groups:
        # its powers are there with their velocities
        _, _, stiffness = e.assembly.evaluate(g, at, 2, summed=True, follower_factor=float(not whole.has_power(g)))
        add(out[2:], e.assembly.rows[g.number], stiffness[:, 0])
    out[1:] += _defined(e, here, v, np.zeros(n), whole.of_velocities(here.state, v, e.topology.gravity))
    return out


def _defined(e: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray, found: np.ndarray) -> np.ndarray:
    """What was found for all elements at once, if it is finite; otherwise an element without slopes is refused by name."""
    if not np.isfinite(found).all():
        moving, accelerated = (e.frame_motions(here.configuration, x)[0] for x in (v, a))
        for part in e.parts:
            own, faster = e._own(part.group, v, moving), e._own(part.group, a, accelerated)
            deque(slopes(part, here.configuration, own, faster), maxlen=0)
    return found


def inertia_blocks(
    e: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray, parts: Sequence[GroupInertia]
) -> Blocks:
    """Matrices of the inertia of elements."""
    at = here.configuration
    frames = frames_moving(e, at, v, a)
    for part in parts:
        own, faster = (e._own(part.group, x, moving) for x, moving in zip((v, a), frames, strict=True))
        yield _on_bodies(e, at, frames, part, of_inertia(part, at, own, faster, exact=False))


def velocity_blocks(e: Equations, here: Evaluation, v: np.ndarray, parts: Sequence[GroupInertia]) -> Blocks:
    """Matrices of dampers and other forces that depend on velocities."""
    at = here.configuration
    moving, _ = e.frame_motions(at, v)
    for part in parts:
        for own in of_velocities(part, at, e._own(part.group, v, moving), exact=False):
            yield _on_bodies(e, at, (moving, np.zeros_like(moving)), part, own)


def _on_bodies(
    e: Equations, at: Configuration, frames: Frames, part: GroupInertia, found: Slopes
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    return e._rows[e.parts.index(part)], Carried(e, part.group, at, frames).on_bodies(found)[1:]


def _summed(e: Equations, blocks: Blocks) -> np.ndarray:
    """Sums (3, n, n) over elements, on bodies whose axes turn with them."""
    total = np.zeros((3, e.size, e.size))
    for rows, three in blocks:
        add(total, rows, *three)
    return total


def _along_fixed_axes(e: Equations, v: np.ndarray, a: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The same along axes that do not turn: there velocities change by x' - W x, accelerations by x'' - W' x - W x'."""
    mass, damping, stiffness = sums
    turning = _turns(e, v)
    damping = damping + mass @ turning
    return np.stack([mass, damping, stiffness + damping @ turning + mass @ _turns(e, a)])


def _turns(e: Equations, rates: np.ndarray) -> np.ndarray:
    """``[w]x`` (n, n) of the angular rates w of bodies among rates (n,)."""
    out, count = np.zeros((e.size, e.size)), e.assembly.bodies - 1
    for b, matrix in enumerate(cross_matrices(rates[: 6 * count].reshape(-1, 6)[:, 3:])):
        turns = slice(6 * b + 3, 6 * b + 6)
        out[turns, turns] = matrix
    return out
