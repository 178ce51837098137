"""Discs and spheres that roll: where they touch, and what they hold."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mse
from mse import ModelError, Pose
from mse.elements import rolling
from mse.elements.base import FramePose
from mse.elements.flows import flow_rows


def placed(seed):
    rng = np.random.default_rng(seed)
    return [FramePose(rng.normal(size=3), Rotation.random(random_state=rng).as_matrix()) for _ in range(2)]


@pytest.mark.parametrize("seed", range(3))
def test_the_lowest_point_of_a_disc_touches_and_does_not_slip(seed):
    frames, disc = placed(seed), mse.RollingDisc("disc", axis=(0.3, 1.0, -0.2), radius=0.7)
    axis = frames[0].U @ (np.array([0.3, 1.0, -0.2]) / np.linalg.norm([0.3, 1.0, -0.2]))
    first = np.linalg.svd(axis[None])[2][1]
    angles = np.linspace(0.0, 2 * np.pi, 100_001)[:, None]
    edge = frames[0].o + 0.7 * (np.cos(angles) * first + np.sin(angles) * np.cross(axis, first))
    heights = (edge - frames[1].o) @ frames[1].U[:, 2]
    assert disc.constraint(frames, ())[0] == pytest.approx(heights.min(), abs=1e-8)
    low = edge[heights.argmin()] - frames[0].o
    v = np.random.default_rng(seed).normal(size=12)
    there = frames[0].o + low - frames[1].o
    slip = v[:3] + np.cross(v[3:6], low) - v[6:9] - np.cross(v[9:12], there)
    np.testing.assert_allclose(flow_rows(disc, frames, np.zeros(0)) @ v, frames[1].U[:, :2].T @ slip, atol=1e-3)


def test_a_ball_hardly_differs_from_a_disc_that_stands():
    frames = [FramePose(np.array([0.2, 0.1, 0.5]), np.eye(3)), FramePose(np.zeros(3), np.eye(3))]
    ball, disc = mse.RollingSphere("ball", radius=0.5), mse.RollingDisc("disc", radius=0.5)
    assert ball.constraint(frames, ())[0] == disc.constraint(frames, ())[0] == 0.0
    np.testing.assert_array_equal(flow_rows(ball, frames, np.zeros(0)), flow_rows(disc, frames, np.zeros(0)))


def test_forces_on_the_plane_are_along_its_axes():
    system = mse.MSystem("ball", gravity=(0, 0, -9.81))
    ball = system.add(mse.RigidBody("ball", mass=2.0, inertia=0.1, at=Pose.dz(0.5)))
    system.add(mse.RollingSphere("sphere", radius=0.5), between=(ball, system.ground))
    point = system.find_working_point()
    np.testing.assert_allclose(point.reactions["sphere"], [0.0, 0.0, -2.0 * 9.81], atol=1e-9)


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_a_disc_that_lies_flat_is_refused(monkeypatch, factor):
    monkeypatch.setattr(rolling, "_FLAT", factor * rolling._FLAT)
    system = mse.MSystem("coin", gravity=(0, 0, -9.81))
    coin = system.add(mse.RigidBody("coin", mass=1.0, inertia=0.1))
    system.add(mse.RollingDisc("disc", axis=(0, 0, 1), radius=0.5), between=(coin, system.ground))
    with pytest.raises(
        ModelError, match="RollingDisc 'disc': it lies flat on its plane, where no point is the lowest; expected"
    ):
        system.simulate(duration=1.0, dt=1.0)


def test_a_disc_needs_an_axis():
    with pytest.raises(ModelError, match=r"RollingDisc 'disc': axis is \[0\.0, 0\.0, 0\.0\]; it has no direction"):
        mse.RollingDisc("disc", axis=(0, 0, 0), radius=0.5)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_disc_that_lies_flat_but_for_rounding_is_refused_at_once(method):
    system = mse.MSystem("coin", gravity=(0, 0, -9.81))
    coin = system.add(mse.RigidBody("coin", mass=1.0, inertia=0.1, at=Pose.rx(np.pi / 2)))
    system.add(mse.RollingDisc("disc", axis=(0, 1, 0), radius=0.5), between=(coin, system.ground))
    with pytest.raises(ModelError, match="RollingDisc 'disc': it lies flat on its plane, where no point is the lowest"):
        system.simulate(duration=1.0, dt=1.0, method=method, progress=False)


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_a_disc_that_falls_flat_is_named(monkeypatch, factor):
    """Without spin it falls straight; the rim that touches goes over to the other side when it is flat."""
    monkeypatch.setattr(rolling, "_NEARLY_FLAT", factor * rolling._NEARLY_FLAT)
    system = mse.MSystem("coin", gravity=(0, 0, -9.81))
    coin = system.add(mse.RigidBody("coin", mass=1.0, inertia=(1 / 16, 1 / 8, 1 / 16), at=Pose.dz(0.5) @ Pose.rx(1.4)))
    system.add(mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az")), between=(coin, system.ground))
    system.add(mse.RollingDisc("disc", axis=(0, 1, 0), radius=0.5), between=(coin, system.ground))
    with pytest.raises(
        mse.MotionError, match=r"'disc' has fallen to .* rad from flat on its plane, .*; the motion ends"
    ) as caught:
        system.simulate(duration=1.0, dt=0.01, rtol=1e-6, progress=False)
    assert caught.value.motion["free.ax"][-1] > 1.5
