"""Tensors made from nothing but a shape: full, zeros, ones (and their `_like`s), eye, arange.

Relax passes shapes and bounds as arguments, Relay as attributes (arange's bounds as scalar tensors; its `dyn` forms
take shapes as tensors). `arange`: start + i * step, for i below ceil((stop - start) / step). Source: facts
relax-ops-passes-vm §1 (create), relay-language §6 level 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import of_unknown_dims, target_dims, target_numbers
from baton._src.tir import expr as tir
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import VOID, DataType

_CONSTANT = NotApplicable("depends on no tensor differentiably")


@attrs
class FullAttrs(Attrs):
    """Shape (in Relay) and dtype."""

    shape: Any = attr(None, "the shape", relay_only=True)
    dtype: Any = attr(None, "dtype of the elements; None: that of the fill value")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))
        if self.shape is not None:
            set_attr(self, "shape", (self.shape,) if isinstance(self.shape, int) else tuple(self.shape))


def infer_full(call: OpCall[FullAttrs]) -> Info:
    """The target shape; the dtype given, or that of the fill value."""
    relax = call.op.name == "full" and len(call.args) == 2
    fill: Any = call.args[1 if relax else 0]
    if not isinstance(fill, (TensorInfo, PrimInfo)):
        call.fail(f"the fill value must be a scalar, got {fill}", code="op-argument")
    if isinstance(fill, TensorInfo) and fill.ndim > 0:
        call.fail(f"the fill value must be a scalar, got shape {show_shape(fill.shape, fill.ndim)}")
    dtype = call.attrs.dtype if not call.attrs.dtype.is_void else fill.dtype
    return _of_shape(call, 0 if relax else 1, dtype)


def _of_shape(call: OpCall[Any], position: int, dtype: DataType) -> TensorInfo:
    shape = target_dims(call, position, "shape")
    if shape is None:
        return of_unknown_dims(call, position, dtype)
    if any(isinstance(d, int) and d < 0 for d in shape):
        call.fail(f"a dim of {show_shape(shape)} is negative")
    return TensorInfo(shape, dtype)


def _fill_operand(inputs: Any) -> Any:
    """The fill value among (shape, value) or (value,) or (value, shape)."""
    return inputs[1] if len(inputs) == 2 and isinstance(inputs[0], tuple) else inputs[0]


def compute_full(inputs: Any, a: FullAttrs, out: Any) -> Any:
    """The fill value everywhere."""
    fill = _fill_operand(inputs)

    def element(*i: Any) -> Any:
        value = fill() if isinstance(fill, k.Tensor) else fill
        return k.cast(out.dtype, value) if isinstance(value, PrimExpr) else k.const(value, out.dtype)

    return k.compute(out.shape, element, "full")


def reference_full(inputs: Any, a: FullAttrs) -> Any:
    """`numpy.full`."""
    fill = np.asarray(_fill_operand(inputs))
    shape = target_numbers(inputs, 0 if len(inputs) == 2 and isinstance(inputs[0], tuple) else 1, a.shape)
    dtype = fill.dtype if a.dtype.is_void else a.dtype.numpy
    return np.full(shape, fill.astype(dtype))


def relay_full(make: Any, fill_value: Any, shape: Any = (), dtype: Any = "") -> Any:
    """A shape that is a tensor makes it `dyn.full`."""
    if isinstance(shape, GraphExpr):
        return make.op("dyn.full", fill_value, shape, dtype=dtype)
    return make(fill_value, shape=shape, dtype=dtype)


FULL = OpDef(
    "full",
    FullAttrs,
    inputs=(Input("shape", kind="shape", languages=("relax",)), Input("fill_value", "a scalar tensor")),
    infer=infer_full,
    compute=compute_full,
    reference=reference_full,
    gradient=_CONSTANT,
    fusion=Fusion.ELEMWISE,
    relay_builder=relay_full,
    samples=lambda: (
        Sample((Shape(("n", 4)), Arr(())), FullAttrs()),
        Sample((Shape((2,)), Arr((), "int32", -9, 9)), FullAttrs(dtype="float32")),
        Sample((Arr(()),), FullAttrs(shape=(2, 3))),
    ),
    summary="A tensor with one value everywhere.",
)

DYN_FULL = OpDef(
    "dyn.full",
    FullAttrs,
    inputs=(Input("fill_value"), Input("shape", "a tensor of rank 1")),
    infer=infer_full,
    compute=compute_full,
    reference=reference_full,
    gradient=_CONSTANT,
    fusion=Fusion.ELEMWISE,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="A tensor of a computed shape with one value everywhere.",
)


@attrs
class ShapedAttrs(Attrs):
    """Shape (in Relay) and dtype."""

    shape: Any = attr(None, "the shape", relay_only=True)
    dtype: Any = attr("float32", "dtype of the elements")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))
        if self.shape is not None:
            set_attr(self, "shape", (self.shape,) if isinstance(self.shape, int) else tuple(self.shape))


def infer_shaped(call: OpCall[ShapedAttrs]) -> Info:
    """The target shape and the dtype given."""
    return _of_shape(call, 0, call.attrs.dtype)


def _constant(name: str, number: int) -> tuple[OpDef[Any], OpDef[Any]]:
    def compute(inputs: Any, a: ShapedAttrs, out: Any) -> Any:
        return k.compute(out.shape, lambda *i: k.const(number, out.dtype), name)

    def reference(inputs: Any, a: ShapedAttrs) -> Any:
        return np.full(target_numbers(inputs, 0, a.shape), number, a.dtype.numpy)

    def relay(make: Any, shape: Any, dtype: Any) -> Any:
        if isinstance(shape, GraphExpr):
            return make.op(f"dyn.{name}", shape, dtype=dtype)
        return make(shape=shape, dtype=dtype)

    static = OpDef(
        name,
        ShapedAttrs,
        inputs=(Input("shape", kind="shape", languages=("relax",)),),
        infer=infer_shaped,
        compute=compute,
        reference=reference,
        gradient=_CONSTANT,
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
        gradient=_CONSTANT,
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

    dtype: Any = attr(None, "dtype of the elements; None: that of the operand", relax_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))


def infer_like(call: OpCall[LikeAttrs]) -> Info:
    """The shape of the operand."""
    x = call.tensor(0)
    if len(call.args) == 2 and isinstance(call.args[1], TensorInfo) and call.args[1].ndim > 0:
        call.fail("the fill value must be a scalar")
    dtype = x.dtype if call.attrs.dtype.is_void else call.attrs.dtype
    return TensorInfo(x.shape, dtype, x.ndim, x.vdevice, x.shape_var)


def _like(name: str, number: int | None) -> OpDef[Any]:
    def compute(inputs: Any, a: LikeAttrs, out: Any) -> Any:
        return compute_full(inputs[1:] if number is None else (number,), FullAttrs(), out)

    def reference(inputs: Any, a: LikeAttrs) -> Any:
        dtype = inputs[0].dtype if a.dtype.is_void else a.dtype.numpy
        fill = np.asarray(inputs[1] if number is None else number).astype(dtype)
        return np.full(inputs[0].shape, fill)

    operands = (Input("x", relay_name="data"),) + ((Input("fill_value", "a scalar"),) if number is None else ())
    extra = (Arr((), "float32"),) if number is None else ()
    return OpDef(
        name,
        LikeAttrs,
        inputs=operands,
        infer=infer_like,
        compute=compute,
        reference=reference,
        gradient=_CONSTANT,
        fusion=Fusion.ELEMWISE,
        samples=lambda: (
            Sample((Arr(("n", 4)), *extra), LikeAttrs()),
            Sample((Arr((2,), "int32", -9, 9), *extra), LikeAttrs("float32")),
        ),
        summary="A tensor of another's shape with one value everywhere."
        if number is None
        else f"{number} everywhere, in another tensor's shape.",
    )


@attrs
class EyeAttrs(Attrs):
    """The dtype."""

    dtype: Any = attr("float32", "dtype of the elements")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))


def _prim(call: OpCall[Any], position: int) -> Any:
    found = call.args[position]
    return found.value if isinstance(found, PrimInfo) else None


def infer_eye(call: OpCall[EyeAttrs]) -> Info:
    """n rows, m columns (m: n)."""
    rows = _prim(call, 0)
    columns = _prim(call, 1) if len(call.args) > 1 else rows
    if rows is None or columns is None:
        return TensorInfo(None, call.attrs.dtype, 2)
    math_ = DimMath(call.prover)
    return TensorInfo((math_.normal(rows), math_.normal(columns)), call.attrs.dtype)


def compute_eye(inputs: Any, a: EyeAttrs, out: Any) -> Any:
    """1 where column - row is the offset."""
    offset = k.index(inputs[2] if len(inputs) > 2 else 0)
    one, zero = k.const(1, out.dtype), k.const(0, out.dtype)
    return k.compute(out.shape, lambda i, j: k.select(tir.EQ(j, i + offset), one, zero), "eye")


def reference_eye(inputs: Any, a: EyeAttrs) -> Any:
    """`numpy.eye`."""
    rows = inputs[0]
    columns = inputs[1] if len(inputs) > 1 else rows
    return np.eye(rows, columns, inputs[2] if len(inputs) > 2 else 0, a.dtype.numpy)


def relax_eye(make: Any, n: Any, m: Any = None, k: Any = 0, dtype: Any = "float32") -> Any:
    """m defaults to n."""
    return make(n, n if m is None else m, k, dtype=dtype)


EYE = OpDef(
    "eye",
    EyeAttrs,
    inputs=(
        Input("n", "rows", kind="prim"),
        Input("m", "columns", kind="prim"),
        Input("k", "which diagonal", kind="prim", default=0),
    ),
    infer=infer_eye,
    compute=compute_eye,
    reference=reference_eye,
    gradient=_CONSTANT,
    fusion=Fusion.ELEMWISE,
    relay_name=NotApplicable("Relay has no eye"),
    relax_builder=relax_eye,
    samples=lambda: (Sample(("n", 4, 1), EyeAttrs()), Sample((3, 3, 0), EyeAttrs("int32"))),
    summary="Ones on a diagonal, zeros elsewhere.",
)


@attrs
class ArangeAttrs(Attrs):
    """The dtype."""

    dtype: Any = attr(None, "dtype of the elements")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))


def infer_arange(call: OpCall[ArangeAttrs]) -> Info:
    """As many elements as fit before `stop`."""
    dtype = call.attrs.dtype
    if isinstance(call.args[0], TensorInfo):
        dtype = call.tensor(0).dtype if dtype.is_void else dtype
        known = [call.values[i] if i < len(call.values) else None for i in range(3)]
        if any(v is None for v in known):
            return TensorInfo((AnyDim(),), dtype)
        return TensorInfo((_count(*(np.asarray(v).item() for v in known)),), dtype)
    bounds = [_prim(call, i) for i in range(3)]
    if dtype.is_void:
        kinds = [a.dtype for a in call.args if isinstance(a, PrimInfo)]
        dtype = DataType("float32" if any(d.is_float for d in kinds) else "int64")
    if any(b is None for b in bounds):
        return TensorInfo(None, dtype, 1)
    return TensorInfo((_extent(call, *bounds),), dtype)


def _extent(call: OpCall[Any], start: Any, stop: Any, step: Any) -> Dim:
    numbers: list[Any] = [v.value if isinstance(v, (tir.IntImm, tir.FloatImm)) else v for v in (start, stop, step)]
    first, last, each = numbers
    if all(isinstance(v, (int, float)) for v in numbers):
        if each == 0:
            call.fail("step must not be 0", code="op-attribute")
        return _count(first, last, each)
    if not isinstance(each, int) or each <= 0:
        call.fail("a symbolic arange needs a positive integer step", code="op-attribute")
    dims = DimMath(call.prover)
    found = dims.ceil_divide(dims.subtract(last, first), each)
    return found if isinstance(first, int) and first == 0 and isinstance(last, tir.Var) else dims.maximum(found, 0)


def _count(start: float, stop: float, step: float) -> int:
    return max(0, math.ceil((stop - start) / step))


def compute_arange(inputs: Any, a: ArangeAttrs, out: Any) -> Any:
    """start + i * step in the dtype of the result (float32 for narrow floats)."""
    kept = k.sum_dtype(out.dtype)

    def scalar(value: Any) -> Any:
        found = value() if isinstance(value, k.Tensor) else value
        return k.cast(kept, found) if isinstance(found, PrimExpr) else k.const(found, kept)

    start, _, step = inputs
    return k.compute(out.shape, lambda i: k.cast(out.dtype, scalar(start) + k.cast(kept, i) * scalar(step)), "arange")


def reference_arange(inputs: Any, a: ArangeAttrs) -> Any:
    """start + i * step."""
    start, stop, step = (np.asarray(v).item() for v in inputs)
    if a.dtype.is_void:
        given = np.asarray(inputs[0])
        floats = any(isinstance(v, float) for v in (start, stop, step))
        dtype = given.dtype if isinstance(inputs[0], np.ndarray) else np.dtype("float32" if floats else "int64")
    else:
        dtype = a.dtype.numpy
    kept = k.sum_dtype(DataType(dtype)).numpy
    indices = np.arange(_count(start, stop, step)).astype(kept)
    return (np.asarray(start, kept) + indices * np.asarray(step, kept)).astype(dtype)


def relax_arange(make: Any, start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """One bound is the end."""
    return make(0 if end is None else start, start if end is None else end, step, dtype=dtype)


def relay_arange(make: Any, start: Any, stop: Any = None, step: Any = None, dtype: Any = "float32") -> Any:
    """One bound is the end; bounds are scalar tensors."""
    first, last = (0, start) if stop is None else (start, stop)
    bounds = [
        v if isinstance(v, GraphExpr) else make.const(v, dtype) for v in (first, last, 1 if step is None else step)
    ]
    return make(*bounds, dtype=dtype)


ARANGE = OpDef(
    "arange",
    ArangeAttrs,
    inputs=tuple(Input(n, kind="prim") for n in ("start", "stop", "step")),
    infer=infer_arange,
    compute=compute_arange,
    reference=reference_arange,
    gradient=_CONSTANT,
    fusion=Fusion.INJECTIVE,
    shape_values=(0, 1, 2),
    relax_builder=relax_arange,
    relay_builder=relay_arange,
    samples=lambda: (
        Sample((0, "n", 1), ArangeAttrs("int64")),
        Sample((2, 11, 3), ArangeAttrs()),
        Sample((5, 0, -2), ArangeAttrs("float32")),
        Sample((0, 3, 0.5), ArangeAttrs("float32")),
    ),
    summary="Evenly spaced numbers: start, start + step, ... before stop.",
)

CREATIONS: tuple[OpDef[Any], ...] = (
    FULL,
    DYN_FULL,
    *_constant("zeros", 0),
    *_constant("ones", 1),
    _like("full_like", None),
    _like("zeros_like", 0),
    _like("ones_like", 1),
    EYE,
    ARANGE,
)
