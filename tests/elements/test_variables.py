"""Variables with rates of their own: ``s' = f`` beside frames, at rest, in linear models and in motion."""

from __future__ import annotations

import numpy as np
import pytest
from counting import made_of
from scipy.integrate import solve_ivp

import mse
from mse.elements.base import Channel
from mse.elements.parameters import Real
from mse.elements.recorded_laws import Together
from mse.elements.variables import refuse_missing

STIFFNESS, DAMPING, MASS = 100.0, 2.0, 1.0


class Filtered(mse.MObject):
    """The force ``-gain s`` along x, where s is the place, filtered at a corner (rad/s)."""

    gain: Real = Real("force by displacement", unit="N/m", default=300.0)
    corner: Real = Real("of the filter", unit="1/s", default=20.0)
    frame_names = ("0",)
    state_names = (mse.coordinate("filtered", unit="m"),)

    def power(self, frames, q, v, given):
        return -self.gain * given.s[0] * frames[0].v[0]

    def state_rates(self, frames, q, v, given):
        return self.corner * (frames[0].o[0] - given.s[0])


class Driven(Filtered):
    """The same, whose filter an input drives, too: ``s' = corner (x + u - s)``."""

    inputs = (Channel("u", "m"),)

    def input_map(self, frames):
        return self.corner * np.eye(7)[:, [6]]


class WithMatrix(Filtered):
    """The same as ``M s' = f``, M = (2)."""

    def state_rates(self, frames, q, v, given):
        return [[2.0]], [2.0 * self.corner * (frames[0].o[0] - given.s[0])]


class Integrating(mse.MObject):
    """The force ``-gain s`` along x, s the integral of the place, and a drag by the rate that it filters twice."""

    frame_names = ("0",)
    state_names = ("integral", "once", "twice")

    def power(self, frames, q, v, given):
        integral, _, twice = given.s
        return (-100.0 * integral - 3.0 * twice) * frames[0].v[0]

    def state_rates(self, frames, q, v, given):
        _, once, twice = given.s
        return frames[0].o[0], 30.0 * (frames[0].v[0] - once), 40.0 * (once - twice)


class Cubed(Filtered):
    """A force of its own beside that of the base, which has states."""

    def power(self, frames, q, v, given):
        return (-self.gain * given.s[0] - 50.0 * given.s[0] ** 3) * frames[0].v[0]


def cart(element: mse.MObject, gravity: float = 0.0) -> mse.MSystem:
    system = mse.MSystem("cart", gravity=(gravity, 0, 0))
    body = system.add(mse.RigidBody("body", mass=MASS, inertia=0.1))
    guide = mse.Prismatic("guide", axis=(1, 0, 0), stiffness=STIFFNESS, damping=DAMPING)
    system.add(guide, between=(body, system.ground))
    system.clamp(body.frame(0), system.add(element).frame(0))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system


@pytest.mark.parametrize("cls", [Filtered, WithMatrix])
def test_a_force_filtered_at_a_corner_destabilizes(cls):
    """(s^2 + 2 s + 100)(1 + s/20) + 300 = 0."""
    point = cart(cls("filter")).find_working_point()
    (growing,) = point.unstable
    assert not point.stable and growing.growth == pytest.approx(2.7460881323, rel=1e-9)
    assert growing.frequency_hz == pytest.approx(16.8359994629 / (2 * np.pi), rel=1e-9)
    poles = np.sort_complex(np.linalg.eigvals(point.linearize().state_space().A))
    np.testing.assert_allclose(poles[0], -27.4921762646, rtol=1e-10)
    np.testing.assert_allclose(poles[2], 2.7460881323 + 16.8359994629j, rtol=1e-10)


