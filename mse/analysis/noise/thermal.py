"""Thermal noise by the fluctuation-dissipation theorem: ``S_i = (4 kB T_i / w) r Im(Z_i) r^H`` for each source i.

Z_i is the part of the dynamic stiffness ``Z = K + i w Lambda - w^2 M`` that comes from source i.  r (n + l,) is the reading of
the output for a unit force on each coordinate x = (q, w): ``c Z^-1`` on free coordinates, with all losses in Z, and its share
of reactions on constrained ones.  (Callen and Welton, Phys. Rev. 83 (1951) 34; Saulson, Phys. Rev. D 42 (1990) 2437, eq. 16,
one-sided.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
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
from ...linear.rate_inputs import acting
from ...linear.skew_parts import SkewParts
from ...linear.stiffness_parts import ListedParts, StiffnessParts
from ...numerics.precision import left_by_rounding
from ...numerics.recent import Recent
from ..frequency.response import Prepared
from ..frequency.squares import Squares

# J/K, by definition of the kelvin
# (tests/analysis/noise/test_thermal.py::test_structural_noise_of_an_oscillator_is_its_closed_form)
BOLTZMANN = 1.380649e-23
# K, of objects that have no temperature: the default of elements, by definition
# (tests/analysis/noise/test_thermal.py::test_structural_noise_of_an_oscillator_is_its_closed_form)
ROOM = 300.0

_ROWS = Recent(2)  # of two outputs in turn: each has the order of one elimination

_NOTHING = "nothing in the model dissipates: there is no thermal noise"

Label = tuple[str, str]


class Thermal(NamedTuple):
    """Thermal noise of sources of one kind, "structural" or "viscous": labels (s,) and power densities (s, f), unit^2/Hz."""

    labels: list[Label]
    kind: str
    densities: np.ndarray


class Reading(NamedTuple):
    """Readings of a row r: sums over ``|r g|^2`` and products r g, for columns g of coordinates x = (q, w).

    ``squares`` (k, n + l) has the g of all sums, sum s from number ``first[s]`` to ``first[s + 1]``; ``products`` (p, n + l).
    """

    squares: sp.csr_matrix
    first: np.ndarray
    products: sp.csr_matrix

    @property
    def each(self) -> Reading:
        """All as products."""
        none = np.zeros(1, dtype=int)
        return Reading(self.squares[:0], none, sp.vstack([self.squares, self.products], format="csr"))

    def same(self, other: Reading) -> bool:
        """Whether all of it is equal."""
        pairs = ((self.squares, other.squares), (self.products, other.products))
        return np.array_equal(self.first, other.first) and all(
            np.array_equal(getattr(a, x), getattr(b, x)) for a, b in pairs for x in ("indptr", "indices", "data")
        )


class Rows:
    """Readings of one output for a unit force on each coordinate x = (q, w), and for inputs, at angular frequencies w > 0 (f,).

    Z is symmetric up to gyroscopic and circulatory parts.  So ``r^T = Z^-T c^T`` is a response of the transposed model to the
    output's own row: ``forces`` for its weights on q, displacements for its weights on reactions.  By reciprocity, the
    transposed inputs read the output's response to them.
    """

    def __init__(self, model: LinearModel, output: int, loss: Mapping[Label, Factor], inputs: Sequence[int] = ()):
        n, held = model.size, len(model.prescribed)
        rows, drives = [model.measure[[output]]], [model.read_reactions(np.array([output])).tocsr().T]
        if (rate := model.rate[[output]]).nnz:  # an input of its own, which acts by its rate
            rows, drives = [*rows, rate], [*drives, sp.csr_matrix((held, 1))]
        turned = model.skew
        if turned is not None:
            circulatory = [(label, -part) for label, part in turned.circulatory.items()]
            turned = SkewParts(-turned.gyroscopic, ListedParts.of(circulatory, n + held), turned.fluctuations)
        self._count, self._acting = len(inputs), acting(model, np.array(inputs, dtype=int))
        self._force, self._drive = (a.T.tocsr() for a in self._acting.columns(model))
        self._dual = partial(
            replace, model, skew=turned, members=tuple(map(_transposed, model.members)), losses=dict(loss),
            inputs=("row", "rates")[: len(rows)], input_units=("",) * len(rows), rate=None, drive_rate=None,
            force=sp.vstack(rows).T.tocsr(), drive=sp.hstack(drives, format="csr"), _known_curvatures=model._curvatures,
            _known_motions=model._allowed_motions if model.constraints.shape[0] else None,
        )  # fmt: skip
        self._prepared: tuple[Reading, Squares] | None = None

    def at(self, f: np.ndarray, reading: Reading) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sums of squares (sums, s), products (s, p) and responses (s, i) to the inputs.

        And which (f,) of the frequencies are the s solved ones: all, or after Ctrl-C some.
        """
        if self._prepared is None or not self._prepared[0].same(reading):
            others = reading.squares.shape[0] + reading.products.shape[0]
            measure = sp.vstack([reading.squares, reading.products, self._force], format="csr")
            reaction = sp.vstack([sp.csr_matrix((others, self._drive.shape[1])), self._drive], format="csr")
            names = tuple(map(str, range(measure.shape[0])))
            dual = self._dual(outputs=names, output_units=("",) * len(names), measure=measure, reaction=reaction)
            self._prepared = reading, Squares(dual, reading.first)
        sums, values, solved = self._prepared[1].at(f)
        products, responses = np.split(values, [reading.products.shape[0]], axis=1)
        s = 2j * np.pi * f[solved]
        responses = self._acting.response(responses[:, None], s, self._count)[:, 0]
        return sums, products, responses, solved


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
    lossy = _Squares(model.parts, {x: 1.0 if x in laws else eta for x, eta in loss.items()})
    viscous = [_Squares(model.dampings, dict.fromkeys((x for x in model.dampings if x[1] not in LOADED), 1.0))]
    own = None if model.skew is None else model.skew.fluctuations
    if own is not None:
        viscous.append(_Squares(own, dict.fromkeys(own, 1.0)))
    members = [m for m in model.members if m.motion.nnz]
    powers = {owner for owner, mechanism in model.dampings if mechanism == FIELD}.difference(
        owner for owner, _ in own or ()
    )
    if not members and not any(x.labels for x in (lossy, *viscous)):
        # computed from the inputs, since the output may see an undamped resonance that they do not drive
        return [], _silent(powers, set()) or [_NOTHING], *_driven(model, f, output, loss, inputs)
    if f[0] == 0.0:
        _refuse_endless(model, [" / ".join(x) for x in lossy.labels if np.isinf(slope_at_rest(loss[x]))], members)
    if rows is None:  # budgets of one model at other frequencies or temperatures
        rows = _ROWS(model, lambda: Rows(model, output, loss, inputs), output, tuple(loss.items()), tuple(inputs))
    sums, products, responses, solved = rows.at(f, _reading((lossy, *viscous), members))
    w = 2.0 * np.pi * f[solved]
    at_rest = w == 0.0  # there the limits of phi/w
    found: list[Thermal] = []
    negative = set()
    for parts, kind in ((lossy, "structural"), *((x, "viscous") for x in viscous)):
        own_sums, sums = sums[: len(parts.first) - 1], sums[len(parts.first) - 1 :]
        own_products, products = np.split(products, [parts.products.shape[0]], axis=1)
        densities, feeds = parts.forms(own_sums, own_products)
        structural = kind == "structural"
        per = (1.0 / np.where(at_rest, 1.0, w)) if structural else np.ones_like(w)
        for label, density in zip(parts.labels, densities, strict=True):
            # what an element says of its own noise is of its own temperature
            heat = 1.0 if own is not None and parts is viscous[-1] else temperature(model, label[0], room)
            factor = 4.0 * BOLTZMANN * heat * per
            if structural and label in laws:
                phi = np.imag(factor_at(" / ".join(label), laws[label], w))
                factor *= np.where(at_rest, laws[label].slope_at_rest(), phi)
            density *= factor
        if feeds.any():
            negative.update(" / ".join(parts.labels[k]) for k in np.flatnonzero(feeds))
            densities = densities[~feeds]
        found.append(Thermal([x for x, no in zip(parts.labels, feeds, strict=True) if not no], kind, densities))
    for member in members:
        local, products = np.split(products, [member.motion.shape[0]], axis=1)
        per = 4.0 * BOLTZMANN * temperature(model, member.label, room) / w
        for mechanism, power in _of_member(member, w, loss, local):
            found.append(Thermal([(member.label, mechanism)], "structural", (per * power)[None]))
    return found, _silent(powers, negative), responses, solved


