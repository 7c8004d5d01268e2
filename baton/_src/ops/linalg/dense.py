"""Relay's products: `nn.dense` (x wᵀ), `nn.matmul` (either operand transposed), `nn.batch_matmul` (rank 3, batch
broadcast).

dense: data (..., k), weight (units, k) -> (..., units). matmul: (..., k) x (k, n). batch_matmul: (b, m, k) x (b, k, n),
by Relay's builder with the second operand transposed. Source: facts relay-language §6 levels 1 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, as_dim
from baton._src.ops.linalg.matmul import product_gradient
from baton._src.ops.linalg.products import (
    matmul_info,
    product_compute,
    product_dtype,
    product_reference,
    result_dtype,
)
from baton._src.ops.mixed_dtypes import like_operands, like_result
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


@attrs
class DenseAttrs(Attrs):
    """Size and dtype of the result."""

    units: Dim | None = attr(None, "number of rows of the weight; None: inferred")
    out_dtype: DataType = attr("", "dtype of the result; empty: that of the operands")

    def __post_init__(self) -> None:
        set_attr(self, "units", None if self.units is None else as_dim(self.units))
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))


@attrs
class RelayMatmulAttrs(DenseAttrs):
    """Which operands are transposed."""

    transpose_a: bool = attr(False, "the left operand is (k, m)")
    transpose_b: bool = attr(False, "the right operand is (n, k)")


@attrs
class BatchMatmulAttrs(Attrs):
    """Which operands are transposed: none where text says nothing, as in TVM; its builder says it of the right one."""

    out_dtype: DataType = attr("", "dtype of the result; empty: that of the operands")
    transpose_a: bool = attr(False, "the left operand is (b, k, m)")
    transpose_b: bool = attr(False, "the right operand is (b, n, k)")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))


def _swaps(attributes: DenseAttrs | RelayMatmulAttrs | BatchMatmulAttrs) -> tuple[bool, bool]:
    if isinstance(attributes, RelayMatmulAttrs | BatchMatmulAttrs):
        return attributes.transpose_a, attributes.transpose_b
    return False, True


def infer(call: OpCall[DenseAttrs | RelayMatmulAttrs]) -> Info:
    """As matmul; with `units` the result is known before the weight is."""
    a, b = call.tensor(0), call.tensor(1)
    units = getattr(call.attrs, "units", None)
    if a.ndim == 0:
        call.fail("takes data of rank 1 or more, got a scalar", help="reshape or expand_dims it")
    if b.shape is None and units is not None and a.shape is not None and not _swaps(call.attrs)[0]:
        dtype = product_dtype(call, a, b, call.attrs.out_dtype)
        return TensorInfo((*a.shape[:-1], units), dtype if not dtype.is_void else a.dtype)
    found = matmul_info(call, a, b, _swaps(call.attrs), call.attrs.out_dtype)
    if units is not None and found.shape and DimMath(call.prover).equal(found.shape[-1], units) is False:
        call.fail(f"units is {units}, but the weight gives {found.shape[-1]} outputs", help="leave it out")
    return found


def infer_inputs(call: OpCall[DenseAttrs | RelayMatmulAttrs]) -> Sequence[TensorInfo | None]:
    """A weight of unknown type has `units` rows, if those are given, and the data's dtype."""
    a = call.tensor(0)
    units = getattr(call.attrs, "units", None)
    if units is None or a.shape is None or a.dtype.is_void:
        return (None, None)
    swap_a, swap_b = _swaps(call.attrs)
    inner = a.shape[-2] if swap_a and a.ndim > 1 else a.shape[-1]
    return (None, TensorInfo((units, inner) if swap_b else (inner, units), a.dtype))


def infer_batch(call: OpCall[BatchMatmulAttrs]) -> Info:
    """Rank 3 on both sides."""
    for position in range(2):
        x = call.tensor(position)
        if x.ndim not in (-1, 3):
            call.fail(f"operand {position} must have rank 3, got rank {x.ndim}", help="expand_dims or reshape it")
    return matmul_info(call, call.tensor(0), call.tensor(1), _swaps(call.attrs), call.attrs.out_dtype)


