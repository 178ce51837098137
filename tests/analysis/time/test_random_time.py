"""Time evolutions of random systems against the matrix exponential: damped, free, soft and stiff at once, with levers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg as sl

import long_double
import mse
from mse import Pose

pytestmark = pytest.mark.rounding


# -- systems ------------------------------------------------------------------------------------------------------
def directions(rng, n: int, count: int) -> list[np.ndarray]:
    """Along one coordinate, between two, along all, or with a lever down to what is rounding beside the other end."""
    out = []
    for _ in range(count):
        b = np.zeros(n)
        i, j = rng.choice(n, 2, replace=False)
        kind = rng.integers(4)
        if kind == 0:
            b[i] = 1.0
        elif kind == 1:
            b[i], b[j] = 1.0, -1.0
        elif kind == 2:
            b = rng.standard_normal(n)
        else:
            b[i], b[j] = 1.0, 10 ** rng.uniform(-60, 0)
        out.append(b)
    return out


def summed(rng, n: int, count: int, size: float, decades: float) -> np.ndarray:
    a = np.zeros((n, n))
    for b in directions(rng, n, count):
        a += size * 10 ** rng.uniform(-decades / 2, decades / 2) * np.outer(b, b)
    return a


def plain(rng, n, decades):
    """Few springs and dampers: some motions are free, some only damped."""
    m = np.diag(10 ** rng.uniform(-1, 1, n))
    c, k = (summed(rng, n, rng.integers(0, n + 2), size, decades) for size in (1.0, 100.0))
    return m, c, k


def coupled_masses(rng, n, decades):
    m, c, k = plain(rng, n, decades)
    x = 0.3 * rng.standard_normal((n, n))
    return np.sqrt(m) @ (np.eye(n) + x @ x.T) @ np.sqrt(m), c, k


def critical(rng, n, decades):
    """Modes damped one by one, critically, nearly so, less or more."""
    m, _, k = coupled_masses(rng, n, decades)
    w2, phi = sl.eigh(k, m)
    zeta = rng.choice([0.01, 0.5, 1.0, 1.0 + 1e-9, 2.0], n)
    return m, m @ phi @ np.diag(2 * zeta * np.sqrt(np.maximum(w2, 0))) @ phi.T @ m, k


def massless(rng, n, decades):
    """Some coordinates have dampers to the ground instead of mass."""
    m, c, k = plain(rng, n, decades)
    for i in rng.choice(n, rng.integers(1, n), replace=False):
        m[i, i], c[i, i] = 0.0, c[i, i] + 10 ** rng.uniform(-2, 2)
    return m, c, k


def defective(rng, n, decades):
    """A mass and a massless coordinate with one eigenvalue three times and one vector, beside others."""
    a = 10 ** rng.uniform(-1, 1)
    m, c, k = plain(rng, n, decades)
    m = sl.block_diag(np.diag([1.0, 0.0]), m)
    c = sl.block_diag(a * np.array([[3, -3], [-3, 3 + 3 / 8]]), c)
    k = sl.block_diag(np.diag([0.0, 9 / 8 * a * a]), k)
    return m, c, k


def turned(rng, n, decades):
    """Nothing is along a coordinate."""
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return tuple(q @ x @ q.T for x in coupled_masses(rng, n, min(decades, 2)))


def barely_turned(rng, n, decades):
    """Turned by what rounding turns, or by less: couplings are numbers without meaning."""
    m, c, k = plain(rng, n, decades)
    x = rng.standard_normal((n, n)) * 10 ** rng.uniform(-60, -8, (n, n))
    q = sl.expm(x - x.T)
    return m, q @ c @ q.T, q @ k @ q.T


KINDS = (plain, coupled_masses, critical, massless, defective, turned, barely_turned)


def of_matrices(kind, seed: int) -> mse.LinearModel:
    rng = np.random.default_rng([5, seed])
    m, c, k = kind(rng, int(rng.integers(2, 9)), float(rng.choice([0, 2, 4])))
    return mse.LinearModel.from_matrices(*(0.5 * (x + x.T) for x in (m, c, k)), name=f"{kind.__name__} {seed}")


def hanging(seed: int) -> mse.LinearModel:
    """Bodies one below the other, or beside, on damped springs with levers: free to spin, and some to float."""
    rng = np.random.default_rng([6, seed])
    s = mse.MSystem(f"hanging {seed}", gravity=(0, 0, -9.81))
    above = s.ground
    for i in range(rng.integers(1, 4)):
        top = above if rng.random() < 0.8 else s.ground
        spring = s.add(
            mse.Spring(
                f"s{i}", length=rng.uniform(0.5, 1.0), stiffness=10 ** rng.uniform(3, 6),
                damping=rng.choice([0.0, 10 ** rng.uniform(-1, 2)]),
            )
        )  # fmt: skip
        arm, low = rng.uniform(0.02, 0.2, 2)
        body = s.add(
            mse.RigidBody(
                f"b{i}", mass=10 ** rng.uniform(-1, 1), inertia=10 ** rng.uniform(-2, 0), at=Pose.dz(-1.2 * (i + 1)),
                frames={"hook": Pose.dz(arm), "below": Pose.dz(-low)},
            )
        )  # fmt: skip
        s.clamp(top, spring.frame(1))
        s.clamp(spring.frame(0), body.frame("hook"))
        above = body.frame("below")
    return s.find_working_point().linearize()


# -- the exponential ----------------------------------------------------------------------------------------------
def check(model: mse.LinearModel, times: tuple[tuple[float, int], ...], seed: int) -> None:
    """Where A t is small enough for SciPy's exponential of plain A, it is the judge; in long double it always is."""
    ss = model.state_space(outputs=[])
    start = np.random.default_rng([7, seed]).standard_normal(len(ss.states))
    start = ss.scaling[0] @ start
    initial = dict(zip(ss.states, start, strict=True))
    for dt, steps in times:
        t = dt * steps
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = model.simulate(duration=t, dt=dt, initial=initial, outputs=[], progress=False).final_state
            loop = model.step_loop(dt=t / 4, initial=initial, outputs=[])
            for _ in range(4):
                loop.step()
        to, back = (x.astype(np.longdouble) for x in ss.scaling)
        back = back @ (2 * np.eye(len(to)) - to @ back)  # to the last digit of those
        exact = to @ (long_double.exponential(back @ ss.A @ to * np.longdouble(t)) @ (back @ start))
        size = float(max(np.abs(exact).max(), np.abs(start).max()))
        for found in (run, loop.state()):
            error = np.abs(np.array([found[name] for name in ss.states]) - exact).max() / size
            assert error < 1e-9, f"{model.name}, {steps} steps of {dt} s: {error:.1e} of the largest"
        if np.abs(ss.A).sum(axis=1).max() * t < 1e5:
            plain_one = sl.expm(ss.A * t) @ start
            assert np.abs(np.array([run[name] for name in ss.states]) - plain_one).max() < 1e-9 * size


