"""Every law of every element of the catalogue by its record and by its jets, to rounding; kernels are held to these elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from counting import made_of

import mse
from catalogue import CATALOGUE, QuadraticDrag
from mse.elements import flows, measures, velocity_laws
from mse.elements.differentiation import differentiated_constraint, exerted, moving
from mse.elements.law_record import Law, Shape, is_real
from mse.elements.recorded_laws import Together
from mse.numerics.jets import Jet

LAWS = ("energy", "gravity_energy", "kinetic", "dissipation", "power", "constraint", "flow_constraint", "measure")


def having(law: str):
    return pytest.mark.parametrize("name", [k for k, e in CATALOGUE.items() if e.make().defines(law)])


def given(name: str, seed: int):
    """An element, and frames and internal coordinates for it."""
    entry = CATALOGUE[name]
    return entry.make(), entry.frames(seed), entry.internal(seed)


def recorded(law: str, obj, frames, q, other: np.ndarray, values: int, plain: np.ndarray) -> tuple[np.ndarray, ...]:
    """What the record of a law of one object gives to second order, where the law itself gives ``plain``."""
    found = []
    inputs = np.concatenate([*(f.o for f in frames), *(f.U.ravel() for f in frames), q])[None]
    laws = Together([obj], law, Shape(len(frames), len(q), values))
    left = laws.evaluate(slice(None), (inputs, other[None]), 2, lambda _: plain, lambda _, x: found.append(x))
    assert not len(left), laws.refused
    return tuple(x[0] for x in found[0])


def alike(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1e-9, np.abs(expected).max(initial=0.0)))


@pytest.mark.parametrize("law", LAWS)
def test_the_catalogue_has_each_law(law):
    assert any(entry.make().defines(law) for entry in CATALOGUE.values())


VALUES = {"constraint": lambda obj: obj.constraint_count, "measure": lambda obj: len(obj.outputs)}
RECORDED = [
    (name, law)
    for name, entry in CATALOGUE.items()
    for law in ("energy", "kinetic", "dissipation", "power", "constraint", "measure")
    if (obj := entry.make()).differentiation == "exact"
    and (obj.defines(law) or (law == "energy" and obj.defines("gravity_energy")))
]


@pytest.mark.parametrize("name, law", RECORDED)
def test_all_real_parameters_of_a_law_are_inputs_of_its_record(name, law):
    """What stays a constant are words, whole numbers and what is not given."""
    obj, frames, q = given(name, 0)
    n = 6 * len(frames) + len(q)
    values = n if law == "power" else VALUES.get(law, lambda _: 1)(obj)
    other = {"energy": 3, "power": 2 * n, "kinetic": n, "dissipation": n}.get(law, values)
    place = np.concatenate([*(f.o for f in frames), *(f.U.ravel() for f in frames), q, 0.3 + np.arange(other)])
    with np.errstate(all="ignore"):
        record = Law(obj, law, Shape(len(frames), len(q), values), False, place)
    named = {name for name, p in obj.declared_parameters.items() if p.moves}
    real = [
        np.ravel(v) for v in (getattr(obj, k) for k in named)
        if v is not None and not isinstance(v, str | int) and np.asarray(v).dtype.kind == "f"
    ]  # fmt: skip
    attributes = [np.ravel(x) for k, x in vars(obj).items() if k.startswith("_") and is_real(x)]
    assert len(record.parameters(obj)) == sum(map(len, [*real, *attributes]))


def test_one_record_serves_joints_with_other_axes_springs_and_preloads(monkeypatch):
    made = made_of(monkeypatch, Law)
    _, frames, q = given("Revolute", 1)
    second = mse.Revolute("other", axis=(1, 2.2, 3), stiffness=5.0, rest=0.2, preload=0.4)
    inputs = np.tile(np.concatenate([*(f.o for f in frames), *(f.U.ravel() for f in frames)]), (2, 1))
    objects = [mse.Revolute("it", axis=(1, 2, 2.5), stiffness=3.0, rest=0.1, preload=0.1), second]
    expected, found = [obj.energy(frames, q) for obj in objects], []
    laws = Together(objects, "energy", Shape(2, 0))
    laws.evaluate(slice(None), (inputs, np.zeros(3)), 0, lambda k: expected[k], lambda _, x: found.append(x[0][:, 0]))
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-13)
    assert len(made) == 1


@having("constraint")
def test_constraints(name):
    obj, frames, q = given(name, 1)
    multipliers = np.random.default_rng(3).normal(size=obj.constraint_count)
    expected = differentiated_constraint(obj, frames, q, multipliers, 2)
    found = recorded("constraint", obj, frames, q, multipliers, len(multipliers), expected[0])
    for one, other in zip(found, expected, strict=True):
        alike(one, other)


def by_jets(monkeypatch, call):
    with monkeypatch.context() as patch:
        patch.setattr(velocity_laws, "recordable", lambda cls, law: False)
        return call()


@having("kinetic")
def test_kinetic_coenergies(name, monkeypatch):
    obj, frames, q = given(name, 2)
    masses = [f(lambda: velocity_laws.matrices([obj], "kinetic", [(frames, q)])[0]) for f in
              (lambda call: call(), lambda call: by_jets(monkeypatch, call))]  # fmt: skip
    alike(*masses)
    assert np.any(masses[0])
    # the law itself: the same of opposite velocities, but for what is linear in them
    v = np.random.default_rng(1).normal(size=len(masses[0]))
    both = [obj.kinetic(moved, q, rates) for moved, rates in (moving(frames, v), moving(frames, -v))]
    assert 0.5 * sum(both) == pytest.approx(0.5 * v @ masses[0] @ v, rel=1e-12)


@having("dissipation")
def test_contents(name, monkeypatch):
    obj, frames, q = given(name, 2)

    def found():
        return velocity_laws.matrices([obj], "dissipation", [(frames, q)])[0]

    alike(found(), by_jets(monkeypatch, found))


@having("power")
def test_powers(name, monkeypatch):
    obj, frames, q = given(name, 2)
    n = 6 * len(frames) + len(q)

    def found():
        return velocity_laws.damping_of_power([obj], [(frames, q)])[0]

    alike(found(), by_jets(monkeypatch, found))
    assert np.any(found())
    actual = np.random.default_rng(4).normal(size=n)
    expected = exerted(obj, frames, q, actual)
    alike(recorded("power", obj, frames, q, np.concatenate([np.zeros(n), actual]), n, expected)[0], expected)


@having("measure")
def test_measures(name, monkeypatch):
    obj, frames, q = given(name, 2)

    def found(one):
        return measures.slopes([one], [(frames, q)], [])[0]

    by_differences = type("Own", (type(obj),), {"differentiation": "differences"})("it")
    np.testing.assert_allclose(found(by_differences), found(obj), rtol=0, atol=1e-8)
    recorded_slopes = found(obj)
    monkeypatch.setattr(measures, "recordable", lambda cls, law: False)
    alike(recorded_slopes, found(obj))


@having("flow_constraint")
def test_flow_constraints(name):
    obj, frames, q = given(name, 2)
    n = 6 * len(frames) + len(q)
    moved, rates = moving(frames, Jet.variables(np.random.default_rng(2).normal(size=n)))
    held = obj.flow_constraint(moved, q, rates)
    alike(flows.flow_rows(obj, frames, q), np.array([row.gradient for row in (held if held.shape else [held])]))


@pytest.mark.parametrize("seed", range(2))
def test_quadratic_drag_is_against_the_velocity_and_takes_the_cube_of_its_speed(seed):
    obj, frames, q = given("quadratic drag", seed)
    rates = np.random.default_rng(seed).normal(size=6)
    moved, own = moving(frames, Jet.variables(rates))
    content = obj.dissipation(moved, q, own)
    v, speed = rates[:3], np.linalg.norm(rates[:3])
    np.testing.assert_allclose(content.gradient, [*(obj.drag * speed * v), 0, 0, 0], rtol=1e-14, atol=1e-15)
    slope = obj.drag * (speed * np.eye(3) + np.outer(v, v) / speed)  # what damps small motions beside a steady one
    np.testing.assert_allclose(content.hessian[:3, :3], slope, rtol=1e-13)
    assert content.gradient @ rates == pytest.approx(obj.drag * speed**3, rel=1e-14)
    assert not velocity_laws.matrices([QuadraticDrag("it")], "dissipation", [(frames, q)]).any()
