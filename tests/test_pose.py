"""Poses: algebra, conventions, rotation vectors from 1e-12 rad to pi, bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.special
from scipy.spatial.transform import Rotation

from mse import ModelWarning, Pose
from mse.errors import ModelError
from mse.kernels import rotations
from mse.pose import orthonormal


def random_pose(rng) -> Pose:
    return Pose(rng.normal(size=3), Rotation.random(rng=rng).as_matrix())


def random_axes(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors: the coordinate axes with both signs, diagonals, nearly aligned ones, and random ones."""
    rng = np.random.default_rng(seed)
    special = [*np.eye(3), *-np.eye(3), [1, 1, 0], [0, -1, 1], [1, 1, 1], [1, 1e-9, 0], [1e-5, 1, -1e-12]]
    axes = np.vstack([special, rng.normal(size=(count, 3))])
    return axes / np.linalg.norm(axes, axis=1)[:, None]


def difference(f, x, h=0.02):
    """Derivative of f (vector -> array) at x by central differences of order eight, the last axis for x."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    columns = []
    for e in np.eye(len(x)):
        columns.append(sum(w * (f(x + (k + 1) * h * e) - f(x - (k + 1) * h * e)) for k, w in enumerate(weights)) / h)
    return np.stack(columns, axis=-1)


# -- algebra ------------------------------------------------------------------------------------------------------
def homogeneous(p: Pose) -> np.ndarray:
    """The 4 x 4 matrix of a pose, whose product is the composition."""
    return np.block([[p.U, p.o[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


@pytest.mark.parametrize("seed", range(3))
def test_algebra_is_that_of_homogeneous_matrices(seed):
    rng = np.random.default_rng(seed)
    a, b = random_pose(rng), random_pose(rng)
    ha, hb = homogeneous(a), homogeneous(b)
    np.testing.assert_allclose(homogeneous(a @ b), ha @ hb, atol=1e-15)
    np.testing.assert_allclose(homogeneous(a.inverse()), np.linalg.inv(ha), atol=1e-14)
    np.testing.assert_allclose(homogeneous(b.seen_from(a)), np.linalg.inv(ha) @ hb, atol=1e-14)
    points = rng.normal(size=(5, 3))
    np.testing.assert_allclose(a.apply(points), (ha[:3, :3] @ points.T).T + a.o, atol=1e-15)
    np.testing.assert_allclose(a.apply(points[0]), a.apply(points)[0], atol=1e-15)


def test_composition_is_not_commutative_and_reads_from_left_to_right():
    # One meter along x, then a quarter turn about z, then one meter along the turned x, which is y.
    p = Pose.dx(1.0) @ Pose.rz(np.pi / 2) @ Pose.dx(1.0)
    np.testing.assert_allclose(p.o, [1.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(p.U, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize("d", [0.3, -2.0, 1e-12])
def test_translations(d):
    assert Pose.dx(d).o.tolist() == [d, 0, 0]
    assert Pose.dy(d).o.tolist() == [0, d, 0]
    assert Pose.dz(d).o.tolist() == [0, 0, d]
    assert Pose.dxdydz(d, 2 * d, -d).o.tolist() == [d, 2 * d, -d]
    for p in (Pose.dx(d), Pose.dy(d), Pose.dz(d), Pose.dxdydz(d, 2 * d, -d)):
        assert p.U.tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("angle", [0.4, -1.3, np.pi / 2, 3.0])
def test_elementary_rotations_are_active_and_right_handed(angle):
    # Written out: the columns are the turned axes.  A positive turn takes y to z, z to x, x to y.
    c, s = np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(Pose.rx(angle).U, [[1, 0, 0], [0, c, -s], [0, s, c]], atol=2e-16)
    np.testing.assert_allclose(Pose.ry(angle).U, [[c, 0, s], [0, 1, 0], [-s, 0, c]], atol=2e-16)
    np.testing.assert_allclose(Pose.rz(angle).U, [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=2e-16)
    for p in (Pose.rx(angle), Pose.ry(angle), Pose.rz(angle)):
        assert p.o.tolist() == [0, 0, 0]


def test_moved_turns_about_the_outer_axes_in_place():
    p = Pose.dx(2.0) @ Pose.rz(np.pi / 2)
    moved = p.moved((0, 0, 3), (np.pi / 2, 0, 0))
    np.testing.assert_allclose(moved.o, [2, 0, 3], atol=1e-15)
    np.testing.assert_allclose(moved.U, Rotation.from_rotvec([np.pi / 2, 0, 0]).as_matrix() @ p.U, atol=1e-15)


def test_closeness_looks_at_distance_and_angle():
    p = Pose((1, 2, 3), Rotation.from_rotvec([1, 2, 0.5]).as_matrix())
    assert p.is_close(p.moved((5e-10, 0, 0), (0, 5e-10, 0)))
    assert not p.is_close(p.moved((2e-9, 0, 0), (0, 0, 0)))
    assert not p.is_close(p.moved((0, 0, 0), (0, 0, 2e-9)))
    assert p.is_close(p.moved((2e-9, 0, 0), (0, 0, 2e-9)), distance=1e-8, angle=1e-8)


def test_repr_shows_origin_and_turn():
    assert repr(Pose.dz(-1.5)) == "Pose(o=(0, 0, -1.5))"
    assert repr(Pose.rx(0.25)) == "Pose(o=(0, 0, 0), turned by (0.25, 0, 0) rad)"


def test_repr_shows_no_rounding():
    """As tables of poses do: 1e-12 of the largest distance, and of a radian."""
    assert repr(Pose.dxdydz(0.2, -9e-26, -1.06) @ Pose.rotation([0, 3e-16, 0])) == "Pose(o=(0.2, 0, -1.06))"
    assert repr(Pose.dx(-1e-20)) == "Pose(o=(-1e-20, 0, 0))"  # the largest there is
    assert repr(Pose.rotation([2e-9, 0, 1e-16])) == "Pose(o=(0, 0, 0), turned by (2e-09, 0, 0) rad)"


# -- Euler angles -------------------------------------------------------------------------------------------------
EULER = [
    (0.3, 0.8, -1.2),
    (-2.9, 3.0, 2.5),
    (1.0, 1e-9, 0.4),
    (0.5, np.pi - 1e-9, 0.2),
    (0.7, 0.0, 0.0),
    (2.0, 1e-14, -1.0),
]


@pytest.mark.parametrize("angles", EULER)
def test_euler_angles_are_the_product_of_elementary_rotations(angles):
    expected = Rotation.from_euler("ZXZ", angles).as_matrix()  # capitals: about the turned axes, Rz(a1) Rx(a2) Rz(a3)
    np.testing.assert_allclose(Pose.euler(*angles).U, expected, atol=1e-15)


@pytest.mark.parametrize("angles", EULER)
def test_euler_angles_come_back(angles):
    np.testing.assert_allclose(Pose.euler(*angles).euler_angles(), angles, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("a2, combined", [(0.0, 0.4 + 1.1), (np.pi, 0.4 - 1.1)])
def test_euler_angles_where_only_their_sum_or_difference_is_defined(a2, combined):
    p = Pose.euler(0.4, a2, 1.1)
    np.testing.assert_allclose(p.euler_angles(), [combined, a2, 0.0], atol=1e-14)
    np.testing.assert_allclose(Pose.euler(*p.euler_angles()).U, p.U, atol=1e-14)


@pytest.mark.parametrize("a2", [0.0, 1e-15, 1e-12, 1e-9, 1e-4, np.pi - 1e-12, np.pi])
@pytest.mark.parametrize("seed", range(3))
def test_euler_angles_rebuild_a_pose_that_carries_rounding(a2, seed):
    # Through another pose and back: the entries that vanish with a2 hold rounding of the order 1e-16 now.
    detour = random_pose(np.random.default_rng(seed))
    p = detour @ (detour.inverse() @ Pose.euler(0.4, a2, 1.1))
    np.testing.assert_allclose(Pose.euler(*p.euler_angles()).U, p.U, atol=5e-15)


# -- rotation vectors ---------------------------------------------------------------------------------------------
ANGLES = [1e-12, 1e-9, 1e-6, 9.9e-5, 1.01e-4, 1e-3, 1.0, 2.0, 3.0, np.pi - 1e-3, np.pi - 1e-9]


@pytest.mark.filterwarnings("ignore:Pose")  # of angles beyond a whole turn
@pytest.mark.parametrize("angle", [*ANGLES, np.pi, 7.0])
def test_rotation_matrix_is_the_exponential(angle):
    for n in random_axes(20):
        u = Pose.rotation(angle * n).U
        expected = Rotation.from_rotvec(angle * n).as_matrix()
        np.testing.assert_allclose(u, expected, atol=2e-15)
        # Entries of the order of the angle keep their relative accuracy.
        axial = np.array([u[2, 1] - u[1, 2], u[0, 2] - u[2, 0], u[1, 0] - u[0, 1]]) / 2
        np.testing.assert_allclose(axial, np.sin(angle) * n, rtol=0, atol=1e-15 * min(1.0, angle) + 4e-16 * angle**2)


@pytest.mark.parametrize("angle", ANGLES)
def test_rotation_vector_comes_back(angle):
    for n in random_axes(40):
        w = angle * n
        back = Pose.rotation(w).rotation_vector()
        np.testing.assert_allclose(back, w, rtol=0, atol=2e-15 * angle, err_msg=f"axis {n}")


@pytest.mark.parametrize("angle", [1e-6, 0.3, 3.0, np.pi - 1e-6])
def test_rotation_vector_of_matrices_made_elsewhere(angle):
    for n in random_axes(20, seed=1):
        u = Rotation.from_rotvec(angle * n).as_matrix()
        np.testing.assert_allclose(rotations.rotation_vector(u), angle * n, rtol=0, atol=1e-14 * max(angle, 0.05))


def test_rotation_vector_at_pi_is_either_of_the_two():
    for n in random_axes(40):
        # 2 n n^T - 1 is the half turn about n; n and -n are equally right.
        back = rotations.rotation_vector(2 * np.outer(n, n) - np.eye(3))
        sign = np.sign(back @ n)
        np.testing.assert_allclose(sign * back, np.pi * n, rtol=0, atol=1e-14)
        through_sine = Pose.rotation(np.pi * n).rotation_vector()
        np.testing.assert_allclose(np.sign(through_sine @ n) * through_sine, np.pi * n, rtol=0, atol=1e-14)


def test_rotation_vector_of_no_rotation_is_zero():
    assert Pose().rotation_vector().tolist() == [0, 0, 0]
    assert Pose.rotation((0, 0, 0)).U.tolist() == np.eye(3).tolist()


@pytest.mark.filterwarnings("ignore:Pose")  # of angles beyond a whole turn
@pytest.mark.parametrize("angle", [3.5, 2 * np.pi - 0.1, 2 * np.pi + 0.1, 9.0])
def test_rotation_vector_is_the_shortest(angle):
    n = np.array([1, -2, 2]) / 3
    shortest = (angle + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(Pose.rotation(angle * n).rotation_vector(), shortest * n, atol=1e-14)


@pytest.mark.parametrize("step", [0.7, -0.7, np.pi / 4, 3.0])
def test_nearest_rotation_vector_stays_continuous_past_pi(step):
    # Up to five turns; steps of pi/4 hit whole turns, where the matrix is the identity, exactly.
    for n in random_axes(5):
        followed = np.zeros(3)
        for k in range(1, int(10 * np.pi / abs(step)) + 1):
            w = Rotation.from_rotvec(k * step * n).as_rotvec()
            followed = rotations.nearest_rotation_vector(w, followed)
            np.testing.assert_allclose(followed, k * step * n, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Pose")  # of angles beyond a whole turn
def test_nearest_rotation_vector_is_the_same_rotation_and_the_closest():
    rng = np.random.default_rng(5)
    for _ in range(50):
        w, previous = Rotation.random(rng=rng).as_rotvec(), 4 * rng.normal(size=3)
        found = rotations.nearest_rotation_vector(w, previous)
        np.testing.assert_allclose(Pose.rotation(found).U, Pose.rotation(w).U, atol=1e-14)
        n = w / np.linalg.norm(w)
        others = [w + 2 * np.pi * k * n for k in range(-4, 5)]
        assert np.linalg.norm(found - previous) <= min(np.linalg.norm(x - previous) for x in others) + 1e-12


# -- derivative of the logarithm ----------------------------------------------------------------------------------
SIZES = [1e-9, 1e-4, 0.3, 0.5 * (1 - 1e-12), 0.5, 0.5 * (1 + 1e-12), 0.6, 1.5, 3.0, 3.5, 5.5]


def left_jacobian(w):
    """``J(w) = int_0^1 exp(s [w]x) ds`` by Gauss-Legendre quadrature: d exp = [J dw]x exp."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    turns = Rotation.from_rotvec(0.5 * (1 + nodes[:, None]) * w).as_matrix()
    return 0.5 * np.einsum("k,kij->ij", weights, turns)


