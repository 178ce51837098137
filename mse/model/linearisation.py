"""From a working point to a linear model: second-order energy about it, rigid links eliminated exactly.

All clusters of a unit are described about one point P, the unit's reference origin.  A cluster beyond links moves by
``g_root o g_1 o g_2 ...``; to first order its twist about P is the sum of theirs, ``x_c = q + sum E_l w_l``, with w_l
the motion of frame 0 relative to frame 1 along the axes of frame 1.  To second order the composition of two motions,
(d, a) first and (e, b) beyond it, adds ``a x e`` to the displacement and ``a x b/2`` to the rotation, so the load (F, T
about P) that a link carries gives the mixed energy ``-F.(a x e) - T.(a x b)/2``: the load turns with what carries it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..elements.base import FramePose
from ..errors import ModelError
from ..kernels.rotations import cross_matrix
from ..linear_model import ExactMember, InterfaceFrame, LinearModel, StiffnessParts
from .assembly import Assembly
from .joint_rows import JointRows
from .working_point import WorkingPoint, checked_map


def linearize(wp: WorkingPoint, within: Sequence[str] | None = None) -> LinearModel:
    """The linear model of a working point, or of some of its objects alone; see :meth:`WorkingPoint.linearize`."""
    t = wp.topology
    chosen = _chosen(wp, within)
    _refuse_unconservative(wp, chosen)
    o, u = wp.frame_poses
    n = t.size
    if t.links:
        clusters, reference = Assembly(t, t.cluster), wp.state.o[t.unit_of_cluster]
        tree = _LinkTree(wp, reference)
        z = tree.transformation(clusters)
    else:  # then clusters are units
        clusters, reference = wp.assembly, wp.state.o
        tree = _LinkTree(wp, reference)
        z = sp.identity(n, format="csr")

    labels, part, rows, cols, values = _stiffness_entries(wp, clusters, reference, chosen)
    if t.links:
        part, rows, cols, values = _congruence(part, rows, cols, values, z)
    extra = tree.geometric_entries(wp, len(labels), chosen)
    labels += extra[0]
    part, rows, cols, values = (
        np.concatenate([a, b]) for a, b in zip((part, rows, cols, values), extra[1:], strict=True)
    )
    joints = JointRows(wp, clusters, reference, z, chosen)
    width = z.shape[1] + len(joints.names)
    parts = StiffnessParts(labels, width, part, rows, cols, values)
    affine = None
    if within is not None or not wp.converged:
        affine = -(z.T @ _gradient(wp, clusters, reference, chosen))[:n]

    mass, damping = _element_matrices(wp, clusters, reference, chosen)
    if t.links or joints.names:
        z = sp.hstack([z, sp.csr_matrix((z.shape[0], len(joints.names)))], format="csr")
        mass, damping = ((z.T @ m @ z).tocsr() for m in (mass, damping))
    inputs, outputs, members = _Channels(width), _Channels(width), []
    for el in filter(chosen, t.elements):
        obj = el.obj
        exact = None
        if not (obj.inputs or obj.outputs or el.path in joints.held_by or obj.defines("exact_dynamics")):
            continue
        frames = [FramePose(o[f], u[f]) for f in el.frames]
        if obj.defines("exact_dynamics"):
            exact = obj.exact_dynamics(frames)
        if exact is not None:
            motion = (_on_clusters(el, exact.axes, clusters, o, reference) @ z).tocsr()
            members.append(ExactMember(el.owner, motion, exact.static, exact.stiffness, exact.clamped_count))
        if el.obj.role != "free":
            first = n + tree.first_held[el.path]
            if el.obj.inputs:
                inputs.hold(el, el.obj.inputs, first + np.arange(6))
            if el.obj.outputs:
                outputs.hold(el, el.obj.outputs, first + np.arange(6))
            continue
        if el.path in joints.held_by:
            numbers = width - len(joints.names) + joints.held_by[el.path]
            inputs.hold(el, tuple(el.obj.motors), numbers[list(el.obj.motors.values())])
            if el.obj.reaction_outputs:
                given = wp.multipliers[joints.all_numbers[el.path]]
                turning = el.obj.reaction_slopes(frames, wp.state.q[el.coordinates], given)
                outputs.weigh(
                    el, el.obj.reaction_outputs, checked_map(el, frames), numbers,
                    _on_clusters(el, turning, clusters, o, reference) @ z,
                )  # fmt: skip
        if el.obj.inputs:
            inputs.map(el, el.obj.inputs, _on_clusters(el, el.obj.input_map(frames).T, clusters, o, reference) @ z)
        if el.obj.outputs:
            outputs.map(el, el.obj.outputs, _on_clusters(el, el.obj.output_map(frames), clusters, o, reference) @ z)
    force, drive = inputs.matrices(n)
    measure, reaction = outputs.matrices(n)
    model = LinearModel(
        name=wp.name,
        coordinates=t.coordinate_names,
        owners=t.coordinate_owners,
        mass=mass,
        damping=damping,
        parts=parts,
        held=tree.held + joints.names,
        inputs=tuple(inputs.names),
        outputs=tuple(outputs.names),
        input_units=tuple(inputs.units),
        output_units=tuple(outputs.units),
        force=force.T.tocsr(),
        drive=drive.T.tocsr(),
        measure=measure,
        reaction=reaction,
        members=tuple(members),
        affine=affine,
        constraints=joints.constraints,
        determined=joints.determined,
    )
    return model if within is None else _alone(wp, model, chosen, within)


def _chosen(wp: WorkingPoint, within: Sequence[str] | None):
    """Which elements a linear model is made of; UnknownNameError for a name that nothing has."""
    if within is None:
        return lambda el: True
    names = [within] if isinstance(within, str) else list(within)
    for name in names:
        wp.system[name]  # refuses what is not there, with the nearest name
    prefixes = tuple(name + "." for name in names)
    return lambda el: el.owner in names or (el.owner + ".").startswith(prefixes)


def _gradient(wp: WorkingPoint, clusters: Assembly, reference: np.ndarray, chosen) -> np.ndarray:
    """Sum of the chosen elements' energy slopes and reactions on the clusters' coordinates (n,)."""
    o, u = wp.frame_poses
    total = np.zeros(clusters.size)
    for k, (g, row, memory) in enumerate(zip(clusters.groups, clusters.rows, wp.state.memory, strict=True)):
        _, slope, _ = clusters.evaluate(g, o, u, reference, wp.state.q, memory, wp.topology.gravity, 1, wp.load)
        on = (row >= 0) & np.array([chosen(el) for el in g.elements])[:, None]
        total += np.bincount(row[on], slope[on], clusters.size)
        if g.held:
            number = clusters.held_rows(k)[[chosen(el) for el in g.elements]].ravel()
            _, slopes = clusters.constraints(o, u, reference, wp.state.q, wp.state.memory)
            total += slopes[number].T @ wp.multipliers[number]
    return total


def _alone(wp: WorkingPoint, model: LinearModel, chosen, within) -> LinearModel:
    """The part of a model that concerns the chosen elements: the coordinates they touch, the links among them."""
    t = wp.topology
    o, u = wp.frame_poses
    n, width = model.size, model.size + len(model.held)
    used = np.zeros(width, dtype=bool)
    frames: dict[str, InterfaceFrame] = {}
    prefix = tuple(f"{name}." for name in ([within] if isinstance(within, str) else within))
    touched = {int(f) for el in filter(chosen, t.elements) for f in el.frames}
    touched |= {f for f, label in enumerate(t.frame_labels) if label.startswith(prefix)}
    for f in touched:
        unit = int(t.unit[f])
        if unit:
            used[6 * (unit - 1) : 6 * unit] = True
    for el in filter(chosen, t.elements):
        first = 6 * (t.units - 1)
        used[first + el.coordinates.start : first + el.coordinates.stop] = True
    links = [t.elements[link.element] for link in t.links]
    for k, el in enumerate(links):
        used[n + 6 * k : n + 6 * k + 6] = chosen(el)
    used[n + 6 * len(links) :] = True
    columns = np.full(width, -1)
    columns[used] = np.arange(np.count_nonzero(used))
    keep, free, held = np.flatnonzero(used), np.flatnonzero(used[:n]), np.flatnonzero(used[n:])
    for f in sorted(touched):
        unit = int(t.unit[f])
        first = int(columns[6 * (unit - 1)]) if unit else None
        frames[t.frame_labels[f]] = InterfaceFrame(first, o[f] - wp.state.o[unit], u[f])
    return replace(
        model,
        name=f"{wp.name}: {within if isinstance(within, str) else ', '.join(within)}",
        coordinates=tuple(model.coordinates[k] for k in free),
        owners=tuple(model.coordinate_owners[k] for k in free),
        mass=model.mass[keep][:, keep],
        damping=model.damping[keep][:, keep],
        parts=model.parts.at(columns, len(keep)),
        held=tuple(model.held[k] for k in held),
        force=model.force[keep],
        drive=model.drive[held],
        measure=model.measure[:, keep],
        reaction=model.reaction[:, held],
        members=tuple(replace(m, motion=m.motion[:, keep].tocsr()) for m in model.members),
        affine=model.affine[free],
        interfaces=frames,
        constraints=model.constraints[:, keep].tocsr(),
        determined=columns[model.determined],
    )


def _refuse_unconservative(wp: WorkingPoint, chosen) -> None:
    for el in filter(chosen, wp.topology.elements):
        if not el.obj.conservative:
            raise ModelError(
                f"{el.obj.label}: it has no energy (a torque along fixed axes, or a load that turns with its frame), so the "
                "stiffness about its working point is not symmetric; expected loads with an energy for a linear model; "
                "replace it by forces along world axes or by a preloaded spring"
            )


class _Channels:
    """Inputs or outputs as they are collected: names, units, and rows over all coordinates x = (q, w)."""

    def __init__(self, width: int):
        self.width = width
        self.names: list[str] = []
        self.units: list[str] = []
        self._maps: list[sp.csr_matrix] = []
        self._holds: list[sp.csr_matrix] = []

    def _name(self, el, channels) -> None:
        self.names += [f"{el.path}.{c.name}" for c in channels]
        self.units += [c.unit for c in channels]

    def map(self, el, channels, rows) -> None:
        self._name(el, channels)
        self._maps.append(sp.csr_matrix(rows))
        self._holds.append(sp.csr_matrix((len(channels), self.width)))

    def hold(self, el, channels, numbers: np.ndarray) -> None:
        """Channels that are held coordinates themselves."""
        self.weigh(el, channels, np.eye(len(channels)), numbers)

    def weigh(self, el, channels, weights: np.ndarray, numbers: np.ndarray, rows: sp.csr_matrix | None = None) -> None:
        """Channels that are sums of held coordinates, with weights (channels, numbers), beside ``rows`` (channels, width)."""
        self._name(el, channels)
        k = len(channels)
        self._maps.append(sp.csr_matrix((k, self.width)) if rows is None else sp.csr_matrix(rows))
        i, j = np.indices(weights.shape)
        self._holds.append(sp.csr_matrix((weights.ravel(), (i.ravel(), numbers[j].ravel())), shape=(k, self.width)))

    def matrices(self, n: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Rows that map to coordinates (channels, n + l), and rows that pick held ones (channels, l)."""
        if not self._maps:
            return sp.csr_matrix((0, self.width)), sp.csr_matrix((0, self.width - n))
        return sp.vstack(self._maps, format="csr"), sp.vstack(self._holds, format="csr")[:, n:]


