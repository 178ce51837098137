"""Mass, damping and stiffness of many elements at once: the same as their sum one by one, at little cost."""

from __future__ import annotations

import cProfile
import pstats

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mse
from catalogue import CATALOGUE
from models import four_wire_chain
from mse import Pose
from mse.elements.base import FramePose, MObject
from mse.elements.joint_base import FreeJoint
from mse.elements.parameters import Real
from mse.kernels import masses
from mse.linear.pattern import LinearPattern
from mse.model.topology import Topology

KERNELS = {"mass_kernel": "mass_matrix", "damping_kernel": "damping_matrix"}
WITH_KERNEL = [
    pytest.param(entry, kernel, id=f"{name}, {kernel}")
    for name, entry in CATALOGUE.items() for kernel in KERNELS
    if getattr(type(entry.make()), kernel) is not None
]  # fmt: skip


# -- kernels ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("entry", "kernel"), WITH_KERNEL)
def test_a_kernel_of_mass_or_damping_is_the_law_of_each_element(entry, kernel):
    obj, poses = entry.make(), [entry.frames(seed) for seed in range(5)]
    o, u = (np.array([getattr(f, a) for frames in poses for f in frames]) for a in ("o", "U"))
    frames = np.arange(len(o)).reshape(len(poses), -1)
    memory = np.array([obj.remember(f) for f in poses])
    found = getattr(type(obj), kernel)(
        np.array([obj.kernel_parameters()] * len(poses), dtype=float), frames, o, u, memory
    )
    laws = [getattr(obj, KERNELS[kernel])(f) for f in poses]
    if found is None:
        assert all(m is None or not m.any() for m in laws)
        return
    for one, m in zip(found, laws, strict=True):
        np.testing.assert_allclose(one, m, rtol=0, atol=1e-15 * np.abs(m).max())


def test_elements_with_kernels_are_in_the_catalogue():
    tested = {type(p.values[0].make()) for p in WITH_KERNEL}
    joints = {cls for cls in tested if issubclass(cls, FreeJoint)}
    assert tested - joints == {mse.RigidBody, mse.Spring, mse.Wire, mse.Bushing} and mse.Revolute in joints


WITH_SLOPES = [
    pytest.param(entry, id=name) for name, entry in CATALOGUE.items() if type(entry.make()).damping_slopes is not None
]


@pytest.mark.parametrize("entry", WITH_SLOPES)
def test_slopes_of_a_damping_are_those_of_its_law(entry):
    """By central differences of fourth order of what the law of one element exerts, as frames move and turn."""
    obj, rng = entry.make(), np.random.default_rng(3)
    if isinstance(obj, FreeJoint):
        obj.damping = tuple(rng.uniform(0.1, 1.0, len(obj.joint_coordinates)))
    frames, v, h = entry.frames(1), rng.normal(size=12), 1e-3

    def exerts(x):
        six = zip(frames, x.reshape(2, 6), strict=True)
        there = [FramePose(f.o + own[:3], Rotation.from_rotvec(own[3:]).as_matrix() @ f.U) for f, own in six]
        found = obj.damping_matrix(there)
        return np.zeros(12) if found is None else found @ v

    near, far = (np.array([exerts(k * x) - exerts(-k * x) for x in h * np.eye(12)]).T for k in (1, 2))
    expected = (8 * near - far) / (12 * h)
    o, u = (np.array([getattr(f, a) for f in frames]) for a in ("o", "U"))
    parameters, memory = np.array([obj.kernel_parameters()], dtype=float), np.array([obj.remember(frames)])
    found = type(obj).damping_slopes(parameters, np.array([[0, 1]]), o, u, memory, v[None])
    np.testing.assert_allclose(found[0], expected, atol=1e-9 * max(np.abs(expected).max(), 1.0))


def test_damping_of_ends_that_coincide_is_the_same_in_all_directions():
    spring = mse.Spring("it", length=0.0, stiffness=1.0, damping=0.3)
    parameters, frames = np.array([spring.kernel_parameters()]), np.array([[0, 1]])
    found = masses.line_damping(parameters, frames, np.zeros((2, 3)), np.zeros((2, 3, 3)), np.zeros((1, 0)))
    np.testing.assert_array_equal(found[0, :3, :3], 0.3 * np.eye(3))


