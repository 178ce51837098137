"""Wires and springs that go slack, and steps that end there."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mse
from mse import ModelError, Pose
from mse.dynamics import switches
from mse.dynamics.accelerations import Equations
from mse.dynamics.explicit import ExplicitStepper
from mse.dynamics.moments import Moment
from mse.elements.base import FramePose
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared

K, G, M, DROP = 5e3, 9.81, 2.0, 0.3


def hung(cls=mse.Spring, **given):
    """2 kg on a spring of 1 m that takes tension only, on a guide, drawn where it is just taut."""
    system = mse.MSystem("drop", gravity=(0, 0, -G))
    mass = system.add(mse.RigidBody("mass", mass=M, inertia=0.1, at=Pose.dz(-1.0)))
    given = given or {"length": 1.0, "stiffness": K}
    system.add(cls("wire", tension_only=True, **given), between=(system.ground, mass))
    guide = system.add(mse.Prismatic("guide", axis=(0, 0, 1)))
    system.clamp(mass.frame(0), guide.frame(0))
    system.clamp(system.ground, guide.frame(1), Pose.dz(-1.0))
    return system


def known():
    """Period and largest tension by free fall and a half swing on the spring."""
    v, w = np.sqrt(2 * G * DROP), np.sqrt(K / M)
    period = 2 * v / G + (np.pi + 2 * np.arctan(G / (w * v))) / w
    return period, M * G + K * np.hypot(M * G / K, v / w)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_a_mass_dropped_on_a_wire_bounces_with_its_period(monkeypatch, factor):
    monkeypatch.setattr(switches, "_THERE", factor * switches._THERE)
    np.testing.assert_allclose(known(), [0.560679006216, 263.022843862], rtol=1e-12)
    rate = "guide.displacement'"
    motion = hung().simulate(
        duration=0.6, dt=0.3, initial={"guide.displacement": DROP}, crossings={rate: 0.0}, rtol=1e-10
    )
    period, tension = known()
    assert [c.rising for c in motion.crossings[:2]] == [True, False]
    assert motion.crossings[1].time == pytest.approx(period, abs=1e-9)
    low = motion.at(motion.crossings[0].time).joint_coordinates["guide.displacement"]
    assert -K * low == pytest.approx(tension, rel=1e-8)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-7
    assert motion.steps < 130


@pytest.mark.slow
def test_steps_end_where_the_wire_goes_taut():
    system = hung()
    topology, assembly = prepared(system, None)
    stepper = ExplicitStepper(Equations(topology, assembly), 1e-8)
    ends = switches.Switches(stepper.equations)
    here = put_together(Evaluation.initial(assembly)).state
    moment, times = Moment(0.0, here._replace(o=here.o + np.array([[0, 0, 0], [0, 0, DROP]])), np.zeros(6)), [0.0]
    while times[-1] < 0.3:
        moment = ends.step(stepper, moment).end
        times.append(moment.time)
    assert min(abs(t - np.sqrt(2 * DROP / G)) for t in times) < 1e-9
    motion = system.simulate(duration=0.3, dt=0.1, initial={"guide.displacement": DROP}, rtol=1e-8)
    half = system.simulate(duration=0.2, dt=0.1, initial={"guide.displacement": DROP}, rtol=1e-8)
    rest = system.simulate(duration=0.1, dt=0.1, start=half.final_state, rtol=1e-8)
    np.testing.assert_array_equal(rest.values, motion.values[2:])


def tossed(duration: float, samples: int) -> np.ndarray:
    """Displacements (samples,) of 0.3 kg tossed up from a spring with a damper, taut below zero: each phase by SciPy."""
    m, k, c, g = 0.3, 90.0, 0.5, 9.81

    def crossed(t, y, taut):
        return y[0]

    crossed.terminal = True
    times, found = np.linspace(0.0, duration, samples), np.zeros(samples)
    t, y, taut = 0.0, np.array([0.0, 3.0]), False
    while t < duration:
        crossed.direction = 1.0 if taut else -1.0

        def rates(t, y, taut):
            return [y[1], -g - taut * (k * y[0] + c * y[1]) / m]

        phase = solve_ivp(
            rates, (t, duration), y, "DOP853", rtol=1e-13, atol=1e-15, events=crossed, dense_output=True, args=(taut,)
        )
        here = (times >= t) & (times <= phase.t[-1])
        found[here] = phase.sol(times[here])[0]
        t, y, taut = phase.t[-1], np.array([0.0, phase.y[1, -1]]), not taut
    return found


@pytest.mark.parametrize(
    "method, rtol, least", [("implicit", 1e-11, 1e-9), ("implicit", 1e-9, 1e-6), ("explicit", 1e-9, 2e-7)]
)
def test_forces_of_a_damper_may_jump_where_it_goes_slack(method, rtol, least):
    """A step of an implicit method asks for forces at its end: behind the switch they are others."""
    system = mse.MSystem("tossed", gravity=(0, 0, -9.81))
    mass = system.add(mse.RigidBody("mass", mass=0.3, inertia=0.01, at=Pose.dz(-0.3)))
    system.add(mse.Prismatic("guide", axis=(0, 0, 1)), between=(mass, system.ground @ Pose.dz(-0.3)))
    spring = mse.Spring("spring", length=0.3, stiffness=90.0, damping=0.5, tension_only=True)
    system.add(spring, between=(system.ground, mass))
    motion = system.simulate(
        duration=2.0,
        dt=0.25,
        initial={"guide.displacement'": 3.0},
        method=method,
        rtol=rtol,
        outputs=["guide.displacement"],
    )
    np.testing.assert_allclose(motion["guide.displacement"], tossed(2.0, 9), rtol=0.0, atol=least)


def test_what_is_slack_exerts_and_damps_nothing():
    spring = mse.Spring("s", length=1.0, stiffness=K, damping=3.0, tension_only=True)
    wire = mse.Wire("w", length=1.0, young_modulus=1e9, poisson_ratio=0.3, radius=1e-3, damping=3.0, tension_only=True)
    for obj in (spring, wire):
        for distance, holds in ((0.9, False), (1.1, True)):
            system = mse.MSystem("pair", gravity=(0, 0, 0))
            mass = system.add(mse.RigidBody("mass", mass=M, inertia=0.1, at=Pose.dz(-distance)))
            system.add(obj.copy("wire"), between=(system.ground, mass))
            frames = [FramePose(np.array([0, 0, z]), np.eye(3)) for z in (0.0, -distance)]
            assert bool(np.any(obj.forces(frames, ()))) is holds
            assert bool(obj.energy(frames, ())) is holds
            assert (obj.damping_matrix(frames) is not None) is holds
            assert np.sign(obj.switches(frames, ())[0]) == (1.0 if holds else -1.0)
            motion = system.simulate(duration=1e-3, dt=1e-3, initial={"mass'": (0, 0, -1e-3, 0, 0, 0)}, rtol=1e-6)
            assert bool(motion.energy["elastic"][0] > 0.0) is holds
            assert bool(motion.energy["damped"][-1] < 0.0) is holds


def test_a_wire_that_takes_tension_only_hangs_as_any_other():
    given = {"length": 1.0, "young_modulus": 2e9, "poisson_ratio": 0.3, "radius": 1e-3}
    point = hung(mse.Wire, **given).find_working_point()
    stretch = M * G / (2e9 * np.pi * 1e-6)
    assert point.joint_coordinates["guide.displacement"] == pytest.approx(-stretch, rel=1e-9)


def test_own_elements_may_have_switches():
    class Stop(mse.MObject):
        """A buffer of 200 N/m that begins at x = 0."""

        coordinate_names = (mse.coordinate("x", unit="m"),)
        frame_names = ("seat",)

        def energy(self, frames, q):
            return 100.0 * q[0] ** 2 if q[0] > 0.0 else 0.0

        def kinetic(self, frames, q, v):
            return 1.0 * v[0] ** 2

        def switches(self, frames, q):
            return [q[0]]

    system = mse.MSystem("stop", gravity=(0, 0, 0))
    system.add(Stop("stop"), between=(system.ground,))
    motion = system.simulate(duration=1.0, dt=0.1, initial={"stop.x": -0.1, "stop.x'": 1.0}, rtol=1e-9)
    assert motion["stop.x"][-1] == pytest.approx(-(1.0 - 0.1 - np.pi / 10.0), abs=1e-8)
    assert motion["stop.x'"][-1] == pytest.approx(-1.0, abs=1e-8)


def test_what_is_no_truth_value_is_refused():
    with pytest.raises(ModelError, match="tension_only is 1; expected True or False"):
        mse.Spring("s", length=1.0, stiffness=K, tension_only=1)


@pytest.mark.parametrize("given", [lambda x: x, lambda x: [np.nan]])
def test_switches_that_are_no_list_of_numbers_are_refused(given):
    class Wrong(mse.MObject):
        frame_names = ("0",)

        def energy(self, frames, q):
            return 10.0 * np.where(frames[0].o[2] > 0.0, frames[0].o[2], -frames[0].o[2])

        def switches(self, frames, q):
            return given(frames[0].o[2])

    system = mse.MSystem("wrong", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    system.add(Wrong("own"), between=(body,))
    with pytest.raises(ModelError, match=r"'own' at t = 0 s.*switches returns.*expected a list of finite numbers"):
        system.simulate(duration=0.1, dt=0.05, progress=False)


class Vee(mse.MObject):
    """An energy with a kink, 2 |x|: its force jumps where its switch says so, which a contract of continuous forces excludes."""

    frame_names = ("0", "1")

    def energy(self, frames, q):
        x = frames[0].o[0] - frames[1].o[0]
        return 2.0 * x if x > 0.0 else -2.0 * x

    def switches(self, frames, q):
        return [frames[0].o[0] - frames[1].o[0]]


def creeping(method, rtol):
    """A damped cart is pushed to the kink by 2 N, and then from both sides."""
    s = mse.MSystem("creeping", gravity=(0, 0, -9.81))
    cart = s.add(mse.RigidBody("cart", mass=1.0, inertia=0.1))
    s.add(mse.Prismatic("rail", axis=(1, 0, 0), damping=50.0), between=(cart, s.ground))
    s.add(Vee("vee"), between=(cart, s.ground))
    s.simulate(duration=20.0, dt=1.0, initial={"rail.displacement": 0.02}, rtol=rtol, method=method, progress=False)


@pytest.mark.slow
def test_a_law_that_chatters_is_named(monkeypatch):
    monkeypatch.setattr(switches, "_IN_A_ROW", switches._IN_A_ROW // 5)  # sooner
    with pytest.raises(
        mse.MotionError, match=r"'vee': its law chatters at t = .*; expected forces that are continuous"
    ):
        creeping("explicit", 1e-5)


@pytest.mark.parametrize("factor", [0.3, 10.0])
def test_a_change_of_formula_that_no_step_passes_is_named(monkeypatch, factor):
    monkeypatch.setattr(switches, "_BESIDE", factor * switches._BESIDE)
    with pytest.raises(
        mse.MotionError, match=r"'vee': no step from t = .* passes the change of its formula next to there"
    ):
        creeping("implicit", 3e-4)
