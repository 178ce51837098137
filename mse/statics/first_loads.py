"""Where a curve of equilibria begins if only its loads hold the system in place: a pendulum without its weight.

Without loads a pendulum is in equilibrium in any position, and so is a mechanism: motions without stiffness lead from one
equilibrium to the next.  Any load leaves only a few of these; a pendulum hangs straight.  If the loads of a curve go to zero, it
ends in an equilibrium in which they do no work along any free motion.

Of all equilibria without loads, this is the one with the least work of a unit of the parameter, as a function of the free
motions.  The slope of the work is the push along them.  Its curvature contains the geometric stiffness of parts that the
parameter strains.  So it is taken from the change of the stiffness with the parameter, including the strain that the parameter
causes.
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

# Of a step: motions along which no equilibrium is that far away have stiffness of a higher order.  With a hundredth
# tests/statics/test_first_loads.py::test_a_line_that_is_straight_without_loads_is_followed_from_its_working_point fails, with
# four hundred times test_a_mast_that_tips_under_the_least_load_is_not_passed there.
_SHORTEST = 1e-3
_MOST = 100  # steps, more than 30 sizes of the model: a body that nothing holds falls on


def settled(family: Family, to: float, *, near: bool) -> State | None:
    """The state in which the curve towards ``to`` begins, found from the family's start along its free motions.

    If the parameter pushes no free motion, it is the start; None if no such equilibrium is found.  ``near``: the start must be in
    the bowl of that equilibrium, so that the push gives stiffness to all motions that it pushes.
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
    """The state, downhill from an equilibrium along free motions, in which nothing pushes any more; None if there is none."""
    last = np.inf
    for _ in range(_MOST):
        step = here.downhill()
        length = equations.farthest(here.free @ step)
        if is_last(length, length, last, equations.size):
            return here.place.state
        here, last = here.beyond(step), length
    return None


class _Equilibrium:
    """An equilibrium at the beginning of a curve; its ``free`` motions (n, f), orthonormal, lead to others.

    Per unit of the parameter towards the end of the curve, ``slope`` (f,) is the slope of the work along these motions and
    ``load`` the largest force.
    """

    def __init__(self, equations: Equations, place: Place):
        self.equations, self.place = equations, place
        self.free = np.linalg.qr(equations.free_at(place).toarray())[0]
        equations.standing = equations.standing[0], sp.csc_matrix(self.free)
        holding, load, unit = equations.holding(place, equations.standing[1])
        self.slope, self.load = -equations.side * unit * holding, unit * load

    @property
    def is_pushed(self) -> bool:
        """Whether the parameter does work along a free motion."""
        return bool(np.abs(self.slope).max(initial=0.0) > PUSHED * self.load)

    @property
    def is_in_bowl(self) -> bool:
        """Whether the work bends upwards along all motions that are pushed."""
        _, slope, _, held = self._bends
        return bool(np.all(held[np.abs(slope) > PUSHED * self.load]))

    @cached_property
    def _bends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Curvatures (f,) of the work, slopes along their motions, the motions (f, f), and which are clearly positive."""
        w, v = eigen(self._curvature())
        return w, v.T @ self.slope, v, w > DIFFERENCE * self.load / self.equations.size

    def _curvature(self) -> np.ndarray:
        """The second derivative (f, f) of the work along free motions."""
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
        """A step (f,) along free motions: Newton's, turned downhill along motions with negative curvature, and not too long."""
        w, slope, v, held = self._bends
        longest = STRAIGHT * self.equations.size
        moving = held | (np.abs(slope) > PUSHED * self.load)
        stiffness = np.maximum(np.abs(w), np.linalg.norm(slope) / longest)
        return v @ np.divide(-slope, stiffness, out=np.zeros(len(w)), where=moving & (stiffness > 0.0))

    def beyond(self, step: np.ndarray) -> _Equilibrium:
        """The equilibrium after a step, or after the part of it that does work; :class:`Lost` if hardly any part does."""
        equations, place, standing = self.equations, self.place, self.equations.standing
        none = np.zeros(len(place.ahead))
        share = 1.0
        while share > _SHORTEST:
            way = share * (self.free @ step)
            equations.standing = standing
            try:
                # at the same value of the parameter; only stiff motions balance
                found, _, _ = equations.corrected(place, way, 0.0, (none, 1.0), (place.ahead, place.slope))
                there = _Equilibrium(equations, found)
            except Lost:
                share *= 0.25
                continue
            done = (share * self.slope) @ step + there.slope @ (there.free.T @ way)  # twice the work, by both slopes
            if done < 0.0 or equations.farthest(way) <= COARSELY_AT_REST * equations.size:
                return there
            share *= 0.5
        raise Lost
