"""Random structures with more joints than hold them: their linear models at rest against dense null spaces."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

import mse
from mse import Pose
from test_redundant_joints import ladder

pytestmark = pytest.mark.rounding

DIRECTIONS = ("fx", "fy", "fz", "tx", "ty", "tz")


def structure(seed: int, most: int) -> mse.MSystem:
    """Chains of bodies that hang on verticals, joined once to three times over, some with ladders below; half may spin."""
    rng = np.random.default_rng(seed)
    s = mse.MSystem("structure", gravity=(0, 0, -9.81))
    bodies = []
    total, spins = int(rng.integers(4, most)), rng.random() < 0.5
    while len(bodies) < total:
        number = len(bodies)
        frame, low, middle = s.ground, np.array([3.0 * number, rng.normal(), 0.0]), np.zeros(3)
        for _ in range(int(rng.integers(1, 12))):
            frame, low, middle = hung(s, rng, frame, low, middle, spins, bodies)
        if rng.random() < 0.6:
            ladder_below(s, rng.uniform(0.2, 1.0), int(rng.integers(1, 5)), frame, low - middle, low, bodies)
    for k in range(2):
        push = s.add(mse.ForceActuator(f"push{k}"))
        s.clamp(s.ground, push.frame(0))
        s.clamp(bodies[rng.integers(len(bodies))].frame(0), push.frame(1), Pose((0, 0, rng.normal() * 0.2)))
    return s


def hung(s, rng, above, at, middle, spins, bodies):
    """One body more at the end of a chain; returns its frame, its lowest point and its middle."""
    half, mass = rng.uniform(0.2, 0.8), 10 ** rng.uniform(-1, 1)
    place = at - [0, 0, half]
    inertia = tuple(mass * half**2 * rng.uniform(0.5, 0.6, 3))
    body = s.add(mse.RigidBody(f"body{len(bodies)}", mass=mass, inertia=inertia, at=Pose(place)))
    axis = np.append(rng.normal(size=2), 0.0)
    axis /= np.linalg.norm(axis)
    kind = rng.choice(["weld", "hinge", *(["ball", "spindle"] if spins else [])])
    for k in range(1 if kind == "ball" else int(rng.integers(1, 4))):
        name = f"{kind}{len(bodies)}_{k}"
        if kind == "weld":
            joint, off = mse.Fixed(name), 0.3 * rng.normal(size=3)
        elif kind == "ball":
            joint, off = mse.Spherical(name), np.zeros(3)
        else:
            along = axis if kind == "hinge" else np.array([0.0, 0.0, 1.0])
            joint, off = mse.Revolute(name, axis=tuple(along)), 0.3 * k * along
        s.add(joint)
        s.clamp(above, joint.frame(1), Pose(at + off - middle))
        s.clamp(body.frame(0), joint.frame(0), Pose(at + off - place))
    bodies.append(body)
    return body.frame(0), place - [0, 0, half], place


def ladder_below(s, half_width, rungs, above, seat, at, bodies) -> None:
    for _ in range(rungs):
        number = len(bodies)
        rung = s.add(mse.RigidBody(f"body{number}", mass=1.0, inertia=(1e-3, 0.1, 0.1), at=Pose(at - [0, 0, 1.0])))
        bodies.append(rung)
        for i, x in enumerate((-half_width, half_width)):
            place = at + np.array([x, 0, -0.5])
            bar = s.add(mse.RigidBody(f"body{len(bodies)}", mass=0.3, inertia=0.02, at=Pose(place)))
            bodies.append(bar)
            top, low = (s.add(mse.Revolute(f"{n}{number}_{i}", axis=(0, 1, 0))) for n in ("top", "low"))
            s.clamp(above, top.frame(1), Pose(seat + np.array([x, 0, 0])))
            s.clamp(bar.frame(0), top.frame(0), Pose((0, 0, 0.5)))
            s.clamp(bar.frame(0), low.frame(1), Pose((0, 0, -0.5)))
            s.clamp(rung.frame(0), low.frame(0), Pose((x, 0, 0)))
        above, seat, at = rung.frame(0), np.zeros(3), at - [0, 0, 1.0]


class AtRest:
    """Responses at 0 Hz by the null space of the constraints and the eigenvectors of what stiffness leaves on it, all dense."""

    def __init__(self, model: mse.LinearModel):
        n = model.size
        self.model, self.k = model, model.full_stiffness.toarray()
        self.held = model.constraints.toarray()
        allowed = sl.null_space(self.held[:, :n], rcond=1e-12)
        assert allowed.shape[1] == n - len(self.held)
        k = allowed.T @ self.k[:n, :n] @ allowed
        values, vectors = np.linalg.eigh(0.5 * (k + k.T))
        # stiffness of these structures is that of weights on arms of alike lengths
        free = np.abs(values) < 1e-10 * np.abs(values).max(initial=0.0)
        self.free = allowed @ vectors[:, free]
        self.values, self.vectors = values[~free], allowed @ vectors[:, ~free]

    def motion_driven(self, push: np.ndarray) -> np.ndarray | None:
        """The free motion (n,) that forces (n,) drive, None for none."""
        along = self.free.T @ push
        if np.linalg.norm(along) < 1e-9 * np.linalg.norm(push):
            return None
        return self.free @ np.linalg.solve(self.free.T @ (self.model.M @ self.free), along)

    def response(self, push: np.ndarray) -> np.ndarray:
        """All outputs; free motions that are not driven stay at rest, as they do at any frequency above."""
        model, n = self.model, self.model.size
        q = self.vectors @ ((self.vectors.T @ push) / self.values)
        weighed = (model.M @ self.free).T
        q = q - self.free @ np.linalg.solve(weighed @ self.free, weighed @ q)
        multipliers = least_squares(self.held[:, :n].T, push - self.k[:n, :n] @ q)
        reactions = self.k[n:, :n] @ q + self.held[:, n:].T @ multipliers
        # the shortest: without what balances itself, torques counted by an arm
        weight, stress = model.sharing, model.self_stress.toarray()
        if stress.shape[1]:
            reactions = reactions - stress @ least_squares(weight[:, None] * stress, weight * reactions)
        return model.measure[:, :n] @ q - model.reaction @ reactions


def least_squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By orthogonal columns, for independent ones."""
    q, r = np.linalg.qr(a)
    return sl.solve_triangular(r, q.T @ b)


