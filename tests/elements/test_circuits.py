"""Circuits of resistors, capacitors, inductors and sources, against nodal analysis and figures of two other programs."""

import numpy as np
import pytest
from wiring import wired

import mse

KINDS = {"R": (mse.Resistor, "resistance"), "C": (mse.Capacitor, "capacitance"), "L": (mse.Inductor, "inductance")}


def network(branches, *, source=(1, 0), order=None, voltage=0.0):
    """A system of branches (kind, value, from node, to node) and a source; node 0 is earth."""
    system = mse.MSystem("network")
    nodes = {0: [system.earth]}
    parts = [(f"{kind}{k}", kind, value, a, b) for k, (kind, value, a, b) in enumerate(branches)]
    parts.append(("source", "", voltage, *source))
    for k in range(len(parts)) if order is None else order:
        name, kind, value, a, b = parts[k]
        if kind:
            cls, parameter = KINDS[kind]
            obj = cls(name, **{parameter: value})
        else:
            obj = mse.VoltageSource(name, voltage=value)
        system.add(obj)
        for port, node in (("+", a), ("-", b)):
            nodes.setdefault(node, []).append(obj.port(port))
    for ports in nodes.values():
        if len(ports) < 2:
            continue  # connected to nothing
        if order is None:
            system.connect(*ports)
        else:  # in pairs, the last one first
            for first, second in zip(ports[:0:-1], ports[-2::-1], strict=True):
                system.connect(first, second)
    return system


def nodal(branches, f, source=(1, 0)):
    """Impedance at the source by nodal analysis."""
    s, n = 2j * np.pi * f, 1 + max(max(a, b) for _, _, a, b in branches)
    y = np.zeros((n, n), dtype=complex)
    for kind, value, a, b in branches:
        own = {"R": 1 / value, "C": s * value, "L": 1 / (s * value)}[kind]
        across = np.zeros(n)
        across[a] += 1.0
        across[b] -= 1.0
        y += own * np.outer(across, across)
    pushed = np.zeros(n)
    pushed[source[0]] += 1.0
    pushed[source[1]] -= 1.0
    e = np.linalg.solve(y[1:, 1:], pushed[1:])
    return np.concatenate([[0.0], e]) @ pushed


LADDER = [
    ("R", 50.0, 1, 2),
    ("C", 1e-6, 2, 0),
    ("R", 2.0, 2, 3),
    ("L", 1e-3, 3, 4),
    ("C", 2e-6, 4, 0),
    ("R", 600.0, 4, 0),
]


def test_impedance_of_a_ladder():
    linear = network(LADDER).find_working_point().linearize()
    z = linear.impedance("source", [1e3, 5e3])
    assert z == pytest.approx([55.8523568065 - 49.8482581490j, 59.0153848927 + 28.9175548285j], rel=1e-9)
    assert z == pytest.approx([nodal(LADDER, f) for f in (1e3, 5e3)], rel=1e-11)


def test_impedance_of_a_loaded_transformer():
    system = mse.MSystem("transformer")
    system.add(mse.VoltageSource("source"))
    system.add(mse.Resistor("wire", resistance=1.0))
    system.add(mse.Transformer("core", primary=2e-3, secondary=8e-3, coupling=0.9))
    system.add(mse.Resistor("load", resistance=50.0))
    for pair in (("source.+", "wire.+"), ("wire.-", "core.1+"), ("core.1-", "source.-"), ("core.2+", "load.+")):
        system.connect(*pair)
    system.connect("core.2-", "load.-")
    point = system.find_working_point()
    assert [note for note in point.notes if "core.1+" in note] and [note for note in point.notes if "core.2+" in note]
    assert point.linearize().impedance("source", [1e3]) == pytest.approx([6.0893087379 + 7.4500394327j], rel=1e-9)


