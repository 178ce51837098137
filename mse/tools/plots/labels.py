"""Names beside points of a picture in three dimensions, placed so that they cover neither each other nor other texts.

Imported only when a picture is drawn, since it needs matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import IdentityTransform
from mpl_toolkits.mplot3d import proj3d

_DISTANCES = (8.0, 14.0, 22.0, 32.0)  # points, from the place to the nearest side of the name


class Labels(Artist):
    """Names at points (n, 3) m, placed anew whenever the axes are drawn; a name that finds no place is hidden.

    This artist is drawn first and only moves the names, which are texts of the axes and are drawn later.
    """

    def __init__(self, axes, points: np.ndarray, names: Sequence[str]):
        super().__init__()
        self.set_zorder(-100)
        self.set_in_layout(False)
        self.points = points
        self._texts = []
        for name in names:
            text = Text(text=name, fontsize="small", transform=IdentityTransform(), zorder=20)
            text.set_path_effects([withStroke(linewidth=2.0, foreground="white")])  # legible on dark objects, too
            text.set_in_layout(False)  # the layout decides its place, so it must not affect the layout
            self._texts.append(axes.add_artist(text))
        axes.add_artist(self)

    def draw(self, renderer) -> None:
        if not self._texts:
            return
        axes = self.axes
        x, y, _ = proj3d.proj_transform(*self.points.T, axes.get_proj())
        at = axes.transData.transform(np.column_stack([x, y]))
        taken = [text.get_window_extent(renderer) for text in _others(axes)]
        scale = renderer.points_to_pixels(1.0)
        for text, place in zip(self._texts, at, strict=True):
            text.set_visible(True)
            text.set_position((0.0, 0.0))
            box = text.get_window_extent(renderer)
            text.set_visible(False)
            for corner in _corners(place, box, scale):
                there = box.translated(*corner).padded(scale)
                if not any(there.overlaps(other) for other in taken):
                    taken.append(there)
                    text.set_position(corner)
                    text.set_visible(True)
                    break


def _others(axes) -> list:
    """Texts that names must not cover: legend, title, and labels and numbers of the axes as last drawn."""
    three = axes.xaxis, axes.yaxis, axes.zaxis
    # get_ticklabels would put the numbers where two-dimensional axes have them
    numbers = [tick.label1 for axis in three for tick in axis.get_major_ticks()]
    texts = [axes.title, *(axis.label for axis in three), *numbers]
    legend = axes.get_legend()
    return [*([legend] if legend else []), *(text for text in texts if text.get_text().strip())]


def _corners(place: np.ndarray, box, scale: float) -> Iterator[tuple[float, float]]:
    """Possible positions of a text with that box around a place, nearest first and to the right first."""
    width, height = box.width, box.height
    for distance in _DISTANCES:
        d = scale * distance
        near = 0.7 * d
        for x, y in (
            (near, near), (d, -0.5 * height), (near, -near - height), (-0.5 * width, d), (-0.5 * width, -d - height),
            (-near - width, near), (-d - width, -0.5 * height), (-near - width, -near - height),
        ):  # fmt: skip
            yield place[0] + x - box.x0, place[1] + y - box.y0
