"""Where everything starts: initial poses as their users gave them, and what hangs or sticks out from there."""

from __future__ import annotations

import logging
from collections import deque
from itertools import pairwise

import numpy as np

from ..pose import IDENTITY, Pose
from .topology import Topology

log = logging.getLogger("mse")


def initial_poses(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Origins (units, 3) and orientations (units, 3, 3) of the units' reference frames before relaxation.

    Positioned objects place their unit; objects with a rest shape place what is clamped to them; what is left hangs below
    a placed neighbour at its element's span.
    """
    return _Placing(topology).run()


class _Placing:
    def __init__(self, topology: Topology):
        self.t = topology
        self.unit, self.elements = topology.unit, topology.elements
        self.pose: list[Pose | None] = [None] * topology.units
        self.pose[0] = IDENTITY
        self.pending: dict[int, list[int]] = {}  # units that wait for their own initial pose, and who gives it
        self.queue = deque([0])
        self.frames_of_unit = np.bincount(topology.unit)
        self.hangers: list[list[int]] = [[] for _ in range(topology.units)]
        self.laid: set[int] = set()
        self.rests: dict[int, list[tuple[int, Pose]]] = {}  # per element: its frames and their poses at rest, along it
        for k, el in enumerate(self.elements):
            if el.obj.at is not None:
                self._wish(k)
            if el.inner or el.obj.joined:  # they place nothing: others stand for them
                continue
            number = dict(zip(el.obj.frame_names, el.frames.tolist(), strict=True))
            rest = [(number[name], pose) for name, pose in el.obj.rest_poses().items()]
            if rest:
                self.rests[k] = rest
            if rest or (len(el.frames) > 1 and el.obj.exerts_forces()):
                for u in set(self.unit[el.frames]):
                    self.hangers[u].append(k)

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        while self._place_positioned() or self._place_neighbours() or self._place_floating():
            pass
        for rest in self.rests.values():
            self._bend_to_fit(rest)
        poses = [IDENTITY if p is None else p for p in self.pose]
        return np.array([p.o for p in poses]), np.array([p.U for p in poses])

    def _place_floating(self) -> bool:
        """Put the first object with a rest shape that nothing else places where the ground is."""
        for rest in self.rests.values():
            if all(self.pose[self.unit[f]] is None for f, _ in rest):
                self._place(int(self.unit[rest[0][0]]), self._offset(rest[0][0]).inverse())
                return True
        return False

    def _place(self, unit: int, p: Pose) -> None:
        self.pose[unit] = p
        self.queue.append(unit)

    def _offset(self, frame: int) -> Pose:
        return Pose._of(self.t.offset_o[frame], self.t.offset_U[frame])

    def _frame_pose(self, frame: int) -> Pose:
        return self.pose[self.unit[frame]] @ self._offset(frame)

    # -- initial poses given by the user ----------------------------------------------------------------------
    def _wish(self, k: int) -> None:
        el = self.elements[k]
        unit = int(self.unit[el.frames[0]])
        if unit != 0:
            self.pending.setdefault(unit, []).append(k)
        elif self.unit[self.t.system_ground[k]] == 0 and not self._wished(k).is_close(IDENTITY, 1e-6, 1e-6):
            log.warning("%s: it is clamped to the ground, so its initial pose is not used", el.obj.label)

    def _wished(self, k: int) -> Pose:
        el = self.elements[k]
        return self._frame_pose(self.t.system_ground[k]) @ el.obj.at @ self._offset(int(el.frames[0])).inverse()

    def _place_positioned(self) -> bool:
        progress = False
        for unit, ks in list(self.pending.items()):
            ready = [k for k in ks if self.pose[self.unit[self.t.system_ground[k]]] is not None]
            if ready:
                self._place(unit, self._wished(ready[0]))
                self._note_conflicts(ready)
                del self.pending[unit]
                progress = True
        return progress

    def _note_conflicts(self, ks: list[int]) -> None:
        unit = self.pose[self.unit[self.elements[ks[0]].frames[0]]]
        for k in ks[1:]:
            if not self._wished(k).is_close(unit, 1e-6, 1e-6):
                log.warning(
                    "%s: its initial pose differs from where its clamps and the initial pose of %s put it; the latter is used",
                    self.elements[k].obj.label, self.elements[ks[0]].obj.label,
                )  # fmt: skip

    # -- what follows from a placed neighbour -----------------------------------------------------------------
    def _place_neighbours(self) -> bool:
        while self.queue:
            progress = False
            for k in self.hangers[self.queue[0]]:
                if k not in self.rests:
                    progress |= self._hang(k)
                elif k not in self.laid:
                    self.laid.add(k)
                    progress |= self._lay(self.rests[k])
            if progress:
                return True
            self.queue.popleft()
        return False

    def _free(self, frame: int) -> bool:
        unit = int(self.unit[frame])
        return self.pose[unit] is None and unit not in self.pending

    def _lay(self, rest: list[tuple[int, Pose]]) -> bool:
        """Place what is clamped to an object with a rest shape where that shape puts it, from its first placed frame."""
        here, own = next((f, p) for f, p in rest if self.pose[self.unit[f]] is not None)
        root = self._frame_pose(here) @ own.inverse()
        free = [(f, p) for f, p in rest if self._free(f)]
        for f, p in free:
            if self._free(f):  # two of its frames may be clamped to one body
                self._place(int(self.unit[f]), root @ p @ self._offset(f).inverse())
        return bool(free)

    def _hang(self, k: int) -> bool:
        el = self.elements[k]
        progress = False
        for here in el.frames:
            if self.pose[self.unit[here]] is None:
                continue
            for there in el.frames:
                if not self._free(there):
                    continue
                start = self._frame_pose(int(here))
                g = np.linalg.norm(self.t.gravity)
                down = self.t.gravity / g if g > 0 else np.array([0.0, 0.0, -1.0])
                span = el.obj.span()
                if span > 0:
                    self._place(int(self.unit[there]), Pose(start.o + span * down - self.t.offset_o[there]))
                else:
                    self._place(int(self.unit[there]), start @ self._offset(int(there)).inverse())
                progress = True
        return progress

    def _bend_to_fit(self, rest: list[tuple[int, Pose]]) -> None:
        """Spread the misfit between frames that were placed from elsewhere evenly over the frames between them."""
        held = [i for i, (f, _) in enumerate(rest) if self.frames_of_unit[self.unit[f]] > 1]
        for a, b in pairwise(held):
            if b - a < 2 or any(self.pose[self.unit[rest[i][0]]] is None for i in (a, b)):
                continue
            start, end = self._frame_pose(rest[a][0]), self._frame_pose(rest[b][0])
            misfit = end.seen_from(start @ rest[b][1].seen_from(rest[a][1]))
            if misfit.is_close(IDENTITY, 1e-9, 1e-9):
                continue
            w = misfit.rotation_vector()
            for i in range(a + 1, b):
                share = (i - a) / (b - a)
                at_end = start @ rest[b][1].seen_from(rest[a][1]) @ Pose(share * misfit.o) @ Pose.rotation(share * w)
                pose = at_end @ rest[i][1].seen_from(rest[b][1])
                self.pose[self.unit[rest[i][0]]] = pose @ self._offset(rest[i][0]).inverse()
