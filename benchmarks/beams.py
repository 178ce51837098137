"""Beams beside Exudyn's, in the same run: a cantilever bent far in ten load steps, and the modes of a long chain.

The peer is Exudyn's geometrically exact beam in space (shear, torsion), the one that solves the same problem; the rows
"to 1e-6" take for each program the fewest elements whose tip is right to 1e-6 of the length.  Ours is timed from the model
to the result, Exudyn its solve alone, the model built before; its modes are mostly the export of dense matrices.  With equal
numbers of elements both bend the cantilever in turn.
Errors: tips against the elastica solved exactly (in lengths), frequencies against Timoshenko's.

Modes of frames in space, of 42 to 1,232 beams, beside ARPACK with SuperLU on the same K and M: both from the matrices, with their
orderings, and ours with its checks of what users give.  Errors: frequencies against ARPACK's.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, splu

import mse

from . import exudyn_beams as peer
from . import measure
from .frequencies import SYMMETRIC
from .peers import peer as available
from .table import Row

STIFF = 1e6  # E A and k G A beside E I = L = 1


def cantilever(elements: int) -> mse.MSystem:
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = system.add(
        mse.SectionBeam(
            "beam", length=1.0, young_modulus=1.0, poisson_ratio=-0.5, density=0.0, area=STIFF, shear_factor_y=1.0,
            shear_factor_z=1.0, second_moment_y=1.0, second_moment_z=1.0, torsion_constant=1.0, elements=elements,
        )
    )  # fmt: skip
    load = system.add(mse.Load("load", force=(0, peer.LOAD, 0)))
    system.clamp(system.ground, beam.frame(0))
    system.clamp(beam.frame(1), load.frame(0))
    return system


def bend(elements: int, steps: int = 10) -> np.ndarray:
    """Tip of the cantilever after equal load steps, each from the one before."""
    system, point = cantilever(elements), None
    for load in np.arange(1, steps + 1) / steps:
        point = system.find_working_point(seek="nearest", load_factor=load, start=point)
    return point.poses["beam.1"].o[:2]


def tip_error(elements: int) -> float:
    return float(np.linalg.norm(bend(elements) - peer.exact_tip("ge3d", STIFF)))


def modes(elements: int, count: int = 20) -> np.ndarray:
    """The first frequencies of a straight steel cantilever, 1 m long, 5 mm in radius."""
    steel = peer.STEEL
    factor = 6 * (1 + steel["nu"]) / (7 + 6 * steel["nu"])
    system = mse.MSystem("chain", gravity=(0, 0, 0))
    beam = system.add(
        mse.RoundBeam(
            "beam", length=1.0, radius=steel["r"], young_modulus=steel["E"], poisson_ratio=steel["nu"],
            density=steel["rho"], shear_factor=factor, elements=elements,
        )
    )  # fmt: skip
    system.clamp(system.ground, beam.frame(0))
    return system.find_working_point().linearize().modes(count).frequencies_hz


def frequency_error(frequencies: np.ndarray) -> float:
    e, _, rho, r = peer.STEEL.values()
    bernoulli = 1.87510406871196**2 * np.sqrt(e * r**2 / (4 * rho)) / (2 * np.pi)
    return float(abs(frequencies[0] / (bernoulli * peer.TIMOSHENKO) - 1))


def bending(elements: int) -> Callable[[], np.ndarray]:
    return lambda: bend(elements)


def first_modes(elements: int) -> Callable[[], np.ndarray]:
    return lambda: modes(elements)


def frame(bays: int) -> mse.MSystem:
    """A building of so many bays of 1 m in each direction: steel tubes between bodies, on clamped feet."""
    system, steel = mse.MSystem("frame", gravity=(0, 0, -9.81)), peer.STEEL
    nodes = [np.array(x) for x in np.ndindex(bays + 1, bays + 1, bays + 1)]
    joints = {}
    for x in nodes:
        if x[2]:
            body = mse.RigidBody(f"joint{len(joints)}", mass=0.5, inertia=1e-3, at=mse.Pose(x))
            joints[tuple(x)] = system.add(body).frame(0)
    count = 0
    for x in nodes:
        for along in np.eye(3, dtype=int):
            far = joints.get(tuple(x + along))
            if far is None or not (x[2] or along[2]):
                continue
            axes = np.column_stack([along, np.roll(along, 1), np.roll(along, 2)])
            beam = system.add(
                mse.RoundBeam(
                    f"beam{count}", length=1.0, radius=0.02, young_modulus=steel["E"], poisson_ratio=steel["nu"],
                    density=steel["rho"], elements=4, at=mse.Pose(x, axes),
                )
            )  # fmt: skip
            if x[2]:
                system.clamp(joints[tuple(x)], beam.frame(0), mse.Pose(np.zeros(3), axes))
            else:
                system.clamp(system.ground, beam.frame(0), mse.Pose(x, axes))
            system.clamp(far, beam.frame(1), mse.Pose(np.zeros(3), axes))
            count += 1
    return system


@functools.cache
def frame_matrices(bays: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    linear = frame(bays).find_working_point().linearize()
    return linear.M, linear.K


def frame_modes(bays: int) -> Callable[[], np.ndarray]:
    """20 frequencies, from matrices that have not been seen before."""
    m, k = frame_matrices(bays)
    return lambda: mse.LinearModel.from_matrices(m, None, k).modes(20).frequencies_hz


def frame_row(bays: int, runs: int) -> Row:
    m, k = (a.tocsc() for a in frame_matrices(bays))

    def theirs() -> np.ndarray:
        inverse = LinearOperator(k.shape, splu(k, **SYMMETRIC).solve, dtype=float)
        return np.sqrt(np.sort(eigsh(k, 20, m, sigma=0.0, OPinv=inverse)[0])) / (2 * np.pi)

    times, found = measure.alternate({"ours": frame_modes(bays), "SciPy best": theirs}, runs)
    error = float(np.abs(found["ours"] / found["SciPy best"] - 1).max())
    memory = measure.peak(frame_modes, (bays,), (1,))
    return Row(
        "frame of beams: 20 modes", k.shape[0], times["ours"], {"SciPy best": times["SciPy best"]}, error, memory
    )


def rows(quick: bool) -> Iterator[Row]:
    runs, chain = (2, 200) if quick else (5, 2000)
    few = next(n for n in range(4, 64) if tip_error(n) < 1e-6)
    there = available("Exudyn") is not None
    tasks = [
        ("beam: cantilever bent in ten load steps", 200, bending, tip_error, runs,
         lambda: peer.static_cantilever(200, 10, "ge3d", STIFF, 1)),
        ("beam: the same, tip right to 1e-6", few, bending, tip_error, 1,
         lambda: peer.equal_accuracy("ge3d", 1e-6, 10, STIFF)),
        ("beam: first 20 modes of a cantilever", chain, first_modes, lambda n: frequency_error(modes(n)), 1,
         lambda: peer.modes_cantilever(chain, 20, "ge3d", 1 if chain > 500 else runs)),
    ]  # fmt: skip
    for task, n, factory, error, turns, theirs in tasks:
        call, ours, found = factory(n), [], []
        call()  # compiles
        for turn in range(runs):
            ours.append(measure.seconds(call))
            if there and turn < turns:
                found.append(theirs())
        others, note = {}, ""
        if there:
            r = found[-1]
            off = r["value"] if r["task"] != "modes" else abs((1 + r["value"]) / peer.TIMOSHENKO - 1)
            others = {"Exudyn": statistics.median(r["seconds"] for r in found)}
            note = f"Exudyn: {r['elements']} elements, error {off:.0e}"
        yield Row(task, n, statistics.median(ours), others, error(n), measure.peak(factory, (n,), (4,)), note)
    for bays in (2, 3) if quick else (2, 3, 4, 7):
        yield frame_row(bays, runs)
