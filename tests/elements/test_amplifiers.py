"""Amplifiers and gyrators in circuits, at rest, in small motions and in time."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from wiring import wired

import mse


def amplified(**parameters: float) -> mse.MSystem:
    """A source, an amplifier, and a low pass of 10 ohm and 1 mF behind it."""
    system = mse.MSystem("amplified")
    system.add(mse.VoltageSource("source", voltage=2.0))
    system.add(mse.Amplifier("amplifier", gain=5.0, **parameters))
    system.add(mse.Resistor("resistor", resistance=10.0))
    system.add(mse.Capacitor("capacitor", capacitance=1e-3))
    system.connect("source.+", "amplifier.in+")
    system.connect("source.-", "amplifier.in-", "amplifier.-", "capacitor.-", system.earth)
    system.connect("amplifier.+", "resistor.+")
    system.connect("resistor.-", "capacitor.+")
    return system


@pytest.mark.parametrize("time", [0.0, 3e-3])
def test_an_amplifier_drives_what_it_senses(time):
    point = amplified(time_constant=time).find_working_point()
    assert point.internal["capacitor.charge"] == pytest.approx(5.0 * 2.0 * 1e-3, rel=1e-12)
    assert abs(point.flows["source.charge"]) < 1e-25 and point.stable
    f = np.array([1.0, 10.0, 100.0])
    s = 2j * np.pi * f
    found = point.linearize().frequency_response(f)["capacitor.charge", "source.voltage"]
    np.testing.assert_allclose(found, 5e-3 / ((1.0 + s * time) * (1.0 + s * 1e-2)), rtol=1e-12)
    poles = np.linalg.eigvals(point.linearize().state_space().A)
    poles = poles[poles != 0.0]  # of the charge that has been sensed
    np.testing.assert_allclose(np.sort(poles), np.sort([-100.0, *([-1.0 / time] if time else [])]), rtol=1e-10)


@pytest.mark.parametrize("time", [0.0, 3e-3])
def test_a_capacitor_behind_an_amplifier_is_charged_from_nothing(time):
    """An ideal one gives its voltage at once; work of the supply is energy of the capacitor and heat in the resistor."""
    run = amplified(time_constant=time).simulate(duration=0.03, dt=1e-3, rtol=1e-9)
    t, rc = run.time, 1e-2
    slow = (rc * np.exp(-t / rc) - time * np.exp(-t / time)) / (rc - time) if time else np.exp(-t / rc)
    np.testing.assert_allclose(run["capacitor.charge"], 1e-2 * (1.0 - slow), atol=1e-10)
    energy = run.energy
    np.testing.assert_allclose(energy["elastic"], run["capacitor.charge"] ** 2 / 2e-3, atol=1e-14)
    np.testing.assert_allclose(energy["unaccounted"], 0.0, atol=1e-9)
    if not time:
        np.testing.assert_allclose(energy["damped"], -10.0 * 0.5 * (1.0 - np.exp(-2.0 * t / rc)) * rc, atol=1e-9)


def inverting(time: float, gain: float) -> mse.MSystem:
    """An amplifier of much gain with 1 kohm before it and 5 kohm back to its input, loaded by 100 ohm."""
    system = mse.MSystem("inverting")
    system.add(mse.VoltageSource("source", voltage=1.0))
    system.add(mse.Resistor("before", resistance=1e3))
    system.add(mse.Resistor("back", resistance=5e3))
    system.add(mse.Resistor("load", resistance=100.0))
    system.add(mse.Amplifier("amplifier", gain=gain, time_constant=time))
    system.connect("source.+", "before.+")
    system.connect("before.-", "back.+", "amplifier.in-")
    system.connect("back.-", "amplifier.+", "load.+")
    system.connect("source.-", "amplifier.in+", "amplifier.-", "load.-", system.earth)
    return system


@pytest.mark.parametrize(("time", "gain"), [(0.0, 1e6), (1.0, 1e6), (1e-3, 1e6), (1e-3, 1e3)])
def test_an_inverting_amplifier_gives_five_times_its_input(time, gain):
    """U = -5 U0/(1 + 6/A), with one pole at -(1 + A/6)/t."""
    system, expected = inverting(time, gain), -5.0 / (1.0 + 6.0 / gain)
    point = system.find_working_point()
    assert point.potentials["load.+"] == pytest.approx(expected, rel=1e-9)
    assert point.stable
    poles = point.linearize().modes(damped=True).eigenvalues
    assert poles == pytest.approx([-(1.0 + gain / 6.0) / time] if time else [], rel=1e-9)
    run = system.simulate(duration=40.0 * time / gain or 1e-3, dt=10.0 * time / gain or 1e-3, rtol=1e-7)
    at_once = 1.0 if not time else 1.0 - np.exp(-(1.0 + gain / 6.0) / time * run.time)
    np.testing.assert_allclose(run["amplifier.output"], expected * at_once, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run["load.current"], run["amplifier.output"] / 100.0, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run["before.current"], (1.0 - run["amplifier.output"]) / 6e3, rtol=1e-9)
    np.testing.assert_allclose(run["amplifier.current"], run["back.current"] - run["load.current"], rtol=1e-9)


@pytest.mark.parametrize("connected", ["", "amplifier.in+", "amplifier.+"])
def test_an_open_input_is_refused(connected):
    system = geophone()
    system.add(mse.Amplifier("amplifier", gain=5.0))
    system.connect("coil.+", "capacitor.+", *([connected] if connected else []))
    system.connect("coil.-", "capacitor.-", system.earth)
    with pytest.raises(mse.ModelError, match=r"Amplifier 'amplifier': its input is open, .* connect in\+ and in-"):
        system.find_working_point()


def test_feedback_through_an_amplifier_holds_or_runs_away():
    """Its output charges a capacitor through a resistor, and the capacitor is its input: s = (A - 1)/RC."""
    for gain in (0.5, 3.0):
        system = mse.MSystem("loop")
        system.add(mse.Amplifier("amplifier", gain=gain))
        system.add(mse.Resistor("resistor", resistance=10.0))
        system.add(mse.Capacitor("capacitor", capacitance=1e-3))
        system.connect("amplifier.+", "resistor.+")
        system.connect("resistor.-", "capacitor.+", "amplifier.in+")
        system.connect("capacitor.-", "amplifier.-", "amplifier.in-", system.earth)
        point = system.find_working_point()
        assert point.stable is (gain < 1.0)
        (rate,) = point.linearize().modes(damped=True).eigenvalues
        assert rate == pytest.approx((gain - 1.0) * 100.0, rel=1e-10)


def test_a_gyrator_makes_an_inductor_of_a_capacitor():
    system = mse.MSystem("gyrator")
    system.add(mse.VoltageSource("source"))
    system.add(mse.Gyrator("gyrator", resistance=50.0))
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.add(mse.Resistor("resistor", resistance=20.0))
    system.connect("source.+", "resistor.+")
    system.connect("resistor.-", "gyrator.1+")
    system.connect("source.-", "gyrator.1-", system.earth)
    system.connect("gyrator.2+", "capacitor.+")
    system.connect("gyrator.2-", "capacitor.-", system.earth)
    f = np.array([10.0, 1e3, 1e5])
    found = system.find_working_point().linearize().impedance("source", f)
    np.testing.assert_allclose(found, 20.0 + 2j * np.pi * f * 50.0**2 * 1e-6, rtol=1e-10)


def test_an_amplified_step_in_time():
    system = amplified(time_constant=3e-3)
    system["source"].voltage = 0.0
    run = system.simulate(
        duration=0.02, dt=0.005, inputs={"source.voltage": lambda t: 2.0}, outputs=["capacitor.charge"], rtol=1e-8
    )
    t = np.arange(5) * 0.005
    exact = 1e-2 * (1.0 - (1e-2 * np.exp(-t / 1e-2) - 3e-3 * np.exp(-t / 3e-3)) / 7e-3)
    np.testing.assert_allclose(run["capacitor.charge"], exact, atol=1e-9)


def geophone() -> mse.MSystem:
    """A body on a spring with a coil of 8 N/A."""
    system = mse.MSystem("geophone")
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=0.1, at=mse.Pose.dz(0.1)))
    system.add(mse.Prismatic("guide", axis=(0, 0, 1)), between=(body, system.ground))
    system.add(mse.Spring("spring", length=0.1, stiffness=800.0), between=(system.ground, body))
    system.add(mse.VoiceCoil("coil", bl=8.0), between=(system.ground, body))
    system.add(mse.Capacitor("capacitor", capacitance=1e-3))
    system.add(mse.ForceActuator("push"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system


def by_states(linear: mse.LinearModel, f: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    ss = linear.state_space(outputs=["probe.z", "capacitor.charge"], inputs=["push.fz"])
    values = np.array([ss.C @ np.linalg.solve(s * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D for s in 2j * np.pi * f])
    return {(o, "push.fz"): values[:, k, 0] for k, o in enumerate(ss.outputs)}


def sensed() -> mse.MSystem:
    """The amplifier senses the voltage of the coil, so that its output follows the velocity, and charges the capacitor."""
    system = geophone()
    system.add(mse.Amplifier("amplifier", gain=5.0))
    system.add(mse.Resistor("load", resistance=10.0))
    system.connect("coil.+", "amplifier.in+")
    system.connect("amplifier.+", "load.+")
    system.connect("load.-", "capacitor.+")
    system.connect("coil.-", "amplifier.in-", "amplifier.-", "capacitor.-", system.earth)
    return system


def test_a_coil_that_is_only_sensed_takes_no_energy():
    linear, f = sensed().find_working_point().linearize(), np.array([0.5, 3.0, 40.0])
    assert np.sort_complex(linear.modes(damped=True).eigenvalues) == pytest.approx([-100.0, 20.0j], rel=1e-12)
    s = 2j * np.pi * f
    moved = 1.0 / (2.0 * s**2 + 800.0)
    by_hand = 5.0 * 8.0 * s * moved * 1e-3 / (1.0 + 1e-2 * s)
    for found in (linear.frequency_response(f), by_states(linear, f)):
        np.testing.assert_allclose(found["probe.z", "push.fz"], moved, rtol=1e-10)
        np.testing.assert_allclose(found["capacitor.charge", "push.fz"], by_hand, rtol=1e-10)


def test_a_coil_at_a_capacitor_adds_mass():
    """Its current is C Bl z'', without any resistance: m + Bl^2 C."""
    system, f = geophone(), np.array([0.5, 3.0, 40.0])
    system.connect("coil.+", "capacitor.+")
    system.connect("coil.-", "capacitor.-", system.earth)
    linear = system.find_working_point().linearize()
    moved = 1.0 / (800.0 - (2.0 + 0.064) * (2 * np.pi * f) ** 2)
    for found in (linear.frequency_response(f), by_states(linear, f)):
        np.testing.assert_allclose(found["probe.z", "push.fz"], moved, rtol=1e-10)
    (s,) = linear.modes(damped=True).eigenvalues
    assert s == pytest.approx(1j * np.sqrt(800.0 / 2.064), rel=1e-12)


def test_accelerations_that_push_as_no_mass_does_are_refused():
    """What one coil senses drives another one on a second body, through a capacitor alone."""
    system = geophone()
    other = system.add(mse.RigidBody("other", mass=2.0, inertia=0.1, at=mse.Pose.dz(0.1)))
    system.add(mse.Prismatic("rail", axis=(0, 0, 1)), between=(other, system.ground))
    system.add(mse.Spring("stay", length=0.1, stiffness=800.0), between=(system.ground, other))
    system.add(mse.VoiceCoil("motor", bl=8.0), between=(system.ground, other))
    system.add(mse.Amplifier("amplifier", gain=5.0))
    system.connect("coil.+", "amplifier.in+")
    system.connect("amplifier.+", "capacitor.+")
    system.connect("capacitor.-", "motor.+")
    system.connect("coil.-", "amplifier.in-", "amplifier.-", "motor.-", system.earth)
    linear = system.find_working_point().linearize()
    assert np.isfinite(linear.frequency_response([1.0]).values).all()
    with pytest.raises(
        mse.ModelError, match="push body.z, other.z by accelerations, .* unsymmetric .* give a coil its own"
    ):
        linear.state_space()


def test_modes_of_a_loop_have_the_efforts_that_follow_rates():
    linear = sensed().find_working_point().linearize()
    own = linear.modes(damped=True)
    for faint in (mse.Controller.zpk([], [-1.0], 1e-6), mse.Controller.zpk([], [0.5], 1e-6, dt=1e-4)):
        modes = linear.feedback({("push.fz", "probe.z"): faint}).modes()
        for k, s in enumerate(own.eigenvalues):
            j = int(np.argmin(np.abs(modes.eigenvalues - s)))
            shape, expected = modes.shapes[:, j], own.shapes[:, k]
            aligned = shape * (np.vdot(shape, expected) / np.vdot(shape, shape))
            np.testing.assert_allclose(aligned, expected, atol=1e-5 * np.abs(expected).max())


class Random:
    """Resistors, capacitors, coils and amplifiers between random nodes, behind a source with 3 ohm; node 0 is earth."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.nodes = n = int(rng.integers(3, 7))
        order = (rng.permutation(n) + 1).tolist()
        self.driven = order[-1]
        self.branches = []
        for i, a in enumerate(order):
            b = 0 if not i or rng.random() < 0.4 else order[rng.integers(0, i)]
            self.branches.append(("R", 10 ** rng.uniform(0, 3), a, b))
        for kind in rng.choice(list("RCL"), rng.integers(2, 7)):
            a, b = rng.choice(n + 1, 2, replace=False).tolist()
            low, high = {"R": (0, 3), "C": (-6, -3), "L": (-4, -1)}[kind]
            self.branches.append((kind, 10 ** rng.uniform(low, high), a, b))
        self.amplifiers = []
        ends = rng.permutation([k for k in range(1, n + 1) if k != self.driven]).tolist()
        for end in ends[: rng.integers(1, 3)]:
            i, j = rng.choice(n + 1, 2, replace=False).tolist()
            gain = rng.choice([-1, 1]) * 10 ** rng.uniform(-1, 3)
            self.amplifiers.append((gain, rng.choice([0.0, 10 ** rng.uniform(-5, -2)]), i, j, end))

    def system(self) -> mse.MSystem:
        kinds = {
            "R": (mse.Resistor, "resistance"),
            "C": (mse.Capacitor, "capacitance"),
            "L": (mse.Inductor, "inductance"),
        }
        system, inside, n = mse.MSystem("random"), mse.Resistor("inside", resistance=3.0), self.nodes
        branches = [(mse.VoltageSource("source", voltage=0.7), n + 1, 0), (inside, n + 1, self.driven)]
        for k, (kind, value, a, b) in enumerate(self.branches):
            made, parameter = kinds[kind]
            branches.append((made(f"{kind}{k}", **{parameter: value}), a, b))
        for k in range(len(self.amplifiers)):
            branches.append((mse.Resistor(f"out{k}", resistance=20.0), n + 2 + k, self.amplifiers[k][-1]))
        further = {}
        for k, (gain, time, i, j, _) in enumerate(self.amplifiers):
            one = system.add(mse.Amplifier(f"A{k}", gain=gain, time_constant=time))
            for port, node in (("in+", i), ("in-", j), ("+", n + 2 + k), ("-", 0)):
                further.setdefault(str(node), []).append(one.port(port))
        return wired(system, *((obj, str(a), str(b)) for obj, a, b in branches), further=further)

    def pencil(self) -> tuple[np.ndarray, np.ndarray]:
        """E and A of ``E x' = A x``: potentials, outputs of amplifiers, and currents of coils, by nodal analysis."""
        n, coils = self.nodes, [k for k, branch in enumerate(self.branches) if branch[0] == "L"]
        first = n + len(self.amplifiers)
        e, a = np.zeros((2, first + len(coils), first + len(coils)))
        for k, (kind, value, i, j) in enumerate(self.branches):
            across = np.zeros(len(a))
            across[[x - 1 for x in (i, j) if x]] += [s for x, s in ((i, 1.0), (j, -1.0)) if x]
            if kind == "R":
                a -= np.outer(across, across) / value
            elif kind == "C":
                e += value * np.outer(across, across)
            else:
                at = first + coils.index(k)
                e[at, at], a[at], a[:, at] = value, across, -across
        a[self.driven - 1, self.driven - 1] -= 1.0 / 3.0
        for k, (gain, time, i, j, end) in enumerate(self.amplifiers):
            at = n + k
            a[end - 1, [end - 1, at]] += -0.05, 0.05
            e[at, at], a[at, at] = time, -1.0
            a[at, [x - 1 for x in (i, j) if x]] = [s for x, s in ((i, gain), (j, -gain)) if x]
        return e, a