class HeavierBody(mse.RigidBody):
    """A body with its own law of mass, as a user overrides it."""

    def mass_matrix(self, frames, q=()):
        return 2.0 * super().mass_matrix(frames)


class Reordered(mse.Spring):
    """A spring whose kernel, were it to have one of its own, would read other parameters."""

    def kernel_parameters(self):
        return (self.length, self.stiffness)


def test_a_class_with_its_own_law_does_not_inherit_a_kernel_for_another():
    assert HeavierBody.mass_kernel is None
    assert Reordered.damping_kernel is None
    assert type("Still", (HeavierBody,), {}).mass_kernel is None
    assert type("Renamed", (mse.RigidBody,), {}).mass_kernel is masses.body_mass
    for cls, mass in ((mse.RigidBody, 3.0), (HeavierBody, 6.0)):
        s = mse.MSystem("s")
        body = s.add(cls("body", mass=3.0, inertia=1.0))
        line = s.add(Reordered("line", stiffness=50.0, damping=0.4))
        s.clamp(s.ground, line.frame(1))
        s.clamp(body.frame(0), line.frame(0))
        linear = s.find_working_point().linearize()
        assert linear.M.diagonal()[0] == mass
        assert np.abs(linear.Lambda).max() == pytest.approx(0.4, rel=1e-15)


def test_a_kernel_of_mass_wants_the_parameters_of_a_kernel():
    with pytest.raises(
        TypeError, match="class Lonely: mass_kernel reads the parameters of a kernel, but the class has none"
    ):
        type("Lonely", (MObject,), {"mass_kernel": masses.body_mass})


# -- sums ---------------------------------------------------------------------------------------------------------
class SharedMass(mse.MObject):
    """A mass that couples two frames along z, as a counterweight's does, without any force."""

    mass = Real("m", unit="kg", default=0.7)

    def mass_matrix(self, frames, q=()):
        m = np.zeros((12, 12))
        m[2, 8] = m[8, 2] = self.mass
        return m


def mixed(driven: bool) -> mse.MSystem:
    """Bodies on damped wires and springs, one beyond an actuator and off its center, and a mass without force."""
    s = mse.MSystem("mixed", gravity=(0, 0, -9.81))
    top = s.add(mse.RigidBody("top", mass=2.0, inertia=(0.1, 0.2, 0.3), at=Pose.dz(-0.5)))
    low = s.add(mse.RigidBody("low", mass=1.0, inertia=(0.1, 0.15, 0.2), at=Pose.dz(-1.0)))
    extra = s.add(mse.RigidBody("extra", mass=0.4, inertia=0.01))
    for k in range(3):
        at = Pose.dxdydz(0.1 * np.cos(2.1 * k), 0.12 * np.sin(2.1 * k), 0.02)
        wire = s.add(
            mse.Wire(f"wire{k}", length=0.5, young_modulus=2e9, poisson_ratio=0.5, radius=1e-3, damping=0.3 * k)
        )
        s.clamp(s.ground, wire.frame(1), at)
        s.clamp(top.frame(0), wire.frame(0), at)
        spring = s.add(mse.Spring(f"spring{k}", length=0.45, stiffness=200.0, damping=0.2))
        s.clamp(low.frame(0), spring.frame(0), at)
        s.clamp(top.frame(0), spring.frame(1), at)
    lump = s.add(SharedMass("lump"))
    s.clamp(top.frame(0), lump.frame(0), Pose.dx(0.2))
    s.clamp(low.frame(0), lump.frame(1))
    if driven:
        push = s.add(mse.PositionActuator("push"))
        s.clamp(low.frame(0), push.frame(1), Pose.dxdydz(0.1, 0.0, -0.1))
        s.clamp(push.frame(0), extra.frame(0), Pose.dz(-0.1))
    else:
        s.clamp(low.frame(0), extra.frame(0), Pose.dxdydz(0.1, 0.0, -0.1))
    return s


