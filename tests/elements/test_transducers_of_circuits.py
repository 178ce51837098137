"""Voice coils, plates, piezo stacks, and cylinders with fluid, against closed forms."""

import numpy as np
import pytest

import mse


def stage(mass, stiffness, damping=0.0, gravity=0.0, z=0.0):
    """A body that slides along z on a spring."""
    system = mse.MSystem("stage", gravity=(0, 0, -gravity))
    body = system.add(mse.RigidBody("body", mass=mass, inertia=1e-5, at=mse.Pose.dz(z)))
    guide = mse.Prismatic("guide", stiffness=stiffness, damping=damping, rest=z)
    system.add(guide, between=(body, system.ground))
    return system, body


def stiffness_at(system, f):
    """Force over displacement of the body, without that of its mass."""
    system.add(mse.ForceActuator("push"), between=(system.ground, system["body"]))
    system.add(mse.PositionSensor("read"), between=(system["body"], system.ground))
    linear = system.find_working_point().linearize()
    return 1 / linear.frequency_response([f])["read.z", "push.fz"][0] + system["body"].mass * (2 * np.pi * f) ** 2


# -- voice coils ----------------------------------------------------------------------------------------------------------
def speaker(voltage=4.0, **options):
    system, body = stage(0.03, 1500.0, 0.4)
    coil = mse.VoiceCoil("coil", bl=8.0, resistance=6.0, inductance=2e-3, **options)
    system.add(coil, between=(system.ground, body))
    system.add(mse.VoltageSource("source", voltage=voltage))
    system.connect("source.+", "coil.+")
    system.connect("source.-", "coil.-", system.earth)
    return system


def test_a_biased_voice_coil_is_stiffer():
    point = speaker(width=0.004).find_working_point()
    assert point.poses["body.center"].o[2] == pytest.approx(2.5360884622e-3, rel=1e-9)
    linear = point.linearize()
    assert linear.K[2, 2] == pytest.approx(2360.1753600577, rel=1e-9)
    assert linear.parts["coil", "field"][2, 2] == pytest.approx(860.1753600577, rel=1e-9)
    roots = sorted((mode.eigenvalue for mode in linear.modes(damped=True)), key=lambda s: s.real)
    assert roots == pytest.approx([-2807.725284609, -102.8040243621 + 271.0929462265j], rel=1e-9)


def test_a_motion_from_a_working_point_keeps_its_current():
    system = speaker(width=0.004)
    point = system.find_working_point()
    motion = system.simulate(duration=0.01, dt=1e-3, start=point)
    z = motion["guide.displacement"]
    assert z == pytest.approx(np.full(len(z), point.poses["body.center"].o[2]), rel=1e-8)
    assert motion["coil.charge"][-1] == pytest.approx(0.01 * point.flows["coil.charge"], rel=1e-8)


def test_impedance_of_a_voice_coil_has_the_motion_in_it():
    f = np.array([5.0, 35.0, 400.0])
    z = speaker(0.0).find_working_point().linearize().impedance("source", f)
    s = 2j * np.pi * f
    assert z == pytest.approx(6.0 + 2e-3 * s + 64.0 * s / (1500.0 + 0.4 * s + 0.03 * s**2), rel=1e-10)
    assert (z.real > 0.0).all()


def test_eddy_currents_are_an_inductance_beside_a_resistance():
    """``R + s L + s L2 R2/(R2 + s L2)`` and the motion; a steady current passes L2, as without."""
    f = np.array([5.0, 35.0, 400.0, 5e3])
    eddy = {"eddy_inductance": 3e-3, "eddy_resistance": 10.0}
    z = speaker(0.0, **eddy).find_working_point().linearize().impedance("source", f)
    s = 2j * np.pi * f
    still = 6.0 + 2e-3 * s + 3e-2 * s / (10.0 + 3e-3 * s)
    assert z == pytest.approx(still + 64.0 * s / (1500.0 + 0.4 * s + 0.03 * s**2), rel=1e-10)
    point = speaker(width=0.004, **eddy).find_working_point()
    assert point.poses["body.center"].o[2] == pytest.approx(2.5360884622e-3, rel=1e-9)
    assert point.flows["coil.eddy"] == pytest.approx(4.0 / 6.0, rel=1e-12)


