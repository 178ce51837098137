"""Histories: signals over time, and their spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.time.response import TimeResponse
from ...display import scales, without_rounding
from ...errors import ModelError
from ...results import drawing
from ...validation.arguments import names as name_list
from ...validation.arguments import shown
from . import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Relative to the largest signal of its unit, or for rotations to the largest displacement, 1 m away: a smaller signal looks
# like zero and is drawn only if asked for.  Equilibria of hanging examples leave 3e-6 where symmetry gives 0
# (tests/tools/plots/test_time.py).
_LEAST = 1e-5
_FEWEST = 16  # samples that a spectrum needs
_SEGMENTS = 8  # averaged in a spectrum


@drawing.register(TimeResponse)
def histories(history: TimeResponse, *, names: Sequence[str] | str | None = None, spectrum: bool = False) -> Figure:
    """Outputs and inputs over time, a panel for each unit; by default all above 1e-5 of the largest of their unit.

    Rotations also have to be above 1e-5 rad for each meter of the largest displacement.  The title counts those left out.
    ``spectrum`` also draws their amplitude spectral densities (Welch's method: Hann windows that overlap by half, mean removed),
    in the unit per root of Hz.
    """
    if not isinstance(spectrum, bool | np.bool_):
        raise ModelError(f"{history.name}: spectrum is {shown(spectrum)}; expected True or False")
    every = list(dict.fromkeys((*history.inputs, *history.outputs)))
    size = {n: float(np.abs(history[n]).max(initial=0.0)) for n in every}
    largest = dict(zip(every, scales(list(size.values()), [history.unit(n) for n in every]), strict=True))
    if names is None:
        meters = max((size[n] for n in every if history.unit(n) == "m"), default=0.0)
        least = {n: max(largest[n], meters if history.unit(n) == "rad" else 0.0) for n in every}
        chosen = [n for n in every if size[n] > _LEAST * least[n]]
    else:
        chosen = list(dict.fromkeys(name_list(history.name, "names", names)))
    left_out = 0
    if names is None:
        chosen = chosen[: 2 * style.MOST_CURVES]
        # signals that are rounding compared with the others count as not moving
        left_out = sum(bool(np.any(without_rounding(history[n], largest[n]))) for n in every) - len(chosen)
    units = list(dict.fromkeys(history.unit(n) for n in chosen)) or [""]
    figure = style.empty(None, 13.0 if spectrum else 8.0, 1.5 + 2.5 * len(units))
    panels = figure.subplots(len(units), 2 if spectrum else 1, sharex="col", squeeze=False)
    for row, unit in zip(panels, units, strict=True):
        own = {n: without_rounding(history[n], largest[n]) for n in chosen if history.unit(n) == unit}
        for k, (name, values) in enumerate(own.items()):
            label = f"{name} (input)" if name in history.inputs else name
            look = style.marked(k, history.time) if len(own) > 1 else style.dashed(0)
            row[0].plot(history.time, values, label=label, linewidth=1.2, **look)
            if spectrum:
                f, density = _density(history, values)
                look = style.marked(k, f, logarithmic=True) if len(own) > 1 else style.dashed(0)
                row[1].plot(f, density, label=label, linewidth=1.2, **look)
        style.in_units(row[0].yaxis, style.quantity(unit), unit, own.values())
        row[0].margins(x=0.0)
        if spectrum:
            style.magnitude_axis(row[1], [np.asarray(line.get_ydata()) for line in row[1].lines])
            row[1].set_ylabel(f"density ({unit}/$\\sqrt{{\\mathrm{{Hz}}}}$)")
            style.grid(row[1])
        style.grid(row[0])
        style.legend(row[-1], beside=True)
    style.in_units(panels[-1, 0].xaxis, "time", "s", [history.time])
    if spectrum:
        f = [np.asarray(line.get_xdata()) for row in panels for line in row[1].lines]
        style.frequency_axis(panels[-1, 1].xaxis, np.concatenate(f or [np.zeros(0)]))
    what = "time response and spectrum" if spectrum else "time response"
    style.title(figure, f"{history.name}: {what}{style.hidden('signals', left_out)}")
    return figure


def _density(history: TimeResponse, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies above 0 (Hz), and the amplitude spectral density of one signal there."""
    from scipy.signal import welch

    count = len(history.time)
    if count < _FEWEST:
        raise ModelError(
            f"{history.name}: the history has {count} samples; expected at least {_FEWEST} for a spectrum; simulate longer"
        )
    segment = max(_FEWEST, 2 * count // (_SEGMENTS + 1))
    f, power = welch(values, 1.0 / float(history.time[1] - history.time[0]), nperseg=min(segment, count))
    # drop the line at half the sampling rate, which is not doubled as others are, and its neighbor, which the window smears
    return f[1:-2], np.sqrt(power[1:-2])
