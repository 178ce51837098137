"""Undamped modes of models with dynamic stiffnesses, ``A(w^2) phi = 0``, none missed.

``A = K - w^2 M + sum motion^T D(w) motion`` is transcendental in w, so no eigensolver finds its roots.  But they can be counted.
Below w^2 there are ``J = s(A) + sum J0``: s is the number of negative eigenvalues of A, and J0 the number of natural frequencies
of each member with clamped ends (W. H. Wittrick, F. W. Williams, Q. J. Mech. Appl. Math. 24 (1971) 263).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ...errors import ModelError
from ...linear.linear_model import DynamicMember, LinearModel
from ...linear.members import FASTEST, Members, clamped_count, conservative
from ...numerics.eigen import eigen
from ...numerics.factor import Factor
from ...numerics.options import SIZES
from ...numerics.precision import APART, DEPENDENT, EPS, NOTHING, UNPIVOTED
from ...progress.tasks import FINDING_MODES, Task
from ..time.massless import range_and_null

# Relative width of an interval in which poles are removed: tests/analysis/modes/test_exact.py and
# tests/analysis/test_exact_beams.py pass with a thousandth, and with an eighth, at which samples next to a pole reach zero.
_NARROW = 1e-3
_AT_REST = DEPENDENT**2  # share of the ends in the kinetic energy that is rounding
_EXACT = UNPIVOTED * EPS  # relative distance at which Newton steps, or ends of an interval, count as equal
_TOGETHER = 8  # modes refined together, unless many are in a small interval
_NEWTON_STEPS = 14
_MOST_HALVINGS = 250


class Pencil:
    """A and the count of its roots at any ``w^2``; members that dissipate enter with the real part of their stiffness."""

    def __init__(self, model: LinearModel):
        self.model = model
        self.members = Members(model)
        self.size = model.size
        self._k, self._m = model.K.tocsc(), model.M.tocsc()
        self._counts: dict[float, tuple[int, int]] = {}

    def most(self) -> float:
        """Number of all modes: infinite with mass inside members, otherwise the number of independent motions with mass.

        The count at a high frequency would not do: motions without mass have rounding of a mass there.
        """
        if any(clamped_count(m, FASTEST) > clamped_count(m, 1.0 / FASTEST) for m in self.model.members):
            return np.inf
        return len(range_and_null(self.model.M)[0])

    def matrix(self, omega2: float) -> sp.csc_matrix:
        """``A(w^2)`` (n, n)."""
        change = self.members.sparse(self.members.conservative(omega2))
        return (self._k - omega2 * self._m + change).tocsc()

    def inertia(self, omega2: float) -> sp.csr_matrix:
        """``-dA/d(w^2)`` (n, n): the mass that moves with the coordinates in a motion of this frequency."""
        return (self._m + self.members.sparse(self.members.inertia(omega2))).tocsr()

    def poles(self, omega2: float) -> int:
        """``sum J0``: number of poles of A below ``omega2``."""
        return self.members.clamped_count(omega2)

    def terms(self, omega2: float) -> np.ndarray:
        """Size of the diagonal terms of A (n,)."""
        return np.abs(self._k.diagonal()) + abs(omega2) * self._m.diagonal()

    def count(self, omega2: float) -> int:
        """J: number of modes below ``omega2``."""
        return self._both_counts(omega2)[0]

    def clamped(self, omega2: float) -> int:
        """:meth:`poles`, cached."""
        return self._both_counts(omega2)[1]

    def _both_counts(self, omega2: float) -> tuple[int, int]:
        if omega2 not in self._counts:
            poles = self.poles(omega2)
            self._counts[omega2] = (self._negative(omega2) + poles, poles)
        return self._counts[omega2]

    def _scaled(self, omega2: float) -> tuple[np.ndarray, sp.csc_matrix]:
        """``s`` (n,) and ``diag(s) A diag(s)``, whose diagonal terms are about one."""
        a = self.matrix(omega2)
        size = self.terms(omega2) + np.abs(a.diagonal())
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        d = sp.diags(scale, format="csc")
        return scale, (d @ a @ d).tocsc()

    def _negative(self, omega2: float) -> int:
        _, a = self._scaled(omega2)
        if a.shape[0] > SIZES.dense:
            try:
                found = Factor(a).negative
            except RuntimeError:
                found = None
            if found is not None:
                return found
        return int(np.count_nonzero(np.linalg.eigvalsh(a.toarray()) < 0))

    def nearest(self, omega2: float, count: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Modes of the pencil (A, -A') nearest to zero: distances (c,) in w^2, shapes (n, c) of unit mass, and the rounding.

        These are roots of A to second order in their distance (successive linear problems: A. Ruhe, SIAM J. Numer. Anal. 10
        (1973) 674).  Each is found by inverse iteration on ``count`` + 2 vectors.
        """
        scale, a = self._scaled(omega2)
        d = sp.diags(scale, format="csc")
        g = (d @ self.inertia(omega2) @ d).tocsr()
        try:
            lu = splu(a)
        except RuntimeError:  # exactly at a root
            lu = splu((a + 1e-15 * sp.identity(a.shape[0], format="csc")).tocsc())
        v = np.random.default_rng(0).standard_normal((a.shape[0], min(count + 2, a.shape[0])))
        for _ in range(4):
            v = _orthonormal(lu.solve(g @ v), g)
        k = v.T @ (a @ v)
        distance, turn = eigen(0.5 * (k + k.T))
        near = np.argsort(np.abs(distance), kind="stable")[:count]
        v = v @ turn[:, near]
        rounding = np.finfo(float).eps * np.einsum("ij,ij->j", np.abs(v), abs(a) @ np.abs(v))
        return distance[near], scale[:, None] * v, float(rounding.max(initial=0.0))


