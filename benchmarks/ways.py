"""How many files a call passes through, from the constructors of one body on one spring to K, and in its search alone.

python -m benchmarks.ways

What runs on import does not count, nor what only the first call of a process does: each way is gone twice, and counted then.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import mse

PACKAGE = Path(mse.__file__).parent


class Way(NamedTuple):
    """The files of mse that calls passed through, with the number of calls into each from another one, and the functions."""

    entered: Counter[str]
    functions: set[tuple[str, str]]


def way(action: Callable[[], object]) -> Way:
    """The way of all calls of an action."""
    entered: Counter[str] = Counter()
    functions: set[tuple[str, str]] = set()
    inside = str(PACKAGE) + "/"

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(inside) and not code.co_name.startswith("<"):
            name = code.co_filename.removeprefix(inside)
            functions.add((name, code.co_qualname))
            if frame.f_back is None or frame.f_back.f_code.co_filename != code.co_filename:
                entered[name] += 1

    sys.setprofile(called)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Way(entered, functions)


def stage() -> mse.MSystem:
    """One body on one spring."""
    system = mse.MSystem("stage")
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(system.ground, mass))
    return system


def ways() -> dict[str, Way]:
    """The ways from constructors to K, of a search in a system that was searched before, and from a working point to K."""
    stage().find_working_point(progress=False).linearize(progress=False).K.toarray()
    found = {"constructors to K": way(lambda: stage().find_working_point(progress=False).linearize(progress=False).K)}
    system = stage()
    point = system.find_working_point(progress=False)
    found["search"] = way(lambda: system.find_working_point(progress=False))
    found["linearize"] = way(lambda: point.linearize(progress=False).K)
    return found


if __name__ == "__main__":
    for what, found in ways().items():
        print(f"{what}: {len(found.entered)} files, {len(found.functions)} functions, {found.entered.total()} moves")
        if "-v" in sys.argv:
            for name, count in sorted(found.entered.items()):
                print(f"    {count:4d}  {name}")
