"""Every law of every element of the catalogue by its record and in long doubles; kernels are held to records elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from counting import made_of
from fine_differences import agrees, alike, along, directions, placed

import mse
from catalogue import CATALOGUE, QuadraticDrag
from mse.elements import flows, measures, velocity_laws
from mse.elements.differentiation import Given, exerted, moving
from mse.elements.law_record import Law, Shape, is_real, rows_of
from mse.elements.recorded_laws import Laws, Together

LAWS = ("energy", "gravity_energy", "kinetic", "dissipation", "power", "constraint", "flow_constraint", "measure")


def having(law: str):
    return pytest.mark.parametrize("name", [k for k, e in CATALOGUE.items() if e.make().defines(law)])


def given(name: str, seed: int):
    """An element, and frames and internal coordinates for it."""
    entry = CATALOGUE[name]
    return entry.make(), entry.frames(seed), entry.internal(seed)


def recorded(law: str, obj, frames, q, other: np.ndarray, values: int = 1, order: int = 2) -> tuple[np.ndarray, ...]:
    """What the record of a law of one object gives up to an order."""
    laws = Together([obj], law, Shape(len(frames), len(q), values))
    found = laws.evaluate(rows_of([(frames, q)]), other, order)
    assert not laws.refused
    return tuple(x[0] for x in found)


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
        records = Laws(type(obj), law).of(obj, Shape(len(frames), len(q), values))
        list(records.of(np.concatenate([place, records.parameters(obj)])[None], lambda _: obj, 1, 2))
    named = {name for name, p in obj.declared_parameters.items() if p.moves}
    real = [
        np.ravel(v) for v in (getattr(obj, k) for k in named)
        if v is not None and not isinstance(v, str | int) and np.asarray(v).dtype.kind == "f"
    ]  # fmt: skip
    attributes = [np.ravel(x) for k, x in vars(obj).items() if k.startswith("_") and is_real(x)]
    assert len(records.parameters(obj)) == sum(map(len, [*real, *attributes]))
    assert len(records.laws) == 1 and not records.refused


def test_one_record_serves_joints_with_other_axes_springs_and_preloads(monkeypatch):
    made = made_of(monkeypatch, Law)
    _, frames, q = given("Revolute", 1)
    second = mse.Revolute("other", axis=(1, 2.2, 3), stiffness=5.0, rest=0.2, preload=0.4)
    inputs = np.repeat(rows_of([(frames, q)]), 2, axis=0)
    objects = [mse.Revolute("it", axis=(1, 2, 2.5), stiffness=3.0, rest=0.1, preload=0.1), second]
    expected = [obj.energy(frames, q) for obj in objects]
    found = Together(objects, "energy", Shape(2, 0)).evaluate(inputs, np.zeros(3), 0)[0]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-13)
    assert len(made) == 1


@having("constraint")
def test_constraints(name):
    obj, frames, q = given(name, 1)
    multipliers = np.random.default_rng(3).normal(size=obj.constraint_count)
    g, slopes, second = recorded("constraint", obj, frames, q, multipliers, len(multipliers))

    def law(there, p):
        return np.stack(np.atleast_1d(obj.constraint(there, p)))

    weighed = multipliers @ g, multipliers @ slopes, second
    agrees(weighed, lambda *at: multipliers @ law(*at), frames, q)
    for u in directions(slopes.shape[1]):
        at, first, _ = along(lambda t, u=u: law(*placed(frames, q, t * u)))
        alike(g, at, least=1.0)
        alike(slopes @ u, first, least=1.0)


def of_velocities(law: str, obj, frames, q, v):
    moved, rates = moving(frames, v)
    return getattr(obj, law)(moved, q, rates)


@pytest.mark.parametrize(
    "name, law", [(k, law) for k, e in CATALOGUE.items() for law in ("kinetic", "dissipation") if e.make().defines(law)]
)
def test_laws_of_velocities(name, law):
    obj, frames, q = given(name, 2)
    v = np.random.default_rng(1).normal(size=6 * len(frames) + len(q))
    value, slope, second = recorded(law, obj, frames, q, v)
    for u in directions(len(v)):
        at, first, bent = along(lambda t, u=u: of_velocities(law, obj, frames, q, v + t * u))
        alike(value, at)
        alike(slope @ u, first, least=np.abs(slope).max())
        alike(u @ second @ u, bent, least=np.abs(second).max())


@having("kinetic")
def test_kinetic_coenergies(name):
    obj, frames, q = given(name, 2)
    mass = velocity_laws.matrices([obj], "kinetic", [(frames, q)])[0]
    assert np.any(mass)
    # the law itself: the same of opposite velocities, but for what is linear in them
    v = np.random.default_rng(1).normal(size=len(mass))
    both = [of_velocities("kinetic", obj, frames, q, sign * v) for sign in (1, -1)]
    assert 0.5 * sum(both) == pytest.approx(0.5 * v @ mass @ v, rel=1e-12)


@having("kinetic")
def test_momenta(name):
    """The coenergy's slope by coordinates, the momenta, and their slopes by coordinates, at velocities."""
    obj, frames, q = given(name, 2)
    n = 6 * len(frames) + len(q)
    v, (w, *_) = np.random.default_rng(1).normal(size=n), directions(n)
    values, slopes, _ = recorded("momenta", obj, frames, q, v, n + 1)
    least = np.abs(slopes).max() + np.abs(values).max()

    def coenergy(x, v):
        return of_velocities("kinetic", obj, *placed(frames, q, x), v)

    for u in directions(n):
        alike(slopes[0] @ u, along(lambda t, u=u: coenergy(t * u, v))[1], least=least)
        alike(values[1:] @ u, along(lambda t, u=u: coenergy(0.0 * u, v + t * u))[1], least=least)
        # d2T/dx dv along u and w, from second derivatives along their sum and difference
        both = [along(lambda t, s=s, u=u: coenergy(t * u, v + s * t * w))[2] for s in (1, -1)]
        alike(w @ slopes[1:] @ u, 0.25 * (both[0] - both[1]), least=least)


