"""What counts as equilibrium: rounding of forces, and systems without loads."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.statics.equilibrium import NEAR_REST
from mse.statics.merit_function import MeritFunction
from mse.statics.step_methods import newton
from test_stiff_trees import tree

pytestmark = pytest.mark.rounding


def frame(seed: int, elements: int, *, away: float = 0.0) -> mse.MSystem:
    """A frame of eight beams without gravity on four feet, about 0.5 m wide; they fit but for rounding."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("frame", gravity=(0, 0, 0))
    feet = away + np.array([(0, 0, 0), (0.5, 0, 0), (0.5, 0.5, 0), (0, 0.5, 0)])
    tops = feet + np.array((0, 0, 0.6)) + rng.uniform(-0.1, 0.1, (4, 3))
    nodes = [s.add(mse.RigidBody(f"node{k}", mass=0.3, inertia=3e-4, at=Pose(o))) for k, o in enumerate(tops)]
    section = {"width": 0.015, "height": 0.006, "young_modulus": 2.1e11, "poisson_ratio": 0.3, "density": 7800.0}
    for k in range(8):
        first, second = (feet[k], tops[k]) if k < 4 else (tops[k - 4], tops[k - 3 if k < 7 else 0])
        length = float(np.linalg.norm(second - first))
        x = (second - first) / length
        y = np.cross(rng.normal(size=3), x)
        y /= np.linalg.norm(y)
        u = np.column_stack([x, y, np.cross(x, y)])
        beam = s.add(
            mse.Beam(
                f"beam{k}", length=length, elements=elements, theory="euler-bernoulli", at=Pose(first, u), **section
            )
        )
        if k < 4:
            s.clamp(s.ground, beam.frame(0), Pose(first, u))
            s.clamp(nodes[k].frame(0), beam.frame(1), Pose(U=u))
        else:
            s.clamp(nodes[k - 4].frame(0), beam.frame(0), Pose(U=u))
            s.clamp(nodes[(k - 3) % 4].frame(0), beam.frame(1), Pose(U=u))
    return s


def rigid(stiffness: float) -> mse.MSystem:
    s = mse.MSystem("rigid", gravity=(0, 0, -9.81))
    mass = s.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dz(-1.0)))
    s.add(mse.Spring("wire", length=1.0, stiffness=stiffness), between=(s.ground, mass))
    return s


def hung(system: mse.MSystem, body: mse.RigidBody, at: tuple, length: float, stiffness: float, width: float) -> None:
    """Three springs from the ground to a body, as far apart there as ``width`` says."""
    for k, (x, y) in enumerate([(-0.3, 0.0), (0.3, 0.2), (0.3, -0.2)]):
        spring = system.add(mse.Spring(f"{body.name}{k}", length=length, stiffness=stiffness))
        system.clamp(system.ground, spring.frame(1), Pose(np.add(at, (x, y, 0.0))))
        system.clamp(body.frame(0), spring.frame(0), Pose((width * x, width * y, 0.0)))


def soft_beside_stiff(aside: float) -> mse.MSystem:
    """A light body on soft springs, drawn so far aside (m), and a heavy one on springs whose rounding is more than its weight."""
    s = mse.MSystem("beside", gravity=(0, 0, -9.81))
    heavy = s.add(mse.RigidBody("heavy", mass=100.0, inertia=1.0, at=Pose.dz(-1.0)))
    hung(s, heavy, (0.0, 0.0, 0.0), 1.0, 1e9, 1.0)
    light = s.add(mse.RigidBody("light", mass=0.1, inertia=1e-4, at=Pose((3.0 + aside, aside / 2.0, -1.0))))
    hung(s, light, (3.0, 0.0, 0.0), 0.9, 20.0, 0.1)
    return s


def torsion_pendulum(seed: int, torsional_stiffness: float) -> tuple[mse.MSystem, np.ndarray]:
    """Two clamped bodies on a thin wire, beside a heavy one on stiff springs, drawn roughly; and the unit vector of gravity."""
    rng = np.random.default_rng(seed)
    down = rng.normal(size=3)
    down /= np.linalg.norm(down)
    aside = np.cross(down, rng.normal(size=3))
    aside /= np.linalg.norm(aside)
    upright = Pose(U=np.column_stack([np.cross(aside, -down), aside, -down]))
    s = mse.MSystem("torsion pendulum", gravity=9.81 * down)
    start = Pose(rng.uniform(-0.3, 0.3, 3) - (0.0, 0.0, 0.9)) @ Pose.rotation(rng.uniform(-0.3, 0.3, 3))
    body = s.add(mse.RigidBody("body", mass=33.0, inertia=(0.6, 0.65, 0.7), at=upright @ start))
    other = s.add(mse.RigidBody("other", mass=11.0, inertia=0.1))
    apart = rng.uniform(-0.2, 0.2, 3)
    s.clamp(body.frame(0), other.frame(0), Pose(apart))
    # radius of the wire from G pi r^4 / (2 L)
    modulus, length = 8e10, 0.7
    radius = (2.0 * torsional_stiffness * length / (np.pi * modulus)) ** 0.25
    wire = s.add(mse.Wire("wire", length=length, young_modulus=2.6 * modulus, poisson_ratio=0.3, radius=radius))
    s.clamp(s.ground, wire.frame(1), upright @ Pose(rng.uniform(-0.1, 0.1, 3)))
    s.clamp(body.frame(0), wire.frame(0), Pose(apart / 4.0 + (0.0, 0.0, rng.uniform(0.05, 0.3))))
    heavy = s.add(mse.RigidBody("heavy", mass=100.0, inertia=1.0, at=Pose((2.0, 0.0, -1.0))))
    hung(s, heavy, (2.0, 0.0, 0.0), 1.0, 1e8, 1.0)
    return s, down


