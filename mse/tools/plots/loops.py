"""Loop gains: Bode, Nyquist and Nichols diagrams with all margins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...control.closed import ClosedModel
from ...control.margins import Margins, rates
from ...results import drawing
from ...validation.arguments import choice, positions
from . import style
from .frequency import continuous_phase, phase_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_BETWEEN = 6  # points drawn for each one of the grid: curves in the plane turn more than those over frequency
_LOUD = 2.0  # of Nyquist diagrams: gains beyond are drawn nearer to the circle of twice that, see _compressed
_LEVELS_DB = (12.0, 6.0, 3.0, 1.0, 0.0, -3.0, -6.0, -12.0)  # of |L/(1 + L)|, on Nichols diagrams
_REACH_DB = 60.0  # of gains that these show


@drawing.register(ClosedModel)
def loop_gain(
    closed: ClosedModel,
    *,
    kind: str = "bode",
    actuators: Sequence[str] | str | None = None,
    low_hz: float | None = None,
    high_hz: float | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Gain L of each loop, broken at one of the ``actuators`` with the others closed, and its crossings.

    ``kind`` "bode" shows magnitude and phase over frequency, "nyquist" L in the complex plane, in which magnitudes above 2 are
    compressed, "nichols" magnitude over phase, with curves of equal ``|L/(1 + L)|``.  Dots mark ``|L| = 1``, squares real
    negative L.  The band is that of the margins, or ``low_hz`` to ``high_hz``.
    """
    choice(closed.name, "kind", kind, ("bode", "nyquist", "nichols"))
    chosen = positions(closed.name, "actuator", actuators, closed.links.actuators)
    names = [closed.links.actuators[k] for k in chosen]
    f = rates(closed.name, closed.plant, low_hz, high_hz) / (2 * np.pi)
    f = np.interp(np.arange((len(f) - 1) * _BETWEEN), np.arange(len(f)) * _BETWEEN, f)  # without the last, half a rate
    gain = closed.loop_gain(f)
    margins = closed.margins(low_hz, high_hz)
    draw = {"bode": _bode, "nyquist": _nyquist, "nichols": _nichols}[kind]
    figure = style.empty(figure, *((8.0, 6.5) if kind == "bode" else (10.0, 7.0)))
    draw(figure, f, {name: gain[name] for name in names}, margins)
    state = "" if closed.stable else "  UNSTABLE"
    style.title(figure, f"{closed.name}: loop gain, largest sensitivity {margins.sensitivity:.4g}{state}")
    return figure


@drawing.register(Margins)
def margins_over_frequency(margins: Margins) -> Figure:
    """Phase margins at the crossings of ``|L| = 1``, and gain margins where L is real and negative, over frequency."""
    figure = style.empty(None, 7.5, 5.5)
    upper, lower = figure.subplots(2, 1, sharex=True)
    for k, name in enumerate(dict.fromkeys((*margins.gain_loops, *margins.phase_loops))):
        (gains, phases), look = _crossings(margins, name), style.dashed(k)
        upper.plot(*gains, "o", color=look["color"], label=name)
        lower.plot(*phases, "s", color=look["color"])
    upper.set_ylabel("phase margin (deg)")
    lower.set_ylabel("gain margin")
    lower.set_xlabel("frequency (Hz)")
    lower.set_yscale("log")
    lower.set_xscale("log")
    for axes in (upper, lower):
        style.grid(axes)
    style.legend(upper, beside=True)
    style.title(figure, f"{margins.name}: largest sensitivity {margins.sensitivity:.4g}")
    return figure


