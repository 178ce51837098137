"""Where the nodes of a beam are: equal elements between stations, or short ones at its ends where it is taut."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np

# Of sqrt(EI/T), over which a taut beam bends at a clamp: its first element; and of the element before, those that follow.  With
# 0.5 frequencies of a wire miss the exact ones by more than 1e-4
# (tests/elements/test_massless_wire.py::test_graded_elements_are_right_to_1e4).
_FIRST, _GROWTH = 0.4, 1.6


@lru_cache(maxsize=64)  # looked up for every frame that is found by name
def placed(
    length: float, stations: tuple[tuple[str, float], ...], elements: int, bends: tuple[float, float]
) -> tuple[dict[str, float], tuple[str, ...], np.ndarray]:
    """Distance of every frame along a beam by name, in that order; names of ends, stations, then nodes; and lengths (n,).

    ``bends`` (m) is sqrt(EI/T) at both ends, inf for elements that are not graded.  Elements of one length between the same
    stations are equal to the last digit, as their places are not.
    """
    names, places = ["0", *(n for n, _ in stations), "1"], [0.0, *(s for _, s in stations), length]
    share = np.diff(places) / length * elements
    out, number, lengths = {"0": 0.0}, 0, []
    for k, pieces in enumerate(np.maximum(1, np.round(share).astype(int)).tolist()):
        span = places[k + 1] - places[k]
        first = [
            _FIRST * bend if here else np.inf for bend, here in zip(bends, (k == 0, k == len(share) - 1), strict=True)
        ]
        own = _graded(span, first, length / elements) if elements else []
        own = own or [span / pieces] * pieces
        # equal ones as shares of the span, whose rounding does not add up
        along = span * np.arange(1, len(own)) / len(own) if len(set(own)) == 1 else np.cumsum(own)[:-1]
        for place in (places[k] + along).tolist():
            number += 1
            out[f"n{number}"] = place
        out[names[k + 1]] = places[k + 1]
        lengths += own
    lengths = np.array(lengths)
    lengths.flags.writeable = False  # all callers share them
    return out, ("0", "1", *names[1:-1], *(n for n in out if n not in names)), lengths


def _graded(span: float, first: list[float], longest: float) -> list[float]:
    """Lengths of elements that grow from ``first`` at either end up to the longest; none where equal ones are short enough."""
    if min(first) >= longest:
        return []
    sides: tuple[list[float], list[float]] = ([], [])
    following, left = list(first), span
    while True:
        side = int(following[1] < following[0])
        step = following[side]
        if step >= longest or left < 2.0 * step:
            break
        sides[side].append(step)
        left -= step
        following[side] *= _GROWTH
    count = max(1, ceil(left / min(step, longest) * (1.0 - 1e-9)))
    return [*sides[0], *[left / count] * count, *reversed(sides[1])]
