"""Large motions with known figures: published benchmarks, and values from other equations in more digits."""

import json
import pathlib

import numpy as np
import pytest
import textbook as book

import mse
from mse import Pose

pytestmark = pytest.mark.slow


def last(motion, *names):
    return np.array([motion[n][-1] for n in names])


def test_trolley_with_two_rods_and_dampers():
    motion = book.trolley().simulate(duration=10, dt=10, initial={"phi1.angle": np.pi / 2}, rtol=1e-10)
    found = last(motion, "slide.displacement", "phi1.angle", "phi2.angle")
    np.testing.assert_allclose(found, [0.1260525955, -0.2500953397, -0.3217350628], atol=1e-7)


def test_double_pendulum_of_points_without_inertia():
    initial = {"one.angle": 0.8, "two.angle": -1.1}
    motion = book.double_pendulum().simulate(duration=10, dt=10, initial=initial, rtol=1e-10)
    found = np.cumsum(last(motion, "one.angle", "two.angle"))
    np.testing.assert_allclose(found, [0.1704182982, 0.1767214981], atol=1e-7)


def test_four_points_that_swing_little():
    initial = {"h0.angle": 0.0, **{f"h{k}.angle": 0.01 for k in (1, 2, 3)}}
    motion = book.four_points().simulate(duration=10, dt=10, initial=initial, rtol=1e-10)
    found = np.cumsum(last(motion, *(f"h{k}.angle" for k in range(4))))
    np.testing.assert_allclose(found, [-0.0065532763, -0.0100348575, -0.0043788033, -0.0011411068], atol=1e-7)


def test_a_free_body_tumbles_with_its_period():
    rates = {"free.ax'": 0.02, "free.ay'": 5.0, "free.az'": 0.03}
    motion = book.free_body().simulate(duration=20, dt=20, initial=rates, rtol=1e-12)
    _, u = motion.poses("body.center")
    w = u[-1].T @ motion.velocities("body.center")[-1, 3:]
    assert w[1] == pytest.approx(-4.9769725065, abs=1e-7)


def test_bricard_mechanism_of_redundant_hinges():
    motion = book.bricard().simulate(duration=10, dt=1, rtol=1e-10)
    np.testing.assert_allclose(motion["h0.angle"][[1, 5, 10]], [1.035028459, 0.00006726, 0.00026905], atol=1e-7)
    o, _ = motion.poses("rod3.one")
    np.testing.assert_allclose(o[1], [0.51050146, -1.64916760, 0.14012311], atol=1e-7)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-8
    assert motion.largest_residual < 1e-11


@pytest.mark.parametrize(("windows", "duration"), [(2, 10.0), (5, 1.0)])
def test_four_bars_pass_through_their_flat_positions(windows, duration):
    from scipy.integrate import solve_ivp

    a = 9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    exact = solve_ivp(lambda t, y: [y[1], a * np.sin(y[0])], (0, duration), [0, 1], "DOP853", rtol=1e-13, atol=1e-13).y[
        0, -1
    ]
    initial = {f"low{k}.angle'": 1.0 for k in range(windows + 1)}
    motion = book.four_bars(windows).simulate(
        duration=duration, dt=duration, initial=initial, rtol=1e-10, outputs=["low0.angle"]
    )
    assert motion["low0.angle"][-1] == pytest.approx(exact, abs=1e-6)
    size = 9.81 * (windows + 1 + 2 * windows)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-9 * size


def test_fourbar1_of_modelica():
    initial = {"hinge.angle'": np.radians(300.0)}
    motion = book.fourbar1().simulate(duration=5, dt=1, initial=initial, rtol=1e-10)
    assert motion["hinge.angle"][1] == pytest.approx(7.802163425545, abs=1e-7)
    assert motion["hinge.angle'"][5] == pytest.approx(11.7404428023, abs=1e-7)


def test_the_squeezer_of_andrews():
    p = json.loads((pathlib.Path(__file__).parent / "squeezer.json").read_text())
    system = book.squeezer(p["parameters"], list(p["start"].values()))
    motion = system.simulate(duration=0.03, dt=0.03, rtol=1e-10)
    names = [f"{n}.angle" for n in ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")]
    found = np.array(list(p["start"].values())) + last(motion, *names)
    exact = [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013,
        -0.53473011632,
        0.52440996588,
        0.53473011632,
        1.04808074104,
    ]
    np.testing.assert_allclose(found, exact, atol=1e-8)


class Hardening(mse.MObject):
    """A coordinate of 2 kg with the force ``50 x + 800 x^3``."""

    coordinate_names = (mse.coordinate("x", unit="m"),)
    frame_names = ("seat",)

    def energy(self, frames, q):
        return 25.0 * q[0] ** 2 + 200.0 * q[0] ** 4

    def kinetic(self, frames, q, v):
        return 1.0 * v[0] ** 2


def test_an_own_element_with_a_hardening_spring():
    system = mse.MSystem("own", gravity=(0, 0, 0))
    system.add(Hardening("duffing"), between=(system.ground,))
    motion = system.simulate(duration=10, dt=10, initial={"duffing.x": 0.5}, rtol=1e-10)
    assert motion["duffing.x"][-1] == pytest.approx(-0.0697607884, abs=1e-7)


def test_a_hexapod_on_springs_that_is_let_go_keeps_its_energy():
    """The platform of the example, on legs of 2 kN/m, let go 10 degrees off: a reversed motion returns, too."""
    from example_scripts import example

    hexapod = example("hexapod")

    def soft():
        system = hexapod.build(rigid=False)
        for name in hexapod.LEGS:
            system[f"leg {name}"].stiffness = 2e3
        return system

    system = soft()
    rest = system.find_working_point().poses["platform.center"]
    off = Pose(rest.o, Pose.rx(np.radians(10.0)).U @ rest.U)
    motion = system.simulate(duration=0.3, dt=0.05, initial={"platform": off}, rtol=1e-9)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-6
    assert motion["probe.ax"][0] == pytest.approx(np.radians(10.0), abs=1e-9)
    half = system.simulate(duration=0.15, dt=0.05, initial={"platform": off}, rtol=1e-9)
    back = {
        "platform": half.at(0.15).poses["platform.center"],
        "platform'": -half.at(0.15).velocities["platform.center"],
    }
    again = system.simulate(duration=0.15, dt=0.15, initial=back, rtol=1e-9).at(0.15).poses["platform.center"]
    np.testing.assert_allclose(again.o, off.o, atol=1e-8)
    np.testing.assert_allclose(again.U, off.U, atol=1e-8)
