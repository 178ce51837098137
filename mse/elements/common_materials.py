"""Five common materials, with their sources."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..validation.arguments import find, refusal
from .material import Material
from .section_losses import SurfaceLoss

_GWINC = "pygwinc 0.6.2, gwinc/ifo/aLIGO/ifo.yaml, Suspension"
_NONE_TOLD = "it gives neither a loss nor dE/dT"


class _ByName(dict[str, Material]):
    """Materials that name the nearest one where there is none."""

    def __missing__(self, name: Any) -> Material:
        return self[find("", "material", name, self)]


#: Materials by name, with their sources: C70 steel, maraging steel, fused silica, CuBe, Ti6Al4V.
materials: Mapping[str, Material] = MappingProxyType(
    _ByName(
        {
            "C70 steel": Material(
                young_modulus=2.12e11,
                poisson_ratio=0.3,
                density=7800.0,
                loss=2e-4,
                expansion=12e-6,
                conductivity=49.0,
                heat_capacity=486.0,
                young_slope=-2.5e-4,
                source=f"{_GWINC}.C70Steel; Poisson's ratio of carbon steel",
            ),
            "maraging steel": Material(
                young_modulus=1.87e11,
                poisson_ratio=0.3,
                density=7800.0,
                loss=1e-4,
                expansion=11e-6,
                conductivity=20.0,
                heat_capacity=460.0,
                source=f"{_GWINC}.MaragingSteel, with dE/dT 0; Poisson's ratio of nickel steel",
            ),
            "fused silica": Material(
                young_modulus=7.2e10,
                poisson_ratio=0.167,
                density=2200.0,
                loss=SurfaceLoss(4.1e-10, 1.5e-2),
                expansion=3.9e-7,
                conductivity=1.38,
                heat_capacity=772.0,
                young_slope=1.52e-4,
                source=f"{_GWINC}.Silica; Poisson's ratio of its mirrors",
            ),
            "CuBe": Material(
                young_modulus=1.31e11,
                poisson_ratio=0.3,
                density=8250.0,
                expansion=17e-6,
                conductivity=115.0,
                heat_capacity=420.0,
                source=f"material-properties.org, beryllium copper; expansion of ESA materials list A.2.2; {_NONE_TOLD}",
            ),
            "Ti6Al4V": Material(
                young_modulus=1.14e11,
                poisson_ratio=0.33,
                density=4430.0,
                expansion=8.6e-6,
                conductivity=6.7,
                heat_capacity=526.3,
                source=f"ASM Aerospace Specification Metals, MTP645, solution treated and aged; {_NONE_TOLD}",
            ),
        }
    )
)


def with_material(cls: Any, name: str, material: Material | str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a new element, with those of a material where they are not given."""
    who = f"{cls.__name__} {name!r}"
    if isinstance(material, str):
        material = materials[find(who, "material", material, materials)]
    if not isinstance(material, Material):
        raise refusal(who, "material", material, f"a mse.Material or one of {', '.join(map(repr, materials))}")
    return material.defaults(cls.declared_parameters, cls.mechanisms) | parameters
