"""Recorded laws: right, for whole classes at once; what no record is kept of is recorded for each place and said."""

from __future__ import annotations

import itertools
import math
import pickle
import time
import types

import numpy as np
import pytest
from counting import made_of
from fine_differences import agrees

import mse
from catalogue import CATALOGUE
from mse import Pose
from mse.elements import law_record, recorded_laws
from mse.elements.differentiation import FramePose, members
from mse.elements.flows import flow_count
from mse.elements.law_record import Law, Shape, bounded, rows_of
from mse.elements.parameters import Choice, Real
from mse.elements.recorded_laws import Together
from mse.errors import ModelError
from mse.numerics.record import Unrecordable

GRAVITY = np.array([0.4, -1.1, -9.8])
WITH_LAW = [k for k, e in CATALOGUE.items() if e.make().defines("energy") or e.make().defines("gravity_energy")]


def columns(frames, q) -> np.ndarray:
    return rows_of([(frames, q)])


def together(objects) -> Together:
    shape = Shape(len(objects[0].frame_names), len(objects[0].coordinate_names))
    return Together(objects, "energy", shape)


# in units of the largest entry; second derivatives of an exact segment cancel twice by z, as (z coth z - 1)/z does
OFF = {
    name: 1e-10 if name in ("ExactSegment", "MasslessSegment") else 1e-12
    for name in WITH_LAW
    if name != "by differences"
}


@pytest.mark.parametrize("name", OFF)
@pytest.mark.parametrize("seed", range(3))
def test_records_long_doubles_and_kernels_agree(name, seed):
    entry = CATALOGUE[name]
    obj, frames, q = entry.make(), entry.frames(seed), entry.internal(seed)
    laws = together([obj])
    found = tuple(x[0] for x in laws.evaluate(columns(frames, q), GRAVITY, 2))
    value, (gradient,), hessian = found
    assert not laws.refused
    agrees(
        (value[0], gradient, hessian),
        lambda f, p: obj.energy(f, p) + obj.gravity_energy(f, p, GRAVITY),
        frames,
        q,
        OFF[name],
    )
    np.testing.assert_array_equal(hessian, hessian.T)
    if obj.kernel is not None:
        energy, slope, parts = obj.evaluate(frames, q, GRAVITY, 2)
        for one, other in ((value[0], energy), (gradient, slope), (hessian, parts.sum(axis=0))):
            size = max(1e-9, np.abs(other).max(initial=0.0))
            np.testing.assert_allclose(one, other, rtol=0, atol=OFF[name] * size)


@pytest.mark.parametrize("name", CATALOGUE)
def test_no_class_of_the_catalogue_does_what_cannot_be_recorded(name, monkeypatch):
    """All laws of all classes, those by differences too, which are recorded where they are numpy's."""
    obj, frames, q = CATALOGUE[name].make(), CATALOGUE[name].frames(0), CATALOGUE[name].internal(0)
    n = 6 * len(frames) + len(q)
    monkeypatch.setattr(Together, "alone", None)
    counts = dict.fromkeys(("momenta", "inertia", "drag"), n + 1)
    counts |= {"motion": 1 + n + n * n, "power": n, "measure": len(obj.outputs), "constraint": obj.constraint_count}
    counts["flow_constraint"] = (n + 1) * flow_count(obj)
    places, rates = (
        ("energy", "constraint", "measure"),
        ("power", "flow_constraint", "kinetic", "dissipation", "coenergy"),
    )
    for law in (*places, *rates, "momenta", "motion", "inertia", "drag"):
        if any(map(obj.defines, members(law))) and obj.differentiation == "exact":
            shape = Shape(len(frames), len(q), counts.get(law, 1))
            laws = Together([obj], law, shape)
            laws.evaluate(columns(frames, q), 0.3 + 0.1 * np.arange(shape.given(law)), 0 if law == "motion" else 2)
            assert not laws.refused


def test_laws_that_make_values_plain_numbers_go_by_differences_where_their_class_asks_for_these():
    entry = CATALOGUE["by differences"]
    place = columns(entry.frames(0), entry.internal(0))
    laws = together([entry.make()])
    agrees(
        tuple(
            x[0] if k else x[0, 0]
            for k, x in enumerate((v if k != 1 else v[:, 0]) for k, v in enumerate(laws.evaluate(place, GRAVITY, 2)))
        ),
        lambda f, p: entry.make().depth,
        entry.frames(0),
        entry.internal(0),
        1e9,
    )
    exact = together([type("Own", (type(entry.make()),), {"differentiation": "exact"})("it")])
    with pytest.raises(
        ModelError, match="Own 'it': its energy failed: it makes a value a plain number.*'differences' in the class"
    ):
        exact.evaluate(place, GRAVITY, 2)
    assert exact.evaluate(place, GRAVITY, 0)[0] == laws.evaluate(place, GRAVITY, 0)[0]


