"""How far beams may be off at a working point: discretized ones at their ends under tension, exact ones that are bent or heavy.

All are estimates of the largest relative error of frequencies; ``docs/beams.md`` has measured ones beside them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..kernels.dynamic_stiffness import Plane, bending_stiffness
from ..numerics.precision import left_by_rounding

WORTH_A_WORD = 0.01  # relative error of frequencies from which on a working point has a note
_FINE = 1.0  # bends at an end, sqrt(EI/T), that one element holds with an error below a thousandth


def taut_error(h: np.ndarray, bending: np.ndarray, tension: np.ndarray, held: np.ndarray) -> float:
    """``sqrt(max x^T K x/x^T K_exact x) - 1`` over motions x of the held nodes: how much too high frequencies may be.

    K is the stiffness of cubic elements across a beam in one plane, ``EI/h^3 [12 ...] + T/30h [36 ...]``, K_exact the static one
    of uniform pieces with the same tension; other nodes follow.

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
    )  # three digits: many beams are alike, and have one estimate
    rounded = unit * np.round(tension / unit)
    return _of_taut(*(np.ascontiguousarray(x, dtype=float).tobytes() for x in (h, bending, rounded, held)))


@lru_cache(maxsize=256)
def _of_taut(*given: bytes) -> float:
    h, bending, tension, held = map(np.frombuffer, given)
    held = held > 0.0
    discrete, exact = (_condensed(_pieces(law, h, bending, tension), held) for law in (_cubic, _uniform))
    own = np.linalg.eigvalsh(exact)
    if own[0] <= left_by_rounding(len(own)) * own[-1]:
        return 0.0  # pieces under compression buckle: this is no taut beam
    from scipy.linalg import eigh  # importing mse should not wait for it

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
    """The stiffness on the held nodes, the first of which does not move across, as others follow without force."""
    stays = np.repeat(held, 2)
    kept, rest = np.flatnonzero(stays)[1:], np.flatnonzero(~stays)
    out = k[np.ix_(kept, kept)]
    if len(rest):
        out = out - k[np.ix_(kept, rest)] @ np.linalg.solve(k[np.ix_(rest, rest)], k[np.ix_(rest, kept)])
    return 0.5 * (out + out.T)


def bent_error(softness: float, turned: float) -> float:
    """``sqrt(1 + c + a^2) - 1``, c how much an exact member gives way by straightening, over how much it does by stretching.

    The exact form lets it straighten at every frequency alike, but above its own modes it has no time for that, and within
    them stretching and bending are coupled. What is of second order in the turn a of an end is left out as well.

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
    """``EA q^2 L^2/12 (T + 50 EI/L^2)^3``: that ratio c for a member that sags under a weight q across it.

    Right for strings, ``EA q^2 L^2/12 T^3`` (H. M. Irvine, "Cable Structures", 1981), and for the sag of a clamped beam,
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
    """``beta^2/30`` with ``beta = W/(T + 4 pi^2 EI/L^2)``, W the weight along it: it has its mean tension everywhere.

    To first order in beta its ends are right. For the first mode of a string second order perturbation gives 0.034.

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
