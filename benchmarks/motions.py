"""Large motions of 10 s: chains, one of which is pushed, and four-bars in a row, compared with MuJoCo and Exudyn at equal error.

Every program takes the largest tolerance or step, in steps of ``FINER``, that brings one point after ``JUDGED`` seconds to within
the error that is asked for, and keeps nothing but the end.  MuJoCo steps by RK4, Exudyn's kinematic tree by RK44, its four-bars
by the generalized-alpha method.  The push is a function in Python for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mse
from mse import Pose

from . import measure
from .exudyn_beams import load_exudyn
from .peers import peer
from .table import Row

DURATION, JUDGED, TILT = 10.0, 2.0, 1.0  # s, s, rad
GRAVITY = 9.81
FINER = 1.25
IN_A_ROW = 9  # runs of one program
COARSE, FINE = 2e-2, 1e-4  # s: steps that peers try, from the largest to the smallest
LOOSE, TIGHT = 1e-2, 1e-13  # the same for tolerances
NO_INERTIA = (
    1e-14  # MuJoCo wants some; the masses of its chains of points are larger than ours, which changes no motion
)
END = np.array([np.sin(TILT), 0.0, -np.cos(TILT)])
PUSH, OMEGA = 0.03, 5.0  # N, a third of the weight of a planar chain, and rad/s: a level force at its tip over time

Run = Callable[[float, float], np.ndarray]  # a duration (s) and a step (s) or tolerance: the point (3,) at the end


# -- mse ----------------------------------------------------------------------------------------------------------
def chain(links: int, spatial: bool) -> mse.MSystem:
    """A chain of 1 m: points on hinges, or boxes on ball joints."""
    system, above = mse.MSystem("chain", gravity=(0, 0, -GRAVITY)), None
    for k in range(links):
        own = {"mass": 0.01 / links}
        half = 1.0 / links
        if spatial:
            half, own = 0.5 / links, {"mass": 1.0 / links, "inertia": box(links)}
        ends = {"top": Pose.dz(half), "low": Pose.dz(half - 1.0 / links)}
        body = system.add(mse.RigidBody(f"link{k}", **own, at=Pose.dz(-k / links - half), frames=ends))
        joint = mse.Spherical(f"joint{k}") if spatial else mse.Revolute(f"joint{k}", axis=(0, -1, 0))
        system.add(joint, between=(body.frame("top"), system.ground if above is None else above.frame("low")))
        above = body
    return system


def box(links: int) -> np.ndarray:
    """Moments of inertia (3,) of one of the boxes: 0.2 by 0.3 of their length across."""
    x, y, z = 0.2 / links, 0.3 / links, 1.0 / links
    return np.array([y * y + z * z, x * x + z * z, x * x + y * y]) / (12 * links)


def four_bars(windows: int) -> mse.MSystem:
    """Windows in a row of upright and level rods of 1 m and 1 kg."""
    system, moments = mse.MSystem("windows", gravity=(0, 0, -GRAVITY)), (1 / 12, 1 / 12, 0)
    posts = []
    for k in range(windows + 1):
        at, ends = Pose.dxdydz(k, 0, 0.5), {"low": Pose.dz(-0.5), "high": Pose.dz(0.5)}
        post = system.add(mse.RigidBody(f"post{k}", mass=1.0, inertia=moments, at=at, frames=ends))
        hinge = system.add(mse.Revolute(f"low{k}", axis=(0, 1, 0)))
        system.clamp(post.frame("low"), hinge.frame(0))
        system.clamp(system.ground, hinge.frame(1), Pose.dx(k))
        posts.append(post)
    for k in range(windows):
        at, ends = Pose.dxdydz(k + 0.5, 0, 1), {"left": Pose.dx(-0.5), "right": Pose.dx(0.5)}
        bar = system.add(mse.RigidBody(f"bar{k}", mass=1.0, inertia=moments[::-1], at=at, frames=ends))
        for side, post in (("left", posts[k]), ("right", posts[k + 1])):
            hinge = mse.Revolute(f"{side}{k}", axis=(0, 1, 0))
            system.add(hinge, between=(bar.frame(side), post.frame("high")))
    return system


def push(t: float) -> float:
    return PUSH * np.sin(OMEGA * t)


def chain_run(links: int, spatial: bool, pushed: bool = False) -> Run:
    system, inputs = chain(links, spatial), {}
    if pushed:
        system.add(mse.ForceActuator("push", axes="world"), between=(system.ground, system[f"link{links - 1}"]))
        inputs = {"push.fx": push}
    turned = np.array([[np.cos(TILT), 0, -np.sin(TILT)], [0, 1, 0], [np.sin(TILT), 0, np.cos(TILT)]])
    initial: dict[str, Any] = {"joint0.angle": TILT}
    if spatial:
        initial = {}
        for k in range(links):
            center = END * (k + 0.5) / links
            initial[f"link{k}"] = Pose(center, turned)
            initial[f"link{k}'"] = [0.0, center[0], 0.0, 0.0, 0.0, 1.0]
    tip = f"link{links - 1}.{'low' if spatial else 'center'}"

    def run(duration: float, rtol: float) -> np.ndarray:
        motion = system.simulate(
            duration=duration, dt=duration, initial=initial, inputs=inputs, outputs=[], rtol=rtol, progress=False
        )
        return motion.poses(tip)[0][-1]

    return run


def four_bars_run(windows: int) -> Run:
    system = four_bars(windows)
    initial = {f"low{k}.angle'": 1.0 for k in range(windows + 1)}

    def run(duration: float, rtol: float) -> np.ndarray:
        motion = system.simulate(
            duration=duration, dt=duration, initial=initial, outputs=["low0.angle"], rtol=rtol, progress=False
        )
        return angle_as_point(motion["low0.angle"][-1])

    return run


def angle_as_point(angle: float) -> np.ndarray:
    """The end (3,) of a rod that has turned from upright towards +x."""
    return np.array([np.sin(angle), 0.0, np.cos(angle)])


# -- MuJoCo -------------------------------------------------------------------------------------------------------
def mujoco_chain(links: int, spatial: bool, pushed: bool = False) -> Run:
    """The same chain; its joints have no inertia of their own."""
    mujoco = peer("MuJoCo")
    mujoco.set_mju_user_warning(lambda text: None)  # of steps that are too large, which it would write to a file
    low, body = f"0 0 {-1.0 / links}", ""
    for k in reversed(range(links)):
        place = low if k else "0 0 0"
        if spatial:
            moments, joint = box(links), '<joint type="ball"/>'
            own = f'pos="0 0 {-0.5 / links}" mass="{1.0 / links}"'
        else:
            moments, joint = np.full(3, NO_INERTIA), '<joint type="hinge" axis="0 -1 0"/>'
            own = f'pos="{low}" mass="{1.0}"'
        moments = " ".join(repr(float(x)) for x in moments)
        body = f'<body pos="{place}">{joint}<inertial {own} diaginertia="{moments}"/>{body}</body>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler boundmass="0" boundinertia="0" balanceinertia="false"/>'
        f'<option integrator="RK4" gravity="0 0 {-GRAVITY}"><flag contact="disable"/></option>'
        f"<worldbody>{body}</worldbody></mujoco>"
    )

    def forced(model: Any, data: Any) -> None:
        data.xfrc_applied[-1, 0] = push(data.time) * links / 0.01  # its masses are as much larger than ours

    def run(duration: float, step: float) -> np.ndarray:
        data, steps = mujoco.MjData(model), round(duration / step)
        model.opt.timestep = duration / steps
        if spatial:
            data.qpos[:4] = np.cos(TILT / 2), 0.0, -np.sin(TILT / 2), 0.0
            for k in range(1, links):
                data.qpos[4 * k : 4 * k + 4] = 1.0, 0.0, 0.0, 0.0
            data.qvel[:3] = (
                np.sin(TILT),
                0.0,
                np.cos(TILT),
            )  # 1 rad/s about the vertical, along the axes of the first link
        else:
            data.qpos[0] = TILT
        mujoco.set_mjcb_control(forced if pushed else None)
        mujoco.mj_step(model, data, nstep=steps)
        mujoco.set_mjcb_control(None)
        mujoco.mj_kinematics(model, data)
        return data.xpos[-1] + data.xmat[-1].reshape(3, 3) @ [0.0, 0.0, -1.0 / links]

    return run


# -- Exudyn -------------------------------------------------------------------------------------------------------
def _stepped(exu: Any, system: Any, duration: float, step: float, solver: Any) -> None:
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    own = settings.timeIntegration
    own.numberOfSteps, own.endTime, own.verboseMode = round(duration / step), duration, 0
    own.newton.useModifiedNewton = True
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    system.SolveDynamic(settings, solverType=solver, updateInitialValues=False)


def exudyn_chain(links: int) -> Run:
    """The planar chain as a kinematic tree."""
    exu, item = load_exudyn()
    container = exu.SystemContainer()
    system = container.AddSystem()
    node = system.AddNode(
        item.NodeGenericODE2(
            referenceCoordinates=[0.0] * links, initialCoordinates=[TILT] + [0.0] * (links - 1),
            initialCoordinates_t=[0.0] * links, numberOfODE2Coordinates=links,
        )
    )  # fmt: skip
    low = [0.0, -1.0 / links, 0.0]
    system.AddObject(
        item.ObjectKinematicTree(
            nodeNumber=node, jointTypes=[exu.JointType.RevoluteZ] * links, linkParents=list(range(-1, links - 1)),
            jointTransformations=exu.Matrix3DList([np.eye(3)] * links),
            jointOffsets=exu.Vector3DList([[0.0, 0.0, 0.0]] + [low] * (links - 1)),
            linkInertiasCOM=exu.Matrix3DList([np.zeros((3, 3))] * links), linkCOMs=exu.Vector3DList([low] * links),
            linkMasses=[0.01 / links] * links, linkForces=exu.Vector3DList([]), linkTorques=exu.Vector3DList([]),
            jointForceVector=[], jointPositionOffsetVector=[], jointVelocityOffsetVector=[], jointPControlVector=[],
            jointDControlVector=[], gravity=[0.0, -GRAVITY, 0.0],
        )
    )  # fmt: skip
    system.Assemble()

    def run(duration: float, step: float) -> np.ndarray:
        assert container is not None  # without it the system is gone
        _stepped(exu, system, duration, step, exu.DynamicSolverType.RK44)
        angles = np.cumsum(system.systemData.GetODE2Coordinates())
        return np.array([np.sin(angles).sum(), 0.0, -np.cos(angles).sum()]) / links

    return run


def exudyn_four_bars(windows: int) -> Run:
    """The four-bars as bodies in a plane on joints."""
    exu, item = load_exudyn()
    container = exu.SystemContainer()
    system = container.AddSystem()

    def rod(place: list[float], turn: float, motion: list[float]) -> int:
        """A rod along its own x, with its marks."""
        node = system.AddNode(item.NodeRigidBody2D(referenceCoordinates=[*place, turn], initialVelocities=motion))
        body = system.AddObject(item.ObjectRigidBody2D(nodeNumber=node, physicsMass=1.0, physicsInertia=1 / 12))
        mark = system.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(item.LoadMassProportional(markerNumber=mark, loadVector=[0.0, -GRAVITY, 0.0]))
        return body

    def pinned(one: int, at: list[float], two: int, there: list[float]) -> None:
        marks = [
            system.AddMarker(item.MarkerBodyPosition(bodyNumber=b, localPosition=x))
            for b, x in ((one, at), (two, there))
        ]
        system.AddObject(item.ObjectJointRevolute2D(markerNumbers=marks))

    ground = system.AddObject(item.ObjectGround())
    near, far = [-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]
    posts = []
    for k in range(windows + 1):
        posts.append(rod([float(k), 0.5], np.pi / 2, [0.5, 0.0, -1.0]))
        pinned(ground, [float(k), 0.0, 0.0], posts[k], near)
    for k in range(windows):
        bar = rod([k + 0.5, 1.0], 0.0, [1.0, 0.0, 0.0])
        pinned(posts[k], far, bar, near)
        pinned(posts[k + 1], far, bar, far)
    system.Assemble()

    def run(duration: float, step: float) -> np.ndarray:
        assert container is not None
        _stepped(exu, system, duration, step, exu.DynamicSolverType.GeneralizedAlpha)
        return angle_as_point(-system.systemData.GetODE2Coordinates()[2])

    return run


# -- what is right ------------------------------------------------------------------------------------------------
def chain_reference(links: int, spatial: bool, pushed: bool = False) -> np.ndarray:
    """Where the tip is: by Lagrange's equations of the planar chain; of the spatial one our own, far more exact."""
    if spatial:
        return chain_run(links, True)(JUDGED, TIGHT * 10.0)
    share = links - np.maximum.outer(np.arange(links), np.arange(links))

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        angles, turning = y[:links], y[links:]
        apart = angles[:, None] - angles
        right = -(share * np.sin(apart)) @ turning**2 - links * GRAVITY * share.diagonal() * np.sin(angles)
        if pushed:
            right += push(t) * links**2 / 0.01 * np.cos(angles)
        return np.concatenate([turning, np.linalg.solve(share * np.cos(apart), right)])

    start = np.concatenate([np.full(links, TILT), np.zeros(links)])
    angles = solve_ivp(rates, (0.0, JUDGED), start, "DOP853", rtol=1e-13, atol=1e-14).y[:links, -1]
    return np.array([np.sin(angles).sum(), 0.0, -np.cos(angles).sum()]) / links


