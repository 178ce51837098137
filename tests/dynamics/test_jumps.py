"""Motions under inputs that jump: steps end there, and what has no mass goes on with other rates."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import textbook as book
from wiring import wired

import mse
from mse.dynamics import bodies
from mse.dynamics.compiled_steps import CompiledSteps
from mse.dynamics.jumps import jump_between
from mse.dynamics.readings import Reading

R, C, U, ON = 2e3, 1e-6, 3.0, 0.00337


def rc():
    """A capacitor behind a resistor."""
    return wired(
        mse.MSystem("filter"),
        (mse.VoltageSource("source", voltage=0.0), "a", "0"),
        (mse.Resistor("resistor", resistance=R), "a", "b"),
        (mse.Capacitor("capacitor", capacitance=C), "b", "0"),
    )


def run(system, voltage, *, duration=0.02, dt=1e-4, **more):
    inputs = {"source.voltage": voltage}
    return system.simulate(duration=duration, dt=dt, inputs=inputs, rtol=1e-8, progress=False, **more)


def square(t):
    """A square wave whose period is no multiple of the samples."""
    return U if (t / 0.0031) % 1.0 < 0.4 else 0.0


def charged(times):
    """The charge under the square wave, piece by piece."""
    edges = sorted({0.0, *(0.0031 * (k + x) for k in range(8) for x in (0.0, 0.4))})
    q, out = 0.0, np.zeros(len(times))
    for a, b in pairwise(edges):
        goal, here = C * square(0.5 * (a + b)), (times >= a) & (times <= b)
        out[here] = goal + (q - goal) * np.exp(-(times[here] - a) / (R * C))
        q = goal + (q - goal) * np.exp(-(b - a) / (R * C))
    return out


@pytest.mark.parametrize("on", [ON, 0.005, 0.0])
def test_a_voltage_that_is_switched_on_charges_a_capacitor(on):
    """No step of the implicit method leads past the jump, where the current is another one at once."""
    motion = run(rc(), lambda t: U if t > on else 0.0)
    t = motion.time
    np.testing.assert_allclose(
        motion["capacitor.charge"], np.where(t > on, C * U * -np.expm1((on - t) / (R * C)), 0.0), atol=1e-15
    )
    current = np.where(t > on, U / R * np.exp((on - t) / (R * C)), 0.0)
    np.testing.assert_allclose(motion["capacitor.current"], current, atol=1e-6 * U / R)


def test_the_current_at_the_jump_is_that_behind_it():
    motion = run(rc(), lambda t: U if t >= 0.005 else 0.0)
    k = int(np.flatnonzero(motion.time >= 0.005)[0])
    assert motion["capacitor.current"][k - 1 : k + 1] == pytest.approx([0.0, U / R], abs=1e-12)
    assert motion.at(0.005).state is not None


def test_a_square_wave_is_followed_from_edge_to_edge():
    motion = run(rc(), square)
    np.testing.assert_allclose(motion["capacitor.charge"], charged(motion.time), atol=1e-6 * C * U)
    assert motion.steps < 400


def test_a_run_that_was_cut_goes_on_to_the_bit(tmp_path):
    system = rc()
    whole, first = (run(system, square, duration=t) for t in (0.008, 0.005))
    rest = run(system, square, duration=0.003, start=first.final_state)
    np.testing.assert_array_equal(rest["capacitor.charge"], whole["capacitor.charge"][-len(rest.time) :])
    recorded = run(system, square, duration=0.008, record=tmp_path / "run.npy")
    np.testing.assert_array_equal(recorded["capacitor.charge"], whole["capacitor.charge"])


def test_a_force_that_jumps_costs_a_step_and_no_accuracy():
    """Of a mass on a spring under a constant force, ``x = f/k (1 - cos(w t))``."""
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1))
    rail = system.add(mse.Prismatic("rail", axis=(1, 0, 0), stiffness=50.0), between=(system.ground, body))
    system.add(mse.ForceActuator("push"), between=(body, system.ground))
    found = {}
    for name, force in (("steady", lambda t: 3.0), ("jumps", lambda t: 3.0 if t >= 0.337 else 0.0)):
        found[name] = system.simulate(
            duration=2.0,
            dt=0.01,
            inputs={"push.fx": force},
            outputs=[f"{rail.name}.displacement"],
            rtol=1e-9,
            progress=False,
        )
    t = found["jumps"].time
    right = np.where(t >= 0.337, 0.06 * (1.0 - np.cos(5.0 * (t - 0.337))), 0.0)
    np.testing.assert_allclose(np.abs(found["jumps"]["rail.displacement"]), right, atol=3e-9)
    assert found["jumps"].evaluations < found["steady"].evaluations + 150


SMOOTH = [
    lambda t: np.tanh(1e4 * (t - 0.5)),
    lambda t: np.sin(3e4 * t),
    lambda t: max(t - 0.5, 0.0),
    lambda t: 2.0 + 1e-9 * t,
    lambda t: 0.0,
]


@pytest.mark.parametrize("smooth", SMOOTH)
@pytest.mark.parametrize("span", [(0.0, 1.0), (0.4, 0.7), (0.5 - 1e-13, 0.5 + 1e-13), (10.0, 10.0 + 1e-14), (1.0, 1.0)])
def test_what_changes_fast_is_no_jump(smooth, span):
    assert jump_between(Reading(smooth), *span) is None


@pytest.mark.parametrize("at", [0.0, 1e-9, 0.3, 0.999])
def test_a_jump_lies_between_neighbouring_numbers(at):
    before, after = jump_between(Reading(lambda t: t + (1e-2 if t > at else 0.0)), 0.0, 1.0)
    assert before <= at < after
    assert after - before <= 1e-15


def test_a_capacitor_that_a_source_would_charge_at_once_is_refused():
    system = wired(
        mse.MSystem("torn"),
        (mse.VoltageSource("source", voltage=0.0), "a", "0"),
        (mse.Capacitor("capacitor", capacitance=C), "a", "0"),
    )
    with pytest.raises(mse.MotionError, match=r"capacitor.charge would jump at t = 0\.004 s") as failed:
        run(system, lambda t: U if t > 0.004 else 0.0, duration=0.01, dt=1e-3)
    assert failed.value.motion.time[-1] == pytest.approx(0.003)


def test_a_loop_refuses_it_as_well_and_settles_currents_otherwise():
    system = rc()
    loop = system.step_loop(dt=1e-4, inputs=["source.voltage"])
    loop.step()
    loop["source.voltage"] = U
    loop.step()
    assert loop["capacitor.charge"] == pytest.approx(C * U * -np.expm1(-1e-4 / (R * C)), rel=1e-7)
    assert loop["capacitor.current"] == pytest.approx(U / R * np.exp(-1e-4 / (R * C)), rel=1e-6)
    torn = wired(
        mse.MSystem("torn"),
        (mse.VoltageSource("source", voltage=0.0), "a", "0"),
        (mse.Capacitor("capacitor", capacitance=C), "a", "0"),
    )
    loop = torn.step_loop(dt=1e-4, inputs=["source.voltage"])
    loop["source.voltage"] = U
    with pytest.raises(mse.ModelError, match=r"capacitor.charge would jump at t = 0 s"):
        loop.step()
    assert loop.time == 0.0


def test_an_input_that_is_noise_ends_the_motion():
    system = mse.MSystem("noise", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    system.add(mse.ForceActuator("push"), between=(body, system.ground))
    noise = np.random.default_rng(3)
    with pytest.raises(
        mse.ModelError, match=r"input .push\.fx. goes up and down within any step from t = 0 .* joined by np\.interp"
    ):
        system.simulate(duration=0.1, dt=0.01, inputs={"push.fx": lambda t: noise.normal()}, progress=False)


# -- pulses ---------------------------------------------------------------------------------------------------------------
def oscillator(method):
    """1 kg on a spring of 100 N/m with 1 N s/m, at rest; what integrates its motion under a force, and its samples."""
    system = mse.MSystem("oscillator", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    system.add(mse.Prismatic("guide", stiffness=100.0, damping=1.0), between=(system.ground, body))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))

    def moved(push, **options):
        given = {"duration": 3.0, "dt": 0.01, "method": method, "inputs": {"push.fz": push}, **options}
        return system.simulate(progress=False, **given)

    return moved


def by_hand(push, times, width):
    """The same by ``x(t) = int h(t - s) u(s) ds`` over a pulse of some width (s) behind 1 s."""
    s, weights = np.polynomial.legendre.leggauss(80)
    s, weights = 1.0 + width * 0.5 * (1.0 + s), 0.5 * width * weights
    late = np.maximum(times[:, None] - s, 0.0)
    w = np.sqrt(100.0 - 0.25)
    return (np.exp(-0.5 * late) * np.sin(w * late) / w) @ (weights * np.array([push(t) for t in s]))


def bell(t):
    return 100.0 * np.exp(-(((t - 1.02) / 2e-3) ** 2))


def half_sine(t):
    return 100.0 * np.sin(np.pi * (t - 1.0) / 4e-3) if 1.0 < t < 1.004 else 0.0


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize(("push", "width"), [(bell, 0.04), (half_sine, 0.004)])
def test_a_pulse_between_samples_is_seen(push, width, method):
    """At rest, steps have any length: each of these pulses was lost, or taken for a force of many seconds."""
    run = oscillator(method)(push)
    after = run.time > 1.0 + width
    right = by_hand(push, run.time[after], width)
    found = run.poses("body.center")[0][:, 2]
    np.testing.assert_allclose(found[after], right, atol=3e-6 * np.abs(right).max())


def shaken(t):
    """A jump, a pulse and a sine."""
    return (3.0 if t > 0.513 else 0.0) + 40.0 * np.exp(-(((t - 1.02) / 2e-3) ** 2)) + 2.0 * np.sin(30.0 * t)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize("push", [shaken, lambda t: 3.0 * (t > 0.513) + shaken(0.5) * np.sin(30.0 * t)])
def test_steps_that_see_an_input_are_made_at_once_and_are_the_same(monkeypatch, push, method):
    moved = partial(oscillator(method), push, duration=1.1)
    alone = moved(crossings={"guide.displacement": 10.0})  # where each step is looked at
    taken = book.count_leaps(monkeypatch, CompiledSteps)
    run = moved()
    np.testing.assert_array_equal(run.values, alone.values)
    assert run.steps == alone.steps and run.steps - 40 < sum(taken) and max(taken) > 8
    if method == "explicit":
        monkeypatch.setattr(bodies.Bodies, "of", lambda *given, **more: None)
        np.testing.assert_allclose(run["guide.displacement"], moved()["guide.displacement"], atol=1e-7)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_an_input_that_fails_ends_the_motion_where_it_does(method):
    def push(t):
        return np.sin(30.0 * t) if t < 1.3 else np.nan

    with pytest.raises(mse.MotionError, match=r"input .push\.fz. at t = 1\.\d+ s is nan") as failed:
        oscillator(method)(push)
    assert 1.1 < failed.value.motion.time[-1] < 1.3


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_prescribed_jolt_of_what_is_at_rest_is_seen(method):
    """A stage of which the foot jolts by u feels the force ``k u + c u'`` of its spring and damper."""
    system = mse.MSystem("stage", gravity=(0, 0, 0))
    foot = system.add(mse.RigidBody("foot", mass=1.0, inertia=0.1))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    system.add(mse.Prismatic("drive", motor="position"), between=(foot, system.ground))
    system.add(mse.Prismatic("guide", stiffness=100.0, damping=1.0), between=(foot, body))

    def jolt(t):
        return 1e-2 * np.exp(-(((t - 1.02) / 2e-3) ** 2))

    def force(t):
        return jolt(t) * (100.0 - 2.0 * (t - 1.02) / 4e-6)

    run = system.simulate(duration=3.0, dt=0.01, method=method, inputs={"drive.displacement": jolt}, progress=False)
    after = run.time > 1.05
    right = by_hand(force, run.time[after], 0.04)
    found = run.poses("body.center")[0][:, 2]
    np.testing.assert_allclose(abs(found[after]), abs(right), atol=5e-5 * np.abs(right).max())


