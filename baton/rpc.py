"""RPC sessions (`tvm.rpc`); the only one is the local process."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.local_session", "LocalSession"),
    },
    before=wire,
)
