"""Parameters of objects: declared once with type, unit, range and default; then listed, read, set and copied by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from types import NoneType
from typing import Any, Generic, Self, TypeVar, Unpack, dataclass_transform, overload

import numpy as np

from ..display import Shown, Table
from ..errors import ModelError, warn
from ..numerics.read_only import read_only
from ..numerics.reals import real_array
from ..validation.arguments import LARGEST, Limits, bounds, called, find, number, real, refusal, shown, whole
from .docstrings import Docstring

Stored = TypeVar("Stored")  # type of the values that a parameter has
Given = TypeVar("Given")  # type of the values that it can be given
Number = float | np.floating | np.integer
Numbers = Number | Sequence[Number] | Sequence[Sequence[Number]] | np.ndarray


class Required:
    """The default of a parameter that must be given."""


class Parameter(Generic[Stored, Given]):
    """One named parameter of an element class; a data descriptor, so ``spring.stiffness`` reads and sets it.

    ``description`` says what it is, ``unit`` is its SI unit ("" for pure numbers), ``default`` its value when not
    given; without a default it must be given.  Subclasses convert and check; each refused value names the object, the value,
    the expectation.  ``usual`` is the stored form of the default where that is known without an object.
    """

    kind = "value"
    depends = False  # whether its values depend on other parameters, which are then set first
    moves = True  # whether forces, and with them working points, depend on it

    def __init__(self, description: str, *, unit: str = "", default: Any = Required):
        self.description = description
        self.unit = unit
        self.default = default
        self.usual: Any = Required
        self.name = "?"

    @property
    def required(self) -> bool:
        """Whether it must be given, since no default would be right more often than not."""
        return self.default is Required

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = Docstring(vars(cls).get("__doc__"))

    def described(self) -> str:
        """Description, unit, accepted values and default, for help() of its class."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.description}{unit}: {self.expectation()}; {self._when_left_out()}"

    def _when_left_out(self) -> str:
        return "must be given" if self.required else f"{_shown(self.default)} by default"

    @overload
    def __get__(self, obj: None, owner: type) -> Self: ...
    @overload
    def __get__(self, obj: object, owner: type | None = None) -> Stored: ...
    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return self if obj is None else obj._values[self.name]

    def __set__(self, obj: Any, value: Given) -> None:
        # never changed in place: snapshots share them
        obj._values = {**obj._values, self.name: self.checked(obj, value)}

    def expectation(self) -> str:
        """The values accepted, in words."""
        return self.kind

    def checked(self, obj, value):
        """The value in its stored form; ModelError for values other than :meth:`expectation` says."""
        raise TypeError(f"{type(self).__name__} must define checked()")

    def refuse(self, obj, value, remedy: str = "") -> ModelError:
        return refusal(obj.label, self.name, value, self.expectation(), unit=self.unit, remedy=remedy)


def settled(default: Any, **limits: Unpack[Limits]) -> Any:
    """A default that is a number within limits; Required otherwise, since an object refuses a wrong one by its own name."""
    found = real(default, **limits) if type(default) is float else None
    return Required if found is None else found


class Real(Parameter[float, Number]):
    """A real number, optionally bounded: ``above`` is an excluded lower bound, ``minimum`` and ``maximum`` are included."""

    kind = "number"

    def __init__(
        self,
        description: str,
        *,
        unit: str = "",
        default: float | type[Required] = Required,
        above: float | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
    ):
        super().__init__(description, unit=unit, default=default)
        self.above, self.minimum, self.maximum = above, minimum, maximum
        if type(self) is Real:  # others may check further
            self.usual = settled(default, above=above, minimum=minimum, maximum=maximum)

    def expectation(self) -> str:
        return f"a finite number{bounds(self.above, self.minimum, self.maximum)}"

    def checked(self, obj, value) -> float:
        found = real(value, self.above, self.minimum, self.maximum)
        if found is None:
            return number(  # refuses it
                obj.label,
                self.name,
                value,
                unit=self.unit,
                above=self.above,
                minimum=self.minimum,
                maximum=self.maximum,
            )
        return found


