"""What a time evolution returns: outputs and inputs over time, by name."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...display import Result, table
from ...validation.arguments import find


@dataclass(frozen=True, repr=False, eq=False)
class TimeResponse(Result):
    """Outputs over time: ``history["probe.x"]`` is an array (t,); inputs are read the same way.

    ``time`` (t,) in s; ``values`` (t, outputs); ``driven`` (t, inputs); ``final_state`` by state name continues a run.
    Those of a recorded run lie in its file and are read from there as they are used.
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
        find(self.name, "output", name, (*self.outputs, *self.inputs), where="in this history")
        if name in self.outputs:
            return self.values[:, self.outputs.index(name)]
        return self.driven[:, self.inputs.index(name)]

    def unit(self, name: str) -> str:
        """Unit of one output or input."""
        self[name]
        units = dict(zip(self.inputs, self.input_units, strict=True)) | dict(
            zip(self.outputs, self.output_units, strict=True)
        )
        return units[name]

    def table(self) -> str:
        if not len(self.time):
            return f"{self.name}: no samples yet"
        rows = []
        for name, unit, v in zip(self.outputs, self.output_units, self.values.T, strict=True):
            if np.any(v):
                rows.append((name, unit, *(f"{x:.6g}" for x in (v.min(), v.max(), np.sqrt(np.mean(v**2)), v[-1]))))
        head = f"{self.name}: {len(self.time)} samples from {self.time[0]:g} to {self.time[-1]:g} s"
        return table(head, ("output", "unit", "smallest", "largest", "rms", "last"), rows)