@pytest.mark.parametrize("size", SIZES)
def test_inverse_left_jacobian_inverts_the_integral_of_the_exponential(size):
    for n in random_axes(5):
        w = size * n
        np.testing.assert_allclose(rotations.inverse_left_jacobian(w) @ left_jacobian(w), np.eye(3), atol=3e-14)


@pytest.mark.parametrize("size", [1e-3, 0.5, 1.0, 3.0])
def test_inverse_left_jacobian_is_the_derivative_of_the_logarithm(size):
    for n in random_axes(5):
        w = size * n

        def log(a, w=w):
            turned = rotations.rotation_matrix(a) @ rotations.rotation_matrix(w)
            return rotations.nearest_rotation_vector(rotations.rotation_vector(turned), w)

        np.testing.assert_allclose(difference(log, np.zeros(3)), rotations.inverse_left_jacobian(w), atol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_inverse_left_jacobian_slope_is_the_derivative(size):
    rng = np.random.default_rng(2)
    for n in random_axes(5):
        w, along = size * n, rng.normal(size=3)
        expected = difference(lambda x, along=along: rotations.inverse_left_jacobian(x) @ along, w, h=0.01)
        found = rotations.inverse_left_jacobian_slope(w, along)
        np.testing.assert_allclose(found, expected, atol=1e-11 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("t", [0.0, 1e-8, 0.1, 0.49, 0.4999999, 0.5, 0.5000001, 0.6, 1.0, 2.0])
def test_log_coefficients_are_the_bernoulli_series(t):
    # t/2 cot(t/2) = 1 - sum |B_2n| t^2n/(2n)!  (Abramowitz and Stegun 4.3.70) for t < 2 pi, where
    # |B_2n|/(2n)! = 2 zeta(2n)/(2 pi)^2n  (the same, 23.2.16).
    n = np.arange(1, 41)
    b = 2 * scipy.special.zeta(2.0 * n) / (2 * np.pi) ** (2.0 * n)
    series = np.sum(b * t ** (2.0 * n - 2))
    slope = np.sum(b[1:] * (2 * n[1:] - 2) * t ** (2.0 * n[1:] - 4))
    c, e = rotations.log_coefficients(t * t)
    assert c == pytest.approx(series, rel=1e-14)
    assert e == pytest.approx(slope, rel=2e-12)


def test_cross_matrix_and_turn_all():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 3))
    np.testing.assert_allclose(rotations.cross_matrix(a) @ b, np.cross(a, b), atol=1e-15)
    u = Rotation.random(4, rng=rng)
    w = rng.normal(size=(4, 3))
    expected = (Rotation.from_rotvec(w) * u).as_matrix()
    np.testing.assert_allclose(rotations.turn_all(u.as_matrix(), w), expected, atol=1e-15)


