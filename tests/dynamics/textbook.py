"""Mechanisms with published motions, as systems of mse."""

import itertools

import numpy as np

import mse
from mse import Pose

DOWN = (0, 0, -9.81)


def slender(mass, length, axis=2):
    """Principal moments of a thin rod along an axis."""
    j = np.full(3, mass * length**2 / 12)
    j[axis] = 0.0
    return j


def double_pendulum():
    """Points of 1.5 and 0.9 kg, without inertia, on rods of 1 and 0.7 m; angles from hanging towards +x."""
    system = mse.MSystem("double", gravity=DOWN)
    upper = system.add(mse.RigidBody("upper", mass=1.5, at=Pose.dz(-1.0), frames={"top": Pose.dz(1.0)}))
    lower = system.add(mse.RigidBody("lower", mass=0.9, at=Pose.dz(-1.7), frames={"top": Pose.dz(0.7)}))
    system.add(mse.Revolute("one", axis=(0, -1, 0)), between=(upper.frame("top"), system.ground))
    system.add(mse.Revolute("two", axis=(0, -1, 0)), between=(lower.frame("top"), upper))
    return system


def trolley():
    """A trolley of 1 kg with two uniform rods in a row, dampers on slide and hinges."""
    system = mse.MSystem("trolley", gravity=DOWN)
    cart = system.add(mse.RigidBody("cart", mass=1.0, inertia=0.1))
    frames = {"top": Pose.dz(0.3), "low": Pose.dz(-0.3)}
    one = system.add(mse.RigidBody("one", mass=0.8, inertia=slender(0.8, 0.6), at=Pose.dz(-0.3), frames=frames))
    top = {"top": Pose.dz(0.25)}
    two = system.add(mse.RigidBody("two", mass=0.5, inertia=slender(0.5, 0.5), at=Pose.dz(-0.85), frames=top))
    system.add(mse.Prismatic("slide", axis=(1, 0, 0), damping=0.5), between=(cart, system.ground))
    system.add(mse.Revolute("phi1", axis=(0, -1, 0), damping=0.02), between=(one.frame("top"), cart))
    system.add(mse.Revolute("phi2", axis=(0, -1, 0), damping=0.02), between=(two.frame("top"), one.frame("low")))
    return system


def four_points():
    """Points of 2.5 g on four links of 1/4 m."""
    system = mse.MSystem("chain", gravity=DOWN)
    above = system.ground
    for k in range(4):
        at = Pose.dz(-0.25 * (k + 1))
        point = system.add(mse.RigidBody(f"p{k}", mass=0.0025, at=at, frames={"top": Pose.dz(0.25)}))
        system.add(mse.Revolute(f"h{k}", axis=(0, -1, 0)), between=(point.frame("top"), above))
        above = point
    return system


def free_body():
    """A body that tumbles: 0.01, 0.02, 0.03 kg m2."""
    system = mse.MSystem("tumbler", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=(0.01, 0.02, 0.03)))
    free = mse.Joint("free", free=("x", "y", "z", "ax", "ay", "az"))
    system.add(free, between=(body, system.ground))
    return system


