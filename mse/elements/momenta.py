"""Gyroscopic couplings from kinetic coenergies with terms linear in velocities, such as a current times a flux.

For ``T = a(x) . v`` the forces are ``-G v`` with ``G_ij = da_i/dx_j - da_j/dx_i``.  One law gives both the force of a coil and
the voltage that its motion induces.  Angular velocities are not rates of coordinates, so rotations of a frame add ``[a]x``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels.rotations import cross_matrix
from ..numerics.jets import Jet
from .base import MObject
from .differentiation import SLOW, VANISHED, checked_energy, directions, jet_frames, moving
from .law_record import Places, Shape, rows_of
from .recorded_laws import Together, recordable

_LAW = "momenta"


def couplings(objects: Sequence[MObject], places: Places) -> np.ndarray | None:
    """Skew matrices (E, n, n) of the kinetic coenergies of objects of one class, at rest; None if all are zero.

    The caller has checked that the coenergies are regular at rest.
    """
    first = objects[0]
    frames, inner = len(first.frame_names), len(first.coordinate_names)
    n, count = 6 * frames + inner, len(objects)
    momenta, slopes = np.zeros((count, n)), np.zeros((count, n, n))
    slowly = SLOW * directions(n)[0]
    inputs = rows_of(places)

    def put(here, found):
        momenta[here], slopes[here] = found[0][:, 1:], found[1][:, 1:]

    left: Any = range(count)
    if recordable(type(first), _LAW):
        together = Together(objects, _LAW, Shape(frames, inner, n + 1))

        def ask(velocities: np.ndarray, order: int, put: Callable[[Any, tuple], None]):
            given = np.broadcast_to(velocities, (count, n))
            return together.evaluate(
                slice(None), (inputs, given), order, lambda e: coenergy(objects[e], *places[e], velocities), put
            )

        ask(directions(n)[0], 0, lambda *_: None)  # compares the record with the law where it has values
        left = ask(slowly, 1, put)
    for e in left:
        _, momenta[e], slopes[e] = by_jets(objects[e], *places[e], slowly)
    found = slopes - slopes.transpose(0, 2, 1)
    for k in range(frames):
        turn = slice(6 * k + 3, 6 * k + 6)
        found[:, turn, turn] += [cross_matrix(a) for a in momenta[:, turn]]
    found[np.abs(found) <= VANISHED] = 0.0
    return found if found.any() else None


def coenergy(obj: MObject, frames: Sequence, q: Any, velocities: Any) -> Any:
    """An object's kinetic coenergy at some velocities (n,), by the law itself."""
    moved, rates = moving(frames, velocities)
    return checked_energy(obj.label, obj.kinetic(moved, q, rates), "kinetic")


def by_jets(
    obj: MObject, frames: Sequence, q: np.ndarray, velocities: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slope (n,) of an object's kinetic coenergy by coordinates, its momenta (n,), and their slopes (n, n) by coordinates."""
    n = len(velocities)
    placed, inner = jet_frames(frames, q)
    placed = [type(f)(*(_beside(x, n) for x in f)) for f in placed]
    rates = Jet(velocities, np.hstack([np.zeros((n, n)), np.eye(n)]), np.zeros((n, 2 * n, 2 * n)))
    found = coenergy(obj, placed, _beside(inner, n), rates)
    if not isinstance(found, Jet):
        return np.zeros(n), np.zeros(n), np.zeros((n, n))
    return found.gradient[:n], found.gradient[n:], found.hessian[n:, :n]


def _beside(jet: Jet, more: int) -> Jet:
    """A jet in more variables, on which it does not depend."""
    none = [(0, 0)] * jet.value.ndim
    return Jet(jet.value, np.pad(jet.gradient, [*none, (0, more)]), np.pad(jet.hessian, [*none, (0, more), (0, more)]))