def test_a_thousand_turns_stay_orthonormal():
    u = np.eye(3)[None]
    for _ in range(1000):
        u = rotations.turn_all(u, np.array([[0.3, -0.2, 0.1]]))
    np.testing.assert_allclose(u[0].T @ u[0], np.eye(3), atol=1e-15)


# -- bad input ----------------------------------------------------------------------------------------------------
SKEWED = np.eye(3) + 1e-6 * np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    "orientation, words",
    [
        (SKEWED, ["not orthonormal", "1e-06", "Pose.rx"]),
        (2 * np.eye(3), ["not orthonormal", "reaches 3", "expected below 1e-08"]),
        (np.diag([1.0, 1.0, -1.0]), ["left-handed", "reverse one of its axes"]),
        (np.eye(2), ["(2, 2)", "shape (3, 3)"]),
        (np.ones(3), ["(3,)", "shape (3, 3)"]),
        (np.full((3, 3), np.nan), ["nan", "expected"]),
        ("unit", ["'unit'", "expected finite real numbers of shape (3, 3)"]),
        (np.eye(3) + 1j * SKEWED, ["expected finite real numbers of shape (3, 3)"]),
        ([[1, 0], [0, 1, 0]], ["expected finite real numbers of shape (3, 3)"]),
    ],
)
def test_bad_orientation_is_refused(orientation, words):
    with pytest.raises(ModelError) as caught:
        Pose((0, 0, 0), orientation)
    for word in ["Pose: orientation", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "origin, words",
    [
        ((1, 2), ["(2,)", "expected three finite numbers"]),
        (3.0, ["()", "expected three finite numbers"]),
        ((0, np.inf, 0), ["inf", "expected three finite numbers"]),
        ((0, np.nan, 0), ["nan", "expected three finite numbers"]),
        ("here", ["'here'", "expected three finite real numbers"]),
        (None, ["expected"]),
        ((1j, 0, 0), ["1j", "expected three finite real numbers"]),
    ],
)
def test_bad_origin_is_refused(origin, words):
    with pytest.raises(ModelError) as caught:
        Pose(origin)
    for word in ["Pose: origin", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("angle", [np.nan, np.inf, "right", None, (1, 2)])
@pytest.mark.parametrize("make", [Pose.rx, Pose.ry, Pose.rz, Pose.dx, lambda a: Pose.rotation((a, 0, 0))])
def test_bad_numbers_are_refused(make, angle):
    with pytest.raises(ModelError, match="expected"):
        make(angle)


def test_rounding_of_typed_matrices_is_removed():
    typed = np.round(Rotation.from_rotvec([0.3, -0.4, 0.5]).as_matrix(), 9)
    u = Pose((0, 0, 0), typed).U
    assert np.abs(typed.T @ typed - np.eye(3)).max() > 1e-10
    np.testing.assert_allclose(u.T @ u, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(u, typed, atol=1e-9)
    left, _, right = np.linalg.svd(typed)  # the nearest rotation is the orthogonal polar factor
    np.testing.assert_allclose(orthonormal(typed), left @ right, atol=1e-15)


def test_exact_input_stays_exact():
    permutation = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert Pose((0.1, 0.2, 0.3), permutation).U.tolist() == permutation


# -- immutability -------------------------------------------------------------------------------------------------
P = Pose((1, 2, 3), Rotation.from_rotvec([0.1, 0.2, 0.3]).as_matrix())
MADE = {
    "by default": Pose(),
    "by hand": P,
    "named": Pose.rx(0.2),
    "composed": P @ P,
    "inverted": P.inverse(),
    "seen from": P.seen_from(Pose.dx(1)),
    "moved": P.moved((1, 0, 0), (0, 0, 1)),
    "copied": copy.copy(P),
    "copied deeply": copy.deepcopy(P),
    "pickled": pickle.loads(pickle.dumps(P)),
}


@pytest.mark.parametrize("p", MADE.values(), ids=list(MADE))
def test_poses_cannot_be_changed(p):
    with pytest.raises(ValueError, match="read-only"):
        p.o[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        p.U[0, 0] = 5.0
    with pytest.raises(AttributeError):
        p.o = np.zeros(3)


def test_a_pose_does_not_share_the_arrays_it_was_made_from():
    o, u = np.zeros(3), np.eye(3)
    p = Pose(o, u)
    o[0], u[0, 0] = 7.0, 7.0
    assert p.o[0] == 0.0 and p.U[0, 0] == 1.0


@pytest.mark.parametrize("degrees", [90, -45.0, 180, 360])
@pytest.mark.parametrize(
    "turned",
    [Pose.rx, Pose.ry, Pose.rz, lambda a: Pose.euler(0.1, a, 0.2), lambda a: Pose().moved((0, 0, 0), (0, a, 0))],
)
def test_angles_beyond_a_whole_turn_are_doubted(turned, degrees):
    """What is typed in degrees; a pose knows no whole turns, so nobody needs such an angle."""
    with pytest.warns(
        ModelWarning, match=rf"turned by {abs(degrees):g} rad.*expected radians; write np.deg2rad\({abs(degrees):g}\)"
    ):
        turned(degrees)


@pytest.mark.parametrize("angle", [0.0, 1.0, np.pi, -np.pi, 2 * np.pi, -2 * np.pi, 3 * (2 * np.pi / 3), 6.283185307])
def test_angles_up_to_a_whole_turn_are_not_doubted(angle):
    assert Pose.rx(angle).is_close(Pose.rx(angle - 2 * np.pi * np.sign(angle)), 1e-12, 1e-12)
