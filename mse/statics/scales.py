"""Scales of a system: its size, its loads, and one unit of each coordinate in meters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..kernels.sizes import add_force_noise, load_sizes
from ..model.assembly import Assembly
from ..model.evaluation import Evaluation
from ..model.pattern import forceful
from ..model.topology import Topology
from ..numerics.precision import EPS, NOTHING, ROUNDED, groups, stiffness_noise
from ..numerics.sparse_tools import on_pattern, transposed_product

# Residuals that rounding may leave: forces with half of their digits get a warning, forces with three digits are no result.  A
# spring reaches both in tests/statics/test_statics.py::test_stiffness_beyond_the_digits_of_positions_is_said.
COARSE, TOO_COARSE = 1e-6, 1e-3
# A position has a spacing of eps; steps were added to it and its arm was turned, so it is off by twice that.
SPACING = 2.0 * float(np.finfo(float).eps)
# Of the largest force on a body: the least force that the balance of a body is compared with.  With 0.5 and 1e-9
# tests/statics/test_coordinate_sizes.py::test_loads_on_charges_are_compared_by_what_they_count_for fails.
_LEAST_FORCE = 1e-3
# Of the largest load: the least load that the balance of a coordinate is compared with.  With 0.1 and 1e-9
# tests/statics/test_coordinate_sizes.py::test_loads_on_charges_are_compared_by_what_they_count_for fails.
_LEAST_LOAD = 1e-4
# Of the model's size, in one step: a longer step has turns of half a radian and more, and is not straight.  With a hundredth
# tests/statics/test_first_loads.py::test_a_curve_from_no_load_begins_where_a_pendulum_hangs fails, with ten thousand times none.
STRAIGHT = 0.3
# Of the model's size: length of a turn of one radian in a step, if there are joints.  With 0.1, 0.3 and 1 the searches of 92, 99
# and 98 of 100 systems with joints of benchmarks/slow_descents.py (jointed, seeds 1000 to 1099) end where a slow descent does, in
# 1,344, 1,367 and 1,659 steps; with 1 and with 0.03
# tests/statics/test_valleys.py::test_searches_of_mechanisms_end_where_a_slow_descent_does fails.
_ARM = 0.3


def coordinate_scale(topology: Topology, size: float) -> np.ndarray:
    """Meters for one unit of each coordinate (n,): rotations by the arm of their body's frames, 1 for internal ones."""
    t = topology
    arm, typical = t.arms
    scale = np.ones(t.size)
    six = scale[: 6 * (t.units - 1)].reshape(-1, 6)
    six[:, 3:] = np.maximum(arm, 0.3 * (typical if typical > 0.0 else 0.1 * size))[1:, None]
    return scale


def joint_arm(topology: Topology, o: np.ndarray, scale: np.ndarray) -> float:
    """The arm (m) by which torques are divided to compare them with forces that redundant joints share.

    It is the root mean square distance of the joints' frames on each body from their middle, at origins ``o`` (frames, 3).  If
    every body has all its joints at one place, all frames with elements count.  It does not depend on position, names or order.
    Distances of less than half of the digits of the arms that ``scale`` (n,), from :func:`coordinate_scale`, has for turns are
    none: bodies at one place are apart by rounding, and torques over that would be far larger than all forces.
    """
    jointed = [kind.frames.ravel() for kind in topology.kinds if kind.cls.constrains()]
    jointed = np.unique(np.concatenate([np.zeros(0, dtype=int), *jointed]))
    jointed = jointed[topology.unit[jointed] > 0]
    held = np.unique(np.concatenate([np.zeros(0, dtype=int), *(kind.frames.ravel() for kind in forceful(topology))]))
    whole = _spread(o[held], np.zeros(len(held), dtype=int))
    apart = _spread(o[jointed], topology.unit[jointed])
    turning = scale[: 6 * (topology.units - 1)].reshape(-1, 6)[:, 3:]
    least = max(NOTHING * whole, np.sqrt(EPS) * turning.max(initial=0.0))
    return next((arm for arm in (apart, whole) if arm > least), 1.0)


