"""The error of a state space that was reduced by balanced truncation."""

from __future__ import annotations

import numpy as np

from ...declared import array, names, scalar
from ...display import Column, Table
from ...results import Result


class Balanced(Result):
    """What a balanced truncation left out of a state space, and a bound on its error; ``ss.balanced`` of the reduced one.

    Attributes
    ----------
    name : str
        Name of the model.
    inputs, outputs : tuple of str
        Names of the i inputs and o outputs.
    kept : int
        Number of states of free, undamped and growing motions, which no truncation takes away.
    whole : int
        Number of states before.
    singular_values : ndarray, (k,)
        Hankel singular values of the motions that decay, largest first, by inputs and outputs whose largest response is 1.
    order : int
        How many of these have a state.
    peak : ndarray, (o, i)
        Largest response of the motions that decay, at the frequencies of their poles, in the output's unit per the input's.
    bound : ndarray, (o, i)
        Most by which a response is off at any frequency, in the same unit: ``2 (sum of the singular values left out)``.
    """

    name: str
    inputs: tuple[str, ...] = names("input")
    outputs: tuple[str, ...] = names("output")
    kept: int = scalar(int)
    whole: int = scalar(int)
    singular_values: np.ndarray = array("singular", key="hankel")
    order: int = scalar(int)
    peak: np.ndarray = array("output input", key="balanced_peak")
    bound: np.ndarray = array("output input", key="balanced_bound")

    def table(self) -> Table:
        rows = [
            (o, i, float(self.peak[k, j]), float(self.bound[k, j]))
            for k, o in enumerate(self.outputs)
            for j, i in enumerate(self.inputs)
        ]
        head = f"{self.name}: {self.kept + self.order} of {self.whole} states, by balanced truncation"
        columns = ["output", "input", Column("largest response", digits=4), Column("error, at most", digits=2)]
        notes = [f"{self.kept} of them are of motions that do not decay"] if self.kept else []
        return Table(head, columns, rows, notes=notes, most=40)
