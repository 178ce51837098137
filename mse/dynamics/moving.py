"""A system in motion and what its velocities and accelerations add, element by element, about the reference points of bodies.

Coordinates x are those of every linear model, ``o + d, exp([a]x) U`` along axes that do not turn, about poses that move.  There
velocities change by ``(d', a' - w x a)`` and accelerations by ``(d'', a'' - w' x a - w x a')``.  A frame at lever r of a body
moves by ``d + a x r`` with r turning, so that ``x_f = T x`` has rates ``T x' + T' x``, and so on.  Forces ``F(x, v, a)`` of
inertia and velocities (:mod:`mse.dynamics.slopes`) thus add to the static stiffness

    ``F_x + [torque of F]x/2 - F_v W - M W'``  and  ``Lambda = F_v - M W``,   ``W = [w]x`` on turns,

carried to bodies as ``T^T (K T + Lambda T' + M T'')`` and ``T^T (Lambda T + 2 M T')``.  So are matrices seen along axes that
turn at W_b with each body b, about which a steady motion has constant ones: ``x = y`` at this moment, ``x' = y' + W_b x y`` and
``x'' = y'' + 2 W_b x y' + W_b x (W_b x y)``.  Half of the torque is there because the sum of all torques vanishes, and stiffness
is taken along ``exp([a]x)`` everywhere: the static parts stay symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.records import REACTION
from ..kernels.masses import cross_matrices
from ..kernels.motions import cross
from ..model.configuration import Configuration
from ..model.evaluation import Evaluation
from ..model.groups import Group
from ..statics.forces import forces_on_frames, tensions
from ..statics.scales import coordinate_scale
from .accelerations import Equations, Terms, entries
from .flows import FlowPart
from .slopes import Slopes, slopes

if TYPE_CHECKING:
    from .moments import Moment
    from .trajectory import Instant

Matrix = np.ndarray | sp.csr_matrix
Frames = tuple[np.ndarray, np.ndarray]  # velocities and accelerations (frames, 6) of all frames


class Added(NamedTuple):
    """What the motion adds for elements of one class by one mechanism: forces (E, n) and matrices (E, n, n)."""

    group: Group | FlowPart
    mechanism: str
    force: np.ndarray
    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray


class Rolling(NamedTuple):
    """Flow constraints of one class, ``rows x' + turning x = 0`` each (E, m, n), and what their forces add."""

    rows: np.ndarray
    turning: np.ndarray
    added: Added


