"""Scales of a system: its size, its loads, and one unit of each coordinate in meters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..kernels.sizes import diameter, load_sizes
from ..model.assembly import Assembly
from ..model.configuration import Configuration
from ..model.pattern import forceful
from ..model.topology import Topology
from ..numerics.precision import EPS, NOTHING, force_noise, groups, stiffness_noise
from ..numerics.sparse_tools import on_pattern, scaled_both, transposed_product

# Residuals that rounding may leave: half of all digits of forces are worth a warning, three digits are no result.  Where a
# spring comes to these: tests/statics/test_statics.py::test_stiffness_beyond_the_digits_of_positions_is_said.
COARSE, TOO_COARSE = 1e-6, 1e-3
# A position is a number with a spacing of eps, which steps were added to and whose arm was turned: off by twice that.
SPACING = 2.0 * float(np.finfo(float).eps)
# Of the largest force on a body: the least by which the balance of any body is measured.  With 0.5 and 1e-9
# tests/statics/test_coordinate_sizes.py::test_loads_on_charges_are_compared_by_what_they_count_for fails.
_LEAST_FORCE = 1e-3
# Of the largest load: the least by which the balance of any coordinate is measured.  With 0.1 and 1e-9
# tests/statics/test_coordinate_sizes.py::test_loads_on_charges_are_compared_by_what_they_count_for fails.
_LEAST_LOAD = 1e-4
# Of the model's size, in one step: beyond are turns of half a radian and more, in which nothing is straight.  With a hundredth
# tests/statics/test_first_loads.py::test_a_curve_from_no_load_begins_where_a_pendulum_hangs fails, with ten thousand times none.
STRAIGHT = 0.3
# Of the model's size: what a turn of one radian counts for in a step where there are joints.  With 0.1, 0.3 and 1 the searches of
# 92, 99 and 98 of 100 systems with joints of benchmarks/slow_descents.py (jointed, seeds 1000 to 1099) end where a slow descent
# does, in 1,344, 1,367 and 1,659 steps; with 1 and with 0.03
# tests/statics/test_valleys.py::test_searches_of_mechanisms_end_where_a_slow_descent_does fails.
_ARM = 0.3


def model_size(topology: Topology, assembly: Assembly, at: Configuration) -> float:
    """A length (m) of the whole: its extent, or that of its longest element.

    Frames of the ground that no element acts on do not count: the world's origin, and sensors, may be anywhere.
    """
    counts = topology.unit > 0
    for g in assembly.groups:
        counts[g.frames] = True
    extent = float(diameter(at.o[counts]))
    extent = extent if extent > NOTHING * farthest(at) else 0.0
    return max([extent, *(float(g.spans.max()) for g in assembly.groups)]) or 1.0


def farthest(at: Configuration) -> float:
    """The largest number (m) that holds a position, of bodies and of what they are linked to."""
    return float(np.abs(at.o).max(initial=0.0))


def coordinate_scale(topology: Topology, size: float) -> np.ndarray:
    """Meters for one unit of each coordinate (n,): rotations by the arm of their body's frames, 1 for internal ones."""
    t = topology
    arm, typical = t.arms
    scale = np.ones(t.size)
    six = scale[: 6 * (t.units - 1)].reshape(-1, 6)
    six[:, 3:] = np.maximum(arm, 0.3 * (typical if typical > 0.0 else 0.1 * size))[1:, None]
    return scale


def joint_arm(topology: Topology, o: np.ndarray) -> float:
    """The arm (m) by which torques compare with forces where redundant joints share them: distance of the frames on a body.

    Root mean square distance of the frames that joints hold on each body from their middle, or of all that elements act on, at
    origins ``o`` (frames, 3), where joints are at one place of every body.  It does not depend on position, names or order.
    """
    jointed = [kind.frames.ravel() for kind in topology.kinds if kind.cls.constrains()]
    jointed = np.unique(np.concatenate([np.zeros(0, dtype=int), *jointed]))
    jointed = jointed[topology.unit[jointed] > 0]
    held = np.unique(np.concatenate([np.zeros(0, dtype=int), *(kind.frames.ravel() for kind in forceful(topology))]))
    whole = _spread(o[held], np.zeros(len(held), dtype=int))
    apart = _spread(o[jointed], topology.unit[jointed])
    return apart if apart > NOTHING * whole else whole or 1.0


def _spread(o: np.ndarray, group: np.ndarray) -> float:
    """Root mean square distance (m) of points (n, 3) from the middle of those of their group (n,)."""
    if not len(o):
        return 0.0
    count = np.maximum(np.bincount(group), 1)
    middle = np.stack([np.bincount(group, x) / count for x in o.T], axis=1)
    return float(np.sqrt(np.mean(np.sum((o - middle[group]) ** 2, axis=1))))


