"""Materials as defaults of elements."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.errors import ModelError, UnknownNameError


def test_parameters_that_are_given_win_and_others_come_from_the_material():
    silica = mse.materials["fused silica"]
    fibre = mse.RoundBeam("fibre", length=0.6, radius=2e-4, material="fused silica", density=0.0)
    assert (fibre.young_modulus, fibre.poisson_ratio, fibre.density) == (7.2e10, 0.167, 0.0)
    assert fibre.loss == silica.loss + silica.thermoelastic
    wire = mse.Wire("wire", length=0.6, radius=2e-4, material=silica, young_modulus=7e10)
    assert wire.young_modulus == 7e10 and wire.loss == silica.loss
    other = mse.RoundBeam("fibre", length=0.6, radius=2e-4, material=silica, loss=1e-6)
    assert other.loss == 1e-6 and other.copy("copy").young_modulus == 7.2e10


@pytest.mark.parametrize("name", mse.materials)
def test_a_wire_of_each_material_has_its_losses(name):
    """As sums written down: bulk and surface, and in bending the heat that flows."""
    material, radius, load = mse.materials[name], 2e-4, 40.0
    assert material.source
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    wire = mse.RoundBeam("wire", length=0.5, radius=radius, material=material, form="exact", temperature=290.0)
    system.add(wire)
    system.clamp(system.ground, wire.frame(0), Pose.ry(np.pi / 2))
    system.add(mse.RigidBody("mass", mass=load / 9.81, inertia=0.1), between=(wire.frame(1),))
    found = system.find_working_point().linearize().losses
    w = np.array([2 * np.pi * 30.0])
    stress = (load + 0.25 * material.density * np.pi * radius**2 * 9.81) / (np.pi * radius**2)
    e, heat = material.young_modulus, material.density * material.heat_capacity
    strength = e * (material.expansion - stress * material.young_slope / e) ** 2 * 290.0 / heat
    tau = 0.0737 * heat * (2 * radius) ** 2 / material.conductivity
    bulk = 4.1e-10 * (1 + 4 / radius * 1.5e-2) if name == "fused silica" else material.loss
    expected = bulk + strength * w * tau / (1 + (w * tau) ** 2)
    assert found["wire", "bending_y"].factor(w).imag == pytest.approx(expected, rel=1e-6)
    assert ("wire", "axial") in found or material.loss == 0.0


def test_thermoelastic_loss_of_a_wire_without_mass_has_the_density_of_its_material():
    found = {}
    for density in (None, 0.0):
        system = mse.MSystem("pendulum", gravity=(0, 0, 0))
        given = {} if density is None else {"density": density}
        wire = mse.RoundBeam("wire", length=0.5, radius=2e-4, material="C70 steel", form="exact", **given)
        system.clamp(system.ground, system.add(wire).frame(0), Pose.ry(np.pi / 2))
        body = system.add(mse.RigidBody("mass", mass=4.0, inertia=0.1), between=(wire.frame(1),))
        system.add(mse.Load("pull", force=(0, 0, -40.0)), between=(body,))
        found[density] = system.find_working_point().linearize().losses["wire", "bending_y"]
    np.testing.assert_allclose(found[0.0].factor(w := np.array([10.0, 500.0])), found[None].factor(w), rtol=1e-9)


def test_thermoelastic_loss_without_any_density_names_the_wire():
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    law = mse.Thermoelastic(12e-6, 49.0, 486.0)
    wire = mse.RoundBeam("wire", length=0.5, radius=2e-4, form="exact", density=0.0, loss=law)
    system.clamp(system.ground, system.add(wire).frame(0), Pose.ry(np.pi / 2))
    system.add(mse.RigidBody("mass", mass=4.0, inertia=0.1), between=(wire.frame(1),))
    point = system.find_working_point()
    with pytest.raises(
        ModelError, match=r"RoundBeam '.*wire': loss: .*density of the material.*Thermoelastic\(..., density"
    ):
        point.linearize()


def test_what_is_no_material_is_refused():
    with pytest.raises(UnknownNameError, match=r"RoundBeam 'wire'.*'CuBo'.*did you mean 'CuBe'"):
        mse.RoundBeam("wire", length=1.0, radius=1e-3, material="CuBo")
    with pytest.raises(ModelError, match=r"Wire 'wire': material is 3; expected a mse.Material or one of 'C70 steel'"):
        mse.Wire("wire", length=1.0, radius=1e-3, material=3)
    numbers = {"young_modulus": 1e11, "poisson_ratio": 0.3, "density": 1e3}
    for wrong, what in (
        ({"young_modulus": 0.0}, "young_modulus"), ({"poisson_ratio": 0.6}, "poisson_ratio"), ({"density": -1.0}, "density"),
        ({"loss": -1.0}, "loss"), ({"conductivity": 1.0}, "expected both or none"),
        ({"conductivity": 1.0, "heat_capacity": 0.0}, "heat_capacity"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=what):
            mse.Material(**(numbers | wrong))
    with pytest.raises(ModelError, match="no thermal data"):
        _ = mse.Material(**numbers).thermoelastic


def test_a_material_that_is_not_known_is_named_with_the_nearest():
    with pytest.raises(UnknownNameError, match="no material 'CuBo'.*did you mean 'CuBe'"):
        mse.materials["CuBo"]
    assert mse.materials.get("CuBo") is None and "CuBo" not in mse.materials
