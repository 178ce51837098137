"""Recorded laws as SymPy expressions: the only module of mse that imports SymPy, which comes with the extra ``symbols``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import ModelError, MseError
from ..kernels import machine as m
from ..numerics.program import CONSTANT, INPUT, MASK, operands, uses
from ..numerics.record import Record, Unrecordable
from ..validation.arguments import instance, items, mapping, refusal, shown
from ..validation.extras import needed
from .coordinates import GENERALIZED, Coordinate
from .differentiation import FramePose
from .expression_trees import OPERATORS
from .law_record import Law, Layout, Shape, is_real, rows_of

_DENOMINATORS = 64  # powers of two up to which a constant is printed as a fraction: 1/2, 3/8
# operations beyond which nobody reads an expression, and SymPy would take minutes to write its products as sums
LONG = 300

Expression = Any  # a sympy.Expr


def sympy() -> ModuleType:
    """SymPy; MissingPackageError with the remedy if it is not installed."""
    return needed("sympy", "symbols", "equations in symbols")


def mechanics() -> ModuleType:
    """``sympy.physics.mechanics``; MissingPackageError with the remedy if SymPy is not installed."""
    return needed("sympy.physics.mechanics", "symbols", "equations in symbols")


def short(x: Expression) -> Expression:
    """Products of sines and cosines as sums over sums of angles, where that is shorter: ``cos(a - b)`` in planar chains."""
    if x.count_ops() > LONG:
        return x
    tr8 = needed("sympy.simplify.fu", "symbols", "equations in symbols").TR8
    x = sympy().expand(x)
    merged = sympy().expand(tr8(x))
    return min(x, merged, key=lambda one: one.count_ops())


def by_cases(x: Expression) -> Expression:
    """``|a|`` by cases.  SymPy's derivative of ``Abs(q)`` by a coordinate q keeps a factor ``Derivative(q, q)``."""
    sp = sympy()
    return sp.sympify(x).replace(sp.Abs, lambda a: sp.Piecewise((a, a >= 0), (-a, True)))


def by_sign(x: Expression) -> Expression:
    """The same with ``|a|`` and its slope ``sign(a)`` in place of the cases, to be read."""
    sp = sympy()

    def merged(*cases):
        if len(cases) == 2:
            (first, holds), (second, _) = cases
            if isinstance(holds, sp.GreaterThan) and holds.rhs == 0 and second == -first:
                return sp.Abs(first) if first == holds.lhs else first * sp.sign(holds.lhs)
        return sp.Piecewise(*cases)

    return x.replace(sp.Piecewise, merged)


def name_of(path: str) -> str:
    """A name that printers of code and LaTeX take: ``upper_rod_mass``."""
    return re.sub(r"\W+", "_", path).strip("_")


def exact(x: float) -> Expression:
    """A constant: whole numbers and simple fractions exactly, others as decimal numbers."""
    sp = sympy()
    if not np.isfinite(x):
        return sp.nan if np.isnan(x) else sp.oo if x > 0 else -sp.oo
    p, q = float(x).as_integer_ratio()
    return sp.Rational(p, q) if q <= _DENOMINATORS else sp.Float(x)


