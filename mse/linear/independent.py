"""Models with constraints, in independent coordinates or with the multipliers as additional coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..display import Column, Shown, Table
from ..elements.records import REACTION
from ..errors import ModelError
from ..numerics.blas_threads import one_thread
from ..numerics.curvatures import Curvatures
from ..numerics.options import SIZES
from ..numerics.precision import DEPENDENT, left_by_rounding
from ..validation.arguments import positions
from .linear_model import LinearModel
from .members import through
from .stiffness_parts import JoinedParts, ListedParts, TransformedParts

_MULTIPLIERS = ("constraints", REACTION)  # mechanism names of stiffness entries that couple multipliers to coordinates


@dataclass(frozen=True, repr=False, eq=False)
class NullSpace(Shown):
    """``q = basis y + lift w``: all motions (n,) that constraints ``G (q, w) = 0`` allow, by independent coordinates y.

    Attributes
    ----------
    independent : tuple of str, (f,)
        Names of the coordinates q that y are.
    basis : scipy.sparse.csr_matrix, (n, f)
        Motions by y.
    lift : scipy.sparse.csr_matrix, (n, l)
        Motions by the constrained coordinates w.
    residual : float
        Largest entry of ``G [[basis, lift], [0, 1]]``, whose rows have unit length.
    """

    independent: tuple[str, ...]
    basis: sp.csr_matrix
    lift: sp.csr_matrix
    residual: float

    def table(self) -> Table:
        moved = np.diff(self.basis.tocsc().indptr).tolist()
        n, f = self.basis.shape
        return Table(
            f"{n} coordinates by {f} independent ones and {self.lift.shape[1]} that are constrained",
            ["independent coordinate", Column("moves coordinates", digits=1)],
            zip(self.independent, moved, strict=True),
            notes=[f"constraints are met to {self.residual:.1e} of their slopes"],
        )


@one_thread
def null_space(model: LinearModel, independent: Sequence[str] | None = None) -> NullSpace:
    """See :meth:`.LinearModel.null_space`."""
    n, m = model.size, model.constraints.shape[0]
    held = model.constraints[:, :n]
    if independent is None:
        free = np.setdiff1d(np.arange(n), model.determined)
    else:
        free = positions(model.name, "independent coordinate", independent, model.coordinates)
        if len(set(free)) != n - m:
            raise ModelError(
                f"{model.name}: {len(set(free))} independent coordinates; expected {n - m}, as many as its constraints leave"
            )
    determined = np.setdiff1d(np.arange(n), free)
    right = sp.hstack([held[:, free], model.constraints[:, n:]], format="csc")
    if m:
        square = held[:, determined].tocsc()
        try:
            lu = splu(square)
            follow = -lu.solve(right.toarray())
        except RuntimeError:
            follow = np.full(right.shape, np.inf)
        if not np.all(np.abs(follow) < 1.0 / DEPENDENT):
            raise ModelError(
                f"{model.name}: {', '.join(model.coordinates[k] for k in free[:8])} do not determine the motion; expected "
                "independent coordinates that do; leave the choice to mse (independent=None), or exchange some"
            )
        follow[np.abs(follow) < left_by_rounding()] = 0.0
    else:
        follow = np.zeros((0, right.shape[1]))
    whole = sp.lil_matrix((n, right.shape[1]))
    whole[free, np.arange(len(free))] = 1.0
    whole = whole.tocsr() + sp.csr_matrix(
        (np.ones(len(determined)), (determined, np.arange(len(determined)))), shape=(n, len(determined))
    ) @ sp.csr_matrix(follow)
    basis, lift = whole[:, : len(free)], whole[:, len(free) :]
    left = abs(held @ whole + sp.hstack([sp.csr_matrix((m, len(free))), model.constraints[:, n:]])) if m else None
    residual = float(left.max()) if m and min(left.shape) else 0.0
    return NullSpace(tuple(model.coordinates[k] for k in free), basis.tocsr(), lift.tocsr(), residual)


def reduced(model: LinearModel) -> tuple[LinearModel, sp.csr_matrix]:
    """The same model in independent coordinates, without constraints, and the basis (n, f) that leads back."""
    space = model._allowed_motions
    held_count = len(model.prescribed)
    f = len(space.independent)
    t = sp.bmat([[space.basis, space.lift], [sp.csr_matrix((held_count, f)), sp.identity(held_count)]], format="csr")
    place = {name: k for k, name in enumerate(model.coordinates)}
    kept = [place[name] for name in space.independent]
    return in_coordinates(
        model,
        t,
        coordinates=space.independent,
        owners=tuple(model.owners[k] for k in kept),
        bodies=model.bodies[kept],
        scale=model.scale[kept],
        _known_curvatures=_in_independent(model._curvatures, kept),
    ), space.basis


def _in_independent(found: Curvatures, kept: list[int]) -> Curvatures:
    """Free, unstable and undetermined motions of a model, reduced to its independent coordinates."""
    null = found.null.tocsr()[kept].tocsc()
    return replace(found, null=null, local=0, negative=found.negative[kept], undetermined=found.undetermined[kept])


def in_coordinates(model: LinearModel, t: sp.csr_matrix, **fields: Any) -> LinearModel:
    """A model in coordinates y (k,), from one in ``t y``; ``fields`` gives what does not follow from t.

    It has only the constraints and frames given in ``fields``: a frame needs the six coordinates of its body, which y may not
    contain.
    """
    none = sp.csr_matrix((0, t.shape[1]))
    fields = {"interfaces": {}, "constraints": none, "determined": np.zeros(0, dtype=int)} | fields
    return replace(
        model,
        full_mass=(t.T @ model.full_mass @ t).tocsr(),
        dampings=TransformedParts(model.dampings, t),
        parts=TransformedParts(model.parts, t),
        skew=None if model.skew is None else model.skew.through(t),
        force=(t.T @ model.force).tocsr(),
        measure=(model.measure @ t).tocsr(),
        rate=(model.rate @ t).tocsr(),
        members=through(model.members, t),
        _noise=None,
        **fields,
    )


def independent(model: LinearModel) -> LinearModel:
    """The same model in independent coordinates, or the model itself if it has no constraints; the size is limited."""
    if not model.constraints.shape[0]:
        return model
    if model.size > SIZES.dense_independent:
        raise ModelError(
            f"{model.name}: {model.size} coordinates under constraints are too many for a dense state space (at most "
            f"{SIZES.dense_independent}); use frequency_response, modes with a count, or a smaller model"
        )
    return model.reduced[0]


def augmented(model: LinearModel) -> tuple[LinearModel, sp.csr_matrix]:
    """The same model with the multipliers of its constraints as massless additional coordinates: large and sparse.

    Also returns the matrix (n, n + m) that gives the original coordinates, without the multipliers.
    """
    n, w, m = model.size, len(model.prescribed), model.constraints.shape[0]
    # scale the constraints to the size of the stiffness
    size = float(np.abs(model.K.data).max(initial=0.0)) or 1.0
    names = tuple(f"multiplier {k}" for k in range(m))
    out, into = extended(model, names, names)
    held = size * out.constraints
    rows = sp.csr_matrix((np.ones(m), (np.arange(m), n + np.arange(m))), shape=(m, n + m + w))
    coupling = rows.T @ held + held.T @ rows
    return replace(
        out,
        parts=JoinedParts(out.parts, ListedParts.of([(_MULTIPLIERS, coupling)], n + m + w)),
        constraints=sp.csr_matrix((0, n + m + w)),
        determined=np.zeros(0, dtype=int),
    ), into[:n, : n + m]


def extended(model: LinearModel, names: tuple[str, ...], owners: tuple[str, ...]) -> tuple[LinearModel, sp.csr_matrix]:
    """The same model with m further coordinates after q, on which nothing acts yet.

    Also returns the matrix (n + l, n + m + l) that gives its x.
    """
    n, w, m = model.size, len(model.prescribed), len(names)
    into = sp.csr_matrix(
        (np.ones(n + w), (np.arange(n + w), np.r_[np.arange(n), n + m + np.arange(w)])), shape=(n + w, n + m + w)
    )
    return in_coordinates(
        model,
        into,
        coordinates=model.coordinates + names,
        owners=model.owners + owners,
        bodies=np.concatenate([model.bodies, np.full(m, -1)]),
        scale=np.concatenate([model.scale, np.ones(m)]),
        affine=None if model.affine is None else np.concatenate([model.affine, np.zeros(m)]),
        interfaces=model.interfaces,
        constraints=(model.constraints @ into).tocsr(),
        determined=model.determined,
    ), into
