"""Linear models about a motion: ``M x'' + Lambda x' + K x = F u`` with all that turning and acceleration add.

Coordinates x are those of every linear model, ``o + d, exp([a]x) U`` along axes that do not turn, about poses that move.  There
velocities change by ``(d', a' - w x a)`` and accelerations by ``(d'', a'' - w' x a - w x a')``.  A frame at lever r of a body
moves by ``d + a x r`` with r turning, so that ``x_f = T x`` has rates ``T x' + T' x``, and so on.  Forces ``F(x, v, a)`` of
inertia and velocities (:mod:`mse.dynamics.slopes`) thus add to the static stiffness

    ``F_x + [torque of F]x/2 - F_v W - M W'``  and  ``Lambda = F_v - M W``,   ``W = [w]x`` on turns,

carried to bodies as ``T^T (K T + Lambda T' + M T'')`` and ``T^T (Lambda T + 2 M T')``.  Half of the torque is there because the
sum of all torques vanishes, and stiffness is taken along ``exp([a]x)`` everywhere: the static parts stay symmetric.

``turning`` axes: about a steady motion the matrices are constant along axes that turn at W_b with each body.  There
``x' = y' + W_b x y``, and ``x'' = y'' + 2 W_b x y' + W_b x (W_b x y)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.records import MOTION, REACTION
from ..kernels.masses import cross_matrices
from ..linear.joint_constraints import JointRows
from ..linear.linear_model import LinearModel
from ..linear.linearize import Expansion
from ..linear.skew_parts import CIRCULATORY, SkewParts, split
from ..linear.stiffness_parts import JoinedParts, ListedParts
from ..model.configuration import Configuration
from ..model.evaluation import Evaluation
from ..model.flow_constraints import FlowConstraints
from ..model.groups import Group
from ..model.topology import Element
from ..numerics.blas_threads import one_thread
from ..numerics.sparse_tools import empty
from ..statics.forces import forces_on_frames, tensions
from ..statics.scales import coordinate_scale
from .accelerations import Equations, Terms
from .inertia import cross
from .rolling import divided, with_flows
from .slopes import Slopes, slopes

if TYPE_CHECKING:
    from .trajectory import Instant


class Moving:
    """A system in motion: velocities v and accelerations a (n,), and multipliers of its constraints (m,) and of its flows (f,).

    It stands for a working point where the elements' static parts are taken.
    """

    converged = False
    load_factor = 1.0

    def __init__(self, equations: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray, terms: Terms):
        self.name, self.equations, self.here = equations.topology.source.name, equations, here
        self.v, self.a = v, a
        found = equations.multipliers(here, terms, a, equations.flow_rows(here, v)[0])
        self.multipliers, self.of_flows = np.split(found, [equations.assembly.constraint_count])
        self._topology, self._assembly, self.state = equations.topology, equations.assembly, here.state

    @property
    def frame_poses(self) -> tuple[np.ndarray, np.ndarray]:
        return self.here.frame_poses

    @property
    def _configuration(self) -> Configuration:
        return self.here.configuration

    @cached_property
    def scale(self) -> np.ndarray:
        return coordinate_scale(self._topology, self.equations.measure.size)

    @cached_property
    def tensions(self) -> dict[str, float]:
        """Tension (N) of elements that have one, for losses that depend on it."""
        forces = forces_on_frames(self._assembly, self._configuration, self.multipliers, self.load_factor)
        return tensions(self._topology, self._configuration, forces)

    # -- frames -----------------------------------------------------------------------------------------------
    @cached_property
    def frames(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities and accelerations (frames, 6) of all frames."""
        e, at = self.equations, self._configuration
        velocities, by_turning = e.frame_motions(at, self.v)
        faster, _ = e.frame_motions(at, self.a)
        faster = faster.copy()
        faster[:, :3] += by_turning
        return velocities, faster

    def own(self, group: Group, of_frames: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
        """Velocities or accelerations (E, n) of the frames and internal coordinates of elements."""
        return self.equations._own(group, coordinates, of_frames)


def moving_at(instant: Instant) -> Moving:
    """The system at an instant of a motion, with its accelerations there."""
    e, here, v = instant._motion._equations, instant._here, instant._moment.v
    return Moving(e, here, v, *e.accelerations(here, v, instant.time))


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
    flows = _Flows(moving, expansion)
    added = [*_added(moving, expansion), *flows.loads]
    for part in added:
        expansion.inertia = expansion.inertia + part.load
    pattern = expansion.pattern
    held = FlowConstraints(empty(0, pattern.size), flows.numbers) if rolls else expansion.flows
    joints = JointRows(moving, expansion.clusters, expansion.constraints, held, pattern, None)
    frame = _Axes(moving, expansion, pattern.size + len(joints.names), turning)
    mass, dampings, motions = sp.csr_matrix((frame.width,) * 2), [], []
    for part in added:
        m, damping, stiffness = frame.seen(part.mass, part.damping, part.stiffness)
        mass = mass + m
        dampings.append(((part.owner, part.mechanism), damping))
        motions.append(((part.owner, MOTION), stiffness))
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
    rows, turns = flows.rows, flows.turning
    if not rolls:
        rows, turns = rows[:0], turns[:0]
    # of flows the last ones among w are the forces of
    own = sp.csr_matrix((rows.shape[0], frame.width - rows.shape[0]))
    forces = sp.hstack([own, -sp.identity(rows.shape[0])], format="csr") if rows.shape[0] else own
    return About(model, (rows @ frame.z + forces).tocsr(), (turns @ frame.z + rows @ frame.rate).tocsr())


class _Added(NamedTuple):
    """What the motion adds for one object and mechanism, on the coordinates of clusters."""

    owner: str
    mechanism: str
    mass: sp.csr_matrix
    damping: sp.csr_matrix
    stiffness: sp.csr_matrix
    load: np.ndarray


def _added(moving: Moving, expansion: Expansion) -> Iterator[_Added]:
    e, at, clusters = moving.equations, expansion.at, expansion.clusters
    velocities, faster = moving.frames
    for part in e.parts:
        g = part.group
        v, a = moving.own(g, velocities, moving.v), moving.own(g, faster, moving.a)
        rows = clusters._coordinates(g)
        levers = expansion.levers[g.frames]
        w, change = (x[g.frames][:, :, 3:] for x in (velocities, faster))
        for found in slopes(part, at, v, a):
            force, *matrices = on_bodies(found, levers, w, change)
            moves = [any(x[k].any() for x in (force, *matrices)) for k in range(len(g.elements))]
            for k, el in enumerate(g.elements):
                if not moves[k]:
                    continue
                yield _landed(el.owner, found.mechanism, rows[k], force[k], [x[k] for x in matrices], clusters.size)


class _Flows:
    """Rows of flow constraints on the coordinates of clusters, how they turn, and the stiffness of their forces."""

    def __init__(self, moving: Moving, expansion: Expansion):
        e, at, clusters = moving.equations, expansion.at, expansion.clusters
        velocities, faster = moving.frames
        self.loads: list[_Added] = []
        self.numbers: list[tuple[Element, np.ndarray]] = []
        rows, turns, first = [sp.csr_matrix((0, clusters.size))], [sp.csr_matrix((0, clusters.size))], 0
        for part in e.flows:
            v = e._own(part, moving.v, velocities)
            found = part.terms(at, v)
            levers = expansion.levers[part.frames]
            w, change = (x[part.frames][:, :, 3:] for x in (velocities, faster))
            given = moving.of_flows[first : first + len(v) * part.count].reshape(len(v), part.count)
            none = np.zeros((len(v), *found.turning.shape[2:]))
            force, by_x = (np.einsum("er,er...->e...", given, x) for x in (found.rows, found.turning))
            load, *matrices = on_bodies(Slopes(REACTION, force, by_x, none, none), levers, w, change)
            t, t1, turn = _carried(levers, w, v.shape[1])
            place = clusters._coordinates(part)
            for k, el in enumerate(part.elements):
                self.numbers.append((el, first + np.arange(part.count)))
                first += part.count
                self.loads.append(
                    _landed(el.owner, REACTION, place[k], load[k], [x[k] for x in matrices], clusters.size)
                )
                on = place[k] >= 0
                for out, own in (
                    (rows, found.rows[k] @ t[k]),
                    (turns, (found.by_x[k] - found.rows[k] @ turn[k]) @ t[k] + found.rows[k] @ t1[k]),
                ):
                    i, j = np.indices(own[:, on].shape)
                    values = own[:, on].ravel(), (i.ravel(), place[k][on][j.ravel()])
                    out.append(sp.csr_matrix(values, shape=(part.count, clusters.size)))
        self.rows, self.turning = sp.vstack(rows, format="csr"), sp.vstack(turns, format="csr")


def _landed(
    owner: str, mechanism: str, place: np.ndarray, force: np.ndarray, matrices: Sequence[np.ndarray], size: int
) -> _Added:
    """Forces (n,) and matrices (n, n) of one element on all coordinates, at ``place`` (n,), negative on the ground."""
    on = np.flatnonzero(place >= 0)
    i, j = np.repeat(place[on], len(on)), np.tile(place[on], len(on))
    own = (sp.csr_matrix((x[np.ix_(on, on)].ravel(), (i, j)), shape=(size, size)) for x in matrices)
    load = np.zeros(size)
    np.add.at(load, place[on], force[on])
    return _Added(owner, mechanism, *own, load)


def _carried(levers: np.ndarray, w: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``T``, ``T'`` and ``[w]x`` on turns, each (E, n, n), of elements with frames at ``levers`` (E, F, 3) that turn at w."""
    count, frames = levers.shape[:2]
    t, t1, turn = np.zeros((3, count, n, n))
    t[:] = np.eye(n)
    for k in range(frames):
        d, a = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
        t[:, d, a] = -cross_matrices(levers[:, k])
        t1[:, d, a] = -cross_matrices(cross(w[:, k], levers[:, k]))
        turn[:, a, a] = cross_matrices(w[:, k])
    return t, t1, turn


def on_bodies(
    found: Slopes, levers: np.ndarray, w: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Forces (E, n), mass, damping and stiffness (E, n, n) of elements about the reference points of bodies.

    ``levers``, ``w`` and ``change`` (E, F, 3) are the levers of frames, their angular velocities and accelerations.
    """
    t, t1, turn = _carried(levers, w, found.force.shape[1])
    t2, turn1, half, lever = np.zeros((4, *t.shape))
    for k in range(levers.shape[1]):
        d, a = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
        r, f = levers[:, k], found.force[:, d]
        t2[:, d, a] = -cross_matrices(cross(change[:, k], r) + cross(w[:, k], cross(w[:, k], r)))
        turn1[:, a, a] = cross_matrices(change[:, k])
        half[:, a, a] = 0.5 * cross_matrices(found.force[:, a])
        both = f[:, :, None] * r[:, None, :]
        lever[:, a, a] = 0.5 * (both + both.transpose(0, 2, 1))
        lever[:, a, a] -= np.einsum("ei,ei->e", f, r)[:, None, None] * np.eye(3)
    damping = found.by_v - found.mass @ turn
    stiffness = found.by_x + half - found.by_v @ turn - found.mass @ turn1
    back = t.transpose(0, 2, 1)
    return (
        np.einsum("eij,ej->ei", back, found.force),
        back @ found.mass @ t,
        back @ (damping @ t + 2.0 * found.mass @ t1),
        back @ (stiffness @ t + damping @ t1 + found.mass @ t2) + lever,
    )


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
