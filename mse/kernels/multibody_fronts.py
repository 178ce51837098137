"""Elimination of bodies and of the rows of their joints, front by front, on the arrays of :mod:`mse.kernels.multibody`."""

from __future__ import annotations

from .jit import bare_part

# Entries below it are rounding of rounding, which gets less from front to front: processors take a hundred times as long for
# numbers near the smallest that there are (tests/dynamics/test_bodies.py::test_rounding_that_fades_away_takes_no_time, and
# test_rounding_that_fades_away_in_a_motion_takes_no_time for those that are solved for).
_NOTHING = 1e-100


@bare_part
def eliminate(model, work, independent, limits, decide):
    """``L D L'`` of all fronts, with L' above inverses in the place of D; rows that are not ``independent`` (R,) are left out.

    If it is to ``decide`` it says itself which are.  Pivots of rows relative to those of rows alone below ``limits[2]`` belong to
    rows that depend on others, and pivots of bodies relative to their terms below ``limits[3]`` to what has no mass.  Returns
    the smallest pivot of an independent row that closes a loop, and -1 where a body or a row of the tree has none.
    """
    arena, count, least = work.arena, 6 * model.bodies.shape[0], 1.0
    for f in range(model.fronts.shape[0]):
        own, size, base, first = model.fronts[f, 1], model.fronts[f, 2], model.fronts[f, 3], model.fronts[f, 4]
        for j in range(own):
            row, number = arena[base + j], model.columns[first + j, 0]
            pivot = row[j]
            if number < count:
                if not pivot > limits[3] * work.terms[number]:
                    return -1.0
            else:
                r = number - count
                size_of_row = -pivot * model.held[r, 5]
                if decide:
                    independent[r] = size_of_row > limits[2]
                    if not independent[r] and model.held[r, 2] != 0.0:
                        return -1.0
                if independent[r]:
                    if model.held[r, 2] == 0.0:
                        least = min(least, size_of_row)
                else:
                    for i in range(j + 1, size):
                        row[i] = 0.0
                    row[j] = -1.0
                    continue
            row[j] = inverse = 1.0 / pivot
            for i in range(j + 1, size):
                x = row[i] * inverse if abs(row[i]) > _NOTHING else 0.0
                if x != 0.0:
                    to = arena[base + i]
                    for k in range(i, size):
                        to[k] -= x * row[k]
                row[i] = x
        parent = model.fronts[f, 5]
        if parent >= 0:
            above = model.fronts[parent, 3]
            for i in range(own, size):
                row, to = arena[base + i], arena[above + model.columns[first + i, 1]]
                for k in range(i, size):
                    to[model.columns[first + k, 1]] += row[k]
    return least


@bare_part
def solve(model, work, independent, given, forced):
    """a and l to the solution, for rows that are ``given`` (R,) and right sides, or none if it is not ``forced``."""
    arena, right, x, count = work.arena, work.right, work.solution, 6 * model.bodies.shape[0]
    if not forced:
        for k in range(right.shape[0]):
            right[k] = 0.0
    for e in range(model.joints.shape[0] - model.springs.shape[0]):
        first = model.fronts[model.joints[e, 2], 4]
        for r in range(model.joints[e, 6], model.joints[e, 7]):
            right[first + model.joints[e, 5] + r - model.joints[e, 6]] += given[r]
            along, g = model.held[r, 1] * given[r], work.slope[r]  # what M is stiffened by
            for side in range(2):
                place, k = model.joints[e, 3 + side], 6 * side
                if place >= 0:
                    for i in range(6):
                        right[first + place + i] += along * g[k + i]
    for f in range(model.fronts.shape[0]):
        own, size, base, first = model.fronts[f, 1], model.fronts[f, 2], model.fronts[f, 3], model.fronts[f, 4]
        b = right[first : first + size]
        for j in range(own):
            row, number = arena[base + j], model.columns[first + j, 0]
            y = 0.0 if number >= count and not independent[number - count] else b[j]
            if y != 0.0:  # what moves in a plane has half of its right sides zero
                for i in range(j + 1, size):
                    b[i] -= row[i] * y
            b[j] = y * row[j]
        parent = model.fronts[f, 5]
        if parent >= 0:
            above = model.fronts[parent, 4]
            for i in range(own, size):
                right[above + model.columns[first + i, 1]] += b[i]
    for f in range(model.fronts.shape[0] - 1, -1, -1):
        own, size, base, first = model.fronts[f, 1], model.fronts[f, 2], model.fronts[f, 3], model.fronts[f, 4]
        b = right[first : first + size]
        for i in range(size - 1, -1, -1):
            number = model.columns[first + i, 0]
            if i < own:
                x[number] = 0.0 if abs(b[i]) <= _NOTHING else b[i]  # NaN stays
            y = x[number]
            if y != 0.0:  # column by column, as sums along rows would wait for one term after the other
                for j in range(min(i, own)):
                    b[j] -= arena[base + j, i] * y
