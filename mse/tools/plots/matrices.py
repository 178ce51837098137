"""Linear models and state spaces: which coordinates are coupled, and where the poles are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...analysis.time.state_space import StateSpace
from ...display import ROUNDING, amounts
from ...linear.linear_model import LinearModel
from ...results import drawing
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_MOST_NAMES, _MOST_LINES = 15, 25  # most names of blocks beside a picture, and most lines of text that fit there
_DECADES = 3  # of poles on a linear axis; with more the smallest would be a hundredth of a millimeter from 0


@drawing.register(LinearModel)
def sparsity(model: LinearModel) -> Figure:
    """Which coordinates the stiffness couples beyond rounding, with the objects' names if there is room."""
    figure = style.empty(None, 6.5, 6.0)
    axes = figure.subplots()
    k = model.K.tocoo()
    size = np.sqrt(abs(model.K).max(axis=1).toarray().ravel()) if model.size else np.zeros(0)
    real = np.abs(k.data) > ROUNDING * size[k.row] * size[k.col]
    coupled = sp.coo_matrix((k.data[real], (k.row[real], k.col[real])), shape=k.shape)
    if model.size:  # an empty matrix has no axes
        axes.spy(coupled, markersize=max(0.5, min(6.0, 200 / model.size)), color=style.BLUE)
    runs = _named_runs(model.coordinates)
    sizes = np.array([size for _, size in runs], dtype=int)
    ends = np.cumsum(sizes)
    middles = ends - 0.5 * (sizes + 1)
    line = model.size / _MOST_LINES  # coordinates per line of text
    shown: list[int] = []
    for k, middle in enumerate(middles):
        if not shown or middle - middles[shown[-1]] >= line:
            shown.append(k)
    names = [runs[k][0] for k in shown]
    axes.set_xticks(middles[shown], names, rotation=60, ha="left", rotation_mode="anchor", fontsize="small")
    axes.set_yticks(middles[shown], names, fontsize="small")
    axes.tick_params(bottom=False)
    if len(shown) == len(runs):
        for end in ends[:-1]:
            axes.axhline(end - 0.5, color=style.PALE, linewidth=0.8)
            axes.axvline(end - 0.5, color=style.PALE, linewidth=0.8)
    style.title(figure, f"{model.name}: stiffness, {model.size} coordinates")
    return figure


def _named_runs(coordinates: Sequence[str]) -> list[tuple[str, int]]:
    """Consecutive coordinates that belong together: a name and their number.

    Each run is a node or body if there is a line of text for each, or else the object that these are parts of.
    """
    paths = [c.rsplit(".", 1)[0].split(".") for c in coordinates]
    runs: list[tuple[str, int]] = []
    for depth in range(max(map(len, paths), default=0), 0, -1):
        runs = [(name, len(list(run))) for name, run in groupby(".".join(path[:depth]) for path in paths)]
        if len(runs) <= _MOST_NAMES and len(paths) <= _MOST_LINES * min(size for _, size in runs):
            break
    return runs


@drawing.register(StateSpace)
def poles(ss: StateSpace) -> Figure:
    """Eigenvalues of A in the complex plane; those right of the dashed line grow.

    If they are spread over more than three decades, both axes are logarithmic beyond the smallest.
    """
    figure = style.empty(None, 6.5, 5.0)
    axes = figure.subplots()
    p = ss.poles()
    size = np.abs(p)
    p = np.where(np.abs(p.real) <= ROUNDING * size, 0.0, p.real) + 1j * np.where(
        np.abs(p.imag) <= ROUNDING * size, 0.0, p.imag
    )
    axes.plot(p.real, p.imag, "x", color=style.BLUE)
    axes.axvline(0.0, linestyle="--", color=style.GRAY, linewidth=1)
    for axis, values, name in ((axes.xaxis, p.real, "real part (1/s)"), (axes.yaxis, p.imag, "imaginary part (rad/s)")):
        _pole_axis(axes, axis, values)
        axis.set_label_text(name)
    style.title(figure, f"{ss.name}: {amounts(pole=len(p))}")
    style.grid(axes)
    return figure


def _pole_axis(axes: Axes, axis: Axis, values: np.ndarray) -> None:
    """One axis of the complex plane: linear, or symmetric logarithmic if the values are spread over decades."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    x = axis.axis_name == "x"
    set_scale, set_limits = (axes.set_xscale, axes.set_xlim) if x else (axes.set_yscale, axes.set_ylim)
    style.plain_numbers(axis)
    lengths = np.abs(values[values != 0.0])
    if not len(lengths) or lengths.max() <= 10.0**_DECADES * lengths.min():
        axis.set_major_locator(MaxNLocator(5))
        reach = 1.1 * lengths.max(initial=0.0) or 1.0
        set_limits(-reach if not x or values.min(initial=0.0) < 0.0 else -0.3 * reach,
                   reach if not x or values.max(initial=0.0) > 0.0 else 0.3 * reach)  # fmt: skip
        return
    first, last = int(np.floor(np.log10(lengths.min()))), int(np.ceil(np.log10(lengths.max())))
    set_scale("symlog", linthresh=10.0**first)
    # leave out the number of the smallest power, which would touch the 0 next to it
    powers = 10.0 ** np.arange(last, first, -max(1, -(-(last - first) // 3)))
    axis.set_major_locator(FixedLocator([*-powers, 0.0, *powers[::-1]]))
    axis.set_minor_locator(NullLocator())
    low, high = (values < 0.0).any() or not x, (values > 0.0).any() or not x
    set_limits(-(10.0 ** (last + 0.3)) if low else -(10.0**first), 10.0 ** (last + 0.3) if high else 10.0**first)
