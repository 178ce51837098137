"""Forces of elements, links and joints on the frames they are clamped to, at a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..elements import laws
from ..model.assembly import Assembly
from ..model.configuration import Configuration
from ..model.junctions import Junction
from ..model.topology import Element, Topology

Forces = Mapping[str, np.ndarray]  # by path of the element: force and torque (frames, 6) on its frames


def forces_on_frames(
    assembly: Assembly, at: Configuration, multipliers: np.ndarray, load_factor: float
) -> dict[str, np.ndarray]:
    """Force and torque (frames, 6) N, N m of each element on its frames, world axes, each about its frame's origin."""
    found = {}
    for g in assembly.groups:
        if g.cls is Junction:
            continue
        _, gradient, _ = g.evaluate(at, 1, load_factor)
        if g.constraint_count:
            given = multipliers[assembly.constraint_rows(g)]
            _, slopes, _ = g.constrain(at, given, 1)
            gradient = gradient + np.einsum("er,ern->en", given, slopes)
        for k, el in enumerate(g.elements):
            found[el.path] = -gradient[k, : 6 * len(el.frames)].reshape(-1, 6)
    return {el.path: found[el.path] for el in assembly.topology.elements if el.path in found}


def tensions(topology: Topology, at: Configuration, forces: Forces) -> dict[str, float]:
    """Pull (N) of each two-frame element along the line between its origins."""
    found = {}
    for el in topology.elements:
        if len(el.frames) == 2 and el.path in forces and not el.inner and (el.obj.span() or not el.obj.constrains()):
            line = at.o[el.frames[1]] - at.o[el.frames[0]]
            distance = np.linalg.norm(line)
            if distance > 0:
                found[el.path] = float(forces[el.path][0, :3] @ line / distance)
    return found


def twists(assembly: Assembly, at: Configuration) -> list[tuple[Sequence[Element], np.ndarray]]:
    """The elements of each class that can be twisted, and their twists (k,) in rad."""
    groups = [g for g in assembly.groups if g.cls.defines("twists")]
    return [(g.elements, g.cls.twists(at.o.take(g.frames, axis=0), at.memory[g.number])) for g in groups]


def net_force_on_clusters(topology: Topology, at: Configuration, forces: Forces) -> np.ndarray:
    """Sum of element forces on each cluster, torque about the world origin; (clusters, 6)."""
    t = topology
    net = np.zeros((t.clusters, 6))
    for el in t.elements:
        if el.path in forces:
            for f, wrench in zip(el.frames, forces[el.path], strict=True):
                net[t.cluster[f], :3] += wrench[:3]
                net[t.cluster[f], 3:] += wrench[3:] + np.cross(at.o[f], wrench[:3])
    return net


def link_reactions(topology: Topology, at: Configuration, forces: Forces) -> dict[str, np.ndarray]:
    """Force and torque (6,) that frame 0 of each actuator and force sensor exerts on frame 1, axes of frame 1."""
    t, net = topology, net_force_on_clusters(topology, at, forces)
    below: dict[int, list[int]] = {}
    for link in t.links:
        below.setdefault(link.parent, []).append(link.child)

    def carried(cluster: int) -> np.ndarray:
        return net[cluster] + sum((carried(c) for c in below.get(cluster, ())), np.zeros(6))

    found = {}
    for link in t.links:
        el = t.elements[link.element]
        # the child's side is in equilibrium: its forces go through the link to the parent's side
        total = carried(link.child)
        p, seat = at.o[el.frames[1]], at.U[el.frames[1]]
        torque = total[3:] - np.cross(p, total[:3])
        sign = 1.0 if link.forward else -1.0
        found[el.path] = sign * np.concatenate([seat.T @ total[:3], seat.T @ torque])
    return found


def joint_reactions(assembly: Assembly, at: Configuration, multipliers: np.ndarray) -> dict[str, np.ndarray]:
    """Reaction outputs of each joint; for most kinds force and torque (6,)."""
    found = {}
    for g in assembly.groups:
        if g.constraint_count:
            for el, given in zip(g.elements, multipliers[assembly.constraint_rows(g)], strict=True):
                if el.obj.reaction_outputs:
                    found[el.path] = laws.reactions(el.obj, at.frames(el.frames))[:, : len(given)] @ given
    return found


def slack(elements: Sequence[Element], pull: Mapping[str, float]) -> tuple[str, ...]:
    """Elements that push although they can only pull."""
    pulling = {el.path for el in elements if el.obj.only_pulls}
    return tuple(name for name, tension in pull.items() if name in pulling and tension < 0)


def potentials(assembly: Assembly, multipliers: np.ndarray) -> dict[str, float]:
    """Effort at each port by path: the negative multiplier of its junction's row, 0 at references."""
    rows = {
        el.path: int(row)
        for g in assembly.groups
        if g.cls is Junction
        for el, (row,) in zip(g.elements, assembly.constraint_rows(g), strict=True)
    }
    found = {}
    for met in assembly.topology.junctions.all:
        value = 0.0 if met.row is None else -float(multipliers[rows[met.row.path]])
        found |= dict.fromkeys(met.ports, value + 0.0)
    return dict(sorted(found.items()))
