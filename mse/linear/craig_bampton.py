"""Condensation of finite-element matrices to interfaces and fixed-interface modes (Guyan; Craig and Bampton)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, eigsh

from ..display import Result, table
from ..elements.flexible_body import FlexibleBody
from ..errors import ModelError, UnknownNameError, nearest_name
from ..numerics.blas_threads import one_thread
from ..numerics.eigen import eigen
from ..numerics.factor import DENSE_LIMIT, Factor
from ..numerics.sparse_tools import add_diagonal, start_vector
from ..pose import Pose
from ..validation.arguments import frequencies, instance, new_name, number, refusal, whole, whole_numbers
from ..validation.arguments import names as name_list
from ..validation.matrices import refuse_indefinite, symmetric_matrix
from .independent import TransformedParts
from .linear_model import LinearModel

_SINGULAR = 1e-14  # eigenvalue of the stiffness scaled to a unit diagonal that is zero to rounding
_SUSPICIOUS = 1e-11
_MASSLESS = 1e-13  # of the largest 1/omega^2: below it a mode has no mass and no frequency
_ROUNDING = 1e-11


@dataclass(frozen=True, repr=False, eq=False)
class Reduction(Result):
    """``x = T (x_b, q)``: matrices on the boundary coordinates x_b (b,) and the modal coordinates q (m,); and what is left out.

    ``M``, ``Lambda`` (or None) and ``K`` (b + m, b + m), the boundary first in the order it was given; ``transformation`` T
    (n, b + m); ``frequencies`` (m,) Hz of the modes kept, with the boundary held, normalised to unit modal mass.

    ``omitted_frequency`` (Hz) is that of the first mode left out, infinite where none is.  ``omitted_mass`` (b,) is the modal
    effective mass left out along each boundary coordinate (kg, kg m2), ``modal_mass`` (b,) that of all modes.
    ``omitted_compliance`` G (b, b) = sum of L L^T/omega^2 over the modes left out, with L their participation.
    """

    M: np.ndarray = field(repr=False)
    Lambda: np.ndarray | None = field(repr=False)
    K: np.ndarray = field(repr=False)
    boundary: np.ndarray
    transformation: np.ndarray = field(repr=False)
    frequencies: np.ndarray
    omitted_frequency: float
    omitted_mass: np.ndarray
    modal_mass: np.ndarray
    omitted_compliance: np.ndarray = field(repr=False)

    @one_thread
    def relative_error(self, frequency: ArrayLike) -> np.ndarray:
        """``|E|/|D|``, bound on the error of the dynamic stiffness of the boundary at ``frequency`` (Hz); same shape.

        ``D = K_b - w^2 M_b - w^4 sum L L^T/(w_i^2 - w^2)`` over the modes kept, and of those left out the sum is at most
        ``E = w^4 G/(1 - w^2/w_o^2)``, exact for w -> 0; 2-norms after scaling each coordinate by the square root of
        ``K_b + w^2 M_b`` on the diagonal.  Infinite from the first omitted frequency on; without damping.
        """
        f = frequencies("Reduction", frequency)
        return np.array([self._relative_error(x) for x in f.ravel()]).reshape(f.shape)

    def _relative_error(self, frequency: float) -> float:
        if frequency >= self.omitted_frequency:
            return np.inf
        b, w2 = len(self.boundary), (2 * np.pi * frequency) ** 2
        error = w2**2 * self.omitted_compliance / (1.0 - (frequency / self.omitted_frequency) ** 2)
        d = self.K[:b, :b] - w2 * self.M[:b, :b]
        rates = (2 * np.pi * self.frequencies) ** 2 - w2
        if np.any(rates == 0.0):
            return 0.0
        d = d - w2**2 * (self.M[:b, b:] / rates) @ self.M[b:, :b]
        scale = np.sqrt(np.abs(np.diag(self.K)[:b]) + w2 * np.abs(np.diag(self.M)[:b]))
        scale[scale == 0.0] = 1.0
        units = np.outer(scale, scale)
        size = np.linalg.norm(d / units, 2)
        return float(np.linalg.norm(error / units, 2) / size) if size else 0.0

    def body(self, name: str, *, interfaces: Mapping[str, Pose], at: Pose | None = None) -> FlexibleBody:
        """The FlexibleBody of these matrices; ``interfaces`` name the poses of the boundary's six coordinates each, in its order.

        Raises ModelError where the boundary does not consist of six coordinates an interface, and as FlexibleBody does.
        """
        name = new_name("Reduction.body", "name", name)
        if isinstance(interfaces, Mapping) and 6 * len(interfaces) != len(self.boundary):
            raise ModelError(
                f"body {name!r}: {len(interfaces)} interfaces for {len(self.boundary)} boundary coordinates; expected six "
                "boundary coordinates (dx, dy, dz, ax, ay, az) for each interface"
            )
        return FlexibleBody(name, M=self.M, K=self.K, Lambda=self.Lambda, interfaces=interfaces, at=at)

    def table(self) -> str:
        n, size = self.transformation.shape
        b, m = len(self.boundary), len(self.frequencies)
        head = f"{n} coordinates condensed to {size}: {b} of the boundary, {m} fixed-interface modes"
        if m:
            head += f" from {self.frequencies[0]:.6g} to {self.frequencies[-1]:.6g} Hz"
        rows = [
            (str(i), f"{total:.6g}", f"{left:.6g}", f"{left / total:.3g}" if total else "-")
            for i, total, left in zip(self.boundary, self.modal_mass, self.omitted_mass, strict=True)
        ]
        text = table(head, ("boundary coordinate", "modal mass", "left out", "share"), rows)
        text += f"\n\nFirst mode left out: {self.omitted_frequency:.6g} Hz"
        if np.isfinite(self.omitted_frequency):
            shares = (0.1, 0.3, 0.5)
            errors = self.relative_error(np.array(shares) * self.omitted_frequency)
            told = ", ".join(
                f"{e:.2g} at {s * self.omitted_frequency:.4g} Hz" for s, e in zip(shares, errors, strict=True)
            )
            text += f"\nError of the dynamic stiffness at most: {told}"
        return text


@one_thread
def reduce_matrices(
    M: ArrayLike | sp.spmatrix,
    K: ArrayLike | sp.spmatrix,
    Lambda: ArrayLike | sp.spmatrix | None,
    boundary: Sequence[int] | np.ndarray,
    *,
    modes: int | None = None,
    up_to: float | None = None,
) -> Reduction:
    """``T = [[I, 0], [-K_ii^-1 K_ib, Phi]]``: matrices (n, n), dense or sparse, on ``boundary`` and fixed-interface modes Phi.

    ``boundary`` numbers the coordinates kept as they are (from 0, in the order wanted: six an interface for
    :meth:`Reduction.body`).  ``modes`` is the number of modes with the boundary held, 0 for static condensation alone (R. Guyan,
    AIAA J. 3 (1965) 380); ``up_to`` (Hz) takes all up to that frequency instead (R. Craig, M. Bampton, AIAA J. 6 (1968)
    1313).  Statics at the boundary are exact whatever is left out.

    Raises ModelError for unsymmetric matrices, sizes that differ, a boundary out of range or repeated, more modes than there
    are, and an inside that can move while the boundary is held (K_ii singular).
    """
    who = "reduce_matrices"
    k = sp.csr_matrix(symmetric_matrix(who, "K", K))
    n = k.shape[0]
    m = sp.csr_matrix(symmetric_matrix(who, "M", M, size=n))
    damping = None if Lambda is None else sp.csr_matrix(symmetric_matrix(who, "Lambda", Lambda, size=n))
    at = _boundary(boundary, n)
    if (modes is None) == (up_to is None):
        raise ModelError(
            f"reduce_matrices: modes is {modes!r} and up_to is {up_to!r}; expected one of them; modes=0 condenses statically"
        )
    if modes is not None:
        modes = whole("reduce_matrices", "modes", modes)
    if up_to is not None:
        up_to = number("reduce_matrices", "up_to", up_to, unit="Hz", above=0.0)

    refuse_indefinite(
        who,
        "M",
        m,
        "or motions would have negative kinetic energy",
        "check that it was exported whole, with all its digits",
    )
    inside = np.setdiff1d(np.arange(n), at)
    massive = int(np.count_nonzero(m[inside][:, inside].diagonal() > 0.0))
    if modes is not None and modes > massive:
        raise _too_many(modes, massive)
    b = len(at)
    held = _Inside(k[inside][:, inside].tocsc(), m[inside][:, inside].tocsc(), inside)
    static = held.solve(-k[inside][:, at].toarray())
    rates, shapes, omitted = held.modes(modes, up_to)
    count = len(rates)
    t = np.zeros((n, b + count))
    t[at, np.arange(b)] = 1.0
    t[inside, :b] = static
    t[inside[:, None], b + np.arange(count)] = shapes

    reduced = {
        key: None if a is None else _symmetric(t.T @ (a @ t)) for key, a in (("M", m), ("K", k), ("Lambda", damping))
    }
    # known exactly: modes are normalised, and do no work on static shapes
    reduced["M"][b:, b:] = np.eye(count)
    reduced["K"][:b, b:] = reduced["K"][b:, :b] = 0.0
    reduced["K"][b:, b:] = np.diag(rates)
    before = np.sqrt(np.abs(k.diagonal()[at]))
    if np.all(np.abs(reduced["K"][:b, :b]) <= _ROUNDING * np.outer(before, before)):
        reduced["K"][:b, :b] = 0.0  # a boundary that all motions of the body follow rigidly

    load = (m @ t[:, :b])[inside]
    part = shapes.T @ load
    compliance = _symmetric(load.T @ held.solve(load) - (part.T / rates) @ part)
    if np.isinf(omitted):
        compliance[:] = 0.0
    modal_mass = held.modal_mass(load)
    left = np.maximum(modal_mass - np.sum(part**2, axis=0), 0.0)
    left[left < 1e-12 * modal_mass] = 0.0
    return Reduction(
        M=reduced["M"],
        Lambda=reduced["Lambda"],
        K=reduced["K"],
        boundary=at,
        transformation=t,
        frequencies=np.sqrt(rates) / (2 * np.pi),
        omitted_frequency=float(np.sqrt(omitted) / (2 * np.pi)),
        omitted_mass=left,
        modal_mass=modal_mass,
        omitted_compliance=compliance,
    )


class _Inside:
    """The body with its boundary held: statics and modes of K_ii, M_ii, dense where that is quicker."""

    def __init__(self, k: sp.csc_matrix, m: sp.csc_matrix, numbers: np.ndarray):
        self.k, self.m, self.numbers = k, m, numbers
        self.size = k.shape[0]
        diagonal = k.diagonal()
        loose = numbers[diagonal <= 0.0]
        if len(loose):
            shown = ", ".join(map(str, loose[:8])) + (", ..." if len(loose) > 8 else "")
            raise ModelError(
                f"reduce_matrices: K has no positive stiffness at {len(loose)} coordinates inside: {shown}; expected none that "
                "can move while the boundary is held; leave them out, or take them into the boundary"
            )
        self._scale = 1.0 / np.sqrt(diagonal)
        grid = sp.diags(self._scale, format="csc")
        scaled = (grid @ k @ grid).tocsc()
        self.dense = self.size <= 2 * DENSE_LIMIT or scaled.nnz > 0.1 * self.size**2
        if self.dense:
            values, vectors = eigen(scaled.toarray()) if self.size else (np.ones(1), np.zeros((0, 1)))
            count = int(np.count_nonzero(values < max(_SINGULAR, self.size * 1e-16)))
            if count:
                raise self._mechanism(count, vectors[:, 0])
            self._cholesky = scipy.linalg.cho_factor(scaled.toarray()) if self.size else None
        else:
            self._factor = self._checked_factor(scaled)

    def _checked_factor(self, scaled: sp.csc_matrix) -> Factor:
        """The factor of the scaled stiffness; ModelError where it is singular or indefinite."""
        try:
            factor = Factor(scaled)
            x = factor.solve(start_vector(self.size))
            for _ in range(2):
                x = factor.solve(x / np.linalg.norm(x))
            if factor.positive_definite and np.linalg.norm(x) < 1.0 / _SUSPICIOUS:
                return factor
        except RuntimeError:
            factor, x = None, None
        shifted = Factor(add_diagonal(scaled, np.full(self.size, -_SINGULAR)))
        if shifted.negative == 0 and factor is not None:
            return factor
        if x is None or not np.all(np.isfinite(x)):
            x = shifted.solve(start_vector(self.size))
        raise self._mechanism(shifted.negative, x)

    def _mechanism(self, count: int | None, x: np.ndarray) -> ModelError:
        where = self.numbers[int(np.argmax(np.abs(x)))]
        return ModelError(
            f"reduce_matrices: {count or 'some'} motions inside cost no energy, or gain some, while the boundary is held "
            f"(one is largest at coordinate {where}); expected a positive definite stiffness inside; take into the boundary "
            "what holds the body, and remove loose parts"
        )

    def solve(self, load: np.ndarray) -> np.ndarray:
        """``K_ii^-1 f`` (i, c), corrected once against K_ii itself."""
        x = self._once(load)
        return x + self._once(load - self.k @ x)

    def _once(self, load: np.ndarray) -> np.ndarray:
        scale = self._scale.reshape(-1, *(1,) * (load.ndim - 1))
        right = load * scale
        if not right.size:
            return right
        if self.dense:
            return scipy.linalg.cho_solve(self._cholesky, right) * scale
        return self._factor.solve(np.ascontiguousarray(right)) * scale

    def modes(self, count: int | None, up_to: float | None) -> tuple[np.ndarray, np.ndarray, float]:
        """``K phi = w^2 M phi`` for the lowest: w^2 (c,), phi (i, c) with unit modal mass, and w^2 of the next, or infinity."""
        limit = np.inf if up_to is None else (2 * np.pi * up_to) ** 2
        wanted = count
        if wanted is None and not self.dense:
            wanted = self._count_below(limit)
        if self.dense or wanted is None or wanted + 1 >= self.size:
            rates, shapes = self._all_modes()
        else:
            rates, shapes = self._lowest(wanted + 1)
        if count is None:
            count = int(np.count_nonzero(rates <= limit))
        if count > len(rates):
            raise _too_many(count, len(rates))
        return rates[:count], shapes[:, :count], float(rates[count]) if count < len(rates) else np.inf

    def _all_modes(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.size:
            return np.zeros(0), np.zeros((0, 0))
        # 1/w^2 by K, which is definite, where M may not be
        grid = self._scale
        flexibility, shapes = scipy.linalg.eigh(
            self.m.toarray() * np.outer(grid, grid), self.k.toarray() * np.outer(grid, grid)
        )
        flexibility, shapes = flexibility[::-1], shapes[:, ::-1]
        moves = flexibility > _MASSLESS * flexibility[0]
        rates = 1.0 / flexibility[moves]
        return rates, shapes[:, moves] * grid[:, None] * np.sqrt(rates)

    def _lowest(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        inverse = LinearOperator(self.k.shape, matvec=self._once, dtype=float)
        # Lanczos may miss one of several equal modes; a larger space finds it
        for space in (2 * count + 20, 4 * count + 40):
            rates, shapes = eigsh(
                self.k, count, self.m, sigma=0.0, OPinv=inverse, v0=start_vector(self.size), ncv=min(space, self.size)
            )
            order = np.argsort(rates)
            rates, shapes = rates[order], shapes[:, order]
            if self._complete(rates):
                return rates, shapes / np.sqrt(np.sum(shapes * (self.m @ shapes), axis=0))
        raise ModelError(
            f"reduce_matrices: the search for {count - 1} modes missed some between {np.sqrt(rates[0]) / (2 * np.pi):.6g} and "
            f"{np.sqrt(rates[-1]) / (2 * np.pi):.6g} Hz; expected all of them; take a few more modes"
        )

    def _count_below(self, limit: float) -> int | None:
        """Number of modes with w^2 below, by Sylvester's law of inertia; None where the factorisation does not tell."""
        try:
            return Factor((self.k - limit * self.m).tocsc()).negative
        except RuntimeError:
            return None

    def _complete(self, rates: np.ndarray) -> bool:
        """Whether as many modes lie below the last gap as there are by the inertia; none before the first where all are equal."""
        gaps = np.flatnonzero(np.diff(rates, prepend=0.0) > 1e-6 * rates)
        below = int(gaps[-1])
        low, high = (rates[below - 1] if below else 0.0), rates[below]
        counts = (self._count_below(low + share * (high - low)) for share in (0.5, 0.3, 0.7))
        return next((n for n in counts if n is not None), None) == below

    def modal_mass(self, load: np.ndarray) -> np.ndarray:
        """Diagonal of ``X^T M_ii^-1 X`` (b,), the effective masses of all modes together, on what has mass."""
        moves = np.flatnonzero(self.m.diagonal() > 0.0)
        x = load[moves]
        if not x.size:
            return np.zeros(load.shape[1])
        m = self.m[moves][:, moves]
        if self.dense:
            return np.sum(x * np.linalg.lstsq(m.toarray(), x, rcond=None)[0], axis=0)
        try:
            return np.sum(x * Factor(m.tocsc()).solve(np.ascontiguousarray(x)), axis=0)
        except RuntimeError:
            # masses in a plane, a line or a point of each node: a trace of mass elsewhere changes nothing that counts
            return np.sum(
                x * Factor(add_diagonal(m.tocsc(), 1e-12 * m.diagonal())).solve(np.ascontiguousarray(x)), axis=0
            )


