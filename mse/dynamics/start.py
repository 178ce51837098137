"""Where a motion begins: joints put together, coordinates at the values that are given, and velocities that joints allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..elements.coordinates import flowing
from ..errors import ModelError
from ..kernels.rotations import inverse_left_jacobian
from ..model.assembly import Assembly
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..model.joint_assembly import put_together, restored
from ..model.pattern import forceful
from ..model.topology import Topology
from ..numerics.options import SIZES
from ..numerics.precision import NOTHING
from ..pose import Pose
from ..validation.arguments import find, instance, mapping, number, numbers
from .accelerations import Equations
from .constrained import Constrained
from .coordinates import NamedCoordinates
from .input_forces import InputForces

# rad, or of the size of the system: how far coordinates are brought at once, so that angles are followed past half turns.
# With half and with twice of it tests/dynamics/test_start.py passes.
_AT_ONCE = 0.5
# Weight of displacements compared with coordinates that keep their values: hardly any, and enough to make steps unique.
# With a hundredth and a hundred times of it tests/dynamics/test_start.py passes.
_UNIQUE = 1e-6
# Weight of displacements of what joints hang on, as of a plate on springs, compared with coordinates of these joints.  With a
# tenth and ten times of it tests/dynamics/test_start.py passes.
_ANCHORED = 1e4
# Of what is given: a larger difference contradicts joints.  With a hundredth and a hundred times of it
# tests/dynamics/test_start.py passes.
CLOSE = 1e-9
# Steps of Newton's method, which takes five where values can be reached (tests/dynamics/test_start.py).
_ROUNDS = 30
# Coordinates are brought to given values in stages.  Before the last stage, steps end when they are shorter than this share of
# the size of the system, since only the last values have to be met.  With a tenth and ten times of it
# tests/dynamics/test_start.py passes.
_ON_THE_WAY = 1e-2
_TURN = 2.0 * np.pi
_SHOWN = 4  # rates that a message shows even where they are as given
_WHAT = (
    "values by coordinate, rate or body, such as {'hinge.angle': 1.57, \"hinge.angle'\": 0.0, 'mass': Pose.dz(-0.5), "
    '"mass\'": (0, 0, 0, 0, 0, 2.0)}'
)


class Given:
    """What is given of the beginning, checked: values and rates of coordinates, poses and velocities of bodies, by name."""

    def __init__(self, topology: Topology, coordinates: NamedCoordinates, initial: Mapping[str, Any] | None):
        label = topology.label
        self.values: dict[str, float] = {}
        self.rates: dict[str, float] = {}
        self.poses: dict[str, tuple[int, Pose]] = {}  # with the number of the body's frame
        self.velocities: dict[str, tuple[int, np.ndarray]] = {}
        bodies = {el.path: el.frames[0] for el in topology.elements if len(el.frames) == 1 and el.obj.has_mass()}
        known = (*coordinates.names, *coordinates.rates, *bodies, *(f"{name}'" for name in bodies))
        for name, value in mapping(label, "initial", initial, _WHAT).items():
            find(label, "coordinate, rate or body", name, known)
            what, body = f"initial {name!r}", name.removesuffix("'")
            if name in bodies:
                expected = "a pose of the body, such as Pose.dz(-0.5)"
                self.poses[name] = bodies[name], instance(label, what, value, Pose, expected)
            elif body in bodies:
                self.velocities[body] = bodies[body], numbers(label, what, value, (6,), unit="m/s, rad/s")
            elif name in coordinates.rates:
                self.rates[name] = number(label, what, value)
            else:
                self.values[name] = number(label, what, value)

    def refuse_unlike(self, label: str, inputs: InputForces, time: float) -> None:
        """Refuse values of coordinates that are unlike the motion that an input prescribes; the others need not be kept."""
        for name in inputs.motors:
            for kind, values, given in (("", self.values, name), ("'", self.rates, f"{name}'")):
                now = inputs.motion(name, time)[len(kind)]
                if abs(values.pop(given, now) - now) > CLOSE * max(1.0, abs(now)):
                    raise ModelError(
                        f"{label}: initial {given!r} differs from its input, which is {now:.6g} at t = {time:g} s; expected the "
                        "same; leave it out"
                    )

    def __bool__(self) -> bool:
        return bool(self.values or self.rates or self.poses or self.velocities)


def carried(state: State, v: np.ndarray, old: Topology, new: Assembly) -> tuple[State, np.ndarray]:
    """A state and its velocities as they are in a system where other frames are linked rigidly, by its actuators and sensors."""
    t = new.topology
    if np.array_equal(old.unit, t.unit):
        return state, v
    o, u = old.frame_poses(state.o, state.U)
    six = np.vstack([np.zeros(6), v[: 6 * (old.units - 1)].reshape(-1, 6)])[old.unit]
    six[:, :3] += np.cross(six[:, 3:], o - state.o[old.unit])
    kinds = zip(forceful(old), state.memory, strict=True)
    known = {old.elements[k].path: own for kind, memory in kinds for k, own in zip(kind.members, memory, strict=True)}
    memory = tuple(
        np.array([known.get(el.path, first) for el, first in zip(g.elements, g.initial_memory(o, u), strict=True)])
        for g in new.groups
    )
    inner = v[6 * (old.units - 1) :]
    there = State(o[t.unit_reference], u[t.unit_reference], state.q, memory)
    return there, np.concatenate([six[t.unit_reference[1:]].ravel(), inner])


def closed(equations: Equations, here: Evaluation, time: float, free: bool) -> Evaluation:
    """The system with its joints put together, and prescribed motions where they are at a time (s).

    ``free`` systems are brought there; others, which have been moving or are in equilibrium, have to be there.
    """
    inputs = equations.inputs
    if not inputs.motors:
        return put_together(here)
    target = inputs.targets(time)
    rows = np.array([*inputs.motors.values()])
    now = np.zeros(len(target))
    now[rows] = here.held_at(None).residual[rows]
    turns = np.array([unit == "rad" for unit in inputs.motor_units])
    far = np.abs(target - now)[rows] / np.where(turns, 1.0, equations.measure.size)
    if not free and far.max() > CLOSE:
        name, row = list(inputs.motors.items())[int(far.argmax())]
        u = inputs.motion(name, time)[0]
        before = u + (now - target)[row]
        raise ModelError(
            f"{equations.topology.label}: input {name!r} is {u:.6g} at t = {time:g} s, where it is at {before:.6g} so "
            "far; expected a motion that begins there; shift the input, or bring the system there first"
        )
    stages = max(1, int(np.ceil(far.max() / _AT_ONCE)))
    for k in range(stages + 1):
        here = put_together(here.held_at(now + k / stages * (target - now)))
    return here


def _frame_rows(here: Evaluation, frame: int) -> np.ndarray:
    """Velocity and angular velocity of a frame per velocity of the coordinates, (6, n)."""
    at, a = here.configuration, here.assembly
    out, b = np.zeros((6, a.size)), a.body[frame]
    if b > 0:
        own = out[:, 6 * b - 6 : 6 * b]
        own[:] = np.eye(6)
        own[:3, 3:] = np.cross(at.o[frame] - at.reference[b], np.eye(3))
    return out


def _pose_of(here: Evaluation, frame: int) -> Pose:
    at = here.configuration
    return Pose(at.o[frame], at.U[frame])


def _off(here: Evaluation, frame: int, wanted: Pose) -> np.ndarray:
    """Displacement and turn (6,) of a frame from a pose, along the axes of the world."""
    now = _pose_of(here, frame)
    return np.concatenate([now.o - wanted.o, Pose(np.zeros(3), now.U @ wanted.U.T).rotation_vector()])


def _anchors(here: Evaluation, placed: set[int]) -> list[int]:
    """A frame of the body that springs hold most stiffly in each group of bodies on joints that do not lead to the ground.

    Groups of which this body is ``placed`` by its pose have none.
    """
    a, metric = here.assembly, here.measure.metric
    pairs = [a.body[g.frames] for g in a.groups if g.cls.defines("values_at")]
    pairs = np.concatenate([np.zeros((0, 2), dtype=int), *pairs])
    joined = sp.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(a.bodies, a.bodies))
    _, group = sp.csgraph.connected_components(joined, directed=False)
    floating = np.setdiff1d(pairs, np.flatnonzero(group == group[0]))
    if not len(floating):
        return []
    held = (here.total(2).stiffness.diagonal() / metric**2)[: 6 * (a.bodies - 1)].reshape(-1, 6).max(axis=1)
    stiffest: dict[int, int] = {}
    for b in floating.tolist():
        first = stiffest.setdefault(int(group[b]), b)
        if held[b - 1] > held[first - 1]:
            stiffest[int(group[b])] = b
    return [int(np.argmax(a.body == b)) for b in stiffest.values() if b not in placed]


def placed(equations: Equations, here: Evaluation, coordinates: NamedCoordinates, given: Given) -> Evaluation:
    """The system with coordinates and bodies where they are given; others keep their places as far as joints let them.

    What joints hang on, as a plate on springs, keeps its place rather than the joints keep their coordinates.
    """
    if not given.values and not given.poses:
        return here
    chosen = np.array([k for k, name in enumerate(coordinates.names) if name in given.values], dtype=int)
    others = np.setdiff1d(np.arange(len(coordinates.names)), chosen)
    before, size = coordinates.values(here), equations.measure.size
    target = np.array([given.values[coordinates.names[k]] for k in chosen])
    weights = np.where(coordinates.turns, size, 1.0)
    if inner := equations.topology.internal:
        weights[len(weights) - inner :] = equations.measure.metric[equations.size - inner :]
        for numbers, _ in equations.without_store:  # what has flowed through a resistor changes nothing
            weights[len(weights) - equations.size + numbers] = 0.0
    # turns are looked at below, and internal coordinates are where they are put
    followed = ~coordinates.turns & (np.arange(len(weights)) < len(weights) - inner)
    far = list(np.where(followed[chosen], np.abs(target - before[chosen]) / size, 0.0))
    ways = [(frame, _pose_of(here, frame), -_off(here, frame, pose)) for frame, pose in given.poses.values()]
    placed = {int(equations.assembly.body[frame]) for frame, _, _ in ways}
    anchors = [(frame, _pose_of(here, frame)) for frame in _anchors(here, placed)]
    for _, _, way in ways:
        far += [np.linalg.norm(way[:3]) / size, np.linalg.norm(way[3:])]

    def brought(here: Evaluation, first: np.ndarray, last: np.ndarray, shares: tuple[float, float]) -> Evaluation:
        """The system with chosen coordinates brought from values to others, bodies from one share of their ways to another."""
        turned = np.abs(last - first)[coordinates.turns[chosen]].max(initial=0.0)
        stages = max(1, int(np.ceil(max([turned, *((shares[1] - shares[0]) * x for x in far)]) / _AT_ONCE)))
        for k in range(1, stages + 1):
            share = shares[0] + k / stages * (shares[1] - shares[0])
            poses = [(frame, pose.moved(share * way[:3], share * way[3:])) for frame, pose, way in ways]
            wanted = first + k / stages * (last - first)
            close = NOTHING if k == stages else _ON_THE_WAY
            here = _brought(
                equations,
                here,
                coordinates,
                (chosen, others),
                (wanted, poses),
                (before[others], anchors, close),
                weights,
            )
        return here

    turns = np.where(coordinates.turns[chosen], np.trunc((target - before[chosen]) / _TURN), 0.0)
    turns[np.abs(turns) <= 2.0] = 0.0  # as fast turn by turn
    now = target - _TURN * turns
    here = brought(here, before[chosen], now, (0.0, 1.0))
    for k in np.flatnonzero(turns):
        then = now.copy()
        then[k] += np.copysign(_TURN, turns[k])
        after = brought(here, now, then, (1.0, 1.0))
        now = now.copy()
        now[k] = target[k]
        found = _wound(here, after, abs(turns[k]) - 1.0)
        here = brought(after, then, now, (1.0, 1.0)) if found is None else found
    _refuse_contradicted(equations, here, coordinates, given)
    return restored(here) or here if equations.assembly.constraint_count else here


def put_along(equations: Equations, before: Evaluation, here: Evaluation, given: Given) -> str:
    """A note on stores whose charge had to change so that charges have the values that are given; "" for none."""
    names = equations.topology.coordinate_names
    first, last = equations.size - equations.topology.internal, here.state.q
    stores = np.asarray(abs(here.total(2).stiffness[first:, first:]).sum(axis=0)).ravel() > 0.0
    stores &= flowing(names[first:]) & ~equations.assembly.variables()[0]
    moved = stores & (np.abs(last - before.state.q) > CLOSE * np.abs(last).max(initial=0.0))
    told = [f"{names[first + k]} {last[k]:.6g} {names[first + k].unit}" for k in np.flatnonzero(moved)]
    told = [x for x in told if x.split()[0] not in given.values]
    if not told or not given.values:
        return ""
    return f"junctions lead to {', '.join(told)} where initial values are given for {', '.join(given.values)}"


def _wound(here: Evaluation, after: Evaluation, more: float) -> Evaluation | None:
    """The system turned so often more as it was from one state to another; None if it does not return in each such turn.

    What remembers anything but whole turns, such as a wire that is wound up, has to be followed on its way.
    """
    one, two = here.state, after.state
    far = max(np.abs(one.o - two.o).max(), np.abs(one.q - two.q).max(initial=0.0)) / here.measure.size
    if max(far, np.abs(one.U - two.U).max()) > CLOSE:
        return None
    memory = []
    for before, own in zip(one.memory, two.memory, strict=True):
        change = (own - before) / _TURN
        if np.abs(change - np.round(change)).max(initial=0.0) > CLOSE:
            return None
        memory.append(own + more * _TURN * np.round(change))
    return after.in_state(two._replace(memory=tuple(memory)))


def _brought(
    equations: Equations, here: Evaluation, coordinates: NamedCoordinates, which: tuple[np.ndarray, np.ndarray],
    targets: tuple[np.ndarray, list[tuple[int, Pose]]], keeping: tuple[np.ndarray, list[tuple[int, Pose]], float],
    weights: np.ndarray,
) -> Evaluation:  # fmt: skip
    (chosen, others), (wanted, poses), (kept, anchors, close) = which, targets, keeping
    metric, large = equations.measure.metric, equations.size > SIZES.dense
    slopes_of, diagonal = (coordinates.sparse_slopes, sp.diags) if large else (coordinates.slopes, np.diag)
    for _ in range(_ROUNDS):
        values, slopes = coordinates.values(here), slopes_of(here)
        rows = [slopes[chosen].toarray() if large else slopes[chosen]]
        apart = [here.residual, values[chosen] - wanted]
        for frame, pose in poses:
            off, own = _turned_to(here, frame, pose)
            rows.append(own)
            apart.append(off)
        by = weights[others]
        soft = sp.diags(by) @ slopes[others] if large else by[:, None] * slopes[others]
        left = by * (values[others] - kept)
        if anchors:
            by = _ANCHORED * np.repeat([1.0, equations.measure.size], 3)
            offs, owns = zip(*(_turned_to(here, *anchor) for anchor in anchors), strict=True)
            soft = (sp.vstack if large else np.vstack)([soft, *(by[:, None] * own for own in owns)])
            left = np.concatenate([left, *(by * off for off in offs)])
        mass = soft.T @ soft + diagonal(_UNIQUE * metric**2)
        step = Constrained(equations, here, mass, np.vstack(rows)).solve(-soft.T @ left, -np.concatenate(apart))
        longest = np.abs(step[here.measure.turning]).max(initial=0.0)
        here = here.moved(metric * step * min(1.0, _AT_ONCE / longest if longest else 1.0))
        if np.abs(metric * step).max() <= close * equations.measure.outermost:
            break
    return here


def _turned_to(here: Evaluation, frame: int, wanted: Pose) -> tuple[np.ndarray, np.ndarray]:
    """How a frame is off from a pose (6,), and its slopes (6, n)."""
    off, own = _off(here, frame, wanted), _frame_rows(here, frame)
    own[3:] = inverse_left_jacobian(off[3:]) @ own[3:]
    return off, own


def _refuse_contradicted(equations: Equations, here: Evaluation, coordinates: NamedCoordinates, given: Given) -> None:
    found, outermost = dict(zip(coordinates.names, coordinates.values(here), strict=True)), equations.measure.outermost
    units = dict(zip(coordinates.names, coordinates.units, strict=True))
    open_by = np.abs(here.distances[0]).max(initial=0.0) if equations.assembly.constraint_count else 0.0
    off = {name: _off(here, frame, pose) for name, (frame, pose) in given.poses.items()}
    largest = max(1.0, *map(abs, given.values.values())) if given.values else 1.0
    apart = [abs(found[name] - x) for name, x in given.values.items()]
    close = max(apart, default=0.0) <= CLOSE * largest and open_by <= CLOSE * outermost
    if close and all(np.abs(x).max() <= CLOSE * max(1.0, outermost) for x in off.values()):
        return
    shown = [f"{name} is {found[name]:.6g} where {x:.6g} {units[name]} is given" for name, x in given.values.items()]
    for name, six in off.items():
        gap, turn = np.linalg.norm(six[:3]), np.linalg.norm(six[3:])
        shown.append(f"{name} is {gap:.3g} m and {turn:.3g} rad from its pose")
    if open_by > CLOSE * outermost:
        k, names = int(np.abs(here.distances[0]).argmax()), equations.topology.coordinate_names
        inside = [names[j] for j in here.slopes.tocsr()[k].indices if flowing(names)[j]]
        gap = f"{abs(here.residual[k]):.3g} {inside[0].unit}" if inside else f"{open_by:.3g} m"
        shown.append(f"and {here.assembly.constraint_labels()[k]} is open by {gap}")
    raise ModelError(
        f"{equations.topology.label}: its joints or junctions contradict the initial values: as near as they come, "
        f"{', '.join(shown)}; expected values that all allow at once; give fewer of them, or correct one"
    )


def moving(
    equations: Equations, here: Evaluation, coordinates: NamedCoordinates, given: Given, v: np.ndarray, time: float
) -> np.ndarray:
    """Velocities (n,) with the given rates and velocities of bodies, and prescribed ones, nearest to v in the metric of M."""
    off = equations.drift(here, v, time)
    if not given.rates and not given.velocities and not v.any() and not off.any():
        return v
    chosen = np.array([k for k, name in enumerate(coordinates.rates) if name in given.rates], dtype=int)
    names = [coordinates.rates[k] for k in chosen]
    units = [coordinates.rate_units[k] for k in chosen]
    target, rows = [given.rates[name] for name in names], [coordinates.slopes(here)[chosen]]
    for body, (frame, six) in given.velocities.items():
        names += [f"{body}'[{k}]" for k in range(6)]
        units += ["m/s"] * 3 + ["rad/s"] * 3
        target += six.tolist()
        rows.append(_frame_rows(here, frame))
    rows, target = np.vstack(rows), np.array(target)
    flows, _ = equations.flow_rows(here, v)
    extra = rows if flows is None else np.vstack([flows, rows])
    right = np.concatenate([-off, target - rows @ v])
    v = v + Constrained(equations, here, equations.mass(here), extra if len(extra) else None).solve(
        np.zeros_like(v), right
    )
    found = rows @ v
    off = np.abs(found - target)
    held = np.abs(equations.drift(here, v, time))
    size = max(1.0, np.abs(target).max(initial=0.0))
    if off.max(initial=0.0) > CLOSE * size or held.max(initial=0.0) > CLOSE * size * equations.measure.size:
        shown = [
            f"{name} is {x:.6g} where {t:.6g} {unit} is given"
            for name, x, t, unit in zip(names, found, target, units, strict=True)
            if len(target) <= _SHOWN or abs(x - t) > CLOSE * size
        ]
        inputs = equations.inputs
        driven = {name: inputs.motion(name, time)[1] for name in inputs.motors}
        shown += [f"its input drives {name} at {rate:.6g} a second" for name, rate in driven.items() if rate]
        if held.max(initial=0.0) > CLOSE * size * equations.measure.size:
            flowing_rows = (el.obj.label for part in equations.flows for el in part.elements for _ in range(part.count))
            labels = [*here.assembly.constraint_labels(), *flowing_rows]
            shown.append(f"{labels[int(held.argmax())]} moves apart by {held.max():.3g} a second")
        raise ModelError(
            f"{equations.topology.label}: its joints or junctions tie the initial rates together: as near as they come, "
            f"{', '.join(shown)}; "
            "expected rates that all allow at once; give fewer of them, or correct one"
        )
    return v
