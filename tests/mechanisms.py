"""Mechanisms as plain data: built as mse systems, and judged by geometry and statics of their own.

A :class:`Mechanism` says what is there; ``system()`` makes the mse system of it, and :func:`check` judges a result by the
poses of its bodies alone: whether the joints are closed, whether forces balance, whether the energy is lowest, and with
what frequencies it swings. Constraints are gradients written by hand; second derivatives come from complex steps on
these, which lose no digits. Six coordinates a body, (d, a): o -> o + d, U -> exp([a]x) U about its center.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

import mse
from mse import Pose

STEP = 1e-40  # of the complex steps: its square is nothing beside one
ENOUGH = 1e-9  # of the largest singular value: what counts as none
AXES = np.eye(3)


# -- what there is ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Body:
    """A rigid body that starts at ``at``; ``inertia`` as RigidBody takes it."""

    name: str
    mass: float
    inertia: Any
    at: Pose


@dataclass(frozen=True)
class Link:
    """A joint or spring of class ``kind``: frame 0 on body ``a`` at ``pose_a``, frame 1 on ``b``; "ground" is a body."""

    kind: str
    name: str
    a: str
    pose_a: Pose
    b: str
    pose_b: Pose
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Train:
    """A gear: the sum of coefficients times the coordinates of ``joints`` is ``offset``."""

    name: str
    joints: Mapping[str, float]
    offset: float = 0.0


@dataclass(frozen=True)
class Mechanism:
    name: str
    bodies: tuple[Body, ...]
    links: tuple[Link, ...]
    trains: tuple[Train, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)

    def system(self) -> mse.MSystem:
        s = mse.MSystem(self.name, gravity=self.gravity)
        seat = {"ground": s.ground}
        for b in self.bodies:
            seat[b.name] = s.add(mse.RigidBody(b.name, mass=b.mass, inertia=b.inertia, at=b.at)).frame(0)
        for k in self.links:
            joint = s.add(getattr(mse, k.kind)(k.name, **k.options))
            s.clamp(seat[k.a], joint.frame(0), k.pose_a)
            s.clamp(seat[k.b], joint.frame(1), k.pose_b)
        for t in self.trains:
            s.add(mse.Gear(t.name, joints=dict(t.joints), offset=t.offset))
        return s

    def started(self, poses: Mapping[str, Pose]) -> Mechanism:
        """The same mechanism with other initial poses."""
        return replace(self, bodies=tuple(replace(b, at=poses.get(b.name, b.at)) for b in self.bodies))


class Poses(NamedTuple):
    """Stands in for a working point where a test puts the bodies itself."""

    poses: Mapping[str, Pose]


# -- planar chains, in the x-z plane with hinges about y -------------------------------------------------------------
def lean(angle: float) -> Pose:
    """Turned by ``angle`` from x towards z."""
    return Pose.ry(-angle)


def chain(name: str, lengths, masses, angles, *, end=None, points=False, offsets=None, gravity=9.81) -> Mechanism:
    """Rods from the origin, hinged about y; ``end`` (x, z) is the last pin. ``points``: masses at their far ends.

    They start at ``angles`` (n,) from x, where the chain puts them, moved by ``offsets`` (n, 3) if given.
    """
    bodies, links = [], []
    x = np.zeros(3)
    below, seat = "ground", Pose()
    for k, (length, mass, angle) in enumerate(zip(lengths, masses, angles, strict=True)):
        along = np.array([np.cos(angle), 0.0, np.sin(angle)])
        arm = length if points else 0.5 * length
        start = Pose(x + arm * along + (0.0 if offsets is None else offsets[k]), lean(angle).U)
        slender = mass * length**2 / 12
        bodies.append(Body(f"rod{k}", mass, 0.0 if points else (1e-3 * slender, slender, slender), start))
        links.append(Link("Revolute", f"hinge{k}", f"rod{k}", Pose.dx(-arm), below, seat, {"axis": (0, 1, 0)}))
        below, seat = f"rod{k}", Pose.dx(length - arm)
        x = x + length * along
    if end is not None:
        pin = Pose.dxdydz(end[0], 0.0, end[1])
        links.append(Link("Revolute", f"hinge{len(bodies)}", below, seat, "ground", pin, {"axis": (0, 1, 0)}))
    return Mechanism(name, tuple(bodies), tuple(links), gravity=(0.0, 0.0, -gravity))


def chain_angles(wp, rods: int) -> np.ndarray:
    """Angles (n,) of the rods of :func:`chain` from x towards z, in (-pi, pi]."""
    x = [wp.poses[f"rod{k}.center"].U[:, 0] for k in range(rods)]
    return np.array([np.arctan2(v[2], v[0]) for v in x])


def at_angles(plan: Mechanism, angles) -> Poses:
    """The poses of a :func:`chain` whose rods lie at ``angles``, as a result to be judged."""
    lengths = [-2 * k.pose_a.o[0] for k in plan.links[: len(plan.bodies)]]
    placed = chain("placed", lengths, [1.0] * len(lengths), angles)
    return Poses({f"{b.name}.center": b.at for b in placed.bodies})


# -- geometry of one link --------------------------------------------------------------------------------------------
class _Ends:
    """Frames 0 and 1 of a link, for a batch of twelve complex steps on the coordinates of its two bodies."""

    def __init__(self, a: Pose, pose_a: Pose, b: Pose, pose_b: Pose):
        self.o0, self.U0, self.arm0 = self._frame(a, pose_a, 0)
        self.o1, self.U1, self.arm1 = self._frame(b, pose_b, 6)
        self.r = self.o0 - self.o1

    @staticmethod
    def _frame(body: Pose, seat: Pose, first: int):
        o = np.tile(body.o, (12, 1)).astype(complex)
        u = np.tile(body.U, (12, 1, 1)).astype(complex)
        for k in range(3):
            o[first + k, k] += 1j * STEP
            u[first + 3 + k] += 1j * STEP * np.cross(AXES[k], body.U, axisb=0, axisc=0)
        arm = u @ seat.o
        return o + arm, u @ seat.U, arm

    # each of these: value (12,) and gradient (12, 12) on (d_a, a_a, d_b, a_b), at every complex step
    def along(self, n):
        """``(U1 n) . (o0 - o1)``"""
        u = self.U1 @ n
        gradient = [u, np.cross(self.arm0, u), -u, np.cross(u, self.arm1) + np.cross(u, self.r)]
        return np.sum(u * self.r, axis=1), np.hstack(gradient)

    def cosine(self, p, q):
        """``(U0 p) . (U1 q)``"""
        u, v = self.U0 @ p, self.U1 @ q
        turn, none = np.cross(u, v), np.zeros_like(u)
        return np.sum(u * v, axis=1), np.hstack([none, turn, none, -turn])

    def distance(self):
        """``|o0 - o1|``"""
        size = np.sqrt(np.sum(self.r**2, axis=1))
        u = self.r / size[:, None]
        return size, np.hstack([u, np.cross(self.arm0, u), -u, np.cross(u, self.arm1)])

    def angle(self, axis):
        """Rotation of frame 0 against frame 1 about ``axis``, in (-pi, pi]."""
        e, f = across(axis)
        (ee, dee), (ff, dff) = self.cosine(e, e), self.cosine(f, f)
        (ef, def_), (fe, dfe) = self.cosine(e, f), self.cosine(f, e)
        c, s, dc, ds = ee + ff, ef - fe, dee + dff, def_ - dfe
        square = c**2 + s**2
        value = np.arctan2(s.real, c.real) + 1j * (c.real * s.imag - s.real * c.imag) / square.real
        return value, (c[:, None] * ds - s[:, None] * dc) / square[:, None]


def across(axis) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed triple with ``axis`` as the third."""
    n = np.asarray(axis, dtype=float)
    n = n / np.linalg.norm(n)
    e = np.cross(n, AXES[np.argmin(np.abs(n))])
    e /= np.linalg.norm(e)
    return e, np.cross(n, e)


