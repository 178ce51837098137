"""FlexibleBody: an elastic body given by its mass, damping and stiffness matrices, as finite-element programs export them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..kernels import rotations
from ..numerics.law_functions import rotation_vector
from ..pose import Pose
from ..validation.arguments import instance, mapping, new_name, refusal
from ..validation.matrices import refuse_indefinite, symmetric_matrix
from .base import MObject, Outline
from .coordinates import GENERALIZED, coordinate
from .losses import Loss, temperature
from .parameters import Parameter, Real

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

    Given = np.ndarray | Sequence[Sequence[float]] | spmatrix | sparray

_MOST = 3000  # coordinates; the matrices are kept dense
_NOT_RIGID = 1e-4  # relative stiffness of K on rigid motions, and asymmetry of the rigid part of M


class _Matrix(Parameter[np.ndarray, Any]):
    """A symmetric, positive semi-definite matrix over all coordinates, dense or sparse; kept dense and read-only."""

    kind = "matrix"

    def expectation(self) -> str:
        return "a symmetric positive semi-definite matrix, 6 rows an interface and one an internal coordinate"

    def checked(self, obj, value):
        if value is None and not self.required:
            return None
        matrix = symmetric_matrix(obj.label, self.name, value, expected=self.expectation(), most=_MOST, unit=self.unit)
        if not isinstance(matrix, np.ndarray):
            matrix = matrix.toarray()
        matrix.flags.writeable = False
        return matrix

    def __set__(self, obj, value) -> None:
        before = obj._values
        super().__set__(obj, value)
        try:
            obj._prepare()
        except ModelError:
            obj._values = before
            raise


@dataclass(frozen=True, eq=False)
class _Shape:
    """Properties of the body that follow from matrices and interfaces, seen from its reference frame.

    ``place`` (F, 3) and ``axes`` (F, 3, 3) are the interfaces at rest; ``rigid`` (6 F, 6) are their displacements when the body
    moves about the first one; ``moment`` (3,) is the first moment of mass about the first one; ``weighed`` (3, N) is the change
    of the first moment with the coordinates.
    """

    place: np.ndarray
    axes: np.ndarray
    rigid: np.ndarray
    mass: float
    moment: np.ndarray
    weighed: np.ndarray


class FlexibleBody(MObject):
    """A body that deforms, by matrices of a finite-element program: ``W = u^T K u/2 - g . (m o0 + U (c + A u))``.

    Its deformation u is seen from the first interface.

    ``M``, ``Lambda`` and ``K`` (N, N), dense or scipy.sparse, are over (dx, dy, dz, ax, ay, az) of each interface in the order of
    ``interfaces``, along the axes of the body's reference frame, then any number of internal scalar coordinates, which
    no rigid motion moves (modes with all interfaces clamped).  The interfaces are the
    body's frames, ``at`` placing the first; the internal coordinates are named q1, q2 ...

    The body may move and turn as it likes; u must be small: displacements and rotation vectors of the other interfaces seen from
    the first (a floating frame: A. Shabana, "Dynamics of Multibody Systems", 4th ed. (2013), chapter 5), then the
    internal coordinates.  m, the first moment c and its change ``A = S^T M`` with the deformation come from M, S being
    the three translations.  M turns with the first interface; Lambda acts on deformations and, where it damps rigid motions,
    on those of the first interface.  Stress inside does not stiffen the body.

    Raises ModelError where a matrix is not symmetric, not positive semi-definite, or of the wrong size; where K resists
    a rigid motion by more than 1e-4 (relative); where M weighs differently in different directions.

    Parameters
    ----------
    interfaces : mapping of str to Pose
        Its frames by name, as seen from the reference frame, at least one.

    Examples
    --------
    >>> bar = mse.SectionBeam("bar", length=0.3, area=1e-4, second_moment_y=1e-9, second_moment_z=1e-9,
    ...                       torsion_constant=2e-9)
    >>> system = mse.MSystem("free bar", gravity=(0, 0, 0))
    >>> bar = system.add(bar)
    >>> probe = system.add(mse.PositionSensor("probe"), between=(bar.frame(0), system.ground))
    >>> model = system.find_working_point().linearize()
    >>> matrices = mse.reduce_matrices(model.M, None, model.K, boundary=range(12), modes=4)
    >>> ends = {"left": mse.Pose(), "right": mse.Pose.dx(0.3)}
    >>> body = mse.FlexibleBody("bar", M=matrices.M, K=matrices.K, interfaces=ends)
    >>> body.frame_names
    ('left', 'right')
    """

    M: _Matrix = _Matrix("mass", unit="kg, kg m, kg m2")
    K: _Matrix = _Matrix("stiffness", unit="N/m, N, N m")
    Lambda: _Matrix = _Matrix("viscous damping", unit="N s/m, N s, N m s", default=None)
    loss: Loss = Loss()
    temperature: Real = temperature()

    parts = ("elastic", "gravity", "geometric")

    if TYPE_CHECKING:

        def __init__(
            self, name: str, *, M: Given, K: Given, Lambda: Given | None = None, interfaces: Mapping[str, Pose],
            at: Pose | None = None, loss: float | Mapping[str, float] = 0.0, temperature: float = 300.0,
        ) -> None: ...  # fmt: skip

    else:

        def __init__(self, name, *, interfaces=None, at=None, **parameters):
            super().__init__(name, at=at, **parameters)
            self._interfaces = self._checked_interfaces(interfaces)
            self.frame_names = tuple(self._interfaces)
            self._prepare()

    def _checked_interfaces(self, interfaces: Mapping[str, Pose] | None) -> dict[str, Pose]:
        expected = "at least one name and pose, such as {'top': Pose(), 'bottom': Pose.dz(-0.3)}"
        found = mapping(self.label, "interfaces", interfaces, expected)
        if not found:
            raise refusal(self.label, "interfaces", interfaces, expected)
        for key, pose in found.items():
            new_name(self.label, "interface name", key, number=False)
            instance(self.label, f"interface {key!r}", pose, Pose, "a Pose as seen from the body's reference frame")
        return found

    # -- properties from the matrices --------------------------------------------------------------------------------
    def _prepare(self) -> None:
        """Check the matrices against each other and the interfaces, and compute the properties that follow from them."""
        place = np.array([p.o for p in self._interfaces.values()])
        count, size = 6 * len(place), len(self.K)
        if size < count:
            raise ModelError(
                f"{self.label}: K has shape {self.K.shape}; expected at least ({count}, {count}), six for each of the "
                f"{len(place)} interfaces"
            )
        for key in ("M", "Lambda"):
            matrix = getattr(self, key)
            if matrix is not None and len(matrix) != size:
                raise ModelError(f"{self.label}: {key} has shape {matrix.shape}; expected {self.K.shape} like K")
        axes = np.array([p.U for p in self._interfaces.values()])
        rigid = _rigid_motions(place - place[0])
        self._refuse_resistance(place)
        # a slender body of many elements resists rigid motions by rounding, which is projected out of K
        for key, matrix in (
            ("M", self.M),
            ("Lambda", self.Lambda),
            ("K, with the first interface held,", self.K[6:, 6:]),
        ):
            if matrix is not None:
                refuse_indefinite(
                    self.label, key, matrix, remedy="check that it was exported whole and with all its digits"
                )
        weighed = rigid[:, :3].T @ self.M[:count]
        by_translation, by_rotation = weighed[:, :count] @ rigid[:, :3], weighed[:, :count] @ rigid[:, 3:]
        mass = float(np.trace(by_translation)) / 3.0
        # int rho (w x r) = w x c: minus the cross matrix of the first moment
        moment = 0.5 * np.array([
            by_rotation[1, 2] - by_rotation[2, 1], by_rotation[2, 0] - by_rotation[0, 2], by_rotation[0, 1] - by_rotation[1, 0]
        ])  # fmt: skip
        uneven = by_translation - mass * np.eye(3)
        lopsided = by_rotation + by_rotation.T
        reach = max(np.abs(place - place[0]).max(), np.abs(moment).max() / mass if mass else 0.0)
        most = np.abs(self.M[:count, :count]).max()
        if np.abs(uneven).max() > _NOT_RIGID * (mass or most):
            shown = ", ".join(f"{x:.6g}" for x in np.linalg.eigvalsh(by_translation))
            raise ModelError(
                f"{self.label}: M gives different masses for rigid translations along different directions, {shown} "
                "kg; expected one mass for all; export M over all six coordinates of each interface, with no "
                "coordinate left out"
            )
        if np.abs(lopsided).max() > _NOT_RIGID * (mass * reach or most):
            raise ModelError(
                f"{self.label}: M couples rigid translations and rotations by a matrix unsymmetric by "
                f"{np.abs(lopsided).max():.3g} kg m; expected a first moment of mass, which is antisymmetric; check the poses "
                "of the interfaces, their axes and units"
            )
        self._shape = _Shape(place, axes, rigid, mass, moment, weighed)
        self.coordinate_names = tuple(coordinate(f"q{k + 1}", domain=GENERALIZED) for k in range(size - count))

    def _refuse_resistance(self, place: np.ndarray) -> None:
        """Refuse a K that resists rigid motions: each row is compared with roots of the diagonal, so that units do not mix."""
        count = 6 * len(place)
        k, m = np.diag(self.K), np.diag(self.M)
        moves = m > 0.0
        fastest = np.max(k[moves] / m[moves], initial=0.0)
        # a coordinate without stiffness inside is measured by its inertia at the body's fastest rate
        size = np.sqrt(np.where(k > 1e-10 * fastest * m, np.abs(k), fastest * m))
        size[size == 0.0] = np.inf
        motions = _rigid_motions(place - place.mean(axis=0))
        answer = np.abs(self.K[:, :count] @ motions) / size[:, None]
        scale = np.where(np.isinf(size), 0.0, size)[:count]
        against = np.max(scale[:, None] * np.abs(motions), axis=0)
        ratio = np.max(answer, axis=0) / np.where(against > 0.0, against, 1.0)
        worst = int(np.argmax(ratio))
        if ratio[worst] > _NOT_RIGID:
            motion = ("translation along", "rotation about")[worst // 3]
            raise ModelError(
                f"{self.label}: K resists the rigid {motion} {'xyz'[worst % 3]} by {ratio[worst]:.3g}, relative to its own "
                f"entries; expected below {_NOT_RIGID:g}; export the body free of supports, with poses of the interfaces along "
                "the axes and in the units of K, and with all digits"
            )

    @property
    def mass(self) -> float:
        """Total mass (kg), by M on rigid translations."""
        return self._shape.mass

    @property
    def center_of_mass(self) -> np.ndarray:
        """Center of mass (3,) m of the body at rest, seen from its reference frame; the first interface if massless."""
        shape = self._shape
        return shape.place[0] + (shape.moment / shape.mass if shape.mass else 0.0)

    def options(self):
        return {"interfaces": self._interfaces}

    def span(self):
        place = self._shape.place
        return float(np.linalg.norm(place[1] - place[0])) if len(place) > 1 else 0.0

    def rest_poses(self):
        poses = list(self._interfaces.items())
        return {key: pose.seen_from(poses[0][1]) for key, pose in poses}

    # -- statics ----------------------------------------------------------------------------------------------
    def energy(self, frames, q):
        u = self._law(frames, q)[1]
        return 0.5 * (u @ (self.K @ u))

    def gravity_energy(self, frames, q, gravity):
        shape = self._shape
        body, u = self._law(frames, q)
        return -(gravity @ (shape.mass * frames[0].o + body @ (shape.moment + shape.weighed @ u)))

    def _law(self, frames, q):
        """Axes of the floating frame and deformation u (N,), of poses that may be recorded."""
        shape = self._shape
        body = frames[0].U @ shape.axes[0].T
        pieces = [np.zeros(6)]
        for k in range(1, len(frames)):
            there = body.T @ (frames[k].o - frames[0].o) - (shape.place[k] - shape.place[0])
            pieces += [there, rotation_vector(body.T @ frames[k].U @ shape.axes[k].T)]
        u = np.concatenate([*pieces, q])
        return body, u

    def evaluate(self, frames, q, gravity, order: int):
        """The chain rule by hand: u depends on the frames only, however many internal coordinates there are."""
        shape, count = self._shape, 6 * len(frames)
        body = frames[0].U @ shape.axes[0].T
        u = self._deformation(frames, q)
        stress = self.K @ u
        gravity = np.zeros(3) if gravity is None else np.asarray(gravity, dtype=float)
        fall = body.T @ gravity
        first = shape.moment + shape.weighed @ u
        energy = 0.5 * (u @ stress) - shape.mass * (gravity @ frames[0].o) - fall @ first
        if order == 0:
            return float(energy), None, None
        slope = self._slope(frames, u)
        weight = -fall @ shape.weighed
        gradient = stress + weight
        gradient[:count] = slope.T @ gradient[:count]
        arm = body @ first
        gradient[:3] -= shape.mass * gravity
        gradient[3:6] -= np.cross(arm, gravity)
        if order == 1:
            return float(energy), gradient, None
        n = len(u)
        parts = np.zeros((3, n, n))
        parts[0] = self.K
        parts[0, :count] = slope.T @ parts[0, :count]
        parts[0, :, :count] = parts[0, :, :count] @ slope
        # the direction of the weight turns with the body, so ``fall`` changes with the rotation of frame 0
        turning = body.T @ rotations.cross_matrix(gravity)
        mixed = -turning.T @ shape.weighed
        mixed[:, :count] = mixed[:, :count] @ slope
        parts[1, 3:6] += mixed
        parts[1, :, 3:6] += mixed.T
        both = np.outer(arm, gravity)
        parts[1, 3:6, 3:6] -= 0.5 * (both + both.T) - (arm @ gravity) * np.eye(3)
        parts[1, :count, :count] += self._curvature(frames, u, weight)
        parts[2, :count, :count] = self._curvature(frames, u, stress)
        # products in another order would differ in the last digit
        return float(energy), gradient, 0.5 * (parts + np.swapaxes(parts, 1, 2))

    def _deformation(self, frames, q) -> np.ndarray:
        """u (N,): zero for the first interface, the others relative to it, the internal coordinates unchanged."""
        shape, count = self._shape, 6 * len(frames)
        body = frames[0].U @ shape.axes[0].T
        u = np.zeros(len(self.K))
        for k in range(1, len(frames)):
            u[6 * k : 6 * k + 3] = body.T @ (frames[k].o - frames[0].o) - (shape.place[k] - shape.place[0])
            turn = body.T @ frames[k].U @ shape.axes[k].T
            u[6 * k + 3 : 6 * k + 6] = rotations.rotation_vector(np.ascontiguousarray(turn))
        # matrices are evaluated with internal coordinates at zero, since frames do not determine them
        u[count:] = q if len(q) else 0.0
        return u

    def _slope(self, frames, u) -> np.ndarray:
        """du/dx (6 F, 6 F) on the frames."""
        back = (frames[0].U @ self._shape.axes[0].T).T
        slope = np.zeros((6 * len(frames),) * 2)
        for k in range(1, len(frames)):
            i = 6 * k
            turn = rotations.inverse_left_jacobian(u[i + 3 : i + 6]) @ back
            slope[i : i + 3, 0:3] = -back
            slope[i : i + 3, 3:6] = back @ rotations.cross_matrix(frames[k].o - frames[0].o)
            slope[i : i + 3, i : i + 3] = back
            slope[i + 3 : i + 6, 3:6] = -turn
            slope[i + 3 : i + 6, i + 3 : i + 6] = turn
        return slope

    def _curvature(self, frames, u, mu) -> np.ndarray:
        """Second derivative of ``mu . u`` (6 F, 6 F) by the frames, rotations as exp([a]x)."""
        body = frames[0].U @ self._shape.axes[0].T
        h = np.zeros((6 * len(frames),) * 2)
        here = slice(3, 6)
        for k in range(1, len(frames)):
            i = 6 * k
            move, turn = slice(i, i + 3), slice(i + 3, i + 6)
            force, r = body @ mu[move], frames[k].o - frames[0].o
            across = rotations.cross_matrix(force)
            h[here, move] += across
            h[move, here] += across.T
            h[here, 0:3] -= across
            h[0:3, here] -= across.T
            both = np.outer(force, r)
            h[here, here] += 0.5 * (both + both.T) - (force @ r) * np.eye(3)
            # mu . log(exp(-a) exp(b) Q) to second order: terms of the product and of the logarithm
            w, moment = u[turn], np.ascontiguousarray(mu[turn])
            left = rotations.inverse_left_jacobian(w)
            second = -body @ rotations.inverse_left_jacobian_slope(-w, moment) @ left @ body.T
            second = 0.5 * (second + second.T)
            twisting = 0.5 * rotations.cross_matrix(body @ (left.T @ moment))
            h[turn, turn] += second
            h[here, here] += second
            h[here, turn] += twisting - second
            h[turn, here] += twisting.T - second
        return h

    # -- linear regime ----------------------------------------------------------------------------------------
    def mass_matrix(self, frames, q=()):
        return self._turned(self.M, np.kron(np.eye(2 * len(frames)), (frames[0].U @ self._shape.axes[0].T).T))

    def damping_matrix(self, frames, q=()):
        if self.Lambda is None:
            return None
        # deformations, and the motion of the first interface as a motion of the whole body: rigid motions must not cost
        # deformation
        carried = self._slope(frames, self._deformation(frames, ()))
        back = (frames[0].U @ self._shape.axes[0].T).T
        carried[:, :6] += self._shape.rigid @ np.kron(np.eye(2), back)
        return self._turned(self.Lambda, carried)

    def _turned(self, matrix: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """``T^T A T`` with T (6 F, 6 F) on the frames and the identity on the internal coordinates."""
        count = len(turn)
        out = matrix.copy()
        out[:count] = turn.T @ out[:count]
        out[:, :count] = out[:, :count] @ turn
        return 0.5 * (out + out.T)

    def outline(self, frames):
        points = np.array([f.o for f in frames])
        return Outline(points, tuple(combinations(range(len(points)), 2)))


def _rigid_motions(place: np.ndarray) -> np.ndarray:
    """Displacements (6 F, 6) of points (F, 3) when all move by (dx, dy, dz, ax, ay, az) of the origin, to first order."""
    out = np.tile(np.eye(6), (len(place), 1))
    for k, p in enumerate(place):
        out[6 * k : 6 * k + 3, 3:] = -rotations.cross_matrix(p)
    return out