def test_the_current_of_a_held_coil_rises_by_the_roots_of_both_inductances():
    """A step U of voltage: ``i = U/(R + s L + s L2 R2/(R2 + s L2))/s``, in time."""
    system = mse.MSystem("held", gravity=(0, 0, 0))
    coil = mse.VoiceCoil("coil", bl=8.0, resistance=6.0, inductance=2e-3, eddy_inductance=3e-3, eddy_resistance=10.0)
    system.add(coil, between=(system.ground, system.ground))
    system.add(mse.VoltageSource("source", voltage=4.0))
    system.connect("source.+", "coil.+")
    system.connect("source.-", "coil.-", system.earth)
    run = system.simulate(duration=1e-3, dt=1e-4, outputs=["coil.current"])
    roots = np.roots([6e-6, 0.02 + 0.018 + 0.03, 60.0])  # (R + s L)(R2 + s L2) + s L2 R2
    parts = [(10.0 + 3e-3 * r) / (r * (12e-6 * r + 0.068)) * np.exp(r * run.time) for r in roots]
    assert run["coil.current"] == pytest.approx(4.0 * (1.0 / 6.0 + sum(parts)), abs=1e-7)


def test_eddy_currents_need_both_parameters():
    with pytest.raises(
        mse.ModelError, match="'coil': eddy_inductance is 0.001 H and eddy_resistance 0 ohm; expected both"
    ):
        speaker(eddy_inductance=1e-3)


# -- plates ---------------------------------------------------------------------------------------------------------------
def plates(share):
    """A plate on a spring of 5 N/m at a share of the voltage of pull-in."""
    gap, side = 2e-6, 1e-4
    system, body = stage(2e-10, 5.0, z=gap)
    system.add(mse.PlateCapacitor("plates", sides=(side, side), gap=gap), between=(system.ground, body))
    pull_in = np.sqrt(8.0 * 5.0 * gap**3 / (27.0 * system["plates"].permittivity * side**2))
    system.add(mse.VoltageSource("source", voltage=share * pull_in))
    system.connect("source.+", "plates.+")
    system.connect("source.-", "plates.-", system.earth)
    return system, gap


def test_plates_come_nearer_up_to_pull_in():
    system, gap = plates(0.9)
    point = system.find_working_point()
    assert point.stable and 1.0 - point.poses["body.center"].o[2] / gap == pytest.approx(0.177292477825, rel=1e-9)
    with pytest.raises(mse.MseError):
        plates(1.05)[0].find_working_point()


def test_tilted_plates_have_more_capacitance():
    """To the second order of the tilt, compared with the sum of strips along their own distance."""
    tilt, a, b, gap = 1e-3, 0.02, 0.01, 1e-3
    frames = [mse.elements.base.FramePose(np.zeros(3), np.eye(3))]
    frames.append(mse.elements.base.FramePose(np.array([0, 0, gap]), mse.Pose.ry(tilt).U))
    one = mse.PlateCapacitor("it", sides=(a, b), gap=gap)
    x = (np.arange(4000) + 0.5) / 4000 * a - 0.5 * a
    strips = one.permittivity * b * np.mean(a / (gap - tilt * x))
    assert 0.5 / one.energy(frames, [1.0]) == pytest.approx(strips, rel=1e-7)


# -- piezo stacks ---------------------------------------------------------------------------------------------------------
K_SC, STROKE, C_T = 5e7, 1e-7, 2e-6


def stack(voltage, closed):
    system, body = stage(0.1, 0.0)
    system.add(mse.PiezoStack("stack", stiffness=K_SC, stroke=STROKE, capacitance=C_T), between=(system.ground, body))
    if closed:
        system.add(mse.VoltageSource("source", voltage=voltage))
        system.connect("source.+", "stack.+")
        system.connect("source.-", "stack.-", system.earth)
    return system


