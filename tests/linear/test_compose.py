"""Linear models of subsystems, made alone and composed: hierarchical equals flat."""

from __future__ import annotations

import numpy as np
import pytest
from wiring import wired

import mse
from mse import Pose


def stage(name: str, count: int, mass: float) -> mse.MSystem:
    """Bodies in a row, each on three wires from the one above; the first from the ground of the stage."""
    s = mse.MSystem(name)
    above = s.ground
    for i in range(count):
        body = s.add(mse.RigidBody(f"m{i}", mass=mass, inertia=(0.02, 0.03, 0.04)))
        for k, (x, y) in enumerate(((0.1, 0.1), (0.1, -0.1), (-0.1, 0.0))):
            wire = s.add(
                mse.Wire(f"w{i}{k}", length=0.5, young_modulus=2e11, poisson_ratio=0.5, radius=2e-4, damping=0.5)
            )
            s.clamp(above, wire.frame(0), Pose((x, y, -0.03)))
            s.clamp(body.frame(0), wire.frame(1), Pose((1.1 * x, 0.9 * y, 0.04)))
        above = body.frame(0)
    return s


def with_arm(s: mse.MSystem, lower: mse.MSystem) -> None:
    """An arm on a hinge below a stage."""
    hinge = s.add(mse.Revolute("hinge", axis=(1, 0, 0), damping=0.01))
    arm = s.add(mse.RigidBody("arm", mass=0.5, inertia=0.01))
    s.clamp(lower["m2"].frame(0), hinge.frame(1), Pose((0.05, 0, 0)))
    s.clamp(arm.frame(0), hinge.frame(0), Pose((0, 0.02, 0.2)))


SEAT = Pose((0.01, 0.02, -0.05))


@pytest.fixture(scope="module")
def whole():
    s = mse.MSystem("whole")
    upper, lower = s.add(stage("upper", 2, 2.0)), s.add(stage("lower", 3, 1.0))
    s.clamp(s.ground, upper.ground, Pose((0, 0, 1)))
    s.clamp(upper["m1"].frame(0), lower.ground, SEAT)
    with_arm(s, lower)
    probe = s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, probe.frame(1))
    s.clamp(s["arm"].frame(0), probe.frame(0))
    push = s.add(mse.ForceActuator("push"))
    s.clamp(s.ground, push.frame(0))
    s.clamp(upper["m0"].frame(0), push.frame(1))
    return s.find_working_point()


@pytest.mark.slow
def test_parts_of_one_working_point_add_up_to_the_whole(whole):
    flat = whole.linearize()
    parts = [whole.linearize(within=w) for w in ("upper", "lower", ["hinge", "arm", "probe", "push"])]
    assert all(p.affine is not None for p in parts)
    both = mse.compose("composed", parts)
    assert both.affine is None and set(both.coordinates) == set(flat.coordinates)
    order = [both.coordinates.index(c) for c in flat.coordinates]
    for name in ("M", "Lambda", "K"):
        a, b = getattr(flat, name).toarray(), getattr(both, name).toarray()[np.ix_(order, order)]
        assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max(), name
    f = np.geomspace(0.1, 30, 12)
    one = flat.frequency_response(f)
    two = both.frequency_response(f, inputs=flat.inputs, outputs=flat.outputs)
    assert np.abs(one.values - two.values).max() <= 1e-12 * np.abs(one.values).max()
    assert both.modes().frequencies_hz == pytest.approx(flat.modes().frequencies_hz, rel=1e-11)


