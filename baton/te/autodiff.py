"""Automatic differentiation of tensor expressions (`tvm.te.autodiff`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(__name__, names("te.gradient", "gradient"), before=wire)
