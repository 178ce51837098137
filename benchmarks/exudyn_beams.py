"""The peer for beams: Exudyn (multibody code with a C++ core), its geometrically exact beams and its ANCF cables.

Measured: the static solve of a cantilever bent far (against the elastica), the same at equal accuracy (elements and time
for a tip right to 1e-6), and the first modes of a long chain.  Needs `pip install exudyn`; imports without it.
"""

from __future__ import annotations

import importlib
import statistics
import time

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

from .peers import peer

FIELDS = ("task", "elements", "seconds", "value", "unit", "note")
LOAD = 5.0  # P L^2 / EI, with L = EI = 1
STEEL = {"E": 2e11, "nu": 0.3, "rho": 7800.0, "r": 5e-3}
TIMOSHENKO = 1 - 5.71231e-5  # f1 of that cantilever over Euler-Bernoulli's: root of the boundary determinant
# kind: node, its coordinates after x, coordinates held at the clamp (a cable keeps its stretch there), element:
# geometrically exact with shear (planar of 2 or 3 nodes, in space on SE(3)), cubic cable without shear (or torsion)
KINDS = {
    "ge2d": ("NodeRigidBody2D", [0, 0], [0, 1, 2], "ObjectBeamGeometricallyExact2D"),
    "ge2dq": ("NodeRigidBody2D", [0, 0], [0, 1, 2], "ObjectBeamGeometricallyExact2D"),
    "ge3d": ("NodeRigidBodyRotVecLG", [0, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5], "ObjectBeamGeometricallyExact"),
    "ancf2d": ("NodePoint2DSlope1", [0, 1, 0], [0, 1, 3], "ObjectANCFCable2D"),
    "ancf3d": ("NodePointSlope1", [0, 0, 1, 0, 0], [0, 1, 2, 4, 5], "ObjectANCFCable"),
}


def load_exudyn():
    """Exudyn and its items."""
    return peer("Exudyn"), importlib.import_module("exudyn.itemInterface")


def chain(kind: str, elements: int, stiffness, mass: float, inertia, tip_load: float = 0.0):
    """A straight cantilever of length 1 along x, assembled; (system, last node).

    stiffness: EA, GAy, GAz, GJ, EIy, EIz; inertia of the section per length: about x, y, z.  Without a load the
    clamp is left out: the eigenvalue solver holds the first node by deleting its coordinates.
    """
    exu, item = load_exudyn()
    system = exu.SystemContainer().AddSystem()
    name, rest, held, element = KINDS[kind]

    def node(x: float):
        return system.AddNode(getattr(item, name)(referenceCoordinates=[x, *rest]))

    common = {"massPerLength": mass, "bendingStiffness": stiffness[5], "axialStiffness": stiffness[0]}
    if kind == "ge3d":
        section = exu.BeamSection()
        section.stiffnessMatrix, section.inertia = np.diag(stiffness), np.diag(inertia)
        section.massPerLength, common = mass, {"sectionData": section}
    elif kind.startswith("ge2d"):
        common |= {"shearStiffness": stiffness[1], "crossSectionInertia": inertia[2]}
    first = last = node(0.0)
    for k in range(elements):
        middle = [node((k + 0.5) / elements)] if kind == "ge2dq" else []
        pair = [last, *middle, node((k + 1) / elements)]
        system.AddObject(getattr(item, element)(nodeNumbers=pair, length=1 / elements, **common))
        last = pair[-1]
    if tip_load:
        ground = system.AddNode(item.NodePointGround())
        fixed = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
        for coordinate in held:
            mark = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=first, coordinate=coordinate))
            system.AddObject(item.CoordinateConstraint(markerNumbers=[fixed, mark]))
        mark = system.AddMarker(item.MarkerNodePosition(nodeNumber=last))
        system.AddLoad(item.Force(markerNumber=mark, loadVector=[0, tip_load, 0]))
    system.Assemble()
    return system, last


def elastica_tip(load: float = LOAD) -> np.ndarray:
    """Tip (x, y) of the inextensible cantilever under a dead tip force, L = EI = 1, by elliptic integrals."""
    root = np.sqrt(load)  # the amplitude p at the clamp belongs to the parameter m = 1 / (2 sin(p)^2)
    p = brentq(lambda p: ellipk(0.5 / np.sin(p) ** 2) - ellipkinc(p, 0.5 / np.sin(p) ** 2) - root, 0.786, 1.57)
    m = 0.5 / np.sin(p) ** 2
    return np.array([np.sqrt(2 * (2 * m - 1) / load), 1 - 2 * (ellipe(m) - ellipeinc(p, m)) / root])


