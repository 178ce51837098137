"""Tables as notebooks show them: escaped, aligned, folded, legible on light and dark pages, without a network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import browser
import mse
from mse.display import Column, Table
from mse.tools.notebook import as_html

NAME = "a<b>&c"

SYSTEM = f"""
import numpy as np, mse
from mse import Pose
s = mse.MSystem({NAME!r}, gravity=(0, 0, -9.81))
base = s.add(mse.PositionActuator("base"))
top = s.add(mse.RigidBody("top", mass=2.0, inertia=0.1))
s.clamp(s.ground, "base.1")
s.clamp("base.0", top.frame(0))
mass = s.add(mse.RigidBody("mass $x^2$ <i>", mass=1.0, inertia=0.1, at=Pose.dz(-0.6)))
s.add(mse.Spring("wire", length=0.5, stiffness=1e4, damping=0.3), between=(top, mass))
s.add(mse.ForceActuator("coil"), between=(mass, s.ground))
s.add(mse.PositionSensor("probe"), between=(mass, s.ground))
arm = s.add(mse.RigidBody("arm", mass=0.3, inertia=0.01))
hinge = s.add(mse.Revolute("hinge", stiffness=2.0, damping=0.01), between=(arm, s.ground))
blade = s.add(mse.Beam("blade", length=0.3, width=0.02, height=0.002, elements=3))
s.clamp(s.ground, blade.frame(0), Pose.dy(0.5))
wp = s.find_working_point()
linear = wp.linearize()
response = linear.frequency_response([0.1, 1.0], inputs=["coil.fx", "coil.fz"])
history = linear.simulate(duration=0.1, dt=0.01, inputs={{"coil.fz": np.sin}})
truss = mse.MSystem("truss <b>")
apex = truss.add(mse.RigidBody("apex <b>", mass=1.0, inertia=1.0, at=Pose.dz(0.3)))
for k in range(3):
    bar = truss.add(mse.Spring(f"bar{{k}}", length=np.hypot(1.0, 0.3), stiffness=2000.0))
    truss.clamp(truss.ground, bar.frame(0), Pose.rz(2 * np.pi * k / 3) @ Pose.dx(1.0))
    truss.clamp(bar.frame(1), apex.frame(0))
event = truss.trace("load_factor", 20.0, max_points=25).events[0]
search = s.relaxation()
search.step()
reduction = mse.reduce_matrices(np.eye(3), None, np.diag([1.0, 2.0, 3.0]), boundary=[2], modes=1)
"""
SHOWN = [
    "s", "mass", "hinge", "blade", "mass.parameters", "wp", "wp.poses", "wp.reactions", "wp.tensions", "wp.forces",
    "wp.joint_coordinates", "wp.internal", "linear", "linear.modes()", "linear.modes(damped=True)", "linear.modes()[-1]",
    "linear.modes(damped=True)[-1]", "linear.state_space()", "response", "history", "linear.resonance_grid(0.1, 10.0)",
    "s.trace('wire.length', 0.52, max_points=25)", "s.find_instability(max_load_factor=1.5)", "blade.internal_forces(wp)",
    "linear.stiffness_parts", "reduction", "linear.null_space()", "wp.free[0]", "event",
    "linear.state_space(up_to_hz=5.0).left_out", "linear.step_loop(dt=0.01)", "search", "wp.history",
]  # fmt: skip


class Cells(HTMLParser):
    """All texts, tags and attributes of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def test_names_are_escaped_and_nothing_is_asked_of_the_network():
    hostile = "</td><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\" '"
    table = Table(
        hostile, [hostile, Column(hostile, hostile, 3)], [(hostile, 1.0)], notes=[hostile], more=[Table(hostile)]
    )
    page = as_html(table)
    found = Cells(page)
    assert found.texts.count(hostile) == 5
    assert set(found.tags) <= {
        "style",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "details",
        "summary",
    }
    assert {name for name, _ in found.attributes} <= {"class", "scope"}
    assert not re.search(r"url\(|@import|//|http", page)


@pytest.mark.parametrize(("rows", "folded"), [(0, 0), (20, 0), (21, 1), (2000, 1980), (2005, 1980)])
def test_rows_beyond_twenty_are_folded(rows, folded):
    page = as_html(Table("Many", ["name", Column("n", digits=1)], [(f"row {k}", k) for k in range(rows)]))
    found = Cells(page)
    assert found.attributes.count(("class", "mse-folded")) == folded
    assert (f"{folded} more rows" in found.texts) == bool(folded) == ("details" in found.tags)
    assert found.tags.count("tr") == 1 + min(rows, 2000)
    assert ("... and 5 more" in found.texts) == (rows == 2005)


def test_numbers_are_aligned_at_the_right_and_units_stand_in_the_heads():
    page = as_html(Table("Springs", ["name", Column("stiffness", "N/m", 4)], [("upper", 812.345), ("lower", None)]))
    assert '<th scope="col" class="mse-number">stiffness <span class="mse-unit">(N/m)</span></th>' in page
    assert '<td>upper</td><td class="mse-number">812.3</td>' in page and '<td class="mse-number"></td>' in page


