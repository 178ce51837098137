"""Loss factors of elements: parameters, what linear models make of them, and what refuses them by name."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE
from mse import Pose
from mse.elements import losses
from mse.elements.losses import Loss
from mse.elements.parameters import Real
from mse.elements.records import LOADED, Component
from mse.errors import ModelError, UnknownNameError


class Tether(mse.MObject):
    """An own element of one energy."""

    stiffness: Real = Real("of it", unit="N/m", default=400.0)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * self.stiffness * (d @ d)


class TwoWays(Tether):
    """One with two mechanisms, and weight apart."""

    parts = ("along", "across", "gravity")

    def stiffness_parts(self, frames, q, gravity=None):
        k, out = np.kron([[1, 0, -1, 0], [0] * 4, [-1, 0, 1, 0], [0] * 4], np.eye(3)), {}
        for name, axes in (("along", [2]), ("across", [0, 1])):
            on = np.tile(np.isin(np.arange(12) % 3, axes), (12, 1))
            out[name] = 400.0 * k * (on & on.T)
        return out | {"gravity": np.zeros((12, 12))}

    def forces(self, frames, q, gravity=None):
        return -self.evaluate(frames, q, gravity, 1)[1]


class Weighted(Tether):
    """One whose weight is stiff."""

    coordinate_names = ("bead",)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * self.stiffness * (d @ d) + 50.0 * q[0] ** 2

    def gravity_energy(self, frames, q, gravity):
        return -(1.0 + q[0]) * (frames[0].o @ gravity)


class Pair(mse.MObject):
    """Two springs side by side, as one object."""

    def components(self):
        return (
            Component(mse.Spring("left", stiffness=100.0, loss=self._left), ("0", "1")),
            Component(mse.Spring("right", stiffness=300.0, loss=self._right), ("0", "1")),
        )

    def __init__(self, name, left=0.0, right=0.0):
        super().__init__(name)
        self._left, self._right = left, right


def mass_on(*elements, mass=1.0, gravity=(0, 0, 0)) -> mse.MSystem:
    system = mse.MSystem("mount", gravity=gravity)
    body = system.add(mse.RigidBody("mass", mass=mass, inertia=0.1, at=Pose.dz(-1.0)))
    for element in elements:
        system.add(element, between=(system.ground, body))
    push = system.add(mse.ForceActuator("push"), between=(system.ground, body))
    assert push.name == "push"
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    return system


def linear_of(*elements, **options):
    return mass_on(*elements, **options).find_working_point().linearize()


def response(model, f=1.0, **options) -> complex:
    return model.frequency_response([f], inputs=["push.fz"], outputs=["probe.z"], **options).values[0, 0, 0]


# -- parameters -------------------------------------------------------------------------------------------------------
EXPECTED = {
    mse.GasSpring: ("axial", "blades"),
    mse.Spring: ("axial",),
    mse.Wire: ("axial", "torsion"),
    mse.Bushing: ("elastic",),
    mse.Revolute: ("elastic",),
    mse.Joint: ("elastic",),
    mse.FlexibleBody: ("elastic",),
    mse.RoundBeam: ("axial", "torsion", "bending_y", "bending_z", "shear"),
    Tether: ("total",),
    TwoWays: ("along", "across"),
}


@pytest.mark.parametrize("cls", EXPECTED, ids=lambda c: c.__name__)
def test_what_stores_elastic_energy_has_a_loss_and_a_temperature(cls):
    assert set(cls.mechanisms) == set(EXPECTED[cls])
    assert isinstance(cls.declared_parameters["loss"], Loss)
    assert cls.declared_parameters["temperature"].unit == "K"
    assert "loss" in cls.__doc__ or not cls.__module__.startswith("mse")


@pytest.mark.parametrize(
    "cls", [mse.RigidBody, mse.Rod, mse.Fixed, mse.Gear, mse.Load, mse.ForceActuator, mse.PositionSensor, mse.MSystem]
)
def test_what_stores_none_has_neither(cls):
    assert not cls.mechanisms and not losses.loses(cls)
    assert not {"loss", "temperature"} & cls.declared_parameters.keys()


# beams have the loss of their segments; a link has it in its table, a damper in itself
ELSEWHERE = {
    "BeamSegment", "ShearingSegment", "ExactSegment", "MasslessSegment", "TabulatedLink", "EddyCurrentDamper",
}  # fmt: skip


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=list(CATALOGUE))
def test_all_elements_of_the_catalogue_lose_by_the_mechanisms_that_they_have(entry):
    obj = entry.make()
    stored = [p for p in obj.parts if p not in LOADED]
    if losses.loses(type(obj)) and not obj.defines("components"):
        assert list(obj.mechanisms) == stored
        obj.loss = dict.fromkeys(obj.mechanisms, 0.25)
        assert losses.factors(obj.loss, obj.mechanisms) == dict.fromkeys(obj.mechanisms, 0.25)
    elif obj.conservative and not obj.external and obj.defines("energy") and type(obj).__name__ not in ELSEWHERE:
        raise AssertionError(f"{type(obj).__name__} has an energy and no loss")


def test_values_are_listed_saved_copied_and_never_change_in_place(tmp_path):
    system = mass_on(
        mse.Wire("wire", length=1.0, radius=1e-3, young_modulus=1e9, poisson_ratio=0.3, loss={"axial": 1e-3})
    )
    wire = system["wire"]
    wire.temperature = 77
    table = str(wire.parameters)
    assert "{'axial': 0.001}" in table and "77" in table and "(axial, torsion)" in table
    system.save(tmp_path / "system.json")
    read = mse.read_model(tmp_path / "system.json")["wire"]
    for other in (read, wire.copy("other"), pickle.loads(pickle.dumps(system))["wire"], copy.deepcopy(system)["wire"]):
        assert dict(other.loss) == {"axial": 1e-3} and other.temperature == 77.0
        with pytest.raises(TypeError):
            other.loss["axial"] = 2.0
    wire.loss = 2e-3
    assert wire.loss == 2e-3 and dict(read.loss) == {"axial": 1e-3}


def test_a_stem_names_all_mechanisms_that_begin_with_it_and_one_of_them_goes_before():
    beam = mse.RoundBeam("beam", length=1.0, radius=1e-3, loss={"bending_y": 3e-4, "bending": 2e-4})
    assert losses.factors(beam.loss, beam.mechanisms) == {"bending_y": 3e-4, "bending_z": 2e-4}


BAD = {
    "-0.001": (-0.001, "loss is -0.001; expected a finite number of at least 0 .* negative one would feed energy"),
    "text": ("much", "loss is 'much'; expected a finite number of at least 0 or a law, or such by mechanism"),
    "nan": (float("nan"), "loss is nan; expected"),
    "list": ([1e-3], "loss is .*0.001.*; expected"),
    "unknown": ({"bending": 1e-3}, r"'bending' is no mechanism of it \(known: axial, torsion\)"),
    "misspelt": ({"torson": 1e-3}, r"'torson' is no mechanism of it \(did you mean 'torsion'\?\)"),
    "negative of one": ({"axial": -1.0}, r"loss is \{'axial': -1.0\}; .*feed energy"),
    "loaded": ({"geometric": 1e-3}, "'geometric' is no mechanism"),
}


@pytest.mark.parametrize("value, told", BAD.values(), ids=list(BAD))
def test_bad_losses_are_refused(value, told):
    with pytest.raises(ModelError, match=told) as caught:
        mse.Wire("wire", length=1.0, radius=1e-3, young_modulus=1e9, poisson_ratio=0.3, loss=value)
    assert str(caught.value).startswith("Wire 'wire': ")


@pytest.mark.parametrize("value", [0.0, -3.0, "warm"])
def test_bad_temperatures_are_refused(value):
    with pytest.raises(ModelError, match=r"Spring 's': temperature is .* K; expected a finite number greater than 0"):
        mse.Spring("s", temperature=value)


def test_parameters_of_these_names_that_a_class_has_already_stay_its_own():
    class Loaded(Tether):
        loss: Real = Real("of something else", unit="kg", default=-5.0)
        temperature: Real = Real("at which it melts", unit="K", default=1000.0)

    assert Loaded("x").loss == -5.0 and Loaded("x").temperature == 1000.0
    assert linear_of(Loaded("x")).losses == {}


def test_own_classes_may_declare_another_default():
    class Rubber(Tether):
        loss: Loss = Loss(default=0.1)

    assert linear_of(Rubber("x")).losses == {("x", "total"): 0.1}


# -- updates ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["spring", "beam"])
def test_updates_of_losses_do_not_search(kind, monkeypatch):
    if kind == "spring":
        system, mechanism = mass_on(mse.Spring("it", length=1.0, stiffness=100.0), gravity=(0, 0, -9.8)), "axial"
    else:
        system, mechanism = mse.MSystem("blade"), "bending"
        blade = system.add(mse.RoundBeam("it", length=0.3, radius=1e-3, elements=3))
        mass = system.add(mse.RigidBody("mass", mass=0.1, inertia=1e-4))
        system.clamp(system.ground, blade.frame(0))
        system.clamp(blade.frame(1), mass.frame(0))
    point = system.find_working_point()
    monkeypatch.setattr("mse.statics.solve_again.relaxation", None)  # nothing may search
    lossy = point.update({"it.loss": {mechanism: 0.1}})
    assert lossy.state is point.state and lossy.stable
    assert set(lossy.linearize().losses.values()) == {0.1} and point.linearize().losses == {}
    assert lossy.linearize().parameters["it"]["loss"] == {mechanism: 0.1}
    assert lossy.update({"it.loss": 0.0}).linearize().losses == {}
    monkeypatch.undo()
    name = "mass.mass"
    both = lossy.update({name: 0.2, "it.temperature": 4.0})  # a search keeps what was set
    assert both.linearize().losses == lossy.linearize().losses
    assert both.linearize().parameters["it"]["temperature"] == 4.0


def test_own_laws_by_record_do_not_see_the_loss():
    system = mass_on(Tether("a", loss=0.1), Tether("b", loss={"total": 0.2}))
    point = system.find_working_point()
    assert not any("object by object" in note for note in point.notes)
    assert point.linearize().losses == {("a", "total"): 0.1, ("b", "total"): 0.2}


# -- responses --------------------------------------------------------------------------------------------------------
def test_responses_use_the_losses_of_elements_an_argument_replaces_them_all():
    model = linear_of(mse.Spring("a", length=1.0, stiffness=300.0, loss=0.1), Tether("b", loss=0.2, stiffness=0.0))
    mass = (2 * np.pi) ** 2

    def expected(eta):
        return 1.0 / (300.0 * (1 + 1j * eta) - mass)

    for options, eta in (({}, 0.1), ({"loss": {}}, 0.0), ({"loss": {"a": 0.5}}, 0.5), ({"loss": {"b": 0.5}}, 0.0)):
        assert response(model, **options) == pytest.approx(expected(eta), rel=1e-12)
    assert response(model.lossless) == pytest.approx(expected(0.0), rel=1e-12)
    assert model.lossless.lossless is model.lossless


def test_mechanisms_lose_apart_and_weight_nothing():
    model = linear_of(TwoWays("two", loss={"along": 0.3}))
    assert model.losses == {("two", "along"): 0.3}
    assert response(model) == pytest.approx(1.0 / (400.0 * (1 + 0.3j) - (2 * np.pi) ** 2), rel=1e-12)
    other = model.frequency_response([1.0], inputs=["push.fx"], outputs=["probe.x"]).values[0, 0, 0]
    assert abs(other.imag) < 1e-15


def test_geometric_stiffness_loses_nothing():
    """Of a pendulum on a lossy spring: its swing has no loss, its bounce has all."""
    model = linear_of(mse.Spring("spring", length=0.9, stiffness=98.0, loss=0.1), gravity=(0, 0, -9.8))
    swing = model.frequency_response([0.3], inputs=["push.fx"], outputs=["probe.x"]).values[0, 0, 0]
    assert abs(swing.imag) < 1e-14 * abs(swing)
    assert response(model, 0.3).imag < -1e-5


def test_a_stem_is_known_to_responses_too():
    system = mse.MSystem("blade", gravity=(0, 0, 0))
    blade = system.add(mse.RoundBeam("blade", length=0.3, radius=1e-3, elements=2, loss={"bending": 0.1}))
    system.clamp(system.ground, blade.frame(0))
    probe = system.add(mse.PositionSensor("probe"), between=(blade.frame(1), system.ground))
    push = system.add(mse.ForceActuator("push"), between=(system.ground, blade.frame(1)))
    assert probe.name != push.name
    model = system.find_working_point().linearize()
    one = response(model)
    assert one.imag / one.real == pytest.approx(-0.1, rel=0.05)
    assert response(model, loss={("blade", "bending"): 0.1}) == one
    assert response(model, loss={("blade", "bending"): 0.5, ("blade", "bending_y"): 0.1}) == pytest.approx(
        one, rel=1e-9
    )


def test_resonance_grids_use_them():
    model = linear_of(mse.Spring("a", length=1.0, stiffness=(2 * np.pi) ** 2, loss=0.01))
    grid = model.resonance_grid(0.5, 2.0)
    assert grid.widths_hz == pytest.approx([0.01], rel=1e-3)
    assert model.resonance_grid(0.5, 2.0, loss={}).widths_hz == pytest.approx([0.0])


# -- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", ["state_space", "simulate", "step_loop"])
def test_time_refuses_them_by_name_and_the_remedies_work(call):
    options = {"simulate": {"duration": 0.1, "dt": 0.01}, "step_loop": {"dt": 0.01}}.get(call, {})
    elements = [mse.Spring(f"s{k}", length=1.0, stiffness=10.0, loss=1e-3 * (k + 1)) for k in range(6)]
    model = linear_of(*elements)
    with pytest.raises(ModelError) as caught:
        getattr(model, call)(**options)
    told = str(caught.value)
    for word in (
        "mount: ",
        "s0 (axial 0.001)",
        "s3 (axial 0.004)",
        "and 2 more objects",
        "linear.rational(low_hz, high_hz)",
        "linear.modal_damping()",
        "linear.lossless",
    ):
        assert word in told
    for remedy in (model.rational(0.1, 10.0), model.modal_damping(), model.lossless):
        assert getattr(remedy, call)(**options) is not None
    assert getattr(linear_of(mse.Spring("s", length=1.0, stiffness=10.0)), call)(**options) is not None


def test_a_share_of_weight_in_the_same_stiffness_is_refused():
    system = mass_on(Weighted("bead"), gravity=(0, 0, -9.8))
    assert system.find_working_point().linearize().losses == {}
    system["bead"].loss = 0.1
    with pytest.raises(
        ModelError, match=r"Weighted 'bead': its loss is 0\.1, and its weight .* total; expected .*'gravity'"
    ):
        system.find_working_point().linearize()


def test_components_that_lose_alike_count_and_others_are_refused():
    assert linear_of(Pair("pair", 0.1, 0.1)).losses == {("pair", "axial"): 0.1}
    with pytest.raises(ModelError, match=r"components of 'pair' have the loss factors 0\.1 and 0 in axial"):
        linear_of(Pair("pair", 0.1, 0.0))


def test_an_object_of_components_may_have_a_loss_of_its_own():
    class Whole(Pair):
        mechanisms = ("axial",)

    assert linear_of(Whole("whole")).losses == {}
    whole = Whole("whole")
    whole.loss = {"axial": 0.3}
    model = linear_of(whole)
    assert model.losses == {("whole", "axial"): 0.3}
    assert response(model).imag < -1e-4


# -- parts, composition, reduction, files -----------------------------------------------------------------------------
def chain(second_loss=0.2) -> mse.MSystem:
    system = mse.MSystem("chain")
    above = system.ground
    for k, loss in enumerate((0.1, second_loss)):
        mass = system.add(mse.RigidBody(f"mass{k}", mass=1.0, inertia=1.0, at=Pose.dz(-1.0 - k)))
        system.add(mse.Spring(f"spring{k}", length=0.9, stiffness=200.0, loss=loss), between=(above, mass))
        above = mass
    push = system.add(mse.ForceActuator("push"), between=(system.ground, system["mass0"]))
    assert push.name == "push"
    system.add(mse.PositionSensor("probe"), between=(system["mass1"], system.ground))
    return system


def test_models_of_parts_have_their_own_and_composition_all():
    point = chain().find_working_point()
    upper = point.linearize(within=["spring0", "mass0", "push"])
    lower = point.linearize(within=["spring1", "mass1", "probe"])
    assert upper.losses == {("spring0", "axial"): 0.1} and lower.losses == {("spring1", "axial"): 0.2}
    whole = mse.compose("whole", [upper, lower])
    assert whole.losses == point.linearize().losses
    assert response(whole) == pytest.approx(response(point.linearize()), rel=1e-12)


def test_two_losses_of_one_stiffness_are_refused():
    first, second = (chain(x).find_working_point().linearize(within=["spring1", "mass0", "mass1"]) for x in (0.2, 0.3))
    for other in (second, second.lossless):
        with pytest.raises(
            ModelError, match=r"compose\('both'\): the mass, stiffness or damping of .* is in two models"
        ):
            mse.compose("both", [first, other])


def test_reduction_and_independent_coordinates_keep_them():
    model = chain().find_working_point().linearize()
    small, _ = mse.reduce_model(model, ["mass0", "mass1"], modes=0)
    assert small.losses == model.losses
    assert response(small) == pytest.approx(response(model), rel=1e-12)
    assert model.symmetric.losses == model.reduced[0].losses == model.losses


def test_files_keep_them(tmp_path):
    model = chain().find_working_point().linearize()
    model.save(tmp_path / "model.npz")
    read = mse.read_result(tmp_path / "model.npz")
    assert read.losses == model.losses
    assert response(read) == response(model)
    model.lossless.save(tmp_path / "lossless.npz")
    assert mse.read_result(tmp_path / "lossless.npz").losses == {}


def test_the_table_lists_them():
    assert "Loss factors: spring0 / axial 0.1, spring1 / axial 0.2" in str(chain().find_working_point().linearize())


def test_unknown_names_are_refused_as_before():
    model = chain().find_working_point().linearize()
    with pytest.raises(UnknownNameError, match="loss names no stiffness 'sprng0'"):
        response(model, loss={"sprng0": 0.1})
    with pytest.raises(ModelError, match="geometric stores no elastic energy"):
        response(model, loss={("spring0", "geometric"): 0.1})


class TautWire(mse.MObject):
    """A :class:`mse.Spring` as an own class, whose axial stiffness has a loss."""

    stiffness: Real = Real("of it", unit="N/m", default=4e3)
    parts = ("axial", "geometric")

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * self.stiffness * (np.sqrt(d @ d) - 0.5) ** 2

    def elastic_parts(self, frames):
        d = frames[1].o - frames[0].o
        along = np.concatenate([-d, np.zeros(3), d, np.zeros(3)]) / np.sqrt(d @ d)
        return np.array([self.stiffness * np.outer(along, along)])


@pytest.mark.parametrize("arm", [0.0, 0.05, -0.02])
def test_own_elastic_parts_lose_as_those_of_a_spring_at_any_lever_arm(arm):
    q = []
    for tie in (TautWire("tie", loss=1e-3), mse.Spring("tie", stiffness=4e3, length=0.5, loss=1e-3)):
        system = mse.MSystem("hung", gravity=(0, 0, -9.81))
        body = mse.RigidBody(
            "body", mass=10.0, inertia=0.05, at=Pose.dz(-0.53 - arm), frames={"top": Pose.dxdydz(0.01, 0, arm)}
        )
        system.add(body)
        system.add(tie, between=(system.ground @ Pose.dx(0.01), body.frame("top")))
        system.add(mse.Bushing("level", stiffness=(0, 0, 0, 30.0, 30.0, 30.0)), between=(system.ground, body))
        q.append(system.find_working_point().linearize().modes(6, lossy=True).quality)
    np.testing.assert_allclose(*q, rtol=1e-8)


def test_the_lever_arm_of_an_own_law_loses_nothing():
    """A rigid arm adds ``force times arm`` to the stiffness of turning, which stores no elastic energy."""
    system = mse.MSystem("hung", gravity=(0, 0, -9.81))
    body = mse.RigidBody("body", mass=10.0, inertia=0.05, at=Pose.dz(-0.35), frames={"top": Pose.dz(0.1)})
    system.add(body)
    system.add(Tether("tie", loss=1e-3), between=(system.ground, body.frame("top")))
    model = system.find_working_point().linearize()
    turning = [abs(model.parts["tie", part].toarray()[3, 3]) for part in ("total", "geometric")]
    assert turning == pytest.approx([400.0 * 0.1**2, 10.0 * 9.81 * 0.1], rel=1e-6)


def test_a_geometric_part_that_is_not_the_last_is_refused():
    with pytest.raises(
        TypeError, match=r"parts are geometric, axial; expected 'geometric' last.*\('axial', 'geometric'\)"
    ):
        type("Turned", (TautWire,), {"parts": ("geometric", "axial")})
    with pytest.raises(TypeError, match="parts are axial, bending; expected 'geometric' last"):
        type("Without", (TautWire,), {"parts": ("axial", "bending")})
    short = type("Short", (TautWire,), {"parts": ("axial", "bending", "geometric")})
    with pytest.raises(ModelError, match=r"Short 'tie': its elastic_parts.*\(2, 12, 12\)"):
        short("tie").stiffness_parts(CATALOGUE["Spring"].frames(1), ())


class Pushing(mse.MObject):
    """An own law that pushes apart."""

    def energy(self, frames, q):
        d = frames[0].o - frames[1].o
        return -25.0 * (d @ d)


@pytest.mark.parametrize(
    "asked",
    [
        lambda model: model.modes(lossy=True),
        lambda model: model.frequency_response([1.0]),
        lambda model: model.noise([1.0], "probe.x"),
        lambda model: model.modal_damping(),
        lambda model: model.rational(0.1, 10.0),
        lambda model: model.resonance_grid(0.1, 10.0),
    ],
    ids=["modes", "response", "noise", "modal damping", "rational", "grid"],
)
def test_loss_on_negative_stiffness_is_refused_by_name(asked):
    system = mass_on(mse.Bushing("mount", stiffness=100.0, loss=1e-3), Pushing("pusher", loss=5e-3))
    with pytest.raises(ModelError, match=r"pusher / total .* negative for a motion of mass\.[xyz].*feed energy"):
        asked(system.find_working_point().linearize())


def test_loss_given_to_negative_stiffness_in_a_call_is_refused_and_other_loss_is_not():
    model = (
        mass_on(mse.Bushing("mount", stiffness=100.0, loss=1e-3), Pushing("pusher")).find_working_point().linearize()
    )
    assert model.modes(lossy=True).quality[0] == pytest.approx(500.0)
    with pytest.raises(ModelError, match="pusher / total has a loss and is negative"):
        model.frequency_response([1.0], loss={"pusher": 1e-3})


def test_parts_of_one_object_may_make_up_for_each_other():
    """A part of a bent element may be negative alone; only their sum decides whether the loss feeds energy."""
    k = np.array([[1.0, -1.0], [-1.0, 1.0]])
    parts = {"bending": 100.0 * np.eye(2), "shear": -1.0 * k}
    model = mse.LinearModel.from_matrices(np.eye(2), None, parts, name="leaf")
    even = model.frequency_response([1.0], loss={"leaf": 1e-3})
    assert np.isfinite(even.values).all()
    with pytest.raises(ModelError, match="leaf / shear"):
        model.frequency_response([1.0], loss={("leaf", "shear"): 1e-3})


def test_loss_of_a_part_on_many_coordinates_is_refused_too():
    n = 80
    chain = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    model = mse.LinearModel.from_matrices(np.eye(n), None, {"chain": chain, "feet": 10.0 * np.eye(n)}, name="row")
    assert np.isfinite(model.frequency_response([1.0], loss={("row", "chain"): 1e-3}).values).all()
    worse = mse.LinearModel.from_matrices(np.eye(n), None, {"chain": chain - 0.1 * np.eye(n), "feet": 10.0 * np.eye(n)})
    with pytest.raises(ModelError, match="model / chain has a loss and is negative"):
        worse.frequency_response([1.0], loss={("model", "chain"): 1e-3})
