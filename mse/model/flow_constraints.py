"""The flow constraints of a whole system at a configuration, as rows on the velocities of bodies and internal coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements.flows import flow_rows
from ..errors import ModelError
from ..kernels.rotations import cross_matrix
from ..numerics.sparse_tools import empty
from .assembly import Assembly
from .configuration import Configuration
from .flattening import Element
from .topology import Topology


class FlowConstraints(NamedTuple):
    """Rows (m, n) on velocities, and the numbers of those of each element that has any."""

    slopes: sp.csr_matrix
    numbers: list[tuple[Element, np.ndarray]]


def flow_constraints(
    assembly: Assembly, at: Configuration, chosen: Callable[[Element], bool] | None = None
) -> FlowConstraints:
    """The rows of all elements, or of some ``chosen`` ones, about the reference points of an assembly's bodies."""
    t = assembly.topology
    blocks, numbers, count = [empty(0, assembly.size)], [], 0
    for kind in t.kinds:
        if not kind.cls.defines("flow_constraint"):
            continue
        for k, frames, inner in zip(kind.members, kind.frames, kind.internal, strict=True):
            el = t.elements[k]
            if chosen is not None and not chosen(el):
                continue
            own = flow_rows(el.obj, at.frames(frames), at.q[inner])
            numbers.append((el, count + np.arange(len(own))))
            count += len(own)
            blocks.append(_on_bodies(own, frames, inner, assembly, at))
    return FlowConstraints(sp.vstack(blocks, format="csr"), numbers)


def _on_bodies(
    own: np.ndarray, frames: np.ndarray, inner: np.ndarray, assembly: Assembly, at: Configuration
) -> sp.csr_matrix:
    """Rows (m, 6 F + q) of an element on the coordinates of bodies; what the ground does is zero."""
    out = np.zeros((len(own), assembly.size + 6))  # the ground's six come first here, and are left out
    bodies = assembly.body[frames]
    for k, body in enumerate(bodies.tolist()):
        block = own[:, 6 * k : 6 * k + 6].copy()
        block[:, 3:] -= block[:, :3] @ cross_matrix(at.o[frames[k]] - at.reference[body])
        out[:, 6 * body : 6 * body + 6] += block
    out[:, 6 * assembly.bodies + inner] = own[:, 6 * len(frames) :]
    return sp.csr_matrix(out[:, 6:])


def refuse_flow_constraints(topology: Topology) -> None:
    """Raise ModelError where a system has flow constraints and a curve of its equilibria is asked for, which they leave open."""
    for path in topology.flow_constrained:
        raise ModelError(
            f"{topology.elements[topology.places[path]].obj.label}: its flow constraint holds no position, so curves of "
            "equilibria depend on the way there and have no instabilities of their own; expected a system without flow "
            "constraints; leave it out, or hold the position by a joint"
        )
