"""The result of a large motion: outputs over time, poses at every time, energy, and the state in which another run goes on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.time.response import TimeResponse
from ..display import Column, Table
from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..model.system import Snapshot
from ..model.topology import Topology
from ..pose import Pose
from ..spatial.motors import Momentum, Twist
from ..statics.named import Named
from ..validation.arguments import find, number
from .accelerations import Equations, all_reactions
from .coordinates import NamedCoordinates
from .input_forces import InputForces
from .ledger import energies, momenta, stored, works
from .methods import METHODS, stepper
from .moments import Moment
from .showing import Showing

if TYPE_CHECKING:
    from ..linear.linear_model import LinearModel
    from .transition import TransitionMatrix

_LISTED = 20  # crossings that a table lists


@dataclass(frozen=True, eq=False)
class MotionState:
    """Where a system is in a motion, and how it moves there; ``start`` of :meth:`.MSystem.simulate` goes on from it.

    Attributes
    ----------
    name : str
        Name of the system.
    time : float, s
        When that was.
    rtol : float
        Tolerance of the run.
    method : str
        Method of its steps.
    """

    name: str
    time: float
    rtol: float
    _topology: Topology = field(repr=False)
    _source: Snapshot = field(repr=False)
    _moment: Moment = field(repr=False)
    _inputs: InputForces = field(repr=False)
    method: str = "explicit"


class Instant:
    """A system at one time of a motion, made by :meth:`Trajectory.at`: poses, velocities, coordinates of joints and reactions."""

    def __init__(self, motion: Trajectory, moment: Moment):
        self._motion, self._moment = motion, moment
        self._here = motion._equations.evaluation(moment.state, moment.time)

    @property
    def time(self) -> float:
        """Time (s)."""
        return self._moment.time

    @property
    def state(self) -> MotionState:
        """What another run goes on from."""
        m = self._motion
        e = m._equations
        return MotionState(m.name, self.time, m.rtol, e.topology, m._source, self._moment, e.inputs, m.method)

    @cached_property
    def poses(self) -> Named[Pose]:
        """World pose of every frame by name: ``poses["mass.center"]``."""
        o, u = self._here.frame_poses
        labels = self._motion._equations.topology.frame_labels
        found = {n: Pose._of(o[k].copy(), u[k].copy()) for k, n in enumerate(labels)}
        return Named("frame", found, partial(_rows, f"{self._motion.name} at {self.time:g} s", "frame"))

    @cached_property
    def velocities(self) -> Named[np.ndarray]:
        """Velocity and angular velocity (6,) of every frame by name, along world axes (m/s, rad/s)."""
        moving = self._motion._equations.frame_velocities(self._here.configuration, self._moment.v)
        found = dict(zip(self._motion._equations.topology.frame_labels, moving, strict=True))
        return Named("frame", found, partial(_rows, f"{self._motion.name} at {self.time:g} s", "frame"))

    def twist(self, name: str) -> Twist:
        """How a body, or what a frame is fixed to, moves: about the origin and along the axes of the world.

        Parameters
        ----------
        name : str
            Name of an object that moves as one, such as ``rod``, or of a frame, such as ``rod.top``.

        Returns
        -------
        Twist
            Its velocity; ``twist.at(point)`` is that of a point of the body.

        Raises
        ------
        ModelError
            Frames of the object move apart.
        UnknownNameError
            There is no such object or frame.
        """
        e, who = self._motion._equations, f"{self._motion.name} at {self.time:g} s"
        owners = {label: label.rpartition(".")[0] for label in e.topology.frame_labels}
        find(who, "object or frame", name, [*dict.fromkeys(owners.values()), *owners])
        own = [k for k, (label, owner) in enumerate(owners.items()) if name in (label, owner)]
        frame = e.topology.frame_labels[own[0]]
        if np.ptp(e.assembly.body[own]):
            raise ModelError(
                f"{who}: {name!r} does not move as one; expected a rigid object, or a frame such as {frame!r}"
            )
        v, w = np.split(self.velocities[frame], 2)
        return Twist(linear=v - np.cross(w, self.poses[frame].o), angular=w)

    def momentum(self, name: str | None = None) -> Momentum:
        """Momentum of one object or of all, about the origin and along the axes of the world.

        Parameters
        ----------
        name : str, optional
            Name of an object with mass; all together if left out.

        Returns
        -------
        Momentum
            The momentum.

        Raises
        ------
        UnknownNameError
            There is no such object with mass.
        """
        each = momenta(self._motion._equations, self._moment)
        if name is not None:
            each = {name: each[find(f"{self._motion.name} at {self.time:g} s", "object with mass", name, each)]}
        total = sum(each.values(), np.zeros(6))
        return Momentum(linear=total[:3], angular=total[3:])

    @cached_property
    def joint_coordinates(self) -> Named[float]:
        """Coordinates of joints, ``hinge.angle``, and internal ones of elements."""
        c = self._motion._coordinates
        found = dict(zip(c.names, c.values(self._here).tolist(), strict=True))
        return Named("coordinate", found, partial(_rows, f"{self._motion.name} at {self.time:g} s", "coordinate"))

    @cached_property
    def reactions(self) -> Named[np.ndarray]:
        """Reaction of every joint: for most kinds force and torque (6,) of frame 0 on frame 1, along the axes of frame 1.

        If joints constrain a motion more than once, the shortest of the reactions that move the system so are given.
        """
        e = self._motion._equations
        given = e.holding(self._here, self._moment.v, self._moment.time)
        found = all_reactions(e, self._here, *np.split(given, [e.assembly.constraint_count]))
        return Named("joint", found, partial(_rows, f"{self._motion.name} at {self.time:g} s", "reaction"))

    def linearize(self) -> LinearModel:
        """Small motions about this instant of the motion: ``M x'' + Lambda x' + K x = F u``, at the present velocities.

        Coordinates are those of every linear model, along axes that do not turn.  Lambda has gyroscopic couplings and the rate
        at which inertias turn, K what accelerations, centrifugal forces and the turning of forces add.  The matrices are those
        of this instant: about motions that are not steady they change with time (:meth:`Trajectory.transition_matrix`).

        Returns
        -------
        LinearModel
            Matrices by names; ask for its ``modes(damped=True)``.

        Raises
        ------
        ModelError
            A law has no slopes at these velocities, or a force acts on what has no mass.
        """
        from .about import linearize
        from .moving import moving_at

        return linearize(moving_at(self))


def _rows(head: str, what: str, found: Any) -> Table:
    rows = [(name, str(value)) for name, value in found.items()]
    return Table(head, (what, "value"), rows)


class Trajectory(Showing, TimeResponse):
    """A large motion over time: ``motion["hinge.angle"]`` is an array (t,); made by :meth:`.MSystem.simulate`.

    It is a :class:`.TimeResponse` with poses at all times and with energies.

    Attributes
    ----------
    name : str
        Name of the system.
    time : ndarray, (t,), s
        Times of the samples.
    values : ndarray, (t, o)
        Outputs.
    outputs, output_units : tuple of str
        Names of the o outputs, and their units.
    inputs, input_units : tuple of str
        Names of the i inputs, and their units.
    driven : ndarray, (t, i)
        Values of the inputs.
    between, holds : tuple
        Empty: inputs are functions of time.
    crossed : tuple of str
        Outputs that passed a level, in the order of time.
    passages : ndarray, (c, 3)
        Level, time (s) and direction (1 upwards, -1 downwards) of each; ``crossings`` are the same by name.
    initial_state : dict of str to float
        Empty; ``at(0.0)`` is the beginning.
    parameters : ParameterRecord
        None in motions.
    final_state : MotionState
        Where it ended; ``start`` of the next run goes on there, to the bit as if it had not been cut.
    rtol : float
        Relative tolerance of each step.
    method : str
        ``explicit`` or ``implicit``; see :meth:`.MSystem.simulate`.
    steps, evaluations : int
        Steps of the method, and how often it asked for accelerations.
    notes : tuple of str
        Remarks on the motion.

    Examples
    --------
    >>> system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    >>> bob = mse.RigidBody("bob", mass=1.0, inertia=0.01, at=mse.Pose.dz(-0.3), frames={"top": mse.Pose.dz(0.3)})
    >>> hinge = mse.Revolute("hinge", axis=(0, 1, 0))
    >>> hinge = system.add(hinge, between=(system.add(bob).frame("top"), system.ground))
    >>> motion = system.simulate(duration=0.5, dt=0.25, initial={"hinge.angle": 1.5})
    >>> np.round(motion["hinge.angle"], 6)
    array([ 1.5     ,  0.616619, -1.066243])
    >>> o, U = motion.poses("bob.center")
    >>> o.shape, U.shape
    ((3, 3), (3, 3, 3))
    """

    final_state: Any = None
    rtol: float = 1e-9
    method: str = "explicit"
    steps: int = 0
    evaluations: int = 0
    notes: tuple[str, ...] = ()
    _equations: Equations = field(default=None, repr=False)
    _source: Snapshot = field(default=None, repr=False)
    _coordinates: NamedCoordinates = field(default=None, repr=False)
    _samples: tuple[Moment, ...] = field(default=(), repr=False)
    _begins: Sequence[Moment] = field(default=(), repr=False)
    _seconds: float = field(
        default=0.0, repr=False
    )  # that the run took; in the table only, as no two runs take the same

    @property
    def history(self) -> TimeResponse:
        """The outputs alone, without the poses between: what files hold."""
        own = {f.name: getattr(self, f.name) for f in fields(TimeResponse)}
        return TimeResponse(**own | {"final_state": {}})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the outputs over time to a file, as :meth:`.TimeResponse.save` does; poses and states are not in it.

        Parameters
        ----------
        path : path
            File ``.npz``, ``.mat`` or ``.h5``; :func:`mse.read_result` reads it.

        Raises
        ------
        FileError
            The file cannot be written.
        """
        self.history.save(path)

    def at(self, t: float) -> Instant:
        """The system at any time of the motion, between samples too.

        Parameters
        ----------
        t : float, s
            The time.

        Returns
        -------
        Instant
            Poses, velocities, reactions, and the ``state`` from which another run goes on.

        Raises
        ------
        ModelError
            The motion does not reach there.
        """
        t = number(self.name, "t", t, unit="s")
        if not self.time[0] <= t <= self.time[-1]:
            raise ModelError(
                f"{self.name}: t is {t:g} s; expected a time of the motion, from {self.time[0]:g} to {self.time[-1]:g} s"
            )
        k = int(np.searchsorted(self.time, t))
        if self.time[k] == t:
            return Instant(self, self._samples[k])
        begin = self._begins[max(0, bisect_right(self._begins, t, key=lambda m: m.time) - 1)]
        return Instant(self, stepper(self._equations, self.rtol, self.method).step(begin).at(t))

    def transition_matrix(self, start: float, end: float) -> TransitionMatrix:
        """How small changes of joint coordinates and their rates at one time have grown at another: their linear relation.

        Over a period of the motion its eigenvalues are Floquet's multipliers.  Coordinates have to determine all poses.

        Parameters
        ----------
        start, end : float, s
            Times of the motion.

        Returns
        -------
        TransitionMatrix
            The matrix, with names.

        Raises
        ------
        ModelError
            The motion does not reach there, coordinates of joints do not determine it, or something rolls.
        """
        from .transition import transition_matrix

        times = {"start": start, "end": end}
        found = [
            number(self.name, what, t, minimum=self.time[0], maximum=self.time[-1], unit="s")
            for what, t in times.items()
        ]
        if not found[0] < found[1]:
            raise ModelError(f"{self.name}: start is {start:g} s and end {end:g} s; expected an end after the start")
        return transition_matrix(self, *found)

    def poses(self, frame: str) -> tuple[np.ndarray, np.ndarray]:
        """Origins (t, 3) and orientations (t, 3, 3) of a frame over time.

        Parameters
        ----------
        frame : str
            Name of the frame, such as ``rod.center``.

        Returns
        -------
        tuple of two arrays
            Origins (m) and orientations along the axes of the world.

        Raises
        ------
        UnknownNameError
            There is no such frame.
        """
        t = self._equations.topology
        k = t.frame_labels.index(find(self.name, "frame", frame, t.frame_labels))
        return t.frame_over_time(k, [m.poses for m in self._samples])

    def velocities(self, frame: str) -> np.ndarray:
        """Velocity and angular velocity (t, 6) of a frame over time, along world axes (m/s, rad/s).

        Parameters
        ----------
        frame : str
            Name of the frame, such as ``rod.center``.

        Returns
        -------
        ndarray
            Three velocities, then three angular ones.

        Raises
        ------
        UnknownNameError
            There is no such frame.
        """
        labels = self._equations.topology.frame_labels
        k = labels.index(find(self.name, "frame", frame, labels))
        e = self._equations
        return np.array([e.frame_velocities(e.evaluation(m.state).configuration, m.v)[k] for m in self._samples])

    @cached_property
    def energy(self) -> Named[np.ndarray]:
        """Energies (t,) in J by kind: kinetic, gravity, elastic; work of dampers and of forces without energy; what is left.

        ``unaccounted`` is the change of the sum without that work, which is integrated along with the motion: zero but for
        errors of the steps.
        """
        rows = np.array([energies(self._equations, m) for m in self._samples]).reshape(-1, 5)
        names = "kinetic", "gravity", "elastic", "damped", "driven"
        found = dict(zip(names, rows.T, strict=True))
        left = rows[:, :3].sum(axis=1) - rows[:, 3:].sum(axis=1)
        return self._named("energy", found | {"unaccounted": left - left[0]})

    @cached_property
    def work(self) -> Named[np.ndarray]:
        """Work (t,) in J since the first sample: of each input by its name, of dampers and of loads without an energy by object.

        It is integrated along each step, which is made again for it: it takes as long as the motion took.
        """
        make = stepper(self._equations, self.rtol, self.method).step
        return self._named("work", works(self._equations, self._begins, make, self.time))

    @cached_property
    def stored(self) -> Named[Named[np.ndarray]]:
        """Energies (t,) in J by kind and object: ``stored["kinetic"]["bob"]``; kinetic, of gravity, and elastic with loads."""
        each = [stored(self._equations, m) for m in self._samples]
        found: dict[str, Named[np.ndarray]] = {}
        for kind in each[0]:
            paths = dict.fromkeys(path for one in each for path in one[kind])
            own = {path: np.array([one[kind].get(path, 0.0) for one in each]) for path in paths}
            found[kind] = self._named("object", own)
        return Named(
            "energy", found, lambda all_: self._table("energy", {k: sum(x.values()) for k, x in all_.items() if x})
        )

    def _named(self, what: str, found: dict[str, np.ndarray]) -> Named[np.ndarray]:
        """Arrays (t,) in J by name, which show how far each goes."""
        return Named(what, found, partial(self._table, what))

    def _table(self, what: str, found: Any) -> Table:
        rows = [(name, float(x[0]), float(x[-1]), float(x.min()), float(x.max()), "J") for name, x in found.items()]
        columns = (what, *(Column(name, digits=5) for name in ("first", "last", "least", "most")), "unit")
        return Table(f"{self.name} from {self.time[0]:g} to {self.time[-1]:g} s", columns, rows)

    @cached_property
    def momentum(self) -> Momentum:
        """Momentum of all bodies over time, about the origin and along the axes of the world."""
        six = np.array([sum(momenta(self._equations, m).values(), np.zeros(6)) for m in self._samples])
        return Momentum(linear=six[:, :3], angular=six[:, 3:])

    @cached_property
    def largest_residual(self) -> float:
        """The largest distance (m) by which constraints are open in any sample."""
        if not self._equations.assembly.constraint_count:
            return 0.0
        found = (self._evaluated(m).distances[0] for m in self._samples)
        return max(float(np.abs(x).max(initial=0.0)) for x in found)

    def _evaluated(self, moment: Moment) -> Evaluation:
        return self._equations.evaluation(moment.state, moment.time)

    def table(self) -> Table:
        if not len(self.time):
            return Table(f"{self.name}: no samples yet")
        energy = self.energy
        rows = [
            ("steps", self.steps, ""),
            ("evaluations", self.evaluations, ""),
            ("method", METHODS[self.method], ""),
            ("largest constraint residual", self.largest_residual, "m"),
            ("largest unaccounted energy", float(np.abs(energy["unaccounted"]).max()), "J"),
            ("largest kinetic energy", float(energy["kinetic"].max()), "J"),
        ]
        if self._seconds and self.time[-1] > self.time[0]:
            share = self._seconds / float(self.time[-1] - self.time[0])
            rows.append(("seconds per second of motion", share, ""))
        for crossing in self.crossings[:_LISTED]:
            way = "rises" if crossing.rising else "falls"
            rows.append((f"{crossing.output} {way} to {crossing.level:g}", crossing.time, "s"))
        if len(self.crossings) > _LISTED:
            rows.append(("more crossings", len(self.crossings) - _LISTED, ""))
        head = f"{self.name}: motion from {self.time[0]:g} to {self.time[-1]:g} s, {len(self.time)} samples, rtol {self.rtol:g}"
        return Table(head, ("", Column("value", digits=3), "unit"), rows)
