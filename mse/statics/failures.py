"""Why a search has failed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..display import amounts
from ..model.configuration import State
from ..numerics.precision import NOTHING
from .equilibrium import RESIDUAL, coarseness
from .merit_function import MeritFunction, Point
from .scales import TOO_COARSE
from .stability import Motions
from .stages import Reached, Stage

if TYPE_CHECKING:
    from .working_point import WorkingPoint

_NAMED = 2  # elements at the ends of their ranges
_PUSHED = 4  # free motions in a message
# Of the largest residual: smaller ones are not named.  With a hundredth or a hundred times of it too many or too few are
# (tests/statics/test_failures.py::test_what_is_pushed_most_is_told).
_SMALL = 0.01
# Sizes of the model: a body that far away does not come back (with ten times of it falls are not noticed:
# tests/statics/test_search.py::test_an_attempt_is_lost_far_away_in_tiny_steps_or_after_many).
FAR = 1e3

# Charges and the like, in sizes of the model by their own scale, at which an effort is checked to be constant
# (tests/statics/test_failures.py::test_a_battery_on_a_capacitor_is_found_however_large_it_is).
_LOOKED_AT = (-1e3, -1.0, -1e-3, 1e-3, 1.0, 1e3)

JUMPED = (
    "it jumped to an equilibrium on another branch; change loads and parameters in smaller steps, use trace(), or accept that "
    "with seek='stable'"
)
NOT_BESIDE = "no stable equilibrium is near the start"
NO_BETTER = "no step improves the balance any further"
_NOT_ENOUGH = "steps were not enough"
_FALLS = "falls without bound"
# the remedy if neither the reason nor an element has one
_START = (
    "start from poses nearer to equilibrium (at=...), with options=mse.SearchOptions(initial_strength=0.01), or under a "
    "hundredth of the loads (load_factor=0.01), and go on from there (start=...) under ten times as much each time"
)


def moved_away(merit: MeritFunction, state: State) -> str:
    """The body that has moved too far from the start to come back, and the element whose energy falls with it, or ""."""
    moved = np.abs(state.o - merit.start.o)
    far = moved.max(initial=0.0)
    if not far > FAR * merit.size:
        return ""
    unit = int(np.argmax(moved.max(axis=1)))
    where = (
        f"{merit.topology.unit_names[unit]} has moved {far:.3g} m, over {FAR:g} times the size of the model, and the "
    )
    what, fallen = _falling(merit, state)
    if what:
        return where + _without_bound(what, fallen)
    return (
        f"{where}energy still decreases: that motion has no stiffness, so the system has no equilibrium, or it is very soft; "
        "give it a stiffness (in N/m), or start nearer (at=...)"
    )


def no_better(merit: MeritFunction, state: State) -> str:
    """That nothing improves the balance; names an energy that has fallen far below all others, as if without bound."""
    what, fallen = _falling(merit, state)
    forces = merit.evaluate(merit.start, 1).load / merit.scale
    far = what and fallen > FAR * merit.size * forces.max(initial=0.0)
    return f"the {_without_bound(what, fallen)}" if far else NO_BETTER


def _without_bound(what: str, fallen: float) -> str:
    return (
        f"energy of {what} {_FALLS}, by {fallen:.3g} J up to there; expected an energy that has a minimum; correct its law, "
        "hold what moves with it by a stiffness (in N/m), or start nearer (at=...)"
    )


def _falling(merit: MeritFunction, state: State) -> tuple[str, float]:
    """The element whose energy has fallen by more than half of all energies, weights too, or ""; and by how much (J)."""
    fallen, most, what = 0.0, 0.0, ""
    before, now = merit.here(merit.start).configuration, merit.here(state).configuration
    for g in merit.assembly.groups:
        first, last = (merit.assembly.evaluate(g, at, 0)[0] for at in (before, now))
        drop = np.where(np.isfinite(last), first, 0.0) - np.where(np.isfinite(last), last, 0.0)
        fallen += float(drop[drop > 0.0].sum())
        largest = int(drop.argmax())
        if drop[largest] > most:
            weighs = g.cls.external or g.cls.only_weighs()
            most, what = float(drop[largest]), "" if weighs else g.elements[largest].obj.label
    return (what, most) if most > 0.5 * fallen else ("", 0.0)


def driven(merit: MeritFunction) -> str:
    """The charges or other flows that a constant effort drives without any stiffness at several places; or ""."""
    inside = merit.topology.flowing
    if not inside.any():
        return ""
    point = merit.evaluate(merit.start, 1)
    rounding = RESIDUAL * np.abs(point.load).max(initial=0.0)
    # no entry of a flow is above 1, so none has more of an effort
    if not np.abs(point.gradient[inside]).sum() > rounding:
        return ""
    point = merit.stiffened(point)
    flows = merit.stability(point).flows
    vectors = flows.vectors
    effort = vectors.T @ point.gradient
    pushed = np.flatnonzero(np.abs(effort) > rounding)
    names = []
    for k in pushed:
        step = vectors[:, [k]].toarray().ravel()
        way = merit.size / np.abs(step * merit.scale).max() * step[merit.searched] * merit.metric
        far = (merit.stepped(point, share * way, 2) for share in _LOOKED_AT)
        if all(np.isfinite(p.energy) and _is_driven(p, step, effort[k]) for p in (point, *far)):
            unit = merit.topology.force_unit(int(np.abs(step).argmax()))
            names.append(f"{flows[int(k)].name} ({-effort[k]:.6g}{unit})")
    return (
        f"the effort along {', '.join(names)} is the same whatever has flowed, so nothing balances it" if names else ""
    )


def _is_driven(point: Point, flow: np.ndarray, effort: float) -> bool:
    """Whether a flow has an effort, and only rounding as its stiffness, at a point."""
    k = point.stiffness
    terms = abs(k) @ np.abs(flow)
    same = abs(flow @ point.gradient - effort) <= RESIDUAL * abs(effort)
    return same and bool(np.all(np.abs(k @ flow) <= NOTHING * terms))


def too_many_steps(merit: MeritFunction, state: State, steps: int) -> str:
    """The body that has moved furthest in so many steps."""
    moved = np.linalg.norm(state.o - merit.start.o, axis=1)
    unit = int(np.argmax(moved))
    return (
        f"{steps} {_NOT_ENOUGH}; {merit.topology.unit_names[unit]} has moved furthest, by {moved[unit]:.3g} m in a model "
        f"of {merit.size:.3g} m"
    )


def without_digits(merit: MeritFunction, point: Point) -> str:
    """Why an equilibrium is no result: rounding makes it too coarse, or a constraint has lost its slope; or ""."""
    if (coarse := coarseness(merit, point)) > TOO_COARSE:
        return (
            f"rounding of the positions alone leaves {coarse:.1e} of the loads unbalanced, because an element is "
            "so stiff; lower its stiffness or replace it by a clamp"
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
    remedy = "stay below (load_factor=...), follow it by trace('load_factor', ...), or accept another branch with seek='stable'"
    if reached.follower_factor != 1.0:
        far, what = reached.follower_factor, "those of its loads that have no energy (torques, follower loads)"
        remedy = "make these smaller"
    return (
        f"its equilibrium can be followed up to {far:.6g} times {what} but no further: there it snaps through or collapses "
        f"(a limit point), or another branch begins; {remedy}"
    )


def way_ends(share: float, *, passed: bool) -> str:
    """How far parameters could be changed along the branch of a working point."""
    end = "it reaches a limit or branch point" if passed else "the curve of its equilibria ends or bends too sharply"
    return (
        f"its equilibrium can be followed over {share:.4g} of the change from its start, where {end}; make smaller "
        "changes, use trace(), or accept an equilibrium on another branch with seek='stable'"
    )


def message(merit: MeritFunction, point: Point, found: WorkingPoint) -> str:
    """The message of a failed search: its reason, the largest residuals, and the remedy."""
    residual, worst = merit.residual(point)
    names = merit.topology.coordinate_names
    stability = merit.stability(point)
    flows, pushed = (_along(motions, merit, point, found) for motions in (stability.flows, stability.free))
    ended = _ends_of_range(merit, point)
    if ended:
        remedy = ". " + "; ".join(ended[:_NAMED])
    elif _FALLS in found.reason:
        remedy = ""
    elif flows:
        remedy = (
            f"; {', '.join(flows)} would flow for ever, since an effort drives it and nothing stores its energy, but a working "
            "point is at rest: give it a capacitance, or leave the effort to an input of linear models"
        )
    elif pushed:
        remedy = (
            f"; {', '.join(pushed)} has no stiffness, yet a load acts along it: give it a stiffness or remove the load"
        )
        if _NOT_ENOUGH in found.reason:  # a part that holds it at equilibrium may be slack before
            remedy += f"; where something is to hold it, {_START}"
    else:
        remedy = f"; {_START}" if found.reason == NO_BETTER or _NOT_ENOUGH in found.reason else ""
    if rolling := merit.topology.flow_constrained:
        remedy += (
            f"; the flow constraints of {', '.join(rolling[:_NAMED])} carry no load at a working point: give what they should "
            "carry to a joint or a spring"
        )
    told = f"{merit.label}: no working point after {amounts(step=found.history.tried)}: {found.reason}"
    if not residual > RESIDUAL:  # forces balance, so something else is the reason
        return told + remedy
    relative = np.abs(point.gradient) / merit.load_scale(point)
    next_worst = [k for k in np.argsort(-relative)[1:4] if relative[k] > max(RESIDUAL, _SMALL * residual)]
    others = "".join(f", {names[k]} ({relative[k]:.2g})" for k in next_worst)
    return (
        f"{told}. Largest residual {-point.gradient[worst]:.6g}{merit.topology.force_unit(worst)} on {names[worst]} "
        f"({residual:.2g} of its loads, expected below {RESIDUAL:g}){', then' + others[1:] if others else ''}{remedy}"
    )


def _along(motions: Motions, merit: MeritFunction, point: Point, found: WorkingPoint) -> list[str]:
    """The first of some motions along which forces are left, and which have no stiffness to balance them within reach.

    Forces out of balance hide stiffness: a motion that they displace by less than ``FAR`` sizes of the model has stiffness.
    """
    vectors = motions.vectors
    along = np.abs(vectors.T @ found.residual)
    most = max(RESIDUAL * np.abs(point.load).max(), _SMALL * np.abs(found.residual).max())
    moved = np.sqrt(np.asarray(vectors.power(2).T @ merit.scale**2))
    stiffness = np.abs(np.asarray(vectors.multiply(point.stiffness @ vectors).sum(axis=0)).ravel())
    unheld = stiffness * FAR * merit.size <= along * moved
    return [motions[k].name for k in np.flatnonzero((along > most) & unheld)[:_PUSHED]]


def _ends_of_range(merit: MeritFunction, point: Point) -> list[str]:
    """Messages of elements that are beyond the limit of their law at a point."""
    at, found = merit.here(point.state).configuration, []
    for g in merit.assembly.groups:
        if g.cls.defines("end_of_range"):
            for el, frames, memory in zip(g.elements, g.frames, at.memory[g.number], strict=True):
                found.append(el.obj.end_of_range(at.frames(frames), memory))
    return [text for text in found if text]
