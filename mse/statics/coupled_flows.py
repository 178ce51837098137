"""Positions together with the flows that depend on them, as where a controller's voltage holds a ball under a magnet.

A loop without resistance is another such case: to keep its flux, its current follows the magnet above it.
A search for poses takes the state of :mod:`.networks` as given, and finds it again afterwards.  If positions change what drives
a flow, and the flow exerts forces, that loop may be what holds the system: at a constant current the ball falls.  Newton's
method on both together therefore finds the state from which such a search begins.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..elements.coordinates import flowing
from ..errors import ModelError
from ..model.configuration import State
from ..model.evaluation import Evaluation, Measure
from ..model.flow_constraints import flow_constraints
from ..model.joint_assembly import restored
from ..numerics.precision import DEPENDENT, EPS
from ..numerics.scaled_newton import shortest
from .networks import networks
from .steady_flows import carrying, flux_keeping

# Unknowns beyond which positions and flows are found in turn: a step of Newton's method is dense, and takes 0.1 s there
_MOST = 600
# Of Newton's method, which takes five to fifteen on rails, hinges and wires; with 30 tests/statics/test_coupled_flows.py passes.
_STEPS = 60
# Of the size of the system: the longest step, which also turns bodies by so many rad.  With half and twice of it
# tests/statics/test_coupled_flows.py passes.
_LONGEST = 0.2


def balanced_together(here: Evaluation, *, stable: bool) -> State | None:
    """The state near this one in which forces, steady flows and networks balance; a ``stable`` one is sought with the forces.

    None if positions do not change what drives flows, and if no such state is found.
    """
    parts = networks(here.assembly, here.configuration)
    kept = flux_keeping(here, parts)
    if not parts and not kept.shape[1]:
        return None
    here = here.measured(Measure.of(here.assembly, here.configuration.o))
    both = _Coupled(here, kept)
    return both.solved(here, stable) if both.coupled and both.count <= _MOST else None


class _Coupled:
    """A system whose networks may follow its positions.

    Its coordinates are ``flows``, which have steady rates, and ``places``, which have values.  Those that belong to no network
    and do not flow are what ``moves``.
    """

    def __init__(self, here: Evaluation, kept: sp.csc_matrix):
        assembly, at = here.assembly, here.configuration
        t = assembly.topology
        first = assembly.size - t.internal
        stiffness = here.total(2).stiffness.tocsc()
        stored = np.asarray(abs(stiffness[first:, first:]).sum(axis=0)).ravel() > 0.0
        self.conducts = np.flatnonzero(flowing(t.coordinate_names[first:]) & ~stored)
        self.flows = first + self.conducts
        self.places = np.delete(np.arange(assembly.size), self.flows)
        follow = np.concatenate([self.flows, *(first + part for part in networks(assembly, at))])
        self.moves = np.setdiff1d(np.arange(assembly.size), follow)
        self.kept = kept[self.conducts].toarray()
        self.coupled = abs(stiffness[follow][:, self.moves]).sum() > 0.0 or bool(self._kept(here)[:, self.moves].any())
        self.count = assembly.size + assembly.constraint_count

    def solved(self, here: Evaluation, stable: bool) -> State | None:
        """The state; None where Newton's method does not arrive."""
        size, outermost, before = here.measure.size, here.measure.outermost, np.inf
        for _ in range(_STEPS):
            try:
                here = _with_flows(here)
            except ModelError:
                return None
            step, left, terms = self._step(here)
            longest = np.abs(step[self.moves]).max(initial=0.0)
            balanced = np.abs(left).max(initial=0.0) <= np.sqrt(EPS) * terms
            if longest <= EPS * outermost or (balanced and longest >= 0.5 * before):
                break
            before = longest
            if stable and step[self.moves] @ left < 0.0:
                step = -step  # such a step goes against the forces, to a place where nothing holds the system
            there = here.moved(step * min(1.0, _LONGEST * size / longest))
            here = restored(there, here.tangent()) if here.assembly.constraint_count else there
            if here is None:
                return None
        return here.state if balanced else None

    def _step(self, here: Evaluation) -> tuple[np.ndarray, np.ndarray, float]:
        """Newton's step (n,), forces (k,) on what moves that nothing balances, and their largest terms, all measured.

        Flows change with positions as their own equations say: efforts balance, flows add up, and joints hold.
        """
        assembly, metric = here.assembly, here.measure.metric
        m, total = assembly.constraint_count, here.total(2)
        g = here.slopes.toarray() if m else np.zeros((0, assembly.size))
        held = flow_constraints(assembly, here.configuration).slopes.toarray()[:, self.flows]
        pushed = np.vstack([g, np.zeros((len(held), assembly.size))])
        pushed[m:, self.flows] = held
        multipliers = np.linalg.lstsq(pushed.T / metric[:, None], -total.gradient / metric, rcond=DEPENDENT)[0]
        k = here.with_reactions(total.stiffness, multipliers[:m]).toarray()
        k[:, self.flows] = assembly.by_rates(here.configuration)[:, self.flows].toarray()
        along = pushed.copy()  # the rows on rates
        along[:, self.places] = 0.0
        # rows combined so that nothing that flows is left in them
        closed = sl.null_space(g[:, self.flows].T).T @ g if m else g
        closed[:, self.flows] = 0.0
        rows = np.vstack([along, closed, self._kept(here)])
        left = total.gradient + pushed.T @ multipliers
        matrix = np.block([[k, pushed.T], [rows, np.zeros((len(rows), len(pushed)))]])
        by = np.append(metric, np.ones(len(rows))), np.append(metric, np.ones(len(pushed)))
        right = np.append(-left / metric, np.zeros(len(rows)))
        step = shortest(matrix / by[0][:, None] / by[1], right)[0][: assembly.size]
        step[self.flows] = 0.0
        terms = total.load + np.abs(pushed.T) @ np.abs(multipliers) + np.abs(k) @ (here.measure.outermost / metric)
        return step, -left[self.moves] / metric[self.moves], float((terms / metric)[self.moves].max())

    def _kept(self, here: Evaluation) -> np.ndarray:
        """Slopes (l, n) of the fluxes of loops without resistance, by values and, of what flows, by rates."""
        assembly, at = here.assembly, here.configuration
        # these loops pass no resistance, so only coenergies couple their rates to forces
        out = -(self.kept.T @ assembly.by_rates(at)[:, self.flows].T.toarray())
        own = assembly.inductances(at, assembly.flows)[self.conducts][:, self.conducts]
        out[:, self.flows] = self.kept.T @ own.toarray()
        return out


def _with_flows(here: Evaluation) -> Evaluation:
    """The same with the flows of its positions, and the same measure and factors."""
    new = carrying(here)
    return Evaluation(new.assembly, new.state, here.factors, measure=here.measure)
