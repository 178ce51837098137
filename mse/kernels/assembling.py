"""Compiled: quantities of elements moved to the reference points of their bodies, and summed over all elements."""

from __future__ import annotations

import numpy as np

from .jit import compiled, when_large


@compiled
def shift_to_reference(levers, order, gradient, stiffness):
    """Transform gradients (E, n) and stiffness parts (E, p, n, n) in place from frames to reference points.

    ``levers`` (E, F, 3) point from reference point to frame; the lever-arm term is added to the last stiffness part.
    """
    count, nodes = levers.shape[0], levers.shape[1]
    parts, n = stiffness.shape[1], gradient.shape[1]
    for e in range(count):
        for a in range(nodes):
            x, y, z = levers[e, a, 0], levers[e, a, 1], levers[e, a, 2]
            if x == 0.0 and y == 0.0 and z == 0.0:
                continue
            i = 6 * a
            g = gradient[e]
            gx, gy, gz = g[i], g[i + 1], g[i + 2]
            if order == 2:
                for p in range(parts):
                    k = stiffness[e, p]
                    for j in range(n):
                        u, v, w = k[i, j], k[i + 1, j], k[i + 2, j]
                        k[i + 3, j] += y * w - z * v
                        k[i + 4, j] += z * u - x * w
                        k[i + 5, j] += x * v - y * u
                    for j in range(n):
                        u, v, w = k[j, i], k[j, i + 1], k[j, i + 2]
                        k[j, i + 3] += y * w - z * v
                        k[j, i + 4] += z * u - x * w
                        k[j, i + 5] += x * v - y * u
                k = stiffness[e, parts - 1]
                # with f = -g: -([f][r] + [r][f])/2 = (g r^T + r g^T)/2 - (g.r) I
                k[i + 3, i + 3] -= gy * y + gz * z
                k[i + 4, i + 4] -= gx * x + gz * z
                k[i + 5, i + 5] -= gx * x + gy * y
                xy, xz, yz = 0.5 * (gx * y + gy * x), 0.5 * (gx * z + gz * x), 0.5 * (gy * z + gz * y)
                k[i + 3, i + 4] += xy
                k[i + 4, i + 3] += xy
                k[i + 3, i + 5] += xz
                k[i + 5, i + 3] += xz
                k[i + 4, i + 5] += yz
                k[i + 5, i + 4] += yz
            g[i + 3] += y * gz - z * gy
            g[i + 4] += z * gx - x * gz
            g[i + 5] += x * gy - y * gx