def four_bars_reference(windows: int) -> np.ndarray:
    """The posts turn as a pendulum does: ``q'' = a sin q``."""
    a = GRAVITY * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    solved = solve_ivp(
        lambda t, y: [y[1], a * np.sin(y[0])], (0.0, JUDGED), [0.0, 1.0], "DOP853", rtol=1e-13, atol=1e-14
    )
    return angle_as_point(solved.y[0, -1])


def largest(
    run: Run, right: np.ndarray, error: float, first: float, last: float, finer: float = FINER
) -> tuple[float, float]:
    """The largest step or tolerance that meets an error (m) and the error there; NaN, and the least error, if none does."""
    step, least = first, np.inf
    while step >= last:
        try:
            found = float(np.linalg.norm(run(JUDGED, step) - right))
        except Exception:  # of classes that only Exudyn has: a step too large ends its solver
            found = np.inf
        if found <= error:
            return step, found
        least = min(least, found) if np.isfinite(found) else least
        step /= finer
    return np.nan, least


def row(
    task: str, size: int, error: float, right: np.ndarray, ours: Run, others: dict[str, Run | None], runs: int
) -> Row:
    """One row: the time of a motion of ``DURATION``, for mse minus the time of a motion of 1 ms, which is that of its start.

    Each program runs ``IN_A_ROW`` times in a row.  The first run after another program finds nothing of its own in the caches, so
    that its start takes up to five times as long, which would count as motion.
    """
    rtol, found = largest(ours, right, error, LOOSE, TIGHT)
    calls: dict[str, Callable[[], Any]] = {"ours": lambda: ours(DURATION, rtol), "no ours": lambda: ours(1e-3, rtol)}
    peers: dict[str, float | str | None] = {}
    notes = [f"rtol {rtol:.1e}"]
    for name, run in others.items():
        peers[name] = None
        if run is None:
            continue
        step, reached = largest(run, right, error, COARSE, FINE)
        if not np.isfinite(step):
            peers[name] = f"{reached:.0e} m"
            continue
        notes.append(f"{name} {step:.1e} s")
        calls[name] = lambda run=run, step=step: run(DURATION, step)
    times, _ = measure.alternate(calls, runs, IN_A_ROW)
    peers |= {name: times[name] for name in others if name in times}
    return Row(
        f"{task}, right to {error:.0e} m", size, times["ours"] - times["no ours"], peers, found, None, "; ".join(notes)
    )