def bricard():
    """Six hinges on five rods of 1 kg and 1 m, one row of whose constraints depends on the others everywhere."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = [np.eye(3)[k] for k in (1, 2, 0, 1, 2, 0)]
    system = mse.MSystem("bricard", gravity=(0, -9.81, 0))
    rods = []
    for k, (a, b) in enumerate(itertools.pairwise(points)):
        along = np.abs(b - a)
        j = np.where(along > 0.5, 0.1**2 / 6, (1.0 + 0.1**2) / 12)
        frames = {"one": Pose(0.5 * (a - b), np.eye(3)), "two": Pose(0.5 * (b - a), np.eye(3))}
        rods.append(
            system.add(mse.RigidBody(f"rod{k}", mass=1.0, inertia=j, at=Pose(0.5 * (a + b), np.eye(3)), frames=frames))
        )
    ends = [system.ground, *(r.frame("two") for r in rods)]
    for k, axis in enumerate(axes):
        hinge = mse.Revolute(f"h{k}", axis=tuple(axis))
        if k < 5:
            system.add(hinge, between=(rods[k].frame("one"), ends[k]))
        else:
            system.add(hinge)
            system.clamp(rods[4].frame("two"), hinge.frame(0))
            system.clamp(system.ground, hinge.frame(1), Pose(points[5], np.eye(3)))
    return system


def four_bars(windows):
    """The N-four-bar mechanism of the IFToMM library: windows of rods of 1 m and 1 kg, upright."""
    system = mse.MSystem("windows", gravity=(0, 0, -9.81))
    frames = {"low": Pose.dz(-0.5), "high": Pose.dz(0.5)}
    posts = []
    for k in range(windows + 1):
        at = Pose.dxdydz(k, 0, 0.5)
        post = system.add(mse.RigidBody(f"post{k}", mass=1.0, inertia=slender(1.0, 1.0), at=at, frames=frames))
        hinge = system.add(mse.Revolute(f"low{k}", axis=(0, 1, 0)))
        system.clamp(post.frame("low"), hinge.frame(0))
        system.clamp(system.ground, hinge.frame(1), Pose.dx(k))
        posts.append(post)
    ends = {"left": Pose.dx(-0.5), "right": Pose.dx(0.5)}
    for k in range(windows):
        at = Pose.dxdydz(k + 0.5, 0, 1)
        bar = mse.RigidBody(f"bar{k}", mass=1.0, inertia=slender(1.0, 1.0, 0), at=at, frames=ends)
        bar = system.add(bar)
        left, right = mse.Revolute(f"left{k}", axis=(0, 1, 0)), mse.Revolute(f"right{k}", axis=(0, 1, 0))
        system.add(left, between=(bar.frame("left"), posts[k].frame("high")))
        system.add(right, between=(bar.frame("right"), posts[k + 1].frame("high")))
    return system


def fourbar1():
    """Fourbar1 of Modelica's library: two hinges, a slide, a universal and a ball joint in a loop; gravity along -y."""

    def rod(name, start, along):
        along, mass = np.asarray(along), 7700 * np.pi * 0.025**2 * np.linalg.norm(along)
        n = along / np.linalg.norm(along)
        length, radius = np.linalg.norm(along), 0.025
        across = mass * (3 * radius**2 + length**2) / 12
        j = across * np.eye(3) + (0.5 * mass * radius**2 - across) * np.outer(n, n)
        ends = {"a": Pose(-0.5 * along, np.eye(3)), "b": Pose(0.5 * along, np.eye(3))}
        at = Pose(np.asarray(start) + 0.5 * along, np.eye(3))
        return system.add(mse.RigidBody(name, mass=mass, inertia=j, at=at, frames=ends))

    system = mse.MSystem("fourbar", gravity=(0, -9.80665, 0))
    crank = rod("crank", (0, 0, 0), (0, 0.5, 0.1))
    slider = rod("slider", (1, 0, 0), (0, 0.2, 0))
    coupler = rod("coupler", (1, 0.2, 0), (-1, 0.3, 0.1))
    system.add(mse.Revolute("hinge", axis=(1, 0, 0)), between=(crank.frame("a"), system.ground))
    slide = system.add(mse.Prismatic("slide", axis=(1, 0, 0)))
    system.clamp(slider.frame("a"), slide.frame(0))
    system.clamp(system.ground, slide.frame(1), Pose.dx(1.0))
    cross = mse.Universal("cross", axis=(0, 1, 0), second=(0, 0, 1))
    system.add(cross, between=(coupler.frame("a"), slider.frame("b")))
    system.add(mse.Spherical("ball"), between=(coupler.frame("b"), crank.frame("b")))
    return system


def slider_crank():
    """A crank of 0.1 m in balance, driven, a rod of 0.3 m and 0.8 kg, and a slider of 1.5 kg on a level slide."""
    system = mse.MSystem("slider-crank", gravity=DOWN)
    wheel = system.add(mse.RigidBody("wheel", mass=1.0, inertia=0.01, frames={"pin": Pose.dx(0.1)}))
    ends = {"a": Pose.dx(-0.15), "b": Pose.dx(0.15)}
    rod = system.add(mse.RigidBody("rod", mass=0.8, inertia=0.006, at=Pose.dx(0.25), frames=ends))
    slider = system.add(mse.RigidBody("slider", mass=1.5, inertia=0.001, at=Pose.dx(0.4)))
    system.add(mse.Revolute("crank", axis=(0, -1, 0), motor="position"), between=(wheel, system.ground))
    system.add(mse.Revolute("big", axis=(0, 1, 0)), between=(rod.frame("a"), wheel.frame("pin")))
    system.add(mse.Revolute("small", axis=(0, 1, 0)), between=(slider, rod.frame("b")))
    slide = system.add(mse.Prismatic("slide", axis=(1, 0, 0)))
    system.clamp(slider.frame(0), slide.frame(0))
    system.clamp(system.ground, slide.frame(1), Pose.dx(0.4))
    return system


