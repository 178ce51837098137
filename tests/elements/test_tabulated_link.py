"""Links by a table of complex stiffness: responses, noise and modes against the law they were sampled from, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import mse

MASS = 20.0
F = np.geomspace(1e-3, 100.0, 101)


def heat_link(f):
    """A standard linear solid, 100 N/m that grow by 30 % about 0.5 Hz."""
    return 100.0 * (1 + 0.3j * f / 0.5 / (1 + 1j * f / 0.5))


def stage(link: mse.TabulatedLink) -> mse.LinearModel:
    system = mse.MSystem("cold", gravity=(0, 0, -9.81))
    mass = system.add(mse.RigidBody("mass", mass=MASS, inertia=1.0))
    system.add(mse.Bushing("guide", stiffness=(1e3, 1e3, 0, 10, 10, 10)), between=(mass, system.ground))
    system.add(link, between=(mass, system.ground))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    return system.find_working_point().linearize()


def test_responses_and_noise_between_the_samples():
    model, f = (
        stage(mse.TabulatedLink("link", table=(F, heat_link(F)), temperature=20.0)),
        np.array([0.0123, 0.41, 3.3]),
    )
    z = heat_link(f) - MASS * (2 * np.pi * f) ** 2
    np.testing.assert_allclose(model.frequency_response(f)["probe.z", "coil.fz"] * z, 1.0, rtol=1e-4)
    expected = 4 * 1.380649e-23 * 20.0 / (2 * np.pi * f) * heat_link(f).imag / np.abs(z) ** 2
    np.testing.assert_allclose(model.noise(f, "probe.z").total ** 2, expected, rtol=1e-3)
    at = F[20:80:9]  # at the samples themselves
    z = heat_link(at) - MASS * (2 * np.pi * at) ** 2
    np.testing.assert_allclose(model.frequency_response(at)["probe.z", "coil.fz"] * z, 1.0, rtol=1e-12)


def test_static_stiffness_is_the_real_part_at_the_lowest_frequency():
    link = mse.TabulatedLink("link", table=(F, heat_link(F)))
    model = stage(link)
    lowest = heat_link(F[0]).real
    assert model.frequency_response([0.0])["probe.z", "coil.fz"][0] == pytest.approx(1 / lowest, rel=1e-12)
    assert model.parts["link", "total"].toarray()[2, 2] == pytest.approx(lowest, rel=1e-14)
    assert "loss" not in link.parameters


def test_the_quality_of_a_mode_is_within_what_the_table_leaves_open():
    modes = stage(mse.TabulatedLink("link", table=(F, heat_link(F)))).modes(lossy=True)
    k = int(np.argmin(np.abs(modes.frequencies_hz - 0.37)))
    s = 2j * np.pi * 0.37
    for _ in range(60):
        s = 1j * np.sqrt(heat_link(s / 2j / np.pi) / MASS)
    assert abs(modes.eigenvalues[k] - s) < 2 * np.pi * modes.uncertainties_hz[k] + 1e-4 * abs(s)
    assert modes.quality[k] == pytest.approx((-(s**2)).real / (-(s**2)).imag, rel=0.01)


def test_six_axes_and_matrices_act_on_the_motion_seen_from_frame_1():
    axes = heat_link(F)[:, None] * np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    matrices = axes[:, :, None] * np.eye(6)
    matrices[:, 0, 4] = matrices[:, 4, 0] = 0.2 * heat_link(F)
    six, whole = (stage(mse.TabulatedLink("link", table=(F, k))) for k in (axes, matrices))
    f = F[[40, 60]]
    base = np.diag([1e3, 1e3, 0, 10, 10, 10]) - np.einsum(
        "f,ij->fij", (2 * np.pi * f) ** 2, np.diag([MASS] * 3 + [1.0] * 3)
    )
    names = (
        [f"probe.{x}" for x in ("x", "y", "z", "ax", "ay", "az")],
        [f"coil.{x}" for x in ("fx", "fy", "fz", "tx", "ty", "tz")],
    )
    for model, k in ((six, axes[:, :, None] * np.eye(6)), (whole, matrices)):
        response = model.frequency_response(f)
        found = np.array([[response[o, i] for i in names[1]] for o in names[0]]).transpose(2, 0, 1)
        np.testing.assert_allclose(found @ (base + k[[40, 60]]), np.eye(6)[None] * np.ones((2, 1, 1)), atol=1e-10)


def test_files_of_columns_and_saved_models_have_the_same_numbers(tmp_path):
    k = heat_link(F)[:, None] * np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    link = mse.TabulatedLink("link", table=(F, k))
    np.savetxt(
        tmp_path / "link.txt", np.column_stack([F, *(x for c in k.T for x in (c.real, c.imag))]), header="f Re Im"
    )
    read = mse.TabulatedLink.read("link", tmp_path / "link.txt", temperature=77.0)
    np.testing.assert_allclose(read.table, link.table, rtol=1e-15)
    assert read.temperature == 77.0
    system = mse.MSystem("s")
    system.add(link, between=(system.add(mse.RigidBody("mass", mass=1.0, inertia=1.0)), system.ground))
    system.save(tmp_path / "s.json")
    np.testing.assert_array_equal(mse.read_model(tmp_path / "s.json")["link"].table, link.table)
    (tmp_path / "wrong.txt").write_text("1 2 3\n0.5 2 3\n")
    with pytest.raises(mse.FileError, match=r"wrong\.txt: .*0\.5 Hz in row 1; expected ascending"):
        mse.TabulatedLink.read("link", tmp_path / "wrong.txt")


@pytest.mark.parametrize("f", [1e-4, 200.0])
def test_frequencies_outside_the_table_are_refused_by_name(f):
    model = stage(mse.TabulatedLink("link", table=(F, heat_link(F))))
    for asked in (lambda: model.frequency_response([f]), lambda: model.noise([f], "probe.z")):
        with pytest.raises(
            mse.ModelError, match=r"link: its dynamic stiffness at .* Hz is not known; .* from 0.001 to 100 Hz"
        ):
            asked()
    with pytest.raises(mse.ModelError, match="link"):
        model.state_space()


NEGATIVE = np.array([[1.0, 5.0, 0.1], [2.0, 5.0, -0.1]])
HERMITIAN = np.array([np.eye(6) + 0.1j * (np.eye(6, k=1) - np.eye(6, k=-1))] * 2)
INDEFINITE = np.array([np.eye(6) + 1j * (np.eye(6) + 2 * (np.eye(6, k=1) + np.eye(6, k=-1)))] * 2)


@pytest.mark.parametrize(
    "table, told",
    [
        (NEGATIVE, "at 2 Hz has an imaginary part that is -0.1 along z; expected none below zero"),
        (([1.0, 2.0], HERMITIAN), "at 1 Hz is unsymmetric by .* not hermitian"),
        (([1.0, 2.0], INDEFINITE), "at 1 Hz has an imaginary part that has the eigenvalue"),
        (NEGATIVE[::-1], "has 1 Hz in row 1; expected ascending"),
        (-NEGATIVE, "has -1 Hz in row 0; expected ascending"),
        (NEGATIVE[:1], "expected .* ascending"),
        (([1.0, 2.0], [1.0]), "expected .* complex stiffness"),
        (([1.0, np.inf], [1.0, 2.0]), "expected .* complex stiffness"),
        ("link.txt", "expected .* complex stiffness"),
    ],
)
def test_what_is_no_table_is_refused(table, told):
    with pytest.raises(mse.ModelError, match=f"TabulatedLink 'link': table .*{told}"):
        mse.TabulatedLink("link", table=table)