def test_a_piezo_stack_is_that_of_its_data_sheet():
    point = stack(100.0, True).find_working_point()
    assert point.poses["body.center"].o[2] == pytest.approx(100.0 * STROKE, rel=1e-9)
    assert point.internal["stack.charge"] == pytest.approx(100.0 * C_T, rel=1e-9)
    clamped = C_T - STROKE**2 * K_SC
    open_ = K_SC + (STROKE * K_SC) ** 2 / clamped
    for closed, stiffness in ((True, K_SC), (False, open_)):
        (mode,) = stack(0.0, closed).find_working_point().linearize().modes()
        assert mode.frequency_hz == pytest.approx(np.sqrt(stiffness / 0.1) / (2 * np.pi), rel=1e-9)


def test_a_stack_with_too_little_capacitance_is_refused():
    system, body = stage(0.1, 0.0)
    system.add(mse.PiezoStack("stack", stiffness=5e7, stroke=1e-6, capacitance=1e-6), between=(system.ground, body))
    with pytest.raises(mse.ModelError, match="PiezoStack 'stack': capacitance is 1e-06 F"):
        system.find_working_point()


# -- fluids ---------------------------------------------------------------------------------------------------------------
def test_stiffness_of_a_hydraulic_mount():
    system, body = stage(1.0, 8e4)
    system.add(mse.HydraulicCylinder("cylinder", area=1.5e-3), between=(system.ground, body))
    system.add(mse.Compliance("upper", compliance=3e-12))
    system.add(mse.Compliance("lower", compliance=6e-11))
    system.add(mse.FlowResistance("friction", resistance=1.5e8))
    system.add(mse.Inertance("duct", inertance=3e5))
    system.connect("cylinder.+", "upper.+", "friction.+")
    system.connect("friction.-", "duct.+")
    system.connect("duct.-", "lower.+")
    assert stiffness_at(system, 40.0) == pytest.approx(84495.611158 + 84896.006072j, rel=1e-9)


def test_a_gas_spring_carries_a_weight():
    system, body = stage(300.0 / 9.81, 0.0, gravity=9.81)
    system.add(mse.HydraulicCylinder("cylinder", area=2e-3), between=(system.ground, body))
    system.add(mse.Accumulator("gas", pressure=2e5, gas_volume=1e-4))
    system.connect("cylinder.+", "gas.+")
    point = system.find_working_point()
    assert point.internal["gas.volume"] == pytest.approx(32.9495967970e-6, rel=1e-9)
    assert point.potentials["gas.+"] == pytest.approx(150e3, rel=1e-9)
    assert list(point.reactions) == ["guide"] and "guide" in str(point.reactions)  # of those that read theirs
    (mode,) = point.linearize().modes()
    assert mode.frequency_hz == pytest.approx(np.sqrt(29231.740696 / (300.0 / 9.81)) / (2 * np.pi), rel=1e-9)


def test_a_pump_lifts_a_piston_and_feeds_a_leak():
    """The pressure p R2/(R1 + R2) behind a line R1 with a leak R2 pushes a piston on a spring."""
    system, body = stage(1.0, 1e4)
    system.add(mse.HydraulicCylinder("cylinder", area=1e-3), between=(system.ground, body))
    system.add(mse.PressureSource("pump", pressure=4e5))
    system.add(mse.FlowResistance("line", resistance=1e9))
    system.add(mse.FlowResistance("leak", resistance=3e9))
    system.connect("pump.+", "line.+")
    system.connect("line.-", "leak.+", "cylinder.+")
    system.connect("leak.-", "pump.-", system.earth)
    point = system.find_working_point()
    assert point.potentials["cylinder.+"] == pytest.approx(3e5, rel=1e-9)
    assert point.poses["body.center"].o[2] == pytest.approx(3e5 * 1e-3 / 1e4, rel=1e-9)
    assert point.flows["leak.volume"] == pytest.approx(1e-4, rel=1e-9)
