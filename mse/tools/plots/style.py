"""Style of all pictures: colors, dashes and markers, axes with readable units, legends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import COLORS, DASHES, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure

BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK = COLORS
GRAY, PALE = "#545454", "#BEBEBE"  # for the ground and for comparison: as different as possible from the colors
MOST_CURVES = len(COLORS)  # as many as can be told apart

_MARKERS = "osD^vPX"
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")

_QUANTITY = {"m": "displacement", "rad": "rotation", "N": "force", "N m": "torque", "m/s": "velocity",
             "rad/s": "angular velocity", "C": "charge", "A": "current", "V": "voltage", "m3": "volume", "m3/s": "flow",
             "Pa": "pressure", "K": "temperature"}  # fmt: skip
_PREFIXES = {-12: "p", -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
# these units take prefixes; an angle takes none above 1
_PREFIXED = {"m": range(-12, 3, 3), "rad": range(-12, 3, 3), "N": range(-12, 12, 3), "N m": range(-12, 12, 3),
             "Pa": range(-3, 12, 3), "s": range(-12, 3, 3)}  # fmt: skip
_NARROW = 2e-3  # relative: if all values are within this, the difference from a round value is drawn
_DIGITS = 3  # most digits of tick labels


def dashed(k: int) -> dict[str, Any]:
    """Color and dashes of curve number k, for smooth curves."""
    return {"color": COLORS[k % MOST_CURVES], "linestyle": DASHES[(k + k // MOST_CURVES) % len(DASHES)]}


def marked(k: int, x: np.ndarray, *, logarithmic: bool = False) -> dict[str, Any]:
    """Color and markers of curve number k over ``x``, for oscillating histories, in which dashes would be lost."""
    marker = _MARKERS[(k + k // MOST_CURVES) % len(_MARKERS)]
    # few markers, at different places for each curve, so that they do not cover each other
    share = (np.arange(8) + (0.5 + k % 5) / 5.5) / 8
    x = np.log(x) if logarithmic else x
    at = np.searchsorted(x, x[0] + share * (x[-1] - x[0])) if len(x) else []
    places = [int(n) for n in np.unique(np.minimum(at, len(x) - 1))]
    return {
        "color": COLORS[k % MOST_CURVES], "linestyle": "-", "marker": marker, "markersize": 5, "markevery": places,
    }  # fmt: skip


def hatched(k: int) -> dict[str, Any]:
    """Fill of bars number k: colors, with hatches for readers who do not see them."""
    return {
        "facecolor": COLORS[k % MOST_CURVES],
        "hatch": _HATCHES[k % MOST_CURVES],
        "edgecolor": "white",
        "linewidth": 0.6,
    }


def quantity(unit: str) -> str:
    """The quantity with that unit, in one word."""
    return _QUANTITY.get(unit, "signal")


# -- axes -----------------------------------------------------------------------------------------------------------
def grid(axes: Axes) -> None:
    """Lines at all major ticks, and fainter ones at the minor ticks."""
    axes.grid(True, which="major", color="0.75", linewidth=0.7)
    axes.grid(True, which="minor", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)


def in_units(axis: Axis, what: str, unit: str, values: Iterable[np.ndarray]) -> None:
    """Label a linear axis of ``values`` in ``unit`` with a prefix that keeps numbers short: ``displacement (um)``.

    Data stay in SI: only the numbers at the ticks are in the unit of the label.  If all values are nearly equal, the ticks
    show the difference from a round value, which is in the label.
    """
    finite = [np.asarray(v, dtype=float)[np.isfinite(v)] for v in values]
    everything = np.concatenate([v for v in finite if v.size] or [np.zeros(1)])
    low, high = float(everything.min()), float(everything.max())
    size, span = max(abs(low), abs(high)), high - low
    base = 0.0
    if 0.0 < span < _NARROW * size:
        decade = 10.0 ** np.ceil(np.log10(span))
        base = float(np.round(0.5 * (low + high) / decade) * decade)
        size = max(high - base, base - low)
    factor, shown = prefixed(unit, size)
    named = f"{what} ({shown})" if shown else what
    if base:
        whole, own = prefixed(unit, abs(base))
        digits = max(0, round(np.log10(whole / decade)))  # so that no digit of the base is lost
        sign = "-" if base > 0 else "+"
        named = f"{what} {sign} {abs(base) / whole:.{digits}f}{f' {own}' if own else ''}" + (
            f" ({shown})" if shown else ""
        )
    plain_numbers(axis, factor, base)
    axis.set_label_text(named)
    if not span:
        # a single value, or differences that are rounding: an axis around it as wide as its size
        reach = 0.5 * size or 1.0
        axis.axes.set_xlim(low - reach, high + reach) if axis.axis_name == "x" else axis.axes.set_ylim(
            low - reach, high + reach
        )


def prefixed(unit: str, size: float) -> tuple[float, str]:
    """Factor and name of the prefixed unit in which ``size`` has one to three digits before the point."""
    if not unit or not size > 0.0 or not np.isfinite(size):
        return 1.0, unit
    wanted = int(3 * np.floor(np.log10(size * (1 + 1e-9)) / 3))
    steps = _PREFIXED.get(unit)
    if steps is None:
        return 1.0, unit
    power = min(max(wanted, steps[0]), steps[-1])
    return 10.0**power, _PREFIXES[power] + unit


def number(value: float) -> str:
    """A number at a tick: short, with a visible minus, and without an exponent if three digits before the point do."""
    value = 0.0 if abs(value) < 1e-9 else value
    if value and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, exponent = f"{value:.3e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        power = f"$10^{{{int(exponent)}}}$"
        text = power if mantissa == "1" else f"{mantissa}\N{MULTIPLICATION SIGN}{power}"
    else:
        text = f"{value:.7g}"
    return (
        text.replace("-", "\N{MINUS SIGN}") if "$" not in text else text.replace("-", "\N{MINUS SIGN}", text[0] == "-")
    )


def plain_numbers(axis: Axis, factor: float = 1.0, base: float = 0.0) -> None:
    """Let an axis write :func:`number` of its values minus ``base``, over ``factor``."""
    from matplotlib.ticker import FuncFormatter

    # a partial instead of a local function, so that figures can be pickled
    axis.set_major_formatter(FuncFormatter(partial(_tick, factor=factor, base=base)))


def _tick(value: float, _: int | None = None, *, factor: float, base: float) -> str:
    return number((value - base) / factor)


def power_of_ten(value: float, _: int | None = None) -> str:
    """A tick of a logarithmic axis as a power of ten."""
    exponent = f"{np.log10(value):.0f}".replace("-", "\N{MINUS SIGN}")
    return f"$10^{{{exponent}}}$"


def frequency_axis(axis: Axis, f: np.ndarray) -> None:
    """A frequency axis with plain numbers: logarithmic, or linear over less than a factor of 3."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if len(f) and f.max() < 3.0 * f.min():
        axis.axes.set_xscale("linear")
        in_units(axis, "frequency", "Hz", [f])
    else:
        if not len(f):
            axis.axes.set_xlim(0.1, 10.0)
        axis.axes.set_xscale("log")
        plain_numbers(axis)
        axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=99))
        axis.set_minor_formatter(NullFormatter())
        axis.set_label_text("frequency (Hz)")


