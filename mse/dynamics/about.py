"""Linear models about a motion: ``M x'' + Lambda x' + K x = F u`` with all that turning and acceleration add.

What they add comes element by element from :mod:`mse.dynamics.moving`, along axes that do not turn.  About a steady motion the
matrices are constant along axes that turn at W_b with each body.  There ``x' = y' + W_b x y``, and
``x'' = y'' + 2 W_b x y' + W_b x (W_b x y)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.records import MOTION
from ..kernels.masses import cross_matrices
from ..linear.joint_constraints import JointRows
from ..linear.linear_model import LinearModel
from ..linear.linearize import Expansion
from ..linear.skew_parts import CIRCULATORY, SkewParts, split
from ..linear.stiffness_parts import JoinedParts, ListedParts
from ..model.assembly import Assembly
from ..model.flow_constraints import FlowConstraints
from ..model.topology import Element
from ..numerics.blas_threads import one_thread
from ..numerics.sparse_tools import empty
from .moving import Added, Moving
from .rolling import divided, with_flows


class About(NamedTuple):
    """A linear model about a motion whose flow constraints are still open: ``rows x' + turning x = 0``, each (f, n + l)."""

    model: LinearModel
    rows: sp.csr_matrix
    turning: sp.csr_matrix


@one_thread
def linearize(moving: Moving, turning: np.ndarray | None = None) -> LinearModel:
    """The linear model about a motion, along axes that turn at ``turning`` (units, 3) rad/s with each unit; see the module."""
    found = about(moving, turning)
    return with_flows(*found) if found.rows.shape[0] else found.model


def about(moving: Moving, turning: np.ndarray | None = None) -> About:
    """The same with the rows of flow constraints, where these are no constraints of positions as they are at rest."""
    expansion, rolls = Expansion(moving, None), bool(moving.v.any())
    pattern, clusters = expansion.pattern, expansion.clusters
    rows, turns, numbers = _flow_rows(moving, clusters)
    expansion.inertia = _loads(moving.added, clusters)
    held = FlowConstraints(empty(0, pattern.size), numbers) if rolls else expansion.flows
    joints = JointRows(moving, clusters, expansion.constraints, held, pattern, None)
    frame = _Axes(moving, expansion, pattern.size + len(joints.names), turning)
    mass, dampings, motions = sp.csr_matrix((frame.width,) * 2), [], []
    for owner, mechanism, own in _landed(moving.added, clusters):
        m, damping, stiffness = frame.seen(*own)
        mass = mass + m
        dampings.append(((owner, mechanism), damping))
        motions.append(((owner, MOTION), stiffness))
    even, odd = divided(dampings)
    model = expansion.model(joints, mass.tocsr(), ListedParts.of(even, frame.width, "damping"), None, None)
    gyroscopic = sum((k for _, k in odd), sp.csr_matrix((frame.width,) * 2))
    at_rest = model.full_stiffness
    even, odd = divided(motions, abs(at_rest).max() if at_rest.nnz else 0.0)
    static = expansion.skew(frame.width, {}) if expansion.without_energy else None
    odd = [*(() if static is None else static.circulatory.items()), *(((who, CIRCULATORY), k) for (who, _), k in odd)]
    if gyroscopic.nnz or odd:
        model = replace(model, skew=SkewParts(split(gyroscopic)[1], ListedParts.of(odd, frame.width)))
    if even:
        model = replace(model, parts=JoinedParts(model.parts, ListedParts.of(even, frame.width)))
    if not rolls:
        rows, turns = rows[:0], turns[:0]
    # of flows the last ones among w are the forces of
    own = sp.csr_matrix((rows.shape[0], frame.width - rows.shape[0]))
    forces = sp.hstack([own, -sp.identity(rows.shape[0])], format="csr") if rows.shape[0] else own
    return About(model, (rows @ frame.z + forces).tocsr(), (turns @ frame.z + rows @ frame.rate).tocsr())


def _loads(added: list[Added], clusters: Assembly) -> np.ndarray:
    """Forces (n,) of inertia and velocities on the coordinates of clusters."""
    out = np.zeros(clusters.size + 1)  # the last one is the ground
    for part in added:
        np.add.at(out, clusters._coordinates(part.group), part.force)
    return out[:-1]