def test_a_small_sine_on_a_large_voltage_is_right():
    """Twenty low passes at rest under 1 V: 10 mV of 500 Hz arrive as some nV, as linear equations say."""
    system, before = mse.MSystem("ladder"), "source.+"
    system.add(mse.VoltageSource("source", voltage=1.0))
    system.connect("source.-", system.earth)
    for k in range(20):
        system.add(mse.Resistor(f"r{k}", resistance=10.0))
        system.add(mse.Capacitor(f"c{k}", capacitance=1e-6))
        system.connect(before, f"r{k}.+")
        system.connect(f"r{k}.-", f"c{k}.+")
        system.connect(f"c{k}.-", system.earth)
        before = f"c{k}.+"
    point = system.find_working_point()

    def wave(t):
        return 0.01 * np.sin(2.0 * np.pi * 500.0 * t) * -np.expm1(-500.0 * t)

    given = {"duration": 0.01, "inputs": {"source.voltage": wave}, "outputs": ["c19.charge"], "progress": False}
    run = system.simulate(dt=2e-4, start=point, **given)
    fine = point.linearize().simulate(dt=5e-6, **given)["c19.charge"][::40]
    np.testing.assert_allclose(run["c19.charge"] - run["c19.charge"][0], fine, atol=1e-6 * np.abs(fine).max())


