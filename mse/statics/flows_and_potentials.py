"""Steady flows and potentials of a working point, by name."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from ..elements.coordinates import EFFORT, flowing
from .forces import potentials
from .named import Named
from .tables import flow_table, port_table

if TYPE_CHECKING:
    import numpy as np

    from ..model.assembly import Assembly
    from ..model.topology import Topology


class OfCircuits:
    """What a working point has of circuits."""

    if TYPE_CHECKING:
        name: str
        multipliers: np.ndarray
        coordinate_names: tuple[str, ...]
        _assembly: Assembly
        _topology: Topology

    @cached_property
    def flows(self) -> Named[float]:
        """Steady rate of every charge, volume and the like by name, in A, m3/s ...: ``flows["coil.charge"]``."""
        names = self.coordinate_names[6 * (self._topology.units - 1) :]
        rates = zip(names, self._assembly.flows.tolist(), flowing(names), strict=True)
        found = {n: rate for n, rate, flows in rates if flows and n.domain != EFFORT}
        return Named("flow", found, partial(flow_table, self.name))

    @cached_property
    def potentials(self) -> Named[float]:
        """Effort at every port by name, ``potentials["coil.+"]``: V, Pa, K; zero at earth, and at open ports' own junctions.

        Multipliers of the junctions; :meth:`.MSystem.connect` says which junction is the reference of a part without earth.
        """
        return Named("port", potentials(self._assembly, self.multipliers), partial(port_table, self.name))
