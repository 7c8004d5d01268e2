"""Implementations of the special operators (facts: relax-language §10) on the values of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from baton._src.relax.interpret.checks import describe_value
from baton._src.relax.interpret.environment import Frame
from baton._src.relax.nodes import Call, ShapeExpr
from baton._src.relax.special.shapes import dtype_code
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.runtime.tensor_sizes import extents
from baton._src.runtime.vm.builtins.functions import assert_op, print_values
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task
from baton._src.values.dtype import DataType
from baton._src.values.prim import prim
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray


class Machine(Protocol):
    """The interface of the interpreter that the operators use."""

    def run_kernel(self, function: Any, args: list[Any]) -> None: ...
    def call(self, callee: Any, args: tuple[Any, ...]) -> Task[Any]: ...
    def packed(self, callee: Any) -> Callable[..., Any]: ...
    def partial(self, callee: Any, captured: tuple[Any, ...]) -> Any: ...


Run = Callable[[Machine, Call, tuple[Any, ...], Frame], Any]


def allocate(call: Call, frame: Frame) -> tuple[list[NDArray], bool]:
    """Fresh tensors for the outputs of a destination-passing call, and whether they come as a tuple.

    Their contents are arbitrary; they start as zeros, so that runs repeat.
    """
    said = call.sinfo_args[0]
    whole = isinstance(said, TupleStructInfo)
    infos = said.fields if isinstance(said, TupleStructInfo) else (said,)
    made: list[NDArray] = []
    for info in infos:
        assert isinstance(info, TensorStructInfo)
        assert isinstance(info.shape, ShapeExpr)
        made.append(NDArray(np.zeros(extents(frame.dims(info.shape.values)), info.dtype.numpy)))
    return made, whole


def _packed(outputs: list[Any], whole: bool) -> Any:
    return tuple(outputs) if whole else outputs[0]


def _call_tir(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    outputs, whole = allocate(call, frame)
    integers = list(args[2]) if len(args) > 2 else []
    machine.run_kernel(args[0], [*args[1], *outputs, *integers])
    return _packed(outputs, whole)


def _call_tir_inplace(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    outputs, whole = allocate(call, frame)
    given = args[1]
    result: list[Any] = []
    fresh: list[Any] = []
    for output, index in zip(outputs, call.attrs.inplace_indices):
        if index == -1:
            fresh.append(output)
        result.append(output if index == -1 else given[index])
    integers = list(args[2]) if len(args) > 2 else []
    machine.run_kernel(args[0], [*given, *fresh, *integers])
    return _packed(result, whole)


def _call_dps_packed(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Task[Any]:
    outputs, whole = allocate(call, frame)
    yield machine.call(args[0], (*args[1], *outputs))
    return _packed(outputs, whole)


def _call_packed(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Task[Any]:
    return (yield machine.call(args[0], args[1:]))


def _call_builtin(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Task[Any]:
    found = yield machine.call(args[0], (machine, *args[1]))
    return found if call.sinfo_args else ()


def _make_closure(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return machine.partial(args[0], args[1])


def _invoke_closure(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Task[Any]:
    return (yield machine.call(args[0], tuple(args[1])))


def _null(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return None


def _print(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return print_values(*args)


def _assert(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return assert_op(*args)


def _shape_of(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return ShapeTuple(_tensor(args[0], "shape_of").shape)


def _tensor_to_shape(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    data = _tensor(args[0], "tensor_to_shape").data
    if data.ndim != 1 or data.dtype != np.int64:
        raise fail(
            "value-mismatch", f"tensor_to_shape: expected a rank-1 int64 tensor, found {describe_value(args[0])}"
        )
    return ShapeTuple(data.tolist())


def _shape_to_tensor(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return NDArray(np.array(args[0], np.int64))


def _tensor(value: Any, name: str) -> NDArray:
    if not isinstance(value, NDArray):
        raise fail("value-mismatch", f"{name}: expected a tensor, found {describe_value(value)}")
    return value


def _alloc_tensor(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return NDArray(np.zeros(extents(args[0]), DataType(args[1]).numpy))


def _alloc_storage(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return NDArray(np.zeros(int(np.prod(tuple(args[0]))), np.uint8))


def _alloc_from_storage(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    storage, offset, shape, dtype = args[:4]
    return _view(_tensor(storage, "alloc_tensor"), extents(shape), DataType(dtype), int(offset))


def _memory_view(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    padded: list[Any] = [*args, *[()] * (4 - len(args))]
    data, shape, dtype, offset = padded
    source = _tensor(data, "view")
    dims = tuple(shape) if isinstance(shape, ShapeTuple) else source.shape
    kind = DataType(dtype) if isinstance(dtype, str) else source.dtype
    return _view(source, dims, kind, int(offset) if offset != () else 0)


def _view(source: NDArray, shape: tuple[int, ...], dtype: DataType, offset: int) -> NDArray:
    memory = source.data.reshape(-1).view(np.uint8)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if offset < 0 or offset + size > memory.size:
        raise fail("value-mismatch", f"view: {size} bytes from byte {offset} do not fit the {memory.size} there are")
    return NDArray(memory[offset : offset + size].view(dtype.numpy).reshape(shape), source.device)


def _same(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return args[0]


def _unit(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    return ()


def _call_tir_dyn(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    *given, integers = args[1]
    machine.run_kernel(args[0], [*given, *integers])
    return ()


def _to_vdevice(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
    source = _tensor(args[0], "to_vdevice")
    call.attrs.dst_vdevice.check_present("the result of to_vdevice")
    return NDArray(source.data.copy(), source.device)


def _header(read: Callable[[NDArray, int], int]) -> Run:
    """An operator that reads a tensor's header."""

    def run(machine: Machine, call: Call, args: tuple[Any, ...], frame: Frame) -> Any:
        axis = int(args[1]) if len(args) > 1 else 0
        tensor = _tensor(args[0], "inspect")
        if len(args) > 1 and not 0 <= axis < tensor.ndim:
            raise fail("value-mismatch", f"axis {axis} is out of range for {describe_value(tensor)}")
        return prim(read(tensor, axis), call.struct_info.dtype)

    return run


