"""Pictures in three dimensions: modes beside the system at rest, animations, arrows, ground, shapes, what is refused."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest
from PIL import Image

import mse
from models import four_wire_chain
from mse import Pose
from mse.errors import MissingPackageError
from mse.tools.plots import solids
from mse.tools.plots.animation import period
from mse.tools.plots.geometry import Displacement
from mse.tools.scene import Scene


def bench(damping: float = 0.0) -> mse.MSystem:
    """A box on two springs, one of them with a damper, pushed at its right side and read at its left."""
    system = mse.MSystem("bench", gravity=(0, 0, -9.81))
    hooks = {"left": Pose.dx(-0.2), "right": Pose.dx(0.2)}
    box = system.add(
        mse.RigidBody("box", shape=mse.Box((0.4, 0.2, 0.1)), density=250.0, at=Pose.dz(-0.5), frames=hooks)
    )
    for side, x in (("left", -0.2), ("right", 0.2)):
        spring = system.add(mse.Spring(f"{side} spring", length=0.5, stiffness=2e3, damping=damping if x > 0 else 0.0))
        system.clamp(system.ground, spring.frame(1), Pose.dx(x))
        system.clamp(box.frame(side), spring.frame(0))
    coil, probe = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("probe"))
    system.clamp(system.ground, coil.frame(0), Pose.dxdydz(0.4, 0, -0.5))
    system.clamp(box.frame("right"), coil.frame(1))
    system.clamp(system.ground, probe.frame(1), Pose.dxdydz(-0.4, 0, -0.5))
    system.clamp(box.frame("left"), probe.frame(0))
    return system


@pytest.fixture(scope="module")
def solved():
    wp = bench().find_working_point()
    return wp, wp.linearize().modes()


def polygons(collection) -> np.ndarray:
    """Corners (k, 3, 3) m of a collection, in the order in which they were given."""
    return (
        np.asarray(collection._faces)[..., :3] if hasattr(collection, "_faces") else np.asarray(collection._vec[:3].T)
    )


def legend(axes) -> list[str]:
    return [t.get_text() for t in axes.figure.legends[0].get_texts()]


# -- modes ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("which", [0, -1])
def test_a_mode_is_drawn_displaced_by_what_the_title_says_in_front_of_the_system_at_rest(solved, which):
    wp, modes = solved
    mode = [mode for mode in modes if not mode.free][which]
    axes = wp.plot(modes=modes, number=mode.number).axes[0]
    scene = Scene.of(wp)
    displaced = Displacement.of(scene, mode)
    title = axes.get_title()
    assert f"mode {mode.number}, {mode.frequency_hz:.4g} Hz" in title
    said = re.search(r"largest displacement drawn: ([\d.]+) mm", title)
    assert float(said[1]) * 1e-3 == pytest.approx(scene.largest(displaced.twists)[0], rel=0.05)
    moved, rest = axes.collections
    assert "undisplaced" in legend(axes)
    corners = {
        name: solids.polygons(s, pale=pale, size=1.0).corners
        for name, s, pale in (("moved", scene.moved(displaced.twists), False), ("rest", scene, True))
    }
    assert len(corners["moved"])
    # each corner drawn is one of those of the scene
    low, high = (f(corners["moved"].reshape(-1, 3), axis=0) for f in (np.min, np.max))
    drawn = polygons(moved).reshape(-1, 3)
    np.testing.assert_allclose([drawn.min(axis=0), drawn.max(axis=0)], [low, high], atol=0.02)
    low, high = (f(corners["rest"].reshape(-1, 3), axis=0) for f in (np.min, np.max))
    drawn = polygons(rest).reshape(-1, 3)
    np.testing.assert_allclose([drawn.min(axis=0), drawn.max(axis=0)], [low, high], atol=0.02)
    assert np.ptp(np.asarray(rest.get_facecolor())[:, :3], axis=1).max() < 1e-9  # gray


def test_modes_without_a_number_give_the_first_and_one_mode_will_do(solved):
    wp, modes = solved
    first, one = wp.plot(modes=modes), wp.plot(modes=modes[2])
    assert "mode 0," in first.axes[0].get_title()
    assert "mode 2," in one.axes[0].get_title()


def turning_mode(wp):
    """The damped mode in which the box turns and shifts with different phases."""
    modes = wp.linearize().modes(damped=True)
    return modes[int(np.argmax(np.abs(modes["box.ay"]) * (np.abs(modes.eigenvalues.imag) > 0)))]


def test_a_damped_mode_is_drawn_at_the_phase_of_its_largest_displacement():
    wp = bench(damping=20.0).find_working_point()
    scene, mode = Scene.of(wp), turning_mode(wp)
    displaced = Displacement.of(scene, mode)
    assert np.abs(displaced.twists.imag).max() > 0.0
    sizes = [np.sum((displaced.twists * np.exp(1j * phase)).real ** 2) for phase in np.linspace(0, 2 * np.pi, 41)]
    assert sizes[0] >= 0.98 * max(sizes)


def test_what_cannot_be_shown_is_refused(solved):
    wp, modes = solved
    other = four_wire_chain(1).find_working_point()
    for message, options in (
        ("number is given without modes", {"number": 1}),
        ("number is 99; expected a whole number of at least 0 and at most", {"modes": modes, "number": 99}),
        ("modes is 3; expected its modes", {"modes": 3}),
        ("both modes and a motion", {"modes": modes, "motion": "x"}),
        ("motion is 'x'; expected one of its free or unstable motions", {"motion": "x"}),
        ("which this system does not have", {"modes": other.linearize().modes()}),
    ):
        with pytest.raises(mse.ModelError, match=message):
            wp.plot(**options)
    with pytest.raises(mse.ModelError, match=r"write working_point.plot\(modes=modes, number=1\)"):
        modes[1].plot()
    with pytest.raises(mse.UnknownNameError, match=r"no option 'mode' \(did you mean 'modes'\?\)"):
        wp.plot(mode=1)


# -- animations -------------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_an_animation_shows_one_period_and_begins_again(solved, tmp_path):
    wp, modes = solved
    path = tmp_path / "mode.gif"
    wp.save_animation(path, modes=modes, number=1)
    with Image.open(path) as gif:
        check_period(gif)


def check_period(gif) -> None:
    assert (gif.n_frames, gif.info["loop"], gif.info["duration"]) == (40, 0, 50)
    pictures = []
    for k in range(40):
        gif.seek(k)
        pictures.append(np.asarray(gif.convert("RGB"), dtype=int))
    # a quarter of a period is at rest, half of one on the other side, and what follows comes back
    changed = [np.abs(p - pictures[0]).max(axis=2) > 60 for p in pictures]
    assert changed[20].sum() > changed[10].sum() > 100
    assert not changed[39].sum() > 0.5 * changed[10].sum()
    assert all((p[0, 0] == pictures[0][0, 0]).all() and p[0, 0].min() > 250 for p in pictures)
    for k in (5, 12):
        np.testing.assert_array_equal(pictures[k], pictures[40 - k])


@pytest.mark.slow
def test_a_damped_mode_comes_back_another_way():
    wp = bench(damping=20.0).find_working_point()
    pictures = [np.asarray(p, dtype=int) for p in period(wp, turning_mode(wp))]
    assert len(pictures) == 40
    assert np.abs(pictures[7] - pictures[33]).max() > 60


def test_animations_are_refused_with_the_remedy(solved, tmp_path, monkeypatch):
    wp, modes = solved
    with pytest.raises(mse.FileError, match=r"mode.mp4: .*expected a name such as 'mode.gif'"):
        wp.save_animation(tmp_path / "mode.mp4", modes=modes)
    with pytest.raises(mse.ModelError, match="neither modes nor a motion is given"):
        wp.save_animation(tmp_path / "mode.gif")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingPackageError, match=r"animations need pillow.*pip install 'mse\[plot\]'"):
        wp.save_animation(tmp_path / "mode.gif", modes=modes)
    assert not list(tmp_path.iterdir())


# -- what is drawn ----------------------------------------------------------------------------------------------------------
def test_arrows_lead_to_where_is_pushed_and_read(solved):
    axes = solved[0].plot().axes[0]
    colors = {line.get_label(): line for line in axes.figure.legends[0].get_lines()}
    for label, tail, tip in (
        ("actuator pushes", (0.4, 0, -0.5), (0.2, 0)),
        ("sensor reads", (-0.4, 0, -0.5), (-0.2, 0)),
    ):
        (curve,) = (c for c in axes.lines if c.get_color() == colors[label].get_color() and len(c.get_data_3d()[0]) > 1)
        points = np.array(curve.get_data_3d()).T
        np.testing.assert_allclose(points[0], tail)
        np.testing.assert_allclose(points[1, :2], tip, atol=1e-9)  # the box hangs lower than it was placed
        assert (np.linalg.norm(points[3::3] - points[1], axis=1) < 1e-12).all()  # the head is at the tip


def test_the_ground_is_marked_where_something_hangs_and_not_where_something_is_read(solved):
    axes = solved[0].plot().axes[0]
    x = np.array(axes.lines[0].get_data_3d())
    x = x[:, np.isfinite(x).all(axis=0)]
    assert legend(axes)[2] == "ground"
    for place in ((-0.2, 0, 0), (0.2, 0, 0)):
        assert np.linalg.norm(x.T - place, axis=1).min() < 0.05
    for place in ((-0.4, 0, -0.5), (0.4, 0, -0.5)):
        assert np.linalg.norm(x.T - place, axis=1).min() > 0.1
    assert x[2].max() > 0.0  # hatches above what hangs


def test_gravity_is_upright_along_any_axis():
    for gravity, upright in (((0, -9.81, 0), 1), ((9.81, 0, 0), 0), ((0, 0, -9.81), 2), ((0, 0, 0), 2)):
        system = mse.MSystem("s", gravity=gravity)
        body = system.add(mse.RigidBody("b", mass=1.0, inertia=1.0))
        system.clamp(system.ground, body.frame(0))
        axes = system.plot().axes[0]
        assert axes._vertical_axis == upright
        assert ("gravity, 9.81 m/s2" in legend(axes)) == any(gravity)


def test_shapes_hide_what_is_behind_them_and_are_shaded():
    def pixels(system) -> np.ndarray:
        buffer = io.BytesIO()
        system.plot(frames=False, names=False).savefig(buffer, format="png", dpi=60)
        return np.asarray(Image.open(buffer).convert("RGB"), dtype=int)

    system = mse.MSystem("box", gravity=(0, 0, 0))
    box = system.add(mse.RigidBody("box", mass=1.0, shape=mse.Box((1.0, 1.0, 1.0))))
    system.clamp(system.ground, box.frame(0))
    blue = pixels(system)
    of_box = blue[(blue[..., 2] > blue[..., 0] + 60)]
    assert len(of_box) > 5000
    # the three faces that are seen have brightnesses of their own
    _, counts = np.unique(of_box.sum(axis=1), return_counts=True)
    assert (counts > 500).sum() >= 3
    inside = system.add(mse.RigidBody("inside", mass=1.0, shape=mse.Sphere(0.3)))
    system.clamp(system.ground, inside.frame(0))
    assert np.abs(pixels(system) - blue)[100:220, 120:300].mean() < 3.0


def test_names_do_not_cover_each_other():
    system = mse.MSystem("crowd", gravity=(0, 0, 0))
    for k in range(30):
        body = system.add(mse.RigidBody(f"quite a long name {k}", mass=1.0))
        system.clamp(system.ground, body.frame(0), Pose.dxdydz(0.02 * k, 0.01 * (k % 3), 0))
    figure = system.plot()
    figure.savefig(io.BytesIO(), format="png")
    axes = figure.axes[0]
    shown = [t.get_window_extent() for t in axes.texts if t.get_visible()]
    assert 5 < len(shown) <= 30
    assert not any(a.overlaps(b) for k, a in enumerate(shown) for b in shown[k + 1 :])
