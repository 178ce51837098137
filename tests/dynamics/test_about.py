"""Linear models about motions: against motions beside them, against the working point, and by the structure of Lagrange."""

import numpy as np
import pytest
from perturbed import difference

import mse
from mse import Pose
from mse.analysis.noise.thermal import thermal
from mse.elements.records import MOTION

J = np.array([[0.3, 0.02, -0.01], [0.02, 0.5, 0.03], [-0.01, 0.03, 0.4]])


def two_bodies(*more):
    """Two asymmetric bodies on a ball and on a universal joint, with a damped spring."""
    system = mse.MSystem("two", gravity=(0, 0, -9.81))
    one = system.add(mse.RigidBody("one", mass=2.0, inertia=J, at=Pose.dz(-0.5), frames={"top": Pose((0.1, 0.2, 0.4))}))
    end = {"end": Pose((-0.2, 0.1, 0.3))}
    two = system.add(mse.RigidBody("two", mass=1.0, inertia=(0.1, 0.2, 0.15), at=Pose((0.5, 0.1, -1.0)), frames=end))
    system.add(mse.Spherical("ball"), between=(one.frame("top"), system.ground))
    system.add(mse.Universal("cross", damping={"angle1": 0.1}), between=(two.frame("end"), one))
    system.add(mse.Spring("spring", length=0.5, stiffness=50.0, damping=0.3), between=(two, system.ground))
    for element in more:
        system.add(element, between=[(two.frame("end"),), (two, system.ground)][len(element.frame_names) - 1])
    return system


FAST = {"ball.ax'": 2.0, "ball.ay'": -3.0, "ball.az'": 1.0, "cross.angle1'": 4.0, "cross.angle2'": 5.0}


def instant(system, initial=FAST):
    """A system that moves fast, at turned poses."""
    initial = initial | {"ball.ax": -0.2}
    return system.simulate(duration=1e-3, dt=1e-3, initial=initial, rtol=1e-6).at(0.0)


class Coenergy(mse.MObject):
    """A heavy frame with a coordinate that couples to it, and momenta at rest."""

    frame_names = ("seat",)
    coordinate_names = (mse.coordinate("s", unit="m"),)

    def energy(self, frames, q):
        return 40.0 * q[0] ** 2

    def kinetic(self, frames, q, v):
        f = frames[0]
        w = f.U.T @ f.w
        slide = f.v + v[0] * f.U[:, 0] + q[0] * np.cross(f.w, f.U[:, 0])
        return 0.3 * (slide @ slide) + 0.5 * (w @ (J @ w)) + 0.7 * q[0] * (f.v @ f.U[:, 1]) + 0.1 * v[0] ** 4


class Unrecorded(Coenergy):
    """The same where its law cannot be recorded."""

    def kinetic(self, frames, q, v):
        f = frames[0]
        shift = float(0.0 * v[0]) if isinstance(v, np.ndarray) else 0.0
        w = f.U.T @ f.w
        slide = f.v + v[0] * f.U[:, 0] + q[0] * np.cross(f.w, f.U[:, 0]) + shift
        return 0.3 * (slide @ slide) + 0.5 * (w @ (J @ w))


class ByMatrix(mse.MObject):
    frame_names = ("seat",)

    def mass_matrix(self, frames, q=()):
        m = np.zeros((6, 6))
        m[:3, :3], m[3:, 3:] = 2.0 * np.eye(3), frames[0].U @ J @ frames[0].U.T
        return m

    def damping_matrix(self, frames, q=()):
        along = frames[0].U[:, :1]
        return np.block([[0.4 * along @ along.T, np.zeros((3, 3))], [np.zeros((3, 6))]])


class Drag(mse.MObject):
    """A content of third degree, and a power that is quadratic in velocities."""

    frame_names = ("one", "two")
    torque = 0.2

    def dissipation(self, frames, q, v):
        apart = frames[0].v - frames[1].v
        return 0.2 * (apart @ apart) * np.sqrt(0.1 + apart @ apart) + 0.1 * (frames[0].w @ frames[0].U[:, 0]) ** 2

    def power(self, frames, q, v, given):
        f, g = frames[0], given.frames[0]
        return (
            -0.3 * (g.v @ g.v) * (f.v @ g.U[:, 1])
            + self.torque * (f.w @ g.U[:, 2])
            - 0.4 * (f.w @ (g.U[:, 2] * g.w[0]))
        )


class DragAlone(Drag):
    """Without a torque, which would twist what hangs freely."""

    torque = 0.0


@pytest.mark.parametrize("more", [(), (Coenergy("own"),), (Unrecorded("own"),), (ByMatrix("own"),), (Drag("drag"),)])
def test_motions_beside_a_motion_obey_its_linear_model(more):
    here = instant(two_bodies(*more))
    model, rng = here.linearize(), np.random.default_rng(1)
    for _ in range(2):
        left, size = difference(here, model, rng)
        assert left < 1e-8 * size


