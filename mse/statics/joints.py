"""Joints at a configuration: their coordinates, the motions that they allow, and redundant constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..elements import laws
from ..elements.base import MObject
from ..model.assembly import Assembly
from ..model.configuration import Configuration
from ..numerics.rank import Rank, rank, takes_part
from ..numerics.tangent import Tangent, normalized


@dataclass(frozen=True, eq=False)
class Dependency:
    """Constraints that depend on each other.

    Attributes
    ----------
    count : int
        Number of redundant constraints.
    joints : tuple of str
        Joints that share them.
    not_unique : tuple of str
        Reactions, such as ``hinge.fy``, of which the equilibrium of rigid bodies determines sums only; the shortest ones that
        balance are given.
    """

    count: int
    joints: tuple[str, ...]
    not_unique: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.count} redundant among {', '.join(self.joints)}"


class JointValues(NamedTuple):
    """A joint by its path, and the value of each of its coordinates (m, rad) by name."""

    path: str
    joint: MObject
    values: dict[str, float]


def joint_values(assembly: Assembly, at: Configuration) -> Iterator[JointValues]:
    """The coordinates of all joints."""
    for g in assembly.groups:
        if g.cls.defines("values_at"):
            for el, memory in zip(g.elements, at.memory[g.number], strict=True):
                yield JointValues(el.path, el.obj, el.obj.values_at(at.frames(el.frames), memory))


def constraint_rank(assembly: Assembly, at: Configuration, scale: np.ndarray) -> tuple[Rank, np.ndarray]:
    """Rank of all constraints in coordinates times ``scale`` (n,), and the lengths (m,) of their slopes."""
    rows, length = _rows(assembly, at, scale)
    return rank(rows), length


def allowed_motions(assembly: Assembly, at: Configuration, scale: np.ndarray) -> Tangent | None:
    """The motions that joints allow, in coordinates times ``scale`` (n,); None without joints."""
    return Tangent(_rows(assembly, at, scale)[0], assembly.factors) if assembly.constraint_count else None


def _rows(assembly: Assembly, at: Configuration, scale: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
    """Slopes (m, n) in these coordinates, divided by their lengths, and the lengths."""
    residual, slopes = assembly.constraints(at)
    rows, _, length = normalized((slopes @ sp.diags(1.0 / scale)).tocsr(), residual)
    return rows, length


def redundant(assembly: Assembly, at: Configuration, found: Rank, length: np.ndarray) -> tuple[Dependency, ...]:
    """Joints that constrain some motion more than once, and whose reactions are therefore not unique."""
    if not len(found.dependent):
        return ()
    stress = (sp.diags(1.0 / length) @ found.self_stress).tocsc()
    stress = (stress @ sp.diags(1.0 / np.maximum(abs(stress).max(axis=0).toarray().ravel(), 1e-300))).tocsr()
    out = []
    for rows in found.sharing:
        joints, channels = [], []
        inside = np.isin(found.dependent, rows)
        among = np.isin(np.arange(found.count), rows)
        own = stress[:, inside]
        for g in assembly.groups:
            for el, numbers in zip(g.elements, assembly.constraint_rows(g), strict=True):
                if not among[numbers].any():
                    continue
                joints.append(el.path)
                shares = laws.reactions(el.obj, at.frames(el.frames))[:, : len(numbers)] @ own[numbers]
                loose = np.flatnonzero(takes_part(np.abs(shares).max(axis=1, initial=0.0)))
                channels += [f"{el.path}.{el.obj.reaction_outputs[c].name}" for c in loose]
        out.append(Dependency(int(inside.sum()), tuple(joints), tuple(channels)))
    return tuple(out)