def unit(v) -> np.ndarray:
    return np.asarray(v, dtype=float) / np.linalg.norm(v)


def _point(e: _Ends):
    return [e.along(n) for n in AXES]


def _parallel(e: _Ends, axis):
    return [e.cosine(unit(axis), n) for n in across(axis)]


def _unturned(e: _Ends):
    return [e.cosine(AXES[i], AXES[j]) for i, j in ((0, 1), (1, 2), (2, 0))]


def _on_line(e: _Ends, axis):
    return [e.along(n) for n in across(axis)]


def _general(e: _Ends, free):
    turns = [i for i, name in enumerate(("ax", "ay", "az")) if name in free]
    held = [e.along(AXES[i]) for i, name in enumerate("xyz") if name not in free]
    if len(turns) == 0:
        return held + _unturned(e)
    if len(turns) == 1:
        return held + _parallel(e, AXES[turns[0]])
    if len(turns) == 2:
        first, second = crossed(free)
        return [*held, e.cosine(AXES[second], AXES[first])]
    return held


def crossed(free) -> tuple[int, int]:
    """Axes of a joint with two free rotations: the one on frame 1, and the one on frame 0 after it in cyclic order."""
    still = next(i for i, name in enumerate(("ax", "ay", "az")) if name not in free)
    return (still + 1) % 3, (still + 2) % 3


