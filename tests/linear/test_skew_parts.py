"""Skew parts of damping and stiffness: where they come from, and that no change of coordinates loses or mixes them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse import LinearModel, Pose
from mse.elements.parameters import Real
from mse.errors import ModelError
from mse.linear.skew_parts import SkewParts
from mse.linear.stiffness_parts import ListedParts

SPIN, INERTIA, SEAT = 2.0, (0.01, 0.01, 0.02), 40.0
WHIRL = np.array([18.321595661992319, 218.32159566199232])  # rad/s: roots of w^2 I - w H - k = 0 for w and -w


class Spin(mse.MObject):
    """An angular momentum along the frame's z axis, which turns with the frame: torque -a' x H."""

    frame_names = ("0",)
    momentum: Real = Real("angular momentum", unit="N m s", default=SPIN)

    def damping_matrix(self, frames, q=()):
        x, y, z = self.momentum * frames[0].U[:, 2]
        out = np.zeros((6, 6))
        out[3:, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
        return out


def rotor(arm: float = 0.0, spin: float = SPIN) -> mse.MSystem:
    """A disc on an isotropic seat, spun; the spin is given at a frame on an arm, about which nothing may depend."""
    s = mse.MSystem("rotor", gravity=(0, 0, 0))
    disc = s.add(mse.RigidBody("disc", mass=1.0, inertia=INERTIA))
    s.add(mse.Bushing("seat", stiffness=(100.0,) * 3 + (SEAT,) * 3), between=(disc, s.ground))
    wheel = s.add(Spin("spin", momentum=spin))
    s.clamp(disc.frame(0), wheel.frame(0), Pose.dx(arm))
    return s


def unsymmetric(n: int, seed: int = 0) -> LinearModel:
    """A random model whose Lambda and K are anything but symmetric."""
    rng = np.random.default_rng(seed)
    m, d, k = (a @ a.T / n + s * np.eye(n) for a, s in zip(rng.standard_normal((3, n, n)), (1, 0, 1), strict=True))
    g, c = (0.3 * (a - a.T) for a in rng.standard_normal((2, n, n)))
    return LinearModel.from_matrices(m, 0.1 * d + g, k + 0.3 * c, name="it")


# -- where they come from -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("arm", [0.0, 0.7])
def test_a_spinning_disc_whirls_forward_and_backward(arm):
    modes = rotor(arm).find_working_point().linearize().modes(damped=True)
    rates = np.abs(modes.eigenvalues)
    np.testing.assert_allclose(rates[[3, 5]], WHIRL, rtol=1e-12)
    assert np.abs(modes.eigenvalues.real).max() < 1e-12
    # forward and backward: the axis moves on a circle
    for k in (3, 5):
        x, y = modes["disc.ax"][k], modes["disc.ay"][k]
        assert abs(abs(x / y) - 1) < 1e-12
        assert abs((x / y).real) < 1e-12


def test_parts_are_named_and_add_up():
    linear = rotor().find_working_point().linearize()
    assert linear.full_damping.nnz == 0
    np.testing.assert_array_equal(
        linear.gyroscopic.toarray()[3:, 3:], SPIN * np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0]])
    )
    assert (linear.Lambda != linear.gyroscopic).nnz == 0
    assert linear.symmetric.skew is None
    assert linear.symmetric.symmetric is linear.symmetric
    with pytest.raises(ValueError, match="read-only"):
        linear.gyroscopic.data[:] = 0.0


def test_followers_have_the_stiffness_of_the_search():
    s = mse.MSystem("pushed", gravity=(0, 0, 0))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    s.add(mse.Bushing("seat", stiffness=(1e3,) * 3 + (30.0,) * 3), between=(mass, s.ground))
    push = s.add(mse.Load("push", force=(3.0, 1.0, 0), torque=(0, 0.2, 0.1), axes="frame"))
    s.clamp(mass.frame(0), push.frame(0), Pose.dy(0.4))
    wp = s.find_working_point()
    linear = wp.linearize()
    assert abs(linear.K - wp.stiffness).max() < 1e-12
    assert abs(linear.K - linear.K.T).max() > 1.0
    assert linear.stiffness_parts["push", "circulatory"].nnz
    whole = sum(linear.stiffness_parts.values(), sp.csr_matrix(linear.K.shape))
    assert abs(whole - linear.K).max() < 1e-12
    # a small force moves it as the search finds
    force = np.array([1e-3, -2e-3, 1.5e-3])
    s.add(mse.Load("more", force=force), between=(mass,))
    moved = s.find_working_point().poses["mass.center"].o - wp.poses["mass.center"].o
    expected = np.linalg.solve(linear.K.toarray(), [*force, 0, 0, 0])[:3]
    np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-10)


def test_a_damping_of_ones_own_is_taken_apart():
    class Mixed(Spin):
        def damping_matrix(self, frames, q=()):
            return super().damping_matrix(frames) + np.diag([0, 0, 0, 0.1, 0.2, 0.3])

    s = rotor()
    s.add(Mixed("mixed"), between=(s["disc"],))
    linear = s.find_working_point().linearize()
    np.testing.assert_array_equal(linear.symmetric.Lambda.toarray()[3:, 3:], np.diag([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(linear.gyroscopic.toarray()[3, 4], 2 * SPIN)


def test_matrices_are_taken_apart():
    model = unsymmetric(5)
    for whole, half in ((model.Lambda, model.symmetric.Lambda), (model.K, model.symmetric.K)):
        np.testing.assert_allclose(half.toarray(), 0.5 * (whole + whole.T).toarray(), atol=1e-15)
    np.testing.assert_allclose(model.gyroscopic.toarray(), 0.5 * (model.Lambda - model.Lambda.T).toarray(), atol=1e-15)
    even = LinearModel.from_matrices(np.eye(2), [[1.0, 0.5], [0.5, 1.0]], np.eye(2) + 1e-12 * np.eye(2, k=1))
    assert even.skew is None


def test_what_a_skew_part_must_be():
    none = ListedParts.of([], 2)
    with pytest.raises(
        ModelError, match=r"not skew: G \+ G\^T has an entry of 2, the largest of G is 1; expected G\^T = -G"
    ):
        SkewParts(sp.csr_matrix([[0.0, 1.0], [1.0, 0.0]]), none)


def test_skew_parts_that_cancel_in_other_coordinates_leave_rounding_and_are_not_refused():
    """All columns of t are one motion v: ``v^T G v = 0`` of a skew G, but for rounding, which is not skew."""
    rng = np.random.default_rng(2)
    g = rng.standard_normal((6, 6))
    t = np.outer(rng.standard_normal(6), rng.standard_normal(3))
    turned = SkewParts(sp.csr_matrix(g - g.T), ListedParts.of([], 6)).through(sp.csr_matrix(t)).gyroscopic.toarray()
    np.testing.assert_array_equal(turned, -turned.T)
    np.testing.assert_allclose(turned, 0.0, atol=1e-14)


@pytest.mark.parametrize("which", ["Lambda", "K"])
def test_one_triangle_must_be_meant(which):
    given = {"M": np.eye(2), "Lambda": None, "K": np.eye(2)} | {which: [[2.0, 1.0], [0.0, 2.0]]}
    with pytest.raises(ModelError, match=f"{which} is triangular, with 1 entries above .*say active=True"):
        LinearModel.from_matrices(**given)
    assert LinearModel.from_matrices(**given, active=True).skew is not None


def test_named_parts_add_up_and_keep_their_names():
    model = unsymmetric(5)
    rng = np.random.default_rng(2)
    field, geometric, damping = (a + a.T for a in 0.1 * rng.standard_normal((3, 5, 5)))
    even = model.symmetric.K.toarray()
    named = LinearModel.from_matrices(
        model.M,
        {"oil": damping + 2 * np.eye(5), "eddy": sp.identity(5), "gyroscopic": model.gyroscopic},
        {"elastic": even, "field": field, "geometric": geometric, "circulatory": (model.K - model.K.T).toarray() / 2},
        name="it",
    )
    np.testing.assert_allclose(named.K.toarray(), model.K.toarray() + field + geometric, atol=1e-14)
    np.testing.assert_allclose(named.Lambda.toarray(), model.gyroscopic.toarray() + damping + 3 * np.eye(5), atol=1e-14)
    assert [part for _, part in named.stiffness_parts] == ["elastic", "field", "geometric", "circulatory"]
    np.testing.assert_allclose(named.stiffness_parts["it", "field"].toarray(), field, atol=1e-15)
    # loss is of what is elastic alone, whatever else is named
    f = np.array([0.1])
    w = 2 * np.pi * f[0]
    found = named.frequency_response(f, loss={"it": 0.2}).values[0]
    whole = named.K.toarray() + 0.2j * even + 1j * w * named.Lambda.toarray() - w**2 * named.M.toarray()
    np.testing.assert_allclose(found, np.linalg.inv(whole), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"K": {"circulatory": np.eye(2), "elastic": np.eye(2)}}, ["K['circulatory'] has a symmetric part of 1", "A^T = -A"]),
        ({"Lambda": {"gyroscopic": [[0.0, 1.0], [1.0, 0.0]]}}, ["Lambda['gyroscopic'] has a symmetric part", "another part"]),
        ({"K": {"elastic": [[1.0, 2.0], [-2.0, 1.0]]}}, ["K['elastic'] is unsymmetric by 4", "expected a symmetric"]),
        ({"K": {"elastic": np.eye(2), "field": np.eye(3)}}, ["K['field'] has shape (3, 3)", "expected (2, 2)"]),
        ({"K": {}}, ["K has no parts; expected"]),
    ],
)  # fmt: skip
def test_parts_are_what_their_names_say(given, words):
    with pytest.raises(ModelError) as caught:
        LinearModel.from_matrices(**{"M": np.eye(2), "Lambda": None, "K": np.eye(2)} | given)
    for word in words:
        assert word in str(caught.value), str(caught.value)


# -- other coordinates ----------------------------------------------------------------------------------------------
def test_joints_and_links_carry_them():
    """A spin behind a force sensor, on a body that a joint holds: the same whirl in the coordinates that are left."""
    s = mse.MSystem("held", gravity=(0, 0, 0))
    disc = s.add(mse.RigidBody("disc", mass=1.0, inertia=INERTIA))
    ball = s.add(mse.Spherical("ball"))
    s.clamp(disc.frame(0), ball.frame(0))
    s.clamp(s.ground, ball.frame(1))
    s.add(mse.Bushing("seat", stiffness=(0.0,) * 3 + (SEAT,) * 3), between=(disc, s.ground))
    sensor, spin = s.add(mse.ForceSensor("sensor")), s.add(Spin("spin"))
    s.clamp(sensor.frame(0), disc.frame(0))
    s.clamp(spin.frame(0), sensor.frame(1))
    linear = s.find_working_point().linearize()
    rates = np.abs(linear.modes(damped=True).eigenvalues)
    np.testing.assert_allclose(np.sort(rates)[[0, 2]], WHIRL, rtol=1e-12)
    assert linear.reduced[0].gyroscopic.nnz == 2
    # the sensor reads the torque that turns the spin: H times the rate about the other axis
    driven = s.add(mse.ForceActuator("driven"))
    s.clamp(driven.frame(0), disc.frame(0))
    s.clamp(driven.frame(1), s.ground)
    turned = s.add(mse.PositionSensor("turned"))
    s.clamp(turned.frame(0), disc.frame(0))
    s.clamp(turned.frame(1), s.ground)
    linear = s.find_working_point().linearize()
    f = np.array([2.0, 10.0])
    response = linear.frequency_response(f, inputs=["driven.tx"])
    turning = 2j * np.pi * f * response["turned.ay", "driven.tx"]
    np.testing.assert_allclose(np.abs(response["sensor.tx", "driven.tx"]), np.abs(SPIN * turning), rtol=1e-10)
    space = linear.state_space(inputs=["driven.tx"], outputs=["sensor.tx"])
    for hz, value in zip(f, response["sensor.tx", "driven.tx"], strict=True):
        moved = np.linalg.solve(2j * np.pi * hz * np.eye(len(space.A)) - space.A, space.B)
        np.testing.assert_allclose((space.C @ moved + space.D)[0, 0], value, rtol=1e-10)


def test_what_is_driven_pushes_through_a_spin():
    """A spin behind an actuator on a disc: ``(K + i w G - w^2 I) a = -i w G u`` for the tilts a of the disc."""
    s = rotor(spin=0.0)
    tilt, spin = s.add(mse.PositionActuator("tilt")), s.add(Spin("driven"))
    s.clamp("disc.center", tilt.frame(1))
    s.clamp(spin.frame(0), tilt.frame(0))
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp("disc.center", probe.frame(0))
    s.clamp(s.ground, probe.frame(1))
    linear = s.find_working_point().linearize()
    g = SPIN * np.array([[0.0, 1.0], [-1.0, 0.0]])
    hz = np.array([2.0, 7.0])
    given, read = ["tilt.ax", "tilt.ay"], ["probe.ax", "probe.ay"]
    response = linear.frequency_response(hz, inputs=given, outputs=read).values
    space = linear.state_space(inputs=given, outputs=read)
    for f, found in zip(hz, response, strict=True):
        w = 2 * np.pi * f
        expected = -np.linalg.solve(SEAT * np.eye(2) + 1j * w * g - 0.01 * w**2 * np.eye(2), 1j * w * g)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        moved = np.linalg.solve(1j * w * np.eye(len(space.A)) - space.A, space.B)
        np.testing.assert_allclose(space.C @ moved + space.D, expected, rtol=1e-10, atol=1e-12)


def test_subsystems_put_together_keep_them():
    s = rotor(0.3)
    s.add(mse.RigidBody("far", mass=2.0, inertia=0.1, at=Pose.dx(1.0)))
    s.add(mse.Bushing("tie", stiffness=50.0), between=("disc.center", "far.center"))
    wp = s.find_working_point()
    whole = wp.linearize()
    parts = [wp.linearize(within=names) for names in (["disc", "seat", "spin"], ["far", "tie"])]
    joined = mse.compose("whole", parts)
    order = [joined.coordinates.index(name) for name in whole.coordinates]
    for name in ("Lambda", "K", "M", "gyroscopic"):
        np.testing.assert_allclose(
            getattr(joined, name).toarray()[np.ix_(order, order)], getattr(whole, name).toarray(), atol=1e-12
        )
    assert parts[1].skew is None


def test_a_reduction_that_keeps_all_modes_changes_nothing():
    model = unsymmetric(8)
    small, _ = mse.reduce_model(model, ["x0", "x1"], modes=6)
    given, kept = (np.sort_complex(m.modes(damped=True).eigenvalues) for m in (model, small))
    np.testing.assert_allclose(kept, given, rtol=1e-10)
    f = np.array([0.05, 0.2])
    a, b = (m.frequency_response(f, inputs=["x0"], outputs=["x1"]).values for m in (model, small))
    np.testing.assert_allclose(b, a, rtol=1e-10)


def test_files_keep_them(tmp_path):
    model = unsymmetric(4)
    model.save(tmp_path / "model.npz")
    again = mse.read_result(tmp_path / "model.npz")
    for name in ("M", "Lambda", "K", "gyroscopic"):
        assert (getattr(again, name) != getattr(model, name)).nnz == 0
    assert again.stiffness_parts.labels == model.stiffness_parts.labels


@pytest.mark.slow
@pytest.mark.rounding
def test_a_column_under_a_load_that_follows_its_tip_flutters():
    """M. Beck, ZAMP 3 (1952) 225: at 20.05 EI/L2, where its first two frequencies meet at 11.02 of sqrt(EI/m L4)."""
    for load, flutters in ((20.0, False), (20.1, True)):
        s = mse.MSystem("column", gravity=(0, 0, 0))
        beam = s.add(
            mse.SectionBeam(
                "beam", length=1.0, young_modulus=1.0, poisson_ratio=-0.5, density=1e-6, area=1e6, second_moment_y=1.0,
                second_moment_z=4.0, torsion_constant=1.0, elements=8, theory="euler-bernoulli",
            )
        )  # fmt: skip
        tip = s.add(mse.Load("tip", force=(-load, 0, 0), axes="frame"))
        s.clamp(s.ground, beam.frame(0))
        s.clamp(beam.frame(1), tip.frame(0))
        modes = s.find_working_point().linearize().modes(damped=True)
        assert modes.unstable.any() == flutters
        growing = modes.eigenvalues[modes.unstable]
        np.testing.assert_allclose(growing.imag, 11.02, rtol=2e-3)
