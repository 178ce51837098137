"""Matrices from files of finite-element and mathematics programs; reading never runs what is in a file."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from .errors import ModelError, UnknownNameError, nearest_name

_SUFFIXES = (".npz", ".mat", ".mtx")
_SPARSE_KEYS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes for every kind of matrix


def read_matrices(
    path: str | Path, *more: str | Path, names: Sequence[str] | None = None
) -> dict[str, np.ndarray | sp.csr_matrix]:
    """The matrices in ``.npz``, ``.mat`` and ``.mtx`` files by name, dense as arrays and sparse as csr matrices.

    A ``.npz`` of numpy and a ``.mat`` of MATLAB (up to version 7) hold several, each under its name; Matrix Market
    ``.mtx`` and what ``scipy.sparse.save_npz`` writes hold one, which is named as its file is: ``read_matrices("M.mtx",
    "K.mtx")`` gives "M" and "K".  ``names`` picks some and leaves the rest unread.  Symmetric storage is completed.

    Raises ModelError where a file is missing, damaged, of another kind, or holds complex numbers or objects;
    UnknownNameError with the nearest name where a wanted matrix is not there.
    """
    if isinstance(names, str):
        names = [names]
    found: dict[str, np.ndarray | sp.csr_matrix] = {}
    for each in (path, *more):
        for key, value in _read(Path(each), names).items():
            if key in found:
                raise ModelError(f"{each}: it holds {key!r}, which another file held already; expected different names")
            found[key] = _checked(each, key, value)
    for name in names or ():
        if name not in found:
            files = ", ".join(str(p) for p in (path, *more))
            raise UnknownNameError(f"{files}: no matrix {name!r}{nearest_name(name, _known((path, *more)))}")
    return found


def _read(path: Path, names: Sequence[str] | None) -> dict:
    if path.suffix.lower() not in _SUFFIXES:
        raise ModelError(
            f"{path}: its suffix is {path.suffix!r}; expected one of {', '.join(_SUFFIXES)}; export the matrices in one of "
            "these, Matrix Market if in doubt"
        )
    if not path.is_file():
        raise ModelError(
            f"{path}: there is no such file; expected a path to a matrix file; looked in {path.parent.resolve()}"
        )
    reader = {".npz": _read_npz, ".mat": _read_mat, ".mtx": _read_mtx}[path.suffix.lower()]
    try:
        return reader(path, names)
    except (ModelError, MemoryError):
        raise
    except NotImplementedError:
        # version 7.3 is HDF5, which SciPy does not read
        raise ModelError(
            f"{path}: it is a MATLAB file of version 7.3; expected version 7 or older; save it by save(file, 'M', 'K', '-v7')"
        ) from None
    except (ValueError, TypeError, KeyError, IndexError, EOFError, OSError, pickle.UnpicklingError, zipfile.BadZipFile,
            scipy.io.matlab.MatReadError, UnicodeDecodeError, OverflowError) as error:  # fmt: skip
        hint = "; it holds Python objects, which are never read: save plain arrays" if "ickle" in str(error) else ""
        raise ModelError(
            f"{path}: it cannot be read as {path.suffix} ({error}); expected a whole file of that kind{hint}"
        ) from None


def _read_npz(path: Path, names: Sequence[str] | None) -> dict:
    # opened here, so that it is closed when numpy gives up on it
    with path.open("rb") as file:
        content = np.load(file, allow_pickle=False)
        if isinstance(content, np.ndarray):
            raise ModelError(
                f"{path}: it holds a single array (.npy); expected .npz; save it by numpy.savez(file, K=K)"
            )
        if not set(content.files) >= _SPARSE_KEYS:
            return {key: content[key] for key in content.files if names is None or key in names}
        file.seek(0)
        return _only(path, sp.load_npz(file), names)


def _read_mat(path: Path, names: Sequence[str] | None) -> dict:
    content = scipy.io.loadmat(path, variable_names=None if names is None else list(names))
    return {key: value for key, value in content.items() if not key.startswith("__")}


def _read_mtx(path: Path, names: Sequence[str] | None) -> dict:
    return _only(path, scipy.io.mmread(path), names)


def _only(path: Path, matrix, names: Sequence[str] | None) -> dict:
    return {path.stem: matrix} if names is None or path.stem in names else {}


def _checked(path: str | Path, key: str, value) -> np.ndarray | sp.csr_matrix:
    kind = value.dtype.kind
    if kind == "c":
        raise ModelError(
            f"{path}: {key!r} has complex numbers; expected real ones; save the real part, and give structural damping as "
            "loss factors of the frequency response"
        )
    if kind not in "iuf":
        raise ModelError(
            f"{path}: {key!r} holds {value.dtype} and no numbers; expected a matrix; save plain matrices, or pick them by "
            "names=('M', 'K')"
        )
    if not sp.issparse(value):
        return np.asarray(value, dtype=float)
    try:
        # indices out of range would reach compiled code
        if value.format in ("csr", "csc", "bsr"):
            value.check_format(full_check=True)
        matrix = sp.csr_matrix(value, dtype=float)
        matrix.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ModelError(
            f"{path}: {key!r} is damaged ({error}); expected a whole sparse matrix; export it again"
        ) from None
    return matrix


def _known(paths: Sequence[str | Path]) -> list[str]:
    """All names in files that could be read."""
    found: list[str] = []
    for path in map(Path, paths):
        if path.suffix.lower() == ".mat":
            found += [name for name, _, _ in scipy.io.whosmat(path)]
        else:
            found += _read(path, None)
    return found
