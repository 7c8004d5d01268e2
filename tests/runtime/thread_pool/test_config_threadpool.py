"""`runtime.config_threadpool`, as scripts that measure on a certain number of threads call it."""

from __future__ import annotations

import pytest

import baton as tvm
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.support.diagnostics import DiagnosticError


def test_the_number_of_threads_is_set() -> None:
    before = thread_pool().num_threads
    configure = tvm.get_global_func("runtime.config_threadpool")
    try:
        configure(1, 2)
        assert tvm.get_global_func("runtime.NumThreads")() == 2
        configure(-1, 1)
        assert thread_pool().num_threads == 1
        with pytest.raises(DiagnosticError, match="at least 1, got -3"):
            configure(1, -3)
        with pytest.raises(DiagnosticError, match="listed CPUs"):
            configure(-2, 1, 1, ["0"])
    finally:
        thread_pool().start(before)
