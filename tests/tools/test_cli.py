"""The ``mse`` command: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import subprocess
import sys

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


@pytest.mark.parametrize("where", ["pendulum", "bode"])
def test_errors_are_one_line_and_exit_code_1(where, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(cli, where, refuse(mse.ModelError("Spring 'wire': too short")))
    assert cli.main(["demo", "--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "mse: Spring 'wire': too short\n"


@pytest.mark.parametrize("arguments", [[], ["dmeo"], ["demo", "--ouput", "x"]])
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
