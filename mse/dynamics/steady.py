"""Steady motions: coordinates of joints go at constant rates, all else is at rest as seen from what turns.

Such a motion is a motion of a group: along axes that turn at W_b with each body, velocities v are constant, so that the
accelerations are ``W_b x v`` and the motion is steady where ``M (W x v) + c - f`` is balanced by reactions.  That is solved by
Newton's method, whose matrix is the stiffness of the linear model along those axes.

Which rates turn the axes is tried: those of a body that is symmetric about its axis of spin need not.  With the right ones the
linear model is the same at another moment of the motion; if none are, a coordinate is not cyclic, and no such motion is steady.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.sparse.csgraph import connected_components

from ..elements.coordinates import flowing
from ..errors import ModelError
from ..kernels.jit import writable
from ..kernels.rotations import inverse_left_jacobian, turn_all
from ..linear.linear_model import LinearModel
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..model.joint_assembly import restored
from ..model.pattern import forceful
from ..numerics.precision import DEPENDENT, EPS, NOTHING, left_by_rounding
from ..numerics.sparse_tools import scaled_both
from .about import About, about
from .accelerations import Equations, Terms
from .coordinates import NamedCoordinates
from .moving import Moving, turns
from .rolling import with_flows

_ROUNDS = 50  # of Newton's method, which takes five near a solution (tests/dynamics/test_steady.py)
# rad, or of the size of the system: the longest step.  With half and twice of it tests/dynamics/test_steady.py passes.
_LONGEST = 0.2
# Of the largest term: matrices and forces that differ by less are those of one steady motion.  With a hundredth and a hundred
# times of it tests/dynamics/test_steady.py passes.
_SAME = 1e-8
_LATER = 1.0  # rad that the fastest body turns until linear models are compared: no part of a turn


class Kinematics:
    """Velocities of a system whose named coordinates go at given rates, while all others rest as far as joints let them."""

    def __init__(
        self,
        equations: Equations,
        coordinates: NamedCoordinates,
        rates: Mapping[str, float],
        currents: np.ndarray | float = 0.0,
    ):
        self.equations, self.coordinates, self.rates = equations, coordinates, dict(rates)
        self.named = np.array([coordinates.names.index(name) for name in rates], dtype=int)
        self.currents = currents
        self._held = self._not_driven(set(rates))
        sources = np.zeros(equations.assembly.constraint_count)
        for name, current in equations.inputs.currents.items():
            sources[equations.inputs.motors[name]] = current
        self._sources = sources[self._held]

    def at(self, rates: Mapping[str, float], currents: np.ndarray | float = 0.0) -> Kinematics:
        """The same with some other rates, and with ``currents`` (n,) in addition."""
        return Kinematics(self.equations, self.coordinates, self.rates | dict(rates), self.currents + currents)

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

    def velocity(self, here: Evaluation) -> np.ndarray:
        """Velocities (n,) with the given rates; flows may make other coordinates move."""
        flows, _ = self.equations.flow_rows(here, np.zeros(self.equations.size))
        return self._moved(here, self.named, [*self.rates.values()], self._sources, flows) + self.currents

    def moving(self, here: Evaluation, v: np.ndarray) -> np.ndarray:
        """Numbers of all coordinates that move."""
        rates = np.abs(self.coordinates.slopes(here) @ v)
        return np.flatnonzero(rates > DEPENDENT * rates.max(initial=0.0))

    def turning(self, here: Evaluation, v: np.ndarray, chosen: tuple[int, ...]) -> np.ndarray:
        """Velocities (n,) where some coordinates go as they do at v and others are at rest, whatever flows."""
        if not chosen:
            return np.zeros_like(v)
        numbers = np.array(chosen)
        return self._moved(here, numbers, (self.coordinates.slopes(here) @ v)[numbers], 0.0 * self._sources, None)

    def _moved(
        self, here: Evaluation, numbers: np.ndarray, rates: ArrayLike, sources: np.ndarray, flows: np.ndarray | None
    ) -> np.ndarray:
        e, metric = self.equations, self.equations.measure.metric
        slopes = self.coordinates.slopes(here)
        rest = np.delete(slopes, numbers, axis=0) / metric
        others = np.vstack([rest[~rest[:, flowing(e.topology.coordinate_names)].any(axis=1)], self.storing(here)])
        held = here.slopes.toarray()[self._held] if e.assembly.constraint_count else np.zeros((0, e.size))
        hard = np.vstack([slopes[numbers], held, *([] if flows is None else [flows])]) / metric
        length = np.linalg.norm(hard, axis=1)
        length[length == 0.0] = 1.0
        hard, right = hard / length[:, None], np.zeros(len(hard))
        given = np.append(rates, sources)
        right[: len(given)] = given / length[: len(given)]
        found = np.linalg.lstsq(hard, right, rcond=DEPENDENT)[0]
        if np.abs(hard @ found - right).max(initial=0.0) > DEPENDENT * np.abs(right).max(initial=0.0):
            names = ", ".join(self.coordinates.names[k] for k in numbers)
            raise ModelError(
                f"{e.topology.label}: its joints do not allow the rates of {names} at once, with others at rest; expected rates "
                "of coordinates that joints leave free; name fewer of them"
            )
        free = null_space(hard, rcond=DEPENDENT)
        if free.shape[1] and len(others):
            found -= free @ np.linalg.lstsq(others @ free, others @ found, rcond=DEPENDENT)[0]
            free = free @ null_space(others @ free, rcond=DEPENDENT)
        return self._carried(here, found / metric, free)

    def storing(self, here: Evaluation) -> np.ndarray:
        """How charges change the efforts of what stores them, (s, n), measured and of length one."""
        e, flow = self.equations, flowing(self.equations.topology.coordinate_names)
        rows = np.zeros((np.count_nonzero(flow), e.size))
        if len(rows):
            rows[:, flow] = here.total(2).stiffness[np.ix_(flow, flow)].toarray() / e.measure.metric[flow]
        size = np.linalg.norm(rows, axis=1)
        return rows[size > 0.0] / size[size > 0.0, None]

    def _carried(self, here: Evaluation, v: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Velocities (n,) where bodies that no joint determines move as one with what elements tie them to, such as beams.

        ``free`` (n, f) are the velocities that joints and rates leave free.  Bodies that are tied to the ground too, or to
        several that move differently, keep the velocities that they have.
        """
        a, o = self.equations.assembly, here.state.o
        bodies = 6 * (a.bodies - 1)
        blocks = free[:bodies].reshape(a.bodies - 1, 6, free.shape[1])
        # a body is loose if each of its six coordinates alone is among the free velocities
        loose = np.append(False, (np.linalg.norm(blocks, axis=2) > 1.0 - DEPENDENT).all(axis=1))
        if not loose.any():
            return v
        six = np.vstack([np.zeros(6), v[:bodies].reshape(-1, 6)])
        ends = [a.body[kind.frames] for kind in forceful(self.equations.topology) if kind.frames.shape[1] > 1]
        pairs = np.vstack(
            [np.zeros((0, 2), int), *(np.stack([e[:, :-1], e[:, 1:]], axis=-1).reshape(-1, 2) for e in ends)]
        )
        between = pairs[loose[pairs].all(axis=1)]
        graph = sp.csr_matrix((np.ones(len(between)), between.T), shape=(a.bodies, a.bodies))
        _, part = connected_components(graph, directed=False)
        tied = pairs[loose[pairs].sum(axis=1) == 1]
        tied = np.where(loose[tied[:, :1]], tied, tied[:, ::-1])  # the loose one first
        for number in np.unique(part[tied[:, 0]]):
            carriers = tied[part[tied[:, 0]] == number, 1]
            w = six[carriers, 3:]
            at_origin = np.hstack([six[carriers, :3] - np.cross(w, o[carriers]), w])
            twist = at_origin[0]
            if np.abs(at_origin - twist).max() <= DEPENDENT * np.abs(at_origin).max():
                own = np.flatnonzero(part == number)
                six[own, :3] = twist[:3] + np.cross(twist[3:], o[own])
                six[own, 3:] = twist[3:]
        return np.concatenate([six[1:].ravel(), v[bodies:]])


