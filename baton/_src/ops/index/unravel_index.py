"""unravel_index: positions in a tensor, counted row by row, as coordinates.

    unravel_index(23, (2, 3, 4))   ->   (1, 2, 3)

Positions beyond the last element are errors. Source: facts relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import as_dim, show_shape
from baton._src.ops.index.take import indices_info
from baton._src.ops.operand_checks import check_integers
from baton._src.ops.row_major import split_index
from baton._src.ops.samples import Arr, Sample


def infer(call: OpCall[Attrs]) -> Info:
    """A row for each axis of the shape."""
    at, shape = indices_info(call, 0), call.tensor(1)
    check_integers(call, 1)
    if at.shape is None or shape.shape is None:
        return TensorInfo(None, at.dtype, at.ndim + 1 if at.ndim >= 0 else -1, at.vdevice)
    if len(shape.shape) != 1:
        call.fail(f"the shape must be a tensor of rank 1, got {show_shape(shape.shape)}")
    if shape.shape[0] == 0:
        call.fail("the shape must have elements: nothing has a position in a scalar")
    return TensorInfo((shape.shape[0], *at.shape), at.dtype, vdevice=at.vdevice)


_BEYOND = "position {0} is out of range for a shape of {1} elements"


def compute(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """Remainders of quotients."""
    at, shape = inputs
    count = as_dim(out.shape[0])
    if not isinstance(count, int):
        return _unravel_unknown_rank(at, shape, out)

    extents = [k.index(shape(k.index(n))) for n in range(count)]
    total = reduce(k.tir.Mul, extents, k.index(1))

    def body(row: k.Scalar, *i: k.Scalar) -> k.Scalar:
        parts = split_index(k.within(k.index(at(*i)), total, _BEYOND), extents)
        return reduce(
            lambda rest, n: k.select(k.tir.EQ(row, k.index(n)), k.cast(out.dtype, parts[n]), rest),
            range(count - 1),
            k.cast(out.dtype, parts[-1]),
        )

    return k.compute(out.shape, body, "unravel_index")


def _unravel_unknown_rank(at: k.Tensor, shape: k.Tensor, out: k.Result) -> k.Tensor:
    """A row's quotient is by the product of the extents behind it."""
    one = k.index(1)

    def product(row: k.Scalar) -> k.Scalar:
        axis = k.reduce_axis(out.shape[0])
        return k.reduce_product(k.if_then_else(k.tir.GT(axis.var, row), k.index(shape(axis.var)), one), [axis])

    behind = k.compute(out.shape[:1], product, "behind")
    axis = k.reduce_axis(out.shape[0])
    total = k.compute((), lambda: k.reduce_product(k.index(shape(axis.var)), [axis]), "total")

    def body(row: k.Scalar, *i: k.Scalar) -> k.Scalar:
        position = k.within(k.index(at(*i)), total(), _BEYOND)
        return k.cast(out.dtype, position // behind(row) % k.index(shape(row)))

    return k.compute(out.shape, body, "unravel_index")


UNRAVEL_INDEX: Definition = OpDef(
    "unravel_index",
    inputs=(Input("indices"), Input("shape", "a tensor of rank 1")),
    infer=infer,
    compute=compute,
    reference=lambda inputs, a: np.stack(np.unravel_index(inputs[0], tuple(inputs[1]))).astype(inputs[0].dtype),
    gradient=NotApplicable("indices are not differentiable"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (Sample((Arr((5,), "int64", 0, 24), Arr((3,), "int64", values=(2, 3, 4)))),),
    summary="Convert row-major (flat) indices to coordinates.",
)
