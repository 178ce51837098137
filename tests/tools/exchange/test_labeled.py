"""Labeled arrays and tables: the numbers and units of results, under their names."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr

import mse
from models import four_wire_chain
from mse import Pose
from mse.errors import MissingPackageError


@pytest.fixture(scope="module")
def linear():
    return four_wire_chain(1, driven=True).find_working_point().linearize()


@pytest.fixture(scope="module")
def beam():
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = system.add(mse.Beam("beam", length=0.5, width=0.02, height=0.01, elements=3))
    system.clamp(system.ground, beam.frame(0))
    system.add(mse.Load("push", force=(0, 0, -1.0)), between=(beam.frame(1),))
    return beam.internal_forces(system.find_working_point())


def test_a_response(linear):
    response = linear.frequency_response([0.1, 0.3, 7.0])
    array, table = response.to_xarray(), response.to_pandas()
    for o in response.outputs:
        for i in response.inputs:
            one = array.sel(output=o, input=i)
            np.testing.assert_array_equal(one, response[o, i])
            assert str(one.unit.values) == response.unit(o, i) == table.attrs["units"][o, i]
            np.testing.assert_array_equal(table[o, i], response[o, i])
    assert array.frequency.attrs["units"] == "Hz"
    assert table.index.tolist() == [0.1, 0.3, 7.0] and table.index.name == "frequency (Hz)"
    assert array.attrs["name"] == linear.name and array.attrs["mse_version"] == mse.__version__
    single = linear.frequency_response([1.0], outputs=linear.outputs[:1], inputs=linear.inputs[:1])
    assert single.to_xarray().attrs["units"] == single.unit(single.outputs[0], single.inputs[0])


def test_a_history(linear):
    history = linear.simulate(duration=0.05, dt=0.01, inputs={linear.inputs[0]: np.ones(6)})
    data, table = history.to_xarray(), history.to_pandas()
    assert data.time.attrs["units"] == "s" and table.index.name == "time (s)"
    for name in (*history.outputs, *history.inputs):
        np.testing.assert_array_equal(data[name], history[name])
        np.testing.assert_array_equal(table[name], history[name])
        assert data[name].attrs["units"] == history.unit(name) == table.attrs["units"][name]


def test_inputs_and_outputs_of_one_name_stay_apart():
    model = mse.LinearModel.from_matrices([[1.0]], None, [[4.0]], coordinates=["mass.x"])
    history = model.simulate(duration=0.2, dt=0.1, inputs={"mass.x": np.array([1.0, 2.0, 3.0])})
    data = history.to_xarray()
    np.testing.assert_array_equal(data["mass.x"], history["mass.x"])
    np.testing.assert_array_equal(data["input mass.x"], [1, 2, 3])
    assert data["mass.x"].attrs["units"] == "m" and data["input mass.x"].attrs["units"] == "N"
    assert list(history.to_pandas()) == ["mass.x", "input mass.x"]


@pytest.mark.parametrize("damped", [False, True])
def test_modes(linear, damped):
    modes = linear.modes(damped=damped)
    data, table = modes.to_xarray(), modes.to_pandas()
    for k, mode in enumerate(modes):
        one = data.sel(mode=k)
        assert one.frequency == mode.frequency_hz == table.frequency[k]
        assert one.damping_ratio == mode.damping_ratio == table.damping_ratio[k]
        for name, value in mode.shape.items():
            assert one["shape"].sel(coordinate=name) == value
        for name, share in mode.participation.items():
            assert float(one.participation.sel(object=name)) == share == table[f"participation of {name}"][k]
    assert data.frequency.attrs["units"] == table.attrs["units"]["frequency"] == "Hz"
    assert data.owner.sel(coordinate=modes.coordinates[0]) == modes.owners[0]


def test_a_trace():
    truss = mse.MSystem("truss")
    bob = truss.add(mse.RigidBody("bob", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
    truss.add(mse.Spring("wire", length=0.9, stiffness=100.0), between=(truss.ground, bob))
    trace = truss.trace("load_factor", 2.0)
    data, table = trace.to_xarray(), trace.to_pandas()
    np.testing.assert_array_equal(data["load_factor"], trace.values)
    np.testing.assert_array_equal(data.origin.sel(frame="bob.center"), trace.origins("bob.center"))
    np.testing.assert_array_equal(table["bob.center.z"], trace.origins("bob.center")[:, 2])
    assert data.origin.attrs["units"] == "m" and table.index.name == "load_factor"
    assert bool(data.stable[0]) == bool(trace.stable[0])


def test_loads_of_a_beam(beam):
    data, table = beam.to_xarray(), beam.to_pandas()
    np.testing.assert_array_equal(data.Vz, beam.forces[:, 2])
    np.testing.assert_array_equal(table["My"], beam.forces[:, 4])
    np.testing.assert_array_equal(table["equivalent"], beam.equivalent)
    assert data.My.attrs["units"] == "N m" and data.tensile.attrs["units"] == "Pa" and data.s.attrs["units"] == "m"
    assert table.attrs["units"]["Vz"] == "N"


def test_arrays_become_plain_data_and_come_back(linear):
    history = linear.simulate(duration=0.05, dt=0.01, inputs={linear.inputs[0]: np.ones(6)})
    data = history.to_xarray()
    again = xr.Dataset.from_dict(data.to_dict())
    assert again.identical(data)


def test_xarray_reads_the_files_that_it_writes(linear, beam, tmp_path):
    """As netCDF, with SciPy's writer; other writers of xarray take complex numbers, too."""
    history = linear.simulate(duration=0.05, dt=0.01, inputs={linear.inputs[0]: np.ones(6)})
    for name, data in (("history", history.to_xarray()), ("beam", beam.to_xarray())):
        data.to_netcdf(tmp_path / f"{name}.nc", engine="scipy")
        with xr.open_dataset(tmp_path / f"{name}.nc", engine="scipy") as again:
            assert again.identical(data) and again.attrs["mse_version"] == mse.__version__
            assert any("units" in again[key].attrs for key in again)


def test_without_the_packages_the_remedy_is_named(linear, monkeypatch):
    response = linear.frequency_response([1.0])
    for module, call in (("xarray", response.to_xarray), ("pandas", response.to_pandas)):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(
            MissingPackageError, match=rf"{module}, which is not installed.*pip install 'mse\[xarray\]'"
        ):
            call()