class Sought(NamedTuple):
    """Rates that are sought by ``names``, so that coordinates with numbers ``held`` (k,) keep their values (k,)."""

    names: tuple[str, ...]
    held: np.ndarray
    values: np.ndarray

    def off(self, turning: Turning) -> np.ndarray:
        return self.values - turning.kinematics.coordinates.values(turning.here)[self.held]


NONE = Sought((), np.zeros(0, dtype=int), np.zeros(0))


class Step(NamedTuple):
    """A step of Newton's method: measured displacements (n,), changes of the ``rates`` that are sought and of ``currents`` (n,).

    ``left`` (n,) are the forces that no reaction balanced before it, measured, and ``size`` is that of their terms; ``off`` (k,)
    is how far coordinates were from the values that they keep, measured.
    """

    displacements: np.ndarray
    rates: np.ndarray
    currents: np.ndarray
    left: np.ndarray
    size: float
    off: np.ndarray


class Turning:
    """A system on the way to a steady motion: velocities and turning axes for one choice of the rates that turn these."""

    def __init__(self, kinematics: Kinematics, here: Evaluation, chosen: tuple[int, ...]):
        self.kinematics, self.here, self.chosen = kinematics, here, chosen
        self.equations = e = kinematics.equations
        self.v = kinematics.velocity(here)
        self.bodies = 6 * (e.assembly.bodies - 1)
        turning = kinematics.turning(here, self.v, chosen)
        self.axes = np.vstack([np.zeros(3), turning[: self.bodies].reshape(-1, 6)[:, 3:]])

    @cached_property
    def acceleration(self) -> np.ndarray:
        """``W x v`` (n,)."""
        return turns(self.axes[1:], len(self.v)) @ self.v

    @cached_property
    def _terms(self) -> Terms:
        return self.equations.terms(self.here, self.v, 0.0)

    @property
    def unbalanced(self) -> np.ndarray:
        """Forces (n,) that reactions have to balance."""
        return self._terms.mass @ self.acceleration - self._terms.force

    @cached_property
    def moving(self) -> Moving:
        return Moving(self.equations, self.here, self.v, self.acceleration, self._terms)

    @cached_property
    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, Lambda and K (n, n) along those axes."""
        return self.moving.along(self.axes)

    @cached_property
    def about(self) -> About:
        return about(self.moving, self.axes)

    @cached_property
    def model(self) -> LinearModel:
        model = with_flows(*self.about) if self.equations.flows else self.about.model
        return replace(model, _noise=model._stiffness_noise + model.scale**2 * self._resisted(model))

    def _resisted(self, model: LinearModel) -> float:
        """Largest stiffness (N/m, scaled) that a model has for coordinates that go on, of which none depends.

        It comes from forces that are left, which turn with the motion.  The change of a rate along the family of motions has the
        same eigenvalue zero, which this stiffness splits by its square root.
        """
        if model.constraints.shape[0]:
            model = model.reduced[0]
        place = {name: k for k, name in enumerate(self.about.model.coordinates)}
        kept = [place[name] for name in model.coordinates]
        stiffest = np.abs(scaled_both(model.K.tocsc(), 1.0 / model.scale).data).max(initial=0.0)
        moving, most = self.kinematics.moving(self.here, self.v).tolist(), 0.0
        for chosen in [tuple(moving), *((k,) for k in moving)]:
            try:
                x = self.kinematics.turning(self.here, self.v, chosen)[kept]
            except ModelError:  # joints tie this coordinate to others
                continue
            force, size = np.linalg.norm(model.K @ x / model.scale), np.linalg.norm(model.scale * x)
            if 0.0 < force <= DEPENDENT * stiffest * size:
                most = max(most, force / size)
        return most

    @cached_property
    def free(self) -> np.ndarray:
        """Displacements (n, f) that constraints allow, which are measured."""
        return self.equations.allowed(self.here)

    @cached_property
    def allowed(self) -> np.ndarray:
        """Velocities (n, f) that constraints and flows allow, which are measured."""
        rows, _ = self.equations.flow_rows(self.here, self.v)
        return self.free if rows is None else self.equations.allowed(self.here, rows)

    @cached_property
    def _stiffness(self) -> np.ndarray:
        """Stiffness, measured, of what constraints and flows allow."""
        metric = self.equations.measure.metric
        return self.allowed.T @ (self.matrices[2] / np.outer(metric, metric)) @ self.free

    @cached_property
    def left(self) -> tuple[np.ndarray, float]:
        """Forces (n,) that no reaction balances, and the size of their terms, measured."""
        metric = self.equations.measure.metric
        left = metric * (self.allowed @ (self.allowed.T @ (self.unbalanced / metric)))
        terms = self._terms.mass @ self.acceleration, self._terms.force
        return left, max(np.abs(x / metric).max(initial=0.0) for x in terms)

    @cached_property
    def flows(self) -> np.ndarray:
        """Rates (n, c) of charges that nothing stores: constraints allow them, and no rate is given of what flows."""
        e, metric = self.equations, self.equations.measure.metric
        rows = [self.kinematics.storing(self.here)]
        rows.append(self.kinematics.coordinates.slopes(self.here)[self.kinematics.named] / metric)
        if e.assembly.constraint_count:
            rows.append(self.here.slopes.toarray() / metric)
        if e.flows:
            rows.append(e.flow_rows(self.here, self.v)[0] / metric)
        flow = np.flatnonzero(flowing(e.topology.coordinate_names))
        found = np.zeros((e.size, 0))
        if len(flow):
            rows = np.vstack(rows)[:, flow]
            size = np.linalg.norm(rows, axis=1)
            loops = null_space(rows[size > 0.0] / size[size > 0.0, None], rcond=DEPENDENT)
            found = np.zeros((e.size, loops.shape[1]))
            found[flow] = loops / metric[flow, None]
        return found

    @property
    def rounding(self) -> float:
        """Largest force, measured, that rounding of positions and velocities makes, also in a system without forces."""
        metric = self.equations.measure.metric
        damping = np.abs(self.matrices[1] / np.outer(metric, metric)).max(initial=0.0)
        stiff = np.abs(self._stiffness).max(initial=0.0)
        return EPS * (self.equations.measure.outermost * stiff + np.abs(metric * self.v).max(initial=0.0) * damping)

    @cached_property
    def _searched(self) -> np.ndarray:
        """Combinations (f, s) of the free displacements that leave coordinates with given rates where they are."""
        slopes = self.kinematics.coordinates.slopes(self.here)[self.kinematics.named]
        rows = (slopes / self.equations.measure.metric) @ self.free
        size = np.linalg.norm(rows, axis=1)
        rows = rows[size > DEPENDENT]  # others are held, by motors
        return null_space(rows, rcond=DEPENDENT) if len(rows) else np.eye(self.free.shape[1])

    def step(self, sought: Sought) -> Step:
        """A step of Newton's method."""
        metric = self.equations.measure.metric
        (left, size), searched = self.left, self._searched
        k = self._stiffness @ searched
        by_rates = np.hstack([self._by_rates(sought.names), self.matrices[1] @ self.flows])
        by_rates = self.allowed.T @ (by_rates / metric[:, None])
        kept, off = self.kinematics.coordinates.slopes(self.here)[sought.held] / metric, sought.off(self)
        # rates and values that are kept have units of their own: stiffness would hide them, or they its rounding
        stiff = max(np.abs(k).max(initial=0.0), size / self.equations.measure.size) or 1.0
        scale = np.append(np.ones(searched.shape[1]), stiff / np.linalg.norm(by_rates, axis=0).clip(EPS))
        held = stiff * kept @ self.free @ searched
        k = np.block([[k, by_rates], [held, np.zeros((len(held), by_rates.shape[1]))]])
        right = np.append(-self.allowed.T @ (left / metric), stiff * off)
        found = scale * np.linalg.lstsq(k * scale, right, rcond=NOTHING)[0]
        step, rates, currents = np.split(found, searched.shape[1] + np.array([0, len(sought.names)]))
        return Step(
            self.free @ searched @ step, rates, self.flows @ currents, left, size, off / np.linalg.norm(kept, axis=1)
        )

    def _by_rates(self, names: Sequence[str]) -> np.ndarray:
        """Slopes (n, r) of the forces that are left, by rates; they are of second degree, of which central ones are exact."""
        columns = [np.zeros((0, self.equations.size))]
        for name in names:
            h = max(1.0, abs(self.kinematics.rates[name]))
            two = (
                Turning(self.kinematics.at({name: self.kinematics.rates[name] + x}), self.here, self.chosen)
                for x in (h, -h)
            )
            one, other = (t.unbalanced for t in two)
            columns.append((one - other)[None] / (2.0 * h))
        return np.vstack(columns).T

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
        each = zip(time * w, time * six[:, :3], strict=True)  # the integral of exp([t w]x) v
        o[1:] += np.array([np.linalg.solve(inverse_left_jacobian(x), way) for x, way in each])
        u = writable(s.U).copy()
        u[1:] = turn_all(turn_all(u[1:].copy(), time * (six[:, 3:] - w)), time * w)
        q = s.q + time * self.v[self.bodies :]
        there = self.here.in_state(State(o, u, q, s.memory)).followed()
        if e.assembly.constraint_count:
            k = self.kinematics
            at_rest = k._held[k._sources == 0.0]
            if np.abs(there.distances[0][at_rest]).max(initial=0.0) > _SAME * e.measure.size:
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
        turned = turned.T
        allowed, free = (turned @ (x @ x.T) @ turned.T for x in (self.allowed, self.free))
        yield allowed
        yield free
        yield turned @ (metric * self.v)
        yield allowed @ turned @ (self.unbalanced / metric)
        for matrix, of in zip(self.matrices, (allowed, allowed, free), strict=True):
            yield allowed @ turned @ (matrix / np.outer(metric, metric)) @ turned.T @ of

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


