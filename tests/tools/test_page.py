"""The page in three dimensions, in a browser without a network."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from contextlib import contextmanager

import numpy as np
import pytest

import browser
import mse
from mse import Pose
from mse.tools.page.document import scene_data
from test_examples import example
from test_scene import DRAWN, cantilever, with_element

WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
FLAT = ("--disable-3d-apis",)
NAME = "a<b>&\"c'</script>"
SCENE = "mseScenes[0]"
CHOICES = ("names", "ground", "gravity", "frames", "clamps", "loads", "tensions", "channels", "stress", "rest", "initial",
           "compare")  # fmt: skip


def stage(name: str = "stage", **options) -> mse.MSystem:
    """A table on four bushings, pushed by a coil, seen by a sensor, under a load."""
    system = mse.MSystem(name, gravity=(0, 0, -9.81))
    feet = {f"foot{k}": Pose.dxdydz(x, y, -0.02) for k, (x, y) in enumerate([(0.2, 0.1), (-0.2, 0.1), (0, -0.1)])}
    table = system.add(mse.RigidBody("table", mass=2.0, inertia=(0.01, 0.03, 0.035), frames=feet))
    for foot, pose in feet.items():
        leg = mse.Bushing(f"leg<{foot}>", stiffness=(2e3, 3e3, 2e4, 5.0, 5.0, 5.0), **options)
        leg = system.add(leg)
        system.clamp(system.ground, leg.frame(1), pose @ Pose.dz(-0.05))
        system.clamp(leg.frame(0), table.frame(foot), Pose.dz(0.05))
    system.add(mse.ForceActuator("coil"), between=(system.ground, table))
    system.add(mse.PositionSensor("probe"), between=(table, system.ground))
    system.add(mse.Load("push", force=(3.0, 0.0, 0.0)), between=(table,))
    return system


@contextmanager
def shown(folder, working_point, *flags, **what):
    """The page of a working point in a browser; fails if it asked for anything or had an error."""
    path = folder / "page.html"
    options = {key: what.pop(key) for key in ("viewport", "color_scheme", "reduced_motion", "has_touch") if key in what}
    working_point.to_html(path, **what)
    with browser.opened(path, *(flags or WEBGL), **options) as page:
        until(page, f"{SCENE}.draws > 0")
        yield page


def until(page, condition: str) -> None:
    """Wait until JavaScript is true; the page's own policy forbids Playwright's way, which evaluates text there."""
    for _ in range(1000):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never true: {condition}")


def picture(page) -> bytes:
    """What is drawn, without the texts over it."""
    return page.evaluate("document.querySelector('canvas.scene').toDataURL()")


def paused(page) -> None:
    if page.evaluate(f"{SCENE}.playing"):
        page.get_by_role("button", name="Pause").click()


def place(page, share: float) -> None:
    """Set the slider of the phase, the time or the parameter."""
    page.get_by_role("slider").first.evaluate(
        "(slider, share) => { slider.value = 1000 * share; slider.dispatchEvent(new Event('input')); }", share
    )


def click(page, name: str) -> None:
    """Choose an object in the picture."""
    number = page.evaluate(f"{SCENE}.objects").index(name)
    x, y, _ = page.evaluate(f"{SCENE}.spot({number})")
    box = page.get_by_role("application").bounding_box()
    page.mouse.click(box["x"] + x, box["y"] + y)
    until(page, f"{SCENE}.selected === {number}")


def displacements(page, frames) -> dict[str, np.ndarray]:
    return {f: np.array(page.evaluate(f"f => {SCENE}.displacement(f)", f)) for f in frames}


# -- without a browser --------------------------------------------------------------------------------------------
def test_the_page_is_one_file_that_names_no_other_place(tmp_path):
    stage(NAME).find_working_point().to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r"""(src|href)\s*=|https?:|@import|url\(|fetch\(|XMLHttp""", text)
    assert text.count("</script>") == 2 and "a<b>" not in text


def test_the_viewer_is_part_of_the_package():
    from importlib import resources

    files = {f.name for f in (resources.files("mse.tools.page") / "viewer").iterdir()}
    from mse.tools.page.document import SCRIPTS

    assert set(SCRIPTS) | {"page.css"} == files


def test_a_page_says_which_of_many_modes_it_shows_and_how_others_are_chosen(tmp_path):
    wp = cantilever(elements=30)
    modes = wp.linearize().modes()
    assert len(modes) > 130

    def told(chosen) -> tuple[list[int], str]:
        wp.to_html(tmp_path / "page.html", modes=chosen)
        data = json.loads(re.search(r'class="mse-scene">(.*?)</script>', (tmp_path / "page.html").read_text())[1])
        return [int(m["name"].split()[1]) for m in data["motions"] if m["kind"] == "mode"], data["about"]

    numbers, about = told(modes)
    assert numbers == list(range(60))
    assert f"modes 0 to 59 of {len(modes)} modes given; modes=modes[60:120] in Python" in about
    assert told(modes[60:120]) == (list(range(60, 120)), "stable working point")
    assert told(modes[::50])[0] == list(range(0, len(modes), 50))


def test_matrices_are_told_row_by_row(tmp_path):
    stage().find_working_point().to_html(tmp_path / "page.html")
    data = json.loads(re.search(r'class="mse-scene">(.*?)</script>', (tmp_path / "page.html").read_text())[1])
    told = {row[0]: row for sheet in data["sheets"] for row in sheet}
    assert told["inertia"][1:] == ["0.01 0 0\n0 0.03 0\n0 0 0.035", "kg m2"]
    assert told["stiffness"][1].splitlines()[2] == "0 0 20000 0 0 0" and told["mass"][1] == "2"


def small_motion() -> mse.WorkingPoint:
    """A pendulum that a nanonewton pushes aside."""
    system = mse.MSystem("pendulum", gravity=(0, 0, -9.81))
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-0.5)))
    system.add(mse.Spring("wire", length=0.5, stiffness=1e4), between=(system.ground, bob))
    system.add(mse.Load("push", force=(1e-8, 0, 0)), between=(bob,))
    return system.find_working_point()


def test_poses_and_loads_are_told_without_rounding_and_small_ones_as_they_are():
    wp = small_motion()
    told = {entry["n"]: entry for entry in scene_data(wp)["objects"]}
    x, y, z, *turns = told["bob"]["p"][0]
    assert x == pytest.approx(wp.poses["bob.center"].o[0], rel=1e-5) and 1e-10 < x < 1e-8  # of a system of half a meter
    assert y == 0.0 and z == pytest.approx(wp.poses["bob.center"].o[2], rel=1e-5)
    assert turns == pytest.approx(wp.poses["bob.center"].rotation_vector(), abs=1e-12)
    fx, fy, fz, *_ = told["wire"]["l"][1]
    assert abs(fx) == pytest.approx(1e-8, rel=1e-3) and fy == 0.0 and fz == pytest.approx(9.81, rel=1e-5)


@pytest.mark.browser
@pytest.mark.slow
def test_a_small_pose_is_to_be_read_on_the_page(tmp_path):
    wp = small_motion()
    with shown(tmp_path, wp) as page:
        click(page, "bob")
        cells = page.locator(".info table").nth(1).locator("tbody tr").first.locator("td").all_inner_texts()
        assert cells[0] == "center" and cells[2] == "0"
        assert float(cells[1]) == pytest.approx(wp.poses["bob.center"].o[0], rel=1e-3)


def test_a_notebook_gets_a_document_of_its_own():
    view = stage(NAME).find_working_point().view(height=300)
    markup = view._repr_html_()
    assert markup.startswith("<iframe ") and markup.endswith("</iframe>") and "height:300px" in markup
    srcdoc = re.search(r'srcdoc="([^"]*)"', markup)[1]
    assert html.unescape(srcdoc) == view.page
    assert "kB" in repr(view)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ({"modes": 3}, "modes"),
        ({"modes": ["first"]}, "expected modes"),
        ({"compare": "other"}, "a second working point"),
        ({"trace": 1.0}, "a trace"),
        ({"history": [0.0]}, "a run of this system"),
    ],
)
def test_what_cannot_be_shown_is_refused(tmp_path, what, sentence):
    with pytest.raises(mse.ModelError, match=sentence):
        stage().find_working_point().to_html(tmp_path / "page.html", **what)
    assert not (tmp_path / "page.html").exists()


def test_results_of_another_system_are_refused(tmp_path):
    wp, other = stage().find_working_point(), cantilever()
    with pytest.raises(mse.ModelError, match="which this system does not have"):
        wp.to_html(tmp_path / "page.html", modes=other.linearize().modes(2))
    with pytest.raises(mse.ModelError, match="other objects"):
        wp.to_html(tmp_path / "page.html", compare=other)
    run = (
        stage(damping=9.0).find_working_point().linearize().simulate(duration=0.2, dt=1e-3, inputs={"coil.fx": np.sin})
    )
    with pytest.raises(mse.ModelError, match="run again"):
        wp.to_html(tmp_path / "page.html", history=run)


# -- in a browser -------------------------------------------------------------------------------------------------
@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("flags", [WEBGL, FLAT], ids=["WebGL", "2-D canvas"])
def test_every_mode_moves_the_picture_as_far_as_it_says(tmp_path, flags):
    wp = stage().find_working_point()
    modes = wp.linearize().modes()
    frames = ["table.center", "table.foot0", "leg<foot2>.0"]
    with shown(tmp_path, wp, *flags, modes=modes) as page:
        assert page.evaluate(f"{SCENE}.backend") == ("webgl2" if flags is WEBGL else "canvas")
        page.get_by_role("option", name="At rest").click()
        page.wait_for_timeout(100)
        pictures = [picture(page)]
        for mode in modes:
            page.get_by_role("option", name=f"Mode {mode.number}", exact=False).click()
            place(page, 0.25)
            pictures.append(picture(page))
            d, a = mode.vector[:3], mode.vector[3:]
            shape = {f: d + np.cross(a, wp.poses[f].o - wp.poses["table.center"].o) for f in frames}
            found = displacements(page, frames)
            amplitude, largest = page.evaluate(f"[{SCENE}.amplitude, {SCENE}.largest]")
            assert largest == pytest.approx(amplitude, rel=1e-3)
            factor = found["table.foot0"] @ shape["table.foot0"] / (shape["table.foot0"] @ shape["table.foot0"])
            for f in frames:
                assert found[f] == pytest.approx(factor * shape[f], abs=1e-3 * amplitude)
            place(page, 0.0)
            assert page.evaluate(f"{SCENE}.largest") < 1e-6 * amplitude
        assert len(set(pictures)) == len(pictures)


@pytest.mark.browser
@pytest.mark.slow
def test_pause_slider_drag_keys_and_wheel_act(tmp_path):
    wp = stage().find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes()) as page:
        state = lambda name: page.evaluate(f"{SCENE}.{name}")
        before = state("place")
        until(page, f"{SCENE}.place !== {before}")
        page.get_by_role("button", name="Pause").click()
        before = state("draws")
        page.evaluate(
            "new Promise(done => { let n = 5; const f = () => --n ? requestAnimationFrame(f) : done(); f(); })"
        )
        assert state("draws") <= before + 1 and not state("playing")
        place(page, 0.5)
        assert state("place") == pytest.approx(np.pi)
        amplitude = state("amplitude")
        slider = page.get_by_role("slider", name="Amplitude")
        slider.focus()
        page.keyboard.press("End")
        assert state("amplitude") == pytest.approx(30 * amplitude)
        page.keyboard.press("Home")
        assert state("amplitude") == 0.0
        canvas = page.get_by_role("application")
        box = canvas.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        azimuth, zoom = state("azimuth"), state("zoom")
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 60, middle[1])
        page.mouse.up()
        assert state("azimuth") != azimuth
        page.mouse.wheel(0, -200)
        until(page, f"{SCENE}.zoom > {zoom}")
        for key, name in (("ArrowLeft", "azimuth"), ("ArrowUp", "elevation"), ("-", "zoom"), ("Shift+ArrowUp", "target"),
                          ("n", "motion"), ("Space", "playing"), ("2", "azimuth")):  # fmt: skip
            before = state(name)
            page.keyboard.press(key)
            assert state(name) != before, key


@pytest.mark.browser
@pytest.mark.slow
def test_one_finger_turns_and_two_fingers_pan_and_zoom(tmp_path):
    with shown(tmp_path, stage().find_working_point(), *FLAT, has_touch=True) as page:
        state = lambda name: page.evaluate(f"{SCENE}.{name}")
        box = page.get_by_role("application").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        fingers = page.context.new_cdp_session(page)

        def touch(kind: str, *points: tuple[float, float]) -> None:
            at = [{"x": a, "y": b, "id": k} for k, (a, b) in enumerate(points)]
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

        azimuth, zoom, target = state("azimuth"), state("zoom"), state("target")
        touch("touchStart", (x, y))
        touch("touchMove", (x + 60, y))
        touch("touchEnd")
        until(page, f"{SCENE}.azimuth !== {azimuth}")
        assert state("zoom") == zoom
        azimuth = state("azimuth")
        touch("touchStart", (x - 40, y), (x + 40, y))
        touch("touchMove", (x - 80, y + 30), (x + 80, y + 30))
        touch("touchEnd")
        until(page, f"Math.abs({SCENE}.zoom / {zoom} - 2) < 1e-6")
        assert state("target") != target and state("azimuth") == azimuth


@pytest.mark.browser
@pytest.mark.slow
def test_an_animation_draws_once_a_step_of_the_browser(tmp_path):
    wp = stage().find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes()) as page:
        drawn = page.evaluate(
            f"""new Promise(done => {{
                let n = 0; const first = {SCENE}.draws;
                const step = () => ++n < 20 ? requestAnimationFrame(step) : done({SCENE}.draws - first);
                requestAnimationFrame(step); }})"""
        )
        assert 19 <= drawn <= 21


# a clock by which a picture takes so many ms; 100 for all pixels, and for each of them as much with fewer
CLOCK = """() => {{
    const pixels = (name) => {{ const c = document.querySelector('canvas.' + name); return c.width * c.height; }};
    let clock = performance.now();
    window.requestAnimationFrame = (act) => setTimeout(() => act(clock += {0}), 1);
}}"""
BY_PIXELS = "100 * pixels('scene') / pixels('over')"
SMOOTH = "document.querySelector('canvas.scene').getContext('webgl2').getContextAttributes().antialias"
SHARE = "document.querySelector('canvas.scene').width / document.querySelector('canvas.over').width"


@pytest.mark.browser
@pytest.mark.slow
def test_where_pictures_take_long_moving_ones_are_coarser_and_those_at_rest_finer(tmp_path):
    wp = stage().find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes(), reduced_motion="reduce") as page:
        number = page.evaluate(f"{SCENE}.objects").index("table")
        spot, size = f"{SCENE}.spot({number})", "document.querySelector('canvas.over').width"
        place(page, 0.25)
        before, wide = page.evaluate(spot), page.evaluate(size)
        page.evaluate(CLOCK.format(BY_PIXELS))
        page.get_by_role("button", name="Play").click()
        until(page, f"!{SMOOTH} && {SHARE} < 0.6")
        drawn = page.evaluate(f"{SCENE}.draws")
        until(page, f"{SCENE}.draws > {drawn + 20}")  # it stays so, since that helps
        assert not page.evaluate(SMOOTH) and page.evaluate(SHARE) == pytest.approx(0.5, abs=0.01)
        # texts and places of objects are those of all pixels, and so is what a picture saved has
        assert page.evaluate(size) == wide
        assert page.evaluate(f"{SCENE}.image() && {SHARE}") == pytest.approx(2, abs=0.02)
        until(page, f"{SHARE} < 0.6")
        page.get_by_role("button", name="Pause").click()
        until(page, f"Math.abs({SHARE} - 2) < 0.02")
        place(page, 0.25)
        assert page.evaluate(spot) == pytest.approx(before, abs=1e-9)
        until(page, f"Math.abs({SHARE} - 2) < 0.02")
        box = page.get_by_role("application").bounding_box()
        x, y = box["x"] + before[0], box["y"] + before[1]
        page.mouse.click(x, y)
        assert page.evaluate(f"{SCENE}.selected") == number
        # while a hand turns it, it moves
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 40, y, steps=2)
        until(page, f"{SHARE} < 0.6")
        page.mouse.up()
        until(page, f"Math.abs({SHARE} - 2) < 0.02")


@pytest.mark.browser
@pytest.mark.slow
def test_where_fewer_pixels_gain_no_time_all_are_kept(tmp_path):
    wp = stage().find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes(), reduced_motion="reduce") as page:
        page.evaluate(CLOCK.format("33"))
        page.get_by_role("button", name="Play").click()
        until(page, f"!{SMOOTH} && {SHARE} < 0.6")
        until(page, f"{SMOOTH} && {SHARE} === 1")
        drawn = page.evaluate(f"{SCENE}.draws")
        until(page, f"{SCENE}.draws > {drawn + 50}")
        assert page.evaluate(SMOOTH) and page.evaluate(SHARE) == 1


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("flags", [WEBGL, FLAT], ids=["WebGL", "2-D canvas"])
@pytest.mark.parametrize(("theme", "paper"), [("light", (255, 255, 255)), ("dark", (22, 25, 29))])
def test_pictures_are_drawn_on_the_paper_of_the_page(tmp_path, flags, theme, paper):
    from PIL import Image

    with shown(tmp_path, stage().find_working_point(), *flags, color_scheme=theme) as page:
        data = base64.b64decode(picture(page).partition(",")[2])
        assert Image.open(io.BytesIO(data)).convert("RGBA").getpixel((2, 2)) == (*paper, 255)
        color = page.locator("main").evaluate("node => getComputedStyle(node).backgroundColor")
        assert tuple(map(int, re.findall(r"\d+", color)[:3])) == paper


@pytest.mark.browser
@pytest.mark.slow
def test_a_picture_takes_few_calls_of_the_graphics_library_and_no_instances(tmp_path):
    wp = stage().find_working_point()
    with shown(tmp_path, wp, reduced_motion="reduce") as page:
        calls = page.evaluate(
            f"""() => {{ const calls = {{}}, library = WebGL2RenderingContext.prototype;
                for (const name of ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced"]) {{
                  const own = library[name]; calls[name] = 0;
                  library[name] = function (...rest) {{ calls[name]++; return own.apply(this, rest); }};
                }}
                {SCENE}.image(); return calls; }}"""
        )
    assert calls["drawArraysInstanced"] == calls["drawElementsInstanced"] == 0
    assert 0 < calls["drawArrays"] <= 6 and 0 < calls["drawElements"] <= 6  # groups of what can be shown


@pytest.mark.browser
@pytest.mark.slow
def test_a_click_tells_of_an_object_and_names_stay_text(tmp_path):
    wp = stage(NAME).find_working_point()
    with shown(tmp_path, wp) as page:
        assert page.locator("h1").inner_text() == NAME and page.title() == NAME
        assert page.locator("main b").count() == 1  # of the list, none from names
        click(page, "leg<foot0>")
        told = page.locator(".info").inner_text()
        assert "leg<foot0>" in told and "stiffness" in told and "Bushing" in told
        table = page.locator(".info table").last
        assert table.locator("tbody tr").count() == 2
        fz = float(table.locator("tbody tr").nth(0).locator("td").nth(3).inner_text())
        assert fz == pytest.approx(wp.forces["leg<foot0>"][0, 2], rel=1e-4)


def crossed() -> mse.MSystem:
    """A sensor from the ground to a bob, whose line passes in front of a box, as seen from where a page looks at first."""
    system = mse.MSystem("crossed", gravity=(0, 0, -9.81))
    toward = np.array([np.cos(np.radians(20)) * 0.5, -np.cos(np.radians(20)) * np.sqrt(0.75), np.sin(np.radians(20))])
    behind = Pose(np.array([0, 0, -0.5]) - 0.3 * toward)
    box = system.add(mse.RigidBody("box", mass=1.0, inertia=0.01, at=behind, shape=mse.Box((0.1, 0.1, 0.1))))
    system.clamp(system.ground, box.frame("center"), behind)
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(-1.0)))
    system.add(mse.Bushing("hold", stiffness=1e4), between=(bob, system.ground))
    system.add(mse.PositionSensor("probe"), between=(bob, system.ground))
    return system


@pytest.mark.browser
@pytest.mark.slow
def test_a_click_takes_the_body_that_a_line_of_sight_crosses_and_its_name_the_sensor(tmp_path):
    with shown(tmp_path, crossed().find_working_point(throw=False), reduced_motion="reduce") as page:
        canvas = page.get_by_role("application")
        box, at = canvas.bounding_box(), page.evaluate(f"{SCENE}.spot({SCENE}.objects.indexOf('box'))")
        page.mouse.click(box["x"] + at[0] + 3, box["y"] + at[1])
        objects = page.evaluate(f"{SCENE}.objects")
        assert objects[page.evaluate(f"{SCENE}.selected")] == "box"
        x, y = page.evaluate(f"{SCENE}.nameSpot({objects.index('probe')})")
        page.mouse.click(box["x"] + x, box["y"] + y)
        assert objects[page.evaluate(f"{SCENE}.selected")] == "probe"


@pytest.mark.browser
@pytest.mark.slow
def test_the_menu_closes_by_escape_and_by_a_click_beside_it(tmp_path):
    with shown(tmp_path, stage().find_working_point()) as page:
        menu, choice = page.locator("summary"), page.locator("input[data-shows=gravity]")
        for close in (
            lambda: page.keyboard.press("Escape"),
            lambda: page.locator("aside").click(position={"x": 5, "y": 5}),
            lambda: page.get_by_role("application").click(position={"x": 300, "y": 300}),
        ):
            menu.click()
            assert choice.is_visible()
            choice.click()
            assert choice.is_visible()  # a choice does not close it
            close()
            assert not choice.is_visible()


@pytest.mark.browser
@pytest.mark.slow
def test_names_are_shown_and_hidden_by_a_button_that_tells_which(tmp_path):
    system = stage()
    for k in range(8):
        system.add(mse.ForceActuator(f"magnet {k}"), between=(system.ground, system["table"]))
    for wp, named in ((stage().find_working_point(), "true"), (system.find_working_point(), "false")):
        with shown(tmp_path, wp, reduced_motion="reduce") as page:
            button = page.get_by_role("button", name="Names of the objects")
            assert button.get_attribute("aria-pressed") == named
            before = page.evaluate(f"{SCENE}.image()")
            button.click()
            assert button.get_attribute("aria-pressed") != named and page.evaluate(f"{SCENE}.image()") != before


@pytest.mark.browser
@pytest.mark.slow
def test_the_list_says_where_there_are_no_modes_and_its_first_row_is_like_the_others(tmp_path):
    wp = stage().find_working_point()
    with shown(tmp_path, wp) as page:
        assert "modes=linear.modes()" in page.locator("aside").inner_text()
    with shown(tmp_path, wp, modes=wp.linearize().modes(2)) as page:
        assert "modes=linear.modes()" not in page.locator("aside").inner_text()
        rows = page.get_by_role("option")
        looks = "nodes => nodes.map(node => [node.children.length > 1, getComputedStyle(node.children[1]).textAlign])"
        assert rows.evaluate_all(looks) == [[True, "right"]] * 3
        rows.nth(0).click()
        assert rows.nth(0).get_attribute("aria-selected") == "true"


def test_free_motions_are_listed_once():
    system = mse.MSystem("afloat", gravity=(0, 0, 0))
    bob = system.add(mse.RigidBody("bob", mass=1.0, inertia=0.01))
    system.add(mse.Bushing("hold", stiffness=(0.0, 0.0, 1e3, 0.0, 5.0, 5.0)), between=(bob, system.ground))
    wp = system.find_working_point()
    modes = wp.linearize().modes()
    assert len(wp.free) == modes.frequencies_hz.tolist().count(0.0) == 3
    kinds = lambda **what: [motion["kind"] for motion in scene_data(wp, **what)["motions"]]
    assert kinds() == ["free"] * 3
    assert kinds(modes=modes) == ["mode"] * 6
    assert kinds(modes=modes[3:]) == ["mode"] * 3 + ["free"] * 3


@pytest.mark.browser
@pytest.mark.slow
def test_every_choice_of_what_is_shown_changes_the_picture(tmp_path):
    system = stage()
    wp = system.find_working_point()
    beam = system.add(mse.Beam("blade", length=0.3, width=0.02, height=0.002))
    system.clamp(system.ground, beam.frame(0), Pose.dy(0.2))
    drive = system.add(mse.ForceActuator("drive"))  # longer than the table is wide, which hides the others
    system.clamp(system.ground, drive.frame(0), Pose.dx(0.5))
    system.clamp("table.center", drive.frame(1))
    wp = system.find_working_point()
    other = wp.update({"table.mass": 90.0})
    with shown(tmp_path, wp, modes=wp.linearize().modes(3), compare=other) as page:
        paused(page)
        place(page, 0.2)
        seen = set()
        everything = "mseScenes[0].image()"
        for key in CHOICES:
            before = page.evaluate(everything)
            page.locator(f"[data-shows={key}]").evaluate("box => box.click()")
            after = page.evaluate(everything)
            assert before != after, key
            seen.add(after)
        assert len(seen) == len(CHOICES)


@pytest.mark.browser
@pytest.mark.slow
def test_every_element_of_the_catalogue_appears(tmp_path):
    frames = [with_element(name).find_working_point(throw=False).view(height=300) for name in DRAWN]
    path = tmp_path / "all.html"
    path.write_text("<!DOCTYPE html><meta charset=utf-8>" + "".join(f._repr_html_() for f in frames), encoding="utf-8")
    with browser.opened(path, *WEBGL, reduced_motion="reduce") as page:
        for number in range(len(frames)):
            page.locator("iframe").nth(number).scroll_into_view_if_needed()
            frame = page.frames[number + 1]
            until(frame, f"{SCENE}.draws > 0 && document.querySelector('canvas.scene')")
            objects = frame.evaluate(f"{SCENE}.objects")
            canvas = frame.get_by_role("application")
            canvas.focus()
            blank = frame.evaluate("document.querySelector('canvas.scene').toDataURL()")
            for _ in range(objects.index("it") + 1):
                canvas.press("o")
            assert frame.evaluate(f"{SCENE}.selected") == objects.index("it")
            frame.evaluate(f"{SCENE}.image()")
            # the object is marked, so where it shows the picture changes
            assert frame.evaluate("document.querySelector('canvas.scene').toDataURL()") != blank, objects


@pytest.mark.browser
@pytest.mark.slow
def test_twenty_scenes_in_one_document_all_draw(tmp_path):
    """Chromium keeps sixteen WebGL contexts."""
    wp = stage().find_working_point()
    path = tmp_path / "twenty.html"
    one = wp.view(modes=wp.linearize().modes(2), height=300)._repr_html_()
    path.write_text("<!DOCTYPE html><meta charset=utf-8>" + 20 * one, encoding="utf-8")
    with browser.opened(path, *WEBGL, reduced_motion="reduce") as page:
        drawn = []
        for number in range(20):
            page.locator("iframe").nth(number).scroll_into_view_if_needed()
            frame = page.frames[number + 1]
            until(frame, f"{SCENE}.draws > 0 && {SCENE}.backend === 'webgl2'")
            drawn.append(frame.evaluate("document.querySelector('canvas.scene').toDataURL().length"))
        assert min(drawn) > 2000  # an empty picture takes less
        first = page.frames[1]
        until(first, f"{SCENE}.backend === 'none'")  # it let its context go, and kept its picture
        assert first.evaluate("document.querySelector('canvas.scene').toDataURL().length") > 2000


@pytest.mark.browser
@pytest.mark.slow
def test_a_run_moves_the_picture_as_it_moved_the_outputs(tmp_path):
    wp = stage(damping=3.0).find_working_point()
    run = wp.linearize().simulate(
        duration=1.0,
        dt=1e-3,
        inputs={"coil.fx": lambda t: 5.0 * np.sin(30 * t)},
        initial={"table.y": 1e-3},
        progress=False,
    )
    with shown(tmp_path, wp, history=run) as page:
        paused(page)
        largest = max(np.abs(run[f"probe.{axis}"]).max() for axis in "xyz")
        for share in (0.0, 0.3, 0.7, 1.0):
            place(page, share)
            factor = page.evaluate(f"{SCENE}.amplitude")
            moved = displacements(page, ["table.center"])["table.center"]
            k = round(share * 1000)
            expected = [run[f"probe.{axis}"][k] for axis in "xyz"]
            assert moved / factor == pytest.approx(expected, abs=1e-3 * largest)


@pytest.mark.browser
@pytest.mark.slow
def test_a_trace_moves_the_picture_through_its_equilibria(tmp_path):
    system = stage()
    wp = system.find_working_point()
    trace = system.trace("table.mass", 60.0)
    with shown(tmp_path, wp, trace=trace) as page:
        paused(page)
        place(page, 1.0)
        moved = displacements(page, ["table.foot1"])["table.foot1"]
        expected = trace.working_points[-1].poses["table.foot1"].o - wp.poses["table.foot1"].o
        assert moved == pytest.approx(expected, abs=1e-3 * np.abs(expected).max())
        assert "table.mass = 60" in page.locator("output").first.inner_text()


@pytest.mark.browser
@pytest.mark.slow
def test_complex_modes_show_their_phase_and_free_and_unstable_motions_move(tmp_path):
    system = stage()
    dashpot = mse.Bushing("dashpot", damping=(40.0, 0, 0, 0, 0, 0))
    system.add(dashpot)
    system.clamp(system.ground, dashpot.frame(1), Pose.dxdydz(0.2, 0.1, -0.02))
    system.clamp(dashpot.frame(0), system["table"].frame("foot0"))
    wp = system.find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes(damped=True)) as page:
        paused(page)
        place(page, 0.0)
        quarter = page.evaluate(f"{SCENE}.largest")
        assert 1e-4 * page.evaluate(f"{SCENE}.amplitude") < quarter  # not all of it passes its rest at once
    standing = mse.MSystem("standing", gravity=(0, 0, -9.81))
    rod = standing.add(mse.Rod("rod", length=0.5))
    bob = standing.add(mse.RigidBody("bob", mass=1.0, inertia=0.01, at=Pose.dz(0.5)), between=(rod.frame(1),))
    standing.clamp(standing.ground, rod.frame(0))
    wp = standing.find_working_point(seek="nearest")
    assert wp.unstable and wp.free and bob
    with shown(tmp_path, wp) as page:
        for motion in (*wp.free, *wp.unstable):
            page.get_by_role("option", name=motion.name).first.click()
            place(page, 0.25)
            assert page.evaluate(f"{SCENE}.amplitude") > 0 and page.evaluate(f"{SCENE}.motion") >= 0


@pytest.mark.browser
@pytest.mark.slow
def test_it_prints_saves_pictures_and_goes_dark(tmp_path):
    from PIL import Image

    wp = stage().find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes(1), color_scheme="dark", reduced_motion="reduce") as page:
        assert page.evaluate(f"{SCENE}.theme") == "dark" and not page.evaluate(f"{SCENE}.playing")
        paper = page.locator("main").evaluate("node => getComputedStyle(node).backgroundColor")
        assert max(map(int, re.findall(r"\d+", paper)[:3])) < 60
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save this view as a PNG picture").click()
        image = Image.open(saved.value.path()).convert("L")
        # below the view stands what it shows
        high = page.evaluate("document.querySelector('canvas.over').height")
        caption = np.asarray(image)[high:]
        assert len(caption) > 20 and np.ptp(caption) > 150
        assert saved.value.suggested_filename == "stage.png"
        assert np.asarray(image).std() > 5.0
        assert page.pdf(width="200mm", height="150mm").startswith(b"%PDF")
        assert page.evaluate(f"{SCENE}.theme") == "dark"


@pytest.mark.browser
@pytest.mark.slow
def test_paper_has_a_large_picture_that_says_what_it_shows(tmp_path):
    wp = stage().find_working_point()
    modes = wp.linearize().modes(2)
    with shown(tmp_path, wp, modes=modes, viewport={"width": 1200, "height": 700}, reduced_motion="reduce") as page:
        assert not page.locator(".caption").is_visible()
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        told = page.locator(".caption").inner_text()
        assert told.startswith(f"{modes.frequencies_hz[0]:.5g} Hz; Mode 0; ")
        assert re.search(r"phase 90°; amplitude [\d.]+ mm$", told), told
        assert page.locator(".picture").bounding_box()["height"] > 500
        # what was drawn for the screen is not stretched to the paper
        assert page.locator("canvas.over").evaluate("node => getComputedStyle(node).objectFit") == "contain"


@pytest.mark.browser
@pytest.mark.slow
def test_a_frequency_is_not_parted_from_its_unit(tmp_path):
    wp = stage(damping=50.0).find_working_point()
    modes = wp.linearize().modes(damped=True)
    assert ((modes.damping_ratios > 0.05) & (modes.damping_ratios < 1.0)).any()  # whose damping ratio is written out
    with shown(tmp_path, wp, modes=modes) as page:
        heads = page.locator("[role=option] b").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().height)"
        )
        assert len(heads) == 1 + len(modes) and max(heads) < 1.5 * heads[0]  # the first is "At rest", a line


@pytest.mark.browser
@pytest.mark.slow
def test_lossy_modes_are_listed_with_their_q(tmp_path):
    system = stage()
    for obj in system.walk():
        if "loss" in obj.parameters:
            obj.loss = 0.2
    wp = system.find_working_point()
    modes = wp.linearize().modes(lossy=True)
    assert 4.9 < modes.quality[-1] < 5.1
    with shown(tmp_path, wp, modes=modes) as page:
        told = page.locator("[role=option]").all_inner_texts()
        assert f"Q {modes.quality[-1]:.4g}" in told[len(modes)], told
        # shares of energies take the whole width, as shares of motion do
        widths = page.locator("[role=option]").last.evaluate(
            "item => [...item.querySelectorAll('span')].map(x => x.clientWidth)"
        )
        assert len(widths) == 3 and widths[2] == widths[1] > widths[0], widths


@pytest.mark.browser
@pytest.mark.slow
def test_all_can_be_reached_with_the_keyboard_and_has_a_name(tmp_path):
    wp = stage().find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes(2)) as page:
        reached = []
        for _ in range(30):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate("[document.activeElement.tagName, document.activeElement.getAttribute('role')].join()")
            )
        assert {"CANVAS,application", "UL,listbox", "INPUT,", "BUTTON,", "SUMMARY,"} <= set(reached)
        unnamed = page.evaluate(
            """[...document.querySelectorAll('button, input, canvas[tabindex], [role=listbox]')].filter(
                node => !(node.ariaLabel || node.textContent.trim() || node.closest('label')?.textContent.trim())).length"""
        )
        assert unnamed == 0


@pytest.mark.slow
def test_the_attenuation_chain_with_fifteen_modes_takes_less_than_half_a_megabyte(tmp_path):
    wp = example("attenuation_chain").build().find_working_point()
    wp.to_html(tmp_path / "chain.html", modes=wp.linearize().modes(15))
    assert (tmp_path / "chain.html").stat().st_size < 500_000


@pytest.mark.browser
@pytest.mark.slow
def test_five_hundred_stages_open(tmp_path):
    system = mse.MSystem("stages", gravity=(0, 0, -9.81))
    for k in range(500):
        at = Pose.dxdydz(0.5 * (k % 25), 0.5 * (k // 25), 0.0)
        corners = {f"c{j}": Pose.dxdydz(0.1 * (-1) ** j, 0.1 * (-1) ** (j // 2), 0.02) for j in range(4)}
        body = system.add(mse.RigidBody(f"s{k}", mass=2.0, inertia=0.02, at=at @ Pose.dz(-0.5), frames=corners))
        for name, corner in corners.items():
            wire = system.add(mse.Wire(f"{name}_{k}", length=0.48, young_modulus=2e11, poisson_ratio=0.3, radius=3e-4))
            system.clamp(system.ground, wire.frame(1), at @ corner @ Pose.dz(-0.02))
            system.clamp(wire.frame(0), body.frame(name))
    wp = system.find_working_point()
    with shown(tmp_path, wp, modes=wp.linearize().modes(5)) as page:
        assert len(page.evaluate(f"{SCENE}.objects")) == 2500
        data = base64.b64decode(page.evaluate(f"{SCENE}.image()").partition(",")[2])
        from PIL import Image

        assert np.asarray(Image.open(io.BytesIO(data)).convert("L")).std() > 5.0
