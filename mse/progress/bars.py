"""The line of a task as a bar of tqdm (extra ``progress``), which makes room for the other bars of the program."""

from __future__ import annotations

import functools
import importlib.util
import shutil
from typing import TYPE_CHECKING, Any

from .record import Progress, printable

if TYPE_CHECKING:
    from tqdm import tqdm


@functools.cache
def installed() -> bool:
    """Whether there is a tqdm; it is imported when a bar is drawn first."""
    return importlib.util.find_spec("tqdm") is not None


class Bar:
    """A bar on a terminal, below the bars that the program itself shows by tqdm."""

    def __init__(self, stream: Any):
        self._stream = stream
        self._bar: tqdm | None = None

    def draw(self, now: Progress) -> None:
        """Show how far a task has come."""
        if self._bar is None:
            # tqdm passes by what it cannot write; it is told nothing but what it draws, and when
            self._bar = _without_monitor()(file=self._stream, leave=False, bar_format="{desc}")
        bar = self._bar
        width, bar.nrows = shutil.get_terminal_size()
        bar.n, bar.total, bar.ncols = now.done, now.total, width - 1
        if now.total:
            bar.desc = printable(now.task)
            after = printable(now.how_far()).replace("{", "{{").replace("}", "}}")
            bar.bar_format = f"{{desc}} |{{bar}}| {after}"
        else:
            bar.desc, bar.bar_format = printable(now.sentence())[: bar.ncols], "{desc}"
        bar.refresh()

    def clear(self) -> None:
        """Make room for other lines."""
        if self._bar is not None:
            self._bar.clear()

    def end(self, last: Progress, interrupted: bool) -> None:
        """Take the bar away, or leave it where the task was interrupted."""
        if interrupted:
            self.draw(last)
        if self._bar is not None:
            self._bar.leave = interrupted
            self._bar.close()
            self._bar = None

    def keep(self, line: str) -> None:
        """Show a line that stays."""
        _without_monitor().write(printable(line), file=self._stream)


@functools.cache
def _without_monitor() -> type[tqdm]:
    """tqdm without its monitor thread: a thread of mse draws these bars already."""
    from tqdm import tqdm

    return type("Bar", (tqdm,), {"monitor_interval": 0})