def _orthonormal(w: np.ndarray, mass: sp.csr_matrix) -> np.ndarray:
    """Columns v (n, k) with ``v^T G v = 1`` in the space of w, G the mass; k is at most the number of motions with mass.

    They are normalized by mass, not by length: motions without mass follow the others, and a vector made of them alone would keep
    the iteration in a subspace.
    """
    kept = np.empty((len(w), 0))
    for column in w.T:
        x = column
        for _ in range(2):  # what remains of a nearly dependent column is partly rounding
            length = np.sqrt(max(x @ (mass @ x), 0.0))
            x = x / length if length > 0.0 else 0.0 * x
            x = x - kept @ (kept.T @ (mass @ x))
            left = np.sqrt(max(x @ (mass @ x), 0.0))
            if left <= NOTHING:
                break
        else:
            kept = np.column_stack([kept, x / left])
    return kept


class _Pole:
    """A member near one of its clamped natural frequencies: ``D = C/(w^2 - p) + regular(w^2)``, C = load load^T of rank r.

    Close to the pole the regular part is lost in the rounding of D.  Here it is interpolated from values of D further off, at
    Chebyshev points of the interval p - reach to p + reach.
    """

    _X = np.cos((np.arange(10) + 0.5) * np.pi / 10)
    _WEIGHT = (-1.0) ** np.arange(10) * np.sin((np.arange(10) + 0.5) * np.pi / 10)

    def __init__(self, member: DynamicMember, pole: float, reach: float, rank: int):
        self.pole, self._reach = pole, reach
        numerators = (reach * self._X)[:, None, None] * conservative(member, pole + reach * self._X)
        c = self._interpolated(numerators, 0.0)
        self._regular = (numerators - c) / (reach * self._X)[:, None, None]
        # in the units of the coordinates, so that rounding in planes without this pole stays small
        size = np.sqrt(np.abs(np.einsum("fii->fi", numerators)).max(axis=0))
        size[size == 0] = 1.0
        value, vector = np.linalg.eigh(c / np.outer(size, size))
        self.load = size[:, None] * vector[:, -rank:] * np.sqrt(np.maximum(value[-rank:], 0.0))

    def _interpolated(self, values: np.ndarray, x: float) -> np.ndarray:
        """Barycentric formula: J.-P. Berrut, L. N. Trefethen, SIAM Review 46 (2004) 501, eq. (4.2) and (5.3)."""
        at = np.flatnonzero(x == self._X)
        if len(at):
            return values[at[0]]
        weight = self._WEIGHT / (x - self._X)
        return np.tensordot(weight / weight.sum(), values, axes=1)

    def change(self, omega2: float) -> np.ndarray:
        """``regular`` (k, k)."""
        return self._interpolated(self._regular, (omega2 - self.pole) / self._reach)

    def inertia(self, omega2: float) -> np.ndarray:
        """``-d regular/d(w^2)`` (k, k)."""
        step = 1e-4 * self._reach
        return (self.change(omega2 - step) - self.change(omega2 + step)) / (2.0 * step)


