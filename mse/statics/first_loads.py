"""Where a curve of equilibria begins among those that its parameter does not hold yet: a pendulum without its weight.

Without loads a pendulum is in equilibrium wherever it swings, and a mechanism in every position: motions along which nothing
is stiff lead from one equilibrium to the next.  The least load leaves but few of these, as that of a pendulum which hangs
straight.  A curve of loaded equilibria ends, for loads that go to zero, where they do no work along any free motion.

Of all equilibria at the beginning this is the one in which the work of a unit of the parameter, as a function of the free
motions, is least.  The slope of the work is the push along them.  Its curvature contains the geometric stiffness of what
the parameter strains, so it is taken from how the stiffness changes with the parameter and with the strain that comes with it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..errors import ModelError
from ..model.configuration import State
from ..numerics.eigen import eigen
from .curve_equations import COARSELY_AT_REST, DIFFERENCE, PUSHED, Equations, Family, Lost, Place, is_last
from .scales import STRAIGHT

# Of a step: motions that lead to no equilibrium that far have stiffness of a higher order.  With a hundredth
# tests/statics/test_first_loads.py::test_a_line_that_is_straight_without_loads_is_followed_from_its_working_point fails, with
# four hundred times test_a_mast_that_tips_under_the_least_load_is_not_passed there.
_SHORTEST = 1e-3
_MOST = 100  # steps, over 30 sizes of the model: a body that nothing keeps from falling goes on


def settled(family: Family, to: float, *, near: bool) -> State | None:
    """The state in which the curve of a family towards ``to`` begins, from its start along what is free there.

    The start itself where the parameter pushes no free motion; None where they lead to no such equilibrium.  ``near``: only
    where the start is in the bowl of that equilibrium, so that the push gives stiffness to all that it moves.
    """
    equations = Equations(family, to)
    place = equations.begin()
    try:
        here = _Equilibrium(equations, place)
        if not here.is_pushed:
            return family.start
        if not place.merit.topology.conservative or (near and not here.is_in_bowl):
            return None
        return _lowest(equations, here)
    # no equilibrium that far, parameters out of bounds, equations without a solution
    except (Lost, ModelError, RuntimeError):
        return None


def _lowest(equations: Equations, here: _Equilibrium) -> State | None:
    """The state, from an equilibrium downhill along what is free, in which nothing pushes any more; None where there is none."""
    last = np.inf
    for _ in range(_MOST):
        step = here.downhill()
        length = equations.farthest(here.free @ step)
        if is_last(length, length, last, equations.size):
            return here.place.state
        here, last = here.beyond(step), length
    return None


class _Equilibrium:
    """An equilibrium at the beginning of a curve, among those to which its ``free`` motions (n, f), orthonormal, lead.

    Per unit of the parameter towards the end of the curve, ``slope`` (f,) is that of the work along them and ``load`` the
    largest force.
    """

    def __init__(self, equations: Equations, place: Place):
        self.equations, self.place = equations, place
        self.free = np.linalg.qr(equations.free_at(place).toarray())[0]
        equations.standing = equations.standing[0], sp.csc_matrix(self.free)
        holding, load, unit = equations.holding(place, equations.standing[1])
        self.slope, self.load = -equations.side * unit * holding, unit * load

    @property
    def is_pushed(self) -> bool:
        """Whether the parameter does work along what is free."""
        return bool(np.abs(self.slope).max(initial=0.0) > PUSHED * self.load)

    @property
    def is_in_bowl(self) -> bool:
        """Whether the work bends upwards along all that is pushed."""
        _, slope, _, held = self._bends
        return bool(np.all(held[np.abs(slope) > PUSHED * self.load]))

    @cached_property
    def _bends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Curvatures (f,) of the work, the slopes along their motions, these (f, f), and which are clearly positive."""
        w, v = eigen(self._curvature())
        return w, v.T @ self.slope, v, w > DIFFERENCE * self.load / self.equations.size

    def _curvature(self) -> np.ndarray:
        """The second derivative (f, f) of the work along what is free."""
        equations, place = self.equations, self.place
        strain = equations.side / place.slope * place.ahead
        far = equations.farthest(strain)
        change = DIFFERENCE * min(equations.range, equations.size / far if far > 0.0 else np.inf)
        merit = equations.family.at(place.value + equations.side * change)
        after = merit.evaluate(place.merit.moved(place.state, change * strain), 2)
        bends = self.free.T @ ((merit.scaled(after)[0] - place.merit.scaled(place.point)[0]) @ self.free) / change
        if not np.all(np.isfinite(bends)):
            raise Lost
        return 0.5 * (bends + bends.T)

    def downhill(self) -> np.ndarray:
        """A step (f,) along what is free: Newton's, turned downhill where the work bends downwards, and not too long."""
        w, slope, v, held = self._bends
        longest = STRAIGHT * self.equations.size
        moving = held | (np.abs(slope) > PUSHED * self.load)
        stiffness = np.maximum(np.abs(w), np.linalg.norm(slope) / longest)
        return v @ np.divide(-slope, stiffness, out=np.zeros(len(w)), where=moving & (stiffness > 0.0))

    def beyond(self, step: np.ndarray) -> _Equilibrium:
        """The equilibrium that a step leads to, or as much of it as does work; :class:`Lost` where hardly any does."""
        equations, place, standing = self.equations, self.place, self.equations.standing
        none = np.zeros(len(place.ahead))
        share = 1.0
        while share > _SHORTEST:
            way = share * (self.free @ step)
            equations.standing = standing
            try:
                # at the same value of the parameter, and back to balance by what is stiff alone
                found, _, _ = equations.corrected(place, way, 0.0, (none, 1.0), (place.ahead, place.slope))
                there = _Equilibrium(equations, found)
            except Lost:
                share *= 0.25
                continue
            done = (share * self.slope) @ step + there.slope @ (there.free.T @ way)  # by the mean of both slopes, twice
            if done < 0.0 or equations.farthest(way) <= COARSELY_AT_REST * equations.size:
                return there
            share *= 0.5
        raise Lost
