"""WorkingPoint: the static equilibrium, frozen, with everything one asks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..display import Result
from ..model.assembly import Assembly
from ..model.configuration import Configuration, State
from ..model.topology import Topology
from ..numerics.rank import Dependency, Rank
from ..numerics.read_only import Matrix, read_only, read_only_property
from ..numerics.tangent import Tangent
from ..pose import Pose
from ..validation.arguments import find
from .forces import forces_on_frames, joint_reactions, link_reactions, net_force_on_clusters, slack, tensions, twists
from .joints import JointValues, allowed_motions, constraint_rank, joint_values, redundant
from .stability import Motion, Stability
from .tables import shortened, working_point_table

if TYPE_CHECKING:
    from ..linear.linear_model import LinearModel
    from ..model.system import MSystem
    from .merit_function import MeritFunction, Point


class Iteration(NamedTuple):
    """One step of the relaxation: energy (J), largest relative residual and where, length of the step (m)."""

    number: int
    strength: float
    energy: float
    residual: float
    where: str
    step: float
    accepted: bool


class Outcome(NamedTuple):
    """How a search ended: whether at equilibrium, why not, its steps, what it met, and whether it left its branch."""

    converged: bool = True
    reason: str = ""
    history: tuple[Iteration, ...] = ()
    notes: tuple[str, ...] = ()
    branch_left: bool | None = False


class Named(Mapping):
    """A read-only mapping by name that offers the nearest name for an unknown one."""

    def __init__(self, what: str, items: dict):
        self._what, self._items = what, read_only(items)

    def __getitem__(self, name):
        return self._items[find("", self._what, name, self._items)]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __repr__(self):
        return repr(self._items)


@dataclass(frozen=True, repr=False, eq=False)
class WorkingPoint(Result):
    """Poses, forces and stability of a system at rest; made by :meth:`MSystem.find_working_point`.

    ``residual`` (n,) is the net force and torque on each coordinate, ``relative_residual`` (n,) the same over the loads
    that balance; ``stiffness`` (n, n) the full Hessian of the energy, ``coordinate_names`` its order; ``free`` the
    motions that nothing holds, ``unstable`` those that fall; ``history`` the steps of the search, ``notes`` what it met on
    its way, ``seek`` what it sought; ``load`` the factor on weights and loads; ``scale`` (n,) what one unit of each
    coordinate counts for in metres, ``size`` a length of the whole; ``rounding`` (N/m) the curvature along coordinates so
    scaled below which reactions and what they leave unbalanced tell nothing; ``branch_left`` whether the search began at a
    working point (:meth:`update`, ``start=``) and ended on another branch of equilibria than leads on from there, as past a
    limit point, None where that was not determined with about as much work as the search itself took.
    """

    name: str
    _topology: Topology
    _assembly: Assembly
    state: State
    scale: np.ndarray
    size: float
    energy: float
    residual: np.ndarray
    relative_residual: np.ndarray
    stiffness: sp.csc_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    free: tuple[Motion, ...]
    unstable: tuple[Motion, ...]
    history: tuple[Iteration, ...]
    converged: bool
    reason: str = ""
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    load: float = 1.0
    notes: tuple[str, ...] = ()
    seek: str = "stable"
    rounding: float = 0.0
    branch_left: bool | None = False

    @classmethod
    def at(
        cls,
        merit: MeritFunction,
        point: Point,
        stability: Stability,
        outcome: Outcome,
        *,
        load: float,
        seek: str,
    ) -> WorkingPoint:
        """What was evaluated at one point of a merit function, as a result."""
        point = merit.shared(point)
        found = cls(
            name=merit.topology.source.name,
            _topology=merit.topology,
            _assembly=merit.assembly,
            state=point.state,
            scale=merit.scale,
            size=merit.size,
            energy=point.energy,
            residual=-point.gradient,
            relative_residual=np.abs(point.gradient) / merit.load_scale(point.load),
            stiffness=point.stiffness,
            multipliers=point.multipliers,
            free=stability.free,
            unstable=stability.unstable,
            rounding=stability.rounding,
            load=load,
            seek=seek,
            **outcome._asdict(),
        )
        wound = [
            f"{elements[k].path} by {angles[k] / (2 * np.pi):.3g}"
            for elements, angles in twists(found._assembly, found._configuration)
            for k in np.flatnonzero(np.abs(angles) > np.pi)
        ]
        note = f"followed wires beyond half a turn, which end twisted by turns: {shortened(wound)}"
        told = note in found.notes or not wound
        return replace(found, notes=(*found.notes, note)) if found.converged and not told else found

    @cached_property
    def system(self) -> MSystem:
        """A copy of the system as it was solved."""
        return self._topology.source.restored(self.name)

    # -- geometry ---------------------------------------------------------------------------------------------
    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates of residual and stiffness."""
        return self._topology.coordinate_names

    @read_only_property
    def frame_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins (frames, 3) and orientations (frames, 3, 3) of all frames, in the order of ``poses``."""
        return self._topology.frame_poses(self.state.o, self.state.U)

    @cached_property
    def _configuration(self) -> Configuration:
        """Where everything is: what elements are evaluated at."""
        state = self.state
        return Configuration(*self.frame_poses, state.o, state.q, state.memory, self._topology.gravity)

    @cached_property
    def poses(self) -> Named:
        """World pose of every frame by name: ``poses["mass.center"]``."""
        o, u = self.frame_poses
        return Named(
            "frame", {n: Pose._of(o[k].copy(), u[k].copy()) for k, n in enumerate(self._topology.frame_labels)}
        )

    @cached_property
    def internal(self) -> Named:
        """Value of every internal coordinate by name."""
        names = self.coordinate_names[6 * (self._topology.units - 1) :]
        return Named("internal coordinate", dict(zip(names, self.state.q.tolist(), strict=True)))

    # -- forces -----------------------------------------------------------------------------------------------
    @cached_property
    def forces(self) -> Named:
        """Force and torque (frames, 6) N, N m of each element on its frames, world axes, each about its frame's origin."""
        found = forces_on_frames(self._assembly, self._configuration, self.multipliers, self.load)
        return Named("element with forces", found)

    @cached_property
    def twists(self) -> Named:
        """Twist (rad) of every wire, of frame 1 against frame 0 about the line to it, right-handed, whole turns included."""
        found = twists(self._assembly, self._configuration)
        return Named("wire", {el.path: x for of, angles in found for el, x in zip(of, angles.tolist(), strict=True)})

    @cached_property
    def tensions(self) -> Named:
        """Pull (N) of each two-frame element along the line between its origins; positive when it pulls them together."""
        return Named("element with a tension", tensions(self._topology, self._configuration, self.forces))

    @cached_property
    def reactions(self) -> Named:
        """Force and torque (6,) that frame 0 of each actuator, force sensor and joint exerts on frame 1, axes of frame 1.

        For joints without the force of their springs, the torque about the origin of frame 0; a rod gives its pull alone.
        """
        found = link_reactions(self._topology, self._configuration, self.forces)
        found |= joint_reactions(self._assembly, self._configuration, self.multipliers)
        return Named("position actuator, force sensor or joint", found)

    def net_force_on_clusters(self) -> np.ndarray:
        """Sum of element forces on each cluster, torque about the world origin; (clusters, 6)."""
        return net_force_on_clusters(self._topology, self._configuration, self.forces)

    # -- joints -----------------------------------------------------------------------------------------------
    @cached_property
    def joint_coordinates(self) -> Named:
        """Value of every joint coordinate (m, rad) by name: ``joint_coordinates["hinge.angle"]``."""
        return Named("joint coordinate", {f"{p}.{n}": x for p, _, found in self._joints for n, x in found.items()})

    @property
    def exceeded(self) -> tuple[str, ...]:
        """In words, each joint coordinate beyond its limits."""
        return tuple(text for _, joint, found in self._joints for text in joint.exceeded(found))

    @cached_property
    def _joints(self) -> tuple[JointValues, ...]:
        return tuple(joint_values(self._assembly, self._configuration))

    @cached_property
    def _rank(self) -> tuple[Rank, np.ndarray]:
        """Rank of all constraints, and the lengths that their slopes had."""
        return constraint_rank(self._assembly, self._configuration, self.scale)

    @cached_property
    def _tangent(self) -> Tangent | None:
        """The motions that joints allow, in coordinates times ``scale``; None without joints."""
        return allowed_motions(self._assembly, self._configuration, self.scale)

    @property
    def freedoms(self) -> int:
        """Number of independent motions that joints and clamps allow."""
        return self._topology.size - len(self._rank[0].independent)

    @cached_property
    def redundant(self) -> tuple[Dependency, ...]:
        """Which joints hold some motion more than once, and whose reactions are therefore not unique."""
        return redundant(self._assembly, self._configuration, *self._rank)

    @property
    def slack(self) -> tuple[str, ...]:
        """Elements that push here although a real one would be slack (wires in compression)."""
        return slack(self._topology.elements, self.tensions)

    # -- stability --------------------------------------------------------------------------------------------
    @property
    def stable(self) -> bool:
        """Whether no motion lowers the energy; motions that nothing holds do not count.

        False too where loads without an energy act: whether they let go or feed a motion is not decided here.
        """
        return self.converged and not self.unstable and self._topology.conservative

    # -- neighbours -------------------------------------------------------------------------------------------
    def update(self, changes: Mapping[str, Any], *, throw: bool = True) -> WorkingPoint:
        """The working point of the same system with other parameters: ``update({"wire.length": 0.51})``.

        Searched from here, for what was sought before (``seek``), with everything kept that does not depend on the
        parameters.  Raises as :meth:`MSystem.find_working_point` does.
        """
        from .solve_again import updated

        return updated(self, changes, throw)

    # -- next stage -------------------------------------------------------------------------------------------
    def linearize(self, *, within: Sequence[str] | str | None = None, anywhere: bool = False) -> LinearModel:
        """Small motions about this working point: ``M x'' + Lambda x' + K x = A u, y = B x`` with all prestress.

        ``within`` names objects or subsystems whose model is wanted alone, with the coordinates that they touch, the forces
        that the rest exerts on them as ``affine``, and their frames as ``interfaces`` for :func:`mse.compose`.

        Raises WorkingPointError where the search did not converge: off equilibrium there is no such model.  ``anywhere=True``
        linearises all the same, and the model says which constant force, ``affine``, is left.
        """
        from ..linear.linearize import linearize

        return linearize(self, within=within, anywhere=anywhere)

    def save(self, path: str | Path) -> None:
        """Write the working point and its system as JSON, without loss; :func:`mse.read_model` reads it."""
        from .files import save

        save(self, path)

    # -- display ----------------------------------------------------------------------------------------------
    def outlines(self):
        """``(element path, class name, Outline)`` of every element, for drawing."""
        for el in self._topology.elements:
            if not el.inner:
                yield el.path, type(el.obj).__name__, el.obj.outline(self._configuration.frames(el.frames))

    def table(self) -> str:
        return working_point_table(self)
