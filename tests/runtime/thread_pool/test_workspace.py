"""Guards `workspace_ir`: blocks do not overlap, memory is reused, large blocks are not kept, threads do not meet."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import NamedTuple

import pytest

from baton._src.runtime.linker import process_symbol
from baton._src.runtime.thread_pool.threads import ThreadPool
from baton._src.runtime.thread_pool.workspace_ir import LARGEST

MB = 1 << 20


class Workspace(NamedTuple):
    """The two entries of a pool, as functions of addresses."""

    take: Callable[[int], int | None]
    give: Callable[[int | None], None]


@pytest.fixture
def workspace() -> Workspace:
    """Of a pool of its own, so that nothing has been taken before."""
    pool = ThreadPool()
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(pool.workspace_entries["baton_workspace"])
    give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(pool.workspace_entries["baton_workspace_end"])
    take.pool = pool  # type: ignore[attr-defined]  # the code lives as long as its pool
    return Workspace(take, give)


def _round(workspace: Workspace, sizes: list[int]) -> list[int]:
    """Take blocks, write all of each, look that none has lost what was written, give them back."""
    blocks: list[int] = []
    for number, size in enumerate(sizes):
        block = workspace.take(size)
        assert block is not None
        ctypes.memset(block, number + 1, size)
        blocks.append(block)
    for number, (block, size) in enumerate(zip(blocks, sizes)):
        assert ctypes.string_at(block, size) == bytes([number + 1]) * size
    for block in reversed(blocks):
        workspace.give(block)
    return blocks


def test_one_piece_of_memory_for_blocks_that_live_together(workspace: Workspace) -> None:
    """Guards that what did not fit at first lies in the stack afterwards, at the same places in every round."""
    sizes = [3 * MB, 100, MB, 5 * MB]
    for _ in range(len(sizes)):
        _round(workspace, sizes)
    settled = _round(workspace, sizes)
    assert settled == _round(workspace, sizes)
    assert [b - settled[0] for b in settled] == [0, 3 * MB, 3 * MB + 128, 4 * MB + 128]


def test_smaller_blocks_take_what_is_there(workspace: Workspace) -> None:
    """Guards that memory stays when little of it is needed."""
    (large,) = _round(workspace, [8 * MB])
    assert _round(workspace, [1000, 2000]) == [large, large + 1024]
    assert _round(workspace, [8 * MB]) == [large]


def test_blocks_of_no_bytes(workspace: Workspace) -> None:
    """Guards zero-size buffers: a block before and behind them keeps what it holds."""
    _round(workspace, [0, 64, 0, 64, 0])
    _round(workspace, [64, 0, 0, 128])


def test_too_large_to_keep(workspace: Workspace) -> None:
    """Guards that blocks beyond the limit come from the system and leave the stack alone."""
    (kept,) = _round(workspace, [MB])
    assert kept not in _round(workspace, [LARGEST + 1])
    _round(workspace, [LARGEST, LARGEST])
    _round(workspace, [LARGEST - 10, 2 * LARGEST, 50])


@pytest.mark.parametrize("size", [1 << 62, (1 << 64) - 1, (1 << 64) - 64])
def test_no_memory(workspace: Workspace, size: int) -> None:
    """Guards sizes that no memory holds, negative ones among them: null, and the stack goes on."""
    assert workspace.take(size) is None
    _round(workspace, [1000, 10])


def test_threads_have_their_own(workspace: Workspace) -> None:
    """Guards that blocks of threads do not meet, and that a thread's end does not take another's memory."""
    (own,) = _round(workspace, [MB])
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                _round(workspace, [MB, 2 * MB, 64])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    held = workspace.take(MB)
    assert held == own
    ctypes.memset(held, 99, MB)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert ctypes.string_at(held, MB) == b"c" * MB
    workspace.give(held)


def test_blocks_of_the_system_may_be_given_back(workspace: Workspace) -> None:
    """Guards the end of a block that is not the stack's, in a thread that has none."""
    address = process_symbol("malloc")
    assert address is not None
    workspace.give(ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(address)(100))
