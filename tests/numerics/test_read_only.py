"""Nothing that can be reached from a result can be written into: results share patterns, states and matrices."""

from __future__ import annotations

import contextlib
import copy
import pickle
import warnings
from collections.abc import Mapping
from dataclasses import is_dataclass

import numpy as np
import pytest
import scipy.sparse as sp

import mse
from models import four_wire_chain
from mse import Pose
from mse.model.assembly import Assembly
from mse.model.topology import Topology
from mse.numerics.tangent import Tangent
from test_pickling import KINDS, WITH_MATRICES, hanging

# what serves mse itself and is no part of a result
_INTERNAL = {"_factors", "system", "reduced"}  # the last has a case of its own


def jointed() -> mse.MSystem:
    s = mse.MSystem("jointed", gravity=(0, 0, -9.81))
    body = s.add(mse.RigidBody("body", mass=1.0, inertia=0.1, at=Pose.dz(-1.0)))
    for k, y in enumerate((-0.3, 0.3)):
        hinge = s.add(mse.Revolute(f"hinge{k}", axis=(0, 1, 0), damping=0.1))
        s.clamp(s.ground, hinge.frame(1), Pose((0, y, 0)))
        s.clamp(body.frame(0), hinge.frame(0), Pose((0, y, 1)))
    push = s.add(mse.ForceActuator("push"))
    s.clamp(s.ground, push.frame(0))
    s.clamp(body.frame(0), push.frame(1))
    return s


MAKERS = {
    "exact": lambda: hanging("exact"),
    "elements": lambda: hanging("elements"),
    "joints": jointed,
    "links": lambda: four_wire_chain(2, driven=True),
}
OTHERS = {
    "reduced": lambda s, wp, linear: linear.reduced[0],
    "within": lambda s, wp, linear: wp.linearize(within=["mass"]),
    "loads": lambda s, wp, linear: s["fiber"].internal_forces(wp),
    "updated": lambda s, wp, linear: wp.update({"gravity": (0.0, 0.1, -9.7)}),
}


def cases():
    for make in MAKERS:
        for name in KINDS | WITH_MATRICES | OTHERS:
            if name == "system":
                continue
            if make == "exact" and name not in KINDS | {"updated": None}:
                continue
            if make in ("joints", "links") and name in ("reduction", "within", "loads", "instability"):
                continue
            yield make, name


@pytest.fixture(scope="module")
def made():
    out = {}
    for name, make in MAKERS.items():
        system = make()
        wp = system.find_working_point()
        out[name] = system, wp, wp.linearize()
    return out


def arrays_in(thing, path: str, seen: dict):
    """Every array and sparse matrix that public names, items and keys lead to."""
    if isinstance(thing, np.ndarray) or sp.issparse(thing):
        yield path, thing
        return
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, Mapping):
        for key in thing:
            yield from arrays_in(thing[key], f"{path}[{key!r}]", seen)
    elif isinstance(thing, tuple | list):
        for k, item in enumerate(thing):
            yield from arrays_in(item, f"{path}[{k}]", seen)
    names = set(getattr(thing, "_fields", ()))
    if is_dataclass(thing):
        names |= {n for n in (*dir(type(thing)), *vars(thing)) if not n.startswith("_")} - _INTERNAL
    for name in sorted(names):
        with contextlib.suppress(mse.MseError):  # what this one does not have
            value = getattr(thing, name)
            if isinstance(value, Mapping) or not callable(value):
                yield from arrays_in(value, f"{path}.{name}", seen)


def parts(found):
    return (found.data, found.indices, found.indptr) if sp.issparse(found) else (found,)


@pytest.mark.slow
@pytest.mark.parametrize("make, name", list(cases()))
def test_what_results_hold_is_read_only_or_made_for_who_asks(made, make, name):
    """What can be written to is made anew for each reading; so are matrices, whose arrays SciPy may replace."""
    given = (KINDS | WITH_MATRICES | OTHERS)[name](*made[make])
    for result in (given, copy.deepcopy(given), pickle.loads(pickle.dumps(given))):
        first, again = (list(arrays_in(result, name, {})) for _ in range(2))
        assert first
        for (path, one), (_, other) in zip(first, again, strict=True):
            for a, b in zip(parts(one), parts(other), strict=True):
                assert not a.flags.writeable or not np.shares_memory(a, b), path
            assert not sp.issparse(one) or one is not other, path


