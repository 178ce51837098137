"""Figures for pictures drawn by hand: curves that are told apart, whatever their number."""

from __future__ import annotations

import pickle

import numpy as np
from matplotlib.colors import to_hex
from reading import Look

from mse.tools.figures import COLORS, new_figure


def looks(axes) -> list[tuple[str, str]]:
    return [(to_hex(look.color).upper(), str(look.style[1])) for look in map(Look.of, axes.lines)]


def test_curves_take_colors_that_all_see_apart_and_then_dashes():
    figure = new_figure()
    single = figure.add_subplot(2, 1, 1)
    inner = figure.subfigures(1, 2)[1].subplots(2, 1)
    for axes in (single, *inner):
        axes.plot(np.arange(4.0), np.ones((4, 20)))
        found = looks(axes)
        assert [color for color, _ in found[:14]] == 2 * list(COLORS)
        assert {dash for _, dash in found[:7]} == {"(0, None)"}
        assert len(set(found)) == 20
    # what a user chooses stays, and one more axes leaves those before alone
    figure.add_axes((0.1, 0.1, 0.2, 0.2)).plot([0, 1], [0, 1], ":", color="black")
    single.plot([0, 1], [0, 1])
    assert looks(figure.axes[-1])[0][0] == "#000000" and len(set(looks(single))) == 21


def test_figures_can_be_pickled():
    figure = new_figure()
    figure.subplots().plot([0.0, 1.0])
    assert looks(pickle.loads(pickle.dumps(figure)).axes[0]) == looks(figure.axes[0])