class Parameters:
    """Symbols of the parameters of objects, with their values; what is zero stays zero, as no term of it is there.

    A parameter with the name of a coordinate, of those ``taken``, ends in ``_0``: temperature_0 for that of a law.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self.values: dict[Expression, float] = {}
        self._taken = taken

    def symbol(self, name: str, value: float) -> Expression:
        """The symbol of a number, or 0 for zero."""
        if not value:
            return sympy().Integer(0)
        plain = name_of(name)
        found = sympy().Symbol(f"{plain}_0" if plain in self._taken else plain, real=True)
        self.values[found] = float(value)
        return found

    def array(self, name: str, values: Any) -> list[Expression]:
        """Symbols of all entries of a parameter, in order."""
        values = np.asarray(values, dtype=float)
        if values.ndim == 0:
            return [self.symbol(name, float(values))]
        places = np.ndindex(values.shape)
        return [self.symbol("_".join([name, *(str(i + 1) for i in at)]), float(values[at])) for at in places]


class Recorder:
    """Laws of an object as expressions, recorded at generic poses; ``prefix`` begins the names of its parameters."""

    def __init__(self, obj: Any, parameters: Parameters, prefix: str = ""):
        self.obj, self._parameters, self._prefix = obj, parameters, prefix
        # directions stay numbers: arrays without a unit
        declared, values = obj.declared_parameters, obj._values
        plain = {name for name, value in values.items() if np.ndim(value) and not declared[name].unit}
        self._layout: Layout = [(name, False) for name, value in values.items() if is_real(value) and name not in plain]
        self.conditions: list[Expression] = []

    def law(
        self, law: str, values: int, frames: Sequence[FramePose], q: Sequence, given: Sequence, place: tuple
    ) -> list[Expression]:
        """A law's values as expressions of frames (arrays of expressions), internal coordinates, and what is given.

        ``place`` has numbers for frames, internal coordinates and what is given, at which the law's conditions are answered;
        they join ``conditions``.  ModelError if the law cannot be recorded.
        """
        obj = self.obj
        shape = Shape(len(frames), len(q), values)
        row = np.concatenate([rows_of([place[:2]])[0], np.ravel(place[2])])
        try:
            with np.errstate(all="ignore"):
                found = Law(obj, law, shape, self._layout, row)
        except MseError:
            raise
        except Exception as error:  # compiled functions and others that take numbers alone raise anything
            said = error if isinstance(error, Unrecordable) else f"stops with {type(error).__name__}"
            raise ModelError(
                f"{obj.label}: its {law} cannot be written in symbols: it {said}; expected a law in plain numpy; give it as an "
                "energy, kinetic, dissipation or power of numpy's functions"
            ) from error
        inputs = [*(x for f in frames for x in f.o), *(x for f in frames for x in np.ravel(f.U)), *q, *given]
        for name, _ in self._layout:
            full = f"{self._prefix}.{name}" if self._prefix else name
            inputs += self._parameters.array(full, obj._values[name])
        guards = list(found.record.guards.items())
        out = expressions(found.record, inputs, [*found.values, *(node for node, _ in guards)])
        for condition, (_, answer) in zip(out[len(found.values) :], guards, strict=True):
            holds = condition if _is_condition(condition) else sympy().Ne(condition, 0)
            self.conditions.append(holds if answer else sympy().Not(holds))
        return out[: len(found.values)]


def expressions(record: Record, inputs: Sequence[Expression], nodes: Sequence[int]) -> list[Expression]:
    """Nodes of a record as expressions of its inputs."""
    sp = sympy()
    rules: dict[int, Callable] = {
        m.ADD: lambda a, b: a + b, m.SUBTRACT: lambda a, b: a - b, m.MULTIPLY: lambda a, b: a * b,
        MASK: lambda a, b: a * b, m.DIVIDE: lambda a, b: a / b, m.POWER: lambda a, b: a**b,
        m.ARCTAN2: sp.atan2, m.SQRT: sp.sqrt, m.ABSOLUTE: sp.Abs, m.SIGN: sp.sign, m.EXP: sp.exp, m.LOG: sp.log,
        m.EXPM1: lambda a: sp.exp(a) - 1, m.LOG1P: lambda a: sp.log(1 + a), m.SIN: sp.sin, m.COS: sp.cos, m.SINH: sp.sinh,
        m.COSH: sp.cosh, m.TANH: sp.tanh, m.LESS: sp.StrictLessThan, m.LESS_EQUAL: sp.LessThan, m.EQUAL: sp.Eq,
        m.ANGLE: lambda a, order: _angle(sp, a, int(order)),
    }  # fmt: skip
    found: dict[int, Expression] = {}
    for v in sorted(uses(record.nodes, nodes)):
        operation, a, b, c = record.nodes[v]
        if operation == INPUT:
            found[v] = inputs[a]
        elif operation == CONSTANT:
            found[v] = exact(record.constants[v])
        elif operation == m.SELECT:
            condition = found[a] if _is_condition(found[a]) else sp.Ne(found[a], 0)
            found[v] = sp.Piecewise((_number(sp, found[b]), condition), (_number(sp, found[c]), True))
        else:
            found[v] = rules[operation](*(_number(sp, found[p]) for p in operands(record.nodes[v])))
    return [found[v] for v in nodes]


def _is_condition(x: Expression) -> bool:
    logic = sympy().logic.boolalg
    return bool(x.is_Relational) or isinstance(x, logic.BooleanFunction | logic.BooleanAtom)


def _number(sp: ModuleType, x: Expression) -> Expression:
    """A condition as 1 or 0, as the machine has it."""
    return sp.Piecewise((1, x), (0, True)) if _is_condition(x) else x


def _angle(sp: ModuleType, a: Expression, order: int) -> Expression:
    c = sp.Dummy("c")
    return sp.diff(sp.acos(c) / sp.sqrt(1 - c**2), c, order).subs(c, a)


def evaluated(expressions: Sequence[Expression], values: Mapping[Expression, float]) -> np.ndarray:
    """Numbers (k,) of expressions at values of all their symbols."""
    sp = sympy()
    flat = {s: sp.Dummy() for s in values}
    given = [sp.sympify(x).xreplace(flat) for x in expressions]
    function = sp.lambdify(list(flat.values()), given, "numpy", cse=True)
    with np.errstate(all="ignore"):
        return np.array([float(x) for x in function(*values.values())])


# -- laws that are expressions -------------------------------------------------------------------------------------
def as_trees(who: str, coordinates: Any, laws: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Coordinates by name, with domain and unit, and laws as trees of :mod:`mse.elements.expression_trees`."""
    units = dict(coordinates) if isinstance(coordinates, Mapping) else {}
    expected = "SymPy's coordinates, [q], or a mapping from these, {q: mse.coordinate('q', unit='rad')}"
    symbols = _variables(who, "coordinates", units or coordinates, expected)
    states = mapping(who, "states", laws.get("states"), "rates by variable, {s: 20*(q - s)}")
    names = {q: _called(q) for q in symbols}
    if not names and not states:
        raise ModelError(f"{who}: no coordinates; expected at least one, such as coordinates=[dynamicsymbols('q')]")
    if len(set(names.values())) < len(symbols):
        raise ModelError(f"{who}: its coordinates are {', '.join(map(str, symbols))}; expected different names")
    given = {name: [GENERALIZED, ""] for name in names.values()}
    for x, kind in zip(symbols, units.values(), strict=False):
        kind = instance(
            who, f"coordinate {x}", kind, Coordinate, "one of mse.coordinate(), such as mse.coordinate('q', unit='rad')"
        )
        given[names[x]] = [kind.domain, kind.unit]
    rates = dict(zip(_variables(who, "states", states, "SymPy's variables"), states.values(), strict=True))
    trees: dict[str, Any] = {}
    both = names | {s: _called(s) for s in rates}
    for law, x in laws.items():
        put = functools.partial(_law, names=both, who=f"{who}: {law}")
        if law == "states":
            trees[law] = [[both[s], *_rate(who, s, given_rate, both)] for s, given_rate in rates.items()]
        elif law == "forces":
            forces = mapping(who, law, x, "forces by coordinate, {q: -c*q.diff()}")
            along = _variables(who, law, forces, "SymPy's coordinates")
            unknown = [str(q) for q in along if q not in names]
            if unknown:
                raise ModelError(f"{who}: forces are given on {unknown[0]}; expected coordinates: {', '.join(given)}")
            trees[law] = [
                [names[q], _law(force, both, f"{who}: force on {q}")]
                for q, force in zip(along, forces.values(), strict=True)
            ]
        elif law in ("constraints", "flow_constraints"):
            trees[law] = [put(one) for one in items(who, law, x, object, "a list of SymPy's expressions, [x + y]")]
        else:
            trees[law] = put(x)
    return given, trees


