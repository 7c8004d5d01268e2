"""Natural numbers (`tvm.relay.testing.nat`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.testing", "add_nat_definitions make_nat_expr make_nat_value count"),
    },
    before=wire,
)