class Integer(Parameter[int, int | np.integer]):
    """A whole number of at least ``minimum`` and at most ``maximum``."""

    kind = "integer"

    def __init__(self, description: str, *, default: int | type[Required] = Required, minimum: int, maximum: int):
        super().__init__(description, default=default)
        self.minimum, self.maximum = minimum, maximum

    def expectation(self) -> str:
        return f"a whole number of at least {self.minimum} and at most {self.maximum}"

    def checked(self, obj, value) -> int:
        return whole(obj.label, self.name, value, minimum=self.minimum, maximum=self.maximum)


class Choice(Parameter[str, str]):
    """One of a few words, the first of them unless ``default`` is another."""

    kind = "choice"

    def __init__(self, description: str, *, among: tuple[str, ...], default: str | None = None):
        super().__init__(description, default=among[0] if default is None else default)
        self.among = among

    def expectation(self) -> str:
        return "one of " + ", ".join(repr(word) for word in self.among)

    def checked(self, obj, value) -> str:
        if not isinstance(value, str) or value not in self.among:
            raise self.refuse(obj, value)
        return value


class Flag(Parameter[bool, bool | np.bool_]):
    """True or False."""

    kind = "True or False"

    def __init__(self, description: str, *, default: bool):
        super().__init__(description, default=default)
        self.usual = default

    def checked(self, obj, value) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise self.refuse(obj, value)
        return bool(value)


Course = float | tuple[float, float] | Callable[[float], float]


class Profile(Parameter[Course, Number | Sequence[Number] | np.ndarray | Callable[[float], float]]):
    """A quantity along a length: a number, (start, end) for a straight taper, or a function of the arc length s (m).

    ``above`` is an excluded lower bound, checked at both ends here and everywhere else by :meth:`along`.
    """

    kind = "profile"

    def __init__(self, description: str, *, unit: str = "", default: Any = Required, above: float | None = None):
        super().__init__(description, unit=unit, default=default)
        self.above = above

    def expectation(self) -> str:
        return f"a finite number{bounds(self.above)}, two for a straight taper, or a function of arc length in m"

    def checked(self, obj, value):
        if callable(value):
            return value
        try:
            array = real_array(value)
        except TypeError:
            raise self.refuse(obj, value) from None
        if array.shape not in ((), (2,)):
            raise self.refuse(obj, value)
        for one in array.ravel().tolist():
            if real(one, self.above) is None:
                # a finite number of the right sign is too large or too small
                beyond = np.isfinite(one) and (real(one) is None or one > self.above)
                limits = f"its size has to be above {1.0 / LARGEST:g} and at most {LARGEST:g}"
                raise self.refuse(obj, value, limits if beyond else "")
        return float(array) if array.shape == () else tuple(array.tolist())

    def along(self, obj, s: np.ndarray, length: float) -> np.ndarray:
        """Values at the arc lengths s (any shape); ModelError where a function gives other values."""
        value = obj._values[self.name]
        if not callable(value):
            start, end = value if isinstance(value, tuple) else (value, value)
            return start + (end - start) * (s / length)
        return np.array([self._at(obj, value, float(x)) for x in s.ravel()]).reshape(s.shape)

    def _at(self, obj, function: Callable[[float], float], s: float) -> float:
        given = called(obj.label, f"{self.name}, a function,", f"{self.name}(s) with s in m", function, s)
        found = real(given, self.above)
        if found is None:
            raise ModelError(
                f"{obj.label}: {self.name} is {shown(given)} {self.unit} at s = {s:g} m; expected a finite "
                f"number{bounds(self.above)} everywhere along the length"
            )
        return found