def exact_tip(kind: str, stiff: float) -> np.ndarray:
    """Tip of the very beam that is meshed, with EA = stiff, and GA = stiff (geometrically exact) or none (cable)."""
    if kind.startswith("ge"):  # EA = GA: the strain is force / EA, which adds no moment
        return elastica_tip() + np.array([0.0, LOAD / stiff])

    def shoot(moment):
        def slope(_, u):
            stretch = 1 + LOAD * np.sin(u[0]) / stiff
            c, s = np.cos(u[0]), np.sin(u[0])
            return [u[1], -stretch * LOAD * c, stretch * c, stretch * s]

        return solve_ivp(slope, (0, 1), [0.0, moment, 0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]

    return shoot(brentq(lambda moment: shoot(moment)[1], 2.0, 4.5, xtol=1e-13))[2:]


def static_cantilever(elements: int = 200, steps: int = 10, kind: str = "ge2d", stiff: float = 1e6, repeats: int = 3):
    """Static solve of a cantilever bent by a dead tip force P L^2 / EI = 5, applied in equal load steps.

    EI = L = 1, EA = GA = stiff.  seconds: median of SolveStatic alone; value: distance of the tip from that of the
    same beam solved exactly; the note has the distance from the inextensible elastica, Newton's count, and the time of
    building and assembling the model.  Newton is stopped by its increment, 1e-8: the default, a residual relative to
    the first one, stops early for a stiff EA (tips wrong by 1e-3 at EA = 1e9) or, set smaller, never.
    """
    exu, _ = load_exudyn()
    build, solve = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        system, last = chain(kind, elements, [stiff, stiff, stiff, 1.0, 1.0, 1.0], 1.0, [2.0, 1.0, 1.0], LOAD)
        build.append(time.perf_counter() - start)
        settings = exu.SimulationSettings()
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
        settings.solution.file.write = False
        static = settings.staticSolver
        static.numberOfLoadSteps, static.verboseMode = steps, 0
        static.newton.residualMode, static.newton.relativeTolerance, static.newton.absoluteTolerance = 1, 1e-8, 1e-8
        start = time.perf_counter()
        system.SolveStatic(settings)
        solve.append(time.perf_counter() - start)
    tip = system.GetNodeOutput(last, exu.OutputVariableType.Position)[:2]
    note = (
        f"{kind}, EA = {stiff:.0e}: elastica missed by {np.linalg.norm(tip - elastica_tip()):.1e}, "
        f"{system.sys['staticSolver'].it.newtonStepsCount} Newton iterations, built in {statistics.median(build):.4f} s"
    )
    error = float(np.linalg.norm(tip - exact_tip(kind, stiff)))
    return dict(zip(FIELDS, ("static", elements, statistics.median(solve), error, "m (tip error)", note), strict=True))


def equal_accuracy(kind: str = "ge2d", error: float = 1e-6, steps: int = 10, stiff: float = 1e6):
    """The static cantilever with the fewest elements whose tip is right to `error`; measured as static_cantilever."""
    high = 4
    while (one := static_cantilever(high, steps, kind, stiff, 1))["value"] > error:
        if high >= 4096:
            return one | {"task": "static, equal accuracy", "note": one["note"] + "; not reached"}
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        good = static_cantilever(middle, steps, kind, stiff, 1)["value"] <= error
        low, high = (low, middle) if good else (middle, high)
    return static_cantilever(high, steps, kind, stiff) | {"task": "static, equal accuracy"}


def modes_cantilever(elements: int = 2000, count: int = 20, kind: str = "ge3d", repeats: int = 3):
    """First natural frequencies of a straight steel cantilever, 1 m, round, radius 5 mm, by ComputeODE2Eigenvalues.

    seconds: median of that call (mass and stiffness, exported dense, then ARPACK's shift-invert on sparse copies);
    value: relative error of the first bending frequency against Euler-Bernoulli.  The geometrically exact beam has
    shear and rotary inertia: the note has its error against Timoshenko's beam too.  Out of memory, elements are halved.
    """
    exu, _ = load_exudyn()
    e, nu, rho, r = STEEL.values()
    area, second = np.pi * r**2, np.pi * r**4 / 4
    g, shear = e / (2 * (1 + nu)), 6 * (1 + nu) / (7 + 6 * nu)
    stiffness = [e * area, shear * g * area, shear * g * area, 2 * g * second, e * second, e * second]
    inertia = [2 * rho * second, rho * second, rho * second]
    bernoulli = 1.87510406871196**2 * np.sqrt(e * second / (rho * area)) / (2 * np.pi)
    seconds, short = [], ""
    while len(seconds) < repeats:
        system, _ = chain(kind, elements, stiffness, rho * area, inertia)
        settings = exu.SimulationSettings()
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
        start = time.perf_counter()
        try:
            f = system.ComputeODE2Eigenvalues(settings, True, count, KINDS[kind][2], convert2Frequencies=True)[0]
        except MemoryError:
            elements, seconds, short = elements // 2, [], ", fewer elements: its dense matrices exceed the memory"
            continue
        seconds.append(time.perf_counter() - start)
    note = f"{kind}, f1 = {f[0]:.6f} Hz, f{count} = {f[-1]:.2f} Hz{short}"
    if kind.startswith("ge"):
        note += f", against Timoshenko {f[0] / bernoulli / TIMOSHENKO - 1:.1e}"
    error = float(f[0] / bernoulli - 1)
    return dict(zip(FIELDS, ("modes", elements, statistics.median(seconds), error, "(f1 error)", note), strict=True))
