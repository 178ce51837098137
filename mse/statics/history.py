"""The steps of a search, and how it ended."""

from __future__ import annotations

from typing import NamedTuple

from ..display import Column, Shown, Table

_COLUMNS = (
    Column("step", digits=1), Column("energy", "J", 9), Column("relative residual", digits=3), "of",
    Column("length", "m", 3), "accepted",
)  # fmt: skip


class Iteration(NamedTuple):
    """One step of a search.

    Attributes
    ----------
    number : int
        Number of the step, from 0.
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
    """The steps of a search one after the other: a tuple that shows itself as a table.

    Parameters
    ----------
    iterable : iterable of Iteration
        The steps.
    """

    __slots__ = ()

    def table(self) -> Table:
        end = f", the last one to a relative residual of {self[-1].residual:.1e}" if self else ""
        return steps_table(f"Search: {len(self)} steps{end}", self)


def steps_table(title: str, steps: tuple[Iteration, ...]) -> Table:
    """Steps of a search, row by row."""
    rows = [(s.number, s.energy, s.residual, s.where, s.step, "yes" if s.accepted else "no") for s in steps]
    return Table(title, _COLUMNS, rows)


class Outcome(NamedTuple):
    """How a search ended: whether at equilibrium, why not, its steps, its notes, whether it left its branch; where it began."""

    converged: bool = True
    reason: str = ""
    history: tuple[Iteration, ...] = ()
    notes: tuple[str, ...] = ()
    branch_left: bool | None = False
    start: str = ""
