"""Drawing from given probabilities with given uniform numbers: multinomial_from_uniform.

prob (rows, classes), uniform_sample (n, 1), sample_indices (n, 1): which row each draw is from -> (n, 1). The class
drawn is the first whose cumulative probability exceeds the uniform number. Source: facts relax-ops-passes-vm §1
(sampling).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.index.take import TakeAttrs
from baton._src.ops.index.take import reference as reference_take
from baton._src.ops.operand_checks import check_floats, check_integers, check_ranks
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class MultinomialAttrs(Attrs):
    """The dtype of indices."""

    dtype: DataType = attr("int64", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer(call: OpCall[MultinomialAttrs]) -> Info:
    """(n, 1)"""
    check_ranks(call, 2, 2, 2)
    check_floats(call, 0, 1)
    check_integers(call, 2)
    uniform, indices = call.tensor(1), call.tensor(2)
    if uniform.shape is not None and indices.shape is not None:
        if DimMath(call.prover).equal(uniform.shape[0], indices.shape[0]) is False:
            call.fail(f"{uniform.shape[0]} uniform numbers against {indices.shape[0]} sample indices")
    for position in (1, 2):
        x = call.tensor(position)
        if x.shape is not None and DimMath(call.prover).equal(x.shape[1], 1) is False:
            call.fail(f"{call.op.inputs[position].name} must have shape (n, 1), got {show_shape(x.shape)}")
    prob = call.tensor(0)
    if prob.shape is not None and DimMath(call.prover).at_most(1, prob.shape[1]) is False:
        call.fail(f"prob {show_shape(prob.shape)} has no classes to draw from")
    if uniform.shape is None:
        return TensorInfo(None, call.attrs.dtype, 2, uniform.vdevice)
    return TensorInfo((uniform.shape[0], 1), call.attrs.dtype, vdevice=uniform.vdevice)


def reference(inputs: Sequence[AnyArray], a: MultinomialAttrs) -> AnyArray:
    """A search in the cumulative sums."""
    prob, uniform, indices = inputs
    sums = np.cumsum(wide(prob), axis=1)[:, :-1]  # the last class is what the others leave
    rows = reference_take((sums, indices.reshape(-1)), TakeAttrs(0, mode="fast"))
    found: AnyArray = np.sum(rows <= wide(uniform).reshape(-1, 1), axis=1, keepdims=True).astype(a.dtype.numpy)
    return found


def decompose(b: CallMaker, args: Exprs, a: MultinomialAttrs, out: TensorInfo) -> GraphExpr:
    """The number of cumulative sums that are not above the uniform number."""
    prob, uniform, indices = args
    sums = b.op("strided_slice", b.op("cumsum", prob, axis=1), (1,), (0,), (-1,))
    rows = b.op("take", sums, b.op("squeeze", indices, axis=(1,)), axis=0, mode="fast")
    below = b.op("astype", b.op("less_equal", *_of_one_dtype(b, prob, rows, uniform)), dtype=a.dtype)
    return b.op("sum", below, axis=(1,), keepdims=True)


def _of_one_dtype(b: CallMaker, prob: GraphExpr, rows: GraphExpr, uniform: GraphExpr) -> tuple[GraphExpr, GraphExpr]:
    """Sums of probabilities and uniform numbers, both wide enough for either, so that they can be compared."""
    dtypes = [x.struct_info_.dtype for x in (prob, uniform)]
    if dtypes[0] == dtypes[1]:
        return rows, uniform
    common = "float64" if any(d.bits > 32 for d in dtypes) else "float32"
    return b.op("astype", rows, dtype=common), b.op("astype", uniform, dtype=common)


MULTINOMIAL_FROM_UNIFORM = OpDef(
    "multinomial_from_uniform",
    MultinomialAttrs,
    inputs=(
        Input("prob", "probabilities"),
        Input("uniform_sample", "numbers from 0 to 1"),
        Input("sample_indices", "which row each draw is from"),
    ),
    infer=infer,
    compute=NotApplicable("decomposed into a cumulative sum and comparisons"),
    reference=reference,
    decompose=decompose,
    gradient=NotApplicable("not differentiable"),
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("Relay has random.multinomial"),
    samples=lambda: (
        Sample(
            (
                Arr((2, 3), values=[[0.2, 0.3, 0.5], [0.3, 0.3, 0.4]]),
                Arr(("n", 1), low=0, high=1),
                Arr(("n", 1), "int64", 0, 2),
            ),
            MultinomialAttrs(),
        ),
    ),
)
