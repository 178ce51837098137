"""Zero-stiffness and unstable motions at a working point, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..display import Column, Shown, Table, without_rounding
from ..elements.coordinates import coordinates_table, flowing
from ..numerics.curvatures import Curvatures, classify
from ..numerics.factor import Factors
from ..numerics.null_motions import alone, within
from ..numerics.read_only import Matrix, ReadOnly, read_only_property
from ..numerics.sparse_tools import scaled_both
from ..numerics.tangent import Tangent

# Of the largest part of a motion: smaller parts are left out (with a hundredth and a hundred times
# tests/statics/test_stability.py passes).
_TRACE = 1e-9
_SHOWN = 12  # motions that are named one by one if there are many


@dataclass(frozen=True, eq=False)
class Motion(Shown, ReadOnly):
    """A named direction in coordinate space.

    Attributes
    ----------
    name : str
        Coordinates that move most.
    indices, values : ndarray, (k,)
        Entries that are not zero, the largest of them 1.
    size : int
        Number n of coordinates.
    stiffness : float, N/m
        Curvature of the energy along it, in scaled coordinates.
    rounding : float, N/m
        By how much rounding may have changed it.
    coordinates : tuple of str, (k,)
        Names of the coordinates that move.
    """

    name: str
    indices: np.ndarray
    values: np.ndarray
    size: int
    stiffness: float
    rounding: float
    coordinates: tuple[str, ...]

    @classmethod
    def of(
        cls, name: str, vector: np.ndarray, stiffness: float, coordinates: Sequence[str], rounding: float = 0.0
    ) -> Motion:
        """A motion along a vector.

        Parameters
        ----------
        name : str
            Its name.
        vector : ndarray, (n,)
            Direction of any length.
        stiffness : float, N/m
            Curvature of the energy along it.
        coordinates : sequence of str, (n,)
            Names of all coordinates.
        rounding : float, N/m
            By how much rounding may have changed it.

        Returns
        -------
        Motion
            The motion.
        """
        indices = np.flatnonzero(vector)
        largest = vector[np.argmax(np.abs(vector))]
        moved = tuple(coordinates[i] for i in indices)
        return cls(name, indices, vector[indices] / largest, len(vector), stiffness, rounding, moved)

    @property
    def vector(self) -> np.ndarray:
        """The direction (n,), its largest entry 1."""
        v = np.zeros(self.size, dtype=self.values.dtype)
        v[self.indices] = self.values
        return v

    @property
    def told(self) -> str:
        """The numbers that show of which kind it is."""
        if not self.stiffness:
            return "without stiffness"
        return f"stiffness {self.stiffness:.4g} N/m in scaled coordinates, of which rounding is {self.rounding:.1e} N/m"

    @property
    def doubt(self) -> str:
        """The same in brief, for a motion that is not determined."""
        return f"{self.stiffness:.1e} N/m, rounding {self.rounding:.1e}"

    def table(self) -> Table:
        order = np.argsort(-np.abs(self.values), kind="stable")
        names, values = [self.coordinates[i] for i in order], without_rounding(self.values[order])
        moved = Column("displacement or angle, largest 1", digits=6)
        return coordinates_table(f"Motion {self.name}: {self.told}", names, {moved: values.tolist()}, most=12)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


@dataclass(frozen=True, eq=False, repr=False)
class GrowingMotion(Motion):
    """A motion that grows as ``exp(s t)`` under forces without an energy: flutter, or a divergence if s is real.

    Attributes
    ----------
    eigenvalue : complex, 1/s
        s, with non-negative imaginary part.
    uncertainty : float, 1/s
        By how much rounding may have changed it; NaN if not known.
    """

    eigenvalue: complex
    uncertainty: float

    @property
    def growth(self) -> float:
        """Rate of growth (1/s), the real part of s."""
        return self.eigenvalue.real

    @property
    def frequency_hz(self) -> float:
        """Frequency (Hz) of its oscillation while it grows; 0 for a divergence."""
        return self.eigenvalue.imag / (2 * np.pi)

    @property
    def told(self) -> str:
        """How fast it grows, and at which frequency."""
        swinging = f" at {self.frequency_hz:.6g} Hz" if self.eigenvalue.imag else ""
        return f"grows by {self.growth:.6g} 1/s{swinging}"

    @property
    def doubt(self) -> str:
        """The same in brief, for a motion that is not determined."""
        return f"growth {self.growth:.1e} 1/s at {self.frequency_hz:.6g} Hz, rounding {self.uncertainty:.1e} 1/s"


@dataclass(frozen=True, eq=False, repr=False)
class Motions(ReadOnly, Sequence[Motion]):
    """Zero-stiffness motions as a sequence; each motion is made, and named, when it is read.

    So thousands of bodies that spin freely take only the memory of their six coordinates each.

    Attributes
    ----------
    null : scipy.sparse.csc_matrix, (n, m)
        Their orthonormal basis in scaled coordinates.
    local : int
        How many of them move one body each; these come first.
    names : tuple of str, (n,)
        Names of the coordinates.
    scale : ndarray, (n,), m
        Displacement that one unit of each coordinate stands for.
    noise : ndarray, (n,), N/m
        By how much rounding may have changed the stiffness of each scaled coordinate.
    """

    null: sp.csc_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    local: int
    names: tuple[str, ...]
    scale: np.ndarray
    noise: np.ndarray

    @read_only_property
    def vectors(self) -> sp.csc_matrix:
        """All motions as columns (n, m), single coordinates where possible; the largest entry of each is 1."""
        null, local = self.null, self.local
        columns = null
        if local < null.shape[1]:
            columns = sp.hstack([null[:, :local], _readable_apart(null[:, local:])], format="csc")
        values = columns.data / self.scale[columns.indices]
        out = sp.csc_matrix((values, columns.indices.copy(), columns.indptr.copy()), shape=columns.shape)
        out.eliminate_zeros()
        out.sort_indices()
        first, count = out.indptr[:-1], np.diff(out.indptr)
        largest = np.maximum.reduceat(np.abs(out.data), first) if out.nnz else np.zeros(0)
        # the first entry of the largest size in each column
        at = np.flatnonzero(np.abs(out.data) == np.repeat(largest, count))
        at = at[np.searchsorted(at, first)]
        out.data = out.data / np.repeat(out.data[at], count)
        return out

    @cached_property
    def _read(self) -> dict[int, Motion]:
        """Motions that have been read, by number: reading one again gives the same object."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("vectors", "_read")}

    @overload
    def __getitem__(self, key: int) -> Motion: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Motion, ...]: ...
    def __getitem__(self, key):
        """One motion for a number, a tuple of motions for a slice."""
        numbers = range(len(self))[key]
        return self._motion(numbers) if isinstance(numbers, int) else tuple(map(self._motion, numbers))

    def _motion(self, number: int) -> Motion:
        if number not in self._read:
            vectors = self.vectors
            at = slice(*vectors.indptr[number : number + 2])
            indices, values = vectors.indices[at], vectors.data[at]
            size = values * self.scale[indices]
            rounding = float(self.noise[indices] @ size**2 / (size @ size))
            name = in_words(indices, size, self.names)
            moved = tuple(self.names[i] for i in indices)
            self._read[number] = Motion(name, indices, values, len(self.scale), 0.0, rounding, moved)
        return self._read[number]

    def __len__(self) -> int:
        return self.null.shape[1]

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Sequence) and len(self) == len(other)
        return same and all(a is b for a, b in zip(self, other, strict=True))

    __hash__ = None

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self[:_SHOWN]))}{',' * (len(self) == 1)}{_and_more(self, _SHOWN)})"

    def named(self, most: int = _SHOWN) -> str:
        """The names of the first motions, and how many more there are.

        Parameters
        ----------
        most : int
            How many are named.

        Returns
        -------
        str
            Such as ``a.ax, a.ay ... and 29,998 more``.
        """
        return ", ".join(motion.name for motion in self[:most]) + _and_more(self, most)


