"""Reports that kernels are being compiled, which would otherwise make a first script on a machine wait in silence."""

from __future__ import annotations

from numba.core import event

from ..progress.tasks import Compiling

# names for users of what the kernels in a file compute
_SUBJECTS = {
    "assembling": "assembly",
    "beams": "beams",
    "control": "compiled controllers",
    "dissection": "elimination",
    "factor": "factorization",
    "frames": "assembly",
    "fronts": "elimination",
    "joints": "joints",
    "ldl": "frequency response",
    "machine": "recorded laws",
    "march": "time steps",
    "multibody": "large motions",
    "multibody_fronts": "large motions",
    "motions": "beams",
    "rank": "constraints",
    "rotations": "rotations",
    "sizes": "tolerances",
    "springs": "springs and weights",
    "tree_steps": "large motions",
}


class FirstUse(event.Listener):
    """Reports what numba compiles of this package, one report at a time; functions called by a kernel are part of it."""

    def __init__(self):
        self._open: list = []  # functions being compiled, each waiting for the next
        self._task: Compiling | None = None

    def on_start(self, event) -> None:
        """A function is going to be compiled."""
        kernel = event.data["dispatcher"]
        if not self._open:
            module = kernel.py_func.__module__ or ""  # code executed from text has no module
            if not module.startswith(f"{__package__}."):
                return  # not of this package, or called by a function of it
            name = module.rpartition(".")[2]
            folder = kernel._cache.cache_path
            where = f"kept in {folder}" if folder else "no folder to keep it in can be written; set NUMBA_CACHE_DIR"
            self._task = Compiling(_SUBJECTS.get(name, name), where)
            self._task.__enter__()
        self._open.append(kernel)

    def on_end(self, event) -> None:
        """A function has been compiled, or could not be."""
        if self._open and self._open[-1] is event.data["dispatcher"]:
            self._open.pop()
            if not self._open:
                self._task.__exit__(None, None, None)


first_use = FirstUse()  # registered in jit.py
