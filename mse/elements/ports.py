"""Ports of internal coordinates, where :meth:`.MSystem.connect` joins charges, volumes and the like to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..elsewhere import Guided
from ..errors import UnknownNameError, nearest_name
from ..validation.arguments import shown
from .records import Channel

EARTH = "earth"  # the port of a system that is the reference of every domain


@dataclass(frozen=True, repr=False, eq=False)
class Port(Guided):
    """A port owned by an object, which :meth:`.MSystem.connect` joins to others of its domain."""

    owner: Any  # the MObject that has it, or for earth the system
    name: str
    domain: str

    @property
    def label(self) -> str:
        """``object.port`` by its path in the system, for messages."""
        return self.name if self.domain == "" else f"{self.owner.path}.{self.name}"

    def __repr__(self) -> str:
        return f"Port({self.label!r})"


class Way(NamedTuple):
    """How a port meets a coordinate of its object: the coordinate's number, and +1 where its rate flows in there, else -1."""

    coordinate: int
    sign: float
    domain: str


def ports_of(obj: Any) -> Iterator[tuple[str, Way]]:
    """The ports of an object, in the order of its coordinates.

    Parameters
    ----------
    obj : MObject
        Any object.

    Yields
    ------
    tuple of str and Way
        The name of each and what it meets.
    """
    for number, coordinate in enumerate(obj.coordinate_names):
        for name, sign in zip(getattr(coordinate, "ports", ()), (1.0, -1.0), strict=False):
            yield name, Way(number, sign, coordinate.domain)


def port_rates(obj: Any) -> dict[Channel, int]:
    """What flows through the ports of an object, such as its current, as outputs, and the numbers of its coordinates.

    Parameters
    ----------
    obj : MObject
        Any object.

    Returns
    -------
    dict
        Number of the coordinate of each output; without outputs whose names the object gives to others.
    """
    taken = (
        {channel.name for channel in obj.outputs} if any(getattr(c, "ports", ()) for c in obj.coordinate_names) else ()
    )
    found = {}
    for number, coordinate in enumerate(obj.coordinate_names):
        if getattr(coordinate, "ports", ()) and coordinate.flow_name not in taken:
            found[Channel(coordinate.flow_name, coordinate.flow_unit)] = number
    return found


def port_of(obj: Any, name: Any) -> Port:
    """The port of an object by name; UnknownNameError with the nearest one."""
    known = dict(ports_of(obj))
    if not isinstance(name, str) or name not in known:
        if isinstance(name, str) and name in obj.frame_names:
            there = "; this is a frame: frames are clamped, system.clamp(a, b)"
        else:
            there = nearest_name(name if isinstance(name, str) else "", known) if known else "; it has no ports"
        raise UnknownNameError(f"{obj.label}: no port {shown(name)}{there}")
    return Port(obj, name, known[name].domain)
