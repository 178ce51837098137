"""Files that an earlier version wrote, before results declared their arrays, are read, and written again as they were.

They lie in ``written/``: a joint model, one with losses, a rotor with charges and skew parts, state spaces, a response, a noise
budget, runs; ``tables.json`` has what each printed when it was written.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import mse

WRITTEN = Path(__file__).parent / "written"
TABLES = json.loads((WRITTEN / "tables.json").read_text())


def content(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The description of a file, without the version that wrote it, and its arrays."""
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    about = json.loads(arrays.pop("mse").tobytes())
    del about["version"]
    return about, arrays


@pytest.mark.parametrize("path", sorted(WRITTEN.glob("*.npz")), ids=lambda path: path.stem)
def test_files_of_before_are_read_and_written_again_as_they_were(path, tmp_path):
    result = mse.read_result(path)
    about, arrays = content(path)
    assert about["kind"].replace(" ", "") == type(result).__name__.lower() and result.name == about["name"]
    assert dict(result.parameters) == about["parameters"]
    found = 0
    for key, value in vars(result).items():  # by what lies in the file, not by what reads it
        if isinstance(value, np.ndarray) and key in arrays:
            assert value.dtype == arrays[key].dtype and value.tobytes() == arrays[key].tobytes()
            found += 1
        elif sp.issparse(value) and (value.nnz or f"{key}_data" in arrays):
            assert value.data.tobytes() == arrays[f"{key}_data"].tobytes()
            found += 1
        elif isinstance(value, tuple) and key in about["names"] and key != "interfaces":
            assert list(map(str, value)) == about["names"][key]
            found += 1
    assert found >= 5
    result.save(tmp_path / "again.npz")
    again, others = content(tmp_path / "again.npz")
    assert again == about and set(others) == set(arrays)
    assert all(others[key].tobytes() == arrays[key].tobytes() for key in arrays)
    if path.stem in TABLES:
        assert repr(result).splitlines() == TABLES[path.stem]


@pytest.mark.parametrize("suffix", [".mat", ".h5"])
def test_files_of_before_are_read_in_every_format(suffix):
    one, other = mse.read_result(WRITTEN / "response.npz"), mse.read_result(WRITTEN / f"response{suffix}")
    assert one.values.tobytes() == other.values.tobytes() and one.outputs == other.outputs
    assert dict(one.parameters) == dict(other.parameters) and repr(one) == repr(other)


def test_what_files_of_before_hold_still_answers():
    model = mse.read_result(WRITTEN / "linear_model.npz")
    ss = mse.read_result(WRITTEN / "state_space.npz")
    f = [0.3, 2.0]
    direct = model.frequency_response(f, outputs=ss.outputs).values
    s = 2j * np.pi * np.array(f)
    whole = [ss.C @ np.linalg.solve(x * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D for x in s]
    np.testing.assert_allclose(direct, whole, atol=1e-9 * np.abs(direct).max())
    rotor = mse.read_result(WRITTEN / "rotor.npz")
    assert rotor.input_units == ("N", "V") and abs(rotor.gyroscopic[0, 1]) == 3.0
    assert mse.read_result(WRITTEN / "lossy_model.npz").losses == {("spring", "axial"): 1e-3}
    assert mse.read_result(WRITTEN / "slow_state_space.npz").left_out.bound().shape == (3, 2)
