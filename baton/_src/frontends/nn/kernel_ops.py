"""Operators of `nn.op` that call custom code: te functions, kernels, packed functions, debugging functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.frontends.nn.effects import debugged
from baton._src.frontends.nn.export import Exporter
from baton._src.frontends.nn.tensor import Object, Tensor, builder_for, unwrap, wrap_nested
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.relax.call_builders import call_dps_packed, call_tir, call_tir_inplace
from baton._src.relax.nodes import PrimValue, ShapeExpr, StringImm, Tuple
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any], name_hint: str, args: Sequence[Any], *, attrs: dict[str, Any] | None = None
) -> Any:
    """A kernel written with `te` on the tensors given."""
    hints: dict[str, Any] = {"primfunc_name_hint": name_hint, **({"primfunc_attrs": attrs} if attrs else {})}
    call = builder_for(name_hint).call_te(tensor_expr_func, *unwrap(list(args)), **hints)
    return wrap_nested(call, name_hint)


def tensor_ir_op(func: PrimFunc, name_hint: str, args: Any, out: Any) -> Any:
    """Call a kernel on the tensors of `args`; dims among them are passed after the results, which have the type of
    `out`.
    """
    var, tensors, scalars = _kernel(func, name_hint, args)
    return wrap_nested(call_tir(var, tensors, _infos(out), scalars), name_hint)


def tensor_ir_inplace_op(func: PrimFunc, name_hint: str, args: Any, inplace_indices: Any, out: Any) -> Any:
    """Like `tensor_ir_op`, but result i is written into argument `inplace_indices[i]` (-1: newly allocated)."""
    var, tensors, scalars = _kernel(func, name_hint, args)
    return wrap_nested(call_tir_inplace(var, tensors, inplace_indices, _infos(out), scalars), name_hint)


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """Call a packed function that writes into results of the type of `out`."""
    return wrap_nested(call_dps_packed(name, [_as_expr(a) for a in args], _infos(out)), name)


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a packed function when the model runs, with the source position as its first argument. Errors:
    `RuntimeError` unless the module is exported with `debug=True`.
    """
    io = Exporter.current().io_effect
    if io is None:
        raise fail("nn-export", f"{name} is a debugging function", help="export the module with debug=True")
    if _line_info is None:
        caller = inspect.stack()[1]
        _line_info = f"{caller.filename}:{caller.lineno}"
    debugged(io, name, _line_info, [_as_expr(a) for a in args])


def print_(tensor: Tensor) -> None:
    """Print a tensor when the model runs."""
    caller = inspect.stack()[1]
    debug_func("vm.builtin.debug_print", tensor, _line_info=f"{caller.filename}:{caller.lineno}")


def _kernel(func: PrimFunc, name_hint: str, args: Any) -> tuple[Any, list[Any], Any]:
    tensors: list[Any] = []
    scalars: list[Any] = []
    for arg in args if isinstance(args, (list, tuple)) else [args]:
        if isinstance(arg, Tensor):
            tensors.append(arg._expr)
        elif isinstance(arg, ShapeExpr):
            scalars.extend(arg.values)
        elif isinstance(arg, (int, PrimExpr)):
            scalars.append(arg)
        else:
            raise fail("nn-tensor", f"a kernel takes tensors and dims, got {type(arg).__name__}", kind=TypeError)
    return builder_for(name_hint).add_func(func, name_hint), tensors, scalars or None


def _infos(out: Any) -> Any:
    return [t._expr.struct_info for t in out] if isinstance(out, (list, tuple)) else out._expr.struct_info


def _as_expr(value: Any) -> Any:
    """An argument of a packed function as a Relax expression: tensors, numbers, strings and tuples."""
    if isinstance(value, (Tensor, Object)):
        return value._expr
    if isinstance(value, GraphExpr):
        return value
    if isinstance(value, (list, tuple)):
        return Tuple([_as_expr(v) for v in value])
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (int, float, PrimExpr)):
        return PrimValue(value)
    raise fail("nn-tensor", f"a packed function takes no {type(value).__name__}", kind=TypeError)
