"""Files of systems and working points: damaged ones are refused by the place, and what was there is never lost."""

from __future__ import annotations

import copy
import errno
import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mse
from mse import Pose
from mse.validation import file_access
from paths import IMPORTED


def pendulum() -> mse.MSystem:
    s = mse.MSystem("p", gravity=(0, 0, -9.81))
    wire = s.add(mse.Spring("wire", length=1.0, stiffness=1e4))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-1.0), frames={"hook": Pose.dz(0.05)}))
    box = s.add(mse.MSystem("box"))
    inner = box.add(mse.RigidBody("inner", mass=0.1, inertia=0.1))
    box.clamp(box.ground, inner.frame(0))
    s.clamp(mass.frame(0), box.ground)
    s.clamp(s.ground, wire.frame(1))
    s.clamp(wire.frame(0), mass.frame("hook"))
    return s


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What a file of a working point holds."""
    path = tmp_path_factory.mktemp("saved") / "w.json"
    pendulum().find_working_point().save(path)
    return json.loads(path.read_text())


def changed(content, steps, value):
    new = copy.deepcopy(content)
    here = new
    for step in steps[:-1]:
        here = here[step]
    if value is KeyError:
        del here[steps[-1]]
    else:
        here[steps[-1]] = value
    return new


def refused(path, content) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(mse.FileError) as error:
        mse.read_model(path)
    return str(error.value).replace(str(path), "x.json")


# -- what is in a file --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("steps", "value", "said"),
    [
        (("system", "objects", 1, "parameters", "mass"), "1", "system.objects[1]: RigidBody 'mass': mass is '1' kg; expected"),
        (("system", "objects", 1, "parameters", "mass"), float("nan"), "system.objects[1].parameters.mass is nan"),
        (("system", "objects", 1, "parameters", "mass"), 10**400, "has an integer of 401 digits"),
        (("system", "objects", 1, "parameters", "mass"), 10**350, "system.objects[1].parameters.mass is 1000"),
        (("system", "objects", 1, "parameters", "mas"), 1.0, "system.objects[1]: RigidBody 'mass': no parameter 'mas'"),
        (("system", "objects", 1, "parameters", "name"), "x", "no parameter 'name'"),
        (("system", "objects", 1, "parameters", "two words"), [None, [float("inf")]], "parameters['two words'][1][0] is inf"),
        (("system", "objects", 1, "options", "frames", "hook"), None, "frame 'hook' is None; expected a Pose"),
        (("system", "objects", 1, "options", "frames", "hook", "o"), [0, 0], "options.frames.hook.o is a list of 2; expected"),
        (("system", "objects", 1, "options"), {"mass": {"a": 1}}, "system.objects[1]: RigidBody 'mass': 'mass' is no option"),
        (("system", "objects", 1, "options"), {"hooks": {"a": 1}}, "system.objects[1]: RigidBody 'mass': "),
        (("system", "objects", 1, "at", "U", 0), [1, 1, 0], "system.objects[1]: Pose: orientation columns are not orthonormal"),
        (("system", "objects", 1, "at", "U", 0, 2), "0", "system.objects[1].at.U[0][2] is '0'; expected a finite number"),
        (("system", "objects", 1, "at"), KeyError, "system.objects[1] is without 'at'; expected a mapping with type, name, at"),
        (("system", "objects", 1, "color"), "red", "system.objects[1] is with an entry 'color'"),
        (("system", "objects", 1, "type"), "os.system", "system.objects[1]: object 'mass' is of class 'os.system', which is not"),
        (("system", "objects", 1, "type"), "mse.Rigidbody", "not defined here (did you mean 'mse.RigidBody'?)"),
        (("system", "objects", 1, "type"), "mse.MSystem", "expected objects and clamps, besides its parameters"),
        (("system", "type"), "mse.RigidBody", "system: RigidBody 'p': expected objects and clamps"),
        (("system", "objects", 1, "name"), "wire", "system.objects[1]: MSystem 'p': it already has a Spring named 'wire'"),
        (("system", "objects", 2, "clamps", 0), ["ground"], "system.objects[2].clamps[0] is a list of 1; expected a list of 3"),
        (("system", "objects", 2, "clamps", 0, 1), "inner.hook", "clamps[0]: RigidBody 'inner': no frame 'hook'"),
        (("system", "clamps"), None, "system.clamps is null; expected a list"),
        (("working_point", "o", 1, 2), None, "working_point.o[1][2] is null; expected a finite number"),
        (("working_point", "o", 1, 2), True, "working_point.o[1][2] is true; expected a finite number"),
        (("working_point", "o"), [[0, 0, 0]], "working_point: o has 1 entries; expected 2"),
        (("working_point", "o", 1), [0, 0, -5.0], "working_point: the system does not rest in this state"),
        (("working_point", "o", 1), [1e308, 0, 0], "working_point: forces or stiffness in this state are not finite"),
        (("working_point", "U", 1, 0), [1.5, 0, 0], "working_point: U[1] of mass differs from a rotation matrix by 1.25"),
        (("working_point", "q"), [1.0], "working_point: q has 1 entries; expected 0"),
        (("working_point", "memory", 0), [[1.0]], "working_point: memory[0] has another shape; expected (1, 0)"),
        (("working_point", "scale", 2), 0, "working_point.scale[2] is 0; expected a number above zero"),
        (("working_point", "size"), float("inf"), "working_point.size is inf; expected a finite number"),
        (("working_point", "load_factor"), "1", "working_point.load_factor is '1'"),
        (("working_point", "seek"), "best", "working_point.seek is 'best'; expected one of 'stable', 'nearest'"),
        (("working_point", "history", 0, 6), 1, "working_point.history[0][6] is 1; expected true or false"),
        (("working_point", "relative_residual", 0), float("nan"), "working_point.relative_residual[0] is nan"),
        (("working_point", "converged"), "yes", "working_point.converged is 'yes'; expected true or false"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_refused_by_its_place(tmp_path, saved, steps, value, said):
    text = refused(tmp_path / "x.json", changed(saved, steps, value))
    assert text.startswith("x.json: ") and said in text


def test_a_changed_parameter_does_not_go_with_the_old_state(tmp_path, saved):
    text = refused(tmp_path / "x.json", changed(saved, ("system", "objects", 1, "parameters", "mass"), 2.0))
    assert "of the loads are unbalanced" in text and "find its working point again" in text


def nested(levels: int) -> str:
    one = '{"type":"mse.MSystem","name":"s","at":null,"parameters":{"gravity":[0,0,0]},"clamps":[],"objects":['
    return '{"format":"mse 1","system":' + one * levels + "]}" * levels + "}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deep"),
        (nested(200), "a subsystem on level 51; expected at most 50 levels"),
        (nested(900), ""),
        (nested(51), ".objects[0].objects[0] is a subsystem on level 51"),
        ('{"format": "mse 1",\n "system": ' + "9" * 10_000 + "}", "line 2 column 12 has an integer of 10000 digits"),
        ('{"format": "mse 1", "system": {}, "system": {}}', "two entries 'system'; expected each name once"),
        (
            '{"format": "mse 1",\n "system": {]}',
            "not a JSON text (Expecting property name enclosed in double quotes: line 2",
        ),
    ],
)
def test_hostile_texts_are_refused(tmp_path, text, said):
    assert said in refused(tmp_path / "x.json", text)
    (tmp_path / "x.json").write_text(nested(50))
    assert mse.read_model(tmp_path / "x.json").name == "s"


def test_a_line_cannot_ask_for_millions_of_elements(tmp_path):
    s = mse.MSystem("s")
    for k in range(12):
        s.add(mse.Beam(f"b{k}", length=1.0, width=0.1, height=0.1, elements=9_000, stations={"middle": 0.5}))
    s.save(tmp_path / "x.json")
    text = refused(tmp_path / "x.json", (tmp_path / "x.json").read_text())
    assert "system.objects[11]: Beam 'b11': with it the file has 108013 elements; expected at most 100000" in text
    assert "give read_model() a larger max_elements" in text
    assert mse.read_model(tmp_path / "x.json", max_elements=108_013)["b11"].elements == 9_000


def test_bytes_that_are_no_text_and_a_mark_before_it(tmp_path, saved):
    path = tmp_path / "x.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(mse.FileError, match=r"x\.json is not a text \(byte 0 is 0xff\); expected UTF-8, as save\(\)"):
        mse.read_model(path)
    result = tmp_path / "states.npz"
    mse.LinearModel.from_matrices([[1.0]], None, [[4.0]], coordinates=["mass.x"]).state_space().save(result)
    with pytest.raises(mse.FileError, match=r"mse\.read_result\(\) reads what save\(\) of an analysis wrote"):
        mse.read_model(result)
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(saved).encode())
    assert mse.read_model(path).converged


@pytest.mark.parametrize("reader", ["read_bytes", "loads"])
def test_a_file_beyond_memory_is_told(tmp_path, saved, monkeypatch, reader):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(saved))

    def none(*given, **options):
        raise MemoryError

    monkeypatch.setattr(Path if reader == "read_bytes" else json, reader, none)
    with pytest.raises(mse.FileError, match=r"x\.json has .* GB, which does not fit into memory"):
        mse.read_model(path)


# -- classes ------------------------------------------------------------------------------------------------------
def test_files_name_classes_by_module(tmp_path, monkeypatch):
    """A script's own Spring is neither written nor read as mse's."""
    monkeypatch.setattr(mse.MObject, "classes", dict(mse.MObject.classes))
    s = pendulum()
    s.save(tmp_path / "mse.json")

    own = type("Spring", (mse.Spring,), {"__module__": "__main__", "__qualname__": "Spring"})
    back = mse.read_model(tmp_path / "mse.json")
    assert type(back["wire"]) is mse.Spring
    mine = mse.MSystem("mine")
    mine.add(own("wire", length=1.0, stiffness=1e4))
    mine.save(tmp_path / "own.json")
    content = json.loads((tmp_path / "own.json").read_text())
    assert content["system"]["objects"][0]["type"] == "__main__.Spring"
    assert type(mse.read_model(tmp_path / "own.json")["wire"]) is own
    # a cell run again
    later = type("Spring", (mse.Spring,), {"__module__": "__main__", "__qualname__": "Spring"})
    assert type(mse.read_model(tmp_path / "own.json")["wire"]) is later
    # as files were written before: by name alone, as long as that says which
    content["system"]["objects"][0]["type"] = "Spring"
    assert "which may be __main__.Spring or mse.Spring; expected one of these" in refused(tmp_path / "x.json", content)
    del mse.MObject.classes["__main__.Spring"]
    text = refused(tmp_path / "x.json", changed(content, ("system", "objects", 0, "type"), "__main__.Spring"))
    assert "'__main__.Spring', which is not defined here (did you mean 'mse.Spring'?)" in text
    (tmp_path / "x.json").write_text(json.dumps(content))
    assert type(mse.read_model(tmp_path / "x.json")["wire"]) is mse.Spring


def test_classes_of_mse_have_names_of_their_own():
    own = [cls for cls in all_classes(mse.MObject) if cls.__module__.split(".")[0] == "mse"]
    own = [cls for cls in own if mse.SymbolicElement not in cls.__mro__[1:]]  # made for expressions, all under one name
    names = {cls.__qualname__ for cls in own}
    assert len(names) == len(own) and all(mse.MObject.classes[f"mse.{n}"].__qualname__ == n for n in names)


def all_classes(base):
    for cls in base.__subclasses__():
        yield cls
        yield from all_classes(cls)


def test_what_the_constructor_of_an_own_class_raises_is_named(tmp_path):
    class Odd(mse.MObject):
        def __init__(self, name, *, at=None, teeth=None):
            super().__init__(name, at=at)
            self.teeth = {"count": 1 / len(teeth or ())}

        def options(self):
            return {"teeth": self.teeth}

    s = mse.MSystem("s")
    s.add(Odd("odd", teeth={"count": 1}))
    s.save(tmp_path / "x.json")
    assert mse.read_model(tmp_path / "x.json")["odd"].teeth == {"count": 1.0}
    text = refused(tmp_path / "x.json", (tmp_path / "x.json").read_text().replace('"count": 1.0', ""))
    assert "system.objects[0]: Odd 'odd': its class failed: ZeroDivisionError: division by zero" in text


# -- places -------------------------------------------------------------------------------------------------------
def test_places_without_a_file_to_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for path, said in (
        (
            tmp_path / "none.json",
            f"none.json: there is no such file; expected one that can be read; looked in {tmp_path}",
        ),
        (tmp_path / "no" / "x.json", f"there is no folder {tmp_path / 'no'}"),
        (tmp_path, "is a folder; expected a file"),
        (tmp_path / "pipe", "is a device, pipe or socket"),
        ("/dev/zero", "is a device, pipe or socket"),
        (tmp_path / "loop", "cannot be reached"),
        (3, "path is 3; expected the name of a file"),
        ("", "path is ''"),
        ("a\0b", "expected the name of a file"),
    ):
        with pytest.raises(mse.FileError) as error:
            mse.read_model(path)
        assert said in str(error.value)
        if "none" not in str(path):
            with pytest.raises(mse.FileError) as error:
                pendulum().save(path)
            assert said.partition(": there is no such")[0] in str(error.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["loop", "pipe"]


def test_a_link_is_followed_and_rights_are_kept(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "x.json", tmp_path / "link.json"
    link.symlink_to(Path("far") / "x.json")
    pendulum().save(link)
    os.chmod(target, 0o640)
    s = pendulum()
    s["mass"].mass = 3.0
    s.save(link)
    assert link.is_symlink() and mse.read_model(target)["mass"].mass == 3.0
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [p.name for p in target.parent.iterdir()] == ["x.json"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_file_that_was_there(tmp_path, monkeypatch, step):
    path = tmp_path / "x.json"
    pendulum().save(path)
    before = path.read_bytes()

    def full(*given, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    written = file_access.Path.write_bytes

    def half(target, content):
        written(target, content[: len(content) // 2])
        full()

    with monkeypatch.context() as m:
        if step == "write":
            m.setattr(file_access.Path, "write_bytes", half)
        else:
            m.setattr(file_access.os, step, full)
        for target in (path, tmp_path / "new.json"):
            with pytest.raises(mse.FileError, match=r"\.json cannot be written \(No space left on device\)") as error:
                pendulum().save(target)
            assert error.value.__cause__.errno == errno.ENOSPC
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_what_a_file_cannot_hold_is_refused_before_it_is_touched(tmp_path):
    path = tmp_path / "x.json"
    wp = pendulum().find_working_point()
    wp.save(path)
    before = path.read_bytes()
    residual = wp.relative_residual.copy()
    residual[3] = np.nan
    wp = replace(wp, relative_residual=residual)
    with pytest.raises(
        mse.FileError, match=r"x\.json: working_point\.relative_residual\[3\] is nan; .*nothing was written"
    ):
        wp.save(path)
    s = top = mse.MSystem("s")
    for _ in range(50):
        top = top.add(mse.MSystem("s"))
    with pytest.raises(mse.ModelError, match="is on level 51; expected at most 50 levels of systems in a file"):
        s.save(path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.slow
def test_processes_that_save_to_one_file_never_mix(tmp_path):
    script = (
        "import sys\n"
        "sys.path[:0] = sys.argv[3:]\n"
        "import test_files as t\n"
        "s = t.pendulum()\n"
        "s['mass'].mass = float(sys.argv[2])\n"
        "for _ in range(40): s.save(sys.argv[1])\n"
    )
    path = tmp_path / "x.json"
    running = [
        subprocess.Popen([sys.executable, "-c", script, path, str(k), *IMPORTED], stderr=subprocess.PIPE)
        for k in (2, 3)
    ]
    seen = set()
    while any(p.poll() is None for p in running):
        if path.exists():
            seen.add(mse.read_model(path)["mass"].mass)
    assert [p.communicate()[1] for p in running] == [b"", b""]
    assert seen <= {2.0, 3.0} and mse.read_model(path)["mass"].mass in (2.0, 3.0)
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


# -- notebooks ----------------------------------------------------------------------------------------------------
def test_names_cannot_become_markup():
    s = mse.MSystem("<b>s</b>")
    body = s.add(mse.RigidBody("<script>alert(1)</script>", mass=1.0, inertia=1.0))
    spring = s.add(mse.Bushing("&lt;", stiffness=1e3 * np.eye(6)))
    s.clamp(s.ground, spring.frame(0))
    s.clamp(body.frame(0), spring.frame(1))
    wp = s.find_working_point()
    for shown in (s, wp, wp.linearize(), wp.linearize().modes()):
        text = shown._repr_html_()
        assert "<table" in text and "<script>" not in text and "<b>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in s._repr_html_() and "&amp;lt;" in s._repr_html_()
