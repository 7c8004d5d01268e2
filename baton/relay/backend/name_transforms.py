"""Transforming names for generated code (`tvm.relay.backend.name_transforms`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.relay.backend", "to_c_function_style to_c_variable_style to_c_constant_style prefix_name"
        ),
        **names("driver.tvm_names.relay.backend", "prefix_generated_name sanitize_name"),
    },
    before=wire,
)
