"""Modes: undamped ``K phi = w^2 M phi`` and damped ``(s^2 M + s Lambda + K) phi = 0``."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from ...display import Result, table
from ...errors import ModelError
from ...linear.exact_members import dissipating
from ...linear.linear_model import LinearModel
from ...numerics.blas_threads import one_thread
from ...numerics.eigen import eigen
from ...numerics.sparse_tools import column_products
from ...validation.arguments import find, shown, whole
from ..resources import refuse_beyond_memory
from ..time.massless import condense, refuse_exact_members, separate
from ..time.state_space import state_space
from .exact import exact_modes
from .large import large_undamped
from .large_damped import large_damped
from .zero import uncancelled, zeroed

log = logging.getLogger("mse")

_DENSE_MODES = 600  # coordinates up to which all modes are computed at once, densely
_DEFAULT_COUNT = 20
_SOFT = 1e-5  # of the largest w^2: below it eigenvalues come from the inverse problem
_SHIFT = 3e-11  # of the largest w^2: distance from zero of the inverse problem's shift
_ROUNDING = 1e-15  # of the terms in a reduced stiffness, and of the lowest w^2 that is no rounding of the highest


@dataclass(frozen=True, repr=False, eq=False)
class Modes(Result):
    """Modes in ascending order of natural frequency.

    ``eigenvalues`` (m,) are s in rad/s, with non-negative imaginary part (one of each conjugate pair); ``shapes``
    (n, m) are real for undamped modes, with ``phi^T M phi = 1``, and complex, with the same norm by ``phi^H M phi``, for
    damped ones; rows in the order of ``coordinates``.  Overdamped and free motions are two modes each when damped.

    ``complete`` is whether these are all modes of the model; where it has more, these are the lowest.  ``notes`` say how to get
    the others, and what was left out.
    """

    name: str
    coordinates: tuple[str, ...]
    owners: tuple[str, ...]
    eigenvalues: np.ndarray
    shapes: np.ndarray
    energies: np.ndarray
    damped: bool
    complete: bool = True
    notes: tuple[str, ...] = ()

    @property
    def frequencies(self) -> np.ndarray:
        """Natural frequencies ``|s|/(2 pi)`` in Hz (m,); 0 for free motions."""
        return np.abs(self.eigenvalues) / (2 * np.pi)

    @property
    def damping(self) -> np.ndarray:
        """Damping ratios ``-Re s/|s|`` (m,): 0 undamped, 1 overdamped, negative for motions that grow."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros(len(size)), where=size > 0) + 0.0

    @property
    def quality(self) -> np.ndarray:
        """Quality factors ``1/(2 damping)`` (m,); inf where undamped."""
        with np.errstate(divide="ignore"):
            return 0.5 / self.damping

    @property
    def free(self) -> np.ndarray:
        """Which modes are motions that nothing holds, at exactly zero frequency (m,)."""
        return self.eigenvalues == 0

    @property
    def unstable(self) -> np.ndarray:
        """Which modes grow (m,)."""
        return self.eigenvalues.real > 1e-12 * np.abs(self.eigenvalues)

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of what moves; all nodes of a beam are that beam."""
        return tuple(dict.fromkeys(self.owners))

    @property
    def participation(self) -> dict[str, np.ndarray]:
        """Share of each object in the kinetic energy of each mode, object -> (m,); shares of one mode add up to 1."""
        owner = {name: k for k, name in enumerate(self.objects)}
        index = np.array([owner[name] for name in self.owners], dtype=int)
        out = np.zeros((len(owner), self.energies.shape[1]))
        np.add.at(out, index, self.energies)
        return {name: out[k] for name, k in owner.items()}

    def shape(self, mode: int) -> dict[str, float]:
        """One mode shape by coordinate name, largest entry first."""
        column = self.shapes[:, self._number(mode)]
        return {self.coordinates[i]: column[i] for i in np.argsort(-np.abs(column), kind="stable")}

    def __getitem__(self, coordinate: str) -> np.ndarray:
        """Row of the shapes (m,) for a coordinate name."""
        return self.shapes[self.coordinates.index(find(self.name, "coordinate", coordinate, self.coordinates))]

    def _number(self, mode: int) -> int:
        if not len(self):
            raise ModelError(f"{self.name}: mode is {shown(mode)}; expected a model that has modes; this one has none")
        return whole(self.name, "mode", mode, maximum=len(self) - 1)

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def movers(self, mode: int, most: int = 3) -> str:
        """Who moves in a mode, by share of kinetic energy: ``mass.x 98 %, mass.ay 2 %``; ``most`` of them."""
        mode, most = self._number(mode), whole(self.name, "most", most)
        names = [f"{o}.{c.rsplit('.', 1)[-1]}" for o, c in zip(self.owners, self.coordinates, strict=True)]
        shares = dict.fromkeys(names, 0.0)
        for name, share in zip(names, self.energies[:, mode], strict=True):
            shares[name] += share
        order = sorted(shares, key=lambda name: -shares[name])[:most]
        return ", ".join(f"{name} {100 * shares[name]:.0f} %" for name in order if shares[name] >= 0.005)

    def table(self) -> str:
        kind = "damped" if self.damped else "undamped"
        rows = []
        unstable = self.unstable
        for k, (f, z) in enumerate(zip(self.frequencies, self.damping, strict=True)):
            note = "  UNSTABLE" if unstable[k] else ""
            rows.append((k, f"{f:.8g}", f"{z:.4g}" if z else "0", self.movers(k) + note))
        title = f"{self.name}: {len(rows)} {kind} modes" + ("" if self.complete else ", the lowest of more")
        text = table(title, ("mode", "frequency (Hz)", "damping", "who moves"), rows)
        return "\n".join([text, *(f"note: {note}" for note in self.notes)])


@one_thread
def modes(model: LinearModel, count: int | None = None, *, damped: bool = False) -> Modes:
    """The ``count`` modes of lowest frequency; by default all up to 600 coordinates, 20 beyond and with exact members.

    Massless coordinates are condensed exactly and have shapes, but no modes of their own.  Large models are solved by
    shift-invert Lanczos on the sparse factorisation, and the factorisation's inertia shows that none is missed; damped ones
    by Arnoldi, and the argument of the determinant around a circle shows it.  Where some are missing ``notes`` tell.

    A model with exact members has undamped modes only, found by counting (:mod:`mse.analysis.modes.exact`); mass is then
    ``-d/d(w^2)`` of the dynamic stiffness at the frequency of the mode, and a motion inside members whose ends rest has
    the shape zero.  Of members that dissipate the real part of the stiffness counts, which ``notes`` then tell.

    Where there are fewer modes than ``count``, all are given; ``complete`` and ``notes`` tell where there are more.
    """
    n = model.size
    jointed = model.constraints.shape[0] > 0
    if count is not None:
        count = whole(model.name, "count of modes", count, minimum=1, remedy="None gives all")
    few = count is not None and n > _DENSE_MODES // (2 if jointed else 4) and 6 * count < n
    sparse = n > _DENSE_MODES or few
    if sparse and count is None:
        count = _DEFAULT_COUNT
    if jointed and not (sparse and not model.members):
        return _of_independent(model, count, damped)
    if n == 0 and not model.members:
        return Modes(model.name, (), (), np.zeros(0, complex), np.zeros((0, 0)), np.zeros((0, 0)), damped)
    notes = ()
    if model.members:
        if damped:
            refuse_exact_members(model)
        w2, shapes, momentum, more = exact_modes(model, count or _DEFAULT_COUNT)
        notes = _left_out(model, w2)
        w2 = zeroed(w2, shapes, model)
        order = np.argsort(np.abs(w2), kind="stable")
        shapes, momentum, s = shapes[:, order], momentum[:, order], _rates(w2[order])
    elif damped and model.Lambda.nnz:
        _refuse_large(model, count, sparse, 16 * 2)
        s, shapes, notes = large_damped(model, count) if sparse else (*_dense_damped(model), ())
        more = (len(s) >= count or bool(notes)) if sparse else len(s) > (count or len(s))
        order = np.lexsort((s.imag, np.abs(s)))[:count]
        s, shapes = s[order], shapes[:, order]
    else:
        _refuse_large(model, count, sparse, 8)
        w2, shapes = large_undamped(model, count) if sparse else _dense_undamped(model)
        more = len(w2) >= count if sparse else len(w2) > (count or len(w2))
        order = np.argsort(np.abs(w2), kind="stable")[:count] if not sparse else np.argsort(np.abs(w2), kind="stable")
        shapes, s = shapes[:, order], _rates(w2[order])
    if not model.members:
        momentum = model.M @ shapes
    energies = np.real(np.conj(shapes) * momentum)
    total = energies.sum(axis=0)
    total[total <= 0] = 1.0
    # exact members move inside, too: their shapes come normalised
    norm = np.ones(len(total)) if model.members else np.sqrt(total)
    return Modes(
        model.name, model.coordinates, model.coordinate_owners, s, shapes / norm, energies / total, damped,
        not more, _how_to_get_more(more, len(s), notes),
    )  # fmt: skip


def _how_to_get_more(more: bool, count: int, notes: tuple[str, ...]) -> tuple[str, ...]:
    return (f"the {count} lowest modes; modes(count={2 * count}) gives more", *notes) if more else notes


def _left_out(model: LinearModel, w2: np.ndarray) -> tuple[str, ...]:
    """What undamped modes leave out of members that dissipate by themselves."""
    moving = w2[w2 > 0.0]
    names = dissipating(model, float(moving[len(moving) // 2])) if len(moving) else ()
    if not names:
        return ()
    return (
        f"undamped modes, of the real part of the dynamic stiffness of {', '.join(names)}; frequency_response() has its "
        "dissipation",
    )


def _refuse_large(model: LinearModel, count: int | None, sparse: bool, number: int) -> None:
    """Refuse more modes than there is memory for their vectors, of ``number`` bytes for each coordinate."""
    if sparse:
        vectors = min(2 * count + 50, model.size) + count
        refuse_beyond_memory(
            model.name, float(number) * model.size * vectors,
            f"{count} modes of {model.size} coordinates need {{}}", "ask for fewer modes, or reduce the model",
        )  # fmt: skip


def _of_independent(model: LinearModel, count: int | None, damped: bool) -> Modes:
    """Modes of a model with constraints by its independent coordinates, told by all of them."""
    inner, basis = model.reduced
    # what is left is hardly sparse any more
    every = inner.size <= _DENSE_MODES and not model.members and not damped
    found = modes(inner, None if every else count, damped=damped)
    shapes = basis @ found.shapes
    rates = found.eigenvalues
    if not damped:
        # independent coordinates do not show what has cancelled on the way to them
        terms = uncancelled(model)
        w2 = np.where(rates.real > 0, -1.0, 1.0) * np.abs(rates) ** 2
        w2 = zeroed(w2, shapes, model, terms)
        most = abs(basis) @ np.abs(found.shapes)
        w2[np.abs(w2) <= _ROUNDING * column_products(most, terms @ most)] = 0.0
        rates = np.where(w2 == 0.0, 0.0, rates)
    energies = np.real(np.conj(shapes) * (model.M @ shapes))
    total = energies.sum(axis=0)
    energies = found.energies if model.members else energies / np.where(total > 0, total, 1.0)
    if model.members:  # the kinetic energy inside members has no coordinates of its own
        shared = np.zeros((model.size, energies.shape[1]))
        at = [model.coordinates.index(name) for name in inner.coordinates]
        shared[at] = energies
        energies = shared
    more = not found.complete or len(rates) > (count or len(rates))
    few = slice(count)
    notes = found.notes if found.complete else found.notes[1:]  # the first one tells of more
    return Modes(
        model.name, model.coordinates, model.coordinate_owners, rates[few], shapes[:, few], energies[:, few], damped,
        not more, _how_to_get_more(more, len(rates[few]), notes),
    )  # fmt: skip


def _rates(w2: np.ndarray) -> np.ndarray:
    """``s = i w``, or the rate of growth where w^2 < 0."""
    return np.where(w2 >= 0, 1j * np.sqrt(np.abs(w2)), np.sqrt(np.abs(w2)))


def _dense_undamped(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    sep = separate(model)
    nr = len(sep.r)
    if nr == model.size:  # all coordinates carry mass
        w2, shapes = _both_ends(model.K.toarray(), model.M.toarray())
        return zeroed(w2, shapes, model), shapes
    k = (sep.T.T @ model.K @ sep.T).toarray()
    m = (sep.T.T @ model.M @ sep.T).toarray()[:nr, :nr]
    massless = slice(nr, None)
    # massless damped coordinates may lack stiffness; without it they follow no static law and stay at rest
    follow = -np.linalg.pinv(k[massless, massless], hermitian=True, rcond=1e-14) @ k[massless, :nr]
    w2, phi = _both_ends(k[:nr, :nr] + k[:nr, massless] @ follow, m)
    shapes = sep.T @ np.vstack([phi, follow @ phi])
    return zeroed(w2, shapes, model), shapes


def _both_ends(k: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of ``K x = w^2 M x`` with soft modes right beside stiff ones.

    A dense solver is right to rounding of the largest eigenvalue.  Those far below it are taken from the inverse
    problem ``L^-1 M L^-T y = y/(w^2 - s)`` with ``L L^T = K - s M``, which is right at the other end of the spectrum.
    """
    w2, x = sl.eigh(k, m)
    top = np.abs(w2).max(initial=0.0)
    soft = int(np.count_nonzero(w2 < _SOFT * top))
    if not soft:
        return w2, x
    # halfway, on a logarithmic scale, between the highest of them and rounding: the inverse is right to rounding of the shift
    # for those below it, and for those above it to rounding times their ratio, 3e-11 in both cases
    shift = 1.001 * min(w2[0], 0.0) - _SHIFT * top
    try:
        factor = sl.cholesky(k - shift * m, lower=True)
    except np.linalg.LinAlgError:
        return w2, x
    half = sl.solve_triangular(factor, m, lower=True)
    nu, y = eigen(sl.solve_triangular(factor, half.T, lower=True))
    low = np.argsort(-nu)[:soft]
    shapes = sl.solve_triangular(factor, y[:, low], lower=True, trans="T")
    shapes /= np.sqrt(np.einsum("ij,ij->j", shapes, m @ shapes))
    lowest = shift + 1.0 / nu[low]
    lowest[np.abs(lowest) <= _ROUNDING * w2[w2 > 1e-14 * top].min(initial=top)] = 0.0
    return np.concatenate([lowest, w2[soft:]]), np.hstack([shapes, x[:, soft:]])


def _dense_damped(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    none = np.zeros(0, dtype=int)
    c = condense(model, none, none)
    ss = state_space(model, inputs=[], outputs=[])
    a, _, _ = ss.scaled()
    s, v = np.linalg.eig(a)
    v = ss.scaling[0] @ v
    nr, nd = len(c.sep.r), len(c.sep.d)
    shapes = c.expand @ np.vstack([v[:nr], v[2 * nr : 2 * nr + nd]])
    top = np.abs(s).max(initial=0.0)
    # a free coordinate has the double eigenvalue 0, which rounding splits; one of a conjugate pair is enough
    keep = s.imag >= 0
    s, shapes = s[keep], shapes[:, keep]
    small = np.abs(s) <= 1e-9 * top
    stiffness = np.abs(np.einsum("ij,ij->j", shapes.conj(), model.K @ shapes))
    cancelling = np.einsum("ij,ij->j", np.abs(shapes), abs(model.K) @ np.abs(shapes))
    s = np.where(small & (stiffness <= 1e-10 * cancelling), 0.0, s)
    return s, shapes
