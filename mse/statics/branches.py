"""Whether a search that began at a working point has ended on the branch of equilibria that leads on from there.

Parameters, clamps and loads are interpolated between the old system and the new one.  The equilibria of these systems are a
curve from the start.  If the curve comes to the equilibrium found, and the stiffness is nowhere singular on it, both ends are on
the same branch.

For small changes the tangents at both ends decide.  Near a limit point the displacement goes as the square root of the remaining
load, so a tangent on one side predicts less than half of the way to the other.  If each tangent predicts three quarters of the
way for every body, there is no limit point between.  Otherwise the curve is followed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..elements.base import MObject
from ..errors import ModelError, WorkingPointError
from ..model.assembly import Assembly
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..model.system import Snapshot
from ..model.topology import Topology
from ..model.variants import variant
from ..numerics.trust_region import Step
from ..pose import Pose
from .continuation import Curve
from .curve_equations import DIFFERENCE, Lost
from .merit_function import MeritFunction, Point
from .stiff_valleys import brought_to_rest
from .working_point import WorkingPoint

# The answers for 63 random updates of hanging bodies, columns, arches, trusses and pendulums stay the same if one of the first
# two numbers is halved or doubled.  For 37 of them they stay the same if a number marked * is 2 to 100 times smaller or larger
# (tests/statics/test_branches.py::test_random_updates_end_where_many_small_ones_do_or_say_so):
_MISSED = 0.25  # of a body's way: part that a tangent may miss; near a limit point it misses at least half
_SHORTEST = 1 / 16  # of the way: steps in parameters; after shorter ones fail, the curve is followed by arc length
_FIRST = 0.1  # * of the longest step: the first one
_SAME = 2.5e-3  # * of the model's size: distance of two results for one equilibrium, however soft it is
_EQUAL = 100.0  # * times their rounding: difference of energies of one equilibrium that free motions displace
_ARRIVED = 1e-6  # * of the model's size: corrections that are the last; the next step corrects the rest
_HALF_A_TURN = np.pi  # memories are angles: of one equilibrium they agree, of others they differ by whole turns
_PLACES = 60  # places on a curve, to bound the cost; at most two of the 63 updates need more
_KEPT = 8  # merit functions that are kept: the ones of one step

LEFT = (
    "ended on another branch of equilibria than it began on, because that branch ends or leads elsewhere: the system has snapped "
    "through, tipped or buckled; seek='nearest' refuses such results, trace() shows where it happens"
)
UNKNOWN = (
    "found an equilibrium, but it is not known whether it is still on the branch where it started; make smaller changes or use "
    "trace()"
)

Solve = Callable[[Point, float, bool], Step]


def leaves(
    merit: MeritFunction,
    start: WorkingPoint,
    taken: State,
    first: tuple[Point | State, Step | None],
    found: tuple[Point, Step | None],
    solve: Solve,
) -> bool | None:
    """Whether the equilibrium ``found`` is on another branch than the working point where its search began; None if not known.

    ``taken`` is the start's state for the objects of ``merit``.  ``first`` is the same state with all joints assembled, evaluated
    or not.  ``first`` and ``found`` come with the step from there if the search knows it; the step from ``first`` uses the
    stiffness of the start.  ``solve`` gives Newton's step from a point.
    """
    return False if _foreseen(merit, start, first, found, solve) else _followed(merit, start, taken, found[0], solve)


def _foreseen(
    merit: MeritFunction,
    start: WorkingPoint,
    first: tuple[Point | State, Step | None],
    found: tuple[Point, Step | None],
    solve: Solve,
) -> bool:
    """Whether the tangents at both ends predict the way between them."""
    if not _sorted_alike(start._topology, start._assembly.groups, merit):
        return False
    (here, forth), (there, back) = first, found
    evaluated = isinstance(here, Point)
    here = here if evaluated else merit.evaluate(here, 1)
    if forth is None or forth.newton is None:
        forth = solve(replace(here, stiffness=start.stiffness), np.inf, False)
    # the step from there is known, unless it belongs to an easier stage
    ahead = forth.whole if evaluated and forth.whole is not None else forth.newton(merit.pull(here))
    if back is None or back.newton is None:
        back = solve(there, np.inf, False)
    begin = Evaluation(start._assembly, merit.start, measure=merit.measure)
    before = merit.under(start.load_factor)
    before = replace(before, topology=start._topology, assembly=start._assembly, begin=begin)
    return forth.lowest >= 0.0 and alike(merit, before, here, ahead, there, back)


def alike(
    merit: MeritFunction, before: MeritFunction, here: Point, forth: np.ndarray, there: Point, onward: Step
) -> bool:
    """Whether a step from ``here`` leads every body towards ``there``, and a step from there, under the forces before, back.

    ``onward`` is the step from ``there`` under its own forces.
    """
    if onward.lowest < 0.0:
        return False
    back = onward.newton(merit.pull(before.evaluate(there.state, 1)))
    ends = (merit.moved(here.state, forth), there.state), (merit.moved(there.state, back), here.state)
    enough = _MISSED * _apart(merit, here.state, there.state) + _SAME * merit.size
    return all(np.all(_apart(merit, a, b) <= enough) and _turned_alike(a, b) for a, b in ends)


class Followed(NamedTuple):
    """How far an equilibrium was followed from a working point: the ``share`` of the change to the present system.

    ``end`` is the equilibrium of the present system; None if the curve ends before, or passes an instability (``passed``).
    """

    share: float
    end: Point | None = None
    passed: bool = False


def way_from(merit: MeritFunction, start: WorkingPoint, taken: State, solve: Solve) -> Followed:
    """Follow equilibria from a working point to the system of ``merit``; ``taken`` is its state for the objects of ``merit``."""
    share = 0.0
    try:
        family = _Between(merit, start, taken)
        end = _in_steps(family, solve)
        share = family.begin
        if end is not None:
            return Followed(1.0, end)
        curve = Curve(family, 1.0, first=_FIRST, widest=1.0)
        while (here := curve.places[-1]).value < 1.0:
            share = here.value
            if len(curve.places) > _PLACES:
                return Followed(share)
            if curve.passes():
                return Followed(share, passed=True)
    except (Lost, ModelError, WorkingPointError):
        return Followed(share)
    return Followed(1.0, here.point)


def _followed(merit: MeritFunction, start: WorkingPoint, taken: State, found: Point, solve: Solve) -> bool | None:
    """Whether the curve from the start passes an instability, or ends elsewhere than at ``found``."""
    way = way_from(merit, start, taken, solve)
    if way.end is None:
        return True if way.passed else None
    return not _one(merit, way.end, found)


def _in_steps(family: _Between, solve: Solve) -> Point | None:
    """The end of the curve, by a few steps whose way both tangents predict; None if the curve bends too much.

    The family then begins where the last step ended.
    """
    here, ahead = family.at(0.0).evaluate(family.start, 2), 0.5
    while ahead >= _SHORTEST:
        share = min(1.0, family.begin + ahead)
        there = _next(family.at(family.begin), family.at(share), here, solve)
        if there is None:
            ahead *= 0.5
        elif share == 1.0:
            return there
        else:
            here, family.begin, family.start = there, share, there.state
    return None


def _next(before: MeritFunction, merit: MeritFunction, here: Point, solve: Solve) -> Point | None:
    """The equilibrium of ``merit`` by a step from ``here``, the equilibrium before it; None if the tangents do not predict it."""
    moved = merit.evaluate(here.state, 1)
    pushed = replace(here, here=moved.here, gradient=moved.gradient)
    forth = step = solve(pushed, np.inf, False)
    trial = brought_to_rest(merit, pushed, step, merit.stepped(pushed, step.p, 1))
    last = np.inf
    while step.lowest >= 0.0 and np.isfinite(trial.energy):
        there = merit.evaluated(trial.here, 2)
        step = solve(there, np.inf, False)
        length = float(np.linalg.norm(step.p))
        if length <= _ARRIVED * merit.size:
            return there if step.lowest >= 0.0 and alike(merit, before, here, forth.p, there, step) else None
        if length > 0.5 * last:
            return None
        trial, last = merit.stepped(there, step.p, 1), length
    return None


class _Between:
    """The systems between a working point's system and another one: the family that :class:`.continuation.Curve` follows.

    The curve goes on from the share ``begin`` of the change, in the state ``start``.
    """

    parameter = "the way"

    def __init__(self, merit: MeritFunction, start: WorkingPoint, taken: State):
        self._end, self._load_factor, self.start, self.begin = merit, start.load_factor, taken, 0.0
        self.system = merit.topology.source.system
        self._old = start._topology.source
        self._differing = dict(_differing(self._old, merit.topology.source, ""))
        self._moved = _clamps_moved(self._old, merit.topology.source)
        self._known: dict[float, MeritFunction] = {}

    def at(self, share: float) -> MeritFunction:
        """The merit function after a share of the change; ModelError if there is none."""
        end = self._end
        if share == 1.0:
            return end
        if share not in self._known:
            if len(self._known) > _KEPT:
                self._known.clear()
            changed = {path: _object_between(old, obj, share) for path, (old, obj) in self._differing.items()}
            topology, assembly = self._changed(changed, share)
            new = end.under((1.0 - share) * self._load_factor + share * end.load_factor).neighbor(topology, assembly)
            if not _sorted_alike(topology, assembly.groups, end):
                raise ModelError(
                    f"{end.label}: the systems in between have other groups of elements; expected the same groups"
                )
            self._known[share] = new
        return self._known[share]

    def _changed(self, changed: dict[str, MObject], share: float) -> tuple[Topology, Assembly]:
        end = self._end
        if not self._moved:
            return variant(end.topology, end.assembly, changed) if changed else (end.topology, end.assembly)
        between = _clamped_between(self._old, end.topology.source.changed(changed), share)
        topology = Topology(between.restored(between.name))
        return topology, Assembly(topology, topology.unit)

    def slope(self, merit: MeritFunction, point: Point, value: float, to: float) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the forces (n,) and constraints (m,) by the share, at fixed multipliers."""
        step = DIFFERENCE if value < 0.5 * to else -DIFFERENCE
        (f0, g0), (f1, g1) = (place.raw(point.state, point.multipliers) for place in (merit, self.at(value + step)))
        return (f1 - f0) / step, (g1 - g0) / step


