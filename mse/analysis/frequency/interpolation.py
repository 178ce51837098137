"""Long sweeps by rational interpolation: some frequencies are solved, the others interpolated with an error below a bound.

Why not a library: ``scipy.interpolate.AAA`` (from SciPy 1.15 on) fits one function with its own weights.  Here all responses in a
window share their weights, so choosing them costs as much for a hundred responses as for one, and the error between the
samples is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .sweep import Stopped

_WINDOW = 2048  # consecutive frequencies that share one interpolant, or half as many, a quarter ...
_SAMPLES = 41  # solved frequencies in a window
_HELD_OUT = 9  # solved in addition, only to measure the error, where the fit to rounding differs most
_AT_ONCE = 1_000_000  # responses solved before they are stored
_COLUMNS = 4  # combinations of responses that determine the weights for all
# Fractions of the bound: agreement required of interpolants, and accuracy of the fit.  With ten times either, errors are too
# large; with a thousandth of the first or a hundred-thousandth of the second, too many frequencies are solved
# (tests/analysis/frequency/test_resonance_grid.py::test_resonances_between_the_samples_stay_within_the_bound,
# test_only_the_window_with_a_kink_is_solved_to_the_end).
_SAFETY, _SMALLEST = 0.1, 0.01


def interpolated(
    solve: Callable[[np.ndarray], np.ndarray], f: np.ndarray, unit: np.ndarray, bound: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Responses (f, outputs, inputs), which frequencies (f,) were solved, and the largest estimated error of the others.

    ``solve`` gives responses at some frequencies.  ``unit`` (outputs, inputs) numbers responses that are measured together:
    errors are relative to the largest response with the same number.  In each window of ascending frequencies a barycentric
    rational function is fitted (AAA: Y. Nakatsukasa, O. Sete, L. N. Trefethen, SIAM J. Sci. Comput. 40 (2018) A1494).  It is
    accepted if a fit to three quarters of its samples agrees with it at every frequency to a tenth of ``bound``, and so do some
    solved frequencies that neither fit has seen.  Otherwise the window is halved, and finally all of it is solved.  The check
    frequencies are chosen where a resonance much narrower than the sample spacing may be: it shows if its effect on the samples
    is above rounding.

    Raises :class:`.Stopped` if ``solve`` does, with the frequencies solved until then and the windows accepted.
    """
    grid, back = np.unique(f, return_inverse=True)
    values = np.zeros((len(grid), unit.size), dtype=complex)
    solved = np.zeros(len(grid), dtype=bool)
    known = solved.copy()  # solved or interpolated
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((unit.size, min(_COLUMNS, unit.size)))
    todo = [np.arange(a, min(a + _WINDOW, len(grid))) for a in range(0, len(grid), _WINDOW)]
    worst, size, scale = 0.0, np.zeros(unit.size), np.ones(unit.size)
    missed = np.zeros(len(grid))  # error of the interpolation at frequencies solved afterwards

    def look(wanted: list[np.ndarray]) -> None:
        nonlocal size
        at = np.unique(np.concatenate([np.zeros(0, dtype=int), *wanted]))
        at = at[~solved[at]]
        for some in np.array_split(at, max(1, len(at) * unit.size // _AT_ONCE)) if len(at) else ():
            try:
                found = solve(grid[some]).reshape(len(some), -1)
            except Stopped as stopped:
                last = some[stopped.solved]
                values[last] = stopped.values[stopped.solved].reshape(len(last), unit.size)
                solved[last] = known[last] = True
                between = int(np.count_nonzero((known & ~solved)[back]))
                raise Stopped(values[back].reshape(len(f), *unit.shape), known[back], between) from None
            size = np.maximum(size, np.abs(found).max(axis=0))
            missed[some] = (np.abs(found - values[some]) / scale).max(axis=1)
            values[some], solved[some], known[some] = found, True, True

    while todo:
        samples = [_samples(solved[w]) for w in todo]
        look([w[at] for w, at in zip(todo, samples, strict=True)])
        scale = _largest(size, unit.ravel())
        again, fitted = [], []
        for w, at in zip(todo, samples, strict=True):
            if len(at) == len(w):
                continue
            error, guess, checks = _fitted(grid[w], values[w], at, scale, mix, bound)
            if error <= bound:
                unknown = ~solved[w]
                values[w[unknown]] = guess[unknown]
                fitted.append((w, error, w[checks]))
            else:
                again += np.array_split(w, 2)
        look([checks for *_, checks in fitted])
        for w, error, checks in fitted:
            error = max(error, missed[checks].max())  # the checks are where the error is expected to be largest
            if error <= bound:
                worst = max(worst, error)
                known[w] = True
            else:
                again += np.array_split(w, 2)
        todo = again
    if not np.array_equal(grid, f):
        values, solved = values[back], solved[back]
    return values.reshape(len(f), *unit.shape), solved, worst


def _samples(solved: np.ndarray) -> np.ndarray:
    """Numbers of samples in a window, denser towards its ends; all of a small window."""
    count = len(solved)
    if count < 2 * (_SAMPLES + _HELD_OUT):
        return np.arange(count)
    samples = np.round(0.5 * (count - 1) * (1 - np.cos(np.pi * np.arange(_SAMPLES) / (_SAMPLES - 1)))).astype(int)
    return np.union1d(samples, np.flatnonzero(solved)[:: max(1, np.count_nonzero(solved) // _SAMPLES)])


def _largest(size: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """For each response, the largest one of those measured together, from the size of each."""
    largest = np.zeros(unit.max(initial=0) + 1)
    np.maximum.at(largest, unit, size)
    return np.where(largest > 0, largest, 1.0)[unit]


def _fitted(f, values, samples, scale, mix, bound: float) -> tuple[float, np.ndarray | None, np.ndarray | None]:
    """Estimated error relative to ``scale``, the interpolant (f, responses) in a window, and numbers of checks to solve."""
    x = (2.0 * f - f[0] - f[-1]) / (f[-1] - f[0])
    seen = values[samples] / scale
    few = seen @ mix
    few = few / np.maximum(np.abs(few).max(axis=0), 1e-300)
    if (support := _support(x[samples], few, _SMALLEST * bound)) is None:
        return np.inf, None, None
    # a fit without a quarter of the samples: spurious poles move
    most = np.flatnonzero(np.arange(len(samples)) % 4 != 2)
    if (other := _support(x[samples[most]], few[most], _SMALLEST * bound)) is None:
        return np.inf, None, None
    whole = _between(x, samples, seen, *support)
    error = np.abs(whole - _between(x, samples[most], seen[most], *other)).max() / _SAFETY
    if not error <= bound:
        return np.inf, None, None
    # the effect of a narrow resonance between the samples on them may be far below the bound; a fit to rounding shows where
    # it may be
    last = _support(x[samples], few, 0.0, support[0])
    apart = np.abs(_between(x, samples, few, *last) - _between(x, samples, few, *support)).max(axis=1)
    apart[samples] = -1.0
    parts = np.array_split(np.arange(len(f)), _HELD_OUT)
    return error, whole * scale, np.array([part[np.argmax(apart[part])] for part in parts])


def _support(at, few, tolerance: float, support: Sequence[int] = ()) -> tuple[list[int], np.ndarray] | None:
    """Numbers of the samples (s, columns) that AAA interpolates, from ``support`` on, and weights; None if it does not settle.

    With zero tolerance it takes as many as are numerically safe.
    """
    support, weights = list(support), np.zeros(0)
    rest = np.setdiff1d(np.arange(len(at)), support)
    guess = np.repeat(few.mean(axis=0)[None], len(at), axis=0)
    while True:
        if support:
            cauchy = 1.0 / (at[rest, None] - at[support])
            loewner = (few[rest].T[:, :, None] - few[support].T[:, None, :]) * cauchy
            weights = np.linalg.svd(loewner.reshape(-1, len(support)), full_matrices=False)[2][-1].conj()
            guess = few.copy()
            guess[rest] = (cauchy @ (weights[:, None] * few[support])) / (cauchy @ weights)[:, None]
        miss = np.abs(few - guess)[rest].max(axis=1)
        if miss.max() <= tolerance:
            return support, weights
        if len(support) >= len(at) // 2 - 1:
            return None if tolerance else (support, weights)
        support.append(rest[int(np.argmax(miss))])
        rest = rest[rest != support[-1]]


def _between(x, samples, seen, support: list[int], weights: np.ndarray) -> np.ndarray:
    """The rational function through values (s, responses) at ``samples`` of x, evaluated at all x."""
    if not support:
        return np.repeat(seen.mean(axis=0)[None], len(x), axis=0)
    out = np.empty((len(x), seen.shape[1]), dtype=complex)
    known = samples[support]
    other = np.setdiff1d(np.arange(len(x)), known)
    cauchy = 1.0 / (x[other, None] - x[known])
    out[known] = seen[support]
    with np.errstate(all="ignore"):
        out[other] = (cauchy @ (weights[:, None] * seen[support])) / (cauchy @ weights)[:, None]
    return out