# -- constraints --------------------------------------------------------------------------------------------------
class Guide(mse.MObject):
    """Holds frame 0 in the plane of frame 1, or on its axis."""

    def constraint(self, frames, q):
        return frames[1].U[:, 2] @ (frames[0].o - frames[1].o)


class Remembering(Guide):
    """The same, but it keeps what no record may change."""

    def constraint(self, frames, q):
        self._last = super().constraint(frames, q)
        return self._last


def guided(cls) -> mse.WorkingPoint:
    s = mse.MSystem("guided", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dxdydz(0.1, 0.2, 0.0)))
    s.add(mse.Bushing("seat", stiffness=30.0), between=(body, s.ground))
    s.add(cls("guide"), between=(body, s.ground))
    return s.find_working_point()


@pytest.mark.parametrize("order", [0, 1, 2])
def test_constraints_by_differences_are_those_by_records(order):
    frames, multipliers = CATALOGUE["Spring"].frames(0), np.array([2.5])
    other = type("Own", (Guide,), {"differentiation": "differences"})("it")
    exact, near = (obj.constraint_terms(frames, (), np.zeros(0), multipliers, order) for obj in (Guide("it"), other))
    for one, two in zip(exact, near, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-6)
    assert order < 2 or np.abs(exact[2]).max() > 1.0


def test_constraints_go_by_records_and_those_without_say_so():
    wp = guided(Guide)
    assert not wp.notes and len(wp.linearize().modes()) == 5
    note = " ".join(guided(Remembering).notes)
    assert "constraint of Remembering object by object" in note and "sets _last of its object" in note


# -- a class of one's own -----------------------------------------------------------------------------------------
class Tether(mse.MObject):
    """A spring; tests give it other laws."""

    length = Real("length at rest", unit="m", default=1.0)
    strength = Real("stiffness", unit="N/m", default=40.0)

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * self.strength * (np.sqrt(d @ d) - self.length) ** 2


def hanging(cls, count: int = 3, **parameters) -> mse.MSystem:
    """A chain of masses below the ground on elements of one's own."""
    s = mse.MSystem("chain", gravity=(0, 0, -9.8))
    above = s.ground
    for k in range(count):
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=0.01, at=Pose.dz(-1.1 * (k + 1))))
        own = s.add(cls(f"own{k}", **parameters))
        s.clamp(above, own.frame(1))
        s.clamp(body.frame(0), own.frame(0))
        above = body.frame(0)
    return s


def with_law(energy, **more) -> type:
    return type("Own", (Tether,), {"energy": energy, **more})


def one_by_one(monkeypatch, system):
    """The working point by records of each place alone."""

    def refused(self, *_):
        raise Unrecordable("is not to be kept")

    with monkeypatch.context() as patch:
        patch.setattr(recorded_laws.Laws, "of", refused)
        return system.find_working_point()


def same(found, expected):
    assert found.converged and found.energy == pytest.approx(expected.energy, rel=1e-12)
    scale = np.abs(expected.stiffness).max()
    np.testing.assert_allclose(found.stiffness.toarray(), expected.stiffness.toarray(), rtol=0, atol=1e-9 * scale)


def test_a_class_is_recorded_once_whatever_its_parameters(monkeypatch):
    cls = with_law(Tether.energy)
    made = made_of(monkeypatch, Law)
    s = hanging(cls, 4)
    s["own1"].strength, s["own2"].length = 55.0, 0.7
    found = s.find_working_point()
    assert len(made) == 1 and not found.notes
    stretch = [np.linalg.norm(np.subtract(*(found.poses[f"own{k}.{i}"].o for i in (0, 1)))) for k in range(4)]
    expected = np.array([1.0, 1.0, 0.7, 1.0]) + 9.8 * np.array([4, 3, 2, 1]) / [40.0, 55.0, 40.0, 40.0]
    np.testing.assert_allclose(stretch, expected, rtol=1e-12)
    s["own3"].strength = 80.0
    again = found.update({"own3.strength": 80.0})
    assert again.poses["body3.center"].o[2] == pytest.approx(-np.sum(expected) + 9.8 / 40.0 - 9.8 / 80.0, rel=1e-12)
    same(again, s.find_working_point())
    assert len(made) == 1


