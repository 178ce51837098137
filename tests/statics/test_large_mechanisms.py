"""Mechanisms of hundreds of coordinates whose freedoms are few, fall, rest unloaded, or hang in nets almost taut."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from counting import without_counts

import mse
from mse import Pose
from mse.analysis.modes.large import large_undamped
from mse.numerics.factor import ConstrainedFactor
from mse.numerics.lanczos import Lanczos
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding

G = 9.81


def ladder(rungs: int) -> tuple[mse.MSystem, float]:
    """Two hanging rods joined by rungs that stay level, all on hinges: one freedom, most joints redundant; and its frequency."""
    rng = np.random.default_rng(rungs)
    length, width, mass = 3.0, 0.4, 2.0
    s = mse.MSystem("ladder", gravity=(0, 0, -G))
    rods = []
    for k in range(2):
        x = k * width
        rod = s.add(
            mse.RigidBody(f"rod{k}", mass=mass, inertia=(1.5, mass * length**2 / 12, 0.01), at=Pose.dxdydz(x, 0, -1.5))
        )
        top = s.add(mse.Revolute(f"top{k}", axis=(0, 1, 0)))
        s.clamp(s.ground, top.frame(1), Pose.dx(x))
        s.clamp(rod.frame(0), top.frame(0), Pose.dz(1.5))
        rods.append(rod)
    moment, pull = 2 * mass * length**2 / 3, mass * G * length
    for i, depth in enumerate(np.linspace(0.1, length, rungs)):
        m = rng.uniform(0.1, 1.0)
        rung = s.add(mse.RigidBody(f"rung{i}", mass=m, inertia=0.01, at=Pose.dxdydz(0.5 * width, 0, -depth)))
        for k in range(2):
            pin = s.add(mse.Revolute(f"pin{i}_{k}", axis=(0, 1, 0)))
            s.clamp(rods[k].frame(0), pin.frame(1), Pose.dz(1.5 - depth))
            s.clamp(rung.frame(0), pin.frame(0), Pose.dx((k - 0.5) * width))
        moment, pull = moment + m * depth**2, pull + m * G * depth
    return s, float(np.sqrt(pull / moment) / (2 * np.pi))


@pytest.mark.slow
@pytest.mark.parametrize("rungs", [60, 120])
@pytest.mark.parametrize("count", [None, 1, 4, 20])
def test_no_more_modes_than_freedoms(rungs, count):
    system, frequency = ladder(rungs)
    wp = system.find_working_point()
    assert wp.freedoms == 1 and wp.stable and not wp.free
    found = wp.linearize().modes(count)
    assert len(found) == 1
    np.testing.assert_allclose(found.frequencies_hz, frequency, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 20, 40, 59, 60])
def test_modes_by_lanczos_where_they_are_nearly_all(count):
    """Of sixty freedoms among 360 coordinates as many as asked for, against all of them in independent coordinates."""
    linear = upright(60, 3e3)[0].find_working_point(seek="nearest").linearize()
    every = linear.modes()
    assert len(every) == 60
    alone, w2, shapes = large_undamped(linear, count)
    assert not alone.shape[1]
    nearest = np.sort(np.abs(np.real(every.eigenvalues**2)))[:count]
    np.testing.assert_allclose(np.sort(np.abs(w2)), nearest, rtol=1e-8)
    np.testing.assert_allclose(shapes.T @ (linear.M @ shapes), np.eye(count), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4, 20])
def test_the_mode_of_a_ladder_by_lanczos(count):
    system, frequency = ladder(60)
    _, w2, _ = large_undamped(system.find_working_point().linearize(), count)
    np.testing.assert_allclose(np.sqrt(w2) / (2 * np.pi), [frequency], rtol=1e-8)


@pytest.mark.parametrize("count", [1, 3, 7, 8, 30])
def test_the_space_of_a_search_may_be_exhausted(count):
    """``A^-1`` of rank seven: as many eigenpairs and no others, whatever is asked for."""
    rng = np.random.default_rng(1)
    q = np.linalg.qr(rng.standard_normal((400, 7)))[0]
    nu = np.array([-3.0, 1e-3, 1.0, 2.0, 5.0, 1e4, 1e6])
    search = Lanczos(lambda b: q @ (nu[:, None] * (q.T @ b)), sp.identity(400, format="csr"), 7)
    found, x = search.find(1, count, 0)
    expected = np.r_[nu[0], nu[1:][-min(count, 6) :]]
    np.testing.assert_allclose(found, np.sort(expected), rtol=1e-9)
    np.testing.assert_allclose(x.T @ x, np.eye(len(found)), atol=1e-9)


def upright(count: int, stiffness: float) -> tuple[mse.MSystem, int]:
    """Rods standing one on the other on hinges with springs, and how many of their motions fall."""
    s = mse.MSystem("upright", gravity=(0, 0, -G))
    seat, at = s.ground, Pose()
    for i in range(count):
        rod = s.add(mse.RigidBody(f"rod{i}", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3), at=Pose.dz(i + 0.5)))
        joint = s.add(mse.Revolute(f"joint{i}", axis=(0, 1, 0), stiffness=stiffness))
        s.clamp(seat, joint.frame(1), at)
        s.clamp(rod.frame(0), joint.frame(0), Pose.dz(-0.5))
        seat, at = rod.frame(0), Pose.dz(0.5)
    bend = np.eye(count) - np.eye(count, k=-1)
    k = stiffness * bend.T @ bend - np.diag(G * (count - 0.5 - np.arange(count)))
    return s, int(np.count_nonzero(np.linalg.eigvalsh(k) < 0.0))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "stiffness"), [(50, 30.0), (51, 30.0), (55, 30.0), (55, 1000.0), (100, 300.0)])
def test_all_that_falls_is_counted(count, stiffness):
    system, falling = upright(count, stiffness)
    wp = system.find_working_point(seek="nearest")
    assert len(wp.unstable) == falling > 0 and not wp.free and not wp.stable


@pytest.mark.slow
@pytest.mark.parametrize("bodies", [2, 3, 10, 60])
@pytest.mark.parametrize("ground", [False, True])
def test_unloaded_mechanisms_rest_where_they_are(bodies, ground):
    """Hinges with springs that are at rest but for rounding, and no gravity: nothing to balance, nor to say against it."""
    rng = np.random.default_rng(bodies)
    s = mse.MSystem("floating", gravity=(0, 0, 0))
    at, last = Pose(), None
    for i in range(bodies):
        body = s.add(mse.RigidBody(f"body{i}", mass=1.0, inertia=0.05, at=at))
        if last is None and ground:
            s.clamp(s.ground, body.frame(0))
        if last is not None:
            middle = Pose(0.5 * (at.o + last.at.o), Pose.rotation(rng.uniform(-2, 2, 3)).U)
            hinge = s.add(mse.Revolute(f"hinge{i}", stiffness=10.0))
            s.clamp(last.frame(0), hinge.frame(1), middle.seen_from(last.at))
            s.clamp(body.frame(0), hinge.frame(0), middle.seen_from(at))
        last, at = body, at.moved(rng.uniform(-0.5, 0.5, 3), rng.uniform(-1, 1, 3))
    wp = s.find_working_point()
    assert wp.stable and len(wp.free) == (0 if ground else 6)
    modes = wp.linearize().modes()
    assert np.count_nonzero(modes.free) == (0 if ground else 6) and not modes.unstable.any()


def net(seed: int, size: tuple[int, int], kinds: tuple[type, ...]) -> mse.MSystem:
    """Rods between knots on a grid, held at its corners, almost taut: reactions are thousands of times the weights."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("net", gravity=(0, 0, -G))
    knots = {}
    for i in range(size[0] + 1):
        for j in range(size[1] + 1):
            sag = 0.3 * np.sin(np.pi * i / size[0]) * np.sin(np.pi * j / size[1]) * min(size)
            p = Pose((0.9 * i, 0.9 * j, 0.05 * rng.standard_normal() - sag))
            knots[i, j] = s.add(mse.RigidBody(f"knot{i}_{j}", mass=rng.uniform(0.1, 0.4), inertia=0.01, at=p))
            if i in (0, size[0]) and j in (0, size[1]):
                corner = s.add(mse.Spherical(f"corner{i}_{j}"))
                s.clamp(s.ground, corner.frame(1), p)
                s.clamp(knots[i, j].frame(0), corner.frame(0))
    for (i, j), first in knots.items():
        for second in (knots.get((i + 1, j)), knots.get((i, j + 1))):
            if second is None:
                continue
            span = second.at.o - first.at.o
            length, mass = np.linalg.norm(span), rng.uniform(0.5, 2)
            x = span / length
            y = np.cross(rng.standard_normal(3), x)
            y /= np.linalg.norm(y)
            at = Pose(0.5 * (first.at.o + second.at.o), np.column_stack([x, y, np.cross(x, y)]))
            across = mass * length**2 / 12
            rod = s.add(
                mse.RigidBody(f"rod{i}_{j}{second.name}", mass=mass, inertia=(1e-4 * mass, across, across), at=at)
            )
            for knot, side in ((first, -0.5), (second, 0.5)):
                kind = kinds[int(rng.integers(len(kinds)))]
                axes = {"axis": (0.0, 1.0, 0.0), "second": (0.0, 0.0, 1.0)} if kind is mse.Universal else {}
                joint = s.add(kind(f"joint_{rod.name}_{knot.name}", **axes))
                order = (0, 1) if rng.random() < 0.5 else (1, 0)
                s.clamp(knot.frame(0), joint.frame(order[0]), Pose(U=at.U))
                s.clamp(rod.frame(0), joint.frame(order[1]), Pose.dx(side * length))
    return s


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "size"), [(0, (1, 1)), (1, (2, 2)), (3, (2, 3)), (4, (2, 3)), (1, (3, 3)), (0, (4, 5))]
)
def test_nets_of_balls_have_as_many_modes_at_zero_as_free_motions(seed, size):
    """Each rod spins about itself; so does each knot that no corner holds, about three axes, as do those at corners."""
    wp = net(seed, size, (mse.Spherical,)).find_working_point()
    knots, rods = (size[0] + 1) * (size[1] + 1), 2 * size[0] * size[1] + size[0] + size[1]
    assert wp.stable and len(wp.free) >= 3 * knots + rods
    assert np.abs(wp.relative_residual).max() < 1e-11
    modes = wp.linearize().modes()
    assert np.count_nonzero(modes.free) == len(wp.free) and not modes.unstable.any()


