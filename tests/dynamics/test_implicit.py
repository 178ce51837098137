"""Implicit steps, against closed forms, explicit steps and linear models."""

import numpy as np
import pytest
import textbook as book
from scipy.linalg import eigh, expm

import mse
from mse import ModelError, MotionError
from mse.dynamics import implicit
from mse.dynamics.accelerations import Equations
from mse.dynamics.moments import Moment
from mse.model.evaluation import Evaluation
from mse.model.joint_assembly import put_together
from mse.model.variants import prepared
from test_explicit import pendulum, quarter_period


def in_series():
    """2 kg on a damper of 7 N s/m, behind which a spring of 100 N/m holds a point without mass."""
    system = mse.MSystem("series", gravity=(0, 0, 0))
    point = system.add(mse.RigidBody("point", mass=0.0))
    body = system.add(mse.RigidBody("body", mass=2.0))
    system.add(mse.Prismatic("spring", axis=(1, 0, 0), stiffness=100.0), between=(point, system.ground))
    system.add(mse.Prismatic("damper", axis=(1, 0, 0), damping=7.0), between=(body, point))
    return system


@pytest.mark.slow
def test_a_point_without_mass_between_spring_and_damper():
    motion = in_series().simulate(duration=1.0, dt=0.5, initial={"body'": (1, 0, 0, 0, 0, 0)}, rtol=1e-9)
    exact = np.array([expm(np.array([[0, 1, 0], [0, 0, -50], [0, 1, -100 / 7]]) * t) @ [0, 1, 0] for t in motion.time])
    np.testing.assert_allclose(motion["spring.displacement"], exact[:, 2], atol=1e-9)
    np.testing.assert_allclose(motion["spring.displacement"] + motion["damper.displacement"], exact[:, 0], atol=1e-9)
    assert motion.method == "implicit"
    assert "point.x has stiffness or damping, but no mass" in motion.notes[0]
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-7


def count_solved(monkeypatch):
    """The lengths (s) of all steps and parts of steps whose stages are asked for from now on."""
    asked, solved = [], implicit._Steps._solved
    monkeypatch.setattr(implicit._Steps, "_solved", lambda self, h, like: asked.append(h) or solved(self, h, like))
    return asked


def coupled(stiffness):
    """Masses of 1 kg on springs in a row of 1 N/m and of a stiffness, whose steps numpy makes."""
    system = mse.MSystem("coupled", gravity=(0, 0, 0))
    one, two = (system.add(mse.RigidBody(name, mass=1.0, inertia=0.1)) for name in ("one", "two"))
    system.add(mse.Prismatic("first", axis=(1, 0, 0), stiffness=1.0, damping=0.1), between=(one, system.ground))
    system.add(mse.Prismatic("second", axis=(1, 0, 0), stiffness=stiffness), between=(two, one))
    return system


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_many_samples_cost_half_a_step_more(monkeypatch, factor):
    monkeypatch.setattr(implicit, "implicit_steps_of", lambda *given: None)
    monkeypatch.setattr(implicit, "_SMOOTH", factor * implicit._SMOOTH)
    asked, start = count_solved(monkeypatch), {"first.displacement": 0.1}
    given = {"duration": 2.0, "dt": 2e-3, "initial": start, "rtol": 1e-8, "method": "implicit", "progress": False}
    motion = coupled(2.0).simulate(**given)
    rates = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-3, 2, -0.1, 0], [2, -2, 0, 0]])
    exact = np.array([expm(rates * t) @ [0.1, 0.1, 0, 0] for t in motion.time])
    np.testing.assert_allclose(motion["first.displacement"], exact[:, 0], atol=1e-9)
    np.testing.assert_allclose(motion["first.displacement"] + motion["second.displacement"], exact[:, 1], atol=1e-9)
    np.testing.assert_allclose(motion.velocities("two.center")[:, 0], exact[:, 3], atol=1e-8)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-9
    assert motion.steps < len(motion.time) / 5 and (factor < 1.0 or len(asked) < 2.5 * motion.steps)


