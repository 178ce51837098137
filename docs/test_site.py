"""The built site in a browser without a network: ``python -m pytest docs/test_site.py`` after ``sphinx-build docs out/site``."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from sphinx.util.inventory import InventoryFile

import public_names as public
from browser import CHROMIUM, FLAGS

ROOT = Path(__file__).parent.parent
SITE = Path(os.environ.get("MSE_SITE", ROOT / "out" / "site"))
PAGES = sorted(
    p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html") if "_static" not in p.parts
)
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.py"))
STEPS = sorted(p.stem for p in (ROOT / "docs" / "steps").glob("*.py"))
EXECUTED = [f"gallery/{name}.html" for name in EXAMPLES] + [
    f"tutorial/{name}.html" for name in STEPS
]

# the pages of the API have one template: some of them stand for all
_API = [page for page in PAGES if page.startswith("api/")]
VISITED = [page for page in PAGES if page not in {*EXECUTED, *_API}] + _API[::8]

# those with a view in three dimensions
SHOWN = {*EXECUTED[: len(EXAMPLES)], "tutorial/step_6_reading_a_page.html"}
SHOWN -= {"gallery/lagrangian_daes.html"}  # without bodies


def test_there_is_a_site():
    assert len(EXAMPLES) >= 12 and len(STEPS) == 6
    assert set(EXECUTED) | {"index.html", "search.html", "equations.html", "changelog.html"} <= set(
        PAGES
    )


# -- in the browser -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def context():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
        browser.close()


@pytest.fixture
def page(context):
    page = context.new_page()
    page.asked, page.failed, page.errors = [], [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("requestfailed", lambda request: page.failed.append(request.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on(
        "console",
        lambda message: page.errors.append(message.text) if message.type == "error" else None,
    )
    yield page
    page.close()


def visit(page, name: str, query: str = "") -> None:
    page.goto((SITE / name).as_uri() + query)
    # down to the end, so that whatever waits to be seen is asked for
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(50)


def assert_offline_and_without_errors(page) -> None:
    outside = [
        url
        for url in page.asked
        if not url.startswith(("data:", "blob:", "about:", SITE.as_uri() + "/"))
    ]
    assert not outside and not page.failed and not page.errors


@pytest.mark.parametrize("name", VISITED)
def test_a_page_asks_no_host_for_anything_and_has_no_errors(page, name):
    visit(page, name)
    assert_offline_and_without_errors(page)


def test_formulas_are_drawn_with_their_own_font(page):
    visit(page, "equations.html")
    assert page.evaluate("document.fonts.check('16px Formula')")
    boxes = page.evaluate(
        "[...document.querySelectorAll('math')].map(m => {const b = m.getBoundingClientRect(); return [b.width, b.height]})"
    )
    assert len(boxes) > 30 and min(min(box) for box in boxes) > 4
    # a fraction is higher than a letter: it is set as one, not written in a row
    assert max(height for _, height in boxes) > 2.5 * min(height for _, height in boxes)
    assert not re.search(r"\\frac|\$", page.inner_text("article"))


def found(page, words: str) -> list[str]:
    """Addresses of what the search finds, the best first."""
    visit(page, "search.html", "?q=" + words.replace(" ", "+"))
    page.wait_for_selector("#search-results li a")
    page.wait_for_function(
        "document.querySelector('.search-summary').textContent.includes('finished')"
    )
    links = page.eval_on_selector_all(
        "#search-results li a", "links => links.map(link => link.href)"
    )
    return [unquote(link).removeprefix(SITE.as_uri() + "/").partition("?")[0] for link in links]


def test_search_finds_a_call(page):
    links = found(page, "find_instability")
    assert any("MSystem" in link for link in links) and any(
        "inverted_pendulum" in link for link in links
    )


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("transfer function", "how_to/linear_models.html"),
        ("voice coil", "how_to/build.html"),
        ("seismic noise", "how_to/noise.html"),
        ("ground motion", "how_to/linear_models.html"),
        ("export matlab", "how_to/hand_on.html"),
        ("buckling", "how_to/working_points.html"),
        ("sweep", "how_to/working_points.html"),
        ("damping", "how_to/losses.html"),
        ("closed loop", "how_to/loops.html"),
        ("natural frequency", "how_to/linear_models.html"),
    ],
)
def test_search_by_the_words_of_users_finds_the_page_for_it_first(page, words, place):
    assert found(page, words)[0].partition("#")[0] == place


def test_search_has_excerpts_without_a_server(page):
    found(page, "voice coil")
    page.wait_for_selector("#search-results li p.context")
    told = page.eval_on_selector_all(
        "#search-results li p.context", "all => all.map(one => one.textContent)"
    )
    assert any("ForceActuator" in text for text in told[:2]) and not page.errors and not page.failed


@pytest.mark.parametrize("name", EXECUTED)
def test_executed_pages_show_what_they_gave(page, name):
    visit(page, name)
    assert page.query_selector(".sphx-glr-script-out")
    widths = page.eval_on_selector_all(
        "article img", "pictures => pictures.map(picture => picture.naturalWidth)"
    )
    assert all(width > 100 for width in widths)
    assert widths or name.startswith("tutorial")
    (notebook,) = {
        a
        for a in page.eval_on_selector_all("a", "links => links.map(link => link.href)")
        if a.endswith(".ipynb")
    }
    cells = json.loads(Path(unquote(urlsplit(notebook).path)).read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert "import mse" in source
    compile(source, name, "exec")
    if name in SHOWN:
        place = page.wait_for_selector('iframe[title="3-D view"]')
        place.scroll_into_view_if_needed()
        # the document in the frame is loaded as it comes into view
        place.content_frame().wait_for_function(
            "() => [...document.querySelectorAll('canvas')].some(one => one.clientWidth > 300 && one.clientHeight > 200)"
        )
    assert_offline_and_without_errors(page)


def test_the_first_page_shows_a_picture_and_a_scene(page):
    visit(page, "index.html")
    assert page.eval_on_selector("article img", "picture => picture.naturalWidth") > 500
    place = page.wait_for_selector('iframe[title="3-D view"]')
    place.scroll_into_view_if_needed()
    place.content_frame().wait_for_function(
        "() => mseScenes[0].draws > 0 && mseScenes[0].motions === 6"
    )
    assert not page.errors


def test_the_gallery_is_in_fields_and_its_thumbnails_show_the_thing(page):
    visit(page, "gallery/index.html")
    fields = page.eval_on_selector_all(
        "article h2", "all => all.map(one => one.firstChild.textContent)"
    )
    assert len(fields) >= 3 and "Suspensions and vibration isolation" in fields
    shown = page.evaluate(
        """() => [...document.querySelectorAll('.sphx-glr-thumbcontainer img')].map(one => {
            const paper = document.createElement('canvas').getContext('2d');
            paper.canvas.width = one.naturalWidth; paper.canvas.height = one.naturalHeight;
            paper.drawImage(one, 0, 0);
            return [one.naturalWidth, one.naturalHeight];
        })"""
    )
    assert shown == [[400, 280]] * len(EXAMPLES)
    from PIL import Image, ImageChops

    for path in (SITE / "_images").glob("sphx_glr_*_thumb.png"):
        if path.name.removeprefix("sphx_glr_").removesuffix("_thumb.png") not in EXAMPLES:
            continue
        image = Image.open(path).convert("RGB")
        left, top, right, bottom = ImageChops.difference(
            image, Image.new("RGB", image.size, "white")
        ).getbbox()
        # it fills the room that it has, in one direction at least
        assert right - left > 340 or bottom - top > 240, path.name


def test_figures_have_an_edge_where_the_page_is_dark(context):
    dark = context.browser.new_context(
        color_scheme="dark", viewport={"width": 1280, "height": 800}
    ).new_page()
    visit(dark, "gallery/flexure_stage.html")
    assert (
        dark.eval_on_selector("article img", "one => getComputedStyle(one).borderTopWidth") == "1px"
    )
    dark.close()


def test_a_line_of_a_hundred_columns_of_code_fits(page):
    page.set_viewport_size({"width": 1400, "height": 900})
    for name in (
        "gallery/attenuation_chain.html",
        "how_to/linear_models.html",
        "tutorial/step_5_closing_a_loop.html",
    ):
        visit(page, name)
        too_long = page.eval_on_selector_all(
            "article .highlight-Python pre, article .highlight-python pre",
            "all => all.filter(one => one.scrollWidth > one.clientWidth).length",
        )
        assert too_long == 0, name


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "elements.html",
        "equations.html",
        "gallery/flexure_stage.html",
        "api/WorkingPoint.html",
    ],
)
def test_pages_are_no_wider_than_the_window(page, name):
    visit(page, name)
    for width in (390, 1020, 1280, 1320, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width


# -- in the files -------------------------------------------------------------------------------------------------------
class Anchors(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


def test_links_and_anchors_of_all_pages_hold():
    read = {name: Anchors((SITE / name).read_text(encoding="utf-8")) for name in PAGES}
    broken = []
    for name, parsed in read.items():
        for link in parsed.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (SITE / name).parent / unquote(parts.path) if parts.path else SITE / name
            at = Path(os.path.normpath(target)).relative_to(SITE).as_posix()
            if not target.exists() or (
                parts.fragment and at in read and unquote(parts.fragment) not in read[at].ids
            ):
                broken.append(f"{name}: {link}")
    assert not broken


def test_pages_of_the_api_show_no_names_by_the_modules_that_they_live_in():
    for path in (SITE / "api").glob("*.html"):
        shown = re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8").partition("<article")[2])
        assert not re.findall(r"mse\.[a-z_]+\.[a-z_.]*[A-Z]\w+", shown), path.name


def test_the_index_of_the_api_says_what_each_name_is():
    text = re.sub(
        r"<[^>]+>",
        "",
        (SITE / "api" / "index.html").read_text(encoding="utf-8").partition("</h1>")[2],
    )
    heads = re.findall(r"<h2>(.*?)<a", (SITE / "api" / "index.html").read_text(encoding="utf-8"))
    assert (
        heads[0] == "Systems and poses"
        and "Elements of your own" in heads
        and "Searches and long calls" in heads
    )
    for cls in public.CLASSES:
        assert re.search(rf"\b{cls.__name__}\s+\S+ \S+", text), cls


def test_every_public_name_can_be_looked_up():
    with (SITE / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", os.path.join)
    known = (
        {name for kind in inventory.data.values() for name in kind}
        if hasattr(inventory, "data")
        else {name for kind in inventory.values() for name in kind}
    )
    assert {f"mse.{cls.__name__}" for cls in public.CLASSES} <= known
    names = {name.rpartition(".")[2] for name in known}
    assert {name for name, thing in public.NAMED.items() if callable(thing)} <= names
    assert {cls.__name__ for cls in public.CLASSES} <= names
    assert {call.rpartition(".")[2] for call in public.CALLABLES} <= names
