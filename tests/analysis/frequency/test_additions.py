"""Frequency responses with dynamic stiffnesses: by the compiled sweep, against closed forms and dense solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.interpolate import CubicSpline

import mse
from mse import Pose
from mse.analysis.frequency import response as module
from mse.analysis.frequency import sweep
from mse.analysis.frequency.stiffening import without_lone
from mse.elements.exact_beam import ExactSegment
from mse.numerics.options import SIZES

pytestmark = pytest.mark.rounding
F = np.geomspace(0.03, 30.0, 19)


@pytest.fixture(autouse=True)
def swept(monkeypatch):
    """Every model by the sweep, and none by pivoting."""
    monkeypatch.setattr(SIZES, "few_coordinates", 0)

    def refused(*_):
        raise AssertionError("solved by pivoting")

    monkeypatch.setattr(module, "solve", refused)


class Table(mse.MObject):
    """A spring whose stiffness grows with frequency, by tables of its real and imaginary parts; with a bead inside."""

    coordinate_names = ("bead",)
    grid = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])
    _rigid, _lost = np.array([0.0, 5.0, 30.0, 60.0, 90.0]), np.array([0.0, 1.0, 4.0, 9.0, 9.0])

    def energy(self, frames, q):
        d = frames[1].o - frames[0].o
        return 0.5 * 300.0 * (d @ d) + 0.5 * 80.0 * (q[0] - d[0]) ** 2

    def mass_matrix(self, frames, q):
        return np.diag(np.r_[np.zeros(12), 0.2])

    def dynamic_stiffness(self, omega, frames):
        k = np.interp(omega, self.grid, self._rigid) + 1j * np.interp(omega, self.grid, self._lost)
        to = np.zeros((4, 13))
        to[:3, :3], to[:3, 6:9], to[3, [0, 12]] = -np.eye(3), np.eye(3), (0.5, 1.0)
        return k * (to.T @ to)


def chain(count: int, top: str = "ground", joints: bool = False, tables=range(9)) -> mse.MSystem:
    """Bodies one below another, each on a table and a bushing off their centers; the first on the ground or on an actuator."""
    s = mse.MSystem("chain", gravity=(0, 0, 0))
    last = s.ground
    if top == "driven":
        piezo, force = s.add(mse.PositionActuator("piezo")), s.add(mse.ForceSensor("force"))
        s.clamp(s.ground, piezo.frame(1))
        s.clamp(piezo.frame(0), force.frame(1))
        last = force.frame(0)
    for k in range(count):
        arm = Pose(np.array([0.1, -0.2, 0.3]))
        body = s.add(mse.RigidBody(f"body{k}", mass=1.0 + 0.1 * k, inertia=(0.1, 0.2, 0.3)))
        held = [s.add(Table(f"table{k}"))] if k in tables else []
        for one in (*held, s.add(mse.Bushing(f"bushing{k}", stiffness=(20, 30, 40, 50, 60, 70)))):
            s.clamp(last, one.frame(0), arm)
            s.clamp(body.frame(0), one.frame(1), arm)
        last = body.frame(0)
    if joints:
        rail = s.add(mse.Prismatic("rail"))
        s.clamp(s.ground, rail.frame(0))
        s.clamp(last, rail.frame(1))
    push, probe = s.add(mse.ForceActuator("push")), s.add(mse.PositionSensor("probe"))
    for one, frames in ((push, (0, 1)), (probe, (1, 0))):
        s.clamp(s.ground, one.frame(frames[0]))
        s.clamp(last, one.frame(frames[1]))
    return s


def agree(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Responses (f, o, i), each relative to its largest, but for those that are rounding throughout."""
    size = np.abs(expected).max(axis=0)
    moving = size > 1e-12 * size.max()
    assert moving.any()
    np.testing.assert_allclose(found[:, moving] / size[moving], expected[:, moving] / size[moving], atol=tolerance)