def one_by_one(wp: mse.WorkingPoint, law: str, held: dict[str, np.ndarray]) -> np.ndarray:
    """Sum of the elements' laws over (q, w) by transport to the bodies' reference points; ``held`` moves by frame label."""
    t, (o, u) = Topology(wp.system), wp.frame_poses
    width = t.size + 6 * len(t.links)
    total = np.zeros((width, width))
    for el in t.elements:
        m = getattr(el.obj, law)([mse.elements.base.FramePose(o[f], u[f]) for f in el.frames])
        if m is None:
            continue
        slope = np.zeros((6 * len(el.frames), width))
        for k, f in enumerate(el.frames):
            x, y, z = o[f] - wp.state.o[t.unit[f]]
            own = np.eye(6)
            own[:3, 3:] = -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            if t.unit[f]:
                slope[6 * k : 6 * k + 6, 6 * (t.unit[f] - 1) : 6 * t.unit[f]] = own
            if el.path in held:
                slope[6 * k : 6 * k + 6, t.size :] = own @ held[el.path]
        total += slope.T @ m @ slope
    return total


@pytest.mark.parametrize("driven", [False, True])
def test_mass_and_damping_are_the_sums_of_the_elements_laws(driven):
    wp = mixed(driven).find_working_point()
    held = {}
    if driven:
        t, (o, u) = Topology(wp.system), wp.frame_poses
        f = t.frame_labels.index("push.1")
        seat, (x, y, z) = u[f], o[f] - wp.state.o[t.unit[f]]
        twist = np.kron(np.eye(2), seat)
        twist[:3, 3:] = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ seat
        held["extra"] = twist
    linear = wp.linearize()
    for found, law in ((linear.full_mass, "mass_matrix"), (linear.full_damping, "damping_matrix")):
        expected = one_by_one(wp, law, held)
        np.testing.assert_allclose(found.toarray(), expected, rtol=0, atol=2e-15 * np.abs(expected).max())
        assert found.has_sorted_indices and found.has_canonical_format


@pytest.mark.parametrize("driven", [False, True])
def test_stiffness_is_the_sum_of_its_parts_however_it_is_asked_for(driven):
    linear = mixed(driven).find_working_point().linearize()
    parts = linear.parts
    scale = np.abs(linear.full_stiffness).max()
    summed = sum(parts[label] for label in parts)
    np.testing.assert_allclose(linear.full_stiffness.toarray(), summed.toarray(), rtol=0, atol=1e-15 * scale)
    summed = sum(parts.mechanisms().values())
    np.testing.assert_allclose(linear.full_stiffness.toarray(), summed.toarray(), rtol=0, atol=1e-15 * scale)
    part, rows, cols, values = parts.entries()
    weight = 1.0 + 0.1j * np.arange(len(parts))
    expected = np.zeros(linear.full_stiffness.shape, dtype=complex)
    np.add.at(expected, (rows, cols), values * weight[part])
    found = parts.total(dict(zip(parts, weight.tolist(), strict=True)))
    np.testing.assert_allclose(found.toarray(), expected, rtol=0, atol=1e-14 * scale)
    if driven:
        assert linear.K.shape == (linear.size,) * 2 and parts.restricted(linear.size).size == linear.size
    else:
        assert parts.restricted(linear.size) is parts


def test_stiffness_of_a_search_cut_short_is_not_that_of_weakened_elements():
    system = mixed(False)
    away = system.relaxation(options=mse.SearchOptions(initial_strength=1e-3)).result()
    model = away.linearize(anywhere=True)
    k = model.stiffness_parts
    np.testing.assert_allclose(model.K.toarray(), sum(k.values()).toarray(), rtol=0, atol=1e-12 * abs(model.K).max())
    assert abs(model.K - away.stiffness).max() > 0.5 * abs(model.K).max()


@pytest.mark.parametrize("within", [False, True])
def test_a_part_of_a_model_has_the_stiffness_of_its_elements_alone(within):
    wp = four_wire_chain(2).find_working_point()
    model = wp.linearize(within=["plate1", *(f"wire1_{k}" for k in range(4))] if within else None)
    parts = sum(model.stiffness_parts.values()).toarray()
    np.testing.assert_allclose(model.K.toarray(), parts, rtol=0, atol=1e-12 * np.abs(parts).max())


