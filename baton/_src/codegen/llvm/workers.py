"""Distribute work on many kernels over forked processes: one process runs Python, or LLVM, on one core only.

This process begins alone; work that is not done after `PATIENCE` seconds is worth distributing. Then every core gets a
child, and all of them, and this process, take tasks from one queue, which balances the load. The queue and the results
are files in memory: reading a file that several processes share advances the position for all of them atomically, and
no process has to listen while it works.

Processes are forked where that is safe (`forking`). The parent does whatever a child does not deliver, errors included.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import struct
import time
from collections.abc import Callable, Mapping

from baton._src.codegen.llvm.forking import can_fork, forked
from baton._src.support.dataclass import dataclass
from baton._src.support.processors import usable_processors
from baton._src.support.progress import report

Work = Callable[[str], bytes]

PATIENCE = 0.03
"""Seconds of its own time that this process works alone before forking, which costs a few milliseconds; on a busy
machine, time that passes says nothing about the work that is left."""
TASK = "compiling kernels"
SILENCE = 300.0
"""Seconds after which a child that does not terminate is killed."""
_TASK = struct.Struct("<I")
_HEADER = struct.Struct("<II")


def shared(sizes: Mapping[str, int], work: Work, workers: int = 0) -> dict[str, bytes]:
    """`work(key)` for every key of `sizes`, largest first. `workers` 0: as many processes as are useful."""
    tasks = sorted(sizes, key=lambda k: -sizes[k])
    count = min(workers or usable_processors(), len(tasks))
    found: dict[str, bytes] = {}
    start = time.thread_time()
    may_share = count > 1 and can_fork() and hasattr(os, "memfd_create")
    for done, key in enumerate(tasks):
        if may_share and (workers > 1 or time.thread_time() - start > PATIENCE) and len(tasks) - done > 1:
            found.update(_in_children(tasks[done:], work, min(count, len(tasks) - done)))
            break
        report(TASK, done, len(tasks))
        found[key] = work(key)
    for key in tasks:
        if key not in found:
            found[key] = work(key)
    report(TASK, len(tasks), len(tasks))
    return found


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    ended: int
    """A pipe end whose reads block until the child is gone."""
    results: int


def _in_children(tasks: list[str], work: Work, count: int) -> dict[str, bytes]:
    """`count` processes, including this one, take tasks from one queue."""
    queue = os.memfd_create("baton-tasks")
    found: dict[str, bytes] = {}
    try:
        _write(queue, b"".join(_TASK.pack(n) for n in range(len(tasks))))
        os.lseek(queue, 0, os.SEEK_SET)
        children: list[_Child] = []
        with contextlib.suppress(OSError):  # the system allows no more: those there are, and this process, do it
            for _ in range(count - 1):
                children.append(_start_child(tasks, work, queue))
        try:
            while (number := _next(queue)) is not None:
                report(TASK, number, len(tasks))
                found[tasks[number]] = work(tasks[number])
        except BaseException:  # an interruption, too: nobody asks for what the children would go on to make
            for child in children:
                os.kill(child.pid, 9)
            raise
        finally:
            for child in children:
                _wait(child)
                found.update(_results(child, tasks))
    finally:
        os.close(queue)
    return found


def _next(queue: int) -> int | None:
    record = os.read(queue, _TASK.size)
    return None if len(record) < _TASK.size else int(_TASK.unpack(record)[0])


def _start_child(tasks: list[str], work: Work, queue: int) -> _Child:
    ended, alive = os.pipe()
    results = os.memfd_create("baton-results")
    try:
        pid = forked()
    except OSError:
        for file in (ended, alive, results):
            os.close(file)
        raise
    if pid:
        os.close(alive)
        return _Child(pid, ended, results)
    status = 1
    try:
        gc.disable()  # a collection would write to, and so copy, every page with objects
        while (number := _next(queue)) is not None:
            result = work(tasks[number])
            _write(results, _HEADER.pack(number, len(result)) + result)
        status = 0
    finally:
        os._exit(status)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _wait(child: _Child) -> None:
    """Wait until the child has terminated; one that hangs is killed."""
    with selectors.DefaultSelector() as ready:
        ready.register(child.ended, selectors.EVENT_READ)
        if not ready.select(timeout=SILENCE):
            os.kill(child.pid, 9)
    os.close(child.ended)
    os.waitpid(child.pid, 0)


def _results(child: _Child, tasks: list[str]) -> dict[str, bytes]:
    """The complete results that the child delivered."""
    found: dict[str, bytes] = {}
    with os.fdopen(child.results, "rb") as file:
        file.seek(0)
        while len(header := file.read(_HEADER.size)) == _HEADER.size:
            number, length = _HEADER.unpack(header)
            content = file.read(length)
            if len(content) == length:
                found[tasks[number]] = content
    return found