def _differing(old: Snapshot, new: Snapshot, prefix: str) -> Iterator[tuple[str, tuple[MObject, MObject]]]:
    """Objects whose parameters differ, old and new, by path; ModelError if the systems have different objects."""
    if _made_of(old) != _made_of(new):
        raise ModelError(
            f"{new.system.label}: the two systems have different objects; expected equal objects, clamped alike"
        )
    if _differ(old.system, new.system):
        yield prefix.removesuffix("."), (old.system, new.system)
    for a, b in zip(old.objects, new.objects, strict=True):
        if isinstance(b, Snapshot):
            yield from _differing(a, b, f"{prefix}{b.name}.")
        elif _differ(a, b):
            yield prefix + b.name, (a, b)


def _made_of(source: Snapshot) -> tuple[list, list]:
    """Kinds and names of the objects in a system, and which frames are clamped."""
    objects = [(type(o), o.name) for o in source.objects]
    return objects, [(c.first.owner.name, c.first.name, c.second.owner.name, c.second.name) for c in source.clamps]


def _differ(a: MObject, b: MObject) -> bool:
    return a._values is not b._values and any(not _equal(a._values[name], b._values[name]) for name in _moving(b))


def _moving(obj: MObject) -> Iterator[str]:
    """The parameters of an object that working points depend on."""
    return (name for name, p in obj.declared_parameters.items() if p.moves)


