"""State spaces for python-control and SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.time.state_space import StateSpace
from ...errors import ModelError
from ...validation.extras import needed

if TYPE_CHECKING:
    import control
    from scipy.signal import StateSpace as ScipyStateSpace


def control_names(ss: StateSpace) -> dict[str, str]:
    """See :meth:`.StateSpace.control_names`."""
    out: dict[str, str] = {}
    for what, names in (("inputs", ss.inputs), ("outputs", ss.outputs), ("states", ss.states)):
        seen: dict[str, str] = {}
        for name in names:
            plain = name.replace(".", "_")
            if plain in seen:
                raise ModelError(
                    f"{ss.name}: {what} {seen[plain]!r} and {name!r} would both be {plain!r} in python-control, which has no "
                    "'.' in names; expected names that stay different; rename one of the objects, or leave one out"
                )
            seen[plain], out[name] = name, plain
    return out


def to_control(ss: StateSpace) -> control.StateSpace:
    """See :meth:`.StateSpace.to_control`."""
    package = needed("control", "control", "state spaces of python-control")
    name_of = control_names(ss)
    return package.ss(
        ss.A, ss.B, ss.C, ss.D,
        name=ss.name.replace(".", "_"),
        states=[name_of[n] for n in ss.states],
        inputs=[name_of[n] for n in ss.inputs],
        outputs=[name_of[n] for n in ss.outputs],
        remove_useless_states=False,
    )  # fmt: skip


def to_scipy(ss: StateSpace) -> ScipyStateSpace:
    """See :meth:`.StateSpace.to_scipy`."""
    from scipy.signal import StateSpace as ScipyStateSpace

    return ScipyStateSpace(ss.A.copy(), ss.B.copy(), ss.C.copy(), ss.D.copy())
