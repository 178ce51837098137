"""Systems wired by the names of their nodes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import mse


def wired(
    system: mse.MSystem, *branches: tuple[Any, str, str], further: Mapping[str, list] = MappingProxyType({})
) -> mse.MSystem:
    """Add branches (object, from node, to node) between named nodes; "0" is earth, and ``further`` ports by node."""
    nodes = {"0": [system.earth]}
    for node, ports in further.items():
        nodes.setdefault(node, []).extend(ports)
    for obj, a, b in branches:
        if obj.system is None:
            system.add(obj)
        nodes.setdefault(a, []).append(obj.port("+"))
        nodes.setdefault(b, []).append(obj.port("-"))
    for ports in nodes.values():
        if len(ports) > 1:
            system.connect(*ports)
    return system
