"""Frequency response: ``y/u`` for ``exp(+i w t)``, solved directly at every frequency."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import splu

from ..display import Result, table
from ..errors import ModelError, SingularResponseError, UnknownNameError, nearest_name
from ..kernels.dynamic_stiffness import MECHANISMS
from ..linear_model import LinearModel
from ..reals import is_finite, real_array
from ..sparse import DENSE_LIMIT
from .constrained import augmented
from .transcendental import Members

_SINGULAR = 1e-13  # reciprocal condition below which the response is infinite to rounding
_BATCH_BYTES = 64e6
_NOT_ELASTIC = ("gravity", "geometric", "reaction")  # stiffness of loads, which loses nothing


@dataclass(frozen=True, repr=False, eq=False)
class FrequencyResponse(Result):
    """Complex response of every output to every input: ``response["probe.x", "piezo.x"]`` is an array (f,).

    ``values`` (f, outputs, inputs) in the output's unit per the input's; ``frequencies`` (f,) in Hz.
    """

    name: str
    frequencies: np.ndarray
    values: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]

    def __getitem__(self, pair: tuple[str, str]) -> np.ndarray:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ModelError(f"{self.name}: response[{pair!r}]; expected two names, response[output, input]")
        return self.values[:, self._find("output", pair[0], self.outputs), self._find("input", pair[1], self.inputs)]

    def _find(self, what: str, name: str, known: tuple[str, ...]) -> int:
        if name not in known:
            raise UnknownNameError(f"{self.name}: no {what} {name!r} in this response{nearest_name(str(name), known)}")
        return known.index(name)

    def unit(self, output: str, input: str) -> str:
        """Unit of one response, such as ``m/N``."""
        o = self.output_units[self._find("output", output, self.outputs)]
        i = self.input_units[self._find("input", input, self.inputs)]
        return f"{o}/({i})" if " " in i else f"{o}/{i}"

    def pairs(self) -> list[tuple[str, str]]:
        """(output, input) names of all responses above the rounding of the largest one of their unit."""
        size = np.abs(self.values).max(axis=0, initial=0.0)
        largest: dict[str, float] = {}
        named = [(o, i, self.unit(o, i)) for i in self.inputs for o in self.outputs]
        for o, i, unit in named:
            largest[unit] = max(largest.get(unit, 0.0), size[self.outputs.index(o), self.inputs.index(i)])
        return [
            (o, i) for o, i, unit in named if size[self.outputs.index(o), self.inputs.index(i)] > 1e-12 * largest[unit]
        ]

    def table(self) -> str:
        f = self.frequencies
        span = f"{f.min():.6g} to {f.max():.6g} Hz" if len(f) else "none"
        rows = []
        for o, i in self.pairs():
            size = np.abs(self[o, i])
            peak = int(np.argmax(size))
            rows.append(
                (o, i, self.unit(o, i), f"{size[0]:.6g}", f"{size[peak]:.6g}", f"{f[peak]:.6g}", f"{size[-1]:.6g}")
            )
        heads = ("output", "input", "unit", "at first", "largest", "at (Hz)", "at last")
        return table(f"{self.name}: response at {len(f)} frequencies, {span}", heads, rows)


def frequency_response(
    model: LinearModel,
    frequencies: ArrayLike,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    loss: Mapping[str | tuple[str, str], float] | None = None,
) -> FrequencyResponse:
    """``(K + i w Lambda - w^2 M) q = b u`` solved at each frequency (Hz, finite and not negative), any order.

    Prescribed displacements enter with the stiffness, damping and mass they drag; force sensors read the reaction that
    holds them; exact members enter with their dynamic stiffness.  ``loss`` gives structural loss factors eta >= 0: stiffness
    times ``1 + i eta``, for an object by its name or one mechanism of it by (object, mechanism), which goes before.  What
    gravity and tension give is no elastic stiffness and has none.

    Raises SingularResponseError where an input drives an undamped resonance, or a free motion at 0 Hz, exactly; ModelError
    for frequencies or loss factors that are negative or not finite; UnknownNameError for a name in ``loss`` that has no
    stiffness.
    """
    f = _checked_frequencies(model, frequencies)
    if model.constraints.shape[0]:
        model = model.reduced[0] if model.size <= DENSE_LIMIT else augmented(model)
    i, o = model.input_indices(inputs), model.output_indices(outputs)
    system = _Equations(model, i, o, loss_factors(model, loss))
    values = np.zeros((len(f), len(o), len(i)), dtype=complex)
    solve = _solve_dense if model.size <= DENSE_LIMIT else _solve_sparse
    if len(f) and len(i):
        solve(model, system, f, values)
    return FrequencyResponse(
        model.name, f, values,
        tuple(model.inputs[k] for k in i), tuple(model.outputs[k] for k in o),
        tuple(model.input_units[k] for k in i), tuple(model.output_units[k] for k in o),
    )  # fmt: skip


def _checked_frequencies(model: LinearModel, frequencies: ArrayLike) -> np.ndarray:
    try:
        f = np.atleast_1d(real_array(frequencies))
    except TypeError:
        raise ModelError(f"{model.name}: frequencies are {frequencies!r:.60}; expected real numbers in Hz") from None
    if f.ndim != 1:
        raise ModelError(f"{model.name}: frequencies have shape {f.shape}; expected one dimension")
    bad = ~np.isfinite(f) | (f < 0)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ModelError(
            f"{model.name}: frequency number {k} is {f[k]} Hz; expected finite frequencies of at least 0 Hz"
        )
    return f


def loss_factors(
    model: LinearModel, loss: Mapping[str | tuple[str, str], float] | None
) -> dict[tuple[str, str], float]:
    """Loss factor of every (object, mechanism) that has one, from what the user gave by object or mechanism."""
    if not isinstance(loss or {}, Mapping):
        raise ModelError(
            f"{model.name}: loss is {loss!r:.60}; expected loss factors by object, such as {{'wire': 1e-4}}"
        )
    elastic: dict[str, list[str]] = {}
    for owner, mechanism in model.parts:
        elastic.setdefault(owner, [])
        if mechanism not in _NOT_ELASTIC:
            elastic[owner].append(mechanism)
    # members have their own stiffness, whatever the parts of K call what it is at rest
    elastic |= {m.label: list(MECHANISMS) for m in model.members}
    out: dict[tuple[str, str], float] = {}
    # what is given for one mechanism goes before what is given for its object
    for key, eta in sorted((loss or {}).items(), key=lambda item: isinstance(item[0], tuple)):
        if not is_finite(eta) or eta < 0:
            raise ModelError(
                f"{model.name}: loss of {_spelled(key)} is {eta!r:.60}; expected a finite number of at least 0"
            )
        out |= dict.fromkeys(_parts_of(model, key, elastic), float(eta))
    return out


def _spelled(key) -> str:
    return " / ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _parts_of(model: LinearModel, key, elastic: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    known = {(owner, m): f"{owner} / {m}" for owner, mechanisms in elastic.items() for m in mechanisms}
    found = [key] if key in known else [part for part in known if part[0] == key]
    if not found and isinstance(key, tuple) and key[-1] in _NOT_ELASTIC and key[0] in elastic:
        raise ModelError(
            f"{model.name}: loss of {_spelled(key)}; expected an elastic stiffness, and {key[-1]} stores no elastic energy; "
            f"choose among {', '.join(known[p] for p in known if p[0] == key[0]) or 'those of other objects'}"
        )
    if not found:
        names = known.values() if isinstance(key, tuple) else [owner for owner, m in elastic.items() if m]
        raise UnknownNameError(
            f"{model.name}: loss names no stiffness {_spelled(key)!r}{nearest_name(_spelled(key), names)}"
        )
    return found


class _Equations:
    """``Z q = b u`` and ``y = c q + d u`` at any frequency: polynomials in ``i w``, and the members, from those of the model."""

    def __init__(self, model: LinearModel, i: np.ndarray, o: np.ndarray, loss: dict[tuple[str, str], float]):
        n = model.size
        self.inputs = [model.inputs[k] for k in i]
        self.n = n
        self.members = Members(model, loss)
        own = {m.label for m in model.members}
        factors = {part: complex(1.0, eta) for part, eta in loss.items() if eta and part[0] not in own}
        stiffness = model.parts.total(factors) if factors else model.stiffness
        self.matrices = (stiffness[:n, :n] if factors else model.K, model.Lambda, model.M)
        self.complex = model.Lambda.nnz > 0 or bool(factors) or self.members.lossy
        full = (stiffness, model.damping, model.mass)
        drive = model.drive.tocsc()[:, i]
        force = model.force.tocsc()[:, i].toarray()
        react = model.reaction[o]
        # as coefficients of 1, i w, -w^2
        self._b = [-(a[:n, n:] @ drive).toarray() for a in full]
        self._c = [-(react @ a[n:, :n]).toarray() for a in full]
        self._d = [-(react @ a[n:, n:] @ drive).toarray() for a in full]
        self._b[0] = self._b[0] + force[:n]
        measure = model.measure[o]
        self._c[0] = self._c[0] + measure[:, :n].toarray()
        self._d[0] = self._d[0] + (measure[:, n:] @ drive).toarray() + react @ force[n:]
        # what the inputs drag of each member and what the sensors read from it, (members, 12, inputs or outputs)
        self._dragged = self.members.on_held(drive.toarray())
        self._read = self.members.on_held(react.T.toarray())

    @staticmethod
    def at(parts, w):
        return parts[0] + 1j * w * parts[1] - w**2 * parts[2]

    def couplings(self, w: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """b, c, d at the angular frequencies w (f, 1, 1), for the stiffness ``change`` (f, members, 12, 12) of the members."""
        b, c, d = self.at(self._b, w), self.at(self._c, w), self.at(self._d, w)
        for k, (to, on) in enumerate(self.members.local):
            pull, pulled = change[:, k] @ self._dragged[k], self._read[k].T @ change[:, k]
            b[:, on] -= to.T @ pull
            c[:, :, on] -= pulled @ to
            d -= self._read[k].T @ pull
        return b, c, d


def _solve_dense(model: LinearModel, system: _Equations, f: np.ndarray, values: np.ndarray) -> None:
    n = system.n
    dense = [a.toarray() for a in system.matrices]
    # one random right-hand side more shows how large the inverse is
    probe = np.random.default_rng(0).standard_normal((n, 1)) / np.sqrt(max(n, 1))
    batch = max(1, int(_BATCH_BYTES / (16 * max(n**2, 144 * len(system.members.local), 1))))
    for start in range(0, len(f), batch):
        w = 2 * np.pi * f[start : start + batch, None, None]
        change = system.members.change(w.ravel() ** 2)
        z = system.at(dense, w)
        b, c, d = system.couplings(w, change)
        size = np.abs(dense[0].diagonal()) + w[:, 0] * np.abs(dense[1].diagonal()) + w[:, 0] ** 2 * dense[2].diagonal()
        if len(system.members.local):
            system.members.add_dense(z, change)
            size = np.maximum(size, np.abs(np.diagonal(z, axis1=1, axis2=2)))
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        z *= scale[:, :, None] * scale[:, None, :]
        b *= scale[:, :, None]
        right = np.concatenate([b, np.broadcast_to(probe, (len(w), n, 1))], axis=2)
        with np.errstate(all="ignore"):
            x = _solve_or_infinite(z, right)
            inverse = np.linalg.norm(x[:, :, -1], axis=1) * np.abs(z).sum(axis=2).max(axis=1, initial=0.0)
        x = x[:, :, :-1]
        for k in np.flatnonzero(~(inverse < 1.0 / _SINGULAR)):
            x[k] = _bounded_solution(model, system, f[start + k], z[k], b[k], scale[k])
        x *= scale[:, :, None]
        values[start : start + batch] = c @ x + d


def _solve_or_infinite(z: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(z, right)
    except np.linalg.LinAlgError:
        x = np.full(right.shape, np.inf + 0j)
        for k in range(len(z)):
            # what stays infinite is exactly singular and treated by the caller
            with contextlib.suppress(np.linalg.LinAlgError):
                x[k] = np.linalg.solve(z[k], right[k])
        return x


def _bounded_solution(model, system, f: float, z: np.ndarray, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The response of a singular system where the inputs leave the singular motion alone; SingularResponseError else."""
    left, s, right = np.linalg.svd(z)
    alive = s > _SINGULAR * s[0] if s[0] > 0 else np.zeros(len(s), dtype=bool)
    along = left.conj().T @ b
    pushed = np.abs(along[~alive])
    floor = 1e-9 * np.linalg.norm(b, axis=0)
    if np.any(pushed > floor):
        which = int(np.argmax((pushed - floor).max(axis=0)))
        motion = np.abs(right[~alive].conj()).max(axis=0) * scale
        raise _singular(model, system, f, which, motion)
    return right[alive].conj().T @ (along[alive] / s[alive, None])


