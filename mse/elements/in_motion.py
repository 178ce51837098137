"""What large motions alone ask of an element, beyond its laws; without any of it an element moves as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from .differentiation import FramePose
from .records import Channel


class InMotion:
    """Defaults of what large motions ask of an element."""

    #: Of its motors by name: where one holds its residual at zero, and the force that it needs, an output of motions.
    drives: ClassVar[Mapping[str, tuple[float, Channel]] | property] = {}

    #: What gives masses (E, n, n) and forces of inertia c (E, n) of objects of the class, made from them and called with
    #: poses and velocities of their frames; its ``masses`` gives those alone, from poses, to linear models, too.  Without it they
    #: follow from laws (:class:`mse.dynamics.inertia.GroupInertia`).
    moving: ClassVar[Any] = None

    def reading(self, frames: Sequence[FramePose]) -> np.ndarray:
        """What is read in a motion, (outputs,), of an object without a ``measure``; ``output_map`` gives its small changes."""
        return np.zeros(0)

    def switches(self, frames: Sequence[FramePose], q: Any) -> Any:
        """Numbers (k,), none by default, at whose changes of sign the formula of a law changes; forces stay continuous."""
        return ()
