"""The examples, and the code in the README and the guide, run as they stand."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest

import mse
from paths import ROOT


def example(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said", "pictures"),
    [
        ("simple_pendulum", "t = 1.0 s: x = 0.137102 m", ["pendulum_response.png", "pendulum_history.png"]),
        ("four_wires", "the scale carries 392.400 N", ["four_wires.png", "four_wires_modes.png"]),
        ("attenuation_chain", "Attenuation chain: 15 undamped modes", ["attenuation_chain.png"]),
        ("cantilever_blade", "under 26 kg the blade is flat", ["cantilever_blade.png"]),
        ("violin_modes", "bending zone 3.601 mm", ["violin_modes.png"]),
        ("kagra_type_bp", "apart by at most 5e-08", ["kagra_type_bp.png"]),
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
    assert modes.frequencies_hz[bounce] == pytest.approx(np.sqrt(vertical / 40.0) / (2 * np.pi), rel=1e-10)
    assert -4 * tension * lean[2] == pytest.approx(40 * 9.81, rel=1e-12)


@pytest.mark.slow
def test_attenuation_chain_stands_with_flat_blades_and_attenuates():
    """Flat blades, a third of the weight on each wire; 1 at rest, f^-4 for two stages, the legs' own mass at the top."""
    chain = example("attenuation_chain")
    wp = chain.build().find_working_point()
    assert wp.stable and not wp.free
    blades = [o.name for o in wp.system.objects if isinstance(o, mse.Beam)]
    assert len(blades) == 6
    assert max(abs(np.degrees(chain.tilt(wp, name))) for name in blades) < 1.0
    for name in chain.ANGLES:
        assert wp.tensions[f"middle wire {name}"] == pytest.approx(80.0 * 9.81 / 3, rel=1e-6)
    # nothing turns a chain that is built without twist
    assert max(abs(wp.poses[f"{body}.center"].rotation_vector()).max() for body in chain.MASSES) < 1e-6
    modes = wp.linearize().modes(15)
    assert 0.05 < modes.frequencies_hz[0] < 0.15

    f = np.array([1e-4, 8.0, 16.0])
    response = chain.attenuation(wp, f)
    for c in "xz":
        assert response[f"at payload.{c}", f"base.{c}"][0] == pytest.approx(1.0, abs=1e-5)
    top = abs(response["at top.x", "base.x"])
    down = {c: abs(response[f"at payload.{c}", f"base.{c}"]) for c in "xz"}
    assert np.log2(down["z"][2] / down["z"][1]) == pytest.approx(-4.0, abs=0.15)
    assert np.log2((down["x"] / top)[2] / (down["x"] / top)[1]) == pytest.approx(-4.0, abs=0.15)
    # a bar of mass m between hinges passes on m/6 of it, and moves as m/3 with its head
    bar = 7800.0 * np.pi * chain.TUBE_RADIUS**2 * chain.LEG
    assert top[1] == pytest.approx(3 * bar / 6 / (60.0 + 3 * bar / 3), rel=0.1)


def test_blade_is_flat_under_its_load_and_bounces_like_its_spring():
    """Slope, stress M/W at the clamp, sqrt(k/m), tip height of small deflections near the flat state."""
    study = example("cantilever_blade")
    wp = study.build().find_working_point()
    blade = wp.system["blade"]
    assert max(abs(study.slope(wp.poses[f"blade.{n}"])) for n in blade.nodes()) < 1e-5
    # what is left of the height is shear, which no curvature takes out
    assert -3e-5 < wp.poses["load.center"].o[2] < 0.0
    width, height = study.WIDTH[0], study.HEIGHT
    moment = study.GRAVITY * study.LOAD * study.LENGTH
    own = study.STEEL["density"] * height * study.LENGTH**2 * (width + 2 * study.WIDTH[1]) / 6 * study.GRAVITY
    most, place = blade.internal_forces(wp).largest
    assert place == 0.0
    assert most == pytest.approx((moment + own) / (width * height**2 / 6), rel=1e-5)
    # a little of the blade moves along
    assert study.bounce(wp) == pytest.approx(1 / np.sqrt(26.0 * study.compliance()) / (2 * np.pi), rel=2e-3)
    more = study.build(26.5).find_working_point().poses["load.center"].o[2] - wp.poses["load.center"].o[2]
    assert more == pytest.approx(-0.5 * study.GRAVITY * study.compliance(), rel=5e-3)


