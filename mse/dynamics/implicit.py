"""Steps of stiff motions by Radau IIA of order 5, with constraints on positions and on velocities at once.

    ``x' = P(x) (v + G' m)``,  ``M v' = f - c - A' l``,  ``g(x) = 0``,  ``A v = u'``

Three stages are solved together by Newton's method; its matrices are dynamic stiffnesses (:mod:`mse.dynamics.jacobian`).  M may
be singular where stiffness or damping holds what has no mass, and fast vibrations that no step resolves die out.  The
multipliers m, zero but for errors, keep positions on the constraints whose slopes are G (C. W. Gear, B. Leimkuhler and
G. K. Gupta, J. Comput. Appl. Math. 12 (1985) 77).  Method, error estimate and control are those of RADAU5 (E. Hairer and
G. Wanner, Solving Ordinary Differential Equations II, 1996, IV.8).  Between its ends a step has moments on polynomials through
its middle, where half of it ends.  They keep the order of the method; RADAU5's own polynomials are of order 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels.implicit_steps import Limits, Radau
from ..kernels.rotations import inverse_left_jacobian
from ..numerics.precision import EPS, NOTHING
from .accelerations import Equations
from .charts import Chart, Settled, StepFailed, displaced, no_moment
from .implicit_bodies import implicit_steps_of
from .jacobian import Jacobian, Unknowns
from .moments import Moment, Step
from .settling import differentiated
from .sparse_jacobian import SparseJacobian
from .steppers import AT_REST, LONG, TURN, Stepper, idle, speed_scale


def _method() -> tuple[np.ndarray, ...]:
    """Nodes, inverse of the weights (3, 3), last weights, and eigenvalues and vectors of that inverse, the real one first."""
    nodes = np.array([0.4 - np.sqrt(0.06), 0.4 + np.sqrt(0.06), 1.0])
    powers = nodes[:, None] ** np.arange(3)
    weights = (nodes[:, None] * powers / np.arange(1, 4)) @ np.linalg.inv(powers)
    inverse = np.linalg.inv(weights)
    values, vectors = np.linalg.eig(inverse)
    order = [int(np.abs(values.imag).argmin()), int(values.imag.argmax()), int(values.imag.argmin())]
    return nodes, inverse, weights[2], values[order], vectors[:, order]


def _between() -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (6, 6) of polynomials: from values and slopes at 0, 1/2 and 1; of integrals from values at six stages."""
    powers, at = np.arange(6), np.array([0.0, 0.5, 1.0])[:, None]
    slopes = powers * at ** np.maximum(powers - 1, 0)
    stages = np.concatenate([0.5 * _NODES, _NODES])[:, None]
    return np.linalg.inv(np.vstack([at**powers, slopes])), np.linalg.inv(stages**powers) / (powers[:, None] + 1.0)


_NODES, _INVERSE, _WEIGHTS, _VALUES, _VECTORS = _method()
_BACK = np.linalg.inv(_VECTORS)
_REAL = float(_VALUES[0].real)
_THROUGH, _WORKS = _between()
_ROOT = np.sqrt(6.0)
_ERROR = np.array([-13.0 - 7.0 * _ROOT, -13.0 + 7.0 * _ROOT, -1.0]) / 3.0  # RADAU5's, times the real eigenvalue
# RADAU5's numbers: the estimate is of order 3, so its tolerance follows from the one of the steps, of order 5; factors on steps
_ESTIMATED, _POWER = 0.1, 2.0 / 3.0
_SAFE, _LEAST, _MOST = 0.9, 0.2, 8.0
_ITERATIONS, _END = 10, 0.03  # of Newton's method, and the change in tolerances of the estimate at which RADAU5 ends it
_ORDER = 4.0  # of the estimate
# Times rtol, of the size of a system: the part of positions within a step that the velocity at its begin contributes is at most a
# seventieth of it.  With a tenth and ten times of it tests/dynamics/test_implicit.py passes.
_SMOOTH = 100.0
# Of the size of a system, and of its speed: by how much compiled code changes positions and velocities to differentiate
# accelerations.  With a tenth and ten times of it tests/dynamics/test_implicit_bodies.py passes.
NUDGE = 1e-7
_FIRST = 1e-2  # of the time in which accelerations change a motion: the first step


