"""Flow constraints as users write them: rows linear in velocities, and what is none."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE, KnifeEdge
from mse.elements.flows import flow_count, flow_rows
from mse.errors import ModelError
from mse.numerics.law_functions import rotation_vector


def refused(call, *words):
    with pytest.raises(ModelError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_rows_are_what_multiplies_the_velocities():
    entry = CATALOGUE["knife edge"]
    frames = entry.frames(0)
    rows = flow_rows(entry.make(), frames, np.zeros(0))
    np.testing.assert_allclose(rows, [[*frames[0].U[:, 1], 0.0, 0.0, 0.0]], rtol=0, atol=1e-16)
    assert flow_count(entry.make()) == 1
    none = mse.Spring("it", length=1.0, stiffness=1.0)
    assert flow_rows(none, CATALOGUE["Spring"].frames(0), np.zeros(0)).shape == (0, 12) and flow_count(none) == 0


class Twisted(mse.MObject):
    """Two rows of many terms, which cancel in part, with an internal coordinate."""

    coordinate_names = (mse.coordinate("slip", unit="m"),)

    def flow_constraint(self, frames, q, v):
        arm = frames[1].o - frames[0].o
        contact = frames[0].v + np.cross(frames[0].w, arm) - frames[1].v
        turned = rotation_vector(frames[1].U.T @ frames[0].U)
        return [1e6 * (turned @ contact) - 1e6 * (turned @ frames[0].v), arm @ frames[1].w - (1.0 + q[0]) * v[0]]


def test_rows_of_both_frames_and_an_internal_coordinate():
    frames = CATALOGUE["Spring"].frames(3)
    arm, turned = frames[1].o - frames[0].o, rotation_vector(frames[1].U.T @ frames[0].U)
    rows = flow_rows(Twisted("it"), frames, np.array([0.25]))
    expected = np.zeros((2, 13))
    expected[0, 3:6], expected[0, 6:9] = 1e6 * np.cross(arm, turned), -1e6 * turned
    expected[1, 9:12], expected[1, 12] = arm, -1.25
    np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-9)


BAD = {
    "a square": (lambda f, v: f[0].v[0] ** 2, ["row 0 of its flow_constraint", "linear in the velocities"]),
    "a speed": (lambda f, v: [f[0].v[1], np.linalg.norm(f[0].v)], ["row 1", "linear in the velocities"]),
    "a size": (lambda f, v: np.abs(f[0].v[0]), ["row 0", "linear in the velocities"]),
    "a product": (lambda f, v: f[0].v[0] * f[0].w[2], ["row 0", "terms add up to 0"]),
    "a position": (lambda f, v: f[0].v[0] + 0.1, ["is 0.1 at zero velocity", "constraint(frames, q)"]),
    "no number": (lambda f, v: "none", ["its flow_constraint is 'none'", "real numbers"]),
    "a complex number": (lambda f, v: 1j * f[0].v[0], ["its flow_constraint is", "real numbers"]),
    "ragged": (lambda f, v: [f[0].v[0], f[0].v], ["its flow_constraint is", "real numbers"]),
    "a matrix": (lambda f, v: np.outer(f[0].v, f[0].w), ["shape (3, 3)", "one dimension"]),
    "not finite": (lambda f, v: [f[0].v[0], np.inf * (1.0 + f[0].v[1])], ["row 1 of its", "finite numbers"]),
    "more rows by velocity": (lambda f, v: [f[0].v[0]] * (1 + (f[0].v[1] > 0)), ["shape (2,)", "(1,)", "as many rows"]),
    "a failure": (lambda f, v: f[2].v[0], ["its flow_constraint failed", "flow_constraint(frames, q, v)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_flow_constraint_is_refused(name):
    law, words = BAD[name]

    class Edge(mse.MObject):
        frame_names = ("0",)

        def flow_constraint(self, frames, q, v):
            return law(frames, v)

    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=1.0))
    s.add(Edge("edge"), between=(body,))
    refused(s.find_working_point, "Edge 'edge'", *words)


def test_reaction_outputs_have_a_column_for_each_row():
    class Edge(KnifeEdge):
        def reaction_map(self, frames):
            return np.eye(2)

    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=1.0))
    s.add(Edge("edge"), between=(body,))
    wp = s.find_working_point()
    refused(wp.linearize, "Edge 'edge'", "reaction_map", "(1, 1)", "rows of the flow constraint")


@pytest.mark.parametrize("name", ["flow_constraints", "flow_constrain", "flowconstraint"])
def test_a_misspelt_flow_constraint_is_refused(name):
    with pytest.raises(TypeError, match="did you mean 'flow_constraint'"):
        type("Edge", (mse.MObject,), {name: lambda self, frames, q, v: 0.0})


def test_a_class_may_leave_rows_out_by_its_parameters():
    class Maybe(mse.MObject):
        frame_names = ("0",)

        def flow_constraint(self, frames, q, v):
            return np.zeros(0)

    s = mse.MSystem("s", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=2.0, inertia=1.0))
    s.add(Maybe("edge"), between=(body,))
    wp = s.find_working_point()
    assert len(wp.free) == 6 and not wp.linearize().prescribed
