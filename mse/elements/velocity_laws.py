"""Mass, damping and coupling matrices of laws of velocities: second derivatives of coenergies and contents, at rest.

They are taken at speeds so small that powers of two are all that is left of a law, in several directions.  A second derivative
exists where all these agree, as for ``|v|^3``, whose formula has none at rest itself, and not for ``|v|``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..kernels.masses import cross_matrices
from ..numerics.precision import EPS
from ..validation.arguments import LARGEST
from ..validation.matrices import first_negative, negative
from .base import MObject
from .definitions import INSTEAD
from .differentiation import SLOW, VANISHED, directions, regular
from .law_record import Places, Shape, rows_of
from .recorded_laws import Together

_UNITS = {"kinetic": "J", "dissipation": "W"}
# Of the largest entry: far above rounding, far below what another branch of a law gives.  From 1e-13 to 1e-3
# tests/elements/test_velocity_laws.py passes.
_ALIKE = 1e-9
_REMEDIES = {
    "kinetic": "leave out what is not quadratic in velocities about rest, which no linear model has",
    "dissipation": "write a force that is there at rest as an energy, and round off a friction that jumps, as by "
    "c*sqrt(v**2 + s**2) - c*s",
}


def of(cls: type[MObject], matrix: str) -> str:
    """The law of velocities from which a class has its ``mass_matrix`` or ``damping_matrix``; "" for none."""
    law = next(law for law, instead in INSTEAD if instead == matrix)
    return law if cls.defines(law) else ""


def matrices(
    objects: Sequence[MObject],
    law: str,
    places: Places,
    notes: list[str] | None = None,
    flows: np.ndarray | None = None,
) -> np.ndarray:
    """Second derivatives (E, n, n) of a law by velocities, of objects of one class at frames and internal coordinates.

    ``notes`` receives the notes on laws that cannot be recorded.  Velocities are ``flows`` (E, n), or none.  Raises ModelError
    where a law is not quadratic at rest, and where a content has a negative curvature.
    """
    values, slopes, second = _at_rest(objects, law, places, notes, flows)
    if flows is None:
        _refuse_irregular(objects, law, values[:, :, 0], slopes[:, :, 0], second)
    found = regular(second[0])
    if flows is None and law == "dissipation" and (e := first_negative(found)) is not None:
        raise ModelError(
            f"{objects[e].label}: its dissipation {negative(found[e])} among its second derivatives by velocities, so it feeds "
            "energy into motions; expected a content that no velocity makes negative; drive it by a controller where that is "
            "meant"
        )
    return found


def damping_of_power(
    objects: Sequence[MObject], places: Places, notes: list[str] | None = None, flows: np.ndarray | None = None
) -> np.ndarray:
    """What velocities change in the forces of powers, at rest: negative slopes (E, n, n), which may be skew in part.

    ``notes`` receives the notes on powers that cannot be recorded.  Raises ModelError where these forces have no slope
    at rest.
    """
    forces, _, slopes = _at_rest(objects, "power", places, notes, flows)
    if flows is None:
        _refuse_jumping(objects, forces, slopes)
    return regular(-slopes[0])


def couplings(objects: Sequence[MObject], places: Places, flows: np.ndarray | None = None) -> np.ndarray | None:
    """Skew matrices (E, n, n) of the kinetic coenergies of objects of one class, at rest; None where all are zero.

    Of their terms linear in velocities, such as a current times a flux: of ``T = a(x) . v`` the forces are ``-G v`` with
    ``G_ij = da_i/dx_j - da_j/dx_i``.  One law gives the force of a coil and the voltage that its motion induces.  Angular
    velocities are no rates of coordinates, so turns of a frame add ``[a]x``.  The coenergies are known to be regular at rest.
    At steady ``flows`` (E, n) a is the momentum of these.
    """
    values, slopes, _ = _at_rest(objects, "momenta", places, flows=flows)
    momenta, slopes = values[0, :, 1:], slopes[0, :, 1:]
    found = slopes - slopes.transpose(0, 2, 1)
    for k in range(len(objects[0].frame_names)):
        turn = slice(6 * k + 3, 6 * k + 6)
        found[:, turn, turn] += cross_matrices(momenta[:, turn])
    found = regular(found)
    return found if found.any() else None


def _at_rest(
    objects: Sequence[MObject],
    law: str,
    places: Places,
    notes: list[str] | None = None,
    flows: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (d, E, m), slopes (d, E, m, n) and second derivatives (d, E, n, n) of a law at small velocities.

    These are d = 4 in various directions, and one where nothing is compared: beside steady flows, and for momenta.
    """
    rows, shape = rows_of(places), Shape(len(objects[0].frame_names), len(objects[0].coordinate_names))
    together, n = Together(objects, law, shape.of(law)), shape.size
    count, order = shape.given(law), 1 if law == "momenta" else 2
    together.evaluate(rows, directions(count)[0], 0)  # records are compared with the law where it has values
    found = []
    for slowly in SLOW * directions(n)[: 4 if flows is None and order == 2 else 1]:
        velocities = np.broadcast_to(slowly, (len(rows), n)) if flows is None else flows + slowly
        found.append(together.evaluate(rows, np.pad(velocities, ((0, 0), (count - n, 0))), order))
    if notes is not None:
        notes += together.notes
    return tuple(map(np.array, zip(*found, strict=True)))