@pytest.mark.slow
def test_a_subsystem_solved_elsewhere_alone_is_clamped_in(whole):
    """The lower stage in a system of its own, at another place; its ground's lever arm carries the geometric stiffness."""
    seat = whole.poses["lower.ground"]
    s = mse.MSystem("bench")
    lower, clamp = s.add(stage("lower", 3, 1.0)), s.add(mse.Fixed("clamp"))
    s.clamp(lower.ground, clamp.frame(0))
    s.clamp(s.ground, clamp.frame(1), Pose(seat.o + np.array([0.3, 0.1, 0.2]), seat.U))
    with_arm(s, lower)
    alone = s.find_working_point().linearize(within=["lower", "hinge", "arm"])
    assert alone.affine[2] == pytest.approx(-3.5 * 9.8, rel=1e-12)
    both = mse.compose(
        "composed", [whole.linearize(within="upper"), alone], clamps=[("upper.m1.center", "lower.ground", SEAT)]
    )
    assert both.affine is None
    assert both.modes().frequencies_hz == pytest.approx(whole.linearize().modes().frequencies_hz, rel=1e-11)
    # swapped: the coordinates of the other body stay
    other = mse.compose(
        "composed",
        [alone, whole.linearize(within="upper")],
        clamps=[("lower.ground", "upper.m1.center", SEAT.inverse())],
    )
    assert other.modes().frequencies_hz == pytest.approx(both.modes().frequencies_hz, rel=1e-11)


@pytest.mark.slow
def test_composing_composed_models(whole):
    flat = whole.linearize()
    upper = mse.compose("a", [whole.linearize(within="upper"), whole.linearize(within=["push"])])
    lower = mse.compose("b", [whole.linearize(within="lower"), whole.linearize(within=["hinge", "arm", "probe"])])
    both = mse.compose("c", [lower, upper])
    assert both.modes().frequencies_hz == pytest.approx(flat.modes().frequencies_hz, rel=1e-11)