TIMES = (0.01, 100), (0.3, 7), (1e-4, 300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_random_matrices(kind):
    for seed in range(30):
        check(of_matrices(kind, seed), TIMES, seed)


@pytest.mark.slow
def test_random_hanging_bodies():
    for seed in range(15):
        check(hanging(seed), ((0.1, 10), (0.01, 50)), seed)


def test_a_spin_beside_a_damper_with_a_lever():
    """Nothing holds the spin of a body on a spring: 1 rad/s for 1 s is 1 rad, and a torque of 0.1 N m makes 0.5 rad."""
    s = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    spring = s.add(mse.Spring("spring", length=1.0, stiffness=1e4, damping=0.3))
    body = s.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-1.0), frames={"hook": Pose.dz(0.05)}))
    coil, probe = s.add(mse.ForceActuator("coil")), s.add(mse.PositionSensor("probe"))
    s.clamp(s.ground, spring.frame(1))
    s.clamp(spring.frame(0), body.frame("hook"))
    for link in (coil, probe):
        s.clamp(body.frame(0), link.frame(0))
        s.clamp(s.ground, link.frame(1))
    model = s.find_working_point().linearize()
    for dt in (0.1, 1e-3):
        spun = model.simulate(duration=1.0, dt=dt, initial={"mass.az'": 1.0})
        np.testing.assert_allclose(spun["probe.az"], spun.time, rtol=0, atol=1e-12)
        loop = model.step_loop(dt=dt, inputs=["coil.tz"], outputs=["probe.az"])
        loop["coil.tz"] = 0.1
        while loop.time < 1.0 - 0.5 * dt:
            loop.step()
        assert abs(loop["probe.az"]) == pytest.approx(0.5, abs=1e-12)
        pushed = model.simulate(
            duration=1.0, dt=dt, inputs={"coil.tz": np.full(round(1 / dt) + 1, 0.1)}, hold="zoh", outputs=["probe.az"]
        )
        assert abs(pushed["probe.az"][-1]) == pytest.approx(0.5, abs=1e-12)
