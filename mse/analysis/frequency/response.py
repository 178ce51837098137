"""Frequency response: ``y/u`` for ``exp(+i w t)``, solved directly at every frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...declared import array, axis, names
from ...display import ROUNDING, Column, Table, amounts, scales, without_rounding
from ...elements.loss_laws import LossGiven
from ...errors import Interrupted, ModelError, UnknownNameError
from ...linear.independent import augmented
from ...linear.linear_model import LinearModel
from ...linear.losses import loss_factors
from ...model.parameter_record import ParameterRecord, recorded_parameters
from ...numerics.blas_threads import one_thread
from ...numerics.options import SIZES
from ...progress.tasks import SOLVING, Show, Task
from ...results import Result
from ...validation.arguments import find, frequencies, number, shown
from ..resources import refuse_beyond_memory
from .direct import solve
from .equations import Equations
from .interpolation import interpolated
from .sweep import BACKWARD, Stopped, Sweep

if TYPE_CHECKING:
    import control


class FrequencyResponse(Result):
    """Complex response of every output to every input: ``response["probe.x", "piezo.x"]`` is an array (f,).

    Made by :meth:`.LinearModel.frequency_response`.

    Attributes
    ----------
    name : str
        Name of the model.
    frequencies_hz : ndarray, (f,), Hz
        Frequencies, in the order asked for.
    values : ndarray of complex, (f, o, i)
        Responses for ``exp(+i w t)``, in the output's unit per the input's.
    inputs, outputs : tuple of str
        Names, in the order of ``values``.
    input_units, output_units : tuple of str
        Units in the same order.
    notes : tuple of str
        Where the solution took another way than usual: interpolation, pivoting.
    parameters : ParameterRecord
        Parameters of the objects of the system, by their paths.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices([[1.0]], [[0.2]], [[1.0]], coordinates=["mass.x"])
    >>> response = model.frequency_response([0.0, 1 / (2 * np.pi)])
    >>> np.round(response["mass.x", "mass.x"], 9)
    array([1.+0.j, 0.-5.j])
    >>> response.unit("mass.x", "mass.x")
    'm/N'
    """

    name: str
    frequencies_hz: np.ndarray = axis("frequency", "Hz")
    values: np.ndarray = array(
        "frequency output input", "c", label="response", units="_units", columns=("output", "input")
    )
    inputs: tuple[str, ...] = names("input")
    outputs: tuple[str, ...] = names("output")
    input_units: tuple[str, ...] = names("input", "")
    output_units: tuple[str, ...] = names("output", "")
    notes: tuple[str, ...] = names("*", default=())
    parameters: ParameterRecord = recorded_parameters()

    def __getitem__(self, pair: tuple[str, str]) -> np.ndarray:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ModelError(f"{self.name}: response[{shown(pair)}]; expected two names, response[output, input]")
        names = all(isinstance(x, str) for x in pair)
        if names and pair[0] not in self.outputs and pair[0] in self.inputs and pair[1] in self.outputs:
            raise UnknownNameError(
                f"{self.name}: response{list(pair)} has the input first; expected (output, input); write "
                f"response[{pair[1]!r}, {pair[0]!r}]"
            )
        return self.values[:, self._find("output", pair[0], self.outputs), self._find("input", pair[1], self.inputs)]

    def _find(self, what: str, name: str, known: tuple[str, ...]) -> int:
        return known.index(find(self.name, what, name, known, where="in this response"))

    def unit(self, output: str, input: str) -> str:
        """Unit of one response, such as ``m/N``.

        Parameters
        ----------
        output, input : str
            Names of the two.

        Returns
        -------
        str
            The output's unit over the input's.

        Raises
        ------
        UnknownNameError
            There is no such output or input in this response.
        """
        o = self.output_units[self._find("output", output, self.outputs)]
        i = self.input_units[self._find("input", input, self.inputs)]
        return f"{o}/({i})" if " " in i else f"{o}/{i}"

    def to_control(self) -> control.FrequencyResponseData:
        """The same for python-control (extra ``control``), whose margins and plots take frequency data.

        Returns
        -------
        control.FrequencyResponseData
            With named inputs and outputs, '.' being '_' in them, by ascending frequencies in rad/s.

        Raises
        ------
        ModelError
            Two names would become one; the message names both.
        MissingPackageError
            python-control is not installed.
        """
        from ...tools.exchange.control_systems import frequency_data

        return frequency_data(self)

    @property
    def _units(self) -> np.ndarray:
        units = [[self.unit(o, i) for i in self.inputs] for o in self.outputs]
        return np.array(units, dtype=str).reshape(self.values.shape[1:])

    def pairs(self) -> list[tuple[str, str]]:
        """The responses above the rounding (1e-12) of the largest one of their unit.

        Returns
        -------
        list of tuple of str
            (output, input) names.
        """
        return [pair for pair, size, scale in zip(*self._sizes(), strict=True) if size > ROUNDING * scale]

    def _sizes(self) -> tuple[list[tuple[str, str]], np.ndarray, np.ndarray]:
        """All pairs of (output, input), their largest sizes, and the largest size of the same unit."""
        pairs = [(o, i) for i in self.inputs for o in self.outputs]
        sizes = np.abs(self.values).max(axis=0, initial=0.0).T.ravel()
        return pairs, sizes, scales(sizes, [self.unit(o, i) for o, i in pairs])

    def table(self) -> Table:
        f = self.frequencies_hz
        span = f"{f.min():.6g} to {f.max():.6g} Hz" if len(f) else "none"
        rows, pairs = [], self._sizes()[0]
        units = [self.unit(o, i) for o, i in pairs]
        # what is rounding depends on what else moves at the same frequency: a payload far above its resonances hardly does
        shown = [0, -1] if len(f) else []
        ends = np.abs(self.values[shown]).transpose(0, 2, 1).reshape(len(shown), len(pairs))
        ends = np.array([without_rounding(size, scales(size, units)) for size in ends]).T
        for k, ((o, i), largest, scale) in enumerate(zip(*self._sizes(), strict=True)):
            if largest > ROUNDING * scale:
                peak = int(np.argmax(np.abs(self[o, i])))
                first, last = ends[k].tolist()
                rows.append((o, i, self.unit(o, i), first, float(largest), float(f[peak]), last))
        numbers = (
            Column("at first", digits=6),
            Column("largest", digits=6),
            Column("at", "Hz", 6),
            Column("at last", digits=6),
        )
        title = f"{self.name}: response at {amounts(frequency=len(f))}, {span}"
        notes = [f"note: {note}" for note in self.notes]
        return Table(title, ("output", "input", "unit", *numbers), rows, notes=notes)


@one_thread
def frequency_response(
    model: LinearModel,
    frequencies_hz: ArrayLike,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    loss: Mapping[str | tuple[str, str], LossGiven] | None = None,
    bound: float = 1e-9,
    progress: Show = True,
) -> FrequencyResponse:
    """See :meth:`.LinearModel.frequency_response`.

    Prescribed displacements enter with the stiffness, damping and mass that they move; force sensors read the reaction that
    constrains them; exact members enter with their dynamic stiffness.
    """
    f = np.atleast_1d(frequencies(model.name, frequencies_hz))
    if f.ndim != 1:
        raise ModelError(f"{model.name}: frequencies_hz has shape {f.shape}; expected one dimension")
    bound = number(model.name, "bound", bound, minimum=0.0)
    prepared = Prepared(model, inputs, outputs, loss)
    model, names = prepared.model, prepared.names
    refuse_beyond_memory(
        model.name, 16.0 * len(f) * len(names[1]) * len(names[0]),
        f"responses of {len(names[1])} outputs to {len(names[0])} inputs at {len(f)} frequencies need {{}}",
        "ask for fewer of them at a time",
    )  # fmt: skip
    with Task(model.name, SOLVING, len(f), "frequencies", show=progress) as task:
        try:
            values, notes = prepared(f, bound, task)
        except Stopped as stopped:
            how = f"interrupted after {np.count_nonzero(stopped.solved)} of {len(f)} frequencies"
            notes = [how]
            if stopped.interpolated:
                notes.append(
                    f"{stopped.interpolated} of them by rational interpolation: error below {bound:.1e}, estimated"
                )
            so_far = FrequencyResponse(
                model.name, f[stopped.solved], stopped.values[stopped.solved], *names, tuple(notes), model.parameters
            )
            raise Interrupted(f"{model.name}: {how}, see the result of this error", so_far) from None
        return task.finished(FrequencyResponse(model.name, f, values, *names, notes, model.parameters))


class Prepared:
    """Responses of a model from inputs to outputs, prepared once for any frequencies.

    Loss factors of elements hold unless ``loss`` gives others.  ``model`` is the one that is solved, in independent coordinates
    or with multipliers.  Responses at w are those at ``s = shift + i w``, for a model into which s is put.
    """

    def __init__(
        self, model: LinearModel, inputs: Sequence[str] | None, outputs: Sequence[str] | None,
        loss: Mapping[str | tuple[str, str], LossGiven] | None = None, shift: float = 0.0,
    ):  # fmt: skip
        self.model, back = unconstrained(model)
        self._shift = shift
        i, o = self.model.input_indices(inputs), self.model.output_indices(outputs)
        #: names of inputs and of outputs, and their units
        self.names = tuple(
            tuple(known[k] for k in on)
            for known, on in (
                (self.model.inputs, i), (self.model.outputs, o), (self.model.input_units, i), (self.model.output_units, o)
            )
        )  # fmt: skip
        #: the equations that are solved
        self.system = Equations(self.model, i, o, loss_factors(model, loss), model, back)

    @cached_property
    def _sweep(self) -> Sweep | None:
        system = self.system
        swept = system.swept(system.drive)
        return None if swept is None else Sweep(self.model.name, *swept, system.read, system.added, system.multipliers)

    @cached_property
    def _unit(self) -> np.ndarray:
        """Numbers of the units of the responses (outputs, inputs)."""
        _, _, given, read = self.names
        acting = self.system.acting
        driven = [(given[k], integral) for k, integral in zip(acting.of, acting.integral, strict=True)]
        units = [(b, a) for b in read for a in driven]
        numbers = {unit: k for k, unit in enumerate(dict.fromkeys(units))}
        return np.array([numbers[u] for u in units], dtype=int).reshape(len(read), len(driven))

    def __call__(self, f: np.ndarray, bound: float, task: Task) -> tuple[np.ndarray, tuple[str, ...]]:
        """The response (f, outputs, inputs) at frequencies f (Hz), interpolated to the ``bound`` if it is not zero, and notes.

        Raises :class:`.Stopped` after Ctrl-C.
        """
        s = self._shift + 2j * np.pi * f
        try:
            values, notes = self._to_columns(f, bound, task)
        except Stopped as stopped:
            raise Stopped(self.system.by_input(stopped.values, s), stopped.solved, stopped.interpolated) from None
        return self.system.by_input(values, s), notes

    def _to_columns(self, f: np.ndarray, bound: float, task: Task) -> tuple[np.ndarray, tuple[str, ...]]:
        """The same to what inputs act by, themselves or their integrals."""
        model, system = self.model, self.system
        outputs, inputs = system.shape
        if not len(f) or not system.n or not inputs:
            return system.direct(2 * np.pi * f), ()
        if not outputs or little(system.n, f):
            return solve(model, system, f, task.tell), ()
        sweep = self._sweep
        if sweep is None:
            note = "solved one by one with pivoting, since elimination without pivoting is for symmetric matrices"
            return solve(model, system, f, task.tell), (note,)
        pivoted: list[float] = []

        def samples(f: np.ndarray) -> np.ndarray:
            with Task(model.name, "samples for interpolation", len(f), "frequencies") as some:
                return self._direct(f, some, pivoted)

        notes = []
        many = len(f) >= SIZES.interpolated_frequencies
        if bound > 0 and many and sweep.cycles(len(f)) > SIZES.interpolated_cycles:
            values, solved, error = interpolated(samples, f, self._unit, bound)
            if not solved.all():
                notes.append(
                    f"{np.count_nonzero(solved)} of {len(f)} frequencies solved, the others by rational interpolation: "
                    f"error below {max(error, 1e-15):.1e} of the largest response, estimated (bound {bound:.1e})"
                )
        else:
            values = self._direct(f, task, pivoted)
        if pivoted:
            few = ", ".join(f"{x:.6g}" for x in sorted(pivoted)[:4]) + (", ..." if len(pivoted) > 4 else "")
            why = f"without pivoting the check failed (a residual above {BACKWARD:.0e})"
            if system.multipliers:
                why += ", or constraints cost half of the digits"
            if model.members:
                why += ", or a dynamic stiffness is unsymmetric there"
            notes.append(f"{len(pivoted)} of {len(f)} frequencies ({few} Hz) solved one by one with pivoting: {why}")
        return values, tuple(notes)

    def solved(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The response (s, outputs, inputs) at the s solved ones of the frequencies f, and which (f,) these are.

        They are all of them, or after Ctrl-C some.
        """
        with Task(self.model.name, SOLVING, len(f), "frequencies", show=False) as task:
            try:
                return self(f, 0.0, task)[0], np.ones(len(f), dtype=bool)
            except Stopped as stopped:
                return stopped.values[stopped.solved], stopped.solved

    def whole(self, f: np.ndarray) -> np.ndarray:
        """The response (f, outputs, inputs) for searches, of which a part is of no use: KeyboardInterrupt after Ctrl-C."""
        values, solved = self.solved(f)
        if not solved.all():
            raise KeyboardInterrupt
        return values

    def _direct(self, f: np.ndarray, task: Task, pivoted: list[float]) -> np.ndarray:
        """All frequencies solved; those that needed pivots are added to ``pivoted``."""
        model, system = self.model, self.system
        try:
            values, good = self._sweep(2 * np.pi * f, task.tell)
            stopped = False
        except Stopped as stop:
            values, good, stopped = stop.values, stop.solved, True
        # joints often leave zero-stiffness motions; at 0 Hz no check of an answer can tell their rounding from stiffness
        good &= (f > 0) | (system.back is None)
        system.add_direct(values, 2 * np.pi * f)
        if stopped:
            raise Stopped(values, good)
        if not good.all():
            with Task(model.name, "with pivots", np.count_nonzero(~good), "frequencies") as few:
                try:
                    values[~good] = solve(model, system, f[~good], few.tell)
                except Stopped:
                    raise Stopped(values, good) from None
            pivoted.extend(f[~good])
        return values


def little(coordinates: int, f: np.ndarray) -> bool:
    """Whether dense matrices are solved at frequencies f sooner than a sweep is prepared."""
    return coordinates <= SIZES.few_coordinates and len(f) <= SIZES.few_frequencies


def unconstrained(model: LinearModel) -> tuple[LinearModel, sp.csr_matrix | None]:
    """The model in independent coordinates, or if large with multipliers, and the matrix back to its coordinates (n, size).

    Without constraints the model itself and None.
    """
    if not model.constraints.shape[0]:
        return model, None
    return model.reduced if model.size <= SIZES.dense else augmented(model)
