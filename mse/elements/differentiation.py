"""Derivatives of an element's law by its coordinates: exact by jets, or by differences where the law is no numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..numerics.jets import Jet
from ..numerics.reals import real_array
from ..pose import Pose
from ..validation.arguments import LARGEST, called, shown

# A speed that stands for rest: its cube differs from zero, its fourth power vanishes.
SLOW = 1e-90
# Less than what is left at that speed of second derivatives of powers of speeds from 2 4/9 on, and of slopes of regular laws.
VANISHED = SLOW ** (4 / 9)
# Of the terms of a power: above rounding of sums of some of them, far below any other law.  From 1e-13 to 1e-3
# tests/elements/test_power.py passes.
_LINEAR = 1e-9


class FramePose(NamedTuple):
    """Origin ``o`` (3,) and orientation ``U`` (3, 3) of a frame, as an energy receives them (arrays or jets)."""

    o: Any
    U: Any


class MovingFrame(NamedTuple):
    """A frame that moves, as laws of velocities receive it: ``v`` (3,) m/s and ``w`` (3,) rad/s along world axes."""

    o: Any
    U: Any
    v: Any
    w: Any


def moving(frames, rates) -> tuple[list[MovingFrame], Any]:
    """Frames with their velocities, and the rates of internal coordinates, from all of them in one row."""
    found = [
        MovingFrame(f.o, f.U, rates[6 * k : 6 * k + 3], rates[6 * k + 3 : 6 * k + 6]) for k, f in enumerate(frames)
    ]
    return found, rates[6 * len(frames) :]


class Given(NamedTuple):
    """What a power receives besides virtual velocities: ``frames`` with their actual velocities, and rates ``v``."""

    frames: list[MovingFrame]
    v: Any


def power_of(obj, frames, q, virtual, actual):
    """The power of an object along virtual velocities (n,), where it moves with actual ones (n,); checked."""
    usage = "power(frames, q, v, given) with frames that have .o, .v, .w (3,) and .U (3, 3)"
    moved, rates = moving(frames, virtual)
    found = called(obj.label, "its power", usage, obj.power, moved, q, rates, Given(*moving(frames, actual)))
    return checked_energy(obj.label, found, "power", "W")


def exerted(obj, frames, q, actual) -> np.ndarray:
    """Forces (n,) of an object's power by the law itself, which has to be linear in virtual velocities."""
    n = len(actual)
    forces = np.array([power_of(obj, frames, q, unit, actual) for unit in np.eye(n)])
    direction = 1.5 - np.arange(n) / n
    nothing, some = (power_of(obj, frames, q, k * direction, actual) for k in (0.0, 1.0))
    terms = direction * forces
    if abs(nothing) > _LINEAR * np.abs(terms).sum() or abs(some - terms.sum()) > _LINEAR * np.abs(terms).sum():
        raise ModelError(
            f"{obj.label}: its power is {nothing:.6g} W without velocities and {some:.6g} W with all, where its terms add up to "
            f"{terms.sum():.6g}; expected a power linear in the velocities of frames and in v; take velocities that forces "
            "depend on from given.frames and given.v"
        )
    return forces


def power_slopes(obj, frames, q, actual) -> np.ndarray:
    """Slopes (n, n) of the forces of an object's power by its coordinates, or by velocities where the actual ones are a jet."""
    n = 6 * len(frames) + len(q)
    by_velocities = isinstance(actual, Jet)
    place = (frames, q) if by_velocities else jet_frames(frames, q)
    found = [power_of(obj, *place, unit, actual) for unit in np.eye(n)]
    return np.array([x.gradient if isinstance(x, Jet) else np.zeros(n) for x in found]).reshape(n, n)


def jet_frames(frames, q) -> tuple[list[FramePose], Jet]:
    """Frames and internal coordinates as second-order jets in the coordinates (dx, dy, dz, ax, ay, az, ..., q)."""
    count = len(frames)
    n = 6 * count + len(q)
    out = []
    for k, f in enumerate(frames):
        o = np.asarray(f.o, dtype=float)
        u = np.asarray(f.U, dtype=float)
        first = np.zeros((3, n))
        first[:, 6 * k : 6 * k + 3] = np.eye(3)
        turned = np.zeros((3, 3, n))
        turned_twice = np.zeros((3, 3, n, n))
        for i in range(3):
            turned[:, :, 6 * k + 3 + i] = _GENERATORS[i] @ u
            for j in range(3):
                # exp([a]x) to second order: I + [a]x + [a]x^2/2
                both = _GENERATORS[i] @ _GENERATORS[j] + _GENERATORS[j] @ _GENERATORS[i]
                turned_twice[:, :, 6 * k + 3 + i, 6 * k + 3 + j] = 0.5 * both @ u
        out.append(FramePose(Jet(o, first, np.zeros((3, n, n))), Jet(u, turned, turned_twice)))
    jq = Jet(q, np.eye(n)[6 * count :], np.zeros((len(q), n, n)))
    return out, jq


