"""What a second process compiles while the first one is at the kernels of a first search."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mse
from mse.kernels import ahead, joints
from mse.kernels.beams import late_parts, segment
from mse.kernels.springs import spring
from mse.model.topology import Topology

ROOT = Path(mse.__file__).parents[1]

# all that the second process compiles, started as a search of a system with beams does
FILLING = """
from mse.kernels import ahead, jit
from mse.kernels.beams import segment
ahead.compile_ahead([segment])
child = ahead._child
print(child.wait(), all(jit.on_disk(kernel) for kernel, _ in ahead.needed(True)))
"""

# first scripts, what they compile and what they find
SCRIPTS = """
import json
import sys
import numpy as np
from numba.core import event
import mse
from mse import Pose

class Listener(event.Listener):
    def on_start(self, e):
        f = e.data["dispatcher"].py_func
        names.append(f"{f.__module__}.{f.__name__}")

    def on_end(self, e):
        pass

def pendulum(s):
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3), at=Pose.dz(-1.0)))
    line = s.add(mse.Spring("line", length=1.0, stiffness=1e4))
    s.clamp(s.ground, line.frame(1))
    s.clamp(line.frame(0), body.frame(0))
    return body

def blade(s):
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3), at=Pose.dx(0.3)))
    line = s.add(mse.Beam("blade", length=0.3, width=0.05, height=0.002, elements=8))
    s.clamp(s.ground, line.frame(0))
    s.clamp(line.frame(1), body.frame(0))
    return body

names, found = [], {}
event.register("numba:compile", Listener())
for model in sys.argv[1:]:
    system = mse.MSystem(model, gravity=(0, 0, -9.81))
    body = globals()[model](system)
    system.add(mse.ForceActuator("coil"), between=(system.ground, body))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    response = system.find_working_point().linearize().frequency_response([0.01, 1.0, 30.0])
    found[model] = [x.hex() for x in response.values.view(float).ravel().tolist()]
print(json.dumps([names, found]))
"""


def run(code: str, *arguments: str, cache: Path, allowed: bool = True, flags: tuple = ()) -> str:
    given = os.environ | {
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(ROOT),
        "MSE_COMPILE_AHEAD": str(int(allowed)),
    }
    given.pop("PYTEST_XDIST_WORKER", None)
    code = f"import os; os.sched_getaffinity = lambda _: {{0, 1}}; os.cpu_count = lambda: 2\n{code}"
    done = subprocess.run([sys.executable, *flags, "-c", code, *arguments], env=given, text=True, capture_output=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with the code that a second process compiled alone."""
    cache = tmp_path_factory.mktemp("cache")
    assert run(FILLING, cache=cache).split() == ["0", "True"]
    return cache


@pytest.fixture(scope="module")
def scripts(filled):
    """What first scripts compile beside that, and find."""
    return json.loads(run(SCRIPTS, "pendulum", "blade", cache=filled, allowed=False))


@pytest.mark.slow
def test_scripts_find_all_that_was_compiled_ahead(scripts, filled):
    """A kernel that is called with other kinds of arguments than those compiled would be compiled again, and kept twice."""
    names, _ = scripts
    needed = {f"{k.py_func.__module__}.{k.py_func.__name__}" for k, _ in ahead.needed(True)}
    assert len(needed) == 8 and not needed & set(names)
    assert "mse.kernels.beams.segment" in names  # by the script itself, meanwhile
    assert not list(filled.rglob("*.2.nbc"))


@pytest.mark.slow
def test_beams_contain_the_parts_that_were_compiled_ahead(scripts):
    names = [name.rpartition(".")[2] for name in scripts[0]]
    assert "_put_strain" in names and not {part.py_func.__name__ for part, _ in late_parts()} & set(names)


@pytest.mark.slow
def test_all_that_scripts_compile_beside_is_asked_for_before_it(scripts):
    """What comes after an element's own kernel could be compiled ahead; these come before or are parts of such kernels."""
    kept = [n for n in scripts[0] if n.startswith(("mse.kernels.frames", "mse.kernels.rot", "mse.kernels.assem"))]
    parts = {
        f"mse.kernels.rotations.{part}" for part in ("put_rotation_vector", "put_rotation_matrix", "rotation_matrix")
    }
    assert set(kept) <= {"mse.kernels.frames._place", *parts}


