"""Equations of elements and systems in symbols (extra ``symbols``): ``d/dt T_v - T_q + V_q + D_v + g_q^T lam = Q``.

Efforts e and states s are among the coordinates q, with the forces ``Gamma`` and ``f - M s'``, so that their rows are the
equations that decide them.

The laws of all elements are recorded and written in SymPy.  The frames of a system are placed along the coordinates of joints
that form a tree, ``U0 = U1 O R O^T, o0 = o1 + U1 O d`` with the joint's axes O; other joints are constraints.  SymPy's
``LagrangesMethod`` forms the equations (H. Goldstein, "Classical Mechanics" (1980), sections 1-4 and 2-4).  At a random point
they are compared with the forces that mse computes without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..display import amounts
from ..dynamics.accelerations import Equations
from ..dynamics.coordinates import NamedCoordinates
from ..dynamics.simulate import refuse_unfit
from ..elements.amplifiers import Amplifier
from ..elements.base import FramePose, MObject
from ..elements.differentiation import SLOW, somewhere
from ..elements.flows import flow_count
from ..elements.joint_base import FreeJoint
from ..elements.law_record import Shape, rows_of
from ..elements.laws import matrices
from ..elements.recorded_laws import Together
from ..elements.symbols import (
    LONG,
    Expression,
    Parameters,
    Recorder,
    by_cases,
    by_sign,
    evaluated,
    exact,
    mechanics,
    name_of,
    short,
    sympy,
)
from ..errors import ModelError
from ..model.configuration import State
from ..model.evaluation import Evaluation
from ..model.system import MSystem
from ..model.variants import prepared
from ..numerics.blas_threads import one_thread
from ..validation.arguments import find, names
from .joint_tree import Placed, Tree

MOST_COORDINATES = 12  # the printed equations of more fill pages, and SymPy takes minutes for them
# Of the terms of an equation: far above the rounding of sums, far below a wrong sign or factor.
_ALIKE = 1e-9
# Of the largest force: terms that may cancel in another one, as in a torque.  With a hundredth and a hundred times of it
# tests/tools/test_symbolic_equations.py::test_torques_that_cancel_are_compared_with_their_terms passes, without it that fails.
_CANCELLED = 1e-3
_FARTHEST = 0.5  # m, rad: how far from the drawn pose the equations are checked, less where a condition would not hold
_HALVINGS = 30
G = 9.81  # m/s2, of an element by itself


@dataclass(frozen=True, eq=False, repr=False)
class SymbolicEquations:
    """Equations in symbols: a notebook shows them, ``latex()`` is their source, and SymPy's printers make code of them.

    Attributes
    ----------
    name : str
        What they are the equations of.
    expressions : dict of str to sympy.Expr
        By coordinate the left side of ``... = 0`` (N, N m), then the constraints by object.  Of an element with frames instead
        the force along each coordinate of its frames (world axes) and each internal one, with those of its inertia.
    energies : dict of str to sympy.Expr
        Kinetic coenergy ``T`` (J), potential energy ``V`` (J) and content ``D`` (W).
    coordinates : dict of str to sympy.Function
        Functions of time by the names of the coordinates, ``{"hinge.angle": hinge_angle(t)}``, efforts and states included.
    parameters : dict of sympy.Symbol to float
        The parameters and their present values.  A parameter that is zero has no symbol.
    conditions : tuple of sympy.Expr
        What has to hold for these equations, such as ``gap > 0``, where laws ask it.
    method : sympy.physics.mechanics.LagrangesMethod or None
        What formed them, with ``mass_matrix``, ``forcing``, ``rhs()`` and ``linearize()``; None for an element with frames.
    """

    name: str
    expressions: dict[str, Expression]
    energies: dict[str, Expression]
    coordinates: dict[str, Expression]
    parameters: dict[Expression, float]
    conditions: tuple[Expression, ...]
    method: Any

    def latex(self) -> str:
        """The equations as the source of an ``aligned`` environment; dots are derivatives by time.

        Returns
        -------
        str
            One line for each equation.
        """
        lines = [_line(name, mechanics().mlatex(x), self.method) for name, x in self.expressions.items()]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    def __repr__(self) -> str:
        sign = "" if self.method is None else "0 = "
        lines = [f"  {name}: {sign}{mechanics().msprint(x)}" for name, x in self.expressions.items()]
        return "\n".join([f"{self.name}: {amounts(equation=len(lines))}", *lines])


def _line(name: str, printed: str, method: Any) -> str:
    return rf"\text{{{name}}} &= {printed}" if method is None else f"{printed} &= 0"


# -- laws ---------------------------------------------------------------------------------------------------------
class Laws:
    """The laws of some elements in symbols, added up: T, V, D, forces by frame or coordinate, and constraints by object."""

    def __init__(self, field: Sequence[float], coordinates: Iterable[Expression]) -> None:
        zero = sympy().Integer(0)
        self.T = self.V = self.D = zero
        self.parameters = Parameters({str(x.func) for x in coordinates})
        self.gravity = self._gravity(field)
        self.conditions: list[Expression] = []
        self.constraints: dict[str, list[Expression]] = {}
        self.flows: dict[str, list[Expression]] = {}
        # forces, and the velocities along which they act
        self.powers: list[tuple[list[Expression], list[Expression]]] = []

    def equations(
        self, name: str, expressions: dict[str, Expression], coordinates: dict[str, Expression], method: Any
    ) -> SymbolicEquations:
        """Equations of these laws, with the parameters that are in them."""
        expressions = {key: by_sign(x) for key, x in expressions.items()}
        energies = {key: by_sign(x) for key, x in (("T", self.T), ("V", self.V), ("D", self.D))}
        conditions = tuple(x for x in dict.fromkeys(self.conditions) if x is not sympy().true)
        used = set().union(*(x.free_symbols for x in (*expressions.values(), *energies.values(), *conditions)))
        parameters = {symbol: value for symbol, value in self.parameters.values.items() if symbol in used}
        return SymbolicEquations(name, expressions, energies, coordinates, parameters, conditions, method)

    def _gravity(self, field: Sequence[float]) -> list[Expression]:
        """The field (3,): ``-g`` along its axis, or a symbol for each component."""
        if np.count_nonzero(field) == 1:
            g = self.parameters.symbol("g", float(np.abs(field).max()))
            return [g * int(np.sign(x)) for x in field]
        return self.parameters.array("g", field)

    def take(
        self, obj: MObject, path: str, frames: Sequence[Placed], q: Sequence[Expression],
        place: tuple[list[FramePose], np.ndarray, np.ndarray], held: bool = True, named: str | None = None,
    ) -> None:  # fmt: skip
        """Add the laws of an object, recorded at a ``place``: frames, internal coordinates, gravity; ``held`` by constraints.

        Symbols of its parameters begin with ``named``, if that is not its path.
        """
        _refuse_without_law(obj)
        recorder = Recorder(obj, self.parameters, path if named is None else named)
        poses = [FramePose(list(f.o), np.array(f.U.tolist(), dtype=object)) for f in frames]
        t = mechanics().dynamicsymbols._t
        rates = [x for f in frames for x in (*f.v, *f.w)] + [x.diff(t) for x in q]
        n, (numbers, inner, field) = len(rates), place
        moving = np.random.default_rng(0).uniform(0.5, 1.0, n)

        def law(name: str, count: int, given: Sequence, at: np.ndarray) -> list[Expression]:
            return [by_cases(x) for x in recorder.law(name, count, poses, q, given, (numbers, inner, at))]

        if obj.defines("energy") or obj.defines("gravity_energy"):
            self.V += law("energy", 1, self.gravity, field)[0]
        for name, matrix in (("kinetic", "mass_matrix"), ("dissipation", "damping_matrix")):
            for own in (x for x in (name, matrix) if obj.defines(x)):
                found = law(own, 1, rates, moving)[0]
                self.T, self.D = (self.T + found, self.D) if name == "kinetic" else (self.T, self.D + found)
        if obj.defines("power"):
            forces = law("power", n, [*rates, *rates], np.tile(moving, 2))
            self.powers.append((forces, rates))
        if held and obj.defines("constraint"):
            count = obj.constraint_count
            self.constraints[path] = law("constraint", count, [0] * count, np.zeros(count))
        if obj.defines("flow_constraint"):
            count = flow_count(obj)
            self.flows[path] = law("flow_constraint", count * (1 + n), rates, moving)[:count]
        self.conditions += recorder.conditions

    def spring(self, joint: FreeJoint, path: str, values: Sequence[Expression]) -> None:
        """Add springs, preloads and dampers on the coordinates of a joint."""
        t, half = mechanics().dynamicsymbols._t, sympy().Rational(1, 2)
        for k, (name, c) in enumerate(zip(joint.joint_coordinates, values, strict=True)):
            stiffness, rest, preload, damping = (
                self.parameters.symbol(f"{path}.{what}_{name}", getattr(joint, what)[k])
                for what in ("stiffness", "rest", "preload", "damping")
            )
            self.V += half * stiffness * (c - rest) ** 2 - preload * c
            self.D += half * damping * c.diff(t) ** 2


def _refuse_without_law(obj: MObject) -> None:
    instead = [x for x in ("evaluate", "forces", "stiffness_parts") if obj.defines(x)]
    bare = obj.defines("kernel") and not (obj.defines("energy") or obj.defines("gravity_energy"))
    bare |= obj.defines("components")  # these are compiled, or inside: its own frames carry no law
    if instead or bare or obj.defines("dynamic_stiffness"):
        raise ModelError(
            f"{obj.label}: its law is a compiled kernel or a table, without a formula; expected elements with an energy in plain "
            "numpy; replace it by springs, bushings or wires"
        )


# -- equations ----------------------------------------------------------------------------------------------------
@one_thread
def of_system(system: MSystem, along: Sequence[str], inside: str = "") -> SymbolicEquations:
    """See :meth:`.MSystem.equations`; names lose the beginning ``inside``."""
    sympy()
    label = system.label
    topology, assembly = system._prepared = prepared(system, system._prepared)
    refuse_unfit(topology)
    motion = Equations(topology, assembly)
    drawn = Evaluation.initial(assembly)
    known = NamedCoordinates(topology, drawn)
    inner = topology.coordinate_names[6 * (topology.units - 1) :]
    along = names(label, "along", along)
    for name in along:
        find(label, "joint coordinate", name, [c for c in known.names if c not in inner])
    if len(set(along)) < len(along):
        raise ModelError(f"{label}: along names {max(along, key=along.count)} twice; expected each coordinate once")
    if (count := len(along) + len(inner)) > MOST_COORDINATES:
        raise ModelError(
            f"{label}: it has {count} coordinates, internal ones included; expected at most {MOST_COORDINATES}, as printed "
            "equations of more cannot be read; take simulate() or find_working_point(), which need no symbols"
        )
    tree = Tree(topology, along)
    own_names = {name: str(name).removeprefix(inside) for name in inner}
    q = tree.coordinates | {
        name: mechanics().dynamicsymbols(name_of(own), real=True) for name, own in own_names.items()
    }
    laws, at = Laws(topology.gravity, q.values()), drawn.configuration
    for el in topology.elements:
        own, path = el.obj, el.path
        if path in tree.joints and type(own).energy is FreeJoint.energy:
            laws.spring(own, path, tree.joints[path])
            continue
        place = at.frames(el.frames), at.q[el.coordinates], topology.gravity
        internal = [q[inner[k]] for k in np.arange(len(inner))[el.coordinates]]
        frames = [tree.frame(int(f)) for f in el.frames]
        named = path.removesuffix(inside.rstrip("."))
        laws.take(own, path, frames, internal, place, path not in tree.joints, named)
    flows = [el.path for part in motion.flows for el in part.elements]
    laws.flows = {path: laws.flows[path] for path in flows}
    equations = _formed(label, q, laws)
    _Check(equations, tree, motion, drawn, known, laws).run()
    return equations


def of_element(obj: MObject) -> SymbolicEquations:
    """See :meth:`.MObject.equations`."""
    _refuse_without_law(obj)
    if not obj.frame_names:
        alone = MSystem(obj.name)
        copy = alone.add(obj.copy(obj.name))
        if isinstance(copy, Amplifier):  # a system refuses one whose input nothing decides
            alone.connect(copy.port("in+"), copy.port("in-"), alone.earth)
        return of_system(alone, (), f"{obj.name}.")
    sp, t = sympy(), mechanics().dynamicsymbols._t
    frames, rng = [], np.random.default_rng(0)
    for name in obj.frame_names:
        o, w = (
            sp.Matrix([sp.Function(f"{what}{axis}_{name_of(name)}", real=True)(t) for axis in "xyz"])
            for what in ("", "w")
        )
        u = sp.Matrix(3, 3, lambda i, j, name=name: sp.Symbol(f"U{i + 1}{j + 1}_{name_of(name)}", real=True))
        frames.append(Placed(o, u, o.diff(t), w))
    q = {str(name): sp.Function(name_of(name), real=True)(t) for name in obj.coordinate_names}
    poses, inner, field = somewhere(obj), rng.uniform(0.5, 1.0, len(q)), np.array([0.0, 0.0, -G])
    laws = Laws(field, q.values())
    laws.take(obj, "", frames, list(q.values()), (poses, inner, field))
    velocities = [x for f in frames for x in (*f.v, *f.w)] + [x.diff(t) for x in q.values()]
    forces = [-x for x in _slopes(laws.V, frames, q.values())]
    for found in (
        [-laws.D.diff(v) for v in velocities],
        *(f for f, _ in laws.powers),
        _inertia(laws.T, frames, q.values()),
    ):
        forces = [x + y for x, y in zip(forces, found, strict=True)]
    axes = ("fx", "fy", "fz", "tx", "ty", "tz")
    labels = [f"{name}.{axis}" for name in obj.frame_names for axis in axes] + list(q)
    expressions = dict(zip(labels, forces, strict=True))
    held = [*laws.constraints.items(), *laws.flows.items()]
    expressions |= {f"constraint[{k}]": x for k, x in enumerate(x for _, own in held for x in own)}
    places = {x: at for f, pose in zip(frames, poses, strict=True) for x, at in zip(f.o, pose.o, strict=True)}
    places |= {x: at for f, pose in zip(frames, poses, strict=True) for x, at in zip(f.U, pose.U.ravel(), strict=True)}
    # a matrix of masses has no forces at velocities without a system, so that these are next to nothing then
    slow = SLOW if obj.defines("mass_matrix") else 1.0
    v, a = rng.uniform(0.5, 1.0, (2, len(velocities))) * np.array([[slow], [1.0]])
    values = dict(zip([*velocities, *(x.diff(t) for x in velocities)], [*v, *a], strict=True))
    values |= places | dict(zip(q.values(), inner, strict=True)) | laws.parameters.values
    parts = np.array([obj.forces(poses, inner, field), *_in_motion(obj, poses, inner, v, a)])
    sizes = np.abs(parts).sum(axis=0)
    sizes = np.maximum(sizes, _CANCELLED * sizes.max())  # of the terms that cancel where there is no force
    _compare(obj.label, labels, evaluated(forces, values), parts.sum(axis=0), sizes)
    return laws.equations(obj.label, expressions, q, None)


def _in_motion(
    obj: MObject, poses: list[FramePose], q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> Iterator[np.ndarray]:
    """Forces (n,) of an element's inertia, content and power at velocities and accelerations (n,), less those at rest."""
    n, rows = len(v), rows_of([(poses, q)])

    def given(law: str, *numbers: np.ndarray) -> np.ndarray:
        together = Together([obj], law, Shape(len(poses), len(q)).of(law))
        return together.evaluate(rows, np.concatenate(numbers)[None], 0)[0][0, -n:]

    if obj.defines("kinetic"):
        yield -given("inertia", v, a)
    elif (mass := matrices([obj], "mass_matrix", [(poses, q)], n)) is not None:
        yield -mass[0] @ a
    if obj.defines("dissipation"):
        yield -given("drag", v)
    elif (damping := matrices([obj], "damping_matrix", [(poses, q)], n)) is not None:
        yield -damping[0] @ v
    if obj.defines("power"):
        yield given("power", 0.0 * v, v) - given("power", 0.0 * v, 0.0 * v)


