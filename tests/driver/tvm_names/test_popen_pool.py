"""`tvm.contrib.popen_pool`: functions in processes that may fail, hang and die."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from baton.contrib.popen_pool import PopenPoolExecutor, PopenWorker, StatusKind


def work(x: int) -> int:
    """Square; what hurts for some numbers."""
    if x == 1:
        raise ValueError("one")
    if x == 2:
        os._exit(3)
    if x == 3:
        time.sleep(60)
    print("printed", x)
    return x * x


def test_a_worker_and_its_ends() -> None:
    """Results, exceptions, crashes and timeouts; the worker goes on after each."""
    worker = PopenWorker(stderr=subprocess.DEVNULL)
    worker.send(work, (5,))
    assert worker.recv() == 25
    worker.send(work, (1,))
    with pytest.raises(ValueError, match="one"):
        worker.recv()
    worker.send(work, (2,))
    with pytest.raises(ChildProcessError):
        worker.recv()
    worker.send(work, (3,), timeout=1.5)
    with pytest.raises(TimeoutError):
        worker.recv()
    worker.kill()
    assert not worker.is_alive()


SCRIPT = """
import tvm
from tvm.contrib.popen_pool import PopenPoolExecutor

started = []

def begin(value):
    started.append(value)

def double(x):
    return started[0] * x

if __name__ == "__main__":
    pool = PopenPoolExecutor(max_workers=1, initializer=begin, initargs=(2,))
    print([r.value for r in pool.map_with_error_catching(double, range(3))])
"""


def test_functions_of_scripts(tmp_path: Path) -> None:
    """A script's own functions and initializer, under the alias."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "baton.alias", str(path)], capture_output=True, text=True, check=False)
    assert done.stdout == "[0, 2, 4]\n", done.stderr


def test_errors_are_results() -> None:
    """The pool maps on."""
    found = list(PopenPoolExecutor(max_workers=1, stderr=subprocess.DEVNULL).map_with_error_catching(work, [1, 4]))
    assert [r.status for r in found] == [StatusKind.EXCEPTION, StatusKind.COMPLETE]
