"""Following an equilibrium while a load or a parameter changes, through limit points, past branch points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..blas import one_thread
from ..display import Result, table
from ..errors import ModelError, UnknownNameError, WorkingPointError, nearest_name
from ..reals import is_finite
from .assembly import Assembly, State
from .landscape import Landscape, Point
from .stability import Motion, Stability
from .topology import Topology
from .updating import variant
from .working_point import WorkingPoint

if TYPE_CHECKING:
    from .system import MSystem

_FIRST, _LONGEST, _SHORTEST = 0.02, 0.1, 1e-7  # steps along the curve, in sizes of the model
_CORRECTIONS = 8
_AT_REST = 1e-11  # correction over the size of the model at which a point counts as reached
_REGULAR = 1e-10  # keeps dependent constraints solvable
_DIFFERENCE = 1e-6  # of the parameter's range
_LOCATE = 40  # halvings towards a limit or branch point


@dataclass(frozen=True, eq=False)
class Event:
    """Where the curve turns back or crosses another: ``kind`` is "limit point" or "branch point".

    ``value`` is the parameter there, ``motion`` the motion that loses or gains its stiffness.
    """

    kind: str
    value: float
    motion: Motion | None
    working_point: WorkingPoint

    def __repr__(self) -> str:
        along = f" along {self.motion.name}" if self.motion else ""
        return f"{self.kind} at {self.value:.9g}{along}"


@dataclass(frozen=True, repr=False, eq=False)
class Trace(Result):
    """Equilibria along a curve; made by :meth:`MSystem.trace`.

    ``values`` (k,) of the parameter, ``working_points`` (k), ``stable`` (k,), ``events`` the limit and branch points between
    them; ``reason`` says why the curve ends.
    """

    name: str
    parameter: str
    values: np.ndarray
    working_points: tuple[WorkingPoint, ...]
    events: tuple[Event, ...]
    complete: bool
    reason: str

    @property
    def stable(self) -> np.ndarray:
        """Which equilibria are stable (k,)."""
        return np.array([wp.stable for wp in self.working_points])

    def origins(self, frame: str) -> np.ndarray:
        """Origin (k, 3) of a frame at each equilibrium."""
        return np.array([wp.poses[frame].o for wp in self.working_points])

    def table(self) -> str:
        head = f"{self.name}: {len(self.values)} equilibria with {self.parameter}, {self.reason}"
        rows = [
            (k, f"{v:.9g}", "stable" if s else "UNSTABLE", f"{wp.energy:.9g}")
            for k, (v, s, wp) in enumerate(zip(self.values, self.stable, self.working_points, strict=True))
        ]
        text = table(head, ("point", self.parameter, "stability", "energy (J)"), rows, most=40)
        return text + "".join(f"\n{event!r}" for event in self.events)


@one_thread
def trace(system: MSystem, parameter: str, to: float, *, start: WorkingPoint | None, most: int) -> Trace:
    """See :meth:`MSystem.trace`."""
    family = _Family(system, parameter)
    if isinstance(most, bool) or not isinstance(most, int) or most < 2:
        raise ModelError(f"{system.label}: trace(most={most!r}); expected a whole number of at least 2")
    if not is_finite(to):
        raise ModelError(f"{system.label}: trace(to={to!r}); expected a finite number")
    begin = family.value
    if to == begin:
        raise ModelError(
            f"{system.label}: trace(to={to!r}), but {parameter} is {begin!r} already; expected another value"
        )
    wp = start or system.find_working_point(load=begin if parameter == "load" else 1.0)
    if not wp.converged:
        raise WorkingPointError(f"{system.label}: trace() needs a working point to start from; {wp.reason}", wp)
    return _Curve(family, wp, float(to), most).run()


class _Family:
    """The landscapes of one system for the values of one parameter, with the coordinates of the first."""

    def __init__(self, system: MSystem, parameter: str):
        if not isinstance(parameter, str):
            raise ModelError(f"{system.label}: trace({parameter!r}); expected 'load' or 'object.parameter'")
        self.system = system
        self.parameter = parameter
        path, _, self.key = parameter.rpartition(".")
        self.path = path
        if parameter == "load":
            self.value = 1.0
        else:
            target = system[path] if path else system
            if self.key not in target.parameters:
                raise UnknownNameError(
                    f"{target.label}: no parameter {self.key!r}{nearest_name(self.key, list(target.parameters))}"
                )
            value = target.parameters[self.key]
            if isinstance(value, tuple) and len(value) == 1:
                value = value[0]
            if not is_finite(value):
                raise ModelError(f"{target.label}: trace() along {self.key}, which is {value!r:.60}; expected a number")
            self.value = float(value)
        self._like: Landscape | None = None
        self._known: dict[float, Landscape] = {}
        self._topology = Topology(system)
        self._assembly = Assembly(self._topology, self._topology.unit)

    def at(self, value: float, state: State | None = None) -> Landscape:
        """The landscape for one value of the parameter."""
        if value in self._known:
            return self._known[value]
        topology, assembly = self._topology, self._assembly
        if self.parameter != "load":
            obj = topology.source[self.path]._snapshot()
            obj.parameters[self.key] = float(value)
            topology, assembly = variant(topology, assembly, {self.path: obj})
        land = Landscape.bare(topology.label, topology, assembly, self._like, state)
        if self.parameter == "load":
            land.load = value
        if self._like is None:
            self._like = land
        if len(self._known) > 8:
            self._known.clear()
        self._known[value] = land
        return land


class _Place:
    """One equilibrium on the curve: state, parameter, everything evaluated, tangent, stability."""

    def __init__(self, state: State, value: float, point: Point, direction: np.ndarray, stability: Stability):
        self.state, self.value, self.point = state, value, point
        self.direction, self.stability = direction, stability

    @property
    def falling(self) -> int:
        return len(self.stability.unstable)


class _Curve:
    """Pseudo-arclength continuation (H. Keller, in "Applications of Bifurcation Theory" (1977) 359) with constraints."""

    def __init__(self, family: _Family, wp: WorkingPoint, to: float, most: int):
        self.family, self.to, self.most = family, to, most
        self.land = family.at(family.value, wp.state)
        self.range = abs(to - family.value)
        self.per_length = self.range / self.land.size  # of the parameter per metre along the curve
        n = len(self.land.searched)
        ahead = np.zeros(n + 1)
        ahead[-1] = np.sign(to - family.value)
        self.places = [self._place(wp.state, family.value, ahead)]
        self.events: list[Event] = []
        self._farthest = 0.0  # from the first place, in sizes of the model and ranges of the parameter

    # -- equations --------------------------------------------------------------------------------------------
    def _bordered(self, land: Landscape, point: Point, value: float, ahead: np.ndarray):
        """LU of the equations of equilibrium, of the constraints, and of the length along the curve."""
        k, _, _ = land.scaled(point)
        n = k.shape[0]
        force, gap = self._by_parameter(point, value)
        held = land.constraints(point.state)[0] if point.tangent is not None else sp.csr_matrix((0, n))
        m = held.shape[0]
        stiffness = abs(k.diagonal()).max(initial=0.0) or 1.0
        # forces are told in units of the stiffness, so that all rows are lengths
        small = -_REGULAR * sp.identity(m)
        blocks = [
            # what nothing holds stays where it is
            [k / stiffness + _REGULAR * sp.identity(n), held.T, sp.csr_matrix(force[:, None] / stiffness)],
            [held, small, sp.csr_matrix(gap[:, None])],
            [sp.csr_matrix(ahead[None, :n]), sp.csr_matrix((1, m)), sp.csr_matrix([[ahead[n]]])],
        ]
        return splu(sp.bmat(blocks, format="csc")), stiffness, n, m

    def _by_parameter(self, point: Point, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Change of the forces (n,) and of the constraints (m,) per metre of the parameter, at fixed multipliers."""
        step = _DIFFERENCE * self.range
        found = []
        ahead = np.sign(self.to - value) or 1.0
        ends = [value - step * ahead, value + step * ahead]
        if (ends[1] - self.to) * ahead > 0.0:
            ends[1] = self.to  # beyond it there may be nothing
            if ends[1] == value:
                ends[1], ends[0] = value, value - 2.0 * step * ahead
        for v in ends:
            land = self.family.at(v)
            found.append(land.raw(point.state, point.multipliers))
        (f0, g0), (f1, g1) = found
        factor = self.per_length / (ends[1] - ends[0])
        return (f1 - f0) * factor, (g1 - g0) * factor

    def _place(self, state: State, value: float, ahead: np.ndarray) -> _Place:
        """What there is to know about an equilibrium; its direction leads on along ``ahead``."""
        land = self.family.at(value)
        point = land.evaluate(state, 2)
        lu, _, n, m = self._bordered(land, point, value, ahead)
        right = np.zeros(n + m + 1)
        right[-1] = 1.0
        x = lu.solve(right)
        direction = np.concatenate([x[:n], x[-1:]])
        direction /= np.linalg.norm(direction)
        return _Place(state, value, point, direction, land.stability(point))

    def _reached(self, place: _Place, length: float) -> _Place | None:
        """The equilibrium a length (m) further along the curve, or None where Newton's method does not get there."""
        try:
            return self._corrected(place, length)
        except (ModelError, RuntimeError):  # parameters beyond what they may be, equations without a solution
            return None

    def _corrected(self, place: _Place, length: float) -> _Place | None:
        land = self.family.at(place.value)
        n = len(land.searched)
        state = land.moved(place.state, length * place.direction[:n])
        value = place.value + length * place.direction[n] * self.per_length
        before = np.inf
        for _ in range(_CORRECTIONS):
            land = self.family.at(value)
            point = land.evaluate(state, 2)
            if not np.isfinite(point.energy):
                return None
            lu, stiffness, n, m = self._bordered(land, point, value, place.direction)
            gap = land.constraints(state)[1] if m else np.zeros(0)
            # the predictor has gone the length already: corrections are across the curve
            x = lu.solve(np.concatenate([-land.pull(point) / stiffness, -gap, [0.0]]))
            size = float(np.linalg.norm(x[:n], np.inf)) + abs(float(x[-1]))
            if not np.isfinite(size) or size > 2.0 * abs(length) + 1e-3 * land.size or size > 2.0 * before:
                return None
            state = land.moved(state, x[:n])
            value += float(x[-1]) * self.per_length
            before = size
            if size <= _AT_REST * land.size:
                break
        else:
            if before > 1e-8 * land.size:
                return None
        return self._place(state, value, place.direction)

    # -- along the curve --------------------------------------------------------------------------------------
    def run(self) -> Trace:
        size = self.land.size
        step, reason = _FIRST * size, ""
        while not reason:
            here = self.places[-1]
            left = (self.to - here.value) / (here.direction[-1] * self.per_length or np.inf)
            length = left if 0.0 < left < step else step
            there = self._reached(here, length)
            if there is None or here.direction @ there.direction < 0.7:
                step = 0.5 * length
                if step < _SHORTEST * size:
                    reason = f"lost at {self.family.parameter} = {here.value:.9g}, where it ends or becomes too sharp"
                continue
            if abs(there.value - self.to) <= 1e-12 * self.range:
                there.value = self.to
                reason = "complete"
            elif (there.value - self.to) * (here.value - self.to) <= 0.0:
                there = self._located(here, length, lambda place: place.value - self.to)
                reason = "complete"
            elif self._closes(there, length):
                reason = f"comes back to where it began: no point on it has {self.family.parameter} = {self.to:.9g}"
            self._note_events(here, there, length)
            self.places.append(there)
            step = min(1.5 * step, _LONGEST * size)
            if not reason and len(self.places) >= self.most:
                reason = f"ended after {self.most} points before {self.family.parameter} came to {self.to:.9g}"
        return Trace(
            self.family.system.name,
            self.family.parameter,
            np.array([p.value for p in self.places]),
            tuple(self._working_point(p) for p in self.places),
            tuple(self.events),
            reason == "complete",
            reason,
        )

    def _closes(self, place: _Place, step: float) -> bool:
        """Whether the curve is closed, and has come round."""
        first = self.places[0]
        apart = float(np.abs(place.state.o - first.state.o).max()) / self.land.size
        apart = max(apart, abs(place.value - first.value) / self.range)
        self._farthest = max(self._farthest, apart)
        near = 0.6 * step / self.land.size
        return apart < near < 0.5 * self._farthest and bool(place.direction @ first.direction > 0.8)

    def _note_events(self, here: _Place, there: _Place, step: float) -> None:
        turns = here.direction[-1] * there.direction[-1] < 0.0
        if turns:
            found = self._located(here, step, lambda place: place.direction[-1])
            self._add("limit point", found, here, there)
        if abs(there.falling - here.falling) > (1 if turns else 0):
            found = self._located(here, step, lambda place: 1.0 if place.falling == there.falling else -1.0)
            self._add("branch point", found, here, there)

    def _add(self, kind: str, found: _Place, here: _Place, there: _Place) -> None:
        more = max((here, there), key=lambda p: p.falling)
        falling = found.stability.unstable or more.stability.unstable or found.stability.free
        motion = min(falling, key=lambda m: abs(m.stiffness), default=None)
        self.events.append(Event(kind, found.value, motion, self._working_point(found)))

    def _located(self, here: _Place, step: float, sign: Callable[[_Place], float]) -> _Place:
        """The place within a step where a function changes its sign."""
        low, high = 0.0, step
        at_low, at_high = sign(here), None
        best = None
        for k in range(_LOCATE):
            share = 0.5 * (low + high)
            if at_high is not None and at_low * at_high < 0 and abs(at_high) != 1.0 and k % 3:
                share = low - at_low * (high - low) / (at_high - at_low)
            place = self._reached(here, share)
            if place is None:
                high = share
                continue
            best, value = place, sign(place)
            if value == 0.0 or abs(high - low) <= 1e-13 * self.land.size:
                break
            if value * at_low < 0.0:
                high, at_high = share, value
            else:
                low, at_low = share, value
        if best is None:
            return here
        if abs(best.value - self.to) <= 1e-9 * self.range:
            best.value = self.to
        return best

    def _working_point(self, place: _Place) -> WorkingPoint:
        land = self.family.at(place.value)
        load = place.value if self.family.parameter == "load" else 1.0
        return WorkingPoint.at(land, land.evaluate(place.state, 2), place.stability, load=load, seek="nearest")