def test_the_law_itself_is_asked_once_for_each_object(monkeypatch):
    asked, objects = [], [Tether(f"own{k}") for k in range(3)]
    plain = recorded_laws.law_values
    monkeypatch.setattr(
        recorded_laws, "law_values", lambda obj, *given: (asked.append(obj.name), plain(obj, *given))[1]
    )
    laws, inputs = together(objects), np.repeat(columns(CATALOGUE["Spring"].frames(0), ()), 3, axis=0)
    for order in (1, 2, 0):
        laws.evaluate(inputs, GRAVITY, order)
    assert asked == ["own0", "own1", "own2"]
    objects[1].strength = 2.0
    laws.changed([1], objects).evaluate(inputs, GRAVITY, 2)
    assert asked == ["own0", "own1", "own2", "own1"]


def test_results_survive_pickling():
    found = hanging(Tether).find_working_point()
    again = pickle.loads(pickle.dumps(found))
    assert again.update({"own0.strength": 50.0}).energy == found.update({"own0.strength": 50.0}).energy


def test_objects_evaluated_in_portions_are_as_all_at_once():
    s = hanging(Tether, 5)
    s["own2"].strength = 70.0
    objects = [s[f"own{k}"] for k in range(5)]
    rng = np.random.default_rng(1)
    inputs = np.vstack([columns(CATALOGUE["Spring"].frames(int(k)), ()) for k in rng.integers(0, 99, 5)])
    laws = together(objects)
    whole, part = laws.evaluate(inputs, GRAVITY, 2), slice(1, 4)
    for one, other in zip(laws.evaluate(inputs[part], GRAVITY, 2, part), whole, strict=True):
        np.testing.assert_array_equal(one, other[part])
    assert not laws.refused


# -- what cannot be recorded ----------------------------------------------------------------------------------------
TABLE = [40.0]
COUNTED: list[int] = []
RANDOM = np.random.default_rng(0)
SETTINGS = types.SimpleNamespace(strength=40.0)


def stretch(self, frames):
    d = frames[1].o - frames[0].o
    return np.sqrt(d @ d) - self.length


def rounded(self, frames, q):
    return 0.5 * self.strength * stretch(self, frames) ** 2 + 0.0 * len(self.system["body0"].name)


def counting(self, frames, q):
    COUNTED.append(1)
    return 0.5 * self.strength * stretch(self, frames) ** 2


def setting(self, frames, q):
    self._last = frames
    return 0.5 * self.strength * stretch(self, frames) ** 2


def unseen(self, frames, q):
    return 0.5 * SETTINGS.strength * stretch(self, frames) ** 2


def undecided(self, frames, q):
    return 0.5 * self.strength * stretch(self, frames) ** 2 + RANDOM.random() * 0.0


def timed(self, frames, q):
    return 0.5 * self.strength * stretch(self, frames) ** 2 + time.perf_counter() * 1e-9


