"""The record of one law of an element: its values and derivatives by the coordinates, as programs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..numerics.program import Program
from ..numerics.record import Expansion, Record, Unrecordable
from ..numerics.recorder import Recorded, nodes_of
from ..validation.arguments import LARGEST
from .differentiation import CALLED, OF_PLACES, FramePose, asked

ROWS = "held", "rolled"  # rows of constraints on positions and on velocities
OWN = {"_name", "at", "system", "_values"}  # attributes that laws of several objects may differ in


Layout = Sequence[tuple[str, bool]]  # names of parameters, and of attributes (True), in the order of their columns


class Shape(NamedTuple):
    """How many frames, internal coordinates and values an element's law has."""

    frames: int
    inner: int
    values: int = 1

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 6 * self.frames + self.inner

    def of(self, law: str) -> Shape:
        """The same with as many values as a law has by its number of coordinates, and of its own values if it is among ROWS; one
        by default."""
        n = self.size
        count = {"power": n, "forces": n, "motion": 1 + n + n * n}
        count |= dict.fromkeys(("momenta", "inertia", "drag", "resisted"), 1 + n)
        if law in ROWS:
            return self._replace(values=self.values * (2 + n))
        return self._replace(values=count.get(law, 1))

    def given(self, law: str) -> int:
        """How many numbers a law is given besides: gravity, multipliers, or velocities (of "power" virtual and actual ones, of
        "inertia" velocities and accelerations)."""
        two = 2 * self.size
        count = {
            "energy": 3,
            "forces": 3,
            "constraint": self.values,
            "measure": self.values,
            "power": two,
            "inertia": two,
        }
        return count.get(law, self.size)