class _AcrossPoles(Pencil):
    """A with the clamped motions of some members as additional coordinates, so that it has no poles there.

    ``[[A_regular, P], [P^T, p - w^2]]``: eliminating the additional coordinates gives A.  If their loads P vanish, or move no
    coordinate, they are modes by themselves.
    """

    def __init__(self, pencil: Pencil, poles: dict[int, _Pole], clamped: int):
        self.model, self.members, self.size = pencil.model, pencil.members, pencil.size
        self._k, self._m, self._counts = pencil._k, pencil._m, {}
        self._near, self._clamped = poles, clamped
        self._at = np.concatenate([np.full(p.load.shape[1], p.pole) for p in poles.values()])
        loads = np.zeros((self.size, len(self._at)))
        first = 0
        for k, p in poles.items():
            to, on = self.members.local[k]
            loads[on, first : first + p.load.shape[1]] = to.T @ p.load
            first += p.load.shape[1]
        self._loads = sp.csr_matrix(loads)

    def matrix(self, omega2: float) -> sp.csc_matrix:
        change = self.members.conservative(omega2, self._near)
        for k, p in self._near.items():
            change[k] = p.change(omega2)
        regular = self._k - omega2 * self._m + self.members.sparse(change)
        return sp.block_array([[regular, self._loads], [self._loads.T, sp.diags(self._at - omega2)]], format="csc")

    def inertia(self, omega2: float) -> sp.csr_matrix:
        inertia = self.members.inertia(omega2, self._near)
        for k, p in self._near.items():
            inertia[k] = p.inertia(omega2)
        regular = self._m + self.members.sparse(inertia)
        return sp.block_diag([regular, sp.identity(len(self._at))], format="csr")

    def terms(self, omega2: float) -> np.ndarray:
        return np.concatenate([super().terms(omega2), np.abs(self._at) + abs(omega2)])

    def poles(self, omega2: float) -> int:
        return self._clamped


def _across(pencil: Pencil, low: float, high: float) -> Pencil | None:
    """The pencil without the poles in an interval; None if a member has several there, or the next one is too close."""
    near = {}
    reach = max(high - low, 1e-6 * abs(high))
    for k, member in enumerate(pencil.model.members):
        rank = clamped_count(member, high) - clamped_count(member, low)
        if not rank:
            continue
        pole = _first_pole(member, low, high)
        around = [clamped_count(member, pole + x) for x in (-8 * reach, -_EXACT * pole, _EXACT * pole, 8 * reach)]
        if around[3] - around[0] != rank or around[2] - around[1] != rank:
            return None
        near[k] = _Pole(member, pole, reach, rank)
    return _AcrossPoles(pencil, near, pencil.clamped(low))


def _first_pole(member: DynamicMember, low: float, high: float) -> float:
    """The lowest clamped natural frequency of a member above ``low``, squared."""
    below = clamped_count(member, low)
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        if clamped_count(member, middle) > below:
            high = middle
        else:
            low = middle


class _Root(NamedTuple):
    """A mode: its w^2, its shape (n,) of unit mass and its momentum (n,)."""

    omega2: float
    shape: np.ndarray
    momentum: np.ndarray


