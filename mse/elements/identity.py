"""What identifies an object apart from its mechanics: name and place in a system, parameters, copies, its table and equations."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from ..display import Table
from ..elsewhere import Guided
from ..pose import Pose
from ..validation.arguments import new_name
from .parameters import Declared, Parameters, argument
from .ports import Port, port_of

if TYPE_CHECKING:
    from ..tools.equations import SymbolicEquations


class Identified(Declared, Guided):
    """Base of mechanical objects with what systems, files and tables need of them."""

    _has_functions: ClassVar[bool] = False  # whether parameters may be functions
    _remembered: ClassVar[frozenset[str]] = frozenset()  # cached attributes, which follow from the others
    if TYPE_CHECKING:  # for type checkers and editors
        name: Final[str] = argument(kw_only=False)
        at: Pose | None = argument(default=None)
        system: Any = argument(init=False)

    if not TYPE_CHECKING:

        @property
        def name(self) -> str:
            """Name given at construction; :meth:`copy` makes an object with another name."""
            return self._name

    @property
    def label(self) -> str:
        """Class and name for messages: ``Spring 'wire'``."""
        return f"{type(self).__name__} {self.path!r}"

    @property
    def path(self) -> str:
        """Name within the outermost system, with the names of the subsystems in front: ``upper.mass``."""
        owner = self.system
        if owner is None or owner.system is None:
            return self.name
        return f"{owner.path}.{self.name}"

    def options(self) -> dict[str, Mapping[str, Any]]:
        """Arguments of its constructor besides name, pose and parameters: mappings from names to poses or numbers."""
        return {}

    @classmethod
    def _of_options(cls, options: Mapping[str, Any]) -> type:
        """The class of objects made with these :meth:`options`, if it depends on them."""
        return cls

    def port(self, name: str) -> Port:
        """One of the ports of its internal coordinates.

        Parameters
        ----------
        name : str
            Name of the port.

        Returns
        -------
        Port
            The port, for :meth:`.MSystem.connect`.

        Raises
        ------
        UnknownNameError
            There is no such port; the message offers the nearest name.

        Examples
        --------
        >>> mse.Resistor("load", resistance=8.0).port("+")
        Port('load.+')
        """
        return port_of(self, name)

    @property
    def parameters(self) -> Parameters:
        """All parameters as a mapping by name; shows itself as a table."""
        return Parameters(self)

    def copy(self, name: str) -> Self:
        """An independent object of the same class, parameters and initial pose, under another name.

        Parameters
        ----------
        name : str
            Name of the copy.

        Returns
        -------
        MObject
            An object of no system.
        """
        new = self._snapshot()
        new.system, new._name = None, new_name(self.label, "copy's name", name)
        return new

    def equations(self) -> SymbolicEquations:
        """Its laws in symbols (extra ``symbols``): forces on its frames, or equations of motion if it has no frames.

        They come from the record of its laws.  At a random point they are compared with the forces that mse computes.

        Returns
        -------
        SymbolicEquations
            ``expressions`` by coordinate, and the energies T, V and D; a notebook shows them, ``latex()`` is their source.

        Raises
        ------
        ModelError
            Its law has no formula, or deviates from its record.
        MissingPackageError
            SymPy is not installed.

        Examples
        --------
        >>> spring = mse.Spring("spring", length=0.5, stiffness=1e3)
        >>> sorted(str(symbol) for symbol in spring.equations().parameters)
        ['length', 'stiffness']
        """
        from ..tools.equations import of_element

        return of_element(self)

    def _snapshot(self):
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def _differs_from(self, snapshot: Identified) -> bool:
        """Whether this object may have changed since a snapshot of it was taken."""
        own, then = self.__dict__, snapshot.__dict__
        # values are replaced, never changed in place, but functions may give other values than before
        if self._has_functions and any(map(callable, self._values.values())):
            return True
        if own.keys() == then.keys() and all(map(is_, own.values(), then.values())):
            return False
        return any(own.get(key) is not then.get(key) for key in (own.keys() | then.keys()) - self._remembered)

    def _table(self) -> Table:
        """The table that shows the object."""
        return self.parameters.table()

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()
