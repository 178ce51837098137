"""Steps of large motions by the explicit method of order 8 of Dormand and Prince, on charts that are laid anew at every step.

A step begins at poses (o, U) and goes by coordinates ``(d, a)``, ``o + d, exp([a]x) U``, whose rates are the velocities and
``a' = J(a)^-1 w`` with the left Jacobian J: no singularity is near, whatever has turned before.  After each step the constraints
are restored, for positions and for velocities.  What lies between is interpolated (order 7).  Coefficients and control of the
error are of SciPy's DOP853 (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import DOP853

from ..errors import ModelError
from ..kernels.jit import writable
from ..kernels.rotations import inverse_left_jacobian, turn_all
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..model.joint_assembly import restored
from ..numerics.precision import NOTHING
from .accelerations import Constrained, Equations

# rad that a body turns in one step: charts reach to a whole turn, memories of joints to half of one.  With half and with twice
# of it tests/dynamics/test_explicit.py passes.
_TURN = 1.0
# Of the largest speed: velocities below it are as exact as this one. With a tenth and with ten times of it
# tests/dynamics/test_known_motions.py::test_a_free_body_tumbles_with_its_period passes.
_SLOW = 1e-2
# Factors on the step that an error allows, and on a step that is repeated, as in Hairer's DOP853. With 0.5 and 0.95, and with 0.1
# and 0.5, tests/dynamics/test_explicit.py passes.
_SAFE = 0.9
_LEAST = 0.2


@dataclass(frozen=True, eq=False)
class Moment:
    """A moment of a motion: ``state`` at ``time`` (s), velocities v (n,), and the work (J) of dampers and of other forces so far.

    ``step`` (s) is the next step's length, None at the start of a run; ``origin`` the moment at which the step that this was
    interpolated in begins, None where it begins here.
    """

    time: float
    state: State
    v: np.ndarray
    damped: float = 0.0
    driven: float = 0.0
    step: float | None = None
    origin: Moment | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """A step from ``begin`` to ``end``; ``at(t)`` are the moments between."""

    begin: Moment
    end: Moment
    at: Callable[[float], Moment]
    evaluations: int


class StepFailed(Exception):
    """No step from here on keeps the tolerance."""


class Stepper:
    """Steps of a system with a relative tolerance."""

    def __init__(self, equations: Equations, rtol: float):
        self.equations, self.rtol = equations, rtol
        self._redundant = False  # whether constraints depend on each other
        self._speed = 1.0  # m/s of what moves fastest

    def step(self, begin: Moment) -> Step:
        """One step; ModelError or :class:`StepFailed` where there is none."""
        given, evaluations = begin.step, 0
        while True:
            solver = self._solver(begin, given)
            if solver.step() is not None or solver.status == "failed":
                raise StepFailed
            evaluations += solver.nfev
            try:
                end, apart = self.settled(begin, solver.y, solver.t), self._apart(begin, solver)
            except ModelError:  # a shorter step may be nearer to where joints close
                given = _LEAST * (solver.t - begin.time)
                if given <= self._shortest(begin):
                    raise
                continue
            # what constraints had to correct is an error, too, which the method's own estimate may miss
            change = _SAFE * apart ** (-1.0 / 8.0) if apart else np.inf
            if apart <= 1.0:
                break
            given = (solver.t - begin.time) * max(_LEAST, change)
            if given <= self._shortest(begin):
                raise StepFailed
        longest = min(solver.h_abs, (solver.t - begin.time) * change)
        dense: list = []

        def at(t: float) -> Moment:
            if not dense:
                dense.append(solver.dense_output())
            return replace(self.settled(begin, dense[0](t), t), step=None, origin=begin)

        return Step(begin, replace(end, step=longest), at, evaluations)

    def _shortest(self, begin: Moment) -> float:
        """Length (s) of a step that changes nothing."""
        return NOTHING * max(self.equations.measure.size / self._speed, abs(begin.time))

    def _solver(self, begin: Moment, given: float | None) -> DOP853:
        """SciPy's solver at the center of a chart."""
        e, n = self.equations, self.equations.size
        here = e.evaluation(begin.state, begin.time)
        acceleration, terms = e.accelerations(here, begin.v, begin.time)
        if not np.isfinite(acceleration).all():
            raise StepFailed
        self._redundant = bool(e.assembly.constraint_count) and not Constrained(e, here, terms.mass).unique
        first = np.concatenate([begin.v, acceleration, [terms.damped, terms.driven]])
        metric, size = e.measure.metric, e.measure.size
        fastest = np.abs(metric * begin.v).max(initial=0.0)
        # a speed that these accelerations reach within the size of the system: motions at rest have none of their own
        pulled = np.sqrt(size * np.abs(metric * acceleration).max(initial=0.0))
        speed = self._speed = max(float(fastest), float(pulled)) or size
        tolerances = np.concatenate([size / metric, _SLOW * speed / metric, [np.inf, np.inf]])
        tolerances[:-2] *= self.rtol
        turn = np.abs(begin.v[: 6 * (e.assembly.bodies - 1)].reshape(-1, 6)[:, 3:]).max(initial=0.0)
        longest = _TURN / turn if turn else np.inf
        y = np.concatenate([np.zeros(n), begin.v, [begin.damped, begin.driven]])
        known = [first]  # at the center, where SciPy asks first

        def slope(t: float, y: np.ndarray) -> np.ndarray:
            return known.pop() if known else self._slope(begin, t, y)

        given = None if given is None else min(given, longest)
        return DOP853(slope, begin.time, y, np.inf, max_step=longest, rtol=self.rtol, atol=tolerances, first_step=given)

    def _apart(self, begin: Moment, solver: DOP853) -> float:
        """By how much constraints are open at the end of a step, for positions and for velocities, in tolerances."""
        e, n = self.equations, self.equations.size
        if not e.assembly.constraint_count:
            return 0.0
        here = e.evaluation(self.placed(begin.state, solver.y[:n]), solver.t)
        distances, lengths = here.distances
        drift = np.abs(e.drift(here, solver.y[n : 2 * n], solver.t) / lengths).max()
        return float(max(np.abs(distances).max() / e.measure.size, drift / self._speed) / self.rtol)

    def _slope(self, begin: Moment, t: float, y: np.ndarray) -> np.ndarray:
        e, n = self.equations, self.equations.size
        x, v = y[:n], y[n : 2 * n]
        if not np.isfinite(y[: 2 * n]).all():
            return np.full(len(y), np.nan)
        here = e.evaluation(self.placed(begin.state, x), t)
        if self._redundant:  # redundant rows depend on others only where all constraints hold
            here = restored(here) or here
        acceleration, terms = e.accelerations(here, v, t)
        rates = v.copy()
        bodies = 6 * (e.assembly.bodies - 1)
        for turn, w in zip(x[:bodies].reshape(-1, 6)[:, 3:], rates[:bodies].reshape(-1, 6)[:, 3:], strict=True):
            w[:] = inverse_left_jacobian(turn) @ w
        return np.concatenate([rates, acceleration, [terms.damped, terms.driven]])

    def placed(self, state: State, x: np.ndarray) -> State:
        """A state displaced by the coordinates x (n,) of its chart, with its memories."""
        bodies = self.equations.assembly.bodies
        motion = np.concatenate([np.zeros(6), x])[: 6 * bodies].reshape(-1, 6)
        u = turn_all(writable(state.U), motion[:, 3:].copy())
        return State(state.o + motion[:, :3], u, state.q + x[6 * (bodies - 1) :], state.memory)

    def settled(self, begin: Moment, y: np.ndarray, t: float) -> Moment:
        """The moment at coordinates y of a chart, with constraints restored for positions and velocities."""
        e, n = self.equations, self.equations.size
        here = e.evaluation(self.placed(begin.state, y[:n]), t)
        v, (damped, driven) = y[n : 2 * n].copy(), y[2 * n :].tolist()
        if e.assembly.constraint_count:
            found = restored(here)
            if found is None:
                raise ModelError(self._open(here, t))
            here = found
            v = self.permitted(here, v, t)
        else:
            here = here.followed()
        return Moment(float(t), here.state, v, damped, driven)

    def permitted(self, here: Evaluation, v: np.ndarray, t: float) -> np.ndarray:
        """The velocities that constraints permit which differ from v (n,) by impulses of constraints alone."""
        mass = self.equations.mass(here)
        return v + Constrained(self.equations, here, mass).solve(np.zeros_like(v), -self.equations.drift(here, v, t))

    def _open(self, here: Evaluation, t: float) -> str:
        k = int(np.abs(here.distances[0]).argmax())
        label = here.assembly.constraint_labels()[k]
        return (
            f"{label}: its constraint cannot be restored at t = {t:.6g} s, where it is open by {here.residual[k]:.3g} "
            "(m or rad); expected joints that stay closed; look at the motion so far, where joints may lock"
        )
