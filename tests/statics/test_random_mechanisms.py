"""Random mechanisms: what mse calls a working point has to be one, and what it refuses it has to say why.

``PYTHONPATH=tests python tests/statics/test_random_mechanisms.py 1000`` goes through as many seeds and prints what became of
them; a second number is the first seed, and ``statics`` leaves out the modes.
"""

from __future__ import annotations

import functools
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import mse
from mechanisms import Body, Link, Mechanism, Train, Verdict, check, crossed
from mse import Pose

SEEDS = 30
STYLES = ("tree", "loops", "planar", "rope", "rods")
KINDS = ("Revolute", "Prismatic", "Cylindrical", "Planar", "Universal", "Spherical", "Fixed", "PointOnLine", "Joint",
         "Rod")  # fmt: skip
SLIDING = {"Prismatic", "Cylindrical", "Planar", "PointOnLine", "Joint"}
FREE = (("z", "az"), ("x", "y", "az"), ("x",), ("ay",), ("x", "y", "z"), ("x", "ax", "ay", "az"), ("z", "ax"),
        ("ax", "az"), ("y", "ax", "ay"))  # fmt: skip


# -- the generator ---------------------------------------------------------------------------------------------------
class _Maker:
    """Draws a closed configuration first and joints that fit it, then where the search starts."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.style = STYLES[seed % len(STYLES)]
        self.flat = self.style in ("planar", "rope")
        self.count = int(self.rng.integers(2, 16))
        self.held = self.rng.random() > 0.08  # the others may fall without end
        self.at: dict[str, Pose] = {"ground": Pose()}
        self.masses: dict[str, float] = {}
        self.links: list[Link] = []
        self.values: dict[str, tuple[str, float]] = {}  # kind and coordinate of each joint with one, where it is closed
        self.make = {"tree": self._tree, "loops": self._loops, "planar": self._planar, "rope": self._rope,
                     "rods": self._rods}[self.style]  # fmt: skip

    def run(self) -> Mechanism:
        self.make()
        trains = self._trains()
        far = self.rng.choice(["closed", "off", "off", "off", "off", "wrong"])
        bodies = []
        for name, pose in self.at.items():
            if name != "ground":
                m = self.masses[name]
                size = self.rng.uniform(0.1, 0.4)
                inertia = m * size**2 * self.rng.uniform(0.2, 0.39, 3)
                bodies.append(Body(name, m, inertia, self._start(pose, far)))
        name = f"{self.style}, {self.count} bodies, starts {far}"
        return Mechanism(name, tuple(bodies), tuple(self.links), trains)

    def _start(self, pose: Pose, far: str) -> Pose:
        if far == "closed":
            return pose
        reach, turn = (2.0, np.pi) if far == "wrong" else (0.3, 0.5)
        d, a = self.rng.uniform(-reach, reach, 3), self.rng.uniform(-turn, turn, 3)
        if self.flat and self.rng.random() < 0.7:
            d[1] = a[0] = a[2] = 0.0
        return (Pose() if far == "wrong" else pose).moved(d, a)

    # -- parts --------------------------------------------------------------------------------------------------------
    def _body(self, near: str) -> str:
        name = f"body{len(self.masses)}"
        if self.flat:
            d, a = self.rng.uniform(-0.8, 0.8, 3) * (1, 0, 1), np.array([0.0, self.rng.uniform(-1, 1), 0.0])
        else:
            d, a = self.rng.uniform(-0.8, 0.8, 3), self.rng.uniform(-1, 1, 3)
        self.at[name] = self.at[near].moved(d, a)
        self.masses[name] = self.rng.uniform(0.5, 5.0)
        return name

    def _between(self, a: str, b: str) -> Pose:
        """A joint's frame somewhere between two bodies, as seen from the world."""
        share, spread = self.rng.uniform(0.0, 1.0), self.rng.uniform(-0.15, 0.15, 3)
        if self.flat:
            spread[1] = 0.0
        o = share * self.at[a].o + (1 - share) * self.at[b].o + spread
        return Pose(o) if self.flat else Pose(o, Pose.rotation(self.rng.uniform(-2, 2, 3)).U)

    def _join(self, kind: str, a: str, b: str) -> None:
        """A joint of that kind between two bodies that is closed where they are."""
        name = f"{kind.lower()}{len(self.links)}"
        if kind in ("Rod", "Spring"):
            self._line(kind, name, a, b)
            return
        seat = self._between(a, b)
        shift, turn = self.rng.uniform(-0.2, 0.2, 3), self.rng.uniform(-0.5, 0.5, 3)
        axis = np.array([0.0, 1.0, 0.0]) if self.flat else self.rng.choice([*np.eye(3), self.rng.normal(size=3)])
        axis = axis / np.linalg.norm(axis)
        spin, slide = Pose.rotation(turn[0] * axis), Pose(shift[0] * axis)
        options: dict = {"axis": axis}
        if kind == "Revolute":
            moved = spin
            if self.rng.random() < 0.3:
                options |= {"stiffness": self.rng.uniform(1, 50), "rest": self.rng.uniform(-0.5, 0.5)}
                options["preload"] = self._maybe(5.0)
            self.values[name] = (kind, turn[0])
        elif kind == "Prismatic":
            moved = slide
            if self.held and self.rng.random() < 0.5:
                options |= {
                    "stiffness": self._firm(),
                    "rest": self.rng.uniform(-0.2, 0.2),
                    "preload": self._maybe(20.0),
                }
            self.values[name] = (kind, shift[0])
        elif kind == "Cylindrical":
            moved = spin @ slide
        elif kind == "Planar":
            moved = Pose(shift - axis * (axis @ shift)) @ spin
        elif kind == "Universal":
            options = {"axis": (1, 0, 0), "second": (0, 1, 0)}
            moved = Pose.rx(turn[0]) @ Pose.ry(turn[1])
        elif kind == "Spherical":
            options, moved = {}, Pose.rotation(turn)
        elif kind == "Fixed":
            options, moved = {}, Pose()
        elif kind == "PointOnLine":
            moved = slide @ Pose.rotation(turn)
        else:
            free = FREE[self.rng.integers(len(FREE))]
            options = {"free": free}
            turns = [Pose.rotation(turn * np.eye(3)[i]) for i in range(3) if ("ax", "ay", "az")[i] in free]
            if len(turns) == 2:
                turns = [Pose.rotation(turn[i] * np.eye(3)[i]) for i in crossed(free)]
            moved = functools.reduce(lambda p, q: p @ q, turns, Pose(shift * [n in free for n in "xyz"]))
        self._link(kind, name, a, seat @ moved, b, seat, options)
        if kind in SLIDING and self.held and "stiffness" not in options:
            self._line("Spring", f"holding{len(self.links)}", a, b)

    def _link(self, kind, name, a, frame0, b, frame1, options) -> None:
        self.links.append(Link(kind, name, a, frame0.seen_from(self.at[a]), b, frame1.seen_from(self.at[b]), options))

    def _line(self, kind: str, name: str, a: str, b: str) -> None:
        spread = self.rng.uniform(-0.3, 0.3, (2, 3)) * ((1, 0, 1) if self.flat else (1, 1, 1))
        ends = Pose(self.at[a].o + spread[0]), Pose(self.at[b].o + spread[1])
        distance = float(np.linalg.norm(ends[0].o - ends[1].o))
        if kind == "Spring":
            weight = 10.0 * (sum(self.masses.values()) + 1.0)
            options = {
                "length": distance * self.rng.uniform(0.7, 1.1),
                "stiffness": weight / self.rng.uniform(0.05, 0.5),
            }
        else:
            options = {"length": distance}
        self._link(kind, name, a, ends[0], b, ends[1], options)

    def _firm(self) -> float:
        """A stiffness that gives way by some 0.05 to 0.5 m under all that is there so far."""
        return 10.0 * (sum(self.masses.values()) + 1.0) / self.rng.uniform(0.05, 0.5)

    def _maybe(self, most: float) -> float:
        return float(self.rng.choice([0.0, self.rng.uniform(-most, most)]))

    def _pick(self, exclude: str = "") -> str:
        return str(self.rng.choice([n for n in self.at if n != exclude]))

    # -- styles -------------------------------------------------------------------------------------------------------
    def _tree(self) -> None:
        for _ in range(self.count):
            near = self._pick()
            kind = str(self.rng.choice(KINDS[:-1]))
            self._join(kind, self._body(near), near)
        for _ in range(self.rng.integers(0, 3)):
            a = self._pick("ground")
            self._join("Spring", a, self._pick(a))

    def _loops(self) -> None:
        self._tree()
        for _ in range(self.rng.integers(1, 4)):
            a = self._pick("ground")
            self._join(str(self.rng.choice([*KINDS, "Spherical", "PointOnLine", "Rod"])), a, self._pick(a))

    def _planar(self) -> None:
        for _ in range(self.count):
            near = self._pick()
            kind = str(self.rng.choice(["Revolute", "Revolute", "Revolute", "Planar", "Rod"]))
            body = self._body(near)
            self._join(kind, body, near)
            if kind == "Rod":  # keeps it in its plane
                self._join("Planar", body, "ground")
        for _ in range(self.rng.integers(1, 3)):
            a = self._pick("ground")
            self._join("Revolute", a, self._pick(a))

    def _rope(self) -> None:
        """Rods from pin to pin, a shape drawn at random: hinges about y, or a ball joint among them, or springs."""
        near, place = "ground", Pose()
        for k in range(self.count):
            length, lean = self.rng.uniform(0.3, 1.0), Pose.ry(self.rng.uniform(-1.2, 1.2))
            middle = place @ Pose(lean.apply((0.5 * length, 0, 0)), lean.U)
            name = f"body{k}"
            self.at[name], self.masses[name] = middle, self.rng.uniform(0.5, 2.0)
            kind = "Spherical" if k == self.count // 2 and self.rng.random() < 0.3 else "Revolute"
            self._pin(kind, name, near, middle @ Pose.dx(-0.5 * length))
            near, place = name, Pose((middle @ Pose.dx(0.5 * length)).o)
        self._pin("Revolute", near, "ground", place)
        if self.rng.random() < 0.3:
            self._join("Spring", self._pick("ground"), "ground")

    def _pin(self, kind: str, a: str, b: str, seat: Pose) -> None:
        options = {"axis": (0, 1, 0)} if kind == "Revolute" else {}
        frame = Pose(seat.o)
        self._link(kind, f"hinge{len(self.links)}", a, frame @ Pose(U=self.at[a].U), b, frame @ Pose(U=self.at[b].U),
                   options)  # fmt: skip

    def _rods(self) -> None:
        """Bodies on two to six rods each: from what turns freely to what is held with nothing to spare, and beyond."""
        for _ in range(self.count):
            near = self._pick()
            body = self._body(near)
            for k in range(self.rng.integers(2, 7)):
                self._join("Rod", body, near if k < 4 else self._pick(body))

    def _trains(self) -> tuple[Train, ...]:
        names = list(self.values)
        if len(names) < 2 or self.rng.random() > 0.3:
            return ()
        chosen = [str(n) for n in self.rng.choice(names, 2, replace=False)]
        ratio = dict(zip(chosen, (1.0, float(self.rng.choice([1.0, -1.0, -2.0, 0.5]))), strict=True))
        return (Train("train", ratio, sum(c * self.values[n][1] for n, c in ratio.items())),)


