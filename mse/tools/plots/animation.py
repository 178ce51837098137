"""Modes and motions as animated pictures."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.modes.result import Mode, Modes
from ...dynamics.trajectory import Trajectory
from ...errors import FileError, ModelError
from ...statics.stability import Motion
from ...statics.working_point import WorkingPoint
from ...validation.extras import needed
from ...validation.file_access import file_path, write_whole
from ..moving import moving
from ..scene import Scene
from .geometry import Displacement, chosen_motion
from .sketch import Sketch

if TYPE_CHECKING:
    from PIL.Image import Image

_PICTURES, _SHOWN = 40, 50  # pictures in a period, and ms for each: two seconds in all
_DPI = 90
_MOST, _SECONDS = 200, (2.0, 10.0)  # pictures of a large motion, at most, and how long they are shown
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
    path = _gif(path)
    chosen = chosen_motion(wp, modes, number, motion)
    if chosen is None:
        raise ModelError(
            f"{wp.name}: neither modes nor a motion is given; expected one, such as modes=working_point.linearize().modes()"
        )
    _write(path, period(wp, chosen), _SHOWN)


def save_motion(motion: Trajectory, path: str | PathLike) -> None:
    """See :meth:`.Trajectory.save_animation`."""
    path = _gif(path)
    pictures = moved(motion)
    seconds = np.clip(motion.time[-1] - motion.time[0], *_SECONDS)
    # files count hundredths of a second, and viewers slow down below two of them
    _write(path, pictures, max(20, 10 * round(100 * float(seconds) / len(pictures))))


def _gif(path: str | PathLike) -> Path:
    path = file_path(path)
    if path.suffix.lower() != ".gif":
        raise FileError(f"{path}: a file of this kind cannot store an animation; expected a name such as 'mode.gif'")
    return path


def _write(path: Path, pictures: list[Image], shown: int) -> None:
    """Pictures one after the other, each for some ms, again and again."""
    out = io.BytesIO()
    # one palette for all pictures, since colors would flicker otherwise
    palette = pictures[0].quantize(_COLORS, dither=0)
    first, *others = (picture.quantize(palette=palette, dither=0) for picture in pictures)
    first.save(out, format="GIF", save_all=True, append_images=others, duration=shown, loop=0, optimize=True)
    write_whole(path, out.getvalue())


def moved(motion: Trajectory) -> list[Image]:
    """Pictures of the samples of a large motion, each with its time."""
    image = needed("PIL.Image", "plot", "animations", "pillow")
    times, scenes = moving(motion, _MOST)
    sketch = Sketch(scenes[0], None, scenes[0].topology.gravity, within=scenes)
    digits = max(0, -int(np.floor(np.log10(times[1] - times[0]))))
    title = "{}\nt = {:.{}f} s".format
    figure = sketch.drawn(title(motion.name, times[0], digits), frames=False, names=False, arrows=False)
    figure.set_dpi(_DPI)
    pictures = []
    for time, scene in zip(times, scenes, strict=True):
        sketch.show(scene)
        sketch.axes.title.set_text(title(motion.name, time, digits))
        pictures.append(image.fromarray(_pixels(figure)))
        figure.set_layout_engine("none")  # from now on only the system moves
    return pictures


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
