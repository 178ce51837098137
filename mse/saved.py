"""What a file holds of a result: named arrays and a description, and the reading of them with every length checked.

A record has a kind, a description (names, texts, numbers; JSON) and arrays.  Lengths are counted by the names of dimensions: an
array over "output input" has as many rows as there are outputs, whichever array or list came first.  Reading refuses
whatever does not fit together, so that no compiled code meets an index out of range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from .declared import Entry, entries
from .errors import FileError

_Data = TypeVar("_Data")
_MOST = 2**31 - 1  # rows or columns of a matrix, see tests/tools/exchange/test_result_files.py


@dataclass
class Record:
    """One result as data."""

    kind: str
    name: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    shapes: dict[str, list[int]] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def array(self, key: str, value: Any) -> None:
        """An array."""
        self.arrays[key] = np.asarray(value)
        self.shapes[key] = list(self.arrays[key].shape)

    def numbered(self, key: str, value: Any) -> None:
        """Whole numbers, or flags."""
        self.array(key, np.asarray(value, dtype=int))

    def arrays_of(self, keys: str, value: Iterable[np.ndarray]) -> None:
        """Several arrays, a key for each."""
        self.put(**dict(zip(keys.split(), value, strict=True)))

    def sparse(self, key: str, value: Any) -> None:
        """A sparse matrix: three arrays."""
        value = value.tocsr()
        self.shapes[key] = list(value.shape)
        for piece in ("data", "indices", "indptr"):
            self.array(f"{key}_{piece}", getattr(value, piece))

    def names(self, key: str, value: Iterable[str]) -> None:
        """A list of names."""
        self.lists[key] = list(map(str, value))

    def text(self, key: str, value: str) -> None:
        """A text."""
        self.names(key, [value])

    def number(self, key: str, value: float) -> None:
        """A number or a flag."""
        self.numbers[key] = value + 0

    def by_name(self, keys: str, value: Mapping[str, float]) -> None:
        """Numbers by name; the keys are those of the names, which several such fields share, and of the numbers."""
        names, key = keys.split()
        known = self.lists.setdefault(names, list(value))
        self.array(key, np.array([value.get(name, 0.0) for name in known], dtype=float))

    def system(self, _: str, value: Mapping[str, Any]) -> None:
        """The parameters of a system."""
        self.parameters = dict(value)

    def part(self, _: str, value: Any) -> None:
        """A dataclass, with all that it declares."""
        for name, declared in entries(type(value)).items():
            # files may lack what has a sign, such as a matrix without entries
            field = getattr(value, name)
            if field is not None and not (declared.sign and sp.issparse(field) and not field.nnz):
                put = (
                    getattr(self, declared.kind) if isinstance(declared.kind, str) else partial(declared.kind.put, self)
                )
                put(declared.key, field)

    def put(self, **values: Any) -> None:
        """Arrays, sparse matrices, and lists of names, by their keys."""
        for key, value in values.items():
            kind = self.sparse if sp.issparse(value) else self.array if isinstance(value, np.ndarray) else self.names
            kind(key, value)


class Reader:
    """A record that was read, whose pieces are checked as they are taken."""

    def __init__(self, path: Path, about: dict, arrays: dict[str, np.ndarray]):
        self.path, self._about, self._arrays = path, about, arrays
        self._lengths: dict[str, int] = {}
        self.name, self.parameters = about["name"], about["parameters"]

    def damaged(self, what: str, found: str, expected: str) -> FileError:
        """The error of a piece that does not fit."""
        return FileError(
            f"{self.path}: {what} {found}; expected {expected}; the file is damaged or was made by another program"
        )

    def has(self, key: str) -> bool:
        """Whether there is such an array, number or list of names."""
        return key in self._arrays or key in self._about["numbers"] or key in self._about["names"]

    def names(self, key: str, dim: str) -> tuple[str, ...]:
        """A list of names along a dimension."""
        if key not in self._about["names"]:
            raise self.damaged(f"the list {key!r}", "is missing", "one")
        found = tuple(self._about["names"][key])
        self._count(key, dim, len(found))
        return found

    def text(self, key: str, _: str = "") -> str:
        """A text."""
        return self.names(key, "1")[0]

    def number(self, key: str, _: str = "", *, whole: bool = False) -> float:
        """A number of at least zero."""
        found = self._about["numbers"].get(key)
        if found is None or found < 0 or (whole and not isinstance(found, int)):
            raise self.damaged(f"the number {key!r}", f"is {found}", "at least 0")
        return found

    def by_name(self, keys: str, dim: str) -> dict[str, float]:
        """Numbers by name."""
        names, key = keys.split()
        return dict(zip(self.names(names, dim), self.array(key, dim, finite=False).tolist(), strict=True))

    def system(self, _: str, dims: str) -> dict[str, Any]:
        """The parameters of a system."""
        return self.parameters

    def arrays_of(self, keys: str, dims: str) -> tuple[np.ndarray, ...]:
        """Several arrays, a key for each, whose dimensions are divided by commas."""
        return tuple(self.array(key, one) for key, one in zip(keys.split(), dims.split(","), strict=True))

    def array(self, key: str, dims: str, kind: str = "f", *, finite: bool = True) -> np.ndarray:
        """An array over named dimensions, of floats, complex numbers, either of both ("fc") or whole ones."""
        if key not in self._arrays:
            raise self.damaged(f"the array {key!r}", "is missing", "one")
        found, names = self._arrays[key], dims.split()
        if found.dtype.kind not in kind or found.ndim != len(names):
            words = " or ".join({"f": "real", "c": "complex", "i": "whole"}[k] for k in kind)
            expected = f"{words} numbers in {len(names)} dimensions"
            raise self.damaged(f"the array {key!r}", f"has {found.dtype} in {found.ndim} dimensions", expected)
        for dim, length in zip(names, found.shape, strict=True):
            self._count(key, dim, length)
        if finite and kind != "i" and not np.isfinite(found).all():
            raise self.damaged(f"the array {key!r}", "has numbers that are not finite", "finite ones")
        return found

    def numbered(self, key: str, dims: str, count: int | str = 2**62, minimum: int = 0) -> np.ndarray:
        """Whole numbers from ``minimum`` to below ``count``, or the length of a dimension."""
        found = self.array(key, dims, "i")
        count = self.length(count) if isinstance(count, str) else count
        if len(found) and not (minimum <= found.min() and found.max() < count):
            raise self.damaged(
                f"the array {key!r}", f"has numbers from {found.min()} to {found.max()}", f"{minimum} to {count - 1}"
            )
        return found

    def sparse(self, key: str, dims: str) -> sp.csr_matrix:
        """A sparse matrix, checked whole."""
        data = self.array(f"{key}_data", "*")
        indices, indptr = self.array(f"{key}_indices", "*", "i"), self.array(f"{key}_indptr", "*", "i")
        shape = tuple(self._about["shapes"].get(key, ()))
        if len(shape) != 2 or max(shape) > _MOST:
            raise self.damaged(f"the sparse matrix {key!r}", f"has the shape {shape}", "rows and columns")
        for dim, length in zip(dims.split(), shape, strict=True):
            self._count(key, dim, length)
        try:
            matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
            matrix.check_format(full_check=True)
        except (ValueError, IndexError, OverflowError) as error:
            raise self.damaged(f"the sparse matrix {key!r}", f"is none ({error})", f"one of shape {shape}") from None
        return matrix

    def length(self, dim: str, value: int | None = None) -> int:
        """How long a dimension is; ``value`` says so."""
        if value is not None:
            self._lengths[dim] = value
        return self._lengths[dim]

    def _count(self, key: str, dim: str, length: int) -> None:
        if dim == "*":
            return
        known = int(dim) if dim.isdigit() else self._lengths.setdefault(dim, length)
        if known != length:
            raise self.damaged(f"{key!r}", f"has the length {length}", f"{known}")

    def part(self, _: str, dims: str, *, cls: type[_Data]) -> _Data:
        """A dataclass, by what it declares; names and numbers come first, as they say how long arrays are."""
        check = getattr(cls, "_check_read", None)
        found: dict[str, Any] = {"name": self.name} if check else {}
        for early in (True, False):
            if not early and check:
                check(self, found)
            for name, one in entries(cls).items():
                if one.early is early and (not one.sign or self.has(one.sign)):
                    found[name] = self._taken(one, found)
        return cls(**found)

    def _taken(self, one: Entry, found: dict[str, Any]) -> Any:
        if not isinstance(one.kind, str):
            return one.kind.take(self, one.key, found)
        value = getattr(self, one.kind)(one.key, one.dims, **one.options)
        return value if one.make is None else one.make(value)
