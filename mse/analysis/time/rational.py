"""Structural loss as Maxwell branches: springs in series with dampers, which have equations of constant matrices.

A stiffness P with the loss factor phi becomes ``P (1 + phi (h(w) - Re h(w_a)))`` with ``h(w) = sum_k a_k i w/(p_k + i w)``: Im h
is 1 in a band, to an error, and the modulus is P's at the frequency w_a of the mode in which P has its largest share of the
energy.  It cannot be so elsewhere: by the relations of Kramers and Kronig it grows by ``(2/pi) ln 10 phi`` a decade (Nowick
and Berry, "Anelastic Relaxation in Crystalline Solids" (1972), chapter 2; branches: Biot, J. Appl. Phys. 25 (1954) 1385).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...display import Column, Table
from ...elements.coordinates import GENERALIZED, Coordinate
from ...elements.loss_laws import LossLaw, LossSum, Zener
from ...errors import ModelError
from ...linear.feeding import refuse_part
from ...linear.independent import extended
from ...linear.law_stiffness import Factor, factor_at
from ...linear.linear_model import LinearModel
from ...linear.stiffness_parts import JoinedParts, ListedParts
from ...numerics.blas_threads import one_thread
from ...numerics.eigen import eigen
from ...numerics.precision import NOTHING, left_by_rounding
from ...validation.arguments import number
from ..modes.lossy import lossy_modes
from ..modes.result import Modes

Label = tuple[str, str]

_UNIT = "J^(1/2)"  # of coordinates of branches, by which their energy is ``a z^2/2``
_MOST = 40  # branches: eight decades to 0.1 % take 22
_A_DECADE = 40  # samples, some twenty for each branch
# How far poles go beyond the band, as factors of its ends.  Without the first 1 % takes one branch more, and without the second
# 0.1 % is not reached (tests/analysis/time/test_rational.py).
_BEYOND = (1.5, 3.0)


@dataclass(frozen=True)
class Branches(LossLaw):
    """``kappa = static + sum_k weights_k i w/(poles_k + i w)``, which has no more loss than its branches, poles in rad/s."""

    poles: tuple[float, ...]
    weights: tuple[float, ...]
    static: float = 1.0

    def factor(self, omega):
        rate = 1j * np.asarray(omega)[..., None]
        return self.static + (rate / (np.array(self.poles) + rate)) @ np.array(self.weights)


class _Shape(NamedTuple):
    """What losses with one law have in common: its branches, its name, and the share of its loss by which they are off."""

    law: Factor
    branches: Branches
    name: str
    error: float

    def offset(self, who: str, omega: float) -> float:
        """What the static stiffness lacks, per unit of the law, if the modulus is to be right at ``omega``."""
        if isinstance(self.law, Zener):
            return 0.0
        at = np.array([omega])
        return float((factor_at(who, self.law, at) - self.branches.factor(at)).real[0])


@one_thread
def rational(model: LinearModel, low_hz: float, high_hz: float, error: float) -> LinearModel:
    """See :meth:`.LinearModel.rational`."""
    low = number(model.name, "low_hz", low_hz, unit="Hz", above=0.0)
    high = number(model.name, "high_hz", high_hz, unit="Hz", above=low)
    error = number(model.name, "error", error, above=0.0)
    _refuse_members(model)
    if not model.losses:
        return model
    part, _, _, values = model.parts.entries()
    # others are zero at the working point
    stiff = {model.parts.labels[k] for k in np.unique(part[values != 0.0]).tolist()}
    terms = {label: _terms(eta, 1.0) for label, eta in model.losses.items() if label in stiff}
    first: dict[Factor, str] = {}
    for label, of in terms.items():
        for law in of:
            first.setdefault(law, " / ".join(label))
    shapes = {law: _shape(who, law, (low, high), error) for law, who in first.items()}
    modes = model.lossless.modes(damped=model.skew is not None or model.Lambda.nnz > 0)
    anchors = _anchors(modes, 2 * np.pi * np.array([low, high]), list(terms))
    laws = {label: _law(" / ".join(label), of, shapes, anchors[label]) for label, of in terms.items()}
    out = _static(model, laws)
    notes = [
        f"structural loss from {low:g} to {high:g} Hz by Maxwell branches; each loss keeps its modulus where its mode is"
    ]
    branched = [(law, shape) for law, shape in shapes.items() if shape.branches.poles]
    for k, (law, shape) in enumerate(branched, start=1):
        weights = np.array([terms.get(label, {}).get(law, 0.0) for label in model.parts])
        rank, out = _with_branches(out, model, weights, shape, f"loss {k}")
        count = len(shape.branches.poles)
        sizes = f"{count} branch{'es' * (count > 1)} of {rank} coordinate{'s' * (rank > 1)}"
        notes.append(f"loss {k}: {shape.name}, {sizes}, error {100 * shape.error:.2g} %")
    notes += _beside(model, laws, modes, (low, high))
    return replace(out, notes=(*model.notes, *notes))


def _refuse_members(model: LinearModel) -> None:
    if model.members:
        labels = ", ".join(list(dict.fromkeys(m.label for m in model.members))[:6])
        raise ModelError(
            f"{model.name}: the stiffness of {labels} depends on the frequency by a dynamic stiffness, which Maxwell branches "
            "cannot stand for; expected constant matrices with loss factors; choose density=0 or form='elements' for beams, and "
            "for a table with resonances the bodies inside it"
        )


# -- branches ---------------------------------------------------------------------------------------------------------
def _terms(law: Factor, weight: float) -> dict[Factor, float]:
    """The laws that add up to one, with their weights; loss factors are weights of i, under the number 1."""
    if not isinstance(law, LossLaw):
        return {1.0: weight * law}
    if not isinstance(law, LossSum):
        return {law: weight}
    out: dict[Factor, float] = {}
    for term, w in zip(law.terms, law.weights, strict=True):
        for one, share in _terms(term, weight * w).items():
            out[one] = out.get(one, 0.0) + share
    return {one: share for one, share in out.items() if share}


def _shape(who: str, law: Factor, band: tuple[float, float], error: float) -> _Shape:
    """The fewest branches that a law takes in a band (Hz)."""
    if isinstance(law, Zener):
        return _Shape(law, Branches((2 * np.pi * law.corner_hz,), (law.relaxation,)), str(law), 0.0)
    name = str(law) if isinstance(law, LossLaw) else "constant loss factors"
    low, high = 2 * np.pi * np.array(band)
    omega = np.geomspace(low, high, max(_A_DECADE, int(_A_DECADE * np.log10(high / low))))
    omega[[0, -1]] = low, high
    phi = factor_at(who, law, omega).imag
    if not phi.any():
        return _Shape(law, Branches((), ()), name, 0.0)
    reached = np.inf
    for count in range(1, _MOST + 1):
        for beyond in _BEYOND:
            poles = np.geomspace(low / beyond, high * beyond, count) if count > 1 else np.sqrt(low * high)[None]
            weights, off = _fitted(omega, phi, poles)
            reached = min(reached, off)
            if off <= error:
                on = weights > 0.0
                return _Shape(law, Branches(tuple(poles[on].tolist()), tuple(weights[on].tolist())), name, off)
    raise ModelError(
        f"{who}: {_MOST} branches follow its loss ({name}) from {band[0]:g} to {band[1]:g} Hz to {100 * reached:.2g} % of "
        f"itself; expected {100 * error:.2g} %; allow a larger error, choose a narrower band, or make a table smoother: branches "
        "can rise and fall no faster than the frequency"
    )


def _fitted(omega: np.ndarray, phi: np.ndarray, poles: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights (k,) of at least 0 for which ``Im h`` misses phi (f,) by the least share of it, and this share."""
    from scipy.optimize import linprog  # imported here, since a first result should not wait for it

    size = phi.max()
    loss = omega[:, None] * poles / (omega[:, None] ** 2 + poles**2)
    off = phi[:, None] / size
    found = linprog(
        np.r_[np.zeros(len(poles)), 1.0],
        A_ub=np.block([[loss, -off], [-loss, -off]]),
        b_ub=np.r_[phi, -phi] / size,
    )
    return found.x[:-1] * size, float(found.x[-1])


