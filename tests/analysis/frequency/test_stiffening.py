"""Models with constraints in the compiled sweep: against dense ``[[Z, G^T], [G, 0]]``, and against independent coordinates."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import mse
import mse.analysis.frequency.response
from mse import Pose
from mse.analysis.frequency.equations import Polynomial
from mse.analysis.frequency.readings import Readings
from mse.analysis.frequency.stiffening import balanced
from mse.analysis.frequency.sweep import Sweep
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding

KINDS = ("tree", "loops", "doubled", "light", "motor", "actuator", "lossy")
F = np.geomspace(0.03, 30.0, 17)


def linkage(kind: str, seed: int) -> mse.MSystem:
    """Nine bodies on hinges and slides, on one plane with a spring for each, pushed, read and weighed at one end.

    ``loops`` closes rings of them, which leaves redundant rows out of the plane, ``doubled`` has second hinges on the same axes;
    of the ``light`` bodies every other one is a point of mass, and one has none at all.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    s = mse.MSystem(kind, gravity=(0, 0, -9.81))
    places, bodies, on = [np.zeros(3)], [s.ground], [0]
    for k in range(1, 10):
        on.append(int(rng.integers(max(0, k - 3), k)))
        places.append(places[on[k]] + rng.uniform(-0.5, 0.5, 3) * (1, 0, 1) - (0, 0, 0.4))
        point = kind == "light" and k % 2
        mass = {"mass": 0.0 if kind == "light" and k == 4 else rng.uniform(0.5, 2.0)}
        mass["inertia"] = 0.0 if point or not mass["mass"] else rng.uniform(0.01, 0.1)
        bodies.append(s.add(mse.RigidBody(f"b{k}", at=Pose(tuple(places[k])), **mass)))

    def hinge(name: str, a: int, b: int, aside=(0.0, 0.0, 0.0), **parameters):
        joint = s.add(mse.Revolute(name, axis=(0, 1, 0), **parameters))
        for which, body in enumerate((b, a)):
            frame = s.ground if body == 0 else bodies[body].frame(0)
            s.clamp(frame, joint.frame(which), Pose(tuple(places[a] - places[body] + aside)))

    for k in range(1, 10):
        free = {"stiffness": rng.uniform(20, 200), "damping": rng.uniform(0.01, 0.3)}
        if kind == "motor" and k == 3:
            free = {"motor": "position"}
        hinge(f"h{k}", on[k], k, **free)
        if kind == "doubled" and k % 3 == 0:
            hinge(f"second{k}", on[k], k, (0.0, 0.2, 0.0))
    if kind == "loops":
        for a, b in ((3, 8), (5, 9)):
            length = float(np.linalg.norm(places[a] - places[b]))
            s.add(mse.Rod(f"rod{a}", length=length), between=(bodies[a], bodies[b]))
        hinge("closing", 1, 4)
    weighed = s.add(mse.RigidBody("weighed", mass=0.4, inertia=0.02, at=Pose(tuple(places[9]))))
    s.add(mse.ForceSensor("scale"), between=(bodies[9], weighed))
    if kind == "actuator":
        moved = s.add(mse.RigidBody("moved", mass=0.3, inertia=0.02, at=Pose(tuple(places[7]))))
        s.add(mse.PositionActuator("shaker"), between=(moved, bodies[7]))
        far = s.add(mse.RigidBody("far", mass=0.2, inertia=0.01, at=Pose(tuple(places[7] + (0.1, 0, 0)))))
        s.add(mse.Revolute("far_hinge", axis=(0, 1, 0), stiffness=9.0, damping=0.1), between=(far, moved.frame(0)))
    s.add(mse.ForceActuator("push"), between=(s.ground, bodies[6]))
    s.add(mse.PositionSensor("probe"), between=(bodies[8], s.ground))
    return s


def loss_of(kind: str) -> dict[str, float] | None:
    return {"h2": 0.02, "h7": 0.1} if kind == "lossy" else None


