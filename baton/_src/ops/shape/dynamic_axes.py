"""Relay's operators whose axes or extents are tensors: dyn.expand_dims, dyn.squeeze, dyn.sparse_to_dense.

Known constants give a known shape; otherwise what depends on them is unknown. They run by their meaning over NumPy
once the values are there; DynamicToStatic replaces them where the values are constants. Source: facts relay-language
§6 (dyn).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs
from baton._src.ir.op_def import Definition, Fusion, Infer, Input, NotApplicable, OpCall, OpDef, Reference
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops.axes import normal_axes, normal_axis
from baton._src.ops.op_builder import Made
from baton._src.ops.shape.grids import SparseToDenseAttrs, reference_sparse
from baton._src.tir.expr import AnyDim
from baton._src.values.tensor import AnyArray

_RUN_TIME = NotApplicable("the shape depends on values that are computed")
_NO_SLOPE = NotApplicable("made static before differentiation")


def _numbers(call: OpCall[Attrs], position: int) -> tuple[int, ...] | None:
    """The elements of an operand that is a known constant."""
    value = call.values[position] if position < len(call.values) else None
    return None if value is None else tuple(int(v) for v in np.asarray(value).reshape(-1))


@attrs
class NewAxesAttrs(Attrs):
    """How many."""

    num_newaxis: int = attr(1, "how many axes go there")


def infer_expand(call: OpCall[NewAxesAttrs]) -> Info:
    """Ones put in; where the place is unknown, only the rank is known."""
    x, count = call.tensor(0), call.attrs.num_newaxis
    if count < 0:
        call.fail(f"num_newaxis is 0 or more, got {count}", code="op-attribute")
    if x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    known = _numbers(call, 1)
    if known is None or x.shape is None:
        dims = (AnyDim(),) * (x.ndim + count) if x.shape is not None else None
        return TensorInfo(dims, x.dtype, x.ndim + count, x.vdevice)
    axis = normal_axis(call, known[0], x.ndim + 1)
    return TensorInfo((*x.shape[:axis], *(1,) * count, *x.shape[axis:]), x.dtype, vdevice=x.vdevice)


def reference_expand(inputs: Sequence[AnyArray], a: NewAxesAttrs) -> AnyArray:
    """`numpy.expand_dims`."""
    x, axis = inputs[0], int(np.asarray(inputs[1]).reshape(-1)[0])
    first = axis if axis >= 0 else axis + x.ndim + 1
    return np.expand_dims(x, tuple(range(first, first + a.num_newaxis)))


def infer_squeeze(call: OpCall[Attrs]) -> Info:
    """Ones taken out; the rank is known from how many are named."""
    x, axes = call.tensor(0), call.tensor(1)
    known = _numbers(call, 1)
    if x.shape is None:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    if known is not None:
        gone = normal_axes(call, known, x.ndim)
        return TensorInfo(tuple(d for i, d in enumerate(x.shape) if i not in gone), x.dtype, vdevice=x.vdevice)
    count = axes.shape[0] if axes.shape is not None and len(axes.shape) == 1 else None
    if not isinstance(count, int):
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    return TensorInfo((AnyDim(),) * (x.ndim - count), x.dtype, vdevice=x.vdevice)


def infer_sparse(call: OpCall[Attrs]) -> Info:
    """The shape if it is a constant, else unknown dims of that rank."""
    values, shape = call.tensor(1), call.tensor(3)
    if shape.ndim not in (-1, 1):
        call.fail(f"the output shape must be a vector, got rank {shape.ndim}")
    known = _numbers(call, 3)
    if known is not None:
        return TensorInfo(known, values.dtype)
    rank = shape.shape[0] if shape.shape is not None and len(shape.shape) == 1 else None
    return TensorInfo((AnyDim(),) * rank if isinstance(rank, int) else None, values.dtype)


A = TypeVar("A", bound=Attrs)


def _define(
    name: str,
    record: type[A],
    inputs: tuple[Input, ...],
    infer: Infer[A],
    reference: Reference[A],
    places: tuple[int, ...],
    relay_builder: Callable[..., Made] | None = None,
) -> OpDef[A]:
    return OpDef(
        f"dyn.{name}",
        record,
        inputs=inputs,
        infer=infer,
        compute=_RUN_TIME,
        reference=reference,
        gradient=_NO_SLOPE,
        fusion=Fusion.OPAQUE,
        in_relax=False,
        shape_values=places,
        samples=lambda: (),
        summary=f"{name} with extents computed at run time.",
        relay_builder=relay_builder,
    )


DYNAMIC_AXES: tuple[Definition, ...] = (
    _define("expand_dims", NewAxesAttrs, (Input("data"), Input("axis")), infer_expand, reference_expand, (1,)),
    _define(
        "squeeze",
        NoAttrs,
        (Input("data"), Input("axes")),
        infer_squeeze,
        lambda inputs, a: np.squeeze(inputs[0], tuple(int(v) for v in np.asarray(inputs[1]).reshape(-1))),
        (1,),
    ),
    _define(
        "sparse_to_dense",
        NoAttrs,
        (Input("sparse_indices"), Input("sparse_values"), Input("default_value"), Input("output_shape")),
        infer_sparse,
        lambda inputs, a: reference_sparse(inputs[:3], SparseToDenseAttrs(tuple(int(d) for d in inputs[3]))),
        (3,),
    ),
)
