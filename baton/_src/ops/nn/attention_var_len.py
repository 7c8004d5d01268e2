"""Attention over sequences of different lengths that lie one after the other in a batch of one.

q (1, m, heads, d), k (1, n, heads or fewer, d), v (1, n, heads or fewer, e) -> (1, m, heads, e). The queries of
sequence s are those from `seqstart_q[s]` up to `seqstart_q[s + 1]`, its keys those between `seqstart_k[s]` and the
next: each sequence attends to itself as in `nn.attention`, masks counting from its own start. Queries of no sequence,
and those that see no key of theirs, give 0. `max_seqlen_q` and `max_seqlen_k` tell kernels of other compilers the
longest; nothing is read of them here. Source: facts relax-ops-passes-vm §1 (nn, attention).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.nn import attention
from baton._src.ops.nn.attention import AttentionAttrs
from baton._src.ops.reduce.folds import fold_compute
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

NAMES = ("queries", "keys", "values", "seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k")


def infer(call: OpCall[AttentionAttrs]) -> Info:
    """(1, m, heads, e)"""
    found = attention.infer(replace(call, args=call.args[:3]))
    dims = DimMath(call.prover)
    for place in range(3):
        shape = call.tensor(place).shape
        if shape is not None and dims.equal(shape[0], 1) is False:
            message = f"{NAMES[place]} has a batch of {shape[0]}: sequences lie one after the other in a batch of 1"
            call.fail(message)
    for place, name in enumerate(NAMES[3:], 3):
        tensor = call.tensor(place)
        if not tensor.dtype.is_void and not tensor.dtype.is_int:
            call.fail(f"{name} counts tokens, so it must hold integers, got {tensor.dtype}", code="op-dtype")
        if place < 5 and tensor.ndim not in (-1, 1):
            call.fail(f"{name} must have rank 1, got {show_shape(tensor.shape, tensor.ndim)}")
    of_queries, of_keys = call.tensor(3).shape, call.tensor(4).shape
    if of_queries is not None and of_keys is not None and dims.equal(of_queries[0], of_keys[0]) is False:
        call.fail(f"the starts are of {of_queries[0]} query sequences, but of {of_keys[0]} key sequences")
    return found


def compute(inputs: Sequence[k.Tensor], a: AttentionAttrs, out: k.Result) -> k.Tensor:
    """As attention, where a query sees the keys of its own sequence: weights, then the values weighed by them."""
    q, keys, v, starts_q, starts_k, *_ = inputs
    head, kept = attention.head_of_keys(q, keys), k.sum_dtype(q.dtype)
    seen = _seen(a, starts_q, starts_k, q.shape[1], keys.shape[1])
    visible = k.compute((q.shape[1], keys.shape[1]), seen, "visible")
    products = _products(q, keys, kept)
    scale = attention.factor(a, q, kept)

    def score(h: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        return k.select(visible(i, j), products(h, i, j) * scale, k.lowest(kept))

    scores = k.compute(products.shape, score, "masked_scores")
    top = fold_compute(scores, (2,), False, k.reduce_max, "softmax_max")

    def power(h: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        return k.select(visible(i, j), k.exp(scores(h, i, j) - top(h, i)), k.const(0, kept))

    powers = k.compute(products.shape, power, "softmax_exp")
    total = fold_compute(powers, (2,), False, k.reduce_sum, "softmax_sum")
    n = k.reduce_axis(keys.shape[1], "n")

    def weigh(b: k.Scalar, i: k.Scalar, h: k.Scalar, e: k.Scalar) -> k.Scalar:
        return k.reduce_sum(powers(h, i, n.var) * k.cast(kept, v(0, n.var, head(h), e)), [n])

    weighed = k.compute(out.shape, weigh, "weighted_values")

    def share(b: k.Scalar, i: k.Scalar, h: k.Scalar, e: k.Scalar) -> k.Scalar:
        whole = total(h, i)
        divisor = k.select(whole > k.const(0, kept), whole, k.const(1, kept))
        return k.cast(out.dtype, weighed(b, i, h, e) / divisor)

    return k.compute(out.shape, share, "attention")


def _products(q: k.Tensor, keys: k.Tensor, kept: DataType) -> k.Tensor:
    """Each query times each key, by head: (heads, m, n), summed in the dtype `kept`."""
    d, head = k.reduce_axis(q.shape[3], "d"), attention.head_of_keys(q, keys)

    def dot(h: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        left, right = q(0, i, h, d.var), keys(0, j, head(h), d.var)
        return k.reduce_sum(k.cast(kept, left) * k.cast(kept, right), [d])

    return k.compute((q.shape[2], q.shape[1], keys.shape[1]), dot, "scores")


def _seen(
    a: AttentionAttrs, starts_q: k.Tensor, starts_k: k.Tensor, m: k.Scalar, n: k.Scalar
) -> Callable[[k.Scalar, k.Scalar], k.Scalar]:
    """Whether query i of m sees key j of n: it is of its sequence, and within mask and window."""
    own_q, own_k = _sequences(starts_q, m, "of_query"), _sequences(starts_k, n, "of_key")
    last = k.index(starts_q.shape[0]) - 1

    def seen(i: k.Scalar, j: k.Scalar) -> k.Scalar:
        s = own_q(i)
        at = k.if_then_else(s < last, s, k.index(0))  # the next start is read, too
        first_q, first_k = k.index(starts_q(at)), k.index(starts_k(at))
        conditions = [s >= 0, s < last, own_k(j) == s]
        if a.causal_mask is not None:
            place = i - first_q
            if a.causal_mask == "BottomRight":
                place = place + (k.index(starts_k(at + 1)) - first_k) - (k.index(starts_q(at + 1)) - first_q)
            conditions.append(j - first_k <= place)
            if a.window_size is not None:
                conditions.append(j - first_k > place - int(a.window_size))
        return k.all_of(conditions)

    return seen


def _sequences(starts: k.Tensor, tokens: k.Scalar, name: str) -> k.Tensor:
    """The sequence of each token: how many starts are at it or before it, less one."""
    s = k.reduce_axis(starts.shape[0], "s")

    def begun(i: k.Scalar) -> k.Scalar:
        return k.reduce_sum(k.select(k.index(starts(s.var)) <= i, k.index(1), k.index(0)), [s])

    counts = k.compute((tokens,), begun, f"{name}_starts")
    return k.compute((tokens,), lambda i: counts(i) - k.index(1), name)


def reference(inputs: Sequence[AnyArray], a: AttentionAttrs) -> AnyArray:
    """Attention, sequence by sequence."""
    q, keys, v, starts_q, starts_k = inputs[:5]
    out = np.zeros((*q.shape[:3], v.shape[3]), q.dtype)
    for s in range(len(starts_q) - 1):
        own_q, own_k = slice(starts_q[s], starts_q[s + 1]), slice(starts_k[s], starts_k[s + 1])
        seeing = _seeing(q[:, own_q].shape[1], keys[:, own_k].shape[1], a)
        if seeing.any():
            with np.errstate(invalid="ignore"):  # rows that see no key
                found = attention.reference((q[:, own_q], keys[:, own_k], v[:, own_k]), a)
            out[:, own_q][:, seeing] = found[:, seeing]
    return out


def _seeing(m: int, n: int, a: AttentionAttrs) -> AnyArray:
    """Which of m queries see any of n keys."""
    if a.causal_mask is None:
        return np.full(m, n > 0)
    place = np.arange(m) + (n - m if a.causal_mask == "BottomRight" else 0)
    first = place - int(a.window_size) + 1 if a.window_size is not None else np.zeros(m, int)
    seeing: AnyArray = np.minimum(place, n - 1) >= np.maximum(first, 0)
    return seeing


def samples() -> tuple[Sample, ...]:
    def call(
        heads: tuple[int, int], starts: tuple[list[int], list[int]], a: AttentionAttrs, dtype: str = "float32"
    ) -> Sample:
        tolerance = 2e-2 if "16" in dtype else 1e-4
        m, n = (part[-1] for part in starts)
        tensors = (Arr((1, m, heads[0], 4), dtype), *(Arr((1, n, heads[1], 4), dtype) for _ in range(2)))
        given = (Arr((len(part),), "int32", values=part) for part in starts)
        longest = (Arr((), "int32", values=max(np.diff(part))) for part in starts)
        return Sample((*tensors, *given, *longest), a, rtol=tolerance, atol=tolerance)

    return (
        call((2, 2), ([0, 3, 4, 9], [0, 3, 4, 9]), AttentionAttrs()),
        call((4, 2), ([0, 3, 3, 5], [0, 4, 6, 7]), AttentionAttrs(0.5, "BottomRight")),
        call((2, 1), ([0, 2, 5], [0, 0, 6]), AttentionAttrs(None, "TopLeft", 2)),
        call((2, 2), ([0, 3, 7], [0, 3, 7]), AttentionAttrs(None, "TopLeft"), "float16"),
    )


ATTENTION_VAR_LEN = OpDef(
    "nn.attention_var_len",
    AttentionAttrs,
    inputs=tuple(Input(name) for name in NAMES),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("not offered; its products and softmax have gradients"),
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("Relay composes it of other operators"),
    samples=samples,
    summary="Attention over concatenated sequences of different lengths.",
)
