"""Ctrl-C ends native loops, with Python's own exception, and everything works as before afterwards.

The loops of the children have no end, so whatever a child says after a signal was said in the midst of one. A child
that is not interrupted ends itself: then nothing more is read of it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from tests.lower.native_control.test_native_control_flow import COUNT, module

ENDLESS = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        r = M.main(i, R.add(x, R.const(1.0, "float32")))
    return r
"""
INSIDE = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        y = M.inner(i, x)
        r = M.main(i, R.add(y, x))
    return r
"""
COLLECTING = """
def collect(
    i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32"), rows: R.Tensor(("n", 4), "float32")
) -> R.Tensor((4,), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        y = M.inner(i, x)
        r = M.collect(i, y, R.concat((rows, R.expand_dims(y, [0])), axis=0))
    return r
"""
COLLECTS = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return M.collect(i, x, R.zeros((0, 4), "float32"))
"""
SLIDING = """
def slide(
    i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32"), last: R.Tensor(("n",), "float32")
) -> R.Tensor((4,), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        r = M.slide(i, x, R.strided_slice(R.concat((last, x), axis=0), axes=[0], begin=[0], end=[6]))
    return r
"""
SLIDES = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return M.slide(i, x, R.zeros((0,), "float32"))
"""

CHILD = """
import os, signal, sys, threading
import numpy as np
from baton._src.driver.relax.build import relax_build
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from tests.lower.native_control.test_interrupts import COLLECTING, COLLECTS, ENDLESS, INSIDE, SLIDES, SLIDING
from tests.lower.native_control.test_native_control_flow import COUNT, module

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job is started with signals ignored
limit = threading.Timer(300, os._exit, (1,))
limit.daemon = True
limit.start()
inner = ENDLESS.replace("main", "inner")
others = {"nested": (INSIDE, inner), "collecting": (COLLECTS, COLLECTING, inner), "sliding": (SLIDES, SLIDING)}
functions = others.get(sys.argv[1], (ENDLESS,))
heard = []


def listen(number, frame):
    heard.append(number)
    print("heard", flush=True)
    if len(heard) % 2 == 0:
        raise KeyboardInterrupt


if sys.argv[1] == "listening":
    signal.signal(signal.SIGINT, listen)
endless = VirtualMachine(relax_build(module(*functions)))["main"]
counted = VirtualMachine(relax_build(module(COUNT)))["main"]
x = array(np.zeros(4, "float32"))
for _ in range(2):
    try:
        print("ready", flush=True)
        endless(array(np.int32(1)), x)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
print(counted(array(np.int32(1000)), x).numpy()[0], flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="sending Ctrl-C to one process alone is POSIX's")
@pytest.mark.parametrize("which", ["alone", "nested", "collecting", "sliding", "listening"])
def test_endless_loops_can_be_interrupted(which: str) -> None:
    """Guards the main thread, twice, a loop inside a loop, which may collect, and one that changes sizes; a finite one
    works afterwards.

    `listening`: a handler that returns runs meanwhile and the loop goes on; when it raises, the loop ends.
    """
    child = subprocess.Popen([sys.executable, "-c", CHILD, which], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        for _ in range(2):
            assert child.stdout.readline() == "ready\n"
            for _ in range(1 + (which == "listening")):
                time.sleep(0.3)  # so that it is (most likely) inside the loop; the same holds before it
                child.send_signal(signal.SIGINT)
                if which == "listening":
                    assert child.stdout.readline() == "heard\n"
            assert child.stdout.readline() == "interrupted\n"
        assert float(child.stdout.readline()) == 1000
        assert child.wait() == 0
    finally:
        child.kill()
        child.wait()


def test_handlers_that_do_not_raise_change_no_results() -> None:
    """Guards loops in the main thread and in others while a signal is handled."""
    count = VirtualMachine(relax_build(module(COUNT)))["main"]
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    results: list[np.ndarray] = []
    rounds, x = array(np.int32(60_000_000)), array(np.zeros(4, "float32"))
    other = threading.Thread(target=lambda: results.append(count(rounds, x).numpy()))
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        other.start()
        timer.start()
        results.append(count(rounds, x).numpy())
        timer.join()
        other.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert [r.tolist() for r in results] == [[2.0**24] * 4] * 2  # where float32 stops counting
    assert seen == [signal.SIGINT]
