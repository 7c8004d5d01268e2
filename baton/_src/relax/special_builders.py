"""Builder functions of Relax's special operators: effects, shapes, devices, memory (`tvm.relax.op`, `R`; v0.19).

They only create nodes; the call is checked when it is normalised. `SPECIAL_BUILDERS` lists those of calls
(`call_builders`) and of literals (`literals`) too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.global_info import VDevice
from baton._src.relax.call_builders import (
    call_builtin_with_ctx,
    call_dps_packed,
    call_inplace_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_dyn,
    call_tir_inplace,
    call_tir_with_grad,
    invoke_closure,
    invoke_pure_closure,
    make_closure,
)
from baton._src.relax.check.report import API
from baton._src.relax.literals import as_expr, const, dtype_value, make_tuple, prim_value, shape, string
from baton._src.relax.nodes import (
    Call,
    DataTypeImm,
    ExternFunc,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
)
from baton._src.relax.special.devices import HintOnDeviceAttrs, ToVDeviceAttrs
from baton._src.relax.special_ops import SPECIAL_OPS, special_op
from baton._src.support.diagnostics import fail
from baton._src.values.device import Device

# ------------------------------------------------------------------------------------------------------- effects


def null_value() -> Call:
    """The null object."""
    return Call(special_op("null_value"), [])


def print_values(*values: Any, format: Any = "") -> Call:
    """Write the values; `format` is a Python format string, "" writes them as they are (`R.print`)."""
    return Call(special_op("print"), [_format(format), *map(as_expr, values)])


def assert_op(condition: Any, format_args: Any = None, *more: Any, format: Any = "") -> Call:
    """Stop with the formatted message if the boolean scalar is false (`R.assert_op`).

    `format_args`: an expression or a list of expressions to show in the message; TVMScript passes them as separate
    arguments.
    """
    if len(more) == 1 and isinstance(more[0], (str, StringImm)) and isinstance(format_args, (list, tuple, NoneType)):
        format, more = more[0], ()  # the third parameter, by position
    given = () if format_args is None else format_args if isinstance(format_args, (list, tuple)) else (format_args,)
    return Call(special_op("assert_op"), [_condition(condition), _format(format), *map(as_expr, (*given, *more))])


def _condition(condition: Any) -> Any:
    return const(condition, "bool") if isinstance(condition, (bool, np.bool_)) else as_expr(condition)


def _format(text: Any) -> Any:
    return StringImm(text) if isinstance(text, str) else as_expr(text)


# ------------------------------------------------------------------------------------------------ shapes, devices


def shape_of(expr: Any) -> Call:
    """The shape of a tensor."""
    return Call(special_op("shape_of"), [expr])


def tensor_to_shape(expr: Any) -> Call:
    """The shape whose dims a rank-1 int64 tensor lists. Negative ones pass, as shapes also carry places and steps: what
    makes a tensor of such a shape refuses it.
    """
    return Call(special_op("tensor_to_shape"), [expr])


def shape_to_tensor(expr: Any) -> Call:
    """A rank-1 int64 tensor of a shape's dims."""
    return Call(special_op("shape_to_tensor"), [expr])


def to_vdevice(data: Any, dst_vdevice: Any) -> Call:
    """The tensor, copied to a virtual device: a `VDevice`, or one by name (`"llvm:1"`, `"llvm:1:global"`)."""
    if isinstance(dst_vdevice, str):
        target, _, rest = dst_vdevice.partition(":")
        number, _, scope = rest.partition(":")
        if number and not number.isdecimal():
            raise fail(
                API, f"{dst_vdevice!r} is not the name of a device", help='names are like "llvm:1" or "llvm:1:global"'
            )
        dst_vdevice = VDevice(target, int(number or 0), scope or "global")
    return Call(special_op("to_vdevice"), [data], ToVDeviceAttrs(dst_vdevice))


def hint_on_device(data: Any, dst_vdevice: Any = None, memory_scope: str = "global", **place: int) -> Call:
    """Hint that a tensor should be on a device: a `Device`, or (as in Relax's text) `dev_type` and `dev_id`."""
    unknown = place.keys() - {"dev_type", "dev_id"}
    if unknown:
        raise TypeError(
            f"hint_on_device() has no parameter {min(unknown)!r}; a device is a Device, or dev_type and dev_id"
        )
    kind = place.get("dev_type", getattr(dst_vdevice, "device_type", 1))
    index = place.get("dev_id", getattr(dst_vdevice, "device_id", 0))
    return Call(special_op("hint_on_device"), [data], HintOnDeviceAttrs(kind, index, memory_scope))


def device(dev_type: int = 1, dev_id: int = 0) -> Device:
    """The device of that kind (DLPack's number) and number, for `hint_on_device`."""
    return Device(int(dev_type), int(dev_id))


def view(data: Any, shape: Any = None, dtype: Any = None, relative_byte_offset: Any = None) -> Call:
    """A tensor over the same memory with another shape, dtype or start (`R.memory.view`)."""
    unit = Tuple([])
    dims = unit if shape is None else _shape(shape)
    kind = unit if dtype is None else _dtype(dtype)
    start = unit if relative_byte_offset is None else as_expr(relative_byte_offset)
    return Call(special_op("memory.view"), [data, dims, kind, start])


