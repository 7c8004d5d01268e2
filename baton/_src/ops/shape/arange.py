"""Numbers in even steps: arange, start + i * step for i below ceil((stop - start) / step).

Relax takes bounds as arguments, Relay as scalar tensors. Source: facts relax-ops-passes-vm §1 (create), relay-language
§6 level 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.samples import Sample
from baton._src.ops.shape.creation import no_gradient
from baton._src.ops.shape.targets import scalar_value
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray

_OPERANDS = ("start", "stop", "step")


@attrs
class ArangeAttrs(Attrs):
    """The dtype."""

    dtype: DataType = attr(None, "dtype of the elements")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype or VOID))

    @classmethod
    def said_in_relay(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """TVM's record repeats the operands."""
        return {name: content for name, content in given.items() if name not in _OPERANDS}

    @classmethod
    def accepts(cls, name: str) -> bool:
        return name in _OPERANDS or super().accepts(name)


def infer_arange(call: OpCall[ArangeAttrs]) -> Info:
    """A vector of the values from `start` to before `stop`."""
    dtype = call.attrs.dtype
    if isinstance(call.args[0], TensorInfo):
        dtype = call.tensor(0).dtype if dtype.is_void else dtype
        known = [call.values[i] if i < len(call.values) else None for i in range(3)]
        if any(v is None for v in known):
            return TensorInfo((AnyDim(),), dtype)
        return TensorInfo((_count(*(np.asarray(v).item() for v in known)),), dtype)
    bounds = [b for i in range(3) if (b := scalar_value(call, i)) is not None]
    if dtype.is_void:
        kinds = [a.dtype for a in call.args if isinstance(a, PrimInfo)]
        dtype = DataType("float32" if any(d.is_float for d in kinds) else "int64")
    extent = None if len(bounds) < 3 else _extent(call, *bounds)
    return TensorInfo(None if extent is None else (extent,), dtype, 1)


def _extent(call: OpCall[Attrs], *bounds: float | PrimExpr) -> Dim | None:
    """How many there are; None if no formula over integers says it."""
    first, last, each = (v.value if isinstance(v, (tir.IntImm, tir.FloatImm)) else v for v in bounds)
    if isinstance(each, (int, float)) and each == 0:
        call.fail("step must not be 0", code="op-attribute")
    if isinstance(first, (int, float)) and isinstance(last, (int, float)) and isinstance(each, (int, float)):
        return _count(first, last, each)
    if not isinstance(each, int) or isinstance(first, float) or isinstance(last, float):
        return None
    dims = DimMath(call.prover)
    way = dims.subtract(last, first) if each > 0 else dims.subtract(first, last)
    found = dims.ceil_divide(way, abs(each))
    counted = each > 0 and isinstance(first, int) and first == 0 and isinstance(last, tir.Var)
    return found if counted else dims.maximum(found, 0)


def _count(start: float, stop: float, step: float) -> int:
    steps = (stop - start) / step if step else math.inf
    if not math.isfinite(steps):
        raise fail("op-attribute", f"arange: from {start} to {stop} in steps of {step} there is no end")
    return max(0, math.ceil(steps))


def compute_arange(inputs: Sequence[k.Operand | float], a: ArangeAttrs, out: k.Result) -> k.Tensor:
    """start + i * step in the dtype of the result (float32 for narrow floats)."""
    kept = k.sum_dtype(out.dtype)

    def scalar(value: k.Operand | float) -> k.Scalar:
        found = value() if isinstance(value, k.Tensor) else value
        return k.cast(kept, found) if isinstance(found, PrimExpr) else k.const(found, kept)

    start, _, step = inputs
    return k.compute(
        out.shape, lambda ax0: k.cast(out.dtype, scalar(start) + k.cast(kept, ax0) * scalar(step)), "T_arange"
    )


def reference_arange(inputs: Sequence[AnyArray | float], a: ArangeAttrs) -> AnyArray:
    """start + i * step."""
    start, stop, step = (np.asarray(v).item() for v in inputs)
    if a.dtype.is_void:
        given = np.asarray(inputs[0])
        floats = any(isinstance(v, float) for v in (start, stop, step))
        dtype = DataType(given.dtype if isinstance(inputs[0], np.ndarray) else "float32" if floats else "int64")
    else:
        dtype = a.dtype
    kept = k.sum_dtype(dtype)
    indices, first, distance = (convert(v, kept) for v in (np.arange(_count(start, stop, step)), start, step))
    return convert(first + indices * distance, dtype)


def relax_arange(make: OpBuilder, start: Given, end: Given = None, step: Given = 1, dtype: object = None) -> Made:
    """One bound is the end."""
    return make(0 if end is None else start, start if end is None else end, step, dtype=dtype)


def relay_arange(
    make: OpBuilder, start: Given, stop: Given = None, step: Given = None, dtype: object = "float32"
) -> Made:
    """One bound is the end; bounds are scalar tensors."""
    first, last = (0, start) if stop is None else (start, stop)
    bounds = [
        v if isinstance(v, GraphExpr) else make.const(v, dtype) for v in (first, last, 1 if step is None else step)
    ]
    return make(*bounds, dtype=dtype)


ARANGE = OpDef(
    "arange",
    ArangeAttrs,
    inputs=tuple(Input(n, kind="prim") for n in _OPERANDS),
    infer=infer_arange,
    compute=compute_arange,
    reference=reference_arange,
    gradient=no_gradient,
    fusion=Fusion.OPAQUE,  # inlined as an index it would be one of loops, which kernels trust
    shape_values=(0, 1, 2),
    relax_builder=relax_arange,
    relay_builder=relay_arange,
    samples=lambda: (
        Sample((0, "n", 1), ArangeAttrs("int64")),
        Sample((2, 11, 3), ArangeAttrs()),
        Sample((5, 0, -2), ArangeAttrs("float32")),
        Sample(("n", 0, -2), ArangeAttrs("float32")),
        Sample((0, 3, 0.5), ArangeAttrs("float32")),
    ),
    summary="Evenly spaced numbers: start, start + step, ... before stop.",
)
