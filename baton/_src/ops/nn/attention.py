"""Scaled dot-product attention: `softmax(q kᵀ * scale + bias) v`, heads side by side.

q (batch, m, heads, d), k (batch, n, heads or fewer, d), v (batch, n, heads or fewer, e) -> (batch, m, heads, e).
Fewer key heads than query heads: each serves a group of queries. `scale` None is 1 / sqrt(d). `causal_mask` "TopLeft"
lets query i see keys up to i, "BottomRight" up to i + n - m; `window_size` w only keys from i - w + 1 on (of the same
alignment). The bias broadcasts to (batch, heads, m, n). Source: facts relax-ops-passes-vm §1 (nn, attention).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Argument, CallMaker, Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype, same_vdevice
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.nn.softmax import softmax
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import fold_compute
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class AttentionAttrs(Attrs):
    """Scale and mask."""

    scale: float | None = attr(None, "factor of the products; None: 1 / sqrt(d)")
    causal_mask: str | None = attr(None, "None, TopLeft or BottomRight")
    window_size: int | None = attr(None, "how many keys a query sees at most")


def infer(call: OpCall[AttentionAttrs]) -> Info:
    """(batch, m, heads, e)"""
    q, keys, v = (call.tensor(i) for i in range(3))
    bias = (call.tensor(3),) if len(call.args) > 3 else ()
    dtype, device = same_dtype(call, (q, keys, v)), same_vdevice(call, (q, keys, v, *bias))
    check_floats(call, *range(3 + len(bias)))
    if call.attrs.causal_mask not in (None, "TopLeft", "BottomRight"):
        call.fail(f"causal_mask {call.attrs.causal_mask!r} is neither TopLeft nor BottomRight", code="op-attribute")
    _check_numbers(call)
    for name, t in (("query", q), ("key", keys), ("value", v)):
        if t.ndim not in (-1, 4):
            call.fail(f"{name} must have rank 4 (batch, length, heads, size), got {show_shape(t.shape, t.ndim)}")
    if q.shape is None or keys.shape is None or v.shape is None:
        return TensorInfo(None, dtype, 4, device)
    dims = DimMath(call.prover)
    same = (
        (q.shape[0], keys.shape[0], "batch"),
        (q.shape[0], v.shape[0], "batch"),
        (q.shape[3], keys.shape[3], "head size"),
        (keys.shape[1], v.shape[1], "number of keys"),
        (keys.shape[2], v.shape[2], "number of key heads"),
    )
    for a, b, what in same:
        if dims.equal(a, b) is False:
            shapes = ", ".join(show_shape(t.shape) for t in (q, keys, v))
            call.fail(f"{what} differs: {a} against {b}, in {shapes}")
    heads, shared = q.shape[2], keys.shape[2]
    if shared == 0 or dims.divides(shared, heads) is False:
        call.fail(f"{heads} query heads cannot share {shared} key heads evenly")
    scores = (q.shape[0], heads, q.shape[1], keys.shape[1])
    for extra in bias:
        if extra.ndim > len(scores):
            call.fail(f"the bias must have rank {len(scores)} at most, got {show_shape(extra.shape, extra.ndim)}")
        for dim, wanted in zip(reversed(extra.shape or ()), reversed(scores)):
            if dims.stretches(dim, wanted) is False:
                shown = f"{show_shape(extra.shape)} does not broadcast to scores of shape {show_shape(scores)}"
                call.fail(f"the bias {shown}")
    return TensorInfo((q.shape[0], q.shape[1], heads, v.shape[3]), dtype, vdevice=device)


def _check_numbers(call: OpCall[AttentionAttrs]) -> None:
    a = call.attrs
    scale: object = a.scale
    if not (scale is None or isinstance(scale, (int, float))):
        call.fail(f"scale is a number or None, got {scale!r}", code="op-attribute")
    window: object = a.window_size
    if window is not None and not (isinstance(window, int) and 0 <= window < 1 << 31):
        call.fail(f"window_size is how many keys a query sees, or None, got {a.window_size!r}", code="op-attribute")


def _scale(a: AttentionAttrs, d: int) -> float:
    """Products of no features are 0, whatever they are multiplied by."""
    return a.scale if a.scale is not None else 1 / math.sqrt(max(d, 1))


def compute(inputs: Sequence[k.Tensor], a: AttentionAttrs, out: k.Result) -> k.Tensor:
    """Scores, max, exp, sum, then the weighted sum of values divided by it."""
    q, keys, v, *bias = inputs
    d = k.reduce_axis(q.shape[3], "d")
    head, kept = head_of_keys(q, keys), k.sum_dtype(q.dtype)

    def dot(b: k.Scalar, h: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        left, right = q(b, i, h, d.var), keys(b, j, head(h), d.var)
        return k.reduce_sum(k.cast(kept, left) * k.cast(kept, right), [d])

    shape = (q.shape[0], q.shape[2], q.shape[1], keys.shape[1])
    products = k.compute(shape, dot, "scores")
    scale = factor(a, q, kept)

    def score(b: k.Scalar, h: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        value = products(b, h, i, j) * scale
        if bias:
            value = value + k.cast(kept, bias[0](*k.stretched_indices(bias[0], (b, h, i, j), shape)))
        seen = _visible(a, i, j, q.shape[1], keys.shape[1])
        return k.select(k.all_of(seen), value, k.lowest(kept)) if seen else value

    scores = k.compute(shape, score, "masked_scores")
    top = fold_compute(scores, (3,), False, k.reduce_max, "softmax_max")
    powers = k.compute(shape, lambda b, h, i, j: k.exp(scores(b, h, i, j) - top(b, h, i)), "softmax_exp")
    total = fold_compute(powers, (3,), False, k.reduce_sum, "softmax_sum")
    n = k.reduce_axis(keys.shape[1], "n")

    def weigh(b: k.Scalar, i: k.Scalar, h: k.Scalar, e: k.Scalar) -> k.Scalar:
        return k.reduce_sum(powers(b, h, i, n.var) * k.cast(kept, v(b, n.var, head(h), e)), [n])

    weighed = k.compute(out.shape, weigh, "weighted_values")

    def share(b: k.Scalar, i: k.Scalar, h: k.Scalar, e: k.Scalar) -> k.Scalar:
        return k.cast(out.dtype, weighed(b, i, h, e) / sum_or_one(total(b, h, i), keys.shape[1]))

    return k.compute(out.shape, share, "attention")


def head_of_keys(q: k.Tensor, keys: k.Tensor) -> Callable[[k.Scalar], k.Scalar]:
    """Gives the head of keys and values that a head of queries uses."""
    group = k.index(q.shape[2]) // k.index(keys.shape[2])
    return lambda h: h if k.is_one(group) else h // k.divisor(group)


def sum_or_one(total: k.Scalar, keys: Dim) -> k.Scalar:
    """The sum of `keys` powers; 1 for none, so that what is weighed by none of them stays 0."""
    if isinstance(keys, k.tir.IntImm) and keys.value > 0:
        return total
    return k.select(k.tir.EQ(k.index(keys), k.index(0)), k.const(1, total.dtype), total)


def factor(a: AttentionAttrs, q: k.Tensor, kept: DataType) -> k.Scalar:
    """The factor that scales the products of queries and keys."""
    d = q.shape[3]
    if a.scale is not None:
        return k.const(a.scale, kept)
    if isinstance(d, k.tir.IntImm):
        return k.const(_scale(a, d.value), kept)
    return k.const(1, kept) / k.sqrt(k.cast(kept, k.divisor(d)))


def _visible(a: AttentionAttrs, i: k.Scalar, j: k.Scalar, m: k.Scalar, n: k.Scalar) -> list[k.Scalar]:
    """The conditions under which query i sees key j."""
    if a.causal_mask is None:
        return []
    place = i if a.causal_mask == "TopLeft" else i + (k.index(n) - k.index(m))
    seen = [j <= place]
    if a.window_size is not None:
        seen.append(j > place - int(a.window_size))
    return seen


def reference(inputs: Sequence[AnyArray], a: AttentionAttrs) -> AnyArray:
    """The formula."""
    q, keys, v = (wide(t) for t in inputs[:3])
    group = q.shape[2] // keys.shape[2]
    keys, v = (np.repeat(t, group, axis=2) for t in (keys, v))
    scores = np.einsum("bihd,bjhd->bhij", q, keys) * q.dtype.type(_scale(a, q.shape[3]))
    if len(inputs) > 3:
        scores = scores + wide(inputs[3])
    if a.causal_mask is not None:
        m, n = scores.shape[2:]
        place = np.arange(m)[:, None] + (0 if a.causal_mask == "TopLeft" else n - m)
        seen = np.arange(n)[None] <= place
        seen &= np.arange(n)[None] > place - int(a.window_size) if a.window_size is not None else True
        scores = np.where(seen, scores, q.dtype.type(-np.inf))
    found: AnyArray = np.einsum("bhij,bjhe->bihe", softmax(scores, -1), v).astype(inputs[0].dtype)
    return found


def samples() -> tuple[Sample, ...]:
    def call(
        shape: tuple[SampleDim, ...],
        other: tuple[SampleDim, ...],
        a: AttentionAttrs,
        *bias: Arr,
        dtype: str = "float32",
    ) -> Sample:
        tolerance = 2e-2 if "16" in dtype else 1e-4
        operands = (Arr(shape, dtype), Arr(other, dtype), Arr(other, dtype), *bias)
        return Sample(operands, a, rtol=tolerance, atol=tolerance)

    return (
        call(("b", "n", 2, 4), ("b", "m", 2, 4), AttentionAttrs()),
        call((1, 3, 4, 2), (1, 5, 2, 2), AttentionAttrs(0.5, "BottomRight"), Arr((1, 4, 1, 5))),
        call((1, 4, 2, 2), (1, 4, 2, 2), AttentionAttrs(None, "TopLeft", 2)),
        call((1, 3, 2, 4), (1, 3, 2, 4), AttentionAttrs(), dtype="float16"),
    )


def relax_attention(
    make: CallMaker,
    query: Argument,
    key: Argument,
    value: Argument,
    bias: Argument = None,
    scale: object = None,
    causal_mask: object = None,
    window_size: object = None,
) -> GraphExpr:
    """With a bias it is `nn.attention_bias`, without `nn.attention`, whichever of the two builders is called."""
    fields = {"scale": scale, "causal_mask": causal_mask, "window_size": window_size}
    if bias is not None:
        return make.op("nn.attention_bias", query, key, value, bias, **fields)
    return make.op("nn.attention", query, key, value, **fields)


def _define(name: str, biased: bool) -> OpDef[AttentionAttrs]:
    operands = (Input("query"), Input("key"), Input("value"), *((Input("bias"),) if biased else ()))
    return OpDef(
        name,
        AttentionAttrs,
        inputs=operands,
        infer=infer,
        compute=compute,
        reference=reference,
        gradient=NotApplicable("not offered; its products and softmax have gradients"),
        fusion=Fusion.OPAQUE,
        relay_name=NotApplicable("Relay composes it of other operators"),
        relax_builder=relax_attention,
        samples=lambda: tuple(s for s in samples() if (len(s.args) > 3) == biased),
        summary="Scaled dot-product attention" + (", a bias added to the scores." if biased else "."),
    )


ATTENTIONS: tuple[Definition, ...] = (_define("nn.attention", False), _define("nn.attention_bias", True))
