"""Time evolution of a linear model: exact for inputs held constant, linear or polynomial over each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from ..display import Result, table
from ..errors import ModelError, UnknownNameError, nearest_name
from ..kernels.march import march
from ..linear_model import LinearModel
from ..reals import is_finite, is_positive, real_array
from .state_space import StateSpace

Input = Callable | ArrayLike

# Gauss-Lobatto points: a callable is interpolated through them within each step (error of the sixth order in the step).
_LOBATTO = 0.5 * (1.0 + np.array([-1.0, -np.sqrt(3 / 7), 0.0, np.sqrt(3 / 7), 1.0]))
_NODES = {"zero": np.array([0.0]), "first": np.array([0.0, 1.0]), "smooth": _LOBATTO}
_MOST_BYTES = 8e9
_BLOCK = 4096  # steps between which outputs are formed as one matrix product


@dataclass(frozen=True, repr=False, eq=False)
class TimeResponse(Result):
    """Outputs over time: ``history["probe.x"]`` is an array (t,); inputs are read the same way.

    ``time`` (t,) in s; ``values`` (t, outputs); ``driven`` (t, inputs); ``final_state`` by state name continues a run.
    """

    name: str
    time: np.ndarray
    values: np.ndarray
    outputs: tuple[str, ...]
    output_units: tuple[str, ...]
    driven: np.ndarray
    inputs: tuple[str, ...]
    input_units: tuple[str, ...]
    final_state: dict[str, float] = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.outputs:
            return self.values[:, self.outputs.index(name)]
        if name in self.inputs:
            return self.driven[:, self.inputs.index(name)]
        known = [*self.outputs, *self.inputs]
        raise UnknownNameError(f"{self.name}: no output {name!r} in this history{nearest_name(str(name), known)}")

    def unit(self, name: str) -> str:
        """Unit of one output or input."""
        self[name]
        units = dict(zip(self.inputs, self.input_units, strict=True)) | dict(
            zip(self.outputs, self.output_units, strict=True)
        )
        return units[name]

    def table(self) -> str:
        rows = []
        for name, unit, v in zip(self.outputs, self.output_units, self.values.T, strict=True):
            if np.any(v):
                rows.append((name, unit, *(f"{x:.6g}" for x in (v.min(), v.max(), np.sqrt(np.mean(v**2)), v[-1]))))
        head = f"{self.name}: {len(self.time)} samples from {self.time[0]:g} to {self.time[-1]:g} s"
        return table(head, ("output", "unit", "smallest", "largest", "rms", "last"), rows)


class Discretisation:
    """``s_{k+1} = P s_k + sum_j G_j u(t_k + c_j dt)``: exact where u is the polynomial through its values at the nodes c.

    P and the integrals of the exponential come from one exponential of the augmented matrix (C. Van Loan, IEEE Trans.
    Automatic Control 23 (1978) 395).
    """

    def __init__(self, ss: StateSpace, dt: float, nodes: np.ndarray):
        a, b, self.output = ss.scaled()
        n, m, p = a.shape[0], b.shape[1], len(nodes)
        big = np.zeros((n + p * m, n + p * m))
        big[:n, :n] = a * dt
        big[:n, n : n + m] = b * dt
        for k in range(p - 1):
            big[n + k * m : n + (k + 1) * m, n + (k + 1) * m : n + (k + 2) * m] = np.eye(m)
        e = sl.expm(big)
        self.transition = np.ascontiguousarray(e[:n, :n])
        # block k multiplies the k-th derivative of u (in units of the step): turn node values into those
        moments = e[:n, n:].reshape(n, p, m)
        vandermonde = np.vander(nodes, p, increasing=True)
        derivatives = (
            np.linalg.inv(vandermonde) * np.array([float(np.prod(range(1, k + 1))) for k in range(p)])[:, None]
        )
        self.forcing = np.einsum("nkm,kj->njm", moments, derivatives).reshape(n, p * m)


def simulate(
    model: LinearModel,
    *,
    duration: float,
    dt: float,
    inputs: Mapping[str, Input] | None = None,
    hold: str | None = None,
    outputs: Sequence[str] | None = None,
    initial: Mapping[str, float] | None = None,
) -> TimeResponse:
    """Outputs at t = 0, dt, ..., duration for inputs given by name, as callables of t (s) or arrays of samples.

    ``hold`` says how an input goes between samples, and the result is exact for it: "zero" keeps the value, "first" is
    linear (the default for arrays), "smooth" the polynomial of degree four through five points in each step (the
    default for callables: its error falls with the sixth power of dt, but a function that jumps wants "zero").
    ``initial`` gives displacements and velocities by state name (``"mass.x"``, ``"mass.x'"``) just before t = 0, while
    all inputs are still zero; the rest is at rest.

    Raises ModelError for a step that is not positive or inputs of the wrong length; ImproperModelError for an output
    that would need a derivative of a driven input.
    """
    steps = _checked_steps(model, duration, dt)
    if not isinstance(inputs or {}, Mapping):
        raise ModelError(f"{model.name}: inputs are {inputs!r:.60}; expected functions or samples by input name")
    inputs = dict(inputs or {})
    model.input_indices(list(inputs))  # refuses unknown names
    if hold not in (None, *_NODES):
        raise ModelError(f"{model.name}: hold is {hold!r}; expected 'zero', 'first' or 'smooth'")
    ss = model.state_space(inputs=list(inputs), outputs=outputs)
    _refuse_too_long(model, steps, len(ss.outputs) + 6 * len(inputs))
    holds = [_hold_of(model, name, value, hold) for name, value in inputs.items()]
    nodes = _NODES[max(holds, key=lambda h: len(_NODES[h]), default="zero")]
    time = dt * np.arange(steps + 1)
    at_nodes = np.zeros((steps, len(nodes), len(inputs)))
    driven = np.zeros((steps + 1, len(inputs)))
    for k, ((name, value), how) in enumerate(zip(inputs.items(), holds, strict=True)):
        at_nodes[:, :, k], driven[:, k] = _sampled(model, name, value, how, time, dt, nodes)
    rule = Discretisation(ss, dt, nodes)
    to, back = ss.scaling
    state = back @ ss.initial_state(initial)
    values = np.empty((steps + 1, len(ss.outputs)))
    for start in range(0, steps, _BLOCK):
        chunk = at_nodes[start : start + _BLOCK]
        forcing = chunk.reshape(len(chunk), -1) @ rule.forcing.T
        states = np.empty((len(chunk), len(state)))
        state = march(rule.transition, forcing, state, states)
        values[start : start + len(chunk)] = states @ rule.output.T
    values[steps] = rule.output @ state
    values += driven @ ss.D.T
    final = dict(zip(ss.states, (to @ state).tolist(), strict=True))
    return TimeResponse(model.name, time, values, ss.outputs, ss.output_units, driven, ss.inputs, ss.input_units, final)


def _checked_steps(model: LinearModel, duration: float, dt: float) -> int:
    for what, value in (("dt", dt), ("duration", duration)):
        if not is_positive(value):
            raise ModelError(f"{model.name}: {what} is {value!r} s; expected a positive finite time")
    steps = round(duration / dt)
    if steps < 1 or abs(steps * dt - duration) > 1e-6 * dt:
        raise ModelError(
            f"{model.name}: duration {duration:g} s is not a whole number of steps of {dt:g} s; expected duration = n dt"
        )
    return steps


def _refuse_too_long(model: LinearModel, steps: int, width: int) -> None:
    size = 8.0 * (steps + 1) * (width + 2)
    if size > _MOST_BYTES:
        raise ModelError(
            f"{model.name}: {steps} steps need {size / 1e9:.3g} GB for inputs and outputs; expected at most "
            f"{_MOST_BYTES / 1e9:g} GB; take fewer outputs, a larger dt, or step_loop"
        )


def _hold_of(model: LinearModel, name: str, value: Input, hold: str | None) -> str:
    if callable(value):
        return hold or "smooth"
    if hold == "smooth":
        raise ModelError(
            f"{model.name}: input {name!r} is an array, which has no values between samples; use hold='first'"
        )
    return hold or "first"


def _sampled(model, name, value, how, time, dt, nodes):
    """Values at the nodes of each step (steps, nodes) and at the sample times (steps + 1,)."""
    if callable(value):
        if how == "smooth":
            inner = time[:-1, None] + dt * nodes[None, :-1]
            flat = _called(model, name, value, np.append(inner.ravel(), time[-1]))
            width = len(nodes) - 1
            samples = flat[::width]
            return np.column_stack([flat[:-1].reshape(-1, width), samples[1:]]), samples
        samples = _called(model, name, value, time)
    else:
        try:
            samples = real_array(value)
        except TypeError:
            raise ModelError(
                f"{model.name}: input {name!r} is {value!r:.60}; expected a function or real samples"
            ) from None
        if samples.shape != time.shape:
            raise ModelError(
                f"{model.name}: input {name!r} has shape {samples.shape}; expected {time.shape}, one value for each of the "
                f"times 0, {dt:g}, ..., {time[-1]:g} s"
            )
    if not np.all(np.isfinite(samples)):
        raise ModelError(
            f"{model.name}: input {name!r} is not finite at t = {time[np.argmin(np.isfinite(samples))]:g} s"
        )
    if how == "zero":
        return np.repeat(samples[:-1, None], len(nodes), axis=1), samples
    return samples[:-1, None] * (1 - nodes) + samples[1:, None] * nodes, samples


def _called(model, name, function, times):
    try:
        values = np.asarray(function(times), dtype=float)
        values = np.broadcast_to(values, times.shape) if values.ndim == 0 else values
    except (TypeError, ValueError):  # it only takes one time at once
        values = np.array([float(function(t)) for t in times])
    if values.shape != times.shape or not np.all(np.isfinite(values)):
        raise ModelError(
            f"{model.name}: input {name!r} as a function of time must return one finite number for each time"
        )
    return values


class StepLoop:
    """Time evolution one step at a time, inputs held over each step (exactly); controllers live in the loop's body.

    ``loop["piezo.x"] = value`` sets an input until it is set again, ``loop["probe.x"]`` reads an output at the present
    :attr:`time`, ``loop.step()`` advances by dt (manual 2.8.7 to 2.8.9)::

        loop = linear.step_loop(dt=1e-3)
        while loop.time < 20.0:
            loop["coil.fx"] = -50.0 * loop["probe.x"]
            loop.step()
    """

    def __init__(
        self,
        model: LinearModel,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
    ):
        _checked_steps(model, dt, dt)
        ss = model.state_space(inputs=inputs, outputs=outputs)
        rule = Discretisation(ss, dt, _NODES["zero"])
        self.name, self.dt = model.name, float(dt)
        self.inputs, self.outputs = ss.inputs, ss.outputs
        self._to = ss.scaling[0]
        self._states = ss.states
        self._p, self._g, self._c, self._d = rule.transition, rule.forcing, rule.output, ss.D
        self._input_number = {n: k for k, n in enumerate(ss.inputs)}
        self._output_number = {n: k for k, n in enumerate(ss.outputs)}
        self._u = np.zeros(len(ss.inputs))
        self._s = ss.scaling[1] @ ss.initial_state(initial)
        self._count = 0

    @property
    def time(self) -> float:
        """Present time in s."""
        return self._count * self.dt

    def __setitem__(self, name: str, value: float) -> None:
        if name not in self._input_number:
            raise UnknownNameError(f"{self.name}: no input {name!r}{nearest_name(str(name), self._input_number)}")
        if not is_finite(value):
            raise ModelError(
                f"{self.name}: input {name!r} is {value!r:.60} at t = {self.time:g} s; expected a finite number"
            )
        self._u[self._input_number[name]] = value

    def __getitem__(self, name: str) -> float:
        if name in self._output_number:
            k = self._output_number[name]
            return float(self._c[k] @ self._s + self._d[k] @ self._u)
        if name in self._input_number:
            return float(self._u[self._input_number[name]])
        known = [*self.outputs, *self.inputs]
        raise UnknownNameError(f"{self.name}: no output {name!r}{nearest_name(str(name), known)}")

    def read(self) -> np.ndarray:
        """All outputs (o,) at the present time, in the order of ``outputs``."""
        return self._c @ self._s + self._d @ self._u

    def set(self, values: ArrayLike) -> None:
        """Set all inputs (i,) at once, in the order of ``inputs``."""
        values = np.asarray(values, dtype=float)
        if values.shape != self._u.shape:
            raise ModelError(
                f"{self.name}: set() got shape {values.shape}; expected {self._u.shape}, one value per input"
            )
        self._u[:] = values

    def step(self) -> float:
        """Advance by one step and return the new time (s)."""
        self._s = self._p @ self._s + self._g @ self._u
        self._count += 1
        return self.time

    def state(self) -> dict[str, float]:
        """The state by name, as ``initial`` takes it."""
        return dict(zip(self._states, (self._to @ self._s).tolist(), strict=True))
