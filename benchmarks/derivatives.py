"""Derivatives of a law by records, JAX and CasADi: energy, 12 slopes and 78 second derivatives of elements between two frames.

``python benchmarks/derivatives.py records|jax|casadi|casadi-c`` prints the processor time to make them, in a new process and once
more, and to run them for 1,000 elements, and two sums by which all must agree.  JAX and CasADi are no extra of mse: install them
in an environment of their own (``pip install numpy jax casadi``), which needs no mse.  Start with ``taskset -c 0`` for one core.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ELEMENTS = 1000
LOW = np.tril_indices(12)


def points() -> np.ndarray:
    """Positions and rotation vectors of both frames, for each element."""
    at = np.random.default_rng(1).uniform(-0.5, 0.5, (ELEMENTS, 12))
    at[:, 3:6] += (1.0, 0.3, -0.2)
    return at


def rotation(f: Any, a: list) -> list[list]:
    """The matrix of a rotation vector, by functions of a library."""
    square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
    angle = f.sqrt(square)
    s, c = f.sin(angle) / angle, (1.0 - f.cos(angle)) / square
    curl = [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]]
    return [
        [float(i == j) + s * curl[i][j] + c * (a[i] * a[j] - (square if i == j else 0.0)) for j in range(3)]
        for i in range(3)
    ]


def energy(f: Any, x: Any) -> Any:
    """A spring with a cubic term between points off both frames, and the turn of one relative to the other."""
    o1, o2, a1, a2 = ([x[k + m] for m in range(3)] for k in (0, 3, 6, 9))
    one, two = rotation(f, a1), rotation(f, a2)
    arm = (0.1, -0.05, 0.2)
    d = [o2[i] - o1[i] + sum((two[i][j] + one[i][j]) * arm[j] for j in range(3)) for i in range(3)]
    stretch = f.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) - 1.0
    trace = sum(one[i][j] * two[i][j] for i in range(3) for j in range(3))
    return 500.0 * stretch**2 + 200.0 * stretch**3 + 30.0 * (3.0 - trace)


def by_records() -> Callable[[], list[np.ndarray]]:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from mse.numerics.record import Expansion, Record
    from mse.numerics.recorder import Recorded

    record = Record()
    inputs = record.inputs(12, 0)
    node = int(energy(np, [Recorded(record, k) for k in inputs]).nodes)
    expansions = {k: Expansion({i: record.one}) for i, k in enumerate(inputs)}
    slopes, second = record.by_variables(node, expansions), record.hessian(node, expansions)
    pairs = [second.get((i, j), second.get((j, i), record.zero)) for i, j in zip(*LOW, strict=True)]
    program, at = record.program([node, *(slopes[i] for i in range(12)), *pairs]), points()

    def run() -> list[np.ndarray]:
        found = program.run(at)
        return [found[:, 0], found[:, 13:]]

    return run


def by_jax() -> Callable[[], list[np.ndarray]]:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.clear_caches()

    def one(x: Any) -> Any:
        return energy(jax.numpy, x)

    call, at = jax.jit(jax.vmap(lambda x: (one(x), jax.grad(one)(x), jax.hessian(one)(x)))), points()

    def run() -> list[np.ndarray]:
        value, _, second = jax.block_until_ready(call(at))
        return [np.asarray(value), np.asarray(second)[:, LOW[0], LOW[1]]]

    return run


def by_casadi(compiled: bool) -> Callable[[], list[np.ndarray]]:
    import casadi as ca

    x = ca.SX.sym("x", 12)
    value = energy(ca, [x[k] for k in range(12)])
    second, slopes = ca.hessian(value, x)
    function = ca.Function("law", [x], [value, slopes, ca.tril(second)])
    if compiled:
        folder = tempfile.mkdtemp()
        function.generate("law.c", {"with_header": False})
        os.replace("law.c", f"{folder}/law.c")
        subprocess.run(["gcc", "-O2", "-fPIC", "-shared", f"{folder}/law.c", "-o", f"{folder}/law.so"], check=True)
        function = ca.external("law", f"{folder}/law.so")
    found, at = [np.zeros((ELEMENTS, n)) for n in (1, 12, 78)], points()
    many = function.map(ELEMENTS)
    buffer, evaluate = many.buffer()
    buffer.set_arg(0, memoryview(at))
    for k, out in enumerate(found):
        buffer.set_res(k, memoryview(out))

    def run(_kept: Any = (many, buffer, at)) -> list[np.ndarray]:  # the call refers to their memory
        evaluate()
        return [found[0], found[2]]

    return run


def spent() -> float:
    """Processor time of this process and of the processes that it has waited for."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def main(name: str) -> None:
    make = {
        "records": by_records,
        "jax": by_jax,
        "casadi": lambda: by_casadi(False),
        "casadi-c": lambda: by_casadi(True),
    }[name]
    made = []
    for _ in range(2):
        begin = spent()
        run = make()
        found = run()
        made.append(spent() - begin)
    runs = []
    for _ in range(7):
        begin = time.process_time()
        run()
        runs.append(time.process_time() - begin)
    print(f"{name}: made in {made[0]:.2f} s, once more in {made[1]:.2f} s, run in {1e3 * min(runs):.2f} ms; sums "
          + " ".join(f"{part.sum():.10g}" for part in found))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
