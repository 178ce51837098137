"""BLAS on one thread, without anything in the environment that would hold it there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

from mse.numerics import blas_threads as blas
from paths import IMPORTED


def counts() -> list[int]:
    return [get() for get, _ in blas.libraries()]


@pytest.fixture
def two_threads():
    """Both libraries asked for two threads, on any machine."""
    before = counts()
    for _, put in blas.libraries():
        put(2)
    yield
    for (_, put), count in zip(blas.libraries(), before, strict=True):
        put(count)


def run(code: str) -> str:
    """Output of a fresh interpreter that has the threads of BLAS that it would have by itself."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    environment["PYTHONPATH"] = os.pathsep.join(IMPORTED)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_the_libraries_that_numpy_and_scipy_compute_with_are_found():
    """All of OpenBLAS that is loaded, as the system lists it, is among those that are held."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    of_others = ("slycot",)  # whose OpenBLAS only reductions of state spaces use
    loaded = {line.split()[-1] for line in lines if "openblas" in line and not any(x in line for x in of_others)}
    assert len(blas.libraries()) >= len(loaded)


def test_numbers_of_threads_come_back(two_threads):
    asked = counts()
    with blas.one_thread:
        assert set(counts()) <= {1}
        with blas.one_thread:
            assert set(counts()) <= {1}
        assert set(counts()) <= {1}
    assert counts() == asked
    with pytest.raises(ZeroDivisionError), blas.one_thread:
        raise ZeroDivisionError
    assert counts() == asked


def test_the_last_of_several_users_sets_them_back(two_threads):
    """One thread of Python leaves while another is still inside: that one stays on one thread."""
    asked, entered, leave = counts(), threading.Event(), threading.Event()

    def other():
        with blas.one_thread:
            entered.set()
            leave.wait()

    worker = threading.Thread(target=other)
    with blas.one_thread:
        worker.start()
        entered.wait()
    assert set(counts()) <= {1}
    leave.set()
    worker.join()
    assert counts() == asked


def test_other_libraries_are_left_alone(monkeypatch):
    """Modules that are linked with anything else have no functions of these names."""
    import numpy.random.mtrand
    import scipy.linalg.cython_blas

    monkeypatch.setattr(np.linalg._umath_linalg, "__file__", numpy.random.mtrand.__file__)
    monkeypatch.setattr(scipy.linalg.cython_blas, "__file__", "nowhere.so")
    assert blas.libraries.__wrapped__() == ()


@pytest.mark.slow
def test_no_thread_of_blas_is_woken():
    """Time that they have had, as the system counts it to the nanosecond, before and after dense work of all kinds."""
    out = run("""
        import os
        import time
        from pathlib import Path

        import numpy as np
        import scipy.linalg
        import models
        import mse
        from test_critical_load import column

        def spent():
            tasks = sorted(Path("/proc/self/task").glob("[0-9]*")) if Path("/proc/self/schedstat").exists() else []
            return [(t / "schedstat").read_text().split()[0] for t in tasks if int(t.name) in those]

        def asleep():
            before = None
            while before != (before := spent()):  # they look for work for a while before they go to sleep
                time.sleep(0.2)
            return before

        tasks = [int(t.name) for t in Path("/proc/self/task").glob("[0-9]*")]
        those = set(tasks) - {os.getpid()}  # all but the one that runs this
        before = asleep()
        column(8, "clamped-free").find_instability()
        model = models.four_wire_chain(18, driven=True).find_working_point().linearize()
        n = model.size
        dense = mse.LinearModel.from_matrices(model.M, 1e-3 * model.M + 1e-5 * model.K, model.K)
        dense.modes(), dense.modes(damped=True), dense.frequency_response(np.linspace(1.0, 2.0, 9))
        dense.simulate(duration=1.0, dt=0.01), dense.step_loop(dt=0.01), dense.state_space().poles()
        model.resonance_grid(0.1, 1.0), model.null_space()
        mse.reduce_matrices(model.M, None, model.K, np.arange(6), modes=n - 6)
        during = spent()
        a = np.ones((600, 600))
        a @ a, scipy.linalg.blas.dgemm(1.0, a, a)
        print(n, before == during, bool(before) == (asleep() != during))
    """)
    size, still, would = out.split()
    assert int(size) > 100  # rows from which on they would be woken
    assert still == "True"
    assert would == "True"  # where there are any, this would have seen them


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads():
    """The same bits with one and with all."""
    code = """
        import hashlib
        import numpy as np
        import models
        import mse
        from mse.numerics import blas_threads as blas

        for _, put in blas.libraries():
            put({threads})
        point = models.four_wire_chain(30, driven=True).find_working_point()
        model = point.linearize()
        damped = mse.LinearModel.from_matrices(model.M, 1e-3 * model.M + 1e-5 * model.K, model.K)
        found = hashlib.sha256()
        for a in (point.frame_poses[0], model.K.toarray(), damped.modes(damped=True).shapes, damped.state_space().A,
                  damped.simulate(duration=3.0, dt=0.01, inputs={{"x0": np.sin}}, outputs=["x5", "x100"]).values):
            found.update(np.ascontiguousarray(a))
        print(found.hexdigest())
    """
    assert run(code.format(threads=1)) == run(code.format(threads=2))
