"""``s' = A s + B u, y = C s + D u``: first-order form of a linear model, with prescribed displacements included.

A prescribed displacement u enters the equations of motion with u' and u'' (it moves masses and dampers).  Two shifts remove these
exactly.  ``r = z + W u`` with ``W = M^-1 A2``, the lifting that is mass-orthogonal to every free motion, removes u''.
``z' = v + Y u`` removes u'.  If an output then still needs a derivative of u, the model is improper and refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg as sl

from ...declared import array, entry, names, scalar
from ...display import ROUNDING, Column, Table, amounts
from ...linear.independent import independent
from ...linear.linear_model import LinearModel
from ...linear.rate_inputs import acting
from ...model.parameter_record import ParameterRecord, recorded_parameters
from ...numerics.blas_threads import one_thread
from ...numerics.extended import solver
from ...numerics.read_only import read_only
from ...numerics.recent import Recent
from ...progress.tasks import BUILDING, shown_as
from ...results import Result
from ...validation.arguments import find, mapping, number
from ..resources import refuse_beyond_memory
from .balanced import Balanced
from .free_motions import free_motions
from .improper import improper, rates_alone, refuse_improper, sizes
from .integrals import rest_positions, with_integrals
from .left_out import LeftOut
from .massless import Condensed, condense, separated
from .soft_modes import soft_modes

if TYPE_CHECKING:
    import control
    import scipy.signal

    from ...saved import Reader

# Memory relative to its matrices, at most: with half and three times this the message about memory is wrong
# (tests/analysis/test_resources.py::test_memory_is_told_as_it_is_taken).
_COPIES = 6.0


class StateSpace(Result):
    """``s' = A s + B u, y = C s + D u`` with named states, inputs and outputs; made by :meth:`.LinearModel.state_space`.

    Attributes
    ----------
    name : str
        Name of the model.
    A, B, C, D : ndarray
        Matrices (s, s), (s, i), (o, s), (o, i).
    states : tuple of str, (s,)
        Names: the ``with_mass`` coordinates that carry mass (m, rad), as many velocities of these (names with '), massless
        damped coordinates, and integrals of inputs such as currents of sources, in this order.
    inputs, outputs : tuple of str
        Names of the i inputs and o outputs.
    input_units, output_units : tuple of str
        Their units.
    with_mass : int
        Number of coordinates that carry mass.
    shift : ndarray, (s, i)
        States are relative to what prescribed displacements u drag along: ``q = s + shift u``.  Where integrals of inputs are
        states, the others are relative to where the system rests at these.
    scaling : tuple of ndarray, (s, s)
        T and its inverse: ``s = T m`` with modal coordinates m scaled by frequency.
    free : tuple of str
        Names of the zero-stiffness motions.
    zeros : int
        Number of poles at exactly zero: two for each of these motions without damping, one with.
    parameters : ParameterRecord
        Parameters of the objects of the system, by their paths.
    left_out : LeftOut or None
        Where only motions up to a frequency were kept: what the others would add, and bounds on it.  States are then named
        by the modes, "mode 0" and its rate "mode 0'".
    balanced : Balanced or None
        Where it was reduced by balanced truncation: the error of that.

    Examples
    --------
    >>> ss = mse.LinearModel.from_matrices([[1.0]], [[0.2]], [[4.0]], coordinates=["mass.x"]).state_space()
    >>> ss.C, ss.D
    (array([[1., 0.]]), array([[0.]]))
    >>> np.round(ss.poles(), 6)  # rad/s
    array([-0.1-1.997498j, -0.1+1.997498j])
    """

    name: str
    A: np.ndarray = array("state state")
    B: np.ndarray = array("state input")
    C: np.ndarray = array("output state")
    D: np.ndarray = array("output input")
    states: tuple[str, ...] = names("state")
    inputs: tuple[str, ...] = names("input")
    outputs: tuple[str, ...] = names("output")
    input_units: tuple[str, ...] = names("input", "")
    output_units: tuple[str, ...] = names("output", "")
    with_mass: int = scalar(int)
    shift: np.ndarray = array("state input")
    scaling: tuple[np.ndarray, np.ndarray] = entry(
        "arrays_of", "state state, state state", key="scaling scaling_inverse"
    )
    free: tuple[str, ...] = names("free", default=())
    zeros: int = scalar(int, default=0)
    parameters: ParameterRecord = recorded_parameters()
    left_out: LeftOut | None = entry("part", options={"cls": LeftOut}, sign="up_to_hz", default=None)
    balanced: Balanced | None = entry("part", options={"cls": Balanced}, sign="hankel", default=None)

    @classmethod
    def _check_read(cls, reader: Reader, found: Mapping[str, Any]) -> None:
        with_mass, zeros, count = found["with_mass"], found["zeros"], len(found["states"])
        if 2 * with_mass > count or zeros > count:
            known = f"less than the {count} that there are"
            raise reader.damaged("the counts of states", f"are {with_mass} and {zeros}", known)

    def scaled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C in modal coordinates scaled by frequency, in which A is nearly skew and its exponential is accurate.

        Returns
        -------
        tuple of ndarray
            ``T^-1 A T``, ``T^-1 B`` and ``C T``, with T of ``scaling``.
        """
        to, back = self.scaling
        return back @ self.A @ to, back @ self.B, self.C @ to

    def initial_state(self, values: dict[str, float] | None) -> np.ndarray:
        """State vector from values by state name.

        Parameters
        ----------
        values : mapping of str to float, or None
            Displacements (m, rad) and velocities (m/s, rad/s); zero for the others.

        Returns
        -------
        ndarray, (s,)
            In the order of ``states``.

        Raises
        ------
        UnknownNameError
            A name that no state has.
        """
        s = np.zeros(len(self.states))
        place = {name: k for k, name in enumerate(self.states)}
        for name, value in mapping(self.name, "initial", values, "values by state name").items():
            s[place[find(self.name, "state", name, place)]] = number(self.name, f"initial {name}", value)
        return s

    @property
    def control_names(self) -> dict[str, str]:
        """Names of inputs, outputs and states as python-control has them, by their names here: '.' becomes '_'."""
        from ...tools.exchange.control_systems import control_names

        return control_names(self)

    def reduced(self, *, order: int | None = None, error: float | None = None) -> StateSpace:
        """A state space of fewer states by balanced truncation (SLICOT's AB09AD; extra ``reduction``).

        Motions that inputs hardly drive and outputs hardly see are left out, whatever their frequency.  Free, undamped and
        growing motions are kept as they are; names of inputs and outputs and D, too, so that responses fall at high frequencies
        as they did.

        Parameters
        ----------
        order : int, optional
            Number of states wanted, those kept among them.
        error : float, optional
            Instead of an order: largest error of a response, as a share of the largest response of its output and input.

        Returns
        -------
        StateSpace
            The reduced one; ``balanced`` states a bound on the error of each response (K. Glover, Int. J. Control 39 (1984)
            1115).

        Raises
        ------
        ModelError
            Neither or both are given, the order is below the number of states that are kept, or nothing decays.
        MissingPackageError
            slycot is not installed.
        """
        from ...tools.reduction import reduced

        return reduced(self, order, error)

    def to_control(self) -> control.StateSpace:
        """The same system for python-control (extra ``control``).

        Returns
        -------
        control.StateSpace
            With named inputs, outputs and states; '.' in names becomes '_', as :attr:`control_names` tells.

        Raises
        ------
        ModelError
            Two names would become one; the message names both.
        MissingPackageError
            python-control is not installed.
        """
        from ...tools.exchange.control_systems import to_control

        return to_control(self)

    def to_scipy(self) -> scipy.signal.StateSpace:
        """The same system for SciPy, which has no names.

        Returns
        -------
        scipy.signal.StateSpace
            Inputs, outputs and states in the order that they have here.
        """
        from ...tools.exchange.control_systems import to_scipy

        return to_scipy(self)

    @one_thread
    def poles(self) -> np.ndarray:
        """Eigenvalues of A.

        Returns
        -------
        ndarray of complex, (s,), rad/s
            In ascending order of magnitude; exactly zero for free motions.
        """
        p = np.linalg.eigvals(self.scaled()[0])
        # a free coordinate has the double eigenvalue 0, which rounding splits
        p[np.argsort(np.abs(p), kind="stable")[: self.zeros]] = 0.0
        return p[np.lexsort((p.imag, np.round(np.abs(p), 12)))]

    def table(self) -> Table:
        p = self.poles()
        # the error of an eigenvalue is rounding of the largest one
        limit = np.maximum(ROUNDING * np.abs(p), 2.0 * np.finfo(float).eps * np.abs(p).max(initial=0.0))
        rate, omega = (np.where(np.abs(part) <= limit, 0.0, part) for part in (p.real, p.imag))
        rows = []
        for re, im, pole in zip(rate.tolist(), omega.tolist(), p.tolist(), strict=True):
            if im >= 0.0:  # one of each conjugate pair
                ratio = "free" if not pole else -re / abs(pole)
                rows.append((re, im, abs(pole) / (2 * np.pi), ratio))
        head = f"{self.name}: {amounts(state=len(self.states), input=len(self.inputs), output=len(self.outputs))}"
        columns = (
            Column("pole re", "1/s", 6), Column("pole im", "rad/s", 6), Column("frequency", "Hz", 6),
            Column("damping ratio", digits=4),
        )  # fmt: skip
        names = "States: " + ", ".join(self.states[:36]) + (" ..." if len(self.states) > 36 else "")
        free = [Table("Free (zero stiffness): " + ", ".join(self.free))] if self.free else []
        left = [part.table() for part in (self.left_out, self.balanced) if part is not None]
        return Table(
            head, columns, rows, notes=["one pole of each conjugate pair"], more=[*free, Table(names), *left], most=40
        )


class Terms(NamedTuple):
    """``B = extra + A (shift - static)``, ``C = direct + rates A``, ``D = feed + direct shift + rates B`` of a state space.

    ``stiffness`` (r, r) couples the undamped modes in ``scaling``: w^2, and forces that dampers transmit from d.  ``static`` is
    the rest position for given inputs, with zero-stiffness motions held by springs, and ``extra`` removes these springs again.
    In this form nothing large cancels for motions that are slow compared with the stiffness of elements.
    """

    static: np.ndarray
    extra: np.ndarray
    direct: np.ndarray
    rates: np.ndarray
    feed: np.ndarray
    stiffness: np.ndarray


def full_state_space(
    model: LinearModel, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
) -> StateSpace:
    """The state space of all motions of a model; see :meth:`.LinearModel.state_space`."""
    return with_terms(model, inputs, outputs)[0]


@one_thread
@shown_as(BUILDING)
def with_terms(
    model: LinearModel, inputs: Sequence[str] | None, outputs: Sequence[str] | None, accurate_to: float = 0.0
) -> tuple[StateSpace, Terms]:
    """The state space of :func:`full_state_space`, and its terms; modes up to ``accurate_to`` (rad/s) are accurate."""
    whole, model = model, independent(model)
    i, o = model.input_indices(inputs), model.output_indices(outputs)
    refuse_beyond_memory(
        model.name, _COPIES * 8.0 * (2 * model.size + len(i)) * (2 * model.size + len(o)),
        f"the state space of {model.size} coordinates, {len(i)} inputs and {len(o)} outputs needs {{}}",
        "reduce the model, or choose fewer inputs and outputs",
    )  # fmt: skip
    motion = _MOTIONS(whole, lambda: _Motion(whole, model))
    c = condense(model, i, o, motion.separated)
    nr, nd = len(c.sep.r), len(c.sep.d)
    r, d = slice(0, nr), slice(nr, nr + nd)
    lift = motion.by_mass(c.A2)
    x = motion.damp_d @ (c.A1[d] - c.Lambda[d, r] @ lift)
    y = motion.by_mass(c.A1[r] - c.Lambda[r, r] @ lift - c.Lambda[r, d] @ x)
    shifted = np.vstack([lift, x])
    load = c.A0 - c.K @ shifted

    # e' = E s + E_u u for the massless damped coordinates, then v' = V s + V_u u
    e_s, v_s = motion.e_s, motion.v_s
    e_u = motion.damp_d @ (load[d] - c.Lambda[d, r] @ y)
    v_u = motion.by_mass(load[r] - c.Lambda[r, r] @ y - c.Lambda[r, d] @ e_u)
    b = np.vstack([y, v_u, e_u])
    of_z = np.hstack([c.B0[:, r], c.B1[:, r], c.B0[:, d]])
    cc = of_z + c.B2 @ v_s + c.B1[:, d] @ e_s
    dd = c.D0 + c.B0 @ shifted + c.B1[:, r] @ y + c.B2 @ v_u + c.B1[:, d] @ e_u
    first = c.D1 + c.B1[:, r] @ lift + c.B1[:, d] @ x + c.B2 @ y
    second = c.D2 + c.B2 @ lift
    how = acting(model, i)
    derivatives = np.array([c.D3, second, first])
    made_of = sizes(c, motion.by_mass, motion.damp_d, (lift, x, y)) if derivatives.any() else derivatives
    found = improper(derivatives, made_of, how)
    bad = found.any(axis=(0, 2))
    if outputs is None and bad.any() and (left := rates_alone(model) & bad).any():
        return with_terms(
            whole, inputs, [name for name, off in zip(model.outputs, left, strict=True) if not off], accurate_to
        )
    refuse_improper(model, i, o, found)

    names = [model.coordinates[k] for k in c.sep.r]
    states = (*names, *(n + "'" for n in names), *(model.coordinates[k] for k in c.sep.d))
    shift = np.vstack([lift, y, x])
    rates, shapes, scaling = motion.modes(c, accurate_to)
    still = shapes[:, np.argsort(np.abs(rates))[: motion.without_stiffness]]
    terms = Terms(
        *(_static(c, nr, motion.damp_d, still, accurate_to) if accurate_to else (shift, shift)),
        of_z, np.hstack([np.zeros_like(c.B2), c.B2, c.B1[:, d]]), c.D0, _between(c, motion.damp_d, rates, shapes),
    )  # fmt: skip
    ss = StateSpace(
        model.name, motion.A, b, cc, dd, states,
        tuple(model.inputs[k] for k in i[how.of]), tuple(model.outputs[k] for k in o),
        tuple(model.input_units[k] for k in i[how.of]), tuple(model.output_units[k] for k in o),
        nr, shift, scaling, motion.free, motion.zeros, model.parameters,
    )  # fmt: skip
    if not len(how.rates):
        return ss, terms
    at_rest = rest_positions(c, how.integral, motion.damp_d, motion.by_mass)
    return with_integrals(ss, terms, how, [model.inputs[k] for k in i], at_rest, first[:, how.integral])


class _Motion:
    """The part of a model's state spaces that all inputs and outputs share, which takes nearly all the time."""

    def __init__(self, whole: LinearModel, model: LinearModel):
        none = np.zeros(0, dtype=int)
        self.separated = separated(model)
        c = condense(model, none, none, self.separated)
        nr, nd = len(c.sep.r), len(c.sep.d)
        r, d = slice(0, nr), slice(nr, nr + nd)
        self._mass = sl.cho_factor(c.M) if nr else None
        self.damp_d = np.linalg.inv(c.Lambda[d, d]) if nd else np.zeros((0, 0))
        zero = np.zeros((nd, nr))
        self.e_s = np.zeros((0, 2 * nr))
        if nd:
            self.e_s = self.damp_d @ np.hstack([-c.K[d, r], -c.Lambda[d, r], -c.K[d, d]])
        of_r = np.hstack([-c.K[r, r], -c.Lambda[r, r], -c.K[r, d]])
        self.v_s = self.by_mass(of_r - c.Lambda[r, d] @ self.e_s)
        # one object for all state spaces, since normal forms are cached by it
        self.A = read_only(np.vstack([np.hstack([np.zeros((nr, nr)), np.eye(nr), zero.T]), self.v_s, self.e_s]))
        even = c.K[r, r] if c.symmetric else _symmetric(c.K[r, r])
        self.rates, self.shapes = sl.eigh(even, c.M) if nr else (np.zeros(0), np.zeros((0, 0)))
        self.free, self.zeros = free_motions(whole, c, self.shapes)
        self.without_stiffness = whole._curvatures.null.shape[1]
        self.scaling = read_only(_modal_scaling(c, self.rates, self.shapes, self.A))

    def modes(self, c: Condensed, accurate_to: float) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Squared rates and shapes of undamped modes, accurate up to a rate (rad/s), and the scaling by them."""
        nr = len(self.rates)
        if not accurate_to or not nr:
            return self.rates, self.shapes, self.scaling
        even = c.K[:nr, :nr] if c.symmetric else _symmetric(c.K[:nr, :nr])
        rates, shapes = soft_modes(even, c.M, (self.rates, self.shapes), accurate_to, self.zeros > 0)
        return rates, shapes, _modal_scaling(c, rates, shapes, self.A)

    def by_mass(self, x: np.ndarray) -> np.ndarray:
        """``M^-1 x`` (r, k)."""
        return x if self._mass is None else sl.cho_solve(self._mass, x)


_MOTIONS = Recent(4)  # of the latest models: some 60 MB each with 1,200 states


def _between(c: Condensed, damp_d: np.ndarray, rates: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Stiffness (r, r) between undamped modes: w^2, minus what dampers transmit from d."""
    r, d = slice(0, len(rates)), slice(len(rates), len(c.K))
    between = np.diag(rates) - shapes.T @ (c.Lambda[r, d] @ (damp_d @ (c.K[d, r] @ shapes)))
    return between if c.symmetric else between + shapes.T @ (c.K[r, r] - _symmetric(c.K[r, r])) @ shapes


def _static(c: Condensed, nr: int, damp_d: np.ndarray, free: np.ndarray, w: float) -> tuple[np.ndarray, np.ndarray]:
    """``static`` and ``extra`` of :class:`Terms`; springs with the frequency ``w`` (rad/s) hold the free shapes (r, k) and d."""
    r, d = slice(0, nr), slice(nr, len(c.K))
    held = np.zeros(c.K.shape)
    driven = c.M @ free
    held[r, r] = w**2 * driven @ driven.T
    held[d, d] = w * c.Lambda[d, d]
    rest = solver(c.K + held)(c.A0) if c.A0.size else np.zeros_like(c.A0)  # infinite results are found later
    taken = held @ rest
    of_d = damp_d @ taken[d]
    of_r = w**2 * free @ (driven.T @ rest[r])
    if len(of_d) and nr:
        of_r = of_r - np.linalg.solve(c.M, c.Lambda[r, d] @ of_d)
    zero = np.zeros_like(rest[r])
    return np.vstack([rest[r], zero, rest[d]]), np.vstack([zero, of_r, of_d])


def _modal_scaling(c: Condensed, w2: np.ndarray, phi: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``s = to m`` and ``m = back s`` with m = (frequency times modal coordinate, modal velocity, scaled motions of d).

    ``w2`` (r,) and ``phi`` (r, r) are the undamped eigenpairs of the coordinates with mass.  Squares of m are twice the
    energies of modes and of motions of d alone, ``K_dd psi = rate Lambda_dd psi``.  Without symmetry, as in networks of heat and
    amplifiers, damping measures no motions.  Rows and columns of the state matrix a then become as large as each other (B.
    Parlett, C. Reinsch, Numer. Math. 13 (1969) 293).
    """
    to, back = [np.eye(0)], [np.eye(0)]
    nr = len(w2)
    if nr:
        frequency, inverse = _at_least(np.sqrt(np.abs(w2))), phi.T @ c.M
        to += [phi / frequency, phi]
        back += [frequency[:, None] * inverse, inverse]
    if len(c.K) > nr:
        stiffness, damping = c.K[nr:, nr:], c.Lambda[nr:, nr:]
        if not c.symmetric:
            to, back = sl.block_diag(*to), sl.block_diag(*back)
            own = np.eye(len(damping))
            whole = sl.block_diag(back, own) @ a @ sl.block_diag(to, own)
            by = sl.matrix_balance(whole, permute=False, separate=True)[1][0]
            by = by[2 * nr :] / np.exp(np.log(by[: 2 * nr]).mean() if nr else 0.0)
            return sl.block_diag(to, np.diag(by)), sl.block_diag(back, np.diag(1.0 / by))
        rate, psi = sl.eigh(stiffness, damping)
        root = np.sqrt(_at_least(np.abs(rate)))
        to.append(psi / root)
        back.append(root[:, None] * (psi.T @ damping))
    return sl.block_diag(*to), sl.block_diag(*back)


def _symmetric(a: np.ndarray) -> np.ndarray:
    return 0.5 * (a + a.T)


def _at_least(rates: np.ndarray) -> np.ndarray:
    """Rates (n,), none below a thousandth of the largest."""
    return np.maximum(rates, 1e-3 * rates.max() or 1.0)
