"""Steps of stiff motions of rigid bodies on joints; compiled in :mod:`mse.kernels.implicit_steps`."""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType

import numpy as np

from ..kernels import ahead, implicit_loops, implicit_steps, implicit_trees, multibody
from ..kernels.acting import exert_address
from ..kernels.by_address import InMemory
from ..kernels.implicit_steps import Own, Radau, Stages
from ..kernels.steps import Passed, Sampled
from ..kernels.trees import SLIDE
from ..model.joint_assembly import OPEN
from ..numerics.options import SIZES
from .accelerations import Equations
from .bodies import Bodies
from .compiled_steps import CompiledSteps
from .loops import OfBodies
from .moments import Moment
from .steppers import kernels_of
from .trees import Nodes, OfTree, nodes_of


class _Implicit(CompiledSteps):
    """Steps by Radau IIA, of which no interpolation is known: moments within are ends of shorter steps."""

    kernels: ModuleType  # the system's own

    def _prepare(self, radau: Radau) -> None:
        n = len(radau.metric)
        row = 2 * n + 2
        self._radau, self._stages = radau, Stages(
            *(np.zeros(row) for _ in range(6)), np.zeros((3, 2 * n)), np.zeros((3, 2 * n)), np.zeros((3, row)), np.zeros((n, n)),
            np.zeros((n, n)), np.zeros((2, n, n), dtype=complex), np.zeros((2, n), dtype=int),
            np.zeros((2, 2, n), dtype=complex), np.zeros(4),
        )  # fmt: skip

    @abstractmethod
    def _given(self, begin: Moment) -> tuple:
        """What the system's own kernels work on in steps from a moment on."""

    @np.errstate(all="ignore")
    def march(self, begin: Moment, passed: Passed, until: float, sampled: Sampled) -> tuple[int, int, int]:
        memory = InMemory(self._given(begin))
        own = Own(*self.kernels.addresses(), memory.at)
        found = implicit_steps.march(own, self._radau, self._stages, passed, until, sampled)
        self.bodies.refuse_broken(found[0] > 0)
        return found

    def interpolation(self, s: int) -> None:
        return None


class ImplicitTreeSteps(_Implicit, OfTree):
    """Implicit steps of a tree."""

    kernels = implicit_trees

    def __init__(self, bodies: Bodies, nodes: Nodes, radau: Radau):
        super().__init__(bodies, nodes)
        metric = np.full(nodes.count, bodies.equations.measure.size)
        metric[[node.numbers[2] for node in nodes.nodes if node.numbers[1] == SLIDE]] = 1.0
        self._prepare(radau._replace(metric=metric))
        self._size = 2 * nodes.count + 2

    def _given(self, begin: Moment) -> tuple:
        return implicit_trees.given(self.tree(begin), self.rows, self._size)


class ImplicitLoopSteps(_Implicit, OfBodies):
    """Implicit steps of bodies that form no tree."""

    kernels = implicit_loops

    def __init__(self, bodies: Bodies, radau: Radau):
        super().__init__(bodies)
        self._prepare(radau)
        limits = np.append(bodies.limits(0.0), OPEN * bodies.equations.measure.outermost)
        self._sizes = limits, len(bodies.followed), bodies.held

    def _given(self, begin: Moment) -> tuple:
        b = self.bodies
        return implicit_loops.given(
            multibody.run_address(), b.model, b.work, b.exerting(begin.state, begin.v), *self._sizes
        )


def implicit_steps_of(equations: Equations, radau: Radau) -> CompiledSteps | None:
    """Compiled steps; None for a system on which elements without kernels act, that has no bodies, or that is large.

    Slopes of accelerations are differences, for which Python would be asked too often, and fill dense matrices.
    """
    bodies = Bodies.of(equations)
    if bodies is None or bodies.shares.in_python:
        return None
    nodes = nodes_of(bodies)
    if equations.sparse and (equations.size if nodes is None else nodes.count) > SIZES.dense:
        return None
    kind = kernels_of(bodies, nodes is not None, implicit=True)
    ahead.compile_steps_ahead(kind)
    steps = ImplicitLoopSteps(bodies, radau) if nodes is None else ImplicitTreeSteps(bodies, nodes, radau)
    # compiled here with what exerts forces, while another process compiles the steps
    steps.prepare()
    if bodies.acting:
        exert_address()
    ahead.wait_for_steps(kind)
    return steps
