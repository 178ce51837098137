"""Elements of SymPy expressions: the same motions as SymPy's own equations and as rods on joints, also from files."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import mse

sympy = pytest.importorskip("sympy")
mechanics = pytest.importorskip("sympy.physics.mechanics")

m, l, g, k, c = sympy.symbols("m l g k c")  # noqa: E741 - as books write it
q, p = mechanics.dynamicsymbols("q p")
T, V = m * l**2 * q.diff() ** 2 / 2, -m * g * l * sympy.cos(q)
VALUES = {m: 2.0, l: 0.5, g: 9.81}


def holding(*elements: mse.MObject) -> mse.MSystem:
    system = mse.MSystem("holder")
    for element in elements:
        system.add(element)
    return system


def pendulum(name: str = "pendulum", **more) -> mse.SymbolicElement:
    return mse.SymbolicElement(name, **{"coordinates": [q], "T": T, "V": V, "parameters": VALUES} | more)


def links(count: int):
    """SymPy's Lagrangian of points on massless links in a row, by absolute angles."""
    angles, frame = mechanics.dynamicsymbols(f"q1:{count + 1}"), mechanics.ReferenceFrame("N")
    origin = mechanics.Point("O")
    origin.set_vel(frame, 0)
    x = y = 0
    kinetic = potential = 0
    for angle in angles:
        x, y = x + l * sympy.sin(angle), y - l * sympy.cos(angle)
        kinetic += m * (x.diff(sympy.Symbol("t")) ** 2 + y.diff(sympy.Symbol("t")) ** 2) / 2
        potential += m * g * y
    return mechanics.LagrangesMethod(kinetic - potential, angles, frame=frame)


# -- physics ------------------------------------------------------------------------------------------------------
def test_a_pendulum_swings_as_by_hand_and_its_parameters_change():
    point = holding(pendulum()).find_working_point()
    by_hand = np.sqrt(9.81 / np.array([0.5, 1.2])) / (2 * np.pi)
    longer = point.update({"pendulum.l": 1.2})
    found = [x.linearize().modes().frequencies_hz[0] for x in (point, longer)]
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)


def test_a_double_pendulum_of_lagranges_method():
    element = mse.SymbolicElement.from_lagranges("two", links(2), parameters={m: 1.0, l: 1.0, g: 9.81})
    motion = holding(element).simulate(
        duration=5.0, dt=5.0, initial={"two.q1": 0.6, "two.q2": -0.3}, outputs=["two.q1", "two.q2"], rtol=1e-10
    )
    np.testing.assert_allclose([motion["two.q1"][-1], motion["two.q2"][-1]], [-0.0384352549, 0.5442096736], atol=1e-8)


def test_twenty_links_have_the_frequencies_of_sympys_matrices():
    method = links(20)
    values = {m: 1.0, l: 0.1, g: 9.81}
    point = holding(mse.SymbolicElement.from_lagranges("chain", method, parameters=values)).find_working_point()
    n = np.arange(20, 0, -1)
    mass = np.minimum.outer(n, n) * 0.01  # links below both, times l^2
    stiffness = np.diag(n * 9.81 * 0.1)
    by_hand = np.sqrt(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real) / (2 * np.pi)
    np.testing.assert_allclose(point.linearize().modes().frequencies_hz, np.sort(by_hand), rtol=1e-10)


def test_forces_and_content_are_those_of_dampers_and_drives():
    """x'' + c x' + k x = F - d x' with F in forces, and the point of rest F/k."""
    x = mechanics.dynamicsymbols("x")
    drag, force = sympy.symbols("drag force")
    made = mse.SymbolicElement(
        "cart",
        coordinates={x: mse.coordinate("x", unit="m")},
        T=m * x.diff() ** 2 / 2, V=k * x**2 / 2, D=c * x.diff() ** 2 / 2,
        forces={x: force - drag * x.diff()},
        parameters={m: 2.0, k: 50.0, c: 1.0, drag: 0.5, force: 3.0},
    )  # fmt: skip
    point = holding(made).find_working_point()
    assert point.internal["cart.x"] == pytest.approx(3.0 / 50.0, rel=1e-12)
    poles = np.linalg.eigvals(point.linearize().state_space().A)
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(np.roots([2.0, 1.5, 50.0])), rtol=1e-12)


def test_constraints_hold_coordinates():
    """Two masses whose places add up to a constant swing as one."""
    x, y = mechanics.dynamicsymbols("x y")
    made = mse.SymbolicElement(
        "pair", coordinates=[x, y], T=m * (x.diff() ** 2 + y.diff() ** 2) / 2, V=k * x**2 / 2,
        constraints=[x + 2 * y - l], parameters={m: 2.0, k: 50.0, l: 0.5},
    )  # fmt: skip
    point = holding(made).find_working_point()
    assert point.internal["pair.y"] == pytest.approx(0.25, rel=1e-12)
    assert point.linearize().modes().frequencies_hz[0] == pytest.approx(np.sqrt(50.0 / 2.5) / (2 * np.pi), rel=1e-12)


