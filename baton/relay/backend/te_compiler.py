"""The cache of lowered functions, which is always empty (`tvm.relay.backend.te_compiler`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {**names("driver.tvm_names.relay.te_compiler", "TECompiler get")},
    before=wire,
)
