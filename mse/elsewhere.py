"""Names that users try where there are none, and where they find what they mean: one table, and who answers by it.

An entry makes no name: ``hasattr``, completion, copies and pickles are as without it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import nearest_name
from .validation.arguments import shown

_Class = TypeVar("_Class", bound=type)

_CLAMPED = "frames are clamped: system.clamp(a, b), or system.add(obj, between=(a, b))"
_LINEAR = "{} belong to a linear model: {}linearize().{}"
_READ = "mse.read_model(path) reads systems and working points, mse.read_result(path) what analyses gave"
_SEARCHED = "the equilibrium is searched by system.find_working_point()"
_SYSTEM = "a model is an mse.MSystem(name)"


def _linear(way: str) -> dict[str, str]:
    """What a linear model has, for what is the step before it or two steps."""
    modes = _LINEAR.format("modes", way, "modes()")
    responses = _LINEAR.format("responses", way, "frequency_response(frequencies_hz)")
    runs = _LINEAR.format("runs in time", way, "simulate(duration=..., dt=...)")
    states = _LINEAR.format("state spaces", way, "state_space()")
    return {
        **dict.fromkeys(("modes", "eigenmodes", "frequencies", "frequencies_hz"), modes),
        **dict.fromkeys(("frequency_response", "transfer_function", "bode"), responses),
        **dict.fromkeys(("simulate", "run"), runs),
        **dict.fromkeys(("state_space", "to_control"), states),
        "noise": _LINEAR.format("noise budgets", way, "noise(frequencies_hz, output)"),
        "resonance_grid": _LINEAR.format("resonance grids", way, "resonance_grid(0.1, 100.0)"),
        "compliance": _LINEAR.format("compliances", way, 'compliance("mirror.center")'),
        "step_loop": _LINEAR.format("step loops", way, "step_loop(dt=...)"),
    }


# By class, or "mse", or a function as "modes()": what is tried, and where it is. Of a function "" stands for any argument.
TRIED: dict[str, dict[str, str]] = {
    "mse": {
        **dict.fromkeys(("load", "open", "read"), _READ),
        **dict.fromkeys(("System", "Model"), _SYSTEM),
        **dict.fromkeys(("Body", "Mass"), "a body is an mse.RigidBody(name, mass=...)"),
        "Hinge": "a hinge is an mse.Revolute(name)",
        "Slider": "a slider is an mse.Prismatic(name)",
        "Damper": "a damper is an mse.Bushing(name, damping=(x, y, z, ax, ay, az))",
        "Force": "a constant force is an mse.Load(name, force=(x, y, z)), one that varies an mse.ForceActuator(name)",
    },
    "MSystem": {
        **dict.fromkeys(("join", "attach"), _CLAMPED),
        **{k: v for k, v in _linear("system.find_working_point().").items() if k not in ("simulate", "step_loop")},
        "run": "large motions are system.simulate(duration=..., dt=...), small ones about a working point "
        "system.find_working_point().linearize().simulate(...)",
        "linearize": "a working point is linearized: system.find_working_point().linearize()",
        **dict.fromkeys(("solve", "equilibrium", "relax"), _SEARCHED),
        **dict.fromkeys(("show", "draw"), "system.plot() draws it; system.find_working_point().view() shows it in space"),
        "view": "a working point is shown in space: system.find_working_point().view()",
        "update": 'write system["mirror"].mass = 2.0; a working point has update({"mirror.mass": 2.0})',
    },
    "WorkingPoint": {
        **_linear("working_point."),
        "trace": 'systems are traced: system.trace("wire.length", 0.5, start=working_point)',
        "find_instability": "critical loads are sought from the system on: system.find_instability()",
        **dict.fromkeys(("show", "draw"), "working_point.plot() draws it, working_point.view() shows it in space"),
    },
    "LinearModel": {
        **dict.fromkeys(("eigenmodes", "frequencies", "frequencies_hz"), "frequencies are those of modes: linear.modes()"),
        **dict.fromkeys(("transfer_function", "bode"), "linear.frequency_response(frequencies_hz), which has plot()"),
        **dict.fromkeys(("C", "D"), "the damping matrix is linear.Lambda; linear.state_space() has A, B, C and D"),
        **dict.fromkeys(("A", "B"), "linear.state_space() has A, B, C and D"),
        "to_control": "linear.state_space().to_control()",
        **dict.fromkeys(
            ("find_working_point", "update", "trace", "find_instability"),
            "a linear model is about one working point: change that, and linearize it again",
        ),
    },
    "Result": dict.fromkeys(("show", "draw"), "plot() draws it"),
    "FrequencyResponse": {"bode": "plot() draws it"},
    "Frame": dict.fromkeys(
        ("pose", "o", "U"), 'frames have poses in working points: working_point.poses["mirror.center"]'
    ),
    "Pose": {
        **dict.fromkeys(("translation", "translate"), "Pose.dxdydz(x, y, z), or Pose.dx(d), Pose.dy(d), Pose.dz(d)"),
        **dict.fromkeys(("origin", "position"), "the origin of a pose is pose.o"),
        **dict.fromkeys(("R", "orientation", "matrix"), "the orientation of a pose is pose.U"),
        "rotate": "Pose.rx(angle), Pose.ry(angle), Pose.rz(angle) or Pose.rotation(vector), in rad; poses are multiplied by @",
    },
    "modes()": dict.fromkeys(("n", "num", "number"), "write modes(3), or modes(count=3)"),
    "update()": {"": 'parameters are given by name in a mapping: update({"mirror.mass": 2.0})'},
}  # fmt: skip


def refuse(kind: str, bases: tuple[str, ...], name: str) -> None:
    """AttributeError that says where it is, if ``name`` is one of those tried at one of ``bases``."""
    for base in bases:
        if name in TRIED.get(base, ()):
            # without the object Python adds no guess of its own
            raise AttributeError(f"{kind} has no {name!r}: {TRIED[base][name]}", name=name, obj=None)


def _names(cls: type) -> tuple[str, ...]:
    return tuple(base.__name__ for base in cls.__mro__)


def _missing(obj: object, name: str) -> Any:
    refuse(type(obj).__name__, _names(type(obj)), name)
    return object.__getattribute__(obj, name)  # fails as it did, in a property by the error of that


class _ForObjects:
    """A ``__getattr__`` that objects have and their class does not: IPython completes keys of other classes' objects only."""

    def __get__(self, obj: Any, owner: type) -> Callable[[str], Any] | None:
        return None if obj is None else functools.partial(_missing, obj)


