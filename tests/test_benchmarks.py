"""The benchmarks' machinery at tiny sizes, without peers and without a word about time."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import (
    beams,
    chain_noise,
    circuits,
    frequencies,
    hinges,
    kagra,
    matrices,
    measure,
    motions,
    own_elements,
    peers,
    progress,
    run,
    stiffness_tables,
    time_steps,
    working_points,
)
from benchmarks.table import HEADS, PEERS, Row, Table
from mse.numerics.options import SIZES


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No optional peers, and no other process but where it is the subject."""
    monkeypatch.setattr(peers, "OPTIONAL", dict.fromkeys(peers.OPTIONAL, "mse_has_no_such_peer"))
    peers.peer.cache_clear()
    monkeypatch.setattr(measure, "peak", lambda *a: None)
    yield
    peers.peer.cache_clear()


def millions(count: int):
    """A factory whose call takes eight megabytes for each."""
    return lambda: np.ones(count * 10**6)


def checked(rows, error: float) -> list[Row]:
    rows = list(rows)
    assert rows
    for row in rows:
        assert row.size > 0
        assert row.error is None or row.error < error, row
    return rows


@pytest.mark.slow
def test_working_points_agree_with_those_by_hand():
    rows = checked(working_points.chain_rows(2, 1), 1e-9)
    assert all(set(r.peers) == {"by hand", "Exudyn"} and r.peers["Exudyn"] is None for r in rows)
    checked(working_points.suspension_rows(1), 1e-9)


def test_own_elements_agree_with_built_in_ones_and_one_by_one():
    checked([own_elements.chain_row(5, 1)], 1e-9)
    checked([own_elements.links_row(1)], 1e-13)
    for cls, size in ((own_elements.Pair, 13), (own_elements.FourFrames, 26)):
        row = checked([own_elements.derivative_row(cls, 3, 2, 1)], 1e-12)[0]
        assert row.size == size
        assert set(row.peers) == {own_elements.OTHERWISE}
        assert own_elements.making_row(cls, 1).ours > 0.0


@pytest.mark.parametrize("kind", list(frequencies.MODELS))
def test_responses_agree_with_loops(kind):
    row = checked([frequencies.row(kind, 8 if kind == "tower" else 60, 3, 1)], 1e-9)[0]
    assert set(row.peers) == {"SciPy", "SciPy best"}


def test_responses_under_constraints_agree_with_loops(monkeypatch):
    monkeypatch.setattr(SIZES, "dense", 0)
    assert [row.size for row in checked(hinges.hinge_rows(12, 3, 1), 1e-9)] == [72, 72]


@pytest.mark.slow
def test_modes_and_noise_of_a_suspension_agree_with_those_by_hand():
    checked([kagra.modes_row(1), kagra.noise_row(50, 1)], 1e-7)


def test_noise_of_a_chain_agrees_with_its_response():
    row = checked([chain_noise.row(3, 20, 1)], 1e-9)[0]
    assert set(row.peers) == {"mse otherwise"}


def test_responses_with_tables_agree_with_those_by_hand():
    row = checked([stiffness_tables.row(5, 3, 1)], 1e-9)[0]
    assert set(row.peers) == {"by hand"}
    assert not row.note


def test_factors_and_eigenvalues_agree_with_scipys():
    lattice = matrices.lattice(4, 3, 3)
    checked([*matrices.factor_rows("lattice", lattice, 1), matrices.mode_row("lattice", lattice, 1)], 1e-12)


@pytest.mark.slow
def test_time_steps_agree_with_long_double(monkeypatch):
    monkeypatch.setattr(time_steps, "STEPS", 300)
    for damped in (False, True):
        checked(time_steps.evolution_rows(1, 2, damped, 1), 1e-9)


