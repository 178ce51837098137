"""Checks of the laws of users' own elements: numbers of the right shape, and no creation of energy.

The laws of mse's own classes are checked by the tests and called without checks.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..validation.arguments import called, numbers, shown
from ..validation.matrices import first_negative, negative, refuse_one_triangle
from .base import MObject
from .definitions import of_mse
from .flows import flow_count
from .recorded_laws import differentiated

if TYPE_CHECKING:
    import scipy.sparse as sp

# relative to the largest entry: less is rounding of energy differences, more is a slip in a formula
_UNSYMMETRIC = 1e-6
_RESIDUALS = {"m", "rad", ""}  # units
_WHY = {
    "mass_matrix": (
        "or motions would have negative kinetic energy",
        "a mass matrix is T^T m T, with T the motion of each mass; one that couples two motions, as of a wand, is at most "
        "sqrt(m0 m1) of the bodies that move so",
    ),
    "damping_matrix": ("or it would feed energy into motions", "use a controller if that is intended"),
}


_MAPS = {
    "input_map": "forces by inputs",
    "output_map": "outputs by coordinates",
    "reaction_map": "reaction outputs by residuals, then by rows of the flow constraint",
}


@functools.cache
def _is_own(cls: type[MObject], law: str) -> bool:
    """Whether a law of a class is a user's, and not one of mse's."""
    return not of_mse(next(c for c in cls.__mro__ if law in vars(c)))


def matrix(obj: MObject, law: str, frames: Sequence, q: np.ndarray, size: int, *flows: np.ndarray) -> np.ndarray | None:
    """``mass_matrix`` or ``damping_matrix`` (size, size) of an object, or None; :func:`negative_matrix` checks its signs.

    A ``fluctuation_matrix`` also depends on ``flows``, the steady rates of q.
    """
    if not _is_own(type(obj), law):
        return getattr(obj, law)(frames, q, *flows)
    spelled = f"{law}(frames, q{', v' * len(flows)})"
    found = called(obj.label, f"its {law}", spelled, getattr(obj, law), frames, q, *flows)
    return None if found is None else numbers(obj.label, f"its {law}", found, (size, size))


def matrices(objects: Sequence[MObject], law: str, places: Sequence[tuple], size: int) -> np.ndarray | None:
    """The matrices (E, size, size) of objects of one class, at frames and internal coordinates; None if no object has one."""
    found = [matrix(obj, law, frames, q, size, *v) for obj, (frames, q, *v) in zip(objects, places, strict=True)]
    if all(m is None for m in found):
        return None
    return np.array([np.zeros((size, size)) if m is None else m for m in found], dtype=float)


def constraint_units(obj: MObject, count: int) -> tuple[str, ...]:
    """The units of an object's residuals: "m", "rad", or "" if unknown."""
    units = obj.constraint_units
    if not isinstance(units, tuple | list) or len(units) != count or not set(units) <= _RESIDUALS:
        raise ModelError(
            f"{obj.label}: its constraint_units are {shown(units)}; expected 'm', 'rad' or '' (unknown) for each of "
            f"its {count} residuals; correct the units, or leave them out"
        )
    return tuple(units)


def negative_matrix(objects: Sequence[MObject], law: str, matrices: np.ndarray) -> str:
    """Description of the first of mass or damping matrices (E, n, n) of one class with a negative eigenvalue; "" if none.

    Unsymmetric masses are refused; of damping the symmetric part is looked at.  A negative one may be right beside others: a
    counterweight on a lever subtracts what the bodies at its ends have.  :func:`refuse_negative` looks at the sum.  Of mse's own
    classes that is so for kinetic coenergies, which couple motions.
    """
    if law != "kinetic" and not _is_own(type(objects[0]), law):
        return ""
    if law == "mass_matrix":
        for obj, m in zip(objects, matrices, strict=True):
            _refuse_unsymmetric(obj, f"its {law}", m)
    elif law == "damping_matrix":
        for obj, m in zip(objects, matrices, strict=True):
            refuse_one_triangle(obj.label, f"its {law}", m, "couplings between two coordinates must be mutual")
    matrices = 0.5 * (matrices + matrices.transpose(0, 2, 1))
    wrong = first_negative(matrices)
    return "" if wrong is None else f"{objects[wrong].label}: its {law} {negative(matrices[wrong])}"


def refuse_negative(found: str, law: str, total: sp.csr_matrix) -> None:
    """Refuse what :func:`negative_matrix` found if the sum of matrices of all objects has a negative eigenvalue, too."""
    why, remedy = _WHY[law]
    if found and (whole := negative(total)):
        raise ModelError(
            f"{found}, and the sum over all objects {whole}; expected a positive semi-definite sum, {why}; {remedy}"
        )


