"""Pull-in of plates and magnets, against closed forms: told above it, and no equilibrium lost below."""

import re

import numpy as np
import pytest

import mse

SPRING, GAP, SIDE = 100.0, 1e-3, 0.01
AREA, VACUUM = SIDE**2, 8.8541878128e-12
PULL_IN = float(np.sqrt(8.0 * SPRING * GAP**3 / (27.0 * VACUUM * AREA)))  # 5785 V


class Plates(mse.MObject):
    """A law of one's own, for plates."""

    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def energy(self, frames, q):
        return 0.5 * q[0] ** 2 * (frames[1].o[2] - frames[0].o[2]) / (VACUUM * AREA)


class Magnet(mse.MObject):
    """A coenergy of one's own: L = 0.2 H at a gap of 1 mm, inversely proportional to it, and 5 ohm."""

    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def kinetic(self, frames, q, v):
        least = 0.01 * GAP  # there it touches: not a number
        gap = least + np.sqrt(frames[1].o[2] - frames[0].o[2] - least) ** 2
        return 0.5 * 0.2 * GAP / gap * v[0] ** 2

    def dissipation(self, frames, q, v):
        return 0.5 * 5.0 * v[0] ** 2


def on_a_spring(transducer, *sources, drawn=GAP):
    """A body on a spring that rests at the gap, pulled by a transducer under sources in series."""
    system = mse.MSystem("relay", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1e-3, inertia=1e-8, at=mse.Pose.dz(drawn)))
    frames = (system.ground @ mse.Pose.dz(GAP), body)
    system.add(mse.Prismatic("guide", stiffness=SPRING), between=frames)
    system.add(transducer, between=(system.ground, body))
    far = f"{transducer.name}.+"
    for source in sources:
        system.add(source)
        system.connect(far, f"{source.name}.+")
        far = f"{source.name}.-"
    system.connect(far, f"{transducer.name}.-", system.earth)
    return system


def plates(share, own=False):
    made = Plates("plates") if own else mse.PlateCapacitor("plates", sides=(SIDE, SIDE), gap=GAP)
    return on_a_spring(made, mse.VoltageSource("bias", voltage=share * PULL_IN))


def told(system):
    with pytest.raises(mse.WorkingPointError) as caught:
        system.find_working_point()
    return str(caught.value)


@pytest.mark.parametrize("own", [False, True])
def test_plates_rest_right_below_pull_in_and_have_pulled_in_right_above(own):
    point = plates(1.0 - 1e-5, own).find_working_point()
    left = point.poses["body.center"].o[2] / GAP
    assert point.stable and left * np.sqrt(27.0 / 4.0 * (1.0 - left)) == pytest.approx(1.0 - 1e-5, rel=1e-9)
    for share in (1.0 + 1e-5, 2.0, 10.0):
        message = told(plates(share, own))
        start = f"{'Plates' if own else 'PlateCapacitor'} 'plates': no equilibrium at {share * PULL_IN:g} V of 'bias': pull-in"
        assert message.startswith(start) and "lower the voltage" in message and "drive the charge" in message
        last = float(re.search(r"found is at ([\d.]+) V", message).group(1))
        assert last == pytest.approx(PULL_IN, rel=3e-5)


def test_a_magnet_pulls_in_at_its_current():
    """2 i^2 = 16 k g^3/(27 L(1 mm) 1 mm) of a spring k and a gap g; the same at a voltage, and for a source of current."""
    current = np.sqrt(8.0 * SPRING * GAP**2 / (27.0 * 0.2))
    assert (
        on_a_spring(Magnet("magnet"), mse.VoltageSource("bias", voltage=5.0 * 0.999 * current))
        .find_working_point()
        .stable
    )
    assert told(on_a_spring(Magnet("magnet"), mse.VoltageSource("bias", voltage=5.0 * 1.001 * current))).startswith(
        f"Magnet 'magnet': no equilibrium at {5.0 * 1.001 * current:g} V of 'bias': pull-in"
    )
    fed = on_a_spring(Magnet("magnet"), mse.CurrentSource("feed", current=1.001 * current))
    assert told(fed).startswith(f"Magnet 'magnet': no equilibrium at {1.001 * current:g} A of 'feed': pull-in")


