"""InputForces of a large motion: forces by name, as numbers or functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..elements import laws
from ..errors import ModelError
from ..model.assembly import Assembly
from ..model.evaluation import Evaluation
from ..validation.arguments import called, find, mapping, number, refusal

_WHAT = "forces by input, such as {'coil.fx': 2.0, 'coil.fz': lambda t: np.sin(5 * t)}"


class InputForces:
    """The inputs that are given, with their ``names``, ``units`` and forces on the coordinates of a system."""

    def __init__(self, assembly: Assembly, given: Mapping[str, float | Callable[[float], float]] | None):
        self._assembly, self._label = assembly, assembly.topology.label
        given, known, motors = mapping(self._label, "inputs", given, _WHAT), {}, set()
        for el in assembly.topology.elements:
            if el.obj.role == "free":
                known |= {f"{el.path}.{c.name}": (el, k, c.unit) for k, c in enumerate(el.obj.inputs)}
                motors |= {f"{el.path}.{c.name}" for c in el.obj.motors}
            else:
                motors |= {f"{el.path}.{c.name}" for c in el.obj.inputs}
        for name in given:
            if name in motors:
                raise ModelError(
                    f"{self._label}: input {name!r} prescribes a motion, which large motions cannot do yet; expected forces; "
                    "leave it where it is, or take linear.simulate() for small motions"
                )
            find(self._label, "input", name, known)
        self._given, self.names = given, tuple(given)
        self.units = tuple(known[name][2] for name in given)
        self._functions = tuple(self._function(name, value) for name, value in given.items())
        self._driven = tuple(known[name][:2] for name in given)

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
        """Whether inputs have the same numbers and functions."""
        return isinstance(other, InputForces) and self._given == other._given

    __hash__ = None

    def at(self, time: float) -> np.ndarray:
        """Values (k,) at a time (s)."""
        found = []
        for name, function in zip(self.names, self._functions, strict=True):
            value = called(self._label, f"input {name!r}", "a function of t in s", function, time)
            found.append(number(self._label, f"input {name!r} at t = {time:g} s", value))
        return np.array(found)

    def forces(self, time: float, here: Evaluation) -> np.ndarray:
        """Forces (n,) on the coordinates of bodies and on internal ones."""
        a, at = self._assembly, here.configuration
        out = np.zeros(a.size + 6)  # the ground first
        for value, (el, column) in zip(self.at(time), self._driven, strict=True):
            frames = at.frames(el.frames)
            own = value * laws.coupling(el.obj, "input_map", frames, (el.size, len(el.obj.inputs)))[:, column]
            for f, six in zip(el.frames, own[: 6 * len(el.frames)].reshape(-1, 6), strict=True):
                b = a.body[f]
                out[6 * b : 6 * b + 3] += six[:3]
                out[6 * b + 3 : 6 * b + 6] += six[3:] + np.cross(at.o[f] - at.reference[b], six[:3])
            out[6 * a.bodies :][el.coordinates] += own[6 * len(el.frames) :]
        return out[6:]
