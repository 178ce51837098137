"""Modes of large models by Lanczos: none missed, whatever the spectrum; against dense solutions and known ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
from counting import without_counts

import mse
from models import four_wire_chain
from mse.numerics import lanczos
from mse.numerics.factor import Factor
from mse.numerics.lanczos import Lanczos
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding


def springs(n: int, ground: float = 1.0) -> sp.csr_matrix:
    """n unit springs in a row, the first to the ground."""
    k = sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1]).tolil()
    k[0, 0] = 1.0 + ground
    k[n - 1, n - 1] = 1.0
    return k.tocsr()


def of(k, m=None) -> mse.LinearModel:
    n = k.shape[0]
    return mse.LinearModel.from_matrices(sp.identity(n, format="csr") if m is None else m, None, k)


def squares(modes) -> np.ndarray:
    """w^2, ascending."""
    return np.sort(np.real(-(modes.eigenvalues**2)))


def check_shapes(model, modes, tolerance=1e-8) -> None:
    x, w2 = modes.shapes, np.real(-(modes.eigenvalues**2))
    m = x.T @ (model.M @ x)
    np.testing.assert_allclose(m, np.eye(len(w2)), atol=tolerance)
    left = model.K @ x - (model.M @ x) * w2
    assert np.all(np.abs(left).max(axis=0) <= tolerance * np.abs(abs(model.K) @ np.abs(x)).max(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("unstable", [0, 1, 7, 40])
def test_against_a_dense_solution(unstable):
    rng = np.random.default_rng(unstable)
    n = 700
    b = sp.random(n, n, density=2.0 / n, rng=rng)
    c = sp.random(n, n, density=1.0 / n, rng=rng)
    m = c @ c.T + sp.diags(rng.uniform(0.5, 2.0, n))
    k = (b + b.T + sp.diags(rng.uniform(1.0, 50.0, n))).tocsr()
    w2 = sl.eigh(k.toarray(), m.toarray(), eigvals_only=True)
    k = k - (0.5 * (w2[unstable - 1] + w2[unstable]) if unstable else w2[0] - 0.1) * m
    w2 = sl.eigh(k.toarray(), m.toarray(), eigvals_only=True)
    assert np.count_nonzero(w2 < 0) == unstable
    model = of(k, m)
    found = model.modes(25)
    nearest = np.sort(w2[np.argsort(np.abs(w2))[:25]])  # whether they grow or swing
    np.testing.assert_allclose(squares(found), nearest, rtol=1e-9, atol=1e-11)
    check_shapes(model, found)


@pytest.mark.parametrize("count", [1, 3, 24, 40, 61])
def test_more_equal_modes_than_a_block_has_vectors(count):
    """30 chains, not connected: every frequency 30 times."""
    single = springs(40)
    model = of(sp.block_diag([single] * 30, format="csr"))
    found = model.modes(count)
    exact = np.repeat(np.linalg.eigvalsh(single.toarray()), 30)[:count]
    np.testing.assert_allclose(squares(found), exact, rtol=1e-10)
    check_shapes(model, found)


@pytest.mark.parametrize("size", [1e-160, 1e-120])
def test_solutions_that_are_no_numbers_are_refused(size):
    """A is singular up to rounding, so that squares of what it solves for are larger than any number."""
    stiffness = np.geomspace(1.0, 2.0, 50)
    stiffness[7] = size
    with np.errstate(over="raise", invalid="raise"), pytest.raises(RuntimeError, match="singular up to rounding"):
        Lanczos(lambda b: b / stiffness[:, None], sp.identity(50, format="csr"), 50).find(0, 3, 0)


def test_what_the_start_does_not_see_is_missed_and_counted(monkeypatch):
    """Two chains, not connected; the first start moves only one of them."""
    starts = []

    def half(self):
        block = self._random.standard_normal((self._n, 4))
        block[500:] *= len(starts) > 0
        starts.append(self._size)
        return block

    monkeypatch.setattr(Lanczos, "_start", half)
    k = sp.block_diag([springs(500), 1.1 * springs(500)], format="csr")
    found = of(k).modes(20)
    single = np.linalg.eigvalsh(springs(500).toarray())
    np.testing.assert_allclose(squares(found), np.sort(np.concatenate([single, 1.1 * single]))[:20], rtol=1e-9)
    assert len(starts) == 2
    assert starts[1] >= 20


def test_all_modes_equal():
    found = of(4.0 * sp.identity(900, format="csr")).modes(50)
    np.testing.assert_allclose(squares(found), 4.0, rtol=1e-12)
    np.testing.assert_allclose(found.shapes.T @ found.shapes, np.eye(50), atol=1e-10)


def test_less_mass_than_modes():
    n = 800
    mass = np.zeros(n)
    mass[::80] = 2.0
    model = of(springs(n), sp.diags(mass, format="csr"))
    flexible = np.linalg.inv(springs(n).toarray())[::80, ::80]
    exact = np.sort(1.0 / np.linalg.eigvalsh(2.0 * flexible))
    found = model.modes(20)
    np.testing.assert_allclose(squares(found), exact, rtol=1e-9)


def test_no_mass_no_modes():
    assert len(of(springs(800), sp.csr_matrix((800, 800))).modes(20)) == 0


@pytest.mark.parametrize("free", [1, 2, 9])
def test_free_motions_are_exactly_at_zero(free):
    model = of(sp.block_diag([springs(100, 0.0)] * free + [springs(100)] * (10 - free), format="csr"))
    found = model.modes(15 - free)
    assert np.count_nonzero(found.free) == free
    single = [np.linalg.eigvalsh(springs(100, g).toarray()) for g in (0.0, 1.0)]
    exact = np.sort(np.concatenate([single[0]] * free + [single[1]] * (10 - free)))[:15]
    np.testing.assert_allclose(squares(found), exact, rtol=1e-8, atol=1e-13)


@pytest.mark.slow
def test_crowded_spectra_need_restarts(monkeypatch):
    """Eigenvalues far from the shift and near to each other converge slowly."""
    restarts = []
    restart = Lanczos._restart
    monkeypatch.setattr(Lanczos, "_restart", lambda self, *args: restarts.append(0) or restart(self, *args))
    w2 = 1.0 + 1e-4 * np.arange(3000) + 1e-7 * np.arange(3000) ** 2
    k = sp.diags(w2, format="csr")
    found = of(k).modes(30)
    assert restarts
    np.testing.assert_allclose(squares(found), w2[:30], rtol=1e-11)


def test_a_restart_takes_hardly_more_blocks_than_a_space_without():
    """A box of springs between walls: 36 blocks suffice where there is room for all of them, 45 where checks come late."""
    single, blocks, restarts = springs(10).tolil(), [], []
    single[-1, -1] = 2.0
    k = sp.kronsum(sp.kronsum(single, 1.1 * single), 1.2 * single, format="csc")
    factor = Factor(k)

    class Counted(Lanczos):
        def _restart(self, *given):
            restarts.append(given)
            return super()._restart(*given)

    search = Counted(lambda b: blocks.append(b) or factor.solve(b), sp.identity(1000, format="csr"), 1000)
    nu, _ = search.find(0, 20, 1)
    w2 = np.linalg.eigvalsh(single.toarray())
    exact = np.sort(np.add.outer(np.add.outer(w2, 1.1 * w2), 1.2 * w2).ravel())[:20]
    np.testing.assert_allclose(1.0 / nu[::-1][:20], exact, rtol=1e-12)
    assert restarts
    assert len(blocks) <= 40


def test_masses_are_multiplied_once_a_block(monkeypatch):
    """And twice at the start: products of masses that couple more than bodies with themselves take longest."""
    products, real = [], Lanczos._weighed
    monkeypatch.setattr(Lanczos, "_weighed", lambda self, w: products.append(w) or real(self, w))
    box = sp.kronsum(sp.kronsum(springs(10), 1.1 * springs(10)), 1.2 * springs(10), format="csc")
    mass, blocks = (sp.identity(1000) + 0.1 * box).tocsr(), []
    factor = Factor(box + 0.01 * mass)
    search = Lanczos(lambda b: blocks.append(b) or factor.solve(b), mass, 1000)
    search.find(0, 5, 1)
    assert len(products) <= 1.7 * len(blocks) <= 48


def test_both_ends_and_new_starts():
    """Nine equal ones at either end: of four vectors in a block each start sees four for certain."""
    w2 = np.concatenate([np.full(9, -3.0), np.full(9, 2.0), np.linspace(5.0, 900.0, 900)])
    k, m = sp.diags(w2, format="csc"), sp.identity(len(w2), format="csr")
    search = Lanczos(Factor(k).solve, m, k.shape[0])
    for least in (4, 8, 9):
        nu, x = search.find(least, least, 1)
        np.testing.assert_allclose(nu[:least], -1 / 3, rtol=1e-12)
        np.testing.assert_allclose(nu[-least:], 1 / 2, rtol=1e-12)
        np.testing.assert_allclose(x[:, -least:].T @ x[:, -least:], np.eye(least), atol=1e-10)
        search.renew()


@pytest.mark.slow
def test_a_long_chain_by_two_routes():
    linear = four_wire_chain(150).find_working_point().linearize()
    found = linear.modes(30)
    w2 = sl.eigh(linear.K.toarray(), linear.M.toarray(), eigvals_only=True)
    np.testing.assert_allclose(squares(found), w2[:30], rtol=1e-6)
    check_shapes(linear, found)
    lightly = linear.modes(12, damped=True)
    np.testing.assert_allclose(lightly.frequencies_hz, found.frequencies_hz[:12], rtol=1e-9)


def test_damped_modes_of_proportional_damping():
    k = springs(900)
    m = sp.diags(np.linspace(1.0, 2.0, 900), format="csr")
    model = mse.LinearModel.from_matrices(m, 0.002 * m + 0.01 * k, k)
    w2 = sl.eigh(k.toarray(), m.toarray(), eigvals_only=True)[:15]
    found = model.modes(15, damped=True)
    decay = 0.001 + 0.005 * w2
    # the slowest are overdamped, and two each
    exact = np.concatenate([-decay + s * np.emath.sqrt(decay**2 - w2) for s in (1, -1)])
    exact = exact[exact.imag >= 0]
    exact = exact[np.lexsort((exact.imag, np.abs(exact)))][:15]
    np.testing.assert_allclose(found.eigenvalues, exact, rtol=1e-8)


def test_more_modes_than_memory_are_refused_with_what_they_need(monkeypatch):
    model = four_wire_chain(120).find_working_point().linearize()
    monkeypatch.setattr(mse.analysis.resources, "free_memory", lambda: 1e6)
    monkeypatch.setattr(mse.analysis.resources, "ALWAYS_FREE", 5e5)
    with pytest.raises(
        mse.ModelError, match=r"40 modes of 720 coordinates need 0\.000979 GB.*at most 0\.0008 GB.*fewer modes"
    ):
        model.modes(40)
    assert len(model.modes(10)) == 10


def test_of_equal_unstable_modes_none_is_missed():
    """Sixty alike, and more than were asked for: the nearest to zero, whatever their sign, as in a small model."""
    k = np.diag(np.r_[-3.46 * np.ones(60), 1e4 * np.ones(600)])
    for count in (3, 20, 60, 61):
        found = of(k).modes(count)
        assert len(found) == count and np.count_nonzero(found.unstable) == min(count, 60)


@pytest.mark.slow
@pytest.mark.parametrize("blind", [3, 5])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 6, 20])
def test_unstable_modes_that_the_start_does_not_see_are_counted(monkeypatch, blind, count):
    """Five of them, nearer to zero than all others; the first start has no share in the last ones."""
    starts = []

    def unseeing(self):
        block = self._random.standard_normal((self._n, 4))
        block[-blind:] *= len(starts) > 0
        starts.append(self._size)
        return block

    monkeypatch.setattr(Lanczos, "_start", unseeing)
    w2 = np.r_[np.linspace(2, 50, 700), -np.linspace(1.0, 1.04, 5)]
    found = of(sp.diags(w2, format="csr")).modes(count)
    np.testing.assert_allclose(squares(found), np.sort(w2[np.argsort(np.abs(w2))[:count]]), rtol=1e-10)


def test_large_and_small_models_choose_the_same_modes():
    k = np.diag(np.r_[-np.linspace(30, 40, 12), np.linspace(1, 50, 148)])
    for count in (10, 26, 27, 100):  # by Lanczos, then densely
        right = np.sort(np.abs(np.diag(k)))[:count]
        np.testing.assert_allclose(np.sort(np.abs(squares(of(k).modes(count)))), right, rtol=1e-10)


@pytest.mark.parametrize("tiny", [0.0, 1e-22, 1e-16, 1e-12, 1e-8])
def test_diagonals_that_are_hardly_there(tiny):
    """Twenty pairs coupled off the diagonal alone: w^2 = +-7, and a factor that must exchange rows."""
    a = np.zeros((300, 300))
    a[range(40, 300), range(40, 300)] = 1e3
    for i in range(0, 40, 2):
        a[i, i + 1] = a[i + 1, i] = 7.0
        a[i, i] = a[i + 1, i + 1] = tiny
    x = Factor(sp.csc_matrix(a)).solve(np.ones(300))
    np.testing.assert_allclose(a @ x, 1.0, rtol=1e-10)
    found = of(sp.csr_matrix(a)).modes(8)
    np.testing.assert_allclose(np.abs(squares(found)), 7.0, rtol=1e-8)


def swings(count: int) -> np.ndarray:
    """Frequencies (Hz) at which ``hanging_rods`` swing in one plane, by their angles: arms T, ``m T^T T + J`` against ``m g``."""
    arms = np.tril(np.full((count, count), 0.05), -1) + 0.025 * np.eye(count)
    mass, stiffness = 0.02 * arms.T @ arms + 1e-5 * np.eye(count), 0.02 * 9.8 * arms.sum(axis=0)
    # the largest of 1/w^2: the smallest of w^2 would carry the rounding of the largest, which is millions of times as much
    rates = sl.eigh(
        mass / np.sqrt(np.outer(stiffness, stiffness)), eigvals_only=True, subset_by_index=(count - 20, count - 1)
    )
    return 1.0 / np.sqrt(rates[::-1]) / (2 * np.pi)


@pytest.mark.slow
@pytest.mark.parametrize("every", [100, 1])
@pytest.mark.parametrize("count", [60, 700])
def test_ropes_with_free_spins(count, every):
    """Rods on universal joints, some or all on spherical ones: as many free spins, and all that swings, twice."""
    from test_complexity import hanging_rods

    wp = hanging_rods(count, every).find_working_point()
    spins = -(-count // every)
    assert len(wp.free) == spins and wp.stable
    assert len(wp.history) == 1  # they hang at rest, whatever their number: nothing is left to search
    found = wp.linearize().modes(30)
    assert np.count_nonzero(found.free) == spins and not found.unstable.any()
    # the worst of these cases with the kernels of Prescott, Haswell, Zen and SkylakeX: 1.1e-12, 60 rods on Haswell's
    np.testing.assert_allclose(found.frequencies_hz[spins:], np.repeat(swings(count)[:15], 2), rtol=1e-11)
    shapes = found.shapes
    np.testing.assert_allclose(shapes.T @ (wp.linearize().M @ shapes), np.eye(spins + 30), atol=1e-8)


@pytest.mark.parametrize("weak", [1e-6, 1e-3, 1e3])
def test_a_free_motion_beside_soft_and_stiff_ones(monkeypatch, weak):
    """A free chain of stiff springs, ``w^2 = 4 k sin^2(j pi/2 n)``, and one soft coordinate apart from it."""
    monkeypatch.setattr(SIZES, "dense_modes", 0)
    n, stiff = 100, 1e9
    k = sp.block_diag([stiff * springs(n, 0.0), [[weak]]], format="csr")
    found = of(k).modes(60)
    assert np.count_nonzero(found.free) == 1
    expected = 4 * stiff * np.sin(np.arange(1, 60) * np.pi / (2 * n)) ** 2
    np.testing.assert_allclose(squares(found)[1:], np.append(weak, expected), rtol=1e-12)
    # masses are one
    np.testing.assert_allclose(found.shapes.T @ found.shapes, np.eye(61), atol=1e-12)


@pytest.mark.slow
def test_a_list_that_disagrees_with_the_count_is_not_given(monkeypatch):
    """Where every search leaves out the same mode, and where no factor counts."""
    model = of(springs(800))
    find = Lanczos.find

    def blind(self, below, above, more):
        nu, x = find(self, below, above + 1, more)
        kept = np.argsort(-nu) != 1  # all but the second lowest
        return nu[kept], x[:, kept]

    monkeypatch.setattr(Lanczos, "find", blind)
    with pytest.raises(
        mse.ModelError, match="rounding hides its stiffness and mass next to zero frequency, so modes cannot be counted"
    ):
        model.modes(6)
    monkeypatch.undo()
    without_counts(monkeypatch, Factor)
    with pytest.raises(mse.ModelError, match="modes cannot be counted"):
        model.modes(6)


@pytest.mark.parametrize("soft", [1e-5, 1e-4])
def test_soft_modes_beside_a_nearly_free_one(soft):
    """Bodies on a stiff rod on a spring that is hardly there, with oscillators of ten decades on them."""
    m, k = np.diag([1.0, 1.0, *[1e-3] * 8]), np.zeros((10, 10))
    for i, j, stiffness in [(0, 0, soft), (0, 1, 1e8), *((2 + i, i % 2, 10 ** (i - 5.3)) for i in range(8))]:
        k[i, i] += stiffness
        if i != j:
            k[j, j] += stiffness
            k[i, j] = k[j, i] = -stiffness
    modes = mse.LinearModel.from_matrices(m, None, k).modes()
    x, k, m = (a.astype(np.longdouble) for a in (modes.shapes, k, m))
    quotients = np.einsum("ij,ij->j", x, k @ x) / np.einsum("ij,ij->j", x, m @ x)
    # K's own rounding, 1e-8, is the stiffness of the first few
    np.testing.assert_allclose(squares(modes)[4:], quotients[4:].astype(float), rtol=3e-11)
    assert squares(modes)[4] < 10.0


@pytest.mark.slow
def test_a_search_that_does_not_converge_ends_with_an_error(monkeypatch):
    """Without limit it would go on for ever where a factor's solutions are mostly rounding."""
    monkeypatch.setattr(lanczos, "_MOST_RESTARTS", 5)
    k = sp.diags(1.0 + 1e-4 * np.arange(3000) + 1e-7 * np.arange(3000) ** 2, format="csr")
    with pytest.raises(RuntimeError, match="not converged after 5 restarts"):
        Lanczos(Factor(k.tocsc()).solve, sp.identity(3000, format="csr"), 3000).find(0, 30, 1)
    with pytest.raises(mse.ModelError, match="modes cannot be counted"):
        of(k).modes(30)
