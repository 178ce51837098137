"""Internal coordinates of elements: names that know their unit, domain and size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..declared import entry
from ..display import Column, Table
from ..errors import ModelError, nearest_name
from ..validation.arguments import called, real, refusal, shown
from .definitions import of_mse

if TYPE_CHECKING:
    from ..saved import Reader, Record


class Domain(NamedTuple):
    """Units of a displacement, its rate, and the effort that works along it; effort times rate is a power in W.

    ``words`` name a displacement and its rate.
    """

    unit: str
    flow: str
    effort: str
    words: tuple[str, str] = ("", "")


DOMAINS = {
    "translation": Domain("m", "m/s", "N"),
    "rotation": Domain("rad", "rad/s", "N m"),
    "electric": Domain("C", "A", "V", ("charge", "current")),
    "fluid": Domain("m3", "m3/s", "Pa", ("volume", "flow")),
    "thermal": Domain("J/K", "W/K", "K", ("entropy", "entropy_flow")),
    "magnetic": Domain("Wb", "V", "A"),
}
GENERALIZED = "generalized"  # coordinates with a unit of their own, such as amplitudes of shapes
EFFORT = "effort"  # of variables that follow from others without a rate, see ``effort_constraint``
_AXES = ("x", "y", "z", "ax", "ay", "az")
_BY_UNIT = {domain.unit: name for name, domain in DOMAINS.items()}
# in these domains a coordinate without stiffness is a motion, not a flow that stores nothing
_OF_MOTION = ("translation", "rotation", GENERALIZED)

Size = float | Callable[[Any], float] | None


class Coordinate(str):
    """The name of an internal coordinate with its unit, domain and size; made by :func:`mse.coordinate`.

    Attributes
    ----------
    domain : str
        What it is a displacement in: "translation", "rotation", "electric", "fluid", "thermal", "magnetic" or "generalized".
    unit : str
        Its SI unit; empty where it is not known.
    size : float, callable or None
        By how much it usually changes, in its unit, or a function of the element that gives that; None where it follows from
        the law.
    ports : tuple of str
        What flows in at the first leaves at the second, of one port alone at earth.  Empty if nothing can be connected to it.

    Examples
    --------
    >>> charge = mse.coordinate("charge", unit="C")
    >>> charge, charge.domain, charge.flow_unit, charge.effort_unit
    ('charge', 'electric', 'A', 'V')
    """

    domain: str
    unit: str
    size: Size
    ports: tuple[str, ...]

    def __new__(cls, name: str, domain: str, unit: str, size: Size = None, ports: tuple[str, ...] = ()):
        new = super().__new__(cls, name)
        new.domain, new.unit, new.size, new.ports = domain, unit, size, ports
        return new

    def __getnewargs__(self):
        return str(self), self.domain, self.unit, self.size, self.ports

    @property
    def flow_unit(self) -> str:
        """Unit of its rate."""
        known = DOMAINS.get(self.domain)
        return known.flow if known else f"{self.unit or '1'}/s"

    @property
    def flow_name(self) -> str:
        """Name of its rate: ``current`` of ``charge``, ``current1`` of ``charge1``, ``flow`` of ``volume``, else ``name'``."""
        known = DOMAINS.get(self.domain)
        word, rate = known.words if known else ("", "")
        return self.replace(word, rate) if word and word in self else f"{self}'"

    @property
    def effort_unit(self) -> str:
        """Unit of the effort along it (energy per displacement); empty if its own unit is unknown."""
        known = DOMAINS.get(self.domain)
        return known.effort if known else f"J/({self.unit})" if self.unit else ""

    @property
    def is_motion(self) -> bool:
        """Whether something moves with it; charges and volumes only flow."""
        return self.domain in _OF_MOTION

    def of(self, path: str) -> Coordinate:
        """The same coordinate as part of the object at a path, without a size.

        Parameters
        ----------
        path : str
            Names of the object and of the systems that it is in.

        Returns
        -------
        Coordinate
            ``path.name``.
        """
        return Coordinate(f"{path}.{self}", self.domain, self.unit)


