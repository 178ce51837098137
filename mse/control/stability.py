"""Stability of closed loops: by their poles, and by the count of Nyquist's criterion, which have to agree.

``det(1 + C P)`` has a zero for each closed pole and a pole for each open one.  Along ``s = shift + i w`` its argument turns by
``-pi`` for each zero more than poles with ``Re s > shift``, w going from 0 to infinity (H. Nyquist, Bell System Technical Journal
11 (1932) 126; A. G. J. MacFarlane, I. Postlethwaite, Int. J. Control 25 (1977) 81).  Poles on the imaginary axis need no
detours: the shift passes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..analysis.frequency.resonance_grid import about
from ..analysis.modes.result import Columns, Modes, growing
from ..errors import ModelError
from ..linear.linear_model import LinearModel
from ..numerics.precision import DEPENDENT, NOTHING
from .poles import Plant, Poles
from .samples import SampledPlant

if TYPE_CHECKING:
    from .closed import ClosedModel

_PER_WIDTH = 6.0  # points in the width of a resonance, as grids of responses have
_BELOW, _ABOVE = 1e-2, 10.0  # of the slowest and the fastest pole: ends of a grid
_TURN = 1.0  # rad: the most that the argument may turn between two points
_ROUNDS = 30
_SHARE = 0.5  # of the distance of the pole next to the imaginary axis: how far the line of the count lies from it
# Of a pole: growth below it is not told from none.  With a hundredth of it count and poles differ around a suspension without
# losses, whose motions along other axes a loop moves by rounding alone; with ten times of it the largest gain is missed
# (tests/control/test_poles.py::test_motions_that_a_loop_moves_by_rounding_alone_do_not_grow,
# tests/control/test_poles.py::test_the_largest_gain_of_a_sampled_loop_is_found_by_poles_and_by_count).
_MARGINAL = 1e-10
_WHOLE = 0.1  # rad: by how much the sum of turns may miss a whole number of half turns


def grid(
    name: str, poles: np.ndarray, low: float, high: float, shift: float = 0.0, per_width: float = _PER_WIDTH
) -> np.ndarray:
    """Rates w (f,), rad/s, from low to high that resolve resonances of poles (k,) on the line ``s = shift + i w``."""
    swinging = poles[(poles.imag > low) & (poles.imag < high) & (np.abs(poles.real - shift) < poles.imag)]
    swinging = swinging[np.argsort(swinging.imag, kind="stable")]
    f, widths = swinging.imag, 2.0 * np.abs(swinging.real - shift)
    if not shift:  # responses are infinite at undamped resonances, which the grid leaves out
        widths[widths < DEPENDENT * f] = 0.0
    return about(name, f, widths, low, high, per_width)


def ends(plant: Plant | SampledPlant, poles: np.ndarray) -> tuple[float, float]:
    """Lowest and highest rate (rad/s) at which poles (k,) matter."""
    rates = np.abs(poles[np.abs(poles) > 0.0])
    if not len(rates):
        rates = np.ones(1)
    low = _BELOW * float(rates.min())
    if np.isfinite(plant.highest):
        return min(low, _BELOW * plant.highest), plant.highest
    delays = [link.controller.delay for link in plant.links.all if link.controller.delay]
    return low, _ABOVE * max(float(rates.max()), *(1.0 / x for x in delays), 0.0)


def shift_of(poles: np.ndarray, rounding: np.ndarray) -> float:
    """Half of the distance from the imaginary axis of the nearest of the poles (k,) that lie off it by more than ``rounding``."""
    off = np.abs(poles.real)[(np.abs(poles.real) > rounding) & np.isfinite(poles.real)]
    rates = np.abs(poles[np.abs(poles) > 0.0])
    return _SHARE * float(off.min()) if len(off) else _BELOW**2 * float(rates.min(initial=1.0))


def count(plant: Plant | SampledPlant, closed: np.ndarray, shift: float) -> int:
    """Number of closed poles with ``Re s > shift`` by the argument of ``det(1 + C P)``; ``closed`` poles tell where it turns."""
    name = plant.model_name
    known = np.concatenate([plant.open, closed])
    low, high = ends(plant, known)

    def determinant(w: np.ndarray) -> np.ndarray:
        gain = plant.gain(w, shift)
        return np.linalg.det(np.eye(gain.shape[1]) + gain)

    w = np.concatenate([[0.0], grid(name, known, low, high, shift)])
    values = determinant(w)
    while (
        not np.isfinite(plant.highest) and abs(np.sin(np.angle(values[-1]))) > _WHOLE and high < 1e6 * known_top(known)
    ):
        more = grid(name, known, high, 10.0 * high)[1:]
        w, values, high = np.append(w, more), np.append(values, determinant(more)), 10.0 * high
    for _ in range(_ROUNDS):
        turns = np.angle(values[1:] / values[:-1])
        wide = np.flatnonzero(np.abs(turns) > _TURN)
        if not len(wide):
            break
        middle = 0.5 * (w[wide] + w[wide + 1])
        w, values = np.insert(w, wide + 1, middle), np.insert(values, wide + 1, determinant(middle))
    total = float(turns.sum())
    half = round(total / np.pi)
    if abs(total - np.pi * half) > 2.0 * _WHOLE:
        raise ModelError(
            f"{name}: the argument of det(1 + C P) turns by {total / np.pi:.3f} half turns up to {high / (2 * np.pi):.3g} Hz; "
            "expected a whole number; the loop gain may not fall at high frequencies: give the controller a pole there"
        )
    return int(np.count_nonzero(plant.open.real > shift)) - half


def known_top(poles: np.ndarray) -> float:
    """The largest size of poles (k,), 1 without any."""
    return float(np.abs(poles).max(initial=0.0)) or 1.0


def unstable_count(plant: Plant) -> int:
    """Number of closed poles that grow, by Nyquist's criterion alone, on a line near the axis: where they are is not known."""
    rates = np.abs(plant.open[np.abs(plant.open) > 0.0])
    return count(plant, np.zeros(0, dtype=complex), NOTHING**0.5 * float(rates.min(initial=1.0)))


