"""Accelerations under constraints in one state: ``[M G'; G 0] (a, l) = (f, u)``, by dense matrices or by sparse ones.

Dense matrices say what has no mass, but take the cube of the number of bodies.  So large systems in which everything that
constraints allow has mass go by sparse ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..numerics.factor import ConstrainedFactor, Factors
from ..numerics.options import SIZES
from ..numerics.precision import left_by_rounding
from ..numerics.sparse_tools import scaled_both
from ..numerics.tangent import Tangent

if TYPE_CHECKING:
    from .accelerations import Equations

# Of the largest force: what is left of forces that cancel on a coordinate without mass.  With a thousandth and a thousand
# times of it tests/dynamics/test_constrained.py passes.
_NO_FORCE = 1e-9


def heavy_factor(mass: sp.csc_matrix, slopes: sp.csr_matrix) -> ConstrainedFactor | None:
    """The factor of a measured M (n, n) on what slopes (m, n) of unit length allow; None where something there has no mass."""
    largest = np.abs(mass.data).max(initial=0.0)
    rounding = sp.diags(np.full(mass.shape[0], left_by_rounding(mass.shape[0]) * largest))
    if not largest or not ConstrainedFactor((mass - rounding).tocsc(), slopes).positive_definite:
        return None
    return ConstrainedFactor(mass, slopes)


class Constrained:
    """The matrix ``[M G'; G 0]`` in one state, with M (n, n); ``extra`` rows (k, n) hold as the constraints do."""

    def __init__(
        self, equations: Equations, here: Evaluation, mass: np.ndarray | sp.spmatrix, extra: np.ndarray | None = None
    ):
        self.equations, self.here = equations, here
        self.metric = metric = equations.measure.metric
        self._heavy = None
        if equations.size > SIZES.dense and not equations.massless:
            slopes, self.lengths = equations.stacked(here, extra, sparse=True)
            self.mass = scaled_both(sp.csc_matrix(mass), 1.0 / metric)
            self._heavy, self._slopes = heavy_factor(self.mass, slopes), slopes
        if self._heavy is not None:
            return
        self.mass = (mass.toarray() if sp.issparse(mass) else mass) / np.outer(metric, metric)
        self._tangent, self.lengths = equations.tangent(here, extra)
        basis = np.eye(len(metric)) if self._tangent is None else self._tangent.basis
        self._basis, self._inner = basis, basis.T @ self.mass @ basis

    @property
    def unique(self) -> bool:
        """Whether no row is known to depend on others."""
        return self._heavy is None and (self._tangent is None or self._tangent.unique)

    def solve(self, force: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The a (n,) with ``G a = right`` for which ``a'M a/2 - force.a`` is lowest; what has no mass stays at rest.

        ModelError where a force acts on what has no mass.
        """
        force, a = force / self.metric, np.zeros(len(force))
        if self._heavy is not None:
            if right.any():
                a = Tangent(self._slopes, Factors()).restoring(-right / self.lengths)
            return (a + self._heavy.solve(force - self.mass @ a)) / self.metric
        if self._tangent is not None and right.any():
            a = self._tangent.restoring(-right / self.lengths)
        if self._basis.shape[1]:
            taken = self.mass @ a
            size = max(np.abs(force).max(initial=0.0), np.abs(taken).max(initial=0.0))
            a = a + self._basis @ self._along(self._basis.T @ force, self._basis.T @ taken, size)
        return a / self.metric

    def _along(self, force: np.ndarray, taken: np.ndarray, size: float) -> np.ndarray:
        if not self.equations.massless:
            try:
                return dpotrs(self._factor, force - taken, lower=True)[0]
            except LinAlgError:
                pass
        values, vectors = eigh(self._inner)
        heavy = values > self._rounded(values)
        self.equations.massless |= not heavy.all()
        along = vectors.T @ (force - taken)
        bare = np.abs(vectors[:, ~heavy].T @ force)  # what masses take there is rounding
        if bare.max(initial=0.0) > _NO_FORCE * size and not self.equations.implicit:
            self._refuse(vectors[:, ~heavy][:, int(bare.argmax())], float(bare.max()))
        return vectors[:, heavy] @ (along[heavy] / values[heavy])

    def _rounded(self, values: np.ndarray) -> float:
        """The largest mass that may be rounding, of those (k,) along motions; the motions themselves are rounded, too."""
        little = left_by_rounding(len(values))
        return little * max(values.max(initial=0.0), little * np.abs(self.mass).max(initial=0.0))

    @cached_property
    def _factor(self) -> np.ndarray:
        factor, failed = dpotrf(self._inner, lower=True)
        pivots = factor.diagonal() ** 2
        if failed or pivots.min() <= self._rounded(self._inner.diagonal()):
            raise LinAlgError("no mass")
        return factor

    def _refuse(self, motion: np.ndarray, force: float) -> None:
        k = int(np.abs(self._basis @ motion / self.metric).argmax())
        topology = self.equations.topology
        unit, remedy = topology.force_unit(k), "give its body mass and inertia, or let joints hold it"
        if k >= len(self.metric) - topology.internal:
            remedy = "leave method out or set method='implicit', for which stiffness or resistance is enough"
        raise ModelError(
            f"{topology.label}: {force:.3g}{unit} acts on {topology.coordinate_names[k]}, which has no mass or inertia; "
            f"expected inertia wherever forces act; {remedy}"
        )