def _and_more(motions: Sequence, most: int) -> str:
    return f" ... and {len(motions) - most:,} more" if len(motions) > most else ""


@dataclass(frozen=True, eq=False)
class Stability:
    """Motions without a clearly positive stiffness in scaled coordinates, named on request, and its ``noise`` (n,)."""

    curvatures: Curvatures
    names: tuple[str, ...]
    scale: np.ndarray
    noise: np.ndarray

    @property
    def null(self) -> sp.csc_matrix:
        """An orthonormal basis (n, m) of zero-stiffness motions; the first ones move one body each."""
        return self.curvatures.null

    @property
    def negative_motions(self) -> np.ndarray:
        """Orthonormal motions (n, k) of negative curvature."""
        return self.curvatures.negative

    @cached_property
    def _by_kind(self) -> tuple[Motions, Motions]:
        """Flows that store nothing, and free motions: all other motions without stiffness."""
        null, local, flows = self.null, self.curvatures.local, self.null[:, :0]
        if null.shape[1] and (inside := flowing(self.names)).any():
            flows, null, local = within(null, local, inside)
        return tuple(
            Motions(which, of_one, self.names, self.scale, self.noise) for which, of_one in ((flows, 0), (null, local))
        )

    @property
    def flows(self) -> Motions:
        return self._by_kind[0]

    @property
    def free(self) -> Motions:
        return self._by_kind[1]

    @cached_property
    def unstable(self) -> tuple[Motion, ...]:
        return self._named(self.curvatures.negative, self.curvatures.below_zero)

    @cached_property
    def undetermined(self) -> tuple[Motion, ...]:
        return self._named(self.curvatures.undetermined, self.curvatures.within_noise)

    def _named(self, vectors: np.ndarray, stiffness: np.ndarray) -> tuple[Motion, ...]:
        return tuple(self._motion(v, float(w)) for v, w in zip(vectors.T, stiffness, strict=True))

    def _motion(self, vector: np.ndarray, stiffness: float = 0.0) -> Motion:
        x = vector / self.scale
        rounding = float(self.noise @ vector**2)
        return Motion.of(describe(x, self.names, self.scale), x, stiffness, self.names, rounding)


