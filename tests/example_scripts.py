"""The examples and the steps of the tutorial, each run once in a process, with what it printed."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType

from paths import ROOT

EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.py"))
TUTORIAL = sorted(p.stem for p in (ROOT / "docs" / "steps").glob("*.py"))


@functools.cache
def run(path: Path) -> tuple[ModuleType, str]:
    """A script as a module, after it has run, and its output."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        spec.loader.exec_module(module)
    return module, said.getvalue()


def example(name: str) -> ModuleType:
    return run(ROOT / "examples" / f"{name}.py")[0]


def said(name: str) -> str:
    return run(ROOT / "examples" / f"{name}.py")[1]


def source(name: str) -> str:
    return (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")


def step(name: str) -> tuple[ModuleType, str]:
    return run(ROOT / "docs" / "steps" / f"{name}.py")


def figures(module: ModuleType) -> list:
    """The figures that a script leaves under names of its own."""
    from matplotlib.figure import Figure

    return [value for value in vars(module).values() if isinstance(value, Figure)]
