"""Read-only arrays and sparse matrices for results, without copies."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, Self, TypeVar, overload

import numpy as np

_Value = TypeVar("_Value", covariant=True)

_PLAIN = {float, int, bool, str, complex, type(None)}


def read_only(value: Any) -> Any:
    """The value with its arrays and sparse matrices made read-only, also in tuples and dictionaries; others as they are."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            return value
        view = value.view()
        view.setflags(write=False)
        return view
    if isinstance(value, tuple):
        if _PLAIN.issuperset(map(type, value)):
            return value
        items = [read_only(x) for x in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return tuple(items) if type(value) is tuple else type(value)(*items)
    if isinstance(value, dict):
        return {key: read_only(x) for key, x in value.items()}
    return _read_only_matrix(value) if kind in _forms() else value


@cache
def _forms() -> tuple[type, ...]:
    from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix  # importing mse must not wait for it

    return csc_array, csc_matrix, csr_array, csr_matrix


def _read_only_matrix(matrix: Any) -> Any:
    if matrix.has_canonical_format:
        new = twin(matrix)
    else:  # SciPy would do this in place
        new = matrix.copy()
        new.sum_duplicates()
    new.data, new.indices, new.indptr = read_only(new.data), read_only(new.indices), read_only(new.indptr)
    return new


def twin(value: Any) -> Any:
    """Another matrix with the same arrays: SciPy's setdiag() or resize() replace a matrix's arrays, and may leave it broken."""
    kind = type(value)
    if kind in _forms():
        new = object.__new__(kind)
        new.__dict__.update(value.__dict__)
        return new
    return tuple(map(twin, value)) if isinstance(value, tuple) else value


class Matrix:
    """A field of a :class:`ReadOnly` with a sparse matrix: each reading gives another matrix with the same arrays.

    ``dims`` names the dimensions of rows and columns, for files, which may lack it if it has a ``sign``.
    """

    def __init__(self, dims: str = "", sign: str = "", **default: None):
        self.dims, self.sign, self._default = dims, sign, tuple(default.values())

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is not None:
            return twin(vars(obj)[self._name])
        if self._default:
            return self._default[0]
        raise AttributeError(f"{self._name} has no default")

    def __set__(self, obj: Any, value: Any) -> None:
        vars(obj)[self._name] = value


class read_only_property(cached_property[_Value]):
    """A property computed once, with read-only arrays; each reading of a sparse matrix gives another object."""

    @overload
    def __get__(self, obj: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, obj: object, owner: type | None = None) -> _Value: ...
    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self
        known = vars(obj)
        if self.attrname not in known:
            known[self.attrname] = read_only(self.func(obj))
        return twin(known[self.attrname])

    def __set__(self, obj: Any, value: Any) -> None:
        raise AttributeError(f"{self.attrname} follows from the rest and cannot be set")


class ReadOnly:
    """Base of frozen dataclasses with read-only arrays, also after copying and unpickling."""

    def __post_init__(self) -> None:
        own = vars(self)
        for name, value in own.items():
            if type(value) not in _PLAIN:
                own[name] = read_only(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: read_only(value) for name, value in state.items()})
