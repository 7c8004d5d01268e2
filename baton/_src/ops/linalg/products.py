"""The type rules and kernels of matrix products: `matmul`, `nn.matmul`, `nn.dense`, `nn.batch_matmul` share them.

`matmul(a, b)`: the last two axes multiply, the others broadcast; a vector on the left is a row, on the right a
column, and its axis vanishes from the result. Products of 16-bit floats are summed in float32; of 8-bit integers in
the result's dtype.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import broadcast_shapes, same_dtype, same_vdevice
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.precision import accumulator
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


def product_dtype(call: OpCall[Attrs], a: TensorInfo, b: TensorInfo, out_dtype: object) -> DataType:
    """`out_dtype`, or the dtype of the operands (which must agree unless a result dtype is given)."""
    wanted = DataType(out_dtype or VOID)
    if not wanted.is_void:
        return wanted
    return same_dtype(call, (a, b))


def matmul_info(
    call: OpCall[Attrs],
    a: TensorInfo,
    b: TensorInfo,
    transposed: tuple[bool, bool] = (False, False),
    out_dtype: object = "",
) -> TensorInfo:
    """The result of a matrix product over the last two axes, which `transposed` swaps first, of either operand."""
    dtype = product_dtype(call, a, b, out_dtype)
    device = same_vdevice(call, (a, b))
    if a.ndim == 0 or b.ndim == 0:
        call.fail("takes operands of rank 1 or more, got a scalar", help="use multiply")
    if a.ndim < 0 or b.ndim < 0:
        return TensorInfo(None, dtype, -1, device)
    row, column = a.ndim == 1, b.ndim == 1
    rank = max(a.ndim, b.ndim, 2) - row - column
    if a.shape is None or b.shape is None:
        return TensorInfo(None if rank else (), dtype, rank, device)
    left = _swapped((1, *a.shape) if row else a.shape, transposed[0] and not row)
    right = _swapped((*b.shape, 1) if column else b.shape, transposed[1] and not column)
    check_inner(call, (left[-1], right[-2]), a, b, transposed)
    batch = broadcast_shapes(call, left[:-2], right[:-2])
    if batch is None:
        return TensorInfo(None, dtype, rank, device)
    tail = (() if row else (left[-2],)) + (() if column else (right[-1],))
    return TensorInfo((*batch, *tail), dtype, vdevice=device)


def check_inner(
    call: OpCall[Attrs], inner: tuple[Dim, Dim], a: TensorInfo, b: TensorInfo, transposed: tuple[bool, bool]
) -> None:
    """The axis that is summed over must have one extent."""
    math = DimMath(call.prover)
    if math.equal(*inner) is False:
        swapped = b.ndim > 1 and math.equal(inner[0], right_dim(b, not transposed[1])) is True
        places = ("last", "second to last")
        call.fail(
            f"the axes that are summed over differ: {inner[0]} against {inner[1]}, "
            f"in shapes {show_shape(a.shape)} and {show_shape(b.shape)}",
            help=f"the {places[transposed[0]]} axis of the left operand must equal the {places[not transposed[1]]} "
            f"axis of the right one{'; the right one transposed would fit' if swapped else ''}",
        )


def right_dim(b: TensorInfo, transposed: bool) -> Dim:
    """The extent of the axis of a right operand of rank 2 or more that is summed over."""
    assert b.shape is not None
    return b.shape[-1 if transposed else -2]


def _swapped(shape: tuple[Dim, ...], swap: bool) -> tuple[Dim, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if swap else shape


def product_compute(
    a: k.Tensor,
    b: k.Tensor,
    out: k.Result,
    transposed: tuple[bool, bool] = (False, False),
    name: str = "matmul",
    axes: Sequence[str] | None = None,
) -> k.Tensor:
    """`out[..., i, j] = sum over k of a[..., i, k] * b[..., k, j]`, one reduction; rounded afterwards where it is
    narrow.
    """
    row, column = a.ndim == 1, b.ndim == 1
    inner = a.shape[0] if row else a.shape[-2] if transposed[0] else a.shape[-1]
    axis = k.reduce_axis(inner, "k")
    kept = accumulator(out.dtype)
    batch_rank = len(out.shape) - (not row) - (not column)

    def body(*indices: k.Scalar) -> k.Scalar:
        batch = list(indices[:batch_rank])
        tail = list(indices[batch_rank:])
        i = [] if row else [tail.pop(0)]
        j = [] if column else [tail.pop(0)]
        left = [axis.var] if row else [*i, axis.var] if not transposed[0] else [axis.var, *i]
        right = [axis.var] if column else [axis.var, *j] if not transposed[1] else [*j, axis.var]
        x = a(*_batch(a, batch, row), *left)
        y = b(*_batch(b, batch, column), *right)
        return k.reduce_sum(k.cast(kept, x) * k.cast(kept, y), [axis])

    found = k.compute(out.shape, body, name, axes=axes)
    return rounded(found, out.dtype)


def rounded(x: k.Tensor, dtype: DataType) -> k.Tensor:
    """`x` as `dtype`, a stage of its own where that differs."""
    if x.dtype == dtype:
        return x
    return k.compute(x.shape, lambda *i: k.cast(dtype, x(*i)), f"{x.name}_cast")


def _batch(x: k.Tensor, batch: k.Indices, is_vector: bool) -> list[k.Scalar]:
    """The indices of the batch axes of `x`."""
    own = 0 if is_vector else x.ndim - 2
    taken = batch[len(batch) - own :]
    return [k.index(0) if k.is_one(d) else i for d, i in zip(x.shape[:own], taken)]


def product_reference(
    a: AnyArray, b: AnyArray, dtype: DataType, transposed: tuple[bool, bool] = (False, False)
) -> AnyArray:
    """The product over NumPy, summed in the computing dtype, rounded once."""
    kept = accumulator(dtype).numpy
    left, right = a.astype(kept), b.astype(kept)
    if transposed[0] and left.ndim > 1:
        left = np.swapaxes(left, -1, -2)
    if transposed[1] and right.ndim > 1:
        right = np.swapaxes(right, -1, -2)
    return np.asarray(np.matmul(left, right)).astype(dtype.numpy)


def result_dtype(a: AnyArray, out_dtype: object) -> DataType:
    """The dtype of a product of arrays."""
    wanted = DataType(out_dtype or VOID)
    return DataType(a.dtype) if wanted.is_void else wanted
