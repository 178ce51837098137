"""Where the energy of modes is: shares of each object and mechanism in the potential energy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...display import Column, Shown, Table, amounts
from ...errors import UnknownNameError
from ...linear.linear_model import LinearModel
from ...numerics.options import SIZES
from ...numerics.read_only import read_only
from ...saved import Reader, Record
from ...validation.arguments import find, shown

Label = tuple[str, str]

# The loss factor with which the stiffness of an exact member is evaluated: divided by it, the imaginary part is the slope at
# zero loss, with a relative error of its square.  From 1e-8 to 1e-4 tests/analysis/modes/test_strain_energies.py passes.
_LITTLE = 1e-6
_LISTED = 3  # of the largest in one line


class StrainEnergies(Shown, Mapping[Label, np.ndarray]):
    """Shares in the potential energy of modes: ``energies["wire", "axial"]`` is (m,), one number for each mode.

    ``phi^H P phi / phi^H K phi`` for each part P of the stiffness K.  Shares of one mode add up to 1; gravity and tension may
    have negative ones.  With the loss factors eta of elastic parts, ``1/Q = sum share eta`` is exact for structural loss alone
    (modal strain energy: C. D. Johnson, D. A. Kienholz, AIAA J. 20 (1982) 1284).  A free motion has none.

    Objects with a dynamic stiffness D have the shares of their mechanisms, Im D per loss factor, or of Re D, in the energy
    ``w^2 phi^H M phi``, M with the inertia inside them; tension inside beams of the exact form is then no part, and missing
    from the sum.

    Labels and shares are computed when first asked for.

    Parameters
    ----------
    labels : tuple of (str, str), optional
        Object and mechanism of each part.
    shares : ndarray, (parts, modes), optional
        The shares, where they are known.
    of : tuple, optional
        Else the linear model, eigenvalues (m,) and shapes (n, m) from which both follow.
    """

    def __init__(self, labels: tuple[Label, ...] = (), shares: np.ndarray | None = None, of: Any = None):
        self._of, self._known = of, None
        if of is None:
            self._known = labels, np.zeros((0, 0)) if shares is None else read_only(shares)

    @property
    def _labels(self) -> tuple[Label, ...]:
        return self._both()[0]

    @property
    def shares(self) -> np.ndarray:
        """All shares (parts, modes), in the order of the labels."""
        return self._both()[1]

    def _both(self) -> tuple[tuple[Label, ...], np.ndarray]:
        if self._known is None:
            labels = _parts(self._of[0])
            self._known, self._of = (labels, read_only(_shares(labels, *self._of))), None
        return self._known

    def __getitem__(self, label: Label) -> np.ndarray:
        if label not in self._labels:
            known = [" / ".join(x) for x in self._labels]
            named = isinstance(label, tuple) and all(isinstance(x, str) for x in label)
            find("", "strain energy", " / ".join(label) if named else label, known)
            raise UnknownNameError(f"no strain energy {shown(label)}; expected two names, (object, mechanism)")
        return self.shares[self._labels.index(label)]

    def __iter__(self) -> Iterator[Label]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __getstate__(self) -> dict[str, Any]:
        return {"_known": self._both(), "_of": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: read_only(value) for name, value in state.items()})

    def _ipython_key_completions_(self) -> list[Label]:
        return list(self._labels)

    def of_mode(self, number: int) -> dict[Label, float]:
        """Shares in the energy of one mode, largest first.

        Parameters
        ----------
        number : int
            Number of the mode, from 0.

        Returns
        -------
        dict
            Share by (object, mechanism).
        """
        if not self._labels:
            return {}
        column = self.shares[:, number]
        return {self._labels[k]: float(column[k]) for k in np.argsort(-np.abs(column), kind="stable")}

    def told(self, number: int) -> str:
        """The largest shares in the energy of one mode, in one line.

        Parameters
        ----------
        number : int
            Number of the mode, from 0.

        Returns
        -------
        str
            Such as ``wire axial 96 %, gravity 4 %``; empty for a free motion.
        """
        largest = list(self.of_mode(number).items())[:_LISTED]
        return ", ".join(f"{' '.join(label)} {100 * x:.0f} %" for label, x in largest if round(100 * x))

    def table(self) -> Table:
        columns = (Column("mode", digits=1), "strain energy")
        rows = [(k, self.told(k)) for k in range(self.shares.shape[1])]
        return Table(f"shares of {amounts(part=len(self))} in the potential energy of modes", columns, rows)


def _parts(model: LinearModel) -> tuple[Label, ...]:
    """Object and mechanism of all parts of a model's stiffness."""
    own = {m.label for m in model.members if m.mechanisms}
    labels = [label for label in model.stiffness_parts if label[0] not in own]
    labels += [(m.label, name) for m in model.members for name in m.mechanisms or ("total",)]
    return tuple(dict.fromkeys(labels))


