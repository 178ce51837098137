"""Compiled code kept on disk by numba; what is damaged or of another function is compiled again.

numba's own cache ends every call in whatever error unpickling a damaged file raises, runs code that another function or two
processes at once have left under its name, and fails where nothing can be written.  Bits that change within machine code go
unnoticed, as with numba's.
"""

from __future__ import annotations

import logging
import os

from numba.core.caching import FunctionCache, IndexDataCacheFile

log = logging.getLogger("mse")

_told: set[str] = set()  # folders whose damage was reported


class CodeCache(FunctionCache):
    """The compiled forms of one function; raises RuntimeError where there is no folder to write to."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    @property
    def filled(self) -> bool:
        """Whether there is code on disk."""
        return bool(self._cache_file._load_index())

    def save_overload(self, sig, data):
        """Keep code where that is possible; it is of use all the same where it is not."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _tell(self._cache_path, error, "compiled code is not kept")


class _Files(IndexDataCacheFile):
    """numba's index and files of code, each with the function and the arguments that it was compiled for."""

    def save(self, key, data):
        """Keep code for a key."""
        super().save(key, (self._index_name, key, data))

    def load(self, key):
        """Code kept for a key, None where there is none that can be used."""
        try:
            name, made_for, data = super().load(key) or (None, None, None)
        except Exception as error:  # unpickling damaged bytes raises any
            self._damaged(f"code of {self._index_name}", error)
            return None
        # two processes that begin an index at once may give two keys one file
        return data if (name, made_for) == (self._index_name, key) else None

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception as error:
            self._damaged(self._index_name, error)
            return {}

    def _damaged(self, what: str, error: Exception) -> None:
        _tell(self._cache_path, f"{what} is damaged ({type(error).__name__}: {error})", "functions are compiled again")


def _tell(folder: str, what, consequence: str) -> None:
    """One line for a folder and process, however many files it is about."""
    if folder not in _told:
        _told.add(folder)
        log.warning("compiled code in %s: %s; %s", os.fspath(folder), what, consequence)