@pytest.mark.parametrize("seed", [1, 19, 25, 44, 45, 47, 48, 50, 51, 170])
def test_random_networks_with_amplifiers_are_those_of_nodal_analysis(seed):
    """At rest, in frequency and by their poles; those named here lost up to all digits, or were refused."""
    network = Random(seed)
    e, a = network.pencil()
    point = network.system().find_working_point()
    drive = np.zeros(len(a))
    drive[network.driven - 1] = 1.0 / 3.0
    rest = np.linalg.lstsq(-a, 0.7 * drive, rcond=None)[0][: network.nodes]  # coils may carry currents in loops
    found = [point.potentials[f"R{k}.+"] for k in range(network.nodes)]
    at = [branch[2] - 1 for branch in network.branches[: network.nodes]]
    np.testing.assert_allclose(found, rest[at], rtol=1e-7, atol=1e-10)
    linear, f = point.linearize(), np.array([3.0, 200.0, 2e4])
    names = [f"R{k}.current" for k in range(network.nodes)]
    values = linear.frequency_response(f, outputs=names, inputs=["source.voltage"]).values[:, :, 0]
    potentials = np.array([np.linalg.solve(2j * np.pi * x * e - a, drive) for x in f])
    potentials = np.hstack([np.zeros((3, 1)), potentials[:, : network.nodes]])
    expected = [(potentials[:, i] - potentials[:, j]) / value for _, value, i, j in network.branches[: network.nodes]]
    np.testing.assert_allclose(values.T, expected, atol=1e-9 * np.abs(expected).max())
    assert linear.state_space(outputs=names, inputs=["source.voltage"]).states
    s = linear.modes(damped=True).eigenvalues
    poles = scipy.linalg.eig(a, e, right=False)
    poles = poles[np.isfinite(poles) & (np.abs(poles) < 1e12)]
    assert all(np.abs(poles - x).min() < 1e-7 * abs(x) for x in s if x)
    assert point.stable is not bool((s.real > 0.0).any())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [14, 20])
