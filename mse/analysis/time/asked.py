"""What was asked of a run that is recorded, and how a recording tells that it is of the same one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .inputs import Inputs
    from .state_space import StateSpace
    from .steps import Step

# Relative difference of equations that are taken for the same: with ten thousand times of it another model goes on, with a
# ten-thousandth one that differs by rounding does not
# (tests/analysis/time/test_recording.py::test_another_model_is_refused_by_its_equations,
# test_a_model_that_differs_by_rounding_goes_on).
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked of a run, apart from how its rows are made.

    ``compared`` are the entries of the sidecar that a run has to share to go on, ``equations`` every equation in a number, with
    ``equation_names``; ``start`` is the state at the beginning, ``named`` the same by name; ``driven(first, last)`` gives inputs
    at samples (n, i), and ``resumed`` the state from a sidecar whose numbers are of other coordinates, as ``digest`` tells.
    """

    name: str
    compared: dict[str, Any]
    units: list[str]
    equations: dict[str, list[float]]
    equation_names: list[str]
    digest: str
    start: np.ndarray
    named: dict[str, float]
    driven: Callable[[int, int], np.ndarray]
    resumed: Callable[[dict[str, Any]], np.ndarray]

    @classmethod
    def of_linear(cls, ss: StateSpace, given: Inputs, steps: int, dt: float, start: np.ndarray, step: Step) -> Asked:
        """That of a linear model's run."""
        compared = {
            "model": ss.name, "dt": dt, "samples": steps + 1, "outputs": list(ss.outputs), "inputs": given.described(),
            "initial": {n: float(v) for n, v in zip(ss.states, start, strict=True) if v}, "states": list(ss.states),
        }  # fmt: skip

        def resumed(before: dict[str, Any]) -> np.ndarray:
            at = min(before["rows"], steps)
            state = step.back @ np.array([before["state"][n] for n in ss.states])
            return state - step.shift @ given.between(at, at)[0][0]

        return cls(
            ss.name, compared, [*ss.output_units, *ss.input_units], _sketch(ss),
            [*(f"the equation of state {n}" for n in ss.states), *(f"output {n}" for n in ss.outputs)], step.digest(),
            step.back @ start, dict(zip(ss.states, start.tolist(), strict=True)),
            lambda first, last: given.between(first, last)[0], resumed,
        )  # fmt: skip

    def other_equations(self, there: dict) -> list[str]:
        """Equations of another run that differ, in words."""
        now, names = self.equations, self.equation_names
        if len(there["values"]) != len(now["values"]) or len(there["sizes"]) != len(now["sizes"]):
            return ["the number of equations differs"]
        a, b, size = np.array(now["values"]), np.array(there["values"]), np.array(there["sizes"])
        off = np.abs(a - b) > SAME * size + 1e-13 * size.max(initial=0.0)
        return [f"{names[k]} is another" for k in np.flatnonzero(off)[:6]]

    def differences(self, there: dict) -> list[str]:
        """What is asked otherwise there, in words."""
        now, out = self.compared, []
        for key in now:
            a, b = now[key], there.get(key)
            if a == b and not (isinstance(a, dict) and list(a) != list(b)):
                continue
            if isinstance(a, dict) and isinstance(b, dict):
                names = [n for n in {**a, **b} if a.get(n) != b.get(n)]
                out += [f"{key} {n!r} is {_shown(a.get(n))}, but {_shown(b.get(n))} in the file" for n in names[:4]]
                if not names:
                    out.append(f"{key} are in another order")
            else:
                out.append(f"{key} is {_shown(a)}, but {_shown(b)} in the file")
        return out


def _sketch(ss: StateSpace) -> dict[str, list[float]]:
    """Every equation of a state space in one number: its coefficients times fixed random ones."""
    rng = np.random.default_rng(0)
    v = np.concatenate([rng.uniform(0.5, 1.5, len(ss.states)), rng.uniform(0.5, 1.5, len(ss.inputs))])
    whole = np.block([[ss.A, ss.B], [ss.C, ss.D]])
    return {"values": (whole @ v).tolist(), "sizes": (np.abs(whole) @ v).tolist()}


def _shown(value) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