def coordinate(
    name: str,
    *,
    unit: str | None = None,
    domain: str | None = None,
    size: Size = None,
    ports: Sequence[str] = (),
) -> Coordinate:
    """Declare an internal coordinate of an element, for its ``coordinate_names``: a name with unit, domain and size.

    Unit and domain follow from each other, so one of them is enough.  The size of a coordinate counts as much as a displacement
    by the size of the whole model.  Without a size it counts by its stiffness where the search begins.

    Parameters
    ----------
    name : str
        Name within its object.
    unit : str, optional
        SI unit: "m", "rad", "C", "m3", "J/K" or "Wb"; any for the domain "generalized".
    domain : str, optional
        "translation", "rotation", "electric", "fluid", "thermal", "magnetic", or "generalized" for a unit of its own.
    size : float or callable, optional
        By how much it usually changes, in its unit, or a function of the element that gives that.
    ports : sequence of str, optional
        Names of its one or two ports, which :meth:`.MSystem.connect` joins to others: what flows in at the first leaves at the
        second.  What flows in at a single port goes to earth.

    Returns
    -------
    Coordinate
        The name.

    Raises
    ------
    ModelError
        Unit and domain contradict each other or are unknown, the size is not positive, or there are other ports than one or two.

    Examples
    --------
    >>> class Capacitor(mse.MObject):
    ...     frame_names = ()
    ...     coordinate_names = (mse.coordinate("charge", unit="C", size=lambda self: 1e-12),)
    ...     def energy(self, frames, q):
    ...         return 0.5 * q[0] ** 2 / 4e-14 - 10.0 * q[0]
    >>> system = mse.MSystem("circuit")
    >>> capacitor = system.add(Capacitor("capacitor"))
    >>> f"{system.find_working_point().internal['capacitor.charge']:.3g} C"
    '4e-13 C'
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise refusal("coordinate()", "name", name, "a name that is not blank and can be shown")
    who = f"coordinate {name!r}"
    if unit is None and domain is None:
        raise ModelError(
            f"{who}: neither unit nor domain is given; expected one of them, from which the other follows; write unit='m' for "
            "a length"
        )
    if domain is not None and domain not in DOMAINS and domain != GENERALIZED:
        known = [*DOMAINS, GENERALIZED]
        raise ModelError(
            f"{who}: domain {shown(domain)} is not known; expected one of {', '.join(known)}{_nearest(domain, known)}"
        )
    if unit is not None and (not isinstance(unit, str) or not unit.strip()):
        raise ModelError(f"{who}: unit is {shown(unit)}; expected a word such as 'C'")
    if domain is None:
        if unit not in _BY_UNIT:
            units = ", ".join(f"{d.unit} ({n})" for n, d in DOMAINS.items())
            raise ModelError(
                f"{who}: unit {shown(unit)} belongs to no domain; expected one of {units}; convert to SI units, or "
                "give domain='generalized' if the coordinate has a unit of its own"
            )
        domain = _BY_UNIT[unit]
    elif domain in DOMAINS and unit not in (None, DOMAINS[domain].unit):
        raise ModelError(
            f"{who}: unit {shown(unit)} and domain {domain!r} contradict each other; expected {DOMAINS[domain].unit!r}, the "
            "unit of that domain; leave one of them out"
        )
    if size is not None and not callable(size):
        size = _positive(who, size)
    return Coordinate(
        name, domain, unit or (DOMAINS[domain].unit if domain in DOMAINS else ""), size, _ports(who, ports)
    )


def _ports(who: str, ports: Any) -> tuple[str, ...]:
    found = () if isinstance(ports, str) else tuple(ports)
    named = all(isinstance(name, str) and name.strip() and name.isprintable() and "." not in name for name in found)
    if isinstance(ports, str) or not named or len(found) > 2 or len(set(found)) < len(found):
        raise ModelError(
            f"{who}: ports is {shown(ports)}; expected one name or two different ones without '.', such as ports=('+', '-')"
        )
    return found


def _nearest(word: Any, known: Sequence[str]) -> str:
    return nearest_name(word, known) if isinstance(word, str) else ""


def declared(obj: Any) -> tuple[Coordinate, ...]:
    """The internal coordinates of an object; plain names are lengths, or in mse's own classes coordinates without a unit.

    Parameters
    ----------
    obj : MObject
        Any object.

    Returns
    -------
    tuple of Coordinate
        As many as its ``coordinate_names``.
    """
    domain, unit = (GENERALIZED, "") if of_mse(type(obj)) else ("translation", "m")
    names = obj.coordinate_names
    return tuple(c if isinstance(c, Coordinate) else Coordinate(c, domain, unit) for c in names)


def undeclared(obj: Any) -> str:
    """The note on internal coordinates of an object declared as plain names; "" if there are none."""
    plain = [c for c in obj.coordinate_names if not isinstance(c, Coordinate)]
    if not plain or of_mse(type(obj)):
        return ""
    what, whose = ("a length", "its unit") if len(plain) == 1 else ("lengths", "their units")
    return (
        f"took {' and '.join(plain)} of {type(obj).__name__} for {what} in meters; declare {whose}, such as "
        f"mse.coordinate({plain[0]!r}, unit='C')"
    )


def full_names(obj: Any, path: str) -> list[str]:
    """Names of an object's internal coordinates with its path; they know their units if declared."""
    return [c.of(path) if c.unit else f"{path}.{c}" for c in declared(obj)]


