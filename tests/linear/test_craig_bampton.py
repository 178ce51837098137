"""Condensing matrices to interfaces and fixed-interface modes."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.io
import scipy.linalg
import scipy.sparse as sp
from textbook_frames import Bar, chain

import mse
from mse import ModelError, Pose
from mse.linear.craig_bampton import reduce_matrices

pytestmark = pytest.mark.rounding

BAR = Bar()


def ends(elements: int) -> np.ndarray:
    return np.r_[0:6, 6 * elements : 6 * elements + 6]


def dynamic(m, k, at, frequency: float) -> np.ndarray:
    """Dynamic stiffness at the coordinates ``at`` by full solution: the inverse of the flexibility there."""
    d = (k - (2 * np.pi * frequency) ** 2 * m).toarray()
    rest = np.setdiff1d(np.arange(len(d)), at)
    return d[np.ix_(at, at)] - d[np.ix_(at, rest)] @ np.linalg.solve(d[np.ix_(rest, rest)], d[np.ix_(rest, at)])


def reduced_dynamic(r, frequency: float) -> np.ndarray:
    b = len(r.boundary)
    d = r.K - (2 * np.pi * frequency) ** 2 * r.M
    if len(d) == b:
        return d
    return d[:b, :b] - d[:b, b:] @ np.linalg.solve(d[b:, b:], d[b:, :b])


def scaled_error(found: np.ndarray, exact: np.ndarray, r, frequency: float) -> float:
    b = len(r.boundary)
    scale = np.sqrt(np.abs(np.diag(r.K)[:b]) + (2 * np.pi * frequency) ** 2 * np.diag(r.M)[:b])
    units = np.outer(scale, scale)
    return np.linalg.norm((found - exact) / units, 2) / np.linalg.norm(found / units, 2)


# -- statics ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [0, 5])
def test_statics_at_the_boundary_are_those_of_a_bar(count):
    # the closed form of one textbook element over the whole length is exact for end loads
    m, k = chain(BAR, 12)
    r = reduce_matrices(m, None, k, ends(12), modes=count)
    whole = chain(BAR, 1)[1].toarray()
    scale = np.sqrt(np.diag(whole))
    error = (r.K[:12, :12] - whole) / np.outer(scale, scale)
    assert np.abs(error).max() < 1e-12
    np.testing.assert_array_equal(r.K[:12, 12:], 0)


def test_statics_survive_loads_in_any_order_of_the_boundary():
    m, k = chain(BAR, 8)
    order = np.random.default_rng(0).permutation(ends(8))
    a, b = reduce_matrices(m, None, k, ends(8), modes=3), reduce_matrices(m, None, k, order, modes=3)
    swap = np.argsort(np.argsort(order))
    np.testing.assert_allclose(b.K[:12, :12], a.K[:12, :12][np.ix_(swap, swap)], rtol=1e-9, atol=1e-3)
    np.testing.assert_array_equal(b.boundary, order)


def test_a_held_bar_sags_by_the_closed_form():
    # full solution through T: one end held, a force at the other, F L^3/(3 E I) and the slope F L^2/(2 E I)
    m, k = chain(BAR, 10)
    r = reduce_matrices(m, None, k, ends(10), modes=0)
    u = np.linalg.solve(r.K[6:, 6:], [0, 0, 1.0, 0, 0, 0])
    stiff = BAR.young * BAR.iy
    assert u[2] == pytest.approx(BAR.length**3 / (3 * stiff), rel=1e-11)
    assert u[4] == pytest.approx(-(BAR.length**2) / (2 * stiff), rel=1e-11)
    inside = (r.transformation @ np.r_[np.zeros(6), u]).reshape(-1, 6)
    x = np.linspace(0, BAR.length, 11)
    np.testing.assert_allclose(inside[:, 2], x**2 * (3 * BAR.length - x) / (6 * stiff), rtol=1e-10)


# -- modes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("elements", [20, 130])  # dense and sparse inside
def test_fixed_interface_modes_are_those_of_a_bar_clamped_at_both_ends(elements):
    m, k = chain(BAR, elements)
    r = reduce_matrices(m, None, k, ends(elements), modes=8)
    # textbook elements of length h bend too fast by (beta h)^4/1440
    for beta in (4.730040744862704, 7.853204624095838, 10.99560783800167):
        for inertia in (BAR.iy, BAR.iz):
            rate = (beta / BAR.length) ** 2 * np.sqrt(BAR.young * inertia / (BAR.density * BAR.area)) / (2 * np.pi)
            if rate < r.frequencies_hz[-1]:
                excess = (beta / elements) ** 4 / 1440
                nearest = r.frequencies_hz[np.argmin(np.abs(r.frequencies_hz - rate))]
                assert nearest / rate - 1 == pytest.approx(excess, rel=0.02, abs=1e-8)
    n = elements - 1
    dense_k, dense_m = k[6:-6, 6:-6].toarray(), m[6:-6, 6:-6].toarray()
    w2 = scipy.linalg.eigh(dense_m, dense_k, eigvals_only=True)[::-1][:9]
    exact = 1 / np.sqrt(w2) / (2 * np.pi)
    np.testing.assert_allclose(r.frequencies_hz, exact[:8], rtol=1e-8)
    assert r.omitted_frequency_hz == pytest.approx(exact[8], rel=1e-8)
    phi = r.transformation[6:-6, 12:]
    assert phi.shape == (6 * n, 8)
    np.testing.assert_allclose(phi.T @ dense_m @ phi, np.eye(8), atol=1e-9)


@pytest.mark.parametrize("elements", [20, 130])
def test_up_to_a_frequency(elements):
    m, k = chain(BAR, elements)
    by_count = reduce_matrices(m, None, k, ends(elements), modes=7)
    between = 0.5 * (by_count.frequencies_hz[-1] + by_count.omitted_frequency_hz)
    r = reduce_matrices(m, None, k, ends(elements), up_to_hz=between)
    np.testing.assert_allclose(r.frequencies_hz, by_count.frequencies_hz, rtol=1e-9)
    assert r.omitted_frequency_hz == pytest.approx(by_count.omitted_frequency_hz, rel=1e-9)


def test_equal_modes_are_all_found():
    # a square bar bends alike both ways
    bar = Bar(width=0.01, height=0.01)
    m, k = chain(bar, 130)
    for count in (1, 2, 3, 6):
        r = reduce_matrices(m, None, k, ends(130), modes=count)
        every = np.append(r.frequencies_hz, r.omitted_frequency_hz)
        np.testing.assert_allclose(every[: count // 2 * 2 : 2], every[1 : count // 2 * 2 : 2], rtol=1e-7)


def test_dynamics_converge_with_the_number_of_modes_and_the_report_bounds_the_error():
    m, k = chain(BAR, 16)
    at, f = ends(16), 180.0
    exact = dynamic(m, k, at, f)
    errors = []
    for count in (0, 2, 4, 8, 16, 32, 64):
        r = reduce_matrices(m, None, k, at, modes=count)
        found = scaled_error(reduced_dynamic(r, f), exact, r, f)
        told = float(r.relative_error(f))
        if f < r.omitted_frequency_hz:
            assert found <= told * (1 + 1e-6) + 1e-12, count
            if f < 0.2 * r.omitted_frequency_hz:
                assert told < 1.3 * found + 1e-12, count
        else:
            assert told == np.inf
        errors.append(found)
    assert errors[3] < 1e-2 and errors[5] < 1e-5 and errors[6] < 1e-7
    assert np.all(np.diff(np.log(errors)) < 0.0)


def test_all_modes_are_the_system_itself():
    m, k = chain(BAR, 4)
    at = ends(4)
    r = reduce_matrices(m, None, k, at, modes=18)
    assert r.omitted_frequency_hz == np.inf and not np.any(r.omitted_compliance)
    np.testing.assert_array_equal(r.omitted_mass, 0)
    exact = dynamic(m, k, at, 700.0)
    assert scaled_error(reduced_dynamic(r, 700.0), exact, r, 700.0) < 1e-11
    free = np.sqrt(np.abs(scipy.linalg.eigh(k.toarray(), m.toarray(), eigvals_only=True)[6:]))
    np.testing.assert_allclose(np.sqrt(scipy.linalg.eigh(r.K, r.M, eigvals_only=True)[6:]), free, rtol=1e-9)


def test_modal_masses_add_up():
    m, k = chain(BAR, 9)
    every = reduce_matrices(m, None, k, ends(9), modes=48)
    some = reduce_matrices(m, None, k, ends(9), modes=6)
    part = some.M[12:, :12]
    np.testing.assert_allclose(some.modal_mass, np.sum(every.M[12:, :12] ** 2, axis=0), rtol=1e-9)
    np.testing.assert_allclose(some.omitted_mass, some.modal_mass - np.sum(part**2, axis=0), rtol=1e-9, atol=1e-12)
    # one end held and the whole moved with it: what is inside and moves, all of the mass but what the ends carry
    rigid = reduce_matrices(m, None, k, np.arange(6), modes=0)
    assert rigid.modal_mass[0] < BAR.mass and rigid.modal_mass[0] > 0.9 * BAR.mass


def test_masses_only_in_translation_leave_massless_coordinates():
    m, k = chain(BAR, 10)
    lumped = sp.diags(np.where(np.arange(66) % 6 < 3, np.asarray(m.sum(axis=1)).ravel().clip(1e-9), 0.0))
    r = reduce_matrices(lumped, None, k, ends(10), modes=27)
    assert r.omitted_frequency_hz == np.inf and len(r.frequencies_hz) == 27
    with pytest.raises(ModelError, match="modes is 28; expected at most 27"):
        reduce_matrices(lumped, None, k, ends(10), modes=28)


def test_damping_is_carried_along():
    m, k = chain(BAR, 10)
    r = reduce_matrices(m, 1e-4 * k + 2.0 * m, k, ends(10), modes=4)
    np.testing.assert_allclose(r.Lambda, 1e-4 * r.K + 2.0 * r.M, rtol=1e-9, atol=1e-6 * np.abs(r.Lambda).max())


def plate(side: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """A lattice of nodes on a square, six coordinates each, joined along both ways by frame elements."""
    from textbook_frames import element_matrices

    bar = Bar(width=0.01, height=0.01)
    m1, k1 = element_matrices(bar, 0.01)
    turn = np.kron(np.eye(4), np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]))
    number = np.arange(side * side).reshape(side, side)
    pairs = [(number[:-1].ravel(), number[1:].ravel(), (m1, k1)),
             (number[:, :-1].ravel(), number[:, 1:].ravel(), (turn.T @ m1 @ turn, turn.T @ k1 @ turn))]  # fmt: skip
    n = 6 * side * side
    out = []
    for which in (0, 1):
        total = sp.csr_matrix((n, n))
        for a, b, matrices in pairs:
            at = np.hstack([6 * a[:, None] + np.arange(6), 6 * b[:, None] + np.arange(6)])
            i, j = np.broadcast_arrays(at[:, :, None], at[:, None, :])
            values = np.broadcast_to(matrices[which], i.shape)
            total = total + sp.csr_matrix((values.ravel(), (i.ravel(), j.ravel())), shape=(n, n))
        out.append(total)
    return out[0], out[1]


@pytest.mark.slow
def test_fifty_thousand_coordinates_take_seconds():
    m, k = plate(91)
    n = k.shape[0]
    at = np.r_[0:6, n - 6 : n]
    start = time.perf_counter()
    r = reduce_matrices(m, None, k, at, modes=20)
    assert time.perf_counter() - start < 120
    # free of forces when moved rigidly, and symmetric loads meet symmetric answers
    arm = np.array([0.9, 0.9, 0.0])
    rigid = np.vstack([np.eye(6), np.eye(6)])
    rigid[6:9, 3:] = -np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    d = np.sqrt(np.diag(r.K)[:12])
    assert np.abs((r.K[:12, :12] @ rigid) / d[:, None]).max() / d.max() < 1e-7
    residual = k @ (r.transformation[:, 12:]) - m @ r.transformation[:, 12:] * (2 * np.pi * r.frequencies_hz) ** 2
    residual[at] = 0
    assert np.abs(residual).max() < 1e-6 * np.abs(k @ np.abs(r.transformation[:, 12:])).max()


# -- refusals -----------------------------------------------------------------------------------------------------
def refused(text: str, **changes):
    m, k = chain(BAR, 4)
    arguments = {"M": m, "K": k, "Lambda": None, "boundary": ends(4), "modes": 2} | changes
    with pytest.raises(ModelError) as caught:
        reduce_matrices(**arguments)
    for words in text.split("|"):
        assert words in str(caught.value), caught.value
    return str(caught.value)


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"boundary": [0, 30]}, "boundary[1] is 30|at most 29"),
        ({"boundary": [-1]}, "boundary[0] is -1"),
        ({"boundary": [1, 2, 1]}, "boundary lists 1 2 times"),
        ({"boundary": []}, "boundary is []"),
        ({"boundary": [0.0, 1.0]}, "boundary[0] is 0.0; expected a whole number"),
        ({"modes": 19}, "modes is 19; expected at most 18"),
        ({"modes": -1}, "modes is -1; expected a whole number of at least 0"),
        ({"modes": 2.0}, "modes is 2.0; expected a whole number"),
        ({"modes": None}, "modes is None and up_to_hz is None; expected one of them"),
        ({"up_to_hz": 100.0}, "modes is 2 and up_to_hz is 100.0; expected one"),
        ({"modes": None, "up_to_hz": -3.0}, "up_to_hz is -3.0 Hz; expected a finite number greater than 0"),
        ({"M": np.eye(3)}, "M has shape (3, 3); expected (30, 30) like K"),
        ({"K": np.ones((2, 3))}, "K has shape (2, 3); expected a symmetric matrix"),
        ({"K": np.triu(chain(BAR, 4)[1].toarray())}, "K is unsymmetric by|add the other"),
        ({"M": np.full((30, 30), np.nan)}, "M[0, 0] is nan; expected finite"),
        ({"Lambda": "viscous"}, "Lambda is 'viscous'"),
        ({"M": 1j * np.eye(30)}, "M is |real numbers"),
        ({"M": -np.eye(30)}, "M is -1 at [0, 0]; expected a positive semi-definite|negative kinetic energy"),
        ({"M": np.eye(30) + 2 * np.eye(30)[::-1]}, "M has the eigenvalue -1 once|negative kinetic energy"),
    ],
)
def test_refusals(changes, text):
    refused(text, **changes)


@pytest.mark.parametrize("elements", [6, 130])
def test_an_inside_that_can_move_is_refused_with_the_number_of_its_motions(elements):
    m, k = chain(BAR, elements)
    # two bars, the second one not held at all: six rigid motions
    both_m, both_k = (sp.block_diag([a, a], format="csr") for a in (m, k))
    text = refused("6 motions inside have no positive stiffness", M=both_m, K=both_k, boundary=ends(elements))
    number = int(text.split("largest at coordinate ")[1].split(")")[0])
    assert number >= m.shape[0]
    # a hinge about x at one end only: the bar spins
    refused("1 motions inside have no positive stiffness", M=m, K=k, boundary=[0, 1, 2, 4, 5])


def test_coordinates_without_stiffness_are_named():
    m, k = chain(BAR, 4)
    k = k.tolil()
    k[9, :] = 0
    k[:, 9] = 0
    refused("no positive stiffness at 1 coordinates inside: 9", K=k.tocsr(), M=m)


def test_an_indefinite_stiffness_is_refused():
    m, k = chain(BAR, 130)
    k = k.tolil()
    k[300, 303] = k[303, 300] = 3e9
    refused("motions inside have no positive stiffness", M=m, K=k.tocsr(), boundary=ends(130))


def test_the_table_tells_what_is_left_out():
    m, k = chain(BAR, 10)
    text = str(reduce_matrices(m, None, k, ends(10), modes=4))
    for words in ("66 coordinates condensed to 16", "4 fixed-interface modes", "First mode left out", "Error of the"):
        assert words in text


def test_a_body_needs_six_coordinates_an_interface():
    m, k = chain(BAR, 4)
    r = reduce_matrices(m, None, k, ends(4), modes=2)
    with pytest.raises(ModelError, match="body 'bar': 1 interfaces for 12 boundary coordinates; expected six"):
        r.body("bar", interfaces={"left": Pose()})


def test_reductions_of_models_name_their_coordinates():
    k = [[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
    model = mse.LinearModel.from_matrices(np.eye(3), None, k, coordinates=["a.x", "b.x", "c.x"])
    _, report = mse.reduce_model(model, ["c.x", "a.x"], modes=0)
    assert report.names == ("c.x", "a.x") and "\nc.x " in repr(report) and "\na.x " in repr(report)
    loose = mse.LinearModel.from_matrices(np.eye(2), None, [[1.0, 0.0], [0.0, 0.0]], coordinates=["a.x", "b.x"])
    with pytest.raises(ModelError, match=r"no positive stiffness at 1 coordinates inside: b\.x;"):
        mse.reduce_model(loose, ["a.x"], modes=0)
    by_number = mse.reduce_matrices(np.eye(3), None, k, boundary=[2], modes=0)
    assert by_number.names == () and "\n                  2 " in repr(by_number)
