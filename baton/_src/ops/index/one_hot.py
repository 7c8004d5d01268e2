"""one_hot: every index becomes a row with `on_value` at that place and `off_value` elsewhere, along a new axis.

Relax gives the two values as host scalars, Relay as scalar tensors; an index outside [0, depth) gives a row of
`off_value`. `dyn.one_hot` takes the depth as a tensor. Source: facts relax-ops-passes-vm §1, relay-language §6 level
10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.index.take import indices_info
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.operand_checks import check_scalar
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.targets import is_computed
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import VOID, DataType
from baton._src.values.prim import prim_dtype
from baton._src.values.tensor import AnyArray


@attrs
class OneHotAttrs(Attrs):
    """Length and place of the new axis."""

    depth: int = attr(doc="length of a row")
    axis: int = attr(-1, "position of the new axis in the result")
    dtype: DataType = attr(VOID, "dtype of the elements; void: that of the two values", relay_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))


@attrs
class DynOneHotAttrs(Attrs):
    """Place of the new axis."""

    axis: int = attr(-1, "position of the new axis in the result")
    dtype: DataType = attr("float32", "dtype of the elements")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer(call: OpCall[OneHotAttrs | DynOneHotAttrs]) -> Info:
    """The dims of the indices and the depth."""
    at, a = indices_info(call, 0), call.attrs
    kinds = [x.dtype for x in call.args[1:3] if isinstance(x, (PrimInfo, TensorInfo))]
    if len(kinds) != 2:
        call.fail("on_value and off_value must be scalars", code="op-argument")
    for position in (1, 2):
        check_scalar(call, position)
    known = [d for d in kinds if not d.is_void]
    if len(set(known)) > 1:
        call.fail(f"on_value and off_value must have the same dtype, got {known[0]} and {known[1]}", code="op-dtype")
    dtype = a.dtype if not a.dtype.is_void else known[0] if known else VOID
    depth = _depth(call)
    if at.ndim < 0:
        return TensorInfo(None, dtype, -1, at.vdevice)
    axis = normal_axis(call, a.axis, at.ndim + 1)
    if at.shape is None:
        return TensorInfo(None, dtype, at.ndim + 1, at.vdevice)
    return TensorInfo((*at.shape[:axis], depth, *at.shape[axis:]), dtype, vdevice=at.vdevice)


def _depth(call: OpCall[OneHotAttrs | DynOneHotAttrs]) -> Dim:
    if isinstance(call.attrs, OneHotAttrs):
        if call.attrs.depth < 1:
            call.fail(f"depth must be positive, got {call.attrs.depth}", code="op-attribute")
        return call.attrs.depth
    value = call.values[3] if len(call.values) > 3 else None
    return AnyDim() if value is None else int(np.asarray(value).reshape(-1)[0])


def compute(inputs: Sequence[k.Operand | float], a: OneHotAttrs | DynOneHotAttrs, out: k.Result) -> k.Tensor:
    """Compare the index with the place."""
    at, on, off = inputs[:3]
    assert isinstance(at, k.Tensor)
    axis = from_front(a.axis, at.ndim + 1)

    def scalar(value: k.Operand | float) -> k.Scalar:
        found = value() if isinstance(value, k.Tensor) else value
        return k.cast(out.dtype, found) if isinstance(found, k.PrimExpr) else k.const(found, out.dtype)

    def body(*i: k.Scalar) -> k.Scalar:
        here = k.index(at(*i[:axis], *i[axis + 1 :]))
        return k.select(k.tir.EQ(here, i[axis]), scalar(on), scalar(off))

    return k.compute(out.shape, body, "T_one_hot", axes="ax")


def reference(inputs: Sequence[AnyArray], a: OneHotAttrs | DynOneHotAttrs) -> AnyArray:
    """Compare the index with the place."""
    at, on, off = (np.asarray(x) for x in inputs[:3])
    depth = a.depth if isinstance(a, OneHotAttrs) else int(np.asarray(inputs[3]).reshape(-1)[0])
    known = prim_dtype(inputs[1])
    own = DataType(on.dtype) if known is None else known
    wanted = own if a.dtype.is_void else a.dtype
    hits = np.arange(depth) == at[..., None]
    return np.moveaxis(np.where(hits, convert(on, wanted), convert(off, wanted)), -1, a.axis)


def relay_builder(
    make: OpBuilder,
    indices: Given,
    on_value: Given,
    off_value: Given,
    depth: Given,
    axis: int = -1,
    dtype: object = "float32",
) -> Made:
    """A depth that is a tensor makes it `dyn.one_hot`."""
    on, off = (x if isinstance(x, GraphExpr) else make.const(x, dtype) for x in (on_value, off_value))
    if is_computed(depth):
        return make.op("dyn.one_hot", indices, on, off, depth, axis=axis, dtype=dtype)
    return make(indices, on, off, depth=depth, axis=axis, dtype=dtype)


def gradient(b: CallMaker, args: Exprs, a: OneHotAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The value at the index gets what flows into those places, the other value the rest; indices get no gradient."""
    indices, on, off = args
    hits = b.op("one_hot", indices, b.full_like(on, 1), b.full_like(off, 0), depth=a.depth, axis=a.axis, dtype=a.dtype)
    at_index = b.op("multiply", grad, hits)
    elsewhere = b.op("subtract", grad, at_index)
    return [None, *(b.op("cast_like", b.op("sum", part), value) for part, value in ((at_index, on), (elsewhere, off)))]


_CONSTANT = NotApplicable("indices are not differentiable")
_VALUES = (Input("on_value", "at the index", kind="prim"), Input("off_value", "elsewhere", kind="prim"))

ONE_HOT = OpDef(
    "one_hot",
    OneHotAttrs,
    inputs=(Input("indices"), *_VALUES),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample((Arr(("n", 2), "int64", -1, 6), Arr(()), Arr(())), OneHotAttrs(depth=5)),
        Sample((Arr((3,), "int32", 0, 4), 1, 0), OneHotAttrs(depth=4, axis=0)),
        Sample((Arr(("n",), "int32", 0, 4), Arr((), "int8"), Arr((), "int8")), OneHotAttrs(depth=4, dtype="float32")),
    ),
    summary="One-hot encoding: one value at the index and another elsewhere.",
)

DYN_ONE_HOT = OpDef(
    "dyn.one_hot",
    DynOneHotAttrs,
    inputs=(Input("indices"), *_VALUES, Input("depth", "a scalar tensor")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=_CONSTANT,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    shape_values=(3,),
    samples=lambda: (),
    summary="One-hot encoding with a depth computed at run time.",
)

ONE_HOTS = (ONE_HOT, DYN_ONE_HOT)
