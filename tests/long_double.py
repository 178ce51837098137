"""Time evolution in long double, slowly: what that of mse is held against, in tests and benchmarks."""

from __future__ import annotations

import numpy as np

TERMS, HALVINGS = 14, 6


def exponential(a: np.ndarray) -> np.ndarray:
    """exp(a) of a long double matrix: Taylor's series of a fraction, squared back.

    exp(a) - 1 is squared: it keeps the digits of slow motions beside fast ones.
    """
    squarings = max(0, int(np.ceil(np.log2(float(np.abs(a).sum(axis=1).max()) + 1e-300)))) + HALVINGS
    a = a / np.longdouble(2) ** squarings
    term, out = a.copy(), a.copy()
    for k in range(2, TERMS):
        term = term @ a / k
        out += term
    for _ in range(squarings):
        out = 2 * out + out @ out
    return out + np.eye(len(a), dtype=np.longdouble)


def outputs(ss, dt: float, u: np.ndarray, hold: str, start: np.ndarray | None = None) -> np.ndarray:
    """Outputs (t, o) for inputs u (t, i), constant ("zoh") or linear ("foh") between samples, from rest or a state."""
    to, back = (x.astype(np.longdouble) for x in ss.scaling)  # other coordinates, in which A is nearly skew
    a, b = back @ ss.A.astype(np.longdouble) @ to, back @ ss.B.astype(np.longdouble)
    n, m = b.shape
    big = np.zeros((n + 2 * m, n + 2 * m), dtype=np.longdouble)
    big[:n, :n], big[:n, n : n + m], big[n : n + m, n + m :] = a * dt, b * dt, np.eye(m)
    big = exponential(big)
    p, constant, ramp = big[:n, :n], big[:n, n : n + m], big[:n, n + m :]
    u = u.astype(np.longdouble)
    pushed = u[:-1] @ constant.T
    if hold == "foh":
        pushed += np.diff(u, axis=0) @ ramp.T
    states = np.zeros((len(u), n), dtype=np.longdouble)
    if start is not None:
        states[0] = back @ start
    for k, push in enumerate(pushed):
        states[k + 1] = p @ states[k] + push
    return (states @ (ss.C.astype(np.longdouble) @ to).T + u @ ss.D.astype(np.longdouble).T).astype(float)
