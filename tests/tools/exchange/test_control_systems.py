"""State spaces handed to python-control and SciPy: the same response, signals by name."""

from __future__ import annotations

import sys

import control
import numpy as np
import pytest
import scipy.signal
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import mse
from example_scripts import EXAMPLES, example
from mse.analysis.frequency.equations import Equations
from mse.analysis.time.left_out import largest_of_unit
from mse.errors import ImproperModelError, MissingPackageError, ModelError
from mse.linear.independent import independent

FREQUENCIES = np.geomspace(0.01, 30.0, 61)


# (example, arguments of its build(), frequency up to which state spaces of beams are taken)
HANDED_OVER = [
    ("simple_pendulum", {}, None), ("four_wires", {}, None), ("kagra_type_bp", {}, None), ("hexapod", {"rigid": True}, None),
    ("hexapod", {"rigid": False}, None), ("torsion_balance", {}, None), ("body_from_finite_elements", {}, 2000.0),
    ("cantilever_blade", {}, 400.0), ("inverted_pendulum", {"mass": 20.0}, 100.0), ("flexure_stage", {}, 300.0),
    ("double_pendulum_on_blades", {}, 60.0), ("attenuation_chain", {}, 60.0),
    ("violin_modes", {"form": "elements", "elements": 16}, 100.0), ("pre_isolator", {}, None), ("loudspeaker", {}, None),
    ("heated_rod", {}, None), ("hydraulic_mount", {}, None), ("shunted_damper", {"resistance": 4.0}, None),
]  # fmt: skip


def rounding(model: mse.LinearModel, ss) -> np.ndarray:
    """By how much (f, o, i) the response changes where each number of stiffness, damping and mass is rounded once, at random.

    Nobody knows it better from these numbers: beside a resonance of 0.1 Hz in a model of stiff beams it is some 1e-7.
    """
    model = independent(model)
    equations = Equations(model, model.input_indices(ss.inputs), model.output_indices(ss.outputs), {})
    k, c, m = (sp.csc_matrix(a) for a in equations.matrix[:3])
    out = []
    for w in 2 * np.pi * FREQUENCIES:
        z = (k + 1j * w * c - w**2 * m).tocsc()
        size = abs(k) + w * abs(c) + w**2 * abs(m)
        scale = 1.0 / np.sqrt(np.asarray(size.sum(axis=1)).ravel())
        lu = splu((sp.diags(scale) @ z @ sp.diags(scale)).tocsc())
        b, read = (a.at(np.array([w]))[0] for a in (equations.drive, equations.read))
        to, back = (scale[:, None] * lu.solve(scale[:, None] * x) for x in (b, np.ascontiguousarray(read.T)))
        out.append(np.sqrt(np.abs(back.T) ** 2 @ (size.multiply(size) @ np.abs(to) ** 2)))
    return np.finfo(float).eps * np.array(out)


@pytest.mark.slow
@pytest.mark.rounding
@pytest.mark.parametrize(("name", "options", "up_to_hz"), HANDED_OVER, ids=lambda x: x if isinstance(x, str) else "")
def test_python_control_has_the_response_of_every_example(name, options, up_to_hz):
    model = example(name).build(**options).find_working_point().linearize().lossless
    try:
        ss = model.state_space(up_to_hz=up_to_hz)
    except ImproperModelError:  # force sensors beside prescribed displacements
        chosen = [o for o in model.outputs if o.rpartition(".")[2] in ("x", "y", "z")]
        ss = model.state_space(outputs=chosen, up_to_hz=up_to_hz)
    whole = model.frequency_response(FREQUENCIES, outputs=ss.outputs, inputs=ss.inputs).values
    system = ss.to_control()
    a, b, c, d = (
        system.A,
        system.B,
        system.C,
        system.D,
    )  # with Slycot, system(s) is by Laub's method, 5e-9 off at a resonance
    found = np.array([c @ np.linalg.solve(s * np.eye(len(a)) - a, b) + d for s in 2j * np.pi * FREQUENCIES])
    if ss.left_out is not None:
        found = found + ss.left_out.error(FREQUENCIES)
    scale = largest_of_unit(np.abs(whole), ss.output_units, ss.input_units)
    assert np.all(np.abs(found - whole) <= 1e-9 * scale + 3.0 * rounding(model, ss))
    assert system.input_labels == [ss.control_names[n] for n in ss.inputs]
    assert system.output_labels == [ss.control_names[n] for n in ss.outputs]
    assert system.state_labels == [ss.control_names[n] for n in ss.states]


def test_every_example_is_handed_over():
    without_a_plant = {
        "turning_over",
        "slider_crank",
        "four_bar_in_space",
        "rotor",
        "bicycle",
        "damping_loop",
        "lagrangian_daes",
        "links_from_symbols",
        "levitation",
    }
    assert {name for name, _, _ in HANDED_OVER} == set(EXAMPLES) - without_a_plant


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


def test_frequency_data_have_the_response_by_name_in_any_order():
    linear = pendulum()
    response = linear.frequency_response([3.0, 0.2, 1.1, 7.0], inputs=["coil.fx", "coil.fz"], outputs=["probe.x"])
    data = response.to_control()
    assert data.input_labels == ["coil_fx", "coil_fz"] and data.output_labels == ["probe_x"]
    for f, values in zip(response.frequencies_hz, response.values, strict=True):
        np.testing.assert_array_equal(data(2j * np.pi * f), values)
    f = np.geomspace(0.05, 50.0, 4000)
    damper, key = control.tf([20.0, 0.0], [1e-2, 1.0]), ("coil.fx", "probe.x")
    loop = linear.frequency_response(f, inputs=[key[0]], outputs=[key[1]]).to_control() * damper
    margins = linear.feedback({key: damper}).margins(0.05, 50.0)
    found = control.stability_margins(loop, returnall=True)
    np.testing.assert_allclose(np.sort(found[4]) / (2 * np.pi), margins.gain_crossings_hz, rtol=1e-3)
    model = mse.LinearModel.from_matrices(np.eye(2), None, np.eye(2), coordinates=["a.b", "a_b"])
    with pytest.raises(ModelError, match="inputs 'a.b' and 'a_b'"):
        model.frequency_response([1.0]).to_control()


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
    with pytest.raises(MissingPackageError, match="frequency data of python-control"):
        pendulum().frequency_response([1.0]).to_control()
