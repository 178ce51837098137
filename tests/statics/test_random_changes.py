"""Random systems, changed at random and solved again, are as fresh copies of them.

``PYTHONPATH=tests python tests/statics/test_random_changes.py 60`` goes through as many seeds.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mse
from models import hanging_stages
from mse import Pose

pytestmark = pytest.mark.rounding

ROUNDS = 4


def change(system: mse.MSystem, rng: np.random.Generator) -> None:
    """Up to three parameters, poses or frames; sometimes gravity, the first strength, or one more body."""
    objects = list(system.objects)
    for _ in range(rng.integers(0, 4)):
        obj, kind = objects[rng.integers(len(objects))], rng.integers(6)
        if not isinstance(obj, mse.RigidBody):
            if kind < 4:
                obj.length *= rng.uniform(0.97, 1.03)
            else:
                obj.damping = rng.uniform(0.0, 5.0)
        elif kind < 2:
            obj.mass *= rng.uniform(0.8, 1.2)
        elif kind == 2:
            obj.inertia = np.diag(obj.inertia) * rng.uniform(0.9, 1.1)
        elif kind == 3:
            obj.at = (obj.at or Pose()) @ Pose.dx(0.01 * rng.standard_normal())
        elif kind == 4:
            obj.add_frame(f"hook{rng.integers(10**9)}", Pose.dz(0.1))
        else:
            obj.parameters["mass"] = 1.01 * obj.mass
    if rng.random() < 0.1:
        system.gravity = (0.1 * rng.standard_normal(), 0.0, -9.81)
    if rng.random() < 0.1:
        system.gravity = (0.0, 0.1, -9.7)
    if rng.random() < 0.15:
        last = [obj for obj in objects if isinstance(obj, mse.RigidBody)][-1]
        extra = system.add(mse.RigidBody(f"extra{rng.integers(10**9)}", mass=0.5, inertia=0.01))
        system.clamp(last.frame(0), extra.frame(0), Pose.dx(0.05))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_changed_systems_are_as_fresh_ones(seed):
    rng = np.random.default_rng(10_000 + seed)
    system = hanging_stages(seed)
    system.find_working_point()
    for _ in range(ROUNDS):
        change(system, rng)
        again = system.find_working_point(throw=False)
        fresh = system.copy(system.name).find_working_point(throw=False)
        assert again.coordinate_names == fresh.coordinate_names and again.converged == fresh.converged
        assert again.energy == pytest.approx(fresh.energy, rel=1e-11)
        if not fresh.converged:
            continue
        one, other = again.linearize(), fresh.linearize()
        # soft motions rest where rounding lets them
        assert abs(one.K - other.K).max() < 1e-6 * abs(other.K).max()
        assert abs(one.M - other.M).max() < 1e-6 * abs(other.M).max()
        assert abs(one.Lambda - other.Lambda).max() <= 1e-6 * max(abs(other.Lambda).max(), 1.0)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for number in range(count):
        test_changed_systems_are_as_fresh_ones(number)
    print(f"{count} systems, changed and solved again {ROUNDS} times each: all as fresh ones")
