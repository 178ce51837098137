"""Thermal noise by the fluctuation-dissipation theorem: ``S_i = (4 kB T_i / w) r Im(Z_i) r^H`` for each source i.

Z_i is the part of the dynamic stiffness ``Z = K + i w Lambda - w^2 M`` that comes from source i.  r (n + l,) is the reading of
the output for a unit force on each coordinate x = (q, w): ``c Z^-1`` on free coordinates, with all losses in Z, and its share
of reactions on constrained ones.  (Callen and Welton, Phys. Rev. 83 (1951) 34; Saulson, Phys. Rev. D 42 (1990) 2437, eq. 16,
one-sided.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...elements.loss_laws import LossLaw
from ...elements.records import FIELD, LOADED
from ...linear.law_stiffness import Factor, factor_at
from ...linear.linear_model import DynamicMember, LinearModel
from ...linear.members import with_losses
from ...linear.skew_parts import SkewParts
from ...linear.stiffness_parts import ListedParts, StiffnessParts
from ...numerics.options import SIZES
from ...numerics.precision import left_by_rounding
from ..frequency.response import frequency_response

# J/K, by definition of the kelvin
# (tests/analysis/noise/test_thermal.py::test_structural_noise_of_an_oscillator_is_its_closed_form)
BOLTZMANN = 1.380649e-23
# K, for objects without a temperature: the default of elements, by definition
# (tests/analysis/noise/test_thermal.py::test_structural_noise_of_an_oscillator_is_its_closed_form)
ROOM = 300.0

Label = tuple[str, str]


class Thermal(NamedTuple):
    """Thermal noise of one source: its label, "structural" or "viscous", and its power density (f,), unit^2/Hz."""

    label: Label
    kind: str
    density: np.ndarray


class Rows:
    """Readings of one output for a unit force on each coordinate x = (q, w), and for inputs, at angular frequencies w > 0 (f,).

    Z is symmetric up to gyroscopic and circulatory parts.  So ``r^T = Z^-T c^T`` is a response of the transposed model to the
    output's own row: ``forces`` for its weights on q, displacements for its weights on reactions.  By reciprocity, the
    transposed inputs read the output's response to them.
    """

    def __init__(self, model: LinearModel, output: int, loss: Mapping[Label, Factor], inputs: Sequence[int] = ()):
        n, held = model.size, len(model.prescribed)
        row = model.measure[[output]]
        self._reaction = model.read_reactions(np.array([output])).tocsr()
        turned = model.skew
        if turned is not None:
            circulatory = [(label, -part) for label, part in turned.circulatory.items()]
            turned = SkewParts(-turned.gyroscopic, ListedParts.of(circulatory, n + held))
        names = (*model.coordinates, *(f"input {k}" for k in inputs))
        self._loss, self._inputs = loss, list(names[n:])
        chosen = np.array(inputs, dtype=int)
        force, drive = (a.tocsr()[:, chosen].T for a in (model.force, model.drive))
        self._dual = replace(
            model, skew=turned, members=tuple(map(_transposed, model.members)), inputs=("row",), input_units=("",),
            outputs=names, output_units=("",) * len(names), force=sp.csr_matrix(row.T), drive=sp.csr_matrix(self._reaction.T),
            measure=sp.vstack([sp.identity(n + held, format="csr")[:n], force], format="csr"),
            reaction=sp.vstack([sp.csr_matrix((n, held)), drive], format="csr"),
        )  # fmt: skip

    def at(self, f: np.ndarray, touched: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row (f, k) on the coordinates numbered ``touched`` (k,), and responses (f, i) to the inputs."""
        n = self._dual.size
        out = np.zeros((len(f), len(touched)), dtype=complex)
        free, held = np.flatnonzero(touched < n), np.flatnonzero(touched >= n)
        names = [self._dual.outputs[k] for k in touched[free]] + self._inputs
        responses = np.zeros((len(f), 0), dtype=complex)
        if names:
            found = frequency_response(self._dual, f, outputs=names, loss=self._loss, bound=0.0, progress=False)
            out[:, free], responses = np.split(found.values[:, :, 0], [len(free)], axis=1)
        out[:, held] = self._reaction.toarray()[0, touched[held] - n]
        return out, responses


def _transposed(member: DynamicMember) -> DynamicMember:
    def stiffness(omega: np.ndarray, loss: Mapping[str, float]) -> np.ndarray:
        return member.stiffness(omega, loss).transpose(0, 2, 1)

    return replace(member, stiffness=stiffness)


def temperature(model: LinearModel, owner: str, room: float) -> float:
    """Temperature (K) of an object: its parameter, or ``room`` if it has none."""
    found = model.parameters[owner].get("temperature") if owner in model.parameters else None
    return float(found) if isinstance(found, int | float) else room