def dense(linear, f: np.ndarray) -> np.ndarray:
    """The response from matrices on all coordinates x = (q, w), by a solution of each frequency."""
    n, out = linear.size, []
    force, drive = linear.force.toarray(), linear.drive.toarray()
    measure, reaction = linear.measure.toarray(), linear.reaction.toarray()
    for w in 2 * np.pi * f:
        z = (linear.full_stiffness + 1j * w * linear.full_velocity - w**2 * linear.full_mass).toarray()
        for member in linear.members:
            z = z + member.motion.T @ member.stiffness(np.array([w]), {})[0] @ member.motion
        x = np.vstack([np.linalg.solve(z[:n, :n], force[:n] - z[:n, n:] @ drive), drive])
        out.append(measure @ x - reaction @ (z[n:] @ x - force[n:]))
    return np.array(out)


@pytest.mark.parametrize("top", ["ground", "driven"])
@pytest.mark.parametrize("joints", [False, True])
@pytest.mark.parametrize(
    "inputs, outputs", [(None, None), (["push.fz"], None), (None, ["probe.z"]), (["push.fz"], ["probe.z"])]
)
def test_the_sweep_solves_what_is_added_at_each_frequency(top, joints, inputs, outputs):
    linear = chain(3, top, joints).find_working_point().linearize()
    found = linear.frequency_response(F, inputs=inputs, outputs=outputs)
    assert found.notes == ()
    plain = linear.reduced[0] if joints else linear
    expected = dense(plain, F)[:, linear.output_indices(outputs)][:, :, linear.input_indices(inputs)]
    agree(found.values, expected, 1e-11)


def test_every_coordinate_may_be_read_and_pushed():
    """More outputs than inputs, or the other way round: what is substituted back has the blocks, too."""
    linear = chain(3).find_working_point().linearize()
    n = linear.size
    whole = replace(
        mse.LinearModel.from_matrices(linear.M, linear.Lambda, linear.K, coordinates=linear.coordinates),
        members=linear.members,
    )
    expected = dense(whole, F)
    for inputs, outputs in ((1, n), (n, 1), (3, 2)):
        found = whole.frequency_response(F, inputs=linear.coordinates[:inputs], outputs=linear.coordinates[:outputs])
        np.testing.assert_allclose(found.values, expected[:, :outputs, :inputs], rtol=1e-9, atol=1e-12)
        assert found.notes == ()


def test_charges_of_coils_beside_a_table():
    """Rows change their signs by those of the coordinates that a table acts on."""
    m, k, bl, r = 0.05, 2000.0, 10.0, 4.0
    velocity = np.array([[0.0, -bl], [bl, r]])
    coil = mse.LinearModel.from_matrices(
        np.diag([m, 1e-3]), velocity, np.diag([k, 0.0]), coordinates=["cone.x", "coil.q"]
    )
    table = chain(1).find_working_point().linearize().members[0]
    for at in range(2):
        motion = np.zeros((13, 2))
        motion[7, at] = 1.0
        model = replace(coil, members=(replace(table, motion=sp.csr_matrix(motion)),))
        found = model.frequency_response(F)
        assert found.notes == ()
        np.testing.assert_allclose(found.values, dense(model, F), rtol=1e-10)


def test_a_table_between_a_coil_and_what_it_moves_leaves_no_signs(monkeypatch):
    """Which is symmetric where the coil is skew: such a model is solved with pivots."""
    monkeypatch.undo()
    velocity = np.array([[0.0, -10.0], [10.0, 4.0]])
    coil = mse.LinearModel.from_matrices(
        np.diag([0.05, 1e-3]), velocity, np.diag([2000.0, 5.0]), coordinates=["cone.x", "coil.q"]
    )
    motion = np.zeros((13, 2))
    motion[[1, 7], [0, 1]] = 1.0
    model = replace(
        coil, members=(replace(chain(1).find_working_point().linearize().members[0], motion=sp.csr_matrix(motion)),)
    )
    assert coil.mirror is not None
    assert model.mirror is None
    np.testing.assert_allclose(model.frequency_response(F).values, dense(model, F), rtol=1e-10)


