"""Loops without resistance, as of superconductors: their currents keep the flux, against numpy and closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq
from wiring import wired

import mse
from mse.elements.parameters import Real
from test_steady_flows import Saturating


def test_a_coil_that_is_closed_by_itself_keeps_its_flux(tmp_path):
    system = mse.MSystem("ring")
    coil = system.add(mse.Inductor("coil", inductance=0.2, flux=0.03))
    system.connect(coil.port("+"), coil.port("-"))
    point = system.find_working_point()
    assert point.flows["coil.charge"] == pytest.approx(0.15, rel=1e-12)
    assert point.stable and not point.free
    point.save(tmp_path / "point.json")
    assert mse.read_model(tmp_path / "point.json").flows["coil.charge"] == pytest.approx(0.15, rel=1e-12)
    assert point.update({"coil.flux": -0.06}).flows["coil.charge"] == pytest.approx(-0.3, rel=1e-12)
    motion = system.simulate(duration=0.1, dt=0.05, start=point)
    np.testing.assert_allclose(motion["coil.current"], 0.15, rtol=1e-12)
    np.testing.assert_allclose(motion.energy["kinetic"], 0.5 * 0.2 * 0.15**2, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_random_coils_and_resistors_share_the_current_by_their_fluxes(seed):
    """With the stationary currents of coils as unknowns: efforts vanish along coils, fluxes along their loops."""
    rng = np.random.default_rng(seed)
    nodes, branches = 5, []
    for k in range(nodes):  # every node has a resistor to earth
        branches.append((mse.Resistor(f"r{k}", resistance=rng.uniform(1, 5)), k + 1, 0))
    branches.append((mse.CurrentSource("feed", current=1.7), 0, 2))
    ends = [rng.choice(np.arange(1, nodes + 1), 2, replace=False) for _ in range(7)]
    for k, (a, b) in enumerate(ends):
        coil = mse.Inductor(f"l{k}", inductance=rng.uniform(0.01, 1), flux=rng.choice([0.0, rng.normal()]))
        branches.append((coil, int(a), int(b)))
    order = rng.permutation(len(branches))
    wiring = ((branches[k][0], str(branches[k][1]), str(branches[k][2])) for k in order)
    point = wired(mse.MSystem("grid"), *wiring).find_working_point()

    # A magnetostatic limit by hand: minimise fluxes under the currents that coils have to carry together
    incidence = np.zeros((nodes + 1, len(ends)))
    for k, (a, b) in enumerate(ends):
        incidence[a, k] += 1.0
        incidence[b, k] -= 1.0
    conductance, feed = np.zeros(nodes + 1), np.zeros(nodes + 1)
    conductance[1:] = [1.0 / obj.resistance for obj, *_ in branches[:nodes]]
    feed[2] += 1.7
    inside, coils = incidence[1:], [obj for obj, *_ in branches[nodes + 1 :]]
    # unknowns: potentials, currents and a multiplier for each node (L i - flux = incidence' lambda)
    count, m = nodes, len(ends)
    matrix = np.block([
        [np.diag(conductance[1:]), inside, np.zeros((count, count))],
        [inside.T, np.zeros((m, m)), np.zeros((m, count))],
        [np.zeros((m, count)), np.diag([c.inductance for c in coils]), -inside.T],
    ])  # fmt: skip
    right = np.concatenate([feed[1:], np.zeros(m), [c.flux for c in coils]])
    found = np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
    np.testing.assert_allclose(matrix @ found, right, atol=1e-10)
    currents = [point.flows[f"l{k}.charge"] for k in range(m)]
    np.testing.assert_allclose(currents, found[count : count + m], rtol=1e-9, atol=1e-12)
    assert point.stable


def test_coils_in_parallel_share_a_current_as_after_it_was_switched_on():
    """``L1 i1 = L2 i2`` from rest on, which only the motion's equations know; with a flux kept ``L1 i1 - L2 i2`` is that."""

    def fed(current, kept=None):
        return wired(
            mse.MSystem("parallel"),
            (mse.CurrentSource("source", current=current), "0", "a"),
            (mse.Inductor("one", inductance=1e-3, flux=kept), "a", "0"),
            (mse.Inductor("two", inductance=3e-3), "a", "0"),
            (mse.Resistor("r", resistance=5.0), "a", "0"),
        )

    names = ["one.charge", "two.charge", "r.charge"]
    point = fed(2.0).find_working_point()
    np.testing.assert_allclose([point.flows[n] for n in names], [1.5, 0.5, 0.0], rtol=1e-12)
    inputs = {"source.current": lambda t: 2.0 if t >= 1e-3 else 0.0}
    motion = fed(0.0).simulate(duration=0.02, dt=1e-3, inputs=inputs, progress=False)
    np.testing.assert_allclose([motion[f"{n}'"][-1] for n in names], [1.5, 0.5, 0.0], atol=1e-8)
    point = fed(2.0, 0.004).find_working_point()
    np.testing.assert_allclose([point.flows[n] for n in names], [2.5, -0.5, 0.0], rtol=1e-12)


