"""The system's clang, for LLVM IR of a script's own functions (`tvm.contrib.clang`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(__name__, names("driver.tvm_names.contrib.clang", "find_clang create_llvm"))