def test_models_do_not_share_what_can_be_changed():
    wp = mixed(False).find_working_point()
    first, second = wp.linearize(), wp.linearize()
    expected = second.K.toarray(), second.M.toarray()
    for matrix in (first.K, first.M):
        with pytest.raises(ValueError, match="read-only"):
            matrix.data[:] = 0.0
        changed = matrix.copy()
        changed.data[:] = 0.0
        changed.eliminate_zeros()
    np.testing.assert_array_equal(second.K.toarray(), expected[0])
    np.testing.assert_array_equal(wp.linearize().M.toarray(), expected[1])


@pytest.mark.slow
@pytest.mark.parametrize("driven", [False, True])
def test_an_updated_working_point_has_its_own_masses_and_dampings(driven):
    wp = mixed(driven).find_working_point()
    wp.linearize()
    changes = {"low.mass": 1.3, "spring1.damping": 5.0, "lump.mass": 0.2}
    updated = wp.update(changes)
    system = mixed(driven)
    for name, value in changes.items():
        path, _, key = name.partition(".")
        system[path].parameters[key] = value
    anew = system.find_working_point().linearize()
    again = updated.linearize()
    for a, b in (
        (again.full_mass, anew.full_mass),
        (again.full_damping, anew.full_damping),
        (again.full_stiffness, anew.full_stiffness),
    ):
        np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=0, atol=1e-7 * np.abs(b).max())
    assert np.abs(wp.linearize().full_damping).max() < 2.0 < np.abs(again.full_damping).max()


# -- work ---------------------------------------------------------------------------------------------------------
def test_the_pattern_is_found_once(monkeypatch):
    wp = four_wire_chain(3, driven=True).find_working_point()
    wp.linearize()
    made = []
    find = LinearPattern.__init__
    monkeypatch.setattr(LinearPattern, "__init__", lambda *given: (made.append(given), find(*given))[1])
    wp.linearize()
    wp.update({"plate1.mass": 11.0}).linearize()
    assert not made
    four_wire_chain(3, driven=True).find_working_point().linearize()
    assert len(made) == 1


def test_calls_of_a_linear_model_do_not_grow_with_the_number_of_bodies():
    def calls(stages: int) -> int:
        wp = four_wire_chain(stages).find_working_point()
        wp.linearize()
        profile = cProfile.Profile()
        profile.enable()
        linear = wp.linearize()
        assert linear.K.shape == linear.M.shape == linear.Lambda.shape
        profile.disable()
        return pstats.Stats(profile).total_calls

    assert calls(200) == calls(10)


def test_damping_is_a_sum_of_parts_by_object():
    system = mse.MSystem("rail", gravity=(0, 0, -9.81))
    table = system.add(mse.RigidBody("table", mass=1.0, inertia=0.1, at=Pose.dx(0.5)))
    load = system.add(mse.RigidBody("load", mass=2.0, inertia=0.1, at=Pose.dx(1.0)))
    system.add(mse.Bushing("mount", stiffness=40.0, damping=0.1), between=(table, system.ground))
    system.add(mse.Bushing("link", stiffness=30.0, damping=(0.2, 0.1, 0, 0, 0, 0.3)), between=(load, table))
    linear = system.find_working_point().linearize()
    parts = linear.damping_parts
    assert list(parts) == [("mount", "damping"), ("link", "damping")]
    np.testing.assert_allclose(sum(parts.values()).toarray(), linear.Lambda.toarray(), rtol=0, atol=1e-16)
    expected = np.zeros(12)
    expected[:3] = 0.1
    alone = parts["mount", "damping"].toarray()
    np.testing.assert_allclose(np.diag(alone)[[0, 1, 2, 6, 7, 8]], expected[[0, 1, 2, 6, 7, 8]], rtol=1e-14)
    reduced, _ = mse.reduce_model(linear, ["table.x", "load.x"], modes=2)
    assert set(reduced.damping_parts) == set(parts)