def _judged(rtol: float) -> tuple[float, float]:
    """The tolerance of the estimate for a relative one, and the change in these tolerances at which Newton's method ends."""
    estimated = max(_ESTIMATED * rtol**_POWER, 10.0 * EPS)
    return estimated, max(10.0 * EPS / estimated, min(_END, np.sqrt(estimated)))


class _Stages(NamedTuple):
    """What Newton's method found: unknowns (3, n) and (3, k) of the stages, powers (3, 2), and how many iterations it took."""

    x: np.ndarray
    v: np.ndarray
    velocity: np.ndarray
    position: np.ndarray
    powers: np.ndarray
    iterations: int


class ImplicitStepper(Stepper):
    """Steps of stiff motions."""

    nodes = np.append(0.0, _NODES)

    def __init__(self, equations: Equations, rtol: float, until: float | None = None):
        super().__init__(equations, rtol, until)
        # compiled code knows no motions without mass
        if not (equations.massless or equations.undecided or equations.hidden):
            limits = Limits(
                rtol, equations.measure.size, *_judged(rtol), _END, NOTHING, TURN, AT_REST, LONG, NUDGE,
                _SAFE, _LEAST, _MOST, _ITERATIONS, _FIRST, int(bool(equations.inputs.varying)),
            )  # fmt: skip
            coefficients = _NODES, _INVERSE, _WEIGHTS, _VALUES[:2], _VECTORS, _BACK, _ERROR, equations.measure.metric
            # numba compiles for each layout of arrays
            radau = Radau(*map(np.ascontiguousarray, coefficients), limits)
            self._compiled = implicit_steps_of(equations, radau)

    def _single(self, begin: Moment) -> Step:
        return _Steps(self.equations, self.rtol, begin).taken()


