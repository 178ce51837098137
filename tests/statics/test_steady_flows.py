"""Steady currents at working points: networks against nodal analysis, biased coils against closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq
from wiring import wired

import mse
from mse.elements.parameters import Real
from mse.errors import ModelError


def resistor(name, value, a, b):
    return mse.Resistor(name, resistance=value), a, b


def bridge(voltage=9.0):
    return wired(
        mse.MSystem("bridge"),
        (mse.VoltageSource("source", voltage=voltage), "s", "0"),
        resistor("inside", 5.0, "s", "a"),
        resistor("ab", 120.0, "a", "b"),
        resistor("b0", 180.0, "b", "0"),
        resistor("ac", 270.0, "a", "c"),
        resistor("c0", 100.0, "c", "0"),
        resistor("wire", 40.0, "b", "d"),
        (mse.Inductor("coil", inductance=0.15), "d", "c"),
    )


def test_currents_of_a_bridge():
    point = bridge().find_working_point()
    potentials = [point.potentials[port] for port in ("ab.+", "b0.+", "c0.+")]
    assert potentials == pytest.approx([8.7114840656, 4.1088063360, 3.4876485008], rel=1e-9)
    assert point.flows["coil.charge"] == pytest.approx(15.5289458797e-3, rel=1e-9)
    assert point.flows["source.charge"] == pytest.approx(-point.flows["inside.charge"], rel=1e-12)
    assert point.stable and not point.free and "A" in str(point.flows)
    (mode,) = point.linearize().modes(damped=True)
    assert mode.eigenvalue == pytest.approx(-1236.671039207, rel=1e-9)


def test_currents_follow_a_parameter():
    point = bridge().find_working_point()
    half = point.update({"source.voltage": 4.5})
    assert half.flows["coil.charge"] == pytest.approx(0.5 * point.flows["coil.charge"], rel=1e-12)
    assert not any(point.update({"source.voltage": 0.0}).flows.values())
    system = bridge(0.0)
    assert not any(system.find_working_point().flows.values())
    system["source"].voltage = 9.0
    assert system.find_working_point().flows["coil.charge"] == pytest.approx(point.flows["coil.charge"], rel=1e-12)


def test_steady_currents_are_in_files(tmp_path):
    point = bridge().find_working_point()
    point.save(tmp_path / "point.json")
    again = mse.read_model(tmp_path / "point.json")
    assert again.flows["coil.charge"] == pytest.approx(point.flows["coil.charge"], rel=1e-12)
    assert dict(again.potentials) == pytest.approx(dict(point.potentials), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_random_resistors_and_sources_against_nodal_analysis(seed):
    """Of resistors, voltage sources behind resistors, current sources, and capacitors, which carry nothing."""
    rng, n = np.random.default_rng(seed), 6
    pairs = [(k, k + 1) for k in range(n - 1)] + [tuple(rng.choice(n, 2, replace=False)) for _ in range(8)]
    values = rng.uniform(1.0, 100.0, len(pairs))
    y, pushed, branches = np.zeros((n, n)), np.zeros(n), []
    for k, ((a, b), r) in enumerate(zip(pairs, values, strict=True)):
        across = np.eye(n)[a] - np.eye(n)[b]
        y += np.outer(across, across) / r
        branches.append(resistor(f"r{k}", r, str(a), f"m{k}" if k < 3 else str(b)))
        if k < 3:  # a source in series
            u = rng.normal()
            branches.append((mse.VoltageSource(f"u{k}", voltage=u), f"m{k}", str(b)))
            pushed += across * u / r
    for k in range(2):
        a, b = rng.choice(n, 2, replace=False)
        current = rng.normal()
        branches.append((mse.CurrentSource(f"i{k}", current=current), str(a), str(b)))
        pushed += current * (np.eye(n)[b] - np.eye(n)[a])
    branches.append((mse.Capacitor("c", capacitance=1e-6), "1", "4"))
    e = np.concatenate([[0.0], np.linalg.solve(y[1:, 1:], pushed[1:])])
    order = rng.permutation(len(branches))
    point = wired(mse.MSystem("network"), *(branches[k] for k in order)).find_working_point()
    for obj, a, b in branches:
        for port, node in (("+", a), ("-", b)):
            if not node.startswith("m"):
                assert point.potentials[f"{obj.name}.{port}"] == pytest.approx(e[int(node)], rel=1e-9, abs=1e-12)
    assert point.internal["c.charge"] == pytest.approx(1e-6 * (e[1] - e[4]), rel=1e-9, abs=1e-18)
    assert point.flows["c.charge"] == 0.0


def grid(n, wide=1.0):
    """Resistors along a grid of n x n nodes, the first corner behind a source of 3 V, the last one on earth."""
    rng, branches = np.random.default_rng(7), [(mse.VoltageSource("source", voltage=3.0), "0,0", "0")]
    pushed, laplace = np.zeros(n * n), np.zeros((n * n, n * n))
    for i in range(n):
        for j in range(n):
            for di, dj in ((0, 1), (1, 0)):
                if i + di < n and j + dj < n:
                    ohm = float(wide ** rng.uniform(-1.0, 1.0))
                    a, b = i * n + j, (i + di) * n + j + dj
                    laplace[[a, b, a, b], [a, b, b, a]] += np.array([1.0, 1.0, -1.0, -1.0]) / ohm
                    last = b == n * n - 1
                    branches.append(resistor(f"r{a}-{b}", ohm, f"{i},{j}", "0" if last else f"{i + di},{j + dj}"))
    inside = slice(1, n * n - 1)
    pushed[inside] = -3.0 * laplace[inside, 0]
    e = np.concatenate([[3.0], np.linalg.solve(laplace[inside, inside], pushed[inside]), [0.0]])
    return branches, e


@pytest.mark.parametrize("wide", [10.0, 1e6])
def test_currents_in_a_grid_of_resistors(wide):
    """For resistances between 1/wide and wide ohm: a small one beside a large one is one, too."""
    branches, e = grid(9, wide)
    point = wired(mse.MSystem("grid"), *branches).find_working_point()
    for obj, *_ in branches[1:]:
        a, b = map(int, obj.name[1:].split("-"))
        flow = point.flows[f"{obj.name}.charge"]
        assert flow == pytest.approx(
            (e[a] - e[b]) / obj.resistance, rel=1e-6, abs=1e-9 * abs(point.flows["source.charge"])
        )


def test_parts_of_other_sizes_do_not_disturb_each_other():
    """Microvolts in one circuit, a thousand bar in another one that has lamps."""
    system = wired(
        mse.MSystem("two"),
        (mse.VoltageSource("small", voltage=1e-6), "a", "0"),
        (Lamp("little"), "a", "0"),
        (mse.VoltageSource("large", voltage=1e4), "b", "0"),
        (Lamp("bright"), "b", "0"),
    )
    pump, duct = mse.PressureSource("pump", pressure=1e8), mse.FlowResistance("duct", resistance=1e9)
    wired(system, (pump, "p", "0"), (duct, "p", "0"))
    point = system.find_working_point()
    for lamp, volt in (("little", 1e-6), ("bright", 1e4)):
        i = point.flows[f"{lamp}.charge"]
        assert 2.0 * i + 30.0 * i**3 == pytest.approx(volt, rel=1e-12)
    assert point.flows["duct.volume"] == pytest.approx(0.1, rel=1e-12)


class Pair(mse.MObject):
    """Two wires that share one resistance: only the sum of their currents is resisted."""

    frame_names = ()
    coordinate_names = (
        mse.coordinate("one", unit="C", ports=("1+", "1-")),
        mse.coordinate("two", unit="C", ports=("2+", "2-")),
    )

    def dissipation(self, frames, q, v):
        return 0.5 * 4.0 * (v[0] + v[1]) ** 2


def test_a_current_between_coordinates_that_nothing_resists_stays_zero():
    """Two wires in parallel share the current; round the loop of both nothing drives or resists one."""
    pair, source = Pair("pair"), mse.VoltageSource("source", voltage=8.0)
    system = mse.MSystem("shared")
    system.add(pair), system.add(source)
    system.connect("source.+", "pair.1+", "pair.2+")
    system.connect("source.-", "pair.1-", "pair.2-", system.earth)
    flows = system.find_working_point().flows
    assert [flows[f"pair.{k}"] for k in ("one", "two")] == pytest.approx([1.0, 1.0], rel=1e-12)
    alone = mse.MSystem("alone")
    alone.add(Pair("pair")), alone.add(mse.VoltageSource("source", voltage=8.0))
    alone.connect("source.+", "pair.1+")
    alone.connect("pair.1-", "pair.2+")
    alone.connect("source.-", "pair.2-", alone.earth)
    assert alone.find_working_point().flows["pair.one"] == pytest.approx(0.5, rel=1e-12)


class Lamp(mse.MObject):
    """D = a v^2/2 + b v^4/4: a resistance that rises with its current."""

    first: Real = Real("at little current", unit="ohm", default=2.0)
    third: Real = Real("with the square of the current", unit="ohm/A2", default=30.0)
    frame_names = ()
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def dissipation(self, frames, q, v):
        return 0.5 * self.first * v[0] ** 2 + 0.25 * self.third * v[0] ** 4


def test_a_lamp_has_the_current_and_the_slope_of_its_curve():
    system = wired(
        mse.MSystem("lamp"),
        (mse.VoltageSource("source", voltage=6.0), "a", "0"),
        (Lamp("lamp"), "a", "b"),
        (mse.Inductor("coil", inductance=0.1), "b", "0"),
    )
    point = system.find_working_point()
    current = brentq(lambda i: 2.0 * i + 30.0 * i**3 - 6.0, 0.0, 3.0, xtol=1e-15)
    assert point.flows["lamp.charge"] == pytest.approx(current, rel=1e-12)
    (mode,) = point.linearize().modes(damped=True)
    assert mode.eigenvalue == pytest.approx(-(2.0 + 90.0 * current**2) / 0.1, rel=1e-9)


class Saturating(mse.MObject):
    """T = L v^2/2 - b v^4/4."""

    frame_names = ()
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def kinetic(self, frames, q, v):
        return 0.5 * 0.1 * v[0] ** 2 - 0.25 * 0.02 * v[0] ** 4


def test_a_coil_that_saturates_has_less_inductance_at_its_current():
    system = wired(
        mse.MSystem("saturating"),
        (mse.VoltageSource("source", voltage=3.0), "a", "0"),
        resistor("wire", 3.0, "a", "b"),
        (Saturating("coil"), "b", "0"),
    )
    (mode,) = system.find_working_point().linearize().modes(damped=True)
    assert mode.eigenvalue == pytest.approx(-3.0 / (0.1 - 3.0 * 0.02), rel=1e-9)


# -- with bodies ----------------------------------------------------------------------------------------------------------
class Magnet(mse.MObject):
    """A coil of inductance 0.05 + 0.08/(1 + x/0.004) H and 8 ohm on frame 0, x below it an iron body on frame 1."""

    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def kinetic(self, frames, q, v):
        x = frames[0].o[2] - frames[1].o[2]
        return 0.5 * (0.05 + 0.08 / (1 + x / 0.004)) * v[0] ** 2

    def dissipation(self, frames, q, v):
        return 0.5 * 8.0 * v[0] ** 2


class Amplifier(mse.MObject):
    """A voltage 6000 (x - 0.004) + 100 x' between its ports, of the same frames."""

    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def power(self, frames, q, v, given):
        x, rate = frames[0].o[2] - frames[1].o[2], given.frames[0].v[2] - given.frames[1].v[2]
        return -(6000.0 * (x - 0.004) + 100.0 * rate) * v[0]


