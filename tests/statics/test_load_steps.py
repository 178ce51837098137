"""Structures bent far in steps of their loads, each from the equilibrium before: how much work a step takes."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse.model.assembly import Assembly
from mse.statics import search, stiff_valleys

TIP = (0.612372, 0.713792)  # of the inextensible elastica under P L^2 / EI = 5; ours is 5e-6 longer, and shears


def cantilever(elements: int) -> mse.MSystem:
    """A beam that hardly stretches, EA L^2 / EI = 1e6, under a force across its tip."""
    system = mse.MSystem("cantilever", gravity=(0, 0, 0))
    beam = system.add(
        mse.SectionBeam(
            "beam", length=1.0, young_modulus=1.0, poisson_ratio=-0.5, density=0.0, area=1e6, shear_factor_y=1.0,
            shear_factor_z=1.0, second_moment_y=1.0, second_moment_z=1.0, torsion_constant=1.0, elements=elements,
        )
    )  # fmt: skip
    load = system.add(mse.Load("load", force=(0, 5.0, 0)))
    system.clamp(system.ground, beam.frame(0))
    system.clamp(beam.frame(1), load.frame(0))
    return system


def bend(elements: int) -> list[mse.WorkingPoint]:
    """The equilibria of ten equal load steps."""
    system, points = cantilever(elements), []
    for load in np.arange(1, 11) / 10:
        start = points[-1] if points else None
        points.append(system.find_working_point(seek="nearest", load_factor=load, start=start))
    return points


def steps(elements: int) -> float:
    """Newton's steps, in the mean of all load steps."""
    return float(np.mean([len(point.history) - 1 for point in bend(elements)]))


def test_a_load_step_takes_as_many_steps_with_few_elements_as_with_many():
    few, many = bend(25), bend(200)
    for points in (few, many):
        assert points[-1].poses["beam.1"].o[:2] == pytest.approx(TIP, abs=1e-5)
    taken = [np.mean([len(point.history) - 1 for point in points]) for points in (few, many)]
    # measured: 3.0 and 3.0; by straight steps 4.6 and 4.9, by those whose ends are brought to rest 6.8 with 200 elements
    assert max(taken) < 4.0, taken
    assert taken[1] < taken[0] + 1.0, taken


@pytest.mark.parametrize("share", [0.5, 2.0**-4, 2.0**-6])
def test_where_on_the_way_of_a_step_forces_are_taken_hardly_matters(monkeypatch, share):
    """From 1/2 to 2^-8 it is 3.1 steps; with 2^-14, where differences are rounding, 3.9."""
    monkeypatch.setattr(stiff_valleys, "ON_THE_WAY", share)
    assert steps(40) < 3.4


def test_ten_load_steps_take_few_evaluations(monkeypatch):
    """Of three steps each: one of forces where it begins, at the end of a long step, and on its way; else with stiffness."""
    forces, stiffness = evaluated(monkeypatch)
    # measured: 33 and 34; 46 of forces with those on both sides of a step, 42 with others that foresee how far it leads
    assert len(forces) < 40 and len(stiffness) < 40


@pytest.mark.parametrize("shorter", [0.01, 1.0])
def test_stiffness_is_taken_along_where_steps_become_shorter(monkeypatch, shorter):
    """Fewer evaluations of forces that one of stiffness at the same place follows, at no more of stiffness."""

    def evaluations(factor):
        monkeypatch.setattr(search, "SHORTER", factor)
        return [len(orders) for orders in evaluated(monkeypatch)]

    never, soon = evaluations(0.0), evaluations(shorter)
    assert soon[0] < 0.9 * never[0] and soon[1] <= 1.05 * never[1], (never, soon)


def evaluated(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """The evaluations of forces alone, and with stiffness, in ten load steps of a beam of 60 elements."""
    orders, total = [], Assembly.total

    def counted(self, at, order, *factors, **terms):
        orders.append(order)
        return total(self, at, order, *factors, **terms)

    with monkeypatch.context() as patch:
        patch.setattr(Assembly, "total", counted)
        bend(60)
    return [k for k in orders if k == 1], [k for k in orders if k == 2]
