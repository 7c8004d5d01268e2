"""The results of `relay.build` (`tvm.relay.backend.executor_factory`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("driver.relay.build", ExecutorFactoryModule="GraphExecutorFactory"),
        **renamed("driver.relay.build", GraphExecutorFactoryModule="GraphExecutorFactory"),
    },
    before=wire,
)