def levitation(controlled):
    system = mse.MSystem("levitation", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=0.06, inertia=1e-5, at=mse.Pose.dz(-0.004)))
    system.add(mse.Prismatic("guide"), between=(body, system.ground))
    coil = system.add(Magnet("coil"), between=(system.ground, body))
    branches = [(mse.VoltageSource("source", voltage=3.8817727909), "a", "0"), (coil, "b" if controlled else "a", "0")]
    if controlled:
        branches.append((system.add(Amplifier("amplifier"), between=(system.ground, body)), "b", "a"))
    return wired(system, *branches)


def test_a_levitated_body_falls_without_control():
    point = levitation(False).find_working_point(seek="nearest")
    assert point.poses["body.center"].o[2] == pytest.approx(-0.004, rel=1e-9)
    assert point.flows["coil.charge"] == pytest.approx(0.4852215988597, rel=1e-9)
    assert not point.stable
    roots = sorted((mode.eigenvalue for mode in point.linearize().modes(damped=True)), key=lambda s: s.real)
    assert roots[-1] == pytest.approx(45.6368870564, rel=1e-9)
    assert roots[0] == pytest.approx(-67.2628879727 + 15.8915557631j, rel=1e-9)


def test_a_levitated_body_is_held_by_control():
    """Its amplifier has no energy, so eigenvalues decide."""
    point = levitation(True).find_working_point(seek="nearest")
    assert point.poses["body.center"].o[2] == pytest.approx(-0.004, rel=1e-9)
    assert point.stable
    roots = sorted((mode.eigenvalue for mode in point.linearize().modes(damped=True)), key=lambda s: s.real)
    assert roots[0] == pytest.approx(-59.2608629406, rel=1e-9)
    assert roots[1] == pytest.approx(-14.8140129742 + 203.9367265968j, rel=1e-9)


