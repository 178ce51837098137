"""A working point as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..display import Cell, Column, Table, amounts, without_rounding
from ..elements.coordinates import coordinates_table
from ..elements.records import FORCE, Channel
from ..pose import Pose
from .equilibrium import RESIDUAL
from .stability import GrowingMotion

if TYPE_CHECKING:
    from .working_point import WorkingPoint

_POSE = tuple(
    Column(n, u, 9) for n, u in zip(("x", "y", "z", "ax", "ay", "az"), ("m",) * 3 + ("rad",) * 3, strict=True)
)
_FORCE = tuple(Column(c.name, c.unit, 6) for c in FORCE)

_UNASKED = (
    "Stability follows from eigenvalues here, which take a while for so many coordinates: ask for stable or unstable"
)


def working_point_table(wp: WorkingPoint) -> Table:
    """Bodies, tensions, joints, motions, and the notes of the search."""
    more, said = [], []
    if wp.tensions:
        pushing = (
            [Table(f"Pushing, where a real one would be slack or buckle: {', '.join(wp.slack)}")] if wp.slack else []
        )
        pulls = wp.tensions.table()
        more += [Table("Tensions", pulls.columns, pulls.rows, most=30), *pushing]
    if wp.joint_coordinates:
        joints = wp.joint_coordinates.table()
        more.append(Table("Joints", joints.columns, joints.rows, most=30))
    if wp._assembly.constraint_count:
        said += _constraints(wp)
    said += _motions(wp) if wp.judged else [_UNASKED]
    said += [f"The search {note}" for note in wp.notes]
    return _bodies(wp, [*more, *map(Table, said)])


def _motions(wp: WorkingPoint) -> list[str]:
    """Free, unstable and undetermined motions."""
    said = []
    if wp.free:
        said.append("Free (zero stiffness): " + wp.free.named())
    if wp.cyclic:
        said.append("Flows that store no energy: " + wp.cyclic.named())
    if wp.unstable:
        growing = isinstance(wp.unstable[0], GrowingMotion)
        said.append("Unstable: " + ", ".join(f"{m.name} ({m.told})" if growing else m.name for m in wp.unstable))
    if wp.undetermined:
        doubts = (f"{m.name} ({m.doubt})" for m in wp.undetermined)
        more = 0 if wp._by_eigenvalues else wp._sorted.curvatures.more
        also = f" and {more:,} more" if more else ""
        said.append("Stability not known at this precision: " + ", ".join(doubts) + also)
    if wp.undecided:
        said.append(f"Stability is not known: {wp.undecided}")
    if wp.beyond:
        said.append(f"Stability: {wp.beyond}")
    return said


def _bodies(wp: WorkingPoint, more: Sequence[Table]) -> Table:
    o, u = wp.frame_poses
    t = wp._topology
    state = "working point" if wp.converged else f"NOT a working point ({wp.reason})"
    worst = wp.relative_residual.max(initial=0.0)
    stability = "stability not asked for"
    if wp.judged:
        stability = "stable" if wp.stable else "UNSTABLE" if wp.converged and wp.unstable else "stability unknown"
    steps = amounts(step=wp.history.tried) + (f" from {wp.start}" if wp.start else "")
    head = f"{wp.name}: {state}, {stability}; {steps}, largest relative residual {worst:.1e}{_bound(wp)}"
    nodes = t.inner_units()
    first = {t.unit_names[k]: t.unit_reference[k] for k in range(1, t.units) if k not in nodes}
    inner = [f"(and {len(nodes)} nodes of beams, which poses[...] gives by name)"] if nodes else []
    bodies = {name: Pose._of(o[f].copy(), u[f].copy()) for name, f in first.items()}
    return Table(head, ("body", *_POSE), _poses(bodies, wp.size), notes=inner, more=more)


def _bound(wp: WorkingPoint) -> str:
    """How far rounding leaves the worst coordinate out of balance, if that is more than the search aims at."""
    worst = int(np.argmax(wp.relative_residual)) if len(wp.residual) else -1
    if worst < 0 or not wp.converged or wp.relative_residual[worst] <= RESIDUAL:
        return ""
    unit, most = wp._topology.force_unit(worst), wp.residual_bound[worst]
    return (
        f" ({abs(wp.residual[worst]):.1e}{unit} on {wp.coordinate_names[worst]}; rounding may leave {most:.1e}{unit})"
    )


def _constraints(wp: WorkingPoint) -> list[str]:
    """Sentences about joints, besides their coordinates."""
    notes = []
    if wp.exceeded:
        notes.append("Beyond limits: " + "; ".join(wp.exceeded))
    if wp._topology.size and not wp.freedoms:
        notes.append("The joints leave no motion at all.")
    for found in wp.redundant:
        notes.append(
            f"Redundant: {found.count} constraints among {shortened(found.joints)}; not unique are "
            f"{shortened(found.not_unique)}"
        )
    return notes


def shortened(names: Sequence[str]) -> str:
    """The first dozen names, and how many more."""
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


# -- what is given by name --------------------------------------------------------------------------------------------
def pose_table(name: str, size: float, poses: Mapping[str, Pose]) -> Table:
    """Poses (m, rad) of frames of a system of a ``size`` (m)."""
    return Table(f"{name}: poses of frames", ("frame", *_POSE), _poses(poses, size))


def _poses(poses: Mapping[str, Pose], size: float) -> list[list[Cell]]:
    """Rows of name, origin and rotation vector; rounding of the largest distance and of a radian shows as 0."""
    o = np.array([p.o for p in poses.values()]).reshape(-1, 3)
    turns = np.array([p.rotation_vector() for p in poses.values()]).reshape(-1, 3)
    o = without_rounding(o, max(size, np.abs(o).max(initial=0.0)))
    numbers = np.hstack([o, without_rounding(turns, 1.0)]).tolist()
    return [[name, *row] for name, row in zip(poses, numbers, strict=True)]


def force_table(name: str, scale: tuple[float, float], forces: Mapping[str, np.ndarray]) -> Table:
    """Forces and torques (frames, 6) of elements on their frames; ``scale`` is the largest force and torque (N, N m)."""
    rows = [
        [path, number, *row]
        for path, six in forces.items()
        for number, row in enumerate(without_rounding(six, np.repeat(scale, 3)).tolist())
    ]
    columns = ("element", Column("frame", digits=1), *_FORCE)
    return Table(f"{name}: forces of elements on their frames, world axes", columns, rows)


def pull_table(name: str, scale: tuple[float, float], tensions: Mapping[str, float]) -> Table:
    """Tensions (N) of elements."""
    values = without_rounding(list(tensions.values()), scale[0]).tolist()
    columns = ("element", Column("tension", "N", 9))
    return Table(f"{name}: tensions", columns, zip(tensions, values, strict=True))


def reaction_table(
    name: str,
    scale: tuple[float, float],
    channels: Mapping[str, Sequence[Channel]],
    reactions: Mapping[str, np.ndarray],
) -> Table:
    """Reactions of links and joints: force and torque, or the ``channels`` that a joint has instead."""
    title = f"{name}: reactions of frame 0 on frame 1, axes of frame 1"
    six = [path for path in reactions if tuple(channels.get(path, FORCE)) == FORCE]
    rows = [[path, *without_rounding(reactions[path], np.repeat(scale, 3)).tolist()] for path in six]
    others = [
        (path, channel.name, value, channel.unit)
        for path in reactions
        if path not in six
        for channel, value in zip(channels[path], without_rounding(reactions[path], min(scale)).tolist(), strict=True)
    ]
    single = ("object", "reaction", Column("value", digits=6), "unit")
    if others and not rows:
        return Table(title, single, others)
    return Table(title, ("object", *_FORCE), rows, more=[Table("Others", single, others)] if others else [])


def twist_table(name: str, twists: Mapping[str, float]) -> Table:
    """Twists (rad) of wires."""
    values = without_rounding(list(twists.values()), 1.0).tolist()
    columns = ("element", Column("twist", "rad", 9))
    return Table(f"{name}: twists", columns, zip(twists, values, strict=True))


def coordinate_table(name: str, size: float, units: Mapping[str, str], values: Mapping[str, float]) -> Table:
    """Coordinates of joints (m, rad) of a system of a ``size`` (m)."""
    numbers = without_rounding(list(values.values()), [size if units[n] == "m" else 1.0 for n in values]).tolist()
    rows = [(n, x, units[n]) for n, x in zip(values, numbers, strict=True)]
    columns = ("coordinate", Column("value", digits=9), "unit")
    return Table(f"{name}: coordinates of joints", columns, rows)


def reading_table(name: str, units: Mapping[str, str], values: Mapping[str, float]) -> Table:
    """What sensors read."""
    columns = ("output", Column("reading", digits=9), "unit")
    return Table(f"{name}: readings", columns, [(n, x, units[n]) for n, x in values.items()])


def flow_table(name: str, rates: Mapping[str, float]) -> Table:
    """Steady flows."""
    rows = [(coordinate, rate, getattr(coordinate, "flow_unit", "")) for coordinate, rate in rates.items()]
    return Table(f"{name}: steady flows", ("coordinate", Column("flow", digits=9), "unit"), rows)


def port_table(name: str, efforts: Mapping[str, float]) -> Table:
    """Efforts at ports."""
    columns = ("port", Column("effort", digits=9))
    return Table(f"{name}: potentials, pressures and other efforts at ports", columns, efforts.items())


def internal_table(name: str, values: Mapping[str, float]) -> Table:
    """Internal coordinates of elements."""
    return coordinates_table(
        f"{name}: internal coordinates", list(values), {Column("value", digits=9): values.values()}
    )
