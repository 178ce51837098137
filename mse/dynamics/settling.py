"""Efforts, and rates of what has no mass, as they follow from all other values and rates at a moment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.coordinates import flowing
from ..elements.differentiation import VANISHED
from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..numerics.precision import DEPENDENT, EPS
from ..numerics.scaled_newton import Left, shortest, solved, unbalanced, undetermined_motions
from .accelerations import Equations
from .jacobian import matrices
from .start import CLOSE, Given


def settled(
    equations: Equations, here: Evaluation, v: np.ndarray, time: float, given: Given
) -> tuple[Evaluation, np.ndarray]:
    """The system with efforts, and rates of internal coordinates without mass, as they follow from all other values and rates.

    They solve ``M a = f - c - A' l`` and ``A v = u'`` for some accelerations a and multipliers l.  States that follow at once are
    efforts here.  Raises ModelError where they contradict charges or rates that are there at the beginning.
    """
    e, n, first = equations, equations.size, equations.size - equations.topology.internal
    mass, names = e.mass(here), e.topology.coordinate_names[first:]
    light = first + np.flatnonzero(abs(mass[first:]) @ np.ones(n) == 0.0)
    if not len(light):
        return here, v
    mass = mass.toarray() if sp.issparse(mass) else mass
    unknown, states = e.assembly.variables()
    at_once = states & ~matrices(e, here, v, np.zeros(n))[1][:, first:].any(axis=0)
    efforts = np.flatnonzero(unknown | at_once)
    light = np.setdiff1d(light, first + efforts)
    kelvin = np.array([getattr(names[k], "unit", "") == "K" for k in efforts], dtype=bool)
    ends = np.cumsum([n, len(light), len(efforts)])

    def at(z: np.ndarray) -> tuple[Evaluation, np.ndarray]:
        q, rates = here.state.q.copy(), v.copy()
        rates[light], q[efforts] = z[ends[0] : ends[1]], z[ends[1] : ends[2]]
        return e.evaluation(here.state._replace(q=q), time), rates

    def left(z: np.ndarray) -> Left:
        now, rates = at(z)
        force = e.pull(now, rates, time).force
        _, damping, stiffness = matrices(e, now, rates, np.zeros(n))
        rows = e.rows(now, rates)
        none = np.zeros((len(rows), n + len(efforts) + len(rows)))
        slopes = np.vstack([
            np.hstack([mass, damping[:, light], stiffness[:, first + efforts], rows.T]),
            np.insert(none, n, rows[:, light].T, axis=1),
        ])  # fmt: skip
        slopes[np.abs(slopes) <= VANISHED] = 0.0
        values = np.concatenate([mass @ z[:n] - force + rows.T @ z[ends[2] :], e.drift(now, rates, time)])
        terms = np.abs(slopes) @ np.abs(z) + np.concatenate([np.abs(force), np.abs(rows) @ np.abs(rates)])
        return Left(values, slopes, np.maximum(terms, EPS * terms.max(initial=0.0)))

    rows = e.rows(here, v)
    # given rates are found again, or nothing decides them
    guess = v.copy()
    guess[[first + k for k, name in enumerate(names) if f"{name}'" in given.rates]] = 0.0
    z = np.concatenate([np.zeros(n), guess[light], here.state.q[efforts], np.zeros(len(rows))])
    positive = np.zeros(len(z), dtype=bool)
    positive[ends[1] : ends[2]] = kelvin
    z, found = solved(left, z, positive=positive)
    if not found:
        _refuse_torn(e, left(z), time)
        refuse_bare(e, here, v, time)
        return here, v  # stiff parts without mass begin where they are put, and jump
    now, rates = at(z)
    rates = differentiated(e, now, rates, time)
    fastest = np.abs(rates[first:]).max()
    for name, rate in zip(names, rates[first:].tolist(), strict=True):
        wanted = given.rates.get(f"{name}'", rate)
        if abs(rate - wanted) > CLOSE * fastest:
            raise ModelError(
                f'{e.topology.label}: initial "{name}\'" is {wanted:.6g}, where {rate:.6g} {name.flow_unit} follows from the '
                "circuit, as nothing keeps a rate there; expected the same; leave it out"
            )
    return now, rates


class Hidden(NamedTuple):
    """Rates that no law decides at their moment, as of a capacitor straight across a source: they follow from rates of inputs.

    Efforts balance along motions N, the ``balanced`` (k, c) of the coordinates ``own`` (c,), whatever the rates are:
    ``N' f(q, t) = 0``.  So rates along the motions ``along`` (c, l) keep ``N' (K v - df/dt) = 0``; ``by`` (k, n) is N' K, and
    ``slopes`` (k, l) are those by these rates.
    """

    own: np.ndarray
    along: np.ndarray
    balanced: np.ndarray
    by: np.ndarray
    slopes: np.ndarray

    @classmethod
    def of(cls, e: Equations, here: Evaluation, v: np.ndarray) -> Hidden:
        first = e.size - e.topology.internal
        mass, damping, stiffness = matrices(e, here, v, np.zeros(e.size))
        efforts = first + np.flatnonzero(e.assembly.variables()[0])
        own = np.setdiff1d(first + np.flatnonzero(~mass[first:].any(axis=1)), efforts)
        rows = e.rows(here, v)[:, own]
        balanced, along = (
            undetermined_motions(np.vstack([*acting, rows]), VANISHED)
            for acting in ((damping[own].T, stiffness[np.ix_(own, efforts)].T), (damping[:, own],))
        )
        by = balanced.T @ stiffness[own]
        slopes, terms = by[:, own] @ along, np.abs(balanced.T) @ np.abs(stiffness[np.ix_(own, own)]) @ np.abs(along)
        slopes[np.abs(slopes) <= np.maximum(DEPENDENT * terms, VANISHED)] = 0.0  # of what no stiffness feels
        return cls(own, along, balanced.T, by, slopes)

    def __bool__(self) -> bool:
        return bool(self.slopes.any())


def differentiated(e: Equations, here: Evaluation, v: np.ndarray, time: float) -> np.ndarray:
    """Velocities (n,) with hidden rates, if a system has any, as they follow from rates of inputs at a time (s)."""
    if not e.hidden:
        return v
    hidden = Hidden.of(e, here, v)
    off = hidden.by @ v - hidden.balanced @ e.inputs.force_rates(time, here)[hidden.own]
    v = v.copy()
    v[hidden.own] -= hidden.along @ shortest(hidden.slopes, off)[0]
    return v


def refuse_bare(equations: Equations, here: Evaluation, v: np.ndarray, time: float) -> None:
    """Refuse forces along motions that no mass, damping, stiffness or constraint has a share of."""
    e, none = equations, np.zeros(equations.size)
    force = e.pull(here, v, time).force
    whole = np.hstack([*matrices(e, here, v, none), e.rows(here, v).T])
    whole[np.abs(whole) <= VANISHED] = 0.0
    bare = unbalanced(whole, force)
    if bare is not None:
        t = e.topology
        raise ModelError(
            f"{t.label}: {force[bare]:.3g}{t.force_unit(bare)} acts on {t.coordinate_names[bare]}, which has no mass or inertia, "
            "and moves without stiffness or resistance; expected something that balances all forces; give it mass, or hold it"
        )


def _refuse_torn(equations: Equations, left: Left, time: float) -> None:
    """Refuse efforts on charges, volumes and the like that do not balance at a time (s)."""
    names, n = equations.topology.coordinate_names, equations.size
    off = np.where(flowing(names), left.off[:n], 0.0)
    if off.max(initial=0.0) > 1.0:
        k = int(off.argmax())
        label = equations.topology.label
        if getattr(names[k], "unit", "") == "K":
            raise ModelError(
                f"{label}: no temperature {names[k]} above 0 K balances its efforts at t = {time:g} s; expected one "
                "everywhere, and a way out for heat; look for an input or an initial entropy that leaves less than 0 K, and for "
                "an open heat port, which wants a HeatCapacity, HeatConductor or TemperatureSource"
            )
        warm = ", and temperatures above 0 K" if names[k].effort_unit == "K" else ""
        raise ModelError(
            f"{label}: {names[k]} would jump at t = {time:g} s, where {abs(left.values[k]):.4g} "
            f"{names[k].effort_unit} of its efforts do not balance; expected potentials that agree wherever no resistance is "
            f"between stores and sources{warm}; put a resistor there, give charges that agree as initial, or round off a jump "
            "of inputs"
        )
