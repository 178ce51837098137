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

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
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
from ..model.configuration import Configuration
from ..model.evaluation import Evaluation
from ..model.flow_constraints import FlowConstraints
from ..model.groups import Group
from ..numerics.blas_threads import one_thread
from ..numerics.precision import left_by_rounding
from ..numerics.sparse_tools import empty
from ..statics.forces import forces_on_frames, tensions
from ..statics.scales import coordinate_scale
from .accelerations import Equations
from .inertia import cross
from .slopes import Slopes, slopes


class Moving:
    """A system in motion: velocities v and accelerations a (n,), and multipliers (m,) of its constraints.

    It stands for a working point where the elements' static parts are taken.
    """

    converged = False
    load_factor = 1.0

    def __init__(
        self, name: str, equations: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray
    ):
        self.name, self.equations, self.here = name, equations, here
        self.v, self.a, self.multipliers = v, a, multipliers
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


@one_thread
def linearize(moving: Moving, turning: np.ndarray | None = None) -> LinearModel:
    """The linear model about a motion, along axes that turn at ``turning`` (units, 3) rad/s with each unit; see the module."""
    expansion = Expansion(moving, None)
    added = [*_added(moving, expansion)]
    for part in added:
        expansion.inertia = expansion.inertia + part.load
    pattern = expansion.pattern
    none = FlowConstraints(empty(0, pattern.size), [])
    joints = JointRows(moving, expansion.clusters, expansion.constraints, none, pattern, None)
    frame = _Axes(moving, expansion, pattern.size + len(joints.names), turning)
    mass, dampings, motions = sp.csr_matrix((frame.width,) * 2), [], []
    for part in added:
        m, damping, stiffness = frame.seen(part.mass, part.damping, part.stiffness)
        mass = mass + m
        dampings.append(((part.owner, part.mechanism), damping))
        motions.append(((part.owner, MOTION), stiffness))
    even, odd = _divided(dampings)
    model = expansion.model(joints, mass.tocsr(), ListedParts.of(even, frame.width, "damping"), None, None)
    gyroscopic = sum((k for _, k in odd), sp.csr_matrix((frame.width,) * 2))
    at_rest = model.full_stiffness
    even, odd = _divided(motions, abs(at_rest).max() if at_rest.nnz else 0.0)
    static = expansion.skew(frame.width, {}) if expansion.without_energy else None
    odd = [*(() if static is None else static.circulatory.items()), *(((who, CIRCULATORY), k) for (who, _), k in odd)]
    if gyroscopic.nnz or odd:
        model = replace(model, skew=SkewParts(split(gyroscopic)[1], ListedParts.of(odd, frame.width)))
    if even:
        model = replace(model, parts=JoinedParts(model.parts, ListedParts.of(even, frame.width)))
    return model


def _divided(matrices: list, size: float = 0.0) -> tuple[list, list]:
    """The symmetric and the skew parts of matrices with labels, without what is rounding of the largest entry, or of ``size``."""
    size = left_by_rounding() * max([size, *(abs(k).max() for _, k in matrices if k.nnz)])
    even, odd = [], []
    for label, k in matrices:
        for found, part in zip((even, odd), split(k), strict=True):
            part.data[np.abs(part.data) <= size] = 0.0
            part.eliminate_zeros()
            if part.nnz:
                found.append((label, part))
    return even, odd


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
            for k, el in enumerate(g.elements):
                on = np.flatnonzero(rows[k] >= 0)
                place = rows[k][on]
                i, j = np.repeat(place, len(place)), np.tile(place, len(place))
                shape = (clusters.size,) * 2
                own = (sp.csr_matrix((x[k][np.ix_(on, on)].ravel(), (i, j)), shape=shape) for x in matrices)
                load = np.zeros(clusters.size)
                np.add.at(load, place, force[k][on])
                yield _Added(el.owner, found.mechanism, *own, load)


def on_bodies(
    found: Slopes, levers: np.ndarray, w: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Forces (E, n), mass, damping and stiffness (E, n, n) of elements about the reference points of bodies.

    ``levers``, ``w`` and ``change`` (E, F, 3) are the levers of frames, their angular velocities and accelerations.
    """
    count, n = found.force.shape
    t, t1, t2, turn, turn1 = np.zeros((5, count, n, n))
    t[:] = np.eye(n)
    half, lever = np.zeros((2, count, n, n))
    for k in range(levers.shape[1]):
        d, a = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
        r, f = levers[:, k], found.force[:, d]
        speed = cross(w[:, k], r)
        t[:, d, a] = -cross_matrices(r)
        t1[:, d, a] = -cross_matrices(speed)
        t2[:, d, a] = -cross_matrices(cross(change[:, k], r) + cross(w[:, k], speed))
        turn[:, a, a], turn1[:, a, a] = cross_matrices(w[:, k]), cross_matrices(change[:, k])
        half[:, a, a] = 0.5 * cross_matrices(found.force[:, a])
        both = f[:, :, None] * r[:, None, :]
        lever[:, a, a] = 0.5 * (both + both.transpose(0, 2, 1)) - np.einsum("ei,ei->e", f, r)[:, None, None] * np.eye(3)
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
        self.width = width
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
