"""Results: read-only data that print, draw, save and export themselves by what their classes declare; the registry of drawings.

A class of results is a frozen dataclass by being a :class:`Result`; its fields are declared with :mod:`.declared`.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property, singledispatch
from os import PathLike
from typing import TYPE_CHECKING, Any, dataclass_transform

import numpy as np

from .declared import array, axis, columns, entry, has_columns, index, names, scalar, variables
from .display import Column, Shown, Table
from .elsewhere import Guided
from .errors import ModelError, UnknownNameError, nearest_name
from .numerics.read_only import Matrix, ReadOnly
from .validation.arguments import shown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from .saved import Reader

#: Classes of results by their kind, as files name it.
KINDS: dict[str, type[Result]] = {}


def kind_of_result(name: str) -> str:
    """The kind of a class of results: its name in words, such as "frequency response"."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    field_specifiers=(dataclasses.field, array, axis, names, scalar, entry, Matrix),
)
class Result(Shown, ReadOnly, Guided):
    """Base of all results: ``repr`` is a table, a notebook shows the same, ``plot()`` draws it.

    Its arrays are read-only, as other results share them.  What it declares of its fields can be saved and handed on with labels.
    """

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        dataclasses.dataclass(frozen=True, repr=False, eq=False)(cls)
        kind = kind_of_result(cls.__name__)
        if cls.__module__.startswith("mse.") or not KINDS.get(kind, cls).__module__.startswith("mse."):
            KINDS[kind] = cls
        if has_columns(cls):
            for name, own in (("__getitem__", _column), ("_ipython_key_completions_", _column_names)):
                if not hasattr(cls, name):
                    setattr(cls, name, own)

    def __getstate__(self) -> dict[str, Any]:
        # properties computed on request are computed again: results are pickled without them
        return {k: v for k, v in vars(self).items() if not isinstance(getattr(type(self), k, None), cached_property)}

    @classmethod
    def _check_read(cls, reader: Reader, found: Mapping[str, Any]) -> None:
        """Check names and numbers of a file, by their fields, before its arrays are read; ``reader.damaged`` is the error."""

    def table(self) -> Table:
        """The contents as a table; ``repr`` is its text.

        Returns
        -------
        Table
            Title, columns with units, rows and notes; all columns that are declared, unless a kind of results has its own.
        """
        if next(variables(self), None) is None:
            raise TypeError(f"{type(self).__name__} must define table(), or declare arrays with units")
        _, rows, label, unit = index(self)
        shown = list(columns(self))
        heads = [(label, unit), *((" / ".join(np.atleast_1d(c.label)), c.unit) for c in shown)]
        cells = zip(rows.tolist(), *(c.values.tolist() for c in shown), strict=True)
        return Table(
            f"{self.name}: {kind_of_result(type(self).__name__)}",
            [Column(head, u, digits=6) for head, u in heads],
            cells,
        )

    def plot(self, **options: Any) -> Figure:
        """Draw this result with matplotlib (extra ``plot``).

        Parameters
        ----------
        **options : keywords
            Options of the drawing, named in :mod:`mse.tools.plots`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            The drawing has no such option; the message names those that it has.
        """
        return draw(self, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, whole or not at all; :func:`mse.read_result` gives it back, equal to the last bit.

        With it go names, units, the version of mse and the parameters of the system.

        Parameters
        ----------
        path : path
            File ``.npz`` (NumPy), ``.mat`` (MATLAB version 5, also read by SciPy) or ``.h5`` (HDF5, with the extra ``hdf5``).
            A ``.h5`` of a state space also has zeros, poles (rad/s) and gain of each response, as datasets z, p, k in the
            groups ``damped/zpk/<output>/<input>``, which finesse-ligo reads.

        Raises
        ------
        FileError
            The file cannot be written, its suffix is none of these, or the result has what no file can hold, such as exact
            members.
        """
        from .tools.exchange.result_files import save

        save(self, path)

    def to_xarray(self) -> xr.Dataset | xr.DataArray:
        """The numbers with names and units, for xarray (extra ``xarray``).

        Returns
        -------
        xarray.Dataset or xarray.DataArray
            Named dimensions and coordinates; units are in ``attrs["units"]`` of each variable.  Responses are one array over
            frequency, output and input, with a coordinate ``unit`` for each pair.

        Raises
        ------
        ModelError
            This kind of results has no arrays with labels.
        MissingPackageError
            xarray is not installed.
        """
        from .tools.exchange.labeled import to_xarray

        return to_xarray(self)

    def to_pandas(self) -> pd.DataFrame:
        """The numbers as a table, for pandas (comes with the extra ``xarray``).

        Returns
        -------
        pandas.DataFrame
            Named index and columns; ``attrs["units"]`` has the unit of each column.

        Raises
        ------
        ModelError
            This kind of results has no arrays with labels.
        MissingPackageError
            pandas is not installed.
        """
        from .tools.exchange.labeled import to_pandas

        return to_pandas(self)


def _column(result: Result, label: Any) -> np.ndarray:
    """A column by its label, where a class declares columns and has no other items."""
    known = {one.label: one.values for one in columns(result)}
    if label not in known:
        near = nearest_name(label, [x for x in known if isinstance(x, str)]) if isinstance(label, str) else ""
        raise UnknownNameError(f"{result.name}: no column {shown(label)}{near}")
    return known[label]


def _column_names(result: Result) -> list[Any]:
    return [one.label for one in columns(result)]


# -- drawings ---------------------------------------------------------------------------------------------------------
_DRAWERS: list[str] = []  # modules that register drawings when they are imported


def drawn_by(module: str) -> None:
    """Let a module, which registers its drawings, be imported when something is drawn for the first time."""
    _DRAWERS.append(module)


@singledispatch
def drawing(result: Any, **options: Any) -> Figure:
    """The function that draws results of a type."""
    raise ModelError(f"plots: cannot draw a {type(result).__name__}; expected a system or a result of one")


def draw(result: Any, **options: Any) -> Figure:
    """Draw a result and return the figure; the options belong to the function for its type."""
    for module in _DRAWERS:
        importlib.import_module(module)
    function = drawing.dispatch(type(result))
    known = _options(function)
    for name in options:
        if name not in known and function is not drawing:
            raise UnknownNameError(
                f"plot of a {type(result).__name__}: no option {name!r}{nearest_name(name, known)}; it has "
                f"{', '.join(known) or 'none'}"
            )
    return function(result, **options)


def _options(function: Callable) -> list[str]:
    """Keywords of a drawing function."""
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
