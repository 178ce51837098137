"""Variables of laws besides frames and coordinates: states with rates of their own, and efforts that follow from the others.

A state obeys ``s' = f`` or ``M s' = f`` (filters, controllers), an effort ``Gamma = 0`` (amplifiers, heat).  Both are internal
coordinates, with the forces ``f - M s'`` and ``Gamma``.  That is a power, so searches, linear models and motions take
them as they take other forces without energy.  On solutions its work is zero, so it enters no balance of energy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..errors import ModelError
from ..validation.arguments import shown
from .coordinates import EFFORT, GENERALIZED, Coordinate
from .differentiation import Given, MovingFrame, moving, somewhere

_GIVEN = "(frames, q, v, given), frames with o, U, v, w"
# names of variables, the law that decides them, what it gives for each, and their domain
_KINDS = (
    ("effort_names", "effort_constraint", "equation", EFFORT),
    ("state_names", "state_rates", "rate", GENERALIZED),
)
_RELEVANT = {name for kind in _KINDS for name in kind[:2]} | {"coordinate_names", "power"}


class WithVariables:
    """What elements have of variables: nothing."""

    effort_names: ClassVar[tuple[str, ...]] = ()
    state_names: ClassVar[tuple[str, ...]] = ()

    def effort_constraint(self, frames: Sequence[MovingFrame], q: Any, v: Any, given: Given) -> Any:
        """What is zero, one number for each of ``effort_names``, which it decides; the efforts are ``given.e``."""
        return ()

    def fluctuation_matrix(self, frames: Sequence[Any], q: Any, v: Any) -> Any:
        """Thermal noise N (6 F + q, 6 F + q) of its forces, of which ``Gamma`` are some: power densities ``4 kB N``, one-sided.

        v are the rates of q in the steady flows of a working point.

        ``N = T Y`` for flows that follow from efforts e by ``Gamma = v - Y e``; None for no noise.
        """
        return None

    def state_rates(self, frames: Sequence[MovingFrame], q: Any, v: Any, given: Given) -> Any:
        """Rates f of the states, ``s' = f``, or (M, f) for ``M s' = f``; the states are ``given.s``."""
        return ()


def settle_variables(cls: type) -> None:
    """Make internal coordinates of the efforts and states of a class, and their laws a part of its power."""
    own = vars(cls)
    if not _RELEVANT & own.keys():
        return
    for names, law, each, _ in _KINDS:
        if bool(getattr(cls, names)) is not cls.defines(law):
            has, lacks = (names, law) if getattr(cls, names) else (law, names)
            raise TypeError(f"class {cls.__name__}: it has {has} and no {lacks}; expected both; {lacks} gives " + (
                f"the {each} of each of them" if lacks == law else f"a name for each {each}, such as ('filtered',)"
            ))  # fmt: skip
    if not cls.effort_names and not cls.state_names:
        return
    alone = own.get("coordinate_names", getattr(cls, "_without_variables", cls.coordinate_names))
    if isinstance(alone, property):
        raise TypeError(
            f"class {cls.__name__}: its coordinate_names differ from object to object, and it has efforts or states; expected "
            "one or the other; put these into an object of their own, on the same frames"
        )
    cls._without_variables = tuple(alone)
    found = [_coordinate(cls, names, name, domain) for names, _, _, domain in _KINDS for name in getattr(cls, names)]
    cls.coordinate_names = (*alone, *found)
    plain = own.get("power", getattr(cls, "_power_alone", cls.power))
    cls._power_alone = staticmethod(plain)
    cls.power = _with_variables(plain)


def _coordinate(cls: type, names: str, name: Any, domain: str) -> Coordinate:
    if isinstance(name, Coordinate):
        if name.ports:
            raise TypeError(
                f"class {cls.__name__}: {name!r} of its {names} has ports; expected none, as nothing flows in there; make it one "
                "of coordinate_names"
            )
        return Coordinate(name, domain, name.unit, name.size) if domain == EFFORT else name
    if not isinstance(name, str):
        raise TypeError(
            f"class {cls.__name__}: {names} has {shown(name)}; expected names, or those of mse.coordinate()"
        )
    return Coordinate(name, domain, "")


def _with_variables(power: Callable) -> Callable:
    """The power of a class and that of its efforts and states."""

    def with_variables(self, frames, q, v, given):
        first = len(self._without_variables)
        middle = first + len(self.effort_names)
        given = given._replace(e=q[first:middle], s=q[middle:])
        total = power(self, frames, q, v, given)
        left = _equations(self, q, given) if self.effort_names else []
        if self.state_names:
            left = [*left, *_imbalance(self, q, given, given.v[middle:])]
        for k, equation in enumerate(left):
            total = total + equation * v[first + k]
        return total

    return with_variables


def _equations(obj: Any, q: Any, given: Any) -> Sequence:
    """``Gamma``, one for each effort."""
    found, count = _row(obj.effort_constraint(given.frames, q, given.v, given)), len(obj.effort_names)
    if len(found) != count:
        raise ModelError(
            f"{obj.label}: its effort_constraint{_GIVEN} gives {len(found)} equations; expected {count}, one for each "
            f"of its efforts {', '.join(obj.effort_names)}"
        )
    return found


# Changes of an effort of about 1, one of which its law answers: it may have a dead zone, or a limit
# (tests/elements/test_variables.py::test_an_effort_that_acts_beyond_a_dead_zone_alone_is_in_its_row).
_CHANGES = (0.1, -3.0, 1e3, -1e3, 1e9, -1e9)


def refuse_missing(obj: Any) -> None:
    """Refuse an effort that is in no row of the effort_constraint of its object, where a row has no flow either to decide it.

    A row of flows alone may decide an effort, as that of an amplifier's input, through which nothing flows.
    """
    n, count = 6 * len(obj.frame_names) + len(obj.coordinate_names), len(obj.effort_names)
    first = len(obj._without_variables)
    rng, frames = np.random.default_rng(0), somewhere(obj)
    q, rates, other = rng.uniform(0.5, 1.5, (3, n))

    def rows(e: np.ndarray, rates: np.ndarray) -> np.ndarray:
        moved, v = moving(frames, rates)
        given = Given(moved, v, e, q[first + count : len(obj.coordinate_names)])
        return np.array([float(x) for x in _equations(obj, q[: len(obj.coordinate_names)], given)])

    try:
        with np.errstate(all="ignore"):
            e = rng.uniform(0.5, 1.5, count)
            before = rows(e, rates)
            each = np.eye(count)
            missing = [
                k for k in range(count) if all(np.array_equal(rows(e + d * each[k], rates), before) for d in _CHANGES)
            ]
            changed = [rows(e + d, other) != before for d in _CHANGES] if missing else []
            idle = np.flatnonzero(~np.any(changed, axis=0)) if missing else ()
    except (ArithmeticError, ValueError):  # a law that is undefined there
        return
    if len(idle):
        raise ModelError(
            f"{obj.label}: its effort {obj.effort_names[missing[0]]} is in no row of its effort_constraint, and row {idle[0]} "
            "has neither efforts nor flows; expected an equation that decides the effort; leave it out, or hold the flow by a "
            "flow_constraint, whose multiplier is the effort; write a constraint for charges and positions"
        )


def _imbalance(obj: Any, q: Any, given: Any, actual: Any) -> list:
    """``f - M s'`` of each state."""
    found = obj.state_rates(given.frames, q, given.v, given)
    mass = None
    if isinstance(found, tuple) and len(found) == 2 and len(_row(found[0])) and _is_row(_row(found[0])[0]):
        mass, found = found
    rates, count = _row(found), len(actual)
    if len(rates) != count or (mass is not None and [len(_row(row)) for row in mass] != [count] * count):
        raise ModelError(
            f"{obj.label}: its state_rates{_GIVEN} gives {len(rates)} rates; expected {count}, one for each of "
            f"{', '.join(obj.state_names)}, or (M, f) with a square matrix M for M s' = f"
        )
    if mass is None:
        return [f - actual[k] for k, f in enumerate(rates)]
    return [f - sum(m * actual[j] for j, m in enumerate(_row(row))) for row, f in zip(mass, rates, strict=True)]


def _is_row(x: Any) -> bool:
    return isinstance(x, list | tuple) or getattr(x, "ndim", 0) > 0


def _row(x: Any) -> Sequence:
    return x if _is_row(x) else [x]
