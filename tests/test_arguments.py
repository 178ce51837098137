"""What users give is checked at the border: the right answer, or a refusal of mse's own with all it takes to mend it."""

from __future__ import annotations

import numpy as np
import pytest
from test_bad_input import refused

import mse
from mse import Pose, arguments
from mse.errors import ModelError


# -- functions of the user's ----------------------------------------------------------------------------------------
def held_by(element: mse.MObject) -> mse.MSystem:
    """A body held by an element of the user's alone."""
    system = mse.MSystem("held", gravity=(0, 0, 0))
    body = system.add(mse.RigidBody("body", mass=1.0, inertia=1.0, at=Pose.dx(0.3)))
    system.add(element)
    system.connect(system.ground, element.frame(1))
    system.connect(body.frame(0), element.frame(0))
    return system


def owned(**laws) -> mse.MObject:
    return type("Owned", (mse.MObject,), laws)("own")


def raising(kind: type[Exception]):
    def law(*_):
        raise kind("by its\nauthor")

    return law


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyError, AttributeError, ValueError, RuntimeError, OSError])
@pytest.mark.parametrize("law", ["energy", "gravity_energy", "constraint"])
def test_what_a_law_of_the_users_raises_names_the_object(law, kind):
    with pytest.raises(ModelError, match=rf"Owned 'own': its {law} failed: {kind.__name__}: .*by its") as caught:
        held_by(owned(**{law: raising(kind)})).find_working_point()
    assert type(caught.value.__cause__) is kind
    if law != "constraint":
        assert "\n" not in str(caught.value) and f"expected to be called as {law}(frames, q" in str(caught.value)


def test_what_a_law_may_not_call_names_the_object():
    inverted = owned(energy=lambda self, frames, q: np.linalg.inv(frames[0].U)[0, 0])
    with refused(ModelError, "Owned 'own': its energy failed", "numpy.inv", "differentiation = 'differences'"):
        held_by(inverted).find_working_point()


def test_a_law_that_gives_no_number_is_refused_even_where_gravity_adds_to_it():
    words = owned(energy=lambda self, f, q: "much", gravity_energy=lambda self, f, q, g: f[0].o[2])
    with refused(ModelError, "Owned 'own': its energy is 'much'; expected one real number (J)"):
        held_by(words).find_working_point()


def test_a_law_outside_its_domain_is_refused_without_warnings():
    below = owned(energy=lambda self, frames, q: np.log(-(frames[0].o @ frames[0].o) - 1.0))
    with refused(ModelError, "Owned 'own': its energy is not a finite number"):
        held_by(below).find_working_point()


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyError, TypeError])
def test_what_a_profile_raises_names_the_beam(kind):
    system = mse.MSystem("cantilever")
    system.add(mse.Beam("blade", length=1.0, width=raising(kind), height=0.002))
    system.connect("ground", "blade.0")
    with refused(ModelError, "Beam 'blade': width, a function, failed", kind.__name__, "called as width(s)"):
        system.find_working_point()


def test_errors_of_mse_in_a_function_of_the_users_name_whose_it_is():
    with refused(ModelError, "loop: law failed: Pose: ", "expected to be called as law(t)"):
        arguments.called("loop", "law", "law(t)", lambda t: Pose.dx("far"), 1.0)
    already = ModelError("loop: it says so itself")
    with pytest.raises(ModelError) as caught:
        arguments.called("loop", "law", "law(t)", raising(lambda _: already))
    assert caught.value is already
