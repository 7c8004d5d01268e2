"""The computation of attention over operands with axes in any order, from which `FuseAttention` makes kernels.

Logical axes are numbered: batches 0 .. b-1, then b the query, b+1 the key, b+2 along the head of query and key, b+3
along the head of the value. The shape of the stages is that of `ops/nn/attention`.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpDef
from baton._src.ops import kernel_words as k
from baton._src.ops.nn.attention import sum_or_one
from baton._src.ops.reduce.folds import fold_compute
from baton._src.support.diagnostics import InternalError

Term = tuple[int, int]
"""Index of one dim of an operand: (logical axis, divisor); axis -1 is the index 0."""
Step = tuple[str, Any, bool]
"""An operation on the scores: (add, subtract, multiply or divide; a number, or the index of a further operand as a
tuple of one; whether the scores are the first operand).
"""


@attrs
class AttentionLayout(Attrs):
    """The order of the axes of operands and result, and the operations on the scores."""

    batch: int = attr(1, "number of batch axes")
    query: Any = attr((), "a Term for each dim")
    key: Any = attr((), "a Term for each dim")
    value: Any = attr((), "a Term for each dim")
    result: Any = attr((), "the logical axis of each dim")
    steps: Any = attr((), "Steps between product and softmax")


def _read(x: k.Tensor, terms: tuple[Term, ...], places: dict[int, Any]) -> Any:
    indices = []
    for axis, divisor in terms:
        if axis < 0:
            indices.append(k.index(0))
        else:
            indices.append(places[axis] if divisor == 1 else places[axis] // k.index(divisor))
    return x(*indices)


def _dim(x: k.Tensor, terms: tuple[Term, ...], axis: int) -> Any:
    return x.shape[next(n for n, term in enumerate(terms) if term == (axis, 1))]


def compute(inputs: Any, a: AttentionLayout, out: Any) -> Any:
    """The stages: scores, operations on them, maximum, exponentials, their sum, the weighted values."""
    q, keys, v, *others = inputs
    others = [o for o in others if o is not None]
    b = a.batch
    shape = dict(zip(a.result, out.shape))
    n, kept = _dim(keys, a.key, b + 1), k.sum_dtype(q.dtype)
    d = k.reduce_axis(_dim(q, a.query, b + 2), "d")
    sizes = (*(shape[i] for i in range(b + 1)), n)

    def dot(*i: Any) -> Any:
        places = {**dict(enumerate(i)), b + 2: d.var}
        return k.reduce_sum(k.cast(kept, _read(q, a.query, places)) * k.cast(kept, _read(keys, a.key, places)), [d])

    scores = k.compute(sizes, dot, "scores")
    if a.steps:
        products = scores

        def masked(*i: Any) -> Any:
            value = products(*i)
            for step in a.steps:
                value = _applied(step, value, others, i, sizes, kept)
            return value

        scores = k.compute(sizes, masked, "masked_scores")
    top = fold_compute(scores, (b + 1,), False, k.reduce_max, "softmax_max")
    powers = k.compute(sizes, lambda *i: k.exp(scores(*i) - top(*i[:-1])), "softmax_exp")
    total = fold_compute(powers, (b + 1,), False, k.reduce_sum, "softmax_sum")
    j = k.reduce_axis(n, "n")

    def weigh(*i: Any) -> Any:
        places = {**dict(zip(a.result, i)), b + 1: j.var}
        weight = powers(*(places[axis] for axis in range(b + 2)))
        return k.reduce_sum(weight * k.cast(kept, _read(v, a.value, places)), [j])

    weighed = k.compute(out.shape, weigh, "weighed_values")

    def divided(*i: Any) -> Any:
        places = dict(zip(a.result, i))
        return k.cast(out.dtype, weighed(*i) / sum_or_one(total(*(places[axis] for axis in range(b + 1))), n))

    return k.compute(out.shape, divided, "attention")


def _applied(step: Step, value: Any, others: list[Any], indices: Any, sizes: Any, kept: Any) -> Any:
    name, operand, first = step
    if isinstance(operand, tuple):
        x = others[operand[0]]
        other = k.cast(kept, x(*k.broadcast_indices(x, indices, sizes)))
    else:
        other = k.const(operand, kept)
    left, right = (value, other) if first else (other, value)
    match name:
        case "add":
            return left + right
        case "subtract":
            return left - right
        case "multiply":
            return left * right
        case _:
            return left / right


def _not_called(*_: Any) -> Any:
    raise InternalError("fused attention is a kernel, never an operator of a program: nothing is inferred of it")


ATTENTION: OpDef[AttentionLayout] = OpDef(
    "attention",
    AttentionLayout,
    inputs=(Input("query"), Input("key"), Input("value")),
    infer=_not_called,
    compute=compute,
    reference=NotApplicable("a kernel, no operator of a language"),
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("a kernel, no operator of a language"),
    in_relax=False,
    summary="Attention over operands in any order; made by FuseAttention only.",
)
