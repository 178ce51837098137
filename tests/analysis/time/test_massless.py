"""Circuits where rounding could pass for damping or for a derivative, against responses from the whole equations."""

import numpy as np
import pytest
import scipy.linalg
from wiring import wired

import mse
from mse import Amplifier, Capacitor, CurrentSource, Gyrator, Inductor, Resistor, VoltageSource

CORE = [
    [0.36633813, -0.05162184, -0.00245608],
    [-0.05162184, 0.01704226, -0.00594322],
    [-0.00245608, -0.00594322, 0.04105134],
]


def sensed_coils(order):
    """Coils on one core, of which an amplifier drives and senses some; what rounds where depends on the order of objects."""
    core = mse.CoupledInductors("core", inductance=CORE)
    amplifier, gyrator = Amplifier("amplifier", gain=10.0), Gyrator("gyrator", resistance=10.0)
    branches = [
        (Resistor("r0", resistance=400.0), "a", "0"), (Inductor("l1", inductance=0.03697469424397277), "b", "a"),
        (Resistor("r2", resistance=80.0), "c", "b"), (VoltageSource("source"), "a", "c"),
        (Resistor("r4", resistance=50.0), "d", "b"), (Capacitor("c7", capacitance=7e-5), "0", "b"),
        (Inductor("l9", inductance=0.051), "a", "0"),
    ]  # fmt: skip
    ports = {
        amplifier: {"in+": "b", "in-": "0", "+": "d", "-": "a"},
        gyrator: {"1+": "a", "1-": "b", "2+": "a", "2-": "0"},
        core: {"1+": "c", "1-": "0", "2+": "b", "2-": "d", "3+": "c", "3-": "d"},
    }
    system, further = mse.MSystem("sensed coils"), {}
    parts = [*(branch[0] for branch in branches), amplifier, gyrator, core]
    for part in (parts[k] for k in order):
        system.add(part)
        for port, node in ports.get(part, {}).items():
            further.setdefault(node, []).append(part.port(port))
    return wired(system, *branches, further=further)


def sensed_coils_by_nodes():
    """Poles of these by nodal analysis: potentials of a, b, c and d, then currents that no conductance gives, ``E x' = A x``."""
    ends = [
        ("b", "a"),
        ("c", "0"),
        ("b", "d"),
        ("c", "d"),
        ("a", "0"),
        ("d", "a"),
        ("a", "c"),
    ]  # l1, core, l9, amplifier, source

    def across(a, b):
        return np.array([float(node == a) - float(node == b) for node in "abcd"] + [0.0] * 7)

    e, a = np.zeros((2, 11, 11))
    e += 7e-5 * np.outer(across("0", "b"), across("0", "b"))
    for value, pair in ((400.0, "a0"), (80.0, "cb"), (50.0, "db")):
        a -= np.outer(across(*pair), across(*pair)) / value
    a -= (np.outer(across("a", "0"), across("a", "b")) - np.outer(across("a", "b"), across("a", "0"))) / 10.0  # gyrator
    for k, pair in enumerate(ends, 4):
        a[:, k] -= across(*pair)
        a[k] += across(*pair)
    a[9] -= 10.0 * across("b", "0")
    e[4, 4], e[8, 8], e[5:8, 5:8] = 0.03697469424397277, 0.051, CORE
    found = scipy.linalg.eig(a, e, right=False)
    return found[(np.abs(found) > 1.0) & (np.abs(found) < 1e6)]


def shared_by_capacitors():
    system = mse.MSystem("shared")
    amplifier = system.add(Amplifier("amplifier", gain=2.0))
    further = {
        "c": [amplifier.port("in+"), amplifier.port("+")],
        "0": [amplifier.port("in-")],
        "a": [amplifier.port("-")],
    }
    return wired(
        system, (Resistor("r0", resistance=80.0), "a", "0"), (Resistor("r1", resistance=70.0), "b", "a"),
        (Capacitor("c0", capacitance=9e-5), "0", "b"), (Capacitor("c1", capacitance=3e-5), "b", "0"),
        (CurrentSource("source"), "0", "a"), further=further,
    )  # fmt: skip


def by_states(ss, f):
    """The response of a state space (f, o, i)."""
    a, b, c = ss.scaled()
    return np.array([c @ np.linalg.solve(2j * np.pi * x * np.eye(len(a)) - a, b) + ss.D for x in f])


@pytest.mark.parametrize(
    "order",
    [
        [7, 5, 8, 4, 0, 6, 1, 2, 3, 9],
        [6, 3, 2, 0, 5, 4, 1, 8, 7, 9],
        [2, 3, 8, 7, 6, 1, 4, 5, 9, 0],
        [6, 8, 2, 3, 4, 9, 1, 7, 0, 5],
    ],
)
def test_rounding_is_no_damping_of_coils_on_a_core(order):
    """A pole was lost, or responses were wrong, when rounding of a null vector stood alone in a row of the damping."""
    linear, f = sensed_coils(order).find_working_point().linearize(), np.array([3.0, 55.0, 900.0])
    right = linear.frequency_response(f)
    ss = linear.state_space()
    right = right.values[:, [right.outputs.index(name) for name in ss.outputs]]
    np.testing.assert_allclose(by_states(ss, f), right, atol=1e-9 * np.abs(right).max())
    found = linear.modes(damped=True).eigenvalues
    for s in sensed_coils_by_nodes():
        assert np.abs(found - s).min() < 1e-8 * np.abs(s)


