"""What a first use compiles: counted, not timed.  Every function costs about a tenth of a second on an empty cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mse
from mse.kernels import first_use

PACKAGE = Path(mse.__file__).parent

# each model is solved and linearized in turn; what numba compiles meanwhile is written down
PROGRAM = """
import json
import sys
import numpy as np
from numba.core import event
import mse
from mse import Pose

class Listener(event.Listener):
    depth = 0  # of functions that others call, which are compiled meanwhile

    def on_start(self, e):
        f = e.data["dispatcher"].py_func
        names.append("within " * self.depth + f"{f.__module__}.{f.__name__}")
        self.depth += 1

    def on_end(self, e):
        self.depth -= 1

def pendulum(s):
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(body.frame(0), hinge.frame(0), Pose.dz(-0.5))

def driven(s):
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    drive = s.add(mse.Revolute("drive", axis=(0, 1, 0), stiffness=50.0, motor="force"))
    s.clamp(s.ground, drive.frame(1))
    s.clamp(body.frame(0), drive.frame(0), Pose.dz(-0.5))

def spring(s):
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    line = s.add(mse.Spring("line", stiffness=100.0))
    s.clamp(s.ground, line.frame(1))
    s.clamp(body.frame(0), line.frame(0), Pose.dz(0.1))

def wires(s):
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    for k, x in enumerate((-0.1, 0.1)):
        wire = s.add(mse.Wire(f"wire{k}", length=0.5, young_modulus=2e11, poisson_ratio=0.3, radius=1e-3))
        s.clamp(s.ground, wire.frame(1), Pose.dx(x))
        s.clamp(body.frame(0), wire.frame(0), Pose.dxdydz(x, 0.0, 0.1))

def bushing(s):
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    soft = s.add(mse.Bushing("soft", stiffness=(1e3, 1e3, 1e3, 10.0, 10.0, 10.0)))
    s.clamp(s.ground, soft.frame(1))
    s.clamp(soft.frame(0), body.frame(0))

def beam(s):
    blade = s.add(mse.Beam("blade", length=0.3, width=0.02, height=0.002, elements=4))
    s.clamp(s.ground, blade.frame(0))

def swept(s):
    # a blade between an actuator and a sensor, whose response has more coordinates than LAPACK solves
    beam(s)
    base, probe = s.add(mse.PositionActuator("base")), s.add(mse.PositionSensor("probe"))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    line = s.add(mse.Beam("line", length=0.3, width=0.02, height=0.002, elements=4))
    s.clamp(s.ground, base.frame(1))
    s.clamp(base.frame(0), line.frame(0))
    s.clamp(line.frame(1), body.frame(0))
    s.clamp(body.frame(0), probe.frame(0))
    s.clamp(s.ground, probe.frame(1))

def longer(s):
    # more of all kinds: three bodies on six wires each, a pendulum with a drive, a bushing, beams of eight elements
    above = s.ground
    for i in range(3):
        body = s.add(mse.RigidBody(f"body{i}", mass=1.0, inertia=(0.1, 0.2, 0.3), at=Pose.dz(-0.6 * (i + 1))))
        for k in range(6):
            x, y = 0.1 * np.cos(k), 0.1 * np.sin(k)
            wire = s.add(mse.Wire(f"wire{i}{k}", length=0.5, young_modulus=2e11, poisson_ratio=0.3, radius=1e-3))
            s.clamp(above, wire.frame(1), Pose.dxdydz(x, y, 0.0))
            s.clamp(body.frame(0), wire.frame(0), Pose.dxdydz(x, y, 0.1))
        above = body.frame(0)
    drive = s.add(mse.Revolute("drive", axis=(0, 1, 0), stiffness=50.0, motor="force"))
    blade = s.add(mse.Beam("blade", length=0.3, width=0.02, height=0.002, elements=8))
    soft = s.add(mse.Bushing("soft", stiffness=(1e3, 1e3, 1e3, 10.0, 10.0, 10.0)))
    for joint in (drive, soft):
        body = s.add(mse.RigidBody(f"on_{joint.name}", mass=1.0, inertia=(0.1, 0.2, 0.3)))
        s.clamp(s.ground, joint.frame(1))
        s.clamp(body.frame(0), joint.frame(0), Pose.dz(-0.5))
    s.clamp(s.ground, blade.frame(0))