def test_charges_of_one_junction_beside_tables_and_losses_with_a_law(monkeypatch):
    """A coil on a chain of bodies, before resistors in a row with a capacitor behind each: against independent coordinates."""
    s, far = chain(3), "coil.+"
    coil = s.add(mse.VoiceCoil("coil", bl=3.0, resistance=2.0, inductance=1e-2))
    s.clamp(s.ground, coil.frame(0))
    s.clamp(s["body2"].frame(0), coil.frame(1))
    earth = [s.earth, "coil.-"]
    for k in range(8):
        s.add(mse.Resistor(f"r{k}", resistance=1.0 + k))
        s.add(mse.Capacitor(f"c{k}", capacitance=0.02))
        s.connect(far, f"r{k}.+")
        s.connect(f"r{k}.-", f"c{k}.+")
        far = f"r{k}.-"
        earth.append(f"c{k}.-")
    s.connect(*earth)
    linear = s.find_working_point().linearize()
    loss = {"bushing1": mse.Zener(0.3, 1.0)}

    expected, bases = linear.frequency_response(F, loss=loss).values, []
    monkeypatch.setattr(SIZES, "dense", 0)
    monkeypatch.setattr(sweep, "without_lone", lambda *given: bases.append(without_lone(*given)) or bases[-1])
    agree(linear.frequency_response(F, loss=loss).values, expected, 1e-10)
    (basis,) = bases
    assert basis.shape[0] - basis.shape[1] == 2 * 8  # a charge and a multiplier of each capacitor


# -- one fiber, exact and as a table ----------------------------------------------------------------------------------
FIBER = {"length": 0.6, "radius": 2e-4, "density": 2200.0, "young_modulus": 73e9, "poisson_ratio": 0.17}


def hanging(fiber) -> mse.MSystem:
    s = mse.MSystem("hanging")
    mass = s.add(mse.RigidBody("mass", mass=10.0, inertia=(0.1, 0.1, 0.2), at=Pose.dz(-0.65)))
    s.add(fiber)
    down = Pose(np.zeros(3), np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]))
    s.clamp(s.ground, fiber.frame(0), down)
    s.clamp(mass.frame(0), fiber.frame(1), Pose(np.array([0.0, 0.0, 0.05]), down.U))
    push, probe = s.add(mse.ForceActuator("push")), s.add(mse.PositionSensor("probe"))
    for one, frames in ((push, (0, 1)), (probe, (1, 0))):
        s.clamp(s.ground, one.frame(frames[0]))
        s.clamp(mass.frame(0), one.frame(frames[1]))
    return s


class Tabulated(mse.MObject):
    """The statics of a fiber, and its dynamic stiffness from a table by splines."""

    segment: ExactSegment
    grid: np.ndarray
    table: np.ndarray

    def energy(self, frames, q):
        return self.segment.energy(frames, q)

    def gravity_energy(self, frames, q, gravity):
        return self.segment.gravity_energy(frames, q, gravity)

    def dynamic_stiffness(self, omega, frames):
        return CubicSpline(self.grid, self.table)(omega)

    def span(self):
        return self.segment.span()


@pytest.mark.parametrize("loss", [0.0, 1e-3])
def test_a_fiber_and_its_table_respond_alike(loss):
    exact = mse.RoundBeam("fiber", form="exact", **FIBER)
    linear = hanging(exact).find_working_point().linearize()
    (member,) = linear.members
    Tabulated.segment = exact.components()[0].element
    Tabulated.grid = 2 * np.pi * np.linspace(0.0, 60.0, 3001)  # up to the first violin mode, which is at 196 Hz
    losses = dict.fromkeys(member.mechanisms, loss)
    Tabulated.table = member.stiffness(Tabulated.grid, losses)
    f = np.geomspace(0.05, 55.0, 40)
    expected = linear.frequency_response(f, loss={"fiber": loss}).values
    found = hanging(Tabulated("fiber")).find_working_point().linearize().frequency_response(f).values
    agree(found, expected, 1e-9)
    assert np.abs(expected.imag).max() > 0 or loss == 0.0


