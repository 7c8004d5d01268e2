"""Helpers of builders (`tvm.relax.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relax.expressions", "gen_call_tir_inputs metadata_partitioner"),
        **names("relax.own_variables", "copy_with_new_vars"),
        **renamed("relax.literals", convert_to_expr="as_expr"),
    },
    before=wire,
)
