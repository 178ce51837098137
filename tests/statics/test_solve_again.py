"""A working point solved again with other parameters equals one solved afresh, and keeps what does not depend on them."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from counting import made_of

import mse
from models import four_wire_chain
from mse import Pose
from mse.elements.base import Channel
from mse.elements.parameters import Real
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding


def four_bar() -> mse.MSystem:
    s = mse.MSystem("bars", gravity=(0, 0, -9.81))
    rods = [
        s.add(mse.RigidBody(name, mass=1.0, inertia=(0.08, 0.08, 0.01), at=Pose(at)))
        for name, at in (("left", (0, 0, -0.5)), ("right", (1, 0, -0.5)), ("coupler", (0.5, 0, -1)))
    ]
    left, right, coupler = (r.frame(0) for r in rods)
    pins = (
        ("a", s.ground, Pose(), left, Pose((0, 0, 0.5))),
        ("b", s.ground, Pose((1, 0, 0)), right, Pose((0, 0, 0.5))),
        ("c", left, Pose((0, 0, -0.5)), coupler, Pose((-0.5, 0, 0))),
        ("d", right, Pose((0, 0, -0.5)), coupler, Pose((0.5, 0, 0))),
    )
    for name, seat, at_seat, body, at_body in pins:
        pin = s.add(mse.Revolute(name, axis=(0, 1, 0), stiffness=2.0 if name == "a" else 0.0))
        s.clamp(seat, pin.frame(1), at_seat)
        s.clamp(body, pin.frame(0), at_body)
    return s


def with_blade() -> mse.MSystem:
    s = mse.MSystem("blade")
    blade = s.add(mse.Beam("blade", length=0.3, width=0.02, height=0.002, young_modulus=2e11, density=7800, elements=6))
    tip = s.add(mse.RigidBody("tip", mass=0.2, inertia=1e-4))
    s.clamp(s.ground, blade.frame(0))
    s.clamp(blade.frame(1), tip.frame(0))
    return s


@pytest.mark.slow
@pytest.mark.parametrize(
    "make, changes",
    [
        (lambda: four_wire_chain(3), {"wire1_0.length": 0.503, "plate2.mass": 12.0}),
        (lambda: four_wire_chain(3), {"gravity": (0.3, 0.0, -9.0)}),
        (lambda: four_wire_chain(2, driven=True), {"wire0_1.young_modulus": 1.8e11}),
        (four_bar, {"a.stiffness": 9.0, "a.rest": 0.7, "coupler.mass": 3.0}),
        (four_bar, {"b.motor": "position", "b.position": -0.3}),
        (with_blade, {"blade.height": 0.0025}),
        (with_blade, {"tip.mass": 0.3}),
    ],
)
def test_an_updated_working_point_is_that_of_the_changed_system(make, changes):
    first = make().find_working_point()
    before = first.energy, first.linearize().modes().frequencies_hz
    second = first.update(changes)
    changed = make()
    for name, value in changes.items():
        path, _, key = name.rpartition(".")
        (changed[path] if path else changed).parameters[key] = value
    fresh = changed.find_working_point()
    assert second.converged and second.stable == fresh.stable
    for name, pose in fresh.poses.items():
        assert second.poses[name].is_close(pose, 1e-9, 1e-9), name
    one, other = second.linearize(), fresh.linearize()
    assert one.modes().frequencies_hz == pytest.approx(other.modes().frequencies_hz, rel=1e-8)
    assert one.inputs == other.inputs
    # what it came from is what it was
    assert (first.energy, list(first.linearize().modes().frequencies_hz)) == (before[0], list(before[1]))
    # and its own system is the changed one
    for name, value in changes.items():
        path, _, key = name.rpartition(".")
        target = second.system[path] if path else second.system
        assert np.all(
            np.asarray(target.parameters[key]) == np.asarray(changed[path].parameters[key] if path else value)
        )


def test_nothing_is_flattened_again(monkeypatch):
    wp = four_wire_chain(4).find_working_point()
    made = made_of(monkeypatch, Topology)
    wp.update({"wire2_0.length": 0.501}).update({"plate1.mass": 9.0}).linearize().modes()
    assert not made
    four_wire_chain(4).find_working_point()
    assert len(made) == 1


def test_many_updates_one_after_the_other_lose_nothing():
    wp = first = four_wire_chain(2).find_working_point()
    for k in range(20):
        wp = wp.update({"wire0_0.length": 0.5 + 1e-4 * np.sin(k)})
    back = wp.update({"wire0_0.length": first.system["wire0_0"].length})
    assert back.linearize().modes().frequencies_hz == pytest.approx(first.linearize().modes().frequencies_hz, rel=1e-10)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"wire0_0.lenght": 0.5}, "no parameter 'lenght'.*length"),
        ({"wire9_0.length": 0.5}, "no object 'wire9_0'"),
        ({"wire0_0.length": -0.5}, "length is -0.5 m; expected"),
        ("wire0_0.length", "expected values by parameter"),
        ({"wire0_0": 0.5}, "'wire0_0'; it is an object; expected one of its parameters, such as 'wire0_0.length'"),
        (
            {"plate0.at": Pose()},
            r"no parameter 'at'; expected a parameter, and this is an initial pose.*set system\['plate0'\].at",
        ),
    ],
)
def test_refusals(changes, words):
    wp = four_wire_chain(1).find_working_point()
    with pytest.raises(mse.MseError, match=words):
        wp.update(changes)


# -- a system solved again after changes made to it itself ---------------------------------------------------------
def nested() -> mse.MSystem:
    s = mse.MSystem("outer")
    inner = mse.MSystem("inner")
    mass = inner.add(mse.RigidBody("mass", mass=2.0, inertia=0.01))
    wire = inner.add(mse.Wire("wire", length=0.4, young_modulus=2e11, poisson_ratio=0.3, radius=2e-4))
    inner.clamp(inner.ground, wire.frame(1))
    inner.clamp(mass.frame(0), wire.frame(0), Pose.dz(0.02))
    s.add(inner)
    s.clamp(s.ground, inner.ground, Pose.dz(-0.1))
    return s


def two_bodies_clamped() -> mse.MSystem:
    """The heavier body names their cluster, and moves as its reference."""
    s = four_wire_chain(1)
    extra = s.add(mse.RigidBody("extra", mass=1.0, inertia=0.01))
    s.clamp(s.frame("plate0.center"), extra.frame(0), Pose.dxdydz(0.02, 0.0, -0.05))
    return s


def _hang(s: mse.MSystem) -> None:
    """One more body under the first one."""
    body = s.add(mse.RigidBody("more", mass=1.0, inertia=0.01))
    wire = s.add(mse.Wire("more_wire", length=0.2, young_modulus=2e11, poisson_ratio=0.3, radius=2e-4))
    hook = s["plate0"].add_frame("hook", Pose.dz(-0.03))
    s.clamp(hook, wire.frame(1))
    s.clamp(body.frame(0), wire.frame(0), Pose.dz(0.02))


def _set(path: str, **values):
    def change(s: mse.MSystem) -> None:
        for key, value in values.items():
            setattr(s[path] if path else s, key, value)

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    "make, change",
    [
        (lambda: four_wire_chain(3), lambda s: None),
        (lambda: four_wire_chain(3), _set("wire1_0", length=0.503, damping=0.1)),
        (lambda: four_wire_chain(3), _set("", gravity=(0.3, 0.0, -9.0))),
        (lambda: four_wire_chain(3), _set("plate1", mass=30.0, inertia=(0.2, 0.3, 0.4))),
        (lambda: four_wire_chain(2, driven=True), _set("wire0_1", young_modulus=1.8e11)),
        (lambda: four_wire_chain(2), _hang),
        (lambda: four_wire_chain(2), lambda s: s["plate0"].add_frame("unused", Pose.dz(0.1))),
        (nested, lambda s: setattr(s["inner.wire"], "length", 0.45)),
        (nested, lambda s: s["inner"].clamp("mass.center", s["inner"].add(mse.RigidBody("ballast", mass=1.0)).frame(0))),
        (two_bodies_clamped, _set("extra", mass=20.0)),
        (four_bar, _set("a", stiffness=9.0, rest=0.7)),
        (four_bar, _set("b", motor="position", position=-0.3)),
        (with_blade, _set("blade", height=0.0025)),
        (with_blade, _set("tip", mass=0.3)),
    ],
)  # fmt: skip
def test_a_system_changed_and_solved_again_forgets_what_it_was(make, change):
    system = make()
    first = system.find_working_point()
    energy, frequencies = first.energy, first.linearize().modes().frequencies_hz
    change(system)
    again, fresh = system.find_working_point(), system.copy(system.name).find_working_point()
    assert again.energy == pytest.approx(fresh.energy, rel=1e-12)
    one, other = again.linearize(), fresh.linearize()
    assert (one.coordinates, one.inputs, one.outputs) == (other.coordinates, other.inputs, other.outputs)
    np.testing.assert_allclose(one.modes().frequencies_hz, other.modes().frequencies_hz, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(one.Lambda.toarray(), other.Lambda.toarray(), rtol=1e-9, atol=1e-12)
    for name, pose in fresh.poses.items():
        assert again.poses[name].is_close(pose, 1e-9, 1e-9), name
    # the first result stays what it was
    assert first.linearize().modes().frequencies_hz == pytest.approx(frequencies, rel=1e-12) and first.energy == energy


def test_a_moved_start_counts_when_a_system_is_solved_again():
    """Two springs of zero stiffness across: where the body rests along the free motion is where it started."""
    s = mse.MSystem("rail", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose((0.0, 0.0, 0.5))))
    slide = s.add(mse.Bushing("slide", stiffness=(1e4, 1e4, 0.0, 1e3, 1e3, 1e3)))
    s.clamp(s.ground, slide.frame(1))
    s.clamp(body.frame(0), slide.frame(0))
    assert s.find_working_point().poses["body.center"].o[2] == pytest.approx(0.5)
    body.at = Pose((0.0, 0.0, -0.25))
    assert s.find_working_point().poses["body.center"].o[2] == pytest.approx(-0.25)


def test_a_system_solved_again_is_not_flattened_again(monkeypatch):
    system = four_wire_chain(4)
    first = system.find_working_point()
    made = made_of(monkeypatch, Topology)
    for length in (0.501, 0.502):
        system["wire2_0"].length = length
        system.find_working_point().linearize().modes()
    assert not made and system.find_working_point().system["wire2_0"].length == 0.502
    assert first.system["wire2_0"].length == 0.5


def test_searches_of_one_system_do_not_disturb_each_other():
    """A search that is softened and left half done shares nothing that counts with the results before and after it."""
    system = with_blade()
    first = system.find_working_point()
    forces = {name: value.copy() for name, value in first.forces.items()}
    unfinished = system.relaxation()
    unfinished.step()
    again = system.find_working_point()
    for _ in unfinished:
        pass
    del first.__dict__["forces"]
    for wp in (first, again, unfinished.result()):
        for name, value in forces.items():
            np.testing.assert_allclose(wp.forces[name], value, rtol=1e-9, atol=1e-9)


def test_pickles_and_deep_copies_of_a_solved_system_begin_anew():
    system = four_wire_chain(2)
    fresh = len(pickle.dumps(system))
    wp = system.find_working_point()
    assert len(pickle.dumps(system)) == fresh
    system["wire0_0"].length = 0.51
    for other in (copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
        assert other.find_working_point().energy == pytest.approx(system.find_working_point().energy, rel=1e-12)
    again = pickle.loads(pickle.dumps(wp))
    assert again.update({"wire1_0.length": 0.505}).energy == pytest.approx(
        wp.update({"wire1_0.length": 0.505}).energy, rel=1e-12
    )
    assert again.system["wire0_0"].length == wp.system["wire0_0"].length == 0.5


def test_a_beam_is_taken_apart_once_unless_it_has_functions(monkeypatch):
    made = made_of(monkeypatch, Topology)
    system = with_blade()
    tips = [system.find_working_point(load_factor=load).poses["tip.center"].o[2] for load in (0.5, 1.0)]
    assert len(made) == 1 and tips[1] < tips[0]
    factor = [1.0]
    system["blade"].height = lambda s: 0.002 * factor[0]
    before = system.find_working_point().poses["tip.center"].o[2]
    factor[0] = 0.8
    after = system.find_working_point().poses["tip.center"].o[2]
    assert after < 1.5 * before < 0.0 and len(made) == 3


class Switched(mse.MObject):
    """A spring to wherever its mode says, with attributes of its own and channels that may come later."""

    strength = Real("stiffness", default=10.0)

    def __init__(self, name, **parameters):
        super().__init__(name, **parameters)
        self.soft = True

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * self.strength * (1.0 if getattr(self, "soft", False) else 3.0) * (d @ d)


def switched() -> mse.MSystem:
    s = four_wire_chain(2)
    own = s.add(Switched("own"))
    s.clamp(s.ground, own.frame(1), Pose.dx(0.3))
    s.clamp(s.frame("plate1.center"), own.frame(0))
    return s


def _rename(s: mse.MSystem) -> None:
    del s["own"].soft
    s["own"].hard = True


def _speak(s: mse.MSystem) -> None:
    s["own"].outputs = (Channel("pull", "N"),)
    s["own"].output_map = lambda frames: np.eye(1, 12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [_rename, _speak, lambda s: setattr(s, "note", "solved"), _set("own", strength=30.0)]
)
def test_attributes_of_ones_own_count_too(change):
    system = switched()
    system.find_working_point().linearize()
    change(system)
    again, fresh = system.find_working_point(), system.copy(system.name).find_working_point()
    assert again.energy == pytest.approx(fresh.energy, rel=1e-12)
    assert again.linearize().outputs == fresh.linearize().outputs


def test_a_body_that_gets_weight_falls_if_nothing_holds_it():
    s = four_wire_chain(1)
    ghost, eye = s.add(mse.RigidBody("ghost", mass=0.0)), s.add(mse.PositionSensor("eye"))
    s.clamp(ghost.frame(0), eye.frame(0))
    s.clamp(s.ground, eye.frame(1))
    wp = s.find_working_point()
    with pytest.raises(mse.ModelError, match="the system falls.*ghost"):
        wp.update({"ghost.mass": 1.0})
    ghost.mass = 1.0
    with pytest.raises(mse.ModelError, match="the system falls.*ghost"):
        s.find_working_point()


def test_an_update_that_makes_another_body_the_heaviest_tells_it_by_its_name():
    wp = two_bodies_clamped().find_working_point()
    assert wp.coordinate_names[0] == "plate0.x"
    heavier = wp.update({"extra.mass": 20.0})
    fresh = two_bodies_clamped()
    fresh["extra"].mass = 20.0
    right = fresh.find_working_point()
    assert heavier.coordinate_names == right.coordinate_names and heavier.coordinate_names[0] == "extra.x"
    np.testing.assert_allclose(heavier.linearize().M.toarray(), right.linearize().M.toarray(), rtol=1e-9, atol=1e-12)


def test_an_update_may_divide_a_beam_otherwise():
    wp = with_blade().find_working_point()
    finer = wp.update({"blade.elements": 9})
    assert finer.poses["tip.center"].is_close(wp.poses["tip.center"], 1e-6, 1e-5) and len(finer.poses) > len(wp.poses)


def test_a_start_from_before_another_body_became_the_reference_is_where_it_was():
    """Two bodies in one place, turned against each other: which of them is heavier changes nothing but names."""
    s = mse.MSystem("two", gravity=(0, 0, -9.8))
    bodies = [s.add(mse.RigidBody(name, mass=m, inertia=0.1)) for name, m in (("a", 1.0), ("b", 1.1))]
    s.clamp(bodies[0].frame(0), bodies[1].frame(0), Pose.rotation((0.3, -0.7, 1.1)))
    for k, at in enumerate(((0.3, 0.1, 1.0), (-0.2, 0.3, 1.0), (0.0, -0.3, 1.0))):
        wire = s.add(mse.Wire(f"wire{k}", length=0.9, young_modulus=2e11, poisson_ratio=0.3, radius=1e-4))
        s.clamp(s.ground, wire.frame(0), Pose(at))
        s.clamp(bodies[0].frame(0), wire.frame(1), Pose(0.2 * np.array(at) - np.array((0, 0, 0.2))))
    before = s.find_working_point()
    bodies[0].mass, bodies[1].mass = 1.1, 1.0
    after = s.find_working_point(start=before)
    assert [Topology(wp.system).unit_names[1] for wp in (before, after)] == ["b", "a"]
    assert after.history[0].residual < 1e-9
    for name in ("a.center", "b.center"):
        np.testing.assert_allclose(after.poses[name].U, before.poses[name].U, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{"blade.theory": "euler-bernoulli"}, {"blade.form": "exact"}, {"blade.elements": 12}]
)
def test_what_has_other_coordinates_inside_starts_anew(change):
    s = mse.MSystem("blade", gravity=(0, 0, -9.81))
    blade = s.add(mse.Beam("blade", length=0.25, width=0.02, height=0.002, elements=8))
    tip = s.add(mse.RigidBody("tip", mass=0.1, inertia=1e-3))
    s.clamp(s.ground, blade.frame(0))
    s.clamp(blade.frame(1), tip.frame(0))
    found = s.find_working_point().update(change)
    for name, value in change.items():
        setattr(blade, name.partition(".")[2], value)
    expected = s.copy("again").find_working_point()
    np.testing.assert_allclose(found.poses["tip.center"].o, expected.poses["tip.center"].o, rtol=0, atol=1e-12)


class Magnet(mse.MObject):
    """An own object whose parameters have the names that those of joints have."""

    position = Real("where it pulls to", unit="m", default=0.0)
    motor = Real("a number", unit="1", default=1.0)
    stiffness = Real("of its field", unit="N/m", default=50.0)
    frame_names = ("0",)

    def energy(self, frames, q):
        return 0.5 * self.stiffness * (frames[0].o[0] - self.position) ** 2


def test_an_own_object_may_call_a_parameter_as_joints_do():
    s = mse.MSystem("lens")
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    seat = s.add(mse.Bushing("seat", stiffness=(50.0, 1e3, 1e3, 10.0, 10.0, 10.0)))
    magnet = s.add(Magnet("magnet"))
    s.clamp(s.ground, seat.frame(1))
    s.clamp(seat.frame(0), body.frame(0))
    s.clamp(body.frame(0), magnet.frame(0))
    wp = s.find_working_point().update({"magnet.position": 8.0})
    assert wp.poses["body.center"].o[0] == pytest.approx(4.0, rel=1e-12)


def test_a_motor_turned_far_is_taken_there_step_by_step_whatever_else_changes():
    s = four_bar()
    s["a"].motor, s["a"].stiffness = "position", 0.0
    wp = s.find_working_point().update({"a.position": 4.0, "coupler.mass": 2.0})
    assert wp.joint_coordinates["a.angle"] == pytest.approx(4.0, abs=1e-12)
    assert wp.joint_coordinates["b.angle"] == pytest.approx(4.0, abs=1e-9)  # a parallelogram


def test_constraints_are_evaluated_once_for_every_state(monkeypatch):
    """A step restores them, and forces are taken along them where they hold."""
    evaluated, evaluate = [], Assembly.constraint_entries

    def counted(self, at):
        evaluated.append((self, at.reference))
        return evaluate(self, at)

    wp = four_bar().find_working_point()
    monkeypatch.setattr(Assembly, "constraint_entries", counted)
    for mass in 2.0 + 0.1 * np.arange(6):
        wp = wp.update({"coupler.mass": mass})
    states = {(id(assembly), id(o)) for assembly, o in evaluated}
    # measured: 1.3 times; with none kept, 3.7 times
    assert len(evaluated) < 2 * len(states)


def test_parameters_are_copied_from_objects_alone():
    class Looks:
        def __init__(self):
            self.parameters = {"stiffness": 3.0}

    with pytest.raises(mse.ModelError, match=r"copy_from\(\) got Looks; expected an object"):
        mse.Spring("k").parameters.copy_from(Looks())


def test_a_result_tells_where_its_search_began(tmp_path):
    s = mse.MSystem("stage")
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-0.5)))
    s.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(s.ground, mass))
    first = s.find_working_point(load_factor=0.5)
    onward, again = s.find_working_point(start=first), first.update({"spring.stiffness": 900.0})
    assert first.start == "its initial poses" and f"1 step from {first.start}," in repr(first)
    assert onward.start == "a working point under 0.5 times its loads" and again.start == "an earlier working point"
    onward.save(tmp_path / "point.json")
    assert mse.read_model(tmp_path / "point.json").start == onward.start


@pytest.mark.slow
@pytest.mark.parametrize("dense", [0, 300])
def test_threads_may_update_one_working_point_at_the_same_time(monkeypatch, dense):
    """Variants share patterns and orderings; two systems, with matrices that are factored densely and sparsely."""
    monkeypatch.setattr(SIZES, "dense", dense)
    cases = [
        (four_wire_chain(3).find_working_point(), "wire1_0.length", 0.5),
        (four_bar().find_working_point(), "a.stiffness", 2.0),
    ]

    def solved(number: int) -> bytes:
        point, name, value = cases[number % 2]
        found = point.update({name: value * (1.0 + 0.002 * number)})
        linear = found.linearize()
        return b"".join(x.tobytes() for x in (found.state.o, linear.K.data, linear.modes().frequencies_hz))

    numbers = range(8)
    alone = [solved(k) for k in numbers]
    with ThreadPoolExecutor(len(numbers)) as pool:
        for _ in range(3):
            assert list(pool.map(solved, numbers)) == alone


def test_updates_of_long_chains_take_no_more_evaluations(monkeypatch):
    """Corrections end where rounding of positions is left, and what rounding may do is known without a look at each element."""
    evaluated, found, count = {"total": 0, "force_terms": 0}, {}, 6

    def count_calls(name: str) -> None:
        method = getattr(Assembly, name)

        def counted(*given, **terms):
            evaluated[name] += 1
            return method(*given, **terms)

        monkeypatch.setattr(Assembly, name, counted)

    count_calls("total")
    count_calls("force_terms")
    for stages in (15, 60, 120):
        wp = four_wire_chain(stages).find_working_point()
        length = wp.system["wire0_0"].length
        evaluated |= dict.fromkeys(evaluated, 0)
        for k in range(1, count + 1):
            assert wp.update({"wire0_0.length": length * (1 + 1e-4 * np.sin(k))}).converged
        found[stages] = evaluated["total"] / count
        assert evaluated["force_terms"] == 0
    # where matrices are dense, the stiffness comes with the forces
    assert found[15] <= 5.2 and found[60] <= 6.2 and found[120] <= found[60] + 0.5


@pytest.mark.parametrize("stiffness", [1e4, 1e6, 1e8])
def test_the_nearest_equilibrium_is_followed_to_where_newtons_method_does_not_lead(stiffness):
    """A mass between two springs in a row, of which one gets a hundredth longer: it hangs farther down."""
    s = mse.MSystem("s", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.01, at=Pose((0.5, 0, -0.02))))
    length = np.hypot(0.5, 0.02)
    for k in range(2):
        spring = s.add(mse.Spring(f"spring{k}", length=length, stiffness=stiffness))
        s.clamp(s.ground, spring.frame(0), Pose.dx(k))
        s.clamp(mass.frame(0), spring.frame(1))
    nearest = s.find_working_point(seek="nearest", start=s.find_working_point())
    for change in (0.01, 0.1):
        rests = np.array([(1.0 + change) * length, length])
        found = nearest.update({"spring0.length": rests[0]})
        arms = found.poses["mass.center"].o[[0, 2]] - [[0.0, 0.0], [1.0, 0.0]]
        lengths = np.linalg.norm(arms, axis=1)
        force = -stiffness * ((lengths - rests) / lengths) @ arms + [0.0, -9.81]
        np.testing.assert_allclose(force, 0.0, atol=1e-8 * stiffness**0.5)
        assert found.stable and not found.branch_left and found.poses["mass.center"].o[2] < -0.02
