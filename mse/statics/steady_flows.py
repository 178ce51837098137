"""Steady flows: currents and the like in loops of circuits where nothing stores charge.

Charges with a stiffness rest at a working point.  Loops of the others may carry constant rates v.  These minimise
``D(v) - e.v``, content less the power of all efforts e at rest, among the rates that the rows of junctions and other constraints
allow (Millar, Phil. Mag. 42 (1951) 1150).  A loop that nothing resists keeps its flux linkage, which is zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..elements.circuits import CurrentSource
from ..elements.coordinates import flowing
from ..errors import ModelError
from ..model.assembly import ALL, Assembly
from ..model.configuration import Configuration
from ..model.flow_constraints import flow_constraints
from ..numerics.precision import DEPENDENT, EPS, NOTHING

if TYPE_CHECKING:
    from .working_point import WorkingPoint

_STEPS = 100  # Newton steps
_HALVINGS = 40
_ENOUGH = 64.0 * EPS  # of the efforts that balance


def carrying(assembly: Assembly, at: Configuration) -> Assembly:
    """The assembly with the steady flows that its efforts drive at a configuration.

    Raises ModelError for loops of ideal sources, and for flows that nothing limits.
    """
    return assembly.carrying(steady_flows(assembly, at))


def changed_flows(result: WorkingPoint) -> bool:
    """Whether steady flows at a working point differ from those that it was found with, by more than rounding."""
    before = result._assembly.flows
    if not before.any():
        return False
    now = steady_flows(result._assembly, result._configuration)
    return bool(np.abs(now - before).max() > NOTHING * np.abs(before).max())


def steady_flows(assembly: Assembly, at: Configuration) -> np.ndarray:
    """Constant rates (k,) of the internal coordinates at a configuration; zero where nothing flows."""
    t = assembly.topology
    found = np.zeros(t.internal)
    if not t.internal or not any(g.cls.carries() or g.cls is CurrentSource for g in assembly.groups):
        return found
    first = assembly.size - t.internal
    names = t.coordinate_names[-t.internal :]
    still = assembly.carrying(found)
    _, _, gradient, _, stiffness = still.total(at, 2)
    efforts, inner = -gradient[first:], stiffness.tocsc()[first:, first:]
    stored = np.asarray(abs(inner).sum(axis=0)).ravel() > 0.0
    conducts = flowing(names) & ~stored
    given = _given(still)
    if not (conducts & (efforts != 0.0)).any() and not given:
        return found
    rows = sp.vstack([still.constraints(at)[1], flow_constraints(still, at).slopes]).tocsr()[:, first:]
    rows, currents = rows[:, conducts], np.zeros(rows.shape[0])
    for row, current in given.items():
        currents[row] = current
    places, here = np.flatnonzero(conducts), np.full(t.internal, -1)
    here[places] = np.arange(len(places))
    for part in _parts(still, rows, here, len(places)):
        chosen = places[part]
        own = rows[:, part].toarray()
        on = np.abs(own).any(axis=1)
        if currents[on].any() or efforts[chosen].any():
            loops = _Loops(still, at, chosen, efforts[chosen], [names[k] for k in chosen])
            found[chosen] = loops.solved(own[on], currents[on])
    return found


def _given(assembly: Assembly) -> dict[int, float]:
    """Rates that current sources hold, by number of the constraint."""
    sources = [g for g in assembly.groups if g.cls is CurrentSource]
    found = (
        (int(row), el.obj.current)
        for g in sources
        for el, (row,) in zip(g.elements, assembly.constraint_rows(g), strict=True)
    )
    return {row: current for row, current in found if current}


def _parts(assembly: Assembly, rows: sp.csr_matrix, here: np.ndarray, count: int) -> list[np.ndarray]:
    """Numbers of the conducting coordinates that rows or elements couple to each other, part by part."""
    pairs = [rows.T @ rows]
    for g in assembly.groups:
        if g.cls.carries():
            own = here[g.internal]
            i, j = (np.broadcast_to(x, (*own.shape, own.shape[1])) for x in (own[:, :, None], own[:, None, :]))
            on = (i >= 0) & (j >= 0)
            pairs.append(sp.coo_matrix((np.ones(on.sum()), (i[on], j[on])), shape=(count, count)))
    label = connected_components(sum(abs(p) for p in pairs), directed=False)[1]
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


class _Loops:
    """The loops of one part of a circuit: coordinates ``chosen`` (c,), driven by ``efforts`` (c,)."""

    def __init__(
        self, assembly: Assembly, at: Configuration, chosen: np.ndarray, efforts: np.ndarray, names: list[str]
    ):
        self.assembly, self.at, self.chosen, self.efforts, self.names = assembly, at, chosen, efforts, names

    def solved(self, rows: np.ndarray, currents: np.ndarray) -> np.ndarray:
        """The rates (c,) under ``rows . v = currents``, those of current sources."""
        v, loops = np.zeros(len(self.chosen)), sl.null_space(rows) if len(rows) else np.eye(len(self.chosen))
        if currents.any():
            v = np.linalg.lstsq(rows, currents, rcond=DEPENDENT)[0]
            if np.abs(rows @ v - currents).max() > DEPENDENT * np.abs(currents).max():
                held = [self.names[int(np.abs(row).argmax())] for row in rows[currents != 0.0]]
                told = _some([f"{name} {x:g} A" for name, x in zip(held, currents[currents != 0.0], strict=True)])
                raise ModelError(
                    f"{self.assembly.topology.label}: the currents of {told} do not add up at their junctions, which nothing "
                    "else feeds; expected another way for their current; connect a resistor, or remove a source"
                )
        v, unresisted = self._minimal(v, loops)
        if unresisted.shape[1]:
            self._refuse_linked(v, unresisted)
        return v

    def _resisting(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Efforts (c,) of resistances and powers at rates v, and their slopes (c, c)."""
        k = self.assembly.topology.internal
        rates, place = np.zeros(k), np.full(k, -1)
        rates[self.chosen], place[self.chosen] = v, np.arange(len(v))
        effort, slope = np.zeros(len(v)), np.zeros((len(v), len(v)))
        for g in self.assembly.groups:
            members = np.flatnonzero((place[g.internal] >= 0).any(axis=1)) if g.cls.carries() else ()
            if not len(members):
                continue
            moving = np.hstack([np.zeros((len(g.members), 6 * g.frames.shape[1])), rates[g.internal]])
            first, second = g.resisted(self.at, ALL, moving)
            if g.cls.defines("power"):
                forces, slopes = g.powered(self.at, moving)
                first, second = first - forces, second - slopes
            inner = first.shape[1] - g.internal.shape[1]
            for e in members:
                own = place[g.internal[e]]
                on = np.flatnonzero(own >= 0)
                effort[own[on]] += first[e, inner + on]
                slope[np.ix_(own[on], own[on])] += second[e][np.ix_(inner + on, inner + on)]
        return effort, slope

    def _refuse_linked(self, v: np.ndarray, unresisted: np.ndarray) -> None:
        """Refuse loops (c, m) without resistance in which steady flows would keep the flux of other ones at zero."""
        rates = np.zeros(self.assembly.topology.internal)
        flux = np.zeros(len(rates))
        rates[self.chosen] = v
        for g in self.assembly.groups:
            if g.cls.carries() and g.cls.defines("kinetic"):
                moving = np.hstack([np.zeros((len(g.members), 6 * g.frames.shape[1])), rates[g.internal]])
                momenta = g.momenta(self.at, moving)
                np.add.at(flux, g.internal, momenta[:, momenta.shape[1] - g.internal.shape[1] :])
        linked = np.abs(unresisted.T @ flux[self.chosen]) > DEPENDENT * np.abs(flux[self.chosen]).max(initial=0.0)
        if linked.any():
            loop = np.abs(unresisted[:, linked]).max(axis=1)
            members = [name for name, share in zip(self.names, loop, strict=True) if share > DEPENDENT * loop.max()]
            raise ModelError(
                f"{self.assembly.topology.label}: the loop of {_some(members)} has no resistance, so it would keep out the flux "
                "of a steady current beside it for ever; expected a resistance; add a small Resistor"
            )

    def _minimal(self, v: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rates (c,) beginning at v along loops z (c, l), and loops (c, m) without resistance."""
        if not z.shape[1]:
            return v, z
        effort, slope = self._resisting(v)
        sizes = np.abs(self.efforts).max(initial=0.0) + np.abs(effort).max(initial=0.0)
        # where nothing resists, in units of the largest resistance
        values, turn = np.linalg.eigh(z.T @ (0.5 * (slope + slope.T)) @ z)
        resists = values > DEPENDENT * np.abs(slope).max(initial=0.0)
        if (without := z @ turn[:, ~resists]).shape[1]:
            self._refuse_unlimited(without, sizes)
        z = z @ turn[:, resists]
        for _ in range(_STEPS):
            left = z.T @ (effort - self.efforts)
            if np.abs(left).max(initial=0.0) <= _ENOUGH * sizes:
                break
            step = -z @ np.linalg.solve(z.T @ slope @ z, left)
            for halved in range(_HALVINGS):
                trial = v + 0.5**halved * step
                effort, slope = self._resisting(trial)
                if np.linalg.norm(z.T @ (effort - self.efforts)) < np.linalg.norm(left):
                    break
            else:
                break  # rounding is left
            v = trial
        left = np.abs(z.T @ (effort - self.efforts)).max(initial=0.0)
        if not left <= np.sqrt(EPS) * (sizes + np.abs(effort).max(initial=0.0)):
            raise ModelError(
                f"{self.assembly.topology.label}: no steady flow was found through {_some(self.names)}: {left:.3g} of "
                f"{sizes:.3g} V (or Pa, K) are left; expected contents that rise with the flow; check the dissipation of these"
            )
        return v, without

    def _refuse_unlimited(self, without: np.ndarray, sizes: float) -> None:
        driven = np.abs(without.T @ self.efforts) > DEPENDENT * sizes
        if not driven.any():
            return
        loop = np.abs(without[:, driven]).max(axis=1)
        members = [name for name, share in zip(self.names, loop, strict=True) if share > DEPENDENT * loop.max()]
        sources = [f"{n} {abs(e):g}" for n, e in zip(self.names, self.efforts, strict=True) if e and n in members]
        raise ModelError(
            f"{self.assembly.topology.label}: a steady flow through {_some(members)} is limited by nothing, driven by "
            f"{_some(sources)} V (or Pa, K); expected a resistance in every loop of sources; add a Resistor"
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
