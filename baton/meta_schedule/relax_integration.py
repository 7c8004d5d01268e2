"""Tuning Relax programs (`tvm.meta_schedule.relax_integration`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.relax_integration", "extract_tasks tune_relax compile_relax"),
        **names("driver.tvm_names.tuning.meta_schedule.extracted", "extracted_tasks_to_tune_contexts"),
    },
    before=wire,
)
