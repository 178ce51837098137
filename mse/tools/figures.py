"""Figures of matplotlib that need no screen, and the error where it is not installed."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

from .extras import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float = 8.0, height: float = 5.0) -> Figure:
    """An empty figure (inches) that needs no screen; MissingPackageError with the remedy without matplotlib."""
    module = needed("matplotlib.figure", "plot", "plots")
    figure = module.Figure(figsize=(width, height), layout="constrained")
    # a notebook shows figures made without pyplot as text only, unless they bring this along
    figure._repr_png_ = partial(_png, figure)
    return figure


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