RUN: dict[str, Run] = {
    "call_tir": _call_tir,
    "call_tir_inplace": _call_tir_inplace,
    "call_tir_with_grad": _call_tir,
    "make_closure": _make_closure,
    "null_value": _null,
    "print": _print,
    "assert_op": _assert,
    "shape_of": _shape_of,
    "tensor_to_shape": _tensor_to_shape,
    "shape_to_tensor": _shape_to_tensor,
    "builtin.alloc_tensor": _alloc_tensor,
    "builtin.stop_lift_params": _same,
    "memory.alloc_storage": _alloc_storage,
    "memory.alloc_tensor": _alloc_from_storage,
    "memory.kill_storage": _unit,
    "memory.kill_tensor": _unit,
    "memory.view": _memory_view,
    "memory.ensure_zero_offset": _same,
    "vm.alloc_storage": _alloc_storage,
    "vm.alloc_tensor": _alloc_from_storage,
    "vm.kill_object": _unit,
    "vm.call_tir_dyn": _call_tir_dyn,
    "to_vdevice": _to_vdevice,
    "hint_on_device": _same,
    "inspect.tensor_dtype_code": _header(lambda t, _: dtype_code(t.dtype)),
    "inspect.tensor_dtype_bits": _header(lambda t, _: t.dtype.bits),
    "inspect.tensor_dtype_lanes": _header(lambda t, _: t.dtype.lanes),
    "inspect.tensor_ndim": _header(lambda t, _: t.ndim),
    "inspect.tensor_shape_i": _header(lambda t, axis: t.shape[axis]),
    "inspect.tensor_stride_i": _header(lambda t, axis: t.data.strides[axis] // t.data.itemsize),
    "inspect.tensor_byte_offset": _header(lambda t, _: 0),
    "inspect.tensor_elem_offset": _header(lambda t, _: 0),
}
"""What the operators do that call nothing, by name."""

RUN_CALLS: dict[str, Callable[[Machine, Call, tuple[Any, ...], Frame], Task[Any]]] = {
    "call_dps_packed": _call_dps_packed,
    "call_pure_packed": _call_packed,
    "call_inplace_packed": _call_packed,
    "call_builtin_with_ctx": _call_builtin,
    "invoke_closure": _invoke_closure,
    "invoke_pure_closure": _invoke_closure,
}
"""Those that call a function, as tasks."""
