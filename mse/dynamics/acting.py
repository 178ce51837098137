"""Elements that act on rigid bodies by compiled kernels, as arrays for :mod:`mse.kernels.acting`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..elements.transducers import ForceActuator
from ..kernels import acting, by_record, masses, springs
from ..kernels.acting import Acting
from ..kernels.by_address import InMemory
from ..kernels.holding import Held, hold_address, row_address
from ..model.configuration import State
from ..model.flattening import Element
from ..model.groups import Group
from ..model.topology import Topology
from .accelerations import Equations
from .law_elements import LawPart, pairs_on, sides_on

# kernels of elements that can be called by their addresses, each with the kernel of these elements' dampers
_KERNELS = {springs.spring: springs.line_drag, springs.wire: springs.line_drag, springs.bushing: springs.bushing_drag}
_DAMPINGS = {masses.line_damping: 1, masses.bushing_damping: 36}  # how many of the last parameters are those of dampers
NOTHING_ACTS = 0, acting.acting_arguments()


def acts(g: Group) -> bool:
    """Whether all forces of a group, those of its dampers too, come from kernels that can be called by their addresses."""
    own = g.cls.damping_kernel in _DAMPINGS and not g.cls.defines("dissipation")
    return g.cls.kernel in _KERNELS and own and not g.internal.size and not g.cls.defines("power")


def pushes(el: Element) -> bool:
    """Whether a kernel has the forces of an element's inputs."""
    return type(el.obj).input_map is ForceActuator.input_map


class Rows(NamedTuple):
    """What gives rows: laws, and gears, see :class:`.Held`."""

    laws: Sequence[LawPart]
    gears: np.ndarray
    ratios: np.ndarray

    def __bool__(self) -> bool:
        return bool(self.laws) or bool(len(self.gears))


class Actors(NamedTuple):
    """Who acts: groups for which :func:`acts`, elements for which :func:`pushes`, and laws of forces."""

    groups: Sequence[Group]
    pushing: Sequence[Element]
    forces: Sequence[LawPart]

    def __bool__(self) -> bool:
        return any(self)


class _Alike(NamedTuple):
    """Elements of one kernel: numbers of frames (E, F), parameters (E, P), and numbers of the group in :class:`.Acting`."""

    frames: np.ndarray
    parameters: np.ndarray
    remembered: int
    parts: int
    kind: int
    kernels: tuple[int, int, int]

    @property
    def numbers(self) -> tuple[int, ...]:
        return *self.frames.shape, self.parameters.shape[1], self.remembered, self.parts, self.kind


