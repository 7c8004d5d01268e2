"""Pooling to a given extent: output i covers input [floor(i * x / y), ceil((i + 1) * x / y)). Global pooling is
extent 1.

`output_size` None (or an empty tuple in Relay) keeps the spatial extents; a None inside keeps that one. Source: facts
relax-ops-passes-vm §1 (nn), relay-language §6 levels 2 and 10.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from types import EllipsisType

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradient, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.dims import DimMath
from baton._src.ops.layout_names import whole
from baton._src.ops.layouts import Anchor
from baton._src.ops.means import refuse_bools, summing_dtype
from baton._src.ops.nn.pooling.adaptive_attributes import (
    Adaptive,
    AdaptivePool1DAttrs,
    AdaptivePool3DAttrs,
    AdaptivePoolAttrs,
    GlobalPool1DAttrs,
    GlobalPool3DAttrs,
    GlobalPoolAttrs,
)
from baton._src.ops.nn.pooling.adaptive_gradient import gradient_max, gradient_mean
from baton._src.ops.nn.pooling.pooling import pool_orders, pooled_info
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.attributes import ReduceAttrs
from baton._src.ops.reduce.folds import FOLDS, Fold, average, greatest
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import SPATIAL
from baton._src.support.diagnostics import fail
from baton._src.te.tag import default_tag
from baton._src.tir.expr import IterVar
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


def infer(call: OpCall[Adaptive]) -> Info:
    """The given extents, the rest as the data."""
    sizes = call.attrs.output_size or (None,) * call.attrs.spatial

    def extent(math: DimMath, n: int, before: Dim) -> Dim:
        size = sizes[n]
        return before if size is None else size

    return pooled_info(call, extent)


def _fold(
    x: k.Tensor, a: Adaptive, out: k.Result, fold: Fold, kept: DataType, nothing: k.Scalar, name: str
) -> tuple[k.Tensor, Callable[[str, k.Scalar], tuple[k.Scalar, k.Scalar]]]:
    """The folded windows, and a function giving (start, length) of the window of an output index."""
    data, result = pool_orders(a)
    letters = SPATIAL[a.spatial]
    taps: dict[str, IterVar] = {}
    for i, letter in enumerate(letters):
        extent, size = x.shape[data.position(letter)], k.index(out.shape[result.position(letter)])
        taps[letter] = k.reduce_axis(extent if k.is_one(size) else _longest(extent, size), f"rv{i}")

    def window(letter: str, at: k.Scalar) -> tuple[k.Scalar, k.Scalar]:
        extent, size = k.index(x.shape[data.position(letter)]), k.index(out.shape[result.position(letter)])
        if k.is_one(size):
            return k.index(0), extent
        parts = k.divisor(size)
        start = at * extent // parts
        return start, ((at + 1) * extent + size - 1) // parts - start

    def body(*indices: k.Scalar) -> k.Scalar:
        at = result.split(indices)
        inside: list[k.Scalar] = []
        for letter in letters:
            start, length = window(letter, whole(at[letter]))
            at[letter] = taps[letter].var if _is_zero(start) else start + taps[letter].var
            if not _is_zero(start):
                inside.append(taps[letter].var < length)
        value = k.cast(kept, x(*data.indices(at)))
        return fold(k.if_then_else(k.all_of(inside), value, nothing) if inside else value, list(taps.values()))

    with default_tag(name):
        return k.compute(out.shape, body, name, axes="ax"), window


def _longest(extent: k.Scalar, size: k.Scalar) -> Dim:
    """The longest window: ceil(extent / size) + 1, or exactly extent / size where that divides."""
    if isinstance(extent, k.tir.IntImm) and isinstance(size, k.tir.IntImm):
        x, y = extent.value, size.value
        whole, rest = divmod(x // math.gcd(x, y), y // math.gcd(x, y)) if y else (0, 0)
        return whole + min(rest, 2)  # windows begin at every fraction of an element that there is
    return (extent + size - 1) // k.divisor(size) + 1


def _is_zero(value: k.Scalar) -> bool:
    return isinstance(value, k.tir.IntImm) and value.value == 0


def infer_mean(call: OpCall[Adaptive]) -> Info:
    """The same, of numbers."""
    refuse_bools(call, call.tensor(0))
    return infer(call)


def compute_max(inputs: Sequence[k.Tensor], a: Adaptive, out: k.Result) -> k.Tensor:
    """One reduction."""
    (x,) = inputs
    return _fold(x, a, out, k.reduce_max, x.dtype, k.lowest(x.dtype), "adaptive_pool_max")[0]


def compute_mean(inputs: Sequence[k.Tensor], a: Adaptive, out: k.Result) -> k.Tensor:
    """A sum, then the division by the length of each window."""
    (x,) = inputs
    kept = summing_dtype(x.dtype)
    total, window = _fold(x, a, out, k.reduce_sum, kept, k.const(0, kept), "adaptive_pool_sum")
    _, result = pool_orders(a)

    def body(*indices: k.Scalar) -> k.Scalar:
        at = result.split(indices)
        count = k.index(1)
        for letter in SPATIAL[a.spatial]:
            count = count * window(letter, whole(at[letter]))[1]
        parts = k.cast(kept, count if kept.is_float else k.maximum(count, k.index(1)))  # of no integers it is 0
        return k.cast(out.dtype, k.tir.Div(total(*indices), parts))

    return k.compute(out.shape, body, "adaptive_pool_avg", axes="ax")


def _reference(
    inputs: Sequence[AnyArray], a: Adaptive, fold: Callable[[AnyArray, tuple[int, ...]], AnyArray]
) -> AnyArray:
    data, out = pool_orders(a)
    letters = "NC" + SPATIAL[a.spatial]

    def pool(x: AnyArray) -> AnyArray:
        canonical = to_canonical(x, data, letters)
        sizes = [x_ if s is None else s for x_, s in zip(canonical.shape[2:], a.output_size or canonical.shape[2:])]
        result = np.zeros((*canonical.shape[:2], *sizes), canonical.dtype)
        for at in itertools.product(*(range(s) for s in sizes)):
            element: tuple[EllipsisType | int, ...] = (..., *at)
            cut = [slice(i * e // s, -(-(i + 1) * e // s)) for i, e, s in zip(at, canonical.shape[2:], sizes)]
            window = canonical[(slice(None), slice(None), *cut)]
            result[element] = fold(window, tuple(range(2, window.ndim)))
        return from_canonical(result, out, letters)

    return computed_wide(pool, inputs[0])


def reference_max(inputs: Sequence[AnyArray], a: Adaptive) -> AnyArray:
    """Window by window."""
    return _reference(inputs, a, greatest)


def reference_mean(inputs: Sequence[AnyArray], a: Adaptive) -> AnyArray:
    """Window by window."""
    return _reference(inputs, a, average)


def _samples(
    record: type[AdaptivePoolAttrs] | type[GlobalPoolAttrs], spatial: int, is_global: bool
) -> tuple[Sample, ...]:
    s = (6,) * (spatial - 1)
    last = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[spatial]
    if is_global:
        return (
            Sample((Arr(("n", 3, *s, "w")),), record(), rtol=1e-4),
            Sample((Arr((1, *s, 7, 3)),), record(layout=last), rtol=1e-4),
        )
    return (
        Sample((Arr(("n", 3, *s, 7)),), record(output_size=1), rtol=1e-4),
        Sample((Arr((1, 3, *s, 7)),), record(output_size=3), rtol=1e-4),
        Sample((Arr((1, *s, 7, 3)),), record(output_size=2, layout=last), rtol=1e-4),
        Sample((Arr((1, 3, *s, 7), "float16"),), record(output_size=3), rtol=1e-2, atol=1e-2),
    )


def _global_gradient(kind: str) -> Gradient[Adaptive]:
    """Every element of an image has its share of the mean; the largest ones share the maximum's."""

    def gradient(b: CallMaker, args: Exprs, a: Adaptive, out: GraphExpr, grad: GraphExpr) -> Gradients:
        (x,) = args
        if not a.layout.isalpha() or a.out_layout not in ("", a.layout):
            raise fail("op-gradient", f"the gradient of a global pooling is not known for the layout {a.layout}")
        axes = tuple(i for i, letter in enumerate(a.layout) if letter not in "NC")
        share = b.full_like(x, 1)
        if kind == "max":
            share = b.op("where", b.op("equal", x, b.op("broadcast_to", out, b.shape_of(x))), share, b.full_like(x, 0))
        return [b.op("multiply", share, b.op("divide", grad, b.op("sum", share, axis=axes, keepdims=True)))]

    return gradient


