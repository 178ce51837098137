"""Saving and loading: systems and working points as JSON text, without loss; :mod:`mse.model.files` has the systems."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import ModelError
from ..model.assembly import Assembly
from ..model.configuration import State
from ..model.files import POSE, SystemReader, pack_pose, pack_system, placed, system_shape
from ..model.joint_assembly import OPEN
from ..model.system import MSystem
from ..model.topology import Topology
from ..pose import ORTHONORMAL_TOLERANCE
from ..validation import json_shapes as js
from ..validation.arguments import whole
from ..validation.file_access import file_path, write_whole
from .equilibrium import imbalance
from .history import Iteration, Outcome
from .merit_function import MeritFunction, Point
from .scales import TOO_COARSE
from .working_point import WorkingPoint

_FORMAT = "mse 1"


_STEP = js.row(js.whole, js.number, js.number, js.number, js.text, js.number, js.flag)
_WORKING_POINT = js.entries(
    {
        "o": js.numbers(None, 3),
        "U": js.numbers(None, 3, 3),
        "q": js.numbers(None),
        "memory": js.each(js.numbers(None, None)),
        "scale": js.each(js.positive),
        "size": js.positive,
        "history": js.each(_STEP),
        "converged": js.flag,
        "reason": js.text,
        "load_factor": js.number,
        "seek": js.word("stable", "nearest"),
        "notes": js.each(js.text),
        "relative_residual": js.each(js.not_negative),
    },
    # for readers of the file; poses and forces are recomputed from the state when it is loaded
    {"branch_left": js.optional(js.flag), "start": js.text, "poses": js.named(POSE), "tensions": js.named(js.number)},
)
_FILE = js.entries({"format": js.word(_FORMAT), "system": system_shape()}, {"working_point": _WORKING_POINT})


def save(what: MSystem | WorkingPoint, path: str | Path) -> None:
    """Write a system or a working point as JSON, whole or not at all; FileError if that fails."""
    path = file_path(path)
    content = {"format": _FORMAT, "system": pack_system(what if isinstance(what, MSystem) else what.system)}
    if isinstance(what, WorkingPoint):
        content["working_point"] = _pack_working_point(what)
    js.check_shape(path, content, _FILE, "; nothing was written")
    write_whole(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_model(path: str | Path, *, max_elements: int = 100_000) -> MSystem | WorkingPoint:
    """Read a system or working point written by :meth:`.MSystem.save` or :meth:`.WorkingPoint.save`; no code in it is run.

    Define the classes of your own elements before.

    Parameters
    ----------
    path : path
        The file.
    max_elements : int
        Most elements that the file may have; a beam can have many in one line.

    Returns
    -------
    MSystem or WorkingPoint
        The saved system or working point.

    Raises
    ------
    FileError
        The file is missing, has too many elements, or has a wrong entry; the message names the place.

    Examples
    --------
    >>> import os, tempfile
    >>> stage = mse.MSystem("stage")
    >>> mass = stage.add(mse.RigidBody("mass", mass=2.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=800.0), between=(stage.ground, mass))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "stage.json")
    ...     stage.save(path)
    ...     mse.read_model(path)["mass"].mass
    2.0
    """
    path = file_path(path)
    max_elements = whole("mse.read_model", "max_elements", max_elements, minimum=1)
    others = (
        ", as save() of a system or a working point writes; mse.read_result() reads what save() of an analysis wrote"
    )
    content = js.read_json(path, _FILE, "save()", others)
    system = SystemReader(path, max_elements).system(content["system"], "system")
    if "working_point" not in content:
        return system
    with placed(path, "working_point"):
        return _unpack_working_point(system, content["working_point"])


def _pack_working_point(wp: WorkingPoint) -> dict:
    return {
        "o": wp.state.o.tolist(),
        "U": wp.state.U.tolist(),
        "q": wp.state.q.tolist(),
        "memory": [m.tolist() for m in wp.state.memory],
        "scale": wp.scale.tolist(),
        "size": wp.size,
        "history": [list(step) for step in wp.history],
        "converged": wp.converged,
        "reason": wp.reason,
        "load_factor": wp.load_factor,
        "seek": wp.seek,
        "notes": list(wp.notes),
        "branch_left": wp.branch_left,
        "start": wp.start,
        "relative_residual": wp.relative_residual.tolist(),
        # for readers of the file; poses and forces are recomputed from the state when it is loaded
        "poses": {name: pack_pose(p) for name, p in wp.poses.items()},
        "tensions": dict(wp.tensions),
    }


def _unpack_working_point(system: MSystem, data: dict) -> WorkingPoint:
    topology = Topology(system)
    assembly = Assembly(topology, topology.unit)
    _check_lengths(data, topology, assembly)
    state = State(*(np.array(data[key], dtype=float) for key in ("o", "U", "q")), ())
    _refuse_skewed(state, topology)
    state = state._replace(memory=_memory(data["memory"], assembly, topology.frame_poses(state.o, state.U)))
    with np.errstate(all="ignore"):  # huge poses give infinite numbers
        merit = MeritFunction.of(topology, assembly, state).under(float(data["load_factor"]))
        measure = replace(merit.measure, size=float(data["size"]))
        merit = replace(merit, scale=np.array(data["scale"], dtype=float), begin=merit.begin.measured(measure))
        point = merit.evaluate(state, 2)
        _refuse_unbalanced(merit, point, data["converged"])
    history = tuple(Iteration(*step) for step in data["history"])
    left, start = data.get("branch_left", False), data.get("start", "")
    outcome = Outcome(data["converged"], data["reason"], history, tuple(data["notes"]), left, start)
    found = WorkingPoint._at(
        merit, point, merit.permitted(point), outcome, load_factor=merit.load_factor, seek=data["seek"]
    )
    # as in the search, relative to the loads of the poses where it began
    return replace(found, relative_residual=np.array(data["relative_residual"], dtype=float))


def _memory(given: list, assembly: Assembly, frames: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The memories (E, m) of all groups; initial ones if the file's version kept none."""
    return tuple(
        np.array(m, dtype=float) if any(m) else g.initial_memory(*frames)
        for m, g in zip(given, assembly.groups, strict=True)
    )


