"""What sphinx-gallery is told of the examples: their order and fields, the figures that a cell made, and their thumbnails."""

from __future__ import annotations

import re
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from mse import WorkingPoint

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# by field, from the simplest to those that build on it; what is not named here comes last
FIELDS = {
    "Suspensions and vibration isolation": (
        "simple_pendulum",
        "four_wires",
        "inverted_pendulum",
        "pre_isolator",
        "double_pendulum_on_blades",
        "damping_loop",
        "attenuation_chain",
        "kagra_type_bp",
    ),
    "Precision mechanisms": ("flexure_stage", "hexapod", "torsion_balance"),
    "Circuits and transducers": (
        "loudspeaker",
        "heated_rod",
        "levitation",
        "shunted_damper",
        "hydraulic_mount",
        "lagrangian_daes",
    ),
    "Large motions": ("turning_over", "links_from_symbols", "slider_crank", "four_bar_in_space", "rotor", "bicycle"),
    "Beams, wires and flexible bodies": ("cantilever_blade", "violin_modes", "body_from_finite_elements"),
}
ORDER = tuple(name for names in FIELDS.values() for name in names)
LANDING = "flexure_stage"  # the example whose scene the first page shows
_PIXELS_AN_INCH = 110
_THUMBNAIL = (400, 280)  # pixels
_ENTRY = '.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer"'

_saved: weakref.WeakSet[Figure] = weakref.WeakSet()


def order(name: str) -> tuple[int, str]:
    """The place of an example in the gallery, by the name of its file."""
    stem = Path(name).stem
    return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)


def figures(block, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures that a cell assigned or ended with, and return the lines that show them."""
    paths = []
    names = block_vars["example_globals"]
    for value in list(names.values()):
        if isinstance(value, Figure) and value not in _saved:
            _saved.add(value)
            path = Path(next(block_vars["image_path_iterator"]))
            path.parent.mkdir(parents=True, exist_ok=True)
            value.savefig(path, dpi=_PIXELS_AN_INCH)
            paths.append(str(path))
    scene(Path(block_vars["src_file"]).stem, names, Path(gallery_conf["src_dir"]) / "gallery" / "scenes")
    return figure_rst(paths, gallery_conf["src_dir"])


def scene(example: str, names: dict[str, Any], folder: Path) -> None:
    """Keep a picture of the first working point that an example found, for its thumbnail, and the page of one of them."""
    point = next((value for value in names.values() if isinstance(value, WorkingPoint)), None)
    picture = folder / f"{example}.png"
    if example not in ORDER or point is None or names.get("_pictured") is point:
        return
    names["_pictured"] = point
    folder.mkdir(parents=True, exist_ok=True)
    thumbnail(point, picture)
    if example == LANDING:
        shown = point.view(modes=point.linearize().modes(6))._repr_html_()
        (folder / "landing.html").write_text(shown, encoding="utf-8")


def thumbnail(point: WorkingPoint, path: Path) -> None:
    """The objects of a system alone, without axes and texts, as large as a thumbnail has room for."""
    from PIL import Image, ImageChops

    figure = point.plot(frames=False, names=False)
    (axes,) = figure.axes
    axes.set_axis_off()
    axes.set_title("")
    for line in [*axes.lines, *figure.legends]:
        line.remove()
    for solids in axes.collections:
        solids.set_linewidth(3.5)  # points: a wire is still seen in a picture that is ten times smaller
    figure.savefig(path, dpi=4 * _PIXELS_AN_INCH)
    image = Image.open(path).convert("RGB")
    inside = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    image = image.crop(inside)
    image.thumbnail([int(0.92 * side) for side in _THUMBNAIL])
    paper = Image.new("RGB", _THUMBNAIL, "white")
    paper.paste(image, [(room - side) // 2 for room, side in zip(_THUMBNAIL, image.size, strict=True)])
    paper.save(path)


def arrange(app: Sphinx) -> None:
    """Show the scenes as thumbnails, and the examples by field."""
    folder = Path(app.srcdir) / "gallery"
    for picture in (folder / "scenes").glob("*.png"):
        (folder / "images" / "thumb" / f"sphx_glr_{picture.stem}_thumb.png").write_bytes(picture.read_bytes())
    index = folder / "index.rst"
    text = by_field(index.read_text(encoding="utf-8"))
    index.write_text(text, encoding="utf-8")


def by_field(text: str) -> str:
    """The list of examples that sphinx-gallery wrote, with a heading before the first one of each field."""
    opening, closing = '.. raw:: html\n\n    <div class="sphx-glr-thumbnails">\n\n', ".. raw:: html\n\n    </div>\n\n"
    before, *entries = text.split(_ENTRY)
    entries[-1], found, after = entries[-1].partition(".. thumbnail-parent-div-close")
    out = [before.replace(opening, "")]
    firsts = {names[0]: field for field, names in FIELDS.items()}
    for entry in entries:
        field = firsts.get(re.search(r":doc:`/gallery/(\w+)`", entry)[1])
        if field:
            out.append((closing if len(out) > 1 else "") + f"{field}\n{'-' * len(field)}\n\n{opening}")
        out.append(_ENTRY + entry)
    return "".join([*out, found, after])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", arrange, priority=900)  # after sphinx-gallery has written its pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
