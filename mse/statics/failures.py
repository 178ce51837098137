"""Why a search has failed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.configuration import State
from .equilibrium_test import RESIDUAL, TOO_COARSE, coarseness
from .merit_function import MeritFunction, Point
from .stages import Reached, Stage

if TYPE_CHECKING:
    from .working_point import WorkingPoint

FAR = 1e3  # sizes of the model; a body that got so far is not coming back

JUMPED = "it jumped to an equilibrium on another branch"
NO_BETTER = "no step improves the balance any further"


def moved_away(merit: MeritFunction, state: State) -> str:
    """The body that has moved too far from the start to come back, or ""."""
    moved = np.abs(state.o - merit.start.o)
    far = moved.max(initial=0.0)
    if not far > FAR * merit.size:
        return ""
    unit = int(np.argmax(moved.max(axis=1)))
    return (
        f"{merit.topology.unit_names[unit]} has moved {far:.3g} m, over {FAR:g} times the size of the model, and the "
        "energy still decreases: that motion has no stiffness, so the system has no equilibrium, or it is very soft; give it "
        "a stiffness (in N/m), or start nearer (at=...)"
    )


def too_many_steps(merit: MeritFunction, state: State, steps: int) -> str:
    """The body that has moved furthest in so many steps."""
    moved = np.linalg.norm(state.o - merit.start.o, axis=1)
    unit = int(np.argmax(moved))
    return (
        f"{steps} steps were not enough; {merit.topology.unit_names[unit]} has moved furthest, {moved[unit]:.3g} m of a model "
        f"of {merit.size:.3g} m"
    )


def without_digits(merit: MeritFunction, point: Point) -> str:
    """Why an equilibrium is no result: too coarse by rounding, or a constraint has lost its slope; or ""."""
    if (coarse := coarseness(merit, point)) > TOO_COARSE:
        return (
            f"rounding of the positions alone leaves {coarse:.1e} of the loads unbalanced, because something is "
            "so stiff; lower that stiffness or replace it by a clamp"
        )
    if lost := merit.degenerate(point):
        return (
            f"{lost}: its constraint has no slope where it holds, so its reaction is not determined; write a residual that "
            "passes through zero, such as x in place of x^2"
        )
    return ""


def limit_reached(reached: Reached, whole: Stage) -> str:
    """How far loads could be raised."""
    if reached.is_at(whole):
        return (
            "Newton's method leads from the start to no equilibrium nearby: change its parameters in smaller steps, or "
            "use trace()"
        )
    far, what = reached.load_factor, "its loads"
    if reached.follower_factor != 1.0:
        far, what = reached.follower_factor, "those of its loads that have no energy (torques, follower loads)"
    return (
        f"its equilibrium can be followed up to {far:.6g} times {what} and no further: there is a limit "
        "point, beyond which it snaps through or collapses, or another branch begins"
    )


def message(merit: MeritFunction, point: Point, found: WorkingPoint) -> str:
    """The message of a failed search: its reason, the largest residuals, and the remedy."""
    residual, worst = merit.residual(point)
    names = merit.topology.coordinate_names
    remedy = "start from poses nearer to equilibrium (at=...), or with options=mse.SearchOptions(initial_strength=0.01)"
    pushed = [m.name for m in found.free if abs(m.vector @ found.residual) > 1e-8 * np.abs(point.load).max()]
    if pushed:
        remedy = (
            f"{', '.join(pushed)} has no stiffness, yet a load acts along it: give it a stiffness or remove the load"
        )
    relative = np.abs(point.gradient) / merit.load_scale(point.load)
    next_worst = [k for k in np.argsort(-relative)[1:4] if relative[k] > max(RESIDUAL, 0.01 * residual)]
    others = "".join(f", {names[k]} ({relative[k]:.2g})" for k in next_worst)
    return (
        f"{merit.label}: no working point after {len(found.history)} steps: {found.reason}. Largest residual "
        f"{-point.gradient[worst]:.6g}{merit.topology.force_unit(worst)} on {names[worst]} ({residual:.2g} of its loads, "
        f"expected below {RESIDUAL:g}){', then' + others[1:] if others else ''}; {remedy}"
    )