def _equal(a: Any, b: Any) -> bool:
    plain = isinstance(a, float | int | str | tuple | np.ndarray) and type(a) is type(b)
    return a is b or (plain and bool(np.array_equal(a, b)))


def _object_between(old: MObject, new: MObject, share: float) -> MObject:
    """An object with parameters a share of the way from ``old`` to ``new``; ModelError if there is none."""
    mixed = new._snapshot()
    for name in _moving(new):
        if not _equal(old._values[name], new._values[name]):
            mixed.parameters[name] = _mean(old._values[name], new._values[name], share)
    return mixed


def _mean(a: Any, b: Any, share: float) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_mean(x, y, share) for x, y in zip(a, b, strict=True))
    if isinstance(a, float | np.ndarray) and isinstance(b, float | np.ndarray) and np.shape(a) == np.shape(b):
        return (1.0 - share) * a + share * b
    if _equal(a, b):
        return b
    raise ModelError(f"no value is between {a!r} and {b!r}; expected numbers")


def _clamps_moved(old: Snapshot, new: Snapshot) -> bool:
    """Whether any clamp has another pose."""
    if any(_pose_differs(a.pose21, b.pose21) for a, b in zip(old.clamps, new.clamps, strict=True)):
        return True
    return any(_clamps_moved(a, b) for a, b in zip(old.objects, new.objects, strict=True) if isinstance(b, Snapshot))


