"""Transition matrices: how small changes at one time of a motion have grown at another.

Small changes of joint coordinates are y, of poses ``x = N y``, where N follows from the joints at each time.  They obey
``N^T (M x'' + Lambda x' + K x) = 0`` with the matrices of the linear model at that time.  In each step of the motion x is a
polynomial through its values at Chebyshev's points, which gives x' and x'' (Trefethen, Spectral Methods in MATLAB, 2000, ch. 6):
no derivative of a matrix is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..display import Table
from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..numerics.blas_threads import one_thread
from ..numerics.precision import DEPENDENT
from ..results import Result
from .methods import stepper
from .moving import Moving

if TYPE_CHECKING:
    from .trajectory import Trajectory

_POINTS = 10  # in each step, whose own order is 8: with 8 and 12 tests/dynamics/test_transition.py passes


class TransitionMatrix(Result):
    """``(y, y') at t1 = matrix (y, y') at t0`` for small changes y of joint coordinates.

    Made by :meth:`.Trajectory.transition_matrix`.

    Attributes
    ----------
    name : str
        Name of the system.
    coordinates : tuple of str, (k,)
        Names of the coordinates of joints.
    start, end : float, s
        Times t0 and t1.
    matrix : ndarray, (2 k, 2 k)
        Coordinates come first, then their rates.
    """

    name: str
    coordinates: tuple[str, ...]
    start: float
    end: float
    matrix: np.ndarray

    @property
    def multipliers(self) -> np.ndarray:
        """Eigenvalues (2 k,), by size: those of a period are Floquet's, beyond 1 where changes grow from period to period."""
        found = np.linalg.eigvals(self.matrix)
        return found[np.argsort(-np.abs(found), kind="stable")]

    def table(self) -> Table:
        states = [*self.coordinates, *(f"{name}'" for name in self.coordinates)]
        rows = [(state, *row) for state, row in zip(states, self.matrix.tolist(), strict=True)]
        return Table(f"{self.name}: transition from {self.start:g} to {self.end:g} s", ("change of", *states), rows)


@one_thread
def transition_matrix(motion: Trajectory, start: float, end: float) -> TransitionMatrix:
    """See :meth:`.Trajectory.transition_matrix`."""
    e = motion._equations
    if e.flows:
        label = e.flows[0].objects[0].label
        raise ModelError(
            f"{label}: it constrains velocities, for which there are no transition matrices yet; expected constraints of "
            "positions; take small changes of the initial values"
        )
    maker = stepper(e, motion.rtol, motion.method)
    points, first, second = _chebyshev()
    chosen, matrix = None, None
    for k, begin in enumerate(motion._begins):
        until = motion._begins[k + 1].time if k + 1 < len(motion._begins) else motion.time[-1]
        low, high = max(start, begin.time), min(end, until)
        if high <= low:
            continue
        step, length = maker.step(begin), high - low
        moments = [step.at(low + length * point) for point in points]
        states = [motion._evaluated(moment) for moment in moments]
        found = [_allowed(motion, here) for here in states]
        if chosen is None:
            chosen = _independent(motion, *found[0])
            matrix = np.eye(2 * len(chosen))
        motions = [basis @ np.linalg.inv(slopes[chosen]) for basis, slopes in found]
        # at both ends values and rates take the place of equations
        inside = zip(states[1:-1], moments[1:-1], strict=True)
        matrices = [Moving.at(e, here, moment).matrices() for here, moment in inside]
        matrix = _over(motions, matrices, first / length, second / length**2) @ matrix
    names = tuple(motion._coordinates.names[k] for k in chosen)
    return TransitionMatrix(motion.name, names, start, end, matrix)


def _chebyshev() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (p,) from 0 to 1, and matrices of the first and second derivatives of the polynomials through them."""
    k = np.arange(_POINTS)
    points = 0.5 * (1.0 - np.cos(np.pi * k / (_POINTS - 1)))
    c = np.where((k == 0) | (k == _POINTS - 1), 2.0, 1.0) * (-1.0) ** k
    d = np.outer(c, 1.0 / c) / (points[:, None] - points + np.eye(_POINTS))
    d -= np.diag(d.sum(axis=1))
    return points, d, d @ d


def _allowed(motion: Trajectory, here: Evaluation) -> tuple[np.ndarray, np.ndarray]:
    """A basis (n, f) of the motions that joints allow, and slopes (c, f) of joint coordinates by it."""
    basis = motion._equations.allowed(here) / motion._equations.measure.metric[:, None]
    return basis, motion._coordinates.slopes(here) @ basis


def _independent(motion: Trajectory, basis: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Numbers of the joint coordinates that move; ModelError where they are not as many as the freedoms."""
    moving = np.flatnonzero(np.abs(slopes).max(axis=1, initial=0.0) > DEPENDENT * np.abs(slopes).max(initial=0.0))
    if len(moving) != basis.shape[1] or np.linalg.matrix_rank(slopes[moving], rtol=DEPENDENT) < len(moving):
        raise ModelError(
            f"{motion.name}: {len(moving)} coordinates of joints move, of {basis.shape[1]} freedoms; expected coordinates that "
            "determine all poses, and are independent, for a transition matrix; give bodies without joints a Joint to the "
            "ground, and leave loops open"
        )
    return moving


def _over(motions: list[np.ndarray], matrices: list[np.ndarray], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The transition matrix (2 k, 2 k) of one interval, from N (n, k) at all points and the matrices at those inside."""
    k, last = motions[0].shape[1], len(motions) - 1
    system = np.zeros((len(motions) * k,) * 2)
    every = np.hstack(motions)
    for i, (m, lam, stiffness) in enumerate(matrices, 1):
        block = (m @ every) * np.repeat(second[i], k) + (lam @ every) * np.repeat(first[i], k)
        block[:, i * k : i * k + k] += stiffness @ motions[i]
        system[i * k : i * k + k] = motions[i].T @ block
    # in the place of the first and the last point: the values and the rates at the beginning
    system[:k] = np.eye(k, len(system))
    system[last * k :] = np.kron(first[:1], np.eye(k))
    right = np.zeros((len(system), 2 * k))
    right[:k, :k] = right[last * k :, k:] = np.eye(k)
    values = np.linalg.solve(system, right)
    return np.vstack([values[last * k :], np.kron(first[-1:], np.eye(k)) @ values])
