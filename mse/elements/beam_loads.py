"""Internal forces of a beam at a working point: forces, moments and stresses along it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..declared import array, axis, labeled
from ..display import Column, Table, scales, without_rounding
from ..errors import UnknownNameError
from ..results import Result
from ..validation.arguments import refusal

# pieces of an element in a picture: a blade with a quarter of the width at its tip and 2 elements is drawn within 1 %
# (tests/tools/plots/test_beam.py)
_PIECES = 8
_CUTS = {"N": "N", "Vy": "N", "Vz": "N", "T": "N m", "My": "N m", "Mz": "N m"}  # forces in a section, and their units


class BeamLoads(Result):
    """Internal forces of a beam at a working point; made by ``beam.internal_forces(working_point)``.

    Attributes
    ----------
    name : str
        Path of the beam.
    s : ndarray, (2 n,), m
        Start and end of each of its n elements in turn, so that jumps at loaded stations show.
    forces : ndarray, (2 n, 6), N, N m
        In the axes of the section: N (tension positive), Vy, Vz, then T, My, Mz, exerted by the part beyond s on the part before;
        0 where they are the rounding of the forces in the system or of positions.
    tensile, compressive : ndarray, (2 n,), Pa
        Largest and smallest normal stress in the section; nan where the extent of a general section is not given.
    shear : ndarray, (2 n,), Pa
        Largest shear stress of torsion.
    along : ndarray, (3, m), m, Pa
        Places inside the elements, too, and the largest and smallest normal stress there, by forces that change evenly between
        the ends of each element; what a picture draws, since the stress in a tapered element is no straight line.
    """

    name: str
    s: np.ndarray = axis("s", "m")
    forces: np.ndarray = array(
        "s force", units=tuple(_CUTS.values()), columns="{force}", along={"force": tuple(_CUTS)}, apart=True
    )
    tensile: np.ndarray = array("s", unit="Pa", finite=False)
    compressive: np.ndarray = array("s", unit="Pa", finite=False)
    shear: np.ndarray = array("s", unit="Pa", finite=False)
    along: np.ndarray = array("3 place", finite=False)

    @property
    def stress(self) -> np.ndarray:
        """Largest size of the normal stress in each section, Pa (2 n,)."""
        return np.maximum(np.abs(self.tensile), np.abs(self.compressive))

    @property
    @labeled("s", unit="Pa")
    def equivalent(self) -> np.ndarray:
        """``sqrt(sigma^2 + 3 tau^2)``, Pa (2 n,): von Mises' stress if both were largest at one place, so a bound for it."""
        return np.sqrt(self.stress**2 + 3.0 * self.shear**2)

    @property
    def largest(self) -> tuple[float, float]:
        """The largest normal stress (Pa) and its place s (m)."""
        k = int(np.nanargmax(self.stress)) if not np.all(np.isnan(self.stress)) else 0
        return float(self.stress[k]), float(self.s[k])

    def table(self) -> Table:
        value, place = self.largest
        head = f"{self.name}: largest normal stress {value / 1e6:.6g} MPa at s = {place:.6g} m"
        columns = (Column("s", "m", 6), *(Column(n, u, 6) for n, u in _CUTS.items()), Column("stress", "MPa", 6))
        rows = np.column_stack([self.s, self.forces, self.stress / 1e6])
        # one row if both sides of a node agree, within the digits shown of the largest force, moment and stress
        largest = scales(np.abs(rows).max(axis=0), [column.unit for column in columns])
        digits = 10.0 ** -columns[0].digits * largest
        alike = np.r_[False, (np.abs(np.diff(rows, axis=0)) <= digits).all(axis=1) & (np.diff(self.s) == 0.0)]
        return Table(head, columns, rows[~alike].tolist())


def internal_forces(beam: Any, working_point: Any) -> BeamLoads:
    """Internal forces at both ends of every element of a beam, from the forces that its elements exert at a working point."""
    nodes = beam.nodes()
    names, places = list(nodes), np.array(list(nodes.values()))
    forces = getattr(working_point, "forces", None)
    if not isinstance(forces, Mapping):
        raise refusal(
            beam.label, "the working point", working_point, "one that find_working_point() of its system gives"
        )
    if f"{beam.path}.e1" not in forces:
        raise UnknownNameError(
            f"{beam.label}: the working point of {working_point.name!r} has no such beam; expected one of the system "
            "that the beam is in"
        )
    rows = []
    for k in range(len(names) - 1):
        at_start, at_end = forces[f"{beam.path}.e{k + 1}"]
        for cut, name in ((at_start, names[k]), (-at_end, names[k + 1])):
            turn = working_point.poses[f"{beam.path}.{name}"].U.T
            rows.append(np.concatenate([turn @ cut[:3], turn @ cut[3:]]))
    s, cuts = np.repeat(places, 2)[1:-1], np.array(rows)
    cuts = _without_rounding(cuts, forces, places[-1])
    # positions are rounded to their spacing as numbers, which stretches elements
    position = max(np.abs(working_point.poses[f"{beam.path}.{name}"].o).max() for name in names)
    stretch = np.finfo(float).eps * position / np.repeat(np.diff(places), 2)
    cuts[np.abs(cuts[:, 0]) <= beam.young_modulus * beam.sections(s).area * stretch, 0] = 0.0
    share = np.linspace(0.0, 1.0, _PIECES + 1)
    within, forces_there = (_between(values, share) for values in (s, cuts))
    along = np.vstack([within, *beam.stresses(within, forces_there)[:2]])
    return BeamLoads(beam.path, s, cuts, *beam.stresses(s, cuts), along)


def _between(ends: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Values (n (m + 1), ...) at fractions ``share`` of every element, from values at both its ends (2 n, ...)."""
    first, last = ends[::2, None], ends[1::2, None]
    weight = share.reshape(1, -1, *(1,) * (ends.ndim - 1))
    return (first + weight * (last - first)).reshape(-1, *ends.shape[1:])


def _without_rounding(cuts: np.ndarray, forces: Mapping[str, np.ndarray], arm: float) -> np.ndarray:
    """Forces and moments (2 n, 6); zero if rounding of the forces in the system (for moments times an arm, m)."""
    largest = max(float(np.abs(six[:, :3]).max(initial=0.0)) for six in forces.values())
    moment = float(np.abs(cuts[:, 3:]).max())
    return without_rounding(cuts, np.repeat([max(largest, moment / arm), max(largest * arm, moment)], 3))