def checked_modes(name: str, plant: Plant | SampledPlant, model: LinearModel) -> Modes:
    """Closed modes; ModelError where the count of Nyquist's criterion is another."""
    found = plant.poles
    plant.asked()
    s, rounding = found.values, found.rounding
    if isinstance(plant, SampledPlant):
        z = s
        rounding = rounding / (np.maximum(np.abs(z), np.finfo(float).tiny) * plant.dt)
        s = np.where(np.abs(z - 1.0) <= found.rounding, 0.0, plant.rates(z))
    marginal = np.abs(s.real) <= np.maximum(rounding, _MARGINAL * np.abs(s) * found.moved)
    undetermined = growing(s) & marginal & (s != 0.0)
    moved = s[found.moved]
    shift = shift_of(np.concatenate([moved, plant.open]), _noise(moved, rounding[found.moved], plant.open))
    by_count, by_poles = count(plant, moved, shift), int(np.count_nonzero(moved.real > shift))
    if by_count != by_poles:
        raise ModelError(
            f"{name}: {by_poles} closed poles grow faster than {shift:.3g} 1/s, and {by_count} by Nyquist's criterion; expected "
            "the same number; poles are near each other or lie far beyond the frequencies of the plant: simplify the "
            "controller, or shorten its delay"
        )
    notes = [
        f"{_grow(by_poles)} among those that the loops move, by their values and by Nyquist's criterion",
        *plant.notes,
    ]
    return _modes(name, model, found, s, rounding, undetermined, notes)


def growth(closed: ClosedModel) -> str:
    """Who moves in the motions that grow, in words."""
    if closed.linear.members:
        return f"{_grow(unstable_count(closed.plant))} by Nyquist's criterion, which does not say who moves"
    grow = [mode for mode in closed.modes() if mode.unstable]
    told = ", ".join(f"{mode.frequency_hz:.4g} Hz ({mode.participants() or 'a controller'})" for mode in grow)
    return f"motions grow at {told}"


def _grow(count: int) -> str:
    return f"{count} pole{'s' if count != 1 else ''} grow{'' if count != 1 else 's'}"


def _noise(moved: np.ndarray, rounding: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """Real parts (k,) that are rounding, of closed and open poles."""
    return np.concatenate([np.maximum(rounding, _MARGINAL * np.abs(moved)), _MARGINAL * np.abs(open_)])


def _modes(
    name: str,
    model: LinearModel,
    found: Poles,
    s: np.ndarray,
    rounding: np.ndarray,
    undetermined: np.ndarray,
    notes: list[str],
) -> Modes:
    kept = np.flatnonzero((s.imag >= 0.0) & np.isfinite(s))
    order = kept[np.lexsort((s.imag[kept], np.abs(s[kept])))]
    shapes = found.shapes[:, order].astype(complex)
    energies = np.real(np.conj(shapes) * (model.M @ shapes))
    total = energies.sum(axis=0)
    total = np.where(total > 0.0, total, 1.0)
    return Modes(
        name, model.coordinates, model.owners, s[order].astype(complex), Columns.dense(shapes / np.sqrt(total)),
        Columns.dense(energies / total), True, True, tuple(notes), rounding[order] / (2 * np.pi), undetermined[order],
        bool(model.losses),
    )  # fmt: skip