# -- arguments ----------------------------------------------------------------------------------------------------
def _too_many(modes: int, there_are: int) -> ModelError:
    return ModelError(
        f"reduce_matrices: modes is {modes}; expected at most {there_are}, the number of modes with mass inside; take fewer"
    )


def _symmetric(a: np.ndarray) -> np.ndarray:
    return 0.5 * (a + a.T)


def _boundary(boundary, n: int) -> np.ndarray:
    at = whole_numbers("reduce_matrices", "boundary", boundary, n)
    if not len(at):
        raise refusal("reduce_matrices", "boundary", boundary, "the numbers of at least one coordinate, from 0")
    values, times = np.unique(at, return_counts=True)
    if np.any(times > 1):
        raise ModelError(
            f"reduce_matrices: boundary has {values[times > 1][0]} {times.max()} times; expected every coordinate once"
        )
    return at


@one_thread
def reduce_model(
    model: LinearModel, keep: Sequence[str], *, modes: int | None = None, up_to: float | None = None
) -> tuple[LinearModel, Reduction]:
    """The same linear model on a few coordinates and the modes with these held: ``q = T y`` of :func:`reduce_matrices`.

    ``keep`` names coordinates, objects (all their coordinates) or interface frames (the six of their body).  What is driven or
    read elsewhere stays an input or output, right as far as the modes kept tell; what :func:`mse.compose` clamps must be kept.
    Returned with the report of the reduction.

    Raises UnknownNameError for names that the model does not have, ModelError for coordinates that follow from others by
    joints, and as :func:`reduce_matrices` does.
    """
    instance("reduce_model", "model", model, LinearModel, "a linear model, as linearize() makes it")
    inner, basis = model.reduced if model.constraints.shape[0] else (model, None)
    names: list[str] = []
    for name in name_list(model.name, "keep", keep):
        names += _coordinates_of(model, name)
    missing = [name for name in names if name not in inner.coordinates]
    if missing:
        raise ModelError(
            f"{model.name}: {', '.join(missing[:6])} follow from other coordinates by joints; expected independent ones to keep, "
            f"among {', '.join(inner.coordinates[:24])}"
        )
    boundary = [inner.coordinates.index(name) for name in dict.fromkeys(names)]
    report = reduce_matrices(inner.M, inner.K, inner.Lambda, boundary, modes=modes, up_to=up_to)
    coordinates = (*dict.fromkeys(names), *(f"{model.name}.mode{k + 1}" for k in range(len(report.frequencies))))
    t = sp.block_diag([report.transformation, sp.identity(len(model.held))], format="csr")
    place = {inner.coordinates[k]: j for j, k in enumerate(boundary)}
    frames = {}
    for label, frame in model.interfaces.items():
        if frame.first is None:
            frames[label] = frame
        elif all(model.coordinates[frame.first + k] in place for k in range(6)):
            frames[label] = replace(frame, first=place[model.coordinates[frame.first]])
    affine = model.affine
    if affine is not None:
        affine = report.transformation.T @ (affine if basis is None else basis.T @ affine)
    return replace(
        inner,
        coordinates=coordinates,
        owners=(*(inner.coordinate_owners[k] for k in boundary), *(model.name for _ in report.frequencies)),
        bodies=np.concatenate([inner.bodies[boundary], np.full(len(report.frequencies), -1)]),
        scale=np.concatenate([inner.scale[boundary], np.ones(len(report.frequencies))]),
        mass=(t.T @ inner.mass @ t).tocsr(),
        damping=(t.T @ inner.damping @ t).tocsr(),
        parts=TransformedParts(inner.parts, t),
        force=(t.T @ inner.force).tocsr(),
        measure=(inner.measure @ t).tocsr(),
        members=tuple(replace(a, motion=(a.motion @ t).tocsr()) for a in inner.members),
        affine=affine,
        interfaces=frames,
        constraints=sp.csr_matrix((0, t.shape[1])),
    ), report


def _coordinates_of(model: LinearModel, name: str) -> list[str]:
    if name in model.coordinates:
        return [name]
    if name in model.interfaces:
        first = model.interfaces[name].first
        if first is None:
            raise ModelError(f"{model.name}: frame {name!r} is on the ground; expected one that moves")
        return list(model.coordinates[first : first + 6])
    found = [c for c, owner in zip(model.coordinates, model.coordinate_owners, strict=True) if owner == name]
    if not found:
        known = [*model.interfaces, *dict.fromkeys(model.coordinate_owners)]
        raise UnknownNameError(f"{model.name}: nothing to keep is named {name!r}{nearest_name(str(name), known)}")
    return found
