"""The first instability of a loaded system: buckling, snapping through, tipping over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..display import Result
from ..errors import ModelError, WorkingPointError
from ..numerics.blas_threads import one_thread
from ..validation.arguments import LARGEST, number
from .continuation import Curve
from .curve_equations import Lost
from .scales import loads_on_coordinates
from .stability import Motion
from .tracing import ParameterFamily
from .working_point import WorkingPoint

if TYPE_CHECKING:
    from ..model.system import MSystem

_MOST = 1000  # equilibria on the way
_KINDS = {"limit point": "limit point", "branch point": "bifurcation"}


@dataclass(frozen=True, repr=False, eq=False)
class Instability(Result):
    """Where a system first becomes unstable as all its weights and loads grow together; see :meth:`MSystem.find_instability`.

    ``load_factor`` times the loads; ``kind`` is "bifurcation", where another branch begins (a straight column), or "limit
    point", where the loads have their maximum (a shallow arch); ``motion`` is how it gives way, ``working_point`` the last
    stable one before it.  Where the system is stable up to ``up_to`` times its loads, those three are None, ``found`` is
    False, and so is the result in an ``if``; ``working_point`` is then the one under ``up_to`` times the loads.
    """

    name: str
    up_to: float
    working_point: WorkingPoint
    load_factor: float | None = None
    kind: str | None = None
    motion: Motion | None = None

    @property
    def found(self) -> bool:
        """Whether there is an instability up to where it was looked for."""
        return self.load_factor is not None

    def __bool__(self) -> bool:
        return self.found

    def table(self) -> str:
        if not self.found:
            return f"{self.name}: stable up to {self.up_to:.9g} times its loads, which is as far as was looked"
        return (
            f"{self.name}: unstable from {self.load_factor:.9g} times its loads on, a {self.kind}; it gives way along "
            f"{self.motion.name}"
        )


@one_thread
def find_instability(system: MSystem, up_to: float) -> Instability:
    """See :meth:`MSystem.find_instability`."""
    up_to = number(system.label, "up_to", up_to, above=0.0)
    unloaded = system.find_working_point(seek="nearest", load=0.0)
    for el in unloaded._topology.elements:
        if not el.obj.conservative:
            raise ModelError(
                f"{el.obj.label}: it has no energy, so stability cannot be read from the stiffness; expected loads with one"
            )
    _refuse_loads(unloaded, system, up_to)
    if unloaded.unstable:
        raise WorkingPointError(
            f"{system.label}: unstable without any loads already, along {unloaded.unstable[0].name}; expected a system that is "
            "stable at rest", unloaded,
        )  # fmt: skip
    curve = Curve(ParameterFamily(system, "load", unloaded), up_to)
    while (here := curve.places[-1]).value < up_to:
        try:
            events = curve.advance()
        except Lost:
            raise WorkingPointError(_lost(system, here.value), curve.working_point(here)) from None
        if events:
            first = events[0]
            stable = curve.working_point(here)
            return Instability(system.name, up_to, stable, first.value, _KINDS[first.kind], first.motion)
        if len(curve.places) > _MOST:
            raise WorkingPointError(_lost(system, here.value, f"in {_MOST} steps"), curve.working_point(here))
    return Instability(system.name, up_to, curve.working_point(here))


def _lost(system: MSystem, load: float, how: str = "") -> str:
    return (
        f"{system.label}: its equilibrium was followed up to {load:.9g} times its loads, stable so far, and leads no further"
        f"{how and ' ' + how}: it ends there or turns too sharply; what trace('load', ...) shows up to there may tell why"
    )


def _refuse_loads(unloaded: WorkingPoint, system: MSystem, up_to: float) -> None:
    """Raise ModelError where no loads grow, or where they grow beyond what can be reckoned."""
    loads = loads_on_coordinates(unloaded._topology, unloaded._assembly, unloaded.state)
    most = float(np.abs(loads).max(initial=0.0))
    if most == 0.0:
        raise ModelError(
            f"{system.label}: no weight and no load acts on anything that can move, so there is nothing to multiply; expected "
            "gravity or a Load; to change a preload or another parameter, use trace('object.parameter', to)"
        )
    if not most * up_to <= LARGEST:
        raise ModelError(
            f"{system.label}: up_to is {up_to!r} times loads of up to {most:.3g} (N or N m); expected at most {LARGEST:g} "
            "N or N m in all; look less far"
        )
