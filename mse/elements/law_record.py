"""The record of one law of an element: its values and derivatives by the coordinates, as programs."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..numerics.program import Program
from ..numerics.record import Expansion, Record, Unrecordable
from ..numerics.recorder import Recorded
from ..validation.arguments import LARGEST
from .differentiation import FramePose, Given, moving

OF_VELOCITIES = ("kinetic", "dissipation")
OWN = {"_name", "at", "system", "_values"}  # attributes that laws of several objects may differ in


class Shape(NamedTuple):
    """How many frames, internal coordinates and values an element's law has."""

    frames: int
    inner: int
    values: int = 1

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 6 * self.frames + self.inner


class Law:
    """The record of a law: of frames, internal coordinates, what is ``given`` (gravity, multipliers, velocities), and parameters.

    Its results are columns: values (m,), their slopes (m, n), and the second derivatives (n, n) of their sum, each times its
    multiplier.  Laws of velocities are differentiated by the velocities of the coordinates.  A power has forces as values, and
    their slopes by velocities in the place of second derivatives.  "momenta" has a kinetic coenergy and its slopes by
    velocities as values; "inertia" a kinetic coenergy and its forces of inertia, at velocities and accelerations; "drag" a
    content and its slopes by velocities: both have slopes of these by velocities, as a power has.  "flow_constraint" has
    flows and their slopes by velocities, row by row, as values.

    Conditions that the law asks are answered at ``place``, a row of frames, internal coordinates and what is given; where they
    answer otherwise, another record serves.
    """

    def __init__(self, obj, law: str, shape: Shape, by_numbers: bool, place: np.ndarray):
        self.shape = shape
        self._record = record = Record(place)
        n = 12 * shape.frames + shape.inner
        by_rates = law in OF_VELOCITIES
        of_rates = by_rates or law in ("power", "momenta", "inertia", "drag", "flow_constraint")
        # of a power virtual velocities, on which its slopes do not depend, and actual ones
        count = {
            "energy": 3, "constraint": shape.values, "measure": shape.values, "power": 2 * shape.size, "inertia": 2 * shape.size,
        }.get(law, shape.size)  # fmt: skip
        given = record.inputs(count, n, varies=of_rates)
        frames, q, self._expansions = _frames(record, shape)
        self._by_rates: dict[int, Expansion] = {}
        self._layout: list[tuple[str, bool]] = []  # names of parameters and of attributes that are inputs, in order
        shadow = self._shadow(obj, n + len(given), by_numbers)
        before = dict(vars(shadow))
        if by_rates:
            self._expansions = {v: Expansion({i: record.one}) for i, v in enumerate(given)}
            frames, rates = moving(frames, Recorded(record, np.array(given)))
            self._values, weights = [_nodes(record, getattr(shadow, law)(frames, q, rates), ())], [record.one]
        elif law == "power":
            virtual, actual = (moving(frames, Recorded(record, np.array(x))) for x in np.reshape(given, (2, -1)))
            power = _nodes(record, shadow.power(virtual[0], q, virtual[1], Given(*actual)), ())
            along = {v: Expansion({i: record.one}) for i, v in enumerate(given[: shape.size])}
            slopes = record.by_variables(power, along)
            self._values = [slopes.get(i, record.zero) for i in range(shape.size)]
            weights = [record.zero] * shape.size
            self._by_rates = {v: Expansion({i: record.one}) for i, v in enumerate(given[shape.size :])}
        elif law in ("momenta", "inertia", "drag"):
            v, a = given[: shape.size], given[shape.size :]
            frames, rates = moving(frames, Recorded(record, np.array(v)))
            along = {node: Expansion({i: record.one}) for i, node in enumerate(v)}
            total = _nodes(record, getattr(shadow, "dissipation" if law == "drag" else "kinetic")(frames, q, rates), ())
            slopes = record.by_variables(total, along)
            found = [slopes.get(i, record.zero) for i in range(shape.size)]
            if law == "inertia":
                found = self._inertia(total, found, v, a, along)
            if law != "momenta":
                self._by_rates = along
            self._values = [total, *found]
            weights = [record.zero] * shape.values
        elif law == "flow_constraint":
            frames, rates = moving(frames, Recorded(record, np.array(given)))
            along = {v: Expansion({i: record.one}) for i, v in enumerate(given)}
            flows = _row(shadow.flow_constraint(frames, q, rates))
            self._values = list(_nodes(record, flows, (shape.values // (1 + shape.size),)))
            rows = [record.by_variables(flow, along) for flow in self._values]
            self._values += [row.get(i, record.zero) for row in rows for i in range(shape.size)]
            weights = [record.zero] * shape.values
        elif law == "energy":
            total = shadow.energy(frames, q)
            if obj.defines("gravity_energy"):
                total = total + shadow.gravity_energy(frames, q, Recorded(record, given))
            self._values, weights = [_nodes(record, total, ())], [record.one]
        else:
            residual = _row(getattr(shadow, law)(frames, q))
            self._values, weights = list(_nodes(record, residual, (shape.values,))), given
        for name, value in vars(shadow).items():
            if before.get(name) is not value and not follows(type(obj), name):
                raise Unrecordable(f"sets {name} of its object")
        products = [record.multiply(w, v) for w, v in zip(weights, self._values, strict=True)]
        self._total = functools.reduce(record.add, products)
        self._programs: dict[int, Program] = {}
        self._conditions: Program | None = None

    def _inertia(self, total: int, p: list[int], v: list[int], a: list[int], along: dict[int, Expansion]) -> list[int]:
        """``M a + (dp/dx) v - dT/dx - w x p`` as nodes, of a coenergy T with momenta p at velocities v, accelerations a."""
        record, out = self._record, []
        by_x = record.by_variables(total, self._expansions)
        for i, momentum in enumerate(p):
            node = record.negate(by_x.get(i, record.zero))
            for rates, expansions in ((v, self._expansions), (a, along)):
                for j, slope in record.by_variables(momentum, expansions).items():
                    node = record.add(node, record.multiply(slope, rates[j]))
            out.append(node)
        for first in range(3, 6 * self.shape.frames, 6):
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                for one, two, sign in ((j, k, record.subtract), (k, j, record.add)):
                    out[first + i] = sign(out[first + i], record.multiply(v[first + one], p[first + two]))
        return out

    def _shadow(self, obj, first: int, by_numbers: bool):
        """The object with its real parameters and attributes recorded; in no system, whose other objects may change."""
        shadow = object.__new__(type(obj))
        values = dict(obj._values)
        own = {k: v for k, v in vars(obj).items() if not follows(type(obj), k)}
        vars(shadow).update(own, _values=values, system=None)
        moving = moving_parameters(type(obj))
        for attribute, place in ((False, values), (True, vars(shadow))) if not by_numbers else ():
            for name, value in list(place.items()):
                if is_real(value) and (name not in OWN if attribute else name in moving):
                    nodes = self._record.inputs(np.size(value), first, varies=False)
                    recorded = Recorded(self._record, np.reshape(nodes, np.shape(value)))
                    place[name] = tuple(recorded) if type(value) is tuple else recorded
                    self._layout.append((name, attribute))
                    self._record.point += np.ravel(value).tolist()
                    first += np.size(value)
        return shadow

    def parameters(self, obj) -> np.ndarray:
        """What an object gives for the inputs that are parameters."""
        found = [vars(obj)[name] if attribute else obj._values[name] for name, attribute in self._layout]
        return np.concatenate([np.zeros(0), *(np.ravel(x) for x in found)])

    def prepare(self) -> None:
        """Make all programs, which may turn out to be too long."""
        for order in (-1, 0, 1, 2):
            self._program(order)

    @property
    def branches(self) -> bool:
        """Whether the law asks conditions that depend on its inputs."""
        return bool(self._record.guards)

    def serves(self, inputs: np.ndarray) -> np.ndarray:
        """Whether the conditions answer as where the law was recorded, for each row (E, i) of inputs."""
        answers = np.array(list(self._record.guards.values()))
        if self._conditions is None:
            self._conditions = self._record.program((v, k) for k, v in enumerate(self._record.guards))
        return ((self._conditions.run(inputs, len(answers)) != 0.0) == answers).all(axis=1)

    def switches(self, inputs: np.ndarray) -> np.ndarray:
        """Numbers (E, switches) that change their sign where another record begins to serve; see :meth:`Record.switches`."""
        nodes = self._record.switches()
        return self._record.program((v, k) for k, v in enumerate(nodes)).run(inputs, len(nodes))

    def _program(self, order: int) -> Program:
        """The program of values and derivatives up to an order; -1 for one value and its rounding."""
        if order not in self._programs:
            record, n, m = self._record, self.shape.size, self.shape.values
            outputs = [(v, r) for r, v in enumerate(self._values)]
            if order < 0:
                outputs += [(record.rounding(v), m + r) for r, v in enumerate(self._values)]
            if order >= 1:
                for r, v in enumerate(self._values):
                    slopes = record.by_variables(v, self._expansions)
                    outputs += [(node, m + r * n + i) for i, node in slopes.items()]
            if order == 2:
                outputs += [(node, m + m * n + i * n + j) for i, j, node in self._second()]
            self._programs[order] = record.program((v, c) for v, c in outputs if v != record.zero)
        return self._programs[order]

    def _second(self) -> Iterator[tuple[int, int, int]]:
        """Entries i, j of the second derivatives, or of what a power has in their place, as nodes."""
        for i, value in enumerate(self._values[-self.shape.size :]) if self._by_rates else ():
            yield from ((i, j, node) for j, node in self._record.by_variables(value, self._by_rates).items())
        for (i, j), node in self._record.hessian(self._total, self._expansions).items():
            yield from [(i, j, node), (j, i, node)][: 1 + (i != j)]

    def run(self, inputs: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (E, m), slopes (E, m, n) and second derivatives (E, n, n), of orders that are not asked for empty."""
        n, m = self.shape.size, self.shape.values
        slopes, second = m + m * n, m + m * n + n * n
        out = self._program(order).run(inputs, (m, slopes, second)[order])
        return out[:, :m], out[:, m:slopes].reshape(len(out), -1, n), out[:, slopes:].reshape(len(out), -1, n)

    def agrees(self, inputs: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether the record gives the same values (E, m) as the law itself, to rounding; the first ones are enough."""
        out, count = self._program(-1).run(inputs, 2 * self.shape.values), values.shape[1]
        found, rounding = bounded(out[:, :count]), out[:, self.shape.values : self.shape.values + count]
        with np.errstate(invalid="ignore"):
            same = (np.abs(found - values) <= rounding) | (np.isnan(found) & np.isnan(values)) | (found == values)
        return same.all(axis=1)


def bounded(values: np.ndarray) -> np.ndarray:
    """Values with NaN in place of numbers that are too large to compute with."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def is_real(value: Any) -> bool:
    """Whether a value is a real number, an array or a tuple of such."""
    if type(value) is tuple:
        return bool(value) and all(type(x) is float for x in value)
    return type(value) is float or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def follows(cls: type, name: str) -> bool:
    """Whether an attribute follows from others, and is kept for speed."""
    return name in cls._remembered or isinstance(getattr(cls, name, None), functools.cached_property)


def _row(values: Any) -> Any:
    """What a law gives as a list, as a vector."""
    if isinstance(values, list | tuple):
        return np.stack(list(values))
    return np.stack([values]) if isinstance(values, Recorded) and values.shape == () else values


def _nodes(record: Record, value: Any, shape: tuple[int, ...]) -> Any:
    """The nodes of what a law gives, of an expected shape."""
    if not isinstance(value, Recorded):
        if not isinstance(value, float | int | np.ndarray):
            raise Unrecordable(f"gives a {type(value).__name__}")
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise Unrecordable("gives no real numbers")
        value = Recorded(record, np.reshape([record.constant(x) for x in array.ravel()], array.shape))
    if value.shape != shape:
        raise Unrecordable(f"gives values of shape {value.shape}")
    return value.nodes.tolist()


#: Frames and internal coordinates of each of several objects.
Places = Sequence[tuple[Sequence[FramePose], np.ndarray]]


def rows_of(places: Places) -> np.ndarray:
    """Places as records take them: origins, orientations and internal coordinates of an object in each row."""
    return np.array([np.concatenate([*(f.o for f in fs), *(np.ravel(f.U) for f in fs), q]) for fs, q in places])


def _frames(record: Record, shape: Shape) -> tuple[list[FramePose], Recorded, dict[int, Expansion]]:
    """Recorded frames and internal coordinates, and how they depend on the coordinates (dx, dy, dz, ax, ay, az, ..., q)."""
    count = shape.frames
    origins = np.reshape(record.inputs(3 * count, 0), (count, 3))
    turns = np.reshape(record.inputs(9 * count, 3 * count), (count, 3, 3))
    inner = record.inputs(shape.inner, 12 * count)
    expansions = {v: Expansion({6 * count + k: record.one}) for k, v in enumerate(inner)}
    half = record.constant(0.5)
    for k in range(count):
        expansions |= {int(v): Expansion({6 * k + i: record.one}) for i, v in enumerate(origins[k])}
        for column in turns[k].T.tolist():
            for i in range(3):
                # exp([a]x) u to second order: u + a x u + (a (a.u) - (a.a) u)/2
                a, b, c = (6 * k + 3 + (i + step) % 3 for step in range(3))
                second, third = column[(i + 1) % 3], column[(i + 2) % 3]
                opposite = record.negate(column[i])
                mixed = {(a, b): record.multiply(half, second), (a, c): record.multiply(half, third)}
                curvatures = {(b, b): opposite, (c, c): opposite, **mixed}
                expansions[column[i]] = Expansion({b: third, c: record.negate(second)}, curvatures)
    frames = [FramePose(Recorded(record, o), Recorded(record, u)) for o, u in zip(origins, turns, strict=True)]
    return frames, Recorded(record, np.array(inner, dtype=int)), expansions


def moving_parameters(cls: type) -> tuple[str, ...]:
    """The parameters of a class that forces depend on."""
    return tuple(name for name, p in cls.declared_parameters.items() if p.moves)
