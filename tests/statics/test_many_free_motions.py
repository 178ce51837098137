"""Thousands of bodies that spin freely: what is at zero is known without a search, and takes little memory."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import mse
from mse import Pose
from mse.linear.stiffness_parts import ListedParts
from mse.numerics.options import SIZES
from mse.statics import stability

pytestmark = pytest.mark.rounding


def net(n: int, inertia: float = 1e-6, arm: float = 0.0) -> mse.MSystem:
    """A square of bodies on taut springs to their neighbors and to a rim; springs end at an ``arm`` from the bodies' origins."""
    s = mse.MSystem("net", gravity=(0, 0, -9.81))
    seats = {}
    for i in range(-1, n + 1):
        for j in range(-1, n + 1):
            if 0 <= i < n and 0 <= j < n:
                body = s.add(mse.RigidBody(f"n{i}_{j}", mass=0.01, inertia=inertia, at=Pose((i, j, -arm))))
                seats[i, j] = body.frame(0), Pose.dz(arm)
            else:
                seats[i, j] = s.ground, Pose((i, j, 0))
    for i, j in [(i, j) for i in range(-1, n) for j in range(-1, n)]:
        for k, other in enumerate(((i + 1, j), (i, j + 1))):
            if (i, j)[1 - k] < 0:
                continue
            spring = s.add(mse.Spring(f"{'xy'[k]}{i}_{j}", length=0.9, stiffness=1e3))
            for number, (frame, at) in enumerate((seats[i, j], seats[other])):
                s.clamp(frame, spring.frame(number), at)
    return s


def membrane(n: int, count: int) -> np.ndarray:
    """Frequencies (Hz) across a flat net: ``w^2 = (T/m) (4 - 2 cos(p pi/(n + 1)) - 2 cos(q pi/(n + 1)))``."""
    c = 2.0 - 2.0 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
    return np.sort(np.sqrt(100.0 / 0.01 * (c + c[:, None]).ravel()))[:count] / (2 * np.pi)


def test_they_read_like_a_tuple():
    wp = net(5).find_working_point()
    free = wp.free
    assert len(free) == 75 and {m.name for m in free} == {
        f"n{i}_{j}.{axis}" for i in range(5) for j in range(5) for axis in ("ax", "ay", "az")
    }
    assert free[3] is free[3] and free[-1] is free[74] and free[3] in free
    assert free[2:4] == (free[2], free[3]) and free == free and free != free[:74] and free != ()
    assert repr(free) == f"({', '.join(map(repr, free[:12]))} ... and 63 more)"
    assert f"Free (zero stiffness): {', '.join(m.name for m in free[:12])} ... and 63 more" in repr(wp)
    assert [m.name for m in pickle.loads(pickle.dumps(free))] == [m.name for m in free]
    held = mse.MSystem("held", gravity=(0, 0, 0)).find_working_point().free
    assert held == () and repr(held) == "()"


def test_none_is_named_before_it_is_read(monkeypatch):
    named = []
    words = stability.in_words
    monkeypatch.setattr(stability, "in_words", lambda *given: (named.append(given), words(*given))[1])
    wp = net(12).find_working_point()
    assert len(wp.free) == 432 and not named
    repr(wp)
    assert len(named) == 12


@pytest.mark.slow
def test_their_memory_grows_with_the_bodies_not_with_their_square():
    used = []
    for n in (14, 28):
        system = net(n)
        tracemalloc.start()
        point = system.find_working_point()
        modes = point.linearize().modes(3)
        assert repr(point.free) and repr(modes) and len(point.free) == np.count_nonzero(modes.free) == 3 * n * n
        used.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert used[1] < 5.0 * used[0]


@pytest.mark.parametrize("dense", [0, 10_000])
@pytest.mark.parametrize("arm", [0.0, 0.05])
@pytest.mark.parametrize("damped", [False, True])
def test_as_many_modes_as_asked_for_come_beside_those_at_zero(monkeypatch, dense, arm, damped):
    """On each path: spins about the origin, and about a point beside it, whose vectors have several entries."""
    model = net(5, arm=arm).find_working_point().linearize()
    if damped:
        model = replace(model, dampings=ListedParts.of([(("s", "damping"), 1e-6 * model.full_stiffness)], model.size))
    monkeypatch.setattr(SIZES, "dense_modes", dense)
    found = model.modes(4, damped=damped)
    spins = 25 if arm else 75
    at_zero = spins * (2 if damped else 1)
    assert np.count_nonzero(found.free) == at_zero and len(found) == at_zero + 4 and not found.complete
    assert f"note: the 4 lowest modes beside {at_zero} at zero; modes(count=8) gives more" in repr(found)
    assert repr(found).splitlines()[3].split() == [
        "0",
        "to",
        f"{at_zero - 1}",
        "0",
        "free",
        *repr(found).splitlines()[3].split()[5:],
    ]
    if not arm:
        np.testing.assert_allclose(found.frequencies_hz[at_zero:], membrane(5, 4), rtol=2e-3)  # it sags a little
    shapes, moved = found.shapes, found.shapes.conj().T @ (model.M @ found.shapes)
    np.testing.assert_allclose(np.diag(moved), 1.0, rtol=1e-9)
    np.testing.assert_allclose(found.energies.sum(axis=0), 1.0, rtol=1e-9)
    if not damped:
        np.testing.assert_allclose(moved, np.eye(len(found)), atol=1e-8)
    for k in (0, at_zero - 1, at_zero, len(found) - 1):
        np.testing.assert_array_equal(found[k].vector, shapes[:, k])
    np.testing.assert_array_equal(found["n1_2.x"], shapes[found.coordinates.index("n1_2.x")])


@pytest.mark.parametrize("damped", [False, True])
def test_spins_without_inertia_are_no_modes_and_in_the_way_of_none(monkeypatch, damped):
    found = []
    for inertia, dense in ((1e-6, 10_000), (0.0, 10_000), (0.0, 0)):
        model = net(4, inertia).find_working_point().linearize()
        if damped:
            model = replace(
                model, dampings=ListedParts.of([(("s", "damping"), 1e-6 * model.full_stiffness)], model.size)
            )
        monkeypatch.setattr(SIZES, "dense_modes", dense)
        modes = model.modes(6, damped=damped)
        assert np.count_nonzero(modes.free) == (0 if not inertia else 96 if damped else 48)
        found.append(modes.eigenvalues[~modes.free])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-8)


def test_shapes_beyond_memory_are_refused_and_read_one_by_one(monkeypatch):
    from mse.analysis import resources

    modes = net(5).find_working_point().linearize()
    monkeypatch.setattr(SIZES, "dense_modes", 0)
    modes = modes.modes(2)
    monkeypatch.setattr(resources, "free_memory", lambda: 1e4)
    monkeypatch.setattr(resources, "ALWAYS_FREE", 1e4)
    with pytest.raises(mse.ModelError, match=r"shapes of 77 modes of 150 coordinates .* modes\[k\].vector"):
        _ = modes.shapes
    assert np.abs(modes[76].vector).max() > 0.0
