"""By which method a motion goes: explicit steps, or implicit ones where masses are missing or coupled by elements."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..numerics.precision import NOTHING, left_by_rounding
from ..validation.arguments import shown
from .accelerations import Equations
from .explicit import Stepper
from .implicit import ImplicitStepper
from .jacobian import Jacobian

METHODS = {"explicit": "explicit, order 8", "implicit": "implicit, order 5"}


def checked(label: str, method: str | None) -> str | None:
    """The name of a method, None to let mse choose; ModelError for others."""
    if method is None or (isinstance(method, str) and method in METHODS):
        return method
    raise ModelError(f"{label}: method is {shown(method)}; expected 'explicit', 'implicit', or None to let mse choose")


def stepper(equations: Equations, rtol: float, method: str, until: float | None = None) -> Stepper | ImplicitStepper:
    """What makes the steps of a method, explicit ones many at once if a run goes ``until`` a time (s)."""
    equations.implicit = method == "implicit"
    return ImplicitStepper(equations, rtol, until) if equations.implicit else Stepper(equations, rtol, until)


def chosen(equations: Equations, here: Evaluation, v: np.ndarray) -> tuple[str, str]:
    """The method for a motion that begins in a state at velocities v (n,), and why, as a note of the result."""
    body = equations.assembly.body
    for part in equations.parts:
        if part.has_mass:
            for el, frames in zip(part.group.elements, part.group.frames, strict=True):
                if len({body[f] for f in frames} - {0}) > 1:
                    return "implicit", f"steps are implicit, since the inertia of {el.path} couples bodies"
    name = _held_without_mass(equations, here, v)
    if name:
        return "implicit", f"steps are implicit, since {name} has stiffness or damping, but no mass"
    return "explicit", ""


def _held_without_mass(equations: Equations, here: Evaluation, v: np.ndarray) -> str:
    """The coordinate that moves most in a motion without mass on which a stiffness or damping acts; "" without any."""
    j = Jacobian(equations, here, v)
    basis = np.linalg.svd(j.rows)[2][len(j.rows) :].T if len(j.rows) else np.eye(j.size)
    if not basis.shape[1]:
        return ""
    values, vectors = eigh(basis.T @ j.mass @ basis)
    light = basis @ vectors[:, values <= left_by_rounding(len(values)) * values.max(initial=0.0)]
    acting = np.zeros(light.shape[1])
    for matrix in (j.stiffness, j.damping):
        size = np.abs(matrix).max(initial=0.0)
        if size:
            acting = np.maximum(acting, np.abs(light.T @ matrix @ light).max(axis=0, initial=0.0) / size)
    if acting.max(initial=0.0) <= NOTHING:
        return ""
    moves = light[:, int(acting.argmax())] / equations.measure.metric
    return equations.topology.coordinate_names[int(np.abs(moves).argmax())]