def _variables(who: str, what: str, given: Any, expected: str) -> list[Expression]:
    """Symbols and functions of time from a user; ModelError for all else."""
    found = []
    for one in items(who, what, list(given) if isinstance(given, Mapping) else given, object, expected):
        x = _sympified(one)
        if x is None or not (x.is_Symbol or x.is_Function):
            raise ModelError(f"{who}: {what} contain {shown(one)}; expected {expected}; take dynamicsymbols('q')")
        found.append(x)
    return found


def _called(variable: Expression) -> str:
    return str(variable.func) if variable.is_Function else str(variable)


def _sympified(given: Any) -> Expression | None:
    """What SymPy makes of an argument; None if that is no expression."""
    try:
        found = sympy().sympify(given, strict=True)  # a text would be run as Python code
    except Exception:  # of a user's own class, or a text
        return None
    return found if isinstance(found, sympy().Expr) else None


def _law(given: Any, names: Mapping[Expression, str], who: str) -> Any:
    """The tree of an expression from a user; ModelError for all else."""
    x = _sympified(given)
    if x is None:
        raise ModelError(f"{who} is {shown(given)}; expected an expression of SymPy, such as k*q**2/2")
    return _tree(x, names, who)


def _rate(who: str, state: Expression, given: Any, names: Mapping[Expression, str]) -> tuple[Any, list]:
    """The rate of a state, and its row of M."""
    what = f"{who}: rate of {names[state]}"
    row, rate = ({state: 1}, given) if not isinstance(given, tuple) else given if len(given) == 2 else (None, None)
    if not isinstance(row, Mapping):
        raise refusal(who, f"rate of {names[state]}", given, "an expression f, or ({s: m}, f) for a row of M s' = f")
    columns = _variables(who, f"row of {names[state]}", row, "states")
    masses = zip(columns, row.values(), strict=True)
    return _law(rate, names, what), [[names.get(s, str(s)), _law(m, names, what)] for s, m in masses]