listener, found = Listener(), {}
event.register("numba:compile", listener)
for model in sys.argv[1:]:
    names = found[model] = []
    system = mse.MSystem(model, gravity=(0, 0, -9.81))
    globals()[model](system)
    linear = system.find_working_point().linearize()
    linear.modes(1)
    if model == "swept":
        linear.frequency_response([1.0, 2.0], inputs=["base.z"], outputs=["probe.z"])
    if model == "driven":
        linear.simulate(duration=0.37, dt=1e-2, inputs={"drive.torque": np.sin})
print(json.dumps(found))
"""


def compiled_by(*models: str, path: Path, after: str = "", **environment: str) -> dict[str, list[str]]:
    """The functions compiled by each model after those before it, in a process that then does more."""
    given = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | environment
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + after, *models], env=given | {"PYTHONPATH": str(path)}, cwd=path, text=True,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_package(names: list[str]) -> list[str]:
    """Names of compiled functions of mse, be they called by Python or by others."""
    return [n for n in (name.rpartition(" ")[2] for name in names) if n.startswith("mse.")]


MODELS = ("pendulum", "driven", "wires", "bushing", "beam", "swept", "longer")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def compiled(cache):
    return compiled_by(*MODELS, path=PACKAGE.parent, NUMBA_CACHE_DIR=str(cache))


@pytest.mark.slow
def test_every_function_is_compiled_for_one_kind_of_arguments(compiled):
    everything = of_package([n for model in compiled.values() for n in model])
    assert sorted(everything) == sorted(set(everything))


@pytest.mark.slow
def test_a_pendulum_needs_no_kernels_of_beams_and_springs(compiled):
    elsewhere = ("mse.kernels.beam", "mse.kernels.motions", "mse.kernels.small_matrices")
    assert not [n for n in compiled["pendulum"] if n.startswith(elsewhere)]
    assert [n for n in of_package(compiled["pendulum"]) if n.startswith("mse.kernels.springs.")] == [
        "mse.kernels.springs.body_load"
    ]


def modules_of(names: list[str]) -> set[str]:
    return {name.split(".")[2] for name in of_package(names)}


def test_joints_need_one_kernel_and_what_it_calls(compiled):
    called = [n for n in compiled["pendulum"] if n.startswith("mse.kernels.joints.")]
    assert called == ["mse.kernels.joints.put_joints"]
    assert "joints" not in modules_of(compiled["driven"])


# what each model has beside those before it, and the modules of kernels for that
ADDED = {
    "driven": {"march"},  # a run in time
    "wires": {"springs", "rotations"},
    "bushing": {"springs", "rotations", "small_matrices"},
    "beam": {"beams", "motions", "rotations", "small_matrices"},
    "swept": {"fronts", "ldl", "rotations"},  # a response of many coordinates, whose search turns what hangs on bodies
}


@pytest.mark.parametrize("model", ADDED)
def test_a_model_compiles_what_it_has_beside_those_before_it(compiled, model):
    assert compiled[model] and modules_of(compiled[model]) <= ADDED[model]


@pytest.mark.parametrize(("model", "module"), [("wires", "springs"), ("bushing", "springs"), ("beam", "beams")])
def test_a_kind_of_element_is_one_kernel_beside_that_of_what_it_remembers(compiled, model, module):
    called = [n for n in compiled[model] if n.startswith(f"mse.kernels.{module}.") and not n.endswith("_memory")]
    assert len(called) == 1


def test_matrices_of_single_segments_need_no_code_of_their_own(compiled):
    """Every function that Python calls is compiled with all that it contains; a twist between two frames alone is one."""
    called = [n for n in compiled["beam"] if n.startswith("mse.kernels.motions.")]
    assert called == ["mse.kernels.motions.relative_twist"]


def test_more_elements_of_the_same_kinds_compile_nothing_more(compiled):
    # those of sizes run as Python code until they have worked enough, in whatever model that is
    assert modules_of(compiled["longer"]) <= {"sizes"}


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_loads_nothing_that_compiles(compiled, cache):
    loaded = 'assert "numba.typed.typeddict" not in sys.modules'
    assert not any(compiled_by(*MODELS, path=PACKAGE.parent, after=loaded, NUMBA_CACHE_DIR=str(cache)).values())


@pytest.mark.parametrize("model", ["pendulum", "driven", "wires", "bushing", "beam", "swept"])
def test_no_kernel_compiles_texts_or_blas(compiled, model):
    """Assignments to slices compile the text of their errors, ``@`` wraps BLAS: half the time of a first use, once."""
    assert not [n for n in compiled[model] if "unicode" in n or "linalg" in n]


@pytest.mark.slow
def test_a_package_that_cannot_be_written_to_compiles_elsewhere(tmp_path):
    copied = tmp_path / "installed"
    shutil.copytree(PACKAGE, copied / "mse", ignore=shutil.ignore_patterns("__pycache__"))
    folders = [p for p in [copied, *copied.rglob("*")] if p.is_dir()]
    for folder in folders:
        (folder / "__pycache__").touch()  # a file where the cache would be: root, too, cannot write there
        folder.chmod(0o555)
    try:
        cache = tmp_path / "cache"
        compiled_by("spring", path=copied, HOME=str(cache), XDG_CACHE_HOME=str(cache))
        assert list(cache.rglob("*.nbi"))
        assert not list(copied.rglob("*.nbi"))
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.slow
def test_where_nothing_can_be_written_to_everything_compiles_in_memory(tmp_path):
    copied = tmp_path / "installed"
    shutil.copytree(PACKAGE, copied / "mse", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [p for p in [copied, *copied.rglob("*")] if p.is_dir()]:
        (folder / "__pycache__").touch()
    nowhere = tmp_path / "file"
    nowhere.touch()  # no folder can be made in it, not even by root
    found = compiled_by("spring", path=copied, HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere))
    assert of_package(found["spring"])


TELLING = """
import logging
import sys
import numpy as np
from mse.kernels import rotations
from mse.progress import tasks

