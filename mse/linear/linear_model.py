"""LinearModel: ``M x'' + Lambda x' + K x = F u`` with names for everything; all linear analyses start from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..declared import array, entry, names
from ..display import Table
from ..elements.coordinates import channel_units, coordinates_field
from ..elements.loss_laws import LossLaw
from ..errors import FileError, ModelError
from ..model.parameter_record import ParameterRecord, recorded_parameters
from ..numerics.curvatures import Curvatures
from ..numerics.factor import Factors
from ..numerics.rank import shortest_reading
from ..numerics.read_only import Matrix, ReadOnly, read_only, read_only_property
from ..progress.tasks import Task
from ..results import Result
from ..statics.stability import Growth
from ..validation.arguments import names as name_list
from ..validation.arguments import new_name, positions
from ..validation.matrices import refuse_indefinite, refuse_one_triangle, symmetric_matrix
from .interface_frames import InterfaceFrame, Interfaces
from .methods import Analyses
from .readings import Readings
from .skew_parts import CIRCULATORY, GYROSCOPIC, Given, SkewParts, named_parts, signs
from .stiffness_parts import JoinedParts, ListedParts, Losses, Parts, StiffnessParts
from .tables import linear_model_table
from .zero_motions import curvatures, noise

if TYPE_CHECKING:
    from ..saved import Reader, Record
    from .independent import NullSpace


@dataclass(frozen=True, eq=False)
class DynamicMember(ReadOnly):
    """The stiffness that an object adds at every frequency: from a table, or of a member with mass along it.

    Attributes
    ----------
    label : str
        Object that it belongs to, as in the labels of ``LinearModel.parts``.
    motion : scipy.sparse.csr_matrix, (k, n + l)
        Displacements of its own coordinates by all coordinates x = (q, w).
    stiffness : callable
        ``stiffness(omega, loss)`` (m, k, k): what is added to K at angular frequencies (m,) rad/s, and loss factors by
        mechanism, complex ones of laws.  Symmetric, for ``exp(i w t)``; its real part vanishes at zero frequency.
    clamped_count : callable or None
        ``clamped_count(omega2)``: number of natural frequencies below, with its own coordinates clamped; None for none.
    mechanisms : tuple of str
        Mechanisms whose loss factors ``stiffness`` takes; loss factors of K belong to its other laws.
    left_out : callable or None
        ``left_out(omega)``: what ``stiffness`` may lack at complex frequencies (m,), where it is known at real ones alone, as
        matrices (m, 3, k, k) of which the largest counts, or None; None for what goes on at all of them.
    down_to, up_to : float, rad/s
        The lowest angular frequency above 0, and the highest one, at which ``stiffness`` is known.
    """

    label: str
    motion: sp.csr_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    stiffness: Callable[[np.ndarray, Mapping[str, float]], np.ndarray]
    clamped_count: Callable[[float], int] | None = None
    mechanisms: tuple[str, ...] = ()
    left_out: Callable[[np.ndarray], np.ndarray | None] | None = None
    down_to: float = 0.0
    up_to: float = np.inf


class _Members:
    """Files cannot store members with a dynamic stiffness."""

    def put(self, record: Record, key: str, value: tuple[DynamicMember, ...]) -> None:
        if value:
            labels = ", ".join(list(dict.fromkeys(m.label for m in value))[:6])
            raise FileError(
                f"{record.name}: the stiffness of {labels} depends on the frequency, which no file can hold; expected constant "
                "matrices; choose form='elements' for beams, or save a frequency response"
            )


class LinearModel(Result, Readings, Analyses):
    """Small motions about a working point; made by :meth:`.WorkingPoint.linearize` or :meth:`from_matrices`.

    The full coordinate vector is ``x = (q, w)``: n free coordinates q and l constrained ones w, six for each position actuator
    and force sensor.  Inputs prescribe ``w' = drive u' + drive_rate u``; sensors constrain w = 0 and read the force r it takes:

        ``M x'' + Lambda x' + K x = force u + (0, r)``,   ``y = measure x + rate x' - reaction r``

    The properties :attr:`M`, :attr:`Lambda` and :attr:`K` are the matrices on q alone.  Units: m, rad, N, N m.  Their skew
    parts, gyroscopic and circulatory, are kept apart (``skew``): methods for symmetric matrices use :attr:`symmetric`.

    Attributes
    ----------
    name : str
        Name of the model.
    coordinates : tuple of str, (n,)
        Names of the free coordinates q.
    full_mass : scipy.sparse.csr_matrix, (n + l, n + l)
        Mass on all coordinates x, symmetric.
    dampings : StiffnessParts
        Symmetric viscous damping on all coordinates x, by object and mechanism.
    parts : StiffnessParts
        Symmetric stiffness on all coordinates x, by object and mechanism.
    prescribed : tuple of str, (l,)
        Names of the constrained coordinates w.
    inputs, outputs, input_units, output_units : tuple of str
        Names of the i inputs and o outputs, and their units.
    force : scipy.sparse.csr_matrix, (n + l, i)
        Forces on x by inputs.
    drive, drive_rate : scipy.sparse.csr_matrix, (l, i)
        Displacements w by inputs, and velocities w' by inputs such as currents of sources.
    measure : scipy.sparse.csr_matrix, (o, n + l)
        Outputs by displacements x.
    reaction : scipy.sparse.csr_matrix, (o, l)
        Outputs by reactions r.
    rate : scipy.sparse.csr_matrix, (o, n + l)
        Outputs by velocities x', such as currents.
    members : tuple of DynamicMember
        Objects with a dynamic stiffness: each adds ``motion^T D(w) motion`` to the stiffness at the angular frequency w.
    owners : tuple of str, (n,)
        Object that each free coordinate belongs to.
    bodies : ndarray of int, (n,)
        Number of the body that each free coordinate moves, -1 for none; a body has its x, y, z, ax, ay, az in this
        order, or some of them.
    scale : ndarray, (n,), m
        How much one unit of each free coordinate counts compared with others of its body: an arm for rotations.
    affine : ndarray, (n,), N, N m, or None
        Constant force that is left if the model is not linearized about a working point of its own.
    interfaces : mapping of str to InterfaceFrame
        Frames that :func:`mse.compose` can clamp to other models, and at which :meth:`compliance` is defined.
    constraints : scipy.sparse.csr_matrix, (m, n + l)
        Joints, and flow constraints of motions that begin at rest: ``constraints x = 0``, in independent rows of unit length.
    determined : ndarray of int, (m,)
        Numbers of the coordinates that follow from the others by these constraints.
    sharing : ndarray, (l,)
        Weights of reactions of redundant joints, which have the least sum of squares of ``sharing r``: 1 for forces of joints,
        one over an arm (1/m) for their torques, 0 for all others.
    self_stress : scipy.sparse.csr_matrix, (l, d)
        Reactions of redundant joints that balance themselves.
    skew : SkewParts or None
        The skew parts of Lambda and K; None if they are symmetric.
    losses : mapping of (str, str) to float or LossLaw
        Loss factors and laws of elastic parts, by object and mechanism, from the elements' parameters ``loss``.
    parameters : ParameterRecord
        Parameters of the objects that it was made of, by their paths.
    notes : tuple of str
        Remarks from its making, such as laws of own elements that could not be recorded.

    Examples
    --------
    >>> system = mse.MSystem("stage")
    >>> mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    >>> spring = system.add(mse.Spring("spring", length=0.5, stiffness=800.0), between=(system.ground, mass))
    >>> linear = system.find_working_point().linearize()
    >>> float(round(linear.K[2, 2], 6))
    800.0
    """

    name: str
    coordinates: tuple[str, ...] = coordinates_field()
    full_mass: sp.csr_matrix = Matrix("x x")
    dampings: StiffnessParts = entry(Parts("damping"), key="damping")
    parts: StiffnessParts = entry(Parts(), key="part")
    prescribed: tuple[str, ...] = names("prescribed", default=())
    inputs: tuple[str, ...] = names("input", default=())
    outputs: tuple[str, ...] = names("output", default=())
    input_units: tuple[str, ...] = names("input", "", default=())
    output_units: tuple[str, ...] = names("output", "", default=())
    force: sp.csr_matrix = Matrix("x input", default=None)
    drive: sp.csr_matrix = Matrix("prescribed input", default=None)
    measure: sp.csr_matrix = Matrix("output x", default=None)
    reaction: sp.csr_matrix = Matrix("output prescribed", default=None)
    rate: sp.csr_matrix = Matrix("output x", sign="rate_data", default=None)
    drive_rate: sp.csr_matrix = Matrix("prescribed input", sign="drive_rate_data", default=None)
    members: tuple[DynamicMember, ...] = entry(_Members(), sign="members", default=())
    owners: tuple[str, ...] = names("coordinate", "", default=())
    bodies: np.ndarray = entry("numbered", "coordinate", options={"minimum": -1}, default=None)
    scale: np.ndarray = array("coordinate", default=None)
    affine: np.ndarray | None = array("coordinate", sign="affine", default=None)
    interfaces: Mapping[str, InterfaceFrame] = entry(Interfaces(), default_factory=dict)
    constraints: sp.csr_matrix = Matrix("constraint x", default=None)
    determined: np.ndarray = entry("numbered", "constraint", options={"count": "coordinate"}, default=None)
    sharing: np.ndarray = array("prescribed", default=None)
    self_stress: sp.csr_matrix = Matrix("prescribed stress", default=None)
    # by how much rounding at the working point may have changed each stiffness (n,); None where only rounding in K counts
    _noise: np.ndarray | None = array("coordinate", key="noise", sign="noise", default=None)
    skew: SkewParts | None = entry("part", options={"cls": SkewParts}, sign="skew_number", default=None)
    losses: Mapping[tuple[str, str], float | LossLaw] = entry(Losses(), sign="loss_factors", default_factory=dict)
    parameters: ParameterRecord = recorded_parameters()
    notes: tuple[str, ...] = ()
    _factors: Factors = field(default_factory=Factors)  # cached orderings for matrices of this pattern
    # what is known of :attr:`_curvatures` and :attr:`_allowed_motions`; models made from this one do not take it over
    _known_curvatures: InitVar[Curvatures | None] = None
    _known_motions: InitVar[NullSpace | None] = None

    @classmethod
    def _check_read(cls, reader: Reader, found: Mapping[str, Any]) -> None:
        reader.length("x", len(found["coordinates"]) + len(found["prescribed"]))

    def __post_init__(self, _known_curvatures: Curvatures | None, _known_motions: NullSpace | None):
        if _known_motions is not None:  # of constraints that stay the same
            self.__dict__["_allowed_motions"] = _known_motions
        if _known_curvatures is not None:
            self.__dict__["_curvatures"] = _known_curvatures
        own, n, held = vars(self), len(self.coordinates), len(self.prescribed)
        if self.constraints is None:
            own |= {"constraints": sp.csr_matrix((0, n + held)), "determined": np.zeros(0, dtype=int)}
        for name, shape in {"rate": (len(self.outputs), n + held), "drive_rate": (held, len(self.inputs))}.items():
            if own[name] is None or (own[name].shape != shape and not own[name].nnz):  # taken over with other channels
                own[name] = sp.csr_matrix(shape)
        own["bodies"] = np.full(n, -1) if self.bodies is None else self.bodies
        own["scale"] = np.ones(n) if self.scale is None else self.scale
        if self.sharing is None:
            own |= {"sharing": np.ones(held), "self_stress": sp.csr_matrix((held, 0))}
        super().__post_init__()

    @classmethod
    def from_matrices(
        cls,
        M: ArrayLike | sp.spmatrix,
        Lambda: Given | Mapping[str, Given] | None,
        K: Given | Mapping[str, Given],
        *,
        name: str = "model",
        coordinates: Sequence[str] | None = None,
        active: bool = False,
    ) -> LinearModel:
        """A model ``M x'' + Lambda x' + K x = f`` from given matrices; every coordinate is an input (force) and an output.

        Parameters
        ----------
        M : array_like or sparse matrix, (n, n)
            Mass matrix, symmetric and positive semi-definite.
        Lambda : array_like or sparse matrix, (n, n), or None
            Viscous damping matrix, positive semi-definite unless ``active``; its skew part, if any, is a gyroscopic coupling.
            None for no damping.  Or a mapping of named parts that add up to it: "gyroscopic" is skew, others are symmetric.
        K : array_like or sparse matrix, (n, n), or mapping
            Stiffness matrix; negative eigenvalues make the system unstable.  Its skew part, if any, is circulatory: of
            forces that have no energy.  Or a mapping of named parts: "circulatory" is skew, others are symmetric, and those named
            "geometric", "gravity" and "field" (of magnets, or of forces without an energy) have no loss.
        name : str
            Name of the model.
        coordinates : sequence of str, (n,), optional
            Names of the coordinates; ``x0``, ``x1`` ... if left out.  What stands before the last dot is the object that a
            coordinate belongs to.  Those made by :func:`mse.coordinate` know their units, others are lengths.
        active : bool
            Allows negative eigenvalues of Lambda, which feed motions as a linearized control or flow does, and matrices with one
            triangle only.

        Returns
        -------
        LinearModel
            A model without objects.

        Raises
        ------
        ModelError
            Shapes differ, entries are no finite real numbers, M is not symmetric to 1e-9, a named part is neither skew nor
            symmetric as its name says, M (or the symmetric part of Lambda, unless active) has negative eigenvalues beyond
            rounding, or names are not n different ones.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices(M=[[2.0]], Lambda=None, K=[[8.0]], coordinates=["mass.x"])
        >>> f"{2 * np.pi * model.modes()[0].frequency_hz:.6f} rad/s"
        '2.000000 rad/s'
        """
        who = f"LinearModel {new_name('LinearModel', 'name', name)!r}"
        with Task(who, "checking its matrices"):
            stiffness, circulatory = named_parts(who, "K", K, CIRCULATORY)
            n = circulatory.shape[0]
            m = sp.csr_matrix(symmetric_matrix(who, "M", M, size=n))
            factors = Factors()
            refuse_indefinite(
                who, "M", m, "or motions would have negative kinetic energy",
                "check that it was exported whole, with all its digits", factors,
            )  # fmt: skip
            none = sp.csr_matrix((n, n))
            dampings, gyroscopic = named_parts(who, "Lambda", none if Lambda is None else Lambda, GYROSCOPIC, n)
            damping = sum(dampings.values(), none)
            if not active:
                for what, parts, skew in (("K", stiffness, circulatory), ("Lambda", dampings, gyroscopic)):
                    if skew.nnz:
                        whole = sum(parts.values(), skew)
                        refuse_one_triangle(who, what, whole, "if all couplings work one way only, say active=True")
                refuse_indefinite(
                    who, "Lambda", damping, "or it would feed energy into motions", "say active=True if that is intended",
                    factors,
                )  # fmt: skip
            labels = (
                tuple([f"x{i}" for i in range(n)])
                if coordinates is None
                else name_list(who, "coordinates", coordinates)
            )
            if coordinates is not None and (len(labels) != n or len(set(labels)) != n):
                raise ModelError(f"{who}: {len(set(labels))} different coordinate names; expected {n}")
            parts = ListedParts.of([((name, part), k) for part, k in stiffness.items()], n)
            lambdas = ListedParts.of([((name, part), c) for part, c in dampings.items() if c.nnz], n, "damping")
            skew = None
            if gyroscopic.nnz or circulatory.nnz:
                skew = SkewParts(gyroscopic, ListedParts.of([((name, CIRCULATORY), circulatory)][: circulatory.nnz], n))
            owners = labels if coordinates is None else tuple(c.rsplit(".", 1)[0] for c in labels)
            eye = sp.identity(n, format="csr")
            return cls(
                name, labels, m, lambdas, parts, (), labels, labels, *channel_units(labels),
                eye, sp.csr_matrix((0, n)), eye, sp.csr_matrix((n, 0)), owners=owners, skew=skew, _factors=factors,
            )  # fmt: skip

    # -- matrices on the free coordinates ---------------------------------------------------------------------
    @property
    def size(self) -> int:
        """Number n of free coordinates."""
        return len(self.coordinates)

    @read_only_property
    def M(self) -> sp.csr_matrix:
        """Mass matrix (n, n) on the free coordinates; kg, kg m, kg m2."""
        return self._on_free(self.full_mass)

    @read_only_property
    def Lambda(self) -> sp.csr_matrix:
        """Damping matrix (n, n) on the free coordinates, viscous and gyroscopic; N s/m, N s, N m s."""
        return self._on_free(self.full_velocity)

    @read_only_property
    def K(self) -> sp.csr_matrix:
        """Stiffness matrix (n, n) on the free coordinates, all parts; N/m, N, N m."""
        return self._on_free(self.full_stiffness)

    def _on_free(self, matrix: sp.csr_matrix) -> sp.csr_matrix:
        return matrix[: self.size, : self.size] if self.prescribed else matrix

    @read_only_property
    def gyroscopic(self) -> sp.csr_matrix:
        """Skew part (n, n) of Lambda on the free coordinates, which dissipates nothing; N s/m, N s, N m s."""
        none = sp.csr_matrix((self.size, self.size))
        return none if self.skew is None else self._on_free(self.skew.gyroscopic)

    @read_only_property
    def full_damping(self) -> sp.csr_matrix:
        """Viscous damping on all coordinates x = (q, w), symmetric; (n + l, n + l)."""
        return self.dampings.total()

    @property
    def full_velocity(self) -> sp.csr_matrix:
        """What multiplies the velocities of all coordinates x = (q, w): damping and gyroscopic coupling; (n + l, n + l)."""
        return self.full_damping if self.skew is None else (self.full_damping + self.skew.gyroscopic).tocsr()

    @read_only_property
    def full_stiffness(self) -> sp.csr_matrix:
        """Stiffness on all coordinates x = (q, w), all parts; (n + l, n + l)."""
        return self.all_parts.total()

    @property
    def all_parts(self) -> StiffnessParts:
        """The stiffness on all coordinates x = (q, w) by object and mechanism, circulatory ones included."""
        circulates = self.skew is not None and self.skew.circulates
        return JoinedParts(self.parts, self.skew.circulatory) if circulates else self.parts

    @cached_property
    def symmetric(self) -> LinearModel:
        """This model without the skew parts of Lambda and K; itself where there are none."""
        return self if self.skew is None else replace(self, skew=None)

    @cached_property
    def lossless(self) -> LinearModel:
        """This model without the loss factors of its elements; itself where there are none."""
        return replace(self, losses={}) if self.losses else self

    @cached_property
    def mirror(self) -> np.ndarray | None:
        """Signs (n,) of rows that make M, Lambda and K symmetric, as for charges of coils; None if no signs do."""
        if self.skew is None:
            return read_only(np.ones(self.size))
        even = self.symmetric
        skew = [self.gyroscopic, self._on_free(self.skew.circulatory.total())]
        held = [
            abs(m.motion[:, : self.size]).max(axis=0).tocsr() for m in self.members
        ]  # coordinates that members move
        return read_only(signs([even.M, even.Lambda, even.K, *(row.T @ row for row in held)], skew))

    @cached_property
    def stiffness_parts(self) -> StiffnessParts:
        """K on the free coordinates as named parts: ``stiffness_parts["wire", "axial"]`` is (n, n)."""
        return self.all_parts.restricted(self.size)

    @cached_property
    def damping_parts(self) -> StiffnessParts:
        """Symmetric part of Lambda on the free coordinates, as named parts: ``damping_parts["damper", "damping"]`` is (n, n)."""
        return self.dampings.restricted(self.size)

    @cached_property
    def _curvatures(self) -> Curvatures:
        """Motions without clearly positive stiffness, as sorted at its working point if it has one."""
        return curvatures(self)

    @cached_property
    def growth(self) -> Growth:
        """Motions that grow, that are free, and those for which it is undetermined, by the eigenvalues of (M, Lambda, K)."""
        from ..analysis.modes.growth import growth

        return growth(self)

    @cached_property
    def _stiffness_noise(self) -> np.ndarray:
        """Possible change of the stiffness of each coordinate (n,) by rounding, at its working point or of K's parts."""
        return noise(self)

    @property
    def zero_motions(self) -> sp.csc_matrix:
        """Zero-stiffness motions (n, m): a basis of them."""
        null = self._curvatures.null
        return (sp.diags(1.0 / self.scale) @ null).tocsc() if null.shape[1] else null

    # -- choices by name --------------------------------------------------------------------------------------
    def input_indices(self, names: Sequence[str] | None) -> np.ndarray:
        """Numbers of the named inputs.

        Parameters
        ----------
        names : sequence of str or None
            Names of inputs; None for all.

        Returns
        -------
        ndarray of int
            Their places in ``inputs``.

        Raises
        ------
        UnknownNameError
            There is no such input; the message offers the nearest name.
        """
        return positions(self.name, "input", names, self.inputs)

    def output_indices(self, names: Sequence[str] | None) -> np.ndarray:
        """Numbers of the named outputs.

        Parameters
        ----------
        names : sequence of str or None
            Names of outputs; None for all.

        Returns
        -------
        ndarray of int
            Their places in ``outputs``.

        Raises
        ------
        UnknownNameError
            There is no such output; the message offers the nearest name.
        """
        return positions(self.name, "output", names, self.outputs)

    # -- constraints ------------------------------------------------------------------------------------------
    def read_reactions(self, outputs: np.ndarray) -> sp.csr_matrix:
        """Outputs by reactions, with redundant reactions shared by least squares (``sharing``).

        Parameters
        ----------
        outputs : ndarray of int, (o,)
            Numbers of outputs.

        Returns
        -------
        scipy.sparse.csr_matrix, (o, l)
            What each reads of any reactions that balance.
        """
        whole = np.array_equal(outputs, np.arange(len(self.outputs)))
        reaction = self.reaction if whole else self.reaction[outputs]
        return shortest_reading(reaction, self.self_stress, self.sharing)

    @cached_property
    def _allowed_motions(self) -> NullSpace:
        """All motions that the constraints allow; see :meth:`null_space`."""
        from .independent import null_space

        return null_space(self)

    @read_only_property
    def reduced(self) -> tuple[LinearModel, sp.csr_matrix]:
        """This model in independent coordinates only, and the basis (n, f) that leads back to all of them."""
        from .independent import reduced

        return reduced(self)

    # -- display ----------------------------------------------------------------------------------------------
    def table(self) -> Table:
        return linear_model_table(self)
