"""Steady motions against textbooks: pendulums, tops, rotors, and what is none."""

import numpy as np
import pytest
from counting import made_of

import mse
from mse import ModelError, Pose
from mse.dynamics import steady
from mse.linear.linear_model import LinearModel

DOWN = (0, 0, -9.81)


def conical(length=0.8, motor="none"):
    """A point on an arm that is hinged on a vertical axis."""
    system = mse.MSystem("conical", gravity=DOWN)
    arm = system.add(mse.RigidBody("arm", mass=0.0))
    bob = system.add(mse.RigidBody("bob", mass=1.0, at=Pose.dz(-length), frames={"top": Pose.dz(length)}))
    system.add(mse.Revolute("azimuth", motor=motor), between=(arm, system.ground))
    system.add(mse.Revolute("tilt", axis=(0, 1, 0)), between=(bob.frame("top"), arm))
    return system


def top(upright):
    """A heavy top: 1 kg, .015 and .004 kg m2 about its point, .1 m below its center."""
    system = mse.MSystem("top", gravity=DOWN)
    seat = system.add(mse.RigidBody("seat", mass=0.0))
    inertia, tip = (0.005, 0.005, 0.004), {"tip": Pose.dz(-0.1)}
    body = system.add(mse.RigidBody("top", mass=1.0, inertia=inertia, at=Pose.dz(0.1), frames=tip))
    if upright:
        system.add(mse.Universal("tilt"), between=(seat, system.ground))
    else:
        turning = system.add(mse.RigidBody("turning", mass=0.0))
        system.add(mse.Revolute("precession"), between=(turning, system.ground))
        system.add(mse.Revolute("tilt", axis=(0, 1, 0)), between=(seat, turning))
    system.add(mse.Revolute("spin"), between=(body.frame("tip"), seat))
    return system


class Outside(mse.MObject):
    """A damper of 2 N s/m that does not turn."""

    frame_names = ("center",)

    def dissipation(self, frames, q, v):
        return 0.5 * 2.0 * (frames[0].v @ frames[0].v)


def jeffcott():
    """1 kg on a shaft of 1e4 N/m whose damping 1 N s/m turns along."""
    system = mse.MSystem("jeffcott", gravity=(0, 0, 0))
    shaft = system.add(mse.RigidBody("shaft", mass=0.0))
    disc = system.add(mse.RigidBody("disc", mass=1.0, inertia=(0.005, 0.005, 0.01)))
    system.add(mse.Revolute("spin"), between=(shaft, system.ground))
    both = {"x": 1e4, "y": 1e4}, {"x": 1.0, "y": 1.0}
    bend = mse.Joint("bend", free=("x", "y"), stiffness=both[0], damping=both[1])
    system.add(bend, between=(disc, shaft))
    system.add(Outside("outside"), between=(disc,))
    return system


def fastest(linear):
    """Largest frequency, rad/s."""
    return 2 * np.pi * linear.modes(damped=True).frequencies_hz[-1]


def test_a_conical_pendulum_swings_about_its_circle():
    found = conical().find_steady_motion({"azimuth.angle": 3.854554735207}, initial={"tilt.angle": 0.5})
    assert found.joint_coordinates["tilt.angle"] == pytest.approx(0.6, abs=1e-11)
    assert fastest(found.linearize()) == pytest.approx(6.724553973328, abs=1e-10)
    assert found.stable
    pull = np.linalg.norm(found.reactions["tilt"][:3])
    assert pull == pytest.approx(9.81 / np.cos(0.6), rel=1e-11)


def test_the_search_asks_for_matrices_alone(monkeypatch):
    made = made_of(monkeypatch, LinearModel)
    found = conical().find_steady_motion({"azimuth.angle": 3.854554735207}, initial={"tilt.angle": 0.5})
    assert not made
    assert found.stable and made


def test_a_point_on_an_arm_that_is_kept_turning():
    found = conical(0.5, "position").find_steady_motion({"azimuth.angle": 7.0}, initial={"tilt.angle": 0.8})
    assert found.joint_coordinates["tilt.angle"] == pytest.approx(1.158834094792, abs=1e-11)
    assert fastest(found.linearize()) == pytest.approx(6.414358256033, abs=1e-10)