class Array(Parameter[np.ndarray, Numbers]):
    """Real numbers of a fixed shape, kept read-only.

    ``check`` may refuse further, returning what is wrong or None, and ``doubt`` warn, returning what is odd or None.
    """

    kind = "array"

    def __init__(
        self,
        description: str,
        *,
        shape: tuple[int, ...],
        unit: str = "",
        default: Any = Required,
        check: Callable[[np.ndarray], str | None] | None = None,
        doubt: Callable[[np.ndarray], str | None] | None = None,
        promote: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        super().__init__(description, unit=unit, default=default)
        self.shape, self.check, self.doubt, self.promote = shape, check, doubt, promote

    def expectation(self) -> str:
        short = f", {self.shape[0]} numbers for its diagonal, or one for all of it" if self.promote else ""
        return f"finite numbers of shape {self.shape}{short}"

    def checked(self, obj, value) -> np.ndarray:
        try:
            array = real_array(value)
        except TypeError:
            raise self.refuse(obj, value) from None
        if self.promote is not None:
            array = self.promote(array)
        if array.shape != self.shape or not np.all(np.abs(array) <= LARGEST):
            raise self.refuse(obj, value)
        wrong = self.check(array) if self.check else None
        if wrong:
            raise ModelError(f"{self._given(obj, array)}; {wrong}")
        odd = self.doubt(array) if self.doubt else None
        if odd:
            warn(f"{self._given(obj, array)}; {odd}")
        array.flags.writeable = False
        return array

    def _given(self, obj, array: np.ndarray) -> str:
        return f"{obj.label}: {self.name} is {array.tolist()}{f' {self.unit}' if self.unit else ''}"


class Subset(Parameter[tuple[str, ...], tuple[str, ...] | list[str] | set[str] | frozenset[str]]):
    """Some of a few words, kept in their order."""

    kind = "choice of several"

    def __init__(self, description: str, *, among: tuple[str, ...], default: tuple[str, ...] = ()):
        super().__init__(description, default=default)
        self.among = among

    def expectation(self) -> str:
        return "any of " + ", ".join(repr(word) for word in self.among)

    def __set__(self, obj, value) -> None:
        """Set the words; parameters that depend on them get new defaults, so refuse where one of them was given."""
        new = self.checked(obj, value)
        if new == obj._values[self.name]:
            return
        others = {n: p for n, p in type(obj).declared_parameters.items() if p.depends}
        given = [n for n, p in others.items() if obj._values[n] != p.checked(obj, p.default)]
        if given:
            raise self.refuse(obj, value, f"{', '.join(given)} go by the present ones; make another object instead")
        obj._values = {**obj._values, self.name: new}
        obj._values |= {n: p.checked(obj, p.default) for n, p in others.items()}

    def checked(self, obj, value) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
            raise self.refuse(obj, value, f"write a tuple, such as ({self.among[0]!r},)")
        if any(not isinstance(word, str) or word not in self.among for word in value) or len(set(value)) != len(value):
            raise self.refuse(obj, value)
        return tuple(word for word in self.among if word in value)


class ByCoordinate(Parameter[tuple[Stored, ...], Stored | Mapping[str, Stored] | Sequence[Stored] | np.ndarray]):
    """A number for each coordinate of a joint: a mapping by coordinate name, a number for a joint that has one, or a list.

    ``words`` makes it a choice among words instead; None stands for no value where that is the default.
    """

    kind = "number by coordinate"
    depends = True

    def __init__(self, description: str, *, unit: str = "", default: Any = 0.0, minimum: float | None = None,
                 words: tuple[str, ...] = ()):  # fmt: skip
        super().__init__(description, unit=unit, default=words[0] if words and not default else default)
        self.minimum, self.words = minimum, words

    def expectation(self) -> str:
        if self.words:
            return "one of " + ", ".join(map(repr, self.words)) + ", for each coordinate where there are several"
        return f"a finite number{bounds(minimum=self.minimum)}, for each coordinate where there are several"

    def checked(self, obj, value) -> tuple:
        names = obj.joint_coordinates
        if isinstance(value, np.ndarray) and value.ndim == 0 and value is not np.ma.masked:
            value = value.item()
        if isinstance(value, Mapping):
            for name in value:
                find(obj.label, "coordinate", name, names, where=f"for {self.name}")
            values = [value.get(n, self.default) for n in names]
        elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
            values = list(value)
        elif len(names) == 1 or (isinstance(value, str | int | float | NoneType) and value == self.default):
            values = [value] * len(names)
        else:
            raise self.refuse(obj, value, f"write a mapping, such as {{{names[0]!r}: {shown(value)}}}" if names else "")
        if len(values) != len(names):
            raise self.refuse(obj, value, f"its coordinates are {', '.join(names)}")
        return tuple(self._one(obj, v) for v in values)

    def _one(self, obj, value):
        if self.words:
            if not isinstance(value, str) or value not in self.words:
                raise self.refuse(obj, value)
            return value
        if value is None and self.default is None:
            return None
        found = real(value, minimum=self.minimum)
        if found is None:
            raise self.refuse(obj, value)
        return found


def argument(*, default: Any = Required, init: bool = True, kw_only: bool = True) -> Any:
    """Declarations of a class for type checkers and editors, like :func:`dataclasses.field`."""
    return default


@dataclass_transform(
    kw_only_default=True,
    eq_default=False,
    field_specifiers=(Real, Integer, Choice, Flag, Profile, Array, Subset, ByCoordinate, argument),
)
class Declared:
    """Base of classes whose annotated parameters, ``length: Real = Real(...)``, are keywords of the constructor.

    Checkers and editors read it so: they refuse names that there are not, values of another type, and required ones left out.
    """


def scalar_or_diagonal(n: int) -> Callable[[np.ndarray], np.ndarray]:
    """Accepts a number or n numbers as the diagonal of an n x n matrix."""

    def promote(a: np.ndarray) -> np.ndarray:
        if a.ndim == 0 or a.shape == (n,):
            matrix = np.zeros((n, n))
            matrix.flat[:: n + 1] = a
            return matrix
        return a

    return promote


def symmetric(a: np.ndarray) -> str | None:
    """Reason why a matrix is not symmetric, or None."""
    if not (a == a.T).all() and np.max(np.abs(a - a.T)) > 1e-12 * np.max(np.abs(a), initial=0.0):
        return f"unsymmetric by {np.max(np.abs(a - a.T)):.3g}; expected a symmetric matrix"
    return None


def symmetric_dissipative(a: np.ndarray) -> str | None:
    """Reason why a matrix is not symmetric and positive semi-definite, or None."""
    wrong = symmetric(a)
    if wrong is None and np.any(a):
        # Entries may mix units (N s/m, N m s); a congruence by the diagonal removes them before looking at signs.
        d = np.sqrt(np.abs(np.diag(a)))
        d[d == 0] = 1.0
        lowest = np.linalg.eigvalsh(a / np.outer(d, d))[0]
        if lowest < -1e-12 * a.shape[0]:
            return "expected a positive semi-definite matrix, or it would create energy"
    return wrong


def with_values(obj, state: dict[str, Any]) -> None:
    """Take the state of another object: copies and pickles set attributes although parameters are read-only."""
    vars(obj).update(state, _values=read_only(state["_values"]))


class Parameters(Shown, MutableMapping[str, Any]):
    """The parameters of one object as a mapping by name; shows itself as a table."""

    def __init__(self, obj):
        self._obj = obj

    def _find(self, name: str) -> Parameter:
        declared = type(self._obj).declared_parameters
        # the label is only made if it is needed
        return declared[name if isinstance(name, str) and name in declared else self._unknown(name, declared)]

    def _unknown(self, name: Any, declared: Mapping[str, Parameter]) -> str:
        return find(self._obj.label, "parameter", name, declared)

    def __getitem__(self, name: str):
        self._find(name)
        return self._obj._values[name]

    def __setitem__(self, name: str, value) -> None:
        setattr(self._obj, self._find(name).name, value)

    def __delitem__(self, name: str) -> None:
        raise ModelError(f"{self._obj.label}: parameter {name!r} cannot be removed; set it instead")

    def __iter__(self) -> Iterator[str]:
        return iter(type(self._obj).declared_parameters)

    def __len__(self) -> int:
        return len(type(self._obj).declared_parameters)

    def copy_from(self, other) -> None:
        """Copy every parameter of ``other`` (an object) that this object has too; the others stay (manual 2.7.16)."""
        theirs = getattr(other, "parameters", None)
        if not isinstance(theirs, Parameters):
            raise ModelError(
                f"{self._obj.label}: copy_from() got {type(other).__name__}; expected an object such as a Spring"
            )
        for name in self:
            if name in theirs:
                self[name] = theirs[name]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def table(self) -> Table:
        rows = [
            (name, _shown(self._obj._values[name]).replace("\n", " "), p.unit, p.expectation(), p.description)
            for name, p in type(self._obj).declared_parameters.items()
        ]
        return Table(self._obj.label, ("parameter", "value", "unit", "expected", "what it is"), rows)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, str | int | Mapping):
        return str(value)
    if isinstance(value, tuple) and any(v is None or isinstance(v, str) for v in value):
        return ", ".join(map(str, value))
    if callable(value):
        return f"function {getattr(value, '__name__', type(value).__name__)}"
    return np.array2string(np.asarray(value), precision=6)
