"""A system in three dimensions: outlines of its elements, triads of its frames, names of its bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..elements.base import FramePose
from ..model.topology import Topology
from .plots import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMES = 40


def sketch(
    title: str,
    topology: Topology,
    o: np.ndarray,
    u: np.ndarray,
    *,
    frames: bool = True,
    names: bool = True,
    ax: Axes | None = None,
) -> Figure:
    """Draw frames at origins o (n, 3) m and orientations u (n, 3, 3), and the elements between them.

    ``frames`` draws triads (red x, green y, blue z), ``names`` labels bodies; ``ax`` is a 3-D axes to draw into, a new
    figure by default.
    """
    if ax is None:
        figure = new_figure(6.5, 6.5)
        axes = figure.add_subplot(projection="3d")
    else:
        axes, figure = ax, ax.figure
    extent = np.ptp(o, axis=0)
    size = max(float(extent.max()), 1e-3)
    kinds = list(dict.fromkeys(type(el.obj).__name__ for el in topology.elements))
    shown: set[str] = set()
    for el in topology.elements:
        kind = type(el.obj).__name__
        shape = el.obj.outline([FramePose(o[f], u[f]) for f in el.frames])
        color = f"C{kinds.index(kind) % 10}"
        label = kind if kind not in shown else None
        body = len(el.frames) == 1
        # a marker for what has no extent: point bodies, and transducers whose frames coincide
        if body or np.ptp(shape.points, axis=0).max() < 1e-3 * size:
            axes.plot(*shape.points[:1].T, "o" if body else "s", color=color, markersize=9 if body else 6, label=label)
            shown.add(kind)
            label = None
        elif el.obj.exerts_forces() or el.obj.role != "free":
            shown.add(kind)
        else:
            continue  # lines of sight of sensors and actuators across the scene hide what matters
        for line in shape.lines:
            axes.plot(*shape.points[list(line)].T, color=color, linewidth=2.5 if body else 1.5, label=label)
            label = None
        for face in shape.faces:
            axes.plot_trisurf(*shape.points[list(face)].T, color=color, alpha=0.3)
        if names and body and len(topology.elements) <= 5 * _MOST_NAMES:
            axes.text(*(shape.points[0] + 0.03 * size), f" {el.path}", fontsize="small")
    if frames:
        drawn = np.unique(np.round(np.hstack([o, u.reshape(len(u), 9)]), 9), axis=0, return_index=True)[1]
        for k in drawn:
            for axis, color in enumerate(("tab:red", "tab:green", "tab:blue")):
                tip = o[k] + 0.05 * size * u[k][:, axis]
                axes.plot(*np.array([o[k], tip]).T, color=color, linewidth=0.9)
    # equal scales, without the long flat boxes that a hanging chain would make
    middle = 0.5 * (o.max(axis=0) + o.min(axis=0))
    half = 0.55 * np.maximum(extent, 0.35 * size)
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_zlim(middle[2] - half[2], middle[2] + half[2])
    axes.set_box_aspect(half)
    axes.locator_params(nbins=4)
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.set_zlabel("z (m)")
    axes.set_title(title)
    if shown:
        axes.legend(fontsize="small", loc="upper left")
    return figure