@pytest.mark.slow
def test_violin_modes_of_the_exact_wire_and_of_elements_agree():
    """Stiff-string formula; elements converge to the exact wire; the width of a peak is the diluted loss."""
    violin = example("violin_modes")
    linear = violin.build().find_working_point().linearize()
    exact = violin.violin_frequencies(linear, 3)
    number, zone = np.arange(1, 4), violin.BENDING_ZONE
    # N. Fletcher, T. Rossing, "The Physics of Musical Instruments", clamped ends, to second order in lambda/L; stretched
    stretch = violin.TENSION / (2e11 * np.pi * violin.RADIUS**2)
    formula = number * violin.STRING / np.sqrt(1 + stretch)
    formula *= 1 + 2 * zone + (4 + number**2 * np.pi**2 / 2) * zone**2
    assert exact == pytest.approx(formula, rel=1e-4)
    errors = []
    for elements in (32, 64, 128):
        model = violin.build("elements", elements).find_working_point().linearize()
        errors.append(abs(violin.violin_frequencies(model, 1)[0] / exact[0] - 1))
    assert errors[0] > 3 * errors[1] > 15 * errors[2]
    assert errors[2] < 1e-4
    share, theory = violin.dilution(linear, exact[0], 1)
    assert share == pytest.approx(theory, rel=0.02)
    f = np.array([1e-4, 5.0, 10.0])
    response = linear.frequency_response(f, loss={"wire": violin.LOSS})["probe.x", "support.x"]
    assert response[0] == pytest.approx(1.0, abs=1e-6)
    assert np.log2(abs(response[2] / response[1])) == pytest.approx(-2.0, abs=0.05)


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
    s.clamp(s.ground, push.frame(0))
    s.clamp(magnet.frame("center"), push.frame(1))
    s.clamp(s.ground, guide.frame(1))
    s.clamp(magnet.frame("center"), guide.frame(0))
    wp = s.find_working_point()
    # 3 c / z^4 = m g
    assert wp.poses["magnet.center"].o[2] == pytest.approx((3e-6 / (0.01 * 9.81)) ** 0.25, rel=1e-9)
    assert wp.stable


def test_the_guide_to_beams_runs(capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "beams.md").read_text(), re.DOTALL).group(1)
    code = code.replace("max_load_factor=50.0", "max_load_factor=2.0")
    names: dict = {}
    exec(compile(code, "docs/beams.md", "exec"), names)
    assert names["working_point"].stable
    assert "largest normal stress" in capsys.readouterr().out


def test_the_guide_to_sweeps_and_runs_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "sweeps_and_runs.md").read_text()
    names: dict = {}
    exec(
        compile("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), "docs/sweeps_and_runs.md", "exec"),
        names,
    )
    assert names["run"].time[-1] == 60.0 and len(names["history"].time) == 10_001
    changed = names["point"].update({"wire.length": 1.1, "mass.mass": 12.0})
    assert changed.poses["mass.center"].o[2] == pytest.approx(-1.1, rel=0.01)
    np.testing.assert_array_equal(mse.read_recording("run.npy").values, names["run"].values)
    grid = names["linear"].resonance_grid(0.1, 100.0).frequencies_hz
    response = names["linear"].frequency_response(grid, inputs=["coil.fx"], outputs=["probe.x"])
    assert np.isfinite(response["probe.x", "coil.fx"]).all()