def test_a_force_that_a_hinge_takes_leaves_a_pendulum_at_rest():
    """Accelerations are rounding of its weight, which decides no step."""
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=mse.Pose.dz(-1.0)))
    hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    system.clamp(system.ground, hinge.frame(0))
    system.clamp(hinge.frame(1), bob.frame("center"), mse.Pose.dz(-1.0))
    system.add(mse.ForceActuator("push"), between=(bob, system.ground))  # its line goes through the hinge
    inputs = {"push.fx": lambda t: np.sin(3.0 * t)}
    run = system.simulate(duration=20.0, dt=0.05, inputs=inputs, progress=False)
    assert np.abs(run["hinge.angle"]).max() < 1e-9 and run.steps < 200


# -- currents -------------------------------------------------------------------------------------------------------------
def fed(*branches, current=0.0):
    """A source between earth and "a", from which branches go."""
    return wired(mse.MSystem("fed"), (mse.CurrentSource("source", current=current), "0", "a"), *branches)


def step_at(on, value):
    return lambda t: value if t >= on else 0.0


def test_a_current_that_is_switched_on_charges_a_capacitor_beside_a_resistor():
    """``q = R C i (1 - exp(-t/RC))``, to which a steady current adds its own."""
    branches = lambda: ((mse.Resistor("r", resistance=R), "a", "0"), (mse.Capacitor("c", capacitance=C), "a", "0"))
    run = partial(fed(*branches()).simulate, dt=R * C / 10, rtol=1e-9, progress=False)
    whole = run(duration=3 * R * C, inputs={"source.current": (inputs := step_at(0.35 * R * C, 0.02))})
    right = np.where(whole.time >= 0.35 * R * C, 0.02 * R * C * -np.expm1(0.35 - whole.time / (R * C)), 0.0)
    np.testing.assert_allclose(whole["c.charge"], right, atol=1e-9 * 0.02 * R * C)
    np.testing.assert_allclose(whole["source.charge"][-1], 0.02 * 2.65 * R * C, rtol=1e-9)
    assert np.abs(whole.energy["unaccounted"]).max() < 1e-9 * whole.energy["driven"].max()
    first = run(duration=R * C, inputs={"source.current": inputs})
    rest = run(duration=2 * R * C, inputs={"source.current": inputs}, start=first.final_state)
    np.testing.assert_array_equal(rest["c.charge"], whole["c.charge"][10:])
    steady = fed(*branches(), current=0.01).simulate(
        duration=3 * R * C,
        dt=R * C / 10,
        inputs={"source.current": inputs},
        rtol=1e-9,
        progress=False,
        outputs=["c.charge", "source.voltage"],
    )
    right = right + 0.01 * R * C * -np.expm1(-steady.time / (R * C))
    np.testing.assert_allclose(steady["c.charge"], right, atol=1e-9 * 0.02 * R * C)
    np.testing.assert_allclose(steady["source.voltage"], -right / C, atol=1e-9 * 0.02 * R)


