"""Inputs of a large motion by name: forces, and motions that are prescribed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..elements import laws
from ..elements.circuits import CurrentSource, HeldCurrent
from ..elements.definitions import of_mse
from ..elements.flows import flow_count
from ..elements.records import Channel
from ..errors import ModelError
from ..kernels.motions import cross
from ..model.assembly import Assembly
from ..model.configuration import Configuration
from ..model.evaluation import Evaluation
from ..model.flattening import Element
from ..validation.arguments import called, find, mapping, number, real, refusal
from .prescribed import BESIDE, Signal
from .readings import Reading

Given = float | Callable[[float], float] | ArrayLike
INPUTS = "forces and motions by input, such as {'coil.fx': 2.0, 'crank.angle': lambda t: 5 * t}"


class InputForces:
    """The inputs that are given, with their ``names``, ``units`` and forces on the coordinates of a system.

    ``motors`` are those that prescribe motions, with the numbers of their constraints, by name, and ``motor_units``; samples of
    them are at ``times``.  Charges of current sources that have no input are among them.  ``held`` are the currents that sources
    hold, with the numbers of their flow constraints, which are counted behind the constraints.  Functions that change between
    steps only, as in a step loop, are ``stepwise``.
    """

    def __init__(
        self, assembly: Assembly, given: Mapping[str, Given] | None, times: np.ndarray | None = None, stepwise: bool = False
    ):  # fmt: skip
        self._assembly, self._label, self._stepwise = assembly, assembly.topology.label, stepwise
        self.given = given = mapping(self._label, "inputs", given, INPUTS)
        known = {
            f"{el.path}.{c.name}": (el, k, c.unit)
            for el in assembly.topology.elements
            if el.obj.role == "free"
            for k, c in enumerate(el.obj.inputs)
        }
        motors, currents = dict(self._motors()), dict(self._currents())
        # charges of current sources, which are not given themselves
        charges = {
            f"{el.path}.charge": el.obj.current
            for el in assembly.topology.elements
            if isinstance(el.obj, CurrentSource)
        }
        units = {name: own[2] for name, own in known.items()}
        units |= {name: own[1] for name, own in motors.items() if name not in charges}
        units |= dict.fromkeys([*currents, *(name.removesuffix("charge") + "current" for name in charges)], "A")
        for name in given:
            find(self._label, "input", name, units)
        self.names, self.units = tuple(given), tuple(units[name] for name in given)
        self._values = {n: self._function(n, given[n]) for n in given if n not in motors}
        #: inputs that are forces, by name: their elements, and their numbers among the inputs of these
        self.acting = {n: known[n][:2] for n in self._values if n not in currents}
        self.held = {n: row for n, (row, _) in currents.items()}
        self._steady = {n: current for n, (_, current) in currents.items()}
        self._signals = {name: Signal(self._label, name, given[name], times) for name in given if name in motors}
        self.prescribed = tuple(self._signals)  # names of the inputs that are motions
        self._fixed: dict[str, np.ndarray] = {}
        # currents (A) of sources by their charges, which grow from the values that they have at the beginning
        self.currents = {name: current for name, current in charges.items() if current}
        self._first = dict.fromkeys(self.currents, 0.0)
        self.motors = {name: own[0] for name, own in motors.items() if name in {**self._signals, **self.currents}}
        self.motor_units = tuple(motors[name][1] for name in self.motors)
        self._rows = np.array([*self.motors.values()], dtype=int)
        self._held = np.array([motors[name][2] for name in self.motors])
        self._last: tuple[float, np.ndarray] = np.nan, np.zeros((0, 3))

    def _motors(self):
        """Names of all inputs that prescribe motions, with the number of the constraint, the unit, and where it is held."""
        for g in self._assembly.groups:
            if g.constraint_count and (g.cls.defines("motors") or g.cls is CurrentSource):
                for el, rows in zip(g.elements, self._assembly.constraint_rows(g), strict=True):
                    held = {Channel("charge", "C"): 0} if g.cls is CurrentSource else el.obj.motors
                    for channel, k in held.items():
                        at = el.obj.drives[channel.name][0] if channel.name in el.obj.drives else 0.0
                        yield f"{el.path}.{channel.name}", (int(rows[k]), channel.unit, at)

    def _currents(self):
        """Names of the currents that sources hold, the number of the row, and the current (A) without an input."""
        self._row_count = self._assembly.constraint_count
        for kind in self._assembly.topology.kinds:
            if kind.cls.defines("flow_constraint"):
                for el in (self._assembly.topology.elements[k] for k in kind.members):
                    if isinstance(el.obj, HeldCurrent):
                        yield f"{el.path}.current", (self._row_count, el.obj.current)
                    self._row_count += flow_count(el.obj)

    def _function(self, name: str, value: Any) -> Callable[[float], float]:
        if callable(value):
            return value
        if np.ndim(value):
            raise refusal(
                self._label, f"input {name!r}", value,
                "a number or a function of time, such as lambda t: np.interp(t, times, values)",
            )  # fmt: skip
        constant = number(self._label, f"input {name!r}", value)
        return lambda t: constant

    def __eq__(self, other: object) -> bool:
        """Whether inputs have the same numbers and functions; samples are those of one run."""
        if not isinstance(other, InputForces) or any(np.ndim(x) for x in (*self.given.values(), *other.given.values())):
            return False
        return self.given == other.given

    __hash__ = None

    @property
    def varying(self) -> dict[str, Reading]:
        """The inputs that are no numbers, by name."""
        out = {}
        for name, given in self.given.items():
            if callable(given) or np.ndim(given):
                value = self._signals[name].value if name in self._signals else partial(self.force, name)
                out[name] = Reading(value, given if callable(given) else None)
        return out

    @np.errstate(all="ignore")
    def at(self, time: float) -> np.ndarray:
        """Values (k,) at a time (s)."""
        return np.array([
            self._signals[n].at(time)[0] if n in self._signals else self.force(n, time) for n in self.names
        ])  # fmt: skip

    def steady(self, name: str) -> bool:
        """Whether one that is a force has one value in each step."""
        return self._stepwise or not callable(self.given[name])

    def force(self, name: str, time: float) -> float:
        """The value of one that is a force, at a time (s); the caller keeps numpy from warning."""
        function = self._values[name]
        try:
            value = function(time)
        except Exception:  # which is told as one of this input
            value = called(self._label, f"input {name!r}", "a function of t in s", function, time)
        found = real(value)  # messages take longer to write than most functions to evaluate
        return number(self._label, f"input {name!r} at t = {time:g} s", value) if found is None else found

    @np.errstate(all="ignore")
    def forces(self, time: float, here: Evaluation) -> np.ndarray:
        """Forces (n,) on the coordinates of bodies and on internal ones."""
        total, values = np.zeros(self._assembly.size), {}
        for name, (el, column) in self.acting.items():
            values.setdefault(el.path, (el, np.zeros(len(el.obj.inputs))))[1][column] = self.force(name, time)
        for el, given in values.values():
            self._add(total, el, here.configuration, self._map(el, here.configuration) @ given)
        return total

    @np.errstate(all="ignore")
    def each_force(self, time: float, here: Evaluation) -> dict[str, np.ndarray]:
        """The same (n,) of each input that is a force, by name."""
        return {name: self.force(name, time) * along for name, along in self._ways(here).items()}

    @np.errstate(all="ignore")
    def force_rates(self, time: float, here: Evaluation) -> np.ndarray:
        """By how much forces (n,) change in a second, at poses that stay."""
        rates = (self._rate(name, time) * along for name, along in self._ways(here).items())
        return sum(rates, np.zeros(self._assembly.size))

    def _rate(self, name: str, time: float) -> float:
        if not callable(given := self.given[name]):
            return 0.0
        try:
            return Signal(self._label, name, given, np.zeros(0)).at(time)[1]
        except ModelError:  # of functions that are not recorded, such as np.interp
            later = time + BESIDE * max(1.0, abs(time))
            return (self.force(name, later) - self.force(name, time)) / (later - time)

    def _ways(self, here: Evaluation) -> dict[str, np.ndarray]:
        """Forces (n,) on coordinates per unit of each input that is a force, by name."""
        at, found, maps = here.configuration, {}, {}
        for name, (el, column) in self.acting.items():
            if el.path not in maps:  # once for all inputs of an element
                maps[el.path] = self._map(el, at)
            found[name] = np.zeros(self._assembly.size)
            self._add(found[name], el, at, maps[el.path][:, column])
        return found

    def _map(self, el: Element, at: Configuration) -> np.ndarray:
        """Forces (n, i) on the frames and internal coordinates of an element per unit of its inputs."""
        if el.path in self._fixed:
            return self._fixed[el.path]
        found = laws.coupling(el.obj, "input_map", at.frames(el.frames), (el.size, len(el.obj.inputs)))
        if not len(el.frames) and of_mse(type(el.obj)):  # as of sources: it does not depend on where anything is
            self._fixed[el.path] = found
        return found

    def _add(self, total: np.ndarray, el: Element, at: Configuration, own: np.ndarray) -> None:
        """Add forces on the frames and internal coordinates of an element to those on the coordinates (n,) of the system."""
        bodies, count = self._assembly.body[el.frames].tolist(), len(el.frames)
        for k, (body, f) in enumerate(zip(bodies, el.frames, strict=True)):
            if body:
                force, to = own[6 * k : 6 * k + 6], total[6 * body - 6 : 6 * body]
                to += force
                to[3:] += cross(at.o[f] - at.reference[body], force[:3])
        total[6 * (self._assembly.bodies - 1) :][el.coordinates] += own[6 * count :]

    # -- prescribed motions -----------------------------------------------------------------------------------
    def begin_at(self, time: float, charges: Mapping[str, float]) -> None:
        """Have the charges (C) of current sources, by name, at the time (s) at which a motion begins."""
        for name, current in self.currents.items():
            self._first[name] = charges[name] - current * time
        self._last = np.nan, self._last[1]

    def go_on(self, earlier: InputForces) -> None:
        """Have the charges of current sources that an earlier run with the same inputs had."""
        self._first = dict(earlier._first)

    def motion(self, name: str, time: float) -> tuple[float, float, float]:
        """u, u', u'' of one that is prescribed, at a time (s)."""
        if name in self.currents:
            return self._first[name] + self.currents[name] * time, self.currents[name], 0.0
        return self._signals[name].at(time) if name in self._signals else (0.0, 0.0, 0.0)

    def _three(self, time: float) -> np.ndarray:
        """u, u', u'' (k, 3) of the prescribed motions."""
        if self._last[0] != time:
            self._last = time, np.array([self.motion(name, time) for name in self.motors]).reshape(-1, 3)
        return self._last[1]

    def _on_rows(self, values: np.ndarray) -> np.ndarray:
        out = np.zeros(self._row_count)
        out[self._rows] = values
        return out

    def ways(self, time: float) -> dict[int, tuple[float, float, float]]:
        """By the number of a constraint, how far it is held from where it is without motion, with rate and acceleration."""
        three = self._three(time) - np.outer(self._held, [1.0, 0.0, 0.0])
        return dict(zip(self.motors.values(), map(tuple, three.tolist()), strict=True))

    def targets(self, time: float) -> np.ndarray:
        """What residuals (m,) of constraints are held at: zero but where motions are prescribed."""
        return self._on_rows(self._three(time)[:, 0] - self._held)[: self._assembly.constraint_count]

    @np.errstate(all="ignore")
    def rates(self, time: float) -> np.ndarray:
        """Rates (m + f,) of constraints and of flow constraints, zero but where motions or currents are given."""
        out = self._on_rows(self._three(time)[:, 1])
        for name, row in self.held.items():
            out[row] = self._steady[name] + (self.force(name, time) if name in self.given else 0.0)
        return out

    @np.errstate(all="ignore")
    def accelerations(self, time: float) -> np.ndarray:
        """How these rates (m + f,) change in a second."""
        out = self._on_rows(self._three(time)[:, 2])
        for name, row in self.held.items():
            out[row] = self._rate(name, time) if name in self.given else 0.0
        return out

    def pole(self, begin: float, end: float) -> str:
        """In words: which prescribed motion grows without limit between two times (s); "" for none."""
        return next(filter(None, (s.pole(begin, end) for s in self._signals.values())), "")

    def peaks(self, begin: float, end: float) -> bool:
        """Whether a prescribed motion changes sign between two times (s), or is larger in their middle: it may have a pole."""
        for signal in self._signals.values():
            first, middle, last = (signal.value(t) for t in (begin, 0.5 * (begin + end), end))
            if first * last < 0.0 or abs(middle) > abs(first) + abs(last):
                return True
        return False

    def broken(self, time: float) -> str:
        """In words: which prescribed motion jumps or has a kink next to a time (s); "" for none."""
        return next(filter(None, (s.broken(time) for s in self._signals.values())), "")