# -- refusals -------------------------------------------------------------------------------------------------------------
def source(name, voltage):
    return mse.VoltageSource(name, voltage=voltage), "a", "0"


SHORTED = (source("one", 5.0), source("two", 3.0), resistor("r", 2.0, "a", "0"))
COIL = (source("one", 5.0), (mse.Inductor("coil", inductance=1.0), "a", "0"))
FED = (source("one", 5.0), resistor("r", 2.0, "a", "0"), (mse.CurrentSource("feed", current=1.0), "0", "b"))


@pytest.mark.parametrize(
    "branches, told",
    [
        (
            SHORTED,
            "VoltageSource 'one', VoltageSource 'two': a loop of ideal sources, 5 V against 3 V; expected something between",
        ),
        (COIL, "one.charge, coil.charge is limited by nothing"),
        (FED, "currents of feed.charge 1 A do not add up"),
    ],
)
def test_flows_without_a_limit_are_refused(branches, told):
    with pytest.raises(mse.ModelError, match=told):
        wired(mse.MSystem("bad"), *((obj.copy(obj.name), a, b) for obj, a, b in branches)).find_working_point()


class Rheostat(Magnet):
    def dissipation(self, frames, q, v):
        return 0.5 * (8.0 + frames[0].o[2] - frames[1].o[2]) * v[0] ** 2


