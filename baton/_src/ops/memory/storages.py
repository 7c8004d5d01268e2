"""Relay's memory dialect: storages, tensors in them, and the ends of their lives. `ManifestAlloc` writes it.

    let %s = memory.alloc_storage(24i64, meta[...], 64i64)        24 bytes
    let %t = memory.alloc_tensor(%s, 0i64, meta[...])             a tensor in them, filled by `vm.invoke_tvm_op`
    let %_ = memory.kill(%s)                                      nobody looks at them any more

A tensor's shape is the value of an int64 vector; `assert_shape` says what of it is known (-1: nothing) where that is no
constant. Source: facts relay-language §6 level 10, public API of `tvm.relay.op.memory`.
"""

from __future__ import annotations

from typing import TypeVar

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Infer, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import STORAGE, Dim, Info, TensorInfo, TupleInfo
from baton._src.tir.expr import AnyDim
from baton._src.values.device import Device
from baton._src.values.dtype import DataType

NO_KERNEL = NotApplicable("it is about memory: relay.memory_calls interprets it, compiled code plans memory in Relax")
NO_SLOPE = NotApplicable("programs are differentiated before their memory is planned")


A = TypeVar("A", bound=Attrs)


def memory_op(name: str, record: type[A], inputs: tuple[Input, ...], infer: Infer[A], summary: str) -> OpDef[A]:
    """An operator of Relay's memory and vm dialects: it has side effects, and only its type rule is defined here."""
    return OpDef(
        f"dialect.{name}",  # Relax has operators of some of these names
        record,
        inputs=inputs,
        infer=infer,
        compute=NO_KERNEL,
        reference=NO_KERNEL,
        gradient=NO_SLOPE,
        fusion=Fusion.OPAQUE,
        pure=False,
        stateful=True,
        relay_name=name,
        in_relax=False,
        samples=lambda: (),
        summary=summary,
    )


@attrs
class AllocStorageAttrs(Attrs):
    """Where, and for what."""

    virtual_device: Device | str = attr("cpu", "the device whose memory it is")
    dtype_hint: DataType | str = attr("float32", "dtype of the tensors it will hold, for devices that care")


def infer_alloc_storage(call: OpCall[AllocStorageAttrs]) -> Info:
    """A storage; size and alignment are numbers."""
    for index in (0, 2):
        found = call.tensor(index)
        if found.ndim > 0 or found.dtype.is_float or found.dtype.is_bool:
            name = call.op.inputs[index].name
            call.fail(f"{name} must be a whole number, got {found}", code="op-argument")
    return STORAGE


@attrs
class AllocTensorAttrs(Attrs):
    """What is known of the tensor when compiling."""

    dtype: DataType = attr("float32", "dtype of the elements")
    assert_shape: tuple[int, ...] | None = attr(None, "the known dims, -1 for others; None: what the operand says")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))
        if self.assert_shape is not None:
            set_attr(self, "assert_shape", tuple(int(d) for d in self.assert_shape))


def infer_alloc_tensor(call: OpCall[AllocTensorAttrs]) -> Info:
    """A tensor of the requested dtype and shape."""
    if call.args[0] != STORAGE:
        call.fail(f"storage must be what memory.alloc_storage gives, got {call.args[0]}", code="op-argument")
    return TensorInfo(shape_from_value(call, 2, call.attrs.assert_shape), call.attrs.dtype)


def shape_from_value(call: OpCall[Attrs], index: int, known: tuple[int, ...] | None) -> tuple[Dim, ...]:
    """The dims that operand `index` (a vector of whole numbers) stands for: `known` where that is given, else its
    value, else as many unknown dims as it has elements."""
    vector = call.tensor(index)
    if vector.ndim != 1 or vector.shape is None or not isinstance(vector.shape[0], int):
        call.fail(f"a shape must be a vector of known length, got {vector}", code="op-argument")
    rank = vector.shape[0]
    value = call.values[index] if index < len(call.values) else None
    if known is None:
        known = tuple(int(d) for d in value) if value is not None else (-1,) * rank
    if len(known) != rank:
        call.fail(f"the shape has {rank} dims, but {known} was requested")
    return tuple(d if d >= 0 else AnyDim() for d in known)


def infer_kill(call: OpCall[Attrs]) -> Info:
    """()"""
    return TupleInfo(())


STORAGES: tuple[Definition, ...] = (
    memory_op(
        "memory.alloc_storage",
        AllocStorageAttrs,
        (Input("size", "in bytes"), Input("shape", "the dims of what it is for"), Input("alignment", "in bytes")),
        infer_alloc_storage,
        "A piece of memory.",
    ),
    memory_op(
        "memory.alloc_tensor",
        AllocTensorAttrs,
        (Input("storage", kind="object"), Input("offset", "in bytes"), Input("shape", "a vector of dims")),
        infer_alloc_tensor,
        "A tensor in a storage; its elements are arbitrary until something writes them.",
    ),
    memory_op(
        "memory.kill",
        NoAttrs,
        (Input("value", "a storage or a tensor", kind="object"),),
        infer_kill,
        "Says that nobody uses a storage or tensor from here on.",
    ),
)
