"""The optional peers: which of them are here, and how to get the others."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import sys
from types import ModuleType

# column of the table: module
OPTIONAL = {"control": "control", "Exudyn": "exudyn", "MuJoCo": "mujoco", "Pardiso": "pypardiso"}


@functools.cache
def peer(name: str) -> ModuleType | None:
    """The module of an optional peer, None where it cannot be imported."""
    sys.exudynFast = True  # its build without range checks, some 20 % faster
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # Exudyn says which build it is
            return importlib.import_module(OPTIONAL[name])
    except (ImportError, OSError):
        return None


def missing() -> str:
    """One line about the peers that are not here; empty where all are."""
    names = [f"{name} ({module})" for name, module in OPTIONAL.items() if peer(name) is None]
    if not names:
        return ""
    return f"not installed, columns with -: {', '.join(names)}; pip install -e '.[benchmark]' installs them"