def searched_coordinates(topology: Topology) -> np.ndarray:
    """Numbers of the coordinates that the search moves: all but those at zero in every working point."""
    t = topology
    searched = np.ones(t.size, dtype=bool)
    for kind in t.kinds:
        obj = t.elements[kind.members[0]].obj
        names, resting = obj.coordinate_names, obj.resting
        if resting:
            searched[6 * (t.units - 1) + kind.internal[:, [names.index(name) for name in resting]]] = False
    return np.flatnonzero(searched)


def load_scale(load: np.ndarray, scale: np.ndarray, bodies: int) -> np.ndarray:
    """The load (n,) that each coordinate's balance is measured by: forces by body, torques by force times arm too.

    ``load`` (n,) is the sum of absolute forces on each coordinate, ``scale`` (n,) that of :func:`coordinate_scale`.  What carries
    next to nothing beside the rest is balanced however little it carries.
    """
    return load_sizes(load, scale, bodies, _LEAST_FORCE, _LEAST_LOAD)


def force_rounding(
    assembly: Assembly,
    at: Configuration,
    scale: np.ndarray,
    multipliers: np.ndarray,
    factors: tuple[float, float] = (1.0, 1.0),
) -> np.ndarray:
    """By how much each force (n,) may be off by rounding of positions and sums; ``factors`` are strength and load factor.

    Multipliers (m,) balance as well as they can, which spreads what is off in one coordinate over others: a projection, which
    makes no vector longer.  So it is with rounding of the reactions, which are found and then added up.
    """
    terms = assembly.force_terms(at, *factors)
    if not assembly.constraint_count:
        return SPACING * terms
    slopes = assembly.constraints(at)[1]
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
    """By how much each diagonal entry (n,) of a stiffness in scaled coordinates may be off by rounding.

    ``terms`` (n, n) are those that it is the sum of, at ``arms`` (bodies with the ground,), see :meth:`.stiffness_terms`;
    ``unbalanced`` (n,) forces and ``load`` (n,), the sum of absolute forces, are not scaled.
    """
    bodies, n = topology.units - 1, len(scale)
    turning = scale[: 6 * bodies].reshape(-1, 6)[:, 3]
    arm, load, reach = np.full(n, size), load / scale, arms[1:] / turning
    arm[: 6 * bodies] = np.repeat(turning, 6)
    if any(kind.cls.constrains() for kind in topology.kinds):  # which carry rounding to every body
        load, reach = np.full(n, load.max(initial=0.0)), np.maximum(reach, 1.0)
    noise = stiffness_noise(scaled_both(terms, 1.0 / scale), groups(bodies, n, 3))
    noise += force_noise(np.abs(unbalanced) / scale, load, bodies, arm, reach)
    # no less than the rounding of what rounds most: rounding of arms and directions comes in by its square
    return np.maximum(noise, EPS * noise.max(initial=0.0))


def total_force(loads: np.ndarray, bodies: int) -> float:
    """The sum (N) of all forces on bodies among the loads (n,) on coordinates."""
    return float(lengths(loads[: 6 * bodies].reshape(-1, 6)[:, :3]).sum())


def lengths(vectors: np.ndarray) -> np.ndarray:
    """Lengths (k,) of vectors (k, 3), of numbers whose squares are no numbers any more, too."""
    most = np.abs(vectors).max(initial=0.0)
    if not most > 0.0:
        return np.zeros(len(vectors))
    shares = vectors / most
    return most * np.sqrt(np.einsum("ij,ij->i", shares, shares))


def step_metric(topology: Topology, assembly: Assembly, scale: np.ndarray, size: float) -> np.ndarray:
    """Meters in a step for one unit of each coordinate (n,).

    With joints, bodies move far because others turn: counting turns by a share of the size of the whole makes steps straight
    in them, and restores joints by displacements rather than turns.
    """
    metric = scale.copy()
    if assembly.constraint_count:
        metric[: 6 * (topology.units - 1)].reshape(-1, 6)[:, 3:] = _ARM * size
    return metric


def reach(searched: np.ndarray, metric: np.ndarray, bodies: int, size: float) -> np.ndarray:
    """How far (m) a meter of a step along each of the ``searched`` coordinates (n searched,) moves something.

    Turns of bodies, whose coordinates come first, move what is as far off as the ``size`` of the model; ``metric`` (n searched,)
    is that of steps.
    """
    turning = (searched < 6 * bodies) & (searched % 6 >= 3)
    return np.where(turning, size / metric, 1.0)