def test_responses_are_those_of_the_transfer_function():
    linear = cart(Filtered("filter")).find_working_point().linearize()
    f = np.geomspace(0.1, 100.0, 7)
    s = 2j * np.pi * f
    exact = 1.0 / (MASS * s**2 + DAMPING * s + STIFFNESS + 300.0 / (1.0 + s / 20.0))
    found = linear.frequency_response(f)["probe.x", "push.fx"]
    np.testing.assert_allclose(found, exact, rtol=1e-11)
    a, b, c, _ = (getattr(linear.state_space(), name) for name in "ABCD")
    k, j = linear.outputs.index("probe.x"), linear.inputs.index("push.fx")
    from_states = [c[k] @ np.linalg.solve(x * np.eye(len(a)) - a, b[:, j]) for x in s]
    np.testing.assert_allclose(from_states, exact, rtol=1e-9)


def test_an_integral_takes_the_load_and_brings_the_place_back():
    point = cart(Integrating("controller"), gravity=9.81).find_working_point()
    assert point.stable
    np.testing.assert_allclose(point.poses["body.center"].o, 0.0, atol=1e-12)
    assert point.internal["controller.integral"] == pytest.approx(9.81 / 100.0, rel=1e-12)
    # s (s^2 + 2 s + 100) + 100 + 3 s^2 (30/(30 + s)) (40/(40 + s))
    by_hand = np.polyadd(np.polymul([1, 70, 1200], [MASS, DAMPING, STIFFNESS, 100.0]), [3.0 * 1200.0, 0.0, 0.0])
    poles = np.linalg.eigvals(point.linearize().state_space().A)
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(np.roots(by_hand)), rtol=1e-9)


def test_motions_have_states():
    def slope(t, y):
        x, v, s = y
        return v, (9.81 - STIFFNESS * x - DAMPING * v - 30.0 * s - 50.0 * s**3) / MASS, 20.0 * (x - s)

    exact = solve_ivp(slope, (0, 1.0), [0.3, 0.0, 0.0], method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    system = cart(Cubed("filter", gain=30.0), gravity=9.81)
    names = ["guide.displacement", "guide.displacement'", "filter.filtered"]
    start = {"guide.displacement": 0.3, "filter.filtered": 0.0}
    motion = system.simulate(duration=1.0, dt=0.5, initial=start, outputs=names, rtol=1e-8)
    assert motion.method == "implicit"
    np.testing.assert_allclose([motion[n][-1] for n in names], exact, atol=2e-6)
    work = motion.energy["driven"][-1]  # of the force: states do none
    energy = 0.5 * exact[1] ** 2 + 0.5 * STIFFNESS * exact[0] ** 2 - 9.81 * exact[0]
    before = 0.5 * STIFFNESS * 0.3**2 - 9.81 * 0.3
    assert energy - before == pytest.approx(work + motion.energy["damped"][-1], abs=1e-4)


def test_models_with_states_are_read_from_files(tmp_path):
    system = cart(Filtered("filter", gain=200.0))
    system.save(tmp_path / "cart.json")
    read = mse.read_model(tmp_path / "cart.json")
    assert read["filter"].gain == 200.0
    np.testing.assert_array_equal(
        read.find_working_point().linearize().state_space().A, system.find_working_point().linearize().state_space().A
    )


class WarmResistor(mse.MObject):
    """A resistor of 10 (1 + 0.004 s) ohm, s the kelvins that it is above the room."""

    frame_names = ()
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)
    state_names = (mse.coordinate("warmth", unit="K", domain="generalized"),)

    def power(self, frames, q, v, given):
        return -10.0 * (1.0 + 0.004 * given.s[0]) * given.v[0] * v[0]

    def state_rates(self, frames, q, v, given):
        return (10.0 * (1.0 + 0.004 * given.s[0]) * given.v[0] ** 2 - 0.08 * given.s[0]) / 0.5


def test_a_state_and_a_steady_current_decide_each_other():
    system = mse.MSystem("heater")
    system.add(mse.VoltageSource("source", voltage=6.0))
    system.add(WarmResistor("resistor"))
    system.connect("source.+", "resistor.+")
    system.connect("source.-", "resistor.-", system.earth)
    point = system.find_working_point()
    assert point.internal["resistor.warmth"] == pytest.approx(38.9359631076, rel=1e-9)
    assert point.linearize().modes(damped=True).eigenvalues == pytest.approx(np.array([-0.1815610200]), rel=1e-9)


