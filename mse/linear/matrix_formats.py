"""Matrices as finite-element programs write them: Harwell-Boeing, Nastran OUTPUT4, Abaqus matrix output.

All are read as lists of entries.  The size of the file limits their number; a header that announces more is refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..errors import FileError

_MOST = 2**31 - 1  # rows or columns


def complex_refused(path: str | Path, key: str) -> FileError:
    """The error for a complex matrix."""
    return FileError(
        f"{path}: {key!r} has complex numbers; expected real ones; save the real part, and give structural damping as "
        "loss factors of the frequency response"
    )


def _symmetric(matrix: sp.coo_matrix, sign: float = 1.0) -> sp.coo_matrix:
    """A symmetric matrix (skew with sign -1) from one of its triangles or from all entries."""
    i, j, values = matrix.row, matrix.col, matrix.data
    if np.any(i > j) and np.any(i < j):
        return matrix
    off = i != j
    rows, columns = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
    return sp.coo_matrix((np.concatenate([values, sign * values[off]]), (rows, columns)), shape=matrix.shape)


def _matrix(rows, columns, values, shape: tuple[int, int]) -> sp.coo_matrix:
    """A sparse matrix from entries, all of which must be within its shape."""
    rows, columns, values = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64), np.asarray(values)
    for index, length in ((rows, shape[0]), (columns, shape[1])):
        if len(index) and not (index.min() >= 0 and index.max() < length):
            raise ValueError(f"an entry lies at {index.min() + 1} or {index.max() + 1} of {length}")
    return sp.coo_matrix((values, (rows, columns)), shape=shape)  # its memory does not depend on the shape


def _shape(rows: int, columns: int) -> tuple[int, int]:
    if not (0 < rows <= _MOST and 0 < columns <= _MOST):
        raise ValueError(f"it has {rows} rows and {columns} columns")
    return rows, columns


# -- Harwell-Boeing ---------------------------------------------------------------------------------------------------
def harwell_boeing(path: Path) -> sp.coo_matrix:
    """The matrix of a Harwell-Boeing file, which must be assembled and real; symmetric storage is completed."""
    lines = path.read_text(encoding="latin-1").splitlines()
    if len(lines) < 4:
        raise ValueError("it has no header of four lines")
    counts = [int(lines[1][14 * k : 14 * k + 14] or 0) for k in range(1, 4)]
    kind = lines[2][:3].upper()
    rows, columns, entries = (int(lines[2][14 * k : 14 * k + 14]) for k in range(1, 4))
    if kind[:1] == "C":
        raise complex_refused(path, path.stem)
    if kind not in ("RSA", "RUA", "RZA", "RRA"):
        raise ValueError(f"it is of the type {kind!r}, not an assembled matrix of real numbers")
    shape = _shape(rows, columns)
    forms = [lines[3][:16], lines[3][16:32], lines[3][32:52]]
    at = 5 if len(lines[1]) > 56 and int(lines[1][56:70] or 0) else 4
    pieces = []
    for count, form, expected in zip(counts, forms, (columns + 1, entries, entries), strict=True):
        pieces.append(list(_fixed(lines[at : at + count], form, expected)))
        at += count
    starts = np.array(pieces[0], dtype=np.int64) - 1
    if starts[0] != 0 or starts[-1] != entries or np.any(np.diff(starts) < 0):
        raise ValueError("its column starts do not ascend to the number of entries")
    of_column = np.repeat(np.arange(columns), np.diff(starts))
    matrix = _matrix(np.array(pieces[1], dtype=np.int64) - 1, of_column, np.array(pieces[2], dtype=float), shape)
    if kind == "RZA":
        return _symmetric(matrix, -1.0)
    return _symmetric(matrix) if kind == "RSA" else matrix


def _fixed(lines: list[str], form: str, expected: int) -> Iterator[float]:
    """Numbers read from lines in a Fortran format such as (16I5) or (1P,5E16.8)."""
    found = re.search(r"(\d*)\s*([IEDFG])\s*(\d+)", re.sub(r"\d+P,?", "", form.upper()))
    if not found or not int(found[3]):
        raise ValueError(f"its format {form!r} is none of Fortran's for numbers")
    width, whole, count = int(found[3]), found[2] == "I", 0
    words = " ".join(lines).split()
    if len(words) == expected:  # separated by blanks: some programs use other column widths than their header says
        yield from (int(word) if whole else float(word.upper().replace("D", "E")) for word in words)
        return
    for line in lines:
        for k in range(int(found[1] or 1)):
            word = line[k * width : (k + 1) * width].strip()
            if not word or count == expected:
                break
            yield int(word) if whole else float(word.upper().replace("D", "E"))
            count += 1
    if count < expected:
        raise ValueError(f"it should have {expected} numbers in the format {form!r} but has {count}")


# -- Abaqus -----------------------------------------------------------------------------------------------------------
def abaqus(path: Path) -> sp.coo_matrix:
    """The matrix of Abaqus' matrix output, with lines "node, degree of freedom (twice), value" or "row, column, value".

    Rows are in ascending order of node and degree of freedom; of a symmetric matrix one triangle is enough.
    """
    words = [
        re.split(r"[\s,]+", line.strip().strip(","))
        for line in path.read_text(encoding="latin-1").splitlines()
        if line.strip() and not line.lstrip().startswith("*")
    ]
    lengths = {len(w) for w in words}
    if lengths not in ({5}, {3}):
        raise ValueError(f"its lines have {', '.join(map(str, sorted(lengths))) or 'no'} numbers")
    values = [float(w[-1].upper().replace("D", "E")) for w in words]
    if lengths == {3}:
        rows, columns = ([int(w[k]) - 1 for w in words] for k in (0, 1))
        size = max(max(rows), max(columns)) + 1
        if size > len(words):
            raise ValueError(f"row or column {size} lies beyond its {len(words)} entries")
        return _symmetric(_matrix(rows, columns, values, (size, size)))
    first, second = ([(int(w[k]), int(w[k + 1])) for w in words] for k in (0, 2))
    place = {key: k for k, key in enumerate(sorted({*first, *second}))}
    found = _matrix([place[k] for k in first], [place[k] for k in second], values, (len(place), len(place)))
    return _symmetric(found)


# -- Nastran ----------------------------------------------------------------------------------------------------------
def output4(path: Path) -> Iterator[tuple[str, sp.coo_matrix, bool]]:
    """Name, matrix and whether it was stored dense, for each matrix in a Nastran OUTPUT4 file, binary or text."""
    content = path.read_bytes()
    marker = {content[:4]: "<", content[3::-1]: ">"} if len(content) > 8 else {}
    for length in (24, 48):
        order = marker.get(struct.pack("<i", length))
        if order is not None:
            yield from _Output4(path, _binary(content, order, length // 6))
            return
    yield from _Output4(path, _text(content.decode("ascii")))


class _Output4:
    """Matrices from the columns of either form; a column is its number, its first row, and a function that reads its values."""

    def __init__(self, path: Path, source: Iterator):
        self.path, self.source = path, source

    def __iter__(self) -> Iterator[tuple[str, sp.coo_matrix, bool]]:
        for name, shape, kind, columns in self.source:
            if kind in (3, 4):
                raise complex_refused(self.path, name)
            if kind not in (1, 2):
                raise ValueError(f"{name!r} is of the type {kind}")
            rows, of_column, values, dense = [], [], [], True
            for column, first, numbers, is_dense in columns:
                dense &= is_dense
                rows.append(np.arange(first - 1, first - 1 + len(numbers)))
                of_column.append(np.full(len(numbers), column - 1))
                values.append(numbers)
            empty = [np.zeros(0)]
            whole = (np.concatenate(x or empty) for x in (rows, of_column, values))
            yield name, _matrix(*whole, _shape(*shape)), dense


def _strings(first: int, words: int, big: bool, per_number: int, head, take) -> Iterator[tuple[int, np.ndarray, bool]]:
    """First row and values of the pieces of a column; ``head(n)`` gives n integers, ``take(n)`` n numbers."""
    if first:
        yield first, take(words), True
        return
    while words > 0:
        if big:
            length, row = head(2)
            length, used = length - 1, 2
        else:
            (packed,) = head(1)
            length, used = packed // 65536 - 1, 1
            row = packed - 65536 * (length + 1)
        if length <= 0 or length % per_number or length + used > words:
            raise ValueError(f"a piece of {length} words does not fit into a column of {words}")
        words -= length + used
        yield row, take(length // per_number), False


def _text(content: str) -> Iterator:
    lines = iter(content.splitlines())

    def numbers(count: int, width: int, a_line: int) -> np.ndarray:
        out: list[float] = []
        while len(out) < count:
            line = next(lines, None)
            if line is None:
                raise ValueError(f"it ends within {count} numbers")
            for k in range(min(a_line, count - len(out))):
                out.append(float(line[k * width : (k + 1) * width].upper().replace("D", "E")))
        return np.array(out)

    def integers(line: str | None, count: int) -> list[int]:
        if line is None:
            raise ValueError("it ends within a matrix")
        return [int(line[8 * k : 8 * k + 8]) for k in range(count)]

    for line in lines:
        if not line.strip():
            continue
        columns, rows, _, kind = integers(line, 4)
        found = re.search(r"(\d+)\s*[EDFG]\s*(\d+)", re.sub(r"\d+P,?", "", line[40:].upper()))
        a_line, width = (int(found[1]), int(found[2])) if found else (5, 16)
        if not a_line or not width:
            raise ValueError(f"its format {line[40:]!r} has no numbers")
        big, per_number = rows < 0, 1 if kind in (1, 3) else 2

        def pieces(columns=columns, big=big, per_number=per_number, width=width, a_line=a_line) -> Iterator:
            while True:
                column, first, words = integers(next(lines, None), 3)
                if column > columns:
                    numbers(1, width, a_line)
                    return
                for piece in _strings(
                    first,
                    words,
                    big,
                    per_number,
                    lambda n: integers(next(lines, None), n),
                    lambda n: numbers(n, width, a_line),
                ):
                    yield column, *piece

        yield line[32:40].strip(), (abs(rows), columns), kind, pieces()


def _binary(content: bytes, order: str, size: int) -> Iterator:
    """Matrices from Fortran records; ``size`` (4 or 8) is the size of integers and words."""
    at, code = 0, "i" if size == 4 else "q"

    def record() -> bytes | None:
        nonlocal at
        if at == len(content):
            return None
        (length,) = struct.unpack_from(order + "i", content, at)
        piece = content[at + 4 : at + 4 + length]
        if length < 0 or len(piece) != length or content[at : at + 4] != content[at + 4 + length : at + 8 + length]:
            raise ValueError(f"the record at byte {at} is not whole")
        at += length + 8
        return piece

    while (head := record()) is not None:
        if len(head) != 6 * size:
            raise ValueError(f"a matrix begins with {len(head)} bytes")
        columns, rows, _, kind = struct.unpack_from(f"{order}4{code}", head)
        name = head[4 * size :].decode("ascii").strip()
        number = np.dtype(order + ("f4" if kind in (1, 3) and size == 4 else "f8"))
        big, per_number = rows < 0, number.itemsize // size

        def pieces(columns=columns, big=big, number=number, per_number=per_number) -> Iterator:
            while True:
                line = record()
                if line is None:
                    raise ValueError("it ends within a matrix")
                column, first, words = struct.unpack_from(f"{order}3{code}", line)
                if column > columns:
                    return
                place = 3 * size

                def head_of(n: int, line=line) -> tuple[int, ...]:
                    nonlocal place
                    found = struct.unpack_from(f"{order}{n}{code}", line, place)
                    place += n * size
                    return found

                def take(n: int, line=line) -> np.ndarray:
                    nonlocal place
                    found = np.frombuffer(line, number, n, place).astype(float)
                    place += n * number.itemsize
                    return found

                if first and words % per_number:
                    raise ValueError(f"a column of {words} words does not consist of whole numbers")
                words_or_numbers = words // per_number if first else words
                for piece in _strings(first, words_or_numbers, big, per_number, head_of, take):
                    yield column, *piece

        yield name, (abs(rows), columns), kind, pieces()
