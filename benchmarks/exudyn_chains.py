"""The chain of plates on four wires in Exudyn: rigid bodies and axial springs; the wires' torsion is left out.

Its static solver is Newton's method from the wires' stretched positions, stopped by its increment; its eigenvalues are
SciPy's on exported matrices, dense up to 120 coordinates and sparse beyond.
"""

from __future__ import annotations

import numpy as np

from .exudyn_beams import load_exudyn

START = -0.521


class NotConverged(Exception):
    """Exudyn's static solver gave up."""


class Chain:
    """The assembled chain; ``solve`` may be called again and again."""

    def __init__(self, stages: int):
        exu, item = load_exudyn()
        self.exu, self.stages = exu, stages
        # the container owns the system: without it, the system is gone
        self.container = exu.SystemContainer()
        self.system = system = self.container.AddSystem()
        above, self.springs = system.AddObject(item.ObjectGround()), []
        for s in range(stages):
            place = [0.0, 0.0, START * (s + 1) + 0.01, 0.0, 0.0, 0.0]
            node = system.AddNode(item.NodeRigidBodyRotVecLG(referenceCoordinates=place))
            plate = system.AddObject(
                item.ObjectRigidBody(nodeNumber=node, mass=10.0, inertia=[0.04, 0.05, 0.08, 0, 0, 0])
            )
            mark = system.AddMarker(item.MarkerBodyMass(bodyNumber=plate))
            system.AddLoad(item.LoadMassProportional(markerNumber=mark, loadVector=[0, 0, -9.81]))
            stiffness = 2e11 * np.pi * 4e-8 * (1 + 0.2 * (stages - s)) / 0.5
            for k in range(4):
                x, y = 0.1 * (1 - 2 * (k % 2)), 0.1 * (1 - 2 * (k // 2))
                ends = [
                    system.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=[x, y, z]))
                    for body, z in ((above, -0.01 if s else 0.0), (plate, 0.01))
                ]
                self.springs.append(
                    system.AddObject(
                        item.ObjectConnectorSpringDamper(markerNumbers=ends, referenceLength=0.5, stiffness=stiffness)
                    )
                )
            above = plate
        system.Assemble()
        self.settings = exu.SimulationSettings()
        self.settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
        self.settings.solution.file.write = False
        static = self.settings.staticSolver
        static.numberOfLoadSteps, static.verboseMode = 1, 0
        static.newton.residualMode, static.newton.relativeTolerance, static.newton.absoluteTolerance = 1, 1e-8, 1e-8

    def solve(self, count: int, again: bool = False) -> np.ndarray:
        """Lowest frequencies in Hz at the working point, from the start or, ``again``, from the one found last."""
        data, initial = self.system.systemData, self.exu.ConfigurationType.Initial
        if not again:
            data.SetODE2Coordinates(np.zeros(6 * self.stages), configuration=initial)
        try:
            self.system.SolveStatic(self.settings)
        except RuntimeError as error:
            raise NotConverged from error
        data.SetODE2Coordinates(data.GetODE2Coordinates(), configuration=initial)
        sparse = 6 * self.stages > 120
        found = self.system.ComputeODE2Eigenvalues(
            self.settings, sparse, count if sparse else 0, convert2Frequencies=True
        )
        return np.sort(found[0])[:count]

    def shorten(self, wire: int, length: float) -> None:
        """Give one wire, numbered from the top, another length at rest."""
        self.system.SetObjectParameter(self.springs[wire], "referenceLength", length)
