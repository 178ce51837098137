"""Results that declare their data: what files hold of them, what is refused by name, labels and columns."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse import Pose
from mse.analysis.modes.result import Columns
from mse.declared import array, axis, names
from mse.errors import FileError, ModelError, UnknownNameError
from mse.results import KINDS, Result


@pytest.fixture(scope="module")
def linear():
    """A mass on a spring, which has free motions."""
    system = mse.MSystem("stage")
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1, at=Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=800.0, loss=1e-3), between=(system.ground, mass))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    return system.find_working_point().linearize()


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5"])
def test_modes_come_back_to_the_last_bit(linear, suffix, tmp_path):
    for name, modes in (
        ("plain", linear.modes()),
        ("damped", linear.lossless.modes(damped=True)),
        ("few", linear.modes(2)),
    ):
        modes.save(tmp_path / f"{name}{suffix}")
        again = mse.read_result(tmp_path / f"{name}{suffix}")
        assert type(again) is mse.Modes and repr(again) == repr(modes)
        for field in ("eigenvalues", "shapes", "energies", "undetermined", "uncertainties_hz"):
            one, other = getattr(modes, field), getattr(again, field)
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes(), field
        assert again.owners == modes.owners and again.lossy == modes.lossy and type(again.complete) is bool


def test_shapes_that_are_sparse_in_part_come_back_whole(tmp_path):
    """Those of free motions of many single bodies in large models are."""
    one = sp.csc_matrix(([1.0], ([1], [0])), shape=(3, 1))
    columns = Columns(one, np.array([[0.6, 0.8], [0.0, 0.0], [0.8, -0.6]]))
    modes = mse.Modes(
        "m", ("a.x", "b.x", "c.x"), ("a", "b", "c"), np.array([0.0, 1.0j, 2.0j]), columns, columns, damped=False
    )
    modes.save(tmp_path / "a.npz")
    again = mse.read_result(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.shapes, modes.shapes)
    np.testing.assert_array_equal(again["b.x"], [1.0, 0.0, 0.0])


def test_grids_loads_and_what_is_left_out_come_back(linear, tmp_path):
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = system.add(mse.Beam("beam", length=0.5, width=0.02, height=0.01, elements=2))
    system.clamp(system.ground, beam.frame(0))
    system.add(mse.Load("push", force=(0, 0, -1.0)), between=(beam.frame(1),))
    point = system.find_working_point()
    chain = mse.LinearModel.from_matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 2.0]])
    left = chain.state_space(inputs=["x0"], outputs=["x1"], up_to_hz=0.2).left_out
    for k, result in enumerate((linear.resonance_grid(1.0, 10.0), beam.internal_forces(point), left)):
        result.save(tmp_path / f"{k}.npz")
        again = mse.read_result(tmp_path / f"{k}.npz")
        assert type(again) is type(result) and repr(again) == repr(result)


def test_what_no_file_can_hold_is_refused_by_name(linear, tmp_path):
    with pytest.raises(
        FileError, match=r"a Mode cannot be saved, as no file can hold number, coordinates, .*; expected"
    ):
        linear.modes()[0].save(tmp_path / "a.npz")
    with pytest.raises(ModelError, match=r"a LinearModel has no arrays with labels; expected a response"):
        linear.to_xarray()
    with pytest.raises(ModelError, match="no arrays with labels"):
        linear.modes()[0].to_pandas()
    assert not list(tmp_path.iterdir())


def test_a_class_of_a_users_own_takes_no_kind_of_mse(tmp_path):
    class Modes(Result):
        name: str

    assert KINDS["modes"] is mse.Modes
    with pytest.raises(FileError, match=r"a Modes cannot be saved, as mse has other results of the kind 'modes'"):
        Modes("mine").save(tmp_path / "a.npz")


def test_a_class_that_is_defined_again_reads_the_files_of_the_one_before(tmp_path):
    def made() -> type:
        class Tuning(Result):
            name: str
            gains: np.ndarray = array("gain")

        return Tuning

    made()("loop", np.array([1.0, 2.0])).save(tmp_path / "a.npz")
    again = made()
    assert type(mse.read_result(tmp_path / "a.npz")) is again


def test_files_need_all_but_what_later_versions_added(linear, tmp_path):
    from mse.saved import Reader, Record

    run = linear.lossless.simulate(duration=0.2, dt=0.1, inputs={"coil.fx": np.sin})
    record = Record("time response", run.name)
    record.part("", run)
    about = {"name": run.name, "parameters": {}, "names": record.lists, "numbers": {}, "shapes": record.shapes}

    def read(without: str) -> mse.TimeResponse:
        lists = {key: value for key, value in record.lists.items() if key != without}
        arrays = {key: value for key, value in record.arrays.items() if key != without}
        return Reader(tmp_path, json.loads(json.dumps(about | {"names": lists})), arrays).part(
            "", "", cls=mse.TimeResponse
        )

    assert read("").holds == run.holds and read("holds").holds == ()
    for missing in ("states", "time", "outputs", "initial_state"):
        with pytest.raises(FileError, match=f"the (list|array) '{missing}' is missing"):
            read(missing)


class Transfer(Result):
    name: str
    frequencies_hz: np.ndarray = axis("frequency", "Hz")
    rows: tuple[str, ...] = names("row")
    columns: tuple[str, ...] = names("column")
    values: np.ndarray = array("row column frequency", "c", unit="m/N", columns=("row", "column"))
    phase: np.ndarray = array("frequency", unit="rad")


def test_columns_have_the_names_of_their_dimensions_whatever_their_order():
    values = np.arange(8.0).reshape(2, 2, 2) * 1j
    result = Transfer("t", np.array([1.0, 2.0]), ("a", "b"), ("c", "d"), values, np.zeros(2))
    assert result._ipython_key_completions_() == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), "phase"]
    np.testing.assert_array_equal(result["b", "c"], values[1, 0])
    data = result.to_xarray()
    assert data["values"].attrs["units"] == "m/N" and data.phase.attrs["units"] == "rad"
    np.testing.assert_array_equal(data["values"].sel(row="b", column="c"), values[1, 0])
    assert "b / c (m/N)" in repr(result) and "phase (rad)" in repr(result)
    table = result.to_pandas()
    np.testing.assert_array_equal(table["phase"], result.phase)
    np.testing.assert_array_equal(table[[("b", "c")]].to_numpy()[:, 0], values[1, 0])
    assert table.attrs["units"] == dict.fromkeys(result._ipython_key_completions_()[:4], "m/N") | {"phase": "rad"}
    with pytest.raises(UnknownNameError, match=r"t: no column 'phas' \(did you mean 'phase'"):
        result["phas"]


@pytest.mark.slow
def test_matplotlib_is_imported_by_the_first_drawing_alone():
    code = """
import sys, mse
from mse.results import draw, drawing
assert "matplotlib" not in sys.modules and "mse.tools" not in sys.modules
assert drawing.dispatch(mse.Modes) is drawing.dispatch(int)
try:
    draw(3)
except mse.ModelError:
    assert drawing.dispatch(mse.Modes) is not drawing.dispatch(int)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