def _crossings(margins: Margins, name: str) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Frequencies and margins of the gain crossings, and of the phase crossings, of one loop."""
    gains = np.array([loop == name for loop in margins.gain_loops], dtype=bool)
    phases = np.array([loop == name for loop in margins.phase_loops], dtype=bool)
    return (
        (margins.gain_crossings_hz[gains], margins.phase_margins[gains]),
        (margins.phase_crossings_hz[phases], margins.gain_margins[phases]),
    )


def _labels(margins: Margins, name: str) -> str:
    """Name of a loop with its margins nearest to instability."""
    (_, pm), (_, gm) = _crossings(margins, name)
    told = [f"phase margin {min(pm, key=abs):.3g} deg"] if len(pm) else []
    told += [f"gain margin {min(gm, key=lambda x: abs(np.log(x))):.3g}"] if len(gm) else []
    return "\n".join([name, *told])


def _bode(figure: Figure | SubFigure, f: np.ndarray, gain: dict[str, np.ndarray], margins: Margins) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    for k, (name, values) in enumerate(gain.items()):
        look = style.dashed(k)
        turned = np.degrees(continuous_phase(f, values))
        upper.plot(f, np.abs(values), label=_labels(margins, name), **look)
        lower.plot(f, turned, **look)
        (at, pm), (where, gm) = _crossings(margins, name)
        mark = {"color": look["color"], "linestyle": "none", "markersize": 5, "zorder": 4}
        upper.plot(at, np.ones(len(at)), "o", **mark)
        upper.plot(where, 1.0 / gm, "s", **mark)
        lower.plot(at, _beside(pm - 180.0, np.interp(at, f, turned)), "o", **mark)
        lower.plot(where, _beside(np.full(len(where), -180.0), np.interp(where, f, turned)), "s", **mark)
    upper.axhline(1.0, color=style.GRAY, linewidth=0.9)
    style.magnitude_axis(upper, [np.abs(values) for values in gain.values()])
    upper.set_ylabel("magnitude of L")
    phase_axis(lower)
    low, high = lower.get_ylim()
    for turn in np.arange(np.ceil((low + 180.0) / 360.0), np.floor((high + 180.0) / 360.0) + 1.0):
        lower.axhline(360.0 * turn - 180.0, color=style.GRAY, linewidth=0.9)
    style.frequency_axis(lower.xaxis, f)
    style.grid(upper)
    style.grid(lower)
    style.legend(upper, beside=False)


def _beside(phase: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Phases (deg) plus whole turns, next to those that are drawn."""
    return phase + 360.0 * np.round((drawn - phase) / 360.0)


def _compressed(values: np.ndarray) -> np.ndarray:
    """L as it is up to 2, larger magnitudes between there and 4: ``4 - 4/|L|`` leaves the plane smooth."""
    size = np.abs(values)
    shown = np.where(size > _LOUD, 2.0 * _LOUD - _LOUD**2 / np.maximum(size, _LOUD), size)
    return values / np.where(size > 0.0, size, 1.0) * shown


def _nyquist(figure: Figure | SubFigure, f: np.ndarray, gain: dict[str, np.ndarray], margins: Margins) -> None:
    axes = figure.subplots()
    around = np.exp(1j * np.linspace(0.0, 2 * np.pi, 361))
    for radius, width in ((1.0, 0.9), (_LOUD, 0.6), (2.0 * _LOUD, 0.6)):
        axes.plot(radius * around.real, radius * around.imag, color=style.GRAY, linewidth=width)
    circle = -1.0 + around / margins.sensitivity if np.isfinite(margins.sensitivity) else around[:0]
    axes.plot(circle.real, circle.imag, ":", color=style.GRAY, linewidth=1.4)
    for k, (name, values) in enumerate(gain.items()):
        shown, look = _compressed(values), style.dashed(k)
        axes.plot(shown.real, shown.imag, label=_labels(margins, name), **look)
        axes.plot(shown.real, -shown.imag, color=look["color"], linewidth=0.6)
        _arrow(axes, shown, look["color"])
        (_, pm), (_, gm) = _crossings(margins, name)
        mark = {"color": look["color"], "linestyle": "none", "markersize": 5, "zorder": 4}
        unit = -np.exp(1j * np.radians(pm))
        axes.plot(unit.real, unit.imag, "o", **mark)
        axes.plot(_compressed(-1.0 / gm + 0j).real, np.zeros(len(gm)), "s", **mark)
    axes.plot([-1.0], [0.0], "+", color=style.RED, markersize=14, markeredgewidth=2.2, zorder=5)
    axes.set_aspect("equal")
    axes.set_xlim(-4.3, 4.3)
    axes.set_ylim(-4.3, 4.3)
    ticks = np.arange(-4.0, 5.0)
    words = ["∞" if abs(x) == 4 else f"{x:g}" if abs(x) <= 2 else f"{np.sign(x) * 4:g}" for x in ticks]
    axes.set_xticks(ticks, words)
    axes.set_yticks(ticks, words)
    axes.set_xlabel("real part of L")
    axes.set_ylabel("imaginary part of L")
    style.grid(axes)
    style.legend(axes, beside=True)


