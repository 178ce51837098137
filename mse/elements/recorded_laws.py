"""Laws of elements as records: made once for a class, checked against the law itself, evaluated for many elements at once."""

from __future__ import annotations

import functools
import linecache
import os
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..numerics.program import Program
from ..numerics.record import Expansion, Record, Unrecordable
from ..numerics.recorder import Recorded
from ..validation.arguments import LARGEST
from .definitions import of_mse
from .differentiation import FramePose, Given, moving
from .law_sources import Source, contents, sources

OF_VELOCITIES = ("kinetic", "dissipation")
_LAWS = {
    "energy": ("energy", "gravity_energy"), "constraint": ("constraint",), "measure": ("measure",), "kinetic": ("kinetic",),
    "dissipation": ("dissipation",), "power": ("power",), "momenta": ("kinetic",),
}  # fmt: skip
# what a class may define that is to be used instead of its law
_INSTEAD = {
    "energy": ("evaluate", "forces", "stiffness_parts", "kernel"),
    "constraint": ("constraint_terms", "constraint_kernel"),
}
_OWN = {"_name", "at", "system", "_values"}  # attributes that laws of several objects may differ in
_MOST_CHANGES = 3  # of what a law reads, after which records of it are no longer made


class Shape(NamedTuple):
    """How many frames, internal coordinates and values an element's law has."""

    frames: int
    inner: int
    values: int = 1

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 6 * self.frames + self.inner


