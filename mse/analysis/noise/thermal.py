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

from ...elements.loss_laws import LossLaw, slope_at_rest
from ...elements.records import FIELD, LOADED
from ...errors import ModelError
from ...linear.law_stiffness import Factor, factor_at
from ...linear.linear_model import DynamicMember, LinearModel
from ...linear.members import with_losses
from ...linear.part_blocks import blocks
from ...linear.skew_parts import SkewParts
from ...linear.stiffness_parts import ListedParts, StiffnessParts
from ...numerics.precision import left_by_rounding
from ...numerics.recent import Recent
from ..frequency.response import Prepared

# J/K, by definition of the kelvin
# (tests/analysis/noise/test_thermal.py::test_structural_noise_of_an_oscillator_is_its_closed_form)
BOLTZMANN = 1.380649e-23
# Bytes of rows that are multiplied together, about the second cache: of benchmarks/run.py --only kagra, 100,000 frequencies take
# 0.87 s, with a tenth of it 1.00 s, with ten times of it 0.93 s, with a thousand times 1.47 s.
_AT_ONCE = 1e6
# K, of objects that have no temperature: the default of elements, by definition
# (tests/analysis/noise/test_thermal.py::test_structural_noise_of_an_oscillator_is_its_closed_form)
ROOM = 300.0

_ROWS = Recent(2)  # of two outputs in turn: each has the order of one elimination

