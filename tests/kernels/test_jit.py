"""When kernels are compiled."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

from mse.kernels import (
    acting,
    fronts,
    jit,
    multibody,
    multibody_fronts,
    multibody_steps,
    steps,
    tree_nodes,
    tree_steps,
    trees,
)

# what a process compiles of the elimination's structure while it sweeps one small model, a few times
PROGRAM = """
import sys
import numpy as np
from numba.core import event
import mse
from mse.kernels import jit

names = []

class Listener(event.Listener):
    def on_start(self, e):
        names.append(e.data["dispatcher"].py_func.__name__)

    def on_end(self, e):
        pass

event.register("numba:compile", Listener())
jit._INTERPRETED = int(sys.argv[1])
k = np.diag(np.arange(1.0, 17.0)) + 0.1
linear = mse.LinearModel.from_matrices(np.eye(16), None, k)
for _ in range(3):
    response = linear.frequency_response([0.01, 0.02])
print("gathered" in names, response.values[0, 0, 0].real.hex())
"""


def swept(cache, numbers: int) -> tuple[str, str]:
    given = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(numbers)], env=given, text=True, capture_output=True, check=True
    )
    return tuple(done.stdout.split())


@pytest.mark.slow
def test_structure_is_compiled_when_it_is_large_and_loaded_when_it_is_on_disk(tmp_path):
    compiled, by_python = swept(tmp_path, 10**9)
    assert compiled == "False"
    compiled, by_kernel = swept(tmp_path, 0)
    assert compiled == "True"
    compiled, from_disk = swept(tmp_path, 10**9)
    assert compiled == "False"
    assert by_python == by_kernel == from_disk


def test_python_and_compiled_code_find_the_same_to_the_last_bit():
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 40, 300), rng.integers(0, 30, 300)
    given = rows, columns, rng.integers(0, 4, 300), rng.standard_normal(300), 40, 30
    plain = fronts.gathered.__wrapped__
    for found, expected in zip(plain(*given), jit.compiled(plain)(*given), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_parts_of_large_motions_are_compiled_once():
    # a first motion waits for every copy; straight parts have none, as they are written where they are called
    given: dict[object, set] = {}
    modules = acting, trees, tree_steps, steps, multibody, multibody_fronts, multibody_steps
    for module in modules:
        for call in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                values = [getattr(a, "value", vars(module).get(getattr(a, "id", ""))) for a in call.args]
                literals = tuple(v if isinstance(v, int) else None for v in values)
                if call.func.id in vars(module) and call.func.id not in vars(tree_nodes):
                    given.setdefault(vars(module)[call.func.id], set()).add(literals)
    assert not [part for part, literals in given.items() if len(literals) > 1]


TWICE = """
from mse.kernels import jit

@jit.kept()
def twice(x):
    return 2 * x

print(jit.compiled_for(twice, (1.0,)), jit.on_disk(twice))
jit.compile_for(twice, (1.0,))
print(jit.compiled_for(twice, (1.0,)), jit.on_disk(twice), jit.compiled_for(twice, (1,)))
"""


def test_code_for_other_arguments_does_not_count(tmp_path):
    """In the process that compiles it, and in the next one."""
    (tmp_path / "twice.py").write_text(TWICE)
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    found = [
        subprocess.run(
            [sys.executable, "twice.py"], cwd=tmp_path, env=given, text=True, capture_output=True, check=True
        )
        for _ in range(2)
    ]
    assert [one.stdout.split() for one in found] == [
        ["False", "False", "True", "True", "False"],
        ["True", "True", "True", "True", "False"],
    ]
