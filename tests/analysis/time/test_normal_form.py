"""Normal forms: coupled modes by eigenvectors and as one dense block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import long_double
import mse
import mse.analysis.time.normal_form
from mse.analysis.time.normal_form import normal_form
from mse.linear.stiffness_parts import ListedParts
from test_steps import locally_damped, triple_eigenvalue

pytestmark = pytest.mark.rounding


def test_dense_blocks_are_the_modal_ones(monkeypatch):
    """Without eigenvectors the coupled modes march as one matrix, by plain loops or by the library's products."""
    for stages in (2, 5):
        model = locally_damped(stages)
        u = np.random.default_rng(1).standard_normal(5001)
        options = {"duration": 50.0, "dt": 0.01, "inputs": {"base.x": u}, "outputs": ["probe.x", "probe.ay"]}
        modal = model.simulate(**options)
        with monkeypatch.context() as m:
            m.setattr(mse.analysis.time.normal_form, "_eigenvectors", lambda a: None)
            model = replace(model)  # whose normal form is not known yet
            assert len(normal_form(model.state_space(), 0.01).rest) > 10
            dense = model.simulate(**options)
        size = np.abs(modal.values).max(axis=0)
        np.testing.assert_allclose(dense.values / size, modal.values / size, rtol=0, atol=1e-10)
        for name, value in modal.final_state.items():
            assert dense.final_state[name] == pytest.approx(value, abs=1e-9 * max(map(abs, modal.final_state.values())))


def test_what_a_model_needs_before_the_first_step_is_worked_out_once(monkeypatch):
    """For the inputs, outputs and controllers of one model, and again with another step; models are told apart."""
    found = []
    work = mse.analysis.time.normal_form._eigenvectors
    monkeypatch.setattr(mse.analysis.time.normal_form, "_eigenvectors", lambda a: (found.append(len(a)), work(a))[1])
    model = locally_damped(4)
    run = {"duration": 1.0, "dt": 0.01, "outputs": ["probe.x"]}
    first = model.simulate(inputs={"base.x": np.sin}, **run)
    once = len(found)
    assert once
    for name in ("base.x", "base.y", "base.ax"):
        model.simulate(inputs={name: np.sin}, **run)
        model.step_loop(dt=0.01, inputs=[name])
    assert len(found) == once
    again = model.simulate(inputs={"base.x": np.sin}, **run)
    np.testing.assert_array_equal(again.values, first.values)
    model.simulate(inputs={"base.x": np.sin}, **run | {"dt": 0.02})
    assert len(found) == 2 * once
    doubled = ListedParts.of(((label, 2.0 * c) for label, c in model.dampings.items()), model.dampings.size)
    other = replace(model, dampings=doubled).simulate(inputs={"base.x": np.sin}, **run)
    assert len(found) > 2 * once and not np.allclose(other.values, first.values, rtol=1e-3)


def test_state_spaces_of_one_model_share_what_does_not_depend_on_their_channels():
    model = locally_damped(3)
    one, other = model.state_space(inputs=["base.x"]), model.state_space(outputs=["probe.x"])
    assert one.A is other.A and one.scaling[0] is other.scaling[0] and not one.A.flags.writeable
    assert one.B.shape == (36, 1) and other.C.shape == (1, 36)
    form = normal_form(one, 0.01)
    assert normal_form(other, 0.01) is form
    # another scaling of the same A has another form
    turned = replace(one, scaling=(2.0 * one.scaling[0], 0.5 * one.scaling[1]))
    assert normal_form(turned, 0.01) is not form


def lone(off: float) -> mse.LinearModel:
    """An oscillator whose damping is off from the critical one by a share."""
    return mse.LinearModel.from_matrices(np.eye(1), [[4.0 * (1.0 + off)]], [[4.0]])


@pytest.mark.parametrize("make", [lone, triple_eigenvalue])
@pytest.mark.parametrize("off", [sign * 10.0**-k for k in range(2, 15, 2) for sign in (1, -1)])
def test_what_is_nearly_defective_loses_no_digits_and_is_taken_apart_otherwise(make, off):
    """Eigenvectors are parallel but for the root, or the third, of what a model is off from two, or three, equal eigenvalues."""
    model, dt, steps = make(off), 0.02, 300
    ss = model.state_space()
    start = np.random.default_rng(3).standard_normal(len(ss.states))
    found = model.simulate(
        duration=steps * dt, dt=dt, outputs=ss.outputs, initial=dict(zip(ss.states, start, strict=True))
    )
    expected = long_double.outputs(ss, dt, np.zeros((steps + 1, len(ss.inputs))), "zoh", start)
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    form = normal_form(ss, dt)
    together = len(form.coupled) + len(form.rest) > 0
    assert together == (abs(off) < 1e-7) or 1e-7 < abs(off) < 1e-3
