"""The line of a task as tqdm draws it, beside the bars of the program."""

from __future__ import annotations

import io
import re
import signal
import threading
from types import SimpleNamespace

import pytest
from tqdm import tqdm

import mse
from mse.progress import bars
from mse.progress.bars import Bar
from terminal import Screen

HALF = mse.Progress("stage {a}", 500, 1000, "steps", 2.0, 6.0, "load = {3}")
SILENT = mse.Progress("stage: tracing", 3, None, "points", 2.0, None, "compiling beams, once")


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "40")


def test_tqdm_draws_on_terminals_and_in_notebooks_where_it_is_installed(monkeypatch):
    def at(stream, **modules):
        monkeypatch.setattr(bars, "sys", SimpleNamespace(stderr=stream, modules=modules))
        return Bar.here()

    notebook = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel="this"))
    console = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    worker = SimpleNamespace(parent_process=lambda: "another")
    assert isinstance(at(Screen()), Bar) and at(io.StringIO()) is None and at(None) is None
    assert isinstance(at(io.StringIO(), IPython=notebook), Bar) and at(io.StringIO(), IPython=console) is None
    assert at(Screen(), multiprocessing=worker) is None
    monkeypatch.setattr(bars, "_installed", lambda: False)
    assert at(Screen()) is None


def test_a_bar_says_what_a_record_says_and_goes_away():
    screen = Screen()
    bar = Bar(screen)
    bar.draw(HALF)
    (line,) = screen.rows()
    drawn = re.fullmatch(r"stage \{a\} \|(.+)\|  50 %, 6 s left \(load = \{3\}\)", line)
    assert drawn and line.endswith(HALF.how_far()) and len(line) == 99
    full = drawn[1].count("\N{FULL BLOCK}") or drawn[1].count("#")
    assert full == pytest.approx(len(drawn[1]) / 2, abs=1)
    bar.draw(SILENT)
    assert screen.rows() == [str(SILENT)]
    bar.end(None)
    assert screen.rows() == []


def test_a_bar_that_was_interrupted_stays():
    screen = Screen()
    bar = Bar(screen)
    bar.draw(SILENT)
    bar.end(HALF)
    assert screen.rows()[0].startswith("stage {a} |") and screen.getvalue().endswith("\n")


def test_a_short_task_shows_no_bar():
    screen = Screen()
    bar = Bar(screen)
    bar.end(None)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("now", [HALF, SILENT])
def test_a_bar_does_not_break(now, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    screen = Screen()
    bar = Bar(screen)
    bar.draw(now._replace(task="\x1b[31m stage\n with a name far longer than all columns of the terminal"))
    (line,) = screen.rows()
    assert line.startswith("?[31m stage? with") and len(line) <= 29


def test_it_stands_below_the_bar_of_the_program():
    screen = Screen()
    with tqdm(total=4, desc="lengths", file=screen, ncols=60, mininterval=0, miniters=1) as lengths:
        lengths.update(1)
        bar = Bar(screen)
        bar.draw(HALF)
        above, below = screen.rows()
        assert above.startswith("lengths:  25%|") and below.startswith("stage {a} |")
        bar.keep("mse: compiled\x1b for this machine")
        kept, above, below = screen.rows()
        assert kept == "mse: compiled? for this machine"
        assert above.startswith("lengths:  25%|") and below.startswith("stage {a} |")
        bar.end(None)
        lengths.update(3)
        lengths.refresh()
        assert screen.rows()[0] == kept and screen.rows()[1].startswith("lengths: 100%|") and len(screen.rows()) == 2


def test_no_thread_is_begun_for_it(monkeypatch):
    monkeypatch.setattr(tqdm, "monitor", None)
    before = threading.enumerate()
    bar = Bar(Screen())
    bar.draw(HALF)
    assert threading.enumerate() == before and tqdm.monitor is None
    bar.end(None)


def test_a_closed_terminal_ends_no_run():
    screen = Screen()
    bar = Bar(screen)
    bar.draw(HALF)
    screen.close()
    bar.draw(HALF)
    bar.end(HALF)
    assert bar._bar is None


def test_a_bar_that_is_being_drawn_comes_to_its_end_before_ctrl_c_counts(monkeypatch):
    before, bar = signal.signal(signal.SIGINT, signal.default_int_handler), Bar(Screen())
    drawn = []

    def interrupted(bar, now, own=Bar._draw):
        signal.raise_signal(signal.SIGINT)
        drawn.append(own(bar, now))

    monkeypatch.setattr(Bar, "_draw", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            bar.draw(HALF)
    finally:
        signal.signal(signal.SIGINT, before)
    assert drawn
    bar.end(None)
