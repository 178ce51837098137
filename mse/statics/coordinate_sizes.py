"""Meters that one unit of an internal coordinate counts for: by its declared size, or by its stiffness at the start."""

from __future__ import annotations

import numpy as np

from ..elements.coordinates import DOMAINS, EFFORT, Coordinate, declared, size_of
from ..model.assembly import Assembly
from ..model.configuration import Configuration
from ..model.topology import Topology
from ..numerics.precision import NOTHING

# efforts (V, Pa, K, A) where nothing drives at first
_USUAL = {DOMAINS["electric"]: 1.0, DOMAINS["fluid"]: 1e5, DOMAINS["thermal"]: 300.0, DOMAINS["magnetic"]: 1.0}


def internal_scale(topology: Topology, assembly: Assembly, at: Configuration, size: float) -> np.ndarray:
    """Meters for one unit of each internal coordinate (k,).

    At its declared size, a coordinate counts as much as a displacement by the ``size`` (m) of the model.  Lengths, and numbers
    without a unit, count as they are.  Any other coordinate counts as the displacement, of the bodies that its element acts on,
    that takes the same energy: a charge q on a capacitance C between plates on a spring k counts as q / sqrt(C k).
    """
    scale, by_law = _declared(topology, size)
    if by_law:
        _follow_law(scale, by_law, topology, assembly, at, size)
    return scale


def motion_scale(topology: Topology, assembly: Assembly, at: Configuration, size: float) -> np.ndarray:
    """The same (k,) for errors of large motions: a charge counts by what its store holds, or the softest of its domain.

    That is the charge at the largest effort there without any charge, or at a usual one, such as 1 V.
    """
    scale, by_law = _declared(topology, size)
    if not by_law:
        return scale
    _follow_law(scale, by_law, topology, assembly, at, size)
    _, _, gradient, _, k = assembly.total(at, 2)
    first = assembly.size - topology.internal
    stored, efforts = k.diagonal()[first:], np.abs(np.nan_to_num(gradient[first:]))
    units = np.array([getattr(name, "unit", "") for name in topology.coordinate_names[first:]])
    free = np.array([number for number, _, _ in by_law])
    for domain, usual in _USUAL.items():
        own = units == domain.unit
        driven = efforts[own].max(initial=0.0) or usual
        if (holding := stored[own & (stored > 0.0)]).size:
            scale[free[own[free]]] = size * np.where(stored > 0.0, stored, holding.min())[free[own[free]]] / driven
    return scale


def without_store(topology: Topology, assembly: Assembly, at: Configuration) -> list[tuple[np.ndarray, float]]:
    """Numbers of coordinates that flow into no store of their own, by domain, and the largest effort there, or a usual one."""
    units = np.array([getattr(name, "unit", "") for name in topology.coordinate_names])
    units[: assembly.size - topology.internal] = ""
    if not np.isin(units, [domain.unit for domain in _USUAL]).any():
        return []
    _, _, gradient, _, k = assembly.total(at, 2)
    efforts, stored = np.abs(np.nan_to_num(gradient)), k.diagonal() > 0.0
    domains = [(units == domain.unit, usual) for domain, usual in _USUAL.items()]
    found = [(np.flatnonzero(own & ~stored), float(efforts[own].max(initial=0.0) or usual)) for own, usual in domains]
    return [(numbers, effort) for numbers, effort in found if len(numbers)]


def _declared(topology: Topology, size: float) -> tuple[np.ndarray, list[tuple[int, np.ndarray, bool]]]:
    """The scale (k,) of coordinates of declared sizes and of lengths, and all others.

    Each of these has the units of its element, and whether it has ports.
    """
    scale = np.ones(topology.internal)
    by_law: list[tuple[int, np.ndarray, bool]] = []
    for kind in topology.kinds:
        if not kind.own_coordinates:
            continue
        objects = [topology.elements[k].obj for k in kind.members]
        # objects of one class differ if each has names of its own
        alike = "coordinate_names" not in vars(objects[0])
        if alike and not any(map(_measured, declared(objects[0]))):
            continue
        for obj, numbers, frames in zip(objects, kind.internal, kind.frames, strict=True):
            for number, coordinate in zip(numbers.tolist(), declared(obj), strict=True):
                typical = size_of(coordinate, obj)
                if typical is not None:
                    scale[number] = size / typical
                elif coordinate.domain == EFFORT:  # of laws without energy
                    scale[number] = size / next((x for d, x in _USUAL.items() if d.effort == coordinate.unit), 1.0)
                elif _measured(coordinate):
                    by_law.append((number, topology.unit[frames], bool(coordinate.ports)))
    return scale, by_law


def _measured(coordinate: Coordinate) -> bool:
    """Whether a coordinate needs a scale, since it is no length."""
    return coordinate.size is not None or coordinate.unit not in ("", "m")


def _follow_law(scale, by_law, topology: Topology, assembly: Assembly, at: Configuration, size: float) -> None:
    """Fill in the scale (k,) of coordinates by the law at the start: see :func:`internal_scale`.

    If the stiffness along a coordinate vanishes, the force of one unit on bodies counts; if that vanishes too, its own force, or
    for charges with ports the largest one, so that those of a circuit count alike whatever drops along each.
    """
    _, _, gradient, _, k = assembly.total(at, 2)
    k, first = k.tocsr(), 6 * (topology.units - 1)
    diagonal = np.nan_to_num(np.abs(k.diagonal()))
    bodies = np.zeros(topology.units)  # stiffness (N/m) of each unit, the ground's 0
    bodies[1:] = diagonal[:first].reshape(-1, 6)[:, :3].max(axis=1, initial=0.0)
    held = bodies[bodies > 0.0]
    typical = float(np.median(held)) if len(held) else 1.0
    efforts = np.abs(np.nan_to_num(gradient[first:]))
    units_of = np.array([getattr(name, "unit", "") for name in topology.coordinate_names[first:]])
    for domain, usual in _USUAL.items():  # what a current leaves across what it does not pass is rounding
        efforts[(units_of == domain.unit) & (efforts <= NOTHING * usual)] = 0.0
    largest = float(efforts[[number for number, _, ports in by_law if ports]].max(initial=0.0))
    on_bodies = abs(k[first:, :first])
    on_bodies.data = np.nan_to_num(on_bodies.data)
    pushes = on_bodies.max(axis=1).toarray().ravel() if first else np.zeros(topology.internal)
    for number, units, ports in by_law:
        beside = (float(bodies[units].max()) if len(units) else 0.0) or typical
        found = (
            np.sqrt(diagonal[first + number] / beside),
            float(pushes[number]) / beside,
            (largest if ports else float(efforts[number])) / (beside * size),
        )
        scale[number] = next((x for x in found if x > 0.0), 1.0)