def _less(row, target):
    return row[0] - target, row[1]


Z = (0.0, 0.0, 1.0)
ROWS: dict[str, Callable] = {
    "Revolute": lambda e, o: _point(e) + _parallel(e, o.get("axis", Z)),
    "Prismatic": lambda e, o: _on_line(e, o.get("axis", Z)) + _unturned(e),
    "Cylindrical": lambda e, o: _on_line(e, o.get("axis", Z)) + _parallel(e, o.get("axis", Z)),
    "Planar": lambda e, o: [e.along(unit(o.get("axis", Z))), *_parallel(e, o.get("axis", Z))],
    "Universal": lambda e, o: [*_point(e), e.cosine(unit(o["second"]), unit(o["axis"]))],
    "Spherical": lambda e, o: _point(e),
    "Fixed": lambda e, o: _point(e) + _unturned(e),
    "PointOnLine": lambda e, o: _on_line(e, o.get("axis", Z)),
    "Joint": lambda e, o: _general(e, o["free"]),
    "Rod": lambda e, o: [_less(e.distance(), o["length"])],
    "Spring": lambda e, o: [],
}


def coordinate(kind: str, e: _Ends, options):
    """The coordinate of a joint with one: value and gradient."""
    axis = options.get("axis", Z)
    return e.along(unit(axis)) if kind == "Prismatic" else e.angle(axis)


def misfit(link: Link, p0: Pose, p1: Pose) -> float:
    """How far a joint is from closed, in meters and radians, from the world poses of its frames alone."""
    r = p1.U.T @ (p0.o - p1.o)
    turn = p1.U.T @ p0.U
    axis = unit(link.options.get("axis", Z))
    off_line = np.linalg.norm(r - axis * (axis @ r))
    tilt = np.linalg.norm(turn @ axis - axis)
    twist = np.linalg.norm(turn - np.eye(3)) / np.sqrt(2)
    apart = np.linalg.norm(r)
    if link.kind == "Joint":
        free = link.options["free"]
        held = np.linalg.norm([r[i] for i, name in enumerate("xyz") if name not in free])
        turns = [i for i in range(3) if f"a{'xyz'[i]}" in free]
        if len(turns) == 2:
            first, second = crossed(free)
            return max(held, abs(turn[first, second]))
        if len(turns) == 1:
            return max(held, np.linalg.norm(turn[:, turns[0]] - AXES[turns[0]]))
        return held if turns else max(held, twist)
    return {
        "Revolute": lambda: max(apart, tilt),
        "Prismatic": lambda: max(off_line, twist),
        "Cylindrical": lambda: max(off_line, tilt),
        "Planar": lambda: max(abs(axis @ r), tilt),
        "Universal": lambda: max(apart, abs(unit(link.options["second"]) @ turn.T @ axis)),
        "Spherical": lambda: apart,
        "Fixed": lambda: max(apart, twist),
        "PointOnLine": lambda: off_line,
        "Rod": lambda: abs(apart - link.options["length"]),
        "Spring": lambda: 0.0,
    }[link.kind]()


# -- the judgment ---------------------------------------------------------------------------------------------------
class Verdict(NamedTuple):
    """``mismatch`` over the size, ``residual`` over the loads, ``lowest`` eigenvalues over the stiffness of the whole."""

    mismatch: float
    residual: float
    lowest: np.ndarray
    redundant: int
    freedoms: int
    energy: float
    frequencies: np.ndarray
    worst: str


class _Term(NamedTuple):
    """A scalar of two bodies' coordinates: value, gradient (12,), second derivative (12, 12), where these belong."""

    value: float
    gradient: np.ndarray
    bend: np.ndarray
    index: np.ndarray
    label: str = ""


def _term(row, index) -> _Term:
    value, gradient = row
    bend = gradient.imag / STEP  # row: which step; the order of two turns matters only off equilibrium
    return _Term(float(value[0].real), gradient[0].real, 0.5 * (bend + bend.T), index)


