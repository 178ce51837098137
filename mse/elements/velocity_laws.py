"""Mass, damping and coupling matrices of laws of velocities: second derivatives of coenergies and contents, at rest.

They are taken at speeds so small that powers of two are all that is left of a law, in several directions.  A second derivative
exists where all these agree, as for ``|v|^3``, whose formula has none at rest itself, and not for ``|v|``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..kernels.rotations import cross_matrix
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
    for e in np.flatnonzero(_maybe_irregular(values[:, :, 0], slopes[:, :, 0], second)) if flows is None else ():
        _refuse_irregular(objects[e], law, values[:, e, 0], slopes[:, e, 0], second[:, e])
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
    for e, obj in enumerate(objects) if flows is None else ():
        _refuse_jumping(obj, forces[:, e], slopes[:, e])
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
        found[:, turn, turn] += [cross_matrix(a) for a in momenta[:, turn]]
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


def _refuse_jumping(obj: MObject, forces: np.ndarray, slopes: np.ndarray) -> None:
    """Refuse a power whose forces (4, n), or slopes of them (4, n, n), are others in other directions of a small velocity."""
    with np.errstate(invalid="ignore"):
        jump, spread = np.abs(forces - forces[0]).max(axis=0), np.abs(slopes - slopes[0]).max(axis=0)
    size = np.abs(forces).max(initial=0.0)
    rough = not (jump.max() <= max(VANISHED, _ALIKE * size))
    if rough or not (spread.max() <= max(VANISHED, _ALIKE * np.abs(slopes).max())):
        i = int(
            np.nan_to_num(jump, nan=np.inf).argmax() if rough else np.nan_to_num(spread, nan=np.inf).max(1).argmax()
        )
        raise ModelError(
            f"{obj.label}: its power has the force {forces[0, i]:.6g} on {_coordinate(obj, i)} at rest, and no slope by "
            "velocities there; expected one, for linear models; round off what jumps, as by v/sqrt(v**2 + s**2)"
        )


def _maybe_irregular(values: np.ndarray, slopes: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which laws (E,) are not plainly quadratic, by values (4, E), slopes (4, E, n) and second derivatives (4, E, n, n)."""
    with np.errstate(invalid="ignore"):
        size = np.abs(second).max(axis=(0, 2, 3), initial=0.0)
        spread = np.abs(second - second[0]).max(axis=(0, 2, 3), initial=0.0)
        linear = np.maximum(np.abs(values).max(axis=0), np.abs(slopes).max(axis=(0, 2), initial=0.0))
        # not a number is none of these
        return ~((size <= LARGEST) & (linear <= VANISHED) & (spread <= np.maximum(VANISHED, _ALIKE * size)))


def _refuse_irregular(obj: MObject, law: str, values: np.ndarray, slopes: np.ndarray, second: np.ndarray) -> None:
    """Refuse a law that has no second derivatives at rest (4, n, n), or values (4,) or slopes (4, n) there."""
    finite = [np.all(np.abs(x) <= LARGEST) for x in (values, slopes, second)]
    size = np.abs(second).max(initial=0.0)
    rounding = max(VANISHED, 8.0 * np.finfo(float).eps * size) if finite[2] else VANISHED
    if finite[0] and np.abs(values).max() > rounding:
        _refuse(obj, law, f"is {values[0]:.6g} {_UNITS[law]} at rest", "0 there")
    if finite[1] and np.abs(slopes).max(initial=0.0) > rounding:
        at = int(np.abs(slopes).max(axis=0).argmax())
        low, high = slopes[:, at].min(), slopes[:, at].max()
        if high - low > max(rounding, _ALIKE * max(-low, high)):
            told = (
                f"has slopes from {low:.6g} to {high:.6g} by the velocity of {_coordinate(obj, at)} where that vanishes"
            )
            _refuse(obj, law, f"{told}, and no second derivative", "one at rest")
        if law != "kinetic":  # whose linear terms are gyroscopic couplings
            _refuse(obj, law, f"has the slope {low:.6g} by the velocity of {_coordinate(obj, at)} at rest", "0 there")
    spread = np.abs(second - second[0]).max(axis=0) if finite[2] else np.where(np.isfinite(second), 0, np.inf).max(0)
    if not all(finite) or spread.max(initial=0.0) > max(VANISHED, _ALIKE * size):
        i, j = np.unravel_index(int(spread.argmax()), spread.shape) if spread.size else (0, 0)
        low, high = second[:, i, j].min(), second[:, i, j].max()
        told = f"has no second derivative by the velocities of {_coordinate(obj, i)} and {_coordinate(obj, j)} at rest"
        _refuse(obj, law, f"{told} ({low:.6g} to {high:.6g} beside it)", "one there, for linear models")


def _refuse(obj: MObject, law: str, told: str, expected: str) -> None:
    raise ModelError(f"{obj.label}: its {law} {told}; expected {expected}; {_REMEDIES[law]}")


def _coordinate(obj: MObject, number: int) -> str:
    """A coordinate of an object, by name."""
    frames = len(obj.frame_names)
    if number >= 6 * frames:
        return obj.coordinate_names[number - 6 * frames]
    return f"frame {obj.frame_names[number // 6]}.{('dx', 'dy', 'dz', 'ax', 'ay', 'az')[number % 6]}"
