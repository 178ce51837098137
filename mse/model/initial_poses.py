"""Initial poses, given by users or derived from objects that have a place already."""

from __future__ import annotations

import logging
from collections import deque
from itertools import pairwise

import numpy as np

from ..kernels.frames import placed_frames
from ..pose import IDENTITY, Pose
from .frame_tree import inverse
from .topology import Topology

log = logging.getLogger("mse")


def initial_poses(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Origins (units, 3) and orientations (units, 3, 3) of the units' reference frames before relaxation.

    Objects with a pose place their unit; objects with a rest shape place what is clamped to them; everything else hangs below a
    placed neighbor by its element's span.
    """
    if topology.given_poses is not None:
        o, u = topology.given_poses
        return o.copy(), u.copy()
    placing = _Placing(topology)
    o, u = placing.run()
    if not placing.by_neighbors and not placing.warned:
        topology.given_poses = o.copy(), u.copy()
    return o, u


class _Placing:
    """Poses ``o`` (units, 3), ``U`` (units, 3, 3) of the units' reference frames, and which units are ``placed`` so far.

    ``by_neighbors``: some poses follow from others, so parameters may change them; ``warned``: a warning named some of them.
    """

    def __init__(self, topology: Topology):
        t = self.t = topology
        self.unit, self.elements = t.unit, t.elements
        self.o, self.U = np.zeros((t.units, 3)), np.tile(np.eye(3), (t.units, 1, 1))
        self.placed = np.zeros(t.units, dtype=bool)
        self.placed[0] = True
        self.warned = self.by_neighbors = False
        self.pending: dict[
            int, list[int]
        ] = {}  # units that wait for their own initial pose, and the objects that give it
        self.laying, self.hanging = deque([0]), deque([0])  # placed units, beside which others may be laid, or hung
        self.laid: set[int] = set()
        self.rests: dict[int, list[tuple[int, Pose]]] = {}  # by element: its frames and their poses at rest
        positioned = np.array([k for k, el in enumerate(t.elements) if el.obj.at is not None], dtype=np.int64)
        if len(positioned):
            grounds = np.array(t.system_ground)[positioned]
            on_ground = t.unit[grounds] == 0
            self._place_all(positioned[on_ground], grounds[on_ground])
            for k in positioned[~on_ground].tolist():
                self._wish(k)

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        laid_out = any(kind.cls.defines("rest_poses") for kind in self.t.kinds)
        self.by_neighbors = laid_out or not self.placed.all()
        if self.by_neighbors:
            self._find_hangers()
            while self._place_positioned() or self._place_neighbors() or self._place_floating():
                pass
            for rest in self.rests.values():
                self._bend_to_fit(rest)
        return self.o, self.U

    def _find_hangers(self) -> None:
        """List elements between several frames, which may place their neighbors, by unit and in order."""
        self.frames_of_unit = np.bincount(self.unit)
        self.hangers: list[list[int]] = [[] for _ in range(self.t.units)]
        found = []
        for kind in self.t.kinds:
            rests, hangs = kind.cls.defines("rest_poses"), kind.count > 1 and kind.cls.exerts_forces()
            for k in kind.members if rests or hangs else ():
                el = self.elements[k]
                if el.inner or (kind.cls.defines("joined") and el.obj.joined):
                    continue  # these place no frames: their components do
                if rests:
                    number = dict(zip(el.obj.frame_names, el.frames.tolist(), strict=True))
                    rest = [(number[name], pose) for name, pose in el.obj.rest_poses().items()]
                    if rest:
                        self.rests[k] = rest
                if hangs or k in self.rests:
                    found.append(k)
        self.rests = dict(sorted(self.rests.items()))
        for k in sorted(found):
            for u in set(self.unit[self.elements[k].frames].tolist()):
                self.hangers[u].append(k)

    def _place_floating(self) -> bool:
        """Place the first object that has a rest shape and no other placement at the ground."""
        for rest in self.rests.values():
            if not any(self.placed[self.unit[f]] for f, _ in rest):
                self._place(int(self.unit[rest[0][0]]), self._offset(rest[0][0]).inverse())
                return True
        return False

    def _place(self, unit: int, p: Pose) -> None:
        self.o[unit], self.U[unit] = p.o, p.U
        self.placed[unit] = True
        self.laying.append(unit)
        self.hanging.append(unit)

    def _offset(self, frame: int) -> Pose:
        return Pose._of(self.t.offset_o[frame], self.t.offset_U[frame])

    def _frame_pose(self, frame: int) -> Pose:
        unit = self.unit[frame]
        return (Pose._of(self.o[unit], self.U[unit]) if unit else IDENTITY) @ self._offset(frame)

    # -- initial poses given by the user ----------------------------------------------------------------------
    def _place_all(self, ks: np.ndarray, grounds: np.ndarray) -> None:
        """Place the units of objects whose poses refer to ground frames at rest; the first object of each unit decides."""
        t = self.t
        frames = np.array([self.elements[k].frames[0] for k in ks.tolist()], dtype=np.int64)
        at = [self.elements[k].obj.at for k in ks.tolist()]
        at_o, at_U = np.array([p.o for p in at]).reshape(-1, 3), np.array([p.U for p in at]).reshape(-1, 3, 3)
        at_o, at_U = placed_frames(t.offset_o, t.offset_U, grounds, at_o, at_U)
        own = np.arange(len(ks))
        o, u = placed_frames(at_o, at_U, own, *inverse(t.offset_o[frames], t.offset_U[frames]))
        units = t.unit[frames]
        first = np.full(t.units, -1)
        first[units[::-1]] = own[::-1]
        first[0] = -1
        chosen = np.sort(first[first >= 0])
        self.o[units[chosen]], self.U[units[chosen]] = o[chosen], u[chosen]
        self.placed[units[chosen]] = True
        for queue in (self.laying, self.hanging):
            queue.extend(units[chosen].tolist())
        off = np.maximum(np.abs(o - self.o[units]).max(axis=1), np.abs(u - self.U[units]).max(axis=(1, 2)))
        for j in np.flatnonzero(off > 1e-7).tolist():
            unit = int(units[j])
            wished, given = Pose._of(o[j], u[j]), Pose._of(self.o[unit].copy(), self.U[unit].copy())
            if wished.is_close(given, 1e-6, 1e-6):
                continue
            if unit:
                self._warn_conflict(int(ks[j]), int(ks[first[unit]]))
            else:
                self._warn_unused(int(ks[j]))

    def _wish(self, k: int) -> None:
        unit = int(self.unit[self.elements[k].frames[0]])
        if not self.placed[unit]:
            self.pending.setdefault(unit, []).append(k)

    def _warn_unused(self, k: int) -> None:
        self.warned = True
        log.warning("%s: it is clamped to the ground, so its initial pose is not used", self.elements[k].obj.label)

    def _warn_conflict(self, k: int, used: int) -> None:
        self.warned = True
        log.warning(
            "%s: its initial pose differs from where its clamps and the initial pose of %s put it; the latter is used",
            self.elements[k].obj.label, self.elements[used].obj.label,
        )  # fmt: skip

    def _wished(self, k: int) -> Pose:
        el = self.elements[k]
        return self._frame_pose(self.t.system_ground[k]) @ el.obj.at @ self._offset(int(el.frames[0])).inverse()

    def _place_positioned(self) -> bool:
        progress = False
        for unit, ks in list(self.pending.items()):
            ready = [k for k in ks if self.placed[self.unit[self.t.system_ground[k]]]]
            if ready:
                self._place(unit, self._wished(ready[0]))
                self._note_conflicts(ready)
                del self.pending[unit]
                progress = True
        return progress

    def _note_conflicts(self, ks: list[int]) -> None:
        given = self._wished(ks[0])
        for k in ks[1:]:
            if not self._wished(k).is_close(given, 1e-6, 1e-6):
                self._warn_conflict(k, ks[0])

    # -- poses derived from a placed neighbor ----------------------------------------------------------------
    def _place_neighbors(self) -> bool:
        while queue := self.laying or self.hanging:  # a spring hangs nothing that a beam has a place for
            progress = False
            for k in self.hangers[queue[0]]:
                if queue is self.hanging and k not in self.rests:
                    progress |= self._hang(k)
                elif queue is self.laying and k in self.rests and k not in self.laid:
                    self.laid.add(k)
                    progress |= self._lay(self.rests[k])
            if progress:
                return True
            queue.popleft()
        return False

    def _free(self, frame: int) -> bool:
        unit = int(self.unit[frame])
        return not self.placed[unit] and unit not in self.pending

    def _lay(self, rest: list[tuple[int, Pose]]) -> bool:
        """Place what is clamped to an object with a rest shape as that shape says, from its first placed frame."""
        here, own = next((f, p) for f, p in rest if self.placed[self.unit[f]])
        root = self._frame_pose(here) @ own.inverse()
        free = [(f, p) for f, p in rest if self._free(f)]
        for f, p in free:
            if self._free(f):  # two of its frames may be clamped to the same body
                self._place(int(self.unit[f]), root @ p @ self._offset(f).inverse())
        return bool(free)

    def _hang(self, k: int) -> bool:
        el = self.elements[k]
        progress = False
        for here in el.frames:
            if not self.placed[self.unit[here]]:
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
        """Distribute the misfit between two frames placed by others evenly over the frames between them."""
        held = [i for i, (f, _) in enumerate(rest) if self.frames_of_unit[self.unit[f]] > 1]
        for a, b in pairwise(held):
            if b - a < 2 or not all(self.placed[self.unit[rest[i][0]]] for i in (a, b)):
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
                p = pose @ self._offset(rest[i][0]).inverse()
                self.o[self.unit[rest[i][0]]], self.U[self.unit[rest[i][0]]] = p.o, p.U
