"""How many searches end where a slow descent from their start does, beside numbers that the search decides by.

``python benchmarks/slow_descents.py [crooked|jointed] [--seeds FIRST END] [--set MODULE.NAME=VALUE ...]`` searches random
systems of ``tests/valleys.py`` with seeds from FIRST (1000) to before END (1160): as mse is, and with each number of a module of
mse that is set in turn, such as ``numerics.slow_descent.GROWN=2``.  It prints how many agree, and the steps of all.  Slow
descents are those of mse as it is.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.append(str(Path(__file__).parent.parent / "tests"))

from benchmarks.changed_number import change

_LONGEST = 0.01  # sizes: the steps of the slow descent; with 0.02 those of jointed(0) to jointed(79) end in the same equilibria


def descents(family: str, seeds: range) -> dict[int, float]:
    """Energies (J) where slow descents end, of the systems of which they do."""
    import valleys

    found = {seed: valleys.slow_descent(valleys.merit_of(getattr(valleys, family)(seed)), _LONGEST) for seed in seeds}
    return {seed: energy for seed, energy in found.items() if np.isfinite(energy)}


def searches(family: str, setting: str, there: dict[int, float]) -> tuple[int, int]:
    """How many searches end at the energies (J) of some seeds, and in how many steps, with one number set to another value."""
    if setting:
        number, _, value = setting.partition("=")
        module, _, name = number.rpartition(".")
        change(f"mse.{module}", name, float(value))
    import valleys  # mse with it, in this process for the first time

    made, agree, steps = getattr(valleys, family), 0, 0
    for seed, energy in there.items():
        point = made(seed).find_working_point()
        agree += valleys.agrees(point, valleys.merit_of(made(seed)), energy)
        steps += point.history.tried
    return agree, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", nargs="?", choices=("crooked", "jointed"), default="crooked")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1000, 1160), metavar=("FIRST", "END"))
    parser.add_argument("--set", nargs="*", default=[], metavar="MODULE.NAME=VALUE")
    given = parser.parse_args()
    seeds = range(*given.seeds)
    # one process for each task: each imports mse anew
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as processes:
        there = processes.submit(descents, given.family, seeds).result()
        print(f"{given.family}: slow descents of {len(there)} of {len(seeds)} systems end")
        for setting in ["", *given.set]:
            agree, steps = processes.submit(searches, given.family, setting, there).result()
            print(f"{setting or 'as it is':45s} {agree:4d} of {len(there)} agree, {steps} steps", flush=True)


if __name__ == "__main__":
    main()
