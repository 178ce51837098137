"""Pictures of results with matplotlib (extra ``plot``), which ``result.plot()`` calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..analysis.frequency.response import FrequencyResponse
from ..analysis.modes.mode import Modes
from ..analysis.time.response import TimeResponse
from ..analysis.time.state_space import StateSpace
from ..elements.beam_loads import BeamLoads
from ..errors import ModelError, UnknownNameError, nearest_name
from ..linear.linear_model import LinearModel
from ..model.initial_poses import initial_poses as start
from ..model.system import MSystem
from ..model.topology import Topology
from ..pose import Pose
from ..statics.continuation import Trace
from ..statics.critical_load import Instability
from ..statics.stability import Motion
from ..statics.working_point import WorkingPoint
from ..validation.arguments import instance, items, refusal, shown, whole
from ..validation.arguments import names as name_list
from .figures import new_figure
from .sketch import sketch

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

_MOST_CURVES = 8
_QUANTITY = {"m": "displacement", "rad": "rotation", "N": "force", "N m": "torque"}
_ROUNDING = 1e-12  # share of the numbers compared with, below which numbers are rounding


def draw(result: Any, **options) -> Figure:
    """Draw a result and return the figure; the options are those of the function for its type below."""
    function = drawing.dispatch(type(result))
    known = _options(function)
    for name in options:
        if name not in known and function is not drawing:
            raise UnknownNameError(
                f"plot of a {type(result).__name__}: no option {name!r}{nearest_name(name, known)}; it has "
                f"{', '.join(known) or 'none'}"
            )
    return function(result, **options)


def _options(function: Callable) -> list[str]:
    """Keywords of a drawing function, and those of a sketch where it hands them on."""

    parameters = list(inspect.signature(function).parameters.values())
    own = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        own += [p.name for p in inspect.signature(sketch).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return own


@singledispatch
def drawing(result: Any, **options) -> Figure:
    """The function that draws results of a type."""
    raise ModelError(f"plots: cannot draw a {type(result).__name__}; expected a system or a result of one")


def _count_hidden(what: str, left_out: int) -> str:
    return f"  ({left_out} more {what} not shown)" if left_out > 0 else ""


# -- frequency ----------------------------------------------------------------------------------------------------
@drawing.register(FrequencyResponse)
def bode(
    response: FrequencyResponse,
    *,
    pairs: Sequence[tuple[str, str]] | tuple[str, str] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Magnitude and phase over frequency of ``pairs`` of (output, input), by default the first that are not zero.

    ``figure`` is an empty figure or subfigure to draw into, a new one by default.
    """
    chosen = response.pairs() if pairs is None else _pairs(response, pairs)
    left_out = max(0, len(chosen) - _MOST_CURVES) if pairs is None else 0
    chosen = chosen[: len(chosen) - left_out]
    figure = new_figure(8.0, 6.0) if figure is None else figure
    magnitude, phase = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    shown = response.frequencies_hz > 0
    f = response.frequencies_hz[shown]
    order = np.argsort(f)
    units = list(dict.fromkeys(response.unit(*pair) for pair in chosen))
    for output, input_ in chosen:
        h = response[output, input_][shown][order]
        unit = f" ({response.unit(output, input_)})" if len(units) > 1 else ""
        (line,) = magnitude.loglog(f[order], np.abs(h), label=f"{output} / {input_}{unit}")
        phase.semilogx(f[order], np.angle(h, deg=True), color=line.get_color())
    magnitude.set_ylabel(f"magnitude ({units[0]})" if len(units) == 1 else "magnitude")
    phase.set_ylabel("phase (deg)")
    phase.set_xlabel("frequency (Hz)")
    phase.set_yticks(np.arange(-180, 181, 90))
    phase.set_ylim(-190, 190)
    for axes in (magnitude, phase):
        axes.grid(True, which="major", alpha=0.4)
    if len(chosen) > _MOST_CURVES // 2:
        magnitude.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    elif chosen:
        magnitude.legend(fontsize="small")
    magnitude.set_title(f"{response.name}: frequency response{_count_hidden('responses', left_out)}")
    return figure


