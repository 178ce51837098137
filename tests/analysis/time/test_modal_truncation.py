"""State spaces of the motions up to a frequency: the response kept, the bound on what is left out, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from models import two_blades
from mse import Pose
from mse.errors import ModelError


def response(ss, frequencies_hz) -> np.ndarray:
    s = 2j * np.pi * np.atleast_1d(frequencies_hz)
    return np.array([ss.C @ np.linalg.solve(x * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D for x in s])


def judged(model: mse.LinearModel, up_to_hz: float, rounding: float = 1e-9):
    """The reduced state space, after what holds for every one of them."""
    ss = model.state_space(up_to_hz=up_to_hz)
    left, f = ss.left_out, up_to_hz * np.geomspace(1e-2, 1.0, 41)
    whole = model.frequency_response(f).values
    size = np.abs(whole).max()
    missing = whole - response(ss, f)
    # what is said to be missing is what is missing, and the bounds hold for it and grow with frequency
    np.testing.assert_allclose(left.error(f), missing, atol=rounding * size)
    bounds = np.array([left.bound(x) for x in f])
    assert np.all(np.abs(missing) <= bounds + rounding * size)
    assert np.all(np.diff(bounds, axis=0) >= -1e-15 * bounds.max())
    assert np.all(np.abs(missing).max(axis=0) <= left.bound() + rounding * size)
    assert len(ss.states) + left.states == len(model.state_space().states)
    assert np.all(np.abs(ss.poles()) <= 2 * np.pi * up_to_hz * (1 + 1e-5))
    return ss


def chain(n: int, damping: np.ndarray | None = None, fixed: bool = True) -> mse.LinearModel:
    """Equal masses in a row, each on springs to its neighbors, the first on one to the ground if fixed."""
    k = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    k[-1, -1] = 1.0
    k[0, 0] = 2.0 if fixed else 1.0
    return mse.LinearModel.from_matrices(np.eye(n), damping, k)


def dashpot(n: int, at: int, c: float) -> np.ndarray:
    out = np.zeros((n, n))
    out[at, at] = c
    return out


def test_two_modes_by_hand():
    ss = judged(chain(2), 0.15)
    w2 = np.sort(np.linalg.eigvalsh([[2, -1], [-1, 1]]))
    np.testing.assert_allclose(np.sort(ss.poles().imag), np.sqrt(w2[0]) * np.array([-1, 1]), rtol=1e-12)
    np.testing.assert_allclose(ss.A, [[0, 1], [-w2[0], 0]], atol=1e-14)
    # what is left out adds c b/w^2 at rest, and misses c b w^2/(w2^2 (w2^2 - w^2))
    shape = np.linalg.eigh([[2, -1], [-1, 1]])[1][:, 1]
    np.testing.assert_allclose(ss.D, np.outer(shape, shape) / w2[1], rtol=1e-12)
    w = 2 * np.pi * 0.1
    exact = np.abs(np.outer(shape, shape)) * w**2 / (w2[1] * (w2[1] - w**2))
    np.testing.assert_allclose(ss.left_out.bound(0.1), exact, rtol=1e-12)
    assert ss.states == ("mode 0", "mode 0'") and ss.with_mass == 1
    np.testing.assert_allclose(response(ss, [0.0])[0], np.linalg.inv([[2, -1], [-1, 1]]), rtol=1e-12)


@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "free"])
@pytest.mark.parametrize("c", [0.0, 0.01, 0.5, 2.0, 50.0])
def test_chains_with_a_dashpot_that_couples_all_modes(fixed, c):
    model = chain(12, dashpot(12, 3, c), fixed)
    judged(model, 0.1)
    judged(model, 0.2)


def test_a_free_motion_is_kept_as_it_is():
    model = chain(6, None, fixed=False)
    ss = judged(model, 0.05)
    assert ss.poles().tolist() == [0, 0]
    np.testing.assert_allclose(response(ss, [1e-4]).real * (2e-4 * np.pi) ** 2, -1 / 6, rtol=1e-4)


def test_motions_without_mass_are_kept_or_left_out_by_their_rate():
    # a dashpot in series with a spring: one slow or fast state beside the modes
    for c, slow in ((100.0, True), (0.01, False)):
        k = np.array([[2.0, -1.0], [-1.0, 1.0]])
        model = mse.LinearModel.from_matrices(np.diag([1.0, 0.0]), np.diag([0.0, c]), k)
        ss = judged(model, 0.5)
        assert len(ss.states) == (3 if slow else 2) and len(ss.left_out.rates) == (0 if slow else 1)


def test_free_motions_of_dampers_and_of_everything():
    # a massless joint between a spring and a dashpot, both masses free: a motion with three poles at zero
    k = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    c = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, -0.5], [0.0, -0.5, 0.5]])
    series = mse.LinearModel.from_matrices(np.diag([2.0, 0.0, 1.0]), c, k)
    for up in (0.1, 10.0):
        judged(series, up, rounding=1e-6)
    # the same with ground beneath, where nothing is free
    for up in (0.01, 0.05, 0.3):
        judged(mse.LinearModel.from_matrices(np.diag([2.0, 0.0, 1.0]), c, k + np.diag([0.5, 0.0, 0.3])), up)
    # a massless end on a dashpot alone, and a mass on nothing
    alone = mse.LinearModel.from_matrices(np.diag([1.0, 0.0]), np.diag([0.0, 2.0]), np.diag([400.0, 0.0]))
    judged(alone, 0.1)
    judged(mse.LinearModel.from_matrices([[1.0]], None, [[0.0]]), 1.0)


def test_motions_with_one_shape_stay_together_or_are_refused():
    # two modes that a dashpot makes one, whose eigenvectors are then parallel, beside others
    k, damping = np.diag([1.0, 1.2, 100.0]), np.zeros((3, 3))
    k[0, 1] = k[1, 0] = 0.3
    k[1, 2] = k[2, 1] = 6.0
    damping[0, 0] = _double_root(k)
    model = mse.LinearModel.from_matrices(np.eye(3), damping, k)
    ss = judged(model, 1.0, rounding=1e-7)
    assert len(ss.states) == 4


def _double_root(k: np.ndarray) -> float:
    """Damping of the first coordinate at which two eigenvalues are as near as the search brings them."""
    from scipy.optimize import minimize_scalar

    def apart(c):
        a = np.block([[np.zeros((3, 3)), np.eye(3)], [-k, -np.diag([c, 0, 0])]])
        p = np.linalg.eigvals(a)
        p = p[np.abs(p) < 10]
        gaps = np.abs(p[:, None] - p[None, :]) + 10 * np.eye(len(p))
        return gaps.min()

    grid = np.linspace(0.1, 3.0, 300)
    best = grid[np.argmin([apart(c) for c in grid])]
    return float(
        minimize_scalar(apart, bounds=(best - 0.02, best + 0.02), method="bounded", options={"xatol": 1e-12}).x
    )


def test_nothing_kept_and_nothing_left_out():
    model = chain(3)
    low, high = model.state_space(up_to_hz=1e-3), model.state_space(up_to_hz=10.0)
    assert low.states == () and low.poles().shape == (0,)
    np.testing.assert_allclose(low.D, np.linalg.inv(model.K.toarray()), rtol=1e-12)
    assert high.left_out.states == 0 and not np.any(high.left_out.bound())
    np.testing.assert_allclose(response(high, [0.1]), model.frequency_response([0.1]).values, rtol=1e-10)
    assert "left out" in repr(low) and "0 states beyond" in repr(high)


def test_what_is_refused_names_model_and_motion():
    model = chain(3)
    for bad in (0.0, -1.0, np.nan, "50", True):
        with pytest.raises(ModelError, match=r"model: up_to_hz.*expected"):
            model.state_space(up_to_hz=bad)
    with pytest.raises(ModelError, match=r"frequency_hz.*at most 0.1"):
        model.state_space(up_to_hz=0.1).left_out.bound(0.2)
    growing = mse.LinearModel.from_matrices(np.eye(2), np.diag([0.0, -0.1]), np.diag([1.0, 100.0]), active=True)
    with pytest.raises(
        ModelError, match=r"model: a motion of 1.59155 Hz grows, mostly x1', .* take up_to_hz above 1.59155"
    ):
        growing.state_space(up_to_hz=1.0)
    assert len(growing.state_space(up_to_hz=2.0).states) == 4
    falling = mse.LinearModel.from_matrices(np.eye(2), None, np.diag([1.0, -100.0]))
    with pytest.raises(ModelError, match="grows, mostly x1'"):
        falling.state_space(up_to_hz=1.0)


def test_a_hinged_pendulum_with_a_stiff_part():
    s = mse.MSystem("hinged")
    arm = s.add(mse.RigidBody("arm", mass=2.0, inertia=0.1, at=Pose.dz(-0.5)))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.02, at=Pose.dz(-1.0)))
    s.clamp(s.ground, s.add(mse.Revolute("pivot", axis=(0, 1, 0))).frame(1))
    s.clamp(s["pivot"].frame(0), arm.frame("center"), Pose.dz(-0.5))
    s.add(mse.Bushing("glue", stiffness=1e5, damping=2.0), between=(arm.frame("center"), bob.frame("center")))
    s.add(mse.ForceActuator("coil"), between=(s.ground, bob))
    s.add(mse.PositionSensor("probe"), between=(bob, s.ground))
    ss = judged(s.find_working_point().linearize(), 5.0)
    assert len(ss.states) == 2


@pytest.mark.slow
def test_a_pendulum_on_two_blades_keeps_the_six_motions_of_its_mirror():
    linear = two_blades().find_working_point().linearize()
    assert len(linear.state_space().states) == 348
    ss = linear.state_space(up_to_hz=50.0)
    assert len(ss.states) == 12 and ss.left_out.states == 336
    np.testing.assert_allclose(np.sort(ss.poles().imag)[6:], 2 * np.pi * linear.modes(6).frequencies_hz, rtol=1e-9)
    f = np.geomspace(0.01, 50.0, 60)
    whole = linear.frequency_response(f)
    found = response(ss, f) + ss.left_out.error(f)
    for output, input_ in (
        ("probe.x", "coil.fx"),
        ("probe.z", "coil.fz"),
        ("probe.x", "base.x"),
        ("probe.z", "base.z"),
    ):
        at = ss.outputs.index(output), ss.inputs.index(input_)
        h = whole[output, input_]
        tolerance = 1e-9  # two dense solvers miss it by 1e-7 without the care taken of slow modes
        np.testing.assert_allclose(found[:, *at], h, atol=tolerance * np.abs(h).max())
        assert np.all(np.abs(h - response(ss, f)[:, *at]) <= ss.left_out.bound()[at] + tolerance * np.abs(h).max())
    # by hand: below 5 Hz the mirror moves within 1e-5 of what all 348 states say
    assert ss.left_out.bound(5.0)[0, 0] < 1e-5 * abs(whole["probe.x", "base.x"]).max()
    assert "336 states beyond 50 Hz left out" in repr(ss)


def test_a_reduced_state_space_may_have_neither_inputs_nor_outputs():
    ss = chain(4).state_space(inputs=[], outputs=[], up_to_hz=0.15)
    assert ss.B.shape[1] == ss.C.shape[0] == 0
    assert len(ss.states) + ss.left_out.states == 8
