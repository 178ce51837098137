r"""
A body from finite elements
===========================

A solid bracket of aluminum carries a mirror. A finite-element program gives its mass and stiffness matrices; mse
condenses them to two interfaces and a few modes, and the bracket becomes one object of a system. Here the matrices
are made on the spot, from bricks of 20 nodes, so that nothing has to be read; :doc:`/reduction` tells how files of
other programs come in.

A slender cantilever of mass m, with a mass M on its end, bends with about

.. math:: f = \frac{1}{2 \pi} \sqrt{\frac{k}{M + \frac{33}{140} m}}, \qquad
   \frac{1}{k} = \frac{L^3}{3 E I} + \frac{L}{\kappa G A}.

Rigid faces keep the material at both ends from contracting sideways, so the bricks are a percent or so stiffer.
"""

from itertools import product

import numpy as np
import scipy.sparse as sp

import mse
from mse import Pose

YOUNG, POISSON, DENSITY = 7.0e10, 0.33, 2700.0  # Pa, -, kg/m3: aluminum
SIZE = (0.040, 0.060, 0.300)  # m: the bracket stands along z
BRICKS = (2, 3, 8)
MIRROR = 2.0  # kg

# %%
# A brick of 20 nodes: corners, and the middles of edges; shape functions of O. Zienkiewicz, R. Taylor, "The Finite
# Element Method", integrated at 27 points.

NODES = np.array([p for p in product((-1, 0, 1), repeat=3) if np.count_nonzero(p) >= 2])


