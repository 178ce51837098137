"""The pieces of the search for the working point alone: stages, judges, plans, and state, step, terminate."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mse
from models import hanging_stages
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.numerics.trust_region import Step
from mse.statics import step_methods
from mse.statics.attempts import (
    Attempt,
    Ending,
    FollowersRaised,
    FromNothing,
    LoadsHalved,
    Nothing,
    Otherwise,
)
from mse.statics.equilibrium import balanced
from mse.statics.merit_function import MeritFunction, Point
from mse.statics.relaxation import Relaxation, descended
from mse.statics.search import Search, SearchState, _nears
from mse.statics.stages import Reached, Stage, halfway, stages, stiffness_ratios
from mse.statics.step_methods import DESCENT, FOLLOWING


def pendulum() -> mse.MSystem:
    s = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dxdydz(0.1, 0.0, -0.5)))
    spring = s.add(mse.Spring("spring", length=0.5, stiffness=100.0))
    s.clamp(s.ground, spring.frame(1))
    s.clamp(bob.frame(0), spring.frame(0), Pose.dz(0.1))
    return s


def cantilever(area: float) -> mse.MSystem:
    """A slender beam of unit modulus; the larger its area, the stiffer it is along its axis beside bending."""
    s = mse.MSystem("cantilever", gravity=(0, 0, 0))
    section = {"second_moment_y": 1.0, "second_moment_z": 1.0, "torsion_constant": 1.0, "area": area}
    material = {"young_modulus": 1.0, "poisson_ratio": -0.5, "density": 0.0}
    beam = s.add(mse.SectionBeam("beam", length=1.0, elements=1, theory="timoshenko", **section, **material))
    s.clamp(s.ground, beam.frame(0))
    return s


def merit_of(system: mse.MSystem) -> MeritFunction:
    topology = Topology(system)
    return MeritFunction.of(topology, Assembly(topology, topology.unit))


def search_of(system: mse.MSystem) -> Search:
    merit = merit_of(system)
    return Search(merit, descended(merit, Stage(), Reached(0.0, 1.0, merit.start), 1.0))


# -- stages -------------------------------------------------------------------------------------------------------
def test_elastic_forces_are_raised_by_tens_and_elements_softened_less_and_less():
    whole = Stage(load_factor=0.7)
    assert stages(1.0, (), whole) == (whole,)
    assert [s.strength for s in stages(1e-3, (), whole)] == pytest.approx([1e-3, 1e-2, 1e-1, 1.0], rel=1e-15)
    assert stages(0.05, (), whole)[0].strength == 0.05
    found = stages(1e-2, (1e2, 1e6), whole)
    assert [s.stiffness_ratio for s in found] == [1e2, 1e2, 1e2, 1e6, np.inf]
    assert found[2].strength == found[3].strength == 1.0 and found[-1] == whole
    assert {s.load_factor for s in found} == {0.7}


def ratios_of(system: mse.MSystem) -> tuple[float, ...]:
    topology = Topology(system)
    return stiffness_ratios(topology, 1.0, np.full(topology.size, 0.01))


def test_only_elements_with_stiffer_mechanisms_are_softened():
    assert ratios_of(pendulum()) == ()
    few, many = (ratios_of(cantilever(area)) for area in (1e5, 1e9))

    assert few == (1e2, 1e4) and many == (1e2, 1e4, 1e6, 1e8)


def test_a_softened_assembly_leaves_the_one_it_is_made_of():
    merit = merit_of(cantilever(1e9))
    stiff = merit.evaluate(merit.start, 2).stiffness.toarray()
    soft = merit.at(Stage(stiffness_ratio=1e2))
    assert np.abs(soft.evaluate(soft.start, 2).stiffness).max() < 1e-2 * np.abs(stiff).max()
    np.testing.assert_array_equal(merit.evaluate(merit.start, 2).stiffness.toarray(), stiff)
    assert merit.stage == Stage()
    np.testing.assert_array_equal(soft.at(Stage()).evaluate(merit.start, 2).stiffness.toarray(), stiff)


def test_load_steps_are_halved_down_to_a_ten_thousandth():
    reached, stage = Reached(0.5, 0.0, None), Stage(load_factor=1.5)
    assert halfway(reached, stage, stage) == stage._replace(load_factor=1.0, follower_factor=0.5)
    count, there = 0, stage
    while (there := halfway(reached, there, stage)) is not None:
        count, reached = count + 1, reached
    assert count == 14  # 2^-14 is the first below 1e-4


# -- judges -------------------------------------------------------------------------------------------------------
MERIT = SimpleNamespace(pull=lambda point: point.gradient, size=1.0)


def at(energy: float, pull: float, noise: float = 0.0) -> Point:
    return Point(None, energy, noise, np.array([pull]), None, None, None, np.zeros(0), np.zeros(0))


def a_step(length: float, predicted: float, on_boundary: bool = False) -> Step:
    return Step(np.array([length]), predicted, 0.0, on_boundary, lambda d, limit: d)


@pytest.mark.parametrize(
    ("energy", "on_boundary", "accepted", "radius"),
    [
        (-0.1, True, True, 0.4),  # more than was foreseen, and as much longer as it may be
        (0.0, True, True, 0.4),
        (0.03, True, True, 0.4),
        (0.03, False, True, 0.2),  # as long as it wanted to be
        (0.05, True, True, 0.2 * np.sqrt(2.0)),  # a third of what may be missed
        (0.14, True, True, 0.2),
        (0.16, True, True, 0.1 / np.sqrt(2.0)),
        (0.16, False, True, 0.1 / np.sqrt(2.0)),
        (0.5, True, True, 0.05),
        (0.8, True, True, 0.1 / np.sqrt(8.0)),
        (0.95, True, False, 0.1 / np.sqrt(8.0)),
        (11.0, True, False, 0.025),
        (np.nan, True, False, 0.025),
    ],
)
def test_the_radius_follows_from_what_steps_miss_of_the_foreseen_drop(energy, on_boundary, accepted, radius):
    step = a_step(0.1, -1.0, on_boundary)
    found = step_methods.by_energy(MERIT, at(1.0, -1.0), at(energy, -0.5), step, 0.2)
    assert found == (accepted, pytest.approx(radius))


def test_rounding_hardly_ever_changes_the_radius():
    """Systems that are moved, or searched on another processor, take the same steps as far as energies are not rounding."""
    step, changed = a_step(0.1, -1.0, True), 0
    for energy in np.linspace(0.0, 1.0, 400):
        radii = {
            step_methods.by_energy(MERIT, at(1.0, -1.0), at(energy + e, -0.5), step, 0.2).radius for e in (0.0, 1e-9)
        }
        changed += len(radii) > 1
    assert changed <= 1


def test_forces_judge_where_energies_are_rounding():
    before = at(1.0, -1.0, noise=1e-6)
    step = a_step(1e-8, -5e-9)
    # the energy seems to rise, yet the force along the step goes from -1 to 0
    assert step_methods.by_energy(MERIT, before, at(1.0 + 1e-7, 0.0, noise=1e-6), step, 0.2).accepted
    assert not step_methods.by_energy(MERIT, before, at(1.0 + 1e-7, 3.0, noise=1e-6), step, 0.2).accepted
    assert not step_methods.by_energy(MERIT, before, at(1.1, 0.0, noise=1e-6), step, 0.2).accepted


def test_newton_steps_are_judged_by_forces_alone():
    step = a_step(0.1, 0.0)
    assert step_methods.by_residual(MERIT, at(0.0, 2.0), at(5.0, 1.0), step, 0.2) == (True, 0.4)
    assert step_methods.by_residual(MERIT, at(0.0, 2.0), at(-5.0, 3.0), step, 0.2) == (False, 0.025)
    assert step_methods.whatever_is_finite(MERIT, at(0.0, 2.0), at(5.0, 99.0), step, 0.2) == (True, 0.2)
    assert not step_methods.whatever_is_finite(MERIT, at(0.0, 2.0), at(np.nan, 1.0), step, 0.2).accepted


# -- when it is in equilibrium ------------------------------------------------------------------------------------
def test_equilibrium_is_a_balance_to_a_share_of_the_loads():
    merit = merit_of(pendulum())
    rest = search_of(pendulum()).whole.topology
    assert rest.units == 2
    state = merit.start._replace(o=np.array([[0, 0, 0], [0, 0, -0.5 - 0.1 - 9.81 / 100]]), U=np.stack([np.eye(3)] * 2))
    assert balanced(merit, merit.evaluate(state, 2))
    off = state._replace(o=state.o + np.array([[0, 0, 0], [0, 0, 1e-9]]))  # 1e-7 N of 9.81 N
    assert not balanced(merit, merit.evaluate(off, 2))
    assert not balanced(merit, merit.evaluate(merit.start, 2))


# -- plans --------------------------------------------------------------------------------------------------------
HERE, START = object(), object()
FAILED, HOPELESS, FOUND = Ending("failed"), Ending("coarse", hopeless=True), Ending()


def ended(attempt: Attempt, stage: Stage, *, strength: float = 1.0, ahead: tuple[Stage, ...] = ()) -> SearchState:
    """A state in which an attempt has ended."""
    point = Point(SimpleNamespace(state=HERE), 0.0, 0.0, np.zeros(0), np.zeros(0), None, None, np.zeros(0), np.zeros(0))
    history = (mse.statics.history.Iteration(0, strength, 0.0, 1.0, "", 0.0, True),)
    return SearchState(attempt, None, stage, ahead, attempt.reached, START, 0, point, 1.0, history=history)


def test_loads_are_halved_until_the_step_is_too_small_and_then_residuals_lowered_from_the_start():
    whole = Stage(load_factor=2.0)
    plan = LoadsHalved(whole, START)
    attempt = Attempt(FOLLOWING, (whole,), START, Reached(0.0, 1.0, START), plan)
    assert plan.after(ended(attempt, whole), FOUND) is FOUND and plan.after(ended(attempt, whole), HOPELESS) is HOPELESS
    factors = []
    while attempt.method is FOLLOWING:
        factors.append(attempt.stages[0].load_factor)
        attempt = attempt.then.after(ended(attempt, attempt.stages[0], ahead=attempt.stages[1:]), FAILED)
    assert factors == [2.0 / 2**k for k in range(15)]
    assert attempt.method == step_methods.guarded(FOLLOWING) and attempt.stages == (whole,) and attempt.begin is START
    # no part of the loads is a limit then, and the last reason is that of the search from the start
    assert attempt.then.after(ended(attempt, whole), Ending("lost")) == Ending("lost")
    known = LoadsHalved(whole, START, without="unheld")
    failed = known.after(ended(replace(attempt, method=FOLLOWING), Stage(load_factor=1e-4)), FAILED)
    assert failed.then.after(ended(failed, whole), Ending("lost")).reason == "unheld"
    reached = Attempt(FOLLOWING, (whole,), HERE, Reached(1.9999, 1.0, HERE), plan)
    assert "followed up to 1.9999 times" in plan.after(ended(reached, whole), FAILED).reason


def test_loads_without_energy_are_raised_from_an_equilibrium_without_them_or_from_nothing():
    whole = Stage(load_factor=1.0)
    plan = FollowersRaised(FOLLOWING, whole, START)
    state = ended(Attempt(DESCENT, (whole,), START, Reached(0.0, 1.0, START), plan), whole)
    from_rest = plan.after(state, FOUND)
    assert from_rest.reached == Reached(1.0, 0.0, HERE) and from_rest.begin is HERE and from_rest.stages == (whole,)
    from_nothing = plan.after(state, FAILED)
    assert from_nothing.reached == Reached(0.0, 1.0, START) and from_nothing.begin is START
    # where raising them alone leads to a limit, all loads are raised from nothing, and the first failure is told
    near = replace(from_rest, reached=Reached(1.0, 0.99995, HERE))
    last = near.then.after(ended(near, whole), FAILED)
    assert last.reached == Reached(0.0, 1.0, START) and last.then.then == Nothing(last.then.then.reason)
    assert "0.99995 times those of its loads that have no energy" in last.then.then.reason
    assert FromNothing(FOLLOWING, whole, START).after(ended(from_nothing, whole), FAILED) is FAILED
    assert (
        Otherwise(from_nothing).after(state, FAILED) is from_nothing
        and Otherwise(from_nothing).after(state, FOUND) is FOUND
    )


# -- state, step, terminate ---------------------------------------------------------------------------------------
def test_a_step_leaves_the_state_it_starts_from():
    search = search_of(hanging_stages(1))
    state = search.begin()
    kept = state.point.state.o.copy()
    for _ in range(5):
        one, two = search.step(state), search.step(state)
        assert one.history == two.history and one.radius == two.radius
        np.testing.assert_array_equal(one.state.o, two.state.o)
    np.testing.assert_array_equal(state.state.o, kept)
    assert len(state.history) == 1 and len(one.history) == 2


def test_state_step_and_terminate_are_the_whole_search():
    system = hanging_stages(3)
    search = search_of(system)
    state = search.begin()
    while search.terminate(state) is None:
        state = search.step(state)
    found, expected = search.result(state, search.terminate(state)), Relaxation(search_of(system)).run()
    assert found.converged and found.history == expected.history
    np.testing.assert_array_equal(found.state.o, expected.state.o)
    assert search.step(state) is state


def test_history_has_the_beginning_once():
    """An attempt that ends where it began, since nothing stands there, is followed by one from the same place."""
    s = mse.MSystem("upright", gravity=(0, 0, -9.81))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dxdydz(0.02, 0.0, 0.5)))
    hook = s.add(mse.Spherical("hook"))
    s.clamp(s.ground, hook.frame(0))
    s.clamp(bob.frame(0), hook.frame(1), Pose.dxdydz(-0.02, 0.0, -0.5))
    history = s.find_working_point().history
    assert [x.number for x in history] == list(range(len(history)))
    assert history[1].energy < history[0].energy


def test_terminate_says_how_a_state_ends_the_search():
    search = search_of(pendulum())
    search = replace(search, attempt=replace(search.attempt, then=Nothing()))
    state = search.begin()
    assert search.terminate(state) is None
    assert search.terminate(state._replace(ending=Ending())).converged
    failed = search.terminate(state._replace(ending=FAILED))
    assert not failed.converged and failed.reason == "failed"


def test_an_attempt_is_lost_far_away_in_tiny_steps_or_after_many():
    search = search_of(pendulum())
    state = search.begin()
    assert search.lost(state) is None and search.lost(state._replace(history=state.history * 4000)) is None
    away = state.state._replace(o=state.state.o + np.array([[0.0], [2e3]]))
    far = search.lost(state._replace(point=replace(state.point, here=SimpleNamespace(state=away))))
    assert "bob has moved 2e+03 m" in far.reason
    assert "4000 steps were not enough" in search.lost(state._replace(history=state.history * 4001)).reason
    assert "no step improves" in search.lost(state._replace(radius=1e-16)).reason


def test_a_failed_search_tells_the_same_by_steps_as_whole():
    whole = search_of(hanging_stages(0))
    short = replace(whole, attempt=replace(whole.attempt, method=replace(DESCENT, most_steps=12)))
    watched, ran = Relaxation(short), Relaxation(short)
    assert len(list(watched)) == 12
    result = ran.run(throw=False)
    assert watched.finished and not watched.converged and watched.history == result.history
    with pytest.raises(mse.WorkingPointError, match=r"12 steps were not enough.*Largest residual .* on body\d\."):
        Relaxation(short).run()


@pytest.mark.parametrize(
    "residual, length, counts", [(5.1e-12, 4e-7, True), (5.1e-12, 1.1e-3, False), (9.1e-12, 4e-7, False)]
)
def test_a_soft_motion_that_comes_to_its_balance_goes_on(residual, length, counts):
    """Two wires of a hanging system keep more than half of a force of 9e-12 of the loads: a body 1.2 mm off, then 0.4 um."""
    before, after = (Step(np.array([p]), 0.0, 0.0, False, lambda d, limit: d) for p in (1.2e-3, length))
    assert _nears((8.8e-12, None, before), residual, after) is counts
