"""The public interface under odd values: each is refused by mse with what was expected, without a warning, or has a meaning."""

from __future__ import annotations

import array
from fractions import Fraction

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import mse
from mse import Pose
from mse.errors import ModelError, MseError, UnknownNameError
from test_arguments import Odd

# No argument of any public function is one of these.
NEVER = {
    "nan": lambda: np.nan,
    "infinity": lambda: np.inf,
    "beyond reckoning": lambda: 1e308,
    "beyond floats": lambda: 10**400,
    "complex": lambda: 1j,
    "complex array": lambda: np.array([1.0 + 1j]),
    "masked": lambda: np.ma.masked,
    "masked array": lambda: np.ma.array([1.0, 2.0], mask=[0, 1]),
    "list with None": lambda: [1.0, None],
    "list with nan": lambda: [np.nan, 1.0],
    "list with masked": lambda: [1.0, np.ma.masked],
    "list with truth": lambda: [True, 1.0],
    "list with text and number": lambda: ["coil.fx", 3],
    "nested": lambda: [["coil.fx"]],
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "three dimensions": lambda: np.ones((1, 1, 2)),
    "objects": lambda: np.array([1.0, None], dtype=object),
    "object": lambda: object(),
    "odd": lambda: Odd(),
    "list of odd": lambda: [Odd()],
    "bytes": lambda: b"coil.fx",
    "bytearray": lambda: bytearray(b"1"),
    "date": lambda: np.datetime64("2020-01-01"),
    "structured": lambda: np.zeros(1, dtype=[("a", float)]),
    "sparse": lambda: sp.csr_matrix(np.ones((1, 2))),
    "set": lambda: {1.0, 2.0},
    "dict view": lambda: {1.0: 2.0}.values(),
    "mapping of numbers": lambda: {1: 2.0},
    "class": lambda: float,
    "fraction": lambda: Fraction(1, 2),
    "slice": lambda: slice(None),
    "ellipsis": lambda: ...,
    "surrogate": lambda: "\ud800",
    "unknown name": lambda: "nothing.of.this.name",
    "blank": lambda: "  ",
}


def suspended() -> mse.MSystem:
    """A body on a spring and a hinged arm below it, with an input, outputs and a beam: one of each kind of thing."""
    system = mse.MSystem("suspended", gravity=(0, 0, -9.81))
    wire = system.add(mse.Spring("wire", length=1.0, stiffness=1e4, damping=0.3))
    body = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
    coil, probe = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("probe"))
    hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0), stiffness=1.0, damping=0.01))
    arm = system.add(mse.RigidBody("arm", mass=0.1, inertia=0.001))
    blade = system.add(mse.Beam("blade", length=0.1, width=0.01, height=0.001, elements=1))
    system.clamp(system.ground, wire.frame(1))
    system.clamp(wire.frame(0), body.frame(0))
    for part in (coil, probe):
        system.clamp(body.frame(0), part.frame(0))
        system.clamp(system.ground, part.frame(1), Pose.dz(-1.0))
    system.clamp(body.frame(0), hinge.frame(1))
    system.clamp(hinge.frame(0), arm.frame(0), Pose.dz(0.1))
    system.clamp(body.frame(0), blade.frame(0), Pose.dx(0.1))
    return system


SYSTEM = suspended()
POINT = SYSTEM.find_working_point()
LINEAR = POINT.linearize()
MODES = LINEAR.modes()
F = [0.5, 1.0]
RESPONSE = LINEAR.frequency_response(F)
RUN = LINEAR.simulate(duration=1.0, dt=0.1)
LOOP = LINEAR.step_loop(dt=0.1, inputs=["coil.fx"], outputs=["probe.x"])
REDUCTION = mse.reduce_matrices(np.eye(3), None, np.diag([1.0, 2.0, 3.0]) + 0.1, [0], modes=1)
K = np.diag([1.0, 2.0, 3.0])


@numba.njit
def nothing(outputs, inputs, memory, time):
    inputs[0] = 0.0


def fresh(name: str):
    return suspended()[name]