# -- a link that heats ------------------------------------------------------------------------------------------------
class HeatLink(mse.MObject):
    """A rod to the ground that heats as it is compressed and loses that to a bath: 6 x 6, its own closed form.

    Of each stiffness k a share ``d`` relaxes, with the time that heat takes: ``k (1 + d i w t/(1 + i w t))``.
    """

    frame_names = ("0",)
    stiffness = np.array([900.0, 800.0, 700.0, 6.0, 5.0, 4.0])
    time = np.array([0.02, 0.03, 0.04, 0.05, 0.06, 0.07])
    share = 0.05

    def energy(self, frames, q):
        f = frames[0]
        turn = 0.5 * np.array([f.U[2, 1] - f.U[1, 2], f.U[0, 2] - f.U[2, 0], f.U[1, 0] - f.U[0, 1]])
        return 0.5 * self.stiffness[:3] @ (f.o * f.o) + 0.5 * self.stiffness[3:] @ (turn * turn)

    def dynamic_stiffness(self, omega, frames):
        relaxing = 1j * omega * self.time / (1.0 + 1j * omega * self.time)
        return self.share * self.stiffness * relaxing * np.eye(6)


def test_a_mass_on_a_link_that_heats_is_the_closed_form():
    s = mse.MSystem("heat", gravity=(0, 0, 0))
    link, mass = s.add(HeatLink("link")), s.add(mse.RigidBody("mass", mass=2.0, inertia=(0.01, 0.02, 0.03)))
    push, probe = s.add(mse.ForceActuator("push")), s.add(mse.PositionSensor("probe"))
    s.clamp(mass.frame(0), link.frame(0))
    for one, frames in ((push, (0, 1)), (probe, (1, 0))):
        s.clamp(s.ground, one.frame(frames[0]))
        s.clamp(mass.frame(0), one.frame(frames[1]))
    linear = s.find_working_point().linearize()
    found = linear.frequency_response(F).values
    w = 2 * np.pi * F[:, None]
    relaxing = 1j * w * HeatLink.time / (1.0 + 1j * w * HeatLink.time)
    z = HeatLink.stiffness * (1.0 + HeatLink.share * relaxing) - w**2 * np.array([2.0, 2.0, 2.0, 0.01, 0.02, 0.03])
    np.testing.assert_allclose(np.einsum("fii->fi", found), 1 / z, rtol=1e-12)
    assert np.abs(found - np.einsum("fi,ij->fij", 1 / z, np.eye(6))).max() < 1e-14


# -- composition, reduction, updates ----------------------------------------------------------------------------------
def test_parts_with_tables_add_up_to_the_whole():
    point = chain(3).find_working_point()
    flat = point.linearize()
    parts = [point.linearize(within=[f"table{k}", f"bushing{k}", f"body{k}"]) for k in range(3)]
    both = mse.compose("both", [*parts, point.linearize(within=["push", "probe"])])
    found, expected = (m.frequency_response(F, inputs=["push.fx"], outputs=["probe.x"]) for m in (both, flat))
    agree(found.values, expected.values, 1e-10)


def test_a_reduction_keeps_what_tables_act_on():
    linear = chain(4, tables=(0, 3)).find_working_point().linearize()
    with pytest.raises(
        mse.ModelError, match=r"of table3 depends on the frequency and acts on body2.x, .*keep these, too"
    ):
        mse.reduce_model(linear, ["body0", "body3", "table0", "table3"], modes=2)
    # the insides of tables are coordinates, too
    keep = ["body0", "body2", "body3", "table0", "table3"]
    small, report = mse.reduce_model(linear, keep, modes=6)
    assert small.size == linear.size and report.frequencies_hz.size == 6
    found, expected = (m.frequency_response(F, inputs=["push.fx"], outputs=["probe.x"]) for m in (small, linear))
    agree(found.values, expected.values, 1e-9)
    one, _ = mse.reduce_model(linear, keep, modes=1)
    near = one.frequency_response(F[:6], inputs=["push.fx"], outputs=["probe.x"])
    agree(near.values, expected.values[:6], 1e-2)


def test_an_update_has_the_new_table(monkeypatch):
    class Scaled(Table):
        modulus: float = mse.elements.parameters.Real("factor of the table", default=1.0)

        def dynamic_stiffness(self, omega, frames):
            return self.modulus * super().dynamic_stiffness(omega, frames)

    monkeypatch.setitem(globals(), "Table", Scaled)
    point = chain(2).find_working_point()
    changed = point.update({"table1.modulus": 2.5}).linearize().frequency_response(F).values
    system = chain(2)
    system["table1"].modulus = 2.5
    agree(changed, system.find_working_point().linearize().frequency_response(F).values, 1e-11)
    assert np.abs(changed - point.linearize().frequency_response(F).values).max() > 1e-6
