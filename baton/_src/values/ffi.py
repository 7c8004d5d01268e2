"""Access to `apache-tvm-ffi`, which is loaded when first needed.

The package imports PyTorch when it finds it (seconds, and a second thread pool); nothing here needs that, so PyTorch is
hidden while the package is imported, unless the program has loaded it already.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType
from typing import Any


@cache
def tvm_ffi() -> ModuleType:
    """The package `tvm_ffi`."""
    hide = "torch" not in sys.modules
    if hide:
        sys.modules["torch"] = None  # type: ignore[assignment]  # what imports take as "there is no such module"
    try:
        import tvm_ffi as package
    finally:
        if hide:
            del sys.modules["torch"]
    found: ModuleType = package
    return found


def loaded() -> ModuleType | None:
    """The package, if anything has loaded it; otherwise no value can be one of its objects."""
    return sys.modules.get("tvm_ffi")


def is_function(value: object) -> bool:
    """Whether `value` is a packed function of the package."""
    package: Any = loaded()
    return package is not None and isinstance(value, package.Function)