class Law:
    """The record of a law: of frames, internal coordinates, what is ``given`` (gravity, multipliers, velocities), and parameters.

    Its results are columns: values (m,), their slopes (m, n), and the second derivatives (n, n) of their sum, each times its
    multiplier, or of the first one.  Laws of velocities are differentiated by the velocities of the coordinates.  A power has
    forces as values, and their slopes by velocities in the place of second derivatives.  "momenta" has a kinetic coenergy and
    its slopes by velocities as values; "motion" a kinetic coenergy, its forces of inertia without accelerations, and its masses
    (n, n); "inertia" a kinetic coenergy and its forces of inertia, at velocities and accelerations; "drag" a content and its
    slopes by velocities: the last two have slopes of these by velocities, as a power has.  "coenergy" is a kinetic one with
    derivatives by positions at given velocities.  "bends" has ``v'(d2g)v`` of constraints g, "rates" has their rates.
    "flow_constraint" has flows and their slopes by velocities, row by row, as values.  "held" has constraints g, ``v'(d2g)v``
    and slopes G, row by row, "rolled" flows A v, ``(dA/dt) v`` and A.  "mass_matrix" and "damping_matrix" have half their
    quadratic form of the velocities.  "resisted" has half the quadratic form of the damping_matrix, and its slopes by velocities.

    What the law asks is answered at ``place``, a row of frames, internal coordinates and what is given; where the answers are
    others, another record serves.  ``layout`` names the parameters and attributes that are inputs.  Without it the object's own
    are constants, and the record serves this object at this place once, whatever else its law reads.
    """

    def __init__(self, obj, law: str, shape: Shape, layout: Layout | None, place: np.ndarray):
        self.shape = shape
        self.record = record = Record(place)
        n, inputs = shape.size, 12 * shape.frames + shape.inner
        given = record.inputs(shape.given(law), inputs, varies=law not in OF_PLACES)
        frames, q, by_places = _frames(record, shape)
        velocities = given[-n:] if law == "power" else given[:n]
        by_rates = _themselves(record, velocities)
        self._expansions = by_rates if law in ("kinetic", "dissipation") else by_places
        self._by_rates = by_rates if law in ("power", "inertia", "drag") else {}
        self._weights = given if law in ("constraint", "measure") else [record.one]
        shadow = self._shadow(obj, inputs + len(given), layout)
        before = dict(vars(shadow))

        found = asked(shadow, law, lambda name, *of: getattr(shadow, name)(*of), frames, q, Recorded(record, given))
        several = {"constraint": shape.values, "measure": shape.values, "flow_constraint": shape.values // (1 + n)}
        several |= dict.fromkeys(ROWS, shape.values // (2 + n)) | {"forces": n}
        self.values = _nodes(record, found, several.get(law, several.get(CALLED.get(law, law))))
        if law == "power":  # which does not depend on virtual velocities
            self.values = self._slopes(self.values[0], _themselves(record, given[:n]))
        for _ in range({"rates": 1, "bends": 2}.get(law, 0)):
            self.values = [self._dot(self._slopes(value, by_places), velocities) for value in self.values]
        self._compared = len(self.values)  # what the law itself gives
        if law in ("flow_constraint", "momenta", "drag", "resisted", "motion", "inertia"):
            momenta = [slope for value in self.values for slope in self._slopes(value, by_rates)]
            inertia = law in ("motion", "inertia")
            self.values += self._inertia(momenta, velocities, given[n:], by_rates) if inertia else momenta
        if law == "motion":
            self.values += self._curvatures(self.values[0], by_rates)
        if law in ROWS:
            slopes = [self._slopes(value, by_places) for value in self.values]
            bends = [self._dot(own, velocities) for own in slopes]
            if law == "held":  # the rates are g', whose slopes are G
                bends = [self._dot(self._slopes(rate, by_places), velocities) for rate in bends]
            else:
                slopes = [self._slopes(value, by_rates) for value in self.values]
            self.values += [*bends, *(slope for own in slopes for slope in own)]
        for name, value in vars(shadow).items() if layout is not None else ():
            if before.get(name) is not value and not follows(type(obj), name):
                raise Unrecordable(f"sets {name} of its object")
        self._programs: dict[int, Program] = {}
        self._conditions: Program | None = None

    def _slopes(self, value: int, along: dict[int, Expansion]) -> list[int]:
        """Slopes (n,) of a value by the coordinates, or by their velocities, as nodes."""
        found = self.record.by_variables(value, along)
        return [found.get(i, self.record.zero) for i in range(self.shape.size)]

    def _dot(self, a: list[int], b: list[int]) -> int:
        return int((Recorded(self.record, a) @ Recorded(self.record, b)).nodes)

    def _inertia(self, p: list[int], v: list[int], a: list[int], rates: dict[int, Expansion]) -> list[int]:
        """``M a + (dp/dx) v - dT/dx - w x p`` as nodes, of a coenergy T with momenta p at velocities v, accelerations a.

        ``M a + (dp/dx) v + dT/dx`` is the slope of ``(dT/dx) v + p a`` by velocities: one of a number in place of n.
        """
        by_x = self._slopes(self.values[0], self._expansions)
        along = self._slopes(self._dot(by_x + p[: len(a)], v + a), rates)
        by_x, along, p, v = (Recorded(self.record, nodes) for nodes in (by_x, along, p, v))
        out = (along - 2.0 * by_x).nodes
        for first in range(3, 6 * self.shape.frames, 6):
            turn = slice(first, first + 3)
            out[turn] = (Recorded(self.record, out[turn]) - np.cross(v[turn], p[turn])).nodes
        return out.tolist()

    def _curvatures(self, value: int, along: dict[int, Expansion]) -> list[int]:
        """Second derivatives (n, n) of a value by the coordinates, or by their velocities, as nodes in rows."""
        n = self.shape.size
        out = [self.record.zero] * (n * n)
        for (i, j), node in self.record.hessian(value, along).items():
            out[n * i + j] = out[n * j + i] = node
        return out

    def _shadow(self, obj, first: int, layout: Layout | None):
        """A copy of the object, so that nothing sets its own attributes; with recorded ones in no system, which may change."""
        shadow = object.__new__(type(obj))
        values = dict(obj._values)
        vars(shadow).update(vars(obj), _values=values)
        if layout is None:
            return shadow
        for name in [k for k in vars(shadow) if follows(type(obj), k)]:
            del vars(shadow)[name]
        vars(shadow)["system"] = None
        for name, attribute in layout:
            place = vars(shadow) if attribute else values
            value = place[name]
            nodes = self.record.inputs(np.size(value), first, varies=False)
            recorded = Recorded(self.record, np.reshape(nodes, np.shape(value)))
            place[name] = tuple(recorded) if type(value) is tuple else recorded
            self.record.point += np.ravel(value).tolist()
            first += np.size(value)
        return shadow

    def prepare(self, order: int) -> None:
        """Make the programs of an order and of comparisons with the law, which may turn out to be too long."""
        for one in (-1, order):
            self._program(one)

    def ready(self, order: int) -> bool:
        """Whether the program of an order has been made."""
        return order in self._programs

    def serves(self, inputs: np.ndarray) -> np.ndarray:
        """Whether the conditions answer as where the law was recorded, for each row (E, i) of inputs."""
        if not self.record.guards:
            return np.ones(len(inputs), dtype=bool)
        answers = np.array(list(self.record.guards.values()))
        if self._conditions is None:
            self._conditions = self.record.program(self.record.guards)
        return ((self._conditions.run(inputs) != 0.0) == answers).all(axis=1)

    def _program(self, order: int) -> Program:
        """The program of values and derivatives up to an order; -1 for what is compared, and its rounding."""
        if order not in self._programs:
            self._programs[order] = self.record.program(self._outputs(order))
        return self._programs[order]

    def _outputs(self, order: int) -> list[int]:
        outputs = list(self.values)
        if order < 0:
            outputs = outputs[: self._compared]
            outputs += [self.record.rounding(v) for v in outputs]
        if order >= 1:
            outputs += [slope for v in self.values for slope in self._slopes(v, self._expansions)]
        if order == 2 and self._by_rates:
            outputs += [slope for v in self.values[-self.shape.size :] for slope in self._slopes(v, self._by_rates)]
        elif order == 2:
            total = self._dot(self._weights, self.values[: len(self._weights)])
            outputs += self._curvatures(total, self._expansions)
        return outputs

    def guarded(self, order: int) -> tuple[Program, np.ndarray]:
        """The program of values and derivatives up to an order with all conditions (c,) behind them, and their answers."""
        guards = self.record.guards
        return self.record.program([*self._outputs(order), *guards]), np.array([*guards.values()], dtype=bool)

    def run(self, inputs: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (E, m), slopes (E, m, n) and second derivatives (E, n, n), of orders that are not asked for empty."""
        n, m = self.shape.size, self.shape.values
        out = self._program(order).run(inputs)
        if order == 0:  # as large motions ask for the most
            none = np.zeros((len(out), 0, n))
            return out, none, none
        slopes = m + m * n
        return out[:, :m], out[:, m:slopes].reshape(len(out), -1, n), out[:, slopes:].reshape(len(out), -1, n)

    def agrees(self, inputs: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether the record gives the same values (E, k) as the law itself, to rounding."""
        found, rounding = np.split(self._program(-1).run(inputs), 2, axis=1)
        found = bounded(found)
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


def _nodes(record: Record, value: Any, count: int | None = None) -> list[int]:
    """The nodes of what a law gives: one number, or so many."""
    nodes = nodes_of(record, np.stack(value) if isinstance(value, list | tuple) and len(value) else value)
    if np.shape(nodes) != () if count is None else np.atleast_1d(nodes).shape != (count,):
        raise Unrecordable(f"gives values of shape {np.shape(nodes)}")
    return np.ravel(nodes).tolist()


#: Frames and internal coordinates of each of several objects.
Places = Sequence[tuple[Sequence[FramePose], np.ndarray]]


def rows_of(places: Places) -> np.ndarray:
    """Places as records take them: origins, orientations and internal coordinates of an object in each row."""
    return np.array([np.concatenate([*(f.o for f in fs), *(np.ravel(f.U) for f in fs), q]) for fs, q in places])


def placed(row: np.ndarray, shape: Shape, law: str) -> tuple[list[FramePose], np.ndarray, np.ndarray]:
    """The frames and internal coordinates of such a row, and what a law is given behind them; the row may go on."""
    turns, inner = 3 * shape.frames, 12 * shape.frames
    frames = [FramePose(row[3 * k : 3 * k + 3], row[turns + 9 * k :][:9].reshape(3, 3)) for k in range(shape.frames)]
    given = inner + shape.inner
    return frames, row[inner:given], row[given : given + shape.given(law)]


def _themselves(record: Record, inputs: list[int]) -> dict[int, Expansion]:
    """Inputs that are variables, numbered in their order."""
    return {v: Expansion({i: record.one}) for i, v in enumerate(inputs)}


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
