"""The constraints of joints in the linear model: independent rows, and one constrained coordinate for every multiplier.

A joint's constraint is ``G q = w``.  Either w is zero and the force that holds it there is the joint's reaction, or a motor
prescribes w.  A flow constraint ``A q' = 0``, for motions that begin at the working point, is likewise ``A q = w`` with w zero;
about a motion its rows turn and hold no position, so that flows without slopes have names here and no rows.  If constraints
depend on each other, only independent rows are kept.  Reactions of redundant joints are then not unique; outputs read the ones
of least sum of squares, as at the working point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..errors import ModelError
from ..model.assembly import Assembly
from ..model.flow_constraints import FlowConstraints
from ..model.topology import Element
from ..numerics.rank import rank
from ..numerics.sparse_tools import empty
from ..numerics.tangent import normalized
from ..statics.scales import joint_arm
from ..statics.working_point import WorkingPoint
from .pattern import LinearPattern


class JointRows:
    """``constraints`` (m, n + l) of a linear model, the coordinates that they determine, and the names of w.

    ``multipliers_of`` gives each element's multipliers by their numbers here, ``all_numbers`` by their numbers in the working
    point, both by path; ``sharing`` and ``self_stress`` are as in the linear model.  ``constraints()`` returns the residuals (m,)
    of all constraints and their slopes (m, width); ``flows`` are the rows of flow constraints on the same coordinates.
    """

    def __init__(
        self, wp: WorkingPoint, clusters: Assembly, constraints: Callable[[], tuple[np.ndarray, sp.csr_matrix]],
        flows: FlowConstraints, pattern: LinearPattern, chosen: Callable[[Element], bool] | None,
    ):  # fmt: skip
        self.names: tuple[str, ...] = ()
        self.constraints = empty(0, pattern.size)
        self.determined = np.zeros(0, dtype=int)
        self.multipliers_of: dict[str, np.ndarray] = {}
        self.all_numbers: dict[str, np.ndarray] = {}
        links = len(pattern.links.names)
        self.sharing = np.zeros(links)
        self.self_stress = empty(links, 0)
        if not clusters.constraint_count and not flows.numbers:
            return
        mine = np.zeros(clusters.constraint_count, dtype=bool)
        for g in clusters.groups:
            if g.constraint_count:
                for el, numbers in zip(g.elements, clusters.constraint_rows(g), strict=True):
                    self.all_numbers[el.path] = numbers
                    mine[numbers] = chosen is None or chosen(el)
        mine = np.flatnonzero(mine)
        self._name(clusters, chosen, mine)
        self._name_flows(flows, len(mine))
        n, count = wp._topology.size, len(self.names)
        if not count:
            return
        self.constraints, self.sharing = empty(0, pattern.size + count), np.ones(links + count)
        self.sharing[:links], self.self_stress = 0.0, empty(links + count, 0)
        residual, slopes = constraints()
        slopes, residual = slopes[mine], residual[mine]
        if flows.slopes.shape[0]:
            slopes = sp.vstack([slopes, flows.slopes], format="csr")
            residual = np.concatenate([residual, np.zeros(flows.slopes.shape[0])])
        if not slopes.shape[0]:
            return
        scaled, _, length = normalized((slopes[:, :n] @ sp.diags(1.0 / wp.scale)).tocsr(), residual)
        # coordinates of bodies stay named by the first along a mechanism
        found = rank(scaled, any_pivots=slice(6 * (wp._topology.units - 1), n))
        self._refuse_blocked(wp, found)
        self.determined = found.pivots
        # redundant reactions are shared as at the working point: least squares, torques divided by an arm
        lengths = np.ones(clusters.constraint_count)
        lengths[mine] = length[: len(mine)]
        weight = clusters.constraint_weights(joint_arm(wp._topology, wp.frame_poses[0], wp.scale), lengths)[mine]
        weight = np.concatenate([weight, 1.0 / length[len(mine) :]])
        self.sharing[links : links + len(weight)] = 1.0 / weight
        among = found.weighted(length).self_stress
        # empty rows of the links, and of flows without rows
        start = np.pad(among.indptr, (links, count - len(weight)), mode="edge")
        self.self_stress = sp.csr_matrix((among.data, among.indices, start), shape=(links + count, among.shape[1]))
        # rows of unit length in scaled coordinates need not have unit length here
        rows = sp.hstack([slopes, -sp.eye(len(weight), count)], format="csr")
        self.constraints = (sp.diags(weight) @ rows)[found.independent]

    def _name(self, clusters: Assembly, chosen: Callable[[Element], bool] | None, mine: np.ndarray) -> None:
        """Name the prescribed coordinates, one for each multiplier numbered ``mine`` (m,), and note whose each is."""
        place = np.full(clusters.constraint_count, -1)
        place[mine] = np.arange(len(mine))
        names, self._holder = [""] * len(mine), [""] * len(mine)
        self._drives: dict[int, str] = {}
        for g in clusters.groups:
            if not g.constraint_count:
                continue
            for el, numbers in zip(g.elements, place[clusters.constraint_rows(g)], strict=True):
                if chosen is not None and not chosen(el):
                    continue
                self.multipliers_of[el.path] = numbers
                for r, number in enumerate(numbers):
                    names[number], self._holder[number] = f"{el.path}.constraint{r}", el.path
                for channel, r in {**el.obj.motors, **el.obj.rate_motors}.items():
                    if not 0 <= r < len(numbers):
                        raise ModelError(
                            f"{el.obj.label}: motor {channel.name!r} drives residual {r}; expected a number from 0 to "
                            f"{len(numbers) - 1}"
                        )
                    names[numbers[r]] = self._drives[int(numbers[r])] = f"{el.path}.{channel.name}"
        self.names = tuple(names)

    def _name_flows(self, flows: FlowConstraints, before: int) -> None:
        """Name the prescribed coordinates of flow constraints, which follow the ``before`` rows of joints."""
        none = np.zeros(0, dtype=int)
        for el, numbers in flows.numbers:
            self.names += tuple(f"{el.path}.flow{r}" for r in range(len(numbers)))
            self._holder += [el.path] * len(numbers)
            self.multipliers_of[el.path] = np.concatenate([self.multipliers_of.get(el.path, none), before + numbers])

    def _refuse_blocked(self, wp: WorkingPoint, found) -> None:
        """Refuse a motor whose motion other constraints already determine."""
        for group in found.sharing:
            driven = [self._drives[r] for r in group.tolist() if r in self._drives]
            if driven:
                others = list(dict.fromkeys(self._holder[r] for r in group.tolist()))
                raise ModelError(
                    f"{wp.name}: the motion of {', '.join(driven)} is blocked or decided elsewhere already, by "
                    f"{', '.join(others[:8])}; expected a position motor along a motion that is free; remove a motor or a "
                    "joint, or drive with motor='force'"
                )