def feed(system, core):
    """Feed the first winding of a transformer by a steady current of 1.5 A."""
    wired(
        system,
        (mse.VoltageSource("source", voltage=3.0), "a", "0"),
        (mse.Resistor("r", resistance=2.0), "a", "b"),
        further={"b": [core.port("1+")], "0": [core.port("1-")]},
    )


def test_a_shorted_winding_keeps_out_the_flux_of_a_steady_current():
    """``M i1 + L2 i2 = 0``."""
    system = mse.MSystem("shorted")
    core = system.add(mse.Transformer("core", primary=1.0, secondary=4.0, coupling=0.5))
    feed(system, core)
    system.connect(core.port("2+"), core.port("2-"))
    point = system.find_working_point()
    assert point.flows["core.charge1"] == pytest.approx(1.5, rel=1e-12)
    assert point.flows["core.charge2"] == pytest.approx(-0.375, rel=1e-12)


def test_a_coil_that_saturates_cannot_keep_more_flux_than_it_has():
    """``0.1 i - 0.02 i^3 = 0.05`` has the root 0.52758 A; the flux is at most 0.0861 Wb."""
    for flux, current in ((0.05, brentq(lambda i: 0.1 * i - 0.02 * i**3 - 0.05, 0.0, 1.0)), (0.1, None)):
        system = mse.MSystem("pair")
        coil = system.add(Saturating("iron"))
        other = system.add(mse.Inductor("air", inductance=1e-9, flux=flux))
        system.connect(coil.port("+"), other.port("-"))
        system.connect(coil.port("-"), other.port("+"), system.earth)
        if current is None:
            with pytest.raises(mse.ModelError, match=r"loop of iron\.charge, air\.charge keeps its flux; expected"):
                system.find_working_point()
        else:
            found = system.find_working_point().flows["iron.charge"]
            assert abs(found) == pytest.approx(current, rel=1e-6)


@pytest.mark.parametrize("fluxes", [(0.1, 0.2, -0.3), (0.7, -0.4, -0.3)])
def test_fluxes_that_cancel_make_no_current_beyond_rounding(fluxes):
    system = mse.MSystem("ring")
    coils = [
        (mse.Inductor(f"l{k}", inductance=10.0 ** -(3 + k), flux=x), str(k), str((k + 1) % 3))
        for k, x in enumerate(fluxes)
    ]
    point = wired(system, *coils).find_working_point()
    assert abs(point.flows["l0.charge"]) < 1e-12


