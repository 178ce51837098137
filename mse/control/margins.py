"""Margins of closed loops: every gain and phase crossing, and the largest sensitivity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..declared import array, names, scalar
from ..display import Column, Table
from ..errors import ModelError
from ..numerics.precision import DEPENDENT, NOTHING
from ..results import Result
from ..validation.arguments import number, whole
from .poles import Plant
from .samples import SampledPlant
from .stability import ends, grid

# Of the largest sensitivity on the grid: peaks that are compared after refining
# (tests/control/test_margins.py::test_the_largest_of_two_sensitivities_between_grid_points_is_found).
_NEARLY = 0.8
# With a hundredth and a hundred times of each tests/control/test_margins.py passes:
_NARROWED, _INSIDE = 5, 9  # rounds in which peaks are narrowed, points of each: to a thousandth of the distance of two
_TURN = 0.5  # rad: by which a delay may turn between two points
_MOST_POINTS = 10**6
_MOST_ROUNDS = 60  # of a bracketing method that at least halves


class Margins(Result):
    """Gain and phase margins of each loop with the others closed, and the largest sensitivity; by :meth:`.ClosedModel.margins`.

    A loop is broken at its actuator: ``L = [(1 + C P)^-1]_aa^-1 - 1`` is what a command does to itself all around, which of one
    channel is ``C P``.

    Attributes
    ----------
    name : str
        Name of the model.
    gain_loops, phase_loops : tuple of str, (g,), (p,)
        Actuator at which the loop of each crossing is broken.
    gain_crossings_hz : ndarray, (g,), Hz
        Where ``|L| = 1``.
    phase_margins : ndarray, (g,), deg
        ``180 deg + arg L`` there, from -180 to 180.
    phase_crossings_hz : ndarray, (p,), Hz
        Where L is real and negative.
    gain_margins : ndarray, (p,)
        ``1/|L|`` there.
    sensitivity : float
        Largest singular value of ``(1 + C P)^-1`` over frequency; with channels of several units it depends on these.
    sensitivity_hz : float, Hz
        Where it is.
    notes : tuple of str
        In which band crossings were sought.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices([[1.0]], [[0.1]], [[1.0]], coordinates=["mass.x"])
    >>> damper = mse.Controller.zpk([0.0], [-10.0], 20.0, delay=0.01)
    >>> margins = model.feedback({("mass.x", "mass.x"): damper}).margins()
    >>> print(f"gain margin {margins.gain_margin:.4f}, largest sensitivity {margins.sensitivity:.4f}")
    gain margin 51.2806, largest sensitivity 1.1468
    """

    name: str
    gain_loops: tuple[str, ...] = names("gain_crossing", "gain_loop")
    gain_crossings_hz: np.ndarray = array("gain_crossing", unit="Hz", label="gain crossing")
    phase_margins: np.ndarray = array("gain_crossing", unit="deg", label="phase margin")
    phase_loops: tuple[str, ...] = names("phase_crossing", "phase_loop")
    phase_crossings_hz: np.ndarray = array("phase_crossing", unit="Hz", label="phase crossing")
    gain_margins: np.ndarray = array("phase_crossing", unit="1", label="gain margin")
    sensitivity: float = scalar(float)
    sensitivity_hz: float = scalar(float)
    notes: tuple[str, ...] = names("*", default=())

    @property
    def phase_margin(self) -> float:
        """The phase margin nearest to zero, in degrees; infinite without a gain crossing."""
        return float(min(self.phase_margins, key=abs, default=np.inf))

    @property
    def gain_margin(self) -> float:
        """The gain margin nearest to one, as a factor; infinite without a phase crossing."""
        return float(min(self.gain_margins, key=lambda x: abs(np.log(x)), default=np.inf))

    def table(self) -> Table:
        rows = [
            (loop, "|L| = 1", f, margin, None)
            for loop, f, margin in zip(
                self.gain_loops, self.gain_crossings_hz.tolist(), self.phase_margins.tolist(), strict=True
            )
        ]
        rows += [
            (loop, "L < 0", f, None, margin)
            for loop, f, margin in zip(
                self.phase_loops, self.phase_crossings_hz.tolist(), self.gain_margins.tolist(), strict=True
            )
        ]
        rows.sort(key=lambda row: (row[0], row[2]))
        columns = (
            "broken at", "crossing", Column("frequency", "Hz", 8), Column("phase margin", "deg", 6),
            Column("gain margin", digits=6),
        )  # fmt: skip
        title = f"{self.name}: margins, largest sensitivity {self.sensitivity:.6g} at {self.sensitivity_hz:.6g} Hz"
        return Table(title, columns, rows, notes=[f"note: {note}" for note in self.notes])


def broken(gain: np.ndarray, a: int) -> np.ndarray:
    """L (f,) of the loop that is broken at the a-th actuator, the others closed, from ``C P`` (f, k, k)."""
    others = np.delete(np.arange(gain.shape[1]), a)
    out = gain[:, a, a]
    if not len(others):
        return out
    to, back, rest = gain[:, others, a], gain[:, a, others], gain[:, others[:, None], others]
    return out - np.einsum("fi,fi->f", back, np.linalg.solve(np.eye(len(others)) + rest, to[:, :, None])[:, :, 0])


def sensitivity(gain: np.ndarray) -> np.ndarray:
    """Largest singular values (f,) of ``(1 + C P)^-1`` for ``C P`` (f, a, a)."""
    least = np.linalg.svd(np.eye(gain.shape[1]) + gain, compute_uv=False)[:, -1]
    return np.divide(1.0, least, out=np.full(len(least), np.inf), where=least > 0.0)


def rates(name: str, plant: Plant | SampledPlant, low_hz: float | None, high_hz: float | None) -> np.ndarray:
    """Rates w (f,) of a grid for the resonances of the open and of the closed loop, in a band if it is given."""
    poles = np.concatenate([plant.open, plant.closed])
    low, high = ends(plant, poles)
    low = low if low_hz is None else 2 * np.pi * number(name, "low_hz", low_hz, unit="Hz", above=0.0)
    high = high if high_hz is None else 2 * np.pi * number(name, "high_hz", high_hz, unit="Hz", above=0.0)
    if not low < high <= plant.highest * (1.0 + NOTHING):
        top = f", at most {plant.highest / (2 * np.pi):.6g} Hz, half the sampling rate" * bool(
            np.isfinite(plant.highest)
        )
        raise ModelError(
            f"{name}: a band from {low / (2 * np.pi):.6g} to {high / (2 * np.pi):.6g} Hz; expected low below high{top}"
        )
    w = grid(name, poles, low, high)
    delay = sum(link.controller.delay for link in plant.links.all)
    if not delay:
        return w
    # a delay turns the phase evenly
    count = whole(
        name, "points", int((high - low) * delay / _TURN), maximum=_MOST_POINTS, remedy="choose a lower high_hz"
    )
    return np.unique(np.concatenate([w, np.linspace(low, high, count + 2)]))


def margins(name: str, plant: Plant | SampledPlant, low_hz: float | None, high_hz: float | None) -> Margins:
    """See :meth:`.ClosedModel.margins`."""
    w = rates(name, plant, low_hz, high_hz)
    plant.asked()
    gain = plant.gain(w)
    actuators = plant.links.actuators
    # crossings of all loops are refined together
    own = np.stack([broken(gain, a) for a in range(len(actuators))], axis=1)
    values = np.concatenate([_size(own), _crossing(own)], axis=1)
    changes = values[1:] * values[:-1] < 0.0
    changes[:, len(actuators) :] &= ((own[1:].real < 0.0) | (own[:-1].real < 0.0)) & ~_jumps(plant, w, own)
    which, k = np.nonzero(changes.T)
    kind, loop = np.divmod(which, len(actuators))

    def function(x: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gain, own, of = plant.gain(x), np.zeros(len(x), dtype=complex), loop[chosen]
        for a in np.unique(of):
            own[of == a] = broken(gain[of == a], a)
        return np.where(kind[chosen] == 0, _size(own), _crossing(own)), own

    last = own[-1]
    at, own = _roots(function, (w[k], w[k + 1]), (values[k, which], values[k + 1, which]))
    if w[-1] >= plant.highest * (1.0 - NOTHING):  # there the gain from sample to sample is real
        real = np.flatnonzero(last.real < 0.0)
        at, own = np.append(at, np.full(len(real), w[-1])), np.append(own, last[real])
        kind, loop = np.append(kind, np.ones(len(real), dtype=int)), np.append(loop, real)
    # the phase jumps at poles, and where it is real all along
    good = np.where(kind == 0, True, (own.real < 0.0) & (np.abs(_sine(own)) < DEPENDENT**0.5))
    peak, top = _peak(plant, w, sensitivity(gain))
    gains, phases = (np.flatnonzero(good & (kind == j)) for j in (0, 1))
    gains, phases = (x[np.lexsort((at[x], loop[x]))] for x in (gains, phases))
    margin = np.degrees(np.angle(-own[gains]))
    return Margins(
        name, tuple(actuators[j] for j in loop[gains]), at[gains] / (2 * np.pi), np.where(margin <= -180.0, 180.0, margin),
        tuple(actuators[j] for j in loop[phases]), at[phases] / (2 * np.pi), 1.0 / np.abs(own[phases]), peak,
        top / (2 * np.pi), (f"crossings from {w[0] / (2 * np.pi):.6g} to {w[-1] / (2 * np.pi):.6g} Hz", *plant.notes),
    )  # fmt: skip


def _size(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.abs(values))


def _sine(values: np.ndarray) -> np.ndarray:
    """Sine of the phase, 0 where it is rounding: such a gain is real."""
    sine = np.divide(values.imag, np.abs(values), out=np.zeros(values.shape), where=values != 0.0)
    return np.where(np.abs(sine) < NOTHING, 0.0, sine)


def _jumps(plant: Plant | SampledPlant, w: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Between which rates w (f,) an undamped open pole turns loops, with gains ``own`` (f, a), to the other side (f - 1, a)."""
    s = plant.open
    undamped = np.sort(s.imag[np.abs(s.real) < DEPENDENT * s.imag])
    passed = np.diff(np.searchsorted(undamped, w)) > 0
    return passed[:, None] & ((own[1:] * own[:-1].conj()).real < 0.0)


