"""Scene data: every element of the catalogue appears; displaced points follow modes, motions and shape functions."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE
from mse import Pose
from mse.model.topology import Topology
from mse.tools.scene import Scene

RNG = np.random.default_rng(5)
DRAWN = [name for name, entry in CATALOGUE.items() if entry.make().frame_names]  # a resistor is nowhere


def with_element(name: str) -> mse.MSystem:
    """A system that holds one element of the catalogue, its frames on mounts where it is at rest."""
    system = mse.MSystem(f"<b>{name}&", gravity=(0, 0, 0))
    entry = CATALOGUE[name]
    obj = system.add(entry.make())
    places = dict(obj.rest_poses()) or dict(
        zip(obj.frame_names, entry.rest(RNG) if entry.rest else entry.frames(1), strict=True)
    )
    if obj.role != "free":
        system.clamp(system.ground, obj.frame(0))
        system.add(mse.RigidBody("carried", mass=1.0, inertia=0.1), between=(obj.frame(1),))
        return system
    for k, frame in enumerate(obj.frame_names[: 1 if obj.defines("components") else None]):
        there = places[frame]
        mount = system.add(mse.Bushing(f"mount{k}", stiffness=1e4))
        system.clamp(system.ground, mount.frame(1), Pose(there.o, there.U))
        system.clamp(mount.frame(0), obj.frame(frame))
    return system


def cantilever(**options):
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = system.add(mse.Beam("beam", length=0.4, width=0.02, height=0.004, **options))
    system.clamp(system.ground, beam.frame(0))
    system.add(mse.RigidBody("tip", mass=0.05, inertia=1e-5), between=(beam.frame(1),))
    return system.find_working_point()


@pytest.mark.parametrize("name", DRAWN)
def test_every_element_of_the_catalogue_is_drawn_and_moves_with_its_frames(name):
    system = with_element(name)
    scene = Scene.of(system.find_working_point(throw=False))
    part = next(p for p in scene.parts if p.path == "it")
    assert len(part.points) >= 1
    # a motion of everything alike carries every point with it
    twists = np.tile([1.0, 2.0, 3.0, 0.0, 0.0, 0.0], (len(scene.o), 1))
    assert np.allclose(scene.displacements(part.points, part.carriers, twists), [1.0, 2.0, 3.0])


def test_gears_are_drawn_as_wheels_and_racks_that_go_with_their_joints():
    system = mse.MSystem("drive", gravity=(0, 0, 0))
    names = ("motor", "arm", "slide")
    for k, name in enumerate(names):
        body = system.add(mse.RigidBody(name, mass=1.0, inertia=0.1, at=Pose.dx(0.3 * k)))
        joint = (mse.Prismatic if name == "slide" else mse.Revolute)(f"on_{name}", axis=(0, 1, 0), stiffness=1.0)
        system.add(joint)
        system.clamp(joint.frame(0), body.frame(0))
        system.clamp(system.ground, joint.frame(1), Pose.dx(0.3 * k))
    system.add(mse.Gear("gear", joints={"on_motor": -1.0, "on_arm": 2.0, "on_slide": 5.0}))
    wp = system.find_working_point()
    scene = Scene.of(wp)
    part = next(p for p in scene.parts if p.path == "gear")
    each = part.points.reshape(3, -1, 3)
    reach = np.linalg.norm(each[:, 1:] - each[:, :1], axis=2)
    np.testing.assert_allclose(each[:, 0], [[0, 0, 0], [0.3, 0, 0], [0.6, 0, 0]], atol=1e-12)
    assert reach[1].mean() / reach[0].mean() == pytest.approx(2.0)
    assert np.ptp(each[:2, 1:, 1]) < 1e-12 < np.ptp(each[2, 1:, 1])  # wheels lie across the axis, the rack along it
    assert len(part.lines) == 4
    # every wheel moves with the body of its joint
    carriers = part.carriers.reshape(3, -1)
    body = {p.path: int(p.carriers[0]) for p in scene.parts if p.role == "body"}
    np.testing.assert_array_equal(carriers, np.repeat([[body[name]] for name in names], each.shape[1], axis=1))


def test_what_rides_on_frames_stays_on_them_as_they_turn():
    wp = cantilever()
    scene = Scene.of(wp)
    modes = wp.linearize().modes()
    twists = scene.twists(scene.coordinates(modes))
    names = wp.coordinate_names
    tip = [names.index(f"tip.{axis}") for axis in ("x", "y", "z", "ax", "ay", "az")]
    carrier = scene.frame_carrier[Topology(wp.system).frame_labels.index("tip.center")]
    assert np.array_equal(twists[carrier], modes.shapes[tip])


@pytest.mark.parametrize("options", [{"elements": 2}, {"elements": 2, "theory": "euler-bernoulli"}, {"form": "exact"}])
def test_beams_bend_inside_as_modes_of_finer_ones_do(options):
    def shapes(wp) -> tuple[np.ndarray, list[np.ndarray]]:
        scene, modes = Scene.of(wp), wp.linearize().modes(4)
        beam = next(p for p in scene.parts if p.role == "beam")
        axis = list(beam.lines[0])
        moved = []
        for mode in modes:
            twists = scene.twists(scene.coordinates(mode), omega2=abs(mode.eigenvalue) ** 2)
            moved.append(scene.displacements(beam.points, beam.carriers, twists)[axis])
        return beam.along[axis], moved

    s, coarse = shapes(cantilever(**options))
    places, fine = shapes(cantilever(elements=40))
    for a, b in zip(fine, coarse, strict=True):
        there = np.stack([np.interp(s, places, u) for u in a.T], axis=1)
        assert np.abs(there - np.sign(np.sum(there * b)) * b).max() < 0.01 * np.abs(there).max()


def test_amplitude_is_seen_and_not_absurd():
    wp = cantilever()
    scene = Scene.of(wp)
    for mode in wp.linearize().modes(6):
        twists = scene.twists(scene.coordinates(mode))
        reach, turn = scene.largest(twists * scene.amplitude(twists))
        assert reach == pytest.approx(0.06 * scene.typical) or turn == pytest.approx(0.3)
        assert reach <= 0.0601 * scene.typical and turn <= 0.3001


def test_largest_displacement_is_over_all_phases():
    wp = cantilever()
    scene = Scene.of(wp)
    modes = wp.linearize().modes(2)
    twists = scene.twists(modes.shapes[:, 0] + 1j * modes.shapes[:, 1])
    by_phase = [scene.largest(np.real(twists * np.exp(1j * phase)))[0] for phase in np.linspace(0, np.pi, 721)]
    assert scene.largest(twists)[0] == pytest.approx(max(by_phase), rel=1e-5)


def test_modes_of_another_system_are_refused():
    scene = Scene.of(cantilever())
    other = mse.LinearModel.from_matrices(np.eye(1), None, np.eye(1), coordinates=["elsewhere.x"])
    with pytest.raises(mse.ModelError, match=r"move 'elsewhere\.x', which this system does not have"):
        scene.coordinates(other.modes())


class Umbrella(mse.MObject):
    """Its outline has a point in the middle of its frames, which no frame carries."""

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * (d @ d)

    def outline(self, frames):
        from mse.elements.base import Outline

        return Outline(np.array([frames[0].o, 0.5 * (frames[0].o + frames[1].o), frames[1].o]), ((0, 1, 2),))


def test_points_of_an_outline_that_no_frame_carries_follow_all_of_them():
    system = mse.MSystem("umbrella", gravity=(0, 0, 0))
    bodies = [system.add(mse.RigidBody(n, mass=1.0, inertia=0.1, at=Pose.dx(k))) for k, n in enumerate("ab")]
    system.add(Umbrella("it"), between=bodies)
    for k, body in enumerate(bodies):
        mount = system.add(mse.Bushing(f"mount{k}", stiffness=1e4))
        system.clamp(system.ground, mount.frame(1), Pose.dx(k))
        system.clamp(mount.frame(0), body)
    wp = system.find_working_point()
    scene = Scene.of(wp)
    part = next(p for p in scene.parts if p.path == "it")
    x = np.arange(12.0)
    moved = scene.displacements(part.points, part.carriers, scene.twists(x))
    assert np.allclose(moved[[0, 2]], [x[:3], x[6:9]])
    assert np.allclose(moved[1], 0.5 * (x[:3] + x[6:9]))


def test_arrows_go_from_the_frame_that_pushes_and_from_the_one_that_reads():
    system = mse.MSystem("mount", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dx(1.0)))
    spring = system.add(mse.Bushing("seat", stiffness=1e3))
    system.clamp(system.ground, spring.frame(1), Pose.dx(1.0))
    system.clamp(spring.frame(0), mass)
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    system.add(mse.Load("push", force=(0, 0, 2.0)), between=(mass,))
    arrows = {a.path: a for a in Scene.of(system.find_working_point()).arrows()}
    assert arrows["coil"].kind == "push" and arrows["coil"].points[:, 0] == pytest.approx([0.0, 1.0])
    assert arrows["probe"].kind == "read" and arrows["probe"].points[:, 0] == pytest.approx([0.0, 1.0])
    push = arrows["push"]
    assert push.kind == "load" and push.size == 2.0 and np.all((push.points[1] - push.points[0])[:2] == 0.0)
    assert push.points[1][2] > push.points[0][2]
