"""Compiled code kept on disk with a checksum: damaged code is compiled again.

numba finds the folder, and packs and unpacks the code, but its own files have no checksum: a file cut short or overwritten
made every call fail with any error or a crash, and a file with the code of another function was run.  The checksum guards
against accidents only: whoever can write to the folder can run code, as with any Python file.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import uuid

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

log = logging.getLogger("mse")

_SUM = hashlib.sha256().digest_size
_told: set[str] = set()  # folders whose damage has been reported


@functools.cache
def changes(folder: str) -> str:
    """A word for when the modules of a folder were last changed: code of a kernel contains parts from other modules."""
    if not os.path.isdir(folder):  # within a zip file, whose own time numba looks at
        return ""
    with os.scandir(folder) as files:
        found = sorted((f.name, f.stat().st_mtime, f.stat().st_size) for f in files if f.name.endswith(".py"))
    return hashlib.sha256(repr(found).encode()).hexdigest()


class CodeCache(FunctionCache):
    """The compiled forms of one function; RuntimeError if there is no folder to write to."""

    def __init__(self, function):
        super().__init__(function)
        stamp = numba.__version__, self._impl.locator.get_source_stamp(), changes(os.path.dirname(__file__))
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)

    @property
    def filled(self) -> bool:
        """Whether any code is on disk."""
        return bool(self._cache_file.index())

    def holds(self, sig, codegen) -> bool:
        """Whether code for a signature is on disk."""
        return self._index_key(sig, codegen) in self._cache_file.index()

    def load_overload(self, sig, target_context):
        """Code for a signature; None if there is none.  Only what compiles needs all that numba knows, which takes 0.2 s."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig, data):
        """Store code if possible; if not, this process can use it all the same."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _tell(self._cache_path, error, "compiled code is not kept")


class CodeOfPart(CodeCache):
    """The compiled forms of a function called by others: used if on disk, but stored only when asked to."""

    def save_overload(self, sig, data):
        """Store nothing: the code of the caller contains it and is stored."""

    def keep(self, sig, data):
        """Store code for another process that compiles the caller."""
        super().save_overload(sig, data)


class _Files:
    """An index of compiled forms by signature, processor and bytecode, and a file of code for each.

    Each file is a checksum, which also covers the name of the function, and a pickle of the key and the content.
    """

    def __init__(self, folder: str, name: str, stamp: tuple):
        self._folder, self._name, self._stamp = folder, name, stamp

    def load(self, key):
        """The code stored for a key, or None if there is none that can be used."""
        number = self.index().get(key)
        found = None if number is None else self._read(f"{number}.nbc")
        # two processes that begin an index at once may give the same number to two keys
        return found[1] if found is not None and found[0] == key else None

    def save(self, key, code) -> None:
        """Write code for a key first and its entry in the index second, so that readers of the index find the code."""
        index = self.index()
        number = index.setdefault(key, len(index) + 1)
        self._write(f"{number}.nbc", (key, code))
        self._write("nbi", index)

    def flush(self) -> None:
        """Delete all code."""
        self._write("nbi", {})

    def index(self) -> dict:
        """Numbers of the code files by key."""
        return self._read("nbi") or {}

    def _path(self, ending: str) -> str:
        return os.path.join(self._folder, f"{self._name}.mse.{ending}")

    def _sum(self, content: bytes) -> bytes:
        return hashlib.sha256(self._name.encode() + content).digest()

    def _read(self, ending: str):
        """Content of a file; None if it is missing, damaged or made for other sources."""
        try:
            with open(self._path(ending), "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            _tell(self._folder, error, "functions are compiled again")
            return None
        if content[:_SUM] != self._sum(content[_SUM:]):
            _tell(self._folder, f"{os.path.basename(self._path(ending))} is damaged", "functions are compiled again")
            return None
        stamp, held = pickle.loads(content[_SUM:])
        return pickle.loads(held) if stamp == self._stamp else None

    def _write(self, ending: str, held) -> None:
        content = pickle.dumps((self._stamp, dumps(held)))
        beside = f"{self._path(ending)}.{uuid.uuid4().hex[:16]}"
        try:
            with open(beside, "wb") as file:
                file.write(self._sum(content) + content)
            os.replace(beside, self._path(ending))
        except BaseException:
            if os.path.exists(beside):
                os.unlink(beside)
            raise


def _tell(folder: str, what, consequence: str) -> None:
    """Log one line per folder and process, however many files are concerned."""
    if folder not in _told:
        _told.add(folder)
        log.warning("compiled code in %s: %s; %s", folder, what, consequence)
