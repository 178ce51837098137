"""Compiled: sizes that forces and stiffness are compared with, coordinate by coordinate."""

from __future__ import annotations

from functools import partial

import numpy as np

from .jit import when_large

# Relative to the length of three numbers: how far rounding of two of them can change their sum compared with a third.  Three
# squares, their sum and its root are rounded by less than 3 eps.
_ROUNDING = 8.0 * np.finfo(float).eps


@when_large
def load_sizes(load, scale, bodies, least_force, least):
    """Load (n,) that each coordinate is compared with, from sums ``load`` (n,) of absolute forces; see :func:`.load_scale`.

    The six coordinates of each of the ``bodies`` come first.  The size of a force is at least ``least_force`` of the largest
    one on a body, and every size is at least ``least`` of the largest load.
    """
    size, first = len(load), 6 * bodies
    out = np.empty(size)
    most = 0.0
    for i in range(first):
        if i % 6 < 3:
            most = max(most, load[i])
    top = 0.0
    for i in range(0, first, 6):
        out[i] = 0.0
        if most > 0.0:
            # scaled, so that squares neither overflow nor underflow
            x, y, z = load[i] / most, load[i + 1] / most, load[i + 2] / most
            out[i] = most * np.sqrt(x * x + y * y + z * z)
            top = max(top, out[i])
    largest, floor = 0.0, 0.0
    for i in range(0, first, 6):
        force = max(out[i], least_force * top)
        for j in range(i, i + 3):
            out[j] = force
            out[j + 3] = max(load[j + 3], force * scale[j + 3])
        for j in range(i, i + 6):
            largest = max(largest, out[j])
            floor = max(floor, out[j] / scale[j])
    for i in range(first, size):
        floor = max(floor, load[i] / scale[i])
        largest = max(largest, load[i] / scale[i])
    for i in range(size):
        if i >= first:
            out[i] = max(load[i], least * largest * scale[i])
        else:
            # compare forces with forces: torques on a long arm are larger numbers than any of them
            out[i] = max(out[i], least * (floor if i % 6 < 3 else largest))
        if out[i] == 0.0:
            out[i] = 1.0
    return out


@partial(when_large, work=lambda points: len(points) ** 2)
def diameter(points):
    """The largest distance (m) between two points (n, 3), independent of axes; 0 without points.

    Two points are no farther apart than the sum of their distances from the middle, so few pairs have to be computed.
    """
    count = len(points)
    middle, reach = np.zeros(3), 0.0
    for i in range(3):
        for k in range(count):
            middle[i] += points[k, i] / count
        for k in range(count):
            reach = max(reach, abs(points[k, i] - middle[i]))
    if reach == 0.0:
        return 0.0
    # scaled, so that squares neither overflow nor underflow
    shares, outward = np.empty((count, 3)), np.zeros(count)
    outermost = 0
    for k in range(count):
        for i in range(3):
            shares[k, i] = (points[k, i] - middle[i]) / reach
            outward[k] += shares[k, i] * shares[k, i]
        outward[k] = np.sqrt(outward[k])
        if outward[k] > outward[outermost]:
            outermost = k
    most = 0.0
    for k in range(count):
        square = 0.0
        for i in range(3):
            square += (shares[k, i] - shares[outermost, i]) ** 2
        most = max(most, np.sqrt(square))
    # all others are no farther apart than this, up to rounding
    outer, found = np.empty(count, np.int64), 0
    for k in range(count):
        if outward[k] + outward[outermost] > (1.0 + _ROUNDING) * most:
            outer[found] = k
            found += 1
    for a in range(found):
        for b in range(a):
            if outward[outer[a]] + outward[outer[b]] > most:
                square = 0.0
                for i in range(3):
                    square += (shares[outer[a], i] - shares[outer[b], i]) ** 2
                most = max(most, np.sqrt(square))
    return reach * most