def _reading(squares: Sequence[_Squares], members: Sequence[DynamicMember]) -> Reading:
    """What the noise of parts and of members needs of a row, one after the other."""
    first = np.concatenate([[0], *(np.diff(x.first) for x in squares)]).cumsum()
    products = [x.products for x in squares] + [m.motion for m in members]
    return Reading(sp.vstack([x.roots for x in squares], format="csr"), first, sp.vstack(products, format="csr"))


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
    such as those of a long beam, keep their sparse matrices.  Their forms are found from the row r at their coordinates.

    ``roots`` (k, n + l) has the g_k, of each sum from ``first[s]`` to ``first[s + 1]``: all of a part with one sign.
    ``products`` (p, n + l) picks coordinates.
    """

    def __init__(self, parts: StiffnessParts, factors: Mapping[Label, float]):
        self.labels, alike, self._wide = blocks(parts, factors)
        found = [_square_roots(*given) for given in alike]
        none = np.zeros(0, dtype=int), np.zeros((0, 0), dtype=int), np.zeros(0), np.zeros((0, 0))
        of, on, signs, roots = zip(*found, strict=True) if found else ((x,) for x in none)
        sums = 2 * np.concatenate(of) + (np.concatenate(signs) < 0.0)
        lengths = np.repeat([x.shape[1] for x in roots], [len(x) for x in roots])
        entries = (np.concatenate([x.ravel() for x in y]) for y in (roots, on))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        order = np.argsort(sums, kind="stable")
        self.roots = sp.csr_matrix((*entries, starts), shape=(len(lengths), parts.size))[order]
        self._sums, first = np.unique(sums[order], return_index=True)
        self.first = np.append(first, len(sums))
        wide = np.concatenate([np.zeros(0, dtype=int), *(on for on, _ in self._wide.values())])
        self.products = sp.csr_matrix((np.ones(len(wide)), (np.arange(len(wide)), wide)), shape=(len(wide), parts.size))

    def forms(self, sums: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The forms (parts, f), at least zero, by their sums of squares (sums, f) and the row (f, p) that ``products`` picks.

        And which (parts,) of the forms are negative somewhere.  Where a stiff part hardly deforms, its terms cancel to rounding,
        which is not negative.
        """
        count = len(self.labels)
        if len(sums) == count and not np.any(self._sums % 2):
            return sums, np.zeros(count, dtype=bool)
        value = np.zeros((count, len(row)))
        whole = np.zeros_like(value)
        for number, own in zip(self._sums.tolist(), sums, strict=True):
            part, negative = divmod(number, 2)
            value[part] += -own if negative else own
            whole[part] += own
        for k, (on, matrix) in self._wide.items():
            local, row = np.split(row.T, [len(on)])
            row = row.T
            value[k] = np.einsum("cf,cf->f", matrix @ local, local.conj()).real
            local = np.abs(local)
            whole[k] = np.einsum("cf,cf->f", abs(matrix) @ local, local)
        return np.maximum(value, 0.0), np.any(value < -left_by_rounding() * whole, axis=1)


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
