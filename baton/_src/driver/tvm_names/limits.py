"""The limits of dtypes as scalar expressions: `te.max_value`, `tir.min_value`, `tir.infinity`."""

from __future__ import annotations

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.tir.operators import const
from baton._src.values.dtype import DataType


def max_value(dtype: str) -> PrimExpr:
    """The largest finite value of a dtype."""
    return _limit(dtype, -1)


def min_value(dtype: str) -> PrimExpr:
    """The smallest finite value of a dtype."""
    return _limit(dtype, 0)


def infinity(dtype: str) -> PrimExpr:
    """Infinity, for floating-point dtypes."""
    return const(float("inf"), dtype)


def _limit(dtype: str, side: int) -> PrimExpr:
    kind = DataType(dtype).numpy
    if np.issubdtype(kind, np.integer):
        integers = np.iinfo(kind)
        return const((int(integers.min), int(integers.max))[side], dtype)
    floats = np.finfo(kind)
    return const((float(floats.min), float(floats.max))[side], dtype)
