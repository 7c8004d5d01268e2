"""What a tensor's header says, as tensors: shape_of, ndarray_size.

Relay's `shape_of` is named `shape_tensor` here, because Relax's `shape_of` gives a shape value.
Source: facts relay-language §6 levels 3 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.row_major import element_count
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType


@attrs
class HeaderAttrs(Attrs):
    """The dtype."""

    dtype: DataType = attr("int32", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer_shape_of(call: OpCall[HeaderAttrs]) -> Info:
    """One element an axis."""
    x = call.tensor(0)
    return TensorInfo(None if x.ndim < 0 else (x.ndim,), call.attrs.dtype, 1)


def compute_shape_of(inputs: Sequence[k.Tensor], a: HeaderAttrs, out: k.Result) -> k.Tensor:
    """The dims."""
    x = inputs[0]

    def body(i: k.Scalar) -> k.Scalar:
        sizes = [k.cast(out.dtype, k.index(d)) for d in x.shape]

        def choose(rest: k.Scalar, n: int) -> k.Scalar:
            return k.select(k.tir.EQ(i, k.index(n)), sizes[n], rest)

        return reduce(choose, range(len(sizes) - 1), sizes[-1]) if sizes else k.const(0, out.dtype)

    return k.compute(out.shape, body, "T_shape", axes="ax")


SHAPE_TENSOR = OpDef(
    "shape_tensor",
    HeaderAttrs,
    inputs=(Input("data"),),
    infer=infer_shape_of,
    compute=compute_shape_of,
    reference=lambda inputs, a: np.asarray(inputs[0].shape, a.dtype.numpy),
    gradient=NotApplicable("does not depend on the elements"),
    fusion=Fusion.OPAQUE,
    relay_name="shape_of",
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4, "m")),), HeaderAttrs()),
        Sample((Arr((3,)),), HeaderAttrs("int64")),
    ),
    summary="The shape of a tensor, as a tensor of rank 1.",
)


def infer_size(call: OpCall[HeaderAttrs]) -> Info:
    """A scalar."""
    call.tensor(0)
    return TensorInfo((), call.attrs.dtype)


def compute_size(inputs: Sequence[k.Tensor], a: HeaderAttrs, out: k.Result) -> k.Tensor:
    """The product of the dims."""
    return k.compute((), lambda: k.cast(out.dtype, element_count(inputs[0].shape)), "ndarray_size")


NDARRAY_SIZE = OpDef(
    "ndarray_size",
    HeaderAttrs,
    inputs=(Input("data"),),
    infer=infer_size,
    compute=compute_size,
    reference=lambda inputs, a: np.asarray(inputs[0].size, a.dtype.numpy),
    gradient=NotApplicable("does not depend on the elements"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4)),), HeaderAttrs()),
        Sample((Arr(()),), HeaderAttrs("int64")),
    ),
    summary="The number of elements of a tensor.",
)


HEADERS: tuple[Definition, ...] = (SHAPE_TENSOR, NDARRAY_SIZE)
