"""Checks of arguments: numbers, names, mappings and functions.

Each function takes the caller ``who`` and the argument ``what`` and returns the value in its plain form (float, int, str,
float array ...).  It refuses all other values in one sentence: who, what, the value, the expectation and the remedy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from ..errors import ModelError, MseError, UnknownNameError, nearest_name
from ..numerics.reals import real_array

# Products of five larger numbers, such as a modulus times the fourth power of a radius, would exceed the range of floats.
LARGEST = 1e60

_FEW = {3: "three", 6: "six"}
_SHOWN = 60  # characters of a value that a message quotes


def shown(value: Any) -> str:
    """A value as quoted in a message: its repr on one line, shortened; never raises an error."""
    try:
        text = " ".join(line.strip() for line in repr(value).splitlines())
    except Exception:  # the repr of a user's class may raise anything; integers of more than 4300 digits have none
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def refusal(who: str, what: str, value: Any, expected: str, *, unit: str = "", remedy: str = "") -> ModelError:
    """The error about one value: who, what, the value, the expectation and the remedy."""
    unit, remedy = (f" {unit}" if unit else ""), (f"; {remedy}" if remedy else "")
    return ModelError(f"{who}: {what} is {shown(value)}{unit}; expected {expected}{remedy}")


# -- numbers ------------------------------------------------------------------------------------------------------
class Limits(TypedDict, total=False):
    """Bounds on a number: ``above`` is excluded, ``minimum`` and ``maximum`` are not."""

    above: float | None
    minimum: float | None
    maximum: float | None


def bounds(above: float | None = None, minimum: float | None = None, maximum: float | None = None) -> str:
    """Bounds in words: `` greater than 0 and at most 1`` or `` of at least 0``; "" for none."""
    words = []
    if above is not None:
        words.append(f"greater than {above:g}")
    if minimum is not None:
        words.append(f"at least {minimum:g}")
    if maximum is not None:
        words.append(f"at most {maximum:g}")
    return f"{' ' if above is not None else ' of '}{' and '.join(words)}" if words else ""


def real(
    value: Any, above: float | None = None, minimum: float | None = None, maximum: float | None = None
) -> float | None:
    """The value as a float; None if it is not a single real number within the bounds and the usable range.

    ``above`` is excluded; if it is 0, numbers below the reciprocal of the largest number are excluded, too.  ``minimum`` and
    ``maximum`` are included.
    """
    if isinstance(value, float):
        value = float(value)  # NumPy's numbers are floats, too
    else:
        try:
            array = real_array(value)
        except TypeError:
            return None
        if array.shape != ():
            return None
        value = float(array)
    # comparisons with nan are False
    good = (
        -LARGEST <= value <= LARGEST
        and (above is None or value > above + 1.0 / LARGEST)
        and (minimum is None or value >= minimum)
        and (maximum is None or value <= maximum)
    )
    return value if good else None


def number(who: str, what: str, value: Any, *, unit: str = "", remedy: str = "", **limits: Unpack[Limits]) -> float:
    """One finite real number within :class:`Limits`."""
    found = real(value, **limits)
    if found is None:
        # for finite numbers that are too large or too small, the message states the limit
        above, minimum, maximum = limits.get("above"), limits.get("minimum"), limits.get("maximum")
        beyond = maximum is None and real(value) is None and _finite(value)
        tiny = above == 0.0 and 0.0 < (real(value) or 0.0) <= 1.0 / LARGEST
        least = 1.0 / LARGEST if tiny else minimum
        expected = f"a finite number{bounds(above, least, LARGEST if beyond else maximum)}"
        raise refusal(who, what, value, expected, unit=unit, remedy=remedy)
    return found


def complex_number(who: str, what: str, value: Any) -> float | complex:
    """One finite number, real or complex."""
    if isinstance(value, complex | np.complexfloating):
        parts = real(value.real), real(value.imag)
        if None not in parts:
            return complex(*parts)
    found = real(value)
    if found is None:
        raise refusal(who, what, value, "a finite number, real or complex")
    return found


def _finite(value: Any) -> bool:
    try:
        array = real_array(value)
        return array.shape == () and bool(np.isfinite(array))
    except TypeError:
        return isinstance(value, int) and not isinstance(value, bool)  # integers beyond the range of floats


def numbers(
    who: str, what: str, value: Any, *shapes: tuple[int | None, ...], unit: str = "", remedy: str = ""
) -> np.ndarray:
    """A new array of finite real numbers of one of the shapes; None in a shape stands for any length."""
    try:
        array = real_array(value)
    except TypeError:
        array = None
    if array is not None and (array.shape in shapes or any(_fits(array.shape, shape) for shape in shapes)):
        if array.size <= 9:  # faster for small arrays: poses are made by the thousand
            good = all(-LARGEST <= x <= LARGEST for x in array.ravel().tolist())
        else:
            good = bool((np.abs(array) <= LARGEST).all())
        if good:
            return array
    raise _no_such_numbers(who, what, value, array, shapes, unit, remedy)


def _no_such_numbers(who, what, value, array: np.ndarray | None, shapes, unit: str, remedy: str) -> ModelError:
    words = [
        f"{_FEW[shape[0]]} finite numbers"
        if len(shape) == 1 and shape[0] in _FEW
        else f"finite numbers of shape {shape}".replace("None", "n")
        for shape in shapes
    ]
    wanted = " or ".join(words) + (f" ({unit})" if unit else "")
    if array is None:
        return refusal(who, what, value, wanted.replace("finite", "finite real"), remedy=remedy)
    tail = f"; {remedy}" if remedy else ""
    if not any(_fits(array.shape, shape) for shape in shapes):
        return ModelError(f"{who}: {what} has shape {array.shape}; expected {wanted}{tail}")
    at = tuple(np.argwhere(~(np.abs(array) <= LARGEST))[0])
    place = f"[{', '.join(map(str, at))}]" if at else ""
    limit = f" of at most {LARGEST:g}" if np.isfinite(array[at]) else ""
    return ModelError(f"{who}: {what}{place} is {array[at]}; expected {wanted}{limit}{tail}")


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(w in (None, n) for n, w in zip(shape, wanted, strict=True))


def whole(who: str, what: str, value: Any, *, minimum: int = 0, maximum: int | None = None, remedy: str = "") -> int:
    """A whole number within bounds, both included; True, False and 2.0 are refused."""
    try:
        found = None if isinstance(value, bool | np.bool_ | np.ma.MaskedArray) else operator.index(value)
    except Exception:  # a class that is not a number may raise anything
        found = None
    if found is None or found < minimum or (maximum is not None and found > maximum):
        limit = f"at least {minimum}" if maximum is None else f"at least {minimum} and at most {maximum}"
        raise refusal(who, what, value, f"a whole number of {limit}", remedy=remedy)
    return found


def whole_numbers(who: str, what: str, value: Any, count: int) -> np.ndarray:
    """Numbers (k,) of some of ``count`` things, from 0."""
    given = items(who, what, value, object, f"whole numbers from 0 to {count - 1}")
    return np.array([whole(who, f"{what}[{k}]", x, maximum=count - 1) for k, x in enumerate(given)], dtype=int)


def frequencies(who: str, value: Any) -> np.ndarray:
    """A new array of frequencies (Hz), finite and not negative, of the shape of the value."""
    try:
        f = real_array(value)
    except TypeError:
        raise refusal(who, "frequencies_hz", value, "real numbers in Hz") from None
    bad = np.flatnonzero(~((f >= 0) & (f <= LARGEST)))
    if len(bad):
        raise ModelError(
            f"{who}: frequency number {bad[0]} is {f.ravel()[bad[0]]} Hz; expected finite frequencies from 0 to {LARGEST:g} Hz"
        )
    return f


# -- names --------------------------------------------------------------------------------------------------------
def new_name(who: str, what: str, value: Any, *, number: bool = True) -> str:
    """A name from a user: printable text that is not blank and has no dots, which separate names.

    ``number=False`` refuses numbers, which are names of frames.
    """
    if type(value) is str and value.isidentifier():
        return value
    if not isinstance(value, str) or not value.strip():
        raise refusal(who, what, value, "a non-empty string")
    if not value.isprintable():
        raise refusal(who, what, value, "a string without line breaks, tabs or control characters")
    if "." in value:
        raise refusal(who, what, value, "a non-empty string without '.', which separates subsystems")
    if not number and value.isdigit():
        raise refusal(who, what, value, "a non-empty string without '.', not a number: frames have those")
    return str(value)


def find(who: str, what: str, name: Any, known: Collection[str], *, where: str = "") -> str:
    """One of the known names; UnknownNameError with the nearest of them otherwise.  ``where`` follows the name."""
    if isinstance(name, str) and name in known:
        return name
    nearest = nearest_name(name, known) if isinstance(name, str) else f"; expected a name{nearest_name('', known)}"
    raise UnknownNameError(f"{f'{who}: ' if who else ''}no {what} {shown(name)}{where and ' '}{where}{nearest}")


class ByName(dict[str, Any]):
    """Values by name; for an unknown one the error offers the nearest."""

    def __init__(self, who: str, what: str, values: Mapping[str, Any]):
        super().__init__(values)
        self._who, self._what = who, what

    def __missing__(self, name: Any) -> Any:
        return find(self._who, self._what, name, self)


def names(who: str, what: str, value: Any) -> tuple[str, ...]:
    """Names in their order, or a single one; generators are read once, here."""
    value = [value] if isinstance(value, str) else value
    expected = "a name or a list of names, such as 'mass.x'"
    if isinstance(value, set | frozenset):
        raise refusal(who, what, value, expected, remedy="a set has no order")
    # unchanged, since names of coordinates know their units; only names from arrays become plain strings
    found = tuple(str(name) if isinstance(name, np.str_) else name for name in items(who, what, value, str, expected))
    for name in found:
        if not name.strip() or not name.isprintable():
            raise ModelError(f"{who}: {what} contain {shown(name)}; expected printable names that are not blank")
    return found


def positions(who: str, what: str, value: Any, known: Sequence[str]) -> np.ndarray:
    """Positions (k,) of names among the known ones, all for None; otherwise UnknownNameError with the nearest name."""
    if value is None:
        return np.arange(len(known))
    number = {n: k for k, n in enumerate(known)}
    return np.array([number[find(who, what, n, number)] for n in names(who, f"{what}s", value)], dtype=int)


def choice(who: str, what: str, value: Any, among: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in among:
        raise refusal(who, what, value, " or ".join(map(repr, among)))
    return str(value)


# -- objects, mappings, functions -----------------------------------------------------------------------------------
def instance(who: str, what: str, value: Any, kind: type, expected: str) -> Any:
    """The value, if it is an instance of one of mse's classes."""
    if not isinstance(value, kind):
        raise refusal(who, what, value, expected)
    return value


