"""Files named by users: checks for reading and writing; files are written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from .arguments import shown


def file_path(path: Any, role: str = "path") -> Path:
    """``path`` as a Path; FileError if it is not the name of a file."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(text, str) or not text or "\0" in text:
        raise FileError(f"{role} is {shown(path)}; expected the name of a file, such as 'run'")
    return Path(path)


def file_status(path: Path) -> os.stat_result | None:
    """Status of the file at ``path``, through links; None if there is none; FileError if it is not a plain file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(
            f"{path} cannot be reached ({_reason(error)}); expected a file, or a path to a new one"
        ) from error
    if stat.S_ISDIR(found.st_mode):
        raise FileError(f"{path} is a folder; expected a file; give the name of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{path} is a device, pipe or socket; expected a plain file")
    return found


def existing_file(path: Any) -> Path:
    """The path of an existing plain file; otherwise FileError, with the folder where it was looked for."""
    path = file_path(path)
    if file_status(path) is None:
        folder = path.absolute().parent
        missing = f"there is no folder {folder}" if not folder.is_dir() else f"looked in {folder}"
        raise FileError(f"{path}: there is no such file; expected one that can be read; {missing}")
    return path


def read_text(path: Any, others: str = "") -> str:
    """The UTF-8 text of a plain file; FileError otherwise, with ``others`` naming the readers of files of numbers."""
    path = existing_file(path)
    try:
        return path.read_bytes().decode("utf-8-sig")  # some editors begin files with a byte order mark
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise FileError(f"{path} is not a text (byte {error.start} is 0x{byte:02x}); expected UTF-8{others}") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read ({_reason(error)}); expected a file that this user may read") from error
    except MemoryError:
        raise too_large(path) from None


def read_columns(path: Any, expected: str) -> np.ndarray:
    """Numbers (lines, columns) of a text file, separated by blanks or commas; "#" and "%" begin comments.

    FileError where there is no such file, or its lines are not as many numbers each as ``expected`` says.
    """
    rows: list[list[float]] = []
    for k, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split("#")[0].split("%")[0].replace(",", " ").split()
        try:
            row = [float(x) for x in words]
        except ValueError:
            raise FileError(
                f"{path}: line {k} is {shown(line)}; {expected} in each line; begin lines that are no numbers with '#'"
            ) from None
        if row and rows and len(row) != len(rows[0]):
            raise FileError(
                f"{path}: line {k} has {len(row)} numbers, lines before it {len(rows[0])}; {expected} in each line; "
                "correct the line, or begin it with '#'"
            )
        rows += [row] if row else []
    return np.array(rows, dtype=float)


def read_bytes(path: Any, most: int) -> tuple[Path, bytes]:
    """Path and content of a plain file of at most ``most`` bytes; FileError if there is none or it is larger."""
    path = existing_file(path)
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise FileError(f"{path} cannot be read ({_reason(error)}); expected a file that this user may read") from error
    if len(data) > most:
        raise FileError(f"{path} has more than {most / 1e6:.3g} MB; expected a smaller file")
    return path, data


def too_large(path: Path) -> FileError:
    """The error for a file that does not fit into memory."""
    return FileError(
        f"{path} has {path.stat().st_size / 1e9:.3g} GB, which does not fit into memory; expected a smaller file"
    )


def write_whole(path: Any, content: str | bytes, *, alone: bool = False) -> None:
    """Write a text or bytes to a file, through links; the old content stays until the new one is on disk.

    The file has one whole content at any time, however many processes write it at once.  With ``alone`` no other process writes
    it, so whatever a killed process left next to it is overwritten by the next content.  Raises FileError.
    """

    def write(beside: Path) -> None:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)

    write_by(path, write, alone=alone)


def write_by(path: Any, write: Callable[[Path], None], *, alone: bool = False) -> None:
    """:func:`write_whole` with a function that writes to the path that it is given."""
    path = file_path(path)
    before = file_status(path)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileError(f"{path}: there is no folder {target.parent}; make it, or choose another")
    # a short random name, since long names may be at their limit
    beside = target.with_name(f"{target.name}.part" if alone else f".mse-{secrets.token_hex(8)}.part")
    try:
        try:
            write(beside)
            with open(beside, "rb") as file:
                os.fsync(file.fileno())
            if before is not None:
                os.chmod(beside, stat.S_IMODE(before.st_mode))
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except FileError:
        raise
    except OSError as error:
        kept = "the old file is unchanged; " if before is not None else ""
        raise FileError(
            f"{path} cannot be written ({_reason(error)}); {kept}make room, or choose another place"
        ) from error


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
