"""Sums of squares of responses, ``sum_k |c_k Z^-1 b|^2``, added up while the solution of a frequency is at hand."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...linear.linear_model import LinearModel
from ...progress.tasks import SOLVING, Task
from .readings import Readings
from .response import Prepared, little
from .sweep import Stopped, Sweep

# Bytes of responses whose squares are added up together, about the second cache: of benchmarks/run.py --only kagra, 100,000
# frequencies took 0.87 s, with a tenth of it 1.00 s, with ten times of it 0.93 s, with a thousand times 1.47 s.
_AT_ONCE = 1e6


class Squares:
    """Responses of a model to its inputs, and sums of squares of its first outputs' responses to the first input.

    Sum s has the outputs ``first[s]`` to ``first[s + 1]``; outputs after them are given as they are.  If there is a second input,
    it acts by its rate: its response counts ``i w`` times and is added to the first one.
    """

    def __init__(self, model: LinearModel, first: np.ndarray):
        self._model, self._first, self._count = model, first, int(first[-1])

    @cached_property
    def _each(self) -> Prepared:
        return Prepared(self._model, None, None)

    @cached_property
    def _others(self) -> Prepared:
        return Prepared(self._model, None, self._model.outputs[self._count :])

    @cached_property
    def _sweep(self) -> Sweep | None:
        """Adds up squares in the elimination; None where it would need more than readings of the coordinates."""
        others = self._others
        model, system = others.model, others.system
        rows = model.measure[: self._count].tocsr()
        swept = system.swept(system.drive)
        held = rows[:, model.size :] @ model.drive
        on_border = any(a.any() for a in (*system.dragged, *system.reads))
        if swept is None or len(model.inputs) > 1 or not self._count or held.nnz or on_border:
            return None
        readings = Readings(rows[:, : model.size], self._first)
        return Sweep(model.name, *swept, system.read, system.added, system.multipliers, readings)

    def at(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sums (sums, s) and other responses (s, others) at the s solved ones of ascending frequencies f (Hz).

        Last comes which (f,) these are: all of them, or after Ctrl-C some.
        """
        free = self._model.size - self._model.constraints.shape[0]
        if not len(f) or little(free, f) or self._sweep is None:
            return self._one_by_one(f)
        system, w = self._others.system, 2.0 * np.pi * f
        sums, stopped = np.empty((len(self._first) - 1, len(f))), False
        with Task(self._model.name, SOLVING, len(f), "frequencies", show=False) as task:
            try:
                values, good = self._sweep(w, task.tell, sums)
            except Stopped as stop:
                values, good, stopped = stop.values, stop.solved, True
        good &= (f > 0.0) | (system.back is None)  # as for responses
        system.add_direct(values, w)
        values = values[:, :, 0]
        wrong = np.flatnonzero(~good)
        if len(wrong) and not stopped:
            again, own, solved = self._one_by_one(f[wrong])
            sums[:, wrong[solved]], values[wrong[solved]], good[wrong[solved]] = again, own, True
        return (sums, values, good) if good.all() else (sums[:, good], values[good], good)

    def _one_by_one(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same by all responses, checked and with pivoting where necessary."""
        found, solved = self._each.solved(f)
        values = found[:, :, 0]
        if found.shape[2] > 1:
            values = values + 2j * np.pi * f[solved, None] * found[:, :, 1]
        return sums_of_squares(values[:, : self._count], self._first), values[:, self._count :], solved


def sums_of_squares(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Sums (s, f) of ``|values|^2`` (f, k), sum s from number ``first[s]`` to ``first[s + 1]``."""
    count, sums = int(first[-1]), len(first) - 1
    which = sp.csr_matrix((np.ones(count), np.arange(count), first), shape=(sums, count))
    out = np.empty((sums, len(values)))
    step = max(1, int(_AT_ONCE / (16 * max(count, 1))))
    for start in range(0, len(values), step):
        some = slice(start, start + step)
        own = np.ascontiguousarray(values[some].T).view(float)  # real and imaginary parts in turn
        squares = which @ (own * own)
        np.add(squares[:, ::2], squares[:, 1::2], out=out[:, some])
    return out
