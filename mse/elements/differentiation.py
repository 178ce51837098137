"""What the laws of an element give, as checked numbers; differences of these, for a class that asks for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..kernels.masses import cross_matrices
from ..numerics.reals import real_array
from ..pose import Pose
from ..validation.arguments import LARGEST, called, shown

# A speed that stands for rest: its cube differs from zero, its fourth power vanishes.
SLOW = 1e-90
# Less than what is left at that speed of second derivatives of powers of speeds from 2 4/9 on, and of slopes of regular laws.
VANISHED = SLOW ** (4 / 9)
# Of the terms of a power or a flow: above rounding of their sum, far below any other law.  From 1e-13 to 1e-3
# tests/elements/test_power.py and tests/elements/test_flows.py pass.
_LINEAR = 1e-9

OF_PLACES = ("energy", "forces", "constraint", "measure")
_OF_VELOCITIES = ("kinetic", "dissipation", "power", "flow_constraint")
_MATRICES = ("mass_matrix", "damping_matrix")
_SEVERAL = ("forces", "constraint", "measure", "flow_constraint")  # laws that give more than one number
# laws that records differentiate in another way than the law that they call
CALLED = dict.fromkeys(("momenta", "motion", "inertia", "coenergy"), "kinetic")
CALLED |= {"drag": "dissipation", "rates": "constraint", "bends": "constraint", "held": "constraint"}
CALLED |= {"rolled": "flow_constraint", "resisted": "damping_matrix"}

_PLACED = "with frames that have .o (3,) and .U (3, 3), and to return a list of"
_MOVING = "with frames that have .o, .v, .w (3,) and .U (3, 3)"
# how laws are called, and the unit of their number, or what their numbers are
_FORMS = {
    "energy": ("energy(frames, q)", "J"),
    "forces": ("forces(frames, q, gravity)", "one for each coordinate"),
    "gravity_energy": ("gravity_energy(frames, q, gravity)", "J"),
    "kinetic": (f"kinetic(frames, q, v) {_MOVING}", "J"),
    "dissipation": (f"dissipation(frames, q, v) {_MOVING}", "W"),
    "power": (f"power(frames, q, v, given) {_MOVING}", "W"),
    "constraint": (f"constraint(frames, q) {_PLACED} residuals", "one for each freedom it takes"),
    "measure": (f"measure(frames, q) {_PLACED} readings", "one for each of its outputs"),
    "flow_constraint": (f"flow_constraint(frames, q, v) {_MOVING}", "one for each flow that it holds"),
}


class FramePose(NamedTuple):
    """Origin ``o`` (3,) and orientation ``U`` (3, 3) of a frame, as an energy receives them (arrays or recorded ones)."""

    o: Any
    U: Any


class MovingFrame(NamedTuple):
    """A frame that moves, as laws of velocities receive it: ``v`` (3,) m/s and ``w`` (3,) rad/s along world axes."""

    o: Any
    U: Any
    v: Any
    w: Any


class Given(NamedTuple):
    """What a power receives besides virtual velocities: ``frames`` in motion, rates ``v``, efforts ``e``, states ``s``."""

    frames: list[MovingFrame]
    v: Any
    e: Any = ()
    s: Any = ()


def moving(frames, rates) -> tuple[list[MovingFrame], Any]:
    """Frames with their velocities, and the rates of internal coordinates, from all of them in one row."""
    found = [
        MovingFrame(f.o, f.U, rates[6 * k : 6 * k + 3], rates[6 * k + 3 : 6 * k + 6]) for k, f in enumerate(frames)
    ]
    return found, rates[6 * len(frames) :]


# -- what laws give -----------------------------------------------------------------------------------------------
def numbers(obj, law: str, *given) -> Any:
    """What a law gives, checked: one number, nan where it is too large, or the numbers (m,) of laws of several."""
    usage, what = _FORMS[law]
    several = law in _SEVERAL
    found = called(obj.label, f"its {law}", usage, getattr(obj, law), *given)
    try:
        values = real_array(found)
    except (TypeError, ValueError):  # no numbers, or ragged
        expected = f"real numbers, {what}" if several else f"one real number ({what})"
        raise ModelError(f"{obj.label}: its {law} is {shown(found)}; expected {expected}") from None
    if values.ndim > several:
        one = "one number; add its terms up"
        expected = f"one dimension, (m,), {what}; return them as a list of numbers" if several else one
        raise ModelError(f"{obj.label}: its {law} has shape {values.shape}; expected {expected}")
    if several:
        return np.atleast_1d(values)
    return float(values) if abs(values) <= LARGEST else np.nan


def members(law: str) -> tuple[str, ...]:
    """The members of a class that a law is made of."""
    return ("energy", "gravity_energy") if law == "energy" else (CALLED.get(law, law),)


def asked(obj, law: str, ask: Callable, frames, q, given) -> Any:
    """What a law gives at a place, where it is ``given`` gravity or velocities; ``ask`` calls a member by name."""
    member, n = members(law)[0], 6 * len(frames) + len(q)
    if member in _OF_VELOCITIES:
        actual = [Given(*moving(frames, given[n:]))] if law == "power" else []
        moved, rates = moving(frames, given[:n])
        return ask(member, moved, q, rates, *actual)
    if member == "forces":
        return ask(member, frames, q, given)
    found = ask(member, frames, q)
    if member in _MATRICES:  # half their quadratic form
        return 0.0 if found is None else 0.5 * (given @ (found @ given))
    weighs = law == "energy" and obj.defines("gravity_energy")
    return found + ask("gravity_energy", frames, q, given) if weighs else found


def law_values(obj, law: str, frames, q, given) -> np.ndarray:
    """The values (m,) of a law at a place, where it is ``given`` gravity, multipliers or velocities.

    Of a power these are its forces; of "momenta", "motion", "inertia" and "drag" the coenergy or content alone.
    """
    if law == "power":
        return exerted(obj, frames, q, given[len(given) // 2 :])
    plain = CALLED.get(law, law) in _MATRICES  # which are checked where they are asked for as such
    ask = (lambda name, *of: getattr(obj, name)(*of)) if plain else functools.partial(numbers, obj)
    found = np.atleast_1d(asked(obj, law, ask, frames, q, given))
    if law == "constraint" and len(found) != len(given):
        raise ModelError(
            f"{obj.label}: its constraint has shape {found.shape} here and ({len(given)},) elsewhere; expected as many residuals "
            "everywhere"
        )
    if law == "measure" and len(found) != len(obj.outputs):
        names = ", ".join(c.name for c in obj.outputs) or "none"
        raise ModelError(
            f"{obj.label}: its measure gives {len(found)} readings; expected one for each of its outputs ({names}); name in "
            "outputs, with their units, what it reads"
        )
    return found


def exerted(obj, frames, q, actual) -> np.ndarray:
    """Forces (n,) of an object's power by the law itself, which has to be linear in virtual velocities."""
    ask = functools.partial(numbers, obj)
    forces, (nothing, some, expected), wrong = linear(
        lambda virtual: asked(obj, "power", ask, frames, q, np.concatenate([virtual, actual])), len(actual)
    )
    if wrong:
        raise ModelError(
            f"{obj.label}: its power is {nothing:.6g} W without velocities and {some:.6g} W with all, where its terms add up to "
            f"{expected:.6g}; expected a power linear in the velocities of frames and in v; take velocities that forces "
            "depend on from given.frames and given.v"
        )
    return forces


