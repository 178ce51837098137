"""TabulatedLink: a link whose complex stiffness was measured or computed at some frequencies."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FileError, ModelError
from ..numerics.law_functions import rotation_vector
from ..numerics.reals import real_array
from ..validation.arguments import LARGEST
from ..validation.file_access import read_columns
from ..validation.matrices import negative
from .base import MObject
from .bushing import relative_motion
from .losses import temperature
from .parameters import Parameter, Real
from .records import DISPLACEMENT

_WIDTHS = {3: "z", 13: "x y z ax ay az", 73: "a 6 x 6 matrix"}  # columns: frequency, and real and imaginary parts
# Of the largest entry at a frequency: what measured matrices differ by from their transposes is evened out below it.  From 1e-9
# to 1e-3 tests/elements/test_tabulated_link.py passes.
_UNSYMMETRIC = 1e-6


class Stiffnesses(Parameter[np.ndarray, ArrayLike | tuple[ArrayLike, ArrayLike]]):
    """Complex stiffness at frequencies: columns of f (Hz), then Re k, Im k for z, for each of six axes, or of a 6 x 6 matrix.

    A pair of frequencies (f,) and stiffness, complex (f,), (f, 6) or (f, 6, 6), becomes such columns.
    """

    kind = "table"

    def expectation(self) -> str:
        return (
            "(f, k) with ascending frequencies (f,) and complex stiffness (f,) along z, (f, 6) by axis or (f, 6, 6), or their "
            "columns f, Re k, Im k"
        )

    def checked(self, obj, value) -> np.ndarray:
        table = self._columns(obj, value)
        if table.ndim != 2 or len(table) < 2 or table.shape[1] not in _WIDTHS or not np.all(np.abs(table) <= LARGEST):
            raise self.refuse(obj, value)
        f = table[:, 0]
        if f[0] < 0.0 or np.any(np.diff(f) <= 0.0):
            at = int(np.argmax(np.diff(f, prepend=-1.0) <= 0.0)) if f[0] >= 0.0 else 0
            raise ModelError(
                f"{obj.label}: {self.name} has {f[at]:.6g} Hz in row {at}; expected ascending frequencies from 0 on"
            )
        for row, k in zip(table, stiffness_matrices(table), strict=True):
            self._check_row(obj, row[0], k)
        table.flags.writeable = False
        return table

    def _columns(self, obj, value) -> np.ndarray:
        try:
            if isinstance(value, tuple) and len(value) == 2:
                f, k = real_array(value[0]), np.asarray(value[1])
                if f.ndim != 1 or k.dtype.kind not in "iufc" or k.shape not in ((len(f),), (len(f), 6), (len(f), 6, 6)):
                    raise TypeError
                k = k.reshape(len(f), -1)
                return np.column_stack([f, np.stack([k.real, k.imag], axis=2).reshape(len(f), -1)])
            return np.array(real_array(value))
        except TypeError:
            raise self.refuse(obj, value) from None

    def _check_row(self, obj, f: float, k: np.ndarray) -> None:
        where = f"{obj.label}: {self.name} at {f:.6g} Hz"
        off = np.abs(k - k.T).max()
        if off > _UNSYMMETRIC * np.abs(k).max():
            raise ModelError(
                f"{where} is unsymmetric by {off:.3g}; expected a symmetric matrix, complex, not hermitian"
            )
        if found := negative(0.5 * (k.imag + k.imag.T)):
            axis = int(np.argmin(k.imag.diagonal()))
            if k.imag[axis, axis] < 0.0:
                found = f"is {k.imag[axis, axis]:.6g} along {DISPLACEMENT[axis].name}"
            raise ModelError(
                f"{where} has an imaginary part that {found}; expected none below zero, or it would feed energy into motions "
                "exp(i w t); change its sign if it was measured for exp(-i w t)"
            )


def stiffness_matrices(table: np.ndarray) -> np.ndarray:
    """Complex matrices (f, 6, 6) of a table of columns."""
    k = table[:, 1::2] + 1j * table[:, 2::2]
    if k.shape[1] == 36:
        return k.reshape(-1, 6, 6)
    out = np.zeros((len(k), 6, 6), dtype=complex)
    on = np.arange(6) if k.shape[1] == 6 else [2]
    out[:, on, on] = k
    return out


class TabulatedLink(MObject):
    """A link whose stiffness was tabulated: the force ``-k(f) s`` on frame 0 for motions s as seen from frame 1.

    ``s = (U1^T (o0 - o1), log(U1^T U0))`` as of a :class:`Bushing`; ``table`` has k along z of frame 1, along each of x y z ax ay
    az, or as a 6 x 6 matrix.  Heat links, cables and mounts are given so.  Im k > 0 dissipates for motions ``exp(+i w t)`` and
    has thermal noise at ``temperature``.

    In statics the link is a spring of Re k at the lowest frequency, unloaded where its frames coincide; there is no other static
    force.  Between the samples k is interpolated by monotone cubics (F. N. Fritsch, R. E. Carlson, SIAM J. Numer. Anal. 17 (1980)
    238) in ``arsinh(f/f1)``, f1 the first frequency above 0: smooth in the logarithm of the frequency, and never below the
    samples, so that Im k of one axis stays positive.  Valid within the table: responses, noise and lossy modes at other
    frequencies than 0 are refused; undamped modes below it have Re k at its lowest frequency.  Real frequencies alone are known,
    so ``modes(lossy=True)`` goes on beside them by the slope and says how much of a Q that leaves open.  State spaces and time
    runs need constant matrices.

    Examples
    --------
    >>> system = mse.MSystem("cold mass", gravity=(0, 0, 0))
    >>> mass = system.add(mse.RigidBody("mass", mass=20.0, inertia=1.0))
    >>> f = np.geomspace(0.1, 100.0, 61)
    >>> link = mse.TabulatedLink("link", table=(f, 100.0 * (1 + 0.01j * f / 5.0 / (1 + 1j * f / 5.0))))
    >>> link = system.add(link, between=(mass, system.ground))
    >>> mode = system.find_working_point().linearize().modes(lossy=True)[-1]
    >>> f"{mode.frequency_hz:.4f} Hz, Q {mode.quality:.0f}"
    '0.3559 Hz, Q 1412'
    """

    table: Stiffnesses = Stiffnesses("stiffness by frequency", unit="Hz, N/m, N, N m")
    temperature: Real = temperature()

    mechanisms = ()  # its loss is in the table
    _remembered = frozenset({"_fitted"})
    _fitted = None  # the table that was interpolated, and its interpolation

    @classmethod
    def read(cls, name: str, path: str | PathLike[str], **options: Any) -> Self:
        """A link by a text file of columns f (Hz), Re k, Im k for the axis z, each of six axes, or the rows of a 6 x 6 matrix.

        Parameters
        ----------
        name : str
            Name of the link.
        path : path
            The file: 3, 13 or 73 columns separated by blanks or commas; lines that begin with "#" or "%" are comments.
        **options : Any
            Other parameters, such as ``temperature``.

        Returns
        -------
        TabulatedLink
            The link; saved models have its numbers, not the file.

        Raises
        ------
        FileError
            The file cannot be read, or is no such table.
        """
        table = read_columns(path, "expected columns of frequency (Hz), Re k and Im k")
        try:
            return cls(name, table=table, **options)
        except ModelError as error:
            raise FileError(f"{path}: {error}") from None

    @property
    def dynamic_from_hz(self) -> float:
        return float(self.table[0, 0])

    @property
    def dynamic_up_to_hz(self) -> float:
        return float(self.table[-1, 0])

    def energy(self, frames, q):
        seat = frames[1].U.T
        s = np.concatenate([seat @ (frames[0].o - frames[1].o), rotation_vector(seat @ frames[0].U)])
        k = self.table[0, 1::2]  # Re k at the lowest frequency
        if len(k) == 36:
            return 0.5 * sum(s[i] * (k[6 * i : 6 * i + 6] @ s) for i in range(6))
        return 0.5 * (k @ s**2 if len(k) == 6 else k[0] * s[2] ** 2)

    def dynamic_stiffness(self, omega, frames):
        if np.iscomplexobj(omega):
            raise TypeError("a table knows real frequencies alone")
        f = np.ravel(omega) / (2.0 * np.pi)
        k = stiffness_matrices(np.column_stack([f, self._interpolated(f)]))
        k = k - stiffness_matrices(self.table[:1]).real
        k[f == 0.0] = 0.0
        slope = relative_motion(frames)
        return (slope.T @ (0.5 * (k + k.transpose(0, 2, 1))) @ slope).reshape((*np.shape(omega)[:-2], 12, 12))

    def _interpolated(self, f: np.ndarray) -> np.ndarray:
        """The columns of the table at frequencies (f,), with the values at its ends beyond."""
        table = self.table
        if self._fitted is None or self._fitted[0] is not table:
            from scipy.interpolate import PchipInterpolator  # importing mse should not wait for it

            first = table[table[:, 0] > 0.0][0, 0]
            fit = PchipInterpolator(np.arcsinh(table[:, 0] / first), table[:, 1:])
            self._fitted = table, lambda x: fit(np.arcsinh(np.clip(x, table[0, 0], table[-1, 0]) / first))
        return self._fitted[1](f)
