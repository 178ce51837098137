"""RigidBody: mass and inertia, with any number of named frames, and a shape for drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, overload

import numpy as np

from ..errors import ModelError
from ..kernels import masses, springs
from ..pose import Pose
from ..spatial.inertia import SpatialInertia
from ..validation.arguments import instance, mapping, new_name, refusal, shown
from .base import Frame, MObject, Outline
from .parameters import Array, Number, Numbers, Real, scalar_or_diagonal, symmetric
from .shape_base import Shape, of_density


class _Moments(NamedTuple):
    """Principal moments of an inertia tensor, ascending."""

    least: float
    middle: float
    most: float

    @classmethod
    def of(cls, inertia: np.ndarray) -> _Moments:
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
        return cls(*(np.linalg.eigvalsh(inertia).tolist() if xy or xz or yz else sorted((xx, yy, zz))))

    @property
    def rounding(self) -> float:
        return 1e-12 * max(abs(self.least), abs(self.most))

    def __str__(self) -> str:
        return f"its principal moments are {self.least:.6g}, {self.middle:.6g}, {self.most:.6g}"


def _negative(inertia: np.ndarray) -> str | None:
    """Reason why an inertia tensor is unsymmetric or has negative kinetic energy, or None."""
    wrong = symmetric(inertia)
    if wrong:
        return wrong
    moments = _Moments.of(inertia)
    return f"{moments}; expected none to be negative" if moments.least < -moments.rounding else None


def _of_no_body(inertia: np.ndarray) -> str | None:
    """Reason why no distribution of mass has this tensor, or None: a principal moment exceeds the sum of the others."""
    moments = _Moments.of(inertia)
    if moments.most <= moments.least + moments.middle + moments.rounding:
        return None
    return (
        f"{moments}; expected none above the sum of the other two, as in every rigid body (triangle inequality); it is taken as "
        "given; correct it unless it is meant"
    )


def _checked(who: str, shape: Any) -> Shape | None:
    """A shape, or one from the data of a file, or None; ModelError for anything else."""
    if isinstance(shape, Mapping):
        from .shapes import shape_of_data  # imported here, since bodies without a shape do not need it

        return shape_of_data(shape)
    if shape is None:
        return None
    return instance(who, "shape", shape, Shape, "a shape such as mse.Box((0.3, 0.2, 0.02))")


def _of_shape(who: str, shape: Any, density: Any, parameters: dict[str, Any]) -> tuple[Shape | None, dict[str, Any]]:
    """The shape of a body, and its parameters; a density determines some of them."""
    shape = _checked(who, shape)
    if density is not None:
        shape, properties = of_density(who, shape, density, given=tuple(parameters))
        return shape, parameters | properties
    if "mass" not in parameters:
        raise ModelError(
            f"{who}: neither mass nor density is given; expected one of them; density, in kg/m3, gives mass and inertia of "
            "its shape"
        )
    return shape, parameters


class RigidBody(MObject):
    """A body that does not deform, with mass and inertia: ``W = -m g . o`` and ``M = diag(m I, U J U^T)``.

    Its frame 0, "center", is the center of mass (manual 2.11, eq. 34).  ``inertia`` J is the tensor (3 x 3, three principal
    moments, or one number) about the center of mass along the body's axes.  Zero inertia makes a point mass; one that breaks
    the triangle inequality, which no rigid body does, is taken with a ModelWarning.

    A ``shape`` is what pictures draw. With ``density`` it gives mass and inertia, too, once, and is placed with its center of
    mass on frame 0.

    Parameters
    ----------
    frames : mapping of str to Pose, optional
        Further frames by name, as seen from frame 0.
    shape : Box, Cylinder, Sphere, Plate, Stl, Obj or Dae, optional
        What is drawn of it, as seen from frame 0; it has no other effect.
    density : float, kg/m3, optional
        Density of the shape, instead of mass and inertia.

    Examples
    --------
    >>> hook = mse.Pose.dz(0.1)
    >>> mirror = mse.RigidBody("mirror", mass=40.0, inertia=(1.0, 1.0, 1.6), frames={"hook": hook})
    >>> mirror.inertia.diagonal()
    array([1. , 1. , 1.6])
    >>> mirror.frame("hook").label
    'mirror.hook'
    >>> table = mse.RigidBody("table", shape=mse.Box((0.6, 0.3, 0.1)), density=2700.0)
    >>> f"{table.mass:.2f} kg", np.round(table.inertia.diagonal(), 4)
    ('48.60 kg', array([0.405 , 1.4985, 1.8225]))
    """

    mass: Real = Real("total mass, unless density gives it", unit="kg", minimum=0.0)
    inertia: Array = Array("inertia tensor about the center of mass", shape=(3, 3), unit="kg m2", default=0.0,
                    promote=scalar_or_diagonal(3), check=_negative, doubt=_of_no_body)  # fmt: skip

    frame_names = ("center",)
    parts = ("gravity",)
    kernel = springs.body_load
    mass_kernel = masses.body_mass
    inertia_kernel = masses.body_inertia_force
    inertia_slopes = masses.body_inertia_slopes
    by_column = True

    @overload
    def __init__(
        self, name: str, *, mass: Number, inertia: Numbers = 0.0, at: Pose | None = None,
        frames: Mapping[str, Pose] | None = None, shape: Shape | None = None,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self, name: str, *, shape: Shape, density: Number, at: Pose | None = None,
        frames: Mapping[str, Pose] | None = None,
    ) -> None: ...  # fmt: skip
    def __init__(
        self,
        name: str,
        *,
        at: Pose | None = None,
        frames: Mapping[str, Pose] | None = None,
        shape: Shape | None = None,
        density: float | None = None,
        **parameters: Any,
    ):
        if shape is not None or density is not None:
            shape, parameters = _of_shape(f"{type(self).__name__} {shown(name)}", shape, density, parameters)
        super().__init__(name, at=at, **parameters)
        self._shape = shape
        self._fixed: dict[str, Pose] = {}
        frames = mapping(self.label, "frames", frames, "names and poses, such as {'hook': Pose.dz(0.1)}")
        label = self.label
        for key, pose in frames.items():
            self._check_frame(label, key, pose)
        self._fixed = frames

    @property
    def spatial_inertia(self) -> SpatialInertia:
        """Mass and inertia as one quantity, about and along frame 0."""
        return SpatialInertia(mass=self.mass, inertia=self.inertia)

    @property
    def shape(self) -> Shape | None:
        """The shape for drawing, or None to draw its frames only; setting it changes neither mass nor inertia."""
        return self._shape

    @shape.setter
    def shape(self, shape: Shape | None) -> None:
        self._shape = _checked(self.label, shape)

    def add_frame(self, name: str, pose: Pose) -> Frame:
        """Add a frame that is rigidly placed on the body.

        Parameters
        ----------
        name : str
            Name of the frame.
        pose : Pose
            Its pose as seen from the center of mass.

        Returns
        -------
        Frame
            The frame, to clamp others to.

        Raises
        ------
        ModelError
            The name is taken, or the pose is none.
        """
        self._check_frame(self.label, name, pose)
        self._fixed = {**self._fixed, name: pose}  # a new dict, since snapshots share the old one
        return self.frame(name)

    def _check_frame(self, label: str, name: str, pose: Pose) -> None:
        new_name(label, "frame name", name, number=False)
        if name in self._fixed or name in self.frame_names:
            raise ModelError(f"{label}: it already has a frame {name!r}; choose another name")
        if not isinstance(pose, Pose):
            raise refusal(label, f"frame {name!r}", pose, "a Pose as seen from the center of mass")

    def fixed_frames(self):
        return self._fixed

    def options(self):
        return {"frames": self._fixed, "shape": self._shape._data() if self._shape else {}}

    def kernel_parameters(self):
        return (self.mass, *(self.inertia[..., i, j] for i in range(3) for j in range(3)))

    def gravity_energy(self, frames, q, gravity):
        return -self.mass * (frames[0].o @ gravity)

    def mass_matrix(self, frames, q=()):
        u, nothing = frames[0].U, np.zeros((3, 3))
        along = np.concatenate([self.mass * np.eye(3), nothing], axis=1)
        about = np.concatenate([nothing, u @ self.inertia @ u.T], axis=1)
        return np.concatenate([along, about])

    def outline(self, frames):
        f = frames[0]
        hooks = [f.o + f.U @ p.o for p in self._fixed.values()]
        points = np.array([f.o, *hooks])
        lines = tuple((0, k + 1) for k in range(len(hooks)))
        if self._shape is None:
            return Outline(points, lines)
        vertices, triangles, edges = self._shape.mesh
        first = len(points)
        points = np.concatenate([points, vertices @ f.U.T + f.o])
        return Outline(points, (*lines, *map(tuple, edges + first)), tuple(map(tuple, triangles + first)))
