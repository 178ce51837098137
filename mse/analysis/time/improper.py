"""Derivatives of inputs in outputs: where they remain, a model has no state space for these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ImproperModelError
from ...linear.linear_model import LinearModel
from ...linear.rate_inputs import Acting, acting

if TYPE_CHECKING:
    from .massless import Condensed

# rounding of derivatives of inputs; with a tenth and ten times of it tests/analysis/time/test_massless.py passes
_OF_TERMS = 1e-9


def remaining(found: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Coefficients of derivatives with zeros where they may be rounding of their absolute ``terms``."""
    return np.where(np.abs(found) <= _OF_TERMS * terms, 0.0, found)


def sizes(
    c: Condensed, by_mass: Callable[[np.ndarray], np.ndarray], damp_d: np.ndarray, shifts: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Sums of absolute terms (3, o, i): those that add up to third, second and first derivatives of inputs in outputs.

    ``by_mass`` divides by the mass of r, and ``damp_d`` is the inverse of the damping of d.  ``shifts`` are what is added to r, d
    and r' to remove derivatives of inputs from the equations of motion.
    """
    nr = len(c.M)
    r, d = slice(0, nr), slice(nr, len(c.K))
    by_force, by_drag = np.abs(by_mass(c.B2.T).T), np.abs(c.B1[:, d] @ damp_d)
    b1, b2, a1, a2, damping = (np.abs(part) for part in (c.B1, c.B2, c.A1, c.A2, c.Lambda))
    lift, x, y = (np.abs(part) for part in shifts)
    second = np.abs(c.D2) + b2 @ lift + by_force @ a2
    first = np.abs(c.D1) + b1[:, r] @ lift + b1[:, d] @ x + by_drag @ (a1[d] + damping[d, r] @ lift)
    return np.array(
        [np.abs(c.D3), second, first + b2 @ y + by_force @ (a1[r] + damping[r, r] @ lift + damping[r, d] @ x)]
    )


def improper(derivatives: np.ndarray, terms: np.ndarray, how: Acting) -> np.ndarray:
    """Where third to first derivatives of inputs do not cancel in outputs (3, o, i), made of such absolute ``terms``."""
    found = remaining(derivatives, terms) != 0.0
    if len(how.rates):  # the first derivative of an integral is the input
        found[1:, :, how.integral] = found[:-1, :, how.integral]
        found[0][:, how.integral] = False
        found = how.added_up(found.astype(int), int(how.of.max()) + 1) > 0
    return found


def rates_alone(model: LinearModel) -> np.ndarray:
    """Outputs (o,) that are rates, such as currents, and read nothing else."""
    rate, *others = (np.diff(a.indptr) > 0 for a in (model.rate, model.measure, model.reaction))
    return rate & ~np.any(others, axis=0)


def refuse_improper(model: LinearModel, i: np.ndarray, o: np.ndarray, derivatives: np.ndarray) -> None:
    """Refuse outputs in which ``derivatives`` (3, o, i) of inputs do not cancel."""
    kinds = ("third", "jerk"), ("second", "acceleration"), ("first", "velocity")
    for (order, what), bad in zip(kinds, derivatives, strict=True):
        pairs = [f"{model.outputs[o[a]]} under {model.inputs[i[b]]}" for a, b in zip(*np.nonzero(bad), strict=True)]
        if pairs:
            shown = ", ".join(pairs[:6]) + (f" and {len(pairs) - 6} more" if len(pairs) > 6 else "")
            if rates_alone(model)[o][bad.any(axis=1)].all():
                raise ImproperModelError(
                    f"{model.name}: {shown} would need the {order} derivative of the input, since nothing limits what flows "
                    "when it steps; expected a resistance or an inductance between them; add one, choose other outputs, "
                    "or use frequency_response, which has them all"
                )
            raise ImproperModelError(
                f"{model.name}: {shown} would need the {order} derivative ({what}) of the input, because it drives a mass, "
                "a coil or a damper rigidly past the sensor; expected outputs without such a path; choose others with "
                "outputs=[...] or inputs=[...], or use frequency_response, which has them all"
            )


def refuse_push(model: LinearModel, inputs: np.ndarray, push: np.ndarray) -> None:
    """Refuse inputs with third derivatives that push (x1, i)."""
    by = acting(model, inputs).of[push.any(axis=0)]
    if len(by):
        names = ", ".join(dict.fromkeys(model.inputs[k] for k in inputs[by]))
        raise ImproperModelError(
            f"{model.name}: third derivatives of {names} push masses or coils, since an inductance at the input of an "
            "amplifier has to carry what is prescribed, and charges follow without resistance or inductance; expected a "
            "resistance where they flow; add one, choose other inputs, or use frequency_response, which has them all"
        )