# what takes a value, and the odd values among those above that it rightly takes
TAKES = {
    "Pose": (lambda v: Pose(v), ()),
    "Pose(U)": (lambda v: Pose(U=v), ()),
    "Pose.dx": (lambda v: Pose.dx(v), ()),
    "Pose.rz": (lambda v: Pose.rz(v), ()),
    "Pose.rotation": (lambda v: Pose.rotation(v), ()),
    "Pose.euler": (lambda v: Pose.euler(0.0, v, 0.0), ()),
    "Pose.apply": (lambda v: Pose().apply(v), ()),
    "Pose.moved": (lambda v: Pose().moved(v, (0, 0, 0)), ()),
    "Pose.turned": (lambda v: Pose().moved((0, 0, 0), v), ()),
    "Twist": (lambda v: mse.Twist(linear=v), ()),
    "Twist.at": (lambda v: mse.Twist().at(v), ()),
    "Twist.screw": (lambda v: mse.Twist.screw(v, (1, 0, 0)), ()),
    "Twist.screw(rate)": (lambda v: mse.Twist.screw((0, 0, 0), (1, 0, 0), rate=v), ()),
    "Twist.exp": (lambda v: mse.Twist().exp(v), ()),
    "Twist.log": (lambda v: mse.Twist.log(v), ()),
    "Wrench.line": (lambda v: mse.Wrench.line(v, (1, 0, 0)), ()),
    "SpatialInertia": (lambda v: mse.SpatialInertia(mass=v), ()),
    "SpatialInertia(inertia)": (lambda v: mse.SpatialInertia(mass=1.0, inertia=v), ()),
    "Dyad": (lambda v: mse.Dyad(v, takes=mse.Twist, gives=mse.Wrench), ()),
    "Pose.seen_from": (lambda v: Pose().seen_from(v), ()),
    "Pose.is_close": (lambda v: Pose().is_close(v), ()),
    "Pose.is_close(distance)": (lambda v: Pose().is_close(Pose(), v), ()),
    "Pose.is_close(angle)": (lambda v: Pose().is_close(Pose(), angle=v), ()),
    "Spring name": (lambda v: mse.Spring(v), ()),
    "MSystem name": (lambda v: mse.MSystem(v), ()),
    "copy": (lambda v: mse.Spring("a").copy(v), ()),
    "system.copy": (lambda v: SYSTEM.copy(v), ()),
    "at": (lambda v: setattr(fresh("mass"), "at", v), ()),
    "at=": (lambda v: mse.RigidBody("a", mass=1.0, at=v), ()),
    "frames": (lambda v: mse.RigidBody("a", mass=1.0, frames=v), ()),
    "a frame": (lambda v: mse.RigidBody("a", mass=1.0, frames={"hook": v}), ()),
    "add_frame": (lambda v: mse.RigidBody("a", mass=1.0).add_frame("hook", v), ()),
    "stations": (lambda v: mse.Beam("a", length=1.0, width=0.1, height=0.1, stations=v), ()),
    "a station": (lambda v: mse.Beam("a", length=1.0, width=0.1, height=0.1, stations={"s": v}), ()),
    "interfaces": (lambda v: mse.FlexibleBody("a", M=np.eye(6), K=np.zeros((6, 6)), interfaces=v), ()),
    "M": (lambda v: mse.FlexibleBody("a", M=v, K=np.zeros((6, 6)), interfaces={"a": Pose()}), ()),
    "free": (lambda v: mse.Joint("a", free=v), ()),
    "axis": (lambda v: mse.Revolute("a", axis=v), ()),
    "rest": (lambda v: mse.Revolute("a", rest=v), ()),
    "rest of two": (lambda v: mse.Cylindrical("a", rest=v), ()),
    "lower": (lambda v: mse.Revolute("a", lower=v), ()),
    "motor": (lambda v: mse.Revolute("a", motor=v), ()),
    "motor of two": (lambda v: mse.Cylindrical("a", motor=v), ()),
    "joints": (lambda v: mse.Gear("a", joints=v), ()),
    "a ratio": (lambda v: mse.Gear("a", joints={"b": v}), ()),
    "parameters[]": (lambda v: mse.Spring("a").parameters[v], ()),
    "parameters[] =": (lambda v: mse.Spring("a").parameters.__setitem__(v, 1.0), ()),
    "copy_from": (lambda v: mse.Spring("a").parameters.copy_from(v), ()),
    "frame": (lambda v: SYSTEM["wire"].frame(v), ()),
    "system.frame": (lambda v: SYSTEM.frame(v), ()),
    "add": (lambda v: suspended().add(v), ()),
    "connect": (lambda v: suspended().clamp(v, "mass.center"), ()),
    "connect second": (lambda v: suspended().clamp("mass.center", v), ()),
    "connect pose": (lambda v: suspended().clamp("ground", "mass.center", v), ()),
    "system[]": (lambda v: SYSTEM[v], ()),
    "seek": (lambda v: SYSTEM.find_working_point(seek=v), ()),
    "load": (lambda v: SYSTEM.find_working_point(load_factor=v), ()),
    "start": (lambda v: SYSTEM.find_working_point(start=v), ()),
    "up_to": (lambda v: SYSTEM.find_instability(max_load_factor=v), ()),
    "trace parameter": (lambda v: SYSTEM.trace(v, 2.0), ()),
    "trace to": (lambda v: SYSTEM.trace("load_factor", v), ()),
    "trace most": (lambda v: SYSTEM.trace("load_factor", 2.0, max_points=v), ()),
    "trace start": (lambda v: SYSTEM.trace("load_factor", 2.0, start=v), ()),
    "update": (lambda v: POINT.update(v), ()),
    "update to": (lambda v: POINT.update({"wire.length": v}), ()),
    "update of": (lambda v: POINT.update({v if v.__hash__ else "x": 1.0}), ()),
    "within": (lambda v: POINT.linearize(within=v), ()),
    **{f"{n}[]": (lambda v, n=n: getattr(POINT, n)[v], ())
       for n in ("poses", "tensions", "forces", "reactions", "internal", "joint_coordinates")},
    "internal_forces": (lambda v: SYSTEM["blade"].internal_forces(v), ()),
    "stiffness_parts[]": (lambda v: LINEAR.stiffness_parts[v], ()),
    "total": (lambda v: LINEAR.stiffness_parts.total(v), ()),
    "a factor": (lambda v: LINEAR.stiffness_parts.total({("wire", "axial"): v}), ("complex",)),
    "modes": (lambda v: LINEAR.modes(v), ("beyond floats",)),
    "modes[]": (lambda v: MODES[v], ("slice",)),
    "participants": (lambda v: MODES[0].participants(v), ("beyond floats",)),
    "frequencies": (lambda v: LINEAR.frequency_response(v), ()),
    "inputs": (lambda v: LINEAR.frequency_response(F, inputs=v), ()),
    "outputs": (lambda v: LINEAR.frequency_response(F, outputs=v), ()),
    "loss": (lambda v: LINEAR.frequency_response(F, loss=v), ()),
    "loss of": (lambda v: LINEAR.frequency_response(F, loss={v if v.__hash__ else "x": 0.1}), ()),
    "a loss": (lambda v: LINEAR.frequency_response(F, loss={"wire": v}), ()),
    "bound": (lambda v: LINEAR.frequency_response(F, bound=v), ()),
    "grid low": (lambda v: LINEAR.resonance_grid(v, 10.0), ()),
    "grid high": (lambda v: LINEAR.resonance_grid(0.1, v), ()),
    "grid points": (lambda v: LINEAR.resonance_grid(0.1, 10.0, points_per_width=v), ()),
    "state space inputs": (lambda v: LINEAR.state_space(inputs=v), ()),
    "state space outputs": (lambda v: LINEAR.state_space(outputs=v), ()),
    "duration": (lambda v: LINEAR.simulate(duration=v, dt=0.1), ()),
    "dt": (lambda v: LINEAR.simulate(duration=1.0, dt=v), ()),
    "driven": (lambda v: LINEAR.simulate(duration=1.0, dt=0.1, inputs=v), ()),
    "an input": (lambda v: LINEAR.simulate(duration=1.0, dt=0.1, inputs={"coil.fx": v}), ()),
    "input function": (lambda v: LINEAR.simulate(duration=0.1, dt=0.1, inputs={"coil.fx": lambda t: v}), ("beyond reckoning",)),
    "hold": (lambda v: LINEAR.simulate(duration=1.0, dt=0.1, inputs={"coil.fx": np.sin}, hold=v), ()),
    "outputs of a run": (lambda v: LINEAR.simulate(duration=1.0, dt=0.1, outputs=v), ()),
    "initial": (lambda v: LINEAR.simulate(duration=1.0, dt=0.1, initial=v), ()),
    "an initial value": (lambda v: LINEAR.simulate(duration=1.0, dt=0.1, initial={"arm.x": v}), ()),
    "history[]": (lambda v: RUN[v], ()),
    "history.unit": (lambda v: RUN.unit(v), ()),
    "history's plot": (lambda v: RUN.plot(names=v), ()),
    "loop dt": (lambda v: LINEAR.step_loop(dt=v), ()),
    "loop inputs": (lambda v: LINEAR.step_loop(dt=0.1, inputs=v), ()),
    "loop outputs": (lambda v: LINEAR.step_loop(dt=0.1, outputs=v), ()),
    "loop[]": (lambda v: LOOP[v], ()),
    "loop[] =": (lambda v: LOOP.__setitem__(v, 1.0), ()),
    "loop[coil] =": (lambda v: LOOP.__setitem__("coil.fx", v), ("beyond reckoning",)),
    "loop.set": (lambda v: LOOP.set(v), ()),
    "loop.run": (lambda v: LOOP.run(v, controller=nothing), ()),
    "controller": (lambda v: LOOP.run(2, controller=v), ()),
    "memory": (lambda v: LOOP.run(2, controller=nothing, memory=v), ("list with nan",)),
    "given matrices": (lambda v: mse.LinearModel.from_matrices(np.eye(3), None, v), ()),
    "given mass": (lambda v: mse.LinearModel.from_matrices(v, None, np.eye(3)), ()),
    "given damping": (lambda v: mse.LinearModel.from_matrices(np.eye(3), v, np.eye(3)), ()),
    "given names": (lambda v: mse.LinearModel.from_matrices(np.eye(1), None, np.eye(1), coordinates=v), ("unknown name",)),
    "given name": (lambda v: mse.LinearModel.from_matrices(np.eye(1), None, np.eye(1), name=v), ()),
    "null_space": (lambda v: LINEAR.null_space(v), ()),
    "response[]": (lambda v: RESPONSE[v], ()),
    "response[output]": (lambda v: RESPONSE[v, "coil.fx"], ()),
    "response.unit": (lambda v: RESPONSE.unit("probe.x", v), ()),
    "compose name": (lambda v: mse.compose(v, [LINEAR]), ()),
    "compose models": (lambda v: mse.compose("c", v), ()),
    "compose clamps": (lambda v: mse.compose("c", [LINEAR], v), ()),
    "a clamp": (lambda v: mse.compose("c", [LINEAR], [v]), ()),
    "a clamp's frame": (lambda v: mse.compose("c", [LINEAR], [(v, "mass.center")]), ()),
    "reduce_model": (lambda v: mse.reduce_model(v, ["mass"], modes=0), ()),
    "keep": (lambda v: mse.reduce_model(LINEAR, v, modes=0), ()),
    "reduce M": (lambda v: mse.reduce_matrices(v, None, K, [0], modes=1), ()),
    "reduce K": (lambda v: mse.reduce_matrices(np.eye(3), None, v, [0], modes=1), ()),
    "reduce Lambda": (lambda v: mse.reduce_matrices(np.eye(3), v, K, [0], modes=1), ()),
    "boundary": (lambda v: mse.reduce_matrices(np.eye(3), None, K, v, modes=1), ()),
    "reduce modes": (lambda v: mse.reduce_matrices(np.eye(3), None, K, [0], modes=v), ()),
    "reduce up_to_hz": (lambda v: mse.reduce_matrices(np.eye(3), None, K, [0], up_to_hz=v), ()),
    "relative_error": (lambda v: REDUCTION.relative_error(v), ("three dimensions",)),
    "body name": (lambda v: REDUCTION.body(v, interfaces={"a": Pose()}), ()),
    "body interfaces": (lambda v: REDUCTION.body("a", interfaces=v), ()),
    "plot pairs": (lambda v: RESPONSE.plot(pairs=v), ()),
    "plot max_modes": (lambda v: MODES.plot(max_modes=v), ("beyond floats",)),
    "plot motion": (lambda v: POINT.plot(motion=v), ()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("slot", TAKES)
def test_odd_values_are_refused_with_what_was_expected(slot):
    call, taken = TAKES[slot]
    wrong = []
    for odd, value in NEVER.items():
        try:
            call(value())
        except MseError as error:
            told = any(word in str(error) for word in ("expected", "did you mean", "known:", "there are none"))
            if odd in taken or not told or "\n" in str(error):
                wrong.append(f"{odd}: {error}")
        except Exception as error:
            wrong.append(f"{odd}: {type(error).__name__}: {error}")
        else:
            if odd not in taken:
                wrong.append(f"{odd}: accepted")
    assert not wrong, "\n".join(wrong)


# -- what has a meaning ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "given",
    [lambda: (n for n in ["coil.fx", "coil.tz"]), lambda: ("coil.fx", "coil.tz"), lambda: np.array(["coil.fx", "coil.tz"]),
     lambda: {"coil.fx": 1, "coil.tz": 2}.keys(), lambda: iter(["coil.fx", "coil.tz"]),
     lambda: np.array(["coil.fx", "coil.tz"], dtype=object)],
    ids=["generator", "tuple", "array", "keys", "iterator", "objects"],
)  # fmt: skip
def test_names_may_come_one_after_the_other(given):
    expected = LINEAR.frequency_response(F, inputs=["coil.fx", "coil.tz"]).values
    assert expected.shape == (2, len(LINEAR.outputs), 2)
    np.testing.assert_array_equal(LINEAR.frequency_response(F, inputs=given()).values, expected)
    np.testing.assert_array_equal(
        LINEAR.state_space(inputs=given()).B, LINEAR.state_space(inputs=["coil.fx", "coil.tz"]).B
    )


@pytest.mark.parametrize(
    "given",
    [tuple(F), np.array(F, np.float32), np.array(F, dtype=object), np.array(F, ">f8"), array.array("d", F), np.ma.array(F),
     np.array(F, np.longdouble), np.repeat(F, 2)[::2], [np.float64(0.5), np.array(1.0)], memoryview(np.array(F))],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_frequencies_may_come_in_any_kind_of_array(given):
    np.testing.assert_array_equal(LINEAR.frequency_response(given).values, RESPONSE.values)


def test_lists_of_models_clamps_and_numbers_may_be_generators():
    arm, rest = POINT.linearize(within="blade"), POINT.linearize(within=(n for n in ["wire", "mass"]))
    assert mse.compose("both", (m for m in [arm, rest])).coordinates == mse.compose("both", [arm, rest]).coordinates
    kept = mse.reduce_matrices(np.eye(3), None, K, (k for k in [0, 2]), modes=0).boundary
    np.testing.assert_array_equal(kept, [0, 2])
    assert mse.reduce_model(LINEAR, (n for n in ["arm"]), modes=0)[0].coordinates[0] == "arm.x"


def test_a_mode_is_called_by_any_whole_number():
    for number in (1, np.int8(1), np.array(1)):
        assert MODES[number].number == 1
        assert MODES[number].shape == MODES[1].shape


def test_wrong_options_of_plots_are_refused_with_the_right_ones():
    for result, there_are in (
        (RESPONSE, "pairs, figure"),
        (MODES, "max_modes"),
        (POINT, "modes, number, motion, frames, names, ax"),
    ):
        with pytest.raises(UnknownNameError, match=rf"no option 'color'.*it has {there_are}"):
            result.plot(color=3)
    with pytest.raises(UnknownNameError, match="did you mean 'pairs'"):
        RESPONSE.plot(pair=("probe.x", "coil.fx"))
    with pytest.raises(ModelError, match=r"pairs contain 'probe.x'; expected pairs of .*\('probe.x', 'coil.fx'\)"):
        RESPONSE.plot(pairs=["probe.x"])


# -- nothing at all ------------------------------------------------------------------------------------------------------
def test_a_system_of_nothing_has_results_of_nothing():
    system = mse.MSystem("empty")
    point = system.find_working_point()
    model = point.linearize()
    assert point.stable and not point.free and not point.redundant and point.freedoms == 0
    assert system.find_working_point(seek="nearest", load_factor=2.0).converged and point.update({}).converged
    assert len(model.modes()) == len(model.modes(1)) == len(model.modes(damped=True)) == 0
    assert model.frequency_response([1.0]).values.shape == (1, 0, 0)
    assert model.state_space().A.shape == (0, 0) and model.step_loop(dt=0.1).step() == 0.1
    assert mse.compose("more", [model]).size == 0
    assert len(model.resonance_grid(0.1, 10.0).resonances_hz) == 0
    for refuse in (
        lambda: model.modes()[0],
        lambda: mse.reduce_model(model, [], modes=0),
        lambda: point.linearize(within="empty"),
    ):
        with pytest.raises(MseError, match="expected|there are none"):
            refuse()
    for drawn in (system, point, model, model.modes(), model.state_space(), model.frequency_response([1.0])):
        assert repr(drawn) and drawn.plot()
