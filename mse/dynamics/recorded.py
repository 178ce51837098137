"""Files of large motions: what is asked of a recorded run, and moments as plain numbers from which a killed run goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analysis.time.asked import Asked
from ..model.configuration import State
from .accelerations import Equations
from .moments import Moment

_MATRIX = [f"U[{i}][{j}]" for i in range(3) for j in range(3)]


class Numbers:
    """Moments at which steps begin as plain numbers, to the bit, and their names."""

    def __init__(self, equations: Equations, first: Moment):
        self._equations, self._first = equations, first
        t = equations.topology
        rates = [f"{name}'" for name in t.coordinate_names]
        poses = [f"{unit}.{x}" for unit in t.unit_names for x in ("o[0]", "o[1]", "o[2]", *_MATRIX)]
        memories = [f"memory {k}" for k in range(sum(m.size for m in first.state.memory))]
        inner = t.coordinate_names[6 * (t.units - 1) :]
        self.names = ["time", "damped", "driven", "step", *poses, *inner, *memories, *rates]

    def of(self, moment: Moment) -> np.ndarray:
        """The numbers of a moment; a step of zero stands for none."""
        s = moment.state
        poses = np.hstack([s.o, s.U.reshape(-1, 9)]).ravel()
        first = [moment.time, moment.damped, moment.driven, moment.step or 0.0]
        return np.concatenate([first, poses, s.q, *(m.ravel() for m in s.memory), moment.v])

    def moment(self, numbers: np.ndarray) -> Moment:
        """The moment of numbers."""
        like = self._first.state
        (time, damped, driven, step), rest = numbers[:4].tolist(), numbers[4:]
        poses, rest = rest[: 12 * len(like.o)].reshape(-1, 12), rest[12 * len(like.o) :]
        q, rest = rest[: len(like.q)], rest[len(like.q) :]
        memory = []
        for m in like.memory:
            memory.append(rest[: m.size].reshape(m.shape).copy())
            rest = rest[m.size :]
        u = np.ascontiguousarray(poses[:, 3:]).reshape(-1, 3, 3)
        state = State(np.ascontiguousarray(poses[:, :3]), u, q.copy(), tuple(memory))
        return Moment(time, state, rest.copy(), damped, driven, step or None)


def asked(
    equations: Equations,
    first: Moment,
    times: np.ndarray,
    outputs: Sequence[str],
    units: Sequence[str],
    rtol: float,
    method: str,
) -> Asked:
    """What is asked of a motion that begins at a moment, with samples at times (s)."""
    inputs, numbers = equations.inputs, Numbers(equations, first)
    named = dict(zip(numbers.names, numbers.of(first).tolist(), strict=True))
    compared = {
        "model": equations.topology.source.name, "dt": float(times[1] - times[0]), "samples": len(times),
        "outputs": list(outputs), "inputs": {n: _described(x) for n, x in inputs.given.items()},
        "initial": {name: value for name, value in named.items() if value}, "states": numbers.names, "rtol": rtol,
        "method": method,
    }  # fmt: skip

    def driven(one: int, last: int) -> np.ndarray:
        return np.array([inputs.at(t) for t in times[one : last + 1]]).reshape(last + 1 - one, -1)

    def resumed(before: dict[str, Any]) -> np.ndarray:
        return np.array(before["internal"], dtype=float)

    return Asked(
        equations.topology.source.name, compared, [*units, *inputs.units], *_sketch(equations, first), "a motion",
        numbers.of(first), named, driven, resumed,
    )  # fmt: skip


def _described(given: Any) -> str:
    if callable(given):
        return "function, hold smooth"
    if np.ndim(given):
        samples = np.ascontiguousarray(given, dtype=float)
        return f"samples {hashlib.sha256(samples.tobytes()).hexdigest()}, hold smooth"
    return f"{given!r}, hold zoh"


def _sketch(equations: Equations, first: Moment) -> tuple[dict[str, list[float]], list[str]]:
    """Each equation of motion in one number, of inertia and of forces at the beginning, for fixed random velocities."""
    rng = np.random.default_rng(0)
    v = rng.uniform(0.5, 1.5, equations.size)
    terms = equations.terms(equations.evaluation(first.state, first.time), v, first.time)
    names = equations.topology.coordinate_names
    values = np.concatenate([terms.mass @ v, terms.force])
    sizes = np.concatenate([abs(terms.mass) @ v, np.abs(terms.force)])
    labels = [*(f"the inertia of {n}" for n in names), *(f"the force on {n}" for n in names)]
    return {"values": values.tolist(), "sizes": sizes.tolist()}, labels
