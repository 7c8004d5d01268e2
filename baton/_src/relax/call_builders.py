"""Builder functions for calls of kernels, packed functions and closures (`tvm.relax.op` and `R`, v0.19).

They only create nodes; the call is checked when it is normalised.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.relax.check.report import API
from baton._src.relax.literals import as_expr
from baton._src.relax.nodes import Call, ExternFunc, ShapeExpr, Tuple, Var
from baton._src.relax.special.calls import CallTIRInplaceAttrs, CallTIRWithGradAttrs
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import fail


def emit_with_sinfo(op: Any, args: Any, sinfo_args: Any) -> Call:
    """A call of an operator, given as an object or by full name, with StructInfo arguments (`R.emit_with_sinfo`)."""
    found = Op.get(op) if isinstance(op, str) else op
    given = args if isinstance(args, (list, tuple)) else args.fields if isinstance(args, Tuple) else (args,)
    return Call(found, [as_expr(a) for a in given], sinfo_args=_infos(sinfo_args))


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
    """The StructInfo of a call's results. A list of one means that result itself, not a tuple of one, as in TVM."""
    if isinstance(out_sinfo, (list, tuple)) and len(out_sinfo) != 1:
        return TupleStructInfo(out_sinfo)
    out_sinfo = out_sinfo[0] if isinstance(out_sinfo, (list, tuple)) else out_sinfo
    if not isinstance(out_sinfo, StructInfo):
        raise fail(API, f"out_sinfo must be struct info, got {out_sinfo!r}")
    return out_sinfo


def _infos(sinfo_args: Any) -> tuple[StructInfo, ...]:
    """The StructInfo arguments: none, one, or several. `R.Object` and the like by themselves mean what they give."""
    given = tuple(sinfo_args) if isinstance(sinfo_args, (list, tuple)) else () if sinfo_args is None else (sinfo_args,)
    found = tuple(info() if callable(info) else info for info in given)
    for info in found:
        if not isinstance(info, StructInfo):
            raise fail(API, f"sinfo_args must be struct infos, got {info!r}")
    return found


def _function(func: Any) -> Any:
    return ExternFunc(func) if isinstance(func, str) else func


def call_tir(gvar: GlobalVar, args: Any, out_sinfo: Any, tir_vars: Any = None) -> Call:
    """Call a PrimFunc of the module; its outputs are newly allocated."""
    return _kernel_call("call_tir", gvar, args, out_sinfo, tir_vars, None)


def call_tir_inplace(gvar: GlobalVar, args: Any, inplace_indices: Any, out_sinfo: Any, tir_vars: Any = None) -> Call:
    """Like `call_tir`, but output i is written into argument `inplace_indices[i]` (-1: newly allocated)."""
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
    """Like `call_tir`; `te_grad_name` names the registered TE function that differentiates it."""
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
    """Call a packed function that writes its results into output tensors, passed after the arguments."""
    return Call(special_op("call_dps_packed"), [_function(func), _arguments(args)], None, [_outputs(out_sinfo)])


def call_packed(func: Any, *args: Any, sinfo_args: Any = None, **attrs: Any) -> Call:
    """Call a packed function by name; the call counts as impure."""
    return Call(_function(func), [as_expr(a) for a in args], attrs or None, _infos(sinfo_args))


def call_pure_packed(func: Any, *args: Any, sinfo_args: Any = None) -> Call:
    """Call a packed function that is trusted to be pure."""
    return Call(special_op("call_pure_packed"), [_function(func), *map(as_expr, args)], None, _infos(sinfo_args))


def call_inplace_packed(func: Any, *args: Any, inplace_indices: Any, sinfo_args: Any = None) -> Call:
    """Call a packed function that modifies the arguments at `inplace_indices` in place and returns them."""
    attrs = CallTIRInplaceAttrs(_indices(inplace_indices))
    return Call(special_op("call_inplace_packed"), [_function(func), *map(as_expr, args)], attrs, _infos(sinfo_args))


def call_builtin_with_ctx(func: Any, args: Any, *, sinfo_args: Any = None) -> Call:
    """Call a VM builtin, which takes the state of the VM as its first argument."""
    return Call(special_op("call_builtin_with_ctx"), [_function(func), _arguments(args)], None, _infos(sinfo_args))


def make_closure(func: GlobalVar, args: Any) -> Call:
    """Create a closure of a function of the module, with its trailing parameters bound to `args`."""
    return Call(special_op("make_closure"), [func, _arguments(args)])


def invoke_closure(closure: Any, args: Any, sinfo_args: Any = None) -> Call:
    """Call a closure made by `make_closure`; may have effects."""
    return Call(special_op("invoke_closure"), [closure, _arguments(args)], None, _infos(sinfo_args))


def invoke_pure_closure(closure: Any, args: Any, sinfo_args: Any = None) -> Call:
    """Call a closure that is trusted to be pure."""
    return Call(special_op("invoke_pure_closure"), [closure, _arguments(args)], None, _infos(sinfo_args))


def call_tir_dyn(func: Any, args: Any) -> Call:
    """Call a kernel whose last argument is a shape, at run time (`R.vm.call_tir_dyn`)."""
    return Call(special_op("vm.call_tir_dyn"), [_function(func), as_expr(args)])
