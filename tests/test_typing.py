"""What type checkers see: a strict user script passes, results have types, mistakes are found; editors complete names."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import mse

SCRIPT = """
from collections.abc import Sequence

import numpy as np

import mse
from mse import Pose
from mse.elements.base import FramePose
from mse.elements.parameters import Array, Choice, Real


class Magnet(mse.MObject):
    strength: Real = Real("force times distance squared", unit="N m2", above=0.0)
    pole: Choice = Choice("which", among=("north", "south"), default="north")
    axis: Array = Array("direction", shape=(3,), default=(0.0, 0.0, 1.0))

    def energy(self, frames: Sequence[FramePose], q: np.ndarray) -> float:
        d = frames[1].o - frames[0].o
        return self.strength / float(np.sqrt(d @ d))


system = mse.MSystem("stage", gravity=(0, 0, -9.81))
mass = mse.RigidBody("mass", mass=np.float32(1), inertia=(1, 1, 2), at=Pose.dz(-0.5), frames={"hook": Pose.dz(0.1)})
mass = system.add(mass)
spring = system.add(mse.Spring("spring", length=0.5, stiffness=1000), between=(system.ground, mass))
beam = mse.Beam("beam", length=0.3, width=(0.02, 0.01), height=lambda s: 0.001 + s, stations={"middle": 0.15})
wire = mse.Wire("wire", length=0.3, radius=1e-4, young_modulus=2e11, poisson_ratio=0.3)
hinge = mse.Revolute("hinge", stiffness=1.0, lower=-0.1, motor="force", axis=(0, 1, 0))
ball = mse.Spherical("ball", stiffness={"ax": 1.0}, upper=[None, 0.1, None])
joint = mse.Joint("joint", free=("x", "y"))
gear = mse.Gear("gear", joints={"hinge": 1.0, "other": -2.0}, offset=0.1)
plate = mse.FlexibleBody("plate", M=np.eye(6), K=np.zeros((6, 6)), interfaces={"a": Pose()})
block = mse.RigidBody("block", shape=mse.Box((0.1, 0.1, 0.1)), density=2700.0)
magnet = Magnet("magnet", strength=2.0)
spring.stiffness = 900
wp = system.find_working_point()
linear = wp.linearize()
modes = linear.modes()
response = linear.frequency_response([1.0, 2.0])
history = linear.simulate(duration=1.0, dt=0.1, inputs={"coil.fx": np.sin})
trace = system.trace("spring.length", 0.6)
"""

# what a checker is to know of results: an expression of the script, and its type
TYPES = {
    "mass": "RigidBody",
    "spring.length": "float",
    "mass.inertia": "ndarray",
    "hinge.stiffness": "tuple[float, ...]",
    "hinge.lower": "tuple[float | None, ...]",
    "hinge.motor": "tuple[str, ...]",
    "magnet.strength": "float",
    "magnet.name": "str",
    "magnet.at": "Pose | None",
    "beam.elements": "int",
    "beam.theory": "str",
    "spring.copy('other')": "Spring",
    "system.objects[0]": "MObject",
    "wp": "WorkingPoint",
    "wp.poses['mass.center'].o": "ndarray",
    "wp.tensions['spring']": "float",
    "wp.reactions['rod']": "ndarray",
    "wp.free[0].name": "str",
    "wp.update({})": "WorkingPoint",
    "wp.table()": "Table",
    "wp.frame_poses[0]": "ndarray",
    "linear": "LinearModel",
    "linear.K": "csr_matrix",
    "linear.full_mass": "csr_matrix",
    "linear.state_space().shift": "ndarray",
    "modes": "Modes",
    "modes[0]": "Mode",
    "modes['mass.x']": "ndarray",
    "modes.shapes": "ndarray",
    "modes[0].frequency_hz": "float",
    "response": "FrequencyResponse",
    "response['probe.x', 'coil.fx']": "ndarray",
    "history": "TimeResponse",
    "history['probe.x']": "ndarray",
    "linear.state_space()": "StateSpace",
    "linear.state_space().A": "ndarray",
    "linear.step_loop(dt=0.1)": "StepLoop",
    "linear.resonance_grid(0.1, 1.0)": "ResonanceGrid",
    "trace": "Trace",
    "trace.values": "ndarray",
    "trace.events[0].motion": "Motion | None",
    "system.find_instability(max_load_factor=2.0)": "Instability",
    "beam.internal_forces(wp)": "BeamLoads",
    "mse.read_recording('x')": "TimeResponse",
    "mse.read_model('x.json')": "MSystem | WorkingPoint",
    "mse.reduce_matrices(np.eye(2), None, np.eye(2), boundary=[1])": "Reduction",
    "mse.LinearModel.from_matrices(np.eye(2), None, np.eye(2))": "LinearModel",
    "mse.compose": "LinearModel",
    "mse.__version__": "str",
}

MISTAKES = {
    'mse.Spring("a", lenght=1.0)': "lenght",
    'mse.Spring("b", length="1 m")': "length",
    'mse.Wire("c", length=1.0)': "radius",
    "system.find_workingpoint()": "find_workingpoint",
    'mse.Sprnig("d")': "Sprnig",
    'spring.stiffness = "1 N/m"': "str",
    'spring.name = "other"': "name",
    'Magnet("e", strength=(1.0, 2.0))': "strength",
    'Magnet("f")': "strength",
    'mse.Revolute("g", motor=1.0)': "motor",
    'mse.RigidBody("h")': "RigidBody",
    'mse.Gear("i", joints={"hinge": "2"})': "str",
    'mse.MSystem("j", gravty=(0, 0, 0))': "gravty",
    "linear.modes(cuont=3)": "cuont",
    "wp.stable()": "bool",
}

# SciPy has no types of its own: these stand for the package scipy-stubs, which a user may have
SCIPY = """
from typing import Any

