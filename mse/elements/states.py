"""Variables with rates of their own, ``s' = f`` or ``M s' = f``: filters, controllers, temperatures.

A state is an internal coordinate whose force is ``f - M s'``.  That is a power, so searches, linear models and motions take it as
they take other forces without energy: at a working point f is zero, and the rates of states are rows of the damping matrix.  On
solutions its work is zero, so it enters no balance of energy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ModelError
from ..validation.arguments import shown
from .coordinates import GENERALIZED, Coordinate

_FORM = "state_rates(frames, q, v, given), frames with o, U, v, w"


def settle_states(cls: type) -> None:
    """Make internal coordinates of the states of a class, and their rates a part of its power."""
    own = vars(cls)
    if not {"state_names", "state_rates", "coordinate_names", "power"} & own.keys():
        return
    if bool(cls.state_names) is not cls.defines("state_rates"):
        has, lacks = ("state_names", "state_rates") if cls.state_names else ("state_rates", "state_names")
        raise TypeError(f"class {cls.__name__}: it has {has} and no {lacks}; expected both; {lacks} gives " + (
            "the rate of each of them" if cls.state_names else "a name for each of the rates, such as ('filtered',)"
        ))  # fmt: skip
    if not cls.state_names:
        return
    alone = own.get("coordinate_names", getattr(cls, "_without_states", cls.coordinate_names))
    if isinstance(alone, property):
        raise TypeError(
            f"class {cls.__name__}: its coordinate_names differ from object to object, and it has states; expected one or the "
            "other; put the states into an object of their own, on the same frames"
        )
    cls._without_states = tuple(alone)
    cls.coordinate_names = (*alone, *(_coordinate(cls, name) for name in cls.state_names))
    plain = own.get("power", getattr(cls, "_power_alone", cls.power))
    cls._power_alone = staticmethod(plain)
    cls.power = _with_states(plain)


def _coordinate(cls: type, name: Any) -> Coordinate:
    if isinstance(name, Coordinate):
        if name.ports:
            raise TypeError(
                f"class {cls.__name__}: the state {name!r} has ports; expected none, as nothing flows in at a state; make it one "
                "of coordinate_names"
            )
        return name
    if not isinstance(name, str):
        raise TypeError(
            f"class {cls.__name__}: state_names has {shown(name)}; expected names, or those of mse.coordinate()"
        )
    return Coordinate(name, GENERALIZED, "")


def _with_states(power: Callable) -> Callable:
    """The power of a class and that of its states."""

    def with_states(self, frames, q, v, given):
        first = len(self._without_states)
        given = given._replace(s=q[first:])
        total = power(self, frames, q, v, given)
        for k, rate in enumerate(_imbalance(self, q, given, given.v[first:])):
            total = total + rate * v[first + k]
        return total

    return with_states


def _imbalance(obj: Any, q: Any, given: Any, actual: Any) -> list:
    """``f - M s'`` of each state."""
    found = obj.state_rates(given.frames, q, given.v, given)
    mass = None
    if isinstance(found, tuple) and len(found) == 2 and len(_row(found[0])) and _is_row(_row(found[0])[0]):
        mass, found = found
    rates, count = _row(found), len(actual)
    if len(rates) != count or (mass is not None and [len(_row(row)) for row in mass] != [count] * count):
        raise ModelError(
            f"{obj.label}: its {_FORM} gives {len(rates)} rates; expected {count}, one for each of {', '.join(obj.state_names)}, "
            "or (M, f) with a square matrix M for M s' = f"
        )
    if mass is None:
        return [f - actual[k] for k, f in enumerate(rates)]
    return [f - sum(m * actual[j] for j, m in enumerate(_row(row))) for row, f in zip(mass, rates, strict=True)]


def _is_row(x: Any) -> bool:
    return isinstance(x, list | tuple) or getattr(x, "ndim", 0) > 0


def _row(x: Any) -> Sequence:
    return x if _is_row(x) else [x]
