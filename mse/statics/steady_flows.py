"""Steady flows: currents and the like in loops of circuits where nothing stores charge.

Charges with a stiffness rest at a working point.  Loops of the others may carry constant rates v.  These minimise
``D(v) - e.v``, content less the power of all efforts e at rest, among the rates that the rows of junctions and other constraints
allow (Millar, Phil. Mag. 42 (1951) 1150).

A loop that nothing resists keeps its flux linkage ``dT/dv``.  Where a coil is given one, it is that, wherever bodies are.
Without a given flux, it is the flux at zero currents.  Magnets then drive no current in the loop.  A steady current in a coupled
coil drives the one that cancels its flux.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..elements.circuits import CurrentSource, Inductor
from ..elements.coordinates import flowing
from ..errors import ModelError
from ..model.assembly import ALL, Assembly
from ..model.configuration import Configuration
from ..model.evaluation import Evaluation
from ..model.flow_constraints import flow_constraints
from ..numerics.factor import UnsymmetricFactor
from ..numerics.null_motions import null_space
from ..numerics.precision import DEPENDENT, EPS, NOTHING
from ..numerics.rank import rank
from ..numerics.sparse_tools import no_columns
from ..numerics.tangent import normalized
from .networks import Network, Steady, networks, some

if TYPE_CHECKING:
    from .working_point import WorkingPoint

_STEPS = 100  # Newton steps
_HALVINGS = 40
_ENOUGH = 64.0 * EPS  # of the efforts that balance


def carrying(here: Evaluation) -> Evaluation:
    """The system with the steady flows that efforts drive in its state, and with networks in their steady state.

    Raises ModelError for loops of ideal sources, for flows that nothing limits, and for networks without a steady state.
    """
    assembly = here.assembly
    if not assembly.topology.internal:
        return here
    at = here.configuration
    parts = networks(assembly, at)
    rates = steady_flows(assembly, at, np.concatenate([np.zeros(0, dtype=int), *parts]))
    if not parts:
        new = assembly.carrying(rates)
        return here if new is assembly else Evaluation(new, here.state, frames=here.frame_poses)
    plain, held, q, found = assembly.carrying(rates), _held(assembly), here.state.q.copy(), []
    for part in parts:
        network = Network(plain, here.state, part)
        q[part], v, multipliers = network.solved(held[network.rows], assembly.flows[part])
        rates[part] = _kept_by(plain, at, part, v, network.loops(v, multipliers))
        found.append(Steady(part, network.rows, multipliers))
    steady = Steady(*(np.concatenate(x) for x in zip(*found, strict=True)))
    return Evaluation(plain.carrying(rates, steady), here.state._replace(q=q), frames=here.frame_poses)


def changed_flows(result: WorkingPoint) -> bool:
    """Whether steady flows and networks at a working point are others than those that it was found with, beyond rounding."""
    assembly = result._assembly
    before, steady = assembly.flows, assembly.steady
    if steady is None and not before.any():
        return False
    here = result._evaluation
    at, parts = here.configuration, [] if steady is None else networks(assembly, here.configuration)
    for part in parts:
        network = Network(assembly, here.state, part)
        multipliers = np.zeros(assembly.constraint_count)
        multipliers[steady.rows] = steady.multipliers
        if not network.balances(before[part], multipliers[network.rows], _held(assembly)[network.rows]):
            return True
        loops = network.loops(before[part], multipliers[network.rows])
        if _differ(_kept_by(assembly, at, part, before[part], loops), before[part]):
            return True
    apart = np.concatenate([np.zeros(0, dtype=int), *parts])
    own = np.delete(before, apart)
    if not own.any() and not _flux_given(assembly).any():
        return False
    now = np.delete(steady_flows(assembly, at, apart), apart)
    return _differ(now, own)


def _differ(now: np.ndarray, before: np.ndarray) -> bool:
    return bool(np.abs(now - before).max(initial=0.0) > NOTHING * np.abs(before).max(initial=0.0))


def _kept_by(assembly: Assembly, at: Configuration, part: np.ndarray, v: np.ndarray, loops: np.ndarray) -> np.ndarray:
    """Rates v (c,) of the coordinates of a ``part`` (c,) with currents along loops (c, l) that keep the flux of these."""
    if not loops.shape[1]:
        return v
    return _loops_of(assembly, at, part)._keeping_flux(v, sp.csc_matrix(loops))


def _loops_of(assembly: Assembly, at: Configuration, part: np.ndarray) -> _Loops:
    """The circuit of the coordinates of one network."""
    first = assembly.size - assembly.topology.internal
    names = [assembly.topology.coordinate_names[first + k] for k in part]
    return _Loops(
        assembly, at, part, np.zeros(len(part)), names, np.zeros(len(part), dtype=int), _flux_given(assembly)[part]
    )


def _held(assembly: Assembly) -> np.ndarray:
    """Rates (m,) at which current sources hold constraints."""
    held = np.zeros(assembly.constraint_count)
    for row, current in _given(assembly).items():
        held[row] = current
    return held


def steady_flows(assembly: Assembly, at: Configuration, apart: np.ndarray) -> np.ndarray:
    """Constant rates (k,) of internal coordinates at a configuration, zero where nothing flows and for those set ``apart``."""
    found = np.zeros(assembly.topology.internal)
    if (driven := _driven(assembly, at, apart)) is not None:
        loops, rows, currents = driven
        found[loops.chosen] = loops.solved(rows, currents)
    return found


def flux_keeping(here: Evaluation, parts: list[np.ndarray]) -> sp.csc_matrix:
    """Loops (k, l) of internal coordinates that keep a given flux by currents, since nothing resists these.

    The ``parts`` are networks, in their steady state.
    """
    assembly, at = here.assembly, here.configuration
    k, given = assembly.topology.internal, _flux_given(assembly)
    if not given.any():
        return no_columns(k)
    every, found = sp.identity(k, format="csc"), [no_columns(k)]
    if (driven := _driven(assembly, at, np.concatenate([np.zeros(0, dtype=int), *parts]))) is not None:
        loops, rows, _ = driven
        found.append(every[:, loops.chosen] @ loops.keeping(rows))
    for part in parts:
        if given[part].any():
            network, multipliers = Network(assembly, here.state, part), np.zeros(assembly.constraint_count)
            multipliers[assembly.steady.rows] = assembly.steady.multipliers
            own = network.loops(assembly.flows[part], multipliers[network.rows])
            found.append(every[:, part] @ _loops_of(assembly, at, part).inductive(sp.csc_matrix(own)))
    return sp.hstack(found, format="csc")


def _driven(
    assembly: Assembly, at: Configuration, apart: np.ndarray
) -> tuple[_Loops, sp.csr_matrix, np.ndarray] | None:
    """Circuits that efforts, currents or given fluxes drive, the rows (m, c) that hold their rates, and those values (m,)."""
    t = assembly.topology
    if not t.internal or not any(g.cls.carries() or g.cls is CurrentSource for g in assembly.groups):
        return None
    first = assembly.size - t.internal
    names = t.coordinate_names[-t.internal :]
    still = assembly.carrying(np.zeros(t.internal))
    _, _, gradient, _, stiffness = still.total(at, 2)
    efforts, inner = -gradient[first:], stiffness.tocsc()[first:, first:]
    stored = np.asarray(abs(inner).sum(axis=0)).ravel() > 0.0
    conducts = flowing(names) & ~stored
    conducts[apart] = False
    kept, given = _flux_given(still), _given(still)
    drives = (efforts != 0.0) | kept
    if not (conducts & drives).any() and not given:
        return None
    rows = sp.vstack([still.constraints(at)[1], flow_constraints(still, at).slopes]).tocsr()[:, first:]
    rows, currents = rows[:, conducts], np.zeros(rows.shape[0])
    for row, current in given.items():
        currents[row] = current
    places, here = np.flatnonzero(conducts), np.full(t.internal, -1)
    here[places] = np.arange(len(places))
    part = _parts(still, rows, here, len(places))
    driven = np.zeros(part.max(initial=-1) + 1, dtype=bool)
    driven[part[drives[places]]] = driven[part[abs(rows[currents != 0.0]).sum(axis=0).A1 > 0.0]] = True
    if not driven.any():  # all that currents drive is set apart
        return None
    places, rows = places[driven[part]], rows[:, driven[part]]
    on = np.diff(rows.indptr) > 0
    loops = _Loops(still, at, places, efforts[places], [names[k] for k in places], part[driven[part]], kept[places])
    return loops, rows[on], currents[on]


def _flux_given(assembly: Assembly) -> np.ndarray:
    """Which internal coordinates (k,) are charges of coils whose flux is given."""
    found = np.zeros(assembly.topology.internal, dtype=bool)
    for g in assembly.groups:
        if issubclass(g.cls, Inductor):
            found[g.internal[:, 0]] = [el.obj.flux is not None for el in g.elements]
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


def _parts(assembly: Assembly, rows: sp.csr_matrix, here: np.ndarray, count: int) -> np.ndarray:
    """The part (c,) of each conducting coordinate: rows and elements couple those of one part to each other."""
    pairs = [rows.T @ rows]
    for g in assembly.groups:
        if g.cls.carries():
            own = here[g.internal]
            i, j = (np.broadcast_to(x, (*own.shape, own.shape[1])) for x in (own[:, :, None], own[:, None, :]))
            on = (i >= 0) & (j >= 0)
            pairs.append(sp.coo_matrix((np.ones(on.sum()), (i[on], j[on])), shape=(count, count)))
    return connected_components(sum(abs(p) for p in pairs), directed=False)[1]


class _Loops:
    """Circuits that something drives: coordinates ``chosen`` (c,) with ``efforts`` (c,), and the ``part`` of each.

    ``kept`` (c,) are coils whose flux is given, as is then that of all loops of their part.

    All are solved together, as sparse as they are.  Each part has sizes of its own, since volts and pascals differ.
    """

    def __init__(
        self, assembly: Assembly, at: Configuration, chosen: np.ndarray, efforts: np.ndarray, names: list[str],
        part: np.ndarray, kept: np.ndarray,
    ):  # fmt: skip
        self.assembly, self.at, self.chosen, self.efforts, self.names = assembly, at, chosen, efforts, names
        self.part = np.unique(part, return_inverse=True)[1]
        self._fixed = self._largest(kept)[self.part] > 0.0

    def solved(self, rows: sp.csr_matrix, currents: np.ndarray) -> np.ndarray:
        """The rates (c,) under ``rows . v = currents``, those of current sources."""
        rows, lengths = normalized(rows, currents)[::2]
        currents, of = currents / lengths, rank(rows, 1)
        v, free = np.zeros(len(self.chosen)), rows[of.independent]
        if currents.any():
            square = UnsymmetricFactor(free[:, of.pivots].tocsc())
            v[of.pivots] = square.solve(currents[of.independent])
            left = np.abs(rows @ v - currents)
            wrong = np.flatnonzero(left > DEPENDENT * self._largest(v)[self.part[rows.indices[rows.indptr[:-1]]]])
            if len(wrong):
                self._refuse_currents(rows, currents * lengths, int(rows.indices[rows.indptr[wrong[0]]]))
        v, unresisted = self._minimal(v, free)
        return self._bypassing(self._keeping_flux(v, unresisted) if unresisted.shape[1] else v)

    def _bypassing(self, v: np.ndarray) -> np.ndarray:
        """The rates (c,) without those that are rounding in resistances of a part that currents alone drive, if all are.

        Loops without resistance carry the currents past them.  The efforts of such rates are rounding as well, and would have
        nothing but each other to be compared with.
        """
        quiet = self._largest(self.efforts) == 0.0
        if not quiet.any():
            return v
        resisted = abs(self._resisting(v)[1]).sum(axis=1).A1 > 0.0
        through = self._largest(np.where(resisted, v, 0.0))
        nothing = quiet & (through <= _ENOUGH * self._largest(v))
        return np.where(resisted & nothing[self.part], 0.0, v)

    def keeping(self, rows: sp.csr_matrix) -> sp.csc_matrix:
        """Loops (c, l) of a given flux, without resistance, but with inductance, that rows (m, c) allow."""
        rows, v = normalized(rows, np.zeros(rows.shape[0]))[0], np.zeros(len(self.chosen))
        loops = _unresisted(rows[rank(rows, 1).independent], self._resisting(v)[1])[0]
        return self.inductive(loops[:, self._fixed[loops.indices[loops.indptr[:-1]]]])

    def inductive(self, loops: sp.csc_matrix) -> sp.csc_matrix:
        """The loops with inductance, of given ones (c, l)."""
        if not loops.shape[1]:
            return loops
        bare = null_space((loops.T @ self._linked(np.zeros(len(self.chosen)))[1] @ loops).tocsr())[1]
        return loops[:, np.setdiff1d(np.arange(loops.shape[1]), bare)]

    def _largest(self, values: np.ndarray) -> np.ndarray:
        """The largest of values (c,) in each part."""
        found = np.zeros(self.part.max(initial=-1) + 1)
        np.maximum.at(found, self.part, np.abs(values))
        return found

    def _refuse_currents(self, rows: sp.csr_matrix, currents: np.ndarray, coordinate: int) -> None:
        """Refuse the current sources of the part that a coordinate belongs to."""
        first = rows.indices[rows.indptr[:-1]]
        sources = np.flatnonzero((currents != 0.0) & (self.part[first] == self.part[coordinate]))
        told = some([f"{self.names[first[k]]} {currents[k]:g} A" for k in sources])
        raise ModelError(
            f"{self.assembly.topology.label}: the currents of {told} do not add up at their junctions, which nothing "
            "else feeds; expected another way for their current; connect a resistor, or remove a source"
        )

    def _resisting(self, v: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix]:
        """Efforts (c,) of resistances and powers at rates v, and their slopes (c, c)."""
        k = self.assembly.topology.internal
        rates, place = np.zeros(k), np.full(k, -1)
        rates[self.chosen], place[self.chosen] = v, np.arange(len(v))
        effort, slopes = np.zeros(len(v)), [sp.coo_matrix((len(v), len(v)))]
        for g in self.assembly.groups:
            if not g.cls.carries() or not (place[g.internal] >= 0).any():
                continue
            moving = g.velocities(rates)
            first, second = g.resisted(self.at, ALL, moving)
            if g.cls.defines("power"):
                forces, powered = g.powered(self.at, moving)
                first, second = first - forces, second - powered
            inner, own = first.shape[1] - g.internal.shape[1], place[g.internal]
            on = own >= 0
            np.add.at(effort, own[on], first[:, inner:][on])
            on = on[:, :, None] & on[:, None, :]
            i, j = np.broadcast_to(own[:, :, None], on.shape)[on], np.broadcast_to(own[:, None, :], on.shape)[on]
            slopes.append(sp.coo_matrix((second[:, inner:, inner:][on], (i, j)), shape=(len(v), len(v))))
        return effort, sum(slopes[1:], start=slopes[0]).tocsr()

    def _linked(self, v: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix]:
        """Fluxes (c,) at rates v, and inductances (c, c), their slopes."""
        rates = np.zeros(self.assembly.topology.internal)
        rates[self.chosen] = v
        own = self.assembly.inductances(self.at, rates)[self.chosen][:, self.chosen]
        return self.assembly.fluxes(self.at, rates)[self.chosen], own

    def _keeping_flux(self, v: np.ndarray, loops: sp.csc_matrix) -> np.ndarray:
        """The rates (c,) with currents along loops (c, l) without resistance at which the flux of each is what it keeps.

        Nothing decides the current of loops without inductance: as little as may be flows along them.
        """
        before, bare = np.inf, None
        still = self._linked(np.zeros(len(v)))[0]
        without, still = np.where(self._fixed, 0.0, still), np.abs(still)
        for _ in range(_STEPS):
            flux, slopes = self._linked(v)
            own = (loops.T @ slopes @ loops).tocsr()
            unit = np.sqrt(np.abs(own.diagonal()))
            unit = sp.diags(1.0 / np.where(unit > 0.0, unit, 1.0))
            own = (unit @ own @ unit).tocsr()
            if bare is None:
                bare, held = null_space(own)
                held = sp.identity(own.shape[0], format="csr")[held]
            try:
                factor = UnsymmetricFactor(sp.bmat([[own, held.T], [held, None]], format="csc"))
            except RuntimeError:  # a coil that is saturated
                break
            left = loops.T @ (flux - without)
            along = factor.solve(np.append(-(unit @ left), np.zeros(held.shape[0])))[: own.shape[0]]
            step = loops @ (unit @ along)
            change, v = self._largest(step), v + step
            # coils that nearly cancel each other turn rounding of fluxes into much larger currents
            terms = abs(loops).T @ (abs(slopes) @ np.abs(v) + still)
            if (change <= _ENOUGH * self._largest(v)).all() or (np.abs(left) <= _ENOUGH * terms).all():
                return self._without(v, loops @ unit @ bare)
            if not (change.max() < 2.0 * before):  # nor nan
                break
            before = change.max()
        share = abs(loops) @ np.ones(loops.shape[1])
        raise ModelError(
            f"{self.assembly.topology.label}: no current was found at which the loop of "
            f"{some([n for n, x in zip(self.names, share, strict=True) if x])} keeps its flux; expected fluxes that rise with "
            "their currents; check the kinetic coenergy of these, or add a Resistor"
        )

    def _part_of(self, loops: sp.csc_matrix) -> np.ndarray:
        """The part (m,) that each loop (c, m) belongs to."""
        return self.part[loops.indices[loops.indptr[:-1]]]

    def _members(self, loops: sp.csc_matrix, chosen: np.ndarray) -> list[str]:
        """Names of the coordinates of some loops (c, m) of the first part with any."""
        of = self._part_of(loops)
        share = abs(loops[:, chosen & (of == of[chosen][0])]).max(axis=1).toarray().ravel()
        return [name for name, x in zip(self.names, share, strict=True) if x > DEPENDENT * share.max()]

    def _minimal(self, v: np.ndarray, rows: sp.csr_matrix) -> tuple[np.ndarray, sp.csc_matrix]:
        """The rates (c,) beginning at v under independent rows (m, c), and loops (c, l) without resistance."""
        effort, slope = self._resisting(v)
        unresisted, held = _unresisted(rows, slope)
        sizes = (self._largest(self.efforts) + self._largest(effort))[self.part]
        if unresisted.shape[1]:
            self._refuse_unlimited(unresisted, sizes)
        rows, count = sp.vstack([rows, held], format="csr"), self.part.max(initial=-1) + 1
        for _ in range(_STEPS):
            unit = self._largest(abs(slope).max(axis=1).toarray().ravel())[self.part]
            unit[unit == 0.0] = 1.0
            try:
                factor = UnsymmetricFactor(
                    sp.bmat([[sp.diags(1.0 / unit) @ slope, rows.T], [rows, None]], format="csc")
                )
            except RuntimeError:  # singular, as resistances of both signs may be
                break
            right = np.concatenate([(self.efforts - effort) / unit, np.zeros(rows.shape[0])])
            step = factor.solve(right)[: len(v)]
            left = np.abs(slope @ step)
            if (left <= _ENOUGH * sizes).all():
                return self._without(v + step, unresisted), unresisted
            # the content falls along the step: a part goes half as far if its slope is larger there than it was
            share, before = np.ones(count), np.bincount(self.part, step * (effort - self.efforts), count)
            for _ in range(_HALVINGS):
                trial = v + share[self.part] * step
                effort, slope = self._resisting(trial)
                worse = ~(
                    np.abs(np.bincount(self.part, step * (effort - self.efforts), count)) < np.abs(before)
                )  # nor nan
                still = self._largest(np.where(left > _ENOUGH * sizes, 1.0, 0.0)) > 0.0  # not at rounding
                if not (worse & still).any():
                    break
                share[worse & still] *= 0.5
            v = trial
        worst = int((np.abs(left) / np.where(sizes > 0.0, sizes, 1.0)).argmax()) if len(v) else 0
        raise ModelError(
            f"{self.assembly.topology.label}: no steady flow was found through "
            f"{some([n for n, p in zip(self.names, self.part, strict=True) if p == self.part[worst]])}: {left[worst]:.3g} of "
            f"{sizes[worst]:.3g} V (or Pa, K) are left; expected contents that rise with the flow; check the dissipation of these"
        )

    def _without(self, v: np.ndarray, loops: sp.csc_matrix) -> np.ndarray:
        """Rates (c,) without what flows along loops (c, l)."""
        if not loops.shape[1]:
            return v
        return v - loops @ UnsymmetricFactor((loops.T @ loops).tocsc()).solve(loops.T @ v)

    def _refuse_unlimited(self, without: sp.csc_matrix, sizes: np.ndarray) -> None:
        driven = np.abs(without.T @ self.efforts) > DEPENDENT * self._largest(sizes)[self._part_of(without)]
        if not driven.any():
            return
        members = self._members(without, driven)
        sources = [f"{n} {abs(e):g}" for n, e in zip(self.names, self.efforts, strict=True) if e and n in members]
        raise ModelError(
            f"{self.assembly.topology.label}: a steady flow through {some(members)} is limited by nothing, driven by "
            f"{some(sources)} V (or Pa, K); expected a resistance in every loop of sources; add a Resistor"
        )


def _unresisted(rows: sp.csr_matrix, slope: sp.csr_matrix) -> tuple[sp.csc_matrix, sp.csr_matrix]:
    """Loops (c, l) that rows (m, c) allow and nothing resists, and rows (l, c) that hold one coordinate of each of them."""
    even = (slope + slope.T).tocsr()
    even.eliminate_zeros()
    # all motions without resistance, then those of them that the rows allow
    bare, _ = null_space(even)
    loops, chosen = null_space((rows @ bare).tocsr())
    loops = (bare @ loops).tocsc()
    loops.eliminate_zeros()
    loops.sort_indices()
    return loops, bare[:, chosen].T.tocsr()
