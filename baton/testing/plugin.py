"""The plugin for pytest (`tvm.testing.plugin`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.testing.pytest_plugin", "pytest_configure pytest_generate_tests dev"),
    },
    before=wire,
)
