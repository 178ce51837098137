"""State spaces and frequency data for python-control and SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.frequency.response import FrequencyResponse
from ...analysis.time.state_space import StateSpace
from ...errors import ModelError
from ...validation.extras import needed

if TYPE_CHECKING:
    import control
    from scipy.signal import StateSpace as ScipyStateSpace


def control_names(ss: StateSpace) -> dict[str, str]:
    """See :meth:`.StateSpace.control_names`."""
    return _plain(ss.name, inputs=ss.inputs, outputs=ss.outputs, states=ss.states)


def _plain(who: str, **groups: Sequence[str]) -> dict[str, str]:
    """Names without '.' by name; refuses two of one group that would become one."""
    out: dict[str, str] = {}
    for what, names in groups.items():
        seen: dict[str, str] = {}
        for name in names:
            plain = name.replace(".", "_")
            if plain in seen:
                raise ModelError(
                    f"{who}: {what} {seen[plain]!r} and {name!r} would both be {plain!r} in python-control, which has no "
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


def frequency_data(response: FrequencyResponse) -> control.FrequencyResponseData:
    """See :meth:`.FrequencyResponse.to_control`."""
    package = needed("control", "control", "frequency data of python-control")
    name_of = _plain(response.name, inputs=response.inputs, outputs=response.outputs)
    f, at = np.unique(response.frequencies_hz, return_index=True)
    return package.frd(
        np.moveaxis(response.values[at], 0, -1), 2 * np.pi * f,
        name=response.name.replace(".", "_"),
        inputs=[name_of[n] for n in response.inputs],
        outputs=[name_of[n] for n in response.outputs],
    )  # fmt: skip


def to_scipy(ss: StateSpace) -> ScipyStateSpace:
    """See :meth:`.StateSpace.to_scipy`."""
    from scipy.signal import StateSpace as ScipyStateSpace

    return ScipyStateSpace(ss.A.copy(), ss.B.copy(), ss.C.copy(), ss.D.copy())
