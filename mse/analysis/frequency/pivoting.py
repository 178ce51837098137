"""Frequency response with pivoting, one frequency at a time: for what elimination without pivots cannot do, and singular ones."""

from __future__ import annotations

import contextlib

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ...errors import SingularResponseError
from ...linear.linear_model import LinearModel
from ...numerics.factor import DENSE_LIMIT
from .equations import BATCH_BYTES, Equations

_SINGULAR = 1e-13  # reciprocal condition below which the response is infinite to rounding
_SMALL_DIAGONAL = 1e-8  # of the largest entry of its row


def solve(model: LinearModel, system: Equations, f: np.ndarray) -> np.ndarray:
    """The response (f, outputs, inputs) at frequencies f (Hz); SingularResponseError where it is infinite."""
    return (_solve_dense if model.size <= DENSE_LIMIT else _solve_sparse)(model, system, f)


def _solve_dense(model: LinearModel, system: Equations, f: np.ndarray) -> np.ndarray:
    n = system.n
    values = np.zeros((len(f), *system.shape), dtype=complex)
    dense = [a.toarray() if sp.issparse(a) else a for a in system.matrix]
    # one random right-hand side more shows how large the inverse is
    probe = np.random.default_rng(0).standard_normal((n, 1)) / np.sqrt(max(n, 1))
    batch = max(1, int(BATCH_BYTES / (16 * max(n**2, 144 * len(system.members.local), 1))))
    for start in range(0, len(f), batch):
        rates = 2 * np.pi * f[start : start + batch]
        w = rates[:, None, None]
        change = system.members.change(rates**2)
        z = system.matrix.at(rates)
        b, c, d = system.couplings(rates, change)
        size = np.abs(dense[0].diagonal()) + w[:, 0] * np.abs(dense[1].diagonal()) + w[:, 0] ** 2 * dense[2].diagonal()
        # a zero on the diagonal says nothing about its row
        row = sum(w[:, 0] ** k * np.abs(a).max(axis=1, initial=0.0) for k, a in enumerate(dense))
        size = np.where(size > _SMALL_DIAGONAL * row, size, row)
        if len(system.members.local):
            system.members.add_dense(z, change)
            size = np.maximum(size, np.abs(np.diagonal(z, axis1=1, axis2=2)))
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        z *= scale[:, :, None] * scale[:, None, :]
        b *= scale[:, :, None]
        right = np.concatenate([b, np.broadcast_to(probe, (len(w), n, 1))], axis=2)
        with np.errstate(all="ignore"):
            x = _solve_or_infinite(z, right)
            inverse = np.linalg.norm(x[:, :, -1], axis=1) * np.abs(z).sum(axis=2).max(axis=1, initial=0.0)
        x = x[:, :, :-1]
        for k in np.flatnonzero(~(inverse < 1.0 / _SINGULAR)):
            x[k] = _bounded_solution(model, system, f[start + k], z[k], b[k], scale[k])
        x *= scale[:, :, None]
        values[start : start + batch] = c @ x + d
    return values


def _solve_or_infinite(z: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(z, right)
    except np.linalg.LinAlgError:
        x = np.full(right.shape, np.inf + 0j)
        for k in range(len(z)):
            # what stays infinite is exactly singular and treated by the caller
            with contextlib.suppress(np.linalg.LinAlgError):
                x[k] = np.linalg.solve(z[k], right[k])
        return x


def _bounded_solution(model, system, f: float, z: np.ndarray, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The response of a singular system where the inputs leave the singular motion alone; SingularResponseError else."""
    left, s, right = np.linalg.svd(z)
    alive = s > _SINGULAR * s[0] if s[0] > 0 else np.zeros(len(s), dtype=bool)
    along = left.conj().T @ b
    pushed = np.abs(along[~alive])
    floor = 1e-9 * np.linalg.norm(b, axis=0)
    if np.any(pushed > floor):
        which = int(np.argmax((pushed - floor).max(axis=0)))
        motion = np.abs(right[~alive].conj()).max(axis=0) * scale
        raise _singular(model, system, f, which, motion)
    return right[alive].conj().T @ (along[alive] / s[alive, None])


def _singular(model, system, f: float, which: int, motion: np.ndarray) -> SingularResponseError:
    order = np.argsort(-motion)[:3]
    who = ", ".join(model.coordinates[k] for k in order if motion[k] > 0.05 * motion[order[0]])
    cause = "an undamped resonance" if f > 0 else "a motion without stiffness"
    return SingularResponseError(
        f"{model.name}: the response to {system.inputs[which]} at {f:.12g} Hz is infinite: it drives {cause} of {who}; "
        "expected a frequency off it; move the frequency, add damping or stiffness, or choose inputs that do not drive it"
    )


def _solve_sparse(model: LinearModel, system: Equations, f: np.ndarray) -> np.ndarray:
    k, c, m = (sp.csc_matrix(a) for a in system.matrix)
    n = system.n
    values = np.zeros((len(f), *system.shape), dtype=complex)
    probe = np.random.default_rng(0).standard_normal((n, 1)) / np.sqrt(n)
    for j, hz in enumerate(f):
        w = 2 * np.pi * hz
        change = system.members.change(np.array([w**2]))
        damped = system.complex or np.iscomplexobj(change)
        b, read, direct = (a[0] for a in system.couplings(np.array([w]), change))
        z = (k - w**2 * m + 1j * w * c).tocsc() if damped else (k - w**2 * m).tocsc()
        size = np.abs(k.diagonal()) + w * np.abs(c.diagonal()) + w**2 * m.diagonal()
        if len(system.members.local):
            z = (z + system.members.sparse(change[0])).tocsc()
            size = np.maximum(size, np.abs(z.diagonal()))
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        d = sp.diags(scale, format="csc")
        z = (d @ z @ d).tocsc()
        right = np.hstack([b * scale[:, None], probe])
        try:
            lu = splu(z, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True})
            once = lu.solve if damped else lambda b, lu=lu: lu.solve(b.real) + 1j * lu.solve(b.imag)
            x = once(right)
            x = x + once(right - z @ x)
        except RuntimeError:
            x = np.full(right.shape, np.inf + 0j)
        inverse = np.linalg.norm(x[:, -1]) * abs(z).sum(axis=1).max()
        if not inverse < 1.0 / _SINGULAR:
            x = np.hstack([_decoupled_solution(model, system, hz, z, right[:, :-1], scale), probe])
        x = x[:, :-1] * scale[:, None]
        values[j] = read @ x + direct
    return values


def _decoupled_solution(model, system, f: float, z: sp.csc_matrix, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """As :func:`_bounded_solution` for a large system: a small shift makes it solvable, refinement takes it out again."""
    shifted = splu((z + 1e-9 * sp.identity(z.shape[0], format="csc")).tocsc())
    solve = shifted.solve if z.dtype == complex else lambda v: shifted.solve(v.real) + 1j * shifted.solve(v.imag)
    x = solve(b)
    for _ in range(4):
        x = x + solve(b - z @ x)
    left = np.abs(b - z @ x)
    if np.any(left > 1e-9 * np.linalg.norm(b, axis=0)) or not np.all(np.isfinite(x)):
        which = int(np.argmax(left.max(axis=0)))
        raise _singular(model, system, f, which, np.abs(x[:, which]) * scale)
    return x
