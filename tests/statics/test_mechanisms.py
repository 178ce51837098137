"""Pendulums, chains, ropes of rods and four-bars against answers in angles; and the oracle against itself."""

from __future__ import annotations

import mechanism_figures as figures
import numpy as np
import pytest

from mechanisms import ROWS, Body, Link, Mechanism, Poses, Train, at_angles, chain, chain_angles, check
from mse import Pose

pytestmark = pytest.mark.rounding

Y = (0.0, 1.0, 0.0)
SLENDER = (1e-6, 1 / 12, 1 / 12)  # of a rod of 1 m and 1 kg along x


def frequencies(wp) -> np.ndarray:
    return np.sort(wp.linearize().modes().frequencies_hz)


def solved(plan: Mechanism):
    wp = plan.system().find_working_point()
    v = check(plan, wp)
    assert v.mismatch < 1e-9, v
    assert v.residual < 1e-8, v
    assert wp.stable
    assert v.lowest.min(initial=1.0) > -1e-7, v
    return wp, v


def rope_plan(rods: int, span: float, angles, offsets=None) -> Mechanism:
    return chain(f"rope of {rods}", (1.0,) * rods, (1.0,) * rods, angles, end=(span, 0.0), offsets=offsets)


# -- the figures as they are quoted, which other people's programs gave -------------------------------------------------
def test_the_figures_are_the_quoted_ones():
    four = figures.rope(3, 1.0)
    assert four.frequencies(np.radians([-90.0, 0.0, 90.0])) == pytest.approx([0.546066], abs=5e-7)
    # 2 m g l against 2 m l^2/3 + m l^2
    assert four.frequencies(np.radians([-90.0, 0.0, 90.0])) == pytest.approx(
        np.sqrt(1.2 * 9.81) / (2 * np.pi), rel=1e-14
    )
    wide = figures.rope(3, 2.0)
    assert wide.frequencies(figures.hanging_angles(wide)) == pytest.approx([0.691534], abs=5e-7)
    rope = figures.rope(4, 2.0)
    angles = figures.hanging_angles(rope)
    assert np.degrees(angles) == pytest.approx([-72.184904, -46.048132, 46.048132, 72.184904], abs=5e-7)
    assert rope.frequencies(angles) == pytest.approx([0.651183, 0.975177], abs=5e-7)
    rope = figures.rope(10, 6.0)
    quoted = [0.385313, 0.704402, 1.033568, 1.350663, 1.749568, 1.969936, 2.656412, 2.689654]
    assert rope.frequencies(figures.hanging_angles(rope)) == pytest.approx(quoted, abs=6e-7)
    four = figures.sprung_four_bar()
    theta = four.polished(sprung_start(0.0))[0]
    assert theta[0] == pytest.approx(2.23433101902, abs=5e-12)
    assert four.eigenvalues(theta)[0].real == pytest.approx(-0.242385809310505, abs=1e-13)
    assert np.abs(four.eigenvalues(theta)[0].imag) == pytest.approx(2.13395502834838, abs=1e-13)


@pytest.mark.parametrize("links", [1, 2, 3, 10, 100])
def test_a_chain_of_masses_swings_at_the_zeros_of_laguerre(links):
    hanging = figures.Chain((1.0,) * links, (0.0,) * links, points=(1.0,) * links)
    ours = hanging.frequencies(np.full(links, -0.5 * np.pi))
    np.testing.assert_allclose(ours, figures.laguerre_chain(links), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("rods", "span"), [(4, 2.0), (5, 3.0), (10, 6.0)])
def test_a_rope_has_one_stable_shape(rods, span):
    rope = figures.rope(rods, span)
    found = rope.equilibria(starts=12)
    assert len(found) == 1
    np.testing.assert_allclose(found[0], figures.hanging_angles(rope), atol=1e-9)


# -- the judge ---------------------------------------------------------------------------------------------------------
def test_the_judge_finds_the_figures_by_its_own_way():
    for rods, span in ((3, 2.0), (4, 2.0), (10, 6.0)):
        rope = figures.rope(rods, span)
        angles = figures.hanging_angles(rope)
        plan = rope_plan(rods, span, angles)
        v = check(plan, at_angles(plan, angles))
        assert v.mismatch < 1e-14
        assert v.residual < 1e-14
        assert (v.redundant, v.freedoms) == (3, rods - 2)
        np.testing.assert_allclose(v.frequencies, rope.frequencies(angles), rtol=1e-11)
        assert v.energy == pytest.approx(rope.energy(angles)[0], rel=1e-13)
        # and a point beside it is none
        aside = check(plan, at_angles(plan, angles + 1e-7))
        assert aside.mismatch > 1e-8
        assert aside.residual > 1e-9