def _pairs(response: FrequencyResponse, pairs: Any) -> list[tuple[str, str]]:
    """The pairs wanted; ModelError with the possible ones where they are none."""
    there_are = ", ".join(f"({o!r}, {i!r})" for o, i in response.pairs()[:_MOST_CURVES]) or "none"
    expected = f"pairs of (output, input) names, such as {there_are}"
    found = items(response.name, "pairs", pairs, object, expected)
    if len(found) == 2 and all(isinstance(x, str) for x in found):
        found = [found]
    for pair in found:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ModelError(f"{response.name}: pairs hold {shown(pair)}; expected {expected}")
        response.unit(*pair)  # refuses names that it does not have
    return [(str(o), str(i)) for o, i in found]


# -- time ---------------------------------------------------------------------------------------------------------
@drawing.register(TimeResponse)
def histories(history: TimeResponse, *, names: Sequence[str] | str | None = None) -> Figure:
    """Outputs (and inputs) over time, a panel for each unit; by default all that are not zero throughout."""
    chosen = _moving(history) if names is None else list(name_list(history.name, "names", names))
    left_out = max(0, len(chosen) - 2 * _MOST_CURVES) if names is None else 0
    chosen = chosen[: len(chosen) - left_out]
    units = list(dict.fromkeys(history.unit(n) for n in chosen)) or [""]
    figure = new_figure(8.0, 1.5 + 2.5 * len(units))
    panels = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for axes, unit in zip(panels, units, strict=True):
        for name in chosen:
            if history.unit(name) == unit:
                style = {"linestyle": "--", "linewidth": 1.0} if name in history.inputs else {}
                axes.plot(history.time, history[name], label=name, **style)
        axes.set_ylabel(f"{_QUANTITY.get(unit, 'signal')} ({unit})" if unit else "")
        axes.grid(True, alpha=0.4)
        if axes.lines:
            axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    panels[-1].set_xlabel("time (s)")
    panels[0].set_title(f"{history.name}: time response{_count_hidden('signals', left_out)}")
    return figure


def _moving(history: TimeResponse) -> list[str]:
    """Signals above the rounding of the largest one of their unit."""
    size = {n: np.abs(history[n]).max() for n in (*history.inputs, *history.outputs)}
    largest: dict[str, float] = {}
    for n, s in size.items():
        largest[history.unit(n)] = max(largest.get(history.unit(n), 0.0), s)
    return [n for n, s in size.items() if s > 1e-9 * largest[history.unit(n)]]


# -- modes --------------------------------------------------------------------------------------------------------
@drawing.register(Modes)
def mode_bars(modes: Modes, *, max_modes: int = 40) -> Figure:
    """Frequencies of the first ``max_modes`` modes, and below each the participation of objects (shares of kinetic energy)."""
    count = min(whole(modes.name, "max_modes", max_modes, minimum=1), len(modes))
    figure = new_figure(max(6.0, 2.5 + 0.3 * count), 5.5)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    number = np.arange(count)
    f, unstable = modes.frequencies_hz[:count], modes.unstable[:count]
    zero = f == 0
    floor = 0.3 * f[~zero].min(initial=1.0) if (~zero).any() else 0.1
    top.bar(
        number[~unstable & ~zero], f[~unstable & ~zero] - floor, bottom=floor, color="tab:blue", label="oscillating"
    )
    if unstable.any():
        # an undamped mode that grows does so without oscillating
        label = "unstable" if modes.damped else "unstable: growth rate / 2 pi"
        top.bar(number[unstable], f[unstable] - floor, bottom=floor, color="tab:red", label=label)
    if zero.any():
        top.plot(number[zero], np.full(zero.sum(), 1.15 * floor), "v", color="tab:gray", label="free (0 Hz)")
    top.set_yscale("log")
    top.set_ylim(floor, 2 * max(f.max(initial=0.0), 2 * floor))
    top.set_ylabel("frequency (Hz)")
    if unstable.any() or zero.any():
        top.legend(fontsize="small", loc="upper left")
    top.grid(True, axis="y", alpha=0.4)
    top.set_axisbelow(True)
    top.set_title(
        f"{modes.name}: {'damped' if modes.damped else 'undamped'} modes{_count_hidden('modes', len(modes) - count)}"
    )
    shares = modes.participation
    chosen = sorted(shares, key=lambda n: -shares[n][:count].sum())[: _MOST_CURVES - 1]
    participants = [n for n in shares if n in chosen]
    base = np.zeros(count)
    for name in participants:
        bottom.bar(number, shares[name][:count], bottom=base, label=name)
        base += shares[name][:count]
    if len(shares) > len(participants):
        bottom.bar(number, 1.0 - base, bottom=base, color="lightgray", label="others")
    bottom.set_ylabel("participation")
    bottom.set_xlabel("mode")
    bottom.set_ylim(0, 1)
    bottom.xaxis.get_major_locator().set_params(integer=True)
    if participants:
        bottom.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


