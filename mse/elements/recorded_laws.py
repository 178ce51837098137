"""Laws of elements as records: made once for a class, checked against the law itself, evaluated for many elements at once."""

from __future__ import annotations

import linecache
import os
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..numerics.record import Unrecordable
from .definitions import of_mse
from .law_record import OWN, Law, Shape, follows, is_real, moving_parameters
from .law_sources import Source, contents, sources

_LAWS = {
    "energy": ("energy", "gravity_energy"), "constraint": ("constraint",), "measure": ("measure",), "kinetic": ("kinetic",),
    "dissipation": ("dissipation",), "power": ("power",), "momenta": ("kinetic",), "inertia": ("kinetic",),
    "drag": ("dissipation",), "flow_constraint": ("flow_constraint",),
}  # fmt: skip
# what a class may define that is to be used instead of its law
_INSTEAD = {
    "energy": ("evaluate", "forces", "stiffness_parts", "kernel"),
    "constraint": ("constraint_terms", "constraint_kernel"),
}
# Marks of what is checked have 63 bits.  A law that takes more ways than this is a loop over values:
# tests/elements/test_recorded_laws.py::test_a_law_that_takes_ever_other_ways_goes_by_itself.
_MOST_BRANCHES = 32
_MOST_CHANGES = 3  # of what a law reads, after which records of it are no longer made


class _Laws:
    """The records of one law of a class, by all that they take as constants."""

    def __init__(self, cls: type, law: str):
        self.cls, self.law = cls, law
        self.moving = moving_parameters(cls)
        self.changes = 0
        self.begin()

    def begin(self) -> None:
        """Forget all records, and read again what the law reads."""
        self.found: dict[Any, tuple[Branches | str, Any]] = {}
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

    def of(self, obj, shape: Shape, place: np.ndarray) -> Branches | str:
        """The records of an object's law, one at least, made at a place; the reason why there is none."""
        if self.refused:
            return self.refused
        held = [(k, value) for k, value in vars(obj).items() if k not in OWN and not follows(self.cls, k)]
        try:
            read = {name: value for name, value in obj._values.items() if name in self.moving}
            key = (shape, *self._constants(read, True), *self._constants(dict(held), False))
            if key not in self.found:
                by_numbers = self.by_numbers
                law = self._recorded(obj, shape, place)
                if self.by_numbers != by_numbers:  # as this attempt found
                    return self.of(obj, shape, place)
                # what has an identity in the key stays alive
                self.found[key] = law if isinstance(law, str) else Branches(self, law), held
            return self.found[key][0]
        except Unrecordable as error:
            return str(error)

    def _constants(self, values: dict[str, Any], parameters: bool) -> list:
        out = []
        for name, value in values.items():
            if is_real(value) and not self.by_numbers:
                out.append((name, type(value), np.shape(value)))
            else:
                plain = parameters or isinstance(value, int | str | np.ndarray | float)
                out.append((name, contents(value, name) if plain else id(value)))
        return out

    def _recorded(self, obj, shape: Shape, place: np.ndarray, first: bool = True) -> Law | str:
        by_numbers = self.by_numbers
        try:
            with np.errstate(all="ignore"):
                found = Law(obj, self.law, shape, by_numbers, place)
                found.prepare()
        except Exception as error:
            cause = error.__cause__  # numpy raises its own error from the error of its argument
            if isinstance(cause, Unrecordable):
                error = cause
            if isinstance(error, Unrecordable) and error.by_parameters and first and not by_numbers:
                self.by_numbers = True
                return ""
            return _told(error)
        changed = [source.name for source in self.sources if source.changed]
        if changed:  # by the law itself, as it would at every call
            self.refused, self.sources = f"changes {changed[0]}", []
            return self.refused
        return found