class ActingElements:
    """Elements that act, and elements that give ``rows``.

    ``inputs`` (P, 6) are the forces and torques of those that push by inputs, which kernels read.
    """

    def __init__(self, equations: Equations, actors: Actors, rows: Rows, first_row: int):
        """``first_row`` is the number of the first row of all laws."""
        self._equations, self._groups, t = equations, actors.groups, equations.topology
        found = [_of_kernel(g) for g in actors.groups]
        if actors.pushing:
            frames = np.array([el.frames for el in actors.pushing])
            pushed = np.array([(*np.zeros(6), el.obj.axes == "world") for el in actors.pushing])
            kernels = acting.kernel_addresses(springs.push, None, None)
            found.append(_Alike(frames, pushed, 0, 1, acting.DRIVING, kernels))
        found += map(_of_law, actors.forces)
        frames = np.concatenate([np.zeros(0, dtype=int), *(k.frames.ravel() for k in found)])
        parameters = np.concatenate([np.zeros(0), *(k.parameters.ravel() for k in found)])
        pieces = np.split(parameters, np.cumsum([k.parameters.size for k in found])[:-1]) if found else []
        own = [x.reshape(k.parameters.shape) for x, k in zip(pieces, found, strict=True)]
        self.inputs = own[len(actors.groups)][:, :6] if actors.pushing else np.zeros((0, 6))
        # laws, and where addresses of their programs are
        first = len(found) - len(actors.forces)
        self._laws = [(part, x[:, 0]) for part, x in zip(actors.forces, own[first:], strict=True)]
        missed = np.array([len(actors.forces) + len(rows.laws)])
        self._acts, self._held = bool(found), InMemory(self._rows(rows, first_row, missed)) if rows else None
        hold, held = (0, 0) if self._held is None else (hold_address(), self._held.at)
        self._arrays = Acting(
            np.array([k.numbers for k in found], dtype=int).reshape(-1, 6),
            np.array([k.kernels for k in found]) if found else np.zeros((0, 3), dtype=int), parameters,
            np.zeros(sum(len(k.frames) * k.remembered for k in found)), *_frames(t, frames), missed, hold, held,
            np.zeros((len(frames), 3)), np.zeros((len(frames), 3, 3)),
            np.zeros(6 * len(frames)), np.zeros(len(frames)), np.zeros(6 * len(frames)), np.zeros(6 * len(frames)), np.zeros(0),
            np.zeros(equations.size + 2),
        )  # fmt: skip

    def _rows(self, rows: Rows, first: int, missed: np.ndarray) -> Held:
        """What :mod:`mse.kernels.holding` works on; its laws join the others."""
        t, parameters, frames, sides, groups, room = self._equations.topology, [], [], [], [], 0
        for part in rows.laws:
            (count, many), of_frames = part.frames.shape, t.unit[part.frames]
            pairs = pairs_on(of_frames)
            parameters.append(np.zeros((count, 1)))
            frames.append(part.frames.ravel())
            sides.append(sides_on(of_frames, pairs).ravel())
            groups.append((count, many, part.rows, pairs.shape[1], first))
            first += count * part.rows * pairs.shape[1]
            room = max(room, count * part.rows * (2 + 6 * many))
        whole = np.concatenate([np.zeros((0, 1)), *parameters])
        for part, own in zip(rows.laws, np.split(whole, np.cumsum([len(x) for x in parameters])[:-1]), strict=False):
            self._laws.append((part, own[:, 0]))
        numbers, sides = (np.concatenate([np.zeros(0, dtype=int), *x]) for x in (frames, sides))
        return Held(
            row_address(by_record.rows_by_record), np.array(groups, dtype=int).reshape(-1, 5), whole, *_frames(t, numbers),
            sides, missed, rows.gears, rows.ratios, np.zeros((len(numbers), 3)), np.zeros((len(numbers), 3, 3)),
            np.zeros(6 * len(numbers)), np.zeros((0, 0)), np.zeros(room),
        )  # fmt: skip

    def remembering(self, state: State, v: np.ndarray) -> tuple[int, Acting] | None:
        """Address of the kernel of all that act, and their arrays, with what they remember in a state, at velocities v (n,).

        None where a law is no record there.
        """
        np.concatenate([np.zeros(0), *(state.memory[g.number].ravel() for g in self._groups)], out=self._arrays.memory)
        if self.missed or any(part.stale for part, _ in self._laws):
            self._arrays.missed[0] = 1
            at = self._equations.evaluation(state).configuration
            velocities = self._equations.frame_velocities(at, v)
            if not all(part.serve(at, velocities, put, self._arrays.missed) for part, put in self._laws):
                return None
            self._arrays.missed[0] = 0
        return acting.exert_address() if self._acts else 0, self._arrays

    @property
    def missed(self) -> bool:
        """Whether an element has gone another way than the record of its law, or has no record yet."""
        return bool(self._arrays.missed[0])


def _frames(t: Topology, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bodies of frames, and their poses there."""
    return t.unit[frames].astype(int), t.offset_o[frames], t.offset_U[frames]


def _of_kernel(g: Group) -> _Alike:
    damps = g.parameters[:, -_DAMPINGS[g.cls.damping_kernel] :].any()
    kernels = acting.kernel_addresses(g.cls.kernel, _KERNELS[g.cls.kernel] if damps else None, g.cls.follow)
    return _Alike(g.frames, g.parameters, g.cls.memory_size, len(g.cls.parts), acting.ENERGIES_AND_DAMPERS, kernels)


def _of_law(part: LawPart) -> _Alike:
    both = (by_record.energy_by_record, None) if part.law == "energy" else (None, by_record.drag_by_record)
    addresses = np.zeros((len(part.frames), 1))  # which come later
    return _Alike(part.frames, addresses, 0, 1, part.kind, acting.kernel_addresses(*both, None))
