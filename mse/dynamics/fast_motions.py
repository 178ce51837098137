"""The fastest vibration and the fastest decay about a state: what they are, whose they are, and whether they are at rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from ..errors import ModelError
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..numerics.factor import ConstrainedFactor
from ..numerics.options import SIZES
from .accelerations import Equations
from .constrained import heavy_factor
from .jacobian import Jacobian
from .sparse_jacobian import sparse_matrices

# Of the largest eigenvalue: what matters is whether a rate is above a limit that may be twice as large (methods.py).  With a
# hundredth and with ten times of it tests/dynamics/test_constrained.py passes.
_NEAR = 1e-2


class Fast(NamedTuple):
    """A motion by its ``rate`` (rad/s, or 1/s of a decay), the path of the object that gives most of it, and a coordinate."""

    rate: float
    owner: str
    coordinate: str
    decays: bool

    @property
    def words(self) -> str:
        if self.decays:
            return f"{self.owner} damps {self.coordinate} in {1.0 / self.rate:.3g} s"
        return f"{self.owner} lets {self.coordinate} vibrate at {self.rate / (2.0 * np.pi):.3g} Hz"


class Known(NamedTuple):
    """What is known of a system: its fastest motion, None if nothing has mass and stiffness or damping."""

    fastest: Fast | None


def by_sparse_matrices(equations: Equations, here: Evaluation, v: np.ndarray) -> Known | None:
    """What is known about a state of a large system at velocities v (n,).

    None where it takes dense matrices to tell: if something that constraints allow has no mass, or with circuits.
    """
    e = equations
    if e.whole is not None:
        return None
    by = sp.diags(1.0 / e.measure.metric)
    mass, damping, stiffness = ((by @ a @ by).tocsc() for a in sparse_matrices(e, here, v))
    slopes, _ = e.stacked(here, e.flow_rows(here, v)[0], sparse=True)
    # what nothing acts on, such as turns of points, may have any mass
    idle = sum(np.asarray(abs(a).sum(axis=0)).ravel() for a in (mass, damping, stiffness, slopes)) == 0.0
    mass = (mass + sp.diags(idle.astype(float))).tocsc()
    factor = heavy_factor(mass, slopes)
    if factor is None:
        return None
    found = _largest(stiffness + stiffness.T, mass, factor)
    rate, x, decays = np.sqrt(max(found[0], 0.0)), found[1], False
    # without dampers it is mass that changes with the motion
    if any(part.has_damping for part in e.parts):
        found = _largest(damping + damping.T, mass, factor)
        if found[0] >= rate:
            (rate, x), decays = found, True
    return Known(_named(e, here, float(rate), x, decays))


def _largest(twice: sp.csc_matrix, mass: sp.csc_matrix, factor: ConstrainedFactor) -> tuple[float, np.ndarray]:
    """The largest eigenvalue, to a hundredth, of half a matrix and M on the space of a factor of M, and its motion (n,)."""
    n = mass.shape[0]
    begin = factor.solve(np.random.default_rng(0).standard_normal(n))
    if not abs(twice).max():
        return 0.0, begin

    def pull(x: np.ndarray) -> np.ndarray:
        # of the part of x in the space: ARPACK begins anew outside of it where the space has few dimensions
        return mass @ factor.solve(0.5 * twice @ factor.solve(mass @ x))

    acting, inverse = (LinearOperator((n, n), f, dtype=float) for f in (pull, factor.solve))
    values, vectors = eigsh(acting, 1, mass, which="LA", v0=begin, Minv=inverse, tol=_NEAR)
    return float(values[0]), vectors[:, 0]


def _named(e: Equations, here: Evaluation, rate: float, x: np.ndarray, decays: bool) -> Fast | None:
    """A motion with measured displacements x (n,) by name; None for one without rate."""
    if rate == 0.0:
        return None
    name = e.topology.coordinate_names[int(np.abs(x).argmax())]
    moved = x / e.measure.metric
    return Fast(rate, _damped_by(e, here, moved) if decays else _held_by(e, here, moved), name, decays)


class FastMotions:
    """Motions with mass about a state at velocities v (n,), each by one matrix alone, stiffness or damping, and the masses."""

    def __init__(self, equations: Equations, here: Evaluation, v: np.ndarray, matrices: Jacobian):
        self._equations, self._here, self._v = equations, here, v
        self._mass, (along, _) = matrices.mass, matrices.allowed
        squares, modes = eigh(along.T @ (matrices.stiffness + matrices.stiffness.T) @ along / 2.0)
        self._rates, self._modes = np.sqrt(np.maximum(squares, 0.0)), along @ modes
        decays, shapes = eigh(along.T @ (matrices.damping + matrices.damping.T) @ along / 2.0)
        # without dampers it is mass that changes with the motion
        damped = any(part.has_damping for part in equations.parts)
        self._decays, self._shapes = np.maximum(decays, 0.0) * damped, along @ shapes

    def fastest(self) -> Fast | None:
        """The fastest of all; None if nothing has mass and stiffness or damping."""
        best = max(self._rates.max(initial=0.0), self._decays.max(initial=0.0))
        if best == 0.0:
            return None
        decays = best == self._decays.max(initial=0.0)
        x = (self._shapes if decays else self._modes)[:, -1]
        return _named(self._equations, self._here, float(best), x, decays)

    def at_rest(self, rate: float, least: float) -> bool:
        """Whether all vibrations faster than a rate (rad/s) would move by less than a distance (m)."""
        e, metric, fast = self._equations, self._equations.measure.metric, self._rates > rate
        force = e.pull(self._here, self._v, 0.0).force
        modes, rates = self._modes[:, fast], self._rates[fast]
        offset = np.hypot(modes.T @ (force / metric) / rates**2, modes.T @ self._mass @ (metric * self._v) / rates)
        return bool(np.abs(modes * offset).max(initial=0.0) <= least)


def _held_by(e: Equations, here: Evaluation, x: np.ndarray) -> str:
    found, x = {}, np.append(x, 0.0)  # the ground last
    for g in e.assembly.groups:
        own = x[e.assembly.rows[g.number]]
        stiffness = e.assembly.evaluate(g, here.configuration, 2, summed=True)[2][:, 0]
        energies = np.einsum("ei,eij,ej->e", own, stiffness, own)
        found |= {el.path: k for el, k in zip(g.elements, energies.tolist(), strict=True)}
    return max(found, key=found.get)


def _damped_by(e: Equations, here: Evaluation, x: np.ndarray) -> str:
    found, at = {}, here.configuration
    for part in e.parts:
        if part.has_damping:
            own = e._own(part.group, x, e.frame_motions(at, x)[0])
            power = np.einsum("ei,ei->e", sum(part.velocity_forces(at, own)), own)
            found |= {el.path: -p for el, p in zip(part.group.elements, power.tolist(), strict=True)}
    return max(found, key=found.get)


def fastest_motion(equations: Equations, state: State, v: np.ndarray, time: float) -> Fast | None:
    """The fastest motion about a state; None where there is none, or no number says so."""
    try:
        here = equations.evaluation(state, time)
        known = by_sparse_matrices(equations, here, v) if equations.size > SIZES.dense else None
        if known is not None:
            return known.fastest
        matrices = Jacobian(equations, here, v)
        return FastMotions(equations, here, v, matrices).fastest()
    except (ModelError, LinAlgError, ValueError):
        return None