@pytest.mark.parametrize(("precession", "nutation"), [(2.690772028, 21.981803315), (27.695732701, 25.648428817)])
def test_a_top_in_steady_precession(precession, nutation):
    rates = {"precession.angle": precession, "spin.angle": 100.0 - precession * np.cos(0.5)}
    found = top(False).find_steady_motion(rates, initial={"tilt.angle": 0.45})
    assert found.joint_coordinates["tilt.angle"] == pytest.approx(0.5, abs=1e-9)
    assert fastest(found.linearize()) == pytest.approx(nutation, abs=1e-8)


def test_the_rate_of_a_conical_pendulum_is_found():
    given = {"initial": {"tilt.angle": 0.6}, "free": ["azimuth.angle"]}
    found = conical().find_steady_motion({"azimuth.angle": 3.0}, **given)
    assert found.rates["azimuth.angle"] == pytest.approx(np.sqrt(9.81 / (0.8 * np.cos(0.6))), rel=1e-11)
    assert found.joint_coordinates["tilt.angle"] == pytest.approx(0.6, abs=1e-11)
    assert conical().find_steady_motion({"azimuth.angle": -5.0}, **given).rates["azimuth.angle"] < 0.0
    with pytest.raises(
        ModelError, match="1 rates are free and 0 initial values given; expected as many values to keep"
    ):
        conical().find_steady_motion({"azimuth.angle": 3.0}, free=["azimuth.angle"])
    with pytest.raises(ModelError, match="1 rates are free and 0 initial values given"):
        conical().find_steady_motion({"azimuth.angle": 3.0}, initial={"tilt.angle'": 0.0}, free=["azimuth.angle"])
    with pytest.raises(mse.UnknownNameError, match="rate 'tilt.angle'"):
        conical().find_steady_motion({"azimuth.angle": 3.0}, initial={"tilt.angle": 0.6}, free=["tilt.angle"])


@pytest.mark.parametrize("guess", [1e-3, 1e4])
@pytest.mark.parametrize("tilt", [0.6, -1.0, 1.5])
def test_a_rate_is_found_from_a_guess_that_is_far_off(guess, tilt):
    found = conical().find_steady_motion({"azimuth.angle": guess}, initial={"tilt.angle": tilt}, free=["azimuth.angle"])
    assert found.rates["azimuth.angle"] == pytest.approx(np.sqrt(9.81 / (0.8 * np.cos(tilt))), rel=1e-10)
    assert found.joint_coordinates["tilt.angle"] == pytest.approx(tilt, abs=1e-10)


def test_initial_values_beyond_those_that_are_kept_begin_the_search():
    given = {"initial": {"tilt.angle": 0.6, "azimuth.angle": 0.4}, "free": ["azimuth.angle"]}
    found = conical().find_steady_motion({"azimuth.angle": 3.0}, **given)
    assert found.rates["azimuth.angle"] == pytest.approx(np.sqrt(9.81 / (0.8 * np.cos(0.6))), rel=1e-11)
    assert found.joint_coordinates["azimuth.angle"] == pytest.approx(0.4, abs=1e-12)


@pytest.mark.parametrize(
    ("initial", "words"),
    [
        (
            {"azimuth.angle'": 2.0},
            r"initial \"azimuth.angle'\" is 2, where the steady motion has 4; expected the same; leave it out",
        ),
        ({"tilt.angle'": 0.1}, r"initial \"tilt.angle'\" is 0.1, where the steady motion has 0"),
        ({"bob'": (0, 0, 0, 0, 0, 1.0)}, r"initial velocity \"bob'\" is given; expected values and poses"),
    ],
)
def test_initial_rates_that_contradict_are_refused(initial, words):
    """They were left out without a word."""
    start = {"tilt.angle": 0.5}
    with pytest.raises(ModelError, match=words):
        conical().find_steady_motion({"azimuth.angle": 4.0}, initial=start | initial)
    same = start | {"azimuth.angle'": 4.0}
    assert conical().find_steady_motion({"azimuth.angle": 4.0}, initial=same).stable


