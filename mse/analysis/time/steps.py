"""Exact steps of a state space in time, many at once: ``m_{k+1} = P m_k + G w_k, y_k = C m_k + D w_k``.

Why not a library: ``scipy.signal.lsim`` takes 10 to 1,183 times as long for the runs in docs/benchmarks.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from math import factorial

import numpy as np
import scipy.linalg as sl

from ...errors import ModelError
from ...kernels.march import march, walk
from ...numerics.options import SIZES
from ..resources import processors
from .inputs import NODES
from .normal_form import NormalForm, normal_form
from .state_space import StateSpace

_PRODUCT = 900_000  # multiplications in one product: below a million OpenBLAS is fast and wakes no threads
_SPAN = 8  # chunks between two synchronizations of the shares
_LONGEST = 256  # steps in a block
# growth over a block above which it is not doubled, since that would square the growth
_GROWN = float(np.finfo(float).max) ** (1 / 6)


class Step:
    """One step of dt (s), exact if each input is the polynomial through its values at its nodes in the step.

    The hold of an input is a key of ``NODES``, or (first, last), between 0 and 1: its value then acts in that part of the step.
    ``w = (u at the start of the step, u at the inner nodes of each smooth input)``.  The effect of the value at the end of the
    step, ``u_{k+1}``, is included in the state: ``m = m' - shift u``.  ``pairs`` (4, h) and ``rest`` (d, d) are P, ``into`` (m,
    w) is G, ``of_state`` (o, m) and ``of_inputs`` (o, i) are C and D.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, ss: StateSpace, dt: float, holds: Sequence[str | tuple[float, float]]):
        form = normal_form(ss, dt)
        self.to, self.back = form.to, form.back
        b = form.back @ ss.B
        count = max((len(NODES[h]) for h in holds if isinstance(h, str)), default=1)
        functions = pair_functions(form, dt, count)
        self.pairs = np.ascontiguousarray(functions[0])
        self.rest, of_rest = _rest_functions(form.rest * dt, b[2 * form.pairs :] * dt, count)
        moments = [
            np.vstack([_turned(functions[k], b * dt), of_rest[k - 1]]) for k in range(1, count + 1)
        ]  # of the k-th derivative of u, in units of the step
        here, inner = np.zeros_like(b), []
        self.shift = np.zeros_like(b)
        for i, hold in enumerate(holds):
            if not isinstance(hold, str):
                here[:, i] = np.subtract(*(_held(form, b[:, [i]], (1.0 - x) * dt) for x in hold))
                continue
            nodes = NODES[hold]
            # values at the nodes converted to derivatives
            weights = np.linalg.inv(np.vander(nodes, increasing=True))
            weights *= np.array([float(factorial(k)) for k in range(len(nodes))])[:, None]
            forcing = np.column_stack([m[:, i] for m in moments[: len(nodes)]]) @ weights
            here[:, i] = forcing[:, 0]
            if len(nodes) > 1:
                self.shift[:, i] = forcing[:, -1]
                inner.append(forcing[:, 1:-1])
        here += self.times(self.pairs, self.rest, self.shift)
        self.into = np.ascontiguousarray(np.hstack([here, *inner]))
        self.of_state = np.ascontiguousarray(ss.C @ form.to)
        self.of_inputs = np.ascontiguousarray(ss.D + self.of_state @ self.shift)
        if not all(np.isfinite(x).all() for x in (self.pairs, self.rest, self.into, self.shift, self.of_inputs)):
            raise ModelError(
                f"{ss.name}: motions grow beyond the largest number within one step of {dt:g} s; expected a dt in "
                "which they stay finite; take a smaller one, or constrain the unstable motion"
            )

    @staticmethod
    def times(pairs: np.ndarray, rest: np.ndarray, x: np.ndarray) -> np.ndarray:
        """``P x`` for columns x (m, n)."""
        return np.vstack([_turned(pairs, x), rest @ x[2 * pairs.shape[1] :]])

    @staticmethod
    def under(pairs: np.ndarray, rest: np.ndarray, c: np.ndarray) -> np.ndarray:
        """``c P`` for rows c (n, m)."""
        h = pairs.shape[1]
        a, b = c[:, :h], c[:, h : 2 * h]
        return np.hstack([a * pairs[0] + b * pairs[2], a * pairs[1] + b * pairs[3], c[:, 2 * h :] @ rest])

    def named(self, ss: StateSpace, state: np.ndarray, u: np.ndarray) -> dict[str, float]:
        """The state by name, from m (m,) and the inputs u (i,) at that time."""
        return dict(zip(ss.states, (self.to @ (state + self.shift @ u)).tolist(), strict=True))

    def digest(self) -> str:
        """Fingerprint of all numbers in a step: if it is the same, results are the same to the last bit."""
        sha = hashlib.sha256()
        for a in (self.to, self.back, self.pairs, self.rest, self.into, self.shift, self.of_state, self.of_inputs):
            sha.update(np.ascontiguousarray(a).tobytes())
        return sha.hexdigest()


