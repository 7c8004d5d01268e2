"""Pooling to a given extent: output i covers input [floor(i * x / y), ceil((i + 1) * x / y)). Global pooling is
extent 1.

`output_size` None (or an empty tuple in Relay) keeps the spatial extents; a None inside keeps that one. Source: facts
relax-ops-passes-vm §1 (nn), relay-language §6 levels 2 and 10.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.layouts import Anchor
from baton._src.ops.means import refuse_bools, summing_dtype
from baton._src.ops.nn.pooling.adaptive_gradient import gradient_max, gradient_mean
from baton._src.ops.nn.pooling.pooling import pool_orders, pooled_info
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.folds import FOLDS, ReduceAttrs, average, greatest
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import SPATIAL
from baton._src.support.diagnostics import fail
from baton._src.te.tag import default_tag


@attrs
class AdaptivePoolAttrs(Attrs):
    """The extents of the result."""

    spatial: ClassVar[int] = 2

    output_size: Any = attr(None, "spatial extents of the result; None keeps")
    layout: str = attr("", "layout of the data")
    out_layout: str = attr("", "layout of the result; empty: that of the data")

    def __post_init__(self) -> None:
        count = self.spatial
        size = self.output_size
        if isinstance(size, int):
            size = (int(size),) * count
        elif size is not None:
            size = tuple(None if n is None else operator.index(n) for n in size)
            size = None if not size else size * count if len(size) == 1 else size
            if size is not None and len(size) != count:
                raise fail("op-attribute", f"output_size must have {count} numbers, got {size}")
        set_attr(self, "output_size", size)
        set_attr(self, "layout", self.layout or f"NC{SPATIAL[count]}")
        set_attr(self, "out_layout", self.out_layout or "")


@attrs
class AdaptivePool1DAttrs(AdaptivePoolAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1


@attrs
class AdaptivePool3DAttrs(AdaptivePoolAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3


@attrs
class GlobalPoolAttrs(Attrs):
    """The layout."""

    spatial: ClassVar[int] = 2

    layout: str = attr("", "layout of the data")
    out_layout: str = attr("", "layout of the result; empty: that of the data")

    def __post_init__(self) -> None:
        set_attr(self, "layout", self.layout or f"NC{SPATIAL[self.spatial]}")
        set_attr(self, "out_layout", self.out_layout or "")

    @property
    def output_size(self) -> tuple[int, ...]:
        """Extent 1 everywhere."""
        return (1,) * self.spatial


@attrs
class GlobalPool1DAttrs(GlobalPoolAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1


@attrs
class GlobalPool3DAttrs(GlobalPoolAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3


def infer(call: OpCall[Any]) -> Info:
    """The given extents, the rest as the data."""
    sizes = call.attrs.output_size or (None,) * call.attrs.spatial
    return pooled_info(call, lambda math, n, before: before if sizes[n] is None else sizes[n])


def _fold(x: k.Tensor, a: Any, out: Any, fold: Any, kept: Any, nothing: Any, name: str) -> tuple[k.Tensor, Any]:
    """The folded windows, and a function giving (start, length) of the window of an output index."""
    data, result = pool_orders(a)
    letters = SPATIAL[a.spatial]
    taps: dict[str, Any] = {}
    for i, letter in enumerate(letters):
        extent, size = x.shape[data.position(letter)], k.index(out.shape[result.position(letter)])
        taps[letter] = k.reduce_axis(extent if k.is_one(size) else _longest(extent, size), f"rv{i}")

    def window(letter: str, at: Any) -> tuple[Any, Any]:
        extent, size = k.index(x.shape[data.position(letter)]), k.index(out.shape[result.position(letter)])
        if k.is_one(size):
            return k.index(0), extent
        parts = k.divisor(size)
        start = at * extent // parts
        return start, ((at + 1) * extent + size - 1) // parts - start

    def body(*indices: Any) -> Any:
        at = result.split(indices)
        inside: list[Any] = []
        for letter in letters:
            start, length = window(letter, at[letter])
            at[letter] = taps[letter].var if _is_zero(start) else start + taps[letter].var
            if not _is_zero(start):
                inside.append(taps[letter].var < length)
        value = k.cast(kept, x(*data.indices(at)))
        return fold(k.if_then_else(k.all_of(inside), value, nothing) if inside else value, list(taps.values()))

    with default_tag(name):
        return k.compute(out.shape, body, name, axes="ax"), window


def _longest(extent: Any, size: Any) -> Any:
    """The longest window: ceil(extent / size) + 1, or exactly extent / size where that divides."""
    if isinstance(extent, k.tir.IntImm) and isinstance(size, k.tir.IntImm):
        x, y = extent.value, size.value
        whole, rest = divmod(x // math.gcd(x, y), y // math.gcd(x, y)) if y else (0, 0)
        return whole + min(rest, 2)  # windows begin at every fraction of an element that there is
    return (extent + size - 1) // k.divisor(size) + 1


def _is_zero(value: Any) -> bool:
    return isinstance(value, k.tir.IntImm) and value.value == 0


def infer_mean(call: OpCall[Any]) -> Info:
    """The same, of numbers."""
    refuse_bools(call, call.tensor(0))
    return infer(call)


def compute_max(inputs: Any, a: Any, out: Any) -> Any:
    """One reduction."""
    (x,) = inputs
    return _fold(x, a, out, k.reduce_max, x.dtype, k.lowest(x.dtype), "adaptive_pool_max")[0]


def compute_mean(inputs: Any, a: Any, out: Any) -> Any:
    """A sum, then the division by the length of each window."""
    (x,) = inputs
    kept = summing_dtype(x.dtype)
    total, window = _fold(x, a, out, k.reduce_sum, kept, k.const(0, kept), "adaptive_pool_sum")
    _, result = pool_orders(a)

    def body(*indices: Any) -> Any:
        at = result.split(indices)
        count: Any = k.index(1)
        for letter in SPATIAL[a.spatial]:
            count = count * window(letter, at[letter])[1]
        parts = k.cast(kept, count if kept.is_float else k.maximum(count, k.index(1)))  # of no integers it is 0
        return k.cast(out.dtype, k.tir.Div(total(*indices), parts))

    return k.compute(out.shape, body, "adaptive_pool_avg", axes="ax")


def _reference(inputs: Any, a: Any, fold: Any) -> Any:
    data, out = pool_orders(a)
    letters = "NC" + SPATIAL[a.spatial]

    def pool(x: Any) -> Any:
        canonical = to_canonical(x, data, letters)
        sizes = [x_ if s is None else s for x_, s in zip(canonical.shape[2:], a.output_size or canonical.shape[2:])]
        result = np.zeros((*canonical.shape[:2], *sizes), canonical.dtype)
        for at in itertools.product(*(range(s) for s in sizes)):
            element: Any = (..., *at)
            cut = [slice(i * e // s, -(-(i + 1) * e // s)) for i, e, s in zip(at, canonical.shape[2:], sizes)]
            window = canonical[(slice(None), slice(None), *cut)]
            result[element] = fold(window, axis=tuple(range(2, window.ndim)))
        return from_canonical(result, out, letters)

    return computed_wide(pool, inputs[0])


def reference_max(inputs: Any, a: Any) -> Any:
    """Window by window."""
    return _reference(inputs, a, greatest)


def reference_mean(inputs: Any, a: Any) -> Any:
    """Window by window."""
    return _reference(inputs, a, average)


def _samples(record: Any, spatial: int, is_global: bool) -> tuple[Sample, ...]:
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


def _global_gradient(kind: str) -> Any:
    """Every element of an image has its share of the mean; the largest ones share the maximum's."""

    def gradient(b: Any, args: Any, a: Any, out: Any, grad: Any) -> list[Any]:
        (x,) = args
        if not a.layout.isalpha() or a.out_layout not in ("", a.layout):
            raise fail("op-gradient", f"the gradient of a global pooling is not known for the layout {a.layout}")
        axes = tuple(i for i, letter in enumerate(a.layout) if letter not in "NC")
        share = b.full_like(x, 1)
        if kind == "max":
            share = b.op("where", b.op("equal", x, b.op("broadcast_to", out, b.shape_of(x))), share, b.full_like(x, 0))
        return [b.op("multiply", share, b.op("divide", grad, b.op("sum", share, axis=axes, keepdims=True)))]

    return gradient


def _as_fold(name: str) -> Any:
    """Where the only window is the whole image, Relay's pool is the fold of its axes, which more rules know."""
    (fold,) = (f for f in FOLDS if f.name == name)

    def to_relax(args: Any, a: Any) -> Any:
        is_whole = set(a.output_size or (None,)) == {1} and a.out_layout in ("", a.layout)
        if not is_whole or not a.layout.isalpha():
            return args, a
        axes = tuple(i for i, letter in enumerate(a.layout) if letter not in "NC")
        return args, ReduceAttrs(axes, keepdims=True), fold

    return to_relax


def _define(kind: str, spatial: int, record: Any, is_global: bool) -> OpDef[Any]:
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


ADAPTIVE_POOLING: tuple[OpDef[Any], ...] = (
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