@pytest.mark.parametrize("start", [2.5, 3.0, 3.5, 4.0, 5.0])
def test_neighbors_at_other_rates_are_no_unstable_motion(start):
    """Turning along and the change of rate with amplitude are one eigenvector at zero; rounding split them to +-2e-6."""
    given = {"initial": {"tilt.angle": 0.6}, "free": ["azimuth.angle"]}
    found = conical().find_steady_motion({"azimuth.angle": start}, **given)
    assert found.stable
    np.testing.assert_array_equal(found.linearize().modes(damped=True).eigenvalues[:2], 0.0)
    assert found.trace("azimuth.angle'", 5.0, points=2).limits == ()


def test_both_turns_of_a_top_and_their_rates_are_at_zero():
    rates = {"precession.angle": 2.690772028, "spin.angle": 100.0 - 2.690772028 * np.cos(0.5)}
    found = top(False).find_steady_motion(rates, initial={"tilt.angle": 0.45})
    assert np.count_nonzero(found.linearize().modes(damped=True).eigenvalues == 0.0) == 4


def test_a_top_sleeps_where_it_spins_fast():
    slow = top(True).find_steady_motion({"spin.angle": 55.0})
    assert not slow.stable
    trace = slow.trace("spin.angle'", 70.0, points=2)
    assert trace.limits == pytest.approx((60.652699857,), abs=1e-9)
    assert trace.growth[0] > 1.0 and trace.growth[-1] == 0.0
    assert "60.65269" in repr(trace)


def test_damping_that_turns_along_drives_a_rotor_beyond_a_speed():
    found = jeffcott().find_steady_motion({"spin.angle": 350.0})
    (growing,) = found.unstable
    assert growing.growth == pytest.approx(0.24992893, abs=1e-8)
    trace = found.trace("spin.angle'", 270.0, points=2)
    assert trace.limits == pytest.approx((300.0,), abs=1e-8)


@pytest.mark.parametrize("motor", ["none", "position"])
def test_a_rotor_on_a_hub_without_mass_is_balanced_to_rounding(motor):
    """All forces are zero: turning at 350 rad/s leaves 2e-14 N by rounding of velocities.  The disc is damped from outside by
    2 N s/m, turning along by 1 N s/m: unstable above 300 rad/s.
    """
    system = mse.MSystem("jeffcott", gravity=(0, 0, 0))
    hub = system.add(mse.RigidBody("hub", mass=0.0))
    shaft = system.add(mse.RigidBody("shaft", mass=1.0, inertia=0.01))
    disc = system.add(mse.RigidBody("disc", mass=1.0, inertia=(0.01, 0.01, 0.02)))
    both = {"x": 1e4, "y": 1e4}, {"x": 2.0, "y": 2.0}
    system.add(mse.Joint("guide", free=("x", "y"), stiffness=both[0], damping=both[1]), between=(hub, system.ground))
    system.add(mse.Revolute("spin", motor=motor), between=(disc, hub))
    system.add(mse.Revolute("drive", motor=motor), between=(shaft, system.ground))
    system.add(mse.Bushing("inner", damping=(1.0, 1.0, 0, 0, 0, 0)), between=(disc, shaft))
    found = system.find_steady_motion({"spin.angle": 350.0, "drive.angle": 350.0})
    (growing,) = found.unstable
    assert growing.growth == pytest.approx(0.24992893, abs=1e-8)
    assert system.find_steady_motion({"spin.angle": 290.0, "drive.angle": 290.0}).stable


def test_a_disc_whirls_forwards_and_backwards():
    system = mse.MSystem("disc", gravity=(0, 0, 0))
    gimbal = system.add(mse.RigidBody("gimbal", mass=0.0))
    disc = system.add(mse.RigidBody("disc", mass=1.0, inertia=(0.01, 0.01, 0.02)))
    stiff = {"angle1": 40.0, "angle2": 40.0}
    system.add(mse.Universal("cross", stiffness=stiff), between=(gimbal, system.ground))
    system.add(mse.Revolute("spin"), between=(disc, gimbal))
    modes = system.find_steady_motion({"spin.angle": 100.0}).linearize().modes(damped=True)
    np.testing.assert_allclose(2 * np.pi * modes.frequencies_hz[-2:], [18.32159566, 218.32159566], atol=1e-8)
    names = modes.coordinates.index("disc.ax"), modes.coordinates.index("disc.ay")
    backwards, forwards = (modes.shapes[names[1], k] / modes.shapes[names[0], k] for k in (-2, -1))
    np.testing.assert_allclose([backwards, forwards], [1j, -1j], atol=1e-9)


