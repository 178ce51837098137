"""Checks of classes of mechanical objects: names of the contract, kernels that still apply, parameters by name."""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
import types
from collections.abc import Iterator, Sequence

from ..errors import ModelError
from ..validation.arguments import shown
from .docstrings import required_first
from .parameters import Parameter
from .records import FIELD, GEOMETRIC

# Names that a subclass may define; a near miss of one of these is a misspelling, not a new method.
CONTRACT = (
    "energy",
    "evaluate",
    "gravity_energy",
    "forces",
    "stiffness_parts",
    "elastic_parts",
    "kinetic",
    "dissipation",
    "power",
    "flow_constraint",
    "mass_matrix",
    "damping_matrix",
    "input_map",
    "output_map",
    "measure",
    "fixed_frames",
    "end_frames",
    "span",
    "cautions",
    "outline",
    "components",
    "element_count",
    "rest_poses",
    "softened",
    "dynamic_stiffness",
    "clamped_count",
    "dynamic_losses",
    "dynamic_from_hz",
    "dynamic_up_to_hz",
    "external",
    "conservative",
    "check_frames",
    "end_of_range",
    "kernel",
    "kernel_parameters",
    "by_column",
    "adds_parts",
    "mass_kernel",
    "damping_kernel",
    "inertia_kernel",
    "inertia_slopes",
    "damping_slopes",
    "remember",
    "recall",
    "constraint",
    "constraint_count",
    "constraint_terms",
    "constraint_kernel",
    "reaction_outputs",
    "constraint_units",
    "reaction_map",
    "reaction_slopes",
    "motors",
    "rate_motors",
    "joined",
    "frame_names",
    "coordinate_names",
    "effort_names",
    "effort_constraint",
    "fluctuation_matrix",
    "state_names",
    "state_rates",
    "resting",
    "inputs",
    "outputs",
    "role",
    "parts",
    "differentiation",
    "only_pulls",
    "only_pushes",
    "memory_size",
    "follow",
)
# laws of velocities, and the matrix that may be given instead of each
INSTEAD = (("kinetic", "mass_matrix"), ("dissipation", "damping_matrix"))
# kernel for many elements, and the law for one that it replaces
_KERNELS = (("mass_kernel", "mass_matrix"), ("damping_kernel", "damping_matrix"))
# kernel for many elements, and the laws that it is evaluated instead of
_LAWS_OF = (
    ("kernel", {"energy", "gravity_energy", "evaluate", "forces", "stiffness_parts"}),
    ("constraint_kernel", {"constraint", "constraint_terms"}),
)


def class_name(cls: type) -> str:
    """Name of a class in files: its module and name, or ``mse.Spring`` for mse's own classes."""
    return f"{'mse' if of_mse(cls) else cls.__module__}.{cls.__qualname__}"


def of_mse(cls: type) -> bool:
    """Whether a class is one of mse's own."""
    return cls.__module__.partition(".")[0] == "mse"


def declared(cls: type, base: type) -> dict[str, Parameter]:
    """Parameters of a class by name, those of its bases first.  A parameter that is declared again stands at its last place.

    ``base`` is a base of the class without parameters, so its many attributes are not looked at.
    """
    found: dict[str, Parameter] = {}
    for one in reversed(cls.__mro__):
        if issubclass(base, one):
            continue
        own = {n: p for n, p in vars(one).items() if isinstance(p, Parameter)}
        found = {n: p for n, p in found.items() if n not in own} | own
    return found


def signature(cls: type) -> inspect.Signature:
    """How objects of a class are made, with its parameters as keywords, required ones first; for help().

    Units and ranges are in the docstring: annotations would make the line too long to read.
    """
    _, *own = inspect.signature(cls.__init__).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in own):
        return inspect.Signature(own)
    empty, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    own = [p.replace(annotation=empty) for p in own if p.kind is not p.VAR_KEYWORD]
    declared = [
        inspect.Parameter(name, keyword, default=empty if p.required else p.default)
        for name, p in required_first(cls)
        if name not in {known.name for known in own}
    ]
    by_name = [*declared, *(p for p in own if p.kind is keyword)]
    by_name.sort(key=lambda p: p.default is not empty)
    return inspect.Signature([*(p for p in own if p.kind is not keyword), *by_name])


