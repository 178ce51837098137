"""Base of the shapes of rigid bodies: the surface that pictures draw, and mass and inertia of a uniform density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..numerics import triangulations
from ..pose import Pose
from ..validation.arguments import instance, number

FLAT = 1e-9  # relative to the volume of its bounding box: a body with less is a sheet, whose volume is mostly rounding


KINDS: dict[str, type[Shape]] = {}  # classes of shapes in files, by name


class Mesh(NamedTuple):
    """A surface of triangles.

    Attributes
    ----------
    vertices : ndarray, (n, 3), m
        Points.
    triangles : ndarray, (m, 3)
        Numbers of their vertices, counterclockwise as seen from outside.
    edges : ndarray, (e, 2)
        Numbers of the vertices at the ends of sharp edges, which draw the surface as lines.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    edges: np.ndarray


class MassProperties(NamedTuple):
    """Mass, center of mass and inertia of a body.

    Attributes
    ----------
    mass : float, kg
        Total mass.
    center : ndarray, (3,), m
        Center of mass.
    inertia : ndarray, (3, 3), kg m2
        Inertia tensor about the center of mass, along the same axes.
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray


class Shape:
    """The solid that a rigid body is drawn as; the kinds are in :mod:`mse.elements.shapes`.

    ``at`` is the pose of the shape's own axes as seen from frame "center" of its body.
    """

    at: Pose

    def __init_subclass__(cls, kind: bool = True, **kwargs):
        super().__init_subclass__(**kwargs)
        if kind:
            KINDS[cls.__name__] = cls

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")  # as in dataclasses: bodies may share a shape

    def __post_init__(self) -> None:
        instance(
            self._who, "at", self.at, Pose, "a Pose of the shape as seen from the body's center, such as Pose.dz(0.1)"
        )

    @property
    def _who(self) -> str:
        return type(self).__name__

    def _surface(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and triangles along the shape's own axes."""
        raise TypeError(f"{self._who} must define _surface()")

    def _enclosed(self) -> triangulations.Enclosed:
        """Volume, centroid and second moment of the enclosed space, along its own axes."""
        vertices, triangles = self._surface()
        count = triangulations.open_edges(triangles)
        if count:
            raise ModelError(
                f"{self._who}: its surface is open along {count} edges, so it has no volume; expected a closed one; close it "
                "in the program that made it, or give mass and inertia instead of density"
            )
        found = triangulations.enclosed(vertices, triangles)
        if not abs(found.volume) > FLAT * np.ptp(vertices, axis=0).prod():
            raise ModelError(
                f"{self._who}: it encloses a volume of {found.volume:.3g} m3, almost nothing for its extent; expected "
                "a solid; give mass and inertia instead of density"
            )
        return found

    @cached_property
    def mesh(self) -> Mesh:
        """The surface as seen from frame "center" of the body; the arrays are read-only."""
        vertices, triangles = self._surface()
        found = Mesh(vertices @ self.at.U.T + self.at.o, triangles, self._edges(vertices, triangles))
        for array in found:
            array.flags.writeable = False
        return found

    @property
    def volume(self) -> float:
        """Volume (m3); ModelError if the surface is not closed."""
        return abs(self._enclosed().volume)

    def mass_properties(self, density: float) -> MassProperties:
        """Mass, center of mass and inertia of this solid, as seen from where ``at`` counts from.

        Parameters
        ----------
        density : float, kg/m3
            Mass per volume, the same everywhere.

        Returns
        -------
        MassProperties
            All three; exact for what is bounded by triangles, boxes, cylinders and spheres alike.

        Raises
        ------
        ModelError
            The surface is not closed, or the density is no positive number.

        Examples
        --------
        >>> plate = mse.Plate([(0, 0), (0.3, 0), (0, 0.3)], thickness=0.01)
        >>> mass, center, inertia = plate.mass_properties(density=2700.0)
        >>> f"{mass:.4f} kg", np.round(center, 6)
        ('1.2150 kg', array([0.1, 0.1, 0. ]))
        """
        density = number(self._who, "density", density, unit="kg/m3", above=0.0)
        volume, center, second = self._enclosed()
        second = self.at.U @ second @ self.at.U.T
        inertia = density * (np.trace(second) * np.eye(3) - second)
        return MassProperties(density * abs(volume), self.at.apply(center), 0.5 * (inertia + inertia.T))

    def _edges(self, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """Pairs of vertices (e, 2) between which lines draw the shape."""
        return triangulations.sharp_edges(vertices, triangles)

    def _moved(self, pose: Pose) -> Shape:
        """This shape at ``pose @ at``."""
        return self._made_of(**{key: getattr(self, key) for key in self._keys()} | {"at": pose @ self.at})

    # -- files --------------------------------------------------------------------------------------------------------
    def _data(self) -> dict[str, Any]:
        """The data that files store of it."""
        out: dict[str, Any] = {"kind": self._who}
        for key in self._keys():
            value = getattr(self, key)
            out[key] = value.tolist() if isinstance(value, np.ndarray) else value
        return out

    @classmethod
    def _keys(cls) -> list[str]:
        """Names of the fields that determine it."""
        return [f.name for f in fields(cls)]

    @classmethod
    def _made_of(cls, **values: Any) -> Shape:
        return cls(**values)


def of_density(who: str, shape: Shape | None, density: Any, given: Sequence[str]) -> tuple[Shape, dict[str, Any]]:
    """The shape moved to its center of mass, and mass and inertia of a body with that density."""
    if shape is None:
        raise ModelError(
            f"{who}: density is given without a shape; expected a shape such as mse.Box((0.3, 0.2, 0.02)), or mass"
        )
    both = [name for name in ("mass", "inertia") if name in given]
    if both:
        raise ModelError(
            f"{who}: {' and '.join(both)} and density are given; expected one of them: mass and inertia follow from density"
        )
    mass, center, inertia = shape.mass_properties(density)
    return shape._moved(Pose(0.0 - center)), {"mass": mass, "inertia": inertia}
