"""EddyCurrentDamper: a magnet that moves along or turns against a conductor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..validation.arguments import number
from .base import MObject
from .coordinates import coordinate
from .losses import temperature
from .parameters import Array, Real
from .records import DISPLACEMENT

# N/A2, by measurement (CODATA 2018) 4 pi 1e-7 to ten digits
# (tests/elements/test_eddy_current_damper.py::test_a_dipole_over_a_sheet)
MU0 = 4e-7 * np.pi


class _Coefficients(Array):
    """Six damping coefficients, or one for the third axis."""

    def __init__(self, description: str, *, unit: str):
        super().__init__(description, shape=(6,), unit=unit, check=_refuse_negative, promote=_along_z)

    def expectation(self) -> str:
        return "six finite numbers of at least 0, or one for z"


def _along_z(a: np.ndarray) -> np.ndarray:
    return np.array([0.0, 0.0, a, 0.0, 0.0, 0.0]) if a.ndim == 0 else a


def _refuse_negative(c: np.ndarray) -> str | None:
    return "expected coefficients of at least 0, or it would feed energy into motions" if c.min() < 0.0 else None


class EddyCurrentDamper(MObject):
    """A magnet and a conductor: the force ``F = c v/(1 + i w/wc)`` against the velocity v of frame 0 as seen from frame 1.

    It is along the axes of frame 1.  ``damping`` c is one number for the axis z, or six for x y z ax ay az; there is no static
    force.  Below ``corner_hz`` wc/(2 pi) the resistance of the conductor limits its currents; above it their own field shields
    the conductor, and the damper becomes a spring ``c wc``.  With a corner each coefficient is a Maxwell branch, that spring in
    series with the damper c, whose elongation is an internal coordinate: responses, modes, thermal noise at ``temperature``,
    state spaces and time runs of linear models are exact, and large motions have it, too.  A ``corner_hz`` of 0 stands for no
    corner, ``F = c v``.

    Valid for motions that are small compared with the gap, over which c changes.  Sources: H. D. Wiederick et al., Am. J. Phys.
    55 (1987) 500 (low speeds); W. R. Smythe, "Static and Dynamic Electricity", 3rd ed. (1968), chapter 10 (thin sheets).

    Examples
    --------
    >>> system = mse.MSystem("damper", gravity=(0, 0, 0))
    >>> mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    >>> seat = system.add(mse.Bushing("seat", stiffness=100.0), between=(mass, system.ground))
    >>> damper = mse.EddyCurrentDamper("damper", damping=0.2, corner_hz=50.0)
    >>> damper = system.add(damper, between=(mass, system.ground))
    >>> mode = system.find_working_point().linearize().modes(damped=True)[2]
    >>> f"Q {mode.quality:.3f}"
    'Q 50.035'
    """

    damping: Array = _Coefficients("force and torque per velocity (x y z ax ay az)", unit="N s/m, N m s")
    corner_hz: Real = Real(
        "frequency at which damping has half its value, 0 for none", unit="Hz", default=0.0, minimum=0.0
    )
    temperature: Real = temperature()

    parts = ("branch",)
    mechanisms = ()  # what loses energy is the damper of the branch

    @classmethod
    def from_magnet(
        cls, name: str, *, moment: float, height: float, conductivity: float, thickness: float, **options: Any
    ) -> Self:
        """``c = 3 mu0^2 m^2 sigma t/(64 pi h^4)``: a dipole m at a height h above a thin, wide sheet, both along z.

        Moment and motion are across the sheet.  The moving field drives rings of current ``sigma t E``, E being
        ``3 mu0 m v h r/(4 pi (h^2 + r^2)^(5/2))`` at the radius r; their power ``int sigma t E^2 2 pi r dr`` is ``c v^2``.
        Valid for thickness much below height, and slow motions: there is no corner unless it is given.

        Parameters
        ----------
        name : str
            Name of the damper.
        moment : float, A m2
            Dipole moment of the magnet: remanence times volume over mu0.
        height : float, m
            From the middle of the magnet to the sheet.
        conductivity : float, S/m
            Of the sheet.
        thickness : float, m
            Of the sheet.
        **options : Any
            Other parameters, such as ``corner_hz``.

        Returns
        -------
        EddyCurrentDamper
            The damper, with its axis along z of frame 1.

        Raises
        ------
        ModelError
            A number is not positive.

        Examples
        --------
        >>> damper = mse.EddyCurrentDamper.from_magnet("d", moment=2.0, height=0.01, conductivity=5.8e7, thickness=1e-3)
        >>> f"{damper.damping[2]:.4f} N s/m"
        '0.5466 N s/m'
        """
        m, h, sigma, t = (
            number(f"{cls.__name__} {name!r}", what, value, unit=unit, above=0.0)
            for what, value, unit in (
                ("moment", moment, "A m2"), ("height", height, "m"), ("conductivity", conductivity, "S/m"),
                ("thickness", thickness, "m"),
            )
        )  # fmt: skip
        return cls(name, damping=3.0 * (MU0 * m) ** 2 * sigma * t / (64.0 * np.pi * h**4), **options)

    @property
    def _branches(self) -> list[int]:
        """Which of the six coefficients have a spring in series."""
        return [k for k in range(6) if self.corner_hz > 0.0 and self.damping[k] > 0.0]

    @property
    def coordinate_names(self):
        return tuple(coordinate(f"lag_{DISPLACEMENT[k].name}", unit=DISPLACEMENT[k].unit) for k in self._branches)

    @property
    def resting(self):
        return self.coordinate_names

    def energy(self, frames, q):
        on = self._branches
        return np.pi * self.corner_hz * sum(self.damping[k] * q[j] ** 2 for j, k in enumerate(on))

    def damping_matrix(self, frames, q=()):
        if not np.any(self.damping):
            return None
        seat, on, none = frames[1].U.T, self._branches, np.zeros((3, 3))
        lags = np.zeros((6, len(on)))
        lags[on, np.arange(len(on))] = -1.0
        # rates of the dampers, by velocities and rates of elongations
        slides = np.concatenate([seat, none, -seat, np.cross(seat, frames[0].o - frames[1].o)], axis=1)
        turns = np.concatenate([none, seat, none, -seat], axis=1)
        rate = np.concatenate([np.concatenate([slides, turns]), lags], axis=1)
        return rate.T @ (self.damping[:, None] * rate)
