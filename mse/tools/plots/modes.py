"""Modes of a model: frequencies, and which objects move; along a parameter, how they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...analysis.modes.result import Mode, Modes
from ...analysis.modes.tracking import ModeTracks
from ...errors import ModelError
from ...results import drawing
from ...validation.arguments import whole
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHARE = 0.01  # of a mode's kinetic energy: objects with less in all modes are not named


@drawing.register(Modes)
def mode_bars(modes: Modes, *, max_modes: int = 40) -> Figure:
    """Frequencies of the first ``max_modes`` modes, and below each the participation of objects (shares of kinetic energy).

    ``working_point.plot(modes=modes, number=3)`` draws the shape of one.
    """
    count = min(whole(modes.name, "max_modes", max_modes, minimum=1), len(modes))
    figure = style.empty(None, max(6.5, 2.8 + 0.32 * count), 6.0)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    number = np.arange(count)
    _frequencies(top, modes, number)
    hidden = style.hidden("modes", len(modes) - count)
    kind = "lossy" if modes.lossy else "damped" if modes.damped else "undamped"
    style.title(figure, f"{modes.name}: {kind} modes{hidden}")
    shares = {name: share[:count] for name, share in modes.participation.items() if (share[:count] >= _SHARE).any()}
    chosen = sorted(shares, key=lambda n: -shares[n].sum())[: style.MOST_CURVES]
    base = np.zeros(count)
    for k, name in enumerate(name for name in shares if name in chosen):
        bottom.bar(number, shares[name], bottom=base, label=name, **style.hatched(k))
        base += shares[name]
    if (1.0 - base > _SHARE).any():
        rest = {"facecolor": style.PALE, "edgecolor": "white", "linewidth": 0.6}
        bottom.bar(number, np.maximum(1.0 - base, 0.0), bottom=base, label="others", **rest)
    bottom.set_ylabel("participation (%)")
    bottom.set_yticks(np.linspace(0, 1, 5), ["0", "25", "50", "75", "100"])
    bottom.set_ylim(0, 1)
    bottom.set_xlabel("mode")
    bottom.xaxis.get_major_locator().set_params(integer=True)
    bottom.set_xlim(-0.7, max(count, 1) - 0.3)
    style.legend(bottom, beside=True)
    return figure


def _frequencies(axes: Axes, modes: Modes, number: np.ndarray) -> None:
    """A bar for each mode up to its frequency, with the frequency above it."""
    count = len(number)
    f, unstable = modes.frequencies_hz[:count], modes.unstable[:count]
    zero = f == 0
    floor = 0.3 * f[~zero].min(initial=1.0) if (~zero).any() else 0.1
    swings = ~unstable & ~zero
    axes.bar(number[swings], f[swings] - floor, bottom=floor, color=style.BLUE, label="oscillating")
    if unstable.any():
        # without damping, an unstable mode grows without oscillating
        label = "unstable" if modes.damped else "unstable: growth rate / 2 pi"
        axes.bar(
            number[unstable],
            f[unstable] - floor,
            bottom=floor,
            label=label,
            facecolor=style.RED,
            hatch="xxxx",
            edgecolor="white",
        )
    if zero.any():
        axes.plot(number[zero], np.full(zero.sum(), 1.15 * floor), "v", color=style.GRAY, label="free (0 Hz)")
    size = "small" if count <= 20 else "x-small"
    for k in np.flatnonzero(~zero):
        axes.annotate(
            f"{f[k]:.4g}",
            (k, f[k]),
            (0, 3),
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=size,
        )
    high = max(f.max(initial=0.0), 3 * floor)
    style.magnitude_axis(axes, [np.array([floor, high])])
    # leave room for the numbers above: a fraction of the decades shown
    axes.set_ylim(floor, high * (high / floor) ** 0.28)
    axes.set_ylabel("frequency (Hz)")
    axes.grid(True, axis="y", color="0.85", linewidth=0.7)
    axes.set_axisbelow(True)
    if unstable.any() or zero.any():
        style.legend(axes, beside=True)


@drawing.register(Mode)
def no_shape(mode: Mode) -> Figure:
    """Refuse to draw a mode by itself, which has no geometry, with the call that draws its shape."""
    raise ModelError(
        f"{mode.name}: mode {mode.number} alone has no geometry to draw; expected its working point, too; write "
        f"working_point.plot(modes=modes, number={mode.number})"
    )


@drawing.register(ModeTracks)
def campbell_diagram(tracks: ModeTracks, *, max_modes: int = 14) -> Figure:
    """Frequencies over the parameter, and below them Q where modes have loss; lines are named by what moves in each.

    The first ``max_modes`` lines are drawn, without motions at zero frequency.
    """
    count = whole(tracks.name, "max_modes", max_modes, minimum=1)
    swinging = np.flatnonzero(tracks.frequencies_hz.max(axis=0) > 0.0)
    shown = swinging[:count]
    figure = style.empty(None, 8.5, 7.5 if tracks.lossy else 5.0)
    panels = np.atleast_1d(figure.subplots(2 if tracks.lossy else 1, 1, sharex=True))
    drawn = [("frequency (Hz)", tracks.frequencies_hz), ("Q", tracks.quality)]
    for axes, (label, lines) in zip(panels, drawn, strict=False):
        for k, number in enumerate(shown):
            y = np.where(np.isfinite(lines[:, number]), lines[:, number], np.nan)
            axes.plot(tracks.values, y, label=tracks.lines[number], **style.dashed(k))
        style.magnitude_axis(axes, [lines[:, number] for number in shown])
        if label != "Q" and np.ptp(np.log10(axes.get_ylim())) <= 1.0:
            axes.set_yscale("linear")
            axes.autoscale(axis="y")
            style.plain_numbers(axes.yaxis)
        axes.set_ylabel(label)
        style.grid(axes)
    style.in_units(panels[-1].xaxis, tracks.parameter, tracks.unit, [tracks.values])
    style.legend(panels[0], beside=True)
    style.title(figure, f"{tracks.name}: modes{style.hidden('modes', len(swinging) - len(shown))}")
    return figure
