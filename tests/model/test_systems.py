"""Systems inside systems, names, and files."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import mse
from models import four_wire_chain, hanging_stages
from mse import MseError, MSystem, Pose, RigidBody
from mse.model.initial_poses import initial_poses


def stage(name: str, length: float = 0.5, mass: float = 3.0) -> mse.MSystem:
    """A body on two wires below its ground, with a frame at its bottom for the next one."""
    s = mse.MSystem(name)
    body = s.add(
        mse.RigidBody(
            "mass", mass=mass, inertia=(0.02, 0.03, 0.04), at=Pose.dz(-length), frames={"bottom": Pose.dz(-0.01)}
        )
    )
    for side, y in (("left", 0.1), ("right", -0.1)):
        wire = s.add(mse.Wire(side, length=length, young_modulus=2e11, poisson_ratio=0.3, radius=2e-4))
        s.clamp(s.ground, wire.frame(1), Pose.dy(y))
        s.clamp(body.frame(0), wire.frame(0), Pose.dy(1.1 * y))
    return s


def nested() -> mse.MSystem:
    """Three stages from one definition, two of them inside one more system."""
    outer = mse.MSystem("outer", gravity=(0, 0, -9.81))
    upper = outer.add(stage("upper"))
    pair = outer.add(mse.MSystem("pair"))
    first = pair.add(upper.copy("first"))
    second = pair.add(first.copy("second"))
    second["mass"].mass = 1.5
    pair.clamp(pair.ground, first.ground)
    pair.clamp(pair.frame("first.mass.bottom"), second.ground)
    outer.clamp(outer.ground, upper.ground)
    outer.clamp("upper.mass.bottom", pair.ground)
    return outer


def flat() -> mse.MSystem:
    """The same three stages without any nesting."""
    s = mse.MSystem("flat", gravity=(0, 0, -9.81))
    above, place = s.ground, Pose()
    for k, mass in enumerate((3.0, 3.0, 1.5)):
        body = s.add(mse.RigidBody(f"mass{k}", mass=mass, inertia=(0.02, 0.03, 0.04), at=Pose.dz(-0.51 * (k + 1))))
        for side, y in (("left", 0.1), ("right", -0.1)):
            wire = s.add(mse.Wire(f"{side}{k}", length=0.5, young_modulus=2e11, poisson_ratio=0.3, radius=2e-4))
            s.clamp(above, wire.frame(1), place @ Pose.dy(y))
            s.clamp(body.frame(0), wire.frame(0), Pose.dy(1.1 * y))
        above, place = body.frame(0), Pose.dz(-0.01)
    return s


def test_nested_systems_are_the_flat_one():
    a, b = nested().find_working_point(), flat().find_working_point()
    names = ("upper.mass", "pair.first.mass", "pair.second.mass")
    for k, name in enumerate(names):
        np.testing.assert_allclose(a.poses[f"{name}.center"].o, b.poses[f"mass{k}.center"].o, atol=1e-12)
    la, lb = a.linearize(), b.linearize()
    assert la.coordinates == tuple(f"{n}.{c}" for n in names for c in ("x", "y", "z", "ax", "ay", "az"))
    np.testing.assert_allclose(la.K.toarray(), lb.K.toarray(), rtol=0, atol=1e-12 * np.abs(lb.K).max())
    np.testing.assert_allclose(la.modes().frequencies_hz, lb.modes().frequencies_hz, rtol=1e-10, atol=1e-11)


def test_objects_and_frames_are_found_by_name():
    outer = nested()
    assert outer["pair.second.mass"].mass == 1.5 and outer["pair.first.mass"].mass == 3.0
    assert outer["pair.second.mass"].path == "pair.second.mass"
    assert outer.frame("pair.second.left.1").label == "pair.second.left.1"
    assert [o.path for o in outer.walk()][:3] == ["upper", "upper.mass", "upper.left"]
    with pytest.raises(mse.UnknownNameError, match="did you mean 'second'"):
        outer["pair.secnd.mass"]
    with pytest.raises(mse.UnknownNameError, match="'mass' is a RigidBody, not a system"):
        outer["upper.mass.left"]


def test_copies_are_independent():
    a = stage("a")
    b = a.copy("b")
    b["mass"].mass = 9.0
    b["left"].length = 0.7
    b["mass"].add_frame("extra", Pose.dx(0.1))
    assert a["mass"].mass == 3.0 and a["left"].length == 0.5 and "extra" not in a["mass"].fixed_frames()
    assert len(b.clamps) == len(a.clamps) and all(c.first.owner.system is b or c.first.owner is b for c in b.clamps)


def test_a_working_point_does_not_follow_later_changes():
    s = flat()
    wp = s.find_working_point()
    before = wp.linearize().K.toarray()
    s["mass0"].mass = 30.0
    s["left0"].length = 0.9
    np.testing.assert_array_equal(wp.linearize().K.toarray(), before)
    assert wp.system["mass0"].mass == 3.0


def test_subsystem_left_hanging_in_the_air_is_refused():
    outer = mse.MSystem("outer")
    outer.add(stage("lost"))
    with pytest.raises(mse.ModelError, match=r"lost\.mass would fall|ties lost\.mass"):
        outer.find_working_point()


def test_initial_pose_of_a_subsystem_places_what_it_holds():
    """A floating platform: its ground is held by bushings, its own bodies are placed relative to it."""
    outer = mse.MSystem("outer", gravity=(0, 0, -9.81))
    platform = outer.add(mse.MSystem("platform", at=Pose.dxdydz(1.0, 2.0, 0.5)))
    table = platform.add(mse.RigidBody("table", mass=5.0, inertia=0.1, at=Pose.dz(0.2)))
    leg = platform.add(mse.Bushing("leg", stiffness=1e4))
    platform.clamp(platform.ground, leg.frame(1), Pose.dz(0.2))
    platform.clamp(leg.frame(0), table.frame(0))
    foot = outer.add(mse.Bushing("foot", stiffness=1e4))
    outer.clamp(outer.ground, foot.frame(1), Pose.dxdydz(1.0, 2.0, 0.5))
    outer.clamp(foot.frame(0), platform.ground)
    relaxation = outer.relaxation()
    start = relaxation.topology.frame_poses(*initial_poses(relaxation.topology))[0]
    labels = relaxation.topology.frame_labels
    np.testing.assert_allclose(start[labels.index("platform.table.center")], [1.0, 2.0, 0.7], atol=1e-12)
    wp = relaxation.run()
    np.testing.assert_allclose(wp.poses["platform.table.center"].o, [1.0, 2.0, 0.7 - 2 * 5 * 9.81 / 1e4], atol=1e-9)


def test_wrong_initial_pose_of_a_clamped_body_is_noted(caplog):
    s = flat()
    rider = s.add(mse.RigidBody("rider", mass=0.1, inertia=0.001, at=Pose.dx(4.0)))
    s.clamp(s["mass0"].frame(0), rider.frame(0), Pose.dz(0.05))
    s.find_working_point()
    assert "RigidBody 'rider': its initial pose differs" in caplog.text


# -- files --------------------------------------------------------------------------------------------------------
def test_a_system_survives_the_file_without_loss(tmp_path):
    a = nested()
    a["upper.mass"].parameters["inertia"] = np.diag([0.1, 0.2, 0.15]) + 0.01
    a["pair"].gravity = (0.1 + 0.2, 0.0, -9.81)  # a number whose decimal form is long
    a.save(tmp_path / "a.json")
    b = mse.read_model(tmp_path / "a.json")
    b.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    for x, y in zip(a.walk(), b.walk(), strict=True):
        assert (x.path, type(x)) == (y.path, type(y))
        for name, value in x.parameters.items():
            np.testing.assert_array_equal(value, y.parameters[name])
    assert b.find_working_point().energy == a.find_working_point().energy


def test_a_working_point_survives_the_file_without_loss(tmp_path):
    a = hanging_stages(11).find_working_point()
    a.save(tmp_path / "a.json")
    b = mse.read_model(tmp_path / "a.json")
    for name, pose in a.poses.items():
        np.testing.assert_array_equal(pose.o, b.poses[name].o)
        np.testing.assert_array_equal(pose.U, b.poses[name].U)
    np.testing.assert_array_equal(a.stiffness.toarray(), b.stiffness.toarray())
    assert b.converged and b.stable and b.tensions == a.tensions and b.history == a.history
    np.testing.assert_array_equal(a.linearize().modes().frequencies_hz, b.linearize().modes().frequencies_hz)
    data = json.loads((tmp_path / "a.json").read_text())
    assert data["working_point"]["tensions"] == dict(a.tensions)


def test_user_elements_come_back_by_class_name(tmp_path):
    class Tether(mse.MObject):
        def energy(self, frames, q):
            d = frames[1].o - frames[0].o
            return 5.0 * (d @ d)

    s = mse.MSystem("s")
    body = s.add(mse.RigidBody("body", mass=1.0))
    tether = s.add(Tether("tether"))
    s.clamp(s.ground, tether.frame(1))
    s.clamp(body.frame(0), tether.frame(0))
    s.save(tmp_path / "s.json")
    back = mse.read_model(tmp_path / "s.json")
    assert type(back["tether"]) is Tether
    text = (tmp_path / "s.json").read_text().replace("Tether", "Tethr")
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(
        mse.ModelError, match="objects.1.: .*Tethr', which is not defined here .did you mean '.*Tether'"
    ):
        mse.read_model(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "not a JSON text"),
        ("[1, 2]", "the whole is a list of 2; expected a mapping with format, system"),
        ('{"format": "mse 0", "model": 3}', "format is 'mse 0'; expected one of 'mse 1'"),
        ('{"format": "mse 1"}', "the whole is without 'system'"),
        (
            '{"format": "mse 1", "system": {"type": "mse.MSystem", "name": "s", "at": null, "parameters": {"gravty": 1}, '
            '"objects": [], "clamps": []}}',
            "system: MSystem 's': no parameter 'gravty' .did you mean 'gravity'",
        ),
    ],
)
def test_damaged_files_are_refused(tmp_path, text, message):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(mse.ModelError, match=message):
        mse.read_model(tmp_path / "x.json")


def test_every_result_shows_itself_as_a_table():
    s = four_wire_chain(2, driven=True)
    wp = s.find_working_point()
    linear = wp.linearize()
    shown = {
        repr(s): "plate1",
        repr(wp): "stable",
        repr(linear): "plate0.ay",
        repr(linear.modes()): "participation",
        repr(linear.modes(damped=True)): "damped",
        repr(linear.frequency_response([0.1, 1.0])): "m/m",
        repr(linear.state_space()): "24 states",
        repr(linear.simulate(duration=0.1, dt=0.01, inputs={"base.x": np.sin})): "samples from 0 to 0.1 s",
        repr(s["plate0"]): "kg m2",
    }
    for text, expected in shown.items():
        assert expected in text
        assert len(text.splitlines()) < 80
    assert "<table" in wp._repr_html_() and "&" not in s._repr_html_()


def test_models_and_results_can_be_sent_to_other_processes():
    system = four_wire_chain(2, driven=True)
    wp = system.find_working_point()
    linear = wp.linearize()
    history = linear.simulate(duration=0.1, dt=0.01, inputs={"base.x": np.sin})
    for thing in (system, wp, linear, linear.modes(), linear.frequency_response([1.0]), linear.state_space(), history):
        assert repr(pickle.loads(pickle.dumps(thing))) == repr(thing)
    assert pickle.loads(pickle.dumps(system)).find_working_point().energy == wp.energy


def test_objects_are_clamped_between_frames_as_they_are_added():
    def pendulum(between: bool) -> MSystem:
        system = MSystem("pendulum")
        mass = RigidBody("mass", mass=1.0, inertia=0.1, frames={"hook": Pose.dz(0.1)}, at=Pose.dz(-1.0))
        spring, probe = mse.Spring("spring", length=1.0, stiffness=1e3), mse.PositionSensor("probe")
        system.add(mass)
        if between:
            system.add(spring, between=(system.ground, "mass.hook"))
            system.add(probe, between=[mass, system])  # objects with one frame stand for that
        else:
            system.add(spring), system.add(probe)
            system.clamp(system.ground, spring.frame(0))
            system.clamp("mass.hook", spring.frame(1))
            system.clamp(mass.frame(0), "probe.0")
            system.clamp(system.ground, probe.frame(1))
        return system

    short, long = pendulum(True), pendulum(False)
    assert [(c.first.label, c.second.label) for c in short.clamps] == [
        (c.first.label, c.second.label) for c in long.clamps
    ]
    assert np.array_equal(
        short.find_working_point().linearize().K.toarray(), long.find_working_point().linearize().K.toarray()
    )


def test_places_seen_from_frames_are_clamped_as_frames_with_a_pose():
    up, foot, head = Pose.ry(-np.pi / 2), Pose.dxdydz(0.1, 0.02, 0.0), Pose.rz(0.3) @ Pose.dx(0.1)

    def leg() -> tuple[MSystem, RigidBody, mse.Beam]:
        system = MSystem("leg", gravity=(0, 0, -9.81))
        table = system.add(RigidBody("table", mass=1.0, inertia=1e-3))
        return system, table, mse.Beam("leg", length=0.1, width=0.02, height=0.002, stations={"middle": 0.04})

    by_frames, table, beam = leg()
    by_frames.add(beam)
    by_frames.clamp(by_frames.ground, beam.frame(0), foot @ up)
    by_frames.clamp(beam.frame(1), table, (head @ up).inverse())
    by_places, table, beam = leg()
    by_places.add(beam, between=(by_places.ground @ foot @ up, table @ head @ up))
    both_ways, table, beam = leg()
    both_ways.add(beam)
    both_ways.clamp(both_ways.ground @ foot, beam.frame(0), up)
    both_ways.clamp(beam.frame(1) @ up.inverse() @ Pose.dz(0.1), table.frame("center") @ head @ Pose.dz(0.1))
    expected = by_frames.find_working_point()
    for system in (by_places, both_ways):
        found = system.find_working_point()
        for name, pose in expected.poses.items():
            assert found.poses[name].is_close(pose, 1e-12, 1e-12)
    seen = by_places.clamps[0]
    assert seen.first.label == "leg.ground" and seen.pose21.is_close(foot @ up)
    assert repr(by_places.ground @ Pose.dx(0.5)) == "Frame('leg.ground') @ Pose(o=(0.5, 0, 0))"


def test_a_place_is_seen_from_one_frame_by_a_pose():
    system = MSystem("pendulum")
    spring = system.add(mse.Spring("spring"))
    with pytest.raises(MseError, match=r"it has 2 frames; .* write spring.frame\(0\) @ pose"):
        spring @ Pose.dx(0.1)
    with pytest.raises(TypeError):
        system.ground @ 0.1
    with pytest.raises(MseError, match="belongs to an object that is not in the system"):
        system.clamp(system.ground, RigidBody("other", mass=1.0) @ Pose.dx(0.1))


@pytest.mark.parametrize(
    ("between", "why"),
    [
        (("mass.center",), "between has 1 frames; expected one for each of its 2 (0, 1)"),
        ("mass.center", "expected frames, one for each of its 2 (0, 1); write a tuple"),
        (None, "between is None; expected frames"),
        (("mass.center", "mass.centre"), "no frame 'centre'"),
        (("mass.center", 3.0), "clamp() got 3.0; expected a frame"),
    ],
)
def test_what_an_object_cannot_be_added_between_adds_nothing(between, why):
    system = MSystem("pendulum")
    system.add(RigidBody("mass", mass=1.0))
    spring = mse.Spring("spring")
    with pytest.raises(MseError) as error:
        system.add(spring, between=between)
    assert why in str(error.value)
    assert "spring" not in system and not system.clamps and spring.system is None
    assert system.add(spring, between=("mass.center", system.ground)) is spring


def test_initial_poses_that_users_give_are_those_of_the_moment():
    """Where they do not change, they are not found again; users of the first cannot change them either."""
    system = four_wire_chain(2)
    plate = system["plate1"]

    def begun() -> np.ndarray:
        return system.relaxation().state.o

    first = begun()
    before = first.copy()
    first[:] = 7.0
    system["wire0_0"].length = 0.4999
    np.testing.assert_array_equal(begun(), before)
    plate.at = plate.at @ Pose.dx(0.01)
    np.testing.assert_allclose(begun() - before, [[0, 0, 0], [0, 0, 0], [0.01, 0, 0]], rtol=0, atol=1e-15)
    system["wire0_0"].length = 0.5
    np.testing.assert_allclose(begun() - before, [[0, 0, 0], [0, 0, 0], [0.01, 0, 0]], rtol=0, atol=1e-15)


def test_a_spring_hangs_no_end_of_a_beam_that_has_a_place():
    """A spring of 0.4 m would lift the tip by 0.1 m: as an initial pose, that would stretch the beam by a tenth."""
    system = MSystem("shelf", gravity=(0, 0, -9.81))
    post = system.add(RigidBody("post", mass=1.0, inertia=0.1, at=Pose()))
    system.add(mse.Bushing("foot", stiffness=(1e3,) * 6), between=(post, system.ground))
    beam = system.add(mse.RoundBeam("beam", length=0.2, radius=2e-3))
    system.clamp(post, beam.frame(0))
    above = system.ground @ Pose.dxdydz(0.2, 0, 0.5)
    system.add(mse.Spring("tie", stiffness=300.0, length=0.4), between=(above, beam.frame(1)))
    topology = system.relaxation().topology
    places, _ = topology.frame_poses(*initial_poses(topology))
    assert any(np.allclose(o, [0.2, 0, 0], atol=1e-12) for o in places)
    assert not any(np.allclose(o, [0.2, 0, 0.1], atol=1e-3) for o in places)
