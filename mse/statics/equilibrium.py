"""Whether a point is an equilibrium to double precision: all tolerances of that question.

A point is in equilibrium if each coordinate balances to a fraction of the loads there, or to the rounding of positions and sums
in its forces (:func:`balanced`).  A search refines it as long as that helps.  It ends if Newton's step moves nothing, or if each
force is rounding (:func:`at_rounding`).
"""

from __future__ import annotations

import numpy as np

from ..kernels.jit import writable
from ..kernels.sizes import moved_by_positions
from ..numerics.precision import NOTHING
from ..numerics.sparse_tools import row_sizes
from ..numerics.trust_region import Step
from .merit_function import MeritFunction, Point, kept_by_point
from .scales import SPACING

# Of the loads that balance: forces are good to at least ten digits.  Newton's method converges quadratically: one step leads from
# 1e-5 to here, the next one to rounding.  With a hundred times of it
# tests/statics/test_search.py::test_equilibrium_is_a_balance_to_a_share_of_the_loads fails; with less, rounding decides.
RESIDUAL = 1e-10
# Of the sum of all roundings of a force, since their signs differ.  After five more steps, the worst coordinate of 50 hanging
# systems is off by 0.16 of the sum in the median and 0.54 at most; of 60 linkages by 0.10 and 0.70.  With a tenth
# tests/test_complexity.py::test_short_chains_are_found_and_changed_in_few_evaluations fails, with ten times of it
# tests/statics/test_equilibrium.py::test_forces_balance_to_rounding_after_the_way_back_along_free_motions.
_SHARE = 0.5
# Relative to loads: counts as rounding if the real rounding would take long to compute.
EXACT = 2.0 * SPACING
# Newton steps after equilibrium is reached, as long as each halves the residual: one or two if convergence is quadratic.
POLISHING_STEPS = 4
# After so many points in equilibrium with negative curvature, stability is analyzed: rounding of the reactions of heavy bodies
# can bend the energy of light ones downwards (tests/statics/test_stiff_trees.py::test_search_ends_where_only_rounding_falls).
MOST_DOUBTS = 2
# If no step improves anything any more, the search has arrived at this residual: springs of 1e9 N/m between bodies of grams
# balance to 1e-7 only (tests/statics/test_stiff_trees.py::test_search_ends_where_no_better_balance_is_left, which passes with a
# ten-thousandth and ten thousand times of it).
STALLED = 1e-5
# Of the model: a step this short ends a search even if it would balance forces.  With five times of it
# tests/statics/test_equilibrium.py::test_compliance_of_a_torsion_pendulum_is_that_of_its_wire fails, with a tenth
# tests/test_complexity.py::test_short_chains_are_found_and_changed_in_few_evaluations.
NEAR_REST = 1e-13
# Times the rounding of a force: a larger residual is balanced by steps longer than NEAR_REST.  With a hundred times of it the
# same test of a torsion pendulum fails, with a tenth tests/test_kagra.py::test_updates_of_all_lengths_are_few_evaluations.
_NEARLY = 10.0
# Of the largest position: a smaller trust region holds no other position of that size.
LEAST_RADIUS = SPACING


@kept_by_point
def balances_loads(merit: MeritFunction, point: Point) -> bool:
    """Whether every coordinate balances to a fraction of the loads there."""
    return bool((np.abs(point.gradient) <= RESIDUAL * merit.balancing(point)).all())


@kept_by_point
def balanced(merit: MeritFunction, point: Point) -> bool:
    """Whether every coordinate balances as well as positions in double precision allow."""
    left = np.abs(point.gradient)
    enough = RESIDUAL * merit.balancing(point)
    beside_loads = balances_loads(merit, point)
    if not beside_loads and np.abs(merit.scaled(point)[1]).max(initial=0.0) > _most_rounding(merit, point):
        return False
    if merit.bears_nothing(point):
        return bool(np.all(left <= merit.force_rounding(point)))
    if beside_loads:
        return True
    # rounding within elements takes longer to compute than their forces
    return bool(np.all(left <= enough + position_rounding(merit, point))) or bool(
        np.all(left <= enough + merit.force_rounding(point))
    )


@kept_by_point
def position_rounding(merit: MeritFunction, point: Point) -> np.ndarray:
    """Rounding of each force (n,) from rounding of the positions of bodies, by the known stiffness.

    The largest coordinate of a body sets the rounding of all its coordinates, since arms along all axes were added to them.
    """
    k, state = point.stiffness.tocsc(), point.state
    return SPACING * moved_by_positions(writable(state.o[1:]), writable(state.q), writable(k.data), k.indices, k.indptr)


