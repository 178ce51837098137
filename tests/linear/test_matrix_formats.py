"""Matrices of finite-element programs: Harwell-Boeing, OUTPUT4 of Nastran, Abaqus; damaged and hostile files."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import mse
from mse.errors import FileError

RNG = np.random.default_rng(3)
FULL = RNG.normal(size=(5, 4))
STIFFNESS = (lambda a: a + a.T)(np.where(RNG.random((7, 7)) < 0.4, RNG.normal(size=(7, 7)), 0.0)) + 5 * np.eye(7)


def dense(value) -> np.ndarray:
    return value.toarray() if sp.issparse(value) else value


# -- Harwell-Boeing ---------------------------------------------------------------------------------------------------
def boeing(matrix, kind: str = "RUA", form: str = "(3E25.16)") -> str:
    """A Harwell-Boeing file by its definition: 4 header lines, column starts, row numbers, values."""
    a = sp.csc_matrix(matrix)

    def block(numbers, per_line, write):
        return ["".join(map(write, numbers[k : k + per_line])) for k in range(0, len(numbers), per_line)]

    starts = block(a.indptr + 1, 8, "{:10d}".format)
    rows = block(a.indices + 1, 8, "{:10d}".format)
    values = block(a.data, 3, "{:25.16E}".format)
    counts = (len(starts) + len(rows) + len(values), len(starts), len(rows), len(values), 0)
    head = [f"{'title':72}{'key':8}", "".join(f"{n:14d}" for n in counts)]
    head.append(f"{kind:3}{'':11}" + "".join(f"{n:14d}" for n in (*a.shape, a.nnz, 0)))
    head.append(f"{'(8I10)':16}{'(8I10)':16}{form:20}{'':20}")
    return "\n".join(head + starts + rows + values) + "\n"


def test_harwell_boeing(tmp_path):
    (tmp_path / "K.rua").write_text(boeing(FULL))
    np.testing.assert_array_equal(dense(mse.read_matrices(tmp_path / "K.rua")["K"]), FULL)
    (tmp_path / "M.rsa").write_text(boeing(np.tril(STIFFNESS), "RSA", "(1P,3E25.16)").replace("E+00", "D+00"))
    np.testing.assert_array_equal(dense(mse.read_matrices(tmp_path / "M.rsa")["M"]), STIFFNESS)
    scipy.io.hb_write(tmp_path / "S.hb", sp.csc_matrix(STIFFNESS))
    np.testing.assert_array_equal(dense(mse.read_matrices(tmp_path / "S.hb")["S"]), STIFFNESS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.replace("RUA", "CUA"), "complex numbers"),
        (lambda s: s.replace("RUA", "PUA"), "of the type 'PUA'"),
        (lambda s: s[:400], "it should have .* but has"),
        (lambda s: s.replace("(3E25.16)", "(nonsense"), "none of Fortran's"),
        (lambda s: s[:100], "no header of four lines"),
        (lambda s: s.replace(f"{5:14d}{4:14d}", f"{5:14d}{2**30:14d}"), "it should have .* but has"),
        (lambda s: s.replace(f"{5:14d}{4:14d}", f"{2:14d}{4:14d}"), "an entry lies at"),
        (lambda s: s.replace(f"{5:14d}{4:14d}", f"{2**31 - 2:14d}{4:14d}"), "would take 17.2 GB"),
    ],
)
def test_harwell_boeing_that_is_damaged_or_no_real_matrix(change, message, tmp_path):
    (tmp_path / "K.rua").write_text(change(boeing(FULL)))
    with pytest.raises(FileError, match=rf"K.rua: .*{message}"):
        mse.read_matrices(tmp_path / "K.rua")


# -- Nastran ----------------------------------------------------------------------------------------------------------
def pieces_of(column: np.ndarray):
    """First row (from 0) and values of each run of entries that are not zero."""
    at = np.flatnonzero(column)
    return [(run[0], column[run]) for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)] if len(at) else []


def text4(name: str, matrix: np.ndarray, way: str) -> str:
    """OUTPUT4 as text: ``way`` is dense, sparse or big."""
    rows, columns = matrix.shape
    out = [f"{columns:8d}{-rows if way == 'big' else rows:8d}{2:8d}{2:8d}{name:8}1P,3E23.16"]

    def numbers(values):
        out.extend("".join(f"{x:23.16E}" for x in values[k : k + 3]) for k in range(0, len(values), 3))

    for j in range(columns):
        runs = pieces_of(matrix[:, j])
        if not runs:
            continue
        if way == "dense":
            first, last = runs[0][0], runs[-1][0] + len(runs[-1][1])
            out.append(f"{j + 1:8d}{first + 1:8d}{last - first:8d}")
            numbers(matrix[first:last, j])
            continue
        head = 2 if way == "big" else 1
        out.append(f"{j + 1:8d}{0:8d}{sum(head + 2 * len(v) for _, v in runs):8d}")
        for row, values in runs:
            length = 2 * len(values) + 1
            out.append(f"{length:8d}{row + 1:8d}" if way == "big" else f"{row + 1 + 65536 * length:12d}"[-8:])
            numbers(values)
    out += [f"{columns + 1:8d}{1:8d}{1:8d}", f"{1.0:23.16E}"]
    return "\n".join(out) + "\n"


def binary4(name: str, matrix: np.ndarray, way: str, order: str = "<", size: int = 4) -> bytes:
    """OUTPUT4 as Fortran's unformatted records."""
    rows, columns = matrix.shape
    code, words = ("i", 2) if size == 4 else ("q", 1)

    def record(content: bytes) -> bytes:
        return struct.pack(order + "i", len(content)) + content + struct.pack(order + "i", len(content))

    def integers(*values) -> bytes:
        return struct.pack(f"{order}{len(values)}{code}", *values)

    out = record(integers(columns, -rows if way == "big" else rows, 2, 2) + f"{name:{2 * size}}".encode())
    for j in range(columns):
        runs = pieces_of(matrix[:, j])
        if not runs:
            continue
        if way == "dense":
            first, last = runs[0][0], runs[-1][0] + len(runs[-1][1])
            values = matrix[first:last, j].astype(order + "f8").tobytes()
            out += record(integers(j + 1, first + 1, words * (last - first)) + values)
            continue
        head = 2 if way == "big" else 1
        content = integers(j + 1, 0, sum(head + words * len(v) for _, v in runs))
        for row, values in runs:
            length = words * len(values) + 1
            content += integers(length, row + 1) if way == "big" else integers(row + 1 + 65536 * length)
            content += values.astype(order + "f8").tobytes()
        out += record(content)
    return out + record(integers(columns + 1, 1, 1) + struct.pack(order + "d", 1.0))


