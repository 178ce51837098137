"""How well reduced models and grids represent the full ones: errors of what is left out, resolution of resonances."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.frequency.resonance_grid import ResonanceGrid
from ...analysis.time.balanced import Balanced
from ...analysis.time.left_out import SHARES, LeftOut, largest_of_unit
from ...display import ROUNDING, amounts
from ...linear.craig_bampton import Reduction
from ...results import drawing
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 300
_DECADES = 2  # decades of frequency below the highest


@drawing.register(LeftOut)
def errors_left(left: LeftOut) -> Figure:
    """Errors of the largest responses of one unit (displacements if there are any); dots show the responses."""
    figure = style.empty(None, 7.5, 4.5)
    axes = figure.subplots()
    f = _frequencies(left.up_to_hz)
    sizes, at = np.abs(left.error(f)), np.array(SHARES) * left.up_to_hz
    chosen, more = _largest(left)
    drawn = []
    for k, (o, i) in enumerate(chosen):
        look = style.dashed(k)
        axes.plot(f, sizes[:, o, i], label=f"{left.outputs[o]} / {left.inputs[i]}", **look)
        axes.plot(at, left.response[:, o, i], "o", color=look["color"], markersize=5, clip_on=False)
        drawn += [sizes[:, o, i], left.response[:, o, i]]
    unit = f"{left.output_units[chosen[0][0]]} per {left.input_units[chosen[0][1]]}" if chosen else ""
    _finish(axes, f, drawn, f"error; dots: response ({unit})" if unit else "error")
    style.legend(axes, beside=True)
    style.title(figure, f"{left.name}: {left.states} states left out{style.hidden('responses', more)}")
    return figure


@drawing.register(Reduction)
def reduction_error(reduction: Reduction) -> Figure:
    """The bound on the relative error of the boundary's dynamic stiffness, and the modes kept, up to the first left out."""
    figure = style.empty(None, 7.5, 4.5)
    axes = figure.subplots()
    kept, top = reduction.frequencies_hz, reduction.omitted_frequency_hz
    some = bool(np.isfinite(top))
    if not some:
        top = 2.0 * kept.max(initial=0.0) or 1.0
    f = _frequencies(top)[:-1]
    error = reduction.relative_error(f)
    label = "error of the dynamic stiffness, at most" if some else "no error: nothing is left out"
    axes.plot(f, error, color=style.BLUE, label=label)
    _lines(axes, kept[kept > f[0]], "modes kept")
    _finish(axes, f, [error], "relative error")
    axes.set_xlim(f[0], top)
    style.legend(axes, beside=False)
    whole, size = reduction.transformation.shape
    style.title(figure, f"{whole} coordinates condensed to {size}")
    return figure


@drawing.register(ResonanceGrid)
def spacing(grid: ResonanceGrid) -> Figure:
    """Distances between neighboring frequencies, and the resonance widths that they have to resolve."""
    figure = style.empty(None, 7.5, 4.5)
    axes = figure.subplots()
    f, step = grid.frequencies_hz[:-1], np.diff(grid.frequencies_hz)
    axes.plot(f, step, color=style.BLUE, label="distance to the next frequency")
    wide = grid.widths_hz > 0.0
    axes.plot(grid.resonances_hz[wide], grid.widths_hz[wide], "o", color=style.RED, label="width of a resonance")
    _lines(axes, grid.resonances_hz[~wide], "resonance without damping")
    _finish(axes, f, [step, grid.widths_hz[wide]], "distance, width (Hz)")
    style.legend(axes, beside=True)
    style.title(
        figure,
        f"{grid.name}: {amounts(frequency=len(grid), resonance=len(grid.resonances_hz))}",
    )
    return figure


@drawing.register(Balanced)
def singular_values(balanced: Balanced) -> Figure:
    """Hankel singular values of the motions that decay: those with a state, and those left out, which bound the error."""
    figure = style.empty(None, 7.5, 4.5)
    axes = figure.subplots()
    number, kept = np.arange(1, len(balanced.singular_values) + 1), balanced.order
    axes.semilogy(number[:kept], balanced.singular_values[:kept], "o", color=style.BLUE, label="with a state")
    axes.semilogy(number[kept:], balanced.singular_values[kept:], "x", color=style.RED, label="left out")
    axes.set_xlabel("number")
    axes.set_ylabel("singular value, of a response of 1")
    style.grid(axes)
    style.legend(axes, beside=False)
    style.title(figure, f"{balanced.name}: {balanced.kept + kept} of {balanced.whole} states")
    return figure


def _frequencies(top: float) -> np.ndarray:
    return np.geomspace(10.0**-_DECADES * top, top, _POINTS)


def _largest(left: LeftOut) -> tuple[list[tuple[int, int]], int]:
    """Numbers of outputs and inputs of the responses drawn, and how many others are above rounding."""
    peaks = left.response.max(axis=0, initial=0.0)
    rounding = ROUNDING * largest_of_unit(left.response, left.output_units, left.input_units)
    every = [(int(o), int(i)) for o, i in zip(*np.nonzero(peaks > rounding), strict=True)]
    units = {(o, i): (left.output_units[o], left.input_units[i]) for o, i in every}
    counts = Counter(units.values())
    unit = max(counts, key=lambda unit: (unit[0] == "m", counts[unit]), default=None)
    of_unit = [pair for pair in every if units[pair] == unit]
    largest = sorted(of_unit, key=lambda pair: -peaks[pair])[: style.MOST_CURVES]
    return [pair for pair in of_unit if pair in largest], len(every) - len(largest)


def _lines(axes: Axes, frequencies: np.ndarray, name: str) -> None:
    for k, at in enumerate(frequencies):
        axes.axvline(at, color=style.GRAY, linestyle="--", linewidth=1, label=name if k == 0 else None)


def _finish(axes: Axes, f: np.ndarray, sizes: list[np.ndarray], what: str) -> None:
    style.magnitude_axis(axes, sizes)
    style.frequency_axis(axes.xaxis, f)
    axes.set_ylabel(what)
    style.grid(axes)
