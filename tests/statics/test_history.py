"""The steps of a search, as a tuple that shows itself as a table."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import mse
from models import hanging_stages
from mse.statics.history import Steps


def hanging() -> mse.MSystem:
    stage = mse.MSystem("stage")
    mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
    return stage


def test_steps_show_themselves_one_by_one():
    history = hanging().find_working_point().history
    table = history.table()
    assert len(table.rows) == len(history) > 1
    assert [row[0] for row in table.rows] == [step.number for step in history]
    assert [row[2] for row in table.rows] == [step.residual for step in history]
    assert {row[-1] for row in table.rows} <= {"yes", "no"}
    assert repr(history).splitlines()[1].split() == [
        "step", "energy", "(J)", "relative", "residual", "of", "length", "(m)", "accepted",
    ]  # fmt: skip
    assert f"a relative residual of {history[-1].residual:.1e}" in table.title
    assert Steps().table().title == "Search: 0 steps"


@pytest.mark.parametrize("strength", [1.0, 0.1])
def test_beginnings_of_attempts_are_no_steps(strength):
    wp = hanging_stages(2).find_working_point(options=mse.SearchOptions(initial_strength=strength))
    numbers = [step.number for step in wp.history]
    begun = [k for k, number in enumerate(numbers) if number == numbers[k - 1] or number == 0]
    assert len(begun) > 1 and begun[0] == numbers[0] == 0
    assert all(wp.history[k].accepted and wp.history[k].step == 0.0 for k in begun)
    assert {wp.history[k].strength for k in begun} == {strength, 1.0}
    assert sorted(set(numbers)) == list(range(len(numbers) - len(begun) + 1))
    tried = len(numbers) - len(begun)
    assert wp.history.tried == numbers[-1] == tried
    assert f"; {tried} steps from its initial poses" in str(wp)
    assert wp.history.table().title.startswith(f"Search: {tried} steps")


def test_steps_are_a_tuple_still():
    wp = hanging().find_working_point()
    assert (
        isinstance(wp.history, tuple) and wp.history == tuple(wp.history) and len(wp.history[1:]) == len(wp.history) - 1
    )
    copied = pickle.loads(pickle.dumps(wp)).history
    assert copied == wp.history and isinstance(copied, Steps)
    assert np.all([step.accepted for step in wp.history])


def test_a_search_shows_its_last_steps_by_the_same_columns():
    search = hanging().relaxation()
    search.run()
    assert isinstance(search.history, Steps)
    assert search.table().columns == search.history.table().columns
    assert search.table().rows == search.history.table().rows[-20:]
