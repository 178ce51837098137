"""Formulas as records, with their derivatives by all variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mse.numerics.record import Expansion, Record
from mse.numerics.recorder import Recorded


def recorded(formula: Callable, count: int) -> tuple[Record, list[int], np.ndarray]:
    """A record, its inputs, and the nodes of a formula of a vector with so many entries."""
    record = Record()
    inputs = record.inputs(count, 0)
    found = formula(Recorded(record, inputs))
    assert isinstance(found, Recorded)
    return record, inputs, found.nodes


def derivatives(formula: Callable, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (E, ...), gradients (E, ..., n) and Hessians (E, ..., n, n) of a formula at points (E, n)."""
    points = np.atleast_2d(points)
    n = points.shape[1]
    record, inputs, nodes = recorded(formula, n)
    expansions = {v: Expansion({k: record.one}) for k, v in enumerate(inputs)}
    wide = 1 + n + n * n
    outputs = [record.zero] * (nodes.size * wide)
    for k, node in enumerate(nodes.ravel().tolist()):
        outputs[k * wide] = node
        for i, x in record.by_variables(node, expansions).items():
            outputs[k * wide + 1 + i] = x
        for (i, j), x in record.hessian(node, expansions).items():
            outputs[k * wide + 1 + n + i * n + j] = outputs[k * wide + 1 + n + j * n + i] = x
    out = record.program(outputs).run(points).reshape(len(points), *nodes.shape, wide)
    return out[..., 0], out[..., 1 : 1 + n], out[..., 1 + n :].reshape(*out.shape[:-1], n, n)
