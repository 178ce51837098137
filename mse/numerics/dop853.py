"""The coefficients of the method of order 8 of Dormand and Prince, as SciPy has them.

Their file needs numpy alone.  SciPy's package of integrators, which it is in, imports optimization, interpolation and special
functions: with it, a first motion would wait 0.2 s longer in every process.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import scipy


def _alone() -> ModuleType:
    folders = [str(Path(folder) / "integrate" / "_ivp") for folder in scipy.__path__]
    spec = PathFinder.find_spec("dop853_coefficients", folders)
    if spec is None or spec.loader is None:  # SciPy is in an archive, as in an application made from Python programs
        from scipy.integrate._ivp import dop853_coefficients

        return dop853_coefficients
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


dop853 = _alone()
