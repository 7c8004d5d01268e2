"""The cross entropy of predictions and labels: nn.cross_entropy_with_logits, nn.cross_entropy (Relay).

cross_entropy_with_logits: -sum(predictions * labels) / batch, where predictions are log-probabilities; cross_entropy
takes probabilities. Source: facts relax-ops-passes-vm §1 (nn), relay-language §6 level 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Compute,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    OpCall,
    OpDef,
    Reference,
)
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype, same_vdevice
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.folds import fold_compute
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


def infer_entropy(call: OpCall[NoAttrs]) -> Info:
    """A scalar, from two tensors of one shape."""
    a, b = call.tensor(0), call.tensor(1)
    dtype, device = same_dtype(call, (a, b)), same_vdevice(call, (a, b))
    check_floats(call, 0, 1)
    if a.shape is not None and b.shape is not None:
        math = DimMath(call.prover)
        if len(a.shape) != len(b.shape) or any(math.equal(x, y) is False for x, y in zip(a.shape, b.shape)):
            call.fail(f"predictions {show_shape(a.shape)} and labels {show_shape(b.shape)} differ in shape")
    return TensorInfo((), dtype, vdevice=device)


def _entropy(logits: bool) -> tuple[Compute[NoAttrs], Reference[NoAttrs]]:
    def compute(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
        x, labels = inputs

        def term(*i: k.Scalar) -> k.Scalar:
            value = k.wide(x(*i))
            return (value if logits else k.log(value)) * k.wide(labels(*i))

        terms = k.compute(x.shape, term, "terms")
        total = fold_compute(terms, tuple(range(x.ndim)), False, k.reduce_sum, "sum")
        batch = k.cast(total.dtype, k.index(x.shape[0])) if x.ndim > 1 else k.const(1, total.dtype)
        return k.compute((), lambda: k.cast(out.dtype, k.const(-1, total.dtype) * total() / batch), "cross_entropy")

    def reference(inputs: Sequence[AnyArray], a: Attrs) -> AnyArray:
        def loss(x: AnyArray, labels: AnyArray) -> AnyArray:
            value = x if logits else np.log(x)
            found: AnyArray = -np.sum(value * labels) / (x.shape[0] if x.ndim > 1 else 1)
            return found

        return computed_wide(loss, *inputs)

    return compute, reference


def _count(b: CallMaker, x: GraphExpr) -> GraphExpr:
    """The size of the batch, everywhere."""
    info = x.struct_info
    count = b.full_like(x, 1)
    if info.ndim > 1:
        rest = tuple(range(1, info.ndim))
        ones = b.op("sum", count, axis=(0,), keepdims=True)
        count = b.op("broadcast_to", b.op("mean", ones, axis=rest, keepdims=True), b.shape_of(x))
    return count


def gradient_probabilities(b: CallMaker, args: Exprs, a: NoAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """-labels / predictions / batch, and -log(predictions) / batch."""
    x, labels = args
    factor = b.op("negative", b.op("divide", grad, _count(b, x)))
    return [b.op("multiply", factor, b.op("divide", labels, x)), b.op("multiply", factor, b.op("log", x))]


def gradient_logits(b: CallMaker, args: Exprs, a: NoAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """-labels / batch, and -predictions / batch."""
    x, labels = args
    factor = b.op("negative", b.op("divide", grad, _count(b, x)))
    return [b.op("multiply", factor, labels), b.op("multiply", factor, x)]


_WITH_LOGITS, _WITHOUT = _entropy(True), _entropy(False)

CROSS_ENTROPY_WITH_LOGITS = OpDef(
    "nn.cross_entropy_with_logits",
    inputs=(Input("predictions", "log-probabilities"), Input("labels", "probabilities", relay_name="targets")),
    infer=infer_entropy,
    compute=_WITH_LOGITS[0],
    reference=_WITH_LOGITS[1],
    gradient=gradient_logits,
    fusion=Fusion.OPAQUE,
    samples=lambda: (Sample((Arr(("n", 4)), Arr(("n", 4)))), Sample((Arr((4,)), Arr((4,))))),
    summary="-sum(predictions * labels) / batch.",
)
CROSS_ENTROPY = OpDef(
    "nn.cross_entropy",
    inputs=(Input("predictions", "probabilities"), Input("targets", "probabilities")),
    infer=infer_entropy,
    compute=_WITHOUT[0],
    reference=_WITHOUT[1],
    gradient=gradient_probabilities,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 4), "float32", 0.1, 1), Arr(("n", 4), "float32", 0, 1)), rtol=1e-4),),
    summary="-sum(log(predictions) * targets) / batch.",
)


CROSS_ENTROPIES: tuple[Definition, ...] = (CROSS_ENTROPY_WITH_LOGITS, CROSS_ENTROPY)