@pytest.mark.parametrize("seed", range(6))
def test_what_turns_together_is_at_zero_too(seed):
    """Four rods and four knots, joined by balls and universal joints: modes and working point agree on what is free."""
    wp = net(seed, (1, 1), (mse.Spherical, mse.Universal)).find_working_point()
    modes = wp.linearize().modes()
    assert np.count_nonzero(modes.free) == len(wp.free) >= 9 and not modes.unstable.any()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "size"), [(0, (2, 2)), (3, (2, 2)), (0, (3, 3)), (2, (3, 3)), (3, (3, 3))])
def test_shared_spins_are_at_zero_beside_large_reactions(seed, size):
    """Rounding of reactions of thousands of times the weights bends K by more than that of its terms."""
    wp = net(seed, size, (mse.Spherical, mse.Universal)).find_working_point()
    model = wp.linearize()
    for modes in (model.modes(), model.modes(5)):
        assert np.count_nonzero(modes.free) == len(wp.free) and not modes.unstable.any()
        assert modes.frequencies_hz[len(wp.free) :].min() > 0.5


@pytest.mark.slow
def test_a_net_almost_taut_rests_to_rounding():
    """Reactions of thousands of times the weights: what their rounding does to energies must not stop the search."""
    wp = net(0, (4, 4), (mse.Spherical, mse.Universal)).find_working_point()
    assert wp.stable
    assert np.abs(wp.relative_residual).max() < 1e-9
    assert np.abs(wp.multipliers).max() > 500
    # of twenty nets measured each rejects at most two steps, half of them one of 13
    assert np.mean([not step.accepted for step in wp.history]) <= 0.16


