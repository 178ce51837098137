"""Ctrl-C while something is done that must come to its end."""

from __future__ import annotations

import signal
import threading

import numba
import numpy as np
import pytest
from numba.core import event

import mse
from mse.progress.interrupts import Uninterrupted
from mse.progress.tasks import Compiling, Task


@pytest.fixture(autouse=True)
def as_in_a_console():
    """Jobs that a shell runs in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Pressing(event.Listener):
    """Ctrl-C as soon as numba is within a function: there an exception may be lost."""

    pressed = 0

    def on_start(self, event):
        self.pressed += 1
        signal.raise_signal(signal.SIGINT)

    def on_end(self, event): ...


def test_an_interrupt_counts_at_the_end_of_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        signal.raise_signal(signal.SIGINT)
        done.append("to its end")
    assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with Uninterrupted():
        done.append("without one")
    assert len(done) == 2


def test_an_error_of_the_block_comes_along():
    with pytest.raises(KeyboardInterrupt) as stopped, Uninterrupted():
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError
    assert isinstance(stopped.value.__context__, ZeroDivisionError)


def test_where_interrupts_are_ignored_they_still_are():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Uninterrupted():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_are_left_alone():
    failed = []

    def work():
        try:
            with Uninterrupted():
                failed.append(signal.getsignal(signal.SIGINT) is not signal.default_int_handler)
        except ValueError:
            failed.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed == [False]


def test_compiling_comes_to_its_end():
    passed = []
    with pytest.raises(KeyboardInterrupt), mse.show_progress(False), Task("stage", "searching"):
        with Compiling("beams", "kept"):
            signal.raise_signal(signal.SIGINT)
            passed.append("compiled")
        passed.append("went on")
    assert passed == ["compiled"]


def test_a_controller_is_compiled_before_its_run_is_interrupted():
    @numba.njit
    def push(outputs, inputs, memory, time):
        inputs[0] = -0.3 * outputs[0]

    model = mse.LinearModel.from_matrices(np.eye(1), None, np.eye(1), coordinates=["a.x"])
    loop, pressing = model.step_loop(dt=0.1, initial={"a.x": 1.0}), Pressing()
    with event.install_listener("numba:compile", pressing), pytest.raises(mse.Interrupted) as stopped:
        loop.run(10, controller=push)
    assert pressing.pressed and len(push.overloads) == 1
    assert len(stopped.value.result.time) == 1 and loop.time == 0.0
    assert len(loop.run(10, controller=push).time) == 11


def test_an_interrupt_while_a_compiled_loop_takes_its_controller_is_not_lost(monkeypatch):
    from numba.experimental import function_type

    @numba.njit
    def idle(outputs, inputs, memory, time):
        memory[0] = time

    model = mse.LinearModel.from_matrices(np.eye(1), None, np.eye(1), coordinates=["mass.x"])
    loop = model.step_loop(dt=0.01)
    loop.run(5, controller=idle, memory=[1.0])
    address, asked = function_type._get_wrapper_address, []

    def pressing(*arguments):
        asked.append(len(arguments))
        signal.raise_signal(signal.SIGINT)
        return address(*arguments)

    monkeypatch.setattr(function_type, "_get_wrapper_address", pressing)
    with pytest.raises(mse.Interrupted) as stopped:
        loop.run(5000, controller=idle, memory=[1.0])
    assert len(asked) == 1 and 0 < len(stopped.value.result.time) - 1 < 5000
