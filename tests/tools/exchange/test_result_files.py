"""Results in files: back to the last bit, read by the programs they are for, refused where damaged or made to do harm."""

from __future__ import annotations

import dataclasses
import io
import json
import pickle
import re
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import mse
from models import four_wire_chain
from mse import Pose
from mse.analysis.time.left_out import LeftOut
from mse.errors import FileError, MissingPackageError
from mse.linear.stiffness_parts import StiffnessParts
from mse.tools.exchange import result_files
from mse.tools.exchange.zeros_and_poles import zeros_and_poles

SUFFIXES = (".npz", ".mat", ".h5")


def hinged():
    """Joints, a redundant one among them, a driven base, a force sensor, a damper: all that a linear model can have."""
    s = mse.MSystem("hinged")
    base = s.add(mse.PositionActuator("base"))
    s.clamp(s.ground, base.frame(1))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=0.12, at=Pose.dz(-0.6)))
    bob = s.add(mse.RigidBody("bob", mass=0.5, inertia=0.01, at=Pose.dz(-0.9)))
    for k, y in enumerate((-0.1, 0.1)):
        hinge = s.add(mse.Revolute(f"hinge{k}", axis=(0, 1, 0)))
        s.clamp(base.frame(0), hinge.frame(1), Pose.dy(y))
        s.clamp(hinge.frame(0), body.frame("center"), Pose((0, -y, -0.6)))
    s.add(mse.Spring("cord", length=0.25, stiffness=300.0, damping=0.7), between=(body, bob))
    s.add(mse.ForceActuator("coil"), between=(s.ground, bob))
    s.add(mse.PositionSensor("probe"), between=(bob, s.ground))
    return s.find_working_point().linearize()


@pytest.fixture(scope="module")
def results():
    linear = hinged()
    driven = four_wire_chain(1, driven=True).find_working_point().linearize()
    names = linear.inputs[0], linear.outputs[0]
    free = mse.LinearModel.from_matrices(np.diag([1.0, 0.0]), np.diag([0.0, 3.0]), [[2.0, -1.0], [-1.0, 1.0]])
    return {
        "linear model": linear,
        "driven model": driven,
        "matrices": free,
        "state space": linear.state_space(outputs=[o for o in linear.outputs if o.startswith("probe")]),
        "slow state space": driven.state_space(up_to_hz=1.0, outputs=[o for o in driven.outputs if ".f" not in o][:6]),
        "empty state space": free.state_space(inputs=[], outputs=[]),
        "response": driven.frequency_response([0.1, 0.3, 7.0]),
        "empty response": linear.frequency_response([], inputs=names[:1]),
        "history": linear.simulate(duration=0.05, dt=0.01, inputs={names[0]: np.ones(6)}, outputs=["probe.x"]),
    }


def same(a, b, where: str = "") -> None:
    """Whether two results are equal to the last bit, in all fields and kinds of numbers."""
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), where
    elif sp.issparse(a):
        for key in ("data", "indices", "indptr"):
            same(getattr(a, key), getattr(b, key), f"{where}.{key}")
        assert a.shape == b.shape
    elif isinstance(a, StiffnessParts):
        assert a.labels == b.labels and a.size == b.size, where
        for x, y in zip(a.entries(), b.entries(), strict=True):
            same(np.asarray(x), np.asarray(y), where)
        same(a.total(), b.total(), f"{where}: total")
    elif dataclasses.is_dataclass(a):
        assert type(a) is type(b)
        for f in dataclasses.fields(a):
            if f.name != "_factors":
                same(getattr(a, f.name), getattr(b, f.name), f"{where}.{f.name}")
    elif isinstance(a, Mapping):
        assert list(a) == list(b), where
        for key in a:
            same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, tuple):
        assert len(a) == len(b), where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{k}]")
    else:
        assert a == b and type(a) is type(b), where


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_results_come_back_to_the_last_bit(results, suffix, tmp_path):
    for name, result in results.items():
        path = tmp_path / f"{name}{suffix}"
        result.save(path)
        again = mse.read_result(path)
        same(result, again)
        assert dict(again.parameters) == dict(result.parameters)
        # written again, it is the same file, but for the time of HDF5's objects
        if suffix == ".npz":
            again.save(tmp_path / "again.npz")
            with np.load(path) as a, np.load(tmp_path / "again.npz") as b:
                assert a.files == b.files and all(a[k].tobytes() == b[k].tobytes() for k in a.files)


