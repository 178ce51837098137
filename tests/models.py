"""Models that several tests build."""

from __future__ import annotations

import numpy as np

import mse
from mse import Pose
from mse.elements.parameters import Real


def hanging_stages(seed: int) -> mse.MSystem:
    """A random hanging system: 2 to 10 bodies, 1 to 6 wires or springs a stage, roughly placed.

    Attachment points and initial positions are off by up to 30 % of the sizes; initial turns by up to 0.3 rad.
    """
    rng = np.random.default_rng(seed)
    system = mse.MSystem(f"hanging {seed}", gravity=(0, 0, -9.81))
    above, z = system.ground, 0.0
    for stage in range(rng.integers(2, 11)):
        size = rng.uniform(0.05, 0.3)
        length = rng.uniform(0.2, 1.0)
        mass = rng.uniform(0.5, 50.0)
        z -= length
        off = rng.uniform(-0.3, 0.3, 3) * np.array([size, size, length])
        turn = rng.uniform(-0.3, 0.3, 3)
        start = Pose(np.array([0, 0, z]) + off) @ Pose.rotation(turn)
        moments = mass * size**2 * rng.uniform(0.2, 0.39, 3)
        body = system.add(mse.RigidBody(f"body{stage}", mass=mass, inertia=moments, at=start))
        count = int(rng.integers(1, 7))
        for k in range(count):
            angle = 2 * np.pi * k / count + rng.uniform(-0.3, 0.3)
            arm = size * np.array([np.cos(angle), np.sin(angle), 0.0]) if count > 1 else np.zeros(3)
            top = arm + 0.3 * size * rng.uniform(-1, 1, 3)
            bottom = arm + 0.3 * size * rng.uniform(-1, 1, 3) + np.array([0, 0, 0.2 * size])
            if rng.random() < 0.5:
                stiffness = mass * 9.81 / (0.1 * length) * rng.uniform(0.5, 20)
                held = mse.Spring(f"spring{stage}_{k}", length=length, stiffness=stiffness)
            else:
                radius = rng.uniform(1e-4, 5e-4)
                held = mse.Wire(f"wire{stage}_{k}", length=length, young_modulus=2e11, poisson_ratio=0.3, radius=radius)
            held = system.add(held)
            system.clamp(above, held.frame(1), Pose(top if stage else arm))
            system.clamp(body.frame(0), held.frame(0), Pose(bottom))
        above = body.frame(0)
    return system


