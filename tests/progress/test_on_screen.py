"""What people see on a terminal and in a notebook: the first use of a machine, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import mse
from terminal import Screen

PACKAGE = Path(mse.__file__).parent

STAGE = """
import mse
stage = mse.MSystem("a<b> stage", gravity=(0, 0, -9.81))
mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
point = stage.find_working_point()
"""

# counts the functions that have been compiled when something is drawn
COUNTED = """
from numba.core import event
from mse.progress.bars import Bar

class Compiled(event.Listener):
    def on_start(self, event): ...
    def on_end(self, event):
        made[0] += 1

def draw(bar, now, own=Bar.draw):
    own(bar, now)
    told.append(made[0])

made, told, Bar.draw = [0], [], draw
event.register("numba:compile", Compiled())
"""

# more than a minute, unless it is stopped
LONG_RUN = """
import numba
import numpy as np
import mse

@numba.njit
def slow(outputs, inputs, memory, time):
    for _ in range(100_000):
        memory[0] = np.sin(memory[0] + time)

model = mse.LinearModel.from_matrices(np.eye(2), None, 4.0 * np.eye(2), coordinates=["a.x", "b.x"])
loop = model.step_loop(dt=0.01)
try:
    loop.run(100_000, controller=slow, memory=[1.0])
except mse.Interrupted as stopped:
    print(f"stopped: {stopped} {len(stopped.result.time)}", flush=True)
"""


def on_terminal(code: str, *, press: tuple[str, bytes] | None = None, **environment: str) -> Screen:
    """All that a process has shown on its terminal; a key is pressed as soon as something is shown."""
    import pty

    given = {k: v for k, v in os.environ.items() if k != "MSE_PROGRESS"}
    given |= {"PYTHONPATH": str(PACKAGE.parent), "COLUMNS": "160", "LINES": "40"} | environment
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # jobs that a shell runs in the background ignore it
        os.execve(sys.executable, [sys.executable, "-c", code], given)
    shown = b""
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the end, on Linux
            break
        if not more:
            break
        shown += more
        if press is not None and press[0].encode() in shown:
            os.write(terminal, press[1])
            press = None
    os.close(terminal)
    os.waitpid(process, 0)
    screen = Screen()
    screen.write(shown.decode())
    return screen


@pytest.mark.slow
def test_a_first_use_says_on_a_terminal_what_it_does(tmp_path):
    if os.name == "nt":
        return
    shown = on_terminal(
        COUNTED + STAGE + "print('told after', told[0], 'of', made[0])", NUMBA_CACHE_DIR=str(tmp_path / "cache")
    )
    *_, before, _, made = shown.rows()[-1].split()
    assert int(before) < 0.25 * int(made)  # most is compiled while one sees what is done
    lines = [line.strip() for line in shown.getvalue().split("\r") if line.strip()]
    first = next(k for k, line in enumerate(lines) if line.startswith("a<b> stage: searching for the working point"))
    said = [k for k, line in enumerate(lines) if "(compiling " in line and ", once)" in line]
    over = next(k for k, line in enumerate(lines) if line.startswith("mse: compiled for this machine, once, in "))
    assert first <= said[0] < over
    left, _ = shown.rows()
    assert left.startswith("mse: compiled for this machine, once, in ")
    again = on_terminal(STAGE, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert "compil" not in again.getvalue() and again.rows() == []


@pytest.mark.slow
def test_ctrl_c_stops_a_run_and_leaves_its_bar():
    if os.name == "nt":
        return
    shown = on_terminal(LONG_RUN, press=("model: running the loop", b"\x03"))
    line, told = (row for row in shown.rows() if row and row != "^C")
    steps = re.fullmatch(r"stopped: model: interrupted after (\d+) of 100000 steps, .* (\d+)", told)
    assert steps and int(steps[2]) == int(steps[1]) + 1
    assert re.match(r"model: running the loop \|.+\| ", line)


@pytest.mark.slow
def test_a_first_use_says_in_a_notebook_what_it_does(tmp_path, monkeypatch):
    monkeypatch.delenv("MSE_PROGRESS", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE.parent))
    cells = [nbformat.v4.new_code_cell(code) for code in (STAGE, "model = point.linearize()", "1 + 1")]
    told: list[str] = []

    class Listening(NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] == "stream":
                told.append(msg["content"]["text"])
            return super().process_message(msg, cell, cell_index)

    notebook = nbformat.v4.new_notebook(cells=cells)
    Listening(notebook, kernel_name="python3").execute()
    assert any("searching for the working point" in text and "(compiling " in text for text in told)
    screen = Screen()
    screen.write("".join(output["text"] for output in notebook.cells[0].outputs))
    (left,) = screen.rows()
    assert left.startswith("mse: compiled for this machine, once, in ")
    assert notebook.cells[2].outputs[0]["data"]["text/plain"] == "2"
