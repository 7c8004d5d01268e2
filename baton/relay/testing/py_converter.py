"""Converting Relay programs to Python (`tvm.relay.testing.py_converter`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.to_python", "to_python run_as_python"),
    },
    before=wire,
)
