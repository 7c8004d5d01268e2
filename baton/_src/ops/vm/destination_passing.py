"""Relay's dialect of the VM: kernels that write into tensors they are given, shapes as values.

    let %n = vm.shape_of(%x)                                      int64 dims of %x
    let %_ = vm.shape_func(%f, (%n), (%m), is_inputs=[False])     writes the dims of %f's result into %m
    let %_ = vm.invoke_tvm_op(%f, (%x), (%out))                   writes %f(%x) into %out

Inputs and outputs are flat tuples of tensors. `ManifestAlloc` writes it. Source: facts relay-language §6 level 10,
public API of `tvm.relay.op.vm`.
"""

from __future__ import annotations

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Input, OpCall
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops.memory.storages import memory_op, shape_from_value
from baton._src.values.dtype import DataType

_FUNC = Input("func", "a function of tensors, flat, marked Primitive", kind="object")
_INPUTS, _OUTPUTS = Input("inputs", kind="tensors"), Input("outputs", "tensors to fill", kind="tensors")


@attrs
class ShapeOfAttrs(Attrs):
    """The dtype."""

    dtype: DataType = attr("int64", "dtype of the dims")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer_shape_of(call: OpCall[ShapeOfAttrs]) -> Info:
    """A vector, an element a dim."""
    return TensorInfo((call.tensor(0).ndim,), call.attrs.dtype)


def infer_invoke(call: OpCall[Attrs]) -> Info:
    """(); inputs and outputs must be tuples of tensors."""
    for index in (1, 2):
        given = call.args[index]
        if not isinstance(given, TupleInfo) or not all(isinstance(f, TensorInfo) for f in given.fields):
            name = call.op.inputs[index].name
            call.fail(f"{name} must be a tuple of tensors, got {given}", code="op-argument")
    return TupleInfo(())


@attrs
class ShapeFuncAttrs(Attrs):
    """What is given for each input."""

    is_inputs: tuple[bool, ...] = attr((), "for each input, whether it is the tensor itself (else its shape)")

    def __post_init__(self) -> None:
        set_attr(self, "is_inputs", tuple(bool(i) for i in self.is_inputs))


def infer_shape_func(call: OpCall[ShapeFuncAttrs]) -> Info:
    """(); there must be as many flags as inputs."""
    found = infer_invoke(call)
    given = call.args[1]
    count = len(given.fields) if isinstance(given, TupleInfo) else 0
    if len(call.attrs.is_inputs) != count:
        call.fail(f"is_inputs has {len(call.attrs.is_inputs)} flags for {count} inputs", code="op-attribute")
    return found


@attrs
class ReshapeTensorAttrs(Attrs):
    """What is known of the shape when compiling."""

    newshape: tuple[int, ...] | None = attr(None, "the known dims, -1 for others; None: what the operand says")

    def __post_init__(self) -> None:
        if self.newshape is not None:
            set_attr(self, "newshape", tuple(int(d) for d in self.newshape))


def infer_reshape_tensor(call: OpCall[ReshapeTensorAttrs]) -> Info:
    """The same elements under another shape."""
    return TensorInfo(shape_from_value(call, 1, call.attrs.newshape), call.tensor(0).dtype)


DESTINATION_PASSING: tuple[Definition, ...] = (
    memory_op("vm.shape_of", ShapeOfAttrs, (Input("expr"),), infer_shape_of, "The dims of a tensor."),
    memory_op(
        "vm.invoke_tvm_op",
        NoAttrs,
        (_FUNC, _INPUTS, _OUTPUTS),
        infer_invoke,
        "Computes a primitive function of the inputs into the outputs.",
    ),
    memory_op(
        "vm.shape_func",
        ShapeFuncAttrs,
        (_FUNC, _INPUTS, _OUTPUTS),
        infer_shape_func,
        "Computes the dims of a primitive function's results into the outputs.",
    ),
    memory_op(
        "vm.reshape_tensor",
        ReshapeTensorAttrs,
        (Input("data"), Input("shape", "a vector of dims")),
        infer_reshape_tensor,
        "A view of a tensor's memory under another shape.",
    ),
)
