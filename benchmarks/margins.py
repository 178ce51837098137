"""How far the numbers that mse decides by may move before a test fails, in powers of ten.

``python benchmarks/margins.py [NAME ...] [--decades 2] [--tests FILE ...] [--seconds 120] [--slow]`` takes every number with a
point (``_TOLERANCE = 1e-9``) at the top of a module of :data:`ROOMS`, or those whose names contain one of NAME.  It multiplies
and divides it by ten, and again, as long as the tests pass that its comment names, or those given.  It prints the range in which
they pass, and the test that fails first on each side; slow tests of whole files run with ``--slow`` only.  What is made of eps
and of other numbers is derived and stays out.  Tests that start another Python do not see the change.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.changed_number import assigned, change

ROOT = Path(__file__).parent.parent
ROOMS = ("numerics", "model", "statics", "linear", "analysis")

_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*$")
_EXPERIMENT = re.compile(r"\b(?:tests|benchmarks)/[\w/]+\.py(?:::\w+)?")
_TRIVIAL = (0.0, 0.5, 1.0, 2.0)
_GUARD = 1e-100  # below it a number keeps a quotient finite and decides nothing


@dataclass(frozen=True)
class Number:
    """A number at the top of a module: its name, what its comment says, and the tests and scripts named there."""

    module: str
    name: str
    value: Any
    comment: str

    @property
    def label(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def experiments(self) -> list[str]:
        return _EXPERIMENT.findall(self.comment)


def sources(rooms: tuple[str, ...] = ROOMS, package: Path = ROOT / "mse") -> Iterator[tuple[str, str]]:
    """The names of the modules of some rooms, all without any, and their texts."""
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if not rooms or place.parts[0] in rooms:
            yield ".".join(("mse", *place.with_suffix("").parts)), path.read_text()


def named(module: str, text: str) -> Iterator[Number]:
    """The numbers with a point at the top of a module that are set by hand: written as they are, without other names."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        for target, value in assigned(node):
            if not (isinstance(target, ast.Name) and _NAME.match(target.id)):
                continue
            if _by_hand(value):
                found = eval(compile(ast.Expression(value), module, "eval"), {"__builtins__": {}})  # numbers only
                yield Number(module, target.id, found, _comment(lines, node.lineno - 1, node.end_lineno))


def _by_hand(value: ast.expr) -> bool:
    inner = list(ast.walk(value))
    plain = (
        ast.Constant, ast.UnaryOp, ast.USub, ast.BinOp, ast.Tuple, ast.Load, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow,
    )  # fmt: skip
    point = any(isinstance(x, ast.Div) or (isinstance(x, ast.Constant) and isinstance(x.value, float)) for x in inner)
    return point and all(isinstance(x, plain) for x in inner)


def _comment(lines: list[str], first: int, end: int) -> str:
    """The comment of an assignment: on its lines, right above, and above its block where that ends with a colon."""
    told = [line.partition("#")[2] for line in lines[first:end]]
    own = first
    while own and lines[own - 1].startswith("#"):
        own -= 1
    told = [line.lstrip("# ") for line in lines[own:first]] + told
    head = own
    while head and lines[head - 1].strip():
        head -= 1
    block = list(itertools.takewhile(lambda line: line.startswith("#"), lines[head:own]))
    if block and block[-1].endswith(":"):
        told = [line.lstrip("# ") for line in block] + told
    return " ".join(told).strip()


def inline(module: str, text: str) -> Iterator[tuple[str, int, float]]:
    """The numbers with a point that stand in comparisons but 0, 0.5, 1 and 2: where, in which line, how large."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            for x in ast.walk(node):
                value = x.value if isinstance(x, ast.Constant) else None
                if isinstance(value, float) and value not in _TRIVIAL and value > _GUARD:
                    yield module, x.lineno, value


# -- trials -------------------------------------------------------------------------------------------------------
def trial(number: Number, value: Any, tests: list[str], options: argparse.Namespace) -> str:
    """The first test that fails in a process of its own where a number has another value, or ""."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        signal.alarm(options.seconds)
        failed = "no test"
        try:
            change(number.module, number.name, value)
            failed = _first_failure(tests, options.slow)
        finally:
            os.write(write, json.dumps(failed).encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else f"does not end in {options.seconds} s"


def _first_failure(tests: list[str], slow: bool) -> str:
    class First:
        failed = ""

        def pytest_runtest_logreport(self, report):
            if report.failed and not self.failed:
                self.failed = report.nodeid

    first = First()
    chosen = [] if slow or all("::" in t for t in tests) else ["-m", "not slow"]
    chosen += ["-q", "-x", "-p", "no:cacheprovider", *(str(ROOT / t) for t in tests)]
    ended = pytest.main(chosen, plugins=[first])
    return first.failed or ("" if ended == 0 else f"pytest ends with {int(ended)}")


def margin(number: Number, tests: list[str], options: argparse.Namespace) -> str:
    """In words: by which powers of ten a number may be divided and multiplied, and what fails then."""
    found = []
    for sign in (-1, 1):
        for k in range(1, options.decades + 1):
            factor = 10.0 ** (sign * k)
            value = number.value
            value = tuple(factor * x for x in value) if isinstance(value, tuple) else factor * value
            failed = trial(number, value, tests, options)
            if failed:
                found.append(f"{'/' if sign < 0 else 'x'} 10^{k}: {failed}")
                break
        else:
            found.append(f"{'/' if sign < 0 else 'x'} 10^{options.decades}: passes")
    return "; ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names; all numbers without any")
    parser.add_argument("--decades", type=int, default=2, help="how far to go on each side")
    parser.add_argument("--tests", nargs="+", help="what to run instead of what comments name")
    parser.add_argument("--seconds", type=int, default=120, help="how long tests may take")
    parser.add_argument("--slow", action="store_true", help="run the slow tests of whole files, too")
    options = parser.parse_args()
    os.chdir(ROOT)
    for module, text in sources():
        for number in named(module, text):
            tests = options.tests or [t for t in number.experiments if t.startswith("tests/")]
            if tests and (not options.names or any(x in number.label for x in options.names)):
                told = margin(number, tests, options)
                print(f"{number.label} = {number.value}: {told}", flush=True)


if __name__ == "__main__":
    main()
