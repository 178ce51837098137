"""Linear models under constraints of velocities, ``A x' + B x = 0``: what they determine goes by equations of first order.

Of coordinates x = (f, z, w) the rows determine the rates of z: ``z' = -(A_f f' + A_w w' + B x)`` where they are solved for z.
Equations of motion hold for f and w along motions that the rows allow, ``dx = S (df, dw)``; with
``x'' = S (f'', w'') - B x'`` on z they are ``S^T M S x'' + S^T (Lambda - M B) x' + S^T K x``.  The rows themselves are the
equations of z, which thus has no mass, and damping only (Neimark & Fufaev, Dynamics of Nonholonomic Systems, 1972, ch. III).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..elements.records import MOTION
from ..linear.linear_model import LinearModel
from ..linear.skew_parts import CIRCULATORY, SkewParts, split
from ..linear.stiffness_parts import ListedParts
from ..numerics.precision import left_by_rounding
from ..numerics.rank import rank
from ..numerics.tangent import normalized


def with_flows(model: LinearModel, rows: sp.csr_matrix, turning: sp.csr_matrix) -> LinearModel:
    """A model in independent coordinates, under ``rows x' + turning x = 0``, each (f, n + l)."""
    space = model.null_space()
    links = len(model.prescribed)
    t = sp.bmat([[space.basis, space.lift], [None, sp.identity(links)]], format="csr") if links else space.basis
    model = model.reduced[0]
    n, size = model.size, model.size + links
    a, b = (rows @ t).toarray(), (turning @ t).toarray()
    found = rank(normalized(sp.csr_matrix(a[:, :n] / model.scale), np.zeros(len(a)))[0])
    z = found.pivots
    a, b = (np.linalg.solve(a[np.ix_(found.independent, z)], x[found.independent]) for x in (a, b))
    s, back = np.eye(size), np.zeros((size, size))
    s[z] -= a
    s[np.ix_(z, z)] = 0.0
    back[z] = -b
    s, back = sp.csr_matrix(s), sp.csr_matrix(back)
    mass = (s.T @ model.full_mass @ s).tocsr()
    rest = (s.T @ (model.full_mass @ back + (0.0 if model.skew is None else model.skew.gyroscopic))).tocsr()
    dampings = [*((label, s.T @ c) for label, c in model.dampings.items()), ((model.name, MOTION), rest)]
    largest = max((abs(c).max() for _, c in dampings if c.nnz), default=1.0) or 1.0
    into = sp.csr_matrix((np.full(len(z), largest), (z, np.arange(len(z)))), shape=(size, len(z)))
    dampings.append(((model.name, MOTION), into @ sp.csr_matrix(a)))
    stiffness = [(label, s.T @ k) for label, k in model.all_parts.items()]
    stiffness.append(((model.name, MOTION), into @ sp.csr_matrix(b)))
    even, odd = divided(dampings)
    gyroscopic = split(sum((k for _, k in odd), sp.csr_matrix((size, size))))[1]
    even_k, odd_k = divided(stiffness)
    return replace(
        model,
        full_mass=mass,
        dampings=ListedParts.of(even, size, "damping"),
        parts=ListedParts.of(even_k, size),
        skew=SkewParts(gyroscopic, ListedParts.of((((who, CIRCULATORY), k) for (who, _), k in odd_k), size)),
        force=(s.T @ model.force).tocsr(),
    )


def divided(matrices: list, size: float = 0.0) -> tuple[list, list]:
    """The symmetric and the skew parts of matrices with labels, without what is rounding of the largest entry, or of ``size``."""
    size = left_by_rounding() * max([size, *(abs(k).max() for _, k in matrices if k.nnz)])
    even, odd = [], []
    for label, k in matrices:
        for found, part in zip((even, odd), split(k), strict=True):
            part.data[np.abs(part.data) <= size] = 0.0
            part.eliminate_zeros()
            if part.nnz:
                found.append((label, part))
    return even, odd
