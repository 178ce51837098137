"""Searches by Newton's method in steps of the loads: for the nearest equilibrium, and under forces that come from no energy."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..model.assembly import Assembly
from ..model.topology import Topology
from ..numerics.sparse_tools import add_diagonal
from ..numerics.trust_region import NULL_SHARE, Step
from ..validation.arguments import choice, instance
from .merit_function import Point
from .search import Iteration, Reached, Relaxation, Stage
from .stiff_valleys import brought_to_rest
from .working_point import WorkingPoint

_LEAST_LOAD_STEP = 1e-4  # of the load wanted
_UNHELD = 1e-3  # of a change of forces: what the stiffness leaves of it where nothing holds the motion that it pushes
_JUMPED = "it jumped to an equilibrium on another branch"
_FREE_STEPS = 20  # near an equilibrium Newton's method is quick, or lost
# times the motion that the tangent foresees: beyond, it is another branch (up to a limit point the factor is 2)
_JUMP = 2.5


class Following(Relaxation):
    """A :class:`Relaxation` towards the nearest equilibrium, from no load or from the load of ``start``.

    Where Newton's method does not get there, the load step is halved; where even small steps fail, there is no such
    equilibrium nearby.
    """

    seek = "nearest"
    convex = False

    def _begin(self, state) -> None:
        self._descends = False
        super()._begin(state)
        self._from, self._foreseen = state, self._tangent(state)

    def _tangent(self, state) -> float:
        """How far (m) this stage's loads move the bodies by the stiffness at its start; inf where that cannot tell."""
        reached, stage, land = self._reached, self._stage, self._land
        land.load, land.raised = reached.load, reached.raised
        before = land.evaluate(state, 2)
        at_rest = self._at_rest(before)
        land.load, land.raised = stage.load, stage.raised
        if not at_rest or reached[:2] == (stage.load, stage.raised):
            return np.inf
        pushed = before._replace(gradient=self._point.gradient - before.gradient)
        step = Relaxation._solve(self, pushed, np.inf, False).p
        k, push, _ = land.scaled(pushed)
        left = push + k @ step
        if before.tangent is not None:
            push, left = before.tangent.along(push), before.tangent.along(left)
        if np.linalg.norm(left) > _UNHELD * np.linalg.norm(push):
            return np.inf
        return float(np.linalg.norm(step[: 6 * (self.topology.units - 1)].reshape(-1, 6)[:, :3]))

    def _settle(self, residual: float, arrived: bool) -> bool:
        moved = np.linalg.norm(self._point.state.o - self._from.o)
        if moved > _JUMP * self._foreseen + 1e-6 * self._size:
            self.reason = _JUMPED
            return True
        done = super()._settle(residual, arrived)
        # steps of the loads alone have been held against what the tangent foresees
        unforeseen = self.seek == "nearest" and np.isinf(self._foreseen)
        if self.converged and unforeseen and self._leaves_its_branch() is not False:
            self.converged, self.reason = False, _JUMPED
        return done

    def result(self) -> WorkingPoint:
        self._origin = None if self.seek == "nearest" else self._origin  # what has left its branch is refused already
        return super().result()

    @property
    def most_steps(self) -> int:
        return Relaxation.most_steps if self._descends else _FREE_STEPS

    def _solve(self, point: Point, radius: float, convex: bool) -> Step:
        if self.topology.conservative:
            return super()._solve(point, radius, convex)
        k, g, _ = self._land.scaled(point)
        n = len(g)
        # what nothing holds would make it singular; where there is stiffness, this is taken back out
        whole = add_diagonal(k, np.full(n, NULL_SHARE * (np.abs(k.data).max(initial=0.0) or 1.0)))
        if point.tangent is not None:
            held = point.tangent.slopes
            # dependent rows get along with each other through a small number beside the others
            small = 1e-10 / (abs(k.diagonal()).max(initial=0.0) or 1.0)
            whole = sp.bmat([[whole, held.T], [held, -small * sp.identity(held.shape[0])]], format="csc")
        lu = splu(whole)

        def once(right):
            return lu.solve(np.concatenate([right, np.zeros(whole.shape[0] - n)]))[:n]

        def solve(right):
            x = once(right)
            for _ in range(2):
                x += once(right - k @ x)
            return x

        p = -solve(g)
        length = np.linalg.norm(p)
        p *= min(1.0, radius / length) if length > 0.0 else 1.0
        return Step(p, 0.0, 0.0, False, lambda d, limit: -solve(d))

    def _corrected(self, step: Step, trial: Point) -> Point:
        return brought_to_rest(self._land, self._point, step, trial)

    def _judge_far(self, step, trial: Point) -> bool:
        if not self._descends:
            return bool(np.isfinite(trial.energy) and np.all(np.isfinite(trial.gradient)))
        if np.linalg.norm(self._land.pull(trial)) < np.linalg.norm(self._land.pull(self._point)):
            self._radius = min(2.0 * self._radius, self._size)
            return True
        self._radius = 0.25 * min(self._radius, np.linalg.norm(step.p))
        return False

    def retry(self) -> None:
        """Go in load steps; where even small ones fail, lower the residual forces from the start instead."""
        while not self.converged and self._load_halved():
            for _ in self:
                pass
        if not self.converged and self._reached.load == 0.0:
            lost = self.reason
            self._restart(self._reached._replace(state=self._start))
            self._descends = True
            for _ in self:
                pass
            self.reason = self.reason and lost

    def _restart(self, reached: Reached) -> None:
        """Search from a state at rest, straight for all loads."""
        self.reason, self._reached = "", reached
        self._stages = [Stage(1.0, np.inf, self.load, 1.0)]
        self._begin(reached.state)

    def _load_halved(self) -> bool:
        """Start again from the last loads that were reached, half as far; False where that step has become too small."""
        reached, stage = self._reached, self._stage
        gap = abs(stage.load - reached.load) / (max(abs(self.load), abs(reached.load)) or 1.0)
        if max(gap, abs(stage.raised - reached.raised)) < _LEAST_LOAD_STEP:
            if reached[:2] == (self.load, 1.0):
                self.reason = (
                    "Newton's method leads from the start to no equilibrium nearby: change its parameters in smaller steps, or "
                    "use trace()"
                )
            else:
                far, what = (reached.load, "its loads") if reached.raised == 1.0 else (
                    reached.raised, "those of its loads that have no energy (torques, follower loads)"
                )  # fmt: skip
                self.reason = (
                    f"its equilibrium can be followed up to {far:.6g} times {what} and no further: there is a limit "
                    "point, beyond which it snaps through or collapses, or another branch begins"
                )
            return False
        halfway = stage._replace(load=0.5 * (reached.load + stage.load), raised=0.5 * (reached.raised + stage.raised))
        self._stages = [halfway, stage, *self._stages]
        self.reason = ""
        self._begin(reached.state)
        return True