def _as_fold(
    name: str,
) -> Callable[[Exprs, Adaptive], tuple[Exprs, Adaptive] | tuple[Exprs, ReduceAttrs, OpDef[ReduceAttrs]]]:
    """Where the only window is the whole image, Relay's pool is the fold of its axes, which more rules know."""
    (fold,) = (f for f in FOLDS if f.name == name)

    def to_relax(args: Exprs, a: Adaptive) -> tuple[Exprs, Adaptive] | tuple[Exprs, ReduceAttrs, OpDef[ReduceAttrs]]:
        is_whole = set(a.output_size or (None,)) == {1} and a.out_layout in ("", a.layout)
        if not is_whole or not a.layout.isalpha():
            return args, a
        axes = tuple(i for i, letter in enumerate(a.layout) if letter not in "NC")
        return args, ReduceAttrs(axes, keepdims=True), fold

    return to_relax


def _define(
    kind: str, spatial: int, record: type[AdaptivePoolAttrs] | type[GlobalPoolAttrs], is_global: bool
) -> Definition:
    is_max = kind == "max"
    prefix = "global_" if is_global else "adaptive_"
    return OpDef(
        f"nn.{prefix}{kind}_pool{spatial}d",
        record,
        inputs=(Input("data", "the images"),),
        infer=infer if is_max else infer_mean,
        compute=compute_max if is_max else compute_mean,
        reference=reference_max if is_max else reference_mean,
        gradient=_global_gradient(kind) if is_global else gradient_max if is_max else gradient_mean,
        fusion=Fusion.OUT_EWISE_FUSABLE,
        layout=Anchor("layout", None, "out_layout"),
        relay_to_relax=_as_fold("max" if is_max else "mean"),
        in_relax=not is_global and not is_max,
        samples=lambda: _samples(record, spatial, is_global),
        summary=("Max" if is_max else "Average")
        + (" pooling over all spatial axes." if is_global else " pooling to a given output size."),
    )


ADAPTIVE_POOLING: tuple[Definition, ...] = (
    *(
        _define(kind, spatial, record, False)
        for kind in ("max", "avg")
        for spatial, record in ((1, AdaptivePool1DAttrs), (2, AdaptivePoolAttrs), (3, AdaptivePool3DAttrs))
    ),
    *(
        _define(kind, spatial, record, True)
        for kind in ("max", "avg")
        for spatial, record in ((1, GlobalPool1DAttrs), (2, GlobalPoolAttrs), (3, GlobalPool3DAttrs))
    ),
)
