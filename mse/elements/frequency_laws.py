"""Dynamic stiffness of elements: a law for one frequency, evaluated for many at once if its formula allows it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.exceptions import ComplexWarning

from ..errors import ModelError
from ..numerics.precision import EPS
from ..validation.arguments import called, number, shown
from .base import MObject
from .definitions import of_mse

# Relative to the largest entry: agreement of a formula for one frequency and for many.  With a thousandth a formula that rounds
# differently is called for each frequency, with a thousand times this a different formula passes
# (tests/elements/test_frequency_laws.py::test_what_differs_by_rounding).
_ALIKE = 1e-9
# Relative to the stiffness: value that a table rounded to ten digits may have at zero frequency.  With a hundredth such a table
# is refused, with a thousand times this stiffness is counted twice
# (tests/elements/test_frequency_laws.py::test_the_static_stiffness_is_that_of_the_energy_alone).
_AT_REST = 1e-9
_BESIDE = EPS ** (1 / 3)  # relative step: central differences are most accurate there
# Relative difference of the slopes of a law along and across the real axis.  A law that drops one part has half the slope, or
# none, and passes with ten thousand times this
# (tests/analysis/modes/test_exact.py::test_a_law_of_real_frequencies_goes_on_by_its_slope).
_ANALYTIC = 1e-3
_USAGE = "dynamic_stiffness(omega, frames) with omega in rad/s"


def dynamic_stiffness(
    obj: MObject, frames: Sequence, omega: np.ndarray, loss: Mapping[str, float] | None = None
) -> np.ndarray:
    """The stiffness that an object adds at angular frequencies (m,), real or complex; (m, n, n).

    A user's law is called with ``omega`` (m, 1, 1), so that a formula with matrices gives (m, n, n), and is compared with a
    call for one frequency.  If they differ, or the law does not take arrays, it is called for each frequency.  A law of real
    frequencies is extended to complex ones to first order: an analytic function has the same slope in all directions.
    """
    if obj.dynamic_losses:
        return obj.dynamic_stiffness(omega, frames, loss)
    if of_mse(type(obj)) and not np.iscomplexobj(omega):
        return obj.dynamic_stiffness(omega[:, None, None], frames)
    size = 6 * len(frames) + len(obj.coordinate_names)
    if not len(omega):
        return np.zeros((0, size, size))
    if np.iscomplexobj(omega):
        found = _by_formula(obj, frames, omega, size)
        if found is not None:
            return found
        below, here, above = _on_axis(obj, frames, omega, size, (-1, 0, 1))
        return here + 0.5j * (above - below)
    return _at_each(obj, frames, omega, size)


def known(obj: MObject) -> tuple[float, float]:
    """The lowest and the highest angular frequency (rad/s) at which the dynamic stiffness of an object is known, besides 0."""
    remedy = "give the {} frequency of the table, or leave it out"
    low, high = obj.dynamic_from_hz, obj.dynamic_up_to_hz
    low = number(obj.label, "dynamic_from_hz", low, unit="Hz", minimum=0.0, remedy=remedy.format("lowest"))
    if high != np.inf:
        high = number(obj.label, "dynamic_up_to_hz", high, unit="Hz", above=0.0, remedy=remedy.format("highest"))
    return 2.0 * np.pi * low, 2.0 * np.pi * high


def left_out(obj: MObject, frames: Sequence, omega: np.ndarray) -> np.ndarray | None:
    """Bounds (m, 3, n, n) on what a law of real frequencies may lack at complex ones (m,); None for a law defined there.

    These are second differences at three real frequencies about each, over the distance from the axis.  Half the largest bounds
    the remainder of Taylor's formula if the law is smooth over that distance; the rest is a margin for higher orders.
    """
    size = 6 * len(frames) + len(obj.coordinate_names)
    if obj.dynamic_losses or _by_formula(obj, frames, omega, size) is not None:
        return None
    values = _on_axis(obj, frames, omega, size, range(-2, 3))
    return np.stack([a - 2.0 * b + c for a, b, c in zip(values, values[1:], values[2:], strict=False)], axis=1)


def _by_formula(obj: MObject, frames: Sequence, omega: np.ndarray, size: int) -> np.ndarray | None:
    """The law at complex frequencies; None if it has no values there or is not an analytic function."""
    w = omega[0]
    beside = w + _BESIDE * abs(w) * np.array([1.0, -1.0, 1j, -1j])
    try:
        found = _at_each(obj, frames, np.concatenate([omega, beside]), size)
    except ModelError:  # the call at real frequencies reports what is wrong
        return None
    near = found[-4:]
    along, across = near[0] - near[1], (near[2] - near[3]) / 1j
    same = np.abs(along - across).max() <= _ANALYTIC * max(np.abs(along).max(), np.abs(across).max())
    return found[:-4] if same else None


def _on_axis(obj: MObject, frames: Sequence, omega: np.ndarray, size: int, steps: Iterable[int]) -> list[np.ndarray]:
    """The law at the real parts of complex frequencies (m,), shifted by ``steps`` times their distance from the axis."""
    found = []
    for k in steps:
        w = omega.real + k * omega.imag
        d = _at_each(obj, frames, np.minimum(np.abs(w), known(obj)[1]), size)
        found.append(np.where((w < 0.0)[:, None, None], np.conj(d), d))
    return found


def _at_each(obj: MObject, frames: Sequence, omega: np.ndarray, size: int) -> np.ndarray:
    middle = len(omega) // 2
    one = _at(obj, frames, omega[middle], size)
    if len(omega) > 1:
        found = _at_all(obj, frames, omega, size)
        if found is not None and np.abs(found[middle] - one).max() <= _ALIKE * np.abs(one).max():
            return found
    return np.array([one if k == middle else _at(obj, frames, w, size) for k, w in enumerate(omega)])


def _at(obj: MObject, frames: Sequence, omega: complex, size: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ComplexWarning)
        found = called(obj.label, "its dynamic_stiffness", _USAGE, obj.dynamic_stiffness, omega, frames)
    what = f"{obj.label}: its dynamic_stiffness at {omega / (2 * np.pi):.6g} Hz"
    try:
        matrix = np.asarray(found)
    except ValueError:
        matrix = np.zeros(0)
    if matrix.dtype.kind not in "iufc":
        raise ModelError(f"{what} is {shown(found)}; expected numbers (n, n), real or complex")
    if matrix.shape != (size, size):
        inner = f" and {len(obj.coordinate_names)} internal coordinates" if obj.coordinate_names else ""
        raise ModelError(
            f"{what} has shape {matrix.shape}; expected {(size, size)}, six coordinates for each of its {len(frames)} "
            f"frames{inner}"
        )
    return matrix


def _at_all(obj: MObject, frames: Sequence, omega: np.ndarray, size: int) -> np.ndarray | None:
    """The law for all frequencies by one call, (m, n, n); None if it does not allow that."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = np.asarray(obj.dynamic_stiffness(omega[:, None, None], frames))
    except Exception:
        return None  # a law for one frequency at a time: single calls report what is wrong
    shape = (len(omega), size, size)
    if found.shape == (len(omega), 1, 1, size, size):  # a table of matrices
        found = found.reshape(shape)
    elif found.shape == (size, size, len(omega), 1, 1):  # a matrix of formulas
        found = found.reshape(size, size, -1).transpose(2, 0, 1)
    return found if found.shape == shape and found.dtype.kind in "iufc" else None


