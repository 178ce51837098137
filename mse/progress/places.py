"""Where the line of a task is shown: a terminal, by tqdm or without, or the cell of a notebook."""

from __future__ import annotations

import shutil
import sys
from typing import Protocol
from uuid import uuid4

from .bars import Bar, installed
from .record import Progress, ended, printable


class Display(Protocol):
    def draw(self, now: Progress) -> None:
        """Show how far a task has come."""

    def clear(self) -> None:
        """Make room for other lines."""

    def end(self, last: Progress, interrupted: bool) -> None:
        """Take that away, or leave it where the task was interrupted."""

    def keep(self, line: str) -> None:
        """Show a line that stays."""


class Terminal:
    """A line that is written over and over, where there is no tqdm."""

    def __init__(self, stream):
        self._stream, self._line = stream, ""

    def draw(self, now: Progress) -> None:
        line = printable(str(now))[: shutil.get_terminal_size().columns - 1]
        if line != self._line:
            self._write("\r" + line.ljust(len(self._line)))
            self._line = line

    def clear(self) -> None:
        if self._line:
            self._write("\r" + " " * len(self._line) + "\r")
            self._line = ""

    def end(self, last: Progress, interrupted: bool) -> None:
        if interrupted:
            self.draw(last)
            self._write("\n")
            self._line = ""
        self.clear()

    def keep(self, line: str) -> None:
        self._write("\r" + printable(line).ljust(len(self._line)) + "\n")
        self._line = ""

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # closed meanwhile: a run goes on without its line
            self._stream = _Nowhere()


class _Nowhere:
    def write(self, text: str) -> None: ...
    def flush(self) -> None: ...


class Notebook:
    """An output of the present cell, one for all its tasks: cells cannot take outputs back, so the last one stays, as a line."""

    _cell: tuple[int, str, list[str]] = (-1, "", [])  # number of the cell, the name of its output, and lines that stay

    def __init__(self, shell):
        self._publish, self._shown = shell.display_pub.publish, ""
        if Notebook._cell[0] != shell.execution_count:
            Notebook._cell = shell.execution_count, "", []

    def draw(self, now: Progress) -> None:
        if now.sentence() != self._shown:
            self._show(now.sentence(), (now.done, now.total) if now.total else None)

    def clear(self) -> None: ...

    def end(self, last: Progress, interrupted: bool) -> None:
        self._show(ended(last, "was interrupted after" if interrupted else "took"))

    def keep(self, line: str) -> None:
        Notebook._cell[2].append(line)
        self._show("")

    def _show(self, text: str, bar: tuple[int, int] | None = None) -> None:
        from html import escape

        self._shown = text
        number, name, kept = Notebook._cell
        new = not name
        if new:
            name = uuid4().hex
            Notebook._cell = number, name, kept
        lines = [*kept, text] if text else kept
        marked = [escape(line) for line in lines]
        if bar is not None:
            marked[-1] = '<progress value="{}" max="{}"></progress> '.format(*bar) + marked[-1]
        content = {
            "text/plain": "\n".join(lines),
            "text/html": f'<div style="font-size: smaller; opacity: 0.7">{"<br>".join(marked)}</div>',
        }
        self._publish(content, transient={"display_id": name}, update=not new)


def place() -> Display | None:
    """Where a line can be drawn now: None in files, pipes and workers of multiprocessing, whose siblings would all draw it."""
    if is_worker():
        return None
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    if getattr(shell, "kernel", None) is not None:
        return Notebook(shell)
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return Bar(sys.stderr) if installed() else Terminal(sys.stderr)


def is_worker() -> bool:
    """Whether this is a worker of multiprocessing."""
    processes = sys.modules.get("multiprocessing")
    return processes is not None and processes.parent_process() is not None
