"""Which law is no finite number where a motion cannot go on: its object, its poses, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import ModelError
from ..model.configuration import Configuration, State
from ..model.flattening import Element
from ..numerics.law_functions import rotation_vector
from .accelerations import Equations
from .inertia import GroupInertia


def refuse_undefined(equations: Equations, state: State, v: np.ndarray, time: float) -> None:
    """Raise an error for the first element one of whose laws is not finite in a state, at velocities v (n,) and a time (s)."""
    e = equations
    here = e.evaluation(state, time)
    at = here.configuration
    for g in e.assembly.groups:
        energy, forces, _ = g.evaluate(at, 1)
        _refuse(g.elements, energy, "energy", at, time)
        _refuse(g.elements, forces, "force, the slope of its energy or its power,", at, time)
        if g.constraint_count:
            residual, slopes, _ = g.constrain(at, np.zeros((len(g.members), g.constraint_count)), 1)
            _refuse(g.elements, residual, "constraint", at, time)
            _refuse(g.elements, slopes, "slope of its constraint", at, time)
    moving = e.frame_velocities(at, v)
    for part in e.parts:
        own = e._own(part.group, v, moving)
        for what, values in _of_velocities(part, at, own):
            _refuse(part.group.elements, values, what, at, time)
    for flow in e.flows:
        _refuse(flow.elements, flow.terms(at, e._own(flow, v, moving)).rows, "flow_constraint", at, time)
    here.refuse_undefined()  # stiffnesses


def ends_of_range(equations: Equations, state: State) -> Iterator[str]:
    """In words: which elements are at the end of where their laws are valid."""
    at = equations.evaluation(state).configuration
    for g in equations.assembly.groups:
        if g.cls.defines("end_of_range"):
            for el, memory in zip(g.elements, at.memory[g.number], strict=True):
                if words := el.obj.end_of_range(at.frames(el.frames), memory):
                    yield words


def _of_velocities(part: GroupInertia, at: Configuration, own: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if part.has_mass:
        mass, force = part.masses(at, own)
        name = "law kinetic" if part.cls.defines("kinetic") else "law mass_matrix"
        yield name, mass
        yield f"force of inertia, from {name},", force
    if part.has_damping:
        damping, power = part.velocity_forces(at, own)
        yield "law dissipation" if part.cls.defines("dissipation") else "law damping_matrix", damping
        yield "law power", power


def _refuse(elements: Sequence[Element], values: np.ndarray, what: str, at: Configuration, time: float) -> None:
    values = np.asarray(values)
    wrong = np.flatnonzero(~np.isfinite(values).reshape(len(elements), -1).all(axis=1))
    if not len(wrong):
        return
    el = elements[wrong[0]]
    frames, q = at.frames(el.frames), at.q[el.coordinates]
    if el.obj.defines("check_frames"):
        el.obj.check_frames(frames)
    own = values[wrong[0]]
    value = f"{own:g}" if own.ndim == 0 else f"{own[~np.isfinite(own)][0]:g}"
    where = [f"frame {name!r} at ({_listed(f.o)}) m, turned by ({_listed(rotation_vector(f.U))}) rad"
             for name, f in zip(el.obj.frame_names, frames, strict=False)]  # fmt: skip
    if len(q):
        where.append(f"{', '.join(el.obj.coordinate_names)} = {_listed(q)}")
    raise ModelError(
        f"{el.obj.label}: its {what} is {value} at t = {time:.6g} s, with {'; '.join(where)}; expected finite numbers at all "
        "poses that a motion reaches; correct its law, or keep the motion away from there"
    )


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{x:.4g}" for x in values)
