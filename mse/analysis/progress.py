"""A bar on the terminal for runs that take a while."""

from __future__ import annotations

import sys
import time

_PATIENCE = 1.0  # s before a bar appears
_PERIOD = 0.2  # s between two pictures of it
_WIDTH = 30


class Progress:
    """``name [######......]  40 %, 12 s left`` on stderr, if that is a terminal and the run takes more than a second."""

    def __init__(self, name: str, total: int, *, shown: bool, done: int = 0):
        self._name, self._total, self._first = name, total, done
        self._shown = shown and sys.stderr is not None and sys.stderr.isatty()
        self._start = self._last = time.monotonic()
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc) -> None:
        if self._drawn:
            print(file=sys.stderr)

    def tell(self, done: int) -> None:
        """``done`` of the total steps are made."""
        if not self._shown:
            return
        now = time.monotonic()
        if now - self._start < _PATIENCE or (now - self._last < _PERIOD and done < self._total):
            return
        self._last, self._drawn = now, True
        share = done / self._total
        left = (now - self._start) * (self._total - done) / max(done - self._first, 1)
        bar = ("#" * int(share * _WIDTH)).ljust(_WIDTH, ".")
        print(f"\r{self._name} [{bar}] {100 * share:3.0f} %, {left:.0f} s left ", end="", file=sys.stderr, flush=True)
