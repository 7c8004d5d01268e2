"""TVM's functions about the threads of parallel loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.support.diagnostics import fail


def config_threadpool(affinity_mode: Any, nthreads: Any, *more: Any) -> None:
    """Use `nthreads` threads from now on; 0: as many as there are cores. Error `threads-count`: fewer than that.

    `affinity_mode` says on which kind of cores, and changes nothing: the system places threads. Lists of CPUs (`more`)
    are refused.
    """
    if more:
        raise fail("api", "binding threads to listed CPUs is not supported", help="config_threadpool(1, number)")
    thread_pool().start(int(nthreads) or None)


def num_threads() -> int:
    """How many threads a parallel loop uses."""
    thread_pool().start_once()
    return thread_pool().num_threads


TABLE: Mapping[str, Callable[..., Any]] = {
    "runtime.config_threadpool": config_threadpool,
    "runtime.NumThreads": num_threads,
}