def _random_pair(kind: str, seed: int) -> tuple[Mechanism, Poses]:
    rng = np.random.default_rng(seed)
    any_pose = lambda: Pose(rng.uniform(-1, 1, 3), Pose.rotation(rng.uniform(-0.6, 0.6, 3)).U)
    options = {"Universal": {"axis": (1, 0, 0), "second": Y}, "Joint": {"free": ("x", "az")}, "Rod": {"length": 0.7},
               "Spring": {"length": 0.4, "stiffness": 30.0}}.get(kind, {"axis": rng.normal(size=3)})  # fmt: skip
    if kind in ("Revolute", "Prismatic"):
        options |= {"stiffness": 7.0, "rest": 0.3, "preload": 2.0}
    bodies = tuple(Body(name, 1.0, 1.0, any_pose()) for name in "ab")
    plan = Mechanism(kind, bodies, (Link(kind, "link", "a", any_pose(), "b", any_pose(), options),))
    return plan, Poses({f"{b.name}.center": b.at for b in bodies})


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_the_judge_s_derivatives_are_those_of_its_own_energies(kind):
    """First and second derivatives of every row and energy against differences of values, off closure."""
    from mechanisms import Statics

    plan, placed = _random_pair(kind, 3)
    here = Statics(plan, placed.poses)

    def moved(x):
        six = np.reshape(x, (2, 6))
        return {f"{b.name}.center": b.at.moved(s[:3], s[3:]) for b, s in zip(plan.bodies, six, strict=True)}

    def values(x):
        there = Statics(plan, moved(x))
        return np.array([*(row.value for row in there.rows), there.energy])

    rng = np.random.default_rng(0)
    for _ in range(3):
        x = rng.normal(size=12)
        first = np.array([*(row.gradient @ x for row in here.rows), here.slope[:12] @ x])
        second = np.array([*(x @ row.bend @ x for row in here.rows), x @ here.bend[:12, :12] @ x])
        h = 1e-3
        at = {k: values(k * h * x) for k in (-2, -1, 0, 1, 2)}
        np.testing.assert_allclose(first, (8 * (at[1] - at[-1]) - at[2] + at[-2]) / (12 * h), rtol=0, atol=3e-8)
        bend = (16 * (at[1] + at[-1]) - at[2] - at[-2] - 30 * at[0]) / (12 * h * h)
        np.testing.assert_allclose(second, bend, rtol=0, atol=2e-6)


# -- pendulums ---------------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("start", [-1.5707963267948966, -1.2, 0.3, 1.4])
def test_a_rod_hung_by_its_end(start):
    wp, v = solved(chain("rod", [1.0], [1.0], [start]))
    np.testing.assert_allclose(frequencies(wp), [figures.rod_pendulum()], rtol=1e-12)
    assert (v.freedoms, v.redundant) == (1, 0)