HOSTILE = {
    "other objects": (rounded, "fails with recorded values ('NoneType' object is not subscriptable) in line"),
    "changing global": (counting, "changes COUNTED"),
    "attribute": (setting, "sets _last of its object"),
    "object": (unseen, "reads SETTINGS, a SimpleNamespace"),
    "random numbers": (undecided, "reads RANDOM, a Generator"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_recorded_is_differentiated_and_said(name, monkeypatch):
    law, said = HOSTILE[name]
    cls = with_law(law)
    found = hanging(cls).find_working_point()
    note = f"differentiated the energy of Own object by object, which takes longer, since it {said}"
    assert len(found.notes) == 1 and found.notes[0].startswith(note), found.notes
    assert f"The search {note}" in repr(found)
    same(found, one_by_one(monkeypatch, hanging(cls)))
    same(found, hanging(Tether).find_working_point())


def test_laws_whose_derivatives_are_too_long_are_told_to_go_by_differences(monkeypatch):
    """Such as sums over fine grids."""

    def summed(self, frames, q):
        grid = np.linspace(0.0, 1.0, 101)
        return 0.5 * self.strength * np.sum((grid * stretch(self, frames)) ** 2) / np.sum(grid**2)

    monkeypatch.setattr("mse.numerics.record.MOST_NODES", 150)
    with pytest.raises(
        ModelError, match="'own0': its energy failed: it takes more than 150 operations.*= 'differences' in the class"
    ):
        hanging(with_law(summed), 1).find_working_point()
    found = hanging(with_law(summed, differentiation="differences"), 1).find_working_point()
    assert found.poses["body0.center"].o[2] == pytest.approx(-1.0 - 9.8 / 40.0, rel=1e-9)


def test_derivatives_of_an_order_are_made_when_they_are_asked_for(monkeypatch):
    """A law whose second derivatives are too long still has a record of its forces, before and after these are refused."""
    monkeypatch.setattr("mse.numerics.record.MOST_NODES", 145)  # 131 of them to order 1
    made, make = set(), Law.prepare
    monkeypatch.setattr(Law, "prepare", lambda self, order: made.add(order) or make(self, order))
    tether = with_law(lambda self, frames, q: 0.5 * self.strength * stretch(self, frames) ** 2)("it")
    together = Together([tether], "energy", Shape(2, 0))
    row = columns([FramePose(np.array([0.0, 0.1 * k, -1.2 * k]), np.eye(3)) for k in (0, 1)], ())
    forces = together.evaluate(row, GRAVITY, 1)[1]
    assert not together.refused and made == {1}
    together.evaluate(row, GRAVITY, 2)
    assert any("takes more than 145 operations" in reason for reason in together.refused)
    np.testing.assert_array_equal(together.evaluate(row, GRAVITY, 1)[1], forces)


def test_a_law_that_asks_other_objects_is_recorded_for_each_place(monkeypatch):
    """These may change while it does not."""

    def energy(self, frames, q):
        return 0.5 * self.strength * self.system["body0"].mass * stretch(self, frames) ** 2

    s = hanging(with_law(energy), 2)
    found = s.find_working_point()
    assert "fails with recorded values" in found.notes[0]
    same(found, hanging(Tether, 2).find_working_point())
    s["body0"].mass = 2.0
    again = s.find_working_point()
    assert again.poses["body1.center"].o[2] == pytest.approx(-2.0 - 9.8 * (3.0 + 1.0) / 80.0, rel=1e-12)


def test_a_law_whose_closure_is_not_filled_is_not_recorded(monkeypatch):
    def made():
        def energy(self, frames, q):
            return 0.5 * self.strength * stretch(self, frames) ** 2 if True else later

        if not energy:
            later = 1.0
        return energy

    found = hanging(with_law(made())).find_working_point()
    assert "reads what cannot be compared later" in found.notes[0]
    same(found, hanging(Tether).find_working_point())


def test_the_line_that_prevents_a_record_is_named():
    found = hanging(with_law(rounded)).find_working_point()
    line = rounded.__code__.co_firstlineno + 1
    assert f"in line {line} of test_recorded_laws.py (return 0.5 * self.strength" in found.notes[0]


def test_a_law_that_goes_by_the_clock_is_not_taken_as_recorded(monkeypatch):
    laws = together([with_law(timed)("it")])
    monkeypatch.setattr(time, "perf_counter", itertools.count(1e9, 1e9).__next__)
    values = [laws.evaluate(columns(CATALOGUE["Spring"].frames(0), ()), GRAVITY, 0)[0][0, 0] for _ in range(3)]
    assert values[0] < values[1] < values[2]
    assert "gives other values when it is called again" in laws.notes[0]


def test_a_record_is_compared_with_its_law_where_it_is_used():
    """The record of a law that reads its frames unseen gives another energy, and is not used."""

    def energy(self, frames, q):
        flat = [float(x) for f in frames for x in f.o] if isinstance(frames[0].o, np.ndarray) else [0.0]
        return 0.5 * self.strength * stretch(self, frames) ** 2 + 1e-9 * max(flat)

    laws = together([with_law(energy)("it")])
    frames = CATALOGUE["Spring"].frames(0)
    assert laws.evaluate(columns(frames, ()), GRAVITY, 0)[0] == laws.objects[0].energy(frames, ())
    assert "gives other values" in laws.notes[0]


@pytest.mark.parametrize("change", ["replaced", "in place"])
def test_a_global_that_changes_is_seen(monkeypatch, change):
    def energy(self, frames, q):
        return 0.5 * TABLE[0] * stretch(self, frames) ** 2

    cls = with_law(energy)
    first = hanging(cls).find_working_point()
    if change == "replaced":
        monkeypatch.setitem(energy.__globals__, "TABLE", [80.0])
    else:
        TABLE[0] = 80.0
    second = hanging(cls).find_working_point()
    TABLE[0] = 40.0
    assert not first.notes and not second.notes
    same(second, hanging(Tether, strength=80.0).find_working_point())
    assert second.energy != pytest.approx(first.energy, rel=1e-3)


def test_a_global_that_changes_again_and_again_is_named():
    def energy(self, frames, q):
        return 0.5 * TABLE[0] * stretch(self, frames) ** 2

    cls, notes = with_law(energy), []
    for k in range(recorded_laws._MOST_CHANGES + 2):
        TABLE[0] = 40.0 + k
        found = hanging(cls).find_working_point()
        same(found, hanging(Tether, strength=TABLE[0]).find_working_point())
        notes.append(found.notes)
    TABLE[0] = 40.0
    assert not any(notes[:-1]) and "reads TABLE, which changes again and again" in notes[-1][0]


def test_parameters_that_a_law_asks_are_recorded_for_each_value(monkeypatch):
    """Where a parameter decides, or a math function takes it; what is not asked stays a variable."""

    def energy(self, frames, q):
        x = stretch(self, frames)
        if self.length < 0.9 or self.kind == "soft":
            return 0.25 * self.strength * x**2
        return 0.5 * math.sqrt(self.strength**2) * x**2

    cls = with_law(energy, kind=Choice("stiffness", among=("stiff", "soft")))
    made = made_of(monkeypatch, Law)
    s = hanging(cls, 6)
    s["own1"].length, s["own2"].kind = 0.8, "soft"
    found = s.find_working_point()
    assert not found.notes
    assert len(made) == 3
    same(found, one_by_one(monkeypatch, s))
    made.clear()
    s["own4"].length, s["own5"].length = 0.95, 1.1  # which no way asks but for their being above 0.9
    same(s.find_working_point(), one_by_one(monkeypatch, s))
    assert all(law.record.point[24:27] == [0.0, 0.0, -9.8] and len(law.record.point) == 27 for law in made)  # alone


def test_choices_are_recorded_apart(monkeypatch):
    def energy(self, frames, q):
        return (0.5 if self.kind == "stiff" else 0.25) * self.strength * stretch(self, frames) ** 2

    cls = with_law(energy, kind=Choice("stiffness", among=("stiff", "soft")))
    made = made_of(monkeypatch, Law)
    s = hanging(cls, 4)
    s["own2"].kind = "soft"
    found = s.find_working_point()
    assert len(made) == 2 and not found.notes
    same(found, one_by_one(monkeypatch, s))


def test_attributes_of_objects_are_inputs_or_constants(monkeypatch):
    def constructed(self, name, factor, rows):
        Tether.__init__(self, name)
        self._factor, self._rows = factor, rows

    def energy(self, frames, q):
        return self._factor * self.strength * stretch(self, frames) ** 2 * len(self._rows)

    cls = with_law(energy, __init__=constructed)
    made = made_of(monkeypatch, Law)
    frames = CATALOGUE["Spring"].frames(0)
    one, two = [1], [1, 2]
    objects = [cls("a", 0.5, one), cls("b", 0.7, one), cls("c", 0.5, two)]
    laws = together(objects)
    found = laws.evaluate(np.repeat(columns(frames, ()), 3, axis=0), GRAVITY, 2)[0]
    assert not laws.refused and len(made) == 2
    np.testing.assert_allclose(found[:, 0], [obj.energy(frames, ()) for obj in objects], rtol=1e-14)


@pytest.mark.parametrize(
    "law, words",
    [
        (lambda self, f, q: f[0].o, "expected one number"),
        (lambda self, f, q: None, "expected one real number"),
        (lambda self, f, q: 1j * stretch(self, f), "real number"),
        (lambda self, f, q: f[2].o @ f[2].o, "its energy failed: IndexError"),
        (lambda self, f, q: np.floor_divide(stretch(self, f), 1.0), "numpy.floor_divide"),
        (lambda self, f, q: math.sin(stretch(self, f)), "float()"),
        (lambda self, f, q: stretch(self, f) * np.nan, "not a finite number"),
        (lambda self, f, q: 1e80 * stretch(self, f) ** 2, "at most 1e+60 J"),
    ],
    ids=["vector", "None", "complex", "no such frame", "unknown function", "math", "nan", "huge"],
)
def test_wrong_laws_are_refused_as_ever(law, words):
    with pytest.raises(ModelError, match="Own 'own0': ") as caught:
        hanging(with_law(law)).find_working_point()
    assert words in str(caught.value)


def test_energies_beyond_what_is_reckoned_with_are_none():
    np.testing.assert_array_equal(
        bounded(np.array([1e59, 1e61, np.inf, -1e61, 2.0])), [1e59, np.nan, np.nan, np.nan, 2.0]
    )


def test_own_elements_make_no_more_calls_when_there_are_more(monkeypatch):
    """What is evaluated together is called once: runs of the machine do not grow with the number of elements."""
    place = rows_of([(CATALOGUE["Spring"].frames(0), ())])
    together([Tether("first")]).evaluate(place, GRAVITY, 2)  # makes the record
    runs = []
    run = law_record.Program.run
    monkeypatch.setattr(
        law_record.Program, "run", lambda self, *given: (runs.append(len(given[0])), run(self, *given))[1]
    )
    counts = []
    for count in (4, 32):
        frames = [CATALOGUE["Spring"].frames(k) for k in range(count)]
        objects = [Tether(f"own{k}") for k in range(count)]
        runs.clear()
        together(objects).evaluate(rows_of([(f, ()) for f in frames]), GRAVITY, 2)
        counts.append(len(runs))
    assert counts[0] == counts[1] == 2  # one of them the comparison with the law


# -- laws that ask conditions ---------------------------------------------------------------------------------------
class Stop(mse.MObject):
    """A spring that pushes along z of the ground where its gap (m) is closed; a length of 0 stands for no gap."""

    gap = Real("gap at rest", unit="m", default=0.01)
    strength = Real("stiffness when closed", unit="N/m", default=1e4)

    def energy(self, frames, q):
        x = frames[0].o[2] - frames[1].o[2]
        if self.gap == 0.0:
            return 0.5 * self.strength * x**2
        if x < -self.gap:
            return 0.5 * self.strength * (x + self.gap) ** 2 + 0.1 * self.strength * abs(x + self.gap) ** 3
        return 0.0 * x


def stops(count: int, law: type = Stop) -> mse.MSystem:
    """Bodies on springs above stops, of which every second one is reached."""
    s = mse.MSystem("stops", gravity=(0, 0, -9.81))
    for k in range(count):
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0 + 0.1 * k / count, inertia=0.1, at=Pose.dx(k)))
        seat = s.add(mse.Bushing(f"seat{k}", stiffness=(1e3,) * 3 + (10.0,) * 3, at=Pose.dx(k)))
        s.clamp(body.frame(0), seat.frame(0))
        s.clamp(s.ground, seat.frame(1), Pose.dx(k))
        stop = s.add(law(f"stop{k}", gap=(0.005, 0.05)[k % 2]))
        s.clamp(body.frame(0), stop.frame(0))
        s.clamp(s.ground, stop.frame(1), Pose.dx(k))
    return s


