"""Systems with elements whose laws are records, with wheels and with gears."""

import numpy as np

import mse
from mse import Pose
from mse.elements.parameters import Real

BOX = {"inertia": (0.1, 0.2, 0.15), "frames": {"top": Pose.dz(0.5), "low": Pose.dxdydz(0.1, 0.2, -0.5)}}


class Pair(mse.MObject):
    frame_names = ("a", "b")
    strength: Real = Real("how strong it is", default=2.0)


class Cubic(Pair):
    def energy(self, frames, q):
        d = frames[0].o - frames[1].o
        return self.strength * (d @ d) ** 2 + 0.1 * (frames[0].U[:, 0] @ frames[1].U[:, 1])


class Weighed(Pair):
    def gravity_energy(self, frames, q, gravity):
        return -self.strength * (gravity @ frames[0].o)


class Drag(Pair):
    def dissipation(self, frames, q, v):
        slip = frames[0].v - frames[1].v
        return self.strength * (slip @ slip) ** 1.5 + 0.1 * (frames[0].w @ frames[0].w)


class Resisting(Pair):
    def damping_matrix(self, frames, q=()):
        d = frames[0].o - frames[1].o
        row = np.concatenate([d, frames[0].U[:, 1], -d, np.zeros(3)])
        return self.strength * np.outer(row, row)


class Feeding(Pair):
    def power(self, frames, q, v, given):
        push = self.strength * np.cross(np.array([0.0, 0.3, 1.0]), given.frames[0].v) + np.array([0.1, 0.0, 0.0])
        return push @ (frames[0].v - frames[1].v)


class Whirling(Pair):
    conservative = False

    def forces(self, frames, q, gravity=None):
        force = self.strength * np.cross(np.array([0.0, 0.0, 1.0]), frames[0].o - frames[1].o)
        return np.concatenate([force, np.zeros(3), -force, np.zeros(3)])

    def stiffness_parts(self, frames, q, gravity=None):
        turn = self.strength * np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        return {self.parts[0]: -np.kron(np.array([[1, -1], [-1, 1]]), np.pad(turn, [(0, 3), (0, 3)]))}


class Bowl(Pair):
    def constraint(self, frames, q):
        d = frames[1].U.T @ (frames[0].o - frames[1].o)
        return [d[2] - 0.3 * d[0] ** 2 - 0.2 * d[1] ** 2, frames[0].U[:, 0] @ frames[1].U[:, 1]]


class Edge(mse.MObject):
    frame_names = ("a",)

    def flow_constraint(self, frames, q, v):
        return [frames[0].U[:, 1] @ frames[0].v]


class Stop(Pair):
    """Pushes below a height; nothing tells steps where it begins."""

    def energy(self, frames, q):
        gap = frames[0].o[2] + 0.9
        return 0.0 if gap > 0.0 else 300.0 * self.strength * gap**4


def pendulum(*added):
    """A body on a ball joint, and elements between it and the ground."""
    system = mse.MSystem("pendulum", gravity=(0.3, 0.2, -9.81))
    body = system.add(mse.RigidBody("body", mass=1.0, at=Pose.dz(-0.5), **BOX))
    system.add(mse.Spherical("ball"), between=(body.frame("top"), system.ground))
    for obj in added:
        system.add(
            obj, between=(body.frame("low"), system.ground @ Pose.dxdydz(0.3, 0.1, -0.2))[: len(obj.frame_names)]
        )
    return system


def loaded():
    torque = {"force": (0.1, 0.0, 0.2), "torque": (0.01, 0.02, 0.0)}
    return pendulum(mse.Load("weight", force=(0.5, 0.3, 0.2)), mse.Load("thrust", axes="frame", **torque))


