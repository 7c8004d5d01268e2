"""`tvm.tir.generic.cast`: the operand first."""

from __future__ import annotations

from typing import Any

from baton._src.tir import operators


def cast(src: Any, dtype: object, span: Any = None) -> Any:
    """`src` converted to `dtype`."""
    return operators.cast(dtype, src)
