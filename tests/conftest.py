"""Settings of the whole test run."""

import os

# mse holds BLAS to one thread by itself (tests/numerics/test_blas_threads.py), but tests also call what is inside it and
# solve references with NumPy: on a busy machine threads that wait for each other take tens of times as long for these.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# what is compiled ahead is tested in tests/kernels/test_ahead.py alone
os.environ.setdefault("MSE_COMPILE_AHEAD", "0")

_BROWSER = {"ran": 0}  # how many tests in a browser


def pytest_collection_modifyitems(config, items):
    """Without a browser its tests are left out, and counted as such; .ci/run fails where they did not run."""
    import browser

    wanted = [item for item in items if item.get_closest_marker("browser")]
    if not browser.available():
        items[:] = [item for item in items if not item.get_closest_marker("browser")]
        config.hook.pytest_deselected(items=wanted)


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and "browser" in report.keywords:
        _BROWSER["ran"] += 1


def pytest_terminal_summary(terminalreporter):
    """One line on the tests in a browser."""
    import browser

    if _BROWSER["ran"]:
        terminalreporter.write_line(f"browser: {_BROWSER['ran']} tests passed in Chromium")
    if not browser.available():
        terminalreporter.write_line("browser: tests left out, which need Chromium on the path and Playwright from pip")
