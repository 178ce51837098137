"""The error of a state space of the motions up to a frequency, and bounds on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...declared import array, entry, names, scalar
from ...display import ROUNDING, Column, Table, scales
from ...numerics.blas_threads import one_thread
from ...results import Result
from ...validation.arguments import frequencies, number

# of the highest frequency: where tables and pictures compare errors with the response
# (tests/tools/plots/test_plots.py::test_what_is_left_out_is_drawn_as_it_is)
SHARES = (0.1, 0.5, 1.0)
_GRID = 200  # frequencies at which the contribution of inseparable motions is measured


class LeftOut(Result):
    """The error of a state space with ``up_to_hz``: of each response, at a frequency or up to one.

    Attributes
    ----------
    name : str
        Name of the model.
    up_to_hz : float, Hz
        Motions up to this frequency were kept.
    inputs, outputs : tuple of str
        Names of the i inputs and o outputs.
    input_units, output_units : tuple of str
        Their units.
    pairs : ndarray, (k, 2), rad/s, rad2/s2
        Trace and determinant of each left-out motion of two states.
    linear, constant : ndarray, (k, o, i)
        L and Q of these: each misses ``s (s L + Q)/(s^2 - trace s + determinant)``.
    rates : ndarray, (r,), rad/s
        Eigenvalue of each left-out motion of one state.
    single : ndarray, (r, o, i)
        Q of these: each misses ``s Q/(s - rate)``.
    joined : tuple of ndarray, (d, d), (d, i), (o, d)
        N, B and C of motions that cannot be told apart, as their shapes are nearly the same.
    response : ndarray, (3, o, i)
        Size of the whole response at 0.1, 0.5 and 1 times ``up_to_hz``.

    Examples
    --------
    >>> chain = mse.LinearModel.from_matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 2.0]])
    >>> ss = chain.state_space(inputs=["x0"], outputs=["x1"], up_to_hz=0.2)
    >>> ss.states
    ('mode 0', "mode 0'")
    >>> np.round(ss.left_out.bound(0.1), 4)  # m/N, where the response is 0.6 m/N
    array([[0.0253]])
    """

    name: str
    up_to_hz: float = scalar(float)
    inputs: tuple[str, ...] = names("input")
    outputs: tuple[str, ...] = names("output")
    input_units: tuple[str, ...] = names("input", "")
    output_units: tuple[str, ...] = names("output", "")
    pairs: np.ndarray = array("pair 2", key="left_pairs")
    linear: np.ndarray = array("pair output input", key="left_linear")
    constant: np.ndarray = array("pair output input", key="left_constant")
    rates: np.ndarray = array("rate", key="left_rates")
    single: np.ndarray = array("rate output input", key="left_single")
    joined: tuple[np.ndarray, np.ndarray, np.ndarray] = entry(
        "arrays_of", "joined joined, joined input, output joined", key="left_N left_B left_C"
    )
    response: np.ndarray = array("3 output input", key="left_response", finite=False)

    @property
    def states(self) -> int:
        """Number of states left out."""
        return 2 * len(self.pairs) + len(self.rates) + len(self.joined[0])

    @property
    def derived(self) -> bool:
        """Whether :meth:`bound` follows from formulas alone; where motions cannot be told apart, it is in part measured."""
        return not len(self.joined[0])

    @one_thread
    def error(self, frequencies_hz: ArrayLike) -> np.ndarray:
        """The whole response less that of the state space, by what was left out.

        Parameters
        ----------
        frequencies_hz : array_like, (f,), Hz
            Frequencies.

        Returns
        -------
        ndarray of complex, (f, o, i)
            In the output's unit per the input's.

        Raises
        ------
        ModelError
            Frequencies are negative or not finite.
        """
        s = 2j * np.pi * np.atleast_1d(frequencies(self.name, frequencies_hz))[:, None]
        trace, determinant = self.pairs.T
        over = s / (s * s - s * trace + determinant)
        out = np.tensordot(over * s, self.linear, 1) + np.tensordot(over, self.constant, 1)
        out += np.tensordot(s / (s - self.rates), self.single, 1)
        return out + self._joined_error(s[:, 0])

    def _joined_error(self, s: np.ndarray) -> np.ndarray:
        n, b, c = self.joined
        if not len(n):
            return np.zeros((len(s), len(self.outputs), len(self.inputs)), dtype=complex)
        rest = np.linalg.solve(n, b)
        return np.array([c @ np.linalg.solve(x * np.eye(len(n)) - n, x * rest) for x in s])

    @one_thread
    def bound(self, frequency_hz: float | None = None) -> np.ndarray:
        """A bound on the error of each response at all frequencies from zero up to one.

        Parameters
        ----------
        frequency_hz : float, Hz, optional
            The highest frequency, at most ``up_to_hz``, the default.  The bound grows without limit as it comes near to the
            next mode.

        Returns
        -------
        ndarray, (o, i)
            Largest size of the error, in the output's unit per the input's: derived, but for the share of motions that cannot
            be told apart, which is the largest at 200 frequencies.  Rounding comes on top.

        Raises
        ------
        ModelError
            The frequency is negative, above ``up_to_hz`` or not finite.
        """
        top = self.up_to_hz if frequency_hz is None else frequency_hz
        top = number(self.name, "frequency_hz", top, minimum=0.0, maximum=self.up_to_hz)
        w = 2 * np.pi * top
        trace, determinant = self.pairs.T
        # |s^2 - trace s + determinant|^2 = x^2 + (trace^2 - 2 determinant) x + determinant^2 with x = w^2 is least at:
        x = np.clip(determinant - 0.5 * trace**2, 0.0, w * w)
        least = np.sqrt((x - determinant) ** 2 + trace**2 * x)
        out = np.tensordot(w * w / least, np.abs(self.linear), 1) + np.tensordot(w / least, np.abs(self.constant), 1)
        out += np.tensordot(w / np.hypot(w, self.rates), np.abs(self.single), 1)
        if not self.derived:
            out += np.abs(self._joined_error(1j * np.linspace(0.0, w, _GRID))).max(axis=0)
        return out

    def table(self) -> Table:
        bounds = [self.bound(share * self.up_to_hz) for share in SHARES]
        rows = []
        rounding = ROUNDING * largest_of_unit(self.response, self.output_units, self.input_units)
        for k, j in zip(*np.nonzero(self.response.max(axis=0, initial=0.0) > rounding), strict=True):
            sizes = [float(x[k, j]) for pair in zip(self.response, bounds, strict=True) for x in pair]
            rows.append((self.outputs[k], self.inputs[j], f"{self.output_units[k]} per {self.input_units[j]}", *sizes))
        names = [x for share in SHARES for x in (f"at {share * self.up_to_hz:.4g} Hz", "largest error up to there")]
        how = "guaranteed bounds" if self.derived else f"bounds partly estimated at {_GRID} frequencies"
        return Table(
            f"{self.name}: {self.states} states beyond {self.up_to_hz:g} Hz left out, with static correction",
            ["output", "input", "unit", *(Column(name, digits=4) for name in names)], rows, notes=[how],
        )  # fmt: skip


def largest_of_unit(sizes: np.ndarray, output_units: tuple[str, ...], input_units: tuple[str, ...]) -> np.ndarray:
    """The largest of the sizes (f, o, i) among responses of the same unit, for each response (o, i)."""
    peaks = sizes.max(axis=0, initial=0.0)
    return scales(peaks.ravel(), [(o, i) for o in output_units for i in input_units]).reshape(peaks.shape)
