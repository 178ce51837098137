"""Compiled code on disk that is damaged, of another function, or cannot be written: compiled again, and said once."""

from __future__ import annotations

import importlib
import logging
import shutil
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event

from mse.kernels import code_cache

# two functions of one module, of equal bytecode and different constants, called for two kinds of arguments each
MODULE = """
from mse.kernels.jit import compiled, part

@part
def twice(x):
    return 2.0 * x

@compiled
def first(x):
    return twice(x) + 1.0

@compiled
def second(x):
    return twice(x) + 2.0
"""


class Listener(event.Listener):
    def __init__(self):
        self.names: list[str] = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


@pytest.fixture
def run(monkeypatch, caplog):
    """Imports the module anew, as another process would, and calls it: functions compiled, and lines of the log."""

    def fresh(folder: Path, cache: Path) -> tuple[list[str], list[str]]:
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(cache))
        monkeypatch.setattr(code_cache, "_told", set())
        monkeypatch.syspath_prepend(str(folder))
        sys.modules.pop("few_kernels", None)
        importlib.invalidate_caches()
        caplog.clear()
        listener = Listener()
        with event.install_listener("numba:compile", listener), caplog.at_level(logging.INFO, "mse"):
            kernels = importlib.import_module("few_kernels")
            answers = kernels.first(0.5), kernels.second(0.5), kernels.first(3), kernels.second(3)
        del sys.modules["few_kernels"]
        assert Path(kernels.__file__).parent == folder and answers == (2.0, 3.0, 7.0, 8.0)
        return listener.names, [f"{r.name} {r.levelname} {r.getMessage()}" for r in caplog.records]

    return fresh


@pytest.fixture
def filled(run, tmp_path):
    """A folder with the module and one with its code, which is used when it is there."""
    folder = tmp_path / "filled"
    folder.mkdir()
    (folder / "few_kernels.py").write_text(MODULE)
    compiled, log = run(folder, folder / "cache")
    assert set(compiled) == {"first", "second", "twice"} and not log
    assert run(folder, folder / "cache") == ([], [])
    return folder


def exchanged(one: Path, other: Path) -> None:
    a, b = one.read_bytes(), other.read_bytes()
    one.write_bytes(b)
    other.write_bytes(a)


def noise(size: int) -> bytes:
    return np.random.default_rng(size).bytes(size)


def one_bit(data: bytes) -> bytes:
    """Within machine code, which no unpickling would notice."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "damage",
    [lambda d: d[: len(d) // 2], lambda d: b"", lambda d: noise(len(d)), one_bit],
    ids=["truncated", "empty", "noise", "one bit"],
)
def test_damaged_code_is_compiled_again(run, filled, tmp_path, kind, damage):
    shutil.copytree(filled / "cache", tmp_path / "cache")
    files = sorted((tmp_path / "cache").rglob(f"*{kind}"))
    assert len(files) >= 2
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    compiled, log = run(filled, tmp_path / "cache")
    assert {"first", "second"} <= set(compiled)
    assert len(log) == 1 and log[0].startswith("mse WARNING compiled code in ")
    assert f"{kind} is damaged; functions are compiled again" in log[0]
    assert run(filled, tmp_path / "cache") == ([], [])


def test_code_of_other_functions_and_arguments_is_not_run(run, filled, tmp_path):
    for swapped in (("first*.1.nbc", "second*.1.nbc"), ("first*.1.nbc", "first*.2.nbc"), ("first*.nbi", "second*.nbi")):
        cache = tmp_path / swapped[0].replace("*", "") / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(filled / "cache", cache)
        exchanged(*(next(cache.rglob(f"*.{pattern}")) for pattern in swapped))
        compiled, _ = run(filled, cache)
        assert "first" in compiled
        assert run(filled, cache) == ([], [])


def test_code_that_cannot_be_kept_is_used_all_the_same(run, filled, tmp_path):
    """Folders stand where the indices should."""
    shutil.copytree(filled / "cache", tmp_path / "cache")
    for file in sorted((tmp_path / "cache").rglob("*.nbi")):
        file.unlink()
        file.mkdir()
    compiled, log = run(filled, tmp_path / "cache")
    assert {"first", "second"} <= set(compiled) and len(log) == 1 and "compiled code in " in log[0]
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.suffix not in (".nbi", ".nbc") and p.is_file()]


@pytest.mark.slow
def test_other_sources_are_compiled_without_a_word(run, filled, tmp_path):
    shutil.copytree(filled / "cache", tmp_path / "cache")
    shutil.copy(filled / "few_kernels.py", tmp_path)
    source = tmp_path / "few_kernels.py"
    compiled, log = run(tmp_path, tmp_path / "other")
    source.write_text(MODULE + "\n")  # its size tells, as its time may not
    again, log = run(tmp_path, tmp_path / "other")
    assert sorted(again) == sorted(compiled) and not log


def test_code_is_compiled_again_when_a_module_of_its_parts_has_changed(run, filled, monkeypatch):
    before = code_cache.changes(str(filled))
    code_cache.changes.cache_clear()
    assert code_cache.changes(str(filled)) == before
    (filled / "parts.py").write_text("# a module with a part of some kernel")
    code_cache.changes.cache_clear()
    after = code_cache.changes(str(filled))
    assert after != before
    folders = set()
    monkeypatch.setattr(code_cache, "changes", lambda folder: folders.add(folder) or after)
    compiled, log = run(filled, filled / "cache")
    assert set(compiled) == {"first", "second", "twice"} and not log
    assert run(filled, filled / "cache") == ([], [])
    assert folders == {str(Path(code_cache.__file__).parent)}