class spmatrix: ...
class csr_matrix(spmatrix): ...
class csc_matrix(spmatrix): ...

def __getattr__(name: str) -> Any: ...
"""


def checked(tmp_path: Path, lines: list[str]) -> list[tuple[int, str]]:
    """What mypy --strict has to say of the script and further lines: the number of each such line, and the message."""
    (tmp_path / "script.py").write_text(SCRIPT + "\n".join(lines) + "\n")
    for folder, text in (
        ("scipy", "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"),
        ("scipy/sparse", SCIPY),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.pyi").write_text(text)
    first = SCRIPT.count("\n") + 1
    cache = Path(os.environ.get("MYPY_CACHE_DIR") or tmp_path.parent / "mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "--no-color-output",
         "--cache-dir", str(cache), "--follow-imports", "silent", "script.py"],
        cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"MYPYPATH": str(Path(mse.__file__).parents[1])},
    )  # fmt: skip
    assert not done.stderr, done.stderr
    found = re.findall(r"^script\.py:(\d+): (?:error|note): (.*)$", done.stdout, re.MULTILINE)
    return [(int(number) - first, message) for number, message in found]


def test_all_names_together_are_those_of_systems_and_later_ones_are_completed():
    names = {}
    exec("from mse import *", names)
    assert {
        "Box",
        "Cylinder",
        "Dae",
        "Obj",
        "Plate",
        "Sphere",
        "Stl",
        "RigidBody",
        "MSystem",
        "Pose",
        "ModelError",
    } <= set(names)
    assert {"Box", "Stl", "LinearModel"} <= set(dir(mse)) and type(mse) is ModuleType


def test_checkers_know_what_is_imported_later():
    tree = ast.parse(Path(mse.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    assert {name.asname: f".{one.module}" for one in block.body for name in one.names} == mse._LATER | mse._RESULTS


@pytest.mark.slow
def test_a_strict_script_passes_and_results_have_types(tmp_path):
    found = dict(checked(tmp_path, [f"reveal_type({expression})" for expression in TYPES]))
    assert sorted(found) == list(range(len(TYPES))), found
    for (expression, expected), message in zip(TYPES.items(), map(found.get, range(len(TYPES))), strict=True):
        told = re.sub(r"\b(?:\w+\.)+(?=\w)", "", message.removeprefix('Revealed type is "').removesuffix('"'))
        assert told == expected or told.startswith(f"{expected}[") or told.endswith(f"-> {expected}"), (
            expression,
            told,
        )


@pytest.mark.slow
def test_mistakes_are_found(tmp_path):
    found = checked(tmp_path, list(MISTAKES))
    for number, (line, word) in enumerate(MISTAKES.items()):
        assert any(k == number and word in message for k, message in found), (line, found)
    assert {k for k, _ in found} == set(range(len(MISTAKES)))  # and nothing is wrong with the script itself


# -- completion -------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def shell():
    shell = InteractiveShell.instance()
    shell.Completer.use_jedi = False
    system = mse.MSystem("stage", gravity=(0, 0, -9.81))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(system.ground, mass))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    system.add(mse.ForceActuator("coil"), between=(mass, system.ground))
    arm = system.add(mse.RigidBody("arm", mass=1.0, inertia=0.1))
    system.add(mse.Revolute("hinge", stiffness=1.0), between=(arm, system.ground))
    outer = mse.MSystem("outer")
    outer.add(system.copy("inner"), between=(outer.ground,))
    point = system.find_working_point()
    linear = point.linearize()
    shell.user_ns.update(
        system=system, outer=outer, inner=outer["inner"], point=point, modes=linear.modes(), parts=linear.stiffness_parts,
        response=linear.frequency_response([1.0]), parameters=system["spring"].parameters, mse=mse,
        history=linear.simulate(duration=0.1, dt=0.01, inputs={"coil.fx": np.sin}), loop=linear.step_loop(dt=0.01),
    )  # fmt: skip
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ('response["pro', "probe.ax"),
        ('response["probe.x", "co', "coil.fx"),
        ('history["pro', "probe.x"),
        ('history["co', "coil.fx"),
        ('loop["pro', "probe.x"),
        ('loop["co', "coil.fx"),
        ('modes["ma', "mass.ay"),
        ('system["spr', "spring"),
        ('outer["inner.sp', "inner.spring"),
        ('inner["sp', "spring"),
        ('point.poses["mass.c', "mass.center"),
        ('point.reactions["hi', "hinge"),
        ('point.tensions["sp', "spring"),
        ('point.forces["ma', "mass"),
        ('point.joint_coordinates["hi', "hinge.angle"),
        ('parts["spring", "ax', "axial"),
        ('parameters["sti', "stiffness"),
        ("mse.Spring(len", "length="),
    ],
)
def test_names_are_completed(shell, typed, offered):
    with provisionalcompleter():
        matches = [found.text for found in shell.Completer.completions(typed, len(typed))]
    assert any(match.endswith(offered) for match in matches), matches


def test_completed_names_are_those_that_there_are(shell):
    names = shell.user_ns
    for name in ("response", "history", "loop", "modes", "system", "outer", "inner", "parts", "parameters"):
        keys = names[name]._ipython_key_completions_()
        assert len(keys) == len(set(keys)) > 0
        for key in keys:
            assert names[name][key] is not None
