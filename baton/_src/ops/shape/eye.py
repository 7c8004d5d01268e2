"""A matrix with ones on one diagonal: eye, eye_like. Source: facts relax-ops-passes-vm §1 (create)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.operand_checks import check_scalar
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.creation import LikeAttrs, no_gradient
from baton._src.ops.shape.targets import scalar_value
from baton._src.tir import expr as tir
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


@attrs
class EyeAttrs(Attrs):
    """The dtype."""

    dtype: DataType = attr("float32", "dtype of the elements")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))


def infer_eye(call: OpCall[EyeAttrs]) -> Info:
    """n rows, m columns (m: n)."""
    rows = scalar_value(call, 0)
    columns = scalar_value(call, 1) if len(call.args) > 1 else rows
    counts = [a for a in call.args[:2] if isinstance(a, PrimInfo)]
    if isinstance(rows, float) or isinstance(columns, float) or not all(c.dtype.is_int for c in counts):
        call.fail(f"numbers of rows and columns are integers, got {rows} and {columns}", code="op-attribute")
    if rows is None or columns is None:
        return TensorInfo(None, call.attrs.dtype, 2)
    math_ = DimMath(call.prover)
    return TensorInfo((math_.normal(rows), math_.normal(columns)), call.attrs.dtype)


def infer_eye_like(call: OpCall[LikeAttrs]) -> Info:
    """The shape of the operand, which is a matrix."""
    x = call.tensor(0)
    if x.ndim not in (2, -1):
        call.fail(f"takes a matrix, got {show_shape(x.shape, x.ndim)}")
    if len(call.args) > 1:
        check_scalar(call, 1)
    dtype = x.dtype if call.attrs.dtype.is_void else call.attrs.dtype
    return TensorInfo(x.shape, dtype, 2, x.vdevice, x.shape_var if x.ndim == 2 else None)


def compute_eye(inputs: Sequence[Dim], a: EyeAttrs, out: k.Result) -> k.Tensor:
    """1 where column - row is the offset, the last operand."""
    return _diagonal(inputs[2] if len(inputs) > 2 else 0, out)


def _diagonal(number: Dim, out: k.Result) -> k.Tensor:
    offset = k.index(number)
    one, zero = k.const(1, out.dtype), k.const(0, out.dtype)
    return k.compute(out.shape, lambda i, j: k.select(tir.EQ(j, i + offset), one, zero), "eye")


def reference_eye(inputs: Sequence[int], a: EyeAttrs) -> AnyArray:
    """`numpy.eye`."""
    rows = inputs[0]
    columns = inputs[1] if len(inputs) > 1 else rows
    return np.eye(rows, columns, inputs[2] if len(inputs) > 2 else 0, dtype=a.dtype.numpy)


def reference_eye_like(inputs: tuple[AnyArray] | tuple[AnyArray, int], a: LikeAttrs) -> AnyArray:
    """`numpy.eye`."""
    rows, columns = inputs[0].shape
    offset = inputs[1] if len(inputs) == 2 else 0
    return np.eye(rows, columns, offset, dtype=inputs[0].dtype if a.dtype.is_void else a.dtype.numpy)


def relax_eye(make: OpBuilder, n: Given, m: Given = None, k: Given = 0, dtype: object = "float32") -> Made:
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
    gradient=no_gradient,
    fusion=Fusion.ELEMWISE,
    relay_name=NotApplicable("Relay has no eye"),
    relax_builder=relax_eye,
    samples=lambda: (Sample(("n", 4, 1), EyeAttrs()), Sample((3, 3, 0), EyeAttrs("int32"))),
    summary="A matrix with ones on a diagonal and zeros elsewhere.",
)

EYE_LIKE = OpDef(
    "eye_like",
    LikeAttrs,
    inputs=(Input("x", "a matrix"), Input("k", "which diagonal", kind="prim", default=0)),
    infer=infer_eye_like,
    compute=lambda inputs, a, out: _diagonal(inputs[1] if len(inputs) > 1 else 0, out),
    reference=reference_eye_like,
    gradient=no_gradient,
    fusion=Fusion.ELEMWISE,
    relay_name=NotApplicable("Relay has no eye_like"),
    samples=lambda: (
        Sample((Arr(("n", 4)), 1), LikeAttrs()),
        Sample((Arr((3, "m"), "int32", -9, 9), "n"), LikeAttrs("float32")),
    ),
    summary="Ones on a diagonal and zeros elsewhere, in another matrix's shape.",
)
