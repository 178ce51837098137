"""Free memory and processors as the system reports them, and the refusal of analyses that need more memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import ModelError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

# Share of the free memory that one result may take: with ten times this, memory runs out before anything is refused
# (tests/analysis/test_resources.py::test_little_address_space_is_told_before_it_is_gone); with less, results that fit are
# refused.
_SHARE = 0.8
_PROCESS, _GROUPS = Path("/proc/self"), Path("/sys/fs/cgroup")
# files in the folder of a group, and the line of memory.stat with the memory that can be released at once
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")
_NO_LIMIT = 2**62  # bytes; groups of version 1 without a limit report 2^63 less a page
# Smaller results do not check the memory: with a hundredth of this small ones do, with a hundred times it too large ones pass
# (tests/analysis/test_resources.py::test_small_results_do_not_ask_for_memory, test_grids_beyond_memory_are_refused).
ALWAYS_FREE = 5e6


def free_memory() -> float:
    """Bytes that this process can get without swapping; infinite if the system does not report them.

    This is the least of the machine's free memory, the memory left in the control groups of the process (a container, a batch
    system) and its own limits on address space and data.
    """
    return max(min([_of_the_machine(), *_of_groups(), *_of_the_process()]), 0.0)


def _text(path: Path | str) -> str:
    """The text of a system file; ``read_text()`` takes twice as long for files of a few lines."""
    with open(path, "rb", 0) as file:
        return file.read().decode()


def _of_the_machine() -> float:
    try:
        lines = _text("/proc/meminfo").splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    return float("inf")


def _of_groups() -> Iterator[float]:
    """Memory left in each control group of the process and in the groups above, for version 2 and version 1 (``memory``)."""
    try:
        groups = [line.split(":", 2) for line in _text(_PROCESS / "cgroup").splitlines()]
    except (OSError, ValueError):
        return
    for _, kinds, path in groups:
        if kinds and "memory" not in kinds.split(","):
            continue
        top = _GROUPS / "memory" if kinds else _GROUPS
        most, used, cached = _VERSION_1 if kinds else _VERSION_2
        here = top / path.lstrip("/")
        # in a container its own group may be at the top, not under the name that the process sees
        for folder in (here, *here.parents[: len(here.parts) - len(top.parts)]):
            try:
                limit = float(_text(f"{folder}/{most}"))
                if limit > _NO_LIMIT:
                    continue
                taken = float(_text(f"{folder}/{used}"))
                kept = dict(line.split() for line in _text(f"{folder}/memory.stat").splitlines())
            except (OSError, ValueError):  # not there, or "max"
                continue
            yield (limit - taken + float(kept.get(cached, 0.0)))  # cached files are released when memory is needed


def _of_the_process() -> Iterator[float]:
    if resource is None:
        return
    try:
        sizes = [float(pages) * resource.getpagesize() for pages in _text(_PROCESS / "statm").split()]
        taken = {"RLIMIT_AS": sizes[0], "RLIMIT_DATA": sizes[5]}
    except (OSError, ValueError, IndexError):
        taken = {"RLIMIT_AS": 0.0, "RLIMIT_DATA": 0.0}
    for name, used in taken.items():
        most = resource.getrlimit(getattr(resource, name))[0]
        if most != resource.RLIM_INFINITY:
            yield float(most) - used


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def refuse_beyond_memory(name: str, size: float, what: str, remedy: str, each: float = 1.0) -> None:
    """ModelError if ``size`` bytes do not fit into the free memory; ``what`` is a text such as "40 steps need {}".

    In the ``remedy``, {} is how many results of ``each`` so many bytes fit.
    """
    if size <= ALWAYS_FREE:
        return
    free = free_memory()
    if size > _SHARE * free:
        raise ModelError(
            f"{name}: {what.format(f'{size / 1e9:.3g} GB')}; expected at most "
            f"{_SHARE * free / 1e9:.3g} GB, {100 * _SHARE:g} % of the free memory; "
            f"{remedy.replace('{}', f'{int(_SHARE * free / each):,}')}"
        )