# -- the judgment ---------------------------------------------------------------------------------------------------
@dataclass
class Outcome:
    plan: Mechanism
    what: str  # solved, unstable, refused, or wrong
    why: str = ""
    verdict: Verdict | None = None
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


def faults_of(plan: Mechanism, wp, linear: bool) -> tuple[Verdict, list[str]]:
    """Everything in which a result that claims to be a working point differs from what the poses themselves say."""
    v = check(plan, wp)
    found = []
    if not v.mismatch < 1e-9:
        found.append(f"open: {v.worst} by {v.mismatch:.1e}")
    if not v.residual < 1e-8:
        found.append(f"forces do not balance: {v.residual:.1e}")
    if found:
        return v, found
    low = float(v.lowest.min(initial=np.inf))
    if wp.stable and low < -1e-7:
        found.append(f"said to be stable, lowest eigenvalue {low:.1e}")
    if wp.unstable and low > 1e-6:
        found.append(f"said to be unstable, lowest eigenvalue {low:.1e}")
    least, most = (int(np.sum(np.abs(v.lowest) < x)) for x in (1e-14, 1e-6))
    if not least <= len(wp.free) <= most:
        found.append(f"{len(wp.free)} free motions told, between {least} and {most} there")
    if linear and len(v.frequencies):
        ours = np.sort(np.sign(v.frequencies) * v.frequencies**2)
        modes = wp.linearize().modes()
        theirs = np.sort((-((modes.eigenvalues / (2 * np.pi)) ** 2)).real)
        if len(ours) != len(theirs):
            found.append(f"{len(theirs)} modes, expected {len(ours)}")
        elif (off := float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1e-3))) > 1e-7:
            found.append(f"squared frequencies differ by {off:.1e} of the largest")
    return v, found


