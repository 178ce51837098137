"""Motions of the picture for the viewer: modes, free and unstable motions, runs, traces, other poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...analysis.modes.result import Mode, Modes
from ...analysis.time.response import TimeResponse
from ...dynamics.trajectory import Trajectory
from ...errors import ModelError
from ...kernels.rotations import rotation_vector
from ...model.initial_poses import initial_poses
from ...statics.continuation import Trace
from ...statics.working_point import WorkingPoint
from ...validation.arguments import instance, items
from ..scene import Scene
from .packing import packed, share_of, shares
from .replay import replayed

_MOST_MODES, _MOST_MOTIONS = 60, 40
MOST_SAMPLES, _MOST_PLACES = 2000, 200  # of a run and of a trace: more than a slider has steps
_LOST = 2e-5  # relative to the largest displacement of a run; 16-bit numbers lose as much


def mode_list(scene: Scene, modes: Any) -> tuple[list[Mode], str]:
    """The modes to show, and a sentence on those left out, if any; ModelError if ``modes`` contains anything else."""
    if modes is None:
        return [], ""
    given = modes if isinstance(modes, Modes) else [modes] if isinstance(modes, Mode) else None
    if given is None:
        given = list(items(scene.name, "modes", modes, Mode, "modes, such as linear.modes() or [modes[0], modes[3]]"))
    if len(given) <= _MOST_MODES:
        return list(given), ""
    first, last = given[0].number, given[_MOST_MODES - 1].number
    following = f"modes=modes[{_MOST_MODES}:{min(2 * _MOST_MODES, len(given))}]"
    return list(given[:_MOST_MODES]), (
        f"modes {first} to {last} of {len(given)} modes given; {following} in Python makes a page of the following ones"
    )


def of_modes(scene: Scene, modes: Sequence[Mode]) -> list[dict]:
    """Motions of modes, each with its entry in the list."""
    out = []
    for mode in modes:
        twists = scene.twists(scene.coordinates(mode), omega2=abs(mode.eigenvalue) ** 2)
        told = {
            "kind": "mode",
            "name": f"Mode {mode.number}",
            "hz": float(mode.frequency_hz),
            "damping": float(mode.damping_ratio),
            "damped": mode.damped,
            "quality": float(mode.quality) if mode.lossy and np.isfinite(mode.quality) else None,
            "movers": mode.participants(),
            "energy": mode.strained(),
            "wave": _wave(mode),
        }
        out.append(told | _motion(scene, twists))
    return out


def _wave(mode: Mode) -> str:
    if mode.free:
        return "free"
    if mode.unstable:
        return "grows" if abs(mode.eigenvalue.imag) < 1e-9 * abs(mode.eigenvalue) else "swings"
    return "fades" if mode.damped and abs(mode.eigenvalue.imag) < 1e-9 * abs(mode.eigenvalue) else "swings"


def of_working_point(scene: Scene, wp: WorkingPoint, modes: Sequence[Mode]) -> list[dict]:
    """Free and unstable motions of a working point; free ones are left out if ``modes`` already shows all of them."""
    out = []
    free = () if sum(mode.free for mode in modes) >= len(wp.free) else wp.free
    known = (("free", free, "free"), ("unstable", wp.unstable, "grows")) if wp.judged else ()
    for kind, motions, wave in known:
        for motion in motions[:_MOST_MOTIONS]:
            swings = np.iscomplexobj(motion.values)
            told = {"kind": kind, "name": motion.name, "movers": motion.name, "wave": "swings" if swings else wave}
            out.append(told | _motion(scene, scene.twists(scene.coordinates(motion))))
    return out


def _motion(scene: Scene, twists: np.ndarray) -> dict:
    """One motion whose largest displacement is 1 at a quarter period, and a sensible amplitude to start with.

    The viewer shows ``amplitude (sin(p) re + cos(p) im)``, p the phase.
    """
    twists = _in_phase(scene, twists)
    reach, turn = scene.largest(twists)
    # a pure rotation has no displacement, so it is measured by its angle
    size = reach if reach > 1e-6 * turn * scene.size else turn
    size = size if size > 0.0 else 1.0
    out = {
        "unit": "m" if size is reach or not turn else "rad",
        "start": scene.amplitude(twists) * size,
        "reach": reach,
        "re": shares(np.real(twists) / size),
    }
    if np.iscomplexobj(twists) and np.abs(np.imag(twists)).max(initial=0.0) > 1e-6 * np.abs(twists).max(initial=0.0):
        out["im"] = shares(np.imag(twists) / size)
    return out


def _in_phase(scene: Scene, twists: np.ndarray) -> np.ndarray:
    """A complex motion rotated in phase, so that its real part shows the point that moves most at its farthest."""
    if not np.iscomplexobj(twists):
        return twists
    moved = scene.displacements(*scene.drawn, twists)
    square = np.einsum("ij,ij->i", moved, moved)
    size = np.einsum("ij,ij->i", moved, moved.conj()).real + np.abs(square)
    farthest = int(np.argmax(size))
    if not size[farthest] > 0.0:
        return twists
    return twists * np.exp(-0.5j * np.angle(square[farthest]))


# -- other poses --------------------------------------------------------------------------------------------------
def apart(scene: Scene, other: Scene) -> np.ndarray:
    """Displacement and rotation vector (c, 6) of every carrier in another scene of the same objects."""
    turns = np.matmul(other.U, scene.U.transpose(0, 2, 1))
    return np.hstack([other.o - scene.o, np.array([rotation_vector(np.ascontiguousarray(u)) for u in turns])])


def initial(scene: Scene) -> dict:
    """The poses where the search began."""
    return shares(apart(scene, Scene.at(scene.topology, *initial_poses(scene.topology))))


def beside(scene: Scene, wp: WorkingPoint, other: Any) -> dict:
    """A second working point of the same objects; ModelError for another kind of result, or other objects."""
    instance(wp.name, "compare", other, WorkingPoint, "a second working point of this system")
    there = Scene.of(other)
    if len(there.o) != len(scene.o) or not other._topology.same_frames(wp._topology):
        raise ModelError(
            f"{wp.name}: compare is a working point of {other.name!r} with other objects or other elements of beams; expected "
            "one of the same system with other parameters, such as working_point.update({...})"
        )
    return shares(apart(scene, there))


def of_trace(scene: Scene, wp: WorkingPoint, trace: Any) -> dict:
    """The equilibria of a trace, as poses relative to the working point's."""
    instance(wp.name, "trace", trace, Trace, "a trace of this system")
    first = Scene.of(trace.working_points[0])
    if len(first.o) != len(scene.o) or not trace.working_points[0]._topology.same_frames(wp._topology):
        raise ModelError(f"{wp.name}: trace is one of {trace.name!r} with other objects; expected one of this system")
    count = len(trace.values)
    chosen = np.unique(np.rint(np.linspace(0, count - 1, min(count, _MOST_PLACES))).astype(int))
    poses = np.array([apart(scene, Scene.of(trace.working_points[k])) for k in chosen])
    return {
        "kind": "trace",
        "name": f"Trace of {trace.parameter}",
        "axis": trace.parameter,
        "at": packed(trace.values[chosen], "f4"),
        "stable": [bool(x) for x in trace.stable[chosen]],
        "poses": shares(poses),
        "movers": f"{count} equilibria",
        "events": [[e.kind, float(e.value)] for e in trace.events],
    }