class Law:
    """The record of a law: of frames, internal coordinates, what is ``given`` (gravity, multipliers, velocities), and parameters.

    Its results are columns: values (m,), their slopes (m, n), and the second derivatives (n, n) of their sum, each times its
    multiplier.  Those of laws of velocities are by the velocities of the coordinates.  A power has forces as values; in the place
    of second derivatives are the slopes of these by velocities.  Values of "momenta" are a kinetic coenergy and its slopes
    by velocities.
    """

    def __init__(self, obj, law: str, shape: Shape, by_numbers: bool):
        self.shape = shape
        self._record = record = Record()
        n = 12 * shape.frames + shape.inner
        by_rates = law in OF_VELOCITIES
        of_rates = by_rates or law in ("power", "momenta")
        # of a power virtual velocities, on which its slopes do not depend, and actual ones
        count = {"energy": 3, "constraint": shape.values, "measure": shape.values, "power": 2 * shape.size}.get(
            law, shape.size
        )
        given = record.inputs(count, n, varies=of_rates)
        frames, q, self._expansions = _frames(record, shape)
        self._by_rates: dict[int, Expansion] = {}
        self._layout: list[tuple[str, bool]] = []  # names of parameters and of attributes that are inputs, in order
        shadow = self._shadow(obj, n + len(given), by_numbers)
        before = dict(vars(shadow))
        if by_rates:
            self._expansions = {v: Expansion({i: record.one}) for i, v in enumerate(given)}
            frames, rates = moving(frames, Recorded(record, np.array(given)))
            self._values, weights = [_nodes(record, getattr(shadow, law)(frames, q, rates), ())], [record.one]
        elif law == "power":
            virtual, actual = (moving(frames, Recorded(record, np.array(x))) for x in np.reshape(given, (2, -1)))
            power = _nodes(record, shadow.power(virtual[0], q, virtual[1], Given(*actual)), ())
            along = {v: Expansion({i: record.one}) for i, v in enumerate(given[: shape.size])}
            slopes = record.by_variables(power, along)
            self._values = [slopes.get(i, record.zero) for i in range(shape.size)]
            weights = [record.zero] * shape.size
            self._by_rates = {v: Expansion({i: record.one}) for i, v in enumerate(given[shape.size :])}
        elif law == "momenta":
            frames, rates = moving(frames, Recorded(record, np.array(given)))
            along = {v: Expansion({i: record.one}) for i, v in enumerate(given)}
            total = _nodes(record, shadow.kinetic(frames, q, rates), ())
            slopes = record.by_variables(total, along)
            self._values = [total, *(slopes.get(i, record.zero) for i in range(shape.size))]
            weights = [record.zero] * shape.values
        elif law == "energy":
            total = shadow.energy(frames, q)
            if obj.defines("gravity_energy"):
                total = total + shadow.gravity_energy(frames, q, Recorded(record, given))
            self._values, weights = [_nodes(record, total, ())], [record.one]
        else:
            residual = getattr(shadow, law)(frames, q)
            if isinstance(residual, list | tuple):
                residual = np.stack(list(residual))
            elif isinstance(residual, Recorded) and residual.shape == ():
                residual = np.stack([residual])
            self._values, weights = list(_nodes(record, residual, (shape.values,))), given
        for name, value in vars(shadow).items():
            if before.get(name) is not value and not _follows(type(obj), name):
                raise Unrecordable(f"sets {name} of its object")
        products = [record.multiply(w, v) for w, v in zip(weights, self._values, strict=True)]
        self._total = functools.reduce(record.add, products)
        self._programs: dict[int, Program] = {}

    def _shadow(self, obj, first: int, by_numbers: bool):
        """The object with its real parameters and attributes recorded; in no system, whose other objects may change."""
        shadow = object.__new__(type(obj))
        values = dict(obj._values)
        own = {k: v for k, v in vars(obj).items() if not _follows(type(obj), k)}
        vars(shadow).update(own, _values=values, system=None)
        moving = _moving(type(obj))
        for attribute, place in ((False, values), (True, vars(shadow))) if not by_numbers else ():
            for name, value in list(place.items()):
                if _real(value) and (name not in _OWN if attribute else name in moving):
                    nodes = self._record.inputs(np.size(value), first, varies=False)
                    place[name] = Recorded(self._record, np.reshape(nodes, np.shape(value)))
                    self._layout.append((name, attribute))
                    first += np.size(value)
        return shadow

    def parameters(self, obj) -> np.ndarray:
        """What an object gives for the inputs that are parameters."""
        found = [vars(obj)[name] if attribute else obj._values[name] for name, attribute in self._layout]
        return np.concatenate([np.zeros(0), *(np.ravel(x) for x in found)])

    def prepare(self) -> None:
        """Make all programs, which may turn out to be too long."""
        for order in (-1, 0, 1, 2):
            self._program(order)

    def _program(self, order: int) -> Program:
        """The program of values and derivatives up to an order; -1 for one value and its rounding."""
        if order not in self._programs:
            record, n, m = self._record, self.shape.size, self.shape.values
            outputs = [(v, r) for r, v in enumerate(self._values)]
            if order < 0:
                outputs += [(record.rounding(v), m + r) for r, v in enumerate(self._values)]
            if order >= 1:
                for r, v in enumerate(self._values):
                    slopes = record.by_variables(v, self._expansions)
                    outputs += [(node, m + r * n + i) for i, node in slopes.items()]
            if order == 2:
                outputs += [(node, m + m * n + i * n + j) for i, j, node in self._second()]
            self._programs[order] = record.program((v, c) for v, c in outputs if v != record.zero)
        return self._programs[order]

    def _second(self) -> Iterator[tuple[int, int, int]]:
        """Entries i, j of the second derivatives, or of what a power has in their place, as nodes."""
        for i, value in enumerate(self._values) if self._by_rates else ():
            yield from ((i, j, node) for j, node in self._record.by_variables(value, self._by_rates).items())
        for (i, j), node in self._record.hessian(self._total, self._expansions).items():
            yield from [(i, j, node), (j, i, node)][: 1 + (i != j)]

    def run(self, inputs: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (E, m), slopes (E, m, n) and second derivatives (E, n, n), of orders that are not asked for empty."""
        n, m = self.shape.size, self.shape.values
        slopes, second = m + m * n, m + m * n + n * n
        out = self._program(order).run(inputs, (m, slopes, second)[order])
        return out[:, :m], out[:, m:slopes].reshape(len(out), -1, n), out[:, slopes:].reshape(len(out), -1, n)

    def agrees(self, inputs: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether the record gives the same values (E, m) as the law itself, to rounding; the first ones are enough."""
        out, count = self._program(-1).run(inputs, 2 * self.shape.values), values.shape[1]
        found, rounding = bounded(out[:, :count]), out[:, self.shape.values : self.shape.values + count]
        with np.errstate(invalid="ignore"):
            same = (np.abs(found - values) <= rounding) | (np.isnan(found) & np.isnan(values)) | (found == values)
        return same.all(axis=1)


def bounded(values: np.ndarray) -> np.ndarray:
    """Values with NaN in place of numbers that are too large to compute with."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def _real(value: Any) -> bool:
    return type(value) is float or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _follows(cls: type, name: str) -> bool:
    """Whether an attribute follows from others, and is kept for speed."""
    return name in cls._remembered or isinstance(getattr(cls, name, None), functools.cached_property)


def _nodes(record: Record, value: Any, shape: tuple[int, ...]) -> Any:
    """The nodes of what a law gives, of an expected shape."""
    if not isinstance(value, Recorded):
        if not isinstance(value, float | int | np.ndarray):
            raise Unrecordable(f"gives a {type(value).__name__}")
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise Unrecordable("gives no real numbers")
        value = Recorded(record, np.reshape([record.constant(x) for x in array.ravel()], array.shape))
    if value.shape != shape:
        raise Unrecordable(f"gives values of shape {value.shape}")
    return value.nodes.tolist()


#: Frames and internal coordinates of each of several objects.
Places = Sequence[tuple[Sequence[FramePose], np.ndarray]]


def rows_of(places: Places) -> np.ndarray:
    """Places as records take them: origins, orientations and internal coordinates of an object in each row."""
    return np.array([np.concatenate([*(f.o for f in fs), *(np.ravel(f.U) for f in fs), q]) for fs, q in places])


def _frames(record: Record, shape: Shape) -> tuple[list[FramePose], Recorded, dict[int, Expansion]]:
    """Recorded frames and internal coordinates, and how they depend on the coordinates (dx, dy, dz, ax, ay, az, ..., q)."""
    count = shape.frames
    origins = np.reshape(record.inputs(3 * count, 0), (count, 3))
    turns = np.reshape(record.inputs(9 * count, 3 * count), (count, 3, 3))
    inner = record.inputs(shape.inner, 12 * count)
    expansions = {v: Expansion({6 * count + k: record.one}) for k, v in enumerate(inner)}
    half = record.constant(0.5)
    for k in range(count):
        expansions |= {int(v): Expansion({6 * k + i: record.one}) for i, v in enumerate(origins[k])}
        for column in turns[k].T.tolist():
            for i in range(3):
                # exp([a]x) u to second order: u + a x u + (a (a.u) - (a.a) u)/2
                a, b, c = (6 * k + 3 + (i + step) % 3 for step in range(3))
                second, third = column[(i + 1) % 3], column[(i + 2) % 3]
                opposite = record.negate(column[i])
                mixed = {(a, b): record.multiply(half, second), (a, c): record.multiply(half, third)}
                curvatures = {(b, b): opposite, (c, c): opposite, **mixed}
                expansions[column[i]] = Expansion({b: third, c: record.negate(second)}, curvatures)
    frames = [FramePose(Recorded(record, o), Recorded(record, u)) for o, u in zip(origins, turns, strict=True)]
    return frames, Recorded(record, np.array(inner, dtype=int)), expansions


def _moving(cls: type) -> tuple[str, ...]:
    """The parameters of a class that forces depend on."""
    return tuple(name for name, p in cls.declared_parameters.items() if p.moves)


class _Laws:
    """The records of one law of a class, by all that they take as constants."""

    def __init__(self, cls: type, law: str):
        self.cls, self.law = cls, law
        self.moving = _moving(cls)
        self.changes = 0
        self.begin()

    def begin(self) -> None:
        """Forget all records, and read again what the law reads."""
        self.found: dict[Any, tuple[Law | str, Any]] = {}
        self.by_numbers = False  # whether records have the parameters of one object as constants
        self.sources: list[Source] = []
        self.refused = ""
        try:
            if self.changes > _MOST_CHANGES:
                raise Unrecordable(f"reads {self.changing}, which changes again and again")
            self.sources = [s for law in _LAWS[self.law] for s in sources(self.cls, law)]
        except Unrecordable as error:
            self.refused = str(error)
        except Exception as error:  # whatever attributes may raise that it reads
            self.refused = f"reads what cannot be compared later ({type(error).__name__}: {error})"

    def renewed(self) -> bool:
        """Whether something that the law reads has changed, so that all records of it were made anew."""
        for source in self.sources:
            if source.changed:
                self.changing = source.name
                self.changes += 1
                self.begin()
                return True
        return False

    def of(self, obj, shape: Shape) -> Law | str:
        """The record of an object's law; the reason why there is none."""
        if self.refused:
            return self.refused
        held = [(k, value) for k, value in vars(obj).items() if k not in _OWN and not _follows(self.cls, k)]
        try:
            read = {name: value for name, value in obj._values.items() if name in self.moving}
            key = (shape, *self._constants(read, True), *self._constants(dict(held), False))
            if key not in self.found:
                self.found[key] = self._recorded(obj, shape), held  # what has an identity in the key stays alive
                if self.by_numbers:  # as this attempt found
                    return self.of(obj, shape)
            return self.found[key][0]
        except Unrecordable as error:
            return str(error)

    def _constants(self, values: dict[str, Any], parameters: bool) -> list:
        out = []
        for name, value in values.items():
            if not _real(value) or self.by_numbers:
                plain = parameters or isinstance(value, int | str | np.ndarray | float)
                out.append((name, contents(value, name) if plain else id(value)))
        return out

    def _recorded(self, obj, shape: Shape) -> Law | str:
        by_numbers = self.by_numbers
        try:
            with np.errstate(all="ignore"):
                found = Law(obj, self.law, shape, by_numbers)
                found.prepare()
        except Exception as error:
            cause = error.__cause__  # numpy raises its own error from the error of its argument
            if isinstance(cause, Unrecordable):
                error = cause
            if isinstance(error, Unrecordable) and error.by_parameters and not by_numbers:
                self.by_numbers = True
                return ""
            return _told(error)
        changed = [source.name for source in self.sources if source.changed]
        if changed:  # by the law itself, as it would at every call
            self.refused, self.sources = f"changes {changed[0]}", []
            return self.refused
        return found


def _told(error: Exception) -> str:
    """What a law did that cannot be recorded, and where."""
    said = (
        str(error)
        if isinstance(error, Unrecordable)
        else f"fails with recorded values ({' '.join(str(error).split())})"
    )
    inside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    outside = (os.path.dirname(np.__file__), inside)
    for place, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = place.f_code.co_filename
        if not name.startswith(outside):
            code = linecache.getline(name, line, place.f_globals).strip()
            return f"{said} in line {line} of {os.path.basename(name)}{f' ({code})' if code else ''}"
    return said


_known: weakref.WeakKeyDictionary[type, dict[str, _Laws]] = weakref.WeakKeyDictionary()


def recordable(cls: type, law: str) -> bool:
    """Whether objects of a class have a law that is differentiated exactly, and nothing that is to be used instead."""
    instead = any(map(cls.defines, _INSTEAD.get(law, ())))
    return cls.differentiation == "exact" and any(map(cls.defines, _LAWS[law])) and not instead


class Together:
    """The recorded laws of many objects of one class, evaluated together; objects without a record are left to others."""

    def __init__(self, objects: Sequence, law: str, shape: Shape):
        self.objects, self.law, self.shape = list(objects), law, shape
        self._records: list[Law] = []
        self._which: np.ndarray | None = None  # record of each object, -1 for none
        self.refused: dict[str, None] = {}  # reasons

    def __reduce__(self):
        return Together, (self.objects, self.law, self.shape)  # other processes record again

    @property
    def _laws(self) -> _Laws:
        cls = type(self.objects[0])
        by_law = _known.setdefault(cls, {})
        if self.law not in by_law:
            by_law[self.law] = _Laws(cls, self.law)
        return by_law[self.law]

    def changed(self, numbers: Sequence[int], objects: Sequence) -> Together:
        """The same with some other objects in the place of those numbered."""
        new = Together(objects, self.law, self.shape)
        if self._which is not None:
            new._records, new._which, new._checked = list(self._records), self._which.copy(), self._checked.copy()
            new._parameters, new.refused = [p.copy() for p in self._parameters], dict(self.refused)
            new._version = self._version
            new._read(numbers)
        return new

    def _begin(self, laws: _Laws) -> None:
        count = len(self.objects)
        self._version, self._records, self.refused = laws.changes, [], {}
        self._which, self._checked = np.full(count, -1), np.zeros(count, dtype=bool)
        self._parameters: list[np.ndarray] = []
        self._read(range(count))

    def _read(self, numbers: Sequence[int]) -> None:
        """Find the records and the parameters of some objects."""
        laws, places = self._laws, {id(law): k for k, law in enumerate(self._records)}
        for k in numbers:
            law = laws.of(self.objects[k], self.shape)
            self._checked[k] = False
            if isinstance(law, str):
                self._which[k] = -1
                self.refused[law] = None
                continue
            at = places.setdefault(id(law), len(self._records))
            own = law.parameters(self.objects[k])
            if at == len(self._records):
                self._records.append(law)
                self._parameters.append(np.zeros((len(self.objects), len(own))))
            self._which[k], self._parameters[at][k] = at, own

    def evaluate(
        self, part: slice, inputs: tuple[np.ndarray, np.ndarray], order: int, plain: Callable[[int], np.ndarray],
        put: Callable[[np.ndarray | slice, tuple], None],
    ) -> np.ndarray:  # fmt: skip
        """Give the values of some objects to ``put``, with their places among them; return the places of those without a record.

        ``inputs`` are their poses and internal coordinates (E, i), and what is given to all (g,) or each (E, g).  Where an
        object is evaluated first, ``plain`` gives its values by the law itself, which the record has to agree with.
        """
        laws = self._laws
        if laws.renewed() or self._which is None or self._version != laws.changes:
            self._begin(laws)
        numbers = range(len(self.objects))[part]
        for at, law in enumerate(self._records):
            here = np.flatnonzero(self._which[part] == at)
            if not len(here):
                continue
            given = np.broadcast_to(inputs[1], (len(numbers), np.shape(inputs[1])[-1]))
            columns = np.hstack([inputs[0], given, self._parameters[at][part]])[here]
            new = np.flatnonzero(~self._checked[part][here])
            if len(new):
                members = np.array(numbers)[here[new]]
                values = np.array([plain(k) for k in members.tolist()]).reshape(len(new), -1)
                wrong = members[~law.agrees(columns[new], values)]
                self._checked[members] = True
                if len(wrong):
                    self._which[wrong] = -1
                    self.refused["gives other values when it is called again than when it was recorded"] = None
                    keep = self._which[part][here] == at
                    here, columns = here[keep], columns[keep]
            if len(here):
                put(slice(None) if len(here) == len(numbers) else here, law.run(columns, order))
        return np.flatnonzero(self._which[part] < 0)

    @property
    def notes(self) -> list[str]:
        """The notes on laws that could not be recorded."""
        cls = type(self.objects[0])
        if of_mse(cls):
            return []
        what = f"differentiated the {self.law} of {cls.__name__} object by object, which takes longer, since it"
        return [f"{what} {reason}" for reason in self.refused]