def test_samples_do_not_follow_a_velocity_that_dies_out_within_a_step(monkeypatch):
    """1 m/s of a spring of 1e12 N/m is 0.7 um; a step of 10 ms along it would be 10 mm."""
    monkeypatch.setattr(implicit, "implicit_steps_of", lambda *given: None)
    start = {"first.displacement": 0.1, "second.displacement'": 1.0}
    given = {"duration": 1.0, "dt": 1e-3, "initial": start, "rtol": 1e-4, "method": "implicit", "progress": False}
    motion = coupled(1e12).simulate(**given)
    assert np.abs(motion["second.displacement"]).max() < 2e-6


def test_rates_without_mass_follow_from_the_rest_at_each_sample():
    """The point's spring and damper pull alike; in the first step, too, the ledger knows what the damper takes."""
    motion = in_series().simulate(duration=1.0, dt=1e-3, initial={"body'": (1, 0, 0, 0, 0, 0)}, rtol=1e-8)
    rate = motion.velocities("body.center")[1:, 0] - motion.velocities("point.center")[1:, 0]
    np.testing.assert_allclose(7.0 * rate, 100.0 * motion["spring.displacement"][1:], atol=1e-10)
    assert np.abs(motion.energy["unaccounted"]).max() < 2e-7


@pytest.mark.slow
def test_steps_are_of_order_five(monkeypatch):
    monkeypatch.setattr(implicit, "_ITERATIONS", 50)
    topology, assembly = prepared(pendulum(2.0), None)
    equations, errors = Equations(topology, assembly), []
    for h in (0.03, 0.015):
        moment = Moment(0.0, put_together(Evaluation.initial(assembly)).state, np.zeros(6))
        count = round(quarter_period(2.0) / h)
        h = quarter_period(2.0) / count
        for _ in range(count):
            steps = implicit._Steps(equations, 1e-11, moment)
            stages = steps._solved(h, None)
            moment = steps._moment(steps._settled(stages.x[2], stages.v[2], h), h, np.zeros(2), None)
        errors.append(abs(moment.state.o[1, 0]))
    assert 4.5 < np.log2(errors[0] / errors[1]) < 5.6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "initial"),
    [
        (book.trolley, {"phi1.angle": np.pi / 2}),
        (book.free_body, {"free.ax'": 0.02, "free.ay'": 5.0, "free.az'": 0.03}),
        (book.bricard, {}),
    ],
)
def test_both_methods_agree(system, initial):
    one, two = (
        system().simulate(duration=0.4, dt=0.2, initial=initial, rtol=1e-10, method=method)
        for method in ("explicit", "implicit")
    )
    np.testing.assert_allclose(two.values, one.values, atol=1e-7)
    assert two.largest_residual < 1e-11
    assert np.abs(two.energy["unaccounted"]).max() < 1e-7


@pytest.mark.slow
def test_a_run_in_two_pieces_has_the_bits_of_one():
    whole = in_series().simulate(duration=0.2, dt=0.1, initial={"body'": (1, 0, 0, 0, 0, 0)}, rtol=1e-6)
    system = in_series()
    first = system.simulate(duration=0.1, dt=0.1, initial={"body'": (1, 0, 0, 0, 0, 0)}, rtol=1e-6)
    then = system.simulate(duration=0.1, dt=0.1, start=first.final_state, rtol=1e-6)
    np.testing.assert_array_equal(then.values[-1], whole.values[-1])


def test_a_fast_undamped_vibration_that_no_step_resolves_dies_out():
    """A point on a spring of 1e10 N/m, 1e5 rad/s, that is carried by a slow one."""
    system = mse.MSystem("two", gravity=(0, 0, 0))
    slow = system.add(mse.RigidBody("slow", mass=1.0))
    fast = system.add(mse.RigidBody("fast", mass=1.0))
    system.add(mse.Prismatic("soft", axis=(1, 0, 0), stiffness=1.0), between=(slow, system.ground))
    system.add(mse.Prismatic("stiff", axis=(1, 0, 0), stiffness=1e10), between=(fast, slow))
    motion = system.simulate(duration=2.0, dt=1.0, initial={"soft.displacement": 1.0}, rtol=1e-6, method="implicit")
    np.testing.assert_allclose(motion["soft.displacement"], np.cos(motion.time / np.sqrt(2)), atol=1e-5)
    assert motion.steps < 100


def test_other_methods_are_refused():
    with pytest.raises(ModelError, match="method is 'radau'; expected 'explicit', 'implicit', or None"):
        pendulum(1.0).simulate(duration=1.0, dt=0.5, method="radau")


