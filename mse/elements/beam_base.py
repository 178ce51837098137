"""Base of all beams: frames and segments along an axis, rigidities, forces and stresses; subclasses give the sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import ModelError
from ..pose import Pose
from ..validation.arguments import mapping, new_name, real, refusal, shown
from .base import Component, MObject, Outline
from .beam_nodes import placed
from .losses import Loss, temperature
from .parameters import Choice, Integer, Profile, Real

if TYPE_CHECKING:
    from .beam_loads import BeamLoads
    from .beam_segment import SegmentData
    from .loss_laws import LossSection
    from .material import Material

_MOST_SPREAD = (
    np.finfo(float).eps ** -2
)  # ratio of stiffnesses in one element, at which they and their products lose all digits
# ratio of bending to shear stiffness of one element, at which bending loses half of its digits
_MOST_DEEP = np.finfo(float).eps ** -0.5
# radius of gyration relative to the length of an exact beam: a millimeter by 50 m and half a meter long (29) was found in 190
# steps, one 200 m wide (115) not in a thousand
_MOST_GYRATION = 100.0
# Above -1 by 1e-12, shear and twist are 1e12 times as stiff as bending, and a cantilever of four elements had one digit of its
# second frequency right; by 1e-10 four digits, by 1e-8 seven.
_LEAST_POISSON = -0.999999
_MOST_ELEMENTS = 10_000  # beyond, the condition of the stiffness, which grows with the fourth power, leaves no digit
_SAMPLES = 64  # of a profile, for its mean
_REST_STEPS = 8  # steps in which the unloaded shape of one element is integrated


@dataclass(frozen=True, eq=False)
class Sections:
    """Geometry of sections, arrays of one shape.

    Attributes
    ----------
    area : ndarray, m2
        Area.
    iy, iz : ndarray, m4
        Second moments of area about y and z.
    torsion : ndarray, m4
        Saint-Venant's torsion constant J.
    shear_y, shear_z : ndarray
        Shares of the area that carry shear along y and z.
    """

    area: np.ndarray
    iy: np.ndarray
    iz: np.ndarray
    torsion: np.ndarray
    shear_y: np.ndarray
    shear_z: np.ndarray


class SlenderBody(MObject):
    """Base of beams: frames "0" and "1" at its ends, x along it; a section along s from 0 to ``length``.

    Geometrically exact (E. Reissner, J. C. Simo): stretch, shear, twist and curvature are small, displacements and
    rotations of any size.  ``elements`` segments of fourth order, each with its taper integrated inside; ``stations`` maps
    names of further frames to their distance from frame 0 along the beam.  At rest, unloaded, it has the curvatures and
    twist given: rotation per length about its own axes, a number, a straight taper or a function of s.

    With ``form="exact"`` the linear model holds the exact dynamic stiffness of the uniform straight beam under its
    tension, valid at every frequency with its two ends only; see :mod:`mse.elements.exact_beam`.  Without density its stiffness
    is constant, with its mechanisms as parts.

    A taut beam bends within ``sqrt(EI/T)`` of a clamp.  With ``grading_tension`` T, elements are short there, and no longer
    than ``length/elements`` anywhere.

    ``theory="euler-bernoulli"`` leaves out shear and the rotary inertia of bending.  The default material is steel without loss;
    ``material`` is another, a :class:`mse.Material` or a name of :data:`mse.materials`.
    """

    length: Real = Real("length along its axis at rest", unit="m", above=0.0)
    young_modulus: Real = Real("Young's modulus", unit="Pa", default=2e11, above=0.0)
    poisson_ratio: Real = Real("Poisson's ratio", default=0.3, minimum=_LEAST_POISSON, maximum=0.5)
    density: Real = Real("density", unit="kg/m3", default=7800.0, minimum=0.0)
    elements: Integer = Integer("number of elements", default=8, minimum=1, maximum=_MOST_ELEMENTS)
    grading_tension: Real = Real(
        "tension for which elements grow from short ones at its ends, 0 for equal ones",
        unit="N",
        default=0.0,
        minimum=0.0,
    )
    theory: Choice = Choice(
        "shear and rotary inertia or not", among=("timoshenko", "euler-bernoulli"), default="timoshenko"
    )
    form: Choice = Choice(
        "discretized, or exact in the frequency domain", among=("elements", "exact"), default="elements"
    )
    curvature_y: Profile = Profile("rotation per length about y at rest", unit="1/m", default=0.0)
    curvature_z: Profile = Profile("rotation per length about z at rest", unit="1/m", default=0.0)
    twist: Profile = Profile("rotation per length about x at rest", unit="1/m", default=0.0)
    loss: Loss = Loss(of_section=True)
    temperature: Real = temperature()

    mechanisms = ("axial", "torsion", "bending_y", "bending_z", "shear")
    section_parameters: ClassVar[tuple[str, ...]] = ()
    _remembered = frozenset({"_made"})

    if TYPE_CHECKING:
        stations: InitVar[Mapping[str, float] | None] = None
        material: InitVar[Material | str | None] = None

    def __init__(
        self, name: str, *, at: Pose | None = None, stations: Mapping[str, float] | None = None,
        material: Material | str | None = None, **parameters: Any,
    ):  # fmt: skip
        if material is not None:
            from .common_materials import with_material  # importing mse should not wait for them

            parameters = with_material(type(self), name, material, parameters)
        super().__init__(name, at=at, **parameters)
        self._made: tuple[tuple, tuple[SegmentData, ...]] | None = None
        self._stations = self._checked_stations(stations)

    # -- places along it --------------------------------------------------------------------------------------
    def _checked_stations(self, stations: Any) -> dict[str, float]:
        given = mapping(self.label, "stations", stations, "names and distances, such as {'middle': 0.5}")
        for key in given:
            new_name(self.label, "station name", key, number=False)
            if _is_node_name(key):
                raise refusal(self.label, "station name", key, "a name other than n and a number, which nodes have")
        stations = {key: self._checked_station(key, s) for key, s in given.items()}
        places = sorted(stations.values())
        if any(b - a <= 1e-9 * self.length for a, b in pairwise(places)):
            raise ModelError(f"{self.label}: two stations are at the same place; expected different distances")
        return dict(sorted(stations.items(), key=lambda item: item[1]))

    def _checked_station(self, key: str, s: Any) -> float:
        place = real(s, above=0.0)
        if place is None or not place < self.length:
            raise ModelError(
                f"{self.label}: station {key!r} is at {shown(s)} m; expected more than 0 and less than its length of "
                f"{self.length:g} m; the ends are frames 0 and 1"
            )
        return place

    @property
    def stations(self) -> dict[str, float]:
        """Distances (m) of the named frames along it from frame 0."""
        return dict(self._stations)

    def options(self):
        return {"stations": self._stations}

    def nodes(self) -> dict[str, float]:
        """Every frame along it: ends, stations and nodes.

        Returns
        -------
        dict of str to float, m
            Distance of each from frame 0, in that order.
        """
        return dict(self._along_it()[0])

    def _along_it(self) -> tuple[dict[str, float], tuple[str, ...], np.ndarray]:
        """Places of all frames by name, all names in their order, and lengths of the elements."""
        elements, bends = (self.elements if self.form == "elements" else 0), (np.inf, np.inf)
        if elements and self.grading_tension:
            c = self.sections(np.array([0.0, self.length]))
            bends = tuple(np.sqrt(self.young_modulus * np.minimum(c.iy, c.iz) / self.grading_tension).tolist())
        return placed(self.length, tuple(self._stations.items()), elements, bends)

    @property
    def element_count(self) -> int:
        if self.form == "elements" and self.grading_tension:
            return len(self._along_it()[2])
        return self.elements + len(self._stations) if self.form == "elements" else 1

    @property
    def end_frames(self) -> tuple[str, ...]:
        return "0", "1"

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Ends, stations, then the nodes between them."""
        return self._along_it()[1]

    # -- internal forces --------------------------------------------------------------------------------------
    def internal_forces(self, working_point: Any) -> BeamLoads:
        """Forces, moments and stresses along it at a working point.

        Parameters
        ----------
        working_point : WorkingPoint
            A working point of its system.

        Returns
        -------
        BeamLoads
            Internal forces, with the largest stress and its place.

        Raises
        ------
        UnknownNameError
            The working point is that of a system without this beam.
        """
        from .beam_loads import internal_forces  # importing mse should not wait for it

        return internal_forces(self, working_point)

    def extent(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Largest distances of the section's material from its axes.

        Parameters
        ----------
        s : ndarray, (n,), m
            Places along the beam.

        Returns
        -------
        tuple of ndarray, (n,), m
            Along y and along z; nan where unknown.
        """
        raise NotImplementedError

    def torsion_stress(self, s: np.ndarray) -> np.ndarray:
        """Largest shear stress of torsion per torque.

        Parameters
        ----------
        s : ndarray, (n,), m
            Places along the beam.

        Returns
        -------
        ndarray, (n,), 1/m3
            Values of the sections there; nan where unknown.
        """
        raise NotImplementedError

    def stresses(self, s: np.ndarray, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stresses from internal forces.

        Parameters
        ----------
        s : ndarray, (n,), m
            Places along the beam.
        forces : ndarray, (n, 6), N, N m
            Internal forces there, as in :class:`.BeamLoads`.

        Returns
        -------
        tuple of ndarray, (n,), Pa
            Largest and smallest normal stress, and shear stress of torsion.
        """
        c, (y, z) = self.sections(s), self.extent(s)
        mean = forces[:, 0] / c.area
        bending = self.bending_stress(np.abs(forces[:, 4]) * z / c.iy, np.abs(forces[:, 5]) * y / c.iz)
        return mean + bending, mean - bending, np.abs(forces[:, 3]) * self.torsion_stress(s)

    def bending_stress(self, about_y: np.ndarray, about_z: np.ndarray) -> np.ndarray:
        """Largest stress of bending about both axes; by default their sum, at a corner.

        Parameters
        ----------
        about_y, about_z : ndarray, (n,), Pa
            Largest stress of bending about either axis.

        Returns
        -------
        ndarray, (n,), Pa
            Largest stress of both.
        """
        return about_y + about_z

    def loss_section(self, tension: float) -> LossSection:
        """What losses that follow from its section depend on; sections that taper count by their mean.

        Parameters
        ----------
        tension : float, N
            Its mean tension.

        Returns
        -------
        LossSection
            Thicknesses and stress.

        Raises
        ------
        ModelError
            Its section has no known shape.
        """
        raise ModelError(
            f"{self.label}: its loss is {self._values['loss']!s}, which follows from the thickness of a round or rectangular "
            "section; expected a law of the frequency alone; give Thermoelastic(...).zener(...), or use a Beam or a RoundBeam"
        )

    def _mean(self, name: str) -> float:
        """The mean of a profile along it."""
        return float(np.mean(self._along(name, self.length * (np.arange(_SAMPLES) + 0.5) / _SAMPLES)))

    # -- sections and segments -----------------------------------------------------------------------------------
    def sections(self, s: np.ndarray) -> Sections:
        """Geometry of the sections.

        Parameters
        ----------
        s : ndarray, m
            Distances from frame 0.

        Returns
        -------
        Sections
            Arrays of the shape of ``s``.
        """
        raise NotImplementedError

    def _along(self, name: str, s: np.ndarray) -> np.ndarray:
        return type(self).declared_parameters[name].along(self, s, self.length)

    def _rigidities(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E A, k G A twice, G J, E I twice; and mass and moments of inertia per length; (..., 6) each."""
        c = self.sections(s)
        e, g = self.young_modulus, self.young_modulus / (2.0 * (1.0 + self.poisson_ratio))
        slender = self.theory == "euler-bernoulli"
        shear = [np.full(s.shape, np.inf)] * 2 if slender else [g * c.area * c.shear_y, g * c.area * c.shear_z]
        rotary = [np.zeros(s.shape)] * 2 if slender else [c.iy, c.iz]
        rigidity = np.stack([e * c.area, *shear, g * c.torsion, e * c.iy, e * c.iz], axis=-1)
        density = self.density * np.stack([c.area] * 3 + [c.iy + c.iz, *rotary], axis=-1)
        return rigidity, density

    def _rest_twists(self, places: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Twist (n, 6) from each node at ``places`` (n + 1,) to the next, at a distance ``h`` (n,), at rest."""
        out = np.zeros((len(h), 6))
        out[:, 0] = h
        names = ("twist", "curvature_y", "curvature_z")
        if all(isinstance(self._values[n], float) for n in names):
            out[:, 3:] = h[:, None] * [self._values[n] for n in names]
            return out
        from ..kernels import motions  # imported here, as in components()

        gauss = 0.5 + np.array([-1, 1]) * np.sqrt(3) / 6
        steps = (np.arange(_REST_STEPS)[:, None] + gauss) / _REST_STEPS
        s = places[:-1, None, None] + h[:, None, None] * steps
        curvature = np.stack([self._along(n, s) for n in names], axis=-1)
        for k in range(len(h)):
            pose = Pose()
            for a, b in curvature[k]:
                step = h[k] / _REST_STEPS
                # fourth-order Magnus: the mean, and half the commutator of the values at the two Gauss points
                x = np.concatenate([[step, 0, 0], 0.5 * step * (a + b)])
                first, second = np.concatenate([[1, 0, 0], a]), np.concatenate([[1, 0, 0], b])
                x += np.sqrt(3) / 12 * step**2 * (motions.small_adjoint(first) @ second)
                pose = pose @ Pose(*motions.motion(x))
            out[k] = motions.relative_twist(np.zeros(3), np.eye(3), pose.o, pose.U)
        return out

    def components(self):
        if self.form == "exact":
            return self._exact_components()
        from .beam_segment import BeamSegment, ShearingSegment  # importing mse should not wait for their kernels

        names, kind = list(self.nodes()), BeamSegment if self.theory == "euler-bernoulli" else ShearingSegment
        return tuple(
            Component(kind(f"e{k + 1}", data), (names[k], names[k + 1])) for k, data in enumerate(self._segment_data())
        )

    @classmethod
    def cautions(cls, objects, at):
        from .beam_cautions import cautions  # importing mse should not wait for them

        return cautions(objects, at)

    def _segment_data(self) -> tuple[SegmentData, ...]:
        """Data of its segments, kept until a parameter changes, since sweeps and load steps need them again and again."""
        moving = (self._values[n] for n, p in self.declared_parameters.items() if p.moves)
        key = (*moving, *self._stations.items())
        # a function may give other values than before, so its data are not kept
        if self._made is None or self._made[0] != key or any(callable(v) for v in key):
            from ..kernels.beam_shapes import POINTS  # imported here, as in components()
            from .beam_segment import SegmentData

            places, h = np.array(list(self.nodes().values())), self._along_it()[2]
            self._refuse_stale_stations()
            rigidity, density = self._rigidities(places[:-1, None] + h[:, None] * POINTS)
            self._refuse_spread(h, rigidity)
            rest = self._rest_twists(places, h)
            self._refuse_sharp_bends(rest)
            inner = 6 if self.theory == "euler-bernoulli" else 8
            # equal segments share their data, and what is computed from them
            alike: dict[bytes, SegmentData] = {}
            data = []
            for numbers in zip(rest, h, rigidity, density, strict=True):
                same = b"".join(x.tobytes() for x in numbers)
                data.append(alike.setdefault(same, SegmentData(*numbers, self.length, inner)))
            self._made = key, tuple(data)
        return self._made[1]

    def _exact_components(self):
        uneven = [n for n in self.section_parameters if not isinstance(self._values[n], float)]
        bent = [n for n in ("twist", "curvature_y", "curvature_z") if self._values[n] != 0.0]
        if uneven or bent:
            name = (uneven + bent)[0]
            raise ModelError(
                f"{self.label}: form is 'exact' but {name} is {self._values[name]!r}; expected a uniform straight beam, whose "
                "dynamic stiffness is known exactly; choose form='elements'"
            )
        self._refuse_stale_stations()
        nodes = self.nodes()
        names, places = list(nodes), list(nodes.values())
        rigidity, density = self._rigidities(np.array(0.5 * self.length))
        self._refuse_spread(np.diff(places), rigidity)
        self._refuse_plates(rigidity)
        from .exact_beam import ExactSegment, MasslessSegment  # imported here, as in components()

        kind = ExactSegment if self.density else MasslessSegment
        return tuple(
            Component(kind(f"e{k + 1}", places[k + 1] - places[k], rigidity, density), (names[k], names[k + 1]))
            for k in range(len(places) - 1)
        )

    def _refuse_stale_stations(self) -> None:
        self._checked_stations(self._stations)  # the length may have been set since

    def _refuse_spread(self, h: np.ndarray, rigidity: np.ndarray) -> None:
        """Refuse stiffnesses (..., 6) of elements of length h (n,) whose ratio leaves no digit of the smaller."""
        length, area, moment = h[:, None], rigidity[..., :3], rigidity[..., 3:]
        area = area[np.isfinite(area)]
        forces = area.min() * length.min() ** 2, area.max() * length.max() ** 2
        low, high = min(forces[0], moment.min()), max(forces[1], moment.max())
        if not high <= _MOST_SPREAD * low:
            raise ModelError(
                f"{self.label}: with a length of {self.length:g} m its elements resist one motion {high / low:.3g} "
                f"times as much as another, with stiffnesses from {low:.3g} to {high:.3g} N m for a rotation or a "
                f"shift by their length; expected at most {_MOST_SPREAD:.3g}, since numbers of 16 digits cannot "
                "represent more; correct its length or its section, or leave out what does not resist"
            )
        # E I/(k G A h^2); omitted shear is infinite
        deep = (
            np.stack([rigidity[..., 5] / rigidity[..., 1], rigidity[..., 4] / rigidity[..., 2]]).max(axis=0)
            / h[..., None] ** 2
        )
        if deep.max() > _MOST_DEEP:
            raise ModelError(
                f"{self.label}: an element of {h.min():.3g} m resists bending {deep.max():.3g} times as much as shear; expected "
                f"at most {_MOST_DEEP:.3g}, with a section some thousand times as large as an element is long, beyond which "
                "bending is lost in rounding; correct its length or section, use fewer elements, or choose "
                "theory='euler-bernoulli'"
            )

    def _refuse_plates(self, rigidity: np.ndarray) -> None:
        gyration = float(np.sqrt(rigidity[4:].max() / rigidity[0]))
        if gyration > _MOST_GYRATION * self.length:
            raise ModelError(
                f"{self.label}: its section has a radius of gyration of {gyration:.3g} m and its length is "
                f"{self.length:g} m; expected at most {_MOST_GYRATION:g} times its length, since bending in one plane "
                "would hide bending in the other; correct its section or its length"
            )

    def _refuse_sharp_bends(self, rest: np.ndarray) -> None:
        turn = np.linalg.norm(rest[:, 3:], axis=1)
        worst = int(np.argmax(turn))
        if turn[worst] > 1.5:
            raise ModelError(
                f"{self.label}: at rest its element {worst + 1} of {len(rest)} rotates by {turn[worst]:.3g} rad; "
                "expected at most 1.5 rad in one element; use more elements"
            )

    def outline(self, frames):
        """Four lines along its edges and one along its axis, with sections at the nodes."""
        pose = dict(zip(self.frame_names, frames, strict=True))
        nodes = self.nodes()
        y, z = (np.nan_to_num(a) for a in self.extent(np.array(list(nodes.values()))))
        points, lines = [], []
        for k, name in enumerate(nodes):
            f = pose[name]
            corners = [(0, 0), (y[k], z[k]), (-y[k], z[k]), (-y[k], -z[k]), (y[k], -z[k])]
            points += [f.o + f.U @ np.array([0.0, *c]) for c in corners]
            lines.append(tuple(5 * k + j for j in (1, 2, 3, 4, 1)))
        lines += [tuple(range(j, len(points), 5)) for j in range(5)]
        return Outline(np.array(points), tuple(lines))

    def rest_poses(self):
        from ..kernels import motions  # imported here, as in components()

        nodes = self.nodes()
        pose, out = Pose(), {"0": Pose()}
        twists = self._rest_twists(np.array(list(nodes.values())), self._along_it()[2])
        for name, d in zip(list(nodes)[1:], twists, strict=True):
            pose = pose @ Pose._of(*motions.motion(d))
            out[name] = pose
        return out


def _is_node_name(name: str) -> bool:
    return name[0] in "ne" and name[1:].isdigit()