@pytest.mark.parametrize("way", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s)), lambda s: s])
def test_parameters_that_snapshots_share_are_read_only(way):
    system = way(hanging("elements"))
    for array in (system["mass"].inertia, system["mass"].parameters["inertia"], system.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 5.0
    wp = system.find_working_point()
    for array in (wp.system["mass"].inertia, wp.system.gravity, Topology(system).gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 5.0


def test_what_working_points_share_for_the_search_has_no_public_name(made):
    """Its arrays go to compiled code, which takes writable ones; variants share them."""
    for _, wp, _ in made.values():
        for name in (n for n in (*dir(type(wp)), *vars(wp)) if not n.startswith("_")):
            with contextlib.suppress(mse.MseError):  # what this one does not have
                assert not isinstance(getattr(wp, name), Topology | Assembly | Tangent), name


WRITES = {
    "eliminate_zeros": lambda m: m.eliminate_zeros(),
    "setdiag": lambda m: m.setdiag(7.0),
    "entry": lambda m: m.__setitem__((0, 0), 7.0),
    "row": lambda m: m.__setitem__((0, slice(None)), 7.0),
    "times": lambda m: m.__imul__(7.0),
    "data": lambda m: m.data.__setitem__(0, 7.0),
    "sort_indices": lambda m: m.sort_indices(),
    "sum_duplicates": lambda m: m.sum_duplicates(),
    "smaller": lambda m: m.resize(1, 1),
    "larger": lambda m: m.resize(100, 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("write", WRITES)
def test_what_scipy_does_in_place_harms_nothing(made, write):
    """Each is refused or changes only the matrix that was read; updates and analyses go on as if nothing was."""
    _, wp, linear = made["elements"]
    expected = wp.update({"gravity": (0.0, 0.1, -9.7)})
    places = [(wp, "stiffness")] + [
        (linear, n) for n in ("full_stiffness", "M", "K", "Lambda", "full_mass", "full_damping", "force")
    ]
    for result, name in places:
        before = getattr(result, name).toarray()
        with contextlib.suppress(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
            WRITES[write](getattr(result, name))
        assert np.array_equal(getattr(result, name).toarray(), before)
    again = wp.update({"gravity": (0.0, 0.1, -9.7)})
    assert np.array_equal(again.stiffness.toarray(), expected.stiffness.toarray())
    assert np.array_equal(again.state.o, expected.state.o)
    assert np.array_equal(wp.linearize().K.toarray(), linear.K.toarray())


def test_what_users_give_stays_theirs():
    """Whatever becomes of their arrays afterwards, the model keeps what it was given."""
    inertia, place, m, k = np.eye(3), np.ones(3), np.eye(2), np.array([[2.0, -1.0], [-1.0, 2.0]])
    sparse, f = sp.csr_matrix(k), np.array([0.1, 0.2])
    body, pose = mse.RigidBody("body", mass=1.0, inertia=inertia), Pose(place)
    dense = mse.LinearModel.from_matrices(m, None, k)
    model = mse.LinearModel.from_matrices(sp.csr_matrix(m), None, sparse)
    response = model.frequency_response(f)
    free = np.diag([2.0] * 3 + [1.0] * 3)
    plate = mse.FlexibleBody("plate", M=free, K=np.zeros((6, 6)), interfaces={"top": Pose()})
    held = plate.M.copy()
    for given in (inertia, place, m, k, sparse.data, f, free):
        given[...] = 9.0
        assert given.flags.writeable
    assert np.array_equal(body.inertia, np.eye(3)) and np.array_equal(pose.o, np.ones(3))
    assert np.array_equal(plate.M, held)
    for one in (dense, model):
        assert np.array_equal(one.M.toarray(), np.eye(2))
        assert np.array_equal(one.K.toarray(), [[2.0, -1.0], [-1.0, 2.0]])
    assert np.array_equal(response.frequencies_hz, [0.1, 0.2])
