"""What counts as free memory, and what is done where there is little."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import models
import mse
from mse.analysis import resources as limits
from mse.numerics.precision import stiffness_noise
from mse.statics.stability import Coordinates, analyze
from paths import IMPORTED


def test_free_memory_is_that_of_this_machine():
    assert 1e6 < limits.free_memory() < 1e15


def groups(tmp_path: Path, monkeypatch, cgroup: str, files: dict[str, str]) -> float:
    """Free memory where the process is in these control groups."""
    process, top = tmp_path / "process", tmp_path / "groups"
    for path, text in {process / "cgroup": cgroup, **{top / name: text for name, text in files.items()}}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(limits, "_PROCESS", process)
    monkeypatch.setattr(limits, "_GROUPS", top)
    return limits.free_memory()


def test_limits_of_groups_count(tmp_path, monkeypatch):
    """Version 2: the group of the process has no limit, the one above it has; files that were read can be given up."""
    files = {
        "batch/job/memory.max": "max\n",
        "batch/memory.max": "5000000\n",
        "batch/memory.current": "2000000\n",
        "batch/memory.stat": "anon 1500000\ninactive_file 400000\n",
    }
    assert groups(tmp_path, monkeypatch, "0::/batch/job\n", files) == 3_400_000


def test_limits_of_groups_of_the_first_version_count(tmp_path, monkeypatch):
    """As containers see it: the name in /proc is that of the machine outside, the group itself is at the top."""
    files = {
        "memory/memory.limit_in_bytes": "7000000\n",
        "memory/memory.usage_in_bytes": "6500000\n",
        "memory/memory.stat": "total_inactive_file 250000\n",
        "memory.max": "1\n",  # of no group that this process is in
    }
    assert groups(tmp_path, monkeypatch, "9:cpu:/x\n4:memory:/docker/abc\n", files) == 750_000


@pytest.mark.parametrize("text", ["max", "9223372036854771712", "nonsense"])
def test_groups_without_a_limit_do_not_count(tmp_path, monkeypatch, text):
    before = limits.free_memory()
    files = {"memory.max": text, "memory.current": "5", "memory.stat": "inactive_file 0"}
    assert groups(tmp_path, monkeypatch, "0::/\n", files) == pytest.approx(before, rel=0.5)


def peak(call) -> int:
    """Most bytes that NumPy had at one time during a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def damped_chain(stages: int) -> mse.LinearModel:
    model = models.four_wire_chain(stages).find_working_point().linearize()
    return mse.LinearModel.from_matrices(model.M, 1e-3 * model.M + 1e-5 * model.K, model.K)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [0.0, 1e-9])
def test_a_wide_sweep_holds_its_result_once(bound):
    model = damped_chain(6)
    f = np.linspace(0.1, 20.0, 4000)
    few = model.frequency_response(f[::400], bound=bound)  # loads what is compiled
    size = len(f) / len(few.frequencies_hz) * few.values.nbytes
    assert size > 8e7
    assert peak(lambda: model.frequency_response(f, bound=bound)) < 1.4 * size


def test_a_wide_sweep_in_pieces_is_that_of_its_parts():
    """Frequencies in any order, across the bounds of the pieces."""
    model = damped_chain(4)
    f = np.random.default_rng(1).permutation(np.linspace(0.1, 20.0, 3001))
    whole = model.frequency_response(f, bound=0).values
    for some in (slice(0, 7), slice(1500, 1533), slice(2990, None)):
        np.testing.assert_allclose(model.frequency_response(f[some], bound=0).values, whole[some], rtol=1e-9)


def test_a_state_space_beyond_memory_is_refused(monkeypatch):
    model = damped_chain(6)
    monkeypatch.setattr(limits, "free_memory", lambda: 6e5)
    monkeypatch.setattr(limits, "ALWAYS_FREE", 5e5)
    with pytest.raises(
        mse.ModelError, match=r"state space of 36 coordinates, 36 inputs .* needs 0\.\d+ GB; expected at most"
    ):
        model.state_space()
    assert model.state_space(inputs=["x0"], outputs=["x0"]).A.shape == (72, 72)
    monkeypatch.undo()
    needed = peak(lambda: replace(model).state_space())
    assert 4e5 < needed < 6.0 * 8.0 * 108**2 * 1.3


@pytest.mark.slow
def test_little_address_space_is_told_before_it_is_gone():
    """Under a limit of the process, 200 MB above what it has: an answer, or what is wanted and what is free."""
    code = """
        import resource
        import numpy as np
        import models, mse
        big = models.four_wire_chain(60, driven=True).find_working_point().linearize()
        small = models.four_wire_chain(6, driven=True).find_working_point().linearize()
        big.frequency_response(np.geomspace(0.01, 100, 50))
        big.state_space()
        taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + 200_000_000,) * 2)
        for call in (lambda: big.frequency_response(np.geomspace(0.01, 100, 400_000)),
                     lambda: small.simulate(duration=1e5, dt=1e-3, outputs=["probe.x"]),
                     lambda: models.four_wire_chain(250).find_working_point().linearize().state_space(),
                     lambda: models.four_wire_chain(120).find_working_point().linearize().modes(20)):
            try:
                print("done", type(call()).__name__)
            except mse.ModelError as error:
                print("refused", "of the free memory" in str(error) or error)
    """
    if not Path("/proc/self/statm").exists():
        return  # other systems do not tell how much a process has taken
    out = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {IMPORTED!r}\n" + textwrap.dedent(code)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert out.splitlines() == ["refused True", "refused True", "refused True", "done Modes"]


