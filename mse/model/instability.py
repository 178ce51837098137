"""The first instability of a loaded system: buckling, snapping through, tipping over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, eigsh

from ..arguments import number
from ..blas import one_thread
from ..dense import eigen
from ..display import Result
from ..errors import ModelError, WorkingPointError
from ..sparse import DENSE_LIMIT, Factor, add_diagonal, start_vector
from .following import Following
from .scales import loads_on_coordinates
from .stability import Motion, describe
from .working_point import WorkingPoint

if TYPE_CHECKING:
    from .system import MSystem

# of the loads: near none, but far enough to tell how the stiffness changes and to stand out of rounding
_FIRST_LOADS = (1e-2, 1e-1, 1.0)
_STEPS = 8  # steps from no load to where the tangent at no load puts the instability
_FARTHEST = 0.01  # of the model's size, in one step
_PRECISION = 1e-10  # of the load factor
_NO_FORCE = 1e-6  # share of the loads along the motion below which it is a bifurcation


@dataclass(frozen=True, repr=False, eq=False)
class Instability(Result):
    """Where a system first becomes unstable as all its weights and loads grow together; see :meth:`MSystem.find_instability`.

    ``load_factor`` times the loads; ``kind`` is "bifurcation", where another branch begins (a straight column), or "limit
    point", where the loads have their maximum (a shallow arch); ``motion`` is how it gives way, ``working_point`` the last
    stable one before it.
    """

    name: str
    load_factor: float
    kind: str
    motion: Motion
    working_point: WorkingPoint

    def table(self) -> str:
        return (
            f"{self.name}: unstable from {self.load_factor:.9g} times its loads on, a {self.kind}; it gives way along "
            f"{self.motion.name}"
        )


@one_thread
def find_instability(system: MSystem, up_to: float) -> Instability | None:
    """See :meth:`MSystem.find_instability`."""
    up_to = number(system.label, "up_to", up_to, above=0.0)
    path = _Path(system)
    for el in path.point.topology.elements:
        if not el.obj.conservative:
            raise ModelError(
                f"{el.obj.label}: it has no energy, so stability cannot be read from the stiffness; expected loads with one"
            )
    if path.lowest < 0.0:
        raise WorkingPointError(
            f"{system.label}: unstable without any loads already, along {path.motion().name}; expected a system that is stable "
            "at rest", path.point,
        )  # fmt: skip
    step = min(min(path.tangent_estimate(), up_to) / _STEPS, path.longest_step())
    lost = False  # whether a step has missed the branch: a limit point may be near
    while path.load < up_to:
        wp = path.at(min(path.load + step, up_to))
        if wp is None:
            step, lost = 0.25 * step, True
        elif _lowest(wp, path.neutral)[0] < 0.0:
            return path.bifurcation(wp.load)
        else:
            path.accept(wp)
            step *= 1.5
        step = min(step, path.longest_step())
        if lost:
            left = path.distance_to_limit()
            if min(left, step) < _PRECISION * path.load:
                return path.found(path.load + (left if np.isfinite(left) else 0.0), path.point, path.shape)
            step = min(step, 0.9 * left)
    return None


class _Path:
    """The stable equilibrium under growing load, followed from no load."""

    def __init__(self, system: MSystem):
        self.system = system
        self.load = 0.0
        self.point = system.find_working_point(seek="nearest", load=0.0)
        self.neutral = self.point.free  # before any load: what is free later may be about to buckle
        self.lowest, self.shape = _lowest(self.point, self.neutral)
        self._rate = 0.0  # how far the system moves per unit of load, m
        self._before: tuple[float, float] | None = None

    def motion(self, wp: WorkingPoint | None = None, shape: np.ndarray | None = None) -> Motion:
        wp, shape = wp or self.point, self.shape if shape is None else shape
        x = shape / wp.scale
        x[np.abs(x) < 1e-9 * np.abs(x).max()] = 0.0
        return Motion.of(describe(x, wp.coordinate_names, wp.scale), x, 0.0)

    def tangent_estimate(self) -> float:
        """Load factor at which ``K0 + factor dK/dload`` becomes singular; infinite where it does not."""
        for load in _FIRST_LOADS:
            first = self.system.find_working_point(
                seek="nearest", load=load, start=self.point, throw=load == _FIRST_LOADS[-1]
            )
            if first.converged:
                break
        self._rate = float(np.linalg.norm(first.state.o - self.point.state.o)) / load
        inverse = sp.diags(1.0 / self.point.scale, format="csc")
        k0 = (inverse @ self.point.stiffness @ inverse).tocsc()
        change = (inverse @ (first.stiffness - self.point.stiffness) @ inverse).tocsc() / load
        shift = 1e-13 * abs(k0.diagonal()).max(initial=0.0)
        k0 = add_diagonal(k0, np.full(k0.shape[0], shift))
        if k0.shape[0] <= DENSE_LIMIT:
            z = _basis(self.point)
            if not z.shape[1]:
                return np.inf
            w, v = eigen(z.T @ k0.toarray() @ z)
            held = w > 1e-11 * max(w[-1], 0.0)
            half = z @ (v[:, held] / np.sqrt(w[held]))
            inner = -half.T @ change.toarray() @ half
            if not len(inner):
                return np.inf
            most = float(np.linalg.eigvalsh(0.5 * (inner + inner.T))[-1])
        elif self.point.tangent is not None:
            return np.inf  # the steps then go by what moves
        else:
            factor = Factor(k0)
            solve = LinearOperator(k0.shape, matvec=factor.solve, dtype=float)
            most = float(
                eigsh(-change, 1, k0, which="LA", Minv=solve, v0=start_vector(k0.shape[0]), return_eigenvectors=False)[
                    0
                ]
            )
        return 1.0 / most if most > 0.0 else np.inf

    def at(self, load: float) -> WorkingPoint | None:
        """The equilibrium at another load, on the same branch; None where Newton's method does not get there at once."""
        search = Following(self.point.topology, self.point.assembly, load=load, start=self.point)
        for _ in search:
            pass
        return search.result() if search.converged else None

    def accept(self, wp: WorkingPoint) -> None:
        """Go on to a stable equilibrium."""
        self._before = (self.load, self.lowest)
        self._rate = float(np.linalg.norm(wp.state.o - self.point.state.o)) / (wp.load - self.load)
        self.load, self.point = wp.load, wp
        self.lowest, self.shape = _lowest(wp, self.neutral)

    def longest_step(self) -> float:
        """A step in load that moves the system by a small share of its size."""
        return _FARTHEST * self.point.size / max(self._rate, 1e-300)

    def distance_to_limit(self) -> float:
        """Load left to a limit point, towards which the square of the lowest curvature falls in proportion."""
        if self._before is None or not self.lowest < self._before[1]:
            return np.inf
        load, lowest = self._before
        return (self.load - load) * self.lowest**2 / (lowest**2 - self.lowest**2)

    def bifurcation(self, beyond: float) -> Instability:
        """The branch goes on unstable, so the lowest curvature crosses zero smoothly."""
        found: dict[float, tuple[WorkingPoint, np.ndarray]] = {}

        def curvature(load):
            wp = self.at(load) or self.point
            value, shape = _lowest(wp, self.neutral)
            found[load] = wp, shape
            return value

        critical = brentq(curvature, self.load, beyond, xtol=_PRECISION * beyond, rtol=1e-14)
        return self.found(critical, self.point, found[min(found, key=lambda x: abs(x - critical))][1])

    def found(self, load: float, wp: WorkingPoint, shape: np.ndarray) -> Instability:
        push = loads_on_coordinates(wp.topology, wp.assembly, wp.state) / wp.scale
        along = abs(push @ shape) / (np.linalg.norm(push) * np.linalg.norm(shape) + 1e-300)
        kind = "bifurcation" if along < _NO_FORCE else "limit point"
        return Instability(self.system.name, float(load), kind, self.motion(wp, shape), wp)


