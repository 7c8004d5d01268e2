"""Running sums and products along an axis: cumsum, cumprod.

out[i] = x[0] op ... op x[i]; `exclusive` leaves x[i] itself out. Without an axis, of the flattened tensor.
Accumulated in the dtype of the result (float32 for narrow floats). Source: facts relax-ops-passes-vm §1
(statistical), relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradient,
    Gradients,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
)
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.linalg.products import rounded
from baton._src.ops.loop_nests import both, let, load, local, loop, loops, store
from baton._src.ops.precision import accumulator
from baton._src.ops.row_major import flattened
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


@attrs
class ScanAttrs(Attrs):
    """Along which axis."""

    axis: int | None = attr(None, "the axis; None: all elements, flattened")
    dtype: DataType = attr(None, "dtype of the result; None: that of the operand")
    exclusive: bool | None = attr(False, "exclude the element itself; None: it is included")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))
        set_attr(self, "exclusive", bool(self.exclusive))


def infer(call: OpCall[ScanAttrs]) -> Info:
    """The operand's shape, or one axis of all its elements."""
    x, a = call.tensor(0), call.attrs
    dtype = x.dtype if a.dtype.is_void else a.dtype
    if a.axis is None:
        shape = None if x.shape is None else (DimMath(call.prover).product(x.shape),)
        return TensorInfo(shape, dtype, 1, x.vdevice)
    if x.ndim >= 0:
        normal_axis(call, a.axis, x.ndim)
    return TensorInfo(x.shape, dtype, x.ndim, x.vdevice, x.shape_var)


def scan(x: k.Tensor, axis: int, exclusive: bool, start: int, combine: k.Combine, dtype: DataType) -> k.Tensor:
    """A sequential scan: other axes outside and inside, so that rows of the inner ones are contiguous."""
    kept = accumulator(dtype)
    outer, inner = x.shape[:axis], x.shape[axis + 1 :]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (data,), (result,) = ins, outs
        extent, zero, one = k.index(x.shape[axis]), k.index(0), k.index(1)

        def element(before: k.Indices, i: k.Scalar, after: k.Indices) -> k.Scalar:
            return k.cast(kept, load(data, *before, i, *after))

        def steps(before: k.Indices, last: Buffer | None) -> Stmt:
            """Along the axis; of a single line, the last value stays in the register `last`."""

            def put(i: k.Scalar, after: k.Indices, value: k.Scalar) -> Stmt:
                place = [*before, i, *after]
                if last is None:
                    return store(result, place, value)
                return let("new", value, lambda new: both(store(result, place, new), store(last, [zero], new)))

            def first(*after: k.Scalar) -> Stmt:
                return put(zero, after, k.const(start, kept) if exclusive else element(before, zero, after))

            def step(i: k.Scalar) -> Stmt:
                def following(*after: k.Scalar) -> Stmt:
                    old = load(result, *before, i, *after) if last is None else load(last, zero)
                    return put(i + one, after, combine(old, element(before, i if exclusive else i + one, after)))

                return loops(inner, following, "k")

            begin = loop(k.minimum(one, extent), lambda _: loops(inner, first, "f"), "any")
            return both(begin, loop(extent - one, step, "s"))

        def block(*before: k.Scalar) -> Stmt:
            return steps(before, None) if inner else local("last", (1,), kept, lambda last: steps(before, last))

        return loops(outer, block, "o")

    return rounded(extern(tuple(x.shape), [x], body, "scan", kept), dtype)


def _reference(x: AnyArray, a: ScanAttrs, function: Callable[..., AnyArray], start: int) -> AnyArray:
    dtype = DataType(x.dtype) if a.dtype.is_void else a.dtype
    kept = accumulator(dtype)
    axis = 0 if a.axis is None else a.axis
    x = x.reshape(-1) if a.axis is None else x
    found = function(convert(x, kept), axis=axis, dtype=kept.numpy)
    if a.exclusive:
        first = np.full_like(np.take(found, [0], axis=axis), start) if x.shape[axis] else found
        rest = np.take(found, np.arange(max(x.shape[axis] - 1, 0)), axis=axis)
        found = np.concatenate([first, rest], axis=axis)[tuple(slice(0, d) for d in x.shape)]
    return convert(found, dtype)


def _cumsum_gradient(b: CallMaker, args: Exprs, a: ScanAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The same sum from the other end."""
    x = args[0]
    if a.axis is None:
        back = b.op("flip", b.op("cumsum", b.op("flip", grad, axis=0), axis=0, exclusive=a.exclusive), axis=0)
        return [b.op("reshape", back, b.shape_of(x))]
    back = b.op("cumsum", b.op("flip", grad, axis=a.axis), axis=a.axis, exclusive=a.exclusive)
    return [b.op("flip", back, axis=a.axis)]


def _define(
    name: str,
    start: int,
    combine: k.Combine,
    function: Callable[..., AnyArray],
    gradient: Gradient[ScanAttrs] | NotApplicable,
) -> Definition:
    def compute(inputs: Sequence[k.Tensor], a: ScanAttrs, out: k.Result) -> k.Tensor:
        x = inputs[0] if a.axis is not None else flattened(inputs[0], out.shape[0])
        axis = 0 if a.axis is None else from_front(a.axis, x.ndim)
        return scan(x, axis, bool(a.exclusive), start, combine, out.dtype)

    return OpDef(
        name,
        ScanAttrs,
        inputs=(Input("data"),),
        infer=infer,
        compute=compute,
        reference=lambda inputs, a: _reference(inputs[0], a, function, start),
        gradient=gradient,
        fusion=Fusion.OPAQUE,
        layout=FollowsInput(axis="axis"),
        samples=lambda: (
            Sample((Arr(("n", 4)),), ScanAttrs(axis=1), rtol=1e-4, atol=1e-5),
            Sample((Arr((5, "m")),), ScanAttrs(axis=-2, exclusive=True), rtol=1e-4, atol=1e-5),
            Sample((Arr(("n", 2, 2)),), ScanAttrs(), rtol=1e-4, atol=1e-5),
            Sample((Arr((4,), "int32"),), ScanAttrs(axis=0, dtype="int64")),
            Sample((Arr((6,), "float16"),), ScanAttrs(axis=0), rtol=1e-2),
        ),
        summary=f"The running {'sum' if start == 0 else 'product'} along an axis.",
    )


SCANS: tuple[Definition, ...] = (
    _define("cumsum", 0, k.tir.Add, np.cumsum, _cumsum_gradient),
    _define("cumprod", 1, k.tir.Mul, np.cumprod, NotApplicable("not offered: zeros need a second pass")),
)
