"""Inputs over time as users give them, functions or samples, turned into the numbers that steps take."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..reals import real_array
from .stepping import NODES

Input = Callable | ArrayLike

_PIECE = 1 << 18  # samples of a given array that are looked at together


class Inputs:
    """All inputs of a run of ``steps`` steps of ``dt`` s; ``names`` and how each is held, ``holds``."""

    def __init__(self, model: str, inputs: Mapping[str, Input] | None, hold: str | None, steps: int, dt: float):
        if not isinstance(inputs or {}, Mapping):
            raise ModelError(f"{model}: inputs are {inputs!r:.60}; expected functions or samples by input name")
        if hold not in (None, *NODES):
            raise ModelError(f"{model}: hold is {hold!r}; expected 'zero', 'first' or 'smooth'")
        self._model, self._steps, self._dt = model, steps, dt
        self._given = dict(inputs or {})
        self.names = tuple(self._given)
        self.holds = tuple(self._hold_of(name, hold) for name in self.names)
        for name, value in self._given.items():
            if not callable(value):
                self._given[name] = self._samples(name, value)

    def _hold_of(self, name: str, hold: str | None) -> str:
        if callable(self._given[name]):
            return hold or "smooth"
        if hold == "smooth":
            raise ModelError(
                f"{self._model}: input {name!r} is an array, which has no values between samples; use hold='first'"
            )
        return hold or "first"

    def _samples(self, name: str, value: ArrayLike) -> np.ndarray:
        """The array itself if it is one of floats: it may be larger than the memory and lie in a file."""
        if not (isinstance(value, np.ndarray) and value.dtype == float):
            try:
                value = real_array(value)
            except TypeError:
                raise ModelError(
                    f"{self._model}: input {name!r} is {value!r:.60}; expected a function or real samples"
                ) from None
        if value.shape != (self._steps + 1,):
            raise ModelError(
                f"{self._model}: input {name!r} has shape {value.shape}; expected {(self._steps + 1,)}, one value for each "
                f"of the times 0, {self._dt:g}, ..., {self._dt * self._steps:g} s"
            )
        return value

    def between(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs at the samples first ... last, (n + 1, i), and what the n steps between them take, (n, w)."""
        time = self._dt * np.arange(first, last + 1)
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
                bad = time[np.argmin(np.isfinite(values))]
                raise ModelError(f"{self._model}: input {name!r} is not finite at t = {bad:g} s")
            driven[:, k] = values
        if inner:
            return driven, np.hstack([driven[:-1], *inner])
        return driven, driven[:-1]

    def _called(self, name: str, function: Callable, times: np.ndarray) -> np.ndarray:
        try:
            values = np.asarray(function(times), dtype=float)
            values = np.broadcast_to(values, times.shape) if values.ndim == 0 else values
        except (TypeError, ValueError):  # it only takes one time at once
            values = np.array([float(function(t)) for t in times])
        if values.shape != times.shape or not np.all(np.isfinite(values)):
            raise ModelError(
                f"{self._model}: input {name!r} as a function of time must return one finite number for each time"
            )
        return values

    @property
    def row(self) -> float:
        """Bytes a step of the inputs of a run kept in memory, with what making them takes."""
        smooth = sum(1 for h in self.holds if h == "smooth")
        return 8.0 * (len(self.names) + ((len(self.names) + 3 * smooth + 8) if smooth else 0))

    def described(self) -> dict[str, str]:
        """What each input is: a function, or samples with their fingerprint."""
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
