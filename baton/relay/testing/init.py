"""Initial parameters of networks (`tvm.relay.testing.init`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.networks.workload", "create_workload"),
        **names("driver.tvm_names.relay.networks.initializers", "Initializer Xavier Constant"),
    },
    before=wire,
)