def _inertia(T: Expression, frames: Sequence[Placed], q: Sequence[Expression]) -> list[Expression]:
    """Forces of inertia ``dT/dx + w x p - dp/dt`` of a kinetic coenergy with momenta p, along world axes."""
    t = mechanics().dynamicsymbols._t
    turning = [(f.U[i, j], f.w.cross(f.U.col(j))[i]) for f in frames for i in range(3) for j in range(3)]
    momenta = [T.diff(v) for v in (*(x for f in frames for x in (*f.v, *f.w)), *(x.diff(t) for x in q))]
    out = _slopes(T, frames, q)
    for k, p in enumerate(momenta):
        out[k] -= p.diff(t) + sum(p.diff(u) * rate for u, rate in turning)
    for k, f in enumerate(frames):
        turned = f.w.cross(sympy().Matrix(momenta[6 * k + 3 : 6 * k + 6]))
        for i in range(3):
            out[6 * k + 3 + i] += turned[i]
    return out


def _slopes(energy: Expression, frames: Sequence[Placed], q: Sequence[Expression]) -> list[Expression]:
    """Slopes of an energy: by displacements o and turns of frames, the sum of u x dV/du over their axes u, and by q."""
    out = []
    for f in frames:
        by_axes = f.U.applyfunc(energy.diff)
        out += [*map(energy.diff, f.o), *sum((f.U.col(k).cross(by_axes.col(k)) for k in range(3)), sympy().zeros(3, 1))]
    return [*out, *map(energy.diff, q)]