def bowl(scale=1.0):
    """Masses, and all forces with them, may have another ``scale``."""
    system = mse.MSystem("bowl", gravity=(0, 0, -9.81))
    box = BOX | {"inertia": tuple(scale * x for x in BOX["inertia"])}
    one, two = (system.add(mse.RigidBody(name, mass=scale * (1.0 + k), **box)) for k, name in enumerate(("one", "two")))
    system.add(Bowl("bowl"), between=(one.frame("low"), two.frame("top")))
    system.add(mse.Spring("spring", length=0.4, stiffness=scale * 30.0), between=(two.frame("low"), system.ground))
    return system


def skate():
    system = mse.MSystem("skate", gravity=(0, 0, -9.81))
    body = system.add(mse.RigidBody("body", mass=1.0, **BOX))
    slope = system.ground @ Pose.rotation((0.3, 0.1, 0))
    system.add(mse.Joint("plane", free=("x", "y", "az")), between=(body, slope))
    system.add(Edge("edge"), between=(body.frame("low"),))
    return system


def turntable(rolling):
    """What rolls on a plate that turns and tilts."""
    system = mse.MSystem("turntable", gravity=(0, 0, -9.81))
    plate = system.add(mse.RigidBody("plate", mass=5.0, inertia=(0.5, 0.6, 0.7)))
    wheel = system.add(mse.RigidBody("wheel", mass=1.0, inertia=(0.03, 0.05, 0.03), at=Pose.dxdydz(0.4, 0.1, 0.3)))
    system.add(mse.Universal("mount", axis=(0, 0, 1), second=(1, 0, 0)), between=(plate, system.ground))
    system.add(rolling, between=(wheel, plate))
    return system


def geared(ratios, **options):
    """Two links in a row, whose hinges a gear couples."""
    system = mse.MSystem("drive", gravity=(0, 0, -9.81))
    one = system.add(mse.RigidBody("one", mass=1.0, at=Pose.dz(-0.5), **BOX))
    two = system.add(mse.RigidBody("two", mass=0.5, at=Pose.dxdydz(0.1, 0.2, -1.5), **BOX))
    system.add(mse.Revolute("hinge1", axis=(0, 1, 0), damping=0.02), between=(one.frame("top"), system.ground))
    system.add(mse.Revolute("hinge2", axis=(0, 1, 1)), between=(two.frame("top"), one.frame("low")))
    system.add(mse.Gear("gear", joints=dict(zip(("hinge1", "hinge2"), ratios, strict=True)), **options))
    return system


def forked():
    """A gear between the angles of two cardan joints, whose axes do not stay at right angles to what they turn."""
    system = mse.MSystem("forked", gravity=(0, 0, -9.81))
    one, two = (system.add(mse.RigidBody(name, mass=1.0, at=Pose.dz(-0.5), **BOX)) for name in ("one", "two"))
    for k, body in enumerate((one, two)):
        joint = mse.Universal(f"cross{k}", axis=(1, 0, 0), second=(0, 1, 0))
        system.add(joint, between=(body.frame("top"), system.ground @ Pose.dx(0.1 * k)))
    system.add(mse.Gear("gear", joints={"cross0.angle1": 1.0, "cross1.angle2": -0.6}))
    return system


def rack():
    system = mse.MSystem("rack", gravity=(0, 0, 0))
    pinion = system.add(mse.RigidBody("pinion", mass=1.0, inertia=0.1))
    bar = system.add(mse.RigidBody("bar", mass=0.5, inertia=0.05, at=Pose.dx(1)))
    system.add(mse.Revolute("hinge"), between=(pinion, system.ground))
    system.add(mse.Prismatic("slide", axis=(1, 0, 0), stiffness=30.0), between=(bar, system.ground))
    system.add(mse.Gear("gear", joints={"hinge": 0.3, "slide": -1.0}))
    return system


