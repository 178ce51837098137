"""Networks whose laws have no energy, such as heat and amplifiers: their steady state wherever their frames are.

Where efforts are variables of laws (``effort_constraint``), states depend on what flows, or positions decide what drives it,
neither an energy nor a content is least at rest.  Newton's method solves such a network by itself, for charges, efforts and
states, steady rates, and potentials together.  The search for poses takes these as given, and finds them again until both fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..elements.coordinates import flowing
from ..elements.differentiation import VANISHED
from ..errors import ModelError
from ..model.assembly import ALL, Assembly
from ..model.configuration import Configuration, State
from ..model.evaluation import Evaluation
from ..model.groups import Group
from ..numerics.precision import DEPENDENT, EPS, NOTHING
from ..numerics.scaled_newton import Left, solved, unbalanced_motion, undetermined, undetermined_motions

# Of the terms of each equation.  With 1e-13 and 1e-11 tests/elements/test_heat.py passes.
_SETTLED = 1e-12


class Steady(NamedTuple):
    """The internal coordinates of networks (c,) by number, and the multipliers (m,) of their constraints, by number."""

    coordinates: np.ndarray
    rows: np.ndarray
    multipliers: np.ndarray


def networks(assembly: Assembly, at: Configuration) -> list[np.ndarray]:
    """Numbers of the internal coordinates of each network with efforts, states that depend on what flows, or driven by places."""
    laws = [g.internal for g in assembly.groups if g.cls.effort_names or (g.cls.state_names and g.cls.carries())]
    laws += [g.internal[_driven(g, at)] for g in assembly.groups if g.cls.carries() and g.cls.defines("power")]
    if not sum(map(len, laws)):
        return []
    k, first = assembly.topology.internal, assembly.size - assembly.topology.internal
    rows = abs(assembly.constraints(at)[1])
    own, on_bodies = rows[:, first:], np.diff(rows[:, :first].tocsr().indptr) > 0
    pairs = own.T @ own
    for g in assembly.groups:
        n = g.internal.shape[1]
        i, j = np.repeat(g.internal, n, axis=1).ravel(), np.tile(g.internal, n).ravel()
        pairs = pairs + sp.coo_matrix((np.ones(len(i)), (i, j)), (k, k))
    label = connected_components(pairs, directed=False)[1]
    chosen = set(label[np.concatenate([x.ravel() for x in laws])].tolist())
    chosen -= set(label[own[on_bodies].indices].tolist())  # which the search moves together with bodies
    return [np.flatnonzero(label == part) for part in sorted(chosen)]


def _driven(g: Group, at: Configuration) -> np.ndarray:
    """Which elements (E,) of a group have powers whose efforts on charges depend on places."""
    frames = 6 * g.frames.shape[1]
    return (np.abs(g.evaluate(at, 2, summed=True)[2][:, 0, frames:, :frames]) > VANISHED).any(axis=(1, 2))


class Network:
    """The coordinates ``chosen`` (c,) of one network of an assembly, in a state."""

    def __init__(self, assembly: Assembly, state: State, chosen: np.ndarray):
        t = assembly.topology
        self.assembly, self.state, self.chosen = assembly, state, chosen
        self.first = assembly.size - t.internal
        self.names = [t.coordinate_names[self.first + k] for k in chosen]
        self.efforts = assembly.variables()[0][chosen]
        at, still = self._at(state.q[chosen], np.zeros(len(chosen)))
        still.refuse_undefined(at)
        residual, rows = still.constraints(at)
        rows = rows.tocsc()[:, self.first + chosen].tocsr()
        self.rows = np.flatnonzero(np.diff(rows.indptr))
        self.matrix, self.residual = rows[self.rows].toarray(), residual[self.rows]
        self.held = np.zeros(len(self.rows))
        by_values = self._forces(at, still)[1]
        conducts = flowing(self.names) & ~by_values.any(axis=0)
        self.conducts, self.rests = np.flatnonzero(conducts), np.flatnonzero(~conducts)
        kelvin = self.efforts & [getattr(name, "unit", "") == "K" for name in self.names]
        self.kelvin = kelvin[self.rests]
        # equations of rates alone, such as "nothing flows into the input of an amplifier", keep charges as constraints do
        by_rates = still.by_rates(at)[:, self.first + chosen].tocsr()[self.first + chosen].toarray()
        alone = self.efforts & ~by_values.any(axis=1) & ~by_rates[:, self.rests].any(axis=1) & ~self.matrix.any(axis=0)
        self.kept = np.vstack([self.matrix, by_rates[alone]])[:, self.conducts]
        # rows combined so that only charges that rest are left in them
        closed = sl.null_space(self.kept.T).T[:, : len(self.rows)] if len(self.rows) else np.zeros((0, 0))
        self.closed = closed[np.abs(closed).max(axis=1, initial=0.0) > NOTHING]

    def _at(self, q: np.ndarray, v: np.ndarray) -> tuple[Configuration, Assembly]:
        """The system with values and rates (c,) of the network."""
        values, rates = self.state.q.copy(), self.assembly.flows.copy()
        values[self.chosen], rates[self.chosen] = q, v
        carrying = self.assembly.carrying(rates)
        return Evaluation(carrying, self.state._replace(q=values)).configuration, carrying

    def _forces(self, at: Configuration, carrying: Assembly) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradients (c,) of the network without its constraints, slopes (c, c) by its values, and terms (c,) that add up."""
        _, _, gradient, load, stiffness = carrying.total(at, 2)
        own = self.first + self.chosen
        return gradient[own], stiffness.tocsc()[:, own].tocsr()[own].toarray(), load[own]

    def solved(self, held: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (c,), rates (c,) and multipliers (m,), from ``rates`` (c,) on; constraints have the rates ``held`` (m,).

        Raises ModelError where no steady state is found.
        """
        self.held = held
        q = self.state.q[self.chosen]
        z = np.concatenate([q[self.rests], rates[self.conducts], np.zeros(len(self.rows))])
        # what is in a single equation follows when all else is known, such as entropies, on which temperatures depend steeply
        within = self._left(z).slopes != 0.0
        self._refuse_unused(within)
        follows = within.sum(axis=0) == 1
        follows[len(self.rests) :] = False
        follows[: len(self.rests)] &= ~self.efforts[self.rests]
        told = within[:, follows].any(axis=1)
        for rows, columns in ((~told, ~follows), (told, follows)):
            z[columns], found = solved(
                lambda y, rows=rows, columns=columns: self._left(z, rows, columns, y), z[columns],
                positive=np.append(self.kelvin, np.zeros(len(z) - len(self.kelvin), dtype=bool))[columns],
            )  # fmt: skip
            if not found:
                self._refuse(self._left(z))
        self._refuse_undetermined(self._left(z, ~told, ~follows, z[~follows]).slopes, ~follows)
        q, v = self._values(z)
        if len(self.conducts):
            left = np.append(-self._sums(q), np.zeros(len(self.kept) - len(self.rows)))
            q[self.conducts] += np.linalg.lstsq(self.kept, left, rcond=None)[0]
        return q, v, z[len(z) - len(self.rows) :]

    def balances(self, rates: np.ndarray, multipliers: np.ndarray, held: np.ndarray) -> bool:
        """Whether the network is in its steady state at given rates (c,) and multipliers (m,), as far as poses are known."""
        self.held = held
        z = np.concatenate([self.state.q[self.chosen][self.rests], rates[self.conducts], multipliers])
        left = self._left(z)
        # currents may all be rounding of potentials
        return bool((np.abs(left.values) <= np.maximum(_SETTLED * left.terms, EPS * left.terms.max(initial=0.0))).all())

    def loops(self, rates: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Loops (c, l) along which rates (c,) may change without any effort: nothing in the network resists or reads them.

        None if nothing in it has a coenergy, since then there is no flux that loops could keep.
        """
        if not any(np.isin(g.internal, self.chosen).any() for g in self.assembly.inductive):
            return np.zeros((len(self.chosen), 0))
        z = np.concatenate([self.state.q[self.chosen][self.rests], rates[self.conducts], multipliers])
        count = len(self.rests)
        along = undetermined_motions(self._left(z).slopes[:, count : count + len(self.conducts)])
        found = np.zeros((len(self.chosen), along.shape[1]))
        found[self.conducts] = along
        return found

    def _values(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and rates (c,) of the network."""
        q, v, count = self.state.q[self.chosen].copy(), np.zeros(len(self.chosen)), len(self.rests)
        q[self.rests], v[self.conducts] = z[:count], z[count : count + len(self.conducts)]
        return q, v

    def _sums(self, q: np.ndarray) -> np.ndarray:
        """Residuals (m,) of the constraints, which are linear in charges."""
        return self.residual + self.matrix @ (q - self.state.q[self.chosen])

    def _left(
        self,
        z: np.ndarray,
        rows: np.ndarray | slice = ALL,
        columns: np.ndarray | slice = ALL,
        y: np.ndarray | None = None,
    ) -> Left:
        """What is left of all equations, with slopes by the unknowns z: values of what rests, rates of what flows, multipliers.

        With ``rows`` and ``columns``, only these equations by these unknowns, whose values are y.
        """
        if y is not None:
            z = z.copy()
            z[columns] = y
        q, v = self._values(z)
        at, carrying = self._at(q, v)
        gradient, by_values, load = self._forces(at, carrying)
        own, m, reactions = self.first + self.chosen, self.matrix, z[len(z) - len(self.rows) :]
        by_rates = carrying.by_rates(at)[:, own].tocsr()[own].toarray()
        resting, flows = m[:, self.rests], m[:, self.conducts]
        slopes = np.vstack([
            np.hstack([by_values[:, self.rests], by_rates[:, self.conducts], m.T]),
            np.hstack([0.0 * resting, flows, np.zeros((len(m), len(m)))]),
            np.hstack([self.closed @ resting, np.zeros((len(self.closed), flows.shape[1] + len(m)))]),
        ])  # fmt: skip
        slopes[np.abs(slopes) <= VANISHED] = 0.0  # of speeds at which records are taken, at rest
        left = np.concatenate([gradient + m.T @ reactions, m @ v - self.held, self.closed @ self._sums(q)])
        terms = np.abs(slopes) @ np.abs(z)
        terms[: len(load)] += load
        terms[len(load) : len(load) + len(m)] += np.abs(self.held)
        # what is left of currents that are rounding themselves counts by the others
        terms = np.maximum(terms, EPS * terms.max(initial=0.0))
        return Left(left[rows], slopes[rows][:, columns], terms[rows])

    def _refuse_unused(self, within: np.ndarray) -> None:
        """Refuse efforts that are in none of the equations (m, n)."""
        unused = self.rests[~within[:, : len(self.rests)].any(axis=0) & self.efforts[self.rests]]
        if len(unused):
            raise ModelError(
                f"{self.assembly.topology.label}: the effort {self.names[unused[0]]} is in no effort_constraint and no power; "
                "expected an equation that decides it; leave it out, or hold the flow by a flow_constraint, whose "
                "multiplier is the effort"
            )

    def _refuse_undetermined(self, slopes: np.ndarray, by: np.ndarray) -> None:
        """Refuse efforts that equations with slopes (m, c) by the unknowns ``by`` (n,) leave open: they have no initial value."""
        open_ = np.zeros(len(by), dtype=bool)
        open_[by] = undetermined(slopes)
        names = [self.names[k] for k in self.rests[open_[: len(self.rests)] & self.efforts[self.rests]]]
        if not names:
            return
        what, expected, remedy = "efforts", "an equation for each of them", "add it to the effort_constraint"
        if any(getattr(name, "unit", "") == "K" for name in names):
            what, expected, remedy = "temperatures", "a path to surroundings", "connect a TemperatureSource"
        raise ModelError(
            f"{self.assembly.topology.label}: nothing decides the {what} {some(names)}, since many values balance; expected "
            f"{expected}; {remedy}, or use simulate(), which begins at initial values"
        )

    def _refuse(self, left: Left) -> None:
        count, label = len(self.names), self.assembly.topology.label
        begin = f"{label}: no steady state was found of the network of {some(self.names)}"
        given = self._forces(*self._at(self.state.q[self.chosen], np.zeros(count)))[0]
        if (motion := unbalanced_motion(left.slopes[:count], given)) is not None:
            k = int(np.abs(motion * given).argmax())
            # what stands still and feels nothing, such as a fan that a current turns, lacks a force, not what drives it
            idle = self.rests[~left.slopes[:, : len(self.rests)].any(axis=0)]
            idle = idle[np.abs(motion[idle]) > DEPENDENT * np.abs(motion).max()]
            k = int(idle[0]) if len(idle) else k
            force = f"{-(motion @ given) / motion[k]:.3g} {self.names[k].effort_unit}"
            raise ModelError(
                f"{begin}: nothing balances {force} on {self.names[k]}; expected a stiffness, a resistance, or an effort that "
                "follows from its effort_constraint; hold it, or take the force away"
            )
        worst = int(left.off[:count].argmax())
        expected = (
            "a way out for all that is fed in, such as a HeatConductor to a TemperatureSource for heat, and efforts that appear "
            "in the effort_constraint of their element"
        )
        kept = (given != 0.0) & ~left.slopes[:count, :count].any(axis=1)
        if any(self.names[k].effort_unit == "K" for k in np.flatnonzero(kept)):  # there are surroundings
            expected = (
                "heat that flows out to grow faster with temperatures than what is fed in, which runs away otherwise; lower a "
                "source, or conduct more to the TemperatureSource"
            )
        raise ModelError(
            f"{begin}; {self.names[worst]} is off by {left.values[worst]:.3g} of {left.terms[worst]:.3g}; expected {expected}"
        )


def some(names: list[str]) -> str:
    """The first of names, for messages."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
