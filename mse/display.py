"""How results show themselves: plain tables in a terminal, HTML in a notebook, and the one door to the plots."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .numerics.read_only import ReadOnly

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], max_rows: int = 60) -> str:
    """A text table with aligned columns; rows beyond ``max_rows`` are counted, not shown."""
    rows = [tuple(str(c) for c in row) for row in rows]
    hidden = len(rows) - max_rows
    shown = rows[:max_rows]
    widths = [max(len(x) for x in column) for column in zip(heads, *shown, strict=True)]
    numeric = [all(_is_number(row[i]) for row in shown) and bool(shown) for i in range(len(heads))]

    def line(cells):
        return "  ".join(
            c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, numeric, strict=True)
        ).rstrip()

    lines = [title, line(heads), line(["-" * w for w in widths]), *(line(r) for r in shown)]
    if hidden > 0:
        lines.append(f"... and {hidden} more")
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("", "-")
    return True


def as_html(text: str) -> str:
    """Text as a notebook shows it; names in it cannot become markup."""
    return f"<pre>{html.escape(text, quote=False)}</pre>"


class Result(ReadOnly):
    """Base of all results: ``repr`` is a table, a notebook shows the same, ``plot()`` draws it.

    Its arrays are read-only, as other results share them.
    The drawing lives in :mod:`mse.tools.plots`, which needs the extra ``plot``; it is imported on the first call.
    """

    def __getstate__(self) -> dict[str, Any]:
        # properties computed on request are computed again: results are pickled without them
        return {k: v for k, v in vars(self).items() if not isinstance(getattr(type(self), k, None), cached_property)}

    def table(self) -> str:
        """The result as text, as ``repr`` shows it.

        Returns
        -------
        str
            A title, and a table with aligned columns.
        """
        raise TypeError(f"{type(self).__name__} must define table()")

    def plot(self, **options) -> Figure:
        """Draw this result with matplotlib (extra ``plot``).

        Parameters
        ----------
        **options : keywords
            Options of the drawing, named in :mod:`mse.tools.plots`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            The drawing has no such option; the message names those that it has.
        """
        from .tools.plots import draw

        return draw(self, **options)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return as_html(self.table())
