"""nn.dilate: the elements of a tensor moved apart, with a constant between them.

    x (d0, d1), strides (s0, s1)  ->  ((d0 - 1) * s0 + 1, (d1 - 1) * s1 + 1)

Source: facts relay-language §6 level 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.fill_values import as_element, check_fill
from baton._src.ops.linear_axes import named_dims
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import steps
from baton._src.te.tag import DILATE_TAG, default_tag
from baton._src.values.tensor import AnyArray


@attrs
class DilateAttrs(Attrs):
    """Distances."""

    strides: tuple[int, ...] = attr(doc="the distance between neighbours along every axis")
    dilation_value: float = attr(0.0, "what lies between")

    def __post_init__(self) -> None:
        set_attr(self, "strides", steps(tuple(self.strides), len(self.strides), "strides"))


def infer(call: OpCall[DilateAttrs]) -> Info:
    """(extent - 1) * stride + 1 along every axis."""
    x, a = call.tensor(0), call.attrs
    if x.ndim not in (-1, len(a.strides)):
        call.fail(f"strides has {len(a.strides)} numbers, the data has rank {x.ndim}")
    if x.shape is None:
        return TensorInfo(None, x.dtype, len(a.strides), x.vdevice)
    check_fill(call, "dilation_value", a.dilation_value, x.dtype)
    math = DimMath(call.prover)
    if any(s > 1 and math.at_most(1, d) is False for d, s in zip(x.shape, a.strides)):
        call.fail(f"{show_shape(x.shape)} has no elements that strides {a.strides} could move apart")
    shape = (math.add(math.multiply(math.subtract(d, 1), s), 1) for d, s in zip(x.shape, a.strides))
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def compute(inputs: Sequence[k.Tensor], a: DilateAttrs, out: k.Result) -> k.Tensor:
    """Elements where every index is a multiple of its stride."""
    (x,) = inputs
    between = as_element(a.dilation_value, x.dtype)

    def body(*i: k.Scalar) -> k.Scalar:
        on = [k.tir.EQ(j % s, k.index(0)) for j, s in zip(i, a.strides) if s > 1]
        value = x(*(j // s if s > 1 else j for j, s in zip(i, a.strides)))
        return k.if_then_else(k.all_of(on), value, k.const(between, x.dtype)) if on else value

    with default_tag(DILATE_TAG):
        return k.compute(out.shape, body, "DilatedInput")


def reference(inputs: Sequence[AnyArray], a: DilateAttrs) -> AnyArray:
    """Strided assignment."""
    x = inputs[0]
    between = as_element(a.dilation_value, k.DataType(x.dtype))
    result = np.full([(d - 1) * s + 1 for d, s in zip(x.shape, a.strides)], between, x.dtype)
    result[tuple(slice(None, None, s) for s in a.strides)] = x
    return result


def gradient(b: CallMaker, args: Exprs, a: DilateAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The elements that were moved apart, without what lies between them."""
    rank, ends = len(a.strides), named_dims(out.struct_info, "nn.dilate")
    return [b.op("strided_slice", grad, tuple(range(rank)), (0,) * rank, ends, a.strides)]


DILATE = OpDef(
    "nn.dilate",
    DilateAttrs,
    inputs=(Input("data"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 4)),), DilateAttrs((2, 1))),),
    summary="Insert copies of a constant between the elements (dilation).",
)
