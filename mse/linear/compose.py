"""Joining linear models of subsystems at their interface frames, without assembling the elements again.

Two bodies clamped together move as one.  If the second body turns about another point than the first, its displacement is
``x2 = T x1`` to first order and gains ``a x (a x r)/2`` to second order.  The second model has a constant force f there (its
``affine`` term, the reaction of the other parts).  So each clamp adds the lever-arm stiffness ``([f]x [r]x + [r]x [f]x)/2``,
with the sign of f as a reaction, to the first body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..elements.coordinates import refuse_clash
from ..elements.records import GEOMETRIC
from ..errors import ModelError
from ..kernels.rotations import cross_matrix
from ..model.parameter_record import ParameterRecord
from ..numerics.blas_threads import one_thread
from ..numerics.rank import rank, takes_part
from ..numerics.tangent import slope_lengths
from ..pose import IDENTITY, Pose
from ..validation.arguments import find, items, new_name, refusal, shown
from .interface_frames import InterfaceFrame
from .linear_model import LinearModel
from .members import through
from .skew_parts import joined
from .stiffness_parts import ListedParts, StiffnessParts

# Allowed angle in rad between clamped frames (tests/linear/test_compose.py passes with 0.01 and 100 times this).
_TURNED = 1e-9


@one_thread
def compose(
    name: str, models: Sequence[LinearModel], clamps: Sequence[tuple[str, str] | tuple[str, str, Pose]] = ()
) -> LinearModel:
    """Join linear models to one: bodies of equal name become the same body, ``clamps`` join frames of other bodies.

    Linearize a subsystem with its ground constrained by a :class:`mse.Fixed` joint that is not part of it, and with loads
    in place of what it will carry.

    Parameters
    ----------
    name : str
        Name of the model made.
    models : sequence of LinearModel
        Models from :meth:`.WorkingPoint.linearize` with ``within``, or from :func:`mse.reduce_model`.
    clamps : sequence of tuple
        Pairs of names of interface frames, with the pose of the second as seen from the first where they do not coincide.  The
        coordinates of the first frame's body stay.

    Returns
    -------
    LinearModel
        The model of the whole.

    Raises
    ------
    ModelError
        An object or a channel is in two models, frames are turned against each other, or a clamp joins a body to itself.
    UnknownNameError
        A clamp names a frame that no model has.

    Examples
    --------
    >>> chain = mse.MSystem("chain")
    >>> for k in range(2):
    ...     mass = chain.add(mse.RigidBody(f"mass{k}", mass=1.0, inertia=1.0, at=mse.Pose.dz(-1.0 - k)))
    ...     above = "mass0.center" if k else chain.ground
    ...     spring = chain.add(mse.Spring(f"spring{k}", length=0.9, stiffness=200.0), between=(above, mass))
    >>> point = chain.find_working_point()
    >>> upper, lower = point.linearize(within=["spring0", "mass0"]), point.linearize(within=["spring1", "mass1"])
    >>> whole = mse.compose("whole", [upper, lower])
    >>> bool(np.allclose(whole.modes().frequencies_hz, point.linearize().modes().frequencies_hz))
    True
    """
    who = f"compose({new_name('compose', 'name', name)!r})"
    models = items(who, "models", models, LinearModel, "a list of linear models, as linearize(within=...) makes them")
    if isinstance(clamps, tuple) and clamps and all(isinstance(c, str) for c in clamps):
        raise refusal(who, "clamps", clamps, "a list of pairs", remedy=f"write [{shown(clamps)}]")
    clamps = items(
        who, "clamps", clamps, tuple | list, "a list of pairs of frames' names, with a Pose if they are apart"
    )
    for clamp in clamps:
        good = len(clamp) in (2, 3) and all(isinstance(c, str) for c in clamp[:2])
        if not good or not isinstance((*clamp, IDENTITY)[2], Pose):
            raise refusal(who, "a clamp", clamp, "two names of frames, and a Pose if they are apart")
    if not models:
        raise refusal(who, "models", models, "at least one")
    whole = _Whole(name, models)
    for first, second, *pose in clamps:
        whole.clamp(first, second, pose[0] if pose else IDENTITY)
    return whole.result()


def _through(
    maps: Sequence[sp.csr_matrix], parts: Sequence[StiffnessParts]
) -> list[tuple[tuple[str, str], sp.spmatrix]]:
    """The named parts of several models on the coordinates of the whole; each model has its own map to these."""
    return [(label, t.T @ k @ t) for t, own in zip(maps, parts, strict=True) for label, k in own.items()]


def _counted(model: LinearModel) -> set[str]:
    """Paths of the objects that a model is made of and that have mass, stiffness or damping in it."""
    paths = {member.label for member in model.members if member.motion.nnz}
    for parts in (model.parts, model.dampings):
        number, _, _, values = parts.entries()
        paths.update(parts.labels[k][0] for k in np.unique(number[values != 0.0]))
    massive = model.M.diagonal() != 0.0
    paths.update(owner for owner, has in zip(model.owners, massive, strict=True) if has)
    # a body that only carries the mass of a beam belongs to another model, as do parts left with a name
    return paths & model.parameters.keys()


class _Whole:
    def __init__(self, name: str, models: list[LinearModel]):
        self.name, self.models = name, models
        channels = [c for m in models for c in (*(f"input {x}" for x in m.inputs), *(f"output {x}" for x in m.outputs))]
        double = {c for c in channels if channels.count(c) > 1}
        if double:
            raise ModelError(
                f"compose({name!r}): {sorted(double)[0]} is in two models; expected each object in one model only; give "
                "subsystems different names, or linearize other parts"
            )
        counted: dict[str, str] = {}
        for m in models:
            for path in sorted(_counted(m)):
                if path in counted:
                    raise ModelError(
                        f"compose({name!r}): the mass, stiffness or damping of {path} is in two models, {counted[path]!r} and "
                        f"{m.name!r}; expected each object in one model only, or it would count twice; give subsystems "
                        "different names, or linearize other parts"
                    )
                counted[path] = m.name
        known: dict[str, str] = {}
        for c in (c for m in models for c in m.coordinates):
            refuse_clash(f"compose({name!r})", known.setdefault(c, c), c)
        self.coordinates = list(known)
        self.owners = {c: o for m in models for c, o in zip(m.coordinates, m.owners, strict=True)}
        self.number = {c: k for k, c in enumerate(self.coordinates)}
        # numbers of each model's coordinates in the whole
        self.columns = [np.array([self.number[c] for c in m.coordinates], dtype=int) for m in models]
        self.bodies, self.scale = np.full(len(self.coordinates), -1), np.ones(len(self.coordinates))
        for m, columns in zip(models, self.columns, strict=True):
            # a body in two models has the same coordinates in both
            free = (m.bodies >= 0) & (self.bodies[columns] < 0)
            self.bodies[columns[free]] = self.bodies.max(initial=-1) + 1 + m.bodies[free]
            own = free | (m.bodies < 0)
            self.scale[columns[own]] = m.scale[own]
        self.frames: dict[str, InterfaceFrame] = {}
        for m, columns in zip(models, self.columns, strict=True):
            for label, f in m.interfaces.items():
                first = None if f.first is None else int(columns[f.first])
                self.frames.setdefault(label, InterfaceFrame(first, f.lever, f.U))
        self.force = np.zeros(len(self.coordinates))
        for m, columns in zip(models, self.columns, strict=True):
            if m.affine is not None:
                np.add.at(self.force, columns, m.affine)
        self.extra: list[tuple[np.ndarray, np.ndarray]] = []  # six coordinates, and the stiffness that a clamp adds
        self.into = sp.identity(len(self.coordinates), format="csr")
        self.gone: set[int] = set()

    def _frame(self, label: str) -> InterfaceFrame:
        return self.frames[find(f"compose({self.name!r})", "interface frame", label, self.frames)]

    def clamp(self, first: str, second: str, pose21: Pose) -> None:
        a, b = self._frame(first), self._frame(second)
        a = replace(a, lever=a.lever + a.U @ pose21.o, U=a.U @ pose21.U)
        turned = np.abs(a.U.T @ b.U - np.eye(3)).max()
        if turned > _TURNED:
            raise ModelError(
                f"compose({self.name!r}): frames {first!r} and {second!r} are turned by {turned:.3g} rad against each other; "
                "expected frames that coincide; linearize both models in the same orientation"
            )
        if a.first == b.first:
            raise ModelError(
                f"compose({self.name!r}): {first!r} and {second!r} are on the same body already; leave the clamp out"
            )
        if b.first is None:
            a, b = b, a
        n = len(self.coordinates)
        keep = np.ones(n)
        here = b.first + np.arange(6)
        keep[here] = 0.0
        t = sp.lil_matrix(sp.diags(keep))
        arm = a.lever - b.lever  # from the first body's point to the second's
        if a.first is not None:
            transport = np.eye(6)
            transport[:3, 3:] = -cross_matrix(arm)
            t[here[:, None], (a.first + np.arange(6))[None, :]] = transport
            f = self.force[here[:3]]
            # the energy slope is -f: W gains -f.(a x (a x r))/2
            term = -0.5 * (np.outer(f, arm) + np.outer(arm, f)) + (f @ arm) * np.eye(3)
            block = np.zeros((6, 6))
            block[3:, 3:] = term
            self.extra.append((a.first + np.arange(6), block))
        t = t.tocsr()
        self.into = (self.into @ t).tocsr()
        self.force = t.T @ self.force
        self.gone.update(here.tolist())
        for label, frame in self.frames.items():
            if frame.first == b.first:
                self.frames[label] = InterfaceFrame(a.first, frame.lever + arm, frame.U)

    def result(self) -> LinearModel:
        stay = np.array([k for k in range(len(self.coordinates)) if k not in self.gone], dtype=int)
        n = len(stay)
        names = [h for m in self.models for h in m.prescribed]
        width = n + len(names)
        offset, maps = n, []
        for m, columns in zip(self.models, self.columns, strict=True):
            q = self.into[columns][:, stay]
            w = sp.csr_matrix(
                (np.ones(len(m.prescribed)), (np.arange(len(m.prescribed)), offset - n + np.arange(len(m.prescribed)))),
                shape=(len(m.prescribed), len(names)),
            )
            maps.append(
                sp.bmat(
                    [[q, sp.csr_matrix((m.size, len(names)))], [sp.csr_matrix((len(m.prescribed), n)), w]], format="csr"
                )
            )
            offset += len(m.prescribed)
        place = np.full(len(self.coordinates), -1)
        place[stay] = np.arange(n)
        drive = sp.block_diag([m.drive for m in self.models], format="csr")
        drive_rate = sp.block_diag([m.drive_rate for m in self.models], format="csr")
        constraints, determined, self_stress = self._constraints(maps, n, names, abs(drive) + abs(drive_rate))
        frames = {k: replace(f, first=None if f.first is None else int(place[f.first])) for k, f in self.frames.items()}
        affine = self.force[stay]
        return LinearModel(
            name=self.name,
            coordinates=tuple(self.coordinates[k] for k in stay),
            owners=tuple(self.owners[self.coordinates[k]] for k in stay),
            bodies=self.bodies[stay],
            scale=self.scale[stay],
            full_mass=sum((t.T @ m.full_mass @ t for m, t in zip(self.models, maps, strict=True))).tocsr(),
            dampings=ListedParts.of(_through(maps, [m.dampings for m in self.models]), width, "damping"),
            parts=self._parts(maps, place, width),
            skew=joined(width, [(m.skew, t) for m, t in zip(self.models, maps, strict=True)]),
            prescribed=tuple(names),
            inputs=tuple(x for m in self.models for x in m.inputs),
            outputs=tuple(x for m in self.models for x in m.outputs),
            input_units=tuple(x for m in self.models for x in m.input_units),
            output_units=tuple(x for m in self.models for x in m.output_units),
            force=sp.hstack([t.T @ m.force for m, t in zip(self.models, maps, strict=True)], format="csr"),
            drive=drive,
            drive_rate=drive_rate,
            measure=sp.vstack([m.measure @ t for m, t in zip(self.models, maps, strict=True)], format="csr"),
            rate=sp.vstack([m.rate @ t for m, t in zip(self.models, maps, strict=True)], format="csr"),
            reaction=sp.block_diag([m.reaction for m in self.models], format="csr"),
            members=tuple(a for m, t in zip(self.models, maps, strict=True) for a in through(m.members, t)),
            affine=affine if np.abs(affine).max(initial=0.0) > 1e-9 * self._largest() else None,
            interfaces=frames,
            notes=tuple(dict.fromkeys(note for m in self.models for note in m.notes)),
            constraints=constraints,
            determined=determined,
            sharing=np.concatenate([m.sharing for m in self.models]),
            self_stress=self_stress,
            losses={label: loss for m in self.models for label, loss in m.losses.items()},
            parameters=ParameterRecord({path: p for m in self.models for path, p in m.parameters.items()}),
        )

    def _largest(self) -> float:
        return max((float(np.abs(m.affine).max(initial=0.0)) for m in self.models if m.affine is not None), default=0.0)

    def _parts(self, maps, place: np.ndarray, width: int) -> StiffnessParts:
        pieces = _through(maps, [m.parts for m in self.models])
        for at, block in self.extra:
            # the second body of a clamp may carry further clamps: their terms move on with it
            t = self.into[at][:, place >= 0]
            pieces.append(((self.name, GEOMETRIC), t.T @ sp.csr_matrix(block) @ t))
        return ListedParts.of(pieces, width)

    def _constraints(
        self, maps, n: int, names: list[str], drive: sp.csr_matrix
    ) -> tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix]:
        """Independent constraints of the whole, the coordinates that they determine, and self-stresses of redundant joints."""
        known = sp.block_diag([m.self_stress for m in self.models], format="csr")
        rows = sp.vstack([m.constraints @ t for m, t in zip(self.models, maps, strict=True)], format="csr")
        if not rows.shape[0]:
            return rows, np.zeros(0, dtype=int), known
        length = slope_lengths(rows[:, :n])
        length[length == 0.0] = 1.0
        rows = (sp.diags(1.0 / length) @ rows).tocsr()
        found = rank(rows[:, :n].tocsr())
        if not len(found.dependent):
            return rows, found.pivots, known
        more = (rows[:, n:].T @ found.self_stress).tocsr()
        part = np.abs(more).max(axis=1).toarray().ravel()
        driven = np.diff(drive.indptr) > 0
        blocked = np.flatnonzero(driven & takes_part(part / (part.max(initial=0.0) or 1.0)))
        if len(blocked):
            raise ModelError(
                f"{self.name}: with the models joined, {', '.join(names[k] for k in blocked)} is blocked or decided "
                "elsewhere already; expected clamps that leave driven motions free; leave out a clamp or a joint, or drive "
                "with motor='force'"
            )
        return rows[found.independent], found.pivots, sp.hstack([known, more], format="csr")