def test_what_comes_back_works(results, tmp_path):
    results["linear model"].save(tmp_path / "a.mat")
    model = mse.read_result(tmp_path / "a.mat")
    old = results["linear model"]
    np.testing.assert_array_equal(model.modes().frequencies_hz, old.modes().frequencies_hz)
    f = [0.1, 1.0]
    np.testing.assert_array_equal(model.frequency_response(f).values, old.frequency_response(f).values)
    assert model.parameters["body"]["mass"] == 2.0 and model.parameters["cord"]["class"] == "mse.Spring"
    assert pickle.loads(pickle.dumps(model)).parameters == model.parameters


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_stiffness_of_many_terms_comes_back_to_the_last_bit(suffix, tmp_path):
    """Terms of a beam and of three seats add up at its tip, and not in the order of the parts."""
    s = mse.MSystem("cantilever")
    beam = s.add(mse.Beam("beam", length=0.3, width=0.02, height=0.002, elements=4))
    s.clamp(s.ground, beam.frame(0))
    for k in range(3):
        seat = s.add(mse.Bushing(f"seat{k}", stiffness=(3.3,) * 3 + (0.1,) * 3, damping=(1, 2, 3, 0.1, 0.2, 0.3)))
        s.clamp(s.ground, seat.frame(1), Pose.dx(0.3))
        s.clamp(beam.frame(1), seat.frame(0))
    model = s.find_working_point().linearize()
    model.save(tmp_path / f"a{suffix}")
    again = mse.read_result(tmp_path / f"a{suffix}")
    same(model.K, again.K)
    same(model.modes().frequencies_hz, again.modes().frequencies_hz)


def test_models_of_files_without_a_total_are_read(results, tmp_path):
    path, model = tmp_path / "a.npz", results["linear model"]
    model.save(path)

    def without(about, arrays):
        for one in (arrays, about["shapes"]):
            for key in [key for key in one if key.startswith("part_total")]:
                del one[key]

    changed(path, without)
    again = mse.read_result(path)
    assert abs(again.K - model.K).max() <= 1e-14 * abs(model.K).max()


def test_parameters_go_from_the_system_through_every_result():
    system = mse.MSystem("stage")
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=800.0), between=(system.ground, mass))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    linear = system.find_working_point().linearize()
    mass.parameters["mass"] = 3.0  # comes later
    for result in (
        linear, linear.state_space(), linear.state_space(up_to_hz=1.0), linear.frequency_response([0.3]),
        linear.simulate(duration=0.1, dt=0.1, inputs={"coil.fx": np.zeros(2)}),
    ):  # fmt: skip
        assert result.parameters["mass"]["mass"] == 2.0
        assert list(result.parameters) == ["", "mass", "spring", "coil", "probe"]
        assert result.parameters[""]["class"] == "mse.MSystem"


def test_numpy_reads_npz(results, tmp_path):
    ss = results["state space"]
    ss.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as content:
        np.testing.assert_array_equal(content["A"], ss.A)
        assert content["outputs"].tolist() == list(ss.outputs)
        assert json.loads(content["mse"].tobytes())["version"] == mse.__version__


def test_scipy_reads_mat_as_matlab_does(results, tmp_path):
    ss, response = results["state space"], results["response"]
    ss.save(tmp_path / "a.mat")
    response.save(tmp_path / "b.mat")
    content = scipy.io.loadmat(tmp_path / "a.mat", simplify_cells=True)
    np.testing.assert_array_equal(content["B"], ss.B)
    assert content["inputs"].tolist() == list(ss.inputs) and content["output_units"].tolist() == list(ss.output_units)
    np.testing.assert_array_equal(scipy.io.loadmat(tmp_path / "b.mat")["values"], response.values)
    assert (tmp_path / "a.mat").read_bytes().startswith(b"MATLAB 5.0 MAT-file")


def test_h5py_reads_hdf5(results, tmp_path):
    response = results["response"]
    response.save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["values"], response.values)
        assert [x.decode() for x in file["outputs"]] == list(response.outputs)
        assert file.attrs["mse_version"] == mse.__version__ and file.attrs["kind"] == "frequency response"


# -- zeros and poles --------------------------------------------------------------------------------------------------
def by_hand(z, p, k, s):
    out = np.full(len(s), k, dtype=complex)
    for root in z:
        out = out * (s - root)
    for root in p:
        out = out / (s - root)
    return out


