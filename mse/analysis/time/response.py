"""The result of a time evolution: outputs and inputs over time, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...declared import array, axis, entry, names
from ...display import ROUNDING, Column, Table, scales, without_rounding
from ...model.parameter_record import ParameterRecord, recorded_parameters
from ...results import Result
from ...validation.arguments import find
from .inputs import NODES

if TYPE_CHECKING:
    from ...saved import Reader


def _moving(state: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in state.items() if value}


class Crossing(NamedTuple):
    """An output of a large motion passed a level, ``output(time) = level``; from :attr:`.TimeResponse.crossings`.

    Attributes
    ----------
    output : str
        Name of the output.
    level : float
        The level that it passed.
    time : float, s
        When that was.
    rising : bool
        Whether it went upwards.
    """

    output: str
    level: float
    time: float
    rising: bool


class TimeResponse(Result):
    """Outputs over time: ``history["probe.x"]`` is an array (t,); inputs are read the same way.

    Made by :meth:`.LinearModel.simulate`, :meth:`.StepLoop.run` and :func:`mse.read_recording`.  Arrays of a recorded run lie in
    its file and are read from there as they are used.

    Attributes
    ----------
    name : str
        Name of the model.
    time : ndarray, (t,), s
        Times of the samples.
    values : ndarray, (t, o)
        Outputs.
    outputs, inputs : tuple of str
        Names of the o outputs and i inputs.
    output_units, input_units : tuple of str
        Their units.
    driven : ndarray, (t, i)
        Inputs.
    final_state : dict of str to float
        State after the last sample by name; ``initial`` of the next run continues there.
    parameters : ParameterRecord
        Parameters of the objects of the system, by their paths; none in recorded runs.
    initial_state : dict of str to float
        State at the first sample; names that are left out are at rest.
    holds : tuple of str
        How each input went between the samples: "zoh", "foh" or "smooth", as :meth:`.LinearModel.simulate` says; empty if that
        is not known.
    between : ndarray, (t - 1, 3 s)
        Values of the s smooth inputs inside each step, at the three inner Gauss-Lobatto points; without rows if not known, as in
        recorded runs.
    crossed : tuple of str
        Names of the c outputs of large motions that passed a level, in the order of time.
    passages : ndarray, (c, 3)
        Level, time (s) and direction (1 upwards, -1 downwards) of each; :attr:`crossings` are the same by name.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[0.0]], coordinates=["mass.x"])
    >>> history = model.simulate(duration=2.0, dt=0.5, inputs={"mass.x": np.ones(5)})
    >>> history["mass.x"]
    array([0.   , 0.125, 0.5  , 1.125, 2.   ])
    >>> {name: round(value, 9) for name, value in history.final_state.items()}
    {'mass.x': 2.0, "mass.x'": 2.0}
    """

    name: str
    time: np.ndarray = axis("time", "s")
    values: np.ndarray = array("time output", units="output_units", columns="{output}", apart=True, finite=False)
    outputs: tuple[str, ...] = names("output")
    output_units: tuple[str, ...] = names("output", "")
    driven: np.ndarray = array("time input", units="input_units", columns="{input}", apart=True, finite=False)
    inputs: tuple[str, ...] = names("input")
    input_units: tuple[str, ...] = names("input", "")
    final_state: dict[str, float] = entry("by_name", "state", key="states final_state")
    parameters: ParameterRecord = recorded_parameters()
    initial_state: dict[str, float] = entry(
        "by_name", "state", key="states initial_state", make=_moving, default_factory=dict
    )
    # files of earlier versions do not have it
    holds: tuple[str, ...] = names("hold", "", sign="holds", default=())
    between: np.ndarray = array("* *", finite=False, sign="between", default=np.zeros((0, 0)))
    crossed: tuple[str, ...] | None = names("crossing", "", sign="crossed", default=None)
    passages: np.ndarray | None = array("crossing 3", sign="passages", default=None)

    @classmethod
    def _check_read(cls, reader: Reader, found: Mapping[str, Any]) -> None:
        holds = found.get("holds", ())
        if holds and (len(holds) != len(found["inputs"]) or not set(holds) <= set(NODES)):
            expected = f"one of {', '.join(NODES)} for each input"
            raise reader.damaged("the list 'holds'", f"is {', '.join(holds)}", expected)

    def __getitem__(self, name: str) -> np.ndarray:
        find(self.name, "output", name, (*self.outputs, *self.inputs), where="in this history")
        if name in self.outputs:
            return self.values[:, self.outputs.index(name)]
        return self.driven[:, self.inputs.index(name)]

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """Outputs that passed a level, in the order of time, each with ``output``, ``level``, ``time`` (s) and ``rising``."""
        if self.crossed is None or self.passages is None:
            return ()
        passages = zip(self.crossed, self.passages.tolist(), strict=True)
        return tuple(Crossing(name, level, time, sign > 0.0) for name, (level, time, sign) in passages)

    def unit(self, name: str) -> str:
        """Unit of one output or input.

        Parameters
        ----------
        name : str
            Name of an output or input.

        Returns
        -------
        str
            Its unit.

        Raises
        ------
        UnknownNameError
            Neither has this name.
        """
        self[name]
        units = dict(zip(self.inputs, self.input_units, strict=True)) | dict(
            zip(self.outputs, self.output_units, strict=True)
        )
        return units[name]

    def table(self) -> Table:
        if not len(self.time):
            return Table(f"{self.name}: no samples yet")
        lowest, highest, last = self.values.min(axis=0), self.values.max(axis=0), self.values[-1]
        sizes = np.maximum(-lowest, highest)
        scale = scales(sizes, self.output_units)
        shown = np.flatnonzero(sizes > ROUNDING * scale)
        rms = np.array([np.sqrt(np.mean(self.values[:, k] ** 2)) for k in shown])
        numbers = without_rounding([lowest[shown], highest[shown], rms, last[shown]], scale[shown]).T
        rows = [(self.outputs[k], self.output_units[k], *row) for k, row in zip(shown, numbers.tolist(), strict=True)]
        head = f"{self.name}: {len(self.time)} samples from {self.time[0]:g} to {self.time[-1]:g} s"
        columns = ("output", "unit", *(Column(n, digits=6) for n in ("smallest", "largest", "rms", "last")))
        return Table(head, columns, rows)