def settled(kinematics: Kinematics, here: Evaluation, sought: Sought = NONE) -> Turning:
    """The steady motion next to a state; ModelError where a coordinate is not cyclic, or forces do not balance."""
    v = kinematics.velocity(here)
    moving = kinematics.moving(here, v).tolist()
    # which rates turn the axes of the bodies that they move: as few as make the motion steady
    for count in range(len(moving) + 1):
        for chosen in combinations(moving, count):
            if _is_steady(kinematics, here, chosen):
                return balanced(kinematics, here, chosen, sought)
    c = kinematics.coordinates
    found = zip(c.rates, (c.slopes(here) @ v).tolist(), strict=True)
    others = [f"{name} = {rate:.3g}" for k, (name, rate) in enumerate(found) if k in set(moving) - {*kinematics.named}]
    names, along = ", ".join(kinematics.rates), f"; rolling makes others go there, {', '.join(others)}"
    along = f"{along}: begin where those rest that are not cyclic" if others else ""
    raise ModelError(
        f"{kinematics.equations.topology.label}: at constant rates of {names} the system does not look the same a moment later; "
        "expected cyclic coordinates, on which no mass, force or joint depends; a body turns about an axis of symmetry, or all "
        f"that it meets turns with it or is the same all around{along}"
    )


