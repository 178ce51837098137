"""Amplitude spectral densities of inputs: numbers, functions, samples and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import FileError, ModelError
from ...numerics.read_only import ReadOnly
from ...validation.arguments import called, frequencies, numbers, real, refusal, samples
from ...validation.file_access import read_columns

_OUTSIDE = ("refuse", "hold", "zero")
_UNIT = "per sqrt(Hz)"


@dataclass(frozen=True, eq=False)
class Spectrum(ReadOnly):
    """An amplitude spectral density by samples, linear in the logarithms between them.

    Parameters
    ----------
    frequencies_hz : array_like, (s,), Hz
        Frequencies of the samples, ascending and above zero.
    density : array_like, (s,), unit/sqrt(Hz)
        One-sided amplitude spectral density there, not negative.
    outside : {"refuse", "hold", "zero"}
        Beyond the first and the last sample: an error, the value there, or zero.
    unit : str, optional
        Unit of what it is the density of, such as "m" or "N": inputs with another one are refused.

    Raises
    ------
    ModelError
        Lengths differ, frequencies do not ascend, or numbers are negative or not finite.

    Examples
    --------
    >>> ground = mse.Spectrum([0.1, 10.0], [1e-7, 1e-11])
    >>> float(f"{ground.at(np.array([1.0]))[0]:.3g}")
    1e-09
    """

    frequencies_hz: np.ndarray
    density: np.ndarray
    outside: str = "refuse"
    unit: str | None = None

    def __post_init__(self):
        expected = "amplitudes (unit/sqrt(Hz)) of at least 0, not logarithms"
        f, values = samples(
            "Spectrum", self.frequencies_hz, "density", self.density, ("density", "densities"), expected
        )
        if self.outside not in _OUTSIDE:
            raise refusal("Spectrum", "outside", self.outside, f"one of {', '.join(map(repr, _OUTSIDE))}")
        if self.unit is not None and not (isinstance(self.unit, str) and self.unit.strip()):
            raise refusal("Spectrum", "unit", self.unit, "a unit such as 'm' or 'N', or None")
        object.__setattr__(self, "frequencies_hz", f)
        object.__setattr__(self, "density", values)
        super().__post_init__()

    @classmethod
    def read(cls, path: str | PathLike[str], *, outside: str = "refuse", unit: str | None = None) -> Spectrum:
        """A spectrum from a text file with two columns, frequency (Hz) and density, separated by blanks or commas.

        Parameters
        ----------
        path : path
            The file; lines that begin with "#" or "%" are comments.
        outside : {"refuse", "hold", "zero"}
            As above.
        unit : str, optional
            As above.

        Returns
        -------
        Spectrum
            Its samples.

        Raises
        ------
        FileError
            The file cannot be read, or its lines are not two numbers each.
        """
        expected = "expected frequency (Hz) and density"
        table = read_columns(path, expected)
        if table.ndim != 2 or table.shape[1] < 2:
            raise FileError(f"{path}: it does not have two columns of numbers; {expected} in each line")
        if table.shape[1] > 2:
            raise FileError(
                f"{path}: it has {table.shape[1]} columns; {expected} alone in each line; leave the others out, or give two of "
                "them: mse.Spectrum(frequencies_hz, density)"
            )
        try:
            return cls(table[:, 0], table[:, 1], outside, unit)
        except ModelError as error:
            raise FileError(f"{path}: {error}") from None

    @property
    def band_hz(self) -> tuple[float, float]:
        """The lowest and the highest frequency (Hz) at which it is known."""
        first, last = self.frequencies_hz[[0, -1]].tolist()
        return (first, last) if self.outside == "refuse" else (0.0, np.inf)

    def at(self, f: np.ndarray, who: str = "Spectrum") -> np.ndarray:
        """The density (f,) at frequencies (f,) in Hz.

        Parameters
        ----------
        f : ndarray, (f,), Hz
            Frequencies above zero.
        who : str
            Its name in messages.

        Returns
        -------
        ndarray, (f,), unit/sqrt(Hz)
            The density.

        Raises
        ------
        ModelError
            A frequency is not above zero, or outside the samples, and ``outside`` is "refuse".
        """
        f = frequencies(who, f)
        if not f.all():
            raise refusal(who, "a frequency", 0.0, "frequencies above zero", unit="Hz")
        first, last = self.frequencies_hz[[0, -1]]
        beyond = (f < first) | (f > last)
        if self.outside == "refuse" and beyond.any():
            raise ModelError(
                f"{who}: the density at {f[beyond][0]:.6g} Hz is not known; expected {first:.6g} to {last:.6g} Hz; "
                "ask for these, or give mse.Spectrum(..., outside='hold') or 'zero'"
            )
        floor = np.finfo(float).tiny  # for the logarithm of zero
        known = np.log(np.maximum(self.density, floor))
        out = np.exp(np.interp(np.log(f), np.log(self.frequencies_hz), known))
        return np.where(beyond & (self.outside == "zero") | (out <= 2.0 * floor), 0.0, out)


Given = (
    float
    | Spectrum
    | Callable[[np.ndarray], ArrayLike]
    | tuple[ArrayLike, ArrayLike]
    | np.ndarray
    | str
    | PathLike[str]
)


def spectrum(who: str, given: Any) -> Any:
    """What a user gives as a density, with samples and files as a :class:`Spectrum`."""
    if isinstance(given, str | PathLike):
        return Spectrum.read(given)
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == 2:
        given = given[:, 0], given[:, 1]
    if isinstance(given, tuple | list) and len(given) == 2:
        try:
            return Spectrum(*given)
        except ModelError as error:
            raise ModelError(f"{who}: {error}") from None
    return given


def density(who: str, given: Any, f: np.ndarray, unit: str) -> np.ndarray:
    """The amplitude spectral density (f,) of an input or output of this unit, from a number, function, samples or file."""
    given = spectrum(who, given)
    number = real(given, minimum=0.0)
    if number is not None:
        return np.full(len(f), number)
    if isinstance(given, Spectrum):
        if given.unit not in (None, unit):
            raise ModelError(
                f"{who}: its spectrum is in {given.unit}/sqrt(Hz); expected {unit}/sqrt(Hz), its unit in the model; convert the "
                "densities, or name another one"
            )
        return given.at(f, who)
    if callable(given):
        found = called(
            who,
            "its density",
            "density(frequencies_hz), all frequencies in one array; numpy.where chooses as if does",
            given,
            f,
        )
        found = numbers(who, "density", found, (), f.shape, unit=_UNIT)
        if found.min(initial=0.0) < 0.0:
            raise refusal(who, "density", float(found.min()), "densities of at least 0")
        return np.broadcast_to(found, f.shape)
    raise refusal(
        who, "density", given,
        "a number of at least 0, a function of frequencies, (frequencies, densities), an array of these as columns, a file or a "
        "Spectrum",
    )  # fmt: skip
