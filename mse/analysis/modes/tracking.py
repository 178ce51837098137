"""Modes along a parameter: each followed by its shape, so that a line keeps what moves where frequencies cross or veer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...declared import array, axis, entry, labeled, names, scalar
from ...display import Column, Table, amounts
from ...errors import ModelError
from ...model.system import MSystem
from ...numerics.blas_threads import one_thread
from ...numerics.precision import NOTHING
from ...progress.tasks import Show, Task
from ...results import Result
from ...statics.working_point import WorkingPoint
from ...validation.arguments import instance, numbers, refusal, whole
from .result import Mode, Modes

# Of a correlation: where a second mode comes as near to the first, smaller steps decide.  From 0.2 to 0.8
# tests/analysis/modes/test_tracking.py passes.
_DOUBT = 0.5
# Of a frequency: modes so near to each other are one family, whose shapes may turn into each other, and cross without smaller
# steps.  From 1e-6 to 1e-3 tests/analysis/modes/test_tracking.py passes.
_FAMILY = 1e-4
# Of a squared length: what is left of a shape that others add up to.  With 1e-12 and with 0.2
# tests/analysis/modes/test_tracking.py passes.
_ALONE = 1e-6
# Of the interval between two values: steps are not made smaller.  With 1e-2 tests/analysis/modes/test_tracking.py fails.
_FINEST = 2.0**-16


class ModeTracks(Result):
    """Modes of a system along a parameter, each followed by its shape; made by :func:`mse.track`.

    Attributes
    ----------
    name : str
        Name of the system.
    parameter : str
        Name of the parameter.
    unit : str
        Its unit.
    values : ndarray, (v,)
        Its values: those asked for, and smaller steps between them where shapes change quickly.
    asked : ndarray of bool, (v,)
        Which values were asked for.
    lines : tuple of str, (m,)
        What moves most in each mode at the first value.
    objects : tuple of str, (o,)
        Names of the objects that move.
    eigenvalues : ndarray, (v, m), rad/s
        s of ``exp(s t)``, a column for each mode.
    participation : ndarray, (v, o, m)
        Share of each object in the kinetic energy.
    lossy : bool
        Whether loss factors were taken into account, and damping with them.
    notes : tuple of str
        Where smaller steps did not settle which mode is which.

    Examples
    --------
    >>> system = mse.MSystem("two", gravity=(0, 0, 0))
    >>> for k in range(2):
    ...     mass = system.add(mse.RigidBody(f"m{k}", mass=1.0, inertia=1.0))
    ...     guide = system.add(mse.Prismatic(f"k{k}", stiffness=100.0), between=(mass, system.ground))
    >>> tracks = mse.track(system, "k0.stiffness", [90.0, 110.0])
    >>> tracks.lines
    ('m0.z', 'm1.z')
    >>> np.round(tracks.frequencies_hz[tracks.asked], 4)
    array([[1.5099, 1.5915],
           [1.6692, 1.5915]])
    """

    name: str
    parameter: str = scalar(str)
    unit: str = scalar(str)
    values: np.ndarray = axis("point", unit="{unit}", label="{parameter}")
    asked: np.ndarray = entry("numbered", "point", options={"count": 2}, make=np.bool_)
    lines: tuple[str, ...] = names("mode")
    objects: tuple[str, ...] = names("object")
    eigenvalues: np.ndarray = array("point mode", "c", unit="rad/s", label="eigenvalue", columns="eigenvalue of {mode}")
    participation: np.ndarray = array("point object mode", unit="1", columns="participation of {object} in {mode}")
    lossy: bool = scalar(bool, default=False)
    notes: tuple[str, ...] = names("*", default=())

    @property
    @labeled("point mode", unit="Hz", label="frequency", columns="frequency of {mode}")
    def frequencies_hz(self) -> np.ndarray:
        """Natural frequencies ``|s|/(2 pi)`` in Hz (v, m)."""
        return np.abs(self.eigenvalues) / (2.0 * np.pi)

    @property
    def quality(self) -> np.ndarray:
        """Quality factors (v, m) as of :attr:`.Modes.quality`; infinite where undamped."""
        w2 = -(self.eigenvalues**2)
        return np.divide(w2.real, w2.imag, out=np.full(w2.shape, np.inf), where=w2.imag != 0.0)

    def table(self) -> Table:
        f, q = self.frequencies_hz, self.quality
        columns: list = ["mode", *(Column(f"{self.parameter} {self.values[k]:.6g}", "Hz", 8) for k in (0, -1))]
        rows = [[line, f[0, k], f[-1, k]] for k, line in enumerate(self.lines)]
        if self.lossy:
            columns += [Column("Q, from", digits=6), Column("to", digits=6)]
            rows = [[*row, q[0, k], q[-1, k]] for k, row in enumerate(rows)]
        title = (
            f"{self.name}: {amounts(mode=len(self.lines))} along {self.parameter}, {amounts(value=len(self.values))}"
        )
        return Table(title, columns, rows, notes=[f"note: {note}" for note in self.notes], most=40)


class _Point(NamedTuple):
    """Modes at one value: eigenvalues (m,), shapes (n, m) and participations (o, m), in the order of the lines; masses (n,)."""

    value: float
    working_point: WorkingPoint
    mass: np.ndarray
    s: np.ndarray
    shapes: np.ndarray
    shares: np.ndarray


@one_thread
def track(
    system: MSystem,
    parameter: str,
    values: ArrayLike,
    *,
    count: int | None = None,
    lossy: bool = False,
    progress: Show = True,
) -> ModeTracks:
    """Follow the modes of a system along one of its parameters, by how much of each shape is in each of those before.

    That is their correlation by mass, ``|phi_i^H M phi_j|``, where shapes are orthogonal; with damping they are not.  Modes at
    neighboring values are paired so that the sum is largest (Hungarian method: H. W. Kuhn, Naval Res. Logist. 2 (1955) 83).
    Where a second mode has more than half as much, or lines would cross, the step is halved: lines that veer are told from lines
    that cross.  Modes within 1e-4 of a frequency are a family, whose shapes are turned into those of the step before; its lines
    may cross.  Shapes that others add up to, as those inside exact beams, are told by their frequencies.

    Parameters
    ----------
    system : MSystem
        The system, which stays as it is.
    parameter : str
        A parameter of one of its objects, such as ``"wire.length"``.
    values : array_like, (k,)
        Values of the parameter, at least two, in the order in which they are followed.
    count : int, optional
        How many modes to follow, the lowest at the first value; all if left out.
    lossy : bool
        Whether modes have the loss factors of the elements, and damping.
    progress : bool or callable
        Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

    Returns
    -------
    ModeTracks
        Frequencies, Q and participations by mode and value.

    Raises
    ------
    UnknownNameError
        There is no such object or parameter.
    ModelError
        Values are no numbers or out of bounds, or there are fewer modes at one of them.
    WorkingPointError
        The system has no equilibrium at one of the values.

    Examples
    --------
    >>> pendulum = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    >>> mass = pendulum.add(mse.RigidBody("mass", mass=1.0, at=mse.Pose.dz(-1.0)))
    >>> wire = pendulum.add(mse.Spring("wire", length=1.0, stiffness=1e5), between=(pendulum.ground, mass))
    >>> tracks = mse.track(pendulum, "wire.length", [0.5, 2.0], count=2)
    >>> np.round(tracks.frequencies_hz[tracks.asked], 3)
    array([[0.705, 0.705],
           [0.352, 0.352]])
    """
    instance("track()", "system", system, MSystem, "a system, such as mse.MSystem('stage')")
    who = f"{system.label}: track()"
    if not isinstance(parameter, str) or "." not in parameter:
        raise refusal(who, "parameter", parameter, "'object.parameter', such as 'wire.length'")
    asked = numbers(who, "values", values, (None,))
    if len(asked) < 2 or np.any(np.diff(asked) == 0.0):
        raise refusal(who, "values", asked.tolist(), "at least two numbers, neighbors being different")
    if count is not None:
        count = whole(who, "count", count, minimum=1, remedy="None follows all")
    with Task(system.name, f"following modes along {parameter}", len(asked), "values", show=progress) as task:
        return task.finished(_Follower(system, parameter, count, lossy).follow(asked.tolist(), task))


class _Follower:
    """The modes of one system at values of one parameter."""

    def __init__(self, system: MSystem, parameter: str, count: int | None, lossy: bool):
        self._system, self._parameter, self._count, self._lossy = system, parameter, count, lossy
        self._notes: list[str] = []

    def follow(self, asked: Sequence[float], task: Task) -> ModeTracks:
        working_point = self._system.find_working_point().update({self._parameter: asked[0]})
        first, modes = self._at(working_point, asked[0])
        chosen = np.arange(len(modes) if self._count is None else min(self._count, len(modes)))
        points, of_asked = (
            [first._replace(s=first.s[chosen], shapes=first.shapes[:, chosen], shares=first.shares[:, chosen])],
            [0],
        )
        for done, (begin, value) in enumerate(pairwise(asked), start=1):
            task.tell(done)
            points += self._reached(points[-1], value, _FINEST * abs(value - begin))
            of_asked.append(len(points) - 1)
        flags, lines = np.isin(np.arange(len(points)), of_asked), _lines([modes[k] for k in chosen])
        reached, eigenvalues, shares = (np.array([getattr(p, k) for p in points]) for k in ("value", "s", "shares"))
        return ModeTracks(
            self._system.name, self._parameter, self._unit(), reached, flags, lines, modes.objects, eigenvalues, shares,
            self._lossy, tuple(dict.fromkeys(self._notes)),
        )  # fmt: skip

    def _unit(self) -> str:
        path, _, key = self._parameter.rpartition(".")
        unit = type(self._system[path]).declared_parameters[key].unit
        return "" if "," in unit else unit  # a joint's depends on the coordinate

    def _at(self, working_point: WorkingPoint, value: float) -> tuple[_Point, Modes]:
        model = working_point.linearize()
        # of as many again, since others may come from above
        modes = model.modes(None if self._count is None else 2 * self._count, lossy=self._lossy)
        shares = np.array(list(modes.participation.values()))
        return _Point(value, working_point, model.M, modes.eigenvalues, modes.shapes, shares), modes

    def _reached(self, start: _Point, value: float, finest: float) -> list[_Point]:
        """The points from one to another value, the last included; each step is halved until it is clear what is what."""
        out, ahead = [start], [value]
        while ahead:
            here, to = out[-1], ahead[-1]
            found, _ = self._at(here.working_point.update({self._parameter: to}), to)
            if found.shapes.shape[1] < here.shapes.shape[1]:
                raise ModelError(
                    f"{self._system.label}: it has {found.shapes.shape[1]} modes at {self._parameter} {to:.6g}, and "
                    f"{here.shapes.shape[1]} at {here.value:.6g}; expected as many; ask for fewer by count, or for values between"
                )
            paired, doubtful = _paired(here, found)
            if len(doubtful) and abs(to - here.value) > finest:
                ahead.append(0.5 * (here.value + to))
                continue
            if len(doubtful):
                f = abs(here.s[doubtful[0]]) / (2 * np.pi)
                self._notes.append(
                    f"modes near {f:.6g} Hz turn into each other at {self._parameter} {to:.9g}: one step decides"
                )
            out.append(paired)
            ahead.pop()
        return out[1:]


def _paired(before: _Point, after: _Point) -> tuple[_Point, np.ndarray]:
    """The modes after a step in the order of those before, and which lines (d,) are in doubt."""
    from scipy.optimize import linear_sum_assignment

    mass = 0.5 * (before.mass + after.mass)
    f, g = np.abs(before.s), np.abs(after.s)
    alike = _likeness(before, mass, after.shapes)
    near = np.abs(before.s[:, None] - after.s) / np.maximum(np.maximum(f[:, None], g), np.finfo(float).tiny)
    # frequencies decide where shapes do not move, or depend on each other, as shapes inside exact beams do
    shared = np.maximum(1.0 - np.diag(_likeness(before, before.mass, before.shapes)), NOTHING)
    _, chosen = linear_sum_assignment(alike - shared[:, None] * near, maximize=True)
    s, shapes, shares = after.s[chosen], after.shapes[:, chosen].astype(complex), after.shares[:, chosen]
    old = before.shapes.astype(complex)
    # the shapes before stay as they are, unless they part now
    for values, columns, other in ((np.abs(s), shapes, old), (f, old, shapes)):
        for family in _families(values):
            _turn(columns, other, mass, family)
    here = before._replace(shapes=old)
    alike = _likeness(here, mass, shapes)
    moved = np.diag(alike).copy()
    # dependent shapes are alike without any step
    alike -= _likeness(here, before.mass, old)
    np.fill_diagonal(alike, 0.0)
    second = np.maximum(alike.max(axis=0, initial=0.0), alike.max(axis=1, initial=0.0))
    doubtful = (second > _DOUBT * moved) & (second > NOTHING)
    doubtful |= _crossing(f, np.abs(s))
    return after._replace(s=s, shapes=shapes, shares=shares), np.flatnonzero(doubtful)


def _likeness(before: _Point, mass: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Size (m, k) of each shape before in each of the others (n, k), all of unit length.

    Shapes are added up as they are: with damping they are not orthogonal by mass, and some may nearly be one.
    """
    own = before.shapes / _lengths(before.shapes, before.mass)
    inverse = np.linalg.pinv(own.conj().T @ (before.mass @ own), rcond=_ALONE, hermitian=True)
    return np.abs(inverse @ (own.conj().T @ (mass @ (shapes / _lengths(shapes, mass)))))


