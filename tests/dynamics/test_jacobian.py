"""Slopes of equations of motion, against differences and element by element."""

import numpy as np
import pytest

from mse.dynamics.accelerations import Equations
from mse.dynamics.charts import displaced
from mse.dynamics.jacobian import _turned, matrices
from mse.model.evaluation import Evaluation
from mse.model.variants import prepared
from test_whole import circuit, speaker, swinging

_SYSTEMS = pytest.mark.parametrize("build", [speaker, circuit, swinging])


def somewhere(build, seed=0):
    """Equations, the system in a state that its joints do not quite allow, and velocities."""
    topology, assembly = prepared(build(), None)
    own, rng = Equations(topology, assembly), np.random.default_rng(seed)
    here = own.evaluation(displaced(Evaluation.initial(assembly).state, 1e-3 * rng.uniform(0.0, 1.0, own.size)))
    return own, here, rng.uniform(-1.0, 1.0, own.size), rng.uniform(-1.0, 1.0, own.size)


@_SYSTEMS
def test_rates_of_constraints_change_as_differences_say(build):
    """By joints one by one, and by the laws of the system as one."""
    own, here, v, _ = somewhere(build)
    step, exact = 1e-6, np.zeros((own.assembly.constraint_count, own.size))
    for column, unit in zip(exact.T, step * np.eye(own.size), strict=True):
        after, before = (own.evaluation(displaced(here.state, x)).slopes @ v for x in (unit, -unit))
        column[:] = (after - before) / (2.0 * step)
    _, together = own.whole.reactions(here.state, v, np.ones(len(exact)))
    for found in (_turned(own, here, v), together):
        np.testing.assert_allclose(found, exact, atol=1e-8)


@_SYSTEMS
@pytest.mark.parametrize("faster", [0.0, 1.0])
def test_slopes_of_the_system_as_one_are_those_of_its_elements(build, faster):
    own, here, v, a = somewhere(build)
    multipliers = np.ones(own.assembly.constraint_count)
    together = [*matrices(own, here, faster * v, a), own.whole.reactions(here.state, v, multipliers)[0]]
    with pytest.MonkeyPatch.context() as apart:
        apart.setitem(vars(own), "whole", None)
        one_by_one = [
            *matrices(own, here, faster * v, a),
            own.assembly.reaction_total(here.configuration, multipliers).toarray(),
        ]
    for one, other in zip(together, one_by_one, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13 * np.abs(other).max(initial=0.0))