@having("kinetic")
def test_motions(name):
    """Masses are slopes of the momenta by velocities, and forces of inertia ``(dp/dx) v - dT/dx - w x p``."""
    obj, frames, q = given(name, 2)
    n = 6 * len(frames) + len(q)
    v = np.random.default_rng(1).normal(size=n)
    values, _, _ = recorded("motion", obj, frames, q, v, 1 + n + n * n, 0)
    momenta, slopes, _ = recorded("momenta", obj, frames, q, v, n + 1)
    expected = slopes[1:] @ v - slopes[0]
    for k in range(len(frames)):
        turn = slice(6 * k + 3, 6 * k + 6)
        expected[turn] -= np.cross(v[turn], momenta[1:][turn])
    size = np.abs(slopes).max() + np.abs(momenta).max()
    np.testing.assert_allclose(values[1 : 1 + n], expected, rtol=0, atol=1e-13 * size)
    masses = recorded("kinetic", obj, frames, q, v)[2]
    np.testing.assert_allclose(values[1 + n :].reshape(n, n), masses, rtol=1e-14)


@having("power")
def test_powers(name):
    obj, frames, q = given(name, 2)
    n = 6 * len(frames) + len(q)
    assert np.any(velocity_laws.damping_of_power([obj], [(frames, q)])[0])
    actual, (w, *_) = np.random.default_rng(4).normal(size=n), directions(n)
    forces, slopes, by_velocities = recorded("power", obj, frames, q, np.concatenate([np.zeros(n), actual]), n)
    alike(forces, exerted(obj, frames, q, actual))
    least = np.abs(slopes).max() + np.abs(by_velocities).max() + np.abs(forces).max()

    def power(x, actual):
        there, p = placed(frames, q, x)
        moved, rates = moving(there, w)
        return obj.power(moved, p, rates, Given(*moving(there, actual)))

    for u in directions(n):
        alike(w @ slopes @ u, along(lambda t, u=u: power(t * u, actual))[1], least=least)
        alike(w @ by_velocities @ u, along(lambda t, u=u: power(0.0 * u, actual + t * u))[1], least=least)


@having("measure")
def test_measures(name):
    obj, frames, q = given(name, 2)

    def found(one):
        return measures.slopes([one], [(frames, q)], [])[0]

    by_differences = type("Own", (type(obj),), {"differentiation": "differences"})("it", **obj.parameters)
    np.testing.assert_allclose(found(by_differences), found(obj), rtol=0, atol=1e-8)
    for u in directions(6 * len(frames) + len(q)):
        alike(found(obj) @ u, along(lambda t, u=u: np.stack(obj.measure(*placed(frames, q, t * u))))[1], least=1.0)


@having("flow_constraint")
def test_flow_constraints(name):
    obj, frames, q = given(name, 2)
    rows = flows.flow_rows(obj, frames, q)
    for u in directions(rows.shape[1]):
        alike(rows @ u, np.atleast_1d(of_velocities("flow_constraint", obj, frames, q, u)))


@pytest.mark.parametrize("seed", range(2))
def test_quadratic_drag_is_against_the_velocity_and_takes_the_cube_of_its_speed(seed):
    obj, frames, q = given("quadratic drag", seed)
    rates = np.random.default_rng(seed).normal(size=6)
    _, (gradient,), hessian = recorded("dissipation", obj, frames, q, rates)
    v, speed = rates[:3], np.linalg.norm(rates[:3])
    np.testing.assert_allclose(gradient, [*(obj.drag * speed * v), 0, 0, 0], rtol=1e-14, atol=1e-15)
    slope = obj.drag * (speed * np.eye(3) + np.outer(v, v) / speed)  # what damps small motions beside a steady one
    np.testing.assert_allclose(hessian[:3, :3], slope, rtol=1e-13)
    assert gradient @ rates == pytest.approx(obj.drag * speed**3, rel=1e-14)
    assert not velocity_laws.matrices([QuadraticDrag("it")], "dissipation", [(frames, q)]).any()
