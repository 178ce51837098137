"""Laws of elements as records: made once for a class, checked against the law itself, evaluated for many elements at once."""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..numerics.record import Unrecordable
from ..validation.arguments import numbers
from .definitions import of_mse
from .differentiation import OF_PLACES, differences, hardly_moving, law_values, members, regular, stiffness_of
from .law_record import OWN, Law, Layout, Shape, bounded, follows, is_real, placed, rows_of
from .law_sources import Source, contents, sources

# what a class may define that is to be used instead of its law
_INSTEAD = {
    "energy": ("evaluate", "forces", "stiffness_parts", "kernel"),
    "constraint": ("constraint_terms", "constraint_kernel"),
}
# Besides one for each object.  A law that takes more ways than this is a loop over values:
# tests/elements/test_recorded_laws.py::test_a_law_that_takes_ever_other_ways_goes_by_itself.
_MOST_BRANCHES = 32
_MOST_CHANGES = 3  # of what a law reads, after which records of it are no longer made


class Laws:
    """The records of one law of a class, by all that they take as constants."""

    def __init__(self, cls: type, law: str):
        self.cls, self.law = cls, law
        self.moving = {name for name, p in cls.declared_parameters.items() if p.moves}  # forces depend on these
        self.changes = 0
        self._begin("")

    def _begin(self, changed: str) -> None:
        """Forget all records, since a source of the law has ``changed``, and read again what the law reads."""
        self.found: dict[Any, tuple[Branches, Any]] = {}
        self.sources: list[Source] = []
        self.refused = ""
        try:
            if self.changes > _MOST_CHANGES:
                raise Unrecordable(f"reads {changed}, which changes again and again")
            self.sources = [s for law in members(self.law) for s in sources(self.cls, law)]
        except Unrecordable as error:
            self.refused = str(error)
        except Exception as error:  # whatever attributes may raise that it reads
            self.refused = f"reads what cannot be compared later ({type(error).__name__}: {error})"

    def changed(self) -> str:
        """What has changed of all that the law reads, by name; "" for nothing."""
        return next((source.name for source in self.sources if source.changed), "")

    def renew(self) -> None:
        """Forget all records if something that the law reads has changed."""
        if changed := self.changed():
            self.changes += 1
            self._begin(changed)

    def of(self, obj, shape: Shape) -> Branches:
        """The records of an object's law, found or still to be made; Unrecordable where there can be none."""
        if self.refused:
            raise Unrecordable(self.refused)
        held = {k: value for k, value in vars(obj).items() if k not in OWN and not follows(self.cls, k)}
        read = {name: value for name, value in obj._values.items() if name in self.moving}
        layout: list[tuple[str, bool]] = []
        key: list[Any] = [shape]
        for attribute, values in ((False, read), (True, held)):
            for name, value in values.items():
                if is_real(value):
                    layout.append((name, attribute))
                    key.append((name, type(value), np.shape(value)))
                else:
                    plain = not attribute or isinstance(value, int | str | np.ndarray | float)
                    key.append((name, contents(value, name) if plain else id(value)))
        # what has an identity in the key stays alive
        return self.found.setdefault(tuple(key), (Branches(self, shape, layout), held))[0]


class Branches:
    """The records of a law for all ways through what it asks."""

    def __init__(self, owner: Laws, shape: Shape, layout: Layout):
        self._owner, self._shape, self._layout = owner, shape, layout
        self.laws: list[Law] = []
        self.refused = ""

    def parameters(self, obj) -> np.ndarray:
        """What an object gives for the inputs that are parameters."""
        found = [vars(obj)[name] if attribute else obj._values[name] for name, attribute in self._layout]
        return np.concatenate([np.zeros(0), *(np.ravel(x) for x in found)])

    def of(
        self, columns: np.ndarray, objects: Callable, most: int, order: int
    ) -> Iterator[tuple[Law, int, np.ndarray]]:
        """The records that serve rows of inputs (E, i) up to an order: each with its number and the rows."""
        left, number = np.arange(len(columns)), 0
        while len(left):
            if number == len(self.laws) and (self.refused or number >= most):
                return
            try:
                with np.errstate(all="ignore"):
                    if number == len(self.laws):
                        self.laws.append(self._one_more(columns[left[0]], objects(left[0]), order))
                    law = self.laws[number]
                    law.prepare(order)
            except Exception as error:  # of a new record, or of derivatives of higher order, which may be too long
                self.refused = _told(error)
                return
            served = law.serves(columns[left])
            yield law, number, left[served]
            left, number = left[~served], number + 1

    def _one_more(self, columns: np.ndarray, obj, order: int) -> Law:
        """A record that serves an object's inputs (i,), for an order."""
        place = columns[: len(columns) - len(self.parameters(obj))]
        law = Law(obj, self._owner.law, self._shape, self._layout, place)
        law.prepare(order)
        if not law.serves(columns[None])[0]:
            raise Unrecordable("asks conditions that answer otherwise when they are asked again")
        if changed := self._owner.changed():  # by the law itself, as it would at every call
            self._owner.sources, self._owner.refused = [], f"changes {changed}"
            raise Unrecordable(self._owner.refused)
        return law


