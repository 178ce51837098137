"""Motions so small that steps, which keep a tolerance relative to the size of the system, hardly see them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..numerics.precision import NOTHING
from .accelerations import Equations
from .moments import Moment

# Times the tolerance (m): a smaller motion is noted.  The position of a pendulum after seventy periods errs by 4e-6 of an
# amplitude of 5 tolerances, and by a hundredth of one of a twentieth (tests/dynamics/test_faint.py); implicit steps of a tower
# on which a force acts err by 5e-2 of 4 tolerances, 5e-3 of 45, and 1e-3 of 450.
_FAINT = 30.0
_LOOKED = 50  # samples in which the largest displacement is looked for


def hardly_seen(equations: Equations, samples: Sequence[Moment], rtol: float) -> str:
    """In words: that all displacements are small beside the tolerance of steps; "" where they are not, or nothing moves."""
    measure, bodies = equations.measure, equations.assembly.bodies - 1
    turning, inner = measure.metric[: 6 * bodies].reshape(-1, 6)[:, 3], measure.metric[6 * bodies :]
    first, largest = samples[0].state, 0.0
    for moment in (*samples[:: max(1, len(samples) // _LOOKED)], samples[-1]):
        state = moment.state
        turned = np.linalg.norm(state.U - first.U, axis=(1, 2))[1:] / np.sqrt(2.0)  # angles (rad), if they are small
        apart = np.concatenate([
            np.linalg.norm(state.o - first.o, axis=1)[1:], turning * turned, inner * np.abs(state.q - first.q),
        ])  # fmt: skip
        largest = max(largest, apart.max(initial=0.0))
    tolerance = rtol * measure.size
    if not NOTHING * measure.outermost < largest < _FAINT * tolerance:
        return ""
    return (
        f"the largest displacement is {largest:.2g} m, where steps keep a tolerance of {tolerance:.2g} m, rtol times the size of "
        "the system: take a smaller rtol, or simulate() of a linear model, whose result is relative to the motion"
    )
