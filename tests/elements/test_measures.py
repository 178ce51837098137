"""Sensors by a law of poses: readings of working points, and their slopes as outputs of linear models."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from catalogue import CATALOGUE, Gauge
from mse import Pose
from mse.elements import measures
from mse.elements.base import Channel
from mse.elements.parameters import Integer, Real
from mse.errors import ModelError, UnknownNameError
from mse.numerics.law_functions import rotation_vector


class Remembering(Gauge):
    """The same, but it keeps what no record may change."""

    def measure(self, frames, q):
        self._last = super().measure(frames, q)
        return self._last


class ByDifferences(Gauge):
    differentiation = "differences"


def slopes_of(obj, frames):
    return measures.slopes([obj], [(frames, np.zeros(0))], [])[0]


@pytest.mark.parametrize("seed", range(3))
def test_slopes_by_records_for_all_and_for_each_by_differences_and_by_hand(seed):
    frames = CATALOGUE["Spring"].frames(seed)
    d = frames[1].o - frames[0].o
    n = d / np.linalg.norm(d)
    found = slopes_of(Gauge("it"), frames)
    np.testing.assert_allclose(found[0], [*-n, 0, 0, 0, *n, 0, 0, 0], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(slopes_of(Remembering("it"), frames), found, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(slopes_of(ByDifferences("it"), frames), found, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1, 3:6], -found[1, 9:12], rtol=1e-13, atol=1e-15)  # turned together: nothing


class Displacement(mse.MObject):
    """Position of frame 0 as seen from frame 1, as a position sensor reads it."""

    outputs = tuple(Channel(c, "m") for c in "xyz")

    def measure(self, frames, q):
        return frames[1].U.T @ (frames[0].o - frames[1].o)


def mounted(*sensors, load=5.0) -> mse.MSystem:
    """A body on springs that tilts, on a position actuator."""
    s = mse.MSystem("mount")
    piezo = s.add(mse.PositionActuator("piezo"))
    s.clamp(s.ground, piezo.frame(1))
    body = s.add(
        mse.RigidBody("body", mass=1.0, inertia=0.2, at=Pose.dxdydz(0.1, 0.0, 0.4), frames={"arm": Pose.dx(0.3)})
    )
    for k, (x, y) in enumerate(((0.2, 0.1), (-0.2, 0.1), (0.0, -0.3))):
        leg = s.add(mse.Bushing(f"leg{k}", stiffness=(300.0 + 50.0 * k, 200.0, 400.0, 2.0, 2.0, 2.0)))
        s.clamp(piezo.frame(0), leg.frame(1), Pose.dxdydz(0.1 + x, y, 0.4))
        s.clamp(body, leg.frame(0), Pose.dxdydz(x, y, 0.0))
    s.add(mse.Load("load", force=(0.0, 2.0, -load)), between=(body.frame("arm"),))
    s.add(mse.ForceActuator("push", axes="world"), between=(s.ground, body))
    for sensor in sensors:
        s.add(sensor)
        s.clamp(body.frame("arm"), sensor.frame(0))
        s.clamp(s.ground, sensor.frame(1), Pose.dxdydz(0.2, 0.1, 0.9) @ Pose.rotation((0.3, -0.5, 0.9)))
    return s


def test_a_measure_reads_what_a_position_sensor_does():
    s = mounted(Displacement("own"), mse.PositionSensor("probe"))
    linear = s.find_working_point().linearize()
    found = linear.frequency_response([0.0, 0.8, 5.0])
    for axis in "xyz":
        for u in ("push.fx", "push.fz", "push.ty", "piezo.y", "piezo.ax"):
            np.testing.assert_allclose(found[f"own.{axis}", u], found[f"probe.{axis}", u], rtol=1e-11, atol=1e-14)
    assert linear.output_units[linear.outputs.index("own.x")] == "m"


def test_readings_of_a_working_point():
    wp = mounted(Gauge("gauge")).find_working_point()
    a, b = wp.poses["gauge.0"], wp.poses["gauge.1"]
    assert dict(wp.readings) == pytest.approx(
        {
            "gauge.gap": 0.25 + np.linalg.norm(b.o - a.o),
            "gauge.tilt": np.arctan2((a.U.T @ b.U)[2, 1], (a.U.T @ b.U)[2, 2]),
        },
        rel=1e-14,
    )
    assert "gauge.tilt" in str(wp.readings) and "rad" in str(wp.readings)
    with pytest.raises(UnknownNameError, match="gauge.gap"):
        wp.readings["gauge.gab"]
    assert not mse.MSystem("none", gravity=(0, 0, 0)).find_working_point().readings


def test_outputs_at_rest_are_changes_of_readings():
    """The response at 0 Hz is the slope of readings of working points under a changed load, to the second order."""
    wp = mounted(Gauge("gauge")).find_working_point()
    h = 1e-3
    read = [wp.update({"load.force": (0.0, 2.0, -5.0 + sign * h)}).readings for sign in (1.0, -1.0)]
    response = wp.linearize().frequency_response([0.0])
    lever = wp.poses["body.arm"].o - wp.poses["body.center"].o
    torque = np.cross(lever, [0.0, 0.0, 1.0])
    for name in ("gauge.gap", "gauge.tilt"):
        slope = (read[0][name] - read[1][name]) / (2 * h)
        found = response[name, "push.fz"][0].real
        found += sum(response[name, f"push.t{a}"][0].real * torque[k] for k, a in enumerate("xyz"))
        assert found == pytest.approx(slope, rel=1e-6)


class Capacitor(mse.MObject):
    """A charge, held by a voltage, that is read."""

    frame_names = ("0",)
    capacity: Real = Real("charge per voltage", unit="F", default=2e-9, above=0.0)
    coordinate_names = (mse.coordinate("charge", unit="C", size=1e-8),)
    outputs = (Channel("voltage", "V"),)

    def energy(self, frames, q):
        return 0.5 * q[0] ** 2 / self.capacity - 3.0 * q[0]

    def measure(self, frames, q):
        return q[0] / self.capacity


def test_an_internal_coordinate_is_read():
    s = mse.MSystem("s", gravity=(0, 0, 0))
    s.add(Capacitor("plates"), between=(s.ground,))
    wp = s.find_working_point()
    assert wp.readings["plates.voltage"] == pytest.approx(3.0, rel=1e-12)
    linear = wp.linearize()
    assert linear.output_units == ("V",)
    np.testing.assert_allclose(linear.measure.toarray(), [[1.0 / 2e-9]], rtol=1e-14)


class Several(mse.MObject):
    """As many outputs as its parameter says."""

    frame_names = ("0",)
    count: Integer = Integer("outputs", default=1, minimum=0, maximum=9)

    @property
    def outputs(self):
        return tuple(Channel(f"y{k}", "m") for k in range(self.count))

    def measure(self, frames, q):
        return [(k + 1.0) * frames[0].o[2] for k in range(self.count)]


def test_objects_of_a_class_may_have_different_outputs():
    s = mounted()
    for k, count in enumerate((1, 3, 1)):
        s.add(Several(f"it{k}", count=count), between=(s["body"],))
    wp = s.find_working_point()
    assert wp.linearize().outputs == ("it0.y0", "it1.y0", "it1.y1", "it1.y2", "it2.y0")
    assert wp.readings["it1.y2"] == pytest.approx(3.0 * wp.poses["body.center"].o[2], rel=1e-14)
    lone = wp.linearize(within=["body", "it1"])
    assert lone.outputs == ("it1.y0", "it1.y1", "it1.y2")


def test_what_cannot_be_recorded_is_said_by_the_linear_model():
    notes = mounted(Remembering("gauge")).find_working_point().linearize().notes
    assert any("the measure of Remembering" in note and "sets _last of its object" in note for note in notes)
    assert not mounted(Gauge("gauge")).find_working_point().linearize().notes


# -- refused ----------------------------------------------------------------------------------------------------------
BAD = {
    "too few": (lambda f: [f[0].o[0]], ["Sensor 'sensor'", "gives 1 readings", "outputs (a, b)"]),
    "no number": (lambda f: "far", ["its measure is 'far'", "real numbers"]),
    "a matrix": (lambda f: f[0].U, ["shape (3, 3)", "one dimension"]),
    "complex": (lambda f: 1j * f[0].o[:2], ["its measure is array", "expected real numbers"]),
    "not finite": (lambda f: [f[0].o[0], np.inf * f[0].U[0, 0]], ["measure of b is inf", "finite number"]),
    "a failure": (lambda f: [f[0].o[0], f[7].o[0]], ["its measure failed", "measure(frames, q)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_measure_is_refused(name):
    law, words = BAD[name]

    class Sensor(mse.MObject):
        frame_names = ("0",)
        outputs = (Channel("a", "m"), Channel("b", "m"))

        def measure(self, frames, q):
            return law(frames)

    s = mounted()
    s.add(Sensor("sensor"), between=(s["body"],))
    with pytest.raises(ModelError) as caught:
        s.find_working_point().linearize()
    for word in words:
        assert word in str(caught.value)


def test_a_distance_that_vanishes_has_no_slope():
    s = mounted()
    s.add(Gauge("gauge"), between=(s["body"], s["body"]))
    wp = s.find_working_point()
    assert wp.readings["gauge.gap"] == 0.25
    with pytest.raises(ModelError, match="Gauge 'gauge': its measure of gap has no slope .* a square instead"):
        wp.linearize()


def test_a_measure_needs_outputs():
    class Sensor(mse.MObject):
        frame_names = ("0",)

        def measure(self, frames, q):
            return frames[0].o

    s = mounted()
    s.add(Sensor("sensor"), between=(s["body"],))
    wp = s.find_working_point()
    for call in (wp.linearize, lambda: wp.readings):
        with pytest.raises(ModelError, match=r"gives 3 readings; expected one for each of its outputs \(none\)"):
            call()


def test_a_class_has_a_measure_or_a_map():
    def law(self, frames, q=None):
        return np.zeros(6)

    with pytest.raises(TypeError, match="it has measure and output_map, .* leave output_map out"):
        type("Sensor", (mse.MObject,), {"measure": law, "output_map": law})
    with pytest.raises(TypeError, match="it has measure and output_map"):
        type("Probe", (mse.PositionSensor,), {"measure": law})
    with pytest.raises(TypeError, match="did you mean 'measure'"):
        type("Sensor", (mse.MObject,), {"measures": law})


def test_turned_frames_are_read_by_their_rotation_vector():
    class Turn(mse.MObject):
        outputs = tuple(Channel(c, "rad") for c in ("rx", "ry", "rz"))

        def measure(self, frames, q):
            return rotation_vector(frames[1].U.T @ frames[0].U)

    frames = [
        f._replace(U=Pose.rotation(v).U)
        for f, v in zip(CATALOGUE["Spring"].frames(0), ((0, 0, 0.4), (0, 0, 0.1)), strict=True)
    ]
    np.testing.assert_allclose(measures.readings(Turn("it"), frames, np.zeros(0)), [0.0, 0.0, 0.3], atol=1e-15)
    found = slopes_of(Turn("it"), frames)
    np.testing.assert_allclose(found[2], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, -1], atol=1e-14)