def spinning(seed: int) -> mse.MSystem:
    """Two bodies one below the other, each on one spring: nothing decides how far they are turned about the vertical."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("spinning", gravity=(0, 0, -9.81))
    above = s.ground
    for k in range(2):
        at = Pose((0.05, 0.0, -0.8 * (k + 1))) @ Pose.rotation(rng.uniform(-0.5, 0.5, 3))
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0 + k, inertia=(0.01, 0.02, 0.03), at=at))
        spring = s.add(mse.Spring(f"spring{k}", length=0.7, stiffness=10 ** rng.uniform(2.5, 5.0)))
        s.clamp(above, spring.frame(1), Pose(rng.uniform(-0.1, 0.1, 3)))
        s.clamp(body.frame(0), spring.frame(0), Pose(rng.uniform(-0.1, 0.1, 3)))
        above = body.frame(0)
    return s


def is_within_bound(wp: mse.WorkingPoint) -> bool:
    return bool(np.all(np.abs(wp.residual) <= wp.residual_bound))


@pytest.mark.parametrize("away", [0.0, 1e3 / 3])
@pytest.mark.parametrize("elements", [4, 16, 32])
def test_unloaded_structures_that_fit_are_at_rest(elements, away):
    """All forces are rounding of stiffness times positions, and none of it is said to be out of balance."""
    for seed in range(4):
        wp = frame(seed, elements, away=away).find_working_point()
        assert wp.stable and not wp.free
        assert wp.relative_residual.max() < np.finfo(float).eps
        assert np.all(np.abs(wp.residual) <= wp.residual_bound)


@pytest.mark.parametrize("elements", [2, 16])
def test_forces_are_off_by_no_more_than_their_bound(elements):
    """The same structure elsewhere has other forces by rounding alone: within the bound there, and not far below it."""
    shares = []
    for seed in range(4):
        found = []
        for away in (0.0, 100.0 / 3):
            topology = Topology(frame(seed, elements, away=away))
            merit = MeritFunction.of(topology, Assembly(topology, topology.unit))
            point = merit.evaluate(merit.start, 2)
            found.append((point.gradient, merit.force_rounding(point)))
        (here, little), (there, bound) = found
        # without internal coordinates, which nothing pushes
        on = bound > 0.0
        share = np.abs(here - there)[on] / (bound + little)[on]
        assert share.max() < 1.0
        shares.append(share.max())
    assert np.median(shares) > 1e-3


def test_result_states_the_bound_where_ten_digits_are_not_reached():
    wp = rigid(1e11).find_working_point()
    assert wp.relative_residual.max() > 1e-10
    assert np.all(np.abs(wp.residual) <= wp.residual_bound)
    assert "rounding may leave" in str(wp)
    assert "rounding may leave" not in str(rigid(1e3).find_working_point())


@pytest.mark.parametrize("aside", [0.05, 0.0625, 0.2375, 0.25, 0.3375])
def test_rounding_of_stiff_springs_hides_no_soft_ones(aside):
    """Each coordinate comes to rest by its own rounding; the stiff ones are there a step or two before the soft ones."""
    system = soft_beside_stiff(aside)
    wp, topology = system.find_working_point(), Topology(system)
    merit = MeritFunction.of(topology, Assembly(topology, topology.unit), wp.state)
    onward = newton(merit, merit.evaluate(wp.state, 2), np.inf).p
    assert is_within_bound(wp) or np.abs(onward).max() <= NEAR_REST * merit.outermost


def test_compliance_of_a_torsion_pendulum_is_that_of_its_wire():
    """A torque about the vertical meets the torsion of the wire alone, a millionth of what gravity holds."""
    torsion, off = 1.8e-5, []
    for seed in range(80):
        system, down = torsion_pendulum(seed, torsion)
        stiffness = system.find_working_point().linearize().K.toarray()
        torque = np.zeros(len(stiffness))
        torque[3:6] = down
        off.append(abs(torsion * (np.linalg.solve(stiffness, torque) @ torque) - 1.0))
    assert max(off) < 1e-7


def test_forces_balance_to_rounding_after_the_way_back_along_free_motions():
    for seed in range(8):
        wp = spinning(seed).find_working_point()
        assert wp.free
        assert is_within_bound(wp)


def test_rounding_of_reactions_is_in_the_bound():
    """Of light trees on soft springs forces are off by more than weights and springs make of rounding: joints carry far more."""
    for seed in (2, 5, 8, 12, 16):
        assert is_within_bound(tree(seed, 4, 1, stiffness=(0.0, 2.0)).find_working_point())


def test_self_stress_is_a_load():
    """Springs that pull at each other balance to ten digits of their pull, and a residual is told as a share of it."""
    s = mse.MSystem("pulled", gravity=(0, 0, 0))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dz(0.01)))
    for name, z in (("up", 1.0), ("down", -1.0)):
        spring = s.add(mse.Spring(name, length=0.9, stiffness=1e3))
        s.clamp(s.ground, spring.frame(0), Pose.dz(z))
        s.clamp(body.frame(0), spring.frame(1))
    wp = s.find_working_point()
    assert wp.tensions["up"] == pytest.approx(100.0)
    assert wp.relative_residual.max() < 1e-10
    assert wp.relative_residual.max() >= np.abs(wp.residual).max() / 300.0


@pytest.mark.slow
def test_stiff_trees_balance_to_ten_digits_or_to_their_bound():
    for seed in range(3):
        wp = tree(seed, 6, 2, stiffness=(3.0, 9.0)).find_working_point()
        enough = np.where(wp.relative_residual > 1e-10, wp.residual_bound, np.inf)
        assert np.all(np.abs(wp.residual) <= enough)
