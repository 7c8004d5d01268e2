"""Shapes, indices, tables of numbers (`tvm.topi.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.topi.shapes",
            "get_const_int get_const_float get_const_tuple prod equal_const_int simplify ravel_index unravel_index "
            "const_matrix is_empty_shape traverse_inline",
        ),
    },
    before=wire,
)
