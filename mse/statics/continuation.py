"""Follow an equilibrium while a load or a parameter changes, through limit points and past branch points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..declared import axis, labeled, naming, scalar
from ..display import Column, Shown, Table, without_rounding
from ..errors import Interrupted
from ..numerics.precision import APART
from ..progress.tasks import Task
from ..results import Result
from .curve_equations import AT_REST, COARSELY_AT_REST, Equations, Family, Lost, Place
from .history import Outcome
from .stability import Motion, describe, without_traces
from .working_point import WorkingPoint

# The longest step, as fractions of the model's size (or of a rad) and of the range asked for.  With a third or three times of
# either, a curve has more or fewer points than its plot needs
# (tests/statics/test_continuation.py::test_straight_curves_have_a_dozen_points_and_more_where_they_lead_far).
_LONGEST, _WIDEST = 0.2, 0.1
# Of the longest step: the first one.  Three hundred times as much jumps across a snap-through
# (tests/statics/test_standing.py::test_a_snap_is_found_however_far_loads_may_grow).
FIRST = 0.02
_SHORTEST = COARSELY_AT_REST / _LONGEST  # of the longest step: corrections are no more accurate
# Cosine of the largest angle between the tangents at both ends of a step.  If any angle is allowed, two events at one load are
# found instead of one (tests/statics/test_continuation.py::test_motions_that_let_go_at_one_load_are_one_event).
_TURNED = 0.95
# Of a step: distance of its end from the tangent at its start, on an arc that turns by this angle.  A longer distance may mean
# another stretch of the curve.  Steps aim at three quarters of it.
_ASTRAY = ((1.0 - _TURNED) / (1.0 + _TURNED)) ** 0.5
_BENT = 0.75 * _ASTRAY
# Weight of earlier steps in the ratio of displacement to parameter along the curve.  With 0 only the last step counts, so that
# parameters count too much at limit points;
# tests/statics/test_continuation.py::test_snap_through_is_traced_through_both_limit_points fails.  With 1 nothing is forgotten,
# and the curves of that file have as many points.
_REMEMBERED = 0.95
_DOUBTS = 4  # steps that may end where the sign of a motion's curvature is uncertain
# Directions of negative curvature at both ends of a step are one motion if the cosine between them is larger: their squares
# then agree by more than half.
_ALIKE = float(np.sqrt(0.5))


@dataclass(frozen=True, eq=False)
class Event(Shown):
    """A point at which a curve of equilibria turns back or crosses another.

    Attributes
    ----------
    kind : str
        "limit point" or "branch point".
    value : float
        The parameter there.
    motion : Motion or None
        The motion that loses or gains its stiffness.
    working_point : WorkingPoint
        The equilibrium there.
    """

    kind: str
    value: float
    motion: Motion | None
    working_point: WorkingPoint

    def __repr__(self) -> str:
        along = f" along {self.motion.name}" if self.motion else ""
        return f"{self.kind} at {self.value:.9g}{along}"

    def table(self) -> Table:
        more = [] if self.motion is None else [self.motion.table()]
        return Table(f"{self.working_point.name}: {self.kind} at {self.value:.9g}", more=more)


class Trace(Result):
    """Equilibria along a curve; made by :meth:`.MSystem.trace`.

    Attributes
    ----------
    name : str
        Name of the system.
    parameter : str
        Name of the parameter.
    values : ndarray, (k,)
        Its value at each equilibrium.
    working_points : tuple of WorkingPoint, (k,)
        The equilibria.
    events : tuple of Event
        Limit points and branch points between them.
    complete : bool
        Whether the curve reached the target.
    reason : str
        Why the curve ends.

    Examples
    --------
    >>> truss = mse.MSystem("shallow truss")
    >>> apex = truss.add(mse.RigidBody("apex", mass=1.0, inertia=1.0, at=mse.Pose.dz(0.3)))
    >>> for k in range(3):
    ...     foot = truss.add(mse.Spring(f"bar{k}", length=np.hypot(1.0, 0.3), stiffness=2000.0))
    ...     truss.clamp(truss.ground, foot.frame(0), mse.Pose.rz(2 * np.pi * k / 3) @ mse.Pose.dx(1.0))
    ...     truss.clamp(foot.frame(1), apex.frame(0))
    >>> curve = truss.trace("load_factor", 20.0)
    >>> [event.kind for event in curve.events]
    ['limit point', 'limit point']
    """

    name: str
    parameter: str = scalar(str)
    values: np.ndarray = axis("point", label="{parameter}")
    working_points: tuple[WorkingPoint, ...]
    events: tuple[Event, ...]
    complete: bool = scalar(bool)
    reason: str = scalar(str)

    @property
    @naming("frame", "frame")
    def _frames(self) -> list[str]:
        return list(self.working_points[0].poses) if self.working_points else []

    @property
    @labeled("point frame axis", unit="m", label="origin", columns="{frame}.{axis}", along={"axis": "xyz"})
    def _origins(self) -> np.ndarray:
        frames = self._frames
        return np.reshape([self.origins(name) for name in frames], (len(frames), -1, 3)).swapaxes(0, 1)

    @property
    @labeled("point", unit="")
    def stable(self) -> np.ndarray:
        """Which equilibria are stable (k,)."""
        return np.array([wp.stable for wp in self.working_points])

    def origins(self, frame: str) -> np.ndarray:
        """Origin of a frame at each equilibrium.

        Parameters
        ----------
        frame : str
            Name of the frame.

        Returns
        -------
        ndarray, (k, 3), m
            Origins in the order of the curve.

        Raises
        ------
        UnknownNameError
            There is no such frame.
        """
        return np.array([wp.poses[frame].o for wp in self.working_points])

    def table(self) -> Table:
        head = f"{self.name}: {len(self.values)} equilibria with {self.parameter}, {self.reason}"
        values, energies = without_rounding(self.values), without_rounding([wp.energy for wp in self.working_points])
        state = ["stable" if stable else "UNSTABLE" for stable in self.stable]
        columns = (Column("point", digits=1), Column(self.parameter, digits=9), "stability", Column("energy", "J", 9))
        rows = zip(range(len(values)), values.tolist(), state, energies.tolist(), strict=True)
        return Table(head, columns, rows, notes=map(repr, self.events), most=40)


class Curve:
    """Pseudo-arclength continuation (H. Keller, in "Applications of Bifurcation Theory" (1977) 359) with constraints.

    A step counts if

    - its end lies near the tangent at its start,
    - the tangents at both ends agree,
    - the parameter does not go back and forth in between,
    - at most one event is in it.

    Otherwise the step may have jumped to another stretch of the curve, and is halved.
    """

    def __init__(self, family: Family, to: float, first: float = FIRST, widest: float = _WIDEST):
        self.family, self.to, self._widest = family, to, widest
        self.equations = eq = Equations(family, to)
        self.side = np.sign(to - family.begin)
        self.places = [eq.begin()]
        self.events: list[Event] = []
        # recent changes along the curve: displacement (m), and parameter
        self._way = np.zeros(2)
        self._proportion(eq.length(self.places[0].ahead, 0.0), abs(self.places[0].slope))
        longest = self._longest(self.places[0])
        # not so short that corrections are rounding
        self._step = max(first * longest, min(FIRST * longest, COARSELY_AT_REST * eq.size))
        self._length = 0.0  # of the last step
        self._farthest = 0.0  # from the first place, in sizes of the model and ranges of the parameter
        self._doubts = 0

    def _proportion(self, moved: float, changed: float) -> None:
        """Choose the unit of the parameter so that it counts as much as displacements; both have changed by so much."""
        eq = self.equations
        least = _WIDEST * FIRST * eq.size / eq.range  # if bodies hardly move, the parameter alone counts
        eq.unit = 1.0 / max(moved / changed if changed > 0.0 else eq.size / eq.range, least)

    def _longest(self, here: Place) -> float:
        """The longest step from a place."""
        eq = self.equations
        x, dp = eq.ahead(here)
        return 1.0 / max(eq.farthest(x) / (_LONGEST * eq.size), abs(dp) / (self._widest * eq.range))

    # -- along the curve --------------------------------------------------------------------------------------
    def run(self, max_points: int, task: Task) -> Trace:
        """The curve to its end, or to ``max_points`` places; Ctrl-C raises :class:`Interrupted` with the curve so far."""
        parameter, reason = self.family.parameter, ""
        while not reason:
            known = len(self.places)
            try:
                task.tell(known, "%s = %.4g of %.4g", parameter, self.places[-1].value, self.to)
                self.events += self.advance()
            except Lost:
                reason = f"lost at {parameter} = {self.places[-1].value:.9g}, where the curve ends or bends too sharply"
                break
            except KeyboardInterrupt:
                del self.places[known:]  # their events are not known
                name, value = self.family.system.name, self.places[-1].value
                how = f"interrupted at {parameter} = {value:.9g}, after {known} points"
                raise Interrupted(f"{name}: {how}, which this error has as its result", self._trace(how)) from None
            if self.places[-1].value == self.to:
                reason = "complete"
            elif self._closes():
                reason = f"came back to where it began; no point of the curve has {parameter} = {self.to:.9g}"
            elif len(self.places) >= max_points:
                reason = f"ended after {max_points} points, before {parameter} reached {self.to:.9g}"
        return self._trace(reason)

    def _trace(self, reason: str) -> Trace:
        """The part of the curve that is known."""
        return Trace(
            self.family.system.name,
            self.family.parameter,
            np.array([p.value for p in self.places]),
            tuple(self.working_point(p) for p in self.places),
            tuple(self.events),
            reason == "complete",
            reason,
        )

    def advance(self) -> list[Event]:
        """Go on to the next place; returns the events on the way.  :class:`Lost` if even the shortest step fails."""
        return self._advanced(self._events)

    def passes(self) -> bool:
        """Go on to the next place; returns whether an event is on the way.  :class:`Lost` as for :meth:`advance`."""
        return self._advanced(self._passed)

    def _advanced(self, judge: Callable[..., Any]) -> Any:
        """Go on to the next place; returns the answer of ``judge`` for the step.  If that raises Lost, the step is halved."""
        eq, here = self.equations, self.places[-1]
        standing = eq.standing
        longest = self._longest(here)
        step = tried = min(self._step, longest)
        gone = float(np.hypot(self._way[0], self._way[1] / eq.unit)) or _SHORTEST * longest
        while True:
            try:
                there, beside, length = self._stepped(here, step)
                there = eq.stand_on(there)
                found = judge(here, there, length, standing)
                break
            except Lost:
                eq.standing = standing
                step *= 0.5
                if step < _SHORTEST * min(longest, gone):
                    raise
        self.places.append(there)
        # after a step that had to be halved, the next one is no longer
        self._prepare_step(here, there, length, beside, longest=2.0 if step == tried else 1.0)
        return found

    def _stepped(self, here: Place, step: float) -> tuple[Place, float, float]:
        """The next place, its distance (m) from the tangent and along it; :class:`Lost` if it may be on another stretch."""
        eq = self.equations
        if step <= AT_REST * eq.size:  # no longer than corrections
            raise Lost
        x, dp = eq.ahead(here)
        left = (self.to - here.value) / dp if dp else np.inf
        arriving = 0.0 < left <= 1.5 * step
        there, beside, length = eq.arrived(here) if arriving else eq.reached(here, step)
        if beside > _ASTRAY * length + _SHORTEST * self._longest(here):
            raise Lost
        agreed = eq.product(x, dp, *eq.ahead(there))
        if agreed < _TURNED or _goes_back_and_forth(
            here.value, there.value, dp * length, eq.ahead(there)[1] * length / agreed
        ):
            raise Lost
        if not arriving:
            if (there.value - self.to) * self.side >= 0.0:
                raise Lost
            # a place where a curvature is just zero is avoided, a few times
            self._doubts = self._doubts + 1 if eq.free_at(there).shape[1] > eq.freedoms else 0
            if 0 < self._doubts < _DOUBTS:
                raise Lost
        return there, beside, length

    def _prepare_step(self, here: Place, there: Place, length: float, beside: float, longest: float) -> None:
        """Choose the next step, at most ``longest`` times this one of a ``length`` (m) that ended ``beside`` (m) its tangent."""
        eq = self.equations
        x, dp = eq.ahead(here)
        longer = min(longest, max(0.5, _BENT * length / max(beside, 1e-300)))
        self._way = _REMEMBERED * self._way + [length * eq.length(x, 0.0), abs(there.value - here.value)]
        self._proportion(*self._way)
        self._length = eq.length(length * x, length * dp)
        eq.look_back(here, there, self._length)
        self._step = longer * self._length

    def _closes(self) -> bool:
        """Whether the curve has come back to its beginning."""
        eq, first, place = self.equations, self.places[0], self.places[-1]
        apart = float(np.abs(place.state.o - first.state.o).max()) / eq.size
        apart = max(apart, abs(place.value - first.value) / eq.range)
        self._farthest = max(self._farthest, apart)
        x, dp = eq.ahead(place)
        near = 0.6 * self._length * max(eq.farthest(x) / eq.size, abs(dp) / eq.range)
        return apart < near < 0.5 * self._farthest and eq.product(*eq.ahead(place), *eq.ahead(first)) > 0.8

    # -- limit and branch points ------------------------------------------------------------------------------
    def _passed(self, here: Place, there: Place, length: float, _) -> bool:
        """Whether a curvature changes its sign between two places; Lost if that may be beyond the end."""
        if here.slope * there.slope < 0.0:
            ahead, after = (self.equations.ahead(place)[1] * length for place in (here, there))
            curve = _cubic(here.value, there.value, ahead, after)
            top = here.value + max(curve(x) * self.side for x in _inside(curve)) * self.side
            if (self.to - top) * self.side < 0.0:
                raise Lost
            return True
        return here.merit.topology.conservative and _changes(here, there) > 0

    def _events(
        self, here: Place, there: Place, length: float, standing: tuple[np.ndarray, sp.csc_matrix]
    ) -> list[Event]:
        """The events between two places, in order; ``standing`` has the independent constraints and free motions of the first."""
        eq, known = self.equations, {0.0: here, length: there}
        beyond = eq.standing
        if standing[1].shape[1] < eq.freedoms:
            eq.standing = standing  # a motion that is free only at the end may have had negative curvature before

        def at(share: float, motions: np.ndarray | None) -> Place:
            if share not in known:
                try:
                    known[share] = eq.reached(here, share)[0]
                except Lost:
                    if motions is None:
                        raise
                    # at a place where their stiffness is rounding alone
                    nearest = min(known, key=lambda other: abs(other - share))
                    known[share] = eq.reached(known[nearest], share - nearest, motions)[0]
            return known[share]

        events = self._between(at, 0.0, length, APART * length)
        if any((event.value - self.to) * self.side > 0.0 for event in events):
            raise Lost  # the curve was at its end before
        eq.standing = beyond
        return events

    def _between(self, at: Callable[..., Place], low: float, high: float, near: float) -> list[Event]:
        """The events between two distances along the curve; events nearer than ``near`` are one."""
        one, two = at(low, None), at(high, None)
        turns = one.slope * two.slope < 0.0
        if one.merit.topology.conservative:
            changes = _changes(one, two)
            motions = _changed_motions(one, two) if changes and not turns else None
        else:  # negative curvatures are of the symmetric half; the unsymmetric stiffness is singular elsewhere
            singular = self.equations.singular_between(one, two)
            changes, motions = singular.shape[1], None if turns else singular
        if not turns and not changes:
            return []

        def test(share: float) -> np.ndarray:
            place = at(share, motions)
            return np.array([place.slope]) if turns else self.equations.curvatures(place, motions)[0]

        ends = test(low), test(high)
        crossing = np.flatnonzero(ends[0].real * ends[1].real < 0.0)
        if not len(crossing):
            middle = 0.5 * (low + high)
            if high - low <= near:
                # if rounding hides the sign at one end, the event is there
                share = min((low, middle, high), key=lambda share: np.abs(test(share)).min())
                return [self._event(at(share, motions), motions)]
            return self._between(at, low, middle, near) + self._between(at, middle, high, near)
        from scipy.optimize import brentq  # imported here, since a first result should not wait for it

        which = crossing[0]
        share = float(brentq(lambda s: test(s)[which].real, low, high, xtol=AT_REST * high, rtol=AT_REST))
        if abs(test(share)[which]) > 0.1 * max(abs(end[which]) for end in ends):
            return []  # the stiffness changes its sign through infinity
        event = self._event(at(share, motions), motions)
        if changes == 1:
            return [event]
        before = self._between(at, low, share - near, near) if share - near > low else []
        beyond = self._between(at, share + near, high, near) if share + near < high else []
        return [*before, event, *beyond]

    def _event(self, place: Place, motions: np.ndarray | None) -> Event:
        """The event at a place: one of the ``motions`` changes there; for None the parameter has an extreme there."""
        merit, along = place.merit, place.ahead
        if motions is not None:
            w, v = self.equations.curvatures(place, motions)
            along = v[:, np.argmin(np.abs(w))]
        x = np.zeros(merit.topology.size)
        x[merit.searched] = along / merit.metric
        x = without_traces(x)
        names = merit.topology.coordinate_names
        shown = Motion.of(describe(x, names, merit.scale), x, 0.0, names) if x.any() else None
        kind = "limit point" if motions is None else "branch point"
        return Event(kind, place.value, shown, self.working_point(place))

    def working_point(self, place: Place) -> WorkingPoint:
        """A place as a result."""
        return WorkingPoint._at(
            place.merit, place.point, place.stability, Outcome(start="the point before it on its curve"),
            load_factor=place.merit.load_factor, seek="nearest",
        )  # fmt: skip


def _goes_back_and_forth(before: float, after: float, start: float, end: float) -> bool:
    """Whether the cubic from one value to another, with slopes per step at both ends, has two extremes in between."""
    if not start * end > 0.0:
        return False
    cubic = _cubic(before, after, start, end)
    at = _inside(cubic)
    # smaller extremes are left by corrections
    return len(at) == 2 and abs(cubic(at[0]) - cubic(at[1])) > COARSELY_AT_REST * max(abs(before), abs(after))


def _cubic(before: float, after: float, start: float, end: float) -> np.polynomial.Polynomial:
    """The cubic in the share of a step, less its first value, from both values and both slopes per step."""
    change = after - before
    return np.polynomial.Polynomial([0.0, start, 3.0 * change - 2.0 * start - end, start + end - 2.0 * change])


def _inside(cubic: np.polynomial.Polynomial) -> list[float]:
    """The shares of a step at which a cubic has extremes."""
    return [float(r.real) for r in cubic.deriv().roots() if abs(r.imag) == 0.0 and 0.0 < r.real < 1.0]


def _changes(one: Place, two: Place) -> int:
    """Number of curvatures whose sign differs between two places."""
    a, b = one.negative_motions, two.negative_motions
    both = min(a.shape[1], b.shape[1])
    kept = int(np.count_nonzero(np.linalg.svd(a.T @ b, compute_uv=False) > _ALIKE)) if both else 0
    return a.shape[1] + b.shape[1] - 2 * kept


def _changed_motions(one: Place, two: Place) -> np.ndarray:
    """Motions (n searched, c) of unit length with negative curvature at one of two places and not at the other."""
    less, more = sorted((one, two), key=lambda place: place.negative_motions.shape[1])
    kept, shares = np.zeros(0), np.eye(more.negative_motions.shape[1])
    if less.negative_motions.shape[1]:
        _, kept, shares = np.linalg.svd(less.negative_motions.T @ more.negative_motions)
    merit = more.merit
    changed = more.negative_motions @ shares[np.count_nonzero(kept > _ALIKE) :].T
    motions = changed[merit.searched] * (merit.metric / merit.scale[merit.searched])[:, None]
    return motions / np.linalg.norm(motions, axis=0)
