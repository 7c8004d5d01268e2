"""Names that programs written by `to_python` use."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.relay.python_words",
            "constructor is_true matched new_reference no_match operator tensor write",
        ),
    },
    before=wire,
)
