"""Pictures of what is known about large motions: eigenvalues, growth over a rate, multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...dynamics.steady_motion import SteadyMotion, SteadyTrace
from ...dynamics.transition import TransitionMatrix
from ...results import drawing
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@drawing.register(SteadyMotion)
def eigenvalues(motion: SteadyMotion) -> Figure:
    """Eigenvalues s of the small motions about a steady one: those right of the line grow."""
    s = motion.linearize().modes(damped=True).eigenvalues
    figure = style.empty(None, 5.5, 5.0)
    axes = figure.subplots()
    axes.axvline(0.0, color=style.GRAY, linewidth=1)
    _points(axes, s, "growth (1/s)", "frequency (rad/s)")
    style.title(figure, f"{motion.name}: small motions, {'stable' if motion.stable else 'UNSTABLE'}")
    return figure


@drawing.register(SteadyTrace)
def growth(trace: SteadyTrace) -> Figure:
    """Growth of the motion that grows fastest over the rate; lines where stability changes."""
    figure = style.empty(None, 7.5, 4.5)
    axes = figure.subplots()
    axes.plot(trace.rates, trace.growth, color=style.BLUE, marker=".")
    for k, at in enumerate(trace.limits):
        label = "stability changes" if k == 0 else None
        axes.axvline(at, color=style.GRAY, linestyle="--", linewidth=1, label=label)
    axes.set_xlabel(trace.rate)
    axes.set_ylabel("growth (1/s)")
    style.grid(axes)
    if trace.limits:
        style.legend(axes, beside=False)
    style.title(figure, f"{trace.name}: steady motions")
    return figure


@drawing.register(TransitionMatrix)
def multipliers(transition: TransitionMatrix) -> Figure:
    """Multipliers in the complex plane: changes outside the unit circle are larger at the end than at the start."""
    figure = style.empty(None, 5.5, 5.0)
    axes = figure.subplots()
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color=style.GRAY, linewidth=1)
    _points(axes, transition.multipliers, "real part", "imaginary part")
    axes.set_aspect("equal", adjustable="datalim")
    style.title(figure, f"{transition.name}: multipliers from {transition.start:g} to {transition.end:g} s")
    return figure


def _points(axes: Axes, z: np.ndarray, across: str, up: str) -> None:
    axes.plot(z.real, z.imag, "o", color=style.BLUE)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    style.grid(axes)