def start_row(links: int, runs: int) -> Row:
    """What a planar chain takes before its first step: one angle is given, and the method is chosen."""
    run = chain_run(links, False)
    times, _ = measure.alternate({"ours": lambda: run(1e-3, LOOSE)}, runs)
    return Row("planar chain: motion of 1 ms, with its start", links, times["ours"])


def rows(quick: bool) -> Iterator[Row]:
    runs = 2 if quick else 3
    mujoco, exudyn = peer("MuJoCo") is not None, peer("Exudyn") is not None
    for spatial in (False, True):
        for links in (10,) if quick else (10, 50):
            right = chain_reference(links, spatial)
            ours, others = chain_run(links, spatial), {"MuJoCo": mujoco_chain(links, spatial) if mujoco else None}
            if not spatial:
                others["Exudyn"] = exudyn_chain(links) if exudyn else None
            for error in (1e-6,) if quick else (1e-6, 1e-9):
                task = f"{'spatial' if spatial else 'planar'} chain"
                yield row(task, links, error, right, ours, others, runs)
    others = {"MuJoCo": mujoco_chain(10, False, True) if mujoco else None}
    right = chain_reference(10, False, True)
    yield row("planar chain that is pushed", 10, 1e-6, right, chain_run(10, False, True), others, runs)
    for links in (100,) if quick else (100, 1000):
        yield start_row(links, runs)
    for windows in (2,) if quick else (2, 10, 40):
        others = {"Exudyn": exudyn_four_bars(windows) if exudyn else None}
        yield row(
            "four-bars in a row", windows, 1e-6, four_bars_reference(windows), four_bars_run(windows), others, runs
        )
