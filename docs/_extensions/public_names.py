"""What of mse is public: names that users import, classes of results, and their methods; for the API pages and the tests."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import mse
from mse.elements.base import MObject
from mse.elements.definitions import CONTRACT
from mse.results import Result

NAMED = {name: getattr(mse, name) for name in dir(mse) if not name.startswith("_")}
MADE = [cls for cls in NAMED.values() if inspect.isclass(cls) and not issubclass(cls, BaseException)]
KINDS = [cls for cls in MADE if issubclass(cls, MObject)]
FUNCTIONS = [function for function in NAMED.values() if inspect.isfunction(function)]
ERRORS = [cls for cls in NAMED.values() if inspect.isclass(cls) and issubclass(cls, BaseException)]


def results() -> list[type]:
    """All classes of results, the classes of what these consist of, and the classes that methods return."""
    for module in pkgutil.walk_packages(mse.__path__, "mse."):
        if not module.name.startswith(("mse.kernels", "mse.tools")):
            importlib.import_module(module.name)
    found, waiting = [], [Result]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls not in (Result, *MADE) and not cls.__name__.startswith("_") and cls.__module__.startswith("mse."):
            found.append(cls)
    from mse.analysis.modes.strain_energies import StrainEnergies
    from mse.analysis.time.response import Crossing
    from mse.analysis.time.step_loop import StepLoop
    from mse.dynamics.step_loop import MotionLoop
    from mse.linear.independent import NullSpace
    from mse.linear.interface_frames import InterfaceFrame
    from mse.linear.linear_model import DynamicMember
    from mse.linear.stiffness_parts import StiffnessParts
    from mse.model.system import Clamp
    from mse.statics.continuation import Event
    from mse.statics.history import Iteration, Steps
    from mse.statics.joints import Dependency
    from mse.statics.relaxation import Relaxation
    from mse.statics.stability import Motion
    from mse.tools.equations import SymbolicEquations

    more = [
        StepLoop,
        MotionLoop,
        NullSpace,
        DynamicMember,
        InterfaceFrame,
        StiffnessParts,
        Clamp,
        Dependency,
        Event,
        Relaxation,
    ]
    more += [Crossing, Motion, Iteration, Steps, StrainEnergies, SymbolicEquations]
    return sorted({*found, *more}, key=lambda cls: cls.__name__)


CLASSES = [*MADE, *results()]


def methods(cls: type) -> dict[str, object]:
    """The public methods and properties that a class makes or documents itself, or takes from a base that is not public."""
    out: dict[str, object] = {}
    for base in cls.__mro__:
        if not base.__module__.startswith("mse.") or (base is not cls and base in CLASSES):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in out:
                continue
            value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            value = inspect.unwrap(value) if inspect.isfunction(value) else value
            inherits = inspect.isfunction(value) and not value.__doc__ and inherited(cls, name)
            if not inherits and (inspect.isfunction(value) or isinstance(value, property) or hasattr(value, "func")):
                out[name] = value
    return out


def inherited(cls: type, name: str) -> bool:
    """Whether a base documents what a class has by this name."""
    return any(getattr(vars(base).get(name), "__doc__", None) for base in cls.__mro__[1:])


# by these, elements answer to mse itself and to each other
HOOKS = {"options", "reading", "switches", "values_at", "exceeded", "twists", "ways_from", "coordinate"}


def of_contract(name: str) -> bool:
    """Whether authors of elements write it, and users of elements never call it; docs/adding_an_element.md tells of these."""
    return name in CONTRACT or name in HOOKS or name.endswith("kernel")


CALLABLES = {f.__name__: f for f in FUNCTIONS} | {
    value.__qualname__: value
    for cls in CLASSES
    for name, value in methods(cls).items()
    if inspect.isfunction(value) and not (issubclass(cls, MObject) and of_contract(name))
}
