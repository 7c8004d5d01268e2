"""Builder functions of Relax's special operators and literals (`tvm.relax.op` and the script namespace `R`, v0.19).

They only make nodes; checking is done where the call is normalised.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import numpy as np

from baton._src.ir.expr import GlobalVar, GraphExpr, Op, PrimExpr
from baton._src.ir.global_info import VDevice
from baton._src.relax.check.report import API
from baton._src.relax.nodes import (
    Call,
    Constant,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    Var,
)
from baton._src.relax.special.calls import CallTIRInplaceAttrs, CallTIRWithGradAttrs
from baton._src.relax.special.devices import HintOnDeviceAttrs, ToVDeviceAttrs
from baton._src.relax.special_ops import SPECIAL_OPS, special_op
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray, array, literal_dtype


def emit_with_sinfo(op: Any, args: Any, sinfo_args: Any) -> Call:
    """A call of any operator (itself or its full name) with StructInfo arguments (`R.emit_with_sinfo`)."""
    found = Op.get(op) if isinstance(op, str) else op
    given = args if isinstance(args, (list, tuple)) else args.fields if isinstance(args, Tuple) else (args,)
    return Call(found, [as_expr(a) for a in given], sinfo_args=_infos(sinfo_args))


# ------------------------------------------------------------------------------------------------------ literals


def const(value: Any, dtype: object = None) -> Constant:
    """A tensor literal. Python's ints are int32, its floats float32, unless `dtype` says otherwise.

    So are elements of NumPy's arrays of 64 bits, as in TVM; integers that do not fit stay int64, as an `NDArray` does.
    """
    if isinstance(value, NDArray):
        return Constant(value if dtype is None or value.dtype == dtype else array(value.data, dtype=dtype))
    found = np.asarray(value)
    wanted = literal_dtype(found) if dtype is None else dtype
    if wanted is not None and DataType(wanted).kind in ("void", "handle"):
        raise fail(API, f"a constant cannot have dtype {DataType(wanted)}")
    if found.dtype == object or found.dtype.kind in "US":
        raise fail(API, f"{value!r} is no array of numbers")
    return Constant(array(found, dtype=wanted))


def shape(values: Any) -> ShapeExpr:
    """A shape literal."""
    return ShapeExpr(values)


def prim_value(value: Any) -> PrimValue:
    """A host scalar: ints become int64, floats float64."""
    if isinstance(value, PrimValue):
        return value
    if not isinstance(value, (PrimExpr, bool, int, float, np.bool_, np.integer, np.floating)):
        raise fail(API, f"a prim value is a number, got {value!r}")
    return PrimValue(float(value) if isinstance(value, np.floating) else value)


def string(value: str) -> StringImm:
    """A string literal (`R.str`)."""
    return StringImm(value)


def dtype_value(value: object) -> DataTypeImm:
    """A data type as a value (`R.dtype`)."""
    return DataTypeImm(value)


def make_tuple(*fields: Any) -> Tuple:
    """A tuple (`R.tuple`)."""
    return Tuple([as_expr(f) for f in fields])


def as_expr(value: Any) -> Any:
    """A Python value as an expression: sequences as tuples, numbers as prim values, strings as strings."""
    if isinstance(value, GraphExpr):
        return value
    if isinstance(value, (tuple, list)):
        return Tuple([as_expr(v) for v in value])
    if isinstance(value, str):
        return StringImm(value)
    return prim_value(value)


def _arguments(args: Any) -> Any:
    """The packed arguments of a kernel call: an expression standing for a tuple, or expressions to be packed."""
    if isinstance(args, GraphExpr):
        info = args.struct_info_
        whole = isinstance(args, Tuple) or isinstance(info, TupleStructInfo)
        if whole or (isinstance(args, Var) and not isinstance(info, TensorStructInfo)):
            return args
        return Tuple([args])
    return Tuple([as_expr(a) for a in args])


def _outputs(out_sinfo: Any) -> StructInfo:
    """What a call gives: a list says several results, or one (then a call gives that, no tuple of one, as in TVM)."""
    if isinstance(out_sinfo, (list, tuple)) and len(out_sinfo) != 1:
        return TupleStructInfo(out_sinfo)
    out_sinfo = out_sinfo[0] if isinstance(out_sinfo, (list, tuple)) else out_sinfo
    if not isinstance(out_sinfo, StructInfo):
        raise fail(API, f"out_sinfo must be struct info, got {out_sinfo!r}")
    return out_sinfo


def _infos(sinfo_args: Any) -> tuple[StructInfo, ...]:
    found = tuple(sinfo_args) if isinstance(sinfo_args, (list, tuple)) else () if sinfo_args is None else (sinfo_args,)
    for info in found:
        if not isinstance(info, StructInfo):
            raise fail(API, f"sinfo_args must be struct infos, got {info!r}")
    return found


def _function(func: Any) -> Any:
    return ExternFunc(func) if isinstance(func, str) else func


# --------------------------------------------------------------------------------------------------- kernel calls


def call_tir(gvar: GlobalVar, args: Any, out_sinfo: Any, tir_vars: Any = None) -> Call:
    """Call a PrimFunc of the module, with fresh memory for the outputs."""
    return _kernel_call("call_tir", gvar, args, out_sinfo, tir_vars, None)


def call_tir_inplace(gvar: GlobalVar, args: Any, inplace_indices: Any, out_sinfo: Any, tir_vars: Any = None) -> Call:
    """As `call_tir`; output i is written into argument `inplace_indices[i]` (-1: fresh memory)."""
    attrs = CallTIRInplaceAttrs(_indices(inplace_indices))
    return _kernel_call("call_tir_inplace", gvar, args, out_sinfo, tir_vars, attrs)


def call_tir_with_grad(
    gvar: GlobalVar,
    args: Any,
    out_sinfo: Any,
    te_grad_name: str,
    te_grad_kwargs: Any = None,
    tir_vars: Any = None,
) -> Call:
    """As `call_tir`; `te_grad_name` names the registered TE function that differentiates it."""
    attrs = CallTIRWithGradAttrs(te_grad_name, te_grad_kwargs)
    return _kernel_call("call_tir_with_grad", gvar, args, out_sinfo, tir_vars, attrs)


def _kernel_call(name: str, gvar: Any, args: Any, out_sinfo: Any, tir_vars: Any, attrs: Any) -> Call:
    found = [gvar, _arguments(args)]
    if tir_vars is not None:
        found.append(tir_vars if isinstance(tir_vars, GraphExpr) else ShapeExpr(tir_vars))
    return Call(special_op(name), found, attrs, [_outputs(out_sinfo)])


def _indices(indices: Any) -> tuple[int, ...]:
    return (int(indices),) if isinstance(indices, int) else tuple(int(i) for i in indices)


def call_dps_packed(func: Any, args: Any, out_sinfo: Any) -> Call:
    """Call a packed function that writes into the outputs it is given behind the arguments."""
    return Call(special_op("call_dps_packed"), [_function(func), _arguments(args)], None, [_outputs(out_sinfo)])


def call_packed(func: Any, *args: Any, sinfo_args: Any = None, **attrs: Any) -> Call:
    """Call a packed function by its name; impure."""
    return Call(_function(func), [as_expr(a) for a in args], attrs or None, _infos(sinfo_args))


def call_pure_packed(func: Any, *args: Any, sinfo_args: Any = None) -> Call:
    """Call a packed function that is trusted to be pure."""
    return Call(special_op("call_pure_packed"), [_function(func), *map(as_expr, args)], None, _infos(sinfo_args))


def call_inplace_packed(func: Any, *args: Any, inplace_indices: Any, sinfo_args: Any = None) -> Call:
    """Call a packed function that changes, and returns, the arguments named by `inplace_indices`."""
    attrs = CallTIRInplaceAttrs(_indices(inplace_indices))
    return Call(special_op("call_inplace_packed"), [_function(func), *map(as_expr, args)], attrs, _infos(sinfo_args))


def call_builtin_with_ctx(func: Any, args: Any, *, sinfo_args: Any = None) -> Call:
    """Call a builtin of the machine, which gets the machine's state first."""
    return Call(special_op("call_builtin_with_ctx"), [_function(func), _arguments(args)], None, _infos(sinfo_args))


