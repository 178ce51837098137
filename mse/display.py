"""How results show themselves: tables as data, plain text in a terminal, HTML in a notebook."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

Cell = str | int | float | complex | None

ROUNDING = 1e-12  # of the largest value of a kind: what is smaller is shown as 0


def without_rounding(values: ArrayLike, scale: ArrayLike | None = None) -> np.ndarray:
    """Values as they are shown: those of at most 1e-12 of their scale are 0, real and imaginary parts one by one.

    Parameters
    ----------
    values : array_like
        Real or complex numbers of one kind, such as all displacements in m; nan stays.
    scale : array_like, optional
        Size of what they are the rounding of, one or in the shape of the values; the largest finite size among the values
        if left out.

    Returns
    -------
    ndarray
        The values, without signs of zero.
    """
    values = np.asarray(values)
    if scale is None:
        scale = np.abs(values, where=np.isfinite(values), out=np.zeros(values.shape)).max(initial=0.0)
    limit = ROUNDING * np.asarray(scale)
    if np.iscomplexobj(values):
        return _above(values.real, limit) + 1j * _above(values.imag, limit)
    return _above(values, limit)


def _above(values: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) <= limit, 0.0, values)


def amounts(**counts: int) -> str:
    """Numbers of things in words: ``amounts(input=1, frequency=3)`` is "1 input, 3 frequencies"."""

    def told(name: str, count: int) -> str:
        many = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
        return f"{count} {name if count == 1 else many}"

    return ", ".join(told(name, count) for name, count in counts.items())


def kind_of(coordinate: str) -> str:
    """The kind of a coordinate by its name, within which values are comparable: "m", "rad", or internal ones of the same name.

    Parameters
    ----------
    coordinate : str
        Name of a coordinate, such as ``mass.ax``.

    Returns
    -------
    str
        A kind for :func:`scales`.
    """
    axis = coordinate.rpartition(".")[2].rstrip("'")
    return "m" if axis in ("x", "y", "z") else "rad" if axis in ("ax", "ay", "az") else axis


def scales(sizes: ArrayLike, kinds: Sequence[Hashable]) -> np.ndarray:
    """The scale of each of several quantities: the largest size among those of its kind.

    Parameters
    ----------
    sizes : array_like, (n,)
        Their largest sizes.
    kinds : sequence, (n,)
        What they are compared by, such as their units.

    Returns
    -------
    ndarray, (n,)
        Scales for :func:`without_rounding`.
    """
    largest: dict[Hashable, float] = {}
    for size, kind in zip(np.asarray(sizes).tolist(), kinds, strict=True):
        largest[kind] = max(largest.get(kind, 0.0), size)
    return np.array([largest[kind] for kind in kinds])


class Column(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    name : str
        What it contains.
    unit : str
        Unit of all its numbers, "" for none.
    digits : int
        Significant digits of its numbers, which are aligned at the right; 0 for a column of words, aligned at the left.
    """

    name: str
    unit: str = ""
    digits: int = 0

    @property
    def head(self) -> str:
        """Name and unit, as the table shows them."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def shown(self, cell: Cell) -> str:
        """One cell as text.

        Parameters
        ----------
        cell : str, int, float, complex or None
            Numbers that are not whole get the column's digits; None leaves the cell empty.

        Returns
        -------
        str
            The text.
        """
        if cell is None:
            return ""
        if isinstance(cell, complex):
            cell = complex(cell.real + 0.0, cell.imag + 0.0)
        if isinstance(cell, float | complex):
            return f"{cell + 0.0:.{self.digits or 6}g}"  # + 0.0: no sign on zero
        return str(cell)


class Table:
    """A table as data: shows itself as text, in a notebook as HTML.

    Parameters
    ----------
    title : str
        What it shows.
    columns : iterable of Column or str
        Its columns, words under a name alone; none where the title says all.
    rows : iterable of sequences
        Cells, one for each column: words, numbers, or None.
    notes : iterable of str
        Sentences directly below it.
    more : iterable of Table
        Further tables that belong to it, and paragraphs: tables of a title alone.
    most : int
        Number of rows that its text shows.

    Examples
    --------
    >>> from mse.display import Column, Table
    >>> Table("Springs", ["name", Column("stiffness", "N/m", digits=4)], [("upper", 812.345), ("lower", 90)])
    Springs
    name   stiffness (N/m)
    -----  ---------------
    upper            812.3
    lower               90
    """

    def __init__(
        self,
        title: str,
        columns: Iterable[Column | str] = (),
        rows: Iterable[Sequence[Cell]] = (),
        *,
        notes: Iterable[str] = (),
        more: Iterable[Table] = (),
        most: int = 60,
    ):
        self.title = title
        self.columns = tuple(Column(c) if isinstance(c, str) else c for c in columns)
        self.rows = tuple(map(tuple, rows))
        self.notes, self.more, self.most = tuple(notes), tuple(more), most

    def cells(self, most: int | None = None) -> list[list[str]]:
        """All cells as text.

        Parameters
        ----------
        most : int, optional
            How many rows; all if left out.

        Returns
        -------
        list of list of str
            Row by row.
        """
        return [
            [column.shown(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows[:most]
        ]

    def text(self) -> str:
        """The table as text.

        Returns
        -------
        str
            Title, aligned columns, notes, and further tables; rows beyond ``most`` are counted, not shown.
        """
        lines = [self.title]
        if self.columns:
            shown = self.cells(self.most)
            heads = [column.head for column in self.columns]
            widths = [max(map(len, column)) for column in zip(heads, *shown, strict=True)]
            for row in (heads, ["-" * width for width in widths], *shown):
                cells = zip(row, widths, self.columns, strict=True)
                lines.append("  ".join(x.rjust(w) if c.digits else x.ljust(w) for x, w, c in cells).rstrip())
            if len(self.rows) > self.most:
                lines.append(f"... and {len(self.rows) - self.most} more")
        lines += self.notes
        return "\n\n".join(["\n".join(lines), *(table.text() for table in self.more)])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from .tools.notebook import as_html

        return as_html(self)


class Shown:
    """Base of all that shows itself as a table: as text in a terminal, as HTML in a notebook."""

    def table(self) -> Table:
        """The contents as a table; ``repr`` is its text.

        Returns
        -------
        Table
            Title, columns with units, rows and notes.
        """
        raise TypeError(f"{type(self).__name__} must define table()")

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
