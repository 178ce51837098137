"""One table for all benchmarks: rows of our own time and that of every peer, as text while they come, as Markdown after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

# columns, from the plain way to do a task to the special programs
PEERS = ("SciPy", "SciPy best", "by hand", "control", "Exudyn", "MuJoCo", "Pardiso", "mse otherwise")


@dataclass(frozen=True)
class Row:
    """A task of one size: seconds of ours and of peers (a word where a peer did not get there), error, peak memory in MB.

    The error is that of our result against the reference that ``docs/benchmarks.md`` names for the task.
    """

    task: str
    size: int
    ours: float
    peers: dict[str, float | str | None] = field(default_factory=dict)
    error: float | None = None
    memory: float | None = None
    note: str = ""

    def __post_init__(self):
        unknown = set(self.peers) - set(PEERS)
        if unknown:
            raise ValueError(f"{self.task}: no column for {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")

    def ratios(self) -> tuple[float | None, float | None]:
        """How many times longer the plain peer takes, the first with a time in the order of ``PEERS``; and the fastest one."""
        times = [t for p in PEERS if isinstance(t := self.peers.get(p), float)]
        return (times[0] / self.ours, min(times) / self.ours) if times else (None, None)

    def cells(self) -> list[str]:
        """What stands in the columns, without the note."""
        plain, fastest = (_number(r, 3 if r is not None and r < 10 else 2) for r in self.ratios())
        theirs = [t if isinstance(t := self.peers.get(p), str) else _number(t, 3) for p in PEERS]
        error = "-" if self.error is None else f"{self.error:.0e}"
        size = f"{self.size:,}"
        return [self.task, size, _number(self.ours, 3), *theirs, plain, fastest, error, _number(self.memory, 2)]


HEADS = ("task", "size", "ours (s)", *PEERS, "x plain", "x fastest", "error", "MB")
WIDTHS = (47, 7, 9, *(max(9, len(p) + 1) for p in PEERS), 9, 10, 7, 7)


def _number(x: float | None, digits: int) -> str:
    """A number of so many digits, plain as long as it is not tiny; a dash for none."""
    if x is None:
        return "-"
    return f"{x:,.0f}" if abs(x) >= 10 ** (digits - 1) else f"{x:.{digits}g}"


def _aligned(cells: Iterable[str]) -> str:
    first, *others = zip(cells, WIDTHS, strict=True)
    return f"{first[0]:{first[1]}}" + "".join(f"{c:>{w}}" for c, w in others)


class Table:
    """Rows as they come; notes are numbered and stand below, the same one once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.notes: list[str] = []

    def head(self) -> str:
        line = _aligned(HEADS)
        return line + "\n" + "-" * len(line)

    def add(self, row: Row) -> str:
        """Keep a row; its line of text."""
        self.rows.append(row)
        return _aligned(row.cells()) + self._mark(row)

    def _mark(self, row: Row) -> str:
        if not row.note:
            return ""
        if row.note not in self.notes:
            self.notes.append(row.note)
        return f" [{self.notes.index(row.note) + 1}]"

    def below(self) -> str:
        """The notes."""
        return "\n".join(f"[{k}] {note}" for k, note in enumerate(self.notes, 1))

    def markdown(self) -> str:
        """All rows and notes as Markdown."""
        lines = ["| " + " | ".join(HEADS) + " |", "|" + "---|" + "---:|" * (len(HEADS) - 1)]
        for row in self.rows:
            first, *others = row.cells()
            lines.append("| " + " | ".join([first + self._mark(row), *others]) + " |")
        return "\n".join(lines) + ("\n\n" + self.below().replace("\n", "  \n") if self.notes else "")
