"""Who gives and takes energy in a motion: what each object stores, and the work of each input, damper and load, integrated along.

Powers are taken at Chebyshev's points of each step, and their polynomial is integrated, so that works are as exact as the steps
and do not depend on samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import chebyshev

from ..model.configuration import Configuration
from ..model.groups import Group
from ..numerics.precision import EPS
from .accelerations import Equations
from .moments import Moment, Step

# Points of a step at which powers are taken: their polynomial is exact to the order of the steps.  With two more
# tests/dynamics/test_ledger.py passes.
_POINTS = 9
# After a run the energies of so many samples and of the last are compared.  Each takes as long as five steps of a chain of ten
# links.  With two and six tests/dynamics/test_ledger.py passes.
_LOOKED = 3
# times rtol, of the energy that was exchanged: motions keep to some hundred times
# (tests/dynamics/test_ledger.py::test_a_law_that_jumps_is_noted)
_UNACCOUNTED = 1e3


def _velocities(equations: Equations, at: Configuration, v: np.ndarray) -> Callable[[Group], np.ndarray]:
    """Velocities (E, n) of the frames and internal coordinates of the elements of a group."""
    moving = equations.frame_velocities(at, v)
    return lambda g: equations._own(g, v, moving)


def powers(equations: Equations, moment: Moment) -> dict[str, float]:
    """Power (W) of each input by its name, and by path of each object that damps or acts without an energy."""
    e, v = equations, moment.v
    here = e.evaluation(moment.state, moment.time)
    at, inputs = here.configuration, e.inputs
    own = _velocities(e, at, v)
    found: dict[str, float] = {}

    def add(group: Group, forces: np.ndarray) -> None:
        for el, power in zip(group.elements, np.einsum("en,en->e", forces, own(group)).tolist(), strict=True):
            found[el.path] = found.get(el.path, 0.0) + power

    for part in e.parts:
        if part.has_damping:
            add(part.group, part.dampings(at, own(part.group)))
        if part.has_power:
            add(part.group, part.powers(at, own(part.group)))
    for g in e.assembly.groups:
        if not g.cls.defines("power") and (without := g.without_energy).any():
            add(g, -g.evaluate(at, 1)[1] * without[:, None])
    found |= {name: float(force @ v) for name, force in inputs.each_force(moment.time, here).items()}
    if inputs.motors or inputs.held:
        multipliers = e.holding(here, v, moment.time)
        rates = inputs.rates(moment.time)
        found |= {name: -float(multipliers[row] * rates[row]) for name, row in (inputs.motors | inputs.held).items()}
    return found


def works(
    equations: Equations, begins: Sequence[Moment], step: Callable[[Moment], Step], times: np.ndarray
) -> dict[str, np.ndarray]:
    """Work (t,) in J of each up to given times (s) since the first of them; ``step`` makes the steps again."""
    points = chebyshev.chebpts1(_POINTS)  # none at an end, where an input may jump
    sofar: dict[str, float] = {}
    out: dict[str, np.ndarray] = {}
    for k, begin in enumerate(begins):
        end = begins[k + 1].time if k + 1 < len(begins) else times[-1]
        start = max(begin.time, times[0])
        if end <= start:
            continue
        at = step(begin).at
        found = [powers(equations, at(float(t))) for t in start + 0.5 * (points + 1.0) * (end - start)]
        inside = np.flatnonzero((times > start) & (times <= end))
        places = 2.0 * (times[inside] - start) / (end - start) - 1.0
        for name in found[0]:
            values = np.array([one[name] for one in found])
            whole = chebyshev.chebint(chebyshev.chebfit(points, values, _POINTS - 1), lbnd=-1.0) * 0.5 * (end - start)
            before = sofar.get(name, 0.0)
            out.setdefault(name, np.zeros(len(times)))[inside] = before + chebyshev.chebval(places, whole)
            sofar[name] = before + float(chebyshev.chebval(1.0, whole))
    return out


def energies(equations: Equations, moment: Moment) -> tuple[float, ...]:
    """Energies (J): kinetic, of gravity, elastic; and the work so far of dampers, and of other forces without energy."""
    at = equations.evaluation(moment.state, moment.time).configuration
    own, kinetic = _velocities(equations, at, moment.v), 0.0
    for part in equations.parts:
        if part.has_mass:
            kinetic += float(part.energies(at, own(part.group)).sum())
    weight = elastic = 0.0
    for g in equations.assembly.joined:
        of_weight, others = _potentials(g, at)
        weight, elastic = weight + float(of_weight.sum()), elastic + float(others.sum())
    return kinetic, weight, elastic, moment.damped, moment.driven


def _potentials(g: Group, at: Configuration) -> tuple[np.ndarray, np.ndarray]:
    """Energies (E,) in J of gravity, and all others, of the elements of a group."""
    whole = g.evaluate(at, 0)[0]
    if not g.cls.defines("gravity_energy"):
        return np.zeros(len(whole)), whole
    others = g.evaluate(at._replace(gravity=np.zeros(3)), 0)[0]
    return whole - others, others


def unaccounted(equations: Equations, moments: Sequence[Moment], rtol: float) -> str:
    """In words: how much energy appeared or vanished, where it is too much for the tolerance; "" elsewhere."""
    some = moments[:: max(1, len(moments) // _LOOKED)]
    rows = np.array([energies(equations, m) for m in (*some, moments[-1])])
    change = rows - rows[0]
    left = np.abs(change[:, :3].sum(axis=1) - change[:, 3:].sum(axis=1)).max()
    # kinetic energy counts where nothing exchanges it, too, as in a circle at constant speed: speeds err relative to their size
    exchanged, rounding = max(np.abs(change).sum(axis=1).max(), rows[:, 0].max()), EPS * np.abs(rows).max()
    if left <= _UNACCOUNTED * (rtol * exchanged + rounding):
        return ""
    # sources and stores of circuits give each other energy of one kind
    one, two = (stored(equations, m) for m in (moments[0], moments[-1]))
    passed = sum(abs(x - one[kind].get(path, 0.0)) for kind, by_path in two.items() for path, x in by_path.items())
    exchanged, rounding = max(exchanged, passed), rounding + _of_positions(equations, moments[-1])
    if left <= _UNACCOUNTED * (rtol * exchanged + rounding):
        return ""
    return (
        f"{left:.3g} J of energy are not accounted for, of {exchanged:.3g} J that were exchanged or kinetic; expected some "
        f"{rtol * exchanged:.1g} J at rtol = {rtol:g}; take a smaller rtol, and look for a law that jumps"
    )


def _of_positions(equations: Equations, moment: Moment) -> float:
    """The energy (J) that springs at rest have because positions are rounded."""
    far = EPS * equations.measure.outermost / equations.measure.whole
    stiffness = equations.evaluation(moment.state, moment.time).total(2).stiffness
    return float(np.abs(stiffness.diagonal()) @ far**2)


def stored(equations: Equations, moment: Moment) -> dict[str, dict[str, float]]:
    """Energy (J) by kind and by path of the object: kinetic, of gravity, and elastic, that of loads with it."""
    e = equations
    at = e.evaluation(moment.state, moment.time).configuration
    own = _velocities(e, at, moment.v)
    found: dict[str, dict[str, float]] = {"kinetic": {}, "gravity": {}, "elastic": {}}
    for part in e.parts:
        if part.has_mass:
            energies = part.energies(at, own(part.group))
            found["kinetic"] |= {el.path: x for el, x in zip(part.group.elements, energies.tolist(), strict=True)}
    for g in e.assembly.groups:
        weight, elastic = _potentials(g, at)
        for kind, energies in (("gravity", weight), ("elastic", elastic)):
            found[kind] |= {el.path: x for el, x in zip(g.elements, energies.tolist(), strict=True) if x}
    return found


def momenta(equations: Equations, moment: Moment) -> dict[str, np.ndarray]:
    """Momentum (6,) by path of the object: linear in N s, and angular about the origin of the world in N m s."""
    e = equations
    at = e.evaluation(moment.state, moment.time).configuration
    own = _velocities(e, at, moment.v)
    found: dict[str, np.ndarray] = {}
    for part in e.parts:
        if part.has_mass:
            v, g = own(part.group), part.group
            six = np.einsum("eij,ej->ei", part.masses(at, v)[0], v)[:, : 6 * part.shape.frames].reshape(len(v), -1, 6)
            six[..., 3:] += np.cross(at.o[g.frames], six[..., :3])
            found |= {el.path: x for el, x in zip(g.elements, six.sum(axis=1), strict=True)}
    return found