@pytest.mark.parametrize("way", ["dense", "sparse", "big"])
def test_output4(way, tmp_path):
    path = tmp_path / "model.op4"
    forms = [binary4("KAA", STIFFNESS, way, order, size) + binary4("PHI", FULL, way, order, size)
             for order in "<>" for size in (4, 8)]  # fmt: skip
    forms.append((text4("KAA", STIFFNESS, way) + text4("PHI", FULL, way)).encode())
    for content in forms:
        path.write_bytes(content)
        found = mse.read_matrices(path)
        assert list(found) == ["KAA", "PHI"]
        assert sp.issparse(found["KAA"]) == (way != "dense")
        np.testing.assert_array_equal(dense(found["KAA"]), STIFFNESS)
        np.testing.assert_array_equal(dense(found["PHI"]), FULL)
        assert list(mse.read_matrices(path, names=["PHI"])) == ["PHI"]


def test_single_precision_and_complex_output4(tmp_path):
    path = tmp_path / "model.op4"
    head = struct.pack("<i4i8si", 24, 2, 3, 2, 1, b"A       ", 24)
    column = struct.pack("<i3i3fi", 24, 2, 1, 3, 1.0, 2.5, -3.0, 24)
    end = struct.pack("<i3ifi", 16, 3, 1, 1, 1.0, 16)
    path.write_bytes(head + column + end)
    np.testing.assert_array_equal(mse.read_matrices(path)["A"], [[0, 1.0], [0, 2.5], [0, -3.0]])
    path.write_bytes(struct.pack("<i4i8si", 24, 2, 3, 2, 4, b"A       ", 24) + column + end)
    with pytest.raises(FileError, match="'A' has complex numbers"):
        mse.read_matrices(path)