def _lowest(wp: WorkingPoint, neutral: tuple[Motion, ...]) -> tuple[float, np.ndarray]:
    """The lowest eigenvalue of the scaled stiffness and its vector (n,), but for motions that nothing ever held."""
    inverse = sp.diags(1.0 / wp.scale, format="csc")
    k = (inverse @ wp.stiffness @ inverse).tocsc()
    n = k.shape[0]
    if n <= DENSE_LIMIT:
        z = _basis(wp)
        if not z.shape[1]:
            return np.inf, np.zeros(n)
        a = z.T @ k.toarray() @ z
        free = z.T @ np.array([m.vector * wp.scale for m in neutral]).reshape(len(neutral), n).T
        if neutral:
            # what nothing holds neither lets go: out of the way
            q = np.linalg.qr(free)[0]
            a += (10.0 * np.abs(a).max(initial=0.0) + 1.0) * q @ q.T
        w, v = eigen(a)
        return float(w[0]), z @ v[:, 0]

    def factorised(shift):
        shifted = add_diagonal(k, np.full(n, -shift))
        return Factor(shifted) if wp.tangent is None else wp.tangent.factor(shifted)

    top = abs(k.diagonal()).max()
    shift = -1e-9 * top
    while (factor := factorised(shift)).negative:
        shift *= 10.0
    solve = LinearOperator((n, n), matvec=factor.solve, dtype=float)
    start = start_vector(n) if wp.tangent is None else wp.tangent.along(start_vector(n))
    w, v = eigsh(k, 1, sigma=shift, which="LM", OPinv=solve, v0=start)
    return float(w[0]), v[:, 0]


def _basis(wp: WorkingPoint) -> np.ndarray:
    """Orthonormal motions (n, f) that joints allow, all where there are none."""
    return np.eye(len(wp.scale)) if wp.tangent is None else wp.tangent.basis
