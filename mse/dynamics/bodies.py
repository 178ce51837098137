"""Rigid bodies on joints in compiled code (:mod:`mse.kernels.multibody`): rates at coordinates of a chart, constraints restored.

Springs along lines and rods are there, too, and joints whose displacements or angles are prescribed.  Wires, bushings, springs
that go slack and actuators act by their own kernels, which that code calls.  It asks Python for the values of inputs, and for
the forces of all other elements.  Systems with other masses or constraints have no such code.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from ..kernels import joints, multibody
from ..kernels.acting import Acting
from ..kernels.by_address import BROKEN, GOOD, NOT_GOOD, InPython
from ..kernels.jit import writable
from ..kernels.multibody import Model, Work
from ..model.configuration import State
from ..model.joint_assembly import CLOSED, OPEN
from .accelerations import Equations
from .acting import NOTHING_ACTS, ActingElements, Rows, pushes
from .body_models import Shares, model_of, rows_of_joints
from .charts import JointsOpen, Settled, StepFailed, displaced, open_at
from .moments import Moment
from .seats import LINE, Seat, drives_of, gears_of, measure_pushed

# Pivots of rows relative to those of rows alone, below which rows depend on others, and of bodies relative to their terms, below
# which they have no mass.  With a tenth and ten times of each tests/dynamics/test_bodies.py passes.
_DEPENDENT = 1e-13
_NO_MASS = 1e-11
# Above all pivots, so that forces of joints are always corrected for their rounding.  Where four-bars in a row are nearly flat,
# the correction makes them thirty times as exact.
_EXACT = 2.0


class NotElementary(StepFailed):
    """Some body has no mass along a motion, or a joint depends on itself: numpy finds what moves then."""


class Bodies:
    """A system of rigid bodies on joints as arrays, with room to evaluate it in."""

    def __init__(self, equations: Equations, model: Model, shares: Shares, holding: list[Seat], measuring: list[Seat]):
        self.equations, self.model, self.holding, self.measuring = equations, model, holding, measuring
        self.followed = [(*m.joint, m.angle) for m in measuring if m.code != LINE]  # behind them are the lines
        bodies, rows = len(model.bodies), len(model.held)
        self.held = sum(len(seat.rows) for seat in holding)
        sizes = model.fronts[:, 2]
        shapes = (
            (bodies + 1, 3), (bodies + 1, 3, 3), (bodies + 1, 3), (bodies + 1, 6), (rows, 12), rows, rows,
            (int(sizes.sum()), int(sizes.max())), len(model.columns), 6 * bodies, 6 * bodies + rows,
            6 * bodies + rows, 12 * bodies + 2, (36, 3),
        )  # fmt: skip
        self.work = Work(*map(np.zeros, shapes))
        self.work.u[0] = np.eye(3)  # the ground stays
        self.shares, self.drives = shares, drives_of(holding)
        steady = equations.inputs.steady
        self._steady, self._varying = ([n for n in shares.inputs if steady(n) == same] for same in (True, False))
        self.alone = not (shares.in_python or self._varying or self.drives)
        self.extra = np.zeros(6 * bodies + 2)  # forces in Python, and powers of dampers and others
        self._asked = None if self.alone else InPython(self._answer)
        self._asked_at = np.nan  # the time (s) of inputs in the arrays
        self._state: State | None = None  # at the begin of a step
        # where the forces of inputs along joints go: springs, and the number of one by joint and measure
        self._springs = model.springs, {(m.joint, m.code): k for k, m in enumerate(measuring) if m.code != LINE}
        self._error: BaseException | None = None  # in Python while compiled code asked for forces

    @classmethod
    def of(cls, equations: Equations, early: bool = False) -> Bodies | None:
        """None for a system that has not only rigid bodies on joints, or whose rotation vectors are driven.

        If it is ``early``, laws are taken for records, and rows of laws have no weights yet, since both need compiled code.
        """
        found = model_of(equations, early)
        return None if found is None else cls(equations, *found)

    @property
    def acting(self) -> bool:
        """Whether elements act by kernels of their own."""
        return bool(self.shares.actors)

    @property
    def lawful(self) -> bool:
        """Whether laws or gears hold something."""
        return bool(self.shares.laws or self.shares.gears)

    @cached_property
    def elements(self) -> ActingElements | None:
        """Elements that act, None if none do; their kernels are compiled when they are asked for."""
        if not (self.acting or self.lawful):
            return None
        rows = Rows(self.shares.laws, *gears_of(self.shares, self.holding, self.measuring))
        return ActingElements(self.equations, self.shares.actors, rows, rows_of_joints(self.holding))

    def push_springs(self, springs: np.ndarray, numbers: Mapping[tuple[tuple[int, int], int], int]) -> None:
        """Have the forces of inputs along joints in other arrays of springs, whose numbers are given by joint and measure."""
        self._springs = springs, numbers

    @cached_property
    def _places(self) -> dict[str, tuple[np.ndarray, tuple[int, int]]]:
        """The array, and the place there, for the value of each input, by name.

        Inputs of joints within the ground are left out, since nothing moves there.
        """
        of = {el.path: (g.number, k) for g in self.equations.assembly.groups for k, el in enumerate(g.elements)}
        pushing, found, (springs, numbers) = [el.path for el in self.shares.actors.pushing], {}, self._springs
        for name, (el, column) in self.shares.inputs.items():
            if pushes(el):
                found[name] = self.elements.inputs, (pushing.index(el.path), column)
            elif (at := (of[el.path], measure_pushed(el, column))) in numbers:
                found[name] = springs, (numbers[at], 4)
        return found

    def exerting(self, state: State, v: np.ndarray) -> tuple[int, int, Acting]:
        """What acts in a step from a state on: the address that asks Python, and see :meth:`.ActingElements.remembering`."""
        self._state, self._asked_at = state, np.nan  # inputs may have been set to other values
        self._put_values(self._steady, np.nan)
        found = NOTHING_ACTS if self.elements is None else self.elements.remembering(state, v)
        if found is None:
            raise NotElementary
        return 0 if self._asked is None else self._asked.at, *found

    @property
    def missed(self) -> bool:
        """Whether an element has gone another way than compiled code goes, since :meth:`exerting`."""
        return self.elements is not None and self.elements.missed

    def _answer(self, time: float, without_forces: int) -> int:
        """Give compiled code what it asks for.  Its callers keep numpy from warning, once for all times that it asks."""
        try:
            if time != self._asked_at:  # matrices of implicit steps ask many times
                self._asked_at = np.nan
                self._drive(time)
                self._put_values(self._varying, time)
                self._asked_at = time
            if self.shares.in_python and not without_forces:
                self._put_extra(time)
        except BaseException as error:  # compiled code passes none on, not even Ctrl-C
            self._error = error
            return BROKEN
        return GOOD

    def _put_values(self, names: list[str], time: float) -> None:
        """Put the values of some inputs at a time (s) where compiled code reads them."""
        for name in names:
            if name in self._places:
                array, place = self._places[name]
                array[place] = self.equations.inputs.force(name, time)

    def _put_extra(self, time: float) -> None:
        e, work, n = self.equations, self.work, self.equations.size
        here = e.evaluation(self._state._replace(o=work.o.copy(), U=work.u.copy()), time)
        at, v, given = here.configuration, work.motion[1:].ravel(), e.inputs.forces(time, here)
        force, *powers = e.of_elements(at, v, self.shares.groups, self.shares.parts, e.frame_motions(at, v)[0])
        damped, driven = (sum(map(np.sum, each)) for each in powers)
        self.extra[:n], self.extra[n:] = force + given, (damped, driven + given @ v)

    def refuse_broken(self, made: bool = False) -> None:
        """Raise what Python raised when compiled code asked it, unless another way was found: a shorter step was ``made``."""
        error, self._error = self._error, None
        if error is not None and not (made and isinstance(error, Exception)):
            raise error

    def _drive(self, time: float) -> None:
        """Hold joints where they are driven to at a time (s), with rates and accelerations."""
        model, ways = self.model, self.equations.inputs.ways(time) if self.drives else {}
        for row, code, target, number in self.drives:
            way, rate, acceleration = ways[number]
            factors, model.held[row, 0] = joints.moved(code, target + way)
            terms = slice(model.first_term[row], model.first_term[row + 1])
            model.factors[terms] = factors[model.scalars[terms]]
            model.held[row, 3:5] = rate, acceleration

    def left(self, moment: Moment) -> np.ndarray | None:
        """``M a - f`` (n,) at a moment, by the rows of joints; None where numpy finds what moves."""
        n, rows, slopes = self.equations.size, self.held, np.zeros((1, 12 * len(self.model.bodies) + 2))
        y, begin = np.concatenate([np.zeros(n), moment.v, np.zeros(2)]), (np.zeros(1), np.zeros((1, 1)))
        try:
            self.chart(moment.state, _EXACT)._run(moment.time, y, 0.0, begin, range(1), False, slopes)
        except NotElementary:
            return None
        out = np.zeros((len(self.model.bodies) + 1, 6))
        pull = self.work.solution[n + self._row_of, None] * self.work.slope[:rows]
        for side in range(2):
            np.subtract.at(out, self._sides[:, side], pull[:, 6 * side : 6 * side + 6])
        return out[1:].ravel()

    @cached_property
    def _row_of(self) -> np.ndarray:
        """The row (R,) of whose bodies each has some: itself, or that of a law or gear on more than two bodies."""
        return np.maximum.accumulate(np.where(self.model.held[: self.held, 5] != 0.0, np.arange(self.held), 0))

    @cached_property
    def _sides(self) -> np.ndarray:
        """Bodies (R, 2) on both sides of each row that holds."""
        holding = self.model.joints[: len(self.holding)]
        return np.repeat(holding[:, :2], holding[:, 7] - holding[:, 6], axis=0)

    def limits(self, near: float) -> np.ndarray:
        """Limits (5,) of :func:`mse.kernels.multibody.run`, for stages that are restored where pivots are below ``near``."""
        measure = self.equations.measure
        return np.array([measure.size, CLOSED * measure.outermost, _DEPENDENT, _NO_MASS, near])

    def chart(self, state: State, near: float, independent: np.ndarray | None = None) -> BodiesChart:
        """Coordinates about the poses of a state, with limits as above; which rows (R,) are independent there, if it is known."""
        return BodiesChart(self, state, near, np.ones(self.held, dtype=bool) if independent is None else independent)


class BodiesChart:
    """Coordinates about the poses of a state, with the rows of joints that are independent there."""

    def __init__(self, bodies: Bodies, state: State, near: float, independent: np.ndarray):
        self._bodies, self._state = bodies, state
        self._poses = writable(state.o), writable(state.U)
        self._memory = np.array([state.memory[g][k, r] for g, k, r in bodies.followed])
        self._gaps, self._limits, self._independent = np.zeros(4), bodies.limits(near), independent

    @np.errstate(all="ignore")
    def _run(
        self, time: float, y: np.ndarray, h: float, coefficients: tuple[np.ndarray, np.ndarray], stages: range,
        restoring: bool, slopes: np.ndarray,
    ) -> int:  # fmt: skip
        b = self._bodies
        self._gaps[3] = 1.0
        found = multibody.run(
            b.model, b.work, *b.exerting(self._state, y[6 * len(b.model.bodies) : -2]), *self._poses, self._memory, b.extra,
            self._independent, time, y, h, *coefficients, stages.start, stages.stop, restoring, slopes, self._limits, self._gaps,
        )  # fmt: skip
        b.refuse_broken()
        if found == NOT_GOOD or b.missed:
            raise NotElementary
        return found

    def settled(self, y: np.ndarray, t: float) -> Settled:
        """State and velocities at coordinates y (2 n + 2,) with constraints restored; ModelError where they cannot be.

        Elements remember what they did before.
        """
        e, work, n = self._bodies.equations, self._bodies.work, self._bodies.equations.size
        y, nothing = y.copy(), np.zeros((1, 1))
        chosen = self._independent
        self._independent = chosen.copy()
        self._run(t, y, 0.0, (nothing[0], nothing), range(0), False, nothing)
        self._independent = chosen
        distance, speed, open_by, _ = self._gaps.tolist()
        if not open_by <= OPEN * e.measure.outermost:
            raise JointsOpen(open_at(e.evaluation(displaced(self._state, y[:n]), t), t))
        state = self._state._replace(o=work.o.copy(), U=work.u.copy())
        return Settled(state, y[n : 2 * n], distance, speed)