class Seen(NamedTuple):
    """Coordinates y in place of x: ``x = z y``, ``x' = z y' + rate y`` and ``x'' = z y'' + 2 rate y' + again y``."""

    z: Matrix
    rate: Matrix
    again: Matrix

    def matrices(self, mass: Matrix, damping: Matrix, stiffness: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Mass, damping and stiffness on y."""
        z, rate = self.z, self.rate
        return (
            z.T @ mass @ z,
            z.T @ (damping @ z + 2.0 * mass @ rate),
            z.T @ (stiffness @ z + damping @ rate + mass @ self.again),
        )


class Moving:
    """A system in motion: velocities v and accelerations a (n,), and multipliers of its constraints (m,) and of its flows (f,).

    It stands for a working point where the elements' static parts are taken.
    """

    converged = False
    load_factor = 1.0

    def __init__(self, equations: Equations, here: Evaluation, v: np.ndarray, a: np.ndarray, terms: Terms):
        self.name, self.equations, self.here = equations.topology.source.name, equations, here
        self.v, self.a = v, a
        found = equations.multipliers(here, terms.mass @ a - terms.force, equations.flow_rows(here, v)[0])
        self.multipliers, self.of_flows = np.split(found, [equations.assembly.constraint_count])
        self._topology, self._assembly, self.state = equations.topology, equations.assembly, here.state

    @classmethod
    def at(cls, equations: Equations, here: Evaluation, moment: Moment) -> Moving:
        """A system at a moment, in which ``here`` is its state, with its accelerations there."""
        return cls(equations, here, moment.v, *equations.accelerations(here, moment.v, moment.time))

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

    # -- what the motion adds ---------------------------------------------------------------------------------
    @cached_property
    def _frames(self) -> Frames:
        return frames_moving(self.equations, self._configuration, self.v, self.a)

    @cached_property
    def added(self) -> list[Added]:
        """All that the motion adds, by class of elements and mechanism."""
        e, at, added = self.equations, self._configuration, [flows.added for flows in self.rolling]
        for part in e.parts:
            own = (
                e._own(part.group, x, of_frames) for x, of_frames in zip((self.v, self.a), self._frames, strict=True)
            )
            if found := list(slopes(part, at, *own)):
                carried = Carried(e, part.group, at, self._frames)
                added += [Added(part.group, one.mechanism, *carried.on_bodies(one)) for one in found]
        return added

    @cached_property
    def rolling(self) -> list[Rolling]:
        """The flow constraints, by class of elements."""
        e, found, first = self.equations, [], 0
        for part in e.flows:
            end = first + len(part.elements) * part.count
            given = self.of_flows[first:end].reshape(-1, part.count)
            found.append(_rolling(e, self._configuration, part, self.v, given, self._frames))
            first = end
        return found

    def matrices(self) -> np.ndarray:
        """M, Lambda and K (3, n, n) on the coordinates of bodies and elements, along axes that do not turn."""
        out = summed(self.equations, self.added)
        out[2] += self.here.with_reactions(self.here.total(2).stiffness, self.multipliers).toarray()
        return out

    def along(self, turning: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same along axes that turn at ``turning`` (units, 3) rad/s with each unit."""
        rate = turns(turning[1:], self.equations.size).toarray()
        return Seen(np.eye(len(rate)), rate, rate @ rate).matrices(*self.matrices())


def turns(w: np.ndarray, size: int) -> sp.csr_matrix:
    """``[w]x`` (size, size) on displacements and on turns of bodies, which come first, for w (bodies, 3)."""
    blocks = cross_matrices(np.repeat(w, 2, axis=0))
    block, i, j = np.nonzero(blocks)
    return sp.csr_matrix((blocks[block, i, j], (3 * block + i, 3 * block + j)), shape=(size, size))


def moving_at(instant: Instant) -> Moving:
    """The system at an instant of a motion, with its accelerations there."""
    return Moving.at(instant._motion._equations, instant._here, instant._moment)


def frames_moving(e: Equations, at: Configuration, v: np.ndarray, a: np.ndarray) -> Frames:
    """Velocities and accelerations of all frames at those (n,) of coordinates."""
    velocities, by_turning = e.frame_motions(at, v)
    faster, _ = e.frame_motions(at, a)
    faster[:, :3] += by_turning
    return velocities, faster


def _rolling(
    e: Equations, at: Configuration, part: FlowPart, v: np.ndarray, given: np.ndarray, frames: Frames
) -> Rolling:
    """Flow constraints at velocities v (n,) with multipliers ``given`` (E, m)."""
    own = e._own(part, v, frames[0])
    found = part.terms(at, own)
    carried = Carried(e, part, at, frames)
    force, by_x = (np.einsum("er,er...->e...", given, x) for x in (found.rows, found.turning))
    none = np.zeros_like(by_x)
    added = Added(part, REACTION, *carried.on_bodies(Slopes(REACTION, force, by_x, none, none)))
    turning = (found.by_x - found.rows @ carried.turn) @ carried.t + found.rows @ carried.t1
    return Rolling(found.rows @ carried.t, turning, added)


def summed(e: Equations, found: Sequence[Added]) -> np.ndarray:
    """Mass, damping and stiffness (3, n, n) on all coordinates."""
    total = np.zeros((3, e.size, e.size))
    for part in found:
        add(total, e.assembly._coordinates(part.group), part.mass, part.damping, part.stiffness)
    return total


def add(total: np.ndarray, place: np.ndarray, *found: np.ndarray) -> None:
    """Add matrices (E, k, k) of elements to sums (n, n), each to one, at the places (E, k) of their coordinates."""
    at, mine = entries(place)
    for sum_of, matrices in zip(total, found, strict=True):
        np.add.at(sum_of, at, matrices[mine])


class Carried:
    """``T``, ``T'``, ``T''`` and ``[w]x``, ``[w']x`` on turns (E, n, n) of the elements of a group, whose ``frames`` move so."""

    def __init__(self, e: Equations, g: Group | FlowPart, at: Configuration, frames: Frames):
        w, change = (x[g.frames][:, :, 3:] for x in frames)
        levers, n = e._levers(g, at), 6 * g.frames.shape[1] + g.internal.shape[1]
        self._levers = levers
        self.t, self.t1, self.t2, self.turn, self._turn1 = np.zeros((5, len(levers), n, n))
        self.t[:] = np.eye(n)
        for k in range(levers.shape[1]):
            d, a = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            r, faster = levers[:, k], cross(w[:, k], levers[:, k])
            again = cross(change[:, k], r) + cross(w[:, k], faster)
            all_of_them = cross_matrices(np.concatenate([-r, -faster, -again, w[:, k], change[:, k]]))
            self.t[:, d, a], self.t1[:, d, a], self.t2[:, d, a], self.turn[:, a, a], self._turn1[:, a, a] = (
                all_of_them.reshape(5, -1, 3, 3)
            )

    def on_bodies(self, found: Slopes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Forces (E, n), mass, damping and stiffness (E, n, n) of elements about the reference points of bodies."""
        half, lever = np.zeros((2, *self.t.shape))
        for k in range(self._levers.shape[1]):
            d, a = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            r, f = self._levers[:, k], found.force[:, d]
            half[:, a, a] = 0.5 * cross_matrices(found.force[:, a])
            both = f[:, :, None] * r[:, None, :]
            lever[:, a, a] = 0.5 * (both + both.transpose(0, 2, 1))
            lever[:, a, a] -= np.einsum("ei,ei->e", f, r)[:, None, None] * np.eye(3)
        damping = found.by_v - found.mass @ self.turn
        stiffness = found.by_x + half - found.by_v @ self.turn - found.mass @ self._turn1
        back = self.t.transpose(0, 2, 1)
        return (
            np.einsum("eij,ej->ei", back, found.force),
            back @ found.mass @ self.t,
            back @ (damping @ self.t + 2.0 * found.mass @ self.t1),
            back @ (stiffness @ self.t + damping @ self.t1 + found.mass @ self.t2) + lever,
        )
