"""How far a task has come, as data and in words."""

from __future__ import annotations

from typing import NamedTuple

_WIDTH = 30  # of the bar


class Progress(NamedTuple):
    """How far a task has come; a callback gets one, its ``str`` is a line with a bar.

    Attributes
    ----------
    task : str
        What is done and for which system, such as ``"stage: tracing load_factor"``.
    done : int
        How much is done.
    total : int or None
        How much there is to do; None where that is not known before.
    unit : str
        What is counted, such as ``"steps"``; empty where nothing is.
    elapsed : float, s
        Time since the task began.
    left : float or None, s
        Time that the rest will take at the present rate; None where that is not known.
    stage : str
        What is done just now within the task, such as ``"compiling beams, once"``; may be empty.

    Examples
    --------
    >>> print(mse.Progress("stage: simulating", 300, 1200, "steps", 2.0, 6.0, ""))
    stage: simulating [#######.......................]  25 %, 6 s left
    """

    task: str
    done: int
    total: int | None
    unit: str
    elapsed: float
    left: float | None
    stage: str

    def __str__(self) -> str:
        if not self.total:
            return self.sentence()
        share = min(self.done / self.total, 1.0)
        bar = ("#" * int(share * _WIDTH)).ljust(_WIDTH, ".")
        return f"{self.task} [{bar}] {self.how_far()}"

    def how_far(self) -> str:
        """The share that is done, the time and the stage, as they follow a bar.

        Returns
        -------
        str
            Such as ``" 40 %, 12 s left"``.
        """
        share = f"{100 * min(self.done / self.total, 1.0):3.0f} %, " if self.total else ""
        return f"{share}{self.times()}{self.stage and f' ({self.stage})'}"

    def sentence(self) -> str:
        """The same in words alone.

        Returns
        -------
        str
            What is done, how much of it, the time and the stage.
        """
        return f"{counted(self.task, self.done, self.total, self.unit)}, {self._replace(total=None).how_far()}"

    def times(self) -> str:
        """The time that is left, or where that is not known the time since the beginning.

        Returns
        -------
        str
            Such as ``"12 s"`` or ``"3 min left"``.
        """
        return _time(self.elapsed) if self.left is None else f"{_time(self.left)} left"


def ended(last: Progress, how: str) -> str:
    """A sentence on a task that is over: ``how`` is "took", "failed after", "was interrupted after" ..."""
    count = f", {last.done:,} {last.unit}" if last.unit and last.done else ""
    return f"{last.task} {how} {_time(last.elapsed)}{count}"


def counted(name: str, done: int, total: int | None, unit: str) -> str:
    """The work of a task, and how much of it is done."""
    of = f" of {total:,}" if total else ""
    return f"{name}, {done:,}{of} {unit}" if unit and (done or total) else name


def printable(text: str) -> str:
    """A text without what would move the cursor of a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _time(seconds: float) -> str:
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
