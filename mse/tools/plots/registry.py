"""Which function draws which result, and the check of its options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from ...errors import ModelError, UnknownNameError, nearest_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@singledispatch
def drawing(result: Any, **options) -> Figure:
    """The function that draws results of a type."""
    raise ModelError(f"plots: cannot draw a {type(result).__name__}; expected a system or a result of one")


def draw(result: Any, **options) -> Figure:
    """Draw a result and return the figure; the options belong to the function for its type."""
    function = drawing.dispatch(type(result))
    known = _options(function)
    for name in options:
        if name not in known and function is not drawing:
            raise UnknownNameError(
                f"plot of a {type(result).__name__}: no option {name!r}{nearest_name(name, known)}; it has "
                f"{', '.join(known) or 'none'}"
            )
    return function(result, **options)


def _options(function: Callable) -> list[str]:
    """Keywords of a drawing function."""
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
