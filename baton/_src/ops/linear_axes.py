"""Gradients of operators that work axis by axis with fixed matrices: resampling, means over uneven windows.

Such an operator multiplies each of some axes by a matrix (after x before) that only depends on extents; its gradient
multiplies by the same matrices the other way round. The extents of these axes have to be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker
from baton._src.ir.tensor_info import Dim
from baton._src.ops.dims import as_dim
from baton._src.ops.said_dims import KnownTensor, said_dims
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


def along(b: CallMaker, value: GraphExpr, info: KnownTensor, axis: int, matrix: AnyArray) -> GraphExpr:
    """`value` with its `axis` (of n) multiplied by a matrix (n x m): that axis then has extent m."""
    last = info.ndim - 1
    order = tuple(last if i == axis else axis if i == last else i for i in range(info.ndim))
    moved = b.op("permute_dims", value, axes=order) if axis != last else value
    made = b.op("matmul", moved, b.const(np.asarray(matrix, info.dtype.numpy), info.dtype))
    return b.op("permute_dims", made, axes=order) if axis != last else made


def transposed(b: CallMaker, grad: GraphExpr, info: KnownTensor, matrices: Mapping[int, AnyArray]) -> GraphExpr:
    """The gradient towards data that was multiplied by `matrices` (after x before), by axis."""
    for axis, matrix in matrices.items():
        grad = along(b, grad, info, axis, matrix)
    return grad


def known_extents(info: KnownTensor, what: str, axes: Iterable[int]) -> dict[int, int]:
    """The extents of some axes of a tensor, by axis; an `op-gradient` error if one is symbolic."""
    dims, axes = named_dims(info, what), tuple(axes)
    return dict(zip(axes, known_dims((dims[axis] for axis in axes), what)))


def named_dims(info: KnownTensor, what: str) -> tuple[Dim, ...]:
    """The dims of a tensor, numbers or expressions; an `op-gradient` error if nothing says them."""
    dims = said_dims(info)
    if dims is None:
        help = 'give the data a shape, of variables if need be: R.Tensor(("n", 4))'
        raise fail("op-gradient", f"the gradient of {what} needs to know the dims of its data", help=help)
    return dims


def known_dims(dims: Iterable[Dim], what: str) -> tuple[int, ...]:
    """The same for dims."""
    found = [as_dim(d) for d in dims]
    known = tuple(d for d in found if isinstance(d, int))
    if len(known) < len(found):
        help = "give the data a static shape"
        raise fail("op-gradient", f"the gradient of {what} is known for known extents only", help=help)
    return known