# -- beams --------------------------------------------------------------------------------------------------------
def cantilever(load=0.0):
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = system.add(mse.RoundBeam("beam", length=0.5, radius=3e-3, elements=2))
    system.clamp(system.ground, beam.frame(0))
    system.add(mse.Load("pull", force=(0, 0, load)), between=(beam.frame(1),))
    return system


@pytest.mark.slow
def test_a_cantilever_let_go_vibrates_as_its_linear_model():
    pulled, free = cantilever(0.3).find_working_point(), cantilever()
    linear = free.find_working_point().linearize()
    motion = free.simulate(duration=0.03, dt=0.01, start=pulled, rtol=1e-7)
    squares, shapes = eigh(linear.K.toarray(), linear.M.toarray())
    tip = list(linear.coordinates).index("beam.1.z")
    force = np.zeros(len(squares))
    force[tip] = 0.3
    of_modes = shapes.T @ force / squares
    exact = [shapes[tip] @ (of_modes * np.cos(np.sqrt(squares) * t)) for t in motion.time]
    found = motion.poses("beam.1")[0][:, 2]
    assert found[0] == pytest.approx(exact[0], rel=1e-4)
    np.testing.assert_allclose(found / found[0], np.array(exact) / exact[0], atol=5e-3)
    assert np.abs(motion.energy["unaccounted"]).max() < 1e-3 * motion.energy["elastic"].max()


class Escaping(mse.MObject):
    """``x'' = x^3``: from 1 at rest it is at infinity after K(1/2) = 1.8540746773 s."""

    frame_names = ()
    coordinate_names = ("x",)

    def energy(self, frames, q):
        return -0.25 * q[0] ** 4

    def kinetic(self, frames, q, v):
        return 0.5 * v[0] ** 2


@pytest.mark.slow
def test_a_motion_that_escapes_in_finite_time_ends():
    system = mse.MSystem("escape")
    system.add(Escaping("it"))
    with pytest.raises(MotionError, match=r"no step from t = 1\.85\d* s on.*it\.x moves fastest") as failed:
        system.simulate(duration=20.0, dt=0.1, initial={"it.x": 1.0}, method="implicit", rtol=1e-8)
    assert failed.value.motion.time[-1] == pytest.approx(1.8)


def plates(voltage):
    """A gram on a spring of 100 N/m with plates of 0.885 pF, at a voltage behind 1 kohm: charged within 1 ns."""
    system = mse.MSystem("plates", gravity=(0, 0, 0))
    apart = mse.Pose.dz(1e-3)
    top = system.add(mse.RigidBody("top", mass=1e-3, inertia=1e-8, at=apart))
    system.add(mse.Prismatic("spring", stiffness=100.0), between=(system.ground @ apart, top))
    system.add(mse.PlateCapacitor("plates", sides=(0.01, 0.01), gap=1e-3), between=(system.ground, top))
    system.add(mse.VoltageSource("bias", voltage=voltage))
    system.add(mse.Resistor("r", resistance=1e3))
    system.connect("bias.+", "r.+")
    system.connect("r.-", "plates.+")
    system.connect("bias.-", "plates.-", system.earth)
    return system


def test_a_source_beside_heavy_bodies_is_not_held_in_small_steps():
    """A source feels neither resistance nor stiffness itself; what its junction ties it to decides its current.

    The charge is ``C V (1 - exp(-t/(R C)))``, in which a gram hardly moves.
    """
    run = plates(10.0).simulate(duration=4e-9, dt=4e-10, rtol=1e-8, progress=False)
    capacity = 8.8541878128e-12 * 1e-4 / 1e-3
    right = capacity * 10.0 * -np.expm1(-run.time / (1e3 * capacity))
    np.testing.assert_allclose(run["plates.charge"], right, atol=1e-6 * capacity)


def test_a_fast_part_that_dies_out_leaves_a_long_motion():
    """A hundred steps for the nanosecond of the charge; then plates swing by ``F/k (1 - cos(w t))``, F being eps A V^2/2 g^2."""
    run = plates(100.0).simulate(duration=0.1, dt=0.01, progress=False)
    far = 8.8541878128e-12 * 1e-4 * 100.0**2 / (2.0 * 1e-3**2) / 100.0
    moved = run.poses("top.center")[0][:, 2] - 1e-3
    np.testing.assert_allclose(
        moved, -far * (1.0 - np.cos(np.sqrt(1e5) * run.time)), atol=4e-3 * far
    )  # the field softens the spring by 1e-4


