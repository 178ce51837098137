"""A stage on four stiff wires, whose upper ends are tips of blades, let go ten degrees off: compared with Exudyn at equal error.

The blades are springs along the vertical with a small mass at their tips.  The stage begins level, at its height and without
motion, so that it swings and the wires, which stretch by half a millimetre, hardly vibrate.  Exudyn steps by RK44, which needs
the least time of its solvers for this (also tried: RK67, DOPRI5, generalized alpha), mse by the method that needs less.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mse
from mse import Pose

from .exudyn_beams import load_exudyn
from .motions import GRAVITY, JUDGED, TIGHT, Run, row
from .peers import peer
from .table import Row

CORNERS = [(0.2, 0.15), (0.2, -0.15), (-0.2, 0.15), (-0.2, -0.15)]  # m
LENGTH, STIFFNESS = 0.5, 5e4  # of a wire; m, N/m
MASS, MOMENTS, HOOK = 10.0, (0.1, 0.15, 0.2), 0.02  # of the stage; kg, kg m2, and m from its center up to its hooks
TIP, BLADE = 0.05, 600.0  # kg, N/m
SAG = (MASS / 4 + TIP) * GRAVITY / BLADE
SWING, ALONG = np.radians(10.0), np.array([0.8, 0.6, 0.0])
TAUT = LENGTH + MASS / 4 * GRAVITY / STIFFNESS
START = TAUT * (np.sin(SWING) * ALONG - np.cos(SWING) * np.array([0.0, 0.0, 1.0])) - [0.0, 0.0, HOOK]


def stage_run(method: str) -> Run:
    system = mse.MSystem("stage", gravity=(0, 0, -GRAVITY))
    hooks = {f"hook{k}": Pose.dxdydz(x, y, HOOK) for k, (x, y) in enumerate(CORNERS)}
    stage = system.add(mse.RigidBody("stage", mass=MASS, inertia=MOMENTS, at=Pose(START), frames=hooks))
    for k, (x, y) in enumerate(CORNERS):
        tip = system.add(mse.RigidBody(f"tip{k}", mass=TIP, inertia=0.0, at=Pose.dxdydz(x, y, 0.0)))
        blade = mse.Prismatic(f"blade{k}", axis=(0, 0, 1), stiffness=BLADE)
        system.add(blade, between=(tip, system.ground @ Pose.dxdydz(x, y, SAG)))
        wire = mse.Spring(f"wire{k}", length=LENGTH, stiffness=STIFFNESS)
        system.add(wire, between=(tip, stage.frame(f"hook{k}")))
    initial = {"stage": Pose(START)} | {f"blade{k}.displacement": -SAG for k in range(4)}

    def run(duration: float, rtol: float) -> np.ndarray:
        motion = system.simulate(
            duration=duration, dt=duration, initial=initial, outputs=[], rtol=rtol, method=method, progress=False
        )
        return motion.poses("stage.center")[0][-1]

    return run


def exudyn_stage() -> Run:
    """The same stage; its tips are masses on a line."""
    exu, item = load_exudyn()
    container = exu.SystemContainer()
    system = container.AddSystem()
    node = system.AddNode(item.NodeRigidBodyRotVecLG(referenceCoordinates=[*START, 0.0, 0.0, 0.0]))
    stage = system.AddObject(item.ObjectRigidBody(nodeNumber=node, mass=MASS, inertia=[*MOMENTS, 0, 0, 0]))
    mark = system.AddMarker(item.MarkerBodyMass(bodyNumber=stage))
    system.AddLoad(item.LoadMassProportional(markerNumber=mark, loadVector=[0, 0, -GRAVITY]))
    fixed = system.AddNode(item.NodePointGround())
    fixed = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
    upright = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # the coordinate of a tip is z of the world
    for x, y in CORNERS:
        own = system.AddNode(item.Node1D(referenceCoordinates=[0.0]))
        tip = system.AddObject(
            item.ObjectMass1D(nodeNumber=own, mass=TIP, referencePosition=[x, y, 0.0], referenceRotation=upright)
        )
        moved = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=own, coordinate=0))
        system.AddObject(
            item.ObjectConnectorCoordinateSpringDamper(markerNumbers=[fixed, moved], stiffness=BLADE, offset=SAG)
        )
        system.AddLoad(item.LoadCoordinate(markerNumber=moved, load=-GRAVITY * TIP))
        ends = [
            system.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=place))
            for body, place in ((tip, [0.0, 0.0, 0.0]), (stage, [x, y, HOOK]))
        ]
        system.AddObject(
            item.ObjectConnectorSpringDamper(markerNumbers=ends, referenceLength=LENGTH, stiffness=STIFFNESS)
        )
    system.Assemble()

    def run(duration: float, step: float) -> np.ndarray:
        assert container is not None  # without it the system is gone
        settings = exu.SimulationSettings()
        settings.solution.file.write = False
        own = settings.timeIntegration
        own.numberOfSteps, own.endTime, own.verboseMode = round(duration / step), duration, 0
        settings.linearSolver.solverType = exu.LinearSolverType.EigenDense
        system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44, updateInitialValues=False)
        return np.array(system.GetNodeOutput(node, exu.OutputVariableType.Position))

    return run


def rows(quick: bool) -> Iterator[Row]:
    right = stage_run("explicit")(JUDGED, 10.0 * TIGHT)
    others = {"Exudyn": exudyn_stage() if peer("Exudyn") is not None else None}
    for error, method in ((1e-6, "implicit"), (1e-9, "explicit"))[: 1 if quick else 2]:
        task = f"stage on stiff wires and blades by {method} steps"
        yield row(task, 4, error, right, stage_run(method), others, 2 if quick else 3)
