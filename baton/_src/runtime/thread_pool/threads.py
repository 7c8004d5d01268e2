"""The thread pool that parallel loops of compiled code run on.

    pool = thread_pool()          # one a process
    pool.start()                  # as many threads as physical cores, or BATON_NUM_THREADS; loading code does it once
    with pool.limited(2): ...     # calls this Python thread makes meanwhile use at most 2 threads

Workers are Python threads that stay in one foreign call (with the GIL released), so debuggers and profilers see them,
and the pool needs no thread library. Compiled code reaches the pool through `baton_parallel_for(body, closure, total,
grain)` (`pool_ir` has the protocol); without started workers it runs serially. A forked child starts with an empty pool
and can start its own.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from baton._src.runtime.linker import link, process_symbol
from baton._src.runtime.processor import physical_cores
from baton._src.runtime.thread_pool.pool_ir import pool_ir
from baton._src.runtime.thread_pool.system_ir import System
from baton._src.support.diagnostics import InternalError, fail
from baton._src.support.once import once

WORKSPACE_SYMBOLS = ("baton_workspace", "baton_workspace_end")
_FUNCTIONS = (
    *WORKSPACE_SYMBOLS,
    "baton_parallel_for",
    "baton_worker",
    "baton_pool_limit",
    "baton_pool_spin",
    "baton_pool_stop",
    "baton_pool_reset",
    "baton_pool_key",
    "baton_pool_settle",
    "baton_thread_limit",
    "baton_fault_cell",
    "baton_switch_cell",
)


class ThreadPool:
    """See the module. `num_threads` counts the caller: 2 means one worker beside it."""

    def __init__(self, system: System | None = None) -> None:
        chosen = system or System.here()
        imports: dict[str, int] = {}
        for name in chosen.imports:
            address = process_symbol(name)
            if address is None:
                raise InternalError(
                    f"the thread pool needs {name!r} of the system's libraries, which this process does not have"
                )
            imports[name] = address
        self._library = link((), _FUNCTIONS, imports, ir=pool_ir(chosen))
        self.entry: int = self._library["baton_parallel_for"]
        """Address of `baton_parallel_for`."""
        take_number = ctypes.CFUNCTYPE(None, ctypes.c_int64)
        take_nothing = ctypes.CFUNCTYPE(None)
        self._work = take_number(self._library["baton_worker"])
        self._settle = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(self._library["baton_pool_settle"])
        self._set_limit = take_number(self._library["baton_pool_limit"])
        self._set_spin = take_number(self._library["baton_pool_spin"])
        self._signal_stop = take_nothing(self._library["baton_pool_stop"])
        self._reset = take_nothing(self._library["baton_pool_reset"])
        limit_thread = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        self.limit_entry: int = self._library["baton_thread_limit"]
        """Address of `baton_thread_limit(threads) -> before`; 0 stands for the pool's limit."""
        self._limit_thread = limit_thread(self.limit_entry)
        self.cell_entry: int = self._library["baton_fault_cell"]
        """Address of `baton_fault_cell() -> words`: where faults of the current thread's calls are recorded."""
        self.switch_cell_entry: int = self._library["baton_switch_cell"]
        """Address of `baton_switch_cell(words) -> before`: the current thread's cell from then on."""
        self.workspace_entries: Mapping[str, int] = {name: self._library[name] for name in WORKSPACE_SYMBOLS}
        """Addresses of the functions that give kernels their temporary memory (`workspace_ir`)."""
        if ctypes.CFUNCTYPE(ctypes.c_int32)(self._library["baton_pool_key"])() != 0:
            raise InternalError("the C library has no thread-specific storage left for the thread pool")
        self._workers: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._limit = 1
        self._untouched = True
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.stop)

    @property
    def num_threads(self) -> int:
        """How many threads a parallel loop of this Python thread may use now, the caller among them."""
        own = self._limit_thread(0)
        self._limit_thread(own)
        return own or self._limit

    def start(self, num_threads: int | None = None) -> None:
        """Have workers for `num_threads` threads (default: `default_num_threads()`), and use that many."""
        wanted = default_num_threads() if num_threads is None else num_threads
        if wanted < 1:
            raise fail("threads-count", f"num_threads must be at least 1, got {wanted}")
        self.have(wanted)
        self._use(wanted)

    def have(self, num_threads: int) -> None:
        """Ensure that there are workers for `num_threads` threads, without changing how many may be used."""
        if num_threads <= len(self._workers) + 1:
            return
        if num_threads > most_threads():
            raise fail(
                "threads-count", f"{num_threads} threads were requested; {most_threads()} is the most", help="use fewer"
            )
        with self._lock:
            for number in range(len(self._workers) + 1, num_threads):
                worker = threading.Thread(target=self._work, args=(number,), name=f"baton-{number}", daemon=True)
                try:
                    worker.start()
                except RuntimeError as error:
                    raise fail(
                        "threads-count",
                        f"the system allows {number} threads, not the {num_threads} requested",
                        help="use fewer",
                    ) from error
                self._settle(number, worker.native_id)
                self._workers.append(worker)

    def start_once(self) -> None:
        """Start with the default number of threads, unless a number was chosen before (in this process)."""
        if self._untouched:
            self.start()

    @contextmanager
    def limited(self, num_threads: int) -> Iterator[None]:
        """Use at most `num_threads` threads within the block. The limit applies to this Python thread only."""
        wanted = max(1, num_threads)
        self.have(wanted)
        before = self._limit_thread(wanted)
        try:
            yield
        finally:
            self._limit_thread(before)

    def _use(self, num_threads: int) -> None:
        self._untouched = False
        self._limit = num_threads
        self._set_limit(num_threads)

    def set_spin(self, rounds: int) -> None:
        """How many rounds a worker spins before it sleeps (about 10 ns each)."""
        self._set_spin(rounds)

    def stop(self) -> None:
        """End the workers and wait for them; `start` brings them back."""
        with self._lock:
            self._use(1)
            self._signal_stop()
            for worker in self._workers:
                worker.join()
            self._workers.clear()
            self._reset()

    def _forget(self) -> None:
        """In a forked child there are no workers, and whatever job was running belongs to the parent."""
        self._lock = threading.Lock()
        self._workers = []
        self._limit = 1
        self._untouched = True
        self._reset()


@once
def thread_pool() -> ThreadPool:
    """The process's pool, made on first use, with no workers yet."""
    return ThreadPool()


@cache
def default_num_threads() -> int:
    """BATON_NUM_THREADS, or the number of physical cores this process may use."""
    chosen = os.environ.get("BATON_NUM_THREADS", "")
    if chosen:
        if not chosen.isdecimal() or int(chosen) < 1:
            raise fail("threads-count", f"BATON_NUM_THREADS is {chosen!r}", help="set it to a number, 1 or more")
        return int(chosen)
    return physical_cores()


@cache
def most_threads() -> int:
    """More threads than this are a mistake, which would take a minute to start, and another to end."""
    return max(1024, os.cpu_count() or 1)
