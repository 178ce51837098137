"""Fast motions: what is at rest or dies out goes by implicit steps without being asked, what vibrates is followed."""

import re

import numpy as np
import pytest
import textbook as book

import mse
from mse import ModelError, MotionError
from mse.dynamics import methods


def carts(**fast):
    """A cart of 2 kg at 10 N/m, which carries half of it on a fast slide: 0.5 m cos(w t) with w^2 = 5."""
    s = mse.MSystem("carts", gravity=(0, 0, -9.81))
    cart = s.add(mse.RigidBody("cart", mass=1.0, inertia=0.1))
    load = s.add(mse.RigidBody("load", mass=1.0, inertia=0.1))
    s.add(mse.Prismatic("rail", axis=(1, 0, 0), stiffness=10.0), between=(cart, s.ground))
    s.add(mse.Prismatic("slide", axis=(1, 0, 0), **fast), between=(load, cart))
    return s


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    ("fast", "words"),
    [
        ({"stiffness": 1e12}, r"slide lets (cart|load)\.x vibrate at 2\.25e\+05 Hz"),
        ({"damping": 1e9, "stiffness": 10.0}, r"slide damps (cart|load)\.x in 5e-10 s"),
    ],
)
def test_stiff_springs_at_rest_and_dampers_go_by_implicit_steps(monkeypatch, factor, fast, words):
    monkeypatch.setattr(methods, "_FAST", factor * methods._FAST)
    motion = carts(**fast).simulate(duration=2.0, dt=0.5, initial={"rail.displacement": 0.5}, progress=False)
    assert motion.method == "implicit" and motion.steps < 200
    assert re.fullmatch(f"steps are implicit, since {words}, to which explicit ones would be tied", motion.notes[0])
    np.testing.assert_allclose(motion["rail.displacement"], 0.5 * np.cos(np.sqrt(5.0) * motion.time), atol=1e-6)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_numpy_makes_implicit_steps_of_what_vibrates_less_often(monkeypatch, factor):
    """4,700 rad of a vibration that the wind does not set going: compiled code would follow them."""
    monkeypatch.setattr(methods, "_FAST_IN_NUMPY", factor * methods._FAST_IN_NUMPY)
    system = book.tower()
    start = system.find_working_point()
    given = {"inputs": {"wind.fx": lambda t: 1e4 * np.sin(1.2 * t)}, "progress": False}
    motion = system.simulate(duration=5.0, dt=0.5, start=start, rtol=1e-6, **given)
    assert motion.method == "implicit" and motion.steps < 50
    exact = start.linearize().simulate(duration=5.0, dt=0.5, **given)["eye.x"]
    np.testing.assert_allclose(motion["eye.x"], exact, atol=2e-3 * np.abs(exact).max())


def test_a_loop_takes_implicit_steps_for_a_stiff_damper():
    loop = carts(damping=1e9).step_loop(dt=0.5, initial={"rail.displacement": 0.5})
    loop.step()
    assert loop["rail.displacement"] == pytest.approx(0.5 * np.cos(0.5 * np.sqrt(5.0)), abs=1e-6)


def test_what_vibrates_is_followed():
    """1e12 N/m and 0.5 kg over 20 us are 28 rad; 1e4 N/m over 1 s are 141."""
    slow = carts(stiffness=1e4).simulate(duration=0.1, dt=0.05, initial={"slide.displacement": 1e-3}, progress=False)
    assert slow.method == "explicit"
    fast = carts(stiffness=1e12).simulate(duration=2e-5, dt=1e-5, initial={"slide.displacement": 1e-3}, progress=False)
    assert fast.method == "explicit"
    expected = 1e-3 * np.cos(np.sqrt(2e12) * fast.time)
    np.testing.assert_allclose(fast["slide.displacement"], expected, atol=1e-7)


def test_a_vibration_that_no_step_follows_is_named():
    with pytest.raises(
        MotionError, match=r"keeps rtol = .*, and slide lets .* vibrate at 2\.25e\+05 Hz; expected"
    ) as caught:
        carts(stiffness=1e12).simulate(
            duration=100.0, dt=50.0, initial={"slide.displacement": 1e-3}, method="implicit", rtol=1e-11, progress=False
        )
    assert caught.value.motion.time[-1] == 0.0


class Sum(mse.MObject):
    """A spring and a damper of which only the sum of two volumes feels anything, as in section 4.5 of Suk's thesis."""

    frame_names = ()
    coordinate_names = ("v1", "v2")

    def energy(self, frames, q):
        return 2.0 * (q[0] + q[1]) ** 2

    def dissipation(self, frames, q, v):
        return 0.5 * (v[0] + v[1]) ** 2


def test_what_neither_mass_nor_force_decides_is_noted():
    system = mse.MSystem("blender", gravity=(0, 0, 0))
    system.add(Sum("it"))
    run = system.simulate(duration=1.0, dt=0.5, initial={"it.v1": 0.3, "it.v2": 0.1}, progress=False)
    assert any("decides at the beginning how it.v1, it.v2 move: they stay" in note for note in run.notes)
    np.testing.assert_allclose(run["it.v1"] - run["it.v2"], 0.2, atol=1e-9)
    np.testing.assert_allclose(run["it.v1"] + run["it.v2"], 0.4 * np.exp(-4.0 * run.time), atol=1e-8)


class Volumes(Sum):
    """The same of volumes, which have to divide in some way."""

    coordinate_names = (mse.coordinate("v1", unit="m3"), mse.coordinate("v2", unit="m3"))


def test_volumes_that_only_their_sum_decides_are_refused():
    system = mse.MSystem("blender", gravity=(0, 0, 0))
    system.add(Volumes("it"))
    with pytest.raises(
        ModelError, match=r"nothing decides how it\.v1, it\.v2 divide: .* but in sums; expected one for each"
    ):
        system.simulate(duration=1.0, dt=0.5, initial={"it.v1": 0.3, "it.v2": 0.1}, progress=False)


def test_circuits_that_are_decided_have_no_such_note():
    system = mse.MSystem("filter")
    system.add(mse.VoltageSource("source", voltage=1.0))
    system.add(mse.Resistor("resistor", resistance=2.0))
    system.add(mse.Capacitor("capacitor", capacitance=0.5))
    system.connect("source.+", "resistor.+")
    system.connect("resistor.-", "capacitor.+")
    system.connect("capacitor.-", "source.-", system.earth)
    run = system.simulate(duration=1.0, dt=0.5, progress=False)
    assert not any("decides" in note for note in run.notes)


def test_a_mass_that_changes_with_the_motion_is_no_damper():
    """A Kepler orbit that starts outward keeps its angular momentum."""
    dynamicsymbols = pytest.importorskip("sympy.physics.mechanics").dynamicsymbols
    r, angle = dynamicsymbols("r angle")
    system = mse.MSystem("orbit")
    kinetic = (r.diff() ** 2 + r**2 * angle.diff() ** 2) / 2
    system.add(mse.SymbolicElement("p", coordinates=[r, angle], T=kinetic, V=-1 / r))
    motion = system.simulate(duration=0.1, dt=0.1, initial={"p.r": 1.0, "p.angle'": 2.0, "p.r'": 5.0})
    np.testing.assert_allclose(motion["p.angle'"] * motion["p.r"] ** 2, 2.0, rtol=1e-8)
