"""Information about this build (`tvm.support`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.support", "libinfo describe"),
    },
)
