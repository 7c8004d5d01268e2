"""Models from file to result (`tvm.driver.tvmc`), also a command line: `python -m tvm.driver.tvmc`."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("driver.tvm_names.tvmc.frontends", load="load_model"),
        **renamed("driver.tvm_names.tvmc.compiler", compile="compile_model"),
        **renamed("driver.tvm_names.tvmc.runner", run="run_module"),
        **renamed("driver.tvm_names.tvmc.tuner", tune="tune_model"),
        **names("driver.tvm_names.tvmc.errors", "TVMCException TVMCImportError"),
        **names("driver.tvm_names.tvmc.model", "TVMCModel"),
        **names("driver.tvm_names.tvmc.package", "TVMCPackage"),
        **names("driver.tvm_names.tvmc.result", "TVMCResult"),
        **submodules(
            "baton.driver.tvmc",
            "autotuner compiler frontends main model pass_config pass_list result_utils runner shape_parser target "
            "transform",
        ),
    },
    before=wire,
)
