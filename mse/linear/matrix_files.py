"""Matrices from files of finite-element and mathematics programs; reading never runs code from a file."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from ..errors import FileError, UnknownNameError, nearest_name
from ..numerics.sparse_tools import of_matrices
from ..validation.file_access import existing_file, file_path
from ..validation.matlab_5 import NUMERIC, arrays_in
from .matrix_formats import abaqus, complex_refused, harwell_boeing, output4

_HARWELL_BOEING = (".hb", ".rb", ".rsa", ".rua")
_SUFFIXES = (".npz", ".mat", ".mtx", ".op4", *_HARWELL_BOEING)
_SPARSE_KEYS = {"format", "shape", "data"}  # keys that scipy.sparse.save_npz writes for every kind of matrix
# Largest memory for a matrix: 1 GB for any file, 100 times its size for larger ones.  Matrices of mostly zeros compress about
# ten times; text and zip files can promise a thousand times their size
# (tests/linear/test_matrix_files.py::test_memory_goes_by_the_size_of_the_file).
_ALWAYS, _TIMES = 1e9, 100


def read_matrices(
    path: str | Path, *more: str | Path, names: Sequence[str] | None = None
) -> dict[str, np.ndarray | sp.csr_matrix]:
    """The matrices in files by name, dense as arrays and sparse as csr matrices.

    A ``.npz`` of numpy and a ``.mat`` of MATLAB (up to version 7) contain several, each under its name; Matrix Market ``.mtx``
    and what ``scipy.sparse.save_npz`` writes contain one, named as its file: ``read_matrices("M.mtx", "K.mtx")`` gives "M" and
    "K".  So do Harwell-Boeing files ``.hb``, ``.rb``, ``.rsa``, ``.rua`` and Abaqus' matrix output, whose ``.mtx`` has node,
    degree of freedom, twice, and value in each line, or row, column and value; its rows are taken in ascending order of both.  A
    ``.op4`` of Nastran, text or binary, contains several.  Symmetric storage is completed.  Reading never runs code from a file.

    Parameters
    ----------
    path : path
        File to read.
    *more : path
        Further files.
    names : sequence of str, optional
        Matrices wanted; the others stay unread.

    Returns
    -------
    dict
        Arrays and ``scipy.sparse.csr_matrix`` by name.

    Raises
    ------
    FileError
        A file is missing, damaged, of another kind, contains complex numbers or objects, or asks for more than 1 GB of memory and
        100 times its size.
    UnknownNameError
        A wanted matrix is not there; the message offers the nearest name.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "blade.npz")
    ...     np.savez(path, M=np.eye(2), K=np.diag([4.0, 9.0]))
    ...     matrices = mse.read_matrices(path)
    >>> model = mse.LinearModel.from_matrices(matrices["M"], None, matrices["K"])
    >>> 2 * np.pi * model.modes().frequencies_hz
    array([2., 3.])
    """
    if isinstance(names, str):
        names = [names]
    found: dict[str, np.ndarray | sp.csr_matrix] = {}
    for each in (path, *more):
        for key, value in _read(file_path(each), names).items():
            if key in found:
                raise FileError(f"{each}: it contains {key!r}, as another file does; expected different names")
            found[key] = _checked(each, key, value)
    for name in names or ():
        if name not in found:
            files = ", ".join(str(p) for p in (path, *more))
            raise UnknownNameError(f"{files}: no matrix {name!r}{nearest_name(name, _known((path, *more)))}")
    return found


def _read(path: Path, names: Sequence[str] | None) -> dict:
    if path.suffix.lower() not in _SUFFIXES:
        raise FileError(
            f"{path}: its suffix is {path.suffix!r}; expected one of {', '.join(_SUFFIXES)}; export the matrices in one of "
            "these, Matrix Market if in doubt"
        )
    existing_file(path)
    readers = {".npz": _read_npz, ".mat": _read_mat, ".mtx": _read_mtx, ".op4": _read_op4}
    reader = readers.get(path.suffix.lower(), _read_harwell_boeing)
    try:
        return reader(path, names)
    except FileError:
        raise
    except Exception as error:  # a damaged file makes NumPy's and SciPy's readers fail in any way
        if isinstance(error, NotImplementedError) and reader is _read_mat:
            # version 7.3 is HDF5, which SciPy does not read
            raise FileError(
                f"{path}: it is a MATLAB file of version 7.3; expected version 7 or older; save it by save(file, 'M', 'K', '-v7')"
            ) from None
        hint = "; it contains Python objects, which are never read: save plain arrays" if "ickle" in str(error) else ""
        raise FileError(
            f"{path}: it cannot be read as {path.suffix} ({error}); expected a whole file of that kind{hint}"
        ) from error


def _read_npz(path: Path, names: Sequence[str] | None) -> dict:
    with path.open("rb") as file:
        if file.read(6) == b"\x93NUMPY":
            raise FileError(
                f"{path}: it contains a single array (.npy); expected .npz; save it by numpy.savez(file, K=K)"
            )
        with zipfile.ZipFile(file) as archive:
            _check_npz(path, archive, names)
        file.seek(0)
        content = np.load(file, allow_pickle=False)
        if not set(content.files) >= _SPARSE_KEYS:
            return {key: content[key] for key in content.files if names is None or key in names}
        file.seek(0)
        return _only(path, sp.load_npz(file), names)


def _check_npz(path: Path, archive: zipfile.ZipFile, names: Sequence[str] | None) -> None:
    """Refuse arrays larger than the data in the file, or larger than its size allows, before any is made."""
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    for key, info in members.items():
        if names is not None and key not in names and not members.keys() >= _SPARSE_KEYS:
            continue
        _check_size(path, key, info.file_size)
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(
                version
            )
            if reader is None:  # names of record fields in other alphabets: not a matrix
                raise FileError(f"{path}: {key!r} is no matrix; expected plain arrays of numbers")
            shape, _, dtype = reader(member)
        count = math.prod(shape)
        if count * dtype.itemsize > info.file_size and not dtype.hasobject:
            raise FileError(
                f"{path}: {key!r} promises {count} numbers and has {info.file_size} bytes; expected a whole file"
            )
        _check_size(path, key, 8 * count)


def _check_size(path: Path, key: str, size: float) -> None:
    """Refuse a matrix of ``size`` bytes if the file is too small for it."""
    held = path.stat().st_size
    if size > max(_ALWAYS, _TIMES * held):
        raise FileError(
            f"{path}: {key!r} would take {size / 1e9:.3g} GB, from a file of {held / 1e9:.3g} GB; expected at most 1 GB, or "
            f"{_TIMES} times the file; save it sparse, by scipy.sparse.save_npz, or without compression"
        )


def _read_mat(path: Path, names: Sequence[str] | None) -> dict:
    version = scipy.io.matlab.matfile_version(path)[0]
    most = max(_ALWAYS, _TIMES * path.stat().st_size)
    found = arrays_in(path, most=most) if version == 1 else scipy.io.whosmat(path)
    wanted = [(key, shape, kind) for key, shape, kind in found if names is None or key in names]
    for key, shape, kind in wanted:
        if kind not in NUMERIC:
            raise _no_numbers(path, key, kind)
        _check_size(path, key, 8.0 * (max(shape, default=0) if kind == "sparse" else math.prod(shape)))
    content = of_matrices(scipy.io.loadmat)(path, variable_names=[key for key, _, _ in wanted])
    return {key: value for key, value in content.items() if not key.startswith("__")}


def _read_harwell_boeing(path: Path, names: Sequence[str] | None) -> dict:
    return _only(path, harwell_boeing(path), names)


def _read_op4(path: Path, names: Sequence[str] | None) -> dict:
    found = {}
    for key, matrix, dense in output4(path):
        if key in found:
            raise FileError(f"{path}: it contains {key!r} twice; expected different names")
        if names is not None and key not in names:
            found[key] = None
            continue
        if dense:
            _check_size(path, key, 8.0 * math.prod(matrix.shape))
        else:
            _check_size(path, key, 8.0 * max(matrix.shape))
        found[key] = matrix.toarray() if dense else matrix
    return {key: value for key, value in found.items() if value is not None}


def _read_mtx(path: Path, names: Sequence[str] | None) -> dict:
    with path.open("rb") as file:
        if file.read(2) != b"%%":
            return _only(path, abaqus(path), names)
    rows, columns, count, kind, _, _ = scipy.io.mminfo(path)
    # an entry takes at least four characters with indices, one in half a dense matrix without them
    least = 4 * count if kind == "coordinate" else rows * columns
    if least > path.stat().st_size:
        raise FileError(
            f"{path}: it promises {count} entries and has {path.stat().st_size} bytes; expected a whole file"
        )
    _check_size(path, path.stem, 8.0 * (max(rows, columns) if kind == "coordinate" else rows * columns))
    return _only(path, of_matrices(scipy.io.mmread)(path), names)


def _only(path: Path, matrix, names: Sequence[str] | None) -> dict:
    return {path.stem: matrix} if names is None or path.stem in names else {}


def _checked(path: str | Path, key: str, value) -> np.ndarray | sp.csr_matrix:
    kind = value.dtype.kind
    if kind == "c":
        raise complex_refused(path, key)
    if kind not in "iuf":
        raise _no_numbers(path, key, value.dtype)
    if not sp.issparse(value):
        return np.asarray(value, dtype=float)
    _check_size(Path(path), key, 8.0 * max(value.shape, default=0))
    try:
        # check the indices: compiled code would follow them out of range
        if value.format in ("csr", "csc", "bsr"):
            value.check_format(full_check=True)
        matrix = sp.csr_matrix(value, dtype=float)
        matrix.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise FileError(
            f"{path}: {key!r} is damaged ({error}); expected a whole sparse matrix; export it again"
        ) from None
    return matrix


def _no_numbers(path: str | Path, key: str, kind) -> FileError:
    return FileError(
        f"{path}: {key!r} contains {kind} and no numbers; expected a matrix; save plain matrices, or pick them by "
        "names=('M', 'K')"
    )


def _known(paths: Sequence[str | Path]) -> list[str]:
    """All names in the files that can be read."""
    found: list[str] = []
    for path in map(Path, paths):
        if path.suffix.lower() == ".mat":
            found += [name for name, _, _ in scipy.io.whosmat(path)]  # this file was read without an error
        else:
            found += _read(path, None)
    return found
