"""Functions whose results are remembered (`tvm.contrib.pickle_memoize`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(__name__, {**names("driver.tvm_names.contrib.memoize", "memoize")})