class _Steps:
    """Trials of one step."""

    def __init__(self, equations: Equations, rtol: float, begin: Moment):
        self._equations, self._begin, self._evaluations = equations, begin, 1
        e, measure = equations, equations.measure
        self._metric, self._size = measure.metric, measure.size
        self._bodies = 6 * (e.assembly.bodies - 1)
        here = e.evaluation(begin.state, begin.time)
        self._matrices = (SparseJacobian if e.sparse else Jacobian)(e, here, begin.v)
        self._solver: Callable[..., Unknowns] | None = None  # by the real eigenvalue, of the last trial
        self._free = ~self._matrices.massless
        # what flows where, and what an effort drives through the largest resistance (measured, m/s)
        resistance = self._matrices.damping.diagonal() * self._metric**2
        self._flows = [
            (k, self._metric[k] * effort / most) for k, effort in e.without_store if (most := resistance[k].max()) > 0.0
        ]
        self._force = e.pull(here, begin.v, begin.time).force / self._metric
        if not np.isfinite(self._force).all():
            raise StepFailed
        self._v = self._metric * begin.v
        if e.undecided:  # which stays; guesses would make more of its rounding in each step
            self._v -= self._matrices.bare @ (self._matrices.bare.T @ self._v)
        fastest = float(np.abs(self._v).max(initial=0.0))
        pull = np.abs(self._matrices.pulled(self._force)).max(initial=0.0)  # of what has mass (m/s2)
        pulled = float(np.sqrt(self._size * pull))
        self._speed = speed_scale(fastest, pulled, self._size)
        self._tolerance = rtol
        self._accelerate(min(begin.step or _FIRST * self._size / self._speed, 1.0 / NOTHING))
        self._estimated, self._close = _judged(rtol)
        turn = np.abs(begin.v[: self._bodies].reshape(-1, 6)[:, 3:]).max(initial=0.0)
        self._longest = TURN / float(turn) if turn else np.inf
        self._shortest = idle(self._size / self._speed, begin.time)

    def _accelerate(self, h: float) -> None:
        """Put accelerations and reactions into the slopes, as a short step of Euler's method finds them."""
        m = self._matrices
        if len(m.chosen):
            s = _REAL / h
            found = m.solver(s)(self._v, self._force, np.zeros(len(m.held)), np.zeros(len(m.chosen)))
            m.accelerate(s * found.v, found.velocity)

    # -- steps ------------------------------------------------------------------------------------------------
    def taken(self) -> Step:
        """The longest step that keeps the tolerance, found from the length that is given."""
        begin, equations = self._begin, self._equations
        h = min(begin.step or _FIRST * self._size / self._speed, self._longest)
        follows = _MOST
        while True:
            h = max(h, self._shortest)
            stages = self._solved(h, None)
            if stages is None:
                h, follows = self._shorter(h, 0.5), 1.0
                continue
            error = self._error(stages, h, repeated=follows == 1.0 or begin.step is None) / self._share(stages, h)
            safe = _SAFE * (2.0 * _ITERATIONS + 1.0) / (2.0 * _ITERATIONS + stages.iterations)
            change = min(_MOST, safe * error ** (-1.0 / _ORDER)) if error else _MOST
            if not error < 1.0:
                h, follows = self._shorter(h, max(_LEAST, change) if change < 1.0 else _LEAST), 1.0
                continue
            try:
                end = self._settled(stages.x[2], stages.v[2], h)
            except ModelError:  # a shorter step may be nearer to where joints close
                if h <= self._shortest:
                    raise
                h, follows = _LEAST * h, 1.0
                continue
            apart = max(end.distance / self._size, end.speed / self._speed) / self._tolerance
            if apart <= 1.0:
                break
            h, follows = self._shorter(h, max(_LEAST, _SAFE * apart ** (-1.0 / _ORDER))), 1.0
        moment = self._moment(end, h, h * (_WEIGHTS @ stages.powers), h * min(follows, change))
        within = _Within(self, stages, h)

        def at(t: float) -> Moment:
            if t in (begin.time, moment.time):
                return begin if t == begin.time else moment
            found = within(t - begin.time)
            if found is None:
                raise no_moment(equations.topology.label, t, begin.time, moment.time)
            return found

        return Step(begin, moment, at, self._evaluations)

    def _share(self, stages: _Stages, h: float) -> float:
        """Of the tolerance of the estimate: what it is for a motion by much less than the size of the system.

        Of a motion by A the estimate is ``A (w h)^4``, where the error of the method is ``A (w h)^6``.
        """
        moved = self._estimated * self._measured(stages.x[2], np.zeros_like(self._v), h)
        return float(np.clip(moved, self._tolerance, 1.0)) ** (1.0 / 3.0)

    def _shorter(self, h: float, factor: float) -> float:
        if h <= self._shortest:
            raise StepFailed
        return factor * h

    def _moment(self, end: Settled, h: float, works: np.ndarray, step: float | None) -> Moment:
        """The moment a time h (s) behind the begin, up to which dampers and other forces did works (2,)."""
        b = self._begin
        damped, driven = (np.array([b.damped, b.driven]) + works).tolist()
        e, v, t = self._equations, end.v, b.time + h
        if e.hidden:  # rates that stages know to a lower order
            v = differentiated(e, e.evaluation(end.state, t), v, t)
        return Moment(t, end.state, v, damped, driven, step, b if step is None else None)

    def _settled(self, x: np.ndarray, v: np.ndarray, h: float) -> Settled:
        y = np.concatenate([x, v]) / np.tile(self._metric, 2)
        return Chart(self._equations, self._begin.state).settled(np.append(y, [0.0, 0.0]), self._begin.time + h)

    # -- Newton's method --------------------------------------------------------------------------------------
    def _measured(self, x: np.ndarray, v: np.ndarray, h: float) -> float:
        """Root mean square of changes (..., n) of positions, and of velocities, in tolerances of the estimate.

        A velocity counts by what it moves in a step: vibrations that no step resolves have velocities, but hardly move.  What
        flows into no store counts by what flows in the step.
        """
        weight = np.ones(len(self._metric))
        for k, least in self._flows:
            weight[k] = self._size / (h * np.maximum(np.abs(self._v[k]).max(), least))
        both = np.hstack([weight * x, (h * weight * v)[..., self._free]])
        return float(np.sqrt(np.mean(np.square(both)))) / (self._estimated * self._size)

    def _solved(self, h: float, like: tuple[_Stages, float] | None) -> _Stages | None:
        """The stages of a step h (s), None if Newton's method does not converge.

        With ``like``, the stages of a longer step from the same moment and the share of it that h is, it starts from these.
        """
        m = self._matrices
        k, p = len(m.chosen), len(m.held)
        solvers = [m.solver(_REAL / h), m.solver(complex(_VALUES[1]) / h)]
        if like is None:  # as a short step of Euler's method goes
            self._solver = solvers[0]
            along = _NODES[:, None]
            found = solvers[0](self._v, self._force, np.zeros(p), np.zeros(k))
            x = along * h * self._v + _REAL * along**2 * (_REAL * found.x - h * self._v)
            v = self._v + _REAL * along * found.v
            velocity, position = np.tile(found.velocity, (3, 1)), np.zeros((3, p))
        else:
            x, v, velocity, position = self._within(*like)
        # rates in a part of a step that was solved are rounding of positions, divided by a time that may be very short
        enough = self._close if like is None else _END
        last = np.inf
        for iteration in range(1, _ITERATIONS + 1):
            rates = _INVERSE @ np.stack([x, v - self._v], axis=1).reshape(3, -1) / h
            left, powers = self._left(self._begin.time + _NODES * h, rates, Unknowns(x, v, velocity, position))
            sides = [_BACK @ rows for rows in left]
            if not all(np.isfinite(side).all() for side in sides):
                return None
            one = solvers[0](*(-side[0].real for side in sides))
            two = solvers[1](*(-side[1] for side in sides))
            steps = [_VECTORS @ np.array([a, b, b.conj()]) for a, b in zip(one, two, strict=True)]
            dx, dv, dl, dm = (step.real for step in steps)
            x, v, velocity, position = x + dx, v + dv, velocity + dl, position + dm
            size = self._measured(dx, dv, h)
            slower = size / last
            stalls = iteration > 2 and slower >= 1.0
            if not np.isfinite(size) or (stalls and size > enough):
                return None
            if stalls or size <= self._close * min(1.0, (1.0 - slower) / max(slower, EPS)):
                return _Stages(x, v, velocity, position, powers, iteration)
            last = size
        return None

    def _within(self, stages: _Stages, part: float) -> tuple[np.ndarray, ...]:
        """Unknowns at the stages of a step that is shorter by a factor, on polynomials through those of the whole step."""
        places, ends = np.append(0.0, _NODES), part * _NODES
        powers = np.arange(4)
        through = ends[:, None] ** powers @ np.linalg.inv(places[:, None] ** powers)
        inside = ends[:, None] ** powers[:3] @ np.linalg.inv(_NODES[:, None] ** powers[:3])
        x, v = through[:, 1:] @ stages.x, through @ np.vstack([self._v, stages.v])
        # at the begin, what has no mass may have had any velocity
        v = np.where(self._free, v, inside @ stages.v)
        return x, v, inside @ stages.velocity, inside @ stages.position

    def _left(self, times: np.ndarray, rates: np.ndarray, y: Unknowns) -> tuple[Unknowns, np.ndarray]:
        """What is left of the equations at some stages, with x' and v' (k, 2 n) of these, and the powers (k, 2) in W there."""
        e, m, metric = self._equations, self._matrices, self._metric
        (count, n), held = y.x.shape, m.held
        self._evaluations += count
        x, v, times = y.x / metric, y.v / metric, times.tolist()
        here = e.evaluations([displaced(self._begin.state, own) for own in x], times)
        mass, force, damped, driven = e.pulls(here, v, times)
        rows, gap = [m.rows_at(at, own) for at, own in zip(here, v, strict=True)], np.zeros((count, len(held)))
        off = np.array([own @ along for own, along in zip(rows, y.v, strict=True)])
        for k, (at, t) in enumerate(zip(here, times, strict=True) if len(m.lengths) else ()):
            gap[k] = at.residual[held] / m.lengths[held]
            if e.inputs.motors or e.inputs.held:
                moved = (e.inputs.rates(t) / m.lengths)[m.chosen]
                off[k] -= moved
                driven[k] -= float(y.velocity[k] @ moved)
        each = zip(rows, mass, rates[:, n:] / metric, y.velocity, y.position, strict=True)
        kept, pulled, reactions = map(
            np.array, zip(*((own[: len(held)].T @ p, m @ a, own.T @ f) for own, m, a, f, p in each), strict=True)
        )
        flow = self._rates(y.x, y.v + kept)
        pull = (pulled - force) / metric + reactions
        return Unknowns(rates[:, :n] - flow, pull, gap, off), np.stack([damped, driven], axis=1)

    def _rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rates (k, n) of coordinates at coordinates and velocities (k, n), in place of the latter."""
        for turn, w in self._turns(x, v):
            w[:] = inverse_left_jacobian(turn) @ w
        return v

    def _velocities(self, x: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Velocities (k, n) at coordinates and rates (k, n), in place of the latter."""
        for turn, w in self._turns(x, rates):
            w[:] = np.linalg.solve(inverse_left_jacobian(turn), w)
        return rates

    def _turns(self, x: np.ndarray, v: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Turns (rad) of bodies among coordinates (k, n), each with its place among velocities (k, n)."""
        turns = (x / self._metric)[:, : self._bodies].reshape(-1, 6)[:, 3:]
        for own, out in zip(turns.reshape(len(x), -1, 3), v[:, : self._bodies], strict=True):
            yield from zip(own, out.reshape(-1, 6)[:, 3:], strict=True)

    def _error(self, stages: _Stages, h: float, repeated: bool) -> float:
        """The error of the last trial in tolerances, as RADAU5 estimates it; filtered once more where it is ``repeated``."""
        m = self._matrices
        solve, no_gap, no_slip = self._solver, np.zeros(len(m.held)), np.zeros(len(m.chosen))
        x, v = (_ERROR @ z / h for z in (stages.x, stages.v - self._v))
        found = solve(self._v + x, self._force + m.mass @ v, no_gap, no_slip)
        error = self._measured(found.x, found.v, h)
        if self._equations.inputs.varying:
            s = self._speed / self._size
            later = m.solver(s)(0.0 * x, m.mass @ found.v, no_gap, no_slip)
            error = max(error, self._measured(s * later.x, 0.0 * v, h))
        if error < 1.0 or not repeated or not np.isfinite(error):
            return error
        rates = np.concatenate([-x, -v])
        none = Unknowns(found.x, self._v + found.v, np.zeros(len(m.chosen)), np.zeros(len(m.held)))
        left, _ = self._left(np.array([self._begin.time]), rates[None], Unknowns(*(z[None] for z in none)))
        again = solve(-left.x[0], -left.v[0], no_gap, no_slip)
        return self._measured(again.x, again.v, h)


class _Within:
    """Moments within a step, with the order of the method.

    Positions are polynomials of degree 5 through positions and velocities at both ends and in the middle, where half of the step
    ends.  Each moment is the end of a shorter step where something has no mass, as its velocities follow from the rest at that
    moment, and where the velocity at the begin dies out within the step.
    """

    def __init__(self, steps: _Steps, stages: _Stages, h: float):
        self._steps, self._stages, self._h = steps, stages, h

    @cached_property
    def _polynomials(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Coefficients of positions (6, n), from the constant ones on, and of works (6, 2) from the linear ones on."""
        s, h, whole = self._steps, self._h, self._stages
        half = s._solved(0.5 * h, (whole, 0.5)) if s._free.all() else None
        if half is None:
            return None
        x = np.stack([np.zeros_like(s._v), half.x[2], whole.x[2]])
        rates = s._rates(x, np.stack([s._v, half.v[2], whole.v[2]]))
        positions = _THROUGH @ np.concatenate([x, h * rates])
        # the highest power is what the velocity at the begin adds to a polynomial through the other five values
        if not np.abs(positions[5]).max(initial=0.0) <= _SMOOTH * s._tolerance * s._size:
            return None
        return positions, h * (_WORKS @ np.concatenate([half.powers, whole.powers]))

    def __call__(self, time: float) -> Moment | None:
        """The moment a time (s) behind the begin; None where none is found."""
        s, part, powers = self._steps, time / self._h, np.arange(6)
        if self._polynomials is None:
            own = s._solved(time, (self._stages, part))
            if own is None:
                return None
            return s._moment(s._settled(own.x[2], own.v[2], time), time, time * (_WEIGHTS @ own.powers), None)
        positions, works = self._polynomials
        x, rates = part**powers @ positions, powers[1:] * part ** powers[:-1] @ positions[1:] / self._h
        (v,) = s._velocities(x[None], rates[None])
        return s._moment(s._settled(x, v, time), time, part ** (powers + 1) @ works, None)
