"""Free and unstable motions, by the sparse route as by the dense one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
from counting import solved_by_lanczos
from wiring import wired

import mse
from fifty_digits import Bodies
from mse import Pose
from mse.elements.parameters import Real
from mse.numerics.eigen import graded
from mse.numerics.options import SIZES
from mse.numerics.precision import SURE, positive

pytestmark = pytest.mark.rounding


def beads(count: int, *, upright: int = 0) -> mse.MSystem:
    """A string of bodies on springs, whose rotations nothing holds; the last ``upright`` stand on springs instead."""
    s = mse.MSystem("beads", gravity=(0, 0, -9.81))
    above, z = s.ground, 0.0
    for k in range(count):
        up = k >= count - upright
        z += 0.5 if up else -0.5
        bead = s.add(mse.RigidBody(f"bead{k}", mass=1.0, inertia=(0.01, 0.012, 0.015), at=Pose.dz(z)))
        spring = s.add(mse.Spring(f"spring{k}", length=0.5, stiffness=2000.0))
        s.clamp(above, spring.frame(1))
        s.clamp(bead.frame(0), spring.frame(0))
        above = bead.frame(0)
    return s


@pytest.mark.parametrize("limit", [0, 10_000])
def test_free_motions_of_a_string_of_beads(monkeypatch, limit):
    monkeypatch.setattr(SIZES, "dense", limit)
    monkeypatch.setattr(SIZES, "dense", limit)
    wp = beads(6).find_working_point()
    assert wp.stable
    assert {m.name for m in wp.free} == {f"bead{k}.{a}" for k in range(6) for a in ("ax", "ay", "az")}
    for motion in wp.free:
        np.testing.assert_allclose(wp.stiffness @ motion.vector, 0, atol=1e-9)


@pytest.mark.parametrize("limit", [0, 10_000])
def test_unstable_motions_are_found_and_named(monkeypatch, limit):
    monkeypatch.setattr(SIZES, "dense", limit)
    wp = beads(5, upright=2).find_working_point(seek="nearest")
    assert wp.converged
    assert not wp.stable
    # two upright links can fall in two directions each
    assert len(wp.unstable) == 4
    for motion in wp.unstable:
        assert motion.vector @ (wp.stiffness @ motion.vector) < 0
        assert "bead3" in motion.name or "bead4" in motion.name


def test_a_motion_shows_what_moves_largest_first():
    wp = beads(5, upright=2).find_working_point(seek="nearest")
    for motion in wp.unstable:
        table = motion.table()
        shown = dict(table.rows)
        assert table.title.startswith(f"Motion {motion.name}: stiffness {motion.stiffness:.4g} N/m")
        sizes = np.abs(list(shown.values()))
        assert sizes[0] == 1.0 and np.all(np.diff(sizes) <= 0.0)
        whole = dict(zip(wp.coordinate_names, motion.vector, strict=True))
        assert shown == pytest.approx({name: whole[name] for name in shown}, abs=1e-12)
        assert {name for name in shown if shown[name]} == {name for name, x in whole.items() if abs(x) > 1e-12}
        assert repr(motion) == f"Motion({motion.name!r})"
    free = wp.free[0]
    assert free.table().title == f"Motion {free.name}: without stiffness" and free.table().rows == ((free.name, 1.0),)


@pytest.mark.parametrize("limit", [0, 10_000])
def test_a_stable_search_leaves_a_symmetric_ridge(monkeypatch, limit):
    """Links standing exactly upright have no force to fall by; small and large systems find the way down alike."""
    monkeypatch.setattr(SIZES, "dense", limit)
    wp = beads(4, upright=2).find_working_point()
    assert wp.stable
    heights = [wp.poses[f"bead{k}.center"].o[2] for k in range(4)]
    assert np.all(np.diff(heights) < -0.5)


def test_shared_free_motion_is_described():
    """Two plates joined by three springs hang from one: they can spin together, but not against each other."""
    s = mse.MSystem("spinner", gravity=(0, 0, -9.81))
    a = s.add(mse.RigidBody("a", mass=1.0, inertia=(0.01, 0.01, 0.02), at=Pose.dz(-0.6)))
    b = s.add(mse.RigidBody("b", mass=1.0, inertia=(0.01, 0.01, 0.02), at=Pose.dz(-1.2)))
    top = s.add(mse.Spring("top", length=0.5, stiffness=500.0))
    s.clamp(s.ground, top.frame(1))
    s.clamp(a.frame(0), top.frame(0), Pose.dz(0.02))
    for k in range(3):
        place = Pose.dxdydz(0.1 * np.cos(2.1 * k), 0.1 * np.sin(2.1 * k), 0.0)
        spring = s.add(mse.Spring(f"s{k}", length=0.5, stiffness=300.0))
        s.clamp(a.frame(0), spring.frame(1), place)
        s.clamp(b.frame(0), spring.frame(0), place)
    wp = s.find_working_point()
    assert wp.stable
    assert len(wp.free) == 1
    assert "a.az" in wp.free[0].name
    assert "b.az" in wp.free[0].name
    modes = wp.linearize().modes()
    assert modes.frequencies_hz[0] == 0.0
    assert modes.free.tolist() == [True] + [False] * 11


def inverted(count: int) -> mse.MSystem:
    """Bodies standing side by side on springs too weak to hold them upright: two unstable motions each."""
    s = mse.MSystem("inverted")
    for k in range(count):
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=0.01, at=Pose.dxdydz(k, 0, 0.5)))
        seat = s.add(mse.Bushing(f"seat{k}", stiffness=(1e4, 1e4, 1e4, 4.0, 4.0, 4.0)))
        s.clamp(s.ground, seat.frame(1), Pose.dxdydz(k, 0, 0))
        s.clamp(body.frame(0), seat.frame(0), Pose.dz(-0.5))
    return s


@pytest.mark.slow
@pytest.mark.parametrize("count", [40, 52, 60])
def test_of_many_equal_unstable_motions_all_are_found(count):
    wp = inverted(count).find_working_point(seek="nearest")
    assert len(wp.unstable) == 2 * count and not wp.stable
    vectors = np.array([m.vector for m in wp.unstable])
    assert np.linalg.matrix_rank(vectors) == 2 * count


def test_a_motion_of_very_many_bodies_has_a_name():
    """A train of 420 wagons, free along its rails: none of them has a share worth naming."""
    s = mse.MSystem("train", gravity=(0, 0, 0))
    before, hook = s.ground, Pose()
    for k in range(420):
        wagon = s.add(mse.RigidBody(f"wagon{k}", mass=1.0, inertia=0.01, at=Pose.dxdydz(k, 0, 0)))
        link = s.add(mse.Bushing(f"link{k}", stiffness=(1e3 if k else 0.0, 1e3, 1e3, 10.0, 10.0, 10.0)))
        s.clamp(before, link.frame(1), hook)
        s.clamp(wagon.frame(0), link.frame(0), Pose.dx(-0.5) if k else Pose())
        before, hook = wagon.frame(0), Pose.dx(0.5)
    assert any(".x" in motion.name for motion in s.find_working_point().free)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_rounding_does_not_hold_what_is_free(seed):
    """A body under a spring turns freely about it; which sign that curvature has is rounding."""
    rng = np.random.default_rng(seed)
    down = rng.standard_normal(3)
    down /= np.linalg.norm(down)
    s = mse.MSystem("bob", gravity=9.8 * down)
    hook = {"top": Pose(rng.uniform(-0.1, 0.1, 3))}
    bob = s.add(mse.RigidBody("bob", mass=2.0, inertia=(0.02, 0.025, 0.03), frames=hook, at=Pose(0.5 * down)))
    spring = s.add(mse.Spring("spring", length=0.3, stiffness=rng.uniform(1e2, 1e4)))
    s.clamp(s.ground, spring.frame(0))
    s.clamp(bob.frame("top"), spring.frame(1))
    wp = s.find_working_point()
    assert len(wp.free) == 1 and wp.stable


@pytest.mark.parametrize("limit", [0, 10_000])
@pytest.mark.parametrize("twist", [0.0, 1e-12])
def test_soft_springs_hold_spins(monkeypatch, limit, twist):
    """Rods on balls that resist twist by less than equations of single bodies tell, but by no rounding; all together by less."""
    monkeypatch.setattr(SIZES, "dense", limit)
    s = mse.MSystem("rods")
    above, seat = s.ground, Pose()
    for k in range(20):
        rod = s.add(mse.RigidBody(f"rod{k}", mass=0.02, inertia=(1e-5, 1e-5, 1e-6), at=Pose.dz(-0.05 * (k + 0.5))))
        joint = s.add(mse.Spherical(f"joint{k}", stiffness={"az": twist}))
        s.clamp(above, joint.frame(1), seat)
        s.clamp(rod.frame(0), joint.frame(0), Pose.dz(0.025))
        above, seat = rod.frame(0), Pose.dz(-0.025)
    wp = s.find_working_point()
    assert len(wp.free) == (0 if twist else 20) and wp.stable
    # twenty inertias on equal springs in a row, fixed at one end
    rates = 2 * np.sin((2 * np.arange(20) + 1) / 41 * np.pi / 2) * np.sqrt(twist / 1e-6)
    spins = wp.linearize().modes(20).frequencies_hz[:20]
    np.testing.assert_allclose(2 * np.pi * spins, rates, rtol=1e-9)


@pytest.mark.parametrize("limit", [0, 10_000])
def test_each_shared_motion_is_led_by_a_coordinate(monkeypatch, limit):
    """Bodies coupled in pairs by their turns: each motion has unit largest entry, positive, and no trace of the other pairs."""
    monkeypatch.setattr(SIZES, "dense", limit)
    s = mse.MSystem("pairs", gravity=(0, 0, 0))
    for k in range(8):
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0 + k, inertia=0.1, at=Pose.dx(k)))
        held = s.add(mse.Bushing(f"held{k}", stiffness=(1e3, 2e3, 3e3, 4e3, 5e3, 0.0)))
        s.clamp(s.ground, held.frame(1), Pose.dx(k))
        s.clamp(body.frame(0), held.frame(0))
        if k % 2:
            twist = s.add(mse.Bushing(f"twist{k}", stiffness=(0.0, 0.0, 0.0, 0.0, 0.0, 7.0)))
            s.clamp(s[f"body{k - 1}"].frame(0), twist.frame(1), Pose.dx(0.5))
            s.clamp(body.frame(0), twist.frame(0), Pose.dx(-0.5))
    free = s.find_working_point().free
    assert len(free) == 4
    for motion in free:
        moved = np.flatnonzero(motion.vector)
        assert len(moved) == 2 and moved[1] - moved[0] == 6
        np.testing.assert_allclose(motion.vector[moved], 1.0, rtol=1e-9)
        assert "-" not in motion.name


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_free_motions_are_as_many_as_an_exact_rank_tells(monkeypatch, seed):
    """Counted in fifty digits; in millimeters and grams or kilometers and tonnes, densely or not, with modes that agree."""
    bodies = Bodies.random(seed)
    wp = bodies.system().find_working_point()
    count = bodies.free_count(wp)
    for meter, kilogram in ((1.0, 1.0), (1e3, 1e3), (1e-3, 1e-3)):
        for limit in (10_000, 0):
            monkeypatch.setattr(SIZES, "dense", limit)
            wp = Bodies.random(seed, meter=meter, kilogram=kilogram).system().find_working_point()
            assert wp.stable and len(wp.free) == count and not wp.undetermined
            modes = wp.linearize().modes()
            assert np.count_nonzero(modes.free) == count and not modes.unstable.any() and not modes.undetermined.any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_noise_lies_far_between_free_and_soft(seed):
    """How far its constants could move before a verdict changes: by three for what is free, by a hundred for what is held."""
    bodies = Bodies.random(seed)
    wp = bodies.system().find_working_point()
    count = bodies.free_count(wp)
    k = wp.stiffness.toarray() / wp.scale / wp.scale[:, None]
    _, shapes = graded(k, np.diag(positive(wp.rounding)))
    noises = np.sort(np.abs(np.einsum("ij,ij->j", shapes, k @ shapes)))
    assert noises[:count].max(initial=0.0) < 1.0 / 3.0 and noises[count:].min(initial=np.inf) > 100 * SURE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_modes_beside_free_motions_are_those_of_the_same_matrices(seed):
    """As LAPACK gives them, to 1e-10 of the highest w^2; and no further off than they say and that is."""
    model = Bodies.random(seed).system().find_working_point().linearize()
    modes = model.modes()
    expected = np.sort(np.abs(sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True)))
    found = (2 * np.pi * modes.frequencies_hz) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14 * len(found) * expected[-1])
    np.testing.assert_allclose(modes.shapes.T @ model.M @ modes.shapes, np.eye(len(found)), atol=1e-9)
    told = (2 * np.pi * (modes.frequencies_hz + modes.uncertainties_hz)) ** 2 - found
    assert np.all(np.abs(found - expected) <= told + 1e-15 * len(found) * expected[-1])


@pytest.mark.parametrize(("length", "elements"), [(1e-5, 4), (1e-5, 1), (1e-3, 8), (1.0, 4)])
def test_a_clamped_beam_has_no_free_motion(length, elements):
    """However short it is beside its width, all of its nodes are held."""
    s = mse.MSystem("clamped")
    beam = s.add(mse.Beam("beam", length=length, width=0.01, height=0.005, elements=elements))
    s.clamp(s.ground, beam.frame(0))
    wp = s.find_working_point()
    assert wp.stable and not wp.free and not wp.undetermined
    assert not wp.linearize().modes(5).free.any()


@pytest.mark.parametrize("share", [0.5, 3.0, -3.0, 30.0, -30.0])
def test_curvatures_that_rounding_may_have_made_are_not_determined(share):
    """A spin that is held by half of what rounding may fake is free, by three times of it nobody knows."""
    wp = held(0.0)
    assert [motion.name for motion in wp.free] == ["body.az"]
    rounding = wp.free[0].rounding
    arm = 1.0 / np.abs(wp.scale[5])
    wp = held(share * rounding / arm**2)
    kinds = {"free": wp.free, "undetermined": wp.undetermined, "unstable": wp.unstable}
    expected = "free" if abs(share) < 1 else "undetermined" if abs(share) < 10 else "unstable" if share < 0 else ""
    for kind, motions in kinds.items():
        assert [motion.name for motion in motions] == (["body.az"] if kind == expected else [])
        assert getattr(wp.linearize().modes(), kind).sum() == (kind == expected)
    assert ("Stability not known at this precision" in repr(wp)) == (expected == "undetermined")
    assert ("not determined" in repr(wp.linearize().modes())) == (expected == "undetermined")
    assert wp.stable == (expected != "unstable")


def held(twist: float) -> mse.WorkingPoint:
    s = mse.MSystem("stand", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, frames={"tip": Pose.dx(0.5)}))
    seat = s.add(mse.Bushing("seat", stiffness=(1e6, 1e6, 1e6, 1e6, 1e6, twist)))
    s.clamp(s.ground, seat.frame(1))
    s.clamp(body.frame(0), seat.frame(0))
    return s.find_working_point(seek="nearest")


class Twisted(mse.MObject):
    """A spring between the centers of two bodies that also twists, as one law of its own."""

    stiffness: Real = Real("stiffness of its turns", unit="N m/rad")

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        stretched = np.sqrt(d @ d) - 0.4
        a, b = frames[0].U, frames[1].U
        return 1e6 * stretched**2 - self.stiffness * (a[:, 0] @ b[:, 0] + a[:, 2] @ b[:, 2])


def twisting_chain(count: int, soft: float, own: bool) -> mse.MSystem:
    """Bodies on springs of 2e6 N/m, which turn against each other about x and z with a stiffness of ``soft`` N m/rad."""
    s = mse.MSystem("chain", gravity=(0, 0, -9.81))
    above = s.ground
    for k in range(count):
        body = s.add(mse.RigidBody(f"b{k}", mass=0.1, inertia=1e-3, at=Pose.dz(-0.4 * (k + 1))))
        if own:
            s.add(Twisted(f"t{k}", stiffness=soft), between=(above, body))
        else:
            s.add(mse.Spring(f"s{k}", length=0.4, stiffness=2e6), between=(above, body))
            joint = s.add(mse.Bushing(f"w{k}", stiffness=(0, 0, 0, soft, 2 * soft, soft)))
            s.clamp(above, joint.frame(1), Pose.dz(-0.4))
            s.clamp(body.frame(0), joint.frame(0))
        above = body.frame(0)
    return s


@pytest.mark.parametrize(("count", "soft"), [(20, 1e-7), (60, 1e-3), (60, 1e-6)])
@pytest.mark.parametrize("own", [False, True])
def test_soft_turns_beside_stiff_springs_are_neither_free_nor_undetermined(own, count, soft):
    """Equal inertias on equal torsion springs in a row; stiff springs at their centers have no rounding for their turns."""
    wp = twisting_chain(count, soft, own).find_working_point()
    assert wp.stable and not wp.free and not wp.undetermined
    modes = wp.linearize().modes(3)
    exact = np.sqrt(soft / 1e-3) * np.sin(np.pi / (4 * count + 2)) / np.pi
    assert not modes.free.any() and not modes.undetermined.any()
    np.testing.assert_allclose(modes.frequencies_hz[:2], exact, rtol=1e-6)
    assert np.all(modes.uncertainties_hz[:2] < 1e-6 * exact)


class Winding(mse.MObject):
    """A coil between two bodies; its charge meets no stiffness."""

    coordinate_names = (mse.coordinate("charge", unit="C"),)

    def kinetic(self, frames, q, v):
        return 0.5 * 1e-3 * v[0] ** 2 + 10.0 * v[0] * (frames[1].o - frames[0].o)[2]


def test_charges_that_only_flow_are_set_aside_and_not_sought(monkeypatch):
    solved = solved_by_lanczos(monkeypatch)
    s = mse.MSystem("coils", gravity=(0, 0, -9.81))
    above = s.ground
    for k in range(60):
        body = s.add(mse.RigidBody(f"b{k}", mass=0.1, inertia=1e-3, at=Pose.dz(-0.4 * (k + 1))))
        joint = s.add(mse.Bushing(f"w{k}", stiffness=(1e5, 1e5, 1e5, 1e3, 1e3, 1e3)))
        s.clamp(above, joint.frame(1), Pose.dz(-0.4))
        s.clamp(body.frame(0), joint.frame(0))
        s.add(Winding(f"coil{k}"), between=(above, body))
        above = body.frame(0)
    wp = s.find_working_point()
    assert wp.stable and not wp.free and not wp.undetermined and not solved
    assert [motion.name for motion in wp.cyclic] == [f"coil{k}.charge" for k in range(60)]


class Node(mse.MObject):
    """Three charges at a node: one of a capacitor, one of a coil, and their sum, through nothing or another capacitor."""

    capacity = Real("of the other capacitor; 0 for none", unit="F", default=0.0, minimum=0.0)
    frame_names = ()
    coordinate_names = tuple(mse.coordinate(n, unit="C") for n in ("sum", "capacitor", "coil"))

    def energy(self, frames, q):
        return q[1] ** 2 / 1e-4 + (0.5 * q[0] ** 2 / self.capacity if self.capacity else 0.0)

    def kinetic(self, frames, q, v):
        return 0.025 * v[2] ** 2

    def constraint(self, frames, q):
        return [q[0] - q[1] - q[2]]


def test_a_charge_that_flows_round_a_held_one_is_a_flow():
    """The sum and the coil's charge move together without any stiffness, where the row ties them to a stiff one."""
    s = mse.MSystem("circuit")
    s.add(Node("node"))
    wp = s.find_working_point()
    assert wp.stable and not wp.free and not wp.unstable and not wp.undetermined
    (flow,) = wp.cyclic
    assert set(flow.coordinates) == {"node.sum", "node.coil"}
    assert not len(wp.linearize().modes())