def test_output4_that_promises_too_much_or_holds_a_name_twice(tmp_path):
    path = tmp_path / "model.op4"
    path.write_bytes(binary4("A", FULL, "dense") + binary4("A", FULL, "dense"))
    with pytest.raises(FileError, match="it contains 'A' twice"):
        mse.read_matrices(path)
    good = binary4("A", FULL, "dense")
    path.write_bytes(good.replace(struct.pack("<2i", 4, 5), struct.pack("<2i", 4, 2**31 - 1), 1))
    with pytest.raises(FileError, match="'A' would take 68.7 GB"):
        mse.read_matrices(path)


# -- Abaqus -----------------------------------------------------------------------------------------------------------
def test_abaqus(tmp_path):
    # 2 nodes with 3 and 4 degrees of freedom, numbered in any order, lower triangle
    keys = [(7, 1), (7, 2), (7, 3), (12, 1), (12, 2), (12, 3), (12, 6)]
    lines = ["** written by Abaqus", "*MATRIX INPUT"]
    for i, j in zip(*np.nonzero(np.tril(STIFFNESS)), strict=True):
        lines.append(f"{keys[i][0]},{keys[i][1]}, {keys[j][0]},{keys[j][1]}, {STIFFNESS[i, j]:.17e}")
    path = tmp_path / "job_STIF1.mtx"
    for text in ("\n".join(lines), "\n".join(reversed(lines)).replace(",", " ")):
        path.write_text(text)
        np.testing.assert_array_equal(dense(mse.read_matrices(path)["job_STIF1"]), STIFFNESS)
    rows = [f"{i + 1} {j + 1} {STIFFNESS[i, j]:.17e}" for i, j in zip(*np.nonzero(STIFFNESS), strict=True)]
    path.write_text("\n".join(rows))
    np.testing.assert_array_equal(dense(mse.read_matrices(path)["job_STIF1"]), STIFFNESS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,1,1,1,1.0\n1,1,2.0", "lines have 3, 5 numbers"),
        ("", "lines have no numbers"),
        ("1,1,1,1,one", "could not convert"),
        ("1 1 1.0\n2000000000 1 3.0", "lies beyond its 2 entries"),
        ("0 1 1.0\n1 1 3.0", "an entry lies at"),
        ("1,1,1,1,nan", None),
    ],
)
def test_abaqus_that_is_damaged(text, message, tmp_path):
    (tmp_path / "K.mtx").write_text(text)
    if message is None:
        found = mse.read_matrices(tmp_path / "K.mtx")["K"]
        with pytest.raises(mse.ModelError, match="K"):
            mse.LinearModel.from_matrices(np.eye(1), None, found)
        return
    with pytest.raises(FileError, match=rf"K.mtx: .*{message}"):
        mse.read_matrices(tmp_path / "K.mtx")


# -- damage -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["K.rua", "K.op4", "T.op4", "K.mtx"])
def test_damaged_files_give_matrices_or_a_refusal_by_name(name, tmp_path):
    content = {
        "K.rua": boeing(FULL).encode(),
        "K.op4": binary4("KAA", STIFFNESS, "sparse") + binary4("PHI", FULL, "big"),
        "T.op4": (text4("KAA", STIFFNESS, "sparse") + text4("PHI", FULL, "big")).encode(),
        "K.mtx": "\n".join(f"{i + 1} 1 {j + 1} 1 {STIFFNESS[i, j]:.6f}" for i in range(7) for j in range(7)).encode(),
    }[name]
    rng, path, refused = np.random.default_rng(4), tmp_path / name, 0
    damaged = [content[:n] for n in rng.integers(0, len(content), 60)]
    for _ in range(240):
        piece = bytearray(content)
        for at in rng.integers(0, len(content), rng.integers(1, 4)):
            piece[at] = rng.integers(256) if rng.random() < 0.5 else piece[at] ^ (1 << rng.integers(8))
        damaged.append(bytes(piece))
    for piece in damaged:
        path.write_bytes(piece)
        try:
            for value in mse.read_matrices(path).values():
                assert dense(value).ndim == 2 if max(value.shape) < 1000 else True
        except FileError as error:
            assert name in str(error) and "expected" in str(error)
            refused += 1
    assert refused > 60
