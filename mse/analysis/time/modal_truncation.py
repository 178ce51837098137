"""State spaces of the motions up to a frequency; faster motions are replaced by their static response (static correction).

A state space consists of uncoupled motions, ``y = D u + sum C_k (s - N_k)^-1 B_k u`` (:mod:`.normal_form`).  Motions with
``|s| <= 2 pi up_to_hz`` are kept unchanged, damping included.  The value of each other one at s = 0 is added to D, so that the
response at 0 Hz is exact.  The error is then

    ``E(s) = s sum C_k (s - N_k)^-1 N_k^-1 B_k``,

with ``N (s - N)^-1 = (s N + N^2 - tr(N) N)/(s^2 - tr(N) s + det(N))`` for motions of two states.  It is known at any frequency,
and bounded over a band by the sum of the largest values of its terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl

from ...errors import ModelError, SingularResponseError
from ...linear.linear_model import LinearModel
from ...linear.losses import refuse_losses
from ...numerics.blas_threads import one_thread
from ...numerics.precision import apart
from ...progress.tasks import BUILDING, shown_as
from ...validation.arguments import number
from ..frequency.response import frequency_response
from ..modes.result import growing
from .left_out import SHARES, LeftOut, largest_of_unit
from .normal_form import normal_form
from .state_space import StateSpace, Terms, with_terms

# tests/analysis/time/test_modal_truncation.py passes with 0.01 and 100 times each:
_ASIDE = 0.99  # of a frequency with infinite response: fraction at which it is evaluated instead
_SEPARATED = 1e-6  # relative to the largest response of a unit: error allowed for the sum of kept and left-out motions


@one_thread
@shown_as(BUILDING)
def state_space(
    model: LinearModel,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    up_to_hz: float | None = None,
) -> StateSpace:
    """See :meth:`.LinearModel.state_space`."""
    refuse_losses(model, "state space or time evolution")
    top = None if up_to_hz is None else number(model.name, "up_to_hz", up_to_hz, above=0.0)
    whole, terms = with_terms(model, inputs, outputs, 0.0 if top is None else 2 * np.pi * top)
    return whole if top is None else _truncated(model, whole, terms, top)


def _truncated(model: LinearModel, ss: StateSpace, terms: Terms, up_to_hz: float) -> StateSpace:
    """The state space of the motions up to a frequency, and what is left out."""
    w = 2 * np.pi * up_to_hz
    motions = Motions(ss, terms, w)
    motions.refuse_growing(w)
    a, b, c, names, scale, with_mass = motions.kept(w)
    out = replace(
        ss, A=a, B=b, C=c, D=motions.feed(), states=names, with_mass=with_mass, shift=np.zeros((len(a), len(ss.inputs))),
        scaling=(np.diag(scale), np.diag(1.0 / scale)),
    )  # fmt: skip
    left_out = motions.left_out(up_to_hz)
    full, f = _whole_response(model, ss, up_to_hz * np.array(SHARES))
    parts = _response(out, 2j * np.pi * f) + left_out.error(f)
    bound = _SEPARATED * largest_of_unit(np.abs(full), ss.output_units, ss.input_units)
    if not np.all(np.abs(full - parts) <= bound):
        raise ModelError(
            f"{ss.name}: its motions up to {up_to_hz:g} Hz cannot be separated from the others: their sum misses the "
            f"response by more than {_SEPARATED:g}, because damping makes their shapes nearly equal or stiffnesses "
            "differ too much for 16 digits; expected separable motions; choose another up_to_hz, or take the whole "
            "state space"
        )
    return replace(out, left_out=replace(left_out, response=np.abs(full)))


def _whole_response(model: LinearModel, ss: StateSpace, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Response at frequencies f, or slightly below if it is infinite at one of them."""
    try:
        return frequency_response(model, f, inputs=ss.inputs, outputs=ss.outputs).values, f
    except SingularResponseError:
        return frequency_response(model, _ASIDE * f, inputs=ss.inputs, outputs=ss.outputs).values, _ASIDE * f


