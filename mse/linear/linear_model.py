"""LinearModel: ``M x'' + Lambda x' + K x = F u`` with names for everything; the hinge between models and their analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import splu

from ..display import Result, table
from ..errors import ModelError, UnknownNameError
from ..numerics.factor import Factors
from ..numerics.read_only import Matrix, ReadOnly, read_only, read_only_property
from ..validation.arguments import complex_number, find, mapping, names, new_name, positions, shown
from ..validation.matrices import refuse_indefinite, symmetric_matrix

if TYPE_CHECKING:
    from ..analysis.frequency.resonance_grid import ResonanceGrid
    from ..analysis.frequency.response import FrequencyResponse
    from ..analysis.modes.modes import Modes
    from ..analysis.time.response import TimeResponse
    from ..analysis.time.state_space import StateSpace
    from ..analysis.time.step_loop import StepLoop
    from .independent import NullSpace


class StiffnessParts(Mapping):
    """Stiffness as a sum of named parts: maps (object, mechanism), such as ("wire", "axial"), to a sparse matrix.

    All entries lie in one list of coordinates, so thousands of parts cost no more than their sum; ``total`` adds them
    up, each times a factor if wanted (a complex one for a loss angle).
    """

    def __init__(self, labels: Sequence[tuple[str, str]], size: int, part, rows, cols, values):
        self.labels = tuple(labels)
        self.size = size
        self._listed = tuple(np.asarray(a) for a in (part, rows, cols, values))

    __getstate__ = Result.__getstate__

    @cached_property
    def _index(self) -> dict[tuple[str, str], int]:
        return {label: k for k, label in enumerate(self.labels)}

    @cached_property
    def _by_part(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows, columns and values of all entries part after part, and where each part starts."""
        part, *others = self._listed
        order = np.argsort(part, kind="stable")
        return *(a[order] for a in others), np.searchsorted(part[order], np.arange(len(self.labels) + 1))

    def __getitem__(self, label: tuple[str, str]) -> sp.csr_matrix:
        k = self._number(label)
        rows, cols, values, start = self._by_part
        piece = slice(start[k], start[k + 1])
        return self._matrix(rows[piece], cols[piece], values[piece])

    def _number(self, label: tuple[str, str]) -> int:
        if not isinstance(label, tuple) or label not in self._index:
            known = [" / ".join(x) for x in self.labels]
            named = isinstance(label, tuple) and all(isinstance(x, str) for x in label)
            find("", "stiffness part", " / ".join(label) if named else label, known)
            raise UnknownNameError(f"no stiffness part {shown(label)}; expected two names, (object, mechanism)")
        return self._index[label]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def _matrix(self, rows, cols, values) -> sp.csr_matrix:
        return sp.csr_matrix((values, (rows, cols)), shape=(self.size, self.size))

    def _weights(self, factors: Mapping[tuple[str, str], complex]) -> np.ndarray:
        """The factor of every part."""
        given = mapping("total", "factors", factors, "numbers by (object, mechanism)")
        some_complex = any(isinstance(f, complex | np.complexfloating) for f in given.values())
        weight = np.ones(len(self.labels), dtype=complex if some_complex else float)
        for label, f in given.items():
            weight[self._number(label)] = complex_number("total", f"factor of {shown(label)}", f)
        return weight

    def total(self, factors: Mapping[tuple[str, str], complex] | None = None) -> sp.csr_matrix:
        """Sum of all parts, each times ``factors[label]`` where given, else 1; (n, n)."""
        part, rows, cols, values = self._listed
        return self._matrix(rows, cols, values if factors is None else values * self._weights(factors)[part])

    def mechanisms(self) -> dict[str, sp.csr_matrix]:
        """The parts added up by mechanism over all objects: axial, torsion, geometric, gravity ..."""
        names = dict.fromkeys(m for _, m in self.labels)
        number = {m: k for k, m in enumerate(names)}
        of_part = np.array([number[m] for _, m in self.labels], dtype=int)
        part, rows, cols, values = self._listed
        of_entry = of_part[part] if len(of_part) else part
        out = {}
        for m, k in number.items():
            mask = of_entry == k
            out[m] = self._matrix(rows[mask], cols[mask], values[mask])
        return out

    def at(self, columns: np.ndarray, size: int) -> StiffnessParts:
        """The same parts with coordinate i renumbered ``columns[i]`` among ``size``, dropped where that is negative."""
        part, rows, cols, values = self._listed
        rows, cols = columns[rows], columns[cols]
        on = (rows >= 0) & (cols >= 0)
        return StiffnessParts(self.labels, size, part[on], rows[on], cols[on], values[on])

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Part, row, column and value of every entry."""
        return read_only(self._listed)

    def restricted(self, n: int) -> StiffnessParts:
        """The same parts on the first n coordinates only."""
        if n == self.size:
            return self
        return self.at(np.where(np.arange(self.size) < n, np.arange(self.size), -1), n)


@dataclass(frozen=True, eq=False)
class ExactMember(ReadOnly):
    """A slender member by its dynamic stiffness: exact at every frequency, with mass spread along it.

    ``motion`` (12, n + l) takes all coordinates x = (q, w) to the displacements of its two ends along its own axes;
    ``static`` (12, 12) is its stiffness in those at rest, which K of the model contains; ``stiffness(omega2, loss)`` (12, 12)
    at the square of an angular frequency (rad2/s2; negative for ``exp(s t)`` with omega2 = -s^2) and loss factors by
    mechanism; ``clamped_count(omega2)`` the number of its natural frequencies below with both ends held.  ``label`` is
    the object it belongs to, as in the labels of ``parts``.
    """

    label: str
    motion: sp.csr_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    static: np.ndarray
    stiffness: Callable[[float, Mapping[str, float]], np.ndarray]
    clamped_count: Callable[[float], int]


@dataclass(frozen=True, eq=False)
class InterfaceFrame(ReadOnly):
    """A frame that a linear model may be clamped by: the body it moves with, its lever arm, its orientation.

    ``first`` is the number of the body's first coordinate, None on the ground; the frame lies at ``lever`` (3,) m from the
    point about which the body turns, in world axes.
    """

    first: int | None
    lever: np.ndarray
    U: np.ndarray


@dataclass(frozen=True, repr=False, eq=False)
class LinearModel(Result):
    """Small motions about a working point; made by :meth:`WorkingPoint.linearize` or :meth:`from_matrices`.

    The full coordinate vector is ``x = (q, w)``: n free coordinates q, named by ``coordinates``, and the held ones w, six
    for each position actuator and force sensor, named by ``held``.  Actuators prescribe ``w = drive u``; sensors hold
    w = 0 and read the force that this takes:

        ``M x'' + Lambda x' + K x = force u + (0, r)``,   ``y = measure x - reaction r``

    M, Lambda and K on q alone are the properties :attr:`M`, :attr:`Lambda`, :attr:`K`; ``parts`` is K on x, by object
    and mechanism.  ``members`` are those whose mass is spread along them: each adds ``motion^T (D(w) - D(0)) motion`` to
    the stiffness at the frequency w, and nothing to M.  ``constraints`` (m, n + l), rows of unit length that do not depend on
    each other, hold ``constraints (q, w) = 0``: joints; the coordinates numbered ``determined`` (m,) follow from the others.
    Where joints are redundant, reactions that differ by columns of ``self_stress`` (l, d) balance the same; r is the one with the
    least sum of squares of ``sharing r``: ``sharing`` (l,) is 1 for forces of joints, one over an arm for their torques, 0 for
    what is no joint.
    ``noise`` (n,) is the stiffness of each coordinate that rounding of the reactions of joints may fake, else None; ``factors``
    know in which order such matrices are eliminated.
    ``bodies`` (n,) numbers the body that each coordinate moves, -1 for what moves none: a body's coordinates are (x, y, z, ax,
    ay, az), in this order, or some of them.  ``scale`` (n,) is what one unit of each coordinate counts for beside others of its
    body (m): an arm for rotations.  ``owners`` (n,) are the objects that coordinates belong to.
    ``affine`` (n,) is the constant force that is left where this is not linearised about a working point of its own, else
    None; ``interfaces`` are the frames by which a subsystem's model is composed with others.
    Units: m, rad, N, N m.
    """

    name: str
    coordinates: tuple[str, ...]
    mass: sp.csr_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    damping: sp.csr_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    parts: StiffnessParts = field(repr=False)
    held: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    output_units: tuple[str, ...] = ()
    force: sp.csr_matrix = Matrix(None)  # noqa: RUF009
    drive: sp.csr_matrix = Matrix(None)  # noqa: RUF009
    measure: sp.csr_matrix = Matrix(None)  # noqa: RUF009
    reaction: sp.csr_matrix = Matrix(None)  # noqa: RUF009
    members: tuple[ExactMember, ...] = field(default=(), repr=False)
    owners: tuple[str, ...] = ()
    bodies: np.ndarray = field(default=None, repr=False)
    scale: np.ndarray = field(default=None, repr=False)
    affine: np.ndarray | None = field(default=None, repr=False)
    interfaces: Mapping[str, InterfaceFrame] = field(default_factory=dict, repr=False)
    constraints: sp.csr_matrix = Matrix(None)  # noqa: RUF009
    determined: np.ndarray = field(default=None, repr=False)
    sharing: np.ndarray = field(default=None, repr=False)
    self_stress: sp.csr_matrix = Matrix(None)  # noqa: RUF009
    noise: np.ndarray | None = field(default=None, repr=False)
    factors: Factors = field(default_factory=Factors, repr=False)

    def __post_init__(self):
        if self.constraints is None:
            object.__setattr__(self, "constraints", sp.csr_matrix((0, len(self.coordinates) + len(self.held))))
            object.__setattr__(self, "determined", np.zeros(0, dtype=int))
        if self.bodies is None:
            object.__setattr__(self, "bodies", np.full(len(self.coordinates), -1))
        if self.scale is None:
            object.__setattr__(self, "scale", np.ones(len(self.coordinates)))
        if self.sharing is None:
            object.__setattr__(self, "sharing", np.ones(len(self.held)))
            object.__setattr__(self, "self_stress", sp.csr_matrix((len(self.held), 0)))
        super().__post_init__()

    @classmethod
    def from_matrices(
        cls,
        M: ArrayLike | sp.spmatrix,
        Lambda: ArrayLike | sp.spmatrix | None,
        K: ArrayLike | sp.spmatrix,
        *,
        name: str = "model",
        coordinates: Sequence[str] | None = None,
        active: bool = False,
    ) -> LinearModel:
        """A model from given symmetric matrices (n, n), dense or sparse; every coordinate is an input (force) and an output.

        K may have negative eigenvalues, as of what is unstable.  Lambda may have them with ``active=True`` only: it then feeds
        motions, as a linearised control or flow does.

        Raises ModelError where shapes differ, entries are no finite real numbers, a matrix is not symmetric to 1e-9, or M (or
        Lambda, unless active) has negative eigenvalues beyond rounding.
        """
        who = f"LinearModel {new_name('LinearModel', 'name', name)!r}"
        k = sp.csr_matrix(symmetric_matrix(who, "K", K))
        n = k.shape[0]
        m = sp.csr_matrix(symmetric_matrix(who, "M", M, size=n))
        refuse_indefinite(
            who,
            "M",
            m,
            "or motions would have negative kinetic energy",
            "check that it was exported whole, with all its digits",
        )
        damping = sp.csr_matrix((n, n) if Lambda is None else symmetric_matrix(who, "Lambda", Lambda, size=n))
        if not active:
            refuse_indefinite(
                who, "Lambda", damping, "or it would feed energy into motions", "say active=True where that is meant"
            )
        labels = tuple(f"x{i}" for i in range(n)) if coordinates is None else names(who, "coordinates", coordinates)
        if len(labels) != n or len(set(labels)) != n:
            raise ModelError(f"{who}: {len(set(labels))} different coordinate names; expected {n}")
        k = k.tocoo()
        parts = StiffnessParts([(name, "given")], n, np.zeros(k.nnz, dtype=int), k.row, k.col, k.data)
        eye = sp.identity(n, format="csr")
        return cls(
            name, labels, m, damping, parts, (), labels, labels, ("N",) * n, ("m",) * n,
            eye, sp.csr_matrix((0, n)), eye, sp.csr_matrix((n, 0)),
        )  # fmt: skip

    @property
    def coordinate_owners(self) -> tuple[str, ...]:
        """The object whose motion each free coordinate is: ``owners`` where given, else its name without the last part."""
        return self.owners or tuple(c.rsplit(".", 1)[0] for c in self.coordinates)

    # -- matrices on the free coordinates ---------------------------------------------------------------------
    @property
    def size(self) -> int:
        """Number n of free coordinates."""
        return len(self.coordinates)

    @read_only_property
    def M(self) -> sp.csr_matrix:
        """Mass matrix (n, n) on the free coordinates; kg, kg m, kg m2."""
        return self._on_free(self.mass)

    @read_only_property
    def Lambda(self) -> sp.csr_matrix:
        """Viscous damping matrix (n, n) on the free coordinates; N s/m, N s, N m s."""
        return self._on_free(self.damping)

    @read_only_property
    def K(self) -> sp.csr_matrix:
        """Stiffness matrix (n, n) on the free coordinates, all parts; N/m, N, N m."""
        return self._on_free(self.stiffness)

    def _on_free(self, matrix: sp.csr_matrix) -> sp.csr_matrix:
        return matrix[: self.size, : self.size] if self.held else matrix

    @read_only_property
    def stiffness(self) -> sp.csr_matrix:
        """Stiffness on all coordinates x = (q, w)."""
        return self.parts.total()

    @cached_property
    def stiffness_parts(self) -> StiffnessParts:
        """K on the free coordinates as named parts: ``stiffness_parts["wire", "axial"]`` is (n, n)."""
        return self.parts.restricted(self.size)

    # -- choices by name --------------------------------------------------------------------------------------
    def input_indices(self, names: Sequence[str] | None) -> np.ndarray:
        """Numbers of the named inputs; all for None; UnknownNameError with the nearest name otherwise."""
        return positions(self.name, "input", names, self.inputs)

    def output_indices(self, names: Sequence[str] | None) -> np.ndarray:
        """Numbers of the named outputs; all for None; UnknownNameError with the nearest name otherwise."""
        return positions(self.name, "output", names, self.outputs)

    # -- constraints ------------------------------------------------------------------------------------------
    def read_reactions(self, outputs: np.ndarray) -> sp.csr_matrix:
        """What the numbered outputs read (o, l) of any reactions that balance: of the shortest of them."""
        read = self.reaction[outputs]
        if not self.self_stress.shape[1]:
            return read
        squares = sp.diags(self.sharing**2) @ self.self_stress
        shares = splu((self.self_stress.T @ squares).tocsc()).solve((read @ self.self_stress).T.toarray())
        return (read - sp.csr_matrix(shares.T) @ squares.T).tocsr()

    def null_space(self, independent: Sequence[str] | None = None) -> NullSpace:
        """``q = basis y + lift w``: the motions that joints allow; see :func:`mse.linear.independent.null_space`."""
        from .independent import null_space

        return null_space(self, independent)

    @read_only_property
    def reduced(self) -> tuple[LinearModel, sp.csr_matrix]:
        """This model in independent coordinates only, and the basis (n, f) that leads back to all of them."""
        from .independent import reduced

        return reduced(self)

    # -- analyses ---------------------------------------------------------------------------------------------
    def modes(self, count: int | None = None, *, damped: bool = False) -> Modes:
        """``K phi = w^2 M phi``, or with ``damped`` ``(s^2 M + s Lambda + K) phi = 0``; see :mod:`mse.analysis.modes.modes`."""
        from ..analysis.modes.modes import modes

        return modes(self, count, damped=damped)

    def frequency_response(
        self,
        frequencies: ArrayLike,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        loss: Mapping[str | tuple[str, str], float] | None = None,
        bound: float = 1e-9,
    ) -> FrequencyResponse:
        """``y/u`` at the given frequencies (Hz); see :func:`mse.analysis.frequency.response.frequency_response`.

        ``loss`` makes stiffness complex, ``1 + i eta``: ``{"blade": 1e-3}`` all elastic stiffness of an object,
        ``{("blade", "axial"): 1e-3}`` that of one mechanism.  Long sweeps of large models may be interpolated, with an
        error below ``bound`` of the largest response.
        """
        from ..analysis.frequency.response import frequency_response

        return frequency_response(self, frequencies, inputs=inputs, outputs=outputs, loss=loss, bound=bound)

    def resonance_grid(
        self,
        low: float,
        high: float,
        *,
        points_per_width: float = 6.0,
        loss: Mapping[str | tuple[str, str], float] | None = None,
    ) -> ResonanceGrid:
        """Frequencies (Hz) that resolve every resonance; see :func:`mse.analysis.frequency.resonance_grid.resonance_grid`."""
        from ..analysis.frequency.resonance_grid import resonance_grid

        return resonance_grid(self, low, high, points_per_width=points_per_width, loss=loss)

    def state_space(self, *, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> StateSpace:
        """``s' = A s + B u, y = C s + D u``; see :func:`mse.analysis.time.state_space.state_space`."""
        from ..analysis.time.state_space import state_space

        return state_space(self, inputs=inputs, outputs=outputs)

    def simulate(
        self,
        *,
        duration: float,
        dt: float,
        inputs: Mapping[str, Callable | ArrayLike] | None = None,
        hold: str | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
        record: str | PathLike | None = None,
        progress: bool = True,
    ) -> TimeResponse:
        """Outputs over ``duration`` (s) in steps of ``dt``; see :func:`mse.analysis.time.simulate.simulate`.

        ``record="run.npy"`` writes to that file as it goes, and goes on from there when it is called again.
        """
        from ..analysis.time.simulate import simulate

        return simulate(
            self, duration=duration, dt=dt, inputs=inputs, hold=hold, outputs=outputs, initial=initial, record=record,
            progress=progress,
        )  # fmt: skip

    def step_loop(
        self,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
    ) -> StepLoop:
        """Time evolution step by step, with a controller in between; see :class:`mse.analysis.time.step_loop.StepLoop`."""
        from ..analysis.time.step_loop import StepLoop

        return StepLoop(self, dt=dt, inputs=inputs, outputs=outputs, initial=initial)

    # -- display ----------------------------------------------------------------------------------------------
    def table(self) -> str:
        k, m = abs(self.K).diagonal(), self.M.diagonal()
        rows = [(c, f"{a:.6g}", f"{b:.6g}") for c, a, b in zip(self.coordinates, m, k, strict=True)]
        head = f"{self.name}: {self.size} coordinates, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        if self.affine is not None:
            head += f"; NOT about a working point of its own: forces up to {np.abs(self.affine).max(initial=0.0):.6g} are left"
        text = table(head, ("coordinate", "M diagonal", "K diagonal"), rows)
        if self.members:
            labels = tuple(dict.fromkeys(m.label for m in self.members))
            text += "\n\nExact members: " + ", ".join(labels[:36]) + (" ..." if len(labels) > 36 else "")
        if self.inputs:
            text += "\n\nInputs: " + ", ".join(self.inputs[:36]) + (" ..." if len(self.inputs) > 36 else "")
        if self.outputs:
            text += "\nOutputs: " + ", ".join(self.outputs[:36]) + (" ..." if len(self.outputs) > 36 else "")
        return text