def directions(n: int) -> np.ndarray:
    """Two directions (4, n) of velocity, of size 1 in all coordinates, and their opposites."""
    own = np.random.default_rng(0).uniform(0.5, 1.5, (2, n)) * np.array([[1.0], [-1.0]]) ** np.arange(n)
    return np.concatenate([own, -own])


def stiffness_of(forces: np.ndarray, slopes: np.ndarray, frames: int) -> np.ndarray:
    """The stiffness (..., n, n) of forces (..., n) with slopes (..., n, n).

    Symmetric derivatives of all other torques leave half of their turning out; the net torque vanishes at equilibrium.
    """
    out = -slopes
    for k in range(frames):
        turn = slice(6 * k + 3, 6 * k + 6)
        out[..., turn, turn] -= 0.5 * np.cross(np.eye(3), forces[..., None, turn])
    return out


_GENERATORS = np.zeros((3, 3, 3))
for _i in range(3):
    _GENERATORS[_i, (_i + 2) % 3, (_i + 1) % 3] = 1.0
    _GENERATORS[_i, (_i + 1) % 3, (_i + 2) % 3] = -1.0


def differences(total: Callable, frames, q, order: int):
    """Value, gradient and Hessian by central differences with two Richardson steps (errors near 1e-9, 1e-6 relative)."""
    count = len(frames)
    n = 6 * count + len(q)
    scale = np.ones(n)
    size = max([1e-3, *(float(np.linalg.norm(f.o - frames[0].o)) for f in frames)])
    scale[np.arange(6 * count) % 6 < 3] = size

    def at(x: np.ndarray) -> float:
        moved = []
        for k, f in enumerate(frames):
            p = Pose(f.o, f.U).moved(x[6 * k : 6 * k + 3], x[6 * k + 3 : 6 * k + 6])
            moved.append(FramePose(p.o, p.U))
        return float(total(moved, q + x[6 * count :]))

    def richardson(f: Callable[[float], np.ndarray], h: float):
        a, b, c = f(h), f(h / 2), f(h / 4)
        ab, bc = (4 * b - a) / 3, (4 * c - b) / 3
        return (16 * bc - ab) / 15

    def gradient(h: float) -> np.ndarray:
        steps = np.diag(h * scale)
        return np.array([(at(s) - at(-s)) / 2 for s in steps]) / (h * scale)

    def hessian(h: float) -> np.ndarray:
        steps = np.diag(h * scale)
        m = np.empty((n, n))
        for i in range(n):
            for j in range(i + 1):
                s, t = steps[i], steps[j]
                m[i, j] = m[j, i] = (at(s + t) - at(s - t) - at(t - s) + at(-s - t)) / 4
        return m / np.outer(h * scale, h * scale)

    second = richardson(hessian, 2e-2) if order == 2 else np.zeros((n, n))
    return at(np.zeros(n)), richardson(gradient, 4e-3), second


def somewhere(obj) -> list[FramePose]:
    """Generic poses of an object's frames, for counting its residuals."""
    rng = np.random.default_rng(0)
    poses = [Pose.rotation(0.3 * rng.normal(size=3)) for _ in obj.frame_names]
    return [FramePose(np.round(rng.uniform(0.3, 1.0, 3), 3), p.U) for p in poses]


def asked(obj, frames, q):
    """The residuals of an object's constraint; ModelError with its name where its function fails."""
    usage = "constraint(frames, q) with frames that have .o (3,) and .U (3, 3), and to return a list of residuals"
    found = called(obj.label, "its constraint", usage, obj.constraint, frames, q)
    return checked_values(obj, found, "constraint", "one for each freedom it takes")


def map_slopes(obj, frames, inner: int, multipliers) -> np.ndarray:
    """``d(reaction_map multipliers)/dx`` (outputs, n) by central differences with one Richardson step."""
    n = 6 * len(frames) + inner
    size = max([1e-3, *(float(np.linalg.norm(f.o - frames[0].o)) for f in frames)])

    def at(x):
        moved = [Pose(f.o, f.U).moved(d[:3], d[3:]) for f, d in zip(frames, x.reshape(-1, 6), strict=True)]
        return obj.reaction_map([FramePose(p.o, p.U) for p in moved]) @ multipliers

    out = np.zeros((len(at(np.zeros(6 * len(frames)))), n))
    for k in range(6 * len(frames)):
        unit = np.zeros(6 * len(frames))
        unit[k] = size if k % 6 < 3 else 1.0
        coarse, fine = ((at(h * unit) - at(-h * unit)) / (2 * h * unit[k]) for h in (2e-3, 1e-3))
        out[:, k] = (4.0 * fine - coarse) / 3.0
    return out


def checked_values(obj, values, law: str, what: str):
    """What a law gives as a vector of numbers or jets, which are ``what`` it is to give; ModelError for other values."""
    try:
        if isinstance(values, list | tuple) and any(isinstance(r, Jet) for r in values):
            values = np.stack(values)
        elif not isinstance(values, Jet):
            values = real_array(values)
        if isinstance(values, Jet) and np.iscomplexobj(values.value):
            raise TypeError("complex")
    except (TypeError, ValueError):  # no numbers, or ragged
        raise ModelError(f"{obj.label}: its {law} is {shown(values)}; expected real numbers, {what}") from None
    if values.ndim == 0:
        values = values.reshape(1) if not isinstance(values, Jet) else np.stack([values])
    if values.ndim != 1:
        raise ModelError(
            f"{obj.label}: its {law} has shape {values.shape}; expected one dimension, (m,), {what}; return them as a list of "
            "numbers"
        )
    return values


