"""Notes on beams at a working point: how inaccurate their form may be there, and what no real beam would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .base import FramePose
from .beam_errors import WORTH_A_WORD, taut_error
from .cautions import MOST_STRAIN, MOST_TURN, Surroundings, Worst


def cautions(beams: Sequence[Any], at: Surroundings) -> list[str]:
    """Notes on beams of one class with equal numbers of nodes; see :meth:`.MObject.cautions`."""
    coarse, bent, heavy, strained, turned = (Worst() for _ in range(5))
    for e, beam in enumerate(beams):
        number = {name: k for k, name in enumerate(beam.frame_names)}
        order = [number[name] for name in beam.nodes()]
        o, u = at.origins[e][order], at.orientations[e][order]
        if beam.form == "exact":
            _exact(beam, o, u, at.gravity, bent, heavy)
        else:
            _discrete(beam, o, u, at.held[e][order], coarse, strained)
        if at.start is not None:
            first, last = (at.start[1][e][k] for k in (0, 1))
            rest = beam.rest_poses()["1"].U
            angle = float(np.arccos(np.clip(0.5 * (np.vdot(first @ rest, last) - 1.0), -1.0, 1.0)))
            turned.add(
                angle / MOST_TURN,
                beam,
                f"rotated by {angle:.3g} rad against each other, compared with the beam at rest",
            )
    return [
        *coarse.told("found {}; set its grading_tension to that, use more elements, or choose form='exact'"),
        *bent.told("found {}; clamp it along its pull, or choose form='elements'"),
        *heavy.told("found {}; divide it by stations, or choose form='elements'"),
        *strained.told(
            "found {}, beyond what metals take; expected lengths in m and moduli in Pa; correct them or its load"
        ),
        *turned.told("began with the ends of {}; check the poses of its clamps, in radians"),
    ]


def _discrete(beam, o, u, held, coarse, strained) -> None:
    data = beam._segment_data()
    h = np.array([d.length for d in data])
    turns = np.swapaxes(u[:-1], 1, 2) @ u[1:]
    # plain numpy, so that a first search compiles nothing more
    axial = 0.5 * np.stack([turns[:, k - 1, k - 2] - turns[:, k - 2, k - 1] for k in range(3)], axis=1)
    sine = np.linalg.norm(axial, axis=1)
    half = 0.5 * np.arctan2(sine, 0.5 * (np.trace(turns, axis1=1, axis2=2) - 1.0))
    bends = axial * np.divide(2.0 * half, sine, out=np.ones_like(sine), where=sine > 0.0)[:, None]
    chord = np.linalg.norm(np.diff(o, axis=0), axis=1) / np.sinc(half / np.pi)  # arc of a bent piece
    mean = np.array([d.rigidity for d in data]).mean(axis=1)
    stretch = chord / h - 1.0
    tension = mean[:, 0] * stretch
    for k, column in enumerate((4, 5)):
        if k and np.array_equal(mean[:, 4], mean[:, 5]):
            break
        error = taut_error(h, mean[:, column], tension, held)
        if error:
            ends = np.flatnonzero(held[:-1] | held[1:])
            worst = ends[np.argmax(tension[ends] * h[ends] ** 2 / mean[ends, column])]
            bend = np.sqrt(mean[worst, column] / tension[worst])
            coarse.add(
                error / WORTH_A_WORD, beam,
                f"under {tension[worst]:.4g} N with an element of {h[worst]:.3g} m at an end, where it bends within "
                f"sqrt(EI/T) = {bend:.2g} m: frequencies of what turns that end may be too high by {_percent(error)}",
            )  # fmt: skip
    bends = np.abs(bends - np.array([d.rest[3:] for d in data])) / h[:, None]
    y, z = (np.nan_to_num(a) for a in beam.extent(np.cumsum(h) - 0.5 * h))
    strain = np.maximum(stretch, 0.0) + bends[:, 1] * z + bends[:, 2] * y
    k = int(np.argmax(strain))
    strained.add(strain[k] / MOST_STRAIN, beam, f"strained by {_percent(strain[k])} in its element {k + 1} of {len(h)}")


def _exact(beam, o, u, gravity, bent, heavy) -> None:
    for k, part in enumerate(beam.components()):
        frames = [FramePose(o[j], u[j]) for j in (k, k + 1)]
        turned, by_bend, by_weight = part.element.errors(frames, gravity)
        bent.add(
            by_bend / WORTH_A_WORD, beam,
            f"bent at rest, its ends turned by {turned:.2g} rad against the line between them, which the exact form takes for "
            f"straight: frequencies may be off by {_percent(by_bend)}",
        )  # fmt: skip
        heavy.add(
            by_weight / WORTH_A_WORD, beam,
            f"so heavy that its tension differs from end to end, which the exact form leaves out: frequencies may be off by "
            f"{_percent(by_weight)}",
        )  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1.0 else f"{100 * share:.0f} %"
