"""Elements that act on rigid bodies by compiled kernels, as arrays for :mod:`mse.kernels.acting`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..elements.transducers import ForceActuator
from ..kernels import acting, by_record, masses, springs
from ..kernels.acting import Acting
from ..kernels.multibody import Work
from ..model.configuration import State
from ..model.flattening import Element
from ..model.groups import Group
from .accelerations import Equations
from .law_elements import LawPart

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


class Actors(NamedTuple):
    """Who acts: groups for which :func:`acts`, elements for which :func:`pushes`, laws of forces, and laws of rows."""

    groups: Sequence[Group]
    pushing: Sequence[Element]
    forces: Sequence[LawPart]
    rows: Sequence[LawPart]

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
    """Elements that act.

    ``inputs`` (P, 6) are the forces and torques of those that push by inputs, which kernels read.
    """

    def __init__(self, equations: Equations, actors: Actors, work: Work, seats: np.ndarray):
        """Rows are put into ``work``; ``seats`` (E, 3) are two bodies and the first row of each element that has some."""
        self._equations, self._groups, t = equations, actors.groups, equations.topology
        found = [_of_kernel(g) for g in actors.groups]
        if actors.pushing:
            frames = np.array([el.frames for el in actors.pushing])
            pushed = np.array([(*np.zeros(6), el.obj.axes == "world") for el in actors.pushing])
            kernels = acting.kernel_addresses(springs.push, None, None)
            found.append(_Alike(frames, pushed, 0, 1, acting.DRIVING, kernels))
        forces, pushing, own = [_of_law(part) for part in actors.forces], len(actors.groups), seats
        rows, sides = [], []
        for part in actors.rows:
            own, seats = np.split(seats, [len(part.frames)])
            rows.append(_of_law(part, own[:, 2]))
            of_frames = t.unit[part.frames]
            sides.append(np.where(of_frames == 0, -1, np.where(of_frames == own[:, :1], 0, 1)).ravel())
        found += forces + rows
        frames = np.concatenate([k.frames.ravel() for k in found])
        parameters = np.concatenate([k.parameters.ravel() for k in found])
        pieces = np.split(parameters, np.cumsum([k.parameters.size for k in found])[:-1])
        of_kinds = [own.reshape(k.parameters.shape) for own, k in zip(pieces, found, strict=True)]
        self.inputs = of_kinds[pushing][:, :6] if actors.pushing else np.zeros((0, 6))
        # laws, and where addresses of their programs are
        laws = [*actors.forces, *actors.rows]
        self._laws = [(p, k[:, 0]) for p, k in zip(laws, of_kinds[len(found) - len(laws) :], strict=True)]
        others, room = np.full(len(frames) - sum(map(len, sides)), -1), 0
        room = max((k.parts * len(k.frames) * (2 + 6 * k.frames.shape[1]) for k in rows), default=0)
        put_into = (work.value, work.bend, work.slope) if rows else (np.zeros(0), np.zeros(0), np.zeros((0, 12)))
        self._arrays = Acting(
            np.array([k.numbers for k in found]), np.array([k.kernels for k in found]), parameters, np.zeros(0),
            t.unit[frames].astype(int), t.offset_o[frames], t.offset_U[frames], np.concatenate([others, *sides]),
            np.array([len(laws)]), np.zeros((len(frames), 3)), np.zeros((len(frames), 3, 3)), np.zeros(6 * len(frames)),
            np.zeros(len(frames)), np.zeros(6 * len(frames)), np.zeros(6 * len(frames)), np.zeros(0),
            np.zeros(equations.size + 2), np.zeros(room), *put_into,
        )  # fmt: skip

    def remembering(self, state: State, v: np.ndarray) -> tuple[int, Acting] | None:
        """Address of the kernel of all, and arrays, of elements in a state at velocities v (n,).

        None where a law is no record there.
        """
        own = np.concatenate([np.zeros(0), *(state.memory[g.number].ravel() for g in self._groups)])
        if self.missed or any(part.stale for part, _ in self._laws):
            self._arrays.missed[0] = 1
            at = self._equations.evaluation(state).configuration
            velocities = self._equations.frame_velocities(at, v)
            if not all(part.serve(at, velocities, put, self._arrays.missed) for part, put in self._laws):
                return None
            self._arrays.missed[0] = 0
        return acting.exert_address(), self._arrays._replace(memory=own)

    @property
    def missed(self) -> bool:
        """Whether an element has gone another way than the record of its law, or has no record yet."""
        return bool(self._arrays.missed[0])


def _of_kernel(g: Group) -> _Alike:
    damps = g.parameters[:, -_DAMPINGS[g.cls.damping_kernel] :].any()
    kernels = acting.kernel_addresses(g.cls.kernel, _KERNELS[g.cls.kernel] if damps else None, g.cls.follow)
    return _Alike(g.frames, g.parameters, g.cls.memory_size, len(g.cls.parts), acting.ENERGIES_AND_DAMPERS, kernels)


def _of_law(part: LawPart, first_rows: np.ndarray | None = None) -> _Alike:
    numbers = [np.zeros(len(part.frames))]  # addresses come later
    if first_rows is not None:
        kernels = acting.row_addresses(by_record.rows_by_record, None)
        return _Alike(part.frames, np.stack([*numbers, first_rows], axis=1), 0, part.rows, acting.ROWS, kernels)
    both = (by_record.energy_by_record, None) if part.law == "energy" else (None, by_record.drag_by_record)
    return _Alike(part.frames, np.stack(numbers, axis=1), 0, 1, part.kind, acting.kernel_addresses(*both, None))
