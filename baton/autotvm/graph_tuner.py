"""Tuners of whole graphs (`tvm.autotvm.graph_tuner`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {**names("driver.tvm_names.tuning.autotvm.graph_tuner", "DPTuner PBQPTuner")},
    before=wire,
)
