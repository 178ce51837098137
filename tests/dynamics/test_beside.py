"""States beside each other: what elements exert in one of them does not depend on the others."""

import numpy as np
import pytest

import mse
from example_scripts import example
from mse.dynamics.accelerations import Equations
from mse.dynamics.charts import displaced
from mse.model.evaluation import Evaluation
from mse.model.variants import prepared
from test_implicit import cantilever
from test_whole import speaker


def hung():
    """A body on a wire and a damped bushing; a hinge and a pivot without charges."""
    system = mse.MSystem("hung", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=(0.01, 0.02, 0.03)))
    other = system.add(mse.RigidBody("other", mass=1.0, inertia=0.01))
    system.add(mse.Bushing("mount", stiffness=300.0, damping=0.2), between=(system.ground, body))
    system.add(mse.Revolute("hinge", stiffness=3.0, damping=0.1), between=(body, other))
    return system


def lever():
    system = mse.MSystem("lever")
    system.add(example("lagrangian_daes").Lever("it"))
    return system


@pytest.mark.parametrize("build", [speaker, hung, lambda: cantilever(0.3), pytest.param(lever, marks=pytest.mark.slow)])
def test_three_states_pull_as_each_of_them(build):
    topology, assembly = prepared(build(), None)
    own, rng = Equations(topology, assembly), np.random.default_rng(0)
    first = Evaluation.initial(assembly).state
    here = own.evaluations([displaced(first, 1e-3 * rng.uniform(0.1, 1.0, own.size)) for _ in range(3)], [0.0] * 3)
    v = rng.uniform(-1.0, 1.0, (3, own.size))
    together = own.pulls(here, v, [0.0] * 3)
    for k, (at, rates) in enumerate(zip(here, v, strict=True)):
        for one, all_three in zip(own.pull(at, rates, 0.0), together, strict=True):
            np.testing.assert_allclose(all_three[k], one, rtol=1e-12, atol=1e-14 * np.abs(one).max())
