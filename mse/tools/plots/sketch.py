"""A scene as a picture in three dimensions: solids, frames, ground, arrows, names, and axes with equal scales."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..scene import Arrow, Scene
from . import solids, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMES = 40
_MOST_TRIADS = 12  # drawn by default
_MOST_ARROWS = 12  # of actuators and sensors drawn at their full length
_TRIAD, _GROUND, _HEAD = 0.06, 0.05, 0.03  # relative to the size of the scene
# the axes of triads are black, since colors stand for objects
_AXES = (("x", 2.0, "-"), ("y", 0.9, "-"), ("z", 0.9, (0, (2, 1))))
_WIDTH, _LEAST, _MOST = (
    7.0,
    2.6,
    7.5,
)  # inches: width of a figure of its own, and limits of the height between title and legend
_AROUND = 1.3  # inches for title and legend
_FILLED = np.array([0.70, 0.84])  # share of the axes' width and height for the box; numbers and labels take the rest
_ROLES = ("body", "beam", "wire", "spring", "joint", "element")


class Sketch:
    """A picture of a scene, with the scene ``behind`` it in gray for comparison, and room for the scenes ``within`` it."""

    def __init__(
        self,
        scene: Scene,
        ax: Axes | None,
        gravity: np.ndarray,
        behind: Scene | None = None,
        within: Sequence[Scene] = (),
    ):
        if ax is None:
            self.figure = style.empty(None, _WIDTH, _WIDTH)
            self.axes = self.figure.add_subplot(projection="3d", proj_type="ortho")
            up = "xyz"[int(np.argmax(np.abs(gravity)))] if np.any(gravity) else "z"
            self.axes.view_init(elev=20, azim=-60 if up == "z" else 30, vertical_axis=up)
        else:
            self.axes, self.figure = ax, ax.figure
        self.scene, self.behind, self.gravity = scene, behind, gravity
        bounds = [s.bounds for s in (scene, behind, *within) if s is not None]
        self.low = np.min([low for low, _ in bounds], axis=0)
        self.high = np.max([high for _, high in bounds], axis=0)
        self.size = max(float((self.high - self.low).max()), 1e-3)
        self.alone = ax is None
        self.handles: list = []  # for the legend
        self.solids = solids.collection(solids.polygons(scene, pale=False, size=self.size), above=2.0)

    def show(self, scene: Scene) -> None:
        """Move the objects to the places that they have in another scene of the same system."""
        drawn = solids.polygons(scene, pale=False, size=self.size)
        self.solids.set_verts(drawn.corners)
        self.solids.set_facecolor(drawn.colors)
        self.solids.set_edgecolor(drawn.colors)

    def drawn(self, title: str, *, frames: bool | None, names: bool, arrows: bool = True) -> Figure:
        """Draw everything and return the figure."""
        self.axes.computed_zorder = False  # all solids are one collection, which sorts them itself
        self.axes.add_collection3d(self.solids, autolim=False)
        if self.behind is not None:
            gray = solids.polygons(self.behind, pale=True, size=self.size)
            self.axes.add_collection3d(solids.collection(gray, above=1.0, width=0.8), autolim=False)
        self._ground()
        if arrows:
            self._arrows()
        if frames or frames is None:
            self._triads(_MOST_TRIADS if frames is None else None)
        self._box()
        self._gravity()
        # in a panel of a larger figure, as wide as the panel
        width = self.figure.bbox.width if self.alone else self.axes.bbox.width
        self.axes.set_title(style.wrapped(title, width / self.axes.figure.dpi))
        self._legend()
        if names:
            self._names()
        self._fit()
        return self.figure

    # -- objects ----------------------------------------------------------------------------------------------
    def _ground(self) -> None:
        """A plate with hatches below it wherever something other than a sensor or actuator is clamped to the ground."""
        firm = {p.path for p in self.scene.parts if p.role != "channel" or p.obj.role != "free"}
        places = [
            place
            for carrier, place, names in self.scene.clamps()
            if carrier == 0 and any(name.rpartition(".")[0] in firm for name in names)
        ]
        # bodies that are clamped to it directly
        places += [self.scene.frame_o[part.frames[0]] for part in solids.bodies(self.scene) if not part.carriers.any()]
        if not places:
            return
        down = self.gravity / np.linalg.norm(self.gravity) if np.any(self.gravity) else np.array([0.0, 0.0, -1.0])
        across = np.cross(down, np.eye(3)[np.argmin(np.abs(down))])
        across /= np.linalg.norm(across)
        a, b = 0.5 * _GROUND * self.size * across, 0.5 * _GROUND * self.size * np.cross(down, across)
        # hatches are on the side away from the system
        middle = 0.5 * (self.low + self.high)
        lines = []
        for place in places:
            side = -1.0 if (place - middle) @ down < 0.0 else 1.0
            slant = 0.35 * _GROUND * self.size * side * down
            lines.append(np.array([place + a + b, place + a - b, place - a - b, place - a + b, place + a + b]))
            lines += [np.array([p, p + slant - 0.5 * a]) for p in (place + x * a for x in (-0.9, 0.0, 0.9))]
        self._lines(
            lines,
            "ground",
            handle={"marker": "s", "markerfacecolor": "none", "linestyle": "none"},
            linewidth=1.0,
            zorder=1.5,
        )

    def _lines(self, lines: list[np.ndarray], label: str, *, handle: dict | None = None, **look) -> None:
        """Lines (n, 3) as one curve, with an entry in the legend."""
        from matplotlib.lines import Line2D

        look = {"color": style.GRAY, "linestyle": "-", "zorder": 3.0} | look
        self.axes.plot(*joined(lines), **look)
        self.handles.append(Line2D([], [], label=label, **look | (handle or {})))

    def _arrows(self) -> None:
        """Actuators from the frame that pushes, sensors to the frame that they read, and loads."""
        arrows = self.scene.arrows()
        many = sum(a.kind in ("push", "read") for a in arrows) > _MOST_ARROWS
        for kind, label, width in (
            ("push", "actuator pushes", 1.0),
            ("read", "sensor reads", 1.0),
            ("load", "load", 1.8),
        ):
            own = [a for a in arrows if a.kind.replace("follower", "load") == kind]
            if not own:
                continue
            color = solids.COLORS[kind]
            lines = [line for a in own for line in self._arrow(a, short=many and kind != "load")]
            dash = {"push": (0, (5, 2)), "read": (0, (1.5, 1.5)), "load": "-"}[kind]
            self._lines(lines, label, color=color, linewidth=width, linestyle=dash)
            at_once = [a.points[1] for a in own if not np.ptp(a.points, axis=0).max() > 1e-6 * self.size]
            if at_once:
                marker = "s" if kind == "push" else "D"
                self.axes.plot(
                    *np.array(at_once).T, marker, color=color, markersize=5, markerfacecolor="none", zorder=3.0
                )

    def _arrow(self, arrow: Arrow, *, short: bool) -> list[np.ndarray]:
        """Shaft and head of an arrow; a short one is only its end."""
        tail, tip = arrow.points
        length = np.linalg.norm(tip - tail)
        if not length > 1e-6 * self.size:
            return [np.array([tip, tip])]
        way = (tip - tail) / length
        tail = tip - way * min(length, 0.1 * self.size) if short else tail
        across = np.cross(way, np.eye(3)[np.argmin(np.abs(way))])
        across /= np.linalg.norm(across)
        head = min(_HEAD * self.size, 0.4 * length)
        barbs = (0.4 * across, -0.4 * across, 0.4 * np.cross(way, across), -0.4 * np.cross(way, across))
        return [np.array([tail, tip]), *(np.array([tip, tip - head * (way + b)]) for b in barbs)]

    def _triads(self, most: int | None) -> None:
        """The axes of all frames, one triad for coinciding frames; none if there are more than ``most``."""
        o, u = self.scene.frame_o, self.scene.frame_U
        fine = 1e-6 * self.size
        key = np.hstack([np.round(o / fine), np.round(u.reshape(len(u), 9), 6)])
        once = np.unique(key, axis=0, return_index=True)[1]
        if most is not None and len(once) > most:
            return
        for axis, (name, width, dash) in enumerate(_AXES):
            arms = [np.array([o[k], o[k] + _TRIAD * self.size * u[k][:, axis]]) for k in once]
            self._lines(arms, f"axis {name} of frames", linestyle=dash, linewidth=width)

    def _names(self) -> None:
        from .labels import Labels

        bodies = solids.bodies(self.scene)
        if len(bodies) <= _MOST_NAMES:
            middle = [p.points[0] for p in bodies]
            Labels(self.axes, np.array(middle).reshape(-1, 3), [p.path for p in bodies])

    def _gravity(self) -> None:
        """An arrow along gravity beside the scene; its length means nothing."""
        size = float(np.linalg.norm(self.gravity))
        if not size:
            return
        way = self.gravity / size
        corner = np.array([self.axes.get_xlim()[0], self.axes.get_ylim()[0], self.axes.get_zlim()[1]])
        inside = np.array([np.ptp(f()) for f in (self.axes.get_xlim, self.axes.get_ylim, self.axes.get_zlim)])
        tail = corner + 0.06 * inside * (1, 1, -1)
        arrow = Arrow("", "gravity", np.array([tail, tail + 0.15 * self.size * way]), (0, 0))
        lines = self._arrow(arrow, short=False)
        self._lines(lines, f"gravity, {size:.4g} m/s2", handle={"marker": "v", "markersize": 5}, linewidth=1.4)

    # -- axes and legend ----------------------------------------------------------------------------------------
    def _box(self) -> None:
        """Equal scales, but not the long flat box that a hanging chain would make; few ticks, with room for their numbers."""
        from matplotlib.ticker import MaxNLocator
        from mpl_toolkits.mplot3d import proj3d

        axes, low, high = self.axes, self.low, self.high
        middle, half = 0.5 * (low + high), 0.55 * np.maximum(high - low, 0.35 * self.size)
        axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
        axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
        axes.set_zlim(middle[2] - half[2], middle[2] + half[2])
        axes.set_box_aspect(tuple(half))  # matplotlib would scale an array in place
        # the layout does not know how far the labels of 3-D axes reach, so leave room for them
        corners = middle + half * np.array(list(product((-1.0, 1.0), repeat=3)))
        x, y, _ = proj3d.proj_transform(*corners.T, axes.get_proj())
        square = np.ptp(axes.transLimits.inverted().transform([(0.0, 0.0), (1.0, 1.0)]), axis=0)
        extent = np.array([np.ptp(x), np.ptp(y)]) / square  # relative to the square that 3-D axes take
        width, height = self.figure.bbox.size / self.figure.dpi
        if self.alone:  # make the figure as high as the box needs
            height = _FILLED[0] / _FILLED[1] * width * extent[1] / extent[0]
            height = np.clip(height, _LEAST, _MOST) + _AROUND
            self.figure.set_size_inches(width, height)
        room = np.ones(2)
        if self.figure.axes == [axes]:  # the box may reach beyond the square
            room = np.array([width, height - _AROUND]) / min(width, height - _AROUND)
        self.shape, self.zoom = tuple(half), min(_FILLED * room / extent)
        axes.set_box_aspect(self.shape, zoom=self.zoom)
        factor, unit = style.prefixed("m", self.size)
        for axis, name, center, length in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", middle, half, strict=True):
            narrow = length < 0.5 * half.max()
            # shorten the axes, since the numbers of two axes meet at the corners of the box
            reach = (0.75 if narrow else 0.92) * length
            ticks = MaxNLocator(3 if narrow else 4).tick_values(center - reach, center + reach)
            axis.set_ticks(ticks[np.abs(ticks - center) <= reach])
            style.plain_numbers(axis, factor)
            axis.set_label_text(f"{name} ({unit})")
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_tick_params(pad=1, labelsize="small")
            axis.labelpad = 9

    def _fit(self) -> None:
        """Make room for the numbers of the upright axis; shrink the box as far as labels reach beyond the figure."""
        three = self.axes.xaxis, self.axes.yaxis, self.axes.zaxis
        whole = self.axes.figure.figure
        for collection in self.axes.collections:
            collection.set_visible(False)  # only texts count here, and collections take long
        for _ in range(4):
            whole.draw_without_rendering()
            moved = self._clear(three[self.axes._vertical_axis])
            middle = 0.5 * whole.bbox.width
            ends = np.concatenate([axis.label.get_window_extent().intervalx for axis in three])
            beyond = np.abs(ends - middle).max() / (middle - 0.04 * whole.dpi) if self.alone else 1.0
            if beyond > 1.0:
                self.zoom /= beyond
                self.axes.set_box_aspect(self.shape, zoom=self.zoom)
            elif not moved:
                break
        for collection in self.axes.collections:
            collection.set_visible(True)

    def _clear(self, axis) -> bool:
        """Move numbers off the ends of their ticks and the label off the widest number; True if anything moved.

        matplotlib centers numbers ``(pad + 8) way`` from the axis, and the label ``(labelpad + 21) way``.  In tall boxes ``way``
        (pixels) is short, so any fixed pads would let numbers cover their ticks and the label cover the numbers.
        """
        ticks = [t for t in axis.get_major_ticks() if t.label1.get_text()]
        if not ticks:
            return False
        pads = np.array([ticks[0].get_pad() + 8.0, axis.labelpad + 21.0])
        boxes, label = [t.label1.get_window_extent() for t in ticks], axis.label.get_window_extent()
        centers = np.array([np.mean([0.5 * (box.x0 + box.x1) for box in boxes]), 0.5 * (label.x0 + label.x1)])
        way = (centers[1] - centers[0]) / (pads[1] - pads[0])
        if abs(way) < 1e-3:  # the line of sight is along it
            return False
        start = centers[0] - pads[0] * way
        lines = [np.array(t.tick1line.get_data(orig=False), dtype=float).T for t in ticks]
        reach = max(np.abs(self.axes.transData.transform(line)[:, 0] - start).max() for line in lines)
        half, gap = 0.5 * max(box.width for box in boxes), 0.04 * self.axes.figure.dpi
        wanted = np.array([reach + gap + half, reach + 2 * gap + 2 * half + 0.5 * label.width]) / abs(way)
        axis.set_tick_params(pad=wanted[0] - 8.0)
        axis.labelpad = wanted[1] - 21.0
        return bool(np.abs(wanted - pads).max() * abs(way) > 0.5)

    def _legend(self) -> None:
        """An entry for each role of objects, with the classes that have it, and for everything else drawn."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles = []
        for role in _ROLES:
            own = [p for p in self.scene.parts if p.role == role]
            if not own:
                continue
            label = ", ".join(dict.fromkeys(p.kind for p in own))
            color = solids.COLORS[role]
            if role in ("body", "beam"):
                handles.append(Patch(facecolor=color, label=label))
            else:
                handles.append(Line2D([], [], color=color, linewidth=1.5, label=label))
        if self.behind is not None:
            handles.append(Line2D([], [], color=style.PALE, linewidth=0.8, label="undisplaced"))
        style.legend_below(self.axes, handles + self.handles)


def joined(lines: list[np.ndarray]) -> np.ndarray:
    """Several lines (n, 3) as one (3, total), with gaps between them: one curve draws far faster than hundreds."""
    gap = np.full((1, 3), np.nan)
    return np.vstack([piece for line in lines for piece in (line, gap)]).T