def _crossing(values: np.ndarray) -> np.ndarray:
    """``Im L / (1 + |L|^2)``: zero with a slope where L is real, and where it passes an undamped zero.

    There the sine of its phase jumps, which takes a bracketing method five times as many rounds.
    """
    size = np.abs(values)
    with np.errstate(divide="ignore"):
        return _sine(values) / (size + 1.0 / size)


def _roots(
    function: Callable, ends: tuple[np.ndarray, np.ndarray], values: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Roots (k,) between ends of unlike sign, all together, and what the function found there beside its values.

    ``function(x, chosen)`` is that of the chosen ones.  (C. Ridders, IEEE Trans. Circuits and Systems 26 (1979) 979.)
    """
    (low, high), (first, last) = ([x.copy() for x in pair] for pair in (ends, values))
    x, more = low.copy(), np.zeros(len(low), dtype=complex)
    on = np.arange(len(low))
    for _ in range(_MOST_ROUNDS):
        if not len(on):
            break
        middle, before = 0.5 * (low[on] + high[on]), x[on]
        value = function(middle, on)[0]
        scale = np.sqrt(value**2 - first[on] * last[on])
        ahead = np.divide(value, scale, out=np.zeros_like(value), where=scale > 0.0)
        x[on] = middle + (middle - low[on]) * np.sign(first[on]) * ahead
        found, more[on] = function(x[on], on)
        for at, y in ((middle, value), (x[on], found)):
            below, above = np.sign(y) == np.sign(first[on]), np.sign(y) == np.sign(last[on])
            below, above = on[below & (at > low[on])], on[above & (at < high[on])]
            for edge, size, moved in ((low, first, below), (high, last, above)):
                place = np.searchsorted(on, moved)
                edge[moved], size[moved] = at[place], y[place]
        # it converges quadratically
        on = on[(np.abs(x[on] - before) > NOTHING * x[on]) & (found != 0.0)]
    return x, more


def _peak(plant: Plant | SampledPlant, w: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The largest sensitivity, and where it is (rad/s): all peaks of the grid are narrowed together, and end as parabolas."""
    best = int(np.argmax(values))
    inner = np.arange(1, len(w) - 1)
    tops = inner[(values[inner] >= values[inner - 1]) & (values[inner] >= values[inner + 1])]
    tops = tops[values[tops] > _NEARLY * values[best]]
    if not len(tops):
        return float(values[best]), float(w[best])
    low, high, k = w[tops - 1], w[tops + 1], np.arange(len(tops))
    for _ in range(_NARROWED):
        x = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _INSIDE)
        found = sensitivity(plant.gain(x.ravel())).reshape(x.shape)
        at = 1 + np.argmax(found[:, 1:-1], axis=1)
        low, high = x[k, at - 1], x[k, at + 1]
    before, most, after = found[k, at - 1], found[k, at], found[k, at + 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        aside = 0.5 * (before - after) / (before - 2.0 * most + after)
    x = x[k, at] + np.where(np.abs(aside) < 1.0, aside, 0.0) * 0.5 * (high - low)
    values, w = np.concatenate([values, sensitivity(plant.gain(x))]), np.concatenate([w, x])
    best = int(np.argmax(values))
    return float(values[best]), float(w[best])
