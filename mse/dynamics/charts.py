"""Coordinates of a system about its poses at the begin of a step, in numpy: rates there, and constraints restored.

A chart has coordinates ``(d, a)``, ``o + d, exp([a]x) U``, whose rates are the velocities and ``a' = J(a)^-1 w`` with the left
Jacobian J: no singularity is near, whatever has turned before.  Here are all systems; rigid bodies on joints have compiled code,
see :mod:`mse.dynamics.bodies`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels.jit import writable
from ..kernels.rotations import inverse_left_jacobian, turn_all
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..model.joint_assembly import restored
from .accelerations import Equations
from .constrained import Constrained


class StepFailed(Exception):
    """No step from here on keeps the tolerance."""


class MomentFailed(StepFailed, ModelError):
    """A moment within a step is not found. A run looks for another step; a user who asked for the moment gets the message."""


def no_moment(label: str, t: float, begin: float, end: float) -> MomentFailed:
    """What to raise at a time t (s) in a step."""
    return MomentFailed(
        f"{label}: no state is found at t = {t:.9g} s in the step from {begin:.9g} to {end:.9g} s, which keeps rtol; "
        "expected one; take a larger rtol"
    )


class JointsOpen(ModelError):
    """Constraints cannot be restored."""


class Settled(NamedTuple):
    """State and velocities where constraints hold, and by which distance (m) and speed (m/s) they were open before.

    Numpy also finds what elements remember there; after compiled steps the state has what they remembered before.
    """

    state: State
    v: np.ndarray
    distance: float
    speed: float


class Chart:
    """Coordinates of a system about the poses of a state."""

    def __init__(self, equations: Equations, state: State):
        self._equations, self._state = equations, state
        self._redundant = False  # whether constraints depend on each other

    def rates(
        self,
        time: float,
        y: np.ndarray,
        h: float,
        coefficients: tuple[np.ndarray, np.ndarray],
        stages: range,
        slopes: np.ndarray,
    ) -> None:
        """Slopes (s, 2 n + 2) of some stages of a step h from y: of coordinates, velocities, works of dampers and other forces.

        ``coefficients`` are the times of stages and their weights (s, s).
        """
        nodes, weights = coefficients
        for s in stages:
            at = y + h * (weights[s, :s] @ slopes[:s])
            slopes[s] = self._slope(time + float(nodes[s]) * h, at, first=s == 0)

    def _slope(self, t: float, y: np.ndarray, first: bool) -> np.ndarray:
        e, n = self._equations, self._equations.size
        x, v = y[:n], y[n : 2 * n]
        if not np.isfinite(y[: 2 * n]).all():
            return np.full(len(y), np.nan)
        here = e.evaluation(self._state if first else displaced(self._state, x), t)
        if self._redundant and not first:  # redundant rows depend on others only where all constraints hold
            here = restored(here) or here
        acceleration, terms = e.accelerations(here, v, t)
        if first and e.assembly.constraint_count and np.isfinite(acceleration).all():
            self._redundant = not Constrained(e, here, terms.mass).unique
        rates = v.copy()
        bodies = 6 * (e.assembly.bodies - 1)
        for turn, w in zip(x[:bodies].reshape(-1, 6)[:, 3:], rates[:bodies].reshape(-1, 6)[:, 3:], strict=True):
            w[:] = inverse_left_jacobian(turn) @ w
        return np.concatenate([rates, acceleration, [terms.damped, terms.driven]])

    def settled(self, y: np.ndarray, t: float) -> Settled:
        """State and velocities at coordinates y (2 n + 2,) with constraints restored; ModelError where they cannot be."""
        e, n = self._equations, self._equations.size
        here, v = e.evaluation(displaced(self._state, y[:n]), t), y[n : 2 * n].copy()
        if not e.assembly.constraint_count and not e.flows:
            return Settled(here.followed().state, v, 0.0, 0.0)
        speed, distance = e.slipping(here, v, t), 0.0
        found = restored(here) if e.assembly.constraint_count else here.followed()
        if found is None:
            raise JointsOpen(open_at(here, t))
        if e.assembly.constraint_count:
            distance = float(np.abs(here.distances[0]).max())
        return Settled(found.state, permitted(e, found, v, t), distance, speed)


def displaced(state: State, x: np.ndarray) -> State:
    """A state displaced by the coordinates x (n,) of its chart, with its memories."""
    bodies = len(state.o)
    motion = np.concatenate([np.zeros(6), x])[: 6 * bodies].reshape(-1, 6)
    u = turn_all(writable(state.U), motion[:, 3:].copy())
    return State(state.o + motion[:, :3], u, state.q + x[6 * (bodies - 1) :], state.memory)


def permitted(equations: Equations, here: Evaluation, v: np.ndarray, t: float) -> np.ndarray:
    """The velocities that constraints permit which differ from v (n,) by impulses of constraints alone."""
    system = Constrained(equations, here, equations.mass(here), equations.flow_rows(here, v)[0])
    return v + system.solve(np.zeros_like(v), -equations.drift(here, v, t))


def open_at(here: Evaluation, t: float) -> str:
    """What to say where constraints cannot be restored."""
    k = int(np.abs(here.distances[0]).argmax())
    label = here.assembly.constraint_labels()[k]
    return (
        f"{label}: its constraint cannot be restored at t = {t:.6g} s, where it is open by {here.residual[k]:.3g} "
        "(m or rad); expected joints that stay closed; look at the motion so far, where joints may lock"
    )
