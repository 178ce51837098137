"""Long sweeps by rational interpolation: some frequencies solved, the others between them, with an error below a bound.

Why not a library: ``scipy.interpolate.AAA`` (from SciPy 1.15 on) fits one function with weights of its own; here all
responses of a window share their weights, so that choosing them costs as much for a hundred responses as for one, and the error
between the samples is estimated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .sweep import Stopped

_WINDOW = 2048  # consecutive frequencies that share one interpolant, or half as many, a quarter ...
_SAMPLES = 41  # of them solved
_HELD_OUT = 9  # solved besides, for the error alone
_AT_ONCE = 1_000_000  # responses solved before they are put in their place
_COLUMNS = 4  # combinations of responses that choose the weights for all
# Shares of the bound: within which interpolants must agree, and to which they are fitted.  With ten times of either, errors are
# too large, with a hundredth of the first, and a hundred-thousandth of the second, too many frequencies are solved
# (tests/analysis/frequency/test_resonance_grid.py::test_resonances_between_the_samples_stay_within_the_bound,
# test_only_the_window_with_a_kink_is_solved_to_the_end).
_SAFETY, _SMALLEST = 0.1, 0.01


def interpolated(
    solve: Callable[[np.ndarray], np.ndarray], f: np.ndarray, unit: np.ndarray, bound: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Responses (f, outputs, inputs), which frequencies (f,) were solved, and the largest error estimated of the others.

    ``solve`` gives responses at some frequencies; ``unit`` (outputs, inputs) numbers those that are measured together: errors
    are relative to the largest response of a number, anywhere.  In windows of ascending frequencies a barycentric rational
    function is fitted (AAA: Y. Nakatsukasa, O. Sete, L. N. Trefethen, SIAM J. Sci. Comput. 40 (2018) A1494).  It is taken
    where one from three quarters of its samples agrees with it at every frequency to a tenth of ``bound``, and so do
    frequencies that neither has seen; else the window is halved, and in the end all of it solved.

    Raises :class:`.Stopped` where ``solve`` does, with what was solved until then and the windows that were taken.
    """
    grid, back = np.unique(f, return_inverse=True)
    values = np.zeros((len(grid), unit.size), dtype=complex)
    solved = np.zeros(len(grid), dtype=bool)
    known = solved.copy()  # those interpolated among them
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((unit.size, min(_COLUMNS, unit.size)))
    todo = [np.arange(a, min(a + _WINDOW, len(grid))) for a in range(0, len(grid), _WINDOW)]
    worst, size = 0.0, np.zeros(unit.size)
    while todo:
        chosen = [_chosen(solved[w], rng) for w in todo]
        wanted = np.concatenate([w[np.r_[samples, checks]] for w, (samples, checks) in zip(todo, chosen, strict=True)])
        wanted = np.unique(wanted[~solved[wanted]])
        for some in np.array_split(wanted, max(1, len(wanted) * unit.size // _AT_ONCE)) if len(wanted) else ():
            try:
                found = solve(grid[some]).reshape(len(some), -1)
            except Stopped as stopped:
                last = some[stopped.solved]
                values[last] = stopped.values[stopped.solved].reshape(len(last), -1)
                solved[last] = known[last] = True
                between = int(np.count_nonzero((known & ~solved)[back]))
                raise Stopped(values[back].reshape(len(f), *unit.shape), known[back], between) from None
            size = np.maximum(size, np.abs(found).max(axis=0))
            values[some], solved[some], known[some] = found, True, True
        scale = _largest(size, unit.ravel())
        again = []
        for w, (samples, checks) in zip(todo, chosen, strict=True):
            if len(samples) == len(w):
                continue
            error, guess = _fitted(grid[w], values[w], samples, checks, scale, mix, bound)
            if error <= bound:
                worst = max(worst, error)
                unknown = ~solved[w]
                values[w[unknown]] = guess[unknown]
                known[w] = True
            else:
                again += np.array_split(w, 2)
        todo = again
    if not np.array_equal(grid, f):
        values, solved = values[back], solved[back]
    return values.reshape(len(f), *unit.shape), solved, worst


def _chosen(solved: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of samples in a window, closer towards its ends, and of others to hold out; all samples in a small one."""
    count = len(solved)
    if count < 2 * (_SAMPLES + _HELD_OUT):
        return np.arange(count), np.zeros(0, dtype=int)
    samples = np.round(0.5 * (count - 1) * (1 - np.cos(np.pi * np.arange(_SAMPLES) / (_SAMPLES - 1)))).astype(int)
    samples = np.union1d(samples, np.flatnonzero(solved)[:: max(1, np.count_nonzero(solved) // _SAMPLES)])
    rest = np.setdiff1d(np.arange(count), samples)
    return samples, np.sort(rng.choice(rest, _HELD_OUT, replace=False))


def _largest(size: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Largest response of those measured together, for each response, from the largest of each."""
    largest = np.zeros(unit.max(initial=0) + 1)
    np.maximum.at(largest, unit, size)
    return np.where(largest > 0, largest, 1.0)[unit]


def _fitted(f, values, samples, checks, scale, mix, bound: float) -> tuple[float, np.ndarray]:
    """Estimated error, relative to ``scale``, and the interpolant (f, responses) at all frequencies of a window."""
    x = (2.0 * f - f[0] - f[-1]) / (f[-1] - f[0])
    values, tolerance = values / scale, _SMALLEST * bound
    whole = _rational(x, values, samples, mix, tolerance)
    if whole is None or not np.abs(whole - values)[checks].max() <= _SAFETY * bound:
        return np.inf, values
    # without a quarter of the samples: poles that are accidents of sampling move
    other = _rational(x, values, samples[np.arange(len(samples)) % 4 != 2], mix, tolerance)
    if other is None:
        return np.inf, values
    error = max(np.abs(whole - values)[checks].max(), np.abs(whole - other).max()) / _SAFETY
    return (error if np.isfinite(error) else np.inf), whole * scale


def _rational(x, values, samples, mix, tolerance: float) -> np.ndarray | None:
    """AAA through values (f, responses) at the samples, evaluated at all x; None where it does not settle."""
    at, seen = x[samples], values[samples]
    few = seen @ mix
    few = few / np.maximum(np.abs(few).max(axis=0), 1e-300)
    rest, support = np.arange(len(at)), []
    guess = np.repeat(few.mean(axis=0)[None], len(at), axis=0)
    weights = np.zeros(0)
    while True:
        miss = np.abs(few - guess)[rest].max(axis=1)
        if miss.max() <= tolerance:
            break
        if len(support) >= len(at) // 2 - 1:
            return None
        support.append(rest[int(np.argmax(miss))])
        rest = np.setdiff1d(rest, support)
        cauchy = 1.0 / (at[rest, None] - at[support])
        loewner = (few[rest].T[:, :, None] - few[support].T[:, None, :]) * cauchy
        weights = np.linalg.svd(loewner.reshape(-1, len(support)), full_matrices=len(support) > 1)[2][-1].conj()
        guess = few.copy()
        guess[rest] = (cauchy @ (weights[:, None] * few[support])) / (cauchy @ weights)[:, None]
    if not support:
        return np.repeat(seen.mean(axis=0)[None], len(x), axis=0)
    out = np.empty(values.shape, dtype=complex)
    known = samples[support]
    other = np.setdiff1d(np.arange(len(x)), known)
    cauchy = 1.0 / (x[other, None] - x[known])
    out[known] = values[known]
    with np.errstate(all="ignore"):
        out[other] = (cauchy @ (weights[:, None] * values[known])) / (cauchy @ weights)[:, None]
    return out
