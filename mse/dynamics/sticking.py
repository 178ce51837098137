"""Laws of velocities that jump at zero, such as Coulomb's friction, in a motion that comes to rest there.

A step across such a jump is short, and the next ones grow again.  What sticks stays at the jump, where its force would have to
lie between both values, and all steps stay short.
"""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from .accelerations import Equations
from .moments import Moment, Step

# Of the longest step so far, and how many in a row: shorter ones do not pass a jump but stay at it.  With half and with twice of
# each tests/dynamics/test_sticking.py passes.
_SHORT, _IN_A_ROW = 1e-2, 100
# Of the largest speed so far: slower is at rest.  With a tenth and ten times of it tests/dynamics/test_sticking.py passes.
_REST = 1e-3
# Factor on velocities, by which forces change if laws do not jump at zero, and their share that may be left.  With a hundredth
# and a hundred times of the first tests/dynamics/test_sticking.py passes.
_SLOWER, _LEFT = 1e-6, 0.5


class Sticking:
    """Looks at laws of velocities in a run if its steps stay short."""

    def __init__(self, equations: Equations):
        self._equations = equations
        self._parts = [p for p in equations.parts if p.cls.defines("dissipation") or p.cls.defines("power")]
        self._longest, self._fastest, self._short = 0.0, 0.0, 0

    @property
    def looks(self) -> bool:
        """Whether there are such laws, for which every step is looked at."""
        return bool(self._parts)

    def refuse(self, step: Step) -> None:
        """Raise an error if something has come to rest at a jump of its law, and steps stay short."""
        if not self._parts:
            return
        h = step.end.time - step.begin.time
        self._longest = max(self._longest, h)
        self._fastest = max(self._fastest, self._speed(step.end.v))
        self._short = self._short + 1 if h < _SHORT * self._longest else 0
        if self._short >= _IN_A_ROW and (words := self.words(step.end)):
            raise ModelError(words)

    def _speed(self, v: np.ndarray) -> float:
        return float(np.abs(self._equations.measure.metric * v).max(initial=0.0))

    def words(self, moment: Moment) -> str:
        """In words: which law jumps at zero, where its velocities are now; "" for none."""
        e = self._equations
        if not self._parts or self._speed(moment.v) > _REST * self._fastest:
            return ""
        at = e.evaluation(moment.state, moment.time).configuration
        for part in self._parts:
            own = e._own(part.group, moment.v, e.frame_motions(at, moment.v)[0])
            slow, fast = (sum(part.velocity_forces(at, k * own)) for k in (_SLOWER, 1.0))
            back, fast_back = (sum(part.velocity_forces(at, -k * own)) for k in (_SLOWER, 1.0))
            near, far = slow - back, fast - fast_back
            jumps = np.abs(near).max(axis=1) > _LEFT * np.abs(far).max(axis=1)
            for k in np.flatnonzero(jumps & (np.abs(near).max(axis=1) > 0.0)):
                obj = part.group.elements[k].obj
                law = "dissipation" if part.cls.defines("dissipation") else "power"
                return (
                    f"{obj.label}: its law {law} jumps where its velocity is zero, by {np.abs(near[k]).max():.3g} N, and at "
                    f"t = {moment.time:.6g} s the motion comes to rest there, where a force between both would hold it; "
                    "expected forces that are smooth in velocities, such as F v/sqrt(v^2 + v0^2) with a small speed v0, of the "
                    "dissipation F sqrt(v^2 + v0^2); round the law off"
                )
        return ""