def _shares(labels: tuple[Label, ...], model: LinearModel, s: np.ndarray, shapes: Any) -> np.ndarray:
    """Shares (parts, m) in the energy of modes with eigenvalues s (m,) and shapes (n, m)."""
    row = {label: k for k, label in enumerate(labels)}
    parts, x = model.stiffness_parts, np.asarray(shapes)
    part, i, j, value = parts.entries()
    to = np.array([row.get(label, -1) for label in parts], dtype=int)
    used = np.flatnonzero(to[part] >= 0) if len(part) else np.zeros(0, dtype=int)
    part, i, j, value = to[part[used]], i[used], j[used], value[used]
    out = np.zeros((len(labels), len(s)))
    step = max(1, int(SIZES.pivoted_bytes / (16 * max(len(i), 1))))
    for first in range(0, len(s), step):
        some = x[:, first : first + step]
        for k, terms in enumerate((value[:, None] * np.real(np.conj(some[i]) * some[j])).T, start=first):
            out[:, k] = np.bincount(part, terms, len(labels))
    whole = out.sum(axis=0)
    if model.members:
        _add_members(out, row, model, s, x)
        whole = np.real(-(s**2)) if np.any(s.real) else np.abs(s) ** 2
    return np.divide(out, whole, out=np.zeros_like(out), where=(np.abs(s) > 0.0) & (whole != 0.0))


def _add_members(out: np.ndarray, row: Mapping[Label, int], model: LinearModel, s: np.ndarray, x: np.ndarray) -> None:
    """Add the energies of members at the frequencies of modes to those of the parts (parts, m)."""
    omega = np.abs(s)
    on = np.flatnonzero((omega > 0.0) & (omega <= min(m.up_to for m in model.members)))
    for member in model.members:
        local = member.motion[:, : model.size] @ x[:, on]
        for name in member.mechanisms or ("total",):
            # below the frequencies of a table, too, where its stiffness is that of statics
            d = member.stiffness(omega[on], {name: _LITTLE} if member.mechanisms else {})
            d = np.imag(d) / _LITTLE if member.mechanisms else np.real(d)
            out[row[member.label, name], on] += np.einsum("ik,kij,jk->k", np.conj(local), d, local).real


class Kept:
    """How files hold shares: two lists of names, and an array that older files lack."""

    def put(self, record: Record, key: str, value: StrainEnergies) -> None:
        if len(value):
            record.put(energy_objects=[o for o, _ in value], energy_mechanisms=[m for _, m in value])
            record.array("strain_energies", value.shares)

    def take(self, reader: Reader, key: str, found: Mapping[str, Any]) -> StrainEnergies:
        if not reader.has("energy_objects"):
            return StrainEnergies(())
        owners, mechanisms = (reader.names(k, "energypart") for k in ("energy_objects", "energy_mechanisms"))
        labels = tuple(zip(owners, mechanisms, strict=True))
        return StrainEnergies(labels, reader.array("strain_energies", "energypart mode"))
