"""Systems with many equilibria, and the one that a slow descent from their start leads to, found without the search."""

from __future__ import annotations

import numpy as np

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.equilibrium import balanced
from mse.statics.merit_function import MeritFunction
from mse.statics.step_methods import newton


def crooked(seed: int) -> mse.MSystem:
    """Two to four bodies on three springs each, one below the other, turned by up to a radian and more where they begin."""
    rng = np.random.default_rng(seed)
    system = mse.MSystem(f"crooked {seed}", gravity=(0, 0, -9.81))
    above = system.ground
    for number in range(int(rng.integers(2, 5))):
        at = Pose([*rng.uniform(-0.3, 0.3, 2), -0.6 * (number + 1)]) @ Pose.rotation(rng.uniform(-1.0, 1.0, 3))
        mass = 10 ** rng.uniform(-0.5, 1.0)
        body = system.add(mse.RigidBody(f"body{number}", mass=mass, inertia=mass * rng.uniform(0.004, 0.007, 3), at=at))
        for k in range(3):
            stiffness = 10 ** rng.uniform(2.0, 3.5) * mass
            spring = system.add(mse.Spring(f"spring{number}_{k}", length=rng.uniform(0.3, 0.7), stiffness=stiffness))
            system.clamp(above, spring.frame(1), Pose(rng.uniform(-0.2, 0.2, 3)))
            system.clamp(body.frame(0), spring.frame(0), Pose(rng.uniform(-0.2, 0.2, 3)))
        above = body.frame(0)
    return system


def jointed(seed: int) -> mse.MSystem:
    """Three to five bodies on joints, each on one before it and turned against it, and a spring from each to the ground."""
    rng = np.random.default_rng(seed)
    system = mse.MSystem(f"jointed {seed}", gravity=(0, 0, -9.81))
    bodies, poses = [system.ground], [Pose()]
    for number in range(int(rng.integers(3, 6))):
        carrier = int(rng.integers(len(bodies)))
        there = poses[carrier] @ Pose(rng.uniform(-0.3, 0.3, 3)) @ Pose.rotation(rng.uniform(-1.7, 1.7, 3))
        arm = Pose([*rng.uniform(-0.2, 0.2, 2), -0.3])
        mass = 10 ** rng.uniform(-0.5, 0.7)
        body = system.add(
            mse.RigidBody(f"body{number}", mass=mass, inertia=mass * rng.uniform(0.004, 0.007, 3), at=there @ arm)
        )
        axis = rng.standard_normal(3)
        joint = mse.Spherical(f"joint{number}") if rng.random() < 0.5 else mse.Revolute(f"joint{number}", axis=axis)
        system.clamp(bodies[carrier], system.add(joint).frame(0), poses[carrier].inverse() @ there)
        system.clamp(body.frame(0), joint.frame(1), arm.inverse())
        spring = mse.Spring(
            f"spring{number}", length=rng.uniform(0.3, 0.7), stiffness=mass * 10 ** rng.uniform(1.5, 4.0)
        )
        system.clamp(system.ground, system.add(spring).frame(0), Pose(there.o + rng.uniform(-0.6, 0.6, 3)))
        system.clamp(body.frame(0), spring.frame(1), Pose(rng.uniform(-0.2, 0.2, 3)))
        bodies.append(body.frame(0))
        poses.append(there @ arm)
    return system


def merit_of(system: mse.MSystem) -> MeritFunction:
    """What searches of a system from its initial poses lower."""
    topology = Topology(system)
    return MeritFunction.of(topology, Assembly(topology, topology.unit))


def slow_descent(merit: MeritFunction, longest: float) -> float:
    """The energy (J) where the flow against the gradient, on what joints allow, ends; NaN where it does not end.

    By steps of its linear equations that long (sizes) at most.
    """
    point = merit.evaluate(merit.start, 2)
    for _ in range(3000):
        k, g, _ = merit.scaled(point)
        along = np.eye(len(g)) if point.tangent is None else point.tangent.basis
        w, v = np.linalg.eigh(along.T @ k @ along)
        v = along @ v
        c = v.T @ g
        step = newton(merit, point, np.inf).p
        if w[0] > -1e-9 * w[-1] and np.linalg.norm(step) < 0.5 * longest * merit.size:
            break

        def at(time, w=w, v=v, c=c):
            z = np.clip(-w * time, -250.0, 250.0)
            return v @ (-c * np.where(np.abs(z) < 1e-9, time, np.expm1(z) / np.where(w == 0.0, 1.0, -w)))

        low, high = 1e-12, 1e12
        for _ in range(60):
            time = np.sqrt(low * high)
            low, high = (time, high) if np.linalg.norm(at(time)) < longest * merit.size else (low, time)
        point = merit.stepped(point, at(low), 2)
    for _ in range(30):
        if balanced(merit, point):
            break
        point = merit.stepped(point, newton(merit, point, np.inf).p, 2)
    return point.energy if balanced(merit, point) else np.nan


def agrees(point: mse.WorkingPoint, merit: MeritFunction, energy: float) -> bool:
    """Whether a working point has the energy (J) where a slow descent ends."""
    off = merit.evaluate(point.state, 1).energy - energy
    return bool(abs(off) <= 1e-7 * merit.size * np.abs(merit.weights).sum())
