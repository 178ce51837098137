"""Moments of a motion, and the steps between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ..model.configuration import State


@dataclass(frozen=True, eq=False)
class Moment:
    """A moment of a motion: ``state`` at ``time`` (s), velocities v (n,), and the work (J) of dampers and of other forces so far.

    ``step`` (s) is the next step's length, None at the start of a run; ``origin`` the moment at which the step that this was
    interpolated in begins, None where it begins here.
    """

    time: float
    state: State
    v: np.ndarray
    damped: float = 0.0
    driven: float = 0.0
    step: float | None = None
    origin: Moment | None = None

    @cached_property
    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins (b, 3) and orientations (b, 3, 3) of bodies."""
        return self.state.o, self.state.U

    @property
    def unfollowed(self) -> State:
        """The state with memories of elements that may be older: from poses less than half a turn away."""
        return self.state

    def but(self, **changes: Any) -> Moment:
        """The same moment with other values of some fields."""
        return Moment(**({f.name: getattr(self, f.name) for f in fields(Moment)} | changes))


class MadeLater(Moment):
    """A moment whose state and origin are made when somebody asks for them; its poses are known."""

    def __init__(
        self, poses: tuple[np.ndarray, np.ndarray], unfollowed: Callable[[], State], follow: Callable[[State], State],
        origin: Callable[[], Moment | None], **numbers: Any,
    ):  # fmt: skip
        self.__dict__.update(numbers, poses=poses, _unfollowed=unfollowed, _follow=follow, _origin=origin)

    @cached_property
    def unfollowed(self) -> State:
        return self._unfollowed()

    @cached_property
    def state(self) -> State:
        return self._follow(self.unfollowed)

    @cached_property
    def origin(self) -> Moment | None:
        return self._origin()


@dataclass(frozen=True, eq=False)
class Step:
    """A step from ``begin`` to ``end``, or several in a row, with their ``begins``; ``at(t)`` are the moments between."""

    begin: Moment
    end: Moment
    at: Callable[[float], Moment]
    evaluations: int
    begins: Sequence[Moment] = ()


class Begins(Sequence[Moment]):
    """The moments at which the steps of a motion begin; of steps in a row they are made when somebody asks for them."""

    def __init__(self):
        self._rows: list[Sequence[Moment]] = []
        self._ends: list[int] = []

    def add(self, step: Step) -> None:
        """Those of a step, or of several in a row, that follow."""
        self._rows.append(step.begins or (step.begin,))
        self._ends.append(len(self) + len(self._rows[-1]))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, k: int) -> Moment:
        if not 0 <= k < len(self):
            raise IndexError(k)
        i = bisect_right(self._ends, k)
        return self._rows[i][k - self._ends[i]]  # from the end of a row
