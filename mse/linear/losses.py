"""Loss factors of a linear model: from its elements or from the user, and the refusal of analyses that cannot have any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..elements import losses
from ..elements.base import MObject
from ..elements.loss_laws import EXPECTED, NEGATIVE, LossGiven, LossLaw, as_law
from ..elements.records import GRAVITY, LOADED
from ..errors import ModelError, UnknownNameError, nearest_name
from ..validation.arguments import mapping, real, refusal, shown
from .feeding import refuse_feeding
from .law_stiffness import Factor, LawEntries, law_entries

if TYPE_CHECKING:
    from ..model.topology import Element
    from ..statics.working_point import WorkingPoint
    from .linear_model import LinearModel
    from .stiffness_parts import StiffnessParts

Label = tuple[str, str]

_NOTHING = 1e-9  # of a stiffness: what its weight changes by rounding, see tests/linear/test_losses.py


# -- of elements ------------------------------------------------------------------------------------------------------
def of_elements(wp: WorkingPoint, chosen: Callable[[Element], bool] | None) -> dict[Label, Factor]:
    """Loss factors and laws by (object, mechanism) of those elements that have any, as their parameters are."""
    topology = wp._topology
    found: dict[Label, Factor] = {}
    lossy = [el for el in (topology.elements[k] for k in topology.lossy) if chosen is None or chosen(el)]
    for el in lossy:
        if not el.obj.defines("components"):
            own = _of_object(el.obj, wp)
            if own and el.obj.defines("gravity_energy") and GRAVITY not in el.obj.parts:
                at = wp._configuration
                _refuse_weight(el.obj, at.frames(el.frames), at.q[el.coordinates])
            _join(topology.label, found, el.owner, {m: own.get(m, 0.0) for m in el.obj.mechanisms})
    found = {label: eta for label, eta in found.items() if eta}
    for el in lossy:
        if el.obj.defines("components"):
            _join(topology.label, found, el.owner, _of_object(el.obj, wp))
    return found


def _of_object(obj: MObject, wp: WorkingPoint) -> dict[str, Factor]:
    """Loss factors and laws by mechanism, those that follow from a section for its tension at the working point."""
    own = losses.factors(obj._values["loss"], obj.mechanisms)
    if not any(isinstance(law, LossLaw) and law.by_section for law in own.values()):
        return own
    section = obj.loss_section(_tension(obj, wp))
    try:
        bound = {m: law.of_section(section, m) if isinstance(law, LossLaw) else law for m, law in own.items()}
    except ModelError as error:
        raise ModelError(f"{obj.label}: loss: {error}") from None
    return {m: law for m, law in bound.items() if law}


def _tension(obj: MObject, wp: WorkingPoint) -> float:
    """The mean tension (N) along a wire or beam."""
    if not obj.defines("components"):
        return wp.tensions[obj.path]
    loads = obj.internal_forces(wp)
    return float(np.trapezoid(loads.forces[:, 0], loads.s) / np.ptp(loads.s))


def _join(who: str, found: dict[Label, Factor], owner: str, own: Mapping[str, Factor]) -> None:
    for mechanism, eta in own.items():
        if found.setdefault((owner, mechanism), eta) != eta:
            raise ModelError(
                f"{who}: the components of {owner!r} have the loss factors {found[owner, mechanism]:g} and {eta:g} in "
                f"{mechanism}, which is one part of its stiffness; expected one loss factor; give each an object of its own"
            )


def _refuse_weight(obj: MObject, frames: list, q: np.ndarray) -> None:
    """Refuse a loss factor where weight adds stiffness to the same part: gravity loses nothing."""
    with_weight, without = (obj.evaluate(frames, q, g, 2)[2].sum(axis=0) for g in (np.array([0.0, 0.0, -1.0]), None))
    change = np.abs(with_weight - without).max(initial=0.0)
    if change > _NOTHING * np.abs(without).max(initial=0.0):
        raise ModelError(
            f"{obj.label}: its loss is {obj._values['loss']}, and its weight has a share of its stiffness "
            f"{' + '.join(obj.parts)}; expected elastic stiffness alone, since gravity loses nothing; name its parts, among them "
            "'gravity', by stiffness_parts, or give its weight to another object"
        )


# -- of a model -------------------------------------------------------------------------------------------------------
def loss_factors(model: LinearModel, loss: Mapping[str | Label, LossGiven] | None) -> dict[Label, Factor]:
    """Loss factor or law of every (object, mechanism) that has one: from the elements, or from the user instead."""
    if loss is None:
        refuse_feeding(model, _of_stiffness(model, model.losses))
        return dict(model.losses)
    loss = mapping(model.name, "loss", loss, "loss factors by object, such as {'wire': 1e-4}")
    if not loss:
        return {}
    elastic: dict[str, list[str]] = {}
    for owner, mechanism in model.parts:
        elastic.setdefault(owner, [])
        if mechanism not in LOADED:
            elastic[owner].append(mechanism)
    # some members have mechanisms of their own, whatever the parts of K are called
    elastic |= {m.label: list(m.mechanisms) for m in model.members if m.mechanisms}
    known = _known(elastic)
    out: dict[Label, Factor] = {}
    # a mechanism's own factor goes before that of several, and this before its object's
    for key, eta in sorted(
        loss.items(), key=lambda item: (isinstance(item[0], tuple), len(known.get(item[0], ())) == 1)
    ):
        out |= dict.fromkeys(_parts_of(model, key, elastic, known), _given(model, key, eta))
    refuse_feeding(model, _of_stiffness(model, out))
    return out


def _given(model: LinearModel, key: str | Label, eta: LossGiven) -> Factor:
    """A loss factor or law from what a user gives; laws that follow from a section have none here."""
    what = f"loss of {_spelled(key)}"
    try:
        found = as_law(eta)
    except ModelError as error:
        raise ModelError(f"{model.name}: {what}: {error}") from None
    if found is None:
        negative = real(eta) is not None
        raise refusal(model.name, what, eta, EXPECTED, remedy=NEGATIVE if negative else "")
    if isinstance(found, LossLaw) and found.by_section:
        raise refusal(
            model.name, what, found, "a law of the frequency alone",
            remedy="set it as the parameter loss of its beam, or give the zener(...) of a Thermoelastic",
        )  # fmt: skip
    return found


def weights(model: LinearModel, factors: Mapping[Label, Factor]) -> dict[Label, complex]:
    """The weights ``1 + i eta`` of parts of K with a loss factor, but for members whose dynamic stiffness has its loss itself."""
    return {
        part: complex(1.0, eta) for part, eta in _of_stiffness(model, factors).items() if not isinstance(eta, LossLaw)
    }


def law_stiffness(model: LinearModel, parts: StiffnessParts, factors: Mapping[Label, Factor]) -> LawEntries | None:
    """Those ``parts`` of its stiffness that have a law; None where none has."""
    return law_entries(parts, _of_stiffness(model, factors))


def _of_stiffness(model: LinearModel, factors: Mapping[Label, Factor]) -> dict[Label, Factor]:
    own = {m.label for m in model.members if m.mechanisms}
    return {part: eta for part, eta in factors.items() if eta and part[0] not in own}


def _known(elastic: Mapping[str, list[str]]) -> dict[Label, list[Label]]:
    """The parts that an (object, mechanism) names; ``bending`` is bending_y and bending_z."""
    return {
        (owner, name): [(owner, m) for m in named]
        for owner, mechanisms in elastic.items()
        for name, named in losses.groups(tuple(mechanisms)).items()
    }


def _spelled(key) -> str:
    return " / ".join(x if isinstance(x, str) else shown(x) for x in (key if isinstance(key, tuple) else (key,)))


def _parts_of(
    model: LinearModel, key, elastic: Mapping[str, list[str]], known: Mapping[Label, list[Label]]
) -> list[Label]:
    if key in known:
        return known[key]
    found = [(key, m) for m in elastic[key]] if isinstance(key, str) and key in elastic else []
    if not found and isinstance(key, tuple) and key[-1] in LOADED and key[0] in elastic:
        raise ModelError(
            f"{model.name}: loss of {_spelled(key)}; expected an elastic stiffness, and {key[-1]} stores no elastic energy; "
            f"choose among {', '.join(_spelled(k) for k in known if k[0] == key[0]) or 'those of other objects'}"
        )
    if not found:
        names = map(_spelled, known) if isinstance(key, tuple) else [owner for owner, m in elastic.items() if m]
        raise UnknownNameError(
            f"{model.name}: loss names no stiffness {_spelled(key)!r}{nearest_name(_spelled(key), list(names))}"
        )
    return found


def told(factors: Mapping[Label, Factor], most: int = 4) -> str:
    """Loss factors in words: ``wire (axial 0.001, torsion 0.002), blade (bending_y 0.0002) and 3 more objects``."""
    by_object: dict[str, dict[Factor, list[str]]] = {}
    for (owner, mechanism), eta in factors.items():
        by_object.setdefault(owner, {}).setdefault(eta, []).append(mechanism)
    names = []
    for owner, of in list(by_object.items())[:most]:
        each = [f"{'/'.join(mechanisms)} {eta:g}" for eta, mechanisms in of.items()]
        names.append(f"{owner} ({', '.join(each)})")
    more = len(by_object) - most
    return ", ".join(names) + (f" and {more} more object{'s' if more > 1 else ''}" if more > 0 else "")


def refuse_losses(model: LinearModel, what: str) -> None:
    """Refuse a model with loss factors where only constant real matrices have a place."""
    if model.losses:
        raise ModelError(
            f"{model.name}: {told(model.losses)} have a loss factor, which no {what} can have; expected no loss factors; use "
            "linear.rational(low_hz, high_hz), which has them in a band as springs and dampers, linear.modal_damping(), which "
            "has the Q of each mode, or linear.lossless, the same model without them"
        )