class Raising(Following):
    """A search under forces that come from no energy: for rest without them, from which they are raised step by step.

    From a ``start``, under the loads that rest there, if Newton's method gets on from it; and from no load at all, where there
    is no rest without them.
    """

    seek = "stable"

    def __init__(self, topology: Topology, assembly: Assembly, *, load: float, start: WorkingPoint | None):
        super().__init__(topology, assembly, load=load, start=start)
        self._without: Relaxation | None = None
        self._from_start = start
        if start is None:
            self._rest_without()

    def _rest_without(self) -> None:
        first = Relaxation(self.topology, self.assembly, load=self.load, start=self._from_start, raised=0.0)
        first.history, first.notes = self.history, self.notes
        self._without = first

    def step(self) -> Iteration:
        if self._without is None:
            return super().step()
        first = self._without
        step = first.step()
        if first.finished:
            self._raise_from(first)
        return step

    def _raise_from(self, first: Relaxation) -> None:
        self._without = None
        if not first.converged:
            first.retry()
        self.assembly.soften(np.inf, 0.0)
        rest = Reached(self.load, 0.0, first.state) if first.converged else Reached(0.0, 1.0, self._start)
        self._restart(rest)

    def retry(self) -> None:
        if self._from_start is not None:
            self._rest_without()
            self.reason, self._from_start = "", None
            for _ in self:
                pass
        super().retry()
        if not self.converged and self._reached.raised < 1.0:
            lost = self.reason
            self._restart(Reached(0.0, 1.0, self._start))
            for _ in self:
                pass
            super().retry()
            self.reason = self.reason and lost


def search(
    topology: Topology, assembly: Assembly, *, seek: str, load: float = 1.0, start: WorkingPoint | None = None
) -> Relaxation:
    """The search for a stable or for the nearest equilibrium of a system, as its forces allow."""
    choice(topology.label, "seek", seek, ("stable", "nearest"))
    if start is not None:
        instance(topology.label, "start", start, WorkingPoint, "a working point of this system, or None")
    kind = Following if seek == "nearest" else Relaxation if topology.conservative else Raising
    return kind(topology, assembly, load=load, start=start)