def names_something(plan: Mechanism, reason: str) -> bool:
    names = [b.name for b in plan.bodies] + [k.name for k in plan.links] + [t.name for t in plan.trains]
    return any(re.search(rf"\b{re.escape(name)}\b", reason) for name in names)


def untruths(plan: Mechanism, reason: str, held: bool) -> list[str]:
    """What is wrong with a refusal: all of these can be closed, and where all slides are held nothing falls for ever."""
    found = []
    if not names_something(plan, reason):
        found.append("a refusal that names nothing")
    if "contradict" in reason and "start nearer" not in reason:
        found.append("said to be impossible, but drawn closed")
    if "no stiffness" in reason and held:
        found.append("said to fall, but held")
    return [f"{fault}: {reason}" for fault in found]


@functools.cache
def outcome(seed: int, linear: bool = True) -> Outcome:
    maker = _Maker(seed)
    plan = maker.run()
    plan = replace(plan, name=f"seed {seed}: {plan.name}")
    start = time.perf_counter()
    out = Outcome(plan, "wrong")
    try:
        wp = plan.system().find_working_point(throw=False)
        out.seconds = time.perf_counter() - start
        if wp.converged:
            out.verdict, out.faults = faults_of(plan, wp, linear)
            out.what = "solved" if wp.stable else "unstable"
        else:
            out.what, out.why = "refused", wp.reason
    except mse.MseError as refusal:
        out.what, out.why = "refused", f"{type(refusal).__name__}: {refusal}"
    except Exception as crash:
        out.faults = [f"crash: {type(crash).__name__}: {crash}"]
    if out.what == "refused":
        out.faults = untruths(plan, out.why, maker.held)
    if out.faults:
        out.what, out.why = "wrong", "; ".join(out.faults)
    return out