def test_several_sources_and_the_transducer_that_pulls():
    bias, more = (mse.VoltageSource(name, voltage=x * PULL_IN) for name, x in (("bias", 0.7), ("more", 0.5)))
    system = on_a_spring(mse.PlateCapacitor("plates", sides=(SIDE, SIDE), gap=GAP), bias, more)
    other = system.add(mse.RigidBody("other", mass=1e-3, inertia=1e-8, at=mse.Pose.dz(GAP)))
    beside = (system.ground @ mse.Pose.dz(GAP), other)
    system.add(mse.Prismatic("stiff", stiffness=100.0 * SPRING), between=beside)
    system.add(mse.PlateCapacitor("twin", sides=(SIDE, SIDE), gap=GAP), between=(system.ground, other))
    system.connect("twin.+", "plates.+")
    system.connect("twin.-", system.earth)
    message = told(system)
    assert (
        message.startswith("PlateCapacitor 'plates': no equilibrium at ")
        and "of 'bias'" in message
        and "of 'more'" in message
    )
    share = float(re.search(r"found is at ([\d.]+) times these", message).group(1))
    assert share == pytest.approx(1.0 / 1.2, rel=3e-5)


def test_a_working_point_is_not_updated_beyond_pull_in():
    point = plates(0.5).find_working_point()
    with pytest.raises(mse.WorkingPointError, match=r"'plates': no equilibrium at .* V of 'bias': pull-in"):
        point.update({"bias.voltage": 1.2 * PULL_IN})
    assert point.update({"bias.voltage": 0.99 * PULL_IN}).stable


class Shove(mse.MObject):
    """A spring of its own whose energy has no minimum beyond some length."""

    def energy(self, frames, q):
        x = frames[1].o[2] - frames[0].o[2]
        return -1e6 * x**3


def test_other_failures_are_told_as_before():
    """A voice coil takes no stiffness away, and without a voltage the system has no equilibrium either."""
    system = on_a_spring(mse.VoiceCoil("coil", bl=1.0, resistance=1.0), mse.VoltageSource("bias", voltage=100.0))
    system.add(Shove("shove"), between=(system.ground, system["body"]))
    assert "pull-in" not in told(system)
    system = plates(0.1)
    system.add(mse.Load("load", force=(0.0, 0.0, -1.0)), between=(system["body"],))
    assert "pull-in" not in told(system)


def test_plates_that_touch_where_they_are_drawn_are_named():
    touching = on_a_spring(mse.PlateCapacitor("plates", sides=(SIDE, SIDE), gap=GAP), drawn=0.0)
    with pytest.raises(mse.ModelError, match=r"PlateCapacitor 'plates': its plates touch: the gap is 0 m; expected"):
        touching.find_working_point(seek="nearest")


class Levitation(mse.MObject):
    """L = 0.05 + 0.08/(1 + x/0.004), with x below the pole."""

    frame_names = ("pole", "ball")
    coordinate_names = (mse.coordinate("charge", unit="C", ports=("+", "-")),)

    def kinetic(self, frames, q, v):
        x = frames[0].o[2] - frames[1].o[2]
        return 0.5 * (0.05 + 0.08 / (1.0 + x / 0.004)) * v[0] ** 2


@pytest.mark.filterwarnings("error")
def test_a_magnet_that_no_controller_holds_is_named():
    """Steps along an energy that falls without bound end where its forces are no numbers."""
    system = mse.MSystem("levitation", gravity=(0, 0, -9.81))
    ball = system.add(mse.RigidBody("ball", mass=0.06, inertia=1e-5, at=mse.Pose.dz(-0.004)))
    system.add(mse.Prismatic("guide"), between=(ball, system.ground))
    system.add(Levitation("magnet"), between=(system.ground, ball))
    system.add(mse.Resistor("resistor", resistance=8.0))
    system.add(mse.VoltageSource("source", voltage=3.8817727909))
    system.connect("source.+", "resistor.+")
    system.connect("resistor.-", "magnet.+")
    system.connect("source.-", "magnet.-", system.earth)
    with pytest.raises(mse.WorkingPointError, match=r"the energy of Levitation 'magnet' falls without bound"):
        system.find_working_point()
