"""Curves of equilibria: a coordinate over the parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...display import without_rounding
from ...errors import ModelError
from ...results import drawing
from ...statics.continuation import Trace
from ...statics.working_point import WorkingPoint
from ...validation.arguments import find, refusal
from . import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EVENTS = {"limit point": ("o", style.RED), "branch point": ("D", style.GREEN)}


@drawing.register(Trace)
def bifurcation_diagram(trace: Trace, *, coordinate: str | None = None) -> Figure:
    """A coordinate of a frame or joint over the parameter: stable equilibria solid, unstable ones dashed, events marked.

    ``coordinate`` is ``"hinge.angle"`` or ``"mass.center.z"``; by default the one that moves most.
    """
    figure = style.empty(None, 7.5, 5.0)
    axes = figure.subplots()
    name, unit, read = _coordinate(trace, coordinate)
    y = without_rounding([read(wp) for wp in trace.working_points])
    told: set[bool] = set()
    for piece in np.split(np.arange(len(y)), np.flatnonzero(np.diff(trace.stable.astype(int))) + 1):
        on = np.append(piece, piece[-1] + 1)[: len(y) - piece[0]]  # extended to the next piece, so that no gap shows
        stable = bool(trace.stable[piece[0]])
        label = None if stable in told else "stable" if stable else "unstable"
        told.add(stable)
        axes.plot(trace.values[on], y[on], color=style.BLUE, linestyle="-" if stable else "--", label=label,
                  marker=".", markersize=4)  # fmt: skip
    for kind in dict.fromkeys(event.kind for event in trace.events):
        events = [event for event in trace.events if event.kind == kind]
        marker, color = _EVENTS.get(kind, ("s", style.PURPLE))
        axes.plot([e.value for e in events], [read(e.working_point) for e in events], marker, color=color, label=kind)
    style.in_units(axes.xaxis, trace.parameter, _unit(trace), [trace.values])
    style.in_units(axes.yaxis, name, unit, [y])
    style.title(figure, f"{trace.name}: equilibria")
    style.grid(axes)
    style.legend(axes, beside=False)
    return figure


def _unit(trace: Trace) -> str:
    """Unit of the parameter of a trace, if it is the parameter of an object."""
    path, _, name = trace.parameter.rpartition(".")
    system = trace.working_points[0].system
    declared = type(system[path] if path else system).declared_parameters
    return declared[name].unit if name in declared else ""  # the load factor has none


def _coordinate(trace: Trace, name: str | None) -> tuple[str, str, Callable[[WorkingPoint], float]]:
    """Name and unit of the coordinate to draw, and a function that reads it."""
    first, last = trace.working_points[0], trace.working_points[-1]
    if name is None:
        reach = {n: max(abs(wp.poses[n].o - p.o).max() for wp in trace.working_points) for n, p in first.poses.items()}
        frame = max(reach, key=reach.__getitem__)
        axis = int(np.argmax(np.ptp(trace.origins(frame), axis=0)))
        name = f"{frame}.{'xyz'[axis]}"
    if not isinstance(name, str):
        raise refusal(f"plot of {trace.name}", "coordinate", name, "a name, such as 'hinge.angle' or 'mass.center.z'")
    if name in last.joint_coordinates:
        unit = {f"{path}.{c.name}": c.unit for path, joint, _ in last._joints for c in joint.outputs}[name]
        return name, unit, lambda wp: wp.joint_coordinates[name]
    frame, _, axis = name.rpartition(".")
    if axis not in ("x", "y", "z"):
        raise ModelError(f"plot of {trace.name}: no coordinate {name!r}; expected 'hinge.angle' or 'mass.center.z'")
    find(f"plot of {trace.name}", "frame", frame, last.poses)
    return name, "m", lambda wp: wp.poses[frame].o["xyz".index(axis)]
