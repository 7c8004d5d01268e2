"""Tensors with one value everywhere, of any shape: full, zeros, ones, and their `_like`s.

Relax passes shapes as arguments, Relay as attributes; its `dyn` forms take them as tensors. Source: facts
relax-ops-passes-vm §1 (create), relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.global_info import VDevice
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradient, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import show_shape
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.mixed_dtypes import like_operands
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import as_shape, is_computed, of_unknown_dims, target_dims, target_numbers
from baton._src.values.dtype import VOID, DataType
from baton._src.values.prim import prim_dtype
from baton._src.values.tensor import AnyArray


def no_gradient(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> list[GraphExpr | None]:
    """The result is the same whatever numbers the operands hold."""
    return [None for _ in args]


def _gradient_of_fill(place: int) -> Gradient[Attrs]:
    """Every element is the fill value, operand `place`."""

    def rule(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        found = no_gradient(b, args, a, out, grad)
        if args[place].struct_info.dtype.is_float:
            (found[place],) = like_operands(b, [b.op("sum", grad)], [args[place]], grad)
        return found

    return rule


@attrs
class FullAttrs(Attrs):
    """Shape (in Relay) and dtype."""

    shape: tuple[Dim, ...] | None = attr(None, "the shape", relay_only=True)
    dtype: DataType = attr(None, "dtype of the elements; None: that of the fill value")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))
        set_attr(self, "shape", as_shape(self.shape))


def infer_full(call: OpCall[FullAttrs]) -> Info:
    """The target shape; the dtype given, or that of the fill value, on whose device it is."""
    relax = call.op.name == "full" and len(call.args) == 2
    fill = call.args[1 if relax else 0]
    if not isinstance(fill, (TensorInfo, PrimInfo)):
        call.fail(f"the fill value must be a scalar, got {fill}", code="op-argument")
    if isinstance(fill, TensorInfo) and fill.ndim > 0:
        call.fail(f"the fill value must be a scalar, got shape {show_shape(fill.shape, fill.ndim)}")
    dtype = call.attrs.dtype if not call.attrs.dtype.is_void else fill.dtype
    return _of_shape(call, 0 if relax else 1, dtype, fill.vdevice if isinstance(fill, TensorInfo) else None)


def _of_shape(call: OpCall[Attrs], position: int, dtype: DataType, vdevice: VDevice | None = None) -> TensorInfo:
    shape = target_dims(call, position, "shape")
    if shape is None:
        return of_unknown_dims(call, position, dtype, vdevice)
    if any(isinstance(d, int) and d < 0 for d in shape):
        call.fail(f"a dim of {show_shape(shape)} is negative")
    return TensorInfo(shape, dtype, vdevice=vdevice)


T = TypeVar("T")


def _fill_operand(inputs: Sequence[T | tuple[Dim, ...]]) -> T:
    """The fill value among (shape, value) or (value,) or (value, shape)."""
    return next(x for x in inputs if not isinstance(x, tuple))


def compute_full(inputs: Sequence[k.Operand | int | tuple[Dim, ...]], a: FullAttrs, out: k.Result) -> k.Tensor:
    """The fill value everywhere."""
    fill = _fill_operand(inputs)

    def element(*i: k.Scalar) -> k.Scalar:
        value = fill() if isinstance(fill, k.Tensor) else fill
        return k.cast(out.dtype, value) if isinstance(value, PrimExpr) else k.const(value, out.dtype)

    return k.compute(out.shape, element, "T_full", axes="ax")


def reference_full(inputs: Sequence[AnyArray | tuple[int, ...]], a: FullAttrs) -> AnyArray:
    """`numpy.full`."""
    given = _fill_operand(inputs)
    fill, known = np.asarray(given), prim_dtype(given)
    shape = target_numbers(inputs, 0 if len(inputs) == 2 and isinstance(inputs[0], tuple) else 1, a.shape)
    own = DataType(fill.dtype) if known is None else known
    return np.full(shape, convert(fill, own if a.dtype.is_void else a.dtype))


def relay_full(make: OpBuilder, fill_value: Given, shape: Given = (), dtype: object = "") -> Made:
    """A shape that is a tensor makes it `dyn.full`."""
    if is_computed(shape):
        return make.op("dyn.full", fill_value, shape, dtype=dtype)
    return make(fill_value, shape=shape, dtype=dtype)


FULL = OpDef(
    "full",
    FullAttrs,
    inputs=(Input("shape", kind="shape", languages=("relax",)), Input("fill_value", "a scalar tensor")),
    infer=infer_full,
    compute=compute_full,
    reference=reference_full,
    gradient=_gradient_of_fill(-1),
    fusion=Fusion.ELEMWISE,
    relay_builder=relay_full,
    samples=lambda: (
        Sample((Shape(("n", 4)), Arr(())), FullAttrs()),
        Sample((Shape((2,)), Arr((), "int32", -9, 9)), FullAttrs(dtype="float32")),
        Sample((Arr(()),), FullAttrs(shape=(2, 3))),
    ),
    summary="A tensor filled with one value.",
)

DYN_FULL = OpDef(
    "dyn.full",
    FullAttrs,
    inputs=(Input("fill_value"), Input("shape", "a tensor of rank 1")),
    infer=infer_full,
    compute=compute_full,
    reference=reference_full,
    gradient=_gradient_of_fill(0),
    fusion=Fusion.ELEMWISE,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="A tensor filled with one value, of a shape computed at run time.",
)


@attrs
class ShapedAttrs(Attrs):
    """Shape (in Relay) and dtype."""

    shape: tuple[Dim, ...] | None = attr(None, "the shape", relay_only=True)
    dtype: DataType = attr("float32", "dtype of the elements")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))
        set_attr(self, "shape", as_shape(self.shape))


def infer_shaped(call: OpCall[ShapedAttrs]) -> Info:
    """The target shape and the dtype given."""
    return _of_shape(call, 0, call.attrs.dtype)


def _constant(name: str, number: int) -> tuple[Definition, Definition]:
    def compute(inputs: Sequence[k.Tensor], a: ShapedAttrs, out: k.Result) -> k.Tensor:
        return k.compute(out.shape, lambda *i: k.const(number, out.dtype), "T_full", axes="ax")

    def reference(inputs: Sequence[AnyArray], a: ShapedAttrs) -> AnyArray:
        return np.full(target_numbers(inputs, 0, a.shape), number, a.dtype.numpy)

    def relay(make: OpBuilder, shape: Given, dtype: object) -> Made:
        if is_computed(shape):
            return make.op(f"dyn.{name}", shape, dtype=dtype)
        return make(shape=shape, dtype=dtype)

    static = OpDef(
        name,
        ShapedAttrs,
        inputs=(Input("shape", kind="shape", languages=("relax",)),),
        infer=infer_shaped,
        compute=compute,
        reference=reference,
        gradient=no_gradient,
        fusion=Fusion.ELEMWISE,
        relay_builder=relay,
        samples=lambda: (
            Sample((Shape(("n", 4)),), ShapedAttrs()),
            Sample((), ShapedAttrs(shape=(2, 3), dtype="int8")),
        ),
        summary=f"A tensor of {name}.",
    )
    dynamic = OpDef(
        f"dyn.{name}",
        ShapedAttrs,
        inputs=(Input("shape", "a tensor of rank 1"),),
        infer=infer_shaped,
        compute=compute,
        reference=reference,
        gradient=no_gradient,
        fusion=Fusion.ELEMWISE,
        in_relax=False,
        shape_values=(0,),
        samples=lambda: (),
        summary=f"A tensor of {name} of a computed shape.",
    )
    return static, dynamic


@attrs
class LikeAttrs(Attrs):
    """The dtype."""

    dtype: DataType = attr(None, "dtype of the elements; None: that of the operand", relax_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))


def infer_like(call: OpCall[LikeAttrs]) -> Info:
    """The shape of the operand."""
    x = call.tensor(0)
    if len(call.args) == 2 and isinstance(call.args[1], TensorInfo) and call.args[1].ndim > 0:
        call.fail("the fill value must be a scalar")
    dtype = x.dtype if call.attrs.dtype.is_void else call.attrs.dtype
    return TensorInfo(x.shape, dtype, x.ndim, x.vdevice, x.shape_var)


def _like(name: str, number: int | None) -> Definition:
    def compute(inputs: Sequence[k.Tensor], a: LikeAttrs, out: k.Result) -> k.Tensor:
        return compute_full(inputs[1:] if number is None else (number,), FullAttrs(), out)

    def reference(inputs: Sequence[AnyArray], a: LikeAttrs) -> AnyArray:
        dtype = DataType(inputs[0].dtype) if a.dtype.is_void else a.dtype
        return np.full(inputs[0].shape, convert(inputs[1] if number is None else number, dtype))

    operands = (Input("x", relay_name="data"),) + ((Input("fill_value", "a scalar"),) if number is None else ())
    extra = (Arr((), "float32"),) if number is None else ()
    return OpDef(
        name,
        LikeAttrs,
        inputs=operands,
        infer=infer_like,
        compute=compute,
        reference=reference,
        gradient=no_gradient if number is not None else _gradient_of_fill(1),
        fusion=Fusion.ELEMWISE,
        layout=FollowsInput(operands=1),
        samples=lambda: (
            Sample((Arr(("n", 4)), *extra), LikeAttrs()),
            Sample((Arr((2,), "int32", -9, 9), *extra), LikeAttrs("float32")),
        ),
        summary="A tensor of the shape of another, filled with one value."
        if number is None
        else f"{number} everywhere, in another tensor's shape.",
    )


CREATIONS: tuple[Definition, ...] = (
    FULL,
    DYN_FULL,
    *_constant("zeros", 0),
    *_constant("ones", 1),
    _like("full_like", None),
    _like("zeros_like", 0),
    _like("ones_like", 1),
)
