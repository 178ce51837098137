"""Energy, forces and stiffness of a whole system: elements of one kind together, straight into sparse form.

Coordinates: six per rigid body of reference (dx, dy, dz, ax, ay, az about its reference point, world axes), then the
internal coordinates of the elements.  A frame at lever arm r from the reference point has ``T = [[I, -[r]x], [0, I]]``;
its force and stiffness arrive as ``T^T f`` and ``T^T K T``, and because the force turns with the arm its body's rotation
block gains ``-([f]x [r]x + [r]x [f]x)/2`` with f the force that the element exerts on the frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit

from ..elements.base import FramePose, MObject
from ..errors import ModelError
from .topology import Topology


class Group:
    """All elements of one class: their parameters and frame numbers as arrays, evaluated in one call where compiled."""

    def __init__(self, topology: Topology, members: list[int]):
        self.members = members
        self.elements = [topology.elements[k] for k in members]
        cls = type(self.elements[0].obj)
        self.cls = cls
        self.frames = np.array([el.frames for el in self.elements])
        self.internal = np.array(
            [np.arange(el.coordinates.start, el.coordinates.stop) for el in self.elements], dtype=int
        )
        self.parts = cls.parts
        self.held = self.elements[0].obj.constraint_count if cls.holds() else 0
        self.soften(np.inf, 0.0)

    def soften(self, ratio: float, load: float) -> None:
        """Take the elements' parameters with no mechanism stiffer than ``ratio`` times their softest, under that load."""
        if self.cls.kernel is not None or self.cls.constraint_kernel is not None:
            rows = [el.obj.softened(ratio, load).kernel_parameters() for el in self.elements]
            self.parameters = np.array(rows, dtype=float).reshape(len(rows), -1)

    def update(self, numbers: Sequence[int]) -> None:
        """Take the parameters of some members anew, without touching what shares them with another group."""
        if self.cls.kernel is not None or self.cls.constraint_kernel is not None:
            self.parameters = self.parameters.copy()
            for k in numbers:
                self.parameters[k] = self.elements[k].obj.kernel_parameters()

    def frame_poses(self, k: int, o: np.ndarray, u: np.ndarray) -> list[FramePose]:
        """The poses of the frames of member k, from those of all frames."""
        return [FramePose(o[f], u[f]) for f in self.frames[k]]

    def initial_memory(self, o: np.ndarray, u: np.ndarray) -> np.ndarray:
        if not self.elements[0].obj.memory_size:
            return np.zeros((len(self.members), 0))
        return np.array([el.obj.remember(self.frame_poses(k, o, u)) for k, el in enumerate(self.elements)])

    def followed(self, o: np.ndarray, u: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """The memory after the frames have moved to origins o and orientations u."""
        if not memory.shape[1]:
            return memory
        if self.cls.follow is None:
            return np.array([el.obj.recall(self.frame_poses(k, o, u), memory[k]) for k, el in enumerate(self.elements)])
        memory = memory.copy()
        self.cls.follow(self.parameters, u[self.frames], memory)
        return memory

    def constrain(self, o, u, q, memory, multipliers, order):
        """Residuals (E, m), their slopes (E, m, n), and for order 2 the sum of multiplier times curvature (E, n, n)."""
        count, nodes = self.frames.shape
        n, m = 6 * nodes + self.internal.shape[1], self.held
        residual, jacobian, hessian = np.zeros((count, m)), np.zeros((count, m, n)), np.zeros((count, n, n))
        if self.cls.constraint_kernel is not None:
            self.cls.constraint_kernel(
                self.parameters, o[self.frames], u[self.frames], memory, multipliers, order, residual, jacobian, hessian
            )
            return residual, jacobian, hessian
        for k, el in enumerate(self.elements):
            frames, inner = self.frame_poses(k, o, u), q[self.internal[k]]
            found = el.obj.constraint_terms(frames, inner, memory[k], multipliers[k], order)
            shapes = [np.shape(a) for a in found]
            if shapes != [(m,), (m, n), (n, n)]:
                raise ModelError(
                    f"{el.obj.label}: its constraint_terms have shapes {shapes}; expected {[(m,), (m, n), (n, n)]}: residuals, "
                    "slopes, weighted second derivatives"
                )
            residual[k], jacobian[k], hessian[k] = found
        return residual, jacobian, hessian

    def evaluate(self, o, u, q, memory, gravity, order, load=1.0):
        """Energies (E,), gradients (E, n) and stiffness parts (E, p, n, n); the latter empty below order 2.

        ``load`` multiplies weights and the forces of loads.
        """
        found = self._evaluate(o, u, q, memory, load * gravity, order)
        if self.cls.external and load != 1.0:
            return tuple(load * a for a in found)
        return found

    def _evaluate(self, o, u, q, memory, gravity, order):
        count, nodes = self.frames.shape
        n = 6 * nodes + self.internal.shape[1]
        shape = (count, len(self.parts), n, n) if order == 2 else (count, len(self.parts), 0, 0)
        energy, gradient, stiffness = np.zeros(count), np.zeros((count, n)), np.zeros(shape)
        if self.cls.kernel is not None:
            self.cls.kernel(
                self.parameters, o[self.frames], u[self.frames], memory, gravity, order, energy, gradient, stiffness
            )
            return energy, gradient, stiffness
        for k, el in enumerate(self.elements):
            frames, inner = self.frame_poses(k, o, u), q[self.internal[k]]
            energy[k] = el.obj._evaluate(frames, inner, gravity, 0)[0]
            if order >= 1:
                gradient[k] = -el.obj.forces(frames, inner, gravity)
            if order == 2:
                stiffness[k] = list(el.obj.stiffness_parts(frames, inner, gravity).values())
        return energy, gradient, stiffness


class State(NamedTuple):
    """What the search for the working point moves: unit poses, internal coordinates, and the elements' memories."""

    o: np.ndarray
    U: np.ndarray
    q: np.ndarray
    memory: tuple[np.ndarray, ...]


class _Pattern(NamedTuple):
    """Per group: which element entries count and where they land; and the sparse matrix they land in."""

    used: list[np.ndarray]
    slots: list[np.ndarray]
    indices: np.ndarray
    indptr: np.ndarray


class Assembly:
    """Maps element quantities at frame poses to bodies of reference: units for statics, clusters for the linear model.

    ``body`` (frames,) numbers the body of each frame, 0 being the ground, which has no coordinates; ``reference``
    (bodies, 3) of :meth:`evaluate` are the points about which the bodies turn.
    """

    def __init__(self, topology: Topology, body: np.ndarray):
        self.topology = topology
        self.body = body
        self.bodies = int(body.max()) + 1
        self.size = 6 * (self.bodies - 1) + topology.internal
        kinds: dict[tuple, list[int]] = {}
        for k, el in enumerate(topology.elements):
            if el.obj.exerts_forces():
                held = el.obj.constraint_count if el.obj.holds() else 0
                kinds.setdefault((type(el.obj), len(el.frames), len(el.obj.coordinate_names), held), []).append(k)
        self.groups = [Group(topology, members) for members in kinds.values()]
        self._softened = np.inf
        self.rows = [self._coordinates(g) for g in self.groups]
        # where the constraints of each group start among all of them
        self.first_held = np.cumsum([0, *(g.held * len(g.members) for g in self.groups)])
        self.held = int(self.first_held[-1])

    def _coordinates(self, group: Group) -> np.ndarray:
        """Coordinate number (E, n) of each element coordinate; -1 on the ground."""
        first = 6 * (self.body[group.frames] - 1)
        rows = (first[..., None] + np.arange(6)).reshape(len(group.members), -1)
        rows[np.repeat(first < 0, 6, axis=1)] = -1
        return np.hstack([rows, 6 * (self.bodies - 1) + group.internal])

    @cached_property
    def _pattern(self) -> _Pattern:
        """Where every element entry lands in the sparse matrix; found once, on the first total."""
        keys, all_used = [], []
        for rows in self.rows:
            i, j = np.broadcast_arrays(rows[:, :, None], rows[:, None, :])
            used = ((i >= 0) & (j >= 0)).ravel()
            all_used.append(used)
            keys.append(j.ravel()[used] * np.int64(self.size) + i.ravel()[used])
        everything = np.concatenate([np.arange(self.size, dtype=np.int64) * (self.size + 1), *keys])
        unique, slot = np.unique(everything, return_inverse=True)
        slots = np.split(slot[self.size :], np.cumsum([len(k) for k in keys])[:-1]) if keys else []
        indices = (unique % max(self.size, 1)).astype(np.int32)
        indptr = np.searchsorted(unique // max(self.size, 1), np.arange(self.size + 1)).astype(np.int32)
        return _Pattern(all_used, slots, indices, indptr)

    def evaluate(self, group: Group, frames_o, frames_u, reference, q, memory, gravity, order, load=1.0):
        """One group in body coordinates: energies (E,), gradients (E, n), stiffness parts (E, p, n, n), lever terms last."""
        energy, gradient, stiffness = group.evaluate(frames_o, frames_u, q, memory, gravity, order, load)
        levers = frames_o[group.frames] - reference[self.body[group.frames]]
        shift_to_reference(levers, order, gradient, stiffness)
        return energy, gradient, stiffness

    # -- constraints ------------------------------------------------------------------------------------------
    def constraint_weights(self, arm: float, length: np.ndarray) -> np.ndarray:
        """What to multiply each constraint (m,) with, so that all residuals are displacements (m): rotations by an arm.

        Residuals of unknown unit are divided by the ``length`` (m,) of their slopes.
        """
        out = 1.0 / length
        for k, g in enumerate(self.groups):
            if g.held:
                for el, numbers in zip(g.elements, self.held_rows(k), strict=True):
                    for number, unit in zip(numbers, el.obj.constraint_units, strict=True):
                        out[number] = {"rad": arm, "m": 1.0}.get(unit, out[number])
        return out

    def held_rows(self, k: int) -> np.ndarray:
        """Numbers (E, m) of the constraints of group k."""
        g = self.groups[k]
        return self.first_held[k] + np.arange(len(g.members) * g.held).reshape(len(g.members), g.held)

    def constraints(self, frames_o, frames_u, reference, q, memories) -> tuple[np.ndarray, sp.csr_matrix]:
        """Residuals (m,) of all constraints and their slopes (m, n) by the coordinates of the bodies."""
        residual = np.zeros(self.held)
        rows, cols, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        for k, (g, own, memory) in enumerate(zip(self.groups, self.rows, memories, strict=True)):
            if not g.held:
                continue
            number = self.held_rows(k)
            found, slope, _ = g.constrain(frames_o, frames_u, q, memory, np.zeros(number.shape), 1)
            levers = frames_o[g.frames] - reference[self.body[g.frames]]
            for r in range(g.held):
                row = np.ascontiguousarray(slope[:, r])
                shift_to_reference(levers, 1, row, np.zeros((len(row), 1, 0, 0)))
                slope[:, r] = row
            residual[number] = found
            e, r, c = np.nonzero(slope)
            on = own[e, c] >= 0
            rows.append(number[e[on], r[on]])
            cols.append(own[e[on], c[on]])
            values.append(slope[e[on], r[on], c[on]])
        shape = (self.held, self.size)
        slopes = sp.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=shape)
        slopes.eliminate_zeros()  # a body that turns along cancels where it counts twice
        return residual, slopes

    def reaction_stiffness(self, k: int, frames_o, frames_u, reference, q, memory, multipliers) -> np.ndarray:
        """``d(G^T multipliers)/dx`` (E, n, n) of group k about the bodies' reference points, for all multipliers (m,)."""
        g = self.groups[k]
        given = np.ascontiguousarray(multipliers[self.held_rows(k)])
        _, slope, curvature = g.constrain(frames_o, frames_u, q, memory, given, 2)
        gradient = np.einsum("er,ern->en", given, slope)
        stiffness = curvature[:, None]
        levers = frames_o[g.frames] - reference[self.body[g.frames]]
        shift_to_reference(levers, 2, gradient, stiffness)
        return stiffness[:, 0]

    def reaction_total(self, frames_o, frames_u, reference, q, memories, multipliers) -> sp.csc_matrix:
        """``d(G^T multipliers)/dx`` (n, n) of all constraints: how their reactions turn with what they hold."""
        pattern = self._pattern
        data = np.zeros(len(pattern.indices))
        for k, g in enumerate(self.groups):
            if g.held:
                block = self.reaction_stiffness(k, frames_o, frames_u, reference, q, memories[k], multipliers)
                data += np.bincount(pattern.slots[k], block.ravel()[pattern.used[k]], len(data))
        return sp.csc_matrix((data, pattern.indices, pattern.indptr), shape=(self.size, self.size))

    def soften(self, ratio: float, load: float) -> None:
        """See :meth:`Group.soften`; ``inf`` restores the elements as they are."""
        if ratio == self._softened == np.inf:
            return
        self._softened = ratio
        for g in self.groups:
            if g.cls.softened is not MObject.softened:
                g.soften(ratio, load)

    def total(self, frames_o, frames_u, reference, q, memories, gravity, order, strength=1.0, load=1.0):
        """Sum over all elements: energy, sum of |energies|, gradient, sum of |gradients|, stiffness (csc) or None.

        ``strength`` scales everything but weights of rigid bodies and other loads, ``load`` scales weights and loads.
        An energy that is not finite comes back as NaN.
        """
        energy = magnitude = 0.0
        gradient, loads = np.zeros(self.size), np.zeros(self.size)
        data = np.zeros(len(self._pattern.indices))
        pieces = zip(self.groups, self.rows, self._pattern.used, self._pattern.slots, memories, strict=True)
        for g, rows, used, slots, memory in pieces:
            e, f, k = self.evaluate(g, frames_o, frames_u, reference, q, memory, gravity, order, load)
            factor = 1.0 if g.cls.external or g.parts == ("gravity",) else strength
            energy += factor * e.sum()
            magnitude += factor * np.abs(e).sum()
            if order >= 1:
                on = rows >= 0
                gradient += factor * np.bincount(rows[on], f[on], self.size)
                loads += factor * np.bincount(rows[on], np.abs(f[on]), self.size)
            if order == 2:
                data += factor * np.bincount(slots, k.sum(axis=1).ravel()[used], len(data))
        stiffness = None
        if order == 2:
            stiffness = sp.csc_matrix((data, self._pattern.indices, self._pattern.indptr), shape=(self.size, self.size))
        return energy, magnitude, gradient, loads, stiffness

    def loads(self, frames_o, frames_u, reference, q, memories, gravity) -> np.ndarray:
        """Weights and loads (n,) on the bodies' coordinates at unit load factor."""
        out = np.zeros(self.size)
        for g, rows, memory in zip(self.groups, self.rows, memories, strict=True):
            if not (g.cls.external or g.parts == ("gravity",) or g.cls.defines("gravity_energy")):
                continue
            arguments = (g, frames_o, frames_u, reference, q, memory, gravity, 1)
            on = rows >= 0
            for factor in (1.0, -1.0):
                pull = self.evaluate(*arguments, load=0.5 + 0.5 * factor)[1]
                out -= factor * np.bincount(rows[on], pull[on], self.size)
        return out

    def refuse_undefined(self, frames_o, frames_u, q, memories, gravity) -> None:
        """Raise the message of the first element whose energy is not finite at these poses."""
        for g, memory in zip(self.groups, memories, strict=True):
            energy = g.evaluate(frames_o, frames_u, q, memory, gravity, 0)[0]
            for k in np.flatnonzero(~np.isfinite(energy)):
                g.elements[k].obj.check_frames(g.frame_poses(k, frames_o, frames_u))
                raise ModelError(
                    f"{g.elements[k].obj.label}: its energy is {energy[k]} at the present poses of its frames"
                )


@njit(cache=True)
def shift_to_reference(levers, order, gradient, stiffness):
    """Transform gradients (E, n) and stiffness parts (E, p, n, n) in place from frames to reference points.

    ``levers`` (E, F, 3) point from reference point to frame; the last stiffness part takes the lever-arm term.
    """
    count, nodes = levers.shape[0], levers.shape[1]
    parts, n = stiffness.shape[1], gradient.shape[1]
    for e in range(count):
        for a in range(nodes):
            x, y, z = levers[e, a, 0], levers[e, a, 1], levers[e, a, 2]
            if x == 0.0 and y == 0.0 and z == 0.0:
                continue
            i = 6 * a
            g = gradient[e]
            gx, gy, gz = g[i], g[i + 1], g[i + 2]
            if order == 2:
                for p in range(parts):
                    k = stiffness[e, p]
                    for j in range(n):
                        u, v, w = k[i, j], k[i + 1, j], k[i + 2, j]
                        k[i + 3, j] += y * w - z * v
                        k[i + 4, j] += z * u - x * w
                        k[i + 5, j] += x * v - y * u
                    for j in range(n):
                        u, v, w = k[j, i], k[j, i + 1], k[j, i + 2]
                        k[j, i + 3] += y * w - z * v
                        k[j, i + 4] += z * u - x * w
                        k[j, i + 5] += x * v - y * u
                k = stiffness[e, parts - 1]
                # with f = -g: -([f][r] + [r][f])/2 = (g r^T + r g^T)/2 - (g.r) I
                k[i + 3, i + 3] -= gy * y + gz * z
                k[i + 4, i + 4] -= gx * x + gz * z
                k[i + 5, i + 5] -= gx * x + gy * y
                xy, xz, yz = 0.5 * (gx * y + gy * x), 0.5 * (gx * z + gz * x), 0.5 * (gy * z + gz * y)
                k[i + 3, i + 4] += xy
                k[i + 4, i + 3] += xy
                k[i + 3, i + 5] += xz
                k[i + 5, i + 3] += xz
                k[i + 4, i + 5] += yz
                k[i + 5, i + 4] += yz
            g[i + 3] += y * gz - z * gy
            g[i + 4] += z * gx - x * gz
            g[i + 5] += x * gy - y * gx