def test_a_loop_sets_the_current_of_a_source():
    """``q = R C i (1 - exp(-t/RC))`` while a current is held, sample by sample; it may not jump where a coil is in series."""
    branches = (mse.Resistor("r", resistance=R), "a", "0"), (mse.Capacitor("c", capacitance=C), "a", "0")
    names = ["c.charge", "source.charge", "source.current", "source.voltage"]
    loop = fed(*branches, current=0.01).step_loop(dt=0.4 * R * C, inputs=["source.current"], outputs=names)
    charge, passed = 0.0, 0.0
    for current in (0.0, 0.02, 0.02, -0.03, 0.0):
        loop["source.current"] = current
        loop.step()
        total = current + 0.01
        charge = total * R * C + (charge - total * R * C) * np.exp(-0.4)
        passed += total * loop.dt
        np.testing.assert_allclose(loop["c.charge"], charge, rtol=1e-8)
        np.testing.assert_allclose(loop["source.charge"], passed, rtol=1e-8)
        np.testing.assert_allclose(loop["source.voltage"], -charge / C, rtol=1e-8)
        np.testing.assert_allclose(loop["source.current"], total, rtol=1e-12)  # of both
    loop = fed((mse.Inductor("l", inductance=1e-3), "a", "0")).step_loop(dt=1e-5, inputs=["source.current"])
    loop["source.current"] = 0.01
    with pytest.raises(
        mse.ModelError, match=r"'source\.current' would jump by 0\.01 A, which the current of l\.charge cannot"
    ):
        loop.step()


