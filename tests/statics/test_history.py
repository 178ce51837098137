"""The steps of a search, as a tuple that shows itself as a table."""

from __future__ import annotations

import pickle

import numpy as np

import mse
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
