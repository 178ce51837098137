"""Large systems begin and are judged by sparse matrices, with the results of dense ones."""

import numpy as np
import pytest

import mse
from mse.dynamics import methods
from mse.dynamics.accelerations import Equations
from mse.dynamics.fast_motions import FastMotions, by_sparse_matrices
from mse.dynamics.jacobian import Jacobian
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared
from mse.numerics.options import SIZES

LINKS = 60  # 360 coordinates, more than dense matrices are for


def chain(*, stiffness=0.0, damping=0.0, closed=False, inertia=0.001):
    """Links on hinges; the last one may be hung up, too, in a slide along x."""
    system, above = mse.MSystem("chain", gravity=(0, 0, -9.81)), None
    for k in range(LINKS):
        ends = {"top": mse.Pose.dx(-0.05), "low": mse.Pose.dx(0.05)}
        at = mse.Pose.dx(0.05 + 0.1 * k)
        body = system.add(mse.RigidBody(f"link{k}", mass=1.0, inertia=inertia, at=at, frames=ends))
        hinge = mse.Revolute(f"hinge{k}", axis=(0, 1, 0), stiffness=stiffness, damping=damping)
        system.add(hinge, between=(body.frame("top"), system.ground if above is None else above.frame("low")))
        above = body
    if closed:
        end = mse.Joint("end", free=("x", "ay"))
        system.add(end, between=(above.frame("low"), system.ground @ mse.Pose.dx(0.1 * LINKS)))
    return system


@pytest.mark.parametrize("closed", [False, True])
def test_large_systems_begin_where_dense_matrices_say(closed, monkeypatch):
    system = chain(closed=closed)
    initial = {"hinge0.angle": 0.9, "hinge7.angle": -0.4, "hinge3.angle'": 2.0, "hinge20.angle'": -1.0}
    run = {"duration": 1e-3, "dt": 1e-3, "initial": initial, "rtol": 1e-6, "progress": False}
    motion = system.simulate(**run)
    monkeypatch.setattr(SIZES, "dense", 10**6)
    dense = system.simulate(**run)
    assert motion.method == dense.method == "explicit"
    np.testing.assert_allclose(motion.values, dense.values, atol=1e-9)
    assert [motion[name][0] for name in initial] == pytest.approx(list(initial.values()), abs=1e-9)
    some = motion.at(0.0).reactions
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
    (found,) = by_sparse_matrices(equations, here, v)
    dense = FastMotions(equations, here, v, Jacobian(equations, here, v)).fastest()
    if dense is None:
        assert found is None
        return
    assert found.rate == pytest.approx(dense.rate, rel=1e-2)
    assert (found.decays, found.owner[:5]) == (dense.decays, dense.owner[:5])


def test_what_has_no_mass_is_left_to_dense_matrices():
    system = chain(inertia=0.0)
    bob = system.add(mse.RigidBody("bob", mass=1.0, at=mse.Pose.dx(7.0)))
    system.add(mse.Bushing("spring", stiffness=10.0), between=(bob, system["link59"].frame("low")))
    equations, here = about_rest(system)
    assert by_sparse_matrices(equations, here, np.zeros(equations.size)) is None


def test_a_large_system_with_fast_decays_goes_by_implicit_steps():
    system = chain(damping=1e6)
    equations, here = about_rest(system)
    method, why = methods.chosen(equations, here, np.zeros(equations.size), 1.0, 1e-9)
    assert method == "implicit" and "damps" in why