# -- tests -------------------------------------------------------------------------------------------------------------
# every fourth with the kernels of other processors, too
@pytest.mark.slow
@pytest.mark.parametrize("seed", [pytest.param(k, marks=[pytest.mark.rounding] * (k % 4 == 0)) for k in range(SEEDS)])
def test_a_random_mechanism_is_solved_or_refused_for_a_reason(seed):
    found = outcome(seed)
    assert not found.faults, f"{found.plan.name}: {found.why}"


@pytest.mark.slow
def test_most_random_mechanisms_are_solved():
    """All of them can be closed; those that are not held may fall for ever, which is for the reason to say."""
    found = Counter(outcome(seed).what for seed in range(SEEDS))
    assert found["solved"] >= 0.85 * SEEDS, found


@pytest.mark.slow
def test_the_closed_configurations_are_closed():
    """The generator's own claim, by the geometry that judges the results."""
    for seed in range(SEEDS):
        maker = _Maker(seed)
        plan = maker.run()
        result = check(plan, _AsDrawn({f"{name}.center": p for name, p in maker.at.items() if name != "ground"}))
        assert result.mismatch < 1e-12, (seed, result.worst)
        assert result.residual > 1e-8 or not result.freedoms  # and are no working points, but where all is held


@dataclass
class _AsDrawn:
    poses: dict[str, Pose]


# -- the long run ------------------------------------------------------------------------------------------------------
def report(count: int, first: int = 0, linear: bool = True) -> None:
    found = {}
    for seed in range(first, first + count):
        found[seed] = outcome(seed, linear)
        if found[seed].what in ("wrong", "refused"):
            print(f"{seed:6d} {found[seed].what:8s} {found[seed].plan.name}: {found[seed].why[:300]}", flush=True)
    kinds = ("solved", "unstable", "refused", "wrong")
    print(f"\n{'style':10s}" + "".join(f"{k:>10s}" for k in kinds) + f"{'seconds':>10s}{'slowest':>10s}")
    for style in (*STYLES, "all"):
        here = [o for s, o in found.items() if style in ("all", STYLES[s % len(STYLES)])]
        if here:
            times = [o.seconds for o in here]
            counted = Counter(o.what for o in here)
            print(
                f"{style:10s}" + "".join(f"{counted[k]:10d}" for k in kinds) + f"{sum(times):10.1f}{max(times):10.2f}"
            )
    reasons = Counter(re.sub(r"[a-z]+\d+|[-+]?\d[\d.]*(e[-+]?\d+)?", "#", o.why)[:110] for o in found.values() if o.why)
    print("\nreasons")
    for reason, times in reasons.most_common(25):
        print(f"{times:6d} {reason}")
    worst = max((o for o in found.values() if o.verdict), key=lambda o: o.verdict.residual, default=None)
    if worst:
        print(f"\nlargest residual {worst.verdict.residual:.1e} ({worst.plan.name})")


if __name__ == "__main__":
    numbers = [int(x) for x in sys.argv[1:] if x.isdigit()]
    report(*(numbers or [100]), linear="statics" not in sys.argv)