class Blocks:
    """Many steps at once: states only every ``length`` steps; inputs and outputs between them by matrix products.

    With block inputs v = (w_k ... w_{k+l-1}) and outputs z = (y_k ... y_{k+l-1}):
    ``m_{k+l} = P^l m_k + R v``, ``z = O m_k + T v``.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, step: Step, steps: int):
        self.step = step
        m, width = step.into.shape
        outputs, inputs = step.of_inputs.shape
        d = len(step.rest)
        # longer blocks have fewer states to advance but a longer triangle T; powers of a dense block must pay off
        length = np.sqrt((8.0 * m + 2.0 * d**2) / (max(outputs, 1) * max(width, 1)))
        length = min(2.0 ** np.round(np.log2(max(length, 1.0))), _LONGEST)
        length = max(length, 4.0)
        if d > 40:
            length = min(length, max(1.0, 2.0 ** np.floor(np.log2(max(steps / d, 1.0)))))
        pairs, rest = step.pairs, step.rest
        of_state, into = step.of_state, step.into
        block = 1
        # growing motions must not overflow inside a block
        while block < length and max(np.abs(pairs).max(initial=0.0), np.abs(rest).max(initial=0.0)) < _GROWN:
            of_state = np.vstack([of_state, step.under(pairs, rest, of_state)])
            into = np.hstack([step.times(pairs, rest, into), into])
            p0, p1, p2, p3 = pairs
            pairs = np.array([p0 * p0 + p1 * p2, p0 * p1 + p1 * p3, p2 * p0 + p3 * p2, p2 * p1 + p3 * p3])
            rest = rest @ rest
            block *= 2
        self.length = block
        direct = np.hstack([step.of_inputs, np.zeros((outputs, width - inputs))])
        after = np.vstack([direct, of_state[: (self.length - 1) * outputs] @ step.into])
        triangle = np.zeros((self.length * outputs, self.length * width))
        for k in range(self.length):
            triangle[k * outputs :, k * width : (k + 1) * width] = after[: (self.length - k) * outputs]
        # states are divided by their numbers alone, so that sums do not depend on the number of processors; a dense block
        # cannot be divided
        h, count = pairs.shape[1], 2 if m >= SIZES.shared_states > d else 1
        rows = max(int(SIZES.run_bytes / (8.0 * (m / count + self.length * (width + outputs) + 1))), 32)
        small = _PRODUCT // max(into.shape[1] * m, (m + into.shape[1]) * len(of_state), 1)
        if count == 1 and small >= 8:  # two threads would wait for Python's lock more than they work
            rows = small
        self._rows = min(rows, 512)
        cuts = [0, h]
        if (
            count == 2
        ):  # the first also has the triangle, the last the dense block; both have equal numbers of multiplications
            first = (m - triangle.size / max(into.shape[1] + len(of_state), 1)) / 4
            cuts.insert(1, int(np.clip(first, 0, h)))
        self._shares = []
        for k, (a, b) in enumerate(pairwise(cuts)):
            last = k == count - 1
            own = np.r_[a:b, h + a : h + b, 2 * h : m if last else 2 * h]
            out = np.hstack([of_state[:, own], triangle if k == 0 else triangle[:, :0]])
            self._shares.append(_Share(own, pairs[:, a:b], rest if last else rest[:0, :0], into[own], out, self._rows))

    @property
    def chunk(self) -> int:
        """Steps computed at once; results do not depend on dividing a run at multiples of it."""
        return self.length * self._rows

    @np.errstate(over="ignore", invalid="ignore")
    def advance(
        self, state: np.ndarray, w: np.ndarray, y: np.ndarray, tell: Callable[[int], None] | None = None
    ) -> None:
        """Fill outputs y (n, o) of the steps with inputs w (n, width), both contiguous; the state (m,) is advanced in place.

        ``tell`` is called with the number of steps done.
        """
        n, length = len(w), self.length
        blocks = n // length
        bw, by = (x[: blocks * length].reshape(blocks, length * x.shape[1]) for x in (w, y))
        first, others = self._shares[0], self._shares[1:]
        span = _SPAN * self._rows
        added = [np.empty((min(span, blocks), by.shape[1])) for _ in others]
        with ThreadPoolExecutor(1) if others and processors() > 1 else nullcontext() as pool:
            run = map if pool is None else pool.map
            for start in range(0, blocks, span):
                v, z = bw[start : start + span], by[start : start + span]
                parts = [x[: len(v)] for x in added]
                waiting = run(lambda share, x, v=v: share.advance(state, v, x), others, parts)
                first.advance(state, v, z)
                for _, x in zip(waiting, parts, strict=True):
                    z += x
                if tell is not None:
                    tell((start + len(v)) * length)
        step = self.step
        left = np.ascontiguousarray(w[blocks * length :])
        if len(left):
            direct = np.hstack([step.of_inputs, np.zeros((y.shape[1], w.shape[1] - step.of_inputs.shape[1]))])
            walk(step.pairs, step.rest, step.into, step.of_state, direct, state, left, y[blocks * length :])
            if tell is not None:
                tell(n)


class _Share:
    """Some states that drive no others, in blocks of steps: their contribution to the outputs.

    ``own`` (s,) are their numbers; ``into`` (s, l w) and ``out`` (l o, s + l w or s) are their rows of R and columns of O,
    followed in one of the shares by those of T.  A block has l steps, and ``rows`` blocks are computed at once.
    """

    def __init__(self, own, pairs, rest, into, out, rows: int):
        self._own = own
        self._pairs, self._rest, self._into, self._out = map(np.ascontiguousarray, (pairs, rest, into.T, out.T))
        self._both = np.empty((rows, len(self._out)))  # states and inputs side by side

    @np.errstate(over="ignore", invalid="ignore")  # for the thread that computes this share
    def advance(self, state: np.ndarray, v: np.ndarray, z: np.ndarray) -> None:
        """Fill z (b, l o) from the inputs v (b, l w) of b blocks; the own entries of the state (m,) are advanced in place."""
        here, rows = state[self._own], len(self._both)
        for start in range(0, len(v), rows):
            piece = v[start : start + rows]
            both = self._both[: len(piece)]
            np.matmul(piece, self._into, out=both[:, : len(here)])
            march(self._pairs, self._rest, both, here)
            if both.shape[1] > len(here):
                both[:, len(here) :] = piece
            np.matmul(both, self._out, out=z[start : start + rows])
        state[self._own] = here


def _turned(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Pairs p (4, h) times the first 2 h rows of x."""
    h = p.shape[1]
    a, b = x[:h], x[h : 2 * h]
    return np.vstack([p[0][:, None] * a + p[1][:, None] * b, p[2][:, None] * a + p[3][:, None] * b])


