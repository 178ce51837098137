"""Equilibria traced along loads and parameters, against closed forms: snap-through, pitchforks, points exactly met."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import mse
from mse import Pose
from mse.statics.continuation import Curve
from mse.statics.tracing import ParameterFamily

pytestmark = pytest.mark.rounding


def shallow_truss(stiffness=2000.0, height=0.3) -> mse.MSystem:
    """A 1 kg mass on a vertical guide, between two inclined springs at rest (von Mises truss)."""
    s = mse.MSystem("truss", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose((0, 0, height))))
    guide = s.add(mse.Prismatic("guide"))
    s.clamp(s.ground, guide.frame(1))
    s.clamp(mass.frame(0), guide.frame(0))
    for k, x in enumerate((-1, 1)):
        spring = s.add(mse.Spring(f"spring{k}", length=np.hypot(1.0, height), stiffness=stiffness))
        s.clamp(s.ground, spring.frame(0), Pose((x, 0, 0)))
        s.clamp(mass.frame(0), spring.frame(1))
    return s


def truss_load(z, stiffness=2000.0, height=0.3):
    """Load factor at which the mass rests at height z: ``-2 k (l - l0) z/l = factor m g``."""
    length = np.hypot(1.0, z)
    return -2.0 * stiffness * (length - np.hypot(1.0, height)) * z / length / 9.81


@pytest.mark.parametrize("beside", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("first", [0.1, 1.0])
def test_a_limit_is_passed_beyond_its_load_and_not_before(beside, first):
    """However near to the end of the curve it is, and by steps however long."""
    s, length = shallow_truss(), np.cbrt(np.hypot(1.0, 0.3))
    limit = truss_load(np.sqrt(length**2 - 1.0))
    start = s.find_working_point(load_factor=0.05 * limit)
    for passed, to in ((False, (1.0 - beside) * limit), (True, (1.0 + beside) * limit)):
        curve = Curve(ParameterFamily(s, "load_factor", start), to, first=first, widest=1.0)
        found = False
        while not found and curve.places[-1].value != to:
            found = curve.passes()
        assert found is passed


def inverted_pendulum(stiffness=20.0) -> mse.MSystem:
    s = mse.MSystem("column", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose((0, 0, 1))))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=stiffness))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(body.frame(0), hinge.frame(0), Pose((0, 0, -1)))
    return s


B, HEIGHT = 1.0, 0.4
LENGTH = np.hypot(B, HEIGHT)


def stack(stiffness, unit=1e-2) -> mse.MSystem:
    """Shallow trusses of two springs on top of each other, guided upright, with a small load down on the last."""
    s = mse.MSystem("stack", gravity=(0, 0, 0))
    below = s.ground
    for m, k in enumerate(stiffness):
        at = Pose.dy((m + 1) * HEIGHT)
        plate = s.add(mse.RigidBody(f"plate{m}", mass=1.0, inertia=1.0, at=at))
        guide = s.add(mse.Prismatic(f"guide{m}", axis=(0, 1, 0)))
        s.clamp(s.ground, guide.frame(1), at)
        s.clamp(guide.frame(0), plate.frame(0))
        for side, x in (("l", -B), ("r", B)):
            spring = s.add(mse.Spring(f"{side}{m}", length=LENGTH, stiffness=k))
            s.clamp(below, spring.frame(1), Pose.dx(x))
            s.clamp(plate.frame(0), spring.frame(0))
        below = plate.frame(0)
    s.clamp(below, s.add(mse.Load("load", force=(0, -unit, 0))).frame(0))
    return s


def peak(k: float) -> float:
    """Largest of ``P = 2 k (L - l) u/l`` over the height u of one truss, where ``l^3 = L B^2``."""
    u = np.sqrt((LENGTH * B**2) ** (2 / 3) - B**2)
    return 2 * k * (LENGTH - np.hypot(B, u)) * u / np.hypot(B, u)


def limits(stiffness) -> list[float]:
    """Limit loads of a stack in order, as all carry the same: that of the weakest truss with an extreme ahead each time.

    A truss is above, between or below its extremes; up to its largest load from above and between, down to the opposite
    one from between and below.
    """
    peaks = [peak(k) for k in stiffness]
    place, up, out = [0] * len(peaks), True, []
    while ahead := [m for m, p in enumerate(place) if p < 2 if up] or [
        m for m, p in enumerate(place) if p > 0 if not up
    ]:
        m = min(ahead, key=lambda m: peaks[m])
        out.append(peaks[m] if up else -peaks[m])
        # at its largest load a truss goes on between from above, and back above from between
        place[m] = {(0, True): 1, (1, True): 0, (1, False): 2, (2, False): 1}[place[m], up]
        up = not up
    return out


def strip(name, length, ea, ei, ratio, elements, **more) -> mse.SectionBeam:
    """A beam that bends most easily in its plane x-y, ``ratio`` times less out of it."""
    return mse.SectionBeam(
        name, length=length, young_modulus=1.0, poisson_ratio=-0.5, density=0.0, area=ea, second_moment_y=ratio * ei,
        second_moment_z=ei, torsion_constant=ratio * ei, elements=elements, theory="euler-bernoulli",
        **more,
    )  # fmt: skip


def toggle(elements: int, ratio: float) -> mse.MSystem:
    """The frame of F. Williams, Quart. J. Mech. Appl. Math. 17 (1964) 451, with a unit of 0.01 lb down on its apex."""
    span, rise = 12.943, 0.386
    length, slope = np.hypot(span, rise), np.arctan2(rise, span)
    s = mse.MSystem("toggle", gravity=(0, 0, 0))
    left, right = (s.add(strip(name, length, 1.885e6, 9.27e3, ratio, elements)) for name in ("left", "right"))
    end = s.add(mse.Fixed("end"))
    s.clamp(s.ground, left.frame(0), Pose.rz(slope))
    s.clamp(left.frame(1), right.frame(0), Pose.rz(-2 * slope))
    s.clamp(s.ground, end.frame(1), Pose.dx(2 * span))
    s.clamp(end.frame(0), right.frame(1), Pose.rz(-slope))
    s.clamp(left.frame(1), s.add(mse.Load("load", force=(0, -1e-2, 0))).frame(0))
    return s


# by shooting along both members, with the same E A and E I
TOGGLE = 33.861233027949, 31.262583232587


@pytest.mark.slow
@pytest.mark.parametrize(
    "elements, ratio, to, precision",
    [
        (8, 10.0, 40.0, 1e-4),
        (8, 10.0, 60.0, 1e-4),
        (8, 10.0, 4000.0, 1e-4),
        (16, 10.0, 40.0, 1e-5),
        (32, 10.0, 40.0, 1e-6),
        (16, 1e4, 40.0, 1e-5),
    ],
)
def test_limit_points_of_a_toggle_frame(elements, ratio, to, precision):
    """Finer meshes are better, strips as wide as a hundred times their thickness no worse, and the end asked for no matter."""
    trace = toggle(elements, ratio).trace("load_factor", 100.0 * to)
    assert trace.complete and [e.kind for e in trace.events] == ["limit point", "limit point"]
    assert [1e-2 * e.value for e in trace.events] == pytest.approx(TOGGLE, rel=precision)
    assert len(trace.values) < 60


# by shooting, with the same E A and E I
LEE = 1.8556727474762782, -0.941443169087006


def lee(elements: int) -> mse.MSystem:
    """The frame of S. Lee, F. Manuel, E. Rossow, J. Eng. Mech. Div. ASCE 94 (1968) 525, with a unit of 0.001."""
    s = mse.MSystem("frame", gravity=(0, 0, 0))
    rigidities = 120.0, 4320.0, 1440.0, 10.0, elements
    column, beam = s.add(strip("column", *rigidities)), s.add(strip("beam", *rigidities, stations={"load": 24.0}))
    foot, end = (s.add(mse.Revolute(name, axis=(0, 0, 1))) for name in ("foot", "end"))
    s.clamp(s.ground, foot.frame(1))
    s.clamp(foot.frame(0), column.frame(0), Pose.rz(np.pi / 2))
    s.clamp(column.frame(1), beam.frame(0), Pose.rz(-np.pi / 2))
    s.clamp(s.ground, end.frame(1), Pose((120, 120, 0)))
    s.clamp(end.frame(0), beam.frame(1))
    s.clamp(beam.frame("load"), s.add(mse.Load("load", force=(0, -1e-3, 0))).frame(0))
    return s


@pytest.mark.slow
def test_a_frame_of_many_elements_that_snaps_through():
    trace = lee(32).trace("load_factor", 3e3)
    assert trace.complete and [e.kind for e in trace.events] == ["limit point", "limit point"]
    assert [1e-3 * e.value for e in trace.events] == pytest.approx(LEE, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("far", [1.02, 3.0, 100.0, 1e3])
def test_how_far_a_curve_is_to_go_does_not_decide_what_is_found(far):
    trace = stack([1000.0]).trace("load_factor", 100.0 * far * peak(1000.0))
    assert trace.complete
    assert [1e-2 * e.value for e in trace.events] == pytest.approx(limits([1000.0]), rel=1e-10)


@pytest.mark.slow
def test_all_limit_points_of_three_trusses_that_are_almost_equal():
    stiffness = 1000.0, 1010.0, 1020.0
    assert len(limits(stiffness)) == 26
    trace = stack(stiffness).trace("load_factor", 200.0 * peak(1020.0))
    assert trace.complete and trace.stable[-1]
    assert {e.kind for e in trace.events} == {"limit point"}
    assert [1e-2 * e.value for e in trace.events] == pytest.approx(limits(stiffness), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_step_jumps_to_another_stretch_of_the_curve(seed):
    rng = np.random.default_rng(seed)
    stiffness = 1000.0 * np.exp(rng.uniform(0.0, rng.choice([0.005, 0.05, 1.0]), 2))
    trace = stack(stiffness).trace("load_factor", 100.0 * np.exp(rng.uniform(0.03, 5.0)) * peak(max(stiffness)))
    assert trace.complete
    assert [1e-2 * e.value for e in trace.events] == pytest.approx(limits(stiffness), rel=1e-10)
    assert {e.kind for e in trace.events} == {"limit point"}
    # at each equilibrium all trusses carry the load
    y = np.stack([trace.origins(f"plate{m}.center")[:, 1] for m in range(2)])
    u = np.diff(y, axis=0, prepend=0.0)
    length = np.hypot(B, u)
    carried = 2 * stiffness[:, None] * (LENGTH - length) * u / length
    assert np.abs(carried - 1e-2 * trace.values).max() < 1e-10 * peak(max(stiffness))


def steep(height=3.0, stiffness=1000.0) -> mse.MSystem:
    """A truss at 72 degrees, which gives way sideways before it snaps through."""
    s = mse.MSystem("steep", gravity=(0, 0, 0))
    apex = s.add(mse.RigidBody("apex", mass=1.0, at=Pose.dy(height)))
    guide = s.add(mse.Joint("guide", free=("x", "y")))
    for name, x in (("left", -B), ("right", B)):
        spring = s.add(mse.Spring(name, length=np.hypot(B, height), stiffness=stiffness))
        s.clamp(s.ground, spring.frame(1), Pose.dx(x))
        s.clamp(apex.frame(0), spring.frame(0))
    s.clamp(s.ground, guide.frame(1))
    s.clamp(guide.frame(0), apex.frame(0), Pose.dy(height))
    s.clamp(apex.frame(0), s.add(mse.Load("load", force=(0, -1e-2, 0))).frame(0))
    return s


@pytest.mark.slow
@pytest.mark.parametrize("far", [1.1, 30.0])
def test_limit_and_branch_points_are_told_apart_and_told_once(far):
    k, rest = 1000.0, np.hypot(B, 3.0)

    def load(y):
        return 2 * k * (rest - np.hypot(B, y)) * y / np.hypot(B, y)

    def sideways(y):
        length = np.hypot(B, y)
        return B**2 / length**2 + (length - rest) / length * y**2 / length**2

    first, again = brentq(sideways, 2.0, 3.0), brentq(sideways, 0.1, 1.0)
    top = np.sqrt((rest * B**2) ** (2 / 3) - B**2)
    trace = steep().trace("load_factor", 100.0 * far * load(top))
    expected = [load(y) for y in (first, top, again, -again, -top, -first)]
    assert [1e-2 * e.value for e in trace.events] == pytest.approx(expected, rel=1e-9)
    assert [e.kind.split()[0] for e in trace.events] == ["branch", "limit", "branch", "branch", "limit", "branch"]
    assert [e.motion.name for e in trace.events] == ["apex.x", "apex.y", "apex.x"] * 2


def test_motions_that_let_go_at_one_load_are_one_event():
    """A column that is as stiff about both axes falls to any side."""
    s = mse.MSystem("column", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(1.0)))
    hinge = s.add(mse.Universal("hinge"))
    foot = s.add(mse.Bushing("foot", stiffness=(0, 0, 0, 20.0, 20.0, 0)))
    for joint in (hinge, foot):
        s.clamp(s.ground, joint.frame(1))
        s.clamp(body.frame(0), joint.frame(0), Pose.dz(-1.0))
    trace = s.trace("load_factor", 4.0)
    (event,) = trace.events
    assert event.kind == "branch point" and event.value == pytest.approx(20 / 9.81, rel=1e-9)
    assert len(trace.working_points[-1].unstable) == 2


def test_two_motions_that_let_go_in_one_step_are_two_events():
    """Two columns, one of them a little stiffer."""
    s = mse.MSystem("columns", gravity=(0, 0, -9.81))
    for name, stiffness in (("a", 20.0), ("b", 20.01)):
        body = s.add(mse.RigidBody(f"{name} body", mass=1.0, inertia=0.1, at=Pose.dz(1.0)))
        hinge = s.add(mse.Revolute(f"{name} hinge", axis=(0, 1, 0), stiffness=stiffness))
        s.clamp(s.ground, hinge.frame(1))
        s.clamp(body.frame(0), hinge.frame(0), Pose.dz(-1.0))
    trace = s.trace("load_factor", 4.0)
    assert [e.value for e in trace.events] == pytest.approx([20 / 9.81, 20.01 / 9.81], rel=1e-9)
    assert ["a body" in e.motion.name for e in trace.events] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.0, 0.5, -1.0, 2.0])
def test_a_curve_begins_at_the_load_of_its_start(load):
    s = shallow_truss()
    trace = s.trace("load_factor", 4.0, start=s.find_working_point(load_factor=load))
    assert trace.complete and trace.values[0] == load == trace.working_points[0].load_factor
    assert np.abs(truss_load(trace.origins("mass.center")[:, 2]) - trace.values).max() < 1e-11
    assert [e.value for e in trace.events] == pytest.approx([2.02852537, -2.02852537], rel=1e-8)


def hanging() -> mse.MSystem:
    s = mse.MSystem("hanging", gravity=(0, 0, -9.81))
    bob = s.add(mse.RigidBody("bob", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
    spring = s.add(mse.Spring("spring", length=1.0, stiffness=100.0))
    s.clamp(s.ground, spring.frame(1))
    s.clamp(spring.frame(0), bob.frame(0))
    return s


@pytest.mark.parametrize("begin, to", [(0.5, 3.0), (0.0, 3.0), (1.0, 0.0), (0.0, -1.0), (1.0, -1.0)])
def test_what_swings_freely_without_loads_is_held_under_them(begin, to):
    s = hanging()
    trace = s.trace("load_factor", to, start=s.find_working_point(load_factor=begin))
    assert trace.complete and trace.values[0] == begin
    assert trace.origins("bob.center")[:, 2] == pytest.approx(-1.0 - 9.81 * trace.values / 100.0, abs=1e-13)
    # pushed up it falls to any side, from no load on
    assert [(e.kind, abs(e.value) < 1e-6) for e in trace.events] == [("branch point", True)] * (to < 0)
    assert [w.load_factor for w in trace.working_points] == trace.values.tolist()


def test_another_parameter_is_traced_under_the_load_of_the_start_and_from_its_value():
    s = hanging()
    start = s.find_working_point(load_factor=0.5).update({"spring.stiffness": 80.0})
    trace = s.trace("spring.stiffness", 50.0, start=start)
    assert trace.complete and trace.values[[0, -1]].tolist() == [80.0, 50.0]
    assert trace.origins("bob.center")[:, 2] == pytest.approx(-1.0 - 0.5 * 9.81 / trace.values, abs=1e-12)
    assert {w.load_factor for w in trace.working_points} == {0.5}


@pytest.mark.parametrize("to, least, most", [(1.02, 10, 20), (20.0, 50, 90)])
def test_straight_curves_have_a_dozen_points_and_more_where_they_lead_far(to, least, most):
    """A mass on a spring: a tenth of the range at most from point to point, or a fifth of the size of the model."""
    s = mse.MSystem("soft", gravity=(0, 0, -10.0))
    bob, spring = (
        s.add(mse.RigidBody("bob", mass=1.0, at=Pose.dz(-1.0))),
        s.add(mse.Spring("spring", length=1.0, stiffness=20.0)),
    )
    slide = s.add(mse.Prismatic("slide", axis=(0, 0, 1)))
    for one in (spring, slide):
        s.clamp(s.ground, one.frame(1))
        s.clamp(bob.frame(0), one.frame(0))
    trace = s.trace("load_factor", to, start=s.find_working_point(load_factor=0.0))
    assert trace.complete and least < len(trace.values) < most
    assert trace.origins("bob.center")[:, 2] == pytest.approx(-1.0 - 0.5 * trace.values)


def test_a_start_of_another_system_is_refused():
    with pytest.raises(mse.ModelError, match="other objects or clamps"):
        hanging().trace("load_factor", 2.0, start=shallow_truss().find_working_point())


def test_loads_that_push_what_nothing_holds_lead_nowhere():
    s = mse.MSystem("level", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose.dx(1.0)))
    hinge = s.add(mse.Revolute("hinge", axis=(0, 1, 0)))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(bar.frame(0), hinge.frame(0), Pose.dx(-1.0))
    trace = s.trace("load_factor", 3.0, start=s.find_working_point(load_factor=0))
    assert not trace.complete and "lost at load_factor = 0" in trace.reason


@pytest.mark.slow
def test_snap_through_is_traced_through_both_limit_points():
    trace = shallow_truss().trace("load_factor", 4.0)
    z = trace.origins("mass.center")[:, 2]
    assert trace.complete and trace.values[-1] == pytest.approx(4.0, abs=1e-12)
    assert np.abs(truss_load(z) - trace.values).max() < 1e-11
    # l^3 = l0: where the load has its extremes
    height = np.sqrt(np.hypot(1.0, 0.3) ** (2 / 3) - 1.0)
    assert [e.kind for e in trace.events] == ["limit point", "limit point"]
    assert [e.value for e in trace.events] == pytest.approx([truss_load(height), -truss_load(height)], rel=1e-8)
    assert {e.motion.name for e in trace.events} == {"mass.z"}
    assert trace.stable[0] and trace.stable[-1]
    assert np.array_equal(trace.stable, np.abs(z) > height)


def test_a_load_dropped_to_the_other_sign_goes_the_other_way():
    trace = shallow_truss().trace("load_factor", -3.0)
    assert trace.complete and not trace.events and np.all(trace.stable)
    assert np.abs(truss_load(trace.origins("mass.center")[:, 2]) - trace.values).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameter, to, critical",
    [("load_factor", 4.0, 20 / 9.81), ("hinge.stiffness", 5.0, 9.81), ("body.mass", 3.0, 20 / 9.81)],
)
def test_a_pitchfork_is_a_branch_point(parameter, to, critical):
    trace = inverted_pendulum().trace(parameter, to)
    (event,) = trace.events
    assert event.kind == "branch point" and event.value == pytest.approx(critical, rel=1e-9)
    assert "body.ay" in event.motion.name
    assert trace.complete and trace.stable[0] and not trace.stable[-1]


def test_a_parameter_of_a_constraint_moves_what_is_held():
    """A rod that grows lifts the end of a hinged bar; the angle follows from the triangle."""
    s = mse.MSystem("lift", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose((0.5, 0, 0))))
    hinge = s.add(mse.Revolute("hinge", axis=(0, -1, 0)))
    rod = s.add(mse.Rod("rod", length=1.0))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(bar.frame(0), hinge.frame(0), Pose((-0.5, 0, 0)))
    s.clamp(s.ground, rod.frame(1), Pose((1.0, 0, 1.0)))
    s.clamp(bar.frame(0), rod.frame(0), Pose((0.5, 0, 0)))
    trace = s.trace("rod.length", 0.6)
    angle = np.array([wp.joint_coordinates["hinge.angle"] for wp in trace.working_points])
    assert np.hypot(1 - np.cos(angle), 1 - np.sin(angle)) == pytest.approx(trace.values, abs=1e-10)
    assert trace.values[-1] == pytest.approx(0.6, abs=1e-12)


@pytest.mark.slow
def test_a_curve_that_ends_says_where():
    """The rod cannot reach further than the bar's circle: there the mechanism locks."""
    s = mse.MSystem("reach", gravity=(0, 0, -9.81))
    bar = s.add(mse.RigidBody("bar", mass=1.0, inertia=0.1, at=Pose((0.5, 0, 0))))
    hinge = s.add(mse.Revolute("hinge", axis=(0, -1, 0)))
    rod = s.add(mse.Rod("rod", length=1.0))
    s.clamp(s.ground, hinge.frame(1))
    s.clamp(bar.frame(0), hinge.frame(0), Pose((-0.5, 0, 0)))
    s.clamp(s.ground, rod.frame(1), Pose((1.0, 0, 1.0)))
    s.clamp(bar.frame(0), rod.frame(0), Pose((0.5, 0, 0)))
    trace = s.trace("rod.length", 5.0, max_points=60)
    assert not trace.complete and trace.reason
    assert trace.values.max() == pytest.approx(1.0 + np.sqrt(2.0), abs=1e-3)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("lode", 2.0), "no parameter 'lode'"),
        (("hinge.stifness", 2.0), "did you mean 'stiffness'"),
        (("hinge.axis", 2.0), "expected a number"),
        (("nothing.mass", 2.0), "no object 'nothing'"),
        (("load_factor", np.nan), "finite number"),
        (("body.mass", -1.0), "RigidBody 'body': mass is -1.0 kg; expected a finite number of at least 0"),
        (("load_factor", 1.0), "already"),
        ((3, 1.0), "expected 'load_factor'"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(mse.MseError, match=words):
        inverted_pendulum().trace(*arguments)
