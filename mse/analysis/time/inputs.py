"""Inputs over time as users give them (functions or samples), converted to the numbers that steps use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError
from ...numerics.reals import real_array
from ...validation import arguments

Input = Callable[[Any], ArrayLike] | ArrayLike

# Gauss-Lobatto points: a function is interpolated through them in each step; the error at its end is of order eight.
NODES = {
    "zoh": np.array([0.0]),
    "foh": np.array([0.0, 1.0]),
    "smooth": 0.5 * (1.0 + np.array([-1.0, -np.sqrt(3 / 7), 0.0, np.sqrt(3 / 7), 1.0])),
}

_USAGE = "a function of t in s that returns one finite real number for each time"
_PIECE = 1 << 18  # samples of a given array checked at once


def checked_times(name: str, duration: float, dt: float) -> tuple[int, float]:
    """Number of steps and dt (s); ModelError for times that are not positive or not a whole number of steps."""
    dt = arguments.number(name, "dt", dt, unit="s", above=0.0)
    duration = arguments.number(name, "duration", duration, unit="s", above=0.0)
    steps = round(min(duration / dt, 1e300))
    if steps < 1 or abs(steps * dt - duration) > 1e-6 * dt:
        n = max(steps, 1)
        raise ModelError(
            f"{name}: duration {duration:g} s is not a whole number of steps of {dt:g} s; expected duration = n dt; take "
            f"dt={duration / n:.9g} or duration={n * dt:.9g}"
        )
    return steps, dt


class Inputs:
    """All inputs of a run of ``steps`` steps of ``dt`` s from time ``start dt``; ``names`` and their holds."""

    def __init__(
        self, model: str, inputs: Mapping[str, Input] | None, hold: str | None, steps: int, dt: float, start: int = 0
    ):
        self._given = arguments.mapping(model, "inputs", inputs, "functions or samples by input name")
        if hold is not None:
            arguments.choice(model, "hold", hold, tuple(NODES))
        self._model, self._steps, self._dt, self._start = model, steps, dt, start
        self.names = tuple(self._given)
        self.holds = tuple(self._hold_of(name, hold) for name in self.names)
        for name, value in self._given.items():
            if isinstance(value, type):
                raise arguments.refusal(model, f"input {name!r}", value, "a function of time or real samples")
            if not callable(value):
                self._given[name] = self._samples(name, value)

    def _hold_of(self, name: str, hold: str | None) -> str:
        if callable(self._given[name]):
            return hold or "smooth"
        if hold == "smooth":
            raise ModelError(
                f"{self._model}: input {name!r} is an array, which has no values between samples; use hold='foh'"
            )
        return hold or "foh"

    def _samples(self, name: str, value: ArrayLike) -> np.ndarray:
        """The array itself if it has floats: it may be a file larger than memory."""
        if not (isinstance(value, np.ndarray) and value.dtype == float) or isinstance(value, np.ma.MaskedArray):
            try:
                value = real_array(value)
            except TypeError:
                raise arguments.refusal(
                    self._model, f"input {name!r}", value, "a function of time or real samples"
                ) from None
        if value.shape != (self._steps + 1,):
            first, last = self._dt * self._start, self._dt * (self._start + self._steps)
            raise ModelError(
                f"{self._model}: input {name!r} has shape {value.shape}; expected {(self._steps + 1,)}, one value for each "
                f"of the times {first:g}, {first + self._dt:g}, ..., {last:g} s"
            )
        return value

    def between(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs at the samples first ... last, (n + 1, i), and the numbers that the n steps between them use, (n, w)."""
        time = self._dt * np.arange(self._start + first, self._start + last + 1)
        driven = np.empty((last - first + 1, len(self.names)))
        inner = []
        for k, (name, how) in enumerate(zip(self.names, self.holds, strict=True)):
            value = self._given[name]
            if not callable(value):
                values = value[first : last + 1]
            elif how != "smooth":
                values = self._called(name, value, time)
            else:
                nodes = NODES["smooth"][:-1]
                flat = np.append((time[:-1, None] + self._dt * nodes).ravel(), time[-1])
                flat = self._called(name, value, flat)
                values = flat[:: len(nodes)]
                inner.append(flat[:-1].reshape(-1, len(nodes))[:, 1:])
            if not np.isfinite(values).all():
                bad = int(np.argmin(np.isfinite(values)))
                what = f"input {name!r} at t = {time[bad]:g} s"
                raise arguments.refusal(self._model, what, float(values[bad]), "a finite real number")
            driven[:, k] = values
        if inner:
            return driven, np.hstack([driven[:-1], *inner])
        return driven, driven[:-1]

    def _called(self, name: str, function: Callable, times: np.ndarray) -> np.ndarray:
        """Values at all times (n,); ModelError with input and time if the function fails or gives no number."""
        who, what = self._model, f"input {name!r}"
        try:
            values = real_array(arguments.called(who, what, _USAGE, function, times))
        except (ModelError, TypeError) as error:
            # it takes only one time at once, or returns no real number; single calls show at which time
            if isinstance(error, ModelError) and not isinstance(error.__cause__, TypeError | ValueError):
                raise
            values = self._one_by_one(who, what, function, times)
        values = np.broadcast_to(values, times.shape) if values.ndim == 0 else values
        if values.shape != times.shape:
            raise ModelError(
                f"{who}: {what} as a function of time gives shape {values.shape} for times of shape {times.shape}; expected "
                "one finite real number for each time"
            )
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            t, value = times[bad[0]], float(values[bad[0]])
            raise arguments.refusal(who, f"{what} at t = {t:g} s", value, "a finite real number")
        return values

    @staticmethod
    def _one_by_one(who: str, what: str, function: Callable, times: np.ndarray) -> np.ndarray:
        found = []
        try:
            arguments.called(who, what, _USAGE, lambda: found.extend(function(t) for t in times))
            return real_array(found)
        except (ModelError, TypeError):
            for t in times:  # again one by one, to find the time
                at = f"{what} at t = {t:g} s"
                value = arguments.called(who, at, _USAGE, function, t)
                try:
                    real_array(value)
                except TypeError:
                    raise arguments.refusal(who, at, value, "a finite real number") from None
            raise

    @property
    def row(self) -> float:
        """Bytes per step of inputs kept in memory, and of making them."""
        smooth = sum(1 for h in self.holds if h == "smooth")
        return 8.0 * (len(self.names) + ((len(self.names) + 3 * smooth + 8) if smooth else 0))

    def described(self) -> dict[str, str]:
        """Kind of each input: a function, or samples with their fingerprint."""
        out = {}
        for name, how in zip(self.names, self.holds, strict=True):
            value = self._given[name]
            what = "function"
            if not callable(value):
                sha = hashlib.sha256()
                for k in range(0, len(value), _PIECE):
                    sha.update(np.ascontiguousarray(value[k : k + _PIECE]).tobytes())
                what = f"samples {sha.hexdigest()}"
            out[name] = f"{what}, hold {how}"
        return out