@pytest.mark.parametrize("coupling", [0.9, 0.9999, 1.0 - 1e-8])
def test_shorted_windings_on_one_core_keep_their_fluxes(coupling):
    """Rounding of fluxes makes currents ``1/(1 - coupling)`` times as large."""
    system = mse.MSystem("core")
    core = system.add(mse.Transformer("core", primary=1.0, secondary=4.0, coupling=coupling))
    for k, flux in ((1, 0.3), (2, 0.1)):
        coil = system.add(mse.Inductor(f"l{k}", inductance=1e-9, flux=flux))
        system.connect(core.port(f"{k}+"), coil.port("-"))
        system.connect(core.port(f"{k}-"), coil.port("+"))
    point = system.find_working_point()
    inductance = np.array([[1.0 + 1e-9, 2.0 * coupling], [2.0 * coupling, 4.0 + 1e-9]])
    currents = [point.flows["core.charge1"], point.flows["core.charge2"]]
    np.testing.assert_allclose(currents, np.linalg.solve(inductance, [0.3, 0.1]), rtol=1e-15 / (1.0 - coupling) + 1e-12)


# -- with bodies ----------------------------------------------------------------------------------------------------------
class Ring(mse.MObject):
    """A ring of 0.03 H without resistance; a magnet at the height x above it makes the flux 0.3/(1 + (x/0.02)^2) in it."""

    frame_names = ("ring", "magnet")
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def kinetic(self, frames, q, v):
        x = frames[1].o[2] - frames[0].o[2]
        return 0.5 * 0.03 * v[0] ** 2 + v[0] * 0.3 / (1 + (x / 0.02) ** 2)


def flux(x):
    return 0.3 / (1.0 + (x / 0.02) ** 2)


def slope(x):
    return -0.3 * 2.0 * x / 0.0004 / (1.0 + (x / 0.02) ** 2) ** 2


def bend(x):
    y = (x / 0.02) ** 2
    return -0.3 * 2.0 / 0.0004 * (1.0 - 3.0 * y) / (1.0 + y) ** 3


def floating(height, kept):
    """A magnet on a guide above a ring in series with a coil of 0.02 H whose flux is given, or is not."""
    system = mse.MSystem("levitation", gravity=(0, 0, -9.81))
    magnet = system.add(mse.RigidBody("magnet", mass=0.6, inertia=1e-5, at=mse.Pose.dz(height)))
    system.add(mse.Prismatic("guide"), between=(magnet, system.ground))
    ring = system.add(Ring("ring"), between=(system.ground, magnet))
    coil = system.add(mse.Inductor("kept", inductance=0.02, flux=kept))
    system.connect(ring.port("+"), coil.port("-"))
    system.connect(ring.port("-"), coil.port("+"))
    return system


def test_a_loop_of_no_given_flux_carries_nothing_by_itself():
    """It is cold where the magnet rests; beside a steady current it keeps out the flux of that alone."""
    system = floating(0.05, None)
    system["guide"].stiffness = 500.0
    point = system.find_working_point()
    assert point.flows["ring.charge"] == 0.0
    assert point.poses["magnet.center"].o[2] == pytest.approx(-0.6 * 9.81 / 500.0, rel=1e-12)
    core = system.add(mse.Transformer("core", primary=1.0, secondary=0.01, coupling=0.5))
    feed(system, core)
    second = system.add(mse.Inductor("second", inductance=0.01))
    system.connect(core.port("2+"), second.port("+"))
    system.connect(core.port("2-"), second.port("-"))
    point = system.find_working_point()
    assert point.flows["ring.charge"] == 0.0
    assert point.flows["second.charge"] == pytest.approx(1.5 * 0.5 * 0.1 / 0.02, rel=1e-12)


def test_a_moving_magnet_leaves_the_flux_as_it_is():
    """``L i + flux(x) = 0.01`` at the working point and in motion, whose equations know no rule for loops."""
    system = floating(0.05, 0.01)
    point = system.find_working_point()
    run = {"duration": 0.3, "dt": 0.01, "rtol": 1e-10, "progress": False}
    motion = system.simulate(start=point, initial={"guide.displacement'": 0.1}, **run)
    x = motion["guide.displacement"]
    np.testing.assert_allclose(0.05 * motion["ring.current"] + flux(x), 0.01, atol=1e-9)
    assert np.ptp(x) > 1e-3
    rest = system.simulate(start=point, **run)
    np.testing.assert_allclose(rest["guide.displacement"], rest["guide.displacement"][0], atol=1e-9)