@kept_by_point
def rounding_left(merit: MeritFunction, point: Point) -> np.ndarray | None:
    """Scaled forces (n searched,) that rounding may leave out of balance; None if they would take long to compute.

    Positions and sums are rounded.  Constraints take up a part of that, but rounding of their reactions reaches all coordinates,
    because a projection is good to eps of the length of its vector.
    """
    moved = position_rounding(merit, point)[merit.searched] / merit.metric
    if point.tangent is None:
        return _SHARE * (moved + SPACING * point.load[merit.searched] / merit.metric)
    along = point.tangent.left_of(moved)
    if along is None:
        return None
    reactions = 2.0 * SPACING * np.linalg.norm(point.load[merit.searched] / merit.scale[merit.searched])
    return _SHARE * (along + reactions * merit.scale[merit.searched] / merit.metric)


def beyond_rounding(merit: MeritFunction, point: Point, known: Point | None = None) -> float:
    """The largest ratio of a residual to its own rounding, there or at a ``known`` point; 1 if all residuals are rounding.

    Each residual has its own rounding, because the rounding of a stiff coordinate would hide a soft one out of balance.
    """
    left, rounding = np.abs(merit.pull(point)), rounding_left(merit, known or point)
    if rounding is None:
        return merit.residual(point)[0] / EXACT
    pushed = left != 0.0
    with np.errstate(divide="ignore", over="ignore"):
        return float((left[pushed] / rounding[pushed]).max(initial=1.0))


def _most_rounding(merit: MeritFunction, point: Point) -> float:
    """Bound on the rounding of scaled forces: all positions, the ground's too, are off by the spacing of the largest one."""
    k = merit.scaled(point)[0]
    # a turn has the rounding of orientations, whose size is 1, and so have internal coordinates in meters; bodies come first
    first = 6 * (merit.topology.units - 1)
    inner = int(merit.searched.searchsorted(first)) if merit.topology.internal else first
    farthest = max(merit.farthest(point), merit.metric[:inner].max(initial=0.0))
    if inner < len(merit.searched):
        measure, held = merit.metric[inner:], np.abs(point.state.q[merit.searched[inner:] - first])
        farthest = max(farthest, np.where(measure == 1.0, 1.0, held * measure).max())
    return 2.0 * SPACING * farthest * float(row_sizes(k).max(initial=0.0))


def at_rounding(merit: MeritFunction, point: Point, step: Step) -> bool:
    """Whether a step from a point would move nothing but rounding, or each residual there is rounding.

    If the largest residual, relative to its load, is rounding, a smaller force may exceed its own rounding up to ten times, or by
    more if the step that would balance it is below 1e-13 of the model (``NEAR_REST``).  A soft coordinate ends a step with the
    rounding of the forces at its start: a chain that is drawn straight would take three more evaluations to untwist its first
    body by 1e-13 rad.  But a moment that is left bends soft parts: 2e-10 N m took 4e-6 off the torsional stiffness of a wire that
    bears 34 kg.

    With constraints each coordinate has rounding of all others, so only the step shows a residual; a turn moves bodies that hang
    on joints by the size of the model.
    """
    moved = np.abs(step.p)
    if point.tangent is not None:
        moved = moved * merit.measure.reach
    o, q = np.abs(point.state.o[1:]), np.abs(point.state.q)
    place = o.max(axis=1, initial=0.0).repeat(6)
    place = np.concatenate([place, q * merit.scale[len(place) :]])[merit.searched]
    if np.all(moved <= 2.0 * SPACING * place):
        return True
    beyond, rounding, farthest = beyond_rounding(merit, point), rounding_left(merit, point), moved.max(initial=0.0)
    if point.tangent is None and beyond <= 1.0:
        return True
    if rounding is None or farthest > NOTHING * merit.outermost:
        return False
    if farthest > NEAR_REST * merit.outermost and beyond > _NEARLY:
        return False
    most = float((rounding * merit.metric / merit.load_scale(point)[merit.searched]).max(initial=0.0))
    return merit.residual(point)[0] <= most


def imbalance(merit: MeritFunction, point: Point) -> float:
    """The largest unbalanced force over the largest load."""
    loads = merit.load_scale(point) / merit.scale
    return float(np.abs(point.gradient / merit.scale).max(initial=0.0)) / (float(loads.max(initial=0.0)) or 1.0)


@kept_by_point
def coarseness(merit: MeritFunction, point: Point) -> float:
    """The imbalance that rounding has left at an equilibrium; 0 without a load to compare it with."""
    return imbalance(merit, point) if merit.is_loaded else 0.0