def dense(model: mse.LinearModel, loss: dict[str, float] | None) -> np.ndarray:
    """The response (f, outputs, inputs) from ``[[Z, G^T], [G, 0]]`` of free and prescribed coordinates, by NumPy."""
    n, m = model.size, model.constraints.shape[0]
    k = model.full_stiffness.toarray().astype(complex)
    for name, eta in (loss or {}).items():
        k += 1j * eta * model.all_parts[name, "elastic"].toarray()
    drive, force, measure, g = (a.toarray() for a in (model.drive, model.force, model.measure, model.constraints))
    react = model.read_reactions(np.arange(len(model.outputs))).toarray()
    out = []
    for w in 2 * np.pi * F:
        z = k + 1j * w * model.full_velocity.toarray() - w**2 * model.full_mass.toarray()
        size = np.abs(z[:n, :n]).max()
        both = np.block([[z[:n, :n], size * g[:, :n].T], [size * g[:, :n], np.zeros((m, m))]])
        right = np.concatenate([force[:n] - z[:n, n:] @ drive, -size * g[:, n:] @ drive])
        x = np.linalg.solve(both, right)
        x += np.linalg.solve(both, right - both @ x)
        motion = np.concatenate([x[:n], drive])
        reaction = force[n:] - z[n:] @ motion - size * g[:, n:].T @ x[n:]
        out.append(measure @ motion + react @ reaction)
    return np.array(out)


def close(found: np.ndarray, expected: np.ndarray, model: mse.LinearModel, limit: float) -> None:
    """Relative to the largest response of the same units."""
    units = np.array([[f"{a}/{b}" for b in model.input_units] for a in model.output_units])
    for unit in np.unique(units):
        error = np.abs(found - expected)[:, units == unit].max()
        assert error <= limit * np.abs(expected[:, units == unit]).max(), unit


@pytest.fixture
def sparse(monkeypatch):
    """All models are taken for large ones, and none may be solved one frequency after the other."""
    monkeypatch.setattr(SIZES, "dense", 0)
    monkeypatch.setattr(mse.analysis.frequency.response, "solve", lambda *_: pytest.fail("solved with pivoting"))


@pytest.mark.parametrize("kind", KINDS)
def test_linkages_are_swept_and_give_what_dense_matrices_do(sparse, kind):
    model = linkage(kind, 1).find_working_point().linearize()
    response = model.frequency_response(F, loss=loss_of(kind))
    close(response.values, dense(model, loss_of(kind)), model, 1e-10)


def test_what_drives_constraints_is_read_in_reactions_by_few_and_by_many(sparse):
    """Both ways of the sweep: all in the border, and one side of it read after substituting back; and by reciprocity."""
    model = linkage("motor", 1).find_working_point().linearize()
    whole = model.frequency_response(F)
    few = model.frequency_response(F, inputs=["h3.angle"], outputs=["h3.ty", "probe.x"])
    turned = model.frequency_response(F, outputs=["h3.ty"])
    for name in few.outputs:
        np.testing.assert_allclose(few[name, "h3.angle"], whole[name, "h3.angle"], rtol=1e-9)
    assert np.abs(few["h3.ty", "h3.angle"]).min() > 0.1
    np.testing.assert_allclose(turned["h3.ty", "h3.angle"], whole["h3.ty", "h3.angle"], rtol=1e-9)


def held_masses(n: int) -> Polynomial:
    """n masses of which all but the first have neither spring nor mass, on rigid links to the one before: ``q_k = q_(k - 1)``."""
    k, m, c = np.zeros((3, 2 * n - 1, 2 * n - 1))
    k[0, 0], m[0, 0], c[0, 0] = 1.0, 1.0, 0.1
    for j in range(n - 1):
        k[n + j, [j, j + 1]] = k[[j, j + 1], n + j] = -1.0, 1.0
    return Polynomial(*(sp.csr_matrix(a) for a in (k, c, m)))


@pytest.mark.parametrize("multipliers", [True, False])
def test_coordinates_that_constraints_alone_hold_have_no_pivots_without_stiffening(multipliers):
    n, w = 9, np.geomspace(0.1, 10.0, 16)
    matrix = held_masses(n)
    last = np.zeros((1, 2 * n - 1))
    last[0, n - 1] = 1.0
    read = Polynomial(*(sp.csr_matrix(a * last) for a in (1.0, 0.0, 0.0)))
    found, good = Sweep("row", matrix, read.T, read, multipliers=(n - 1) * multipliers)(w)
    assert np.all(good == multipliers)
    if multipliers:
        np.testing.assert_allclose(found[:, 0, 0], 1.0 / (1.0 + 0.1j * w - w**2), rtol=1e-12)