def alloc_tensor(shape: Any, dtype: Any, runtime_device_index: Any, storage_scope: Any = "global") -> Call:
    """A new tensor (`R.builtin.alloc_tensor`)."""
    found = [_shape(shape), _dtype(dtype), as_expr(runtime_device_index), as_expr(storage_scope)]
    return Call(special_op("builtin.alloc_tensor"), found)


def alloc_storage(size: Any, virtual_device_index: Any, storage_scope: Any, dtype: Any) -> Call:
    """Memory of `size` bytes (`R.memory.alloc_storage`)."""
    found = [_shape(size), as_expr(virtual_device_index), as_expr(storage_scope), _dtype(dtype)]
    return Call(special_op("memory.alloc_storage"), found)


def vm_alloc_storage(shape: Any, runtime_device_index: Any, dtype: Any, storage_scope: Any = "global") -> Call:
    """Memory of `shape` bytes (`R.vm.alloc_storage`)."""
    found = [_shape(shape), as_expr(runtime_device_index), _dtype(dtype), as_expr(storage_scope)]
    return Call(special_op("vm.alloc_storage"), found)


def _tensor_in(name: str) -> Callable[..., Call]:
    def build(storage: Any, offset: Any, shape: Any, dtype: Any) -> Call:
        return Call(special_op(name), [storage, as_expr(offset), _shape(shape), _dtype(dtype)])

    return _named(build, name)


def _shape(value: Any) -> Any:
    return value if isinstance(value, GraphExpr) else ShapeExpr(value)


def _dtype(value: Any) -> Any:
    return value if isinstance(value, GraphExpr) else DataTypeImm(value)


def _by_name(name: str, *operands: str) -> Callable[..., Call]:
    """The builder of an operator of these arguments, which may be given by name."""
    parameters = inspect.Signature([inspect.Parameter(o, inspect.Parameter.POSITIONAL_OR_KEYWORD) for o in operands])

    def build(*args: Any, **kwargs: Any) -> Call:
        given = parameters.bind(*args, **kwargs).arguments
        return Call(special_op(name), [as_expr(given[operand]) for operand in operands])

    build.__dict__["__signature__"] = parameters
    return _named(build, name)


def _named(build: Callable[..., Call], name: str) -> Callable[..., Call]:
    build.__name__ = name.rpartition(".")[2]
    build.__doc__ = SPECIAL_OPS[name].doc
    return build


_OWN: Mapping[str, Callable[..., Any]] = {
    "call_tir": call_tir,
    "call_tir_inplace": call_tir_inplace,
    "call_tir_with_grad": call_tir_with_grad,
    "call_dps_packed": call_dps_packed,
    "call_packed": call_packed,
    "call_pure_packed": call_pure_packed,
    "call_inplace_packed": call_inplace_packed,
    "call_builtin_with_ctx": call_builtin_with_ctx,
    "make_closure": make_closure,
    "invoke_closure": invoke_closure,
    "invoke_pure_closure": invoke_pure_closure,
    "null_value": null_value,
    "print": print_values,
    "assert_op": assert_op,
    "shape_of": shape_of,
    "tensor_to_shape": tensor_to_shape,
    "shape_to_tensor": shape_to_tensor,
    "to_vdevice": to_vdevice,
    "hint_on_device": hint_on_device,
    "memory.view": view,
    "builtin.alloc_tensor": alloc_tensor,
    "builtin.stop_lift_params": _by_name("builtin.stop_lift_params", "x"),
    "memory.alloc_storage": alloc_storage,
    "memory.alloc_tensor": _tensor_in("memory.alloc_tensor"),
    "memory.kill_storage": _by_name("memory.kill_storage", "storage"),
    "memory.kill_tensor": _by_name("memory.kill_tensor", "tensor"),
    "memory.ensure_zero_offset": _by_name("memory.ensure_zero_offset", "data"),
    "vm.alloc_storage": vm_alloc_storage,
    "vm.alloc_tensor": _tensor_in("vm.alloc_tensor"),
    "vm.kill_object": _by_name("vm.kill_object", "obj"),
    "vm.call_tir_dyn": call_tir_dyn,
    "const": const,
    "shape": shape,
    "prim_value": prim_value,
    "str": string,
    "dtype": dtype_value,
    "tuple": make_tuple,
    "ExternFunc": ExternFunc,
    "ShapeExpr": ShapeExpr,
    "TupleGetItem": TupleGetItem,
    "device": device,
}

_OF_AN_AXIS = ("inspect.tensor_shape_i", "inspect.tensor_stride_i")

SPECIAL_BUILDERS: Mapping[str, Callable[..., Any]] = {
    **{name: _by_name(name, "expr", *(("axis",) if name in _OF_AN_AXIS else ())) for name in SPECIAL_OPS},
    **_OWN,
}
"""Every builder by its dotted name in `R`."""
