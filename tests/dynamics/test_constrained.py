"""What has no mass, and large systems by sparse matrices, with the results of dense ones."""

import numpy as np
import pytest

import mse
from mse import ModelError, Pose
from mse.dynamics import constrained, methods
from mse.dynamics.accelerations import Equations
from mse.dynamics.fast_motions import FastMotions, by_sparse_matrices
from mse.dynamics.jacobian import Jacobian
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared
from mse.numerics.options import SIZES

LINKS = 60  # 360 coordinates, more than dense matrices are for


def equations_of(system):
    topology, assembly = prepared(system, None)
    return Equations(topology, assembly), Evaluation.initial(assembly)


def point_on_rod():
    """A point of 2 kg without inertia hangs on a rod of 0.5 m; 0.1 m from it is a frame, its hook."""
    system = mse.MSystem("swing", gravity=(0, 0, -9.81))
    point = system.add(mse.RigidBody("point", mass=2.0, at=Pose.dz(-0.5), frames={"hook": Pose.dx(0.1)}))
    system.add(mse.Rod("rod", length=0.5), between=(system.ground, point))
    return system


def test_what_carries_no_mass_and_no_force_stays_at_rest():
    own, here = equations_of(point_on_rod())
    v = np.array([1.5, 0, 0, 0, 0, 0])
    a, terms = own.accelerations(here, v, 0.0)
    np.testing.assert_allclose(a, [0, 0, 1.5**2 / 0.5, 0, 0, 0], atol=1e-13)
    assert own.massless
    (pull,) = own.multipliers(here, terms.mass @ a - terms.force)
    assert abs(pull) == pytest.approx(2.0 * (9.81 + 1.5**2 / 0.5))


def test_a_force_on_what_has_no_mass_is_refused_by_name():
    system = point_on_rod()
    system.add(mse.Load("push", force=(0, 1, 0)), between=(system["point"].frame("hook"),))
    own, here = equations_of(system)
    with pytest.raises(ModelError, match=r"acts on point\.a[xyz], which has no mass or inertia; expected"):
        own.accelerations(here, np.zeros(6), 0.0)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_what_counts_as_no_force_has_a_margin(monkeypatch, factor):
    monkeypatch.setattr(constrained, "_NO_FORCE", factor * constrained._NO_FORCE)
    test_what_carries_no_mass_and_no_force_stays_at_rest()
    test_a_force_on_what_has_no_mass_is_refused_by_name()


def chain(*, stiffness=0.0, damping=0.0, closed=False, inertia=0.001):
    """Links on hinges; the last one may be hung up, too, in a slide along x."""
    system, above = mse.MSystem("chain", gravity=(0, 0, -9.81)), None
    for k in range(LINKS):
        ends = {"top": Pose.dx(-0.05), "low": Pose.dx(0.05)}
        at = Pose.dx(0.05 + 0.1 * k)
        body = system.add(mse.RigidBody(f"link{k}", mass=1.0, inertia=inertia, at=at, frames=ends))
        hinge = mse.Revolute(f"hinge{k}", axis=(0, 1, 0), stiffness=stiffness, damping=damping)
        system.add(hinge, between=(body.frame("top"), system.ground if above is None else above.frame("low")))
        above = body
    if closed:
        end = mse.Joint("end", free=("x", "ay"))
        system.add(end, between=(above.frame("low"), system.ground @ Pose.dx(0.1 * LINKS)))
    return system


@pytest.mark.parametrize("closed", [False, True])
def test_large_systems_begin_where_dense_matrices_say(closed, monkeypatch):
    system = chain(closed=closed)
    initial = {"hinge0.angle": 0.9, "hinge7.angle": -0.4, "hinge3.angle'": 2.0, "hinge20.angle'": -1.0}
    run = {"duration": 1e-3, "dt": 1e-3, "initial": initial, "rtol": 1e-6, "progress": False}
    motion = system.simulate(**run)
    some = motion.at(0.0).reactions
    monkeypatch.setattr(SIZES, "dense", 10**6)
    dense = system.simulate(**run)
    assert motion.method == dense.method == "explicit"
    np.testing.assert_allclose(motion.values, dense.values, atol=1e-9)
    assert [motion[name][0] for name in initial] == pytest.approx(list(initial.values()), abs=1e-9)
    for name, own in dense.at(0.0).reactions.items():
        np.testing.assert_allclose(some[name], own, atol=1e-6)


