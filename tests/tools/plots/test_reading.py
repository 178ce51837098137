"""Pictures of all kinds are read as a user reads them: texts, ticks, colors, gray print."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter
from reading import drawn, lab, legends, misread_ticks, nearest, outside, overlaps, scale_of, value_of

import mse
from example_scripts import example
from models import two_blades
from mse import Pose
from mse.statics.working_point import WorkingPoint
from mse.tools.figures import COLORS
from mse.tools.plots import style


# -- systems ------------------------------------------------------------------------------------------------------------
def flexure_stage() -> mse.MSystem:
    """A table of a shape on four upright blades, with a coil, a probe and a load; flat, and named with odd characters."""
    system = mse.MSystem("stage <1> & co")
    steel = {"young_modulus": 2e11, "poisson_ratio": 0.3, "density": 7800.0}
    corners = [(0.14, 0.09), (0.14, -0.09), (-0.14, 0.09), (-0.14, -0.09)]
    hooks = {f"f{k}": Pose.dxdydz(x, y, -0.01) for k, (x, y) in enumerate(corners)}
    table = system.add(mse.RigidBody("table", shape=mse.Box((0.3, 0.2, 0.02)), density=2700.0, frames=hooks))
    for k, (x, y) in enumerate(corners):
        blade = system.add(mse.Beam(f"blade{k}", elements=4, length=0.1, width=0.02, height=0.0005, **steel))
        system.clamp(system.ground, blade.frame(0), Pose.dxdydz(x, y, 0.1) @ Pose.ry(np.pi / 2))
        system.clamp(blade.frame(1), table.frame(f"f{k}"), Pose.ry(-np.pi / 2))
    coil, probe = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("probe"))
    system.clamp(system.ground, coil.frame(0), Pose.dx(0.25))
    system.clamp(coil.frame(1), table.frame(0), Pose.dx(-0.15))
    system.clamp(system.ground, probe.frame(1), Pose.dx(-0.25))
    system.clamp(probe.frame(0), table.frame(0), Pose.dx(0.15))
    system.add(mse.Load("push", force=(0.0, 0.3, 0.0)), between=(table,))
    return system


def shallow_truss() -> mse.MSystem:
    truss = mse.MSystem("shallow truss")
    apex = truss.add(mse.RigidBody("apex", mass=1.0, inertia=1.0, at=Pose.dz(0.3)))
    for k in range(3):
        bar = truss.add(mse.Spring(f"bar{k}", length=np.hypot(1.0, 0.3), stiffness=2000.0))
        truss.clamp(truss.ground, bar.frame(0), Pose.rz(2 * np.pi * k / 3) @ Pose.dx(1.0))
        truss.clamp(bar.frame(1), apex.frame(0))
    return truss


def pendulum_upside_down() -> mse.MSystem:
    """A hinged arm that falls, in a field along x: a joint, a growing mode, and another axis that is upright."""
    system = mse.MSystem("arm", gravity=(9.81, 0, 0))
    pivot = {"pivot": Pose.dx(0.05)}
    arm = system.add(mse.RigidBody("arm", mass=1.0, inertia=1e-3, at=Pose.dx(-0.05), frames=pivot))
    system.add(mse.Revolute("hinge", axis=(0, 0, 1)), between=(arm.frame("pivot"), system.ground))
    return system


OWN = {"flexure stage with a load": flexure_stage, "two blades": two_blades}
# of the examples those in which other things are drawn: wires, actuators, joints, exact members, a mesh, charges
PICTURED = [
    *OWN,
    "simple_pendulum",
    "kagra_type_bp",
    "hexapod",
    "violin_modes",
    "body_from_finite_elements",
    "loudspeaker",
]


@cache
def solved(name: str):
    if name in OWN:
        wp = OWN[name]().find_working_point()
    else:
        (wp, *_) = (x for x in vars(example(name)).values() if isinstance(x, WorkingPoint))
    linear = wp.linearize()
    return wp, linear, linear.symmetric.modes(min(12, linear.size - 1))


def pictures(name: str) -> dict[str, Figure]:
    """All pictures of one system and its results."""
    wp, linear, modes = solved(name)
    out = {"working point": wp.plot(), "modes": modes.plot(), "stiffness": linear.plot()}
    if len(modes):
        out["mode"] = wp.plot(modes=modes, number=len(modes) - 1)
    if linear.size <= 60:
        out |= {"initial poses": wp.system.plot(), "triads": wp.plot(frames=True)}
    beams = [o for o in wp.system.objects if hasattr(o, "internal_forces")]
    if beams:
        out["beam loads"] = beams[0].internal_forces(wp).plot()
    if linear.inputs and linear.outputs:
        some = list(linear.inputs[:3])
        response = linear.frequency_response(np.geomspace(0.013, 30.0, 300), inputs=some)
        out["response"] = response.plot()
        out["responses"] = response.plot(pairs=response.pairs()[:7])
        if len(modes) > 0 and linear.size <= 60 and not linear.members:
            linear = linear.lossless
            read = [o for o in linear.outputs if o.rpartition(".")[2] in ("x", "y", "z", "ax", "ay", "az")]
            out["poles"] = linear.state_space(inputs=some, outputs=read).plot()
            drive = {some[0]: lambda t: 1e-4 * np.sin(3 * t)}
            history = linear.simulate(duration=20.0, dt=0.01, inputs=drive, outputs=read)
            out["history"], out["spectrum"] = history.plot(), history.plot(spectrum=True)
    return out


def curves() -> dict[str, Figure]:
    truss = shallow_truss()
    trace = truss.trace("load_factor", 20.0)
    hanging = mse.MSystem("hanging")
    mass = hanging.add(mse.RigidBody("mass", mass=1.0, inertia=1.0, at=Pose.dz(-0.04)))
    spring = hanging.add(mse.Spring("spring", length=0.04, stiffness=1e6))
    hanging.clamp(hanging.ground, spring.frame(1))
    hanging.clamp(mass.frame(0), spring.frame(0))
    arm = pendulum_upside_down().find_working_point(seek="nearest")
    growing = arm.linearize().modes()
    linear = mse.LinearModel.from_matrices(
        np.eye(9), 1e-3 * np.diag(np.arange(9.0)), np.diag(np.arange(1.0, 10.0) ** 4) - 0.2, name="chain"
    )
    return {
        "left out": linear.state_space(up_to_hz=3.0).left_out.plot(),
        "reduction": mse.reduce_matrices(linear.M, None, linear.K, [0, 1], modes=3).plot(),
        "whole reduction": mse.reduce_matrices(linear.M, None, linear.K, [0, 1], modes=7).plot(),
        "grid": linear.resonance_grid(0.05, 20.0).plot(),
        "trace": trace.plot(),
        "instability": truss.find_instability(max_load_factor=50.0).plot(),
        "narrow trace": hanging.trace("mass.mass", 1.5).plot(coordinate="mass.center.z"),
        "unstable modes": growing.plot(),
        "growing mode": arm.plot(modes=growing),
        "unstable motion": arm.plot(motion=arm.unstable[0]),
    }


def faults(figure: Figure, monkeypatch) -> list:
    """What a reader could misread in a picture."""
    seen = drawn(figure, monkeypatch)
    found: list = [*overlaps(seen), *(("cut off", t) for t in outside(seen, figure)), *misread_ticks(figure)]
    if not any(text for text, _, _ in seen.texts):
        found.append("no text at all")
    for entries in legends(figure):
        found += [("no name", e) for e in entries if not e.label.strip()]
        found += [
            ("alike in gray", a.label, b.label) for a, b in itertools.combinations(entries, 2) if a.is_like_in_gray(b)
        ]
        found += [("too pale", e.label) for e in entries if lab(e.color)[0] > 78.0]
        distance = nearest(e.color for e in entries)
        if distance < 15.0:
            found.append(("colors", round(distance, 1)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURED)
def test_pictures_of_systems_and_their_results_can_be_read(name, monkeypatch):
    assert not {what: found for what, figure in pictures(name).items() if (found := faults(figure, monkeypatch))}


@pytest.mark.slow
def test_curves_and_motions_can_be_read(monkeypatch):
    assert not {what: found for what, figure in curves().items() if (found := faults(figure, monkeypatch))}


# -- what the checks find -----------------------------------------------------------------------------------------------
def test_the_checks_find_what_they_look_for(monkeypatch):
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.plot([0, 1], [3.9999e-2, 3.99991e-2], color="#ff7f0e", label="a")
    axes.plot([0, 1], [3.9999e-2, 3.99991e-2], color="#2ca02c", label="b")
    axes.set_ylabel("z (mm)")
    axes.yaxis.set_major_formatter(ScalarFormatter(useOffset=True))
    axes.text(0.5, 0.5, "one", transform=axes.transAxes)
    axes.text(0.55, 0.5, "other", transform=axes.transAxes)
    axes.text(1.2, 0.5, "far beyond", transform=axes.transAxes)
    axes.legend()
    found = faults(figure, monkeypatch)
    assert ("one", "other") in found
    assert ("cut off", "far beyond") in found
    assert ("alike in gray", "a", "b") in found
    assert any("offset" in f for f in found if isinstance(f, str))
    assert any(f[0] == "colors" for f in found if isinstance(f, tuple))


def test_minus_signs_under_ticks_are_found(monkeypatch):
    """As matplotlib places numbers by default: the minus of -1.0 lies under the tick."""
    figure = Figure(figsize=(6, 6))
    axes = figure.add_subplot(projection="3d")
    axes.plot([-1, 1], [-1, 1], [-1, 1])
    axes.tick_params(axis="z", pad=-2)
    assert any(other == "a tick" for _, other in overlaps(drawn(figure, monkeypatch)))


def test_numbers_are_read_as_they_are_written():
    for value in (0.0, -1.0, 0.25, 1234.5, -3e-7, 1e-9, 2.5e8, 1e-3):
        assert value_of(style.number(value)) == pytest.approx(value, rel=1e-3, abs=1e-8)
    assert style.number(-1.0)[0] == "\N{MINUS SIGN}"
    assert value_of(style.power_of_ten(1e-7)) == 1e-7
    assert scale_of("mass.z - 39.999 mm (nm)") == pytest.approx((1e-9, 39.999e-3))
    assert scale_of("moment (kN m)") == (1e3, 0.0)


# -- colors -------------------------------------------------------------------------------------------------------------
def test_colors_differ_for_all_kinds_of_sight_and_print_in_gray():
    assert nearest(COLORS) >= 15.0
    assert all(lab(color)[0] <= 78.0 for color in (*COLORS, style.GRAY, style.PALE))
    looks = [style.dashed(k) for k in range(30)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 30
    assert len({str(look["linestyle"]) for look in looks[:7]}) == 7
    assert len({style.hatched(k)["hatch"] for k in range(7)}) == 7


def test_prefixes_leave_short_numbers():
    for unit, size, expected in (
        ("m", 2.5e-6, (1e-6, "um")), ("rad", 3e-3, (1e-3, "mrad")), ("rad", 3e3, (1.0, "rad")), ("N", 5e4, (1e3, "kN")),
        ("Pa", 7e8, (1e6, "MPa")), ("kg", 1e-9, (1.0, "kg")), ("m", 0.0, (1.0, "m")), ("m", 1e-15, (1e-12, "pm")),
        ("", 3.0, (1.0, "")), ("N m", 0.02, (1e-3, "mN m")), ("m", 0.9999999999, (1.0, "m")),
    ):  # fmt: skip
        assert style.prefixed(unit, size) == pytest.approx(expected)


def test_values_that_are_nearly_one_are_drawn_as_their_difference():
    axes = Figure().subplots()
    z = 3.9999e-2 + np.array([0.0, 1e-7, 3e-7])
    axes.plot(z)
    style.in_units(axes.yaxis, "mass.z", "m", [z])
    factor, start = scale_of(axes.get_ylabel())
    assert factor == 1e-9
    assert start == pytest.approx(39.999e-3, abs=1e-6)
    format_ = axes.yaxis.get_major_formatter()
    assert value_of(format_(z[2], 0)) * factor + start == pytest.approx(z[2], rel=1e-9)