class Lost(mse.MObject):
    """A resistor of 3 ohm as an effort, and another effort that nothing decides."""

    frame_names = ()
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)
    effort_names = ("voltage", "lost")

    def power(self, frames, q, v, given):
        return -given.e[0] * v[0]

    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 3.0 * v[0], 0.0 * v[0]


class Idle(Lost):
    """Its flow decides the second effort, which no power has."""

    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 3.0 * v[0], v[0]


class Kept(Lost):
    """A charge is no flow."""

    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 3.0 * v[0], q[0] - 1e-6


class Short(Lost):
    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 3.0 * v[0]


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (
            Lost,
            r"Lost 'it': its effort lost is in no row of its effort_constraint, and row 1 has neither efforts nor flows.*"
            r"leave it out, or hold the flow by a flow_constraint",
        ),
        (Kept, r"Kept 'it': its effort lost .* row 1 has .* write a constraint for charges and positions"),
        (
            Idle,
            r"the effort it\.lost is in no effort_constraint and no power.*leave it out, or hold the flow by a flow_constr",
        ),
        (
            Short,
            r"Short 'it': its effort_constraint.*gives 1 equations; expected 2, one for each of its efforts voltage, lost",
        ),
    ],
)
def test_efforts_without_equations_are_refused(cls, words):
    system = mse.MSystem("circuit")
    system.add(cls("it"))
    with pytest.raises(mse.errors.ModelError, match=words):
        system.find_working_point()


class Threshold(Lost):
    """Its second effort acts beyond a dead zone alone."""

    def effort_constraint(self, frames, q, v, given):
        beyond = given.e[1] - self.sign * 10.0
        return given.e[0] - 3.0 * v[0], (beyond if self.sign * beyond > 0.0 else 0.0) - 2.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_effort_that_acts_beyond_a_dead_zone_alone_is_in_its_row(sign):
    element = Threshold("it")
    element.sign = sign
    assert refuse_missing(element) is None  # and no error


class Fan(mse.MObject):
    """24 V through 8 ohm; the current turns a fan by 0.05 N m/A, which nothing but its inertia and drag balances."""

    frame_names = ()
    coordinate_names = (mse.coordinate("charge", unit="C"), mse.coordinate("angle", unit="rad"))
    effort_names = ("torque",)

    def energy(self, frames, q):
        return -24.0 * q[0]

    def kinetic(self, frames, q, v):
        return 1e-3 * v[1] ** 2

    def dissipation(self, frames, q, v):
        return 4.0 * v[0] ** 2 + 0.5e-3 * v[1] ** 2

    def power(self, frames, q, v, given):
        return given.e[0] * v[1]

    def effort_constraint(self, frames, q, v, given):
        return given.e[0] - 0.05 * v[0]


def test_what_a_current_turns_for_ever_is_named():
    """Not the charge: its 24 V are balanced by the resistance.  The torque is 0.05*24/8 N m."""
    system = mse.MSystem("thesis")
    system.add(Fan("fan"))
    with pytest.raises(mse.ModelError, match=r"nothing balances 0\.15 N m on fan\.angle; expected a stiffness"):
        system.find_working_point()


class Mirror(mse.MObject):
    """A current mirror: at "2+" flows 3 times what flows at "1+", whatever the voltage there, which no row of it has."""

    frame_names = ()
    coordinate_names = (
        mse.coordinate("charge1", unit="C", ports=("1+", "1-")),
        mse.coordinate("charge2", unit="C", ports=("2+", "2-")),
    )
    effort_names = ("voltage",)

    def power(self, frames, q, v, given):
        return -given.e[0] * v[1]

    def effort_constraint(self, frames, q, v, given):
        return v[1] - 3.0 * v[0]


