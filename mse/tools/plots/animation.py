"""Modes and motions as animated pictures."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.modes.result import Mode, Modes
from ...errors import FileError, ModelError
from ...statics.stability import Motion
from ...statics.working_point import WorkingPoint
from ...validation.extras import needed
from ...validation.file_access import file_path, write_whole
from ..scene import Scene
from .geometry import Displacement, chosen_motion
from .sketch import Sketch

if TYPE_CHECKING:
    from PIL.Image import Image

_PICTURES, _SHOWN = 40, 50  # pictures in a period, and ms for each: two seconds in all
_DPI = 90
_COLORS = 128  # in a picture; a GIF has at most 256


def save_animation(
    wp: WorkingPoint,
    path: str | Path,
    *,
    modes: Modes | Mode | None = None,
    number: int | None = None,
    motion: Motion | None = None,
) -> None:
    """See :meth:`.WorkingPoint.save_animation`."""
    path = file_path(path)
    if path.suffix.lower() != ".gif":
        raise FileError(f"{path}: a file of this kind cannot store an animation; expected a name such as 'mode.gif'")
    chosen = chosen_motion(wp, modes, number, motion)
    if chosen is None:
        raise ModelError(
            f"{wp.name}: neither modes nor a motion is given; expected one, such as modes=working_point.linearize().modes()"
        )
    pictures = period(wp, chosen)
    out = io.BytesIO()
    # one palette for all pictures, since colors would flicker otherwise
    palette = pictures[0].quantize(_COLORS, dither=0)
    first, *others = (picture.quantize(palette=palette, dither=0) for picture in pictures)
    first.save(out, format="GIF", save_all=True, append_images=others, duration=_SHOWN, loop=0, optimize=True)
    write_whole(path, out.getvalue())


def period(wp: WorkingPoint, motion: Motion | Mode) -> list[Image]:
    """Pictures of one period, the largest displacements first; the undisplaced system is gray in the background."""
    image = needed("PIL.Image", "plot", "animations", "pillow")
    scene = Scene.of(wp)
    displaced = Displacement.of(scene, motion)
    turns = np.exp(2j * np.pi * np.arange(_PICTURES) / _PICTURES)
    extremes = tuple(scene.moved((displaced.twists * turn).real) for turn in (1.0, 1j, -1.0, -1j))
    sketch = Sketch(extremes[0], None, wp._topology.gravity, behind=scene, within=extremes)
    figure = sketch.drawn(f"{wp.name}\n{displaced.name}", frames=False, names=False, arrows=False)
    figure.set_dpi(_DPI)
    # a real motion returns the way it went, so half a period is enough
    count = _PICTURES if np.iscomplexobj(displaced.twists) else _PICTURES // 2 + 1
    pictures = []
    for turn in turns[:count]:
        sketch.show(scene.moved((displaced.twists * turn).real))
        pictures.append(image.fromarray(_pixels(figure)))
        figure.set_layout_engine("none")  # from now on only the system moves
    return pictures + pictures[count - 2 : 0 : -1][: _PICTURES - count]


def _pixels(figure) -> np.ndarray:
    """A figure as drawn (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
