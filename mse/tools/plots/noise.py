"""Noise budgets: the total on top, the largest sources below it, requirements and the RMS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.noise.budget import NoiseBudget
from ...analysis.noise.spectra import Given, Spectrum, density, spectrum
from ...display import amounts
from ...results import drawing
from ...validation.arguments import mapping
from . import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

_QUIET = 1e-4  # relative to the total: a source below it at all frequencies is left out, as designers expect
_MOST = style.MOST_CURVES - 1  # sources drawn by name; the last color is for the total


@drawing.register(NoiseBudget)
def noise_budget(
    budget: NoiseBudget,
    *,
    by: str = "object",
    requirements: Mapping[str, Given] | None = None,
    rms: bool = True,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Amplitude spectral densities over frequency, summed by "object", "mechanism" or "kind", the loudest first.

    The total is the thick black curve.  The six loudest sources have colors of their own, the rest is one gray curve; a source
    below 1e-4 of the total everywhere is left out.  ``requirements`` are amplitude densities by name, given as inputs are
    and drawn where they are known.  ``rms`` adds the RMS from each frequency up, dashed.  ``figure`` is an empty figure to draw
    into, a new one by default.
    """
    f, total = budget.frequencies_hz, budget.total
    groups = budget.by(by)
    loud = [name for name, own in groups.items() if np.any(own > _QUIET * total)]
    wanted = mapping(budget.name, "requirements", requirements, "amplitude densities by name, such as {'goal': 1e-18}")
    named, others = loud[:_MOST], loud[_MOST:]
    if len(others) == 1:
        others, named = [], loud[: _MOST + 1]
    figure = style.empty(figure, 9.0, 5.5)
    axes = figure.subplots()
    axes.plot(f, total, color=style.BLACK, linewidth=2.6, label="total", zorder=3)
    drawn = [total]
    for k, name in enumerate(named):
        axes.plot(f, groups[name], label=name, **style.dashed(k if k < _MOST else k + 1))
        drawn.append(groups[name])
    if others:
        rest = np.sqrt(sum(groups[name] ** 2 for name in others))
        axes.plot(f, rest, color=style.GRAY, linewidth=1.0, label=amounts(other=len(others)))
        drawn.append(rest)
    unit = budget.unit
    if rms and len(f) > 1:
        axes.plot(f[:-1], budget.cumulative_rms[:-1], "--", color=style.GRAY, label=f"RMS from here up ({unit})")
        drawn.append(budget.cumulative_rms[:-1])
    for name, given in wanted.items():
        who = f"{budget.name}: requirement {name}"
        known = _known(given := spectrum(who, given), f)
        most = density(who, given, known, unit)
        axes.plot(known, most, ":", color=style.BLACK, linewidth=2.0, label=name)
        drawn.append(most)
    _limits(axes, drawn, total)
    style.frequency_axis(axes.xaxis, f)
    axes.set_xlim(f[0], f[-1]) if len(f) > 1 else None
    axes.set_ylabel(f"{style.quantity(unit)} ({unit}/$\\sqrt{{\\mathrm{{Hz}}}}$)")
    style.title(figure, f"{budget.name}: noise of {budget.output}")
    style.grid(axes)
    style.legend(axes, beside=True)
    return figure


def _known(given: Any, f: np.ndarray) -> np.ndarray:
    """Frequencies (k,) at which a requirement is drawn: the part of ``f`` that its samples cover, with their ends."""
    first, last = given.band_hz if isinstance(given, Spectrum) else (0.0, np.inf)
    inside = f[(f >= first) & (f <= last)]
    ends = [x for x in (first, last) if f[0] < x < f[-1]]
    known = np.unique([*inside, *ends])
    return known if len(known) else f  # for which the error says where it is known


def _limits(axes, drawn: Sequence[np.ndarray], total: np.ndarray) -> None:
    """A logarithmic axis from a thousandth of the lowest total upwards."""
    positive = total[total > 0.0]
    floor = 1e-3 * float(positive.min()) if len(positive) else 0.0
    style.magnitude_axis(axes, drawn, floor)
