"""Loss factors and temperature of elements: parameters of every class that stores elastic energy or dissipates it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, nearest_name
from ..validation.arguments import real, shown
from .parameters import Parameter, Real, settled
from .records import LOADED

if TYPE_CHECKING:
    from .loss_laws import Factor

_STORING = ("energy", "evaluate", "stiffness_parts")  # laws of a class that may store elastic energy
_SAYING = {"mechanisms", "parts", "conservative", "external", *_STORING}  # what mechanisms follow from


class ByMechanism(Mapping[str, "Factor"]):
    """Loss factors by mechanism, which never change."""

    def __init__(self, factors: Mapping[str, Factor]):
        self._factors = dict(factors)

    def __getitem__(self, mechanism: str) -> Factor:
        return self._factors[mechanism]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factors)

    def __len__(self) -> int:
        return len(self._factors)

    def __repr__(self) -> str:
        return repr(self._factors)


class Loss(Parameter["Factor | ByMechanism", "LossGiven | Mapping[str, Any]"]):
    """A loss factor eta >= 0, which makes elastic stiffness complex, ``1 + i eta``: one number, or numbers by mechanism.

    In place of each number stands a law, if eta depends on frequency: samples (frequencies_hz, loss), a function of the
    frequencies in Hz, or one of :mod:`mse.elements.loss_laws`.  ``mechanisms`` are the mechanisms of its class; :func:`settle`
    sets them.  ``of_section`` says whether the class has a section, ``loss_section(tension)``, from which laws may follow.
    """

    kind = "loss factor"
    moves = False

    def __init__(
        self,
        description: str = "loss factor of its elastic stiffness",
        *,
        default: float = 0.0,
        of_section: bool = False,
    ):
        super().__init__(description, default=default)
        self.of_section = of_section
        self.mechanisms: tuple[str, ...] = ()
        self.usual = settled(default, minimum=0.0)

    def of(self, mechanisms: tuple[str, ...]) -> Loss:
        """The same parameter for a class with these mechanisms."""
        new = Loss(self.description, default=self.default, of_section=self.of_section)
        new.name, new.mechanisms = "loss", mechanisms
        return new

    def expectation(self) -> str:
        return f"a finite number of at least 0 or a law, or such by mechanism ({', '.join(groups(self.mechanisms))})"

    def checked(self, obj, value) -> Factor | ByMechanism:
        if isinstance(value, Mapping) and not isinstance(value.get("law"), str):
            known = groups(self.mechanisms)
            for name in value:
                if not isinstance(name, str) or name not in known:
                    raise self.refuse(
                        obj, value, f"{shown(name)} is no mechanism of it{nearest_name(str(name), known)}"
                    )
            return ByMechanism({name: self._one(obj, value, x, known[name]) for name, x in value.items()})
        return self._one(obj, value, value, None)

    def _one(self, obj, value, given, mechanisms: tuple[str, ...] | None) -> Factor:
        """The factor or law of some mechanisms, None for all of them."""
        factor = real(given, minimum=0.0)
        if factor is not None:
            return factor
        # imported here, since importing mse should not wait for laws; section_losses adds its laws to those that files may name
        from . import section_losses as section_losses
        from .loss_laws import NEGATIVE, as_law

        try:
            found = as_law(given)
        except ModelError as error:
            raise ModelError(f"{obj.label}: loss: {error}") from None
        if found is None:
            negative = real(given)
            raise self.refuse(obj, value, NEGATIVE if negative is not None and negative < 0.0 else "")
        if found.by_section:
            if not self.of_section:
                raise self.refuse(obj, value, "it has no section; give a law of the frequency alone, or use a beam")
            if not any(map(found.acts_on, mechanisms or self.mechanisms)):
                raise self.refuse(obj, value, f"{found:g} is of bending alone: stretch and twist lose nothing by it")
        return found


def as_data(value: Factor | ByMechanism) -> Any:
    """A loss as numbers and names, for files; ModelError for what none can hold."""
    if isinstance(value, ByMechanism):
        return {name: as_data(x) for name, x in value.items()}
    return value if isinstance(value, float) else value.data()


def temperature() -> Real:
    """The declaration of the temperature of an element."""
    return Real("temperature", unit="K", default=300.0, above=0.0)


def groups(mechanisms: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Mechanisms by what may name them: each by itself, and all that begin alike, such as bending_y, bending_z, as bending."""
    found = {name: (name,) for name in mechanisms}
    for name in mechanisms:
        stem = name.rpartition("_")[0]
        if stem and stem not in mechanisms:
            found[stem] = (*found.get(stem, ()), name)
    return found


def factors(value: Factor | ByMechanism, mechanisms: tuple[str, ...]) -> dict[str, Factor]:
    """The loss factor of each mechanism that has one, by the value of a parameter; single names go before groups."""
    if not isinstance(value, ByMechanism):
        return dict.fromkeys(mechanisms, value) if value else {}
    known, out = groups(mechanisms), {}
    for name in sorted(value, key=lambda name: name in mechanisms):
        out |= dict.fromkeys(known[name], value[name])
    return {name: out[name] for name in mechanisms if out.get(name)}


def settle(cls: type) -> None:
    """Give a class the parameters ``loss``, if it stores elastic energy, and ``temperature``, if it may lose any.

    A class with parameters of its own of these names keeps them.  Its mechanisms are its ``parts`` without the loads'; a class
    that is made of components names them itself.
    """
    last, *bases = (c for c in cls.__mro__ if vars(c).keys() & _SAYING)
    found = vars(last).get("_mechanisms_found", False)
    # a component says that it has no mechanisms: the object that it is a part of has the loss
    component = "mechanisms" in vars(last) and bool(bases) and not found
    if "mechanisms" not in vars(last):
        stores = cls.conservative is not False and not cls.external and any(map(cls.defines, _STORING))
        cls.mechanisms = (
            tuple(p for p in cls.parts if p not in LOADED) if stores and isinstance(cls.parts, tuple) else ()
        )
        cls._mechanisms_found = True
    damps = not component and any(map(cls.defines, ("dissipation", "damping_matrix", "dynamic_stiffness")))
    if (cls.mechanisms or damps) and getattr(cls, "temperature", None) is None:
        cls.temperature = temperature()
        cls.temperature.name = "temperature"
    if not cls.mechanisms:
        return
    known = getattr(cls, "loss", None)
    if known is None:
        cls.loss = Loss().of(cls.mechanisms)
    elif isinstance(known, Loss) and known.mechanisms != cls.mechanisms:
        cls.loss = known.of(cls.mechanisms)


def loses(cls: type) -> bool:
    """Whether objects of a class have loss factors."""
    return isinstance(getattr(cls, "loss", None), Loss)
