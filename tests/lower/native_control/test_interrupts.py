"""Ctrl-C ends native loops: within a second, with Python's own exception, and everything works as before afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from baton._src.driver.relax_build import relax_build
from baton._src.runtime.vm import VirtualMachine
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

CHILD = """
import os, signal, sys, threading
import numpy as np
from baton._src.driver.relax_build import relax_build
from baton._src.runtime.vm import VirtualMachine
from baton._src.values.tensor import array
from tests.lower.native_control.test_interrupts import ENDLESS, INSIDE
from tests.lower.native_control.test_native_control_flow import COUNT, module

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job is started with signals ignored
limit = threading.Timer(60, os._exit, (1,))
limit.daemon = True
limit.start()
functions = {"alone": (ENDLESS,), "nested": (INSIDE, ENDLESS.replace("main", "inner"))}[sys.argv[1]]
endless = VirtualMachine(relax_build(module(*functions)))["main"]
counted = VirtualMachine(relax_build(module(COUNT)))["main"]
x = array(np.zeros(4, "float32"))
for _ in range(2):
    print("ready", flush=True)
    try:
        endless(array(np.int32(1)), x)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
print(counted(array(np.int32(1000)), x).numpy()[0], flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="sending Ctrl-C to one process alone is POSIX's")
@pytest.mark.parametrize("which", ["alone", "nested"])
def test_endless_loops_can_be_interrupted(which: str) -> None:
    """Guards the main thread, twice in a row, and a loop inside a loop; a finite one computes as ever afterwards."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, which], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        for _ in range(2):
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            start = time.monotonic()
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert time.monotonic() - start < 5  # a second, on a machine that has nothing else to do
        assert float(child.stdout.readline()) == 1000
        assert child.wait(20) == 0
    finally:
        child.kill()
        child.wait()


def test_handlers_that_do_not_raise_run_meanwhile() -> None:
    """Guards that a loop goes on, with right results, when a handler returns; and loops in other threads."""
    count = VirtualMachine(relax_build(module(COUNT)))["main"]
    seen: list[float] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(time.monotonic()))
    results: list[np.ndarray] = []
    rounds, x = array(np.int32(60_000_000)), array(np.zeros(4, "float32"))
    other = threading.Thread(target=lambda: results.append(count(rounds, x).numpy()))
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        other.start()
        timer.start()
        start = time.monotonic()
        results.append(count(rounds, x).numpy())
        end = time.monotonic()
        timer.join()
        other.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert [r.tolist() for r in results] == [[2.0**24] * 4] * 2  # where float32 stops counting
    assert len(seen) == 1
    assert seen[0] < (start + 3 * end) / 4, "only when the loop was over"
