"""Results in ``.npz``, ``.mat`` and ``.h5`` files: written completely or not at all, read back to the last bit, checked first.

Each file has a seal: a line of text with a digest of all other bytes, at a place that other programs ignore (the comment of
a zip file, the description of a MATLAB file, the user block of an HDF5 file).  Damage shows before anything is read.  A
harmful file can have a valid seal, too.  So only plain arrays no larger than the file are read, nothing in it is called,
and :class:`.Reader` checks the contents.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...declared import unsaved
from ...errors import FileError, MseError
from ...numerics.sparse_tools import of_matrices
from ...results import KINDS, Result, kind_of_result
from ...saved import Reader, Record
from ...validation import json_shapes as js
from ...validation.extras import needed
from ...validation.file_access import existing_file, file_path, write_by
from ...validation.matlab_5 import arrays_in
from .zeros_and_poles import write_zeros_and_poles

_MARK = b"mse result 1, sha256 "
_SEAL = len(_MARK) + 64  # bytes of a seal
_FILLED = 21 + _SEAL  # in a MATLAB file, whose description must begin with certain words
_MATLAB = b"MATLAB 5.0 MAT-file, "
_DESCRIPTION, _USER_BLOCK = 116, 512  # bytes of a MATLAB file's description, of an HDF5 file's user block
_ABOUT = "mse"  # name of the description, a JSON text stored as bytes
_LONGEST = 100_000_000  # largest size of that description in bytes


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """See :meth:`.Result.save`."""
    path = file_path(path)
    writer = _formats(path)[0]
    record = _record(result)
    about = {
        "kind": record.kind, "version": _version(), "name": record.name, "names": record.lists, "numbers": record.numbers,
        "shapes": record.shapes, "parameters": record.parameters,
    }  # fmt: skip
    js.check_shape(path, about, _shape(), "; nothing was written")
    text = np.frombuffer(json.dumps(about, allow_nan=False).encode(), dtype=np.uint8)

    def write(beside: Path) -> None:
        try:
            writer(beside, record, text, result)
            _seal(beside, path.suffix.lower())
        except OSError:
            raise
        except (ValueError, OverflowError, RuntimeError) as error:  # from the libraries that write
            raise FileError(
                f"{path} cannot be written ({error}); expected a result that fits in {path.suffix}"
            ) from error

    write_by(path, write)


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read a linear model, state space, response or other result from a file of its ``save``; nothing in the file is run.

    Parameters
    ----------
    path : path
        File ``.npz``, ``.mat`` or ``.h5``.

    Returns
    -------
    Result
        What was saved, equal to the last bit: a linear model, a state space, a response, modes.  A class of your own must have
        been imported.

    Raises
    ------
    FileError
        The file is missing or damaged, was changed since, or was made by another program.
    MissingPackageError
        It is a ``.h5``, and h5py is not installed.

    Examples
    --------
    >>> import os, tempfile
    >>> model = mse.LinearModel.from_matrices([[1.0]], [[0.2]], [[4.0]], coordinates=["mass.x"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "oscillator.npz")
    ...     model.state_space().save(path)
    ...     mse.read_result(path).states
    ('mass.x', "mass.x'")
    """
    path = file_path(path)
    reader = _formats(path, "; mse.read_model() reads systems and working points, .json")[1]
    existing_file(path)
    try:
        _check_seal(path)
        text, take = reader(path)
        about = js.from_json(path, text.tobytes().decode(), _shape(), "save() of a result")
        return Reader(path, about, take(about)).part("", "", cls=KINDS[about["kind"]])
    except MseError:
        raise
    except MemoryError:
        raise FileError(f"{path}: there is not enough memory for its contents; expected a smaller file") from None
    except Exception as error:  # a damaged file makes the libraries' readers fail in any way
        raise FileError(
            f"{path}: it cannot be read as {path.suffix} ({error}); expected a whole file that save() wrote"
        ) from error


def _shape() -> js.Shape:
    """The shape of a file's description, whatever kind of result it is."""
    import mse

    for name in ("LinearModel", *mse._RESULTS):  # the kinds are registered when their modules are imported
        getattr(mse, name)
    return js.entries(
        {
            "kind": js.word(*(kind for kind, cls in KINDS.items() if not unsaved(cls))),
            "version": js.text,
            "name": js.text,
            "names": js.named(js.each(js.text)),
            "numbers": js.named(js.number),
            "shapes": js.named(js.each(js.whole)),
            "parameters": js.named(js.named(js.data)),
        }
    )


