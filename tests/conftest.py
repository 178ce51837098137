"""Settings of the whole test run."""

import os

# mse holds BLAS to one thread by itself (tests/numerics/test_blas_threads.py), but tests also call what is inside it and
# solve references with NumPy: on a busy machine threads that wait for each other take tens of times as long for these.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_collection_modifyitems(config, items):
    """Without a browser its tests are left out, and counted as such; .ci/run fails where they did not run."""
    import browser

    if not browser.available():
        left_out = [item for item in items if item.get_closest_marker("browser")]
        items[:] = [item for item in items if not item.get_closest_marker("browser")]
        config.hook.pytest_deselected(items=left_out)
