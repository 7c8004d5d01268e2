"""Sixteen-bit floats in references: computed in float32, rounded once at the end, as the kernels do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


def accumulator(dtype: DataType) -> DataType:
    """The dtype sums of `dtype` are kept in."""
    return DataType("float32") if dtype.is_narrow else dtype


def wide(x: AnyArray) -> AnyArray:
    """`x` in the dtype it is computed in."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 and DataType(x.dtype).is_narrow else x


def computed_wide(function: Callable[..., npt.ArrayLike], *operands: AnyArray) -> AnyArray:
    """`function` of the operands in their computing dtype, rounded to the dtype of the first one."""
    with np.errstate(all="ignore"):
        found = np.asarray(function(*[wide(np.asarray(x)) for x in operands]))
    wanted = operands[0].dtype
    return found if found.dtype is wanted else found.astype(wanted, copy=False)
