"""What means over axes and windows have in common: the dtype of their sums, and elements that have no mean."""

from __future__ import annotations

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.precision import accumulator
from baton._src.values.dtype import DataType


def summing_dtype(dtype: DataType) -> DataType:
    """The dtype that elements of `dtype` are summed in before they are divided.

    Integers are summed in 64 bits: their mean lies in the range of their dtype, their sum may not.
    """
    return DataType("int64") if dtype.is_int and dtype.bits < 64 else accumulator(dtype)


def refuse_bools(call: OpCall[Attrs], x: TensorInfo) -> None:
    """There is no mean of bools (`op-dtype`)."""
    if x.dtype.is_bool:
        call.fail("takes numbers, got bool", code="op-dtype", help='astype(x, "float32") first')