def _formed(label: str, q: dict[str, Expression], laws: Laws) -> SymbolicEquations:
    """Lagrange's equations of coordinates."""
    mech, sp = mechanics(), sympy()
    t, inertial = mech.dynamicsymbols._t, mech.ReferenceFrame("N")
    laws.T, laws.V = short(laws.T), short(laws.V)
    loads = []
    for k, x in enumerate(q.values()):
        rate = x.diff(t)
        force = -sp.diff(laws.D, rate)
        for forces, velocities in laws.powers:
            force += sum(f * sp.diff(v, rate) for f, v in zip(forces, velocities, strict=True))
        if force != 0:  # a point that moves with the coordinate carries its force
            point = mech.Point(f"P{k}")
            point.set_vel(inertial, rate * inertial.x)
            loads.append((point, force * inertial.x))
    held = [x for own in laws.constraints.values() for x in own]
    flowing = [x for own in laws.flows.values() for x in own]
    method = mech.LagrangesMethod(
        laws.T - laws.V, list(q.values()), hol_coneqs=held, nonhol_coneqs=flowing, forcelist=loads, frame=inertial
    )
    found = dict(zip(q, map(_neat, method.form_lagranges_equations()), strict=True))
    for path, own in laws.constraints.items():
        found |= {f"{path}[{k}]": x for k, x in enumerate(own)}
    for path, own in laws.flows.items():
        found |= {f"{path}[{k}]": x for k, x in enumerate(own, len(laws.constraints.get(path, ())))}
    return laws.equations(label, found, q, method)