def test_forces_of_lagranges_method():
    frame, origin = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    origin.set_vel(frame, 0)
    bob = origin.locatenew("P", l * sympy.sin(q) * frame.x - l * sympy.cos(q) * frame.y)
    bob.set_vel(frame, bob.pos_from(origin).dt(frame))
    method = mechanics.LagrangesMethod(T, [q], forcelist=[(bob, -m * g * frame.y)], frame=frame)
    element = mse.SymbolicElement.from_lagranges("pendulum", method, parameters=VALUES)
    modes = holding(element).find_working_point().linearize().modes(damped=True)
    assert modes.frequencies_hz[0] == pytest.approx(np.sqrt(9.81 / 0.5) / (2 * np.pi), rel=1e-12)


# -- states -------------------------------------------------------------------------------------------------------
SLOPE, SPIN = 0.2, 1.5
KNIFE = dict(zip(sympy.symbols("m J g a"), (2.0, 0.3, 9.81, SLOPE), strict=True))


def knife_edge(dependent: bool) -> mechanics.KanesMethod:
    """A blade on a slope that slides along itself: with its own speed, or with speeds along x and y that depend on each other."""
    x, y, turn, u, w = mechanics.dynamicsymbols("x y turn u w")
    mass, inertia, gravity, slope = KNIFE
    frame, origin = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    origin.set_vel(frame, 0)
    blade = frame.orientnew("A", "Axis", [turn, frame.z])
    blade.set_ang_vel(frame, w * frame.z)
    center = origin.locatenew("P", x * frame.x + y * frame.y)
    if dependent:
        along, across = mechanics.dynamicsymbols("ux uy")
        center.set_vel(frame, along * frame.x + across * frame.y)
        method = mechanics.KanesMethod(
            frame, q_ind=[x, y, turn], u_ind=[along, w], u_dependent=[across],
            kd_eqs=[x.diff() - along, y.diff() - across, turn.diff() - w],
            velocity_constraints=[along * sympy.sin(turn) - across * sympy.cos(turn)],
        )  # fmt: skip
    else:
        center.set_vel(frame, u * blade.x)
        rates = [x.diff() - u * sympy.cos(turn), y.diff() - u * sympy.sin(turn), turn.diff() - w]
        method = mechanics.KanesMethod(frame, q_ind=[x, y, turn], u_ind=[u, w], kd_eqs=rates)
    body = mechanics.RigidBody("body", center, blade, mass, (mechanics.inertia(blade, 0, 0, inertia), center))
    method.kanes_equations([body], [(center, mass * gravity * sympy.sin(slope) * frame.x)])
    return method


@pytest.mark.parametrize("dependent", [False, True])
def test_a_knife_edge_of_kanes_method_swings_along_its_slope(dependent):
    """x = g sin(a)/(2 w^2) sin^2(w t), and across the blade acts the force 2 m g sin(a) sin(w t)."""
    system = holding(mse.SymbolicElement.from_kanes("blade", knife_edge(dependent), parameters=KNIFE))
    assert system["blade"].state_names[:3] == ("x", "y", "turn")
    run = system.simulate(duration=1.0, dt=0.1, initial={"blade.w": SPIN})
    pull, turned = 9.81 * np.sin(SLOPE), SPIN * run.time
    assert run["blade.x"] == pytest.approx(pull / (2.0 * SPIN**2) * np.sin(turned) ** 2, abs=1e-8)
    assert run["blade.turn"] == pytest.approx(turned, abs=1e-9)
    speed = np.hypot(run["blade.ux"], run["blade.uy"]) if dependent else run["blade.u"]
    force = 2.0 * (speed * SPIN + pull * np.sin(run["blade.turn"]))  # m (u w + g sin(a) sin(turn))
    assert force == pytest.approx(2.0 * 2.0 * pull * np.sin(turned), abs=1e-7)
    # states have no energy, and what rounding leaves of their equations does no work
    assert not any("not accounted" in note for note in run.notes)
    assert not np.any(run.energy["driven"])