def compute(inputs: Sequence[k.Tensor], attributes: DenseAttrs | RelayMatmulAttrs, out: k.Result) -> k.Tensor:
    """One reduction, reading the operands as they lie."""
    axes = tuple("ij") if len(out.shape) == 2 else None
    return product_compute(inputs[0], inputs[1], out, _swaps(attributes), f"T_matmul_{_letters(attributes)}", axes)


def compute_batch(inputs: Sequence[k.Tensor], attributes: BatchMatmulAttrs, out: k.Result) -> k.Tensor:
    """One reduction, reading the operands as they lie."""
    name = f"T_batch_matmul_{_letters(attributes)}"
    return product_compute(inputs[0], inputs[1], out, _swaps(attributes), name, tuple("bij"))


def _letters(attributes: DenseAttrs | RelayMatmulAttrs | BatchMatmulAttrs) -> str:
    """NT: the left operand as it is, the right one transposed."""
    return "".join("T" if swap else "N" for swap in _swaps(attributes))


def reference(inputs: Sequence[AnyArray], attributes: BatchMatmulAttrs | DenseAttrs | RelayMatmulAttrs) -> AnyArray:
    """`numpy.matmul` of the operands, transposed as asked."""
    a, b = inputs
    return product_reference(a, b, result_dtype(a, attributes.out_dtype), _swaps(attributes))


def gradient(
    b: CallMaker,
    args: Exprs,
    attributes: BatchMatmulAttrs | DenseAttrs | RelayMatmulAttrs,
    out: GraphExpr,
    grad: GraphExpr,
) -> Gradients:
    """That of the product of the operands, as they are multiplied; transposed back. A vector stays as it is."""
    ranks = [x.struct_info.ndim for x in args]
    turned = [swap and rank > 1 for swap, rank in zip(_swaps(attributes), ranks)]
    operands = zip(like_result(b, args, grad), ranks, turned)
    found = product_gradient(b, [b.swap_last(x, rank) if turn else x for x, rank, turn in operands], ranks, grad)
    back = [b.swap_last(x, rank) if turn else x for x, rank, turn in zip(found, ranks, turned)]
    return like_operands(b, back, args, grad)


def _dense_samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 4)), Arr((3, 4))), DenseAttrs()),
        Sample((Arr((2, "n", 4)), Arr((3, 4))), DenseAttrs(units=3)),
        Sample((Arr((2, 8), "float16"), Arr((3, 8), "float16")), DenseAttrs(), rtol=1e-2, atol=1e-2),
        Sample((Arr((2, 8), "int8", -9, 9), Arr((3, 8), "int8", -9, 9)), DenseAttrs(out_dtype="int32")),
    )


def _matmul_samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 4)), Arr((4, 3))), RelayMatmulAttrs()),
        Sample((Arr((4, "n")), Arr((3, 4))), RelayMatmulAttrs(transpose_a=True, transpose_b=True)),
    )


def _batch_samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("b", "n", 4)), Arr(("b", 3, 4))), BatchMatmulAttrs(transpose_b=True)),
        Sample((Arr((1, 4, 2)), Arr((3, 4, 5))), BatchMatmulAttrs(transpose_a=True, transpose_b=False)),
    )


DENSE = OpDef(
    "nn.dense",
    DenseAttrs,
    inputs=(Input("data", "(..., k)"), Input("weight", "(units, k)")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    infer_inputs=infer_inputs,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=_dense_samples,
    summary="x wᵀ: dense (fully connected) layer without bias.",
)

RELAY_MATMUL = OpDef(
    "nn.matmul",
    RelayMatmulAttrs,
    inputs=(Input("tensor_a", "(..., k)"), Input("tensor_b", "(k, units)")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    infer_inputs=infer_inputs,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=_matmul_samples,
    summary="Matrix product, where either operand may be transposed.",
)

BATCH_MATMUL = OpDef(
    "nn.batch_matmul",
    BatchMatmulAttrs,
    inputs=(Input("tensor_a", "(b, m, k)"), Input("tensor_b", "(b, k, n), or (b, n, k) with transpose_b")),
    infer=infer_batch,
    compute=compute_batch,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=_batch_samples,
    summary="Batched matrix product; the batch axis broadcasts.",
)
