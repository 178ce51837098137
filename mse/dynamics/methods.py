"""By which method a motion goes: explicit steps, or implicit ones where masses are missing or coupled by elements."""

from __future__ import annotations

import numpy as np

from ..elements.coordinates import flowing
from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..numerics.options import SIZES
from ..numerics.precision import NOTHING
from ..validation.arguments import shown
from .accelerations import Equations
from .body_models import model_of
from .explicit import ExplicitStepper
from .fast_motions import FastMotions, by_sparse_matrices
from .implicit import ImplicitStepper
from .jacobian import Jacobian
from .steppers import Stepper

# Explicit steps are tied to the radians of the fastest motion in a run, at most six a step; implicit ones to rtol, which goes
# with the fifth power of their length.  Beyond so many radians times rtol^(-1/5) implicit ones take less time, by the stage of
# benchmarks/swinging_stage.py, and are taken if that motion dies out or is at rest.  With half and with twice of it
# tests/dynamics/test_methods.py passes.
_FAST, _BY_RTOL = 300.0, -0.2
# The same where numpy makes the steps, of which an implicit one takes half the time of an explicit one: 5 s of a tower under wind
# at rtol = 1e-6 take 0.2 s by 15 implicit steps, and 26 s by 990 explicit ones.  With half and with twice of it
# tests/dynamics/test_methods.py passes.
_FAST_IN_NUMPY = 25.0
_SHARE = 1e-3  # of a motion: coordinates that move less in it are not named (tests/dynamics/test_methods.py)
METHODS = {"explicit": "explicit, order 8", "implicit": "implicit, order 5"}


def checked(label: str, method: str | None) -> str | None:
    """The name of a method, None to let mse choose; ModelError for others."""
    if method is None or (isinstance(method, str) and method in METHODS):
        return method
    raise ModelError(f"{label}: method is {shown(method)}; expected 'explicit', 'implicit', or None to let mse choose")


def stepper(equations: Equations, rtol: float, method: str, until: float | None = None) -> Stepper:
    """What makes the steps of a method, which equations are told; many at once if a run goes ``until`` a time (s)."""
    equations.implicit = method == "implicit"
    return (ImplicitStepper if equations.implicit else ExplicitStepper)(equations, rtol, until)


def chosen(equations: Equations, here: Evaluation, v: np.ndarray, span: float, rtol: float) -> tuple[str, str]:
    """The method for a motion of ``span`` (s) from a state at velocities v (n,), and why, as a note of the result."""
    body = equations.assembly.body
    for part in equations.parts:
        if part.has_mass:
            for el, frames in zip(part.group.elements, part.group.frames, strict=True):
                if len({body[f] for f in frames} - {0}) > 1:
                    return "implicit", f"steps are implicit, since the inertia of {el.path} couples bodies"
    known = by_sparse_matrices(equations, here, v) if equations.size > SIZES.dense else None
    motions = None
    if known is None:
        matrices = Jacobian(equations, here, v)
        if name := _held_without_mass(equations, matrices):
            return "implicit", f"steps are implicit, since {name} has stiffness or damping, but no mass"
        motions = FastMotions(equations, here, v, matrices)
    fastest = motions.fastest() if known is None else known.fastest
    many = _FAST_IN_NUMPY * rtol**_BY_RTOL
    # who makes the steps takes 0.3 s to find for a thousand bodies, so it is asked where it matters
    if fastest is not None and fastest.rate * span >= many and model_of(equations, early=True) is not None:
        many = _FAST * rtol**_BY_RTOL
    if fastest is None or fastest.rate * span < many:
        return "explicit", ""
    if motions is None and not fastest.decays:
        motions = FastMotions(equations, here, v, Jacobian(equations, here, v))
    # what does vibrate has to be followed, by steps of high order
    if fastest.decays or motions.at_rest(many / span, rtol * equations.measure.size):
        return "implicit", f"steps are implicit, since {fastest.words}, to which explicit ones would be tied"
    return "explicit", ""


def undecided(equations: Equations, here: Evaluation, v: np.ndarray) -> list[str]:
    """Coordinates that neither mass nor force nor constraint decides in a state at velocities v (n,)."""
    sizes = np.abs(Jacobian(equations, here, v).bare).max(axis=1, initial=0.0)
    return [equations.topology.coordinate_names[k] for k in np.flatnonzero(sizes > _SHARE)]


def refuse_undivided(label: str, names: list[str]) -> None:
    """Refuse charges, volumes and the like among undecided coordinates: their flows would have to divide in some way."""
    flows = [str(name) for name, flows in zip(names, flowing(names), strict=True) if flows]
    if flows:
        raise ModelError(
            f"{label}: nothing decides how {', '.join(flows)} divide: no energy, mass, resistance or constraint holds them but "
            "in sums; expected one for each; give them stores or resistances of their own, or one coordinate for what "
            "flows in all of them"
        )


def _held_without_mass(equations: Equations, matrices: Jacobian) -> str:
    """The coordinate that moves most in one of the motions without mass that stiffness or damping acts on; "" for none."""
    _, light = matrices.allowed
    acting = np.zeros(light.shape[1])
    for matrix in (matrices.stiffness, matrices.damping):
        size = np.abs(matrix).max(initial=0.0)
        if size:
            acting = np.maximum(acting, np.abs(light.T @ matrix @ light).max(axis=0, initial=0.0) / size)
    if acting.max(initial=0.0) <= NOTHING:
        return ""
    moves = light[:, int(acting.argmax())] / equations.measure.metric
    return equations.topology.coordinate_names[int(np.abs(moves).argmax())]