@pytest.mark.parametrize("seek", ["stable", "nearest"])
@pytest.mark.parametrize("height", [0.02, 0.05, 0.2])
def test_a_magnet_floats_above_a_superconducting_ring(height, seek):
    """With no flux kept the energy is ``flux(x)^2/(2 L) + m g x``."""
    system = floating(height, 0.0)
    point = system.find_working_point(seek=seek)
    x = brentq(lambda x: flux(x) * slope(x) / 0.05 + 0.6 * 9.81, 0.02, 0.5, xtol=1e-15)
    assert point.poses["magnet.center"].o[2] == pytest.approx(x, rel=1e-9)
    assert point.flows["ring.charge"] == pytest.approx(-flux(x) / 0.05, rel=1e-9)
    assert point.stable and not point.free
    stiffness = (slope(x) ** 2 + flux(x) * bend(x)) / 0.05
    fastest = max(abs(mode.eigenvalue) for mode in point.linearize().modes(damped=True))
    assert fastest == pytest.approx(np.sqrt(stiffness / 0.6), rel=1e-8)


class Linked(mse.MObject):
    """A loop with the flux ``slope z`` of what is at the height z; on it the force ``slope i`` acts."""

    frame_names = ("loop", "magnet")
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)
    slope: Real = Real("flux over height", unit="Wb/m")

    def kinetic(self, frames, q, v):
        return self.slope * v[0] * (frames[1].o[2] - frames[0].o[2])


class Driving(mse.MObject):
    """What pushes away from the height zero, by so many N/m."""

    frame_names = ("from", "what")
    stiffness: Real = Real("negative stiffness", unit="N/m", above=0.0)

    def energy(self, frames, q):
        return -0.5 * self.stiffness * (frames[1].o[2] - frames[0].o[2]) ** 2


def linked(slope, inductance, weight, guide=None):
    """A weight of so many N on a guide, whose height changes the flux of a loop that keeps 0.3 Wb."""
    system = mse.MSystem("linked", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=weight / 9.81, inertia=1e-3))
    system.add(mse.Prismatic("guide", **({} if guide is None else {"stiffness": guide})), between=(body, system.ground))
    link = system.add(Linked("link", slope=slope), between=(system.ground, body))
    coil = system.add(mse.Inductor("coil", inductance=inductance, flux=0.3))
    system.connect(link.port("+"), coil.port("-"))
    system.connect(link.port("-"), coil.port("+"))
    return system


@pytest.mark.parametrize("guide", [1.0, 100.0, 1e4])
def test_a_loop_may_be_much_stiffer_than_the_guide(guide):
    """The loop has 4e5 N/m: a height that changes by rounding of forces over the guide's stiffness would change the current."""
    point = linked(20.0, 1e-3, 5.0, guide).find_working_point()
    current, height = np.linalg.solve([[1e-3, 20.0], [-20.0, guide]], [0.3, -5.0])
    assert point.poses["body.center"].o[2] == pytest.approx(height, rel=1e-12)
    assert point.flows["link.charge"] == pytest.approx(current, rel=1e-9)


@pytest.mark.parametrize("seek", ["stable", "nearest"])
@pytest.mark.parametrize("away", [10.0, 39.0])
def test_a_loop_holds_what_would_fall_at_a_constant_current(away, seek):
    """The loop's ``slope^2/L``, 40 N/m, is more than what drives the body away."""
    system = linked(2.0, 0.1, 5.0)
    system.add(Driving("away", stiffness=away), between=(system.ground, system["body"]))
    point = system.find_working_point(seek=seek)
    current, height = np.linalg.solve([[0.1, 2.0], [-2.0, -away]], [0.3, -5.0])
    assert point.poses["body.center"].o[2] == pytest.approx(height, rel=1e-12)
    assert point.flows["link.charge"] == pytest.approx(current, rel=1e-11)
    fastest = max(abs(mode.eigenvalue) for mode in point.linearize().modes(damped=True))
    assert point.stable and fastest == pytest.approx(np.sqrt((40.0 - away) * 9.81 / 5.0), rel=1e-9)


