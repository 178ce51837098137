"""Inertia forces of elements at finite velocities, against each other and against rigid bodies."""

import numpy as np
import pytest

import mse
from mse import Pose
from mse.dynamics.accelerations import Equations
from mse.model.evaluation import Evaluation
from mse.model.variants import prepared

INERTIA = np.array([[0.3, 0.02, -0.01], [0.02, 0.5, 0.03], [-0.01, 0.03, 0.4]])


class ByCoenergy(mse.MObject):
    """A rigid body by its kinetic coenergy alone."""

    frame_names = ("center",)

    def kinetic(self, frames, q, v):
        f = frames[0]
        w = f.U.T @ f.w
        return 0.5 * 2.0 * (f.v @ f.v) + 0.5 * (w @ (INERTIA @ w))


class ByMatrix(mse.MObject):
    """The same by its mass matrix alone."""

    frame_names = ("center",)

    def mass_matrix(self, frames, q=()):
        m = np.zeros((6, 6))
        m[:3, :3], m[3:, 3:] = 2.0 * np.eye(3), frames[0].U @ INERTIA @ frames[0].U.T
        return m


def accelerations(body, velocities):
    system = mse.MSystem("free", gravity=(0, 0, 0))
    system.add(body, between=(system.add(mse.RigidBody("bare", mass=0.0, at=Pose.rotation((0.3, -0.4, 0.5)))),))
    system.add(mse.Joint("hold", free=("x", "y", "z", "ax", "ay", "az")), between=(body, system.ground))
    topology, assembly = prepared(system, None)
    equations = Equations(topology, assembly)
    return equations.accelerations(Evaluation.initial(assembly), velocities, 0.0)[0]


VELOCITIES = np.array([0.3, -0.2, 0.1, 3.0, -1.0, 2.0])


def euler():
    """``U J U' w' = -w x U J U' w``."""
    u, w = Pose.rotation((0.3, -0.4, 0.5)).U, VELOCITIES[3:]
    j = u @ INERTIA @ u.T
    return np.concatenate([np.zeros(3), np.linalg.solve(j, -np.cross(w, j @ w))])


def test_a_rigid_body_turns_by_the_equations_of_euler():
    found = accelerations(mse.RigidBody("body", mass=2.0, inertia=INERTIA), VELOCITIES)
    np.testing.assert_allclose(found, euler(), atol=1e-13)


def test_inertia_forces_of_a_coenergy_are_those_of_a_rigid_body():
    np.testing.assert_allclose(accelerations(ByCoenergy("own"), VELOCITIES), euler(), atol=1e-12)


def test_inertia_forces_of_a_mass_matrix_are_those_of_its_coenergy():
    np.testing.assert_allclose(accelerations(ByMatrix("own"), VELOCITIES), euler(), atol=1e-11)


@pytest.mark.parametrize("law", ["dissipation", "damping_matrix", "power"])
def test_velocity_forces_come_from_any_law_at_finite_velocities(law):
    class Drag(mse.MObject):
        frame_names = ("end",)

    def dissipation(self, frames, q, v):
        return 0.5 * 0.7 * (frames[0].v @ frames[0].v)

    def damping_matrix(self, frames, q=()):
        return np.diag([0.7] * 3 + [0.0] * 3)

    def power(self, frames, q, v, given):
        return -0.7 * (given.frames[0].v @ frames[0].v)

    cls = type("Drag", (mse.MObject,), {"frame_names": ("end",), law: locals()[law]})
    system = mse.MSystem("free", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=2.0, inertia=1.0))
    system.add(cls("drag"), between=(body,))
    system.add(mse.Joint("hold", free=("x", "y", "z", "ax", "ay", "az")), between=(body, system.ground))
    topology, assembly = prepared(system, None)
    found = Equations(topology, assembly).accelerations(Evaluation.initial(assembly), VELOCITIES, 0.0)
    np.testing.assert_allclose(found[0][:3], -0.35 * VELOCITIES[:3], atol=1e-14)
    lost = -0.7 * VELOCITIES[:3] @ VELOCITIES[:3]
    assert found[1].damped + found[1].driven == pytest.approx(lost)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_bushing_damps_turns_as_a_ball_joint_does(method):
    """Its coefficients are unequal. The rates come from an integration of the law by hand."""
    right = [0.30448234, 0.62065534, 0.28231167]
    for damper in (
        mse.Bushing("damper", stiffness=0.0, damping=(0, 0, 0, 0.02, 0.01, 0.03)),
        mse.Spherical("damper", damping={"ax": 0.02, "ay": 0.01, "az": 0.03}),
    ):
        system = mse.MSystem("ball", gravity=(0, 0, 0))
        ball = system.add(mse.RigidBody("ball", mass=1.0, inertia=0.02))
        system.add(damper, between=(ball, system.ground))
        motion = system.simulate(duration=1.0, dt=1.0, initial={"ball'": (0, 0, 0, 1, 1, 1)}, rtol=1e-9, method=method)
        np.testing.assert_allclose(motion.velocities("ball.center")[-1, 3:], right, atol=2e-7)
