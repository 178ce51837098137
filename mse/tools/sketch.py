"""A system in three dimensions: outlines of its elements, triads of its frames, names of its bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..elements.base import FramePose
from ..model.topology import Topology
from .figures import new_figure

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
    ghost: tuple[np.ndarray, np.ndarray] | None = None,
) -> Figure:
    """Draw frames at origins o (n, 3) m and orientations u (n, 3, 3), and the elements between them.

    ``frames`` draws triads (red x, green y, blue z), ``names`` labels up to 40 bodies; ``ax`` is a 3-D axes to draw into,
    a new figure by default; ``ghost`` are other poses (o, u) of the same frames, drawn in gray.
    """
    if ax is None:
        figure = new_figure(6.5, 6.5)
        axes = figure.add_subplot(projection="3d")
    else:
        axes, figure = ax, ax.figure
    elements = [el for el in topology.elements if not el.inner]
    shapes = [el.obj.outline([FramePose(o[f], u[f]) for f in el.frames]) for el in elements]
    everything = np.vstack([o, *(shape.points for shape in shapes)])
    if ghost is not None:
        o1, u1 = ghost
        moved = [el.obj.outline([FramePose(o1[f], u1[f]) for f in el.frames]) for el in elements]
        everything = np.vstack([everything, o1])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size = max(float((high - low).max()), 1e-3)

    bodies = {el.path: shape.points[0] for el, shape in zip(elements, shapes, strict=True) if _is_body(el)}
    arms = [np.array([o[topology.unit_reference[k]], o[f]]) for f, k in enumerate(topology.unit) if k]
    arms = [arm for arm in arms if np.abs(arm[1] - arm[0]).max() > 1e-3 * size]
    if arms:  # rigid bodies reach to their joints
        axes.plot(*_joined(arms), color="0.6", linewidth=0.9, zorder=0)
    for number, kind in enumerate(dict.fromkeys(type(el.obj) for el in elements)):
        own = [(el, s) for el, s in zip(elements, shapes, strict=True) if type(el.obj) is kind]
        _draw_kind(axes, kind, own, f"C{number % 10}", size)
    if ghost is not None:
        lines = [s.points[list(line)] for s in moved for line in (*s.lines, *(f[:1] + f for f in s.faces))]
        if lines:
            axes.plot(*_joined(lines), color="gray", linewidth=0.8, alpha=0.7)
        axes.plot(*np.array([s.points[0] for el, s in zip(elements, moved, strict=True) if _is_body(el)]).reshape(-1, 3).T,
                  linestyle="none", marker="o", color="gray", alpha=0.5)  # fmt: skip
    if names and len(bodies) <= _MOST_NAMES:
        for path, point in bodies.items():
            axes.text(*(point + 0.03 * size), f" {path}", fontsize="small")
    if frames:
        drawn = np.unique(np.round(np.hstack([o, u.reshape(len(u), 9)]), 9), axis=0, return_index=True)[1]
        for axis, color in enumerate(("tab:red", "tab:green", "tab:blue")):
            arms = [np.array([o[k], o[k] + 0.05 * size * u[k][:, axis]]) for k in drawn]
            axes.plot(*_joined(arms), color=color, linewidth=0.9)

    from matplotlib.ticker import MaxNLocator

    # equal scales, without the long flat boxes that a hanging chain would make
    middle, half = 0.5 * (low + high), 0.55 * np.maximum(high - low, 0.35 * size)
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_zlim(middle[2] - half[2], middle[2] + half[2])
    # the layout does not know how far labels of 3-D axes reach, so leave them room; an array would be scaled in place
    axes.set_box_aspect(tuple(half), zoom=0.85)
    axes.locator_params(nbins=4)
    for axis, center, length in zip((axes.xaxis, axes.yaxis, axes.zaxis), middle, half, strict=True):
        if length < 0.5 * half.max():
            # at the corners of a narrow box the numbers of two axes would run into each other
            reach = 0.75 * length
            ticks = MaxNLocator(3).tick_values(center - reach, center + reach)
            axis.set_ticks(ticks[np.abs(ticks - center) <= reach])
    axes.set_xlabel("x (m)", labelpad=6)
    axes.set_ylabel("y (m)", labelpad=6)
    axes.set_zlabel("z (m)", labelpad=10 if half[:2].max() > 0.5 * half[2] else 20)
    axes.set_title(title)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small", loc="upper left")
    return figure


def _is_body(element) -> bool:
    return len(element.frames) == 1


def _joined(lines: Sequence[np.ndarray]) -> np.ndarray:
    """Several lines (n, 3) as one, with gaps between them; (3, total).  One curve draws far faster than hundreds."""
    gap = np.full((1, 3), np.nan)
    return np.vstack([piece for line in lines for piece in (line, gap)]).T


def _draw_kind(axes: Axes, kind: type, own: list, color: str, size: float) -> None:
    """All elements of one class: markers for points, lines, faces, and one entry in the legend."""
    dots, lines, faces = [], [], []
    for element, shape in own:
        if _is_body(element) or np.ptp(shape.points, axis=0).max() < 1e-3 * size:
            dots.append(shape.points[:1])
        elif not (kind.exerts_forces() or kind.role != "free" or element.obj.rest_poses()):
            continue  # lines of sight of sensors and actuators would cross the whole scene
        lines += [shape.points[list(line)] for line in shape.lines]
        faces += [shape.points[list(face)] for face in shape.faces]
    label = kind.__name__
    body = any(_is_body(element) for element, _ in own)
    if dots:
        style = {"marker": "o" if body else "s", "markersize": 9 if body else 6}
        axes.plot(*np.vstack(dots).T, linestyle="none", color=color, label=label, **style)
    if lines:
        width = 2.5 if body else 1.5
        axes.plot(*_joined(lines), color=color, linewidth=width, label=None if dots else label)
    if faces:
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        axes.add_collection3d(Poly3DCollection(faces, facecolor=color, edgecolor=color, alpha=0.3))