# -- where each loss keeps its modulus --------------------------------------------------------------------------------
def _anchors(modes: Modes, band: np.ndarray, labels: list[Label]) -> dict[Label, float]:
    """Angular frequency in a band (rad/s) of the mode in which each part has its largest share of the energy."""
    omega = np.clip(np.abs(modes.eigenvalues), *band)
    if not len(omega):
        return dict.fromkeys(labels, float(np.sqrt(band.prod())))
    return {label: float(omega[np.argmax(modes.strain_energies[label])]) for label in labels}


def _law(who: str, terms: Mapping[Factor, float], shapes: Mapping[Factor, _Shape], anchor: float) -> Branches:
    """All branches of one part, with its static stiffness."""
    static = 1.0 + sum(w * shapes[law].offset(who, anchor) for law, w in terms.items())
    poles = [p for law in terms for p in shapes[law].branches.poles]
    weights = [w * a for law, w in terms.items() for a in shapes[law].branches.weights]
    return Branches(tuple(poles), tuple(weights), static)


# -- matrices ---------------------------------------------------------------------------------------------------------
def _static(model: LinearModel, laws: Mapping[Label, Branches]) -> LinearModel:
    """The model at rest, without the branches; ModelError if it has lost stiffness that held it."""
    weights = np.array([laws[label].static if label in laws else 1.0 for label in model.parts])
    part, rows, columns, values = model.parts.entries()
    parts = ListedParts(tuple(model.parts), model.parts.size, (part, rows, columns, values * weights[part]))
    out = replace(model, parts=parts, losses={})
    negative = out._curvatures.negative
    if negative.shape[1] > model._curvatures.negative.shape[1]:
        x = np.r_[negative[:, 0], np.zeros(len(model.prescribed))]
        lost = {label: (1.0 - law.static) * float(x @ (model.parts[label] @ x)) for label, law in laws.items()}
        worst = max(lost, key=lost.__getitem__)
        raise ModelError(
            f"{model.name}: at rest the stiffness {' / '.join(worst)} is {laws[worst].static:.4g} of what it is at its mode, "
            "since a modulus with loss grows with the frequency, and the model is not stable then; expected a model that is held "
            "at rest, too; choose a larger low_hz, or a smaller loss factor"
        )
    return out


