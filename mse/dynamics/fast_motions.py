"""The fastest vibration and the fastest decay about a state: what they are, whose they are, and whether they are at rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ..errors import ModelError
from ..model.configuration import State
from ..model.evaluation import Evaluation
from .accelerations import Equations
from .jacobian import Jacobian


class Fast(NamedTuple):
    """A motion by its ``rate`` (rad/s, or 1/s of a decay), the path of the object that gives most of it, and a coordinate."""

    rate: float
    owner: str
    coordinate: str
    decays: bool

    @property
    def words(self) -> str:
        if self.decays:
            return f"{self.owner} damps {self.coordinate} in {1.0 / self.rate:.3g} s"
        return f"{self.owner} lets {self.coordinate} vibrate at {self.rate / (2.0 * np.pi):.3g} Hz"


class FastMotions:
    """Motions with mass about a state at velocities v (n,), each by one matrix alone, stiffness or damping, and the masses."""

    def __init__(self, equations: Equations, here: Evaluation, v: np.ndarray, matrices: Jacobian):
        self._equations, self._here, self._v = equations, here, v
        self._mass, (along, _) = matrices.mass, matrices.allowed
        squares, modes = eigh(along.T @ (matrices.stiffness + matrices.stiffness.T) @ along / 2.0)
        self._rates, self._modes = np.sqrt(np.maximum(squares, 0.0)), along @ modes
        decays, shapes = eigh(along.T @ (matrices.damping + matrices.damping.T) @ along / 2.0)
        # without dampers it is mass that changes with the motion
        damped = any(part.has_damping for part in equations.parts)
        self._decays, self._shapes = np.maximum(decays, 0.0) * damped, along @ shapes

    def fastest(self) -> Fast | None:
        """The fastest of all; None if nothing has mass and stiffness or damping."""
        best = max(self._rates.max(initial=0.0), self._decays.max(initial=0.0))
        if best == 0.0:
            return None
        decays = best == self._decays.max(initial=0.0)
        x = (self._shapes if decays else self._modes)[:, -1] / self._equations.measure.metric
        name = self._equations.topology.coordinate_names[int(np.abs(x * self._equations.measure.metric).argmax())]
        return Fast(float(best), self._damped_by(x) if decays else self._held_by(x), name, decays)

    def at_rest(self, rate: float, least: float) -> bool:
        """Whether all vibrations faster than a rate (rad/s) would move by less than a distance (m)."""
        e, metric, fast = self._equations, self._equations.measure.metric, self._rates > rate
        force = e.pull(self._here, self._v, 0.0).force
        modes, rates = self._modes[:, fast], self._rates[fast]
        offset = np.hypot(modes.T @ (force / metric) / rates**2, modes.T @ self._mass @ (metric * self._v) / rates)
        return bool(np.abs(modes * offset).max(initial=0.0) <= least)

    def _held_by(self, x: np.ndarray) -> str:
        e, x = self._equations, np.append(x, 0.0)  # the ground last
        found: dict[str, float] = {}
        for g in e.assembly.groups:
            own = x[e.assembly.rows[g.number]]
            stiffness = e.assembly.evaluate(g, self._here.configuration, 2, summed=True)[2][:, 0]
            energies = np.einsum("ei,eij,ej->e", own, stiffness, own)
            found |= {el.path: k for el, k in zip(g.elements, energies.tolist(), strict=True)}
        return max(found, key=found.get)

    def _damped_by(self, x: np.ndarray) -> str:
        e, at = self._equations, self._here.configuration
        found: dict[str, float] = {}
        for part in e.parts:
            if part.has_damping:
                own = e._own(part.group, x, e.frame_motions(at, x)[0])
                power = np.einsum("ei,ei->e", sum(part.velocity_forces(at, own)), own)
                found |= {el.path: -p for el, p in zip(part.group.elements, power.tolist(), strict=True)}
        return max(found, key=found.get)


def fastest_motion(equations: Equations, state: State, v: np.ndarray, time: float) -> Fast | None:
    """The fastest motion about a state; None where there is none, or no number says so."""
    try:
        here = equations.evaluation(state, time)
        matrices = Jacobian(equations, here, v)
        return FastMotions(equations, here, v, matrices).fastest()
    except (ModelError, LinAlgError, ValueError):
        return None