@pytest.mark.slow
def test_compiled_controllers_see_what_those_by_hand_see():
    checked(time_steps.controller_rows(1, steps=20), 1e-9)
    assert time_steps.recording_row(200).ours > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spatial", "tip"), [(False, [0.74816323, 0.0, -0.61987409]), (True, [0.49058461, 0.45942281, -0.69251112])]
)
def test_chains_of_ten_are_after_two_seconds_where_other_programs_find_them(spatial, tip):
    np.testing.assert_allclose(motions.chain_run(10, spatial)(motions.JUDGED, 1e-10), tip, atol=1e-8)


def test_circuits_agree_with_nodal_analysis():
    checked([circuits.ladder_row(20, 1)], 1e-11)
    checked(circuits.coil_rows(3, 1), 1e-9)


@pytest.mark.slow
def test_motions_are_compared_at_equal_error():
    for links, spatial in ((2, False), (1, True)):
        right, ours = motions.chain_reference(links, spatial), motions.chain_run(links, spatial)
        row = checked([motions.row("chain", links, 1e-6, right, ours, {"Exudyn": None}, 1)], 1e-6)[0]
        assert row.peers == {"Exudyn": None} and row.note.startswith("rtol")
    right = motions.four_bars_reference(1)
    coarse = lambda duration, step: right + np.array([step, 0.0, 0.0])
    assert motions.largest(coarse, right, 2e-3, 1e-2, 1e-4, 10.0) == pytest.approx((1e-3, 1e-3))
    assert np.isnan(motions.largest(coarse, right, 1e-6, 1e-2, 1e-4, 10.0)[0])
    checked([motions.row("four-bars", 1, 1e-6, right, motions.four_bars_run(1), {}, 1)], 1e-6)


def test_beams_are_right():
    assert beams.tip_error(8) < 1e-4
    assert beams.frequency_error(beams.modes(8)) < 1e-4


@pytest.mark.slow
def test_memory_is_measured_elsewhere():
    measure.elsewhere.cache_clear()
    process = measure.elsewhere()
    try:
        assert process.peak("benchmarks.working_points", "built", (1,), (2,)) >= 0
        size = process.peak("test_benchmarks", "millions", (1,), (4,))
        assert size == pytest.approx(32, abs=2)
        assert process.peak("benchmarks.working_points", "no_such_factory", (), ()) is None
    finally:
        process.process.kill()
        process.process.wait()
        process.process.stdin.close()
        process.process.stdout.close()
        measure.elsewhere.cache_clear()


def test_the_table_tells_ratios_words_and_notes():
    table = Table()
    line = table.add(Row("a", 1200, 2.0, {"SciPy": 20.0, "Pardiso": 5.0, "Exudyn": "fails"}, 1e-9, 3.0, "told once"))
    assert table.rows[0].ratios() == (10.0, 2.5)
    assert "1,200" in line and "fails" in line and line.endswith("[1]")
    assert table.add(Row("b", 1, 1.0, note="told once")).endswith("[1]")
    text = table.markdown()
    assert text.count("told once") == 1 and text.splitlines()[0].count("|") == len(HEADS) + 1
    with pytest.raises(ValueError, match="no column for splu; there are " + ", ".join(PEERS)):
        Row("c", 1, 1.0, {"splu": 1.0})


def test_missing_peers_are_one_line_that_says_how_to_get_them():
    assert "benchmark" in peers.missing() and "\n" not in peers.missing()
    assert "numpy" in run.machine()


def test_the_page_is_written_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{run.BEGIN}\nold\n{run.END}\nafter\n")
    run.write(page, "new")
    assert page.read_text() == f"before\n{run.BEGIN}\nnew\n{run.END}\nafter\n"
    page.write_text("nothing")
    with pytest.raises(SystemExit, match="no lines"):
        run.write(page, "new")


def test_showing_progress_is_compared_with_none():
    rows = checked(progress.cost_rows(100, 3, 1), 1.0)
    assert len(rows) == 4 and all("by showing it" in row.note for row in rows)


@pytest.mark.slow
def test_what_a_first_use_says_is_waited_for():
    row = progress.told_row()
    assert row is None or (row.ours > 0 and "after the import" in row.note)
