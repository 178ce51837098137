"""Laws of a system as one: they give what its elements give one by one."""

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE
from mse import Pose
from mse.dynamics.accelerations import Equations
from mse.dynamics.charts import displaced
from mse.model.evaluation import Evaluation
from mse.model.variants import prepared


def speaker():
    system = mse.MSystem("speaker", gravity=(0, 0, -9.81))
    cone = system.add(mse.RigidBody("cone", mass=0.03, inertia=(1e-4, 2e-4, 3e-4), at=Pose.dx(0.1)))
    guide = system.add(mse.Prismatic("guide", axis=(0, 0, 1)))
    system.clamp(system.ground, guide.frame(0))
    system.clamp(cone, guide.frame(1), Pose.dx(-0.1))
    system.add(mse.Bushing("surround", stiffness=1500.0, damping=0.4), between=(system.ground, cone))
    coil = system.add(
        mse.VoiceCoil("coil", bl=8.0, width=0.004, resistance=6.0, inductance=2e-3),
        between=(system.ground, cone),
    )
    source = system.add(mse.VoltageSource("source", voltage=4.0))
    system.connect(source.port("+"), coil.port("+"))
    system.connect(source.port("-"), coil.port("-"), system.earth)
    return system


def circuit():
    """An amplifier with a pole, coupled coils, a gyrator, a resistor that warms, and plates that move."""
    system = mse.MSystem("circuit", gravity=(0, 0, 0))
    plate = system.add(mse.RigidBody("plate", mass=0.1, inertia=1e-4, at=Pose.dz(1e-3)))
    for element in (
        mse.VoltageSource("source", voltage=1.0), mse.Amplifier("amplifier", gain=10.0, time_constant=1e-3),
        mse.Transformer("coils", primary=2e-3, secondary=8e-3, coupling=0.9), mse.Gyrator("gyrator", resistance=3.0),
        mse.Heater("heater", resistance=50.0, slope=0.004), mse.HeatCapacity("box", capacity=0.5),
        mse.HeatConductor("wall", conductance=0.08), mse.TemperatureSource("room", temperature=300.0),
        mse.Inductor("coil", inductance=1e-3), mse.Resistor("resistor", resistance=5.0),
    ):  # fmt: skip
        system.add(element)
    system.add(mse.PlateCapacitor("plates", sides=(0.1, 0.1), gap=1e-3), between=(system.ground, plate))
    system.connect("source.+", "amplifier.in+")
    system.connect("amplifier.+", "heater.+", "coil.+")
    system.connect("coil.-", "plates.+")
    system.connect("source.-", "amplifier.in-", "amplifier.-", "heater.-", "plates.-", "resistor.-", system.earth)
    system.connect("heater.heat", "box.heat", "wall.1")
    system.connect("wall.2", "room.heat")
    return system


def swinging():
    """Two bodies on crossed hinges, which turn far, with a piezo and a gas spring at the lower one."""
    system = mse.MSystem("swinging", gravity=(0, 0, -9.81))
    before = system.ground
    for k, axis in enumerate(((0, 1, 0), (1, 0, 0))):
        hinge = system.add(mse.Revolute(f"hinge{k}", axis=axis))
        frames = {"top": Pose.dz(0.2), "bottom": Pose.dz(-0.2)}
        body = system.add(
            mse.RigidBody(
                f"body{k}", mass=1.0 + k, inertia=(0.01, 0.02, 0.03), frames=frames, at=Pose.dz(-0.2 - 0.4 * k)
            )
        )
        system.clamp(before if k == 0 else before.frame("bottom"), hinge.frame(0))
        system.clamp(body.frame("top"), hinge.frame(1))
        before = body
    system.add(mse.GasSpring("gas", stiffness=500.0, wand=0.3), between=(system.ground, before))
    piezo = system.add(
        mse.PiezoStack("piezo", stiffness=1e5, stroke=1e-6, capacitance=1e-6, length=0.6),
        between=(system.ground, before),
    )
    load = system.add(mse.Resistor("load", resistance=1e3))
    system.connect(piezo.port("+"), load.port("+"))
    system.connect(piezo.port("-"), load.port("-"), system.earth)
    return system


