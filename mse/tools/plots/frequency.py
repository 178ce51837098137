"""Frequency responses: magnitude and phase over frequency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.frequency.response import FrequencyResponse
from ...errors import ModelError
from ...results import drawing
from ...validation.arguments import items, shown
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Pair = tuple[str, str]

_LEAST = 1e-9  # relative to the largest response of its unit: smaller ones are drawn only if asked for
# relative difference at all frequencies below which curves hide each other (tests/tools/plots/test_plots.py)
_ALIKE = 1e-3
# Samples on either side of a change of sign: of 8,319 changes with a sample or more between poles and zeros this misses one, and
# 6 miss 12.  tests/tools/plots/test_plots.py::test_the_phase_of_any_response_counts_its_poles_and_zeros fails with 2.
_AROUND = 10
# rad: a phase step this close to half a turn is half a turn
# (tests/tools/plots/test_plots.py::test_the_phase_of_any_response_counts_its_poles_and_zeros)
_ROUNDING = 1e-6
# Of half a turn: a larger step between samples may be in either direction.  Of 231 responses with a loss factor of 1e-6 none
# is wrong with it, 13 with 0.999999 (tests/tools/plots/test_plots.py::test_the_phase_of_any_response_counts_its_poles_and_zeros).
_EITHER = 0.99


@drawing.register(FrequencyResponse)
def bode(
    response: FrequencyResponse,
    *,
    pairs: Sequence[tuple[str, str]] | tuple[str, str] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Magnitude and phase over frequency of ``pairs`` of (output, input), a panel of magnitudes for each unit.

    By default those of one unit, displacements where there are some: the 7 largest, above 1e-9 of the largest.  Responses that
    would hide each other, as along x and y of a symmetric system, are one curve that has the names of all.  Phases are
    continuous: they fall by 180 degrees at each resonance, and rise by as much where an undamped response passes zero.
    ``figure`` is an empty figure or subfigure to draw into, a new one by default.
    """
    left_out = 0
    if pairs is None:
        chosen, left_out = _largest(response)
    else:
        chosen = _pairs(response, pairs)
    units = list(dict.fromkeys(response.unit(*pair) for pair in chosen)) or [""]
    figure = style.empty(figure, 8.0, 4.0 + 2.2 * len(units))
    *magnitudes, phase = figure.subplots(len(units) + 1, 1, sharex=True, height_ratios=[2] * len(units) + [1])
    shown = response.frequencies_hz > 0
    order = np.argsort(response.frequencies_hz[shown])
    f = response.frequencies_hz[shown][order]
    curves = {pair: response[pair][shown][order] for pair in chosen}
    alike = _alike(curves, response)
    curves = {pair: curves[pair] for pair in alike}
    for axes, unit in zip(magnitudes, units, strict=True):
        own = {pair: h for pair, h in curves.items() if response.unit(*pair) == unit}
        for pair, h in own.items():
            label = "\n= ".join(f"{output} / {input_}" for output, input_ in alike[pair])
            axes.plot(f, np.abs(h), label=label, **style.dashed(list(alike).index(pair)))
        style.magnitude_axis(axes, [np.abs(h) for h in own.values()])
        axes.set_ylabel(f"magnitude ({unit})" if unit else "magnitude")
        style.legend(axes, beside=len(own) > 4)
    for k, h in enumerate(curves.values()):
        phase.plot(f, np.degrees(continuous_phase(f, h)), **style.dashed(k))
    phase_axis(phase)
    style.frequency_axis(phase.xaxis, f)
    for axes in (*magnitudes, phase):
        style.grid(axes)
    style.title(figure, f"{response.name}: frequency response{style.hidden('responses', left_out)}")
    return figure


def _largest(response: FrequencyResponse) -> tuple[list[tuple[str, str]], int]:
    """The responses drawn by default, and how many others are above rounding."""
    every = response.pairs()
    counts = Counter(response.unit(*pair) for pair in every)
    # displacements are what most users look for; of equally frequent units the first
    unit = max(counts, key=lambda unit: (unit.startswith("m/"), counts[unit]), default="")
    # measured by the median: at an undamped resonance even rounding grows large
    size = {pair: float(np.median(np.abs(response[pair]))) for pair in every if response.unit(*pair) == unit}
    least = _LEAST * max(size.values(), default=0.0)
    largest = sorted(size, key=lambda pair: -size[pair])[: style.MOST_CURVES]
    chosen = [pair for pair in size if pair in largest and size[pair] >= least]
    return chosen, len(every) - len(chosen)


def _alike(curves: Mapping[Pair, np.ndarray], response: FrequencyResponse) -> dict[Pair, list[Pair]]:
    """All responses that each drawn curve stands for."""
    out: dict[Pair, list[Pair]] = {}
    for pair, h in curves.items():
        same = (
            one
            for one in out
            if response.unit(*one) == response.unit(*pair) and np.all(np.abs(curves[one] - h) <= _ALIKE * np.abs(h))
        )
        out.setdefault(next(same, pair), []).append(pair)
    return out