@when_large
def add_terms(levers, origins, frames, factor, least, gradient, stiffness, bodies, sums, widths, places, data):
    """Add the terms of the stiffness of elements at their bodies, as absolute values, to the entries ``data`` of a sparse matrix.

    ``stiffness`` (E, p, n, n) in parts and ``gradient`` (E, n) are those at frames; ``levers`` (E, F, 3) point there from the
    reference points of ``bodies`` (E, F).  An arm below ``least`` of the largest number in the position of its frame may be
    rounding of positions: eps of that length, and of its square, is that rounding.  ``origins`` (N, 3) are the positions of all
    frames, ``frames`` (E, F) the numbers of those of elements; ``widths`` and ``places`` are as in :func:`add_matrices`.

    ``sums`` (3, bodies) gets, for each body, how stiffly frames are held, that times the squares of their arms, and the longest
    arm.
    """
    count, nodes = levers.shape[0], levers.shape[1]
    n = gradient.shape[1]
    k = np.zeros((n, n))
    for e in range(count):
        for part in range(stiffness.shape[1]):
            for i in range(n):
                for j in range(n):
                    before = k[i, j] if part else 0.0
                    k[i, j] = before + factor * abs(stiffness[e, part, i, j])
        for a in range(nodes):
            i, body = 6 * a, bodies[e, a]
            x, y, z = abs(levers[e, a, 0]), abs(levers[e, a, 1]), abs(levers[e, a, 2])
            u, v, w = x, y, z  # the arms that forces act at
            arm, held = max(x, y, z), k[i, i] + k[i + 1, i + 1] + k[i + 2, i + 2]
            sums[0, body] += held
            sums[1, body] += arm * arm * held
            sums[2, body] = max(sums[2, body], arm)
            if arm == 0.0:
                continue
            at = origins[frames[e, a]]
            far = max(abs(at[0]), abs(at[1]), abs(at[2]))
            if arm < least * far:
                x = y = z = least * far
                u = v = w = far
            for j in range(n):
                k[i + 3, j] += y * k[i + 2, j] + z * k[i + 1, j]
                k[i + 4, j] += z * k[i, j] + x * k[i + 2, j]
                k[i + 5, j] += x * k[i + 1, j] + y * k[i, j]
            for j in range(n):
                k[j, i + 3] += y * k[j, i + 2] + z * k[j, i + 1]
                k[j, i + 4] += z * k[j, i] + x * k[j, i + 2]
                k[j, i + 5] += x * k[j, i + 1] + y * k[j, i]
            gx, gy, gz = (
                factor * abs(gradient[e, i]),
                factor * abs(gradient[e, i + 1]),
                factor * abs(gradient[e, i + 2]),
            )
            along = gx * u + gy * v + gz * w
            k[i + 3, i + 3] += along + gx * u
            k[i + 4, i + 4] += along + gy * v
            k[i + 5, i + 5] += along + gz * w
            xy, xz, yz = 0.5 * (gx * v + gy * u), 0.5 * (gx * w + gz * u), 0.5 * (gy * w + gz * v)
            k[i + 3, i + 4] += xy
            k[i + 4, i + 3] += xy
            k[i + 3, i + 5] += xz
            k[i + 5, i + 3] += xz
            k[i + 4, i + 5] += yz
            k[i + 5, i + 4] += yz
        for i in range(n):
            first = 0
            for b in range(widths.shape[0]):
                place = places[e, i, b]
                if place >= 0:
                    for j in range(widths[b]):
                        data[place + j] += k[first + j, i]
                first += widths[b]


@when_large
def add_slopes(levers, places, slopes, entries):
    """Transform slopes (E, m, n) in place from frames to reference points, and add them to ``entries`` at ``places`` (E, m, n).

    ``levers`` (E, F, 3) point from reference point to frame.
    """
    for e in range(slopes.shape[0]):
        for r in range(slopes.shape[1]):
            g = slopes[e, r]
            for a in range(levers.shape[1]):
                x, y, z = levers[e, a, 0], levers[e, a, 1], levers[e, a, 2]
                i = 6 * a
                g[i + 3] += y * g[i + 2] - z * g[i + 1]
                g[i + 4] += z * g[i] - x * g[i + 2]
                g[i + 5] += x * g[i + 1] - y * g[i]
            for i in range(slopes.shape[2]):
                entries[places[e, r, i]] += g[i]


@compiled
def add_forces(factor, rows, order, energy, gradient, sums, total, magnitude):
    """Add ``factor`` times energies (E,) and gradients (E, n) to the sums over all elements.

    ``sums`` has the sums of energies and of their magnitudes; ``total`` and ``magnitude`` have those of gradients and of their
    magnitudes, at ``rows`` (E, n), -1 for none.
    """
    for e in range(gradient.shape[0]):
        sums[0] += factor * energy[e]
        sums[1] += factor * abs(energy[e])
        if order >= 1:
            for i in range(gradient.shape[1]):
                if rows[e, i] >= 0:
                    x = factor * gradient[e, i]
                    total[rows[e, i]] += x
                    magnitude[rows[e, i]] += abs(x)


@compiled
def add_matrices(weights, matrices, widths, places, data):
    """Add matrices (E, p, n, n), times weights (E or 1, p), to the entries ``data`` of a sparse matrix stored by columns.

    The entry of column i in the first row of node b is at ``places[e, i, b]``, -1 for none; ``widths`` (N,) are the numbers of
    coordinates of the nodes.
    """
    for e in range(matrices.shape[0]):
        for p in range(matrices.shape[1]):
            weight = weights[e if weights.shape[0] > 1 else 0, p]
            for i in range(matrices.shape[3]):
                first = 0
                for b in range(widths.shape[0]):
                    place = places[e, i, b]
                    if place >= 0:
                        for j in range(widths[b]):
                            data[place + j] += weight * matrices[e, p, first + j, i]
                    first += widths[b]
