"""Sorting along an axis: sort, argsort, topk, searchsorted, bucketize.

One kernel finds the order: a bottom-up merge sort of positions, stable in both directions (equal elements keep their
order). NaN counts as greater than any number. Sorted values, argsort and topk read that order. `searchsorted` is a
binary search. Source: facts relax-ops-passes-vm §1 (sorting), relay-language §6 level 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, is_any
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType

PASSES = 40
"""Merging passes for an axis whose extent is not known when compiling: enough for 2**40 elements."""


# ------------------------------------------------------------------------------------------------- the order


def comes_before(a: Any, b: Any, descending: bool) -> Any:
    """Whether element value `a` must stand before `b`, strictly."""
    left, right = (b, a) if descending else (a, b)
    if left.dtype.is_bool:
        left, right = k.cast("uint8", left), k.cast("uint8", right)
    less = tir.LT(left, right)
    if not left.dtype.is_float:
        return less
    return tir.Or(less, tir.And(tir.NE(right, right), tir.EQ(left, left)))


def order(x: k.Tensor, axis: int, descending: bool) -> k.Tensor:
    """int64 positions along `axis`, in sorted order; the shape of `x`."""
    extent = k.index(x.shape[axis])
    rows = [d for a, d in enumerate(x.shape) if a != axis]

    def body(ins: Any, outs: Any) -> Stmt:
        (keys,) = ins
        found, spare, cursor = outs

        def row(*outer: Any) -> Stmt:
            def at(position: Any) -> list[Any]:
                return [*outer[:axis], position, *outer[axis:]]

            def key(position: Any) -> Any:
                return k.wide(load(keys, *at(load(found, *at(position)))))

            start = loop(extent, lambda i: store(found, at(i), i), "s")
            merges = _passes(
                extent, lambda width: _merge_pass(extent, width, at, key, found, spare, cursor, descending)
            )
            return both(start, merges)

        return loops(rows, row, "r")

    outputs = extern(
        [tuple(x.shape), tuple(x.shape), (k.index(2),)], [x], body, "sort_order", ["int64", "int64", "int64"]
    )
    result: k.Tensor = outputs[0]
    return result


def _passes(extent: Any, merge: Any) -> Stmt:
    """`merge` of width 1, 2, 4, ... below the extent."""
    count = max(0, (extent.value - 1).bit_length()) if isinstance(extent, tir.IntImm) else PASSES

    def one(p: Any) -> Stmt:
        width = k.call("shift_left", k.index(1), p)
        return let("width", width, lambda w: when(tir.LT(w, extent), merge(w)))

    return loop(count, one, "p")


def _merge_pass(
    extent: Any, width: Any, at: Any, key: Any, found: Any, spare: Any, cursor: Any, descending: bool
) -> Stmt:
    """Merge runs of `width` pairwise into `spare`, then copy back."""
    twice = width * k.index(2)
    pairs = (extent + twice - k.index(1)) // twice

    def pair(number: Any) -> Stmt:
        def with_bounds(low: Any) -> Stmt:
            return let(
                "middle",
                k.minimum(low + width, extent),
                lambda middle: let(
                    "high",
                    k.minimum(low + twice, extent),
                    lambda high: _merge(low, middle, high, at, key, found, spare, cursor, descending),
                ),
            )

        return let("low", number * twice, with_bounds)

    back = loop(extent, lambda i: store(found, at(i), load(spare, *at(i))), "c")
    return both(loop(pairs, pair, "q"), back)


def _merge(
    low: Any, middle: Any, high: Any, at: Any, key: Any, found: Any, spare: Any, cursor: Any, descending: bool
) -> Stmt:
    """One merge: `cursor` holds the next positions of the left and the right run."""
    zero, one = k.index(0), k.index(1)

    def step(t: Any) -> Stmt:
        def choose(i: Any, j: Any) -> Stmt:
            behind = k.if_then_else(
                tir.GE(j, high), tir.IntImm("bool", 1), tir.Not(comes_before(key(j), key(i), descending))
            )
            left = k.if_then_else(tir.LT(i, middle), behind, tir.IntImm("bool", 0))
            take_left = both(store(spare, at(low + t), load(found, *at(i))), store(cursor, [zero], i + one))
            take_right = both(store(spare, at(low + t), load(found, *at(j))), store(cursor, [one], j + one))
            return when(left, take_left, take_right)

        return let("i", load(cursor, zero), lambda i: let("j", load(cursor, one), lambda j: choose(i, j)))

    return both(store(cursor, [zero], low), store(cursor, [one], middle), loop(high - low, step, "t"))


def reference_order(x: Any, axis: int, descending: bool) -> Any:
    """A stable argsort, NaN greatest."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    flipped = np.flip(x, axis)
    found = np.flip(np.argsort(flipped, axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - found


# ------------------------------------------------------------------------------------------- sort and argsort


@attrs
class SortAttrs(Attrs):
    """Along which axis, in which direction."""

    axis: int = attr(-1, "the axis")
    descending: bool = attr(False, "greatest first", relax_only=True)
    is_ascend: bool = attr(True, "least first", relay_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "descending", bool(self.descending))
        set_attr(self, "is_ascend", bool(self.is_ascend))


@attrs
class ArgsortAttrs(SortAttrs):
    """The same, and the dtype of positions."""

    dtype: Any = attr("int32", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def is_descending(a: SortAttrs) -> bool:
    """Either language's way to say so."""
    return bool(a.descending) or not a.is_ascend


def infer_sort(call: OpCall[Any]) -> Info:
    """The operand itself."""
    x = call.tensor(0)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
    return x


def infer_argsort(call: OpCall[ArgsortAttrs]) -> Info:
    """The operand with the dtype of positions."""
    x = infer_sort(call)
    assert isinstance(x, TensorInfo)
    return TensorInfo(x.shape, call.attrs.dtype, x.ndim, x.vdevice, x.shape_var)


def taken(x: k.Tensor, positions: k.Tensor, axis: int, shape: Any, name: str) -> k.Tensor:
    """The elements at `positions`, as many as `shape` asks for."""
    return k.compute(
        shape, lambda *i: x(*(place(positions, i, axis) if a == axis else j for a, j in enumerate(i))), name
    )


def place(positions: k.Tensor, i: Any, axis: int) -> Any:
    """Position number `i[axis]`; the last one where a symbolic axis turns out shorter than was asked for."""
    extent = positions.shape[axis]
    if isinstance(extent, tir.IntImm):
        return positions(*i)
    return positions(*(k.minimum(j, extent - k.index(1)) if a == axis else j for a, j in enumerate(i)))


def compute_sort(inputs: Any, a: SortAttrs, out: Any) -> Any:
    """The elements in their order."""
    (x,) = inputs
    axis = from_front(a.axis, x.ndim)
    return taken(x, order(x, axis, is_descending(a)), axis, x.shape, "sort")


def compute_argsort(inputs: Any, a: ArgsortAttrs, out: Any) -> Any:
    """The order."""
    (x,) = inputs
    found = order(x, from_front(a.axis, x.ndim), is_descending(a))
    return k.compute(x.shape, lambda *i: k.cast(out.dtype, found(*i)), "argsort")


def reference_sort(inputs: Any, a: SortAttrs) -> Any:
    """The elements in their order."""
    return np.take_along_axis(inputs[0], reference_order(inputs[0], a.axis, is_descending(a)), a.axis)


def gradient_sort(b: Any, args: Any, a: SortAttrs, out: Any, grad: Any) -> list[Any]:
    """Back to where the elements came from."""
    x = args[0]
    places = b.op("argsort", x, axis=a.axis, descending=is_descending(a), dtype="int64")
    return [b.op("scatter_elements", b.full_like(x, 0), places, grad, axis=a.axis)]


def _rows(record: Any, **more: Any) -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 7)),), record(**more)),
        Sample((Arr((9, "m"), "int32", 0, 4),), record(axis=0, **more)),
        Sample((Arr((5,), "float32", values=(1.0, float("nan"), -1.0, 1.0, float("inf"))),), record(**more)),
    )


