"""Everything that mse gives can be sent to another process and back, and is the same there."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mse
from mse import Pose


def hanging(form: str) -> mse.MSystem:
    s = mse.MSystem("hanging", gravity=(0, 0, -9.81))
    fiber = s.add(mse.RoundBeam("fiber", length=0.4, radius=2e-4, young_modulus=7e10, density=2200.0, form=form))
    mass = s.add(mse.RigidBody("mass", mass=2.0, inertia=0.01))
    coil, probe = s.add(mse.ForceActuator("coil")), s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, fiber.frame(0), Pose.ry(np.pi / 2))
    s.clamp(fiber.frame(1), mass.frame(0), Pose.ry(-np.pi / 2))
    for own in (coil.frame(1), probe.frame(0)):
        s.clamp(mass.frame(0), own)
    for other in (coil.frame(0), probe.frame(1)):
        s.clamp(s.ground, other)
    return s


KINDS = {
    "system": lambda s, wp, linear: s,
    "working point": lambda s, wp, linear: wp,
    "linear model": lambda s, wp, linear: linear,
    "modes": lambda s, wp, linear: linear.modes(4),
    "response": lambda s, wp, linear: linear.frequency_response([0.5, 3.0]),
    "grid": lambda s, wp, linear: linear.resonance_grid(0.5, 2.0),
}
WITH_MATRICES = {
    "damped modes": lambda s, wp, linear: linear.modes(4, damped=True),
    "state space": lambda s, wp, linear: linear.state_space(),
    "run": lambda s, wp, linear: linear.simulate(duration=0.2, dt=0.1),
    "reduction": lambda s, wp, linear: mse.reduce_model(linear, ["mass"], modes=1),
    "instability": lambda s, wp, linear: s.find_instability(max_load_factor=2.0),
}
CASES = [(form, name) for form in ("exact", "elements") for name in KINDS] + [("elements", n) for n in WITH_MATRICES]


@pytest.fixture(scope="module")
def made():
    out = {}
    for form in ("exact", "elements"):
        s = hanging(form)
        wp = s.find_working_point()
        out[form] = s, wp, wp.linearize()
    return out


@pytest.mark.slow
@pytest.mark.parametrize("form, name", CASES)
def test_what_mse_gives_can_be_sent_and_copied(made, form, name):
    given = (KINDS | WITH_MATRICES)[name](*made[form])
    for other in (pickle.loads(pickle.dumps(given)), copy.deepcopy(given)):
        assert type(other) is type(given)
        assert repr(other) == repr(given)


@pytest.mark.parametrize("form", ["exact", "elements"])
def test_what_was_sent_goes_on_with_the_same_numbers(made, form):
    _, wp, linear = made[form]
    there = pickle.loads(pickle.dumps(linear))
    f = [0.5, 3.0, 240.0]
    np.testing.assert_array_equal(there.frequency_response(f).values, linear.frequency_response(f).values)
    np.testing.assert_array_equal(there.modes(6).frequencies_hz, linear.modes(6).frequencies_hz)
    again = pickle.loads(pickle.dumps(wp)).linearize()
    np.testing.assert_array_equal(again.K.toarray(), linear.K.toarray())
    if form == "exact":
        loss = {"fiber": 1e-4}
        np.testing.assert_array_equal(
            there.frequency_response(f, loss=loss).values, linear.frequency_response(f, loss=loss).values
        )
