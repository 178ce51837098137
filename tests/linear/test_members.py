"""Linear models with exact members: modes by counting, frequency response, structural loss, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse.analysis.modes import exact as transcendental
from mse.errors import ModelError, SingularResponseError, UnknownNameError
from mse.kernels.dynamic_stiffness import (
    MECHANISMS,
    Plane,
    UniformMember,
    bending_stiffness,
    clamped_count,
    dynamic_stiffness,
)
from mse.linear.linear_model import DynamicMember, LinearModel
from mse.linear.members import Members
from mse.linear.stiffness_parts import ListedParts
from paths import REFERENCE

pytestmark = pytest.mark.rounding

AXES = ("x", "y", "z", "ax", "ay", "az")
INF = np.inf


def case(name: str) -> dict:
    return json.loads((REFERENCE / f"{name}.json").read_text())


def change(member: UniformMember, omega: np.ndarray, loss) -> np.ndarray:
    static = dynamic_stiffness(0.0, member)
    return np.array([dynamic_stiffness((w * w).real, member.with_loss(loss)) - static for w in omega])


def exact_model(members, nodes: int, hold=(), masses=None, stiffness=None, label="beam") -> LinearModel:
    """Members as (UniformMember, node, node) along x between nodes 0, 1, ...; ``hold`` (node, axis) are at rest.

    ``masses`` and ``stiffness`` add six numbers on the diagonal of a node.  All of node -1 is at rest.
    """
    place = [(k, a) for k in range(nodes) for a in range(6) if (k, AXES[a]) not in hold]
    number = {p: i for i, p in enumerate(place)}
    n = len(place)
    k, m, exact = np.zeros((n, n)), np.zeros((n, n)), []
    for member, *ends in members:
        motion = np.zeros((12, n))
        for e, node in enumerate(ends):
            for a in range(6):
                if (node, a) in number:
                    motion[6 * e + a, number[node, a]] = 1.0
        static = dynamic_stiffness(0.0, member)
        k += motion.T @ static @ motion
        exact.append(
            DynamicMember(
                label, sp.csr_matrix(motion), partial(change, member), partial(clamped_count, member=member), MECHANISMS
            )
        )
    for matrix, given in ((m, masses or {}), (k, stiffness or {})):
        for node, values in given.items():
            for a, value in enumerate(values):
                if (node, a) in number:
                    matrix[number[node, a], number[node, a]] += value
    names = [f"n{node}.{AXES[a]}" for node, a in place]
    model = LinearModel.from_matrices(m, None, k, name="exact", coordinates=names)
    return replace(model, members=tuple(exact))


def in_series(member: UniformMember, pieces: int, held_ends=(True, False), **more) -> LinearModel:
    piece = replace(member, length=member.length / pieces)
    nodes = pieces + 1 - sum(held_ends)
    first = -1 if held_ends[0] else 0
    chain = [(piece, first + k, first + k + 1 if first + k + 1 < nodes else -1) for k in range(pieces)]
    return exact_model(chain, nodes, **more)


# -- case 08: a stiff wire under tension ------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def stiff_wire():
    data = case("case08_stiff_wire")
    p = data["parameters"]
    gj, polar = 80e9 * 2 * p["I"], p["rho"] * 2 * p["I"]
    wire = UniformMember(
        p["L"], p["E"] * p["A"], gj, p["EI"], p["EI"], INF, INF, p["T"], p["mu"], polar, 0.0, 0.0
    )  # fmt: skip
    return data, wire


# only what moves along y: the figures are of bending in one plane
FLAT = ("x", "z", "ax", "ay")


def flat(nodes, *more):
    return {(k, a) for k in range(nodes) for a in FLAT} | set(more)


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [2, 3])
def test_violin_modes_clamped_at_both_ends(stiff_wire, pieces):
    data, wire = stiff_wire
    found = in_series(wire, pieces, (True, True)).modes(20)
    violin = data["outputs"]["a"]["clamped_clamped_hz"]
    # each twice, along y and along z, and no others as low as these
    np.testing.assert_allclose(found.frequencies_hz[:20], np.repeat(violin, 2), rtol=1e-12)
    for k in range(0, 20, 2):
        pair = found.shapes[:, k : k + 2]
        assert np.linalg.matrix_rank(pair / np.abs(pair).max(), tol=1e-3) == 2


def test_a_member_with_both_ends_held_keeps_its_modes(stiff_wire):
    data, wire = stiff_wire
    # something else that moves, for there to be a coordinate at all
    model = exact_model([(wire, -1, -1)], 1, masses={0: (1.0,) * 6}, stiffness={0: (2500.0, 2.5e7, 1e9, 1e9, 1e9, 1e9)})
    found = model.modes(8)
    violin = data["outputs"]["a"]["clamped_clamped_hz"]
    expected = sorted([50 / (2 * np.pi), 5000 / (2 * np.pi), *violin[:3], *violin[:3]])
    np.testing.assert_allclose(found.frequencies_hz, expected, rtol=1e-9)
    inside = np.abs(found.shapes).max(axis=0) == 0
    assert list(inside) == [x in violin for x in expected]
    np.testing.assert_allclose(found.energies[:, ~inside].sum(axis=0), 1.0)
    assert np.all(found.energies[:, inside] == 0)


def test_a_clamped_member_alone(stiff_wire):
    data, wire = stiff_wire
    found = exact_model([(wire, -1, -1)], 0).modes(4)
    np.testing.assert_allclose(
        found.frequencies_hz, np.repeat(data["outputs"]["a"]["clamped_clamped_hz"][:2], 2), rtol=1e-12
    )
    assert found.shapes.shape == (0, 4)


@pytest.mark.slow
def test_violin_modes_with_the_lower_end_pinned(stiff_wire):
    data, wire = stiff_wire
    model = exact_model([(wire, -1, 0)], 1, hold=flat(1, (0, "y")))
    found = model.modes(10)
    # bending along z is clamped at both ends there, and has zero shapes
    moving = np.abs(found.shapes).max(axis=0) > 0
    np.testing.assert_allclose(
        model.modes(20).frequencies_hz[np.abs(model.modes(20).shapes).max(axis=0) > 0][:5],
        data["outputs"]["a"]["clamped_pinned_hz"][:5], rtol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(
        found.frequencies_hz[~moving], data["outputs"]["a"]["clamped_clamped_hz"][: (~moving).sum()]
    )


def pendulum(stiff_wire, end: str, pieces: int = 1) -> LinearModel:
    data, wire = stiff_wire
    m = data["parameters"]["m"]
    last = pieces - 1
    more = [(last, "az")] if end == "clamped" else []
    return in_series(wire, pieces, hold=flat(pieces, *more), masses={last: (m, m, m, 0, 0, 0)})


@pytest.mark.slow
@pytest.mark.parametrize("end", ["pinned", "clamped"])
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_pendulum_on_a_stiff_wire(stiff_wire, end, pieces):
    data, _ = stiff_wire
    expected = data["outputs"]["b"][f"modes_hz_{end}"]
    model = pendulum(stiff_wire, end, pieces)
    found = model.modes(24)
    moving = np.abs(found.shapes).max(axis=0) > 0
    if pieces == 1:
        np.testing.assert_allclose(
            found.frequencies_hz[moving][:6], [expected["pendulum"], *expected["violin_1_to_5"]], rtol=1e-12
        )
    # among those of pieces that are clamped in the other plane
    for f in (expected["pendulum"], *expected["violin_1_to_5"]):
        assert np.abs(found.frequencies_hz / f - 1).min() < 1e-12
    # the mass swings, with a third of the wire
    third = data["parameters"]["mu"] * data["parameters"]["L"] / 3
    np.testing.assert_allclose(found[f"n{pieces - 1}.y"][0] ** 2, 1 / (data["parameters"]["m"] + third), rtol=1e-4)


def with_moving_top(model: LinearModel, wire: UniformMember) -> LinearModel:
    """The same with the top of the wire prescribed along y, and the force that this takes measured."""
    n = model.size
    top = np.zeros((12, 1))
    top[1] = 1.0
    motion = sp.csr_matrix(np.hstack([model.members[0].motion.toarray(), top]))
    k = motion.T @ dynamic_stiffness(0.0, wire) @ motion
    k = sp.coo_matrix(k)
    parts = ListedParts.of([(("wire", "total"), k)], n + 1)
    bigger = sp.block_diag([model.full_mass, sp.csr_matrix((1, 1))], format="csr")
    eye = sp.identity(n + 1, format="csr")
    names = model.coordinates
    return replace(
        model,
        full_mass=bigger,
        dampings=ListedParts.of([], n + 1),
        parts=parts,
        prescribed=("top.y",),
        inputs=("top.y", *names),
        outputs=("top.fy", *names),
        input_units=("m",) + ("N",) * n,
        output_units=("N",) + ("m",) * n,
        force=sp.hstack([sp.csr_matrix((n + 1, 1)), eye[:, :n]], format="csr"),
        drive=sp.csr_matrix(np.eye(1, n + 1)),
        measure=sp.vstack([sp.csr_matrix((1, n + 1)), eye[:n]], format="csr"),
        reaction=sp.csr_matrix(np.eye(n + 1, 1)),
        members=(replace(model.members[0], label="wire", motion=motion),),
    )


def complex_of(parts) -> np.ndarray:
    return np.array(parts["re"]) + 1j * np.array(parts["im"]) if isinstance(parts, dict) else np.array(parts)


@pytest.mark.parametrize("end", ["pinned", "clamped"])
def test_response_of_a_pendulum_on_a_stiff_wire(stiff_wire, end):
    data, wire = stiff_wire
    b = data["outputs"]["b"]
    model = with_moving_top(pendulum(stiff_wire, end), wire)
    plain = model.frequency_response(b["frequency_hz"])
    np.testing.assert_allclose(plain["n0.y", "top.y"], complex_of(b[f"top_to_mass_{end}_lossless"]), rtol=1e-8)
    assert np.all(plain.values.imag == 0)
    lossy = model.frequency_response(b["frequency_hz"], loss={"wire": data["parameters"]["phi"]})
    np.testing.assert_allclose(lossy["n0.y", "top.y"], complex_of(b[f"top_to_mass_{end}_phi"]), rtol=1e-8)
    compliance = complex_of(b[f"mass_compliance_{end}_phi_m_per_N"])
    np.testing.assert_allclose(lossy["n0.y", "n0.y"], compliance, rtol=1e-8)
    # the imaginary part is what noise comes from: right by itself, which only bending's loss makes
    np.testing.assert_allclose(lossy["n0.y", "n0.y"].imag, compliance.imag, rtol=1e-6)
    bending = model.frequency_response(b["frequency_hz"], loss={("wire", "bending_z"): data["parameters"]["phi"]})
    np.testing.assert_allclose(bending.values, lossy.values, rtol=1e-12)
    other = model.frequency_response(b["frequency_hz"], loss={"wire": 0.5, ("wire", "bending_z"): 1e-4})
    np.testing.assert_allclose(other.values, lossy.values, rtol=1e-12)


def test_the_force_on_a_driven_top_is_what_it_and_the_mass_need(stiff_wire):
    data, wire = stiff_wire
    response = with_moving_top(pendulum(stiff_wire, "clamped"), wire).frequency_response([0.3, 40.0, 700.0])
    w2 = (2 * np.pi * response.frequencies_hz) ** 2
    mass = data["parameters"]["m"]
    moved = response["n0.y", "top.y"].real
    d = np.array([bending_stiffness(x, wire.planes[0]) for x in w2])
    # the mass obeys D10 u + (D11 - m w^2) q = 0; the sensor reads minus the force on the top
    np.testing.assert_allclose(moved, -d[:, 2, 0] / (d[:, 2, 2] - mass * w2), rtol=1e-10)
    np.testing.assert_allclose(response["top.fy", "top.y"].real, -(d[:, 0, 0] + d[:, 0, 2] * moved), rtol=1e-9)
    # reciprocity: force on the held top by a force on the mass, displacement of the mass by one of the top
    np.testing.assert_allclose(response["top.fy", "n0.y"], response["n0.y", "top.y"] * 1.0, rtol=1e-9)


# -- case 06: cantilevers ---------------------------------------------------------------------------------------------
def cantilever(section: str, kappa: float | None) -> tuple[UniformMember, dict]:
    data = case("case06_beams")
    p, out = data["parameters"], data["outputs"][section]
    e, g, rho, a = p["E"], p["G"], p["rho"], out["A"]
    shear = kappa * g * a if kappa else INF
    return UniformMember(
        p[section]["L"], e * a, g * out["J_saint_venant"], e * out["I_y"], e * out["I_z"], shear, shear, 0.0,
        rho * a, rho * out["I_polar"], rho * out["I_y"], rho * out["I_z"],
    ), out  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("section", ["uniform_thin", "uniform_thick"])
@pytest.mark.parametrize("theory", ["EB", "kappa_5_6", "kappa_cowper"])
@pytest.mark.parametrize("pieces", [1, 4])
def test_cantilevers(section, theory, pieces):
    kappa = {"EB": None, "kappa_5_6": 5 / 6, "kappa_cowper": case("case06_beams")["parameters"]["kappa_cowper"]}[theory]
    member, out = cantilever(section, kappa)
    key = (lambda a: f"EB_{a}_bending_hz") if theory == "EB" else (lambda a: f"Timoshenko_{a}_bending_hz_{theory}")
    # bars go on with odd multiples; the lists of bending that are given end somewhere
    odd = 2 * np.arange(12) + 1
    lists = [out[key("z")], out[key("y")], odd * out["axial_hz"][0], odd * out["torsion_hz"][0]]
    top = min(values[-1] for values in lists)
    expected = np.sort(np.concatenate(lists))
    expected = expected[expected <= top]
    assert len(expected) >= 4
    found = in_series(member, pieces).modes(len(expected))
    np.testing.assert_allclose(found.frequencies_hz, expected, rtol=1e-10)
    assert np.all(found.energies.sum(axis=0) > 0.99)


def test_receptance_with_structural_damping():
    member, _ = cantilever("uniform_thin", None)
    data = case("case06_beams")["outputs"]["receptance"]
    model = in_series(member, 1)
    response = model.frequency_response(data["frequency_hz"], loss={"beam": data["eta"]}, inputs=["n0.z"])
    np.testing.assert_allclose(
        response["n0.z", "n0.z"], complex_of(data["uniform_thin_tip_displacement_per_N"]), rtol=1e-9
    )
    slope = complex_of(data["uniform_thin_tip_rotation_dwdx_per_N"])
    np.testing.assert_allclose(-response["n0.ay", "n0.z"], slope, rtol=1e-9)
    # a long chain goes the sparse way, and is the same beam
    chain = in_series(member, 60)
    assert chain.size > 300
    far = chain.frequency_response(
        data["frequency_hz"], loss={"beam": data["eta"]}, inputs=["n59.z"], outputs=["n59.z"]
    )
    np.testing.assert_allclose(far["n59.z", "n59.z"], response["n0.z", "n0.z"], rtol=1e-6)
    at = data["frequency_hz"][8:10]
    real = chain.frequency_response(at, inputs=["n59.z"], outputs=["n59.z"]).values
    np.testing.assert_allclose(real[:, 0, 0], model.frequency_response(at)["n0.z", "n0.z"], rtol=1e-6)


@pytest.mark.slow
def test_a_long_chain_is_counted_sparsely():
    member, out = cantilever("uniform_thin", None)
    found = in_series(member, 52).modes(4)
    expected = np.sort([*out["EB_z_bending_hz"], *out["EB_y_bending_hz"], *out["torsion_hz"]])[:4]
    np.testing.assert_allclose(found.frequencies_hz, expected, rtol=1e-7)


# -- what modes there are ---------------------------------------------------------------------------------------------
def test_an_inverted_pendulum_on_an_exact_leg_grows():
    length, ei, load, m = 0.8, 3.0, 60.0, 60.0 / 9.81
    leg = UniformMember(length, 1e6, 10.0, ei, ei, INF, INF, -load, 0.05, 1e-6, 0.0, 0.0)
    assert load > np.pi**2 * ei / (4 * length**2)  # beyond Euler's load
    found = exact_model([(leg, -1, 0)], 1, masses={0: (m, m, m, 1e-3, 1e-3, 1e-3)}).modes(6)
    assert list(np.flatnonzero(found.unstable)) == [0, 1]
    assert found.eigenvalues[0].real > 0
    # rate of growth from static stiffness and consistent mass: the leg is light
    s2 = found.eigenvalues[0].real ** 2
    d = bending_stiffness(-s2, Plane(length, -load, 0.05, ei, INF, 0.0))[2:, 2:] + s2 * np.diag([m, 1e-3])
    assert abs(np.linalg.det(d)) < 1e-11 * d[0, 0] * d[1, 1] + 1e-11 * d[0, 1] ** 2
    np.testing.assert_allclose(found.frequencies_hz[0], found.frequencies_hz[1], rtol=1e-12)


def test_a_free_beam_has_six_free_motions():
    member = UniformMember(1.0, 1e7, 40.0, 100.0, 150.0, INF, INF, 0.0, 2.0, 1e-3, 0.0, 0.0)
    model = in_series(member, 2, (False, False))
    found = model.modes(2)
    assert np.count_nonzero(found.free) == 6 and len(found) == 8
    # free-free has the frequencies of clamped-clamped: cos kL cosh kL = 1
    k = 4.730040744862704
    np.testing.assert_allclose(found.frequencies_hz[6], k**2 / (2 * np.pi) * np.sqrt(100.0 / 2.0), rtol=1e-11)
    np.testing.assert_allclose(found.frequencies_hz[7], k**2 / (2 * np.pi) * np.sqrt(150.0 / 2.0), rtol=1e-11)


@pytest.mark.slow
def test_stiff_and_soft_side_by_side():
    """A body on a stiff blade and a very soft spring: four decades between the modes, all of them there."""
    blade = UniformMember(0.1, 1e9, 1e4, 1e4, 1e4, 1e8, 1e8, 0.0, 1.0, 1e-4, 1e-5, 1e-5)
    model = exact_model([(blade, 0, 1)], 2, masses={0: (2.0,) * 3 + (0.1,) * 3, 1: (3.0,) * 3 + (0.1,) * 3},
                        stiffness={0: (1.0,) * 6})  # fmt: skip
    found = model.modes(12)
    # nearly rigid: total mass 5.1 kg on 1 N/m along x
    np.testing.assert_allclose(found.frequencies_hz[:6].min() > 0, True)
    assert np.abs(found.frequencies_hz[:6] * 2 * np.pi / np.sqrt(1.0 / 5.1) - 1).min() < 1e-5
    # the softest motion of the blade itself: torsion between two inertias of 0.1 kg m2, and a little of its own
    np.testing.assert_allclose(found.frequencies_hz[6], np.sqrt(1e4 / 0.1 * 2 / 0.1) / (2 * np.pi), rtol=1e-3)
    assert np.count_nonzero(found.free) == 0


def test_kinetic_energy_is_shared_and_shapes_are_normal(stiff_wire):
    _, wire = stiff_wire
    model = exact_model([(wire, -1, 0)], 1, masses={0: (10.0,) * 3 + (0.01,) * 3})
    found = model.modes(8)
    np.testing.assert_allclose(found.energies.sum(axis=0), 1.0, rtol=1e-12)
    assert found.participation["n0"] == pytest.approx(1.0)
    # up and down: the mass and a third of the wire
    k = next(i for i in range(8) if np.argmax(np.abs(found.shapes[:, i])) == 0)
    third = wire.mass * wire.length / 3
    assert abs(found["n0.x"][k]) == pytest.approx((10.0 + third) ** -0.5, rel=1e-8)
    assert found[k].participants() == "n0.x 100 %"


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_pieces_in_series_are_one_member(pieces):
    member = UniformMember(0.7, 2e6, 30.0, 60.0, 80.0, 3e5, 4e5, 800.0, 0.6, 3e-4, 1.2e-4, 1.5e-4)
    last = pieces - 1
    model = in_series(member, pieces, masses={last: (1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3)})
    whole = in_series(member, 1, masses={0: (1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3)})
    np.testing.assert_allclose(model.modes(25).frequencies_hz, whole.modes(25).frequencies_hz, rtol=1e-11)
    f = np.geomspace(0.5, 5e3, 12)
    loss = {"beam": 1e-3, ("beam", "torsion"): 0.02}
    ends = [f"n{last}.{a}" for a in AXES]
    np.testing.assert_allclose(
        model.frequency_response(f, inputs=ends, outputs=ends, loss=loss).values,
        whole.frequency_response(f, loss=loss).values,
        rtol=1e-9, atol=1e-14,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("beside", [1e-1, 1e-4, 1e-6, -1e-6, -1e-3])
def test_inertia_beside_a_pole_is_the_slope_of_the_dynamic_stiffness(beside):
    """A bead of 2 kg on a spring inside: D = -m w^2 p^2/(p^2 - w^2), so that -dD/d(w^2) = m p^4/(p^2 - w^2)^2."""
    m, p2 = 2.0, 9.0
    law = lambda omega, loss: (-m * omega**2 * p2 / (p2 - omega**2)).reshape(-1, 1, 1)
    bead = DynamicMember("bead", sp.csr_matrix([[1.0]]), law, lambda omega2: int(omega2 > p2))
    model = replace(LinearModel.from_matrices([[1.0]], None, [[1.0]]), members=(bead,))
    found = Members(model).inertia(p2 * (1.0 + beside))[0][0, 0]
    assert found == pytest.approx(m / beside**2, rel=1e-4)


def test_the_fewest_modes_are_the_lowest_of_many(stiff_wire):
    _, wire = stiff_wire
    model = exact_model([(wire, -1, 0), (wire, 0, -1)], 1, masses={0: (0.01,) * 3 + (1e-9,) * 3})
    many = model.modes(40).frequencies_hz
    assert len(model.modes()) == 20
    for count in (1, 2, 7):
        np.testing.assert_allclose(model.modes(count).frequencies_hz, many[:count], rtol=1e-11)
    # equal wires on both sides: modes in which the node rests are those of a clamped wire
    assert len(many) == 40


@pytest.mark.slow
def test_many_equal_members_have_all_their_modes_at_once():
    wire = UniformMember(0.6, 2e5, 500.0, 0.08, 0.08, INF, INF, 500.0, 8e-3, 1e-9, 0.0, 0.0)
    stages, wires = 3, 4
    chain = [(wire, k - 1, k) for k in range(stages) for _ in range(wires)]
    masses = dict.fromkeys(range(stages), (40.0,) * 3 + (0.5,) * 3)
    found = exact_model(chain, stages, masses=masses).modes(6 * stages + 2 * stages * wires)
    assert np.all(np.diff(found.frequencies_hz) >= 0)
    # wires of one stage against each other: the ends rest, along y and z, three times at each of three stages
    inside = np.abs(found.shapes).max(axis=0) == 0
    assert np.count_nonzero(inside) == 2 * stages * (wires - 1)
    clamped = found.frequencies_hz[inside]
    np.testing.assert_allclose(clamped, clamped[0], rtol=1e-13)
    first = (2 * np.pi * clamped[0]) ** 2
    assert clamped_count(first * (1 - 1e-12), wire) == 0
    assert clamped_count(first * (1 + 1e-12), wire) == 2
    # wires of one stage together, against the mass: heavy, so that they are nearly clamped
    together = found.frequencies_hz[~inside][6 * stages :]
    assert len(together) == 2 * stages
    np.testing.assert_allclose(together, clamped[0], rtol=1e-3)
    assert np.all(together > clamped[0])


# -- structural loss without members ----------------------------------------------------------------------------------
def two_springs() -> LinearModel:
    k = [3.0, 5.0, 7.0]
    zero = np.zeros(3, dtype=int)
    labels = [("wire", "axial"), ("wire", "geometric"), ("blade", "axial")]
    parts = ListedParts(labels, 1, (np.arange(3), zero, zero, np.array(k)))
    return replace(LinearModel.from_matrices([[2.0]], None, [[15.0]], coordinates=["m.x"], name="two"), parts=parts)


def test_loss_by_object_and_by_mechanism():
    model = two_springs()

    def expected(k):
        return 1.0 / (k - 2.0 * (2 * np.pi * 0.2) ** 2)

    for loss, k in (
        (None, 15.0),
        ({}, 15.0),
        ({"wire": 0.1}, 15.0 + 0.3j),
        ({"wire": 0.1, "blade": 0.2}, 15.0 + 1.7j),
        ({("wire", "axial"): 0.5, "wire": 0.1}, 15.0 + 1.5j),
        ({("blade", "axial"): 0}, 15.0),
    ):
        np.testing.assert_allclose(model.frequency_response([0.2], loss=loss).values[0, 0, 0], expected(k), rtol=1e-14)
    # damped enough for its resonance
    at = np.sqrt(15.0 / 2.0) / (2 * np.pi)
    np.testing.assert_allclose(model.frequency_response([at], loss={"wire": 0.1}).values[0, 0, 0], 1 / 0.3j, rtol=1e-12)
    with pytest.raises(SingularResponseError):
        model.frequency_response([at])


@pytest.mark.parametrize(
    "loss, error, words",
    [
        ({"wier": 0.1}, UnknownNameError, "did you mean 'wire'"),
        ({("wire", "axail"): 0.1}, UnknownNameError, "did you mean 'wire / axial'"),
        ({"wire": -0.1}, ModelError, "loss of wire is -0.1"),
        ({("wire", "axial"): np.nan}, ModelError, "loss of wire / axial is nan"),
        ({"wire": 0.1j}, ModelError, "loss of wire is 0.1j"),
        ({"wire": "much"}, ModelError, "loss of wire is 'much'"),
        ({("wire", "geometric"): 0.1}, ModelError, "elastic"),
        (0.1, ModelError, "expected loss factors by object"),
        ({3: 0.1}, UnknownNameError, "3"),
    ],
)
def test_loss_that_makes_no_sense_is_refused(loss, error, words):
    with pytest.raises(error, match=words):
        two_springs().frequency_response([1.0], loss=loss)


# -- what needs matrices ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "analysis",
    [
        lambda m: m.state_space(),
        lambda m: m.simulate(duration=1.0, dt=0.1),
        lambda m: m.step_loop(dt=0.1),
    ],
)
def test_what_needs_constant_matrices_names_the_members(stiff_wire, analysis):
    model = pendulum(stiff_wire, "pinned")
    with pytest.raises(
        ModelError, match=r"of beam depends on the frequency.*form='elements' for beams.*frequency_response"
    ):
        analysis(model)


def test_a_coordinate_that_nothing_holds_is_named(stiff_wire):
    _, wire = stiff_wire
    model = exact_model([(wire, -1, 0)], 2, hold={(1, a) for a in AXES[1:]})
    with pytest.raises(ModelError, match=r"n1\.x can move freely"):
        model.modes(3)


def test_the_table_names_the_members(stiff_wire):
    assert "Dynamic stiffness: beam" in repr(pendulum(stiff_wire, "pinned"))


# -- point masses on members without mass -----------------------------------------------------------------------------
def light_lever(rng) -> LinearModel:
    """A point mass on a lever at the end of each of a few members without mass, one after the other."""
    count = int(rng.integers(1, 4))
    members, masses = [], {}
    for k in range(count):
        ei = 10 ** rng.uniform(-3, 3)
        length, shear = 10 ** rng.uniform(-2, 0.3), rng.choice([1.0, INF])
        ea = ei * 10 ** rng.uniform(3, 6) / length**2
        members.append((UniformMember(length, ea, 0.8 * ei, ei, ei, 0.3 * ea * shear, 0.3 * ea * shear,
                                      rng.uniform(0, 3) * ei / length**2, 0.0, 0.0, 0.0, 0.0), k - 1, k))  # fmt: skip
        masses[k] = (10 ** rng.uniform(-2, 1),) * 3 + (0.0,) * 3
    model = exact_model(members, count, masses=masses)
    lever = np.eye(model.size)
    for k in range(count):
        x, y, z = rng.standard_normal(3) * rng.choice([0.0, 1.0], 3)
        lever[6 * k : 6 * k + 3, 6 * k + 3 : 6 * k + 6] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
    # rotations of a node take its mass along
    m = model.M.toarray()
    return replace(model, full_mass=sp.csr_matrix(lever.T @ m @ lever))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 10))
def test_point_masses_on_members_without_mass(seed):
    """Their stiffness is constant, so that a dense solver of the flexibility has their modes, too."""
    model = light_lever(np.random.default_rng(seed))
    half = np.linalg.cholesky(model.K.toarray())
    flexible = np.linalg.solve(half, np.linalg.solve(half, model.M.toarray()).T)
    nu = np.sort(np.linalg.eigvalsh(flexible))[::-1][: 3 * (model.size // 6)]
    expected = 1 / np.sqrt(nu) / (2 * np.pi)
    # no more than there are, whatever is asked for
    for count in (1, 2, 3, len(expected), None, 100):
        found = model.modes(count)
        shapes = np.abs(found.shapes)
        # stretching is up to 1e6 times as stiff as bending, and cancels in it; the dense solver is right for the softest
        canceling = np.einsum("ij,ij->j", shapes, abs(model.K) @ shapes) / (2 * np.pi * found.frequencies_hz) ** 2
        off = np.abs(found.frequencies_hz / expected[:count] - 1)
        lost = np.finfo(float).eps * (canceling + (expected[:count] / expected[0]) ** 2)
        assert np.all(off < np.minimum(1e-9 + 100 * lost, 1e-4))
        assert found.complete == (count not in (1, 2) and not (count == 3 < len(expected)))
        assert (found.notes == ()) == found.complete
        turned = model.K @ found.shapes - model.M @ found.shapes * (2 * np.pi * found.frequencies_hz) ** 2
        assert np.abs(turned).max() <= 1e-6 * np.abs(abs(model.K) @ np.abs(found.shapes)).max()


def test_modes_that_are_counted_but_cannot_be_found_are_refused(stiff_wire, monkeypatch):
    monkeypatch.setattr(transcendental.Pencil, "nearest", lambda self, at, count: (np.full(count, 1e3 * at),
                        np.ones((self.size, count)), 0.0))  # fmt: skip
    with pytest.raises(ModelError, match=r"there are modes between .* Hz by count \(0 below the first"):
        pendulum(stiff_wire, "pinned").modes(1)


@pytest.mark.slow
def test_a_table_tells_that_there_are_more_modes(stiff_wire):
    found = pendulum(stiff_wire, "pinned").modes()
    assert not found.complete
    assert "20 undamped modes, the lowest of more" in found.table().title
    assert "note: the 20 lowest modes; modes(count=40) gives more" in repr(found)


# -- members that dissipate by themselves -----------------------------------------------------------------------------
def with_dashpot(model: LinearModel, stiffness: float, eta: float) -> LinearModel:
    """A lossy spring ``k (1 + i eta)`` beside the first member, along y of its end 1."""
    member = model.members[0]
    beside = np.zeros((12, 12))
    beside[7, 7] = stiffness

    def lossy(omega, loss):
        return member.stiffness(omega, loss) + np.multiply.outer(1j * eta * (omega.real > 0), beside)

    k = sp.coo_matrix(model.parts.total() + member.motion.T @ beside @ member.motion)
    parts = ListedParts.of([(("beam", "total"), k)], model.size)
    return replace(model, parts=parts, members=(replace(member, stiffness=lossy),))


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 60])
def test_dissipation_of_a_member_is_in_responses(stiff_wire, pieces):
    """Beside a spring with a loss factor, written down as one; exp(+i w t), so that a positive imaginary part dissipates."""
    _, wire = stiff_wire
    stiffness, eta = 30.0, 0.05
    masses = {0: (40.0,) * 3 + (0.1,) * 3}
    plain = exact_model([(wire, -1, 0)], pieces, masses=masses | dict.fromkeys(range(1, pieces), (1.0,) * 6),
                        stiffness=dict.fromkeys(range(1, pieces), (1000.0,) * 6))  # fmt: skip
    model = with_dashpot(plain, stiffness, eta)
    if pieces > 1:  # the other nodes, on springs of their own
        grounded = sp.diags(np.r_[np.zeros(6), np.full(6 * pieces - 6, 1e3)]).tocoo()
        part, row, column, value = model.parts.entries()
        more = np.zeros(grounded.nnz, int), grounded.row, grounded.col, grounded.data
        entries = tuple(np.r_[a, b] for a, b in zip((part, row, column, value), more, strict=True))
        parts = ListedParts(model.parts.labels, model.size, entries)
        model = replace(model, parts=parts)
    f = np.array([0.05, 0.3, 0.7, 2.0, 300.0])
    found = model.frequency_response(f, inputs=["n0.y"], outputs=["n0.y"])["n0.y", "n0.y"]
    without = plain.frequency_response(f, inputs=["n0.y"], outputs=["n0.y"])["n0.y", "n0.y"]
    # in parallel: 1/H = 1/H0 + k (1 + i eta), at the end itself
    np.testing.assert_allclose(1 / found, 1 / without + stiffness * (1 + 1j * eta), rtol=1e-7)
    assert np.all(found.imag < 0)
    undamped = model.modes(3)
    assert undamped.notes[-1].startswith("undamped modes, of the real part of the dynamic stiffness of beam")
    real = with_dashpot(plain, stiffness, 0.0)
    if pieces == 1:
        np.testing.assert_allclose(undamped.frequencies_hz, real.modes(3).frequencies_hz, rtol=1e-12)
        assert not any("real part" in note for note in real.modes(3).notes)
        grid = model.resonance_grid(0.1, 2.0)
        assert grid.widths_hz.max() > 1e-4


@pytest.mark.parametrize(
    "wrong, words",
    [
        (
            lambda d: d + 1j * np.triu(np.ones((12, 12)), 1),
            r"at .* Hz is unsymmetric by 1, so undamped modes cannot be computed; expected a symmetric matrix",
        ),
        (lambda d: d[:, :6, :6], r"at 1 frequencies has shape \(1, 6, 6\); expected \(1, 12, 12\)"),
        (lambda d: np.full_like(d, np.nan), r"at .* Hz is nan at \[0, 0\]; expected finite numbers"),
    ],
)
def test_a_stiffness_that_is_none_is_refused(stiff_wire, wrong, words):
    model = pendulum(stiff_wire, "pinned")
    member = model.members[0]
    model = replace(model, members=(replace(member, stiffness=lambda *given: wrong(member.stiffness(*given))),))
    analyses = [lambda: model.modes(1)]
    if "unsymmetric" not in words:  # which responses take
        analyses.append(lambda: model.frequency_response([1.0]))
    for analysis in analyses:
        with pytest.raises(ModelError, match=f"beam: its dynamic stiffness .*{words}"):
            analysis()


class LossyFoot(mse.MObject):
    """A spring and a dashpot along z between two frames, as a dynamic stiffness."""

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * 200.0 * d[2] ** 2 + 0.5 * 1e4 * (d[0] ** 2 + d[1] ** 2)

    def dynamic_stiffness(self, omega, frames):
        return 3j * omega * np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))


def test_a_dashpot_as_a_dynamic_stiffness_is_one():
    s = mse.MSystem("foot", gravity=(0, 0, 0))
    foot, mass = s.add(LossyFoot("foot")), s.add(mse.RigidBody("mass", mass=0.5, inertia=0.1))
    hold = s.add(mse.Bushing("hold", stiffness=(0, 0, 0, 5.0, 5.0, 5.0)))
    push, probe = s.add(mse.ForceActuator("push")), s.add(mse.PositionSensor("probe"))
    for a, b in ((foot, hold), (push, probe)):
        for one in (a, b):
            s.clamp(s.ground, one.frame(0 if one is not probe else 1))
            s.clamp(mass.frame(0), one.frame(1 if one is not probe else 0))
    linear = s.find_working_point().linearize()
    f = np.array([0.5, 3.0, 20.0])
    w = 2 * np.pi * f
    found = linear.frequency_response(f)["probe.z", "push.fz"]
    np.testing.assert_allclose(found, 1 / (200.0 + 3.0j * w - 0.5 * w**2), rtol=1e-10)
    modes = linear.modes()
    assert len(modes) == 6
    assert modes.complete
    assert "of the real part of the dynamic stiffness of foot" in repr(modes)
    assert np.abs(modes.frequencies_hz * 2 * np.pi / 20.0 - 1).min() < 1e-9
