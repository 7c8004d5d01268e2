"""Shorthands of `tvm.relay`: binding values, texts, scalar types, device annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.driver.wiring import wire
from baton._src.ir.types import TensorType, TypeKind, TypeVar
from baton._src.ops.arguments import relay_constant
from baton._src.ops.builders import RELAY
from baton._src.passes.relay.bind_params import bound
from baton._src.relay.expressions import replace
from baton._src.relay.nodes import Constant, Function
from baton._src.relay.stopping import InterpreterState, registered_as
from baton._src.relay.text.printer import astext
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.values.device import KINDS, Device
from baton._src.values.tensor import literal_dtype

_OPS: Any = RELAY


def const(value: Any, dtype: Any = None, span: Span | None = None) -> Constant:
    """A literal: of NumPy's arrays too, those of 64 bits become 32 if they fit, unless `dtype` says otherwise."""
    wire()
    if dtype is None and isinstance(value, (np.ndarray, np.generic)):
        dtype = literal_dtype(np.asarray(value))
    return relay_constant(value, dtype, span)


def bind(expr: Any, binds: Mapping[Any, Any]) -> Any:
    """`expr` with variables replaced by expressions; parameters of a function that are bound are no parameters."""
    wire()
    return bound(expr, binds) if isinstance(expr, Function) else replace(expr, binds)


def pretty_print(obj: Any) -> str:
    """An expression, type or module as text without its metadata."""
    wire()
    return astext(obj, False, header=False)


def scalar_type(dtype: str) -> TensorType:
    """The type of tensors of rank 0."""
    wire()
    return TensorType((), dtype)


def ShapeVar(name: str) -> TypeVar:
    """A type variable for a shape."""
    return TypeVar(name, TypeKind.ShapeVar)


def on_device(body: Any, device: Any = None, constrain_result: bool = False, constrain_body: bool = True) -> Any:
    """`body`, to be computed on `device` (a Device, or the name of a kind); there are CPUs only: `device-missing`."""
    name = _device_kind(device)
    return _OPS.on_device(body, virtual_device=name, constrain_result=constrain_result, constrain_body=constrain_body)


def device_copy(data: Any, src_device: Any, dst_device: Any) -> Any:
    """`data`, copied from one device to another; there are CPUs only: `device-missing`."""
    for device in (src_device, dst_device):
        _device_kind(device)
    return _OPS.device_copy(data, src_virtual_device=src_device, dst_virtual_device=dst_device)


def function_on_device(function: Function, param_devices: Any, result_device: Any) -> Function:
    """`function`, its parameters and result on devices."""
    for device in (*param_devices, result_device):
        _device_kind(device)
    return function


def debug(expr: Any, debug_func: Callable[[InterpreterState], object] | None = None) -> Any:
    """`expr`; the interpreter calls `debug_func` (None: Python's debugger) with its state when it has evaluated it.

    Compiled code only passes the value on.
    """
    return _OPS.debug(expr, debug_func=registered_as(debug_func))


def stop_fusion(data: Any) -> Any:
    """`data`; nothing is fused across it."""
    return _OPS.annotation.stop_fusion(data)


def checkpoint(data: Any) -> Any:
    """`data`, marked as a checkpoint: gradients recompute what it depends on."""
    return _OPS.annotation.checkpoint(data)


def compiler_begin(data: Any, compiler: str) -> Any:
    """`data`, which enters the part of a program that `compiler` is to compile."""
    return _OPS.annotation.compiler_begin(data, compiler=compiler)


def compiler_end(data: Any, compiler: str) -> Any:
    """`data`, which leaves the part of a program that `compiler` is to compile."""
    return _OPS.annotation.compiler_end(data, compiler=compiler)


def _device_kind(device: Any) -> str:
    kind = KINDS.get(device.device_type, "") if isinstance(device, Device) else str(device or "cpu")
    if kind.split("(")[0] not in ("cpu", "llvm"):
        raise fail("device-missing", f"there is no device {device}", help="code runs on cpu(0)")
    return "cpu"
