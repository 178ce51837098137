"""Laws of own elements that give no number on the way: the motion so far is there, and says which law, where and when."""

import numpy as np
import pytest

import mse


def broken(x):
    """No number beyond half a metre, where its slope is zero as before: nothing but the value shows it."""
    return np.nan if x > 0.5 else 0.0


class Slider(mse.MObject):
    """One coordinate, pushed by 1 N."""

    coordinate_names = (mse.coordinate("x", unit="m"),)
    frame_names = ("seat",)

    def energy(self, frames, q):
        return -q[0]

    def kinetic(self, frames, q, v):
        return 0.5 * v[0] ** 2


class NoEnergy(Slider):
    def energy(self, frames, q):
        return -q[0] + broken(q[0])


class NoKinetic(Slider):
    def kinetic(self, frames, q, v):
        return 0.5 * v[0] ** 2 * (1.0 + broken(q[0]))


class NoDissipation(Slider):
    def dissipation(self, frames, q, v):
        return 0.01 * v[0] ** 2 * (1.0 + broken(q[0]))


class NoConstraint(Slider):
    coordinate_names = (mse.coordinate("x", unit="m"), mse.coordinate("y", unit="m"))
    constraint_count = 1

    def kinetic(self, frames, q, v):
        return 0.5 * v[0] ** 2 + 0.5 * v[1] ** 2

    def constraint(self, frames, q):
        return [q[1] - q[0] - broken(q[0])]


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize(
    ("cls", "law"),
    [
        (NoEnergy, "energy"),
        (NoKinetic, "law kinetic"),
        (NoDissipation, "law dissipation"),
        (NoConstraint, "constraint"),
    ],
)
def test_a_law_that_gives_no_number_is_named_with_place_and_time(cls, law, method):
    s = mse.MSystem("slope")
    s.add(cls("slider"), between=(s.ground,))
    with pytest.raises(
        mse.MotionError, match=f"slider.*its {law} is nan at t = 1.*frame 'seat' at .*x.* = 0.50"
    ) as caught:
        s.simulate(duration=3.0, dt=0.25, method=method, progress=False)
    motion = caught.value.motion
    assert motion.time[-1] >= 0.75
    assert np.isfinite(motion.values).all()
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-6


def test_a_loop_names_it_too():
    s = mse.MSystem("slope")
    s.add(NoConstraint("slider"), between=(s.ground,))
    loop = s.step_loop(dt=2.0)
    with pytest.raises(mse.ModelError, match="its constraint is nan at t = 1"):
        loop.step()
    assert loop.time == 0.0