def _told(error: Exception) -> str:
    """What a law did that cannot be recorded, and where."""
    # numpy raises its own error from it
    cause = error.__cause__ if isinstance(error.__cause__, Unrecordable) else error
    said = " ".join(str(cause).split())
    if not isinstance(cause, Unrecordable):
        said = f"fails with recorded values ({said})"
    inside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    outside = (os.path.dirname(np.__file__), inside)
    for place in reversed(traceback.extract_tb(error.__traceback__)):
        if not place.filename.startswith(outside):
            code = f" ({place.line})" if place.line else ""
            return f"{said} in line {place.lineno} of {os.path.basename(place.filename)}{code}"
    return said


_laws = functools.cache(Laws)


def derived(cls: type, law: str) -> bool:
    """Whether mse takes derivatives of a law of a class: it has the law, and nothing that is to be used instead."""
    return any(map(cls.defines, members(law))) and not any(map(cls.defines, _INSTEAD.get(law, ())))


_UNREAD, _NONE = -2, -1  # an object whose records have not been looked for yet, or that has none


class Together:
    """A law of many objects of one class with its derivatives: by records, all objects of one record at once.

    Where a law does what no record may be kept of, the object's law is recorded anew for each place.  A class may ask for
    differences instead, of laws of places.
    """

    def __init__(self, objects: Sequence, law: str, shape: Shape):
        self.objects, self.law, self.shape = list(objects), law, shape
        cls = type(objects[0])
        self._laws = _laws(cls, law)
        self._by_differences = law in OF_PLACES and cls.differentiation == "differences"
        self._begin()

    def __reduce__(self):
        return Together, (self.objects, self.law, self.shape)  # other processes record again

    def changed(self, numbers: Sequence[int], objects: Sequence) -> Together:
        """The same with some other objects in the place of those numbered."""
        new = Together(objects, self.law, self.shape)
        new._version, new._records, new.refused = self._version, list(self._records), dict(self.refused)
        new._which, new._checked = self._which.copy(), self._checked.copy()
        new._parameters = [p.copy() for p in self._parameters]
        new._which[list(numbers)] = _UNREAD
        return new

    def _begin(self) -> None:
        """Forget all records."""
        count = len(self.objects)
        self._version = self._laws.changes  # of what the law reads
        self._records: list[Branches] = []
        self._parameters: list[np.ndarray] = []  # of the objects that have each of these
        self._which = np.full(count, _UNREAD)  # records of each object, or one of the two above
        self._checked = np.zeros((count, 1), dtype=bool)  # whether a way of an object agrees with its law
        # the record that all objects have, if it is their only one and agrees with their law
        self._only: Law | None = None
        self.refused: dict[str, None] = {}  # reasons

    def _read(self, numbers: Sequence[int]) -> None:
        """Find the records and the parameters of some objects."""
        known = {id(records): k for k, records in enumerate(self._records)}
        for k in numbers:
            self._checked[k], self._which[k] = False, _NONE
            try:
                records = self._laws.of(self.objects[k], self.shape)
            except Unrecordable as error:
                self.refused[str(error)] = None
                continue
            at = known.setdefault(id(records), len(self._records))
            own = records.parameters(self.objects[k])
            if at == len(self._records):
                self._records.append(records)
                self._parameters.append(np.zeros((len(self.objects), len(own))))
            self._which[k], self._parameters[at][k] = at, own

    def evaluate(
        self, rows: np.ndarray, given: np.ndarray, order: int, part: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (E, m), slopes (E, m, n) and second derivatives (E, n, n) of a part of the objects; empty if not asked for.

        ``rows`` (E, i) are their frames and internal coordinates; gravity, multipliers or velocities are ``given`` to all (g,) or
        each (E, g).
        """
        if given.ndim == 1:
            given = np.broadcast_to(given, (len(rows), len(given)))
        self._renew()
        only = self._only
        if only is not None and only.ready(order):
            columns = np.concatenate([rows, given, self._parameters[0][part]], axis=1)
            if only.serves(columns).all():
                return only.run(columns, order)
        numbers, places = np.arange(len(self.objects))[part], np.concatenate([rows, given], axis=1)
        served = self._by_records(places, order, numbers)
        found = [(here, law.run(columns, order)) for here, law, columns in served]
        left = np.ones(len(numbers), dtype=bool)
        for here, _ in found:
            left[here] = False
        found += [([k], self.alone(self.objects[numbers[k]], places[k], order)) for k in np.flatnonzero(left)]
        if len(found) == 1:
            return found[0][1]
        at = np.argsort(np.concatenate([here for here, _ in found]))
        return tuple(np.concatenate(x)[at] for x in zip(*(own for _, own in found), strict=True))

    def serving(self, rows: np.ndarray, given: np.ndarray, order: int) -> list[tuple[Law, np.ndarray]] | None:
        """The record that serves each object there, and its inputs (i,), as ``evaluate``; None where an object has none."""
        self._renew()
        found: list = [None] * len(self.objects)
        for here, law, columns in self._by_records(np.concatenate([rows, given], axis=1), order, np.arange(len(rows))):
            for k, own in zip(here, columns, strict=True):
                found[k] = law, own
        return None if None in found else found

    @property
    def stale(self) -> bool:
        """Whether something that the law reads has changed since it was recorded."""
        self._laws.renew()
        return self._version != self._laws.changes

    def _renew(self) -> None:
        """Forget records of what the law has read, if that has changed."""
        if self.stale:
            self._begin()

    def _by_records(
        self, places: np.ndarray, order: int, numbers: np.ndarray
    ) -> list[tuple[np.ndarray, Law, np.ndarray]]:
        """Rows of the objects that a record serves, the record, and their inputs, for each of some records."""
        out: list[tuple[np.ndarray, Law, np.ndarray]] = []
        if self._by_differences:
            return out
        self._read(numbers[self._which[numbers] == _UNREAD].tolist())
        for at, records in enumerate(self._records):
            here = np.flatnonzero(self._which[numbers] == at)
            own = numbers[here]
            columns = np.hstack([places[here], self._parameters[at][own]])
            most = _MOST_BRANCHES + len(self.objects)
            served = 0
            for law, k, rows in records.of(columns, lambda row, own=own: self.objects[own[row]], most, order):
                served += len(rows)
                rows = rows[self._agrees(law, k, own[rows], columns[rows])]
                if len(rows):
                    out.append((here[rows], law, columns[rows]))
            if served < len(own):
                self.refused[records.refused or f"takes more than {_MOST_BRANCHES} ways through its conditions"] = None
        if len(self._records) == 1 and len(out) == 1 and not self._which.any() and self._checked.all():
            self._only = out[0][1]
        return out

    def _agrees(self, law: Law, way: int, members: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Whether the record of a way agrees with the law of each object (E,), which is asked where that is not known."""
        if way >= self._checked.shape[1]:
            self._checked = np.pad(self._checked, ((0, 0), (0, way)))
        new = np.flatnonzero(~self._checked[members, way])
        if len(new):
            asked = zip(members[new], columns[new], strict=True)
            values = np.array([self._plain(self.objects[k], row) for k, row in asked])
            wrong = members[new[~law.agrees(columns[new], values)]]
            self._checked[members[new], way] = True
            if len(wrong):
                self._which[wrong] = _NONE
                self.refused["gives other values when it is called again than when it was recorded"] = None
        return self._which[members] >= 0

    def _plain(self, obj, row: np.ndarray) -> np.ndarray:
        """The values of an object's law by itself."""
        return law_values(obj, self.law, *placed(row, self.shape, self.law))

    def alone(self, obj, row: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same of one object at a place, with E = 1: by a record of this place alone, or by differences."""
        values, none = self._plain(obj, row), np.zeros((1, 0, self.shape.size))  # the law's own error is the clearest
        if order == 0 and len(values) == self.shape.values:
            return values[None], none, none
        if self._by_differences:
            *place, given = placed(row, self.shape, self.law)
            weights = given if self.law == "constraint" else np.ones(self.shape.values)
            found = differences(lambda *moved: law_values(obj, self.law, *moved, given), *place, weights, order)
            return tuple(x[None] for x in found)
        try:
            with np.errstate(all="ignore"):
                return Law(obj, self.law, self.shape, None, row).run(row[None], order)
        except Exception as error:
            remedy = ", or set differentiation = 'differences' in the class" if self.law in OF_PLACES else ""
            raise ModelError(
                f"{obj.label}: its {self.law} failed: it {_told(error)}; expected elementary functions of numpy, whose "
                f"derivatives mse knows; write it with these{remedy}"
            ) from error

    @property
    def notes(self) -> list[str]:
        """The notes on laws of which no records are kept."""
        cls = type(self.objects[0])
        if of_mse(cls):
            return []
        what = f"differentiated the {self.law} of {cls.__name__} object by object, which takes longer, since it"
        return [f"{what} {reason}" for reason in self.refused]


# -- of one object ------------------------------------------------------------------------------------------------
def differentiated(obj, frames, q, gravity, order: int):
    """Energy, gradient (n,) and stiffness parts (p, n, n) of an object's energy + gravity_energy; None if not asked for.

    Those of its power are not among them: see :func:`with_power`.
    """
    if order == 0:
        return float(law_values(obj, "energy", frames, q, gravity)[0]), None, None
    values, slopes, second = _of_one(obj, "energy", (frames, q), gravity, order)
    n, parts = slopes.shape[1], max(1, len(obj.parts) - obj.has_field())
    stiffness = np.zeros((parts, n, n))
    if order == 2:
        stiffness[0] = second
        stiffness = split(obj, frames, stiffness)
    return float(bounded(values)[0]), slopes[0], stiffness


def split(obj, frames, parts: np.ndarray) -> np.ndarray:
    """Stiffness parts (p, n, n) of an object whose ``elastic_parts`` are all but the last, from any with the same sum."""
    if not obj.defines("elastic_parts"):
        return parts
    elastic = numbers(obj.label, "its elastic_parts", obj.elastic_parts(frames), (len(parts) - 1, *parts.shape[1:]))
    return np.concatenate([elastic, parts.sum(axis=0, keepdims=True) - elastic.sum(axis=0)])


def differentiated_constraint(obj, frames, q, multipliers, order: int):
    """g (m,), its slopes (m, n) and the sum of its second derivatives (n, n), each times its multiplier."""
    m, n = len(multipliers), 6 * len(frames) + len(q)
    g, slopes, second = _of_one(obj, "constraint", (frames, q), multipliers, order, m)
    return g, slopes if order else np.zeros((m, n)), second if order == 2 else np.zeros((n, n))


def _of_one(obj, law: str, place: tuple, given, order: int, values: int = 1) -> list[np.ndarray]:
    shape = Shape(len(place[0]), len(place[1]), values)
    return [x[0] for x in Together([obj], law, shape).evaluate(rows_of([place]), given, order)]


def with_power(obj, frames, q, order: int, found):
    """Energy, gradient and stiffness parts of an object, the first part being its power's."""
    energy, gradient, stiffness = found
    if order == 0 or not obj.has_field():
        return found
    shape = Shape(len(frames), len(q)).of("power")
    field = np.zeros((1, shape.size, shape.size))  # where nothing flows
    if obj.defines("power"):
        forces, field = power_forces(Together([obj], "power", shape), rows_of([(frames, q)]), order)
        gradient = gradient - forces[0]
    return energy, gradient, np.concatenate([field, stiffness]) if obj.has_energy() else field


def power_forces(
    together: Together, rows: np.ndarray, order: int, part: slice = slice(None), rates: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Forces (E, n) of powers at rest, or at ``rates`` (E, n), and their stiffness (E, n, n), zero below order 2."""
    n = together.shape.size
    rates = np.broadcast_to(rates, (len(rows), n))
    forces = together.evaluate(rows, np.hstack([np.zeros_like(rates), rates]), 0, part)[0]
    if order < 2:
        return forces, np.zeros((len(forces), n, n))
    slowly = np.hstack([np.zeros_like(rates), hardly_moving(rates)])
    return forces, stiffness_of(forces, regular(together.evaluate(rows, slowly, 1, part)[1]), together.shape.frames)