def test_a_coil_swings_with_both_capacitors_of_its_node():
    s = mse.MSystem("circuit")
    s.add(Node("node", capacity=2e-4))
    wp = s.find_working_point()
    assert wp.stable and not wp.cyclic
    for damped in (False, True):
        (frequency,) = wp.linearize().modes(damped=damped).frequencies_hz
        assert frequency == pytest.approx(1.0 / (2 * np.pi * np.sqrt(0.05 * (0.5e-4 + 2e-4))), rel=1e-12)


@pytest.mark.parametrize(("count", "twist"), [(20, 1e-8), (300, 1e-9)])
def test_a_twist_so_soft_that_rounding_hides_it_is_not_called_free(count, twist):
    """Torsion 13 or 14 decades softer than stretching: ``2 sqrt(k/J) sin(pi/(4n + 2))`` is the lowest frequency."""
    s = mse.MSystem("soft", gravity=(0, 0, -9.81))
    last = s.ground
    for i in range(count):
        body = s.add(mse.RigidBody(f"b{i}", mass=0.1, inertia=1e-3, at=Pose.dz(-0.4 * (i + 1))))
        link = s.add(mse.Bushing(f"w{i}", stiffness=(1e5, 1e5, 1e5, 1e3, 1e3, twist)))
        s.clamp(last, link.frame(1), Pose.dz(-0.4))
        s.clamp(body.frame(0), link.frame(0))
        last = body.frame(0)
    wp = s.find_working_point()
    assert wp.stable and not wp.free and not wp.unstable
    assert all("az" in motion.name for motion in wp.undetermined)
    assert (" more" in str(wp).split("Stability not known")[1]) == (count == 300)
    modes = wp.linearize().modes(1)
    expected = 2.0 * np.sqrt(twist / 1e-3) * np.sin(np.pi / (4 * count + 2)) / (2 * np.pi)
    assert modes.undetermined.any() and not modes.free.any()
    assert abs(modes.frequencies_hz[0] - expected) < modes.uncertainties_hz[0]


@pytest.mark.parametrize(
    ("branches", "meshes"),
    [
        ("R01 R02 C03 C04 R12 C23 R34 C41 R12 L12", 3),
        ("C01 R02 C03 C04 L12 C23 L34 C41 L21 R43", 2),
        ("C01 C02 R03 R04 C12 L23 L34 C41 R40 R04", 3),
    ],
)
def test_charges_flow_in_each_mesh_without_a_capacitor(branches, meshes):
    """A graph without its capacitors has ``branches - nodes + parts`` meshes, of which no passive circuit moves one by itself."""
    sizes, made = {"R": 50.0, "L": 5e-3, "C": 4e-6}, {"R": mse.Resistor, "L": mse.Inductor, "C": mse.Capacitor}
    names = {"R": "resistance", "L": "inductance", "C": "capacitance"}
    system = mse.MSystem("network")
    wired(
        system,
        *(
            (made[k](f"e{j}", **{names[k]: sizes[k] * (1.0 + 0.1 * j)}), a, b)
            for j, (k, a, b) in enumerate(branches.split())
        ),
        (mse.CurrentSource("source"), "0", "1"),
    )
    point = system.find_working_point()
    assert point.stable and len(point.cyclic) == meshes