def test_a_pendulum_of_kanes_method_has_the_frequency_of_lagranges():
    x, u = mechanics.dynamicsymbols("x u")
    frame, origin = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    origin.set_vel(frame, 0)
    rod = frame.orientnew("A", "Axis", [x, frame.z])
    rod.set_ang_vel(frame, u * frame.z)
    bob = origin.locatenew("P", -l * rod.y)
    bob.v2pt_theory(origin, frame, rod)
    method = mechanics.KanesMethod(frame, q_ind=[x], u_ind=[u], kd_eqs=[x.diff() - u])
    with pytest.raises(
        mse.ModelError, match=r"'early': its KanesMethod has no equations.*call method\.kanes_equations"
    ):
        mse.SymbolicElement.from_kanes("early", method, parameters=VALUES)
    method.kanes_equations([mechanics.Particle("bob", bob, m)], [(bob, -m * g * frame.y)])
    point = holding(mse.SymbolicElement.from_kanes("swing", method, parameters=VALUES)).find_working_point()
    poles = np.linalg.eigvals(point.linearize().state_space().A)
    assert np.abs(poles) == pytest.approx(np.sqrt(9.81 / 0.5), rel=1e-10)


def test_states_filter_a_force():
    s = mechanics.dynamicsymbols("s")
    laws = {"T": q.diff() ** 2 / 2, "V": 50 * q**2, "D": q.diff() ** 2, "forces": {q: -k * s}}
    by_hand = np.roots(np.polyadd(np.polymul([1.0, 20.0], [1.0, 2.0, 100.0]), [300.0 * 20.0]))
    for rates in ({s: 20 * (q - s)}, {s: ({s: c / 20}, c * (q - s))}):
        element = mse.SymbolicElement("filtered", coordinates=[q], states=rates, parameters={k: 300.0, c: 3.0}, **laws)
        poles = np.linalg.eigvals(holding(element).find_working_point().linearize().state_space().A)
        np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(by_hand), rtol=1e-9)


@pytest.mark.parametrize(
    ("law", "at"),
    [
        (sympy.Piecewise((k * q**2 / 2, q > 0), (2 * k * q**2, True)), [0.3, -0.3]),
        (k * sympy.atan2(sympy.sinh(q), 2) * sympy.Abs(q) + sympy.sqrt(1 + q**2) * sympy.exp(-q), [0.4, -1.1]),
        (k * sympy.tan(q) ** 2 + sympy.log(2 + q) / (1 + q**2), [0.2]),
    ],
)
def test_functions_have_the_values_of_sympy(law, at):
    element = mse.SymbolicElement("one", coordinates=[q], V=law, parameters={k: 3.0})
    for x in at:
        assert element.energy((), [x]) == pytest.approx(float(law.subs({q: x, k: 3.0})), rel=1e-14)


# -- files and copies ---------------------------------------------------------------------------------------------
def test_files_hold_trees_and_are_read_without_sympy(tmp_path, monkeypatch):
    path = tmp_path / "two.json"
    system = holding(pendulum("a"), pendulum("b", V=-2 * V))
    system.save(path)
    monkeypatch.setitem(__import__("sys").modules, "sympy", None)
    read = mse.read_model(path)
    assert read["a"].options() == system["a"].options() and read["b"].l == 0.5
    np.testing.assert_array_equal(
        read.find_working_point().linearize().K.toarray(), system.find_working_point().linearize().K.toarray()
    )


def test_states_are_in_files(tmp_path, monkeypatch):
    path, element = (
        tmp_path / "knife.json",
        mse.SymbolicElement.from_kanes("blade", knife_edge(False), parameters=KNIFE),
    )
    holding(element).save(path)
    monkeypatch.setitem(__import__("sys").modules, "sympy", None)
    read = mse.read_model(path)
    assert read["blade"].options() == element.options() and type(read["blade"]) is type(element)
    data = json.loads(path.read_text())
    (found,) = [o for o in data["system"]["objects"] if o["name"] == "blade"]
    for states, words in (
        (3, "states is 3"), ([["x", 1.0]], "a name, its rate, and its row"), ([["x", 1.0, [["y", 1.0]]]], "has the rate of 'y'"),
        ([["x", "secret", []]], "rate of x has secret"), ([["x", 1.0, []], ["x", 1.0, []]], "different names"),
    ):  # fmt: skip
        found["options"]["laws"]["states"] = states
        path.write_text(json.dumps(data))
        with pytest.raises(mse.FileError, match=words):
            mse.read_model(path)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (["__import__", "os"], "expected one of"),
        (["sin", 1.0, 2.0], "with its operands"),
        (["*", "q", "secret"], "has secret, which is neither a coordinate nor a parameter"),
        (["*", "q'", 2.0], "has q', which is neither"),
        (True, "expected a finite number"),
    ],
)
def test_files_with_other_trees_are_refused(tmp_path, tree, words):
    path = tmp_path / "bad.json"
    holding(pendulum()).save(path)
    data = json.loads(path.read_text())
    (found,) = [o for o in data["system"]["objects"] if o["name"] == "pendulum"]
    found["options"]["laws"]["V"] = tree
    path.write_text(json.dumps(data))
    with pytest.raises(mse.FileError, match=words):
        mse.read_model(path)


