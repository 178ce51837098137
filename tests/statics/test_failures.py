"""Each kind of refusal names what stands in the way and a remedy, and the remedy leads to an equilibrium."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mse
from mse import Pose
from mse.numerics.law_functions import rotation_vector
from mse.statics import relaxation


def refused(search, words: str) -> str:
    with pytest.raises(mse.MseError, match=words) as caught:
        search()
    return str(caught.value)


# -- nothing holds it ---------------------------------------------------------------------------------------------
def slide(stiffness: float) -> mse.MSystem:
    s = mse.MSystem("slide", gravity=(0, 0, -9.81))
    block = s.add(mse.RigidBody("block", mass=2.0, inertia=0.1))
    s.add(mse.Prismatic("guide", stiffness=stiffness), between=(block, s.ground))
    return s


@pytest.mark.slow
def test_what_moves_away_is_given_a_stiffness():
    refused(slide(0.0).find_working_point, r"block.* has moved .* no stiffness.*give it a stiffness \(in N/m\)")
    found = slide(1e3).find_working_point()
    assert found.joint_coordinates["guide.displacement"] == pytest.approx(-2.0 * 9.81 / 1e3, rel=1e-10)


def spinner(stiffness: float, torque: float) -> mse.MSystem:
    s = mse.MSystem("spinner", gravity=(0, 0, -9.81))
    wheel = s.add(mse.RigidBody("wheel", mass=2.0, inertia=0.1))
    s.add(mse.Revolute("axle", stiffness=stiffness), between=(wheel, s.ground))
    load = s.add(mse.Load("load", torque=(0, 0, torque)))
    s.clamp(wheel.frame(0), load.frame(0))
    return s


@pytest.mark.slow
def test_what_a_load_turns_freely_is_given_a_stiffness_or_no_load():
    told = refused(spinner(0.0, 3.0).find_working_point, "wheel.az has no stiffness, yet a load acts along it")
    assert "give it a stiffness or remove the load" in told
    found = spinner(2.0, 3.0).find_working_point()
    assert found.joint_coordinates["axle.angle"] == pytest.approx(1.5, rel=1e-10)
    assert spinner(0.0, 0.0).find_working_point().stable


# -- elements at the ends of their ranges -------------------------------------------------------------------------
def rotor(kind, preload: float, **parameters) -> mse.MSystem:
    s = mse.MSystem("vane", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("rotor", mass=1.0, inertia=0.1))
    s.add(kind("axle", preload=preload, **parameters), between=(body, s.ground))
    return s


@pytest.mark.parametrize("turn", [3.2, 6.2, 2 * np.pi, 6.4, 13.0])
@pytest.mark.parametrize("tilt", [0.0, 3.0])
def test_a_bushing_is_gone_round_at_half_turns_and_whole_ones(turn, tilt):
    stiffness = (1e3, 1e3, 1e3, 10, 10, 1.0)
    found = rotor(mse.Bushing, (0, 0, 0, 0, tilt, turn), stiffness=stiffness).find_working_point()
    assert found.stable and found.twists["axle"] == pytest.approx(np.hypot(turn, 0.1 * tilt), rel=1e-8)


def test_a_bushing_near_a_whole_turn_tells_its_range_and_what_has_none():
    bushing = mse.Bushing("axle", stiffness=1.0)
    for turn, near in ((3.2, False), (5.0, False), (6.2, True), (6.4, True), (9.0, False), (12.5, True)):
        told = bushing.end_of_range([], np.array([0.0, turn, 0.0]))
        assert bool(told) == near
        assert not near or "at whole turns (6.283 rad) it has no smooth tilt; expected less than a whole turn" in told
    assert "join the frames by a Revolute or Cylindrical joint with a spring" in told
    found = rotor(mse.Revolute, 12.5, stiffness=1.0).find_working_point()
    assert found.stable and found.joint_coordinates["axle.angle"] == pytest.approx(12.5, rel=1e-10)


def test_a_ball_joint_at_half_a_turn_is_replaced_by_a_bushing():
    told = refused(
        rotor(mse.Spherical, {"az": 3.3}, stiffness=(10.0, 10.0, 1.0)).find_working_point,
        r"Spherical 'axle' is rotated by 3.\d* rad, and at half a turn \(3.142 rad\) its coordinates jump",
    )
    assert "use a Bushing" in told
    stiffness = (1e5, 1e5, 1e5, 10.0, 10.0, 1.0)
    found = rotor(mse.Bushing, (0, 0, 0, 0, 0, 3.3), stiffness=stiffness).find_working_point()
    assert found.stable and found.twists["axle"] == pytest.approx(3.3, rel=1e-8)


@pytest.mark.slow
def test_a_beam_section_wider_than_the_beam_is_corrected():
    def strip(width, form):
        s = mse.MSystem("strip", gravity=(0, 0, -9.81))
        beam = s.add(mse.Beam("it", length=0.5, width=width, height=1e-3, form=form))
        s.clamp(s.ground, beam.frame(0))
        return s

    told = refused(strip(4e3, "exact").find_working_point, r"radius of gyration of 1.15e\+03 m and its length is 0.5 m")
    assert "at most 100 times its length" in told and "correct its section or its length" in told
    assert strip(0.05, "exact").find_working_point().stable


def strip(elements: int) -> mse.MSystem:
    """A flat strip, bent by a torque at its end into an arc of 3.3 rad."""
    s = mse.MSystem("strip", gravity=(0, 0, 0))
    beam = s.add(mse.Beam("it", length=0.5, width=0.02, height=1e-3, elements=elements, theory="euler-bernoulli"))
    s.clamp(s.ground, beam.frame(0))
    bending = 2e11 * 0.02 * 1e-9 / 12
    s.add(mse.Load("load", torque=(0, 3.3 * bending / 0.5, 0)), between=(beam.frame(1),))
    return s


@pytest.mark.slow
def test_a_beam_bent_far_within_one_element_gets_more():
    told = refused(
        strip(1).find_working_point, r"it.e1.* is bent or twisted by .* rad between its ends; expected less than 3 rad"
    )
    assert "use more elements" in told
    end = strip(8).find_working_point().poses["it.1"]
    assert end.U[0, 0] == pytest.approx(np.cos(3.3), abs=1e-6)


# -- loads beyond a limit -----------------------------------------------------------------------------------------
def truss(load: float) -> mse.MSystem:
    """Two springs that lean against each other, which snap through under 0.19 of their stiffness times their rise."""
    s = mse.MSystem("truss", gravity=(0, 0, 0))
    top = s.add(mse.RigidBody("top", mass=1.0, inertia=0.1, at=Pose.dz(0.2)))
    guide = s.add(mse.Prismatic("guide"), between=(top, s.ground))
    assert guide
    for side in (-1, 1):
        foot = s.add(mse.Spring(f"leg{side + 1}", length=np.hypot(1.0, 0.2), stiffness=1e3))
        s.clamp(s.ground, foot.frame(0), Pose.dx(side))
        s.clamp(top.frame(0), foot.frame(1))
    s.add(mse.Load("load", force=(0, 0, -load)), between=(top,))
    return s


@pytest.mark.slow
def test_loads_beyond_a_limit_are_lowered_traced_or_snapped_through():
    s = truss(10.0)
    told = refused(lambda: s.find_working_point(seek="nearest"), "followed up to 0.\\d+ times its loads but no further")
    factor = float(told.split("followed up to ")[1].split()[0])
    below = s.find_working_point(seek="nearest", load_factor=0.99 * factor)
    assert below.stable and below.poses["top.center"].o[2] > 0.05
    beyond = s.find_working_point()
    assert beyond.stable and beyond.poses["top.center"].o[2] < -0.2
    start = s.find_working_point(load_factor=0.5 * factor)
    curve = s.trace("load_factor", 1.0, start=start)
    assert curve.complete and curve.origins("top.center")[-1, 2] == pytest.approx(
        beyond.poses["top.center"].o[2], rel=1e-9
    )


@pytest.mark.slow
def test_loads_without_energy_beyond_a_limit_are_made_smaller():
    """A rod of 1 kg and 1 m on a hinge: its weight holds a torque of 9.81/2 N m when it is level."""

    def rod(torque: float) -> mse.MSystem:
        s = mse.MSystem("rod", gravity=(0, 0, -9.81))
        body = s.add(mse.RigidBody("rod", mass=1.0, inertia=0.1, at=Pose.dz(-0.5)))
        hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0)))
        s.clamp(s.ground, hinge.frame(1))
        s.clamp(body.frame(0), hinge.frame(0), Pose.dz(0.5))
        s.add(mse.Load("load", torque=(0, torque, 0)), between=(body,))
        return s

    told = refused(rod(6.0).find_working_point, r"up to [\d.]+ times those of its loads that have no energy \(torques")
    assert "make these smaller" in told
    factor = float(told.split("followed up to ")[1].split()[0])
    assert factor == pytest.approx(9.81 / 2 / 6.0, rel=1e-3)
    found = rod(0.99 * factor * 6.0).find_working_point()
    assert found.converged and found.poses["rod.center"].o[2] > -0.1


@pytest.mark.slow
def test_changes_too_large_for_the_nearest_equilibrium_are_made_in_steps():
    s = truss(1.0)
    point = s.find_working_point(seek="nearest")
    told = refused(
        lambda: point.update({"load.force": (0, 0, -10.0)}), r"make smaller changes, use trace\(\), or accept"
    )
    share = float(told.split("followed over ")[1].split()[0])
    limit = 2 * 1e3 * (np.hypot(1.0, 0.2) ** (2 / 3) - 1.0) ** 1.5
    assert 0.0 < share < (limit - 1.0) / (10.0 - 1.0) and "where it reaches a limit or branch point" in told
    for force in (1.2, 1.5, 1.8):
        point = point.update({"load.force": (0, 0, -force)})
    assert point.stable


# -- steps --------------------------------------------------------------------------------------------------------
def pendulum(at: Pose) -> mse.MSystem:
    s = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=at))
    wire = s.add(mse.Wire("wire", length=1.0, young_modulus=2e11, poisson_ratio=0.3, radius=1e-4))
    s.clamp(s.ground, wire.frame(0))
    s.clamp(mass.frame(0), wire.frame(1))
    return s


def test_too_many_steps_start_nearer(monkeypatch):
    few = replace(relaxation.DESCENT, most_steps=9)
    monkeypatch.setattr(relaxation, "DESCENT", few)
    told = refused(pendulum(Pose.dxdydz(0.9, 0.1, 0.3)).find_working_point, "9 steps were not enough; mass has moved")
    assert "start from poses nearer to equilibrium (at=...)" in told
    assert "has no stiffness" not in told  # its wire is taut there, and holds it by 18 N/m across
    told = refused(slide(0.0).find_working_point, "9 steps were not enough; block has moved")
    assert "block.z has no stiffness, yet a load acts along it" in told and "where something is to hold it" in told
    assert pendulum(Pose.dxdydz(0.001, 0.0, -1.0)).find_working_point().stable


# -- what systems are made of -------------------------------------------------------------------------------------
def test_a_start_of_another_system_is_one_of_this():
    one, other = slide(1e3), spinner(2.0, 1.0)
    told = refused(lambda: one.find_working_point(start=other.find_working_point()), "expected one of this system")
    assert "other objects or clamps" in told
    start = one.find_working_point()
    one["guide"].stiffness = 2e3
    assert one.find_working_point(start=start).stable


def test_ends_that_coincide_are_placed_apart():
    def hanging(**where):
        s = mse.MSystem("hanging", gravity=(0, 0, -9.81))
        mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, **where))
        spring = s.add(mse.Spring("spring", length=0.5, stiffness=1e3))
        s.clamp(s.ground, spring.frame(0), Pose.dz(0.0))
        s.clamp(mass.frame(0), spring.frame(1))
        return s

    told = refused(hanging(at=Pose()).find_working_point, "Spring 'spring': its ends are 0 m apart")
    assert "give what hangs on it an initial pose" in told
    assert hanging(at=Pose.dz(-0.5)).find_working_point().stable


def test_weights_beyond_reckoning_are_corrected():
    s = slide(1e3)
    s["block"].mass = 1e60
    refused(s.find_working_point, "weights and loads on block.* expected at most .* correct its mass")
    s["block"].mass = 1.0
    assert s.find_working_point().stable


def test_a_stiffness_beyond_the_digits_of_positions_is_lowered():
    def post(stiffness):
        s = mse.MSystem("post", gravity=(0, 0, -9.81))
        s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
        s.add(mse.Spring("bar", length=1.0, stiffness=stiffness), between=(s.ground, s["mass"].frame(0)))
        return s

    refused(
        post(1e15).find_working_point, "rounding of the positions alone leaves .* lower its stiffness or replace it"
    )
    assert post(1e7).find_working_point().stable


def loop(length: float) -> mse.MSystem:
    s = mse.MSystem("loop", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dxdydz(0.5, 0.0, -0.5)))
    for k, x in enumerate((0.0, 1.0)):
        rod = s.add(mse.Rod(f"rod{k}", length=length))
        s.clamp(s.ground, rod.frame(0), Pose.dx(x))
        s.clamp(mass.frame(0), rod.frame(1))
    return s


@pytest.mark.slow
def test_joints_that_cannot_be_put_together_get_lengths_that_fit():
    told = refused(loop(0.4).find_working_point, "its joints cannot be put together: .*Rod 'rod0' misses by")
    assert "correct the poses they are clamped at, their lengths" in told
    assert loop(0.8).find_working_point().stable


def test_what_falls_is_clamped():
    s = mse.MSystem("loose", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
    sensor = s.add(mse.PositionSensor("probe"))
    s.clamp(mass.frame(0), sensor.frame(0))
    s.clamp(s.ground, sensor.frame(1))
    told = refused(s.find_working_point, "the system falls: no spring.* ties mass to the ground")
    assert "clamp it to what should carry it, or set gravity=(0, 0, 0)" in told
    s.add(mse.Bushing("seat", stiffness=1e3), between=(mass, s.ground))
    assert s.find_working_point().stable


def test_clamps_that_contradict_each_other_are_corrected():
    def bracket(second: Pose):
        s = mse.MSystem("bracket", gravity=(0, 0, -9.81))
        mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1))
        sensor = s.add(mse.Load("load", force=(1.0, 0, 0)))
        s.clamp(s.ground, mass.frame(0), Pose.dz(-1.0))
        s.clamp(mass.frame(0), sensor.frame(0))
        s.clamp(s.ground, sensor.frame(0), second)
        return s

    told = refused(bracket(Pose()).find_working_point, "clamps contradict each other around the loop")
    assert "remove one of the clamps or correct its pose" in told
    assert bracket(Pose.dz(-1.0)).find_working_point().converged


class Touching(mse.MObject):
    def constraint(self, frames, q):
        return [(frames[0].o[2] - frames[1].o[2]) ** 2]


class Held(mse.MObject):
    def constraint(self, frames, q):
        return [frames[0].o[2] - frames[1].o[2]]


def test_a_constraint_that_has_lost_its_slope_is_written_through_zero():
    def table(kind) -> mse.MSystem:
        s = mse.MSystem("table", gravity=(0, 0, -9.81))
        body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(0.6)))
        s.add(mse.Bushing("soft", stiffness=(10.0, 10.0, 0.0, 1.0, 1.0, 1.0)), between=(body, s.ground))
        s.add(kind("table"), between=(body, s.ground))
        return s

    told = refused(table(Touching).find_working_point, "Touching 'table': its constraint has no slope where it holds")
    assert "write a residual that passes through zero, such as x in place of x^2" in told
    assert table(Held).find_working_point().stable


@pytest.mark.parametrize("kind", [mse.PositionActuator, mse.ForceSensor])
def test_of_two_rigid_paths_one_is_removed(kind):
    def stage(*, clamped: bool) -> mse.MSystem:
        s = mse.MSystem("stage", gravity=(0, 0, -9.81))
        body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
        link = s.add(kind("between"))
        s.clamp(s.ground, link.frame(1))
        s.clamp(link.frame(0), body.frame(0))
        seat = s.add(mse.Bushing("seat", stiffness=1e3))
        s.clamp(s.ground, seat.frame(1))
        tip = s.add(mse.RigidBody("tip", mass=1.0, inertia=0.1))
        s.clamp(seat.frame(0), tip.frame(0))
        if clamped:
            s.clamp(s.ground, body.frame(0))
        return s

    told = refused(stage(clamped=True).find_working_point, "are also held together by another rigid path of clamps")
    assert "expected the only rigid path between them; remove the other one" in told
    assert stage(clamped=False).find_working_point().stable


# -- curves -------------------------------------------------------------------------------------------------------
def test_a_search_for_an_instability_is_given_a_load():
    told = refused(truss(0.0).find_instability, "no weight and no load acts on anything that can move")
    assert "expected gravity or a Load" in told
    assert truss(1.0).find_instability().found


def test_traces_go_to_another_value_of_a_number():
    s = truss(1.0)
    refused(lambda: s.trace("load_factor", 1.0), "is 1.0 already; expected another value")
    assert s.trace("load_factor", 1.5).complete


@pytest.mark.slow
def test_a_curve_that_ends_is_traced_up_to_there():
    """A spring on a guide, pressed until its ends meet, where it has no direction any more."""
    s = mse.MSystem("press", gravity=(0, 0, 0))
    plate = s.add(mse.RigidBody("plate", mass=1.0, inertia=0.1, at=Pose.dz(1.0)))
    s.add(mse.Prismatic("guide"), between=(plate, s.ground))
    spring = s.add(mse.Spring("spring", length=1.0, stiffness=1e3))
    s.clamp(s.ground, spring.frame(0))
    s.clamp(plate.frame(0), spring.frame(1))
    s.add(mse.Load("load", force=(0, 0, -100.0)), between=(plate,))
    told = refused(lambda: s.find_instability(max_load_factor=100.0), "followed up to .* stable so far, but no further")
    assert "trace('load_factor', ...) shows it up to there" in told
    end = float(told.split("followed up to ")[1].split()[0])
    assert end == pytest.approx(10.0, rel=1e-3)
    start = s.find_working_point(load_factor=0.0)
    assert s.trace("load_factor", 0.999 * end, start=start).complete
    assert s.find_instability(max_load_factor=0.99 * end).working_point.stable


def test_what_no_equilibrium_without_loads_holds_gets_a_stiffness():
    told = refused(
        slide(0.0).find_instability, r"its loads push along motions that nothing holds without them \(block.z\)"
    )
    assert "expected a system that is stable without loads and under small ones" in told
    found = slide(1e3).find_instability()
    assert not found.found and found.working_point.stable


@pytest.mark.rounding
def test_a_curve_from_a_limit_point_is_begun_beside_it():
    """A start within rounding of the limit has no direction that corrections keep; one beside it leads over the limit."""
    s = truss(10.0)
    limit = s.find_instability()
    at_limit, beside = (
        s.find_working_point(load_factor=share * limit.load_factor, seek="nearest", start=limit.working_point)
        for share in (1 - 1e-13, 0.99)
    )
    trace = s.trace("load_factor", 1.0, start=at_limit)
    assert trace.complete or trace.reason.startswith("lost at load_factor = ")
    assert trace.complete or trace.values[-1] == pytest.approx(limit.load_factor, rel=1e-9)
    trace = s.trace("load_factor", 1.0, start=beside)
    assert trace.complete and trace.events[0].kind == "limit point"
    assert trace.events[0].value == pytest.approx(limit.load_factor, rel=1e-9)


def test_what_is_pushed_most_is_told():
    """Of three slides that nothing holds, those with a force and a tenth of it, not that with a thousandth."""
    s = mse.MSystem("slides", gravity=(0, 0, 0))
    for name, force in (("one", 1.0), ("two", 0.1), ("three", 1e-3)):
        body, slide = s.add(mse.RigidBody(name, mass=1.0)), s.add(mse.Prismatic(f"slide {name}", axis=(1, 0, 0)))
        s.clamp(s.ground, slide.frame(1))
        s.clamp(body.frame(0), slide.frame(0))
        s.clamp(body.frame(0), s.add(mse.Load(f"load {name}", force=(force, 0, 0))).frame(0))
    with pytest.raises(mse.WorkingPointError, match=r"; one\.x, two\.x has no stiffness, yet a load acts along it"):
        s.find_working_point()


# -- energies that have no minimum --------------------------------------------------------------------------------
class Coil(mse.MObject):
    """Two coils in a row on a battery, whose charge nothing stores."""

    frame_names = ()
    coordinate_names = tuple(mse.coordinate(name, unit="C") for name in ("one", "two"))

    def energy(self, frames, q):
        return -2.0 * q[0]

    def constraint(self, frames, q):
        return [q[0] - q[1]]

    def kinetic(self, frames, q, v):
        return 0.5 * 1e-3 * (v[0] ** 2 + v[1] ** 2)


class PoweredCoil(Coil):
    def energy(self, frames, q):
        return 0.0 * q[0]

    def power(self, frames, q, v, given):
        return 2.0 * v[0]


@pytest.mark.parametrize("seek", ["stable", "nearest"])
@pytest.mark.parametrize("kind", [Coil, PoweredCoil])
def test_a_battery_that_nothing_stops_is_refused_at_once(kind, seek):
    s = slide(1e3)
    s.add(kind("coil"))
    told = refused(
        lambda: s.find_working_point(seek=seek), r"a steady flow through coil\.one, coil\.two is limited by nothing"
    )
    assert "driven by coil.one 2 V" in told and "add a Resistor" in told and "limit point" not in told


def test_a_battery_on_a_capacitor_is_found_however_large_it_is():
    class Charged(Coil):
        def energy(self, frames, q):
            return 0.5e-6 * q[1] ** 2 - 2.0 * q[0]

    s = slide(1e3)
    s.add(Charged("coil"))
    assert list(s.find_working_point().internal.values()) == pytest.approx([2e6, 2e6], rel=1e-9)


class Hill(mse.MObject):
    """An energy that falls without bound."""

    frame_names = ("top",)

    def energy(self, frames, q):
        return -np.exp(20.0 * frames[0].o[0])


class PushedHill(Hill):
    def power(self, frames, q, v, given):
        return 0.1 * frames[0].v[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Hill, PushedHill])
def test_an_energy_that_falls_without_bound_is_named(kind):
    s = mse.MSystem("s", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(-0.5)))
    s.add(mse.Bushing("seat", stiffness=(1.0, 1.0, 1.0, 10.0, 10.0, 10.0)), between=(body, s.ground))
    s.add(kind("hill"), between=(body,))
    told = refused(s.find_working_point, f"the energy of {kind.__name__} 'hill' falls without bound, by .* J")
    assert "correct its law" in told and "limit point" not in told and "has no stiffness" not in told


@pytest.mark.parametrize("stiffness", [1e-300, 1e-160])
@pytest.mark.parametrize("count", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_next_to_no_stiffness_is_none_without_a_warning(stiffness, count):
    s = mse.MSystem("s", gravity=(0, 0, -9.81))
    last = s.ground
    for k in range(count):
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0, inertia=0.1, at=Pose.dz(-0.5 * (k + 1))))
        s.add(mse.Spring(f"spring{k}", length=1.0, stiffness=stiffness), between=(last, body))
        last = body
    refused(s.find_working_point, r"has moved .* that motion has no stiffness")


def test_a_law_without_derivatives_where_it_starts_is_named():
    """The rotation vector has none at half a turn."""

    class Torsion(mse.MObject):
        frame_names = ("one", "two")

        def energy(self, frames, q):
            apart, turn = frames[0].o - frames[1].o, rotation_vector(frames[1].U.T @ frames[0].U)
            return 500.0 * apart @ apart + 5.0 * turn @ turn

    def turned(angle):
        s = mse.MSystem("s", gravity=(0, 0, -9.81))
        body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.rx(angle)))
        s.add(Torsion("law"), between=(body, s.ground))
        return s

    told = refused(turned(np.pi).find_working_point, "Torsion 'law': .* not a finite number at the present poses")
    assert "start elsewhere (at=...)" in told
    assert turned(3.0).find_working_point().stable