def on_a_hub(*, elements: int, length: float, side: float, stiffness: float, density: float) -> mse.MSystem:
    """A square beam on a hub that is kept turning about z: EA in N, kg/m; EI is ``EA side^2 / 12``."""
    system = mse.MSystem("blade", gravity=(0, 0, 0))
    hub = system.add(mse.RigidBody("hub", mass=1.0, inertia=1.0))
    system.add(mse.Revolute("axis", motor="position"), between=(hub, system.ground))
    area = side**2
    beam = mse.Beam(
        "beam", length=length, width=side, height=side, elements=elements,
        young_modulus=stiffness / area, poisson_ratio=0.3, density=density / area,
    )  # fmt: skip
    system.clamp(hub, system.add(beam).frame(0))
    return system


@pytest.mark.slow
def test_a_turning_cantilever_stiffens():
    # EI = rho A = L = 1 turning at 6 rad/s, from the power series of the beam's equation; without shear and rotary inertia,
    # which lower the figures by some (side/L)^2.  In its plane, omega^2 is less by 36.
    side = 2e-3
    system = on_a_hub(elements=8, length=1.0, side=side, stiffness=12.0 / side**2, density=1.0)
    found = system.find_steady_motion({"axis.angle": 6.0})
    assert found.stable
    modes = found.linearize().modes(damped=True)
    shapes = np.abs(modes.shapes[:, :8])
    y, z = (shapes[[n.startswith("beam") and n.endswith(axis) for n in modes.coordinates]] for axis in (".y", ".z"))
    flaps = z.max(axis=0) > y.max(axis=0)  # out of the plane
    omega = 2 * np.pi * modes.frequencies_hz[:8]
    np.testing.assert_allclose(omega[flaps][:3] / [7.36037302, 26.8090817, 66.6839144], 1.0, atol=3e-4)
    assert omega[flaps][0] == pytest.approx(7.36037302, rel=1e-5)
    assert omega[~flaps][0] == pytest.approx(4.26322542, rel=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("elements, off", [(1, 1.5e-5), (4, 1e-6)])
def test_a_turning_rod_is_stretched(elements, off):
    system = on_a_hub(elements=elements, length=10.0, side=0.05, stiffness=2.8e7, density=1.2)
    found = system.find_steady_motion({"axis.angle": 6.0})
    k = 6.0 * np.sqrt(1.2 / 2.8e7)
    assert np.tan(10.0 * k) / k - 10.0 == pytest.approx(5.1431746e-4, rel=1e-7)
    assert found.poses["beam.1"].o[0] - 10.0 == pytest.approx(np.tan(10.0 * k) / k - 10.0, rel=off)


def held_by_a_bushing(*, grounded: bool) -> mse.MSystem:
    system = mse.MSystem("ring", gravity=(0, 0, 0))
    hub = system.add(mse.RigidBody("hub", mass=1.0, inertia=1.0))
    system.add(mse.Revolute("axis", motor="position"), between=(hub, system.ground))
    mass = system.add(mse.RigidBody("mass", mass=2.0, inertia=0.1))
    system.add(mse.Bushing("bushing", stiffness=(800.0, 1250.0, 5e3, 1e3, 1e3, 1e3)), between=(hub, mass))
    if grounded:
        system.add(mse.Bushing("other", stiffness=(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)), between=(mass, system.ground))
    return system


def test_a_body_that_an_element_ties_to_what_turns_turns_with_it():
    # k/m = 400 and 625 along axes that turn at W = 7: (400 - W^2 - w^2) (625 - W^2 - w^2) = 4 W^2 w^2
    found = held_by_a_bushing(grounded=False).find_steady_motion({"axis.angle": 7.0})
    omega = 2 * np.pi * found.linearize().modes(damped=True).frequencies_hz
    exact = np.sqrt(np.roots([1.0, -(400 - 49) - (625 - 49) - 4 * 49, (400 - 49) * (625 - 49)]))
    np.testing.assert_allclose(omega[:2], np.sort(exact), atol=1e-9)


def test_a_body_between_what_turns_and_the_ground_is_not_carried():
    with pytest.raises(ModelError, match="axis.angle the system does not look the same a moment later"):
        held_by_a_bushing(grounded=True).find_steady_motion({"axis.angle": 7.0})


def test_a_motion_from_its_state_is_steady():
    system = conical()
    found = system.find_steady_motion({"azimuth.angle": 4.0}, initial={"tilt.angle": 0.5})
    motion = system.simulate(duration=0.5, dt=0.5, start=found.state, rtol=1e-11)
    assert motion["tilt.angle"][-1] == pytest.approx(found.joint_coordinates["tilt.angle"], abs=1e-9)
    assert motion["azimuth.angle"][-1] == pytest.approx(2.0, abs=1e-9)


def test_frequencies_about_a_motion_that_turns_are_those_of_the_instant_in_turning_axes():
    """Axes that turn at W change matrices by ``2 M W``, ``Lambda W + M W^2``."""
    system = conical()
    found = system.find_steady_motion({"azimuth.angle": 4.0}, initial={"tilt.angle": 0.5})
    turning = found.linearize()
    resting = system.simulate(duration=0.01, dt=0.01, start=found.state).at(0.0).linearize()
    w = np.kron(np.eye(4), [[0, -4.0, 0], [4.0, 0, 0], [0, 0, 0]])
    m, lam, k = (x.toarray() for x in (resting.M, resting.Lambda, resting.K))
    np.testing.assert_allclose(turning.Lambda.toarray(), lam + 2 * m @ w, atol=1e-12)
    np.testing.assert_allclose(turning.K.toarray(), k + lam @ w + m @ w @ w, atol=1e-10)


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        (
            {"tilt.angle": 1.0},
            "at constant rates of tilt.angle the system does not look the same a moment later; expected cyc",
        ),
        ({"azimuth.angle": 2.0, "tilt.angle": 0.1}, "does not look the same"),
        ({}, "rates are empty; expected some, such as"),
        ({"azimut.angle": 2.0}, r"azimuth\.angle"),
        ({"azimuth.angle": np.nan}, "rate of 'azimuth.angle'"),
    ],
)
def test_what_is_no_steady_motion_is_refused(rates, words):
    with pytest.raises((ModelError, mse.UnknownNameError), match=words):
        conical().find_steady_motion(rates, initial={"tilt.angle": 0.5})


