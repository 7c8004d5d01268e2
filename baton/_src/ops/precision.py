"""Sixteen-bit floats in references: computed in float32, rounded once at the end, as the kernels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


def is_narrow(dtype: DataType) -> bool:
    """A floating type too small to compute in: float16, bfloat16, float8."""
    return dtype.is_float and dtype.bits < 32


def accumulator(dtype: DataType) -> DataType:
    """The dtype sums of `dtype` are kept in."""
    return DataType("float32") if is_narrow(dtype) else dtype


def wide(x: AnyArray) -> AnyArray:
    """`x` in the dtype it is computed in."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 and is_narrow(DataType(x.dtype)) else x


def computed_wide(function: Callable[..., Any], *operands: AnyArray) -> AnyArray:
    """`function` of the operands in their computing dtype, rounded to the dtype of the first one."""
    with np.errstate(all="ignore"):
        found = np.asarray(function(*[wide(np.asarray(x)) for x in operands]))
    wanted = operands[0].dtype
    return found if found.dtype is wanted else found.astype(wanted, copy=False)
