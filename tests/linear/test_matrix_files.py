"""Reading matrices from files, sound and damaged."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from textbook_frames import Bar, chain

import mse
from mse import ModelError, UnknownNameError
from mse.linear import matrix_files
from mse.linear.matrix_files import read_matrices

BAR = Bar()


def test_numpy_files(tmp_path):
    m, k = chain(BAR, 3)
    np.savez(tmp_path / "bar.npz", M=m.toarray(), K=k.toarray().astype(np.float32), steps=np.arange(3))
    found = read_matrices(tmp_path / "bar.npz")
    assert set(found) == {"M", "K", "steps"}
    np.testing.assert_array_equal(found["M"], m.toarray())
    assert found["K"].dtype == float
    assert set(read_matrices(tmp_path / "bar.npz", names=["M"])) == {"M"}


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.dia_matrix, sp.csc_array])
def test_sparse_numpy_files_are_named_as_they_are(tmp_path, kind):
    m, k = chain(BAR, 3)
    for name, a in (("M", m), ("K", k)):
        sp.save_npz(tmp_path / f"{name}.npz", kind(a))
    found = read_matrices(tmp_path / "M.npz", tmp_path / "K.npz", names=("M", "K"))
    assert sp.issparse(found["K"]) and abs(found["K"] - k).max() == 0 and abs(found["M"] - m).max() == 0


def test_matlab_files(tmp_path):
    m, k = chain(BAR, 3)
    scipy.io.savemat(tmp_path / "bar.mat", {"M": m.tocsc(), "K": k.toarray(), "note": "made by hand"})
    found = read_matrices(tmp_path / "bar.mat", names=("M", "K"))
    assert abs(found["M"] - m).max() == 0
    np.testing.assert_array_equal(found["K"], k.toarray())
    with pytest.raises(ModelError, match="'note' contains char and no numbers; expected a matrix.*names="):
        read_matrices(tmp_path / "bar.mat")


@pytest.mark.parametrize("symmetry", ["symmetric", "general"])
def test_matrix_market_files(tmp_path, symmetry):
    _, k = chain(BAR, 3)
    k = 0.5 * (k + k.T)
    scipy.io.mmwrite(tmp_path / "K.mtx", k, symmetry=symmetry, precision=17)
    found = read_matrices(tmp_path / "K.mtx")
    assert abs(found["K"] - k).max() == 0
    scipy.io.mmwrite(tmp_path / "D.mtx", k.toarray(), symmetry=symmetry, precision=17)
    np.testing.assert_array_equal(read_matrices(tmp_path / "D.mtx")["D"], k.toarray())


def test_matrix_market_by_hand(tmp_path):
    path = tmp_path / "K.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate real symmetric\n% lower triangle\n2 2 3\n1 1 2\n2 1 -1.5\n2 2 3\n"
    )
    np.testing.assert_array_equal(read_matrices(path)["K"].toarray(), [[2, -1.5], [-1.5, 3]])


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('ran what was in the file')",)


def test_what_is_in_a_file_is_never_run(tmp_path):
    np.savez(tmp_path / "bomb.npz", K=np.array([Bomb()], dtype=object))
    with pytest.raises(ModelError, match="contains Python objects, which are never read"):
        read_matrices(tmp_path / "bomb.npz")
    import pickle

    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelError, match="cannot be read as .npz"):
        read_matrices(tmp_path / "pickle.npz")


def test_files_are_refused_by_name(tmp_path):
    with pytest.raises(ModelError, match="nothere.npz: there is no such file"):
        read_matrices(tmp_path / "nothere.npz")
    with pytest.raises(ModelError, match=r"K.op2: its suffix is '.op2'; expected one of .npz, .mat, .mtx"):
        read_matrices(tmp_path / "K.op2")
    np.savez(tmp_path / "a.npz", Mass=np.eye(2), K=np.eye(2))
    with pytest.raises(UnknownNameError, match=r"a.npz: no matrix 'mass' \(did you mean 'Mass'\?\)"):
        read_matrices(tmp_path / "a.npz", names=("mass", "K"))
    with pytest.raises(ModelError, match="it contains 'K', as another file does"):
        read_matrices(tmp_path / "a.npz", tmp_path / "a.npz", names="K")
    scipy.io.savemat(tmp_path / "a.mat", {"Mass": np.eye(2)})
    with pytest.raises(UnknownNameError, match="did you mean 'Mass'"):
        read_matrices(tmp_path / "a.mat", names="mass")
    np.savez(tmp_path / "c.npz", K=1j * np.eye(2))
    with pytest.raises(ModelError, match="'K' has complex numbers; expected real ones.*loss factors"):
        read_matrices(tmp_path / "c.npz")
    scipy.io.savemat(tmp_path / "s.mat", {"model": {"K": np.eye(2)}})
    with pytest.raises(ModelError, match="'model' contains .* and no numbers"):
        read_matrices(tmp_path / "s.mat")


@pytest.mark.parametrize("name", ["a.npz", "a.mat", "a.mtx"])
@pytest.mark.parametrize(
    "content", [b"", b"not this at all, whatever it was", b"%%MatrixMarket matrix coordinate real\n9 9"]
)
def test_damaged_files_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=rf"{name}: it "):
        read_matrices(tmp_path / name)


def test_truncated_files_are_refused(tmp_path):
    scipy.io.savemat(tmp_path / "K.mat", {"K": np.arange(400.0).reshape(20, 20)})
    np.savez(tmp_path / "K.npz", K=np.arange(400.0).reshape(20, 20))
    scipy.io.mmwrite(tmp_path / "K.mtx", np.arange(400.0).reshape(20, 20))
    for name in ("K.mat", "K.npz", "K.mtx"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ModelError, match=f"{name}: it cannot be read"):
            read_matrices(tmp_path / name)


def test_matlab_73_is_refused_with_the_remedy(tmp_path):
    # its first 128 bytes: text, version 2.0, endian mark
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    (tmp_path / "new.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(600))
    with pytest.raises(ModelError, match=r"version 7.3; expected version 7 or older; save it by .*'-v7'"):
        read_matrices(tmp_path / "new.mat")


@pytest.mark.parametrize("kind", [b"csr", b"csc"])
def test_indices_out_of_range_are_refused(tmp_path, kind):
    np.savez(tmp_path / "K.npz", format=np.array(kind), shape=(2, 2), data=np.ones(2), indices=np.array([0, 700]),
             indptr=np.array([0, 1, 2]))  # fmt: skip
    with pytest.raises(ModelError, match=r"K.npz: .*expected a whole"):
        read_matrices(tmp_path / "K.npz")


def header(shape: str, kind: str = "<f8") -> bytes:
    text = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (64 - (10 + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "M.npz",
            header("(1000000, 1000000)"),
            "'M' promises 1000000000000 numbers and has 128 bytes; expected a whole",
        ),
        ("M.npz", header("(-1, 3)"), "it cannot be read as .npz"),
        ("M.npz", header("(3, 3)") + bytes(72), None),
        (
            "M.mtx",
            "coordinate real general\n1000000000000 1000000000000 1\n1 1 1.0\n",
            "'M' would take 8e.03 GB, from a file",
        ),
        ("M.mtx", "array real general\n1000000 1000000\n1\n", "it promises 1000000000000 entries and has 59 bytes"),
        ("M.mtx", "coordinate real general\n3 3 1000000000000\n1 1 1\n", "it promises 1000000000000 entries and has"),
        ("M.mtx", "coordinate pattern general\n3 3 1\n1 1\n", None),
    ],
)
def test_files_that_promise_more_than_they_hold_are_refused(tmp_path, name, content, said):
    path = tmp_path / name
    if name == "M.npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("M.npy", content)
    else:
        path.write_text("%%MatrixMarket matrix " + content)
    if said is None:
        assert read_matrices(path)["M"].shape == (3, 3)
        return
    with pytest.raises(mse.FileError, match=f"{name}: {said}"):
        read_matrices(path)


def test_memory_goes_by_the_size_of_the_file(tmp_path, monkeypatch):
    """With limits that a test can reach: zeros that compress a thousand times, and rows that nothing is in."""
    monkeypatch.setattr(matrix_files, "_ALWAYS", 1e5)
    np.savez_compressed(tmp_path / "a.npz", K=np.zeros((1000, 1000)), M=np.eye(3))
    scipy.io.savemat(tmp_path / "a.mat", {"K": np.zeros((1000, 1000)), "M": np.eye(3)}, do_compression=True)
    for name in ("a.npz", "a.mat"):
        with pytest.raises(mse.FileError, match=f"{name}: 'K' would take 0.008 GB, from a file of .*save it sparse"):
            read_matrices(tmp_path / name)
        assert set(read_matrices(tmp_path / name, names=["M"])) == {"M"}
    sp.save_npz(tmp_path / "S.npz", sp.coo_matrix((10**6, 10**6)))
    with pytest.raises(mse.FileError, match="'S' would take 0.008 GB"):
        read_matrices(tmp_path / "S.npz")
    np.savez(tmp_path / "b.npz", K=np.zeros((300, 300)))
    assert read_matrices(tmp_path / "b.npz")["K"].shape == (300, 300)


def test_whatever_a_damaged_file_makes_its_reader_raise_is_told(tmp_path):
    rng = np.random.default_rng(3)
    scipy.io.savemat(tmp_path / "a.mat", {"M": np.eye(3), "cell": np.array([["text"]], dtype=object)})
    np.savez(tmp_path / "a.npz", M=np.eye(3), K=np.eye(3))
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.eye(3))
    read, refused = 0, 0
    for name, first in (("a.mat", 128), ("a.npz", 0), ("a.mtx", 0)):
        whole = (tmp_path / name).read_bytes()
        for _ in range(60):
            damaged = bytearray(whole)
            for place in rng.integers(first, len(whole), 4):
                damaged[place] = rng.integers(256)
            (tmp_path / name).write_bytes(damaged)
            try:
                read_matrices(tmp_path / name, names=["M"])
                read += 1
            except mse.FileError as error:  # and nothing else
                refused += name in str(error)
    assert read + refused == 180 and refused > 60


def test_places_that_hold_no_matrices(tmp_path):
    (tmp_path / "K.npz").mkdir()
    with pytest.raises(mse.FileError, match=r"K\.npz is a folder; expected a file"):
        read_matrices(tmp_path / "K.npz")
    with pytest.raises(mse.FileError, match="path is None; expected the name of a file"):
        read_matrices(None)
