"""Steady motions as users meet them: poses, reactions, linear models, and families of them over a rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.resources import refuse_beyond_memory
from ..display import Column, Table, without_rounding
from ..errors import ModelError
from ..linear.linear_model import LinearModel
from ..model.evaluation import Evaluation
from ..model.joint_assembly import put_together
from ..model.variants import prepared
from ..numerics.blas_threads import one_thread
from ..numerics.precision import DEPENDENT
from ..pose import Pose
from ..results import Result
from ..statics.named import Named
from ..statics.stability import Growth, Motion
from ..validation.arguments import find, mapping, names, number, whole
from .accelerations import Equations, all_reactions
from .coordinates import NamedCoordinates
from .moments import Moment
from .simulate import refuse_unfit
from .start import Given, placed
from .steady import NONE, Kinematics, Sought, Turning, balanced, settled
from .trajectory import MotionState

if TYPE_CHECKING:
    from ..model.system import MSystem

# Of a rate: how near to a limit of stability growth is taken, and at how many rates.  With 1e-3 and 1e-2
# tests/dynamics/test_steady.py passes.
_NEAR, _SAMPLES = 4e-3, 6
# Dense ones of one motion: mass along both axes, damping, stiffness, slopes of constraints, what they hold and allow, and its
# stiffness (tests/dynamics/test_steady.py)
_MATRICES = 7
_HALVED = 10  # times that a step of a trace is halved where no steady motion is found (tests/dynamics/test_steady.py)


@one_thread
def find_steady_motion(
    system: MSystem,
    rates: Mapping[str, float],
    initial: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
) -> SteadyMotion:
    """See :meth:`.MSystem.find_steady_motion`."""
    topology, assembly = system._prepared = prepared(system, system._prepared)
    refuse_unfit(topology)
    equations = Equations(topology, assembly)
    here = Evaluation.initial(assembly).measured(equations.measure)
    coordinates = NamedCoordinates(topology, here)
    found = {}
    for name, rate in mapping(
        system.label, "rates", rates, "rates by coordinate, such as {'rotor.angle': 100.0}"
    ).items():
        find(system.label, "coordinate", name, coordinates.names)
        found[name] = number(system.label, f"rate of {name!r}", rate)
    if not found:
        raise ModelError(f"{system.label}: rates are empty; expected some, such as {{'rotor.angle': 100.0}}")
    given = Given(topology, coordinates, initial)
    sought = _sought(system.label, free, found, given.values, coordinates)
    here = placed(equations, put_together(here), coordinates, given)
    turning = settled(Kinematics(equations, coordinates, found), here, sought)
    _refuse_other_rates(system.label, given, turning)
    return SteadyMotion(system.name, turning.kinematics.rates, turning)


def _sought(
    who: str,
    free: Sequence[str],
    rates: Mapping[str, float],
    values: Mapping[str, float],
    coordinates: NamedCoordinates,
) -> Sought:
    """The rates that are sought, and as many first of the initial values, which are kept."""
    chosen = names(who, "free", free)
    for name in chosen:
        find(who, "rate", name, rates)
    if not chosen:
        return NONE
    if len(values) < len(chosen):
        raise ModelError(
            f"{who}: {len(chosen)} rates are free and {len(values)} initial values given; expected as many values to keep as "
            "rates to be found, such as initial={'tilt.angle': 0.6}, free=['azimuth.angle']"
        )
    kept = list(values)[: len(chosen)]  # the search begins at the others
    held = np.array([coordinates.names.index(name) for name in kept])
    return Sought(chosen, held, np.array([values[name] for name in kept]))


def _refuse_other_rates(who: str, given: Given, turning: Turning) -> None:
    """Refuse rates and velocities among initial values that the motion has not."""
    for name in given.velocities:
        raise ModelError(
            f"{who}: initial velocity {name + chr(39)!r} is given; expected values and poses to begin the search at; a steady "
            "motion has its rates from rates="
        )
    c, t = turning.kinematics.coordinates, turning
    rates = dict(zip(c.rates, without_rounding((c.slopes(t.here) @ t.v).tolist()), strict=True))
    for name, rate in given.rates.items():
        if abs(rate - rates[name]) > DEPENDENT * max(1.0, abs(rates[name])):
            raise ModelError(
                f"{who}: initial {name!r} is {rate:g}, where the steady motion has {rates[name]:g}; expected the same; leave it "
                "out, or give the rate in rates="
            )


class SteadyMotion(Result):
    """A motion at constant rates, along which the system looks the same; made by :meth:`.MSystem.find_steady_motion`.

    Attributes
    ----------
    name : str
        Name of the system.
    rates : dict of str to float
        Rates of the coordinates that go on, 1/s or m/s.

    Examples
    --------
    >>> system = mse.MSystem("conical pendulum", gravity=(0, 0, -9.81))
    >>> arm = system.add(mse.RigidBody("arm", mass=0.0))
    >>> bob = system.add(mse.RigidBody("bob", mass=1.0, at=mse.Pose.dz(-0.8), frames={"top": mse.Pose.dz(0.8)}))
    >>> azimuth = system.add(mse.Revolute("azimuth"), between=(arm, system.ground))
    >>> tilt = system.add(mse.Revolute("tilt", axis=(0, 1, 0)), between=(bob.frame("top"), arm))
    >>> steady = system.find_steady_motion({"azimuth.angle": 4.0}, initial={"tilt.angle": 0.5})
    >>> print(f"{steady.joint_coordinates['tilt.angle']:.6f} rad, {9.81 / (0.8 * 4.0**2):.6f} is its cosine")
    0.697569 rad, 0.766406 is its cosine
    """

    name: str
    rates: Mapping[str, float]
    _turning: Turning = field(repr=False)

    # -- geometry ---------------------------------------------------------------------------------------------
    @cached_property
    def poses(self) -> Named[Pose]:
        """World pose of every frame by name, at the moment that the search ended with."""
        o, u = self._turning.here.frame_poses
        labels = self._turning.equations.topology.frame_labels
        found = {n: Pose._of(o[k].copy(), u[k].copy()) for k, n in enumerate(labels)}
        return Named("frame", found, partial(_rows, self.name, "frame"))

    @cached_property
    def joint_coordinates(self) -> Named[float]:
        """Coordinates of joints, ``hinge.angle``, and internal ones of elements."""
        c = self._turning.kinematics.coordinates
        found = dict(zip(c.names, c.values(self._turning.here).tolist(), strict=True))
        return Named("coordinate", found, partial(_rows, self.name, "coordinate"))

    @cached_property
    def reactions(self) -> Named[np.ndarray]:
        """Reaction of every joint: for most kinds force and torque (6,) of frame 0 on frame 1, along the axes of frame 1."""
        t = self._turning
        found = all_reactions(t.equations, t.here, t.moving.multipliers, t.moving.of_flows)
        return Named("joint", found, partial(_rows, self.name, "reaction"))

    @property
    def state(self) -> MotionState:
        """What ``simulate(start=...)`` begins with."""
        t = self._turning
        topology = t.equations.topology
        return MotionState(
            self.name, 0.0, 0.0, topology, topology.source, Moment(0.0, t.here.state, t.v), t.equations.inputs
        )

    # -- small motions ----------------------------------------------------------------------------------------
    def linearize(self) -> LinearModel:
        """Small motions about this one, ``M x'' + Lambda x' + K x = F u`` with constant matrices.

        Coordinates are along axes that turn with each body, as far as rates make it turn that have to: axes of a rotor that is
        symmetric about its axis do not turn with it, so that frequencies are those that sensors at rest see.

        Returns
        -------
        LinearModel
            Matrices by names; ask for its ``modes(damped=True)``.
        """
        return self._turning.model

    @property
    def stable(self) -> bool:
        """Whether no small motion grows; those that go on at zero frequency, such as a turn along the motion, do not count."""
        return not self._growth.unstable and not self._growth.reason

    @property
    def unstable(self) -> tuple[Motion, ...]:
        """Small motions that grow, each with its rate and frequency."""
        return self._growth.unstable

    @property
    def _growth(self) -> Growth:
        return self._turning.model.growth

    # -- other rates ------------------------------------------------------------------------------------------
    @one_thread
    def update(self, rates: Mapping[str, float]) -> SteadyMotion:
        """The steady motion with other rates, searched from this one.

        Parameters
        ----------
        rates : mapping
            Rates that change: ``{"rotor.angle": 120.0}``.

        Returns
        -------
        SteadyMotion
            That motion.

        Raises
        ------
        UnknownNameError
            A coordinate that has no rate here.
        ModelError
            There is no steady motion near.
        """
        t, found = self._turning, dict(self.rates)
        for name, rate in mapping(self.name, "rates", rates, "rates by coordinate").items():
            found[find(self.name, "coordinate with a rate", name, found)] = number(self.name, f"rate of {name!r}", rate)
        return SteadyMotion(self.name, found, balanced(t.kinematics.at(found), t.here, t.chosen))

    @one_thread
    def trace(self, rate: str, to: float, *, points: int = 50) -> SteadyTrace:
        """Steady motions over a rate, and the rates at which they become stable or unstable.

        Parameters
        ----------
        rate : str
            The rate that changes, ``"rotor.angle'"``.
        to : float, 1/s or m/s
            Where it ends.
        points : int
            Number of steps of equal length.

        Returns
        -------
        SteadyTrace
            The motions, with all that was found before the last one if the family ends on the way; ``notes`` says so.

        Raises
        ------
        UnknownNameError
            No such rate.
        ModelError
            A number is out of bounds.
        """
        names = [f"{name}'" for name in self.rates]
        name = list(self.rates)[names.index(find(self.name, "rate", rate, names))]
        to = number(self.name, "to", to)
        points, each = whole(self.name, "points", points, minimum=1), 8.0 * _MATRICES * self._turning.equations.size**2
        refuse_beyond_memory(
            self.name, points * each, f"a trace of {points:,} points needs {{}} for its motions",
            "take at most {} points", each,
        )  # fmt: skip
        return _traced(self, name, to, points)

    def table(self) -> Table:
        c = self._turning.kinematics.coordinates
        t = self._turning
        rates = (c.slopes(t.here) @ t.v).tolist()
        rows = [
            (name, value, rate, unit)
            for (name, value), rate, unit in zip(
                self.joint_coordinates.items(), without_rounding(rates), c.units, strict=True
            )
        ]
        judged = (
            "stable" if self.stable else self._growth.reason or "UNSTABLE: " + ", ".join(m.name for m in self.unstable)
        )
        columns = ("coordinate", Column("value", digits=9), Column("rate (1/s)", digits=9), "unit")
        return Table(f"{self.name}: steady motion, {judged}", columns, rows)


def _rows(name: str, what: str, found: Any) -> Table:
    return Table(f"{name}: steady motion", (what, "value"), [(name, str(value)) for name, value in found.items()])


class SteadyTrace(Result):
    """Steady motions over a rate; made by :meth:`SteadyMotion.trace`.

    Attributes
    ----------
    name : str
        Name of the system.
    rate : str
        The rate that changes.
    rates : ndarray, (t,), 1/s or m/s
        Its values.
    growth : ndarray, (t,), 1/s
        Rate of growth of the motion that grows fastest there; zero where all are stable.
    limits : tuple of float, 1/s or m/s
        Rates between which the number of motions that grow does not change.
    motions : tuple of SteadyMotion
        The motions.
    notes : tuple of str
        Remarks, such as where the family ended.
    """

    name: str
    rate: str
    rates: np.ndarray
    growth: np.ndarray
    limits: tuple[float, ...]
    motions: tuple[SteadyMotion, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        rows = zip(self.rates.tolist(), self.growth.tolist(), strict=True)
        limits = ", ".join(f"{x:.9g}" for x in self.limits) or "none"
        columns = (Column(self.rate, digits=9), Column("growth (1/s)", digits=6))
        return Table(f"{self.name}: steady motions, stability changes at {limits}", columns, rows, notes=self.notes)


def _traced(first: SteadyMotion, name: str, to: float, points: int) -> SteadyTrace:
    def at(near: SteadyMotion, rate: float) -> SteadyMotion:
        return near.update({name: rate})

    motions, limits, notes = [first], [], []
    start = first.rates[name]
    for k in range(1, points + 1):
        last = motions[-1]
        try:
            new = _stepped(at, last, last.rates[name], start + k / points * (to - start), _HALVED)
        except ModelError as error:
            notes.append(
                f"the family ends between {last.rates[name]:.6g} and {start + k / points * (to - start):.6g}: {error}"
            )
            break
        if len(last.unstable) != len(new.unstable):
            limits.append(_limit(at, last, new, name))
        motions.append(new)
    growth = [max((m.growth for m in s.unstable), default=0.0) for s in motions]
    rates = np.array([m.rates[name] for m in motions])
    return SteadyTrace(first.name, f"{name}'", rates, np.array(growth), tuple(limits), tuple(motions), tuple(notes))


def _stepped(
    at: Callable[[SteadyMotion, float], SteadyMotion], last: SteadyMotion, rate: float, to: float, halves: int
) -> SteadyMotion:
    """The motion at a rate, by shorter steps where it is not found at once."""
    try:
        return at(last, to)
    except ModelError:
        if not halves:
            raise
    middle = 0.5 * (rate + to)
    return _stepped(at, _stepped(at, last, rate, middle, halves - 1), middle, to, halves - 1)


def _limit(at: Callable[[SteadyMotion, float], SteadyMotion], one: SteadyMotion, two: SteadyMotion, name: str) -> float:
    """The rate at which the number of motions that grow changes.

    Growth passes through zero where damping decides, and begins as a root does without any, so that its square is smooth.  The
    rate at which either vanishes is extrapolated from rates at which growth is known well.
    """
    quiet, growing = (one, two) if len(one.unstable) < len(two.unstable) else (two, one)
    count, far = len(quiet.unstable), growing.rates[name]
    while abs(quiet.rates[name] - growing.rates[name]) > _NEAR * max(abs(quiet.rates[name]), abs(growing.rates[name])):
        middle = at(quiet, 0.5 * (quiet.rates[name] + growing.rates[name]))
        quiet, growing = (middle, growing) if len(middle.unstable) == count else (quiet, middle)
    low, high = quiet.rates[name], growing.rates[name]
    step = min(_NEAR * abs(high), abs(far - high) / _SAMPLES) * np.sign(high - low)
    rates = high + step * np.arange(_SAMPLES)
    samples = [at(growing, rate).unstable for rate in rates]
    growth = np.array([min((m.growth for m in found), default=0.0) for found in samples])
    if not (np.diff(growth) > 0.0).all():
        return 0.5 * (low + high)
    found = [[_at_zero(rates[k:], growth[k:] ** power) for k in (0, 1)] for power in (1, 2)]
    return min(found, key=lambda both: abs(both[0] - both[1]))[0]


def _at_zero(values: np.ndarray, arguments: np.ndarray) -> float:
    """The polynomial through values (k,) at arguments (k,), at zero."""
    shares = (np.prod(np.delete(arguments, k) / (np.delete(arguments, k) - x)) for k, x in enumerate(arguments))
    return float(sum(v * share for v, share in zip(values, shares, strict=True)))