def test_a_resistance_that_depends_on_the_position_is_refused():
    system = mse.MSystem("rheostat")
    body = system.add(mse.RigidBody("body", mass=1.0))
    system.add(mse.Spring("spring", stiffness=10.0), between=(body, system.ground))
    coil = system.add(Rheostat("coil"), between=(system.ground, body))
    wired(system, (mse.VoltageSource("source", voltage=1.0), "a", "0"), (coil, "a", "0"))
    with pytest.raises(mse.ModelError, match="Rheostat 'coil': its dissipation depends on positions"):
        system.find_working_point()


class Diode(mse.MObject):
    """A diode, ``u = 0.026 V log(1 + i/1e-12 A)``, which has no voltage for currents below -1e-12 A."""

    frame_names = ()
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def dissipation(self, frames, q, v):
        return 0.026 * ((v[0] + 1e-12) * np.log1p(v[0] / 1e-12) - v[0])


@pytest.mark.filterwarnings("error")
def test_a_diode_blocks_where_a_first_step_leads_beyond_its_law():
    system = mse.MSystem("rectifier")
    system.add(mse.VoltageSource("source", voltage=-0.2))
    system.add(Diode("diode"))
    system.add(mse.Resistor("resistor", resistance=200.0))
    system.connect("source.+", "diode.+")
    system.connect("diode.-", "resistor.+")
    system.connect("resistor.-", "source.-", system.earth)
    flow = system.find_working_point().flows["diode.charge"]
    assert abs(flow) == pytest.approx(1e-12 * (1.0 - np.exp(-0.2 / 0.026)), rel=1e-9)
    system["source"].voltage = -5.0  # 1e-12 A less 1e-95 A, which no number is
    with pytest.raises(ModelError, match=r"no steady flow was found through source\.charge, diode\.charge"):
        system.find_working_point()


def test_resistors_that_coils_bypass_carry_nothing():
    """Of a current through coils from every node to the earth nothing is left for resistors: at any values, not to rounding."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(2, 6))
        branches = [(mse.CurrentSource("feed", current=1.7), "0", "1")]
        for k in range(1, nodes):
            branches.append((mse.Inductor(f"l{k}", inductance=0.1), str(k), str(rng.integers(0, k))))
        for j in range(6):
            a, b = rng.choice(nodes, 2, replace=False)
            branches.append((mse.Resistor(f"r{j}", resistance=10 ** rng.uniform(-2, 3)), str(a), str(b)))
        point = wired(mse.MSystem("bypass"), *branches).find_working_point()
        assert point.flows["l1.charge"] == pytest.approx(1.7, rel=1e-12)
        assert not any(flow for name, flow in point.flows.items() if name.startswith("r"))
