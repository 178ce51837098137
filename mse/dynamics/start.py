"""Where a motion begins: joints put together, coordinates at the values that are given, and velocities that joints allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..model.joint_assembly import restored
from ..numerics.precision import NOTHING
from ..validation.arguments import find, mapping, number
from .accelerations import Constrained, Equations
from .coordinates import NamedCoordinates

# rad, or of the size of the system: how far coordinates are brought at once, so that angles are followed past half turns.
# With half and with twice of it tests/dynamics/test_start.py passes.
_AT_ONCE = 0.5
# Weight of displacements compared with coordinates that keep their values: hardly any, and enough to make steps unique.
# With a hundredth and a hundred times of it tests/dynamics/test_start.py passes.
_UNIQUE = 1e-6
# Of what is given: a larger difference contradicts joints.  With a hundredth and a hundred times of it
# tests/dynamics/test_start.py passes.
_CLOSE = 1e-9
# Steps of Newton's method, which takes five where values can be reached (tests/dynamics/test_start.py).
_ROUNDS = 30


def given_numbers(label: str, coordinates: NamedCoordinates, initial: Mapping[str, Any] | None) -> dict[str, float]:
    """Initial values by name, checked."""
    what = "values by coordinate or rate, such as {'hinge.angle': 1.57, \"hinge.angle'\": 0.0}"
    found = {}
    for name, value in mapping(label, "initial", initial, what).items():
        find(label, "coordinate or rate", name, (*coordinates.names, *coordinates.rates))
        found[name] = number(label, f"initial {name!r}", value)
    return found


def placed(
    equations: Equations, here: Evaluation, coordinates: NamedCoordinates, given: Mapping[str, float]
) -> Evaluation:
    """The system with coordinates at given values; others keep theirs as far as joints let them."""
    chosen = np.array([k for k, name in enumerate(coordinates.names) if name in given], dtype=int)
    if not len(chosen):
        return here
    others = np.setdiff1d(np.arange(len(coordinates.names)), chosen)
    before = coordinates.values(here)
    target = np.array([given[coordinates.names[k]] for k in chosen])
    weights = np.where(coordinates.turns, equations.measure.size, 1.0)
    far = np.abs(target - before[chosen]) / np.where(coordinates.turns[chosen], 1.0, equations.measure.size)
    stages = max(1, int(np.ceil(far.max() / _AT_ONCE)))
    for k in range(1, stages + 1):
        wanted = before[chosen] + k / stages * (target - before[chosen])
        here = _brought(equations, here, coordinates, (chosen, others), wanted, before[others], weights)
    _refuse_contradicted(equations, here, coordinates, chosen, target)
    return restored(here) or here if equations.assembly.constraint_count else here


def _brought(
    equations: Equations, here: Evaluation, coordinates: NamedCoordinates, which: tuple[np.ndarray, np.ndarray],
    wanted: np.ndarray, kept: np.ndarray, weights: np.ndarray,
) -> Evaluation:  # fmt: skip
    chosen, others = which
    metric = equations.measure.metric
    for _ in range(_ROUNDS):
        values, slopes = coordinates.values(here), coordinates.slopes(here)
        apart = np.concatenate([here.residual, values[chosen] - wanted])
        soft = weights[others, None] * slopes[others]
        left = weights[others] * (values[others] - kept)
        mass = soft.T @ soft + np.diag(_UNIQUE * metric**2)
        step = Constrained(equations, here, mass, slopes[chosen]).solve(-soft.T @ left, -apart)
        longest = np.abs(step[here.measure.turning]).max(initial=0.0)
        here = here.moved(metric * step * min(1.0, _AT_ONCE / longest if longest else 1.0))
        if np.abs(metric * step).max() <= NOTHING * equations.measure.outermost:
            break
    return here


def _refuse_contradicted(
    equations: Equations, here: Evaluation, coordinates: NamedCoordinates, chosen: np.ndarray, target: np.ndarray
) -> None:
    found = coordinates.values(here)[chosen]
    open_by = np.abs(here.distances[0]).max(initial=0.0) if equations.assembly.constraint_count else 0.0
    off = np.abs(found - target)
    if off.max() <= _CLOSE * max(1.0, np.abs(target).max()) and open_by <= _CLOSE * equations.measure.outermost:
        return
    shown = ", ".join(
        f"{coordinates.names[k]} is {x:.6g} where {t:.6g} {coordinates.units[k]} is given"
        for k, x, t in zip(chosen, found, target, strict=True)
    )
    gap = ""
    if open_by > _CLOSE * equations.measure.outermost:
        worst = here.assembly.constraint_labels()[int(np.abs(here.distances[0]).argmax())]
        gap = f", and {worst} is open by {open_by:.3g} m"
    raise ModelError(
        f"{equations.topology.label}: its joints contradict the initial values: as near as they come, {shown}{gap}; expected "
        "values that all joints allow at once; give fewer of them, or correct one"
    )


def moving(
    equations: Equations, here: Evaluation, coordinates: NamedCoordinates, given: Mapping[str, float], v: np.ndarray
) -> np.ndarray:
    """Velocities (n,) with the given rates, nearest to v in the metric of M."""
    chosen = np.array([k for k, name in enumerate(coordinates.rates) if name in given], dtype=int)
    if not len(chosen) and not v.any():
        return v
    target = np.array([given[coordinates.rates[k]] for k in chosen])
    rows = coordinates.slopes(here)[chosen]
    held = here.slopes @ v if equations.assembly.constraint_count else np.zeros(0)
    right = np.concatenate([-held, target - rows @ v])
    v = v + Constrained(equations, here, equations.mass(here), rows if len(rows) else None).solve(
        np.zeros_like(v), right
    )
    found = rows @ v
    off = np.abs(found - target)
    held = np.abs(here.slopes @ v) if equations.assembly.constraint_count else np.zeros(0)
    size = max(1.0, np.abs(target).max(initial=0.0))
    if off.max(initial=0.0) > _CLOSE * size or held.max(initial=0.0) > _CLOSE * size * equations.measure.size:
        shown = ", ".join(
            f"{coordinates.rates[k]} is {x:.6g} where {t:.6g} {coordinates.rate_units[k]} is given"
            for k, x, t in zip(chosen, found, target, strict=True)
        )
        raise ModelError(
            f"{equations.topology.label}: its joints tie the initial rates together: as near as they come, {shown}; expected "
            "rates that all joints allow at once; give fewer of them, or correct one"
        )
    return v
