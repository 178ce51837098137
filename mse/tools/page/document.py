"""One HTML file, or a part of a notebook, that shows a working point in three dimensions and loads nothing from elsewhere."""

from __future__ import annotations

import html
import json
from functools import cache
from importlib import resources
from os import PathLike
from typing import Any

import numpy as np

from ...dynamics.trajectory import Trajectory
from ...statics.stability import GrowingMotion
from ...statics.working_point import WorkingPoint
from ...validation.arguments import whole
from ...validation.file_access import file_path, write_whole
from ..moving import moving, room
from ..scene import Part, Scene
from . import motions
from .geometry import geometry
from .packing import packed
from .sheets import Sheets

SCRIPTS = (
    "numbers.js",
    "model.js",
    "camera.js",
    "solid.js",
    "flat.js",
    "overlay.js",
    "panel.js",
    "view.js",
    "hands.js",
)
_HEIGHT = 480  # pixels of a view in a notebook


def to_html(working_point: WorkingPoint, path: str | PathLike, **shown: Any) -> None:
    """See :meth:`.WorkingPoint.to_html`."""
    target = file_path(path, "path")
    write_whole(target, page(working_point, **shown))


def motion_to_html(motion: Trajectory, path: str | PathLike) -> None:
    """See :meth:`.Trajectory.to_html`."""
    target = file_path(path, "path")
    write_whole(target, _document(motion_data(motion)))


def view(working_point: WorkingPoint, height: int = _HEIGHT, **shown: Any) -> View:
    """See :meth:`.WorkingPoint.view`."""
    height = whole(working_point.name, "height", height, minimum=120, maximum=10_000)
    return View(page(working_point, **shown), height)


class View:
    """A page in three dimensions that a notebook shows in place; made by :meth:`.WorkingPoint.view`.

    Parameters
    ----------
    page : str
        The page.
    height : int
        Its height in pixels.
    """

    def __init__(self, page: str, height: int):
        self.page, self.height = page, height

    def _repr_html_(self) -> str:
        # a separate document: its styles and scripts do not affect the notebook
        return (
            f'<iframe srcdoc="{html.escape(self.page, quote=True)}" sandbox="allow-scripts allow-downloads allow-modals" '
            f'title="3-D view" loading="lazy" allowfullscreen style="width:100%;height:{self.height}px;border:0;display:block">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"a page of {len(self.page) / 1000:.0f} kB, which a notebook shows; to_html() writes it to a file"


def page(working_point: WorkingPoint, **shown: Any) -> str:
    """The whole document as text."""
    return _document(scene_data(working_point, **shown))


def _document(scene: dict) -> str:
    data = json.dumps(scene, separators=(",", ":"), allow_nan=False)
    title = html.escape(scene["name"] or "mse")
    # "<" could end the element that holds the data
    data = data.replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data: blob:\">\n"
        f"<style>\n{_file('page.css')}</style>\n</head>\n<body>\n"
        f'<script type="application/json" class="mse-scene">{data}</script>\n'
        "<noscript>This page draws with JavaScript, which is switched off here.</noscript>\n"
        f"<script>\n{_script()}</script>\n</body>\n</html>\n"
    )


@cache
def _file(name: str) -> str:
    return (resources.files(__package__) / "viewer" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """All scripts in one function, so that their names stay private."""
    return '(() => {\n"use strict";\n' + "\n".join(_file(name) for name in SCRIPTS) + "\n})();\n"


def scene_data(
    wp: WorkingPoint, modes: Any = None, history: Any = None, trace: Any = None, compare: Any = None
) -> dict:
    """All data of a working point that the viewer needs, in plain types."""
    scene = Scene.of(wp)
    chosen, left_out = motions.mode_list(scene, modes)
    data = _picture(scene, Sheets(scene, wp), wp._topology.gravity, scene.bounds) | {
        "about": _about(wp, left_out),
        "motions": [*motions.of_modes(scene, chosen), *motions.of_working_point(scene, wp, chosen)],
    }
    stress = _stresses(scene)
    if stress:
        data["stress"] = stress
    if compare is not None:
        data["compare"] = motions.beside(scene, wp, compare)
    if history is not None:
        data["motions"].append(motions.of_history(scene, wp, history))
    if trace is not None:
        data["motions"].append(motions.of_trace(scene, wp, trace))
    return data


def motion_data(motion: Trajectory) -> dict:
    """All data of a large motion that the viewer needs, in plain types."""
    times, scenes = moving(motion, motions.MOST_SAMPLES)
    scene = scenes[0]
    about = f"motion from {motion.time[0]:g} to {motion.time[-1]:g} s"
    return _picture(scene, Sheets(scene), scene.topology.gravity, room(scenes)) | {
        "about": about,
        "start": {"name": "Start", "movers": f"t = {times[0]:g} s"},
        "motions": [motions.of_trajectory(motion, times, scenes)],
    }


def _picture(scene: Scene, sheets: Sheets, gravity: np.ndarray, bounds: tuple[np.ndarray, np.ndarray]) -> dict:
    """What is drawn, what is told of it, and its place between the lowest and highest coordinates."""
    low, high = bounds
    center = 0.5 * (low + high)
    drawn = geometry(scene)
    index = "u2" if len(scene.o) < 65536 else "u4"
    return {
        "format": 1,
        "name": scene.name,
        "size": max(float((high - low).max()), 1e-3),
        "typical": scene.typical,
        "center": center.tolist(),
        "gravity": gravity.tolist(),
        "carriers": packed(scene.o - center, "f4"),
        "index": index,
        "points": packed(drawn.points - center, "f4"),
        "on": packed(drawn.carriers, index),
        "segments": packed(drawn.segments, "u4" if _large(drawn) else "u2"),
        "triangles": packed(drawn.triangles, "u4" if _large(drawn) else "u2"),
        "wide": _large(drawn),
        "pieces": drawn.pieces,
        "objects": sheets.objects(),
        "sheets": sheets.tables,
        "frames": sheets.frames(center),
        "initial": motions.initial(scene),
    }


def _large(drawn) -> bool:
    return any(piece["p"][1] > 65535 for piece in drawn.pieces)


def _about(wp: WorkingPoint, left_out: str) -> str:
    """One line on the working point."""
    if not wp.converged:
        state = f"not in equilibrium: {wp.reason}"
    elif not wp.judged:
        return "; ".join(filter(None, ["working point", left_out]))
    elif wp.unstable:
        growing = isinstance(wp.unstable[0], GrowingMotion)
        kind = "that grow" + "s" * (len(wp.unstable) == 1) if growing else "of negative stiffness"
        state = f"unstable working point, {len(wp.unstable)} motion{'s' * (len(wp.unstable) > 1)} {kind}"
    else:
        state = "stable working point" if wp.stable else "working point"
    if wp.free:
        state += f", {len(wp.free)} motion{'s' * (len(wp.free) > 1)} without stiffness"
    return "; ".join(filter(None, [state, left_out]))


def _stresses(scene: Scene) -> dict:
    """Stress (Pa) at the points of every beam, by the number of its object."""
    out = {}
    for number, part in enumerate(scene.parts):
        if part.role == "beam":
            stress = _known_stress(scene, part)
            if stress is not None:
                out[str(number)] = packed(stress, "f4")
    return out


def _known_stress(scene: Scene, part: Part) -> np.ndarray | None:
    stress = scene.stress(part)
    return stress if np.isfinite(stress).all() else None
