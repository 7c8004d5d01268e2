"""Tools for passes over Relax (`tvm.relax.ir`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(__name__, submodules("baton.relax.ir", "instrument"))