class Guided:
    """Base of classes whose objects say where to find what they do not have."""

    if not TYPE_CHECKING:  # checkers would take any name for an attribute
        __getattr__ = _ForObjects()


class GuidedClass(type):
    """The same for attributes of a class itself, such as ``Pose.translation``."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            refuse(cls.__name__, _names(cls), name)
            return type.__getattribute__(cls, name)


def arguments_by_name(cls: _Class) -> _Class:
    """Decorator of a class: a call of its methods that does not fit is refused with the arguments that there are."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _explained(method))
    return cls


def _explained(method: Callable) -> Callable:
    @functools.wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return method(*given, **named)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside the method
            wrong = _misfit(method, given[1:], named) or str(error)
        raise TypeError(wrong)

    return call


def _misfit(method: Callable, given: tuple, named: dict[str, Any]) -> str:
    """In words, why a method cannot be called so, and how it can; "" where Python's words will do."""
    _, *parameters = inspect.signature(method).parameters.values()
    names = [p.name for p in parameters]
    unknown = [name for name in named if name not in names]
    if unknown:
        known = TRIED.get(f"{method.__name__}()", {})
        hint = known.get(unknown[0], known.get(""))
        return f"{method.__name__}() has no argument {unknown[0]!r}" + (
            f": {hint}" if hint else nearest_name(unknown[0], names)
        )
    if len(given) <= sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters) or len(given) > len(names):
        return ""
    write = [f"{name}={shown(value)}" for name, value in zip(names, given, strict=False)]
    return f"{method.__name__}() takes arguments by name; write {method.__name__}({', '.join(write)})"
