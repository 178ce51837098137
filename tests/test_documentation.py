"""Guides and site: every block of Python runs, links and anchors hold, every public call has its place."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mse
import public_names as public
from paths import ROOT

PAGES = sorted(p for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = {page: "\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))) for page in PAGES}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def matrices_of_a_tower() -> None:
    """The files that the guide to reduction reads: a chain of 101 nodes with six coordinates each, free in space."""
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    nodes, length = 101, 1.2
    h = length / (nodes - 1)
    M, K = np.zeros((6 * nodes, 6 * nodes)), np.zeros((6 * nodes, 6 * nodes))
    for k in range(nodes):
        share = h if 0 < k < nodes - 1 else h / 2
        M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.diag([8.0 * share] * 3 + [1e-3 * share] * 3)
    # each link resists what the upper node does, as seen from the lower one
    for k in range(nodes - 1):
        carried = np.eye(6)
        carried[:3, 3:] = [[0, h, 0], [-h, 0, 0], [0, 0, 0]]  # a x r for r = (0, 0, h)
        relative = np.hstack([-carried, np.eye(6)])
        i = slice(6 * k, 6 * k + 12)
        K[i, i] += relative.T @ np.diag([1e8, 1e8, 1e9, 1e5, 1e5, 1e5]) @ relative
    mmwrite("M.mtx", coo_array(M))
    mmwrite("K.mtx", coo_array(K))


def readme(names: dict) -> None:
    assert len(CODE[ROOT / "README.md"].strip().splitlines()) <= 23
    assert names["working_point"].poses["mass.center"].o[2] == pytest.approx(-10.8, abs=1e-9)
    assert len(names["history"].time) == 20001


def levitated_magnet(names: dict) -> None:
    system = mse.MSystem("levitated", gravity=(0, 0, -9.81))
    magnet = system.add(mse.RigidBody("magnet", mass=0.01, inertia=1e-6, at=mse.Pose.dz(0.05)))
    system.add(names["MagneticSpring"]("push", strength=1e-6), between=(system.ground, magnet))
    guide = mse.Bushing("guide", stiffness=(100.0, 100.0, 0.0, 1.0, 1.0, 1.0))
    system.add(guide, between=(magnet, system.ground))
    point = system.find_working_point()
    # 3 c / z^4 = m g
    assert point.poses["magnet.center"].o[2] == pytest.approx((3e-6 / (0.01 * 9.81)) ** 0.25, rel=1e-9)
    assert point.stable
    rubber(names["Rubber"])


def rubber(mount: type) -> None:
    system = mse.MSystem("mount", gravity=(0, 0, 0))
    mass = system.add(mse.RigidBody("mass", mass=40.0, inertia=1.0))
    system.add(mse.Bushing("hold", stiffness=(0, 0, 0, 1.0, 1.0, 1.0)), between=(system.ground, mass))
    system.add(mount("mount"), between=(system.ground, mass))
    system.add(mse.ForceActuator("push"), between=(system.ground, mass))
    system.add(mse.PositionSensor("probe"), between=(mass, system.ground))
    found = system.find_working_point().linearize().frequency_response([30.0])["probe.x", "push.fx"]
    np.testing.assert_allclose(found, 1 / (2.4e5 + 2.95e4j - 40.0 * (60 * np.pi) ** 2), rtol=1e-12)


def stable(names: dict) -> None:
    assert names["working_point"].stable


def tower(names: dict) -> None:
    # 100 links of 1e8/0.012 N/m in shear and 1e5 N m in bending: a cantilever of E I = 1.2e3 N m2 with 3 kg on its end
    f = names["system"].find_working_point().linearize().modes(1).frequencies_hz[0]
    moving = 3.0 + 33 / 140 * 8.0 * 1.2
    bending = 1e5 * 0.012
    assert f == pytest.approx(np.sqrt(3 * bending / 1.2**3 / moving) / (2 * np.pi), rel=0.03)


def sweeps(names: dict) -> None:
    assert names["run"].time[-1] == 60.0 and len(names["history"].time) == 10_001
    changed = names["point"].update({"wire.length": 1.1, "mass.mass": 12.0})
    assert changed.poses["mass.center"].o[2] == pytest.approx(-1.1, rel=0.01)
    np.testing.assert_array_equal(mse.read_recording("run.npy").values, names["run"].values)
    grid = names["linear"].resonance_grid(0.1, 100.0).frequencies_hz
    response = names["linear"].frequency_response(grid, inputs=["coil.fx"], outputs=["probe.x"])
    assert np.isfinite(response["probe.x", "coil.fx"]).all()


NEEDS = {"docs/reduction.md": matrices_of_a_tower}
CHECKS = {
    "README.md": readme,
    "docs/adding_an_element.md": levitated_magnet,
    "docs/beams.md": stable,
    "docs/joints.md": stable,
    "docs/reduction.md": tower,
    "docs/sweeps_and_runs.md": sweeps,
}


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if CODE[p]], ids=name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name(page) in NEEDS:
        NEEDS[name(page)]()
    names = {"__name__": page.stem}
    exec(compile(CODE[page], name(page), "exec"), names)
    if name(page) in CHECKS:
        CHECKS[name(page)](names)


FITS = 100  # columns of code that a page of the site shows


@pytest.mark.parametrize("page", [p for p in PAGES if CODE[p] and p.parent != ROOT], ids=name)
def test_code_of_guides_fits_the_column_of_the_site(page):
    assert not [line for line in CODE[page].splitlines() if len(line) > FITS]


@pytest.mark.parametrize(
    "script", sorted(p for folder in ("examples", "docs/steps") for p in (ROOT / folder).glob("*.py")), ids=name
)
def test_code_of_examples_and_tutorial_fits_the_column_of_the_site(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    text = next(k for k, line in enumerate(lines) if k and line.endswith('"""'))  # the end of the text before the code
    assert not [line for line in lines[text:] if len(line) > FITS and not line.startswith("# ")]