def items(who: str, what: str, value: Any, kind: Any, expected: str) -> list:
    """A new list of objects of some classes; generators are read once, here."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise refusal(who, what, value, expected)
    try:
        found = list(value)
    except Exception as error:  # from a user's own iterator, or from an array without dimensions
        raise refusal(who, what, value, expected, remedy=f"reading it failed: {shown(error)}") from error
    for each in found:
        if not isinstance(each, kind):
            raise ModelError(f"{who}: {what} contain {shown(each)}; expected {expected}")
    return found


def mapping(who: str, what: str, value: Any, expected: str) -> dict:
    """A new dict with the items of a mapping, empty for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refusal(who, what, value, expected)
    return dict(value)


def called(who: str, what: str, usage: str, function: Callable, *given: Any) -> Any:
    """The value of a user's function; its exceptions become ModelErrors that name the object it belongs to.

    Floating-point warnings are suppressed, since the value is checked.
    """
    try:
        with np.errstate(all="ignore"):
            return function(*given)
    except Exception as error:
        if isinstance(error, MseError) and who in str(error):
            raise
        kind = "" if isinstance(error, MseError) else f"{type(error).__name__}: "
        said = " ".join(str(error).split()).removesuffix(".")
        raise ModelError(f"{who}: {what} failed: {kind}{said}; expected to be called as {usage}") from error


def samples(
    who: str, frequencies_hz: Any, key: str, values: Any, what: tuple[str, str], expected: str
) -> tuple[np.ndarray, np.ndarray]:
    """Ascending frequencies (s,) above zero and values (s,) of at least zero; ModelError for anything else.

    ``key`` names the argument of the values, ``what`` is one of them and several in words, and ``expected`` follows "expected".
    """
    f, found = numbers(who, "frequencies_hz", frequencies_hz, (None,)), numbers(who, key, values, (None,))
    if len(f) != len(found) or not len(f):
        raise ModelError(f"{who}: {len(f)} frequencies and {len(found)} {what[1]}; expected as many, at least one")
    falls = np.diff(f, prepend=0.0) <= 0.0
    if falls.any():
        at = int(np.argmax(falls))
        raise ModelError(f"{who}: frequency number {at} is {f[at]:.6g} Hz; expected them above zero and ascending")
    if found.min() < 0.0:
        at = int(np.argmin(found))
        raise ModelError(f"{who}: the {what[0]} is {found[at]:.6g} at {f[at]:.6g} Hz; expected {expected}")
    return f, found