def _with_branches(
    out: LinearModel, model: LinearModel, weights: np.ndarray, shape: _Shape, name: str
) -> tuple[int, LinearModel]:
    """``out`` with branches for the parts of a ``model``, each times its weight (parts,): ``a_k E E^T`` with E = (B, -1).

    B (n + l, r) is a factor of the sum of these parts.  Also returns r.
    """
    b = sp.csr_matrix(_factor(model, weights))
    rank, n, poles, a = b.shape[1], out.size, shape.branches.poles, shape.branches.weights
    names = (f"{name}.branch{k + 1}.{j + 1}" for k in range(len(a)) for j in range(rank))
    coordinates = tuple(Coordinate(label, GENERALIZED, _UNIT) for label in names)
    out, into = extended(out, coordinates, (name,) * len(coordinates))
    first = sp.vstack([b[: model.size], sp.csr_matrix((n - model.size, rank)), b[model.size :]])
    eye = sp.identity(len(coordinates), format="csr")
    own = sp.vstack(
        [sp.csr_matrix((n, len(eye.indices))), eye, sp.csr_matrix((len(model.prescribed), len(eye.indices)))]
    )
    stretch = sp.hstack([into.T @ first] * len(a)) - own
    spring = stretch @ sp.diags(np.repeat(a, rank)) @ stretch.T
    damper = own @ sp.diags(np.repeat(np.divide(a, poles), rank)) @ own.T
    size = into.shape[1]
    return rank, replace(
        out,
        parts=JoinedParts(out.parts, ListedParts.of([((name, "branches"), spring)], size)),
        dampings=ListedParts.of([*out.dampings.items(), ((name, "damping"), damper)], size, "damping"),
    )