def test_losses_without_a_drive_are_named():
    system = conical()
    system["azimuth"].damping = 0.1
    with pytest.raises(ModelError, match=r"no steady motion with azimuth.angle' = 4 near this one: .* is left on"):
        system.find_steady_motion({"azimuth.angle": 4.0}, initial={"tilt.angle": 0.5})
    system["azimuth"].motor = "position"
    driven = system.find_steady_motion({"azimuth.angle": 4.0}, initial={"tilt.angle": 0.5})
    assert abs(driven.reactions["azimuth"][5]) == pytest.approx(0.4, rel=1e-9)


def test_other_rates_from_a_motion():
    found = conical().find_steady_motion({"azimuth.angle": 4.0}, initial={"tilt.angle": 0.5})
    faster = found.update({"azimuth.angle": 6.0})
    assert np.cos(faster.joint_coordinates["tilt.angle"]) == pytest.approx(9.81 / (0.8 * 36.0), abs=1e-12)
    assert found.rates == {"azimuth.angle": 4.0}
    with pytest.raises(mse.UnknownNameError, match="azimuth"):
        found.trace("azimut.angle'", 5.0)


def test_a_trace_beyond_memory_is_refused_at_once():
    found = conical().find_steady_motion({"azimuth.angle": 4.0}, initial={"tilt.angle": 0.5})
    with pytest.raises(ModelError, match=r"a trace of 1,000,000,000 points needs .* GB .*; take at most [\d,]+ points"):
        found.trace("azimuth.angle'", 5.0, points=10**9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "factor"), [("_LONGEST", 0.5), ("_LONGEST", 2.0), ("_SAME", 1e-2), ("_SAME", 1e2)])
def test_numbers_that_decide_have_a_margin(monkeypatch, name, factor):
    monkeypatch.setattr(steady, name, factor * getattr(steady, name))
    test_a_conical_pendulum_swings_about_its_circle()
    test_a_top_in_steady_precession(2.690772028, 21.981803315)
    with pytest.raises(ModelError, match="does not look the same"):
        conical().find_steady_motion({"tilt.angle": 1.0}, initial={"tilt.angle": 0.5})