class Branches:
    """The records of a law for all ways through the conditions that it asks."""

    def __init__(self, owner: _Laws, first: Law):
        self._owner, self.laws, self.refused = owner, [first], ""

    def of(self, columns: np.ndarray, objects: Callable[[int], Any]) -> np.ndarray:
        """The number of the record (E,) that serves each row of inputs (E, i); -1 where there is none."""
        found = np.full(len(columns), -1)
        for k, law in enumerate(self.laws):
            self._take(found, columns, k, law)
        while not self.refused and (found < 0).any():
            row = int((found < 0).argmax())
            law: Law | str = f"takes more than {_MOST_BRANCHES} ways through its conditions"
            if len(self.laws) < _MOST_BRANCHES:
                obj = objects(row)
                given = columns.shape[1] - len(self.laws[0].parameters(obj))
                law = self._owner._recorded(obj, self.laws[0].shape, columns[row, :given], first=False)
            if not isinstance(law, str) and not law.serves(columns[row : row + 1])[0]:
                law = "asks conditions that answer otherwise when they are asked again"
            if isinstance(law, str):
                self.refused = law
            else:
                self._take(found, columns, len(self.laws), law)
                self.laws.append(law)
        return found

    def _take(self, found: np.ndarray, columns: np.ndarray, number: int, law: Law) -> None:
        left = np.flatnonzero(found < 0)
        if len(left):
            found[left[law.serves(columns[left])] if law.branches else left] = number


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


_UNREAD, _NONE = -2, -1  # an object whose law has not been recorded yet, or cannot be


class Together:
    """The recorded laws of many objects of one class, evaluated together; objects without a record are left to others."""

    def __init__(self, objects: Sequence, law: str, shape: Shape):
        self.objects, self.law, self.shape = list(objects), law, shape
        self._records: list[Branches] = []
        self._which: np.ndarray | None = None  # records of each object, or one of the two below
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
            new._which[list(numbers)] = _UNREAD
        return new

    def _begin(self, laws: _Laws) -> None:
        count = len(self.objects)
        self._version, self._records, self.refused = laws.changes, [], {}
        self._which, self._checked = np.full(count, _UNREAD), np.zeros(count, dtype=np.int64)
        self._parameters: list[np.ndarray] = []

    def _read(self, numbers: Sequence[int], places: np.ndarray) -> None:
        """Find the records and the parameters of some objects, at their places (E, i)."""
        laws, known = self._laws, {id(records): k for k, records in enumerate(self._records)}
        for k, place in zip(numbers, places, strict=True):
            records = laws.of(self.objects[k], self.shape, place)
            self._checked[k] = 0
            if isinstance(records, str):
                self._which[k] = _NONE
                self.refused[records] = None
                continue
            at = known.setdefault(id(records), len(self._records))
            own = records.laws[0].parameters(self.objects[k])
            if at == len(self._records):
                self._records.append(records)
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
        laws, numbers = self._laws, np.arange(len(self.objects))[part]
        if laws.renewed() or self._which is None or self._version != laws.changes:
            self._begin(laws)
        places = np.hstack([inputs[0], np.broadcast_to(inputs[1], (len(numbers), np.shape(inputs[1])[-1]))])
        unread = self._which[part] == _UNREAD
        if unread.any():
            self._read(numbers[unread].tolist(), places[unread])
        left = self._which[part] == _NONE
        for at, records in enumerate(self._records):
            here = np.flatnonzero(self._which[part] == at)
            if not len(here):
                continue
            columns = np.hstack([places, self._parameters[at][part]])[here]
            way = records.of(columns, lambda row, here=here: self.objects[numbers[here[row]]])
            if records.refused and (way < 0).any():
                self.refused[records.refused] = None
                left[here[way < 0]] = True
            for k, law in enumerate(records.laws):
                taken = way == k
                taken[taken] = self._agrees(law, k, numbers[here[taken]], columns[taken], plain)
                rows = here[taken]
                if len(rows):
                    put(slice(None) if len(rows) == len(numbers) else rows, law.run(columns[taken], order))
        return np.flatnonzero(left | (self._which[part] == _NONE))

    def _agrees(
        self, law: Law, branch: int, members: np.ndarray, columns: np.ndarray, plain: Callable[[int], np.ndarray]
    ) -> np.ndarray:
        """Whether the record of a branch agrees with the law of each object (E,), which is asked where that is not known."""
        new = np.flatnonzero(~(self._checked[members] >> branch) & 1)
        if len(new):
            values = np.array([plain(k) for k in members[new].tolist()]).reshape(len(new), -1)
            wrong = members[new[~law.agrees(columns[new], values)]]
            self._checked[members[new]] |= 1 << branch
            if len(wrong):
                self._which[wrong] = _NONE
                self.refused["gives other values when it is called again than when it was recorded"] = None
        return self._which[members] >= 0

    @property
    def notes(self) -> list[str]:
        """The notes on laws that could not be recorded."""
        cls = type(self.objects[0])
        if of_mse(cls):
            return []
        what = f"differentiated the {self.law} of {cls.__name__} object by object, which takes longer, since it"
        return [f"{what} {reason}" for reason in self.refused]
