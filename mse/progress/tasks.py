"""Tasks that may take long: what is done of them is drawn, logged or handed to a function, in the thread that computes."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from math import inf
from threading import local
from time import perf_counter
from typing import Any, TypeVar

from ..errors import Interrupted, ModelError, MseError, OutOfMemoryError
from .bars import Bar, by_environment, is_worker
from .interrupts import Uninterrupted
from .reports import Progress, counted, ended

Show = bool | Callable[[Progress], Any]  # what show_progress() takes, and every parameter named progress
_Result = TypeVar("_Result")

log = logging.getLogger("mse")

_PATIENCE = 0.6  # s before a bar or a sentence appears
_PERIOD = 0.1  # s between two reports
_SENTENCES = 60.0  # s between two sentences on the same task
# names of tasks that several functions share
SEARCHING, SOLVING = "searching for the working point", "solving for the frequency response"
SIMULATING, FINDING_MODES, BUILDING = "simulating", "finding modes", "building the state space"


class _State:
    """Where progress is shown."""

    to: Show = by_environment()


class _Here(local):
    """The tasks that this thread is in, the outermost first."""

    def __init__(self):
        self.stack: list[Task] = []


_here = _Here()


def show_progress(to: Show = True) -> AbstractContextManager[Any]:
    """Choose where progress is shown: from now on, or within a block of ``with``.

    The environment variable ``MSE_PROGRESS=0`` is ``show_progress(False)`` from the beginning.

    Parameters
    ----------
    to : bool or callable
        True for a bar on a terminal or in a notebook, drawn by tqdm (extra ``progress``), False for none.  A callable gets a
        :class:`Progress` instead: when a task begins and ends, and in between at most ten times a second.  What it raises ends
        the task, and KeyboardInterrupt as Ctrl-C does.

    Returns
    -------
    context manager
        At its end all is as it was before.

    Raises
    ------
    ModelError
        ``to`` is neither.

    Examples
    --------
    >>> told = []
    >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
    >>> with mse.show_progress(told.append):
    ...     history = model.simulate(duration=100.0, dt=0.1)
    >>> print(told[-1].task, told[-1].done, told[-1].unit)
    model: simulating 1000 steps
    """
    before, _State.to = _State.to, _checked(to, "show_progress()")
    after = ExitStack()
    after.callback(setattr, _State, "to", before)
    return after


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether an error that is not one of mse says that memory is lacking; the loader of extension modules says so in words.

    Extension modules that find no memory for the error itself leave it to Python to say that it was not set: once in seven runs
    of a net of 3,600 bodies with 60 MB.
    """
    if isinstance(error, SystemError):
        return "without exception set" in str(error) or "without setting an exception" in str(error)
    if isinstance(error, ImportError):
        return any(words in str(error).lower() for words in ("failed to map segment", "cannot allocate memory"))
    return isinstance(error, MemoryError) and not isinstance(error, MseError)


