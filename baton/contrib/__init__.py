"""Contributed modules and older interfaces (`tvm.contrib`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules(
            "baton.contrib",
            "cblas cc clang debugger dlpack download graph_executor graph_runtime mkl pickle_memoize popen_pool random relay_viz sparse tar tvmjs utils",
        ),
    },
)
