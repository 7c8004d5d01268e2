"""Callbacks that get the results of each batch (`tvm.autotvm.callback`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.autotvm.callbacks", "log_to_file log_to_database progress_bar Monitor"),
    },
    before=wire,
)
