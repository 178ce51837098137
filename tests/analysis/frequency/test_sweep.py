"""Frequency response by elimination without pivoting: its answers, its check, its work and its memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import mse
import mse.analysis.frequency.direct
import mse.analysis.frequency.response
import mse.analysis.frequency.sweep
from models import four_wire_chain
from mse.analysis.frequency.direct import solve
from mse.analysis.frequency.equations import Equations, Polynomial
from mse.analysis.frequency.sweep import Sweep
from mse.errors import ModelError
from mse.kernels.ldl import BLOCK
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding


def definite(rng, n: int) -> np.ndarray:
    a = rng.standard_normal((n, n))
    return a @ a.T / n + 0.3 * np.eye(n)


def linked(bodies: int, links, block: int = 6, seed: int = 0) -> Polynomial:
    """Bodies of ``block`` coordinates, each link a random stiffness at a random lever; (a, -1) goes to the ground."""
    rng = np.random.default_rng(seed)
    rows, columns, values = [], [], []
    for a, b in links:
        k, lever = definite(rng, block), np.eye(block) + 0.2 * rng.standard_normal((block, block))
        terms = [(a, a, k)]
        if b >= 0:
            terms += [(b, b, lever.T @ k @ lever), (a, b, -k @ lever), (b, a, -(k @ lever).T)]
        for i, j, value in terms:
            rows.append(np.repeat(block * i + np.arange(block), block))
            columns.append(np.tile(block * j + np.arange(block), block))
            values.append(value.ravel())
    at = (np.concatenate(rows), np.concatenate(columns))
    k = sp.csr_matrix((np.concatenate(values), at), shape=(block * bodies,) * 2)
    k = (k + k.T) / 2
    mass = sp.block_diag([sp.csr_matrix(definite(rng, block)) for _ in range(bodies)], format="csr")
    return Polynomial(k * (1 + 0.01j), 0.01 * mass, mass)


def in_a_chain(bodies: int) -> list[tuple[int, int]]:
    """A chain, every fifth body also tied to the ground."""
    return [(k, k - 1) for k in range(bodies)] + [(k, -1) for k in range(5, bodies, 5)]


def at_random(bodies: int, links: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, bodies, (links, 2))
    return in_a_chain(bodies) + [(int(a), int(b)) for a, b in pairs if a != b]


def picking(n: int, *coordinates: int) -> Polynomial:
    """Outputs that are coordinates."""
    k = sp.csr_matrix(
        (np.ones(len(coordinates)), (np.arange(len(coordinates)), coordinates)), shape=(len(coordinates), n)
    )
    return Polynomial(k, 0 * k, 0 * k)


def splu_response(matrix: Polynomial, drive: Polynomial, read: Polynomial, w: np.ndarray) -> np.ndarray:
    """``c Z^-1 b`` with pivots, one frequency after the other."""
    return np.array([
        c @ splu(sp.csc_matrix(matrix.k + 1j * x * matrix.c - x**2 * matrix.m, dtype=complex)).solve(b)
        for x, b, c in zip(w, drive.at(w), read.at(w), strict=True)
    ])  # fmt: skip


def close(found: np.ndarray, right: np.ndarray, share: float) -> None:
    np.testing.assert_allclose(found, right, rtol=0, atol=share * np.abs(right).max())


# -- answers ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(40))
def test_random_symmetric_matrices_of_any_pattern(seed):
    """1 to 60 coordinates, few or many inputs and outputs, lossy or real, all of them polynomials in w."""
    rng = np.random.default_rng(seed)
    n, inputs, outputs = int(rng.integers(1, 61)), int(rng.integers(1, 8)), int(rng.integers(1, 30))
    if seed % 2:
        inputs, outputs = outputs, inputs
    lossy = seed % 3 > 0
    a = sp.random(n, n, rng.uniform(0.0, 0.4), random_state=rng, data_rvs=rng.standard_normal)
    k = (a + a.T + sp.diags(rng.uniform(1, 4, n) * rng.choice([-1, 1], n))).tocsr()
    m = sp.diags(rng.uniform(0.5, 1.5, n)).tocsr()

    def coupling(rows, columns):
        parts = [sp.random(rows, columns, 0.3, random_state=rng).tocsr() for _ in range(3)]
        return Polynomial(parts[0], parts[1] if lossy else 0 * parts[1], parts[2])

    matrix = Polynomial(k * (1 + 0.1j) if lossy else k, 0.1 * m if lossy else 0 * m, m)
    drive, read = coupling(n, inputs), coupling(outputs, n)
    w = rng.uniform(0, 3, int(rng.integers(1, 30)))
    sweep = Sweep("random", matrix, drive, read)
    assert sweep.dtype is (complex if lossy else float)
    found, good = sweep(w)
    z = matrix.at(w)
    right = read.at(w) @ np.linalg.solve(z, drive.at(w))
    assert good.mean() > 0.8
    for j in np.flatnonzero(good):
        error = 1e-11 * np.linalg.cond(z[j]) * max(np.abs(right[j]).max(), 1e-3)
        np.testing.assert_allclose(found[j], right[j], rtol=0, atol=error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "matrix",
    [
        linked(500, in_a_chain(500)),
        linked(60, in_a_chain(60), block=24),
        linked(3000, in_a_chain(3000), block=1),
        linked(250, at_random(250, 60)),
        linked(80, at_random(80, 700)),
    ],
    ids=["chain", "blocks of 24", "scalar chain", "cross-linked", "nearly full"],
)
def test_large_sparse_matrices(matrix):
    """Fronts narrower and much wider than a block of columns, against SuperLU; at the driving point and across."""
    n = matrix.k.shape[0]
    drive, read = picking(n, 0, n // 2).T, picking(n, 0, n // 3, n - 1)
    w = np.r_[0.0, np.geomspace(0.02, 2.0, 10)]
    found, good = Sweep("large", matrix, drive, read)(w)
    assert good.all()
    close(found, splu_response(matrix, drive, read, w), 1e-11)


@pytest.mark.parametrize("seed", range(10))
def test_entries_without_a_mirror_image_do_no_harm(seed):
    """Sums in another order leave 1e-30 on one side of the diagonal and 0 on the other, which couples nothing."""
    rng = np.random.default_rng(seed)
    matrix = linked(60, at_random(60, 120), block=2, seed=seed)
    n = matrix.k.shape[0]
    sides = sp.csr_matrix((np.full(200, 1e-30), rng.integers(0, n, (2, 200))), shape=(n, n))
    drive, read = picking(n, 0, n // 2).T, picking(n, 1, n - 1)
    w = np.linspace(0.01, 3.0, 24)
    values, good = Sweep("model", Polynomial(matrix.k + sides, matrix.c, matrix.m), drive, read)(w)
    assert good.all()
    close(values, splu_response(matrix, drive, read, w), 1e-9)


@pytest.mark.slow
def test_many_outputs_are_read_after_substituting_back_and_many_inputs_by_reciprocity():
    matrix = linked(100, at_random(100, 30))
    n = matrix.k.shape[0]
    one, all_ = picking(n, 7), picking(n, *range(n))
    w = np.linspace(0.05, 2.0, 11)
    out, good = Sweep("outputs", matrix, one.T, all_)(w)
    into, good_too = Sweep("inputs", matrix, all_.T, one)(w)
    assert good.all() and good_too.all()
    close(out, splu_response(matrix, one.T, all_, w), 1e-11)
    close(into, out.transpose(0, 2, 1), 1e-13)


def test_reciprocity_and_no_energy_out_of_nothing():
    """H is symmetric, and the power ``w Im(-H_jj)/2`` that a harmonic force brings in is never negative."""
    matrix = linked(40, at_random(40, 10))
    model = mse.LinearModel.from_matrices(matrix.m, matrix.c, matrix.k.real.toarray())
    points = ["x0", "x17", "x101", "x239"]
    f = np.geomspace(0.005, 0.5, 300)
    values = model.frequency_response(f, inputs=points, outputs=points, loss={"model": 0.01}).values
    close(values, values.transpose(0, 2, 1), 1e-13)
    assert np.all(-np.diagonal(values, axis1=1, axis2=2).imag > 0)


def test_frequencies_come_back_in_the_order_given():
    matrix, w = linked(20, in_a_chain(20)), np.array([1.0, 0.0, 0.3, 1.0, 0.7, 0.01, 0.3, 2.0, 0.5, 0.1, 1.5])
    n = matrix.k.shape[0]
    sweep = Sweep("order", matrix, picking(n, 3).T, picking(n, 3))
    sorted_values = sweep(np.sort(w))[0]
    np.testing.assert_allclose(sweep(w)[0], sorted_values[np.searchsorted(np.sort(w), w)], rtol=1e-12)


def test_the_three_ways_agree(monkeypatch):
    """Held coordinates (an actuator and a sensor), with and without pivoting, densely and sparsely."""
    linear = four_wire_chain(5, driven=True).find_working_point().linearize()
    f = np.geomspace(0.05, 50, 20)
    response = linear.frequency_response(f, loss={"wire0_0": 0.1})
    system = Equations(
        linear, linear.input_indices(None), linear.output_indices(None),
        mse.linear.losses.loss_factors(linear, {"wire0_0": 0.1}),
    )  # fmt: skip
    largest = np.abs(response.values).max(axis=(1, 2), keepdims=True)
    dense = solve(linear, system, f)
    monkeypatch.setattr(SIZES, "dense", 5)
    sparse = solve(linear, system, f)
    assert response.notes == ()
    np.testing.assert_allclose(response.values / largest, dense / largest, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sparse / largest, dense / largest, rtol=0, atol=1e-9)


def test_threads_change_nothing(monkeypatch):
    matrix, w = linked(60, at_random(60, 20)), np.geomspace(0.01, 3, 150)
    n = matrix.k.shape[0]
    sweep = Sweep("threads", matrix, picking(n, 0).T, picking(n, n - 1))
    results = []
    for cycles, processors in ((1e30, 1), (1.0, 3)):
        monkeypatch.setattr(SIZES, "shared_cycles", cycles)
        monkeypatch.setattr(mse.analysis.frequency.sweep, "processors", lambda p=processors: p)
        results.append(sweep(w)[0])
    np.testing.assert_array_equal(*results)


def test_multipliers_wait_for_their_neighbors():
    """Rows without a diagonal are eliminated after what they hold, wherever they stand among the coordinates."""
    rng = np.random.default_rng(3)
    bodies = linked(30, [(k, -1) for k in range(0, 30, 3)])
    n, m = 180, 87
    held = np.zeros((m, n))
    for joint, row in itertools.product(range(29), range(3)):
        held[3 * joint + row, 6 * joint : 6 * joint + 12] = rng.standard_normal(12)
    shuffle = rng.permutation(n + m)
    whole = [
        sp.bmat([[a, g.T], [g, None]], format="csr")[shuffle][:, shuffle]
        for a, g in zip(bodies[:3], (sp.csr_matrix(held), *[sp.csr_matrix((m, n))] * 2), strict=True)
    ]
    matrix, w = Polynomial(*whole), np.linspace(0.3, 2.0, 9)
    drive, read = picking(n + m, 5, 8).T, picking(n + m, 5, 60)
    found, good = Sweep("held", matrix, drive, read)(w)
    assert good.all()
    close(found, splu_response(matrix, drive, read, w), 1e-10)


# -- the check ----------------------------------------------------------------------------------------------------
def test_the_check_sees_one_wrong_entry_and_a_lost_one():
    matrix, w = linked(30, in_a_chain(30)), np.linspace(0.1, 2.0, 20)
    n = matrix.k.shape[0]
    sweep = Sweep("wrong", matrix, picking(n, 0).T, picking(n, n - 1))
    assert sweep(w)[1].all()
    values = sweep._values.reshape(-1, 4)
    largest = np.argmax(np.abs(values[:, 0]))
    values[largest, 0] *= 1 + 1e-7
    assert not sweep(w)[1].any()
    values[largest, 0] /= 1 + 1e-7
    assert sweep(w)[1].all()
    values[largest] = 0.0
    assert not sweep(w)[1].any()


def test_a_pivot_that_vanishes_is_solved_with_pivoting_and_said():
    """[[1 - w^2, 1], [1, -w^2]] loses its first pivot at w = 1 without being singular; seven of them, as a pair is too little."""
    k = np.kron(np.eye(7), [[1.0, 1.0], [1.0, 0.0]])
    model = mse.LinearModel.from_matrices(np.eye(14), None, k, name="saddle")
    f = np.array([0.5, 1.0, 2.0]) / (2 * np.pi)
    response = model.frequency_response(f)
    for w, value in zip((0.5, 1.0, 2.0), response.values, strict=True):
        np.testing.assert_allclose(value, np.linalg.inv(k - w**2 * np.eye(14)), rtol=1e-12, atol=1e-15)
    (note,) = response.notes
    assert note.startswith("1 of 3 frequencies (0.159155 Hz) solved one by one with pivoting")
    assert f"note: {note}" in repr(response)
    assert model.frequency_response(f[::2]).notes == ()


def test_tiny_pivots_do_not_pass():
    """Growth of 1e5 to 1e13 beside a vanishing pivot: what passes is right to 1e-9 all the same."""
    k = np.array([[1.0, 1.0, 0.3], [1.0, 0.0, 0.2], [0.3, 0.2, 0.5]])
    eye = sp.identity(3, format="csr")
    matrix, all_ = Polynomial(sp.csr_matrix(k), 0 * eye, eye), Polynomial(eye, 0 * eye, 0 * eye)
    w = np.sqrt(1 - 10.0 ** -np.arange(3, 16))
    found, good = Sweep("tiny", matrix, all_, all_)(w)
    assert good[0] and not good[-4:].any()
    right = np.linalg.inv(matrix.at(w))
    close(found[good], right[good], 1e-9)


def test_an_undamped_resonance_between_the_ends_of_a_long_chain_is_not_passed_over():
    """A light mass on springs in the middle of a stiff chain: its resonance hardly moves the ends, where elimination ends."""
    n = 41
    k = 100.0 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    m = np.full(n, 1.0)
    m[20] = 0.01
    w2, shapes = np.linalg.eigh(k / np.sqrt(np.outer(m, m)))
    assert abs(shapes[20, -1]) > 0.9 and abs(shapes[0, -1]) < 1e-12
    model = mse.LinearModel.from_matrices(np.diag(m), None, k)
    with pytest.raises(mse.SingularResponseError, match="drives an undamped resonance of x20"):
        # the nearest number to the root, from the squared shape on
        model.frequency_response(np.nextafter(np.sqrt(w2[-1]), [0, 1, 9]) / (2 * np.pi), inputs=["x20"])


# -- work and memory ----------------------------------------------------------------------------------------------
def of_chain(bodies: int) -> Sweep:
    matrix = linked(bodies, in_a_chain(bodies))
    n = matrix.k.shape[0]
    return Sweep("chain", matrix, picking(n, 0).T, picking(n, n - 1))


@pytest.mark.slow
def test_work_and_memory_grow_with_the_chain():
    small, large = of_chain(100), of_chain(1000)
    assert large.elimination.kept < 10.1 * small.elimination.kept
    assert large.elimination.cycles < 10.1 * small.elimination.cycles
    # L is never kept: what one thread holds does not even grow
    assert large.memory(1) < 1.2 * small.memory(1)
    # 36 entries beside each block of 21, and three border rows
    assert small.elimination.kept <= 100 * 6 * (6 + 6 + 3)


def test_coordinates_of_a_body_share_a_front():
    fronts = of_chain(50).elimination.fronts
    assert len(fronts.parents) <= 50
    assert np.all(np.diff(fronts.first_column) % 6 == 0)


def test_fill_on_a_graph_is_that_of_minimum_degree():
    """No more entries than SuperLU's own L and U of the same matrix hold, but for the zeros of dense fronts."""
    matrix = linked(300, at_random(300, 90))
    n = matrix.k.shape[0]
    sweep = Sweep("graph", matrix, picking(n, 0).T, picking(n, n - 1))
    lu = splu(matrix.k.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    border = 3 * n
    assert sweep.elimination.kept - border < 1.3 * (lu.L.nnz + lu.U.nnz) / 2 + 12 * n


def test_fronts_wider_than_a_block_are_used():
    assert linked(80, at_random(80, 700)).k.nnz > 0.2 * 480**2 / 2
    matrix = linked(80, at_random(80, 700))
    sweep = Sweep("wide", matrix, picking(480, 0).T, picking(480, 1))
    assert np.diff(sweep.elimination.fronts.first_column).max() > 3 * BLOCK


def test_too_much_memory_is_refused_with_its_size(monkeypatch):
    model = four_wire_chain(3).find_working_point().linearize()
    model = mse.LinearModel.from_matrices(model.M, None, model.K, name="tower")
    monkeypatch.setattr(mse.analysis.frequency.sweep, "free_memory", lambda: 1e6)
    with pytest.raises(
        ModelError, match=r"tower: the response of 18 coordinates at 20000 frequencies needs .* GB"
    ) as e:
        model.frequency_response(np.linspace(0.001, 0.01, 20000))
    assert "0.001 GB are free" in str(e.value) and "fewer frequencies" in str(e.value)


def test_a_zero_on_the_diagonal_is_no_resonance():
    """Two coordinates that are coupled and have no stiffness of their own, at almost no frequency."""
    k = np.array([[0.0, 7.0, 0.0], [7.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    response = mse.LinearModel.from_matrices(np.eye(3), None, k).frequency_response([1e-9, 1e-7, 0.01])
    for f, value in zip(response.frequencies_hz, response.values, strict=True):
        np.testing.assert_allclose(value, np.linalg.inv(k - (2 * np.pi * f) ** 2 * np.eye(3)), rtol=1e-12, atol=1e-15)


def oscillators(stiffness: np.ndarray, loss: float, coupling: float = 1e-6) -> Polynomial:
    """Unit masses on springs (N/m) with a loss factor, each hardly coupled to the next one."""
    n = len(stiffness)
    beside = np.full(n - 1, coupling)
    k = sp.diags([stiffness * (1 + 1j * loss), beside, beside], [0, 1, -1], format="csr")
    return Polynomial(k, 0 * sp.identity(n, format="csr"), sp.identity(n, format="csr"))


def test_the_check_sees_soft_entries_beside_stiff_ones_over_a_wide_band():
    """Entries are weighed as at the frequencies that share a known answer: 1e-10 of a spring 1e8 times softer is seen."""
    matrix, w = oscillators(np.repeat([1e4, 1e-4], 7), 0.01), np.geomspace(1e-3, 1e3, 60)
    sweep = Sweep("soft", matrix, picking(14, 0).T, picking(14, 13))
    assert sweep(w)[1].all()
    values = sweep._values.reshape(-1, 4)
    values[np.argmin(np.abs(values[:, 0] - 1e-4)), 0] *= 1 + 1e-10
    assert not sweep(w)[1][w < 3e-3].any()


@pytest.mark.parametrize("quality", [1e6, 1e10])
def test_what_losses_alone_hold_at_resonance_is_swept(quality):
    w = np.array([0.5, 1.0, 2.0])
    matrix, one = oscillators(np.geomspace(1.0, 50.0, 14), 1.0 / quality), picking(14, 0)
    found, good = Sweep("sharp", matrix, one.T, one)(w)
    assert good.all() and abs(found[1, 0, 0]) == pytest.approx(quality, rel=1e-3)


def test_a_resonance_that_is_read_and_hardly_driven_does_not_pass():
    """What a force elsewhere does to a mass at its own resonance, which nothing damps, is rounding alone."""
    stiffness = np.geomspace(1.0, 50.0, 14)
    matrix, at = oscillators(stiffness, 0.0, 1e-9), np.sqrt(stiffness[5])
    _, good = Sweep("read", matrix, picking(14, 0).T, picking(14, 5))(np.array([0.9, 1.0, 1.1]) * at)
    assert good.tolist() == [True, False, True]


def test_a_sweep_in_pieces_is_the_whole(monkeypatch):
    matrix, w = linked(20, in_a_chain(20)), np.random.default_rng(0).permutation(np.geomspace(0.01, 3, 400))
    sweep = Sweep("pieces", matrix, picking(120, 0).T, picking(120, 119))
    whole, _ = sweep(w)
    monkeypatch.setattr(mse.analysis.frequency.sweep, "_AT_ONCE", 0.0)
    monkeypatch.setattr(mse.analysis.frequency.sweep, "processors", lambda: 1)
    np.testing.assert_allclose(sweep(w)[0], whole, rtol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_multipliers_are_swept_as_dense_equations_have_it(seed):
    """Constraints driven and multipliers read, few outputs or many: against numpy with the whole ``[[Z, A^T], [A, 0]]``."""
    rng = np.random.default_rng(seed)
    free = linked(20, at_random(20, 10), seed=seed)
    n, m = free.k.shape[0], 30
    bodies = rng.integers(0, 19, m)
    held = np.zeros((m, n))
    for row, body in zip(held, bodies, strict=True):
        row[6 * body : 6 * body + 12] = rng.standard_normal(12)
    k = sp.bmat([[free.k, held.T], [sp.csr_matrix(held), None]], format="csr")
    none = sp.csr_matrix((m, m))
    matrix = Polynomial(k, *(sp.block_diag([a, none], format="csr") for a in free[1:3]))
    drive = picking(n + m, 0, n + 3).T
    read = picking(n + m, *((5, n + 3, n + m - 1) if seed % 2 else range(n + m)))
    w = np.geomspace(0.05, 3.0, 16)
    found, good = Sweep("held", matrix, drive, read, None, m)(w)
    assert good.all()
    close(found, read.at(w) @ np.linalg.solve(matrix.at(w), drive.at(w)), 1e-10)