def unit_of(name: str) -> str:
    """The unit of a model's coordinate by its name: as declared, m or rad for a frame's coordinate, or "" if unknown."""
    if isinstance(name, Coordinate):
        return name.unit
    axis = name.rpartition(".")[2]
    return "m" if axis in _AXES[:3] else "rad" if axis in _AXES[3:] else ""


def flowing(names: Sequence[str]) -> np.ndarray:
    """Which coordinates (n,) of a model flow, such as charges and volumes, so that nothing moves with them."""
    if not _declared(names):
        return np.zeros(len(names), dtype=bool)
    return np.array([isinstance(name, Coordinate) and not name.is_motion for name in names], dtype=bool)


def kinds(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Domains and units of coordinates, as files store them; "" if a name has none."""
    known = [name if isinstance(name, Coordinate) else Coordinate(name, "", "") for name in names]
    return [c.domain for c in known], [c.unit for c in known]


def with_kinds(names: Sequence[str], domains: Sequence[str], units: Sequence[str]) -> tuple[str, ...]:
    """The names of coordinates with kinds from :func:`kinds`; ModelError if a domain is unknown or has another unit."""

    def one(name: str, domain: str, unit: str) -> str:
        if domain == EFFORT:  # which no user can give
            return Coordinate(name, domain, unit)
        return coordinate(name, domain=domain, unit=unit or None) if domain else name

    return tuple(one(*given) for given in zip(names, domains, units, strict=True))


class _Coordinates:
    """How files store names of coordinates and their kinds."""

    early = True

    def put(self, record: Record, key: str, value: Sequence[str]) -> None:
        record.names(key, value)
        domains, units = kinds(value)
        if any(domains):
            record.put(domains=domains, coordinate_units=units)

    def take(self, reader: Reader, key: str, found: Mapping[str, Any]) -> tuple[str, ...]:
        names = reader.names(key, "coordinate")
        if not reader.has("domains"):
            return names
        try:
            return with_kinds(names, *(reader.names(key, "coordinate") for key in ("domains", "coordinate_units")))
        except ModelError as error:
            raise reader.damaged("the list 'domains'", f"is wrong ({error})", "known ones") from None


def coordinates_field() -> Any:
    """A field of a result with the names of its coordinates."""
    return entry(_Coordinates(), "coordinate", label="coordinate")


def coordinates_table(
    title: str, names: Sequence[str], values: Mapping[str | Column, Sequence], **options: Any
) -> Table:
    """A table of coordinates of a model with values (n,) by column, and their units if some do not belong to frames."""
    columns = {"coordinate": names, **values}
    if any(isinstance(name, Coordinate) for name in names):
        columns["unit"] = [unit_of(name) for name in names]
    return Table(title, columns, zip(*columns.values(), strict=True), **options)


def channel_units(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Units of efforts and displacements along coordinates of given matrices: N and m if not declared."""
    if not _declared(names):
        return ("N",) * len(names), ("m",) * len(names)
    found = [name if isinstance(name, Coordinate) else Coordinate(name, "translation", "m") for name in names]
    return tuple(c.effort_unit for c in found), tuple(c.unit for c in found)


def _declared(names: Sequence[str]) -> bool:
    """Whether any name knows its unit; models have too many names to ask each one."""
    return any(issubclass(kind, Coordinate) for kind in set(map(type, names)))


def effort_unit_of(name: str) -> str:
    """The unit of the force along a model's coordinate, by its name; "" if unknown."""
    if isinstance(name, Coordinate):
        return name.effort_unit
    return {"m": "N", "rad": "N m", "": ""}[unit_of(name)]


def size_of(coordinate: Coordinate, obj: Any) -> float | None:
    """The declared size of a coordinate of an object, in its unit; None if there is none.

    Raises ModelError if a function gives no positive number.
    """
    if not callable(coordinate.size):
        return coordinate.size
    usage = "size(element)"
    found = called(obj.label, f"the size of its coordinate {str(coordinate)!r}", usage, coordinate.size, obj)
    return _positive(f"{obj.label}, coordinate {str(coordinate)!r}", found)


def refuse_names(cls: type) -> None:
    """TypeError if a class has internal coordinates with invalid names, or two with the same name."""
    names = vars(cls).get("coordinate_names", ())
    if isinstance(names, str):
        raise TypeError(
            f"class {cls.__name__}: coordinate_names is {shown(names)}; expected a tuple of names; write ({names!r},)"
        )
    if not isinstance(names, tuple | list):
        return  # names depend on the object
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or "." in name:
            raise TypeError(
                f"class {cls.__name__}: coordinate_names hold {shown(name)}; expected names without '.', or coordinates made by "
                "mse.coordinate('charge', unit='C')"
            )
    double = sorted({str(name) for name in names if list(names).count(name) > 1})
    if double:
        units = [shown(name.unit) for name in names if name == double[0] and isinstance(name, Coordinate)]
        told = f" with units {' and '.join(units)}" if len(set(units)) > 1 else ""
        raise TypeError(
            f"class {cls.__name__}: two coordinates are named {double[0]!r}{told}; expected different names; rename one"
        )
    ports = [port for name in names if isinstance(name, Coordinate) for port in name.ports]
    if twice := sorted({port for port in ports if ports.count(port) > 1}):
        raise TypeError(f"class {cls.__name__}: two ports are named {twice[0]!r}; expected different names; rename one")


def refuse_clash(who: str, one: str, other: str) -> None:
    """ModelError if two coordinates of the same name have different units."""
    if one is other:
        return
    units = unit_of(one), unit_of(other)
    if all(units) and units[0] != units[1]:
        raise ModelError(
            f"{who}: coordinate {str(one)!r} has the unit {units[0]} in one model and {units[1]} in another; expected one "
            "unit; rename one of them"
        )


def _positive(who: str, size: Any) -> float:
    found = real(size)
    if found is None or not 0.0 < found < float("inf"):
        raise ModelError(
            f"{who}: its size is {shown(size)}; expected a positive number in its unit; leave it out if it may follow "
            "from the law"
        )
    return found