def refuse_static(obj: MObject, frames: Sequence, size: int, static: Callable[[], np.ndarray]) -> None:
    """ModelError if the dynamic stiffness (n, n) of a user's object is not zero at 0 Hz, compared with its ``static()`` one."""
    if of_mse(type(obj)):
        obj.dynamic_stiffness(0.0, frames)  # raises if there is none at these poses
        return
    at_rest = _at(obj, frames, 0.0, size)
    if not np.isfinite(at_rest).all():
        i, j = np.argwhere(~np.isfinite(at_rest))[0]
        raise ModelError(
            f"{obj.label}: its dynamic_stiffness at 0 Hz is {at_rest[i, j]} at [{i}, {j}]; expected finite numbers; "
            "let it approach a limit there, as tables do that keep their first value"
        )
    left = np.abs(np.real(at_rest))
    if not left.any():
        return
    known = static()
    if left.max() <= _AT_REST * max(np.abs(known).max(), np.abs(np.imag(at_rest)).max()):
        return
    i, j = np.unravel_index(int(left.argmax()), left.shape)
    raise ModelError(
        f"{obj.label}: its dynamic_stiffness at 0 Hz is {np.real(at_rest[i, j]):.6g} at [{i}, {j}], compared with a "
        f"static stiffness of {known[i, j]:.6g} from its other laws, to which it is added; expected 0 at 0 Hz; write "
        "k(omega) - k(0), and give k(0) by energy"
    )
