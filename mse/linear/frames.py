"""The frames of a model and the bodies that they move with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from ..elements.base import Frame, MObject, Place
from ..errors import ModelError
from ..pose import IDENTITY, Pose
from ..validation.arguments import choice, find, refusal
from .interface_frames import InterfaceFrame
from .linear_model import LinearModel


class Frames(Mapping[str, InterfaceFrame]):
    """All frames of a model by name.  Each is made when it is asked for, since a model has many and few are used.

    ``labels()`` gives their names; ``first`` (F,) is the number of the first coordinate of each frame's body, negative on the
    ground; ``lever`` (F, 3) and ``U`` (F, 3, 3) are as in :class:`InterfaceFrame`.
    """

    def __init__(self, labels: Callable[[], Sequence[str]], first: np.ndarray, lever: np.ndarray, U: np.ndarray):
        self._labels, self._arrays = labels, (first, lever, U)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {label: k for k, label in enumerate(self._labels())}

    def __getitem__(self, label: str) -> InterfaceFrame:
        k = self._number[label]
        first, lever, u = self._arrays
        return InterfaceFrame(int(first[k]) if first[k] >= 0 else None, lever[k], u[k])

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._arrays[0])

    def __reduce__(self):
        # store the names themselves: copies have no system to get them from
        return Frames, (partial(tuple, tuple(self)), *self._arrays)


def motion_of(model: LinearModel, where: str | Frame | Place | MObject, axes: str) -> tuple[str, np.ndarray, int]:
    """Name of a moving frame, its displacements and rotations (6, 6) by its body's coordinates, and the first of these.

    Displacements and rotations are along the axes of the world or of the frame.
    """
    pose: Pose = IDENTITY
    frame = where.frame(0) if isinstance(where, MObject) and len(where.frame_names) == 1 else where
    if isinstance(frame, Place):
        frame, pose = frame.frame, frame.pose
    name = frame.label if isinstance(frame, Frame) else frame
    if not isinstance(name, str):
        raise refusal(model.name, "frame", where, "the name of a frame, such as 'table.center', or a frame")
    choice(model.name, "axes", axes, ("world", "frame"))
    found = model.interfaces[find(model.name, "frame", name, model.interfaces)]
    if found.first is None:
        raise ModelError(
            f"{model.name}: frame {name!r} is on the ground or rigidly joined to it; expected a frame that moves"
        )
    lever = found.lever + found.U @ pose.o
    motion = np.eye(6)
    motion[:3, 3:] = [[0.0, lever[2], -lever[1]], [-lever[2], 0.0, lever[0]], [lever[1], -lever[0], 0.0]]
    if axes == "frame":
        motion = np.kron(np.eye(2), (found.U @ pose.U).T) @ motion
    return name, motion, found.first
