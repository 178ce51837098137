"""Internal forces of a beam."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...elements.beam_loads import BeamLoads
from ...results import drawing
from . import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@drawing.register(BeamLoads)
def beam_loads(loads: BeamLoads) -> Figure:
    """Forces, moments and the largest and smallest normal stress along a beam."""
    figure = style.empty(None, 8.0, 7.0)
    panels = figure.subplots(3, 1, sharex=True)
    for axes, first, names, what, unit in ((panels[0], 0, ("N", "Vy", "Vz"), "force", "N"),
                                           (panels[1], 3, ("T", "My", "Mz"), "moment", "N m")):  # fmt: skip
        own = loads.forces[:, first : first + 3].T
        for k, (name, values) in enumerate(zip(names, own, strict=True)):
            axes.plot(loads.s, values, label=name, **style.dashed(k))
        style.in_units(axes.yaxis, what, unit, own)
    s, *both = loads.along
    stresses = dict(zip(("largest", "smallest"), both, strict=True))
    if np.isnan(loads.stress).all():
        panels[2].text(
            0.5, 0.5, "the extent of the section is not given", transform=panels[2].transAxes, ha="center", va="center"
        )
    else:
        for k, (name, values) in enumerate(stresses.items()):
            panels[2].plot(s, values, label=name, **style.dashed(k))
        value, place = loads.largest
        if value > 0.0:
            panels[2].axvline(place, linestyle=":", color=style.GRAY, linewidth=1.2)
            factor, unit = style.prefixed("Pa", value)
            panels[2].set_title(
                f"largest {value / factor:.4g} {unit} at s = {place:.4g} m", fontsize="small", loc="right"
            )
    style.in_units(panels[2].yaxis, "normal stress", "Pa", stresses.values())
    style.in_units(panels[2].xaxis, "s", "m", [loads.s])
    for axes in panels:
        style.grid(axes)
        style.legend(axes, beside=True)
    style.title(figure, f"{loads.name}: internal forces")
    return figure
