"""Charges beside displacements: what balances, and what rounding may leave, does not depend on their unit."""

import numpy as np
import pytest

import mse
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.equilibrium import balanced
from mse.statics.merit_function import MeritFunction
from mse.statics.scales import load_scale


def test_loads_on_charges_are_compared_by_what_they_count_for():
    """10 V on a charge that counts 1e7 m/C are 1 uN: beside as many on one body, nothing is little on another one's arm."""
    load = np.array([1e-6] * 3 + [0.0] * 3 + [0.0] * 6 + [10.0, 0.0])
    scale = np.array([1.0] * 12 + [1e7, 1e3])
    found = load_scale(load, scale, 2)
    np.testing.assert_allclose(found[6:12], np.sqrt(3.0) * 1e-9, rtol=1e-12)
    np.testing.assert_allclose(found[12:], [10.0, 1e-4 * np.sqrt(3.0) * 1e-6 * 1e3], rtol=1e-12)


def plates(factor):
    """Plates of 40 fF on a spring of 5 N/m, whose charge is counted in units of 1/factor C."""

    class Plates(mse.MObject):
        coordinate_names = (mse.coordinate("charge", unit="C"),)

        def span(self):
            return 2e-6

        def energy(self, frames, q):
            x, charge = frames[1].o[0] - frames[0].o[0], q[0] / factor
            return 2.5 * x**2 + 0.5 * charge**2 * (2e-6 - x) / 8e-20 - 10.0 * charge

    system = mse.MSystem("plates", gravity=(0, 0, 0))
    plate = system.add(mse.RigidBody("plate", mass=2e-10, inertia=1e-18))
    system.add(mse.Prismatic("guide", axis=(1, 0, 0)), between=(plate, system.ground))
    system.add(Plates("field"), between=(system.ground, plate))
    topology = Topology(system)
    return system, MeritFunction.of(topology, Assembly(topology, topology.unit))


@pytest.mark.parametrize("factor", [1.0, 1e6, 1e15])
def test_a_charge_that_is_off_by_little_is_not_balanced(factor):
    system, merit = plates(factor)
    wp = system.find_working_point()
    state = wp.state
    assert balanced(merit, merit.evaluate(state, 2))
    there = state._replace(q=state.q * (1.0 + 1e-8))
    assert not balanced(merit, merit.evaluate(there, 2))