def exact_modes(model: LinearModel, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool, str]:
    """The ``count`` lowest ``w^2`` (m,), starting with growing motions (negative ones), with shapes and momenta (n, m).

    Shapes have ``phi^T (-dA/dw^2) phi = 1``.  The momentum is ``-dA/dw^2 phi``; near a clamped natural frequency of a member it
    lacks the part of the clamped motion.  Motions inside members whose ends rest have the shape zero.  Also returned: whether
    the model has more modes, and how Ctrl-C ended the search, or "" (the lowest modes are found first).  Members that dissipate
    enter with the real part of their stiffness.

    Raises ModelError if the count shows modes that rounding hides.
    """
    pencil = Pencil(model)
    _refuse_massless_free(pencil)
    most = pencil.most()
    count = int(min(count, most))
    low, high = _outer_bounds(pencil, count)
    found, near = _at_zero(pencil, high)
    todo = [(pencil, near, high, 0), (pencil, low, -near, 0)] if found else [(pencil, low, high, 0)]
    stopped = ""
    try:
        with Task(model.name, FINDING_MODES, count, "modes") as task:
            while todo and len(found) < count:
                pencil, low, high, depth = todo.pop()
                if pencil.count(high) == pencil.count(low):
                    continue
                if pencil.count(high) < pencil.count(low):
                    raise _uncountable(pencil, low, high)
                roots, points, pencil = _inside(pencil, low, high, depth)
                found += roots
                # the lowest interval comes last and is processed next
                ends = [low, *points, high]
                todo += [(pencil, a, b, depth + 1) for a, b in zip(ends[-2::-1], ends[:0:-1], strict=True) if points]
                task.tell(len(found))
    except KeyboardInterrupt:
        stopped = f"interrupted with the {min(len(found), count)} lowest of {count} modes"
    found = sorted(found, key=lambda root: root.omega2)[:count]
    values = np.array([root.omega2 for root in found])
    shapes, momenta = (np.array([r[k] for r in found]).reshape(len(found), model.size).T for k in (1, 2))
    return values, shapes, momenta, most > count, stopped


def _at_zero(pencil: Pencil, high: float) -> tuple[list[_Root], float]:
    """Modes at exactly zero, and a ``w^2`` up to which there are no others (or modes are hidden).

    They consist of motions without stiffness.  Nothing defines a frequency that is rounding of zero, so halving towards zero, or
    Newton's method there, would never end.  Motions that a member resists at once are excluded.
    """
    z = pencil.model.zero_motions.toarray()
    near = _EXACT * high
    count = pencil.count(near) - pencil.count(-near)
    if not 0 < count <= z.shape[1] or pencil.clamped(near):
        return [], 0.0
    mass = pencil.inertia(near)
    held, turn = np.linalg.eigh(z.T @ (pencil.matrix(near) @ z))
    if np.count_nonzero(held < 0.0) != count:
        return [], 0.0
    z = z @ turn[:, :count]
    z = np.linalg.solve(np.linalg.cholesky(z.T @ (mass @ z)), z.T).T
    return [_Root(0.0, x, mass @ x) for x in z.T], near


def _uncountable(pencil: Pencil, low: float, high: float) -> ModelError:
    first, last = (np.copysign(np.sqrt(abs(x)), x) / (2 * np.pi) for x in (low, high))
    return ModelError(
        f"{pencil.model.name}: there are modes between {first:.6g} and {last:.6g} Hz by count ({pencil.count(low)} "
        f"below the first frequency, {pencil.count(high)} below the last), but rounding hides them; expected "
        "stiffness and mass above rounding in every motion; give light stiff parts a realistic mass, or connect them "
        "rigidly"
    )


def _refuse_massless_free(pencil: Pencil) -> None:
    """ModelError for coordinates without mass, stiffness and members at any frequency."""
    model = pencil.model
    rows = np.zeros(model.size)
    for omega2 in (0.7310585786, 3.1e6):
        a = pencil.matrix(omega2)
        rows += np.asarray(abs(a).sum(axis=1)).ravel()
    bare = [model.coordinates[i] for i in np.flatnonzero(rows == 0)]
    if bare:
        names = ", ".join(bare[:8]) + (" ..." if len(bare) > 8 else "")
        raise ModelError(
            f"{model.name}: {names} can move freely without mass or stiffness, so the motion is undefined; expected at least "
            "one of them; give the body inertia, or constrain it"
        )


def _outer_bounds(pencil: Pencil, count: int) -> tuple[float, float]:
    """Values of w^2 below which there is no mode, and below which there are at least ``count`` modes, or all of them."""
    high = 1.0
    while pencil.count(high) < count:
        high *= 4.0
        if high > FASTEST:
            raise _uncountable(pencil, 0.0, high)
    low = -1e-12 * high
    while pencil.count(low) > 0:
        low *= 16.0
        if low < -FASTEST:
            raise ModelError(
                f"{pencil.model.name}: {pencil.count(low)} motions without mass have negative stiffness, so they "
                "would grow at once; expected positive stiffness; give the bodies inertia, or stiffen what holds them"
            )
    return low, high


