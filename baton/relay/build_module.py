"""Building Relay (`tvm.relay.build_module`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.relay.build", "build build_config optimize"),
        **names("driver.relay.build_module", "BuildModule"),
        **names("driver.tvm_names.relay.backend", "get_executor_from_target"),
        **names("passes.relay.bind_params", "bind_params_by_name"),
        **names("driver.relay.executors", "create_executor GraphExecutor AotExecutor"),
    },
    before=wire,
)