_NOTHING = "nothing in the model dissipates: there is no thermal noise"

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
        self._reaction = model.read_reactions(np.array([output])).tocsr()
        rows, drives = [model.measure[[output]]], [self._reaction.T]
        if (rate := model.rate[[output]]).nnz:  # an input of its own, whose responses count 2 pi i f times
            rows, drives = [*rows, rate], [*drives, sp.csr_matrix((held, 1))]
        turned = model.skew
        if turned is not None:
            circulatory = [(label, -part) for label, part in turned.circulatory.items()]
            turned = SkewParts(-turned.gyroscopic, ListedParts.of(circulatory, n + held), turned.fluctuations)
        names = (*model.coordinates, *(f"input {k}" for k in inputs))
        self._inputs = list(names[n:])
        chosen = np.array(inputs, dtype=int)
        force, drive = (a.tocsr()[:, chosen].T for a in (model.force, model.drive))
        self._dual = replace(
            model, skew=turned, members=tuple(map(_transposed, model.members)), losses=dict(loss),
            inputs=("row", "rates")[: len(rows)], input_units=("",) * len(rows), outputs=names, output_units=("",) * len(names),
            force=sp.vstack(rows).T.tocsr(), rate=None, drive=sp.hstack(drives, format="csr"),
            measure=sp.vstack([sp.identity(n + held, format="csr")[:n], force], format="csr"),
            reaction=sp.vstack([sp.csr_matrix((n, held)), drive], format="csr"), _known_curvatures=model._curvatures,
            _known_motions=model._allowed_motions if model.constraints.shape[0] else None,
        )  # fmt: skip
        self._prepared: Prepared | None = None

    def at(self, f: np.ndarray, touched: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The row (s, k) on the coordinates numbered ``touched`` (k,), and responses (s, i) to the inputs.

        And which (f,) of the frequencies are the s solved ones: all, or after Ctrl-C some.
        """
        n = self._dual.size
        free, held = touched[touched < n], touched[touched >= n]  # in this order: coordinates are numbered so
        names = [self._dual.outputs[k] for k in free] + self._inputs
        values, solved = np.zeros((len(f), 0), dtype=complex), np.ones(len(f), dtype=bool)
        if names:
            prepared = self._prepared
            if prepared is None or prepared.names[1] != tuple(names):
                self._prepared = prepared = Prepared(self._dual, None, names)
            found, solved = prepared.solved(f)
            f = f[solved]
            values = found[:, :, 0]
            if len(self._dual.inputs) > 1:
                values = values + 2j * np.pi * f[:, None] * found[:, :, 1]
        row, responses = np.split(values, [len(free)], axis=1)
        if len(held):
            own = self._reaction.toarray()[0, held - n]
            row = np.hstack([row, np.broadcast_to(own, (len(f), len(held)))])
        return row, responses, solved


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
) -> tuple[list[Thermal], list[str], np.ndarray, np.ndarray]:  # fmt: skip
    """Thermal noise of all sources at frequencies (f,) Hz, notes, and responses (f, i) of the output to ``inputs`` (i,).

    Last comes which frequencies (f,) these are: after Ctrl-C only some of them are known.  ``rows`` are what the output reads of
    forces, if not the model alone decides about that.
    """
    laws = {label: law for label, law in loss.items() if isinstance(law, LossLaw)}
    heat = {owner: 4.0 * BOLTZMANN * temperature(model, owner, room) for owner, _ in (*loss, *model.dampings)}
    lossy = _Squares(model.parts, {x: heat[x[0]] * (1.0 if x in laws else eta) for x, eta in loss.items()})
    viscous = [_Squares(model.dampings, {x: heat[x[0]] for x in model.dampings if x[1] not in LOADED})]
    own = None if model.skew is None else model.skew.fluctuations
    if own is not None:
        viscous.append(_Squares(own, dict.fromkeys(own, 4.0 * BOLTZMANN)))
    members = [m for m in model.members if m.motion.nnz]
    touched = [lossy.touched, *(x.touched for x in viscous), *(np.unique(m.motion.tocoo().col) for m in members)]
    every = np.unique(np.concatenate(touched))
    powers = {owner for owner, mechanism in model.dampings if mechanism == FIELD}.difference(
        owner for owner, _ in own or ()
    )
    if not len(every):
        # computed from the inputs, since the output may see an undamped resonance that they do not drive
        return [], _silent(powers, set()) or [_NOTHING], *_driven(model, f, output, loss, inputs)
    if f[0] == 0.0:
        _refuse_endless(model, [" / ".join(x) for x in lossy.labels if np.isinf(slope_at_rest(loss[x]))], members)
    if rows is None:  # budgets of one model at other frequencies or temperatures
        rows = _ROWS(model, lambda: Rows(model, output, loss, inputs), output, tuple(loss.items()), tuple(inputs))
    row, responses, solved = rows.at(f, every)
    w = 2.0 * np.pi * f[solved]
    at_rest = w == 0.0  # there the limits of phi/w
    found: list[Thermal] = []
    negative = set()
    for parts, kind, per in (
        (lossy, "structural", 1.0 / np.where(at_rest, 1.0, w)),
        *((x, "viscous", np.ones_like(w)) for x in viscous),
    ):
        for label, density, feeds in zip(parts.labels, *parts.forms(row, every, per), strict=True):
            if feeds:
                negative.add(" / ".join(label))
                continue
            if kind == "structural" and label in laws:
                phi = np.imag(factor_at(" / ".join(label), laws[label], w))
                density = density * np.where(at_rest, laws[label].slope_at_rest(), phi)
            found.append(Thermal(label, kind, density))
    for member in members:
        local = row @ member.motion.tocsc()[:, every].T
        per = 4.0 * BOLTZMANN * temperature(model, member.label, room) / w
        for mechanism, power in _of_member(member, w, loss, local):
            found.append(Thermal((member.label, mechanism), "structural", per * power))
    return found, _silent(powers, negative), responses, solved


def _driven(
    model: LinearModel, f: np.ndarray, output: int, loss: Mapping[Label, Factor], inputs: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Responses (s, i) of an output to inputs (i,), and which (f,) of the frequencies are the s solved ones."""
    prepared = Prepared(model, [model.inputs[k] for k in inputs], [model.outputs[output]], loss)
    values, solved = prepared.solved(f)
    return values[:, 0], solved


def _refuse_endless(model: LinearModel, losses: list[str], members: Sequence[DynamicMember]) -> None:
    """ModelError at 0 Hz for loss factors that do not vanish there in proportion to frequency, and for members."""
    names = [*losses, *(m.label for m in members)]
    if names:
        raise ModelError(
            f"{model.name}: frequency number 0 is 0 Hz; expected frequencies above zero, since thermal noise has no bound there "
            f"by losses that do not vanish in proportion to frequency: {', '.join(names[:4])}{' ...' * (len(names) > 4)}; leave "
            "it out, or give laws that do, such as mse.Zener(relaxation, corner_hz)"
        )


def _silent(powers: set[str], negative: set[str]) -> list[str]:
    """Notes on what has no thermal noise: objects with powers or efforts, and parts that are negative."""
    notes = []
    if powers:
        notes.append(
            f"the damping of {', '.join(sorted(powers))} follows from a power or an effort constraint, which may feed energy or "
            "dissipate it: it has no thermal noise in this budget"
        )
    if negative:
        notes.append(
            f"{', '.join(sorted(negative))}: negative for some motion, so the loss of this part feeds energy there: it has no "
            "thermal noise in this budget"
        )
    return notes


class _Squares:
    """``r A_i r^H = sum_k s_k |r g_k|^2`` of all parts A_i that have a factor, real and symmetric, s_k being 1 or -1.

    The g_k follow from the eigenvalues of A_i, with scaled coordinates, which may have several units.  Parts on many coordinates,
    such as those of a long beam, keep their sparse matrices.
    """

    def __init__(self, parts: StiffnessParts, factors: Mapping[Label, float]):
        self.labels, alike, self._wide = blocks(parts, factors)
        found = [_square_roots(*given) for given in alike]
        none = np.zeros(0, dtype=int), np.zeros((0, 0), dtype=int), np.zeros(0), np.zeros((0, 0))
        of, on, signs, roots = zip(*found, strict=True) if found else ((x,) for x in none)
        self._of, self._signs = np.concatenate(of), np.concatenate(signs)
        lengths = np.repeat([x.shape[1] for x in roots], [len(x) for x in roots])
        entries = (np.concatenate([x.ravel() for x in y]) for y in (roots, on))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        self._roots = sp.csr_matrix((*entries, starts), shape=(len(lengths), parts.size))

    @property
    def touched(self) -> np.ndarray:
        """Numbers of the coordinates that the parts have entries on."""
        return np.unique(np.concatenate([self._roots.indices, *(on for on, _ in self._wide.values())]))

    def forms(self, row: np.ndarray, numbers: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``times`` (f,) the forms (parts, f), at least zero, of rows (f, k) on the coordinates with these ``numbers`` (k,).

        And which (parts,) of the forms are negative somewhere.  Where a stiff part hardly deforms, its terms cancel to rounding,
        which is not negative.
        """
        roots = self._roots[:, numbers].tocsr()
        count, parts = len(self._signs), len(self.labels)
        size = sp.csr_matrix((np.ones(count), (self._of, np.arange(count))), shape=(parts, count))
        # without negative ones and sparse matrices, a form is the sum of the sizes of its terms
        signed = size @ sp.diags(self._signs) if np.any(self._signs < 0.0) or self._wide else None
        out, negative = np.empty((parts, len(row))), np.zeros(parts, dtype=bool)
        step = max(1, int(_AT_ONCE / (16 * max(*roots.shape, 1))))
        for first in range(0, len(row), step):
            some = slice(first, first + step)
            own = np.ascontiguousarray(row[some].T)
            squares = roots @ own.view(float)  # real and imaginary parts in turn
            squares *= squares
            whole = _pairs(size @ squares)
            value = whole if signed is None else _pairs(signed @ squares)
            for k, (on, matrix) in self._wide.items():
                local = own[np.searchsorted(numbers, on)]
                value[k] = np.einsum("cf,cf->f", matrix @ local, local.conj()).real
                local = np.abs(local)
                whole[k] = np.einsum("cf,cf->f", abs(matrix) @ local, local)
            if signed is not None:
                negative |= np.any(value < -left_by_rounding() * whole, axis=1)
            np.multiply(np.maximum(value, 0.0, out=value), times[some], out=out[:, some])
        return out, negative


def _pairs(values: np.ndarray) -> np.ndarray:
    """Sums of each pair of columns of values (r, 2 f), (r, f)."""
    return values[:, ::2] + values[:, 1::2]


def _square_roots(number: np.ndarray, on: np.ndarray, matrices: np.ndarray) -> tuple[np.ndarray, ...]:
    """``A = sum_k s_k g_k g_k^T`` of symmetric matrices (m, c, c), without what is rounding.

    Of every g_k the number of its matrix (k,), the coordinates (k, c) that it is on, s_k (k,) and itself (k, c).
    """
    size = np.abs(matrices).max(axis=2)
    size = np.sqrt(np.where(size > 0.0, size, 1.0))
    scaled = 0.5 * (matrices + matrices.transpose(0, 2, 1)) / (size[:, :, None] * size[:, None, :])
    values, vectors = np.linalg.eigh(scaled)
    of, k = np.nonzero(np.abs(values) > left_by_rounding() * np.abs(values).max(axis=1, keepdims=True))
    values = values[of, k]
    return number[of], on[of], np.sign(values), np.sqrt(np.abs(values))[:, None] * vectors[of, :, k] * size[of]


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
