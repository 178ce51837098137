"""Poles of closed loops: eigenvalues of a rational model, refined on the exact equations with delays and losses.

The exact equations of free coordinates q, states x of the controllers and commands u are ``T(s) (q, x, u) = 0`` with

    ``T = [[Z, 0, -b], [-B c, s - A, -B d], [D' c, C', 1 + D' d]]``,   ``C' = e^(-s delay) C``,   ``D' = e^(-s delay) D``

for a plant ``Z q = b u, y = c q + d u``: ``det T = det Z det(s - A) det(1 + C P)``, without the poles of the latter.  Newton's
method for a vector and its eigenvalue: P. M. Anselone, L. B. Rall, Numer. Math. 11 (1968) 38.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from ..analysis.frequency.equations import Equations
from ..analysis.frequency.response import Prepared
from ..analysis.time.massless import Condensed, condense
from ..errors import ImproperModelError, ModelError, SingularResponseError
from ..linear.independent import independent
from ..linear.linear_model import DynamicMember, LinearModel
from ..linear.losses import loss_factors
from ..linear.skew_parts import CIRCULATORY
from ..linear.stiffness_parts import JoinedParts, ListedParts
from ..numerics.options import SIZES
from ..numerics.precision import DEPENDENT, NOTHING, left_by_rounding
from .controller import Controller, realized, sampled, without_delay
from .links import Links, finite
from .motions import Motions

# With a hundredth and a hundred times of each tests/control/test_poles.py passes:
_STEP = 1e-5  # of a pole, for differences of T: they are right to its square, and to rounding over it
_CONVERGED = 1e-10  # of a pole: last step of Newton's method, of which the square is left
_MOST_NEWTON = 30

# Of a loop gain: below it a delay does not decide about stability
# (tests/control/test_poles.py::test_poles_of_a_long_delay_are_those_of_lambert_s_function).
_LOW_GAIN = 0.5


class Poles(NamedTuple):
    """Poles of a closed loop: ``values`` (m,) in s or z, both of each conjugate pair, and motions (n, m).

    Rounding may have changed each by ``rounding`` (m,).  ``moved`` (m,) says which of them the loop moves.
    """

    values: np.ndarray
    shapes: np.ndarray
    rounding: np.ndarray
    moved: np.ndarray


class Plant:
    """What stands between the actuators and sensors of a model, and its loops, in s."""

    #: highest rate (rad/s) at which there is a loop gain
    highest = np.inf
    #: what its gain leaves out
    notes: tuple[str, ...] = ()

    def __init__(self, model: LinearModel, links: Links):
        self.model, self.links = model, links
        self.model_name = model.name
        self._coordinates = independent(model)
        self._shifted: tuple[float, Prepared | None] = np.nan, None

    def asked(self) -> None:
        """A new question begins, for plants with notes about each."""

    # -- loop gain --------------------------------------------------------------------------------------------
    def gain(self, w: np.ndarray, shift: float = 0.0, *, beside: bool = True) -> np.ndarray:
        """``C P`` (f, a, a) at ``s = shift + i w``; where it is infinite that ``beside`` it, or SingularResponseError."""
        return finite(self.model_name, self.links.at(shift + 1j * w), w, beside) @ self.response(
            w, shift, beside=beside
        )

    def response(self, w: np.ndarray, shift: float = 0.0, *, beside: bool = True) -> np.ndarray:
        """P (f, s, a) at ``s = shift + i w``; at an undamped resonance that ``beside`` it, or SingularResponseError."""
        if self._shifted[0] != shift:
            self._shifted = shift, self._prepared_at(shift)
        f = w / (2 * np.pi)
        while True:
            try:
                return self._shifted[1].whole(f)
            except SingularResponseError as error:
                if not beside or not error.frequency_hz:
                    raise
                f = np.where(f == error.frequency_hz, f * (1.0 + DEPENDENT), f)

    def _prepared_at(self, shift: float) -> Prepared:
        """Responses at ``s = shift + i w``, prepared once for all searches along that line."""
        model = shifted(self.model, shift) if shift else self.model
        return Prepared(model, self.links.actuators, self.links.sensors, shift=shift)

    @cached_property
    def _equations(self) -> Equations:
        return self._with_losses(loss_factors(self.model, None))

    def _with_losses(self, loss: dict[tuple[str, str], float]) -> Equations:
        o, i = self.model.output_indices(self.links.sensors), self.model.input_indices(self.links.actuators)
        return Equations(self._coordinates, i, o, loss)

    def dynamics(self, s: np.ndarray) -> tuple[np.ndarray, ...]:
        """Z, b, c, d (f, ., .) at complex rates (f,) with Im s >= 0; loss factors act on motions that swing, with Im s > 0."""
        still = s.imag == 0.0
        if not self.model.losses or not still.any() or still.all():
            return _dynamics(self._with_losses({}) if self.model.losses and still.all() else self._equations, s)
        parts = [(still, self.dynamics(s[still])), (~still, self.dynamics(s[~still]))]
        out = tuple(np.empty((len(s), *x.shape[1:]), dtype=complex) for x in parts[0][1])
        for at, found in parts:
            for into, values in zip(out, found, strict=True):
                into[at] = values
        return out

    # -- poles ------------------------------------------------------------------------------------------------
    @cached_property
    def _state_space(self):
        return self.model.lossless.state_space(inputs=self.links.actuators, outputs=self.links.sensors, progress=False)

    @cached_property
    def _motions(self) -> Motions:
        return Motions.continuous(self._state_space)

    @cached_property
    def open(self) -> np.ndarray:
        """Poles of ``C P``: of the motions that the loops move without their losses, and of the controllers."""
        if self.model.members:
            found = self.model.modes(lossy=True, progress=False).eigenvalues
            return np.concatenate([found, found[found.imag != 0.0].conj(), self.links.poles()])
        return np.concatenate([np.linalg.eigvals(self._motions.matrix), self.links.poles()])

    @property
    def closed(self) -> np.ndarray:
        """Closed poles s that the loops move; none where the plant has no state space."""
        return self.poles.values[self.poles.moved] if not self.model.members else np.zeros(0, dtype=complex)

    @cached_property
    def poles(self) -> Poles:
        """All poles with loops closed."""
        if self.model.members:
            labels = ", ".join(dict.fromkeys(m.label for m in self.model.members))
            raise ModelError(
                f"{self.model.name}: the dynamic stiffness of {labels} has no state space, from which closed poles are found; "
                "expected constant matrices; choose form='elements' for beams; stable, margins() and frequency_response() do "
                "without"
            )
        others, own = self._motions.others()
        condensed = condense(self._coordinates, *[np.zeros(0, dtype=int)] * 2)
        values, states, rounding = self._moved()
        shapes = np.hstack([coordinates_of(condensed, states, values), coordinates_of(condensed, own, others)])
        values, moved = np.concatenate([values, others]), np.arange(len(values) + len(others)) < len(values)
        rounding = np.concatenate([rounding, np.zeros(len(others))])
        exact = not self.model.losses and not any(link.controller.delay for link in self.links.all)
        if not exact:
            values, shapes, rounding, moved = self._refined(values, shapes, rounding, moved)
        if self._coordinates is not self.model:
            shapes = self.model.reduced[1] @ shapes
        return Poles(values, shapes, rounding, moved)

    def _moved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poles (k,) of the motions that loops move, of controllers and delays, their motions (n, k), and rounding."""
        m = self._motions
        controllers, sensors, polynomials = self.links.stacked(self._rational)
        on = np.flatnonzero(m.moved)
        p, b, c, d = m.matrix, m.b[on], m.c[np.ix_(sensors, on)], m.d[sensors]
        for row, polynomial in enumerate(polynomials):
            c[row], d[row] = _derivatives(self.model.name, polynomial, p, b, c[row], d[row])
        a = closed_matrix(self.model.name, (p, b, c, d), tuple(controllers[:4]))
        values, vectors, rounding = eigen_with_rounding(a)
        return values, m.to[:, on] @ vectors[: len(on)], rounding

    def _rational(self, controller: Controller):
        return realized(without_delay(controller, self._order(controller.delay)) if controller.delay else controller)

    def _order(self, delay: float) -> int:
        """Order of a rational function that is as the delay as far as the loop gain counts."""
        rates = np.abs(self.open[self.open != 0.0])
        w = np.geomspace(1e-2 * rates.min(initial=1.0), 1e3 * max(rates.max(initial=0.0), 1.0 / delay), 400)
        counts = np.abs(np.linalg.eigvals(self.gain(w))).max(axis=1) > _LOW_GAIN
        top = w[np.flatnonzero(counts)[-1]] if counts.any() else 0.0
        return int(np.ceil(0.5 * top * delay)) + 4

    def _refined(
        self, values: np.ndarray, shapes: np.ndarray, rounding: np.ndarray, moved: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The same by Newton's method on T, without those that are found twice or not again."""
        upper = values.imag >= 0.0
        values, shapes, rounding, moved = values[upper].astype(complex), shapes[:, upper], rounding[upper], moved[upper]
        values[np.abs(values) <= rounding] = 0.0
        # nothing of what a loop does not move is approximate without losses
        still = (values == 0.0) | (~moved & (not self.model.losses))
        out = [(values[k], unit(shapes[:, k]), rounding[k], moved[k]) for k in np.flatnonzero(still)]
        out += Exact(self.dynamics, self.links).poles(
            values[~still], shapes[:, ~still], rounding[~still], moved[~still]
        )
        out += [(s.conjugate(), q.conj(), r, own) for s, q, r, own in out if s.imag > 0.0]
        return joined(out, len(shapes))


#: A pole, its motion (n,), its rounding, and whether the loop moves it.
Pole = tuple[complex, np.ndarray, float, bool]


def joined(found: Sequence[Pole], n: int) -> Poles:
    """Poles one by one, with motions of n coordinates, as arrays."""
    return Poles(
        np.array([x[0] for x in found], dtype=complex),
        np.stack([x[1] for x in found], axis=1) if found else np.zeros((n, 0), dtype=complex),
        np.array([x[2] for x in found]), np.array([x[3] for x in found], dtype=bool),
    )  # fmt: skip


class Exact:
    """T(s) of loops around ``Z q = b u, y = c q + d u``, and the poles next to given ones.

    ``dynamics(s)`` are Z, b, c and d at complex rates (f,); the first inputs and outputs are the actuators and sensors of the
    loops.  Sampled controllers, with a sampling time ``dt``, have z in place of s.
    """

    def __init__(self, dynamics: Callable[[np.ndarray], tuple[np.ndarray, ...]], links: Links, dt: float | None = None):
        self._dynamics, self._links, self._dt = dynamics, links, dt
        of = realized if dt is None else sampled
        (self._a, self._b, self._c, self._d, _), self._sensors, self._polynomials = links.stacked(of)
        # of each input of a controller, and of each of its states; those of sampled ones are states or in the dynamics
        delays = [link.controller.delay if dt is None else 0.0 for link in links.all]
        self._delays = np.concatenate([np.full(len(x.sensors), by) for x, by in zip(links.all, delays, strict=True)])
        self._late = np.concatenate(
            [np.full(len(of(x.controller).A), by) for x, by in zip(links.all, delays, strict=True)]
        )

    def closed(self, s: np.ndarray) -> tuple[np.ndarray, ...]:
        """T (f, n, n) at complex rates (f,), and b, c, d of all inputs and outputs with the loops closed."""
        z, b, c, d = self._dynamics(s)
        s = s[:, None, None]
        x = s if self._dt is None else np.exp(s * self._dt)
        weight = np.concatenate([np.polyval(x, s) for x in self._polynomials], axis=1)
        seen, felt = weight * c[:, self._sensors], weight * d[:, self._sensors]
        direct = self._d * np.exp(-s * self._delays)
        n, m, a = z.shape[1], len(self._a), len(self._links.actuators)
        into = np.concatenate([b, self._b @ felt, -direct @ felt], axis=1)
        out = np.zeros((len(s), n + m + a, n + m + a), dtype=complex)
        own, u = slice(n, n + m), slice(n + m, None)
        out[:, :n, :n] = z
        out[:, own, :n], out[:, own, own] = -self._b @ seen, x * np.eye(m) - self._a
        out[:, u, :n], out[:, u, own] = direct @ seen, self._c * np.exp(-s * self._late)
        out[:, :, u] = -into[:, :, :a]
        out[:, u, u] += np.eye(a)
        return out, into, np.concatenate([c, np.zeros((*c.shape[:2], m)), d[:, :, :a]], axis=2), d

    def poles(self, s: np.ndarray, shapes: np.ndarray, rounding: np.ndarray, moved: np.ndarray) -> list[Pole]:
        """Poles next to given ones (k,) with motions (n, k), without those that are found twice or not again."""
        found, motions, good = self.refined(s.astype(complex), shapes.astype(complex))
        out: list[Pole] = []
        for s, q, k in zip(found[good], motions[:, good].T, np.flatnonzero(good), strict=True):
            if not any(abs(s - t) <= DEPENDENT * abs(t) and abs(np.vdot(q, x)) >= 1.0 - DEPENDENT for t, x, *_ in out):
                out.append((s, q, rounding[k], moved[k]))
        return out

    def refined(self, s: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poles (k,) and motions (n, k) of unit length next to given ones, and which of them were found."""
        at_once = max(1, int(SIZES.pivoted_bytes / (16 * max(len(q), 1) ** 2)))
        parts = [self._refined(s[k : k + at_once], q[:, k : k + at_once].T) for k in range(0, len(s), at_once)]
        if not parts:
            return s, q, np.zeros(0, dtype=bool)
        found, motions, good = (np.concatenate(x) for x in zip(*parts, strict=True))
        return found, motions.T, good

    def _at(self, s: np.ndarray) -> np.ndarray:
        return self.closed(s)[0]

    @np.errstate(all="ignore")  # far in the left half plane a delay makes large numbers
    def _refined(self, s: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s, n = s.copy(), q.shape[1]
        x = np.zeros((len(s), self._at(s[:1]).shape[1]), dtype=complex)
        x[:, :n] = q
        x[~q.any(axis=1)] = 1.0  # of controllers alone
        good, waiting = np.zeros(len(s), dtype=bool), np.arange(len(s))
        for _ in range(_MOST_NEWTON):
            here, h = s[waiting], _STEP * np.abs(s[waiting])
            slope = (self._at(here + h) - self._at(here - h)) @ x[waiting, :, None] / (2.0 * h)[:, None, None]
            y = solved(self._at(here), slope)[:, :, 0]
            step = np.einsum("ij,ij->i", x[waiting].conj(), x[waiting]) / np.einsum("ij,ij->i", x[waiting].conj(), y)
            s[waiting] = here - step
            x[waiting] = y / np.abs(y).max(axis=1, keepdims=True)
            real = np.abs(s.imag) < NOTHING * np.abs(s)
            s[real] = s[real].real
            lost = ~np.isfinite(s[waiting]) | (s[waiting].imag < 0.0) | (s[waiting] == 0.0)
            done = np.abs(step) <= _CONVERGED * np.abs(s[waiting])
            good[waiting[done & ~lost]] = True
            waiting = waiting[~(done | lost)]
            if not len(waiting):
                break
        return s, np.array([unit(row) for row in x[:, :n]]).reshape(len(s), n), good


def _dynamics(system: Equations, s: np.ndarray) -> tuple[np.ndarray, ...]:
    w = s / 1j
    change = system.members.change(w)
    z = system.matrix.at(w)
    if change:
        system.members.add_dense(z, change)
    b, c, d = system.couplings(w, change)
    return z, system.by_input(b, s), c, system.by_input(d, s)


def solved(matrices: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solutions (f, n, k); of a singular matrix those of one that is off by rounding."""
    try:
        return np.linalg.solve(matrices, right)
    except np.linalg.LinAlgError:
        # a pole of a controller whose sensors see no motion leaves a row of zeros
        size = np.maximum(*(np.abs(matrices).max(axis=k) for k in (1, 2)))
        return np.linalg.solve(matrices + left_by_rounding() * size[:, :, None] * np.eye(matrices.shape[1]), right)


def unit(x: np.ndarray) -> np.ndarray:
    """A vector of unit length, or zero."""
    return x / (np.linalg.norm(x) or 1.0)


def closed_matrix(name: str, plant: tuple[np.ndarray, ...], controllers: tuple[np.ndarray, ...]) -> np.ndarray:
    """A with loops closed, of plant and controllers ``A, B, C, D`` with ``u = -(C x + D y)``; refuses algebraic loops without
    a solution.
    """
    (p, b, c, d), (a, bc, cc, dc) = plant, controllers
    solve = algebraic(name, dc @ d)
    of_z, of_x = -solve @ dc @ c, -solve @ cc
    return np.block([[p + b @ of_z, b @ of_x], [bc @ (c + d @ of_z), a + bc @ d @ of_x]])


def algebraic(name: str, direct: np.ndarray) -> np.ndarray:
    """``(1 + direct)^-1`` of what commands do to themselves at once; ModelError where that has no solution."""
    found = np.linalg.eigvals(direct)
    if np.any(np.abs(1.0 + found) <= DEPENDENT * (1.0 + np.abs(found))):
        raise ModelError(
            f"{name}: the loop has no solution: sensors answer at once to actuators, and the controller to sensors, by "
            f"{found[np.argmin(np.abs(1.0 + found))].real:.6g} all around; expected another gain than -1 at high frequencies; "
            "give the controller a pole, or a delay"
        )
    return np.linalg.inv(np.eye(len(direct)) + direct)


def eigen_with_rounding(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (k,), vectors (k, k), and by how much rounding of the entries may have changed each (k,)."""
    if not len(a):
        return np.zeros(0, dtype=complex), np.zeros((0, 0)), np.zeros(0)
    values, left, right = sl.eig(a, left=True, right=True)
    overlap = np.abs(np.einsum("ij,ij->j", left.conj(), right))
    terms = np.einsum("ij,ij->j", np.abs(left), np.abs(a) @ np.abs(right))
    rounding = left_by_rounding(len(a)) * terms / np.maximum(overlap, np.finfo(float).tiny)
    return np.where(np.abs(values) <= rounding, 0.0, values), right, rounding


def _derivatives(
    name: str, polynomial: np.ndarray, p: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of C and D of ``polynomial(s) y``; ImproperModelError where that needs a derivative of u."""
    row, direct = polynomial[0] * c, polynomial[0] * d
    # by what rounding may have left of it
    size = np.abs(row) @ np.abs(b) / np.abs(p).max(initial=1e-300)
    for coefficient in polynomial[1:]:
        if np.any(np.abs(direct) > DEPENDENT * size):
            raise ImproperModelError(
                f"{name}: the controller differentiates what its sensor reads of its actuator at once; expected a sensor that "
                "inertia keeps behind the actuator, or a proper controller; give it a pole at high frequency"
            )
        size = np.abs(row) @ np.abs(b) + np.abs(coefficient * d)
        row, direct = row @ p + coefficient * c, row @ b + coefficient * d
    return row, direct


def coordinates_of(condensed: Condensed, states: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Motions of free coordinates (n, k) of states (m, k) of a state space that grow as ``exp(s t)``."""
    r, d = len(condensed.sep.r), len(condensed.sep.d)
    moving = np.vstack([states[:r], states[2 * r : 2 * r + d]])
    return condensed.expand @ moving + condensed.expand_rates @ (s * moving)


def shifted(model: LinearModel, shift: float) -> LinearModel:
    """The model whose response at w is that of this one at ``s = shift + i w``: s is put into its matrices."""
    m, velocity, n = model.full_mass, model.full_damping, model.full_mass.shape[0]
    label = ("shift", "mass")
    more = ListedParts.of([(label, shift * velocity + shift**2 * m)], n)
    damping = JoinedParts(model.dampings, ListedParts.of([(label, 2.0 * shift * m)], n, "damping"))
    skew = model.skew
    if skew is not None:
        turned = ListedParts.of([(("shift", CIRCULATORY), shift * skew.gyroscopic)], n)
        skew = replace(skew, circulatory=JoinedParts(skew.circulatory, turned))
    members = tuple(_shifted(member, shift) for member in model.members)
    return replace(model, dampings=damping, parts=JoinedParts(model.parts, more), skew=skew, members=members)


def _shifted(member: DynamicMember, shift: float) -> DynamicMember:
    def stiffness(omega: np.ndarray, loss) -> np.ndarray:
        return member.stiffness(omega - 1j * shift, loss)

    return replace(member, stiffness=stiffness)
