"""Reports that kernels are being compiled, which would otherwise make a first script on a machine wait in silence."""

from __future__ import annotations

from numba.core import event

from ..progress.tasks import Compiling

# names for users of what the kernels in a file compute
_SUBJECTS = {
    "acting": "large motions",
    "by_record": "large motions",
    "assembling": "assembly",
    "beams": "beams",
    "control": "compiled controllers",
    "dissection": "elimination",
    "factor": "factorization",
    "frames": "assembly",
    "fronts": "elimination",
    "holding": "large motions",
    "implicit_loops": "large motions",
    "implicit_steps": "large motions",
    "implicit_trees": "large motions",
    "joints": "joints",
    "ldl": "frequency response",
    "machine": "recorded laws",
    "march": "time steps",
    "multibody": "large motions",
    "multibody_fronts": "large motions",
    "multibody_steps": "large motions",
    "motions": "beams",
    "rank": "constraints",
    "rotations": "rotations",
    "sizes": "tolerances",
    "springs": "springs and weights",
    "steps": "large motions",
    "tree_pushes": "large motions",
    "tree_steps": "large motions",
}


class Outermost(event.Listener):
    """Does ``begin(kernel)`` before numba compiles a kernel of this package with all that it calls, and ``end()`` after."""

    def __init__(self):
        self._open: list = []  # functions being compiled, each waiting for the next

    def on_start(self, event) -> None:
        """A function is going to be compiled."""
        kernel = event.data["dispatcher"]
        if not self._open:
            # code executed from text has no module
            if not (kernel.py_func.__module__ or "").startswith(f"{__package__}."):
                return  # not of this package, or called by a function of it
            self.begin(kernel)
        self._open.append(kernel)

    def on_end(self, event) -> None:
        """A function has been compiled, or could not be."""
        if self._open and self._open[-1] is event.data["dispatcher"]:
            self._open.pop()
            if not self._open:
                self.end()


class FirstUse(Outermost):
    """Reports what numba compiles, one report at a time."""

    def begin(self, kernel) -> None:
        name = kernel.py_func.__module__.rpartition(".")[2]
        folder = kernel._cache.cache_path
        where = f"kept in {folder}" if folder else "no folder to keep it in can be written; set NUMBA_CACHE_DIR"
        self._task = Compiling(_SUBJECTS.get(name, name), where)
        self._task.__enter__()

    def end(self) -> None:
        self._task.__exit__(None, None, None)


first_use = FirstUse()  # registered in jit.py
