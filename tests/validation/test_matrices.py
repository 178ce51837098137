"""Matrices that users give: what is refused, in which words, what rounding is let through, and how large ones are judged."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse import LinearModel
from mse.errors import ModelError
from mse.numerics.factor import Ordering
from mse.validation import matrices

I2 = np.eye(2)
FROM = LinearModel.from_matrices


def beam_masses(n: int) -> sp.csr_matrix:
    """Consistent masses of n Bernoulli elements in displacements and rotations: coupled, definite, no diagonal dominance."""
    h = 1.0 / n
    one = h / 420 * np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
                              [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]])  # fmt: skip
    rows, cols = np.indices((4, 4)).reshape(2, -1)
    at = 2 * np.repeat(np.arange(n), 16)
    values = np.tile(one.ravel(), n)
    return sp.csr_matrix((values, (at + np.tile(rows, n), at + np.tile(cols, n))), shape=(2 * n + 2,) * 2)


# -- refusals -----------------------------------------------------------------------------------------------------
BAD = {
    "complex": 1j * I2,
    "complex beside real": np.array([[1.0, 0], [0, 1 + 1e-30j]]),
    "complex sparse": sp.csr_matrix(1j * I2),
    "truth values": sp.csr_matrix(I2.astype(bool)),
    "text": "stiff",
    "texts": np.array([["a", "b"], ["c", "d"]]),
    "numerals": [["1", "0"], ["0", "1"]],
    "None inside": np.array([[1.0, None], [None, 1.0]]),
    "masked": np.ma.masked_array(I2, mask=[[True, False], [False, False]]),
    "ragged": [[1.0, 2.0], [3.0]],
    "one number": 3.0,
    "one row": np.ones(2),
    "three dimensions": np.ones((2, 2, 2)),
    "oblong": np.ones((2, 3)),
    "oblong sparse": sp.csr_matrix(np.ones((2, 3))),
    "other size": np.eye(3),
    "nan": I2 * np.nan,
    "infinite": sp.csr_matrix([[1.0, np.inf], [np.inf, 1.0]]),
    "huge": [[10**400, 0], [0, 1]],
    "beyond reckoning": 1e200 * I2,
    "one triangle": [[2.0, 1.0], [0.0, 2.0]],
    "object": object(),
}


@pytest.mark.parametrize("which", ["M", "Lambda", "K"])
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_symmetric_matrix_of_real_numbers_is_refused_by_name(name, which):
    given = {"M": I2, "Lambda": I2, "K": I2} | {which: BAD[name]}
    if name == "other size" and which == "K":
        which = "M"  # of K, with which the others are compared
    with pytest.raises(ModelError, match=rf"LinearModel 'it': {which}(\[| is | has )(?s:.*)expected ") as caught:
        FROM(given["M"], given["Lambda"], given["K"], name="it")
    assert "\n" not in str(caught.value)


def test_indices_of_a_sparse_matrix_that_point_outside_are_refused():
    damaged = sp.csr_matrix(I2)
    damaged.indices[1] = 7
    with pytest.raises(ModelError, match="K is damaged .*expected a matrix of real numbers.*export it again"):
        FROM(I2, None, damaged)


@pytest.mark.parametrize("given", [3, "xy", (1, 2), ("a",), ("a", "a"), ("a", None), {"a", "b"}, np.nan])
def test_coordinates_are_as_many_different_names(given):
    with pytest.raises(ModelError, match="LinearModel 'it': .*expected"):
        FROM(I2, None, I2, name="it", coordinates=given)


@pytest.mark.parametrize("given", [3, None, b"it"])
def test_the_name_is_text(given):
    with pytest.raises(ModelError, match="name is .*expected a non-empty string"):
        FROM(I2, None, I2, name=given)


@pytest.mark.parametrize(
    "convert", [np.asarray, sp.csr_matrix, sp.csc_array, sp.coo_array, lambda a: np.asarray(a).tolist()]
)
def test_negative_masses_are_refused_and_say_where(convert):
    with pytest.raises(
        ModelError, match=r"M is -1 at \[1, 1\]; expected a positive semi-definite.*negative kinetic energy"
    ):
        FROM(convert(np.diag([1.0, -1.0])), None, I2)
    with pytest.raises(ModelError, match=r"M has the eigenvalue -1 once scaled to a unit diagonal; expected"):
        FROM(convert(np.array([[1.0, 2.0], [2.0, 1.0]])), None, I2)
    # in units that have nothing to do with each other
    with pytest.raises(ModelError, match=r"M has the eigenvalue -"):
        FROM(convert(np.array([[1e4, 0.2, 0], [0.2, 1e-6, 0], [0, 0, 1]])), None, np.eye(3))


def test_damping_that_feeds_motions_must_be_meant():
    feeds = np.diag([0.1, -0.1])
    with pytest.raises(ModelError, match=r"Lambda is -0.1 at \[1, 1\]; .*feed energy into motions; say active=True"):
        FROM(I2, feeds, I2)
    modes = FROM(I2, feeds, np.diag([1.0, 2.0]), active=True).modes(damped=True)
    assert modes.unstable.tolist() == [False, True]
    np.testing.assert_allclose(modes.damping_ratios, [0.05, -0.1 / (2 * np.sqrt(2))], rtol=1e-12)


def test_stiffness_may_be_negative():
    assert FROM(I2, None, np.diag([-1.0, 1.0])).modes().unstable.any()


# -- what is taken ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.coo_array, sp.dia_matrix, np.asfortranarray,
                                     lambda a: a.astype(np.float32), lambda a: a.astype(int), lambda a: a.tolist(),
                                     lambda a: a.astype(object)])  # fmt: skip
def test_every_form_of_the_same_matrix_gives_the_same_model(convert):
    k = np.array([[3.0, -1.0], [-1.0, 2.0]])
    found = FROM(convert(I2), convert(0 * k), convert(k))
    for a, expected in ((found.M, I2), (found.Lambda, 0 * k), (found.K, k)):
        assert isinstance(a, sp.csr_matrix) and a.dtype == float
        np.testing.assert_array_equal(a.toarray(), expected)


def test_the_model_keeps_matrices_of_its_own():
    m, k = sp.identity(2, format="csr"), sp.csr_matrix([[2.0, -1.0], [-1.0, 2.0]])
    model = FROM(m, k, k)
    m.data[:], k.data[:] = 7.0, 9.0
    assert model.M.max() == 1.0 and model.K.max() == model.Lambda.max() == 2.0


@pytest.mark.parametrize("n", [3, 200])
def test_rounding_of_a_semidefinite_mass_is_no_negative_mass(n):
    """Turned masses of a few bodies without any rotary inertia, rounded as finite elements are; 200 elements: sparse paths."""
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    one = turn @ np.diag([3.0, 3.0, 3.0, 0.0, 0.0, 0.0]) @ turn.T
    m = np.kron(np.eye(n), one)
    noise = rng.normal(size=m.shape) * 3e-13 * (m != 0)
    found = FROM(sp.csr_matrix(m + noise + noise.T), None, sp.identity(6 * n))
    assert len(found.modes(3)) == 3


def test_reductions_and_bodies_hold_masses_to_the_same():
    m = np.diag([1.0, 1.0, 1.0, 1e-13, -1e-13, 0.0])  # a point mass as rounding leaves it
    body = mse.FlexibleBody("f", M=m, K=np.zeros((6, 6)), interfaces={"a": mse.Pose()})
    assert body.mass == 1.0
    mse.reduce_matrices(m, None, np.eye(6), [0, 1, 2], modes=0)
    for spoiled in (m - np.diag([0, 0, 0, 0, 0, 1e-9]), 1j * m, np.array(m, dtype=object) + np.diag([1j] + 5 * [0])):
        with pytest.raises(ModelError, match="FlexibleBody 'f': M is "):
            mse.FlexibleBody("f", M=spoiled, K=np.zeros((6, 6)), interfaces={"a": mse.Pose()})
        with pytest.raises(ModelError, match="reduce_matrices: M is "):
            mse.reduce_matrices(spoiled, None, np.eye(6), [0, 1, 2], modes=0)


# -- large ones ---------------------------------------------------------------------------------------------------
LARGE = beam_masses(2000)


def test_large_masses_are_judged_without_dense_work(monkeypatch):
    """Definite, singular and indefinite ones of 4002 coordinates."""

    def no_dense(*_):
        raise AssertionError("dense work")

    monkeypatch.setattr(matrices, "_negative_dense", no_dense)
    assert matrices.negative(LARGE) is None
    massless = sp.diags(np.where(np.arange(4002) % 2, 0.0, 1.0))
    assert matrices.negative((massless @ LARGE @ massless).tocsr()) is None
    assert "eigenvalue of -" in matrices.negative(
        (LARGE + sp.csr_matrix(([2.0, 2.0], ([0, 4001], [4001, 0])), LARGE.shape)).tocsr()
    )
    for size in (1e-2, 1e-4, 1e-6):
        # two coordinates coupled by a little more than their masses, as a slip in one number of an export makes it
        slip = sp.csr_matrix([[1e-3, 1e-3 + 1e-3 * size], [1e-3 + 1e-3 * size, 1e-3]])
        assert "eigenvalue of -" in matrices.negative(sp.block_diag([LARGE, slip], format="csr")), size


def test_masses_are_factorized_where_gradients_take_long(monkeypatch):
    """Those of beams, in an ordering that serves what follows; those of a solid, whose factor is full, need none."""
    made, real = [], Ordering.of
    monkeypatch.setattr(Ordering, "of", lambda *a: made.append(a) or real(*a))
    line = sp.diags_array([np.ones(19), np.full(20, 4.0), np.ones(19)], offsets=[-1, 0, 1]) / 6.0
    assert matrices.negative(sp.kron(sp.kron(line, line), line, format="csr")) is None and not made
    model = FROM(LARGE, None, LARGE)
    assert len(made) == 1
    model.modes(3)
    assert len(made) == 1


def test_the_sparse_answer_is_the_dense_one():
    """Symmetric matrices on both sides of the border; 320 coordinates go the way of sparse ones."""
    rng = np.random.default_rng(11)
    for k in range(8):
        a = sp.random(320, 320, density=0.02, rng=rng)
        scale = 10.0 ** rng.uniform(-2, 2, 320)
        definite = (a @ a.T + 0.1 * sp.identity(320)).toarray()
        lowest = np.linalg.eigvalsh(definite)[0]
        shifted = definite - lowest * (1.0 + 10.0 ** rng.uniform(-7, -1) * (-1) ** k) * np.eye(320)
        m = scale[:, None] * shifted * scale
        m = 0.5 * (m + m.T)
        assert (matrices.negative(m) is None) == (matrices.negative(sp.csr_matrix(m)) is None)


def test_no_dense_zeros_are_made_for_a_model_without_damping():
    """As dense numbers, the zeros alone would take 80 GB."""
    n = 100_000
    model = FROM(sp.identity(n), None, sp.identity(n))
    assert model.Lambda.nnz == 0 and model.Lambda.shape == (n, n)
