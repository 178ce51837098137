"""Steps of large systems by sparse matrices, with the results of dense ones."""

import numpy as np
import pytest

import mse
from mse import Pose
from mse.dynamics.accelerations import Equations
from mse.dynamics.charts import displaced
from mse.dynamics.jacobian import Jacobian
from mse.dynamics.sparse_jacobian import SparseJacobian, goes_by_sparse_matrices
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared
from mse.numerics.options import SIZES

BEAMS, LENGTH = 5, 0.2


def swing(ends=0, driven=False):
    """Beams in a row on damped hinges, with a body at their lower end, which so many equal joints lead along the ground."""
    system, above = mse.MSystem("swing", gravity=(0, 0, -9.81)), None
    for k in range(BEAMS):
        beam = system.add(mse.RoundBeam(f"beam{k}", length=LENGTH, radius=2e-3, elements=2, at=Pose.dx(LENGTH * k)))
        by = {"motor": "position"} if driven and above is None else {"damping": 0.01, "stiffness": 0.1}
        hinge = mse.Revolute(f"hinge{k}", axis=(0, 1, 0), **by)
        system.add(hinge, between=(beam.frame(0), system.ground if above is None else above.frame(1)))
        above = beam
    body = system.add(mse.RigidBody("body", mass=0.1, inertia=1e-4, at=Pose.dx(LENGTH * BEAMS)))
    system.clamp(body, above.frame(1))
    for k in range(ends):
        end = mse.Joint(f"end{k}", free=("x", "ay"))
        system.add(end, between=(body, system.ground @ Pose.dx(LENGTH * BEAMS)))
    return system


def about(system):
    """Equations of large systems, and the system near where its joints hold."""
    topology, assembly = prepared(system, None)
    own = Equations(topology, assembly)
    x = 1e-3 * np.random.default_rng(0).uniform(-1.0, 1.0, own.size)
    here = put_together(Evaluation.initial(assembly)).measured(own.measure)
    return own, put_together(own.evaluation(displaced(here.state, x)))


@pytest.fixture
def all_large(monkeypatch):
    monkeypatch.setattr(SIZES, "dense", 60)


@pytest.mark.parametrize("ends", [0, 1, 2])
@pytest.mark.parametrize("s", [300.0, 200.0 + 150.0j])
def test_unknowns_are_those_of_dense_matrices(ends, s, all_large):
    """Two equal joints may share their force in any way, so sums of reactions are compared."""
    own, here = about(swing(ends))
    v, a, r1, r2 = np.random.default_rng(1).uniform(-1.0, 1.0, (4, own.size))
    found = []
    for matrices in (Jacobian(own, here, v), SparseJacobian(own, here, v)):
        none, along, values = np.zeros(len(matrices.held)), matrices.rows.T, [matrices.pulled(r1)]
        for _ in range(2):
            x = matrices.solver(s)(r1, r2, none, none)
            values += [x.x, x.v, along @ x.velocity, along @ x.position]
            matrices.accelerate(a, x.velocity.real)
        found.append(values)
    for dense, sparse in zip(*found, strict=True):
        np.testing.assert_allclose(sparse, dense, atol=1e-9 * np.abs(dense).max(initial=0.0))


@pytest.mark.parametrize("ends", [0, 2])
def test_motions_are_those_of_dense_matrices(ends, monkeypatch):
    """Driven ones, with the works of dampers and of the drive."""
    system = swing(ends, driven=not ends)
    run = {"duration": 0.02, "dt": 0.01, "rtol": 1e-6, "progress": False}
    if not ends:
        run["inputs"] = {"hinge0.angle": lambda t: 50.0 * t**2}
    dense = system.simulate(**run)
    monkeypatch.setattr(SIZES, "dense", 60)
    sparse = system.simulate(**run)
    assert (dense.steps, dense._equations.sparse) == (sparse.steps, not sparse._equations.sparse)
    np.testing.assert_allclose(sparse.values, dense.values, atol=1e-9)


def test_what_has_no_mass_or_constrains_velocities_alone_goes_by_dense_matrices(all_large):
    assert goes_by_sparse_matrices(*about(swing()))
    light = swing()
    point = light.add(mse.RigidBody("point", mass=0.0, at=Pose.dx(2.0)))
    light.add(mse.Bushing("bushing", stiffness=(1.0,) * 6), between=(light["body"], point))
    assert not goes_by_sparse_matrices(*about(light))
    rolling = swing()
    rolling.add(mse.RollingSphere("ball", radius=0.1), between=(rolling["body"], rolling.ground @ Pose.dz(-0.1)))
    assert not goes_by_sparse_matrices(*about(rolling))
