"""Elements of a user's own: their recorded laws compared with built-in kernels, and with a record for each place.

A chain of springs solves with an energy written in Python as with ``mse.Spring``.  Laws of 13 and 26 variables, of frames and
internal coordinates, give value, gradient and Hessian for a thousand elements at once, by one record for all and by one for each,
made and used once.  Masses and forces of inertia of a chain of links, as steps of a motion ask for them.  Errors: frequencies,
Hessians and forces, of one against the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import mse
from mse.elements.base import FramePose
from mse.elements.law_record import Law, Shape, rows_of
from mse.elements.parameters import Real
from mse.elements.recorded_laws import Together

from . import measure
from .table import Row

OTHERWISE = "mse otherwise"
ELEMENTS = 1000
ALONE = 20  # of them one by one, scaled
LINKS = 20
BELOW = np.tril(np.ones((LINKS, LINKS)))  # links that carry each point
MOVING = np.linspace(0.0, 1.0, LINKS), np.linspace(1.0, 2.0, LINKS)  # rad, rad/s


class OwnSpring(mse.MObject):
    """``W = k/2 (|d| - l)^2``, as ``mse.Spring``."""

    length: Real = Real("unloaded", unit="m")
    stiffness: Real = Real("stiffness", unit="N/m")

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * self.stiffness * (np.sqrt(d @ d) - self.length) ** 2

    def span(self):
        return self.length


class Pair(mse.MObject):
    """Two magnets on frames, one of which slides on a spring along its axis: 13 variables, 900 operations."""

    strength: Real = Real("product of the moments", default=7.0)
    coordinate_names = ("slider",)
    frame_names = ("0", "1")

    def energy(self, frames, q):
        total = 0.0
        for a, b, s in zip(frames[::2], frames[1::2], q, strict=True):
            m, n = a.U[:, 2], b.U[:, 2]
            d = b.o - a.o - s * m
            r = np.sqrt(d @ d)
            total = total + self.strength * (m @ n - 3.0 * (m @ d) * (n @ d) / r**2) / r**3 + 0.5 * s**2
        return total


class FourFrames(Pair):
    """Two of these pairs in one element: 26 variables."""

    frame_names = ("0", "1", "2", "3")
    coordinate_names = ("first", "second")


def chain(cls: type, count: int) -> mse.MSystem:
    """Masses on a chain of springs that hangs between two supports."""
    system = mse.MSystem("chain", gravity=(0, 0, -9.81))
    above, springs = system.ground, 0
    for k in range(count - 1):
        body = system.add(mse.RigidBody(f"body {k}", mass=0.01, inertia=1e-4, at=mse.Pose.dx(k + 1.0)))
        spring = system.add(cls(f"spring {springs}", length=0.9, stiffness=100.0))
        system.clamp(above, spring.frame(1))
        system.clamp(spring.frame(0), body.frame(0))
        above, springs = body.frame(0), springs + 1
    last = system.add(cls(f"spring {springs}", length=0.9, stiffness=100.0))
    system.clamp(above, last.frame(1))
    system.clamp(last.frame(0), system.ground, mse.Pose.dx(float(count)))
    return system


def solved(own: int, count: int) -> Callable[[], np.ndarray]:
    """From a system solved before, with another stiffness, to its working point and the lowest frequencies."""
    system, numbers = chain(OwnSpring if own else mse.Spring, count), iter(range(10**9))
    system.find_working_point()

    def call() -> np.ndarray:
        system["spring 0"].stiffness = 100.0 + 0.01 * next(numbers)
        return system.find_working_point().linearize().modes(min(20, count - 1)).frequencies_hz

    return call


def chain_row(count: int, runs: int) -> Row:
    times, results = measure.alternate({"ours": solved(1, count), OTHERWISE: solved(0, count)}, runs)
    a, b = (np.sort(r[r > 0]) for r in (results["ours"], results[OTHERWISE]))
    error = float(np.max(np.abs(a / b - 1)))
    return Row(
        "own springs against built-in: point and modes", count, times["ours"], {OTHERWISE: times[OTHERWISE]}, error,
        measure.peak(solved, (1, count), (1, count)),
    )  # fmt: skip


def places(cls: type, count: int) -> list[tuple[list[FramePose], np.ndarray]]:
    rng = np.random.default_rng(0)

    def frame(k: int) -> FramePose:
        return FramePose(rng.normal(size=3) * 0.1 + np.array([float(k), 0, 0]), mse.Pose.rotation(rng.normal(size=3)).U)

    return [
        ([frame(k) for k in range(len(cls.frame_names))], 0.1 * rng.normal(size=len(cls.coordinate_names)))
        for _ in range(count)
    ]


def recorded(cls: type, count: int) -> Callable[[], np.ndarray]:
    """Hessians of so many elements by their record."""
    together = Together([cls(f"it {k}") for k in range(count)], "energy", _shape(cls))
    rows = rows_of(places(cls, count))
    return lambda: together.evaluate(rows, np.zeros(3), 2)[2]


def _shape(cls: type) -> Shape:
    return Shape(len(cls.frame_names), len(cls.coordinate_names))


def one_by_one(cls: type, count: int) -> Callable[[], np.ndarray]:
    """The same by a record for each, made anew."""
    obj, rows = cls("it"), np.hstack([rows_of(places(cls, count)), np.zeros((count, 3))])
    return lambda: np.array([Law(obj, "energy", _shape(cls), None, row).run(row[None], 2)[2][0] for row in rows])


def derivative_row(cls: type, count: int, some: int, runs: int) -> Row:
    times, results = measure.alternate({"ours": recorded(cls, count), OTHERWISE: one_by_one(cls, some)}, runs)
    mine, others = results["ours"][:some], results[OTHERWISE]
    variables = 6 * len(cls.frame_names) + len(cls.coordinate_names)
    return Row(
        f"{count:,} elements of {variables} variables: Hessians", variables, times["ours"],
        {OTHERWISE: times[OTHERWISE] * count / some}, float(np.abs(mine - others).max() / np.abs(others).max()),
    )  # fmt: skip


def made(cls: type) -> Callable[[], None]:
    """The record of a class and its programs."""
    obj, place = cls("it"), np.concatenate([rows_of(places(cls, 1))[0], np.zeros(3)])
    return lambda: Law(obj, "energy", _shape(cls), [("strength", False)], place).prepare(2)


def making_row(cls: type, runs: int) -> Row:
    times, _ = measure.alternate({"ours": made(cls)}, runs)
    variables = 6 * len(cls.frame_names) + len(cls.coordinate_names)
    return Row(f"record of {variables} variables and its derivatives", variables, times["ours"])


class Links(mse.MObject):
    """A chain of links of 1 m with points of 1 kg at their ends, in absolute angles."""

    frame_names = ()
    coordinate_names = tuple(f"angle{k}" for k in range(LINKS))

    def kinetic(self, frames, q, v):
        x, y = BELOW @ (np.cos(q) * v), BELOW @ (np.sin(q) * v)
        return 0.5 * (x @ x + y @ y)


def links_by_record() -> Callable[[], np.ndarray]:
    """Masses (n, n) and forces of inertia (n,) of the chain, in one row."""
    law = Law(Links("links"), "motion", Shape(0, LINKS, 1 + LINKS + LINKS**2), [], np.concatenate(MOVING))
    row = np.concatenate(MOVING)[None]
    return lambda: law.run(row, 0)[0][0, 1:]


def links_by_hand() -> Callable[[], np.ndarray]:
    """The same by its closed form, which NumPy evaluates at once."""
    q, v = MOVING
    carried = BELOW.T @ BELOW

    def found() -> np.ndarray:
        apart = q[:, None] - q
        return np.concatenate([(carried * np.sin(apart)) @ v**2, (carried * np.cos(apart)).ravel()])

    return found


def links_row(runs: int) -> Row:
    times, results = measure.alternate({"ours": links_by_record(), "by hand": links_by_hand()}, runs, each=20)
    off = float(np.abs(results["ours"] - results["by hand"]).max() / np.abs(results["by hand"]).max())
    return Row(f"{LINKS} links: masses and forces of inertia", LINKS, times["ours"], {"by hand": times["by hand"]}, off)


def rows(quick: bool) -> Iterator[Row]:
    runs = 3 if quick else 7
    yield links_row(100)
    yield chain_row(100 if quick else ELEMENTS, runs)
    for cls in (Pair, FourFrames):
        yield making_row(cls, runs)
        yield derivative_row(cls, ELEMENTS, ALONE, runs)