def _arrow(axes: Axes, shown: np.ndarray, color: str) -> None:
    """The direction of rising frequency, half along the curve."""
    way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(shown)))])
    if way[-1] > 0.0:
        k = min(max(int(np.searchsorted(way, 0.5 * way[-1])), 1), len(shown) - 1)
        ends = [(z.real, z.imag) for z in (shown[k - 1], shown[k])]
        axes.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "-|>", "color": color, "mutation_scale": 16})


def _nichols(figure: Figure | SubFigure, f: np.ndarray, gain: dict[str, np.ndarray], margins: Margins) -> None:
    axes = figure.subplots()
    lowest, highest = -360.0, 0.0
    for k, (name, values) in enumerate(gain.items()):
        turned, look = np.degrees(continuous_phase(f, values)), style.dashed(k)
        with np.errstate(divide="ignore"):
            axes.plot(turned, 20.0 * np.log10(np.abs(values)), label=_labels(margins, name), **look)
        (at, pm), (where, gm) = _crossings(margins, name)
        mark = {"color": look["color"], "linestyle": "none", "markersize": 5, "zorder": 4}
        axes.plot(_beside(pm - 180.0, np.interp(at, f, turned)), np.zeros(len(at)), "o", **mark)
        back = _beside(np.full(len(where), -180.0), np.interp(where, f, turned))
        axes.plot(back, -20.0 * np.log10(gm), "s", **mark)
        seen = turned[np.abs(values) > 10.0 ** (-_REACH_DB / 20.0)]
        lowest, highest = min(lowest, seen.min(initial=0.0)), max(highest, seen.max(initial=-360.0))
    lowest, highest = max(90.0 * np.floor(lowest / 90.0), -720.0), min(90.0 * np.ceil(highest / 90.0), 360.0)
    around = np.linspace(0.0, 2 * np.pi, 2001)[1:-1]
    turns = 360.0 * np.arange(np.floor(lowest / 360.0) + 1.0, np.ceil(highest / 360.0) + 1.0)
    for level in _LEVELS_DB:  # L = T/(1 - T) on |T| = m
        m = 10.0 ** (level / 20.0)
        curve = m * np.exp(1j * around) / (1.0 - m * np.exp(1j * around))
        angle = np.degrees(np.angle(-curve)) - 180.0  # from -360 to 0
        order = np.argsort(angle) if level <= 0.0 else np.arange(len(angle))
        for turn in turns:
            size = 20.0 * np.log10(np.abs(curve[order]))
            axes.plot(angle[order] + turn, size, "-", color=style.PALE, linewidth=0.8, zorder=1)
        # where curves are farthest apart: above the point -1, or half a turn from it
        x, y = (-355.0, m / (1.0 - m)) if level < 0.0 else (-180.0, m / (m - 1.0) if level > 0.0 else 0.5)
        place = {"fontsize": "x-small", "color": style.GRAY, "ha": "left" if level < 0.0 else "center", "va": "bottom"}
        axes.annotate(f"{level:g} dB", (x, 20.0 * np.log10(y)), **place)
    for turn in np.arange(np.ceil((lowest + 180.0) / 360.0), np.floor((highest + 180.0) / 360.0) + 1.0):
        axes.plot([360.0 * turn - 180.0], [0.0], "+", color=style.RED, markersize=14, markeredgewidth=2.2, zorder=5)
    axes.axhline(0.0, color=style.GRAY, linewidth=0.9)
    axes.set_xlim(lowest, highest)
    axes.set_ylim(-_REACH_DB, _REACH_DB)
    axes.set_xticks(np.arange(lowest, highest + 1.0, 90.0 if highest - lowest <= 720.0 else 180.0))
    axes.set_xlabel("phase of L (deg)")
    axes.set_ylabel("magnitude of L (dB)")
    style.grid(axes)
    style.legend(axes, beside=True)
