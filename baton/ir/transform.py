"""Passes and their context (`tvm.ir.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("transform.passes", "Pass Sequential"),
        **names("transform.context", "PassContext PassInfo"),
        **names("transform.decorators", "module_pass"),
        **renamed("transform.passes", ModulePass="Pass"),
        **names("driver.tvm_names.user_passes", "PrintIR"),
        **names("driver.tvm_names.pass_on_functions", "ApplyPassToFunction"),
    },
    before=wire,
)
