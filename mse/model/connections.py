"""Connections of ports within a system: who joins what to what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..elements.base import MObject
from ..elements.frame import Frame, Place
from ..elements.ports import EARTH, Port, ports_of
from ..errors import ModelError, UnknownNameError
from ..validation.arguments import shown


class Connected:
    """Base of systems: what they need to connect ports."""

    if TYPE_CHECKING:
        label: str
        _connections: list[tuple[Port, ...]]

        def __getitem__(self, path: str) -> MObject: ...

    def connect(self, *ports: Port | str) -> None:
        """Join ports: their efforts, such as potentials, are equal, and what flows into them adds up to zero.

        Parameters
        ----------
        *ports : Port or str
            Two or more of one domain, as objects, ``coil.port("+")``, or by name, ``"coil.+"``.  With :attr:`earth` among them
            their effort is zero.  Ports that several calls share belong to one junction.

        Raises
        ------
        ModelError
            An argument is no port of this system, or they are fewer than two or of several domains.

        Examples
        --------
        >>> system = mse.MSystem("divider")
        >>> source = system.add(mse.VoltageSource("source", voltage=9.0))
        >>> upper = system.add(mse.Capacitor("upper", capacitance=1e-6))
        >>> lower = system.add(mse.Capacitor("lower", capacitance=2e-6))
        >>> system.connect(source.port("+"), upper.port("+"))
        >>> system.connect(upper.port("-"), lower.port("+"))
        >>> system.connect(lower.port("-"), source.port("-"), system.earth)
        >>> f"{system.find_working_point().potentials['lower.+']:.6f} V"
        '3.000000 V'
        """
        self._connections.append(_connected(self, ports))

    @property
    def earth(self) -> Port:
        """The port at zero effort in every domain: 0 V, ambient pressure, 0 K; the same one in all systems."""
        return Port(self, EARTH, "")

    def port(self, name: str) -> Port:
        """A port by name, at any depth: ``system.port("drive.coil.+")``.

        Parameters
        ----------
        name : str
            Path of the object and name of the port, or ``"earth"``.

        Returns
        -------
        Port
            The port.

        Raises
        ------
        UnknownNameError
            There is no such port; the message offers the nearest name.
        """
        if name == EARTH:
            return self.earth
        if isinstance(name, str) and "." in name:
            head, _, own = name.rpartition(".")
            return self[head].port(own)
        raise UnknownNameError(
            f"{self.label}: no port {shown(name)}; expected 'earth', or an object's port such as 'coil.+'"
        )

    @property
    def connections(self) -> tuple[tuple[Port, ...], ...]:
        """The ports joined by each :meth:`connect` of this system itself, in order."""
        return tuple(self._connections)


def _connected(system: Any, given: Sequence[Any]) -> tuple[Port, ...]:
    """The ports of a call of connect(), or a ModelError that says what is wrong with them."""
    ports = tuple(_own_port(system, port) for port in given)
    different = dict.fromkeys((id(p.owner) if p.domain else 0, p.name) for p in ports)
    if len(different) < 2:
        got = ", ".join(p.label for p in ports) or "nothing"
        raise ModelError(f"{system.label}: connect() got {got}; expected two different ports or more")
    domains: dict[str, Port] = {}
    for port in ports:
        if port.domain:
            domains.setdefault(port.domain, port)
    if len(domains) > 1:
        told = " and ".join(f"{port.label!r} (domain {domain})" for domain, port in domains.items())
        raise ModelError(
            f"{system.label}: connect() got {told}; expected ports of one domain; an object with ports of both, such as a "
            "transducer, goes between them"
        )
    return ports


def _own_port(system: Any, given: Any) -> Port:
    if isinstance(given, str):
        return system.port(given)
    if isinstance(given, Frame | Place):
        frame = given.frame if isinstance(given, Place) else given
        raise ModelError(
            f"{system.label}: connect() got the frame {frame.label!r}; expected ports, such as coil.port('+'); frames are "
            "clamped: use clamp()"
        )
    if not isinstance(given, Port):
        if isinstance(given, MObject):
            ports = [name for name, _ in ports_of(given)]
            some = f"one of its ports, such as {given.name}.port({ports[0]!r})" if ports else "a port, and it has none"
            raise ModelError(f"{system.label}: connect() got {given.label} itself; expected {some}")
        raise ModelError(f"{system.label}: connect() got {shown(given)}; expected ports, such as coil.port('+')")
    if given.domain == "":
        return Port(system, EARTH, "")
    owner = given.owner
    while owner is not None and owner is not system:
        owner = owner.system
    if owner is None:
        raise ModelError(
            f"{system.label}: port {given.label!r} belongs to an object that is not in the system; expected one that is; add() "
            "it first"
        )
    return given
