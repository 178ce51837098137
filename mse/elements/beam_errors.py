"""Estimated errors of beams at a working point: of discretized beams at their ends under tension, of bent or heavy exact beams.

Each is an estimate of the largest relative error of frequencies; ``docs/beams.md`` compares it with measured ones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..kernels.dynamic_stiffness import Plane, bending_stiffness
from ..numerics.precision import left_by_rounding

WORTH_A_WORD = 0.01  # relative error of frequencies that is worth a note at a working point
_FINE = 1.0  # length of an element relative to the bend at an end, sqrt(EI/T), for an error below a thousandth


def taut_error(h: np.ndarray, bending: np.ndarray, tension: np.ndarray, held: np.ndarray) -> float:
    """``sqrt(max x^T K x/x^T K_exact x) - 1`` over motions x of the held nodes: how much too high frequencies may be.

    K is the stiffness of cubic elements across a beam in one plane, ``EI/h^3 [12 ...] + T/30h [36 ...]``.  K_exact is the static
    stiffness of uniform pieces with the same tension.  Nodes that are not held follow.

    Parameters
    ----------
    h : ndarray, (n,), m
        Lengths of the elements.
    bending : ndarray, (n,), N m2
        E I of each.
    tension : ndarray, (n,), N
        Tension in each.
    held : ndarray of bool, (n + 1,)
        Which nodes are held by others; the others bend with the beam.

    Returns
    -------
    float
        Relative error of frequencies; 0 where the elements that end at held nodes are not longer than the bends there.
    """
    ends = held[:-1] | held[1:]
    taut = np.maximum(tension, 0.0) * h**2
    if not np.any(ends & (taut > _FINE * bending)):
        return 0.0
    unit = 10.0 ** (
        np.floor(np.log10(tension.max())) - 2.0
    )  # to three digits, since many beams are equal and can share one estimate
    rounded = unit * np.round(tension / unit)
    return _of_taut(*(np.ascontiguousarray(x, dtype=float).tobytes() for x in (h, bending, rounded, held)))


@lru_cache(maxsize=256)
def _of_taut(*given: bytes) -> float:
    h, bending, tension, held = map(np.frombuffer, given)
    held = held > 0.0
    discrete, exact = (_condensed(_pieces(law, h, bending, tension), held) for law in (_cubic, _uniform))
    own = np.linalg.eigvalsh(exact)
    if own[0] <= left_by_rounding(len(own)) * own[-1]:
        return 0.0  # pieces under compression buckle: not a taut beam
    from scipy.linalg import eigh  # imported here, since importing mse should not wait for it

    return float(np.sqrt(max(eigh(discrete, exact, eigvals_only=True).max(), 1.0))) - 1.0


def _cubic(h: float, bending: float, tension: float) -> np.ndarray:
    elastic = [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h], [-12, -6 * h, 12, -6 * h],
               [6 * h, 2 * h * h, -6 * h, 4 * h * h]]  # fmt: skip
    taut = [[36, 3 * h, -36, 3 * h], [3 * h, 4 * h * h, -3 * h, -h * h], [-36, -3 * h, 36, -3 * h],
            [3 * h, -h * h, -3 * h, 4 * h * h]]  # fmt: skip
    return bending / h**3 * np.array(elastic) + tension / (30.0 * h) * np.array(taut)


def _uniform(h: float, bending: float, tension: float) -> np.ndarray:
    return bending_stiffness(0.0, Plane(h, tension, 0.0, bending, 0.0, 0.0))


def _pieces(law, h, bending, tension) -> np.ndarray:
    """Stiffness of all pieces together, (deflection, rotation) of each node."""
    k = np.zeros((2 * len(h) + 2,) * 2)
    known: dict[tuple[float, float, float], np.ndarray] = {}
    for j, numbers in enumerate(zip(h.tolist(), bending.tolist(), tension.tolist(), strict=True)):
        if numbers not in known:
            known[numbers] = law(*numbers)
        k[2 * j : 2 * j + 4, 2 * j : 2 * j + 4] += known[numbers]
    return k


def _condensed(k: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The stiffness on the held nodes, of which the first is fixed across; other nodes follow without force."""
    stays = np.repeat(held, 2)
    kept, rest = np.flatnonzero(stays)[1:], np.flatnonzero(~stays)
    out = k[np.ix_(kept, kept)]
    if len(rest):
        out = out - k[np.ix_(kept, rest)] @ np.linalg.solve(k[np.ix_(rest, rest)], k[np.ix_(rest, kept)])
    return 0.5 * (out + out.T)


def bent_error(softness: float, turned: float) -> float:
    """``sqrt(1 + c + a^2) - 1``, with c the compliance of an exact member by straightening relative to that by stretching.

    The exact form lets the member straighten at every frequency.  Above its own modes there is no time for that, and within them
    stretching and bending are coupled.  Second-order terms in the rotation a of an end are also left out.

    Parameters
    ----------
    softness : float
        That ratio c.
    turned : float, rad
        Largest turn of an end against the line between the ends.

    Returns
    -------
    float
        Relative error of frequencies.
    """
    return float(np.sqrt(1.0 + softness + turned**2)) - 1.0


def sagging_softness(across: float, length: float, axial: float, bending: float, tension: float) -> float:
    """``EA q^2 L^2/12 (T + 50 EI/L^2)^3``: the ratio c of :func:`bent_error` for a member that sags under a weight q across it.

    Exact for strings, ``EA q^2 L^2/12 T^3`` (H. M. Irvine, "Cable Structures", 1981), and for the sag of a clamped beam,
    ``int w'^2 dx/2 = q^2 L^7/60480 EI^2``.

    Parameters
    ----------
    across : float, N/m
        Weight per length across the line.
    length, axial, bending, tension : float, m, N, N m2, N
        Length, E A, E I and T.

    Returns
    -------
    float
        The ratio.
    """
    return axial * (across * length) ** 2 / (12.0 * (tension + 50.0 * bending / length**2) ** 3)


def heavy_error(along: float, length: float, bending: float, tension: float) -> float:
    """``beta^2/30`` with ``beta = W/(T + 4 pi^2 EI/L^2)``, W the weight along the member, which has its mean tension everywhere.

    To first order in beta the ends are exact.  For the first mode of a string, second-order perturbation gives 0.034.

    Parameters
    ----------
    along : float, N
        Weight along the line.
    length, bending, tension : float, m, N m2, N
        Length, E I and T.

    Returns
    -------
    float
        Relative error of frequencies.
    """
    return (along / (tension + 4.0 * np.pi**2 * bending / length**2)) ** 2 / 30.0