def about_rest(system):
    topology, assembly = prepared(system, None)
    equations = Equations(topology, assembly)
    return equations, put_together(Evaluation.initial(assembly)).measured(equations.measure)


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 0.0), (1e2, 50.0), (0.0, 0.0)])
def test_the_fastest_motion_is_that_of_dense_matrices(stiffness, damping):
    equations, here = about_rest(chain(stiffness=stiffness, damping=damping))
    v = np.zeros(equations.size)
    found = by_sparse_matrices(equations, here, v).fastest
    dense = FastMotions(equations, here, v, Jacobian(equations, here, v)).fastest()
    if dense is None:
        assert found is None
        return
    assert found.rate == pytest.approx(dense.rate, rel=1e-2)
    assert (found.decays, found.owner[:5]) == (dense.decays, dense.owner[:5])


@pytest.mark.parametrize("held", [False, True])
def test_the_fastest_of_a_single_motion_is_right_and_of_none_is_none(held):
    """Bodies welded to one that turns on a hinge with a spring, ``w^2 = k / J``; or held at their other end."""
    system, last = mse.MSystem("arm", gravity=(0, 0, 0)), None
    for k in range(LINKS):
        body = system.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=0.1, at=Pose.dx(0.1 * k)))
        if last is None:
            system.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=5.0), between=(body, system.ground))
        else:
            system.add(mse.Fixed(f"weld{k}"), between=(body, last @ Pose.dx(0.1)))
        last = body
    if held:
        system.add(mse.Fixed("end"), between=(last, system.ground @ Pose.dx(0.1 * (LINKS - 1))))
    equations, here = about_rest(system)
    found = by_sparse_matrices(equations, here, np.zeros(equations.size)).fastest
    inertia = LINKS * 0.1 + np.sum((0.1 * np.arange(LINKS)) ** 2)
    right = 0.0 if held else np.sqrt(5.0 / inertia)
    assert (found.rate if found else 0.0) == pytest.approx(right, rel=1e-6, abs=1e-9)


def test_what_has_no_mass_is_left_to_dense_matrices():
    system = chain(inertia=0.0)
    bob = system.add(mse.RigidBody("bob", mass=1.0, at=Pose.dx(7.0)))
    system.add(mse.Bushing("spring", stiffness=10.0), between=(bob, system["link59"].frame("low")))
    equations, here = about_rest(system)
    assert by_sparse_matrices(equations, here, np.zeros(equations.size)) is None


def test_a_large_system_with_fast_decays_goes_by_implicit_steps():
    system = chain(damping=1e6)
    equations, here = about_rest(system)
    method, why = methods.chosen(equations, here, np.zeros(equations.size), 1.0, 1e-9)
    assert method == "implicit" and "damps" in why


def test_given_rates_of_many_points_on_rods_are_there():
    """Rows of rates act on turns without inertia, which hinges alone hold: the lower points stay where they are."""
    system, initial = mse.MSystem("many", gravity=(0, 0, -9.81)), {}
    for k in range(30):
        frames = [{"top": Pose.dz(1.0)}, {"top": Pose.dz(0.7)}]
        upper = system.add(mse.RigidBody(f"upper{k}", mass=1.5, at=Pose.dz(-1.0), frames=frames[0]))
        lower = system.add(mse.RigidBody(f"lower{k}", mass=0.9, at=Pose.dz(-1.7), frames=frames[1]))
        system.add(mse.Revolute(f"one{k}", axis=(0, -1, 0)), between=(upper.frame("top"), system.ground))
        system.add(mse.Revolute(f"two{k}", axis=(0, -1, 0)), between=(lower.frame("top"), upper))
        initial[f"one{k}.angle'"] = 1.0 + k
    found = system.simulate(duration=1e-3, dt=1e-3, rtol=1e-4, initial=initial, progress=False)
    rates = np.array(list(initial.values()))
    np.testing.assert_allclose([found[f"one{k}.angle'"][0] for k in range(30)], rates, rtol=1e-13)
    np.testing.assert_allclose([found[f"two{k}.angle'"][0] for k in range(30)], -rates * (1.0 + 1.0 / 0.7), rtol=1e-13)