def four_wire_chain(stages: int, *, driven: bool = False) -> mse.MSystem:
    """A chain of plates, each on four steel wires; with ``driven``, on a position actuator, the last plate sensed."""
    system = mse.MSystem(f"chain of {stages}", gravity=(0, 0, -9.81))
    above = system.ground
    if driven:
        base = system.add(mse.PositionActuator("base"))
        system.clamp(system.ground, base.frame(1))
        above = base.frame(0)
    for s in range(stages):
        corners = {f"{side}{k}": Pose.dxdydz(0.1 * (1 - 2 * (k % 2)), 0.1 * (1 - 2 * (k // 2)), dz)
                   for side, dz in (("top", 0.01), ("bottom", -0.01)) for k in range(4)}  # fmt: skip
        plate = system.add(mse.RigidBody(f"plate{s}", mass=10.0, inertia=(0.04, 0.05, 0.08), frames=corners,
                                         at=Pose.dz(-0.52 * (s + 1) + 0.01)))  # fmt: skip
        for k in range(4):
            wire = system.add(
                mse.Wire(
                    f"wire{s}_{k}",
                    length=0.5,
                    young_modulus=2e11,
                    poisson_ratio=0.3,
                    radius=2e-4 * np.sqrt(1 + 0.2 * (stages - s)),
                )
            )
            if s == 0:
                system.clamp(above, wire.frame(1), Pose.dxdydz(0.1 * (1 - 2 * (k % 2)), 0.1 * (1 - 2 * (k // 2)), 0.0))
            else:
                system.clamp(above_plate.frame(f"bottom{k}"), wire.frame(1))  # noqa: F821
            system.clamp(plate.frame(f"top{k}"), wire.frame(0))
        above_plate = plate
    if driven:
        probe = system.add(mse.PositionSensor("probe"))
        system.clamp(above_plate.frame(0), probe.frame(0))
        system.clamp(system.ground, probe.frame(1))
    return system


def two_blades(elements: int = 6) -> mse.MSystem:
    """A mirror on four springs from the tips of two blades, whose base moves: slow motions beside very fast ones."""
    s = mse.MSystem("two blades", gravity=(0, 0, -9.81))
    base = s.add(mse.PositionActuator("base"))
    s.clamp(s.ground, base.frame(1))
    mirror = s.add(mse.RigidBody("mirror", mass=20.0, inertia=(0.4, 0.3, 0.5), at=Pose.dz(-0.8)))
    for k, side in enumerate((1, -1)):
        blade = s.add(mse.Beam(f"blade{k}", length=0.25, width=(0.05, 0.01), height=0.003, elements=elements))
        s.clamp(base.frame(0), blade.frame(0), Pose.dx(-0.35 * side) @ Pose.rz(0.0 if side > 0 else np.pi))
        for j, y in enumerate((-0.05, 0.05)):
            wire = s.add(mse.Spring(f"wire{k}{j}", length=0.75, stiffness=5e4))
            s.clamp(blade.frame(1), wire.frame(0))
            s.clamp(wire.frame(1), mirror.frame(0), Pose((-0.1 * side, y, 0.0)))
    s.add(mse.ForceActuator("coil"), between=(s.ground, mirror))
    s.add(mse.PositionSensor("probe"), between=(mirror, s.ground))
    return s


def double_pendulum(hook: float = 0.05, *, line: str = "wire") -> mse.MSystem:
    """Two stages, each on two wires from the tips of two blades; a hook that is not below its tip strains the wires."""
    s = mse.MSystem("double pendulum", gravity=(0, 0, -9.81))
    top, low = (s.add(mse.RigidBody(n, mass=m, inertia=0.01 * m)) for n, m in (("top", 20.0), ("low", 10.0)))
    for upper, stage, thick in ((s.ground, top, 0.003), (top.frame(0), low, 0.002)):
        for side, turn in (("left", Pose()), ("right", Pose.rz(np.pi))):
            name, inwards = f"{stage.name} {side}", Pose.rz(np.pi)
            blade = s.add(
                mse.Beam(f"{name} blade", length=0.25, width=(0.08, 0.02), height=thick, curvature_y=-1.0, elements=4)
            )
            if line == "wire":
                hanger = mse.Wire(f"{name} wire", length=0.4, radius=4e-4, young_modulus=2e11, poisson_ratio=0.3)
            else:
                hanger = mse.Spring(f"{name} wire", length=0.4, stiffness=1e5)
            s.add(hanger)
            s.clamp(upper, blade.frame(0), turn @ Pose.dx(0.3) @ inwards)
            s.clamp(blade.frame(1), hanger.frame(1))
            place = turn @ Pose.dxdydz(hook, 0.0, 0.02) @ inwards
            s.clamp(stage.add_frame(f"{side} hook", place), hanger.frame(0))
    return s


class PushAside(mse.MObject):
    """An effort ``-kp x2 - kd v2`` on the first of two bodies, and a drag on both."""

    gain: Real = Real("kp", unit="N/m", default=10.0)
    drag: Real = Real("of both", unit="N s/m", default=0.0)

    def power(self, frames, q, v, given):
        push = -self.gain * (frames[1].o[0] - 1.0) * frames[0].v[0]
        return push - self.drag * sum(a.v[0] * b.v[0] for a, b in zip(frames, given.frames, strict=True))


def pushed_rail(gain: float, drag: float = 0.0) -> mse.MSystem:
    """Masses of 2 and 1 kg on a rail, springs of 100 N/m to the ground and 50 N/m between them."""
    s = mse.MSystem("rail", gravity=(0, 0, 0))
    one = s.add(mse.RigidBody("one", mass=2.0, inertia=1.0))
    two = s.add(mse.RigidBody("two", mass=1.0, inertia=1.0, at=Pose.dx(1.0)))
    for k, body in enumerate((one, two)):
        guide = s.add(mse.Prismatic(f"rail {k}", axis=(1, 0, 0)))
        s.clamp(body.frame(0), guide.frame(0))
        s.clamp(s.ground, guide.frame(1), Pose.dx(float(k)))
    s.add(mse.Bushing("foot", stiffness=(100.0, 0, 0, 0, 0, 0)), between=(one, s.ground))
    spring = s.add(mse.Spring("between", length=1.0, stiffness=50.0))
    s.clamp(one.frame(0), spring.frame(0))
    s.clamp(two.frame(0), spring.frame(1))
    s.add(PushAside("control", gain=gain, drag=drag), between=(one, two))
    return s
