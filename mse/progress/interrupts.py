"""Ctrl-C while something is done that must come to its end."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Uninterrupted:
    """Ctrl-C in a block of ``with`` counts at its end.

    Numba compiles, and takes functions as arguments, in C, from where an exception that a signal raises may not come back:
    it is forgotten, and the program goes on.
    """

    __slots__ = ("_handler", "_pressed")

    def __enter__(self) -> Uninterrupted:
        self._pressed: tuple[int, FrameType | None] | None = None
        here = threading.current_thread() is threading.main_thread()  # no other gets signals
        self._handler = signal.getsignal(signal.SIGINT) if here else None
        if callable(self._handler):  # not where signals are ignored, or kill
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if callable(self._handler):
            signal.signal(signal.SIGINT, self._handler)
            if self._pressed is not None:
                self._handler(*self._pressed)

    def _press(self, number: int, frame: FrameType | None) -> None:
        self._pressed = number, frame