@pytest.mark.slow
def test_results_are_the_same_to_the_last_bit(scripts, tmp_path):
    _, alone = json.loads(run(SCRIPTS, "pendulum", "blade", cache=tmp_path, allowed=False))
    assert alone == scripts[1]
    assert not [file for part, _ in late_parts() for file in tmp_path.rglob(f"*.{part.py_func.__name__}-*")]


def test_without_beams_only_the_search_is_prepared():
    short, long = ([kernel for kernel, _ in ahead.needed(beams)] for beams in (False, True))
    assert short == long[: len(short)] and len(short) < len(long)


class Recorder:
    """Stands for a second process that runs until it is ended."""

    started: list
    returncode = None

    def __init__(self, command, **options):
        self.started.append(command)
        self.stdin = io.BytesIO()

    def poll(self):
        return self.returncode

    def kill(self):
        self.returncode = -9

    def wait(self, timeout=None):
        return self.returncode


@pytest.fixture
def done(monkeypatch):
    """The kernels of steps that this process has compiled on a machine that had no code of them."""
    out = []
    monkeypatch.setattr(ahead, "compiled_for", lambda kernel, arguments: kernel in out)
    monkeypatch.setattr(ahead, "compile_for", lambda kernel, arguments: out.append(kernel))
    return out


@pytest.fixture
def started(monkeypatch, done):
    """The commands of processes that would be started on a machine without compiled code."""
    monkeypatch.setattr(ahead, "_asked", set())
    monkeypatch.setattr(ahead, "_child", None)
    monkeypatch.setattr(ahead, "on_disk", lambda kernel: False)
    monkeypatch.setattr(ahead, "storable", lambda kernel: True)
    monkeypatch.setattr(ahead.sys, "executable", "/usr/bin/python3.12")
    monkeypatch.setattr(ahead.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("MSE_COMPILE_AHEAD", "")
    monkeypatch.setattr(Recorder, "started", [], raising=False)
    monkeypatch.setattr(ahead.subprocess, "Popen", Recorder)
    yield Recorder.started
    ahead._end()


def test_one_process_at_a_time_and_one_for_each_kind_of_search(started):
    ahead.compile_ahead([spring])
    ahead.compile_ahead([spring])
    ahead.compile_ahead([segment])  # while the other one runs
    assert [command[-1].endswith("compile_as_second('search')") for command in started] == [True]
    ahead._asked.clear()
    ahead._child.kill()
    ahead.compile_ahead([segment])
    assert started[1][-1].endswith("compile_as_second('beams')")


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (ahead, "on_disk", lambda kernel: True),
        (ahead, "storable", lambda kernel: False),  # as with NUMBA_DISABLE_JIT, or without a folder
        (ahead, "is_worker", lambda: True),
        (ahead.os, "sched_getaffinity", lambda _: {3}),
        (ahead.sys, "frozen", True),
        *((ahead.sys, "executable", name) for name in (None, "", "/usr/bin/freecad", "C:/x/FreeCAD.exe", "pythonista")),
    ],
)
def test_where_it_is_of_no_use_no_process_is_started(started, monkeypatch, owner, name, value):
    monkeypatch.setattr(owner, name, value, raising=False)
    ahead.compile_ahead([segment])
    assert not started


@pytest.mark.parametrize(
    "name", ["python", "python3", "/opt/v/bin/python3.12", "pythonw.exe", "python3.13t", "PYTHON.EXE"]
)
def test_pythons_are_known_by_their_names(started, monkeypatch, name):
    monkeypatch.setattr(ahead.sys, "executable", name)
    ahead.compile_ahead([segment])
    assert started