def _response(ss: StateSpace, s: np.ndarray) -> np.ndarray:
    a, b, c = ss.scaled()
    return np.array([c @ np.linalg.solve(x * np.eye(len(a)) - a, b) + ss.D for x in s])


@dataclass(frozen=True, eq=False)
class Motion:
    """``m' = N m + (extra + N (shift - static)) u``, ``y = (direct + rates N) m``; ``to`` maps m to the states."""

    n: np.ndarray
    slow: bool
    to: np.ndarray
    extra: np.ndarray
    static: np.ndarray
    shift: np.ndarray
    direct: np.ndarray
    rates: np.ndarray

    @property
    def b(self) -> np.ndarray:
        return self.extra + self.n @ (self.shift - self.static)

    @property
    def c(self) -> np.ndarray:
        return self.direct + self.rates @ self.n

    @property
    def size(self) -> float:
        """The smallest of its eigenvalues, rad/s."""
        return float(np.abs(np.linalg.eigvals(self.n)).min())


class Motions:
    """A state space as uncoupled motions: of two states, of one, and of more."""

    def __init__(self, ss: StateSpace, terms: Terms, w: float):
        # motions slower than 1e-8 of the band count as free: their stiffness is rounding
        form = normal_form(ss, 1.0 / w, terms.stiffness)
        self.ss, self.terms, self.form = ss, terms, form
        self.all: list[Motion] = []
        for n, at in form.motions():
            (self._add if len(n) <= 2 else self._split)(n, at, w)

    def _add(
        self, n: np.ndarray, at: Sequence[int], w: float, to: np.ndarray | None = None, back=None, slow=None
    ) -> None:
        """Add the motion of these states of the normal form, or of combinations of them."""
        to = self.form.to[:, at] if to is None else to
        back = self.form.back[at] if back is None else back
        slow = bool(np.abs(np.linalg.eigvals(n)).min() <= w) if slow is None else slow
        t = self.terms
        self.all.append(
            Motion(n, slow, to, back @ t.extra, back @ t.static, back @ self.ss.shift, t.direct @ to, t.rates @ to)
        )

    def _split(self, n: np.ndarray, at: Sequence[int], w: float) -> None:
        """Split a motion of many states with nearly parallel eigenvectors into the slow ones together, and the others."""
        sizes = np.sort(np.abs(np.linalg.eigvals(n)))
        slow = np.count_nonzero(sizes <= w)
        slow += int(
            np.argmax(np.append(apart(sizes), True)[slow:])
        )  # motions that cannot be separated from the last one are kept with it
        if slow in (0, len(n)):
            self._add(n, at, w, slow=slow > 0)
            return
        edge = 0.5 * (sizes[slow - 1] + sizes[slow])
        t, z, k = sl.schur(n, sort=lambda re, im: np.hypot(re, im) <= edge)
        x = sl.solve_sylvester(t[:k, :k], -t[k:, k:], -t[:k, k:])
        to, back = self.form.to[:, at] @ z, z.T @ self.form.back[at]
        self._add(t[:k, :k], at, w, to[:, :k], back[:k] - x @ back[k:], True)
        self._add(t[k:, k:], at, w, to[:, :k] @ x + to[:, k:], back[k:], False)

    def feed(self) -> np.ndarray:
        """D of the slow motions plus the static response of the others."""
        d = self.terms.feed + self.terms.direct @ self.terms.static
        for m in self.all:
            if m.slow:
                d += m.c @ m.shift + m.rates @ (m.extra - m.n @ m.static) - m.direct @ m.static
            else:
                d -= m.direct @ np.linalg.solve(m.n, m.extra)
        return d

    def kept(self, w: float):
        """A, B, C, names, scales and number of displacements of the slow motions, by frequency.

        A motion of two states becomes a displacement and its rate, as in the whole state space.
        """
        ways = []
        for m in sorted((m for m in self.all if m.slow), key=lambda m: m.size):
            n, b, c = m.n, m.b, m.c
            if len(n) == 2:
                # m = T (q, q') with q = m_1/n_12
                to = np.array([[n[0, 1], 0.0], [-n[0, 0], 1.0]])
                n, b, c = _companion(n), np.linalg.solve(to, b), c @ to
            ways.append((n, b, c, max(m.size, 1e-3 * w)))
        numbered = list(enumerate(ways))
        two = [x for x in numbered if len(x[1][0]) == 2]
        chosen = two + [x for x in numbered if len(x[1][0]) != 2]
        whole = sl.block_diag(*(n for _, (n, _, _, _) in chosen)) if chosen else np.zeros((0, 0))
        b = np.vstack([np.zeros((0, len(self.ss.inputs))), *(b for _, (_, b, _, _) in chosen)])
        c = np.hstack([np.zeros((len(self.ss.outputs), 0)), *(c for _, (_, _, c, _) in chosen)])
        count = 2 * len(two)
        order = np.r_[0:count:2, 1:count:2, count : len(whole)].astype(int)
        names = [f"mode {k}" for k, _ in two] + [f"mode {k}'" for k, _ in two]
        for k, (n, *_) in chosen[len(two) :]:
            names += [f"mode {k}"] if len(n) == 1 else [f"modes {k}, {j}" for j in range(len(n))]
        scale = np.ones(len(whole))
        scale[: len(two)] = [1.0 / size for _, (*_, size) in two]
        return whole[np.ix_(order, order)], b[order], c[:, order], tuple(names), scale, len(two)

    def refuse_growing(self, w: float) -> None:
        """ModelError if a motion that grows would be left out."""
        for m in self.all:
            rates = np.linalg.eigvals(m.n)
            unstable = rates[growing(rates)]
            if not m.slow and len(unstable):
                # compare velocities, whose units differ less
                size = np.abs(m.to[self.ss.with_mass :]).max(axis=1)
                who = self.ss.states[self.ss.with_mass + int(np.argmax(size))]
                hz = np.abs(unstable).max() / (2 * np.pi)
                raise ModelError(
                    f"{self.ss.name}: a motion of {hz:.6g} Hz grows, mostly {who}, but a state space up to "
                    f"{w / (2 * np.pi):g} Hz would leave it out; expected faster motions to decay; take up_to_hz "
                    f"above {hz:.6g}"
                )

    def left_out(self, up_to_hz: float) -> LeftOut:
        """The contribution of the fast motions to the response."""
        ss, left = self.ss, [m for m in self.all if not m.slow]
        o, i = len(ss.outputs), len(ss.inputs)
        two, one = [m for m in left if len(m.n) == 2], [m for m in left if len(m.n) == 1]
        more = [m for m in left if len(m.n) > 2]
        static = [np.linalg.solve(m.n, m.extra) + m.shift - m.static for m in two]
        traces = np.array([np.trace(m.n) for m in two])
        determinants = np.array([-_companion(m.n)[1, 0] for m in two])
        linear = [m.c @ x for m, x in zip(two, static, strict=True)]
        constant = [m.c @ (m.n @ x - t * x) for m, x, t in zip(two, static, traces, strict=True)]
        joined = (
            sl.block_diag(*(m.n for m in more)) if more else np.zeros((0, 0)),
            np.vstack([np.zeros((0, i)), *(m.b for m in more)]),
            np.hstack([np.zeros((o, 0)), *(m.c for m in more)]),
        )
        return LeftOut(
            ss.name, up_to_hz, ss.inputs, ss.outputs, ss.input_units, ss.output_units,
            np.stack([traces, determinants], axis=1),
            np.reshape(linear, (len(two), o, i)), np.reshape(constant, (len(two), o, i)),
            np.array([m.n[0, 0] for m in one]),
            np.reshape([m.c @ m.b / m.n[0, 0] for m in one], (len(one), o, i)),
            joined, np.zeros((len(SHARES), o, i)),
        )  # fmt: skip


def _companion(n: np.ndarray) -> np.ndarray:
    """The companion matrix of a motion of two states: a displacement and its rate."""
    return np.array([[0.0, 1.0], [n[0, 1] * n[1, 0] - n[0, 0] * n[1, 1], n[0, 0] + n[1, 1]]])
