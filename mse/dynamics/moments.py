"""Moments of a motion, and the steps between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

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


class MadeLater(Moment):
    """A moment whose state is made when somebody asks for it."""

    def __init__(self, state: Callable[[], State], time: float, v: np.ndarray, **more):
        own = {"damped": 0.0, "driven": 0.0, "step": None, "origin": None} | more
        self.__dict__.update(own, time=time, v=v, _make=state)

    @cached_property
    def state(self) -> State:
        return self._make()


@dataclass(frozen=True, eq=False)
class Step:
    """A step from ``begin`` to ``end``; ``at(t)`` are the moments between."""

    begin: Moment
    end: Moment
    at: Callable[[float], Moment]
    evaluations: int
