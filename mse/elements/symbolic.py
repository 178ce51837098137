"""An element whose laws are SymPy expressions, kept as trees of operators and names, which are recorded as numpy code is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..errors import ModelError, nearest_name
from ..pose import Pose
from ..validation.arguments import mapping, shown
from .base import MObject, class_name
from .coordinates import Coordinate, coordinate
from .expression_trees import checked, evaluated
from .parameters import Real

_SCALARS = ("T", "V", "D")
_LAWS = (*_SCALARS, "forces", "constraints", "flow_constraints", "states")
_REST = ("V", "constraints")  # which take no rates
_TAKEN = ("name", "at", "loss", "temperature")  # arguments of elements, besides the members of their class


class SymbolicElement(MObject):
    """Lagrange's equations of SymPy expressions: ``d/dt dT/dq' - dT/dq + dV/dq + dD/dq' = forces``.

    Expressions become laws like those of any element of one's own, without being turned into code.  Coordinates may be
    ``dynamicsymbols`` or functions of the same time; rates are their derivatives.

    Parameters
    ----------
    coordinates : sequence
        SymPy's coordinates q, or a mapping from these to coordinates of :func:`mse.coordinate`, which have units.
    T, V, D : expression
        Kinetic coenergy (J) of q and q', energy (J) of q, content (W) of q and q'.
    forces : mapping
        Forces without energy by coordinate, of q and q'.
    constraints : sequence of expression
        What is held at zero, of q.
    flow_constraints : sequence of expression
        What is held at zero, of q and linear in q'.
    states : mapping
        Rates of variables s by variable, ``{s: f}`` for ``s' = f``, of q, q' and s; or ``{s: ({s: m, ...}, f)}`` for rows of
        ``M s' = f``.  Forces may have states, too.
    parameters : mapping
        Values by symbol; they are parameters of the element.

    Raises
    ------
    ModelError
        An expression has symbols without values, second derivatives, or functions that no law takes.

    Examples
    --------
    >>> import sympy
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> q, (m, l, g) = dynamicsymbols("q"), sympy.symbols("m l g")
    >>> energies = {"T": m * l**2 * q.diff() ** 2 / 2, "V": -m * g * l * sympy.cos(q)}
    >>> values = {m: 2.0, l: 0.5, g: 9.81}
    >>> system = mse.MSystem("clock")
    >>> pendulum = system.add(mse.SymbolicElement("pendulum", coordinates=[q], parameters=values, **energies))
    >>> modes = system.find_working_point().linearize().modes()
    >>> f"{modes.frequencies_hz[0]:.6f} {np.sqrt(9.81 / 0.5) / (2 * np.pi):.6f}"
    '0.704968 0.704968'
    """

    frame_names = ()

    def __new__(cls, name: str, **given: Any):
        return super().__new__(cls if "_laws" in vars(cls) else _class_of(name, given), name)

    def __init__(
        self, name: str, *, coordinates: Any = (), T: Any = None, V: Any = None, D: Any = None, forces: Any = None,
        constraints: Any = (), flow_constraints: Any = (), states: Any = None, parameters: Any = MappingProxyType({}),
        at: Pose | None = None, **given: Any,
    ):  # fmt: skip
        # laws are the class's already; a file gives values by name
        plain = {k: v for k, v in given.items() if k not in ("laws", "symbols")}
        values = {str(symbol): value for symbol, value in (parameters or {}).items()}
        super().__init__(name, at=at, **plain, **values)

    @classmethod
    def _of_options(cls, options: Mapping[str, Any]) -> type[MObject]:
        # files leave out what is empty, such as coordinates where all are states
        if not {"laws"} <= options.keys() <= {"coordinates", "laws", "symbols"}:
            raise ModelError(
                f"SymbolicElement: it has {', '.join(options) or 'no options'}; expected coordinates, laws and symbols"
            )
        return _made(options.get("coordinates", {}), options["laws"], tuple(options.get("symbols", ())))

    @staticmethod
    def from_lagranges(name: str, method: Any, *, parameters: Mapping[Any, float]) -> SymbolicElement:
        """The element of SymPy's ``LagrangesMethod``: its Lagrangian, forces and constraints.

        Parameters
        ----------
        name : str
            Name within its system.
        method : sympy.physics.mechanics.LagrangesMethod
            The method; it need not have formed its equations.
        parameters : mapping
            Values by symbol.

        Returns
        -------
        SymbolicElement
            The element.
        """
        from .symbols import of_lagranges

        return SymbolicElement(name, parameters=parameters, **of_lagranges(name, method))

    @staticmethod
    def from_kanes(name: str, method: Any, *, parameters: Mapping[Any, float]) -> SymbolicElement:
        """The element of SymPy's ``KanesMethod``, whose coordinates and speeds are states with ``M s' = f``.

        Parameters
        ----------
        name : str
            Name within its system.
        method : sympy.physics.mechanics.KanesMethod
            The method, after ``kanes_equations``; speeds may depend on others, as in rolling.
        parameters : mapping
            Values by symbol.

        Returns
        -------
        SymbolicElement
            The element.

        Raises
        ------
        ModelError
            The method has not formed its equations.

        Examples
        --------
        >>> import sympy
        >>> from sympy.physics.mechanics import KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols
        >>> (x, v), (m, k), N, P = dynamicsymbols("x v"), sympy.symbols("m k"), ReferenceFrame("N"), Point("P")
        >>> P.set_vel(N, v * N.x)
        >>> method = KanesMethod(N, q_ind=[x], u_ind=[v], kd_eqs=[x.diff() - v])
        >>> method.kanes_equations([Particle("body", P, m)], [(P, -k * x * N.x)])
        (Matrix([[-k*x(t)]]), Matrix([[-m*Derivative(v(t), t)]]))
        >>> mse.SymbolicElement.from_kanes("oscillator", method, parameters={m: 2.0, k: 8.0}).state_names
        ('x', 'v')
        """
        from .symbols import of_kanes

        return SymbolicElement(name, parameters=parameters, **of_kanes(name, method))

    def options(self):
        coordinates = {name: list(kind) for name, kind in self._kinds.items()}
        return {"coordinates": coordinates, "laws": self._laws, "symbols": dict.fromkeys(self._symbols, "")}

    def __reduce__(self):
        return _again, (self.options(), dict(vars(self)))


def _again(options: Mapping[str, Any], state: dict) -> SymbolicElement:
    new = object.__new__(SymbolicElement._of_options(options))
    new.__dict__.update(state)
    return new


def _class_of(name: Any, given: Mapping[str, Any]) -> type[SymbolicElement]:
    """The class of an element for its laws; elements with the same laws share one."""
    who = f"SymbolicElement {shown(name)}"
    if "laws" in given:
        return SymbolicElement._of_options(
            {key: given[key] for key in ("coordinates", "laws", "symbols") if key in given}
        )
    known = {"coordinates", "parameters", *_LAWS}
    for key in given.keys() - known - {"at"}:
        raise ModelError(f"{who}: no argument {key!r}{nearest_name(key, sorted(known))}")
    from .symbols import as_trees

    parameters = mapping(who, "parameters", given.get("parameters", {}), "values by symbol, such as {m: 2.0}")
    laws = {law: given[law] for law in _LAWS if given.get(law) is not None}
    return _made(*as_trees(who, given.get("coordinates", ()), laws), tuple(map(str, parameters)), who)


def _made(
    coordinates: Mapping[str, Any], laws: Mapping[str, Any], parameters: tuple[str, ...], who: str = "SymbolicElement"
) -> type[SymbolicElement]:
    """The class for coordinates with their domains and units, trees of laws, and names of parameters."""
    names = list(coordinates)
    rates = [f"{name}'" for name in names]
    for name, kind in coordinates.items():
        if not (isinstance(kind, list) and len(kind) == 2):
            raise ModelError(f"{who}: coordinate {name} is of {shown(kind)}; expected its domain and its unit")
        coordinate(name, domain=kind[0], unit=kind[1] or None)
    for law, trees in laws.items():
        if law not in _LAWS:
            raise ModelError(
                f"{who}: no law {shown(law)}{nearest_name(law, _LAWS)}; expected some of {', '.join(_LAWS)}"
            )
        if law == "states":
            _check_states(trees, names, rates, parameters, who)
            continue
        pairs = law != "forces" or (isinstance(trees, list) and all(isinstance(x, list) and len(x) == 2 for x in trees))
        if not pairs or not (law in _SCALARS or isinstance(trees, list)):
            raise ModelError(
                f"{who}: {law} is {shown(trees)}; expected a list of expressions, of forces each with its coordinate"
            )
        if law == "forces" and (unknown := [x for x, _ in trees if x not in names]):
            raise ModelError(
                f"{who}: forces are given on {shown(unknown[0])}; expected coordinates: {', '.join(names)}"
            )
        here = [*names, *([] if law in _REST else rates), *parameters]
        here += [name for name, *_ in laws.get("states", ()) if law == "forces"]
        for tree in [trees] if law in _SCALARS else [tree for _, tree in trees] if law == "forces" else trees:
            checked(tree, here, f"{who}: {law}")
    for name in parameters:
        if name in names or name in _TAKEN or name.startswith("_") or hasattr(MObject, name):
            raise ModelError(
                f"{who}: the parameter {name} has a name that is taken; expected another; rename the symbol"
            )
    key = json.dumps([coordinates, laws, parameters], sort_keys=True)
    if key not in _CLASSES:
        _CLASSES[key] = _defined(coordinates, laws, parameters)
    return _CLASSES[key]


_CLASSES: dict[str, type[SymbolicElement]] = {}


def _check_states(trees: Any, names: Sequence[str], rates: Sequence[str], parameters: Sequence[str], who: str) -> None:
    """Refuse states that are no list of names, rates and rows of M, or whose trees have unknown names."""
    given = trees if isinstance(trees, list) else [None]
    if not all(
        isinstance(one, list) and len(one) == 3 and isinstance(one[0], str) and isinstance(one[2], list)
        for one in given
    ) or not all(isinstance(entry, list) and len(entry) == 2 for one in given for entry in one[2]):
        raise ModelError(
            f"{who}: states is {shown(trees)}; expected a list of a name, its rate, and its row of M, each"
        )
    states = [one[0] for one in trees]
    if len({*states, *names}) < len(states) + len(names):
        raise ModelError(
            f"{who}: its states and coordinates are {', '.join([*names, *states])}; expected different names"
        )
    known = [*names, *rates, *states, *parameters]
    for name, rate, row in trees:
        checked(rate, known, f"{who}: rate of {name}")
        for column, tree in row:
            checked(tree, known, f"{who}: row of {name}")
            if column not in states:
                raise ModelError(
                    f"{who}: the row of {name} has the rate of {shown(column)}; expected states: {', '.join(states)}"
                )


def _defined(
    coordinates: Mapping[str, Any], laws: Mapping[str, Any], parameters: tuple[str, ...]
) -> type[SymbolicElement]:
    names, states = list(coordinates), [name for name, *_ in laws.get("states", ())]
    rows = [{states.index(column): tree for column, tree in row} for *_, row in laws.get("states", ())]

    def of(self, q, v=()):
        known = dict(zip((*names, *states), q, strict=True)) | dict(zip((f"{n}'" for n in names), v, strict=False))
        return known | {p: getattr(self, p) for p in parameters}

    def value(self, tree, q, v=()):
        return evaluated(tree, of(self, q, v))

    def state_rates(self, frames, q, v, given):
        known = of(self, q, v)
        mass = [[evaluated(row[k], known) if k in row else 0.0 for k in range(len(states))] for row in rows]
        return mass, [evaluated(rate, known) for _, rate, _ in laws["states"]]

    def power(self, frames, q, v, given):
        return sum(value(self, tree, q, given.v) * v[names.index(n)] for n, tree in laws["forces"])

    made = {
        "V": ("energy", lambda self, frames, q: value(self, laws["V"], q)),
        "T": ("kinetic", lambda self, frames, q, v: value(self, laws["T"], q, v)),
        "D": ("dissipation", lambda self, frames, q, v: value(self, laws["D"], q, v)),
        "forces": ("power", power),
        "constraints": ("constraint", lambda self, frames, q: [value(self, x, q) for x in laws["constraints"]]),
        "flow_constraints": (
            "flow_constraint",
            lambda self, frames, q, v: [value(self, x, q, v) for x in laws["flow_constraints"]],
        ),
        "states": ("state_rates", state_rates),
    }
    kinds = tuple(Coordinate(name, *kind) for name, kind in coordinates.items())
    body = {
        "__module__": __name__,
        "__qualname__": "SymbolicElement",
        "coordinate_names": kinds,
        "state_names": tuple(states),
        "_kinds": dict(coordinates),
        "_laws": dict(laws),
        "_symbols": parameters,
    }
    body |= {name: Real("of its laws") for name in parameters}
    new = type("SymbolicElement", (SymbolicElement,), body | dict(made[law] for law in laws))
    MObject.classes[class_name(SymbolicElement)] = SymbolicElement  # the one that files name
    return new