def balanced(kinematics: Kinematics, here: Evaluation, chosen: tuple[int, ...], sought: Sought = NONE) -> Turning:
    """:func:`settled` for one choice of the rates that turn the axes."""
    e = kinematics.equations
    before = np.inf
    for _ in range(_ROUNDS):
        now = Turning(kinematics, here, chosen)
        step, change, currents, left, size, off = now.step(sought)
        reached = [kinematics.rates[name] + x for name, x in zip(sought.names, change.tolist(), strict=True)]
        fastest = max(map(abs, (*kinematics.rates.values(), *reached)))
        # rates change by no larger share of what is reached than poses by one of the size: a guess may have the wrong sign
        turns = e.measure.size * np.abs(change).max(initial=0.0) / (fastest or 1.0)
        longest = max(np.abs(step).max(initial=0.0), turns)
        most = np.abs(left).max(initial=0.0)
        there = np.abs(off).max(initial=0.0) <= DEPENDENT * e.measure.size
        small = there and most <= max(DEPENDENT * size, now.rounding)
        rests = longest <= EPS * e.measure.outermost
        same = np.abs(currents).max(initial=0.0) <= EPS * np.abs(kinematics.currents).max(initial=0.0)
        exact = there and (most <= left_by_rounding(len(left)) * size or (rests and same))
        # by forces, since steps along what is free do not become shorter
        if exact or (small and most >= 0.5 * before):
            break
        before = most
        share = min(1.0, _LONGEST * e.measure.size / longest) if longest else 1.0
        here = here.moved(step * share)
        rates = zip(sought.names, (share * change).tolist(), strict=True)
        kinematics = kinematics.at({name: kinematics.rates[name] + x for name, x in rates}, share * currents)
        if e.assembly.constraint_count:
            here = restored(here) or here
    if small:
        return now
    k = int(np.abs(left).argmax())
    names = ", ".join(f"{name}' = {rate:g}" for name, rate in kinematics.rates.items())
    raise ModelError(
        f"{e.topology.label}: no steady motion with {names} near this one: {left[k]:.3g}{e.topology.force_unit(k)} is left on "
        f"{e.topology.coordinate_names[k]}; expected forces that balance at constant rates; begin nearer to it (initial=, and "
        "rates= of what is free), or drive the coordinate against its losses with motor='position'"
    )


def _is_steady(kinematics: Kinematics, here: Evaluation, chosen: tuple[int, ...]) -> bool:
    try:
        return Turning(kinematics, here, chosen).steady
    except ModelError:
        if not chosen:
            raise
        return False  # joints tie these coordinates to others
