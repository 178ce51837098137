"""Large motions in three dimensions: poses on the page and in animations are those of the motion."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import browser
import mse
from mse import FileError, ModelError, Pose
from mse.tools.page.document import motion_data
from mse.tools.plots.animation import moved
from test_page import SCENE, WEBGL, displacements, paused, place, until


def acrobat(duration: float) -> mse.Trajectory:
    """Two bodies that turn about different axes by more than a turn."""
    system = mse.MSystem("acrobat", gravity=(0, 0, -9.81))
    ends = {"top": Pose.dz(0.25), "low": Pose.dz(-0.25)}
    upper = system.add(mse.RigidBody("upper", mass=1.0, inertia=0.02, at=Pose.dz(-0.25), frames=ends))
    lower = system.add(mse.RigidBody("lower", mass=1.0, inertia=0.02, at=Pose.dz(-0.75), frames=ends))
    system.add(mse.Revolute("shoulder", axis=(0, 1, 0)), between=(upper.frame("top"), system.ground))
    system.add(mse.Revolute("elbow", axis=(1, 1, 0)), between=(lower.frame("top"), upper.frame("low")))
    system.add(mse.Spring("spring", length=0.5, stiffness=20.0), between=(lower.frame("low"), system.ground))
    start = {"shoulder.angle": 2.0, "shoulder.angle'": 9.0, "elbow.angle'": 12.0}
    return system.simulate(duration=duration, dt=0.02, initial=start, rtol=1e-6)


@pytest.fixture(scope="module")
def motion():
    return acrobat(1.0)


def unpacked(packed: dict) -> np.ndarray:
    shares = np.frombuffer(base64.b64decode(packed["i2"]), dtype="<i2").reshape(-1, 6) / 32767
    return shares * np.repeat(packed["scale"], 3)


def test_the_page_has_the_poses_of_all_samples(motion):
    data = motion_data(motion)
    (run,) = data["motions"]
    poses = unpacked(run["poses"]).reshape(len(motion.time), -1, 6)
    np.testing.assert_allclose(np.frombuffer(base64.b64decode(run["at"]), dtype="<f4"), motion.time, rtol=1e-6)
    labels = data["frames"]["names"]
    carriers = np.frombuffer(base64.b64decode(data["frames"]["on"]), dtype="<u4")
    for body in ("upper", "lower"):
        o, u = motion.poses(f"{body}.center")
        on = carriers[labels.index(f"{body}.center")]
        turned = Rotation.from_rotvec(poses[:, on, 3:]).as_matrix() @ u[0]
        np.testing.assert_allclose(turned, u, atol=3e-4)
        np.testing.assert_allclose(o[0] + poses[:, on, :3], o, atol=2e-4)
    assert data["size"] >= 0.999 * np.ptp(motion.poses("lower.low")[0], axis=0).max()  # there is room for all of it
    assert data["start"]["movers"] == "t = 0 s" and data["about"] == "motion from 0 to 1 s"


@pytest.mark.browser
@pytest.mark.slow
def test_the_picture_moves_as_the_motion_did(motion, tmp_path):
    motion.to_html(tmp_path / "run.html")
    with browser.opened(tmp_path / "run.html", *WEBGL) as page:
        until(page, f"{SCENE}.draws > 0")
        paused(page)
        for share in (0.0, 0.3, 0.7, 0.71, 1.0):  # 0.71: halfway between two samples
            place(page, share)
            now = motion.at(share)
            for name in ("upper.low", "lower.low", "lower.top"):
                expected = now.poses[name].o - motion.at(0.0).poses[name].o
                # halfway, points lie on the chord of their arc, off by w^2 dt^2/8 of their distance
                assert displacements(page, [name])[name] == pytest.approx(expected, abs=1e-2 if share == 0.71 else 5e-4)
            assert f"t = {share:.3f} s" in page.locator("output").first.inner_text()


@pytest.mark.slow
def test_an_animation_has_a_picture_for_each_sample(tmp_path):
    from PIL import Image

    short = acrobat(0.06)
    short.save_animation(tmp_path / "run.gif")
    with Image.open(tmp_path / "run.gif") as picture:
        assert picture.n_frames == 4 and picture.info["duration"] == 500 and picture.info["loop"] == 0
    first, second, *_ = (np.asarray(p, dtype=int) for p in moved(short))
    changed = np.abs(first - second).max(axis=2) > 30
    assert 0.001 < changed.mean() < 0.1


def test_what_cannot_be_shown_is_refused(motion, tmp_path):
    with pytest.raises(FileError, match=r"run.mp4: a file of this kind cannot store an animation; expected .*gif'"):
        motion.save_animation(tmp_path / "run.mp4")
    one = replace(motion, time=motion.time[:1])
    with pytest.raises(ModelError, match="acrobat: the motion has 1 sample; expected at least two"):
        one.to_html(tmp_path / "run.html")