def test_a_current_that_is_switched_on_leaves_a_coil_to_a_resistor_first():
    """Steps are explicit here: the coil has a kinetic energy, and ``i = i0 (1 - exp(-R t/L))``."""
    system = fed((mse.Resistor("r", resistance=50.0), "a", "0"), (mse.Inductor("l", inductance=1e-3), "a", "0"))
    motion = system.simulate(duration=1e-4, dt=1e-5, inputs={"source.current": step_at(2.5e-5, 0.01)}, rtol=1e-9)
    later = motion.time >= 2.5e-5
    np.testing.assert_allclose(
        motion["l.current"], np.where(later, 0.01 * -np.expm1(-(motion.time - 2.5e-5) / 2e-5), 0.0), atol=1e-11
    )
    np.testing.assert_allclose(motion["r.current"] + motion["l.current"], np.where(later, 0.01, 0.0), atol=1e-14)


def test_a_current_through_a_coil_goes_on_smoothly_or_is_refused():
    def system():
        return fed((mse.Inductor("l", inductance=1e-3), "a", "b"), (mse.Resistor("r", resistance=50.0), "b", "0"))

    wave = lambda t: 0.01 * np.sin(1e4 * t)
    names = ["l.current", "source.voltage"]
    motion = system().simulate(duration=3e-4, dt=1e-5, inputs={"source.current": wave}, rtol=1e-9, outputs=names)
    t = motion.time
    np.testing.assert_allclose(motion["l.current"], wave(t), atol=1e-11)
    np.testing.assert_allclose(motion["source.voltage"], -50.0 * wave(t) - 0.1 * np.cos(1e4 * t), atol=1e-9)
    told = (
        r"at t = 0\.0001 s input 'source\.current' would jump by 0\.01 A, which the current of l\.charge cannot follow"
    )
    with pytest.raises(mse.MotionError, match=told) as failed:
        system().simulate(duration=3e-4, dt=1e-5, inputs={"source.current": step_at(1e-4, 0.01)})
    assert failed.value.motion.time[-1] >= 0.9e-4