def test_currents_of_capacitors_that_share_what_a_resistor_limits_are_in_state_spaces():
    """They were refused, for a derivative of 3e-21 that rounding left in an inverse."""
    linear, f = shared_by_capacitors().find_working_point().linearize(), np.array([3.0, 55.0, 900.0])
    names = ["c0.current", "c1.current"]
    ss = linear.state_space(outputs=names)
    found = by_states(ss, f)[:, :, 0]
    np.testing.assert_allclose(found, linear.frequency_response(f, outputs=names).values[:, :, 0], rtol=1e-10)
    # the source's current divides between 80 ohm, and 70 ohm in series with both capacitors
    total = 80.0 / (150.0 + 1.0 / (2j * np.pi * f * 12e-5))
    np.testing.assert_allclose(np.abs(found), np.outer(np.abs(total), [0.75, 0.25]), rtol=1e-10)


def guided(motor):
    """A system and its frames: the ground, and a body of 40 g on a spring and a damper, or on a motor."""
    system = mse.MSystem("guided", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=0.04, inertia=1e-3))
    system.add(mse.Prismatic("guide", stiffness=2300.0, damping=0.3, motor=motor), between=(body, system.ground))
    return system, (system.ground, body)


def piezos_on_a_transformer():
    system, between = guided("force")
    core = mse.Transformer("core", primary=0.035, secondary=0.62, coupling=-0.12 / np.sqrt(0.035 * 0.62))
    first, second = Resistor("r0", resistance=2.0), Resistor("r1", resistance=800.0)
    for part in (first, second, core):
        system.add(part)
    near = system.add(mse.PiezoStack("near", stiffness=400.0, stroke=2e-4, capacitance=8e-5), between=between)
    capacitor = system.add(Capacitor("c4", capacitance=6e-6))
    far = system.add(mse.PiezoStack("far", stiffness=2000.0, stroke=3e-5, capacitance=4e-6), between=between)
    further = {node: [core.port(port)] for port, node in (("1+", "a"), ("1-", "b"))}
    further["0"], further["b"] = [core.port("2+")], [*further["b"], core.port("2-")]
    return wired(
        system, (first, "b", "0"), (second, "a", "b"), (near, "0", "a"), (capacitor, "a", "b"), (far, "0", "b"),
        (CurrentSource("source"), "0", "b"), further=further,
    )  # fmt: skip


def test_currents_into_piezos_are_in_state_spaces():
    """Without amplifiers all is symmetric; a derivative of 3e-22 that rounding left was refused."""
    linear, f = piezos_on_a_transformer().find_working_point().linearize(), np.array([3.0, 55.0, 900.0])
    names = ["r0.current", "near.current", "far.current", "c4.current"]
    ss = linear.state_space(outputs=names)
    right = linear.frequency_response(f, outputs=names).values
    np.testing.assert_allclose(by_states(ss, f), right, atol=1e-9 * np.abs(right).max())


def moved_coil():
    """A coil without resistance in a magnet that a motor moves, on a network with two coupled coils and a voltmeter."""
    system, between = guided("position")
    resistances = {"r0": (700.0, "d", "0"), "r1": (6.0, "a", "d"), "r2": (300.0, "c", "d"), "r3": (60.0, "e", "a")}
    resistances["r4"] = (300.0, "b", "0")
    branches = [(system.add(Resistor(name, resistance=r)), a, b) for name, (r, a, b) in resistances.items()]
    core = system.add(mse.CoupledInductors("core", inductance=[[0.021, 0.018], [0.018, 0.019]]))
    coil = system.add(mse.VoiceCoil("coil", bl=10.0), between=between)
    further = {"b": [core.port("1+")], "e": [core.port("1-"), core.port("2-")], "a": [core.port("2+")]}
    return wired(system, *branches, (coil, "0", "d"), (CurrentSource("meter"), "e", "a"), further=further)


def test_a_voltage_by_a_motion_needs_no_acceleration():
    """Velocities give it; the rate of accelerations that cancel was taken for part of it."""
    linear, f = moved_coil().find_working_point().linearize(), np.array([3.0, 55.0, 900.0])
    names, by = ["meter.voltage"], ["guide.displacement"]
    ss = linear.state_space(inputs=by, outputs=names)
    right = linear.frequency_response(f, inputs=by, outputs=names).values
    np.testing.assert_allclose(by_states(ss, f), right, atol=1e-9 * np.abs(right).max())


WINDINGS = [
    [0.0257472865019877, -0.0088608727636229, 0.04800688165050015],
    [-0.0088608727636229, 0.07469907530788329, 0.1540175210010286],
    [0.04800688165050015, 0.1540175210010286, 0.5237865867066569],
]
TRANSFORMER = [[0.9833149407088402, 0.15988430647514246], [0.15988430647514246, 0.06797278234543885]]