tasks._PATIENCE = 0.0
exec(sys.argv[1])
rotations.rotation_matrix(np.zeros(3))
"""


def said(cache: Path, before: str) -> list[str]:
    """The lines on stderr of a process that needs one kernel."""
    given = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-c", TELLING, before]
    done = subprocess.run(command, env=given, cwd=cache.parent, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


INFO = "logging.basicConfig(level=logging.INFO)"


@pytest.mark.slow
def test_the_logger_hears_of_compiling_once(tmp_path):
    lines = said(tmp_path / "cache", INFO)
    folder = next((tmp_path / "cache").rglob("*.nbi")).parent
    found = [x for x in lines if x.startswith("INFO:mse:compiled for this machine, once, in ")]
    assert len(found) == 1 and found[0].endswith(f" s: rotations (kept in {folder})")
    assert not said(tmp_path / "cache", INFO)  # all comes from disk


@pytest.mark.slow
def test_nothing_is_said_of_compiling_where_nobody_listens(tmp_path):
    assert not said(tmp_path / "cache", "")


@pytest.mark.slow
def test_short_compiling_is_not_told(tmp_path):
    assert not said(tmp_path / "cache", f"{INFO}; tasks._PATIENCE = 60.0")


@pytest.mark.slow
def test_workers_do_not_tell_of_compiling(tmp_path):
    worker = "import multiprocessing; multiprocessing.parent_process = lambda: True"
    assert not said(tmp_path / "cache", f"{INFO}; {worker}")


def test_what_compiles_is_told_in_words_of_users():
    modules = [(f.stem, f.read_text()) for f in (PACKAGE / "kernels").glob("*.py")]
    kernels = {name for name, text in modules if "\n@kept" in text or "\n@compiled" in text}
    assert kernels and kernels - {"jit"} <= set(first_use._SUBJECTS)


def test_a_response_of_few_outputs_needs_no_substitution(compiled):
    assert "mse.kernels.ldl.sweep" in compiled["swept"]
    assert "mse.kernels.ldl.substitute_back" not in compiled["swept"]


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_after_compiling_as_before(tmp_path, collecting):
    before = f"""
import atexit, gc
from numba.core import event

within, made = [], []
gc.callbacks.append(lambda phase, info: made.append(phase) if within and phase == "start" else None)

class Listener(event.Listener):
    def on_start(self, event):
        within.append(event)

    def on_end(self, event):
        within.pop()

event.register("numba:compile", Listener())
(gc.enable if {collecting} else gc.disable)()
atexit.register(lambda: print(gc.isenabled(), len(made), file=sys.stderr))
"""
    (line,) = said(tmp_path / "cache", before)
    enabled, collections = line.split()
    assert enabled == str(collecting)
    assert int(collections) <= 1  # one may begin as soon as it may, before the end is heard of here
