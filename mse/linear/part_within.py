"""The part of a linear model that belongs to some objects, for combining it with others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..model.parameter_record import ParameterRecord
from ..model.topology import Element
from ..statics.working_point import WorkingPoint
from .interface_frames import InterfaceFrame
from .linear_model import LinearModel


def part_within(
    wp: WorkingPoint, model: LinearModel, chosen: Callable[[Element], bool], within: str | Sequence[str]
) -> LinearModel:
    """The part of a model that belongs to the chosen elements: the coordinates they move, the links among them."""
    t = wp._topology
    o, u = wp.frame_poses
    n, width = model.size, model.size + len(model.prescribed)
    used = np.zeros(width, dtype=bool)
    frames: dict[str, InterfaceFrame] = {}
    prefix = tuple(f"{name}." for name in ([within] if isinstance(within, str) else within))
    touched = {int(f) for el in filter(chosen, t.elements) for f in el.frames}
    touched |= {f for f, label in enumerate(t.frame_labels) if label.startswith(prefix)}
    for f in touched:
        unit = int(t.unit[f])
        if unit:
            used[6 * (unit - 1) : 6 * unit] = True
    for el in filter(chosen, t.elements):
        first = 6 * (t.units - 1)
        used[first + el.internal] = True
    links = [t.elements[link.element] for link in t.links]
    for k, el in enumerate(links):
        used[n + 6 * k : n + 6 * k + 6] = chosen(el)
    used[n + 6 * len(links) :] = True
    columns = np.full(width, -1)
    columns[used] = np.arange(np.count_nonzero(used))
    keep, free, prescribed = np.flatnonzero(used), np.flatnonzero(used[:n]), np.flatnonzero(used[n:])
    for f in sorted(touched):
        unit = int(t.unit[f])
        first = int(columns[6 * (unit - 1)]) if unit else None
        frames[t.frame_labels[f]] = InterfaceFrame(first, o[f] - wp.state.o[unit], u[f])
    return replace(
        model,
        name=f"{wp.name}: {within if isinstance(within, str) else ', '.join(within)}",
        coordinates=tuple(model.coordinates[k] for k in free),
        owners=tuple(model.owners[k] for k in free),
        bodies=model.bodies[free],
        scale=model.scale[free],
        full_mass=model.full_mass[keep][:, keep],
        dampings=model.dampings.at(columns, len(keep)),
        parts=model.parts.at(columns, len(keep)),
        skew=None if model.skew is None else model.skew.at(keep),
        prescribed=tuple(model.prescribed[k] for k in prescribed),
        force=model.force[keep],
        drive=model.drive[prescribed],
        drive_rate=model.drive_rate[prescribed],
        measure=model.measure[:, keep],
        rate=model.rate[:, keep],
        reaction=model.reaction[:, prescribed],
        members=tuple(replace(m, motion=m.motion[:, keep].tocsr()) for m in model.members),
        affine=model.affine[free],
        interfaces=frames,
        constraints=model.constraints[:, keep].tocsr(),
        determined=columns[model.determined],
        sharing=model.sharing[prescribed],
        self_stress=model.self_stress[prescribed],
        parameters=ParameterRecord(t.source, prefix),
        _noise=None,  # it may come from stiffer objects that are left out
    )
