"""The ``mse`` command: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import mse
from mse.tools import cli


def refuse(error: Exception):
    def raiser(*args, **kwargs):
        raise error

    return raiser


@pytest.mark.slow
def test_demo_prints_tables_and_writes_where_it_says(tmp_path, capsys):
    assert cli.main(["demo", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    picture = tmp_path / "pendulum_transfer_function.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert str(picture) in out
    assert "0.1516077" in out
    assert "frequency (Hz)" in out


@pytest.mark.slow
def test_demo_writes_into_the_current_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo"]) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["pendulum_transfer_function.png"]


def test_without_matplotlib_the_tables_are_printed_all_the_same(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main(["demo", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "0.1516077" in out
    assert "pip install 'mse[plot]'" in out
    assert not list(tmp_path.iterdir())


def test_the_note_on_further_modes_names_the_option(tmp_path, capsys):
    rope, above = mse.MSystem("rope"), None
    for k in range(12):
        rod = rope.add(mse.RigidBody(f"m{k}", mass=1.0, inertia=0.1, at=mse.Pose.dz(-k - 1.0)))
        rope.add(mse.Spring(f"s{k}", length=1.0, stiffness=1e4), between=(above or rope.ground, rod))
        above = rod
    rope.save(tmp_path / "rope.json")
    assert cli.main(["modes", str(tmp_path / "rope.json"), "--count", "3"]) == 0
    out = capsys.readouterr().out
    assert "the 3 lowest modes" in out and "; --count 6 gives more" in out and "modes(" not in out
    assert cli.main(["modes", str(tmp_path / "rope.json"), "-n", "6"]) == 0
    assert "the 6 lowest modes" in capsys.readouterr().out


@pytest.mark.parametrize("count", ["0", "-3", "many", "2.5"])
def test_a_wrong_count_is_refused_by_its_option(count, saved, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["modes", str(saved / "system.json"), f"--count={count}"])
    assert stopped.value.code == 2
    assert f"argument -n/--count: '{count}' is no positive whole number" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["pendulum", "bode"])
def test_errors_are_one_line_and_exit_code_1(where, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(cli, where, refuse(mse.ModelError("Spring 'wire': too short")))
    assert cli.main(["demo", "--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "mse: Spring 'wire': too short\n"


@pytest.fixture
def saved(tmp_path):
    cli.pendulum().save(tmp_path / "system.json")
    cli.pendulum().find_working_point().save(tmp_path / "point.json")
    return tmp_path


@pytest.mark.parametrize(("name", "working_point"), [("system.json", False), ("point.json", True)])
def test_a_saved_system_is_shown(saved, capsys, name, working_point):
    assert cli.main(["show", str(saved / name)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(str(cli.pendulum())) and ("residual" in out) is working_point


@pytest.mark.parametrize("name", ["system.json", "point.json"])
def test_modes_of_a_saved_system_are_those_of_the_system(saved, capsys, name):
    assert cli.main(["modes", str(saved / name)]) == 0
    linear = cli.pendulum().find_working_point().linearize()
    assert capsys.readouterr().out == f"{linear.modes()}\n"
    assert cli.main(["modes", str(saved / name), "-n", "2", "--damped"]) == 0
    assert capsys.readouterr().out == f"{linear.modes(2, damped=True)}\n".replace("modes(count=4)", "--count 4")
    assert cli.main(["modes", str(saved / name), "-n", "2", "--lossy"]) == 0
    assert capsys.readouterr().out == f"{linear.modes(2, lossy=True)}\n".replace("modes(count=4)", "--count 4")


def test_a_page_shows_a_saved_system_and_as_many_modes_as_asked_for(saved, capsys, monkeypatch):
    from mse.statics.working_point import WorkingPoint

    page, counts = saved / "page.html", []
    write = WorkingPoint.to_html

    def written(point, path, *, modes):
        counts.append(np.count_nonzero(~modes.free))
        write(point, path, modes=modes)

    monkeypatch.setattr(WorkingPoint, "to_html", written)
    assert cli.main(["view", str(saved / "system.json"), "-o", str(page), "-n", "3"]) == 0
    assert capsys.readouterr().out == f"{page} shows Simple pendulum: open it in a browser\n"
    assert counts == [3]
    assert "<html" in page.read_text(encoding="utf-8") and "Simple pendulum" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [["show"], ["modes"], ["view", "-o", "page.html"]])
def test_files_that_cannot_be_read_are_refused_in_one_line(tmp_path, capsys, command):
    (tmp_path / "broken.json").write_text("{}")
    for name in ("missing.json", "broken.json"):
        assert cli.main([*command, str(tmp_path / name)]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("mse: ") and name in line


def test_an_interrupted_command_says_so(saved, capsys, monkeypatch):
    monkeypatch.setattr(mse, "read_model", refuse(KeyboardInterrupt()))
    assert cli.main(["modes", str(saved / "system.json")]) == 130
    assert capsys.readouterr().err == "mse: interrupted\n"


def test_a_reader_who_has_seen_enough_is_no_error(saved):
    code = "import sys; from mse.tools.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "show", str(saved / "system.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        run.stdout.close()
        assert run.stderr.read() == "" and run.wait() == 0


@pytest.mark.parametrize(
    "arguments",
    [[], ["dmeo"], ["demo", "--ouput", "x"], ["show"], ["view", "system.json"], ["modes", "a.json", "-n", "x"]],
)
def test_wrong_arguments_are_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage: mse" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"mse {mse.__version__}\n"


@pytest.mark.slow
def test_module_runs_as_a_program():
    run = subprocess.run(
        [sys.executable, "-m", "mse.tools.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("mse ")


def test_a_page_does_not_take_the_place_of_its_system(saved, capsys):
    before = (saved / "point.json").read_bytes()
    other = saved / "same.json"
    other.symlink_to(saved / "point.json")
    for page in (saved / "point.json", other):
        assert cli.main(["view", str(saved / "point.json"), "--output", str(page)]) == 1
        assert "is the file of the system itself" in capsys.readouterr().err
    assert (saved / "point.json").read_bytes() == before
