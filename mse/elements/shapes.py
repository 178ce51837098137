"""Shapes of rigid bodies: box, cylinder, ball, plate, and surfaces from STL, OBJ and COLLADA files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..numerics import triangulations
from ..pose import IDENTITY, Pose
from ..validation.arguments import find, instance, number, numbers
from .shape_base import FLAT, KINDS, Shape

_SIDES = 48  # sides of a polygon instead of a circle: they deviate by 0.2 % of the radius
_MOST_CORNERS = 1000  # of a polygon: its triangles take time by the square of them


def _set(shape: Shape, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(shape, name, value)


def _length(shape: Shape, what: str, value: Any) -> float:
    return number(shape._who, what, value, unit="m", above=0.0)


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """A cuboid about the origin of its axes.

    Parameters
    ----------
    size : array_like, (3,), m
        Its lengths along x, y and z.
    at : Pose, optional
        Its pose as seen from frame "center" of the body.

    Raises
    ------
    ModelError
        A length is not a positive number.

    Examples
    --------
    >>> table = mse.RigidBody("table", shape=mse.Box((0.3, 0.2, 0.02)), density=2700.0)
    >>> f"{table.mass:.3f} kg"
    '3.240 kg'
    """

    size: ArrayLike
    at: Pose = IDENTITY

    def __post_init__(self) -> None:
        size = numbers(self._who, "size", self.size, (3,), unit="m", remedy="give its lengths along x, y and z")
        _set(self, size=tuple(_length(self, f"size[{k}]", x) for k, x in enumerate(size.tolist())))
        super().__post_init__()

    def _surface(self) -> tuple[np.ndarray, np.ndarray]:
        x, y, z = 0.5 * np.array(self.size)
        return _prism(np.array([(-x, -y), (x, -y), (x, y), (-x, y)]), np.array([(0, 1, 2), (0, 2, 3)]), 2.0 * z)

    def _enclosed(self) -> triangulations.Enclosed:
        size = np.array(self.size)
        volume = float(size.prod())
        return triangulations.Enclosed(volume, np.zeros(3), np.diag(volume * size**2 / 12.0))


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """A cylinder or tube about the z axis, its middle at the origin; ``at=Pose.ry(np.pi / 2)`` lays it along x.

    Parameters
    ----------
    radius : float, m
        Outer radius.
    length : float, m
        Length along z.
    inner_radius : float, m
        Radius of the bore; none by default.
    at : Pose, optional
        Its pose as seen from frame "center" of the body.

    Raises
    ------
    ModelError
        A length is not a positive number, or the bore is not smaller than the cylinder.

    Examples
    --------
    >>> lying = mse.Pose.ry(np.pi / 2)
    >>> mirror = mse.RigidBody("mirror", shape=mse.Cylinder(0.11, 0.15, at=lying), density=3980.0)
    >>> f"{mirror.mass:.2f} kg"
    '22.69 kg'
    """

    radius: float
    length: float
    inner_radius: float = 0.0
    at: Pose = IDENTITY

    def __post_init__(self) -> None:
        radius, length = _length(self, "radius", self.radius), _length(self, "length", self.length)
        inner = number(self._who, "inner_radius", self.inner_radius, unit="m", minimum=0.0)
        if inner >= radius:
            raise ModelError(f"{self._who}: inner_radius is {inner:g} m; expected less than its radius of {radius:g} m")
        _set(self, radius=radius, length=length, inner_radius=inner)
        super().__post_init__()

    def _surface(self) -> tuple[np.ndarray, np.ndarray]:
        ring = _circle()
        n, k = _SIDES, np.arange(_SIDES)
        if not self.inner_radius:
            fan = np.column_stack([np.zeros(n - 2, dtype=np.int64), k[1:-1], k[2:]])
            return _prism(self.radius * ring, fan, self.length)
        after = (k + 1) % n
        cap = np.concatenate([np.column_stack([k, after, k + n]), np.column_stack([after, after + n, k + n])])
        return _prism(np.vstack([self.radius * ring, self.inner_radius * ring]), cap, self.length)

    def _enclosed(self) -> triangulations.Enclosed:
        r, q, h = self.radius, self.inner_radius, self.length
        volume = np.pi * (r - q) * (r + q) * h
        across = 0.25 * volume * (r**2 + q**2)
        return triangulations.Enclosed(volume, np.zeros(3), np.diag([across, across, volume * h**2 / 12.0]))


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A ball about the origin of its axes.

    Parameters
    ----------
    radius : float, m
        Radius.
    at : Pose, optional
        Its pose as seen from frame "center" of the body.

    Raises
    ------
    ModelError
        The radius is not a positive number.

    Examples
    --------
    >>> bob = mse.RigidBody("bob", shape=mse.Sphere(0.05), density=7850.0)
    >>> f"{bob.mass:.3f} kg"
    '4.110 kg'
    """

    radius: float
    at: Pose = IDENTITY

    def __post_init__(self) -> None:
        _set(self, radius=_length(self, "radius", self.radius))
        super().__post_init__()

    def _surface(self) -> tuple[np.ndarray, np.ndarray]:
        rings, n = _SIDES // 4, _SIDES // 2
        polar = np.pi * np.arange(1, rings) / rings
        ring = _circle(n)
        points = [np.column_stack([np.sin(a) * ring, np.full(n, np.cos(a))]) for a in polar]
        vertices = self.radius * np.vstack([[(0, 0, 1.0)], *points, [(0, 0, -1.0)]])
        k, after = np.arange(n), (np.arange(n) + 1) % n
        last = len(vertices) - 1
        triangles = [np.column_stack([np.zeros(n, dtype=np.int64), 1 + k, 1 + after])]
        for r in range(rings - 2):
            up, down = 1 + r * n, 1 + (r + 1) * n
            triangles += [
                np.column_stack([up + k, down + k, up + after]),
                np.column_stack([up + after, down + k, down + after]),
            ]
        triangles.append(np.column_stack([last - n + k, np.full(n, last), last - n + after]))
        return vertices, np.concatenate(triangles)

    def _edges(self, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        # it has no sharp edges, so draw the three circles around its axes
        lies_in = np.abs(vertices) < 1e-9 * self.radius
        ends = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
        return np.unique(ends[lies_in[ends].all(axis=1).any(axis=1)], axis=0)

    def _enclosed(self) -> triangulations.Enclosed:
        volume = 4.0 / 3.0 * np.pi * self.radius**3
        return triangulations.Enclosed(volume, np.zeros(3), volume * self.radius**2 / 5.0 * np.eye(3))


@dataclass(frozen=True, eq=False)
class Plate(Shape):
    """A flat plate: a polygon in the x-y plane, as thick to both sides of it.

    Parameters
    ----------
    corners : array_like, (n, 2), m
        x and y of its corners, around it in either direction; the polygon may be hollow at a corner, its sides may not cross.
    thickness : float, m
        Thickness along z.
    at : Pose, optional
        Its pose as seen from frame "center" of the body.

    Raises
    ------
    ModelError
        There are fewer than three corners, or sides touch or cross.

    Examples
    --------
    >>> platform = mse.Plate([(0.2, 0), (-0.1, 0.17), (-0.1, -0.17)], thickness=0.01)
    >>> f"{platform.volume * 1e6:.1f} cm3"
    '510.0 cm3'
    """

    corners: ArrayLike
    thickness: float
    at: Pose = IDENTITY

    def __post_init__(self) -> None:
        corners = numbers(self._who, "corners", self.corners, (None, 2), unit="m", remedy="give x and y of each")
        if not 3 <= len(corners) <= _MOST_CORNERS:
            raise ModelError(f"{self._who}: it has {len(corners)} corners; expected from 3 to {_MOST_CORNERS}")
        crossing = triangulations.crossing_sides(corners)
        if crossing:
            ends = [f"from {corners[k].tolist()} to {corners[(k + 1) % len(corners)].tolist()}" for k in crossing]
            raise ModelError(
                f"{self._who}: its sides {ends[0]} and {ends[1]} touch or cross; expected corners in their order around it"
            )
        area = triangulations.polygon_area(corners)
        if not abs(area) > FLAT * np.ptp(corners, axis=0).prod():
            raise ModelError(f"{self._who}: its corners are on a line; expected a polygon with an area")
        corners = corners if area > 0 else corners[::-1].copy()
        corners.flags.writeable = False
        _set(self, corners=corners, thickness=_length(self, "thickness", self.thickness))
        super().__post_init__()

    def _surface(self) -> tuple[np.ndarray, np.ndarray]:
        return _prism(self.corners, triangulations.ears(self.corners), self.thickness)


_OF_FILES = """
Parameters
----------
path : path
    The file.
scale : float, m
    One unit of the file: {kind} files do not state theirs; ``scale=1e-3`` is for millimeters.
at : Pose, optional
    Pose of the file's origin and axes as seen from frame "center" of the body.

Raises
------
FileError
    The file is missing, is damaged, or has more than 200,000 triangles.
"""


class _FromFile(Shape, kind=False):
    """A surface of triangles read from a file."""

    vertices: np.ndarray
    triangles: np.ndarray
    _reader: ClassVar[Callable[[Any], np.ndarray]]  # corners (m, 3, 3) in a file

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            return
        about, head, examples = inspect.cleandoc(cls.__doc__ or "").partition("\nExamples\n")
        cls.__doc__ = about + _OF_FILES.format(kind=cls.__name__.upper()) + head + examples

    def __init__(self, path: str | PathLike[str], scale: float = 1.0, at: Pose = IDENTITY):
        self._fill(path, self._reader(path), scale, at)

    def _fill(self, path: Any, corners: np.ndarray, scale: Any, at: Pose) -> None:
        scale = number(self._who, "scale", scale, unit="m", above=0.0)
        vertices, triangles = triangulations.merged(corners * scale)
        if not len(triangles):
            raise ModelError(f"{self._who}: all triangles in {path} have zero area; expected a surface")
        self._keep(vertices, triangles, at)

    def _keep(self, vertices: np.ndarray, triangles: np.ndarray, at: Pose) -> None:
        for array in (vertices, triangles):
            array.flags.writeable = False
        _set(self, vertices=vertices, triangles=triangles, at=at)
        super().__post_init__()

    def __repr__(self) -> str:
        extent = " x ".join(f"{x:.4g} m" for x in np.ptp(self.vertices, axis=0))
        return f"{self._who}({len(self.triangles)} triangles, {extent})"

    def _surface(self) -> tuple[np.ndarray, np.ndarray]:
        # a file may have all its triangles the wrong way round
        inside_out = (
            not triangulations.open_edges(self.triangles)
            and triangulations.enclosed(self.vertices, self.triangles)[0] < 0
        )
        return self.vertices, self.triangles[:, ::-1].copy() if inside_out else self.triangles

    @classmethod
    def _keys(cls) -> list[str]:
        return ["vertices", "triangles", "at"]

    @classmethod
    def _made_of(cls, vertices: Any, triangles: Any, at: Any) -> Shape:
        from .stl_files import MOST_TRIANGLES  # imported here, as in Stl

        vertices = numbers(cls.__name__, "vertices", vertices, (None, 3), unit="m")
        found = numbers(cls.__name__, "triangles", triangles, (None, 3))
        rows = found.astype(np.int64)
        if (
            not 0 < len(rows) <= MOST_TRIANGLES
            or (rows != found).any()
            or rows.min() < 0
            or rows.max() >= len(vertices)
        ):
            raise ModelError(
                f"{cls.__name__}: {len(rows)} rows of triangles do not fit {len(vertices)} vertices; expected from 1 "
                f"to {MOST_TRIANGLES} rows of numbers of vertices, counted from 0"
            )
        new = object.__new__(cls)
        new._keep(vertices, rows, at)
        return new


class Stl(_FromFile):
    """The surface in an STL file, binary or text, as programs for drawing parts export it.

    The file is read once, here; the triangles are kept, and saved with the system.

    Examples
    --------
    >>> import os, tempfile
    >>> facets = [((0, 0, 0), (0, 1, 0), (1, 0, 0)), ((0, 0, 0), (1, 0, 0), (0, 0, 1)),
    ...           ((0, 0, 0), (0, 0, 1), (0, 1, 0)), ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    >>> loops = ["".join(f"vertex {x} {y} {z}\\n" for x, y, z in corners) for corners in facets]
    >>> text = "".join(f"facet normal 0 0 0\\nouter loop\\n{loop}endloop\\nendfacet\\n" for loop in loops)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "part.stl")
    ...     with open(path, "w") as file:
    ...         _ = file.write(f"solid part\\n{text}endsolid part\\n")
    ...     part = mse.Stl(path, scale=0.1)
    >>> part
    Stl(4 triangles, 0.1 m x 0.1 m x 0.1 m)
    >>> f"{part.volume * 1e6:.3f} cm3"
    '166.667 cm3'
    """

    @staticmethod
    def _reader(path: Any) -> np.ndarray:
        from .stl_files import read_stl  # importing mse should not wait for it

        return read_stl(path)


class Obj(_FromFile):
    """The surface in a Wavefront OBJ file: its faces, without materials.

    The file is read once, here; faces are cut into triangles, which are kept, and saved with the system.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "wedge.obj")
    ...     with open(path, "w") as file:
    ...         _ = file.write("v 0 0 0\\nv 1 0 0\\nv 0 1 0\\nv 0 0 1\\nf 1 3 2\\nf 1 2 4\\nf 1 4 3\\nf 2 3 4\\n")
    ...     part = mse.Obj(path, scale=0.1)
    >>> part
    Obj(4 triangles, 0.1 m x 0.1 m x 0.1 m)
    """

    @staticmethod
    def _reader(path: Any) -> np.ndarray:
        from .obj_files import read_obj  # importing mse should not wait for it

        return read_obj(path)


class Dae(_FromFile):
    """The surfaces in a COLLADA file (.dae), where the nodes of its scene place them: its polygons, without materials.

    The file is read once, here; polygons are cut into triangles, which are kept, and saved with the system.  The file states its
    unit.

    Parameters
    ----------
    path : path
        The file.
    scale : float
        Factor on all lengths of the file.
    at : Pose, optional
        Pose of the file's origin and axes as seen from frame "center" of the body.
    upright : bool
        Whether the axis that points upwards in the file, often y, is turned to z; otherwise x, y and z are as in the file.

    Raises
    ------
    FileError
        The file is missing, is damaged, has more than 200,000 triangles, or draws what is not read here, such as splines.

    Examples
    --------
    >>> import os, tempfile
    >>> text = '''<COLLADA version="1.4.1"><asset><unit meter="0.1"/><up_axis>Z_UP</up_axis></asset><library_geometries>
    ... <geometry id="wedge"><mesh><source id="places"><float_array>0 0 0 1 0 0 0 1 0 0 0 1</float_array></source>
    ... <vertices id="points"><input semantic="POSITION" source="#places"/></vertices>
    ... <triangles count="4"><input semantic="VERTEX" source="#points" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
    ... </mesh></geometry></library_geometries></COLLADA>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "wedge.dae")
    ...     with open(path, "w") as file:
    ...         _ = file.write(text)
    ...     part = mse.Dae(path)
    >>> part
    Dae(4 triangles, 0.1 m x 0.1 m x 0.1 m)
    """

    def __init__(self, path: str | PathLike[str], scale: float = 1.0, at: Pose = IDENTITY, upright: bool = True):
        from .collada_files import read_dae  # importing mse should not wait for it

        upright = instance(self._who, "upright", upright, bool, "True or False")
        self._fill(path, read_dae(path, upright=upright), scale, at)


def shape_of_data(data: Mapping[str, Any]) -> Shape:
    """The shape in the data of a file; ModelError if there is none."""
    found = dict(data)
    kind = KINDS[find("shape", "kind of shape", found.pop("kind", None), KINDS)]
    known = kind._keys()
    for key in found:
        find(kind.__name__, "property", key, known)
    for key in known:
        if key not in found:
            raise ModelError(f"{kind.__name__}: {key} missing; expected {', '.join(known)}")
    return kind._made_of(**found)


def _circle(sides: int = _SIDES) -> np.ndarray:
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _prism(corners: np.ndarray, cap: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Surface of a straight prism about its middle; its base (n, 2) is given as counterclockwise triangles ``cap`` (m, 3)."""
    n = len(corners)
    half = np.full((n, 1), 0.5 * height)
    vertices = np.vstack([np.hstack([corners, -half]), np.hstack([corners, half])])
    ends = np.concatenate([cap[:, [0, 1]], cap[:, [1, 2]], cap[:, [2, 0]]])
    # sides are on edges without a second triangle in the opposite direction
    known = {(b, a) for a, b in ends.tolist()}
    rim = np.array([edge for edge in ends.tolist() if tuple(edge) not in known])
    a, b = rim.T
    sides = np.concatenate([np.column_stack([a, b, b + n]), np.column_stack([a, b + n, a + n])])
    return vertices, np.concatenate([cap[:, ::-1], cap + n, sides])