def _lengths(shapes: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Lengths (m,) by mass, and 1 of shapes that do not move."""
    lengths = np.sqrt(np.sum(shapes.conj() * (mass @ shapes), axis=0).real)
    return np.where(lengths > NOTHING, lengths, 1.0)


def _families(size: np.ndarray) -> list[np.ndarray]:
    """Numbers of modes with nearly one frequency, of several each."""
    order = np.argsort(size, kind="stable")
    apart = np.diff(size[order]) > _FAMILY * size[order][1:]
    return [family for family in np.split(order, np.flatnonzero(apart) + 1) if len(family) > 1]


def _turn(columns: np.ndarray, other: np.ndarray, mass, family: np.ndarray) -> None:
    """Turn shapes of a family (n, k) among themselves so that each is as near as it can to another one (Procrustes)."""
    u, _, vh = np.linalg.svd(other[:, family].conj().T @ (mass @ columns[:, family]))
    columns[:, family] = columns[:, family] @ (vh.conj().T @ u.conj().T)


def _crossing(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Which lines (m,) change their order with another one over a step, beyond the reach of a family at both ends."""
    reach = _FAMILY * np.maximum(np.maximum.outer(f, f), np.maximum.outer(g, g))
    before, after = f[:, None] - f, g[:, None] - g
    crossed = (before * after < 0.0) & (np.minimum(np.abs(before), np.abs(after)) > reach)
    return crossed.any(axis=1)


def _lines(modes: Sequence[Mode]) -> tuple[str, ...]:
    """Names of lines by what moves most, numbered where several modes have it."""
    moving = [mode.participants(1).rpartition(" ")[0].rpartition(" ")[0] or "inside" for mode in modes]
    return tuple(
        name if moving.count(name) == 1 else f"{name} ({moving[:k].count(name) + 1})" for k, name in enumerate(moving)
    )