def _neat(x: Expression) -> Expression:
    """A sum of terms where that is shorter, with whole numbers in place of 1.0."""
    x = x if x.count_ops() > LONG else min(x, sympy().expand(x), key=lambda y: y.count_ops())
    return x.xreplace({number: exact(float(number)) for number in x.atoms(sympy().Float)})


class _Check:
    """Compares equations with what mse finds at a random point: places, constraints, forces and inertia."""

    def __init__(
        self, equations: SymbolicEquations, tree: Tree, motion: Equations, drawn: Evaluation, known: NamedCoordinates,
        laws: Laws,
    ):  # fmt: skip
        self.equations, self.tree, self.motion, self.laws = equations, tree, motion, laws
        self.drawn, self.known = drawn, known
        t, sp = mechanics().dynamicsymbols._t, sympy()
        self.q = list(equations.coordinates.values())
        self.rates, self.accelerations = ([x.diff(t, k) for x in self.q] for k in (1, 2))
        self.multipliers = list(equations.method.lam_vec)
        units = [tree.units[u] for u in range(1, motion.topology.units)]
        inner = self.q[len(tree.coordinates) :]
        self.places = [x for f in units for x in (*f.o, *f.U)]
        self.velocities = sp.Matrix([x for f in units for x in (*f.v, *f.w)] + [x.diff(t) for x in inner])

    def run(self) -> None:
        """ModelError where something deviates."""
        values, here = self._somewhere()
        t, label, motion = mechanics().dynamicsymbols._t, self.equations.name, self.motion
        n, k = motion.size, len(self.q)
        expressions = list(self.equations.expressions.values())
        slopes = self.velocities.jacobian(self.rates) if n and k else []
        wanted = [*self.velocities, *self.velocities.diff(t), *slopes, *expressions]
        numbers = evaluated(wanted, values)
        v, a, along, found = np.split(numbers, [n, 2 * n, 2 * n + n * k])
        along = along.reshape(n, k)
        terms = motion.terms(here, v, 0.0)
        multipliers = np.array([values[x] for x in self.multipliers])
        held, flowing = (sum(map(len, x.values())) for x in (self.laws.constraints, self.laws.flows))
        rows = self._rows(self.laws.constraints)
        pulled, residual = np.zeros(n), np.zeros(held)
        if held:
            pulled += here.slopes[rows].T @ multipliers[:held]
            residual = here.residual[rows]
        flows = np.zeros(0)
        if flowing:
            matrix, _ = motion.flow_rows(here, v)
            pulled += matrix.T @ multipliers[held:]
            flows = matrix @ v
        expected = np.concatenate([along.T @ (terms.mass @ a - terms.force + pulled), residual, flows])
        sizes = np.abs(along.T) @ (abs(terms.mass) @ np.abs(a) + np.abs(terms.force) + np.abs(pulled))
        sizes = np.concatenate([sizes, np.full(held + flowing, 1.0)])
        _compare(label, list(self.equations.expressions), found, expected, sizes)
        if self.tree.joints:
            own = self._rows(self.tree.joints)
            off = np.concatenate([here.residual[own], here.slopes[own] @ v])
            _compare(label, ["joints of the tree"] * len(off), off, 0.0 * off, np.ones(len(off)))
        at = dict(zip(self.known.names, self.known.values(here), strict=True))
        values = [(name, values[x], at[name]) for name, x in self.equations.coordinates.items()]
        named, given, read = zip(*values, strict=True) if values else ((), (), ())
        _compare(label, list(named), np.array(read), np.array(given), np.ones(len(named)))

    def _rows(self, paths: Sequence[str]) -> np.ndarray:
        """Rows of the constraints of some objects, one after the other."""
        a = self.motion.assembly
        rows = {el.path: n for g in a.groups for el, n in zip(g.elements, a.constraint_rows(g), strict=True)}
        return np.concatenate([np.zeros(0, dtype=int), *(rows[path] for path in paths if path in rows)]).astype(int)

    def _somewhere(self) -> tuple[dict[Expression, float], Evaluation]:
        """A random point at which the conditions hold and an energy exists, as values of all symbols, and the system there."""
        rng = np.random.default_rng(0)
        drawn = dict(zip(self.known.names, self.known.values(self.drawn), strict=True))
        middle = np.array([drawn[name] for name in self.equations.coordinates])
        step = rng.uniform(-_FARTHEST, _FARTHEST, len(middle))
        others = [*self.rates, *self.accelerations, *self.multipliers]
        fixed = dict(zip(others, rng.uniform(-1.0, 1.0, len(others)), strict=True)) | self.equations.parameters
        for k in range(_HALVINGS):
            values = dict(zip(self.q, middle + 0.5**k * step, strict=True)) | fixed
            if all(evaluated(self.equations.conditions, values)) and np.isfinite(evaluated([self.laws.V], values)):
                break
        at, state, units = evaluated(self.places, values).reshape(-1, 12), self.drawn.state, self.motion.topology.units
        o, u = state.o.copy(), state.U.copy()
        o[1:], u[1:] = at[:, :3], at[:, 3:].reshape(units - 1, 3, 3)
        inner = np.array([values[x] for x in self.q[len(self.tree.coordinates) :]])
        memory = self.motion.assembly.followed(*self.motion.topology.frame_poses(o, u), state.memory)
        return values, self.motion.evaluation(State(o, u, inner, memory))


def _compare(label: str, what: Sequence[str], found: np.ndarray, expected: np.ndarray, sizes: np.ndarray) -> None:
    off = np.abs(found - expected) > _ALIKE * np.maximum(sizes, np.abs(expected))
    wrong = np.flatnonzero(off | ~np.isfinite(found))
    if len(wrong):
        k = int(wrong[0])
        raise ModelError(
            f"{label}: at a random point the equation of {what[k]} gives {found[k]:.9g} in symbols and {expected[k]:.9g} by "
            "the laws themselves; expected the same; a law depends on more than poses, velocities and parameters, or has another "
            "kernel: leave such elements out, and report it if they are mse's own"
        )
