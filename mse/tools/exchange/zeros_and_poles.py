"""Zeros, poles and gain of each response of a state space: ``H(s) = k prod(s - z)/prod(s - p)``, in rad/s.

First, poles that an output does not show are removed, judged by each motion's share of the response at rest.  The zeros are
eigenvalues of the remaining system; the gain is the median over frequencies.  The product is compared with the response
before it is written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl

from ...analysis.time.left_out import largest_of_unit
from ...analysis.time.normal_form import normal_form
from ...analysis.time.state_space import StateSpace
from ...errors import FileError, warn
from ...numerics.blas_threads import one_thread

_SEEN = 1e-13  # relative to the largest share of a response at rest: a smaller share is rounding
_ZERO = 1e-9  # relative to the largest response of a unit: smaller ones are rounding or negligible
_FINITE = (
    1e2,
    1e4,
    1e6,
    np.inf,
)  # relative to the largest pole: larger zeros come from rounding, if the response allows
_MISSED = 1e-8  # relative to the peak: error of the product that is allowed
_CHECKED = 200  # number of frequencies where they are compared


class ZerosAndPoles(NamedTuple):
    """Zeros and poles (rad/s, complex) and gain of one response."""

    z: np.ndarray
    p: np.ndarray
    k: float

    def at(self, s: np.ndarray) -> np.ndarray:
        """The response at complex s, multiplied in pairs so that long products neither overflow nor underflow."""
        out = np.full(len(s), self.k, dtype=complex)
        for j in range(max(len(self.z), len(self.p))):
            if j < len(self.z):
                out *= s - self.z[j]
            if j < len(self.p):
                out /= s - self.p[j]
        return out


class _Motion(NamedTuple):
    """One motion of a state space: ``m' = n m + b u, y = c m``, its eigenvalues and their size (at least a thousandth)."""

    n: np.ndarray
    b: np.ndarray
    c: np.ndarray
    rates: np.ndarray
    size: float


def _motions(ss: StateSpace) -> list[_Motion]:
    fastest = max(float(np.abs(ss.poles()).max(initial=0.0)), 1e-300)
    form = normal_form(ss, 1.0 / fastest)
    found = []
    for n, at in form.motions():
        rates = np.linalg.eigvals(n)
        size = max(float(np.abs(rates).max()), 1e-3 * fastest)
        found.append(_Motion(n, form.back[at] @ ss.B, ss.C @ form.to[:, at], rates, size))
    return found


def _of_pair(motions: list[_Motion], d: float, output: int, input_: int) -> tuple[np.ndarray, np.ndarray]:
    """Zeros, including ones that may be infinite, and poles of one response."""
    shares = [np.abs(m.c[output]).max() * np.abs(m.b[:, input_]).max() / m.size for m in motions]
    seen = [m for m, share in zip(motions, shares, strict=True) if share > _SEEN * max(*shares, abs(d))]
    if not seen:
        return np.zeros(0, dtype=complex), np.zeros(0, dtype=complex)
    a, p = sl.block_diag(*(m.n for m in seen)), np.concatenate([m.rates for m in seen]).astype(complex)
    b, c = np.concatenate([m.b[:, input_] for m in seen]), np.concatenate([m.c[output] for m in seen])
    largest, n = max(float(np.abs(p).max()), 1e-300), len(a)
    # balance rows and columns
    u, y = np.abs(b).max() / largest, np.abs(c).max()
    whole = np.block([[a / largest, b[:, None] / (u * largest)], [c[None] / y, np.array([[d / (u * y)]])]])
    alpha, beta = sl.eig(whole, np.diag([1.0] * n + [0.0]), right=False, homogeneous_eigvals=True)
    return np.sort_complex(alpha[beta != 0] / beta[beta != 0] * largest), np.sort_complex(p)


def _product(z: np.ndarray, p: np.ndarray, s: np.ndarray, h: np.ndarray) -> tuple[ZerosAndPoles, float]:
    """The product closest to a response h at s, with no more far zeros than it takes, and its error."""
    best, missed = ZerosAndPoles(z[:0], p, 0.0), np.inf
    for limit in _FINITE:
        some = z[np.abs(z) < limit * max(np.abs(p).max(initial=0.0), 1e-300)]
        found = ZerosAndPoles(some, p, 1.0)
        with np.errstate(all="ignore"):
            gain = float(np.nanmedian((h / found.at(s)).real))
            found = found._replace(k=gain)
            miss = float(np.abs(found.at(s) - h).max() / np.abs(h).max())
        if miss < 0.1 * missed:
            best, missed = found, miss
    return best, missed


@one_thread
def zeros_and_poles(ss: StateSpace) -> tuple[dict[tuple[str, str], ZerosAndPoles], dict[tuple[str, str], float]]:
    """Zeros, poles and gain by (output, input) of all responses above rounding, and the error where it is large."""
    motions = _motions(ss)
    rates = np.abs(np.concatenate([m.rates for m in motions])) if motions else np.ones(1)
    rates = rates[rates > 0] if np.any(rates > 0) else np.ones(1)
    s = 1j * np.geomspace(0.1 * rates.min(), 10.0 * rates.max(), _CHECKED)
    whole = np.array([sum((m.c @ np.linalg.solve(x * np.eye(len(m.n)) - m.n, m.b) for m in motions), ss.D) for x in s])
    peaks = np.abs(whole).max(axis=0, initial=0.0)
    wanted = peaks > _ZERO * largest_of_unit(np.abs(whole), ss.output_units, ss.input_units)
    good, bad = {}, {}
    for o, i in zip(*np.nonzero(wanted), strict=True):
        pair = ss.outputs[o], ss.inputs[i]
        found, missed = _product(*_of_pair(motions, float(ss.D[o, i]), o, i), s, whole[:, o, i])
        if missed <= _MISSED:
            good[pair] = found
        else:
            bad[pair] = missed
    return good, bad


def write_zeros_and_poles(file: Any, ss: StateSpace) -> None:
    """Datasets z, p, k in the groups damped/zpk/<output>/<input> of an open HDF5 file, with a warning if some are left out."""
    for name in (*ss.outputs, *ss.inputs):
        if "/" in name or name == "." * len(name):
            raise FileError(
                f"{ss.name}: {name!r} cannot be the name of an HDF5 group; expected a name without '/'; save it as .npz"
            )
    good, bad = zeros_and_poles(ss)
    for (output, input_), found in good.items():
        group = file.create_group(f"damped/zpk/{output}/{input_}")
        for key, value in found._asdict().items():
            group.create_dataset(key, data=value)
    if bad:
        (output, input_), missed = max(bad.items(), key=lambda item: item[1])
        warn(
            f"{ss.name}: zeros and poles of {len(bad)} responses are left out of the file, as they would miss the response by "
            f"more than {_MISSED:g} of its peak ({output} under {input_} by {missed:.1e}); expected fewer states; take "
            "state_space(up_to_hz=...)"
        )
