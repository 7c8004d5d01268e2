"""Share work on many kernels between forked processes: Python and LLVM both do one thing at a time in one process.

Forking is worth it only for big jobs, and is done where it is safe: on systems that fork, with LLVM's lock held
meanwhile (so that no child inherits it taken by a thread it does not have). Whatever a child does not deliver, the
parent does itself, errors included.
"""

from __future__ import annotations

import os
import selectors
import struct
import sys
import warnings
from collections.abc import Callable, Mapping

from llvmlite.binding import ffi

from baton._src.codegen.llvm.jit import Machine, compile_text, target_machine

FORK_ABOVE = 300_000
"""Characters of IR: below, one process is done before others would have started."""
_HEADER = struct.Struct("<II")


def compile_all(texts: Mapping[str, str], machine: Machine, workers: int = 0) -> dict[str, bytes]:
    """Object code by key."""
    target_machine(machine)
    sizes = {key: len(text) for key, text in texts.items()}
    return shared(sizes, lambda key: compile_text(texts[key], machine), FORK_ABOVE, workers)


def shared(
    sizes: Mapping[str, int], work: Callable[[str], bytes], worthwhile: int, workers: int = 0
) -> dict[str, bytes]:
    """`work(key)` for every key of `sizes` (how much each is), in several processes if all together is `worthwhile`."""
    count = min(workers or _cores(), len(sizes))
    found: dict[str, bytes] = {}
    if count > 1 and (sum(sizes.values()) > worthwhile or workers > 1) and _can_fork():
        found = _in_children(sizes, work, count)
    for key in sizes:
        if key not in found:
            found[key] = work(key)
    return found


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _can_fork() -> bool:
    return hasattr(os, "fork") and sys.platform.startswith("linux")


def _in_children(sizes: Mapping[str, int], work: Callable[[str], bytes], count: int) -> dict[str, bytes]:
    """Shares of about equal size, the first for this process."""
    shares: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for key in sorted(sizes, key=lambda k: -sizes[k]):
        smallest = loads.index(min(loads))
        shares[smallest].append(key)
        loads[smallest] += sizes[key]
    children = [_start_child(share, work) for share in shares[1:]]
    found: dict[str, bytes] = {}
    try:
        found.update((key, work(key)) for key in shares[0])
    finally:
        for pid, reader, share in children:
            found.update(_receive(pid, reader, share))
    return found


def _start_child(share: list[str], work: Callable[[str], bytes]) -> tuple[int, int, list[str]]:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with ffi.lib._lock, warnings.catch_warnings():
        # Python warns of forking beside threads; the child only computes, and never touches the thread pool.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader, share
    status = 1
    try:
        os.close(reader)
        for place, key in enumerate(share):
            result = work(key)
            _send(writer, _HEADER.pack(place, len(result)) + result)
        status = 0
    finally:
        os._exit(status)


def _send(writer: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view) :]


def _receive(pid: int, reader: int, share: list[str]) -> dict[str, bytes]:
    """What the child delivers until it closes its end; a silent child is given up after a while."""
    buffer = bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(reader, selectors.EVENT_READ)
        while ready.select(timeout=120):
            part = os.read(reader, 1 << 20)
            if not part:
                break
            buffer += part
        else:
            os.kill(pid, 9)
    os.close(reader)
    os.waitpid(pid, 0)
    found: dict[str, bytes] = {}
    position = 0
    while position + _HEADER.size <= len(buffer):
        place, length = _HEADER.unpack_from(buffer, position)
        position += _HEADER.size
        if position + length > len(buffer):
            break
        found[share[place]] = bytes(buffer[position : position + length])
        position += length
    return found
