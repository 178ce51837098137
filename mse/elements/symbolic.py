"""An element whose laws are SymPy expressions, kept as trees of operators and names, which are recorded as numpy code is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..errors import ModelError, nearest_name
from ..pose import Pose
from ..validation.arguments import mapping, shown
from .base import MObject, class_name
from .coordinates import Coordinate, coordinate, declared
from .expression_trees import checked, evaluated
from .parameters import Real

_SCALARS = ("T", "V", "D")
_LAWS = (*_SCALARS, "forces", "constraints", "flow_constraints")
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
        constraints: Any = (), flow_constraints: Any = (), parameters: Any = MappingProxyType({}),
        at: Pose | None = None, **given: Any,
    ):  # fmt: skip
        # laws are the class's already; a file gives values by name
        plain = {k: v for k, v in given.items() if k not in ("laws", "symbols")}
        super().__init__(name, at=at, **plain, **{str(symbol): value for symbol, value in parameters.items()})

    @classmethod
    def _of_options(cls, options: Mapping[str, Any]) -> type[MObject]:
        if options.keys() != {"coordinates", "laws", "symbols"}:
            raise ModelError(
                f"SymbolicElement: it has {', '.join(options) or 'no options'}; expected coordinates, laws and symbols"
            )
        return _made(options["coordinates"], options["laws"], tuple(options["symbols"]))

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

        return SymbolicElement(name, parameters=parameters, **of_lagranges(method))

    def options(self):
        coordinates = {str(c): [c.domain, c.unit] for c in declared(self)}
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
    laws = {law: given[law] for law in _LAWS if law in given}
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


def _defined(
    coordinates: Mapping[str, Any], laws: Mapping[str, Any], parameters: tuple[str, ...]
) -> type[SymbolicElement]:
    names = list(coordinates)

    def value(self, tree, q, v=()):
        known = dict(zip(names, q, strict=True)) | dict(zip((f"{n}'" for n in names), v, strict=False))
        return evaluated(tree, known | {p: getattr(self, p) for p in parameters})

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
    }
    kinds = tuple(Coordinate(name, *kind) for name, kind in coordinates.items())
    body = {
        "__module__": __name__,
        "__qualname__": "SymbolicElement",
        "coordinate_names": kinds,
        "_laws": dict(laws),
        "_symbols": parameters,
    }
    body |= {name: Real("of its laws") for name in parameters}
    new = type("SymbolicElement", (SymbolicElement,), body | dict(made[law] for law in laws))
    MObject.classes[class_name(SymbolicElement)] = SymbolicElement  # the one that files name
    return new
