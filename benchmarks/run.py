"""Run all benchmarks and print one table: task, size, ours, each peer, ratios, error, peak memory.

``python benchmarks/run.py [--quick] [--only NAME ...] [--markdown docs/benchmarks.md]``; what is measured how is told in
``docs/benchmarks.md``.  Absolute times depend on the machine and its load; ratios less.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import os
import platform
import re
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import peers
from benchmarks.table import Table

MODULES = (
    "working_points", "own_elements", "frequencies", "hinges", "kagra", "chain_noise", "circuits", "stiffness_tables",
    "time_steps",
    "motions", "swinging_stage", "beam_motions", "matrices", "beams",
    "first_use", "progress",
)  # fmt: skip
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def machine() -> str:
    """Processor, date and versions of everything that was measured."""
    text = ""
    if sys.platform == "linux":
        text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.+)", text)
    processor = f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}"
    names = ["numpy", "scipy", "numba", *(m for n, m in peers.OPTIONAL.items() if peers.peer(n))]
    versions = ", ".join(f"{n} {importlib.metadata.version(n)}" for n in names)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{datetime.date.today()}, {processor}{load}, {platform.system()}, Python {platform.python_version()}, {versions}, "
        f"OPENBLAS_NUM_THREADS={os.environ.get('OPENBLAS_NUM_THREADS', '-')}"
    )


def write(path: Path, text: str) -> None:
    """Put the text between the marks of a file, or make the file."""
    old = path.read_text() if path.exists() else f"{BEGIN}\n{END}\n"
    if BEGIN not in old or END not in old:
        raise SystemExit(f"{path} has no lines {BEGIN} and {END} to write the table between")
    before, after = old.split(BEGIN)[0], old.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes and few runs: some two minutes, not forty")
    parser.add_argument("--only", nargs="+", choices=MODULES, default=MODULES, metavar="NAME", help=", ".join(MODULES))
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help=f"also write the table there, between {BEGIN} and {END}"
    )
    chosen = parser.parse_args()
    # NumPy is not imported yet; its products here are small, mse's sweeps and Pardiso have threads of their own
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Pardiso's threads would go on spinning into what is measured next
    os.environ.setdefault("KMP_BLOCKTIME", "0")
    table, failed, begin = Table(), False, time.perf_counter()
    print(table.head(), flush=True)
    for name in MODULES:
        if name not in chosen.only:
            continue
        try:
            for row in importlib.import_module(f"benchmarks.{name}").rows(chosen.quick):
                print(table.add(row), flush=True)
        except Exception:  # the other tables are worth having after half an hour
            failed = True
            print(f"{name} stopped:\n{traceback.format_exc()}", flush=True)
    told = f"measured in {time.perf_counter() - begin:.0f} s: {machine()}"
    lines = [x for x in (table.below(), peers.missing(), told) if x]
    print("\n" + "\n".join(lines))
    if chosen.markdown:
        below = "  \n".join(x for x in (peers.missing(), told) if x)
        write(chosen.markdown, f"{table.markdown()}\n\n{below}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