def chained(*gears, bodies=4):
    """Bodies in a row on hinges about several axes and a slide, whose coordinates ``gears`` couple, ratios by joint."""
    system = mse.MSystem("chain", gravity=(0.3, 0, -9.81))
    on = system.ground
    for k in range(bodies):
        body = system.add(
            mse.RigidBody(f"body{k}", mass=1.0 - 0.2 * k, at=Pose.dxdydz(0.1 * k, 0.2 * k, -0.5 - k), **BOX)
        )
        axis = [(0, 1, 0), (0.2, 1, 0), (1, 0, 0.3), (0, 0, 1)][k % 4]
        joint = (
            mse.Prismatic("joint3", axis=axis, stiffness=50.0)
            if k == 3
            else mse.Revolute(f"joint{k}", axis=axis, damping=0.1)
        )
        system.add(joint, between=(body.frame("top"), on))
        on = body.frame("low")
    for k, ratios in enumerate(gears):
        system.add(mse.Gear(f"gear{k}", joints=ratios, offset=0.01 * k))
    return system


class Balanced(mse.MObject):
    """Three places whose heights, and whose distances across, have given sums."""

    frame_names = ("a", "b", "c")

    def constraint(self, frames, q):
        one, two, three = (f.o for f in frames)
        return [one[2] + 2.0 * two[2] + three[2], (one - two) @ (three - two) + frames[0].U[:, 0] @ frames[2].U[:, 1]]


class Level(mse.MObject):
    frame_names = ("a", "b", "c")

    def flow_constraint(self, frames, q, v):
        return [frames[0].U[:, 2] @ (frames[0].v + frames[1].v - 2.0 * frames[2].v)]


def balanced(scale=1.0):
    """Two balances of five bodies and the ground, and what has no weight in the middle."""
    system = mse.MSystem("balanced", gravity=(0, 0, -9.81))
    bodies = []
    for k in range(5):
        box = BOX | {"inertia": tuple(scale * x for x in BOX["inertia"])}
        bodies.append(
            system.add(
                mse.RigidBody(f"body{k}", mass=scale * (1.0 + k), at=Pose.dxdydz(0.3 * k, 0.1 * k * k, 0), **box)
            )
        )
    for k, body in enumerate(bodies):
        between = (body.frame("low"), system.ground @ Pose.dxdydz(0.3 * k, 0.2, -0.4))
        system.add(mse.Spring(f"spring{k}", length=0.3, stiffness=scale * 40.0), between=between)
    for name, frames in (
        ("first", (bodies[0], bodies[1].frame("top"), bodies[2])),
        ("second", (bodies[3].frame("low"), system.ground @ Pose.dxdydz(1.1, 0.9, 0.3), bodies[4])),
    ):
        system.add(Balanced(name), between=frames)
    system.add(Level("level"), between=(bodies[1], bodies[4].frame("low"), bodies[3]))
    return system


SYSTEMS = {
    "energy": lambda: pendulum(Cubic("it"), Cubic("other", strength=3.0)),
    "weight": lambda: pendulum(Weighed("it")),
    "dissipation": lambda: pendulum(Drag("it")),
    "damping": lambda: pendulum(Resisting("it")),
    "eddies": lambda: pendulum(mse.EddyCurrentDamper("it", damping=np.array([0.3, 0.2, 0.1, 0.01, 0.02, 0.03]))),
    "power": lambda: pendulum(Feeding("it"), Cubic("other")),
    "forces": lambda: pendulum(Whirling("it")),
    "loads": loaded,
    "constraint": bowl,
    "light": lambda: bowl(1e-9),
    "heavy": lambda: bowl(1e9),
    "edge": skate,
    "disc": lambda: turntable(mse.RollingDisc("tire", axis=(0, 1, 0), radius=0.3)),
    "sphere": lambda: turntable(mse.RollingSphere("ball", radius=0.3)),
    "gear": lambda: geared((1.5, -0.7)),
    "forks": forked,
    "rack": rack,
    "neighbours": lambda: chained({"joint1": 1.0, "joint2": -0.7}),
    "train": lambda: chained({"joint0": 1.0, "joint1": 0.5, "joint2": -0.7, "joint3": 0.3}),
    "crossing": lambda: chained({"joint0": 1.0, "joint2": -0.7}, {"joint1": 1.0, "joint2": 0.4, "joint4": 2.0}, bodies=5),
    "three": balanced,
    "three light": lambda: balanced(1e-6),
}  # fmt: skip
