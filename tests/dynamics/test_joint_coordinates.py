"""Values and rates of the coordinates of joints, together for all joints of a class."""

import numpy as np
import pytest

import mse
from mse.dynamics.coordinates import NamedCoordinates
from mse.dynamics.moments import Moment
from mse.model.evaluation import Evaluation, Measure
from mse.model.variants import prepared


def system():
    """Joints with one to six coordinates, apart from their bodies' centres, one between bodies that both move."""
    s, rng = mse.MSystem("joints"), np.random.default_rng(3)
    bodies = [mse.RigidBody(f"b{k}", mass=1.0, inertia=0.1, at=mse.Pose(rng.uniform(-1, 1, 3))) for k in range(4)]
    bodies = [s.add(body).frame("center") for body in bodies]
    joints = [
        mse.Revolute("hinge", axis=(0, 1, 0)),
        mse.Cylindrical("sleeve", axis=(1, 2, 0)),
        mse.Prismatic("slide", axis=(0, 0, 1)),
        mse.Revolute("elbow", axis=(1, 0, 1)),
        mse.Joint("loose", free=("x", "y", "z", "az")),
    ]
    ends = [
        (s.ground, bodies[0]),
        (bodies[0], bodies[1]),
        (bodies[1], bodies[2]),
        (s.ground, bodies[3]),
        (bodies[0], bodies[3]),
    ]
    for joint, (a, b) in zip(joints, ends, strict=True):
        s.add(joint)
        for frame, end in ((joint.frame(0), a), (joint.frame(1), b)):
            s.clamp(end, frame, mse.Pose(rng.uniform(-0.2, 0.2, 3)))
    return s, rng


def test_values_and_rates_are_those_of_each_joint_and_of_small_displacements():
    s, rng = system()
    topology, assembly = prepared(s, None)
    here = Evaluation.initial(assembly)
    here = here.measured(Measure.of(assembly, here.configuration.o))
    named = NamedCoordinates(topology, here)
    alone = {}
    for g in assembly.groups:
        for el, memory in zip(g.elements, here.state.memory[g.number], strict=True):
            found = el.obj.values_at(here.configuration.frames(el.frames), memory)
            alone |= {f"{el.path}.{name}": x for name, x in found.items()}
    v = rng.normal(size=assembly.size)
    values, rates = np.split(named.over_time([Moment(0.0, here.state, v)])[0], 2)
    assert dict(zip(named.names, values, strict=True)) == pytest.approx(alone, rel=1e-13)
    np.testing.assert_array_equal(values, named.values(here))
    np.testing.assert_allclose(rates, named.slopes(here) @ v, rtol=1e-12)
    after, before = (named.values(here.displaced(h * here.measure.metric * v)) for h in (1e-5, -1e-5))
    np.testing.assert_allclose(rates, (after - before) / 2e-5, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loop", [False, True])
def test_samples_asked_for_together_or_alone_have_the_same_bits(loop, tmp_path):
    """A crank that goes round several times, with a rod that hangs on it, or one that a slide guides."""
    s = mse.MSystem("crank", gravity=(0, 0, -9.81))
    crank = s.add(mse.RigidBody("crank", mass=1.0, inertia=0.01, frames={"pin": mse.Pose.dx(0.1)}))
    ends = {"big": mse.Pose.dx(-0.15), "small": mse.Pose.dx(0.15)}
    rod = mse.RigidBody("rod", mass=1.0, inertia=0.01, at=mse.Pose.dx(0.25), frames=ends)
    s.add(mse.Revolute("main", axis=(0, 1, 0)), between=(crank, s.ground))
    s.add(mse.Revolute("pin", axis=(0, 1, 0)), between=(s.add(rod).frame("big"), crank.frame("pin")))
    if loop:
        guided = s.ground @ mse.Pose.dx(0.4)
        s.add(mse.Joint("guide", free=("x", "ay")), between=(rod.frame("small"), guided))
    run = {"duration": 1.0, "dt": 0.02, "initial": {"main.angle'": 30.0}, "rtol": 1e-6}
    together = s.simulate(**run)
    # a run with crossings looks at every step, whose samples a file gets at once
    alone = s.simulate(**run, crossings={"main.angle": 1.0}, record=tmp_path / "run.npy")
    np.testing.assert_array_equal(alone.values, together.values)
    assert abs(together["main.angle"][-1]) > 4.0 * np.pi
    for k in (0, 17, 50):
        there = together.at(float(together.time[k])).joint_coordinates
        assert [there[name] for name in ("main.angle", "pin.angle")] == [
            together[name][k] for name in ("main.angle", "pin.angle")
        ]


def test_joints_beyond_their_limits_are_noted_with_the_times():
    """At 3 rad/s from 1.05 rad on, 2 rad are passed between the samples at 0.3 and at 0.4 s."""
    s = mse.MSystem("limits", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1))
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), lower=-1.0, upper=2.0)
    s.add(hinge, between=(s.ground, body))
    motion = s.simulate(duration=1.0, dt=0.1, initial={"hinge.angle": 1.05, "hinge.angle'": 3.0}, progress=False)
    (note,) = motion.notes
    assert note == "hinge.angle is beyond its limits -1 to 2 rad from 0.4 to 1 s: nothing stops a joint there"
    inside = s.simulate(duration=0.3, dt=0.1, initial={"hinge.angle": 1.05, "hinge.angle'": 3.0}, progress=False)
    assert not inside.notes


def test_units_of_charges_and_currents_are_those_of_their_domain():
    """Without them a plot of all outputs draws coulombs and amperes along one axis."""
    circuit = mse.MSystem("circuit")
    circuit.add(mse.Capacitor("store", capacitance=1e-3))
    circuit.add(mse.Inductor("choke", inductance=0.1))
    circuit.connect("store.+", "choke.+")
    circuit.connect("store.-", "choke.-", circuit.earth)
    motion = circuit.simulate(duration=0.01, dt=0.01, initial={"store.charge": 1e-3}, rtol=1e-6)
    assert [motion.unit(name) for name in ("store.charge", "store.charge'", "store.current")] == ["C", "A", "A"]
    assert "m" not in {motion.unit(name) for name in motion.outputs}