def _pairs(response: FrequencyResponse, pairs: Any) -> list[tuple[str, str]]:
    """The requested pairs, each once; ModelError with the possible ones if they are not pairs."""
    there_are = ", ".join(f"({o!r}, {i!r})" for o, i in response.pairs()[: style.MOST_CURVES]) or "none"
    expected = f"pairs of (output, input) names, such as {there_are}"
    found = items(response.name, "pairs", pairs, object, expected)
    if len(found) == 2 and all(isinstance(x, str) for x in found):
        found = [found]
    for pair in found:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ModelError(f"{response.name}: pairs contain {shown(pair)}; expected {expected}")
        response.unit(*pair)  # refuses unknown names
    return list(dict.fromkeys((str(o), str(i)) for o, i in found))


def continuous_phase(f: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Phase (rad) over ascending f without jumps of whole turns; the first is from -pi to pi, and -pi if both fit.

    Between two samples an undamped or hardly damped response may change by half a turn in either direction: the phase rises at a
    zero and falls at a pole.  A rational function through the samples around shows how many of each are between the two.
    """
    if not len(h):
        return np.zeros(0)
    angle = np.angle(h)
    if angle[0] > np.pi - _ROUNDING:
        angle[0] -= 2 * np.pi
    step = np.diff(angle)
    step -= 2 * np.pi * np.round(step / (2 * np.pi))
    for k in np.flatnonzero(np.abs(step) > _EITHER * np.pi):
        step[k] += 2 * np.pi * np.round((np.pi * _zeros_less_poles(f, h, k) - step[k]) / (2 * np.pi))
    return angle[0] + np.concatenate([[0.0], np.cumsum(step)])


def _zeros_less_poles(f: np.ndarray, h: np.ndarray, k: int) -> int:
    """How many more zeros than poles a response has between samples k and k + 1, at a phase step of half a turn; -1 if unclear.

    The zeros and poles are those of a rational interpolation in barycentric form: Y. Nakatsukasa, O. Sete, L. N. Trefethen, SIAM
    J. Sci. Comput. 40 (2018) A1494.  A pole made by rounding has a zero next to it, so the two cancel.
    """
    first = max(min(k + 1 - _AROUND, len(f) - 2 * _AROUND), 0)
    on = first + np.unique(f[first : first + 2 * _AROUND], return_index=True)[1]
    on = on[np.isfinite(h[on])]
    middle, reach = 0.5 * (f[k] + f[k + 1]), np.ptp(f[on])
    x, half = (f[on] - middle) / reach, 0.5 * (f[k + 1] - f[k]) / reach
    at, through, others = x[::2], h[on][::2], h[on][1::2]
    loewner = (others[:, None] - through) / (x[1::2, None] - at) / np.abs(others)[:, None]
    size = np.linalg.norm(loewner, axis=0)
    size[size == 0.0] = 1.0
    weights = np.linalg.svd(loewner / size)[2][-1] / size
    more = _roots_within(at, weights * through, half) - _roots_within(at, weights, half)
    return more if more % 2 else -1


def _roots_within(at: np.ndarray, weights: np.ndarray, half: float) -> int:
    """Number of roots of ``sum_j weights_j/(x - at_j)`` with real part from -half to half and no larger imaginary part."""
    import scipy.linalg as sl  # imported here, since figures without sign changes do not need it

    a = np.block([[np.zeros((1, 1)), weights / np.abs(weights).max()], [np.ones((len(at), 1)), np.diag(at)]])
    roots = sl.eigvals(a, np.diag([0.0] + [1.0] * len(at)))
    roots = roots[np.isfinite(roots)]
    return int(np.count_nonzero((np.abs(roots.imag) < half) & (np.abs(roots.real) < half)))


def phase_axis(axes: Axes) -> None:
    """Ticks at quarter, half or whole turns, the finest that are still few."""
    from matplotlib.ticker import MultipleLocator

    drawn = [line.get_ydata() for line in axes.lines]
    everything = np.concatenate([d[np.isfinite(d)] for d in drawn] or [np.zeros(1)])
    low, high = (float(everything.min()), float(everything.max())) if len(everything) else (0.0, 0.0)
    low, high = 90.0 * np.floor(low / 90 + 1e-6), 90.0 * np.ceil(high / 90 - 1e-6)
    if high - low < 180.0:
        low, high = min(low, -90.0), max(high, 90.0) if high > -90.0 else high + 90.0
    step = next((s for s in (45, 90, 180, 360, 720) if (high - low) / s <= 5), 1440)
    axes.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    axes.yaxis.set_major_locator(MultipleLocator(step))
    axes.yaxis.set_minor_locator(MultipleLocator(step / 2))
    style.plain_numbers(axes.yaxis)
    axes.set_ylabel("phase (deg)")
