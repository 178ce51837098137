"""Frequency response with pivoting, one frequency at a time, for matrices that are singular or fail without pivoting."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ...errors import SingularResponseError
from ...linear.linear_model import LinearModel
from ...numerics.options import SIZES
from ...numerics.precision import EPS, left_by_rounding
from ...numerics.sparse_tools import start_vector
from .equations import Equations
from .stiffening import balanced
from .sweep import Stopped

# tests/analysis/frequency/test_sweep.py passes with 0.01 and 100 times both:
_DOUBTFUL = 1e-10  # reciprocal condition below which singular motions are sought
_UNMOVED = 1e-9  # relative to a force: smaller components do not drive a motion

_SHIFT = (
    EPS**0.5
)  # relative to the diagonal: makes a singular matrix solvable, with an error as large as rounding divided by it
_ROUNDS = 4  # of inverse iteration: motions 30 times as stiff as the shift are reduced to 1e-6


def solve(
    model: LinearModel, system: Equations, f: np.ndarray, tell: Callable[[int], None] | None = None
) -> np.ndarray:
    """The response (f, outputs, inputs) at frequencies f (Hz); SingularResponseError if it is infinite.

    ``tell`` is called with the number solved; raises :class:`.Stopped` after Ctrl-C.
    """
    values = np.zeros((len(f), *system.shape), dtype=complex)
    done = 0
    try:
        for some in (_solve_dense if model.size <= SIZES.dense else _solve_sparse)(model, system, f):
            values[done : done + len(some)] = some
            done += len(some)
            if tell is not None:
                tell(done)
    except KeyboardInterrupt:
        raise Stopped(values, np.arange(len(f)) < done) from None
    return values


def _solve_dense(model: LinearModel, system: Equations, f: np.ndarray) -> Iterator[np.ndarray]:
    n = system.n
    # a random right-hand side shows how large the inverse is
    probe = np.random.default_rng(0).standard_normal((n, 1)) / np.sqrt(max(n, 1))
    batch = max(1, int(SIZES.pivoted_bytes / (16 * max(n**2, 144 * len(system.members), 1))))
    for start in range(0, len(f), batch):
        rates = 2 * np.pi * f[start : start + batch]
        w = rates[:, None, None]
        change = system.members.change(rates)
        z = system.matrix.at(rates)
        b, c, d = system.couplings(rates, change)
        size = system.sizes(rates)
        if len(system.members):
            system.members.add_dense(z, change)
            size = np.maximum(size, np.abs(np.diagonal(z, axis1=1, axis2=2)))
        if model.skew is not None:  # coupled coordinates may have no diagonal, or one of rounding, such as efforts
            size = _largest(z)
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        z *= scale[:, :, None] * scale[:, None, :]
        b *= scale[:, :, None]
        right = np.concatenate([b, np.broadcast_to(probe, (len(w), n, 1))], axis=2)
        with np.errstate(all="ignore"):
            x = _solve_or_infinite(z, right)
            inverse = np.linalg.norm(x[:, :, -1], axis=1)
        x = x[:, :, :-1]
        for k in np.flatnonzero(~(inverse < 1.0 / _DOUBTFUL)):
            x[k] = _bounded_solution(model, system, f[start + k], z[k], b[k], scale[k], x[k])
        x *= scale[:, :, None]
        yield c @ x + d


def _largest(z: np.ndarray) -> np.ndarray:
    """The largest entry (f, n) in the row and in the column of each coordinate, of matrices (f, n, n)."""
    return np.maximum(np.abs(z).max(axis=1, initial=0.0), np.abs(z).max(axis=2, initial=0.0))


def _solve_or_infinite(z: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(z, right)
    except np.linalg.LinAlgError:
        x = np.full(right.shape, np.inf + 0j)
        for k in range(len(z)):
            # infinite answers mean an exactly singular matrix, which the caller handles
            with contextlib.suppress(np.linalg.LinAlgError):
                x[k] = np.linalg.solve(z[k], right[k])
        return x


def _bounded_solution(
    model, system, f: float, z: np.ndarray, b: np.ndarray, scale: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """x, or if the system is singular the response if inputs do not drive the singular motions; else SingularResponseError."""
    left, s, right = np.linalg.svd(z)
    motions = right.conj().T
    doubtful = np.flatnonzero(s <= _DOUBTFUL * s[0])
    # an SVD is accurate to rounding of the largest value, so repeat it on the smallest ones alone
    u, s[doubtful], v = np.linalg.svd(left[:, doubtful].conj().T @ z @ motions[:, doubtful])
    left[:, doubtful], motions[:, doubtful] = left[:, doubtful] @ u, motions[:, doubtful] @ v.conj().T
    dead = np.zeros(len(s), dtype=bool)
    dead[doubtful] = s[doubtful] <= system.rounding(scale[:, None] * motions[:, doubtful], 2 * np.pi * f)
    if not dead.any():
        return x
    free = motions[:, dead]
    mass = system.matrix.m.toarray() if sp.issparse(system.matrix.m) else system.matrix.m
    mass = scale[:, None] * mass * scale
    inertia = np.linalg.pinv(free.conj().T @ mass @ free, rcond=left_by_rounding(), hermitian=True)
    along = left.conj().T @ b
    pushed = np.abs(along[dead])
    floor = _UNMOVED * np.linalg.norm(np.abs(b) + scale[:, None] * system.pushes, axis=0)
    if np.any(pushed > floor):
        which = int(np.argmax((pushed - floor).max(axis=0)))
        raise _singular(model, system, f, which, scale * (free @ (inertia @ (free.conj().T @ b[:, which]))))
    x = motions[:, ~dead] @ (along[~dead] / s[~dead, None])
    return x - free @ (
        inertia @ (free.conj().T @ (mass @ x))
    )  # as at neighboring frequencies, singular motions then take no part by inertia


def _singular(model, system, f: float, which: int, motion: np.ndarray) -> SingularResponseError:
    motion = np.abs(motion if system.back is None else system.back @ motion)
    order = np.argsort(-motion)[:3]
    who = ", ".join(system.whole.coordinates[k] for k in order if motion[k] > 0.05 * motion[order[0]])
    cause = "an undamped resonance" if f > 0 else "a motion without stiffness"
    return SingularResponseError(
        f"{model.name}: the response to {system.inputs[which]} at {f:.12g} Hz is infinite: it drives {cause} of {who}; "
        "expected a frequency off it; move the frequency, add damping or stiffness, or choose inputs that do not drive it",
        float(f),
    )


def _solve_sparse(model: LinearModel, system: Equations, f: np.ndarray) -> Iterator[np.ndarray]:
    k, c, m = (sp.csc_matrix(a) for a in system.matrix[:3])
    laws = system.matrix.laws
    n = system.n - system.multipliers
    for hz in f:
        w = 2 * np.pi * hz
        change = system.members.change(np.array([w]))
        damped = system.complex or any(map(np.iscomplexobj, change))
        b, read, direct = (a[0] for a in system.couplings(np.array([w]), change))
        z = (k - w**2 * m + 1j * w * c).tocsc() if damped else (k - w**2 * m).tocsc()
        if laws is not None:
            z = (z + laws.sum(laws.laws.weights(np.array([w]))[0])).tocsc()
        size = system.sizes(np.array([w]))[0]
        if len(system.members):
            z = (z + system.members.sparse([own[0] for own in change])).tocsc()
            size = np.maximum(size, np.abs(z.diagonal()[:n]))
        size = balanced(z[n:, :n].tocsr().real, size)[1] if system.multipliers else size
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        d = sp.diags(scale, format="csc")
        z, b = (d @ z @ d).tocsc(), b * scale[:, None]
        solved = _factorized(z)
        x = None
        if solved is not None and not _moves_freely(system, w, solved, scale):
            x = solved(b)
        if x is None or not np.all(np.isfinite(x)):
            x = _decoupled_solution(model, system, hz, z, m, b, scale)
        yield (read @ (x * scale[:, None]) + direct)[None]


def _factorized(z: sp.csc_matrix) -> Callable[[np.ndarray], np.ndarray] | None:
    """A solver for a matrix with one step of refinement; None if it is exactly singular."""
    try:
        lu = splu(z, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True})
    except RuntimeError:
        return None

    def once(b: np.ndarray) -> np.ndarray:
        if np.iscomplexobj(z.data):
            return lu.solve(b.astype(complex))
        return lu.solve(b.real) + 1j * lu.solve(b.imag) if np.iscomplexobj(b) else lu.solve(b)

    def solve(b: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            x = once(b)
            return x + once(b - z @ x)

    return solve


def _moves_freely(system: Equations, w: float, solve: Callable, scale: np.ndarray) -> bool:
    """Whether some motion allowed by the constraints has no stiffness beyond rounding.

    This is judged by the motion itself, as for modes, independent of scales and of the size of reactions.
    """
    n = system.n - system.multipliers
    # two steps of inverse iteration towards the motion of least stiffness
    motion = np.zeros(system.n)
    motion[:n] = start_vector(n)
    for _ in range(2):
        force = motion / np.linalg.norm(motion)
        motion = solve(force)
        motion[n:] = 0.0
        if not np.all(np.isfinite(motion)):
            return True
    met = np.linalg.norm(motion)
    return bool(met <= system.rounding((scale * motion)[:, None], w)[0])


def _decoupled_solution(
    model, system, f: float, z: sp.csc_matrix, m: sp.csc_matrix, b: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """:func:`_bounded_solution` for a large system: a small shift makes it solvable, refinement removes the shift again."""
    n = system.n - system.multipliers
    shift = np.concatenate([np.full(n, _SHIFT), np.zeros(system.multipliers)])
    solve = _factorized((z + sp.diags(shift)).tocsc())
    x = solve(b)
    left = b - z @ x
    error, last = np.linalg.norm(left), np.inf
    while error < 0.5 * last:  # refinement does not act on motions without stiffness
        x, last = x + solve(left), error
        left = b - z @ x
        error = np.linalg.norm(left)
    floor = _UNMOVED * np.linalg.norm(b, axis=0)
    pushed = np.abs(left).max(axis=0, initial=0.0)
    if np.any(pushed > floor) or not np.all(np.isfinite(x)):
        which = int(np.argmax(pushed - floor))
        raise _singular(model, system, f, which, scale * solve(left[:, which]))
    free = _free_motions(system, 2 * np.pi * f, z, solve, scale)
    if not free.shape[1]:
        return x
    weighed = free.conj().T @ (sp.diags(scale) @ m @ sp.diags(scale))
    inertia = np.linalg.pinv(weighed @ free, rcond=left_by_rounding(), hermitian=True)
    # with the multipliers that belong to them
    return x - _SHIFT * solve(free @ (inertia @ (weighed @ x)))


def _free_motions(system: Equations, w: float, z: sp.csc_matrix, solve: Callable, scale: np.ndarray) -> np.ndarray:
    """All motions (n, k) without stiffness beyond rounding, orthonormal in scaled coordinates, by block inverse iteration.

    Rounding may give stiffness to motions of a block that is hardly larger than the number of free ones.  So the block has
    twice as many (K.-J. Bathe, "Finite Element Procedures" (1996), section 11.6, takes up to twice the number sought).
    """
    n = system.n - system.multipliers
    most, count = n - system.multipliers, 4
    while True:
        count = min(count, most)
        motions = np.zeros((system.n, count))
        motions[:n] = np.random.default_rng(0).standard_normal((n, count))
        for _ in range(_ROUNDS):
            motions = solve(motions)
            motions[n:] = 0.0
            motions = np.linalg.qr(motions)[0]
        _, s, right = np.linalg.svd(motions.conj().T @ (z @ motions))
        motions = motions @ right.conj().T
        free = s <= system.rounding(scale[:, None] * motions, w)
        if 2 * np.count_nonzero(free) <= count or count == most:
            return motions[:, free]
        count *= 4