def test_a_law_with_branches_has_a_record_for_each_way_through_it(monkeypatch):
    found = stops(6).find_working_point()
    assert not found.notes
    laws = recorded_laws._laws(Stop, "energy")
    [(records, _)] = laws.found.values()
    assert len(records.laws) == 2  # open and closed
    same(found, one_by_one(monkeypatch, stops(6)))
    for k in range(6):  # closed: k z + K x + 0.3 K x^2 = m g, where the gap is 5 mm
        sunk, weight = -found.poses[f"body{k}.center"].o[2], 9.81 * (1.0 + 0.1 * k / 6)
        x = sunk - 0.005
        pushed = 1e4 * x + 3e3 * x**2 if k % 2 == 0 else 0.0
        assert abs(1e3 * sunk + pushed - weight) < 1e-9 * weight


@pytest.mark.parametrize("closed", [True, False])
def test_a_record_serves_on_the_side_of_the_gap_where_it_was_recorded(closed):
    stop, heights = Stop("it", gap=0.01), np.array([-0.05, -0.02, -0.01, 0.0, 0.03])
    here = [FramePose(np.array([0.0, 0.0, z]), np.eye(3)) for z in (-0.02 if closed else 0.02, 0.0)]
    place = np.concatenate([columns(here, ())[0], GRAVITY])
    records = recorded_laws.Laws(Stop, "energy").of(stop, Shape(2, 0))
    rows = np.tile(np.concatenate([place, records.parameters(stop)]), (len(heights), 1))
    [(law, _, _)] = records.of(rows[:1], lambda _: stop, 1, 0)
    rows[:, 2] = heights
    np.testing.assert_array_equal(law.serves(rows), [(z < -0.01) == closed for z in heights])