def test_loops_across_subsystems_share_redundant_constraints():
    """A four-bar whose halves are subsystems: neither has redundant joints, the whole has three."""
    s = mse.MSystem("bars", gravity=(0, 0, -9.81))
    halves = [s.add(mse.MSystem(name)) for name in ("left", "right")]
    for half, x in zip(halves, (0.0, 1.0), strict=True):
        s.clamp(s.ground, half.ground, Pose((x, 0, 0)))
        rod = half.add(mse.RigidBody("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-9), at=Pose((0, 0, -0.5))))
        hinge = half.add(mse.Revolute("hinge", axis=(0, 1, 0)))
        half.clamp(half.ground, hinge.frame(1))
        half.clamp(rod.frame(0), hinge.frame(0), Pose((0, 0, 0.5)))
    coupler = s.add(mse.RigidBody("coupler", mass=1.0, inertia=(1e-9, 1 / 12, 1 / 12), at=Pose((0.5, 0, -1))))
    for k, (half, x) in enumerate(zip(halves, (-0.5, 0.5), strict=True)):
        hinge = s.add(mse.Revolute(f"pin{k}", axis=(0, 1, 0)))
        s.clamp(half["rod"].frame(0), hinge.frame(1), Pose((0, 0, -0.5)))
        s.clamp(coupler.frame(0), hinge.frame(0), Pose((x, 0, 0)))
    wp = s.find_working_point()
    both = mse.compose("composed", [wp.linearize(within=w) for w in ("left", "right", ["coupler", "pin0", "pin1"])])
    assert both.constraints.shape[0] == 17
    # two rods of m L^2/3 and a coupler of m L^2 against g (2 m L/2 + m L)
    expected = np.sqrt(2 * 9.81 / (2 / 3 + 1)) / (2 * np.pi)
    assert both.modes().frequencies_hz == pytest.approx([expected], rel=1e-12)
    assert wp.redundant[0].count == 3 and wp.freedoms == 1


def test_off_equilibrium_only_on_request():
    s = stage("s", 1, 1.0)
    away = s.relaxation().result()
    with pytest.raises(mse.WorkingPointError, match="anywhere=True"):
        away.linearize()
    model = away.linearize(anywhere=True)
    assert model.affine == pytest.approx(away.residual, rel=1e-12)
    assert np.abs(model.affine).max() > 1.0
    assert "NOT about a working point" in repr(model)
    assert s.find_working_point().linearize().affine is None


def test_refusals(whole):
    upper, lower = whole.linearize(within="upper"), whole.linearize(within="lower")
    with pytest.raises(mse.MseError, match="no object 'uper'.*upper"):
        whole.linearize(within="uper")
    with pytest.raises(mse.MseError, match="no interface frame 'upper.m1.centre'.*center"):
        mse.compose("x", [upper, lower], clamps=[("upper.m1.centre", "lower.ground")])
    with pytest.raises(mse.MseError, match="same body"):
        mse.compose("x", [upper, lower], clamps=[("upper.m1.center", "lower.ground")])
    with pytest.raises(mse.MseError, match="turned by"):
        mse.compose("x", [upper, lower], clamps=[("upper.m1.center", "lower.m2.center", Pose.rotation((0, 0, 1e-3)))])
    rest = whole.linearize(within=["push"])
    with pytest.raises(mse.MseError, match="in two models"):
        mse.compose("x", [rest, rest])
    with pytest.raises(mse.MseError, match="models is .*; expected at least one"):
        mse.compose("x", [])


def test_a_model_in_independent_coordinates_has_no_frames_by_numbers_of_others(whole):
    part = whole.linearize(within=["lower", "hinge", "arm", "probe"])
    assert part.interfaces and not part.reduced[0].interfaces
    small, _ = mse.reduce_model(part, ["lower.m1"], modes=0)
    body = small.interfaces["lower.m1.center"].first
    assert small.coordinates[body : body + 6] == tuple(f"lower.m1.{c}" for c in ("x", "y", "z", "ax", "ay", "az"))


@pytest.mark.slow
def test_a_reduced_subsystem_is_composed_like_a_full_one(whole):
    """Kept interfaces and all modes lose nothing; fewer modes cost what the report says, most where they are missing."""
    rest = whole.linearize(within=["lower", "hinge", "arm", "probe"])
    upper = whole.linearize(within="upper")
    flat = mse.compose("flat", [upper, rest])
    full, report = mse.reduce_model(upper, ["upper.m1.center"], modes=6)
    assert report.omitted_frequency_hz == np.inf
    both = mse.compose("both", [full, rest])
    assert both.modes().frequencies_hz == pytest.approx(flat.modes().frequencies_hz, rel=1e-9)
    errors = []
    for modes in (0, 2, 4):
        less, report = mse.reduce_model(upper, ["upper.m1.center"], modes=modes)
        f = mse.compose("less", [less, rest]).modes(1).frequencies_hz[0]
        errors.append(abs(f / flat.modes(1).frequencies_hz[0] - 1))
        assert report.omitted_frequency_hz < np.inf
        # statics are exact: the shift of a mode is its kinetic energy left out, well below where modes are missing
        assert errors[-1] < (f / report.omitted_frequency_hz) ** 2
    assert errors[2] < 1e-2 * errors[0]


def test_reduction_refusals(whole):
    upper = whole.linearize(within="upper")
    with pytest.raises(mse.MseError, match="nothing to keep is named 'upper.m3'"):
        mse.reduce_model(upper, ["upper.m3"], modes=0)
    with pytest.raises(mse.MseError, match="modes"):
        mse.reduce_model(upper, ["upper.m1"], modes=7)
    with pytest.raises(mse.MseError, match="on the ground"):
        mse.reduce_model(upper, ["upper.ground"], modes=0)
    arm = whole.linearize(within=["hinge", "arm", "lower"])
    hidden = sorted(set(arm.coordinates) - set(arm.null_space().independent))
    with pytest.raises(mse.MseError, match="follow from other coordinates by joints"):
        mse.reduce_model(arm, [hidden[0]], modes=0)


def test_an_idle_joint_does_not_disturb_a_reduced_model():
    """A joint that holds nothing leaves a model without constraints, which is reduced as it stands."""
    s = mse.MSystem("idle", gravity=(0, 0, -9.81))
    above = s.ground
    for name in ("upper", "lower"):
        body = s.add(mse.RigidBody(name, mass=1.0, inertia=0.1))
        seat = s.add(mse.Bushing(f"{name} seat", stiffness=np.full(6, 1e3)))
        s.clamp(above, seat.frame(1))
        s.clamp(body.frame(0), seat.frame(0))
        above = body.frame(0)
    joint = s.add(mse.Spherical("joint"))
    s.clamp(s.ground, joint.frame(0))
    s.clamp(s.ground, joint.frame(1))
    model = s.find_working_point().linearize()
    reduced, _ = mse.reduce_model(model, ["upper"], modes=3)
    lowest = model.modes().frequencies_hz[0]
    assert len(reduced.modes().frequencies_hz) == 9
    assert lowest * (1 - 1e-12) <= reduced.modes().frequencies_hz[0] < 1.01 * lowest


def test_an_object_in_two_models_is_refused_as_it_would_count_twice():
    s = mse.MSystem("st")
    for name in ("u", "v"):
        part = s.add(mse.MSystem(name))
        body = part.add(mse.RigidBody("b", mass=1.0, inertia=0.1))
        part.add(mse.Bushing("k", stiffness=np.full(6, 100.0)), between=(body, part.ground))
        s.clamp(s.ground, part.ground)
    sizes = {"length": 1.0, "width": 2e-3, "height": 2e-3}
    rod = mse.Beam("rod", **sizes, young_modulus=2e11, poisson_ratio=0.3, density=7800.0, elements=2)
    s.add(rod, between=(s["u.b"], s["v.b"].frame("center") @ Pose.dx(1.0)))
    point = s.find_working_point()
    u, v, body, spring, beam = (point.linearize(within=w) for w in ("u", "v", "u.b", "u.k", "rod"))
    for twice, path in (([u, u], "u.b"), ([u, body], "u.b"), ([u, spring], "u.k"), ([v, beam, spring, beam], "rod")):
        words = f"the mass, stiffness or damping of {path} is in two models, 'st: .*or it would count twice"
        with pytest.raises(mse.ModelError, match=words):
            mse.compose("c", twice)
    # the beam has mass on the bodies at its ends, and no model has it twice
    whole = mse.compose("c", [body, spring, v, beam])
    assert whole.M.diagonal().sum() == pytest.approx(point.linearize().M.diagonal().sum(), rel=1e-12)
    assert list(spring.parameters) == ["", "u", "u.k", "v"]


def test_a_gyrator_that_carries_nothing_is_composed_beside_capacitors():
    """LAPACK failed: rounding of the capacitors' charges was compared with the gyrator's, which have no stiffness."""
    system = mse.MSystem("beside")
    gyrator = system.add(mse.Gyrator("gyrator", resistance=1.3))
    capacitors = [mse.Capacitor(name, capacitance=c) for name, c in (("first", 5e-5), ("second", 3e-5))]
    further = {
        "a": [gyrator.port("1-"), gyrator.port("2+")],
        "b": [gyrator.port("1+"), gyrator.port("2-")],
    }
    branches = [*((c, "a", "0") for c in capacitors), (mse.CurrentSource("source"), "0", "a")]
    alone = wired(system, *branches, further=further).find_working_point().linearize()
    f = np.array([10.0, 200.0])
    found = mse.compose("again", [alone]).frequency_response(f, outputs=["source.voltage", "gyrator.current1"]).values
    # what flows in at "+" is taken from earth, and charges the capacitors
    np.testing.assert_allclose(-found[:, 0, 0], 1.0 / (2j * np.pi * f * 8e-5), rtol=1e-12)
    np.testing.assert_allclose(found[:, 1, 0], 0.0, atol=1e-12)
