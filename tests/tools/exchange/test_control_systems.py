"""State spaces handed to python-control and SciPy: the same response, signals by name."""

from __future__ import annotations

import importlib
import sys

import control
import numpy as np
import pytest
import scipy.signal

import mse
from mse.analysis.time.left_out import largest_of_unit
from mse.errors import ImproperModelError, MissingPackageError, ModelError

FREQUENCIES = np.geomspace(0.01, 30.0, 61)


def judged(model: mse.LinearModel, ss, left: np.ndarray | float = 0.0) -> None:
    """Response of the handed-over system against the model's own, as shares of the largest of a unit."""
    whole = model.frequency_response(FREQUENCIES, outputs=ss.outputs, inputs=ss.inputs).values
    system = ss.to_control()
    found = np.moveaxis(system(2j * np.pi * FREQUENCIES, squeeze=False), -1, 0)
    scale = largest_of_unit(np.abs(whole), ss.output_units, ss.input_units)
    assert np.all(np.abs(found + left - whole) <= 1e-9 * scale)
    assert system.input_labels == [ss.control_names[n] for n in ss.inputs]
    assert system.output_labels == [ss.control_names[n] for n in ss.outputs]
    assert system.state_labels == [ss.control_names[n] for n in ss.states]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simple_pendulum", "four_wires", "kagra_type_bp"])
def test_examples_of_rigid_bodies(name):
    model = importlib.import_module(f"examples.{name}").build().find_working_point().linearize()
    try:
        ss = model.state_space()
    except ImproperModelError:  # force sensors beside prescribed displacements
        ss = model.state_space(outputs=[o for o in model.outputs if o.rpartition(".")[2] in ("x", "y", "z")])
    judged(model, ss)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "up_to_hz"), [("cantilever_blade", 400.0), ("attenuation_chain", 60.0)])
def test_examples_with_beams_by_their_slow_motions(name, up_to_hz):
    model = importlib.import_module(f"examples.{name}").build().find_working_point().linearize()
    ss = model.state_space(up_to_hz=up_to_hz)
    if name == "cantilever_blade":
        judged(model, ss, ss.left_out.error(FREQUENCIES))
        return
    # over the range of its stiffness, 1e14, the response itself is right to some 1e-7
    whole = model.frequency_response(FREQUENCIES).values
    found = np.moveaxis(ss.to_control()(2j * np.pi * FREQUENCIES, squeeze=False), -1, 0)
    own = np.array(
        [ss.C @ np.linalg.solve(2j * np.pi * f * np.eye(len(ss.A)) - ss.A, ss.B) + ss.D for f in FREQUENCIES]
    )
    scale = largest_of_unit(np.abs(whole), ss.output_units, ss.input_units)
    assert np.all(np.abs(found - own) <= 1e-9 * scale)
    assert np.all(np.abs(found + ss.left_out.error(FREQUENCIES) - whole) <= 1e-6 * scale)


def pendulum():
    system = mse.MSystem("plant 1")
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-1.0)))
    system.add(mse.Spring("wire", length=0.9, stiffness=100.0), between=(system.ground, mass))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    return system.find_working_point().linearize()


def test_feedback_by_name():
    ss = pendulum().state_space(inputs=["coil.fx"], outputs=["probe.x"])
    plant = ss.to_control()
    damper = control.tf([-20.0, 0.0], [1e-3, 1.0], inputs="probe_x", outputs="coil_fx", name="damper")
    closed = control.interconnect(
        [plant, damper], inplist=["damper.probe_x"], outlist=["plant 1.probe_x"], connections=[
            ["plant 1.coil_fx", "damper.coil_fx"], ["damper.probe_x", "plant 1.probe_x"],
        ],
    )  # fmt: skip
    f = 0.7
    s = 2j * np.pi * f
    h = plant(s)
    c = -20.0 * s / (1e-3 * s + 1)
    np.testing.assert_allclose(closed(s), c * h / (1 - c * h), rtol=1e-9)
    assert np.all(closed.poles().real < 1e-9)
    assert ss.control_names["probe.x"] == "probe_x" and ss.control_names["mass.x'"] == "mass_x'"


def test_names_that_would_become_one_are_refused():
    model = mse.LinearModel.from_matrices(np.eye(2), None, np.eye(2), coordinates=["a.b", "a_b"])
    with pytest.raises(ModelError, match=r"model: inputs 'a.b' and 'a_b' would both be 'a_b'.*expected names"):
        model.state_space().to_control()
    assert model.state_space(inputs=["a.b"], outputs=["a_b"]).inputs == ("a.b",)
    with pytest.raises(ModelError, match="states 'a.b' and 'a_b'"):
        model.state_space(inputs=["a.b"], outputs=["a_b"]).to_control()


def test_states_that_nothing_reads_stay():
    model = mse.LinearModel.from_matrices(np.eye(2), None, np.diag([1.0, 4.0]))
    system = model.state_space(inputs=["x0"], outputs=["x0"]).to_control()
    assert system.nstates == 4


def test_scipy_gets_the_same_matrices():
    ss = pendulum().state_space()
    other = ss.to_scipy()
    assert isinstance(other, scipy.signal.StateSpace)
    for key in "ABCD":
        np.testing.assert_array_equal(getattr(other, key), getattr(ss, key))
    other.A[0, 0] = 7.0
    assert ss.A[0, 0] == 0.0


def test_without_the_package_the_remedy_is_named(monkeypatch):
    ss = pendulum().state_space()
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'mse\[control\]'"):
        ss.to_control()