def _factor(model: LinearModel, weights: np.ndarray) -> np.ndarray:
    """B (n + l, r) of full rank, with ``B B^T`` the sum of all parts, each times its weight (parts,)."""
    arms = np.r_[model.scale, np.ones(len(model.prescribed))]
    roots = [_root(model, label, w, arms) for label, w in zip(model.parts, weights, strict=True) if w]
    # singular values of factors have half the range of eigenvalues of the sum, in which soft parts would drown
    u, size, _ = np.linalg.svd(np.hstack(roots), full_matrices=False)
    on = size > left_by_rounding(len(u)) * size[0]
    return arms[:, None] * u[:, on] * size[on]


def _root(model: LinearModel, label: Label, weight: float, arms: np.ndarray) -> np.ndarray:
    """G (n + l, r) with ``G G^T`` one part times its weight, on coordinates that ``arms`` (n + l,) scale to metres."""
    part = model.parts[label]
    on = np.flatnonzero(abs(part).max(axis=1).toarray())
    dense = weight * part[on][:, on].toarray()
    w, v = eigen(dense * np.outer(1.0 / arms[on], 1.0 / arms[on]))
    if w[0] < -NOTHING * np.abs(w).max():
        refuse_part(model, label, int(on[np.argmax(np.abs(v[:, 0]))]))
    some = w > left_by_rounding(len(w)) * w[-1]
    out = np.zeros((model.parts.size, np.count_nonzero(some)))
    out[on] = v[:, some] * np.sqrt(w[some])
    return out


# -- what became of the modes -----------------------------------------------------------------------------------------
def _beside(
    model: LinearModel, laws: Mapping[Label, Branches], modes: Modes, band: tuple[float, float]
) -> tuple[str, ...]:
    """Frequencies and Q of all modes in a band (Hz), beside those with the loss that is wanted."""
    s = modes.eigenvalues
    swings = np.abs(s.imag) > NOTHING * np.abs(s)
    on = np.flatnonzero(swings & (s.imag >= 2 * np.pi * band[0]) & (s.imag <= 2 * np.pi * band[1]))
    if not len(on):
        return ("no mode is in this band",)
    wanted, found = (lossy_modes(m, s[on], modes.shapes[:, on]).s for m in (model, replace(model, losses=laws)))
    f, f2 = (np.abs(x) / (2 * np.pi) for x in (wanted, found))
    eta, eta2 = ((x**2).imag / (x**2).real for x in (wanted, found))  # as modes(lossy=True) has them, of both models
    fading = eta > NOTHING
    off = [
        100 * float(np.abs(x).max(initial=0.0))
        for x in (f2 / f - 1.0, (eta2 / np.where(fading, eta, 1.0) - 1.0)[fading])
    ]
    with np.errstate(divide="ignore"):
        q, q2 = 1.0 / (eta + 0.0), 1.0 / (eta2 + 0.0)  # infinite for -0.0, too
    columns = ("wanted f / Hz", "f / Hz", "wanted Q", "Q")
    table = Table(
        f"{len(on)} modes in the band: f is off by up to {off[0]:.2g} %, Q by up to {off[1]:.2g} %",
        tuple(Column(c, digits=6) for c in columns),
        list(zip(f.tolist(), f2.tolist(), q.tolist(), q2.tolist(), strict=True)),
    )
    beyond = int(np.count_nonzero(swings)) - len(on)
    return (str(table), *[f"{beyond} modes swing outside the band, with less loss than wanted"][: min(beyond, 1)])
