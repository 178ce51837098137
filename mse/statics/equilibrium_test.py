"""Whether a point is an equilibrium to double precision: all tolerances of that question.

A point is in equilibrium where each coordinate balances to a share of the loads that balance there, or to what forces change
by when positions are rounded (:func:`balanced`).  Where neither is reached, a search still ends where Newton's step moves
nothing (:func:`at_rounding`), or where for many steps nothing has become any better (:class:`Progress`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.sparse_tools import absolute_product
from ..numerics.trust_region import Step
from .merit_function import MeritFunction, Point

# Share of the loads that balance: forces are good to ten digits at least.  Newton's method converges quadratically, so one
# step leads here from 1e-5 and on to rounding.
RESIDUAL = 1e-10
# Relative spacing of the numbers that hold a position: about 2 eps, as steps are added to it.
_POSITION_ROUNDING = 4e-16
# A step of less than 4 eps of a position moves it by its own rounding.
_NO_STEP = 1e-15
# Share of the change of forces, with all positions off by their spacing, that is left where rounding is all there is: signs
# differ, so it is less than the sum.  Measured on chains of 6 to 400 stages: with it updates take two steps
# (tests/test_complexity.py::test_small_changes_take_two_steps_each).
_ROUNDING_SHARE = 0.16
# Beside constraints, loads within two digits of the rounding that reactions carry there are rounding themselves.
_FEW = 100.0
# Residuals that rounding may leave: half of all digits of forces are worth a warning, three digits are no result.  Where a
# spring comes to these: tests/statics/test_statics.py::test_stiffness_beyond_the_digits_of_positions_is_said.
COARSE, TOO_COARSE = 1e-6, 1e-3
# Residual, 4 eps, that no further step improves.
EXACT = 1e-15
# Newton steps once equilibrium is reached, as long as each halves the residual: one or two where convergence is quadratic.
POLISHING_STEPS = 4
# Points in equilibrium at which the energy still decreases, before stability is analyzed: rounding of heavy bodies' reactions
# bends motions of light ones downwards (tests/statics/test_stiff_trees.py::test_search_ends_where_only_rounding_falls).
MOST_DOUBTS = 2
# Steps without a better balance, and the residual at which they mean that there is none: springs of 1e9 N/m beside grams
# balance to 1e-7 only (tests/statics/test_stiff_trees.py::test_search_ends_where_no_better_balance_is_left).
_STAGNANT_STEPS, STALLED = 15, 1e-5
# Of the model's size: trust regions below it, half a hundred eps, hold no other position.
LEAST_RADIUS = 1e-14


def balanced(merit: MeritFunction, point: Point) -> bool:
    """Whether every coordinate balances, as far as positions in double precision can."""
    load = merit.load_scale(point.load)
    if np.all(np.abs(point.gradient) <= RESIDUAL * load):
        return True
    rounding = force_rounding(point)
    if point.tangent is not None:
        # constraints carry rounding to coordinates with hardly any force
        carried = merit.scale * (rounding / merit.scale).max(initial=0.0)
        rounding = np.where(load <= _FEW * carried, np.maximum(rounding, carried), rounding)
    return bool(np.all(np.abs(point.gradient) <= RESIDUAL * load + rounding))


def force_rounding(point: Point) -> np.ndarray:
    """By how much each force (n,) may change when all positions are off by their spacing."""
    o = point.state.o[1:]
    place = np.concatenate([np.hstack([o, np.ones_like(o)]).ravel(), point.state.q])
    return _POSITION_ROUNDING * absolute_product(point.stiffness.tocsc(), np.abs(place))


def at_rounding(merit: MeritFunction, point: Point, step: Step, residual: float) -> bool:
    """Whether rounding of positions is all that a step from a point would move, or that its forces are off by."""
    place = np.repeat(np.abs(point.state.o[1:]).max(axis=1, initial=0.0), 6)
    place = np.concatenate([place, np.abs(point.state.q) * merit.scale[len(place) :]])[merit.searched]
    if np.all(np.abs(step.p) <= _NO_STEP * place):
        return True
    if point.tangent is not None:  # constraints carry rounding to coordinates with hardly any force
        return False
    worst = (force_rounding(point) / merit.load_scale(point.load)).max(initial=0.0)
    return residual <= _ROUNDING_SHARE * float(worst)


def imbalance(merit: MeritFunction, point: Point) -> float:
    """The largest unbalanced force over the largest load."""
    loads = merit.load_scale(point.load) / merit.scale
    return float(np.abs(point.gradient / merit.scale).max(initial=0.0)) / (float(loads.max(initial=0.0)) or 1.0)


def coarseness(merit: MeritFunction, point: Point) -> float:
    """The imbalance that rounding has left at an equilibrium; 0 where there is no load to compare it with."""
    return imbalance(merit, point) if merit.is_loaded else 0.0


class Progress(NamedTuple):
    """The last step at which energies decided, or the ``residual`` was less than half of the one before."""

    residual: float
    number: int

    def after(self, number: int, residual: float, foreseen: float, noise: float) -> Progress:
        """The same at a later step, with the predicted decrease of the energy and the rounding of energies."""
        return Progress(residual, number) if foreseen > 8 * noise or residual < 0.5 * self.residual else self

    def is_over(self, number: int, residual: float) -> bool:
        """Whether the residual at a step is rounding: no progress in energy or residual for many steps."""
        return residual <= STALLED and number - self.number >= _STAGNANT_STEPS