class Growth(NamedTuple):
    """Growing, undetermined and free motions, by eigenvalues.

    ``reason`` says why they are not known, ``beyond`` what is known of motions that were not computed one by one; or "".
    """

    unstable: tuple[Motion, ...]
    undetermined: tuple[Motion, ...]
    free: Motions
    reason: str = ""
    beyond: str = ""


class Coordinates(NamedTuple):
    """Names of coordinates, meters (n,) for one unit of each, and the number of bodies, whose six coordinates each come first."""

    names: tuple[str, ...]
    scale: np.ndarray
    bodies: int


def analyze(
    k: sp.csc_matrix,
    coordinates: Coordinates,
    noise: np.ndarray,
    allowed: Tangent | None = None,
    factors: Factors | None = None,
) -> Stability:
    """Free and unstable motions of stiffness k (n, n) in some coordinates.

    ``noise`` (n,) is the rounding of k in scaled coordinates; ``allowed`` are the motions that constraints leave; ``factors`` fit
    this pattern.
    """
    names, scale, bodies = coordinates
    scaled = scaled_both(k.tocsc(), 1.0 / scale)
    return Stability(classify(scaled, noise, bodies, allowed, factors), names, scale, noise)


def readable(null: np.ndarray) -> list[np.ndarray]:
    """A readable basis of a null space (n, m): single coordinates where the space contains them, then the rest."""
    return list(_readable(null)[0].T)


