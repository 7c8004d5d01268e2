"""Schedules (`tvm.topi.x86`): those of `topi.generic`, as rules for the target choose the loops."""

from __future__ import annotations

from baton._src.driver.tvm_names.topi.schedules import schedule_functions
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, {}, before=wire, more=schedule_functions)
