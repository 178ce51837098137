"""A file with one writer: a lock of the operating system, released whenever and however the process ends.

Such locks belong to an open file and are advisory: another process, thread or run that wants to write is refused; readers are
not. If a file system has no locks, as some network mounts, that is logged.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import weakref
from pathlib import Path

log = logging.getLogger("mse")

_HELD = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES}
# A byte beyond the end of any file is locked, since locked bytes may be unreadable for others; 32 bits of offset suffice.
_FAR = 2**62 + 2**31 - 2


class Locked(OSError):
    """Another process, thread or run writes the file."""


class LockedFile:
    """An unbuffered file open for reading and writing by this process only; created if it does not exist.

    Raises Locked if another process has it, and OSError if it cannot be opened.
    """

    def __init__(self, path: Path):
        self.path = path
        self.file, self.made = _opened(path)
        while not self._hold():  # deleted or replaced before it was locked
            self.file.close()
            self.file, self.made = _opened(path)
        _open.add(self)

    def _hold(self) -> bool:
        """Lock it; returns whether it is still the file at its path."""
        try:
            _lock(self.file, self.path)
            return os.path.samestat(os.stat(self.path), os.fstat(self.file.fileno()))
        except FileNotFoundError:
            return False
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> LockedFile:
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def close(self) -> None:
        """Release it; a file that was created and never written to is deleted."""
        if self.file.closed:
            return
        unused = self.made and not os.fstat(self.file.fileno()).st_size
        if unused and os.name != "nt":
            self.path.unlink(missing_ok=True)
        self.file.close()
        if unused and os.name == "nt":  # Windows cannot delete open files
            self.path.unlink(missing_ok=True)


def _opened(path: Path) -> tuple[io.FileIO, bool]:
    """The file, and whether it is new."""
    flags = os.O_RDWR | getattr(os, "O_BINARY", 0)
    while True:
        for more, made in ((os.O_CREAT | os.O_EXCL, True), (0, False)):
            try:
                return open(os.open(path, flags | more, 0o666), "r+b", buffering=0), made
            except (FileExistsError, FileNotFoundError) as error:
                if isinstance(error, FileNotFoundError) and made:
                    raise


def _lock(file: io.FileIO, path: Path) -> None:
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            raise Locked(error.errno, "locked by another writer") from None
        log.warning("%s: it cannot be locked (%s); nothing keeps others from writing to it", path, error.strerror)


_open: weakref.WeakSet[LockedFile] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """In a forked process: drop the lock, which would outlast the writer."""
    for held in list(_open):
        held.file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
