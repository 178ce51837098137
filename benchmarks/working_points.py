"""Working points and modes: the chain of plates on four wires, and a suspension of 36 coordinates that is changed and solved.

Peers: the same written by hand for this chain, and Exudyn with springs for wires.  Both start where all wires pull already, a
little below where ours does: neither converges from wires at their natural length.  Errors: frequencies (responses)
against those by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import mse
from models import four_wire_chain

from . import exudyn_chains, measure
from .by_hand import Chain
from .peers import peer
from .table import Row

STAGES = 6  # of the suspension
GRID = np.geomspace(0.1, 30.0, 200)
MOST_RUNS = 7
MOST_OF_EXUDYN = 500  # stages; its modes come from dense matrices, 14 GB at 5,000
FAILS = "Exudyn does not converge, or to other modes: the lowest are off by more than 1 %"


def lengths() -> Callable[[], float]:
    """Another length of a wire at every call."""
    numbers = iter(range(10**9))
    return lambda: 0.5 + 1e-4 * np.sin(1 + next(numbers))


def most(stages: int) -> int:
    """How many modes there are, up to 20."""
    return min(20, 6 * stages)


def several(stages: int) -> list[mse.MSystem]:
    """Systems that have never been solved, one for each call of what may be called a few times only."""
    return [four_wire_chain(stages) for _ in range(MOST_RUNS + 1 if stages <= 1000 else 4)]


def built(stages: int) -> Callable[[], np.ndarray]:
    """From a system built before, and never solved, to its modes."""
    systems = several(stages)
    return lambda: systems.pop().find_working_point().linearize().modes(most(stages)).frequencies_hz


def searched(stages: int) -> Callable[[], np.ndarray]:
    """The same once the objects are taken apart into arrays, which is where what is written by hand begins."""
    searches = [system.relaxation() for system in several(stages)]
    return lambda: searches.pop().run().linearize().modes(most(stages)).frequencies_hz


def changed(stages: int) -> Callable[[], np.ndarray]:
    """The same system with another length of a wire, from its initial poses to its modes."""
    system, length = four_wire_chain(stages), lengths()
    system.find_working_point()

    def call() -> np.ndarray:
        system["wire0_0"].length = length()
        return system.find_working_point().linearize().modes(most(stages)).frequencies_hz

    return call


def from_scratch(stages: int) -> Callable[[], np.ndarray]:
    return lambda: four_wire_chain(stages).find_working_point().linearize().modes(most(stages)).frequencies_hz


def again(stages: int) -> Callable[[], np.ndarray]:
    """From a working point before to one with another length of a wire, and its modes."""
    point, length = four_wire_chain(stages).find_working_point(), lengths()
    return lambda: point.update({"wire0_0.length": length()}).linearize().modes(most(stages)).frequencies_hz


def by_hand(stages: int) -> dict[str, Callable[[], np.ndarray]]:
    """The same by hand."""
    chain, second, third, length, other = Chain(stages), Chain(stages), Chain(stages), lengths(), lengths()
    second.relax()

    def solve(chain: Chain) -> np.ndarray:
        chain.place()
        chain.relax()
        return chain.modes(most(stages))

    def changed() -> np.ndarray:
        third.length[0] = other()
        return solve(third)

    def again() -> np.ndarray:
        second.length[0] = length()
        second.relax()
        return second.modes(most(stages))

    return {
        "built": lambda: solve(chain),
        "searched": lambda: solve(chain),
        "from_scratch": lambda: solve(Chain(stages)),
        "changed": changed,
        "again": again,
    }


def with_exudyn(stages: int) -> dict[str, Callable[[], np.ndarray]]:
    """The same by Exudyn, where a change always goes on from the last solution."""
    chain, second, length = exudyn_chains.Chain(stages), exudyn_chains.Chain(stages), lengths()
    second.solve(most(stages))

    def again() -> np.ndarray:
        second.shorten(0, length())
        return second.solve(most(stages), again=True)

    return {
        "built": lambda: chain.solve(most(stages)),
        "from_scratch": lambda: exudyn_chains.Chain(stages).solve(most(stages)),
        "again": again,
    }


def chain_rows(stages: int, runs: int) -> Iterator[Row]:
    """The five tasks for a chain of so many stages."""
    hand, exudyn, note = by_hand(stages), {}, ""
    if peer("Exudyn") is not None and stages <= MOST_OF_EXUDYN:
        try:
            exudyn = with_exudyn(stages)
        except exudyn_chains.NotConverged:
            note = FAILS
    for factory, task in (
        (built, "four-wire chain: system to 20 modes"),
        (searched, "four-wire chain: its search to 20 modes"),
        (from_scratch, "four-wire chain: building it, to 20 modes"),
        (changed, "four-wire chain: changed, to 20 modes"),
        (again, "four-wire chain: update, to 20 modes"),
    ):
        calls = {"ours": factory(stages), "by hand": hand[factory.__name__]}
        if factory.__name__ in exudyn:
            calls["Exudyn"] = exudyn[factory.__name__]
        times, results = measure.alternate(calls, runs)
        right = results["by hand"]
        error = float(np.max(np.abs(results["ours"] / right - 1)))
        others: dict[str, float | str | None] = {"by hand": times["by hand"], "Exudyn": times.get("Exudyn")}
        if note or ("Exudyn" in results and not np.allclose(results["Exudyn"], right, rtol=0.01)):
            others["Exudyn"], note = "fails", FAILS
        yield Row(task, stages, times["ours"], others, error, measure.peak(factory, (stages,), (2,)), note)


def rope(count: int) -> Callable[[], np.ndarray]:
    """Hinged rods between two points, started as an arc that does not meet the second one; from the system to 20 modes."""
    s = mse.MSystem("rope", gravity=(0, 0, -9.81))
    tip, above, seat = np.zeros(3), s.ground, mse.Pose()
    for i, angle in enumerate(np.pi * ((np.arange(count) + 0.5) / count - 0.5)):
        d = np.array([np.cos(angle), 0.0, np.sin(angle)])
        at = mse.Pose(tip + 0.5 * d, mse.Pose.ry(-angle).U)
        rod = s.add(mse.RigidBody(f"rod{i}", mass=1.0, inertia=(1e-9, 1 / 12, 1 / 12), at=at))
        pin = s.add(mse.Revolute(f"pin{i}", axis=(0, 1, 0)))
        s.clamp(above, pin.frame(1), seat)
        s.clamp(rod.frame(0), pin.frame(0), mse.Pose.dx(-0.5))
        tip, above, seat = tip + d, rod.frame(0), mse.Pose.dx(0.5)
    end = s.add(mse.Revolute("end", axis=(0, 1, 0)))
    s.clamp(above, end.frame(0), seat)
    s.clamp(s.ground, end.frame(1), mse.Pose.dx(0.6 * count))
    return lambda: s.find_working_point().linearize().modes(20).frequencies_hz


def rope_row(count: int, runs: int) -> Row:
    times, _ = measure.alternate({"ours": rope(count)}, runs)
    return Row(
        "rope of hinged rods: system to 20 modes", count, times["ours"], memory=measure.peak(rope, (count,), (30,))
    )


def suspension_part(part: str) -> Callable[[], object]:
    """One part of solving a suspension again: "update", "modes" (with linearization), "response", or "all"."""
    point, length = four_wire_chain(STAGES, driven=True).find_working_point(), lengths()
    linear = point.linearize()

    def response(model):
        return model.frequency_response(GRID, inputs=["base.x"], outputs=["probe.x"]).values[:, 0, 0]

    def everything():
        model = point.update({"wire2_0.length": length()}).linearize()
        return model.modes().frequencies_hz, response(model)

    return {
        "update": lambda: point.update({"wire2_0.length": length()}),
        "modes": lambda: point.linearize().modes().frequencies_hz,
        "response": lambda: response(linear),
        "all": everything,
    }[part]


def suspension_by_hand(part: str) -> Callable[[], object]:
    chain, length = Chain(STAGES), lengths()
    chain.relax()

    def update() -> None:
        chain.length[8] = length()
        chain.relax()

    def everything():
        update()
        return chain.modes(6 * STAGES), chain.response(GRID)

    return {
        "update": update,
        "modes": lambda: chain.modes(6 * STAGES),
        "response": lambda: chain.response(GRID),
        "all": everything,
    }[part]


def suspension_rows(runs: int) -> Iterator[Row]:
    """A suspension solved again with one parameter changed: each part, and all of them."""
    for part, task in (
        ("update", "suspension, one wire changed: update"),
        ("modes", "suspension: linear model and 36 modes"),
        ("response", "suspension: 200 frequencies"),
        ("all", "suspension: update, modes, frequencies"),
    ):
        calls = {"ours": suspension_part(part), "by hand": suspension_by_hand(part)}
        control = peer("control")
        if part == "response" and control is not None:
            ss = four_wire_chain(STAGES, driven=True).find_working_point().linearize()
            ss = ss.state_space(inputs=["base.x"], outputs=["probe.x"])
            given = control.ss(ss.A, ss.B, ss.C, ss.D)
            calls["control"] = lambda given=given: given(2j * np.pi * GRID)
        # one after another, as in a sweep of designs: in turns, each would start on caches full of the others' data
        times, results = measure.alternate(calls, runs, each=12)
        error = None
        if part == "modes":
            error = float(np.max(np.abs(results["ours"] / results["by hand"] - 1)))
        if part in ("response", "all"):
            mine, theirs = (r[1] if part == "all" else r for r in (results["ours"], results["by hand"]))
            error = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
        others = {name: t for name, t in times.items() if name != "ours"}
        yield Row(task, 6 * STAGES, times["ours"], others, error, measure.peak(suspension_part, (part,), (part,)))


def rows(quick: bool) -> Iterator[Row]:
    for stages in (1, 4, 20, 100) if quick else (1, 4, 20, 100, 500, 5000):
        yield from chain_rows(stages, 3 if quick or stages > 1000 else MOST_RUNS)
    yield from suspension_rows(3 if quick else 7)
    for count in (100,) if quick else (100, 300, 1000):
        yield rope_row(count, 3)
