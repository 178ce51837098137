"""Work in pieces that threads share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext

import numpy as np


def shared(
    work: Callable[[Iterator[np.ndarray]], Iterator[None]], pieces: Iterable[np.ndarray], threads: int,
    tell: Callable[[], None] | None,
) -> bool:  # fmt: skip
    """Let so many threads ``work`` at the pieces, each at the next one that waits; whether Ctrl-C ended it.

    ``work`` is a generator that yields after each piece.  The caller's thread is one of them, and calls ``tell`` then.  After
    Ctrl-C each thread ends its piece, and no other begins.
    """
    waiting = iter(pieces)
    with ThreadPoolExecutor(threads - 1) if threads > 1 else nullcontext() as pool, closing(work(waiting)) as own:
        try:
            next(own)  # compile or load before threads start
            others = pool.map(list, [work(waiting) for _ in range(threads - 1)]) if threads > 1 else ()
            for _ in own:
                if tell is not None:
                    tell()
            list(others)
            if tell is not None:
                tell()
        except KeyboardInterrupt:
            return True
        finally:
            list(waiting)  # leave no work for the other threads
    return False
