"""Errors and warnings of mse: every message names the object, the value, the expectation and the remedy."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping


class MseError(Exception):
    """Base of everything mse raises on purpose."""


class ModelError(MseError, ValueError):
    """A model, a parameter or an argument is invalid."""


class UnknownNameError(MseError, KeyError):
    """An unknown name; the message offers the nearest one."""

    # KeyError would show the message as a quoted literal.
    __str__ = Exception.__str__


class WorkingPointError(MseError, RuntimeError):
    """No static working point was reached.

    ``working_point`` is the last state of the search (its ``converged`` is False), or None when the
    search could not start.
    """

    def __init__(self, message: str, working_point=None):
        super().__init__(message)
        self.working_point = working_point


class MotionError(MseError, RuntimeError):
    """A large motion cannot go on; ``motion`` is the motion until then, None where it could not begin."""

    def __init__(self, message: str, motion=None):
        super().__init__(message)
        self.motion = motion


class SingularResponseError(MseError, ArithmeticError):
    """The response is infinite at a requested frequency: an undamped resonance or a zero-stiffness motion.

    Attributes
    ----------
    frequency_hz : float or None, Hz
        The first of these frequencies, where a response was asked for.
    """

    def __init__(self, message: str, frequency_hz: float | None = None):
        super().__init__(message)
        self.frequency_hz = frequency_hz


class ImproperModelError(MseError, ValueError):
    """An output would need a time derivative of an input, which no state space form has."""


class OutOfMemoryError(MseError, MemoryError):
    """The memory that a process may have was used up; what was computed until then is lost, all that was there before is not."""


class ControllerError(ModelError):
    """A compiled controller raised, or set an input that is not finite; ``history`` is the run until then."""

    def __init__(self, message: str, history=None):
        super().__init__(message)
        self.history = history


class FileError(ModelError, OSError):
    """A file cannot be read or written, or its content is invalid; the message names the file and the place in it."""


class MissingPackageError(MseError, ImportError):
    """A tool needs a package that is not installed; the message says how to get it."""


class RecordingError(FileError):
    """A file of a recorded run cannot be written or read, is being written, or belongs to another run."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an analysis that had come some way; ``result`` is what was done until then, of the type it would have had.

    Where nothing caught it, as in a notebook, ``sys.last_value.result`` is that.
    """

    def __init__(self, message: str, result=None):
        super().__init__(message)
        self.result = result


class ModelWarning(UserWarning):
    """A model is accepted, but has a property that no real one has; the message names it and how to silence the warning."""


def stack_level() -> int:
    """Of the line outside mse that led to the function that calls this, for a warning by that function."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "mse":
        frame, level = frame.f_back, level + 1
    return level


def warn(message: str) -> None:
    """Warn of a model, as from the line outside mse that led here."""
    silence = "warnings.filterwarnings('ignore', category=mse.ModelWarning) silences this"
    warnings.warn(f"{message}; {silence}", ModelWarning, stacklevel=stack_level())


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the closest of ``names``, or the list of them if none is close.

    Of an object whose name alone is given, such as "mirror", it is the first: "mirror.center".
    Upper and lower case count as the same; of those equally close the one of the same object and axis, then the first.
    """
    folded: dict[str, str] = {}
    for known in names if isinstance(names, list | tuple | Mapping) else sorted(map(str, names)):
        folded.setdefault(str(known).casefold(), str(known))
    wanted = str(name).casefold()
    if wanted in folded:
        return f" (did you mean {folded[wanted]!r}?)"
    own = [known for known in folded if wanted and known.startswith(wanted) and not known[len(wanted)].isalnum()]
    if own:
        return f" (did you mean {folded[own[0]]!r}?)"
    close = difflib.get_close_matches(wanted, folded, n=12)
    if close:
        place = {known: k for k, known in enumerate(folded)}
        object_, _, axis = wanted.rpartition(".")

        def fit(known: str) -> tuple:
            likeness = round(difflib.SequenceMatcher(None, known, wanted).ratio(), 6)
            head, _, tail = known.rpartition(".")
            return likeness, head == object_, tail[-1:] == axis[-1:], -place[known]

        return f" (did you mean {folded[max(close, key=fit)]!r}?)"
    if not folded:
        return " (there are none)"
    shown = sorted(folded.values())
    return f" (known: {', '.join(shown[:12])}{', ...' if len(shown) > 12 else ''})"
