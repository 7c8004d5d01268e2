"""Running functions in worker processes (`tvm.contrib.popen_pool`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.contrib.popen_pool", "PopenWorker PopenPoolExecutor MapResult StatusKind"),
    },
)
