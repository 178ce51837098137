"""Loss laws: formulas against figures and their sources, what is refused, and what files hold."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.loss_laws import LossLaw, LossSum, as_law
from mse.errors import ModelError

C70 = mse.Thermoelastic(expansion=12e-6, conductivity=49.0, heat_capacity=486.0, young_slope=-2.5e-4)


def phi(law, f):
    return np.imag(law.factor(2 * np.pi * np.atleast_1d(np.asarray(f, dtype=float))))


def test_tables_are_powers_between_samples_and_lines_from_zero():
    table = mse.LossTable([1.0, 100.0, 200.0, 400.0], [1e-2, 1e-4, 0.0, 2e-4])
    np.testing.assert_allclose(
        phi(table, [1.0, 10.0, 100.0, 150.0, 300.0, 400.0]), [1e-2, 1e-3, 1e-4, 5e-5, 1e-4, 2e-4]
    )
    single = mse.LossTable([3.0], [0.1], outside="hold")
    np.testing.assert_allclose(phi(single, [0.0, 3.0, 1e5]), 0.1)


def test_tables_go_on_beside_the_real_axis_as_the_analytic_function_that_they_are():
    """Between samples (f/f1)^b is one: Cauchy-Riemann by differences."""
    table, z, h = mse.LossTable([1.0, 5.0], [1e-2, 3e-3]), 2 * np.pi * (2.0 + 0.1j), 1e-5
    near = table.factor(np.array([z + h, z - h, z + 1j * h, z - 1j * h]))
    assert (near[0] - near[1]) == pytest.approx((near[2] - near[3]) / 1j, rel=1e-7)
    assert abs(near[0] - near[1]) > 0


def test_zener_is_a_spring_beside_a_spring_and_dashpot_in_series():
    """k + D k i w/(i w + wc), written as the three of them."""
    law, w, k = mse.Zener(0.3, 5.0), np.geomspace(0.1, 1e3, 9), 40.0
    series = 1.0 / (1.0 / (0.3 * k) + 1.0 / (1j * w * 0.3 * k / (2 * np.pi * 5.0)))
    np.testing.assert_allclose(k * law.factor(w), k + series, rtol=1e-13)


def test_thermoelastic_loss_of_a_stressed_steel_fibre():
    """The figure of a 0.6 mm C70 wire that carries 200 N at 290 K."""
    law = C70.zener(2.12e11, 7800.0, 6e-4, 290.0, stress=200.0 / (np.pi * 9e-8))
    assert phi(law, 10.0)[0] == pytest.approx(3.38888916e-4, rel=1e-8)
    ribbon = C70.zener(2.12e11, 7800.0, 6e-4, 290.0, round=False)
    assert ribbon.corner_hz == pytest.approx(np.pi * 49.0 / (2 * 7800.0 * 486.0 * 6e-4**2))


def fibre(**parameters) -> mse.LinearModel:
    system = mse.MSystem("fibre", gravity=(0, 0, -9.81))
    wire = mse.RoundBeam(
        "wire",
        length=0.5,
        radius=3e-4,
        young_modulus=2.12e11,
        density=7800.0,
        temperature=290.0,
        elements=4,
        **parameters,
    )
    system.add(wire)
    system.clamp(system.ground, wire.frame(0), Pose.ry(np.pi / 2))
    system.add(mse.RigidBody("mass", mass=200.0 / 9.81, inertia=0.1), between=(wire.frame(1),))
    return system.find_working_point().linearize()


@pytest.mark.parametrize("form", ["elements", "exact"])
def test_the_tension_of_the_working_point_enters_and_stretch_and_twist_lose_nothing(form):
    losses = fibre(loss=C70, form=form).losses
    assert {m for _, m in losses} == {"bending_y", "bending_z"}
    found = phi(losses["wire", "bending_y"], 10.0)[0]
    # half of the wire's own weight hangs on its middle
    tension = 200.0 + 0.5 * 7800.0 * np.pi * 9e-8 * 0.5 * 9.81
    expected = C70.zener(2.12e11, 7800.0, 6e-4, 290.0, stress=tension / (np.pi * 9e-8))
    assert found == pytest.approx(phi(expected, 10.0)[0], rel=1e-6)


def test_surface_loss_of_round_and_rectangular_sections():
    """mu as integrals of strain squared over the boundary by those over the section."""
    losses = fibre(loss=mse.SurfaceLoss(1e-5, 1e-6)).losses
    for mechanism, mu in (("axial", 2 / 3e-4), ("torsion", 4 / 3e-4), ("bending_z", 4 / 3e-4), ("shear", 0.0)):
        law = losses["wire", mechanism]
        assert phi(law, 1.0)[0] if isinstance(law, LossLaw) else law == pytest.approx(1e-5 * (1 + mu * 1e-6))
    beam = mse.Beam("blade", length=0.3, width=(0.05, 0.01), height=2e-3, loss=mse.SurfaceLoss(1e-5, 1e-6))
    section = beam.loss_section(0.0)
    b, t, y = 0.03, 2e-3, np.linspace(-1e-3, 1e-3, 20001)
    around = 2 * b * (t / 2) ** 2 + 2 * np.trapezoid(y**2, y)
    assert section.surface["bending_y"] == pytest.approx(around / (b * np.trapezoid(y**2, y)), rel=1e-6)
    assert section.thickness == {"bending_y": pytest.approx(t), "bending_z": pytest.approx(b)}


def test_laws_add_up_and_take_factors():
    law = 1e-4 + 2 * mse.Zener(1e-3, 5.0) + mse.LossTable([1, 10], [1e-5, 1e-5])
    expected = 1e-4 + 2 * phi(mse.Zener(1e-3, 5.0), 3.0) + 1e-5
    np.testing.assert_allclose(phi(law, 3.0), expected, rtol=1e-12)
    assert isinstance(law, LossSum) and hash(law) == hash(copy.deepcopy(law)) and law == copy.deepcopy(law)
    losses = fibre(loss=1e-5 + C70).losses
    assert losses["wire", "axial"] == 1e-5
    assert phi(losses["wire", "bending_y"], 0.0)[0] == pytest.approx(1e-5)


SPRING = {"length": 1.0, "stiffness": 100.0}


@pytest.mark.parametrize(
    "given",
    [
        mse.LossTable([1, 2], [1e-3, 2e-3], outside="hold"),
        mse.Zener(1e-3, 5.0),
        1e-5 + 3 * mse.Zener(1e-3, 5.0),
        ([1.0, 2.0], [1e-3, 2e-3]),
        {"axial": mse.Zener(1e-3, 5.0)},
        {"law": "Zener", "relaxation": 1e-3, "corner_hz": 5.0},
    ],
    ids=str,
)
def test_laws_are_kept_by_files_copies_and_pickles(given, tmp_path):
    system = mse.MSystem("mount", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
    spring = system.add(mse.Spring("spring", loss=given, **SPRING), between=(system.ground, body))
    system.save(tmp_path / "system.json")
    linear = system.find_working_point().linearize()
    linear.save(tmp_path / "linear.npz")
    law = linear.losses["spring", "axial"]
    assert isinstance(law, LossLaw)
    read = mse.read_model(tmp_path / "system.json")
    for other in (read["spring"], spring.copy("other"), pickle.loads(pickle.dumps(system))["spring"]):
        assert other.loss == spring.loss or dict(other.loss) == dict(spring.loss)
    assert mse.read_result(tmp_path / "linear.npz").losses == linear.losses
    assert f"{law:g}" in str(linear) and str(spring.parameters)


def test_sections_are_kept_by_files(tmp_path):
    system = mse.MSystem("mount")
    beam = system.add(mse.RoundBeam("wire", length=1.0, radius=1e-3, loss={"bending": 2e-5 + C70}))
    other = system.add(
        mse.RoundBeam("glass", length=1.0, radius=1e-3, loss=mse.SurfaceLoss(mse.Zener(1e-6, 3.0), 1e-6))
    )
    system.save(tmp_path / "system.json")
    read = mse.read_model(tmp_path / "system.json")
    assert dict(read["wire"].loss) == dict(beam.loss) and read["glass"].loss == other.loss


def test_a_function_is_refused_by_files_which_name_the_table(tmp_path):
    system = mse.MSystem("mount", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
    system.add(mse.Spring("spring", loss=lambda f: 1e-3 / (1.0 + f), **SPRING), between=(system.ground, body))
    linear = system.find_working_point().linearize()
    assert phi(linear.losses["spring", "axial"], 3.0)[0] == pytest.approx(1e-3 / 4.0)
    for save in (system, linear):
        with pytest.raises(ModelError, match=r"mse\.LossTable"):
            save.save(tmp_path / ("a.json" if save is system else "a.npz"))


REFUSED = {
    "-0.1": "feed energy",
    "'much'": "expected a finite number of at least 0 or a law",
    "([1, 2], [1e-3, -1e-3])": r"is -0.001 at 2 Hz.*feed energy",
    "([2, 1], [1e-3, 1e-3])": "number 1 is 1 Hz.*ascending",
    "([0, 1], [1e-3, 1e-3])": "number 0 is 0 Hz",
    "([1, 2], [1e-3])": "2 frequencies and 1 loss",
    "{'law': 'Zenner'}": "expected a finite number of at least 0 or a law",
    "{'law': 'Zener', 'relaxation': 1e-3}": "expected a finite number of at least 0 or a law",
    "{'axial': C70}": "it has no section",
    "C70": "it has no section",
    "1e-3j": "expected a finite number of at least 0",
}


@pytest.mark.parametrize("given", REFUSED)
def test_what_is_no_loss_is_refused_by_the_name_of_the_element(given):
    with pytest.raises(ModelError, match=f"'spring'.*{REFUSED[given]}"):
        mse.Spring("spring", loss=eval(given, {"C70": C70}), **SPRING)


def test_numbers_of_laws_are_checked():
    for make, what in (
        (lambda: mse.Zener(-1e-3, 1.0), "relaxation"), (lambda: mse.Zener(1e-3, 0.0), "corner_hz"),
        (lambda: mse.SurfaceLoss("a", 1.0), "loss"), (lambda: mse.SurfaceLoss(1e-3, -1.0), "depth"),
        (lambda: mse.Thermoelastic(1e-6, 0.0, 1.0), "conductivity"), (lambda: mse.LossTable([1], [1], "zero"), "outside"),
        (lambda: LossSum((1e-3,), (-1.0,)), "weights"), (lambda: C70.factor(np.ones(1)), "section"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=what):
            make()
    assert as_law(object()) is None and as_law([1.0, 2.0, 3.0]) is None


def test_a_bending_law_for_stretch_and_a_section_without_shape_are_refused():
    with pytest.raises(ModelError, match="of bending alone"):
        mse.RoundBeam("wire", length=1.0, radius=1e-3, loss={"axial": C70})
    numbers = dict.fromkeys(("second_moment_y", "second_moment_z", "torsion_constant"), 1e-9)
    beam = mse.SectionBeam("tube", length=1.0, area=1e-4, loss=C70, **numbers)
    with pytest.raises(ModelError, match="use a Beam or a RoundBeam"):
        beam.loss_section(0.0)


def test_an_own_law_may_change_the_modulus_and_may_not_feed():
    class Own(LossLaw):
        def factor(self, omega):
            return 1.0 + (0.1 + 1e-3j) * np.sign(omega.real - 1.0)

    model = mse.LinearModel.from_matrices([[1.0]], None, [[4.0]], coordinates=["mass.x"])
    f = np.array([1.0])
    expected = 1.0 / (4.0 * (1.1 + 1e-3j) - (2 * np.pi) ** 2)
    assert model.frequency_response(f, loss={"model": Own()})["mass.x", "mass.x"][0] == pytest.approx(expected)
    with pytest.raises(
        ModelError, match=r"model / given: its loss law .* at 0.1 Hz; expected an imaginary part of at least 0"
    ):
        model.frequency_response([0.1], loss={"model": Own()})
    with pytest.raises(ModelError, match="class of its own"):
        Own().data()


@pytest.mark.parametrize(
    ("given", "what"),
    [((2e11, 0, 1e-3, 300.0), "density is 0 kg/m3; expected a finite number greater than 0"),
     ((2e11, 7800.0, "a", 300.0), "thickness is 'a' m"), ((-1, 7800.0, 1e-3, 300.0), "young_modulus is -1 Pa"),
     ((2e11, 7800.0, 1e-3, -3.0), "temperature is -3.0 K")],
)  # fmt: skip
def test_a_section_that_is_none_is_refused_by_the_name_of_its_number(given, what):
    with pytest.raises(ModelError, match=f"Thermoelastic.zener: {what}"):
        C70.zener(*given)


@pytest.mark.parametrize("law", [mse.Zener(1e-3, 1.0), mse.LossTable([1.0, 2.0], [1e-3, 1e-3], "hold")])
@pytest.mark.parametrize("given", ["a", [1.0, np.nan], None, np.inf])
def test_rates_that_are_none_are_refused(law, given):
    with pytest.raises(ModelError, match=f"{type(law).__name__}: omega is .*; expected finite angular frequencies"):
        law.factor(given)
    assert law.factor([1.0, 2]).shape == (2,)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda law: law + (-1), r"Zener.*what is added is -1; expected a loss factor of at least 0.*feed energy"),
        (lambda law: -0.5 + law, "what is added is -0.5"),
        (lambda law: law + None, "what is added is None; expected a loss factor"),
        (lambda law: law * "a", "its factor is 'a'; expected a number of at least 0"),
        (lambda law: -1 * law, "its factor is -1; expected a number of at least 0.*feed energy"),
    ],
)
def test_sums_and_products_of_laws_with_what_is_none_are_refused(made, told):
    with pytest.raises(ModelError, match=told):
        made(mse.Zener(1e-3, 1.0))


def rising(f):
    return 1e-4 * f


def quality(model: mse.LinearModel) -> float:
    return model.modes(lossy=True)[-1].quality


def test_models_with_a_function_of_a_module_go_to_other_processes_and_with_others_are_refused():
    system = mse.MSystem("sent", gravity=(0, 0, 0))
    spring = system.add(mse.Spring("spring", length=1.0, stiffness=100.0, loss=rising))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
    system.clamp(system.ground, spring.frame(0))
    system.clamp(body, spring.frame(1))
    linear = system.find_working_point().linearize()
    here = quality(linear)
    sent = pickle.dumps(linear)
    assert b"rising" in sent and quality(pickle.loads(sent)) == here
    f = abs(linear.modes(lossy=True)[-1].eigenvalue) / (2 * np.pi)
    assert here == pytest.approx(1.0 / rising(f), rel=1e-6)
    spring.loss = lambda f: 1e-4 * f
    for thing in (system, system.find_working_point().linearize()):
        with pytest.raises(
            mse.ModelError, match=r"function <lambda> cannot be sent .* by def at the top of a module, or sample"
        ):
            pickle.dumps(thing)
    assert (
        copy.deepcopy(system)["spring"].loss.function is spring.loss.function
    )  # copies in this process are no pickles