def of_trajectory(motion: Trajectory, times: np.ndarray, scenes: Sequence[Scene]) -> dict:
    """A large motion, as poses relative to the first scene."""
    shown = f", {len(times)} of them here" if len(times) < len(motion.time) else ""
    return {
        "kind": "run",
        "name": f"Motion of {motion.time[-1] - motion.time[0]:g} s",
        "axis": "time",
        "at": packed(times, "f4"),
        "poses": shares(np.array([apart(scenes[0], scene) for scene in scenes])),
        "movers": f"{len(motion.time)} samples{shown}",
    }


# -- runs ---------------------------------------------------------------------------------------------------------
def of_history(scene: Scene, wp: WorkingPoint, history: Any) -> dict:
    """A run in time, as a sum of few motions of all carriers, each times its course."""
    instance(wp.name, "history", history, TimeResponse, "a run of this system, such as linear.simulate(...)")
    time, twists = replayed(scene, wp, history, MOST_SAMPLES)
    flat = twists.reshape(len(time), -1)
    weight = np.where(np.arange(flat.shape[1]) % 6 < 3, 1.0, 0.1 * scene.size)
    u, s, v = np.linalg.svd(flat * weight, full_matrices=False)
    rank = max(1, int(np.count_nonzero(s > _LOST * s[0]))) if len(s) and s[0] > 0.0 else 1
    motions = (v[:rank] / weight).reshape(rank, -1, 6)
    farthest = int(np.argmax(np.abs(flat * weight).max(axis=1)))
    return {
        "kind": "run",
        "name": f"Run of {history.time[-1] - history.time[0]:g} s",
        "axis": "time",
        "at": packed(time, "f4"),
        "courses": [share_of(u[:, k] * s[k]) for k in range(rank)],
        "motions": [shares(m) for m in motions],
        "factor": scene.amplitude(twists[farthest]) if s[0] > 0.0 else 1.0,
        "movers": f"{len(history.time)} samples"
        + (f", {len(time)} of them here" if len(time) < len(history.time) else ""),
    }