def make_closure(func: GlobalVar, args: Any) -> Call:
    """A closure of a function of the module with its trailing parameters bound to `args`."""
    return Call(special_op("make_closure"), [func, _arguments(args)])


def invoke_closure(closure: Any, args: Any, sinfo_args: Any = None) -> Call:
    """Call a closure made by `make_closure`; may have effects."""
    return Call(special_op("invoke_closure"), [closure, _arguments(args)], None, _infos(sinfo_args))


def invoke_pure_closure(closure: Any, args: Any, sinfo_args: Any = None) -> Call:
    """Call a closure that is trusted to be pure."""
    return Call(special_op("invoke_pure_closure"), [closure, _arguments(args)], None, _infos(sinfo_args))


# ------------------------------------------------------------------------------------------------------- effects


def null_value() -> Call:
    """The null object."""
    return Call(special_op("null_value"), [])


def print_values(*values: Any, format: Any = "") -> Call:
    """Write the values; `format` is a Python format string, "" writes them as they are (`R.print`)."""
    return Call(special_op("print"), [_format(format), *map(as_expr, values)])


def assert_op(condition: Any, format_args: Any = None, *more: Any, format: Any = "") -> Call:
    """End the program with the formatted text when the boolean scalar is false (`R.assert_op`).

    `format_args`: an expression or a list of them, which the text shows; Relax's text has them one by one instead.
    """
    if len(more) == 1 and isinstance(more[0], (str, StringImm)) and isinstance(format_args, (list, tuple, NoneType)):
        format, more = more[0], ()  # the third parameter, by position
    given = () if format_args is None else format_args if isinstance(format_args, (list, tuple)) else (format_args,)
    return Call(special_op("assert_op"), [_condition(condition), _format(format), *map(as_expr, (*given, *more))])


