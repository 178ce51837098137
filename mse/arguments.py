"""What users give, checked in one place: numbers, names, mappings and functions, before anything is reckoned with them.

Each function takes ``who`` was called and ``what`` the value is for, returns the value in its plain form (float, int, str,
float array ...), and refuses everything else in one sentence: who, what, the value, what was expected and the remedy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from .errors import ModelError, MseError, UnknownNameError, nearest_name
from .reals import real_array

_SHOWN = 60  # characters of a value that a message repeats


def shown(value: Any) -> str:
    """A value as a message repeats it: its repr on one line, shortened; never an error of its own."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever the repr of a user's class may raise; integers of more than 4300 digits have none
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def refusal(who: str, what: str, value: Any, expected: str, remedy: str = "") -> ModelError:
    """The error that says which value was not what it has to be."""
    return ModelError(f"{who}: {what} is {shown(value)}; expected {expected}{f'; {remedy}' if remedy else ''}")


# -- numbers ------------------------------------------------------------------------------------------------------
def bounds(above: float | None = None, minimum: float | None = None, maximum: float | None = None) -> str:
    """Bounds in words: ``greater than 0 and at most 1``; "" for none."""
    words = []
    if above is not None:
        words.append(f"greater than {above:g}")
    if minimum is not None:
        words.append(f"at least {minimum:g}")
    if maximum is not None:
        words.append(f"at most {maximum:g}")
    return " and ".join(words)


def number(
    who: str,
    what: str,
    value: Any,
    *,
    unit: str = "",
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    remedy: str = "",
) -> float:
    """One finite real number within bounds; ``above`` is excluded, ``minimum`` and ``maximum`` are not."""
    try:
        array = real_array(value)
    except TypeError:
        array = np.array([])
    good = array.shape == () and bool(np.isfinite(array))
    found = float(array) if good else 0.0
    if (
        not good
        or (above is not None and found <= above)
        or (minimum is not None and found < minimum)
        or (maximum is not None and found > maximum)
    ):
        bound = bounds(above, minimum, maximum)
        expected = f"a finite number{' ' if bound else ''}{bound}{f' ({unit})' if unit else ''}"
        raise refusal(who, what, value, expected, remedy)
    return found


def numbers(
    who: str, what: str, value: Any, shape: tuple[int | None, ...], *, unit: str = "", remedy: str = ""
) -> np.ndarray:
    """A new array of finite real numbers of a shape, in which None stands for any length."""
    words = f"shape ({', '.join('n' if n is None else str(n) for n in shape)}{',' if len(shape) == 1 else ''})"
    expected = f"finite real numbers of {words}{f' ({unit})' if unit else ''}"
    try:
        array = real_array(value)
    except TypeError:
        raise refusal(who, what, value, expected, remedy) from None
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        raise ModelError(f"{who}: {what} has shape {array.shape}; expected {expected}{f'; {remedy}' if remedy else ''}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise ModelError(
            f"{who}: {what}[{place}] is {array[tuple(bad[0])]}; expected {expected}{f'; {remedy}' if remedy else ''}"
        )
    return array


def whole(who: str, what: str, value: Any, *, minimum: int = 0, maximum: int | None = None, remedy: str = "") -> int:
    """A whole number within bounds, both included; truth values and 2.0 are none."""
    try:
        found = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except Exception:  # whatever a class may raise that is no number
        found = None
    if found is None or found < minimum or (maximum is not None and found > maximum):
        raise refusal(who, what, value, f"a whole number of {bounds(minimum=minimum, maximum=maximum)}", remedy)
    return found


# -- names --------------------------------------------------------------------------------------------------------
def new_name(who: str, what: str, value: Any, *, taken: Callable[[str], bool] | None = None) -> str:
    """A name that a user gives to something: text that is not blank, without the dot that separates names of subsystems.

    ``taken`` tells which names are used otherwise, such as numbers of frames.
    """
    if not isinstance(value, str) or not value.strip():
        raise refusal(who, what, value, "a non-empty string")
    if "." in value:
        raise ModelError(
            f"{who}: {what} is {shown(value)}; a name must not contain '.', which separates subsystems; expected a string "
            "without one"
        )
    if taken is not None and taken(value):
        raise refusal(who, what, value, "a name that is no number, and not n and a number")
    return str(value)


def find(who: str, what: str, name: Any, known: Collection[str]) -> str:
    """One of the known names; UnknownNameError with the nearest of them otherwise."""
    if not isinstance(name, str):
        raise UnknownNameError(f"{who}: no {what} {shown(name)}; expected a name{nearest_name('', known)}")
    if name not in known:
        raise UnknownNameError(f"{who}: no {what} {shown(name)}{nearest_name(name, known)}")
    return name


def names(who: str, what: str, value: Any) -> tuple[str, ...]:
    """Names in their order, or a single one; generators are read once, here."""
    if isinstance(value, str):
        return (str(value),)
    if isinstance(value, Mapping | set | frozenset | bytes) or not isinstance(value, Iterable):
        raise refusal(who, what, value, "a name or a list of names")
    try:
        found = list(value)
    except Exception as error:  # of a user's own iterator, or of an array without dimensions
        raise refusal(who, what, value, "a name or a list of names", f"it cannot be read: {shown(error)}") from error
    for name in found:
        if not isinstance(name, str):
            raise ModelError(f"{who}: {what} holds {shown(name)}; expected names only, such as 'mass.x'")
    return tuple(map(str, found))


def positions(who: str, what: str, value: Any, known: Collection[str]) -> np.ndarray:
    """Numbers (k,) of the named ones among those known, all for None; UnknownNameError with the nearest name otherwise."""
    if value is None:
        return np.arange(len(known))
    number = {n: k for k, n in enumerate(known)}
    wanted = names(who, f"{what}s", value)
    return np.array([number[find(who, what, n, known if n not in number else number)] for n in wanted], dtype=int)


def choice(who: str, what: str, value: Any, among: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in among:
        raise refusal(who, what, value, " or ".join(map(repr, among)))
    return str(value)


# -- objects, mappings, functions -----------------------------------------------------------------------------------
def instance(who: str, what: str, value: Any, kind: type, expected: str) -> Any:
    """An object of a class of mse's own."""
    if not isinstance(value, kind):
        raise refusal(who, what, value, expected)
    return value


def mapping(who: str, what: str, value: Any, expected: str) -> dict:
    """A new dict of what a mapping holds, empty for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refusal(who, what, value, expected)
    return dict(value)


def called(who: str, what: str, usage: str, function: Callable, *given: Any) -> Any:
    """What a function of a user's gives; what it raises comes back as ModelError that names whose it is, chained to it.

    Floating point warnings are left to the check of what it gives.
    """
    try:
        with np.errstate(all="ignore"):
            return function(*given)
    except Exception as error:
        if isinstance(error, MseError) and who in str(error):
            raise
        kind = "" if isinstance(error, MseError) else f"{type(error).__name__}: "
        said = " ".join(str(error).split())
        raise ModelError(f"{who}: {what} failed: {kind}{said}; expected to be called as {usage}") from error
