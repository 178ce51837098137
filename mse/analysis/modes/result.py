"""Modes as results: a single mode, and all modes of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from ...declared import array, entry, labeled, names, naming, scalar
from ...display import Column, Table, amounts, kind_of, scales, without_rounding
from ...elements.coordinates import coordinates_field, coordinates_table, unit_of
from ...errors import ModelError
from ...numerics.precision import NOTHING
from ...numerics.read_only import Matrix, ReadOnly, read_only_property
from ...numerics.sparse_tools import no_columns
from ...results import Result
from ...validation.arguments import ByName, find, shown, whole
from ..resources import refuse_beyond_memory
from .strain_energies import Kept, StrainEnergies

_LISTED = 12  # free motions listed one by one in tables; if there are more, only the first few are named


def growing(eigenvalues: np.ndarray) -> np.ndarray:
    """Which motions with eigenvalues s (m,), in 1/s, grow: their real part is above rounding."""
    return eigenvalues.real > NOTHING * np.abs(eigenvalues)


def hidden_growth(eigenvalues: np.ndarray, moved: np.ndarray, met: np.ndarray) -> np.ndarray:
    """For which motions rounding hides whether they grow (m,), if it may have ``moved`` their eigenvalues (m,).

    If several have ``met`` (m,), as at the onset of flutter, rounding decides whether they split into a growing and a decaying
    one.
    """
    parting = met & (eigenvalues.real > -moved) & (moved > NOTHING * np.abs(eigenvalues))
    return (growing(eigenvalues) & (eigenvalues.real <= moved)) | parting


def _damping_ratios(s: np.ndarray) -> np.ndarray:
    size = np.abs(s)
    return np.divide(-s.real, size, out=np.zeros(len(size)), where=size > 0) + 0.0


def _decay_times(s: np.ndarray) -> np.ndarray:
    fading = s.real < 0.0
    return np.divide(-1.0, s.real, out=np.full(len(s), np.inf), where=fading)


def _loss_factors(s: np.ndarray, lossy: bool) -> np.ndarray:
    """1/Q of modes s (m,); for a stiffness ``k (1 + i eta)`` it is eta to the last digit."""
    w2, out = -(s**2), 2.0 * _damping_ratios(s)
    return np.divide(w2.imag, w2.real, out=out, where=w2.real > 0.0) + 0.0 if lossy else out


class Mode(Result):
    """One mode of a model: ``modes[k]``, or each in turn of ``for mode in modes``.

    Attributes
    ----------
    name : str
        Name of the model.
    number : int
        Place among the modes in ascending order of frequency, from 0.
    coordinates, owners : tuple of str, (n,)
        Names of the coordinates, and the object that each belongs to.
    eigenvalue : complex, rad/s
        s of ``exp(s t)``, with non-negative imaginary part.
    vector : ndarray, (n,)
        Mode shape in the order of ``coordinates``, with ``phi^H M phi = 1``; complex for damped modes.
    energies : ndarray, (n,)
        Share of each coordinate in the kinetic energy.
    damped : bool
        Whether the damping of the model was taken into account.
    undetermined : bool
        Whether rounding hides the sign of its stiffness, or of its growth.
    lossy : bool
        Whether loss factors were taken into account, and damping with them.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices(np.eye(2), None, np.diag([1.0, 4.0]), coordinates=["left.x", "right.x"])
    >>> for mode in model.modes():
    ...     print(f"{2 * np.pi * mode.frequency_hz:.6f} rad/s: {mode.participants()}")
    1.000000 rad/s: left.x 100 %
    2.000000 rad/s: right.x 100 %
    """

    name: str
    number: int
    coordinates: tuple[str, ...]
    owners: tuple[str, ...]
    eigenvalue: complex
    vector: np.ndarray
    energies: np.ndarray
    damped: bool
    undetermined: bool = False
    lossy: bool = False
    _strain: StrainEnergies = field(default_factory=lambda: StrainEnergies(()))

    @property
    def frequency_hz(self) -> float:
        """Natural frequency ``|s|/(2 pi)`` in Hz; 0 for a motion without stiffness."""
        return abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damping_ratio(self) -> float:
        """``-Re s/|s|``: 0 undamped, 1 overdamped, negative for a motion that grows."""
        return float(_damping_ratios(np.array([self.eigenvalue]))[0])

    @property
    def quality(self) -> float:
        """Quality factor ``1/loss_factor``; infinite where undamped."""
        return 1.0 / self.loss_factor if self.loss_factor else np.inf

    @property
    def loss_factor(self) -> float:
        """Loss factor 1/Q: twice the damping ratio, or with loss factors ``Im w^2 / Re w^2``, w = -i s."""
        return float(_loss_factors(np.array([self.eigenvalue]), self.lossy)[0])

    @property
    def decay_time(self) -> float:
        """Time ``-1/Re s`` in s in which its amplitude falls to 1/e; infinite if it does not fade."""
        return float(_decay_times(np.array([self.eigenvalue]))[0])

    @property
    def strain_energies(self) -> dict[tuple[str, str], float]:
        """Share of each (object, mechanism) in its potential energy, largest first, as :attr:`.Modes.strain_energies`."""
        return self._strain.of_mode(self.number)

    @property
    def free(self) -> bool:
        """Whether it is a zero-stiffness motion, at exactly zero frequency."""
        return bool(self.eigenvalue == 0)

    @property
    def unstable(self) -> bool:
        """Whether it grows; False where that is not determined."""
        return bool(growing(self.eigenvalue)) and not self.undetermined

    @property
    def shape(self) -> dict[str, float | complex]:
        """Mode shape by coordinate name, largest entry first."""
        order = np.argsort(-np.abs(self.vector), kind="stable")
        values = {self.coordinates[i]: value for i, value in zip(order, self.vector[order].tolist(), strict=True)}
        return ByName(self.name, "coordinate", values)

    @property
    def participation(self) -> dict[str, float]:
        """Share of each object in the kinetic energy, largest first; shares add up to 1."""
        return _largest_first(self.owners, self.energies)

    def participants(self, max_count: int = 3) -> str:
        """The largest participations, as shares of kinetic energy: ``mass.x 98 %, mass.ay 2 %``.

        Parameters
        ----------
        max_count : int
            How many of them at most; shares below half a percent are left out.

        Returns
        -------
        str
            Object and coordinate with the share, largest first.
        """
        max_count = whole(self.name, "max_count", max_count)
        names = [f"{o}.{c.rsplit('.', 1)[-1]}" for o, c in zip(self.owners, self.coordinates, strict=True)]
        shares = list(_largest_first(names, self.energies).items())[:max_count]
        return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares if share >= 0.005)

    def strained(self) -> str:
        """The largest shares in its potential energy, by object and mechanism: ``wire axial 96 %, gravity 4 %``.

        Returns
        -------
        str
            Up to three of them; empty for a free motion.
        """
        return self._strain.told(self.number)

    def table(self) -> Table:
        state = "; UNSTABLE" if self.unstable else ""
        ratio = _ratio(self)
        lossy = f"Q {self.quality:.6g}, loss {self.loss_factor:.4g}, decay {self.decay_time:.4g} s"
        told = ratio if isinstance(ratio, str) else lossy if self.lossy else f"damping ratio {ratio:.4g}"
        head = f"{self.name}: {_kind(self)} mode {self.number}, {self.frequency_hz:.8g} Hz, {told}{state}"
        order = np.argsort(-np.abs(self.vector), kind="stable")
        names, values = [self.coordinates[i] for i in order], self.vector[order]
        values = without_rounding(values, scales(np.abs(values), [kind_of(name) for name in names]))
        shares = without_rounding(self.energies[order], 1.0).tolist()
        columns = {Column("shape", digits=6): values.tolist(), Column("participation", digits=4): shares}
        strained = self.strained()
        notes = [f"strain energy: {strained}"] if strained else []
        return coordinates_table(head, names, columns, most=12, notes=notes)


def _ratio(mode: Mode) -> float | str:
    """Damping ratio of a mode for tables: a word if it has no frequency, 0 if it is rounding."""
    if mode.undetermined:
        return "not determined"
    return "free" if mode.free else float(without_rounding(mode.damping_ratio, 1.0))


def _dissipation(mode: Mode) -> tuple[float | str, ...]:
    """What tables show of how a mode decays: the damping ratio, or with loss factors Q, the loss factor and the decay time."""
    ratio = _ratio(mode)
    if not mode.lossy:
        return (ratio,)
    return (ratio, "", "") if isinstance(ratio, str) else (mode.quality, mode.loss_factor, mode.decay_time)


def _kind(modes: Mode | Modes) -> str:
    return "lossy" if modes.lossy else "damped" if modes.damped else "undamped"


def _largest_first(names: tuple[str, ...] | list[str], energies: np.ndarray) -> dict[str, float]:
    shares = dict.fromkeys(names, 0.0)
    for name, share in zip(names, energies.tolist(), strict=True):
        shares[name] += share
    return {name: shares[name] for name in sorted(shares, key=lambda name: -shares[name])}


@dataclass(frozen=True, eq=False)
class Columns(ReadOnly):
    """Columns of a matrix (n, m): the ``first`` of them sparse, such as motions of single bodies, the ``others`` dense."""

    first: sp.csc_matrix = Matrix()  # noqa: RUF009 - a descriptor, not a value
    others: np.ndarray

    @classmethod
    def dense(cls, columns: np.ndarray) -> Columns:
        """Columns of a matrix (n, m), none of them sparse."""
        return cls(no_columns(len(columns)), columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.whole("modes")

    def __getitem__(self, k: int) -> np.ndarray:
        """Column k (n,)."""
        beyond = k - self.first.shape[1]
        return self.first[:, [k]].toarray().ravel() if beyond < 0 else self.others[:, beyond]

    def row(self, i: int) -> np.ndarray:
        """Row i (m,)."""
        return np.concatenate([self.first[[i]].toarray().ravel(), self.others[i]])

    def whole(self, name: str) -> np.ndarray:
        """The whole matrix (n, m); ModelError if it does not fit into memory."""
        if not self.first.shape[1]:
            return self.others
        n, m = len(self.others), self.first.shape[1] + self.others.shape[1]
        refuse_beyond_memory(
            name, float(self.others.itemsize) * n * m,
            f"the shapes of {m} modes of {n} coordinates need {{}} as one matrix",
            "read them one by one: modes[k].vector",
        )  # fmt: skip
        return np.hstack([self.first.toarray(), self.others])


class Modes(Result):
    """Modes of a model in ascending order of natural frequency, free motions first; made by :meth:`.LinearModel.modes`.

    ``modes[k]`` is one :class:`Mode`, ``modes[2:5]`` are several, ``for mode in modes`` gives one after another,
    ``modes["mass.x"]`` is the row of a coordinate in ``shapes``.  Overdamped and free motions are two modes each when damped.

    Attributes
    ----------
    name : str
        Name of the model.
    coordinates, owners : tuple of str, (n,)
        Names of the coordinates, and the object that each belongs to.
    eigenvalues : ndarray, (m,), rad/s
        s of ``exp(s t)``, with non-negative imaginary part: one of each conjugate pair.
    damped : bool
        Whether the damping of the model was taken into account.
    complete : bool
        Whether these are all modes of the model; where it has more, these are the lowest.  Modes with loss are then those that
        are lowest without it: a dynamic stiffness may move others below them.
    notes : tuple of str
        How to get more modes, and what was left out.
    uncertainties_hz : ndarray, (m,), Hz
        By how much rounding of the stiffness may have changed each frequency, at most; of damped modes, by how much that and the
        search may have moved ``eigenvalue/(2 pi)``.  Where a dynamic stiffness is known at real frequencies alone, as tables are,
        what that leaves open of the eigenvalue is added.
    undetermined : ndarray of bool, (m,)
        Which modes have so little stiffness that rounding may have made it, and with it its sign, or so little growth; neither
        free nor unstable.
    lossy : bool
        Whether loss factors were taken into account, and damping with them.
    strain_energies : StrainEnergies
        Share of each (object, mechanism) in the potential energy of each mode, (object, mechanism) -> (m,).

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 2.0]], coordinates=["left.x", "right.x"])
    >>> modes = model.modes()
    >>> 2 * np.pi * modes.frequencies_hz
    array([1.        , 1.73205081])
    >>> np.abs(modes["left.x"])
    array([0.70710678, 0.70710678])
    >>> {name: round(share, 9) for name, share in sorted(modes[1].participation.items())}
    {'left': 0.5, 'right': 0.5}
    """

    name: str
    coordinates: tuple[str, ...] = coordinates_field()
    owners: tuple[str, ...] = names("coordinate", "owner")
    eigenvalues: np.ndarray = array("mode", "c", unit="rad/s", label="eigenvalue")
    _shapes: Columns = array("coordinate mode", "fc", key="shapes", make=Columns.dense)
    _energies: Columns = array("coordinate mode", key="energies", make=Columns.dense)
    damped: bool = scalar(bool)
    complete: bool = scalar(bool, default=True)
    notes: tuple[str, ...] = names("*", default=())
    uncertainties_hz: np.ndarray = array("*", default=np.zeros(0), finite=False)
    undetermined: np.ndarray = entry(
        "numbered", "*", options={"count": 2}, make=np.bool_, default_factory=lambda: np.zeros(0, dtype=bool)
    )
    lossy: bool = scalar(bool, default=False)
    strain_energies: StrainEnergies = entry(Kept(), default_factory=lambda: StrainEnergies(()))

    @property
    @naming("coordinate", "unit")
    def _units(self) -> list[str]:
        return [unit_of(name) for name in self.coordinates]

    @read_only_property
    @labeled("coordinate mode", unit="kg**-0.5 times that of the coordinate", label="shape")
    def shapes(self) -> np.ndarray:
        """Mode shapes in columns (n, m), rows in the order of ``coordinates``.

        Real with ``phi^T M phi = 1`` for undamped modes, complex with ``phi^H M phi = 1`` for damped ones.
        """
        return self._shapes.whole(self.name)

    @read_only_property
    @labeled("coordinate mode", unit="1", label="energy")
    def energies(self) -> np.ndarray:
        """Share of each coordinate in the kinetic energy of each mode (n, m); columns add up to 1."""
        return self._energies.whole(self.name)

    @property
    @labeled("mode", unit="Hz", label="frequency")
    def frequencies_hz(self) -> np.ndarray:
        """Natural frequencies ``|s|/(2 pi)`` in Hz (m,); 0 for free motions."""
        return np.abs(self.eigenvalues) / (2 * np.pi)

    @property
    @labeled("mode", unit="1", label="damping_ratio")
    def damping_ratios(self) -> np.ndarray:
        """Damping ratios ``-Re s/|s|`` (m,): 0 undamped, 1 overdamped, negative for motions that grow."""
        return _damping_ratios(self.eigenvalues)

    @property
    def quality(self) -> np.ndarray:
        """Quality factors ``1/loss_factor`` (m,); infinite where undamped."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.loss_factors

    @property
    @labeled("mode", unit="1", label="loss_factor")
    def loss_factors(self) -> np.ndarray:
        """Loss factors 1/Q (m,): twice the damping ratios, or with loss factors ``Im w^2 / Re w^2``, w = -i s."""
        return _loss_factors(self.eigenvalues, self.lossy)

    @property
    @labeled("mode", unit="s", label="decay_time")
    def decay_times(self) -> np.ndarray:
        """Times ``-1/Re s`` in s (m,) in which amplitudes fall to 1/e; infinite for motions that do not fade."""
        return _decay_times(self.eigenvalues)

    @property
    def free(self) -> np.ndarray:
        """Which modes are zero-stiffness motions, at exactly zero frequency (m,)."""
        return self.eigenvalues == 0

    @property
    def unstable(self) -> np.ndarray:
        """Which modes grow (m,); those of which that is not determined do not count."""
        return growing(self.eigenvalues) & ~self.undetermined

    @property
    @naming("object", "object")
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that the coordinates belong to; all nodes of a beam are that beam."""
        return tuple(dict.fromkeys(self.owners))

    @property
    def participation(self) -> Mapping[str, np.ndarray]:
        """Share of each object in the kinetic energy of each mode, object -> (m,); shares of one mode add up to 1."""
        return dict(zip(self.objects, self._participation, strict=True))

    @property
    @labeled("object mode", unit="1", label="participation", columns="participation of {object}")
    def _participation(self) -> np.ndarray:
        owner = {name: k for k, name in enumerate(self.objects)}
        index = np.array([owner[name] for name in self.owners], dtype=int)
        out = np.zeros((len(owner), self.energies.shape[1]))
        np.add.at(out, index, self.energies)
        return out

    @overload
    def __getitem__(self, key: int) -> Mode: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Mode, ...]: ...
    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...
    def __getitem__(self, key):
        """One mode for its number, from 0, several for a slice; the row of the shapes (m,) for a coordinate's name."""
        if isinstance(key, str):
            return self._shapes.row(self.coordinates.index(find(self.name, "coordinate", key, self.coordinates)))
        if isinstance(key, slice):
            return tuple(self[k] for k in range(len(self))[key])
        if not len(self):
            raise ModelError(f"{self.name}: mode is {shown(key)}; expected a model that has modes; this one has none")
        remedy = "a coordinate's name gives its row of the shapes"
        k = whole(self.name, "mode", key, minimum=-len(self), maximum=len(self) - 1, remedy=remedy) % len(self)
        return Mode(
            self.name, k, self.coordinates, self.owners, complex(self.eigenvalues[k]), self._shapes[k],
            self._energies[k], self.damped, bool(self.undetermined[k]), self.lossy, self.strain_energies,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Mode]:
        """The modes in ascending order of frequency."""
        return (self[k] for k in range(len(self)))

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.coordinates)

    def table(self) -> Table:
        free = int(np.count_nonzero(self.free))  # the free ones come first
        first = free if free > _LISTED else 0
        strained = self.lossy and len(self.strain_energies) > 0
        rows = [
            (
                m.number,
                m.frequency_hz,
                *_dissipation(m),
                m.participants() + ("  UNSTABLE" if m.unstable else ""),
                *((m.strained(),) if strained else ()),
            )
            for m in (self[k] for k in range(first, len(self)))
        ]
        if first:
            some = ", ".join(self[k].participants(1) for k in range(3))
            none = ("free", "", "") if self.lossy else ("free",)
            rows.insert(0, (f"0 to {free - 1}", 0.0, *none, f"{some} ... and {free - 3:,} more", *("",) * strained))
        more = "" if self.complete else f", the lowest{' without loss,' if self.lossy else ''} of more"
        title = f"{self.name}: {amounts(**{f'{_kind(self)} mode': len(self)})}{more}"
        of_loss = (
            (Column("Q", digits=6), Column("loss", digits=4), Column("decay", "s", 4))
            if self.lossy
            else (Column("damping ratio", digits=4),)
        )
        columns = (
            Column("mode", digits=1), Column("frequency", "Hz", 8), *of_loss, "participation",
            *(("strain energy",) if strained else ()),
        )  # fmt: skip
        return Table(title, columns, rows, notes=[f"note: {note}" for note in self.notes])