def magnitude_axis(axes: Axes, sizes: Sequence[np.ndarray], floor: float | None = None) -> None:
    """A logarithmic axis of magnitudes: at least a decade, and nothing below ``floor``, by default 1e-15 of the largest."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    positive = np.concatenate([s[np.isfinite(s) & (s > 0.0)] for s in sizes] or [np.zeros(0)])
    if not positive.size:
        axes.set_ylim(0.1, 10.0)
    else:
        high = positive.max()
        low = positive[positive >= (1e-15 * high if floor is None else floor)].min(initial=high)
        if high < 10.0 * low:
            low, high = (10.0 ** f(np.log10(x)) for f, x in ((np.floor, low), (np.ceil, high)))
            low, high = (low, high) if high > low else (low / 10.0, high * 10.0)
        else:
            low, high = low / 1.5, high * 1.5
        axes.set_ylim(low, high)
    axes.set_yscale("log")  # after the limits, since it looks for positive data
    decades = np.ptp(np.log10(axes.get_ylim()))
    axes.yaxis.set_major_locator(LogLocator(numticks=9))
    if axes.get_ylim()[0] >= 1e-4 and axes.get_ylim()[1] <= 1e5:
        plain_numbers(axes.yaxis)
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(power_of_ten))
    axes.yaxis.set_minor_locator(LogLocator(subs=range(2, 10) if decades < 9 else (1.0,), numticks=99))
    axes.yaxis.set_minor_formatter(NullFormatter())


# -- legends --------------------------------------------------------------------------------------------------------
def legend(axes: Axes, *, beside: bool) -> None:
    """Names of the curves, beside the axes or where they cover least."""
    if not axes.get_legend_handles_labels()[0]:
        return
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0} if beside else {"loc": "best"}
    axes.legend(fontsize="small", handlelength=3.0, **place)


def legend_below(axes: Axes, handles: list) -> None:
    """Names of what a picture shows, below it; below the figure if these axes are alone in it."""
    options = {"handles": handles, "fontsize": "small", "ncols": 3, "frameon": False}
    if handles and axes.figure.axes == [axes] and axes.figure.get_layout_engine() is not None:
        axes.figure.legend(loc="outside lower center", **options)
    elif handles:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), **options)


def title(figure: Figure | SubFigure, text: str) -> None:
    """A title above a figure, in as many lines as the width requires."""
    figure.suptitle(wrapped(text, figure.bbox.width / figure.dpi), fontsize="large")


def wrapped(text: str, width: float) -> str:
    """Text in lines that fit a title of this width (inches), broken between words, or within words that are too long."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size="large")
    room = 72.0 * 0.96 * width  # points, without margins

    def fits(line: str) -> bool:
        wide, _, _ = text_to_path.get_text_width_height_descent(line, font, ismath=False)
        return wide <= room

    lines: list[str] = []
    for given in text.split("\n"):
        line = ""
        for word in given.split():
            if line and not fits(f"{line} {word}"):
                lines.append(line)
                line = ""
            line = f"{line} {word}" if line else word
            while not fits(line):
                k = next(k for k in range(len(line) - 1, 0, -1) if k == 1 or fits(line[:k]))
                lines.append(line[:k])
                line = line[k:]
        lines.append(line)
    return "\n".join(lines)


def hidden(what: str, left_out: int) -> str:
    """The part of a title that counts objects not drawn."""
    return f"  ({left_out} more {what} not shown)" if left_out > 0 else ""


def empty(figure: Figure | SubFigure | None, width: float, height: float) -> Figure | SubFigure:
    """The figure to draw into, or a new one."""
    return new_figure(width, height) if figure is None else figure
