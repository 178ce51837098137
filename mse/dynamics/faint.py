"""Motions so small that steps, which keep a tolerance relative to the size of the system, hardly see them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..numerics.precision import NOTHING
from .accelerations import Equations
from .moments import Moment

# Times the tolerance (m): a smaller motion is noted.  The position of a pendulum after seventy periods errs by 4e-6 of an
# amplitude of 5 tolerances, and by a hundredth of one of a twentieth; implicit steps of a tower on which a force acts err by
# 9e-3 of 2 tolerances, 2e-3 of 18, and 2e-4 of 1,800 (tests/dynamics/test_faint.py).
_FAINT = 30.0
_LOOKED = 50  # samples in which the largest displacement is looked for


def hardly_seen(equations: Equations, samples: Sequence[Moment], rtol: float) -> str:
    """A note that everything moved little, relative to the tolerance of steps; "" where something moved far, or nothing moved."""
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
        f"what moves farthest moves by {largest / tolerance:.2g} times the tolerance of steps, which is rtol times the size of "
        "the system; take a smaller rtol, or simulate() of a linear model, whose errors are relative to the motion"
    )
