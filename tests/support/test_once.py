"""One object a process, whoever asks first."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from baton._src.support.once import once

_FIRST_OF_ALL = """
import sys, threading
sys.setswitchinterval(1e-6)
from baton._src.runtime.native import interrupts
from baton._src.runtime.thread_pool.threads import thread_pool
meeting, found = threading.Barrier(6), set()
def ask():
    meeting.wait()
    found.add((thread_pool(), interrupts.poll_entry()))
threads = [threading.Thread(target=ask) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found))
"""


def test_threads_that_ask_at_once_get_the_same() -> None:
    """Guards against one object for each thread that asks before the first is made."""
    meeting, found = threading.Barrier(4), []

    @once
    def made() -> object:
        time.sleep(0.02)
        return object()

    def ask() -> None:
        meeting.wait()
        found.append(made())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_threads_that_load_the_first_programs_share_a_pool() -> None:
    """Guards faults: a kernel noted its own in a pool of which the caller knew nothing, and the results were taken."""
    run = subprocess.run([sys.executable, "-c", _FIRST_OF_ALL], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"
