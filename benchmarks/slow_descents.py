"""How many searches end where a slow descent from their start does, beside numbers that the search decides by.

``python benchmarks/slow_descents.py [crooked|jointed] [--seeds FIRST END] [--set MODULE.NAME=VALUE ...]`` searches random
systems of ``tests/valleys.py`` with seeds from FIRST (1000) to before END (1160): as mse is, and with each number of a module of
mse that is set in turn, such as ``numerics.slow_descent.GROWN=2``.  It prints how many agree, and the steps of all.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.append(str(Path(__file__).parent.parent / "tests"))

import valleys

_LONGEST = 0.01  # sizes: the steps of the slow descent; with 0.02 those of jointed(0) to jointed(79) end in the same equilibria


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", nargs="?", choices=("crooked", "jointed"), default="crooked")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1000, 1160), metavar=("FIRST", "END"))
    parser.add_argument("--set", nargs="*", default=[], metavar="MODULE.NAME=VALUE")
    given = parser.parse_args()
    made, there = getattr(valleys, given.family), {}
    for seed in range(*given.seeds):
        merit = valleys.merit_of(made(seed))
        energy = valleys.slow_descent(merit, _LONGEST)
        if np.isfinite(energy):
            there[seed] = merit, energy
    print(f"{given.family}: slow descents of {len(there)} of {given.seeds[1] - given.seeds[0]} systems end")
    for setting in ["", *given.set]:
        name, _, value = setting.partition("=")
        module, _, name = name.rpartition(".")
        before = None
        if setting:
            module = importlib.import_module(f"mse.{module}")
            before = getattr(module, name)
            setattr(module, name, float(value))
        agree = steps = 0
        for seed, (merit, energy) in there.items():
            point = made(seed).find_working_point()
            agree += valleys.agrees(point, merit, energy)
            steps += point.history.tried
        print(f"{setting or 'as it is':45s} {agree:4d} of {len(there)} agree, {steps} steps", flush=True)
        if setting:
            setattr(module, name, before)


if __name__ == "__main__":
    main()
