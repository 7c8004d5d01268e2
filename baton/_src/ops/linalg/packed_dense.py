"""nn.contrib_dense_pack: a dense layer whose weight is packed in blocks of units, "NC8n": (units / 8, inputs, 8).

    y[..., u] = sum over c of x[..., c] * w[u / block, c, u % block]

`weight_layout` "NC" is the weight as nn.dense takes it. Source: facts relay-language §6 level 10.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_vdevice
from baton._src.ops.canonical_axes import to_canonical
from baton._src.ops.dims import DimMath, as_dim, show_shape
from baton._src.ops.layout_names import AxisOrder, layout_over
from baton._src.ops.linalg.products import product_dtype, result_dtype, rounded
from baton._src.ops.operand_checks import check_layout_rank
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


@attrs
class DensePackAttrs(Attrs):
    """Units, layout, dtype."""

    units: Dim | None = attr(None, "the number of units; inferred from the weight")
    weight_layout: str = attr("NC", "layout of the weight: NC, or NC with a block of units (NC8n)")
    out_dtype: DataType = attr("", "dtype of the result; empty: that of the data")

    def __post_init__(self) -> None:
        set_attr(self, "units", None if self.units is None else as_dim(self.units))
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))

    @property
    def order(self) -> AxisOrder:
        return layout_over(self.weight_layout, "NC", "weight_layout")


def infer(call: OpCall[DensePackAttrs]) -> Info:
    """The data with units in the place of inputs."""
    x, w, order = call.tensor(0), call.tensor(1), call.attrs.order
    dtype, device = product_dtype(call, x, w, call.attrs.out_dtype), same_vdevice(call, (x, w))
    check_layout_rank(call, 1, order, "weight_layout")
    if x.ndim == 0:
        call.fail("the data must have an axis")
    if x.shape is None or w.shape is None:
        return TensorInfo(None, dtype, x.ndim, device)
    math = DimMath(call.prover)
    extents = order.canonical(math, w.shape)
    if math.equal(x.shape[-1], extents["C"]) is False:
        call.fail(f"the data {show_shape(x.shape)} has {x.shape[-1]} inputs, the weight takes {extents['C']}")
    if call.attrs.units is not None and math.equal(extents["N"], call.attrs.units) is False:
        call.fail(f"units is {call.attrs.units}, but the weight has {extents['N']}")
    return TensorInfo((*x.shape[:-1], extents["N"]), dtype, vdevice=device)


def compute(inputs: Sequence[k.Tensor], a: DensePackAttrs, out: k.Result) -> k.Tensor:
    """One reduction over inputs."""
    x, w = inputs
    kept, order = accumulator(out.dtype), a.order
    axis = k.reduce_axis(x.shape[-1], "k")

    def body(*i: k.Scalar) -> k.Scalar:
        at = order.indices({"N": i[-1], "C": axis.var})
        return k.reduce_sum(k.cast(kept, x(*i[:-1], axis.var)) * k.cast(kept, w(*at)), [axis])

    return rounded(k.compute(out.shape, body, "dense_pack"), out.dtype)


def reference(inputs: Sequence[AnyArray], a: DensePackAttrs) -> AnyArray:
    """A product with the unpacked weight."""
    x, w = inputs
    dtype = result_dtype(x, a.out_dtype)
    kept = accumulator(dtype).numpy
    found: AnyArray = (x.astype(kept) @ to_canonical(w, a.order, "NC").astype(kept).T).astype(dtype.numpy)
    return found


def relay_builder(
    make: OwnMaker,
    data: GraphExpr,
    weight: GraphExpr,
    weight_layout: str = "NC",
    units: Dim | None = None,
    out_dtype: object = "",
) -> GraphExpr:
    """TVM's order: the layout comes first."""
    return make(data, weight, weight_layout=weight_layout, units=units, out_dtype=out_dtype)


CONTRIB_DENSE_PACK = OpDef(
    "nn.contrib_dense_pack",
    DensePackAttrs,
    inputs=(Input("data", "inputs in the last axis"), Input("weight", "packed in blocks of units")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("weights are packed after differentiation"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample((Arr(("n", 5)), Arr((3, 5, 4))), DensePackAttrs(weight_layout="NC4n"), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 5)), Arr((3, 5))), DensePackAttrs(units=3), rtol=1e-4, atol=1e-5),
        Sample(
            (Arr((2, 6), "int8", -9, 9), Arr((2, 6, 2), "int8", -9, 9)), DensePackAttrs(4, "NC2n", out_dtype="int32")
        ),
    ),
    summary="Dense layer with a weight packed in blocks of units.",
)