def _record(result: Result) -> Record:
    """Everything a result declares; FileError if it contains something that files cannot store."""
    cls = type(result)
    kind, missing = kind_of_result(cls.__name__), ", ".join(unsaved(cls))
    if missing or KINDS[kind].__module__ != cls.__module__:
        why = f"no file can hold {missing}" if missing else f"mse has other results of the kind {kind!r}"
        raise FileError(f"a {cls.__name__} cannot be saved, as {why}; expected a linear model, state space or response")
    record = Record(kind, result.name)
    record.part("", result)
    return record


def _version() -> str:
    from ... import __version__

    return __version__


def _formats(path: Path, others: str = "") -> tuple[Callable, Callable]:
    known = {".npz": (_write_npz, _read_npz), ".mat": (_write_mat, _read_mat), ".h5": (_write_hdf5, _read_hdf5)}
    if path.suffix.lower() not in known:
        raise FileError(f"{path}: its suffix is {path.suffix!r}; expected one of {', '.join(known)}{others}")
    return known[path.suffix.lower()]


def _text(array: np.ndarray, path: Path) -> np.ndarray:
    if array.dtype != np.uint8 or array.ndim != 1 or not len(array):
        raise FileError(f"{path}: its description is {array.dtype} in {array.ndim} dimensions; expected bytes")
    return array


# -- seals ----------------------------------------------------------------------------------------------------------
def _place(path: Path, suffix: str) -> tuple[int, int]:
    """First byte and number of bytes that the digest skips."""
    size = path.stat().st_size
    return {".npz": (size - _SEAL, _SEAL), ".mat": (0, _DESCRIPTION), ".h5": (0, _USER_BLOCK)}[suffix]


