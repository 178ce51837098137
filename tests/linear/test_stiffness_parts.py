"""Parts of stiffness: one interface, whatever they are made of."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from models import four_wire_chain
from mse import Pose
from mse.errors import UnknownNameError
from mse.linear.independent import augmented
from mse.linear.pattern import linear_pattern
from mse.linear.stiffness_parts import JoinedParts, StiffnessParts, TransformedParts
from mse.model.assembly import Assembly
from mse.model.topology import Topology


def swing() -> mse.MSystem:
    """A plate on four wires, and an arm with a spring on a hinge below it."""
    s = mse.MSystem("swing")
    top = s.add(four_wire_chain(1).copy("top"))
    s.clamp(s.ground, top.ground)
    hinge = s.add(mse.Revolute("hinge", axis=(1, 0, 0), stiffness=0.1))
    arm = s.add(mse.RigidBody("arm", mass=0.5, inertia=0.01))
    s.clamp(top["plate0"].frame(0), hinge.frame(1), Pose((0.05, 0, 0)))
    s.clamp(arm.frame(0), hinge.frame(0), Pose((0, 0.02, 0.2)))
    return s


def linked() -> mse.LinearModel:
    """A chain whose upper plate is driven: all below stands beyond a link, whose load turns."""
    return four_wire_chain(2, driven=True).find_working_point().linearize()


def given() -> mse.LinearModel:
    return mse.LinearModel.from_matrices(np.eye(3), None, [[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])


def composed() -> mse.LinearModel:
    point = swing().find_working_point()
    return mse.compose("both", [point.linearize(within=name) for name in ("top", ["hinge", "arm"])])


def condensed() -> mse.LinearModel:
    model = (
        four_wire_chain(3).find_working_point().linearize(within=["plate1", "plate0", "wire1_0", "wire1_1", "wire1_2"])
    )
    return mse.reduce_model(model, ["plate1.center"], modes=3)[0]


KINDS: dict[str, Callable[[], mse.LinearModel]] = {
    "of elements": lambda: swing().find_working_point().linearize(),
    "beyond links": linked,
    "of some elements": lambda: swing().find_working_point().linearize(within="top"),
    "given as matrices": given,
    "composed": composed,
    "in independent coordinates": lambda: swing().find_working_point().linearize().reduced[0],
    "with multipliers": lambda: augmented(swing().find_working_point().linearize())[0],
    "of Craig and Bampton": condensed,
}


@pytest.fixture(scope="module", params=KINDS)
def model(request) -> mse.LinearModel:
    return KINDS[request.param]()


def near(found: sp.spmatrix, expected: np.ndarray, scale: float) -> None:
    np.testing.assert_allclose(found.toarray(), expected, rtol=0, atol=2e-13 * scale)


@pytest.mark.slow
def test_all_kinds_of_parts_offer_the_same(model):
    """Single parts, entries, mechanisms, weights, other coordinates: each held to the sum of the parts one by one."""
    parts = model.parts
    n, count = parts.size, len(parts)
    assert isinstance(parts, StiffnessParts) and count and tuple(parts) == parts.labels
    assert n == model.size + len(model.prescribed)
    single = [parts[label].toarray() for label in parts]
    total, scale = sum(single), max(np.abs(k).max() for k in single)
    near(model.full_stiffness, total, scale)
    near(parts.total(), total, scale)
    near(parts.total({}), total, scale)

    part, rows, cols, values = parts.entries()
    for k, own in enumerate(single):
        on = part == k
        near(sp.csr_matrix((values[on], (rows[on], cols[on])), shape=(n, n)), own, scale)
    for mechanism, k in parts.mechanisms().items():
        near(k, sum(own for label, own in zip(parts, single, strict=True) if label[1] == mechanism), scale)

    weights = {label: 1.0 + 0.3 * k for k, label in enumerate(parts)}
    near(parts.total(weights), sum(w * k for w, k in zip(weights.values(), single, strict=True)), count * scale)
    complex_weights = {label: w + 0.1j * w**2 for label, w in weights.items()}
    expected = sum(w * k for w, k in zip(complex_weights.values(), single, strict=True))
    near(parts.total(complex_weights), expected, count**2 * scale)

    near(parts.at(np.arange(n)[::-1], n).total(), total[::-1, ::-1], scale)
    moved = parts.at(np.where(np.arange(n) == 1, -1, np.arange(n) + 2), n + 2)
    assert moved.labels == parts.labels
    for label, own in zip(parts, single, strict=True):
        shifted = np.zeros((n + 2, n + 2))
        shifted[2:, 2:] = own
        shifted[3], shifted[:, 3] = 0.0, 0.0
        near(moved[label], shifted, scale)
    near(parts.restricted(n - 1).total(), total[:-1, :-1], scale)
    near(parts.restricted(n - 1)[parts.labels[-1]], single[-1][:-1, :-1], scale)
    assert parts.restricted(n).size == n

    with pytest.raises(UnknownNameError, match="no stiffness part"):
        parts["nothing"]
    with pytest.raises(UnknownNameError, match="nothing / axial"):
        parts.total({("nothing", "axial"): 2.0})
    with pytest.raises(ValueError, match="read-only"):
        values[:] = 0.0


def test_what_adds_up_in_an_entry_is_not_less_than_its_parts(model):
    parts = model.parts
    expected = sum(abs(k) for k in parts.values()).toarray()
    found = parts._uncanceled().toarray()
    assert np.all(found >= (1.0 - 1e-13) * expected)
    if not isinstance(parts, TransformedParts | JoinedParts):  # in other coordinates the terms of each part count, too
        _, rows, cols, values = parts.entries()
        near(sp.csr_matrix((abs(values), (rows, cols)), shape=found.shape), found, found.max())


def test_modes_beside_joints_do_not_look_at_each_part(monkeypatch):
    model = swing().find_working_point().linearize()
    monkeypatch.setattr(TransformedParts, "__getitem__", lambda *_: pytest.fail("one part was transformed by itself"))
    assert np.all(np.isfinite(model.modes().uncertainties_hz))


def test_all_kinds_of_parts_are_copied_and_sent_to_other_processes(model):
    expected = model.parts.total().toarray()
    for other in (copy.deepcopy(model.parts), pickle.loads(pickle.dumps(model.parts))):
        assert other.labels == model.parts.labels
        near(other.total(), expected, np.abs(expected).max())
        near(sum(other[label] for label in other), expected, max(np.abs(k).max() for k in model.parts.values()))


def test_search_and_linear_model_assemble_by_one_pattern():
    point = swing().find_working_point()
    topology = Topology(point.system)
    assembly = Assembly(topology, topology.unit)
    assert linear_pattern(assembly).pattern is assembly.pattern
    # without the sum that the search has left, the elements add up to the same
    parts = point.linearize().parts
    n = topology.size
    near(parts.total(dict.fromkeys(parts, 1.0))[:n, :n], point.stiffness.toarray(), abs(point.stiffness).max())


def test_asking_whether_a_part_is_there_makes_no_matrix(monkeypatch):
    parts = mse.LinearModel.from_matrices([[1.0]], [[0.0]], [[2.0]]).stiffness_parts
    (label,) = parts
    monkeypatch.setattr(parts.__class__, "_matrix", None)
    assert label in parts
    assert ("nobody", "axial") not in parts
    assert "axial" not in parts