def test_currents_keep_the_tolerance_where_nothing_stores_charge(seed):
    """Charges of resistors and coils count by what flows in a step: they have no size of their own."""
    network = Random(seed)
    point = network.system().find_working_point()
    linear, names = point.linearize(), [f"R{k}.current" for k in range(network.nodes)]
    end = 3.0 / max(np.abs(linear.modes(damped=True).eigenvalues).min(), 10.0)

    def rise(t):
        return np.sin(2.6 * np.pi * t / end) ** 2

    run = network.system().simulate(
        duration=end, dt=end / 50, rtol=1e-8, inputs={"source.voltage": rise}, start=point, outputs=names
    )
    small = linear.simulate(duration=end, dt=end / 16000, inputs={"source.voltage": rise}, outputs=names)
    expected = np.array([small[name][::320] for name in names])
    found = np.array([run[name] - run[name][0] for name in names])
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def seismometer(coupled: float) -> mse.MSystem:
    """A mass whose coil feeds an amplifier, itself or by a transformer, which drives another coil."""
    system = mse.MSystem("seismometer", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=0.3, inertia=1e-3))
    system.add(mse.Prismatic("guide", stiffness=1200.0, damping=0.5, motor="force"), between=(mass, system.ground))
    system.add(mse.VoiceCoil("sense", bl=20.0, resistance=300.0, inductance=0.1), between=(system.ground, mass))
    system.add(mse.VoiceCoil("drive", bl=4.0, resistance=8.0, inductance=2e-3), between=(system.ground, mass))
    system.add(mse.Amplifier("amplifier", gain=-2.0, time_constant=1e-3))
    system.connect("amplifier.+", "drive.+")
    system.connect("amplifier.-", "drive.-", "amplifier.in-", system.earth)
    if coupled:
        system.add(mse.Transformer("core", primary=0.2, secondary=0.3, coupling=coupled))
        system.add(mse.Resistor("load", resistance=50.0))
        system.connect("sense.+", "core.1+")
        system.connect("core.1-", "load.+")
        system.connect("load.-", "sense.-", system.earth)
        system.connect("core.2+", "amplifier.in+")
        system.connect("core.2-", system.earth)
    else:
        system.connect("sense.+", "amplifier.in+")
        system.connect("sense.-", system.earth)
    return system


