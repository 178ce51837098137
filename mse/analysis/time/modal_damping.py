"""Viscous damping that gives each mode the loss of its structure: ``C = W P^T Im(K) P W^T`` with ``W = M Phi Omega^(-1/2)``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ...linear.law_stiffness import factor_at
from ...linear.linear_model import LinearModel
from ...linear.losses import loss_factors
from ...linear.stiffness_parts import ListedParts
from ...numerics.blas_threads import one_thread
from ...numerics.precision import NOTHING
from .massless import refuse_dynamic_stiffness


@one_thread
def modal_damping(model: LinearModel) -> LinearModel:
    """See :meth:`.LinearModel.modal_damping`."""
    refuse_dynamic_stiffness(model)
    losses = loss_factors(model, None)
    if not losses:
        return model
    modes = model.symmetric.lossless.modes()
    omega = modes.eigenvalues.imag
    on = omega > NOTHING * np.abs(modes.eigenvalues)
    if not on.any():
        note = "no mode swings, so loss factors add no damping"
        return replace(model, losses={}, notes=(*model.notes, note))
    omega, phi = omega[on], modes.shapes[:, on].real
    phi = phi / np.sqrt(np.einsum("im,im->m", phi, model.M @ phi))
    inner = np.zeros((len(omega),) * 2)
    for label, eta in losses.items():
        if label in model.parts:
            loss = np.sqrt(np.maximum(factor_at(" / ".join(label), eta, omega).imag, 0.0) / omega)
            inner += loss[:, None] * (phi.T @ (model.stiffness_parts[label] @ phi)) * loss
    w = _momenta(model, omega, phi)
    n = model.parts.size
    c = sp.csr_matrix(w @ (0.5 * (inner + inner.T)) @ w.T)
    dampings = [*model.dampings.items(), (("modal damping", "damping"), c)]
    beyond = "" if modes.complete else "; modes above these have none"
    note = f"loss factors as damping of its {len(omega)} modes: Q of each is right, phases between resonances are not{beyond}"
    return replace(model, losses={}, dampings=ListedParts.of(dampings, n, "damping"), notes=(*model.notes, note))


def _momenta(model: LinearModel, omega: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """``(K Phi + G^T l)/omega^2`` (n + l, m) on all coordinates, l holding constraints: M Phi on the free ones.

    Where all prescribed coordinates move as one with the others, it does no work, so damping does not hold a model to the world.
    """
    n = model.size
    forces = model.full_stiffness[:, :n] @ phi
    if model.constraints.shape[0]:
        held = model.constraints.toarray()
        forces += held.T @ sl.lstsq(held[:, :n].T, (model.M @ phi) * omega**2 - forces[:n])[0]
    out = forces / omega**2
    out[:n] = model.M @ phi  # without rounding of stiff parts
    return out