def _singular(model, system, f: float, which: int, motion: np.ndarray) -> SingularResponseError:
    order = np.argsort(-motion)[:3]
    who = ", ".join(model.coordinates[k] for k in order if motion[k] > 0.05 * motion[order[0]])
    cause = "an undamped resonance" if f > 0 else "a motion without stiffness"
    return SingularResponseError(
        f"{model.name}: the response to {system.inputs[which]} at {f:.12g} Hz is infinite: it drives {cause} of {who}; "
        "expected a frequency off it; move the frequency, add damping or stiffness, or choose inputs that do not drive it"
    )


def _solve_sparse(model: LinearModel, system: _Equations, f: np.ndarray, values: np.ndarray) -> None:
    k, c, m = (a.tocsc() for a in system.matrices)
    n = system.n
    probe = np.random.default_rng(0).standard_normal((n, 1)) / np.sqrt(n)
    damped = system.complex
    for j, hz in enumerate(f):
        w = 2 * np.pi * hz
        change = system.members.change(np.array([w**2]))
        b, read, direct = (a[0] for a in system.couplings(np.full((1, 1, 1), w), change))
        z = (k - w**2 * m + 1j * w * c).tocsc() if damped else (k - w**2 * m).tocsc()
        size = np.abs(k.diagonal()) + w * np.abs(c.diagonal()) + w**2 * m.diagonal()
        if len(system.members.local):
            z = (z + system.members.sparse(change[0])).tocsc()
            size = np.maximum(size, np.abs(z.diagonal()))
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        d = sp.diags(scale, format="csc")
        z = (d @ z @ d).tocsc()
        right = np.hstack([b * scale[:, None], probe])
        try:
            lu = splu(z, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True})
            x = lu.solve(right) if damped else lu.solve(right.real) + 1j * lu.solve(right.imag)
        except RuntimeError:
            x = np.full(right.shape, np.inf + 0j)
        inverse = np.linalg.norm(x[:, -1]) * abs(z).sum(axis=1).max()
        if not inverse < 1.0 / _SINGULAR:
            x = np.hstack([_decoupled_solution(model, system, hz, z, right[:, :-1], scale), probe])
        x = x[:, :-1] * scale[:, None]
        values[j] = read @ x + direct


def _decoupled_solution(model, system, f: float, z: sp.csc_matrix, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """As :func:`_bounded_solution` for a large system: a small shift makes it solvable, refinement takes it out again."""
    shifted = splu((z + 1e-9 * sp.identity(z.shape[0], format="csc")).tocsc())
    solve = shifted.solve if z.dtype == complex else lambda v: shifted.solve(v.real) + 1j * shifted.solve(v.imag)
    x = solve(b)
    for _ in range(4):
        x = x + solve(b - z @ x)
    left = np.abs(b - z @ x)
    if np.any(left > 1e-9 * np.linalg.norm(b, axis=0)) or not np.all(np.isfinite(x)):
        which = int(np.argmax(left.max(axis=0)))
        raise _singular(model, system, f, which, np.abs(x[:, which]) * scale)
    return x