def test_what_is_given_by_name_and_objects_show_themselves_too():
    system = mse.MSystem("stage")
    mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
    system.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(system.ground, mass))
    system.add(mse.ForceActuator("coil"), between=(system.ground, mass))
    search, point = system.relaxation(), system.find_working_point()
    search.run()
    loop = point.linearize().step_loop(dt=0.01)
    loop["coil.fz"] = 2.5
    assert repr(search).startswith("stage: search for a working point, found; ")
    assert repr(loop).startswith("stage: loop at t = 0 s, in steps of 0.01 s\n")
    for thing, expected in (
        (system, "Spring"), (mass, "kg m2"), (mass.parameters, "kg m2"), (point, "mass"), (point.poses, "mass.center"),
        (point.tensions, "9.8"), (point.reactions, "fx"), (point.forces, "spring"), (point.linearize().stiffness_parts, "axial"),
        (search, "relative residual"), (loop, "2.5"),
    ):  # fmt: skip
        found = Cells(thing._repr_html_())
        assert "table" in found.tags and any(expected in text for text in found.texts)


# -- in a browser -----------------------------------------------------------------------------------------------------
EDGES = """() => [...document.querySelectorAll(".mse-shown")].map(shown => [...shown.querySelectorAll("table")].map(table => {
  const rows = [...table.rows].filter(row => row.getClientRects().length);
  return [...rows[0].cells].map((head, k) => rows.map(row => {
    const cell = row.cells[k], range = document.createRange();
    range.selectNodeContents(cell);
    const box = cell.getBoundingClientRect(), text = range.getBoundingClientRect();
    return {left: box.left, right: box.right, first: text.left, last: text.right, empty: !cell.textContent,
            number: cell.classList.contains("mse-number"), digits: getComputedStyle(cell).fontVariantNumeric}
  }))
}))"""

CONTRAST = """() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = rgb => rgb.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const over = (above, below, share) => below.map((v, k) => above[k] * share + v * (1 - share));
  return [...document.querySelectorAll(".mse-shown td, .mse-shown th, .mse-unit, .mse-note, .mse-title, summary")].map(e => {
    const layers = [];
    let share = 1;
    for (let x = e; x; x = x.parentElement) {
      layers.push(parts(getComputedStyle(x).backgroundColor));
      share *= Number(getComputedStyle(x).opacity);
    }
    let ground = [255, 255, 255];
    for (const [r, g, b, a = 1] of layers.reverse()) ground = over([r, g, b], ground, a);
    const [a, b] = [light(over(parts(getComputedStyle(e).color), ground, share)), light(ground)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  })
}"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """An executed notebook of all kinds of results, as light and as dark page."""
    folder = tmp_path_factory.mktemp("notebook")
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": code, "id": f"c{k}"}
        for k, code in enumerate([SYSTEM, *SHOWN])
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (folder / "all.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
    )

    def convert(*arguments: str) -> None:
        run = [sys.executable, "-m", "nbconvert", "--log-level", "ERROR", *arguments]
        # the kernel is to run this mse, installed or not
        found = os.environ | {"PYTHONPATH": str(Path(mse.__file__).parents[1])}
        done = subprocess.run(run, cwd=folder, capture_output=True, text=True, env=found)
        assert done.returncode == 0, done.stderr

    convert("--to", "notebook", "--execute", "--output", "done.ipynb", "all.ipynb")
    convert("--to", "html", "--output", "light.html", "done.ipynb")
    convert("--to", "html", "--theme", "dark", "--output", "dark.html", "done.ipynb")
    for name in ("light", "dark"):
        page = (folder / f"{name}.html").read_text()
        # the page around the outputs is nbconvert's, which asks others for MathJax, RequireJS and Mermaid
        (folder / f"{name}.html").write_text(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    return folder


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_results_of_an_executed_notebook_line_up(notebook, theme):
    with browser.opened(notebook / f"{theme}.html", color_scheme=theme) as page:
        results = page.evaluate(EDGES)
        assert len(results) == len(SHOWN)
        checked = 0
        for columns in (column for tables in results for table in tables for column in table):
            assert len({(cell["left"], cell["right"]) for cell in columns}) == 1
            filled = [cell for cell in columns if not cell["empty"]]
            assert len({cell["number"] for cell in columns}) == 1
            edge = "last" if columns[0]["number"] else "first"
            places = [cell[edge] for cell in filled]
            assert max(places) - min(places) < 0.6  # of a pixel: letters lie on halves of them
            assert not columns[0]["number"] or all("tabular-nums" in cell["digits"] for cell in columns)
            checked += len(columns)
        assert checked > 500
        assert min(page.evaluate(CONTRAST)) > 4.5  # WCAG 2.2, 1.4.3
        assert page.locator(".mse-title").first.inner_text() == f"MSystem '{NAME}': 9 objects, 11 clamps"
        assert page.get_by_text("mass $x^2$ <i>", exact=True).first.is_visible()


@pytest.mark.slow
@pytest.mark.browser
def test_folds_open_by_mouse_and_by_keyboard(tmp_path):
    rows = [(f"row {k}", 10.0**k) for k in range(30)]
    (tmp_path / "fold.html").write_text(as_html(Table("Many", ["name", Column("size", digits=4)], rows)))
    with browser.opened(tmp_path / "fold.html") as page:
        shown = "[...document.querySelectorAll('tbody tr')].filter(row => row.getClientRects().length).length"
        assert page.evaluate(shown) == 20
        page.get_by_text("10 more rows").click()
        assert page.evaluate(shown) == 30
        table, fold = page.locator("table").bounding_box(), page.locator("details").bounding_box()
        assert fold["y"] >= table["y"] + table["height"]
        page.keyboard.press("Enter")
        assert page.evaluate(shown) == 20
