"""Which controllers lead from which sensors to which actuators of a model, and all of them together as one matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, SingularResponseError, UnknownNameError
from ..linear.linear_model import LinearModel
from ..numerics.precision import DEPENDENT
from ..validation.arguments import find, mapping, names, new_name, refusal, shown
from .controller import Controller, Realization, rational, values

#: Actuator and sensor, or several of them, and what stands for a controller between them.
Loops = Mapping[tuple[str | Sequence[str], str | Sequence[str]], Any]


class Link(NamedTuple):
    """One controller of a loop: ``u = -C y`` of these actuators and sensors."""

    loop: str
    actuators: tuple[str, ...]
    sensors: tuple[str, ...]
    controller: Controller


class Links:
    """Controllers that act together: ``u = -C y`` of all their a actuators and s sensors, each named once."""

    def __init__(self, links: Sequence[Link]):
        self.all = tuple(links)
        self.actuators = tuple(dict.fromkeys(name for link in links for name in link.actuators))
        self.sensors = tuple(dict.fromkeys(name for link in links for name in link.sensors))
        self.dt = next((link.controller.dt for link in links if link.controller.dt is not None), None)
        #: numbers of the actuators and of the sensors of each
        self.places = [
            (
                np.array([self.actuators.index(n) for n in x.actuators]),
                np.array([self.sensors.index(n) for n in x.sensors]),
            )
            for x in links
        ]

    def _added(self, s: np.ndarray, value: Callable[[Controller], np.ndarray]) -> np.ndarray:
        out = np.zeros((len(s), len(self.actuators), len(self.sensors)), dtype=complex)
        for link, (a, b) in zip(self.all, self.places, strict=True):
            out[:, a[:, None], b] += value(link.controller)
        return out

    def at(self, s: np.ndarray) -> np.ndarray:
        """C (f, a, s) at complex rates s (f,), with delays and holds."""
        return self._added(s, lambda c: values(c, s))

    def at_samples(self, z: np.ndarray) -> np.ndarray:
        """C (f, a, s) of sampled controllers at z (f,), with the whole samples of computing delays and without holds."""
        return self._added(z, lambda c: rational(c, z) / z[:, None, None] ** c.late)

    @property
    def fractions(self) -> np.ndarray:
        """How long (a,) after a sample each actuator has its new command, in samples."""
        out = np.zeros(len(self.actuators))
        for link, (a, _) in zip(self.all, self.places, strict=True):
            out[a] = np.maximum(out[a], link.controller.fraction)
        return out

    def poles(self) -> np.ndarray:
        """Poles of all controllers, those of sampled ones in z."""
        found = [c.poles if c.matrices is None else np.linalg.eigvals(c.matrices[0]) for _, _, _, c in self.all]
        return np.concatenate([np.zeros(0), *found])

    def stacked(self, of: Callable[[Controller], Realization]) -> tuple[Realization, np.ndarray, list[np.ndarray]]:
        """All controllers side by side, with inputs v of their own: the sensor and the polynomial of each."""
        parts = [of(link.controller) for link in self.all]
        n, v = sum(len(x.A) for x in parts), sum(x.B.shape[1] for x in parts)
        a, b, c, d = (np.zeros(x) for x in ((n, n), (n, v), (len(self.actuators), n), (len(self.actuators), v)))
        sensors, polynomials, row, column = [], [], 0, 0
        for x, (on, read) in zip(parts, self.places, strict=True):
            i, j = slice(row, row + len(x.A)), slice(column, column + len(read))
            a[i, i], b[i, j], c[on, i], d[on, j] = x.A, x.B, x.C, x.D
            sensors.append(read)
            polynomials += [x.polynomial] * len(read)
            row, column = i.stop, j.stop
        return Realization(a, b, c, d), np.concatenate(sensors), polynomials


def finite(name: str, c: np.ndarray, w: np.ndarray, beside: bool = False) -> np.ndarray:
    """Controllers c (f, a, s) at rates w (f,). An infinite one raises SingularResponseError, unless ``beside`` is set."""
    infinite = ~np.isfinite(c).all(axis=(1, 2))
    if infinite.any() and not beside:
        raise SingularResponseError(
            f"{name}: a controller is infinite at {w[np.argmax(infinite)] / (2 * np.pi):.12g} Hz, where it has a pole; expected "
            "frequencies off it; leave this one out"
        )
    return c


def linked(model: LinearModel, loops: Loops, name: str, before: Sequence[Link]) -> tuple[Link, ...]:
    """The links of a new loop behind those that there are; refuses names that the model does not have."""
    loop = new_name(model.name, "name of a loop", name)
    if loop in {link.loop for link in before}:
        raise ModelError(f"{model.name}: there is a loop {loop!r} already; expected a new name; give name='...'")
    expected = "controllers by (actuator, sensor), such as {('coil.fx', 'probe.x'): controller}"
    given = mapping(model.name, f"loop {loop!r}", loops, expected)
    if not given:
        raise refusal(model.name, f"loop {loop!r}", loops, expected)
    links = [_link(model, loop, pair, controller, expected) for pair, controller in given.items()]
    times = {link.controller.dt for link in (*before, *links)} - {None}
    if len(times) > 1:
        raise ModelError(
            f"{model.name}: its controllers are sampled every {' and '.join(f'{t:g} s' for t in sorted(times))}; expected one "
            "sampling time; design them for the same dt"
        )
    _refuse_fractions(model.name, (*before, *links))
    return (*before, *links)


def _refuse_fractions(name: str, links: Sequence[Link]) -> None:
    """Refuse sampled controllers that change the command of one actuator at different times between two samples."""
    known: dict[str, Controller] = {}
    for link in (link for link in links if link.controller.dt is not None):
        for actuator in link.actuators:
            first, own = known.setdefault(actuator, link.controller), link.controller
            if abs(first.fraction - own.fraction) > DEPENDENT:
                raise ModelError(
                    f"{name}: the commands of {actuator!r} come {first.delay:g} and {own.delay:g} s after a sample; expected "
                    "computing delays that differ by whole sampling times, since one converter sets them together; give both "
                    "controllers the longer delay"
                )


def _link(model: LinearModel, loop: str, pair: Any, controller: Any, expected: str) -> Link:
    who = f"{model.name}: loop {loop!r}"
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ModelError(f"{who} has the key {shown(pair)}; expected {expected}")
    actuators, sensors = names(who, "actuators", pair[0]), names(who, "sensors", pair[1])
    if set(actuators) <= set(model.outputs) - set(model.inputs) and set(sensors) <= set(model.inputs):
        raise UnknownNameError(f"{who} has {shown(pair)}, the sensor first; expected (actuator, sensor)")
    for what, chosen, known in (("actuator", actuators, model.inputs), ("sensor", sensors, model.outputs)):
        for name in chosen:
            find(who, what, name, known)
        if len(set(chosen)) < len(chosen) or not chosen:
            raise refusal(who, f"{what}s", pair, "each once")
    own = Controller.of(controller)
    if own.shape != (len(actuators), len(sensors)):
        raise ModelError(
            f"{who}: the controller from {', '.join(sensors)} to {', '.join(actuators)} has {own.shape[0]} outputs and "
            f"{own.shape[1]} inputs; expected {len(actuators)} and {len(sensors)}"
        )
    return Link(loop, actuators, sensors, own)