@pytest.mark.parametrize("name", ["state space", "slow state space"])
def test_zeros_poles_and_gain_give_the_response_by_output_and_input(results, name, tmp_path):
    ss = results[name]
    ss.save(tmp_path / "a.h5")
    s = 2j * np.pi * np.geomspace(0.01, 20.0, 200)
    whole = np.array([ss.C @ np.linalg.solve(x * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D for x in s])
    found = 0
    with h5py.File(tmp_path / "a.h5") as file:
        for output, groups in file["damped/zpk"].items():
            for input_, group in groups.items():
                h = whole[:, ss.outputs.index(output), ss.inputs.index(input_)]
                np.testing.assert_allclose(
                    by_hand(group["z"][:], group["p"][:], group["k"][()], s), h, atol=1e-8 * np.abs(h).max()
                )
                assert np.isrealobj(group["k"][()])
                found += 1
    assert found >= 6


def test_zeros_and_poles_by_hand():
    # two masses: (s^2 + 0.1 s + 2)/((s^2 + 0.1 s + 2)^2 - 1) on the first
    k, c = np.array([[2.0, -1.0], [-1.0, 2.0]]), np.diag([0.1, 0.1])
    ss = mse.LinearModel.from_matrices(np.eye(2), c, k).state_space()
    good, bad = zeros_and_poles(ss)
    z, p, gain = good["x0", "x0"]
    assert not bad and gain == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(z, np.sort_complex(np.roots([1, 0.1, 2])), rtol=1e-9)
    poles = np.concatenate([np.roots([1, 0.1, 1]), np.roots([1, 0.1, 3])])
    np.testing.assert_allclose(p[np.argsort(p.imag)], poles[np.argsort(poles.imag)], rtol=1e-9)
    assert len(good["x1", "x0"].z) == 0
    # a mode that an output does not show is in none of its poles
    alone = mse.LinearModel.from_matrices(np.eye(2), None, np.diag([1.0, 4.0])).state_space()
    good, _ = zeros_and_poles(alone)
    assert set(good) == {("x0", "x0"), ("x1", "x1")}
    np.testing.assert_allclose(good["x1", "x1"].p, [-2j, 2j], atol=1e-12)


# -- refusals ---------------------------------------------------------------------------------------------------------
def test_what_cannot_be_saved_is_refused_by_name(results, tmp_path):
    with pytest.raises(FileError, match=r"a.txt: its suffix is '.txt'; expected one of .npz, .mat, .h5"):
        results["history"].save(tmp_path / "a.txt")
    with pytest.raises(
        FileError, match=r"a.json: its suffix is '.json'; .*mse.read_model\(\) reads systems and working"
    ):
        mse.read_result(tmp_path / "a.json")
    with pytest.raises(FileError, match="there is no folder"):
        results["history"].save(tmp_path / "none" / "a.npz")
    system = mse.MSystem("violin")
    fiber = mse.RoundBeam("fiber", length=0.6, radius=2e-4, density=2200.0, form="exact")
    system.clamp(system.ground, system.add(fiber).frame(0), Pose.ry(np.pi / 2))
    system.add(mse.RigidBody("mass", mass=10.0, inertia=0.1), between=(fiber.frame(1),))
    with pytest.raises(FileError, match=r"violin: the stiffness of fiber depends on the frequency.*expected constant"):
        system.find_working_point().linearize().save(tmp_path / "a.npz")
    slash = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["a/b"]).state_space()
    with pytest.raises(FileError, match="'a/b' cannot be the name of an HDF5 group"):
        slash.save(tmp_path / "a.h5")
    assert not list(tmp_path.iterdir())