def test_plates_that_touch_at_the_beginning_are_named():
    with pytest.raises(mse.ModelError, match="'plates': its plates touch: the gap is -0.001 m"):
        plates(10.0).simulate(duration=0.1, dt=0.01, initial={"spring.displacement": 2e-3})


def test_work_and_the_beginning_of_a_step_are_there():
    """A voltage of 1 V from 0.25 s on charges 1 F through 1 ohm; where it jumps a step begins."""
    system = mse.MSystem("charging")
    for element in (
        mse.VoltageSource("u"), mse.Resistor("r", resistance=1.0), mse.Capacitor("c", capacitance=1.0),
    ):  # fmt: skip
        system.add(element)
    system.connect("u.+", "r.+")
    system.connect("r.-", "c.+")
    system.connect("u.-", "c.-", system.earth)
    motion = system.simulate(duration=1.0, dt=0.1, inputs={"u.voltage": lambda t: float(t >= 0.25)})
    charge = 1.0 - np.exp(-0.75)
    np.testing.assert_allclose(motion.work["u.voltage"][-1], charge, rtol=1e-4)
    rest = system.simulate(duration=0.75, dt=0.25, start=motion.at(0.25).state, inputs={"u.voltage": 1.0})
    np.testing.assert_allclose(rest["c.charge"][[0, -1]], [0.0, charge], atol=1e-7)


@pytest.mark.parametrize("rounding", [0.01, 1.0])
def test_a_moment_in_a_step_is_found_where_rounding_ends_newtons_method(monkeypatch, rounding):
    """Changes that do not become smaller than some tolerances of the estimate, as rounding in very short parts of steps does."""
    system = mse.MSystem("low pass")
    system.add(mse.VoltageSource("source", voltage=5.0))
    system.add(mse.Resistor("resistor", resistance=1e3))
    system.add(mse.Capacitor("capacitor", capacitance=1e-6))
    system.connect("source.+", "resistor.+")
    system.connect("resistor.-", "capacitor.+")
    system.connect("source.-", "capacitor.-", system.earth)
    run = system.simulate(duration=1e-3, dt=1e-3, rtol=1e-11)
    whole, measured, part = implicit._Steps._solved, implicit._Steps._measured, []

    def solved(self, h, like):
        part[:] = [rounding if like else 0.0]
        return whole(self, h, like)

    monkeypatch.setattr(implicit._Steps, "_solved", solved)
    monkeypatch.setattr(implicit._Steps, "_measured", lambda *given: max(measured(*given), part[0]))
    if rounding == 1.0:
        with pytest.raises(ModelError, match=r"no state is found at t = 0\.0005 s in the step from .* a larger rtol"):
            run.at(5e-4)
        return
    went_on = system.simulate(duration=1e-3, dt=1e-3, start=run.at(5e-4).state, rtol=1e-11)
    assert went_on["capacitor.charge"][0] == pytest.approx(5e-6 * (1.0 - np.exp(-0.5)), rel=1e-9)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_steps_do_not_depend_on_how_shapes_are_scaled(method):
    """Amplitudes of shapes count by what they displace: at the same tolerance stresses as units would take many more steps."""
    mass, stiffness = np.diag([1.0, 1.0, 1.0, 0.01, 0.01, 0.01, 0.1]), np.zeros((7, 7))
    mass[2, 6] = mass[6, 2] = 0.2
    stiffness[6, 6] = 500.0
    found = []
    for unit in (1.0, 1e4):
        by = np.diag([1.0] * 6 + [unit])
        system = mse.MSystem("arm", gravity=(0, 0, -9.81))
        body = mse.FlexibleBody("body", M=by @ mass @ by, K=by @ stiffness @ by, interfaces={"end": mse.Pose.dx(0.5)})
        system.add(mse.Revolute("hinge", axis=(0, 1, 0)), between=(system.add(body), system.ground))
        motion = system.simulate(
            duration=0.4, dt=0.2, rtol=1e-6, method=method, outputs=["hinge.angle"], progress=False
        )
        found.append((motion.steps, motion["hinge.angle"]))
    (steps, angle), (expected, same) = found
    assert steps == expected
    np.testing.assert_allclose(angle, same, atol=1e-8)