def test_conditions_on_parameters_choose_among_records():
    entry = CATALOGUE["Spring"]
    frames = entry.frames(0)
    objects = [Stop("none", gap=0.0), Stop("far", gap=1e3), Stop("near", gap=-1e3)]
    laws = together(objects)
    found = laws.evaluate(np.repeat(columns(frames, ()), 3, axis=0), GRAVITY, 2)[0]
    np.testing.assert_allclose(found[:, 0], [obj.energy(frames, ()) for obj in objects], rtol=1e-13)
    assert not laws.refused and len(laws._records) == 1 and len(laws._records[0].laws) == 3


def test_one_law_more_is_recorded_where_a_condition_changes_its_answer(monkeypatch):
    s = stops(3)
    first = s.find_working_point()
    lifted = first.update({f"stop{k}.gap": 0.05 for k in range(3)})
    monkeypatch.setattr(Law, "__init__", None)  # both ways are known
    back = lifted.update({f"stop{k}.gap": (0.005, 0.05)[k % 2] for k in range(3)})
    np.testing.assert_allclose(back.poses["body0.center"].o, first.poses["body0.center"].o, rtol=0, atol=1e-12)


def test_a_way_that_takes_parameters_as_numbers_is_recorded_for_each(monkeypatch):
    class Rooted(Stop):
        def energy(self, frames, q):
            x = frames[0].o[2] - frames[1].o[2]
            return 50.0 * math.sqrt(self.strength) * (x + self.gap) ** 2 if x < -self.gap else 0.0 * x

    s = stops(4, Rooted)
    s["stop2"].strength = 4e4
    found = s.find_working_point()
    [(records, _)] = recorded_laws._laws(Rooted, "energy").found.values()
    assert not found.notes and len(records.laws) == 3  # open, and closed with two stiffnesses
    same(found, one_by_one(monkeypatch, s))