def test_what_is_there_stays_when_writing_fails(results, tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    results["history"].save(path)
    before = path.read_bytes()
    monkeypatch.setattr(result_files, "_seal", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(FileError, match=r"a.npz cannot be written \(No space left.*the old file is unchanged"):
        results["history"].save(path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_without_h5py_the_remedy_is_named(results, tmp_path, monkeypatch):
    results["history"].save(tmp_path / "a.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    for call in (lambda: results["history"].save(tmp_path / "b.h5"), lambda: mse.read_result(tmp_path / "a.h5")):
        with pytest.raises(MissingPackageError, match=r"pip install 'mse\[hdf5\]'"):
            call()


def test_files_of_other_programs_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", A=np.eye(2))
    scipy.io.savemat(tmp_path / "a.mat", {"A": np.eye(2)})
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["A"] = np.eye(2)
    for suffix in SUFFIXES:
        with pytest.raises(FileError, match=r"was not written by save\(\) of a result.*read_matrices"):
            mse.read_result(tmp_path / f"a{suffix}")
        (tmp_path / f"b{suffix}").write_bytes(b"")
        with pytest.raises(FileError, match="not written by save"):
            mse.read_result(tmp_path / f"b{suffix}")
    with pytest.raises(FileError, match="there is no such file"):
        mse.read_result(tmp_path / "c.npz")
    with pytest.raises(FileError, match=r"its suffix is ''"):
        mse.read_result(tmp_path / "c")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_damage_is_refused(results, suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    results["slow state space"].save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    damaged = [content[:n] for n in rng.integers(0, len(content), 60)] + [content + b"\0"]
    for at in rng.integers(0, len(content), 250):
        damaged.append(content[:at] + bytes([content[at] ^ (1 << rng.integers(8))]) + content[at + 1 :])
    refused = 0
    for piece in damaged:
        path.write_bytes(piece)
        try:
            same(results["slow state space"], mse.read_result(path))  # a flip in what is empty behind the seal
        except FileError as error:
            assert path.name in str(error) and "expected" in str(error)
            refused += 1
    assert refused >= len(damaged) - 25


def resealed(path: Path) -> None:
    """Give a changed file the seal of a good one, as whoever means harm would."""
    if path.suffix == ".npz":
        with zipfile.ZipFile(path, "a") as archive:
            archive.comment = b"\0" * result_files._SEAL
    result_files._seal(path, path.suffix)


def changed(path: Path, change) -> None:
    """A file of which the description, or the arrays, were changed by someone who knows its form."""
    with np.load(path) as content:
        arrays = {key: content[key] for key in content.files}
    about = json.loads(arrays.pop("mse").tobytes())
    change(about, arrays)
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **({"mse": text} | arrays))
    resealed(path)


def set_shape(about, arrays):
    arrays["A"] = arrays["A"][:-1]


HOSTILE = {
    "wrong shape": (set_shape, r"'A' has the length \d+; expected \d+"),
    "vector": (lambda a, x: x.update(B=np.zeros(3)), r"array 'B' has float64 in 1 dimensions"),
    "not finite": (lambda a, x: x.update(D=x["D"] * np.nan), "array 'D' has numbers that are not finite"),
    "complex": (lambda a, x: x.update(C=x["C"] + 1j), "array 'C' has complex128"),
    "missing": (lambda a, x: a["shapes"].pop("shift"), "array 'shift' is missing"),
    "names": (lambda a, x: a["names"].update(inputs=["one"]), "expected 1"),
    "no names": (lambda a, x: a["names"].pop("states"), "list 'states' is missing"),
    "counts": (lambda a, x: a["numbers"].update(with_mass=10**6), "counts of states are 1000000"),
    "half": (lambda a, x: a["numbers"].update(with_mass=0.5), "number 'with_mass' is 0.5"),
    "kind": (lambda a, x: a.update(kind="os.system"), "kind is 'os.system'; expected one of"),
    "infinite": (lambda a, x: a["numbers"].update(zeros=float("inf")), "zeros is inf"),
    "huge": (lambda a, x: a["shapes"].update(A=[10**15, 10**15]), "."),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_sealed_files_that_do_not_fit_together_are_refused(results, name, tmp_path):
    path, (change, message) = tmp_path / "a.npz", HOSTILE[name]
    results["state space"].save(path)
    changed(path, change)
    if name == "huge":  # of arrays that are not sparse, shapes are those of the arrays
        same(results["state space"], mse.read_result(path))
        return
    with pytest.raises(FileError, match=message):
        mse.read_result(path)


HOSTILE_MODEL = {
    "rows": (
        lambda a, x: x.update(full_mass_indices=x["full_mass_indices"] + 10**6),
        "sparse matrix 'full_mass' is none",
    ),
    "starts": (lambda a, x: x.update(full_mass_indptr=x["full_mass_indptr"][::-1].copy()), "'full_mass' is none"),
    "shape": (lambda a, x: a["shapes"].update(full_mass=[10**18, 3]), r"'full_mass' has the shape"),
    "wide": (lambda a, x: a["shapes"].update(self_stress=[a["shapes"]["self_stress"][0], 2**40]), "has the shape"),
    "total": (lambda a, x: a["shapes"].update(part_total=[3, 3]), "'part_total' is none|'part_total' has the length 3"),
    "parts": (lambda a, x: x.update(part_columns=x["part_columns"] - 10**9), "'part_columns' has numbers from"),
    "frames": (lambda a, x: x.update(interface_first=x["interface_first"] + 10**6), "'interface_first' has numbers"),
    "determined": (lambda a, x: x.update(determined=x["determined"] + 99), "'determined' has numbers"),
    "floats": (lambda a, x: x.update(bodies=x["bodies"].astype(float)), "array 'bodies' has float64"),
}


@pytest.mark.parametrize("name", list(HOSTILE_MODEL))
def test_sealed_models_with_indices_out_of_range_are_refused(results, name, tmp_path):
    path, (change, message) = tmp_path / "a.npz", HOSTILE_MODEL[name]
    result = results["linear model"]
    result.save(path)
    changed(path, change)
    if name == "frames" and not result.interfaces:
        same(result, mse.read_result(path))
        return
    with pytest.raises(FileError, match=message):
        mse.read_result(path)


class Harmful:
    def __reduce__(self):
        return (exec, ("raise SystemExit('a file was run')",))


def test_nothing_in_a_file_is_run(results, tmp_path):
    path = tmp_path / "a.npz"
    results["state space"].save(path)
    changed(path, lambda about, arrays: arrays.update(A=np.array([Harmful()], dtype=object)))
    with pytest.raises(FileError, match=r"'A'"):
        mse.read_result(path)


def test_arrays_that_promise_more_than_the_file_holds_are_refused(results, tmp_path):
    path = tmp_path / "a.npz"
    results["history"].save(path)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 6)})
    for compression, content in ((zipfile.ZIP_STORED, header.getvalue()), (zipfile.ZIP_DEFLATED, bytes(10**7))):
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, piece in (members | {"values.npy": content}).items():
                archive.writestr(name, piece)
        resealed(path)
        with pytest.raises(FileError, match=r"as many numbers as the bytes give|is compressed"):
            mse.read_result(path)


def test_hdf5_does_not_lead_to_other_files(results, tmp_path):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["time"] = np.zeros(6)
    (tmp_path / "raw").write_bytes(bytes(48))
    good = tmp_path / "good.h5"
    results["history"].save(good)

    def external(file):
        file["time"] = h5py.ExternalLink("secret.h5", "/time")

    def raw(file):
        file.create_dataset("time", (6,), "f8", external=[(str(tmp_path / "raw"), 0, 48)])

    def virtual(file):
        layout = h5py.VirtualLayout((6,), "f8")
        layout[:] = h5py.VirtualSource(str(secret), "time", (6,))
        file.create_virtual_dataset("time", layout)

    def bomb(file):
        file.create_dataset("time", (10**9,), "f8", chunks=True, compression="gzip")

    def filtered(file):
        file.create_dataset("time", data=np.arange(6.0), chunks=True, compression="gzip")

    def group(file):
        file.create_group("time")

    for change in (external, raw, virtual, bomb, filtered, group):
        path = tmp_path / "a.h5"
        path.write_bytes(good.read_bytes())
        with h5py.File(path, "r+") as file:
            del file["time"]
            change(file)
        resealed(path)
        with pytest.raises(FileError, match=r"'time' is not a plain array of numbers"):
            mse.read_result(path)


def test_sealed_nonsense_is_refused_by_name(results, tmp_path):
    rng = np.random.default_rng(2)
    for suffix in SUFFIXES:
        path = tmp_path / f"a{suffix}"
        results["history"].save(path)
        content = bytearray(path.read_bytes())
        for _ in range(40):
            broken = bytearray(content)
            for at in rng.integers(0, len(content), 4):
                broken[at] = rng.integers(256)
            path.write_bytes(bytes(broken))
            try:
                result_files._seal(path, suffix)
                mse.read_result(path)
            except FileError as error:
                assert re.search("expected", str(error))


def test_left_out_comes_back_with_its_bounds(results, tmp_path):
    ss = results["slow state space"]
    assert isinstance(ss.left_out, LeftOut)
    ss.save(tmp_path / "a.mat")
    again = mse.read_result(tmp_path / "a.mat").left_out
    np.testing.assert_array_equal(again.bound(), ss.left_out.bound())
    assert repr(again) == repr(ss.left_out)


def test_models_in_other_coordinates_come_back_with_their_parts(tmp_path):
    linear = hinged()
    inner, _ = linear.reduced
    small, _ = mse.reduce_model(linear, [f"bob.{c}" for c in ("x", "y", "z", "ax", "ay", "az")], modes=1)
    for model in (inner, small):
        model.save(tmp_path / "a.npz")
        again = mse.read_result(tmp_path / "a.npz")
        same(model, again)
        assert list(again.stiffness_parts) == list(model.stiffness_parts)
        for label, part in model.stiffness_parts.items():
            np.testing.assert_array_equal(again.stiffness_parts[label].toarray(), part.toarray())


def test_recorded_runs_can_be_saved_too(tmp_path):
    model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
    run = model.simulate(duration=1.0, dt=0.25, initial={"mass.x": 1.0}, record=tmp_path / "run.npy")
    run.save(tmp_path / "run.mat")
    again = mse.read_result(tmp_path / "run.mat")
    np.testing.assert_array_equal(again["mass.x"], run["mass.x"])
    assert again.final_state == run.final_state