# -- matrices and poles -------------------------------------------------------------------------------------------
@drawing.register(LinearModel)
def sparsity(model: LinearModel) -> Figure:
    """Which coordinates the stiffness couples, beyond rounding, with the objects' names where there is room."""
    figure = new_figure(6.5, 6.0)
    axes = figure.subplots()
    k = model.K.tocoo()
    size = np.sqrt(abs(model.K).max(axis=1).toarray().ravel()) if model.size else np.zeros(0)
    real = np.abs(k.data) > _ROUNDING * size[k.row] * size[k.col]
    coupled = sp.coo_matrix((k.data[real], (k.row[real], k.col[real])), shape=k.shape)
    if model.size:  # an empty matrix has no axes
        axes.spy(coupled, markersize=max(0.5, min(6.0, 200 / model.size)))
    runs = [(name, len(list(run))) for name, run in groupby(model.coordinates, lambda c: c.rsplit(".", 1)[0])]
    if len(runs) <= 15:
        names, sizes = [name for name, _ in runs], np.array([size for _, size in runs], dtype=int)
        ends = np.cumsum(sizes)
        ticks = ends - 0.5 * (sizes + 1)
        axes.set_xticks(ticks, names, rotation=60, ha="left", rotation_mode="anchor", fontsize="small")
        axes.set_yticks(ticks, names, fontsize="small")
        axes.tick_params(bottom=False)
        for end in ends[:-1]:
            axes.axhline(end - 0.5, color="lightgray", linewidth=0.8)
            axes.axvline(end - 0.5, color="lightgray", linewidth=0.8)
    axes.set_title(f"{model.name}: stiffness, {model.size} coordinates")
    return figure


@drawing.register(StateSpace)
def poles(ss: StateSpace) -> Figure:
    """Eigenvalues of A in the complex plane; those right of the dashed line grow."""
    figure = new_figure(6.5, 5.0)
    axes = figure.subplots()
    p = ss.poles()
    axes.plot(p.real, p.imag, "x", color="tab:blue")
    axes.axvline(0.0, linestyle="--", color="gray", linewidth=1)
    # real parts that are rounding should look like zero
    left, right = axes.get_xlim()
    floor = 1e-3 * max(np.abs(p).max(initial=0.0), 1e-3)
    axes.set_xlim(min(left, -floor), max(right, floor))
    axes.set_xlabel("real part (1/s)")
    axes.set_ylabel("imaginary part (rad/s)")
    axes.set_title(f"{ss.name}: {len(p)} poles")
    axes.grid(True, alpha=0.4)
    return figure


# -- geometry -----------------------------------------------------------------------------------------------------
@drawing.register(WorkingPoint)
def working_point(wp: WorkingPoint, *, motion: Motion | None = None, **options) -> Figure:
    """The system at its working point in 3-D, and in gray moved along ``motion``, one of ``wp.free`` or ``wp.unstable``.

    Further options are those of :func:`mse.tools.sketch.sketch`.
    """

    if motion is not None:
        instance(wp.name, "motion", motion, Motion, "one of its free or unstable motions, such as wp.free[0]")
    title = wp.name + ("" if wp.converged else " (not in equilibrium)")
    if motion is not None:
        title += f", moved along {motion.name}"
        options["ghost"] = _displaced(wp, motion)
    return sketch(title, wp._topology, *wp.frame_poses, **options)


