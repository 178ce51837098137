"""The steps of a search, and how it ended."""

from __future__ import annotations

from typing import NamedTuple

from ..display import Column, Shown, Table, amounts

_COLUMNS = (
    Column("step", digits=1), Column("energy", "J", 9), Column("relative residual", digits=3), "of",
    Column("length", "m", 3), "accepted",
)  # fmt: skip


class Iteration(NamedTuple):
    """One step of a search, or the beginning of an attempt.

    Attributes
    ----------
    number : int
        Steps tried so far: 0 at the beginning of the search; the beginning of an attempt or stage adds none.
    strength : float
        Factor on elastic forces.
    energy : float, J
        Energy after the step.
    residual : float
        Largest relative residual.
    where : str
        Coordinate of this residual.
    step : float, m
        Length of the step, 0 where it was not accepted.
    accepted : bool
        Whether the step was accepted.
    """

    number: int
    strength: float
    energy: float
    residual: float
    where: str
    step: float
    accepted: bool


class Steps(Shown, tuple[Iteration, ...]):
    """The steps of a search from its beginning: a tuple that shows itself as a table.

    Parameters
    ----------
    iterable : iterable of Iteration
        The steps.
    """

    __slots__ = ()

    @property
    def tried(self) -> int:
        """How many steps were tried, whether accepted or not."""
        return self[-1].number if self else 0

    def table(self) -> Table:
        end = f", the last one to a relative residual of {self[-1].residual:.1e}" if self else ""
        return steps_table(f"Search: {amounts(step=self.tried)}{end}", self)


def steps_table(title: str, steps: tuple[Iteration, ...]) -> Table:
    """Steps of a search, row by row."""
    rows = [(s.number, s.energy, s.residual, s.where, s.step, "yes" if s.accepted else "no") for s in steps]
    return Table(title, _COLUMNS, rows)


DRAWN = "its initial poses"  # start of a search that does not continue from a working point


class Outcome(NamedTuple):
    """How a search ended: whether at equilibrium, if not why, its steps and notes, whether it left its branch; where it began."""

    converged: bool = True
    reason: str = ""
    history: tuple[Iteration, ...] = ()
    notes: tuple[str, ...] = ()
    branch_left: bool | None = False
    start: str = ""