def shapes(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The 20 shape functions and their slopes (20, 3) at a point of the cube -1 ... 1."""
    value, slope = np.empty(20), np.empty((20, 3))
    for k, node in enumerate(NODES):
        middle = np.flatnonzero(node == 0)
        factors = np.where(node == 0, 1 - point**2, 1 + node * point)
        slopes = np.where(node == 0, -2 * point, node)
        scale = 0.25 if len(middle) else 0.125
        cut = 1.0 if len(middle) else node @ point - 2
        value[k] = scale * np.prod(factors) * cut
        for i in range(3):
            others = np.prod(np.delete(factors, i))
            slope[k, i] = scale * (
                slopes[i] * others * cut + (0 if len(middle) else np.prod(factors) * node[i])
            )
    return value, slope


def brick(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass and stiffness matrix (60, 60) of a rectangular brick."""
    shear = YOUNG / (2 * (1 + POISSON))
    law = np.diag([2 * shear] * 3 + [shear] * 3)
    law[:3, :3] += YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    mass, stiffness = np.zeros((60, 60)), np.zeros((60, 60))
    points, weights = np.polynomial.legendre.leggauss(3)
    for at in product(range(3), repeat=3):
        value, slope = shapes(points[list(at)])
        gradient = slope * 2 / size
        volume = np.prod(weights[list(at)]) * np.prod(size) / 8
        strain = np.zeros((6, 20, 3))
        for row, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
            strain[row, :, i] += gradient[:, j]
            if i != j:
                strain[row, :, j] += gradient[:, i]
        strain = strain.reshape(6, 60)
        stiffness += volume * strain.T @ law @ strain
        mass += volume * DENSITY * np.kron(np.outer(value, value), np.eye(3))
    return mass, stiffness


# %%
# The mesh. Nodes on a grid of half bricks, of which those that no brick has are left out.


def mesh() -> tuple[np.ndarray, sp.csr_array, sp.csr_array]:
    """Nodes (n, 3) of the bracket, and its mass and stiffness matrix (3 n, 3 n)."""
    size = np.array(SIZE) / BRICKS
    mass, stiffness = brick(size)
    number: dict[tuple, int] = {}
    elements = []
    for cell in product(*map(range, BRICKS)):
        corner = 2 * np.array(cell) + 1
        elements.append([number.setdefault(tuple(corner + node), len(number)) for node in NODES])
    places = (3 * np.array(elements)[:, :, None] + np.arange(3)).reshape(len(elements), 60)
    rows, columns = np.repeat(places, 60, axis=1).ravel(), np.tile(places, 60).ravel()
    shape = (3 * len(number), 3 * len(number))
    whole = [
        sp.csr_array((np.tile(one.ravel(), len(elements)), (rows, columns)), shape=shape)
        for one in (mass, stiffness)
    ]
    nodes = np.array(list(number)) * size / 2 - np.array([SIZE[0] / 2, SIZE[1] / 2, 0.0])
    return nodes, *whole


# %%
# Solid elements have no rotations. An interface is a face whose nodes are tied to one frame in its middle, with six
# coordinates: what finite-element programs call a rigid connection.


def tied(nodes: np.ndarray) -> sp.csr_array:
    """Displacements of all nodes from those of the interfaces (6 + 6) and the nodes between."""
    rows, columns, values, free = [], [], [], []
    for k, node in enumerate(nodes):
        faces = [face for face, z in enumerate((0.0, SIZE[2])) if abs(node[2] - z) < 1e-9]
        if not faces:
            free.append(k)
            continue
        x, y, z = node - np.array([0.0, 0.0, (0.0, SIZE[2])[faces[0]]])
        block = np.hstack([np.eye(3), [[0, z, -y], [-z, 0, x], [y, -x, 0]]])  # d + a x r
        i, j = np.nonzero(block)
        rows += list(3 * k + i)
        columns += list(6 * faces[0] + j)
        values += list(block[i, j])
    for number, k in enumerate(free):
        rows += [3 * k, 3 * k + 1, 3 * k + 2]
        columns += [12 + 3 * number, 13 + 3 * number, 14 + 3 * number]
        values += [1.0, 1.0, 1.0]
    return sp.csr_array((values, (rows, columns)), shape=(3 * len(nodes), 12 + 3 * len(free)))


nodes, mass, stiffness = mesh()
ties = tied(nodes)
M, K = ties.T @ mass @ ties, ties.T @ stiffness @ ties
print(f"{len(nodes)} nodes, {M.shape[0]} coordinates; the bracket weighs {mass.sum() / 3:.4f} kg")

# %%
# Condensed: twelve coordinates of the interfaces, and the modes up to 10 kHz with both interfaces clamped.
reduced = mse.reduce_matrices(M, None, K, range(12), up_to_hz=10e3)
print(reduced)

# %%
# The bracket in a system: clamped below, with the mirror on top and a coil that pushes it. Frame 0 of the coil pushes
# frame 1, which is the mirror; the sensor reads its frame 0, the mirror, too.


def build() -> mse.MSystem:
    """The bracket and its mirror, a coil and a sensor."""
    system = mse.MSystem("Mirror on a bracket", gravity=(0, 0, -9.81))
    bracket = system.add(
        reduced.body("bracket", interfaces={"foot": Pose(), "head": Pose.dz(SIZE[2])})
    )
    mirror = system.add(mse.RigidBody("mirror", mass=MIRROR, shape=mse.Cylinder(0.05, 0.03)))
    coil, probe = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("probe"))
    system.clamp(system.ground, bracket.frame("foot"))
    system.clamp(bracket.frame("head"), mirror.frame("center"))
    system.clamp(mirror.frame("center"), coil.frame(1))
    system.clamp(system.ground, coil.frame(0), Pose.dz(SIZE[2]))
    system.clamp(mirror.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1), Pose.dz(SIZE[2]))
    return system


def by_hand(thickness: float, width: float) -> float:
    """Frequency (Hz) of bending along the side ``thickness``: the formula above."""
    area, second = thickness * width, width * thickness**3 / 12
    shear = YOUNG / (2 * (1 + POISSON)) * area * 5 / 6
    compliance = SIZE[2] ** 3 / (3 * YOUNG * second) + SIZE[2] / shear
    moving = MIRROR + 33 / 140 * DENSITY * area * SIZE[2]
    return np.sqrt(1 / (compliance * moving)) / (2 * np.pi)


working_point = build().find_working_point()
linear = working_point.linearize()
modes = linear.modes(8)
print(modes)
print(
    f"by hand: along x {by_hand(SIZE[0], SIZE[1]):.2f} Hz, "
    f"along y {by_hand(SIZE[1], SIZE[0]):.2f} Hz"
)

# %%
# The mirror pushed along x and y, with a loss of a hundredth in the bracket.
response = linear.frequency_response(
    np.geomspace(10.0, 5000.0, 1500), inputs=["coil.fx", "coil.fy"], loss={"bracket": 0.01}
)
figure = response.plot(pairs=[("probe.x", "coil.fx"), ("probe.y", "coil.fy")])
figure

# %%
# In three dimensions. The bracket is drawn as what joins its interfaces: its matrices know no shape.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