def linear(law: Callable, n: int) -> tuple[np.ndarray, tuple, np.ndarray]:
    """Rows (..., n) of a law (...) that is linear in n velocities; where it is not is told last.

    Between them are its values without velocities and with all of them, and what the terms of the rows add up to.
    """
    direction = np.arange(n) / n - 1.5  # against the units of the rows, which tells sizes from numbers
    nothing, some = law(np.zeros(n)), law(direction)
    rows = np.stack([law(unit) for unit in np.eye(n)], axis=-1)
    off = np.maximum(np.abs(nothing), np.abs(some - rows @ direction))
    return rows, (nothing, some, rows @ direction), off > _LINEAR * (np.abs(rows) @ np.abs(direction))


def somewhere(obj) -> list[FramePose]:
    """Generic poses of an object's frames, for counting its residuals."""
    rng = np.random.default_rng(0)
    poses = [Pose.rotation(0.3 * rng.normal(size=3)) for _ in obj.frame_names]
    return [FramePose(np.round(rng.uniform(0.3, 1.0, 3), 3), p.U) for p in poses]


# -- how it changes -----------------------------------------------------------------------------------------------
@functools.cache  # a generator of random numbers takes longer to make than a law to evaluate
def directions(n: int) -> np.ndarray:
    """Two directions (4, n) of velocity, of size 1 in all coordinates, and their opposites."""
    own = np.random.default_rng(0).uniform(0.5, 1.5, (2, n)) * np.array([[1.0], [-1.0]]) ** np.arange(n)
    found = np.concatenate([own, -own])
    found.setflags(write=False)
    return found