SORT = OpDef(
    "sort",
    SortAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer_sort,
    compute=compute_sort,
    reference=reference_sort,
    gradient=gradient_sort,
    fusion=Fusion.OPAQUE,
    samples=lambda: (*_rows(SortAttrs), *_rows(SortAttrs, descending=True)),
    summary="The elements of each row along an axis in ascending or descending order.",
)

ARGSORT = OpDef(
    "argsort",
    ArgsortAttrs,
    inputs=(Input("data"),),
    infer=infer_argsort,
    compute=compute_argsort,
    reference=lambda inputs, a: reference_order(inputs[0], a.axis, is_descending(a)).astype(a.dtype.numpy),
    gradient=NotApplicable("positions are not differentiable"),
    fusion=Fusion.OPAQUE,
    samples=lambda: (*_rows(ArgsortAttrs), *_rows(ArgsortAttrs, is_ascend=False, dtype="int64")),
    summary="The positions that would sort each row along an axis; stable.",
)


# ------------------------------------------------------------------------------------------------------- topk


@attrs
class TopKAttrs(Attrs):
    """How many, of what."""

    k: int = attr(1, "how many; less than 1: all")
    axis: int = attr(-1, "the axis")
    ret_type: str = attr("both", 'what is given: "both", "values" or "indices"')
    largest: bool = attr(True, "the greatest ones", relax_only=True)
    is_ascend: bool = attr(False, "the least ones", relay_only=True)
    dtype: Any = attr("int32", "dtype of indices")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def _results(a: TopKAttrs) -> int | None:
    return 2 if a.ret_type == "both" else None


