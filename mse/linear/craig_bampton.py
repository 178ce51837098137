"""Condensation of finite-element matrices to interfaces and fixed-interface modes (Guyan; Craig and Bampton)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..display import Column, Table
from ..elements.flexible_body import FlexibleBody
from ..errors import ModelError, UnknownNameError, nearest_name
from ..numerics.blas_threads import one_thread
from ..numerics.precision import NOTHING, left_by_rounding
from ..pose import Pose
from ..progress.reports import Progress
from ..progress.tasks import Show, Task
from ..results import Result
from ..validation.arguments import frequencies, instance, new_name, number, refusal, whole, whole_numbers
from ..validation.arguments import names as name_list
from ..validation.matrices import refuse_indefinite, symmetric_matrix
from .fixed_interface import FixedInterface, too_many_modes
from .independent import in_coordinates
from .linear_model import LinearModel


class Reduction(Result):
    """``x = T (x_b, q)``: matrices on the boundary coordinates x_b (b,) and the modal coordinates q (m,).

    Made by :func:`mse.reduce_matrices` and :func:`mse.reduce_model`.

    Attributes
    ----------
    M, K : ndarray, (b + m, b + m)
        Mass and stiffness, the boundary first in the order in which it was given.
    Lambda : ndarray, (b + m, b + m), or None
        Viscous damping, None where none was given.
    boundary : ndarray of int, (b,)
        Numbers of the boundary coordinates.
    names : tuple of str, (b,)
        Their names if the matrices come from a model; empty otherwise.
    transformation : ndarray, (n, b + m)
        T.
    frequencies_hz : ndarray, (m,), Hz
        Frequencies of the modes kept, with the boundary clamped; these modes have unit modal mass.
    omitted_frequency_hz : float, Hz
        Frequency of the first mode left out, infinite where none is.
    omitted_mass : ndarray, (b,), kg, kg m2
        Modal effective mass left out along each boundary coordinate.
    modal_mass : ndarray, (b,), kg, kg m2
        That of all modes.
    omitted_compliance : ndarray, (b, b)
        G = sum of L L^T/omega^2 over the modes left out, with L their participation.

    Examples
    --------
    >>> M, K = np.eye(3), np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    >>> reduction = mse.reduce_matrices(M, None, K, boundary=[2], modes=1)
    >>> 2 * np.pi * reduction.frequencies_hz
    array([1.])
    >>> reduction.K.round(12) + 0.0
    array([[0.33333333, 0.        ],
           [0.        , 1.        ]])
    """

    M: np.ndarray
    Lambda: np.ndarray | None
    K: np.ndarray
    boundary: np.ndarray
    transformation: np.ndarray
    frequencies_hz: np.ndarray
    omitted_frequency_hz: float
    omitted_mass: np.ndarray
    modal_mass: np.ndarray
    omitted_compliance: np.ndarray
    names: tuple[str, ...] = ()

    @one_thread
    def relative_error(self, frequencies_hz: ArrayLike) -> np.ndarray:
        """``|E|/|D|``: bound on the error of the dynamic stiffness of the boundary, without damping.

        ``D = K_b - w^2 M_b - w^4 sum L L^T/(w_i^2 - w^2)`` over the modes kept, and of those left out the sum is at most
        ``E = w^4 G/(1 - w^2/w_o^2)``, exact for w -> 0; 2-norms after scaling each coordinate by the square root of
        ``K_b + w^2 M_b`` on the diagonal.

        Parameters
        ----------
        frequencies_hz : array_like, Hz
            Frequencies, finite and not negative.

        Returns
        -------
        ndarray
            Bounds in the shape of the frequencies; infinite from the first omitted frequency on.

        Raises
        ------
        ModelError
            A frequency is negative or not finite.
        """
        f = frequencies("Reduction", frequencies_hz)
        return np.array([self._relative_error(x) for x in f.ravel()]).reshape(f.shape)

    def _relative_error(self, frequency: float) -> float:
        if frequency >= self.omitted_frequency_hz:
            return np.inf
        b, w2 = len(self.boundary), (2 * np.pi * frequency) ** 2
        error = w2**2 * self.omitted_compliance / (1.0 - (frequency / self.omitted_frequency_hz) ** 2)
        d = self.K[:b, :b] - w2 * self.M[:b, :b]
        rates = (2 * np.pi * self.frequencies_hz) ** 2 - w2
        if np.any(rates == 0.0):
            return 0.0
        d = d - w2**2 * (self.M[:b, b:] / rates) @ self.M[b:, :b]
        scale = np.sqrt(np.abs(np.diag(self.K)[:b]) + w2 * np.abs(np.diag(self.M)[:b]))
        scale[scale == 0.0] = 1.0
        units = np.outer(scale, scale)
        size = np.linalg.norm(d / units, 2)
        return float(np.linalg.norm(error / units, 2) / size) if size else 0.0

    def body(self, name: str, *, interfaces: Mapping[str, Pose], at: Pose | None = None) -> FlexibleBody:
        """The flexible body of these matrices.

        Parameters
        ----------
        name : str
            Name of the body.
        interfaces : mapping of str to Pose
            Interface frames and their poses as seen from the body, in the order of the boundary: six coordinates (dx, dy, dz,
            ax, ay, az) each.
        at : Pose, optional
            Initial pose of the first interface.

        Returns
        -------
        FlexibleBody
            An object to add to a system.

        Raises
        ------
        ModelError
            The boundary does not have six coordinates for each interface, or as FlexibleBody does.
        """
        name = new_name("Reduction.body", "name", name)
        if isinstance(interfaces, Mapping) and 6 * len(interfaces) != len(self.boundary):
            raise ModelError(
                f"body {name!r}: {len(interfaces)} interfaces for {len(self.boundary)} boundary coordinates; expected six "
                "boundary coordinates (dx, dy, dz, ax, ay, az) for each interface"
            )
        return FlexibleBody(name, M=self.M, K=self.K, Lambda=self.Lambda, interfaces=interfaces, at=at)

    def table(self) -> Table:
        n, size = self.transformation.shape
        b, m = len(self.boundary), len(self.frequencies_hz)
        head = f"{n} coordinates condensed to {size}: {b} of the boundary, {m} fixed-interface modes"
        if m:
            head += f" from {self.frequencies_hz[0]:.6g} to {self.frequencies_hz[-1]:.6g} Hz"
        share = np.divide(self.omitted_mass, self.modal_mass, out=np.zeros(b), where=self.modal_mass != 0.0)
        rows = zip(
            self.names or self.boundary.tolist(), self.modal_mass.tolist(), self.omitted_mass.tolist(),
            [x if total else "-" for x, total in zip(share.tolist(), self.modal_mass, strict=True)], strict=True,
        )  # fmt: skip
        told = f"First mode left out: {self.omitted_frequency_hz:.6g} Hz"
        if np.isfinite(self.omitted_frequency_hz):
            places = np.array((0.1, 0.3, 0.5)) * self.omitted_frequency_hz
            errors = zip(self.relative_error(places), places, strict=True)
            told += "\nError of the dynamic stiffness at most: " + ", ".join(
                f"{e:.2g} at {f:.4g} Hz" for e, f in errors
            )
        columns = (
            Column("boundary coordinate", digits=0 if self.names else 1), Column("modal mass", digits=6),
            Column("left out", digits=6), Column("share", digits=3),
        )  # fmt: skip
        return Table(head, columns, rows, more=[Table(told)])


@one_thread
def reduce_matrices(
    M: ArrayLike | sp.spmatrix,
    Lambda: ArrayLike | sp.spmatrix | None,
    K: ArrayLike | sp.spmatrix,
    boundary: Sequence[int] | np.ndarray,
    *,
    modes: int | None = None,
    up_to_hz: float | None = None,
    progress: bool | Callable[[Progress], object] = True,
) -> Reduction:
    """``T = [[I, 0], [-K_ii^-1 K_ib, Phi]]``: matrices reduced to ``boundary`` coordinates and fixed-interface modes Phi.

    Statics at the boundary are exact whatever is left out.

    Parameters
    ----------
    M : array_like or sparse matrix, (n, n)
        Mass matrix, symmetric and positive semi-definite.
    Lambda : array_like or sparse matrix, (n, n), or None
        Viscous damping matrix, symmetric; None for no damping.
    K : array_like or sparse matrix, (n, n)
        Stiffness matrix, symmetric, positive definite inside the boundary.
    boundary : sequence of int, (b,)
        Numbers of the coordinates kept as they are, from 0, in the order wanted: six an interface for :meth:`Reduction.body`.
    modes : int, optional
        Number of modes with the boundary clamped; 0 for static condensation alone [1]_.
    up_to_hz : float, Hz, optional
        Instead of ``modes``: takes all modes up to this frequency [2]_.
    progress : bool or callable
        Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

    Returns
    -------
    Reduction
        Reduced matrices, and what is left out.

    Raises
    ------
    ModelError
        Matrices are unsymmetric or differ in size, the boundary is out of range or repeated, more modes are asked for than
        there are, or the inside can move while the boundary is clamped (K_ii singular).

    References
    ----------
    .. [1] R. Guyan, AIAA J. 3 (1965) 380.
    .. [2] R. Craig, M. Bampton, AIAA J. 6 (1968) 1313.

    Examples
    --------
    >>> M, K = np.eye(3), np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    >>> statics = mse.reduce_matrices(M, None, K, boundary=[2], modes=0)  # three springs of 1 N/m in series
    >>> print(f"{statics.K[0, 0]:.9f} N/m")
    0.333333333 N/m
    """
    return _checked((M, Lambda, K), boundary, modes, up_to_hz, (), progress)


def _checked(
    matrices: tuple, boundary: Any, modes: int | None, up_to_hz: float | None, names: Sequence[str], progress: Show
) -> Reduction:
    """:func:`reduce_matrices` for coordinates that may have names, (n,) or none."""
    M, Lambda, K = matrices
    who = "reduce_matrices"
    k = sp.csr_matrix(symmetric_matrix(who, "K", K))
    n = k.shape[0]
    m = sp.csr_matrix(symmetric_matrix(who, "M", M, size=n))
    damping = None if Lambda is None else sp.csr_matrix(symmetric_matrix(who, "Lambda", Lambda, size=n))
    at = _boundary(boundary, n)
    if (modes is None) == (up_to_hz is None):
        raise ModelError(
            f"reduce_matrices: modes is {modes!r} and up_to_hz is {up_to_hz!r}; expected one of them; "
            "modes=0 condenses statically"
        )
    if modes is not None:
        modes = whole("reduce_matrices", "modes", modes)
    if up_to_hz is not None:
        up_to_hz = number("reduce_matrices", "up_to_hz", up_to_hz, unit="Hz", above=0.0)

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
        raise too_many_modes(modes, massive)
    with Task(who, f"reducing {n:,} coordinates", show=progress) as task:
        return task.finished(_reduced((m, damping, k), at, np.array(names or range(n)), modes, up_to_hz, bool(names)))


def _reduced(
    matrices: tuple, at: np.ndarray, labels: np.ndarray, modes: int | None, up_to_hz: float | None, named: bool
) -> Reduction:
    """Reduce M, Lambda and K to the coordinates ``at`` (b,) and modes; ``labels`` (n,) are names or numbers of coordinates."""
    m, damping, k = matrices
    n, b = k.shape[0], len(at)
    inside = np.setdiff1d(np.arange(n), at)
    with Task("", "static shapes"):
        clamped = FixedInterface(k[inside][:, inside].tocsc(), m[inside][:, inside].tocsc(), labels[inside])
        static = clamped.solve(-k[inside][:, at].toarray())
    with Task("", "modes with the boundary clamped"):
        rates, shapes, omitted = clamped.modes(modes, up_to_hz)
    count = len(rates)
    t = np.zeros((n, b + count))
    t[at, np.arange(b)] = 1.0
    t[inside, :b] = static
    t[inside[:, None], b + np.arange(count)] = shapes

    reduced = {
        key: None if a is None else _symmetric(t.T @ (a @ t)) for key, a in (("M", m), ("K", k), ("Lambda", damping))
    }
    # these blocks are known exactly: the modes are normalized and do no work on static shapes
    reduced["M"][b:, b:] = np.eye(count)
    reduced["K"][:b, b:] = reduced["K"][b:, :b] = 0.0
    reduced["K"][b:, b:] = np.diag(rates)
    static = np.abs(t[:, :b])
    if np.all(np.abs(reduced["K"][:b, :b]) <= left_by_rounding(n) * (static.T @ (abs(k) @ static))):
        reduced["K"][:b, :b] = 0.0  # all motions of the boundary are rigid motions of the body

    load = (m @ t[:, :b])[inside]
    part = shapes.T @ load
    compliance = _symmetric(load.T @ clamped.solve(load) - (part.T / rates) @ part)
    if np.isinf(omitted):
        compliance[:] = 0.0
    modal_mass = clamped.modal_mass(load)
    left = np.maximum(modal_mass - np.sum(part**2, axis=0), 0.0)
    left[left < NOTHING * modal_mass] = 0.0
    return Reduction(
        M=reduced["M"],
        Lambda=reduced["Lambda"],
        K=reduced["K"],
        boundary=at,
        transformation=t,
        frequencies_hz=np.sqrt(rates) / (2 * np.pi),
        omitted_frequency_hz=float(np.sqrt(omitted) / (2 * np.pi)),
        omitted_mass=left,
        modal_mass=modal_mass,
        omitted_compliance=compliance,
        names=tuple(labels[at].tolist()) if named else (),
    )


# -- arguments ----------------------------------------------------------------------------------------------------
def _symmetric(a: np.ndarray) -> np.ndarray:
    return 0.5 * (a + a.T)


def _boundary(boundary, n: int) -> np.ndarray:
    at = whole_numbers("reduce_matrices", "boundary", boundary, n)
    if not len(at):
        raise refusal("reduce_matrices", "boundary", boundary, "the numbers of at least one coordinate, from 0")
    values, times = np.unique(at, return_counts=True)
    if np.any(times > 1):
        raise ModelError(
            f"reduce_matrices: boundary lists {values[times > 1][0]} {times.max()} times; expected every coordinate once"
        )
    return at


@one_thread
def reduce_model(
    model: LinearModel,
    keep: Sequence[str],
    *,
    modes: int | None = None,
    up_to_hz: float | None = None,
    progress: bool | Callable[[Progress], object] = True,
) -> tuple[LinearModel, Reduction]:
    """The same linear model on a few coordinates and the modes with these clamped: ``q = T y`` of :func:`reduce_matrices`.

    Inputs and outputs elsewhere stay, right as far as the modes kept represent them; what :func:`mse.compose` clamps must be
    kept.

    Parameters
    ----------
    model : LinearModel
        The model to reduce.
    keep : sequence of str
        Names of coordinates, objects (all their coordinates) or interface frames (the six of their body).
    modes : int, optional
        Number of modes with these coordinates clamped.
    up_to_hz : float, Hz, optional
        Instead of ``modes``: takes all modes up to this frequency.
    progress : bool or callable
        Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

    Returns
    -------
    LinearModel
        The reduced model; its modal coordinates are named ``mode1``, ``mode2`` ... after the model.
    Reduction
        The report of the reduction.

    Raises
    ------
    UnknownNameError
        A name that the model does not have.
    ModelError
        Coordinates that follow from others by joints, and as :func:`reduce_matrices` does.

    Examples
    --------
    >>> K = [[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
    >>> model = mse.LinearModel.from_matrices(np.eye(3), None, K, coordinates=["a.x", "b.x", "c.x"])
    >>> small, report = mse.reduce_model(model, ["c"], modes=1)
    >>> small.coordinates
    ('c.x', 'model.mode1')
    """
    instance("reduce_model", "model", model, LinearModel, "a linear model, as linearize() makes it")
    inner, basis = model.reduced if model.constraints.shape[0] else (model, None)
    names: list[str] = []
    for name in name_list(model.name, "keep", keep):
        names += _coordinates_of(model, name)
    missing = [name for name in names if name not in inner.coordinates]
    if missing:
        raise ModelError(
            f"{model.name}: {', '.join(missing[:6])} follow from other coordinates by joints; expected independent coordinates, "
            f"such as {', '.join(inner.coordinates[:24])}"
        )
    boundary = [inner.coordinates.index(name) for name in dict.fromkeys(names)]
    with Task(model.name, "reducing", show=progress) as task:
        even = inner.symmetric  # the modes are those of the symmetric model; skew parts are projected onto them
        report = _checked((even.M, even.Lambda, even.K), boundary, modes, up_to_hz, inner.coordinates, True)
        _refuse_members_inside(inner, np.setdiff1d(np.arange(inner.size), boundary))
        coordinates = (*dict.fromkeys(names), *(f"{model.name}.mode{k + 1}" for k in range(len(report.frequencies_hz))))
        t = sp.block_diag([report.transformation, sp.identity(len(model.prescribed))], format="csr")
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
        small = in_coordinates(
            inner,
            t,
            coordinates=coordinates,
            owners=(*(inner.owners[k] for k in boundary), *(model.name for _ in report.frequencies_hz)),
            bodies=np.concatenate([inner.bodies[boundary], np.full(len(report.frequencies_hz), -1)]),
            scale=np.concatenate([inner.scale[boundary], np.ones(len(report.frequencies_hz))]),
            affine=affine,
            interfaces=frames,
        )
        return task.finished((small, report))


def _refuse_members_inside(model: LinearModel, inside: np.ndarray) -> None:
    """ModelError if a dynamic stiffness acts on inside coordinates: the modes there need constant matrices."""
    for member in model.members:
        moved = inside[np.asarray(abs(member.motion[:, inside]).sum(axis=0)).ravel() > 0.0]
        if len(moved):
            raise ModelError(
                f"{model.name}: the stiffness of {member.label} depends on the frequency and acts on "
                f"{', '.join(model.coordinates[k] for k in moved[:6])}, which would be reduced to modes of a constant stiffness; "
                "expected it to act on kept coordinates only; keep these, too"
            )


def _coordinates_of(model: LinearModel, name: str) -> list[str]:
    if name in model.coordinates:
        return [name]
    if name in model.interfaces:
        first = model.interfaces[name].first
        if first is None:
            raise ModelError(f"{model.name}: frame {name!r} is on the ground; expected one that moves")
        return list(model.coordinates[first : first + 6])
    pairs = zip(model.coordinates, model.owners, strict=True)
    found = [c for c, owner in pairs if name in (owner, c.rpartition(".")[0])]
    if not found:
        known = [*model.interfaces, *dict.fromkeys(model.owners)]
        raise UnknownNameError(f"{model.name}: nothing to keep is named {name!r}{nearest_name(str(name), known)}")
    return found
