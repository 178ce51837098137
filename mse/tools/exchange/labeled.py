"""Results as labeled arrays of xarray and tables of pandas, with units."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.frequency.response import FrequencyResponse
from ...analysis.modes.mode import Modes
from ...analysis.noise.budget import NoiseBudget
from ...analysis.time.response import TimeResponse
from ...elements.beam_loads import BeamLoads
from ...elements.coordinates import unit_of
from ...statics.continuation import Trace
from ..extras import needed

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_CUTS = {"N": "N", "Vy": "N", "Vz": "N", "T": "N m", "My": "N m", "Mz": "N m"}
_STRESSES = ("tensile", "compressive", "shear", "equivalent")
_AXES = ("x", "y", "z")


def _xarray() -> Any:
    return needed("xarray", "xarray", "labeled arrays")


def _pandas() -> Any:
    return needed("pandas", "xarray", "tables of pandas")


def _version() -> str:
    from ... import __version__

    return __version__


@singledispatch
def to_xarray(result: Any) -> xr.Dataset | xr.DataArray:
    """See :meth:`.Labeled.to_xarray`."""
    raise TypeError(f"{type(result).__name__} has no labeled arrays")


@singledispatch
def to_pandas(result: Any) -> pd.DataFrame:
    """See :meth:`.Labeled.to_pandas`."""
    raise TypeError(f"{type(result).__name__} has no table of pandas")


def _attrs(result: Any, **more: Any) -> dict[str, Any]:
    return {"name": result.name, "mse_version": _version()} | more


# -- frequency --------------------------------------------------------------------------------------------------------
@to_xarray.register(FrequencyResponse)
def _(response: FrequencyResponse) -> xr.DataArray:
    units = [[response.unit(o, i) for i in response.inputs] for o in response.outputs]
    alike = {unit for row in units for unit in row}
    attrs = _attrs(response, notes=list(response.notes), **({"units": next(iter(alike))} if len(alike) == 1 else {}))
    return _xarray().DataArray(
        response.values,
        dims=("frequency", "output", "input"),
        coords={
            "frequency": ("frequency", response.frequencies_hz, {"units": "Hz"}),
            "output": list(response.outputs),
            "input": list(response.inputs),
            "unit": (("output", "input"), np.array(units, dtype=str).reshape(response.values.shape[1:])),
        },
        name="response",
        attrs=attrs,
    )


@to_pandas.register(FrequencyResponse)
def _(response: FrequencyResponse) -> pd.DataFrame:
    pd = _pandas()
    pairs = [(o, i) for o in response.outputs for i in response.inputs]
    out = pd.DataFrame(
        response.values.reshape(len(response.frequencies_hz), len(pairs)),
        index=pd.Index(response.frequencies_hz, name="frequency (Hz)"),
        columns=pd.MultiIndex.from_tuples(pairs, names=("output", "input")),
    )
    out.attrs = _attrs(response, units={pair: response.unit(*pair) for pair in pairs})
    return out


@to_xarray.register(NoiseBudget)
def _(budget: NoiseBudget) -> xr.DataArray:
    coords = {
        "frequency": ("frequency", budget.frequencies_hz, {"units": "Hz"}),
        "object": ("source", list(budget.objects)),
        "mechanism": ("source", list(budget.mechanisms)),
        "kind": ("source", list(budget.kinds)),
    }
    attrs = _attrs(budget, output=budget.output, units=f"({budget.unit})^2/Hz", notes=list(budget.notes))
    return _xarray().DataArray(
        budget.densities, dims=("source", "frequency"), coords=coords, name="noise power density", attrs=attrs
    )


@to_pandas.register(NoiseBudget)
def _(budget: NoiseBudget) -> pd.DataFrame:
    pd = _pandas()
    labels = zip(budget.objects, budget.mechanisms, budget.kinds, strict=True)
    out = pd.DataFrame(
        np.sqrt(budget.densities.T),
        index=pd.Index(budget.frequencies_hz, name="frequency (Hz)"),
        columns=pd.MultiIndex.from_tuples(list(labels), names=("object", "mechanism", "kind")),
    )
    out.attrs = _attrs(budget, units=f"{budget.unit}/sqrt(Hz)")
    return out


# -- time -------------------------------------------------------------------------------------------------------------
def _channels(history: TimeResponse) -> dict[str, tuple[np.ndarray, str]]:
    """Values and unit by name; an input named as an output is, as in models from matrices, gets "input " before it."""
    found = {}
    for name, unit, values in zip(history.outputs, history.output_units, history.values.T, strict=True):
        found[name] = (values, unit)
    for name, unit, values in zip(history.inputs, history.input_units, history.driven.T, strict=True):
        found[f"input {name}" if name in found else name] = (values, unit)
    return found


@to_xarray.register(TimeResponse)
def _(history: TimeResponse) -> xr.Dataset:
    variables = {name: ("time", values, {"units": unit}) for name, (values, unit) in _channels(history).items()}
    return _xarray().Dataset(variables, {"time": ("time", history.time, {"units": "s"})}, _attrs(history))


@to_pandas.register(TimeResponse)
def _(history: TimeResponse) -> pd.DataFrame:
    pd, channels = _pandas(), _channels(history)
    values = np.column_stack([x for x, _ in channels.values()]) if channels else np.zeros((len(history.time), 0))
    out = pd.DataFrame(values, index=pd.Index(history.time, name="time (s)"), columns=list(channels))
    out.attrs = _attrs(history, units={name: unit for name, (_, unit) in channels.items()})
    return out


# -- modes ------------------------------------------------------------------------------------------------------------
@to_xarray.register(Modes)
def _(modes: Modes) -> xr.Dataset:
    variables = {
        "frequency": ("mode", modes.frequencies_hz, {"units": "Hz"}),
        "damping_ratio": ("mode", modes.damping_ratios, {"units": "1"}),
        "loss_factor": ("mode", modes.loss_factors, {"units": "1"}),
        "eigenvalue": ("mode", modes.eigenvalues, {"units": "rad/s"}),
        "shape": (("coordinate", "mode"), modes.shapes, {"units": "kg**-0.5 times that of the coordinate"}),
        "energy": (("coordinate", "mode"), modes.energies, {"units": "1"}),
        "participation": (("object", "mode"), _participation(modes), {"units": "1"}),
    }
    coords = {
        "mode": np.arange(len(modes)),
        "coordinate": list(modes.coordinates),
        "owner": ("coordinate", list(modes.owners)),
        "unit": ("coordinate", [unit_of(name) for name in modes.coordinates]),
        "object": list(modes.objects),
    }
    how = {"damped": int(modes.damped), "lossy": int(modes.lossy), "notes": list(modes.notes)}
    return _xarray().Dataset(variables, coords, _attrs(modes, **how))


@to_pandas.register(Modes)
def _(modes: Modes) -> pd.DataFrame:
    pd = _pandas()
    shares = dict(zip(modes.objects, _participation(modes), strict=True))
    own = {
        "frequency": modes.frequencies_hz,
        "damping_ratio": modes.damping_ratios,
        "loss_factor": modes.loss_factors,
        "eigenvalue": modes.eigenvalues,
    }
    out = pd.DataFrame(
        own | {f"participation of {name}": share for name, share in shares.items()},
        index=pd.RangeIndex(len(modes), name="mode"),
    )
    out.attrs = _attrs(modes, units={"frequency": "Hz", "eigenvalue": "rad/s"})
    return out


def _participation(modes: Modes) -> np.ndarray:
    return np.reshape([modes.participation[name] for name in modes.objects], (len(modes.objects), len(modes)))


# -- curves -----------------------------------------------------------------------------------------------------------
def _origins(trace: Trace) -> tuple[list[str], np.ndarray]:
    """Frames and their origins (points, frames, 3)."""
    frames = list(trace.working_points[0].poses) if trace.working_points else []
    return frames, np.reshape([trace.origins(name) for name in frames], (len(frames), -1, 3)).swapaxes(0, 1)


@to_xarray.register(Trace)
def _(trace: Trace) -> xr.Dataset:
    frames, origins = _origins(trace)
    variables = {
        "stable": ("point", trace.stable),
        "origin": (("point", "frame", "axis"), origins, {"units": "m"}),
    }
    coords = {
        "point": np.arange(len(trace.values)),
        trace.parameter: ("point", trace.values),
        "frame": frames,
        "axis": list(_AXES),
    }
    return _xarray().Dataset(variables, coords, _attrs(trace, complete=int(trace.complete), reason=trace.reason))


@to_pandas.register(Trace)
def _(trace: Trace) -> pd.DataFrame:
    pd, (frames, origins) = _pandas(), _origins(trace)
    columns = {"stable": trace.stable}
    for k, frame in enumerate(frames):
        columns |= {f"{frame}.{axis}": origins[:, k, j] for j, axis in enumerate(_AXES)}
    out = pd.DataFrame(columns, index=pd.Index(trace.values, name=trace.parameter))
    out.attrs = _attrs(trace, units={name: "m" for name in columns if name != "stable"})
    return out


# -- beams ------------------------------------------------------------------------------------------------------------
def _loads(loads: BeamLoads) -> dict[str, tuple[np.ndarray, str]]:
    cuts = {name: (loads.forces[:, k], unit) for k, (name, unit) in enumerate(_CUTS.items())}
    return cuts | {name: (getattr(loads, name), "Pa") for name in _STRESSES}


@to_xarray.register(BeamLoads)
def _(loads: BeamLoads) -> xr.Dataset:
    variables = {name: ("s", values, {"units": unit}) for name, (values, unit) in _loads(loads).items()}
    return _xarray().Dataset(variables, {"s": ("s", loads.s, {"units": "m"})}, _attrs(loads))


@to_pandas.register(BeamLoads)
def _(loads: BeamLoads) -> pd.DataFrame:
    pd, columns = _pandas(), _loads(loads)
    out = pd.DataFrame({name: values for name, (values, _) in columns.items()}, index=pd.Index(loads.s, name="s (m)"))
    out.attrs = _attrs(loads, units={name: unit for name, (_, unit) in columns.items()})
    return out
