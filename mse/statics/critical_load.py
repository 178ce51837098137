"""The first instability of a loaded system: buckling, snapping through, tipping over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..display import Table
from ..errors import Interrupted, ModelError, WorkingPointError
from ..model.configuration import Configuration
from ..numerics.blas_threads import one_thread
from ..progress.tasks import Show, Task
from ..results import Result
from ..validation.arguments import LARGEST, number
from .continuation import FIRST, Curve
from .curve_equations import Lost
from .first_loads import settled
from .stability import Motion
from .tracing import ParameterFamily
from .working_point import WorkingPoint

if TYPE_CHECKING:
    from ..model.system import MSystem

_MOST = 1000  # equilibria on the way
_NAMED = 4  # motions in a message
_KINDS = {"limit point": "limit point", "branch point": "bifurcation"}


class Instability(Result):
    """The load factor at which a system first becomes unstable; made by :meth:`.MSystem.find_instability`.

    Attributes
    ----------
    name : str
        Name of the system.
    max_load_factor : float
        Largest factor on the loads that was searched.
    working_point : WorkingPoint
        The last stable one before the instability; without an instability the one at ``max_load_factor``.
    load_factor : float or None
        Factor on the loads at the instability; None if the system is stable up to ``max_load_factor``.
    kind : str or None
        "bifurcation": another branch begins there (a straight column); "limit point": the loads have their maximum there (a
        shallow arch).
    motion : Motion or None
        The motion that loses its stiffness.

    Examples
    --------
    >>> stage = mse.MSystem("stage")
    >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
    >>> bool(stage.find_instability(max_load_factor=10.0))
    False
    """

    name: str
    max_load_factor: float
    working_point: WorkingPoint
    load_factor: float | None = None
    kind: str | None = None
    motion: Motion | None = None

    @property
    def found(self) -> bool:
        """Whether there is an instability up to ``max_load_factor``."""
        return self.load_factor is not None

    def __bool__(self) -> bool:
        return self.found

    def table(self) -> Table:
        if not self.found:
            return Table(
                f"{self.name}: stable up to {self.max_load_factor:.9g} times its loads, the largest load factor that was tried"
            )
        return Table(
            f"{self.name}: unstable from {self.load_factor:.9g} times its loads on, a {self.kind}; it gives way along "
            f"{self.motion.name}"
        )


@one_thread
def find_instability(system: MSystem, max_load_factor: float, progress: Show = True) -> Instability:
    """See :meth:`MSystem.find_instability`."""
    max_load_factor = number(system.label, "max_load_factor", max_load_factor, above=0.0)
    with Task(system.name, "looking for an instability", unit="points", show=progress) as task:
        return task.finished(_followed(system, max_load_factor, task))


def _followed(system: MSystem, max_load_factor: float, task: Task) -> Instability:
    unloaded = system.find_working_point(seek="nearest", load_factor=0.0, throw=False)
    for el in unloaded._topology.elements:
        if el.obj.without_energy:
            raise ModelError(
                f"{el.obj.label}: it exerts forces without an energy, so stability cannot be read from the stiffness; expected "
                "loads with an energy"
            )
    _refuse_loads(unloaded, system, max_load_factor)
    curve = _from_no_load(system, unloaded, max_load_factor) or _from_working_point(system, unloaded, max_load_factor)
    while (here := curve.places[-1]).value < max_load_factor:
        try:
            task.tell(len(curve.places), "stable up to %.4g times its loads", here.value)
            events = curve.advance()
        except Lost:
            raise WorkingPointError(_lost(system, here.value), curve.working_point(here)) from None
        except KeyboardInterrupt:
            so_far = Instability(system.name, here.value, curve.working_point(here))
            raise Interrupted(
                f"{system.name}: interrupted; stable up to {here.value:.9g} times its loads, see the result of this error",
                so_far,
            ) from None
        if events:
            first = events[0]
            stable = curve.working_point(here)
            return Instability(system.name, max_load_factor, stable, first.value, _KINDS[first.kind], first.motion)
        if len(curve.places) > _MOST:
            raise WorkingPointError(_lost(system, here.value, f"in {_MOST} steps"), curve.working_point(here))
    return Instability(system.name, max_load_factor, curve.working_point(here))


def _from_no_load(system: MSystem, unloaded: WorkingPoint, max_load_factor: float) -> Curve | None:
    """The curve from no load on; None if the equilibrium near the initial poses without loads is no stable beginning of one."""
    if not unloaded.stable:
        return None
    family = ParameterFamily(system, "load_factor", unloaded)
    start = settled(family, max_load_factor, near=False)
    if start is None:
        return None
    moved, family.start = start is not family.start, start
    curve = _upwards(family, max_load_factor)
    return None if moved and curve.places[0].negative_motions.shape[1] else curve


def _from_working_point(system: MSystem, unloaded: WorkingPoint, max_load_factor: float) -> Curve:
    """The curve from a stable equilibrium under loads, if it leads back to no load without an instability.

    Any load will do, since the curve is followed both ways.  WorkingPointError if there is no such curve.
    """
    loaded = system.find_working_point(load_factor=1.0 if max_load_factor > 1.0 else 0.5 * max_load_factor, throw=False)
    if not loaded.stable:
        far = f"there is no stable working point under loads either: {loaded.reason}"
        raise WorkingPointError(_no_beginning(system, unloaded, far), unloaded)
    back = Curve(ParameterFamily(system, "load_factor", loaded), 0.0)
    try:
        while (here := back.places[-1]).value > 0.0:
            if events := back.advance():
                far = f"under loads it is stable only down to {events[0].value:.9g} times its loads"
                raise WorkingPointError(_no_beginning(system, unloaded, far), unloaded)
            if len(back.places) > _MOST:
                raise Lost
    except Lost:
        far = f"starting under loads, its equilibrium could be followed only down to {here.value:.9g} times its loads"
        raise WorkingPointError(_no_beginning(system, unloaded, far), unloaded) from None
    return _upwards(ParameterFamily(system, "load_factor", loaded), max_load_factor)


def _upwards(family: ParameterFamily, max_load_factor: float) -> Curve:
    """The curve to larger loads; its first step is a fraction of the present loads, however far it may go.

    A first step that is a fraction of ``max_load_factor`` may jump across a snap-through.
    """
    return Curve(family, max_load_factor, first=FIRST * min(1.0, 1.0 / max_load_factor))


def _no_beginning(system: MSystem, unloaded: WorkingPoint, far: str) -> str:
    """Why no curve begins without loads; ``far`` says how the curve from the working point under loads ended."""
    if not unloaded.converged:
        without = f"no equilibrium was found without loads: {unloaded.reason}"
    elif unloaded.unstable:
        without = f"unstable even without loads, along {unloaded.unstable[0].name}"
    else:
        free = unloaded.free.named(_NAMED)
        without = f"its loads push along motions that nothing holds without them ({free}), and lead to no equilibrium"
    return f"{system.label}: {without}; {far}; expected a system that is stable without loads and under small ones"


def _lost(system: MSystem, load_factor: float, how: str = "") -> str:
    return (
        f"{system.label}: its equilibrium was followed up to {load_factor:.9g} times its loads, and was stable so far, but no "
        f"further{how and ' ' + how}: the curve ends there or bends too sharply; trace('load_factor', ...) shows it up to there"
    )


def _refuse_loads(unloaded: WorkingPoint, system: MSystem, max_load_factor: float) -> None:
    """Raise ModelError if there are no loads, or if they grow beyond ``LARGEST``."""
    loads = unloaded._assembly.loads(Configuration.of(unloaded._topology, unloaded.state))
    largest = float(np.abs(loads).max(initial=0.0))
    if largest == 0.0:
        raise ModelError(
            f"{system.label}: no weight and no load acts on anything that can move, so there is nothing to multiply; expected "
            "gravity or a Load; to change a preload or another parameter, use trace('object.parameter', target)"
        )
    if not largest * max_load_factor <= LARGEST:
        raise ModelError(
            f"{system.label}: max_load_factor is {max_load_factor!r} times loads of up to {largest:.3g} (N or N m); "
            f"expected at most {LARGEST:g} N or N m in all; give a smaller max_load_factor"
        )