def test_elements_with_the_same_laws_are_of_one_class_and_can_be_pickled():
    one, other = pendulum("one"), pendulum("other", parameters={m: 1.0, l: 2.0, g: 9.81})
    assert type(one) is type(other) and type(one) is not type(pendulum("third", V=2 * V))
    again = pickle.loads(pickle.dumps(other))
    assert type(again) is type(other) and again.l == 2.0 and again.name == "other"


def test_laws_without_parameters_are_read_again(tmp_path):
    holding(mse.SymbolicElement("plain", coordinates=[q], V=q**2)).save(tmp_path / "plain.json")
    assert mse.read_model(tmp_path / "plain.json")["plain"].energy((), [3.0]) == 9.0


# -- bad input ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"V": k * q**2}, r"V has k, which is neither a coordinate nor a parameter.*parameters=\{k: \.\.\.\}"),
        ({"T": q.diff().diff() * q.diff()}, "T contains Derivative.*expected coordinates and their first derivatives"),
        ({"V": sympy.gamma(q)}, "V contains gamma"),
        ({"V": m * p}, r"V contains p\(t\); expected functions of its coordinates, q\(t\); add p\(t\) to these"),
        ({"coordinates": [q, q]}, r"coordinates are q\(t\), q\(t\); expected different names"),
        ({"V": q.diff()}, "V has q', which is neither"),
        ({"coordinates": []}, "no coordinates"),
        ({"forces": {p: 1.0}}, "forces are given on p"),
        ({"W": V}, "no argument 'W'"),
        ({"parameters": {**VALUES, sympy.Symbol("loss"): 1.0}}, "loss has a name that is taken"),
        ({"parameters": {m: 1.0, l: "x", g: 9.81}}, "l"),
    ],
)
def test_what_cannot_be_a_law_is_refused_by_name(wrong, words):
    with pytest.raises(mse.ModelError, match=words):
        pendulum(**wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"coordinates": None}, r"coordinates is None; expected SymPy's coordinates, \[q\]"),
        ({"coordinates": [q**2]}, r"coordinates contain q\(t\)\*\*2; expected SymPy's coordinates"),
        ({"coordinates": {q: "rad"}}, r"coordinate q\(t\) is 'rad'; expected one of mse.coordinate\(\)"),
        ({"V": [q]}, r"V is \[q\(t\)\]; expected an expression of SymPy"),
        ({"V": "1/0"}, "V is '1/0'; expected an expression of SymPy"),
        ({"T": lambda: 1.0}, "T is <function.*; expected an expression of SymPy"),
        ({"forces": [q]}, r"forces is \[q\(t\)\]; expected forces by coordinate"),
        ({"forces": {q: None}}, r"force on q\(t\) is None; expected an expression"),
        ({"constraints": q}, r"constraints is q\(t\); expected a list of SymPy's expressions"),
        ({"flow_constraints": [None]}, "flow_constraints is None; expected an expression"),
        ({"states": [p]}, r"states is \[p\(t\)\]; expected rates by variable"),
        ({"states": {p: (1.0,)}}, r"rate of p is \(1.0,\); expected an expression f, or \(\{s: m\}, f\)"),
        ({"states": {p: ({p: 1.0}, None)}}, "rate of p is None; expected an expression"),
    ],
)
def test_arguments_of_other_kinds_are_refused_by_name(wrong, words):
    with pytest.raises(mse.ModelError, match=rf"'pendulum': {words}"):
        pendulum(**wrong)


def test_laws_may_be_none_and_methods_are_of_their_kind():
    plain = mechanics.LagrangesMethod(q.diff() ** 2 / 2 - q**2, [q])
    assert mse.SymbolicElement.from_lagranges("plain", plain, parameters=None).energy((), [3.0]) == 9.0
    assert mse.SymbolicElement("free", coordinates=[q], T=q.diff() ** 2, V=None).defines("energy") is False
    for make, kind in (
        (mse.SymbolicElement.from_lagranges, "a LagrangesMethod"),
        (mse.SymbolicElement.from_kanes, "a KanesMethod"),
    ):
        with pytest.raises(mse.ModelError, match=f"'k': method is None; expected {kind} of SymPy"):
            make("k", None, parameters={})
    loads = [(mechanics.Point("P"), k * mechanics.ReferenceFrame("N").x)]
    lost = mechanics.LagrangesMethod(q.diff() ** 2 / 2, [q], forcelist=loads)
    with pytest.raises(mse.ModelError, match=r"'k': the forcelist .*; expected vectors on points.*; give frame="):
        mse.SymbolicElement.from_lagranges("k", lost, parameters={k: 1.0})
