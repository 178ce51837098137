"""Steps of large motions, against closed forms and equations of their own."""

import numpy as np
import pytest

import mse
from mse import Pose
from mse.dynamics import explicit
from mse.dynamics.accelerations import Equations
from mse.dynamics.explicit import ExplicitStepper
from mse.dynamics.moments import Moment
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared


def stepper_of(system, rtol):
    topology, assembly = prepared(system, None)
    stepper = ExplicitStepper(Equations(topology, assembly), rtol)
    return stepper, put_together(Evaluation.initial(assembly)).state


def reached(stepper, moment, end):
    while True:
        step = stepper.step(moment)
        if step.end.time >= end:
            return step.at(end)
        moment = step.end


def pendulum(angle):
    """A point of 1 kg on a rod of 1 m."""
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    at = Pose.ry(angle) @ Pose.dz(-1.0)
    bob = system.add(mse.RigidBody("bob", mass=1.0, at=at, frames={"top": Pose.dz(1.0)}))
    system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(bob.frame("top"), system.ground))
    return system


def quarter_period(amplitude):
    from scipy.special import ellipk

    return ellipk(np.sin(0.5 * amplitude) ** 2) / np.sqrt(9.81)


def test_a_large_pendulum_hangs_after_a_quarter_of_its_period():
    stepper, state = stepper_of(pendulum(2.0), 1e-10)
    found = reached(stepper, Moment(0.0, state, np.zeros(6)), quarter_period(2.0))
    assert abs(found.state.o[1, 0]) < 1e-9
    assert found.v[0] == pytest.approx(np.sqrt(2 * 9.81 * (1 - np.cos(2.0))), rel=1e-9)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_results_do_not_depend_on_how_far_a_chart_reaches(monkeypatch, factor):
    monkeypatch.setattr(explicit, "TURN", factor * explicit.TURN)
    test_a_large_pendulum_hangs_after_a_quarter_of_its_period()


@pytest.mark.slow
def test_the_method_is_of_order_eight():
    errors = []
    for h in (0.08, 0.04):
        stepper, state = stepper_of(pendulum(2.0), 1e-2)
        moment, end = Moment(0.0, state, np.zeros(6)), quarter_period(2.0)
        steps = round(end / h)
        for _ in range(steps):
            moment = stepper.step(Moment(moment.time, moment.state, moment.v, step=end / steps)).end
        errors.append(abs(moment.state.o[1, 0]))
    assert np.log2(errors[0] / errors[1]) > 7.0


def test_constraints_hold_to_rounding_after_each_step():
    stepper, state = stepper_of(pendulum(2.0), 1e-4)
    moment = Moment(0.0, state, np.zeros(6))
    for _ in range(3):
        moment = stepper.step(moment).end
        here = stepper.equations.evaluation(moment.state)
        assert np.abs(here.residual).max() < 1e-14
        assert np.abs(here.slopes @ moment.v).max() < 1e-13


@pytest.mark.parametrize(("safe", "least"), [(0.5, 0.1), (0.95, 0.5)])
def test_results_do_not_depend_on_how_steps_are_shortened(monkeypatch, safe, least):
    monkeypatch.setattr(explicit, "_SAFE", safe)
    monkeypatch.setattr(explicit, "_LEAST", least)
    test_a_large_pendulum_hangs_after_a_quarter_of_its_period()


@pytest.mark.parametrize("rtol", [1e-8, 1e-10])
def test_what_constraints_correct_counts_as_an_error(rtol):
    stepper, state = stepper_of(pendulum(2.0), rtol)
    moment = Moment(0.0, state, np.zeros(6))
    for _ in range(5):
        moment = stepper.step(moment).end
    energy = 9.81 * moment.state.o[1, 2] + 0.5 * moment.v[:3] @ moment.v[:3]
    assert energy == pytest.approx(-9.81 * np.cos(2.0), abs=100 * rtol)
