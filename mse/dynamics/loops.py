"""Steps of rigid bodies on joints that close loops; compiled in :mod:`mse.kernels.multibody_steps`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..errors import ModelError
from ..kernels import multibody, multibody_steps
from ..kernels.multibody_steps import Rules
from ..kernels.steps import Method, Passed, Sampled
from ..model.configuration import State
from ..model.joint_assembly import OPEN
from ..numerics.dop853 import dop853
from ..numerics.precision import EPS
from .bodies import Bodies, NotElementary
from .charts import JointsOpen, StepFailed, open_at
from .compiled_steps import CompiledSteps, Interpolation
from .moments import Moment

# Times the pivot below which rounding denies the tolerance: if a stage has a smaller one, constraints are restored in all stages.
# With a third and with ten times of it tests/dynamics/test_bodies.py passes.
_NEAR = 3.0
# Where a stage is so near to a dead point that rounding shows, a step that is shorter by this factor has its stages elsewhere;
# tried so often (tests/dynamics/test_bodies.py::test_steps_pass_a_dead_point_as_if_there_were_none).
_ELSEWHERE, _TRIES = 0.87, 8


def dead_pivot(rtol: float) -> float:
    """The pivot of a row that closes a loop, see :mod:`mse.kernels.multibody_fronts`, below which rounding denies a tolerance.

    Rounding makes an acceleration uncertain by EPS / l^3 of its size, where l^2 is the pivot.  That is the tolerance here.
    """
    return (EPS / rtol) ** (2.0 / 3.0)


class OfBodies(CompiledSteps):
    """Steps of bodies, in coordinates of charts about their poses at the begin of each."""

    complete = False

    def __init__(self, bodies: Bodies):
        super().__init__(bodies, len(bodies.followed))

    def left(self, moment: Moment) -> np.ndarray | None:
        return self.bodies.left(moment)

    def angles(self, state: State) -> np.ndarray:
        return np.array([state.memory[g][k, r] for g, k, r in self.bodies.followed])

    def state(self, o: np.ndarray, u: np.ndarray, angles: np.ndarray, before: State) -> State:
        return before._replace(o=o, U=u)


class LoopSteps(OfBodies):
    """Steps of order 8 of bodies."""

    def __init__(self, bodies: Bodies, method: Method):
        super().__init__(bodies)
        equations, n, rows, dead = bodies.equations, bodies.equations.size, bodies.held, dead_pivot(method.limits[0])
        apart = np.array([OPEN * equations.measure.outermost, dead, _ELSEWHERE, _TRIES])
        self._method, self._parts = method, (7, 2 * n + 2)  # of an interpolation
        self._rules = Rules(
            equations.measure.metric, bodies.limits(_NEAR * dead), apart,
            np.zeros(5), np.ones(rows, dtype=bool), np.ones(rows, dtype=bool), bodies.extra,
            np.zeros((3, 2 * n + 2)), np.zeros((dop853.N_STAGES_EXTENDED, 2 * n + 2)), np.zeros(2 * n),
        )  # fmt: skip

    @np.errstate(all="ignore")
    def march(self, begin: Moment, passed: Passed, until: float, sampled: Sampled) -> tuple[int, int, int]:
        b, many = self.bodies, 1 if len(sampled.time) else len(passed.made)
        self._dense, self._independent = np.zeros((many, *self._parts)), np.zeros((many, b.held), dtype=bool)
        found = multibody_steps.march(
            multibody.run_address(), b.model, b.work, *b.exerting(begin.state, begin.v), self._method, self._rules, passed, until,
            sampled, self._dense, self._independent,
        )  # fmt: skip
        b.refuse_broken(found[0] > 0)
        return found

    def failed(self, begin: Moment) -> Exception:
        if self.bodies.missed:
            return NotElementary()
        e, gaps, (open_by, dead, *_) = self.equations, self._rules.gaps, self._rules.apart
        if gaps[3] < dead:
            return ModelError(
                f"{e.topology.label}: no step from t = {begin.time:.6g} s on keeps rtol = {self._method.limits[0]:g} next to a "
                f"dead point of joints, where rounding makes accelerations uncertain by up to {EPS / gaps[3]:.0e} of their size; "
                "expected a larger rtol"
            )
        if not gaps[2] <= open_by:
            work, state = self.bodies.work, begin.state
            return JointsOpen(
                open_at(e.evaluation(state._replace(o=work.o.copy(), U=work.u.copy()), begin.time), begin.time)
            )
        return StepFailed()

    def interpolation(self, s: int) -> Interpolation:
        return partial(self._between, self._dense[s], self._independent[s])

    def _between(
        self, dense: np.ndarray, independent: np.ndarray, passed: Passed, s: int, begin: Moment
    ) -> Callable[[Sampled], None]:  # fmt: skip
        n, chart = len(begin.v), self.bodies.chart(begin.state, 0.0, independent)
        first = np.concatenate([np.zeros(n), begin.v, [begin.damped, begin.driven]])

        def put(sampled: Sampled) -> None:
            (t,) = sampled.time.tolist()
            x, way = (t - begin.time) / passed.made[s], 0.0
            for j in range(6, -1, -1):
                way = (way + dense[j]) * (1.0 - x if j % 2 else x)
            y = first + way
            found = chart.settled(y, t)
            sampled.o[0], sampled.u[0] = found.state.o, found.state.U
            sampled.v[0], sampled.works[0] = found.v, y[2 * n :]

        return put