def sprung():
    """A cone whose guide has a spring, a preload and a damper, and a hinge with a damper that turns with the cone."""
    system = speaker()
    system["guide"].stiffness, system["guide"].damping, system["guide"].preload = (800.0,), (0.3,), (0.2,)
    cone = system["cone"]
    flap = system.add(mse.RigidBody("flap", mass=0.01, inertia=1e-5, at=Pose.dx(0.2)))
    hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0), damping=0.02))
    system.clamp(cone, hinge.frame(0), Pose.dx(0.05))
    system.clamp(flap, hinge.frame(1), Pose.dx(-0.05))
    return system


def compared(own, here, v, rtol):
    """Terms by the records of the whole system, and element by element."""
    together = own.terms(here, v, 0.0)
    apart = Equations(own.topology, own.assembly)
    vars(apart)["whole"] = None
    one_by_one = apart.terms(here, v, 0.0)
    for name, a, b in zip(together._fields, together, one_by_one, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0.1 * rtol * np.abs(b).max(initial=0.0), err_msg=name)


@pytest.mark.parametrize("build", [speaker, circuit, swinging, sprung])
def test_forces_masses_and_bends_are_those_of_the_elements(build):
    topology, assembly = prepared(build(), None)
    own, rng = Equations(topology, assembly), np.random.default_rng(0)
    assert own.whole._has >= {"kinetic", "energy"} and own.whole.binds
    state, n = Evaluation.initial(assembly).state, own.size
    bodies = n - topology.internal
    for _ in range(20):
        x = np.concatenate([rng.uniform(-0.3, 0.3, bodies) * 1e-3, rng.uniform(0.0, 1e-3, topology.internal)])
        v = rng.uniform(-1.0, 1.0, n)
        here = own.evaluation(displaced(state, x))
        compared(own, here, v, rtol=1e-11)
        state = here.followed().state


def test_turns_of_joints_and_ways_through_conditions_are_followed():
    """Far turns, where records of hinges would leave their branch, and both sides of a condition."""
    topology, assembly = prepared(swinging(), None)
    own, rng = Equations(topology, assembly), np.random.default_rng(1)
    state = Evaluation.initial(assembly).state
    for _ in range(30):
        here = own.evaluation(displaced(state, 0.4 * rng.normal(size=own.size))).followed()
        v = rng.normal(size=own.size)
        compared(own, here, v, rtol=1e-10)
        state = here.state


def test_large_systems_and_those_without_charges_are_asked_element_by_element():
    system = mse.MSystem("bodies", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0))
    system.add(mse.PositionSensor("probe"), between=(body, system.ground))
    assert Equations(*prepared(system, None)).whole is None
    for k in range(61):
        system.add(mse.Resistor(f"r{k}", resistance=1.0))
        system.add(mse.Capacitor(f"c{k}", capacitance=1.0))
        system.connect(f"r{k}.+", f"c{k}.+")
        system.connect(f"r{k}.-", f"c{k}.-", system.earth)
    assert Equations(*prepared(system, None)).whole is None


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_element_gives_what_it_gives_alone(name):
    """The element hangs between bodies if it has frames; a circuit is in the same system."""
    entry = CATALOGUE[name]
    system, it = mse.MSystem("all", gravity=(0, 0, -9.81)), entry.make()
    system.add(it)
    for k, frame in enumerate(entry.frames(3) if it.frame_names else ()):
        at = Pose(frame.o, frame.U)
        body = system.add(mse.RigidBody(f"body{k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.25), at=at))
        system.clamp(body, it.frame(k))
        system.add(mse.Bushing(f"held{k}", stiffness=30.0), between=(body, system.ground @ at))
    system.add(mse.Resistor("resistor", resistance=2.0))
    system.add(mse.Inductor("coil", inductance=0.5))
    senses = isinstance(it, mse.Amplifier)
    system.connect("resistor.+", "coil.+", *(["it.in+"] if senses else []))
    system.connect("resistor.-", "coil.-", system.earth, *(["it.in-"] if senses else []))
    topology, assembly = prepared(system, None)
    own, rng = Equations(topology, assembly), np.random.default_rng(2)
    state = Evaluation.initial(assembly).state
    for _ in range(5):
        here, v = own.evaluation(displaced(state, 0.01 * rng.uniform(0.0, 1.0, own.size))), rng.normal(size=own.size)
        compared(own, here, v, rtol=1e-9)
