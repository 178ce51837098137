"""Figures of matplotlib that need no screen, and the error where it is not installed."""

from __future__ import annotations

import importlib
import io
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import MseError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class MissingPackageError(MseError, ImportError):
    """A picture needs a package that is not installed."""


def needed(module: str, what: str, package: str) -> ModuleType:
    """A module of a package of the extra ``plot``; MissingPackageError with the remedy where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{what} need {package}, which is not installed; install it with: pip install 'mse[plot]'"
        ) from error


def new_figure(width: float = 8.0, height: float = 5.0) -> Figure:
    """An empty figure (inches) that needs no screen; MissingPackageError with the remedy without matplotlib."""
    module = needed("matplotlib.figure", "plots", "matplotlib")
    figure = module.Figure(figsize=(width, height), layout="constrained")
    # a notebook shows figures made without pyplot as text only, unless they bring this along
    figure._repr_png_ = partial(_png, figure)
    return figure


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