class _LinkTree:
    """Position actuators and force sensors: the six held coordinates of each and what they move."""

    def __init__(self, wp: WorkingPoint, reference: np.ndarray):
        t = wp.topology
        o, u = wp.frame_poses
        self.topology = t
        self.first_held: dict[str, int] = {}
        names: list[str] = []
        self._twist: list[np.ndarray] = []
        self._upstream: dict[int, tuple[int, ...]] = {}
        for k, link in enumerate(t.links):
            el = t.elements[link.element]
            f1 = el.frames[1]
            seat, p = u[f1], o[f1] - reference[link.child]
            e = np.zeros((6, 6))
            e[:3, :3] = e[3:, 3:] = seat
            e[:3, 3:] = cross_matrix(p) @ seat
            # w is the motion of frame 0 seen from frame 1; where frame 1 is the far side, it moves by -w
            self._twist.append(e if link.forward else -e)
            self._upstream[link.child] = (*self._upstream.get(link.parent, ()), k)
            self.first_held[el.path] = 6 * k
            names += [f"{el.path}.{c.name}" for c in (el.obj.inputs or el.obj.outputs)]
        self.held = tuple(names)

    def transformation(self, clusters: Assembly) -> sp.csr_matrix:
        """Z with ``x_clusters = Z (q, w)``."""
        t = self.topology
        rows, cols, values = [], [], []
        for c in range(1, len(t.cluster_frames)):
            unit = t.unit_of_cluster[c]
            if unit:
                rows.append(6 * (c - 1) + np.arange(6))
                cols.append(6 * (unit - 1) + np.arange(6))
                values.append(np.ones(6))
            for k in self._upstream.get(c, ()):
                i, j = np.indices((6, 6))
                rows.append(6 * (c - 1) + i.ravel())
                cols.append(t.size + 6 * k + j.ravel())
                values.append(self._twist[k].ravel())
        inner = np.arange(t.internal)
        rows.append(6 * (clusters.bodies - 1) + inner)
        cols.append(6 * (t.units - 1) + inner)
        values.append(np.ones(t.internal))
        shape = (clusters.size, t.size + 6 * len(t.links))
        z = sp.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=shape)
        z.eliminate_zeros()
        return z

    def geometric_entries(self, wp: WorkingPoint, first_label: int, chosen):
        """Labels and entries of the mixed second-order terms of links and what carries them."""
        t = self.topology
        labels, part, rows, cols, values = [], [], [], [], []
        net = wp.net_force_on_clusters() if t.links else np.zeros((1, 6))
        for k, link in enumerate(t.links):
            if not chosen(t.elements[link.element]):
                continue
            beyond = [c for c, ups in self._upstream.items() if k in ups]
            force = net[beyond, :3].sum(axis=0)
            p = wp.state.o[t.unit_of_cluster[link.child]]
            torque = net[beyond, 3:].sum(axis=0) - np.cross(p, force)
            mixed = np.zeros((6, 6))
            mixed[3:, :3] = cross_matrix(force)
            mixed[3:, 3:] = 0.5 * cross_matrix(torque)
            here = t.size + 6 * k + np.arange(6)
            carriers = [(t.size + 6 * j + np.arange(6), self._twist[j]) for j in self._upstream.get(link.parent, ())]
            unit = t.unit_of_cluster[link.child]
            if unit:
                carriers.append((6 * (unit - 1) + np.arange(6), np.eye(6)))
            for there, twist in carriers:
                block = twist.T @ mixed @ self._twist[k]
                i, j = np.meshgrid(there, here, indexing="ij")
                rows += [i.ravel(), j.ravel()]
                cols += [j.ravel(), i.ravel()]
                values += [block.ravel(), block.ravel()]
                part.append(np.full(72, first_label + len(labels)))
            if carriers:
                labels.append((t.elements[link.element].path, "geometric"))
        if not labels:
            empty = np.zeros(0, dtype=int)
            return [], empty, empty, empty, np.zeros(0)
        return labels, *(np.concatenate(a) for a in (part, rows, cols, values))