def _spread(o: np.ndarray, group: np.ndarray) -> float:
    """Root mean square distance (m) of points (n, 3) from the middle of their ``group`` (n,)."""
    if not len(o):
        return 0.0
    count = np.maximum(np.bincount(group), 1)
    middle = np.stack([np.bincount(group, x) / count for x in o.T], axis=1)
    return float(np.sqrt(np.mean(np.sum((o - middle[group]) ** 2, axis=1))))


def searched_coordinates(topology: Topology, assembly: Assembly) -> np.ndarray:
    """Numbers of the coordinates that the search moves; others are zero in every working point, or those of networks."""
    t = topology
    searched = np.ones(t.size, dtype=bool)
    for kind in t.kinds:
        obj = t.elements[kind.members[0]].obj
        names, resting = obj.coordinate_names, obj.resting
        if resting:
            searched[6 * (t.units - 1) + kind.internal[:, [names.index(name) for name in resting]]] = False
    if assembly.steady is not None:
        searched[6 * (t.units - 1) + assembly.steady.coordinates] = False
    return np.flatnonzero(searched)


def load_scale(load: np.ndarray, scale: np.ndarray, bodies: int) -> np.ndarray:
    """The load (n,) that each coordinate's balance is compared with: the forces on its body, for torques force times arm too.

    ``load`` (n,) is the sum of absolute forces on each coordinate, ``scale`` (n,) comes from :func:`coordinate_scale`.  A part
    with much less load than the others is compared with a fraction of the largest load.
    """
    return load_sizes(load, scale, bodies, _LEAST_FORCE, _LEAST_LOAD)


def force_rounding(here: Evaluation, scale: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Rounding (n,) of each force of a system in a state, from positions and sums.

    Multipliers (m,) balance as well as they can.  That is a projection: it spreads the rounding of one coordinate over others,
    but makes no vector longer.  The same holds for rounding of the reactions, which are computed and then added up.
    """
    terms = here.force_terms()
    if not here.assembly.constraint_count:
        return SPACING * terms
    slopes = here.slopes
    terms = terms + 2.0 * transposed_product(on_pattern(slopes, np.abs(slopes.data)), np.abs(multipliers))
    return SPACING * np.maximum(terms, scale * np.linalg.norm(terms / scale))


def stiffness_rounding(
    topology: Topology,
    terms: sp.csc_matrix,
    arms: np.ndarray,
    unbalanced: np.ndarray,
    load: np.ndarray,
    scale: np.ndarray,
    size: float,
) -> np.ndarray:
    """Rounding of each diagonal entry (n,) of a stiffness in scaled coordinates.

    ``terms`` (n, n) are the terms of its sums, at ``arms`` (bodies with the ground,), see :meth:`.stiffness_terms`.  The
    ``unbalanced`` forces (n,) and ``load`` (n,), the sum of absolute forces, are not scaled.
    """
    bodies = topology.units - 1
    noise = stiffness_noise(terms, groups(bodies, len(scale), 3), 1.0 / scale)
    jointed = any(kind.cls.constrains() for kind in topology.kinds)
    add_force_noise(unbalanced, load, scale, arms, bodies, size, jointed, ROUNDED, noise)
    # at least eps of the largest rounding: rounding of arms and directions counts by its square
    return np.maximum(noise, EPS * noise.max(initial=0.0))


def total_force(loads: np.ndarray, bodies: int) -> float:
    """The sum (N) of all forces on bodies among the loads (n,) on coordinates."""
    return float(lengths(loads[: 6 * bodies].reshape(-1, 6)[:, :3]).sum())


def lengths(vectors: np.ndarray) -> np.ndarray:
    """Lengths (k,) of vectors (k, 3), also of numbers whose squares overflow."""
    most = np.abs(vectors).max(initial=0.0)
    if not most > 0.0:
        return np.zeros(len(vectors))
    shares = vectors / most
    return most * np.sqrt(np.einsum("ij,ij->i", shares, shares))


def step_metric(topology: Topology, assembly: Assembly, scale: np.ndarray, size: float) -> np.ndarray:
    """Meters in a step for one unit of each coordinate (n,).

    With joints, a turn of one body moves others far.  So a turn counts by a fraction of the size of the model: steps are then
    straight in turns, and joints are restored by displacements rather than turns.
    """
    metric = scale.copy()
    if assembly.constraint_count:
        metric[: 6 * (topology.units - 1)].reshape(-1, 6)[:, 3:] = _ARM * size
    return metric
