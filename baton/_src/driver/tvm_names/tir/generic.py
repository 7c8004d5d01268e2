"""Functions of `tvm.tir.generic` whose parameters are other ones than those of the same name in `tvm.tir`."""

from __future__ import annotations

from typing import Any

from baton._src.tir import operators


def cast(src: Any, dtype: object, span: Any = None) -> Any:
    """`src` converted to `dtype`."""
    return operators.cast(dtype, src)


def floordiv(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """`lhs // rhs`, rounded down."""
    return operators.floordiv(lhs, rhs)
