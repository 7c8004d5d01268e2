"""Binary search: searchsorted (Relay) and bucketize (Relax).

The position before which each value would be inserted into an ascending row: left of equal elements, or right of them.
NaN comes last, as in NumPy.
`bucketize` has one row for all values. Source: facts relax-ops-passes-vm §1 (search), relay-language §6 level 6.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, local, loop, loops, store, when
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

HALVINGS = 41
"""Steps for a row whose length is not known when compiling."""


@attrs
class SearchAttrs(Attrs):
    """The side, and the dtype of positions."""

    right: bool = attr(False, "insert after equal elements")
    dtype: DataType = attr("int32", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


@attrs
class BucketizeAttrs(Attrs):
    """The side, and the dtype of positions."""

    out_int32: bool = attr(False, "positions as int32 instead of int64")
    right: bool = attr(False, "insert after equal elements")


def infer_search(call: OpCall[SearchAttrs]) -> Info:
    """The shape of the values."""
    row, values = call.tensor(0), call.tensor(1)
    if row.ndim == 0:
        call.fail("sorted_sequence must have an axis to search along, got a scalar")
    if row.shape is not None and values.shape is not None and row.ndim > 1:
        math = DimMath(call.prover)
        same = row.ndim == values.ndim
        if not same or any(math.equal(a, b) is False for a, b in zip(row.shape[:-1], values.shape[:-1])):
            call.fail(f"rows {show_shape(row.shape)} and values {show_shape(values.shape)} differ before the last axis")
    return TensorInfo(values.shape, call.attrs.dtype, values.ndim, values.vdevice, values.shape_var)


def _compared_in(*dtypes: DataType) -> DataType:
    """The dtype that holds the numbers of a row and the values, as NumPy chooses it."""
    return DataType(np.result_type(*(accumulator(d).numpy for d in dtypes)))


def _before(element: k.Scalar, value: k.Scalar, right: bool) -> k.Scalar:
    """Whether a value's place is behind an element. As in sorted rows, NaN is greater than all numbers."""
    before = tir.LE(element, value) if right else tir.LT(element, value)
    if not value.dtype.is_float:
        return before
    is_nan = tir.NE(value, value)
    return tir.Or(before, is_nan if right else tir.And(is_nan, tir.EQ(element, element)))


def search(row: k.Tensor, values: k.Tensor, right: bool, dtype: DataType) -> k.Tensor:
    """A binary search an element."""
    length, kept = k.index(row.shape[-1]), _compared_in(row.dtype, values.dtype)
    steps = length.value.bit_length() if isinstance(length, tir.IntImm) else HALVINGS

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (ordered, wanted), (result,) = ins, outs
        low, high = [k.index(0)], [k.index(1)]

        def one(*i: k.Scalar) -> Stmt:
            return local("cursor", (2,), "int64", lambda cursor: halving(i, cursor))

        def halving(i: tuple[k.Scalar, ...], cursor: Buffer) -> Stmt:
            """`cursor` holds the first and the last position that may be the one."""
            outer = i[:-1] if row.ndim > 1 else ()

            def at(middle: k.Scalar) -> Stmt:
                element, value = (k.cast(kept, v) for v in (load(ordered, *outer, middle), load(wanted, *i)))
                before = _before(element, value, right)

                def moved(is_before: k.Scalar) -> Stmt:  # without a jump, which could not be foreseen
                    begin = k.select(is_before, middle + k.index(1), load(cursor, *low))
                    return both(
                        store(cursor, high, k.select(is_before, load(cursor, *high), middle)), store(cursor, low, begin)
                    )

                return let("before", before, moved)

            half = (load(cursor, *low) + load(cursor, *high)) // k.index(2)
            step = when(tir.LT(load(cursor, *low), load(cursor, *high)), let("middle", half, at))
            return both(
                store(cursor, low, k.index(0)),
                store(cursor, high, length),
                loop(steps, lambda _: step, "s"),
                store(result, i, k.cast(dtype, load(cursor, *low))),
            )

        return loops(values.shape, one)

    return extern(tuple(values.shape), [row, values], body, "search", dtype)


def reference_search(row: AnyArray, values: AnyArray, right: bool, dtype: npt.DTypeLike) -> AnyArray:
    """`numpy.searchsorted`, row by row."""
    kept = _compared_in(DataType(row.dtype), DataType(values.dtype)).numpy
    row, values = row.astype(kept), values.astype(kept)
    side: Literal["right", "left"] = "right" if right else "left"
    if row.ndim == 1:
        return np.asarray(np.searchsorted(row, values, side)).astype(dtype)
    found = np.empty(values.shape, dtype)
    for i in np.ndindex(row.shape[:-1]):
        found[i] = np.searchsorted(row[i], values[i], side)
    return found


SEARCHSORTED = OpDef(
    "searchsorted",
    SearchAttrs,
    inputs=(Input("sorted_sequence", "sorted along the last axis"), Input("values")),
    infer=infer_search,
    compute=lambda inputs, a, out: search(inputs[0], inputs[1], a.right, out.dtype),
    reference=lambda inputs, a: reference_search(inputs[0], inputs[1], a.right, a.dtype.numpy),
    gradient=NotApplicable("positions are not differentiable"),
    fusion=Fusion.OPAQUE,
    samples=lambda: (
        Sample((Arr((5,), values=(-1.5, -0.5, 0.0, 0.5, 1.5)), Arr(("n", 4))), SearchAttrs()),
        *(
            Sample((Arr((4,), values=(-1, 0, np.inf, np.nan)), Arr((3,), values=(np.nan, np.inf, 0))), SearchAttrs(r))
            for r in (False, True)
        ),
        Sample(
            (Arr((2, 3), "int32", values=((0, 1, 1), (1, 2, 3))), Arr((2, "m"), "int32", 0, 4)),
            SearchAttrs(right=True, dtype="int64"),
        ),
    ),
    summary="The positions at which values would be inserted into sorted rows.",
)


def infer_bucketize(call: OpCall[BucketizeAttrs]) -> Info:
    """The shape of the values."""
    check_ranks(call, None, 1)
    x = call.tensor(0)
    return TensorInfo(x.shape, _bucket_dtype(call.attrs), x.ndim, x.vdevice, x.shape_var)


def _bucket_dtype(a: BucketizeAttrs) -> DataType:
    return DataType("int32" if a.out_int32 else "int64")


BUCKETIZE = OpDef(
    "bucketize",
    BucketizeAttrs,
    inputs=(Input("input_tensor"), Input("boundaries", "sorted, of rank 1")),
    infer=infer_bucketize,
    compute=lambda inputs, a, out: search(inputs[1], inputs[0], a.right, out.dtype),
    reference=lambda inputs, a: reference_search(inputs[1], inputs[0], a.right, _bucket_dtype(a).numpy),
    gradient=NotApplicable("positions are not differentiable"),
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("Relay has searchsorted"),
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr((3,), values=(-1, 0, 1))), BucketizeAttrs()),
        Sample((Arr((), "float32"), Arr((3,), values=(-1, 0, 1))), BucketizeAttrs(out_int32=True, right=True)),
    ),
    summary="The index of the bucket that each value falls into.",
)

SEARCHES: tuple[Definition, ...] = (SEARCHSORTED, BUCKETIZE)
