"""Loss laws that follow from the section of a beam and its tension: heat that flows across it, and its surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ModelError
from ..validation.arguments import number, refusal
from .loss_laws import EXPECTED, KINDS, LossLaw, Zener, as_law


@dataclass(frozen=True)
class Thermoelastic(LossLaw):
    """Heat that flows across a bent beam: ``phi = D w tau/(1 + (w tau)^2)``, ``D = E (a - s b/E)^2 T/(rho C)``.

    s is the tension over the area at the working point.  ``tau = 0.0737 rho C d^2/k`` for round sections of diameter d, and
    ``rho C t^2/(pi^2 k)`` for ribbons and blades of thickness t.  Stretch and twist lose nothing.  It is a :class:`Zener`
    relaxation: the element's Young's modulus is the isothermal one (C. Zener, Phys. Rev. 53 (1938) 90; G. Cagnoli and
    P. A. Willems, Phys. Rev. B 65 (2002) 174111, eq. 4, for the stress).

    Parameters
    ----------
    expansion : float, 1/K
        Thermal expansion a.
    conductivity : float, W/(m K)
        Thermal conductivity k.
    heat_capacity : float, J/(kg K)
        Specific heat C.
    young_slope : float, 1/K
        ``b = (dE/dT)/E``.
    density : float, kg/m3
        Density rho of the material, for beams that are computed without mass; 0 takes that of the beam.

    Raises
    ------
    ModelError
        A number is out of range.

    Examples
    --------
    >>> law = mse.Thermoelastic(expansion=12e-6, conductivity=49.0, heat_capacity=486.0, young_slope=-2.5e-4)
    >>> zener = law.zener(2.12e11, 7800.0, 6e-4, 290.0, stress=200.0 / (np.pi * 3e-4**2))
    >>> f"{zener.factor(np.array([2 * np.pi * 10.0])).imag[0]:.8e}"
    '3.38888916e-04'
    """

    expansion: float
    conductivity: float
    heat_capacity: float
    young_slope: float = 0.0
    density: float = 0.0

    by_section: ClassVar[bool] = True

    def __post_init__(self):
        who = "Thermoelastic"
        for name, unit, limits in (
            ("expansion", "1/K", {}), ("conductivity", "W/(m K)", {"above": 0.0}),
            ("heat_capacity", "J/(kg K)", {"above": 0.0}), ("young_slope", "1/K", {}),
            ("density", "kg/m3", {"minimum": 0.0}),
        ):  # fmt: skip
            object.__setattr__(self, name, number(who, name, getattr(self, name), unit=unit, **limits))

    def zener(
        self, young_modulus: float, density: float, thickness: float, temperature: float, *, stress: float = 0.0,
        round: bool = True,
    ) -> Zener:  # fmt: skip
        """The relaxation for one section.

        Parameters
        ----------
        young_modulus, density, thickness, temperature : float, Pa, kg/m3, m, K
            Of the beam; the thickness of a round section is its diameter.
        stress : float, Pa
            Tension over area.
        round : bool
            Whether the section is round, or a ribbon or blade.

        Returns
        -------
        Zener
            Its share and its corner frequency.

        Raises
        ------
        ModelError
            A number is out of range.
        """
        who = "Thermoelastic.zener"
        young_modulus = number(who, "young_modulus", young_modulus, unit="Pa", above=0.0)
        density = number(who, "density", density, unit="kg/m3", above=0.0)
        thickness = number(who, "thickness", thickness, unit="m", above=0.0)
        temperature = number(who, "temperature", temperature, unit="K", minimum=0.0)
        stress = number(who, "stress", stress, unit="Pa")
        heat = density * self.heat_capacity
        share = young_modulus * (self.expansion - stress * self.young_slope / young_modulus) ** 2 * temperature / heat
        tau = (0.0737 if round else np.pi**-2) * heat * thickness**2 / self.conductivity
        return Zener(share, 1.0 / (2.0 * np.pi * tau))

    def factor(self, omega):
        raise ModelError(
            "a thermoelastic loss follows from the section and the tension of a beam; expected a law of the frequency alone; "
            "give it as the beam's parameter loss, or give its zener(...) for known numbers"
        )

    def of_section(self, section, mechanism):
        if not self.acts_on(mechanism):
            return 0.0
        density = self.density or section.density
        if not density:
            raise ModelError(
                "a thermoelastic loss needs the density of the material, and its beam has none; expected one above 0; give it "
                "to the law, mse.Thermoelastic(..., density=7800.0), or take the loss from a material"
            )
        return self.zener(
            section.young_modulus, density, section.thickness[mechanism], section.temperature,
            stress=section.stress, round=section.round,
        )  # fmt: skip

    def acts_on(self, mechanism):
        return mechanism.startswith("bending")

    def __str__(self) -> str:
        return "thermoelastic"


@dataclass(frozen=True)
class SurfaceLoss(LossLaw):
    """``phi (1 + mu d_s)``: loss phi of the volume, and more in the surface, where bending and twist have most of their energy.

    mu is 4/r for bending and twist and 2/r for stretch of round sections of radius r; for rectangular ones of thickness t and
    width b it is ``6/t + 2/b`` for bending, ``2/t + 2/b`` for stretch and 6/t for twist.  Shear, which vanishes in the surface,
    has the loss of the volume (A. M. Gretarsson and G. M. Harry, Rev. Sci. Instrum. 70 (1999) 4081, eq. 6 to 10).

    Parameters
    ----------
    loss : float or law
        Loss phi of the volume.
    depth : float, m
        The dissipation depth d_s.

    Raises
    ------
    ModelError
        The depth is negative, or the loss is none.

    Examples
    --------
    >>> fibre = mse.RoundBeam("fibre", length=0.6, radius=2e-4, loss=mse.SurfaceLoss(4e-10, depth=1.5e-2))
    >>> section = fibre.loss_section(tension=100.0)
    >>> f"{fibre.loss.of_section(section, 'bending_y'):g}"
    '1.204e-07'
    """

    loss: LossLaw | float
    depth: float

    by_section: ClassVar[bool] = True

    def __post_init__(self):
        law = as_law(self.loss)
        if law is None:
            raise refusal("SurfaceLoss", "loss", self.loss, EXPECTED)
        object.__setattr__(self, "loss", law)
        object.__setattr__(self, "depth", number("SurfaceLoss", "depth", self.depth, unit="m", minimum=0.0))

    def factor(self, omega):
        raise ModelError(
            "a surface loss follows from the section of a beam; expected a law of the frequency alone; give it as the beam's "
            "parameter loss, or give the loss times (1 + mu depth)"
        )

    def of_section(self, section, mechanism):
        more = 1.0 + section.surface.get(mechanism, 0.0) * self.depth
        inner = self.loss.of_section(section, mechanism) if isinstance(self.loss, LossLaw) else self.loss
        return more * inner

    def __str__(self) -> str:
        return f"{self.loss:g} (1 + mu {self.depth:g} m)"


KINDS |= {cls.__name__: cls for cls in (Thermoelastic, SurfaceLoss)}
