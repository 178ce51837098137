"""The contract between mechanical objects and the rest of mse, in one place.

A mechanical object is a class derived from :class:`MObject`, with parameters and frames.  All below has defaults to replace.

**Laws**, plain numpy; an ``energy`` alone is enough

=====================  ==============================================================================================
``energy``             W (J) of the frames' poses and the internal coordinates
``gravity_energy``     the part of the energy that comes from gravity
``kinetic``            kinetic coenergy T (J) of frames with velocities ``v``, ``w``, internal coordinates and their rates
``dissipation``        content D (W) of the same; forces are its negative slopes by the velocities
``power``              virtual power (W) of forces without energy, linear in velocities; the actual velocities are ``given``
``effort_constraint``  equations Gamma, which are zero and decide the ``effort_names``; ``fluctuation_matrix``: their noise
``state_rates``        rates f of ``state_names``, variables with ``s' = f``; or (M, f) for ``M s' = f``
``constraint``         residuals g (m,) of the poses and internal coordinates, which the object constrains to zero
``flow_constraint``    flows (m,), linear in velocities, which the object holds at zero; no position follows from them
``mass_matrix``, ``damping_matrix``  (6 F + q, 6 F + q) at the given poses and internal coordinates, in place of ``kinetic``
                       or ``dissipation``; damping may have a skew, gyroscopic part
``dynamic_stiffness``  what it adds to the stiffness of these laws at a frequency, complex: tables k(f), exact members
``clamped_count``      natural frequencies below one with all frames clamped, where its dynamic stiffness has poles;
                       ``dynamic_losses`` names mechanisms whose loss factors it takes, ``dynamic_from_hz`` and
                       ``dynamic_up_to_hz`` the frequencies at which a table begins and ends
``parts``              names of its mechanisms, the geometric one last; the stiffness is known for each
``loss``, ``temperature``  parameters of what stores elastic energy; its ``mechanisms`` are the ``parts`` but those of loads
``switches``           numbers whose sign changes the formula of a law: steps of motions end there
``external``           True where its forces are loads, which a load factor multiplies
``conservative``       False where its ``forces`` come from no energy; of a ``power`` that needs no word
``differentiation``    "exact", or "differences" for laws that are not made of numpy's functions
=====================  ==============================================================================================

**Channels**

=====================  ==============================================================================================
``inputs``             inputs of the linear regime, mapped by ``input_map``
``outputs``            outputs with units: values of ``measure``, or small motions mapped by ``output_map``
``measure``            readings (outputs,) of the poses and internal coordinates; their slopes are the linear outputs
``reaction_outputs``   outputs that are multipliers of the constraint, then of the flow constraint, by ``reaction_map``
``motors``             inputs that prescribe residuals of the constraint
``rate_motors``        inputs of linear models that prescribe the rates of such residuals, as a current does of a charge
``drives``, ``reading``  of motors and sensors in large motions, see :mod:`mse.elements.in_motion`
``role``               "free", or for objects whose frames 0 and 1 coincide at the working point "drive" / "reaction"
``joined``             frames of other objects that it acts on, by name, before its own
=====================  ==============================================================================================

**Shape**

=====================  ==============================================================================================
``frame_names``        names of its independent frames; ``frame(0)``, ``frame("1")``
``end_frames``         the frames that ``between=`` clamps, if others are inside: both ends of a beam
``fixed_frames``       further named frames, rigidly placed on one of the independent ones
``coordinate_names``   internal scalar coordinates besides the frames (their energy, mass and damping are included), with
                       unit, domain, size and ports by :func:`mse.coordinate`; plain names are lengths
``effort_names``       efforts that follow from its other variables, behind its internal coordinates
``state_names``        variables with rates of their own, behind these; plain names have no unit
``resting``            those of its internal coordinates that are zero in every working point and only serve the
                       modes; elements with a kernel have no others
``components``         the elements it is made of, for objects that are finer inside than outside, such as a beam;
                       ``element_count`` is their number, known before they are made
``span``, ``rest_poses``  distance between its frames without load, and their poses seen from frame 0; for initial poses
``check_frames``, ``end_of_range``  what is wrong at some poses, or soon will be; for messages
``cautions``           possible errors of its law at a working point, and what no real object does; for the notes
``only_pulls``         True if a real one would be slack instead of pushing; working points and motions then say so
``only_pushes``        True if a real one would lift off instead of pulling its first constraint, a gap in m; motions say so
``outline``            points, lines and faces that draw it
=====================  ==============================================================================================

**Speed**: closed forms in place of derivatives of the laws, checked against these by the tests

=====================  ==============================================================================================
``kernel``             energy, gradient and stiffness of many at once, of ``kernel_parameters``; ``by_column``, ``adds_parts``
``mass_kernel``, ``damping_kernel``, ``constraint_kernel``  the same for these laws
``forces``             -dW/d(coordinates), (6 F + q,): force and torque on each frame, then internal forces
``stiffness_parts``    second derivative of W, named by mechanism; the parts add up to the Hessian
``elastic_parts``      those of ``parts`` but the geometric one, which then has what is left of the Hessian of the energy
``constraint_terms``   g, its derivatives, and the second ones weighted by multipliers
``memory_size``, ``follow``  numbers that depend on the path taken, and their update; ``remember``, ``recall``
``softened``           itself with its stiffest mechanisms weakened, for the first steps of the search
=====================  ==============================================================================================

Coordinates of a frame are (dx, dy, dz, ax, ay, az): ``o -> o + d``, ``U -> exp([a]x) U``, world axes.  The manual's ordered
rotations Rz Ry Rx (eq. 18) give the same forces, and the same stiffness if the net torque on a frame vanishes; off
equilibrium the two differ by half that torque in the rotation block.

Forces and stiffness default to exact differentiation of the energy, by a record of it for all elements of a class together
(:mod:`mse.elements.recorded_laws`).  A class that must be faster sets ``kernel`` to a compiled function over many elements at
once; its plain ``energy`` stays as the law that the tests compare the kernel with.  A kernel is called as ``kernel(parameters,
origins, orientations, memory, gravity, order, energy, gradient, stiffness)`` and fills the last three, given as zeros: see
:mod:`mse.kernels.springs`.  With ``adds_parts = True`` it adds the stiffness of all parts up if there is place for one only.
With ``by_column = True``, ``kernel_parameters`` and ``span`` work as well on columns, arrays (E, ...) of many elements.

An energy that depends on the path taken, like a twist beyond half a turn, keeps ``memory_size`` numbers an element; ``remember``
gives the first ones and the compiled ``follow(parameters, orientations, memory)``, called on the class, updates them in steps.

Classes with the same ``kernel``, ``constraint_kernel``, ``follow`` and numbers of parameters are evaluated in one call, as all
joints are: each element's parameters say how many constraints it has, and the kernel does not touch further columns.

A class with a kernel, of which models have many, may give their mass and damping at once, too: ``mass_kernel(parameters,
frames, origins, orientations, memory)`` and ``damping_kernel`` of the same arguments return a new array (E, n, n), or None
where all are zero; plain numpy will do (:mod:`mse.kernels.masses`).  ``inertia_kernel(masses, velocities)`` gives the forces
(E, n) of inertia without accelerations; ``inertia_slopes(masses, velocities, accelerations)`` all forces of inertia, and their
slopes (E, n, n) by positions and velocities.  ``damping_slopes``, called as ``damping_kernel`` with velocities last, gives those
of damping forces by positions, else differences do.  A subclass with its own law or ``kernel_parameters`` inherits no kernel.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import ModelError, UnknownNameError, nearest_name
from ..pose import Pose
from ..validation.arguments import LARGEST, new_name, refusal, shown
from .cautions import Surroundings
from .coordinates import refuse_names
from .defined import Defined
from .definitions import class_name as class_name
from .definitions import declared, lacking, refuse_unnamed, settle_laws, signature
from .differentiation import FramePose as FramePose
from .differentiation import Given as Given
from .differentiation import MovingFrame as MovingFrame
from .differentiation import differences, numbers, somewhere
from .docstrings import Later, completed
from .frame import Frame as Frame
from .frame import Place as Place
from .identity import Identified
from .in_motion import InMotion
from .losses import settle as settle_loss
from .parameters import Parameter, Profile, Required, with_values
from .records import DISPLACEMENT, FORCE, Channel, Component, Outline  # noqa: F401 - for who defines elements
from .variables import WithVariables, settle_variables

Role = Literal["free", "drive", "reaction"]


class MObject(Defined, Identified, InMotion, WithVariables):
    """``force = -dW/dx`` of an energy W: base class of all mechanical objects; the module's docstring is the contract.

    Parameters are given by keyword, as its class declares them.

    Examples
    --------
    >>> from mse.elements.parameters import Real
    >>> class Magnet(mse.MObject):
    ...     strength: Real = Real("force times distance squared", unit="N m2", above=0.0)
    ...     def energy(self, frames, q):
    ...         d = frames[1].o - frames[0].o
    ...         return self.strength / np.sqrt(d @ d)
    >>> system = mse.MSystem("levitation", gravity=(0, 0, -9.81))
    >>> mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(0.1)))
    >>> guide = system.add(mse.Prismatic("guide"), between=(mass, system.ground))
    >>> magnet = system.add(Magnet("magnet", strength=0.0981), between=(system.ground, mass))
    >>> f"{system.find_working_point().poses['mass.center'].o[2]:.6f} m"
    '0.100000 m'
    """

    frame_names: ClassVar[tuple[str, ...]] = ("0", "1")
    coordinate_names: ClassVar[tuple[str, ...]] = ()
    resting: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[tuple[Channel, ...]] = ()
    outputs: ClassVar[tuple[Channel, ...]] = ()
    role: ClassVar[Role] = "free"
    parts: ClassVar[tuple[str, ...]] = ("total",)
    mechanisms: ClassVar[tuple[str, ...]] = ()
    only_pulls: ClassVar[bool] = False
    only_pushes: ClassVar[bool] = False
    external: ClassVar[bool] = False
    conservative: ClassVar[bool | property] = True
    differentiation: ClassVar[Literal["exact", "differences"]] = "exact"
    kernel: ClassVar[Callable | None] = None
    by_column: ClassVar[bool] = False
    adds_parts: ClassVar[bool] = False
    dynamic_losses: ClassVar[tuple[str, ...]] = ()  # mechanisms whose loss factors its dynamic stiffness takes
    dynamic_from_hz: ClassVar[float | property] = 0.0  # the lowest frequency above 0 at which that is known
    dynamic_up_to_hz: ClassVar[float | property] = np.inf  # the highest one
    mass_kernel: ClassVar[Callable | None] = None
    damping_kernel: ClassVar[Callable | None] = None
    inertia_kernel: ClassVar[Callable | None] = None
    inertia_slopes: ClassVar[Callable | None] = None
    damping_slopes: ClassVar[Callable | None] = None
    memory_size: ClassVar[int | property] = 0
    follow: ClassVar[Callable | None] = None
    constraint_kernel: ClassVar[Callable | None] = None
    reaction_outputs: ClassVar[tuple[Channel, ...] | property] = ()
    motors: ClassVar[dict[str, int] | property] = {}
    rate_motors: ClassVar[dict[str, int] | property] = {}
    joined: ClassVar[tuple[str, ...] | property] = ()
    declared_parameters: ClassVar[dict[str, Parameter]] = {}
    _in_order: ClassVar[list[tuple[str, Parameter]]] = []  # parameters that depend on others come last
    classes: ClassVar[dict[str, type[MObject]]] = {}
    __signature__, __setstate__ = Later(signature), with_values

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        settle_variables(cls)
        settle_laws(cls, MObject)
        refuse_names(cls)
        settle_loss(cls)
        cls.declared_parameters = declared(cls, MObject)
        cls._has_functions = any(isinstance(p, Profile) for p in cls.declared_parameters.values())
        cls._in_order = sorted(cls.declared_parameters.items(), key=lambda item: item[1].depends)
        reserved = [name for name in cls.declared_parameters if name in ("name", "at") or hasattr(MObject, name)]
        if reserved:
            raise TypeError(f"class {cls.__name__}: parameter {min(reserved)!r} hides something MObject defines")
        cls.__doc__ = Later(functools.partial(completed, vars(cls).get("__doc__")))
        MObject.classes[class_name(cls)] = cls  # a cell that is run again replaces its class

    def __new__(cls, *given: Any, **_: Any):
        if len(given) > 1:
            refuse_unnamed(cls, given)
        return super().__new__(cls)

    def __init__(self, name: str, *, at: Pose | None = None, **parameters: Any):
        new_name(type(self).__name__, "name", name)
        values: dict[str, Any] = {}
        # directly into __dict__, so that __setattr__ does not look for misspellings
        self.__dict__.update(_name=str(name), at=None, system=None, _values=values)
        if at is not None:
            self.at = at
        if not parameters.keys() <= self.declared_parameters.keys():
            bad = min(parameters.keys() - self.declared_parameters.keys())
            known = [*self.declared_parameters, "at"]
            raise ModelError(f"{self.label}: no parameter {bad!r}{nearest_name(bad, known)}")
        for key, p in self._in_order:
            if key not in parameters and p.usual is not Required:
                values[key] = p.usual
            elif (value := parameters.get(key, p.default)) is not Required:
                values[key] = p.checked(self, value)
        if len(values) < len(self.declared_parameters):
            raise lacking(self, [p for key, p in self.declared_parameters.items() if key not in values])
        # a new dict each time: snapshots share it, and cached results depend on it
        self.__dict__["_values"] = dict(values)

    def __setattr__(self, name: str, value) -> None:
        if name == "at" and value is not None and not isinstance(value, Pose):
            raise refusal(self.label, "at", value, "a Pose, e.g. Pose.dz(-1.0), or None")
        if not name.startswith("_") and not hasattr(type(self), name) and name not in vars(self):
            close = difflib.get_close_matches(name.lower(), self.declared_parameters, n=1, cutoff=0.8)
            if close:
                raise ModelError(f"{self.label}: no parameter {name!r} (did you mean {close[0]!r}?)")
        super().__setattr__(name, value)

    # -- frames -----------------------------------------------------------------------------------------------
    def frame(self, which: int | str) -> Frame:
        """One of its frames.

        Parameters
        ----------
        which : int or str
            Number of an independent frame, or name of any.

        Returns
        -------
        Frame
            The frame, to clamp others to.

        Raises
        ------
        UnknownNameError
            There is no such frame; the message offers the nearest name.
        """
        names = self.frame_names
        if isinstance(which, str):
            if which in names or which in self.fixed_frames():
                return Frame(self, which)
        elif isinstance(which, int | np.integer) and 0 <= which < len(names):
            return Frame(self, names[which])
        known = [*names, *self.fixed_frames()]
        remedy = (
            nearest_name(which, known)
            if isinstance(which, str)
            else f"; expected a number or name{nearest_name('', known)}"
        )
        raise UnknownNameError(f"{self.label}: no frame {shown(which)}{remedy}")

    @property
    def end_frames(self) -> tuple[str, ...]:
        """Names of the frames that ``between=`` clamps: all independent ones, or those at the ends."""
        return self.frame_names

    def __matmul__(self, pose: Pose) -> Place:
        """The place at a pose relative to the frame of an object that has one, ``mirror @ Pose.dx(0.1)``."""
        if len(self.frame_names) != 1:
            raise ModelError(
                f"{self.label}: it has {len(self.frame_names)} frames; expected one to which the pose refers; write "
                f"{self.name}.frame(0) @ pose"
            )
        return self.frame(0) @ pose

    def fixed_frames(self) -> Mapping[str, Pose]:
        """Additional named frames and their poses relative to frame 0."""
        return {}

    def components(self) -> Sequence[Component]:
        """The elements this object is made of; if there are any, it has frames but no energy of its own."""
        return ()

    @property
    def element_count(self) -> int:
        """Number of elements that it is made of, known before they are made."""
        return 1

    def rest_poses(self) -> Mapping[str, Pose]:
        """Poses of its frames without load relative to frame 0; empty if these do not determine each other."""
        return {}

    def softened(self, ratio: float, load: float) -> MObject:
        """This element with no mechanism stiffer than ``ratio`` times its softest, for the first steps of the search.

        It must stay stiff enough that ``load`` (N), the sum of all loads, does not deform it grossly.
        """
        return self

    def dynamic_stiffness(self, omega: Any, frames: Sequence[FramePose]) -> Any:
        """Matrix (6 F + q, 6 F + q) added to the other laws at ``omega`` rad/s, for exp(i omega t); real part 0 at rest."""
        return 0.0

    def clamped_count(self, omega2: float, frames: Sequence[FramePose]) -> int:
        """Number of its natural frequencies below ``sqrt(omega2)`` rad/s with all its coordinates clamped."""
        return 0

    # -- statics ----------------------------------------------------------------------------------------------
    def energy(self, frames: Sequence[FramePose], q: Any) -> Any:
        """Potential energy W (J) at the poses ``frames`` and internal coordinates ``q``, without gravity."""
        return 0.0

    def gravity_energy(self, frames: Sequence[FramePose], q: Any, gravity: np.ndarray) -> Any:
        """Potential energy (J) in the uniform field ``gravity`` (3,) m/s2."""
        return 0.0

    def forces(self, frames: Sequence[FramePose], q: np.ndarray, gravity: np.ndarray | None = None) -> np.ndarray:
        """``f = -dW/do, tau = -dW/da`` on each frame, then internal forces; (6 F + q,) N, N m (manual eq. 20, 21)."""
        return -self.evaluate(frames, q, gravity, 1)[1]

    def stiffness_parts(
        self, frames: Sequence[FramePose], q: np.ndarray, gravity: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """``d2W/dx2 = -H`` by named mechanism, each (6 F + q, 6 F + q) and symmetric (manual eq. 22-29)."""
        return dict(zip(self.parts, self.evaluate(frames, q, gravity, 2)[2], strict=True))

    def elastic_parts(self, frames: Sequence[FramePose]) -> np.ndarray:
        """Stiffness (p - 1, n, n) of all ``parts`` but the last, which is geometric and has what is left of the Hessian."""
        return np.zeros((0, 6 * len(frames), 6 * len(frames)))

    def check_frames(self, frames: Sequence[FramePose]) -> None:
        """Raise ModelError if the element is undefined at these poses; called if its energy is not finite."""
        raise ModelError(
            f"{self.label}: its energy is not a finite number at the present poses of its frames; expected one of at most "
            f"{LARGEST:g} J"
        )

    def end_of_range(self, frames: Sequence[FramePose], memory: np.ndarray) -> str:
        """What will soon make it invalid, in words and with a remedy, for failed searches; "" if nothing does."""
        return ""

    @classmethod
    def cautions(cls, objects: Sequence[Any], at: Surroundings) -> list[str]:
        """Sentences with remedies, after "The search ...", on what may be wrong with objects of this class."""
        return []

    def remember(self, frames: Sequence[FramePose]) -> np.ndarray:
        """Initial memory (m,) if the energy depends on history; by default what a compiled ``follow`` makes of zeros."""
        memory = np.zeros((1, self.memory_size))
        if type(self).follow is not None:
            type(self).follow(
                np.array([self.kernel_parameters()], dtype=float), np.array([[f.U for f in frames]]), memory
            )
        return memory[0]

    def recall(self, frames: Sequence[FramePose], memory: np.ndarray) -> np.ndarray:
        """The memory (m,) after the frames have moved to these poses, for a class without a compiled ``follow``."""
        return memory

    def kernel_parameters(self) -> tuple[float, ...]:
        """The numbers that a compiled kernel receives for this element."""
        return ()

    # -- constraints ------------------------------------------------------------------------------------------
    def constraint(self, frames: Sequence[FramePose], q: Any) -> Any:
        """Residuals g (m,) that vanish if this object holds its frames; its reaction is ``-(dg/dx)^T multipliers``."""
        return np.zeros(0)

    @property
    def constraint_count(self) -> int:
        """Number m of scalar constraints; found by asking at frames somewhere."""
        return len(numbers(self, "constraint", somewhere(self), np.zeros(len(self.coordinate_names))))

    @property
    def constraint_units(self) -> tuple[str, ...]:
        """Unit of each residual, "m" or "rad"; "" if unknown, as for a user's function."""
        return ("",) * self.constraint_count

    def constraint_terms(
        self, frames: Sequence[FramePose], q: np.ndarray, memory: np.ndarray, multipliers: np.ndarray, order: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g (m,), ``dg/dx`` (m, n) and, for order 2, ``sum_r multiplier_r d2 g_r/dx2`` (n, n); exact by default."""
        from .recorded_laws import differentiated_constraint  # importing mse should not wait for it

        return differentiated_constraint(self, frames, q, multipliers, order)

    def reaction_map(self, frames: Sequence[FramePose]) -> np.ndarray:
        """Reaction outputs per unit of each multiplier, (outputs, m): of constraints, then of flow constraints."""
        return np.zeros((0, self.constraint_count))

    def reaction_slopes(self, frames: Sequence[FramePose], q: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Change of the reaction outputs with the coordinates at fixed multipliers, (outputs, n); by differences."""
        return differences(lambda f, _: self.reaction_map(f) @ multipliers, frames, np.asarray(q), (), 1)[1]

    # -- joint coordinates ------------------------------------------------------------------------------------
    def values_at(self, frames: Sequence[FramePose], memory: np.ndarray) -> dict[str, float]:
        """Value of each joint coordinate (m, rad), angles on the branch that ``memory`` (m,) has followed; empty for others."""
        return {}

    def exceeded(self, values: Mapping[str, float]) -> list[str]:
        """A sentence for each joint coordinate whose value is beyond its limits."""
        return []

    @staticmethod
    def twists(origins: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """Angles (E,) rad by which elements with origins (E, F, 3) and memories (E, m) are twisted, for classes that can be."""
        return np.zeros(len(origins))

    def ways_from(self, earlier: MObject) -> Sequence[MObject]:
        """Objects with settings between an ``earlier`` one and this, solved in turn by the search; for motors that turn far."""
        return ()

    def evaluate(self, frames, q, gravity, order: int):
        """Energy, gradient (n,) and stiffness parts (p, n, n) of this one element, gravity included where given."""
        from .recorded_laws import differentiated, with_power  # importing mse should not wait for it

        gravity = np.zeros(3) if gravity is None else gravity
        n = 6 * len(self.frame_names) + len(self.coordinate_names)
        # kernels assume that resting coordinates are zero; other values need the law itself
        if self.kernel is not None and not np.any(q):
            parts = len(self.parts) - self.has_field()
            energy, gradient, stiffness = np.zeros(1), np.zeros((1, n)), np.zeros((1, parts, n, n))
            memory = self.remember(frames)[None]
            origins = np.array([[f.o for f in frames]])
            orientations = np.array([[f.U for f in frames]])
            type(self).kernel(
                np.array([self.kernel_parameters()], dtype=float), origins, orientations, memory,
                np.asarray(gravity, dtype=float), order, energy, gradient, stiffness,
            )  # fmt: skip
            found = energy[0], gradient[0], stiffness[0]
        else:
            found = differentiated(self, frames, np.asarray(q, dtype=float), gravity, order)
        return with_power(self, frames, q, order, found)

    # -- linear regime ----------------------------------------------------------------------------------------
    def kinetic(self, frames: Sequence[MovingFrame], q: Any, v: Any) -> Any:
        """Kinetic coenergy T (J) of moving frames, internal coordinates ``q`` and their rates ``v``."""
        return 0.0

    def dissipation(self, frames: Sequence[MovingFrame], q: Any, v: Any) -> Any:
        """Content D (W); its negative slopes by the velocities are forces, and the power lost is twice D if D is quadratic."""
        return 0.0

    def power(self, frames: Sequence[MovingFrame], q: Any, v: Any, given: Given) -> Any:
        """Power (W) of forces without energy along virtual velocities, linear in them; actual velocities are in ``given``."""
        return 0.0

    def flow_constraint(self, frames: Sequence[MovingFrame], q: Any, v: Any) -> Any:
        """Flows (m,), linear in velocities, that this object holds at zero in linear models; see :mod:`mse.elements.flows`."""
        return np.zeros(0)

    def mass_matrix(self, frames: Sequence[FramePose], q: Any = ()) -> np.ndarray | None:
        """Mass matrix (6 F + q, 6 F + q) at the poses ``frames``, world axes; None if there is none."""
        return None

    def damping_matrix(self, frames: Sequence[FramePose], q: Any = ()) -> np.ndarray | None:
        """Damping (6 F + q, 6 F + q), None if there is none: a positive semi-definite part and a skew, gyroscopic part."""
        return None

    def input_map(self, frames: Sequence[FramePose]) -> np.ndarray | None:
        """Forces on the coordinates (6 F + q, inputs) per unit of each input; None for none."""
        return None

    def measure(self, frames: Sequence[FramePose], q: Any) -> Any:
        """Readings at the poses ``frames`` and internal coordinates ``q``: a number for each of ``outputs``."""
        return np.zeros(0)

    def output_map(self, frames: Sequence[FramePose]) -> np.ndarray | None:
        """Outputs per unit displacement of the coordinates, (outputs, 6 F + q); None for none."""
        return None

    # -- help for the user ------------------------------------------------------------------------------------
    def span(self) -> float:
        """Distance (m) between frames 0 and 1 without load; places objects without an initial pose."""
        return 0.0

    def outline(self, frames: Sequence[FramePose]) -> Outline:
        """Geometry that draws the object at these poses; by default a line through its frames."""
        points = np.reshape([f.o for f in frames], (-1, 3))
        return Outline(points, (tuple(range(len(points))),) if len(points) > 1 else ())


MObject.__doc__ = Later(functools.partial(completed, MObject.__doc__))