def thermal(
    model: LinearModel, f: np.ndarray, output: int, loss: Mapping[Label, Factor], room: float, inputs: Sequence[int] = (),
    rows: Rows | None = None,
) -> tuple[list[Thermal], list[str], np.ndarray]:  # fmt: skip
    """Thermal noise of all sources at frequencies f > 0 (f,) Hz, notes, and responses (f, i) of the output to ``inputs`` (i,).

    ``rows`` are what the output reads of forces, if not the model alone decides about that.
    """
    laws = {label: law for label, law in loss.items() if isinstance(law, LossLaw)}
    lossy = _Quadratic(model.parts, {**loss, **dict.fromkeys(laws, 1.0)})
    viscous = _Quadratic(model.dampings, {label: 1.0 for label in model.dampings if label[1] not in LOADED})
    members = [m for m in model.members if m.motion.nnz]
    touched = [lossy.touched, viscous.touched, *(np.unique(m.motion.tocoo().col) for m in members)]
    every = np.unique(np.concatenate(touched))
    powers = {owner for owner, mechanism in model.dampings if mechanism == FIELD}
    if not len(every):
        # computed from the inputs, since the output may see an undamped resonance that they do not drive
        names = [model.inputs[k] for k in inputs]
        response = frequency_response(
            model, f, inputs=names, outputs=[model.outputs[output]], loss=loss, bound=0.0, progress=False
        )
        return [], ["nothing in the model dissipates: there is no thermal noise"], response.values[:, 0]
    w = 2.0 * np.pi * f
    row, responses = (Rows(model, output, loss, inputs) if rows is None else rows).at(f, every)
    found: list[Thermal] = []
    for parts, kind, per in ((lossy, "structural", w), (viscous, "viscous", np.ones_like(w))):
        for number, (label, power) in enumerate(zip(parts.labels, parts.forms(row, every), strict=True)):
            negative = np.flatnonzero(power < 0.0)
            if np.any(power[negative] < -left_by_rounding() * parts.terms(number, row[negative], every)):
                powers.add(label[0])
                continue
            heat = 4.0 * BOLTZMANN * temperature(model, label[0], room)
            if kind == "structural" and label in laws:
                power = power * np.imag(factor_at(" / ".join(label), laws[label], w))
            found.append(Thermal(label, kind, heat * np.maximum(power, 0.0) / per))
    for member in members:
        local = row @ member.motion.tocsc()[:, every].T
        heat = 4.0 * BOLTZMANN * temperature(model, member.label, room) / w
        for mechanism, power in _of_member(member, w, loss, local):
            found.append(Thermal((member.label, mechanism), "structural", heat * power))
    notes = []
    if powers:
        names = ", ".join(sorted(powers))
        notes.append(
            f"the damping of {names} can feed energy (a power, or a negative damping): it has no thermal noise"
        )
    return found, notes, responses


class _Quadratic:
    """``r A_i r^H`` for all real symmetric parts A_i with a factor: sums of products that entries of different parts share."""

    def __init__(self, parts: StiffnessParts, factors: Mapping[Label, float]):
        factor = np.array([factors.get(label, 0.0) for label in parts])
        part, i, j, value = parts.entries()
        used = np.flatnonzero((factor[part] if len(part) else np.zeros(0)) * value)
        part, i, j, value = part[used], i[used], j[used], value[used] * factor[part[used]]
        shown = np.unique(part)
        low, high = np.minimum(i, j).astype(np.int64), np.maximum(i, j)
        pairs, place = np.unique(low * parts.size + high, return_inverse=True)
        self.labels = [parts.labels[k] for k in shown]
        self._i, self._j = np.divmod(pairs, parts.size)
        entries = value, (np.searchsorted(shown, part), place)
        self._weights = sp.csr_matrix(entries, shape=(len(shown), len(pairs)))

    @property
    def touched(self) -> np.ndarray:
        """Numbers of the coordinates where the parts have entries."""
        return np.unique(np.concatenate([self._i, self._j]))

    def forms(self, row: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The forms (parts, f) of rows (f, k) on the coordinates ``numbers`` (k,)."""
        i, j = np.searchsorted(numbers, self._i), np.searchsorted(numbers, self._j)
        out = np.empty((len(self.labels), len(row)))
        step = max(1, int(SIZES.pivoted_bytes / (8 * max(len(i), 1))))
        for first in range(0, len(row), step):
            re, im = (
                np.ascontiguousarray(x.T) for x in (row[first : first + step].real, row[first : first + step].imag)
            )
            out[:, first : first + step] = self._weights @ (re[i] * re[j] + im[i] * im[j])
        return out

    def terms(self, part: int, row: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Sum of the magnitudes of all terms in one form, (f,); for a stiff part that hardly deforms they cancel to rounding."""
        i, j = np.searchsorted(numbers, self._i), np.searchsorted(numbers, self._j)
        own = abs(self._weights[part])
        used = own.indices
        return np.abs(row[:, i[used]] * row[:, j[used]]) @ own.data


def _of_member(
    member: DynamicMember, w: np.ndarray, loss: Mapping[Label, Factor], row: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """``r Im(D) r^H`` (f,) of a member by mechanism, for rows r (f, k) on its own coordinates, at angular frequencies w.

    To second order, losses of one member influence each other.  The exact total is therefore divided in proportion to what each
    mechanism would have alone; with two lossy mechanisms the shares are an estimate.
    """
    own = {m: loss[member.label, m] for m in member.mechanisms if loss.get((member.label, m))}
    whole = _forms(row, np.imag(with_losses(member, w, own)))
    if not whole.any():
        return
    if len(own) < 2:
        yield next(iter(own), "total"), whole
        return
    alone = {m: _forms(row, np.imag(with_losses(member, w, {m: eta}))) for m, eta in own.items()}
    total = sum(alone.values())
    for mechanism, part in alone.items():
        yield mechanism, whole * np.divide(part, total, out=np.zeros_like(total), where=total > 0.0)


def _forms(row: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """``r A r^H`` (f,) for rows r (f, k) and real matrices (f, k, k), whose skew parts dissipate nothing; at least zero."""
    return np.maximum(np.einsum("fi,fij,fj->f", row, matrices, row.conj()).real, 0.0)
