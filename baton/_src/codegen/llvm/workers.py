"""Compile many kernels: LLVM in one process works on one module at a time, so forked processes share the work.

Forking is worth it only for big jobs, and is done where it is safe: on systems that fork, with LLVM's lock held
meanwhile (so that no child inherits it taken by a thread it does not have). Whatever a child does not deliver, the
parent compiles itself.
"""

from __future__ import annotations

import os
import selectors
import struct
import sys
from collections.abc import Mapping

from llvmlite.binding import ffi

from baton._src.codegen.llvm.jit import Machine, compile_text, target_machine

FORK_ABOVE = 300_000
"""Characters of IR: below, one process is done before others would have started."""
_HEADER = struct.Struct("<II")


def compile_all(texts: Mapping[str, str], machine: Machine, workers: int = 0) -> dict[str, bytes]:
    """Object code by key."""
    count = workers or _cores()
    size = sum(len(t) for t in texts.values())
    found: dict[str, bytes] = {}
    if count > 1 and len(texts) > 1 and (size > FORK_ABOVE or workers > 1) and _can_fork():
        target_machine(machine)
        found = _in_children(texts, machine, min(count, len(texts)))
    for key, text in texts.items():
        if key not in found:
            found[key] = compile_text(text, machine)
    return found


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _can_fork() -> bool:
    return hasattr(os, "fork") and sys.platform.startswith("linux")


def _in_children(texts: Mapping[str, str], machine: Machine, count: int) -> dict[str, bytes]:
    """Shares of about equal size, the first for this process."""
    shares: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for key in sorted(texts, key=lambda k: -len(texts[k])):
        smallest = sizes.index(min(sizes))
        shares[smallest].append(key)
        sizes[smallest] += len(texts[key])
    children = [_start_child(texts, share, machine) for share in shares[1:]]
    found = {key: compile_text(texts[key], machine) for key in shares[0]}
    for pid, reader, share in children:
        found.update(_receive(pid, reader, share))
    return found


def _start_child(texts: Mapping[str, str], share: list[str], machine: Machine) -> tuple[int, int, list[str]]:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with ffi.lib._lock:
        pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader, share
    status = 1
    try:
        os.close(reader)
        for place, key in enumerate(share):
            code = compile_text(texts[key], machine)
            _send(writer, _HEADER.pack(place, len(code)) + code)
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
