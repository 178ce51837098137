"""Stability of working points where forces have no energy, or spins hold what would fall, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

import mse
from models import pushed_rail
from mse import Pose
from mse.analysis.modes import growth, large_damped
from mse.elements.parameters import Real
from mse.numerics.options import SIZES
from mse.statics.stability import GrowingMotion


def rail(gain: float, drag: float = 0.0, **more) -> mse.WorkingPoint:
    return pushed_rail(gain, drag).find_working_point(**more)


def growth_of(gain: float) -> complex:
    """The growing root of ``2 s^4 + 250 s^2 + 5000 + 50 kp``."""
    s = np.roots([2.0, 0.0, 250.0, 0.0, 5000.0 + 50.0 * gain])
    return complex(s[np.argmax(s.real + 1e-9 * s.imag)])


@pytest.mark.rounding
@pytest.mark.parametrize("gain", [0.0, 20.0, 56.0, 56.249999])
def test_masses_pushed_aside_stand_up_to_where_their_frequencies_meet(gain):
    wp = rail(gain)
    assert wp.stable and not wp.unstable and not wp.undetermined and not wp.undecided
    assert "stable" in str(wp) and "UNSTABLE" not in str(wp)


@pytest.mark.rounding
def test_where_they_meet_it_is_not_determined():
    wp = rail(56.25)
    assert wp.stable and not wp.unstable
    (motion,) = wp.undetermined
    np.testing.assert_allclose(motion.eigenvalue, 1j * np.sqrt(62.5), rtol=1e-9, atol=1e-9)
    assert abs(motion.growth) < 1e-9 < motion.uncertainty < 1e-5
    assert "Stability not known at this precision" in str(wp) and f"{motion.uncertainty:.1e} 1/s" in str(wp)


@pytest.mark.rounding
@pytest.mark.parametrize("gain", [56.2501, 57.0, 80.0])
def test_beyond_they_flutter(gain):
    wp = rail(gain)
    assert not wp.stable
    (motion,) = wp.unstable
    assert isinstance(motion, GrowingMotion)
    expected = growth_of(gain)
    assert motion.growth == pytest.approx(expected.real, rel=1e-6)
    assert motion.frequency_hz == pytest.approx(abs(expected.imag) / (2 * np.pi), rel=1e-9)
    # 50 x1 = (50 + s^2) x2, in x of the two
    ratio = motion.vector[0] / motion.vector[6]
    np.testing.assert_allclose(ratio, (50.0 + motion.eigenvalue**2) / 50.0, rtol=1e-6)
    assert "UNSTABLE" in str(wp) and f"grows by {motion.growth:.6g} 1/s at" in str(wp)
    assert f"grows by {motion.growth:.6g}" in motion.table().text()


def test_a_push_that_overcomes_the_springs_diverges():
    """``det K = 5000 + 50 kp`` vanishes at kp = -100 N/m."""
    assert rail(-99.0).stable
    wp = rail(-101.0)
    (motion,) = wp.unstable
    assert motion.frequency_hz == 0.0 and np.isrealobj(motion.vector)
    assert motion.growth == pytest.approx(growth_of(-101.0).real, rel=1e-9)
    assert "Hz" not in motion.told
    # the symmetric half of K would give way from kp = -2 (50 + sqrt(7500)) on only, and from there on the other side, too
    assert abs(motion.vector[0]) > 0.1 and abs(motion.vector[6]) > 0.1


def test_where_the_springs_alone_are_overcome_nothing_is_free():
    wp = rail(-100.0)
    (free,) = wp.free
    np.testing.assert_allclose(free.vector[[0, 6]], [1.0, 1.0], rtol=1e-9)  # K [1, 1] = [0, 0]
    assert not wp.unstable


@pytest.mark.parametrize("gain", [56.0, 80.0])
def test_enough_drag_ends_flutter(gain):
    assert rail(gain, drag=8.0).stable
    assert rail(80.0, drag=0.1).stable is False


def test_updates_and_changes_of_load_know_of_it():
    wp = rail(20.0)
    assert not wp.update({"control.gain": 60.0}).stable
    assert wp.update({"control.gain": 60.0}).update({"control.gain": 10.0}).stable


def test_pages_draw_motions_that_flutter(tmp_path):
    rail(60.0).to_html(tmp_path / "page.html")
    assert "1 motion that grows" in (tmp_path / "page.html").read_text()


class Spin(mse.MObject):
    momentum: Real = Real("along z of the frame", unit="N m s")
    frame_names = ("0",)

    def damping_matrix(self, frames, q):
        out = np.zeros((6, 6))
        out[3, 4], out[4, 3] = self.momentum, -self.momentum
        return out


def top(momentum: float) -> mse.MSystem:
    """A disc that would fall with a stiffness of -100 N m."""
    s = mse.MSystem("top", gravity=(0, 0, 0))
    disc = s.add(mse.RigidBody("disc", mass=1.0, inertia=(0.01, 0.01, 0.02)))

    class Falling(mse.MObject):
        def energy(self, frames, q):
            return 100.0 * (frames[0].U[:, 2] @ frames[1].U[:, 2]) + 50.0 * (frames[0].o @ frames[0].o)

    s.add(Falling("field"), between=(disc, s.ground))
    s.add(Spin("spin", momentum=momentum), between=(disc,))
    return s


@pytest.mark.parametrize(("momentum", "stands"), [(0.0, False), (1.9, False), (2.1, True)])
def test_a_top_stands_while_it_spins_fast_enough(momentum, stands):
    """``H^2 > 4 I k`` for a top of inertia I that would fall with stiffness -k: here 4 x 0.01 x 100 = 4 (N m s)2."""
    wp = top(momentum).find_working_point(seek="nearest")
    assert wp.stable == stands
    assert wp.linearize().growth.unstable == () if stands else len(wp.linearize().growth.unstable) == len(wp.unstable)
    assert len(wp.unstable) == (0 if stands else 2 if momentum == 0.0 else 1)
    assert np.all(np.linalg.eigvalsh(wp.stiffness.toarray())[:2] < -99.0)


def test_a_search_asks_the_stiffness_alone_whether_its_start_is_held(monkeypatch):
    system = top(2.1)
    start = system.find_working_point(seek="nearest")
    assert start.stable and not start.held
    again = system.find_working_point(seek="nearest")
    monkeypatch.setattr(growth, "growth", None)  # no eigenvalues
    assert system.find_working_point(start=again, throw=False).energy < start.energy - 1.0


def test_models_with_an_energy_are_not_asked_for_eigenvalues(monkeypatch):
    monkeypatch.setattr("mse.analysis.modes.growth.modes", None)
    s = mse.MSystem("stage", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    s.add(mse.Bushing("seat", stiffness=1e3, damping=1.0), between=(mass, s.ground))
    assert s.find_working_point().stable
    # nor are those whose forces without an energy leave the stiffness symmetric
    s.add(Spin("spin", momentum=1.0), between=(mass,))
    assert s.find_working_point().stable
    with pytest.raises(TypeError):
        _ = rail(10.0).stable


# -- large models ---------------------------------------------------------------------------------------------------
def row(load: float) -> mse.MSystem:
    """Bodies in a row, each on a seat of its own, with a load at the end that turns with the last."""
    s = mse.MSystem("row", gravity=(0, 0, 0))
    above = s.ground
    for k in range(12):
        body = s.add(mse.RigidBody(f"b{k}", mass=1.0, inertia=0.1, at=Pose.dx(k + 1.0)))
        link = s.add(mse.Bushing(f"link {k}", stiffness=(1e4,) * 3 + (800.0, 1e3, 1300.0)))
        seat = s.add(mse.Bushing(f"seat {k}", stiffness=(10.0 + k % 7, 14.0, 17.0, 1.0, 2.0, 3.0)))
        s.clamp(above, link.frame(1), Pose.dx(0.5))
        s.clamp(body.frame(0), link.frame(0), Pose.dx(-0.5))
        s.clamp(body.frame(0), seat.frame(0))
        s.clamp(s.ground, seat.frame(1), Pose.dx(k + 1.0))
        above = body.frame(0)
    s.clamp(above, s.add(mse.Load("tip", force=(-load, 0, 0), axes="frame")).frame(0))
    return s


@pytest.mark.rounding
@pytest.mark.parametrize("load", [1.0, 40.0, 400.0])
def test_large_models_are_judged_by_their_lowest_modes_and_a_bound_on_others(load, monkeypatch):
    wp, other = (row(load).find_working_point() for _ in range(2))
    assert wp.judged
    grows = wp.unstable
    monkeypatch.setattr(SIZES, "dense_modes", 20)
    assert not other.judged and "stability not asked for" in str(other)
    found = other.unstable
    assert other.judged
    assert bool(found) == bool(grows) == (load == 400.0)
    if grows:
        for motion in found:
            assert min(abs(motion.eigenvalue - m.eigenvalue) for m in grows) < 1e-6 * abs(motion.eigenvalue)
        assert not other.stable
        return
    # nothing above grows faster than the bound says, which is one of all eigenvalues
    said = other.beyond or other.undecided
    bound = float(said.split("at most ")[1].split()[0])
    dense = other.linearize().modes(count=72, damped=True)
    assert dense.eigenvalues.real.max() < bound
    assert other.stable == (not other.undecided)
    assert said in str(other)


@pytest.mark.parametrize("ended", [1, 2])
def test_where_modes_are_too_crowded_the_verdict_says_what_was_looked_at(ended, monkeypatch):
    search, calls = large_damped.eigs, []

    def ends(operator, k, **options):
        calls.append(options["maxiter"])
        # of the second search for modes, which are twice as many, none is found
        if ended == 1 or k > 60:
            raise ArpackNoConvergence("", np.zeros(0), np.zeros((operator.shape[0], 0)))
        return search(operator, k, **options)

    monkeypatch.setattr(SIZES, "dense_modes", 20)
    monkeypatch.setattr(growth, "_SLIGHT", 0.0)
    monkeypatch.setattr(large_damped, "eigs", ends)
    wp = row(1.0).find_working_point()
    assert not wp.stable and not wp.unstable and not wp.beyond
    assert set(calls) == {growth._RESTARTS}
    assert "have converged after" in wp.undecided and "modes(count, damped=True)" in wp.undecided
    assert ("no motion is known to be stable" in wp.undecided) == (ended == 1)
    assert ("is known to grow, others grow by at most" in wp.undecided) == (ended == 2)
    assert wp.undecided in str(wp)


def test_a_largest_push_that_is_not_found_is_no_bound(monkeypatch):
    def never(operator, **options):
        assert options["maxiter"] == growth._RESTARTS
        raise ArpackNoConvergence("", np.zeros(0), np.zeros((operator.shape[0], 0)))

    monkeypatch.setattr(SIZES, "dense_modes", 20)
    monkeypatch.setattr(growth, "eigs", never)
    wp = row(1.0).find_working_point()
    assert not wp.stable and not wp.unstable and wp.undecided


@pytest.mark.parametrize("spun", [False, True])
def test_what_has_no_spins_is_judged_by_its_stiffness_alone(spun, monkeypatch):
    class Spun(mse.MObject):
        def damping_matrix(self, frames, q):
            return np.zeros((12, 12))

    monkeypatch.setattr(growth, "growth", None)  # no eigenvalues
    s = mse.MSystem("stood on end", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(1.0)))
    foot = s.add(mse.Revolute("foot", axis=(1, 0, 0)))
    s.clamp(body.frame(0), foot.frame(0), Pose.dz(-1.0))
    s.clamp(s.ground, foot.frame(1))
    if spun:
        s.add(Spun("wheel"), between=(body, s.ground))
    wp = s.find_working_point(seek="nearest")
    if spun:
        with pytest.raises(TypeError, match="NoneType"):
            _ = wp.unstable
    else:
        assert len(wp.unstable) == 1 and not wp.stable