def cart(rods: int) -> mse.MSystem:
    """A cart on a rail that carries rods on balls, each free to spin; beside them one body stands on its head."""
    s = mse.MSystem("cart", gravity=(0, 0, -G))
    body, rail = s.add(mse.RigidBody("cart", mass=1.0, inertia=0.1)), s.add(mse.Prismatic("rail", axis=(1, 0, 0)))
    s.clamp(s.ground, rail.frame(1))
    s.clamp(body.frame(0), rail.frame(0))
    seat, at = body.frame(0), Pose()
    for i in range(rods):
        rod = s.add(mse.RigidBody(f"rod{i}", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3), at=Pose.dz(-i - 0.5)))
        joint = s.add(mse.Spherical(f"joint{i}"))
        s.clamp(seat, joint.frame(1), at)
        s.clamp(rod.frame(0), joint.frame(0), Pose.dz(0.5))
        seat, at = rod.frame(0), Pose.dz(-0.5)
    head = s.add(mse.RigidBody("head", mass=1.0, inertia=0.1, at=Pose.dxdydz(5, 0, 1)))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    s.clamp(s.ground, hinge.frame(1), Pose.dx(5))
    s.clamp(head.frame(0), hinge.frame(0), Pose.dz(-1.0))
    return s


@pytest.mark.parametrize("rods", [48, 49, 60])
def test_what_has_no_stiffness_at_all_is_free(rods):
    wp = cart(rods).find_working_point(seek="nearest")
    assert len(wp.free) == rods + 1 and len(wp.unstable) == 1
    assert np.count_nonzero(wp.linearize().modes(8).free) == rods + 1


