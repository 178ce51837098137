"""Values computed from the last few objects, kept as long as the objects live."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any


class Recent:
    """Values by the frozen objects that they were made of; objects are distinguished by identity.

    Parameters
    ----------
    most : int
        How many values are kept; the one that was used longest ago goes first.
    """

    def __init__(self, most: int):
        self._most = most
        self._values: dict[tuple, tuple[weakref.ref, Any]] = {}
        self._lock = threading.RLock()  # an object may be collected, and its values dropped, at any time

    def __call__(self, of: Any, make: Callable[[], Any], *more: Hashable) -> Any:
        """The value of an object, and of anything ``more`` that it depends on; made if it is not known."""
        key = id(of), *more
        with self._lock:
            found = self._values.pop(key, None)
            if found is not None and found[0]() is of:
                self._values[key] = found  # now the last one
                return found[1]
        value = make()
        with self._lock:
            self._values[key] = weakref.ref(of, lambda _: self._drop(key)), value
            while len(self._values) > self._most:
                del self._values[next(iter(self._values))]
        return value

    def _drop(self, key: tuple) -> None:
        with self._lock:
            found = self._values.get(key)
            if found is not None and found[0]() is None:
                del self._values[key]
