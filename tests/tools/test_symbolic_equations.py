"""Equations in symbols: closed forms, other programs' integrators, and what is refused."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import mse
from mse import Pose
from mse.elements.parameters import Real

DOWN = (0, 0, -9.81)
t = sp.Symbol("t")


def double_pendulum():
    """Points of 1 kg on rods of 1 m; angles from hanging towards +x."""
    system = mse.MSystem("double", gravity=DOWN)
    top = {"top": Pose.dz(1.0)}
    upper = system.add(mse.RigidBody("upper", mass=1.0, at=Pose.dz(-1.0), frames=top))
    lower = system.add(mse.RigidBody("lower", mass=1.0, at=Pose.dz(-2.0), frames=top))
    system.add(mse.Revolute("one", axis=(0, -1, 0)), between=(upper.frame("top"), system.ground))
    system.add(mse.Revolute("two", axis=(0, -1, 0)), between=(lower.frame("top"), upper))
    return system


class Angles(mse.MObject):
    """The same in absolute angles."""

    frame_names = ()
    coordinate_names = (mse.coordinate("a", unit="rad"), mse.coordinate("b", unit="rad"))
    mass: Real = Real("of each point", unit="kg", default=1.0)

    def kinetic(self, frames, q, v):
        return self.mass * (v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * np.cos(q[0] - q[1]))

    def energy(self, frames, q):
        return -self.mass * 9.81 * (2.0 * np.cos(q[0]) + np.cos(q[1]))


def integrated(equations, start, duration):
    """Coordinates after a time, by SciPy from the mass matrix and forcing of SymPy's method, at rest at the start."""
    q = list(equations.coordinates.values())
    rates = [x.diff(t) for x in q]
    numbers = {x: sp.Float(value) for x, value in equations.parameters.items()}
    place = [sp.Dummy() for _ in (*q, *rates)]
    flat = dict(zip([*rates, *q], [*place[len(q) :], *place[: len(q)]], strict=True))
    terms = [x.xreplace(numbers).xreplace(flat) for x in (equations.method.mass_matrix, equations.method.forcing)]
    mass, force = (sp.lambdify(place, x, "numpy") for x in terms)

    def slope(_, y):
        return [*y[len(q) :], *np.linalg.solve(mass(*y), force(*y).ravel())]

    found = solve_ivp(slope, (0, duration), [*start, *np.zeros(len(q))], "DOP853", rtol=1e-12, atol=1e-12)
    return found.y[: len(q), -1]


EXACT = [-0.0384352549, 0.5442096736]  # rad at 5 s from 0.6, -0.3: in more digits by other integrators


@pytest.mark.slow
def test_double_pendulum_by_printed_equations_and_by_simulate():
    system = double_pendulum()
    equations = system.equations(along=["one.angle", "two.angle"])
    np.testing.assert_allclose(np.cumsum(integrated(equations, [0.6, -0.9], 5.0)), EXACT, atol=1e-8)
    motion = system.simulate(duration=5, dt=5, initial={"one.angle": 0.6, "two.angle": -0.9}, rtol=1e-11)
    found = np.cumsum([motion[name][-1] for name in ("one.angle", "two.angle")])
    np.testing.assert_allclose(found, EXACT, atol=1e-8)


def test_double_pendulum_of_a_law_in_numpy():
    equations = Angles("angles").equations()
    a, b = equations.coordinates.values()
    (mass,) = equations.parameters
    expected = mass * (2 * a.diff(t, 2) + sp.cos(a - b) * b.diff(t, 2) + sp.sin(a - b) * b.diff(t) ** 2)
    expected += 2 * mass * sp.Float(9.81) * sp.sin(a)
    assert sp.simplify(equations.expressions["angles.a"] - expected) == 0
    np.testing.assert_allclose(integrated(equations, [0.6, -0.3], 5.0), EXACT, atol=1e-8)


def slide(**spring):
    system = mse.MSystem("slide", gravity=DOWN)
    mass = system.add(mse.RigidBody("mass", mass=2.0))
    system.add(mse.Prismatic("guide", **spring), between=(mass, system.ground))
    return system, mass


def test_springs_and_dampers_of_joints_are_symbols():
    system, _ = slide(stiffness=50.0, damping=0.5, rest=0.1)
    equations = system.equations(along=["guide.displacement"])
    (x,) = equations.coordinates.values()
    k, c, rest, m, g = sp.symbols(
        "guide_stiffness_displacement guide_damping_displacement guide_rest_displacement mass_mass g", real=True
    )
    expected = m * x.diff(t, 2) + c * x.diff(t) + k * (x - rest) + m * g
    assert sp.expand(equations.expressions["guide.displacement"] - expected) == 0
    assert equations.parameters == {k: 50.0, c: 0.5, rest: 0.1, m: 2.0, g: 9.81}
    assert r"\ddot" in equations.latex() and equations._repr_latex_().startswith("$$")
    assert "0 = " in repr(equations)


