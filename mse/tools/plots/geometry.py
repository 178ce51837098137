"""Systems in three dimensions: at a working point, at their initial poses, displaced along a mode or a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...analysis.modes.result import Mode, Modes
from ...errors import ModelError
from ...model.initial_poses import initial_poses as start
from ...model.system import MSystem
from ...model.topology import Topology
from ...results import drawing
from ...statics.critical_load import Instability
from ...statics.stability import Motion
from ...statics.working_point import WorkingPoint
from ...validation.arguments import instance, whole
from ..scene import Scene
from . import style
from .sketch import Sketch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Displacement(NamedTuple):
    """A motion of a scene, scaled so that it can be seen.

    ``twists`` (c, 6) are the carriers' twists, complex if phases differ, with the largest displacements at phase 0; ``name``
    says what moves and by how much it is drawn; ``steady`` is True if it grows or drifts instead of swinging.
    """

    twists: np.ndarray
    name: str
    steady: bool

    @classmethod
    def of(cls, scene: Scene, motion: Motion | Mode) -> Displacement:
        """A mode or motion of the scene's system; ModelError if it belongs to another system."""
        mode = motion if isinstance(motion, Mode) else None
        omega = abs(mode.eigenvalue.imag) if mode else 0.0
        twists = scene.twists(scene.coordinates(motion), omega2=omega**2)
        twists = twists * scene.amplitude(twists)
        # the common phase is arbitrary: take the one with the largest motion
        square = np.sum(scene.displacements(scene.frame_o, scene.frame_carrier, twists) ** 2) + np.sum(twists**2)
        twists = twists * np.exp(-0.5j * np.angle(square)) if np.iscomplexobj(twists) else twists
        reach, turn = scene.largest(twists)
        moves = reach > 1e-6 * scene.size
        factor, unit = style.prefixed("m" if moves else "rad", reach if moves else turn)
        drawn = f"{style.number(float(f'{(reach if moves else turn) / factor:.2g}'))} {unit}"
        if mode is None:
            what = f"motion {motion.name}"
        else:
            kind = "free" if mode.free else "growing" if mode.unstable else f"{mode.frequency_hz:.4g} Hz"
            what = f"mode {mode.number}, {kind}"
        steady = mode is None or mode.free or bool(mode.unstable and mode.eigenvalue.imag == 0)
        return cls(twists, f"{what}; largest {'displacement' if moves else 'rotation'} drawn: {drawn}", steady)


def chosen_motion(
    wp: WorkingPoint, modes: Modes | Mode | None, number: int | None, motion: Motion | None
) -> Motion | Mode | None:
    """The mode or motion that is asked for, if any; ModelError if the request is ambiguous."""
    if motion is not None and modes is not None:
        raise ModelError(f"{wp.name}: both modes and a motion are given; expected one of them")
    if number is not None and not isinstance(modes, Modes):
        raise ModelError(f"{wp.name}: number is given without modes; expected plot(modes=modes, number={number!r})")
    if motion is not None:
        return instance(wp.name, "motion", motion, Motion, "one of its free or unstable motions, such as wp.free[0]")
    if modes is None or isinstance(modes, Mode):
        return modes
    instance(wp.name, "modes", modes, Modes, "its modes, as working_point.linearize().modes() gives them")
    if not len(modes):
        raise ModelError(f"{wp.name}: its model has no modes; expected some to draw")
    return modes[whole(wp.name, "number", 0 if number is None else number, maximum=len(modes) - 1)]


@drawing.register(WorkingPoint)
def working_point(
    wp: WorkingPoint,
    *,
    modes: Modes | Mode | None = None,
    number: int | None = None,
    motion: Motion | None = None,
    frames: bool | None = None,
    names: bool = True,
    ax: Axes | None = None,
) -> Figure:
    """The system at its working point in 3-D; with ``modes`` mode ``number`` (0 by default) in front of it in gray.

    ``motion`` draws one of ``wp.free`` or ``wp.unstable`` instead. The title says how far the drawing displaces.  ``frames``
    draws triads of the frames, by default in small systems; ``names`` names the bodies; ``ax`` is a 3-D axes to draw into, a
    new figure by default.
    """
    return _working_point(wp, wp.name, chosen_motion(wp, modes, number, motion), frames, names, ax)


def _working_point(
    wp: WorkingPoint, title: str, motion: Motion | Mode | None, frames: bool | None, names: bool, ax: Axes | None
) -> Figure:
    scene = Scene.of(wp)
    title += "" if wp.converged else " (not in equilibrium)"
    if motion is None:
        return Sketch(scene, ax, wp._topology.gravity).drawn(title, frames=frames, names=names)
    displaced = Displacement.of(scene, motion)
    sketch = Sketch(scene.moved(displaced.twists.real), ax, wp._topology.gravity, behind=scene)
    return sketch.drawn(f"{title}\n{displaced.name}", frames=frames, names=names)


@drawing.register(Instability)
def last_stable(
    instability: Instability, *, frames: bool | None = None, names: bool = True, ax: Axes | None = None
) -> Figure:
    """The last working point known to be stable in gray, displaced along the motion that gives way.

    The options are as for working points.
    """
    wp = instability.working_point
    what = (
        f"{instability.kind} at {instability.load_factor:.4g}"
        if instability.found
        else f"stable up to {wp.load_factor:.4g}"
    )
    return _working_point(wp, f"{instability.name}: {what} times its loads", instability.motion, frames, names, ax)


@drawing.register(MSystem)
def initial_poses(system: MSystem, *, frames: bool | None = None, names: bool = True, ax: Axes | None = None) -> Figure:
    """The system as its user placed it in 3-D; the options are as for working points."""
    topology = Topology(system)
    scene = Scene.at(topology, *start(topology))
    return Sketch(scene, ax, topology.gravity).drawn(f"{system.name}: initial poses", frames=frames, names=names)