@pytest.mark.parametrize("coupled", [0.0, 0.6])
def test_inductance_before_an_amplifier_leaves_its_input_without_current(coupled):
    """The current that does not flow decides no pole; the voltage across inductances follows from the others' rates.

    By hand: mass, velocity, current of the drive, output, and the current of the first winding, in ``E x' = A x``.
    """
    linear = seismometer(coupled).find_working_point().linearize()
    e, a = np.diag([1.0, 0.3, 2e-3, 1e-3, 0.1 + 0.2]), np.zeros((5, 5))
    a[0, 1] = 1.0
    a[1, :3] = -1200.0, -0.5, 4.0
    a[2, 1:4] = -4.0, -8.0, 1.0
    a[3, 3] = -1.0
    if coupled:
        a[1, 4] = -20.0
        a[4, [1, 4]] = 20.0, -350.0
        e[3, 4] = 2.0 * coupled * np.sqrt(0.2 * 0.3)  # the gain times M i'
        count = 5
    else:
        a[3, 1] = -2.0 * 20.0
        count = 4
    expected = np.linalg.eigvals(np.linalg.solve(e[:count, :count], a[:count, :count]))
    expected = expected[expected.imag >= 0.0]
    found = linear.modes(damped=True).eigenvalues
    assert len(found) == len(expected)
    for s in expected:
        assert np.abs(found - s).min() < 1e-9 * abs(s)
    f, outputs, inputs = np.array([1.0, 10.0, 300.0]), ["amplifier.charge", "guide.displacement"], ["guide.force"]
    expected = linear.frequency_response(f, outputs=outputs, inputs=inputs).values
    inner = linear.state_space(outputs=outputs, inputs=inputs)
    found = [inner.C @ np.linalg.solve(2j * np.pi * x * np.eye(len(inner.A)) - inner.A, inner.B) + inner.D for x in f]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def held_by_capacitors(*branches):
    system = mse.MSystem("held")
    amplifier = system.add(mse.Amplifier("amplifier", gain=3.0))
    further = {
        "in": [amplifier.port("in+")],
        "0": [amplifier.port("in-"), amplifier.port("-")],
        "out": [amplifier.port("+")],
    }
    return wired(system, *branches, (mse.Resistor("load", resistance=5.0), "out", "0"), further=further)


