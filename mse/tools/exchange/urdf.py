"""Robots from URDF files: links become bodies, joints become joints, visual shapes become the drawing.

Meshes are read only from the folder of the file and the one above it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, pi, remainder
from pathlib import Path

import numpy as np

from ...elements.gear import Gear
from ...elements.joint_base import JointBase
from ...elements.joints import Planar, Prismatic, Revolute
from ...elements.rigid_body import RigidBody
from ...elements.shape_base import Shape
from ...elements.shapes import Box, Cylinder, Dae, Obj, Sphere, Stl
from ...errors import FileError, MseError, nearest_name, warn
from ...model.system import MSystem
from ...pose import IDENTITY, Pose
from ...validation.arguments import shown
from ...validation.file_access import read_bytes
from ...validation.xml_tree import Tag, tag_error, xml_tree

_LARGEST = 50_000_000  # of a file
_SINGLE = ("revolute", "continuous", "prismatic")  # joint types with one coordinate
_JOINTS: dict[str, type[JointBase] | None] = {
    "revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic, "planar": Planar, "fixed": None, "floating": None,
}  # fmt: skip


def read_urdf(path: str | os.PathLike, *, fixed: bool = True) -> MSystem:
    """The robot in a URDF file as a system: bodies, joints, and shapes to be drawn, in the pose where all coordinates are zero.

    Joints that mimic others are coupled to them by a :class:`.Gear`, "elbow mimics shoulder", and begin at their offset.

    Each link becomes a :class:`.RigidBody` of its name, with frame "link" where the file has the link's origin; each joint that
    moves becomes a :class:`.Revolute`, :class:`.Prismatic` or :class:`.Planar` of its name, with damping and limits; fixed joints
    become clamps.  Boxes, cylinders, spheres, STL, OBJ and COLLADA meshes are drawn, the first of each link; a COLLADA mesh that
    cannot be read is told by a warning.  A '.' in names becomes '_'.  Nothing in the file is run; meshes are looked for in its
    folder and the one above.

    Parameters
    ----------
    path : path
        The file.
    fixed : bool
        Whether the link that all others hang from is clamped to the ground; else it is free.

    Returns
    -------
    MSystem
        A system with gravity along -z, as :meth:`.MSystem.add` would build it.

    Raises
    ------
    FileError
        The file is missing, is no URDF, or has something that mse cannot be true to, such as joints in a ring; the message
        names it.

    Examples
    --------
    >>> import os, tempfile
    >>> text = '''<robot name="pendulum"><link name="base"/><link name="bob"><inertial><origin xyz="0 0 -0.3"/><mass value="1"/>
    ... <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
    ... <joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "pendulum.urdf")
    ...     with open(path, "w") as file:
    ...         _ = file.write(text)
    ...     robot = mse.read_urdf(path)
    >>> modes = robot.find_working_point().linearize().modes()
    >>> f"{modes.frequencies_hz[0]:.4f} Hz"
    '0.8630 Hz'
    """
    path, content = read_bytes(path, _LARGEST)
    root = xml_tree(path, content, "URDF", "a robot")
    if root.tag != "robot":
        raise FileError(f"{path}: it begins with <{root.tag}>; expected <robot>, as URDF files do")
    try:
        return _Robot(path, root).system(fixed)
    except FileError:
        raise
    except MseError as error:
        raise FileError(f"{path}: {error}") from error


# -- robots -----------------------------------------------------------------------------------------------------------
@dataclass
class _Joint:
    """A joint in the file: the links it joins, its pose, its type."""

    name: str
    kind: str
    parent: str
    child: str
    at: Pose
    tag: Tag
    follows: tuple[str, float, float] | None = None  # the joint it mimics, a multiplier and an offset
    value: float = 0.0  # its coordinate when all independent joints are at zero


class _Robot:
    """The contents of a file, checked piece by piece."""

    def __init__(self, path: Path, root: Tag):
        self.path, self.root = path, root
        self.links = self._named("link")
        self.joints = [self._joint(name, tag) for name, tag in self._named("joint").items()]
        self._set_values()
        self.undrawn: list[str] = []

    def _error(self, tag: Tag, found: str, expected: str) -> FileError:
        return tag_error(self.path, tag, found, expected)

    def _named(self, kind: str) -> dict[str, Tag]:
        found: dict[str, Tag] = {}
        for tag in self.root.all(kind):
            name = tag.values.get("name", "").replace(".", "_")
            if not name:
                raise self._error(tag, "has no name", "one")
            if name in found:
                raise self._error(
                    tag, f"has the name {name!r}, as another in line {found[name].line} has", "names of their own"
                )
            found[name] = tag
        return found

    def _numbers(self, tag: Tag | None, key: str, default: tuple[float, ...]) -> np.ndarray:
        if tag is None or key not in tag.values:
            return np.array(default)
        try:
            found = [float(word) for word in tag.values[key].split()]
        except ValueError:
            found = []
        if len(found) != len(default) or not all(map(isfinite, found)):
            raise self._error(tag, f"has {key}={shown(tag.values[key])}", f"{len(default)} finite numbers")
        return np.array(found)

    def _number(self, tag: Tag | None, key: str, default: float) -> float:
        return float(self._numbers(tag, key, (default,))[0])

    def _pose(self, tag: Tag | None) -> Pose:
        """The <origin> inside: xyz, and rpy about the fixed axes x, y, z in this order."""
        origin = tag.one("origin") if tag is not None else None
        roll, pitch, yaw = self._numbers(origin, "rpy", (0.0, 0.0, 0.0)).tolist()
        return Pose(self._numbers(origin, "xyz", (0.0, 0.0, 0.0))) @ Pose.rz(yaw) @ Pose.ry(pitch) @ Pose.rx(roll)

    def _joint(self, name: str, tag: Tag) -> _Joint:
        kind = tag.values.get("type", "")
        if kind not in _JOINTS:
            raise self._error(tag, f"{name!r} is of type {kind!r}{nearest_name(kind, _JOINTS)}", "one of these")
        ends = []
        for end in ("parent", "child"):
            inside = tag.one(end)
            link = inside.values.get("link", "").replace(".", "_") if inside is not None else ""
            if link not in self.links:
                raise self._error(
                    tag, f"{name!r} has the {end} {link!r}{nearest_name(link, self.links)}", "a link of the file"
                )
            ends.append(link)
        return _Joint(name, kind, *ends, self._pose(tag), tag, self._mimicked(tag, name, kind))

    def _mimicked(self, tag: Tag, name: str, kind: str) -> tuple[str, float, float] | None:
        mimic = tag.one("mimic")
        if mimic is None:
            return None
        if kind not in _SINGLE:
            raise self._error(mimic, f"is in {name!r}, of type {kind!r}", f"one of type {', '.join(_SINGLE)}")
        other = mimic.values.get("joint", "").replace(".", "_")
        return other, self._number(mimic, "multiplier", 1.0), self._number(mimic, "offset", 0.0)

    def _set_values(self) -> None:
        """Coordinates of joints that mimic others when all independent joints are at zero."""
        known = {joint.name: joint for joint in self.joints if joint.kind in _SINGLE}
        set_ = {joint.name for joint in self.joints if joint.follows is None}
        for joint in self.joints:
            chain: dict[str, _Joint] = {}  # each mimics the next one
            while joint.name not in set_:
                chain[joint.name] = joint
                other = joint.follows[0]
                if other not in known:
                    raise self._error(
                        joint.tag, f"{joint.name!r} mimics {other!r}{nearest_name(other, known)}",
                        f"a joint of the file of type {', '.join(_SINGLE)}",
                    )  # fmt: skip
                if other in chain:
                    raise self._error(joint.tag, f"{joint.name!r} mimics {other!r}, which in turn mimics it",
                                      "one joint of the ring that mimics none")  # fmt: skip
                joint = known[other]
            for name, one in reversed(chain.items()):
                other, factor, offset = one.follows
                one.value = factor * known[other].value + offset
                set_.add(name)

    def _order(self) -> tuple[str, list[_Joint]]:
        """The root link, from which all others hang, and the joints from there outwards."""
        above: dict[str, _Joint] = {}
        for joint in self.joints:
            if joint.child in above:
                raise self._error(joint.tag, f"{joint.name!r} carries {joint.child!r}, as {above[joint.child].name!r} does",
                                  "one joint above each link")  # fmt: skip
            above[joint.child] = joint
        roots = [name for name in self.links if name not in above]
        if len(roots) != 1:
            raise FileError(
                f"{self.path}: {len(roots)} links hang from no joint ({', '.join(roots[:6])}); expected one, from which all "
                "others hang"
            )
        carried: dict[str, list[_Joint]] = {}
        for joint in self.joints:
            carried.setdefault(joint.parent, []).append(joint)
        order, waiting = [], [roots[0]]
        while waiting:
            joints = carried.get(waiting.pop(), [])
            order += joints
            waiting += [joint.child for joint in joints]
        if len(order) < len(self.joints):
            loop = next(j for j in self.joints if j not in order)
            raise self._error(loop.tag, f"{loop.name!r} is part of a ring of joints", "a tree")
        return roots[0], order

    def system(self, fixed: bool) -> MSystem:
        """The whole robot as a system."""
        root, order = self._order()
        system = MSystem(self.root.values.get("name", "").replace(".", "_") or "robot")
        origin = {root: IDENTITY}
        for joint in order:
            origin[joint.child] = origin[joint.parent] @ joint.at @ self._moved(joint)
        bodies = {name: self._body(system, name, tag, origin[name]) for name, tag in self.links.items()}
        if fixed:
            system.clamp(system.ground, bodies[root].frame("link"))
        added: dict[str, JointBase] = {}
        for joint in order:
            parent, child = bodies[joint.parent].frame("link"), bodies[joint.child].frame("link")
            cls = _JOINTS[joint.kind]
            if joint.kind == "fixed":
                system.clamp(parent, child, joint.at)
            elif cls is not None:
                name = joint.name if joint.name not in bodies else f"{joint.name} joint"
                added[joint.name] = new = system.add(cls(name, **self._parameters(joint)))
                system.clamp(parent, new.frame(1), joint.at)
                system.clamp(new.frame(0), child)
        for joint in order:
            if joint.follows is not None:
                other, factor, offset = joint.follows
                ratios = {added[joint.name].name: 1.0} | ({added[other].name: -factor} if factor else {})
                system.add(Gear(f"{joint.name} mimics {other}", joints=ratios, offset=offset))
        if self.undrawn:
            warn(
                f"{self.path}: {', '.join(self.undrawn[:6])}{' ...' if len(self.undrawn) > 6 else ''} cannot be drawn; expected "
                "boxes, cylinders, spheres, and existing STL, OBJ or COLLADA meshes with the same scale in all directions"
            )
        return system

    def _moved(self, joint: _Joint) -> Pose:
        """The displacement of a joint's child by the value of its coordinate."""
        if not joint.value:
            return IDENTITY
        axis = self._axis(joint)
        axis = axis / (np.linalg.norm(axis) or 1.0)
        if joint.kind == "prismatic":
            return Pose(joint.value * axis)
        return Pose.rotation(remainder(joint.value, 2.0 * pi) * axis)  # the value may be many turns

    def _axis(self, joint: _Joint) -> np.ndarray:
        return self._numbers(joint.tag.one("axis"), "xyz", (1.0, 0.0, 0.0))

    def _parameters(self, joint: _Joint) -> dict[str, object]:
        dynamics, limit = joint.tag.one("dynamics"), joint.tag.one("limit")
        if self._number(dynamics, "friction", 0.0):
            warn(f"{self.path}: friction of {joint.name!r} is left out, as mse has none; expected damping only")
        out: dict[str, object] = {"axis": self._axis(joint)}
        if joint.kind == "planar":
            return out
        if damping := self._number(dynamics, "damping", 0.0):
            out["damping"] = damping
        if limit is not None and joint.kind != "continuous":
            out |= {"lower": self._number(limit, "lower", 0.0), "upper": self._number(limit, "upper", 0.0)}
        return out

    def _body(self, system: MSystem, name: str, tag: Tag, at: Pose) -> RigidBody:
        inertial = tag.one("inertial")
        center = self._pose(inertial)
        mass = self._number(inertial.one("mass") if inertial else None, "value", 0.0)
        tensor = inertial.one("inertia") if inertial else None
        xx, xy, xz, yy, yz, zz = (self._number(tensor, key, 0.0) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        shape = self._shape(name, tag, center.inverse())
        frames = {"link": center.inverse()}
        return system.add(RigidBody(name, mass=mass, inertia=inertia, at=at @ center, frames=frames, shape=shape))

    # -- what is drawn ------------------------------------------------------------------------------------------------
    def _shape(self, name: str, tag: Tag, link: Pose) -> Shape | None:
        """The first visual of a link that can be drawn, seen from the center of mass."""
        visuals = list(tag.all("visual"))
        for visual in visuals:
            geometry = visual.one("geometry")
            for form in geometry.inside if geometry is not None else ():
                made = self._form(form, link @ self._pose(visual))
                if made is not None:
                    return made
        if visuals:
            self.undrawn.append(name)
        return None

    def _form(self, form: Tag, at: Pose) -> Shape | None:
        makers: dict[str, Callable[[], Shape | None]] = {
            "box": lambda: Box(self._numbers(form, "size", (0.0, 0.0, 0.0)), at=at),
            "cylinder": lambda: Cylinder(self._number(form, "radius", 0.0), self._number(form, "length", 0.0), at=at),
            "sphere": lambda: Sphere(self._number(form, "radius", 0.0), at=at),
            "mesh": lambda: self._mesh(form, at),
        }
        try:
            return makers[form.tag]() if form.tag in makers else None
        except FileError:
            raise
        except MseError as error:
            raise self._error(form, f"is no shape ({error})", "sizes above zero") from error

    def _mesh(self, form: Tag, at: Pose) -> Shape | None:
        """The STL, OBJ or COLLADA file of a mesh, in the folder of the URDF file or the one above."""
        text = form.values.get("filename", "")
        scale = self._numbers(form, "scale", (1.0, 1.0, 1.0))
        kind = {".stl": Stl, ".obj": Obj, ".dae": Dae}.get(text[-4:].lower())
        scheme, mark, rest = text.partition("://")
        name = (rest if scheme == "package" else rest.lstrip("/")) if mark else text
        home = self.path.absolute().parent.resolve()
        tries = [home / name, home.parent / name]
        if scheme == "package":
            tries += [home / name.partition("/")[2], home.parent / name.partition("/")[2]]
        if not name or "\0" in name or kind is None or np.ptp(scale) or scale[0] <= 0:
            return None
        found = [place for place in tries if place.resolve().is_relative_to(home.parent)]
        if not found:
            raise self._error(form, f"leads to {shown(text)}, outside of {home.parent}", "meshes near the file")
        there = next((place for place in found if place.is_file()), None)
        if there is None or kind is not Dae:
            return None if there is None else kind(there, scale=float(scale[0]), at=at)
        try:
            # robot viewers ignore which axis of a mesh file points up
            return Dae(there, scale=float(scale[0]), at=at, upright=False)
        except MseError as error:
            warn(f"{self.path}: line {form.line}: this mesh is not drawn: {error}")
            return None
