"""Free memory and processors, asked of the system, and the refusal of what needs more memory, before it is begun."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ModelError

_SHARE = 0.8  # of the free memory that one result may take
ALWAYS_FREE = 5e5  # bytes; asking takes longer than many a small result


def free_memory() -> float:
    """Bytes that can be had without swapping; limits of a container count.  Infinite where the system does not say."""
    free = float("inf")
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            free = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    try:
        group = Path("/sys/fs/cgroup")
        most = (group / "memory.max").read_text().strip()
        if most != "max":
            free = min(free, float(most) - float((group / "memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return free


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def refuse_beyond_memory(name: str, size: float, what: str, remedy: str) -> None:
    """ModelError where ``size`` bytes do not fit into the free memory; ``what`` is the text around them: "40 steps need {}"."""
    if size <= ALWAYS_FREE:
        return
    free = free_memory()
    if size > _SHARE * free:
        raise ModelError(
            f"{name}: {what.format(f'{size / 1e9:.3g} GB')}; expected at most "
            f"{_SHARE * free / 1e9:.3g} GB, {100 * _SHARE:g} % of the memory that is free; {remedy}"
        )
