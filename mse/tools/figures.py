"""Matplotlib figures that need no screen, the colors and dashes of their curves, and the error if it is not installed."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

from ..validation.extras import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

# M. Okabe, K. Ito, "Color Universal Design" (2008), without the yellow, which is lost on white paper.  The colors differ by
# 16 (CIE 1976) or more for normal sight and under protanopia, deuteranopia and tritanopia.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# they distinguish curves if colors are not seen or not printed
DASHES = (
    "-",
    (0, (6, 2)),
    (0, (7, 2, 1.5, 2)),
    (0, (1.5, 1.5)),
    (0, (6, 2, 1.5, 2, 1.5, 2)),
    (0, (3, 1.5)),
    (0, (9, 3)),
)


def new_figure(width: float = 8.0, height: float = 5.0) -> Figure:
    """An empty figure (inches) that needs no screen; MissingPackageError with the remedy without matplotlib.

    Curves in its axes take :data:`COLORS` in turn, which color-blind readers can tell apart; from the eighth on they are dashed.
    """
    module = needed("matplotlib.figure", "plot", "plots")
    figure = module.Figure(figsize=(width, height), layout="constrained")
    figure.add_axobserver(_Styled())
    # without this a notebook would show figures made without pyplot as text only
    figure._repr_png_ = partial(_png, figure)
    return figure


class _Styled:
    """Gives all new axes of a figure and its subfigures the cycle of colors and dashes."""

    def __init__(self) -> None:
        self._known: WeakSet = WeakSet()

    def __call__(self, figure: Figure | SubFigure) -> None:
        for axes in figure.axes:
            if axes not in self._known:
                self._known.add(axes)
                looks = [(color, dash) for dash in DASHES for color in COLORS]
                axes.set_prop_cycle(color=[color for color, _ in looks], linestyle=[dash for _, dash in looks])


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