def _unlike(found: np.ndarray) -> np.ndarray:
    """By how much entries (4, E, ...) differ between directions (E, ...): 0 up to rounding, infinite if they are no numbers."""
    with np.errstate(invalid="ignore"):
        spread = np.abs(found - found[0]).max(axis=0)
        size = np.abs(found).max(axis=(0, *range(2, found.ndim)), keepdims=True, initial=0.0)[0]
        alike = (spread <= np.maximum(VANISHED, _ALIKE * size)) & (size <= LARGEST)
    return np.where(alike, 0.0, np.nan_to_num(spread, nan=np.inf))


def _refuse_jumping(objects: Sequence[MObject], forces: np.ndarray, slopes: np.ndarray) -> None:
    """Refuse powers whose forces (4, E, n), or slopes (4, E, n, n), are others in other directions of a small velocity."""
    jumps, spreads = _unlike(forces), _unlike(slopes).max(axis=2, initial=0.0)
    for e in np.flatnonzero(jumps.any(axis=1) | spreads.any(axis=1)):
        i = int((jumps[e] if jumps[e].any() else spreads[e]).argmax())
        raise ModelError(
            f"{objects[e].label}: its power has the force {forces[0, e, i]:.6g} on {_coordinate(objects[e], i)} at rest, and no "
            "slope by velocities there; expected one, for linear models; round off what jumps, as by v/sqrt(v**2 + s**2)"
        )


def _refuse_irregular(
    objects: Sequence[MObject], law: str, values: np.ndarray, slopes: np.ndarray, second: np.ndarray
) -> None:
    """Refuse laws without second derivatives (4, E, n, n) at rest, or with values (4, E) or slopes (4, E, n) there."""
    unlike = _unlike(second)
    rests = (np.abs(values) <= VANISHED).all(axis=0) & (np.abs(slopes) <= VANISHED).all(axis=(0, 2))
    for e in np.flatnonzero(~rests | unlike.any(axis=(1, 2))):
        obj, value, slope, bend = objects[e], values[:, e], slopes[:, e], second[:, e]
        size = np.abs(bend).max(initial=0.0)
        rounding = max(VANISHED, 8.0 * EPS * size) if size <= LARGEST else VANISHED
        if np.abs(value).max() > rounding:
            _refuse(obj, law, f"is {value[0]:.6g} {_UNITS[law]} at rest", "0 there")
        at = int(np.abs(slope).max(axis=0).argmax())
        if np.abs(slope[:, at]).max() > rounding:
            name, low, high = _coordinate(obj, at), slope[:, at].min(), slope[:, at].max()
            if high - low > max(rounding, _ALIKE * max(-low, high)):
                told = f"has slopes from {low:.6g} to {high:.6g} by the velocity of {name} where that vanishes"
                _refuse(obj, law, f"{told}, and no second derivative", "one at rest")
            if law != "kinetic":  # whose linear terms are gyroscopic couplings
                _refuse(obj, law, f"has the slope {low:.6g} by the velocity of {name} at rest", "0 there")
        if unlike[e].any() or not np.all(np.abs(np.column_stack([value, slope])) <= LARGEST):
            i, j = np.unravel_index(int(unlike[e].argmax()), bend.shape[1:])
            both = f"{_coordinate(obj, i)} and {_coordinate(obj, j)}"
            low, high = bend[:, i, j].min(), bend[:, i, j].max()
            told = f"has no second derivative by the velocities of {both} at rest ({low:.6g} to {high:.6g} beside it)"
            _refuse(obj, law, told, "one there, for linear models")


def _refuse(obj: MObject, law: str, told: str, expected: str) -> None:
    raise ModelError(f"{obj.label}: its {law} {told}; expected {expected}; {_REMEDIES[law]}")


def _coordinate(obj: MObject, number: int) -> str:
    """A coordinate of an object, by name."""
    frames = len(obj.frame_names)
    if number >= 6 * frames:
        return obj.coordinate_names[number - 6 * frames]
    return f"frame {obj.frame_names[number // 6]}.{('dx', 'dy', 'dz', 'ax', 'ay', 'az')[number % 6]}"