def test_constraints_do_not_cancel_what_is_taken_off():
    """``-1`` on a space without one coordinate has five negative eigenvalues, though a row as stiff as that would cancel it."""
    one = sp.eye(6, format="csc")
    for share in (1e-12, 1.0, 1e12):
        assert ConstrainedFactor((-share * one).tocsc(), sp.csr_matrix(np.eye(6)[:1])).negative == 5
        assert ConstrainedFactor((share * one).tocsc(), sp.csr_matrix(np.eye(6)[:1])).negative == 0


@pytest.mark.parametrize("most", [10_000, 0])
@pytest.mark.parametrize("blind", ["search", "factor", "memory"])
def test_what_no_search_finds_is_found_densely(monkeypatch, caplog, most, blind):
    """Where Lanczos finds fewer than the factor counts, that does not count, or vectors would be too many; or a warning.

    If vectors would be too many and there is no room for dense matrices, those that fall are found all the same.
    """
    if blind == "search":
        find = Lanczos.find
        monkeypatch.setattr(Lanczos, "find", lambda *given: tuple(a[..., :0] for a in find(*given)))
    elif blind == "memory":
        monkeypatch.setattr(SIZES, "motions_sought", 0.0)
    else:
        without_counts(monkeypatch, ConstrainedFactor)
    monkeypatch.setattr(SIZES, "dense_eigenpairs", most)
    wp = cart(60).find_working_point(seek="nearest")
    # spins of single rods are known before; the cart on its rail is not
    answered = most or blind == "memory"
    assert len(wp.unstable) == (1 if answered else 0)
    assert len(wp.free) == (61 if most else 60) or not most
    assert ("stability could not be decided" in caplog.text) == (not answered)
