"""What a working point says of its stability, by its stiffness, or by eigenvalues where that does not decide."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..numerics.options import SIZES
from .stability import Growth, Motion, Motions, Stability

if TYPE_CHECKING:
    from ..model.assembly import Assembly
    from ..model.topology import Topology


T = TypeVar("T")


class Asked(Generic[T]):
    """What is found when it is first asked for, and ``known`` from then on."""

    def __init__(self, find: Callable[[], T]):
        self._find, self.known = find, False

    @cached_property
    def found(self) -> T:
        """What ``find`` gives."""
        found = self._find()
        self.known = True
        return found


class Judged:
    """The stability of a working point: what it derives from."""

    if TYPE_CHECKING:
        converged: bool
        _assembly: Assembly
        _topology: Topology
        _sorted: Stability

        def linearize(self) -> Any: ...

    @property
    def stable(self) -> bool:
        """Whether no motion grows; zero-stiffness motions, and those of which that is not determined, do not count.

        That is whether the energy has a minimum.  Where forces have no energy, eigenvalues of the linear model decide it.
        """
        return self.converged and not self.unstable and not self.undecided

    @property
    def held(self) -> bool:
        """Whether the stiffness alone holds this equilibrium, whatever else spins or is damped."""
        return self.converged and not self._sorted.negative_motions.shape[1]

    @property
    def judged(self) -> bool:
        """Whether stability is known without a long calculation: by the stiffness, of few coordinates, or asked for before."""
        small = self._topology.size <= SIZES.dense_modes
        return not self._by_eigenvalues or small or self._growth.known

    @property
    def undecided(self) -> str:
        """Why stability is not known, such as frequencies that only exact members have; empty where it is."""
        return self._growth.found.reason if self._by_eigenvalues else ""

    @property
    def beyond(self) -> str:
        """What is known of the growth of motions that are too many to be looked at one by one; empty where all were."""
        return self._growth.found.beyond if self._by_eigenvalues else ""

    @property
    def free(self) -> Motions:
        """Zero-stiffness motions, each made when it is read."""
        return self._growth.found.free if self._by_eigenvalues else self._sorted.free

    @property
    def cyclic(self) -> Motions:
        """Flows of charges, volumes and the like that store no energy, in the same form; they are no free motions."""
        return self._sorted.flows

    @property
    def unstable(self) -> tuple[Motion, ...]:
        """Directions of negative curvature; where forces have no energy, motions that grow, each with its rate and frequency."""
        return self._growth.found.unstable if self._by_eigenvalues else self._sorted.unstable

    @property
    def undetermined(self) -> tuple[Motion, ...]:
        """Motions with so little curvature, or growth, that rounding may have made it: its sign is not determined.

        Of very many, such as those of a long soft chain, these are some; the printed working point has the number of others.
        """
        return self._growth.found.undetermined if self._by_eigenvalues else self._sorted.undetermined

    @cached_property
    def _by_eigenvalues(self) -> bool:
        """Whether the stiffness alone does not decide stability: forces have no energy, or spins may hold what would fall.

        So may steady currents, which a loop without resistance changes to keep its flux.
        """
        held = self._topology.may_spin or self._assembly.flows.any()
        return self.converged and (not self._topology.conservative or (bool(self._sorted.unstable) and held))

    @cached_property
    def _growth(self) -> Asked[Growth]:
        """The same motions by eigenvalues of the linear model."""
        return Asked(lambda: self.linearize().growth)
