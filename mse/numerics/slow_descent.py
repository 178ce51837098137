"""Steps along negative curvature follow the slow descent of the energy ``g.p + p.K p/2``: ``W p' = -(g + K p)`` from p = 0.

It leads to the bottom of the valley in which a search begins (C. Botsaris, "Differential gradient methods", J. Math. Anal. Appl.
63 (1978) 177).  Along eigenvectors it has a closed form.  For sparse matrices these are eigenvectors on the space of a few
solutions of ``(K + m W) x = W b``; a fine model needs no more of them than a coarse one (I. Moret, P. Novati, "RD-rational
approximations of the matrix exponential", BIT 44 (2004) 595).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .factor import ConstrainedFactor, Factor
from .lanczos import Lanczos
from .precision import EPS

# Factor by which forces along the most negative curvature grow in a step.  Of 160 systems of benchmarks/slow_descents.py the
# searches of 153, 152, 152 and 154 end where a slow descent does with 1.4, 2, 3 and 4, in 4,068, 3,567, 3,483 and 3,467 steps.
GROWN = 3.0
# Of the radius: a step goes at least this far along negative curvature, however little force is there.  With 0.3 and 1
# tests/statics/test_valleys.py::test_searches_end_where_a_slow_descent_does passes; with 0.02 as many of the same 160 agree.
ASIDE = 0.005
# Of a step: if another block of solutions changes it less, it is known.  With 0.1
# tests/numerics/test_trust_region.py::test_steps_along_negative_curvature_follow_the_slow_descent_no_longer_than_it_is_foreseen
# fails, with 1e-5 none.
_KNOWN = 1e-2
# Of the time of a step: accuracy of its end.  With 0.1
# tests/numerics/test_trust_region.py::test_steps_along_negative_curvature_follow_the_slow_descent_no_longer_than_it_is_foreseen
# fails, with 1e-9 none.
_TIME = 1e-3
# Blocks of solutions with one shift, and shifts: after these a step uses the motions known so far.
_MOST_BLOCKS, _MOST_SHIFTS = 16, 2


class Descent(NamedTuple):
    """A motion (f,) along eigenvectors; ``shift`` (N/m) is one over its time, or more to make K positive definite."""

    y: np.ndarray
    shift: float
    on_boundary: bool


def slow_descent(c: np.ndarray, w: np.ndarray, radius: float) -> Descent:
    """The end of ``y' = -(c + w y)`` from 0, with forces -c (f,) and curvatures w (f,), some of them negative.

    Along negative curvature it would never end, but the real valley turns.  So it ends at the radius; or before, when forces
    along the most negative curvature have grown ``GROWN`` times, but not until the motion along all negative curvatures is a
    share of the radius (``ASIDE``).  If little force is along them, the step is the whole step along the others plus that share.
    Without any force along them, the share may have either sign.
    """
    # imported here, since a first result should not wait for them
    from scipy.optimize import brentq
    from scipy.special import exprel

    lowest, falls = int(np.argmin(w)), w < 0.0
    rate = -float(w[lowest])
    least = EPS * rate * radius  # moves nothing compared with the radius
    if abs(c[lowest]) < least:
        c = c.copy()
        c[lowest] = -least if c[lowest] <= 0.0 else least

    def at(time: float) -> np.ndarray:
        return -time * c * exprel(-w * time)

    def when(which: np.ndarray | slice, length: float, soonest: float, latest: float) -> float:
        def beyond(time: float) -> float:
            return float(np.linalg.norm(at(time)[which])) - length

        return brentq(beyond, soonest, latest, xtol=_TIME * soonest, rtol=_TIME)

    grown = latest = np.log(GROWN) / rate
    aside = ASIDE * radius
    if np.linalg.norm(at(latest)[falls]) < aside:
        # no later than with the force along the most negative curvature alone
        latest = when(falls, aside, latest, 1.01 * np.log1p(aside * rate / abs(c[lowest])) / rate)
    if np.linalg.norm(at(latest)) <= radius:
        return Descent(at(latest), 1.0 / grown, False)
    # if all forces grew as fast as the fastest, the radius would be reached at twice this time
    soonest = 0.5 * radius / (np.linalg.norm(c) * exprel(rate * latest))
    time = when(slice(None), radius, soonest, latest)
    return Descent(at(time), 1.0 / min(time, grown), True)


def soft_motions(
    factor: Callable[[float], Factor | ConstrainedFactor],
    shift: float,
    g: np.ndarray,
    measure: sp.csr_matrix,
    radius: float,
    floor: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Curvatures w (f,) and motions (n, f), orthonormal by the measure W, that span the slow descent under g (n,).

    ``factor(m)`` is the factor of ``K + m W``, positive definite for m = ``shift``.  The most negative curvature is found even if
    no force is along it; curvatures up to ``floor`` count as zero.
    """
    for _ in range(_MOST_SHIFTS):
        while not (f := factor(shift)).positive_definite:
            shift *= 2.0
        space, last = Lanczos(f.solve, measure, len(g), g), None
        for _ in range(_MOST_BLOCKS):
            nu, s, whole = space.grown()
            kept = nu > EPS * nu.max()
            w, s = 1.0 / nu[kept] - shift, s[:, kept]
            w[np.abs(w) <= floor] = 0.0
            known = whole
            if w.min() < 0.0:
                found = slow_descent(s.T @ space.along(g), w, radius)
                step = s @ found.y
                if last is not None:
                    change = step.copy()
                    change[: len(last)] -= last
                    known = whole or np.linalg.norm(change) <= _KNOWN * np.linalg.norm(step)
                last = step
            if known:
                return w, space.vectors(s)
        shift = 0.25 * shift if last is None else 2.0 * found.shift
    return w, space.vectors(s)
