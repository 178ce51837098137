"""Why a search has failed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.configuration import State
from .equilibrium_test import RESIDUAL, coarseness
from .merit_function import MeritFunction, Point
from .scales import TOO_COARSE
from .stability import Motions
from .stages import Reached, Stage

if TYPE_CHECKING:
    from .working_point import WorkingPoint

_NAMED = 2  # elements at the ends of their ranges
_PUSHED = 4  # free motions in a message
# Of the largest residual: smaller ones are not told; with a hundredth and a hundred times of it too many or too few are
# (tests/statics/test_failures.py::test_what_is_pushed_most_is_told).
_SMALL = 0.01
# Sizes of the model; a body that got so far is not coming back (with ten times of it falls are not told:
# tests/statics/test_search.py::test_an_attempt_is_lost_far_away_in_tiny_steps_or_after_many).
FAR = 1e3

JUMPED = (
    "it jumped to an equilibrium on another branch; change loads and parameters in smaller steps, use trace(), or accept that "
    "with seek='stable'"
)
NOT_BESIDE = "no stable equilibrium is beside the start"
NO_BETTER = "no step improves the balance any further"
_NOT_ENOUGH = "steps were not enough"
# what helps where neither a reason nor an element tells it
_START = (
    "start from poses nearer to equilibrium (at=...), with options=mse.SearchOptions(initial_strength=0.01), or under a "
    "hundredth of the loads (load_factor=0.01), and go on from there (start=...) under ten times as much each time"
)


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
        f"{steps} {_NOT_ENOUGH}; {merit.topology.unit_names[unit]} has moved furthest, {moved[unit]:.3g} m of a model "
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
    remedy = "stay below (load_factor=...), follow it by trace('load_factor', ...), or take what lies beyond with seek='stable'"
    if reached.follower_factor != 1.0:
        far, what = reached.follower_factor, "those of its loads that have no energy (torques, follower loads)"
        remedy = "make these smaller"
    return (
        f"its equilibrium can be followed up to {far:.6g} times {what} and no further: there is a limit "
        f"point, beyond which it snaps through or collapses, or another branch begins; {remedy}"
    )


def message(merit: MeritFunction, point: Point, found: WorkingPoint) -> str:
    """The message of a failed search: its reason, the largest residuals, and the remedy."""
    residual, worst = merit.residual(point)
    names = merit.topology.coordinate_names
    stability = merit.stability(point)
    driven, pushed = (_along(motions, point, found) for motions in (stability.flows, stability.free))
    ended = _ends_of_range(merit, point)
    if ended:
        remedy = ". " + "; ".join(ended[:_NAMED])
    elif driven:
        remedy = (
            f"; {', '.join(driven)} would flow for ever, since an effort drives what stores no energy, and a working point "
            "is at rest: give it a capacitance, or leave the effort to an input of linear models"
        )
    elif pushed:
        remedy = (
            f"; {', '.join(pushed)} has no stiffness, yet a load acts along it: give it a stiffness or remove the load"
        )
        if _NOT_ENOUGH in found.reason:  # what holds it at equilibrium may be slack on the way
            remedy += f"; where something is to hold it, {_START}"
    else:
        remedy = f"; {_START}" if found.reason == NO_BETTER or _NOT_ENOUGH in found.reason else ""
    if flows := merit.topology.flow_constrained:
        remedy += (
            f"; the flow constraints of {', '.join(flows[:_NAMED])} carry no load at a working point: give what they should "
            "carry to a joint or a spring"
        )
    relative = np.abs(point.gradient) / merit.load_scale(point)
    next_worst = [k for k in np.argsort(-relative)[1:4] if relative[k] > max(RESIDUAL, _SMALL * residual)]
    others = "".join(f", {names[k]} ({relative[k]:.2g})" for k in next_worst)
    return (
        f"{merit.label}: no working point after {found.history.tried} steps: {found.reason}. Largest residual "
        f"{-point.gradient[worst]:.6g}{merit.topology.force_unit(worst)} on {names[worst]} ({residual:.2g} of its loads, "
        f"expected below {RESIDUAL:g}){', then' + others[1:] if others else ''}{remedy}"
    )


def _along(motions: Motions, point: Point, found: WorkingPoint) -> list[str]:
    """The first of some motions without stiffness along which forces are left."""
    along = np.abs(motions.vectors.T @ found.residual)
    most = max(RESIDUAL * np.abs(point.load).max(), _SMALL * np.abs(found.residual).max())
    return [motions[k].name for k in np.flatnonzero(along > most)[:_PUSHED]]


def _ends_of_range(merit: MeritFunction, point: Point) -> list[str]:
    """Messages of elements that are beyond the limit of their law at a point."""
    at, found = merit.configuration(point.state), []
    for g in merit.assembly.groups:
        if g.cls.defines("end_of_range"):
            for el, frames, memory in zip(g.elements, g.frames, at.memory[g.number], strict=True):
                found.append(el.obj.end_of_range(at.frames(frames), memory))
    return [text for text in found if text]