# -- behind an amplifier --------------------------------------------------------------------------------------------------
def amplified(*, gain=10.0):
    """An amplifier that gives 0.5 V times its gain to a resistor of 2 ohm, with what follows it to earth still open."""
    system = mse.MSystem("amplified", gravity=(0, 0, -9.81))
    system.add(mse.VoltageSource("input", voltage=0.5))
    amplifier = system.add(mse.Amplifier("amplifier", gain=gain))
    system.add(mse.Resistor("r", resistance=2.0))
    system.connect("input.+", amplifier.port("in+"))
    system.connect("input.-", amplifier.port("in-"), amplifier.port("-"), system.earth)
    system.connect(amplifier.port("+"), "r.+")
    return system


@pytest.mark.parametrize("kept", [None, 0.2])
def test_coils_in_parallel_behind_an_amplifier_keep_their_flux(kept):
    """``0.1 i1 - 0.3 i2`` is kept, and 2.5 A pass."""
    system = amplified()
    coils = [
        system.add(mse.Inductor("one", inductance=0.1, flux=kept)),
        system.add(mse.Inductor("two", inductance=0.3)),
    ]
    system.connect("r.-", *(coil.port("+") for coil in coils))
    system.connect(*(coil.port("-") for coil in coils), system.earth)
    point = system.find_working_point()
    first = (0.75 + (kept or 0.0)) / 0.4
    assert point.flows["one.charge"] == pytest.approx(first, rel=1e-12)
    assert point.flows["two.charge"] == pytest.approx(2.5 - first, rel=1e-11)
    motion = system.simulate(duration=0.02, dt=0.01, start=point, progress=False)
    assert np.ptp(motion["one.current"]) < 1e-9


@pytest.mark.parametrize("guide", [None, 300.0])
def test_a_loop_beside_the_current_of_an_amplifier_carries_a_body(guide):
    """``0.4 i + M 2.5 + 2 z = 0.2`` in the loop, and ``2 i = m g + k z``."""
    system = amplified()
    body = system.add(mse.RigidBody("body", mass=0.5, inertia=1e-3))
    system.add(mse.Prismatic("guide", **({} if guide is None else {"stiffness": guide})), between=(body, system.ground))
    link = system.add(Linked("link", slope=2.0), between=(system.ground, body))
    coil = system.add(mse.Inductor("coil", inductance=0.2, flux=0.2))
    core = system.add(mse.Transformer("core", primary=0.1, secondary=0.2, coupling=0.5))
    system.connect("r.-", core.port("1+"))
    system.connect(core.port("1-"), system.earth)
    ports = (core, "2"), (link, ""), (coil, "")
    for (one, winding), (two, other) in zip(ports, (*ports[1:], ports[0]), strict=True):
        system.connect(one.port(f"{winding}-"), two.port(f"{other}+"))
    point = system.find_working_point()
    mutual, stiffness = 0.5 * np.sqrt(0.02), guide or 0.0
    current, height = np.linalg.solve([[0.4, 2.0], [-2.0, stiffness]], [0.2 - mutual * 2.5, -0.5 * 9.81])
    assert point.flows["link.charge"] == pytest.approx(current, rel=1e-11)
    assert point.poses["body.center"].o[2] == pytest.approx(height, rel=1e-11)
    assert point.stable
    motion = system.simulate(duration=0.1, dt=0.05, start=point, progress=False)
    assert np.ptp(motion["guide.displacement"]) < 1e-9
