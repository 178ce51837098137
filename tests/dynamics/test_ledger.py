"""Who gives and takes energy in motions, by object, against each other and by hand."""

import numpy as np
import pytest
import textbook as book

import mse
from mse import Pose
from mse.dynamics import ledger


def driven():
    """A body on a slide with a spring, a damper and a motor, a wheel on it that is driven, and a load that follows it."""
    system = mse.MSystem("driven", gravity=(0, 0, -9.81))
    cart = system.add(mse.RigidBody("cart", mass=2.0, inertia=0.1))
    slide = mse.Prismatic("slide", axis=(1, 0, 0), stiffness=90.0, damping=0.8, motor="force")
    system.add(slide, between=(cart, system.ground))
    wheel = system.add(mse.RigidBody("wheel", mass=0.5, inertia=0.02, frames={"rim": Pose.dx(0.1)}))
    hinge = mse.Revolute("hinge", axis=(0, 1, 0), motor="position", damping=0.01)
    system.add(hinge, between=(wheel, cart))
    system.clamp(wheel.frame("rim"), system.add(mse.RigidBody("weight", mass=0.3)).frame(0))
    system.add(mse.Load("jet", force=(0, 0, 1.0), axes="frame"), between=(wheel.frame("rim"),))
    return system


INPUTS = {"slide.force": lambda t: 3.0 * np.sin(4.0 * t), "hinge.angle": lambda t: 2.0 * t + 0.3 * np.sin(5.0 * t)}


@pytest.mark.parametrize("points", [9, pytest.param(11, marks=pytest.mark.slow)])
def test_works_by_object_add_up_to_those_along_the_motion(monkeypatch, points):
    monkeypatch.setattr(ledger, "_POINTS", points)
    motion = driven().simulate(duration=0.5, dt=0.1, inputs=INPUTS, initial={"slide.displacement": 0.1}, rtol=1e-9)
    work, energy = motion.work, motion.energy
    assert set(work) == {"hinge", "slide", "jet", "slide.force", "hinge.angle"}
    np.testing.assert_allclose(work["slide"] + work["hinge"], energy["damped"], atol=1e-8)
    np.testing.assert_allclose(work["jet"] + work["slide.force"] + work["hinge.angle"], energy["driven"], atol=1e-8)
    assert work["slide"][-1] < 0.0 and abs(work["hinge.angle"][-1]) > 0.01
    for kind, parts in motion.stored.items():
        np.testing.assert_allclose(sum(parts.values(), np.zeros(6)), energy[kind], atol=1e-12)
    assert set(motion.stored["kinetic"]) == {"cart", "wheel", "weight"}
    assert set(motion.stored["elastic"]) == {"slide"}
    assert not motion.notes


def test_a_torque_times_its_angle_is_the_work_of_an_input():
    system = mse.MSystem("wheel", gravity=(0, 0, 0))
    hinge = mse.Revolute("hinge", axis=(0, 0, 1), motor="force")
    system.add(hinge, between=(system.add(mse.RigidBody("wheel", mass=1.0, inertia=0.5)), system.ground))
    motion = system.simulate(duration=1.0, dt=0.25, inputs={"hinge.torque": 2.0}, rtol=1e-6)
    np.testing.assert_allclose(motion.work["hinge.torque"], 2.0 * motion["hinge.angle"], atol=1e-9)
    later = system.simulate(duration=1.0, dt=0.5, inputs={"hinge.torque": 2.0}, start=motion.at(0.6).state, rtol=1e-6)
    np.testing.assert_allclose(
        later.work["hinge.torque"], 2.0 * (later["hinge.angle"] - later["hinge.angle"][0]), atol=1e-9
    )


def test_the_momentum_of_a_free_body_stays():
    rates = {"free.ax'": 0.02, "free.ay'": 5.0, "free.az'": 0.03, "free.x'": 2.0, "free.z": 1.0}
    motion = book.free_body().simulate(duration=0.4, dt=0.2, initial=rates, rtol=1e-10)
    np.testing.assert_allclose(motion.momentum.vector[0], [2.0, 0, 0, 0.0002, 0.1 + 2.0, 0.0009], atol=1e-12)
    np.testing.assert_allclose(motion.momentum.vector[2], motion.momentum.vector[0], atol=1e-10)


def test_a_law_that_jumps_is_noted():
    class Step(mse.MObject):
        """An energy that jumps by 0.1 J at x = 0.1, where no force acts."""

        coordinate_names = (mse.coordinate("x", unit="m"),)
        frame_names = ("seat",)

        def energy(self, frames, q):
            return 0.0 * q[0] if q[0] < 0.1 else 0.1 + 0.0 * q[0]

        def kinetic(self, frames, q, v):
            return 0.5 * v[0] ** 2

    system = mse.MSystem("own", gravity=(0, 0, 0))
    system.add(Step("step"), between=(system.ground,))
    motion = system.simulate(duration=0.2, dt=0.1, initial={"step.x'": 1.0}, rtol=1e-6)
    assert "0.1 J of energy are not accounted for" in motion.notes[0]
    assert not system.simulate(duration=0.05, dt=0.05, initial={"step.x'": 1.0}, rtol=1e-6).notes


def test_energies_by_a_wrong_name_offer_the_nearest_one():
    motion = driven().simulate(duration=0.1, dt=0.05, inputs={"slide.force": 1.0}, progress=False)
    for named, wrong, nearest in (
        (motion.energy, "kinetc", "kinetic"),
        (motion.work, "slid.force", "slide.force"),
        (motion.stored, "elastik", "elastic"),
        (motion.stored["elastic"], "slid", "slide"),
    ):
        with pytest.raises(mse.UnknownNameError, match=f"'{wrong}' .*did you mean '{nearest}'"):
            named[wrong]
    shown = repr(motion.energy)
    assert "unaccounted" in shown and "last" in shown and "kinetic" in repr(motion.stored)


def test_a_beam_at_rest_whose_ends_are_rounded_is_no_loss_of_energy():
    system = mse.MSystem("rest", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dx(0.3) @ Pose.rx(1.0) @ Pose.ry(0.7)))
    system.clamp(body.frame(0), system.add(mse.RoundBeam("beam", length=0.3, radius=4e-3, elements=1)).frame(0))
    motion = system.simulate(duration=0.004, dt=0.001, rtol=1e-4)
    assert np.ptp(motion.energy["elastic"]) < 1e-24
    assert not any("not accounted for" in note for note in motion.notes)


def test_a_circle_at_constant_speed_is_not_noted():
    """A conical pendulum exchanges no energy; its speed errs by the tolerance."""
    system = mse.MSystem("conical", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=1.0, at=Pose.dz(-1.0)))
    system.add(mse.Rod("rod", length=1.0), between=(system.ground, bob))
    lean, rate = 0.7, np.sqrt(9.81 / np.cos(0.7))
    initial = {"bob": Pose((np.sin(lean), 0, -np.cos(lean))), "bob'": (0, rate * np.sin(lean), 0, 0, 0, 0)}
    motion = system.simulate(duration=5.0, dt=0.1, initial=initial, progress=False)
    assert motion.notes == ()
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-7 * motion.energy["kinetic"][0]
