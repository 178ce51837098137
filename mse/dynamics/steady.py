"""Steady motions: coordinates of joints go at constant rates, all else is at rest as seen from what turns.

Such a motion is a motion of a group: along axes that turn at W_b with each body, velocities v are constant, so that the
accelerations are ``W_b x v`` and the motion is steady where ``M (W x v) + c - f`` is balanced by reactions.  That is solved by
Newton's method, whose matrix is the stiffness of the linear model along those axes.

Which rates turn the axes is tried: those of a body that is symmetric about its axis of spin need not.  With the right ones the
linear model is the same at another moment of the motion; if none are, a coordinate is not cyclic, and no such motion is steady.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.linalg import null_space

from ..errors import ModelError
from ..kernels.jit import writable
from ..kernels.rotations import turn_all
from ..linear.linear_model import LinearModel
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..model.joint_assembly import restored
from ..numerics.precision import DEPENDENT, EPS, NOTHING
from .about import Moving, linearize
from .accelerations import Equations, Terms
from .coordinates import NamedCoordinates

_ROUNDS = 50  # of Newton's method, which takes five near a solution (tests/dynamics/test_steady.py)
# rad, or of the size of the system: the longest step.  With half and twice of it tests/dynamics/test_steady.py passes.
_LONGEST = 0.2
# Of the largest term: matrices and forces that differ by less are those of one steady motion.  With a hundredth and a hundred
# times of it tests/dynamics/test_steady.py passes.
_SAME = 1e-8
_LATER = 1.0  # rad that the fastest body turns until linear models are compared: no part of a turn


class Kinematics:
    """Velocities of a system whose named coordinates go at given rates, while all others rest as far as joints let them."""

    def __init__(self, equations: Equations, coordinates: NamedCoordinates, rates: Mapping[str, float]):
        self.equations, self.coordinates, self.rates = equations, coordinates, dict(rates)
        self.named = np.array([coordinates.names.index(name) for name in rates], dtype=int)
        self._held = self._not_driven(set(rates))

    def _not_driven(self, named: set[str]) -> np.ndarray:
        """Numbers of the constraints that hold at rest: all but position motors of named coordinates."""
        a = self.equations.assembly
        held = np.ones(a.constraint_count, dtype=bool)
        for g in a.groups:
            if g.constraint_count:
                for el, numbers in zip(g.elements, a.constraint_rows(g), strict=True):
                    for channel, r in el.obj.motors.items():
                        held[numbers[r]] &= f"{el.path}.{channel.name}" not in named
        return np.flatnonzero(held)

    def rows(self, here: Evaluation) -> np.ndarray:
        """What constrains velocities (m, n) besides given rates: joints without their driven coordinates, and flows."""
        slopes = (
            here.slopes.toarray() if self.equations.assembly.constraint_count else np.zeros((0, self.equations.size))
        )
        return slopes[self._held]

    def fields(self, here: Evaluation) -> np.ndarray:
        """Velocities (n, k) for a unit of each named rate; ModelError where joints do not allow them."""
        e, metric = self.equations, self.equations.measure.metric
        slopes = self.coordinates.slopes(here)
        others = np.delete(slopes, self.named, axis=0) / metric
        hard = np.vstack([slopes[self.named], self.rows(here)]) / metric
        length = np.linalg.norm(hard, axis=1)
        length[length == 0.0] = 1.0
        hard = hard / length[:, None]
        right = np.zeros((len(hard), len(self.named)))
        right[: len(self.named)] = np.diag(1.0 / length[: len(self.named)])
        found = np.linalg.lstsq(hard, right, rcond=DEPENDENT)[0]
        wrong = np.abs(hard @ found - right).max(axis=0, initial=0.0)
        if wrong.max(initial=0.0) > DEPENDENT * np.abs(right).max(initial=1.0):
            names = ", ".join(self.rates)
            raise ModelError(
                f"{e.topology.label}: its joints do not allow the rates of {names} at once, with others at rest; expected rates "
                "of coordinates that joints leave free; name fewer of them"
            )
        free = null_space(hard, rcond=DEPENDENT) if len(hard) else np.eye(e.size)
        if free.shape[1] and len(others):
            found -= free @ np.linalg.lstsq(others @ free, others @ found, rcond=DEPENDENT)[0]
        return found / metric[:, None]


class Turning:
    """A system on the way to a steady motion: velocities and turning axes for one choice of the rates that turn these."""

    def __init__(self, kinematics: Kinematics, here: Evaluation, chosen: tuple[int, ...]):
        self.kinematics, self.here, self.chosen = kinematics, here, chosen
        self.equations = e = kinematics.equations
        fields, rates = kinematics.fields(here), np.array(list(kinematics.rates.values()))
        self.v = fields @ rates
        self.bodies = 6 * (e.assembly.bodies - 1)
        turning = fields[:, list(chosen)] @ rates[list(chosen)]
        self.axes = np.vstack([np.zeros(3), turning[: self.bodies].reshape(-1, 6)[:, 3:]])

    @cached_property
    def acceleration(self) -> np.ndarray:
        """``W x v`` (n,)."""
        out = np.zeros_like(self.v)
        six = self.v[: self.bodies].reshape(-1, 6)
        both = np.hstack([np.cross(self.axes[1:], six[:, :3]), np.cross(self.axes[1:], six[:, 3:])])
        out[: self.bodies] = both.ravel()
        return out

    @cached_property
    def _terms(self) -> Terms:
        return self.equations.terms(self.here, self.v, 0.0)

    @property
    def unbalanced(self) -> np.ndarray:
        """Forces (n,) that reactions have to balance."""
        return self._terms.mass @ self.acceleration - self._terms.force

    @cached_property
    def moving(self) -> Moving:
        e = self.equations
        found = e.multipliers(self.here, self._terms, self.acceleration)
        return Moving(e.topology.source.name, e, self.here, self.v, self.acceleration, found)

    @cached_property
    def model(self) -> LinearModel:
        return linearize(self.moving, self.axes)

    @cached_property
    def free(self) -> np.ndarray:
        """Motions (n, f) that constraints allow, which are measured."""
        e = self.equations
        rows = self.here.constraints.toarray() if e.assembly.constraint_count else np.zeros((0, e.size))
        return null_space(rows, rcond=DEPENDENT) if len(rows) else np.eye(e.size)

    def step(self) -> tuple[np.ndarray, np.ndarray, float]:
        """A measured step of Newton's method (n,), forces (n,) that no reaction balances, and the size of their terms."""
        metric = self.equations.measure.metric
        left = metric * (self.free @ (self.free.T @ (self.unbalanced / metric)))
        k = self.free.T @ (self.model.K.toarray() / np.outer(metric, metric)) @ self.free
        terms = self._terms.mass @ self.acceleration, self._terms.force
        # forces of a system without any are the rounding of its positions
        size = EPS * self.equations.measure.outermost * np.abs(k).max(initial=0.0)
        size = max(size, *(np.abs(x / metric).max(initial=0.0) for x in terms))
        step = np.linalg.lstsq(k, -self.free.T @ (left / metric), rcond=NOTHING)[0]
        return self.free @ step, left, size

    @property
    def while_turning(self) -> float:
        """A time (s) in which the fastest body turns far, or goes as far as the system is large."""
        six = self.v[: self.bodies].reshape(-1, 6)
        fastest = max(
            np.abs(six[:, 3:]).max(initial=0.0), np.abs(six[:, :3]).max(initial=0.0) / self.equations.measure.size
        )
        return _LATER / fastest if fastest else 0.0

    def later(self) -> Turning | None:
        """The same at another moment of the motion; None where joints have come apart, so that it is none."""
        e, s, time = self.equations, self.here.state, self.while_turning
        six = self.v[: self.bodies].reshape(-1, 6)
        o, w = s.o.copy(), self.axes[1:]
        o[1:] += along(w, six[:, :3], time)
        u = writable(s.U).copy()
        u[1:] = turn_all(turn_all(u[1:].copy(), time * (six[:, 3:] - w)), time * w)
        q = s.q + time * self.v[self.bodies :]
        there = self.here.in_state(State(o, u, q, s.memory)).followed()
        if e.assembly.constraint_count:
            held = self.kinematics._held
            if np.abs(there.distances[0][held]).max(initial=0.0) > _SAME * e.measure.size:
                return None
        try:
            return Turning(self.kinematics, there, self.chosen)
        except ModelError:
            return None

    def seen(self, time: float) -> Iterator[np.ndarray]:
        """Velocities, forces and matrices as seen along its axes, which have turned for some time (s)."""
        metric = self.equations.measure.metric
        turned = np.eye(len(self.v))
        blocks = turn_all(np.tile(np.eye(3), (len(self.axes) - 1, 1, 1)), time * self.axes[1:])
        for k, u in enumerate(np.repeat(blocks, 2, axis=0)):
            turned[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = u
        allowed = turned.T @ (self.free @ self.free.T) @ turned
        yield allowed
        yield turned.T @ (metric * self.v)
        yield allowed @ turned.T @ (self.unbalanced / metric)
        for matrix in (self.model.M, self.model.Lambda, self.model.K):
            yield allowed @ turned.T @ (matrix.toarray() / np.outer(metric, metric)) @ turned @ allowed

    @property
    def steady(self) -> bool:
        """Whether the system looks the same at another moment."""
        there = self.later()
        if there is None:
            return False
        return all(
            np.abs(one - two).max(initial=0.0) <= _SAME * np.abs(one).max(initial=0.0) + NOTHING
            for one, two in zip(self.seen(0.0), there.seen(self.while_turning), strict=True)
        )


def settled(kinematics: Kinematics, here: Evaluation, chosen: tuple[int, ...] | None = None) -> Turning:
    """The steady motion next to a state; ModelError where a coordinate is not cyclic, or forces do not balance."""
    e = kinematics.equations
    if chosen is None:
        chosen = _axes(kinematics, here)
    before = np.inf
    for _ in range(_ROUNDS):
        now = Turning(kinematics, here, chosen)
        step, left, size = now.step()
        longest = np.abs(step).max(initial=0.0)
        balanced = np.abs(left).max(initial=0.0) <= DEPENDENT * size
        if longest <= EPS * e.measure.outermost or (balanced and longest >= 0.5 * before):
            break
        before = longest
        here = here.moved(step * min(1.0, _LONGEST * e.measure.size / longest))
        if e.assembly.constraint_count:
            here = restored(here) or here
    if balanced:
        return now
    k = int(np.abs(left).argmax())
    names = ", ".join(f"{name}' = {rate:g}" for name, rate in kinematics.rates.items())
    raise ModelError(
        f"{e.topology.label}: no steady motion with {names} near this one: {left[k]:.3g}{e.topology.force_unit(k)} is left on "
        f"{e.topology.coordinate_names[k]}; expected forces that balance at constant rates; begin nearer to it (initial=), or "
        "drive the coordinate against its losses with motor='position'"
    )


def _axes(kinematics: Kinematics, here: Evaluation) -> tuple[int, ...]:
    """Which of the named rates turn the axes of the bodies that they move: as few as make the motion steady."""
    count = len(kinematics.rates)
    for k in range(count + 1):
        for chosen in combinations(range(count), k):
            if Turning(kinematics, here, chosen).steady:
                return chosen
    names = ", ".join(kinematics.rates)
    raise ModelError(
        f"{kinematics.equations.topology.label}: at constant rates of {names} the system does not look the same a moment later; "
        "expected cyclic coordinates, on which no mass, force or joint depends; a body turns about an axis of symmetry, or all "
        "that it meets turns with it or is the same all around"
    )


def along(w: np.ndarray, v: np.ndarray, time: float) -> np.ndarray:
    """How far (k, 3) velocities v lead in a time (s) that turn at w: the integral of ``exp([t w]x) v``."""
    speed = np.linalg.norm(w, axis=1)[:, None]
    angle = speed * time
    w2 = np.where(speed > 0.0, speed, 1.0)
    first, second = (1.0 - np.cos(angle)) / w2**2, (angle - np.sin(angle)) / w2**3
    straight = time * v
    turned = straight + first * np.cross(w, v) + second * np.cross(w, np.cross(w, v))
    return np.where(speed > 0.0, turned, straight)