def test_springs_between_bodies_are_placed_along_joints():
    system, mass = slide()
    side = system.ground @ Pose.dx(0.4)
    system.add(mse.Spring("side", length=0.3, stiffness=20.0, damping=0.1), between=(mass, side))
    equations = system.equations(along=["guide.displacement"])
    (x,) = equations.coordinates.values()
    k, length = sp.symbols("side_stiffness side_length", real=True)
    stretch = sp.sqrt(x**2 + sp.Float(0.16)) - length
    slope = equations.energies["V"].diff(k) - stretch**2 / 2
    assert abs(float(slope.subs({x: 0.3, length: 0.3}))) < 1e-12


def test_loops_are_constraints_with_multipliers():
    system, mass = slide()
    rod = system.add(mse.RigidBody("rod", mass=1.0, frames={"end": Pose.dx(0.5)}))
    system.add(mse.Revolute("pin", axis=(0, 1, 0)), between=(rod, mass))
    wall = system.ground @ Pose.dx(0.5)
    system.add(mse.Joint("slot", free=("z", "ax", "ay", "az")), between=(rod.frame("end"), wall))
    equations = system.equations(along=["guide.displacement", "pin.angle"])
    assert [name for name in equations.expressions if name.startswith("slot")] == ["slot[0]", "slot[1]"]
    assert len(equations.method.lam_vec) == 2


def test_a_frame_that_hangs_on_no_joint_is_named():
    system, mass = slide()
    bob = system.add(mse.RigidBody("bob", mass=1.0, at=Pose.dz(-1.0)))
    system.add(mse.Spring("spring", length=1.0, stiffness=1e3), between=(mass, bob))
    with pytest.raises(mse.ModelError, match=r"frame bob\.center hangs on no joint"):
        system.equations(along=["guide.displacement"])


def test_all_coordinates_of_a_joint_are_named():
    system, mass = slide()
    disc = system.add(mse.RigidBody("disc", mass=1.0))
    system.add(mse.Cylindrical("shaft"), between=(disc, mass))
    with pytest.raises(mse.ModelError, match=r"shaft\.displacement, and angle is missing"):
        system.equations(along=["guide.displacement", "shaft.displacement"])
    with pytest.raises(mse.UnknownNameError, match=r"guide\.displacement"):
        system.equations(along=["guide.displacment"])


def test_junctions_of_circuits_are_constraints():
    system = mse.MSystem("resonator")
    coil = system.add(mse.Inductor("coil", inductance=2e-3))
    plates = system.add(mse.Capacitor("plates", capacitance=1e-6))
    system.connect(coil.port("+"), plates.port("+"))
    system.connect(coil.port("-"), plates.port("-"), system.earth)
    equations = system.equations(along=[])
    flow, charge = equations.coordinates.values()
    (held,) = (x for name, x in equations.expressions.items() if "[" in name)
    assert abs(held) == abs(flow + charge)
    assert equations.expressions["coil.charge"].coeff(flow.diff(t, 2)).subs(equations.parameters) == 2e-3


class Table(mse.MObject):
    """A force that no energy of numpy's gives."""

    def forces(self, frames, q, gravity=None):
        return np.zeros(12)


def test_a_spring_along_its_slide_pulls_both_ways():
    """The length of a spring is the modulus of one coordinate: SymPy alone keeps a factor ``Derivative(q, q)`` in its slope."""
    system = mse.MSystem("scale", gravity=(0, 0, -9.81))
    pan = system.add(mse.RigidBody("pan", mass=2.0, at=Pose.dz(-0.5)))
    system.add(mse.Prismatic("slide"), between=(pan, system.ground))
    system.add(mse.Spring("spring", length=0.4, stiffness=50.0), between=(pan, system.ground))
    equations = system.equations(along=["slide.displacement"])
    (q,) = equations.coordinates.values()
    assert equations.expressions["slide.displacement"].has(sp.sign(q)) and equations.energies["V"].has(sp.Abs(q))
    rest, rate = -0.4 - 2.0 * 9.81 / 50.0, np.sqrt(50.0 / 2.0)
    for start in (-0.9, rest - 0.3):  # it hangs below; above the ground the spring pushes up
        (end,) = integrated(equations, [start], 0.7)
        np.testing.assert_allclose(end, rest + (start - rest) * np.cos(0.7 * rate), rtol=1e-9)
    force = equations.method.forcing[0].subs(equations.parameters)
    np.testing.assert_allclose(float(force.subs(q, 0.3)), -50.0 * (0.3 - 0.4) - 2.0 * 9.81, rtol=1e-12)