def skew_parts(matrices: np.ndarray) -> np.ndarray | None:
    """The skew parts of matrices (E, n, n), which are made symmetric in place; None if all are symmetric up to rounding."""
    turned = matrices.transpose(0, 2, 1)
    skew = 0.5 * (matrices - turned)
    if not skew.any():
        return None
    matrices[:] = 0.5 * (matrices + turned)
    sizes = np.abs(matrices + skew).max(axis=(1, 2), initial=0.0)
    skew[np.abs(skew).max(axis=(1, 2)) <= 0.5 * _UNSYMMETRIC * sizes] = 0.0
    return skew if skew.any() else None


def _refuse_unsymmetric(obj: MObject, what: str, m: np.ndarray) -> None:
    error = np.abs(m - m.T)
    worst = error.max(initial=0.0)
    if worst > _UNSYMMETRIC * np.abs(m).max(initial=0.0):
        i, j = np.unravel_index(int(error.argmax()), m.shape)
        raise ModelError(
            f"{obj.label}: {what} is {m[i, j]:.6g} at [{i}, {j}] and {m[j, i]:.6g} at [{j}, {i}]; expected a symmetric matrix"
        )


def coupling(obj: MObject, law: str, frames: Sequence, shape: tuple[int, int]) -> np.ndarray:
    """``input_map``, ``output_map`` or ``reaction_map`` of an object, checked for its shape."""
    if of_mse(type(obj)):  # a user's class may define channels without maps
        return getattr(obj, law)(frames)
    found = called(obj.label, f"its {law}", f"{law}(frames)", getattr(obj, law), frames)
    return numbers(obj.label, f"its {law}", found, shape, remedy=f"these are {_MAPS[law]}")


def reactions(obj: MObject, frames: Sequence) -> np.ndarray:
    """The reaction map (outputs, m) of an object: by residuals of its constraint, then by rows of its flow constraint."""
    count = obj.constraint_count + flow_count(obj)
    return coupling(obj, "reaction_map", frames, (len(obj.reaction_outputs), count))


def of_energy(obj: MObject, frames: Sequence, q: np.ndarray, gravity: np.ndarray, order: int) -> tuple:
    """Energy, gradient (n,) and stiffness parts (p, n, n) of an object without its power; None for orders above ``order``."""
    own_forces, own_stiffness = obj.defines("forces"), obj.defines("stiffness_parts")
    evaluated = obj.evaluate if obj.defines("evaluate") else functools.partial(differentiated, obj)
    energy, gradient, parts = evaluated(frames, q, gravity, 0)
    asked = 2 if order == 2 and not own_stiffness else 1 if order and not own_forces else 0
    if asked:
        _, gradient, parts = evaluated(frames, q, gravity, asked)
    gradient = -forces(obj, frames, q, gravity) if order and own_forces else gradient
    return energy, gradient, stiffness(obj, frames, q, gravity) if order == 2 and own_stiffness else parts


def forces(obj: MObject, frames: Sequence, q: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """The forces (n,) of an object."""
    if not _is_own(type(obj), "forces"):
        return obj.forces(frames, q, gravity)
    found = called(obj.label, "its forces", "forces(frames, q, gravity)", obj.forces, frames, q, gravity)
    return numbers(obj.label, "its forces", found, (6 * len(frames) + len(q),))


def stiffness(obj: MObject, frames: Sequence, q: np.ndarray, gravity: np.ndarray) -> list[np.ndarray]:
    """The stiffness parts (n, n) of an object, in the order of its ``parts``."""
    if not _is_own(type(obj), "stiffness_parts"):
        return list(obj.stiffness_parts(frames, q, gravity).values())
    usage = "stiffness_parts(frames, q, gravity)"
    found = called(obj.label, "its stiffness_parts", usage, obj.stiffness_parts, frames, q, gravity)
    parts = obj.parts[obj.has_field() :]
    if not isinstance(found, Mapping) or set(found) != set(parts):
        given = ", ".join(map(str, found)) if isinstance(found, Mapping) else type(found).__name__
        raise ModelError(
            f"{obj.label}: its stiffness_parts are {given or 'empty'}; expected a matrix for each of its parts "
            f"{', '.join(parts)}; return a dict, and list its keys in parts"
        )
    n = 6 * len(frames) + len(q)
    out = []
    for part in parts:
        k = numbers(obj.label, f"its stiffness_parts[{part!r}]", found[part], (n, n))
        if obj.conservative:
            _refuse_unsymmetric(obj, f"its stiffness_parts[{part!r}]", k)
        out.append(k)
    return out