@pytest.mark.slow
@pytest.mark.parametrize("left", [60, 250])
def test_what_does_not_fit_into_a_limit_is_told_whatever_asks_for_it(left):
    """A sheet of 60 x 60 bodies is searched, and dense matrices are given, with so many MB left; the process goes on."""
    code = f"""
        import resource
        import numpy as np
        import models, mse
        small = models.four_wire_chain(2).find_working_point().linearize()
        sheet, bodies = mse.MSystem("sheet"), {{}}
        for i in range(60):
            for j in range(60):
                bodies[i, j] = sheet.add(mse.RigidBody(f"b{{i}}_{{j}}", mass=1.0, inertia=0.01))
                for k, other in enumerate(((i - 1, j), (i, j - 1))):
                    seat = sheet.add(mse.Bushing(f"k{{i}}_{{j}}_{{k}}", stiffness=1e4))
                    sheet.clamp(bodies[i, j].frame(0), seat.frame(0))
                    sheet.clamp(bodies[other].frame(0) if other in bodies else sheet.ground, seat.frame(1))
        eye = np.eye(4000)
        taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + {left}_000_000,) * 2)
        for call in (lambda: sheet.find_working_point().linearize(), lambda: mse.LinearModel.from_matrices(eye, None, eye)):
            try:
                print("done", call().name)
            except mse.OutOfMemoryError as error:
                print("told", error)
        print("usable", len(small.modes(5)))
    """
    if not Path("/proc/self/statm").exists():
        return  # other systems do not tell how much a process has taken
    lines = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {IMPORTED!r}\n" + textwrap.dedent(code)],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert lines[0].startswith("told sheet: ") or (left > 60 and lines[0] == "done sheet")
    assert lines[1].startswith("told LinearModel 'model': checking its matrices has used up the memory")
    assert lines[2] == "usable 5"


@pytest.mark.parametrize("result", ["grid", "states"])
def test_memory_is_told_as_it_is_taken(result, monkeypatch):
    """Between a third of what is told and all of it."""
    told = []
    place = {"grid": "frequency.resonance_grid", "states": "time.state_space"}[result]
    monkeypatch.setattr(f"mse.analysis.{place}.refuse_beyond_memory", lambda name, size, *words: told.append(size))
    model = damped_chain(6)
    make = {"grid": lambda: model.resonance_grid(0.1, 10.0, points_per_width=300), "states": replace(model).state_space}
    make[result]()  # loads what is compiled
    needed = peak(make[result])
    assert told[-1] / 3 < needed < told[-1], needed / told[-1]


def test_small_results_do_not_ask_for_memory(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda: 0.0)
    assert damped_chain(6).state_space().A.shape == (72, 72)


def test_missing_damping_is_sparse():
    eye = sp.identity(50_000, format="csr")
    assert peak(lambda: mse.LinearModel.from_matrices(eye, None, eye)) < 5e7
    assert mse.LinearModel.from_matrices(eye, None, eye).Lambda.nnz == 0


def test_grids_beyond_memory_are_refused(monkeypatch):
    model = damped_chain(1)
    monkeypatch.setattr(limits, "free_memory", lambda: 1e6)
    with pytest.raises(
        mse.ModelError, match=r"10000 points in each width of \d+ resonances need .* GB; expected at most .* GB"
    ):
        model.resonance_grid(0.1, 10.0, points_per_width=10_000)


def test_coordinates_softer_than_rounding_of_others_are_held_by_their_own():
    """As inside beams of ten thousand elements: nothing is searched for among them, which would take gigabytes."""
    n = 12_000
    k = sp.diags(np.where(np.arange(n) < n // 2, 1e12, 1e-3), format="csc")
    names, noise = tuple(f"x{i}" for i in range(n)), stiffness_noise(k, np.arange(n))
    found = []
    assert peak(lambda: found.append(analyze(k, Coordinates(names, np.ones(n), 0), noise))) < 5e7
    assert found[0].free == () and found[0].unstable == ()


@pytest.mark.slow
def test_a_working_point_takes_little_more_than_its_system_to_another_process():
    """No patterns, factors or what was asked for before: they are found again, and results are the same to the bit."""
    system = models.four_wire_chain(60, driven=True)  # too many coordinates for dense matrices
    small = len(pickle.dumps(system))
    point = system.find_working_point()
    model = point.linearize()
    change, grid = {"wire30_0.length": 0.501}, np.geomspace(0.1, 10.0, 20)
    point.update(change), point.tensions, model.modes(), model.stiffness_parts.mechanisms()
    assert len(pickle.dumps(point)) < 3.5 * small
    assert len(pickle.dumps(model)) < 5.0 * small
    there, its_model = pickle.loads(pickle.dumps(point)), pickle.loads(pickle.dumps(model))
    assert there.tensions == point.tensions
    np.testing.assert_array_equal(its_model.modes(20).shapes, model.modes(20).shapes)
    assert (its_model.stiffness_parts["wire3_1", "axial"] != model.stiffness_parts["wire3_1", "axial"]).nnz == 0
    ours, its = point.update(change).linearize(), there.update(change).linearize()
    np.testing.assert_array_equal(its.frequency_response(grid).values, ours.frequency_response(grid).values)