def pair_functions(form: NormalForm, dt: float, count: int) -> np.ndarray:
    """phi_0 ... phi_count of the pairs' matrices times dt, (count + 1, 4, h); phi_0 is the exponential."""
    out = np.zeros((count + 1, 4, form.pairs))
    c, r = len(form.oscillating), form.real.shape[1]
    f = phi_functions(form.oscillating * dt, count)
    out[:, 0, :c], out[:, 1, :c], out[:, 2, :c], out[:, 3, :c] = f.real, f.imag, -f.imag, f.real
    f = phi_functions(form.real.ravel() * dt, count)
    out[:, 0, c : c + r], out[:, 3, c : c + r] = f[:, :r], f[:, r:]
    for k, a in enumerate(form.coupled):
        big = np.kron(np.eye(count + 1, k=1), np.eye(2))
        big[:2, :2] = a * dt
        out[:, :, c + r + k] = sl.expm(big)[:2].reshape(2, count + 1, 2).transpose(1, 0, 2).reshape(count + 1, 4)
    return out


def phi_functions(z: np.ndarray, count: int) -> np.ndarray:
    """``phi_0 = exp z, phi_{k+1} = (phi_k - 1/k!)/z``, up to phi_count: (count + 1, n).

    They are the integrals of ``exp((1 - t) z) t^(k-1)/(k-1)!`` over 0..1 (M. Hochbruck, A. Ostermann, Acta Numerica 19
    (2010) 209, section 2).
    """
    out = np.zeros((count + 1, len(z)), dtype=z.dtype)
    out[0] = np.exp(z)
    small = np.abs(z) < 2.0
    x, y = z[small], z[~small]
    term = np.full(len(x), 1.0 / factorial(count), dtype=z.dtype)
    for j in range(1, 40):  # the series; below its order the downward recursion is stable
        out[count, small] += term
        term = term * x / (count + j)
    for k in range(count - 1, 0, -1):
        out[k, small] = x * out[k + 1, small] + 1.0 / factorial(k)
    for k in range(count):
        out[k + 1, ~small] = (out[k, ~small] - 1.0 / factorial(k)) / y
    return out


def _held(form: NormalForm, b: np.ndarray, dt: float) -> np.ndarray:
    """The state (m,) after dt from rest, by an input of 1 with the column b (m, 1)."""
    of_rest = _rest_functions(form.rest * dt, b[2 * form.pairs :] * dt, 1)[1][0]
    return np.vstack([_turned(pair_functions(form, dt, 1)[1], b * dt), of_rest])[:, 0]


def _rest_functions(a: np.ndarray, b: np.ndarray, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """``exp a`` and ``phi_k(a) b`` for k = 1 ... count, dense.

    From one exponential of the augmented matrix (C. Van Loan, IEEE Trans. Automatic Control 23 (1978) 395).
    """
    n = len(a)
    right = b if b.shape[1] <= n else np.eye(n)
    m = right.shape[1]
    big = np.zeros((n + count * m, n + count * m))
    big[:n, :n] = a
    big[:n, n : n + m] = right
    for k in range(count - 1):
        big[n + k * m : n + (k + 1) * m, n + (k + 1) * m : n + (k + 2) * m] = np.eye(m)
    e = sl.expm(big) if n else big
    found = [e[:n, n + k * m : n + (k + 1) * m] for k in range(count)]
    return np.ascontiguousarray(e[:n, :n]), found if right is b else [f @ b for f in found]
