"""Linear models about a motion: ``M x'' + Lambda x' + K x = F u`` with all that turning and acceleration add.

What they add comes element by element from :mod:`mse.dynamics.moving`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.records import MOTION
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
from .moving import Added, Moving, Seen, turns
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
    width = pattern.size + len(joints.names)
    seen = _axes(moving, expansion, width, turning)
    mass, dampings, motions = sp.csr_matrix((width,) * 2), [], []
    for owner, mechanism, own in _landed(moving.added, clusters):
        m, damping, stiffness = seen.matrices(*own)
        mass = mass + m
        dampings.append(((owner, mechanism), damping))
        motions.append(((owner, MOTION), stiffness))
    even, odd = divided(dampings)
    model = expansion.model(joints, mass.tocsr(), ListedParts.of(even, width, "damping"), None, None)
    gyroscopic = sum((k for _, k in odd), sp.csr_matrix((width,) * 2))
    at_rest = model.full_stiffness
    even, odd = divided(motions, abs(at_rest).max() if at_rest.nnz else 0.0)
    static = expansion.skew(width, {}) if expansion.without_energy else None
    odd = [*(() if static is None else static.circulatory.items()), *(((who, CIRCULATORY), k) for (who, _), k in odd)]
    if gyroscopic.nnz or odd:
        model = replace(model, skew=SkewParts(split(gyroscopic)[1], ListedParts.of(odd, width)))
    if even:
        model = replace(model, parts=JoinedParts(model.parts, ListedParts.of(even, width)))
    if not rolls:
        rows, turns = rows[:0], turns[:0]
    # of flows the last ones among w are the forces of
    own = sp.csr_matrix((rows.shape[0], width - rows.shape[0]))
    forces = sp.hstack([own, -sp.identity(rows.shape[0])], format="csr") if rows.shape[0] else own
    return About(model, (rows @ seen.z + forces).tocsr(), (turns @ seen.z + rows @ seen.rate).tocsr())


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


def _axes(moving: Moving, expansion: Expansion, width: int, turning: np.ndarray | None) -> Seen:
    """From the coordinates of clusters to all of the linear model, x = (q, w), along axes that may turn."""
    t, size = moving._topology, expansion.pattern.size
    grown = sp.eye(size, width, format="csr")
    z = grown if expansion.z is None else expansion.z @ grown
    axes = turns(np.zeros((t.units - 1, 3)) if turning is None else turning[1:], width)
    rate, again = z @ axes, z @ axes @ axes
    if expansion.z is not None:  # links turn with their units
        held = z @ sp.diags(np.arange(width) >= t.size, dtype=float)
        of_clusters = t.unit_of_cluster[1:]
        spin, change = (turns(_angular(x, t.units)[of_clusters], z.shape[0]) for x in (moving.v, moving.a))
        first = spin @ held
        rate, again = rate + first, again + 2.0 * first @ axes + (spin @ spin + change) @ held
    return Seen(z, rate, again)


def _angular(rates: np.ndarray, units: int) -> np.ndarray:
    """Angular rates (units, 3) among the rates (n,) of all coordinates; of the ground none."""
    return np.vstack([np.zeros(3), rates[: 6 * (units - 1)].reshape(-1, 6)[:, 3:]])