class Task:
    """Something that may take long, while it is done: ``with Task("stage", "tracing", unit="points") as task: task.tell(1)``.

    ``owner`` is the name of the system or model; ``first`` of ``total`` were done before, ``show`` is what :func:`show_progress`
    takes, True for what that has set.  One within another of the same name counts for that.  It belongs to the thread that enters
    it.  A lack of memory leaves the outermost one as :class:`.OutOfMemoryError`.
    """

    __slots__ = (
        "_bar", "_began", "_call", "_compiled", "_done", "_first", "_logs", "_name", "_note", "_outer", "_owner", "_pending",
        "_reported", "_result", "_said", "_show", "_stack", "_subjects", "_total", "_unit",
    )  # fmt: skip

    def __init__(
        self, owner: str, name: str, total: int | None = None, unit: str = "", *, first: int = 0,
        show: Show = True,
    ):  # fmt: skip
        self._owner, self._name, self._total, self._unit = owner, name, total, unit
        self._first = self._done = first
        self._note: tuple = ()
        self._show = show if show is True else _checked(show, "progress", owner)
        # of the outermost task: whom it reports to, what was compiled in it, and for how long
        self._bar: Bar | None = None
        self._call: Callable[[Progress], Any] | None = None
        self._logs = False
        self._pending: BaseException | None = None
        self._result: Any = None
        self._reported = self._said = -inf
        self._compiled, self._subjects = 0.0, {}

    def __enter__(self) -> Task:
        self._stack = stack = _here.stack
        self._outer = stack[0] if stack else self
        stack.append(self)
        try:
            self._began = perf_counter()
            if self._outer is self:
                self._open()
            else:
                self._outer._report(isinstance(self, Compiling))
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if self._outer is self:
                self._close(error)
            elif self._outer._name == self._name:
                outer = self._outer
                outer._done, outer._total, outer._unit, outer._note = self._done, self._total, self._unit, self._note
        finally:
            self._leave()
        if self._outer is self and _lacks_memory(error):
            raise self._out_of_memory(error) from error

    def _open(self) -> None:
        to = _State.to if self._show is True else self._show
        self._logs = log.isEnabledFor(logging.INFO) and not is_worker()
        if callable(to):
            self._call = to
            self._report(True)
        elif to:
            self._bar = Bar.here()

    def _close(self, error: BaseException | None) -> None:
        interrupted = isinstance(error, KeyboardInterrupt)
        long = perf_counter() - self._began >= _PATIENCE
        if interrupted and not error.args:
            error.add_note(f"mse: {ended(self.progress(), 'was interrupted after')}")
        if self._bar is not None:
            self._bar.end(self.progress() if interrupted and long else None)
        if self._subjects and self._compiled >= _PATIENCE:
            *_, where = self._subjects.values()
            line = f"compiled for this machine, once, in {self._compiled:.1f} s: {', '.join(self._subjects)} ({where})"
            if self._bar is not None:
                self._bar.keep(f"mse: {line}")
            if self._logs:
                log.info("%s", line)
        if self._logs and long:
            how = "took" if error is None else "was interrupted after" if interrupted else "failed after"
            log.info("%s", ended(self.progress(), how))
        if self._call is not None and error is None:
            try:
                self._report(True)
            except KeyboardInterrupt:
                if self._result is None:
                    raise
                how = ended(self.progress(), "was interrupted at its end, after")
                raise Interrupted(f"{how}; this error has its whole result", self._result) from None

    def _out_of_memory(self, error: BaseException) -> OutOfMemoryError:
        """The error of a task that has used up the memory, whatever in it asked for more: the one place that tells it."""
        asked = str(error) or "more was asked for than there is"
        return OutOfMemoryError(
            f"{self._owner}: {self._name} has used up the memory that this process may have ({asked}); expected room for it; "
            "raise the limit (ulimit -v, or that of its container), or take a smaller model"
        )

    def _leave(self) -> None:
        self._result = None  # an outermost task refers to itself: what it holds would wait for the collector of cycles
        if self in self._stack:
            del self._stack[self._stack.index(self) :]  # with stages that were interrupted before they had begun

    def tell(self, done: int, note: str = "", *values: Any) -> None:
        """So much is done; ``note % values`` says more about it, put together when it is shown."""
        self._done = done
        if note:
            self._note = (note, values)
        self._outer._report(False)

    def finished(self, result: _Result) -> _Result:
        """The result, for ``return task.finished(result)``: who interrupts the last report still gets it."""
        self._result = result
        return result

    def _report(self, at_once: bool) -> None:
        """Show how far this outermost task is, unless that was done a moment ago."""
        if self._call is None and self._bar is None and not self._logs:
            return
        now = perf_counter()
        if not at_once and self._pending is None and now - self._reported < _PERIOD:
            return
        compiling = isinstance(self._stack[-1], Compiling)  # numba must not be left in the middle of its work
        if self._pending is not None:
            if compiling:
                return
            error, self._pending = self._pending, None
            raise error
        self._reported = now
        try:
            self._show_to_all(self.progress(), now - self._began >= _PATIENCE, compiling)
        except BaseException as error:
            if not compiling:
                raise
            self._pending = error

    def _show_to_all(self, progress: Progress, long: bool, compiling: bool) -> None:
        if self._call is not None:
            self._call(progress)
        if self._bar is not None and (long or compiling):  # the first kernel may take longer than patience lasts
            self._bar.draw(progress)
        if self._logs and long and progress.elapsed - self._said >= _SENTENCES:
            self._said = progress.elapsed
            log.info("%s", progress.sentence())

    def progress(self) -> Progress:
        """How far it has come, with what is done within it."""
        now, stack = perf_counter(), [*self._stack]
        counting = next((t for t in reversed(stack) if t._name == self._name), self)
        done, total, left = counting._done, counting._total, None
        made = done - counting._first
        if total and made > 0:
            left = (now - counting._began) * max(total - done, 0) / made
        stage = [t._words() for t in stack if t._name != self._name]
        if counting._note:
            stage.insert(0, counting._note[0] % counting._note[1])
        task = f"{self._owner}: {self._name}"
        return Progress(task, done, total, counting._unit, now - self._began, left, ", ".join(stage))

    def _words(self) -> str:
        return counted(self._name, self._done, self._total, self._unit)


class Compiling(Task):
    """A kernel being compiled for a ``subject``; its outermost task says how long all took, with ``where`` they are kept."""

    __slots__ = ("_subject", "_uninterrupted", "_where")

    def __init__(self, subject: str, where: str):
        super().__init__("mse", f"compiling {subject}, once")
        self._subject, self._where = subject, where
        self._uninterrupted = Uninterrupted()

    def __enter__(self) -> Compiling:
        super().__enter__()
        self._uninterrupted.__enter__()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._outer._compiled += perf_counter() - self._began
        self._outer._subjects[self._subject] = self._where
        try:
            super().__exit__(_, error, __)
        finally:
            self._uninterrupted.__exit__()


def shown_as(name: str) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Decorator: every call is a task of that name, for the system or model that is the first argument.

    ``progress=`` of the call says where it is shown; the decorated function knows nothing of it.
    """

    def decorate(function: Callable[..., _Result]) -> Callable[..., _Result]:
        @functools.wraps(function)
        def shown(owner, *arguments, progress: Show = True, **options):
            with Task(owner.name, name, show=progress) as task:
                return task.finished(function(owner, *arguments, **options))

        return shown

    return decorate


def _checked(to: Any, what: str, owner: str = "") -> Any:
    if isinstance(to, bool) or callable(to):
        return to
    raise ModelError(
        f"{owner and f'{owner}: '}{what} got {to!r}; expected True, False or a function of one mse.Progress"
    )
