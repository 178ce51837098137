"""The examples, and the code in the README and the guide, run as they stand."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import mse

ROOT = Path(__file__).parent.parent


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
