"""A working point as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..display import table
from ..pose import Pose

if TYPE_CHECKING:
    from .working_point import WorkingPoint


def working_point_table(wp: WorkingPoint) -> str:
    """Bodies, tensions, joints, motions, and the notes of the search."""
    text = _bodies(wp)
    if wp.tensions:
        rows = [(n, f"{v:.9g}") for n, v in wp.tensions.items()]
        text += "\n\n" + table("Tensions", ("element", "tension (N)"), rows, max_rows=30)
    if wp.slack:
        text += "\n\nPushing, where a real one would be slack or buckle: " + ", ".join(wp.slack)
    if wp._assembly.constraint_count:
        text += _joints(wp)
    if wp.free:
        text += "\n\nFree (zero stiffness): " + ", ".join(m.name for m in wp.free)
    if wp.unstable:
        text += "\n\nUnstable: " + ", ".join(m.name for m in wp.unstable)
    return text + "".join(f"\n\nThe search {note}" for note in wp.notes)


def _bodies(wp: WorkingPoint) -> str:
    o, u = wp.frame_poses
    t = wp._topology
    state = "working point" if wp.converged else f"NOT a working point ({wp.reason})"
    worst = wp.relative_residual.max(initial=0.0)
    stability = "stable" if wp.stable else "UNSTABLE" if wp.converged and wp.unstable else "stability unknown"
    head = f"{wp.name}: {state}, {stability}; {len(wp.history)} steps, largest relative residual {worst:.1e}"
    rows, nodes = [], t.inner_units()
    for k in range(1, t.units):
        if k in nodes:
            continue
        f = t.unit_reference[k]
        w = Pose._of(o[f].copy(), u[f].copy()).rotation_vector()
        rows.append(
            (t.unit_names[k], *(f"{x + 0.0:.9g}" for x in np.where(np.abs([*o[f], *w]) < 1e-13, 0.0, [*o[f], *w])))
        )
    text = table(head, ("body", "x (m)", "y (m)", "z (m)", "ax (rad)", "ay (rad)", "az (rad)"), rows)
    return text + (f"\n(and {len(nodes)} nodes of beams, which poses[...] gives by name)" if nodes else "")


def _joints(wp: WorkingPoint) -> str:
    text = ""
    units = {f"{path}.{c.name}": c.unit for path, joint, _ in wp._joints for c in joint.outputs}
    if wp.joint_coordinates:
        rows = [(name, f"{x + 0.0:.9g}", units[name]) for name, x in wp.joint_coordinates.items()]
        text += "\n\n" + table("Joints", ("coordinate", "value", "unit"), rows, max_rows=30)
    if wp.exceeded:
        text += "\n\nBeyond limits: " + "; ".join(wp.exceeded)
    if wp._topology.size and not wp.freedoms:
        text += "\n\nThe joints leave no motion at all."
    for found in wp.redundant:
        text += (
            f"\n\nRedundant: {found.count} constraints among {shortened(found.joints)}; not unique are "
            f"{shortened(found.not_unique)}"
        )
    return text


def shortened(names: Sequence[str]) -> str:
    """The first dozen of names, and how many more."""
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
