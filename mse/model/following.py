"""The search for the nearest equilibrium, stable or not: Newton's method in load steps as small as it needs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from .landscape import Point
from .relaxation import _MOST_CORRECTIONS, Relaxation, _Stage
from .trust_region import Step

_LEAST_LOAD_STEP = 1e-4  # of the load wanted
_FREE_STEPS = 20  # near an equilibrium Newton's method is quick, or lost
# times the motion that the tangent foresees: beyond, it is another branch (up to a limit point the factor is 2)
_JUMP = 2.5


class Following(Relaxation):
    """A :class:`Relaxation` towards the nearest equilibrium, from no load or from the load of ``start``.

    Where Newton's method does not get there, the load step is halved; where even small steps fail, there is no such
    equilibrium nearby.  Also the way for loads that have no energy to descend in.
    """

    convex = False

    def _begin(self, state) -> None:
        self._descends = False
        super()._begin(state)
        self._from, self._foreseen = state, self._tangent(state)

    def _tangent(self, state) -> float:
        """How far (m) this stage's loads move the bodies by the stiffness at its start; inf where that is not at rest."""
        reached = self._reached[0]
        self._land.load = reached
        before = self._land.evaluate(state, 2)
        at_rest = self._at_rest(before)
        self._land.load = self._stage.load
        if not at_rest or self._stage.load == reached:
            return np.inf
        move = Relaxation._solve(
            self, before._replace(gradient=self._point.gradient - before.gradient), np.inf, False
        ).p
        return float(np.linalg.norm(move[: 6 * (self.topology.units - 1)].reshape(-1, 6)[:, :3]))

    def _settle(self, residual: float) -> bool:
        moved = np.linalg.norm(self._point.state.o - self._from.o)
        if moved > _JUMP * self._foreseen + 1e-6 * self._size:
            self.reason = "it jumped to an equilibrium on another branch"
            return True
        return super()._settle(residual)

    @property
    def most_steps(self) -> int:
        return Relaxation.most_steps if self._descends else _FREE_STEPS

    def _solve(self, point: Point, radius: float, convex: bool) -> Step:
        if self.topology.conservative:
            return super()._solve(point, radius, convex)
        k, g, _ = self._land.scaled(point)
        n = len(g)
        if point.tangent is not None:
            held = point.tangent.slopes
            # dependent rows get along with each other through a small number beside the others
            small = 1e-10 / (abs(k.diagonal()).max(initial=0.0) or 1.0)
            k = sp.bmat([[k, held.T], [held, -small * sp.identity(held.shape[0])]], format="csc")
        lu = splu(k)

        def solve(right):
            return lu.solve(np.concatenate([right, np.zeros(k.shape[0] - n)]))[:n]

        p = -solve(g)
        length = np.linalg.norm(p)
        p *= min(1.0, radius / length) if length > 0.0 else 1.0
        return Step(p, 0.0, 0.0, False, lambda d, limit: -solve(d))

    def _corrected(self, step, trial: Point) -> Point:
        """The trial point after what is stiff has come to rest there, with the stiffness of where the step began.

        A straight step strains stiff members by its square, and a stiffness taken from such forces would mislead the next
        one (modified Newton; M. Crisfield, "Non-linear Finite Element Analysis of Solids and Structures" 1 (1991), 1.2).
        """
        k, g, _ = self._land.scaled(self._point)
        foreseen = g + k @ step.p
        left = np.linalg.norm(self._land.pull(trial) - foreseen)
        for _ in range(_MOST_CORRECTIONS):
            answer = step.answer(self._land.pull(trial) - foreseen, 0.0)
            if not 0.0 < np.linalg.norm(answer) <= np.linalg.norm(step.p):
                break
            other = self._land.stepped(trial, answer, 1, self._point)
            now = np.linalg.norm(self._land.pull(other) - foreseen)
            if not now < left:
                break
            trial, left = other, now
        return trial

    def _judge_far(self, step, trial: Point) -> bool:
        if not self._descends:
            return bool(np.isfinite(trial.energy) and np.all(np.isfinite(trial.gradient)))
        if np.linalg.norm(self._land.pull(trial)) < np.linalg.norm(self._land.pull(self._point)):
            self._radius = min(2.0 * self._radius, self._size)
            return True
        self._radius = 0.25 * min(self._radius, np.linalg.norm(step.p))
        return False

    def _try_again(self) -> None:
        """Go in load steps; where even small ones fail, lower the residual forces from the start instead."""
        while not self.converged and self._load_halved():
            for _ in self:
                pass
        if not self.converged and self._reached[0] == 0.0:
            lost, self._stages, self.reason = self.reason, [_Stage(1.0, np.inf, self.load)], ""
            self._begin(self._start)
            self._descends = True
            for _ in self:
                pass
            self.reason = self.reason and lost

    def _load_halved(self) -> bool:
        """Start again from the last load that was reached, half as far; False where that step has become too small."""
        reached, state = self._reached
        gap = self._stage.load - reached
        if abs(gap) < _LEAST_LOAD_STEP * max(abs(self.load), abs(reached)):
            self.reason = (
                f"its equilibrium can be followed up to {reached:.6g} times its loads and no further: there is a limit point, "
                "beyond which it snaps through or collapses, or another branch begins"
            )
            return False
        self._stages = [self._stage._replace(load=reached + 0.5 * gap), self._stage, *self._stages]
        self.reason = ""
        self._begin(state)
        return True
