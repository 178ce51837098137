"""Modes with loss in which the ends of exact members rest: the beam's own equation with a complex stiffness."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

import mse
from mse import LinearModel, Pose

pytestmark = pytest.mark.rounding

# a fused silica fiber of 0.8 mm, without rotary inertia
LENGTH, RADIUS, E, POISSON, DENSITY, GRAVITY = 0.6, 4e-4, 7.2e10, 0.2, 2200.0, 9.81
AREA, SECOND, G = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4, E / (2 + 2 * POISSON)
DOWN = Pose.ry(np.pi / 2)


def fiber(name: str, **parameters) -> mse.SectionBeam:
    return mse.SectionBeam(
        name, length=LENGTH, area=AREA, second_moment_y=SECOND, second_moment_z=SECOND, torsion_constant=2 * SECOND,
        young_modulus=E, poisson_ratio=POISSON, density=DENSITY, theory="euler-bernoulli", form="exact", **parameters,
    )  # fmt: skip


def mirror(places, losses, mass: float, inertia=0.8, damping: float = 0.0) -> LinearModel:
    """A mirror on fibers that are clamped to it at the height of its center, at ``places`` (x, y)."""
    system = mse.MSystem("mirror", gravity=(0, 0, -GRAVITY))
    body = system.add(mse.RigidBody("m", mass=mass, inertia=inertia, at=Pose.dz(-LENGTH)))
    for k, ((x, y), loss) in enumerate(zip(places, losses, strict=True)):
        wire = system.add(fiber(f"w{k}", loss=loss))
        system.clamp(system.ground, wire.frame(0), Pose((x, y, 0)) @ DOWN)
        system.clamp(wire.frame(1), body, (Pose((x, y, 0)) @ DOWN).inverse())
    if damping:
        system.add(mse.Bushing("damper", damping=damping), between=(body, system.ground))
    return system.find_working_point().linearize()


class Fiber:
    """``EI (1 + i eta) w'''' = T w'' + mu w^2 w``, stretched by T/EA: it keeps its mass and the stiffness of its ends at rest."""

    def __init__(self, tension: float, eta: float, torsion: float = 0.0):
        stretched = mpmath.mpf(1) + mpmath.mpf(tension) / (E * AREA)
        self.length, self.tension = LENGTH * stretched, mpmath.mpf(tension)
        self.ei = E * SECOND * stretched * mpmath.mpc(1, eta)
        self.gj = G * 2 * SECOND * stretched * mpmath.mpc(1, torsion)
        self.mu, self.turned = DENSITY * AREA / stretched, DENSITY * 2 * SECOND / stretched

    def ends(self, w2: complex) -> list[list]:
        """Rows w(0), w'(0), w(L), w'(L) of four solutions, and below them the shear force and the moment at L."""
        a, b = self.tension / self.ei, self.mu * w2 / self.ei
        root = mpmath.sqrt(a * a + 4 * b)
        fast, slow, length = mpmath.sqrt((root + a) / 2), mpmath.sqrt((root - a) / 2), self.length
        waves = [
            lambda x, n: (-fast) ** n * mpmath.exp(-fast * x),
            lambda x, n: fast**n * mpmath.exp(fast * (x - length)),
            lambda x, n: slow**n * mpmath.cos(slow * x + n * mpmath.pi / 2),
            lambda x, n: slow**n * mpmath.sin(slow * x + n * mpmath.pi / 2),
        ]
        rows = [[w(x, n) for w in waves] for x in (0, length) for n in (0, 1)]
        shear = [self.tension * w(length, 1) - self.ei * w(length, 3) for w in waves]
        return [*rows, shear, [self.ei * w(length, 2) for w in waves]]

    def between_walls(self, w2: complex) -> mpmath.mpc:
        return mpmath.det(mpmath.matrix(self.ends(w2)[:4]))

    def below(self, w2: complex) -> mpmath.matrix:
        """Shear force and moment at the lower end by its displacement and slope, (2, 2)."""
        rows = self.ends(w2)
        found = mpmath.matrix(2, 2)
        for k in range(2):
            right = mpmath.matrix([0, 0, *(mpmath.mpf(j == k) for j in range(2))])
            solution = mpmath.lu_solve(mpmath.matrix(rows[:4]), right)
            for j in range(2):
                found[j, k] = mpmath.fdot(rows[4 + j], solution)
        return found

    def twist(self, w2: complex) -> mpmath.mpc:
        q = mpmath.sqrt(self.turned * w2 / self.gj)
        return self.gj * q * mpmath.cot(q * self.length)


def root_near(function, start: complex) -> complex:
    with mpmath.workdps(40):
        return complex(
            mpmath.findroot(function, (start, start * (1 + 1e-9), start * (1 + 1e-9j)), solver="muller", verify=False)
        )


SQUARE = ((0.15, 0.1), (-0.15, 0.1), (-0.15, -0.1), (0.15, -0.1))


@pytest.mark.parametrize(("eta", "damping"), [(1e-5, 0.0), (0.2, 0.0), (1e-3, 2.0)])
def test_fibers_of_a_mirror_at_rest_lose_as_between_walls(eta, damping):
    model = mirror(SQUARE, [{"bending": eta}] * 4, 40.0, damping=damping)
    modes = model.modes(22, lossy=True)
    still = np.abs(modes.shapes).max(axis=0) == 0.0
    line = Fiber(GRAVITY * (40.0 / 4 + DENSITY * AREA * LENGTH / 2), eta)
    # of eight modes of each order the mirror follows three; the first two orders are among 22 modes
    assert still.sum() == 10
    for order in np.split(-(modes.eigenvalues[still] ** 2), 2):
        exact = root_near(line.between_walls, order[0])
        np.testing.assert_allclose(order, exact, rtol=1e-11)
        np.testing.assert_allclose(order.imag, exact.imag, rtol=1e-8)
    assert np.all((0.01 * eta < modes.loss_factors[still]) & (modes.loss_factors[still] < 0.03 * eta))
    assert not any("loss factors do not act" in note for note in modes.notes)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_a_fiber_between_two_walls_loses(order):
    system = mse.MSystem("string", gravity=(0, 0, 0))
    wire = system.add(fiber("wire", loss={"bending": 1e-3}))
    tension = 60.0
    system.clamp(system.ground, wire.frame(0))
    system.clamp(system.ground, wire.frame(1), Pose.dx(LENGTH * (1 + tension / (E * AREA))))
    modes = system.find_working_point().linearize().modes(2 * order, lossy=True)
    for s in modes.eigenvalues[-2:]:
        exact = root_near(Fiber(tension, 1e-3).between_walls, -(s**2))
        assert -(s**2) == pytest.approx(exact, rel=1e-10)
        assert (-(s**2)).imag == pytest.approx(exact.imag, rel=1e-7)


@pytest.mark.parametrize(("losses", "mass"), [((1e-5, 3e-5), 40.0), ((1e-3, 0.1), 0.05), ((0.0, 0.3), 40.0)])
def test_where_fibers_lose_unequally_their_ends_move(losses, mass):
    """Two fibers at x = +-a: out of plane y, turns about x and about z of the mirror; in plane x and its turn about y."""
    a, inertia = 0.1, 0.01 * mass
    model = mirror(((a, 0.0), (-a, 0.0)), [{"bending": eta} for eta in losses], mass, inertia)
    modes = model.modes(10, lossy=True)
    tension = GRAVITY * (mass / 2 + DENSITY * AREA * LENGTH / 2)
    lines = [Fiber(tension, eta) for eta in losses]

    def out_of_plane(w2, lines=lines):
        z = -w2 * mpmath.diag([mass, inertia, inertia])
        for line, x in zip(lines, (a, -a), strict=True):
            # the fiber runs down: a turn about x by 1 is a slope of 1, and its displacement along y is that of the clamp
            t = mpmath.matrix([[1, 0, x], [0, 1, 0]])
            z += t.T * line.below(w2) * t
            z[2, 2] += line.twist(w2)
        return z

    def in_plane(w2, lines=lines):
        z = -w2 * mpmath.diag([mass, inertia])
        for line in lines:
            below = line.below(w2)  # a turn about y by 1 is a slope of -1
            z += mpmath.matrix([[below[0, 0], -below[0, 1]], [-below[1, 0], below[1, 1]]])
            q = mpmath.sqrt(DENSITY * w2 / E)
            z[1, 1] += a * a * E * AREA * q * mpmath.cot(q * LENGTH)
        return z

    # the fibers' own weight acts on ends that turn: that is statics, and no matter of this test
    rest, k = [Fiber(tension, 0.0)] * 2, model.K.toarray()
    with mpmath.workdps(40):
        planes = [
            (law, mpmath.matrix(k[np.ix_(on, on)]) - law(mpmath.mpf(1e-9), rest).apply(mpmath.re))
            for law, on in ((out_of_plane, [1, 3, 5]), (in_plane, [0, 4]))
        ]
    assert all(abs(x) < 1e-2 * k[3, 3] for _, weight in planes for x in weight)
    string = np.pi / LENGTH * float(mpmath.sqrt(lines[0].tension / lines[0].mu))
    first = [s for s in modes.eigenvalues if abs(s) > 0.8 * string][:4]
    for s in first:
        near = [root_near(lambda w2, p=p: mpmath.det(p[0](w2) + p[1]), -(s**2)) for p in planes]
        assert min(abs(x / -(s**2) - 1.0) for x in near) < 1e-11
    assert all(abs(a / b - 1.0) > 1e-9 for a, b in itertools.combinations(first, 2))
