"""The examples and the steps of the tutorial run as they stand; their numbers are those of closed forms."""

from __future__ import annotations

import re

import numpy as np
import pytest
from reading import drawn, outside, overlaps

import mse
from example_scripts import EXAMPLES, TUTORIAL, example, figures, said, source, step

# a line of each example's output that holds a result
SAYS = {
    "simple_pendulum": "t = 1.0 s: x = 0.137102 m",
    "damping_loop": "with 35.918 times the gain the fastest growth is",
    "four_wires": "the scale carries 392.400 N",
    "attenuation_chain": "Attenuation chain: 15 undamped modes",
    "cantilever_blade": "under 26 kg the blade is flat",
    "violin_modes": "bending zone 3.601 mm",
    "kagra_type_bp": "apart by at most 5e-08 and 1e-03",
    "torsion_balance": "1.281e-10 N m turn it by 1.3008 mrad; by hand 1.3008 mrad",
    "inverted_pendulum": "it falls over with 25.513 kg; by hand with 25.513 kg",
    "pre_isolator": "by hand 0.20944 Hz, Q 73.41",
    "turning_over": "modes at [0.603238 1.618019] Hz, by hand [0.603238 1.618019] Hz",
    "slider_crank": "torque from -21.685 to 22.320 N m",
    "four_bar_in_space": "crank at 1 s: 7.802163426 rad, known 7.802163426 rad",
    "rotor": "unstable above 300.000000 rad/s, by hand 300.000000 rad/s",
    "bicycle": "weave speed 4.2924 m/s, capsize speed 6.0243 m/s",
    "flexure_stage": "by hand: 13.4 times its weight",
    "hexapod": "they lift 196.200000 N, the platform weighs 196.200000 N",
    "double_pendulum_on_blades": "along y by hand: 0.6490 and 1.4938 Hz",
    "loudspeaker": "0.6667 A move the cone by 2.5361 mm and add 860.18 N/m",
    "lagrangian_daes": "4.5 as printed: thesis: nothing decides blender.v2; expected a law that holds each of them",
    "levitation": "falls with 45.6369 1/s, held with -14.8140 1/s",
    "hydraulic_mount": "at 40 Hz 84495.6 N/m, and 84896.0 N/m that damps",
    "shunted_damper": "3.873 ohm: at most 249.988 um/N, by hand 250.000 um/N",
    "links_from_symbols": "after 2 s the last bar is at 0.971649 rad, and 0.971649 rad",
    "heated_rod": "1000 W lift the body by 5.7500 um, by hand 5.7500 um",
    "body_from_finite_elements": "357 nodes, 909 coordinates",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_and_draw_what_can_be_read(name, monkeypatch):
    assert SAYS[name] in said(name)
    assert figures(example(name))
    # its page in three dimensions, where there are bodies
    assert name == "lagrangian_daes" or re.search(
        r"^[a-z_.0-9\[\]]+\.view\(modes=modes.*\)$", source(name), re.MULTILINE
    )
    for figure in figures(example(name)):
        seen = drawn(figure, monkeypatch)
        assert seen.texts and not overlaps(seen) + outside(seen, figure)


# and of each step of the tutorial
STEPS = {
    "step_1_install": "Spring 'spring': no parameter 'lenght' (did you mean 'length'?)",
    "step_2_first_pendulum": "10.53928 mm/N, by hand 10.53928 mm/N",
    "step_3_blades": "10.0 kg: tip   -0.01 mm, bounces at 2.272 Hz",
    "step_4_flexure_stage_with_joints": "a stiffness of -17037.0 N/m: a sign that two frames are exchanged",
    "step_5_closing_a_loop": "free  : rms of the mirror in the last 20 s",
    "step_6_reading_a_page": "mirror_on_a_blade.html: ",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIAL)
def test_steps_of_the_tutorial_run_and_say_what_they_tell(name):
    module, printed = step(name)
    assert STEPS[name] in printed
    assert figures(module) or name in ("step_1_install", "step_4_flexure_stage_with_joints", "step_6_reading_a_page")


@pytest.mark.slow
def test_the_stage_of_the_tutorial_is_as_stiff_as_its_blades_and_its_hinge():
    stage, _ = step("step_4_flexure_stage_with_joints")
    assert stage.k == pytest.approx(stage.by_hand, rel=1e-3)
    assert stage.ratio == pytest.approx(1 / stage.ARM, rel=1e-9)
    assert stage.modes.frequencies_hz[0] == pytest.approx(np.sqrt(stage.by_hand / stage.moving) / (2 * np.pi), rel=2e-3)


@pytest.mark.slow
def test_the_loop_of_the_tutorial_damps_as_its_poles_say():
    loop, _ = step("step_5_closing_a_loop")
    assert loop.plant.A.shape == (24, 24)
    small, medium, large = (min(ratio for _, ratio in loop.swings(gain)) for gain in (10.0, 40.0, 160.0))
    assert 0 < small < medium and large < medium
    rms = [np.sqrt(np.mean(run["at mirror.x"][-20_000:] ** 2)) for run in (loop.free, loop.damped)]
    assert rms[1] < 0.1 * rms[0]


def test_bench_on_four_wires_against_its_closed_form():
    """Bounce sqrt(4 k/m); the swing of a body whose hooks stay level, g/l over its stiffened wires, to a few per mille."""
    wp = example("four_wires").working_point
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
    wp = chain.working_point
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
    wp = study.working_point
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
    linear = violin.linear
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


@pytest.mark.slow
def test_torsion_balance_turns_as_slowly_as_its_wire_is_soft():
    """sqrt(kappa/I), tau/kappa; the dumbbell hangs untwisted, and swings about where the torque holds it."""
    balance = example("torsion_balance")
    assert balance.modes.frequencies_hz[0] == pytest.approx(balance.by_hand, rel=1e-9)
    assert balance.modes[0].participants() == "dumbbell.az 100 %"
    assert balance.answer == pytest.approx(balance.torque / balance.kappa, rel=1e-9)
    assert abs(balance.working_point.twists["wire"]) < 1e-12
    angle = balance.history["angle.az"]
    t, rate = balance.history.time, 5e-7 / (2 * balance.dumbbell.inertia[2, 2])
    omega = np.sqrt((2 * np.pi * balance.by_hand) ** 2 - rate**2)
    swing = np.exp(-rate * t) * (np.cos(omega * t) + rate / omega * np.sin(omega * t))
    assert angle == pytest.approx(balance.answer * (1 - swing), abs=1e-6 * balance.answer)


@pytest.mark.slow
def test_a_damping_loop_is_stable_up_to_its_gain_margin_and_damps_the_mirror():
    loop = example("damping_loop")
    assert loop.closed.stable and abs(loop.growth) < 1e-9
    # the digital controller is late by its computing time and half a sample more, at crossings far below its sampling rate
    assert loop.loop.stable and loop.loop.margins().gain_margin == pytest.approx(loop.margins.gain_margin, rel=0.01)
    last = slice(-200, None)
    assert np.abs(loop.held["at mirror.x"][last]).max() < 0.25 * np.abs(loop.free["at mirror.x"][last]).max()
    decay = loop.swinging[0].damping_ratio * 2 * np.pi * loop.swinging[0].frequency_hz
    early = slice(0, 200)
    fallen = np.log(np.abs(loop.held["at mirror.x"][early]).max() / np.abs(loop.held["at mirror.x"][last]).max())
    assert fallen == pytest.approx(18.0 * decay, rel=0.15)


@pytest.mark.slow
def test_inverted_pendulum_softens_and_falls_as_a_beam_column_does():
    pendulum = example("inverted_pendulum")
    assert 10.0 * pendulum.instability.load_factor == pytest.approx(pendulum.most, rel=1e-5)
    for mass, f in pendulum.swing.items():
        squared = pendulum.stiffness(mass * 9.81) / mass / (2 * np.pi) ** 2
        # shear of the flexure and its own mass are not in the formula
        assert f**2 == pytest.approx(squared, abs=1e-5 * pendulum.BENDING / pendulum.FLEXURE / mass)
    upright = pendulum.build(26.0).find_working_point(seek="nearest")
    assert not upright.stable


@pytest.mark.slow
def test_a_pendulum_that_turns_over_keeps_its_energy():
    pendulum = example("turning_over")
    assert np.ptp(pendulum.motion["elbow.angle"]) > 2 * np.pi
    assert pendulum.drift < 1e-7
    assert pendulum.apart < 1e-9
    taken = pendulum.damped.energy
    lost = [taken["kinetic"][k] + taken["gravity"][k] for k in (0, -1)]
    assert -taken["damped"][-1] == pytest.approx(lost[0] - lost[1], abs=1e-7)


@pytest.mark.slow
def test_flexure_stage_is_a_parallelogram():
    """48 EI/L^3 less 6/5 W/L; the drop 3/5 x^2/L; four columns clamped at both ends, one of them free to move sideways."""
    stage = example("flexure_stage")
    assert stage.measured == pytest.approx(stage.stiffness(), rel=1e-3)  # shear of the blades
    assert stage.modes.frequencies_hz[0] == pytest.approx(np.sqrt(stage.stiffness() / 5.0) / (2 * np.pi), rel=2e-3)
    assert stage.modes.frequencies_hz[1] > 20 * stage.modes.frequencies_hz[0]
    for force, wp in stage.study.items():
        pose = wp.poses["table.center"]
        x = pose.o[0] - stage.rest.o[0]
        assert x == pytest.approx(force / stage.stiffness(), rel=2e-3, abs=1e-12)
        assert stage.rest.o[2] - pose.o[2] == pytest.approx(0.6 * x**2 / stage.LENGTH, rel=5e-3, abs=1e-12)
        assert abs(pose.rotation_vector()).max() < 2e-6
    columns = 4 * np.pi**2 * stage.BENDING / stage.LENGTH**2 / (5.0 * 9.81)
    assert stage.instability.load_factor == pytest.approx(columns, rel=2e-3)


@pytest.mark.slow
def test_hexapod_goes_where_its_legs_say_and_is_as_stiff_as_they_are():
    hexapod = example("hexapod")
    assert hexapod.reached.is_close(hexapod.wanted)
    assert hexapod.lifted == pytest.approx(20.0 * 9.81, rel=1e-12)
    assert hexapod.modes.frequencies_hz == pytest.approx(hexapod.by_hand(), rel=1e-4)


@pytest.mark.slow
def test_double_pendulum_swings_and_bounces_by_the_textbook():
    double = example("double_pendulum_on_blades")
    wp, modes = double.working_point, double.modes
    assert wp.stable and not wp.free
    assert max(abs(wp.poses[f"{body}.center"].rotation_vector()).max() for body in double.MASSES) < 1e-9
    for name in double.TIPS:
        assert abs(np.degrees(np.arcsin(wp.poses[f"blade {name}.1"].U[2, 0]))) < 1e-3
        assert abs(wp.twists[f"wire {name}"]) < 1e-9

    def of(coordinates):
        shares = sum(modes[c] ** 2 * double.MASSES[c.split(".")[0]] for c in coordinates)
        return np.sort(modes.frequencies_hz[np.argsort(shares)[-2:]])

    # the tips of the blades give way a little to the slope of their wires, and the blades move along
    assert of(["upper.y", "mirror.y"]) == pytest.approx(double.swings(), rel=2e-3)
    assert of(["upper.z", "mirror.z"]) == pytest.approx(double.bounces(), rel=2e-3)
    f = np.array([1e-3, 40.0, 80.0])
    response = double.linear.frequency_response(f, inputs=["base.y"])["at mirror.y", "base.y"]
    assert response[0] == pytest.approx(1.0, abs=1e-4)
    assert np.log2(abs(response[2] / response[1])) == pytest.approx(-4.0, abs=0.1)


@pytest.mark.slow
def test_the_bracket_of_bricks_weighs_and_bends_as_a_cantilever():
    bracket = example("body_from_finite_elements")
    # bricks: rigid motions cost nothing, a stretched brick is a bar between guided faces
    mass, stiffness = bracket.brick(np.array([0.02, 0.02, 0.05]))
    rigid = np.tile(np.eye(3), (20, 1))
    assert abs(stiffness @ rigid).max() < 1e-9 * abs(stiffness).max()
    assert np.diag(rigid.T @ mass @ rigid) == pytest.approx([2700 * 0.02 * 0.02 * 0.05] * 3, rel=1e-12)
    pulled = np.zeros((20, 3))
    pulled[:, 2] = bracket.NODES[:, 2] * 1e-6
    modulus = 7e10 * (1 - 0.33) / ((1 + 0.33) * (1 - 2 * 0.33))
    energy = modulus * 0.02 * 0.02 / 0.05 * (2e-6) ** 2
    assert pulled.ravel() @ stiffness @ pulled.ravel() == pytest.approx(energy, rel=1e-12)
    own = bracket.mass.sum() / 3
    assert own == pytest.approx(2700 * np.prod(bracket.SIZE), rel=1e-12)
    for k, (thickness, width) in enumerate(((0.040, 0.060), (0.060, 0.040))):
        assert bracket.modes.frequencies_hz[k] == pytest.approx(bracket.by_hand(thickness, width), rel=0.02)
