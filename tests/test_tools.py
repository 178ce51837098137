"""Pictures, the command line, the examples and the README."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import mse
from models import four_wire_chain
from mse.tools import cli

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def chain():
    system = four_wire_chain(2, driven=True)
    return system, system.find_working_point()


def words(axes) -> str:
    texts = [axes.get_xlabel(), axes.get_ylabel(), axes.get_title()]
    legend = axes.get_legend()
    return " | ".join(texts + ([t.get_text() for t in legend.get_texts()] if legend else []))


def test_bode_plot_has_named_axes_and_curves(chain):
    response = chain[1].linearize().frequency_response(np.geomspace(0.1, 10, 50))
    magnitude, phase = response.plot(pairs=[("probe.x", "base.x"), ("probe.ay", "base.x")]).axes
    assert "probe.x / base.x (m/m)" in words(magnitude)
    assert "probe.ay / base.x (rad/m)" in words(magnitude)
    assert "phase (deg)" in words(phase)
    assert "frequency (Hz)" in words(phase)
    x, y = magnitude.lines[0].get_data()
    np.testing.assert_array_equal(x, response.frequencies)
    np.testing.assert_array_equal(y, np.abs(response["probe.x", "base.x"]))
    single = response.plot(pairs=[("probe.x", "base.x")]).axes[0]
    assert single.get_ylabel() == "magnitude (m/m)"
    # by default no more curves than one can tell apart, and none that is rounding
    everything = response.plot().axes[0]
    assert len(everything.lines) == 8
    assert "more responses not shown" in everything.get_title()
    assert min(np.abs(line.get_ydata()).max() for line in everything.lines) > 1e-9


def test_histories_have_a_panel_for_each_unit(chain):
    linear = chain[1].linearize()
    history = linear.simulate(duration=1.0, dt=0.01, inputs={"base.x": np.sin})
    panels = history.plot().axes
    assert [p.get_ylabel() for p in panels] == ["(m)", "(rad)"]
    assert "base.x" in words(panels[0])
    assert "probe.x" in words(panels[0])
    assert "probe.y" not in words(panels[0])
    assert panels[-1].get_xlabel() == "time (s)"
    assert len(history.plot(names=["probe.x"]).axes[0].lines) == 1


def test_mode_bars_show_frequencies_and_shares(chain):
    modes = chain[1].linearize().modes()
    top, bottom = modes.plot().axes
    heights = [p.get_y() + p.get_height() for p in top.patches]
    np.testing.assert_allclose(heights, modes.frequencies, rtol=1e-12)
    assert "frequency (Hz)" in words(top)
    assert "plate1" in words(bottom)
    per_mode = np.zeros(len(modes))
    for patch in bottom.patches:
        per_mode[round(patch.get_x() + patch.get_width() / 2)] += patch.get_height()
    np.testing.assert_allclose(per_mode, 1.0, rtol=1e-9)


def test_sketch_shows_bodies_wires_and_names(chain):
    system, wp = chain
    for result, title in ((wp, "chain of 2"), (system, "chain of 2: initial poses")):
        axes = result.plot().axes[0]
        assert axes.get_title() == title
        assert {"x (m)", "y (m)", "z (m)"} == {axes.get_xlabel(), axes.get_ylabel(), axes.get_zlabel()}
        assert {t.get_text().strip() for t in axes.texts} == {"plate0", "plate1"}
        assert {"Wire", "RigidBody", "PositionActuator"} <= {t.get_text() for t in axes.get_legend().get_texts()}
    bare = wp.plot(frames=False, names=False).axes[0]
    assert not bare.texts
    assert len(bare.lines) < len(axes.lines)


def test_poles_and_sparsity(chain):
    linear = chain[1].linearize()
    axes = linear.state_space().plot().axes[0]
    assert len(axes.lines[0].get_xdata()) == 24
    assert "imaginary part (rad/s)" in words(axes)
    assert "stiffness, 12 coordinates" in words(linear.plot().axes[0])


def test_missing_matplotlib_is_said_with_its_remedy(chain, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mse.MseError, match=r"pip install 'mse\[plot\]'"):
        chain[1].plot()
    assert cli.main(["demo", "--output", str(tmp_path)]) == 0
    assert "pip install 'mse[plot]'" in capsys.readouterr().out


def test_demo_prints_and_draws(tmp_path, capsys):
    assert cli.main(["demo", "--output", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert "0.15160771" in out
    assert "-10.8" in out
    picture = tmp_path / "new" / "pendulum_transfer_function.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_command_line_refuses_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["dmeo"])
    assert stop.value.code == 2
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert re.search(r"mse \d+\.\d+", capsys.readouterr().out)
    (tmp_path / "file").write_text("in the way")
    assert cli.main(["demo", "--output", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("mse: ")


def example(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "said", "pictures"),
    [
        ("simple_pendulum", "t = 1.0 s: x = 0.137102 m", ["pendulum_response.png", "pendulum_history.png"]),
        ("four_wires", "the scale carries 392.400 N", ["four_wires.png", "four_wires_modes.png"]),
    ],
)
def test_examples_run_and_draw(name, said, pictures, tmp_path, capsys):
    example(name).main(tmp_path)
    assert said in capsys.readouterr().out
    for picture in pictures:
        assert (tmp_path / picture).stat().st_size > 5000


def test_bench_on_four_wires_against_its_closed_form():
    """Bounce sqrt(4 k/m); the swing of a body whose hooks stay level, g/l over its stiffened wires, to a few per mille."""
    wp = example("four_wires").build().find_working_point()
    wire = wp.system["front left"]
    tension, k1 = wp.tensions["front left"], wire.axial_stiffness
    top, hook = wp.poses["front left.1"].o, wp.poses["front left.0"].o
    length = np.linalg.norm(top - hook)
    lean = (hook - top) / length
    vertical = 4 * (k1 * lean[2] ** 2 + tension / length * (1 - lean[2] ** 2))
    modes = wp.linearize().modes()
    bounce = int(np.argmax(modes.participation["bench"] * np.abs(modes["bench.z"]) ** 2))
    assert modes.frequencies[bounce] == pytest.approx(np.sqrt(vertical / 40.0) / (2 * np.pi), rel=1e-10)
    assert -4 * tension * lean[2] == pytest.approx(40 * 9.81, rel=1e-12)


def test_readme_code_runs():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert len(code.strip().splitlines()) <= 23
    assert names["working_point"].poses["mass.center"].o[2] == pytest.approx(-10.8, abs=1e-9)
    assert len(names["history"].time) == 20001


def test_guide_to_elements_runs():
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "adding_an_element.md").read_text(), re.DOTALL).group(1)
    names: dict = {}
    exec(compile(code, "adding_an_element.md", "exec"), names)
    s = mse.MSystem("levitated", gravity=(0, 0, -9.81))
    magnet = s.add(mse.RigidBody("magnet", mass=0.01, inertia=1e-6, at=mse.Pose.dz(0.05)))
    push = s.add(names["MagneticSpring"]("push", strength=1e-6))
    guide = s.add(mse.Bushing("guide", stiffness=(100.0, 100.0, 0.0, 1.0, 1.0, 1.0)))
    s.connect(s.ground, push.frame(0))
    s.connect(magnet.frame("center"), push.frame(1))
    s.connect(s.ground, guide.frame(1))
    s.connect(magnet.frame("center"), guide.frame(0))
    wp = s.find_working_point()
    # 3 c / z^4 = m g
    assert wp.poses["magnet.center"].o[2] == pytest.approx((3e-6 / (0.01 * 9.81)) ** 0.25, rel=1e-9)
    assert wp.stable