def _stiffness_entries(wp: WorkingPoint, clusters: Assembly, reference: np.ndarray, chosen):
    """Labels and entries of all stiffness parts in cluster coordinates."""
    o, u = wp.frame_poses
    labels: dict[tuple[str, str], int] = {}
    part, rows, cols, values = [], [], [], []
    for g, row, memory in zip(clusters.groups, clusters.rows, wp.state.memory, strict=True):
        _, _, k = clusters.evaluate(g, o, u, reference, wp.state.q, memory, wp.topology.gravity, 2, wp.load)
        # components count as what they are part of
        number = np.array([
            labels.setdefault((el.owner, name), len(labels)) for el in g.elements for name in g.parts
        ])  # fmt: skip
        if not all(map(chosen, g.elements)):
            k[[not chosen(el) for el in g.elements]] = 0.0
        # one flat search: several times quicker than over four axes
        flat = k.ravel()
        entry = np.flatnonzero(flat)
        n = k.shape[-1]
        of, place = np.divmod(entry, n * n)
        e = of // k.shape[1]
        i, j = np.divmod(place, n)
        i, j = row[e, i], row[e, j]
        keep = (i >= 0) & (j >= 0)
        part.append(number[of[keep]])
        rows.append(i[keep])
        cols.append(j[keep])
        values.append(flat[entry[keep]])
    for number, (g, row, memory) in enumerate(zip(clusters.groups, clusters.rows, wp.state.memory, strict=True)):
        if not g.held:
            continue
        k = clusters.reaction_stiffness(number, o, u, reference, wp.state.q, memory, wp.multipliers)
        k[[not chosen(el) for el in g.elements]] = 0.0
        label = np.array([labels.setdefault((el.owner, "reaction"), len(labels)) for el in g.elements])
        e, i, j = np.nonzero(k)
        keep = (row[e, i] >= 0) & (row[e, j] >= 0)
        e, i, j = e[keep], i[keep], j[keep]
        part.append(label[e])
        rows.append(row[e, i])
        cols.append(row[e, j])
        values.append(k[e, i, j])
    if not part:
        return [], *(np.zeros(0, dtype=int),) * 3, np.zeros(0)
    return list(labels), *(np.concatenate(a) for a in (part, rows, cols, values))


