"""Names and global variables that are unique (`tvm.ir.supply`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.supply", "GlobalVarSupply NameSupply"),
    },
    before=wire,
)
