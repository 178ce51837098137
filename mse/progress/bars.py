"""The bar of a task, by tqdm (extra ``progress``): on the terminal of stderr and in notebooks, below the program's own bars."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from .interrupts import Uninterrupted
from .reports import Progress, printable

if TYPE_CHECKING:
    from tqdm import tqdm

_OFF = ("0", "no", "off", "false")  # values of MSE_PROGRESS and other variables


def by_environment(variable: str = "MSE_PROGRESS") -> bool:
    """Whether the environment lets progress be shown, or what else a variable turns off."""
    return os.environ.get(variable, "").strip().lower() not in _OFF


def is_worker() -> bool:
    """Whether this is a worker of multiprocessing, whose siblings would all draw and log."""
    processes = sys.modules.get("multiprocessing")
    return processes is not None and processes.parent_process() is not None


class Bar:
    """A bar that tqdm draws; it belongs to the process that made it, so a fork of that draws nothing.

    Ctrl-C counts once it is drawn: tqdm would keep its lock, for which the bars of other threads wait.
    """

    def __init__(self, stream: Any):
        self._stream, self._process = stream, os.getpid()
        self._bar: tqdm | None = None

    @classmethod
    def here(cls) -> Bar | None:
        """A bar where one can be drawn now: None in files, pipes and workers, and without tqdm."""
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        seen = getattr(shell, "kernel", None) is not None or (sys.stderr is not None and sys.stderr.isatty())
        return cls(sys.stderr) if seen and not is_worker() and _installed() else None

    def draw(self, now: Progress) -> None:
        """Show how far a task has come."""
        if os.getpid() == self._process:
            with Uninterrupted():
                self._draw(now)

    def _draw(self, now: Progress) -> None:
        if self._bar is None:
            # tqdm passes by what it cannot write; it is given its text, and draws when it is called
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

    def end(self, kept: Progress | None) -> None:
        """Take the bar away, or leave it as it is ``kept`` of an interrupted task."""
        if kept is not None:
            self.draw(kept)
        if self._bar is not None:
            self._bar.leave = kept is not None
            self._bar.disable = os.getpid() != self._process  # or a fork would clear what it does not draw
            with Uninterrupted():
                self._bar.close()
        self._bar = None

    def keep(self, line: str) -> None:
        """Show a line that stays."""
        if os.getpid() == self._process:
            with Uninterrupted():
                _without_monitor().write(printable(line), file=self._stream)


@functools.cache
def _installed() -> bool:
    return importlib.util.find_spec("tqdm") is not None  # it is imported when a bar is drawn first


@functools.cache
def _without_monitor() -> type[tqdm]:
    """tqdm without the thread that draws bars that are late."""
    from tqdm import tqdm

    return type("Bar", (tqdm,), {"monitor_interval": 0})