def _pose_differs(a: Pose, b: Pose) -> bool:
    return not (np.array_equal(a.o, b.o) and np.array_equal(a.U, b.U))


def _clamped_between(old: Snapshot, new: Snapshot, share: float) -> Snapshot:
    """The new system, with clamps a share of the way from their old poses."""
    between = copy.copy(new)
    clamps = zip(old.clamps, new.clamps, strict=True)
    between.clamps = [b._replace(pose21=_pose_between(a.pose21, b.pose21, share)) for a, b in clamps]
    pairs = zip(old.objects, new.objects, strict=True)
    between.objects = [_clamped_between(a, b, share) if isinstance(b, Snapshot) else b for a, b in pairs]
    return between


def _pose_between(a: Pose, b: Pose, share: float) -> Pose:
    if not _pose_differs(a, b):
        return b
    turn = Pose(U=b.U @ a.U.T).rotation_vector()
    return Pose((1.0 - share) * a.o + share * b.o, Pose.rotation(share * turn).U @ a.U)


def _sorted_alike(topology: Topology, groups: list, merit: MeritFunction) -> bool:
    """Whether states of a topology fit a merit function: the same reference bodies, and memories in the same order."""
    same = [(g.members, g.constraint_count) for g in groups] == [
        (g.members, g.constraint_count) for g in merit.assembly.groups
    ]
    return same and np.array_equal(topology.unit_reference, merit.topology.unit_reference)


def _one(merit: MeritFunction, end: Point, found: Point) -> bool:
    """Whether two points are the same equilibrium."""
    if np.any(_apart(merit, end.state, found.state) > _SAME * merit.size):
        free = merit.stability(found).null.shape[1] > 0
        return free and abs(end.energy - found.energy) <= _EQUAL * (end.noise + found.noise)
    return _turned_alike(end.state, found.state)


def _turned_alike(a: State, b: State) -> bool:
    """Whether no remembered angle differs by whole turns between two similar states."""
    return all(np.abs(x - y).max(initial=0.0) < _HALF_A_TURN for x, y in zip(a.memory, b.memory, strict=True))


def _apart(merit: MeritFunction, a: State, b: State) -> np.ndarray:
    """Distance (m) of each body and searched internal coordinate between two states; turns count as chords."""
    units = merit.topology.units - 1
    searched = merit.searched[merit.searched >= 6 * units]
    arm = merit.metric[: 6 * units].reshape(-1, 6)[:, 3]
    along, turned = a.o[1:] - b.o[1:], a.U[1:] - b.U[1:]
    square = np.einsum("ij,ij->i", along, along) + 0.5 * arm**2 * np.einsum("ijk,ijk->i", turned, turned)
    inner = np.abs(a.q - b.q)[searched - 6 * units] * merit.metric[6 * units :]
    return np.concatenate([np.sqrt(square), inner])