def _largest(a: TopKAttrs) -> bool:
    return bool(a.largest) and not a.is_ascend


def first_extent(call: OpCall[Any], count: int, dim: Dim) -> Dim:
    """The extent of the first `count` of `dim` elements; all where `count` is less than 1.

    Where `dim` is symbolic the prover is asked whether there are so many; a run checks what it cannot decide.
    """
    if count < 1:
        return dim
    if isinstance(dim, int):
        return min(count, dim)
    math = DimMath(call.prover)
    if not is_any(dim) and math.equal(math.maximum(dim, count), dim) is False:
        call.fail(f"{count} elements are taken of {dim}")
    return count


def infer_topk(call: OpCall[TopKAttrs]) -> Info:
    """k elements along the axis, as many as there are at most."""
    x, a = call.tensor(0), call.attrs
    if a.ret_type not in ("both", "values", "indices"):
        call.fail(f'ret_type must be "both", "values" or "indices", got {a.ret_type!r}', code="op-attribute")
    axis = normal_axis(call, a.axis, x.ndim) if x.ndim >= 0 else 0
    shape = None
    if x.shape is not None:
        shape = (*x.shape[:axis], first_extent(call, a.k, x.shape[axis]), *x.shape[axis + 1 :])
    values = TensorInfo(shape, x.dtype, x.ndim, x.vdevice)
    indices = TensorInfo(shape, a.dtype, x.ndim, x.vdevice)
    if a.ret_type == "both":
        return TupleInfo((values, indices))
    return values if a.ret_type == "values" else indices


def compute_topk(inputs: Any, a: TopKAttrs, out: Any) -> Any:
    """The first k of the sorted order."""
    x = inputs[0]
    axis = from_front(a.axis, x.ndim)
    found = order(x, axis, _largest(a))
    first: Any = out.fields[0] if isinstance(out, TupleInfo) else out
    shape = first.shape
    values = taken(x, found, axis, shape, "topk_values")
    indices = k.compute(shape, lambda *i: k.cast(a.dtype, place(found, i, axis)), "topk_indices")
    return (values, indices) if a.ret_type == "both" else values if a.ret_type == "values" else indices


def reference_topk(inputs: Any, a: TopKAttrs) -> Any:
    """The first k of the sorted order."""
    x = inputs[0]
    found = reference_order(x, a.axis, _largest(a))
    if a.k >= 1:
        found = np.take(found, np.arange(min(a.k, x.shape[a.axis])), axis=a.axis)
    values, indices = np.take_along_axis(x, found, a.axis), found.astype(a.dtype.numpy)
    return (values, indices) if a.ret_type == "both" else values if a.ret_type == "values" else indices


def gradient_topk(b: Any, args: Any, a: TopKAttrs, out: Any, grad: Any) -> list[Any]:
    """Back to where the values came from."""
    if a.ret_type == "indices":
        return [b.full_like(args[0], 0)]
    options = {"k": a.k, "axis": a.axis, "largest": a.largest, "is_ascend": a.is_ascend}
    places = b.op("topk", args[0], ret_type="indices", dtype="int64", **options)
    towards = b.item(grad, 0) if a.ret_type == "both" else grad
    return [b.op("scatter_elements", b.full_like(args[0], 0), places, towards, axis=a.axis)]


TOPK = OpDef(
    "topk",
    TopKAttrs,
    inputs=(Input("data"),),
    infer=infer_topk,
    compute=compute_topk,
    reference=reference_topk,
    gradient=gradient_topk,
    fusion=Fusion.OPAQUE,
    outputs=_results,
    samples=lambda: (
        Sample((Arr(("n", 7)),), TopKAttrs(k=3)),
        Sample((Arr((6, "m"), "int32", 0, 3),), TopKAttrs(k=2, axis=0, largest=False, dtype="int64")),
        Sample((Arr((4, 3)),), TopKAttrs(k=9, ret_type="values")),
        Sample((Arr((4, "m")),), TopKAttrs(k=0, ret_type="indices", is_ascend=True)),
    ),
    summary="The k greatest or least elements of each row along an axis, in order, and where they are.",
)

SORTS: tuple[OpDef[Any], ...] = (SORT, ARGSORT, TOPK)