@when_large
def moved_by_positions(origins, internal, values, rows, first):
    """``|K| x`` (n,) for a stiffness (n, n) in csc form and the sizes x (n,) of the numbers that positions are held by.

    Displacements of a body have the size of its largest coordinate among ``origins`` (bodies, 3), turns of it the size 1, and
    ``internal`` coordinates (k,) their own.  ``values``, ``rows`` and ``first`` are as in :func:`stiffness_terms`.
    """
    count = 6 * len(origins)
    out = np.zeros(len(first) - 1)
    for j in range(len(out)):
        size = 1.0
        if j >= count:
            size = abs(internal[j - count])
        elif j % 6 < 3:
            o = origins[j // 6]
            size = max(abs(o[0]), abs(o[1]), abs(o[2]))
        for e in range(first[j], first[j + 1]):
            out[rows[e]] += abs(values[e]) * size
    return out


@when_large
def add_force_noise(unbalanced, load, scale, arms, bodies, size, jointed, eps, noise):
    """Add to the ``noise`` (n,) of a stiffness in scaled coordinates that of forces: ``unbalanced`` ones, and ``eps`` of loads.

    The ``unbalanced`` forces and the sums ``load`` (n,) of absolute forces are not scaled.  A motion on a path of some radius
    bends the energy by force over radius.  The radius is the ``scale`` (n,) of a body's turns for its six coordinates, and
    ``size`` (m) for internal ones.  If a body turns about itself, a force moves only by its arm on the body, of ``arms``
    (bodies with the ground,).  Joints carry rounding to every body (``jointed``).
    """
    most = 0.0
    if jointed:
        for i in range(len(scale)):
            most = max(most, load[i] / scale[i])
    for i in range(6 * bodies, len(scale)):
        force = most if jointed else load[i] / scale[i]
        noise[i] += (abs(unbalanced[i] / scale[i]) + eps * force) / size
    for b in range(bodies):
        radius = scale[6 * b + 3]
        reach = arms[1 + b] / radius
        if jointed:
            reach = max(reach, 1.0)
        largest, torque = 0.0, 0.0
        for i in range(6 * b, 6 * b + 6):
            force = most if jointed else load[i] / scale[i]
            bent = (abs(unbalanced[i] / scale[i]) + eps * force) / radius
            largest = max(largest, bent)
            if i % 6 > 2:
                torque = max(torque, bent)
        for i in range(6 * b, 6 * b + 6):
            noise[i] += largest if i % 6 < 3 else largest * reach + torque


@when_large
def stiffness_terms(values, rows, first, group, unit):
    """Size of the terms in each row of a stiffness (n, n) in csc form, (n,); see :func:`.stiffness_noise`.

    ``values`` and ``rows`` (e,) are its entries by columns, which begin at ``first`` (n + 1,); ``group`` (n,) are group numbers
    of coordinates that are measured together.  Sizes are those of the matrix times ``unit`` (n,) by rows and columns.
    """
    size, count = len(group), 0
    for j in range(size):
        count = max(count, group[j] + 1)
    # stiffness of each group, by the diagonal
    stiff, root, sums, alone = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    for j in range(size):
        for e in range(first[j], first[j + 1]):
            if rows[e] == j:
                stiff[group[j]] = max(stiff[group[j]], abs(values[e] * unit[j] * unit[j]))
    for k in range(count):
        if stiff[k] > 0.0:
            root[k] = 1.0 / np.sqrt(stiff[k])
    # or by other entries, if terms have canceled on the diagonal
    for j in range(size):
        for e in range(first[j], first[j + 1]):
            entry = abs(values[e] * unit[rows[e]] * unit[j])
            alone[group[j]] = max(alone[group[j]], entry)
            stiff[group[j]] = max(stiff[group[j]], (entry * root[group[rows[e]]]) ** 2)
    for k in range(count):
        if stiff[k] == 0.0:
            stiff[k] = alone[k] if alone[k] > 0.0 else 1.0
        stiff[k] = np.sqrt(stiff[k])
        root[k] = 1.0 / stiff[k]
    for j in range(size):
        total = 0.0
        for e in range(first[j], first[j + 1]):
            total += abs(values[e] * unit[rows[e]] * unit[j]) * root[group[rows[e]]]
        sums[group[j]] = max(sums[group[j]], stiff[group[j]] * total)
    out = np.empty(size)
    for j in range(size):
        out[j] = sums[group[j]]
    return out
