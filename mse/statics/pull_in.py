"""Pull-in: a voltage or a current at which plates, magnets and the like have no equilibrium any more.

Beyond some voltage the field of a transducer pulls more than any spring holds back.  If a search fails under sources, the same
system without them is searched, and the sources are raised from there by halving.  What is found last tells about the motion
along which the stiffness is lost, and which transducer has taken it away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..elements.circuits import CurrentSource, VoltageSource
from ..elements.coordinates import declared
from ..model.assembly import Assembly
from ..model.groups import Group
from ..model.topology import Topology
from ..model.variants import variant
from .working_point import WorkingPoint

# Of the sources: how close to the first failure the last equilibrium is sought
# (tests/statics/test_pull_in.py::test_plates_rest_right_below_pull_in_and_have_pulled_in_right_above).
_CLOSE = 1e-5
# Of the sources: so much less shows along which way the stiffness is lost; the curve is steep there, so that it is a share of
# the gap (tests/statics/test_pull_in.py::test_several_sources_and_the_transducer_that_pulls).
_SHORT = 1e-3
_BIASES = {VoltageSource: ("voltage", "V"), CurrentSource: ("current", "A")}

Again = Callable[[Topology, Assembly, WorkingPoint | None], WorkingPoint]


def pulled_in(failed: WorkingPoint, again: Again) -> str:
    """The message if sources are too strong for a transducer; or "".

    Parameters
    ----------
    failed : WorkingPoint
        The result of a failed search.
    again : callable
        Searches a variant of the system, from a working point or from its initial poses, without raising.
    """
    biases, groups = _sources(failed._topology), [g for g in failed._assembly.groups if _transduces(g)]
    if not biases or not groups:
        return ""

    def under(share: float, start: WorkingPoint | None) -> WorkingPoint | None:
        changed = {}
        for path, (key, value, _) in biases.items():
            changed[path] = failed._topology.source[path]._snapshot()
            changed[path].parameters[key] = share * value
        found = again(*variant(failed._topology, failed._assembly, changed), start)
        return found if found.converged and not found.branch_left else None

    first = last = under(0.0, None)
    reached, beyond = 0.0, 1.0
    while last is not None and beyond - reached > _CLOSE * beyond:
        middle = 0.5 * (reached + beyond)
        found = under(middle, last)
        if found is None:
            beyond = middle
        else:
            last, reached = found, middle
    # from afar, since nothing holds the system at the last one
    before = under((1.0 - _SHORT) * reached, first) if reached else None
    if before is None or not (taken := _taking_stiffness(groups, before, last)):
        return ""
    told = ", ".join(f"{value:g} {unit} of {path!r}" for path, (_, value, unit) in biases.items())
    if len(biases) == 1:
        ((_, value, unit),) = biases.values()
        at = f"{reached * value:.6g} {unit}"
    else:
        at = f"{reached:.5f} times these"
    return (
        f"{taken}: no equilibrium at {told}: pull-in, its field pulls more than stiffness holds back; the last one found is at "
        f"{at}; lower the voltage, make what holds it stiffer, or drive the charge instead, as by a capacitor in series"
    )


def _sources(topology: Topology) -> dict[str, tuple[str, float, str]]:
    """Parameter, value and unit of each voltage and current, by path."""
    found = {}
    for kind in topology.kinds:
        for k in kind.members if kind.cls in _BIASES else ():
            (key, unit), el = _BIASES[kind.cls], topology.elements[k]
            if value := el.obj.parameters[key]:
                found[el.path] = key, float(value), unit
    return found


def _transduces(g: Group) -> bool:
    """Whether an energy of elements couples charges to frames."""
    return bool(
        g.frames.shape[1]
        and (g.cls.defines("energy") or g.cls.defines("kinetic"))
        and any(c.domain == "electric" for c in declared(g.elements[0].obj))
    )


def _taking_stiffness(groups: list[Group], before: WorkingPoint, last: WorkingPoint) -> str:
    """The transducer that takes away most stiffness along the way between two working points; "" if none does."""
    (o0, u0), (o1, u1) = before.frame_poses, last.frame_poses
    turned = np.einsum("fij,fkj->fik", u1, u0)
    turned = 0.5 * (turned - turned.transpose(0, 2, 1))[:, (2, 0, 1), (1, 2, 0)]
    moved, charged = np.hstack([o1 - o0, turned]), last.state.q - before.state.q
    least, found = 0.0, ""
    for numbers in (g.number for g in groups):
        g = last._assembly.groups[numbers]
        way = np.hstack([moved[g.frames].reshape(len(g.members), -1), charged[g.internal]])
        stiffness = g.evaluate(last._configuration, 2, summed=True)[2][:, 0]
        work = np.einsum("ei,eij,ej->e", way, stiffness, way)
        if work.min() < least:
            least, found = float(work.min()), g.elements[int(work.argmin())].obj.label
    return found