@pytest.mark.parametrize("more", [(), (Coenergy("own"),), (ByMatrix("own"),), (DragAlone("drag"),)])
def test_at_rest_it_is_the_model_of_the_working_point(more):
    system = two_bodies(*more)
    point = system.find_working_point()
    expected = point.linearize()
    found = system.simulate(duration=0.01, dt=0.01, start=point).at(0.0).linearize()
    for name in ("full_mass", "full_velocity", "full_stiffness"):
        one, two = getattr(found, name).toarray(), getattr(expected, name).toarray()
        np.testing.assert_allclose(one, two, atol=1e-9 * np.abs(two).max())
    np.testing.assert_allclose(found.constraints.toarray(), expected.constraints.toarray(), atol=1e-9)
    assert found.coordinates == expected.coordinates
    assert found.outputs == expected.outputs
    np.testing.assert_allclose(found.measure.toarray(), expected.measure.toarray(), atol=1e-9)
    one, two = (m.modes(damped=True).eigenvalues for m in (found, expected))
    swinging = [s[np.abs(s) > 1e-3] for s in (one, two)]
    np.testing.assert_allclose(*swinging, atol=1e-7)


def with_links():
    """A body on a position actuator on a force sensor on a body that tumbles on a spring."""
    system = mse.MSystem("links", gravity=(0, 0, -9.81))
    body = system.add(
        mse.RigidBody("body", mass=2.0, inertia=J, at=Pose.dz(-0.5), frames={"top": Pose((0.1, 0.2, 0.4))})
    )
    load = system.add(
        mse.RigidBody("load", mass=1.0, inertia=(0.1, 0.2, 0.15), frames={"hook": Pose((0.1, -0.3, 0.2))})
    )
    sensor, piezo = mse.ForceSensor("sensor"), mse.PositionActuator("piezo")
    system.clamp(body.frame("top"), system.add(sensor).frame(1), Pose.rotation((0.3, 0.1, -0.2)))
    system.clamp(sensor.frame(0), system.add(piezo).frame(1), Pose((0.2, 0.1, 0.0)))
    system.clamp(piezo.frame(0), load.frame("hook"))
    system.add(mse.Spherical("ball"), between=(body.frame("top"), system.ground))
    system.add(mse.Spring("spring", length=0.3, stiffness=30.0), between=(load, system.ground))
    return system


def test_matrices_have_the_structure_of_lagrange_on_links_too():
    """Without damping Lambda is ``M' + G``, K is ``symmetric + G'/2`` with G skew: two linear models tell the rates."""
    rates = {"ball.ax'": 2.0, "ball.ay'": -3.0, "ball.az'": 1.0}
    motion = with_links().simulate(duration=0.02, dt=0.01, initial=rates, rtol=1e-11)

    def matrices(t):
        model = motion.at(t).linearize()
        n = model.size + 12
        return [x.toarray()[:n, :n] for x in (model.full_mass, model.full_velocity, model.full_stiffness)]

    h = 1e-3
    near, far = ([(a - b) / 2 for a, b in zip(matrices(0.01 + k), matrices(0.01 - k), strict=True)] for k in (h, 2 * h))
    mass_rate, velocity_rate, _ = ((8 * a - b) / (6 * h) for a, b in zip(near, far, strict=True))
    _, velocity, stiffness = matrices(0.01)
    np.testing.assert_allclose((velocity + velocity.T) / 2, mass_rate, atol=1e-7)
    np.testing.assert_allclose(stiffness - stiffness.T, (velocity_rate - velocity_rate.T) / 2, atol=1e-6)
    assert np.abs(mass_rate).max() > 0.1


def test_parts_of_the_motion_have_a_name_and_no_loss():
    model = instant(two_bodies()).linearize()
    assert ("one", "circulatory") in model.stiffness_parts
    assert ("load", MOTION) in instant(with_links(), {"ball.ax'": 2.0, "ball.ay'": 1.0}).linearize().stiffness_parts
    assert ("spring", "damping") in model.damping_parts
    assert model.gyroscopic.nnz
    # it grows, so that a budget is refused
    sources, notes, *_ = thermal(model, np.array([1.0]), model.outputs.index("cross.angle1"), {}, 300.0)
    assert not any("feed energy" in note for note in notes)
    assert not any(label[0] in ("one", "two") for source in sources for label in source.labels)


def test_a_law_without_slopes_is_refused_by_name():
    class Jumping(Drag):
        def power(self, frames, q, v, given):
            rest = given.frames[1].v  # of the ground
            return np.sqrt(rest @ rest) * frames[0].v[0]

    with pytest.raises(
        mse.ModelError, match="Jumping 'drag': its power has no slopes at the present velocities; expected"
    ):
        instant(two_bodies(Jumping("drag"))).linearize()
