"""Elements whose laws are records, as programs for :mod:`mse.kernels.by_record`: one program for each law of each element.

A law that asks conditions has a record for each combination of answers.  A step begins with the records that serve there.  If an
answer changes within the step, numpy makes this step, and the next one begins with the record of the new answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..elements.law_record import Law, Shape
from ..elements.recorded_laws import Together
from ..kernels import by_record
from ..kernels.acting import DRIVING, ENERGIES_AND_DAMPERS, STORING
from ..kernels.by_address import InMemory
from ..model.configuration import Configuration
from ..model.groups import Group
from .flows import FlowPart
from .inertia import GroupInertia


class LawPart:
    """One law of all elements of a class, with the numbers of their ``frames`` (E, F)."""

    def __init__(self, law: str, frames: np.ndarray, together: Together, conservative: bool = True):
        size, gravity, velocities = together.shape.size, -1, 12 * frames.shape[1]
        # column where velocities are given, column of forces, factor on forces or on values of rows; order of derivatives; and
        # how powers count, for which rows have no kind
        *form, self._order, self.kind = {
            "energy": (gravity, 1, -1, 1, ENERGIES_AND_DAMPERS if conservative else DRIVING),
            "dissipation": (velocities, 1, -1, 1, ENERGIES_AND_DAMPERS),
            "resisted": (velocities, 1, -1, 0, ENERGIES_AND_DAMPERS),
            "power": (velocities + size, 0, 1, 0, DRIVING),
            "forces": (gravity, 0, 1, 0, STORING if conservative else DRIVING),
            "held": (velocities, 0, 1, 0, -1),
            "rolled": (velocities, 0, 0, 0, -1),
        }[law]
        self.law, self.frames, self._together, self._form = law, frames, together, tuple(form)
        self._programs: dict[Law, tuple] = {}
        self._kept: dict[tuple[int, Law], InMemory] = {}

    @property
    def rows(self) -> int:
        """How many rows each element has, if it is a law of rows."""
        return self._together.shape.values // (2 + self._together.shape.size)

    def served(self, at: Configuration, velocities: np.ndarray) -> list[tuple[Law, np.ndarray]] | None:
        """The record that serves each element, and its inputs, at velocities (frames, 6); None where one has no record."""
        count = len(self.frames)
        rows = np.concatenate([x[self.frames].reshape(count, -1) for x in (at.o, at.U)], axis=1)
        given = velocities[self.frames].reshape(count, -1)
        if self.law in ("energy", "forces"):
            given = np.tile(at.gravity, (count, 1))
        elif self.law == "power":
            given = np.hstack([np.zeros_like(given), given])
        return self._together.serving(rows, given, self._order)

    @property
    def stale(self) -> bool:
        """Whether something that the law reads has changed since it was recorded."""
        return self._together.stale

    def slopes(self, at: Configuration) -> np.ndarray:
        """Slopes (E, m, n) of rows at rest."""
        size, found = self._together.shape.size, self.served(at, np.zeros((len(at.o), 6)))
        values = [law.run(inputs[None], 0)[0][0, 2 * self.rows :] for law, inputs in found]
        return np.reshape(values, (len(found), self.rows, size))

    def serve(self, at: Configuration, velocities: np.ndarray, addresses: np.ndarray, missed: np.ndarray) -> bool:
        """Put addresses (E,) of programs that serve; False where there are none.  Programs tell by ``missed`` (1,)."""
        found = self.served(at, velocities)
        if found is None:
            return False
        for k, (law, inputs) in enumerate(found):
            if law not in self._programs:
                program, answers = law.guarded(self._order)
                self._programs[law] = (program.alone(), answers) if not program.outside else ()
            if not self._programs[law]:
                return False
            arrays, answers = self._programs[law]
            if (k, law) not in self._kept:
                self._kept[k, law] = by_record.law(arrays, inputs, answers, missed, self._form)
            addresses[k] = self._kept[k, law].at
        return True


def pairs_on(bodies: np.ndarray) -> np.ndarray:
    """The bodies that each element (E, F) is on, two by two (E, P, 2): from the lowest number on, then 0 where there is no other.

    Elements on fewer bodies than others have their first one again, which changes nothing.
    """
    own = [sorted({*one} - {0}) for one in bodies.tolist()]
    out = np.zeros((len(own), max((len(found) + 1) // 2 for found in own), 2), dtype=int)
    for pairs, found in zip(out, own, strict=True):
        pairs[:, 0] = found[0]
        pairs.ravel()[: len(found)] = found
    return out


def sides_on(bodies: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Which of the bodies of its element (E, P, 2) each frame (E, F) is on, -1 for the ground."""
    own = zip(bodies.tolist(), pairs.reshape(len(pairs), -1).tolist(), strict=True)
    return np.array([[found.index(b) if b else -1 for b in one] for one, found in own])


def _rows(law: str, objects: Sequence, frames: np.ndarray, count: int) -> LawPart:
    return LawPart(law, frames, Together(objects, law, Shape(frames.shape[1], 0, count).of(law)))


def held_by(g: Group) -> LawPart:
    """The constraints of elements of a class."""
    return _rows("held", [el.obj for el in g.elements], g.frames, g.constraint_count)


def rolled_by(flow: FlowPart) -> LawPart:
    """The flow constraints of elements of a class."""
    return _rows("rolled", flow.objects, flow.frames, flow.count)


def exerted_by(g: Group | None, part: GroupInertia | None) -> list[LawPart] | None:
    """The laws by which elements of a class exert forces, from their group and from what damps; None where one has no records."""
    found = []
    if g is not None and g.cls.has_energy():
        if g.records("energy") is None and not g.cls.defines("forces"):
            return None
        for conservative in (True, False):
            law = "forces" if g.cls.defines("forces") else "energy"
            if len(own := np.flatnonzero(g.without_energy != conservative)):
                objects, shape = [g.elements[k].obj for k in own], Shape(g.frames.shape[1], 0)
                found.append(LawPart(law, g.frames[own], Together(objects, law, shape.of(law)), conservative))
    if part is not None and part.has_damping:
        if part.cls.damping_kernel is not None:
            return None
        resisted = () if part.cls.defines("dissipation") or not part.cls.defines("damping_matrix") else ("resisted",)
        laws = [*filter(part.cls.defines, ("dissipation", "power")), *resisted]
        found += [LawPart(law, part.group.frames, part.recorded(law)) for law in laws]
    return found
