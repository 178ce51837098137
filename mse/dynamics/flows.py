"""Constraints on velocities in large motions: their rows at any poses, and how these turn.

Rows ``A(x) v = 0`` give accelerations ``A a = -(dA/dt) v``; their multipliers are the forces of wheels and edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..elements.flows import flow_count, flow_rows
from ..elements.law_record import Shape, rows_of
from ..elements.recorded_laws import Together
from ..model.configuration import Configuration
from ..model.flattening import Kind
from ..model.topology import Topology

_LAW = "flow_constraint"


class FlowTerms(NamedTuple):
    """Rows A (E, m, n) of elements of one class, slopes (E, m, n) of ``A v`` by positions, and slopes (E, m, n, n) of A."""

    rows: np.ndarray
    by_x: np.ndarray
    turning: np.ndarray


class FlowPart:
    """The flow constraints of all elements of one class; ``frames`` and ``internal`` as in their group."""

    def __init__(self, topology: Topology, kind: Kind):
        self.frames, self.internal, self.members = kind.frames, kind.internal, kind.members
        self.elements = [topology.elements[k] for k in kind.members]
        self.objects = [el.obj for el in self.elements]
        self.count = flow_count(self.objects[0])
        self.shape = Shape(kind.frames.shape[1], kind.internal.shape[1])
        values = self.count * (1 + self.shape.size)
        self._together = Together(self.objects, _LAW, self.shape._replace(values=values))

    def check(self, at: Configuration) -> None:
        """Refuse rows that are not linear in velocities, by object."""
        for obj, frames, inner in zip(self.objects, self.frames, self.internal, strict=True):
            flow_rows(obj, at.frames(frames), at.q[inner])

    def terms(self, at: Configuration, v: np.ndarray) -> FlowTerms:
        """All at velocities v (E, n) of frames and internal coordinates."""
        places = [(at.frames(f), at.q[i]) for f, i in zip(self.frames, self.internal, strict=True)]
        m, n = self.count, self.shape.size
        values, slopes, _ = self._together.evaluate(rows_of(places), v, 1)
        return FlowTerms(values[:, m:].reshape(-1, m, n), slopes[:, :m], slopes[:, m:].reshape(-1, m, n, n))
