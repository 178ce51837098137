"""Base of springs and wires: a straight line between two frames, damped along it."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from .base import MObject

_NEAR = 0.1  # of a whole turn: its tilt is ten times as stiff there, and steps of a search are as short


def near_whole_turn(turned: str, what: str, memory: np.ndarray, expected: str) -> str:
    """In words: ``what`` is ``turned`` by a rotation vector (3,) close to whole turns, where it has no smooth tilt; or ""."""
    turn = float(np.linalg.norm(memory))
    count = turn / (2.0 * np.pi)
    if not round(count) or abs(count - round(count)) >= _NEAR:
        return ""
    return f"{turned} by {turn:.3g} rad, and at whole turns (6.283 rad) {what} has no smooth tilt; expected {expected}"


class Line(MObject):
    """``Lambda = c n n^T`` between the origins, n their unit vector: base of elements along that line.

    A subclass declares the parameters ``length`` (at rest), ``damping`` (c, force per rate of change of the distance) and
    ``tension_only``, by which it exerts nothing along the line while it is shorter than at rest.  With ``damping_kernel =
    masses.line_damping``, the first of its kernel's parameters is the length, the last two are ``tension_only`` and c.
    """

    def span(self):
        return self.length

    def damping_matrix(self, frames, q=()):
        if not self.damping:
            return None
        d = frames[1].o - frames[0].o
        dist = np.linalg.norm(d)
        if self.tension_only and dist < self.length:
            return None
        # Coincident ends of a spring of no length move against each other in every direction alike.
        block = self.damping * (np.outer(d, d) / dist**2 if dist > 0.0 else np.eye(3))
        nothing = np.zeros((3, 12))
        row = np.concatenate([block, nothing[:, :3], -block, nothing[:, :3]], axis=1)
        return np.concatenate([row, nothing, -row, nothing])

    def switches(self, frames, q):
        d = frames[1].o - frames[0].o
        return [np.sqrt(d @ d) - self.length] if self.tension_only else []

    def check_frames(self, frames):
        gap = np.linalg.norm(frames[1].o - frames[0].o)
        place = ", ".join(f"{x:.6g}" for x in frames[0].o)
        raise ModelError(
            f"{self.label}: its ends are {gap:.3g} m apart, both at ({place}), so its direction is undefined; expected "
            f"ends apart, near its length of {self.span():g} m; give what hangs on it an initial pose (at=Pose...)"
        )