def _congruence(part, rows, cols, values, z: sp.csr_matrix):
    """``Z^T A Z`` entry by entry, so that each keeps its part; Z has few entries a row."""

    def expand(index, *others):
        count = np.diff(z.indptr)[index]
        repeat = np.repeat(np.arange(len(index)), count)
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        at = z.indptr[index][repeat] + within
        return z.indices[at], z.data[at], [a[repeat] for a in others]

    new_rows, factor, (part, cols, values) = expand(rows, part, cols, values)
    values = values * factor
    new_cols, factor, (part, new_rows, values) = expand(cols, part, new_rows, values)
    return part, new_rows, new_cols, values * factor


def _transport(el, clusters: Assembly, o: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``T = [[I, -[r]x], [0, I]]`` for each frame of one element (n, n), and the coordinates it starts from; -1 for ground."""
    nodes = len(el.frames)
    inner = np.arange(el.coordinates.start, el.coordinates.stop)
    t = np.eye(6 * nodes + len(inner))
    columns = np.empty(len(t), dtype=int)
    for k, f in enumerate(el.frames):
        c = clusters.body[f]
        t[6 * k : 6 * k + 3, 6 * k + 3 : 6 * k + 6] = -cross_matrix(o[f] - reference[c])
        columns[6 * k : 6 * k + 6] = 6 * (c - 1) + np.arange(6) if c else -1
    columns[6 * nodes :] = 6 * (clusters.bodies - 1) + inner
    return t, columns


def _on_clusters(el, rows: np.ndarray, clusters: Assembly, o: np.ndarray, reference: np.ndarray) -> sp.csr_matrix:
    """Rows (m, n) over an element's own coordinates as rows over all cluster coordinates."""
    t, columns = _transport(el, clusters, o, reference)
    on = columns >= 0
    i, j = np.indices((len(rows), int(on.sum())))
    values = (rows @ t)[:, on]
    return sp.csr_matrix((values.ravel(), (i.ravel(), columns[on][j.ravel()])), shape=(len(rows), clusters.size))


def _element_matrices(wp: WorkingPoint, clusters: Assembly, reference: np.ndarray, chosen):
    """Mass and damping of all elements in cluster coordinates, sparse."""
    o, u = wp.frame_poses
    found = []
    alone = np.all(o == reference[clusters.body], axis=1)  # frames that nothing has to be shifted from
    for method in ("mass_matrix", "damping_matrix"):
        rows, cols, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        for el in filter(chosen, wp.topology.elements):
            if not el.obj.defines(method):
                continue
            m = getattr(el.obj, method)([FramePose(o[f], u[f]) for f in el.frames])
            if m is None:
                continue
            expected = 6 * len(el.frames) + len(el.obj.coordinate_names)
            if np.shape(m) != (expected, expected):
                raise ModelError(f"{el.obj.label}: {method} has shape {np.shape(m)}; expected ({expected}, {expected})")
            if len(el.frames) == 1 and alone[el.frames[0]] and not el.obj.coordinate_names:
                c = clusters.body[el.frames[0]]
                shifted, columns = m, 6 * (c - 1) + np.arange(6) if c else np.full(6, -1)
            else:
                t, columns = _transport(el, clusters, o, reference)
                shifted = t.T @ m @ t
            i, j = np.nonzero(shifted)
            on = (columns[i] >= 0) & (columns[j] >= 0)
            rows.append(columns[i[on]])
            cols.append(columns[j[on]])
            values.append(shifted[i[on], j[on]])
        shape = (clusters.size, clusters.size)
        found.append(sp.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=shape))
    return found
