"""Tasks that may take long, and the thread that shows the first of them."""

from __future__ import annotations

import atexit
import contextvars
import functools
import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import perf_counter
from typing import Any, TypeVar

from ..errors import Interrupted, ModelError, MseError, OutOfMemoryError
from .interrupts import Uninterrupted
from .places import Display, is_worker, place
from .record import Progress, counted, ended

Show = bool | Callable[[Progress], Any]  # what show_progress() takes, and every parameter named progress
_Result = TypeVar("_Result")

log = logging.getLogger("mse")

_PATIENCE = 0.6  # s before a line appears: with what follows it is there within a second
_PERIOD = 0.2  # s between two pictures of it
_CALLS = 0.1  # s between two calls of a callback
_SENTENCES = 60.0  # s between two sentences on the same task
_LINGERS = 2.0  # s that the thread waits for another task
_QUIET = 1.0  # s without compiling after which that is over
# names of tasks that several functions share
SEARCHING, SOLVING = "searching for the working point", "solving for the frequency response"
SIMULATING, FINDING_MODES, BUILDING = "simulating", "finding modes", "building the state space"
_OFF = ("0", "no", "off", "false")  # values of MSE_PROGRESS and other variables


def show_progress(to: Show = True) -> AbstractContextManager[None]:
    """Choose where progress is shown: from now on, or within a block of ``with``.

    The environment variable ``MSE_PROGRESS=0`` is ``show_progress(False)`` from the beginning.

    Parameters
    ----------
    to : bool or callable
        True for a line on a terminal or in a notebook, False for none.  A callable gets a :class:`Progress` instead, in the
        thread that computes: when a task begins and ends, and in between at most ten times a second.  What it raises ends the
        task, and KeyboardInterrupt as Ctrl-C does.

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
    before, _board.to = _board.to, _checked(to, "show_progress()")
    return _Restored(before)


def by_environment(variable: str = "MSE_PROGRESS") -> bool:
    """Whether the environment lets progress be shown, or what else a variable turns off."""
    return os.environ.get(variable, "").strip().lower() not in _OFF


class _Restored:
    """Sets back where progress is shown."""

    def __init__(self, before: Show):
        self._before = before

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None:
        _board.to = self._before


class Task:
    """Something that may take long, while it is done: ``with Task("stage", "tracing", unit="points") as task: task.tell(1)``.

    ``owner`` is the name of the system or model; ``first`` of ``total`` were done before, ``show`` is what :func:`show_progress`
    takes, True for what that has set.  One within another of the same name counts for that.  It belongs to the thread that enters
    it.  A MemoryError leaves the outermost one as :class:`.OutOfMemoryError`.
    """

    __slots__ = (
        "_began", "_call", "_called", "_context", "_done", "_first", "_name", "_note", "_outer", "_owner", "_pending",
        "_result", "_said", "_show", "_stack", "_total", "_unit", "display",
    )  # fmt: skip

    def __init__(
        self, owner: str, name: str, total: int | None = None, unit: str = "", *, first: int = 0,
        show: Show = True,
    ):  # fmt: skip
        self._owner, self._name, self._total, self._unit = owner, name, total, unit
        self._first = self._done = first
        self._note: tuple = ()
        self._show = show if show is True else _checked(show, "progress", owner)
        self.display: Display | None = None
        self._call: Callable[[Progress], Any] | None = None
        self._pending: BaseException | None = None
        self._result: Any = None
        self._called = self._said = -1.0

    def __enter__(self) -> Task:
        self._stack = stack = _here.stack
        self._outer = stack[0] if stack else self
        stack.append(self)
        try:
            self._began = perf_counter()
            if self._outer is self:
                _board.opened(self)
            elif self._outer._call is not None:
                self._outer._report(isinstance(self, Compiling))
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if self._outer is self:
                _board.closed(self, error)
            elif self._outer._name == self._name:
                outer = self._outer
                outer._done, outer._total, outer._unit, outer._note = self._done, self._total, self._unit, self._note
        finally:
            self._leave()
        if self._outer is self and isinstance(error, MemoryError) and not isinstance(error, MseError):
            raise self._out_of_memory(error) from error

    def _out_of_memory(self, error: MemoryError) -> OutOfMemoryError:
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
        call = self._outer._call
        if call is not None:
            self._outer._report(False)

    def finished(self, result: _Result) -> _Result:
        """The result, for ``return task.finished(result)``: who interrupts the last report still gets it."""
        self._result = result
        return result

    def _report(self, at_once: bool) -> None:
        """Call back, unless that was done a moment ago."""
        compiling = isinstance(self._stack[-1], Compiling)  # numba must not be left in the middle of its work
        if self._pending is not None and not compiling:
            error, self._pending = self._pending, None
            raise error
        now = perf_counter()
        if not at_once and now - self._called < _CALLS:
            return
        self._called = now
        try:
            self._call(self.progress())
        except BaseException as error:
            if not compiling:
                raise
            self._pending = error

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
    """A kernel being compiled for a ``subject``; the time of all is said once they are done, with ``where`` they are kept."""

    __slots__ = ("_subject", "_uninterrupted", "_where")

    def __init__(self, subject: str, where: str):
        super().__init__("mse", f"compiling {subject}, once")
        self._subject, self._where = subject, where
        self._uninterrupted = Uninterrupted()

    def __enter__(self) -> Compiling:
        super().__enter__()
        if self._outer is self:
            self._began -= _board.compiled  # those just before count, or many short ones would stay silent
        self._uninterrupted.__enter__()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        _board.add_compiling(self, perf_counter() - self._began)
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


class _Board:
    """The outermost tasks of all threads, the first of which is shown, and the thread that shows it."""

    def __init__(self):
        self.to: Show = by_environment()
        self._reset()
        if hasattr(os, "register_at_fork"):
            # Python warns of a fork while threads run: in the child nobody would release their locks
            os.register_at_fork(before=self._stop, after_in_child=self._reset)
        atexit.register(self._finish)

    def _reset(self) -> None:
        self._lock, self._ending = threading.RLock(), threading.Event()
        self._open: list[Task] = []
        self._thread: threading.Thread | None = None
        self.compiled, self._subjects, self._where = 0.0, {}, ""
        self._last: tuple[Display | None, contextvars.Context] | None = None  # where compiling was shown

    # -- tasks --------------------------------------------------------------------------------------------------
    def opened(self, task: Task) -> None:
        """Begin to show a task that is in no other."""
        to = self.to if task._show is True else task._show
        if callable(to):
            task._call = to
            task._report(True)
        elif to:
            task.display = place()
        if task.display is not None or log.isEnabledFor(logging.INFO):
            task._context = contextvars.copy_context()  # by which a notebook knows the cell
            self._open.append(task)
            if self._thread is None:
                self._start()

    def closed(self, task: Task, error: BaseException | None) -> None:
        """Show such a task no longer."""
        interrupted = isinstance(error, KeyboardInterrupt)
        if interrupted and not error.args:
            error.add_note(f"mse: {ended(task.progress(), 'was interrupted after')}")
        if task in self._open:
            with self._lock:
                self._open.remove(task)
                compiling, told = isinstance(task, Compiling), task._said >= 0.0
                if not compiling:
                    self._say_compiled()
                if task.display is not None and told:
                    task._context.run(task.display.end, task.progress(), interrupted)
            if told and not compiling:
                how = "took" if error is None else "was interrupted after" if interrupted else "failed after"
                _log(ended(task.progress(), how))
        if task._call is not None and error is None:
            try:
                task._report(True)
            except KeyboardInterrupt:
                if task._result is None:
                    raise
                how = ended(task.progress(), "was interrupted at its end, after")
                raise Interrupted(f"{how}; this error has its whole result", task._result) from None

    # -- compiling ----------------------------------------------------------------------------------------------
    def add_compiling(self, task: Compiling, seconds: float) -> None:
        """Remember how long a kernel took."""
        with self._lock:
            if task._outer in self._open:
                self.compiled = seconds if task._outer is task else self.compiled + seconds
                self._subjects[task._subject], self._where = None, task._where
                self._last = task._outer.display, task._outer._context

    def _say_compiled(self) -> None:
        """Say how long all of them took, if that was long."""
        if self._last is None:
            return
        if self.compiled >= _PATIENCE:
            line = f"compiled for this machine, once, in {self.compiled:.1f} s: {', '.join(self._subjects)} ({self._where})"
            display, context = self._last
            if display is not None:
                context.run(display.keep, f"mse: {line}")
            _log(line)
        self.compiled, self._last = 0.0, None
        self._subjects.clear()

    # -- the thread ---------------------------------------------------------------------------------------------
    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mse progress", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        last = perf_counter()
        while not self._ending.wait(_PERIOD):
            with self._lock:
                now = perf_counter()
                if self._open:
                    last, task = now, self._open[0]
                    if now - task._began >= _PATIENCE:
                        self._tell(task, now)
                elif now - last >= _QUIET and self._last is not None:
                    self._say_compiled()
                elif now - last >= _LINGERS:
                    self._thread = None
                    if not self._open:  # whoever opens one first puts it there, then looks for the thread
                        return
                    self._thread = threading.current_thread()

    def _tell(self, task: Task, now: float) -> None:
        progress, first = task.progress(), task._said < 0.0
        if first or now - task._said >= _SENTENCES:
            if task.display is not None:
                task.display.clear()
            _log(progress.sentence())
            task._said = now
        if task.display is not None:
            task._context.run(task.display.draw, progress)

    def _stop(self) -> None:
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._ending.set()
            thread.join()
            self._thread = None
            self._ending.clear()

    def _finish(self) -> None:
        self._stop()
        self._say_compiled()


def _log(line: str) -> None:
    if not is_worker():
        log.info("%s", line)


def _checked(to: Any, what: str, owner: str = "") -> Any:
    if isinstance(to, bool) or callable(to):
        return to
    raise ModelError(
        f"{owner and f'{owner}: '}{what} got {to!r}; expected True, False or a function of one mse.Progress"
    )


class _Here(threading.local):
    """The tasks that this thread is in, the outermost first."""

    def __init__(self):
        self.stack: list[Task] = []


_here = _Here()
_board = _Board()
