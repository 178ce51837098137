"""Wire: a round wire under tension, with its elastic stretch and its torsion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import masses, rotations, springs
from ..numerics.law_functions import rotation_vector
from ..pose import Pose
from .cautions import MOST_STRAIN, MOST_TURN, Worst
from .line import Line, near_whole_turn
from .losses import Loss, temperature
from .parameters import Flag, Real

if TYPE_CHECKING:
    from .loss_laws import LossSection
    from .material import Material


class Wire(Line):
    """A wire that pulls and resists twist: ``W = k1/2 (|o1 - o0| - l0)^2 + k2/2 (w . n)^2`` (manual eq. 35).

    ``k1 = E A/l0`` and ``k2 = G J/l0``; ``w`` is the rotation vector between the two frames and ``n`` the unit vector between
    their origins, so the torsion depends on all orientations.  Round section: ``A = pi r^2``, ``J = pi r^4/2``,
    ``G = E/(2 (1 + nu))``.  The wire does not bend, and pushes when shortened; with
    ``tension_only=True`` it only resists twist then.  The rotation vector of a pose is only defined up
    to whole turns: along a solution mse follows it continuously past half a turn, starting from the branch below half a turn.
    At whole turns the rotation vector has no smooth tilt: keep twists clear of multiples of 2 pi.

    Parameters
    ----------
    material : Material or str, optional
        What it is made of, for parameters that are not given.

    Examples
    --------
    >>> system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    >>> mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.01, at=mse.Pose.dz(-0.5)))
    >>> wire = mse.Wire("wire", length=0.5, radius=1e-4, young_modulus=2e11, poisson_ratio=0.3)
    >>> wire = system.add(wire, between=(system.ground, mass))
    >>> f"{system.find_working_point().tensions['wire']:.4f} N"
    '19.6200 N'
    """

    length: Real = Real("length at rest", unit="m", above=0.0)
    young_modulus: Real = Real("Young's modulus", unit="Pa", above=0.0)
    poisson_ratio: Real = Real("Poisson's ratio", above=-1.0, maximum=0.5)
    radius: Real = Real("radius of the round section", unit="m", above=0.0)
    damping: Real = Real("force per rate of stretch", unit="N s/m", default=0.0, minimum=0.0)
    loss: Loss = Loss(of_section=True)
    temperature: Real = temperature()
    tension_only: Flag = Flag("whether it exerts nothing along its line below its length", default=False)

    parts = ("axial", "torsion", "geometric")
    kernel = springs.wire
    adds_parts = True
    damping_kernel = masses.line_damping
    damping_slopes = masses.line_damping_slopes
    memory_size = 3
    only_pulls = True
    by_column = True
    follow = springs.wire_memory

    if TYPE_CHECKING:  # a material stands for the others

        def __init__(
            self, name: str, *, length: float, radius: float, at: Pose | None = None,
            material: Material | str | None = None, **parameters: Any,
        ): ...  # fmt: skip

    else:

        def __init__(self, name, *, at=None, material=None, **parameters):
            if material is not None:
                from .common_materials import with_material  # importing mse should not wait for them

                parameters = with_material(type(self), name, material, parameters)
            super().__init__(name, at=at, **parameters)

    @property
    def axial_stiffness(self) -> float:
        """``k1 = E pi r^2/l0`` in N/m."""
        return self.young_modulus * np.pi * self.radius**2 / self.length

    @property
    def torsional_stiffness(self) -> float:
        """``k2 = E/(2 (1 + nu)) pi r^4/2 / l0`` in N m/rad."""
        shear_modulus = self.young_modulus / (2.0 * (1.0 + self.poisson_ratio))
        return shear_modulus * 0.5 * np.pi * self.radius**4 / self.length

    def loss_section(self, tension: float) -> LossSection:
        """What losses that follow from its section depend on.

        Parameters
        ----------
        tension : float, N
            Its tension.

        Returns
        -------
        LossSection
            Its surface; it does not bend, and its density is not known.
        """
        r = self.radius
        surface = {"axial": 2.0 / r, "torsion": 4.0 / r}
        from .loss_laws import LossSection  # importing mse should not wait for laws

        return LossSection(self.young_modulus, 0.0, self.temperature, tension / (np.pi * r**2), True, {}, surface)

    def kernel_parameters(self):
        return (self.length, self.axial_stiffness, self.torsional_stiffness, self.tension_only, self.damping)

    @staticmethod
    def twists(origins, memory):
        d = origins[:, 1] - origins[:, 0]
        return np.einsum("ea,ea->e", memory, d) / np.sqrt(np.einsum("ea,ea->e", d, d))

    def end_of_range(self, frames, memory):
        clear = "a twist clear of them; make its torsion softer or stiffer (radius, poisson_ratio), or change what twists it"
        return near_whole_turn(f"{self.label} is twisted", "its torsion", memory, clear)

    @classmethod
    def cautions(cls, objects, at):
        stretched, turned = Worst(), Worst()
        d = at.origins[:, 1] - at.origins[:, 0]
        lengths = np.array([wire._values["length"] for wire in objects])  # without a call for each
        strain = np.linalg.norm(d, axis=1) / lengths - 1.0
        for e in np.flatnonzero(strain > MOST_STRAIN).tolist():
            stretched.add(strain[e] / MOST_STRAIN, objects[e], f"stretched by {100 * strain[e]:.3g} % of its length")
        if at.start is not None:
            o, u = at.start
            turns = u[:, 1] @ np.swapaxes(u[:, 0], 1, 2)
            for e in np.flatnonzero(np.trace(turns, axis1=1, axis2=2) < 1.0 + 2.0 * np.cos(MOST_TURN)).tolist():
                line = o[e, 1] - o[e, 0]
                twist = abs(rotations.rotation_vector(np.ascontiguousarray(turns[e])) @ line / np.linalg.norm(line))
                turned.add(twist / MOST_TURN, objects[e], f"twisted by {twist:.3g} rad")
        return [
            *stretched.told(
                f"found {{}}, beyond the {100 * MOST_STRAIN:g} % that metals take; expected length and radius in m and "
                "young_modulus in Pa; correct them or its load"
            ),
            *turned.told(
                "began with {} about its line, as the poses of its ends are; check those of its clamps, in radians"
            ),
        ]

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        distance = np.sqrt(d @ d)
        twist = (rotation_vector(frames[1].U @ frames[0].U.T) @ d) / distance
        stretch = distance - self.length
        slack = self.tension_only and stretch < 0.0
        return 0.5 * (0.0 if slack else self.axial_stiffness) * stretch**2 + 0.5 * self.torsional_stiffness * twist**2
