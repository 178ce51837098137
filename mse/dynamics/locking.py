"""Prescribed motions that joints cannot follow further, such as an arm that is driven beyond its reach.

Speeds grow without limit there, and steps become shorter and shorter, so that it would take hundreds of them to come close.
Whether the poses exist at all is seen ahead, without steps: joints are put together for later values of the inputs.
"""

from __future__ import annotations

from contextlib import suppress

from ..errors import ModelError
from ..model.evaluation import Evaluation
from ..model.joint_assembly import OPEN, nearer, put_together
from .accelerations import Equations
from .moments import Moment, Step

# Joints are looked at when steps have become so much shorter than the longest since the last time, so many of them ahead, at so
# many times.  With half and twice of each tests/dynamics/test_locking.py passes.
_SHORTER, _FAR, _PARTS = 0.25, 1000.0, 16
# Of the longest step: with shorter ones a run ends if an input has a pole ahead, even far ahead.  With a tenth and three times
# of it tests/dynamics/test_locking.py passes.
_SHORT = 0.1
# Of the duration: nearer to where joints lock a run ends.  With a tenth and ten times of it
# tests/dynamics/test_locking.py passes.
_NEAR = 1e-3
_HALVINGS = 40  # of a time, until it is known to some rounding
_LISTED = 1e-3  # of the largest gap: joints and inputs with less are not what locks (tests/dynamics/test_locking.py)


class Locking:
    """Looks ahead in a run from ``first`` to ``last`` (s), if motions are prescribed in it."""

    def __init__(self, equations: Equations, first: float, last: float):
        self._equations, self._last = equations, last
        self._near = _NEAR * (last - first)
        self._longest = 0.0  # step (s) so far
        self._checked = 0.0  # the longest step (s) since joints were looked at, or the one at which they were

    def refuse(self, step: Step) -> None:
        """Raise an error if steps have become short, and joints lock soon behind the end of this one."""
        if not self._equations.inputs.motors:
            return
        h = step.end.time - step.begin.time
        self._longest = max(self._longest, h)
        if h > _SHORTER * self._checked:
            self._checked = max(self._checked, h)
            return
        self._checked = h
        # angles have room for any value, so that only steps become shorter: without end, as many as turns are left
        if h < _SHORT * self._longest and (pole := self._equations.inputs.pole(step.end.time, self._last)):
            raise ModelError(pole)
        words = self.words(step.end, min(_FAR * h, self._last - step.end.time))
        if words:
            raise ModelError(words)

    def refuse_pole(self, step: Step) -> None:
        """Raise an error if a prescribed motion has a pole within a step, as a long one may pass it."""
        inputs, (begin, end) = self._equations.inputs, (step.begin.time, min(step.end.time, self._last))
        if inputs.motors and inputs.peaks(begin, end) and (pole := inputs.pole(begin, end)):
            raise ModelError(pole)

    def words(self, moment: Moment, ahead: float = 0.0) -> str:
        """In words: where joints lock next to a moment, if they do within ``ahead`` (s), or as near as a run comes; else ""."""
        e = self._equations
        if not e.inputs.motors:
            return ""
        good, state = moment.time, moment.state
        end = moment.time + max(ahead, min(self._near, self._last - moment.time))
        for k in range(1, _PARTS + 1):
            later = moment.time + k / _PARTS * (end - moment.time)
            found = nearer(e.evaluation(state, later))
            if not _closed(found):
                break
            good, state = later, found.state
        else:
            return ""
        bad = later
        for _ in range(_HALVINGS):
            middle = 0.5 * (good + bad)
            found = nearer(e.evaluation(state, middle))
            if _closed(found):
                good, state = middle, found.state
            else:
                bad = middle
        if good - moment.time > self._near:
            return ""
        if pole := e.inputs.pole(moment.time, end):  # of which no joint comes near
            return pole
        after = e.evaluation(state, later)
        with suppress(ModelError):  # from other poses, too
            put_together(after)
            return ""
        return self._locked(good, nearer(after), later - good)

    def _locked(self, time: float, after: Evaluation, behind: float) -> str:
        inputs, gaps = self._equations.inputs, abs(after.distances[0])
        taking_part, rows = gaps > _LISTED * gaps.max(), inputs.motors
        moving = [name for name in rows if inputs.motion(name, time)[1]] or [*rows]
        driving = [name for name in moving if taking_part[rows[name]]] or moving
        others = gaps.copy()
        others[list(rows.values())] = 0.0
        k = int((others if others.max() > _LISTED * gaps.max() else gaps).argmax())
        joint = after.assembly.constraint_labels()[k]
        given = ", ".join(f"{name} = {inputs.motion(name, time)[0]:.6g}" for name in driving)
        return (
            f"{self._equations.topology.label}: joints lock at t = {time:.6g} s: inputs drive {given}, and {joint} cannot "
            f"follow: {behind:.3g} s later it is open by {abs(after.residual[k]):.3g} (m or rad); expected motions within reach; "
            "change the input, or lengths"
        )


def _closed(here: Evaluation) -> bool:
    return bool(abs(here.distances[0]).max() <= OPEN * here.measure.outermost)