def test_charges_at_an_input_stay_where_they_begin():
    """Only capacitors hold the input: nothing flows into it, so at rest they share a voltage as without the amplifier."""
    source, near, far = (
        mse.VoltageSource("source", voltage=5.0), mse.Capacitor("near", capacitance=1e-3), mse.Capacitor("far", capacitance=3e-3),
    )  # fmt: skip
    point = held_by_capacitors((source, "a", "0"), (near, "a", "in"), (far, "in", "0")).find_working_point()
    assert point.potentials["far.+"] == pytest.approx(5.0 * 1e-3 / (1e-3 + 3e-3), rel=1e-12)
    assert point.potentials["amplifier.+"] == pytest.approx(3.75, rel=1e-12)
    assert point.flows["load.charge"] == pytest.approx(0.75, rel=1e-12) and point.stable
    response = point.linearize().frequency_response([7.0], inputs=["source.voltage"], outputs=["load.current"])
    np.testing.assert_allclose(response.values[0, 0, 0], 3.0 * 0.25 / 5.0, rtol=1e-12)


def test_a_capacitor_alone_at_an_input_has_no_charge_at_rest():
    """Its noise of stiffness is so far above that of what flows that their constraints looked the same."""
    capacitor = mse.Capacitor("capacitor", capacitance=1e-3)
    point = held_by_capacitors((capacitor, "in", "0"), (mse.CurrentSource("source"), "0", "in")).find_working_point()
    assert point.internal["capacitor.charge"] == point.potentials["amplifier.+"] == 0.0
    linear, f = point.linearize(), np.array([2.0, 40.0])
    assert not linear.modes(damped=True).eigenvalues.size
    found = linear.frequency_response(f, outputs=["load.current"]).values[:, 0, 0]
    np.testing.assert_allclose(found, 3.0 / (2j * np.pi * f * 1e-3) / 5.0, rtol=1e-12)