def squeezer(p, start):
    """Andrews' squeezer as seven bodies in space on ten hinges, with its spring and its torque."""

    def along(angle):
        return np.array([np.cos(angle), np.sin(angle), 0.0])

    def normal(angle):
        return np.array([np.sin(angle), -np.cos(angle), 0.0])

    def body(name, center, mass, inertia, **points):
        frames = {k: Pose(x - center, np.eye(3)) for k, x in points.items()}
        at = Pose(center, np.eye(3))
        return system.add(mse.RigidBody(name, mass=mass, inertia=(inertia, inertia, inertia), at=at, frames=frames))

    def pin(name, one, other):
        system.add(mse.Revolute(name), between=(one, other))

    def seat(name, point, place):
        hinge = system.add(mse.Revolute(name))
        system.clamp(point, hinge.frame(0))
        system.clamp(system.ground, hinge.frame(1), Pose(place, np.eye(3)))

    system = mse.MSystem("squeezer", gravity=(0, 0, 0))
    beta, theta, gamma, phi, delta, omega, epsilon = start
    o, a, b, c = np.zeros(3), *(np.array([p["x" + k], p["y" + k], 0.0]) for k in "abc")
    crank = p["rr"] * along(beta)
    common = crank - p["d"] * along(beta + theta)
    pin5, pin7 = a + p["zt"] * along(delta), a + p["u"] * normal(epsilon)
    k1 = body("k1", p["ra"] * along(beta), p["m1"], p["i1"], o=o, pin=crank)
    k2 = body("k2", crank - p["da"] * along(beta + theta), p["m2"], p["i2"], pin=crank, common=common)
    far = np.hypot(p["sa"], p["sb"])
    spring = b + p["sd"] * along(gamma) + p["sc"] * normal(gamma)
    k3 = body("k3", b + far * along(gamma), p["m3"], p["i3"], b=b, common=common, spring=spring)
    turn = phi + delta
    k4 = body("k4", pin5 + (p["e"] - p["ea"]) * normal(turn), p["m4"], p["i4"], pin=pin5, common=common)
    k5 = body("k5", a + np.hypot(p["ta"], p["tb"]) * along(delta), p["m5"], p["i5"], a=a, pin=pin5)
    turn = omega + epsilon
    k6 = body("k6", pin7 + (p["zf"] - p["fa"]) * along(turn), p["m6"], p["i6"], pin=pin7, common=common)
    k7 = body("k7", a + np.hypot(p["ua"], p["ub"]) * along(epsilon), p["m7"], p["i7"], a=a, pin=pin7)
    seat("beta", k1.frame("o"), o)
    seat("gamma", k3.frame("b"), b)
    seat("delta", k5.frame("a"), a)
    seat("epsilon", k7.frame("a"), a)
    pin("theta", k2.frame("pin"), k1.frame("pin"))
    pin("phi", k4.frame("pin"), k5.frame("pin"))
    pin("omega", k6.frame("pin"), k7.frame("pin"))
    for name, link in (("c2", k2), ("c4", k4), ("c6", k6)):
        pin(name, link.frame("common"), k3.frame("common"))
    elastic = system.add(mse.Spring("spring", length=p["l0"], stiffness=p["c0"]))
    system.clamp(k3.frame("spring"), elastic.frame(0))
    system.clamp(system.ground, elastic.frame(1), Pose(c, np.eye(3)))
    system.add(mse.Load("motor", torque=(0, 0, p["mom"])), between=(k1,))
    return system


def count_leaps(monkeypatch, steps):
    """How many steps each call of ``leap`` of a class makes from now on."""
    taken, leap = [], steps.leap

    def counted(*given):
        found = leap(*given)
        if found is not None:
            taken.append(len(found[0].begins))
        return found

    monkeypatch.setattr(steps, "leap", counted)
    return taken


def tower():
    """A heavy head on a beam of 100 m, which the wind pushes; an eye sees how far."""
    system = mse.MSystem("tower", gravity=(0, 0, -9.81))
    upright = Pose.ry(-np.pi / 2)
    tower = system.add(mse.RoundBeam("tower", length=100.0, radius=1.5, elements=1))
    system.clamp(system.ground @ upright, tower.frame(0))
    head = system.add(mse.RigidBody("head", mass=3e5, inertia=1e6, at=Pose.dz(100.0)))
    system.clamp(tower.frame(1), head.frame(0) @ upright)
    system.add(mse.ForceActuator("wind"), between=(system.ground, head))
    system.add(mse.PositionSensor("eye"), between=(head, system.ground @ Pose.dz(100.0)))
    return system


def crane():
    """A pendulum on a cart, which a coil pushes."""
    s = mse.MSystem("crane", gravity=(0, 0, -9.81))
    cart = s.add(mse.RigidBody("cart", mass=2.0, inertia=0.1))
    load = s.add(mse.RigidBody("load", mass=1.0, inertia=0.01, at=Pose.dz(-0.5), frames={"top": Pose.dz(0.5)}))
    s.add(mse.Prismatic("rail", axis=(1, 0, 0), damping=0.3), between=(cart, s.ground))
    s.add(mse.Revolute("hinge", axis=(0, -1, 0)), between=(load.frame("top"), cart))
    s.add(mse.ForceActuator("coil"), between=(s.ground, cart))
    return s
