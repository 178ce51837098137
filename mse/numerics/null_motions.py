"""Motions that sparse equations leave free: of single bodies, such as spins about their own axes, and of many coordinates."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .factor import UnsymmetricFactor
from .precision import DEPENDENT, cleared, independent
from .rank import rank
from .tangent import normalized

# Relative to the largest squared product of the rows with a motion of a body: a smaller one may be rounding of zero
# (tests/numerics/test_null_motions.py, which passes with 0.01 and 100 times this).
_NEARLY_NULL = 1e-10
# Relative to the square of a motion: the part that rounding may give to coordinates or bodies other than its own
# (tests/numerics/test_null_motions.py, which passes with 0.01 and 100 times this).
_BESIDE = 1e-9


def alone(shares: np.ndarray) -> np.ndarray:
    """Which coordinates or bodies are the whole motion, by their ``shares`` of its square."""
    return shares > 1.0 - _BESIDE


def within(null: sp.csc_matrix, local: int, inside: np.ndarray) -> tuple[sp.csc_matrix, sp.csc_matrix, int]:
    """A space of motions, divided into motions that move only coordinates ``inside`` (n,), and the rest.

    ``null`` (n, m) is a basis of the space; its first ``local`` columns move one body each.  Returns a basis of each part, and
    the number of first columns of the rest that move one body each.
    """
    columns = null.tocsc()
    own = np.diff(columns.indptr)
    met = np.diff(np.append(0, np.cumsum(inside[columns.indices]))[columns.indptr])
    here, apart = (met == own) & (own > 0), met == 0
    # of motions that move both, combinations that stay inside are orthogonal to all other motions
    shared = columns[:, ~here & ~apart].toarray()
    across = shared[~inside].T
    # all singular vectors of the motions, but not those of the coordinates, which are many
    turn, outside, _ = np.linalg.svd(across, full_matrices=len(across) > across.shape[1])
    shares = np.zeros(shared.shape[1])
    shares[: len(outside)] = outside**2
    among = alone(1.0 - shares)
    parts = (sp.csc_matrix(cleared(shared @ turn[:, chosen])) for chosen in (among, ~among))
    first, second = (
        sp.hstack([columns[:, which], part], format="csc") for which, part in zip((here, apart), parts, strict=True)
    )
    return first, second, int(np.count_nonzero(apart[:local]))


def local_null(rows: sp.csc_matrix, bodies: int) -> sp.csc_matrix:
    """Orthonormal null vectors of rows (k, n) that move only one of the bodies, as sparse columns (n, m).

    The coordinates of bodies come first.  Rows may have rounding errors; the caller decides whether the residual is only that.
    """
    if not bodies:
        return sp.csc_matrix((rows.shape[1], 0))
    columns = rows[:, : 6 * bodies]
    w, v = np.linalg.eigh(_own_blocks((columns.T @ columns).tocsr(), np.arange(bodies)))
    largest = w[:, -1:]
    near = w <= _NEARLY_NULL * largest + 1e-300
    inverse = np.divide(1.0, w, out=np.zeros_like(w), where=~near)
    body, which = np.nonzero(near)
    if not len(body):
        return sp.csc_matrix((rows.shape[1], 0))
    z = v[body, :, which]
    for _ in range(2):  # squares lose half of the digits, residuals do not
        left = _on_bodies(z, body, bodies).T @ columns.T
        pull = _own_blocks((left @ columns).tocsr(), body)[:, 0]
        z -= np.einsum("bij,bj,bkj,bk->bi", v[body], inverse[body], v[body], pull)
    lengths = np.sqrt(np.asarray((columns @ _on_bodies(z, body, bodies)).power(2).sum(axis=0)).ravel())
    null = lengths <= DEPENDENT * np.sqrt(largest[body, 0]) + 1e-150
    found = _on_bodies(z[null], body[null], bodies)
    return sp.vstack([found, sp.csc_matrix((rows.shape[1] - 6 * bodies, found.shape[1]))], format="csc")


def _on_bodies(z: np.ndarray, body: np.ndarray, bodies: int) -> sp.csc_matrix:
    """Columns (6 bodies, m) of motions z (m, 6), each of the one ``body`` (m,)."""
    first = 6 * np.arange(len(body) + 1)
    return sp.csc_matrix((z.ravel(), (6 * body[:, None] + np.arange(6)).ravel(), first), shape=(6 * bodies, len(body)))


def _own_blocks(matrix: sp.csr_matrix, body: np.ndarray) -> np.ndarray:
    """The six columns of each body (m,) in its rows, equally many for each body: (m, rows, 6)."""
    each = matrix.shape[0] // len(body)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    own = matrix.indices // 6 == body[row // each]
    out = np.zeros((len(body), each, 6))
    out[row[own] // each, row[own] % each, matrix.indices[own] % 6] = matrix.data[own]
    return out


def null_space(rows: sp.csr_matrix) -> tuple[sp.csc_matrix, np.ndarray]:
    """A basis (n, k) of what rows (m, n) leave free, and the number (k,) of the coordinate that each of it moves alone."""
    n = rows.shape[1]
    rows = rows[np.diff(rows.indptr) > 0]
    rows = normalized(rows, np.zeros(rows.shape[0]))[0]
    of = rank(rows, 1)
    others = np.setdiff1d(np.arange(n), of.pivots)
    basis = sp.identity(n, format="csc")[:, others]
    if len(others) and len(of.pivots):
        rows = rows[of.independent]
        follow = UnsymmetricFactor(rows[:, of.pivots].tocsc()).solve(rows[:, others].toarray())
        basis = basis - sp.identity(n, format="csc")[:, of.pivots] @ sp.csc_matrix(cleared(follow))
    return basis.tocsc(), others


def orthonormal(basis: sp.csc_matrix) -> sp.csc_matrix:
    """An orthonormal basis of the same space; columns (n, k) without common rows stay apart."""
    # columns that meet, by way of rows: products of columns with each other would be as many as squares of long ones
    met = sp.csc_matrix((np.ones(basis.nnz), basis.indices, basis.indptr), shape=basis.shape)
    label = connected_components(sp.bmat([[None, met.T], [met, None]], format="csr"), directed=False)[1][: met.shape[1]]
    order = np.argsort(label, kind="stable")
    found, columns = [basis[:, :0]], [order[:0]]
    alone = np.bincount(label)[label] == 1
    lengths = np.sqrt(np.asarray(basis.power(2).sum(axis=0)).ravel())
    found.append((basis @ sp.diags(1.0 / lengths, format="csc"))[:, alone])
    columns.append(np.flatnonzero(alone))
    for block in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        if len(block) > 1:
            own = basis[:, block].tocsr()
            on = np.flatnonzero(np.diff(own.indptr))
            turned = sp.csc_matrix(cleared(np.linalg.qr(own[on].toarray())[0]))
            found.append(
                sp.csc_matrix((turned.data, on[turned.indices], turned.indptr), shape=(basis.shape[0], len(block)))
            )
            columns.append(block)
    return sp.hstack(found, format="csc")[:, np.argsort(np.concatenate(columns), kind="stable")]


def in_echelon(x: np.ndarray, weight: np.ndarray | float = 1.0) -> np.ndarray:
    """A basis (n, m) of the space of motions x (n, m) in which each has a leading entry that the others lack, of length 1.

    Coordinates may have very different scales.  Motions that share a large entry then differ only by small ones, and rounding of
    the large entry would hide these.  Coordinates of small ``weight`` (n,) lead first, so that the others' motions lack them.
    What rounding leaves of a coordinate that moves with those that lead leads nothing, however small its weight is.
    """
    size, leading = np.linalg.norm(x, axis=1), []
    left = x / np.where(size > 0.0, size, 1.0)[:, None]
    for _ in range(x.shape[1]):
        remainder = np.linalg.norm(left, axis=1)
        leading.append(int(np.argmax(np.where(independent(remainder), remainder * size / weight, 0.0))))
        along = left[leading[-1]] / remainder[leading[-1]]
        left = left - np.outer(left @ along, along)
    x = x @ np.linalg.inv(x[leading])
    x[leading] = np.eye(x.shape[1])
    return x / np.linalg.norm(x, axis=0)