def hardly_moving(velocities: np.ndarray) -> np.ndarray:
    """Velocities (..., n) with hardly any in place of none: formulas like a speed's have no slopes at rest."""
    return velocities + SLOW * directions(velocities.shape[-1])[0]


def regular(slopes: np.ndarray) -> np.ndarray:
    """Derivatives without what is left of vanishing ones at speeds that are not quite zero."""
    return np.where(np.abs(slopes) <= VANISHED, 0.0, slopes)


def stiffness_of(forces: np.ndarray, slopes: np.ndarray, frames: int) -> np.ndarray:
    """The stiffness (E, n, n) of forces (E, n) with slopes (E, n, n).

    Symmetric derivatives of all other torques leave half of their turning out; the net torque vanishes at equilibrium.
    """
    out = -slopes
    for k in range(frames):
        turn = slice(6 * k + 3, 6 * k + 6)
        out[:, turn, turn] -= 0.5 * cross_matrices(forces[:, turn])
    return out


def differences(values: Callable, frames, q, weights, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (m,), slopes (m, n), and for order 2 second derivatives (n, n) of their sum, each times its weight.

    By central differences with two Richardson steps, whose errors are near 1e-9 and 1e-6 of what they are.
    """
    count = 6 * len(frames)
    n = count + len(q)
    scale = np.ones(n)
    scale[:count].reshape(-1, 6)[:, :3] = max([1e-3, *(float(np.linalg.norm(f.o - frames[0].o)) for f in frames)])

    def at(x: np.ndarray) -> np.ndarray:
        moved = [Pose(f.o, f.U).moved(d[:3], d[3:]) for f, d in zip(frames, x[:count].reshape(-1, 6), strict=True)]
        return values([FramePose(p.o, p.U) for p in moved], q + x[count:])

    def richardson(f: Callable[[float], np.ndarray], h: float) -> np.ndarray:
        a, b, c = f(h), f(h / 2), f(h / 4)
        ab, bc = (4 * b - a) / 3, (4 * c - b) / 3
        return (16 * bc - ab) / 15

    def slopes(h: float) -> np.ndarray:
        return np.array([(at(s) - at(-s)) / (2 * s.sum()) for s in np.diag(h * scale)]).T

    def second(h: float) -> np.ndarray:
        steps, m = np.diag(h * scale), np.empty((n, n))
        for i in range(n):
            for j in range(i + 1):
                s, t = steps[i], steps[j]
                m[i, j] = m[j, i] = weights @ (at(s + t) - at(s - t) - at(t - s) + at(-s - t)) / 4
        return m / np.outer(h * scale, h * scale)

    return at(np.zeros(n)), richardson(slopes, 4e-3), richardson(second, 2e-2) if order == 2 else np.zeros((0, n))