def test_flows_alone_may_decide_an_effort():
    """2 V on 50 ohm are mirrored to 200 ohm, at which an effort falls that is in no row of the effort_constraint."""
    system = mse.MSystem("mirror")
    for obj in (
        mse.VoltageSource("source", voltage=2.0),
        mse.Resistor("in", resistance=50.0),
        mse.Resistor("out", resistance=200.0),
        Mirror("mirror"),
    ):
        system.add(obj)
    system.connect("source.+", "in.+")
    system.connect("in.-", "mirror.1+")
    system.connect("mirror.2+", "out.+")
    system.connect("source.-", "mirror.1-", "mirror.2-", "out.-", system.earth)
    point = system.find_working_point()
    assert point.flows["mirror.charge2"] == pytest.approx(0.12, rel=1e-12)
    assert point.internal["mirror.voltage"] == pytest.approx(-24.0, rel=1e-12)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"state_names": ("s",)}, "it has state_names and no state_rates; expected both"),
        ({"state_rates": lambda self, frames, q, v, given: 0.0}, "it has state_rates and no state_names"),
        ({"state_names": (1,), "state_rates": lambda self, *_: 0.0}, "state_names has 1; expected names"),
        (
            {"state_names": (mse.coordinate("q", unit="C", ports=("+",)),), "state_rates": lambda self, *_: 0.0},
            "has ports; expected none",
        ),
        (
            {"state_names": ("s",), "state_rates": lambda self, *_: 0.0, "coordinate_names": property(lambda self: ())},
            "differ from object to object",
        ),
    ],
)
def test_classes_with_half_of_it_are_refused(members, words):
    with pytest.raises(TypeError, match=words):
        type("Wrong", (mse.MObject,), {"frame_names": ("0",), "__module__": __name__, **members})


def test_a_wrong_number_of_rates_is_refused():
    class Short(Filtered):
        state_names = ("first", "second")

    with pytest.raises(mse.ModelError, match="gives 1 rates; expected 2, one for each of first, second"):
        cart(Short("short")).find_working_point()


def test_motions_compare_records_with_laws_once(monkeypatch):
    """Longer motions make no more records."""
    system, made, counts = cart(Filtered("filter", gain=200.0)), made_of(monkeypatch, Together), []
    for duration in (0.1, 0.1, 0.4):
        begun = len(made)
        system.simulate(duration=duration, dt=0.1, initial={"guide.displacement": 0.1})
        counts.append(len(made) - begun)
    assert counts[1] == counts[2]


class Logarithm(mse.MObject):
    """A resistor at which the logarithm of its voltage is what flows: not defined at 0 V, where searches begin."""

    frame_names = ()
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)
    effort_names = ("voltage",)

    def power(self, frames, q, v, given):
        return -given.e[0] * v[0]

    def effort_constraint(self, frames, q, v, given):
        return np.log(given.e[0]) - v[0]


@pytest.mark.parametrize("ask", ["find_working_point", "simulate"])
@pytest.mark.filterwarnings("ignore:.*encountered")
def test_laws_of_efforts_that_begin_undefined_are_named(ask):
    system = mse.MSystem("circuit")
    system.add(mse.VoltageSource("source", voltage=2.0))
    system.add(Logarithm("odd"))
    system.connect("source.+", "odd.+")
    system.connect("source.-", "odd.-", system.earth)
    given = {"duration": 1.0, "dt": 0.1} if ask == "simulate" else {}
    with pytest.raises(mse.ModelError, match=r"Logarithm 'odd': .* not a finite number .* v = exp\(e\) instead of log"):
        getattr(system, ask)(**given)


def test_an_input_drives_a_state():
    """``x (m s^2 + c s + k) = -gain f``, ``f (1 + s/corner) = x + u``, and steps without that force."""
    f = np.array([0.3, 1.0, 10.0])
    s = 2j * np.pi * f
    alone = -300.0 / ((MASS * s**2 + DAMPING * s + STIFFNESS) * (1.0 + s / 20.0))
    linear = cart(Driven("driven")).find_working_point().linearize()
    assert linear.frequency_response(f)["probe.x", "driven.u"] == pytest.approx(alone / (1.0 - alone), rel=1e-9)
    system = cart(Driven("driven", gain=0.0))
    run = system.simulate(duration=0.1, dt=0.05, inputs={"driven.u": lambda t: 0.3}, outputs=["driven.filtered"])
    assert run["driven.filtered"] == pytest.approx(0.3 * (1.0 - np.exp(-20.0 * run.time)), abs=1e-7)
