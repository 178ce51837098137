"""Spring: a straight line between two frames that resists stretching, with viscous damping along it."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..kernels import springs
from .base import MObject
from .parameters import Real


class Spring(MObject):
    """``W = k/2 (|o1 - o0| - l0)^2``; pulls the origins of its frames along their line, no torque (manual 2.12).

    Valid wherever the ends are apart; with natural length 0 everywhere.  Damping is ``c`` times the rate of change of
    the length.  A stretched spring pulls its frames together, a shortened one pushes them apart.
    """

    length = Real("length at rest", unit="m", default=1.0, minimum=0.0)
    stiffness = Real("force per stretch", unit="N/m", default=1.0, minimum=0.0)
    damping = Real("force per rate of stretch", unit="N s/m", default=0.0, minimum=0.0)

    parts = ("axial", "geometric")
    kernel = springs.spring

    def kernel_parameters(self):
        return (self.length, self.stiffness)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        if self.length == 0.0:
            return 0.5 * self.stiffness * (d @ d)
        return 0.5 * self.stiffness * (np.sqrt(d @ d) - self.length) ** 2

    def damping_matrix(self, frames):
        return along_line(self.damping, frames) if self.damping else None

    def span(self):
        return self.length

    def check_frames(self, frames):
        refuse_coincident(self, frames)


def along_line(c: float, frames) -> np.ndarray:
    """``c n n^T`` between the origins of frames 0 and 1, (12, 12); n is their unit vector."""
    d = frames[1].o - frames[0].o
    dist = np.linalg.norm(d)
    # Coincident ends of a spring of no length move against each other in every direction alike.
    block = c * (np.outer(d, d) / dist**2 if dist > 0.0 else np.eye(3))
    m = np.zeros((12, 12))
    for i in (0, 6):
        for j in (0, 6):
            m[i : i + 3, j : j + 3] = block if i == j else -block
    return m


def refuse_coincident(element: MObject, frames) -> None:
    """Raise where both ends are at one point, so that the line between them has no direction."""
    gap = np.linalg.norm(frames[1].o - frames[0].o)
    place = ", ".join(f"{x:.6g}" for x in frames[0].o)
    raise ModelError(
        f"{element.label}: its ends are {gap:.3g} m apart, both at ({place}), so its direction is undefined; expected "
        f"ends apart, near its length of {element.span():g} m; give what hangs on it an initial pose (at=Pose...)"
    )