def test_impedance_of_loaded_windings():
    """``Z = s L11 - s^2 M (R + s L)^-1 M`` of one winding, with loads R on the others; 2 windings are the transformer's."""
    inductance = np.array([[2e-3, 1e-3, -5e-4], [1e-3, 8e-3, 2e-3], [-5e-4, 2e-3, 4e-3]])
    loads, s = np.diag([50.0, 7.0]), 2j * np.pi * 1e3
    coupled = inductance[0, 1:] @ np.linalg.solve(loads + s * inductance[1:, 1:], inductance[1:, 0])
    mutual = 0.9 * np.sqrt(2e-3 * 8e-3)
    for given, expected in (
        (inductance, s * inductance[0, 0] - s**2 * coupled),
        ([[2e-3, mutual], [mutual, 8e-3]], 5.0893087379 + 7.4500394327j),
    ):
        system = mse.MSystem("core")
        system.add(mse.VoltageSource("source"))
        system.add(mse.CoupledInductors("core", inductance=given))
        system.add(mse.CoupledInductors("other", inductance=[[1.0]]))  # of another size
        system.connect("source.+", "core.1+")
        system.connect("source.-", "core.1-")
        for k, load in enumerate(loads.diagonal()[: len(given) - 1], 2):
            system.add(mse.Resistor(f"load{k}", resistance=load))
            system.connect(f"core.{k}+", f"load{k}.+")
            system.connect(f"core.{k}-", f"load{k}.-")
        linear = system.find_working_point().linearize()
        assert linear.impedance("source", [1e3]) == pytest.approx([expected], rel=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[1.0, 2.0], [2.0, 4.0]], "expected .* couplings between -1 and 1"),
        ([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]], "couplings between -1 and 1 that go together"),
        ([[1.0, 0.0], [0.0, -1.0]], "a negative one"),
        ([[0.0]], "store no energy"),
        ([[1.0, 0.1], [0.2, 1.0]], "symmetric, one row for each winding"),
        ([1.0, 2.0], r"shape \(n, n\)"),
        ([[1.0], [2.0, 3.0]], r"shape \(n, n\)"),
        (None, r"shape \(n, n\)"),
    ],
)
def test_inductances_that_no_windings_have_are_refused(given, words):
    with pytest.raises(mse.ModelError, match=rf"CoupledInductors 'core': inductance is .*{words}"):
        mse.CoupledInductors("core", inductance=given)


def test_a_core_keeps_its_number_of_windings():
    core = mse.CoupledInductors("core", inductance=[[1.0, 0.5], [0.5, 1.0]])
    with pytest.raises(mse.ModelError, match="it has 2 windings; make another object instead"):
        core.inductance = [[1.0]]


def random_network(rng):
    """Branches between six nodes: a ring of all, so that none is apart, and ten more."""
    values = {"R": (1.0, 1e3), "C": (1e-7, 1e-5), "L": (1e-4, 1e-2)}
    pairs = [(k, (k + 1) % 6) for k in range(6)] + [tuple(rng.choice(6, 2, replace=False).tolist()) for _ in range(10)]
    kinds = rng.choice(list(values), len(pairs)).tolist()
    drawn = [float(np.exp(rng.uniform(*np.log(values[kind])))) for kind in kinds]
    branches = [(kind, x, a, b) for kind, x, (a, b) in zip(kinds, drawn, pairs, strict=True)]
    return [*branches, ("R", 300.0, 1, 0)]


@pytest.mark.parametrize("seed", range(4))
def test_random_networks_against_nodal_analysis(seed):
    branches, f = random_network(np.random.default_rng(seed)), np.array([70.0, 900.0, 1.2e4])
    z = network(branches).find_working_point().linearize().impedance("source", f)
    assert z == pytest.approx([nodal(branches, x) for x in f], rel=1e-9)
    assert (z.real >= 0.0).all()


@pytest.mark.parametrize("seed", range(3))
def test_order_of_adding_and_wiring_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    branches, f = random_network(rng), [70.0, 900.0, 1.2e4]
    one, other = (network(branches, order=order) for order in (None, rng.permutation(len(branches) + 1).tolist()))
    one, other = (system.find_working_point().linearize().impedance("source", f) for system in (one, other))
    assert one == pytest.approx(other, rel=1e-12)


