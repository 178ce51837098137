"""Elements that act on rigid bodies by their compiled kernels, as arrays for :mod:`mse.kernels.acting`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..elements.transducers import ForceActuator
from ..kernels import acting, masses, springs
from ..kernels.acting import Acting
from ..model.flattening import Element
from ..model.groups import Group
from .accelerations import Equations

# kernels of elements that can be called by their addresses, each with the kernel of these elements' dampers
_KERNELS = {springs.spring: springs.line_drag, springs.wire: springs.line_drag, springs.bushing: springs.bushing_drag}
_DAMPINGS = {masses.line_damping: 1, masses.bushing_damping: 36}  # how many of the last parameters are those of dampers
NOTHING_ACTS = 0, acting.acting_arguments()


def acts(g: Group) -> bool:
    """Whether all forces of a group, those of its dampers too, come from kernels that can be called by their addresses."""
    own = g.cls.damping_kernel in _DAMPINGS and not g.cls.defines("dissipation")
    return g.cls.kernel in _KERNELS and own and not g.internal.size and not g.cls.defines("power")


def pushes(el: Element) -> bool:
    """Whether a kernel has the forces of an element's inputs."""
    return type(el.obj).input_map is ForceActuator.input_map


class ActingElements:
    """Elements of some groups, which :func:`acts` tells, and elements that push by their inputs, as :func:`pushes` tells.

    ``inputs`` (P, 6) are the forces and torques of the latter, which kernels read.
    """

    def __init__(self, equations: Equations, groups: Sequence[Group], pushing: Sequence[Element]):
        self._groups, t = groups, equations.topology
        frames = np.concatenate([*(g.frames.ravel() for g in groups), *(el.frames for el in pushing)])
        sizes = [(*g.frames.shape, g.parameters.shape[1], g.cls.memory_size, len(g.cls.parts), 0) for g in groups]
        damped = [g.parameters[:, -_DAMPINGS[g.cls.damping_kernel] :].any() for g in groups]
        kernels = [
            acting.kernel_addresses(g.cls.kernel, _KERNELS[g.cls.kernel] if damps else None, g.cls.follow)
            for g, damps in zip(groups, damped, strict=True)
        ]
        parameters = np.concatenate([*(g.parameters.ravel() for g in groups), np.zeros(7 * len(pushing))])
        pushed = parameters[len(parameters) - 7 * len(pushing) :].reshape(-1, 7)
        pushed[:, 6] = [el.obj.axes == "world" for el in pushing]
        self.inputs = pushed[:, :6]
        if pushing:
            sizes.append((len(pushing), 2, 7, 0, 1, 1))
            kernels.append(acting.kernel_addresses(springs.push, None, None))
        self._arrays = Acting(
            np.array(sizes), np.array(kernels), parameters, np.zeros(0),
            t.unit[frames].astype(int), t.offset_o[frames], t.offset_U[frames], np.zeros((len(frames), 3)),
            np.zeros((len(frames), 3, 3)), np.zeros(6 * len(frames)), np.zeros(len(frames)), np.zeros(6 * len(frames)),
            np.zeros(6 * len(frames)), np.zeros(0), np.zeros(equations.size + 2),
        )  # fmt: skip

    def remembering(self, memory: Sequence[np.ndarray]) -> tuple[int, Acting]:
        """Address of the kernel of all, and arrays, of elements that remember what is given by group."""
        own = np.concatenate([np.zeros(0), *(memory[g.number].ravel() for g in self._groups)])
        return acting.exert_address(), self._arrays._replace(memory=own)
