"""Methods of a system that search for equilibria or compute motions, with all options and an example each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from ..elsewhere import arguments_by_name
from ..progress.tasks import SEARCHING, Task

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..analysis.time.response import TimeResponse
    from ..dynamics.steady_motion import SteadyMotion
    from ..dynamics.step_loop import MotionLoop
    from ..dynamics.trajectory import MotionState, Trajectory
    from ..pose import Pose
    from ..progress.reports import Progress
    from ..statics.continuation import Trace
    from ..statics.critical_load import Instability
    from ..statics.options import SearchOptions
    from ..statics.relaxation import Relaxation
    from ..statics.working_point import WorkingPoint
    from ..tools.equations import SymbolicEquations
    from .system import MSystem


@arguments_by_name
class Searches:
    """Methods of :class:`.MSystem` that lead to its equilibria and motions: each is one import and one call."""

    def relaxation(
        self: MSystem,
        *,
        seek: str = "stable",
        load_factor: float = 1.0,
        start: WorkingPoint | None = None,
        options: SearchOptions | None = None,
    ) -> Relaxation:
        """The search for the working point, to be iterated and watched step by step.

        Parameters
        ----------
        seek : {"stable", "nearest"}
            Kind of equilibrium, as :meth:`find_working_point` takes it.
        load_factor : float
            Multiplies weights and loads.
        start : WorkingPoint, optional
            Earlier working point of this system to begin at; the initial poses if left out.
        options : SearchOptions, optional
            Options of the search.

        Returns
        -------
        Relaxation
            The search before its first step.

        Raises
        ------
        ModelError
            An argument is invalid, or the system cannot be assembled.

        Examples
        --------
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=1e3), between=(stage.ground, mass))
        >>> search = stage.relaxation()
        >>> for step in search:
        ...     assert step.residual >= 0.0
        >>> search.result().converged
        True
        """
        from ..statics.solve_again import relaxed

        return relaxed(self, seek=seek, load_factor=load_factor, start=start, options=options)

    def find_working_point(
        self: MSystem,
        *,
        seek: str = "stable",
        load_factor: float = 1.0,
        start: WorkingPoint | None = None,
        options: SearchOptions | None = None,
        throw: bool = True,
        progress: bool | Callable[[Progress], object] = True,
    ) -> WorkingPoint:
        """Static equilibrium, from the initial poses or from an earlier working point.

        Parameters
        ----------
        seek : {"stable", "nearest"}
            "stable" descends in energy and leaves unstable equilibria; then it raises forces that have no energy.  "nearest"
            takes the closest equilibrium, stable or not, in load steps where it needs them.
        load_factor : float
            Multiplies weights and loads.
        start : WorkingPoint, optional
            Earlier working point of this system to begin at; the initial poses if left out.
        options : SearchOptions, optional
            Options of the search.
        throw : bool
            Whether a search without result raises; otherwise its last state is returned, ``converged`` False.
        progress : bool or callable
            Where progress is shown, as :func:`mse.show_progress` takes it; True: its setting.

        Returns
        -------
        WorkingPoint
            Poses, forces and stability.

        Raises
        ------
        WorkingPointError
            No equilibrium was reached; the message names the largest residual and what to try.
        ModelError
            An argument is invalid, or the system cannot be assembled.

        Examples
        --------
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
        >>> point = stage.find_working_point()
        >>> print(f"{point.poses['mass.center'].o[2]:.6f} m, {point.tensions['spring']:.6f} N")
        -0.510000 m, 9.800000 N
        """
        with Task(self.name, SEARCHING, show=progress) as task:
            search = self.relaxation(seek=seek, load_factor=load_factor, start=start, options=options)
            return task.finished(search.run(throw=throw))

    def find_instability(
        self: MSystem, *, max_load_factor: float = 1e3, progress: bool | Callable[[Progress], object] = True
    ) -> Instability:
        """The smallest factor on all weights and loads at which the system is no longer stable: its buckling load.

        It follows the equilibrium from zero load, through any deformation before buckling.  A system that swings freely without
        load starts from where it hangs under a very small one.  If the equilibrium near the initial poses is unstable without
        loads, the curve from the working point under loads is followed back to zero load and starts there.

        Parameters
        ----------
        max_load_factor : float
            Largest factor to look at.
        progress : bool or callable
            Where progress is shown, as :func:`mse.show_progress` takes it; True: its setting.

        Returns
        -------
        Instability
            The factor and the motion; ``found`` is False where the system is stable up to ``max_load_factor``, and so is the
            result in an ``if``.

        Raises
        ------
        ModelError
            No weight or load acts on anything that moves, loads have no energy, or the factor is not positive.
        WorkingPointError
            No stable equilibrium leads on from no load, or it cannot be followed further.
        Interrupted
            After Ctrl-C, with an instability up to the factor that was reached, which is not ``found``.

        Examples
        --------
        >>> column = mse.MSystem("column", gravity=(0, 0, 0))
        >>> rod = mse.RoundBeam("rod", length=1.0, radius=0.002, elements=16, theory="euler-bernoulli")
        >>> rod = column.add(rod)
        >>> column.clamp(column.ground, rod.frame(0))
        >>> load = column.add(mse.Load("load", force=(-1.0, 0.0, 0.0)), between=(rod.frame(1),))
        >>> euler = np.pi**2 * 2e11 * (np.pi / 4 * 0.002**4) / 4
        >>> found = column.find_instability()
        >>> print(f"{found.load_factor / euler:.4f} of Euler's load, a {found.kind}")
        1.0000 of Euler's load, a bifurcation
        """
        from ..statics.critical_load import find_instability

        return find_instability(self, max_load_factor, progress)

    def trace(
        self: MSystem,
        parameter: str,
        target: float,
        *,
        start: WorkingPoint | None = None,
        max_points: int = 1000,
        progress: bool | Callable[[Progress], object] = True,
    ) -> Trace:
        """Equilibria, stable or not, from the present value of a parameter to another, through limit points.

        The parameter may go back and forth along the curve.  Limit points and branch points on the way are located and
        reported; at a branch point the curve goes straight on.

        Parameters
        ----------
        parameter : str
            "load_factor", the factor on all weights and loads, or a number of an object, ``"wire.length"``.
        target : float
            Value of the parameter at which the curve ends.
        start : WorkingPoint, optional
            Working point of this system on the branch to follow; the curve begins there, with its load factor and its value of
            the parameter.  ``start=system.find_working_point(load_factor=0)`` begins without loads, a leaning pendulum
            where it hangs straight; one that would first have to fall, by a right angle or more, leads nowhere.
        max_points : int
            Largest number of points.
        progress : bool or callable
            Where progress is shown, as :func:`mse.show_progress` takes it; True: its setting.

        Returns
        -------
        Trace
            The equilibria in the order of the curve, and the events between them.

        Raises
        ------
        UnknownNameError
            There is no such parameter.
        ModelError
            An argument is invalid, or the parameter has the target's value already.
        WorkingPointError
            There is no equilibrium to begin at.
        Interrupted
            After Ctrl-C, with the trace so far.

        Examples
        --------
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
        >>> curve = stage.trace("load_factor", 2.0)
        >>> print(curve.complete, f"{curve.origins('mass.center')[-1, 2]:.6f} m")
        True -0.520000 m
        """
        from ..statics.tracing import trace

        return trace(self, parameter, target, start=start, max_points=max_points, progress=progress)

    def simulate(
        self: MSystem,
        *,
        duration: float,
        dt: float,
        initial: Mapping[str, float | Pose | Sequence[float]] | None = None,
        start: WorkingPoint | MotionState | None = None,
        inputs: Mapping[str, float | Callable[[float], float] | ArrayLike] | None = None,
        outputs: Sequence[str] | None = None,
        crossings: Mapping[str, float] | None = None,
        until: Mapping[str, float] | None = None,
        rtol: float = 1e-9,
        method: str | None = None,
        record: str | PathLike[str] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> Trajectory | TimeResponse:
        """Large motion in time: integrates the full equations of motion; joints are closed at every sample.

        Steps have the length that ``rtol`` needs; samples are interpolated between, so ``dt`` changes no result.  For small
        motions about a working point, with inputs, see :meth:`.LinearModel.simulate`.

        Parameters
        ----------
        duration, dt : float, s
            Length of the run, and time between samples.
        initial : mapping of str to float, Pose or six numbers, optional
            Values and rates at the beginning of coordinates of joints, charges and entropies, such as ``{"hinge.angle": 1.57,
            "hinge.angle'": 0.2}``; poses of bodies, ``{"mass": Pose.dz(-0.5)}``, and their velocities,
            ``{"mass'": (0, 0, 0, 0, 0, 2.0)}``: velocity and angular velocity of the body's frame along the axes of the world.
            Given values hold exactly.  The others change only as joints require.  A body on springs, from which others hang by
            joints, keeps its place if it can.  Rates not named are those of the motion nearest to rest.
        start : WorkingPoint or MotionState, optional
            Where it begins.  If left out: the initial poses, with joints put together, at rest.  Or a working point, at rest.
            Or the state of another motion, ``motion.final_state`` or ``motion.at(t).state``, which is continued.
        inputs : mapping of str to float, function of time, or samples of prescribed motions, optional
            Forces, voltages and other inputs by name, ``{"coil.fx": lambda t: np.sin(5 * t)}``, t in s; those left out are zero.
            They are read between steps, too, for jumps and pulses, in one call if a function takes arrays of t as it takes t.  A
            system at rest may miss a pulse shorter than ``dt/8``: take a smaller ``dt``, or end a run where the pulse begins.
            Motions of position motors and actuators, ``{"crank.angle": lambda t: 5 * t}``: functions of numpy, whose rates and
            accelerations mse finds exactly, or samples at all times of the run, which a spline joins.
        outputs : list of str, optional
            Outputs.  If left out: coordinates of joints, their rates, what sensors read, and the forces and torques that
            prescribed motions need, ``crank.torque``.  Reactions of joints, ``hinge.fx``, and of force sensors are given by name.
        crossings : mapping of str to float, optional
            Levels by output, ``{"hinge.angle": 0.0}``: ``motion.crossings`` lists when each was passed, and which way.  Two
            passages within a quarter of a step are missed.
        until : mapping of str to float, optional
            The same; the run ends where the first of them is passed, at the latest after ``duration``.
        rtol : float
            Relative tolerance of each step, 1e-13 to 1e-2.  Positions keep it relative to the size of the system.
        method : str, optional
            ``"explicit"`` steps are of order 8 and fast where nothing is stiff; ``"implicit"`` ones are of order 5 and as long as
            accuracy lets them, however stiff elements are: vibrations that they do not resolve die out.  If left out, they are
            implicit where inertia couples bodies, as that of beams and flexible bodies does, where stiffness or damping acts on
            what has no mass, and where a fast motion dies out or is at rest; ``motion.notes`` says so.
        record : path, optional
            File ``run.npy`` to which outputs are written as the motion goes, bit for bit as without recording.  If it is
            there already, the same call goes on from its last step, whatever ended it.  :func:`mse.read_recording` reads it at
            any time.
        progress : bool or callable
            Where progress is shown, as :func:`mse.show_progress` takes it; True: its setting.

        Returns
        -------
        Trajectory
            Outputs, poses, energies, and the state at the end; of recorded runs a :class:`.TimeResponse`, outputs alone.

        Raises
        ------
        ModelError
            An argument is invalid, initial values contradict joints, or a force acts on what has neither mass nor, in implicit
            steps, stiffness or damping.
        UnknownNameError
            There is no such coordinate or output.
        MotionError
            The motion cannot go on; the error has the part until then as ``motion``.
        Interrupted
            After Ctrl-C, with the motion so far.

        Examples
        --------
        >>> system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
        >>> bob = mse.RigidBody("bob", mass=1.0, inertia=0.01, at=mse.Pose.dz(-0.3), frames={"top": mse.Pose.dz(0.3)})
        >>> hinge = mse.Revolute("hinge", axis=(0, 1, 0))
        >>> hinge = system.add(hinge, between=(system.add(bob).frame("top"), system.ground))
        >>> motion = system.simulate(duration=1.0, dt=0.5, initial={"hinge.angle": 1.5})
        >>> later = system.simulate(duration=1.0, dt=0.5, start=motion.final_state)
        >>> later.time
        array([1. , 1.5, 2. ])
        """
        from ..dynamics.simulate import simulate

        return simulate(
            self, duration=duration, dt=dt, initial=initial, start=start, inputs=inputs, outputs=outputs,
            crossings=crossings, until=until, rtol=rtol,
            method=method, record=record, progress=progress,
        )  # fmt: skip

    def step_loop(
        self: MSystem,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float | Pose | Sequence[float]] | None = None,
        start: WorkingPoint | MotionState | None = None,
        rtol: float = 1e-9,
    ) -> MotionLoop:
        """Large motion one sample at a time, for controllers in Python: ``loop.step()`` advances by dt, forces kept over it.

        Parameters
        ----------
        dt : float, s
            Time between samples; between them steps have the length that ``rtol`` needs.
        inputs : list of str, optional
            Inputs that are forces, ``["coil.fx"]``, and currents of current sources, ``["source.current"]``; all forces if left
            out.  They are zero until they are set.
        outputs : list of str, optional
            Outputs, as :meth:`simulate` takes them.
        initial : mapping of str to float, Pose or six numbers, optional
            Values and rates at the beginning, as :meth:`.MSystem.simulate` takes them.
        start : WorkingPoint or MotionState, optional
            Where it begins, as :meth:`.MSystem.simulate` takes it.
        rtol : float
            Relative tolerance of each step, 1e-13 to 1e-2.

        Returns
        -------
        MotionLoop
            The loop at its beginning.

        Raises
        ------
        ModelError
            An argument is invalid, an input prescribes a motion, or initial values contradict joints.
        UnknownNameError
            There is no such input or output.

        Examples
        --------
        >>> system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
        >>> bob = mse.RigidBody("bob", mass=1.0, inertia=0.01, at=mse.Pose.dz(-0.3), frames={"top": mse.Pose.dz(0.3)})
        >>> hinge = mse.Revolute("hinge", axis=(0, 1, 0))
        >>> hinge = system.add(hinge, between=(system.add(bob).frame("top"), system.ground))
        >>> loop = system.step_loop(dt=0.5, initial={"hinge.angle": 1.5})
        >>> loop.step()
        0.5
        >>> motion = system.simulate(duration=0.5, dt=0.5, initial={"hinge.angle": 1.5})
        >>> bool(loop["hinge.angle"] == motion["hinge.angle"][1])
        True
        """
        from ..dynamics.step_loop import MotionLoop

        return MotionLoop(self, dt=dt, inputs=inputs, outputs=outputs, initial=initial, start=start, rtol=rtol)

    def find_steady_motion(
        self: MSystem,
        rates: Mapping[str, float],
        *,
        initial: Mapping[str, float] | None = None,
        free: Sequence[str] = (),
    ) -> SteadyMotion:
        """Motion at constant rates of some coordinates, all others at rest: ``M (W x v) + c - f`` balanced by reactions.

        A rotor that spins, a top in precession, a conical pendulum, what hangs on a turning arm.  The coordinates have to be
        cyclic: the system looks the same whatever they are.  A coordinate with ``motor="position"`` keeps its rate; others may
        change it in small motions.

        Parameters
        ----------
        rates : mapping of str to float
            Constant rates (rad/s, m/s) by coordinate of a joint: ``{"rotor.angle": 100.0}``.  Coordinates not named are at
            rest; bodies that no joint holds turn with what elements tie them to, if it is not the ground, and rest else.  Steady
            currents, as through a motor, are found.
        initial : mapping of str to float, optional
            Values of coordinates where the search begins, which decide between several steady motions.
        free : sequence of str
            Coordinates whose rates are to be found, beginning from those in ``rates``; as many of the first ``initial``
            values are kept, and the search begins at the others.

        Returns
        -------
        SteadyMotion
            Poses, reactions, and ``linearize()``, whose matrices are constant.

        Raises
        ------
        ModelError
            A coordinate is not cyclic, joints do not allow the rates, or forces do not balance near the start.
        UnknownNameError
            There is no such coordinate.

        Examples
        --------
        >>> system = mse.MSystem("disc", gravity=(0, 0, 0))
        >>> gimbal = system.add(mse.RigidBody("gimbal", mass=0.0))
        >>> disc = system.add(mse.RigidBody("disc", mass=1.0, inertia=(0.01, 0.01, 0.02)))
        >>> stiff = {"angle1": 40.0, "angle2": 40.0}
        >>> cross = system.add(mse.Universal("cross", stiffness=stiff), between=(gimbal, system.ground))
        >>> spin = system.add(mse.Revolute("spin"), between=(disc, gimbal))
        >>> modes = system.find_steady_motion({"spin.angle": 100.0}).linearize().modes(damped=True)
        >>> np.round(2 * np.pi * modes.frequencies_hz[-2:], 6)
        array([ 18.321596, 218.321596])
        """
        from ..dynamics.steady_motion import find_steady_motion

        return find_steady_motion(self, rates, initial, free)

    def equations(self: MSystem, along: Sequence[str]) -> SymbolicEquations:  # type: ignore[override]
        """Equations of motion in symbols, along joint coordinates (extra ``symbols``): Lagrange's equations by SymPy.

        Joints whose coordinates are named place all bodies, as a tree from the ground; the others are constraints with
        multipliers.  Parameters are symbols, and distances on bodies are numbers.  At a random point the equations are compared
        with the forces, masses and joints that mse computes without SymPy.

        Parameters
        ----------
        along : sequence of str
            Coordinates of joints, ``["guide.displacement", "hinge.angle"]``; with internal ones of elements at most 12.

        Returns
        -------
        SymbolicEquations
            ``expressions`` by coordinate; a notebook shows them, ``latex()`` is their source.

        Raises
        ------
        ModelError
            A body hangs on no joint named, the joints form a loop, an element has no formula, or the equations deviate from
            what mse computes.
        UnknownNameError
            There is no such coordinate.
        MissingPackageError
            SymPy is not installed.

        Examples
        --------
        >>> system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.add(mse.RigidBody("bob", mass=2.0, at=mse.Pose.dz(-0.5), frames={"top": mse.Pose.dz(0.5)}))
        >>> hinge = system.add(mse.Revolute("hinge", axis=(0, -1, 0)), between=(bob.frame("top"), system.ground))
        >>> system.equations(along=["hinge.angle"])
        MSystem 'pendulum': 1 equation
          hinge.angle: 0 = bob_mass*g*sin(hinge_angle)/2 + bob_mass*hinge_angle''/4
        """
        from ..tools.equations import of_system

        return of_system(self, along)
