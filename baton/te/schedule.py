"""Schedules of tensor expressions (`tvm.te.schedule`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("te.schedule", "create_schedule Schedule"),
        **names("te.stage", "Stage"),
        **names("te.stage_facts", "Split Fuse"),
        **renamed(
            "te.auto_inline",
            AutoInlineElemWise="auto_inline_elem_wise",
            AutoInlineBroadcast="auto_inline_broadcast",
            AutoInlineInjective="auto_inline_injective",
        ),
    },
    before=wire,
)