def differentiated_constraint(obj, frames, q, multipliers, order: int):
    """g (m,), its slopes (m, n) and the sum of its second derivatives (n, n), each times its multiplier."""
    q = np.asarray(q, dtype=float)
    n, m = 6 * len(frames) + len(q), len(multipliers)

    def law(f, p):
        found = asked(obj, f, p)
        if found.shape != (m,):
            raise ModelError(
                f"{obj.label}: its constraint has shape {found.shape} here and ({m},) elsewhere; expected as many residuals "
                "everywhere"
            )
        return found

    if order == 0:
        return law(frames, q), np.zeros((m, n)), np.zeros((n, n))
    if obj.differentiation == "exact":
        g = law(*jet_frames(frames, q))
        if not isinstance(g, Jet):
            return g, np.zeros((m, n)), np.zeros((n, n))
        return g.value, g.gradient, np.einsum("r,rij->ij", multipliers, g.hessian)
    rows = [differences(lambda f, p, r=r: law(f, p)[r], frames, q, 1) for r in range(m)]
    weighted = differences(lambda f, p: multipliers @ law(f, p), frames, q, order)
    slopes = np.array([row[1] for row in rows]).reshape(m, n)
    return np.array([row[0] for row in rows]), slopes, weighted[2]


def checked_energy(label: str, energy: Any, law: str = "energy", unit: str = "J") -> Jet | float:
    """One real number, or one jet; ModelError for everything else."""
    if not isinstance(energy, Jet):
        try:
            energy = real_array(energy)
        except TypeError:
            raise ModelError(f"{label}: its {law} is {shown(energy)}; expected one real number ({unit})") from None
    if energy.shape != ():
        raise ModelError(f"{label}: its {law} has shape {energy.shape}; expected one number; add its terms up")
    if isinstance(energy, Jet):
        if np.iscomplexobj(energy.value):
            raise ModelError(f"{label}: its {law} is {shown(energy.value)}; expected one real number ({unit})")
        return energy
    return float(energy) if abs(energy) <= LARGEST else np.nan


def differentiated(obj, frames, q, gravity, order: int):
    """Energy, gradient and stiffness parts of an object's energy + gravity_energy, exact or by differences as its class says.

    Those of its power are not among them: see :func:`with_power`.
    """
    weighed = obj.defines("gravity_energy")

    def total(f, p):
        energy = checked_energy(obj.label, called(obj.label, "its energy", "energy(frames, q)", obj.energy, f, p))
        if not weighed:
            return energy
        usage = "gravity_energy(frames, q, gravity)"
        weight = called(obj.label, "its gravity_energy", usage, obj.gravity_energy, f, p, gravity)
        return energy + checked_energy(obj.label, weight)

    if order == 0:
        return total(frames, q), None, None
    if obj.differentiation == "exact":
        n = 6 * len(frames) + len(q)
        jet = total(*jet_frames(frames, q))
        if not isinstance(jet, Jet):
            jet = Jet(jet, np.zeros(n), np.zeros((n, n)))
        value, gradient, hessian = jet.value, jet.gradient, jet.hessian
    else:
        value, gradient, hessian = differences(total, frames, q, order)
    parts = max(1, len(obj.parts) - obj.defines("power"))
    stiffness = np.concatenate([hessian[None], np.zeros((parts - 1, *hessian.shape))])
    return float(value), gradient, split(obj, frames, stiffness) if order == 2 else stiffness


def split(obj, frames, parts: np.ndarray) -> np.ndarray:
    """Stiffness parts (p, n, n) of an object whose ``elastic_parts`` are all but the first, from any with the same sum."""
    elastic = obj.elastic_parts(frames)
    return np.concatenate([parts.sum(axis=0, keepdims=True) - elastic.sum(axis=0), elastic]) if len(elastic) else parts


def with_power(obj, frames, q, order: int, found):
    """Energy, gradient and stiffness parts of an object, the first part being its power's."""
    energy, gradient, stiffness = found
    if order == 0 or not obj.defines("power"):
        return found
    forces, field = power_terms(obj, frames, q, order)
    return energy, gradient - forces, np.concatenate([field[None], *([stiffness] if obj.has_energy() else [])])


def power_terms(obj, frames, q, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Forces (n,) of an object's power at rest, and their stiffness (n, n) by jets, zero below order 2.

    Formulas like a speed's have slopes by positions only away from rest.
    """
    n = 6 * len(frames) + len(q)
    forces = exerted(obj, frames, q, np.zeros(n))
    if order < 2:
        return forces, np.zeros((n, n))
    return forces, stiffness_of(forces, power_slopes(obj, frames, q, SLOW * directions(n)[0]), len(frames))