def test_a_pendulum_with_inertia_on_a_turning_spring():
    seat = Link("Revolute", "hinge", "bob", Pose.dz(0.7), "ground", Pose(), {"axis": Y, "stiffness": 3.0})
    plan = Mechanism("pendulum", (Body("bob", 2.0, (0.1, 0.2, 0.25), Pose.dz(-0.7)),), (seat,))
    wp, _ = solved(plan)
    expected = figures.compound_pendulum(2.0, 0.7, 0.2, stiffness=3.0)
    np.testing.assert_allclose(frequencies(wp), [expected], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Pose")  # of angles beyond a whole turn
@pytest.mark.parametrize("rest", [0.5, 3.5, 10.0, -8.0])
def test_a_spring_at_a_hinge_unwinds_past_whole_turns(rest):
    """Without weight a wheel comes to rest where its spring does, however many turns away that is."""
    options = {"axis": (1, 2, 2), "stiffness": 3.0, "rest": rest}
    seat = Link("Revolute", "hinge", "wheel", Pose(), "ground", Pose(), options)
    plan = Mechanism("wheel", (Body("wheel", 2.0, 0.4, Pose()),), (seat,), gravity=(0.0, 0.0, 0.0))
    wp, v = solved(plan)
    assert v.energy == pytest.approx(0.0, abs=1e-12)
    expected = Pose.rotation(rest * np.array([1.0, 2.0, 2.0]) / 3.0)
    assert wp.poses["wheel.center"].is_close(expected, 1e-9, 1e-9)
    np.testing.assert_allclose(frequencies(wp), [np.sqrt(3.0 / 0.4) / (2 * np.pi)], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("links", [1, 2, 3, 10, 100])
def test_a_hinged_chain_of_point_masses(links):
    wp, v = solved(chain("chain", [1.0] * links, [1.0] * links, [-0.5 * np.pi] * links, points=True))
    np.testing.assert_allclose(frequencies(wp), figures.laguerre_chain(links), rtol=1e-9)
    assert (v.freedoms, v.redundant) == (links, 0)


@pytest.mark.parametrize("links", [2, 10])
def test_a_chain_of_rods_without_mass(links):
    """Distances alone: both planes swing alike, and each ball turns freely three ways."""
    bodies = tuple(Body(f"ball{k}", 1.0, 1e-3, Pose.dz(-1.0 - k)) for k in range(links))
    names = ["ground", *(b.name for b in bodies)]
    rods = tuple(Link("Rod", f"rod{k}", names[k + 1], Pose(), names[k], Pose(), {"length": 1.0}) for k in range(links))
    wp, v = solved(Mechanism("chain of rods", bodies, rods))
    expected = np.concatenate([np.zeros(3 * links), np.repeat(figures.laguerre_chain(links), 2)])
    np.testing.assert_allclose(frequencies(wp), expected, rtol=1e-9, atol=1e-6)
    assert len(wp.free) == 3 * links
    assert v.freedoms == 5 * links


# -- loops -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lean", [0.0, 0.4, -0.9])
def test_a_parallelogram(lean):
    start = np.array([-0.5 * np.pi + lean, 0.0, 0.5 * np.pi + lean])
    wp, v = solved(rope_plan(3, 1.0, start))
    np.testing.assert_allclose(frequencies(wp), [np.sqrt(1.2 * 9.81) / (2 * np.pi)], rtol=1e-9)
    assert (v.freedoms, v.redundant) == (1, 3)
    np.testing.assert_allclose(chain_angles(wp, 3), np.radians([-90.0, 0.0, 90.0]), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rods", "span", "length"), [(3, 2.0, 1.0), (4, 2.0, 1.0), (4, 3.2, 1.0), (7, 1.9, 0.5), (10, 6.0, 1.0)]
)
def test_a_rope_of_rods(rods, span, length):
    rope = figures.rope(rods, span, length)
    expected = figures.hanging_angles(rope)
    start = np.linspace(-1.0, 1.0, rods)
    wp, v = solved(chain("rope", (length,) * rods, (1.0,) * rods, start, end=(span, 0.0)))
    np.testing.assert_allclose(chain_angles(wp, rods), expected, atol=1e-8)
    np.testing.assert_allclose(frequencies(wp), rope.frequencies(expected), rtol=1e-8)
    assert (v.freedoms, v.redundant) == (rods - 2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_rope_thrown_down_anyhow_hangs(seed):
    """Whatever the rods start like: the shape that is pulled is the only stable one, a folded one is not."""
    rods, span = (4, 2.0) if seed % 2 else (10, 6.0)
    rng = np.random.default_rng(seed)
    offsets = rng.uniform(-0.5, 0.5, (rods, 3)) * (1.0, 0.0, 1.0)
    wp, v = solved(rope_plan(rods, span, rng.uniform(-np.pi, np.pi, rods), offsets))
    rope = figures.rope(rods, span)
    angles = figures.hanging_angles(rope)
    assert v.energy == pytest.approx(rope.energy(angles)[0], rel=1e-9)
    np.testing.assert_allclose(chain_angles(wp, rods), angles, atol=1e-6)


# -- a benchmark of others: a four-bar with a damped spring on its diagonal ---------------------------------------------
def sprung_start(aside: float) -> np.ndarray:
    """Angles of the closed four-bar near its equilibrium, the upright rods turned by ``aside``."""
    return np.array([2.2343 + aside, 0.0, 2.2343 + aside - np.pi])


def sprung_plan(aside: float) -> Mechanism:
    plan = chain("four-bar", (1.0,) * 3, (1.0,) * 3, sprung_start(aside), end=(1.0, 0.0))
    options = {"length": np.sqrt(2.0), "stiffness": 25.0, "damping": 1.0}
    spring = Link("Spring", "diagonal", "rod2", Pose.dx(-0.5), "ground", Pose(), options)
    return Mechanism(plan.name, plan.bodies, (*plan.links, spring))


@pytest.mark.parametrize("aside", [0.0, 0.05, -0.1])
def test_a_four_bar_on_a_damped_spring(aside):
    four = figures.sprung_four_bar()
    theta = four.polished(sprung_start(0.0))[0]
    wp, v = solved(sprung_plan(aside))
    np.testing.assert_allclose(chain_angles(wp, 3), theta, atol=1e-10)
    expected = four.eigenvalues(theta)
    found = wp.linearize().modes(damped=True).eigenvalues
    assert len(found) == 1
    assert found[0] == pytest.approx(expected[np.argmax(expected.imag)], rel=1e-9)
    assert v.freedoms == 1


def test_a_slanted_hinge_is_as_stiff_as_its_axis_lets_it_be():
    """A rod on a hinge whose axis leans by a from the horizontal falls as if under g cos(a)."""
    lean = 0.6
    axis = (0.0, np.cos(lean), np.sin(lean))
    hang = Pose.rx(lean) @ Pose.dz(-0.5) @ Pose.ry(0.5 * np.pi)
    arm = hang.inverse()
    start = Pose.rotation(0.3 * np.array(axis)) @ hang
    plan = Mechanism(
        "slanted",
        (Body("rod", 1.0, SLENDER, start),),
        (Link("Revolute", "hinge", "rod", arm, "ground", Pose(), {"axis": axis}),),
    )
    wp, _ = solved(plan)
    np.testing.assert_allclose(frequencies(wp), [figures.rod_pendulum(gravity=9.81 * np.cos(lean))], rtol=1e-11)


@pytest.mark.parametrize(("ratio", "offset"), [(-2.0, 0.0), (-2.0, -1.3), (1.0, 2.9)])
def test_two_pendulums_in_gear(ratio, offset):
    """``a + ratio b = offset`` for angles from x downwards: ``V = -(m g l/2)(sin a + sin b)``, one freedom."""
    rods = [chain(name, [1.0], [1.0], [-1.4]) for name in "ab"]
    bodies = tuple(Body(f"rod_{n}", 1.0, SLENDER, r.bodies[0].at.moved((0, k, 0), (0, 0, 0)))
                   for k, (n, r) in enumerate(zip("ab", rods, strict=True)))  # fmt: skip
    links = tuple(Link("Revolute", f"hinge_{n}", f"rod_{n}", Pose.dx(-0.5), "ground", Pose.dy(k), {"axis": Y})
                  for k, n in enumerate("ab"))  # fmt: skip
    plan = Mechanism("gear", bodies, links, (Train("gear", {"hinge_a": 1.0, "hinge_b": ratio}, offset),))
    wp, v = solved(plan)
    b = 1.4
    for _ in range(50):
        a = offset - ratio * b
        b -= (ratio * np.cos(a) - np.cos(b)) / (ratio**2 * np.sin(a) + np.sin(b))
    stiffness = 0.5 * 9.81 * (ratio**2 * np.sin(offset - ratio * b) + np.sin(b))
    expected = np.sqrt(stiffness / ((1 + ratio**2) / 3)) / (2 * np.pi)
    np.testing.assert_allclose(frequencies(wp), [expected], rtol=1e-9)
    assert (v.freedoms, v.redundant) == (1, 0)


def test_a_working_point_holds_the_joints_named():
    """A judge that accepts everything would pass all of the above: it must see a pin that is moved by a micrometer."""
    wp, _ = solved(rope_plan(4, 2.0, np.linspace(-1, 1, 4)))
    poses = {f"rod{k}.center": wp.poses[f"rod{k}.center"] for k in range(4)}
    poses["rod3.center"] = poses["rod3.center"].moved((1e-6, 0, 0), (0, 0, 0))
    v = check(rope_plan(4, 2.0, np.linspace(-1, 1, 4)), Poses(poses))
    assert v.mismatch == pytest.approx(1e-6, rel=1e-3)
