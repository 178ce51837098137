"""Whole models against the independent answers in tests/reference."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mse
from mse import Pose
from paths import REFERENCE

AXES = {"x": "x", "y": "y", "z": "z", "rx": "ax", "ry": "ay", "rz": "az"}


def case(name: str) -> dict:
    return json.loads((REFERENCE / f"{name}.json").read_text())


def sensed(system: mse.MSystem, name: str, frame) -> None:
    sensor = system.add(mse.PositionSensor(name))
    system.clamp(frame, sensor.frame(0))
    system.clamp(system.ground, sensor.frame(1))


# -- case 01: the manual's pendulum -------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tutorial():
    p = case("case01_tutorial_pendulum")["parameters"]
    s = mse.MSystem("pendulum", gravity=(0, 0, p["gz"]))
    wire = s.add(mse.Spring("wire", length=p["spring_Separation"], stiffness=p["spring_K"]))
    mass = s.add(
        mse.RigidBody(
            "mass", mass=p["mass"], inertia=(p["Ixx"], p["Iyy"], p["Izz"]), at=Pose.dz(p["initial_guess_body_z"])
        )
    )
    piezo = s.add(mse.PositionActuator("piezo"))
    s.clamp(s.ground, piezo.frame(1))
    s.clamp(piezo.frame(0), wire.frame(1))
    s.clamp(wire.frame(0), mass.frame(0))
    sensed(s, "probe", mass.frame(0))
    wp = s.find_working_point()
    return case("case01_tutorial_pendulum"), wp, wp.linearize()


def test_tutorial_working_point(tutorial):
    data, wp, _ = tutorial
    expected = data["outputs"]["working_point"]
    pose = wp.poses["mass.center"]
    np.testing.assert_allclose(pose.o, expected["body_origin"], atol=1e-9)
    np.testing.assert_allclose(pose.U, expected["body_U"], atol=1e-9)
    np.testing.assert_allclose(wp.tensions["wire"], expected["spring_tension"], atol=1e-9)
    np.testing.assert_allclose(
        wp.forces["wire"][:, :3],
        [expected["force_on_body_frame_from_spring"], expected["force_on_top_frame"]],
        atol=1e-9,
    )
    assert {m.name for m in wp.free} == {"mass.ax", "mass.ay", "mass.az"}


def test_tutorial_matrices_and_modes(tutorial):
    data, _, linear = tutorial
    out = data["outputs"]
    np.testing.assert_allclose(linear.M.toarray(), out["M"], atol=1e-14)
    np.testing.assert_allclose(linear.K.toarray(), out["K"], atol=1e-10)
    np.testing.assert_allclose(linear.full_stiffness.toarray()[:6, 6:], out["K_body_top"], atol=1e-10)
    modes = linear.modes()
    np.testing.assert_allclose(modes.frequencies_hz[3:], out["mode_frequencies_hz"][3:], rtol=1e-10)
    assert np.abs(modes.eigenvalues[:3] ** 2).max() <= 1e-10


def test_tutorial_transfer_functions(tutorial):
    data, _, linear = tutorial
    tf = data["outputs"]["tf"]
    response = linear.frequency_response(tf["frequency_hz"])
    for axis in "xyz":
        np.testing.assert_allclose(
            response[f"probe.{axis}", f"piezo.{axis}"], tf[f"{axis}_top_to_{axis}_body"], rtol=1e-9
        )
    for turn in ("ax", "ay", "az"):
        assert not np.any(response.values[:, :, response.inputs.index(f"piezo.{turn}")])


@pytest.mark.parametrize(
    ("hold", "key"),
    [
        ("zoh", "x_body_zero_order_hold_dt1e-3"),
        ("foh", "x_body_linear_interp_input_dt1e-3"),
        ("smooth", "x_body_exact"),
    ],
)
def test_tutorial_time_response(tutorial, hold, key):
    data, _, linear = tutorial
    time = data["outputs"]["time"]
    history = linear.simulate(duration=20.0, dt=1e-3, inputs={"piezo.x": np.sin}, hold=hold)
    np.testing.assert_allclose(history["probe.x"][::100], time[key], atol=1e-9)


def test_exact_solution_is_met_at_every_sample_with_large_steps(tutorial):
    data, _, linear = tutorial
    w = 2 * np.pi * data["outputs"]["mode_pendulum_hz"]
    history = linear.simulate(duration=60.0, dt=0.05, inputs={"piezo.x": np.sin})
    a = w**2 / (w**2 - 1)
    exact = a * (np.sin(history.time) - np.sin(w * history.time) / w)
    np.testing.assert_allclose(history["probe.x"], exact, atol=1e-9)


def test_manual_loop_is_the_zero_order_hold(tutorial):
    data, _, linear = tutorial
    loop = linear.step_loop(dt=1e-3, inputs=["piezo.x"], outputs=["probe.x"])
    read = []
    for k in range(2001):
        loop["piezo.x"] = np.sin(loop.time)
        if k % 100 == 0:
            read.append(loop["probe.x"])
        loop.step()
    np.testing.assert_allclose(read, data["outputs"]["time"]["x_body_zero_order_hold_dt1e-3"][:21], atol=1e-9)


# -- case 02: a clamp with a lever arm ----------------------------------------------------------------------------
@pytest.fixture(scope="module")
def compound():
    data = case("case02_compound_pendulum")
    p, a = data["parameters"], data["parameters"]["a"]
    s = mse.MSystem("compound", gravity=(0, 0, -p["g"]))
    body = s.add(mse.RigidBody("body", mass=a["m"], inertia=a["I"], at=Pose.dz(-0.6)))
    spring = s.add(mse.Spring("spring", length=a["l0"], stiffness=a["k"]))
    top = s.add(mse.PositionActuator("top"))
    s.clamp(s.ground, top.frame(1))
    s.clamp(top.frame(0), spring.frame(1))
    s.clamp(body.frame(0), spring.frame(0), Pose(a["r"]))
    sensed(s, "body_at", body.frame(0))
    sensed(s, "hook_at", spring.frame(0))
    return data, s.find_working_point()


def test_compound_pendulum_working_point(compound):
    data, wp = compound
    out = data["outputs"]["a"]
    pose = wp.poses["body.center"]
    np.testing.assert_allclose(pose.o, np.array(out["body_origin"], dtype=float), atol=1e-9)
    np.testing.assert_allclose(pose.U, out["body_U"], atol=1e-9)
    assert wp.tensions["spring"] == pytest.approx(out["spring_tension"], abs=1e-9)


def test_compound_pendulum_matrices_and_modes(compound):
    data, wp = compound
    out, linear = data["outputs"]["a"], wp.linearize()
    np.testing.assert_allclose(linear.K.toarray(), out["K"], atol=1e-8)
    np.testing.assert_allclose(linear.M.toarray(), out["M"], atol=1e-12)
    np.testing.assert_allclose(linear.full_stiffness.toarray()[:6, 6:], out["K_body_top"], atol=1e-8)
    modes = linear.modes()
    np.testing.assert_allclose(
        modes.frequencies_hz[1:], np.array(out["mode_frequencies_hz_hp"], dtype=float)[1:], rtol=1e-9
    )
    assert abs(modes.eigenvalues[0] ** 2) <= 1e-8
    shapes = np.array(out["modes_mass_normalised_columns"])
    for mine, theirs in zip(modes.shapes.T[1:], shapes.T[1:], strict=True):
        np.testing.assert_allclose(mine * np.sign(mine @ theirs), theirs, atol=1e-8 * np.abs(theirs).max())


def test_compound_pendulum_transfer_functions(compound):
    data, wp = compound
    tf = data["outputs"]["a"]["tf"]
    response = wp.linearize().frequency_response(tf["frequency_hz"])
    pairs = {
        "x_top_to_x_body": ("body_at.x", "top.x"),
        "y_top_to_y_body": ("body_at.y", "top.y"),
        "z_top_to_z_body": ("body_at.z", "top.z"),
        "y_top_to_rx_body": ("body_at.ax", "top.y"),
        "x_top_to_ry_body": ("body_at.ay", "top.x"),
        "x_top_to_x_attachment_point": ("hook_at.x", "top.x"),
    }
    for key, pair in pairs.items():
        expected = np.array(tf[key])
        np.testing.assert_allclose(response[pair], expected, rtol=0, atol=1e-8 * np.abs(expected).max(), err_msg=key)


# -- case 04: chains ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["N2", "N5"])
def test_chain_of_point_masses(key):
    data = case("case04_chains")
    p, out = data["parameters"]["a"][key], data["outputs"][f"a_{key}"]
    s = mse.MSystem(key, gravity=(0, 0, -data["parameters"]["g"]))
    top = s.add(mse.PositionActuator("top"))
    s.clamp(s.ground, top.frame(1))
    above = top.frame(0)
    for n, (m, k, l0) in enumerate(zip(p["m"], p["k"], p["l0"], strict=True), start=1):
        body = s.add(mse.RigidBody(f"m{n}", mass=m, inertia=0.01))  # initial poses left to the program
        spring = s.add(mse.Spring(f"k{n}", length=l0, stiffness=k))
        s.clamp(above, spring.frame(1))
        s.clamp(spring.frame(0), body.frame(0))
        sensed(s, f"at{n}", body.frame(0))
        above = body.frame(0)
    wp = s.find_working_point()
    n = len(p["m"])
    np.testing.assert_allclose([wp.poses[f"m{k}.center"].o[2] for k in range(1, n + 1)], out["z_positions"], atol=1e-9)
    np.testing.assert_allclose([wp.tensions[f"k{k}"] for k in range(1, n + 1)], out["tensions"], rtol=1e-9)
    modes = wp.linearize().modes()
    expected = np.sort(out["horizontal_mode_hz"] * 2 + out["vertical_mode_hz"])
    np.testing.assert_allclose(modes.frequencies_hz[out["zero_modes"] :], expected, rtol=1e-8)
    assert np.all(modes.frequencies_hz[: out["zero_modes"]] < 1e-6)
    response = wp.linearize().frequency_response(out["tf"]["frequency_hz"])
    for k in range(1, n + 1):
        np.testing.assert_allclose(response[f"at{k}.x", "top.x"], out["tf"]["x_top_to_x_mass"][str(k)], rtol=1e-7)
        np.testing.assert_allclose(response[f"at{k}.z", "top.z"], out["tf"]["z_top_to_z_mass"][str(k)], rtol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 20])
def test_equal_chain_tends_to_the_laguerre_zeros(n):
    """Springs of stretched length 1 hang like links: horizontal frequencies g/l times the zeros of L_N."""
    zeros = np.array(case("case04_chains")["outputs"]["b_equal_chain"][str(n)]["omega2_l_over_g"])
    g, stiffness = 9.81, 2e3
    s = mse.MSystem("equal chain", gravity=(0, 0, -g))
    above = s.ground
    for k in range(n):
        stretch = (n - k) * g / stiffness
        body = s.add(mse.RigidBody(f"m{k}", mass=1.0, at=Pose.dz(-(k + 1.0))))
        link = s.add(mse.Spring(f"l{k}", length=1.0 - stretch, stiffness=stiffness))
        s.clamp(above, link.frame(1))
        s.clamp(link.frame(0), body.frame(0))
        above = body.frame(0)
    linear = s.find_working_point().linearize()
    # point masses: their rotations have neither mass nor stiffness, so look at the translations alone
    x = [k for k, name in enumerate(linear.coordinates) if name.endswith(".x")]
    model = mse.LinearModel.from_matrices(linear.M[x][:, x], None, linear.K[x][:, x])
    np.testing.assert_allclose(-(model.modes().eigenvalues ** 2).real / g, zeros, rtol=1e-9)


@pytest.mark.parametrize("key", ["c_double_single_wire", "d_two_plus_four_wires"])
def test_chain_of_rigid_bodies_on_wires(key):
    data = case("case04_chains")
    material, p, out = data["parameters"]["cd"]["wire_material"], data["parameters"]["cd"][key], data["outputs"][key]
    s = mse.MSystem(key, gravity=(0, 0, -data["parameters"]["g"]))
    bodies = {"base": s.add(mse.PositionActuator("base"))}
    s.clamp(s.ground, bodies["base"].frame(1))
    for n, b in enumerate(p["bodies"], start=1):
        bodies[f"body{n}"] = s.add(
            mse.RigidBody(f"body{n}", mass=b["m"], inertia=b["I_diag"], at=Pose.dz(b["initial_z"]))
        )
        sensed(s, f"at{n}", bodies[f"body{n}"].frame(0))
    for n, w in enumerate(p["wires"]):
        wire = s.add(mse.Wire(f"wire{n}", length=w["l0"], radius=w["radius"], young_modulus=material["Young Modulus"],
                              poisson_ratio=material["Poisson Ratio"]))  # fmt: skip
        s.clamp(bodies[w["from"]].frame(0), wire.frame(1), Pose(w["from_offset"]))
        s.clamp(bodies[w["to"]].frame(0), wire.frame(0), Pose(w["to_offset"]))
    wp = s.find_working_point()
    for n, origin in enumerate(out["body_origins"], start=1):
        np.testing.assert_allclose(wp.poses[f"body{n}.center"].o, origin, atol=1e-9)
    np.testing.assert_allclose(list(wp.tensions.values()), out["wire_tensions"], rtol=1e-9)
    linear = wp.linearize()
    k = np.array(out["K"])
    np.testing.assert_allclose(linear.K.toarray(), k, rtol=0, atol=1e-10 * np.abs(k).max())
    np.testing.assert_allclose(linear.modes().frequencies_hz, out["mode_frequencies_hz"], rtol=1e-8)
    response = linear.frequency_response(out["tf"]["frequency_hz"])
    checked = 0
    for name, values in out["tf"].items():
        if "/" not in name:
            continue
        (axis, body), (drive, _) = (part.split("_") for part in name.split("/"))
        got, expected = response[f"at{body[-1]}.{AXES[axis]}", f"base.{AXES[drive]}"], np.array(values)
        tolerance = np.where(np.abs(expected) < 1e-12, 1e-5, 1e-7) * np.abs(expected)
        assert np.all(np.abs(got - expected) <= tolerance), name
        checked += 1
    assert checked >= 10