def test_no_block_of_python_is_hidden_from_these_tests():
    for page in PAGES:
        fences = re.findall(r"^ *`{3,} *(\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert not [kind for kind in fences if kind.lower() in ("py", "python3", "ipython", "pycon")], page
        assert len(BLOCK.findall(page.read_text(encoding="utf-8"))) == sum(kind == "python" for kind in fences), page


@pytest.mark.parametrize("page", ["docs/reduction.md", "docs/how_to/files.md"])
def test_guides_name_every_kind_of_matrix_file(page):
    with pytest.raises(mse.FileError) as refused:
        mse.read_matrices(ROOT / "README.md")
    suffixes = re.findall(r"\.\w+", str(refused.value).partition("expected one of")[2].partition(";")[0])
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(suffixes) >= 8 and not [suffix for suffix in suffixes if f"`{suffix}`" not in text]
    assert "Abaqus" in text and "Nastran" in text


def test_installing_what_the_site_needs_keeps_the_checkout_installed():
    # pip takes the last one: without -e a copy would replace the checkout, and changes would no longer be imported
    lines = [line for page in ("README.md", "CONTRIBUTING.md") for line in (ROOT / page).read_text().splitlines()]
    docs = [line for line in lines if "pip install" in line and ".[docs]" in line]
    assert len(docs) == 2 and all(" -e " in line for line in docs)


# by these, mse makes results; users get them from the call that returns them
MADE_BY_MSE = {"Motion.of"}
HOW_TO = "\n".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs" / "how_to").glob("*.md")))


@pytest.mark.parametrize("call", [call for call in public.CALLABLES if call not in MADE_BY_MSE])
def test_every_public_call_has_a_how_to(call):
    """Each is called, or named as code with what it is for, on a page of docs/how_to."""
    last = call.rpartition(".")[2]
    assert re.search(rf"(\.{last}\(|`{last}[`(])", HOW_TO), f"docs/how_to: say on one of its pages how to call {call}"


@pytest.mark.parametrize("cls", public.CLASSES, ids=lambda cls: cls.__name__)
def test_every_public_class_goes_by_a_name_of_mse(cls):
    assert getattr(mse, cls.__name__) is cls


# -- links ----------------------------------------------------------------------------------------------------------------
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
MADE = {"tutorial/index", "gallery/index", "api/index"}  # written when the site is built


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as MyST and repository sites make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def flaws(page: Path, text: str) -> list[str]:
    """Links of a page that lead nowhere."""
    found = []
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in [*LINK.findall(text), *PICTURE.findall(text)]:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        within = path.removeprefix("../") if page.parent.name == "how_to" else path
        if within in MADE and ROOT / "docs" in page.parents:
            continue
        folder, _, script = within.partition("/")
        if folder == "gallery" and (ROOT / "examples" / f"{script}.py").exists() and ROOT / "docs" in page.parents:
            continue
        file = page if not path else page.parent / path
        if not file.exists() and file.with_name(file.name + ".md").exists():
            file = file.with_name(file.name + ".md")
        if not file.exists():
            found.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(file):
            found.append(f"{target}: no such heading")
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_anchors_hold(page):
    assert not flaws(page, page.read_text(encoding="utf-8"))


def test_broken_links_are_seen():
    page = ROOT / "docs" / "joints.md"
    text = "[a](nowhere.md) [b](beams.md#no-such-heading) [c](beams.md#limits) [d](reduction) ![e](pictures/none.png)"
    assert [flaw.split(":")[0] for flaw in flaws(page, text)] == [
        "nowhere.md",
        "beams.md#no-such-heading",
        "pictures/none.png",
    ]


# -- the site ---------------------------------------------------------------------------------------------------------------
def test_the_api_pages_have_every_public_name():
    import api_pages

    pages = api_pages.pages()
    text = "\n".join(pages.values())
    for name, thing in public.NAMED.items():
        if callable(thing):
            assert re.search(rf":: mse\.{name}\n", text), name
    for cls in public.CLASSES:
        assert re.search(rf":: mse\.(\w+\.)*{cls.__name__}\n", text), cls
        assert f"   {cls.__name__}\n" in pages["index.rst"]
    for call in public.CALLABLES:
        assert re.search(rf"::.*\.{call.rpartition('.')[2]}\n", text), call


def test_every_example_has_a_place_in_the_gallery_and_a_title():
    gallery = (ROOT / "docs" / "_extensions" / "gallery.py").read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f'"{path.stem}"' in gallery, path.name
        assert re.match(r'r?"""\n(.+)\n(=+)\n\n', path.read_text(encoding="utf-8")), path.name