def test_a_beam_alone_is_refused():
    """Its elements are inside: the forces on its own frames were printed as zero."""
    with pytest.raises(mse.ModelError, match="Beam 'leaf': .* without a formula"):
        mse.Beam("leaf", length=0.1, width=0.01, height=1e-3).equations()


def test_elements_without_a_formula_are_refused():
    system, mass = slide()
    system.add(Table("table"), between=(mass, system.ground))
    with pytest.raises(mse.ModelError, match="without a formula"):
        system.equations(along=["guide.displacement"])


class Kernel(mse.Spring):
    """Its kernel's forces are those of a spring, its energy is another one."""

    kernel = mse.Spring.kernel

    def energy(self, frames, q):
        return 2.0 * super().energy(frames, q)


def test_equations_that_deviate_from_the_forces_of_mse_are_an_error():
    system, mass = slide()
    system.add(Kernel("spring", length=0.3, stiffness=20.0), between=(mass, system.ground @ Pose.dx(0.4)))
    with pytest.raises(mse.ModelError, match="at a random point"):
        system.equations(along=["guide.displacement"])


class Local(mse.MObject):
    """A spring of no length, written in the axes of its first frame, about which it has no torque but by rounding."""

    def energy(self, frames, q):
        d = frames[0].U.T @ (frames[1].o - frames[0].o)
        return 20.0 * (d @ d)


def test_torques_that_cancel_are_compared_with_their_terms():
    assert "0.tx" in Local("it").equations().expressions


def test_forces_of_an_element_with_frames():
    spring = mse.Spring("spring", length=0.5, stiffness=1e3)
    equations = spring.equations()
    x0, x1, y0, y1, z0, z1 = (sp.Function(f"{axis}_{k}", real=True)(t) for axis in "xyz" for k in "01")
    k, length = sp.symbols("stiffness length", real=True)
    distance = sp.sqrt((x1 - x0) ** 2 + (y1 - y0) ** 2 + (z1 - z0) ** 2)
    expected = k * (distance - length) * (x1 - x0) / distance
    numbers = {x0: 0.1, x1: 0.7, y0: -0.2, y1: 0.3, z0: 0.0, z1: 0.4, k: 2.0, length: 0.5}
    assert float((equations.expressions["0.fx"] - expected).subs(numbers)) == pytest.approx(0.0, abs=1e-14)
    assert sp.Ne(length, 0) in equations.conditions


def test_a_voice_coil_alone_has_its_force_and_its_back_emf():
    """The force Bl i along z, -Bl i on the magnet, and the voltage -L i' - R i - Bl z'; they cancel as power."""
    found = mse.VoiceCoil("coil", bl=2.0, width=0.1, resistance=4.0, inductance=1e-3).equations().expressions
    charge, z0, z1 = (sp.Function(name, real=True)(t) for name in ("charge", "z_0", "z_1"))
    bl, width, r, inductance, u = sp.symbols("bl width resistance inductance U33_0", real=True)
    tilts = {x: 0 for x in found["1.fz"].free_symbols if str(x) in ("U13_0", "U23_0")}
    of_z = bl / (1 + ((z1 - z0) / width) ** 2)
    upright = {name: x.subs(tilts).subs(u, 1) for name, x in found.items()}
    assert sp.simplify(upright["1.fz"] - of_z * charge.diff(t)) == 0
    assert sp.simplify(upright["0.fz"] + of_z * charge.diff(t)) == 0
    still = {
        x: 0
        for x in upright["charge"].free_symbols | upright["charge"].atoms(sp.Function)
        if str(x)[0] == "w" and x != width
    }
    voltage = -inductance * charge.diff(t, 2) - r * charge.diff(t) - of_z * (z1 - z0).diff(t)
    assert sp.simplify(upright["charge"].subs(still) - voltage) == 0


def test_a_body_alone_has_its_weight_and_inertia():
    """-m g - m z'', and Euler's -J w' - w x J w of an upright body."""
    found = mse.RigidBody("body", mass=2.0, inertia=(2.0, 3.0, 4.0)).equations()
    w = [sp.Function(f"w{axis}_center", real=True)(t) for axis in "xyz"]
    z = sp.Function("z_center", real=True)(t)
    m, g = sp.symbols("mass g", real=True)
    upright = {sp.Symbol(f"U{i}{j}_center", real=True): int(i == j) for i in (1, 2, 3) for j in (1, 2, 3)}
    assert sp.expand(found.expressions["center.fz"] + m * g + m * z.diff(t, 2)) == 0
    torque = found.expressions["center.tx"].subs(upright).subs(found.parameters)
    assert sp.expand(torque + 2 * w[0].diff(t) + (4 - 3) * w[1] * w[2]) == 0


