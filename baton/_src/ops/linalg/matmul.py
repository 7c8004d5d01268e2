"""Matrix product over the last two axes, the others broadcast (NumPy's `matmul`).

`(..., m, k) x (..., k, n) -> (..., m, n)`; vectors are promoted and their axis dropped again; scalars are refused.
Source: facts relax-ops-passes-vm §1 (linear_algebra, matmul).
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.products import matmul_info, product_compute, product_reference, result_dtype
from baton._src.ops.mixed_dtypes import like_operands, like_result
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


@attrs
class MatmulAttrs(Attrs):
    """The dtype of sums and result."""

    out_dtype: DataType = attr(None, "dtype of the result; None: that of the operands")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))


def infer(call: OpCall[MatmulAttrs]) -> Info:
    """Batch axes broadcast; the inner axes must not be provably different."""
    return matmul_info(call, call.tensor(0), call.tensor(1), out_dtype=call.attrs.out_dtype)


def compute(inputs: Sequence[k.Tensor], attributes: MatmulAttrs, out: k.Result) -> k.Tensor:
    """One reduction."""
    return product_compute(inputs[0], inputs[1], out, name="matmul")


def reference(inputs: Sequence[AnyArray], attributes: MatmulAttrs) -> AnyArray:
    """`numpy.matmul`."""
    a, b = inputs
    return product_reference(a, b, result_dtype(a, attributes.out_dtype))


def gradient(b: CallMaker, args: Exprs, attributes: MatmulAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """g bᵀ and aᵀ g, summed over what was broadcast."""
    found = product_gradient(b, like_result(b, args, grad), [t.struct_info.ndim for t in args], grad)
    return like_operands(b, found, args, grad)


def product_gradient(b: CallMaker, args: Exprs, ranks: list[int], grad: GraphExpr) -> list[GraphExpr]:
    """The same of two operands of these ranks; vectors are a row and a column."""
    left, right = args
    row, column = ranks[0] == 1, ranks[1] == 1
    x = b.op("expand_dims", left, axis=(0,)) if row else left
    y = b.op("expand_dims", right, axis=(1,)) if column else right
    g = b.op("expand_dims", grad, axis=(-1,)) if column else grad
    g = b.op("expand_dims", g, axis=(-2,)) if row else g
    to_left = b.op("matmul", g, b.swap_last(y, max(ranks[1], 2)))
    to_right = b.op("matmul", b.swap_last(x, max(ranks[0], 2)), g)
    if row:
        to_left = b.op("squeeze", b.op("collapse_sum_like", to_left, x), axis=(0,))
    if column:
        to_right = b.op("squeeze", b.op("collapse_sum_like", to_right, y), axis=(1,))
    return [b.op("collapse_sum_like", to_left, left), b.op("collapse_sum_like", to_right, right)]


def samples() -> tuple[Sample, ...]:
    plain = MatmulAttrs()
    half = MatmulAttrs(out_dtype="float32")
    return (
        Sample((Arr(("n", 4)), Arr((4, "m"))), plain),
        Sample((Arr((2, 3)), Arr((3,))), plain),
        Sample((Arr((3,)), Arr((3,))), plain),
        Sample((Arr((3,)), Arr((2, 3, 4))), plain),
        Sample((Arr(("b", 1, 3, 4)), Arr((5, 4, 2))), plain),
        Sample((Arr((3, "k")), Arr(("k", 2))), plain),
        Sample((Arr((2, 8), "float16"), Arr((8, 3), "float16")), plain, rtol=1e-2, atol=1e-2),
        Sample((Arr((2, 8), "bfloat16"), Arr((8, 3), "bfloat16")), half, rtol=1e-2, atol=1e-2),
        Sample((Arr((2, 8), "int8", -9, 9), Arr((8, 3), "int8", -9, 9)), MatmulAttrs(out_dtype="int32")),
    )


MATMUL = OpDef(
    "matmul",
    MatmulAttrs,
    inputs=(Input("x1", "the left operand"), Input("x2", "the right operand")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    relay_name=NotApplicable("Relay has nn.matmul (rank 2 operands) and nn.batch_matmul"),
    samples=samples,
)