# -- charges at rest ------------------------------------------------------------------------------------------------------
def test_capacitors_share_a_voltage():
    """Of three in series the charge is the same, 10 V/(1/C1 + 1/C2 + 1/C3); one that is connected to nothing has none."""
    system = network([("C", 1e-6, 1, 2), ("C", 2e-6, 2, 3), ("C", 3e-6, 3, 0), ("C", 5e-6, 2, 4)], voltage=10.0)
    point = system.find_working_point()
    charge = 10.0 / (1e6 * (1 + 1 / 2 + 1 / 3))
    assert [point.internal[f"C{k}.charge"] for k in range(4)] == pytest.approx(
        [charge] * 3 + [0.0], rel=1e-12, abs=1e-20
    )
    assert point.internal["source.charge"] == pytest.approx(-charge, rel=1e-12)
    potentials = [point.potentials[f"C{k}.-"] for k in range(4)]
    assert potentials[:3] == pytest.approx([10.0 - charge / 1e-6, charge / 3e-6, 0.0], rel=1e-12)
    # nothing flows into the last one, so its far end is at the potential of the near one
    assert potentials[3] == point.potentials["C3.+"] == pytest.approx(10.0 - charge / 1e-6, rel=1e-12)
    assert point.potentials["source.+"] == pytest.approx(10.0, rel=1e-12) and point.potentials["source.-"] == 0.0
    assert "source.+" in str(point.potentials)
    with pytest.raises(mse.UnknownNameError, match=r"no port 'C0.x'"):
        point.potentials["C0.x"]


def test_a_floating_part_has_a_reference_of_its_own():
    system = mse.MSystem("battery")
    system.add(mse.VoltageSource("cell", voltage=1.5))
    system.add(mse.Capacitor("load", capacitance=1e-3))
    system.connect("cell.+", "load.+")
    system.connect("cell.-", "load.-")
    point = system.find_working_point()
    assert point.potentials["cell.+"] == 0.0 and point.potentials["cell.-"] == pytest.approx(-1.5)
    assert any("cell.+" in note and "earth" in note for note in point.notes)
    assert point.internal["load.charge"] == pytest.approx(1.5e-3) and not point.redundant


def test_subsystems_share_the_earth():
    system, inside = mse.MSystem("outer"), mse.MSystem("inner")
    inside.add(mse.Capacitor("load", capacitance=2e-6))
    inside.connect("load.-", inside.earth)
    system.add(inside)
    system.add(mse.VoltageSource("source", voltage=3.0))
    system.connect("source.-", "earth")
    system.connect("source.+", "inner.load.+")
    assert system.find_working_point().internal["inner.load.charge"] == pytest.approx(6e-6)
    again = system.copy("again")
    again["source"].voltage = 5.0
    assert again.find_working_point().internal["inner.load.charge"] == pytest.approx(10e-6)


def test_a_new_connection_is_seen_by_the_next_search():
    system = network([("C", 1e-6, 1, 2)], voltage=2.0)
    assert system.find_working_point().internal["C0.charge"] == 0.0
    system.connect("C0.-", system.earth)
    assert system.find_working_point().internal["C0.charge"] == pytest.approx(2e-6)


def test_connections_are_in_files(tmp_path):
    system = network(LADDER)
    system.save(tmp_path / "ladder.json")
    again = mse.read_model(tmp_path / "ladder.json")
    assert [[p.label for p in ports] for ports in again.connections] == [
        [p.label for p in ports] for ports in system.connections
    ]
    point = system.find_working_point()
    point.save(tmp_path / "point.json")
    z = [p.linearize().impedance("source", [1e3]) for p in (point, mse.read_model(tmp_path / "point.json"))]
    assert z[0] == pytest.approx(z[1], rel=1e-12)


def test_a_capacitor_over_a_coil_rings_at_its_resonance():
    alone = mse.MSystem("resonator")
    alone.add(mse.Capacitor("capacitor", capacitance=1e-6))
    alone.add(mse.Inductor("coil", inductance=1e-3))
    alone.connect("capacitor.+", "coil.+")
    alone.connect("capacitor.-", "coil.-", alone.earth)
    (mode,) = alone.find_working_point().linearize().modes()
    assert mode.frequency_hz == pytest.approx(1 / (2 * np.pi * np.sqrt(1e-9)), rel=1e-12)


# -- refusals -------------------------------------------------------------------------------------------------------------
class Valve(mse.MObject):
    frame_names = ()
    coordinate_names = (mse.coordinate("volume", unit="m3", ports=("in", "out")),)

    def energy(self, frames, q):
        return q[0] ** 2