def test_constraints_are_as_stiff_as_what_they_hold_however_they_are_scaled():
    rows, size = sp.csr_matrix([[1.0, -1.0, 0.0], [0.0, 2.0, 1.0]]), np.array([3.0, 5.0, 0.0])
    stiffness, sizes = balanced(rows, size)
    scaled, sizes_too = balanced(sp.csr_matrix(sp.diags([1e6, 1e-3]) @ rows), size)
    np.testing.assert_allclose(scaled * [1e12, 1e-6], stiffness)
    np.testing.assert_allclose(sizes_too[:3], sizes[:3])
    assert np.all(sizes[:3] > size) and np.all(sizes[:3] < 30 * size.max())


def hinged(seed: int) -> mse.MSystem:
    """A tree of nine undamped hinges with four springs across, of 10 to 1e9 N/m (or 0.05 m times that), without gravity."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("hinged", gravity=(0, 0, 0))
    places, bodies, on = [np.zeros(3)], [s.ground], [0]
    for k in range(1, 10):
        on.append(int(rng.integers(max(0, k - 3), k)))
        places.append(places[on[k]] + rng.uniform(-0.5, 0.5, 3) * (1, 0, 1) - (0, 0, 0.4))
        mass, inertia = rng.uniform(0.5, 2), rng.uniform(0.01, 0.1)
        bodies.append(s.add(mse.RigidBody(f"b{k}", at=Pose(tuple(places[k])), mass=mass, inertia=inertia)))
    for k in range(1, 10):
        hinge = s.add(mse.Revolute(f"h{k}", axis=(0, 1, 0), stiffness=0.05 * 10 ** rng.uniform(1, 9)))
        for which, body in enumerate((k, on[k])):
            frame = s.ground if body == 0 else bodies[body].frame(0)
            s.clamp(frame, hinge.frame(which), Pose(tuple(places[on[k]] - places[body])))
    for k in range(5):
        a, b = rng.choice(10, 2, replace=False)
        length = float(np.linalg.norm(places[a] - places[b]))
        s.add(mse.Spring(f"s{k}", stiffness=10 ** rng.uniform(1, 9), length=length), between=(bodies[a], bodies[b]))
    s.add(mse.ForceActuator("push"), between=(s.ground, bodies[5]))
    s.add(mse.PositionSensor("probe"), between=(bodies[-1], s.ground))
    return s


def refined(model: mse.LinearModel, hz: float, push: str, probe: str) -> float:
    """One response from ``[[Z, G^T], [G, 0]]``, solved by NumPy and refined with residuals in long double."""
    n, m, wide = model.size, model.constraints.shape[0], np.longdouble
    k, mass, g = (a.toarray().astype(wide)[:, :n] for a in (model.K, model.M, model.constraints))
    z = np.block([[k - wide(2 * np.pi * hz) ** 2 * mass, g.T], [g, np.zeros((m, m), wide)]])
    scale = np.ones(n + m)
    for _ in range(4):
        scale /= np.sqrt(np.abs(z.astype(float) * scale[:, None] * scale).max(axis=1))
    z = z * scale[:, None] * scale
    force = model.force[:n, model.inputs.index(push)].toarray().ravel()
    right = (scale * np.r_[force, np.zeros(m)]).astype(wide)
    inverse, x = np.linalg.inv(z.astype(float)), np.zeros(n + m, wide)
    for _ in range(20):
        x += inverse @ (right - z @ x)
    return float(model.measure[model.outputs.index(probe), :n].toarray().ravel() @ (scale * x)[:n])


@pytest.mark.parametrize("seed", [0, 7, 11])
def test_digits_that_stiffening_costs_close_to_a_resonance_come_back_by_pivoting(seed, monkeypatch):
    monkeypatch.setattr(SIZES, "dense", 0)
    model = hinged(seed).find_working_point().linearize()
    f = np.array([mode.frequency_hz for mode in model.modes() if mode.frequency_hz > 0]) * (1 + 1e-4)
    response = model.frequency_response(f, inputs=["push.fx"], outputs=["probe.x", "probe.z"])
    expected = np.array([[refined(model, hz, "push.fx", name) for name in response.outputs] for hz in f])
    monkeypatch.setattr(SIZES, "few_coordinates", 1000)  # pivoting alone
    alone = model.frequency_response(f, inputs=["push.fx"], outputs=["probe.x", "probe.z"])
    size = np.abs(expected).max(axis=1)
    error, best = ((np.abs(r.values[:, :, 0] - expected).max(axis=1) / size).max() for r in (response, alone))
    assert error < 10.0 * best + 1e-6  # 2e-6 to 1e-3 where stiffening is trusted with fewer digits
    assert "constraints cost half of the digits" in response.notes[0] and not response.notes[0].startswith(f"{len(f)} ")


@pytest.mark.parametrize("branches", [30, 700])
def test_a_star_of_branches_at_one_source_is_swept_in_linear_work(branches):
    """A resistor of 5 ohm, then so many of 100 ohm and more before a capacitor with a load each: admittances by hand."""
    s = mse.MSystem("star")
    s.add(mse.VoltageSource("source"))
    s.add(mse.Resistor("inner", resistance=5.0))
    ground, middle = ["source.-", s.earth], ["inner.-"]
    k = np.arange(branches)
    for j in range(branches):
        s.add(mse.Resistor(f"r{j}", resistance=100.0 + j))
        s.add(mse.Capacitor(f"c{j}", capacitance=1e-6))
        s.add(mse.Resistor(f"l{j}", resistance=1000.0 + j))
        s.connect(f"r{j}.-", f"c{j}.+", f"l{j}.+")
        middle.append(f"r{j}.+")
        ground += [f"c{j}.-", f"l{j}.-"]
    s.connect("source.+", "inner.+")
    s.connect(*middle)
    s.connect(*ground)
    f = np.geomspace(1.0, 1e5, 24)
    response = s.find_working_point().linearize().frequency_response(f)
    w = 2j * np.pi * f[:, None]
    each = 1.0 / (100.0 + k + 1.0 / (1e-6 * w + 1.0 / (1000.0 + k)))
    whole = 1.0 / (5.0 + 1.0 / each.sum(axis=1))
    np.testing.assert_allclose(response["source.current", "source.voltage"], -whole, rtol=1e-11)
    last = each[:, -1] / each.sum(axis=1) * whole
    np.testing.assert_allclose(response[f"r{branches - 1}.current", "source.voltage"], last, rtol=1e-11)
    assert not response.notes


def test_sums_of_long_rows_hold_what_the_rows_hold():
    """Rows of 2,000 and 40 entries and a short one, all driven and read: of less work than one dense front, with pivots."""
    rng = np.random.default_rng(1)
    n, rows = 2000, np.zeros((3, 2000))
    rows[0], rows[1, 100:140], rows[2, :3] = rng.normal(size=n), 1.0, 2.0
    k = np.block([[np.diag(rng.uniform(1, 9, n)), rows.T], [rows, np.zeros((3, 3))]])
    m = np.diag(np.r_[rng.uniform(0.01, 0.1, n), np.zeros(3)])
    matrix = Polynomial(sp.csr_matrix(k), sp.csr_matrix(k.shape), sp.csr_matrix(m))
    b = np.zeros((n + 3, 2))
    b[5, 0] = b[n, 1] = 1.0
    none = sp.csr_matrix(b.shape)
    drive, read = Polynomial(sp.csr_matrix(b), none, none), Polynomial(sp.csr_matrix(b.T), none.T, none.T)
    sweep = Sweep("rows", matrix, drive, read, None, 3)
    w = np.linspace(0.5, 4.0, 8)
    values, good = sweep(w)
    assert good.all()
    right = np.array([b.T @ np.linalg.solve(k - x**2 * m, b) for x in w])
    np.testing.assert_allclose(values, right, rtol=1e-9, atol=1e-11 * np.abs(right).max())
    assert sweep.elimination.fronts.largest < 100


def lone_coordinates(seed: int) -> tuple[Polynomial, np.ndarray, int]:
    """Masses in a row, and 40 constraints of 2 to 5 of them with 1 or 2 further coordinates each.

    Returns also the numbers of the further coordinates, and that of the constraints.
    """
    rng = np.random.default_rng(seed)
    masses, count = 60, 40
    own = rng.integers(1, 3, count)
    of = np.repeat(np.arange(count), own)
    n = masses + len(of)
    rows = np.zeros((count, n))
    for row in rows:
        on = rng.choice(masses, rng.integers(2, 6), replace=False)
        row[on] = rng.choice([-1.0, 1.0], len(on))
    rows[of, masses + np.arange(len(of))] = rng.choice([-1.0, 1.0], len(of))
    stretch = np.eye(masses) - np.eye(masses, k=-1)
    found = []
    some = rng.integers(0, 2, len(of)) | (np.diff(of, prepend=-1) == 0)  # others have no terms of their own
    for scale in (10.0, 0.1, 1.0):
        whole = np.zeros((n + count, n + count))
        whole[:masses, :masses] = stretch.T @ np.diag(scale * rng.uniform(0.5, 2.0, masses)) @ stretch
        np.fill_diagonal(whole[masses:n, masses:n], scale * rng.uniform(0.5, 2.0, len(of)) * some)
        found.append(whole)
    found[0][n:, :n], found[0][:n, n:] = rows, rows.T
    return Polynomial(*(sp.csr_matrix(a) for a in found)), masses + np.arange(len(of)), count


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("many", [False, True], ids=["in the border", "substituted back"])
def test_coordinates_of_one_constraint_are_given_by_the_others(seed, many):
    """Driven and read at such coordinates, at driven constraints, and at multipliers: against dense matrices with all of them."""
    matrix, lone, count = lone_coordinates(seed)
    size = matrix.k.shape[0]
    n = size - count
    pick = sp.identity(size, format="csr")
    drive = Polynomial(*(pick[:, [3, lone[0], lone[-1], n + 7]] * a for a in (1.0, 0.2, 0.1)))
    at = range(n + 1) if many else [0, lone[0], lone[3], n + 5]
    read = Polynomial(*(pick[list(at)] * a for a in (1.0, 0.3, 0.05)))
    w = np.geomspace(0.1, 10.0, 24)
    sweep = Sweep("lone", matrix, drive, read, None, count)
    found, good = sweep(w)
    expected = read.at(w) @ np.linalg.solve(matrix.at(w), drive.at(w))
    assert good.all()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    # neither such a coordinate nor a multiplier is left of the constraints that are neither driven nor read
    assert sweep.size == size - 2 * (count - 2)


def test_squares_of_lone_coordinates_are_added_up():
    matrix, lone, count = lone_coordinates(0)
    size = matrix.k.shape[0]
    pick = sp.identity(size, format="csr")
    one = Polynomial(*(pick[[lone[1]]] * a for a in (1.0, 0.0, 0.0)))
    rows = sp.csr_matrix(pick[lone] + 0.5 * pick[lone - 7])
    w, sums = np.geomspace(0.1, 10.0, 24), np.empty((2, 24))
    sweep = Sweep("lone", matrix, one.T, one, None, count, Readings(rows, np.array([0, 5, len(lone)])))
    _, good = sweep(w, sums=sums)
    squares = np.abs(rows.toarray() @ np.linalg.solve(matrix.at(w), one.T.at(w)))[:, :, 0] ** 2
    assert good.all()
    np.testing.assert_allclose(sums, [squares[:, :5].sum(axis=1), squares[:, 5:].sum(axis=1)], rtol=1e-9)


def test_long_ladders_take_little_memory():
    """A section has two charges and a multiplier: 6.8 kB of it where all three are swept, 2.0 kB where only one is."""
    sections, f = 1200, np.geomspace(1.0, 1e4, 64)
    s = mse.MSystem("ladder")
    s.add(mse.VoltageSource("source"))
    far, earth = "source.+", [s.earth, "source.-"]
    for k in range(sections):
        s.add(mse.Resistor(f"r{k}", resistance=10.0))
        s.add(mse.Capacitor(f"c{k}", capacitance=1e-6))
        s.connect(far, f"r{k}.+")
        s.connect(f"r{k}.-", f"c{k}.+")
        far = f"r{k}.-"
        earth.append(f"c{k}.-")
    s.connect(*earth)
    model = s.find_working_point().linearize()
    assert model.size == 2 * sections + 1
    model.impedance("source", f[:2])  # compiles
    tracemalloc.start()
    found = model.impedance("source", f)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    y = 2j * np.pi * f * 1e-6
    z = 10.0 + 1.0 / y
    for _ in range(sections - 1):
        z = 10.0 + 1.0 / (y + 1.0 / z)
    np.testing.assert_allclose(found, z, rtol=1e-11)
    assert peak < 3e3 * sections
