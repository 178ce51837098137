"""Results as named arrays and a description, and back: what all kinds of files have in common.

A record has a kind, a description (names, texts, numbers; JSON) and arrays.  Lengths are counted by letters: an array of
shape ("o", "i") has as many rows as there are outputs, whichever array or list came first.  Reading refuses
whatever does not fit together, so that no compiled code meets an index out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...analysis.frequency.response import FrequencyResponse
from ...analysis.noise.budget import NoiseBudget
from ...analysis.time.left_out import LeftOut
from ...analysis.time.response import TimeResponse
from ...analysis.time.state_space import StateSpace
from ...analysis.time.steps import NODES
from ...elements.coordinates import kinds, with_kinds
from ...errors import FileError, ModelError
from ...linear.linear_model import InterfaceFrame, LinearModel
from ...linear.skew_parts import CIRCULATORY, DAMPING, SkewParts
from ...linear.stiffness_parts import ListedParts, StiffnessParts
from ...model.parameter_record import ParameterRecord
from ...validation import json_shapes as js

Saved = LinearModel | StateSpace | FrequencyResponse | TimeResponse | NoiseBudget

_MOST = 2**31 - 1  # rows or columns of a matrix

SHAPE = js.entries(
    {
        "kind": js.word("linear model", "state space", "frequency response", "time response", "noise budget"),
        "version": js.text,
        "name": js.text,
        "names": js.named(js.each(js.text)),
        "numbers": js.named(js.number),
        "shapes": js.named(js.each(js.whole)),
        "parameters": js.named(js.named(js.data)),
    }
)


@dataclass
class Record:
    """One result as data."""

    kind: str
    name: str
    parameters: ParameterRecord
    names: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    shapes: dict[str, list[int]] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def put(self, **arrays: np.ndarray | sp.csr_matrix) -> None:
        """Arrays by name; a sparse matrix becomes three of them."""
        for key, value in arrays.items():
            if sp.issparse(value):
                pieces = {f"{key}_data": value.data, f"{key}_indices": value.indices, f"{key}_indptr": value.indptr}
                self.shapes[key] = list(value.shape)
            else:
                pieces = {key: np.asarray(value)}
            self.arrays |= pieces
            self.shapes |= {name: list(piece.shape) for name, piece in pieces.items()}

    def tell(self, result: Any, *fields: str) -> None:
        """Lists of names that a result has."""
        self.names |= {key: list(map(str, getattr(result, key))) for key in fields}


# -- writing ----------------------------------------------------------------------------------------------------------
_CHANNELS = ("inputs", "outputs", "input_units", "output_units")


def packed(result: Saved) -> Record:
    """The record of a result; FileError where it has what no file can hold."""
    for cls, (kind, pack, _) in _KINDS.items():
        if isinstance(result, cls):
            record = Record(kind, result.name, result.parameters)
            pack(result, record)
            return record
    raise FileError(f"a {type(result).__name__} cannot be saved; expected a linear model, state space or response")


def _pack_linear_model(model: LinearModel, record: Record) -> None:
    if model.members:
        labels = ", ".join(list(dict.fromkeys(m.label for m in model.members))[:6])
        raise FileError(
            f"{model.name}: the stiffness of {labels} depends on the frequency, which no file can hold; expected constant "
            "matrices; choose form='elements' for beams, or save a frequency response"
        )
    record.tell(model, *_CHANNELS, "coordinates", "prescribed", "owners")
    domains, units = kinds(model.coordinates)
    if any(domains):
        record.names |= {"domains": domains, "coordinate_units": units}
    _put_parts(record, "part", model.parts)
    record.names["interfaces"] = list(model.interfaces)
    frames = list(model.interfaces.values())
    _put_parts(record, "damping", model.dampings)
    record.put(
        full_mass=model.full_mass, force=model.force, drive=model.drive,
        measure=model.measure, reaction=model.reaction, constraints=model.constraints, self_stress=model.self_stress,
        bodies=model.bodies, scale=model.scale, determined=model.determined, sharing=model.sharing,
        interface_first=np.array([-1 if f.first is None else f.first for f in frames], dtype=int),
        interface_lever=np.reshape([f.lever for f in frames], (-1, 3)),
        interface_axes=np.reshape([f.U for f in frames], (-1, 3, 3)),
    )  # fmt: skip
    if model.skew is not None:
        _put_parts(record, "skew", model.skew.circulatory)
        record.put(gyroscopic=model.skew.gyroscopic)
    if model.losses:
        record.names |= {
            "loss_objects": [owner for owner, _ in model.losses],
            "loss_mechanisms": [mechanism for _, mechanism in model.losses],
        }
        record.put(loss_factors=np.array(list(model.losses.values())))
    for key, value in (("affine", model.affine), ("noise", model._noise)):
        if value is not None:
            record.put(**{key: value})


def _put_parts(record: Record, prefix: str, parts: StiffnessParts) -> None:
    part, rows, columns, values = parts.entries()
    record.names |= {
        f"{prefix}_objects": [owner for owner, _ in parts],
        f"{prefix}_mechanisms": [mechanism for _, mechanism in parts],
    }
    pieces = {"number": part, "rows": rows, "columns": columns, "values": values, "total": parts.total()}
    record.put(**{f"{prefix}_{name}": piece for name, piece in pieces.items()})


def _pack_state_space(ss: StateSpace, record: Record) -> None:
    record.tell(ss, *_CHANNELS, "states", "free")
    record.numbers |= {"with_mass": ss.with_mass, "zeros": ss.zeros}
    record.put(A=ss.A, B=ss.B, C=ss.C, D=ss.D, shift=ss.shift, scaling=ss.scaling[0], scaling_inverse=ss.scaling[1])
    left = ss.left_out
    if left is not None:
        record.numbers["up_to_hz"] = left.up_to_hz
        record.put(
            left_pairs=left.pairs, left_linear=left.linear, left_constant=left.constant, left_rates=left.rates,
            left_single=left.single, left_response=left.response,
            left_N=left.joined[0], left_B=left.joined[1], left_C=left.joined[2],
        )  # fmt: skip


def _pack_frequency_response(response: FrequencyResponse, record: Record) -> None:
    record.tell(response, *_CHANNELS, "notes")
    record.put(frequencies_hz=response.frequencies_hz, values=response.values)


def _pack_noise_budget(budget: NoiseBudget, record: Record) -> None:
    record.tell(budget, "objects", "mechanisms", "kinds", "notes")
    record.names |= {"output": [budget.output], "unit": [budget.unit]}
    record.put(frequencies_hz=budget.frequencies_hz, densities=budget.densities)


def _pack_time_response(history: TimeResponse, record: Record) -> None:
    record.tell(history, *_CHANNELS)
    record.names |= {"states": list(history.final_state), "holds": list(history.holds)}
    record.put(
        time=history.time, values=history.values, driven=history.driven, between=history.between,
        final_state=np.array(list(history.final_state.values()), dtype=float),
        initial_state=np.array([history.initial_state.get(name, 0.0) for name in history.final_state], dtype=float),
    )  # fmt: skip


# -- reading ----------------------------------------------------------------------------------------------------------
class Reader:
    """A record that was read, whose pieces are checked as they are taken."""

    def __init__(self, path: Path, about: dict, arrays: dict[str, np.ndarray]):
        self.path, self._about, self._arrays = path, about, arrays
        self._lengths: dict[str, int] = {}
        self.name = about["name"]
        self.parameters = ParameterRecord(about["parameters"])

    def damaged(self, what: str, found: str, expected: str) -> FileError:
        """The error of a piece that does not fit."""
        return FileError(
            f"{self.path}: {what} {found}; expected {expected}; the file is damaged or was made by another program"
        )

    def has(self, key: str) -> bool:
        """Whether there is such an array, number or list of names."""
        return key in self._arrays or key in self._about["numbers"] or key in self._about["names"]

    def names(self, key: str, length: str) -> tuple[str, ...]:
        """A list of names, as many as a letter counts."""
        if key not in self._about["names"]:
            raise self.damaged(f"the list {key!r}", "is missing", "one")
        found = tuple(self._about["names"][key])
        self._count(key, length, len(found))
        return found

    def number(self, key: str, minimum: float, *, whole: bool = False) -> float:
        """A number."""
        found = self._about["numbers"].get(key)
        if found is None or found < minimum or (whole and not isinstance(found, int)):
            raise self.damaged(f"the number {key!r}", f"is {found}", f"at least {minimum:g}")
        return found

    def array(self, key: str, shape: str, kind: str = "f", *, finite: bool = True) -> np.ndarray:
        """An array whose lengths are counted by the letters of ``shape``, of floats, complex numbers or integers."""
        if key not in self._arrays:
            raise self.damaged(f"the array {key!r}", "is missing", "one")
        found = self._arrays[key]
        if found.dtype.kind != kind or found.ndim != len(shape):
            expected = f"{ {'f': 'real', 'c': 'complex', 'i': 'whole'}[kind] } numbers in {len(shape)} dimensions"
            raise self.damaged(f"the array {key!r}", f"has {found.dtype} in {found.ndim} dimensions", expected)
        for letter, length in zip(shape, found.shape, strict=True):
            self._count(key, letter, length)
        if finite and kind != "i" and not np.isfinite(found).all():
            raise self.damaged(f"the array {key!r}", "has numbers that are not finite", "finite ones")
        return found

    def numbered(self, key: str, shape: str, count: int, minimum: int = 0) -> np.ndarray:
        """Whole numbers from ``minimum`` to below ``count``."""
        found = self.array(key, shape, "i")
        if len(found) and not (minimum <= found.min() and found.max() < count):
            raise self.damaged(
                f"the array {key!r}", f"has numbers from {found.min()} to {found.max()}", f"{minimum} to {count - 1}"
            )
        return found

    def sparse(self, key: str, rows: str, columns: str) -> sp.csr_matrix:
        """A sparse matrix, checked whole."""
        data = self.array(f"{key}_data", "*")
        indices, indptr = self.array(f"{key}_indices", "*", "i"), self.array(f"{key}_indptr", "*", "i")
        shape = tuple(self._about["shapes"].get(key, ()))
        if len(shape) != 2 or max(shape) > _MOST:
            raise self.damaged(f"the sparse matrix {key!r}", f"has the shape {shape}", "rows and columns")
        self._count(key, rows, shape[0])
        self._count(key, columns, shape[1])
        try:
            matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
            matrix.check_format(full_check=True)
        except (ValueError, IndexError, OverflowError) as error:
            raise self.damaged(f"the sparse matrix {key!r}", f"is none ({error})", f"one of shape {shape}") from None
        return matrix

    def length(self, letter: str, value: int | None = None) -> int:
        """How many a letter stands for; ``value`` says so."""
        if value is not None:
            self._lengths[letter] = value
        return self._lengths[letter]

    def _count(self, key: str, letter: str, length: int) -> None:
        if letter.isdigit():
            known = int(letter)
        elif letter == "*":
            return
        else:
            known = self._lengths.setdefault(letter, length)
        if known != length:
            raise self.damaged(f"{key!r}", f"has the length {length}", f"{known}")

    def channels(self) -> dict[str, tuple[str, ...]]:
        """Names and units of inputs and outputs."""
        return {key: self.names(key, key[0]) for key in _CHANNELS}


def unpacked(path: Path, about: dict, arrays: dict[str, np.ndarray]) -> Saved:
    """The result of a record; FileError where its pieces do not fit together."""
    for kind, _, unpack in _KINDS.values():
        if about["kind"] == kind:
            return unpack(Reader(path, about, arrays))
    raise AssertionError("the shape allows no other kind")


def _read_linear_model(r: Reader) -> LinearModel:
    channels = r.channels()
    coordinates, prescribed = r.names("coordinates", "n"), r.names("prescribed", "l")
    n, width = len(coordinates), r.length("x", len(coordinates) + len(prescribed))
    parts = _read_parts(r, "part", "p", "e", width, "stiffness")
    if r.has("damping_number"):
        dampings = _read_parts(r, "damping", "c", "v", width, "damping")
    else:  # of a version that saved the sum alone
        damping = ((r.name, DAMPING), r.sparse("full_damping", "x", "x"))
        dampings = ListedParts.of([damping][: damping[1].nnz], width, "damping")
    frames = r.names("interfaces", "f")
    first = r.numbered("interface_first", "f", max(n - 5, 0), -1)
    levers, axes = r.array("interface_lever", "f3"), r.array("interface_axes", "f33")
    interfaces = {
        name: InterfaceFrame(None if k < 0 else int(k), lever, u)
        for name, k, lever, u in zip(frames, first, levers, axes, strict=True)
    }
    determined = r.numbered("determined", "m", n)
    if r.has("domains"):
        try:
            coordinates = with_kinds(coordinates, r.names("domains", "n"), r.names("coordinate_units", "n"))
        except ModelError as error:
            raise r.damaged("the list 'domains'", f"is wrong ({error})", "known ones") from None
    return LinearModel(
        name=r.name, coordinates=coordinates, prescribed=prescribed, owners=r.names("owners", "n"), **channels,
        full_mass=r.sparse("full_mass", "x", "x"), dampings=dampings, parts=parts,
        force=r.sparse("force", "x", "i"), drive=r.sparse("drive", "l", "i"),
        measure=r.sparse("measure", "o", "x"), reaction=r.sparse("reaction", "o", "l"),
        constraints=r.sparse("constraints", "m", "x"), self_stress=r.sparse("self_stress", "l", "d"),
        bodies=r.numbered("bodies", "n", 2**62, -1), scale=r.array("scale", "n"), determined=determined,
        sharing=r.array("sharing", "l"), interfaces=interfaces,
        affine=r.array("affine", "n") if r.has("affine") else None,
        _noise=r.array("noise", "n") if r.has("noise") else None, skew=_read_skew(r, width),
        losses=_read_losses(r, parts.labels), parameters=r.parameters,
    )  # fmt: skip


def _read_parts(r: Reader, key: str, label: str, entry: str, width: int, quantity: str) -> ListedParts:
    """Named parts on ``width`` coordinates, whose labels and entries two letters count; older files have no total."""
    objects = r.names(f"{key}_objects", label)
    named = r.has(f"{key}_mechanisms")  # not in older files, of circulatory parts
    labels = tuple(
        zip(objects, r.names(f"{key}_mechanisms", label) if named else [CIRCULATORY] * len(objects), strict=True)
    )
    entries = (
        r.numbered(f"{key}_number", entry, len(labels)), r.numbered(f"{key}_rows", entry, width),
        r.numbered(f"{key}_columns", entry, width), r.array(f"{key}_values", entry),
    )  # fmt: skip
    total = r.sparse(f"{key}_total", "x", "x") if r.has(f"{key}_total_data") else None
    return ListedParts(labels, width, entries, quantity, total)


def _read_losses(r: Reader, known: tuple[tuple[str, str], ...]) -> dict[tuple[str, str], float]:
    if not r.has("loss_factors"):
        return {}
    factors = r.array("loss_factors", "y")
    labels = tuple(zip(r.names("loss_objects", "y"), r.names("loss_mechanisms", "y"), strict=True))
    for label, eta in zip(labels, factors, strict=True):
        if label not in known or eta < 0.0:
            raise r.damaged(f"the loss factor of {' / '.join(label)}", f"is {eta:g}", "one of a part, at least 0")
    return dict(zip(labels, factors.tolist(), strict=True))


def _read_skew(r: Reader, width: int) -> SkewParts | None:
    if not r.has("skew_number"):
        return None
    return SkewParts(r.sparse("gyroscopic", "x", "x"), _read_parts(r, "skew", "h", "t", width, "stiffness"))


def _read_state_space(r: Reader) -> StateSpace:
    channels, states = r.channels(), r.names("states", "s")
    with_mass, zeros = int(r.number("with_mass", 0, whole=True)), int(r.number("zeros", 0, whole=True))
    if 2 * with_mass > len(states) or zeros > len(states):
        raise r.damaged(
            "the counts of states", f"are {with_mass} and {zeros}", f"less than the {len(states)} that there are"
        )
    left = None
    if r.has("up_to_hz"):
        left = LeftOut(
            name=r.name, up_to_hz=float(r.number("up_to_hz", 0.0)), **channels, pairs=r.array("left_pairs", "k2"),
            linear=r.array("left_linear", "koi"), constant=r.array("left_constant", "koi"),
            rates=r.array("left_rates", "r"), single=r.array("left_single", "roi"),
            joined=(r.array("left_N", "dd"), r.array("left_B", "di"), r.array("left_C", "od")),
            response=r.array("left_response", "3oi", finite=False),
        )  # fmt: skip
    return StateSpace(
        name=r.name, A=r.array("A", "ss"), B=r.array("B", "si"), C=r.array("C", "os"), D=r.array("D", "oi"),
        states=states, **channels, with_mass=with_mass, shift=r.array("shift", "si"),
        scaling=(r.array("scaling", "ss"), r.array("scaling_inverse", "ss")), free=r.names("free", "z"), zeros=zeros,
        parameters=r.parameters, left_out=left,
    )  # fmt: skip


def _read_frequency_response(r: Reader) -> FrequencyResponse:
    return FrequencyResponse(
        name=r.name, frequencies_hz=r.array("frequencies_hz", "f"), values=r.array("values", "foi", "c"), **r.channels(),
        notes=r.names("notes", "*"), parameters=r.parameters,
    )  # fmt: skip


def _read_noise_budget(r: Reader) -> NoiseBudget:
    (output,), (unit,) = r.names("output", "1"), r.names("unit", "1")
    names = {key: r.names(key, "s") for key in ("objects", "mechanisms", "kinds")}
    return NoiseBudget(
        name=r.name, output=output, unit=unit, frequencies_hz=r.array("frequencies_hz", "f"), **names,
        densities=r.array("densities", "sf"), notes=r.names("notes", "*"), parameters=r.parameters,
    )  # fmt: skip


def _read_time_response(r: Reader) -> TimeResponse:
    channels, states = r.channels(), r.names("states", "s")
    final = r.array("final_state", "s", finite=False).tolist()
    initial = r.array("initial_state", "s", finite=False).tolist()
    known = r.has("holds")  # not in files of versions before
    holds = r.names("holds", "h") if known else ()
    between = r.array("between", "*b", finite=False) if known else np.zeros((0, 0))
    if holds and (len(holds) != len(channels["inputs"]) or not set(holds) <= set(NODES)):
        raise r.damaged("the list 'holds'", f"is {', '.join(holds)}", f"one of {', '.join(NODES)} for each input")
    return TimeResponse(
        name=r.name, time=r.array("time", "t"), values=r.array("values", "to", finite=False),
        driven=r.array("driven", "ti", finite=False), **channels,
        final_state=dict(zip(states, final, strict=True)), parameters=r.parameters,
        initial_state={name: value for name, value in zip(states, initial, strict=True) if value},
        holds=holds, between=between,
    )  # fmt: skip


_KINDS: dict[type, tuple[str, Callable[[Any, Record], None], Callable[[Reader], Saved]]] = {
    LinearModel: ("linear model", _pack_linear_model, _read_linear_model),
    StateSpace: ("state space", _pack_state_space, _read_state_space),
    FrequencyResponse: ("frequency response", _pack_frequency_response, _read_frequency_response),
    TimeResponse: ("time response", _pack_time_response, _read_time_response),
    NoiseBudget: ("noise budget", _pack_noise_budget, _read_noise_budget),
}
