"""Matrices about motions as sums over elements, against those that linear models have in named parts."""

import numpy as np
import pytest

from mse import Pose
from mse.dynamics import about
from mse.dynamics.moving import moving_at
from test_about import Coenergy, Drag, instant, two_bodies, with_links
from test_wheels import R, wheel

TURNS = {"ball.ax'": 2.0, "ball.ay'": -3.0, "ball.az'": 1.0}


def rolling():
    system = wheel(Pose.dz(R))
    return system.simulate(duration=1e-3, dt=1e-3, initial={"free.x'": 1.0, "free.az'": 0.3}, rtol=1e-6).at(0.0)


MOTIONS = {
    "joints": lambda: instant(two_bodies()),
    "coordinate": lambda: instant(two_bodies(Coenergy("own"))),
    "power": lambda: instant(two_bodies(Drag("drag"))),
    "links": lambda: instant(with_links(), TURNS),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_the_sums_are_those_of_the_linear_model_with_its_named_parts(name):
    here = MOTIONS[name]()
    moving, model = moving_at(here), here.linearize()
    for found, expected in zip(moving.matrices(), (model.M, model.Lambda, model.K), strict=True):
        np.testing.assert_allclose(found, expected.toarray(), atol=1e-12 * np.abs(found).max())


@pytest.mark.parametrize("make", [rolling, *(MOTIONS[name] for name in ("joints", "links"))])
def test_along_axes_that_turn_too(make):
    moving = moving_at(make())
    axes = np.random.default_rng(2).normal(size=(moving.equations.topology.units, 3))
    model, *_ = about.about(moving, axes)
    for found, expected in zip(moving.along(axes), (model.M, model.Lambda, model.K), strict=True):
        np.testing.assert_allclose(found, expected.toarray(), atol=1e-12 * np.abs(found).max())
