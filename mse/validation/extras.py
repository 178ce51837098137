"""Packages that only some tools need: imported when used; if one is missing, the error says how to install it."""

from __future__ import annotations

import importlib
from types import ModuleType

from ..errors import MissingPackageError


def needed(module: str, extra: str, purpose: str, package: str | None = None) -> ModuleType:
    """A module of a package that comes with an extra; MissingPackageError with the remedy if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or module.partition(".")[0]
        raise MissingPackageError(
            f"{purpose} need {package}, which is not installed; install it with: pip install 'mse[{extra}]'"
        ) from error