class Statics:
    """Energy and constraints of a mechanism at given poses, on six coordinates a body; the ground's come last."""

    def __init__(self, plan: Mechanism, poses: Mapping[str, Pose]):
        self.plan = plan
        self.n = 6 * len(plan.bodies)
        self.number = {b.name: k for k, b in enumerate(plan.bodies)} | {"ground": len(plan.bodies)}
        self.at = {b.name: poses[f"{b.name}.center"] for b in plan.bodies} | {"ground": Pose()}
        self.arm = np.zeros(len(plan.bodies) + 1)
        self.rows: list[_Term] = []
        self.coordinates: dict[str, _Term] = {}
        self.gradients: list[tuple[np.ndarray, np.ndarray]] = []  # forces of each energy, for the loads
        self.springs: dict[str, tuple[float, float, float]] = {}  # stiffness, rest and preload at joints
        self.energy, self.slope, self.bend = 0.0, np.zeros(self.n + 6), np.zeros((self.n + 6, self.n + 6))
        misfits = {}
        places = [p.o for p in self.at.values()]
        for k in plan.links:
            frames = self.at[k.a] @ k.pose_a, self.at[k.b] @ k.pose_b
            places += [frames[0].o, frames[1].o]
            misfits[k.name] = misfit(k, *frames)
            self._take(k)
        self.size = max(float(np.ptp(places, axis=0).max()), 1e-3)
        for t in plan.trains:
            self._gear(t, misfits)
        for b in plan.bodies:
            force = -b.mass * np.asarray(plan.gravity)
            self.energy += float(force @ self.at[b.name].o)
            first = 6 * self.number[b.name]
            self.slope[first : first + 3] += force
            self.gradients.append((np.arange(first, first + 3), force))
        self.worst = max(misfits, key=misfits.get) if misfits else ""
        self.mismatch = max([0.0, *misfits.values()]) / min(self.size, 1.0)
        self.arm[:-1] = np.maximum(self.arm[:-1], 0.1 * self.size)

    def _index(self, name: str) -> np.ndarray:
        return 6 * self.number[name] + np.arange(6)

    def _take(self, k: Link) -> None:
        for name, seat in ((k.a, k.pose_a), (k.b, k.pose_b)):
            self.arm[self.number[name]] = max(self.arm[self.number[name]], float(np.linalg.norm(seat.o)))
        ends = _Ends(self.at[k.a], k.pose_a, self.at[k.b], k.pose_b)
        index = np.concatenate([self._index(k.a), self._index(k.b)])
        self.rows += [_term(row, index) for row in ROWS[k.kind](ends, k.options)]
        stiffness = k.options.get("stiffness", 0.0)
        if k.kind == "Spring":
            self._pull(_term(ends.distance(), index), stiffness, k.options["length"])
        elif k.kind in ("Revolute", "Prismatic"):
            label = "angle" if k.kind == "Revolute" else "displacement"
            q = self.coordinates[k.name] = _term(coordinate(k.kind, ends, k.options), index)._replace(label=label)
            self.springs[k.name] = stiffness, k.options.get("rest", 0.0), k.options.get("preload", 0.0)
            self._pull(q, *self.springs[k.name])

    def _pull(self, q: _Term, stiffness: float, rest: float, preload: float = 0.0) -> None:
        """Add ``k/2 (q - rest)^2 - preload q``."""
        pull = stiffness * (q.value - rest) - preload
        self.energy += 0.5 * stiffness * (q.value - rest) ** 2 - preload * q.value
        np.add.at(self.slope, q.index, pull * q.gradient)
        at = np.ix_(q.index, q.index)
        self.bend[at] += stiffness * np.outer(q.gradient, q.gradient) + pull * q.bend
        self.gradients.append((q.index, pull * q.gradient))

    def wind(self, name: str, turns: int) -> None:
        """Wind the spring at a joint by whole turns."""
        q, stiffness, rest, preload = self.coordinates[name], *self.springs[name]
        value = q.value + 2 * np.pi * turns
        self.energy += 0.5 * stiffness * ((value - rest) ** 2 - (q.value - rest) ** 2) - preload * 2 * np.pi * turns
        pull = 2 * np.pi * turns * stiffness
        np.add.at(self.slope, q.index, pull * q.gradient)
        self.bend[np.ix_(q.index, q.index)] += pull * q.bend

    def _gear(self, t: Train, misfits: dict[str, float]) -> None:
        members = [(c, self.coordinates[name], name) for name, c in t.joints.items()]
        kinds = {k.name: k.kind for k in self.plan.links}
        sums = sum(c * q.value for c, q, _ in members) - t.offset
        whole = [2 * np.pi * c * np.arange(-3, 4) if kinds[name] == "Revolute" else [0.0] for c, _, name in members]
        misfits[t.name] = min(abs(sums + sum(w)) for w in itertools.product(*whole))
        index = np.concatenate([q.index for _, q, _ in members])
        bend = np.zeros((len(index), len(index)))
        for j, (c, q, _) in enumerate(members):
            bend[12 * j : 12 * j + 12, 12 * j : 12 * j + 12] = c * q.bend
        self.rows.append(_Term(sums, np.concatenate([c * q.gradient for c, q, _ in members]), bend, index))

    def mass(self) -> np.ndarray:
        out = np.zeros((self.n, self.n))
        for k, b in enumerate(self.plan.bodies):
            inertia = np.asarray(b.inertia, dtype=float)
            j = inertia if inertia.ndim == 2 else np.diag(np.broadcast_to(inertia, 3))
            u = self.at[b.name].U
            out[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = b.mass * np.eye(3)
            out[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = u @ j @ u.T
        return out

    def verdict(self) -> Verdict:
        n = self.n
        one = np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], len(self.arm)) + np.repeat(self.arm, 6) * np.tile(
            [0.0, 0.0, 0.0, 1.0, 1.0, 1.0], len(self.arm)
        )
        one[n:] = 1.0
        rows = np.zeros((len(self.rows), n + 6))
        for i, row in enumerate(self.rows):
            np.add.at(rows[i], row.index, row.gradient)
        rows = rows[:, :n] / one[:n]
        norms = np.linalg.norm(rows, axis=1)
        norms[norms == 0.0] = 1.0
        rows /= norms[:, None]
        slope = self.slope[:n] / one[:n]
        left, values, right = np.linalg.svd(rows, full_matrices=True)
        rank = int(np.sum(values > ENOUGH * values.max(initial=1.0)))
        push = left[:, :rank] @ ((right[:rank] @ slope) / values[:rank])
        loads = np.abs(rows.T * push).sum(axis=1)
        loads = np.concatenate([loads, np.zeros(6)])
        for index, force in self.gradients:
            np.add.at(loads, index, np.abs(force) / one[index])
        bend = self.bend.copy()
        for row, weight in zip(self.rows, push / norms, strict=True):
            np.subtract.at(bend, np.ix_(row.index, row.index), weight * row.bend)  # a gear may meet a body twice
        bend = bend[:n, :n] / np.outer(one[:n], one[:n])
        free = right[rank:].T
        most, stiffest = float(loads[:n].max(initial=0.0)), float(np.linalg.norm(bend, 2))
        # where nothing is loaded, what a millionth of the size would load counts
        residual = float(np.linalg.norm(free.T @ slope)) / max(most, 1e-6 * stiffest * self.size, 1e-300)
        scale = max(stiffest, most / self.size, 1e-300)
        lowest = np.linalg.eigvalsh(free.T @ bend @ free) / scale
        frequencies = np.zeros(0)
        mass = free.T @ (self.mass() / np.outer(one[:n], one[:n])) @ free
        if free.shape[1] and np.linalg.cond(mass) < 1e12:
            w2 = eigh(free.T @ bend @ free, mass, eigvals_only=True)
            frequencies = np.sign(w2) * np.sqrt(np.abs(w2)) / (2 * np.pi)
        return Verdict(self.mismatch, residual, lowest, len(self.rows) - rank, n - rank, self.energy, frequencies,
                       self.worst)  # fmt: skip


def check(plan: Mechanism, wp) -> Verdict:
    """Judge the poses ``wp.poses`` of a mechanism's bodies.

    How often springs at joints are wound poses do not tell: that alone is taken from ``wp.joint_coordinates``, where there
    are some, and whatever is told there has to be what the poses show, but for whole turns.
    """
    there = Statics(plan, wp.poses)
    told = getattr(wp, "joint_coordinates", {})
    for name, q in there.coordinates.items():
        value = told.get(f"{name}.{q.label}", q.value)
        turns = round((value - q.value) / (2 * np.pi)) if q.label == "angle" else 0
        there.wind(name, turns)
        there.mismatch = max(there.mismatch, abs(value - q.value - 2 * np.pi * turns) / min(there.size, 1.0))
    return there.verdict()