class Filled(mse.MObject):
    """A damper with a matrix that is filled with numbers."""

    def damping_matrix(self, frames, q=()):
        matrix = np.zeros((12, 12))
        matrix[0, 0] = frames[0].o[0]
        return matrix


def test_laws_of_numbers_alone_are_refused_by_name():
    with pytest.raises(mse.ModelError, match="'plate': its damping_matrix cannot be .*: it stops with ValueError"):
        Filled("plate").equations()


def test_an_eddy_current_damper_pulls_back_along_the_axes_of_its_magnet():
    """``-c (v0 - v1)`` and ``-c (w0 - w1)`` of frames that are upright, at one place."""
    damper = mse.EddyCurrentDamper("plate", damping=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    found = damper.equations()
    upright = {sp.Symbol(f"U{i}{j}_{f}", real=True): int(i == j) for i in (1, 2, 3) for j in (1, 2, 3) for f in (0, 1)}
    z0, z1, w0, w1 = (sp.Function(name, real=True)(t) for name in ("z_0", "z_1", "wx_0", "wx_1"))
    force, torque = (found.expressions[x].subs(upright).subs(found.parameters) for x in ("0.fz", "0.tx"))
    assert (
        sp.expand(force.subs({x: 0 for x in force.atoms(sp.Function) if str(x)[0] in "wxy"}) + 3 * (z0 - z1).diff(t))
        == 0
    )
    assert sp.expand(torque + 4 * (w0 - w1)) == 0


def test_without_sympy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sympy", None)
    with pytest.raises(mse.MissingPackageError, match=r"mse\[symbols\]"):
        slide()[0].equations(along=["guide.displacement"])


class Mixed(mse.MObject):
    """Two charges and a place, with constraints of both kinds."""

    frame_names = ()
    coordinate_names = ("x", mse.coordinate("q1", unit="C"), mse.coordinate("q2", unit="C"))

    def energy(self, frames, q):
        return 50.0 * q[0] ** 2 + q[1] ** 2 * (0.01 - q[0]) / 2e-2

    def kinetic(self, frames, q, v):
        return 0.5 * (v[0] ** 2 + (0.05 + 2.0 * q[0]) * v[2] ** 2)

    def constraint(self, frames, q):
        return [q[0] + q[1]]

    def flow_constraint(self, frames, q, v):
        return v[1] - v[2]


def test_elements_alone_may_have_constraints_of_both_kinds():
    found = Mixed("m").equations().expressions
    assert list(found) == ["m.x", "m.q1", "m.q2", "m[0]", "m[1]"]
    assert str(found["m[1]"]).replace("(t)", "") == "Derivative(q1, t) - Derivative(q2, t)"


def test_efforts_are_unknowns_with_equations_of_their_own():
    """Of a conductor ``T1 = e1``, and ``S1' = G (1 - T2/T1)``, what it loses to the other end."""
    found = mse.HeatConductor("wall", conductance=0.6).equations()
    q = found.coordinates
    (conductance,) = found.parameters
    one, other = q["wall.temperature1"], q["wall.temperature2"]
    flows = conductance * (1 - other / one) - q["wall.entropy1"].diff(t)
    assert sp.simplify(found.expressions["wall.temperature1"] - flows) == 0
    balance = found.expressions["wall.entropy1"]
    assert balance.coeff(one) == 1 and abs(balance - one) == abs(found.method.lam_vec[0])


def test_states_are_unknowns_with_rates():
    """Of an amplifier with a lag, ``t U' = A e - U``."""
    found = mse.Amplifier("a", gain=2.0, time_constant=1e-3).equations()
    q, (gain, lag) = found.coordinates, sp.symbols("gain time_constant", real=True)
    rate = lag * q["a.output"].diff(t) - gain * q["a.input"] + q["a.output"]
    assert sp.expand(found.expressions["a.output"] - rate) == 0


def test_a_parameter_and_an_effort_of_one_name_differ():
    found = mse.Heater("heater", resistance=8.0, slope=0.004, temperature=300.0).equations()
    assert {str(x): value for x, value in found.parameters.items()} == {
        "resistance": 8.0,
        "slope": 0.004,
        "temperature_0": 300.0,
    }


def test_heat_beside_bodies_is_in_the_equations_of_a_system():
    """A heater on a capacity, on a mass with a spring: rows of all of them."""
    system, _ = slide(stiffness=50.0)
    system.add(mse.Heater("heater", resistance=8.0, temperature=300.0))
    system.add(mse.HeatCapacity("inside", capacity=0.5, temperature=300.0))
    system.connect("heater.heat", "inside.heat")
    system.connect("heater.-", system.earth)
    names = list(system.equations(along=["guide.displacement"]).expressions)
    assert names[:5] == [
        "guide.displacement",
        "heater.charge",
        "heater.entropy",
        "heater.temperature",
        "inside.entropy",
    ]
