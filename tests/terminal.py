"""A terminal that remembers all it was sent."""

from __future__ import annotations

import io
import re


class Screen(io.StringIO):
    """A stream that is a terminal: what it was sent, and what is to be seen of that."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """What it has shown in its last line, one after the other."""
        return [line.rstrip() for line in self.getvalue().split("\r") if line.strip()]

    def left(self) -> str:
        """What there is to be seen in the end, of lines ended by ``\\n`` also where ``\\r`` comes before that."""
        rows, row, column = [""], 0, 0
        for c in re.findall(r"\x1b\[A|[^\x1b]", self.getvalue()):
            if c == "\x1b[A":  # one line up
                row -= 1
            elif c == "\n":
                row, column = row + 1, 0
                rows += [""] * (row == len(rows))
            elif c == "\r":
                column = 0
            else:
                rows[row] = rows[row][:column].ljust(column) + c + rows[row][column + 1 :]
                column += 1
        assert row >= 0
        return "\n".join(text.rstrip() for text in rows)

    def rows(self) -> list[str]:
        """The same row by row, without empty ones at the end."""
        return self.left().rstrip("\n").split("\n") if self.left().strip() else []
