"""Beams: long bodies that stretch, shear, twist and bend; of rectangular, round or general section."""

from __future__ import annotations

import numpy as np

from .beam_base import Sections, SlenderBody
from .parameters import Profile, Real


class Beam(SlenderBody):
    """A slender elastic part of rectangular section that is bent, stretched, sheared and twisted: a blade, a flexure.

    For small bending without shear and tension it obeys ``E I w'''' + rho A w_tt = 0``.  It lies along the x of its frames.
    ``width`` (along y) and ``height`` (along z) are each a number, (initial, final) for a linear taper, or a function of the
    distance from frame 0.  The
    torsion constant is Saint-Venant's (S. Timoshenko, J. Goodier, "Theory of Elasticity", 3rd ed., eq. 170).

    Parameters
    ----------
    stations : mapping of str to float, optional
        Further frames by name, by their distance (m) from frame 0 along the beam.
    material : Material or str, optional
        What it is made of, for parameters that are not given.

    Examples
    --------
    >>> system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    >>> beam = system.add(mse.Beam("beam", length=0.5, width=0.02, height=0.01))
    >>> system.clamp(system.ground, beam.frame(0))
    >>> push = system.add(mse.Load("push", force=(0, 0, -1.0)), between=(beam.frame(1),))
    >>> sag = -system.find_working_point().poses["beam.1"].o[2]
    >>> bending = 0.5**3 / (3 * 2e11 * 0.02 * 0.01**3 / 12)
    >>> shear = 0.5 / (2e11 / 2.6 * 5 / 6 * 0.02 * 0.01)
    >>> f"{sag / (bending + shear):.5f}"
    '1.00000'
    """

    width: Profile = Profile("along y", unit="m", above=0.0)
    height: Profile = Profile("along z", unit="m", above=0.0)
    shear_factor: Real = Real("share of the area that carries shear", default=5 / 6, above=0.0, maximum=1.0)

    section_parameters = ("width", "height")

    def sections(self, s):
        w, h = self._along("width", s), self._along("height", s)
        k = np.full(s.shape, self.shear_factor)
        return Sections(w * h, w * h**3 / 12, h * w**3 / 12, rectangle_torsion(w, h), k, k)

    def extent(self, s):
        return self._along("width", s) / 2, self._along("height", s) / 2

    def loss_section(self, tension):
        b, t = self._mean("width"), self._mean("height")
        surface = {"axial": 2.0 / b + 2.0 / t, "torsion": 6.0 / min(b, t), "bending_y": 6.0 / t + 2.0 / b}
        surface["bending_z"] = 6.0 / b + 2.0 / t
        thickness = {"bending_y": t, "bending_z": b}
        material = self.young_modulus, self.density, self.temperature
        from .loss_laws import LossSection  # importing mse should not wait for laws

        return LossSection(*material, tension / (b * t), False, thickness, surface)

    def torsion_stress(self, s):
        return rectangle_torsion_stress(self._along("width", s), self._along("height", s))


class RoundBeam(SlenderBody):
    """A beam of solid round section: ``A = pi r^2``, ``I = pi r^4/4``, ``J = pi r^4/2``; a wire that bends, a fiber, a leg.

    The radius is a number, (initial, final) for a linear taper, or a function of the distance from frame 0.

    Parameters
    ----------
    stations : mapping of str to float, optional
        Further frames by name, by their distance (m) from frame 0 along the beam.
    material : Material or str, optional
        What it is made of, for parameters that are not given.

    Examples
    --------
    >>> system = mse.MSystem("fiber", gravity=(0, 0, -9.81))
    >>> fiber = mse.RoundBeam("fiber", length=0.6, radius=2e-4, young_modulus=7.2e10, poisson_ratio=0.17, density=2200.0)
    >>> fiber = system.add(fiber)
    >>> system.clamp(system.ground, fiber.frame(0), mse.Pose.ry(np.pi / 2))
    >>> mass = system.add(mse.RigidBody("mass", mass=10.0, inertia=0.1), between=(fiber.frame(1),))
    >>> f"{system.find_working_point().poses['mass.center'].o[2]:.4f} m"
    '-0.6065 m'
    """

    radius: Profile = Profile("of the section", unit="m", above=0.0)
    shear_factor: Real = Real("share of the area that carries shear", default=0.9, above=0.0, maximum=1.0)

    section_parameters = ("radius",)

    def sections(self, s):
        r = self._along("radius", s)
        i, k = np.pi * r**4 / 4, np.full(s.shape, self.shear_factor)
        return Sections(np.pi * r**2, i, i, 2 * i, k, k)

    def extent(self, s):
        return self._along("radius", s), self._along("radius", s)

    def loss_section(self, tension):
        r = self._mean("radius")
        surface = {"axial": 2.0 / r, "torsion": 4.0 / r, "bending_y": 4.0 / r, "bending_z": 4.0 / r}
        material = self.young_modulus, self.density, self.temperature
        thickness = dict.fromkeys(("bending_y", "bending_z"), 2.0 * r)
        from .loss_laws import LossSection  # importing mse should not wait for laws

        return LossSection(*material, tension / (np.pi * r**2), True, thickness, surface)

    def torsion_stress(self, s):
        return 2.0 / (np.pi * self._along("radius", s) ** 3)

    def bending_stress(self, about_y, about_z):
        return np.hypot(about_y, about_z)  # a round section has no corners


