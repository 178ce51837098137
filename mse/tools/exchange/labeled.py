"""Results as labeled arrays of xarray and tables of pandas, with units, from the declarations of their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...declared import Variable, columns, coordinates, index, scalars, variables
from ...errors import ModelError
from ...validation.extras import needed

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def _attrs(result: Any) -> dict[str, Any]:
    from ... import __version__

    if next(variables(result), None) is None:
        raise ModelError(
            f"a {type(result).__name__} has no arrays with labels; expected a response, modes or a history"
        )
    return {"name": result.name, "mse_version": __version__}


def _units(unit: str) -> dict[str, str]:
    return {"units": unit} if unit else {}


def to_xarray(result: Any) -> xr.Dataset | xr.DataArray:
    """See :meth:`.Result.to_xarray`."""
    xr, attrs = needed("xarray", "xarray", "labeled arrays"), _attrs(result) | scalars(result)
    found = [one for one in variables(result) if one.declared.whole and not one.declared.apart]
    found += [one for one in columns(result) if one.declared.apart]
    dims = {dim for one in found for dim in one.dims}
    coords: dict[str, Any] = {}
    for label, (dim, values, unit) in coordinates(result).items():
        if dim in dims:
            coords[label] = (dim, values, _units(unit))
    arrays = {one.label: _array(one, coords) for one in found}
    for dim in dims - {c[0] for c in coords.values() if isinstance(c[1], list)} - set(coords) - set(arrays):
        coords[dim] = np.arange(next(one.values.shape[one.dims.index(dim)] for one in found if dim in one.dims))
    if len(arrays) > 1 or found[0].declared.apart:
        return xr.Dataset(arrays, coords, attrs)
    ((label, (dims, values, units)),) = arrays.items()
    return xr.DataArray(values, dims=dims, coords=coords, name=label, attrs=attrs | units)


def _array(one: Variable, coords: dict[str, Any]) -> tuple[tuple[str, ...], np.ndarray, dict[str, str]]:
    """An array for xarray; if it has several units, these become a coordinate."""
    if isinstance(one.unit, str):
        return one.dims, one.values, _units(one.unit)
    units = np.asarray(one.unit)
    coords["unit"] = (one.dims[-units.ndim :], units)
    alike = set(units.ravel().tolist())
    return one.dims, one.values, _units(alike.pop() if len(alike) == 1 else "")


def to_pandas(result: Any) -> pd.DataFrame:
    """See :meth:`.Result.to_pandas`."""
    pd, attrs = needed("pandas", "xarray", "tables of pandas"), _attrs(result)
    _, rows, label, unit = index(result)
    found = list(columns(result))
    labels = [one.label for one in found]
    levels = all(isinstance(name, tuple) for name in labels) and len(labels) and found[0].declared.columns
    out = pd.DataFrame(
        dict(enumerate(one.values for one in found)), index=pd.Index(rows, name=f"{label} ({unit})" if unit else label)
    )
    out.columns = pd.MultiIndex.from_tuples(labels, names=levels) if levels else pd.Index(labels, tupleize_cols=False)
    out.attrs = attrs | {"units": {one.label: one.unit for one in found if one.unit not in ("", "1")}}
    return out