def closely_coupled():
    """Two capacitors, coils and a source side by side, and a resistor in series with the second side of a transformer."""
    system = mse.MSystem("closely coupled", gravity=(0, 0, 0))
    first, second = (
        Capacitor("first", capacitance=6.696927292827028e-05),
        Capacitor("second", capacitance=1.8647539185445057e-05),
    )
    single = mse.CoupledInductors("single", inductance=[[0.12724746527529243]])
    core = mse.CoupledInductors("core", inductance=WINDINGS)
    transformer = mse.CoupledInductors("transformer", inductance=TRANSFORMER)
    resistor = Resistor("resistor", resistance=25.04211885258378)
    ends = {
        single: ["a0"], core: ["0a", "0a", "a0"], transformer: ["0a", "b0"],
    }  # fmt: skip
    further = {}
    for part in (first, resistor, second, single, core, transformer):
        system.add(part)
        for k, pair in enumerate(ends.get(part, ()), 1):
            for node, sign in zip(pair, "+-", strict=True):
                further.setdefault(node, []).append(part.port(f"{k}{sign}"))
    branches = [(first, "a", "0"), (resistor, "b", "a"), (second, "a", "0"), (CurrentSource("source"), "0", "a")]
    return wired(system, *branches, further=further)


def test_rounding_of_close_coils_is_no_damping_of_a_capacitor():
    """A capacitor's charge had 1e-14 of the resistor's, and with that a state of its own; responses were off by 1e11."""
    linear, f = closely_coupled().find_working_point().linearize(), np.array([3.0, 55.0, 900.0])
    # potentials of a and b, then currents into the six windings
    windings = scipy.linalg.block_diag([[0.12724746527529243]], WINDINGS, TRANSFORMER)
    across = np.array([[1, 0], [-1, 0], [-1, 0], [1, 0], [-1, 0], [0, 1]], float)
    e, a = np.zeros((2, 8, 8))
    e[0, 0], e[2:, 2:] = 6.696927292827028e-05 + 1.8647539185445057e-05, windings
    a[:2, :2] = -np.array([[1.0, -1.0], [-1.0, 1.0]]) / 25.04211885258378
    a[:2, 2:], a[2:, :2] = -across.T, across
    source = np.eye(8)[0]  # 1 A that flows from earth to a
    names = ["second.current", "resistor.current"]
    expected = []
    for s in 2j * np.pi * f:
        x = np.linalg.solve(s * e - a, source)
        expected.append([s * 1.8647539185445057e-05 * x[0], (x[1] - x[0]) / 25.04211885258378])
    found = by_states(linear.state_space(outputs=names), f)[:, :, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def gyrators_among_coils():
    """Three cores, two gyrators, and a charge that follows others by whole numbers but for rounding."""
    system = mse.MSystem("gyrators", gravity=(0, 0, 0))
    capacitor, resistor = Capacitor("c", capacitance=1.1580449720515619e-4), Resistor("r", resistance=8.148231033170948)
    first, second = Inductor("l1", inductance=1.5279093988703077e-3), Inductor("l2", inductance=7.842041398649688e-4)
    cores = [
        ([[0.01019885063248687, -0.00850490969350459], [-0.00850490969350459, 0.02041467211883505]], ("b0", "db")),
        ([[0.5586688959479584, 0.19707263753175064], [0.19707263753175064, 0.4298349860544407]], ("b0", "da")),
        ([[0.01547759225870324, -0.00109872236032593], [-0.00109872236032593, 0.02952614430706939]], ("0b", "cd")),
    ]  # fmt: skip
    m4, m5, m7 = (mse.CoupledInductors(f"core{k}", inductance=matrix) for k, (matrix, _) in enumerate(cores))
    g6, g8 = Gyrator("g6", resistance=2.408365822385809), Gyrator("g8", resistance=26.55829151780478)
    ends = dict(zip((m4, m5, m7), (pairs for _, pairs in cores), strict=True)) | {g6: ("0d", "bd"), g8: ("ba", "ac")}
    further = {}
    for part in (capacitor, first, second, resistor, m4, m5, g6, m7, g8):
        system.add(part)
        for k, pair in enumerate(ends.get(part, ()), 1):
            for node, sign in zip(pair, "+-", strict=True):
                further.setdefault(node, []).append(part.port(f"{k}{sign}"))
    branches = [(capacitor, "b", "0"), (first, "d", "b"), (second, "a", "d"), (resistor, "c", "a")]
    return wired(system, *branches, (CurrentSource("source"), "0", "c"), further=further)


def test_charges_that_follow_by_whole_numbers_are_not_damped_by_rounding():
    """Of the difference of two equal terms 1e-13 was left, which damped what has no damping; a pole was lost."""
    linear, f = gyrators_among_coils().find_working_point().linearize(), np.array([3.0, 55.0, 900.0])
    names = ["g6.current1", "c.current", "r.current"]
    right = linear.frequency_response(f, outputs=names).values
    found = by_states(linear.state_space(outputs=names), f)
    np.testing.assert_allclose(found, right, atol=1e-8 * np.abs(right).max())
