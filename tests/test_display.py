"""Tables as data and as text, and what is shown as zero."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.display import Column, Table, amounts, kind_of, scales, without_rounding


def test_columns_line_up_and_rows_beyond_the_most_are_counted():
    rows = [("a", 1.0, 10), ("longer", -0.0, 2), ("c", None, 3), ("d", "free", 4), ("e", 1 / 3, 5)]
    table = Table("Title", ["name", Column("size", "m", 4), Column("n", digits=1)], rows, notes=["a note"], most=4)
    assert table.text().splitlines() == [
        "Title",
        "name    size (m)   n",
        "------  --------  --",
        "a              1  10",
        "longer         0   2",
        "c                  3",
        "d           free   4",
        "... and 1 more",
        "a note",
    ]
    assert table.cells()[-1] == ["e", "0.3333", "5"] and repr(table) == table.text()


def test_further_tables_and_paragraphs_follow():
    table = Table("One", ["a"], [("x",)], more=[Table("A paragraph."), Table("Two", ["b"])])
    assert table.text() == "One\na\n-\nx\n\nA paragraph.\n\nTwo\nb\n-"


def test_cells_must_fit_the_columns():
    with pytest.raises(ValueError):
        Table("One", ["a"], [("x", "y")]).text()


def test_complex_numbers_have_no_signs_of_zero():
    assert Column("shape", digits=3).shown(complex(-0.0, -0.0)) == "0+0j"
    assert Column("shape", digits=3).shown(complex(-0.0, 0.12345)) == "0+0.123j"


def test_rounding_is_decided_by_the_scale_of_the_kind():
    values = np.array([1.0, -3e-12, 1e-12, -1e-30, np.nan, np.inf])
    shown = without_rounding(values)
    np.testing.assert_array_equal(shown, [1.0, -3e-12, 0.0, 0.0, np.nan, np.inf])
    np.testing.assert_array_equal(without_rounding([1e-20, -1e-30], 0.0), [1e-20, -1e-30])
    np.testing.assert_array_equal(without_rounding([1e-13, 1e-13], [1.0, 1e-3]), [0.0, 1e-13])
    assert without_rounding(1e-13 + 1j) == 1j and without_rounding([]).shape == (0,)
    assert not np.signbit(without_rounding([-1e-20, 1.0])[0])
    np.testing.assert_array_equal(scales([1.0, 2.0, 3.0], ["m", "rad", "m"]), [3.0, 2.0, 3.0])
    assert [kind_of(name) for name in ("mass.x", "mass.z'", "a.ay", "wire.bend")] == ["m", "m", "rad", "bend"]


# -- results ----------------------------------------------------------------------------------------------------------
def numbers(table: Table, name: str) -> list:
    (k,) = [k for k, column in enumerate(table.columns) if column.name == name]
    return [row[k] for row in table.rows]


def two_masses(stiffness: float = 400.0, free: float = 0.0) -> mse.LinearModel:
    """A mass on a spring and one without, or nearly without, any."""
    return mse.LinearModel.from_matrices(
        np.diag([1.0, 2.0]), np.diag([2e-3, 0.0]), np.diag([stiffness, free]), coordinates=["held.x", "loose.x"]
    )


def test_conjugate_poles_are_shown_once_and_free_motions_by_name():
    found = two_masses().state_space()
    np.testing.assert_array_equal(np.abs(found.poles()[:2]), 0.0)
    assert found.free == ("loose.x",) and found.zeros == 2
    table = found.table()
    assert numbers(table, "damping ratio")[:2] == ["free", "free"] and len(table.rows) == 3
    np.testing.assert_allclose(numbers(table, "damping ratio")[2], 5e-5, rtol=1e-9)
    assert "Free (zero stiffness): loose.x" in repr(found)


def test_a_soft_motion_is_not_free():
    found = two_masses(free=1e-9).state_space()
    assert found.free == () and found.zeros == 0 and "free" not in repr(found).lower()
    lowest = np.abs(found.poles()[0])
    np.testing.assert_allclose(lowest, np.sqrt(0.5e-9), rtol=1e-4)


def test_a_damped_free_motion_has_one_pole_at_zero():
    model = mse.LinearModel.from_matrices([[2.0]], [[0.5]], [[0.0]], coordinates=["cart.x"])
    found = model.state_space()
    assert found.free == ("cart.x",) and found.zeros == 1
    np.testing.assert_allclose(found.poles(), [0.0, -0.25], rtol=1e-14)
    assert numbers(found.table(), "damping ratio") == ["free", 1.0]


def test_damping_beside_stiff_modes_is_no_rounding():
    # a quality of 1e8 at 0.7 Hz beside a mode at 700 kHz: below 1e-12 of the fastest pole, above its rounding
    omega = 2 * np.pi * np.array([0.7, 7e5])
    model = mse.LinearModel.from_matrices(
        np.eye(2), np.diag([omega[0] / 1e8, 0.0]), np.diag(omega**2), coordinates=["slow.x", "fast.x"]
    )
    slow, fast = model.state_space().table().rows
    np.testing.assert_allclose(slow[3], 0.5e-8, rtol=1e-3)
    assert fast[0] == 0.0 and fast[3] == 0.0


def test_free_poles_of_a_system_with_joints_are_those_of_its_modes():
    system = mse.MSystem("carriage", gravity=(0, 0, -9.81))
    cart = system.add(mse.RigidBody("cart", mass=2.0, inertia=0.1))
    system.add(mse.Prismatic("rail", axis=(1, 0, 0)), between=(cart, system.ground))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.01, at=mse.Pose.dz(-0.4)))
    system.add(mse.Spring("rope", length=0.4, stiffness=1e4), between=(cart, mass))
    linear = system.find_working_point().linearize()
    space, modes = linear.state_space(), linear.modes()
    assert len(space.free) == np.count_nonzero(modes.free) == 4 and space.zeros == 8
    assert sum(ratio == "free" for ratio in numbers(space.table(), "damping ratio")) == 8
    assert [row[2] for row in modes.table().rows][:4] == ["free"] * 4


def test_rounding_of_one_output_is_not_listed_beside_others_of_its_unit():
    model = two_masses(free=800.0)
    found = model.frequency_response([1.0, 10.0])
    assert [row[:2] for row in found.table().rows] == [("held.x", "held.x"), ("loose.x", "loose.x")]
    history = model.simulate(duration=0.1, dt=0.01, inputs={"held.x": np.sin})
    values = history.values.copy()
    values[:, 1] = 1e-13 * values[:, 0]
    values[-1, 0] = 1e-16
    from dataclasses import replace

    table = replace(history, values=values).table()
    assert [row[0] for row in table.rows] == ["held.x"] and numbers(table, "last") == [0.0]


def test_attenuation_far_above_a_resonance_is_not_taken_for_rounding():
    """Of a force on the first of two masses on springs: the second moves by ``k/((2 k - m w^2)(k - m w^2) - k^2)``."""
    chain = [[200.0, -100.0], [-100.0, 100.0]]
    model = mse.LinearModel.from_matrices(10.0 * np.eye(2), None, chain, coordinates=["a.x", "b.x"])
    low, high = 0.3, 1e4
    rows = model.frequency_response([low, high]).table().rows
    (last,) = [row[-1] for row in rows if row[:2] == ("b.x", "a.x")]
    m = 10.0 * (2 * np.pi * high) ** 2
    np.testing.assert_allclose(last, 100.0 / ((200.0 - m) * (100.0 - m) - 1e4), rtol=1e-9)


def test_poses_and_reactions_are_tables_by_name():
    system = mse.MSystem("stage", gravity=(0, 0, -10.0))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=1e3), between=(system.ground, mass))
    rod = system.add(mse.Rod("rod", length=0.2))
    weight = system.add(mse.RigidBody("weight", mass=2.0, inertia=0.1, at=mse.Pose.dxdydz(1.0, 0, -0.2)))
    system.clamp(system.ground, rod.frame(0), mse.Pose.dx(1.0))
    system.clamp(rod.frame(1), weight.frame(0))
    arm = system.add(mse.RigidBody("arm", mass=3.0, inertia=0.1))
    system.add(mse.Revolute("hinge", stiffness=1.0), between=(arm, system.ground))
    point = system.find_working_point()
    poses = point.poses.table()
    assert [row[0] for row in poses.rows] == list(point.poses)
    row = dict(zip([c.name for c in poses.columns], poses.rows[list(point.poses).index("mass.center")], strict=True))
    np.testing.assert_allclose(row["z"], -0.51, rtol=1e-9)
    assert row["x"] == row["ax"] == 0.0
    reactions = point.reactions.table()
    (hinge,), (others,) = reactions.rows, reactions.more
    assert hinge[0] == "hinge" and hinge[1] == 0.0 and hinge[4] == 0.0
    np.testing.assert_allclose(hinge[3], -30.0, rtol=1e-9)
    (pull,) = others.rows
    assert pull[:2] == ("rod", "tension") and pull[3] == "N"
    np.testing.assert_allclose(pull[2], 20.0, rtol=1e-9)
    assert "spring" in repr(point.tensions) and "hinge.angle" in repr(point.joint_coordinates)
    parts = point.linearize().stiffness_parts
    assert "spring  axial" in repr(parts)


def test_a_beam_at_rest_has_no_moments_of_rounding():
    system = mse.MSystem("rest", gravity=(0, 0, -9.81))
    beam = system.add(mse.Beam("beam", length=0.3, width=0.02, height=0.002, density=0.0))
    system.clamp(system.ground, beam.frame(0), mse.Pose.ry(0.3))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=1e3), between=(system.ground, mass))
    loads = beam.internal_forces(system.find_working_point())
    assert not loads.forces.any() and not loads.stress.any() and not loads.shear.any()
    assert all(x == 0.0 for row in loads.table().rows for x in row[1:])


def test_numbers_of_things_are_told_as_words():
    assert (
        amounts(input=1, output=0, frequency=3, body=1, step=2) == "1 input, 0 outputs, 3 frequencies, 1 body, 2 steps"
    )