def _tree(x: Expression, names: Mapping[Expression, str], who: str) -> Any:
    sp = sympy()
    put = functools.partial(_tree, names=names, who=who)
    if x in names:
        return names[x]
    if isinstance(x, sp.Derivative):
        if x.expr in names and x.derivative_count == 1:
            return f"{names[x.expr]}'"
        raise ModelError(
            f"{who} contains {x}; expected coordinates and their first derivatives; bring the law into a form with these"
        )
    if isinstance(x, sp.core.function.AppliedUndef):
        known = ", ".join(map(str, names))
        raise ModelError(f"{who} contains {x}; expected functions of its coordinates, {known}; add {x} to these")
    if x.is_Symbol:
        return str(x)
    if x.is_number and x.is_real:
        return int(x) if x.is_Integer else float(x)
    if x.is_Add or x.is_Mul:
        return ["+" if x.is_Add else "*", *map(put, x.args)]
    if x.is_Pow:
        base, power = x.args
        return ["sqrt", put(base)] if power == sp.Rational(1, 2) else ["**", put(base), put(power)]
    if isinstance(x, sp.exp):
        return ["exp", put(x.args[0])]
    if isinstance(x, sp.Piecewise):
        (value, condition), *rest = x.args
        return put(value) if condition == True else ["where", put(condition), put(value), put(sp.Piecewise(*rest))]  # noqa: E712
    operator = x.rel_op if x.is_Relational else type(x).__name__
    if operator in OPERATORS and OPERATORS[operator][1] == len(x.args):
        return [operator, *map(put, x.args)]
    raise ModelError(
        f"{who} contains {x}; expected sums, products, powers and the functions {', '.join(n for n in OPERATORS if n.isalpha())} "
        "of coordinates and parameters; rewrite it with these"
    )


def of_lagranges(name: str, method: Any) -> dict[str, Any]:
    """The arguments of a :class:`.SymbolicElement` from SymPy's ``LagrangesMethod``."""
    sp, who = sympy(), f"SymbolicElement {shown(name)}"
    instance(who, "method", method, mechanics().LagrangesMethod, "a LagrangesMethod of SymPy")
    t = mechanics().dynamicsymbols._t
    q, lagrangian = list(method.q), method._L[0]
    rates = [x.diff(t) for x in q]
    still = sp.sympify(lagrangian).xreplace(dict.fromkeys(rates, sp.Integer(0)))  # subs would compare all with all
    found: dict[str, Any] = {"coordinates": q, "T": lagrangian - still, "V": -still}
    loads = method.forcelist or ()
    if loads:
        forces = dict.fromkeys(q, sp.Integer(0))
        try:
            for where, load in loads:
                v = where.vel(method.inertial) if hasattr(where, "vel") else where.ang_vel_in(method.inertial)
                for x, rate in zip(q, rates, strict=True):
                    forces[x] += load.dot(v.diff(rate, method.inertial, var_in_dcm=False))
        except (TypeError, ValueError, AttributeError) as error:  # SymPy itself asks for these later
            raise ModelError(
                f"{who}: the forcelist of its LagrangesMethod has {shown(loads)}; expected vectors on points or frames whose "
                "velocities in frame= are known; give frame= and point.set_vel(frame, ...)"
            ) from error
        found["forces"] = forces
    positions, all_rows = list(method._hol_coneqs), list(method.coneqs)
    if positions:
        found["constraints"] = positions
    if all_rows[len(positions) :]:
        found["flow_constraints"] = all_rows[len(positions) :]
    return found


def of_kanes(name: str, method: Any) -> dict[str, Any]:
    """The arguments of a :class:`.SymbolicElement` from SymPy's ``KanesMethod``."""
    instance(f"SymbolicElement {shown(name)}", "method", method, mechanics().KanesMethod, "a KanesMethod of SymPy")
    try:
        mass, forcing = method.mass_matrix_full, method.forcing_full
    except (ValueError, AttributeError) as error:
        raise ModelError(
            f"SymbolicElement {name!r}: its KanesMethod has no equations ({error}); expected formed ones; call "
            "method.kanes_equations(bodies, loads) first"
        ) from error
    states = [*method.q, *method.u]
    rows = ({s: m for s, m in zip(states, mass.row(k), strict=True) if m != 0} for k in range(len(states)))
    return {"states": {s: (row, f) for s, row, f in zip(states, rows, forcing, strict=True)}}
