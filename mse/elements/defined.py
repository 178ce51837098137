"""Which members of the contract a class of mechanical objects defines, and what follows from that."""

from __future__ import annotations

import functools


class Defined:
    """Base of the class of mechanical objects; the members of that class are the defaults."""

    @classmethod
    @functools.cache
    def defines(cls, method: str) -> bool:
        """Whether this class overrides a member of the contract."""
        order = cls.__mro__
        return getattr(cls, method) is not getattr(order[order.index(Defined) - 1], method)

    @classmethod
    @functools.cache
    def exerts_forces(cls) -> bool:
        """Whether objects of this class exert forces at all (sensors and actuators exert none)."""
        return cls.constrains() or cls.has_energy() or cls.defines("power") or cls.carries()

    @classmethod
    @functools.cache
    def carries(cls) -> bool:
        """Whether objects of this class have laws of velocities that steady currents, or other flows, may pass."""
        names = cls.coordinate_names
        flows = isinstance(names, property) or any(getattr(name, "is_motion", True) is False for name in names)
        return flows and any(map(cls.defines, ("kinetic", "dissipation", "damping_matrix", "power")))

    @classmethod
    @functools.cache
    def has_field(cls) -> bool:
        """Whether the first part of the stiffness is that of a power, or of steady flows."""
        return cls.defines("power") or (cls.carries() and cls.defines("kinetic"))

    @classmethod
    @functools.cache
    def has_energy(cls) -> bool:
        """Whether objects of this class exert forces other than a power's and a constraint's."""
        return any(map(cls.defines, ("kernel", "energy", "gravity_energy", "evaluate", "forces", "stiffness_parts")))

    @property
    def without_energy(self) -> bool:
        """Whether forces of this object have no energy."""
        return not self.conservative or self.defines("power")

    @classmethod
    @functools.cache
    def constrains(cls) -> bool:
        """Whether objects of this class have a constraint, as joints do."""
        return any(map(cls.defines, ("constraint", "constraint_terms", "constraint_kernel")))

    @classmethod
    @functools.cache
    def has_mass(cls) -> bool:
        """Whether objects of this class may have mass."""
        return cls.defines("kinetic") or cls.defines("mass_matrix")

    @classmethod
    @functools.cache
    def has_damping(cls) -> bool:
        """Whether objects of this class may have damping, or gyroscopic couplings."""
        return any(map(cls.defines, ("dissipation", "power", "damping_matrix", "kinetic")))

    @classmethod
    @functools.cache
    def only_weighs(cls) -> bool:
        """Whether gravity is the only energy of objects of this class, as for rigid bodies."""
        elastic = cls.constrains() or any(map(cls.defines, ("energy", "power", "forces", "stiffness_parts")))
        return cls.defines("gravity_energy") and not elastic