class SectionBeam(SlenderBody):
    """A beam of any section with its axes y and z principal: area, second moments, torsion constant and shear factors.

    ``extreme_y`` and ``extreme_z`` are the distances of its outermost material from the axes, which only stresses need;
    where they are 0 the stress is reported as nan.

    Parameters
    ----------
    stations : mapping of str to float, optional
        Further frames by name, by their distance (m) from frame 0 along the beam.
    material : Material or str, optional
        What it is made of, for parameters that are not given.

    Examples
    --------
    >>> tube = mse.SectionBeam("tube", length=1.0, area=1.2e-4, second_moment_y=6e-9, second_moment_z=6e-9,
    ...                        torsion_constant=1.2e-8, extreme_y=0.011, extreme_z=0.011)
    >>> tube.young_modulus * tube.second_moment_y  # bending stiffness, N m2
    1200.0
    """

    area: Profile = Profile("of the section", unit="m2", above=0.0)
    second_moment_y: Profile = Profile("int z^2 dA, for bending about y", unit="m4", above=0.0)
    second_moment_z: Profile = Profile("int y^2 dA, for bending about z", unit="m4", above=0.0)
    torsion_constant: Profile = Profile("Saint-Venant's J", unit="m4", above=0.0)
    shear_factor_y: Profile = Profile("share of the area that carries shear along y", default=5 / 6, above=0.0)
    shear_factor_z: Profile = Profile("share of the area that carries shear along z", default=5 / 6, above=0.0)

    extreme_y: Profile = Profile("distance of the outermost material along y", unit="m", default=0.0)
    extreme_z: Profile = Profile("distance of the outermost material along z", unit="m", default=0.0)

    section_parameters = (
        "area", "second_moment_y", "second_moment_z", "torsion_constant", "shear_factor_y", "shear_factor_z",
    )  # fmt: skip

    def sections(self, s):
        return Sections(*(self._along(name, s) for name in self.section_parameters))

    def extent(self, s):
        y, z = self._along("extreme_y", s), self._along("extreme_z", s)
        return np.where(y > 0, y, np.nan), np.where(z > 0, z, np.nan)

    def torsion_stress(self, s):
        return np.full(s.shape, np.nan)


def rectangle_torsion(width: np.ndarray, height: np.ndarray) -> np.ndarray:
    """``J = a b^3 (1/3 - 64/pi^5 b/a sum tanh((2n+1) pi a/2b)/(2n+1)^5)``, sides a >= b (m4).

    S. Timoshenko, J. Goodier, "Theory of Elasticity", 3rd ed. (1970), article 109, eq. 170.
    """
    long, short = np.maximum(width, height), np.minimum(width, height)
    odd = np.arange(1, 200, 2).reshape((-1,) + (1,) * long.ndim)
    series = np.sum(np.tanh(0.5 * odd * np.pi * long / short) / odd**5.0, axis=0)
    return long * short**3 * (1.0 / 3.0 - 64.0 / np.pi**5 * short / long * series)


def rectangle_torsion_stress(width: np.ndarray, height: np.ndarray) -> np.ndarray:
    """``tau/T = b/J (1 - 8/pi^2 sum 1/((2n+1)^2 cosh((2n+1) pi a/2b)))`` in the middle of the longer side, a >= b (1/m3).

    S. Timoshenko, J. Goodier, "Theory of Elasticity", 3rd ed. (1970), article 109, eq. 168.
    """
    long, short = np.maximum(width, height), np.minimum(width, height)
    odd = np.arange(1, 100, 2).reshape((-1,) + (1,) * long.ndim)
    series = np.sum(1.0 / (odd**2 * np.cosh(np.minimum(0.5 * odd * np.pi * long / short, 700.0))), axis=0)
    return short / rectangle_torsion(width, height) * (1.0 - 8.0 / np.pi**2 * series)