@functools.cache
def _places(cls: type) -> int:
    """How many arguments objects of a class take by position."""
    kinds = [p.kind for p in inspect.signature(cls).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return sys.maxsize
    return sum(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)


def lacking(obj, missing: Sequence[Parameter]) -> ModelError:
    """The error about an object that is made without some of its parameters."""
    told = ", ".join(f"{p.name} ({p.unit})" if p.unit else p.name for p in missing)
    write = ", ".join(f"{p.name}=..." for p in missing)
    return ModelError(
        f"{obj.label}: {told} missing; expected a value, since no default would suit; write "
        f"{type(obj).__name__}({obj.name!r}, {write})"
    )


def refuse_unnamed(cls: type, given: tuple) -> None:
    """ModelError if an object is given more than its name by position, as in ``Spring("wire", 1.0)``."""
    if len(given) > _places(cls):
        places = _places(cls)
        first = next(iter(cls.declared_parameters), "at")
        raise ModelError(
            f"{cls.__name__} {shown(given[0])}: {shown(given[places])} is given without a name; expected parameters by name, "
            f"such as {cls.__name__}({shown(given[0])}, {first}=...)"
        )


def settle_laws(cls: type, base: type) -> None:
    """Refuse a class whose laws contradict each other or are misspelled, and set what follows from its laws."""
    refuse_misspelled(cls, base)
    _refuse_both(cls)
    _refuse_without_coordinates(cls)
    _name_field(cls)
    _refuse_parts(cls)
    drop_outdated_kernels(cls)


def refuse_misspelled(cls: type, base: type) -> None:
    """TypeError if a class defines a name that is nearly, but not quite, part of the contract of ``base``."""
    if of_mse(cls):
        return  # the tests check mse's own classes, and importing should take no longer
    for name, close in misspelled(cls, base):
        raise TypeError(
            f"class {cls.__name__}: {name!r} is not part of the MObject contract; did you mean {close!r}? "
            "(start helpers with an underscore)"
        )


def _refuse_both(cls: type) -> None:
    """TypeError if a class has both a law of velocities and the matrix that follows from it."""
    for law, matrix in INSTEAD:
        if cls.defines(law) and cls.defines(matrix):
            raise TypeError(
                f"class {cls.__name__}: it has {law} and {matrix}, which give the same matrix twice; expected one or "
                f"the other; leave {matrix} out, which follows from {law}"
            )
    if cls.defines("measure") and cls.defines("output_map"):
        raise TypeError(
            f"class {cls.__name__}: it has measure and output_map, which give its outputs twice; expected one or the "
            "other; leave output_map out, which follows from measure"
        )


def _name_field(cls: type) -> None:
    """Put the stiffness of a power or of steady flows into a separate part, the first one: it is not elastic and has no loss."""
    if cls.has_field():
        others = tuple(part for part in cls.parts if part != FIELD) or ("total",)
        cls.parts = (FIELD, *others) if cls.has_energy() else (FIELD,)


def _refuse_parts(cls: type) -> None:
    """TypeError if the geometric part of a class is not the last one, or missing where it has what ``elastic_parts`` leave."""
    if not isinstance(cls.parts, tuple | list):
        return
    parts = tuple(cls.parts)
    if GEOMETRIC in parts[:-1] or (cls.defines("elastic_parts") and parts[-1:] != (GEOMETRIC,)):
        expected = (*(p for p in parts if p != GEOMETRIC), GEOMETRIC)
        raise TypeError(
            f"class {cls.__name__}: its parts are {', '.join(map(str, parts))}; expected {GEOMETRIC!r} last, which has what "
            f"elastic parts leave and the terms of lever arms, and loses nothing; set parts = {expected}"
        )


def _refuse_without_coordinates(cls: type) -> None:
    """TypeError if a matrix function of a class does not take the internal coordinates that it is called with."""
    for _, name in INSTEAD:
        law = vars(cls).get(name)
        if not isinstance(law, types.FunctionType) or law.__code__.co_flags & inspect.CO_VARARGS:
            continue
        if law.__code__.co_argcount == 2:
            raise TypeError(
                f"class {cls.__name__}: {name} takes only poses; expected {name}(self, frames, q), with q the internal "
                "coordinates; add q"
            )


def misspelled(cls: type, base: type) -> Iterator[tuple[str, str]]:
    """Names that a class defines and that are close to names of the contract of ``base``, with these names."""
    for name in vars(cls):
        if name.startswith("_") or hasattr(base, name) or isinstance(vars(cls)[name], Parameter):
            continue
        for close in difflib.get_close_matches(name, CONTRACT, n=1, cutoff=0.8):
            yield name, close


def drop_outdated_kernels(cls: type) -> None:
    """Stop a class from inheriting kernels that no longer apply: kernels of laws that it redefines, kernels of mass and damping
        if its kernel parameters differ, and properties of a kernel that it replaces.

    Raises TypeError if it defines such a kernel itself and has no kernel whose parameters that one could read.
    """
    if not of_mse(cls):
        own = vars(cls).keys()
        for kernel, laws in _LAWS_OF:
            if kernel not in own and own & laws and getattr(cls, kernel) is not None:
                setattr(cls, kernel, None)
    if "kernel" in vars(cls) and "adds_parts" not in vars(cls):
        cls.adds_parts = False
    bare = cls.kernel is None and cls.constraint_kernel is None
    for kernel, law in _KERNELS:
        if bare and vars(cls).get(kernel) is not None:
            raise TypeError(
                f"class {cls.__name__}: {kernel} reads the parameters of a kernel, but the class has none; expected a "
                f"kernel with it; define {law} alone"
            )
        # the most derived definition decides: a kernel inherited from further up does not include it
        last = next(c for c in cls.__mro__ if vars(c).keys() & {kernel, law, "kernel_parameters"})
        if bare or kernel not in vars(last):
            setattr(cls, kernel, None)
