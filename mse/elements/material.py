"""Materials: elastic constants, density, loss and thermal data, as defaults of the parameters of elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..validation.arguments import number, refusal
from .loss_laws import EXPECTED, LossLaw, as_law
from .section_losses import Thermoelastic


@dataclass(frozen=True)
class Material:
    """What a part is made of: ``RoundBeam(..., material=...)`` takes its numbers for the parameters that are not given.

    The loss of a beam is then ``loss``, and in bending that of :class:`mse.Thermoelastic`, too, if there are thermal data.
    An element takes the numbers when it is made; its parameters hold them, and may be set to others.

    Parameters
    ----------
    young_modulus : float, Pa
        Young's modulus, isothermal.
    poisson_ratio : float
        Poisson's ratio.
    density : float, kg/m3
        Density.
    loss : float or law
        Loss of stretch, twist and bending.
    expansion : float, 1/K
        Thermal expansion.
    conductivity : float, W/(m K), or None
        Thermal conductivity; None if there are no thermal data.
    heat_capacity : float, J/(kg K), or None
        Specific heat.
    young_slope : float, 1/K
        ``(dE/dT)/E``.
    source : str
        Where the numbers are from.

    Raises
    ------
    ModelError
        A number is out of range.

    Examples
    --------
    >>> steel = mse.materials["C70 steel"]
    >>> wire = mse.RoundBeam("wire", length=0.5, radius=3e-4, material=steel, loss={"bending": 1e-4 + steel.thermoelastic})
    >>> wire.young_modulus, wire.density
    (212000000000.0, 7800.0)
    """

    young_modulus: float
    poisson_ratio: float
    density: float
    loss: LossLaw | float = 0.0
    expansion: float = 0.0
    conductivity: float | None = None
    heat_capacity: float | None = None
    young_slope: float = 0.0
    source: str = ""

    def __post_init__(self):
        who = "Material"
        number(who, "young_modulus", self.young_modulus, unit="Pa", above=0.0)
        number(who, "poisson_ratio", self.poisson_ratio, minimum=-1.0, maximum=0.5)
        number(who, "density", self.density, unit="kg/m3", minimum=0.0)
        law = as_law(self.loss)
        if law is None:
            raise refusal(who, "loss", self.loss, EXPECTED)
        object.__setattr__(self, "loss", law)
        if (self.conductivity is None) != (self.heat_capacity is None):
            raise ModelError(
                f"{who}: conductivity is {self.conductivity} and heat_capacity {self.heat_capacity}; expected both or none"
            )
        if self.conductivity is not None:
            _ = self.thermoelastic  # refuses wrong numbers

    @property
    def thermoelastic(self) -> Thermoelastic:
        """Its thermoelastic loss; ModelError without thermal data."""
        if self.conductivity is None or self.heat_capacity is None:
            raise ModelError(
                "Material: has no thermal data; expected expansion, conductivity and heat_capacity for a thermoelastic loss"
            )
        return Thermoelastic(self.expansion, self.conductivity, self.heat_capacity, self.young_slope, self.density)

    def defaults(self, known: Mapping[str, Any], mechanisms: tuple[str, ...]) -> dict[str, Any]:
        """Values for those parameters of a class that it has.

        Parameters
        ----------
        known : mapping
            The parameters of the class by name.
        mechanisms : tuple of str
            Its elastic mechanisms.

        Returns
        -------
        dict
            Values by name.
        """
        values = {name: getattr(self, name) for name in ("young_modulus", "poisson_ratio", "density") if name in known}
        thermal = self.conductivity is not None and any(map(self.thermoelastic.acts_on, mechanisms))
        return values | {"loss": self.loss + self.thermoelastic if thermal else self.loss}
