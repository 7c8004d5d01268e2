"""Sessions on other machines (`tvm.rpc`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.remote.local_session", "LocalSession"),
        **names("driver.tvm_names.remote.session", "RPCSession TrackerSession connect connect_tracker"),
        **names("driver.tvm_names.remote.server", "Server"),
        **names("driver.tvm_names.remote.tracker", "Tracker"),
    },
    before=wire,
)