def test_many_objects_may_each_have_a_record_of_their_own(monkeypatch):
    """Also when they are more than the ways that one law may take."""

    def energy(self, frames, q):
        return 0.5 * math.exp(self.strength) * stretch(self, frames) ** 2

    count = recorded_laws._MOST_BRANCHES + 8
    cls = with_law(energy)
    objects = [cls(f"it{k}", strength=0.1 * k) for k in range(count)]
    frames = CATALOGUE["Spring"].frames(0)
    for obj in objects:  # one by one fewer are kept, which does not count for all of them together
        obj.forces(frames, ())
    laws, rows = together(objects), np.repeat(columns(frames, ()), count, axis=0)
    found = laws.evaluate(rows, GRAVITY, 2)[0]
    np.testing.assert_allclose(found[:, 0], [obj.energy(frames, ()) for obj in objects], rtol=1e-13)
    assert not laws.refused and len(laws._records[0].laws) == count
    monkeypatch.setattr(Law, "__init__", None)  # each has its own from now on
    np.testing.assert_array_equal(laws.evaluate(rows, GRAVITY, 0)[0], found)


def test_a_law_that_takes_ever_other_ways_goes_by_itself():
    def energy(self, frames, q):
        x, turns = frames[0].o[2], 0
        while x > 0.0:  # as often as the value says
            x, turns = x - 0.01, turns + 1
        return 0.5 * self.strength * (x + 0.01 * turns) ** 2

    laws = together([with_law(energy)("it")])
    frames = list(CATALOGUE["Spring"].frames(0))
    for height in np.arange(0.005, 0.5, 0.01):
        frames[0] = FramePose(np.array([0.0, 0.0, height]), frames[0].U)
        value, slope, second = laws.evaluate(columns(frames, ()), GRAVITY, 2)
        x = laws.objects[0].energy(frames, ())
        assert abs(value[0, 0] - x) < 1e-13 and abs(second[0, 2, 2] - 40.0) < 1e-12
        assert slope[0, 0, 2] == pytest.approx(np.sqrt(80.0 * x), rel=1e-9, abs=1e-12)
    assert "takes more than 32 ways through its conditions" in laws.notes[0]
    assert len(laws._records[0].laws) == recorded_laws._MOST_BRANCHES + 1