def _condition(condition: Any) -> Any:
    return const(condition, "bool") if isinstance(condition, (bool, np.bool_)) else condition


def _format(text: Any) -> StringImm:
    return text if isinstance(text, StringImm) else StringImm(text)


# ------------------------------------------------------------------------------------------------ shapes, devices


def shape_of(expr: Any) -> Call:
    """The shape of a tensor."""
    return Call(special_op("shape_of"), [expr])


def tensor_to_shape(expr: Any) -> Call:
    """The shape whose dims a rank-1 int64 tensor lists."""
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
            raise fail(API, f"{dst_vdevice!r} names no device", help='names are like "llvm:1" or "llvm:1:global"')
        dst_vdevice = VDevice(target, int(number or 0), scope or "global")
    return Call(special_op("to_vdevice"), [data], ToVDeviceAttrs(dst_vdevice))


def hint_on_device(data: Any, dst_vdevice: Any = None, memory_scope: str = "global", **place: int) -> Call:
    """Say where a tensor is wanted: a `Device`, or (as Relax's text has it) `device_type` and `index`."""
    kind = place.get("device_type", getattr(dst_vdevice, "device_type", 1))
    index = place.get("index", getattr(dst_vdevice, "device_id", 0))
    return Call(special_op("hint_on_device"), [data], HintOnDeviceAttrs(kind, index, memory_scope))


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


def call_tir_dyn(func: Any, args: Any) -> Call:
    """Call a kernel whose last argument is a shape, at run time (`R.vm.call_tir_dyn`)."""
    return Call(special_op("vm.call_tir_dyn"), [func, as_expr(args)])


def _shape(value: Any) -> Any:
    return value if isinstance(value, GraphExpr) else ShapeExpr(value)


def _dtype(value: Any) -> Any:
    return value if isinstance(value, GraphExpr) else DataTypeImm(value)


def _one(name: str, operand: str) -> Callable[..., Call]:
    """The builder of an operator of one argument, which may be given by name."""
    parameters = inspect.Signature([inspect.Parameter(operand, inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def build(*args: Any, **kwargs: Any) -> Call:
        return Call(special_op(name), [as_expr(parameters.bind(*args, **kwargs).arguments[operand])])

    build.__dict__["__signature__"] = parameters
    return _named(build, name)


def _plain(name: str) -> Callable[..., Call]:
    """The builder of an operator without attributes: its arguments, in order."""

    def build(*args: Any) -> Call:
        return Call(special_op(name), [as_expr(a) for a in args])

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
    "builtin.stop_lift_params": _one("builtin.stop_lift_params", "x"),
    "memory.alloc_storage": alloc_storage,
    "memory.alloc_tensor": _tensor_in("memory.alloc_tensor"),
    "memory.kill_storage": _one("memory.kill_storage", "storage"),
    "memory.kill_tensor": _one("memory.kill_tensor", "tensor"),
    "memory.ensure_zero_offset": _one("memory.ensure_zero_offset", "data"),
    "vm.alloc_storage": vm_alloc_storage,
    "vm.alloc_tensor": _tensor_in("vm.alloc_tensor"),
    "vm.kill_object": _one("vm.kill_object", "obj"),
    "vm.call_tir_dyn": call_tir_dyn,
    "const": const,
    "shape": shape,
    "prim_value": prim_value,
    "str": string,
    "dtype": dtype_value,
    "tuple": make_tuple,
    "ExternFunc": ExternFunc,
}

SPECIAL_BUILDERS: Mapping[str, Callable[..., Any]] = {
    **_OWN,
    **{name: _plain(name) for name in SPECIAL_OPS if name not in _OWN},
}
"""Every builder of this file by its dotted name in `R`."""