def _readable(null: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same in columns (n, m), and the leading size (m,) of each, in descending order: infinite for single coordinates."""
    n, count = null.shape
    single = np.flatnonzero(alone(np.einsum("ij,ij->i", null, null)))
    vectors = [np.eye(1, n, i)[0] for i in single]
    rest = null.copy()
    rest[single] = 0.0
    basis = np.linalg.svd(rest, full_matrices=False)[0][:, : count - len(single)]
    # each vector has a leading coordinate of its own, which no later vector moves
    leads, order = sl.qr(basis.T, mode="r", pivoting=True)
    for lead in leads:
        x = np.zeros(n)
        x[order] = lead
        vectors.append(without_traces(x))
    size = np.append(np.full(len(single), np.inf), np.abs(np.diagonal(leads)))
    return np.column_stack(vectors) if vectors else np.zeros((n, 0)), size


def _readable_apart(null: sp.csc_matrix) -> sp.csc_matrix:
    """The same of sparse columns (n, m), in the same order; only columns with common coordinates are combined."""
    n, count = null.shape
    moved = null.tocsr()
    pattern = sp.csr_matrix((np.ones(moved.nnz), moved.indices, moved.indptr), shape=null.shape)
    _, label = connected_components(sp.bmat([[None, pattern], [pattern.T, None]], format="csr"), directed=False)
    rows, columns = (np.argsort(part, kind="stable") for part in (label[:n], label[n:]))
    numbers, first = np.unique(label[n:][columns], return_index=True)
    begin, end = (np.searchsorted(label[:n][rows], numbers, side=side) for side in ("left", "right"))
    null, blocks = null.tocsc(), []
    for a, b, own in zip(begin, end, np.split(columns, first[1:]), strict=True):
        x, size = _readable(moved[rows[a:b]][:, own].toarray() if len(own) < count else null[rows[a:b]].toarray())
        at, k = np.nonzero(x.T)[::-1]
        blocks.append((x[at, k], rows[a:b][at], np.bincount(k, minlength=x.shape[1]), size))
    values, at, lengths, sizes = (np.concatenate(each) for each in zip(*blocks, strict=True))
    out = sp.csc_matrix((values, at, np.append(0, np.cumsum(lengths))), shape=null.shape)
    single = np.isinf(sizes)
    leading = np.where(single, out.indices[out.indptr[:-1]], 0)
    # vectors of equal size (up to rounding) in the order of their coordinates
    return out[:, np.lexsort((leading, -np.where(single, 2.0, np.round(sizes, 9))))]


def without_traces(x: np.ndarray) -> np.ndarray:
    """A motion (n,) without parts that are tiny compared with the largest one, and may be rounding."""
    return np.where(np.abs(x) < _TRACE * np.abs(x).max(initial=0.0), 0.0, x)


def describe(x: np.ndarray, names: tuple[str, ...], scale: np.ndarray, most: int = 4) -> str:
    """A motion in words: its largest coordinates with their signed shares, ``mass.ax``, ``0.71 a.x - 0.71 b.x``."""
    at = np.flatnonzero(x)
    return in_words(at, x[at] * scale[at], names, most)


def in_words(at: np.ndarray, shares: np.ndarray, names: tuple[str, ...], most: int = 4) -> str:
    """The same for the entries (k,) that are not zero, in meters, at the coordinates ``at`` (k,)."""
    y = shares / np.linalg.norm(shares)
    order = np.argsort(-np.abs(y), kind="stable")
    clear = np.abs(y[order]) > 0.05
    order = order[clear] if clear.any() else order[: most + 1]  # many small shares
    if len(order) == 1:
        return names[at[order[0]]]
    sign = 1.0 if y[order[0]] > 0 else -1.0
    words = ""
    for i in order[:most]:
        value = sign * y[i]
        words += (f" {'+' if value > 0 else '-'} " if words else "") + f"{abs(value):.2f} {names[at[i]]}"
    return words + (" ..." if len(order) > most else "")