@pytest.mark.parametrize(("variable", "value"), [("MSE_COMPILE_AHEAD", "0"), ("PYTEST_XDIST_WORKER", "gw0")])
def test_the_environment_turns_it_off(started, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    ahead.compile_ahead([segment])
    assert not started


def test_a_process_that_cannot_be_started_does_no_harm(started, monkeypatch):
    def refused(*_, **__):
        raise PermissionError

    monkeypatch.setattr(ahead.subprocess, "Popen", refused)
    ahead.compile_ahead([segment])
    assert ahead._child is None


def test_the_topology_of_a_system_asks_for_it(started):
    system = mse.MSystem("bar")
    bar = system.add(mse.Beam("bar", length=0.3, width=0.05, height=0.002, elements=2))
    system.clamp(system.ground, bar.frame(0))
    Topology(system)
    assert len(started) == 1


class Level(mse.MObject):
    """Holds a height."""

    frame_names = ("0",)

    def constraint(self, frames, q):
        return [frames[0].o[1]]


def pendulum(kind: str, inertia: float = 0.01) -> mse.MSystem:
    """A body on a hinge is a tree, a rod makes it a loop, a bushing acts, a law holds; of "asking", Python tells forces."""
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=inertia, at=mse.Pose.dx(0.5)))
    ball = mse.Spherical("hinge", stiffness=(1e2,) * 3)
    hinge = system.add(ball if kind == "asking" else mse.Revolute("hinge", axis=(0, 1, 0)))
    system.clamp(system.ground, hinge.frame(1))
    system.clamp(body.frame(0), hinge.frame(0), mse.Pose.dx(-0.5))
    if kind in ("loops", "loops acting", "asking"):
        system.add(mse.Rod("rod", length=0.5), between=(body, system.ground))
    if kind == "loops holding":
        system.add(Level("level"), between=(body,))
    if kind.endswith("acting"):
        system.add(mse.Bushing("rubber", stiffness=1e2), between=(body, system.ground @ mse.Pose.dx(0.5)))
    return system


def commands(started: list) -> list[str]:
    return [command[-1].rpartition("; ")[2] for command in started]


@pytest.mark.parametrize(
    ("kind", "here"),
    [
        ("trees", []),
        ("trees acting", ["exert"]),
        ("loops", ["march"]),
        ("loops acting", ["march", "exert"]),
        ("loops holding", ["march", "hold"]),
    ],
)
def test_a_large_motion_asks_for_its_steps_and_waits_for_the_first_of_them(started, monkeypatch, done, kind, here):
    compiled, told = [], []

    def wait(self, timeout=None):
        if timeout:
            told.append(self.stdin.getvalue().decode().splitlines()[0])
            compiled.extend(one.py_func.__name__ for one in done)
            done.append(ahead.steps_of(kind)[0][0])  # the second process has it
            raise subprocess.TimeoutExpired("second", timeout)

    monkeypatch.setattr(Recorder, "wait", wait)
    pendulum(kind).simulate(duration=0.01, dt=0.01)
    assert commands(started) == ["compile_as_second('search')"] and told[0] == f"{len(ahead.steps_of(kind))} {kind}"
    assert compiled == here and ahead._child is None


def test_it_leaves_what_this_process_compiles_itself(started, monkeypatch, done):
    told = []
    monkeypatch.setattr(ahead, "_end", lambda: told.append(ahead._child and ahead._child.stdin.getvalue()))
    monkeypatch.setattr(Recorder, "wait", lambda self, timeout=None: done.append(ahead.steps_of("loops acting")[0][0]))
    ahead.compile_steps_ahead("loops acting")
    ahead.wait_for_steps("loops acting")
    assert told == [None, b"2 loops acting\n1 loops acting\n"]


@pytest.mark.parametrize("kind", ["trees", "loops"])
def test_an_implicit_motion_asks_for_steps_of_its_own(started, monkeypatch, kind):
    monkeypatch.setattr(ahead, "wait_for_steps", lambda kind: None)
    pendulum(kind).simulate(duration=0.01, dt=0.01, method="implicit")
    assert commands(started) == ["compile_as_second('search')"] and ahead._kind == f"implicit {kind}"


def test_a_process_that_makes_steps_goes_on_with_others(started, done):
    """A run that turns out to be stiff needs the longest kernel of explicit steps, too."""
    ahead.compile_steps_ahead("loops")
    ahead.compile_steps_ahead("implicit loops")
    assert commands(started) == ["compile_as_second('loops')"] and ahead._kind == "implicit loops"
    assert ahead._child.stdin.getvalue() == b"7 implicit loops\n"
    assert ahead.steps_of("loops")[0][0] is ahead.steps_of("implicit loops")[0][0]
    ahead._child.kill()
    ahead.compile_steps_ahead("trees")
    assert commands(started)[1:] == ["compile_as_second('trees')"]


def test_the_second_process_goes_on_with_what_it_is_told(done):
    asked = ahead.SimpleQueue()
    for text in ("2 loops acting", "4 implicit trees"):
        asked.put(text)
    ahead._compile_missing(ahead.steps_of("loops"), asked)
    assert done == [kernel for kernel, _ in ahead.steps_of("implicit trees")[:4]]