def _inside(pencil: Pencil, low: float, high: float, depth: int) -> tuple[list[_Root], list[float], Pencil]:
    """The modes in an interval that has some, or points that divide it, and the pencil to continue with."""
    count = pencil.count(high) - pencil.count(low)
    size = max(abs(low), abs(high))
    same = high - low <= _EXACT * size or depth > _MOST_HALVINGS
    if pencil.clamped(high) != pencil.clamped(low):
        across = _across(pencil, low, high) if high - low <= _NARROW * size and not same else None
        if across is not None and across.count(high) - across.count(low) == count:
            return _inside(across, low, high, depth)
        if not same:
            return [], [_middle(low, high)], pencil
        rest = np.zeros(pencil.size)
        return [_Root(0.5 * (low + high), rest, rest)] * count, [], pencil
    if same:
        return _last_resort(pencil, low, high, count), [], pencil
    if count <= _TOGETHER or high - low <= _NARROW * size:
        roots, gap = _refined(pencil, low, high, count)
        if roots or gap is not None:
            return roots, [] if roots else [gap], pencil
    return [], [_middle(low, high)], pencil


def _middle(low: float, high: float) -> float:
    """A point that halves an interval, in orders of magnitude first."""
    if low < 0.0 < high:
        return high / 16.0 if high >= -low else low / 16.0
    small, large = sorted((abs(low), abs(high)))
    return (
        float(np.copysign(np.sqrt(small * large), low + high))
        if small > 0 and large > 4 * small
        else 0.5 * (low + high)
    )


def _refined(pencil: Pencil, low: float, high: float, count: int) -> tuple[list[_Root], float | None]:
    """All modes of an interval without poles by Newton's method; or a point where to divide it; or neither."""
    at = _middle(low, high)
    last = np.inf
    for _ in range(_NEWTON_STEPS):
        distance, shapes, rounding = pencil.nearest(at, count)
        value = at + distance
        slack = _EXACT * abs(at) + rounding
        if len(value) < count or value.min() < low - slack or value.max() > high + slack:
            return [], None
        error = np.abs(distance).max()
        if error <= slack:
            return _roots(pencil, at, _disentangled(shapes)), None
        if error > 0.5 * last:  # several separate roots around their mean
            break
        at, last = float(value.mean()), error
    if count == 1:
        return [], None
    value = np.sort(value)
    widest = int(np.argmax(np.diff(value)))
    gap = 0.5 * float(value[widest] + value[widest + 1])
    return [], gap if low < gap < high else None


def _roots(pencil: Pencil, at: float, shapes: np.ndarray) -> list[_Root]:
    """Modes from shapes (n, m) of unit mass, by Rayleigh quotients of the pencil (A, -A')."""
    values = at + np.einsum("ij,ij->j", shapes, pencil.matrix(at) @ shapes)
    momenta = pencil.inertia(at) @ shapes
    n = pencil.size
    # if only the inside of a member moves, the motion of its ends is rounding
    moves = np.einsum("ij,ij->j", shapes[:n], momenta[:n]) > _AT_REST
    return [_Root(float(x), moves[k] * shapes[:n, k], moves[k] * momenta[:n, k]) for k, x in enumerate(values)]


def _disentangled(shapes: np.ndarray) -> np.ndarray:
    """Shapes (n, m) of one frequency, combined so that each is zero where the shapes before it move most."""
    if shapes.shape[1] == 1:
        return shapes
    size = np.abs(shapes).max(axis=1, keepdims=True)
    turn, _, _ = sl.qr((shapes / np.where(size > 0, size, 1.0) * (size > 1e-6 * size.max())).T, pivoting=True)
    return shapes @ turn


def _last_resort(pencil: Pencil, low: float, high: float, count: int) -> list[_Root]:
    """Modes that the count has enclosed in a vanishing interval in which Newton's method did not converge."""
    at = 0.5 * (low + high)
    distance, shapes, rounding = pencil.nearest(at, count)
    if len(distance) < count or np.abs(distance).max() > APART * abs(at) + UNPIVOTED * rounding:
        raise _uncountable(pencil, low, high)
    return [root._replace(omega2=at) for root in _roots(pencil, at, shapes)]