def _displaced(wp: WorkingPoint, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Poses of all frames after a motion large enough to be seen."""
    x = motion.vector * (0.15 * wp.size / np.abs(motion.vector * wp.scale).max())
    six = x[: 6 * (wp._topology.units - 1)].reshape(-1, 6)
    bodies = [Pose(o, u).moved(*np.split(d, 2)) for o, u, d in zip(wp.state.o[1:], wp.state.U[1:], six, strict=True)]
    o, u = wp.state.o.copy(), wp.state.U.copy()
    for k, pose in enumerate(bodies):
        o[k + 1], u[k + 1] = pose.o, pose.U
    return wp._topology.frame_poses(o, u)


@drawing.register(Trace)
def bifurcation_diagram(trace: Trace, *, coordinate: str | None = None) -> Figure:
    """A coordinate of a frame or joint over the parameter: stable equilibria solid, unstable ones dashed, events marked.

    ``coordinate`` is ``"hinge.angle"`` or ``"mass.center.z"``; by default the one that moves most.
    """
    figure = new_figure(7.0, 5.0)
    axes = figure.subplots()
    name, read = _coordinate(trace, coordinate)
    y = np.array([read(wp) for wp in trace.working_points])
    changes = np.flatnonzero(np.diff(trace.stable.astype(int)))
    for piece in np.split(np.arange(len(y)), changes + 1):
        on = np.append(piece, piece[-1] + 1)[: len(y) - piece[0]]  # on to the next piece, without a gap
        stable = trace.stable[piece[0]]
        axes.plot(
            trace.values[on], y[on], color="tab:blue", linestyle="-" if stable else "--", marker=".", markersize=3
        )
    for event in trace.events:
        axes.plot(event.value, read(event.working_point), "o" if event.kind == "limit point" else "D", color="tab:red")
        axes.annotate(f" {event.kind}", (event.value, read(event.working_point)), fontsize="small")
    axes.set_xlabel(trace.parameter)
    axes.set_ylabel(name)
    axes.set_title(f"{trace.name}: equilibria (dashed: unstable)")
    axes.grid(True, alpha=0.4)
    return figure


def _coordinate(trace: Trace, name: str | None):
    first, last = trace.working_points[0], trace.working_points[-1]
    if name is None:
        reach = {n: max(abs(wp.poses[n].o - p.o).max() for wp in trace.working_points) for n, p in first.poses.items()}
        frame = max(reach, key=reach.get)
        axis = int(np.argmax(np.ptp(trace.origins(frame), axis=0)))
        name = f"{frame}.{'xyz'[axis]}"
    if not isinstance(name, str):
        raise refusal(f"plot of {trace.name}", "coordinate", name, "a name, such as 'hinge.angle' or 'mass.center.z'")
    if name in last.joint_coordinates:
        return name, lambda wp: wp.joint_coordinates[name]
    frame, _, axis = name.rpartition(".")
    if axis not in ("x", "y", "z"):
        raise ModelError(f"plot of {trace.name}: no coordinate {name!r}; expected 'hinge.angle' or 'mass.center.z'")
    return f"{name} (m)", lambda wp: wp.poses[frame].o["xyz".index(axis)]


@drawing.register(Instability)
def last_stable(instability: Instability, **options) -> Figure:
    """The last working point that is known to be stable in 3-D; options of :func:`mse.tools.sketch.sketch`."""

    wp = instability.working_point
    what = (
        f"{instability.kind} at {instability.load_factor:.4g}"
        if instability.found
        else f"stable up to {wp.load_factor:.4g}"
    )
    title = f"{instability.name}: {what} times its loads"
    return sketch(title, wp._topology, *wp.frame_poses, **options)


@drawing.register(BeamLoads)
def beam_loads(loads: BeamLoads) -> Figure:
    """Forces, moments and the largest normal stress along a beam."""
    figure = new_figure(8.0, 7.0)
    panels = figure.subplots(3, 1, sharex=True)
    for axes, first, names, unit in ((panels[0], 0, ("N", "Vy", "Vz"), "force (N)"),
                                     (panels[1], 3, ("T", "My", "Mz"), "moment (N m)")):  # fmt: skip
        for k, name in enumerate(names):
            axes.plot(loads.s, loads.forces[:, first + k], label=name)
        axes.set_ylabel(unit)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if not np.all(np.isnan(loads.stress)):
        panels[2].plot(loads.s, loads.tensile / 1e6, label="largest")
        panels[2].plot(loads.s, loads.compressive / 1e6, label="smallest")
        value, place = loads.largest
        panels[2].axvline(place, linestyle="--", color="gray", linewidth=1)
        panels[2].legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        panels[2].set_title(f"largest {value / 1e6:.4g} MPa at s = {place:.4g} m", fontsize="small", loc="right")
    panels[2].set_ylabel("normal stress (MPa)")
    panels[2].set_xlabel("s (m)")
    for axes in panels:
        axes.grid(True, alpha=0.4)
    panels[0].set_title(f"{loads.name}: internal forces")
    return figure


@drawing.register(MSystem)
def initial_poses(system: MSystem, **options) -> Figure:
    """The system as its user placed it in 3-D; options of :func:`mse.tools.sketch.sketch`."""
    topology = Topology(system)
    poses = topology.frame_poses(*start(topology))
    return sketch(f"{system.name}: initial poses", topology, *poses, **options)
