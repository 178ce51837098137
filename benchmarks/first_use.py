"""First use, each in a fresh process: what imports cost, and first results with numba's cache empty and filled."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .peers import OPTIONAL, peer
from .table import Row

IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
PENDULUM = """
import time
start = time.perf_counter()
import numpy as np
import mse
from mse import Pose
pendulum = mse.MSystem("pendulum")
wire = pendulum.add(mse.Spring("wire", length=1.0, stiffness=1e4))
mass = pendulum.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
piezo, probe = pendulum.add(mse.PositionActuator("piezo")), pendulum.add(mse.PositionSensor("probe"))
pendulum.clamp(pendulum.ground, piezo.frame(1))
pendulum.clamp(piezo.frame(0), wire.frame(1))
pendulum.clamp(wire.frame(0), mass.frame(0))
pendulum.clamp(mass.frame(0), probe.frame(0))
pendulum.clamp(pendulum.ground, probe.frame(1))
linear = pendulum.find_working_point().linearize()
linear.modes()
if {response}:
    linear.frequency_response(np.geomspace(0.1, 1e3, 400))
print(time.perf_counter() - start)
"""
BLADE = """
import time
start = time.perf_counter()
import numpy as np
import mse
from mse import Pose
system = mse.MSystem("blade")
blade = system.add(mse.Beam("blade", length=0.3, width=0.05, height=0.002, elements=8))
mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.01, at=Pose.dx(0.3)))
system.clamp(system.ground, blade.frame(0))
system.clamp(blade.frame(1), mass)
system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
linear = system.find_working_point().linearize()
linear.modes()
linear.frequency_response(np.geomspace(0.1, 100.0, 400))
print(time.perf_counter() - start)
"""
MOTION = """
import time
start = time.perf_counter()
import mse
from mse import Pose
system = mse.MSystem("rods", gravity=(0, 0, -9.81))
end = system.ground
for k, (x, z, way) in enumerate(((0.0, 0.5, Pose.dz(0.5)), (0.5, 1.0, Pose.dx(0.5)), (1.0, 0.5, Pose.dz(-0.5)))):
    ends = {{"first": way.inverse(), "last": way}}
    rod = system.add(mse.RigidBody(f"rod{{k}}", mass=1.0, inertia=0.1, at=Pose.dxdydz(x, 0.0, z), frames=ends))
    system.add(mse.Revolute(f"hinge{{k}}", axis=(0, 1, 0)), between=(end, rod.frame("first")))
    end = rod.frame("last")
if {loop}:
    system.add(mse.Revolute("last", axis=(0, 1, 0)), between=(end, system.ground @ Pose.dx(1.0)))
system.simulate(duration=1.0, dt=0.1, initial={{"hinge0.angle'": 1.0}})
print(time.perf_counter() - start)
"""
WIRES = """
import time
start = time.perf_counter()
import mse
from mse import Pose
system = mse.MSystem("stage", gravity=(0, 0, -9.81))
stage = system.add(mse.RigidBody("stage", mass=5.0, inertia=(0.1, 0.12, 0.15), at=Pose.dz(-0.5)))
for k, (x, y) in enumerate(((0.15, 0.1), (0.15, -0.1), (-0.15, 0.1), (-0.15, -0.1))):
    wire = mse.Wire(f"wire{{k}}", length=0.4999, radius=2e-4, young_modulus=2e11, poisson_ratio=0.3)
    system.add(wire, between=(system.ground @ Pose.dxdydz(x, y, 0.0), stage @ Pose.dxdydz(x, y, 0.0)))
system.simulate(duration=0.1, dt=0.01, initial={{"stage": Pose.dxdydz(0.05, 0.0, -0.5)}}, method={method!r})
print(time.perf_counter() - start)
"""

STIFF = """
import time
start = time.perf_counter()
import mse
from mse import Pose
system = mse.MSystem("stiff", gravity=(0, 0, -9.81))
body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.01, at=Pose.dz(-0.5)))
tip = system.add(mse.RigidBody("tip", mass=0.01, inertia=1e-6, at=Pose.dz(-0.6)))
system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(body @ Pose.dz(0.5), system.ground))
system.add(mse.Prismatic("rubber", axis=(0, 0, 1), stiffness=1e6, damping=1e3), between=(tip, body @ Pose.dz(-0.1)))
motion = system.simulate(duration=5.0, dt=5.0, initial={"hinge.angle": 1.0}, rtol=1e-5)
assert motion.method.startswith("implicit")
print(time.perf_counter() - start)
"""
BEAM = """
import time
start = time.perf_counter()
import mse
system = mse.MSystem("beam", gravity=(0, 0, -9.81))
rod = system.add(mse.RoundBeam("rod", length=0.5, radius=3e-3, elements=2))
system.clamp(system.ground, rod.frame(0))
system.simulate(duration=0.02, dt=0.01, rtol=1e-4)
print(time.perf_counter() - start)
"""


def alone(program: str, cache: str, ahead: bool = True) -> float:
    """The seconds that a program tells, in a process of its own; another one may compile ``ahead`` of it."""
    root = str(Path(__file__).parent.parent)
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH")) if p)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": path, "MSE_COMPILE_AHEAD": str(int(ahead))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def several(program: str, cache: str, runs: int) -> float:
    alone(program, cache)
    return statistics.median(alone(program, cache) for _ in range(runs))


def rows(quick: bool) -> Iterator[Row]:
    runs = 2 if quick else 7
    with tempfile.TemporaryDirectory() as cache:
        theirs = {"SciPy": "numpy, scipy.signal, scipy.sparse.linalg"}
        theirs |= {name: module for name, module in OPTIONAL.items() if peer(name) is not None}
        others = {name: several(IMPORT.format(modules), cache, runs) for name, modules in theirs.items()}
        yield Row("first use: import", 1, several(IMPORT.format("mse"), cache, runs), others)
    for size, program, task in (
        (6, PENDULUM.format(response=False), "pendulum's modes"),
        (6, PENDULUM.format(response=True), "pendulum's response"),
        (48, BLADE, "blade's response"),
        (3, MOTION.format(loop=False), "large motion of a chain"),
        (3, MOTION.format(loop=True), "large motion of a loop"),
        (4, WIRES.format(method="explicit"), "large motion on wires"),
        (4, WIRES.format(method="implicit"), "the same by implicit steps"),
        (2, STIFF, "large motion that mse finds to be stiff"),
        (2, BEAM, "large motion of a beam"),
    ):
        with tempfile.TemporaryDirectory() as cache:
            yield Row(f"first use: {task}, cache empty, one process", size, alone(program, cache, ahead=False))
        with tempfile.TemporaryDirectory() as cache:
            yield Row(f"first use: {task}, cache empty", size, alone(program, cache))
            yield Row(f"first use: {task}, cache filled", size, several(program, cache, runs))