def test_connect_refuses_what_is_no_pair_of_ports():
    system = mse.MSystem("bad")
    coil, valve = system.add(mse.Inductor("coil", inductance=1.0)), system.add(Valve("valve"))
    body = system.add(mse.RigidBody("body", mass=1.0))
    other = mse.Inductor("other", inductance=1.0)

    def refused(*ports):
        with pytest.raises((mse.ModelError, mse.UnknownNameError)) as caught:
            system.connect(*ports)
        assert not system.connections
        return str(caught.value)

    assert "'coil.+' (domain electric) and 'valve.in' (domain fluid)" in refused(coil.port("+"), valve.port("in"))
    assert "frame 'body.center'" in refused(body.frame(0), coil.port("+")) and "clamp()" in refused(
        body.frame(0), "coil.+"
    )
    assert "coil.port('+')" in refused(coil, "coil.-")
    assert "two different ports" in refused("coil.+", "coil.+") and "nothing" in refused()
    assert "not in the system" in refused(other.port("+"), "coil.+")
    assert "did you mean" in refused("coil.minus", "coil.+") or "no port" in refused("coil.minus", "coil.+")
    assert "no port" in refused("coil", "coil.+")
    assert "no port 'center'; this is a frame: frames are clamped" in refused("body.center", "coil.+")
    assert "ports" in refused(3, "coil.+")


def test_ports_are_checked():
    for ports in ("+", ("+", "+"), ("a", "b", "c"), ("a.b",), (1, 2)):
        with pytest.raises(mse.ModelError, match="ports is"):
            mse.coordinate("charge", unit="C", ports=ports)
    with pytest.raises(TypeError, match=r"two ports are named '\+'"):

        class Double(mse.MObject):
            coordinate_names = (
                mse.coordinate("a", unit="C", ports=("+", "-")),
                mse.coordinate("b", unit="C", ports=("+",)),
            )


@pytest.mark.parametrize("coupling", [1.0, -1.0, 1.2])
def test_coupling_of_one_or_more_is_refused(coupling):
    with pytest.raises(
        mse.ModelError, match=rf"Transformer 'core': coupling is {coupling:g}; expected .* give 0\.9999"
    ):
        mse.Transformer("core", primary=1.0, secondary=1.0, coupling=coupling)


def volts(name, value):
    return mse.VoltageSource(name, voltage=value)


def amperes(name, value):
    return mse.CurrentSource(name, current=value)


@pytest.mark.parametrize(
    "branches, told",
    [
        # of equal voltages, too, also of none: nothing decides what flows between them
        (
            [(volts("a", 5.0), "1", "0"), (volts("b", 5.0), "1", "0")],
            "'a', VoltageSource 'b': a loop of ideal sources, 5 V against 5 V",
        ),
        (
            [(volts("a", 0.0), "1", "0"), (volts("b", 0.0), "2", "1"), (volts("c", 0.0), "2", "0")],
            "'a', .*'b', .*'c': a loop of ideal",
        ),
        (
            [(volts("a", 5.0), "1", "1")],
            "VoltageSource 'a': a loop of ideal sources, 5 V; expected something .* add a resistance",
        ),
        (
            [(amperes("a", 1.0), "1", "0"), (amperes("b", 2.0), "0", "1")],
            "'a', CurrentSource 'b': only sources of flow .* 1 A, 2 A; exp",
        ),
        (
            [(amperes("a", 0.0), "1", "0"), (mse.Capacitor("c", capacitance=1e-6), "1", "2")],
            "'a': only .* 0 A; .* connect a resistance",
        ),
    ],
)
def test_ideal_sources_that_contradict_each_other_are_refused(branches, told):
    system = wired(mse.MSystem("bad"), *((obj.copy(obj.name), a, b) for obj, a, b in branches))
    with pytest.raises(mse.ModelError, match=told):
        system.find_working_point()


def test_sources_in_series_are_no_loop_and_open_ones_a_note():
    resistor, series = mse.Resistor("r", resistance=3.0), mse.MSystem("series")
    wired(series, (volts("a", 1.0), "1", "0"), (volts("b", 2.0), "2", "1"), (resistor, "2", "0"))
    series.add(amperes("open", 0.0))
    series.connect("open.+", "r.+")
    point = series.find_working_point()
    assert point.flows["r.charge"] == pytest.approx(1.0, rel=1e-12)
    assert [note for note in point.notes if "open" in note and "drives nothing" in note and "connect both" in note]
    linear = wired(mse.MSystem("alone"), (mse.Resistor("r", resistance=3.0), "1", "2")).find_working_point().linearize()
    assert np.isinf(linear.impedance("r", [10.0])).all()


def test_impedance_refuses():
    linear = network(LADDER).find_working_point().linearize()
    for where, f, told in (("sorce", 1.0, "did you mean 'source'"), ("source", 0.0, "above 0")):
        with pytest.raises((mse.ModelError, mse.UnknownNameError), match=told):
            linear.impedance(where, [f])
