"""WorkingPoint: the static equilibrium, frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..display import Table
from ..elsewhere import arguments_by_name
from ..model.assembly import Assembly
from ..model.configuration import Configuration, State
from ..model.evaluation import Evaluation
from ..model.sensors import readings
from ..model.topology import Topology
from ..numerics.rank import Rank
from ..numerics.read_only import Matrix, read_only_property
from ..numerics.tangent import Tangent
from ..pose import Pose
from ..results import Result
from .cautions import cautions
from .flows_and_potentials import OfCircuits
from .forces import (
    forces_on_frames,
    joint_reactions,
    link_reactions,
    net_force_on_clusters,
    slack,
    tensions,
    twists,
)
from .history import DRAWN, Outcome, Steps
from .joints import Dependency, JointValues, allowed_motions, constraint_rank, joint_values, redundant
from .judged import Judged
from .named import Named
from .scales import force_rounding
from .showing import Showing
from .stability import Stability
from .tables import (
    coordinate_table,
    force_table,
    internal_table,
    pose_table,
    pull_table,
    reaction_table,
    reading_table,
    shortened,
    twist_table,
    working_point_table,
)

if TYPE_CHECKING:
    from ..elements.base import Outline
    from ..linear.linear_model import LinearModel
    from ..model.system import MSystem
    from ..progress.reports import Progress
    from .merit_function import MeritFunction, Point
    from .options import SearchOptions


@arguments_by_name
class WorkingPoint(Result, Judged, OfCircuits, Showing):
    """Poses, forces and stability of a system in static equilibrium; made by :meth:`.MSystem.find_working_point`.

    Attributes
    ----------
    name : str
        Name of the system.
    state : State
        Poses of bodies, internal coordinates and memories of the elements.
    scale : ndarray, (n,), m
        Displacement that one unit of each coordinate stands for.
    size : float, m
        A length of the whole system.
    energy : float, J
        Potential energy.
    residual : ndarray, (n,), N, N m
        Net force and torque on each coordinate.
    relative_residual : ndarray, (n,)
        The same relative to the loads that balance; without loads, relative to the terms that cancel in its forces (stiffness
        times positions).
    stiffness : scipy.sparse.csc_matrix, (n, n), N/m, N, N m
        Hessian of the energy, in the order of ``coordinate_names``.
    history : Steps
        Steps of the search, each an :class:`.Iteration`.
    converged : bool
        Whether this is an equilibrium.
    reason : str
        Why it is no equilibrium; otherwise empty.
    multipliers : ndarray, (m,)
        Multipliers of the constraints of joints.
    load_factor : float
        Factor on weights and loads.
    seek, start : str
        Kind of equilibrium that was sought, and in words where the search began, which decides between several equilibria.
    rounding : ndarray, (n,), N/m
        By how much rounding may have changed the stiffness of each coordinate (scaled coordinates).
    branch_left : bool or None
        Whether a search from a working point (:meth:`update`, ``start=``), or from poses that balance without loads, ended on
        another branch of equilibria, as it does past a limit point.  None if finding out would take much more work than the
        search itself.

    Examples
    --------
    >>> stage = mse.MSystem("stage")
    >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
    >>> point = stage.find_working_point()
    >>> print(point.stable, [motion.name for motion in point.free])
    True ['mass.ax', 'mass.ay', 'mass.az']
    >>> np.round(point.forces["spring"][:, 2], 6) + 0.0  # on its two frames
    array([-9.8,  9.8])
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
    stiffness: sp.csc_matrix = Matrix()
    _sorted: Stability
    history: Steps
    converged: bool
    reason: str = ""
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    load_factor: float = 1.0
    _told: tuple[str, ...] = ()  # remarks of the search
    _drawn: State | None = None  # where the search began, if its start was drawn
    seek: str = "stable"
    rounding: np.ndarray = field(default_factory=lambda: np.zeros(0))
    branch_left: bool | None = False
    start: str = ""

    @classmethod
    def _at(
        cls,
        merit: MeritFunction,
        point: Point,
        stability: Stability,
        outcome: Outcome,
        *,
        load_factor: float,
        seek: str,
    ) -> WorkingPoint:
        """The result of a search at a point of its merit function, with its stability and how the search ended."""
        point = merit.shared(point)
        return cls(
            name=merit.topology.source.name,
            _topology=merit.topology,
            _assembly=merit.assembly,
            state=point.state,
            scale=merit.scale,
            size=merit.size,
            energy=point.energy,
            residual=-point.gradient,
            relative_residual=np.abs(point.gradient) / merit.load_scale(point),
            stiffness=point.stiffness,
            multipliers=point.multipliers,
            _sorted=stability,
            rounding=stability.noise,
            load_factor=load_factor,
            seek=seek,
            converged=outcome.converged,
            reason=outcome.reason,
            history=Steps(outcome.history),
            branch_left=outcome.branch_left,
            start=outcome.start,
            _told=outcome.notes,
            _drawn=merit.start if outcome.start == DRAWN else None,
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the search, on the model, and on how far laws of elements may be off here."""
        of_model = [*(note for group in self._assembly.groups for note in group.notes), *self._topology.notes]
        if not self.converged:
            return tuple(dict.fromkeys([*self._told, *of_model]))
        began = None if self._drawn is None else Evaluation(self._assembly, self._drawn).configuration
        warned = cautions(self._topology, self._configuration, began)
        return tuple(dict.fromkeys([*self._told, *self._kept(), *of_model, *warned]))

    def _kept(self) -> Iterator[str]:
        """Notes on windings and flow constraints, which an equilibrium keeps from where its search began."""
        wound = [
            f"{elements[k].path} by {angles[k] / (2 * np.pi):.3g}"
            for elements, angles in twists(self._assembly, self._configuration)
            for k in np.flatnonzero(np.abs(angles) > np.pi)
        ]
        if wound:
            yield f"followed elements beyond half a turn, which end twisted by turns: {shortened(wound)}"
        if flows := self._topology.flow_constrained:
            yield f"found an equilibrium in which the flow constraints of {shortened(flows)} carry no load"

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
        """Poses, coordinates and memories at which elements are evaluated."""
        return self._evaluation.configuration

    @cached_property
    def _evaluation(self) -> Evaluation:
        """The system in this state."""
        factors = 1.0, self.load_factor, 1.0
        return Evaluation(self._assembly, self.state, factors, frames=self.frame_poses)

    @cached_property
    def poses(self) -> Named[Pose]:
        """World pose of every frame by name: ``poses["mass.center"]``."""
        o, u = self.frame_poses
        found = {n: Pose._of(o[k].copy(), u[k].copy()) for k, n in enumerate(self._topology.frame_labels)}
        return Named("frame", found, partial(pose_table, self.name, self.size))

    @cached_property
    def internal(self) -> Named[float]:
        """Value of every internal coordinate by name."""
        names = self.coordinate_names[6 * (self._topology.units - 1) :]
        found = dict(zip(names, self.state.q.tolist(), strict=True))
        return Named("internal coordinate", found, partial(internal_table, self.name))

    # -- forces -----------------------------------------------------------------------------------------------
    @cached_property
    def forces(self) -> Named[np.ndarray]:
        """Force and torque (frames, 6) N, N m of each element on its frames, world axes, each about its frame's origin."""
        found = forces_on_frames(self._assembly, self._configuration, self.multipliers, self.load_factor)
        return Named("element with forces", found, partial(force_table, self.name, self._largest_loads(found)))

    def _largest_loads(self, forces: Mapping[str, np.ndarray]) -> tuple[float, float]:
        """Scales of forces (N) and torques (N m): an arm of the size of the system turns one into the other."""
        every = np.abs(np.concatenate([*forces.values(), np.zeros((1, 6))]))
        force, torque = float(every[:, :3].max()), float(every[:, 3:].max())
        return max(force, torque / self.size), max(torque, force * self.size)

    @cached_property
    def twists(self) -> Named[float]:
        """Twist (rad) of every wire: turn of frame 1 relative to frame 0 about the line to it, right-handed; turn of every
        bushing.

        Both count beyond half a turn; the turn of a bushing is the length of its rotation vector.
        """
        found = twists(self._assembly, self._configuration)
        angles = {el.path: x for of, angles in found for el, x in zip(of, angles.tolist(), strict=True)}
        return Named("element with a twist", angles, partial(twist_table, self.name))

    @cached_property
    def tensions(self) -> Named[float]:
        """Pull (N) of each two-frame element along the line between its origins; positive when it pulls them together."""
        found = tensions(self._topology, self._configuration, self.forces)
        return Named("element with a tension", found, partial(pull_table, self.name, self._largest_loads(self.forces)))

    @cached_property
    def reactions(self) -> Named[np.ndarray]:
        """Force and torque (6,) that frame 0 of each actuator, force sensor and joint exerts on frame 1, axes of frame 1.

        The torque of a joint is about the origin of frame 0, and the force of its springs is not included; a rod gives its pull
        only.
        """
        found = link_reactions(self._topology, self._configuration, self.forces)
        found |= joint_reactions(self._assembly, self._configuration, self.multipliers)
        channels = {el.path: el.obj.reaction_outputs for el in self._topology.elements if el.obj.reaction_outputs}
        tabled = partial(reaction_table, self.name, self._largest_loads(self.forces), channels)
        return Named("position actuator, force sensor or joint", found, tabled)

    def net_force_on_clusters(self) -> np.ndarray:
        """Sum of element forces on each cluster, as actuators and sensors carry them.

        Returns
        -------
        ndarray, (clusters, 6), N, N m
            Force, and torque about the world's origin.
        """
        return net_force_on_clusters(self._topology, self._configuration, self.forces)

    @read_only_property
    def residual_bound(self) -> np.ndarray:
        """Bound (n,) N, N m on the part of ``residual`` that rounding of positions and of sums may leave after any search.

        A force of a soft coordinate may exceed it if balancing that force would move the system by less than 1e-12 of its largest
        position.
        """
        return force_rounding(self._evaluation, self.scale, self.multipliers)

    # -- joints -----------------------------------------------------------------------------------------------
    @cached_property
    def joint_coordinates(self) -> Named[float]:
        """Value of every joint coordinate (m, rad) by name: ``joint_coordinates["hinge.angle"]``."""
        found = {f"{p}.{n}": x for p, _, values in self._joints for n, x in values.items()}
        units = {f"{p}.{c.name}": c.unit for p, joint, _ in self._joints for c in joint.outputs}
        return Named("joint coordinate", found, partial(coordinate_table, self.name, self.size, units))

    @property
    def exceeded(self) -> tuple[str, ...]:
        """Sentences on joint coordinates that are beyond their limits."""
        return tuple(text for _, joint, found in self._joints for text in joint.exceeded(found))

    @cached_property
    def _joints(self) -> tuple[JointValues, ...]:
        return tuple(joint_values(self._assembly, self._configuration))

    @cached_property
    def _rank(self) -> tuple[Rank, np.ndarray]:
        """Rank of all constraints, and the lengths of their slopes."""
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
        """Joints that constrain some motion more than once, and whose reactions are therefore not unique."""
        return redundant(self._assembly, self._configuration, *self._rank)

    @property
    def slack(self) -> tuple[str, ...]:
        """Elements that push here although a real one would be slack (wires in compression)."""
        return slack(self._topology.elements, self.tensions)

    @cached_property
    def readings(self) -> Named[float]:
        """What sensors with a ``measure`` read, each in its unit, by name: ``readings["gauge.gap"]``."""
        found = list(readings(self._topology, self._configuration))
        units = {name: unit for name, unit, _ in found}
        return Named("reading", {name: x for name, _, x in found}, partial(reading_table, self.name, units))

    # -- other parameters -------------------------------------------------------------------------------------------
    def update(
        self,
        changes: Mapping[str, Any],
        *,
        options: SearchOptions | None = None,
        throw: bool = True,
        progress: bool | Callable[[Progress], object] = True,
    ) -> WorkingPoint:
        """The working point of the same system with other parameters, searched from this one.

        Everything that does not depend on the parameters is kept; ``seek`` stays as it was.

        Parameters
        ----------
        changes : mapping
            Values by parameter: ``{"wire.length": 0.51}``.
        options : SearchOptions, optional
            Options of the search.
        throw : bool
            Whether a search without result raises; otherwise its last state is returned, ``converged`` False.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        WorkingPoint
            The working point of the changed system; this one stays as it is, also after Ctrl-C.

        Raises
        ------
        UnknownNameError
            There is no such object or parameter.
        ModelError
            A value is out of bounds.
        WorkingPointError
            No equilibrium was reached.

        Examples
        --------
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
        >>> heavier = stage.find_working_point().update({"mass.mass": 2.0})
        >>> print(f"{heavier.tensions['spring']:.6f} N")
        19.600000 N
        """
        from .solve_again import updated

        return updated(self, changes, options, throw, progress)

    # -- next stage -------------------------------------------------------------------------------------------
    def linearize(
        self,
        *,
        within: Sequence[str] | str | None = None,
        anywhere: bool = False,
        progress: bool | Callable[[Progress], object] = True,
    ) -> LinearModel:
        """Small motions about this working point: ``M x'' + Lambda x' + K x = A u, y = B x`` with all prestress.

        Parameters
        ----------
        within : sequence of str, optional
            Objects or subsystems; the whole system if left out.  The model has the coordinates that they touch, the forces of the
            other objects on them as ``affine``, and their frames as ``interfaces`` for :func:`mse.compose`.
        anywhere : bool
            Linearizes without equilibrium too; the unbalanced force is then ``affine`` of the model.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        LinearModel
            Matrices by names.

        Raises
        ------
        WorkingPointError
            This is no equilibrium, and ``anywhere`` is False.
        UnknownNameError
            ``within`` names no object.
        ModelError
            A law of an own element gives no matrix, or feeds energy into motions.

        Examples
        --------
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
        >>> linear = stage.find_working_point().linearize()
        >>> round(float(linear.K[0, 0]), 6)  # the weight over the length
        19.215686
        """
        from ..linear.linearize import linearize

        return linearize(self, within=within, anywhere=anywhere, progress=progress)

    def save(self, path: str | Path) -> None:
        """Write the working point and its system as JSON, without loss; :func:`mse.read_model` reads it.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        FileError
            The file cannot be written.
        ModelError
            A parameter is a function, which a file cannot have.
        """
        from .files import save

        save(self, path)

    # -- display ----------------------------------------------------------------------------------------------
    def outlines(self) -> Iterator[tuple[str, str, Outline]]:
        """Geometry of every element, for drawing.

        Returns
        -------
        Iterator of tuple
            Path of the element, name of its class, and its outline.
        """
        for el in self._topology.elements:
            if not el.inner:
                yield el.path, type(el.obj).__name__, el.obj.outline(self._configuration.frames(el.frames))

    def table(self) -> Table:
        return working_point_table(self)
