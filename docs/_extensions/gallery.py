"""What sphinx-gallery is told of the examples: their order, and the figures that a cell made."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

# from the simplest to those that build on it; what is not named here comes last
ORDER = (
    "simple_pendulum",
    "four_wires",
    "torsion_balance",
    "inverted_pendulum",
    "cantilever_blade",
    "flexure_stage",
    "hexapod",
    "double_pendulum_on_blades",
    "body_from_finite_elements",
    "violin_modes",
    "attenuation_chain",
    "kagra_type_bp",
)
_PIXELS_AN_INCH = 110

_saved: weakref.WeakSet[Figure] = weakref.WeakSet()


def order(name: str) -> tuple[int, str]:
    """The place of an example in the gallery, by the name of its file."""
    stem = Path(name).stem
    return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)


def figures(block, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures that a cell assigned or ended with, and return the lines that show them."""
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and value not in _saved:
            _saved.add(value)
            path = Path(next(block_vars["image_path_iterator"]))
            path.parent.mkdir(parents=True, exist_ok=True)
            value.savefig(path, dpi=_PIXELS_AN_INCH)
            paths.append(str(path))
    return figure_rst(paths, gallery_conf["src_dir"])