def _check_lengths(data: dict, topology: Topology, assembly: Assembly) -> None:
    """Refuse a state whose numbers of bodies or coordinates are not the system's."""
    expected = {
        "o": topology.units, "U": topology.units, "q": topology.internal, "scale": topology.size,
        "relative_residual": topology.size, "memory": len(assembly.groups),
    }  # fmt: skip
    for key, count in expected.items():
        if len(data[key]) != count:
            raise ModelError(f"{key} has {len(data[key])} entries; expected {count}, as the system of this file has")
    for k, (m, g) in enumerate(zip(data["memory"], assembly.groups, strict=True)):
        size = g.elements[0].obj.memory_size
        if len(m) != len(g.members) or not ({len(one) for one in m} <= {size} or not any(m)):
            raise ModelError(f"memory[{k}] has another shape; expected {(len(g.members), size)}, as its elements keep")


def _refuse_skewed(state: State, topology: Topology) -> None:
    gram = np.swapaxes(state.U, -1, -2) @ state.U
    off = np.abs(gram - np.eye(3)).max(axis=(1, 2), initial=0.0)
    for k in np.flatnonzero(~((off < ORTHONORMAL_TOLERANCE) & (np.linalg.det(state.U) > 0.0))):
        raise ModelError(
            f"U[{k}] of {topology.unit_names[k]} differs from a rotation matrix by {off[k]:.3g}; expected one"
        )


def _refuse_unbalanced(merit: MeritFunction, point: Point, converged: bool) -> None:
    """Refuse a state without finite forces, and a working point that is no equilibrium of this system."""
    finite = (np.isfinite(values).all() for values in (point.energy, point.gradient, point.stiffness.data))
    if not all(finite):
        raise ModelError("forces or stiffness in this state are not finite; expected a state that the system can be in")
    if not converged or not len(point.gradient):
        return
    apart = np.abs(point.apart).max(initial=0.0)
    left = imbalance(merit, point)
    if apart > OPEN * merit.outermost or left > TOO_COARSE:
        raise ModelError(
            f"the system does not rest in this state: {left:.3g} of the loads are unbalanced, joints are {apart:.3g} m apart; "
            f"expected at most {TOO_COARSE:g} and {OPEN * merit.outermost:.3g} m; was something changed after it was saved? load "
            "the system alone and find its working point again"
        )