def check(seed: int, most: int) -> tuple[int, int]:
    """How many responses are finite and how many infinite, after a comparison of all of them."""
    model = structure(seed, most).find_working_point().linearize()
    exact, n = AtRest(model), model.size
    finite = infinite = 0
    for direction in DIRECTIONS:
        for k in range(2):
            name = f"push{k}.{direction}"
            push = model.force[:n, model.input_indices([name])].toarray().ravel()
            driven = exact.motion_driven(push)
            if driven is None:
                found = model.frequency_response([0.0], inputs=[name]).values[0, :, 0]
                expected = exact.response(push)
                # rows count as dependent where 1e-9 of them is left, so shares may differ by that: 1.2e-9 in the first structure
                assert found == pytest.approx(expected, abs=1e-8 * max(np.abs(expected).max(), 1.0)), name
                finite += 1
                continue
            with pytest.raises(mse.SingularResponseError, match="a motion without stiffness of ") as refusal:
                model.frequency_response([0.0], inputs=[name])
            for moved in str(refusal.value).split(" without stiffness of ")[1].split(";")[0].split(", "):
                size = np.abs(driven)
                assert size[model.coordinates.index(moved)] > 0.01 * size.max(), (name, moved)
            infinite += 1
    if model.size - len(exact.held):
        modes = model.modes(model.size - len(exact.held))
        assert np.count_nonzero(modes.free) == exact.free.shape[1]
    return finite, infinite


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(5), range(5, 10)])
def test_responses_at_rest_are_those_of_the_null_space_or_refused_by_what_moves(seeds):
    counts = np.sum([check(seed, 30) for seed in seeds], axis=0)
    assert np.all(counts > 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [205, 207])
def test_and_so_are_those_of_large_structures_with_multipliers(seed):
    assert min(check(seed, 110)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("rungs", [17, 70])
@pytest.mark.parametrize("frequency", [0.0, 1e-3])
def test_long_ladders_share_a_push_as_their_null_space_does(rungs, frequency):
    """Most of their stiffness is rounding: what carries them are constraints."""
    model = ladder(rungs).find_working_point().linearize()
    push = model.force[: model.size, model.input_indices(["push.fy"])].toarray().ravel()
    expected = AtRest(model).response(push)
    found = model.frequency_response([frequency], inputs=["push.fy"]).values[0, :, 0]
    # at 1 mHz inertia takes part by (w / w1)^2, with a first mode above 0.05 Hz
    assert found == pytest.approx(expected, abs=(1e-3 if frequency else 1e-9) * np.abs(expected).max())