@pytest.mark.parametrize(("kind", "asked"), [("trees", 0), ("trees acting", 1), ("loops", 1), ("asking", 1)])
def test_after_a_search_steps_are_asked_for_where_they_are_several_kernels(started, monkeypatch, kind, asked):
    monkeypatch.setattr(ahead, "on_disk", lambda kernel: kernel in (ahead.put_joints, ahead.shift_to_reference))
    monkeypatch.setattr(ahead, "wait_for_steps", lambda kind: None)
    pendulum(kind).simulate(duration=0.01, dt=0.01)
    assert len(started) == asked


@pytest.mark.parametrize("inertia", [0.01, 0.0])
def test_steps_are_asked_for_before_anything_that_takes_long_is_called(started, monkeypatch, inertia):
    """Joints of points, too, which have no size of their own."""
    begun, former = [], ahead.compile_steps_ahead
    monkeypatch.setattr(ahead, "wait_for_steps", lambda kind: None)
    monkeypatch.setattr(joints, "put_joints", lambda *given: begun.append("joints") or ahead.put_joints(*given))
    monkeypatch.setattr(ahead, "compile_steps_ahead", lambda kind: begun.append(kind) or former(kind))
    pendulum("trees", inertia).simulate(duration=0.01, dt=0.01)
    assert begun[:2] == ["trees", "joints"]


# the end of a motion, what was compiled for it here, and how the second process ended
MOVING = """
import json
import sys
sys.path.insert(0, {tests!r})
from numba.core import event
from kernels.test_ahead import pendulum
from mse.kernels import ahead

class Listener(event.Listener):
    def on_start(self, e):
        names.append(e.data["dispatcher"].py_func.__name__)

    def on_end(self, e):
        pass

def wait(kind):
    child = ahead._child
    if sys.argv[2] == "die" and child is not None:
        child.kill()
    former(kind)
    ended.append(child and child.returncode)

names, ended, former = [], [], ahead.wait_for_steps
ahead.wait_for_steps = wait
event.register("numba:compile", Listener())
state = pendulum(sys.argv[1]).simulate(duration=0.5, dt=0.1).final_state
print(json.dumps([[x.hex() for x in state._moment.state.o.ravel().tolist()], names, ended]))
"""


def moved(cache, kind: str, *, dies: bool = False, allowed: bool = True):
    code = MOVING.format(tests=str(Path(__file__).parents[1]))
    return json.loads(run(code, kind, "die" if dies else "live", cache=cache, allowed=allowed))


@pytest.mark.slow
def test_motions_are_the_same_whoever_compiles_their_steps(tmp_path):
    beside, names, ended = moved(tmp_path / "beside", "loops acting")
    assert "run" not in names and ended[0] in (0, -signal.SIGKILL)
    assert not list(tmp_path.rglob("*.run-*.2.nbc"))
    alone, names, ended = moved(tmp_path / "alone", "loops acting", allowed=False)
    assert "run" in names and ended == [None]
    assert beside == alone


@pytest.mark.slow
def test_steps_are_compiled_here_if_the_second_process_dies(tmp_path):
    _, names, ended = moved(tmp_path, "trees", dies=True)
    assert "march" in names and ended == [-signal.SIGKILL]


LEAVING = """
from mse.kernels import ahead
from mse.kernels.beams import segment
ahead.compile_ahead([segment])
print(ahead._child.pid)
"""


@pytest.mark.slow
def test_nothing_is_left_when_the_first_process_ends(tmp_path):
    """No line on stderr, no warning of Python's, no process."""
    pid = int(run(LEAVING, cache=tmp_path, flags=("-X", "dev", "-W", "error")))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.fixture
def second(tmp_path):
    """A second process of which the first one is this."""
    code = "print(flush=True); " + ahead._CODE.format([str(ROOT), *sys.path], ahead.BEAMS)
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    # jobs that a shell runs in the background ignore SIGINT, and so does what they start
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            child.stdout.readline()  # an interrupt before ends Python's own start, with 1
            yield child
    finally:
        signal.signal(signal.SIGINT, former)


@pytest.mark.slow
def test_it_ends_with_the_first_process(second, tmp_path):
    second.stdin.close()
    assert second.wait() == 0 and not second.stderr.read()
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.slow
def test_it_ends_with_an_interrupt(second):
    second.send_signal(signal.SIGINT)
    assert second.wait() == -signal.SIGINT
