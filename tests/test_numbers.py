"""Numbers set by hand that decide something: each names the experiment that set it, and they do not become more."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from argparse import Namespace
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import margins
from benchmarks.changed_number import change

ROOT = Path(__file__).parent.parent

# numbers in comparisons that no name tells, by module: what is mended is taken out here
INLINE: dict[str, int] = {
    "analysis.frequency.direct": 1,
    "analysis.frequency.resonance_grid": 2,
    "analysis.modes.exact": 1,
    "analysis.modes.large": 2,
    "analysis.modes.result": 1,
    "analysis.time.asked": 1,
    "analysis.time.inputs": 1,
    "analysis.time.massless": 1,
    "analysis.time.recording": 1,
    "linear.compose": 1,
    "linear.fixed_interface": 1,
    "model.initial_poses": 1,
    "model.joint_assembly": 4,
    "numerics.factor": 2,
    "numerics.lanczos": 1,
    "numerics.trust_region": 2,
    "statics.continuation": 3,
    "statics.curve_equations": 1,
    "statics.following": 1,
    "statics.stability": 1,
}


def test_each_number_set_by_hand_names_its_experiment():
    untold = [
        f"{n.label}: name what sets it, as tests/...py::test_..."
        for module, text in margins.sources()
        for n in margins.named(module, text)
        if not n.experiments
    ]
    assert not untold


def test_numbers_in_comparisons_do_not_become_more():
    found = Counter(
        x[0].removeprefix("mse.") for module, text in margins.sources() for x in margins.inline(module, text)
    )
    listed = Counter(INLINE)
    assert not found - listed, "name them at the top of their modules, with what sets them"
    assert not listed - found, "lower their counts in INLINE, so that they do not come back"


def test_experiments_that_comments_name_exist():
    wrong = []
    for module, text in margins.sources(rooms=()):
        for n in margins.named(module, text):
            for experiment in n.experiments:
                path, _, name = experiment.partition("::")
                there = (ROOT / path).is_file()
                if there and name:
                    tree = ast.parse((ROOT / path).read_text())
                    there = name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
                if not there:
                    wrong.append(f"{n.label} names {experiment}")
    assert not wrong


# -- the script that measures margins ------------------------------------------------------------------------------
SOURCE = """
EPS = float(np.finfo(float).eps)
# of a row (tests/test_numbers.py::test_what_counts)
_SMALL = 1e-9
_DERIVED, _COUNT, _TEXT = 4 * EPS, 3, "1.5"
_SHARE, _STEP = 1 / 16, -2.5e-3  # of the way

# By benchmarks/margins.py, each:
_FIRST = 0.1  # of it
_SECOND = (1e2, 1e4)


def f(x):
    return x < 1e-7 and 0.0 < x != 0.3 * 1e-300, x * 0.7
"""


def test_what_counts():
    found = {n.name: n for n in margins.named("some.module", SOURCE)}
    assert {k: n.value for k, n in found.items()} == {
        "_SMALL": 1e-9, "_SHARE": 1 / 16, "_STEP": -2.5e-3, "_FIRST": 0.1, "_SECOND": (1e2, 1e4),
    }  # fmt: skip
    assert found["_SMALL"].experiments == ["tests/test_numbers.py::test_what_counts"]
    assert found["_SHARE"].comment == "of the way" and not found["_SHARE"].experiments
    assert found["_FIRST"].experiments == found["_SECOND"].experiments == ["benchmarks/margins.py"]
    assert [value for _, _, value in margins.inline("some.module", SOURCE)] == [1e-7, 0.3]


def test_a_number_is_changed_wherever_it_is_imported_and_in_what_is_made_of_it():
    code = """
        from benchmarks.changed_number import change
        change("mse.numerics.precision", "SURE", 20.0)
        change("mse.statics.scales", "TOO_COARSE", 0.5)  # COARSE, TOO_COARSE = ...
        change("mse.statics.step_methods", "_FIRST", 0.7)
        import mse.numerics.curvatures as curvatures, mse.numerics.precision as precision
        import mse.statics.scales as scales, mse.statics.step_methods as step_methods
        print(curvatures.SURE, precision.SURE, scales.COARSE, scales.TOO_COARSE, step_methods.DESCENT.first)
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["20.0", "20.0", "1e-06", "0.5", "0.7"]


def test_what_cannot_be_changed_is_told():
    import mse.numerics.precision

    with pytest.raises(RuntimeError, match="mse.numerics.precision is imported already: change SURE before"):
        change(mse.numerics.precision.__name__, "SURE", 20.0)
    code = """
        from benchmarks.changed_number import change
        change("mse.numerics.precision", "SURER", 20.0)
    """
    told = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True)
    assert "mse.numerics.precision sets no SURER at its top" in told.stderr


def test_margins_are_told_in_powers_of_ten(monkeypatch):
    number = margins.Number("mse.numerics.rank", "_SHARE", 1e-9, "")
    tried = []

    def trial(number, value, tests, options):
        tried.append(value)
        return "" if 2e-11 < value < 2e-7 else f"{tests[0]}::test_it"

    monkeypatch.setattr(margins, "trial", trial)
    told = margins.margin(number, ["tests/a.py"], Namespace(decades=3))
    assert told == "/ 10^2: tests/a.py::test_it; x 10^3: tests/a.py::test_it"
    assert tried == pytest.approx([1e-10, 1e-11, 1e-8, 1e-7, 1e-6], rel=1e-9, abs=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "value", "test"),
    [
        # entries of 1e-15 are cleared and those of 1e-11 are not: between may be a hundredth, not a hundred times of the number
        ("numerics.precision.NOTHING", 1e-12, "tests/numerics/test_precision.py::test_what_is_cleared_is_rounding"),
        # pytest imports what is named like equilibrium.py by itself
        (
            "statics.equilibrium.RESIDUAL",
            1e-10,
            "tests/statics/test_search.py::test_equilibrium_is_a_balance_to_a_share_of_the_loads",
        ),
    ],
)
def test_the_script_tells_which_test_fails_first(number, value, test):
    command = [sys.executable, "benchmarks/margins.py", number, "--decades", "2", "--tests", test]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told == f"mse.{number} = {value}: / 10^2: passes; x 10^2: {test}\n"