def _digest(path: Path, first: int, count: int) -> bytes:
    """SHA-256 of a file without ``count`` bytes from ``first`` on."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        left = first
        while piece := file.read(min(left, 1 << 20)):
            found.update(piece)
            left -= len(piece)
        file.seek(first + count)
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest().encode()


def _seal(path: Path, suffix: str) -> None:
    first, count = _place(path, suffix)
    line = _MARK + _digest(path, first, count)
    line = (_MATLAB + line).ljust(count) if suffix == ".mat" else line.ljust(count, b"\0")
    with path.open("r+b") as file:
        file.seek(first)
        file.write(line)


def _check_seal(path: Path) -> None:
    first, count = _place(path, path.suffix.lower())
    with path.open("rb") as file:
        file.seek(max(first, 0))
        line = file.read(count).removeprefix(_MATLAB)
    if first < 0 or not line.startswith(_MARK):
        raise FileError(
            f"{path}: it was not written by save() of a result; expected such a file; mse.read_matrices() reads matrices of "
            "other programs, mse.read_recording() recorded runs"
        )
    if line[len(_MARK) : _SEAL] != _digest(path, first, count):
        raise FileError(f"{path}: it is damaged or was changed after save() wrote it; expected it as it was written")


# -- NumPy ------------------------------------------------------------------------------------------------------------
def _write_npz(path: Path, record: Record, text: np.ndarray, _: Any) -> None:
    lists = {
        key: np.array(names) for key, names in record.lists.items() if names
    }  # names for other readers of the file
    with path.open("wb") as file:
        np.savez(file, **{_ABOUT: text}, **record.arrays, **{k: v for k, v in lists.items() if k not in record.arrays})
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"\0" * _SEAL


def _read_npz(path: Path) -> tuple[np.ndarray, Callable[[dict], dict[str, np.ndarray]]]:
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > size:
                raise FileError(f"{path}: {info.filename!r} is compressed; expected arrays as save() writes them")

    def read(keys: list[str]) -> dict[str, np.ndarray]:
        with zipfile.ZipFile(path) as archive:
            found = {}
            for key in keys:
                with archive.open(f"{key}.npy") as member:
                    found[key] = _npy(path, key, member.read())
            return found

    return _text(read([_ABOUT])[_ABOUT], path), lambda about: read(_arrays_of(about))


def _npy(path: Path, key: str, content: bytes) -> np.ndarray:
    """An array of numbers from the bytes of a .npy file, if they fit its shape."""
    import io

    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise FileError(f"{path}: {key!r} is not a plain array; expected numbers")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "fciu" or dtype.itemsize * math.prod(shape) != len(content) - file.tell():
        raise FileError(f"{path}: {key!r} has {dtype} of shape {shape}; expected as many numbers as the bytes give")
    values = np.frombuffer(content, dtype=dtype, offset=file.tell())
    return values.reshape(shape, order="F" if fortran else "C")


def _arrays_of(about: dict) -> list[str]:
    """Names of the arrays that a description lists; a sparse matrix has three."""
    return [key for key in about["shapes"] if f"{key}_indptr" not in about["shapes"]]


# -- MATLAB -----------------------------------------------------------------------------------------------------------
def _write_mat(path: Path, record: Record, text: np.ndarray, _: Any) -> None:
    import scipy.io

    lists = {key: np.array([*names, None], dtype=object)[:-1] for key, names in record.lists.items()}  # cells
    content = {_ABOUT: text} | record.arrays | {k: v for k, v in lists.items() if k not in record.arrays and len(v)}
    with path.open("wb") as file:
        scipy.io.savemat(file, content, oned_as="column", long_field_names=True)


def _read_mat(path: Path) -> tuple[np.ndarray, Callable[[dict], dict[str, np.ndarray]]]:
    import scipy.io

    kinds = {key: kind for key, _, kind in arrays_in(path, compressed=False)}

    def read(keys: list[str]) -> dict[str, np.ndarray]:
        for key in keys:
            if kinds.get(key) not in ("double", "int64", "int32", "uint8"):
                raise FileError(
                    f"{path}: {key!r} is {kinds.get(key, 'missing')}; expected numbers as save() writes them"
                )
        return of_matrices(scipy.io.loadmat)(path, variable_names=keys)

    def take(about: dict) -> dict[str, np.ndarray]:
        keys = _arrays_of(about)
        found = read(keys)
        out = {}
        for key in keys:
            shape = tuple(about["shapes"][key])
            if math.prod(shape) != found[key].size:
                raise FileError(f"{path}: {key!r} has {found[key].size} numbers; expected the shape {shape}")
            out[key] = found[key].reshape(shape)
        return out

    return _text(read([_ABOUT])[_ABOUT].ravel(), path), take


# -- HDF5 -------------------------------------------------------------------------------------------------------------
def _write_hdf5(path: Path, record: Record, text: np.ndarray, result: Any) -> None:
    h5py = needed("h5py", "hdf5", "files .h5")
    with h5py.File(path, "w", userblock_size=_USER_BLOCK) as file:
        file.create_dataset(_ABOUT, data=text)
        for key, array in record.arrays.items():
            file.create_dataset(key, data=array)
        for key, names in record.lists.items():
            if key not in record.arrays:
                file.create_dataset(key, data=names, dtype=h5py.string_dtype())
        file.attrs["name"], file.attrs["kind"], file.attrs["mse_version"] = record.name, record.kind, _version()
        if record.kind == "state space":
            write_zeros_and_poles(file, result)


def _read_hdf5(path: Path) -> tuple[np.ndarray, Callable[[dict], dict[str, np.ndarray]]]:
    h5py = needed("h5py", "hdf5", "files .h5")
    size = path.stat().st_size

    def read(keys: list[str]) -> dict[str, np.ndarray]:
        with h5py.File(path, "r") as file:
            found = {}
            for key in keys:
                link = file.get(key, getlink=True)
                data = file.get(key) if isinstance(link, h5py.HardLink) else None
                # only numbers stored plainly in this file, so that reading uses no filter, link or other file
                plain = (
                    isinstance(data, h5py.Dataset) and data.chunks is None and not data.external and not data.is_virtual
                )
                if not plain or data.dtype.kind not in "fciu" or data.nbytes > size:
                    raise FileError(
                        f"{path}: {key!r} is not a plain array of numbers; expected one as save() writes it"
                    )
                found[key] = data[()]
            return found

    return _text(read([_ABOUT])[_ABOUT], path), lambda about: read(_arrays_of(about))