def _landed(added: list[Added], clusters: Assembly) -> Iterator[tuple[str, str, list[sp.csr_matrix]]]:
    """Owner and mechanism of what each element adds, and its mass, damping and stiffness (n, n) on those coordinates."""
    shape = (clusters.size,) * 2
    for part in added:
        matrices = part.mass, part.damping, part.stiffness
        moves = np.any([x.any(axis=(1, 2)) for x in matrices], axis=0) | part.force.any(axis=1)
        place = clusters._coordinates(part.group)
        for k in np.flatnonzero(moves).tolist():
            on = np.flatnonzero(place[k] >= 0)
            at = np.repeat(place[k, on], len(on)), np.tile(place[k, on], len(on))
            own = [sp.csr_matrix((x[k][np.ix_(on, on)].ravel(), at), shape=shape) for x in matrices]
            yield part.group.elements[k].owner, part.mechanism, own


def _flow_rows(
    moving: Moving, clusters: Assembly
) -> tuple[sp.csr_matrix, sp.csr_matrix, list[tuple[Element, np.ndarray]]]:
    """Rows of flow constraints and how they turn, each (f, n) on the coordinates of clusters, and the rows of each element."""
    rows, turns = np.zeros((2, len(moving.of_flows), clusters.size + 1))  # the last one is the ground
    numbers, first = [], 0
    for found in moving.rolling:
        part, place = found.added.group, clusters._coordinates(found.added.group)
        for k, el in enumerate(part.elements):
            own = first + np.arange(part.count)
            first += part.count
            numbers.append((el, own))
            for out, values in ((rows, found.rows), (turns, found.turning)):
                np.add.at(out, (own[:, None], place[k]), values[k])
    return sp.csr_matrix(rows[:, :-1]), sp.csr_matrix(turns[:, :-1]), numbers


class _Axes:
    """From matrices on clusters to those on all coordinates x = (q, w) of the linear model, along axes that may turn."""

    def __init__(self, moving: Moving, expansion: Expansion, width: int, turning: np.ndarray | None):
        t, size = moving._topology, expansion.pattern.size
        self.width, self._plain = width, expansion.z is None
        grown = sp.eye(size, width, format="csr")
        self.z = z = grown if expansion.z is None else expansion.z @ grown
        held = z @ sp.diags(np.arange(width) >= t.size, dtype=float)
        of_clusters = t.unit_of_cluster[1:] if len(t.links) else np.arange(1, t.units)
        spin, change = (_turns(_angular(x, t.units)[of_clusters], z.shape[0]) for x in (moving.v, moving.a))
        axes = _turns(np.zeros((t.units - 1, 3)) if turning is None else turning[1:], width)
        # links turn with their units
        first, second = spin @ held, (spin @ spin + change) @ held
        self.rate, self.again = z @ axes + first, z @ axes @ axes + 2.0 * first @ axes + second

    def seen(
        self, mass: sp.csr_matrix, damping: sp.csr_matrix, stiffness: sp.csr_matrix
    ) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
        """Mass, damping and stiffness on x."""
        z, rate = self.z, self.rate
        if self._plain and not rate.nnz:
            for x in (mass, damping, stiffness):
                x.resize((self.width, self.width))
            return mass, damping, stiffness
        return (
            z.T @ mass @ z,
            z.T @ (damping @ z + 2.0 * mass @ rate),
            z.T @ (stiffness @ z + damping @ rate + mass @ self.again),
        )


def _angular(rates: np.ndarray, units: int) -> np.ndarray:
    """Angular rates (units, 3) among the rates (n,) of all coordinates; of the ground none."""
    return np.vstack([np.zeros(3), rates[: 6 * (units - 1)].reshape(-1, 6)[:, 3:]])


def _turns(w: np.ndarray, size: int) -> sp.csr_matrix:
    """``[w]x`` (size, size) for displacements and turns of bodies that come first, w (bodies, 3)."""
    rest = size - 6 * len(w)
    return sp.block_diag([*cross_matrices(np.repeat(w, 2, axis=0)), sp.csr_matrix((rest, rest))], format="csr")
