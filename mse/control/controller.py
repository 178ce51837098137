"""Controllers: zeros, poles and gain, second-order sections, or a state space; continuous or sampled, with a delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..display import Column, Shown, Table, amounts
from ..errors import ModelError
from ..numerics.precision import DEPENDENT, NOTHING
from ..numerics.read_only import ReadOnly
from ..validation.arguments import choice, frequencies, number, numbers, refusal

_WHO = "Controller"
# Of a rational function in place of a delay: its poles are right to 1e-9 up to it, and to 1e-5 with twice of it
# (tests/control/test_controller.py::test_a_rational_function_takes_the_place_of_a_delay).
MOST_ORDER = 10
_KINDS = "a number, an mse.Controller, or a transfer function, zeros-poles-gain or state space of scipy.signal or python-control"
Matrices = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Realization(NamedTuple):
    """``x' = A x + B v, u = C x + D v``, or with ``x_{k+1}`` in place of x', where ``v = polynomial(s) y``.

    The coefficients of the polynomial, highest power first, are more than [1] if u needs derivatives of y.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    polynomial: np.ndarray = np.ones(1)

    def then(self, other: Realization) -> Realization:
        """The two in series, this one first."""
        n, m = len(self.A), len(other.A)
        a = np.zeros((n + m, n + m))
        a[:n, :n], a[n:, n:], a[n:, :n] = self.A, other.A, other.B @ self.C
        return Realization(
            a, np.vstack([self.B, other.B @ self.D]), np.hstack([other.D @ self.C, other.C]), other.D @ self.D,
            self.polynomial,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Controller(Shown, ReadOnly):
    """``C(s) e^(-s delay)``, or sampled ``C(z)`` with its output held; made by :meth:`zpk`, :meth:`sections` ... or :meth:`of`.

    A loop sets ``u = -C y``.  A sampled controller reads y every ``dt``, and keeps u in between (zero-order hold).
    Roots and matrices are kept as they are given; polynomials are never multiplied out.

    Attributes
    ----------
    zeros, poles : ndarray of complex, rad/s, or in the z plane if sampled
        Roots of a controller of one input and one output; empty for a state space.
    gain : float
        k of ``k prod(s - zeros)/prod(s - poles)``, or of the same in z.
    matrices : tuple of ndarray or None
        A, B, C and D of a state space.
    delay : float, s
        Delay; of a sampled controller its computing delay, after which the new command is held.
    dt : float, s, or None
        Sampling time; None for a continuous controller.

    Examples
    --------
    >>> damping = mse.Controller.zpk([0.0], [-60.0, -60.0], 1.4e5, delay=1e-3)
    >>> np.round(damping.response([1.0]), 3)
    array([51.556+236.133j])
    """

    zeros: np.ndarray
    poles: np.ndarray
    gain: float
    matrices: Matrices | None = None
    delay: float = 0.0
    dt: float | None = None

    def __post_init__(self):
        dt = None if self.dt is None else number(_WHO, "dt", self.dt, unit="s", above=0.0)
        delay = number(_WHO, "delay", self.delay, unit="s", minimum=0.0, remedy="no controller knows what comes")
        if dt is not None and len(self.zeros) > len(self.poles):
            raise ModelError(
                f"{_WHO}: has {len(self.zeros)} zeros and {len(self.poles)} poles in z, so it would need samples that are "
                "still to come; expected at least as many poles; add poles at z = 0, a step of delay each"
            )
        object.__setattr__(self, "dt", dt)
        object.__setattr__(self, "delay", delay)
        super().__post_init__()

    # -- making -----------------------------------------------------------------------------------------------
    @classmethod
    def zpk(
        cls, zeros: ArrayLike, poles: ArrayLike, gain: float, *, convention: str = "s", delay: float = 0.0,
        dt: float | None = None,
    ) -> Controller:  # fmt: skip
        """``k prod(s - z)/prod(s - p)``: a controller by its roots, with Foton's conventions for frequencies and gain.

        Parameters
        ----------
        zeros, poles : array_like of complex
            Roots, complex ones with their conjugates.
        gain : float
            k.
        convention : {"s", "f", "n"}
            "s": roots in rad/s, ``k prod(s - z)/prod(s - p)``.  "f": roots in Hz, ``k prod(s - 2 pi z)/prod(s - 2 pi p)``.
            "n": roots in Hz, positive in the left half plane, ``k prod(1 + s/(2 pi z))/prod(1 + s/(2 pi p))``, where a root
            at 0 gives ``s/(2 pi)``.  With ``dt`` only "s", whose s then is z.
        delay : float, s
            Delay; with ``dt`` the computing delay.
        dt : float, s, optional
            Sampling time; roots are in the z plane then.

        Returns
        -------
        Controller
            The controller.

        Raises
        ------
        ModelError
            A complex root has no conjugate, a number is not finite, a delay is negative, or dt not positive.

        Examples
        --------
        >>> mse.Controller.zpk([0.0], [10.0], 2.0, convention="n").response([0.01])
        array([1.999998e-05+0.01999998j])
        """
        choice(_WHO, "convention", convention, ("s", "f", "n") if dt is None else ("s",))
        z, p = _conjugates("zeros", zeros), _conjugates("poles", poles)
        k = number(_WHO, "gain", gain)
        if convention != "s":
            z, p = 2.0 * np.pi * z, 2.0 * np.pi * p
        if convention == "n":
            scale = [np.prod(np.where(x == 0.0, 2.0 * np.pi, np.abs(x))) for x in (p, z)]
            # a root in the right half plane turns the sign of its factor at rest
            k = k * float(scale[0] / scale[1]) * (-1.0) ** np.count_nonzero(np.r_[z, p].real < 0.0)
            z, p = -z.conj(), -p.conj()
        return cls(z, p, k, None, delay, dt)

    @classmethod
    def sections(cls, sections: ArrayLike, *, delay: float = 0.0, dt: float | None = None) -> Controller:
        """``prod (b0 s^2 + b1 s + b2)/(a0 s^2 + a1 s + a2)``: a controller by second-order sections.

        Parameters
        ----------
        sections : array_like, (k, 6)
            Rows b0, b1, b2, a0, a1, a2, with s in rad/s; with ``dt`` as of ``scipy.signal``, where z stands for s.
        delay : float, s
            Delay; with ``dt`` the computing delay.
        dt : float, s, optional
            Sampling time.

        Returns
        -------
        Controller
            The controller.

        Raises
        ------
        ModelError
            The numbers are not finite, a denominator is zero, a delay is negative, or dt not positive.
        """
        rows = numbers(_WHO, "sections", sections, (None, 6))
        parts = [_roots("sections", row[:3], row[3:]) for row in rows]
        z, p = (_conjugates("sections", np.concatenate([np.zeros(0), *(part[k] for part in parts)])) for k in (0, 1))
        both = min(np.count_nonzero(x == 0.0) for x in (z, p))  # digital sections of first order have both
        z, p = (x[np.argsort(x == 0.0, kind="stable")][: len(x) - both] for x in (z, p))
        return cls(z, p, float(np.prod([part[2] for part in parts])), None, delay, dt)

    @classmethod
    def state_space(
        cls, A: ArrayLike, B: ArrayLike, C: ArrayLike, D: ArrayLike, *, delay: float = 0.0, dt: float | None = None
    ) -> Controller:
        """``x' = A x + B y, u = C x + D y``: a controller of several inputs and outputs; with ``dt`` x' is the next x.

        Parameters
        ----------
        A, B, C, D : array_like, (n, n), (n, i), (o, n), (o, i)
            The matrices.
        delay : float, s
            Delay of all outputs; with ``dt`` the computing delay.
        dt : float, s, optional
            Sampling time.

        Returns
        -------
        Controller
            The controller.

        Raises
        ------
        ModelError
            Shapes do not fit, numbers are not finite, a delay is negative, or dt not positive.
        """
        d = np.atleast_2d(numbers(_WHO, "D", D, (), (None, None)))
        a = np.atleast_2d(numbers(_WHO, "A", A, (), (None, None))) if np.size(A) else np.zeros((0, 0))
        n, (o, i) = len(a), d.shape
        b = numbers(_WHO, "B", np.reshape(B, (n, i)) if np.size(B) == n * i else B, (n, i))
        c = numbers(_WHO, "C", np.reshape(C, (o, n)) if np.size(C) == n * o else C, (o, n))
        numbers(_WHO, "A", a, (n, n))
        return cls(np.zeros(0), np.zeros(0), 0.0, (a, b, c, d), delay, dt)

    @classmethod
    def of(cls, controller: Any, *, delay: float = 0.0) -> Controller:
        """A controller from a number, or from an object of ``scipy.signal`` or python-control, continuous or sampled.

        Parameters
        ----------
        controller : object
            A number, a transfer function, zeros-poles-gain or state space; a :class:`Controller` stays itself.
        delay : float, s
            Delay that comes in addition.

        Returns
        -------
        Controller
            The controller.  Polynomials of transfer functions are replaced by their roots.

        Raises
        ------
        ModelError
            It is none of these, or sampled without a sampling time.

        Examples
        --------
        >>> from scipy import signal
        >>> mse.Controller.of(signal.TransferFunction([4.0, 0.0], [1.0, 2.0])).response([0.0, 1 / np.pi])
        array([0.+0.j, 2.+2.j])
        """
        if isinstance(controller, Controller):
            return controller if not delay else replace(controller, delay=controller.delay + delay)
        dt = getattr(controller, "dt", None)
        if dt is True:
            raise ModelError(f"{_WHO}: is sampled without a sampling time (dt is True); expected one; give it dt in s")
        options = {"delay": delay, "dt": dt or None}
        if isinstance(controller, int | float | np.integer | np.floating) and not isinstance(controller, bool):
            return cls.zpk([], [], controller, delay=delay)
        if all(hasattr(controller, name) for name in "ABCD"):
            return cls.state_space(*(np.asarray(getattr(controller, name)) for name in "ABCD"), **options)
        if all(hasattr(controller, name) for name in ("zeros", "poles", "gain")):
            return cls.zpk(controller.zeros, controller.poles, controller.gain, **options)
        if hasattr(controller, "num") and hasattr(controller, "den"):
            num, den = controller.num, controller.den
            if np.isscalar(num[0]):
                num, den = [[num]], [[den]]
            return _of_fractions(num, den, options)
        raise refusal(_WHO, "controller", controller, _KINDS)

    # -- what it is -------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of outputs u and of inputs y."""
        return (1, 1) if self.matrices is None else self.matrices[3].shape

    @property
    def proper(self) -> bool:
        """Whether u needs no derivative of y."""
        return len(self.zeros) <= len(self.poles)

    @property
    def late(self) -> int:
        """Whole samples of the computing delay; 0 for a continuous controller."""
        return int(self._samples)

    @property
    def fraction(self) -> float:
        """What the computing delay has beyond whole samples, at least 0 and below 1 sample; 0 for a continuous controller."""
        return self._samples - self.late

    @property
    def _samples(self) -> float:
        if self.dt is None:
            return 0.0
        late = self.delay / self.dt
        return float(round(late)) if abs(late - round(late)) <= DEPENDENT * max(late, 1.0) else late

    def response(self, frequencies_hz: ArrayLike) -> np.ndarray:
        """``C`` at ``s = 2 pi i f``, with delay, and if sampled with hold: ``C(e^(sT)) (1 - e^(-sT))/(sT) e^(-s delay)``.

        Parameters
        ----------
        frequencies_hz : array_like, (f,), Hz
            Frequencies.

        Returns
        -------
        ndarray of complex, (f,) or (f, o, i)
            One for each frequency, or a matrix if it has several inputs or outputs.

        Raises
        ------
        ModelError
            A frequency is negative or not finite.
        """
        found = values(self, 2j * np.pi * np.atleast_1d(frequencies(_WHO, frequencies_hz)))
        return found[:, 0, 0] if self.shape == (1, 1) else found

    def table(self) -> Table:
        kind = "continuous" if self.dt is None else f"sampled every {self.dt:g} s"
        late = f", {self.delay:g} s late" if self.delay else ""
        o, i = self.shape
        if self.matrices is not None:
            return Table(f"Controller: {kind}{late}, {amounts(state=len(self.matrices[0]), input=i, output=o)}")
        rows = [(what, x.real, x.imag, abs(x) / (2 * np.pi)) for what, x in _named(self.zeros, self.poles)]
        columns = ["root", Column("real", digits=6), Column("imaginary", digits=6)]
        columns += [Column("frequency", "Hz", 6)] if self.dt is None else []
        return Table(f"Controller: {kind}{late}, gain {self.gain:.6g}", columns, [row[: len(columns)] for row in rows])


# -- what loops ask of a controller ---------------------------------------------------------------------------------
def values(controller: Controller, s: np.ndarray) -> np.ndarray:
    """C with delay and hold (f, o, i) at complex rates s (f,), rad/s."""
    dt = controller.dt
    out = rational(controller, s if dt is None else np.exp(s * dt)) * np.exp(-s * controller.delay)[:, None, None]
    if dt is not None:
        turn = s * dt
        out *= np.divide(-np.expm1(-turn), turn, out=np.ones_like(turn), where=turn != 0.0)[:, None, None]
    return out


def rational(controller: Controller, x: np.ndarray) -> np.ndarray:
    """C without delay and hold (f, o, i) at values x (f,) of s, or of z if it is sampled."""
    zeros, poles = controller.zeros, controller.poles
    with np.errstate(divide="ignore", invalid="ignore"):
        if controller.matrices is not None:
            a, b, c, d = controller.matrices
            return c @ np.linalg.solve(x[:, None, None] * np.eye(len(a)) - a, b[None].astype(complex)) + d
        out = np.full(len(x), controller.gain, dtype=complex)
        # one after the other, so that products of many stay within bounds
        for k in range(max(len(zeros), len(poles))):
            out *= (x - zeros[k] if k < len(zeros) else 1.0) / (x - poles[k] if k < len(poles) else 1.0)
    return out[:, None, None]


def realized(controller: Controller) -> Realization:
    """Matrices of C without delay and hold; second-order sections in series if it is given by roots."""
    matrices = controller.matrices
    return Realization(*matrices) if matrices else _series(controller.zeros, controller.poles, controller.gain)


def sampled(controller: Controller) -> Realization:
    """The same of a sampled controller with the whole samples of its computing delay: a state for each, and for each output."""
    own, o = realized(controller), controller.shape[0]
    n = o * controller.late
    return own.then(Realization(np.eye(n, k=-o), np.eye(n, o), np.eye(o, n, k=n - o), np.zeros((o, o)))) if n else own


def without_delay(controller: Controller, order: int) -> Controller:
    """A continuous controller with a rational function of this order (Pade) in place of its delay."""
    if not controller.delay or controller.dt is not None:
        return controller
    # of higher orders several in series
    stages = -(-order // MOST_ORDER)
    z, p = (np.tile(x, stages) for x in pade_roots(controller.delay / stages, -(-order // stages)))
    sign = (-1.0) ** len(p)
    if controller.matrices is None:
        z, p = np.r_[controller.zeros, z], np.r_[controller.poles, p]
        return replace(controller, zeros=z, poles=p, gain=sign * controller.gain, delay=0.0)
    a, b, c, d, _ = _series(z, p, sign)
    each = np.eye(controller.shape[0])
    whole = realized(controller).then(Realization(*(np.kron(each, x) for x in (a, b, c, d))))
    return replace(controller, matrices=tuple(whole[:4]), delay=0.0)


def _named(zeros: np.ndarray, poles: np.ndarray) -> list[tuple[str, complex]]:
    return [("zero", x) for x in zeros.tolist()] + [("pole", x) for x in poles.tolist()]


def _conjugates(what: str, roots: ArrayLike) -> np.ndarray:
    """Roots (n,), each complex one with its conjugate to the last bit."""
    expected = "finite numbers, complex ones with their conjugates"
    try:
        left = list(np.atleast_1d(np.asarray(roots, dtype=complex)).ravel())
    except (TypeError, ValueError):
        raise refusal(_WHO, what, roots, expected) from None
    out: list[complex] = []
    while left:
        x = complex(left.pop(0))
        if not np.isfinite(x):
            raise refusal(_WHO, what, x, expected)
        if abs(x.imag) <= NOTHING * abs(x):
            out.append(complex(x.real))
            continue
        apart = [abs(y - x.conjugate()) for y in left]
        if not apart or min(apart) > DEPENDENT * abs(x):
            raise refusal(_WHO, what, x, "its conjugate among them, too", remedy=f"add {x.conjugate():.6g}")
        left.pop(int(np.argmin(apart)))
        out += [x, x.conjugate()]
    return np.array(out, dtype=complex)


def _roots(what: str, num: ArrayLike, den: ArrayLike) -> tuple[np.ndarray, np.ndarray, float]:
    """Zeros, poles and gain of a fraction of polynomials."""
    num, den = (np.trim_zeros(numbers(_WHO, what, np.atleast_1d(x), (None,)), "f") for x in (num, den))
    if not len(den):
        raise refusal(_WHO, what, den, "a denominator that is not zero")
    if not len(num):
        return np.zeros(0), np.zeros(0), 0.0
    return np.roots(num), np.roots(den), float(num[0] / den[0])


def _of_fractions(num: Sequence, den: Sequence, options: dict[str, Any]) -> Controller:
    """A controller from fractions (o, i) of polynomials."""
    parts = [
        [_roots("transfer function", n, d) for n, d in zip(*row, strict=True)] for row in zip(num, den, strict=True)
    ]
    o, i = len(parts), len(parts[0])
    if o == i == 1:
        z, p, k = parts[0][0]
        return Controller.zpk(z, p, k, **options)
    if any(len(z) > len(p) for row in parts for z, p, _ in row):
        raise ModelError(
            f"{_WHO}: a transfer function of several inputs has more zeros than poles; expected a proper one; give "
            "each pair a controller of its own"
        )
    own = {(j, k): _series(*parts[j][k]) for j in range(o) for k in range(i)}
    ends = np.cumsum([0, *(len(x.A) for x in own.values())])
    a, b, c, d = np.zeros((ends[-1],) * 2), np.zeros((ends[-1], i)), np.zeros((o, ends[-1])), np.zeros((o, i))
    for ((j, k), x), first, last in zip(own.items(), ends[:-1], ends[1:], strict=True):
        a[first:last, first:last], b[first:last, k], c[j, first:last], d[j, k] = x.A, x.B[:, 0], x.C[0], x.D[0, 0]
    return Controller.state_space(a, b, c, d, **options)


def _series(zeros: np.ndarray, poles: np.ndarray, gain: float) -> Realization:
    """Second-order sections in series; zeros beyond the number of poles are left as a polynomial."""
    # real ones last, so that what is left beyond the poles is real, or whole pairs
    zeros = zeros[np.argsort(zeros.imag == 0.0, kind="stable")]
    more, single = max(len(zeros) - len(poles), 0), np.count_nonzero(zeros.imag == 0.0)
    more += more > single and (more - single) % 2
    own, beyond = zeros[: len(zeros) - more], zeros[len(zeros) - more :]
    none = np.zeros((0, 0))
    out = Realization(
        none, none.reshape(0, 1), none.reshape(1, 0), np.array([[gain]]), np.atleast_1d(np.poly(beyond).real)
    )
    sections, free = [], _in_twos(poles)
    for pair in _in_twos(own):  # with the poles next to them, so that signals in between stay of one size
        room = [k for k, p in enumerate(free) if len(p) >= len(pair)]
        sections.append((pair, free.pop(min(room, key=lambda k: abs(free[k][0] - pair[0])))))
    for z, p in [*sections, *((np.zeros(0), p) for p in free)]:
        out = out.then(_section(np.atleast_1d(np.poly(z).real), np.poly(p).real))
    return out


def _in_twos(roots: np.ndarray) -> list[np.ndarray]:
    """Conjugate pairs, pairs of real roots, and the one that may be left."""
    order = np.concatenate([roots[roots.imag != 0.0], np.sort(roots[roots.imag == 0.0].real)])
    return [order[k : k + 2] for k in range(0, len(order), 2)]


def _section(b: np.ndarray, a: np.ndarray) -> Realization:
    """A fraction of polynomials of first or second order, with states of one size."""
    b = np.concatenate([np.zeros(len(a) - len(b)), b])
    if len(a) == 2:
        matrices = [[-a[1]]], [[1.0]], [[b[1] - b[0] * a[1]]], [[b[0]]]
    else:
        w = np.sqrt(abs(a[2])) or abs(a[1]) or 1.0
        c = [(b[2] - b[0] * a[2]) / w, b[1] - b[0] * a[1]]
        matrices = [[0.0, w], [-a[2] / w, -a[1]]], [[0.0], [1.0]], [c], [[b[0]]]
    return Realization(*(np.array(x) for x in matrices))


def pade_roots(delay: float, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Zeros and poles (order,) of the Pade approximation of ``e^(-s delay)``, of which the gain is ``(-1)^order``.

    (G. H. Golub, C. F. Van Loan, "Matrix Computations" (2013), eq. 9.3.7.)
    """
    coefficients = [1.0]
    for k in range(1, order + 1):
        coefficients.append(coefficients[-1] * (order - k + 1) / ((2 * order - k + 1) * k))
    p = np.roots(coefficients[::-1]) / delay
    return -p, p
